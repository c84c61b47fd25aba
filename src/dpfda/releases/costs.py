"""Certificates in files: of the noise that the file holds; of version 1, what is certain of costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from dpfda.noise import AnyLaw, NoiseLaw, achieved_guarantee, cost_of
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.encoding import mapping, name
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss, loss_of
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
)
from dpfda.privacy.written import certificate_from_json, guarantee_from_json
from dpfda.releases.counts import Divisor, NoisyCount

Costs = Mapping[str, Cost]
Described = tuple[Mapping[str, object], Mapping[str, object]]
# What a release was drawn as: the same in all of its derivatives.
_DRAWN = (
    "noisy_sum", "noisy_counts", "noisy_values", "coefficients", "vectors", "variances", "noise",
    "laplace_scale", "exponent", "divisor", "guarantee", "neighbours", "privacy_unit",
)  # fmt: skip


def one_cost(guarantee: Guarantee, achieved: Guarantee) -> Costs:
    """One cost: the guarantee, of which no law is known."""
    return {WHOLE: Cost(guarantee)}


def certified(
    written: Mapping[str, object],
    earlier: Callable[[Guarantee, Guarantee], Costs] = one_cost,
    described: Callable[[], Described] | None = None,
    laws: Sequence[AnyLaw] | None = None,
) -> Certificate:
    """The certificate in a release's file of any version.

    written: The file, or the part of it that holds a release.
    earlier: Costs by stage in a file of version 1, from its guarantee and what its noise achieved. They
        claim a law only where the file leaves no doubt.
    described: Bound and mechanism for files of version 1 that do not hold them.
    laws: All noise that the release holds, where it holds all that was drawn.
    Raises ValueError if its parts contradict each other, or a loss is of a law that the release does not
    hold.
    """
    if written.get("schema_version", 1) != 1:
        certificate = certificate_from_json(written)
        if laws is not None:
            _check_laws(certificate, laws)
        return certificate
    guarantee = guarantee_from_json(written["guarantee"])
    achieved = guarantee_from_json(written.get("guarantee_recomputed", written["guarantee"]))
    # The best of several runs does not have the law of one run's noise.
    selected = "selected" in mapping(written["about"])
    made = Certificate.charged(
        (one_cost if selected else earlier)(guarantee, achieved),
        Neighbours.parse(written["neighbours"]),
        name(written["privacy_unit"]),
        *(described() if described else (mapping(written["bound"]), mapping(written["mechanism"]))),
    )
    return replace(
        made, guarantee=guarantee, achieved=achieved, identity=identity_of(written), caveats=()
    )


def _check_laws(certificate: Certificate, laws: Sequence[AnyLaw]) -> None:
    """Losses are those of the noise in the file, or no more than the guarantee is known."""
    for cost in certificate.costs:
        bare = cost.loss == loss_of(cost.guarantee)
        # What was charged before a count covers the law that was drawn, if that is there.
        law = cost.drawn or cost
        if not (bare and cost.drawn is None) and not any(_is_of(each, law) for each in laws):
            raise ValueError("a loss is of a law that the release does not hold")


def _is_of(law: AnyLaw, cost: Cost) -> bool:
    if not isinstance(cost.guarantee, ApproximateDP):
        return law.loss(cost.guarantee) == cost.loss
    # How large it is at least has been checked; here is asked of what law.
    made = [law.loss(one) for one in (PureDP(Fraction(1)), ZeroConcentratedDP(Fraction(1)))]
    return any(
        type(loss) is type(cost.loss)
        and getattr(loss, "dimension", None) == getattr(cost.loss, "dimension", None)
        for loss in made
    )


def drawn_laws(noise: AnyLaw, divisor: Divisor) -> list[AnyLaw]:
    """The laws of a sum and of its count, where that was released too."""
    if not isinstance(divisor, NoisyCount):
        return [noise]
    return [noise, (divisor.before or divisor).noise]


def identity_of(written: Mapping[str, object]) -> str:
    """What tells a release of version 1 from others: a digest of what was drawn for it."""
    drawn = {key: written[key] for key in _DRAWN if key in written}
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:32]


def sum_costs(
    noise: NoiseLaw | SymmetricNoise, divisor: Divisor, guarantee: Guarantee, achieved: Guarantee
) -> Costs:
    """Costs of a release that is one sum with noise, and a count where it was released."""
    if not isinstance(divisor, NoisyCount):
        return {WHOLE: cost_of(noise, achieved, guarantee)}
    known = divisor.noise.loss(PureDP(Fraction(1))) if divisor.noise.components == 1 else None
    if not isinstance(known, LaplaceLoss):
        return {WHOLE: Cost(guarantee)}
    count = achieved_guarantee(divisor.noise, "l1", divisor.scale, PureDP(Fraction(1)))
    # The law of the function may have awaited the count.
    rest = Cost(without(guarantee, [count]))
    return {"count": cost_of(divisor.noise, count, count), "function": rest}


def without(guarantee: Guarantee, parts: list[Guarantee]) -> Guarantee:
    """What is left of a guarantee when parts, pure or of its kind, are taken off."""
    spent = added(parts)
    if isinstance(guarantee, ZeroConcentratedDP):
        rho = spent.rho if isinstance(spent, ZeroConcentratedDP) else spent.epsilon**2 / 2
        return ZeroConcentratedDP(guarantee.rho - rho)
    assert not isinstance(spent, ZeroConcentratedDP)  # noqa: S101
    epsilon = guarantee.epsilon - spent.epsilon
    if isinstance(guarantee, PureDP):
        return PureDP(epsilon)
    delta = guarantee.delta - (spent.delta if isinstance(spent, ApproximateDP) else 0)
    return ApproximateDP(epsilon, delta)
