"""The power that scaled inputs are raised to, chosen privately: a noisy maximum of the units' votes.

Bounds that are far too wide, counts and sums of money leave most inputs near zero, and a machine learns
nothing. A record's typical input t is the lower median of those of its inputs, scaled from their bounds
to [0, 1], that are above zero; that of a unit is the average over its records. The unit votes for the
power p of 1, 1/2, .., 1/16 for which t^p is nearest to 1/2, but for 1 from t = .28 on.

**Guarantee.** A unit is one vote, whatever its records are. Two powers' votes move apart by at most 2
where a unit is replaced, and by 1 where one comes or goes. They get Laplace noise of that scale over e,
and only which is the largest is used: pure e, as `dpfda.publication.zoom` proves. The machine has the
rest of the budget whatever the power is, and all is charged before the first noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpfda.bounds import IntegerBall
from dpfda.machines.solvers import Budget, Labelled, Solver
from dpfda.noise import KNormNoise
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, Numbers, doubles
from dpfda.numerics.errors import Private
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, split
from dpfda.publication import recomputed
from dpfda.publication.zoom import choice_noise, noisy_largest
from dpfda.records.features import FeatureMap, InputBox, embedded

# What asks for it, and the stage that is paid for.
SEARCHED, STAGE = "search", "power of inputs"
CANDIDATES = (1.0, 0.5, 0.25, 0.125, 0.0625)
# Typical inputs below which the next power is nearer: where p |log2 t| is as far above one as below; the
# first is lower, as even inputs are often a little below the middle.
BORDERS = (0.28, *(2.0 ** -(2.0 ** (step + 0.5)) for step in range(1, 4)))
# The choice has so much over n epsilon as its share of the budget, and no less or more than these.
SPENT, LEAST, MOST = 20, Fraction(2, 100), Fraction(25, 100)
# Rows whose features are formed at a time: a public number.
EMBEDDED = 2**12
# A solver that reads a record's features more often than this gets them stored.
MOST_VISITS = 8


@dataclass(frozen=True)
class PowerChoice:
    """How the power is chosen. Public.

    part: What it costs.
    neighbours: Which data sets are hard to tell apart.
    """

    part: PureDP
    neighbours: Neighbours

    @classmethod
    def of(cls, guarantee: Budget, signal: float, neighbours: Neighbours) -> tuple[PowerChoice, Budget]:
        """The choice, and what it leaves of the budget; signal: n epsilon."""
        share = min(max(Fraction(SPENT) / Fraction(signal), LEAST), MOST)
        part, rest = split(guarantee, share.limit_denominator(10_000))
        return cls(part, neighbours), rest

    @property
    def apart(self) -> int:
        """How far a unit moves the votes of two powers apart."""
        return self.neighbours.differences(1)

    @property
    def noise(self) -> KNormNoise:
        """On the votes, checked."""
        return choice_noise(len(CANDIDATES), self.apart, self.part)

    @property
    def achieved(self) -> Guarantee:
        """What that noise gives."""
        return recomputed(self.noise, "l1", self.apart, self.part)

    def chosen(self, votes: Integers) -> float:
        """The power, from private votes. The ledger has been charged."""
        return CANDIDATES[noisy_largest(votes.tolist(), self.noise.draw())]


@dataclass(frozen=True, eq=False, repr=False)
class Unfeatured(Private):
    """Private examples without features yet.

    inputs: Their public bounds.
    values: array (N, d) of native numbers. In the units of the columns.
    usable: array (N,).
    targets, codes, units: As of `Labelled`.
    """

    inputs: InputBox
    values: Cells
    usable: Flags
    targets: Floats
    codes: Integers
    units: int

    def scaled(self, part: slice | Integers) -> Floats:
        """Inputs of some records on the unit cube, those that cannot be used at its corner."""
        values, usable = doubles(self.values[part]), self.usable[part]
        if not usable.all():
            values[~usable] = self.inputs.lower
        return self.inputs.scaled(values)

    def labelled(self, features: FeatureMap, solver: Solver) -> Labelled:
        """With features as integers of the solver's ball: held where it reads them often."""
        formed = FeatureRows(self, features, solver.ball)
        rows: Numbers | FeatureRows = formed
        if solver.visits > MOST_VISITS:
            kind = np.int32 if solver.ball.radius < 2**31 else np.int64
            rows = np.empty(formed.shape, dtype=kind)
            for start in range(0, self.codes.size, EMBEDDED):
                rows[start : start + EMBEDDED] = formed[start : start + EMBEDDED]
        return Labelled(rows, self.targets, self.codes, self.units)

    def votes(self) -> Integers:
        """Number of units for each power. Private.

        Only comparisons and sums over a unit's own records: no bit of a vote depends on other units. A
        record of zeros, or that cannot be used, has one as its typical input.
        """
        typical = np.ones(self.codes.size)
        for start in range(0, self.codes.size, EMBEDDED):
            part = slice(start, start + EMBEDDED)
            scaled = self.scaled(part)
            seen = np.sort(np.where(scaled > 0, scaled, np.inf), axis=1)
            count = np.count_nonzero(scaled > 0, axis=1)
            lower = seen[np.arange(count.size), np.maximum(count - 1, 0) // 2]
            typical[part] = np.where((count > 0) & self.usable[part], lower, 1.0)
        means = np.bincount(self.codes, typical) / np.bincount(self.codes)
        voted = np.count_nonzero(means[:, None] < np.array(BORDERS), axis=1)
        return np.bincount(voted, minlength=len(CANDIDATES))


@dataclass(frozen=True, eq=False, repr=False)
class FeatureRows(Private):
    """Features as integers of a ball, made anew wherever some rows are asked for. Private."""

    examples: Unfeatured
    features: FeatureMap
    ball: IntegerBall

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of records and of features."""
        return self.examples.codes.size, self.features.components

    def __getitem__(self, part: slice | Integers) -> Integers:
        # An unusable record counts as one without features and with target 0: a public element.
        rows = embedded(self.features, self.ball, self.examples.scaled(part))
        rows[~self.examples.usable[part]] = 0
        return rows
