"""The mean of curves that were observed here and there, from noisy shares of time cells and corners.

**What is seen.** Each unit divides one among its observations, each of these among the corners 0, 1/2, 1
of its cell with weights (1 - v)^2, 2 v (1 - v), v^2; v is the value in shares of the distance between
the bounds. Divided by the number of units the table is, for cell c and up to sampling and privacy noise,

    (A_c, S_c, Q_c) = integral over c of f (1, u, u^2 + s^2),

from the sum of the corners, the sum weighted by 0, 1/2, 1, and the last corner. Here f is the density of
the observation times, u the mean and s^2 the variance of a value at a time. f comes first, by the
smoother of histograms (`dpfda.estimates.histospline`).

**The mean.** S_c - m_c A_c is, whatever f is, the integral of f (u - m_c), so for m_c near u an error in
f is multiplied by nearly nothing. With m_c the last estimate's average over the cell and f fixed, it is
a linear form of u plus noise, and the estimate is the posterior mean of `CurveModel`, that of any mean
between bounds; a few rounds settle it. Where f is nearly zero nothing is seen and the curve is what
the rest of it makes likely, with a band as wide as that.

**Noise.** Privacy: corner j of a cell has noise of its own, times (x_j - m_c). Sampling: a unit i adds
sum_j l(t_ij) (v_ij - m) / k_i to a linear form l of the contrasts, and by Jensen its square is at most
sum_j l(t_ij)^2 (v_ij - m)^2 / k_i, of expectation integral of f l^2 (s^2 + (u - m)^2). So the covariance
of the contrasts is at most (in the order of symmetric matrices) the diagonal matrix of these integrals
over the cells, divided by the number of units; however a unit's observations hang together. The band
uses all of this, with s^2 from the same table: it is wider than need be where they do not. How much of
it shows between cells (a level of each unit's own moves all cells together, and says nothing about
which of two neighbours is higher) is found by evidence, as one of a few shares; the line is smoothed for
that share, and the rest of the variance goes through its weights into the band.

**The variance** s^2, from Q_c - 2 m_c S_c + m_c^2 A_c in the same way, between 0 and u (1 - u), which
bounds it for values between 0 and 1 (Bhatia & Davis 2000).

**Two inputs and classes.** Cells may be those of a rectangle: then curves are surfaces, of the prior
that `SurfaceModel` says. Corners may be classes: then u is the share of one of them, whose corner has
the value one, and its square as well. Where every unit has one observation, contrasts of cells are
independent and the covariance above is no bound but exact: all of the sampling shows between cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from dpfda.bases.cells import CellGrid, cosines
from dpfda.bases.grids import product_points
from dpfda.bases.ordinary import ordinary_curves, spread_evenly
from dpfda.bases.priors import CurvePrior
from dpfda.estimates.components import Part, scaled, with_levels
from dpfda.estimates.curves import CurveModel, CurvePosterior
from dpfda.estimates.histospline import adaptive_smoother, nearest_probabilities
from dpfda.estimates.widths import Widths
from dpfda.noise import NoiseLaw
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats

# Cosines along each side.
COSINES = 20
# Values of the corners.
CORNERS = np.array([0.0, 0.5, 1.0])
# Points that carry the curve; those in a cell where integrals are taken; rounds of the estimate.
POINTS, INSIDE, ROUNDS = 101, 16, 5
# The same of a rectangle, points along each side.
SIDE_POINTS, SIDE_INSIDE, SIDE_ROUNDS = 25, 4, 3
# A variance in shares of the bounds' distance is at most 1/4, and never taken for nothing at all.
LARGEST, LEAST = 0.25, 1e-6
# The density of times is nowhere taken for less than this share of a uniform one inside its cell.
FLOOR = 0.02
# That of a class is mostly chance: so much of its deviation counts for how its share changes in a cell.
OF_CHANCE = 0.375
# Shares of the sampling variance that may show between cells.
SHOWN = (1.0, 0.1, 0.01)
FEWEST_CELLS, MOST_CELLS = 4, 64
FEWEST_SIDE, MOST_SIDE = 3, 16
# What plans expect: ordinary functions, given at so many times, the second number being that of
# regressions whose units have one record; values about them, of such deviations, and of classes of
# these, of which so many quantiles stand for all; at so many places of an interval, or along each side.
TIMES, DEVIATIONS, VALUES, PLACES = (50, 60), ((0.025, 0.125), (0.05, 0.5)), 16, (960, 48)
# The part of a side that the middle half of even observations fills.
EVEN = 0.5


def cells_for(size: float, deviation: float) -> int:
    """Number of time cells, from public numbers: the cube root of units over noise, 4 to 64.

    A mean that is smooth on a scale of cells has errors of bias falling with the number of cells and
    noise growing with it. For n = 5000 at epsilon = 1 this gives 12; from 8 to 16 the measured error of
    three means changed by less than a fifth but for one with a narrow peak.

    size: Public number of units.
    deviation: Standard deviation of the noise in a cell, in units.
    """
    return int(np.clip(round((size / deviation) ** (1 / 3)), FEWEST_CELLS, MOST_CELLS))


def table_cells(size: float, deviation: float, inputs: int) -> tuple[int, ...]:
    """Numbers of cells along one or two inputs of a regression, from public numbers.

    On even sets of curves with one record a unit, so many cells of one input had as little error as a
    half or twice as many, and bands that hold more often than those of fewer.

    Parameters
    ----------
    size, deviation : float
        As of `cells_for`.
    inputs : int
    """
    signal = size / deviation
    if inputs == 1:
        return (int(np.clip(round(0.57 * signal ** (1 / 2)), FEWEST_CELLS, MOST_CELLS)),)
    return (int(np.clip(round(1.3 * signal ** (1 / 4)), FEWEST_SIDE, MOST_SIDE)),) * inputs


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Noise of one contrast a cell: weighted sums of the corners' noise, and sampling.

    noise: Of one scale for all corners.
    unit: One unit of it, in shares.
    weights: array (C, 3).
    sampling: array (C,). Variances.
    """

    noise: NoiseLaw
    unit: float
    weights: Floats
    sampling: Floats

    @property
    def components(self) -> int:
        """Number C of cells."""
        return self.sampling.size

    def variances(self) -> Floats:
        """Of each contrast, in squared shares."""
        privacy = float(self.noise.variances()[0]) * self.unit**2
        return np.asarray(privacy * (self.weights**2).sum(axis=1) + self.sampling)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Errors (draws, C) in shares; those of sampling as normal."""
        drawn = self.noise.simulate(generator, draws).reshape(draws, *self.weights.shape)
        privacy = np.einsum("dcj,cj->dc", drawn, self.weights) * self.unit
        normal = generator.standard_normal((draws, self.components))
        return np.asarray(privacy + normal * np.sqrt(self.sampling))


@dataclass(frozen=True, eq=False)
class PooledMean:
    """The estimate from a noisy table; all in shares of the bounds' distance and of the domain.

    shares: array (C, 3). Noisy shares of units.
    noise: On the table.
    unit: One unit of the noise, in shares.
    size: Number of units.
    sides: Numbers of cells along the sides of a rectangle; by default cells are of an interval.
    label: Corners are classes, and the mean is the share of this one; by default they are 0, 1/2 and 1.
    alone: Whether every unit has one observation.
    """

    shares: Floats
    noise: NoiseLaw
    unit: float
    size: float
    sides: tuple[int, ...] = ()
    label: int | None = None
    alone: bool = False

    @property
    def cells(self) -> int:
        """Number C of cells."""
        return len(self.shares)

    @property
    def values(self) -> Floats:
        """Values (J,) of the corners."""
        return CORNERS if self.label is None else np.eye(self.shares.shape[1])[self.label]

    @property
    def grid(self) -> Floats:
        """Points (N,) of the unit interval, or along each side, that carry the curves."""
        return np.linspace(0.0, 1.0, SIDE_POINTS if self.sides else POINTS)

    @property
    def inside(self) -> Floats:
        """Points (C x 16,) inside the cells of an interval."""
        return (np.arange(self.cells * INSIDE) + 0.5) / (self.cells * INSIDE)

    @property
    def places(self) -> Floats:
        """Points (C x 16, d) inside the cells, cell by cell."""
        if not self.sides:
            return self.inside[:, None]
        steps = product_points([(np.arange(SIDE_INSIDE) + 0.5) / SIDE_INSIDE] * 2)
        corners = product_points([np.arange(float(count)) for count in self.sides])
        return np.asarray((corners[:, None] + steps) / self.sides).reshape(-1, 2)

    @property
    def near(self) -> Floats:
        """Matrix (C x 16, N): curves on the grid, linear between its points, at `places`."""
        return _linear(self.places, self.grid)

    @cached_property
    def times(self) -> Floats:
        """Density (C x 16,) of where observations are at `places`: not negative, of integral one."""
        cells = CellGrid.regular(self.sides or (self.cells,), [(0.0, 1.0)] * (len(self.sides) or 1))
        noise = self.shares.shape[1] * float(self.noise.variances()[0]) * self.unit**2
        seen = self.shares.sum(axis=1).reshape(cells.shape)
        smoother = adaptive_smoother(cells, seen, noise, self.size)
        smooth = smoother.coefficients(seen)
        functions = [cosines(*axis) for axis in zip(smooth.shape, self.places.T, strict=True)]
        values = functions[0] @ smooth
        if self.sides:
            values = (values * functions[1]).sum(axis=1)
        values = values.reshape(self.cells, INSIDE)
        inside = values.mean(axis=1) / self.cells if self.sides else smoother.cell_shares(smooth)
        values = np.maximum(values, FLOOR)
        masses = nearest_probabilities(inside)
        return np.asarray(values * (masses * self.cells / values.mean(axis=1))[:, None]).ravel()

    @cached_property
    def forms(self) -> Floats:
        """Integrals (C, N) over cells, weighted by the density of times, of curves on the grid."""
        weighted = self.near * (self.times / self.times.size)[:, None]
        return np.asarray(weighted.reshape(self.cells, INSIDE, -1).sum(axis=1))

    @property
    def seen_at(self) -> Floats:
        """Shares (N,) of observations near each point of the grid, from the table."""
        return np.asarray(self.forms.sum(axis=0))

    @property
    def measured(self) -> tuple[CurveModel, Floats]:
        """What the contrasts (C,) see of the mean, with the noise and all of the sampling, and they."""
        posterior, _, sampling = self._settled
        errors = cast("Contrasts", posterior.model.noise)
        model = self._model(self.forms, replace(errors, sampling=sampling))
        return model, posterior.noisy * posterior.model.deviations

    @cached_property
    def _settled(self) -> tuple[CurvePosterior, Floats, Floats]:
        """The posterior of the mean, variances (N,) of a value, and those (C,) of sampling."""
        seen, first, second = self.shares.sum(axis=1), self.shares @ self.values, self.shares[:, -1]
        masses = self.forms.sum(axis=1)
        level, variance = np.full(self.cells, 0.5), np.full(self.forms.shape[1], LARGEST)
        for _ in range(SIDE_ROUNDS if self.sides else ROUNDS):
            sampling = self.forms @ variance / self.size + LEAST / self.size
            contrasts = first - level * seen + masses * (level - 0.5)
            posterior = self._posterior(contrasts, self.values - level[:, None], sampling)
            level = self.forms @ posterior.line / np.maximum(masses, 1e-12)
            level = np.where(masses > 1e-12, level, 0.5)
            variance = most = posterior.line * (1 - posterior.line)
            if self.label is None:
                squares = second - 2 * level * first + level**2 * seen
                variance = self._variance(level, squares, sampling)
            variance = np.clip(variance, LEAST, np.maximum(most, LEAST))
        return posterior, variance, sampling

    def _posterior(self, contrasts: Floats, weights: Floats, sampling: Floats) -> CurvePosterior:
        """The mean given contrasts (C,), under the share of sampling that makes these likeliest."""
        tried = [
            self._model(self.forms, Contrasts(self.noise, self.unit, weights, share * sampling))
            for share in (SHOWN[:1] if self.alone else SHOWN)
        ]
        return max((model.posterior(contrasts) for model in tried), key=lambda fit: fit.evidence)

    def _variance(self, level: Floats, squares: Floats, sampling: Floats) -> Floats:
        """Variance (N,) of a value, from the table's sums (C,) of squares around levels."""
        weights = np.stack([level**2, level**2 - level, (1 - level) ** 2], axis=1)
        # Its own sampling: deviations from a mean within the bounds seldom reach half their distance.
        errors = Contrasts(self.noise, self.unit, weights, sampling * LARGEST)
        forms = self.forms * LARGEST
        posterior = self._model(forms, errors).posterior(squares - forms.sum(axis=1) / 2)
        return np.asarray(posterior.line * LARGEST)

    def _model(self, forms: Floats, errors: Contrasts) -> CurveModel:
        count = forms.shape[1]
        between = CurvePrior(np.zeros(count), np.ones(count))
        kind, grid = (SurfaceModel, np.linspace(0, 1, count)) if self.sides else (CurveModel, self.grid)
        return kind(between, grid, np.arange(count), forms, errors, 1.0)

    @property
    def line(self) -> Floats:
        """The mean (N,) on the grid."""
        return self._settled[0].line

    @property
    def variance(self) -> Floats:
        """Variance (N,) of a value at a time."""
        return self._settled[1]

    @cached_property
    def _widths(self) -> Widths:
        return Widths(self._settled[0])

    def half_widths(self, level: float, simultaneous: bool) -> Floats:
        """Half-widths (N,) of a band that is meant to hold the population's mean."""
        if self.alone:
            apart = np.sqrt(self.variance) * (1.0 if self.label is None else OF_CHANCE)
            return self._widths.around_alone(level, simultaneous, apart)
        posterior, _, sampling = self._settled
        errors = cast("Contrasts", posterior.model.noise)
        root = posterior.response * np.sqrt(np.maximum(sampling - errors.sampling, 0.0))
        return self._widths.around_seen(level, simultaneous, root)


