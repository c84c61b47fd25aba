"""Kernel regression and classification."""
