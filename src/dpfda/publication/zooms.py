"""Counts on a scale that is chosen privately: charge for both, choose, add noise to the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale
from dpfda.mechanisms.design.zoom import Zoom
from dpfda.noise import NoiseLaw
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.ledger import AnyLedger
from dpfda.publication.charging import charge, recomputed

Draw = Callable[[NoiseLaw], Sequence[int]]


class Placed(Protocol):
    """Units of an interval, by their shares of any cells. Private."""

    def shares(self, cells: CellGrid) -> list[int]:
        """Sum over units of their shares of each cell, in units of 2^-20."""


def publish_zoomed(
    units: Placed,
    zoom: Zoom,
    noise: NoiseLaw,
    certificate: Certificate,
    entry: Mapping[str, object],
    ledger: AnyLedger | None = None,
    dataset: str | None = None,
) -> tuple[Scale | None, tuple[int, ...], Certificate]:
    """Charge, choose the interval, draw, add.

    Parameters
    ----------
    units : Placed
        Private.
    zoom : Zoom
        How the interval is chosen.
    noise : NoiseLaw
        Calibrated law on the counts, which has been checked against its part of the certificate.
    certificate : Certificate
        Of the whole; its costs are charged.
    entry, ledger, dataset
        As in `publish_integers`.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    for law, apart in zip((zoom.width_noise(), zoom.place_noise(1)), zoom.moved_apart, strict=True):
        recomputed(law, "l1", apart, zoom.part)
    charge(ledger, dataset, certificate, entry)
    return *zoomed(units, zoom, noise, lambda law: law.draw()), certificate


def zoomed(
    units: Placed, zoom: Zoom, noise: NoiseLaw, draw: Draw
) -> tuple[Scale | None, tuple[int, ...]]:
    """The chosen scale and the noisy counts on it; the caller has charged for both."""
    fine = units.shares(zoom.fine)
    width = _largest(zoom.width_scores(fine), draw(zoom.width_noise()))
    place = _largest(zoom.place_scores(fine, width), draw(zoom.place_noise(width)))
    scale, count = zoom.scale(width, place), noise.components
    regular = CellGrid.regular(count, zoom.domain_range)
    cells = regular if scale is None else CellGrid.regular(count, (0.0, 1.0)).along(scale)
    added = zip(units.shares(cells), draw(noise), strict=True)
    return scale, tuple(int(total) + int(drawn) for total, drawn in added)


def _largest(scores: Sequence[int], noise: Sequence[int]) -> int:
    """Index of the largest noisy score, the first on a tie. Nothing else leaves."""
    noisy = [score + drawn for score, drawn in zip(scores, noise, strict=True)]
    return noisy.index(max(noisy))
