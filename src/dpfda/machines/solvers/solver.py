"""What all solvers have: a law of noise, the exact integers that get it, and coefficients from these."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds import IntegerBall, Norm
from dpfda.machines.solvers.terms import Labelled, Terms
from dpfda.noise import NoiseLaw, cost_of
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import NAMED, Paying, publish_integers, recomputed
from dpfda.records.features import feature_ball

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
        guarantee = self.terms.guarantee
        achieved = recomputed(self.noise, self.norm, self.width, guarantee)
        return {WHOLE: cost_of(self.noise, achieved, guarantee)}

    def publish(self, data: Labelled, entry: Told, tuning: Told, paying: Paying = NAMED) -> Published:
        """Charge, draw and release the integers behind the coefficients."""
        return self.publish_total(self.total(data), entry, tuning, paying)

    def publish_total(
        self, total: IntegerSum, entry: Told, tuning: Told, paying: Paying = NAMED
    ) -> Published:
        """The same where the integers are known."""
        law = self.noise, self.norm, self.width
        return publish_integers(total, *law, self.terms.guarantee, entry, paying, tuning)

    def total(self, data: Labelled) -> IntegerSum:
        """The integers that get the noise, where it is added once. Private."""
        raise NotImplementedError

    def unsuited(self, loss: str, remedy: str) -> RefusedMechanismError:
        """What to raise for a loss, in words, that the solver cannot have."""
        return RefusedMechanismError("solver", "suit the loss", f"{self.name!r} for {loss}", remedy)


class MinimisingSolver(Solver):
    """A solver of one function that minimises and releases the rounded minimiser with noise."""

    def __post_init__(self) -> None:
        if self.terms.functions > 1:
            raise RefusedMechanismError(
                "solver",
                "be 'auto', 'means' or 'sums' for more than two classes",
                repr(self.name),
                "Or set delta and use 'gradient'; or use two classes.",
            )
        # The proofs compare averages over one number of units.
        if self.terms.neighbours is Neighbours.ADD_REMOVE:
            raise RefusedMechanismError(
                "solver",
                "be one that noises sums under add/remove neighbours: 'sums', 'means' or 'gradient'",
                repr(self.name),
                "Use loss='squared'; or for classes the hinge; or set delta and use 'gradient'.",
            )

    @property
    @abstractmethod
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""

    @property
    @abstractmethod
    def cost_of_inexactness(self) -> float:
        """What rounding and the minimisation add to the noise, relatively."""

    @property
    def deviation(self) -> float:
        """Of the noise on the result, in every coefficient."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -self.exponent)

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        return np.array([math.ldexp(float(value), -self.exponent) for value in noisy])


class SummingSolver(Solver):
    """A solver that adds noise to sums of what each unit contributes."""

    @property
    def visits(self) -> float:
        return 1

    @property
    @abstractmethod
    def entries(self) -> int:
        """Number of released sums."""

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
