"""What a feature map is, the public box of its inputs, and features as integers in a ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.bounds import IntegerBall
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.embedding import Rows
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import LARGEST, SMALLEST, entries, reals, shown
from dpfda.numerics.words import so_many


class FeatureMap(Protocol):
    """A public map from the unit cube to vectors of length about one or less."""

    @property
    def inputs(self) -> int:
        """Number d of input columns."""

    @property
    def components(self) -> int:
        """Number K of features."""

    def values(self, points: Floats) -> Floats:
        """Features (q, K) of points (q, d) of the unit cube, before clipping."""

    def describe(self) -> str:
        """Say in words what the features are."""

    def to_json(self) -> dict[str, object]:
        """Everything needed to build the map again, as JSON types."""


@dataclass(frozen=True, eq=False)
class InputBox:
    """Public bounds of each input column; values are clipped to them and scaled to [0, 1].

    lower, upper: array (d,). In the units of the columns, lower < upper.
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, bounds: object, inputs: int) -> InputBox:
        """Read (lower, upper) for all columns, or one such pair a column.

        Raises ParameterError if there are none, they are not finite with lower < upper, or two columns
        have a tuple or an array that may be meant as the lower and the upper ends.
        """
        if bounds is None:
            words = "Pass $bounds, from knowledge of the measurement and never from these data."
            raise ParameterError("bounds", "be given", "None", words)
        remedy = "Write (lower, upper) of each column: [(0, 1), (18, 90)]."
        try:
            pairs = np.array([reals(part, "bounds") for part in entries(bounds)])
            if pairs.shape not in ((2,), (inputs, 2)):
                raise ValueError
        except (TypeError, ValueError):
            words = f"be (lower, upper), or one such pair a column ({inputs})"
            raise ParameterError("bounds", words, shown(bounds), remedy) from None
        either = pairs.shape == (2, 2) and not isinstance(bounds, list)
        if either and np.all(pairs[0] < pairs[1]) and not np.array_equal(pairs, pairs.T):
            ends = pairs.T.tolist()
            remedy = f"For a pair a column write {pairs.tolist()}, for lower and upper ends {ends}."
            raise ParameterError("bounds", "be a list of pairs, one a column", shown(bounds), remedy)
        lower, upper = np.broadcast_to(pairs, (inputs, 2)).T
        with np.errstate(all="ignore"):
            wide = upper - lower
        fits = np.isfinite(lower) & np.isfinite(upper) & (wide > 0)
        if not np.all(fits):
            low, high = (end[np.argmin(fits)] for end in (lower, upper))
            words = "be finite with lower < upper in every column"
            raise ParameterError("bounds", words, f"({low:g}, {high:g})", remedy)
        if not np.all((np.abs(lower) <= LARGEST) & (np.abs(upper) <= LARGEST) & (wide >= SMALLEST)):
            raise ParameterError("bounds", "be of size at most 1e100 and 1e-100 apart", "others")
        return cls(*(frozen(end.copy()) for end in (lower, upper)))

    def scaled(self, points: Floats) -> Floats:
        """Points (q, d) in the units of the columns, clipped and taken to the unit cube, by entries."""
        clipped = np.clip(points, self.lower, self.upper)
        return np.clip((clipped - self.lower) / (self.upper - self.lower), 0.0, 1.0)


def embedded(features: FeatureMap, ball: IntegerBall, points: Floats) -> Integers:
    """Features (q, K) of points of the unit cube, integers in the ball; row i from point i alone."""
    rows = features.values(points)
    return ball.clip(Rows(rows, np.zeros(rows.shape[0], dtype=np.int64)))


def feature_ball(components: int) -> IntegerBall:
    """The integer unit ball that features are forced into."""
    return IntegerBall.of("l2", 1.0, components)


def inputs_words(features: FeatureMap) -> str:
    """How many inputs a map has, in words."""
    return so_many(features.inputs, "input")


# Rows of a block and numbers that a row is padded to: more than any vector register holds.
BLOCK = 256
PAD = 16


def padded(rows: Floats) -> Floats:
    """Rows (m, d) with the last one repeated up to a multiple of `PAD`."""
    more = -rows.shape[0] % PAD
    return np.vstack([rows, np.repeat(rows[-1:], more, axis=0)])


def by_blocks(points: Floats, function: Callable[[Floats], Floats], components: int) -> Floats:
    """A function of rows, over blocks of one size whatever their number."""
    values = np.empty((points.shape[0], components))
    for start in range(0, points.shape[0], BLOCK):
        rows = points[start : start + BLOCK]
        block = np.zeros((BLOCK, points.shape[1]))
        block[: rows.shape[0]] = rows
        values[start : start + BLOCK] = function(block)[: rows.shape[0]]
    return values
