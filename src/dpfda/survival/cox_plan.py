"""The plan of a model of hazards: cells of time, a table or rounds, and their noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from dpfda.bases.corners import Covariate, Covariates
from dpfda.bases.lifetimes import NARROW, LifeCells
from dpfda.bases.ordinary import Outlook, spread_evenly
from dpfda.noise import GaussianNoise, NoiseLaw, cost_of
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import choice
from dpfda.numerics.specials import normal_quantile
from dpfda.numerics.words import several
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import Prepared, planner, recomputed, stamp
from dpfda.publication.integers import publish_integers, publish_steps
from dpfda.publication.planners import Designed
from dpfda.publication.tables import ShareTable
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings, read_labels
from dpfda.survival.cox_release import BOUND, ROUNDS, TABLE, ReleasedCox
from dpfda.survival.cox_rounds import LENGTH_BITS, MOST_ENTRIES, FollowedUp, Rounds
from dpfda.survival.cox_table import Combinations
from dpfda.survival.proportional import VERSION, Model

# Records invented, and times that all is released: the middle of so many is foretold.
RECORDS, TIMES = {TABLE: 4096, ROUNDS: 1024}, {TABLE: 3, ROUNDS: 9}
# Up to so many units for a deviation of the noise in a count a table has lesser errors than rounds, with
# one number; with more, over the power 1.5 of how many these are.
FEW = 1768

SUMMARY = "model of hazards"
METHODS = ("auto", TABLE, ROUNDS)
# Half the cells of time grow with the fourth root of persons: the baseline has its own smoothing.
GROWTH, FEWEST, MOST = 0.5, 4, 16
# Errors are foretold for follow-ups of which so many end with an event, unless another share is stated,
# with no effect of covariates; nine of ten are taken to have at most so much more.
DIED, MORE = 0.5, 1.5


@dataclass(frozen=True, eq=False, repr=False)
class CoxPlan(Designed):
    """Plan of a model of hazards.

    Parameters
    ----------
    model : Model
    method : {"table", "rounds"}
    guarantee : PureDP, ApproximateDP or ZeroConcentratedDP
        What is charged.
    neighbours : Neighbours
    unit : str
    size : int or None
        Public number of units that count; None where it is private.
    designed : int or None
        Public number of units that the cells are for.
    about : mapping
    share : float
        Expected share of units with an event.
    """

    model: Model
    method: str
    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    size: int | None
    designed: int | None
    about: Mapping[str, object]
    share: float = DIED
    bounded: Mapping[str, object] = field(default_factory=lambda: {"description": BOUND})
    error_axis = "error of a log hazard ratio"

    @cached_property
    def combinations(self) -> Combinations:
        """What is counted apart, in a table."""
        return Combinations(self.model)

    @cached_property
    def table(self) -> ShareTable:
        """The public side of a table."""
        return ShareTable(self.combinations.cells, self.guarantee, self.neighbours, self.unit)

    @cached_property
    def rounds(self) -> Rounds:
        """The public side of rounds."""
        return Rounds(self.model, self.guarantee, self.neighbours)

    @property
    def noise(self) -> NoiseLaw:
        """Law of the noise, of the table or of a round."""
        return self.table.law if self.method == TABLE else self.rounds.noise

    @property
    def functions(self) -> str:
        if self.method == TABLE:
            return f"counts at {self.combinations.size} combinations of covariates"
        return f"hazards of {self.model.hazards} cells and {self.model.effects} ratios"

    @property
    def tuning(self) -> dict[str, object]:
        numbers: dict[str, object] = {"name": self.method, "cells": self.model.cells.count}
        if self.method == ROUNDS:
            numbers |= {"entries": self.rounds.entries, "rounds": self.rounds.count}
        return numbers

    @property
    def noise_words(self) -> str:
        return f"{self.method}: {self.noise.describe()}"

    def costs(self) -> dict[str, Cost]:
        if self.method == TABLE:
            return self.table.costs()
        achieved = recomputed(self.noise, "l2", self.rounds.width, self.guarantee)
        return {WHOLE: cost_of(self.noise, achieved, self.guarantee)}

    def assemble(self, noisy: Sequence[int], certificate: Certificate) -> ReleasedCox:
        """The release around the mechanism's output: post-processing."""
        return ReleasedCox(
            self.model.cells, self.model.terms, self.model.strata, self.method, tuple(noisy),
            self.noise, certificate, self.size, {**self.about, **stamp()}, version=VERSION,
        )  # fmt: skip

    # What to expect.

    @cached_property
    def _variances(self) -> Floats | None:
        """Variances (2, d) of log hazard ratios by noise, and by sampling, at even follow-ups."""
        return None if self.n is None else rehearsed(self, self.n)

    @property
    def few(self) -> bool:
        """Whether units are unknown, or so few that a table has lesser errors than rounds."""
        numbers = sum(covariate.bounds is not None for covariate in self.model.terms.covariates)
        return (self.n or 0) * math.pow(numbers, 1.5) <= FEW * self.table.deviation

    def outlook(self, quick: bool = False) -> Outlook | None:
        return self._foretold(1.0, 1)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        return self._foretold(float(normal_quantile((1 + level) / 2)), 2)

    def _foretold(self, times: float, kinds: int) -> Outlook | None:
        """So many deviations, by noise or by both kinds."""
        if self._variances is None:
            return None
        typical = float(times * np.sqrt(self._variances[:kinds].sum(axis=0).mean()))
        return Outlook(typical, MORE * typical)

    def _band_said(self, level: float) -> str:
        return f"{100 * level:g}% interval of a log hazard ratio, with sampling"

    @property
    def error_words(self) -> str:
        return (
            "root mean square of what noise does to a log hazard ratio, over half the range of a number "
            f"or for a level, where {100 * self.share:g}% of the {several(self.unit)} have an event, "
            "covariates are spread evenly and change little; with fewer events errors are several times "
            "as large ('share' tells the plan); sampling comes on top"
        )


