"""Publication of a minimiser of a perturbed objective: charge, perturb, minimise, add noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dpfda.aggregate import IntegerSum
from dpfda.bounds import Norm
from dpfda.calibration import stated_guarantee, within
from dpfda.errors import DpfdaError
from dpfda.guarantees import Guarantee, PureDP
from dpfda.ledger import Ledger
from dpfda.noise import NoiseLaw
from dpfda.publication import charge


def publish_perturbed(
    solve: Callable[[Sequence[int]], IntegerSum],
    perturbation: NoiseLaw,
    loss: PureDP,
    noise: NoiseLaw,
    norm: Norm,
    width: int,
    guarantee: Guarantee,
    entry: Mapping[str, Any],
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> tuple[tuple[int, ...], PureDP]:
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
    guarantee : Guarantee
        The budget.
    entry, ledger, dataset
        As in `dpfda.publication.publish_integers`.

    Returns
    -------
    tuple of int, PureDP
        Noisy integers, public; and the loss of both steps together.

    Raises
    ------
    DpfdaError
        If both steps cost more than the budget.
    """
    second = stated_guarantee(noise, norm, width, PureDP(guarantee_epsilon(guarantee)))
    if not isinstance(second, PureDP):
        raise DpfdaError(f"The noise gives {second}, which is not pure.")
    stated = PureDP(loss.epsilon + second.epsilon)
    if not within(stated, guarantee):
        raise DpfdaError(f"Perturbation and noise give {stated}, which is more than {guarantee}.")
    charge(ledger, dataset, stated, entry)
    return solve(perturbation.draw()).with_noise(noise.draw()), stated


def guarantee_epsilon(guarantee: Guarantee) -> Any:
    """The epsilon that pure noise may spend under a pure or approximate guarantee."""
    epsilon = getattr(guarantee, "epsilon", None)
    if epsilon is None:
        raise DpfdaError(f"A perturbed objective has no cost in the terms of {guarantee}.")
    return epsilon
