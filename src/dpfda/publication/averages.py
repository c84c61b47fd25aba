"""The one crossing from private to public: charge the ledger, draw the noise, add it to the sum.

The order is fixed. Everything that can fail on public grounds has been checked before; the ledger is
charged; only then is noise drawn. What fails afterwards stays charged.
"""

from __future__ import annotations

from operator import methodcaller
from typing import cast

from dpfda.mechanisms import COUNT_SCALE, Design
from dpfda.noise import KNormNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.charging import charge
from dpfda.publication.distances import Draw, with_distance
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
    distance = plan.distance_beside(design)
    if distance is not None and not plan.telling.among:
        line, noise = line_and_noise(sums, paid, distance, draw)
        return with_distance(line, total, plan, distance.law, noise)
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
