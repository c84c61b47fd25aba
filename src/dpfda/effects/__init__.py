"""Mean curves given covariates (function-on-scalar regression)."""
