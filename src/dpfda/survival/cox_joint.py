"""Where numbers that go together lie in the combinations of a table of hazards. Public.

A table tells how many units are in each combination of parts. Of numbers that go together the mean of
one in a part depends on the part of the other: with the mean of all in that part, ratios of numbers of
correlation .7 are off by a sixth. So a normal copula is taken, with the correlations that the noisy
counts tell, and in each part the law that `Combinations` has there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_quantile

# Places in each part, by how many numbers there are.
PLACES = {2: 10, 3: 5, 4: 4}
TRIED = np.linspace(-0.99, 0.99, 67)
# The correlations' least eigenvalue; and what is left to combinations where nobody is expected.
LEAST, SELDOM = 0.01, 1e-9


@dataclass(frozen=True, eq=False)
class Spread:
    """The law of one number: units in its parts, and places of equal mass in each.

    Parameters
    ----------
    parts : array (a,)
        Shares of the parts.
    values : array (a, q)
        Where the places are, in units of half the range.
    """

    parts: Floats
    values: Floats

    @classmethod
    def of(cls, numbers: Floats, edges: Floats, centres: Floats, halves: Floats, count: int) -> Spread:
        """From units (a,) in parts; `halves` are half the slopes of the logarithm of the density."""
        middle, steep = (np.arange(count) + 0.5) / count, 2 * halves[:, None]
        inside = np.log1p(middle * np.expm1(steep)) / steep
        return cls(
            numbers / numbers.sum(),
            centres[:, None] + np.diff(edges)[:, None] * (inside - inside.mean(axis=1)[:, None]),
        )

    @property
    def scores(self) -> Floats:
        """Normal scores (a, q) of the places."""
        count = self.values.shape[1]
        before = np.cumsum(self.parts)[:, None] - self.parts[:, None]
        return normal_quantile(before + self.parts[:, None] * (np.arange(count) + 0.5) / count)

    @property
    def masses(self) -> Floats:
        """Of the places (a q,)."""
        count = self.values.shape[1]
        return np.repeat(self.parts / count, count)


def correlation(counts: Floats, one: Spread, other: Spread, deviation: float) -> float:
    """Of normal scores, from noisy numbers of units (a, b): the one whose mean product is seen.

    deviation: Of the noise in each number.
    """
    rows, columns = one.scores, other.scores
    first, second = rows.mean(axis=1), columns.mean(axis=1)
    whole = max(float(counts.sum()), deviation * counts.size**0.5)
    seen = float(first @ counts @ second) / whole
    noise = deviation * float(np.sqrt(np.sum(first**2) * np.sum(second**2))) / whole
    seen *= max(0.0, 1 - noise**2 / max(seen**2, 1e-300))
    mass = np.multiply.outer(one.masses, other.masses)
    product = np.multiply.outer(np.repeat(first, rows.shape[1]), np.repeat(second, columns.shape[1]))
    squares = np.add.outer(rows.ravel() ** 2, columns.ravel() ** 2)
    crossed, means = np.multiply.outer(rows.ravel(), columns.ravel()), []
    for tried in TRIED:
        weights = mass * np.exp(-(tried**2 * squares - 2 * tried * crossed) / (2 * (1 - tried**2)))
        means.append(np.sum(weights * product) / np.sum(weights))
    return float(np.interp(seen, np.maximum.accumulate(means), TRIED))


def joined(table: Floats, spreads: Sequence[Spread], deviation: float) -> tuple[Floats, Floats]:
    """Means (k, a, b, ..) of k numbers in combinations, and their mean covariance (k, k) there.

    table: array (a, b, ..). Noisy numbers of units.
    deviation: Of the noise in each.
    """
    count, matrix = len(spreads), np.eye(len(spreads))
    for pair in itertools.combinations(range(count), 2):
        others = tuple(axis for axis in range(count) if axis not in pair)
        counts = table.sum(axis=others)
        noise = deviation * (table.size / counts.size) ** 0.5
        found = correlation(counts, spreads[pair[0]], spreads[pair[1]], noise)
        matrix[pair] = matrix[pair[::-1]] = found
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < LEAST:
        matrix = np.eye(count) + (matrix - np.eye(count)) * (1 - LEAST) / (1 - least)
    scores = np.array(np.meshgrid(*[each.scores for each in spreads], indexing="ij"))
    inner = np.linalg.inv(matrix) - np.eye(count)
    logs = -np.einsum("i...,ij,j...->...", scores, inner, scores) / 2
    weights = np.exp(logs - logs.max())
    for axis, each in enumerate(spreads):
        weights *= each.masses.reshape([-1 if own == axis else 1 for own in range(count)])
    weights = weights / weights.sum() + SELDOM / weights.size
    fold = [length for each in spreads for length in each.values.shape]
    weights = weights.reshape(fold)
    values = np.array(np.meshgrid(*[each.values for each in spreads], indexing="ij"))
    values, inside = values.reshape(count, *fold), tuple(range(1, 2 * count, 2))
    whole = weights.sum(axis=inside, keepdims=True)
    means = np.array([(weights * each).sum(axis=inside, keepdims=True) / whole for each in values])
    off = (values - means).reshape(count, -1)
    return means.reshape(count, *table.shape), (off * weights.ravel()) @ off.T / weights.sum()
