"""Guarantees, what they cost together, certificates and the ledger; knows neither data nor noise."""
