"""Covariance functions and principal components."""
