"""Which smooth laws a noisy table of times and values speaks for: the most likely ones, and how surely.

A cell of the table is a count of units with noise of a known variance, and sampling of at most a count's
variance: a unit that divides its weight among observations counts a_c in a sum over cells, on average
over its observations, and the square of an average is at most the average of squares, however the
observations depend on one another.

The parameters of `dpfda.reference.centiles.laws` have normal priors, whose variances fall with the
third power of the degree in time. How large they are in each of the groups below, the table decides
itself: each is the mean square of its parameters given the table (MacKay 1992). Parameters are
improved by Newton steps with expected curvature, damped where they would not help (Levenberg &
Marquardt), from few terms in time to all. Everything here is post-processing of public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.reference.centiles.laws import SHAPES, Laws, Terms

# Variances fall so fast with the degree in time.
DECAY = 3.0
# Groups: centre, scale, shape at all times, shape in time, visits. Standard deviations to begin with,
# and the least and largest that a table may choose.
BEGIN = np.array([0.1, 0.2, 0.1, 0.03, 0.3])
LEAST = np.array([1e-4, 1e-3, 1e-4, 1e-4, 1e-3])
LARGEST = np.array([1.0, 1.5, 1.5, 1.0, 2.0])
# Priors of the mean levels: of centre, log scale and skewness; and of the logarithm of visits.
CENTRE, WIDTH, LEVELS = 0.5, np.log(0.15), (0.5, 1.0, 0.5, 0.5)
# A count has some variance where next to none is expected.
SPARE = 0.3
# Newton steps with each of 2, 4, 8 terms in time, then with all. Where the first search ends in a law
# that the table contradicts, a slower one begins with the centre alone.
QUICK, SLOW, LAST, CONTRADICTED = 3, 6, 19, 1.3
TRIALS, WORST = 8, 1e6
# A cell of time stands out where its mean square is larger, with laws wrong by such a share of what
# they expect. Chosen on smooth laws, and on half of the sets that the page on quantile curves names.
STANDS_OUT, FAULT = 5.0, 0.1
# Where the search begins: centres, and scales.
CENTRES, SCALES = np.linspace(0.02, 0.98, 49), 14


@dataclass(frozen=True, eq=False)
class Nodes:
    """Times at which laws are taken for cells of time. Public.

    positions: array (q,). Increasing, in [0, 1].
    starts: array (J,) of int. First of each cell of time.
    weights: array (q,). Share of a unit's weight that is there, in all one.
    """

    positions: Floats
    starts: Integers
    weights: Floats

    def summed(self, values: Floats) -> Floats:
        """Sums over the nodes of each cell, with their weights."""
        shape = (-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(values * self.weights.reshape(shape), self.starts, axis=0))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The most likely laws and how surely they are known.

    parameters: array (P,)
    root: array (P, P). R with R R' their covariance.
    rough: (float, float). Variance of what terms beyond the last add to centre and log scale.
    misfit: Mean square of what the laws leave of the table, in deviations of a cell; at least
        `STANDS_OUT` where one cell of time does.
    """

    terms: Terms
    parameters: Floats
    root: Floats
    rough: tuple[float, float]
    misfit: float = 1.0

    def at(self, positions: Floats) -> Laws:
        """The laws at times, as shares of the domain."""
        return self.terms.at(self.parameters, positions)

    def errors(self, positions: Floats, level: float) -> tuple[Floats, Floats]:
        """Of a quantile at times: E (q, P) with E E' its covariance, and what is rough there, (q,)."""
        laws = self.at(positions)
        values = laws.quantiles(level)
        rising, slopes = (each[:, 0] for each in laws.slopes(values[:, None]))
        # A jump of the distribution at a bound has no slope: there the quantile is the bound.
        safe = np.maximum(rising, 1e-3 / laws.scale)
        centre, scale = self.rough
        return (slopes @ self.root) / safe[:, None], centre + scale * (values - laws.centre) ** 2


def terms_for(cells: int, known: bool, few: bool) -> Terms:
    """How many terms a table with so many cells of time speaks for.

    known: Whether the number of units is.
    few: Whether units have few visits, at times of their own.
    """
    centre = min(cells, 16)
    return Terms(centre, min(cells, 4), min(cells, 12) if few else int(not known))


