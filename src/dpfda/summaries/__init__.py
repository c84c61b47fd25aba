"""Estimators in scikit-learn's manner; none of them draws noise."""

from dpfda.summaries.mean import PrivateMean

__all__ = ["PrivateMean"]
