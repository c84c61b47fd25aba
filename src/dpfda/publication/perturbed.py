"""Publication of a minimiser of a perturbed objective: charge, perturb, minimise, add noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpfda.bounds import Norm
from dpfda.noise import NoiseLaw, cost_of
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import PureDP, added, within
from dpfda.publication import certified_entry, charge, recomputed
from dpfda.publication.accounts import NAMED, Paying

# Stages of a release.
OBJECTIVE, MINIMISER = "perturbed objective", "noise on the minimiser"


def publish_perturbed(
    solve: Callable[[Sequence[int]], IntegerSum],
    perturbation: NoiseLaw,
    loss: PureDP,
    noise: NoiseLaw,
    norm: Norm,
    width: int,
    shares: tuple[PureDP, PureDP],
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw the perturbation, solve, then draw and add the noise that hides inexactness.

    Parameters
    ----------
    solve : callable
        Takes the rounded perturbation (secret) and returns private integers.
    perturbation : NoiseLaw
        Law of the perturbation, in grid units of the gradient.
    loss : PureDP
        What the exact minimiser of the perturbed objective costs, as the caller has proved.
    noise, norm, width
        Law of the noise on the integers, given that for one exact minimiser two neighbouring data sets
        give integers at most `width` apart in this norm.
    shares : (PureDP, PureDP)
        Budgets of the two steps.
    entry, paying, mechanism
        As in `dpfda.publication.publish_integers`.

    Returns
    -------
    tuple of int, Certificate
        Noisy integers, public; and what was promised and charged for both steps.

    Raises
    ------
    DpfdaError
        If a step costs more than its budget.
    """
    first, second = shares
    if not within(loss, first):
        raise DpfdaError(f"The perturbation gives {loss}, which is more than {first}.")
    achieved = recomputed(noise, norm, width, second)
    costs = {OBJECTIVE: Cost(first), MINIMISER: cost_of(noise, achieved, second)}
    certificate = certified_entry(costs, entry, mechanism).fulfilled(added([loss, achieved]))
    charge(paying, certificate, entry)
    return solve(perturbation.draw()).with_noise(noise.draw()), certificate
