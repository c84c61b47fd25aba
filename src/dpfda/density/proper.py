"""A function on nodes made a density, and what noise in the one does to the other."""

from __future__ import annotations

import numpy as np

from dpfda.density.cell_errors import is_fine, node_errors
from dpfda.density.histogram_release import ReleasedHistogram, simulated_errors
from dpfda.estimates.histospline import monotone_probabilities, nearest_probabilities
from dpfda.numerics.arrays import Cells, Floats

# How a function is made a density: as in earlier files, or so where there is little below zero; also
# with peaks set aside before.
PROPER = ("nearest", "adaptive", "peaks")
MUCH_BELOW = 1 / 16
# Simulated functions.
DRAWS = 1000


def probabilities(values: Floats, proper: str) -> tuple[Floats, bool]:
    """Values of sum one made non-negative, and whether their running sum was levelled for it.

    Parameters
    ----------
    values : array of any shape
    proper : {"nearest", "adaptive", "peaks"}
        The nearest ones; or, on an interval, where more than a sixteenth lies below zero, the
        differences of the nearest running sum that never falls.
    """
    if proper != "nearest" and values.ndim == 1 and -np.minimum(values, 0.0).sum() > MUCH_BELOW:
        return monotone_probabilities(values), True
    return nearest_probabilities(values), False


def levelled_band(
    raw: ReleasedHistogram, values: Floats, level: float, simultaneous: bool
) -> tuple[Floats, Floats]:
    """Bounds, at the nodes, for what functions that differ from `raw` by its noise are levelled to.

    Levelling moves values far where noise moves a dip below zero. So the functions themselves are
    simulated and levelled. Simultaneously: the least and largest values among the share `level` of them
    that are closest to `raw`, in deviations of the noise; else the quantiles at each node.

    Parameters
    ----------
    raw : ReleasedHistogram
        On an interval.
    values : array (m,)
        Its values at the nodes, times their distance.
    """
    if is_fine(raw.cells):
        return _levelled_finely(raw, values, level, simultaneous)
    ((a, b),) = raw.domain_range
    middles = a + (b - a) * (np.arange(values.size) + 0.5) / values.size
    generator = np.random.Generator(np.random.Philox(key=3))
    errors = simulated_errors(raw, middles[:, None], generator, DRAWS) * ((b - a) / values.size)
    made = np.array([monotone_probabilities(values - error) for error in errors])
    return _reached(errors, made, level, simultaneous)


def _levelled_finely(
    raw: ReleasedHistogram, values: Floats, level: float, simultaneous: bool
) -> tuple[Floats, Floats]:
    """The same for very many cells, in single precision and by transforms."""
    errors = node_errors(raw, DRAWS, values.size) * np.float32(raw.cells.volume / values.size)
    made = np.empty_like(errors)
    for row, error in zip(made, errors, strict=True):
        row[:] = monotone_probabilities(values - error)
    return _reached(errors, made, level, simultaneous)


def _reached(errors: Cells, made: Cells, level: float, simultaneous: bool) -> tuple[Floats, Floats]:
    """Bounds (m,) for functions (draws, m) of which the errors before levelling are known."""
    if not simultaneous:
        tails = [(1 - level) / 2, (1 + level) / 2]
        lower, upper = np.quantile(made, tails, axis=0)
        return np.asarray(lower), np.asarray(upper)
    deviations = np.sqrt(np.einsum("dm,dm->m", errors, errors) / len(errors))
    deviations = np.where(deviations > 0, deviations, 1.0)
    farthest = np.array([np.max(np.abs(error) / deviations) for error in errors])
    kept = made[farthest <= np.quantile(farthest, level, method="higher")]
    return np.asarray(kept.min(axis=0)), np.asarray(kept.max(axis=0))
