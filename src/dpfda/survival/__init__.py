"""Survival curves of follow-ups that may be censored."""
