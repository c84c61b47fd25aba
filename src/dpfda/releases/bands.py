"""Bands: for what would have been published without noise, and for the population behind the units.

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

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from dpfda.estimates.widths import LEAST_LEVEL
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, flag, probability, real, reals, shown, values_at
from dpfda.numerics.specials import normal_quantile
from dpfda.numerics.words import so_many

DRAWS = 20_000
# Draws are simulated in parts, and their number is limited by this many multiplications.
WORK = 4 * 10**10
FEWEST_DRAWS = 1000
PART = 500
# Points of a band that are simulated at a time, so that memory stays small.
CHUNK = 128
# What a band is a band for: the same estimate without noise; what an unlimited budget would publish of
# these units; the function of the population that they are a sample of.
Of = Literal["noise", "sample", "population"]
OFS: tuple[Of, ...] = get_args(Of)

Limits = tuple[Floats, Floats]


@dataclass(frozen=True)
class Asked:
    """Which band is asked for; see `dpfda.releases.base.Banded.band`."""

    level: float = 0.95
    simultaneous: bool = True
    of: Of | None = None
    exact: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Band:
    """A band around a released function.

    Parameters
    ----------
    points : array (k,), or (k, d) for functions of d variables
        Points of the domain.
    lower, upper : array (k,)
        The band, in the units of the function.
    level : float
        Its probability.
    simultaneous : bool
        Whether the probability is for all points at once.
    covers : str
        What it covers beside the noise, in words.
    """

    points: Floats
    lower: Floats
    upper: Floats
    level: float
    simultaneous: bool
    covers: str = ""

    def __repr__(self) -> str:
        lowest, highest = (f"{end:.6g}" for end in (self.lower.min(), self.upper.max()))
        what = f"{self.level:g}, {'everywhere at once' if self.simultaneous else 'at each point'}"
        where = so_many(len(self.lower), "point")
        return f"Band({what}: lower and upper at {where}, from {lowest} to {highest})"

    def contains(self, values: Floats) -> bool:
        """Whether a curve on the same points lies in the band everywhere."""
        curve = self._read(values)
        return bool(np.all((self.lower <= curve) & (curve <= self.upper)))

    def _read(self, values: Floats) -> Floats:
        curve = reals(values, "values")
        if curve.shape != self.lower.shape:
            raise ParameterError("values", f"be {self.lower.size} numbers, one a point", shown(values))
        return curve

    def reach(self, values: Floats) -> Floats:
        """Distance (k,) from a curve on the same points to the farther end of the band."""
        curve = self._read(values)
        return np.maximum(self.upper - curve, curve - self.lower)


def limits_of(bound: Mapping[str, object], points: int) -> Limits | None:
    """Public bounds on values, () or (m,), that were stated for a grid of m points; None for others.

    bound: Of a certificate; it may come from a file.
    points: Number m of points of the grid.
    Raises ParameterError if they are not finite numbers in order, one or one a point.
    """
    if bound.get("kind") != "values":
        return None
    try:
        lower, upper = (np.asarray(bound[end], dtype=np.float64) for end in ("lower", "upper"))
    except (KeyError, TypeError, ValueError):
        raise ParameterError("bound", "state its lower and upper values", "others") from None
    shaped = all(end.shape in ((), (points,)) for end in (lower, upper))
    if not (shaped and np.all(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))):
        raise ParameterError("bound", "have lower <= upper, finite, one or one a grid point", "others")
    return lower, upper


def settled(band: Band, values: Floats, limits: Limits | None = None) -> Band:
    """A band that holds the line: widened where the line leaves it, then cut at public bounds.

    values: array (k,). The line at the band's points.
    limits: (array, array). Ends, () or (k,), that the line was cut at. What lay in the band and between
        them still does.
    """
    lower, upper = np.minimum(band.lower, values), np.maximum(band.upper, values)
    if limits is not None:
        lower, upper = np.clip(lower, *limits), np.clip(upper, *limits)
    return replace(band, lower=lower, upper=upper)


def check_level(level: float, simultaneous: bool = True) -> float:
    """Read a level, a probability strictly between 0 and 1, and the kind of band that it is for."""
    flag(simultaneous, "simultaneous")
    return probability(level, "level")


def check_of(of: object) -> Of | None:
    """Read what a band is for; None is the first that a release states."""
    return None if of is None else cast("Of", choice(of, "of", OFS))


def make_band(
    values: Floats,
    functions: Floats,
    drawn: Callable[[np.random.Generator, int], Floats],
    request: Asked,
    points: Floats,
) -> Band:
    """Band around values, from simulated errors (draws, M) of the coefficients.

    The simultaneous band is values plus or minus q sd(t), with sd(t) the standard deviation of the
    error at t and q the level's quantile of its largest standardised size over the points; the
    pointwise band takes each point's own quantile.

    The simulation is of a public law and decides nothing private, so it runs from a fixed key: one
    release has one band, however often it is asked for. It has 20,000 draws, fewer (at least 1000)
    where many points meet many coefficients.
    """
    draws = min(DRAWS, max(FEWEST_DRAWS, WORK // functions.size))
    generator = np.random.Generator(np.random.Philox(key=0))
    errors = np.empty((draws, functions.shape[0]))
    for start in range(0, draws, PART):
        rows = slice(start, min(start + PART, draws))
        errors[rows] = drawn(generator, rows.stop - rows.start) @ functions.T
    sizes = np.abs(errors, out=errors)
    return band_from_errors(values, sizes, request.level, request.simultaneous, points)


def band_from_errors(
    values: Floats, errors: Floats, level: float, simultaneous: bool, points: Floats
) -> Band:
    """Band around values (k,) from sizes (draws, k) of simulated errors; see `make_band`."""
    if simultaneous:
        deviation = np.sqrt(np.mean(errors**2, axis=0))
        safe = np.where(deviation > 0, deviation, 1.0)
        width = np.quantile((errors / safe).max(axis=1, initial=0.0), level, method="higher") * deviation
    else:
        width = np.quantile(errors, level, axis=0, method="higher")
    return Band(points, values - width, values + width, float(level), simultaneous)


def simulated_widths(
    functions: Floats, noise: Floats, power: Floats, level: float, simultaneous: bool
) -> Floats:
    """Half-widths (q,) of a band for linear forms of coordinates, by draws of their noise.

    functions: array (q, N). The linear forms.
    noise: array (draws, N). Draws of the noise in the coordinates.
    power: array (N,). Variances of that noise.
    level: Probability of the band.
    simultaneous: Whether all forms are held at once, by one multiple of their deviations, or each by
        itself.
    Returns array (q,).
    """
    if not simultaneous:
        widths = [
            np.quantile(np.abs(noise @ part.T), level, axis=0, method="higher")
            for part in _chunks(functions)
        ]
        return np.concatenate(widths)
    deviations = np.sqrt(functions**2 @ power)
    largest = np.zeros(noise.shape[0])
    for part, scale in zip(_chunks(functions), _chunks(deviations), strict=True):
        errors = np.abs(noise @ part.T) / np.where(scale > 0, scale, 1.0)
        largest = np.maximum(largest, errors.max(axis=1))
    return np.asarray(np.quantile(largest, level, method="higher") * deviations)


def largest_size(matrices: Floats, level: float) -> float:
    """What the largest eigenvalue, in size, of symmetric matrices (draws, M, M) stays below."""
    largest = np.abs(np.linalg.eigvalsh(matrices)).max(axis=1)
    return float(np.quantile(largest, level, method="higher"))


def _chunks(array: Floats) -> Iterator[Floats]:
    return (array[start : start + CHUNK] for start in range(0, array.shape[0], CHUNK))


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
    covers = STATED if largest is not None else BOUNDED
    if limits is not None:
        # What bounds on values allow for a mean inside the band.
        (lower, upper), middle = limits, (limits[0] + limits[1]) / 2
        nearest = np.clip(middle, band.lower, band.upper)
        allowed = np.maximum((upper - nearest) * (nearest - lower), 0.0)
        largest = allowed if largest is None else np.minimum(largest, allowed)
    assert largest is not None  # noqa: S101
    deviation = np.sqrt(largest / size)
    return replace(sampled(band, values, deviation, places, level, limits), covers=covers)


def each_part(level: float) -> float:
    """Level of the noise and of sampling, which are independent, so that both hold at `level`."""
    return float(level**0.5)


@contextmanager
def asked_level(level: float) -> Iterator[None]:
    """Make a refusal of the level of a part one of the level that was asked of both."""
    try:
        yield
    except ParameterError as error:
        if error.parameter != "level":
            raise
        words = f"be at least {LEAST_LEVEL**2:.3g} for a band of the population around one for the mean"
        raise ParameterError("level", words, repr(level)) from None


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
    part = each_part(level)
    alone = part ** (1 / places) if band.simultaneous else part
    reach = float(normal_quantile((1 + alone) / 2)) * deviation
    lower, upper = np.minimum(band.lower, values) - reach, np.maximum(band.upper, values) + reach
    return settled(replace(band, lower=lower, upper=upper, level=level), values, limits)


def stated_variance(variance: Variance | None, points: Floats) -> Floats | None:
    """The variance (k,) that was stated, at points; None where none was."""
    if variance is None:
        return None
    if callable(variance):
        return np.maximum(values_at(variance, "variance", points), 0.0)
    return np.full(points.shape, real(variance, "variance", 0.0, 1e200))
