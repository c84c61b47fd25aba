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

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.protocol import BoxFunctions, flat_grid
from dpfda.bounds import read_bounds
from dpfda.bounds.around import BallAround
from dpfda.errors import ParameterError
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.design.two_stage import (
    StagePlan,
    candidate_radii,
    choose_radius,
    expected_squares,
    plan_stages,
    residual_belief,
    residual_problem,
    unknown_after,
)
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.embedding import project, sum_columns
from dpfda.numerics.parameters import length, shown
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, added
from dpfda.publication import Request, certified, charge, check, publish, recomputed, stamp
from dpfda.records import Curves, LongCurves
from dpfda.records.dask_arrays import is_dask
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.staged import FIRST, LAST, RADIUS, Selection, TwoStageFunction
from dpfda.summaries.choices import check_choices
from dpfda.summaries.curves import read_curves, unit_curves
from dpfda.summaries.settings import Gathered
from dpfda.summaries.sums import Summation, matrix_on

if TYPE_CHECKING:
    from dpfda.summaries.mean import PrivateMean

Floats = NDArray[np.float64]

COUNT_SCALE = 2**20


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
    `release_`: shares of the budget and expected errors, from public numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.2, 0.2, 500)[:, None]
    >>> mean = PrivateMean(epsilon=1.0, bounds=(-5, 5), mechanism=TwoStages(spread=0.3)).fit(curves)
    >>> mean.plan_.two_stages, mean.release_(0.5) < 5
    (True, True)
    """

    spread: Any = None

    @classmethod
    def of(cls, value: Any) -> Any:
        """Read the `mechanism` of a mean: one stage of whatever kind stays what it is."""
        return cls() if isinstance(value, str) and value == "auto" else value

    def refusal(self, what: str) -> ParameterError:
        """What to raise where there cannot be two stages."""
        return ParameterError(
            "mechanism", f"have one stage for {what}", repr(self), "Two stages need curves in memory."
        )


def fit_stages(estimator: PrivateMean, X: Any, groups: Any = None) -> tuple[ReleasedFunction, StagePlan]:
    """Release a mean whose mechanism is `TwoStages`; arguments and errors as of `PrivateMean.fit`."""
    with np.errstate(all="ignore"):
        prepared = prepare_stages(estimator, X, groups)
    prepared.check()
    # The whole budget, before the first noise; the stages charge nothing of their own.
    certificate = prepared.certified()
    charge(*estimator.paying(), certificate, _entry(prepared))
    with np.errstate(all="ignore"):
        return _released(prepared, certificate), prepared.plan


def prepare_stages(estimator: PrivateMean, X: Any, groups: Any = None) -> PreparedStages:
    """Everything before the noise: check, plan, read the records. The result is private."""
    guarantee = check_choices(estimator)
    settings, strategy = estimator.settings, estimator.mechanism
    neighbours, spread = Neighbours.parse(settings.unit.neighbours), _spread(strategy.spread)
    if neighbours is Neighbours.ADD_REMOVE and settings.unit.public_size is None:
        raise ParameterError(
            "public_size",
            "be given under add-remove neighbours: two stages are planned by it",
            "None",
            "Pass a public number to divide by, or use one stage, which releases the count.",
        )
    if estimator.rho is not None:
        raise ParameterError("rho", "be None for two stages", shown(estimator.rho), "Give an epsilon.")
    if is_dask(X):
        raise strategy.refusal("Dask arrays")
    values, basis, groups = read_curves(settings, estimator.basis, X, groups)
    if isinstance(basis, BoxFunctions):
        raise strategy.refusal("functions on boxes")
    if not isinstance(values, LongCurves):
        values = matrix_on(values, basis, settings.reading.missing, settings.reading.invalid)
    curves, groups = unit_curves(settings, basis, values, groups)
    bound = read_bounds(estimator.bounds, settings.reading.standardize)
    size = estimator._size(neighbours, curves.usable.size)
    single = copy.copy(estimator)
    single.mechanism = "auto"
    request = replace(single._request(basis, bound, size, groups), guarantee=guarantee, line=False)
    if request.public_size is None or request.centers is not None:
        raise ParameterError("prior", "be None for two stages", "public curves")
    plan = plan_stages(request.problem(request.public_size), spread)
    return PreparedStages(request, plan, spread is None, curves)


@dataclass(frozen=True, eq=False, repr=False)
class PreparedStages:
    """What two stages work on, before anything is charged or drawn. The curves are private.

    Parameters
    ----------
    request : Request
        Of the whole. Public.
    plan : StagePlan
        Public.
    chosen_privately : bool
        Whether the radius is.
    curves : Curves
        One a privacy unit. Private.
    """

    request: Request
    plan: StagePlan
    chosen_privately: bool
    curves: Curves

    @property
    def size(self) -> int:
        """Public number of units, or public divisor."""
        size = self.request.public_size
        assert size is not None  # noqa: S101
        return size

    @property
    def staged(self) -> bool:
        """Whether there are two stages."""
        return self.plan.two_stages or self.chosen_privately

    def certified(self) -> Certificate:
        """The certificate of the whole, with the costs of all stages, before it is charged.

        How the last stage is measured follows from the rough mean, so its law is not known beforehand:
        it costs its guarantee.
        """
        if not self.staged:
            return certified(self.request)
        whole, (first,) = certified(self.first_request), certified(self.first_request).costs
        stages = {FIRST: first}
        if self.chosen_privately:
            assert self.plan.selection is not None  # noqa: S101
            stages[RADIUS] = Cost(self.plan.selection, LaplaceLoss(self.plan.selection.epsilon))
        stages[LAST] = Cost(self.plan.last)
        return Certificate.charged(
            stages, whole.neighbours, whole.unit, whole.bound, {"name": "two-stage"}
        )

    def total(self, request: Request) -> IntegerSum:
        """The exact sum that answers a request. Private."""
        summation = Summation(request, request.components())
        total = summation.empty()
        summation.add_curves(total, self.curves)
        return summation.finish(total, request)

    def check(self) -> None:
        """Design what is known before anything is drawn, so that it is refused before the charge."""
        check(self.first_request if self.plan.two_stages or self.chosen_privately else self.request)
        if self.chosen_privately:
            self.counting_noise()

    @cached_property
    def first_request(self) -> Request:
        """Of the rough mean."""
        return replace(self.request, guarantee=self.plan.first)

    def differences(self, first: ReleasedFunction) -> Floats:
        """Coefficients' mean squares (K,) that the rough mean leaves unknown. Public."""
        request = self.first_request
        design = request.public_design
        assert design is not None  # noqa: S101
        unit = 2.0**-first.exponent / first.count
        noisy = np.array([float(value) * unit for value in first.noisy_sum])
        return unknown_after(request.problem(self.size), design, noisy, first.coefficients)

    def bins(self, first: ReleasedFunction, radii: Floats) -> IntegerSum:
        """One-hot counts (C,) of the units by the length of their difference. Private.

        A unit's bin is the number of candidates, but the largest, that are not below its length: a
        function of that unit alone, and always one of the bins.
        """
        basis = self.request.basis
        around = BallAround(first.unclipped(flat_grid(basis)), float(radii[0]), self.request.bound)
        values = around.restrict(self.curves.values, flat_grid(basis))
        rows = project(np.where(self.curves.usable[:, None], values, 0.0), basis.analysis)
        with np.errstate(all="ignore"):
            # An overflow, and what is no number, falls into the outermost bin.
            lengths = np.ldexp(np.sqrt(sum_columns(rows.mantissas**2)), rows.exponents)
        bins = (lengths[:, None] <= radii[1:]).sum(axis=1)
        counts = np.bincount(bins, minlength=radii.size)
        return IntegerSum(radii.size).add_totals((counts * COUNT_SCALE).tolist(), bins.size)

    def counting_noise(self) -> tuple[KNormNoise, int]:
        """Laplace law of the counts' noise, and how far neighbouring counts are apart in l1."""
        assert self.plan.selection is not None  # noqa: S101
        width = self.request.neighbours.differences(COUNT_SCALE)
        bins = candidate_radii(1.0).size
        return knorm_noise((1,) * bins, np.ones(bins), "l1", width, self.plan.selection), width

    def radii(self) -> Floats:
        """Public candidates for the radius."""
        ball = self.request.ball
        return candidate_radii(ball.radius * ball.step)

    def radius_from(self, noisy: tuple[int, ...], noise: KNormNoise, squares: Floats) -> float:
        """The clipping radius, from noisy counts."""
        radii, problem = self.radii(), self.request.problem(self.size)
        counts = np.array([float(count) / COUNT_SCALE for count in noisy])
        deviation = float(np.sqrt(noise.variances()[0])) / COUNT_SCALE
        errors = expected_squares(problem, squares, radii, self.plan.last)
        missing = float(np.sqrt(squares.sum()))
        return float(radii[choose_radius(radii, counts, deviation, self.size, missing, errors)])

    def last_stage(self, first: ReleasedFunction, radius: float, squares: Floats) -> LastStage:
        """The public side of the differences."""
        basis = self.request.basis
        bound = BallAround(first.unclipped(flat_grid(basis)), radius, self.request.bound)
        request = replace(self.request, bound=bound, guarantee=self.plan.last)
        whole = self.request.problem(self.size)
        problem = residual_problem(whole, residual_belief(squares), radius, self.plan.last)
        return LastStage(request, problem, choose(problem))

    def last_total(self, stage: LastStage) -> IntegerSum:
        """Exact sum of the clipped differences. Private."""
        summation = Summation(stage.request, stage.design.components)
        total = summation.empty()
        summation.add_curves(total, self.curves)
        return total