@planner
def cox_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    covariates: tuple[Covariate, ...],
    strata: tuple[Covariate, ...],
    causes: tuple[str, ...],
    cells: int | None,
    method: str,
    unit: str,
    coding: str,
    planned: bool = False,
    share: float = DIED,
) -> CoxPlan:
    """The plan of a model of hazards; parameters as of `planner`.

    cells: By default chosen.
    coding: What the release says of the codes of events, if anything.
    """
    size, designed = sizes_for(settings, count, planned)
    if cells is None:
        persons = stated_size(designed, "cells")
        cells = min(MOST, max(FEWEST, 2 * round(GROWTH * persons**0.25)))
    domain = settings.domain
    cells_of_time = LifeCells.of(domain.ends, cells, causes=causes, power=NARROW, step=domain.step)
    model = Model(cells_of_time, Covariates(covariates), strata)
    words = {"coding": coding} if coding else {}
    about = {"summary": SUMMARY, **words, **read_labels(domain.labels)}

    def plan(how: str) -> CoxPlan:
        charged = guarantee
        if how == TABLE:
            charged = ShareTable(1, guarantee, settings.unit.relation, unit).calibrated.charged
        return CoxPlan(model, how, charged, settings.unit.relation, unit, size, designed, about)

    first, *others = [plan(how) for how in _chosen(choice(method, "method", METHODS), guarantee, model)]
    best = others[0] if others and not first.few else first
    return replace(best, share=share)


