"""The covariance of curves that were observed at a few times each, from noisy shares of pairs of cells.

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

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases import CosineBasis
from dpfda.bases.cells import cell_averages, cosines
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.estimates.components import Fit, Part, log_weights, mixed_mean, normalised
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats
from dpfda.releases.moments import nearest_positive

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
        found = even * np.maximum(1 + self.forms @ surface, FLOOR)
        return np.asarray(found * total / found.sum())

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
            smoother = max(tried, key=lambda each: each.evidence)
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
