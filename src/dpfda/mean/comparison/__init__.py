"""Mean curves of groups under one budget, and tests that they are equal."""
