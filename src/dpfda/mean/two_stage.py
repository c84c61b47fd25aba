"""The mean in two stages: a rough private mean, then the records' differences from it, clipped closer.

A bound must hold for every record, so it is as wide as the records may be, and noise is as large as
the bound. Once a rough mean is public, what is missing is the mean difference from it, and differences
may be clipped to a radius as small as records are close to their mean.

**Guarantee.** Three mechanisms run one after the other, each with the records and the public outputs of
those before; whatever these outputs are, it satisfies its own part of the budget:

1. the rough mean: pure e1, as any `PrivateMean`;
2. the choice of a radius (only with ``spread="private"``): pure e2. Each unit falls into exactly one
   bin, by a function of that unit and of public numbers, whatever its floats do. So the one-hot counts
   move by 2 in l1 norm when a unit is replaced and by 1 when one is added or removed, and get Laplace
   noise of that scale over e2. The radius is computed from the noisy counts alone;
3. the differences: what is left of epsilon, and all of delta. For every rough mean and radius the
   integer vector of a unit lies in the ball of that radius, verified in integers (`IntegerBall.clip`),
   so sums move by twice the radius, or once.

By adaptive sequential composition (Dwork & Roth 2014, Theorem B.1) the whole is (e1 + e2 + e3,
delta)-DP, exactly the guarantee asked for, which is charged to the ledger once, before the first noise
is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpfda.bases.ordinary import Outlook
from dpfda.bases.protocol import BoxFunctions, flat_grid
from dpfda.bounds.around import BallAround
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.design.two_stage import (
    StageShares,
    choose_radius,
    expected_squares,
    residual_belief,
    residual_problem,
    share_stages,
    unknown_after,
)
from dpfda.noise import cost_of
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import project, row_lengths
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, shown
from dpfda.numerics.rationals import readable
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, ZeroConcentratedDP, added
from dpfda.publication import (
    COUNT_SCALE,
    NAMED,
    MeanPlan,
    Paying,
    PlanOfMeans,
    Prepared,
    charge,
    check,
    publish_curve,
    recomputed,
    stamp,
)
from dpfda.publication.radii import RadiusChoice
from dpfda.records import Curves
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import FIRST, LAST, RADIUS, Selection, TwoStageFunction
from dpfda.spine.settings import Gathered
from dpfda.spine.sums import Summation


@dataclass(frozen=True, repr=False, eq=False)
class TwoStages(Gathered):
    """Strategy of a mean: a rough private mean, then the mean difference of the records from it.

    Given as ``PrivateMean(..., mechanism=TwoStages(spread=0.3))``. What you know of the spread of
    records decides whether two stages pay, so it has to be said.

    Parameters
    ----------
    spread : float or "private"
        A number declares, as public knowledge, an L2 distance (units of the data times the root of the
        domain's) within which nine records of ten lie of their mean. Then shares and radius follow from
        public numbers, and two stages are used where their expected error is clearly lower than that of
        one with the whole budget; the release says which and why. If the number is too small for the
        data, records are clipped too much and the release is biased; its privacy does not depend on it.
        A mean rougher than the public prior can make two stages lose all the same (docs/two_stage.md).
        "private" chooses the radius from noisy counts, with a tenth of what the rough mean leaves; two
        stages are then used in any case, and lose where counts are too noisy.

    Notes
    -----
    The guarantee is proved in the docstring of this module. Each stage takes the mechanism with the
    least expected error. Under add/remove neighbours a public size is needed. All records are held in
    memory; there are no streams, blocks, boxes or sessions. The estimator gets `plan_` beside
    `release_`, its plan: shares of the budget and expected errors, from public numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 500)[:, None]
    >>> mean = PrivateMean(epsilon=1.0, bounds=(-5, 5), mechanism=TwoStages(spread=0.3)).fit(curves)
    >>> mean.plan_.two_stages, mean.release_(0.5) < 5
    (True, True)
    """

    spread: object = None

    @classmethod
    def of(cls, value: object) -> Any:
        """Read the `mechanism` of a mean: one stage of whatever kind stays what it is."""
        return cls() if isinstance(value, str) and value == "auto" else value

    def refusal(self, what: str) -> ParameterError:
        """What to raise where there cannot be two stages."""
        return ParameterError(
            "mechanism", f"have one stage for {what}", repr(self), "Two stages need curves in memory."
        )


def fit_stages(prepared: Prepared[StagedPlan, Curves], paying: Paying = NAMED) -> ReleasedFunction:
    """Release a mean whose mechanism is `TwoStages`."""
    plan = prepared.plan
    # The whole budget, before the first noise; the stages charge nothing of their own.
    certificate = plan.certified()
    charge(paying, certificate, plan.entry())
    with np.errstate(all="ignore"):
        return released(prepared, certificate)


def staged_plan(whole: MeanPlan, strategy: TwoStages) -> StagedPlan:
    """The plan in two stages for that of a mean with the whole budget, checked.

    Raises
    ------
    ParameterError
        If there cannot be two stages.
    """
    spread = _spread(strategy.spread)
    if whole.size is None:
        raise ParameterError(
            "public_size",
            "be given under add-remove neighbours: two stages are planned by it",
            "None",
            "Pass a public number to divide by, or use one stage, which releases the count.",
        )
    if isinstance(whole.guarantee, ZeroConcentratedDP):
        rho = readable(whole.guarantee.rho)
        raise ParameterError("rho", "be None for two stages", rho, "Give an epsilon.")
    if isinstance(whole.basis, BoxFunctions):
        raise strategy.refusal("functions on boxes")
    if whole.centers is not None:
        raise ParameterError("prior", "be None for two stages", "public curves")
    single = replace(whole, line=False)
    shares = share_stages(single.problem(whole.size), spread)
    plan = StagedPlan(single, shares, spread is None, strategy)
    plan.check()
    return plan


@dataclass(frozen=True, eq=False, repr=False)
class StagedPlan(PlanOfMeans):
    """Plan of a mean in two stages, or in one where two are not expected to be better.

    Parameters
    ----------
    whole : MeanPlan
        Of one stage with the whole budget.
    shares : StageShares
        How the budget is divided, and why.
    chosen_privately : bool
        Whether the radius is.
    strategy : TwoStages
        As it was given.
    """

    whole: MeanPlan
    shares: StageShares
    chosen_privately: bool
    strategy: TwoStages

    @property
    def one(self) -> MeanPlan:
        return self.whole

    @property
    def tuning(self) -> Mapping[str, object]:
        return {"name": "two-stage"} if self.two_stages else self.whole.tuning

    @property
    def size(self) -> int:  # type: ignore[override]
        """Public number of units, or public divisor."""
        size = self.whole.size
        assert size is not None  # noqa: S101
        return size

    @property
    def two_stages(self) -> bool:
        """Whether there are two stages."""
        return self.shares.two_stages or self.chosen_privately

    def entry(self) -> dict[str, object]:
        return super().entry() | {"summary": "mean curve in two stages", "mechanism": "two-stage"}

    def costs(self) -> dict[str, Cost]:
        """The costs of all stages; how the last one is measured follows from the rough mean."""
        if not self.two_stages:
            return self.whole.costs()
        (first,) = self.rough.costs().values()
        stages, selection = {FIRST: first}, self.shares.selection
        if self.chosen_privately and selection is not None:
            stages[RADIUS] = Cost(selection, LaplaceLoss(selection.epsilon))
        design = self.rough.public_design
        assert design is not None  # noqa: S101
        return {**stages, LAST: Cost.awaited(self.shares.last, [design.noise.loss(self.shares.last)])}

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> StagedPlan:
        return staged_plan(self.whole.remade(guarantee, n), self.strategy)

    def outlook(self, quick: bool = False) -> Outlook | None:
        shares = self.shares
        return Outlook.alike(self.whole.typical((shares.two if self.two_stages else shares.one) ** 2))

    @property
    def error_words(self) -> str:
        said = "root mean square at a point, over smooth means; it rests on the spread that was declared"
        return "averaged over assumed spreads, " + said if self.chosen_privately else said

    @property
    def noise_words(self) -> str:
        return f"{self.tuning['name']}: {self.shares.describe()}"

    def check(self) -> None:
        """Design what is known before anything is drawn, so that it is refused before the charge."""
        check(self.rough if self.two_stages else self.whole)
        if self.chosen_privately:
            self.choice.noise  # noqa: B018

    @cached_property
    def rough(self) -> MeanPlan:
        """Of the rough mean."""
        return replace(self.whole, guarantee=self.shares.first)

    def differences(self, first: ReleasedFunction) -> Floats:
        """Coefficients' mean squares (K,) that the rough mean leaves unknown. Public."""
        design = self.rough.public_design
        assert design is not None  # noqa: S101
        unit = 2.0**-first.exponent / first.count
        noisy = np.array([float(value) * unit for value in first.noisy_sum])
        return unknown_after(self.rough.problem(self.size), design, noisy, first.coefficients)

    @cached_property
    def choice(self) -> RadiusChoice:
        """How the radius is chosen."""
        assert self.shares.selection is not None  # noqa: S101
        ball = self.whole.ball
        return RadiusChoice(ball.radius * ball.step, self.shares.selection, self.whole.neighbours)

    def radius_from(self, selection: Selection, squares: Floats) -> float:
        """The clipping radius, from noisy counts."""
        radii, problem = self.choice.radii, self.whole.problem(self.size)
        counts = np.array([float(count) / COUNT_SCALE for count in selection.noisy_counts])
        deviation = float(np.sqrt(self.choice.noise.variances()[0])) / COUNT_SCALE
        errors = expected_squares(problem, squares, radii, self.shares.last)
        missing = float(np.sqrt(squares.sum()))
        return float(radii[choose_radius(radii, counts, deviation, self.size, missing, errors)])

    def last_stage(self, first: ReleasedFunction, radius: float, squares: Floats) -> LastStage:
        """The public side of the differences."""
        basis = self.whole.basis
        bound = BallAround(first.unclipped(flat_grid(basis)), radius, self.whole.bound)
        plan = replace(self.whole, bound=bound, guarantee=self.shares.last)
        whole = self.whole.problem(self.size)
        problem = residual_problem(whole, residual_belief(squares), radius, self.shares.last)
        return LastStage(plan, problem, choose(problem))


