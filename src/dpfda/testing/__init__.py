"""For studies and tests: seeded noise, none of it private, and contracts that additions can run."""

from dpfda.testing.contracts import check_law, check_mechanism, check_release
from dpfda.testing.simulation import (
    NotPrivate,
    exact_totals,
    non_private_mean,
    prepared_looks,
    released_coefficients,
    simulate_density,
    simulate_releases,
    simulated_coefficients,
)
from dpfda.testing.summaries import check_summary

__all__ = [
    "NotPrivate", "check_law", "check_mechanism", "check_release", "check_summary", "exact_totals",
    "non_private_mean", "prepared_looks", "released_coefficients", "simulate_density",
    "simulate_releases", "simulated_coefficients",
]  # fmt: skip
