"""What a release promises, to whom, and what it cost: one certificate, and its JSON.

A certificate knows neither data nor noise. What charges a release writes it, charges its costs to the
ledger, and puts the same costs into the release and its file; composition, the ledger and the words
read nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpfda.numerics.encoding import mapping, name, sequence, text
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import plain_words, rational
from dpfda.privacy import composition
from dpfda.privacy.caveats import Caveat, caveats_from_json, caveats_of_callers, checked_caveats
from dpfda.privacy.composition import attack_risk
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

# The one stage of a release that has no parts.
WHOLE = "release"


@dataclass(frozen=True)
class Certificate:
    """What was promised and charged for one release.

    guarantee: What was asked for and charged. It is the claim: words, ledger and composition state this
        one.
    achieved: The achieved guarantee: what the noise in force gives, recomputed from its integer scales
        and rounded outward. At most the guarantee, a little smaller where scales were rounded up.
    neighbours: Which data sets are hard to tell apart.
    unit: Who is protected, in the singular.
    bound: The public bound on one unit: its description and its numbers.
    mechanism: Name and public tuning.
    stages: What was paid for, in the order in which noise is drawn.
    costs: What each stage costs, as it was charged. They add up to no more than the guarantee.
    identity: Drawn at random where the release is charged. Its derivatives, its parts and copies of its
        file keep it, and are thereby known to be one release.
    caveats: What the guarantee does not cover, as far as it was known when the release was charged.
    Raises ParameterError if stages and costs do not fit each other, or cost more than is claimed.
    """

    guarantee: Guarantee
    achieved: Guarantee
    neighbours: Neighbours
    unit: str
    bound: Mapping[str, object] = field(hash=False)
    mechanism: Mapping[str, object] = field(hash=False)
    stages: tuple[str, ...]
    costs: tuple[composition.Cost, ...]
    identity: str
    caveats: tuple[Caveat, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        for part in ("stages", "costs"):
            object.__setattr__(self, part, tuple(getattr(self, part)))
        object.__setattr__(self, "caveats", checked_caveats(self.caveats))
        for part in ("bound", "mechanism"):
            object.__setattr__(self, part, MappingProxyType(dict(getattr(self, part))))
        if not self.costs or not len(self.costs) == len(set(self.stages)) == len(self.stages):
            raise ParameterError(
                "stages", "have one name a cost, and be one or more", f"{len(self.stages)}"
            )
        total = added([cost.guarantee for cost in self.costs])
        if not within(total, self.guarantee):
            raise ParameterError("costs", f"add up to at most {self.guarantee}", f"{total}")

    @classmethod
    def charged(
        cls,
        costs: Mapping[str, composition.Cost],
        neighbours: Neighbours,
        unit: str,
        bound: Mapping[str, object],
        mechanism: Mapping[str, object],
    ) -> Certificate:
        """A new certificate, for a release that is about to be charged.

        It says what the callers tell of what is not covered; see `dpfda.privacy.caveats`.

        costs: By stage. Their sum, by basic composition, is the guarantee.
        neighbours, unit, bound, mechanism: As in the class.
        Raises ParameterError if the unit or a stage has characters that do not show.
        """
        plain_words(unit, "unit")
        for stage in costs:
            plain_words(stage, "stages")
        total = added([cost.guarantee for cost in costs.values()])
        stages, parts = tuple(costs), tuple(costs.values())
        identity, caveats = secrets.token_hex(16), caveats_of_callers()
        return cls(total, total, neighbours, unit, bound, mechanism, stages, parts, identity, caveats)

    def __getstate__(self) -> dict[str, object]:
        # A read-only view of a mapping cannot be pickled; a copy of what it shows can.
        return vars(self) | {"bound": dict(self.bound), "mechanism": dict(self.mechanism)}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def fulfilled(
        self,
        achieved: Guarantee,
        mechanism: Mapping[str, object] | None = None,
        bound: Mapping[str, object] | None = None,
        drawn: Mapping[str, composition.Cost] | None = None,
    ) -> Certificate:
        """The same certificate with what is known once the noise is fixed.

        achieved, mechanism, bound: As in the class.
        drawn: By stage, the costs of laws that followed from numbers released before.
        Raises ParameterError if one is not covered by what was charged.
        """
        charged, laws = zip(self.stages, self.costs, strict=True), drawn or {}
        return replace(
            self,
            achieved=achieved,
            mechanism=self.mechanism if mechanism is None else mechanism,
            bound=self.bound if bound is None else bound,
            costs=tuple(
                cost.drawn_as(laws[stage]) if stage in laws else cost for stage, cost in charged
            ),
        )

    def part(self, *stages: str) -> Certificate:
        """Of some stages by themselves; it stays one release with the whole.

        *stages: Names among `stages`.
        """
        named = dict(zip(self.stages, self.costs, strict=True))
        costs = tuple(named[stage] for stage in stages)
        if not set(self.stages[: self.stages.index(stages[-1])]) <= set(stages):
            # What a law followed from is not in the part: it is as it was charged.
            costs = tuple(composition.Cost(cost.guarantee, cost.loss) for cost in costs)
        guarantee = added([cost.guarantee for cost in costs])
        return replace(self, guarantee=guarantee, achieved=guarantee, stages=stages, costs=costs)

    def achieved_within(self, claim: Guarantee) -> list[Guarantee]:
        """What its stages gave, as it adds up within a claim: pure ones among rhos one by one."""
        alone = isinstance(claim, ZeroConcentratedDP) and isinstance(self.achieved, PureDP)
        return [cost.guarantee for cost in self.costs] if alone and self.costs[1:] else [self.achieved]

    @property
    def certificate(self) -> Certificate:
        """Itself, so that it can be added up where releases are."""
        return self

    @property
    def charges(self) -> tuple[tuple[str, str, composition.Cost], ...]:
        """The key of each charge: the release, the stage, and its cost."""
        stages = zip(self.stages, self.costs, strict=True)
        return tuple((self.identity, stage, cost) for stage, cost in stages)

    def attack_risk(self) -> composition.AttackRisk:
        """How well the best attacker tells whether one unit's data were used; see `AttackRisk`.

        Examples
        --------
        >>> import numpy as np
        >>> from dpfda import PrivateMean
        >>> release = PrivateMean(1.0, bounds=(0, 1)).fit(np.zeros((50, 12))).release_
        >>> print(release.certificate.attack_risk())
        the best attacker guesses right at most 69.68% of the time (50% is chance), and finds at most
        2.72% at 1%, 13.6% at 5%, 27.19% at 10% false alarms
        """
        return attack_risk(self.costs)

    def paid_with(self, other: Certificate) -> bool:
        """Whether one charge paid for both in full."""
        return self.charges == other.charges


def said_by(path: str, words: str | None = None) -> Any:
    """A property that a part of an object says for all of it, such as ``said_by("table.unit")``."""
    return property(attrgetter(path), doc=words)


class Certified:
    """Reads the entries of an object's certificate as attributes of its own."""

    if TYPE_CHECKING:
        # No attribute here: dataclasses would take it for a default.
        @property
        def certificate(self) -> Certificate: ...

    guarantee: Guarantee = said_by("certificate.guarantee", "What was asked for and charged.")
    neighbours: Neighbours = said_by(
        "certificate.neighbours", "Which data sets it makes hard to tell apart."
    )
    unit: str = said_by("certificate.unit", "Who is protected, in the singular.")


