"""The choice of a mechanism from public numbers, its expected error, and what none can go below."""

from dpfda.design.choice import choose
from dpfda.design.expectation import ExpectedError, expected_error
from dpfda.design.limits import least_error, least_error_of_any
from dpfda.design.plans import Plan, make_plan
from dpfda.design.problems import adapted, make_problem, public_curves, public_mixture

__all__ = [
    "ExpectedError",
    "Plan",
    "adapted",
    "choose",
    "expected_error",
    "least_error",
    "least_error_of_any",
    "make_plan",
    "make_problem",
    "public_curves",
    "public_mixture",
]
