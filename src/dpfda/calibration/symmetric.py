"""Sums of outer products: how far one record moves them, and noise calibrated to exactly that.

A record is an integer vector c with |c|_2 <= R, verified in integers, and adds the integer matrix
c c^T to the sum. Between neighbours the sum moves by D, and exactly, in integers:

- *replace-one*, D = c c^T - c'c'^T. |D|_F^2 = |c|^4 + |c'|^4 - 2 (c.c')^2 <= 2 R^4, attained by
  orthogonal vectors of length R. D has at most two eigenvalues other than zero and is a difference of
  positive matrices of trace at most R^2, so the nuclear norm tr|D| is at most 2 R^2, attained likewise.
  For M = 1 there are no orthogonal vectors: |D| = |c^2 - c'^2| <= R^2.
- *add/remove*, D = c c^T: |D|_F = tr|D| = |c|^2 <= R^2.

Losses, each an upper end of a ball or exact:

- K-norm, density exp(-|X|_F / c): at most |D|_F / c, by the triangle inequality.
- Gaussian: the exact profile at mu = |D|_F / s, since in orthonormal coordinates the deviations are all
  s and |D|_F is the length of D.
- A difference A - B of Wishart matrices with M + 1 degrees of freedom and covariance c I: at most
  tr|D| / (2c). The density of X = A - B is, up to a constant,

      f(X) = integral over A >= 0, A >= X of exp(-(2 tr A - tr X) / (2c)) dA.

  Write D = P - N with its positive and negative parts. In f(X + D) put A = A' + P. The region,
  A' + P >= 0 and A' >= X - N, contains A' >= 0, A' >= X, and the exponent is that of f(X) minus
  (2 tr P - tr D) / (2c) = tr|D| / (2c). So f(X + D) >= exp(-tr|D| / (2c)) f(X) for all X and D, which is
  pure differential privacy. It is attained in the limit: v'Xv is c times a difference of two chi-square
  variables of M + 1 degrees of freedom, whose tails fall like exp(-x / (2c)).

The expected square of the noise, |.|_F^2, is M (M + 1) / 2 times the power: for K-norm noise it grows
like M^4, for the difference of Wishart matrices like M^3, because that law fits the nuclear norm.
(Adding one Wishart matrix is not private at all: X >= S is then certain, and a neighbour may break it.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dpfda.calibration.gaussian import gaussian_ratio
from dpfda.composition import gaussian_delta
from dpfda.composition.rounding import root_at_least
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP
from dpfda.noise.symmetric import (
    SymmetricGaussianNoise,
    SymmetricKNormNoise,
    SymmetricNoise,
    WishartDifferenceNoise,
)

NAMES = ("wishart", "knorm", "gaussian")


@dataclass(frozen=True)
class OuterDifference:
    """How far one record moves a sum of outer products, in squared grid units.

    Parameters
    ----------
    frobenius_square : int
        Largest |D|_F^2.
    trace : int
        Largest tr|D|.
    """

    frobenius_square: int
    trace: int

    @classmethod
    def of(cls, size: int, radius: int, neighbours: Neighbours) -> Self:
        """For integer vectors of the given size and length at most `radius`."""
        apart = neighbours is Neighbours.REPLACE_ONE and size > 1
        factor = 2 if apart else 1
        return cls(factor * radius**4, factor * radius**2)

    @property
    def frobenius(self) -> Fraction:
        """Largest |D|_F, rounded up."""
        return root_at_least(Fraction(self.frobenius_square))


def symmetric_noise(
    name: str, size: int, difference: OuterDifference, guarantee: Guarantee
) -> SymmetricNoise:
    """Scale a law on symmetric matrices to a guarantee.

    Parameters
    ----------
    name : {"wishart", "knorm", "gaussian"}
    size : int
        Number of rows.
    difference : OuterDifference
        How far neighbouring sums are apart.
    guarantee : PureDP or ApproximateDP
        What the noise must give. Pure noise under an approximate guarantee uses its epsilon alone.

    Raises
    ------
    RefusedMechanismError
        If the law cannot give the guarantee.
    ParameterError
        If the name is unknown.
    """
    if name not in NAMES:
        raise ParameterError("mechanism", f"be 'auto' or one of {', '.join(NAMES)}", repr(name))
    if not isinstance(guarantee, PureDP | ApproximateDP):
        raise RefusedMechanismError(
            "guarantee", "be pure or approximate for a covariance", f"{guarantee}"
        )
    if name == "gaussian":
        ratio = gaussian_ratio(guarantee)
        return SymmetricGaussianNoise(size, math.ceil(difference.frobenius / ratio))
    if name == "knorm":
        return SymmetricKNormNoise(size, math.ceil(difference.frobenius / guarantee.epsilon))
    return WishartDifferenceNoise(size, math.ceil(difference.trace / (2 * guarantee.epsilon)))


def stated_symmetric(
    noise: SymmetricNoise, difference: OuterDifference, requested: Guarantee
) -> PureDP | ApproximateDP:
    """Recompute, from the integer scale in force, what a law gives; rounded outward.

    Raises
    ------
    RefusedMechanismError
        If the law is not one of this library's, or cannot give a guarantee of this kind.
    """
    # The types themselves: a subclass may draw another law.
    if type(noise) is WishartDifferenceNoise:
        return PureDP(Fraction(difference.trace, 2 * noise.scale))
    if type(noise) is SymmetricKNormNoise:
        # The very number that scales are made from: no second rounding can put it above the request.
        return PureDP(difference.frobenius / noise.scale)
    if type(noise) is SymmetricGaussianNoise and isinstance(requested, ApproximateDP):
        mu = difference.frobenius / noise.scale
        return ApproximateDP(requested.epsilon, gaussian_delta(requested.epsilon, mu))
    raise RefusedMechanismError("mechanism", "suit the guarantee", f"{noise.describe()} for {requested}")
