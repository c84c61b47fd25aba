"""Synthetic curves from a released mean, covariance and laws of scores."""
