"""A Gaussian release that is asked one functional at a time."""

from dpfda.publication.session.records import Answer
from dpfda.publication.session.session import FunctionalSession

__all__ = ["Answer", "FunctionalSession"]
