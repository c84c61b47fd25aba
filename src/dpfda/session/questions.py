"""Questions about a function: a public linear functional, and the integer vector that it becomes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import check_points
from dpfda.errors import ParameterError
from dpfda.release import ReleasedFunction

Floats = NDArray[np.float64]

# The largest entry of a question has this many bits, so that every double down to 2^-43 of the largest
# is taken as the exact rational that it is.
QUESTION_BITS = 96


@dataclass(frozen=True, eq=False)
class Question:
    """The functional f -> sum_i weights_i f^(order)(points_i). Public.

    Parameters
    ----------
    words : mapping
        What is asked, as JSON types: the same words are the same question.
    points, weights : array (k,)
        Points of the domain and what the values there are multiplied by.
    order : int
        Order of the derivative.
    """

    words: dict[str, Any]
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
        return float(np.sum(self.weights * function(self.points)))

    def direction(self, frame: ReleasedFunction) -> tuple[tuple[int, ...], int]:
        """The functional of the shrunken basis functions: integers m and e, for m 2^-e.

        Raises
        ------
        ParameterError
            If it is not finite, or the basis functions have no such derivative.
        """
        values = self.weights @ frame.basis.evaluate(self.points, self.order) * frame.shrinkage
        if not np.all(np.isfinite(values)):
            raise ParameterError("function", "have a finite integral with the basis", "an overflow")
        exponent = QUESTION_BITS - math.frexp(float(np.max(np.abs(values))))[1]
        factor = Fraction(2) ** exponent
        return tuple(round(Fraction(float(value)) * factor) for value in values), exponent


def value_at(point: float, frame: ReleasedFunction, order: int = 0) -> Question:
    """The value, or a derivative, at one point."""
    at = check_points([point], frame.domain_range) + 0.0
    words: dict[str, Any] = {"kind": "value", "at": float(at[0])}
    if order:
        words |= {"kind": "derivative", "order": order}
    return Question(words, at, np.ones(1), order)


def integral_over(start: float | None, end: float | None, frame: ReleasedFunction) -> Question:
    """The integral between two points, by default over the domain."""
    low, high = frame.domain_range
    a, b = (float(low if start is None else start), float(high if end is None else end))
    points, weights = frame.quadrature(a, b)
    return Question({"kind": "integral", "start": a + 0.0, "end": b + 0.0}, points, weights)


def inner_with(
    function: Callable[[Floats], ArrayLike], label: str | None, frame: ReleasedFunction
) -> Question:
    """The integral over the domain of the function times a public one."""
    points, weights = frame.quadrature(*frame.domain_range)
    try:
        values = np.broadcast_to(np.asarray(function(points), dtype=float), points.shape)
    except (TypeError, ValueError):
        raise ParameterError(
            "function", "take an array of points and return their values", repr(function)
        ) from None
    if not np.all(np.isfinite(values)):
        raise ParameterError("function", "be finite on the domain", "NaN or infinity")
    digest = hashlib.blake2b(np.asarray(values + 0.0, dtype="<f8").tobytes(), digest_size=8)
    name = getattr(function, "__name__", type(function).__name__) if label is None else str(label)
    words = {"kind": "inner product", "with": name, "values": digest.hexdigest()}
    return Question(words, points, weights * values)
