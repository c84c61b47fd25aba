"""Any function of private data, released on a lattice by Bernstein polynomials."""
