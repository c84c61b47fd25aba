"""The largest distance of a released line from the mean: its noise and budget, and how it is measured.

The line is public by then. For integer sums S_t on the grid, to be divided by a public N, of records
between bounds that are 2 h_t apart at t, and 2 h where they are farthest apart, what gets noise is

    max_t floor(h |S_t - N l_t| / h_t),        l_t the line in the same integers.

Whatever the line l, it is a function of the records. One unit that is replaced moves S_t by 2 h_t at
most, one that is added or removed by h_t. So each term moves by 2 h, or h, and by one for the rounding
down, and the largest of them by no more. Laplace noise of that width over a share of epsilon keeps to
this share for every line that may have come out; both together compose to the whole.

Where the number of units N is private, or records have weights, a unit moves N as well, and S_t - N l_t
by x_t - l_t: see `farthest` and `largest_of_counted`.

Where the line is made of sums with noise of a box, the number is one side more of the same box, or
several are: given the records what is drawn is moved by a map that keeps volumes, and at every output
both of two neighbours have the same line there, so that what was drawn differs by a vector in the box.
Line and numbers cost no more than the box: docs/appendix/default_mean.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from operator import mul
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np

from dpfda.bounds import OnGrid
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import BoxPartNoise, NoiseLaw, body_noise, knorm_noise, pure_budget
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import known
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, largest, without_delta
from dpfda.publication.charging import recomputed
from dpfda.releases.distance import Distance, GroupDistance, moved, moved_together, told_by
from dpfda.releases.function import ReleasedFunction

Line = TypeVar("Line", bound=ReleasedFunction)
Draw: TypeAlias = Callable[[NoiseLaw], Sequence[int]]
Groups: TypeAlias = tuple[list[list[int]], list[int], tuple[int, ...]]
# The stage of a release that spends a share of the budget on the largest distance of its line.
DISTANCE = "largest distance"


@dataclass(frozen=True)
class Telling:
    """What may tell how far a line is from the mean at most; by default nothing does. Public.

    asked: Whether sides of the line's own box, or a share of the budget, may, where that pays.
    among: Where it is measured together with those of other groups, the numbers to divide by of all.
    lines: How many lines may have one draw of noise together, each with a share of the budget.
    beside: What numbers that tell it see of noise that one draw puts on several lines.
    """

    asked: bool = False
    among: tuple[int, ...] = ()
    lines: int = 1
    beside: BoxPartNoise | None = None

    @property
    def alone(self) -> Telling:
        """For one line, or one channel, without regard to other groups."""
        return Telling(self.asked, lines=self.lines)


NOTHING = Telling()


@dataclass(frozen=True)
class DistanceNoise:
    """The noise on the largest distance of a line from the mean.

    half: Half of the distance between the bounds where it is largest, in units of sums on the grid.
    law: Laplace noise, that of a box on two numbers of groups, or of sides of the line's own box.
    budget: What it keeps to: a share of the whole, or what the line's own box has.
    in_box: Whether it is of sides of that box.
    """

    half: int
    neighbours: Neighbours
    law: NoiseLaw
    budget: Guarantee
    in_box: bool = False

    @classmethod
    def apart(cls, half: int, neighbours: Neighbours, budget: PureDP, groups: bool) -> Self:
        """With a share of the budget; of groups two numbers tell it."""
        width = moved(half, neighbours)
        if groups:
            return cls(half, neighbours, body_noise("box", (width, width), budget), budget)
        return cls(half, neighbours, knorm_noise((1,), (1.0,), "l1", width, budget), budget)

    @classmethod
    def of_box(cls, half: int, neighbours: Neighbours, budget: Guarantee, line: BoxPartNoise) -> Self:
        """By those sides of a box that a line's part of its noise leaves; no delta is needed.

        neighbours: Those that replace one, too, where the number of units is private.
        """
        scale = math.ceil(moved(half, neighbours) / pure_budget(without_delta(budget)))
        law = BoxPartNoise((scale,) * (line.whole - line.components), line.whole)
        return cls(half, neighbours, law, budget, in_box=True)

    def costs(self) -> dict[str, Cost]:
        """What it costs beside the line: nothing by sides of its box."""
        if self.in_box:
            return {}
        if isinstance(self.budget, PureDP) and self.law.components == 1:
            return {DISTANCE: Cost(self.budget, LaplaceLoss(self.budget.epsilon))}
        return {DISTANCE: Cost(self.budget)}

    def achieved(self) -> Guarantee:
        """What its scales give. Raises DpfdaError if that is more than its budget."""
        if self.in_box:
            widths = (moved(self.half, self.neighbours),) * self.law.components
            return recomputed(self.law, "box", widths, self.budget)
        return recomputed(
            self.law, *moved_together(self.half, self.neighbours, self.law.components), self.budget
        )

    def with_line(self, achieved: Guarantee) -> Guarantee:
        """What both give together; sides of one box give what the worst of them does."""
        return (largest if self.in_box else added)([self.achieved(), achieved])


class Measurable(Protocol):
    """What of a line's plan its distance is measured by."""

    @property
    def on_grid(self) -> OnGrid | None: ...
    @property
    def size(self) -> int | None: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def largest_half(self) -> int: ...
    @property
    def telling(self) -> Telling: ...
    @property
    def distance(self) -> DistanceNoise | None: ...
    @property
    def distance_share(self) -> Fraction | None: ...


