"""Releases of one data set added up: the verb `compose`, and the account that says how.

A release's cost is its guarantee and what is known of its privacy loss. Costs add up in one
of three kinds; a total of approximate kind is the best of a few valid rules:

- *basic*: epsilons add, deltas add;
- *concentrated*: everything that has a rho adds up in it and is converted once, at the delta that the
  other releases leave over; Gaussian releases alone use their exact profile instead;
- *mixed*: as the second, but pure releases are added at their epsilon;
- *distributions*: the distributions of all privacy losses are convolved on a grid, rounded up.

All of them hold where each release was designed in the knowledge of those before, as long as its loss
was fixed beforehand. Where a law followed from a released count, a total of approximate kind is that of
the laws that were drawn, in hindsight: docs/composition.md says what then holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpfda.numerics.errors import ConversionError, ParameterError
from dpfda.numerics.parameters import choice, exact, readable, shown
from dpfda.privacy.composition.conversions import gaussian_epsilon, zcdp_epsilon
from dpfda.privacy.composition.costs import Cost, Released, common
from dpfda.privacy.composition.distributions import composed_epsilon
from dpfda.privacy.composition.losses import loss_of
from dpfda.privacy.composition.risk import AttackRisk, attack_risk
from dpfda.privacy.guarantees import (
    KINDS,
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
)

Bound = tuple[Fraction, str]

# The default delta at which a zero-concentrated total is stated.
USUAL_DELTA = Fraction(1, 10**6)
# Basic composition is left only for less than this share of its epsilon.
WORTH = Fraction(999, 1000)
# Half of delta goes to what laws followed from where that leaves less than this share of its epsilon.
WORTH_SHARING = Fraction(3, 4)


@dataclass(frozen=True)
class Account:
    """Costs, their total, and how it was found.

    Attributes
    ----------
    total : Guarantee
        Of all releases together.
    costs : tuple of Cost
        What was added up, under the neighbours of the total.
    how : str
        The rule taken, in words.
    neighbours : Neighbours or None
        Of the total; None where only bare guarantees were given.
    unit : str or None
        The privacy unit.
    repeated : tuple of bool
        Of each item, whether it adds nothing: a derivative, part or copy of one listed before, or a
        release that a ledger listed with it has charged.
    foreseen : Guarantee or None
        Where the total is that of laws that were drawn: what holds of all that could have been.
    """

    total: Guarantee
    costs: tuple[Cost, ...]
    how: str
    neighbours: Neighbours | None = None
    unit: str | None = None
    repeated: tuple[bool, ...] = ()
    foreseen: Guarantee | None = None

    @property
    def again(self) -> int:
        """How many of the items add nothing."""
        return sum(self.repeated)

    def attack_risk(self) -> AttackRisk:
        """What the best attacker can learn of one unit from all releases together."""
        return attack_risk(self.costs)

    def approximate(self, delta: object = USUAL_DELTA) -> ApproximateDP:
        """The same costs as epsilon at a delta; by default at 1e-6.

        Raises
        ------
        ParameterError
            If delta is not between 0 and 1, or smaller than those of the releases together.

        Examples
        --------
        >>> print(account([ZeroConcentratedDP("0.1")]).approximate("1e-6"))
        (2.14193892839, 1e-06)-differential privacy
        """
        return _approximate(self.costs, _target(self.costs, delta))[0]

    def in_words(self) -> str:
        """The total in words; a zero-concentrated one also as epsilon at a delta of 1e-6."""
        if not isinstance(self.total, ZeroConcentratedDP):
            return str(self.total)
        return f"{self.total}, which gives {self.approximate()}"

    def __str__(self) -> str:
        lines = [self.in_words(), f"  how:        {self.how}"]
        if self.neighbours is not None:
            lines.append(f"  neighbours: {self.neighbours.describe(self.unit or 'record')}")
        if self.foreseen is not None:
            words = "whatever the released numbers were, and whatever was looked at"
            lines.append(f"  foreseen:   {self.foreseen}, {words}")
        lines.append(f"  risk:       {self.attack_risk()}")
        for cost in (cost.drawn or cost for cost in self.costs):
            bare = cost.loss == loss_of(cost.guarantee)
            law = "whose law is not known" if bare else cost.loss.describe()
            lines.append(f"  - {cost.guarantee}, {law}")
        if self.again:
            are, count = "are derivatives, parts or copies", "count"
            if self.again == 1:
                are, count = "is a derivative, part or copy", "counts"
            lines.append(
                f"  {self.again} of the releases {are} of one listed before, or charged in the ledger, "
                f"and {count} once."
            )
        return "\n".join(lines)


def compose(
    releases: Iterable[Released | Guarantee | Cost],
    kind: str | None = None,
    delta: object = None,
    neighbours: Neighbours | str | None = None,
) -> Guarantee:
    """What releases of one data set guarantee together.

    Parameters
    ----------
    releases : iterable of releases, Guarantee or Cost
        One data set's. Derivatives and parts of a release, and copies of it that were saved and loaded,
        carry its identity and are counted once. ``ledger.charges("scans")`` are what a ledger charged,
        and a release that is among them is counted with them.
    kind : {"pure", "approximate", "zero-concentrated"}, optional
        Kind of the total. By default approximate if a delta is given; else pure if all releases are;
        else approximate if any is; else zero-concentrated.
    delta : number or text, optional
        Delta of an approximate total. By default the sum of the releases' deltas.
    neighbours : Neighbours or name, optional
        Relation for which the bare guarantees and costs hold; by default that of the releases.

    Returns
    -------
    Guarantee
        An upper bound, rounded to the private side.

    Raises
    ------
    ConversionError
        If a release has no guarantee of this kind.
    ParameterError
        If delta is missing or too small, nothing is given, or the releases protect different units.
    NotCoveredError
        If one was made in a search, by a meta-estimator that fits several times, or from data that went
        through steps fitted on the same data: its guarantee does not cover all of that.

    Examples
    --------
    >>> from dpfda.privacy.composition import LaplaceLoss
    >>> print(compose([PureDP("0.1")] * 10))
    1-differential privacy (pure)
    >>> print(compose([Cost(PureDP(1), LaplaceLoss(1))] * 2, kind="zero-concentrated"))
    0.735758882343-zero-concentrated differential privacy
    """
    return account(releases, kind, delta, neighbours).total


def account(
    releases: Iterable[Released | Guarantee | Cost],
    kind: str | None = None,
    delta: object = None,
    neighbours: Neighbours | str | None = None,
) -> Account:
    """As `compose`, and tell how the total was found.

    Parameters, Raises
        As `compose`.
    """
    try:
        listed = list(releases)
    except TypeError:
        raise ParameterError("releases", "be several", shown(releases)) from None
    items = [_item(release) for release in listed]
    if not items:
        raise ParameterError("releases", "hold at least one release", "none")
    joint = common(items, neighbours)
    costs = joint.costs
    stated, kind = kind, _default_kind(costs, delta) if kind is None else kind
    choice(kind, "kind", tuple(KINDS))
    foreseen: Guarantee | None = None
    if delta is not None and kind != "approximate":
        raise ParameterError("delta", f"be $none for a total of kind {kind!r}", repr(delta))
    if stated is None and delta is None and joint.charged == 1:
        # One release: its own guarantee, not a conversion of it.
        total: Guarantee = added([cost.guarantee for cost in costs])
        how = "the guarantee of one release"
    elif kind == "approximate":
        target = _target(costs, delta)
        total, how = _approximate(costs, target)
        if any(cost.drawn is not None for cost in costs):
            foreseen, (total, how) = total, _the_less(costs, target)
    elif kind == "pure":
        total, how = PureDP(_sum(map(_pure, costs))), "basic composition: epsilons add"
    else:
        total, how = ZeroConcentratedDP(_sum(map(_zero_concentrated, costs))), _rho_words(costs)
    return Account(total, costs, how, joint.neighbours, joint.unit, joint.repeated, foreseen)


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def _item(release: object) -> Released | Cost:
    if isinstance(release, Released | Cost):
        return release
    if isinstance(release, Guarantee):
        return Cost(release)
    raise ParameterError("releases", "be releases, guarantees or costs", type(release).__name__)


def _default_kind(costs: Sequence[Cost], delta: object) -> str:
    if delta is not None:
        return "approximate"
    kinds = {cost.guarantee.kind for cost in costs}
    if kinds == {"pure"}:
        return "pure"
    return "approximate" if "approximate" in kinds else "zero-concentrated"


def _pure(cost: Cost) -> Fraction:
    if isinstance(cost.guarantee, PureDP):
        return cost.guarantee.epsilon
    raise ConversionError(
        f"A pure total needs pure releases; found {cost.guarantee}. "
        "Ask for one of kind 'approximate' or 'zero-concentrated'.",
        cost.guarantee,
    )


def _zero_concentrated(cost: Cost) -> Fraction:
    if cost.rho is not None:
        return cost.rho
    raise ConversionError(
        f"A zero-concentrated total needs releases that have a rho; found {cost.guarantee}, which "
        "allows any loss with probability delta. Ask for one of kind 'approximate'.",
        cost.guarantee,
    )


def _rho_words(costs: Sequence[Cost]) -> str:
    kinds = {cost.loss.kind for cost in costs}
    rules = [words for kind, words in _RHO_RULES.items() if kind in kinds]
    return "rhos add" + (f" ({'; '.join(rules)})" if rules else "")


_RHO_RULES = {
    "laplace": "epsilon + exp(-epsilon) - 1 for symmetric noise",
    "pure": "epsilon tanh(epsilon/2) for pure releases of unknown law",
    "block": "epsilon^2/(2 M) for a K-norm block of M dimensions",
    "blocks": "the largest sum of (shift/scale)^2/(2 M) for K-norm blocks",
    "range": "epsilon^2/8 for the exponential mechanism",
    "gaussian": "mu^2/2 for Gaussian noise",
}


def _target(costs: Sequence[Cost], delta: object) -> Fraction:
    """Delta of the total."""
    promised = _sum(map(_delta, costs))
    if delta is None and promised == 0:
        words = "be given where no release has one"
        raise ParameterError("delta", words, "None", f"A usual choice is {float(USUAL_DELTA):g}.")
    target = promised if delta is None else exact(delta, "delta")
    if not 0 < target < 1:
        raise ParameterError("delta", "lie strictly between 0 and 1", readable(target))
    return target


def _approximate(costs: Sequence[Cost], target: Fraction) -> tuple[ApproximateDP, str]:
    rules = [
        _basic(costs, target),
        _converted(costs, target, True),
        _converted(costs, target, False),
        _convolved(costs, target),
    ]
    valid = [bound for bound in rules if bound is not None]
    if not valid:
        words = "leave room for the deltas of the releases"
        remedy = f"They add up to {readable(_sum(map(_delta, costs)))}; give a larger delta."
        raise ParameterError("delta", words, readable(target), remedy)
    best = min(valid, key=lambda bound: bound[0])
    # A sum that anyone can check is kept where nothing to speak of is gained.
    plain = valid[0] if rules[0] is not None else best
    epsilon, how = plain if plain[0] * WORTH <= best[0] else best
    return ApproximateDP(epsilon, target), how


def _the_less(costs: Sequence[Cost], target: Fraction) -> tuple[ApproximateDP, str]:
    """In hindsight, or what was foreseen where that is less: which of them, what was released decides.

    So each must hold at half of delta, if what was promised leaves so much.
    """
    if _sum(map(_delta, costs)) > target / 2:
        return _in_hindsight(costs, target)
    bounds = [_in_hindsight(costs, target / 2), _approximate(costs, target / 2)]
    total, how = min(bounds, key=lambda bound: bound[0].epsilon)
    return ApproximateDP(total.epsilon, target), how


def _in_hindsight(costs: Sequence[Cost], target: Fraction) -> tuple[ApproximateDP, str]:
    """Of the laws that were drawn, given what they followed from: epsilons and deltas of both parts add.

    How delta is shared out may not depend on what was released, and follows from the costs of the rest.
    """
    drawn = [cost.drawn for cost in costs if cost.drawn is not None]
    charged = [cost for cost in costs if cost.drawn is not None]
    rest = [cost for cost in costs if cost.drawn is None]
    epsilon, left = Fraction(0), target
    if rest:
        epsilon, left = _epsilons(rest), target - _sum(map(_delta, rest))
        concentrated = any(isinstance(cost.guarantee, ZeroConcentratedDP) for cost in rest)
        if concentrated or _sum(map(_delta, charged)) <= target / 2:
            shared = _approximate(rest, target / 2)[0].epsilon
            if concentrated or shared < WORTH_SHARING * epsilon:
                epsilon, left = shared, target / 2
    total, how = _approximate(drawn, left)
    return ApproximateDP(epsilon + total.epsilon, target), f"{how.rstrip('.')}; {_GIVEN}"


_GIVEN = (
    "in hindsight: of the laws that followed from what was released, epsilon and delta of which are "
    "added. It holds where all parameters, and which releases are made, were fixed before the first was "
    "looked at."
)


def _delta(cost: Cost) -> Fraction:
    return cost.guarantee.delta if isinstance(cost.guarantee, ApproximateDP) else Fraction(0)


def _epsilons(costs: Sequence[Cost]) -> Fraction:
    guarantees = [cost.guarantee for cost in costs]
    return _sum(g.epsilon for g in guarantees if not isinstance(g, ZeroConcentratedDP))


def _basic(costs: Sequence[Cost], target: Fraction) -> Bound | None:
    """Epsilons add, deltas add."""
    if any(isinstance(cost.guarantee, ZeroConcentratedDP) for cost in costs):
        return None
    if _sum(map(_delta, costs)) > target:
        return None
    return _epsilons(costs), "basic composition: epsilons and deltas add"


def _converted(costs: Sequence[Cost], target: Fraction, pure_too: bool) -> Bound | None:
    """Add up in rho what has one (pure releases only if asked), convert once, add the rest."""
    inside: list[Cost] = []
    outside: list[Cost] = []
    for cost in costs:
        concentrated = pure_too if isinstance(cost.guarantee, PureDP) else cost.rho is not None
        (inside if concentrated else outside).append(cost)
    left = target - _sum(map(_delta, outside))
    if not inside or left <= 0:
        return None
    rho = _sum(cost.rho or Fraction(0) for cost in inside)
    epsilon, how = zcdp_epsilon(rho, left), f"{_rho_words(inside)}, to rho = {readable(rho)}, {_TIGHT}"
    if all(cost.loss.kind == "gaussian" for cost in inside):
        epsilon, how = gaussian_epsilon(rho, left), _EXACT
    epsilon += _epsilons(outside)
    return epsilon, how + (" The rest: epsilons and deltas add." if outside else "")


def _convolved(costs: Sequence[Cost], target: Fraction) -> Bound | None:
    """Convolve the distributions of all losses."""
    epsilon = composed_epsilon([cost.loss for cost in costs], target)
    return None if epsilon is None else (epsilon, _CONVOLVED)


_CONVOLVED = "privacy loss distributions of all releases, convolved and rounded up."
_TIGHT = "converted by the tight formula of Canonne, Kamath & Steinke (2020)."
_EXACT = "Gaussian lengths add in squares; exact profile of Balle & Wang (2018)."
