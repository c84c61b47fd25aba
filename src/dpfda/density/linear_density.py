"""A density that is linear between the nodes of a public grid: its values, integrals and draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.cells import Domain, box_domain
from dpfda.bases.grids import check_points, middles, product_points
from dpfda.bases.scales import Scale
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.estimates.histospline import ADAPTIVE, monotone_probabilities
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import MOST_NUMBERS, reals, seeded, shown, whole, wholes
from dpfda.privacy.certificates import Certificate
from dpfda.releases.base import Valued
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction

# A point is on a value of a lattice if it is as near, in steps.
CLOSE = 1e-9
# What a mechanism gives that is made a density.
RawDensity = ReleasedHistogram | ReleasedFunction | ReleasedField


def between(values: Floats, positions: Floats) -> Floats:
    """Values (q,) between nodes: linear in each variable.

    positions: array (d, q), in numbers of nodes.
    """
    return np.asarray(scipy.ndimage.map_coordinates(values, positions, order=1, mode="nearest"))


@dataclass(frozen=True, eq=False)
class LinearDensity(Valued):
    """A density by its values at the midpoints of equal cells, linear in each variable between them.

    Within half a cell of the edge it is constant, so integrals, quantiles and draws are exactly those of
    the function that a call evaluates. Where there is a scale, cells are equal there. Where there is a
    step, only values that many steps from the first end can be, each with what lies within half a step.
    Shares that units have of cells are kept in what lies below a point, unless it is `smooth`.
    A kind says in `_nearest` how `raw`, which the mechanism gave, is made a density.
    """

    raw: RawDensity
    scale: Scale | None = None
    step: float | None = None
    smooth: bool = False

    @property
    def domain_range(self) -> Domain:
        """Ends of the box along each axis; with a step the first and the last value."""
        if self.step is not None:
            ((a, b),) = self._own
            return ((a + self.step / 2, b - self.step / 2),)
        return self._own if self.scale is None else box_domain(self.scale.domain_range)

    @property
    def _own(self) -> Domain:
        """Ends of the box that `raw` lives on."""
        return box_domain(self.raw.domain_range)

    @property
    def certificate(self) -> Certificate:
        """What it promises to whom, and what it cost."""
        return self.raw.certificate

    @property
    def about(self) -> Mapping[str, object]:
        """Versions, date, labels of the axes."""
        return self.raw.about

    @property
    def node_values(self) -> Floats:
        """Values at the nodes: not negative, of mean one over the box's volume."""
        return self._nearest[0]

    @property
    def _nearest(self) -> tuple[Floats, float | None]:
        """Values at the nodes, and what was taken from `raw` wherever they are positive, if known."""
        raise NotImplementedError

    @property
    def dimensions(self) -> int:
        """Number d of variables."""
        return len(self.domain_range)

    @property
    def _volume(self) -> float:
        return float(np.prod([b - a for a, b in self._own]))

    def _values(self, at: Floats) -> Floats:
        """Values of the density, per unit of volume; with a step averages over its length."""
        if self.step is not None:
            half = self.step / 2
            return (self._below(at[:, 0] + half) - self._below(at[:, 0] - half)) / self.step
        return self._interpolated(self._positions(at)) * self._slopes(at)

    def _positions(self, at: Floats) -> Floats:
        """Points (q, d) where `raw` lives."""
        return at if self.scale is None else self.scale.positions(at)

    def _slopes(self, at: Floats) -> Floats | float:
        """Length that a unit of the axis has where `raw` lives, at points (q, d)."""
        return 1.0 if self.scale is None else self.scale.slopes(at[:, 0])

    def _interpolated(self, at: Floats, values: Floats | None = None) -> Floats:
        return between(self.node_values if values is None else values, self._in_nodes(at))

    def _in_nodes(self, at: Floats) -> Floats:
        """Points (d, q) in numbers of nodes."""
        ends = np.array(self._own)
        nodes = self.node_values.shape[0]
        return np.asarray(((at - ends[:, 0]) / (ends[:, 1] - ends[:, 0]) * nodes - 0.5).T)

    @property
    def possible(self) -> Floats:
        """Values (q,) that there can be, where there is a step.

        Raises
        ------
        ParameterError
            If there is none.
        """
        if self.step is None:
            raise ParameterError("step", "have been stated for masses of values", "none")
        ((a, b),) = self.domain_range
        return np.asarray(a + self.step * np.arange(round((b - a) / self.step) + 1.0))

    def masses(self) -> tuple[Floats, Floats]:
        """Values that there can be, and their probabilities, where a step was stated.

        Returns
        -------
        values, probabilities : array (q,)
            In the units of the data, and of sum one.

        Raises
        ------
        ParameterError
            If no step was stated.
        """
        values = self.possible
        return values, np.diff(np.concatenate([[0.0], self.cdf(values)]))

    def on_grid(self, shape: Sequence[int] | None = None) -> Floats:
        """Values at the midpoints of a regular grid; by default at the nodes.

        Parameters
        ----------
        shape : sequence of d int, optional
        """
        wanted = self.node_values.shape if shape is None else wholes(shape, "shape", self.dimensions)
        if wanted == self.node_values.shape and self.scale is None and self.step is None:
            return self.node_values.copy()
        return np.reshape(self(product_points(midpoints_of(self.domain_range, wanted))), wanted)

    def midpoints(self, shape: Sequence[int] | None = None) -> tuple[Floats, ...]:
        """Midpoints along each axis of the grid of `on_grid`."""
        own = self.node_values.shape
        wanted = own if shape is None else wholes(shape, "shape", self.dimensions)
        return midpoints_of(self.domain_range, wanted)

    def integral(self, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> float:
        """Probability of a box, by default of the whole domain: one, up to rounding.

        Parameters
        ----------
        lower, upper : float or array (d,), optional
            Ends of the box, inside the domain.
        """
        starts, stops = self._corner(lower, "lower", 0), self._corner(upper, "upper", 1)
        if self.dimensions == 1:
            ends = check_points(np.concatenate([starts, stops]), self.domain_range[0])
            around = np.array([-0.5, 0.5]) * (self.step or 0.0)
            first, last = self._below(self._positions(ends + around))
            return float(last - first) if self.step is None else max(float(last - first), 0.0)
        total = self.node_values
        for (a, b), start, stop in zip(self.domain_range, starts, stops, strict=True):
            check_points([start, stop], (a, b))
            cell = (b - a) / total.shape[0]
            weights = cell * (
                _below(total.shape[0], (stop - a) / cell) - _below(total.shape[0], (start - a) / cell)
            )
            total = np.tensordot(weights, total, axes=(0, 0))
        return float(total)

    def _corner(self, corner: ArrayLike | None, name: str, end: int) -> Floats:
        """One number for each variable; by default the ends of the domain."""
        if corner is None:
            return np.array([ends[end] for ends in self.domain_range])
        numbers = np.atleast_1d(reals(corner, name))
        if numbers.shape != (self.dimensions,):
            raise ParameterError(name, f"be {self.dimensions} numbers, one a variable", shown(corner))
        return numbers

    def _number(self, axis: int | str) -> int:
        """Number of the variable that is asked for by its number, or by its label."""
        if not isinstance(axis, str):
            return whole(axis, "axis", 0, self.dimensions - 1)
        labels = [self._axis_label(place) for place in range(self.dimensions)]
        places = [i for i, label in enumerate(labels) if axis in (label, label.partition(" (")[0])]
        if len(places) != 1:
            words = f"be the number of a variable, or one of {labels}"
            raise ParameterError("axis", words, repr(axis), "Labels are stated with the domain.")
        return places[0]

    def marginal(self, axis: int | str = 0) -> tuple[Floats, Floats]:
        """Knots and values of the density of one variable, which is linear between them.

        With a scale it is nearly linear there.

        Parameters
        ----------
        axis : int or str
            Number of the variable, from 0, or its label, with its unit or without.
        """
        knots, values = self._marginal(self._number(axis))
        if self.scale is None:
            return knots, values
        knots = self.scale.points(knots)
        return knots, values * self.scale.slopes(knots)

    def _marginal(self, axis: int) -> tuple[Floats, Floats]:
        """The same where `raw` lives."""
        a, b = self._own[axis]
        others = tuple(i for i in range(self.dimensions) if i != axis)
        rest = self._volume / (b - a)
        values = self.node_values.mean(axis=others) * rest if others else self.node_values
        knots = np.concatenate([[a], middles((a, b), values.size), [b]])
        return knots, np.concatenate([values[:1], values, values[-1:]])

    def cdf(self, points: ArrayLike, axis: int | str = 0) -> float | Floats:
        """Distribution function, of one variable where there are several.

        With a step it jumps at the values, and is the share up to and with each.

        Parameters
        ----------
        points : float or array (q,)
            Points of the domain of that variable.
        axis : int or str
            As in `marginal`.
        """
        number = self._number(axis)
        at = check_points(points, self.domain_range[number])
        if self.step is not None:
            start = self.domain_range[0][0]
            at = start + (np.floor((at - start) / self.step + CLOSE) + 0.5) * self.step
        shares = self._below(self._positions(at), number)
        return float(shares[0]) if np.ndim(points) == 0 else shares

    @cached_property
    def _shares_below(self) -> tuple[Floats, Floats] | None:
        """What lies below the edges of cells in the density, and of the units if these are kept."""
        raw = self.raw
        if self.smooth or not isinstance(raw, ReleasedHistogram):
            return None
        if raw.dimensions > 1 or raw.smoothing not in ADAPTIVE:
            return None
        shares = np.diff(smooth := self._reached(raw.cells.edges[0]))
        own = units_shares(shares, raw.counts / raw.size, raw.share_variance, raw.size)
        return smooth, np.append(0.0, np.cumsum(own))

    def _below(self, at: float | Floats, axis: int = 0) -> Floats:
        """Probability of what lies below, where `raw` lives: of the units, if their shares are kept."""
        share, own = self._reached(at, axis), self._shares_below
        return share if own is None else np.clip(np.interp(share, *own), 0.0, 1.0)

    def _reached(self, at: float | Floats, axis: int = 0) -> Floats:
        """Probability of what lies below, where `raw` lives."""
        knots, values = self._marginal(axis)
        at = np.clip(at, knots[0], knots[-1])
        reached = _cumulated(knots, values)
        cell = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, knots.size - 2)
        step, width = at - knots[cell], knots[cell + 1] - knots[cell]
        slope = (values[cell + 1] - values[cell]) / width
        below = (reached[cell] + step * (values[cell] + slope * step / 2)) / reached[-1]
        return np.asarray(np.clip(below, 0, 1))

    def _stepped(self, points: Floats) -> Floats:
        """The nearest values that there can be, where there is a step."""
        if self.step is None:
            return points
        ((a, b),) = self.domain_range
        return np.clip(a + np.rint((points - a) / self.step) * self.step, a, b)

    def quantile(self, levels: ArrayLike, axis: int | str = 0) -> float | Floats:
        """Quantiles: the smallest point at which `cdf` reaches each level.

        Parameters
        ----------
        levels : float or array (q,)
            Probabilities, from 0 to 1.
        axis : int or str
            As in `marginal`.
        """
        wanted = check_levels(levels)
        if self._shares_below is not None:
            smooth, own = self._shares_below
            # The first place of each level, where shares below are level.
            after = np.clip(np.searchsorted(own, wanted, side="left"), 1, own.size - 1)
            risen, whole_cell = wanted - own[after - 1], own[after] - own[after - 1]
            part = np.clip(risen / np.where(whole_cell > 0, whole_cell, 1.0), 0.0, 1.0)
            wanted = smooth[after - 1] + part * (smooth[after] - smooth[after - 1])
        knots, values = self._marginal(self._number(axis))
        reached = _cumulated(knots, values)
        share = wanted * reached[-1]
        cell = np.clip(np.searchsorted(reached, share, side="left") - 1, 0, knots.size - 2)
        width, rest = knots[cell + 1] - knots[cell], np.maximum(share - reached[cell], 0.0)
        slope = (values[cell + 1] - values[cell]) / width
        # Root of values s + slope s^2 / 2 = rest in the form that does not cancel.
        root = np.sqrt(np.maximum(values[cell] ** 2 + 2 * slope * rest, 0.0))
        below = values[cell] + root
        step = np.where(rest > 0, 2 * rest / np.where(below > 0, below, 1.0), 0.0)
        points = knots[cell] + np.clip(step, 0.0, width)
        points = self._stepped(points if self.scale is None else self.scale.points(points))
        return float(points[0]) if np.ndim(levels) == 0 else points

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> Floats:
        """Synthetic data: independent draws from the density. Costs no privacy.

        Parameters
        ----------
        n : int
            How many.
        rng : numpy Generator, seed or None
            The caller's own: this randomness protects nobody.

        Returns
        -------
        array (n,), or (n, d) in d dimensions
        """
        count, generator = whole(n, "n", 0, MOST_NUMBERS), seeded(rng, "rng")
        if self._shares_below is not None:
            return np.asarray(self.quantile(generator.uniform(size=count)))
        weights = self.node_values.ravel() / self.node_values.sum()
        chosen = generator.choice(weights.size, size=count, p=weights)
        nodes = np.stack(np.unravel_index(chosen, self.node_values.shape), axis=1)
        # A linear interpolant is a mixture of triangular densities around the nodes, folded at the ends.
        uniforms = generator.uniform(size=(2, *nodes.shape))
        ends, knots = np.array(self._own), self.node_values.shape[0]
        position = np.abs(nodes + 0.5 + uniforms[0] - uniforms[1])
        position = np.minimum(position, 2 * knots - position) / knots
        drawn = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * position
        if self.scale is not None:
            drawn = self.scale.points(drawn)
        drawn = self._stepped(drawn)
        return np.asarray(drawn[:, 0] if self.dimensions == 1 else drawn)


