"""What a release, or a stage of it, costs: a guarantee, and the privacy loss that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition.loss import Loss
from dpfda.privacy.composition.losses import BlockLoss, GaussianLoss, loss_of
from dpfda.privacy.composition.neighbours import for_replace_one
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, checked_guarantee


@dataclass(frozen=True)
class Cost:
    """What one release, or one stage of it, costs: a guarantee, and the loss that is known to give it.

    Parameters
    ----------
    guarantee : Guarantee
        What it gives, rounded outward.
    loss : Loss, optional
        What is known of the privacy loss. By default no more than the guarantee.

    Raises
    ------
    ParameterError
        If such a loss cannot give a guarantee of this kind.

    Examples
    --------
    >>> from dpfda.privacy.composition import LaplaceLoss
    >>> from dpfda.privacy.guarantees import PureDP
    >>> print(Cost(PureDP(1), LaplaceLoss(1)).loss.describe())
    Laplace noise of loss 1
    """

    guarantee: Guarantee
    loss: Loss

    def __init__(self, guarantee: Guarantee, loss: Loss | None = None) -> None:
        if loss is not None and not isinstance(loss, Loss):
            raise ParameterError("loss", "be a privacy loss", shown(loss))
        object.__setattr__(self, "guarantee", checked_guarantee(guarantee))
        object.__setattr__(self, "loss", loss_of(guarantee) if loss is None else loss)
        needed = {"pure": "epsilon", "zero-concentrated": "rho"}.get(self.guarantee.kind)
        if needed is not None and getattr(self.loss, needed) is None:
            raise ParameterError(
                "loss", f"have the {needed} of the guarantee", f"{self.loss.describe()}, which has none"
            )

    @property
    def rho(self) -> Fraction | None:
        """Cost in zero-concentrated terms, or None where it has none."""
        return self.loss.rho

    def for_replace_one(self) -> Cost:
        """The cost under replace-one neighbours of a release made for add/remove neighbours."""
        loss = self.loss.for_group(2)
        exact_law = isinstance(loss, BlockLoss | GaussianLoss)
        if exact_law and isinstance(self.guarantee, ApproximateDP):
            # The shift doubles, so the profile is known: no need of the general rule.
            epsilon = 2 * self.guarantee.epsilon
            return Cost(ApproximateDP(epsilon, loss.delta(epsilon)), loss)
        return Cost(for_replace_one(self.guarantee), loss)

    def to_json(self) -> dict[str, object]:
        """Guarantee and loss with exact numbers."""
        terms = {term: str(getattr(self.guarantee, term)) for term in self.guarantee.terms}
        return {"guarantee": {"kind": self.guarantee.kind, **terms}, "loss": self.loss.to_json()}
