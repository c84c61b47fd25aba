"""A Gaussian release that is asked one functional at a time."""

from dpfda.publication.session.session import Session
from dpfda.releases.answers import Answer

__all__ = ["Answer", "Session"]
