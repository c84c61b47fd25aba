"""What is selected privately: a scale, and counts on it; or quantiles among public points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.places import PublicPoints
from dpfda.bases.scales import Scale
from dpfda.mechanisms.design.quantiles import PART_BITS, QuantileLaw
from dpfda.mechanisms.design.zoom import Zoom
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.exactness import system_bytes
from dpfda.privacy.certificates import Certificate
from dpfda.publication.charging import NAMED, Paying, charge, recomputed

# On counts at a chosen place, and on counts where none is chosen.
Noises = tuple[NoiseLaw, NoiseLaw]
Draw = Callable[[NoiseLaw], Sequence[int]]


class Placed(Protocol):
    """Units of an interval, by their shares of any cells. Private."""

    def shares(self, cells: CellGrid) -> list[int]:
        """Sum over units of their shares of each cell, in units of 2^-20."""


def publish_zoomed(
    units: Placed,
    zoom: Zoom,
    noises: Noises,
    certificate: Certificate,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
) -> tuple[Scale | None, tuple[int, ...], Certificate]:
    """Charge, choose the interval, draw, add.

    Parameters
    ----------
    units : Placed
        Private.
    zoom : Zoom
        How the interval is chosen.
    noises : (NoiseLaw, NoiseLaw)
        Calibrated laws on the counts, with a place and without one, which have been checked against
        their part of the certificate.
    certificate : Certificate
        Of the whole; its costs are charged.
    entry, paying
        As in `publish_integers`.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    laws = zoom.width_noise(), zoom.place_noise(1)
    for law, apart, part in zip(laws, zoom.moved_apart, zoom.parts, strict=True):
        recomputed(law, "l1", apart, part)
    charge(paying, certificate, entry)
    return *zoomed(units, zoom, noises, lambda law: law.draw()), certificate


def zoomed(
    units: Placed, zoom: Zoom, noises: Noises, draw: Draw
) -> tuple[Scale | None, tuple[int, ...]]:
    """The scale, where a place was chosen, and the noisy counts; the caller has charged for all."""
    fine = units.shares(zoom.fine)
    width = _largest(zoom.width_scores(fine), draw(zoom.width_noise()))
    placed, unplaced = noises
    if zoom.narrow(width):
        place = _largest(zoom.place_scores(fine, width), draw(zoom.place_noise(width)))
        scale = zoom.scale(width, place)
        cells = CellGrid.regular(placed.components, (0.0, 1.0)).along(scale)
        return scale, _added(units, cells, draw(placed))
    cells = CellGrid.regular(unplaced.components, zoom.domain_range)
    return None, _added(units, cells, draw(unplaced))


def _added(units: Placed, cells: CellGrid, noise: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(a) + int(b) for a, b in zip(units.shares(cells), noise, strict=True))


def _largest(scores: Sequence[int], noise: Sequence[int]) -> int:
    """Index of the largest noisy score, the first on a tie. Nothing else leaves."""
    noisy = [score + drawn for score, drawn in zip(scores, noise, strict=True)]
    return noisy.index(max(noisy))


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
