"""Means of curves with several values: positions in space, sensors."""