@dataclass(frozen=True, eq=False)
class LastStage:
    """Public side of the last stage: plan with the ball around the rough mean, problem, design."""

    plan: MeanPlan
    problem: Problem
    design: Design


def last_total(prepared: Prepared[StagedPlan, Curves], stage: LastStage) -> IntegerSum:
    """Exact sum of the clipped differences. Private."""
    summation = Summation(stage.plan, stage.design.components)
    total = summation.empty()
    summation.add_curves(total, prepared.total)
    return total


def lengths(prepared: Prepared[StagedPlan, Curves], first: ReleasedFunction) -> Floats:
    """Lengths (n,) of the units' differences; each a function of that unit alone. Private."""
    whole, curves = prepared.plan.whole, prepared.total
    basis, largest = whole.basis, float(prepared.plan.choice.radii[0])
    around = BallAround(first.unclipped(flat_grid(basis)), largest, whole.bound)
    values = around.restrict(curves.values, flat_grid(basis))
    return row_lengths(project(np.where(curves.usable[:, None], values, 0.0), basis.analysis))


def released(prepared: Prepared[StagedPlan, Curves], certificate: Certificate) -> ReleasedFunction:
    """Draw the noise of all stages. The whole has been charged."""
    plan, curves = prepared.plan, prepared.total
    if not plan.two_stages:
        one = Summation.of(plan.whole).over(curves)
        release = publish_curve(one.total, one.plan, certificate=certificate)
        tuning = {**release.mechanism, "stages": 1, "why": plan.shares.describe()}
        return replace(release, certificate=release.certificate.fulfilled(release.achieved, tuning))
    rough = Summation.of(plan.rough).over(curves)
    first = publish_curve(rough.total, rough.plan, certificate=certificate.part(FIRST))
    squares = plan.differences(first)
    selection = None
    if plan.chosen_privately:
        selection, radius = _selected(prepared, first, squares)
    else:
        radius = plan.shares.radius_after(squares)
    stage = plan.last_stage(first, radius, squares)
    achieved = recomputed(stage.design.noise, "l2", stage.problem.width, plan.shares.last)
    noisy = last_total(prepared, stage).with_noise(stage.design.noise.draw())
    return assembled(plan, first, stage, noisy, achieved, certificate, selection)


