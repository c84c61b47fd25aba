"""Certificates as JSON types, and back; for files of version 1, what is certain of their costs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpfda.bases.encoding import mapping, name
from dpfda.noise import NoiseLaw, achieved_guarantee, cost_of
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss, loss_from_json
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
)
from dpfda.releases.function import NoisyCount
from dpfda.releases.storage.files import built, read_json
from dpfda.releases.storage.kinds import ANSWERS, load_kind
from dpfda.releases.storage.parts import guarantee_from_json, guarantee_to_json

# Schema of files that hold certificates; those of version 1 hold a guarantee alone.
CERTIFIED = 2
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
) -> Certificate:
    """The certificate in a release's file.

    Parameters
    ----------
    written : mapping
        The file, or the part of it that holds a release.
    earlier : callable
        Costs by stage in a file of version 1, from its guarantee and what its noise achieved. They
        claim a law only where the file leaves no doubt.
    described : callable, optional
        Bound and mechanism for files of version 1 that do not hold them.
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
    return Certificate(
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
