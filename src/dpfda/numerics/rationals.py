"""Rational numbers as people write and read them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpfda.numerics.errors import ParameterError

_RATIONAL = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?", re.ASCII)
_LONGEST = 4300
# Decimal places of a number, before or behind the point.
LARGEST_EXPONENT = 5000


def exact(value: Any, parameter: str) -> Fraction:
    """Read a number as the decimal that its writer saw.

    Decimal text is that decimal, and 'p/q' that quotient. A float is taken at its shortest decimal form,
    so that ten charges of 0.1 add up to exactly 1.

    Raises
    ------
    ParameterError
        If it is no number, not finite, or too long to be one.
    """
    if isinstance(value, np.ndarray):
        if value.ndim:
            raise ParameterError(parameter, "be a number", f"an array of shape {value.shape}")
        value = value[()]
    if isinstance(value, bool | np.bool_ | complex | np.complexfloating | np.timedelta64):
        raise ParameterError(parameter, "be a number", repr(value))
    if _too_long(value):
        raise ParameterError(parameter, "be a number of at most 5000 digits", "another")
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise ParameterError(parameter, "be finite", repr(float(value)))
        return Fraction(_shortest(value))
    try:
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        remedy = "Write a decimal or a quotient, 0.1 or 1/10." if isinstance(value, str) else ""
        raise ParameterError(parameter, "be a finite number", repr(value), remedy) from None


def positive(value: object, parameter: str, remedy: str = "") -> Fraction:
    """Read a number above 0."""
    number = exact(value, parameter)
    if number <= 0:
        raise ParameterError(parameter, "be positive", readable(number), remedy)
    return number


def below_one(value: object, parameter: str, remedy: str = "") -> Fraction:
    """Read a number between 0 and 1, and neither."""
    number = exact(value, parameter)
    if not 0 < number < 1:
        raise ParameterError(parameter, "lie strictly between 0 and 1", readable(number), remedy)
    return number


def root_at_most(value: Fraction, bits: int) -> Fraction:
    """The largest multiple of 2^-bits that is no larger than a square root."""
    return Fraction(math.isqrt(int(value * 4**bits)), 2**bits)


def rational(written: object) -> Fraction:
    """An exact number from 'p' or 'p/q' as files hold it, with at most as many digits as Python reads.

    Raises ValueError if it is anything else. A text from a file may name a number that takes for ever to
    make.
    """
    match = _RATIONAL.fullmatch(written) if isinstance(written, str) else None
    if match is None or max(len(part or "") for part in match.groups()) > _LONGEST:
        raise ValueError("not an exact number")
    return Fraction(int(match[1]), int(match[2] or 1))


def _shortest(value: float | np.floating[Any]) -> str:
    """The shortest decimal that rounds to a float of its own precision."""
    if isinstance(value, float):
        return repr(float(value))
    return np.format_float_scientific(value)


def _too_long(value: object) -> bool:
    """Whether a number is written briefly whose digits would fill the memory, such as 1e999999999."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) > LARGEST_EXPONENT
    if not isinstance(value, str):
        return False
    power = re.search(r"e([+-]?[\d_]+)\s*$", value, re.IGNORECASE)
    if len(value) > LARGEST_EXPONENT or (power and len(power[1]) > len(str(LARGEST_EXPONENT)) + 1):
        return True
    return power is not None and abs(int(power[1])) > LARGEST_EXPONENT


def readable(value: Fraction) -> str:
    """Write a rational in at most twelve significant digits, whatever its size."""
    short = f"{Decimal(value.numerator) / Decimal(value.denominator):.12g}"
    return f"{float(value):.12g}" if 1e-300 < abs(Decimal(short)) < 1e300 else short
