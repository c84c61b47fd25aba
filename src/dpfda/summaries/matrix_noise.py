"""Strategies for a covariance and its components, and what deviations are counted from, as objects."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.mechanisms.design.covariance import LARGEST_SIZE
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, shown, whole
from dpfda.numerics.rationals import exact
from dpfda.privacy.guarantees import PureDP, pure_part
from dpfda.publication.moments import Shares, SubspaceShares
from dpfda.summaries.settings import Gathered


@dataclass(frozen=True, repr=False, eq=False)
class Center(Gathered):
    """What is subtracted from every record, and how long the deviations may be. Public.

    Parameters
    ----------
    curve : "private", curve, number, callable, ReleasedFunction, "bound" or "pairs"
        "private" (the default) releases the mean first, with a share of the budget, and takes that;
        deviations are then measured, and shortened, around a curve close to the mean, and the covariance
        exceeds that around the exact mean by the square of the released mean's error. A curve, a number
        or a function is public, for example an earlier release of the mean. "bound" is the middle of the
        bound: the release is then a second moment around it.
        "pairs" needs no center: units 1 and 2, 3 and 4, ... (in the order of the rows or, with `groups`,
        of the labels) become one record (x - x') / sqrt(2), whose second moment is the covariance.
        Nothing is spent on a mean, but there are half as many records. Replace-one neighbours only; an
        odd unit is left out.
    radius : float or "private", optional
        L2 length (units of the data times the root of those of the domain) to which a record's deviation
        from the center is shortened. A number is public: noise grows with its square, and about twice
        the root mean square deviation is a good value. "private" chooses it from noisy counts, with a
        share of the budget. By default "private" where the curve is, else what `bounds` imply.
    mean_share, radius_share : float
        Share of the budget that the mean gets where the curve is "private", and share of the rest for
        the choice of the radius, between 0 and 1.

    Examples
    --------
    >>> Center("private", radius=0.12)
    Center(curve='private', radius=0.12)
    """

    curve: Any = None
    radius: float | str | None = None
    mean_share: Any = 0.35
    radius_share: Any = 0.15
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

    law: Any = "auto"
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
    direction_share: Any = 0.5

    @property
    def share(self) -> Fraction:
        """The share, exactly.

        Raises
        ------
        ParameterError
            If it is not between 0 and 1.
        """
        return open_share(self.direction_share, "direction_share")


def open_share(value: object, name: str) -> Fraction:
    """A share of a budget, strictly between 0 and 1."""
    share = exact(value, name)
    if not 0 < share < 1:
        raise ParameterError(name, "lie strictly between 0 and 1", shown(value))
    return share


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
    components = whole(components, "functions", words="be None or a positive integer")
    if not count < components <= min(LARGEST_SIZE, basis.eigenvalues.size):
        raise ParameterError(
            "n_components",
            f"be below the number of basis functions ({components})",
            repr(count),
            "Ask for fewer; more need a larger budget, or a mechanism of so many functions.",
        )
    return SubspaceShares.of(shares.rest, count, int(components), strategy.share)


def _best_components(shares: Shares, basis: Basis, size: int | None, count: int, share: float) -> int:
    """Number M of functions with the least expected loss of variance, from public numbers.

    A direction drawn at rate r loses about (M - 1) / (2 r n) of variance; the functions left out lose
    their part of the prior. Where the number of units is not yet public, a hundred of them are assumed.
    """
    parts = basis.eigenvalues / basis.eigenvalues.sum()
    shared = isinstance(shares.rest, PureDP)
    epsilon = float(pure_part(shares.rest if shared else shares.whole).epsilon)
    largest = min(LARGEST_SIZE, parts.size)
    sizes = np.arange(count + 1, largest + 1)
    if sizes.size == 0:
        return int(largest)
    lost = 0.25 * (1 - np.cumsum(parts)[sizes - 1])
    loss = count * (sizes - 1) / (epsilon * share / count * (size or 100)) + lost
    return int(sizes[np.argmin(loss)])


__all__ = ["Center", "Exponential", "MatrixNoise", "open_share", "subspace_shares"]
