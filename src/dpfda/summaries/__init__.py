"""Summaries of private data, as scikit-learn estimators or functions; none of them draws noise."""

from dpfda.summaries.bernstein import release_bernstein
from dpfda.summaries.mean import PrivateMean

__all__ = ["PrivateMean", "release_bernstein"]
