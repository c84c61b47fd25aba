"""Rules of records on the grid: the public numbers that turn one record into integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from dpfda.numerics.arrays import Floats

# Bits of an integer, so that 2^23 of them add up below 2^53.
BITS = 30


@dataclass(frozen=True, eq=False)
class GridRule:
    """What turns one record into integers; all of it public.

    With y = (x - center) 2^exponent, a record is either clipped entry by entry, to the nearest integer
    with |y_k| <= h_k, or (where `limit` is finite) shrunk along its direction until
    (sum_k w_k y_k^2)^(1/2) <= limit and rounded toward zero.

    center: array (m,). Subtracted from every record, in the units of the data.
    half_widths: array (m,). Integers h_k below 2^30 + 2, held in float64. No integer of a record is
        larger.
    weights: array (m,). Quadrature weights.
    exponent: The grid of values is 2^-exponent, in the units of the data.
    limit: Largest weighted length in grid units; infinity for bounds on values.
    """

    center: Floats
    half_widths: Floats
    weights: Floats
    exponent: int
    limit: float = np.inf
    scale: float = field(init=False)

    def __post_init__(self) -> None:
        if not np.all(self.half_widths <= 2.0**BITS + 1):
            raise ValueError("half-widths leave the range in which sums are exact")
        if self.shrinks and np.any(self.center):
            raise ValueError("records are shrunk toward zero, not toward another center")
        object.__setattr__(self, "scale", float(np.ldexp(1.0, self.exponent)))

    @property
    def shrinks(self) -> bool:
        """Whether records are shrunk to a length, rather than clipped entry by entry."""
        return bool(np.isfinite(self.limit))

    def same(self, other: GridRule) -> bool:
        """Whether both make the same integers of every record."""
        names = ("center", "half_widths", "weights", "exponent", "limit")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)


@dataclass(frozen=True, eq=False)
class FromLine:
    """How far a record, clipped between public curves, is from a public line at its farthest point.

    lower, upper, line: array (m,).
    shares: array (m,). What a distance is multiplied by at each point.
    """

    lower: Floats
    upper: Floats
    line: Floats
    shares: Floats

    def lengths(self, values: Floats) -> Floats:
        """Of finite records (n, m), each by itself; `compiled.read_lengths` gives the same. Private."""
        apart = np.clip(values, self.lower, self.upper)
        apart -= self.line
        np.abs(apart, out=apart)
        apart *= self.shares
        return np.asarray(apart.max(axis=1))


class SideBySide:
    """Rules of several channels, for records (m, d) flattened: d values at a point lie side by side.

    channels: On m points each, all for bounds on values.
    """

    limit: ClassVar[float] = np.inf
    shrinks: ClassVar[bool] = False

    def __init__(self, channels: Sequence[GridRule]) -> None:
        if any(rule.shrinks for rule in channels):
            raise ValueError("records of several channels are clipped entry by entry")

        def together(parts: list[Floats]) -> Floats:
            return np.stack(parts, axis=1).ravel()

        self.center = together([rule.center for rule in channels])
        self.half_widths = together([rule.half_widths for rule in channels])
        self.weights = together([rule.weights for rule in channels])
        self.scale = together([np.full(rule.center.size, rule.scale) for rule in channels])


# What the sums of records on a grid are made by.
Rule: TypeAlias = GridRule | SideBySide
