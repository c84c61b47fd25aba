"""The crossings from private to public: charge the ledger, draw the noise, add it to sums or integers.

The order is fixed. Everything that can fail on public grounds has been checked before; the ledger is
charged; only then is noise drawn. What fails afterwards stays charged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller
from typing import cast

from dpfda.bases.protocol import BoxFunctions
from dpfda.bounds import Norm
from dpfda.mechanisms import COUNT_SCALE, Design
from dpfda.noise import Calibrated, GaussianNoise, KNormNoise, NoiseLaw, cost_of, repeated_width
from dpfda.noise.shares import share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    within,
)
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.charging import charge, charged_for, recomputed
from dpfda.publication.distances import Draw, measured_alike, with_distance, with_distances
from dpfda.publication.mean_designs import FUNCTION
from dpfda.publication.means import Framed, MeanPlan, ReleasedMean, line_and_noise
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction

# How a law is drawn from: as it says itself; simulations of public data have their own way.
EXACT: Draw = methodcaller("draw")
# Numbers of units for which a caller's own mechanism is tried before the charge, where it is private.
TRIED_SIZES = (100, 10_000)


def publish(
    total: IntegerSum, plan: MeanPlan, paying: Paying = NAMED,
    certificate: Certificate | None = None, draw: Draw = EXACT,
) -> ReleasedMean:  # fmt: skip
    """Charge, draw, add: turn a private sum into a released function.

    total: Private sum of clipped integer coefficients.
    plan: Public side of the release.
    paying: The ledger that is charged before any noise is drawn, and the data set in it.
    certificate: What the caller has charged, where the release is a stage or in parallel.
    draw: Other than exactly for simulations alone.
    Raises BudgetError if the ledger refuses; no noise was drawn.
    """
    paid = pay(total, plan, paying, certificate)
    design, sums = paid.design, plan.measure(total, paid.design)
    told = plan.distance_beside(design)
    if told is not None and not plan.telling.among:
        line, noise = line_and_noise(sums, paid, told, draw)
        return with_distance(line, total, plan, told.law, noise)
    return paid.around(sums, draw(design.noise))


def publish_curve(
    total: IntegerSum, plan: MeanPlan, certificate: Certificate | None = None, draw: Draw = EXACT
) -> ReleasedFunction:
    """As `publish`, of a plan for functions on an interval."""
    # Nothing may fail after the charge, so this is no check: what was charged kept to intervals.
    return cast("ReleasedFunction", publish(total, plan, certificate=certificate, draw=draw))


def pay(
    total: IntegerSum, plan: MeanPlan, paying: Paying = NAMED, certificate: Certificate | None = None
) -> Framed:
    """Charge for a release and fix its noise law; parameters as in `publish`.

    Nothing is drawn but, under add/remove neighbours without a public size, the noise of the count,
    which the design needs.
    """
    charged = plan.certified() if certificate is None else certificate
    ready = check(plan, charged)
    if certificate is None:
        charge(paying, charged, plan.entry())
    if isinstance(ready, Framed):
        return ready
    count = NoisyCount(total.count_with_noise(ready.draw()[0], COUNT_SCALE), COUNT_SCALE, ready)
    return _counted(plan, count, charged, own=certificate is None)


def check(plan: MeanPlan, certificate: Certificate | None = None) -> Framed | KNormNoise:
    """Design, calibrate and recompute, so that what can be refused is refused before the charge.

    certificate: What the release will carry; by default one of its own.
    Returns all but the output where the number of units is public; else the law of the count's noise.
    Raises ParameterError, RefusedMechanismError or DpfdaError if the mechanism cannot give the
    guarantee, or measures what depends on a private number.
    """
    design, size = plan.public_design, plan.size
    certificate = plan.certified() if certificate is None else certificate
    if design is not None and size is not None:
        return plan.around(size, design, float(size), certificate)
    noise = plan.count_noise
    # What this makes of one unit is what is left where a later design fails.
    plan.around(1, plan.trial, NoisyCount(COUNT_SCALE, COUNT_SCALE, noise), certificate)
    if not isinstance(plan.mechanism, str):
        for units in TRIED_SIZES:
            plan.costs()[FUNCTION].drawn_as(plan.cost(plan.counted_design(units), units))
    return noise


def _counted(plan: MeanPlan, count: NoisyCount, certificate: Certificate, own: bool) -> Framed:
    """The design for a count that is public by now; the one for a single unit where that fails.

    A certificate of its own says what law was drawn; one that others share says what is common to all.

    The release has been charged, so it does not fail with a mechanism that knows no answer for this
    number, measures something else, or has a loss that the charge does not cover: the noise of any of
    its designs gives the guarantee, and which of them is taken follows from the released count alone.
    """

    def paid(units: int, design: Design) -> Framed:
        law = plan.cost(design, units)
        plan.costs()[FUNCTION].drawn_as(law)
        drawn = {FUNCTION: law} if own and plan.awaits_count else None
        return plan.around(units, design, count, certificate, drawn)

    units = max(1, round(count.value))
    try:
        return paid(units, plan.counted_design(units))
    except Exception:
        return paid(1, plan.trial)


def publish_parallel(
    parts: Sequence[tuple[IntegerSum, MeanPlan]], entry: Mapping[str, object], paying: Paying = NAMED,
    joined: Callable[[list[ReleasedFunction]], list[ReleasedFunction]] = list,
) -> list[ReleasedFunction]:  # fmt: skip
    """Release several sums of curves over disjoint sets of privacy units, at the cost of one.

    Neighbouring data sets differ in one unit, which belongs to one of the sums. The releases are
    independent, so the density ratio of all together is that of this one: the loss is the largest of
    the parts' and not their sum (McSherry 2009, Theorem 4): the one guarantee that all have. How far
    lines are from means composes with them, where it has a share (`releases.distance.GroupDistance`).
    Where sides of a group's own box tell it, that group's line and numbers are one draw: at every output
    all lines are the same for both neighbours, whatever was made of what all groups show.

    parts: sequence of (IntegerSum, MeanPlan). Private sums and the public sides of their releases. The
        caller has made sure that no unit is in two of them, in either of two neighbouring data sets.
    entry: Public description for the ledger's history, which is charged once; paying as in `publish`.
    joined: What becomes of the released lines before distances from them are measured.
    Raises ParameterError if parts differ in terms, or in what of distances they measure, or are on
    boxes; BudgetError if the ledger refuses.
    """
    terms = {(plan.guarantee, plan.neighbours, plan.unit) for _, plan in parts}
    if len(terms) != 1:
        raise ParameterError("parts", "share guarantee, neighbours and unit", f"{len(terms)} kinds")
    if any(isinstance(plan.basis, BoxFunctions) for _, plan in parts):
        raise ParameterError("parts", "be of curves on an interval", "functions on boxes")
    plans = [plan for _, plan in parts]
    if len({plan.distance_share for plan in plans}) > 1 or not measured_alike(plans):
        words = "share bounds and what is paid for distances, where these are measured together"
        raise ParameterError("parts", words, "others")
    certificate = parts[0][1].certified()
    if len({tuple(plan.costs().items()) for _, plan in parts}) > 1:
        # Laws that differ from group to group: what all have in common is the guarantee.
        whole = Cost(parts[0][1].guarantee)
        certificate = replace(certificate, guarantee=whole.guarantee, stages=(WHOLE,), costs=(whole,))
    for _, plan in parts:
        check(plan, certificate)
    charge(paying, certificate, entry)
    drawn = [line_and_sides(total, plan, certificate) for total, plan in parts]
    lines = joined([line for line, _ in drawn])
    if parts[0][1].distance_share is not None:
        return with_distances(lines, parts, EXACT)
    told = zip(lines, parts, drawn, strict=True)
    return [
        with_distance(line, total, plan, plan.distance.law, sides) if plan.distance is not None else line
        for line, (total, plan), (_, sides) in told
    ]


def line_and_sides(
    total: IntegerSum, plan: MeanPlan, certificate: Certificate
) -> tuple[ReleasedFunction, Sequence[int]]:
    """One of several lines, and the noise on what will tell its largest distance by its own box."""
    if plan.distance is None or not plan.distance.in_box:
        return publish_curve(total, plan, certificate=certificate), ()
    paid = pay(total, plan, certificate=certificate)
    return line_and_noise(plan.measure(total, paid.design), paid, plan.distance, EXACT)


# Stages of a release.
OBJECTIVE, MINIMISER = "perturbed objective", "noise on the minimiser"


def publish_integers(
    total: IntegerSum,
    noise: Calibrated,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw, add, for integers whose sensitivity somebody else has proved.

    total: Private integers.
    noise: The law on all of them, what it must give, and by how much neighbours move them.
    entry: Public description for the ledger's history and the certificate.
    paying: As in `publish`.
    mechanism: Its name and public tuning for the certificate; by default the name in `entry`.
    Returns the noisy integers, public; and what was promised and charged.
    """
    certificate = charged_for({WHOLE: noise.cost()}, noise.achieved(), entry, paying, mechanism)
    return total.with_noise(noise.law.draw()), certificate


