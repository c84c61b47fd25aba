"""Publication of sums that each depend on those released before: charge for all, then draw and add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dpfda.noise import GaussianNoise, cost_of, repeated_width
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.guarantees import ApproximateDP, ZeroConcentratedDP
from dpfda.publication.accounts import NAMED, Paying, charge
from dpfda.publication.charging import certified_entry, recomputed


def publish_steps(
    summed: Callable[[Sequence[int]], IntegerSum],
    steps: int,
    noise: GaussianNoise,
    width: int,
    guarantee: ApproximateDP | ZeroConcentratedDP,
    entry: Mapping[str, object],
    paying: Paying = NAMED,
    mechanism: Mapping[str, object] | None = None,
) -> tuple[tuple[int, ...], Certificate]:
    """Charge once for all steps, then sum up, draw and add, step by step.

    Parameters
    ----------
    summed : callable
        Takes what the step before released, nothing at first, and returns the private integers of the
        next.
    steps : int
        How many there are.
    noise : GaussianNoise
        Law of the noise of each step. Only of normal noise it is known what its steps cost together.
    width : int
        Whatever was released before, neighbouring data sets move the integers of a step by at most this
        length.
    guarantee : ApproximateDP or ZeroConcentratedDP
        Of all steps together.
    entry, paying, mechanism
        As in `dpfda.publication.publish_integers`.

    Returns
    -------
    tuple of int, Certificate
        Noisy integers of all steps, one after another, public; and what was promised and charged.

    Raises
    ------
    DpfdaError
        If all steps together cost more than the guarantee.
    """
    achieved = recomputed(noise, "l2", repeated_width(width, steps), guarantee)
    costs = {WHOLE: cost_of(noise, achieved, guarantee)}
    certificate = certified_entry(costs, entry, mechanism).fulfilled(achieved)
    charge(paying, certificate, entry)
    released: list[int] = []
    noisy: tuple[int, ...] = ()
    for _ in range(steps):
        noisy = summed(noisy).with_noise(noise.draw())
        released += noisy
    return tuple(released), certificate