def _selected(
    prepared: Prepared[StagedPlan, Curves], first: ReleasedFunction, squares: Floats
) -> tuple[Selection, float]:
    plan = prepared.plan
    selection = plan.choice.released(lengths(prepared, first))
    return selection, plan.radius_from(selection, squares)


def assembled(
    plan: StagedPlan,
    first: ReleasedFunction,
    stage: LastStage,
    noisy: tuple[int, ...],
    achieved: Guarantee,
    certificate: Certificate,
    selection: Selection | None = None,
) -> TwoStageFunction:
    """The release around the output of all stages; everything in it is public."""
    whole, design = plan.whole, stage.design
    parts = [first.achieved, *([] if selection is None else [selection.achieved]), achieved]
    radius = stage.plan.bound.radius_on(whole.basis.grid_points, whole.basis.weights)
    tuning = {"name": "two-stage", **_info(plan.shares, radius, first, design, selection)}
    return TwoStageFunction(
        basis=whole.basis.truncate(design.functions),
        noisy_sum=noisy,
        exponent=stage.problem.ball.exponent,
        divisor=float(plan.size),
        shrinkage=design.shrinkage,
        center=stage.plan.bound.center_on(flat_grid(whole.basis)),
        noise=design.noise,
        certificate=certificate.fulfilled(
            added(parts), tuning, drawn={LAST: cost_of(design.noise, achieved, plan.shares.last)}
        ),
        about=dict(whole.about) | stamp(),
        hierarchy=design.hierarchy,
        first=first,
        radius=radius,
        last=achieved,
        selection=selection,
    )


