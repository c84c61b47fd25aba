"""Bases of functions on a public domain; they know nothing of privacy."""

from typing import TYPE_CHECKING

from dpfda.numerics.scan import later

if TYPE_CHECKING:
    from dpfda.bases.bernstein import BernsteinBasis
    from dpfda.bases.boxes import BoxBasis
    from dpfda.bases.closed_form import CosineBasis, FourierBasis, LegendreBasis, SineBasis
    from dpfda.bases.kernel import KernelBasis
    from dpfda.bases.kronecker import KroneckerBasis
    from dpfda.bases.protocol import Basis
else:
    __getattr__ = later(__name__)

__all__ = [
    "Basis", "BernsteinBasis", "BoxBasis", "CosineBasis", "FourierBasis", "KernelBasis",
    "KroneckerBasis", "LegendreBasis", "SineBasis",
]  # fmt: skip
