"""What a release, or a stage of it, costs, and which costs are to be added up: each charge once.

What may be spent where each release's loss, too, is chosen by what was released before.

A *filter* is a rule, fixed beforehand, by which the next release is refused, such that all that was let
through is within the budget whatever was chosen (Rogers, Roth, Ullman & Vadhan 2016). Here it is
Gaussian, with a buffer b that is never spent. A symmetric release with losses within [-e, e] is charged
the least v with

    log(1 + v/b) / 2 + v/8  >=  -log of the integral of exp(-l^2 / (2 b)) m(dl),

m(dl) = exp(-l/2) P(dl), and Gaussian noise its squared length. If charges add up to at most w on every
path, all releases together are within Gaussian noise of squared length b + w. Proof:
docs/composition.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Protocol, runtime_checkable

from flint import acb, arb

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import PRECISION, at_least, enclosed, precision, turning, upper_end
from dpfda.numerics.parameters import shown
from dpfda.numerics.specials import narrowed
from dpfda.privacy.caveats import Caveat, HasCaveats, check_covered
from dpfda.privacy.composition.block_profile import loss_weights
from dpfda.privacy.composition.conversions import for_replace_one, gaussian_delta
from dpfda.privacy.composition.losses import (
    EXACT_DIMENSION,
    ApproximateLoss,
    BlockLoss,
    BlocksLoss,
    GaussianLoss,
    KnownLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RangeLoss,
    loss_of,
)
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    checked_guarantee,
    within,
)

# Of symmetric additive laws, which one Laplace variable of their epsilon covers.
SYMMETRIC = (LaplaceLoss, BlockLoss, BlocksLoss)


@dataclass(frozen=True)
class Cost:
    """What one release, or one stage of it, costs: a guarantee, and the loss that is known to give it.

    Parameters
    ----------
    guarantee : Guarantee
        What it gives, rounded outward.
    loss : Loss, optional
        What is known of the privacy loss before anything is drawn, whatever law will be. By default no
        more than the guarantee. It is what ledgers charge.
    drawn : Cost, optional
        Of the law that was drawn, where it followed from numbers released before it, such as a count.
        Two costs are equal whatever was drawn: they are one charge.

    Raises
    ------
    ParameterError
        If such a loss cannot give a guarantee of this kind, or does not cover the law that was drawn.

    Examples
    --------
    >>> from dpfda.privacy.composition import LaplaceLoss
    >>> from dpfda.privacy.guarantees import PureDP
    >>> print(Cost(PureDP(1), LaplaceLoss(1)).loss.describe())
    symmetric noise of loss 1
    """

    guarantee: Guarantee
    loss: Loss
    drawn: Cost | None = field(compare=False)

    def __init__(
        self, guarantee: Guarantee, loss: Loss | None = None, drawn: Cost | None = None
    ) -> None:
        if loss is not None and not isinstance(loss, KnownLoss | Loss):
            raise ParameterError("loss", "be a privacy loss", shown(loss))
        object.__setattr__(self, "guarantee", checked_guarantee(guarantee))
        object.__setattr__(self, "loss", loss_of(guarantee) if loss is None else loss)
        needed = {"pure": "epsilon", "zero-concentrated": "rho"}.get(self.guarantee.kind)
        if needed is not None and getattr(self.loss, needed) is None:
            raise ParameterError(
                "loss", f"have the {needed} of the guarantee", f"{self.loss.describe()}, which has none"
            )
        object.__setattr__(self, "drawn", drawn)
        if drawn is not None and (_cost(drawn, "drawn").drawn is not None or not self.covers(drawn)):
            words = f"be covered by {self.guarantee}, {self.loss.describe()}"
            raise ParameterError("drawn", words, f"{drawn.guarantee}, {drawn.loss.describe()}")

    @classmethod
    def awaited(cls, guarantee: Guarantee, losses: Iterable[Loss | None]) -> Cost:
        """The cost of a stage whose law will follow from earlier ones.

        Parameters
        ----------
        guarantee : Guarantee
        losses : iterable of Loss or None
            Of laws that it may have. Where all are symmetric and pure they have one in common, that of
            one Laplace variable; of others no more than the guarantee is charged.
        """
        if not isinstance(losses, Iterable):
            raise ParameterError("losses", "be several", shown(losses))
        if isinstance(guarantee, PureDP) and all(isinstance(loss, SYMMETRIC) for loss in losses):
            return cls(guarantee, LaplaceLoss(guarantee.epsilon))
        return cls(guarantee)

    def covers(self, other: Cost) -> bool:
        """Whether another cost is known to be no larger, in its guarantee and in its loss."""
        if not within(_cost(other, "other").guarantee, self.guarantee):
            return False
        if self.loss in (other.loss, loss_of(self.guarantee)):
            return True
        own = other.loss.epsilon if isinstance(other.loss, SYMMETRIC) else None
        return isinstance(self.loss, LaplaceLoss) and own is not None and own <= self.loss.epsilon

    def drawn_as(self, law: Cost) -> Cost:
        """The cost with that of the law that was drawn, also where it says no more.

        What is added up in hindsight may not depend on what was released, so that every law is marked.

        Raises
        ------
        ParameterError
            If it is not covered.
        """
        return Cost(self.guarantee, self.loss, _cost(law, "law"))

    @property
    def rho(self) -> Fraction | None:
        """Cost in zero-concentrated terms, or None where it has none."""
        return self.loss.rho

    def for_replace_one(self) -> Cost:
        """The cost under replace-one neighbours of a release made for add/remove neighbours."""
        if self.drawn is not None:
            charged = Cost(self.guarantee, self.loss).for_replace_one()
            return Cost(charged.guarantee, charged.loss, self.drawn.for_replace_one())
        loss = self.loss.for_group(2)
        exact_law = isinstance(loss, BlockLoss | GaussianLoss)
        if exact_law and isinstance(self.guarantee, ApproximateDP):
            # The shift doubles, so the profile is known: no need of the general rule.
            epsilon = 2 * self.guarantee.epsilon
            return Cost(ApproximateDP(epsilon, loss.delta(epsilon)), loss)
        return Cost(for_replace_one(self.guarantee), loss)

    def to_json(self) -> dict[str, object]:
        """Guarantee and loss, as they are charged, with exact numbers."""
        terms = {term: str(getattr(self.guarantee, term)) for term in self.guarantee.terms}
        return {"guarantee": {"kind": self.guarantee.kind, **terms}, "loss": self.loss.to_json()}


def _cost(value: object, name: str) -> Cost:
    if not isinstance(value, Cost):
        raise ParameterError(name, "be a cost", shown(value))
    return value


# Blocks of fewer or more dimensions are charged as Laplace noise of their loss.
LEAST_DIMENSION = 3
# Exponentials of more than twice this are not written out as numbers.
LARGEST_EXPONENT = 100


@lru_cache(maxsize=1024)
def gaussian_limit(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest squared length t, rounded down, for which G_t is within (epsilon, delta).

    epsilon, delta: Positive; delta below 1.
    """

    def within(square: Fraction) -> bool:
        with precision(PRECISION):
            root = upper_end(enclosed(square).sqrt())
        return gaussian_delta(epsilon, root) <= delta

    return turning(within)[0]


