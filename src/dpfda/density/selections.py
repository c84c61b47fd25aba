"""What is selected privately: a scale, and counts on it; or quantiles among public points."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale
from dpfda.density.quantiles_design import PART_BITS
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Integers
from dpfda.numerics.exactness import system_bytes
from dpfda.publication.zoom import Zoom, noisy_largest
from dpfda.records.points import PlacedPoints

# On counts at a chosen place, and on counts where none is chosen.
Noises = tuple[NoiseLaw, NoiseLaw]
Draw = Callable[[NoiseLaw], Sequence[int]]


def zoomed(
    units: PlacedPoints, zoom: Zoom, noises: Noises, draw: Draw
) -> tuple[Scale | None, tuple[int, ...]]:
    """The scale, where a place was chosen, and the noisy counts; the caller has charged for all."""
    # What lies at atoms lies in none of the intervals.
    fine = units.shares(zoom.fine)[: zoom.fine.size]
    width = noisy_largest(zoom.width_scores(fine), draw(zoom.width_noise()))
    placed, unplaced = noises
    if zoom.narrow(width):
        place = noisy_largest(zoom.place_scores(fine, width), draw(zoom.place_noise(width)))
        scale = zoom.scale(width, place)
        cells = CellGrid.regular(placed.components - len(zoom.atoms), (0.0, 1.0)).along(scale)
        return scale, _added(units, cells.with_atoms(zoom.atoms), draw(placed))
    cells = CellGrid.regular(unplaced.components - len(zoom.atoms), zoom.domain_range)
    return None, _added(units, cells.with_atoms(zoom.atoms), draw(unplaced))


def _added(units: PlacedPoints, cells: CellGrid, noise: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(a) + int(b) for a, b in zip(units.shares(cells), noise, strict=True))


def spread(count: int) -> Integers:
    """The parts of their public points in which so many points lie: uniform bits of the system."""
    return (np.frombuffer(system_bytes(4 * count), dtype="<u4") >> (32 - PART_BITS)).astype(np.int64)
