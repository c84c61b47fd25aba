"""Which smooth laws a noisy table of times and values speaks for: the most likely ones, and how surely.

A cell of the table is a count of units with noise of a known variance, and sampling of at most a count's
variance: a unit that divides its weight among observations counts a_c in a sum over cells, on average
over its observations, and the square of an average is at most the average of squares, however the
observations depend on one another.

The parameters of `dpfda.reference.centiles.laws` have normal priors, whose variances fall with the
third power of the degree in time. How large they are in each of the groups below, the table decides
itself: each is the mean square of its parameters given the table (MacKay 1992). Parameters are
improved by Newton steps with expected curvature, damped where they would not help (Levenberg &
Marquardt), from the likeliest path of normal laws through the cells of time. How many were seen in a
cell of time is a parameter by itself. Everything here is post-processing of public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
import scipy

from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.reference.centiles.laws import SHAPES, Laws, Terms, falls, waves

# Most terms in time: of centre and scale, and of shape.
CENTRE, SHAPE = 32, 8
# Variances fall so fast with the degree in time.
DECAY = 3.0
# Groups: centre, scale, shape at all times, shape in time, visits. Standard deviations to begin with,
# and the least and largest that a table may choose.
BEGIN = np.array([0.1, 0.2, 0.1, 0.03, 0.3])
LEAST = np.array([1e-4, 1e-3, 1e-4, 1e-4, 1e-3])
LARGEST = np.array([1.0, 1.5, 1.5, 1.0, 2.0])
# Priors of the mean levels: of centre, log scale and skewness.
MIDDLE, WIDTH, LEVELS = 0.5, np.log(0.15), (0.5, 1.0, 0.5)
# A count has some variance where next to none is expected.
SPARE = 0.3
# Newton steps without shape, then with it; from which on the priors' sizes are learned. Others begin so
# many times as close to a path, for cycles; and, where the likeliest end is a law that the table
# contradicts, with such a scale at least, for groups far apart.
PLAIN, SHAPED, LEARNING, CLOSE, CONTRADICTED, WIDE = 8, 24, 6, 0.01, 1.3, 0.15
TRIALS, WORST = 8, 1e6
# A cell of time stands out where its mean square is larger, with laws wrong by such a share of what
# they expect. Chosen on smooth laws, and on half of the sets that the page on quantile curves names.
STANDS_OUT, FAULT = 5.0, 0.1
# Standard errors of what the table has beyond its noise that are added to it; least share of its noise
# that laws leave.
SURE, OWN = 0.5, 0.05
# Where the search begins: centres and scales of a path, what it pays for (in shares of the bounds, and
# in logarithms), and the variance about it of centre and logarithm of the scale.
CENTRES, SCALES, SHIFT, STRETCH, NEAR = np.linspace(0.02, 0.98, 49), 14, 0.1, 0.5, (4e-4, 0.1)


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

    @cached_property
    def _laid(self) -> tuple[Integers, Floats]:
        """Nodes (J, i) of each cell of time, and their weights: none where a cell has fewer."""
        many = np.diff(self.starts, append=self.positions.size)[:, None]
        number = np.arange(many.max())
        place = np.minimum(self.starts[:, None] + number, self.positions.size - 1)
        return place, np.where(number < many, self.weights[place], 0.0)

    def summed(self, values: Floats) -> Floats:
        """Sums (J, ..) over the nodes of each cell of values (q, ..), with their weights."""
        place, weights = self._laid
        return np.asarray(np.einsum("ji...,ji->j...", values[place], weights))

    def products(self, values: Floats, times: Floats) -> Floats:
        """Such sums (J, .., T) of products of values (q, ..) and functions of time (q, T)."""
        place, weights = self._laid
        flat = values[place].reshape(*place.shape, -1).swapaxes(1, 2)
        sums = flat @ (times[place] * weights[..., None])
        return np.asarray(sums.reshape(len(place), *values.shape[1:], -1))


@dataclass(frozen=True, eq=False)
class Left:
    """What laws leave of a table.

    rest: array (J, K). Counts less what laws expect.
    expected, variance: array (J, K). Of the counts, by the laws.
    moved: array (J, K, P). How expected counts move with independent errors of the laws.
    """

    rest: Floats
    expected: Floats
    variance: Floats
    moved: Floats

    @cached_property
    def misfit(self) -> float:
        """Mean square, in deviations of a cell; at least `STANDS_OUT` where one cell of time does."""
        rest, expected, variance = self.rest, self.expected, self.variance
        mean = float(np.mean(rest**2 / variance))
        # A step or a spike leaves much of one sign side by side; noise does not, nor do small faults.
        pairs, room = rest[:, 1:] + rest[:, :-1], variance[:, 1:] + variance[:, :-1]
        room += (FAULT * (expected[:, 1:] + expected[:, :-1])) ** 2
        worst = np.mean(pairs**2 / room, axis=1).max()
        return max(mean, STANDS_OUT) if worst > STANDS_OUT else mean

    @property
    def wider(self) -> float:
        """How many times as wide bands are for that."""
        return float(np.clip(self.misfit**2, 1.0, STANDS_OUT))

    def untold(self, places: Floats, level: float) -> float:
        """How far shares below a quantile may be off in a cell of time: root mean square.

        It is what the table has beyond its noise, and some of the error of that. The laws have taken
        some noise as theirs, and variances are bounds: the table may have less.

        places: array (J,). Of the quantile, as shares of the bounds.
        """
        cells = self.rest.shape[1]
        # Less the level, so that how many were seen has no part.
        below = np.clip(places[:, None] * cells - np.arange(cells), 0.0, 1.0) - level
        off, room = (below * self.rest).sum(axis=1), (below**2 * self.variance).sum(axis=1)
        taken = np.sum(np.einsum("jk,jkp->jp", below, self.moved) ** 2, axis=1)
        usual = 1 - float(np.mean(np.sum(self.moved**2, axis=2) / self.variance))
        room = np.maximum((room - taken) * min(1.0, self.misfit / usual), OWN * room)
        seen = self.expected.sum(axis=1)
        weights = seen**4 / room**2
        mean = (weights * (off**2 - room) / seen**2).sum() / weights.sum()
        return math.sqrt(max(0.0, mean + SURE * math.sqrt(2 / weights.sum())))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The most likely laws and how surely they are known.

    parameters: array (P,)
    root: array (P, P). R with R R' their covariance.
    rough: (float, float). Variance of what terms beyond the last add to centre and log scale.
    left: What the laws leave of the table.
    nodes: Of the table.
    evidence: Logarithm of how likely the table is (MacKay 1992).
    """

    terms: Terms
    parameters: Floats
    root: Floats
    rough: tuple[float, float]
    left: Left
    nodes: Nodes
    evidence: float = 0.0

    def at(self, positions: Floats) -> Laws:
        """The laws at times, as shares of the domain."""
        return self.terms.at(self.parameters, positions)

    def errors(self, positions: Floats, level: float) -> tuple[Floats, Floats, Floats]:
        """Of a quantile at times: E (q, P) with E E' its covariance, and what else it may be off.

        That is the variance of what is rough there, (q,), and the distance that shares may be off, (q,).
        """
        laws = self.at(positions)
        values = laws.quantiles(level)
        rising, slopes = laws.slopes(values)
        # A jump of the distribution at a bound has no slope: there the quantile is the bound.
        safe = np.maximum(rising, 1e-3 / laws.scale)
        centre, scale = self.rough
        rough = centre + scale * (values - laws.centre) ** 2
        places = self.at(self.nodes.positions).quantiles(level)
        seen = self.nodes.summed(np.ones(places.size))
        untold = self.left.untold(self.nodes.summed(places) / seen, level)
        return (slopes @ self.root) / safe[:, None], rough, untold / safe