def _linear(places: Floats, grid: Floats) -> Floats:
    """Matrix (q, N): values at places (q, d) of functions on a grid along each side, linear between."""
    matrix = np.ones((len(places), 1))
    for along in places.T:
        hats = np.maximum(1 - np.abs(along[:, None] - grid) * (grid.size - 1), 0.0)
        matrix = np.asarray(matrix[:, :, None] * hats[:, None]).reshape(len(matrix), -1)
    return matrix


def ordinary_tables(
    empty: PooledMean, count: int, filled: float = EVEN, span: float | None = None
) -> Iterator[tuple[PooledMean, Floats, Floats]]:
    """Simulated tables of the first ordinary functions, these (N,), and shares (N,) of observations.

    Each unit has one observation, spread evenly over a stretch of each side, half of which is `filled`:
    over this the functions are ordinary, and constant beyond. Values are normal about the function, of
    deviations from one to another share of the bounds' distance, cut at the bounds; of classes the
    second has the probability that such a value is above the function's middle. A surface is a sum of
    functions of either input. Noise is normal, and drawn where cells are fine: so plans of nearby
    budgets, whose numbers of cells differ, meet nearby noise and have nearby errors.

    empty: A table with any shares.
    span: How far apart the smallest and the largest value of each function are; as is ordinary, if None.
    """
    sides, corners = empty.sides or (empty.cells,), empty.shares.shape[1]
    along, (low, high) = PLACES[len(sides) - 1], DEVIATIONS[empty.label is not None]
    times = np.linspace(0.0, 1.0, TIMES[empty.alone and empty.label is None])
    places = product_points([(np.arange(along) + 0.5) / along] * len(sides))
    cell = CellGrid.regular(sides, [(0.0, 1.0)] * len(sides)).index(places)
    adding = np.equal.outer(np.arange(empty.cells), cell).astype(np.float64)
    curves = ordinary_curves(times, len(sides) * count).reshape(count, len(sides), -1)
    even = scipy.special.ndtri((np.arange(VALUES) + 0.5) / VALUES)
    draws, sampled = (np.random.Generator(np.random.Philox(key=key)) for key in (38, 39))
    deviation = float(empty.noise.variances()[0]) ** 0.5 * empty.unit
    length, near = min(2 * filled, 1.0), _linear(places, empty.grid)
    starts = (1 - length) * spread_evenly(count, 1 + len(sides))[:, 1:]
    for parts, place, start in zip(curves, spread_evenly(count, 1)[:, 0], starts, strict=True):
        seen, truth = (
            sum(
                np.interp((column - ahead) / length, times, part) - 0.5
                for column, ahead, part in zip(at.T, start, parts, strict=True)
            )
            for at in (places, product_points([empty.grid] * len(sides)))
        )
        inside = np.all((places >= start) & (places <= start + length), axis=1)
        law = inside / np.count_nonzero(inside)
        spread = low * (high / low) ** float(place)
        if empty.label is None:
            seen, truth = _spanned(seen + 0.5, truth + 0.5, span)
            values = np.clip(seen[:, None] + spread * even, 0.0, 1.0)
            weights = np.stack([(1 - values) ** 2, 2 * values * (1 - values), values**2], axis=2)
            chances = np.full(values.shape, 1 / VALUES)
        else:
            middle = float(np.mean(truth))
            seen, truth = (scipy.special.ndtr((curve - middle) / spread) for curve in (seen, truth))
            seen, truth = _spanned(seen, truth, span)
            weights = np.broadcast_to(np.eye(corners), (len(places), corners, corners))
            chances = np.repeat((1 - seen)[:, None] / (corners - 1), corners, axis=1)
            chances[:, empty.label] = seen
        counts = sampled.multinomial(round(empty.size), (law[:, None] * chances).ravel())
        shares = np.einsum("pk,pkj->pj", counts.reshape(chances.shape) / empty.size, weights)
        noise = adding @ draws.standard_normal(shares.shape)
        noise *= deviation / np.sqrt(adding.sum(axis=1, keepdims=True))
        yield replace(empty, shares=adding @ shares + noise), truth, law @ near


