"""Bases of functions on a public domain; they know nothing of privacy."""

from dpfda.bases.cosine import CosineBasis
from dpfda.bases.kernel import KernelBasis
from dpfda.bases.protocol import Basis

__all__ = ["Basis", "CosineBasis", "KernelBasis"]