def fitted(table: Floats, nodes: Nodes, terms: Terms, size: float, deviation: float) -> Posterior:
    """The laws that a noisy table speaks for.

    table: array (J, K). Numbers of units, with noise.
    size: Number of units.
    deviation: Of the noise in a cell.
    """
    search = _Search(table, nodes, terms, size, deviation**2)
    posteriors = [_searched(search, 0.6 / table.shape[1], rough) for rough in (False, True)]
    likely = attrgetter("evidence")
    if max(posteriors, key=likely).left.misfit > CONTRADICTED:
        posteriors.append(_searched(search, WIDE, False))
    return max(posteriors, key=likely)


def _searched(search: _Search, least: float, rough: bool) -> Posterior:
    """What Newton steps lead to.

    least: Smallest scale to begin with.
    rough: Whether they begin close to the path, and its roughness is learned at once.
    """
    terms, prior = search.terms, _Prior(search.terms, BEGIN)
    parameters, damping = search.start(prior, least, rough), 1.0
    for step in range(PLAIN + SHAPED):
        active = prior.active(step >= PLAIN)
        gradient, curvature = search.slopes(parameters, prior)
        parameters, damping = search.improved(parameters, prior, active, gradient, curvature, damping)
        if rough or step >= LEARNING:
            variances = np.diag(np.linalg.inv(curvature))
            prior = prior.learned(parameters, variances, active)
    curvature = search.slopes(parameters, prior)[1]
    root = scipy.linalg.solve_triangular(
        np.linalg.cholesky(curvature), np.eye(terms.count), lower=True
    ).T
    centre, scale = (prior.sizes[:2] ** 2 / ((DECAY - 1) * terms.centre ** (DECAY - 1))).tolist()
    # Laplace's approximation; constants left out.
    gain = np.linalg.slogdet(curvature)[1] + np.sum(np.log(prior.variances))
    evidence = -search.off(parameters, prior) - float(gain) / 2
    left = search.left(parameters, root)
    return Posterior(terms, parameters, root, (centre, scale), left, search.nodes, evidence)