def _chosen(method: str, guarantee: Guarantee, model: Model) -> list[str]:
    """The ways that can be taken; refused where there is none."""
    pure = isinstance(guarantee, PureDP)
    entries = Rounds(model, guarantee, Neighbours.REPLACE_ONE).entries
    if method == ROUNDS and pure:
        raise RefusedMechanismError(
            "delta", "be positive for method 'rounds'", "0",
            "Its rounds get normal noise. Set delta (for example 1e-6), or rho; or use $method.",
            method="table",
        )  # fmt: skip
    if method != TABLE and not pure and entries > MOST_ENTRIES:
        words = f"be fewer, or have fewer strata: {MOST_ENTRIES} numbers a round at most"
        raise ParameterError("covariates", words, f"{entries}")
    if method == ROUNDS:
        return [ROUNDS]
    other = [] if method == TABLE or pure else [ROUNDS]
    try:
        Combinations(model)
    except ParameterError:
        if not other:
            raise
        return other
    return [TABLE, *other]


def publish_cox(
    prepared: Prepared[CoxPlan, IntegerSum | FollowedUp], paying: Paying = NAMED
) -> ReleasedCox:
    """Charge, draw, add: the released model."""
    plan, private = prepared.plan, prepared.total
    if isinstance(private, IntegerSum):
        calibrated = plan.table.calibrated
        noisy, certificate = publish_integers(private, calibrated, plan.entry(), paying, plan.tuning)
    else:
        rounds, guarantee = plan.rounds, plan.guarantee
        assert isinstance(guarantee, ApproximateDP | ZeroConcentratedDP)  # noqa: S101
        assert isinstance(rounds.noise, GaussianNoise)  # noqa: S101
        noisy, certificate = publish_steps(
            rounds.summed(private), rounds.count, rounds.noise, rounds.step_width, guarantee,
            plan.entry(), paying, plan.tuning,
        )  # fmt: skip
    return plan.assemble(noisy, certificate)


def rehearsed(plan: CoxPlan, persons: int) -> Floats:
    """Variances (2, d) of log hazard ratios by noise, and by sampling, that a release would state."""
    model, rounds, records = plan.model, plan.rounds, RECORDS[plan.method]
    times, ends, columns, strata = _invented(model, plan.share, records)
    share = persons / records
    # Public numbers of a plan, nothing of a release: they are the same for all who ask.
    generator, variances = np.random.default_rng(0), []
    for _ in range(TIMES[plan.method]):
        if plan.method == TABLE:
            place = plan.combinations.places(columns, strata) * model.cells.each
            place += model.cells.ends(times, ends)
            counts = np.bincount(place, minlength=plan.combinations.cells) * share
            deviation = plan.table.deviation
            counts = counts + generator.normal(scale=deviation, size=counts.size)
            law, sampling = plan.combinations.estimate(counts, deviation)
        else:
            levels, usable = np.full(records, 2**LENGTH_BITS), np.ones(records, dtype=np.bool_)
            data = FollowedUp.of(model, times, ends, columns, strata, levels, usable)
            walk, deviation = rounds.walked(()), math.ldexp(rounds.deviation, LENGTH_BITS)
            for _ in range(rounds.count):
                noise = generator.normal(scale=deviation, size=rounds.entries)
                walk.move(np.rint(rounds.sums(data, walk) * share + noise).astype(np.int64).tolist())
            law, sampling = walk.law()
        variances.append([np.diag(matrix)[model.hazards :] for matrix in (law.covariance, sampling)])
    return np.median(variances, axis=0)


def _invented(
    model: Model, died: float, records: int
) -> tuple[Floats, Integers, list[Floats | Integers], Integers]:
    """Times, ends, covariates and strata, evenly over all, at one baseline and without effects."""
    covariates, edges = model.terms.covariates, model.cells.edges
    *spread, strata, latest = spread_evenly(records, len(covariates) + 2).T
    columns = [
        2 * row - 1 if covariate.bounds else (row * covariate.ends).astype(np.int64)
        for covariate, row in zip(covariates, spread, strict=True)
    ]
    hazard = -math.log1p(-died) / (edges[-1] - edges[0])
    times = edges[0] - np.log1p(-latest) / hazard
    ends = np.where(times <= edges[-1], 0, -1)
    return times, ends, columns, (strata * model.baselines).astype(np.int64)
