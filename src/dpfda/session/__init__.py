"""A Gaussian release that is asked one functional at a time."""

from dpfda.session.records import Answer
from dpfda.session.session import FunctionalSession

__all__ = ["Answer", "FunctionalSession"]
