"""Means whose records are read again: between bounds that are looked for first; and which way is taken.

Six mechanisms run one after the other: an interval with three fifths of the extremes, by two noisy
maxima (`dpfda.publication.zoom`); a histogram of the extremes around it, from which alone the bounds are
computed; a rough line between these; a histogram of how far units reach below and above that line; and
the mean of records held between the bounds and as near to the line as follows from the counts, with all
of delta. From 20 cells on its box has sides that tell how far it is from the mean between the bounds.
Each keeps its part whatever those before it published, and the whole is charged once, before the first
noise: docs/appendix/search.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Search, ValueBounds
from dpfda.mean.found_release import BETWEEN, SEARCH, Extremes, FoundMean, looked_for
from dpfda.mean.settings import TwoLooks
from dpfda.mean.staged_release import FIRST
from dpfda.mean.two_looks import LooksPlan, StagedPlan, check_staged, published, sides_of
from dpfda.mechanisms.design.radii import FINER, found_bounds, found_reaches, line_edges, search_edges
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import EXPONENT, share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, PureDP, added, split
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import MeanPlan, charge, check, publish_curve
from dpfda.publication.distances import with_distance
from dpfda.publication.zoom import CANDIDATES, Zoom, far_enough, noisy_largest, zoom_for
from dpfda.records.points import cell_weights
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.sums import Readable

# n epsilon from which on bounds are looked for: below it a histogram says too little.
LEAST = 1000.0
FEW = f"where the number of units times epsilon is below {LEAST:,.0f}"
# Shares of the histograms at n epsilon of 20,000, which fall with a power of it, between two others; and
# of the line.
COUNTED, APART, FALLING, FEWEST, MOST = 0.045, 0.035, 0.4, 0.025, 0.15
ROUGH = Fraction(3, 100)
# The interval has so much of the budget at least.
ZOOMED = Fraction(1, 100)
# From the first on cells of both histograms are finer, from the second on those near the interval once
# more: noise on them then hides less than coarse ones lose.
PLAINLY, CLEARLY = 10_000.0, 28_000.0


@dataclass(frozen=True, eq=False, repr=False)
class SearchPlan(StagedPlan):
    """Plan of a mean between bounds that are looked for.

    whole: Of the mean between the ends of the range, with the whole budget.
    strategy: As it was given.
    """

    whole: MeanPlan
    strategy: Search

    @classmethod
    def of(cls, plan: MeanPlan, strategy: Search) -> SearchPlan:
        """The plan that looks for bounds. Raises ParameterError if they cannot be looked for."""
        check_staged(plan, strategy)
        if plan.shape.centers is not None:
            raise strategy.refusal("a mean with public curves (prior)")
        if not far_enough((strategy.low, strategy.high)):
            words = "be farther apart than 2^-24 of the larger end"
            raise ParameterError("bounds", words, repr(strategy), "Subtract a public number from all.")
        return cls(plan, strategy)

    @cached_property
    def _zoomed(self) -> tuple[Zoom, Guarantee]:
        ends = self.strategy.low, self.strategy.high
        return zoom_for(ends, self.size, self.whole.guarantee, self.whole.neighbours, ZOOMED)

    @property
    def zoom(self) -> Zoom:
        """The choice of an interval."""
        return self._zoomed[0]

    @cached_property
    def shares(self) -> tuple[PureDP, PureDP, PureDP, Guarantee]:
        """Of the first histogram, the rough line, the second histogram, and the mean."""
        counting, rest = split(self._zoomed[1], self._share(COUNTED))
        rough, rest = split(rest, ROUGH)
        return counting, rough, *split(rest, self._share(APART))

    def _share(self, usual: float) -> Fraction:
        share = usual * (20_000 / self.strength(self.whole.guarantee)) ** FALLING
        return Fraction(min(max(share, FEWEST), MOST)).limit_denominator(1000)

    def counting(self, cells: int, part: PureDP) -> NoiseLaw:
        """Law of the noise on a histogram with a part of the budget."""
        noise = share_noise(cells, part, self.whole.neighbours, "laplace")
        noise.achieved()
        return noise.law

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": looked_for(self.strategy.low, self.strategy.high)}

    @property
    def tuning(self) -> Mapping[str, object]:
        ends = {"low": self.strategy.low, "high": self.strategy.high}
        return {"name": "search for bounds", "searched": ends}

    def entry(self) -> dict[str, object]:
        return super().entry() | {"summary": "mean curve between bounds looked for"}

    def costs(self) -> dict[str, Cost]:
        """The costs of all stages; the noise of the last one follows from what comes before."""
        counting, rough, apart, last = self.shares
        law = self.with_sides(self._widest, always=False).public_design
        counts = [Cost(part, LaplaceLoss(part.epsilon)) for part in (counting, apart)]
        parts = [*(Cost(part) for part in self.zoom.parts), counts[0], Cost(rough), counts[1]]
        stages = dict(zip(SEARCH, parts, strict=True))
        return stages | {BETWEEN: Cost.awaited(last, [None if law is None else law.noise.loss(last)])}

    def check(self) -> None:
        """Design what is known before anything is drawn, so that it is refused before the charge."""
        if self._few:
            strength = f"{self.strength(self.whole.guarantee):.3g}"
            raise ParameterError("bounds", f"be stated {FEW}", strength, "Give $bounds.")
        self.zoom.check()
        for part in (self.shares[0], self.shares[2]):
            self.counting(1, part)
        low, high = self.strategy.low, self.strategy.high
        step = (high - low) * 2.0**-17
        ones = np.ones(flat_grid(self.whole.basis).size)
        for a, b in ((low, high), (low, low + step), (high - step, high)):
            wide = self.held(a, b, self.shares[1])
            check(wide)
            for line in (a * ones, b * ones):
                between = self.closest(line, (a, b), ((b - a) / 2048, (b - a) / 2048))
                check(between)
                if (sides := sides_of(wide, between)) is not None:
                    sides.achieved()

    def around(
        self, line: Floats, ends: tuple[float, float], reaches: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """Curves between which records are held: so far below and above a public line, within bounds.

        The bounds themselves where floats are too few to tell such curves apart.
        """
        (low, high), (below, above) = ends, reaches
        lower, upper = np.maximum(low, line - below), np.minimum(high, line + above)
        if np.all(upper - lower >= min(below, above) / 2):
            return lower, upper
        return np.full(line.size, low), np.full(line.size, high)

    def closest(self, line: Floats, ends: tuple[float, float], reaches: tuple[float, float]) -> MeanPlan:
        """The plan of the mean around a public line, whose box may tell how far it is from the mean."""
        return self.with_sides(self.held(*self.around(line, ends, reaches)), always=False)

    def held(self, low: float | Floats, high: float | Floats, part: Guarantee | None = None) -> MeanPlan:
        """The plan of the mean between public bounds, by default with what the search leaves."""
        return self.whole.but(bound=ValueBounds(low, high), guarantee=part or self.shares[-1])

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> SearchPlan:
        return SearchPlan.of(self.whole.remade(guarantee, n), self.strategy)

    @property
    def _few(self) -> bool:
        return self.strength(self.whole.guarantee) < LEAST

    @property
    def expected_of(self) -> MeanPlan | None:
        return None if self._few else self._widest

    @cached_property
    def _widest(self) -> MeanPlan:
        return self.held(self.strategy.low, self.strategy.high)

    @property
    def error_words(self) -> str:
        if self._few:
            return f"bounds must be stated {FEW}"
        words = self._widest.error_words
        return f"{words}, where curves fill the range; elsewhere in proportion to the bounds found"

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {self._widest.noise_words}"

    def found(self, values: Extremes) -> tuple[float, float]:
        """The bounds, from a noisy histogram: post-processing."""
        return found_bounds(
            np.array(values.edges), values.shares(self.size), values.scale(self.size),
            (known(self.whole.curves).lower.size, self.strength(self.shares[-1])), *values.interval,
        )  # fmt: skip

    def publish(self, records: Readable, paying: Paying = NAMED) -> ReleasedFunction:
        """Charge for all stages, and release them one after the other."""
        certificate = self.certified()
        self.check()
        # What is wrong with the records is found before the charge; and the whole budget is charged
        # before the first noise.
        fine = extreme_shares(self, records, self.zoom.fine)
        charge(paying, certificate, self.entry())
        values = searched(self, records, fine)
        ends = self.found(values)
        wide = self.held(*ends, self.shares[1])
        total = records.on_grid(wide)
        first = publish_curve(records.of_grid(total, wide), wide, certificate.part(FIRST))
        line = np.asarray(first(first.grid_points))
        apart = reached(self, records, line, ends)
        between = self.closest(line, ends, apart.interval)
        design, sides = known(between.public_design), sides_of(wide, between)
        look, noise = published(records.total(between), sides, between, certificate.part(BETWEEN))
        last = look.certificate.achieved
        tuning = {**look.certificate.mechanism, **self.tuning, "mean": design.mechanism}
        spent = [
            *self.zoom.parts,
            self.shares[0],
            first.certificate.achieved,
            self.shares[2],
            last if sides is None else sides.with_line(last),
        ]
        fulfilled = certificate.fulfilled(
            added(spent),
            tuning,
            {**self.held(*ends).bounded, **self.bounded},
            drawn={BETWEEN: between.cost(design, self.size)},
        )
        stated = known(wide.curves)
        prior = replace(cast("CurvePrior", look.hierarchy), lower=stated.lower, upper=stated.upper)
        mean = look._as(
            FoundMean, certificate=fulfilled, hierarchy=prior, center=first.center, first=first,
            closer=between.bound, extremes=values, apart=apart,
        )  # fmt: skip
        return mean if sides is None else with_distance(mean, total, wide, sides.law, noise)


def searched(plan: SearchPlan, records: Readable, fine: Integers) -> Extremes:
    """The interval and the noisy histogram; the caller has charged for both.

    fine: Shares of the cells that intervals are made of. Private.
    """
    zoom = plan.zoom
    width = noisy_largest(zoom.width_scores(fine.tolist()), zoom.width_noise().draw())
    place = noisy_largest(zoom.place_scores(fine, width), zoom.place_noise(width).draw())
    middle, half = interval_of(zoom.domain_range, width, place)
    strength = plan.strength(plan.whole.guarantee)
    finer = FINER if strength >= CLEARLY else FINER // 2 if strength >= PLAINLY else 1
    edges = search_edges(zoom.domain_range, middle, half, finer)
    exact = extreme_shares(plan, records, CellGrid.from_edges(edges))
    return _counted(plan, exact, edges, (middle, half), plan.shares[0])


def reached(plan: SearchPlan, records: Readable, line: Floats, ends: tuple[float, float]) -> Extremes:
    """How far units reach below and above a public line (m,), with noise, and how far they are held.

    The caller has charged for it.
    """
    edges = line_edges(line, ends, plan.strength(plan.whole.guarantee) >= PLAINLY)
    exact = extreme_shares(plan, records, CellGrid.from_edges(edges), ends, line)
    extremes = _counted(plan, exact, edges, (0.0, 0.0), plan.shares[2])
    reaches = found_reaches(
        edges, extremes.shares(plan.size), extremes.scale(plan.size),
        (line.size, plan.strength(plan.shares[-1])), (line - ends[0], ends[1] - line),
    )  # fmt: skip
    return replace(extremes, interval=reaches)


def _counted(
    plan: SearchPlan, exact: Integers, edges: Floats, interval: tuple[float, float], part: PureDP
) -> Extremes:
    """Shares of cells with the noise of a part of the budget."""
    noise = plan.counting(edges.size - 1, part)
    noisy = IntegerSum.of(exact.tolist()).with_noise(noise.draw())
    return Extremes((float(edges[0]), float(edges[-1])), interval, tuple(edges.tolist()), noisy, noise)


def interval_of(ends: tuple[float, float], width: int, place: int) -> tuple[float, float]:
    """Middle and half of the length of the chosen candidate."""
    (low, high), (k, blocks) = ends, CANDIDATES[width]
    return low + (high - low) * (place + blocks / 2) * 2.0**-k, (high - low) * blocks * 2.0 ** -(k + 1)


def extreme_shares(
    plan: SearchPlan,
    records: Readable,
    cells: CellGrid,
    ends: tuple[float, float] | None = None,
    line: Floats | float = 0.0,
) -> Integers:
    """Sum over units of the shares of each cell in their extremes, in units of 2^-20. Private.

    ends: Values are moved between these first; by default between those of the cells.
    line: Public; its values (m,) are taken off.
    """
    total, (low, high) = np.zeros(cells.size, dtype=np.int64), cells.edges[0][[0, -1]]
    for curves in records.units(plan.whole):
        values = curves.values if ends is None else np.clip(curves.values, *ends) - line
        lowest = np.column_stack([values.min(axis=1), values.max(axis=1)])
        index = cells.index(np.clip(lowest, low, high).reshape(-1, 1))
        codes, usable = np.repeat(np.arange(len(lowest)), 2), np.repeat(curves.usable, 2)
        total += np.asarray(cell_weights(index, usable, codes, cells.size, EXPONENT), dtype=np.int64)
    return total


StagedPlans = LooksPlan | SearchPlan


def staged_plan(plan: MeanPlan, strategy: TwoLooks | Search) -> StagedPlans:
    """The plan in stages for that of one mean. Raises ParameterError if there is none."""
    if isinstance(strategy, Search):
        return SearchPlan.of(plan, strategy)
    return LooksPlan.of(plan, strategy)
