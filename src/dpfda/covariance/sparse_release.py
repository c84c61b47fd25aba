"""A released covariance of curves seen at a few times each: noisy shares of pairs, and what follows.

**What is seen.** Values are deviations from a public center in shares of their reach, clipped to
[-1, 1]. Each unit divides one among its pairs of visits, each pair between the corners -1 and 1 so that
they give back the product on average (`dpfda.records.observations.Observations.pair_shares`). With A_c
the corners' sum in a pair of cells c and B_c their difference, the expectation of B_c is the integral of
w C over it, w being how often pairs are seen there, of integral A_c. A pair is of two visits: errors of
measurement are no part of C, on the diagonal neither.

**The estimate.** w is the posterior mean of A as it is spread by a smooth surface, never below a small
share of an even one. Given w, contrasts B_c - k_c A_c + k_c w_c around the last estimate's averages k_c
have the mean w_c C_c and noise of known variance; C is the posterior mean under normal priors of
products of cosines, mixed over how fast their variances fall and how large they are, as the contrasts
make these likely. Sampling is added to the noise as if each unit had one pair: a share of that, found by
the same evidence. At last negative eigenvalues are removed. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis, CosineBasis
from dpfda.bases.cells import cell_averages, cosines
from dpfda.bases.grids import check_points, frozen
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.covariance.components_release import center_words, second_order
from dpfda.covariance.surface import CovarianceSurface
from dpfda.estimates.components import Fit, Part, log_weights, mixed_mean, normalised
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import Certificate
from dpfda.records.long import LongCurves
from dpfda.releases import entries as file
from dpfda.releases.bands import check_level, largest_size
from dpfda.releases.facts import Stated
from dpfda.releases.moments import nearest_positive
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, OfShares, used_units

# Functions along each side; rounds of the estimate; shares of the sampling variance that may show.
FUNCTIONS, ROUNDS, SHOWN = 10, 4, (1.0, 0.3, 0.1)
# Of priors: exponents, ranges and levels of the variances of cosines.
EXPONENTS, RANGES, LEVELS = (4.0, 6.0), (0.3, 1.0, 3.0), (1.0, 10.0)
# Pairs are nowhere taken to be rarer than this share of an even spread; no variance is less than that.
FLOOR, LEAST = 0.02, 1e-3
# Variance of a product of two normal values, over the square of theirs, about.
SPREAD = 1.5
# Cells; points in each where integrals are taken.
FEWEST, MOST, INSIDE = 3, 10, 8
TENSOR = SymmetricTensorBasis(CosineBasis.on_grid(FUNCTIONS, np.linspace(0.0, 1.0, 4 * FUNCTIONS)))


def cells_along(size: float, deviation: float) -> int:
    """Number of cells along each side, from public numbers: by the fourth root of units over noise.

    size: Number of units.
    deviation: Standard deviation of the noise in a share, in units.
    """
    return int(np.clip(round(0.8 * (size / deviation) ** (1 / 4)), FEWEST, MOST))


@dataclass(frozen=True, eq=False)
class Smoother:
    """The posterior mean of coordinates (K,) of which averages times `masses` (N,) were seen with noise.

    fits, weights: Of the priors and their scales, given what was seen.
    roots: Standard deviations (N,) of the noise.
    evidence: Logarithm of how likely what was seen is.
    """

    fits: list[Fit]
    weights: list[Floats]
    roots: Floats
    evidence: float

    @classmethod
    def of(
        cls, seen: Floats, forms: Floats, masses: Floats, variances: Floats, largest: float
    ) -> Smoother:
        """Fit every prior; they let values be about as large as `largest`."""
        roots, steps = np.sqrt(variances), np.arange(FUNCTIONS)
        rows, columns = TENSOR.places
        inside, fits = forms * (masses / roots)[:, None], []
        for exponent in EXPONENTS:
            for reach in RANGES:
                for level in LEVELS:
                    row = (1 + (reach * steps) ** 2) ** (-exponent / 2)
                    row[0] *= level
                    row = row / row.sum() * largest
                    spread = np.sqrt(row[rows] * row[columns]) * TENSOR.roots
                    part = Part.of("pairs", np.eye(spread.size), inside, spread)
                    fits.append(part.fit(np.zeros(spread.size), False, seen / roots))
        weights, evidence = normalised(log_weights(fits, {"pairs": 1.0}, 0.5))
        return cls(fits, weights, roots, evidence - float(np.log(roots).sum()))

    def __call__(self, seen: Floats) -> Floats:
        """What it makes of anything seen, the priors' weights being given: linear."""
        return mixed_mean([fit.moved(seen / self.roots) for fit in self.fits], self.weights)


