"""What a public argument may be: one rule for each type of parameter.

The ranges are wide enough for any measurement in any unit, and narrow enough that squares and fourth
powers of lengths, scales of noise and their quotients stay far inside the range of floats.

Rational numbers as people write and read them.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import unseen

Value = TypeVar("Value")

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
        # The shortest decimal that rounds to a float of its own precision.
        short = repr(float(value)) if isinstance(value, float) else np.format_float_scientific(value)
        return Fraction(short)
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


# Lengths, bounds, centers and ends of domains, in whatever units.
SMALLEST, LARGEST = 1e-100, 1e100
# Of counts: more records than this do not fit into a sum of 64-bit integers.
LARGEST_COUNT = 2**53
# Of numbers that are asked of a release at once, and of draws of its noise; orders of derivatives.
MOST_NUMBERS = 10**8
MOST_DRAWS = 10**6
HIGHEST_ORDER = 64


def shown(value: object) -> str:
    """A public argument in few words, whatever it is."""
    if isinstance(value, np.ndarray) and value.ndim:
        return f"an array of shape {value.shape}"
    try:
        text = readable(value) if isinstance(value, Fraction) else repr(value).partition("\n")[0]
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:100]}... ({type(value).__name__})"


def real(value: object, name: str, low: float, high: float, words: str = "") -> float:
    """A real number between two ends, which may be infinite.

    Raises ParameterError if it is text, no number or outside.
    """
    constraint = words or f"be a number from {low:g} to {high:g}"
    if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim):
        raise ParameterError(name, constraint, shown(value))
    if isinstance(value, np.floating):
        # As records of that precision have it, not as the decimal that it was written as.
        value = float(value)
    try:
        number = float(exact(value, name))
    except OverflowError:
        number = math.inf if exact(value, name) > 0 else -math.inf
    except ParameterError:
        if not (isinstance(value, float | np.floating) and math.isinf(low)):
            raise ParameterError(name, constraint, shown(value)) from None
        number = float(value)
    if number < low or number > high:
        raise ParameterError(name, constraint, shown(value))
    return number


def length(value: object, name: str) -> float:
    """A positive length, in whatever units: from 1e-100 to 1e100."""
    size = real(value, name, -math.inf, math.inf, "be a number")
    if not 0 < size < math.inf:
        raise ParameterError(name, "be positive and finite", shown(value))
    return real(value, name, SMALLEST, LARGEST, "lie between 1e-100 and 1e100")


def whole(value: object, name: str, low: int = 1, high: int = LARGEST_COUNT, words: str = "") -> int:
    """An integer between two ends; True and False are none.

    Raises
    ------
    ParameterError
        If it is something else or outside.
    """
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(name, words or f"be an integer from {low} to {high}", shown(value))
    return int(value)


def flag(value: object, name: str) -> bool:
    """True or False, Python's or numpy's."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, "be True or False", shown(value))
    return bool(value)


def plain_words(value: object, name: str) -> str:
    """Words that a release says: text that shows as it is written.

    Raises
    ------
    ParameterError
        If it is no text, or has a character without a sign of its own (`dpfda.numerics.words`).
    """
    if not isinstance(value, str):
        raise ParameterError(name, "be words", shown(value))
    sign = unseen(value)
    if sign is not None:
        sign_words = f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".rstrip()
        remedy = "It would be obeyed by a terminal, or hide what is read. Leave it out."
        raise ParameterError(name, "be words without characters that do not show", sign_words, remedy)
    return str(value)


def choice(value: object, name: str, choices: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, f"be one of {', '.join(map(repr, choices))}", shown(value))
    return str(value)


def label(value: object, name: str, labels: Sequence[str]) -> str:
    """One of a few labels: as it is written, or the number that it was before it was written."""
    written = str(value) if isinstance(value, int | float | np.number) else value
    return choice(written, name, labels)


def entries(value: object) -> list[object]:
    """Entries of a list, tuple, array or the like; a `TypeError` of anything else."""
    if not isinstance(value, Iterable):
        raise TypeError
    return list(value)


def pair(value: object, name: str) -> tuple[float, float]:
    """Two finite numbers (a, b) of size at most 1e100.

    Raises ParameterError if they are something else.
    """
    try:
        first, second = entries(value)
    except (TypeError, ValueError):
        raise ParameterError(name, "be two numbers (a, b)", shown(value)) from None
    words = f"be two numbers of size at most {LARGEST:g}"
    return real(first, name, -LARGEST, LARGEST, words), real(second, name, -LARGEST, LARGEST, words)


def reals(value: object, name: str) -> Floats:
    """Real numbers in an array of any shape, NaN and infinity among them.

    Raises ParameterError if it holds text, complex or masked entries, or rows of several lengths.
    """
    try:
        array = np.asanyarray(value)
        # A plain array is not masked, and numpy.ma, loaded when it is named, takes long to load.
        masked = type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray)
        if array.dtype.kind not in "biufO" or masked:
            raise TypeError
        if array.dtype.kind == "O" and any(isinstance(v, str | bytes) or v is None for v in array.flat):
            raise TypeError
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(name, "be real numbers", shown(value)) from None


