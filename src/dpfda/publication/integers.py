"""Integers from private to public, whose movement somebody else has proved; sums of disjoint units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dpfda.bases.protocol import BoxFunctions
from dpfda.bounds import Norm
from dpfda.noise import Calibrated, GaussianNoise, NoiseLaw, cost_of, repeated_width
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
from dpfda.publication.averages import EXACT, check, pay, publish_curve
from dpfda.publication.charging import charge, charged_for, recomputed
from dpfda.publication.distances import measured_alike, with_distance, with_distances
from dpfda.publication.means import MeanPlan, line_and_noise
from dpfda.releases.function import ReleasedFunction

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