@dataclass(frozen=True, eq=False)
class PairEstimate:
    """The estimate from a noisy table, on the unit interval and in squared shares of the reach.

    shares: array (N + 1, 2). Noisy numbers of units: corners of pairs of cells, and of squares.
    noise: On the table.
    unit: One unit of the noise, in units.
    """

    shares: Floats
    noise: NoiseLaw
    unit: float

    @property
    def cells(self) -> int:
        """Number C of cells along each side."""
        return int(np.sqrt(2 * len(self.shares)))

    @property
    def _power(self) -> float:
        return float(self.noise.variances()[0]) * self.unit**2

    @cached_property
    def forms(self) -> Floats:
        """Averages (N, K) over pairs of cells of the symmetric products of cosines."""
        along = cell_averages(FUNCTIONS, np.linspace(0.0, 1.0, self.cells + 1))
        (first, second), (rows, columns) = np.triu_indices(self.cells), TENSOR.places
        straight = along[first][:, rows] * along[second][:, columns]
        crossed = along[first][:, columns] * along[second][:, rows]
        return np.asarray((straight + crossed) / 2 * TENSOR.roots)

    @cached_property
    def masses(self) -> Floats:
        """How many units there are (N,) in each pair of cells: positive."""
        first, second = np.triu_indices(self.cells)
        seen = self.shares[:-1].sum(axis=1)
        total = max(float(seen.sum()), 1.0)
        even = total * np.where(first == second, 1.0, 2.0) / self.cells**2
        apart, variances = seen - even, 2 * self._power + even
        surface = Smoother.of(apart, self.forms, even, variances, 1.0)(apart)
        masses = even * np.maximum(1 + self.forms @ surface, FLOOR)
        return np.asarray(masses * total / masses.sum())

    @cached_property
    def square(self) -> float:
        """Mean square of a value, errors of measurement included."""
        lower, upper = self.shares[-1]
        return float(np.clip(upper / max(lower + upper, 1.0), LEAST, 1.0))

    @cached_property
    def _settled(self) -> tuple[Floats, Floats, Smoother]:
        """Matrix (M, M), the corners' weights (N, 2) in the last contrasts, and what smoothed these."""
        level = np.zeros(len(self.masses))
        for _ in range(ROUNDS):
            weights = np.stack([-1 - level, 1 - level], axis=1)
            seen = (weights * self.shares[:-1]).sum(axis=1) + self.masses * level
            privacy = self._power * (weights**2).sum(axis=1)
            sampling = self.masses * SPREAD * self.square**2
            tried = [
                Smoother.of(seen, self.forms, self.masses, privacy + share * sampling, self.square)
                for share in SHOWN
            ]
            smoother = max(tried, key=lambda candidate: candidate.evidence)
            matrix = nearest_positive(TENSOR.matrix(smoother(seen)))
            level = np.clip(self.forms @ TENSOR.coordinates(matrix), -1.0, 1.0)
        return matrix, weights, smoother

    @property
    def matrix(self) -> Floats:
        """Coefficients (M, M) of cosines on the unit interval: positive semidefinite."""
        return self._settled[0]

    @property
    def times(self) -> Floats:
        """Shares (C,) of the visits in each cell."""
        seen = np.zeros((self.cells, self.cells))
        seen[np.triu_indices(self.cells)] = self.masses / 2 / self.masses.sum()
        return np.asarray((seen + seen.T).sum(axis=1))

    @property
    def error(self) -> float:
        """Variance of errors of measurement: what squares have beside the smoothed diagonal."""
        inside = cosines(FUNCTIONS, (np.arange(INSIDE * self.cells) + 0.5) / (INSIDE * self.cells))
        variance = ((inside @ self.matrix) * inside).sum(axis=1).reshape(self.cells, -1)
        return float(max(self.square - self.times @ variance.mean(axis=1), LEAST * self.square))

    def noise_matrices(self, generator: np.random.Generator, draws: int) -> Floats:
        """What noise alone makes of the matrix (draws, M, M), smoothed as it was."""
        _, weights, smoother = self._settled
        drawn = self.noise.simulate(generator, draws)[:, : 2 * len(weights)] * self.unit
        contrasts = (drawn.reshape(draws, *weights.shape) * weights).sum(axis=2)
        operator = np.stack([smoother(row) for row in np.eye(len(weights))])
        return np.asarray(TENSOR.matrix(contrasts @ operator))