def units_shares(smooth: Floats, noisy: Floats, variance: float, size: float) -> Floats:
    """The units' own shares (m,) of cells, of sum one, given a smooth density's and noisy ones.

    smooth, noisy: array (m,).
    variance: Of the noise in a share.
    size: Number of units.
    """
    # Chance puts the units' shares so far from those of the density that they were drawn from.
    chance = smooth / size
    weights = chance / (chance + variance)
    shares, room = smooth + weights * (noisy - smooth), variance * weights
    shares += room * ((1 - shares.sum()) / room.sum())
    return monotone_probabilities(shares)


def midpoints_of(domain: Sequence[tuple[float, float]], shape: Sequence[int]) -> tuple[Floats, ...]:
    """Midpoints along each axis of a box that is cut into equal cells."""
    return tuple(map(middles, domain, shape))


def _cumulated(knots: Floats, values: Floats) -> Floats:
    areas = (values[1:] + values[:-1]) / 2 * np.diff(knots)
    return np.concatenate([[0.0], np.cumsum(areas)])


def _below(nodes: int, position: float) -> Floats:
    """Integral of each node's folded hat function from 0 to `position`, in units of a cell."""
    middle = np.arange(nodes, dtype=np.float64) + 0.5
    return np.asarray(
        _hat(position - middle) - _hat(-position - middle) + 1 - _hat(2 * nodes - position - middle)
    )


def _hat(x: Floats) -> Floats:
    """Integral from minus infinity of the hat function on [-1, 1]."""
    inside = np.clip(x, -1.0, 1.0)
    return np.where(inside < 0, (1 + inside) ** 2 / 2, 1 - (1 - inside) ** 2 / 2)


def check_levels(levels: ArrayLike, name: str = "levels") -> Floats:
    """Probabilities (q,), checked."""
    wanted = np.atleast_1d(reals(levels, name))
    others = wanted[~((wanted >= 0) & (wanted <= 1))]
    if wanted.ndim != 1 or others.size:
        first = f"{others[0]:g}" if others.size else shown(levels)
        raise ParameterError(name, "be probabilities from 0 to 1", first)
    return wanted
