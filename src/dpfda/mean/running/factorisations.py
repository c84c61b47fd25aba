"""Which sums of months get noise: powers of the matrix of running sums, and what they cost and gain.

Let S_1, .., S_T be the exact integer sums of the months. Month t releases

    Y_t = sum_(s <= t) c_(t - s) S_s + Z_t

with public integers c_0 >= c_1 >= .. >= 0 and independent noise Z_t of one law: rows of C S + Z, C a
Toeplitz matrix below its diagonal. From Y_1, .., Y_t the sum of month t, and that of all months up to
t, follow by the inverse of C: post-processing. Let P be the matrix of running sums, ones on and below
the diagonal. C = P^a is the identity for a = 0, where each month has noise of its own; for a = 1/2 it
is the square root, by which the errors of all running sums are as small as they can be up to a
constant. The nearer to 0, the more exact is each month's own mean. The entries of P^a are
c_j = a (a + 1) .. (a + j - 1) / j!, and they are rounded to integers in units of 2^-16.

**How far a unit moves the rows.** A unit is in at most k months s_1 < .. < s_k, where replacing it moves
S_(s_i) by a vector d_i in a box |d_ij| <= w_j. Row t moves by D_t = sum_i c_(t - s_i) d_i.

- In the box norm max_j |D_tj| / w_j <= sum_i c_(t - s_i), and over all rows the sum is at most that over
  the first k columns, as column s has the sum of c_0, .., c_(T - s): `moved` of "box".
- In squared length sum_t |D_t|^2 = sum_(i, l) G(s_i, s_l) <d_i, d_l> with G = C'C, whose entries
  G(s, r) = sum_(j <= T - max(s, r)) c_j c_(j + |s - r|) are not negative: so it is at most
  |w|^2 sum_(i, l) G(s_i, s_l). G falls with max(s, r), which leaves fewer terms, and with |s - r|, as c
  falls. As s_i >= i and s_l - s_i >= l - i, it is largest for the first k months: `moved` of "l2".

Both are attained, by a unit of the first k months that moves each as far as it goes, to one side.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from dpfda.noise import BoxNoise, GaussianNoise
from dpfda.noise.summed import SummedNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError

# Entries are in units of 2^-BITS, and weights of noisy rows, where there are several, of 2^-SHIFT.
BITS, SHIFT = 16, 48
POWERS = tuple(place / 20 for place in range(11))
IDENTITY = (1,)
# A state for more months would take longer to write than a month's curves to read.
MOST_STEPS = 1000
NoiseLike = BoxNoise | GaussianNoise | SummedNoise


@dataclass(frozen=True)
class Factorisation:
    """The rows that get noise. Public.

    column: Integers c_0, c_1, ..; what is left out is 0. (1,) is the identity.
    steps: Number T of months.
    most: Number k of months that a unit may be in.
    """

    column: tuple[int, ...]
    steps: int
    most: int

    def __post_init__(self) -> None:
        column = (*self.column, 0)
        falling = all(a >= b for a, b in itertools.pairwise(column)) and column[0] > 0
        if not falling or len(self.column) > self.steps or self.most < 1:
            raise ParameterError("column", "fall from a positive number, at most one a month", "others")

    @classmethod
    def of_power(cls, power: float, steps: int, most: int) -> Factorisation:
        """A power of the matrix of running sums, rounded."""
        if power == 0 or steps == 1:
            return cls(IDENTITY, steps, most)
        lags = np.arange(1, steps)
        entries = np.append(1.0, np.cumprod((power + lags - 1) / lags))
        return cls(tuple(np.rint(np.ldexp(entries, BITS)).astype(int).tolist()), steps, most)

    @property
    def own(self) -> bool:
        """Whether each month has noise of its own, and nothing of earlier months."""
        return len(self.column) == 1

    @property
    def shift(self) -> int:
        """Weighted sums of rows are in units of 2^-shift of a month's sum."""
        return 0 if self.own else SHIFT

    def row(self, month: int) -> list[int]:
        """What the sums of months 1, .., month are multiplied with in the row of a month."""
        lags = range(month - 1, -1, -1)
        return [self.column[lag] if lag < len(self.column) else 0 for lag in lags]

    def moved(self, norm: str) -> int:
        """How far a unit moves all rows, of what it moves the sum of one month; "l2" rounded up.

        norm: {"box", "l2"}. The sum over rows, or the root of the sum of squares.
        """
        sums = [0, *itertools.accumulate((*self.column, *[0] * (self.steps - len(self.column))))]
        # Of the first k entries of each row.
        first = [sums[t] - sums[max(t - self.most, 0)] for t in range(1, self.steps + 1)]
        if norm == "box":
            return sum(first)
        return math.isqrt(sum(value**2 for value in first) - 1) + 1

    @cached_property
    def inverse(self) -> Floats:
        """First column (T,) of the inverse, which is of the same form."""
        if self.own:
            return np.append(1.0, np.zeros(self.steps - 1))
        column = np.array([*self.column, *[0] * (self.steps - len(self.column))], dtype=np.float64)
        unit = np.append(1.0, np.zeros(self.steps - 1))
        # scipy's Toeplitz solver is for any matrix; below a diagonal it is plain substitution.
        matrix = scipy.linalg.toeplitz(column, np.zeros(self.steps))
        return np.asarray(scipy.linalg.solve_triangular(matrix, unit, lower=True))

    def weights(self, month: int, running: bool) -> tuple[int, ...]:
        """Integers (month,), in units of 2^-shift: the rows' part in the sum of a month, or of all."""
        inverse = np.cumsum(self.inverse) if running else self.inverse
        return tuple(int(w) for w in np.rint(np.ldexp(inverse[:month][::-1], self.shift)))

    def errors(self, norm: str) -> tuple[Floats, Floats]:
        """Deviations (T,) of the means of single months, and of all up to each, for months alike.

        In units of that of one month's mean which gets noise for the whole budget by itself.
        """
        lengths = [np.sqrt(np.cumsum(inverse**2)) for inverse in (self.inverse, np.cumsum(self.inverse))]
        scale = self.moved(norm)
        return scale * lengths[0], scale * lengths[1] / np.arange(1, self.steps + 1)

    def score(self, norm: str) -> float:
        """Geometric mean of all errors: of every month's own mean and every running mean."""
        return float(np.exp(np.mean(np.log(np.concatenate(self.errors(norm))))))


@dataclass(frozen=True)
class Rows:
    """What gets noise month by month, and the law of that noise. Public.

    factorisation: How rows are made of the months' sums.
    cells: Numbers of neighbouring grid points whose values are added up.
    law: Of the noise of one row.
    """

    factorisation: Factorisation
    cells: tuple[int, ...]
    law: BoxNoise | GaussianNoise

    def noise(self, month: int, running: bool) -> tuple[NoiseLike, tuple[int, ...]]:
        """The noise of a month's sum, or of that of all up to it; and the weights of the rows in it."""
        weights = self.factorisation.weights(month, running)
        seen = tuple(weight for weight in weights if weight)
        if seen == (1,):
            return self.law, weights
        return SummedNoise(self.law.scales, self.law.law, seen), weights


def best_power(steps: int, most: int, norm: str) -> Factorisation:
    """The power of least score; public numbers alone are asked.

    Examples
    --------
    >>> best_power(64, 1, "box").own, best_power(64, 64, "l2").own
    (True, True)
    """
    made = (Factorisation.of_power(power, steps, most) for power in POWERS)
    return min(made, key=lambda one: one.score(norm))