# Profiles in floats may be off by this factor.
ROUNDING = 1.001
# The largest epsilon that costs a given rho is found up to less than this.
CLOSE = 1 + Fraction(1, 2**40)
# Ranges of losses under rho were roots with so many binary digits after the point: too few below one.
ROOT = Fraction(1, 2**40)


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
    kind, exact = KINDS[text(entries["kind"])], mapping(entries["exact"])
    return kind(*(rational(exact[term]) for term in kind.terms))


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


def _cost_to_json(cost: composition.Cost) -> dict[str, object]:
    drawn = {} if cost.drawn is None else {"drawn": _cost_to_json(cost.drawn)}
    return {"guarantee": guarantee_to_json(cost.guarantee), "loss": cost.loss.to_json(), **drawn}


def _cost_from_json(written: Mapping[str, object]) -> composition.Cost:
    drawn = mapping(written["drawn"]) if "drawn" in written else None
    return composition.Cost(
        guarantee_from_json(written["guarantee"]),
        composition.loss_from_json(mapping(written["loss"])),
        None if drawn is None else _cost_from_json(drawn),
    )


def certificate_from_json(written: Mapping[str, object]) -> Certificate:
    """The certificate in a release's file, or in the part of it that holds a release.

    Parts that were changed apart from each other are refused: costs below the claim, losses below their
    cost. Whoever changes all of them alike is not found out.

    Raises ValueError if its parts contradict each other.
    """
    costs = [mapping(cost) for cost in sequence(written["costs"])]
    certificate = Certificate(
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
    _check_claims(certificate)
    return certificate


def _check_claims(certificate: Certificate) -> None:
    claim, total = certificate.guarantee, added([cost.guarantee for cost in certificate.costs])
    if not (_as_much(total, claim) and within(certificate.achieved, claim)):
        raise ValueError("the costs, the claim and what was achieved contradict each other")
    drawn = [cost.drawn for cost in certificate.costs if cost.drawn is not None]
    if not all(_has(cost.loss, cost.guarantee) for cost in (*certificate.costs, *drawn)):
        raise ValueError("a loss is not what its cost says")


def _as_much(total: Guarantee, claim: Guarantee) -> bool:
    """Whether costs reach a claim; pure noise that was chosen under a delta costs its epsilon alone."""
    if isinstance(total, PureDP) and isinstance(claim, ApproximateDP):
        return total.epsilon >= claim.epsilon
    if isinstance(total, PureDP) and isinstance(claim, ZeroConcentratedDP):
        return total.epsilon**2 / 2 >= claim.rho
    return within(claim, total)


def _has(loss: composition.Loss, guarantee: Guarantee) -> bool:
    """Whether a loss is what its guarantee says: charged losses attain it."""
    if isinstance(guarantee, PureDP):
        return loss.epsilon == guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP):
        rho = loss.rho
        if isinstance(loss, composition.RangeLoss):
            rho = max(loss.rho, min(guarantee.rho, (loss.epsilon + ROOT) ** 2 / 8))
        return rho is not None and guarantee.rho <= rho * CLOSE <= guarantee.rho * CLOSE**2
    if isinstance(loss, composition.ApproximateLoss):
        return loss.epsilon >= guarantee.epsilon and loss.failure >= guarantee.delta
    # In floats: whatever numbers a file holds, it is read at once.
    profile = composition.estimated_profile(loss, float(guarantee.epsilon))
    delta = float(guarantee.delta)
    return profile is not None and delta <= profile * ROUNDING <= delta * ROUNDING**2