@lru_cache(maxsize=4096)
def filter_charge(loss: Loss, buffer: Fraction) -> Fraction | None:
    """Charge v of a release to the filter with this buffer, rounded up; None where none is known.

    An (epsilon, delta) loss is charged as the coin; its delta must be added to that of the filter.

    Parameters
    ----------
    loss : Loss
    buffer : Fraction
        b, positive.

    Examples
    --------
    >>> v = filter_charge(LaplaceLoss("0.01"), Fraction(1, 400))
    >>> print(round(float(v), 8))
    0.00010168
    """
    if isinstance(loss, GaussianLoss):
        return 2 * loss.rho
    if isinstance(loss, ApproximateLoss):
        loss = PureLoss(loss.epsilon)
    if isinstance(loss, BlocksLoss) or (
        isinstance(loss, BlockLoss) and not LEAST_DIMENSION <= loss.dimension <= EXACT_DIMENSION
    ):
        loss = LaplaceLoss(loss.epsilon)
    if not isinstance(loss, PureLoss | LaplaceLoss | RangeLoss | BlockLoss):
        return None
    with precision(PRECISION):
        smoothed = _smoothed(loss, buffer)
        if not smoothed > 0:
            # Not enough digits of a block's integral; Laplace noise of its loss is worse.
            return filter_charge(LaplaceLoss(loss.epsilon), buffer)
        needed = -smoothed.log()

        def short(v: Fraction) -> bool:
            return not (enclosed(v / buffer)).log1p() / 2 + enclosed(v / 8) >= needed

        # Either term alone is enough there; the first, written out, may have more digits than memory.
        high = at_least(8 * needed)
        if needed < LARGEST_EXPONENT:
            high = min(high, at_least(enclosed(buffer) * (2 * needed).expm1()))
        return at_least(narrowed(short, Fraction(0), high * (1 + Fraction(1, 2**40)))[1])


def _smoothed(loss: PureLoss | LaplaceLoss | RangeLoss | BlockLoss, buffer: Fraction) -> arb:
    """The integral of exp(-l^2 / (2 b)) m(dl)."""
    e, b = enclosed(loss.epsilon), enclosed(buffer)
    atom = (-e * e / (2 * b)).exp()
    # Of exp(-l^2 / (2 b)) from -e to e.
    between = (2 * arb.pi() * b).sqrt() * (e / (2 * b).sqrt()).erf()
    if isinstance(loss, PureLoss):
        return atom / (e / 2).cosh()
    if isinstance(loss, LaplaceLoss):
        return (-e / 2).exp() * (atom + between / 4)
    if isinstance(loss, RangeLoss):
        return between / (4 * (e / 2).sinh())
    first, second = loss_weights(loss.dimension, loss.epsilon, PRECISION)
    power = loss.dimension - 2

    def integrand(psi: acb, _: bool) -> acb:
        sine, cosine = psi.sin(), psi.cos()
        square = sine * sine
        return sine**power * (first + second * square) * (-((e * cosine) ** 2) / (2 * b)).exp()

    return arb(acb.integral(integrand, 0, arb.pi(), rel_tol=arb(2) ** -90, abs_tol=arb(2) ** -90).real)


