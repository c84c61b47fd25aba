"""Score curves: how well a public risk score tells who has an outcome, from one noisy table."""