@dataclass(frozen=True, eq=False)
class LastStage:
    """Public side of the last stage: request with the ball around the rough mean, problem, design."""

    request: Request
    problem: Problem
    design: Design


def _released(prepared: PreparedStages, certificate: Certificate) -> ReleasedFunction:
    """Draw the noise of all stages. The whole has been charged."""
    plan, request = prepared.plan, prepared.request
    if not prepared.staged:
        release: ReleasedFunction = publish(prepared.total(request), request, certificate=certificate)
        tuning = {**release.mechanism, "stages": 1, "why": plan.describe()}
        return replace(release, certificate=release.certificate.fulfilled(release.achieved, tuning))
    request, part = prepared.first_request, certificate.part(FIRST)
    first: ReleasedFunction = publish(prepared.total(request), request, certificate=part)
    squares = prepared.differences(first)
    selection = None
    if prepared.chosen_privately:
        selection, radius = _selected(prepared, first, squares)
    else:
        radius = plan.radius_after(squares)
    stage = prepared.last_stage(first, radius, squares)
    achieved = recomputed(stage.design.noise, "l2", stage.problem.width, plan.last)
    noisy = prepared.last_total(stage).with_noise(stage.design.noise.draw())
    return assembled(prepared, first, stage, noisy, achieved, certificate, selection)


