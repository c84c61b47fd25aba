"""Certificates as JSON types, and back; for files of version 1, what is certain of their costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpfda.bases.encoding import mapping, name
from dpfda.noise import AnyLaw, NoiseLaw, achieved_guarantee, cost_of
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import (
    ApproximateLoss,
    Cost,
    LaplaceLoss,
    Loss,
    estimated_profile,
    loss_from_json,
    loss_of,
)
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    within,
)
from dpfda.releases.function import NoisyCount
from dpfda.releases.storage.files import built, read_json
from dpfda.releases.storage.kinds import ANSWERS, load_kind
from dpfda.releases.storage.parts import guarantee_from_json, guarantee_to_json

# Schema of files that hold certificates; those of version 1 hold a guarantee alone.
CERTIFIED = 2
# Profiles in floats may be off by this factor.
ROUNDING = 1.001
Costs = Mapping[str, Cost]
# What a release was drawn as: the same in all of its derivatives.
_DRAWN = (
    "noisy_sum", "noisy_counts", "noisy_values", "coefficients", "vectors", "variances", "noise",
    "laplace_scale", "exponent", "divisor", "guarantee", "neighbours", "privacy_unit",
)  # fmt: skip


def certificate_to_json(certificate: Certificate) -> dict[str, Any]:
    """The entries of a release's file that say what it promises and what it cost."""
    stages = zip(certificate.stages, certificate.costs, strict=True)
    return {
        "guarantee": guarantee_to_json(certificate.guarantee),
        "achieved_guarantee": guarantee_to_json(certificate.achieved),
        "neighbours": str(certificate.neighbours),
        "privacy_unit": certificate.unit,
        "bound": dict(certificate.bound),
        "mechanism": dict(certificate.mechanism),
        "costs": [{"stage": stage, **cost_to_json(cost)} for stage, cost in stages],
        "release_id": certificate.identity,
    }


def certificate_from_json(
    written: Mapping[str, Any],
    earlier: Callable[[Guarantee, Guarantee], Costs],
    described: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]] | None = None,
    laws: Sequence[AnyLaw] | None = None,
) -> Certificate:
    """The certificate in a release's file.

    Parts that were changed apart from each other are refused: costs below the claim, losses below
    their cost or of a law that is not in the file. Whoever changes all of them alike is not found out.

    Parameters
    ----------
    written : mapping
        The file, or the part of it that holds a release.
    earlier : callable
        Costs by stage in a file of version 1, from its guarantee and what its noise achieved. They
        claim a law only where the file leaves no doubt.
    described : callable, optional
        Bound and mechanism for files of version 1 that do not hold them.
    laws : sequence of laws, optional
        All noise that the release holds, where it holds all that was drawn.

    Raises
    ------
    ValueError
        If its parts contradict each other.
    """
    guarantee = guarantee_from_json(written["guarantee"])
    relation, unit = Neighbours.parse(written["neighbours"]), name(written["privacy_unit"])
    if written.get("schema_version", 1) == 1:
        bound, mechanism = (
            described() if described else (mapping(written["bound"]), mapping(written["mechanism"]))
        )
        costs = _settled(written, guarantee, earlier)
        made = Certificate.charged(costs, relation, unit, bound, mechanism)
        achieved = _achieved(written, guarantee)
        return replace(made, guarantee=guarantee, achieved=achieved, identity=identity_of(written))
    parts = [(name(cost["stage"]), cost_from_json(cost)) for cost in written["costs"]]
    made = Certificate(
        guarantee=guarantee,
        achieved=guarantee_from_json(written["achieved_guarantee"]),
        neighbours=relation,
        unit=unit,
        bound=mapping(written["bound"]),
        mechanism=mapping(written["mechanism"]),
        stages=tuple(stage for stage, _ in parts),
        costs=tuple(cost for _, cost in parts),
        identity=name(written["release_id"]),
    )
    _check_claims(made)
    if laws is not None:
        _check_laws(made, laws)
    return made


def _check_claims(certificate: Certificate) -> None:
    claim, whole = certificate.guarantee, added([cost.guarantee for cost in certificate.costs])
    if not (_as_much(whole, claim) and within(certificate.achieved, claim)):
        raise ValueError("the costs, the claim and what was achieved contradict each other")
    if not all(_has(cost.loss, cost.guarantee) for cost in certificate.costs):
        raise ValueError("a loss is below its cost")


def _as_much(whole: Guarantee, claim: Guarantee) -> bool:
    """Whether costs reach a claim; pure noise that was chosen under a delta costs its epsilon alone."""
    if isinstance(whole, PureDP) and isinstance(claim, ApproximateDP):
        return whole.epsilon >= claim.epsilon
    if isinstance(whole, PureDP) and isinstance(claim, ZeroConcentratedDP):
        return whole.epsilon**2 / 2 >= claim.rho
    return within(claim, whole)


