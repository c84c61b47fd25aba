"""How a density is made of what the mechanism gave, and what its bands are for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen, middles
from dpfda.density.cell_errors import is_fine, node_errors, noise_errors, unit_box
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.linear_density import LinearDensity, check_levels, midpoints_of
from dpfda.density.many_cells import nodes_of
from dpfda.density.peaks import Inside, Peaks, peaks_of
from dpfda.density.sample_band import cells_band, is_narrow, is_rough, sample_widths
from dpfda.estimates.histospline import ADAPTIVE, monotone_probabilities, nearest_probabilities
from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.releases.bands import Asked, Band, settled
from dpfda.releases.facts import Claim
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.published import as_given

# Counts of an interval with more of the mass below zero are levelled.
MUCH_BELOW = 1 / 16
# Simulated functions.
DRAWS = 1000


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
    count, step = values.size, raw.share_step / values.size
    if is_fine(raw.cells):
        # Of very many cells in single precision and by transforms.
        errors: Cells = node_errors(raw.smoother, raw.noise, DRAWS, count) * np.float32(step)
    else:
        nodes = middles(raw.domain_range[0], count)[:, None]
        response = raw.smoother.response(unit_box(raw.cells, nodes)) * step
        errors = noise_errors(raw.noise, response, DRAWS)
    levelled = np.empty_like(errors)
    for row, error in zip(levelled, errors, strict=True):
        row[:] = monotone_probabilities(values - error)
    return _reached(errors, levelled, level, simultaneous)


def _reached(errors: Cells, levelled: Cells, level: float, simultaneous: bool) -> tuple[Floats, Floats]:
    """Bounds (m,) for functions (draws, m) of which the errors before levelling are known."""
    if not simultaneous:
        lower, upper = np.quantile(levelled, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return np.asarray(lower), np.asarray(upper)
    deviations = np.sqrt(np.einsum("dm,dm->m", errors, errors) / len(errors))
    deviations = np.where(deviations > 0, deviations, 1.0)
    farthest = np.array([np.max(np.abs(error) / deviations) for error in errors])
    closest = levelled[farthest <= np.quantile(farthest, level, method="higher")]
    return np.asarray(closest.min(axis=0)), np.asarray(closest.max(axis=0))


# Nodes along each axis, by dimension: a public grid on which the density is piecewise linear.
NODES = {1: 2048, 2: 256, 3: 64}
# More cells than these have more nodes: so many at most.
MANY = {1: 2**12, 2: 2**18, 3: 2**18}
MOST_NODES = {1: 2**16, 2: 1024, 3: 64}


@dataclass(frozen=True, eq=False)
class BandedDensity(LinearDensity):
    """A density that is made of `raw`, with peaks set aside, and its bands.

    inside: Noisy counts of parts of the cells where `raw` has peaks.
    """

    inside: Inside | None = None

    @cached_property
    def _nearest(self) -> tuple[Floats, float | None]:
        """Values at the nodes, and what was taken from `raw` wherever they are positive.

        None where it was levelled.
        """
        if self._peaks is not None:
            smooth = (1 - self._peaks.mass) * self._rest(self._peaks).node_values
            return frozen(smooth + self._peaks.on_nodes(self._nodes)), None
        raw, cell = self._raw_on_nodes
        counts = isinstance(self.raw, ReleasedHistogram) and self.dimensions == 1
        levelled = counts and -np.minimum(raw * cell, 0.0).sum() > MUCH_BELOW
        values = (monotone_probabilities if levelled else nearest_probabilities)(raw * cell) / cell
        return frozen(values), None if levelled else float(np.mean((raw - values)[values > 0]))

    @property
    def _raw_on_nodes(self) -> tuple[Floats, float]:
        """What the mechanism gave at the nodes, and the volume of a node's cell."""
        shape = (self._nodes,) * self.dimensions
        cell = self._volume / math.prod(shape)
        if isinstance(self.raw, ReleasedFunction):
            return np.asarray(self.raw(midpoints_of(self._own, shape)[0])), cell
        return self.raw.on_grid(shape), cell

    @cached_property
    def _peaks(self) -> Peaks | None:
        """What was set aside before smoothing, if anything."""
        if self.smooth or not isinstance(self.raw, ReleasedHistogram):
            return None
        peaks = peaks_of(self.raw, self._nodes)
        return peaks if peaks is None else replace(peaks, inside=self.inside)

    def _rest(self, peaks: Peaks) -> Self:
        return replace(self, raw=peaks.rest, smooth=True, inside=None)

    @property
    def _nodes(self) -> int:
        """Nodes along each axis: more where there are more cells than earlier files may have."""
        usual = NODES[self.dimensions]
        if self.step is not None:
            # As many on every value, so that cells of nodes end where values do.
            return self.possible.size * math.ceil(usual / self.possible.size)
        cells = self.raw.cells if isinstance(self.raw, ReleasedHistogram) else None
        if cells is None or not cells.is_regular or cells.size <= MANY[self.dimensions]:
            return usual
        if self.dimensions == 1:
            return nodes_of(cells, MOST_NODES[1])
        return min(max(usual, *cells.shape), MOST_NODES[self.dimensions])

    def quantile_interval(
        self, levels: ArrayLike, level: float = 0.95
    ) -> tuple[float | Floats, float | Floats]:
        """Intervals that hold the quantiles of the data, at all levels at once, with a probability.

        They follow from the counts without any smoothing and hold whatever the density: the ends are
        edges of cells below and above which the band of the shares has left the level. They are about
        the privacy noise alone, not sampling.

        Parameters
        ----------
        levels : float or array (q,)
            Probabilities, from 0 to 1.
        level : float
            Probability that all intervals hold.

        Returns
        -------
        lower, upper : float or array (q,)

        Raises
        ------
        ParameterError
            If the release is not made of counts on an interval.
        """
        if not isinstance(self.raw, ReleasedHistogram):
            raise ParameterError(
                "quantile_interval", "be asked of counts", self.raw.certificate.mechanism["name"]
            )
        # From a boundary between values to the value inside.
        inward = np.array([0.5, -0.5]) * (self.step or 0.0)
        wanted, below = check_levels(levels), self.raw.cdf_band(level)
        edges = self._edges(self.raw)
        inner = edges[1:-1]
        lower = [np.max(inner[below.upper[:-1] < share], initial=edges[0]) for share in wanted]
        upper = [np.min(inner[below.lower[:-1] >= share], initial=edges[-1]) for share in wanted]
        ends = np.column_stack([lower, upper]) + inward
        if np.ndim(levels) == 0:
            return float(ends[0, 0]), float(ends[0, 1])
        return ends[:, 0], ends[:, 1]

    def _edges(self, raw: ReleasedHistogram, parts: int = 1) -> Floats:
        """Ends of the cells of an interval, or of so many parts of each, in the units of the data."""
        if self.scale is not None:
            return self.scale.edges(raw.cells.size * parts)
        if parts == 1:
            return raw.cells.edges[0]
        return np.linspace(*raw.domain_range[0], raw.cells.size * parts + 1)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band for the density of these units, or for that of the same cells; never below zero.

        Notes
        -----
        Of the sample it is for the density that an unlimited budget would publish of these units:
        simulated under the prior that the noisy counts chose, wider by what was measured, see the page
        on densities. Under "monotone", with peaks set aside and where counts are rough it is for their
        shares of the cells, over the cells' sizes, and exact; wider beside peaks, and where few cells
        hold most.

        Of the noise it is for the density that would have been released without noise. The exact one is
        the band of `raw`, the estimate before it was made a density, and perhaps below zero. The usual
        one is made of it as the density is of `raw`: shifted by as much at one end, cut at zero; and it
        contains the released density. Under "monotone" it is about the average over a point's cell.
        """
        where, slopes, own = as_given(at), self._slopes(at), self._positions(at)
        if asked.of == "sample" and isinstance(self.raw, ReleasedHistogram):
            line = np.asarray(self(where))
            if self._by_cells:
                inside = None if self._peaks is None else self._peaks.inside
                fine = None if inside is None else self._edges(self.raw, inside.parts)
                by_cells = cells_band(self.raw, own, asked, self._edges(self.raw), inside, fine)
                shares = settled(replace(by_cells, points=where), line)
                alone = self._peaks is None and not is_narrow(self.raw)
                if self.raw.smoothing == "monotone" or alone:
                    return shares
            peaks, nodes = self._peaks, self._in_nodes(own)
            counts = self.raw if peaks is None else peaks.rest
            width = sample_widths(counts, self.node_values, nodes, asked, self._by_cells) * slopes
            if peaks is not None:
                width = np.where(peaks.at(nodes, self._nodes), 0.0, width)
            lower, upper = np.maximum(line - width, 0.0), line + width
            if self._by_cells:
                return settled(settled(shares, lower), upper)
            return Band(where, lower, upper, asked.level, asked.simultaneous)
        if self._peaks is not None and not asked.exact:
            rest = self._rest(self._peaks)._around(at, asked)
            raised = self._peaks.around(rest, asked.level, self._nodes, self._in_nodes(own), slopes)
            return settled(raised, self(where))
        band = self.raw.band(asked.level, asked.simultaneous, as_given(own), "noise", exact=True)
        if asked.exact:
            return replace(band, points=where, lower=band.lower * slopes, upper=band.upper * slopes)
        taken = self._nearest[1] or 0.0
        lower = np.maximum(band.lower - max(taken, 0.0), 0.0) * slopes
        upper = np.maximum(band.upper + max(-taken, 0.0), 0.0) * slopes
        if self._nearest[1] is None:
            assert isinstance(self.raw, ReleasedHistogram)  # noqa: S101 - others are not levelled
            raw, cell = self._raw_on_nodes
            ends = levelled_band(self.raw, raw * cell, asked.level, asked.simultaneous)
            least, largest = (self._interpolated(own, end / cell) * slopes for end in ends)
            lower, upper = np.minimum(lower, least), np.maximum(upper, largest)
        return settled(replace(band, points=where, lower=lower, upper=upper), self(where))

    def _claims(self) -> tuple[Claim, ...]:
        units = f"in shares of {several(self.unit)} per unit of the domain"
        what = "the density" if self.step is None else "the probability of each value"
        over = "" if self._sharp else ", averaged over each cell,"
        hidden = f"{what} that would have been published without noise{over}"
        noise = replace(self.raw._claims()[0], of="noise", holds=hidden, unit=units)
        if not self._of_sample:
            return (noise,)
        if self._by_cells:
            sharp = self.step is not None and self._sharp
            place = "at each value" if sharp else "in each cell, over its size,"
            shares = f"the share of these {several(self.unit)} {place}"
            return Claim("sample", shares, units, shares.removesuffix(",")), noise
        own = f"the density of these {several(self.unit)}"
        hidden = (
            f"the smooth density that the cells of these {several(self.unit)} would show without noise"
        )
        return Claim("sample", hidden, units, own, "releases"), noise

    @property
    def _by_cells(self) -> bool:
        """Whether its band for the sample is of the units' shares of the cells."""
        raw = self.raw
        if not isinstance(raw, ReleasedHistogram):
            return False
        return raw.smoothing == "monotone" or self._peaks is not None or is_rough(raw)

    @property
    def _sharp(self) -> bool:
        """Whether its bands are of values, not of averages over cells of several."""
        alone = self.step is not None and self.raw.cells.size == self.possible.size  # type: ignore[union-attr]
        return alone or getattr(self.raw, "smoothing", None) != "monotone"

    @property
    def _of_sample(self) -> bool:
        """Whether a band for the density of the sample can be stated."""
        return isinstance(self.raw, ReleasedHistogram) and self.raw.smoothing in ADAPTIVE