class Charged(HasCaveats, Protocol):
    """What composition reads of a certificate."""

    @property
    def charges(self) -> tuple[tuple[str, str, Cost], ...]:
        """The key of each stage's charge, ending with the cost."""

    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def unit(self) -> str | None: ...


@runtime_checkable
class Released(Protocol):
    """Anything that carries a certificate: a release of any kind, a session, a private selection."""

    @property
    def certificate(self) -> Charged:
        """What it promises and what it cost."""


@dataclass(frozen=True)
class Charge:
    """What a ledger charged for one release, whose stages it does not name.

    Parameters
    ----------
    identity : str
        The release's, which is found again in its files.
    costs : tuple of Cost
        All that was charged, under `neighbours`.
    neighbours : Neighbours
    unit : str or None
        None where it was charged in advance and no release has stated it.
    """

    identity: str
    costs: tuple[Cost, ...]
    neighbours: Neighbours
    unit: str | None
    # A ledger's rows are each fit of a search; what its scores tell, its listing says.
    caveats: ClassVar[tuple[Caveat, ...]] = ()

    @property
    def certificate(self) -> Charge:
        """Itself, so that it is added up where releases are."""
        return self

    @property
    def charges(self) -> tuple[tuple[str, str, Cost], ...]:
        """The key of each stage's charge."""
        return tuple((self.identity, f"{i}", cost) for i, cost in enumerate(self.costs))


@dataclass(frozen=True)
class Common:
    """Costs that can be added.

    costs: All under `neighbours`.
    neighbours: None where only bare costs were given, without their relation.
    unit: The privacy unit; None where only bare costs were given.
    charged: How many charges of their own the items are: releases, and bare costs.
    repeated: Of each item, whether it adds nothing, because what it costs is counted with another.
    """

    costs: tuple[Cost, ...]
    neighbours: Neighbours | None
    unit: str | None
    charged: int
    repeated: tuple[bool, ...]


def common(items: Sequence[Released | Cost], neighbours: Neighbours | str | None) -> Common:
    """Costs of all items under one neighbour relation and for one privacy unit.

    A stage of a release is counted once, however many derivatives, parts and copies of the release are
    listed: they carry one identity. Releases that were charged separately never do, whatever they cost.
    What a ledger charged for a release is all that it cost: its files add nothing to that.

    Raises ParameterError if units differ, or the relation of a bare guarantee is not known. Raises
    NotCoveredError if a release is more than its guarantee covers.
    """
    certificates = [item.certificate for item in items if isinstance(item, Released)]
    check_covered(certificates)
    unit = _one_unit({certificate.unit for certificate in certificates if certificate.unit})
    relations = {certificate.neighbours for certificate in certificates}
    stated = None if neighbours is None else Neighbours.parse(neighbours)
    bare = len(certificates) < len(items)
    if bare and stated is None:
        if len(relations) > 1:
            raise ParameterError("neighbours", "say for which relation the bare guarantees hold", "None")
        stated = next(iter(relations), None)
    if bare and stated is not None:
        relations.add(stated)
    mixed = len(relations) > 1
    costs: list[Cost] = []
    seen: set[tuple[str, str, Cost]] = set()
    rows = {(c.identity, cost) for c in certificates if isinstance(c, Charge) for cost in c.costs}
    repeated: list[bool] = []
    for item in items:
        own = item.certificate.neighbours if isinstance(item, Released) else stated
        parts = _parts(item)
        counted = () if isinstance(item, Charge) else rows
        new = [
            cost for key, cost in parts
            if key is None or (key not in seen and (key[0], cost) not in counted)
        ]  # fmt: skip
        seen |= {key for key, _ in parts if key is not None}
        repeated.append(not new)
        convert = mixed and own is Neighbours.ADD_REMOVE
        costs += [cost.for_replace_one() for cost in new] if convert else new
    relation = Neighbours.REPLACE_ONE if mixed else next(iter(relations), None)
    identities = {charge[0] for certificate in certificates for charge in certificate.charges}
    charged = len(identities) + len(items) - len(certificates)
    return Common(tuple(costs), relation, unit, charged, tuple(repeated))


def _parts(item: Released | Cost) -> list[tuple[tuple[str, str, Cost] | None, Cost]]:
    """The costs of an item, each with the key of its charge; None without one."""
    if isinstance(item, Released):
        # The cost is part of the key: where files disagree on it, both are counted.
        return [(charge, charge[-1]) for charge in item.certificate.charges]
    return [(None, item)]


def _one_unit(units: set[str]) -> str | None:
    if len(units) > 1:
        raise ParameterError(
            "releases",
            "protect the same privacy unit",
            " and ".join(repr(unit) for unit in sorted(units)),
            "Where a unit has at most k of the other, use for_group(guarantee, k) and add guarantees.",
        )
    return next(iter(units), None)