def _has(loss: Loss, guarantee: Guarantee) -> bool:
    """Whether a loss is no smaller than its guarantee says: charged losses attain it."""
    if isinstance(guarantee, PureDP):
        return loss.epsilon is not None and loss.epsilon >= guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP):
        return loss.rho is not None and loss.rho >= guarantee.rho
    if isinstance(loss, ApproximateLoss):
        return loss.epsilon >= guarantee.epsilon and loss.failure >= guarantee.delta
    # In floats: whatever numbers a file holds, it is read at once.
    found = estimated_profile(loss, float(guarantee.epsilon))
    return found is not None and found * ROUNDING >= float(guarantee.delta)


def _check_laws(certificate: Certificate, laws: Sequence[AnyLaw]) -> None:
    """Losses are those of the noise in the file, or no more than the guarantee is known."""
    for cost in certificate.costs:
        bare = cost.loss == loss_of(cost.guarantee)
        if not bare and not any(_is_of(law, cost) for law in laws):
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


def drawn_laws(noise: AnyLaw, divisor: float | NoisyCount) -> list[AnyLaw]:
    """The laws of a sum and of its count, where that was released too."""
    return [noise, divisor.noise] if isinstance(divisor, NoisyCount) else [noise]


def _settled(
    written: Mapping[str, Any],
    guarantee: Guarantee,
    earlier: Callable[[Guarantee, Guarantee], Costs],
) -> Costs:
    if "selected" in written["about"]:
        # The best of several runs does not have the law of one run's noise.
        return {WHOLE: Cost(guarantee)}
    return earlier(guarantee, _achieved(written, guarantee))


def _achieved(written: Mapping[str, Any], guarantee: Guarantee) -> Guarantee:
    if "guarantee_recomputed" not in written:
        return guarantee
    return guarantee_from_json(written["guarantee_recomputed"])


def identity_of(written: Mapping[str, Any]) -> str:
    """What tells a release of version 1 from others: a digest of what was drawn for it."""
    drawn = {key: written[key] for key in _DRAWN if key in written}
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:32]


def load_certificate(path: str | Path) -> Certificate:
    """The certificate in a file of a release of any kind, or of a session's answers.

    Raises
    ------
    StorageError
        As `dpfda.load`.
    """
    written = read_json(path)
    if isinstance(written, dict) and written.get("format") == ANSWERS:
        return built(lambda: certificate_from_json(written, lambda whole, _: {WHOLE: Cost(whole)}), path)
    certificate: Certificate = load_kind(path).certificate
    return certificate


def cost_to_json(cost: Cost) -> dict[str, Any]:
    """A cost: the guarantee, and what is known of the loss."""
    return {"guarantee": guarantee_to_json(cost.guarantee), "loss": cost.loss.to_json()}


def cost_from_json(written: Mapping[str, Any]) -> Cost:
    """A cost as it was charged."""
    return Cost(guarantee_from_json(written["guarantee"]), loss_from_json(mapping(written["loss"])))


def earlier_sum(
    noise: NoiseLaw | SymmetricNoise,
    divisor: float | NoisyCount,
    guarantee: Guarantee,
    achieved: Guarantee,
) -> Costs:
    """Costs of a release of version 1 that is one sum with noise, and a count where it was released."""
    if not isinstance(divisor, NoisyCount):
        return {WHOLE: cost_of(noise, achieved, guarantee)}
    known = divisor.noise.loss(PureDP(Fraction(1))) if divisor.noise.components == 1 else None
    if not isinstance(known, LaplaceLoss):
        return {WHOLE: Cost(guarantee)}
    count = achieved_guarantee(divisor.noise, "l1", divisor.scale, PureDP(Fraction(1)))
    # The law of the function may have awaited the count.
    rest = Cost(without(guarantee, [count]))
    return {"count": cost_of(divisor.noise, count, count), "function": rest}


def without(whole: Guarantee, parts: list[Guarantee]) -> Guarantee:
    """What is left of a guarantee when parts, pure or of its kind, are taken off."""
    spent = added(parts)
    if isinstance(whole, ZeroConcentratedDP):
        rho = spent.rho if isinstance(spent, ZeroConcentratedDP) else spent.epsilon**2 / 2
        return ZeroConcentratedDP(whole.rho - rho)
    assert not isinstance(spent, ZeroConcentratedDP)  # noqa: S101
    epsilon = whole.epsilon - spent.epsilon
    if isinstance(whole, PureDP):
        return PureDP(epsilon)
    delta = whole.delta - (spent.delta if isinstance(spent, ApproximateDP) else 0)
    return ApproximateDP(epsilon, delta)
