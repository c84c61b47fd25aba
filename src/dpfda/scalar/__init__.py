"""A number explained by a curve: scalar-on-function regression, under differential privacy."""
