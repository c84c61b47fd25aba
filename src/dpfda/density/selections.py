"""What is selected privately: a scale, and counts on it; or quantiles among public points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale
from dpfda.density.quantiles_design import PART_BITS
from dpfda.density.zoom import Zoom
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Integers
from dpfda.numerics.exactness import system_bytes
from dpfda.records.points import PlacedPoints

# On counts at a chosen place, and on counts where none is chosen.
Noises = tuple[NoiseLaw, NoiseLaw]
Draw = Callable[[NoiseLaw], Sequence[int]]


def zoomed(
    units: PlacedPoints, zoom: Zoom, noises: Noises, draw: Draw
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


def _added(units: PlacedPoints, cells: CellGrid, noise: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(a) + int(b) for a, b in zip(units.shares(cells), noise, strict=True))


def _largest(scores: Sequence[int], noise: Sequence[int]) -> int:
    """Index of the largest noisy score, the first on a tie. Nothing else leaves."""
    noisy = [score + drawn for score, drawn in zip(scores, noise, strict=True)]
    return noisy.index(max(noisy))


def spread(count: int) -> Integers:
    """The parts of their public points in which so many points lie: uniform bits of the system."""
    return (np.frombuffer(system_bytes(4 * count), dtype="<u4") >> (32 - PART_BITS)).astype(np.int64)
