"""Peaks that a smooth density cannot follow: found in noisy counts, set aside, put back in their cells.

Where a third of all units have one value (0), or stand in one narrow peak, the smooth function of the
counts rings far around it. So stretches of up to three cells that stand out by `FAR` deviations from a
straight line between the cells beside them are tried, one after another. One is a peak if the evidence
of the smoothing prior for the counts with that line in its place is larger by more than the sum of: what
a share that may be anything costs (the logarithm of the density of its noise over that of an even law on
[0, 1]), what it costs that it may lie anywhere, and `MARGIN`, half of it for each more. Of two,
one alone would leave the other to ring. Ordinary peaks, which the prior resolves, are left alone.

The rest is smoothed as ever. What was set aside of a cell lies in this cell again, in the form that the
smooth function of all counts has there. How units lie within it was not seen, unless parts of it were
counted as well (`dpfda.density.second_look`). Then what was set aside has the mean form of normal laws
of all places and widths, cut at the cell's ends, and of the form above, weighted by how likely the noisy
counts of the parts are under each. All of this is made of noisy counts: post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import scipy

from dpfda.bases.grids import frozen
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.linear_density import between
from dpfda.estimates.histospline import evidence
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.releases import entries as file
from dpfda.releases.bands import Band
from dpfda.releases.shares import NoisyShares

# Chosen on shapes that the page on densities names.
FAR, MARGIN = 4.0, 20.0
WIDEST, MOST = 3, 8
# A cell has at least so many nodes, else peaks are not looked for.
NODES_A_CELL = 2
# How likely it is beforehand that within a cell a peak has the form of the smooth function.
AS_SMOOTH = 0.8


@dataclass(frozen=True, eq=False)
class Inside(NoisyShares):
    """Noisy counts of equally many parts of each of some cells, one cell after another.

    cells: Their numbers, increasing.
    """

    cells: tuple[int, ...] = field(default=(), metadata=file.INTEGERS.named("inside_cells").kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        increasing = list(self.cells) == sorted(set(self.cells))
        if not self.cells or len(self.noisy) % len(self.cells) or not increasing:
            raise ValueError("parts of cells belong to cells in their order")

    @property
    def parts(self) -> int:
        """Number of parts of each cell."""
        return len(self.noisy) // len(self.cells)


@dataclass(frozen=True, eq=False)
class Peaks:
    """Noisy counts, shares (m,) of their cells that were set aside, and the counts without these.

    inside: Noisy counts of parts of cells.
    """

    raw: ReleasedHistogram
    shares: Floats
    rest: ReleasedHistogram
    inside: Inside | None = None

    @property
    def mass(self) -> float:
        """Share of all units that is set aside."""
        return float(self.shares.sum())

    def on_nodes(self, nodes: int) -> Floats:
        """Their density at the midpoints of equal parts of the interval, per unit of its length."""
        rest = (1 - self.mass) * self.rest.on_grid([nodes])
        form = self.raw.on_grid([nodes]) - rest
        cell = np.arange(nodes) * self.shares.size // nodes
        form = np.where(self.shares[cell] > 0, np.maximum(form, 0.0), 0.0)
        sums = np.bincount(cell, form, self.shares.size)
        form = np.where(sums[cell] > 0, form, self.shares[cell] > 0)
        sums = np.bincount(cell, form, self.shares.size)
        scale = self.shares / np.where(sums > 0, sums, 1.0) * nodes / self.raw.cells.volume
        values = np.asarray(form * scale[cell])
        return values if self.inside is None else self._seen(self.inside, values, rest)

    def _seen(self, inside: Inside, values: Floats, rest: Floats) -> Floats:
        """The same with the form within each cell that its parts show; rest: all others there."""
        cells, size, length = list(inside.cells), self.raw.size, self.raw.cells.volume / values.size
        ends = np.linspace(0.0, 1.0, self.shares.size * inside.parts + 1)
        own, others = (
            _moved(length * density, ends).reshape(-1, inside.parts)
            for density in (values, np.maximum(rest, 0.0))
        )
        # A node may lie in two cells.
        sums = own.sum(axis=1, keepdims=True)
        own = own * self.shares[:, None] / np.where(sums > 0, sums, 1.0)
        seen = inside.counts.reshape(-1, inside.parts) / size - others[cells]
        # The scale of Laplace noise, in shares.
        scale = inside.deviation / math.sqrt(2) / size
        own[cells] = [_likely_form(*pair, scale) for pair in zip(seen, own[cells], strict=True)]
        return _moved(own.ravel(), np.linspace(0.0, 1.0, values.size + 1)) / length

    def half_width(self, level: float) -> float:
        """How far noise puts the height of a peaked cell off at most, per unit of length."""
        beyond = 1 - level ** (1 / np.count_nonzero(self.shares))
        return self.raw.noise_reach(beyond) * self.shares.size / self.raw.cells.volume

    def around(self, rest: Band, level: float, nodes: int, at: Floats, slopes: Floats | float) -> Band:
        """The band of the rest with them on it; in their cells wider by their noise.

        nodes: Number of nodes of the density.
        at: array (1, q). The points of the band, in numbers of nodes.
        slopes: Length there of a unit of the axis.
        """
        values, count = self.on_nodes(nodes), self.shares.size
        cell, here = self._cell(at, nodes), self.at(at, nodes)
        # Beside its cell the line leads down from a peak, which is not there. Noise of the two cells
        # that it goes between is in it.
        height = here * between(values, at) * slopes
        far = here * math.sqrt(1.5) * self.half_width(level) * slopes
        if self.inside is not None:
            # Noise in parts may have moved all of a cell.
            most = np.append(self.shares, 0.0)[np.where(here, cell, -1)] * count / self.raw.cells.volume
            height, far = height / 2, height / 2 + self.inside.parts * (most * slopes + far)
        lower, upper = ((1 - self.mass) * end + height for end in (rest.lower, rest.upper))
        return replace(rest, lower=np.maximum(lower - far, 0.0), upper=upper + far)

    def at(self, at: Floats, nodes: int) -> Flags:
        """Whether points (1, q), in numbers of nodes, lie in cells of which something was set aside."""
        return self.shares[self._cell(at, nodes)] > 0

    def _cell(self, at: Floats, nodes: int) -> Integers:
        count = self.shares.size
        return np.asarray(np.clip((at[0] + 0.5) / nodes * count, 0, count - 1), dtype=np.int64)

    def words(self, edges: Floats) -> str:
        """Where they are, how large, and what is not seen of them."""
        at, unit = int(np.argmax(self.shares)), self.raw.unit
        seen = "How they lie within a cell was not seen: all of them may have one value"
        if self.inside is not None:
            seen = f"Cells with peaks were divided into {self.inside.parts}, counted with more noise"
        return (
            f"{self.mass:.0%} of the {unit}s lie in peaks narrower than cells, most of them between "
            f"{edges[at]:g} and {edges[at + 1]:g}. {seen}"
        )


def _moved(shares: Floats, ends: Floats) -> Floats:
    """Shares of equal parts of [0, 1], even within each, as shares of parts with these ends."""
    reached = np.append(0.0, np.cumsum(shares))
    return np.diff(np.interp(ends, np.linspace(0.0, 1.0, reached.size), reached))


def _likely_form(seen: Floats, own: Floats, scale: float) -> Floats:
    """Mean form of what was set aside of a cell, given Laplace noise in its noisy parts.

    seen: array (K,). Noisy shares of the parts, without the rest.
    own: array (K,). As the smooth function has them.
    """
    forms, chances = _forms(seen.size)
    forms = np.vstack([own, own.sum() * forms])
    chances = np.append(math.log(AS_SMOOTH), math.log1p(-AS_SMOOTH) + chances)
    believed = chances - np.abs(seen - forms).sum(axis=1) / scale
    weights = np.exp(believed - believed.max())
    return np.asarray(weights @ forms / weights.sum())


@lru_cache(maxsize=8)
def _forms(parts: int) -> tuple[Floats, Floats]:
    """Shares (k, K) of the parts of a cell under normal laws, and the logarithms of their chances.

    All widths are as likely as each other, and of one width all places.
    """
    widths = np.geomspace(0.25, parts, 2 * max(2, parts.bit_length()) - 3)
    width, place = np.meshgrid(widths, np.arange(-parts, 3 * parts + 1) / 2, indexing="ij")
    near = np.abs(place - np.clip(place, 0, parts)) <= 2 * width
    chances = np.broadcast_to(-np.log(near.sum(axis=1) * widths.size)[:, None], near.shape)[near]
    ends = (np.arange(parts + 1.0) - place[near][:, None]) / width[near][:, None]
    forms = np.diff(scipy.special.ndtr(ends), axis=1)
    return frozen(forms / forms.sum(axis=1, keepdims=True)), frozen(chances)


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
    integers = (*(int(value) for value in counts), *[0] * len(raw.cells.atoms))
    return Peaks(raw, apart, replace(raw, noisy_counts=integers, public_size=size))


def bridged(raw: ReleasedHistogram, shares: Floats) -> Floats:
    """Noisy shares (m,) with peaks replaced by the line between the cells beside them."""

    def believed(values: Floats) -> float:
        mass = max(float(values.sum()), 1 / raw.size)
        return evidence(
            raw.cells, values / mass, raw.share_variance / mass**2, max(1.0, raw.size * mass)
        )

    cost = -math.log(2 * math.pi * raw.share_variance) / 2
    apart = math.log(shares.size) + MARGIN / 2
    best, most, spent, in_vain = shares, -math.inf, MARGIN / 2, 0
    for _ in range(MOST):
        tried = [_standing(shares, raw, width) for width in range(1, WIDEST + 1)]
        tried = [stretch for stretch in tried if stretch[0] > FAR]
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
