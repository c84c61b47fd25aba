"""The sums of disjoint groups as one exact sum, so that a comparison is added up as a mean is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import DataError
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import MeanPlan, Prepared
from dpfda.records.labels import Key, read_keys
from dpfda.releases.comparison import ReleasedComparison
from dpfda.summaries.arguments import Labels, Records
from dpfda.summaries.comparison_plan import ComparisonPlan, publish_comparison
from dpfda.summaries.estimator import read_ledger
from dpfda.summaries.pooled import PooledMean, PooledSum, Rows
from dpfda.summaries.settings import Settings
from dpfda.summaries.streams import finished, open_summation


@dataclass(frozen=True, eq=False)
class PooledComparison(PooledSum):
    """Means of disjoint groups as a sum: their sums one after another, and how many units each has.

    A record goes to the sum of its group by its own label, a unit by that of its first record; neither
    depends on anybody else.

    Parameters
    ----------
    one : PooledMean
        How the records of any one group are added up.
    plan : ComparisonPlan
        Of the groups in their order; where their sizes are public, for any.
    keys : tuple
        What the groups' public names are compared by.
    """

    one: PooledMean
    plan: ComparisonPlan
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, settings: Settings, plan: ComparisonPlan, keys: tuple[Key, ...]) -> PooledComparison:
        """With a check that what is summed does not depend on how many units there are.

        Raises
        ------
        ParameterError
            If the mechanism cannot give the guarantee, or chooses the basis by the number of units.
        """
        summation = open_summation(plan.one, lambda n: plan.of_sizes([n] * len(keys)).one)
        return cls(PooledMean(settings, summation), plan, keys)

    @property
    def invalid(self) -> str:  # type: ignore[override]
        return self.one.invalid

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return len(self.keys) * (self.one.numbers + 1)

    @property
    def largest(self) -> int:  # type: ignore[override]
        return self.one.largest

    @property
    def thresholds(self) -> bool:
        return self.one.thresholds

    @property
    def stated_basis(self) -> Any:
        return self.one.stated_basis

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {**self.one.rule, "groups": [str(key) for key in self.keys]}

    def describe(self) -> str:
        return f"{self.one.describe()}; of each of {len(self.keys)} groups"

    def read(self, X: Records, y: Labels = None) -> Rows:
        """As of a mean, and the number of each record's group: one past the last where it is none."""
        if y is None:
            raise DataError("y must hold the group of each record; found None.")
        rows = self.one.read(X)
        numbers = {key: number for number, key in enumerate(self.keys)}
        found = read_keys(y, "y", self.invalid)
        if len(found) != len(rows[0]):
            raise DataError(f"y must hold one label a record ({len(rows[0])}); found {len(found)}.")
        return *rows, np.array([numbers.get(key, len(numbers)) for key in found], dtype=np.int64)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        *records, places = rows
        places = self._settled(places, codes)
        sums = []
        for number in range(len(self.keys)):
            own = np.flatnonzero(places == number)
            units = None if codes is None else np.unique(codes[own], return_inverse=True)[1]
            chosen = tuple(each[own] for each in records)
            sums.append(self.one.add_up(chosen, units) if own.size else self.one.summation.empty())
        return IntegerSum.side_by_side(sums)

    def _settled(self, places: Integers, codes: Integers | None) -> Integers:
        """The group of each record's unit.

        Raises
        ------
        DataError
            If a unit is in two groups, or in none, and nothing is to be repaired.
        """
        if codes is not None:
            settled = places[np.unique(codes, return_index=True)[1]][codes]
            if self.invalid == "refuse" and not np.array_equal(settled, places):
                raise DataError(
                    "Every unit must be in one group; found a unit in two. Then its data would be "
                    "released twice and cost twice. Keep one group a unit, or use invalid='repair' to "
                    "count it for the group of its first record."
                )
            places = settled
        none = places == len(self.keys)
        replaced = self.plan.neighbours is Neighbours.REPLACE_ONE
        if (replaced or self.invalid == "refuse") and none.any():
            where = f" in row {int(np.argmax(none))}" if codes is None else ""
            raise DataError(
                f"Every record must be in one of the groups of `levels`; found another label{where}. "
                "Name all groups, or leave records out beforehand."
            )
        return places

    def prepared(self, total: IntegerSum) -> list[Prepared[MeanPlan, IntegerSum]]:
        """The sum of each group with its plan, before anything is charged. Private.

        Raises
        ------
        DataError
            If a group has fewer than two units, where their number is public.
        """
        sums, names = total.parted(len(self.keys)), list(self.plan.parts)
        summation = self.one.summation
        if self.plan.neighbours is Neighbours.ADD_REMOVE:
            plans = self.plan.parts.values()
            return [summation.prepared(*pair) for pair in zip(sums, plans, strict=True)]
        sizes = [each.count_with_noise(0, 1) for each in sums]
        if 0 in sizes:
            empty = names[sizes.index(0)]
            raise DataError(f"The group {empty!r} must have at least two units; found none.")
        made = self.plan.of_sizes(sizes).parts
        return [
            finished(summation, each, lambda _, plan=made[name]: plan)  # type: ignore[misc]
            for name, each in zip(names, sums, strict=True)
        ]

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedComparison:
        parts = dict(zip(self.plan.parts, self.prepared(total), strict=True))
        return publish_comparison(parts, self.plan.mechanism, read_ledger(ledger))
