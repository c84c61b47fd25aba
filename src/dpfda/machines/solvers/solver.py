"""What all solvers have: public numbers, private examples, noise on exact integers, coefficients."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from dpfda.bounds import IntegerBall, Norm
from dpfda.machines.minimiser import Examples, Loss
from dpfda.noise import Calibrated, NoiseLaw, gaussian_noise, knorm_noise
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import Private, RefusedMechanismError
from dpfda.numerics.parameters import real
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import publish_integers
from dpfda.records.features import feature_ball

Budget = PureDP | ApproximateDP | ZeroConcentratedDP

# The sensitivity is about 2^32 units of the grid on which the solution is rounded.
SOLUTION_BITS = 32


@dataclass(frozen=True, eq=False, repr=False)
class Labelled(Private):
    """Private examples as integers.

    Parameters
    ----------
    rows : array (N, K) of int32 or int64, or what gives rows of it
        Features inside the solver's integer ball.
    targets : array (N,) or (N, C)
        y_i in [-1, 1]; for more than two classes one column a class, 1 for a record's own and else 0.
    codes : array (N,) of int
        Privacy unit of each row, from 0 to n - 1.
    units : int
        Number n of privacy units.
    """

    rows: Any
    targets: Floats
    codes: Integers
    units: int

    @cached_property
    def by_unit(self) -> tuple[Integers, Integers]:
        """Places of the rows of one unit after another, and where those of each begin, and the end."""
        order = np.argsort(self.codes, kind="stable")
        return order, np.searchsorted(self.codes[order], np.arange(self.units + 1))

    def examples(self, unit: float, offsets: Floats | None = None) -> Examples:
        """For the minimisation, features being `unit` times the integers: a power of two, so exactly."""
        none = np.zeros(self.targets.size)
        sizes = np.bincount(self.codes)[self.codes].astype(np.float64)
        weights = np.asarray(1.0 / (self.units * sizes), dtype=np.float64)
        rows = np.asarray(self.rows * unit, dtype=np.float64)
        return Examples(rows, self.targets, weights, none if offsets is None else offsets)


@dataclass(frozen=True)
class Terms:
    """The public numbers of a machine.

    Parameters
    ----------
    components : int
        Number K of features.
    units : int
        Number n of privacy units; under add/remove a public number to divide by.
    loss : Loss
    penalty : Fraction
        Penalty; exactly a float.
    guarantee : PureDP, ApproximateDP or ZeroConcentratedDP
    grouped : bool
        Whether a unit may have several rows.
    functions : int
        Number of functions: 1, or that of the classes where there are more than two.
    neighbours : Neighbours
    """

    components: int
    units: int
    loss: Loss
    penalty: Fraction
    guarantee: Budget
    grouped: bool
    functions: int = 1
    neighbours: Neighbours = Neighbours.REPLACE_ONE


def sensitivity(terms: Terms) -> Fraction:
    """Largest distance between exact minimisers of neighbouring data sets, rounded up.

    *Lipschitz losses.* F is 2 penalty-strongly convex, so 2 penalty |b - b'| is at most the length of
    the difference of the two gradients at one point, which is 1/n times a difference of two (average)
    gradients of length at most M each: |b - b'| <= M / (penalty n). For the hinge loss it is attained.

    *Square loss, a row a unit.* Let b0 minimise F without the unit that is replaced (still divided by
    n), A = H + penalty with H = (1/n) sum z z^T over the others, and h = (1/n) sum y z over the others,
    so b0 = A^-1 h. By the rank-one formula b - b0 = A^-1 z (y - z . b0) / (n + z . A^-1 z), hence |b -
    b0| <= |A^-1 z| (1 + |z . b0|) / n. Since |h . x|^2 <= (1/n) sum y^2 . x^T H x,

        |z . b0|^2 <= z^T A^-1 H A^-1 z = z^T A^-1 z - penalty z^T A^-2 z.

    In the eigenbasis of A with eigenvalues penalty / u_j, 0 < u_j <= 1, and weights z_j^2 of total mass
    at most one: |A^-1 z|^2 = sum z_j^2 u_j^2 / penalty^2 =: s^2 / penalty^2, and the right side above is
    sum z_j^2 (u_j - u_j^2) / penalty <= (s - s^2) / penalty by Cauchy and Schwarz. Twice that for b and
    b':

        |b - b'| <= (2 / (penalty n)) max_{0 <= s <= 1} s (1 + (s (1 - s) / penalty)^(1/2)).

    *Square loss, groups.* The gradient of a unit at b0 is at most 2 (1 + |b0|) long and |b0| <=
    1 / (2 penalty^(1/2)), so |b - b'| <= (2 / (penalty n)) (1 + 1 / (2 penalty^(1/2))).
    """
    scale = 1 / (terms.penalty * terms.units)
    if terms.loss.lipschitz is not None:
        return terms.loss.lipschitz * scale
    steep = 1 / math.sqrt(terms.penalty)
    if terms.grouped:
        largest = 1 + steep / 2
    else:
        # Each cell counts with the largest s and the largest s (1 - s) in it.
        edges = np.linspace(0.0, 1.0, 4097)
        low, high = edges[:-1], edges[1:]
        middle = np.clip(0.5, low, high)
        largest = float(np.max(high * (1 + steep * np.sqrt(middle * (1 - middle)))))
    return 2 * scale * Fraction(largest * (1 + 1e-12))


def grid_exponent(scale: Fraction) -> int:
    """The q for which scale * 2^q is about 2^SOLUTION_BITS."""
    return SOLUTION_BITS - scale.numerator.bit_length() + scale.denominator.bit_length()


def rounded(value: Fraction) -> int:
    """Nearest integer, exactly."""
    return math.floor(value + Fraction(1, 2))


def ceil_root(square: int) -> int:
    """Smallest integer whose square is at least this."""
    return math.isqrt(square - 1) + 1 if square > 0 else 0


def additive_noise(blocks: tuple[int, ...], norm: Norm, width: int, guarantee: Budget) -> NoiseLaw:
    """K-norm blocks of one scale; or Gaussian noise, under rho, or with a delta where it is smaller.

    The width bounds differences in the norm, l1 being the sum of the lengths of blocks, and in l2.
    """
    ones = np.ones(sum(blocks))
    if isinstance(guarantee, ZeroConcentratedDP):
        return gaussian_noise(ones, width, guarantee)
    pure = knorm_noise(blocks, np.ones(len(blocks)), norm, width, PureDP(guarantee.epsilon))
    if isinstance(guarantee, PureDP):
        return pure
    normal = gaussian_noise(ones, width, guarantee)
    return normal if normal.variances()[0] < pure.variances()[0] else pure


def check_penalty(penalty: object) -> Fraction:
    """Read a penalty: positive, and between 1e-9 and 1e9 so that floats can solve for it."""
    return Fraction(real(penalty, "penalty", 1e-9, 1e9, "lie between 1e-9 and 1e9"))


# Units whose contributions are formed at a time: a public number.
BLOCK = 1024
Published = tuple[tuple[int, ...], Certificate]
# What a ledger keeps, and what a certificate says of the mechanism.
Told = Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Solver(ABC):
    """From private examples to noisy integers, and from these to the released coefficients."""

    terms: Terms
    name: ClassVar[str]

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return feature_ball(self.terms.components)

    @property
    def entries(self) -> int:
        """Number of integers that are released, in one step where there are several."""
        return self.terms.components * self.terms.functions

    @property
    def norm(self) -> Norm:
        """What the width bounds."""
        return "l2"

    @property
    def visits(self) -> float:
        """How often each record is read, at most as far as is known."""
        return math.inf

    @property
    @abstractmethod
    def width(self) -> int | OuterDifference:
        """How far the integers of neighbouring data sets are apart."""

    @property
    @abstractmethod
    def noise(self) -> NoiseLaw | SymmetricNoise:
        """The calibrated law of the noise on them."""

    @abstractmethod
    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released functions' coefficients: (K,), or (K, C) for several classes."""

    @abstractmethod
    def spread(self, noisy: tuple[int, ...]) -> Floats | None:
        """Deviation () or covariance of the noise in the coefficients; None where it is not known."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """Public numbers of the solver, as JSON types."""

    def costs(self) -> dict[str, Cost]:
        """What each stage costs."""
        return {WHOLE: self.calibrated.cost()}

    @property
    def calibrated(self) -> Calibrated:
        """Its noise, and what is charged for it."""
        return Calibrated(cast("NoiseLaw", self.noise), self.terms.guarantee, self.norm, self.width)

    def publish(self, data: Labelled, entry: Told, tuning: Told, paying: Paying = NAMED) -> Published:
        """Charge, draw and release the integers behind the coefficients."""
        return self.publish_total(self.total(data), entry, tuning, paying)

    def publish_total(
        self, total: IntegerSum, entry: Told, tuning: Told, paying: Paying = NAMED
    ) -> Published:
        """The same where the integers are known."""
        return publish_integers(total, self.calibrated, entry, paying, tuning)

    def total(self, data: Labelled) -> IntegerSum:
        """The integers that get the noise, where it is added once. Private."""
        raise NotImplementedError

    def unsuited(self, loss: str, remedy: str, /, **parts: object) -> RefusedMechanismError:
        """What to raise for a loss, in words, that the solver cannot have."""
        found = f"{self.name!r} for {loss}"
        return RefusedMechanismError("solver", "suit the loss", found, remedy, "", **parts)


class SummingSolver(Solver):
    """A solver that adds noise to sums of what each unit contributes."""

    @property
    def visits(self) -> float:
        return 1

    @abstractmethod
    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""

    def averages(self, data: Labelled, start: int, stop: int) -> Integers:
        """Contributions (stop - start, entries) of units; the average of a unit's rows, rounded down.

        Parameters
        ----------
        data : Labelled
        start, stop : int
            The first unit, and the one after the last.
        """
        order, begins = data.by_unit
        begins = begins[start : stop + 1]
        chosen = order[begins[0] : begins[-1]]
        added = self.contributions(data.rows[chosen].astype(np.int64), data.targets[chosen])
        totals = np.add.reduceat(added, begins[:-1] - begins[0])
        return totals // np.diff(begins)[:, None]

    def summed(self, rows: Integers, targets: Floats) -> Integers:
        """Sum (entries,) of the contributions of at most `BLOCK` rows."""
        return np.asarray(self.contributions(rows, targets).sum(axis=0))

    def total(self, data: Labelled) -> IntegerSum:
        # Sums of entries below 2^33 stay in 64 bits.
        total, alone = np.zeros(self.entries, dtype=np.int64), data.units == data.codes.size
        for start in range(0, data.units, BLOCK):
            part = slice(start, min(start + BLOCK, data.units))
            if alone:
                total += self.summed(data.rows[part].astype(np.int64), data.targets[part])
            else:
                total += self.averages(data, part.start, part.stop).sum(axis=0)
        return IntegerSum(self.entries).add_totals(total, data.units)

    def describe(self) -> dict[str, object]:
        return {"entries": self.entries}
