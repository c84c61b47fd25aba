"""A local page to try public choices on: imaginary releases of made-up curves, never of a file."""