def publish_perturbed(
    solve: Callable[[Sequence[int]], IntegerSum],
    perturbation: NoiseLaw,
    loss: PureDP,
    noise: NoiseLaw,
    norm: Norm,
    width: int,
    shares: tuple[PureDP, PureDP],
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw the perturbation, solve, then draw and add the noise that hides inexactness.

    solve: Takes the rounded perturbation (secret) and returns private integers.
    perturbation: Law of the perturbation, in grid units of the gradient.
    loss: What the exact minimiser of the perturbed objective costs, as the caller has proved.
    noise, norm, width: Law of the noise on the integers, given that for one exact minimiser two
        neighbouring data sets give integers at most `width` apart in this norm.
    shares: (PureDP, PureDP). Budgets of the two steps.
    entry, paying, mechanism: As in `dpfda.publication.publish_integers`.
    Returns the noisy integers, public; and what was promised and charged for both steps.
    Raises DpfdaError if a step costs more than its budget.
    """
    first, second = shares
    if not within(loss, first):
        raise DpfdaError(f"The perturbation gives {loss}, which is more than {first}.")
    achieved = recomputed(noise, norm, width, second)
    costs = {OBJECTIVE: Cost(first), MINIMISER: cost_of(noise, achieved, second)}
    certificate = charged_for(costs, added([loss, achieved]), entry, paying, mechanism)
    return solve(perturbation.draw()).with_noise(noise.draw()), certificate


def publish_steps(
    summed: Callable[[Sequence[int]], IntegerSum],
    steps: int,
    noise: GaussianNoise,
    width: int,
    guarantee: ApproximateDP | ZeroConcentratedDP,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
    moving: int | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge once for all steps, then sum up, draw and add, step by step.

    summed: Takes what the step before released, nothing at first, and returns the private integers of
        the next.
    steps: How many there are.
    noise: Law of the noise of each step. Only of normal noise it is known what its steps cost together.
    width: Whatever was released before, neighbouring data sets move the integers of a step by at most
        this length.
    guarantee: Of all steps together.
    entry, paying, mechanism: As in `dpfda.publication.publish_integers`.
    moving: How many steps neighbouring data sets move, at most; all of them by default.
    Returns the noisy integers of all steps, one after another; and what was promised and charged.
    Raises DpfdaError if all steps together cost more than the guarantee.
    """
    achieved = recomputed(noise, "l2", repeated_width(width, moving or steps), guarantee)
    costs = {WHOLE: cost_of(noise, achieved, guarantee)}
    certificate = charged_for(costs, achieved, entry, paying, mechanism)
    released: list[int] = []
    noisy: tuple[int, ...] = ()
    for _ in range(steps):
        noisy = summed(noisy).with_noise(noise.draw())
        released += noisy
    return tuple(released), certificate


def statistic_noise(guarantee: Guarantee) -> Calibrated:
    """Noise on a statistic that moves by at most 2^20, the units of a table of one cell.

    Returns, as `share_noise`: what is added or removed there is one unit, of one share.
    """
    return share_noise(1, guarantee, Neighbours.ADD_REMOVE)
