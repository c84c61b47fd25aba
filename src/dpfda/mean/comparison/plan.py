"""The plan of group means under one budget, their sums as one exact sum, and what is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.ordinary import Outlook, widest
from dpfda.bounds import Bound
from dpfda.mean.comparison.borrowing import borrowing
from dpfda.mean.comparison.release import ReleasedComparison
from dpfda.mean.pooled import PooledMean
from dpfda.mean.streams import finished, open_summation
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import adapted, choose
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.speed import one_thread, remembered
from dpfda.privacy.certificates import said_by
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.privacy.ledger.named import NAMED, Paying, read_ledger
from dpfda.publication import MeanPlan, PlanOfMeans, Prepared, charge, publish_parallel
from dpfda.publication.distances import Telling
from dpfda.publication.means import EXAMPLES, QUICK
from dpfda.publication.shares import COUNTED, SharedLaw, Sharing, around, designed
from dpfda.records.labels import Key, read_keys
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.choices import check_groups
from dpfda.spine.memberships import IN_TWO, by_value, crossed, divided, none_of
from dpfda.spine.pooled import PooledSum, Rows, Size
from dpfda.spine.settings import Settings

# Cells are for as many units as the smallest group has, times this power of the number of groups.
BORROWED = 0.4
# Errors of groups that borrow are those of one by itself over this power of how many others there are,
# between those of groups that are alike and unlike.
GAIN = 0.2
# Units that noise is tuned for where no group's size is public.
DESIGN_SIZE = 100


def design_size(stated: int | None, sizes: Sequence[int]) -> int:
    """What noise is tuned for, the same for all groups: as asked, or the smallest public size."""
    return max(1, min(sizes, default=DESIGN_SIZE)) if stated is None else stated


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonPlan(PlanOfMeans):
    """Plan of the means of disjoint groups, of which each has the whole budget.

    Parameters
    ----------
    parts : mapping
        Plan of each group's mean, by its name.
    mechanism : str
        As the estimator has it.
    design_size : int, optional
        Number of units that noise is tuned for, by default the smallest public size.
    """

    parts: Mapping[str, MeanPlan]
    mechanism: str
    design_size: int | None = None

    @property
    def measuring(self) -> ComparisonPlan:
        """The same, where it pays with what tells how far lines are: together, or by their own boxes.

        Not where the number of units of one is private, nor under a named mechanism.
        """
        sizes = tuple(part.size or 0 for part in self.parts.values())
        if not all(sizes) or getattr(self.one.mechanism, "mechanism", None) != "auto":
            return self
        telling = Telling(asked=True, among=sizes)
        parts = {name: replace(part, telling=telling) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        return {**self.one.about, "summary": "mean curves of groups"}

    @property
    def tuning(self) -> Mapping[str, object]:
        return {"name": self.mechanism}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"groups": list(self.parts), "composition": "parallel"}

    def costs(self) -> dict[str, Cost]:
        return self.one.costs()

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> ComparisonPlan:
        """The plan for another guarantee, and n units in all, in the proportions of this one."""
        return self.of_sizes(divided(n, [part.n or 1 for part in self.parts.values()]), guarantee)

    def of_sizes(self, sizes: Sequence[int], guarantee: Guarantee | None = None) -> ComparisonPlan:
        """The plan for groups of these sizes."""
        by_name = dict(zip(self.parts, sizes, strict=True))
        public = [size for name, size in by_name.items() if self.parts[name].size is not None]
        size = design_size(self.design_size, public)
        parts = {
            name: replace(part, mechanism=replace(cast("SharedDesign", part.mechanism), size=size)).at(
                by_name[name], guarantee=guarantee
            )
            for name, part in self.parts.items()
        }
        plan = replace(self, parts=parts)
        return plan.measuring if self.one.telling.asked else plan

    @property
    def n(self) -> int | None:
        """In all groups together."""
        return sum(part.n or 0 for part in self.parts.values()) or None

    def outlook(self, quick: bool = False) -> Outlook | None:
        """Of a group that borrows, and for most that of one by itself."""
        alone = widest(part.outlook(quick) for part in self._sizes())
        borrows = (
            getattr(self.one.mechanism, "mechanism", None) == "auto" and self.one.curves is not None
        )
        if alone is None or not borrows:
            return alone
        return alone._replace(typical=alone.typical * max(1, len(self.parts) - 1) ** -GAIN)

    def _sizes(self) -> list[MeanPlan]:
        """One plan of each size of group."""
        return [*{part.n: part for part in self.parts.values()}.values()]

    @property
    def error_words(self) -> str:
        words = self.one.error_words
        return f"of a smallest group's mean (of a difference up to 1.4 times as much); {words}"

    def _band_said(self, level: float) -> str:
        return f"{super()._band_said(level)} of a group (for nine of ten: of the widest of all)"

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        """Of a group's band, and for most that of the widest; they borrow from others unlike them."""
        return None if self.n is None else widest(self._width(p, level, quick) for p in self._sizes())

    @remembered(64)
    @one_thread(scipy=False)
    def _width(self, part: MeanPlan, level: float, quick: bool) -> Outlook:
        releases = cast("list[ReleasedFunction]", part.examples(QUICK if quick else EXAMPLES))
        named = {str(place): release for place, release in enumerate(releases)}
        names, groups = [*named], len(self.parts)
        for start in range(0, len(names), groups):
            taken = (names * 2)[start : start + min(groups, len(names))]
            named |= borrowing({name: releases[int(name)] for name in taken})
        # A distance that all groups share makes bands of groups of one size equally wide.
        alike = 1 if part.distance_share else sum(p.n == part.n for p in self.parts.values())
        own, most = (part.width_of([*named.values()], level, groups) for groups in (1, alike))
        return own._replace(most=most.most)

    noise_words = said_by("one.noise_words")


