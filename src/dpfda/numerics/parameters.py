"""What a public argument may be: one rule for each type of parameter.

The ranges are wide enough for any measurement in any unit, and narrow enough that squares and fourth
powers of lengths, scales of noise and their quotients stay far inside the range of floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpfda.errors import ParameterError
from dpfda.numerics.rationals import exact, readable

# Lengths, bounds, centers and ends of domains, in whatever units.
SMALLEST, LARGEST = 1e-100, 1e100
# Of counts: more records than this do not fit into a sum of 64-bit integers.
LARGEST_COUNT = 2**53


def shown(value: Any) -> str:
    """A public argument in few words, whatever it is."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    try:
        text = readable(value) if isinstance(value, Fraction) else repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:100]}... ({type(value).__name__})"


def real(value: Any, name: str, low: float, high: float, words: str = "") -> float:
    """A real number between two ends, which may be infinite.

    Raises
    ------
    ParameterError
        If it is text, no number or outside.
    """
    constraint = words or f"be a number from {low:g} to {high:g}"
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim):
        raise ParameterError(name, constraint, shown(value))
    try:
        found = float(exact(value, name))
    except OverflowError:
        found = math.inf if value > 0 else -math.inf
    except ParameterError:
        if not (isinstance(value, float | np.floating) and math.isinf(low)):
            raise ParameterError(name, constraint, shown(value)) from None
        found = float(value)
    if found < low or found > high:
        raise ParameterError(name, constraint, shown(value))
    return found


def length(value: Any, name: str) -> float:
    """A positive length, in whatever units: from 1e-100 to 1e100."""
    found = real(value, name, -math.inf, math.inf, "be a number")
    if not 0 < found < math.inf:
        raise ParameterError(name, "be positive and finite", shown(value))
    return real(value, name, SMALLEST, LARGEST, "lie between 1e-100 and 1e100")


def whole(value: Any, name: str, low: int = 1, high: int = LARGEST_COUNT, words: str = "") -> int:
    """An integer between two ends; True and False are none.

    Raises
    ------
    ParameterError
        If it is something else or outside.
    """
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or not low <= value <= high:
        raise ParameterError(name, words or f"be an integer from {low} to {high}", shown(value))
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False, Python's or numpy's."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, "be True or False", shown(value))
    return bool(value)


def choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, f"be one of {', '.join(map(repr, choices))}", shown(value))
    return str(value)


def pair(value: Any, name: str) -> tuple[float, float]:
    """Two finite numbers (a, b) of size at most 1e100.

    Raises
    ------
    ParameterError
        If they are something else.
    """
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ParameterError(name, "be two numbers (a, b)", shown(value)) from None
    words = f"be two numbers of size at most {LARGEST:g}"
    return real(first, name, -LARGEST, LARGEST, words), real(second, name, -LARGEST, LARGEST, words)


def reals(value: Any, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Real numbers in an array of any shape, NaN and infinity among them.

    Raises
    ------
    ParameterError
        If it holds text, complex or masked entries, or rows of several lengths.
    """
    try:
        given = np.asanyarray(value)
        if given.dtype.kind not in "biufO" or isinstance(given, np.ma.MaskedArray):
            raise TypeError
        if given.dtype.kind == "O" and any(isinstance(v, str | bytes) or v is None for v in given.flat):
            raise TypeError
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(name, "be real numbers", shown(value)) from None


def curve(value: Any, name: str) -> float | np.ndarray[Any, np.dtype[np.float64]]:
    """A number, or numbers (m,), of size at most 1e100; read-only.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    try:
        array = reals(value, name)
    except ParameterError:
        raise ParameterError(name, "be a number or a curve", shown(value)) from None
    if array.ndim > 1 or not array.size or not np.all(np.isfinite(array)):
        found = shown(value) if array.ndim == 0 else "an array with NaN, infinity or another shape"
        raise ParameterError(name, "be finite", found)
    if not np.all(np.abs(array) <= LARGEST):
        raise ParameterError(
            name, "be of size at most 1e100", shown(value) if array.ndim == 0 else "a larger one"
        )
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


__all__ = [
    "LARGEST",
    "SMALLEST",
    "choice",
    "curve",
    "flag",
    "length",
    "real",
    "pair",
    "reals",
    "shown",
    "whole",
]
