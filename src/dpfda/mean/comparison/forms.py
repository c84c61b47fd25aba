"""What a test of equal means looks at: norms of the difference of two means, each one person wide.

The mean of each group is known by the exact integer sums S of its records over fine cells of the grid,
in each of which a record lies within half-widths H. A form of the difference of two means is

    f_k = sum_j A_kj (S_j / n - S'_j / n') / W_k,    W_k = sum_j |A_kj| 2 H_j,

with integers A: one unit in another's place moves it by at most 1 / min(n, n'). So do |f_k|, the root
mean square of several forms (Minkowski), either of them less a public offset, and the largest of all of
these over all pairs of groups: the statistic. **However much is looked at, one number gets noise, once,
as wide as that on one form alone**; to look at more costs nothing of the budget, and only what sampling
makes of it. The statistic times n 2^20, n the smallest group, rounded down, is an integer that moves by
at most 2^20: floor(x + 2^20) = floor(x) + 2^20.

**Its law where populations have one mean function** needs the deviation of each f_k alone, for any
correlations; docs/appendix/equality.md has the proof. What is compared below, x^2 > 1.5365 s^2, is where
the root mean square of any number of forms has the law of a single one (Szekely & Bakirov 2003).

Offsets decide power alone, and are chosen as for curves whose values deviate by a tenth of the distance
between bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations

import numpy as np
import scipy

from dpfda.mechanisms.cells import cell_labels
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice

# Cells that sums are taken over, and that bumps are looked for in; weights of cells are in these units.
FINE, BUMPS = 80, 20
WEIGHT = 1024
# What may be looked for; by default a root mean square, which has this part of the level, and bumps.
ANY, OVERALL = "any", 0.7
LOOKS = (ANY, "level", "slope", "bend", "bumps")
# Level of the test, and deviation of values as a share of the distance between bounds, for the offset.
LEVEL, DEVIATION = 0.05, 0.1
# Noise is replaced by this many quantiles of its law, of equal chance.
QUANTILES = 20_000
# Beyond this square a single normal variable is the worst case of mean squares; freedoms tried below.
SINGLE, FREEDOMS = 1.5365, 64


@dataclass(frozen=True, eq=False)
class Norm:
    """The size of one form, or the root mean square of several, less an offset.

    Parameters
    ----------
    name : str
        What is looked for.
    rows : array (K, cells)
        Integer weights A of the forms.
    offset : int
        In units of 2^-20 of a person of the smallest group.
    """

    name: str
    rows: Integers
    offset: int


@dataclass(frozen=True, eq=False)
class Forms:
    """The statistic of a test of equal means, from public numbers alone.

    Parameters
    ----------
    half_widths : array (m,)
        Half the distance between the bounds at each grid point, positive.
    weights : array (m,)
        Of the grid points in averages.
    sizes : tuple of int
        Public number of units of each group: two groups or more.
    look_for : {"any", "level", "slope", "bend", "bumps"}

    Examples
    --------
    >>> forms = Forms(np.ones(40), np.ones(40), (100, 200), "any")
    >>> [norm.name for norm in forms.norms][:3]
    ['overall', 'bumps', 'bumps']
    """

    half_widths: Floats
    weights: Floats
    sizes: tuple[int, ...]
    look_for: str = ANY

    def __post_init__(self) -> None:
        choice(self.look_for, "look_for", LOOKS)
        if self.look_for in ("slope", "bend"):
            row = self.norms[0].rows[0]
            if row.min() >= 0 or row.max() <= 0:
                wanted = "be 'any', 'level' or 'bumps' on so few grid points"
                stated = f"{self.look_for!r} on {self.half_widths.size}"
                raise ParameterError("look_for", wanted, stated, "Eight are enough for all.")

    @property
    def smallest(self) -> int:
        """Number of units of the smallest group."""
        return min(self.sizes)

    @property
    def cells(self) -> int:
        """Number of fine cells."""
        return min(FINE, self.half_widths.size)

    @cached_property
    def labels(self) -> Integers:
        """Fine cell (m,) of each grid point."""
        return cell_labels(self.half_widths.size, self.cells)

    def over_cells(self, values: Floats) -> Floats:
        """Sums (cells,) of values (m,) over the fine cells."""
        return np.asarray(np.bincount(self.labels, values, self.cells), dtype=np.float64)

    @cached_property
    def norms(self) -> tuple[Norm, ...]:
        """What the statistic is the largest of."""
        # A sum over a cell counts with the weight of one of its points.
        heavy = self.over_cells(self.weights) / np.bincount(self.labels, minlength=self.cells)
        weights = np.maximum(1, np.rint(WEIGHT * heavy / heavy.max())).astype(np.int64)
        place = (np.arange(self.cells) + 0.5) / self.cells
        far = np.abs(place - 0.5)
        bumps = np.equal.outer(
            np.arange(min(BUMPS, self.cells)), (place * min(BUMPS, self.cells)).astype(int)
        )
        rows = {
            "level": weights[None],
            "slope": weights * ((place > 0.75).astype(int) - (place < 0.25))[None],
            "bend": weights * ((far > 0.375).astype(int) - (far < 0.125))[None],
            "bumps": weights * bumps,
        }
        if self.look_for != ANY:
            return tuple(Norm(self.look_for, row[None], 0) for row in rows[self.look_for])
        more = _quantile(LEVEL * (1 - OVERALL) / len(rows["bumps"])) - _quantile(LEVEL * OVERALL)
        offset = round(more * DEVIATION * math.sqrt(2 * self.smallest) * 2**EXPONENT)
        overall = Norm("overall", rows["bumps"], 0)
        return overall, *(Norm("bumps", row[None], offset) for row in rows["bumps"])

    # Private.

    def statistic(self, sums: Sequence[Sequence[int]], half_widths: Sequence[int]) -> int:
        """The exact statistic, in units of 2^-20 of a person of the smallest group. Private.

        Parameters
        ----------
        sums : for each group, integers (cells,)
            Sums of records about the middle of their bounds.
        half_widths : integers (cells,)
            Of the integers of one record in each cell.
        """
        rows = np.concatenate([norm.rows for norm in self.norms])
        widths = [2 * width for width in exact_product(np.abs(rows), half_widths)]
        over = [exact_product(rows, totals) for totals in sums]
        statistics = []
        for first, second in combinations(range(len(sums)), 2):
            gaps = [
                Fraction(a * self.sizes[second] - b * self.sizes[first], width)
                for a, b, width in zip(over[first], over[second], widths, strict=True)
            ]
            scale = Fraction(self.smallest * 2**EXPONENT, self.sizes[first] * self.sizes[second])
            for norm in self.norms:
                own, gaps = gaps[: len(norm.rows)], gaps[len(norm.rows) :]
                square = sum((gap**2 for gap in own), Fraction(0)) * scale**2 / len(own)
                statistics.append(math.isqrt(math.floor(square)) - norm.offset)
        return max(statistics)

    # Its law.

    def deviations(self, variance: Floats) -> list[Floats]:
        """Largest deviation (norms,) of each norm's forms by sampling, for each pair of groups.

        Parameters
        ----------
        variance : array (m,)
            Of a unit's value at the grid points. In units of 2^-20 of a person of the smallest group.
        """
        wide, spread = self.over_cells(self.half_widths), self.over_cells(np.sqrt(variance))
        reach = []
        for norm in self.norms:
            size = np.abs(norm.rows)
            reach.append(math.sqrt(float(np.mean((size @ spread / (size @ wide) / 2) ** 2))))
        scale = self.smallest * 2**EXPONENT
        return [
            np.array(reach) * math.sqrt(1 / first + 1 / second) * scale
            for first, second in combinations(self.sizes, 2)
        ]

    def exceeded(self, beyond: Floats, deviations: Sequence[Floats]) -> Floats:
        """Largest chance that sampling takes the statistic to or beyond values, in their units."""
        norms = [
            (norm.offset, float(deviation), len(norm.rows))
            for own in deviations
            for norm, deviation in zip(self.norms, own, strict=True)
        ]
        below = np.ones(np.shape(beyond))
        for (offset, deviation, forms), count in Counter(norms).items():
            below *= (1 - largest_tail(beyond + offset, deviation, forms)) ** count
        return np.asarray(1 - below)

    def p_value(self, statistic: float, noise: NoiseLaw, variance: Floats) -> float:
        """Largest probability of a noisy statistic as large, where populations have one mean function.

        Parameters
        ----------
        statistic : float
        noise : NoiseLaw
            One component of a Laplace or normal law.
        variance : array (m,)
            As in `deviations`; zero for the hypothesis that the groups themselves have one mean.
        """
        chances = self.exceeded(statistic - quantiles(noise), self.deviations(variance))
        # What lies beyond the last quantile is counted as if it always exceeded.
        return float((1 + np.sum(chances)) / (1 + QUANTILES))

    def critical(self, level: float, noise: NoiseLaw, variance: Floats) -> float:
        """The noisy statistic whose p-value is this level."""
        deviations, drawn = self.deviations(variance), quantiles(noise)

        def excess(value: float) -> float:
            return float(np.mean(self.exceeded(value - drawn, deviations))) - level

        # No form is larger than one, which is as many units as the smallest group has.
        highest = 2.0**EXPONENT * self.smallest + float(drawn[-1])
        return float(scipy.optimize.brentq(excess, -highest, 2 * highest, rtol=1e-6))


def quantiles(noise: NoiseLaw) -> Floats:
    """Values (QUANTILES,) of equal chance, increasing, that stand for a Laplace or normal law."""
    chance = (np.arange(QUANTILES) + 0.5) / QUANTILES
    deviation = math.sqrt(float(noise.variances()[0]))
    if noise.law == "gaussian":
        return np.asarray(deviation * scipy.special.ndtri(chance))
    tail = np.log(2 * np.minimum(chance, 1 - chance))
    return np.asarray(deviation / math.sqrt(2) * np.where(chance < 0.5, tail, -tail))


def largest_tail(values: Floats, deviation: float, forms: int) -> Floats:
    """Chance that the root mean square of normal variables reaches values, whatever their correlations.

    Parameters
    ----------
    values : array
    deviation : float
        Root of their mean variance.
    forms : int
        How many there are.
    """
    if deviation == 0:
        return np.asarray(values <= 0, dtype=np.float64)
    # Beyond 40 deviations the chance is 0 in floats.
    ratio = np.clip(values / deviation, 0.0, 40.0)
    chance = np.asarray(2 * scipy.special.ndtr(-ratio))
    if forms > 1:
        low = ratio**2 < SINGLE
        squares, tails = _several()
        chance[low] = tails[np.searchsorted(squares, ratio[low] ** 2, "right")]
    return chance


@cache
def _several() -> tuple[Floats, Floats]:
    """Squares from 1 on, and the largest tail between each and the one before; before all it is 1."""
    squares = np.linspace(1, SINGLE, 1000)
    freedoms = np.arange(1, FREEDOMS + 1)[:, None]
    tails = scipy.special.chdtrc(freedoms, freedoms * squares).max(axis=0)
    return squares, np.concatenate([[1.0], tails])


def _quantile(chance: float) -> float:
    """What a standard normal variable exceeds in size with this chance."""
    return float(-scipy.special.ndtri(chance / 2))


DESCRIBED: Mapping[str, str] = {
    ANY: "the root mean square over the domain, and bumps",
    "level": "the level",
    "slope": "the first quarter of the domain against the last",
    "bend": "the ends of the domain against its middle",
    "bumps": f"the largest difference in a {BUMPS}th of the domain",
}
