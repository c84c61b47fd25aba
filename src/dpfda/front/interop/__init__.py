"""Other libraries of differential privacy: measurements for OpenDP, events for dp-accounting."""
