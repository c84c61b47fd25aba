"""Where numbers that go together lie in the combinations of a table of hazards. Public.

A table tells how many units are in each combination of parts. Of numbers that go together the mean of
one in a part depends on the part of the other: with the mean of all in that part, ratios of numbers of
correlation .7 are off by a sixth. So a normal copula is taken, with the correlations that the noisy
counts tell, with the law of `Spread` for each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_quantile

# Places in each part, by how many numbers there are.
PLACES = {2: 10, 3: 5, 4: 4}
TRIED = np.linspace(-0.99, 0.99, 67)
# The correlations' least eigenvalue; and what is left to combinations where nobody is expected.
LEAST, SELDOM = 0.01, 1e-9


# By which power of how uneven a part of a number is a heap in it counts.
HEAPED = 0.25


@dataclass(frozen=True, eq=False)
class Spread:
    """The law of one number: in each part its logarithm is a line.

    A line is as steep as the numbers of units beside it.

    Parameters
    ----------
    numbers : array (a,)
        Of units in the parts, positive.
    edges : array (a + 1,)
        Ends of the parts, in units of half the range.
    """

    numbers: Floats
    edges: Floats

    @cached_property
    def steep(self) -> Floats:
        """By how much the logarithm rises in each part (a,), never quite zero."""
        wide, middles = np.diff(self.edges), (self.edges[1:] + self.edges[:-1]) / 2
        dense = np.log(self.numbers / wide)
        steep = wide * np.gradient(dense, middles) if dense.size > 1 else np.zeros(1)
        return np.asarray(np.where(np.abs(steep) < 1e-3, 1e-3, steep))

    @property
    def _beside(self) -> Floats:
        """How far means of parts are from their middles, in units of half their width."""
        half = self.steep / 2
        return np.asarray(1 / np.tanh(half) - 1 / half)

    @property
    def centres(self) -> Floats:
        """Means of the parts (a,)."""
        return (self.edges[1:] + self.edges[:-1] + self._beside * np.diff(self.edges)) / 2

    @property
    def rooms(self) -> Floats:
        """How far means (a,) may be from there, where so steep a part may be a heap at one end."""
        uneven = np.abs(self._beside)
        return np.asarray((1 - uneven) * uneven**HEAPED * np.diff(self.edges) / 2)

    def values(self, count: int) -> Floats:
        """Places (a, count) of equal mass in each part."""
        steep, middle = self.steep[:, None], (np.arange(count) + 0.5) / count
        inside = np.log1p(middle * np.expm1(steep)) / steep
        off = np.diff(self.edges)[:, None] * (inside - inside.mean(axis=1)[:, None])
        return np.asarray(self.centres[:, None] + off)

    def masses(self, count: int) -> Floats:
        """Of the places (a, count)."""
        return np.tile(self.numbers[:, None] / (count * self.numbers.sum()), count)

    def scores(self, count: int) -> Floats:
        """Normal scores (a, count) of the places."""
        masses = self.masses(count)
        return normal_quantile(np.cumsum(masses).reshape(masses.shape) - masses / 2)


def correlation(counts: Floats, pair: Sequence[Spread], deviation: float, count: int) -> float:
    """Of normal scores, from noisy numbers of units (a, b): the one whose mean product is seen.

    deviation: Of the noise in each number. count: Of places in a part.
    """
    rows, columns = (spread.scores(count) for spread in pair)
    first, second = rows.mean(axis=1), columns.mean(axis=1)
    total = max(float(counts.sum()), deviation * counts.size**0.5)
    seen = float(first @ counts @ second) / total
    noise = deviation * float(np.sqrt(np.sum(first**2) * np.sum(second**2))) / total
    seen *= max(0.0, 1 - noise**2 / max(seen**2, 1e-300))
    mass = np.multiply.outer(*(spread.masses(count).ravel() for spread in pair))
    squares = np.add.outer(rows.ravel() ** 2, columns.ravel() ** 2)
    crossed, means = np.multiply.outer(rows.ravel(), columns.ravel()), []
    for tried in TRIED:
        weights = mass * np.exp(-(tried**2 * squares - 2 * tried * crossed) / (2 * (1 - tried**2)))
        weights = weights.reshape(first.size, count, second.size, count).sum(axis=(1, 3))
        means.append(float(first @ weights @ second / weights.sum()))
    return float(np.interp(seen, np.maximum.accumulate(means), TRIED))


def joined(table: Floats, spreads: Sequence[Spread], deviation: float) -> tuple[Floats, Floats]:
    """Means (k, a, b, ..) of k numbers in combinations, and their mean covariance (k, k) there.

    table: array (a, b, ..). Noisy numbers of units.
    deviation: Of the noise in each.
    """
    count, matrix, places = len(spreads), np.eye(len(spreads)), PLACES[len(spreads)]
    for pair in itertools.combinations(range(count), 2):
        counts = table.sum(axis=tuple(axis for axis in range(count) if axis not in pair))
        noise = deviation * (table.size / counts.size) ** 0.5
        of = [spreads[number] for number in pair]
        matrix[pair] = matrix[pair[::-1]] = correlation(counts, of, noise, places)
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < LEAST:
        matrix = np.eye(count) + (matrix - np.eye(count)) * (1 - LEAST) / (1 - least)
    scores = np.array(np.meshgrid(*[spread.scores(places) for spread in spreads], indexing="ij"))
    inner = np.linalg.inv(matrix) - np.eye(count)
    logs = -np.einsum("i...,ij,j...->...", scores, inner, scores) / 2
    weights = np.exp(logs - logs.max())
    for axis, spread in enumerate(spreads):
        weights *= spread.masses(places).reshape([-1 if own == axis else 1 for own in range(count)])
    weights = weights / weights.sum() + SELDOM / weights.size
    fold = [length for parts in table.shape for length in (parts, places)]
    weights = weights.reshape(fold)
    values = np.array(np.meshgrid(*[spread.values(places) for spread in spreads], indexing="ij"))
    values, inside = values.reshape(count, *fold), tuple(range(1, 2 * count, 2))
    masses = weights.sum(axis=inside, keepdims=True)
    means = np.array([(weights * row).sum(axis=inside, keepdims=True) / masses for row in values])
    off = (values - means).reshape(count, -1)
    return means.reshape(count, *table.shape), (off * weights.ravel()) @ off.T / weights.sum()