def _turns(values: Floats) -> Floats:
    """Price of going from one of some values to another: their distance."""
    return np.abs(values[:, None] - values)


def _path(off: Floats, shifts: Floats, stretches: Floats) -> tuple[Integers, Integers]:
    """The cheapest path through states of two kinds (Viterbi 1967).

    off: array (J, A, B). Price of each state.
    shifts, stretches: arrays (A, A), (B, B). Of going from one to another.
    """
    cost, came = off[0], []
    for price in off[1:]:
        # First to another state of the one kind, then of the other.
        first = cost[:, None] + shifts[:, :, None]
        best = first.min(axis=0)
        second = best[:, :, None] + stretches
        came.append((first.argmin(axis=0), second.argmin(axis=1)))
        cost = second.min(axis=1) + price
    one, two = np.unravel_index(np.argmin(cost), cost.shape)
    path = [(one, two)]
    for first_came, second_came in reversed(came):
        two = second_came[one, two]
        one = first_came[one, two]
        path.append((one, two))
    places = np.array(path[::-1]).T
    return places[0], places[1]


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
        group[visits] = 4
        for part, number, level in zip((centre, scale, skew), (0, 1, 3), LEVELS, strict=True):
            degrees = falls(part.stop - part.start)
            unit[part] = np.where(degrees > 0, np.maximum(degrees, 1.0) ** -DECAY, level**2)
            group[part] = np.where(degrees > 0, number, -1)
        degrees = falls(self.terms.shape)[:, None]
        tamed = (3 / (3 + np.arange(SHAPES))) ** 2
        unit[weights] = (np.maximum(degrees, 1.0) ** -DECAY * tamed).ravel()
        group[weights] = np.where(degrees > 0, 3, 2).repeat(SHAPES, axis=1).ravel()
        mean[centre.start], mean[scale.start] = MIDDLE, WIDTH
        return group, unit, mean

    @property
    def mean(self) -> Floats:
        return self._laid[2]

    @cached_property
    def variances(self) -> Floats:
        """Of the parameters (P,)."""
        group, unit, _ = self._laid
        return np.where(group >= 0, self.sizes[group] ** 2, 1.0) * unit

    def active(self, shaped: bool) -> Flags:
        """Parameters (P,) that a step may move; `shaped`: those of shape, too."""
        movable = np.ones(self.terms.count, dtype=bool)
        for part in self.terms.parts[2:4]:
            movable[part] = shaped
        return movable

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

    def start(self, prior: _Prior, least: float, rough: bool) -> Floats:
        """Parameters of laws of no shape near the likeliest path through the cells of time.

        A centre and a scale for each, of a few; a path pays for what these change from one to the next.
        """
        rows, cells = self.table.shape
        edges = np.linspace(0, 1, cells + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        scales = np.geomspace(least, 0.5, SCALES)
        chances = np.diff(scipy.special.ndtr((edges - CENTRES[:, None, None]) / scales[:, None]), axis=2)
        parts = self.terms.parts
        usual = self.size * self.nodes.summed(np.ones(self.nodes.positions.size))
        public = self.terms.visits < rows
        seen = usual if public else np.maximum(self.table.sum(axis=1), usual / 5)
        off = np.empty((rows, *chances.shape[:2]))
        for row, counts, many in zip(off, self.table, seen, strict=True):
            expected = many * chances
            variance = self._variance(expected)
            row[:] = np.sum((counts - expected) ** 2 / variance + np.log(variance), axis=2) / 2
        place = _path(off, _turns(CENTRES / SHIFT), _turns(np.log(scales) / STRETCH))
        parameters = prior.mean.copy()
        middles = np.add.reduceat(self.nodes.positions, self.nodes.starts)
        middles /= np.diff(self.nodes.starts, append=self.nodes.positions.size)
        times = waves(middles, self.terms.centre)
        for part, values in zip(parts, (CENTRES[place[0]], np.log(scales)[place[1]]), strict=False):
            weights = np.diag((CLOSE if rough else 1.0) / prior.variances[part])
            rest = values - times[:, 0] * prior.mean[part.start]
            error = NEAR[part.start > 0]
            parameters[part] += np.linalg.solve(times.T @ times + error * weights, times.T @ rest)
        if not public:
            parameters[parts[-1]] = np.log(seen / usual)
        return parameters

    def slopes(self, parameters: Floats, prior: _Prior) -> tuple[Floats, Floats]:
        """Gradient (P,) and expected curvature (P, P) of the log posterior."""
        expected, rising = self._rising(parameters)
        rising = rising.reshape(self.table.size, -1)
        weights = (1 / self._variance(expected)).ravel()
        rest = (self.table - expected).ravel()
        gradient = rising.T @ (weights * rest) - (parameters - prior.mean) / prior.variances
        return gradient, (rising.T * weights) @ rising + np.diag(1 / prior.variances)

    def _rising(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Expected counts (J, K), and how they rise with parameters (J, K, P)."""
        laws = self.terms.at(parameters, self.nodes.positions)
        expected, moved = self._of(laws), laws.cells(self.table.shape[1])
        products = self.nodes.products(moved * laws.seen[:, None, None], laws.times)
        rising = self.size * self.terms.spread(products)
        inside = self.terms.inside(self.nodes.positions[self.nodes.starts])
        rising[..., self.terms.parts[-1]] = expected[..., None] * inside[:, None]
        return expected, rising

    def _of(self, laws: Laws) -> Floats:
        """Counts (J, K) that laws expect."""
        chances = laws.chances(self.table.shape[1]) * laws.seen[:, None]
        return self.size * self.nodes.summed(chances)

    def _variance(self, expected: Floats) -> Floats:
        return self.noise + expected + SPARE

    def left(self, parameters: Floats, root: Floats) -> Left:
        """What laws leave of the table; `root` is of the parameters' covariance."""
        expected, rising = self._rising(parameters)
        return Left(self.table - expected, expected, self._variance(expected), rising @ root)

    def off(self, parameters: Floats, prior: _Prior) -> float:
        """Minus the log posterior."""
        expected = self._of(self.terms.at(parameters, self.nodes.positions))
        variance = self._variance(expected)
        fit = np.sum((self.table - expected) ** 2 / variance + np.log(variance))
        return float(fit + np.sum((parameters - prior.mean) ** 2 / prior.variances)) / 2

    def improved(
        self, parameters: Floats, prior: _Prior, active: Flags,
        gradient: Floats, curvature: Floats, damping: float,
    ) -> tuple[Floats, float]:  # fmt: skip
        """Parameters after a step that helps, or the same; and the damping to go on with."""
        now, own = self.off(parameters, prior), curvature[np.ix_(active, active)]
        for _ in range(TRIALS):
            moved = parameters.copy()
            moved[active] += np.linalg.solve(own + damping * np.diag(np.diag(own)), gradient[active])
            if self.off(moved, prior) <= now:
                return moved, max(damping / 5, 1e-6)
            damping = min(6 * damping, WORST)
        return parameters, damping
