"""Densities and quantiles of points or counts."""