def publish_comparison(
    prepared: Mapping[str, Prepared[MeanPlan, IntegerSum]],
    mechanism: str,
    paying: Paying = NAMED,
    factors: Mapping[str, Sequence[object]] | None = None,
) -> ReleasedComparison:
    """Charge once, draw noise for every group, and release; parameters as in `publish_parallel`.

    factors: Labels of several columns by the names of these, where groups are their combinations.
    """
    plan = ComparisonPlan({name: part.plan for name, part in prepared.items()}, mechanism)
    pairs, places = [(part.total, part.plan) for part in prepared.values()], crossed(factors or {})

    def joined(lines: list[ReleasedFunction]) -> list[ReleasedFunction]:
        return [*borrowing(dict(zip(prepared, lines, strict=True)), places).values()]

    released = publish_parallel(pairs, plan.entry(), paying, joined)
    named = {name: tuple(map(str, levels)) for name, levels in factors.items()} if factors else None
    return ReleasedComparison(dict(zip(prepared, released, strict=True)), named)


@dataclass(frozen=True)
class SharedDesign:
    """The design of a mechanism for a fixed number of units.

    Means that are shrunk by different factors differ even where the data do not. Groups that are
    compared are therefore all released with the design for one public number of units.

    **Guarantee.** That of the mechanism: its noise on the sum depends on bound, budget and neighbours,
    and the number of units decides tuning alone.

    Parameters
    ----------
    mechanism : "auto", name or Mechanism
    size : int
        Public number of units that the design is made for.
    groups : int
        Number of groups: together their sums over cells show as much as those of its root times as many
        units, and where lines borrow they want cells for that.
    """

    mechanism: object
    size: int
    groups: int = 1
    name: ClassVar[str] = "shared"
    takes_bodies: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """What the mechanism chooses for `size` units."""
        borrow = problem.curves is not None and self.mechanism == "auto"
        more = self.groups**BORROWED if borrow else 1
        return choose(replace(problem, size=round(self.size * more)), self.mechanism)

    def adapt(
        self, basis: Basis, bound: Bound, size: int | None, guarantee: Guarantee, neighbours: Neighbours
    ) -> tuple[Basis, Bound]:
        """What the mechanism makes of basis and bound for `size` units."""
        return adapted(self.mechanism, basis, bound, self.size, guarantee, neighbours)