def _info(
    shares: StageShares,
    radius: float,
    first: ReleasedFunction,
    design: Design,
    selection: Selection | None,
) -> dict[str, object]:
    """Shares, radius and noise laws in words and numbers."""
    return {
        "stages": 2,
        "why": shares.describe(),
        "first stage": f"{shares.first}: {first.noise.describe()}",
        "choice of the radius": (
            "declared" if selection is None else f"{shares.selection}: {selection.noise.describe()}"
        ),
        "last stage": f"{shares.last}: {design.noise.describe()}",
        "last mechanism": design.mechanism,
        "share of the first stage": float(shares.share),
        "radius": radius,
        "expected typical error": {
            "one stage": shares.one,
            "two stages" + ("" if selection is None else ", over assumed spreads"): shares.two,
        },
    }


def _spread(value: object) -> float | None:
    """A declared spread, or None for a private choice."""
    if isinstance(value, str) and value == "private":
        return None
    remedy = (
        "Declare an L2 distance within which nine records of ten lie of their mean, from knowledge of"
        " the measurement and never from these data; or pay for a choice with spread='private'."
    )
    try:
        return length(value, "spread")
    except ParameterError:
        words = "be a positive finite number or 'private', the number from 1e-100 to 1e100"
        raise ParameterError("spread", words, shown(value), remedy) from None