def _selected(
    prepared: PreparedStages, first: ReleasedFunction, squares: Floats
) -> tuple[Selection, float]:
    radii, part = prepared.radii(), prepared.plan.selection
    assert part is not None  # noqa: S101
    noise, width = prepared.counting_noise()
    total = prepared.bins(first, radii)
    achieved = recomputed(noise, "l1", width, part)
    noisy = total.with_noise(noise.draw())
    selection = Selection(tuple(radii.tolist()), noisy, COUNT_SCALE, noise, achieved)
    return selection, prepared.radius_from(noisy, noise, squares)


def assembled(
    prepared: PreparedStages,
    first: ReleasedFunction,
    stage: LastStage,
    noisy: tuple[int, ...],
    achieved: Guarantee,
    certificate: Certificate,
    selection: Selection | None = None,
) -> TwoStageFunction:
    """The release around the output of all stages; everything in it is public."""
    request, plan, design = prepared.request, prepared.plan, stage.design
    parts = [first.achieved, *([] if selection is None else [selection.achieved]), achieved]
    radius = stage.request.bound.radius_on(request.basis.grid_points, request.basis.weights)
    tuning = {"name": "two-stage", **_info(plan, radius, first, design, selection)}
    return TwoStageFunction(
        basis=request.basis.truncate(design.functions),
        noisy_sum=noisy,
        exponent=stage.problem.ball.exponent,
        divisor=float(prepared.size),
        shrinkage=design.shrinkage,
        center=stage.request.bound.center_on(flat_grid(request.basis)),
        noise=design.noise,
        certificate=certificate.fulfilled(added(parts), tuning),
        about=dict(request.about) | stamp(),
        hierarchy=design.hierarchy,
        first=first,
        radius=radius,
        last=achieved,
        selection=selection,
    )


def _info(
    plan: StagePlan,
    radius: float,
    first: ReleasedFunction,
    design: Design,
    selection: Selection | None,
) -> dict[str, Any]:
    """Shares, radius and noise laws in words and numbers."""
    return {
        "stages": 2,
        "why": plan.describe(),
        "first stage": f"{plan.first}: {first.noise.describe()}",
        "choice of the radius": (
            "declared" if selection is None else f"{plan.selection}: {selection.noise.describe()}"
        ),
        "last stage": f"{plan.last}: {design.noise.describe()}",
        "last mechanism": design.mechanism,
        "share of the first stage": float(plan.share),
        "radius": radius,
        "expected typical error": {
            "one stage": plan.one,
            "two stages" + ("" if selection is None else ", over assumed spreads"): plan.two,
        },
    }


def _entry(prepared: PreparedStages) -> dict[str, Any]:
    request = prepared.request
    return {
        "summary": "mean curve in two stages",
        "neighbours": str(request.neighbours),
        "privacy_unit": request.unit,
        "bound": request.bound.describe(),
        "basis": request.basis.describe(),
        "mechanism": "two-stage",
    }


def _spread(value: Any) -> float | None:
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
