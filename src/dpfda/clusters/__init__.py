"""Clusters of curves: their centers, and which share of the units is in each."""
