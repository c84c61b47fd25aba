"""Bands for the population: how far a mean of these units is from that of all others like them.

At the level p^(1/2) the mean of the units at hand lies within h(t) of the line. Their mean has a
standard deviation of at most s(t) = (v(t) / n)^(1/2) around the population's, and is close to normal.
For any correlation between m points the probability that all deviations stay within z s is at least
that of independent ones (Sidak 1967), so z is the quantile of |N| at p^(1/(2 m)). The band reaches h +
z s to each side.

**It is a theorem.** Whatever the units are, the noise stays within h with probability p^(1/2) at
least, and sampling, which does not know the noise, within z s likewise: both happen with probability p
at least, and then the triangle inequality holds. The root of h^2 + z^2 s^2, both at p, held .91 to .93
of .95. It is as exact as its parts: the normal law for the mean of n units, and the band for these
units.

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
    level: float,
) -> Band:
    """Widen a band around the mean of the units at hand to one around the population's.

    band: For the mean of the units at hand, at the level `each_part(level)`.
    values: array (k,). The line at its points.
    limits: (array, array). Public bounds (k,) or () on values.
    variance: Of a unit's value, public; without it the bounds say how large it is at most.
    size: Number of units, as far as it is known.
    places: Number of grid points.
    level: Of the band that is made.
    Raises ParameterError if neither a variance nor bounds on values are known, or the variance is
    unusable.
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
    deviation = np.sqrt(largest / size)
    return replace(sampled(band, values, deviation, places, level, limits), covers=said)


def each_part(level: float) -> float:
    """Level of the noise and of sampling, which are independent, so that both hold at `level`."""
    return float(level**0.5)


def sampled(
    band: Band,
    values: Floats,
    deviation: Floats,
    places: int,
    level: float,
    limits: Limits | None = None,
) -> Band:
    """Widen a band by sampling.

    band, values, places, level, limits: As in `for_population`.
    deviation: array (k,). At most that of the sampling error at the points.
    """
    from scipy.special import ndtri

    each = each_part(level)
    reach = float(ndtri((1 + (each ** (1 / places) if band.simultaneous else each)) / 2)) * deviation
    lower, upper = np.minimum(band.lower, values) - reach, np.maximum(band.upper, values) + reach
    return settled(replace(band, lower=lower, upper=upper, level=level), values, limits)


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
