"""Exact draws, exact sums, and the loops that make integers of records."""
