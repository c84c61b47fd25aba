"""Queries about a function: a public linear functional, and the integer vector that it becomes."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import plain_words, values_at
from dpfda.releases.function import ReleasedFunction

# The largest entry of a query has this many bits, so that every double down to 2^-43 of the largest
# is taken as the exact rational that it is.
QUERY_BITS = 96

# Answers stay far from the end of the range of floats, at about 2^1024.
LARGEST = 2.0**500


@dataclass(frozen=True, eq=False)
class Query:
    """The functional f -> sum_i weights_i f^(order)(points_i). Public.

    words: What is asked, as JSON types: the same words are the same query.
    points, weights: array (k,). Points of the domain and what the values there are multiplied by.
    order: Order of the derivative.
    """

    words: dict[str, object]
    points: Floats
    weights: Floats
    order: int = 0

    @property
    def key(self) -> str:
        """The words as one text."""
        return json.dumps(self.words, sort_keys=True)

    def of(self, function: ReleasedFunction) -> float:
        """The functional of a public function."""
        for _ in range(self.order):
            function = function.derivative()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(self.weights * function(self.points)))

    def direction(self, frame: ReleasedFunction) -> tuple[tuple[int, ...], int]:
        """The functional of the shrunken basis functions: integers m and e, for m 2^-e.

        Raises ParameterError if it is not finite, or the basis functions have no such derivative.
        """
        functions = frame.basis.evaluate(self.points, self.order)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.weights @ functions * frame.shrinkage
        if not np.all(np.isfinite(values)):
            raise ParameterError("function", "have a finite integral with the basis", "an overflow")
        exponent = QUERY_BITS - math.frexp(float(np.max(np.abs(values))))[1]
        factor = Fraction(2) ** exponent
        return tuple(round(Fraction(float(value)) * factor) for value in values), exponent


@dataclass(frozen=True)
class Posed:
    """A query with all that is public about its answer, checked before any noise is drawn.

    direction: The integer vector m.
    step: What the integer <m, Y> is multiplied by.
    center: The functional of the bound's center.
    standard_error: Standard deviation of the answer's noise.
    """

    query: Query
    direction: tuple[int, ...]
    step: Fraction
    center: float
    standard_error: float

    def answer(self, integer: int) -> float:
        """The answer for <m, Y>: it always exists, for what no float can hold becomes the largest."""
        try:
            return float(integer * self.step) + self.center
        except OverflowError:
            return math.copysign(sys.float_info.max, integer)


def pose(
    query: Query, frame: ReleasedFunction, scales: Sequence[int], spread: Fraction = Fraction(1)
) -> Posed:
    """Work out and check everything public about a query.

    Raises ParameterError if the answer may be beyond the range of floats, or the function has no such
    derivative.
    """
    direction, exponent = query.direction(frame)
    step = Fraction(2) ** -(exponent + frame.exponent) / Fraction(frame.count)
    variance = spread * sum((m * s) ** 2 for m, s in zip(direction, scales, strict=True))
    center = query.of(frame)
    try:
        error = float(Fraction(math.sqrt(variance)) * step)
    except OverflowError:
        error = math.inf
    size = max(abs(center), error)
    if not size <= LARGEST:
        raise ParameterError(
            "function",
            "be so small that its center and standard error are at most 2^500",
            f"center {center:g}, standard error {error:g}",
            "Divide it by a constant.",
        )
    return Posed(query, direction, step, center, error)


def value_at(point: float, frame: ReleasedFunction, order: int = 0) -> Query:
    """The value, or a derivative, at one point."""
    at = np.array([check_point(point, frame.domain_range) + 0.0])
    words: dict[str, object] = {"kind": "value", "at": float(at[0])}
    if order:
        words |= {"kind": "derivative", "order": order}
    return Query(words, at, np.ones(1), order)


def integral_over(start: float | None, end: float | None, frame: ReleasedFunction) -> Query:
    """The integral between two points, by default over the domain."""
    low, high = frame.domain_range
    a, b = (
        check_point(default if given is None else given, frame.domain_range)
        for given, default in ((start, low), (end, high))
    )
    points, weights = frame._quadrature(a, b)
    return Query({"kind": "integral", "start": a + 0.0, "end": b + 0.0}, points, weights)


def inner_with(
    function: Callable[[Floats], ArrayLike], label: str | None, frame: ReleasedFunction
) -> Query:
    """The integral over the domain of the function times a public one."""
    points, weights = frame._quadrature(*frame.domain_range)
    values = values_at(function, "function", points)
    digest = hashlib.blake2b(np.asarray(values + 0.0, dtype="<f8").tobytes(), digest_size=8)
    name = getattr(function, "__name__", type(function).__name__) if label is None else str(label)
    plain_words(name, "label")
    words = {"kind": "inner product", "with": name, "values": digest.hexdigest()}
    with np.errstate(over="ignore"):
        return Query(words, points, weights * values)