def _spanned(seen: Floats, truth: Floats, span: float | None) -> tuple[Floats, Floats]:
    """A function at two sets of points, between 0 and 1, and as far from end to end as is stated."""
    least, wide = float(seen.min()), float(np.ptp(seen))
    start, times = least, 1.0
    if span is not None:
        start, times = min(max(least + (wide - span) / 2, 0.0), 1 - span), span / wide
    seen, truth = (np.clip(start + times * (values - least), 0.0, 1.0) for values in (seen, truth))
    return seen, truth


class SurfaceModel(CurveModel):
    """What was measured of a mean surface between bounds, on a square grid of carrying points.

    Components are products of cosines of frequencies k = (k_1, k_2), of variances
    (1 + (r (1 + |k|))^2)^(-(e + 1) / 2), e and r being those of curves, each at both levels, as for
    images (`dpfda.estimates.images`); none is local.
    """

    looks: ClassVar[int] = 10**6
    alone: ClassVar[tuple[str, float]] = ("line", 1.06)
    in_one_order: ClassVar[bool] = False

    @cached_property
    def functions(self) -> tuple[Floats, Floats]:
        """Products of cosines (N, K) that components share, and what is seen (M, K) of them."""
        along = cosines(COSINES, np.linspace(0.0, 1.0, math.isqrt(self.places.size)))
        functions: Floats = np.asarray(np.kron(along, along), dtype=np.float64)
        return functions, np.asarray(self.seen @ functions)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Components that do not look at the release."""
        steps = np.arange(COSINES, dtype=np.float64)
        distances = 1 + np.hypot.outer(steps, steps).ravel()

        def falling(exponent: float, reach: float) -> Floats:
            return scaled((1 + (reach * distances) ** 2) ** (-(exponent + 1) / 2))

        return tuple(
            Part.of(kind, *self.functions, np.sqrt(variances))
            for kind, variances in with_levels(falling)
        )

    @property
    def identity(self) -> None:
        """Cells hold several points."""
        return

    def local(self, curve: Floats) -> list[Part]:
        """None: bends in every direction would need a Green's function of the rectangle."""
        return []