def with_distance(
    release: Line, total: IntegerSum, plan: Measurable, law: NoiseLaw, noise: Sequence[int]
) -> Line:
    """A released line with its largest distance from the mean; the ledger has been charged for it.

    total: The exact sums on the grid. Private.
    law, noise: A draw on as many numbers as are to tell it.
    """
    line, halves = line_in_integers(release, plan)
    if plan.size is None:
        most = farthest(line, halves, plan.neighbours)
        measure = partial(largest_of_counted, public=(line, halves, most))
        exact = IntegerSum.one_number([total], measure, counts=COUNT_SCALE)
    else:
        most = None
        exact = IntegerSum.one_number(
            [total], partial(largest_distance, public=(line, halves, plan.size))
        )
    noisy = IntegerSum.side_by_side([exact] * len(noise)).with_noise(noise)
    return telling(release, told_by(noisy, plan.largest_half, law, most))


def telling(release: Line, distance: Distance) -> Line:
    """The line with its distance: what was estimated of the same noisy numbers stays."""
    line, estimated = replace(release, distance=distance), ("coefficients", "_widths")
    vars(line).update({name: vars(release)[name] for name in estimated if name in vars(release)})
    return line


def with_distances(
    releases: Sequence[Line], parts: Sequence[tuple[IntegerSum, Measurable]], draw: Draw
) -> list[Line]:
    """Released lines of disjoint groups with what tells how far each, and each difference, may be.

    See `dpfda.releases.distance.GroupDistance`. Sums and plans, one of each a group.

    draw: As of `dpfda.publication.publish`.
    """
    totals, plans = zip(*parts, strict=True)
    plan, sizes = plans[0], tuple(part.size or 0 for part in plans)
    pairs = zip(releases, plans, strict=True)
    lines, halves = zip(*(line_in_integers(*pair) for pair in pairs), strict=True)
    public: Groups = [*lines], halves[0], sizes
    both = partial(of_all, public=public), partial(of_pairs, public=public)
    exact = IntegerSum.side_by_side([IntegerSum.one_number(totals, measure) for measure in both])
    distance = known(plan.distance)
    noisy, apart = exact.with_noise(draw(distance.law))
    return [
        telling(release, GroupDistance(noisy, distance.half, distance.law, apart, sizes, place))
        for place, release in enumerate(releases)
    ]


def told_of_groups(apart: Floats, sizes: Sequence[int]) -> tuple[float, float]:
    """Q and P of lines that lie so far (G, m) from their means, in shares: `GroupDistance`."""
    counted = np.array(sizes, dtype=float)
    both = np.minimum.outer(counted, counted)[:, :, None] * np.abs(apart[:, None] - apart[None])
    return float(np.max(np.abs(counted @ apart))), float(np.max(both))


