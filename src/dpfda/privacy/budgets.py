"""The guarantee that an estimator is asked for, read from epsilon and delta."""

from __future__ import annotations

from fractions import Fraction

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, shown
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, guarantee_for

SMALLEST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**9), Fraction(10**9)
# Where delta is positive: the profiles of larger ones take seconds.
LARGEST_APPROXIMATE_EPSILON = Fraction(10**6)
SMALLEST_DELTA = Fraction(1, 10**100)


def budget(epsilon: object, delta: object = 0) -> PureDP | ApproximateDP:
    """The guarantee that an estimator is asked for.

    Numbers are read by `dpfda.numerics.parameters.exact`, as everywhere: int, float, Fraction, Decimal,
    numpy's scalars, and text such as "0.1" or "1/10", which is exactly that number.

    epsilon: From 1e-9 to 1e9, or to 1e6 where delta is positive.
    delta: 0, or from 1e-100 to below 1.
    Raises ParameterError if either is no number or out of range.
    """
    found = guarantee_for(_read(epsilon, "epsilon"), _read(delta, "delta"))
    approximate = isinstance(found, ApproximateDP)
    if isinstance(found, ApproximateDP) and found.delta < SMALLEST_DELTA:
        raise ParameterError("delta", "be 0 or at least 1e-100", shown(delta))
    largest = LARGEST_APPROXIMATE_EPSILON if approximate else LARGEST_EPSILON
    if not SMALLEST_EPSILON <= found.epsilon <= largest:
        words = "1e6 where delta is positive" if approximate else "1e9"
        raise ParameterError("epsilon", f"lie between 1e-9 and {words}", shown(epsilon))
    return found


def asked(epsilon: object, delta: object = 0, rho: object = None) -> Guarantee:
    """The guarantee that an estimator is asked for: by epsilon and delta, or by rho.

    epsilon, delta: As in `budget`.
    rho: From 1e-18 to 1e9, in the place of epsilon.
    Raises ParameterError if both or neither of epsilon and rho are given, or one is no number or out of
    range.
    """
    if rho is None:
        if epsilon is None:
            raise ParameterError(
                "epsilon", "be a number", "None", "It has no default: choose it, or rho in its place."
            )
        return budget(epsilon, delta)
    if epsilon is not None:
        remedy = "Leave one out: rho is zero-concentrated privacy, epsilon pure or with a delta."
        raise ParameterError("rho", "be given instead of epsilon, not beside it", shown(rho), remedy)
    if _read(delta, "delta") != 0:
        raise ParameterError(
            "delta", "be 0 beside rho, which implies a delta for every epsilon", shown(delta)
        )
    found = ZeroConcentratedDP(_read(rho, "rho"))
    if not SMALLEST_EPSILON**2 <= found.rho <= LARGEST_EPSILON:
        raise ParameterError("rho", "lie between 1e-18 and 1e9", shown(rho))
    return found


def _read(value: object, name: str) -> Fraction:
    remedy = ""
    if name == "delta" and isinstance(value, tuple | list):
        remedy = "Bounds are given by their name: bounds=(lower, upper)."
    elif value is None:
        remedy = "It has no default: choose it."
    else:
        return exact(value, name)
    raise ParameterError(name, "be a number", shown(value), remedy)
