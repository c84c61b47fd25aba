"""Epsilon as a risk: how well the best attacker tells two neighbouring data sets apart.

An attacker who knows all but one unit's data decides from what was published which of two neighbouring
data sets it was made of. A *false alarm* decides for the second where it was the first, a *miss* the
other way round. With delta(e) the profile of all releases, at every real e and every test (Wasserman &
Zhou 2010; Dong, Roth & Su 2022, Proposition 2.12)

    misses >= 1 - delta(e) - exp(e) false alarms,

and some test attains the largest of these lower bounds over e. The *advantage*, 1 - false alarms -
misses, is at most delta(0), the total variation distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.numerics.speed import remembered
from dpfda.privacy.composition.conversions import zcdp_epsilon
from dpfda.privacy.composition.costs import Cost
from dpfda.privacy.composition.distributions import composed
from dpfda.privacy.composition.losses import BlockLoss, BlocksLoss, GaussianLoss, loss_of
from dpfda.privacy.guarantees import added

# The profile is looked at this often from 0 to the largest loss, or to where it is less than SMALL, but
# no farther than LARGEST. Every point gives a bound.
POINTS, LARGEST, SMALL = 96, Fraction(16), Fraction(1, 10**9)
# Blocks of larger losses take long to integrate.
LARGEST_BLOCK = 64
# False alarms at which words state what is found.
FALSE_ALARMS = (0.01, 0.05, 0.1)


@dataclass(frozen=True)
class AttackRisk:
    """What the best attacker can reach, who knows everything but one unit's data.

    Parameters
    ----------
    advantage : float
        Largest 1 - false alarms - misses, from 0 (guessing) to 1 (certainty), rounded up.
    slopes : tuple of float
        Privacy losses e at which the profile is known.
    deltas : tuple of float
        The profile there, rounded up.

    Examples
    --------
    >>> from dpfda.privacy.composition import Cost, GaussianLoss
    >>> from dpfda.privacy.guarantees import ZeroConcentratedDP
    >>> risk = attack_risk([Cost(ZeroConcentratedDP("1/2"), GaussianLoss("1/2"))])
    >>> print(f"{risk.advantage:.3f} {risk.misses(0.05):.2f}")
    0.383 0.74
    """

    advantage: float
    slopes: tuple[float, ...]
    deltas: tuple[float, ...]

    @property
    def guess(self) -> float:
        """Largest chance to be right where both data sets are equally likely beforehand."""
        return (1 + self.advantage) / 2

    def misses(self, false_alarms: ArrayLike) -> Floats:
        """Least rate of misses at rates of false alarms: the trade-off between them.

        Parameters
        ----------
        false_alarms : float or array
            From 0 to 1.

        Returns
        -------
        array
            Of the same shape, rounded down.

        Raises
        ------
        ParameterError
            If a rate is none.
        """
        rates = np.asarray(false_alarms, dtype=float)
        if not np.all((rates >= 0) & (rates <= 1)):
            raise ParameterError("false_alarms", "be from 0 to 1", "others")
        slopes, deltas = np.exp(self.slopes), np.array(self.deltas)
        lines = 1 - deltas - slopes * rates[..., None]
        # Floats err by far less than this.
        return np.asarray(np.maximum(lines.max(axis=-1) - 1e-12, 0.0))

    def __str__(self) -> str:
        rates = ", ".join(
            f"{_percent(1 - float(self.misses(rate)))} at {100 * rate:g}%" for rate in FALSE_ALARMS
        )
        guess = f"the best attacker guesses right at most {_percent(self.guess)} of the time"
        return f"{guess} (50% is chance), and finds at most {rates} false alarms"


def _percent(most: float) -> str:
    """A probability that is at most so much, in per cent with two decimals, rounded up."""
    return f"{math.ceil(1e4 * most - 1e-9) / 100:g}%"


def attack_risk(costs: Iterable[Cost]) -> AttackRisk:
    """The risk from releases of one data set together, by what is known of their losses.

    Parameters
    ----------
    costs : iterable of Cost
        Of all releases, under one neighbour relation, as they were charged.

    Returns
    -------
    AttackRisk
        For neighbours in either order, and releases chosen after looking at those before, as long as
        their losses were fixed beforehand.

    Raises
    ------
    ParameterError
        If there is none.
    """
    try:
        listed = list(costs)
    except TypeError:
        listed = []
    if not listed or not all(isinstance(cost, Cost) for cost in listed):
        raise ParameterError("costs", "be costs, one or more", shown(costs))
    return _risk(listed)


@remembered(16)
def _risk(listed: list[Cost]) -> AttackRisk:
    profile, end = _profile(listed), _end(listed)
    slopes = [end * k / POINTS for k in range(POINTS + 1)]
    deltas = [min(1.0, math.nextafter(float(profile(slope)), 1.0)) for slope in slopes]
    # Below zero the profile is its own mirror image: 1 - e^e + e^e delta(-e).
    turned = [
        (-float(slope), -math.expm1(-slope) + math.exp(-slope) * delta)
        for slope, delta in zip(slopes[1:], deltas[1:], strict=True)
    ]
    points = [*reversed(turned), *zip(map(float, slopes), deltas, strict=True)]
    return AttackRisk(deltas[0], *map(tuple, zip(*points, strict=True)))


def _end(costs: Sequence[Cost]) -> Fraction:
    """Where the profile is next to nothing, as far as sums say."""
    ends = [LARGEST]
    epsilons = [cost.loss.epsilon for cost in costs if cost.loss.epsilon is not None]
    rhos = [cost.loss.rho for cost in costs if cost.loss.rho is not None]
    if len(epsilons) == len(costs):
        ends.append(sum(epsilons, Fraction(0)))
    if len(rhos) == len(costs):
        ends.append(zcdp_epsilon(sum(rhos, Fraction(0)), SMALL))
    return min(ends)


def _profile(costs: Sequence[Cost]) -> Callable[[Fraction], Fraction]:
    losses = [cost.loss for cost in costs]
    for place, loss in enumerate(losses):
        if isinstance(loss, BlockLoss) and loss.epsilon > LARGEST_BLOCK:
            # Of a block with hardly any noise: a bound of its profile, which is found at once.
            losses[place] = BlocksLoss(loss.epsilon, loss.rho)
    if all(isinstance(loss, GaussianLoss) for loss in losses):
        rhos = [loss.rho for loss in losses if loss.rho is not None]
        return GaussianLoss(sum(rhos, Fraction(0))).delta
    if len(losses) == 1:
        return losses[0].delta
    joint = composed(losses, SMALL)
    if joint is not None:
        return joint.delta
    # Losses beyond every grid: what guarantees add up to, where they add up to one.
    try:
        return loss_of(added([cost.guarantee for cost in costs])).delta
    except ParameterError:
        return lambda _: Fraction(1)
