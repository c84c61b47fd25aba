"""What a release, or a stage of it, costs: a guarantee, and the privacy loss that is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition.losses import (
    BlockLoss,
    BlocksLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    loss_of,
)
from dpfda.privacy.composition.neighbours import for_replace_one
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, checked_guarantee, within

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
        if loss is not None and not isinstance(loss, Loss):
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