def measured_alike(plans: Sequence[Measurable]) -> bool:
    """Whether one measurement fits all groups, if there is one: on one grid, between the same bounds."""
    if plans[0].distance_share is None:
        return True
    rules = [known(plan.on_grid).rule for plan in plans]
    sizes = tuple(plan.size for plan in plans)
    together = {plan.telling.among for plan in plans} == {sizes}
    return together and all(rules[0].same(rule) for rule in rules)


def line_in_integers(release: ReleasedFunction, plan: Measurable) -> tuple[list[int], list[int]]:
    """A line (m,) in integers, and half distances of the bounds."""
    rule = known(plan.on_grid).rule
    line = np.asarray(release(release.grid_points)) - rule.center
    # Between the bounds, so that it is a number of their size whatever was measured.
    line = np.clip(np.nan_to_num(np.rint(line * rule.scale)), -rule.half_widths, rule.half_widths)
    return list(map(int, line)), list(map(int, rule.half_widths))


def largest_distance(totals: list[list[int]], public: tuple[list[int], list[int], int]) -> int:
    """Of a sum from so many times a line, where bounds are farthest apart. Private.

    totals: One list of sums (m,).
    public: Line (m,), half distances of bounds (m,), and the number to divide by.
    """
    (sums,), (line, halves, size) = totals, public
    widest, apart = max(halves), zip(sums, line, halves, strict=True)
    return max(widest * abs(total - size * at) // half for total, at, half in apart if half)


def farthest(line: list[int], halves: list[int], neighbours: Neighbours) -> int:
    """How far one unit may move a sum less its number of units times a line, where bounds are widest.

    A unit of weight v, from 0 to 1, adds v (x_t - l_t), between -(h_t + l_t) and h_t - l_t. One that is
    replaced moves it by 2 h_t at most, one that is added or removed by h_t + |l_t|.

    line: (m,), in integers, with half distances (m,) of the bounds. Public.
    """
    widest = max(halves)
    if neighbours is Neighbours.REPLACE_ONE:
        return 2 * widest
    pairs = zip(line, halves, strict=True)
    return widest + max(-(-widest * abs(at) // half) for at, half in pairs if half)


def largest_of_counted(totals: list[list[int]], public: tuple[list[int], list[int], int]) -> int:
    """As `largest_distance`, of a private number of units, in such parts that a unit moves it by 2 h.

    One unit moves each term by 2 h at most before it is rounded down, and so after it.

    totals: One list: sums (m,), and behind them the number of units times `COUNT_SCALE`.
    public: Line (m,), half distances of bounds (m,), and what `farthest` says.
    """
    ((*sums, count),), (line, halves, most) = totals, public
    widest, apart = max(halves), zip(sums, line, halves, strict=True)
    factor, parts = 2 * widest * widest, COUNT_SCALE * most
    return max(
        factor * abs(COUNT_SCALE * total - count * at) // (parts * half)
        for total, at, half in apart
        if half
    )


def of_all(totals: list[list[int]], public: Groups) -> int:
    """`largest_distance` of all groups' sums from so many times their lines together. Private.

    public: Lines of all groups, half distances of bounds, and the numbers to divide by.
    """
    lines, halves, sizes = public
    weighed = [sum(map(mul, sizes, column)) for column in zip(*lines, strict=True)]
    return largest_distance([list(map(sum, zip(*totals, strict=True)))], (weighed, halves, 1))


def of_pairs(totals: list[list[int]], public: Groups) -> int:
    """The largest distance of a difference of two groups' lines from that of their means. Private.

    As if each of the two had as many units as the smaller one; a unit moves it by no more than a sum.
    """
    (lines, halves, sizes), widest, largest = public, max(public[1]), 0
    apart = [
        [total - size * at for total, at in zip(own, line, strict=True)]
        for own, line, size in zip(totals, lines, sizes, strict=True)
    ]
    for (one, n), (other, m) in combinations(zip(apart, sizes, strict=True), 2):
        gaps = zip(one, other, halves, strict=True)
        # (a / n - b / m) min(n, m), in one fraction.
        here = (widest * abs(a * m - b * n) // (max(n, m) * half) for a, b, half in gaps if half)
        largest = max(largest, *here)
    return largest