def fitted(table: Floats, nodes: Nodes, terms: Terms, size: float, deviation: float) -> Posterior:
    """The laws that a noisy table speaks for.

    table: array (J, K). Numbers of units, with noise.
    size: Number of units.
    deviation: Of the noise in a cell.
    """
    search = _Search(table, nodes, terms, size, deviation**2)
    found = _searched(search, QUICK)
    if found.misfit <= CONTRADICTED:
        return found
    return min(found, _searched(search, SLOW), key=lambda each: each.misfit)


def _searched(search: _Search, steps: int) -> Posterior:
    """What Newton steps lead to."""
    terms, prior = search.terms, _Prior(search.terms, BEGIN)
    parameters, damping = search.start(prior), 1.0
    for step in range(3 * steps + LAST):
        active = prior.active(2 << min(step // steps, 3), step >= 3 * steps, steps == QUICK)
        gradient, curvature = search.slopes(parameters, prior)
        parameters, damping = search.improved(parameters, prior, active, gradient, curvature, damping)
        if step >= 2 * steps:
            variances = np.diag(np.linalg.inv(curvature))
            prior = prior.learned(parameters, variances, active)
    curvature = search.slopes(parameters, prior)[1]
    root = scipy.linalg.solve_triangular(np.linalg.cholesky(curvature), np.eye(terms.count), lower=True)
    left = prior.sizes[:2] ** 2 / ((DECAY - 1) * terms.centre ** (DECAY - 1))
    rough = float(left[0]), float(left[1])
    return Posterior(terms, parameters, root.T, rough, search.misfit(parameters))


@dataclass(frozen=True, eq=False)
class _Prior:
    """Normal priors. sizes: array (5,). Standard deviations of the groups."""

    terms: Terms
    sizes: Floats

    @cached_property
    def _laid(self) -> tuple[Integers, Floats, Floats]:
        """Group of each parameter (-1: none), its variance in units of the group's, and its mean."""
        group = np.full(self.terms.count, -1)
        unit, mean = np.ones(self.terms.count), np.zeros(self.terms.count)
        centre, scale, skew, weights, visits = self.terms.parts
        for part, number, level in zip((centre, scale, skew, visits), (0, 1, 3, 4), LEVELS, strict=True):
            degrees = np.arange(part.stop - part.start)
            unit[part] = np.where(degrees > 0, np.maximum(degrees, 1.0) ** -DECAY, level**2)
            group[part] = np.where(degrees > 0, number, -1)
        degrees = np.arange(self.terms.shape)[:, None]
        tamed = (3 / (3 + np.arange(SHAPES))) ** 2
        unit[weights] = (np.maximum(degrees, 1.0) ** -DECAY * tamed).ravel()
        group[weights] = np.where(degrees > 0, 3, 2).repeat(SHAPES, axis=1).ravel()
        mean[centre.start], mean[scale.start] = CENTRE, WIDTH
        return group, unit, mean

    @property
    def mean(self) -> Floats:
        return self._laid[2]

    @cached_property
    def variances(self) -> Floats:
        """Of the parameters (P,)."""
        group, unit, _ = self._laid
        return np.where(group >= 0, self.sizes[group] ** 2, 1.0) * unit

    def active(self, terms: int, shapes: bool, scaled: bool) -> Flags:
        """Parameters (P,) that a step may move: so many terms of the centre, fewer of others.

        shapes: Whether all others may be moved.
        scaled: Whether scale and visits may before.
        """
        found = np.zeros(self.terms.count, dtype=bool)
        centre, scale, skew, weights, visits = self.terms.parts
        early = terms if shapes else int(scaled) * terms // 2
        rest = terms if shapes or scaled else 1
        for part, count in ((centre, terms), (scale, early), (visits, rest)):
            found[part.start : min(part.stop, part.start + count)] = True
        if shapes:
            found[skew], found[weights] = True, True
        return found

    def learned(self, parameters: Floats, variances: Floats, active: Flags) -> _Prior:
        """With sizes that are the mean squares of their parameters given the table."""
        group, unit, mean = self._laid
        squares = ((parameters - mean) ** 2 + variances) / unit
        chosen = [(group == number) & active for number in range(self.sizes.size)]
        sizes = [
            np.sqrt(squares[own].mean()) if own.any() else size
            for own, size in zip(chosen, self.sizes, strict=True)
        ]
        return _Prior(self.terms, np.clip(sizes, LEAST, LARGEST))


@dataclass(frozen=True, eq=False)
class _Search:
    """A table, and how likely it is. noise: Variance in a cell."""

    table: Floats
    nodes: Nodes
    terms: Terms
    size: float
    noise: float

    def start(self, prior: _Prior) -> Floats:
        """Parameters of the constant law of no shape that fits best, among a few."""
        rows, cells = self.table.shape
        edges = np.linspace(0, 1, cells + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        scales = np.geomspace(0.6 / cells, 0.5, SCALES)
        z = (edges - CENTRES[:, None, None]) / scales[:, None]
        expected = self.size * np.diff(scipy.special.ndtr(z), axis=2)
        variance = rows * self.noise + expected + SPARE
        off = np.sum((self.table.sum(axis=0) - expected) ** 2 / variance + np.log(variance), axis=2)
        centre, scale = np.unravel_index(np.argmin(off), off.shape)
        found = prior.mean.copy()
        parts = self.terms.parts
        found[parts[0].start], found[parts[1].start] = CENTRES[centre], np.log(scales[scale])
        return found

    def slopes(self, parameters: Floats, prior: _Prior) -> tuple[Floats, Floats]:
        """Gradient (P,) and expected curvature (P, P) of the log posterior."""
        laws = self.terms.at(parameters, self.nodes.positions)
        chances, moved = laws.cells(self.table.shape[1])
        moved = moved * laws.seen[:, None, None]
        chances = chances * laws.seen[:, None]
        visits = self.terms.parts[-1]
        moved[:, :, visits] = chances[:, :, None] * laws.times[:, None, : self.terms.visits]
        expected = self.size * self.nodes.summed(chances)
        rising = self.size * self.nodes.summed(moved).reshape(self.table.size, -1)
        weights = (1 / self._variance(expected)).ravel()
        rest = (self.table - expected).ravel()
        gradient = rising.T @ (weights * rest) - (parameters - prior.mean) / prior.variances
        return gradient, (rising.T * weights) @ rising + np.diag(1 / prior.variances)

    def _expected(self, parameters: Floats) -> Floats:
        laws = self.terms.at(parameters, self.nodes.positions)
        chances = laws.chances(self.table.shape[1]) * laws.seen[:, None]
        return self.size * self.nodes.summed(chances)

    def _variance(self, expected: Floats) -> Floats:
        return self.noise + expected + SPARE

    def misfit(self, parameters: Floats) -> float:
        """Mean square of what laws leave of the table; at least `STANDS_OUT` where a cell does."""
        expected = self._expected(parameters)
        rest, variance = self.table - expected, self._variance(expected)
        mean = float(np.mean(rest**2 / variance))
        # A step or a spike leaves much of one sign side by side; noise does not, nor do small faults.
        pairs, room = rest[:, 1:] + rest[:, :-1], variance[:, 1:] + variance[:, :-1]
        room += (FAULT * (expected[:, 1:] + expected[:, :-1])) ** 2
        worst = np.mean(pairs**2 / room, axis=1).max()
        return max(mean, STANDS_OUT) if worst > STANDS_OUT else mean

    def _off(self, parameters: Floats, prior: _Prior) -> float:
        """Minus the log posterior."""
        expected = self._expected(parameters)
        variance = self._variance(expected)
        fit = np.sum((self.table - expected) ** 2 / variance + np.log(variance))
        return float(fit + np.sum((parameters - prior.mean) ** 2 / prior.variances)) / 2

    def improved(
        self, parameters: Floats, prior: _Prior, active: Flags,
        gradient: Floats, curvature: Floats, damping: float,
    ) -> tuple[Floats, float]:  # fmt: skip
        """Parameters after a step that helps, or the same; and the damping to go on with."""
        now, own = self._off(parameters, prior), curvature[np.ix_(active, active)]
        for _ in range(TRIALS):
            moved = parameters.copy()
            moved[active] += np.linalg.solve(own + damping * np.diag(np.diag(own)), gradient[active])
            if self._off(moved, prior) <= now:
                return moved, max(damping / 5, 1e-6)
            damping = min(6 * damping, WORST)
        return parameters, damping
