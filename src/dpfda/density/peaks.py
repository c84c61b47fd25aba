"""Peaks that a smooth density cannot follow: found in noisy counts, set aside, put back in their cells.

Where a third of all units have one value (0), or stand in one narrow peak, the smooth function of the
counts rings far around it. So stretches of up to three cells that stand out by `FAR` deviations from a
straight line between the cells beside them are tried, one after another. One is a peak if the evidence
of the smoothing prior for the counts with that line in its place is larger by more than the sum of: what
a share that may be anything costs (the logarithm of the density of its noise over that of an even law on
[0, 1]), what it costs that it may lie anywhere, and `MARGIN`, half of it for each more. Of two,
one alone would leave the other to ring. Ordinary peaks, which the prior resolves, are left alone.

The rest is smoothed as ever. What was set aside of a cell lies in this cell again, in the form that the
smooth function of all counts has there. How units lie within it was not seen. All of this is made of
the noisy counts: post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.linear_density import between
from dpfda.estimates.histospline import evidence
from dpfda.numerics.arrays import Flags, Floats
from dpfda.releases.bands import Band

# Chosen on shapes that the page on densities names.
FAR, MARGIN = 4.0, 20.0
WIDEST, MOST = 3, 8
# A cell has at least so many nodes, else peaks are not looked for.
NODES_A_CELL = 2
# Points that a cell's average is of.
INSIDE = 64


@dataclass(frozen=True, eq=False)
class Peaks:
    """Noisy counts, shares (m,) of their cells that were set aside, and the counts without these."""

    raw: ReleasedHistogram
    shares: Floats
    rest: ReleasedHistogram

    @property
    def mass(self) -> float:
        """Share of all units."""
        return float(self.shares.sum())

    def on_nodes(self, nodes: int) -> Floats:
        """Their density at the midpoints of equal parts of the interval, per unit of its length."""
        form = self.raw.on_grid([nodes]) - (1 - self.mass) * self.rest.on_grid([nodes])
        cell = np.arange(nodes) * self.shares.size // nodes
        form = np.where(self.shares[cell] > 0, np.maximum(form, 0.0), 0.0)
        held = np.bincount(cell, form, self.shares.size)
        form = np.where(held[cell] > 0, form, self.shares[cell] > 0)
        held = np.bincount(cell, form, self.shares.size)
        scale = self.shares / np.where(held > 0, held, 1.0) * nodes / self.raw.cells.volume
        return np.asarray(form * scale[cell])

    def half_width(self, level: float) -> float:
        """How far noise puts the height of a peaked cell off at most, per unit of length."""
        beyond = 1 - level ** (1 / np.count_nonzero(self.shares))
        return self.raw.noise_reach(beyond) * self.shares.size / self.raw.cells.volume

    def around(self, rest: Band, level: float, nodes: int, held: Floats, slopes: Floats | float) -> Band:
        """The band of the rest with them on it; in their cells wider by their noise.

        nodes: Number of nodes of the density.
        held: array (1, q). The points of the band, in numbers of nodes.
        slopes: Length there of a unit of the axis.
        """
        values, count = self.on_nodes(nodes), self.shares.size
        cell = np.clip((held[0] + 0.5) / nodes * count, 0, count - 1).astype(np.int64)
        here = self.shares[cell] > 0
        # Beside its cell the line leads down from a peak, which is not there. Noise of the two cells
        # that it goes between is in it.
        height = here * between(values, held) * slopes
        far = here * math.sqrt(1.5) * self.half_width(level) * slopes
        lower, upper = ((1 - self.mass) * end + height for end in (rest.lower, rest.upper))
        return replace(rest, lower=np.maximum(lower - far, 0.0), upper=upper + far)

    def words(self, edges: Floats) -> str:
        """Where they are, how large, and what is not seen of them."""
        at, unit = int(np.argmax(self.shares)), self.raw.unit
        return (
            f"{self.mass:.0%} of the {unit}s lie in peaks narrower than cells, most of them between "
            f"{edges[at]:g} and {edges[at + 1]:g}. How they lie within a cell was not seen: all "
            "of them may have one value"
        )


def peaks_of(raw: ReleasedHistogram, nodes: int) -> Peaks | None:
    """What is set aside of noisy counts of an interval, if anything."""
    count = raw.cells.size
    fits = raw.dimensions == 1 and raw.cells.is_regular and NODES_A_CELL * count <= nodes
    if raw.smoothing != "adaptive" or not fits or count < 2 * WIDEST:
        return None
    shares = raw.counts / raw.size
    rest = bridged(raw, shares)
    apart = np.maximum(shares - rest, 0.0)
    if not 0 < apart.sum() < 1:
        return None
    counts = np.rint(np.ldexp(rest * raw.size, raw.exponent))
    size = max(1, round(raw.size * (1 - apart.sum())))
    held = (*(int(value) for value in counts), *[0] * len(raw.cells.atoms))
    return Peaks(raw, apart, replace(raw, noisy_counts=held, public_size=size))


def bridged(raw: ReleasedHistogram, shares: Floats) -> Floats:
    """Noisy shares (m,) with peaks replaced by the line between the cells beside them."""

    def believed(values: Floats) -> float:
        whole = max(float(values.sum()), 1 / raw.size)
        return evidence(
            raw.cells, values / whole, raw.share_variance / whole**2, max(1.0, raw.size * whole)
        )

    cost = -math.log(2 * math.pi * raw.share_variance) / 2
    apart = math.log(shares.size) + MARGIN / 2
    best, most, spent, in_vain = shares, -math.inf, MARGIN / 2, 0
    for _ in range(MOST):
        tried = [_standing(shares, raw, width) for width in range(1, WIDEST + 1)]
        tried = [each for each in tried if each[0] > FAR]
        # Of two peaks alike one alone may gain nothing, so that another is tried.
        if not tried or in_vain > 1:
            break
        most = believed(shares) if most == -math.inf else most
        steps = [
            (believed(line), np.count_nonzero(where) * cost + apart, line) for _, line, where in tried
        ]
        gain, more, shares = max(steps, key=lambda step: step[0] - step[1])
        spent += more
        in_vain += 1
        if gain - spent > most:
            best, most, in_vain = shares, gain - spent, 0
    return best


def _standing(shares: Floats, raw: ReleasedHistogram, width: int) -> tuple[float, Floats, Flags]:
    """The stretch of so many cells that stands out most: deviations, shares with a line there, where.

    Each of its cells is above the line.
    """
    windows = shares.size - width + 1
    left = np.concatenate([[np.nan], shares])[:windows]
    right = np.append(shares, np.nan)[width:]
    left, right = np.where(np.isnan(left), right, left), np.where(np.isnan(right), left, right)
    lines = np.linspace(left, right, width + 2)[1:-1].T
    above = np.lib.stride_tricks.sliding_window_view(shares, width) - lines
    own = raw.share_variance + np.maximum(shares, 0.0) / raw.size
    variances = np.convolve(own, np.ones(width), "valid") + width**2 * raw.share_variance / 2
    deviations = np.where(above.min(axis=1) > 0, above.sum(axis=1) / np.sqrt(variances), 0.0)
    first = int(np.argmax(deviations))
    where = np.zeros(shares.size, dtype=bool)
    where[first : first + width] = True
    line = shares.copy()
    line[where] = lines[first]
    return float(deviations[first]), line, where
