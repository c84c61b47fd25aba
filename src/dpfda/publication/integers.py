"""Exact integers from private to public, where somebody else has proved how far they move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpfda.bounds import Norm
from dpfda.noise import Calibrated, GaussianNoise, NoiseLaw, cost_of, repeated_width
from dpfda.noise.shares import share_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    within,
)
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.charging import charged_for, recomputed

# Stages of a release.
OBJECTIVE, MINIMISER = "perturbed objective", "noise on the minimiser"


def publish_integers(
    total: IntegerSum,
    noise: Calibrated,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge, draw, add, for integers whose sensitivity somebody else has proved.

    total: Private integers.
    noise: The law on all of them, what it must give, and by how much neighbours move them.
    entry: Public description for the ledger's history and the certificate.
    paying: As in `publish`.
    mechanism: Its name and public tuning for the certificate; by default the name in `entry`.
    Returns the noisy integers, public; and what was promised and charged.
    """
    certificate = charged_for({WHOLE: noise.cost()}, noise.achieved(), entry, paying, mechanism)
    return total.with_noise(noise.law.draw()), certificate


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

    solve: Takes the rounded perturbation (secret) and returns private integers.
    perturbation: Law of the perturbation, in grid units of the gradient.
    loss: What the exact minimiser of the perturbed objective costs, as the caller has proved.
    noise, norm, width: Law of the noise on the integers, given that for one exact minimiser two
        neighbouring data sets give integers at most `width` apart in this norm.
    shares: (PureDP, PureDP). Budgets of the two steps.
    entry, paying, mechanism: As in `dpfda.publication.publish_integers`.
    Returns the noisy integers, public; and what was promised and charged for both steps.
    Raises DpfdaError if a step costs more than its budget.
    """
    first, second = shares
    if not within(loss, first):
        raise DpfdaError(f"The perturbation gives {loss}, which is more than {first}.")
    achieved = recomputed(noise, norm, width, second)
    costs = {OBJECTIVE: Cost(first), MINIMISER: cost_of(noise, achieved, second)}
    certificate = charged_for(costs, added([loss, achieved]), entry, paying, mechanism)
    return solve(perturbation.draw()).with_noise(noise.draw()), certificate


def publish_steps(
    summed: Callable[[Sequence[int]], IntegerSum],
    steps: int,
    noise: GaussianNoise,
    width: int,
    guarantee: ApproximateDP | ZeroConcentratedDP,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
    moving: int | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge once for all steps, then sum up, draw and add, step by step.

    summed: Takes what the step before released, nothing at first, and returns the private integers of
        the next.
    steps: How many there are.
    noise: Law of the noise of each step. Only of normal noise it is known what its steps cost together.
    width: Whatever was released before, neighbouring data sets move the integers of a step by at most
        this length.
    guarantee: Of all steps together.
    entry, paying, mechanism: As in `dpfda.publication.publish_integers`.
    moving: How many steps neighbouring data sets move, at most; all of them by default.
    Returns the noisy integers of all steps, one after another; and what was promised and charged.
    Raises DpfdaError if all steps together cost more than the guarantee.
    """
    achieved = recomputed(noise, "l2", repeated_width(width, moving or steps), guarantee)
    costs = {WHOLE: cost_of(noise, achieved, guarantee)}
    certificate = charged_for(costs, achieved, entry, paying, mechanism)
    released: list[int] = []
    noisy: tuple[int, ...] = ()
    for _ in range(steps):
        noisy = summed(noisy).with_noise(noise.draw())
        released += noisy
    return tuple(released), certificate


def statistic_noise(guarantee: Guarantee) -> Calibrated:
    """Noise on a statistic that moves by at most 2^20, the units of a table of one cell.

    Returns, as `share_noise`: what is added or removed there is one unit, of one share.
    """
    return share_noise(1, guarantee, Neighbours.ADD_REMOVE)
