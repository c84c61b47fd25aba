"""The papers' experiments: printed, reproduced at the authors' scale, and honest."""
