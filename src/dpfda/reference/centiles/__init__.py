"""Quantile curves: percentiles of load at every hour, and growth charts from few visits a person."""
