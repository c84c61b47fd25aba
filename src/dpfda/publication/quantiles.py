"""Noisy quantiles from private to public: charge, spread the points, draw the places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from dpfda.bases.places import PublicPoints
from dpfda.mechanisms.design.quantiles import PART_BITS, QuantileLaw
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.exactness import system_bytes
from dpfda.privacy.certificates import Certificate
from dpfda.publication.accounts import NAMED, Paying, charge


class Ranked(Protocol):
    """Points of units on an interval. Private."""

    def __len__(self) -> int:
        """Number of points."""

    def ranked(self, places: Callable[[Floats], Integers]) -> tuple[Integers, Integers]:
        """Places where there are points, and the shares of all units up to each."""


def publish_quantiles(
    units: Ranked,
    points: PublicPoints,
    law: QuantileLaw,
    size: int | None,
    certificate: Certificate,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
) -> tuple[int, ...]:
    """Charge the ledger and draw the quantiles: numbers of public points.

    Parameters
    ----------
    units : Ranked
        Private.
    points : PublicPoints
    law : QuantileLaw
    size : int or None
        Public number of units.
    certificate, entry, paying
        As in `publish_integers`.

    Raises
    ------
    BudgetError
        If the ledger refuses; nothing was drawn.
    """
    charge(paying, certificate, entry)
    parts = spread(len(units))
    places, shares = units.ranked(lambda at: (points.nearest(at) << PART_BITS) | parts)
    return law.draw(places, shares, size)


def spread(count: int) -> Integers:
    """The parts of their public points in which so many points lie: uniform bits of the system."""
    return (np.frombuffer(system_bytes(4 * count), dtype="<u4") >> (32 - PART_BITS)).astype(np.int64)
