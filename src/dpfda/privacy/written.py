"""Guarantees, costs and certificates as JSON types, and back."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dpfda.numerics.encoding import mapping, name, sequence, text
from dpfda.numerics.rationals import rational
from dpfda.privacy.caveats import caveats_from_json
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import ApproximateLoss, Cost, Loss, estimated_profile, loss_from_json
from dpfda.privacy.guarantees import (
    KINDS,
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    within,
)

# Profiles in floats may be off by this factor.
ROUNDING = 1.001
# The largest epsilon that costs a given rho is found up to less than this.
CLOSE = 1 + Fraction(1, 2**40)


def guarantee_to_json(guarantee: Guarantee) -> dict[str, object]:
    """A guarantee with its exact numbers and in words."""
    exact = {term: getattr(guarantee, term) for term in guarantee.terms}
    return {
        "kind": guarantee.kind,
        **{term: float(value) for term, value in exact.items()},
        "exact": {term: str(value) for term, value in exact.items()},
        "words": str(guarantee),
    }


def guarantee_from_json(written: object) -> Guarantee:
    """A guarantee from its exact numbers."""
    entries = mapping(written)
    made, exact = KINDS[text(entries["kind"])], mapping(entries["exact"])
    return made(*(rational(exact[term]) for term in made.terms))


def certificate_to_json(certificate: Certificate) -> dict[str, object]:
    """The entries of a release's file that say what it promises and what it cost."""
    stages = zip(certificate.stages, certificate.costs, strict=True)
    caveats = [caveat.to_json() for caveat in certificate.caveats]
    return {
        **({"caveats": caveats} if caveats else {}),
        "guarantee": guarantee_to_json(certificate.guarantee),
        "achieved_guarantee": guarantee_to_json(certificate.achieved),
        "neighbours": str(certificate.neighbours),
        "privacy_unit": certificate.unit,
        "bound": dict(certificate.bound),
        "mechanism": dict(certificate.mechanism),
        "costs": [{"stage": stage, **_cost_to_json(cost)} for stage, cost in stages],
        "release_id": certificate.identity,
    }


def _cost_to_json(cost: Cost) -> dict[str, object]:
    drawn = {} if cost.drawn is None else {"drawn": _cost_to_json(cost.drawn)}
    return {"guarantee": guarantee_to_json(cost.guarantee), "loss": cost.loss.to_json(), **drawn}


def _cost_from_json(written: Mapping[str, object]) -> Cost:
    drawn = mapping(written["drawn"]) if "drawn" in written else None
    return Cost(
        guarantee_from_json(written["guarantee"]),
        loss_from_json(mapping(written["loss"])),
        None if drawn is None else _cost_from_json(drawn),
    )


def certificate_from_json(written: Mapping[str, object]) -> Certificate:
    """The certificate in a release's file, or in the part of it that holds a release.

    Parts that were changed apart from each other are refused: costs below the claim, losses below their
    cost. Whoever changes all of them alike is not found out.

    Raises ValueError if its parts contradict each other.
    """
    costs = [mapping(cost) for cost in sequence(written["costs"])]
    made = Certificate(
        guarantee=guarantee_from_json(written["guarantee"]),
        achieved=guarantee_from_json(written["achieved_guarantee"]),
        neighbours=Neighbours.parse(written["neighbours"]),
        unit=name(written["privacy_unit"]),
        bound=mapping(written["bound"]),
        mechanism=mapping(written["mechanism"]),
        stages=tuple(name(cost["stage"]) for cost in costs),
        costs=tuple(map(_cost_from_json, costs)),
        identity=name(written["release_id"]),
        caveats=caveats_from_json(written),
    )
    _check_claims(made)
    return made


def _check_claims(certificate: Certificate) -> None:
    claim, whole = certificate.guarantee, added([cost.guarantee for cost in certificate.costs])
    if not (_as_much(whole, claim) and within(certificate.achieved, claim)):
        raise ValueError("the costs, the claim and what was achieved contradict each other")
    drawn = [cost.drawn for cost in certificate.costs if cost.drawn is not None]
    if not all(_has(cost.loss, cost.guarantee) for cost in (*certificate.costs, *drawn)):
        raise ValueError("a loss is not what its cost says")


def _as_much(whole: Guarantee, claim: Guarantee) -> bool:
    """Whether costs reach a claim; pure noise that was chosen under a delta costs its epsilon alone."""
    if isinstance(whole, PureDP) and isinstance(claim, ApproximateDP):
        return whole.epsilon >= claim.epsilon
    if isinstance(whole, PureDP) and isinstance(claim, ZeroConcentratedDP):
        return whole.epsilon**2 / 2 >= claim.rho
    return within(claim, whole)


def _has(loss: Loss, guarantee: Guarantee) -> bool:
    """Whether a loss is what its guarantee says: charged losses attain it."""
    if isinstance(guarantee, PureDP):
        return loss.epsilon == guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP):
        return loss.rho is not None and guarantee.rho <= loss.rho * CLOSE <= guarantee.rho * CLOSE**2
    if isinstance(loss, ApproximateLoss):
        return loss.epsilon >= guarantee.epsilon and loss.failure >= guarantee.delta
    # In floats: whatever numbers a file holds, it is read at once.
    found = estimated_profile(loss, float(guarantee.epsilon))
    delta = float(guarantee.delta)
    return found is not None and delta <= found * ROUNDING <= delta * ROUNDING**2
