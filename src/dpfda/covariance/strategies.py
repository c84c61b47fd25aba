"""Strategies for a covariance and its components, their centers, and how they share a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.covariance.design import LARGEST_SIZE
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import below_one, choice, whole
from dpfda.privacy.composition import Cost, RangeLoss
from dpfda.privacy.guarantees import Guarantee, PureDP, pure_part, split
from dpfda.publication import COUNT_SHARE
from dpfda.publication.distances import DISTANCE
from dpfda.releases.staged import RADIUS
from dpfda.spine.arguments import Number, PublicCurve
from dpfda.spine.settings import Gathered

# Below this number of units times epsilon half of the records are better than a share for a mean.
PAIRED = 30_000
# Share of the budget for a mean beside pairs, as the origin of scores; for one as the center, and of the
# rest for a radius, where the number of units is private.
SCORES_SHARE, MEAN_SHARE, RADIUS_SHARE = 0.2, 0.35, 0.15
# Stages of a release.
COUNT, MEAN, MOMENTS, VARIANCES = "count", "mean", "second moments", "variances"


@dataclass(frozen=True, repr=False, eq=False)
class Center(Gathered):
    """What is subtracted from every record, and how long the deviations may be. Public.

    Parameters
    ----------
    curve : "auto", "private", "pairs", curve, number, callable, ReleasedFunction or "bound"
        "auto" (the default) is "pairs" where the public number of units times epsilon is below 30,000
        and neighbours differ by replacement, else "private"; where components are sought, a mean is
        released beside pairs, as the origin of scores.
        "private" releases the mean first, with a share of the budget, and takes that;
        deviations are then measured, and shortened, around a curve close to the mean, and the covariance
        exceeds that around the exact mean by the square of the released mean's error. A curve, a number
        or a function is public, for example an earlier release of the mean. "bound" is the middle of the
        bound: the release is then a second moment around it.
        "pairs" needs no center: units are paired at random, whatever their data, and each pair becomes
        one record (x - x') / sqrt(2), whose second moment is the covariance. Nothing needs to be spent
        on a mean, but there are half as many records. Replace-one neighbours only; an odd unit is left
        out.
    radius : float or "private", optional
        L2 length (units of the data times the root of those of the domain) to which a record's deviation
        from the center is shortened. A number is public: noise grows with its square, and about twice
        the root mean square deviation is a good value. "private" chooses it from noisy counts, with a
        share of the budget. By default "private" where the curve is, or units are paired, else what
        `bounds` imply. Of curves that are pooled it is how far single values deviate, in units of the
        data, and "private" is two or more deviations of the released mean, at no further cost.
    mean_share : float, optional
        Share of the budget that the mean gets, between 0 and 1: by default that of the function
        `mean_share` where the curve is "private", .2 beside pairs for scores. Given with "pairs", a mean
        is released beside them.
    radius_share : float, optional
        Share of the rest for the choice of the radius, between 0 and 1; by default that of
        the function `radius_share`.

    Examples
    --------
    >>> Center("private", radius=0.12)
    Center(curve='private', radius=0.12)
    """

    curve: PublicCurve | None = None
    radius: float | str | None = None
    mean_share: Number = None
    radius_share: Number = None
    shorthand: ClassVar[str] = "curve"


@dataclass(frozen=True, repr=False, eq=False)
class MatrixNoise(Gathered):
    """Noise on the sum of outer products: the whole covariance is released. Public.

    Parameters
    ----------
    law : {"auto", "coupled", "wishart", "knorm", "gaussian"}
        Differences of positive matrices, their traces coupled or independent, or a K-norm law (all
        pure), or Gaussian (delta > 0). "auto" is the one with the least expected error.
    functions : int, optional
        Number M of basis functions. By default the one with the least expected error, from public
        numbers.
    shrinkage : {"prior", "none"}
        Shrink the noisy coordinates under the kernel's prior, its scale fitted to the noisy release
        (free); or leave them. Either way negative eigenvalues are then removed.

    Examples
    --------
    >>> MatrixNoise("gaussian", functions=8)
    MatrixNoise(law='gaussian', functions=8)
    """

    law: str = "auto"
    functions: int | None = None
    shrinkage: str = "prior"
    shorthand: ClassVar[str] = "law"

    def __post_init__(self) -> None:
        choice(self.shrinkage, "shrinkage", ("prior", "none"))


@dataclass(frozen=True, repr=False, eq=False)
class Exponential(Gathered):
    """Components one by one: directions by the exponential mechanism, then the variances along them.

    Parameters
    ----------
    functions : int, optional
        Number M of basis functions within which components are sought; by default from public numbers.
    direction_share : float
        Share of the budget for the directions, in equal parts; the rest is for the variances.

    Examples
    --------
    >>> Exponential(direction_share=0.7)
    Exponential(direction_share=0.7)
    """

    functions: int | None = None
    direction_share: float | Fraction = 0.5

    @property
    def share(self) -> Fraction:
        """The share, exactly.

        Raises
        ------
        ParameterError
            If it is not between 0 and 1.
        """
        return below_one(self.direction_share, "direction_share")


@dataclass(frozen=True)
class Shares:
    """How a budget is split; the parts compose to the whole by basic composition.

    Parameters
    ----------
    guarantee : Guarantee
    count : PureDP or None
        For the number of units, under add/remove without a public size.
    mean : PureDP or None
        For the mean, where it is released as the center.
    radius : PureDP or None
        For the choice of the length that deviations are shortened to.
    rest : Guarantee
        For the second moments.
    distance : PureDP or None
        For the largest distance from the covariance of the units.
    """

    guarantee: Guarantee
    count: PureDP | None
    mean: PureDP | None
    radius: PureDP | None
    rest: Guarantee
    distance: PureDP | None = None

    @classmethod
    def of(
        cls,
        guarantee: Guarantee,
        counted: bool,
        mean_share: Fraction | None,
        radius_share: Fraction | None = None,
        distance_share: Fraction | None = None,
    ) -> Shares:
        """Split off a tenth for a count, if one is released, and of the rest for each other stage."""
        rest: Guarantee = guarantee
        count = mean = radius = distance = None
        if counted:
            count, rest = split(rest, COUNT_SHARE)
        if mean_share is not None:
            mean, rest = split(rest, mean_share)
        if distance_share is not None:
            distance, rest = split(rest, distance_share)
        if radius_share is not None:
            radius, rest = split(rest, radius_share)
        return cls(guarantee, count, mean, radius, rest, distance)

    def describe(self) -> dict[str, str]:
        """The split in words, for the release and the ledger."""
        before = {COUNT: self.count, MEAN: self.mean, DISTANCE: self.distance, RADIUS: self.radius}
        parts = {**before, MOMENTS: self.rest}
        return {name: str(part) for name, part in parts.items() if part is not None}


@dataclass(frozen=True, eq=False)
class SubspaceShares:
    """Budget of the exponential mechanism: a direction at a time, then the variances along them.

    Each direction is drawn from the Bingham law with density proportional to exp(rate v'Sv). Between
    neighbours v'Sv moves by v'Dv, which lies in [-R^2, R^2] under replace-one and in [0, R^2] under
    add/remove, R the verified length of the integer rows; the normalising constant moves by no more.
    So the log density moves by at most 2 rate R^2, or rate R^2 (there both terms have one sign and
    partly cancel), and rate = epsilon / (2 R^2), or epsilon / R^2, is pure epsilon. Rounding the
    direction to a public grid is post-processing of the exact draw. The next direction is drawn in the
    orthogonal complement of those before, which are public by then, with a budget of its own.

    Parameters
    ----------
    components : int
        Number M of functions within which directions are sought.
    directions : tuple of PureDP
        Budget of each direction.
    variances : Guarantee
        Budget of the covariance within the subspace.
    """

    components: int
    directions: tuple[PureDP, ...]
    variances: Guarantee

    @classmethod
    def of(cls, rest: Guarantee, count: int, components: int, share: Fraction) -> SubspaceShares:
        """Give a share of the budget to `count` directions in equal parts, the rest to the variances."""
        parts = []
        for left in range(count, 0, -1):
            # Of the whole share each direction gets one part: share / count of the original epsilon.
            part, rest = split(rest, share / count / (1 - share * Fraction(count - left, count)))
            parts.append(part)
        return cls(components, tuple(parts), rest)

    def costs(self) -> dict[str, Cost]:
        """What each direction and the variances are charged.

        The log density of a direction moves within an interval of length epsilon. The law of the
        variances' noise follows from the directions.
        """
        named = {
            f"direction {i + 1}": Cost(part, RangeLoss(part.epsilon))
            for i, part in enumerate(self.directions)
        }
        return {**named, VARIANCES: Cost(self.variances)}

    def describe(self) -> dict[str, str]:
        """The split in words."""
        return {stage: str(cost.guarantee) for stage, cost in self.costs().items()}


def mean_share(strength: Fraction | None) -> Fraction:
    """Share of the budget for a mean as the center, by the number of units times epsilon, S.

    .35 (5000 / S)^.3, from .15 to .6, to two digits: the fewer units, the more the mean's own error adds
    to all deviations. Set on sets of real curves; it decides accuracy alone.

    Examples
    --------
    >>> [str(mean_share(Fraction(strength))) for strength in (300, 1500, 5000, 100_000)]
    ['3/5', '1/2', '7/20', '3/20']
    """
    if strength is None:
        return Fraction(str(MEAN_SHARE))
    return _share(0.35 * (5000 / float(strength)) ** 0.3, 0.15, 0.6)


def radius_share(strength: Fraction | None) -> Fraction:
    """Share of the rest for the choice of a radius: 3.5 / S^(1/2), from .03 to .25, to two digits.

    Examples
    --------
    >>> [str(radius_share(Fraction(strength))) for strength in (300, 1500, 5000)]
    ['1/5', '9/100', '1/20']
    """
    if strength is None:
        return Fraction(str(RADIUS_SHARE))
    return _share(3.5 / math.sqrt(float(strength)), 0.03, 0.25)


def distance_share(strength: Fraction) -> Fraction:
    """Share for the largest distance: .08 (1000 / S)^.3, from .02 to .08, to two digits.

    Examples
    --------
    >>> [str(distance_share(Fraction(strength))) for strength in (300, 5000, 20_000)]
    ['2/25', '1/20', '3/100']
    """
    return _share(0.08 * (1000 / float(strength)) ** 0.3, 0.02, 0.08)


def _share(value: float, least: float, largest: float) -> Fraction:
    return Fraction(round(100 * min(max(value, least), largest)), 100)


def subspace_shares(
    shares: Shares, basis: Basis, size: int | None, strategy: Exponential, count: int
) -> SubspaceShares:
    """Shares of the budget for `count` directions within the functions of a basis.

    Raises
    ------
    ParameterError
        If there are too few functions.
    """
    components = strategy.functions
    if components is None:
        components = _best_components(shares, basis, size, count, float(strategy.share))
    components = whole(components, "functions", words="be $none or a positive integer")
    if not count < components <= min(LARGEST_SIZE, basis.eigenvalues.size):
        words = f"be below the number of basis functions ({components})"
        remedy = "Ask for fewer; more need a larger budget, or a mechanism of so many functions."
        raise ParameterError("n_components", words, repr(count), remedy)
    return SubspaceShares.of(shares.rest, count, int(components), strategy.share)


def _best_components(shares: Shares, basis: Basis, size: int | None, count: int, share: float) -> int:
    """Number M of functions with the least expected loss of variance, from public numbers.

    A direction drawn at rate r loses about (M - 1) / (2 r n) of variance; the functions left out lose
    their part of the prior. Where the number of units is not yet public, a hundred of them are assumed.
    """
    parts = basis.eigenvalues / basis.eigenvalues.sum()
    shared = isinstance(shares.rest, PureDP)
    epsilon = float(pure_part(shares.rest if shared else shares.guarantee).epsilon)
    largest = min(LARGEST_SIZE, parts.size)
    sizes = np.arange(count + 1, largest + 1)
    if sizes.size == 0:
        return int(largest)
    lost = 0.25 * (1 - np.cumsum(parts)[sizes - 1])
    loss = count * (sizes - 1) / (epsilon * share / count * (size or 100)) + lost
    return int(sizes[np.argmin(loss)])
