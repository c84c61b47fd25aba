"""Summaries of private data, as scikit-learn estimators or functions; none of them draws noise."""

from dpfda.summaries.bernstein import release_function
from dpfda.summaries.density import PrivateDensity
from dpfda.summaries.mean import PrivateMean

__all__ = ["PrivateDensity", "PrivateMean", "release_function"]