def curve(value: object, name: str) -> float | Floats:
    """A number, or numbers (m,), of size at most 1e100; read-only.

    Raises ParameterError if it is something else.
    """
    try:
        array = reals(value, name)
    except ParameterError:
        raise ParameterError(name, "be a number or a curve", shown(value)) from None
    if array.ndim > 1 or not array.size or not np.all(np.isfinite(array)):
        shape_words = shown(value) if array.ndim == 0 else "an array with NaN, infinity or another shape"
        raise ParameterError(name, "be finite", shape_words)
    if not np.all(np.abs(array) <= LARGEST):
        shape_words = shown(value) if array.ndim == 0 else "a larger one"
        raise ParameterError(name, "be of size at most 1e100", shape_words)
    if array.ndim == 0:
        return float(array)
    array.setflags(write=False)
    return array


def probability(value: object, name: str) -> float:
    """A number strictly between 0 and 1."""
    constraint = "lie strictly between 0 and 1"
    number = real(value, name, 0.0, 1.0, constraint)
    if not 0 < number < 1:
        raise ParameterError(name, constraint, shown(value))
    return number


def wholes(
    value: object, name: str, count: int, low: int = 1, high: int = MOST_NUMBERS, words: str = ""
) -> tuple[int, ...]:
    """So many integers, one a variable, of a product of at most 10^8.

    Raises ParameterError if they are something else.
    """
    words = words or f"be {count} integers from {low} to {high}"
    try:
        numbers = [] if isinstance(value, str | bytes | dict | set | frozenset) else entries(value)
        if len(numbers) != count:
            raise TypeError
        integers = tuple(whole(entry, name, low, high) for entry in numbers)
    except (TypeError, ParameterError):
        raise ParameterError(name, words, shown(value)) from None
    if math.prod(integers) > MOST_NUMBERS:
        raise ParameterError(name, f"give at most {MOST_NUMBERS} numbers together", shown(value))
    return integers


def order(value: object) -> int:
    """Order of a derivative; 0 is the function itself."""
    return whole(value, "order", 0, HIGHEST_ORDER)


def orders(value: object, count: int) -> tuple[int, ...]:
    """Orders of a derivative in each of so many variables; one number is for all of them."""
    values = (value,) * count if isinstance(value, int | np.integer) else value
    return wholes(values, "order", count, 0, HIGHEST_ORDER)


def draws(value: object) -> int:
    """How many draws of public noise are simulated at once."""
    return whole(value, "draws", 1, MOST_DRAWS)


def randomness(value: object, name: str) -> np.random.Generator:
    """A numpy generator, of the caller's own: for what protects nobody.

    Raises ParameterError if it is something else.
    """
    if not isinstance(value, np.random.Generator):
        remedy = "Make one with numpy.random.default_rng(seed)."
        raise ParameterError(name, "be a numpy Generator", shown(value), remedy)
    return value


def seeded(value: object, name: str) -> np.random.Generator:
    """A numpy generator, or one made from a seed, or a new one for None."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    words = "be a numpy Generator, a seed (an integer of at least 0) or None"
    return np.random.default_rng(whole(value, name, 0, 2**128, words))


def known(value: Value | None) -> Value:
    """What is there: where it might not be, that was refused before."""
    assert value is not None  # noqa: S101
    return value


def path(value: object, name: str = "path") -> Path:
    """The name of a file, as any file system takes it. Raises ParameterError if it is something else."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    try:
        if not isinstance(text, str) or not text or "\0" in text:
            raise ValueError
        os.fsencode(text)
    except ValueError:
        raise ParameterError(name, "name a file", shown(value)) from None
    return Path(text)


def values_at(function: object, name: str, points: Floats) -> Floats:
    """Values (k,) of a public function that takes an array of points (k,); finite.

    Raises ParameterError if it cannot be called, fails, or returns something else.
    """
    words = "take an array of points and return their values"
    if not callable(function):
        raise ParameterError(name, words, shown(function))
    try:
        answer = np.asanyarray(function(points))
    except ParameterError:
        raise
    except Exception as error:
        raise ParameterError(name, words, f"one that raises {type(error).__name__}") from error
    if answer.dtype.kind == "c":
        remedy = "Ask for its real and its imaginary part."
        raise ParameterError(name, "have real values", f"values of type {answer.dtype}", remedy)
    try:
        values = np.broadcast_to(reals(answer, name), points.shape)
    except (ParameterError, ValueError):
        raise ParameterError(name, words, shown(answer)) from None
    if not np.all(np.isfinite(values)):
        raise ParameterError(name, "be finite on the domain", "NaN or infinity")
    return values