# Functions that the covariance is written in.
FINAL = 16
# Points along each axis of a table: it is smooth.
LINE = 33
FLOOR_DRAWS = 2000
# What a unit gives at most to pairs of its visits, and to their squares.
PARTS = UNIT - UNIT // 8, UNIT // 8


@dataclass(frozen=True, eq=False)
class ReleasedSparseCovariance(CovarianceSurface, OfShares):
    """A covariance function C(s, t) of people who were observed at a few times each.

    It is estimated from pairs of different visits, so that errors of measurement are no part of it. It
    is symmetric and positive semidefinite. It holds nothing private.

    Parameters
    ----------
    basis : Basis
        Orthonormal public functions.
    shares : NoisyShares
        The mechanism's output: two corners of every pair of cells, and of squares.
    center, reach : array (m,)
        What deviations were counted from, and how far they reach, on the grid; linear between.
    certificate : Certificate
        Of the whole release, a private center included.
    about : mapping
        Labels, date, versions.
    pooled : ReleasedPooledMean or None
        The released mean that is the center, where a share of the budget paid for it.
    """

    basis: Basis = field(metadata=file.BASIS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    center: Floats = field(metadata=file.FLOATS.kept)
    reach: Floats = field(metadata=file.FLOATS.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    pooled: ReleasedPooledMean | None = field(
        default=None, metadata=file.part(ReleasedPooledMean).or_null.named("mean").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-sparse-covariance"
    _CALLED: ClassVar[str] = "released covariance of sparse curves"
    _bandless = "sampling and smoothing are in it besides noise, and no width was found that holds both"
    _subject = "covariance function"

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = self._estimate.cells
        if len(self.shares.noisy) != cells * (cells + 1) + 2:
            raise ParameterError("shares", "be two a pair of cells, and two", len(self.shares.noisy))

    @cached_property
    def _estimate(self) -> PairEstimate:
        shares = self.shares
        return PairEstimate(shares.counts.reshape(-1, 2), shares.noise, 2.0**-shares.exponent)

    @cached_property
    def _taken(self) -> Floats:
        """Takes coefficients of the estimate (FUNCTIONS,) to those of the basis (M,)."""
        start, end = self.domain_range
        along = cosines(FUNCTIONS, (self.grid_points - start) / (end - start))
        return frozen(self.basis.analysis.T @ (self.reach[:, None] * along))

    @cached_property
    def matrix(self) -> Floats:
        """Coefficients (M, M) of the estimate: positive semidefinite."""
        return frozen(self._taken @ self._estimate.matrix @ self._taken.T)

    @property
    def error_variance(self) -> float:
        """Variance of an error of measurement, taken to be the same at all times; noisy, and positive.

        It is what squares of deviations have beside the variance of curves, and no better known.
        """
        start, end = self.domain_range
        cells = self._estimate.cells
        at = start + (end - start) * (np.arange(cells) + 0.5) / cells
        reach = np.interp(at, self.grid_points, self.reach)
        return float(self._estimate.error / (self._estimate.times @ reach**-2))

    def noise_floor(self, level: float = 0.95) -> float:
        """What the largest eigenvalue of the noise stays below with this probability.

        An eigenvalue of the estimate below it may be noise alone. Of the noise as it was smoothed, the
        smoothing being taken as given; simulated from the public law with a fixed key.
        """
        generator = np.random.Generator(np.random.Philox(key=0))
        drawn = self._estimate.noise_matrices(generator, FLOOR_DRAWS)
        return largest_size(self._taken @ drawn @ self._taken.T, check_level(level))

    def scores(self, curves: LongCurves, count: int | None = None) -> Floats:
        """Scores (n, k) of curves that were observed at a few times each: conditional expectations.

        Given normal curves of this covariance around the center, and errors of measurement of
        `error_variance` (Yao, Mueller & Wang 2005). Scores of private curves are private: use it on
        public curves, or where the scores stay with whoever holds the curves.

        Parameters
        ----------
        curves : LongCurves
            In any order of rows; curves come in the order in which their ids first appear.
        count : int, optional
            Number k of components, as in `components`.

        Raises
        ------
        ParameterError, DataError
            If an observation is not finite, or outside the domain.
        """
        if not isinstance(curves, LongCurves):
            raise ParameterError("curves", "be LongCurves", shown(curves))
        components = self.components(count)
        curves.usable(self.domain_range, "refuse")
        scores = []
        for rows in curves.records():
            at = np.asarray(curves.times[rows], dtype=float)
            apart = np.asarray(curves.values[rows], dtype=float) - self._center_at(at)
            seen = self.basis.evaluate(at)
            variance = seen @ self.matrix @ seen.T + self.error_variance * np.eye(at.size)
            loaded = (components.vectors * components.variances).T @ seen.T
            scores.append(loaded @ np.linalg.solve(variance, apart))
        return np.array(scores)

    def predict(self, curves: LongCurves, points: ArrayLike, count: int | None = None) -> Floats:
        """Curves (n, q) at points of the domain, from a few observations each, by their `scores`."""
        at = check_points(points, self.domain_range)
        return np.asarray(self._center_at(at) + self.scores(curves, count) @ self.components(count)(at))

    def _center_at(self, at: Floats) -> Floats:
        return np.asarray(np.interp(at, self.grid_points, self.center))

    # Its file.

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours, PARTS)

    def _checked(self) -> None:
        if not self.center.shape == self.reach.shape == self.grid_points.shape:
            raise ValueError("center and reach must fit the grid")
        if not np.all(self.reach > 0):
            raise ValueError("deviations must reach somewhere")
        # Without its mean a file would promise what the table alone cost.
        follows = self.certificate.bound["radius"] is None or self.about.get("center") == "private"
        if follows and self.pooled is None:
            raise ValueError("center and reach follow from a mean that is left out")

    # Words.

    @property
    def _along(self) -> Floats:
        return np.linspace(*self.domain_range, LINE)

    @property
    def _value_label(self) -> str:
        return f"covariance of {super()._value_label}, squared units"

    def _stated(self) -> Stated:
        own = second_order(self, "A covariance function of pairs of points", self.components())
        more = (
            f" Every {self.unit} was observed at times of their own. Pairs of different visits are "
            f"pooled, so that errors of measurement are no part of it; each {self.unit} counts as one, "
            "spread over their pairs."
        )
        return replace(
            own,
            what=own.what + more,
            noise=self.shares.noise.describe().replace("coefficients", "pairs of cells"),
            units=used_units(self),
            findings={**own.findings, "error": f"variance {self.error_variance:.3g} of a measurement"},
        )

    def _lines(self) -> dict[str, str]:
        return {"center": center_words(self), "cells": f"pairs of {self._estimate.cells} equal cells"}