@dataclass(frozen=True, eq=False)
class PooledComparison(PooledSum):
    """Means of disjoint groups as a sum: their sums one after another, and how many units each has.

    A record goes to the sum of its group by its own label, if that is the label of its unit's first
    record too; neither depends on anybody else.

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

    settings = said_by("one.settings")
    largest = said_by("one.largest")
    thresholds = said_by("one.thresholds")
    stated_basis = said_by("one.stated_basis")

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return len(self.keys) * (self.one.numbers + 1)

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {**self.one.rule, "groups": [str(key) for key in self.keys]}

    def describe(self) -> str:
        return f"{self.one.describe()}; of each of {len(self.keys)} groups"

    def read(self, X: Records, y: Beside = None) -> Rows:
        """As of a mean, and the number of each record's group: one past the last where it is none."""
        if y is None:
            raise DataError("y must hold the group of each record; found None.")
        rows = self.one.read(X)
        numbers = {key: number for number, key in enumerate(self.keys)}
        labels = [by_value(key) for key in read_keys(y, "y", self.invalid)]
        if len(labels) != len(rows[0]):
            raise DataError(f"y must hold one label a record ({len(rows[0])}); found {len(labels)}.")
        return *rows, np.array([numbers.get(key, len(numbers)) for key in labels], dtype=np.int64)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        *records, places = rows
        places = self._settled(places, codes)
        sums = []
        for number in range(len(self.keys)):
            own = np.flatnonzero(places == number)
            units = None if codes is None else np.unique(codes[own], return_inverse=True)[1]
            chosen = tuple(column[own] for column in records)
            sums.append(self.one.add_up(chosen, units) if own.size else self.one.summation.empty())
        return IntegerSum.side_by_side(sums)

    def _settled(self, places: Integers, codes: Integers | None) -> Integers:
        """The group of each record: one past the last without one, two where its unit is in another.

        Raises
        ------
        DataError
            If a unit is in two groups, or in none, and nothing is to be repaired.
        """
        if codes is not None:
            other = places[np.unique(codes, return_index=True)[1]][codes] != places
            if self.invalid == "refuse" and other.any():
                raise DataError(f"Every unit must be in one group; found a unit in two. {IN_TWO}")
            places = np.where(other, len(self.keys) + 1, places)
        none = places == len(self.keys)
        replaced = self.plan.neighbours is Neighbours.REPLACE_ONE
        if (replaced or self.invalid == "refuse") and none.any():
            row = int(np.argmax(none)) if codes is None else None
            raise none_of("y", "levels", list(self.plan.parts), row, "y")
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
        by_name = self.plan.of_sizes(self._sizes(sums)).parts
        return [
            finished(summation, total_of_group, lambda _, plan=by_name[name]: plan)  # type: ignore[misc]
            for name, total_of_group in zip(names, sums, strict=True)
        ]

    @property
    def sharing(self) -> Sharing:
        if self.plan.neighbours is Neighbours.ADD_REMOVE:
            words = "be drawn by the coordinator where the numbers of units are private"
            raise ParameterError("noise", words, "'shared'")
        plan = self._lines_alone
        return replace(Sharing.of_mean(plan.one), plan=plan, groups=len(self.keys))

    @property
    def _lines_alone(self) -> ComparisonPlan:
        """What can get noise in shares, which is drawn before anyone has the lines."""
        alone = {name: part.line_alone for name, part in self.plan.parts.items()}
        return replace(self.plan, parts=alone)

    def measured(self, total: IntegerSum) -> IntegerSum:
        plan, sums = self._lines_alone.one, []
        for part in total.parted(len(self.keys)):
            measured = self.one.summation.finish(part, plan)
            # Of all coefficients those that get noise, which are the first.
            leading = measured.with_noise([0] * designed(plan).components)
            sums.append(IntegerSum(len(leading)).add_totals(leading, part.count_with_noise(0, 1)))
        return IntegerSum.side_by_side(sums)

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object
    ) -> ReleasedComparison:
        sums, certificate = total.parted(len(self.keys)), self.sharing.certified()
        sizes: list[int | Fraction] = [*self._sizes(sums)]
        if isinstance(size, Fraction):
            sizes = [Fraction(size, COUNTED) for size in sizes]
        # One design for all, made for the number of units that was agreed on.
        shared = self._lines_alone
        design = replace(designed(shared.one), noise=law)
        # Of units that count for less there may be fewer than two.
        counts = [max(2, math.floor(own)) if isinstance(own, Fraction) else own for own in sizes]
        plans = shared.of_sizes(counts).parts.values()
        framed = [around(plan, design, own, certificate) for plan, own in zip(plans, sizes, strict=True)]
        charge(read_ledger(ledger), certificate, shared.entry())
        released = [
            cast("ReleasedFunction", frame.release(own.with_noise([0] * law.components)))
            for frame, own in zip(framed, sums, strict=True)
        ]
        return ReleasedComparison(dict(zip(self.plan.parts, released, strict=True)))

    def _sizes(self, sums: Sequence[IntegerSum]) -> list[int]:
        """How many units each group has, where that is public.

        Raises
        ------
        DataError
            If one has fewer than two.
        """
        sizes = [part.count_with_noise(0, 1) for part in sums]
        check_groups(dict(zip(self.plan.parts, sizes, strict=True)))
        return sizes

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedComparison:
        parts = dict(zip(self.plan.parts, self.prepared(total), strict=True))
        return publish_comparison(parts, self.plan.mechanism, read_ledger(ledger))
