"""dp-accounting: the privacy losses of releases as its events, for its accountants.

An event stands for a pair of laws that is no better than what a release was drawn from, between data
sets that are neighbours in the sense of the release. What an event means depends on the relation that
the accountant was made with:

===============================  ==========================================  ==========================
loss of a release                ``ADD_OR_REMOVE_ONE``, ``REPLACE_SPECIAL``  ``REPLACE_ONE``
===============================  ==========================================  ==========================
Gaussian noise of rho            Gaussian, multiplier (2 rho)^(-1/2)         the same
Laplace noise, K-norm blocks     Laplace, multiplier 1 / epsilon             as any pure law
exponential mechanism, any pure  Laplace, 2 log((1 + exp(epsilon)) / 2)      coin of odds exp(epsilon)
any law of rho                   zero-concentrated event                     the same
===============================  ==========================================  ==========================

The relation of the accountant is a matter of what its events are made for; who the neighbours are, the
release says. By the default relation any pure law is a little more expensive than it is: at t from 0 to
epsilon the Laplace profile exceeds that of the coin by (exp(t / 2) - 1)^2 / (1 + exp(epsilon)). By
``REPLACE_ONE`` it is exact; but there the accountant of loss distributions doubles Gaussian distances.
"""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING

from dpfda.numerics.errors import ConversionError, ParameterError, needed
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import (
    BlockLoss,
    BlocksLoss,
    ConcentratedLoss,
    Cost,
    GaussianLoss,
    LaplaceLoss,
)
from dpfda.privacy.composition.costs import Released, common

if TYPE_CHECKING:
    from dp_accounting import DpEvent, NeighboringRelation

# Floats are moved to the private side by more than a few roundings.
CAREFUL = 1 + 2.0**-48
# Above it the odds of a coin are beyond floats.
LARGEST = 700.0


def event(*releases: Released, relation: NeighboringRelation | None = None) -> DpEvent:
    """What releases of one data set cost, as an event of dp-accounting.

    Parameters
    ----------
    *releases : releases or certificates
        Derivatives, parts and copies of a release count once. If some are for add/remove neighbours and
        others for replacing one, the former are turned into the latter.
    relation : NeighboringRelation, optional
        That of the accountant; by default ``ADD_OR_REMOVE_ONE``, which is that of accountants, too.

    Returns
    -------
    DpEvent
        One event, or several composed.

    Raises
    ------
    ParameterError
        If nothing is given, or the releases protect different units.
    ConversionError
        If a release has a delta and its law is not known: dp-accounting has no event for it.
    MissingExtraError
        If dp-accounting is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from dp_accounting.pld import PLDAccountant
    >>> from dpfda import PrivateMean
    >>> mean = PrivateMean(1.0, 1e-6, bounds=(-1, 1), mechanism="gaussian")
    >>> accountant = PLDAccountant().compose(event(mean.fit(np.zeros((9, 8))).release_))
    >>> round(accountant.get_epsilon(1e-6), 3)
    1.0
    """
    with needed("dp-accounting", "accounting", "An event"):
        import dp_accounting
    if not releases or not all(isinstance(release, Released) for release in releases):
        raise ParameterError("releases", "be releases, one or more", shown(releases))
    relations = dp_accounting.NeighboringRelation
    if relation is not None and not isinstance(relation, relations):
        raise ParameterError("relation", "be a NeighboringRelation of dp-accounting", shown(relation))
    coins = relation is relations.REPLACE_ONE
    events = [_event(dp_accounting, cost, coins) for cost in common(list(releases), None).costs]
    return events[0] if len(events) == 1 else dp_accounting.ComposedDpEvent(events)


def _event(events: ModuleType, cost: Cost, coins: bool) -> DpEvent:
    loss = cost.loss
    if isinstance(loss, GaussianLoss):
        return events.GaussianDpEvent(1 / math.sqrt(2 * float(loss.rho)) / CAREFUL)
    if isinstance(loss, ConcentratedLoss):
        return events.ZCDpEvent(float(loss.rho) * CAREFUL)
    if loss.epsilon is None or loss.kind == "approximate":
        raise ConversionError(
            f"An event needs a known law, or no delta; found {cost.guarantee}, {loss.describe()}. Use "
            "dpfda.privacy.composition.compose.",
            cost.guarantee,
        )
    epsilon = float(loss.epsilon) * CAREFUL
    if coins:
        # A truth that is told with probability 1 - p, else a fair coin: odds (2 - p) / p.
        share = 2 / (1 + math.exp(epsilon)) if epsilon < LARGEST else 0.0
        return events.RandomizedResponseDpEvent(share / CAREFUL, 2)
    if isinstance(loss, LaplaceLoss | BlockLoss | BlocksLoss):
        return events.LaplaceDpEvent(1 / epsilon)
    return events.LaplaceDpEvent(1 / (2 * _log_mean(epsilon) * CAREFUL))


def _log_mean(epsilon: float) -> float:
    """log((1 + exp(epsilon)) / 2), without cancellation or overflow."""
    if epsilon < 1:
        return math.log1p(math.expm1(epsilon) / 2)
    return epsilon - math.log(2) + math.log1p(math.exp(-epsilon))
