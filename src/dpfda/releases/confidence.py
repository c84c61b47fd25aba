"""Bands for the population: how far a mean of these units is from that of all others like them.

A band for the mean of the units at hand has half-width h(t). Their mean has a standard deviation of at
most s(t) = (v(t) / n)^(1/2) around the population's, and is close to normal. For any correlation between
m points the probability that all deviations stay within z s is at least that of independent ones (Sidak
1967), so z is the quantile of |N| at level^(1/m), m being the number of grid points. Noise and sampling
are independent, and the band reaches (h^2 + z^2 s^2)^(1/2) to each side. That root is a rule and no
theorem: for each part at its own level only the sum h + z s, both at the root of the level, is proved to
hold. With values that are independent from point to point (white sampling) as large as the noise, a
nominal .95 held .79 to .92.

Of the variance v of a unit's value at a point there are two sources here: one that is *stated*, known to
be public; and the *bounds*, free: a value between L and U with mean mu has a variance of at most
(U - mu)(mu - L) (Bhatia & Davis 2000), for which the largest in the band for mu is taken.

A regression's coefficients deviate likewise, with the variance of residuals in the place of v; around a
mean that is not known for each unit's covariates bounds allow ((U - L) / 2)^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real, values_at
from dpfda.releases.bands import Band, Limits, settled

# A variance that is known to be public: one for all points, or a function of points.
Variance = float | Callable[[Floats], ArrayLike]
STATED = "sampling with the variance that was stated"
BOUNDED = "sampling with the largest variance that the bounds allow"


def for_population(
    band: Band,
    values: Floats,
    limits: Limits | None,
    variance: Variance | None,
    size: float,
    places: int,
) -> Band:
    """Widen a band around the mean of the units at hand to one around the population's.

    Parameters
    ----------
    band : Band
        Of the noise alone.
    values : array (k,)
        The line at its points.
    limits : (array, array), optional
        Public bounds (k,) or () on values.
    variance : float, callable, optional
        Of a unit's value, public; without it the bounds say how large it is at most.
    size : float
        Number of units, as far as it is known.
    places : int
        Number of grid points.

    Raises
    ------
    ParameterError
        If neither a variance nor bounds on values are known, or the variance is unusable.
    """
    largest = stated_variance(variance, band.points)
    if largest is None and limits is None:
        words = "be stated where values have no public bounds"
        raise ParameterError("variance", words, "None", "It must be known to be public.")
    said = STATED if largest is not None else BOUNDED
    if limits is not None:
        allowed = _allowed(band, limits)
        largest = allowed if largest is None else np.minimum(largest, allowed)
    assert largest is not None  # noqa: S101
    return replace(sampled(band, values, np.sqrt(largest / size), places, limits), covers=said)


def sampled(
    band: Band, values: Floats, deviation: Floats, places: int, limits: Limits | None = None
) -> Band:
    """Widen a band by sampling.

    Parameters
    ----------
    band, values, places, limits
        As in `for_population`.
    deviation : array (k,)
        At most that of the sampling error at the points.
    """
    from scipy.special import ndtri

    level = band.level ** (1 / places) if band.simultaneous else band.level
    reach = float(ndtri((1 + level) / 2)) * deviation
    lower = values - np.hypot(values - np.minimum(band.lower, values), reach)
    upper = values + np.hypot(np.maximum(band.upper, values) - values, reach)
    return settled(replace(band, lower=lower, upper=upper), values, limits)


def _allowed(band: Band, limits: Limits) -> Floats:
    """Largest variance (k,) that bounds on values allow for a mean inside the band."""
    lower, upper = limits
    nearest = np.clip((lower + upper) / 2, band.lower, band.upper)
    return np.asarray(np.maximum((upper - nearest) * (nearest - lower), 0.0))


def stated_variance(variance: Variance | None, points: Floats) -> Floats | None:
    """The variance (k,) that was stated, at points; None where none was."""
    if variance is None:
        return None
    if callable(variance):
        return np.maximum(values_at(variance, "variance", points), 0.0)
    return np.full(points.shape, real(variance, "variance", 0.0, 1e200))
