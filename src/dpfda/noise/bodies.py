"""The K-norm laws of a box and of an ellipsoid, and their losses.

Neighbouring sums differ by a vector d of a *box* |d_j| <= w_j or an *ellipsoid* sum_j d_j^2 / w_j^2
<= 1 (a ball is taken as the box or ellipsoid of equal sizes). A law whose log density is minus a norm,
shifted by d, has loss at most that norm of d (triangle inequality), attained where z is a large multiple
of d; the supremum of a norm over a convex body is at an extreme point:

- box noise, max_j |z_j| / b_j: max_j w_j / b_j on either body;
- ellipsoid noise, (sum_j z_j^2 / a_j^2)^(1/2): (sum_j w_j^2 / a_j^2)^(1/2) on the box, at a vertex;
  max_j w_j / a_j on the ellipsoid, at the end of an axis.

All of these are rational numbers or roots of such, rounded up.

Some coordinates of box noise on more of them: what one of several functions sees of one law for all.

Several sums that each move within a box of their own, by the data of one unit, move together within
one box: that of all their coordinates. Its K-norm noise on all of them (`BoxNoise`) has the loss
max_j w_j / b_j over all coordinates, where noise on each sum apart has the sum of their losses. What
one sum sees of it is the law here. Its loss is no more than that of the whole, of which it is a
function: max_j w_j / b_j over its own coordinates, which are those that it moves.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bounds import BodyNorm
from dpfda.noise.blocks import (
    ANY_SHAPE,
    block_loss,
    draw_ellipsoid,
    of_blocks,
    of_pure,
    pure_budget,
    symmetric_loss,
)
from dpfda.noise.charges import largest_ratio, root_sum, sizes_of
from dpfda.noise.mixtures import Block, NoiseMixture, factor, one_factor
from dpfda.noise.protocol import AnyNorm, ScaledLaw, Width
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole as whole_number
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import Loss
from dpfda.privacy.composition.block_profile import block_ratio
from dpfda.privacy.guarantees import ApproximateDP, Guarantee


@dataclass(frozen=True)
class InBox(ScaledLaw):
    """Some coordinates of K-norm noise of a box: density proportional to exp(-max_j |z_j| / b_j).

    With D sides of the box and M of them here it is R U, R ~ Gamma(D + 1, 1), U uniform on the M sides:
    given R the density of all D is constant on the box of half-widths R b_j, and the mixture at z is
    proportional to the integral of r^-D r^D e^-r over r > max_j |z_j| / b_j. A coordinate has variance
    b_j^2 (D + 1)(D + 2) / 3; coordinates are uncorrelated, not independent.
    """

    @property
    def sides(self) -> int:
        """Number D of coordinates of the box."""
        raise NotImplementedError

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        lengths = generator.gamma(self.sides + 1.0, size=(draws, 1))
        points = generator.uniform(-1.0, 1.0, size=(draws, self.components))
        return np.asarray(points * lengths * self.sizes)

    def variances(self) -> Floats:
        return np.asarray(self.sizes**2 * (self.sides + 1.0) * (self.sides + 2.0) / 3)

    def mixture(self) -> NoiseMixture:
        """Close to it: a uniform coordinate is replaced by a normal one of the same variance."""
        lengths = factor(self.components, self.sides + 1)
        block = Block(0, self.components, lengths.factors**2 / 3, lengths.logs)
        return one_factor(self.scales, block)

    def log_density(self, points: Floats) -> Floats:
        farthest = np.max(np.abs(points) / self.sizes, axis=-1)
        return np.asarray(tail_logs(farthest, self.sides - self.components) - farthest)

    def _drawn(self) -> list[int]:
        scales, size = self.scales, self.components

        def values(a: Arithmetic[Real]) -> At[Real]:
            # Half of a chi-square variable with 2 (D + 1) degrees of freedom.
            length, numbers = drawing.chi_square(a, size, self.sides + 1) / 2, a.integers(scales)
            return lambda places: numbers[places] * (length * (2 * a.uniforms(places) - 1))

        return drawing.draw_array(values, size + self.sides + 1, size)

    def _given(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        """What the scales give: the largest ratio over the coordinates that there are."""
        epsilon = largest_ratio(sizes_of(self.components, norm, width), self.scales)
        return of_pure(epsilon, requested)

    def _lost(self, requested: Guarantee) -> Loss | None:
        return symmetric_loss(requested)


@dataclass(frozen=True)
class BoxNoise(InBox):
    """K-norm noise of a box on all of its coordinates; see `InBox`.

    scales: Half-widths b_j of the box, in grid units.
    """

    law: ClassVar[str] = "k-norm-box"

    @property
    def sides(self) -> int:
        """Number D of coordinates: all that there are."""
        return self.components

    # Said by each law itself, or nothing is charged for it.
    draw, achieved, loss = InBox._drawn, InBox._given, InBox._lost

    def describe(self) -> str:
        return f"K-norm noise of a box on {so_many(self.components, 'coefficient')}"


@dataclass(frozen=True)
class EllipsoidNoise(ScaledLaw):
    """K-norm noise of an ellipsoid: density proportional to exp(-(sum_j z_j^2 / a_j^2)^(1/2)).

    Parameters
    ----------
    scales : tuple of int
        Semi-axes a_j of the ellipsoid, in grid units.

    Notes
    -----
    One block of `KNormNoise` of scale one, its coordinate j multiplied by a_j.
    """

    law: ClassVar[str] = "k-norm-ellipsoid"

    def draw(self) -> list[int]:
        return draw_ellipsoid(self.scales)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        lengths = np.sqrt(generator.chisquare(self.components + 1.0, size=(draws, 1)))
        directions = generator.standard_normal((draws, self.components))
        return np.asarray(directions * lengths * self.sizes)

    def variances(self) -> Floats:
        return np.asarray(self.sizes**2 * (self.components + 1.0))

    def describe(self) -> str:
        return f"K-norm noise of an ellipsoid on {so_many(self.components, 'coefficient')}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        sizes = sizes_of(self.components, norm, width)
        longest = root_sum if norm in ("linf", "box") else largest_ratio
        return of_blocks(longest(sizes, self.scales), (self.components,), requested)

    def loss(self, requested: Guarantee) -> Loss | None:
        return block_loss(self.components, requested)

    def mixture(self) -> NoiseMixture:
        return one_factor(self.scales, factor(self.components, (self.components + 1) / 2, 2.0))

    def log_density(self, points: Floats) -> Floats:
        return -np.asarray(np.linalg.norm(points / self.sizes, axis=-1))


def body_noise(norm: BodyNorm, width: Sequence[int], guarantee: Guarantee) -> BoxNoise | EllipsoidNoise:
    """K-norm noise of the body of differences itself: sizes w_j over its longest shift, rounded up.

    norm: {"box", "ellipsoid"}.
    width: Sizes w_j of the differences in the coordinates that get noise, in grid units.
    guarantee: A rho-zCDP request is met by the largest epsilon that costs rho. An approximate one is for
        the ellipsoid, the image of one block: its exact profile allows differences longer than epsilon.
    Raises RefusedMechanismError for a box under an approximate guarantee.
    """
    if norm == "ellipsoid" and isinstance(guarantee, ApproximateDP):
        length = block_ratio(len(width), guarantee)
    else:
        length = pure_budget(guarantee, (len(width),) if norm == "ellipsoid" else ANY_SHAPE)
    scales = tuple(max(1, math.ceil(w / length)) for w in width)
    return BoxNoise(scales) if norm == "box" else EllipsoidNoise(scales)


def tail_logs(at: Floats, others: int, integrals: int = 0) -> Floats:
    """Log of e^a times the density of a part of a box, or its integral from a on, up to one factor.

    With k other coordinates the density at a is the upper incomplete gamma function of k + 1,
    k! e^-a sum_(j <= k) a^j / j!. Its integral has the factors k + 1 - j in that sum.

    at: Distances a, nonnegative, in half-widths of the box.
    others: Number k of coordinates of the box that are not of the part.
    integrals: {0, 1}.
    """
    j = np.arange(others + 1.0)
    factorials = np.array([math.lgamma(k + 1) for k in range(others + 1)])
    # At zero the first term alone is left, as it is at the least of positive numbers.
    logs = j * np.log(np.maximum(at, sys.float_info.min))[..., None] - factorials
    logs += integrals * np.log(others + 1 - j) + factorials[-1]
    return np.asarray(np.logaddexp.reduce(logs, axis=-1))


@dataclass(frozen=True)
class BoxPartNoise(InBox):
    """M of D coordinates of noise of density proportional to exp(-max_j |z_j| / b_j).

    Parameters
    ----------
    scales : tuple of int
        Half-widths b_j of the box in these coordinates, in grid units.
    whole : int
        Number D of coordinates of the box.

    Notes
    -----
    Drawn as `InBox` says. With t = max_j |z_j| / b_j the density is proportional to the integral of
    r^(D - M) e^-r over r > t, the upper incomplete gamma function of D - M + 1 at t. It falls slower
    than e^-t by a polynomial: the loss max_j w_j / b_j is approached far out.
    """

    whole: int
    law: ClassVar[str] = "k-norm-box-part"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.whole, "whole", len(self.scales))

    @property
    def sides(self) -> int:
        """Number D of coordinates of the box."""
        return self.whole

    # These coordinates by themselves; their loss is no more than that of the whole, of which they are a
    # function.
    draw, achieved, loss = InBox._drawn, InBox._given, InBox._lost

    def describe(self) -> str:
        many = so_many(self.components, "coefficient")
        return f"K-norm noise of a box of {self.whole} sides on {many}"


def parts_of(box: BoxNoise, sizes: tuple[int, ...]) -> tuple[BoxPartNoise, ...]:
    """The laws of consecutive coordinates of a box, so many in each.

    Raises ParameterError if the sizes do not add up to the box's.
    """
    total = len(box.scales)
    if sum(sizes) != total:
        raise ParameterError("sizes", f"add up to {total}", f"{sum(sizes)}")
    ends = np.cumsum(sizes).tolist()
    return tuple(
        BoxPartNoise(box.scales[end - size : end], total) for size, end in zip(sizes, ends, strict=True)
    )
