"""Several sums over disjoint units, published at the cost of one; the order is that of `averages`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dpfda.bases.protocol import on_box
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.averages import EXACT, check, pay, publish_curve
from dpfda.publication.charging import charge
from dpfda.publication.distances import measured_alike, with_distance, with_distances
from dpfda.publication.means import MeanPlan, line_and_noise
from dpfda.releases.function import ReleasedFunction


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
    if any(on_box(plan.basis) for _, plan in parts):
        raise ParameterError("parts", "be of curves on an interval", "functions on boxes")
    plans = [plan for _, plan in parts]
    if len({plan.distance_share for plan in plans}) > 1 or not measured_alike(plans):
        words = "share bounds and what is paid for distances, where these are measured together"
        raise ParameterError("parts", words, "others")
    certificate = parts[0][1].certified()
    if len({tuple(plan.costs().items()) for _, plan in parts}) > 1:
        # Laws that differ from group to group: what all have in common is the guarantee.
        cost = Cost(parts[0][1].guarantee)
        certificate = replace(certificate, guarantee=cost.guarantee, stages=(WHOLE,), costs=(cost,))
    for _, plan in parts:
        check(plan, certificate)
    charge(paying, certificate, entry)
    drawn = [line_and_sides(total, plan, certificate) for total, plan in parts]
    lines = joined([line for line, _ in drawn])
    if parts[0][1].distance_share is not None:
        return with_distances(lines, parts, EXACT)
    released = zip(lines, parts, drawn, strict=True)
    return [
        with_distance(line, total, plan, plan.distance.law, sides) if plan.distance is not None else line
        for line, (total, plan), (_, sides) in released
    ]


def line_and_sides(
    total: IntegerSum, plan: MeanPlan, certificate: Certificate
) -> tuple[ReleasedFunction, Sequence[int]]:
    """One of several lines, and the noise on what will tell its largest distance by its own box."""
    if plan.distance is None or not plan.distance.in_box:
        return publish_curve(total, plan, certificate=certificate), ()
    paid = pay(total, plan, certificate=certificate)
    return line_and_noise(plan.measure(total, paid.design), paid, plan.distance, EXACT)
