"""Losses over difference sets that are boxes or ellipsoids, and the K-norm laws of those bodies.

Neighbouring sums differ by a vector d of a *box* |d_j| <= w_j or an *ellipsoid* sum_j d_j^2 / w_j^2
<= 1. A law whose log density is minus a norm, shifted by d, has loss at most that norm of d (triangle
inequality), attained where z is a large multiple of d; the supremum of a norm over a convex body is at
an extreme point:

- box noise, max_j |z_j| / b_j: max_j w_j / b_j on either body;
- ellipsoid noise, (sum_j z_j^2 / a_j^2)^(1/2): (sum_j w_j^2 / a_j^2)^(1/2) on the box, at a vertex;
  max_j w_j / a_j on the ellipsoid, at the end of an axis;
- blocks, sum_B |z_B|_2 / c_B: sum_B |w_B|_2 / c_B on the box; on the ellipsoid Cauchy-Schwarz gives
  (sum_B max_{j in B} w_j^2 / c_B^2)^(1/2), attained with one coordinate a block;
- Gaussian noise of deviations s_j has the profile of mu = (sum_j w_j^2 / s_j^2)^(1/2) on the box and
  max_j w_j / s_j on the ellipsoid.

All of these are rational numbers or roots of such, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from numpy.typing import ArrayLike

from dpfda.bounds import BodyNorm, Norm
from dpfda.calibration.approximate import block_ratio
from dpfda.calibration.blocks import pure_budget
from dpfda.calibration.gaussian import gaussian_ratio
from dpfda.calibration.search import checked_shape
from dpfda.composition.rounding import root_at_least
from dpfda.errors import DpfdaError, ParameterError
from dpfda.guarantees import ApproximateDP, Guarantee
from dpfda.noise import BoxNoise, EllipsoidNoise, GaussianNoise, KNormNoise

Width = int | tuple[int, ...]
AnyNorm = Norm | BodyNorm

# Pure noise of more than one coordinate, in the words of `pure_budget`.
ONE_BLOCK = (2,)


def body_loss(noise: KNormNoise | BoxNoise | EllipsoidNoise, norm: AnyNorm, width: Width) -> Fraction:
    """Privacy loss of K-norm noise where differences are a ball, a box or an ellipsoid, rounded up.

    Parameters
    ----------
    noise : KNormNoise, BoxNoise or EllipsoidNoise
        Independent blocks only where the differences are a box or an ellipsoid (else `knorm_loss`).
    norm : {"l1", "l2", "linf", "box", "ellipsoid"}
        Kind of difference set.
    width : int or tuple of int
        Its radius, or its sizes w_j for a box or an ellipsoid, in grid units.

    Raises
    ------
    DpfdaError
        If the sizes are fewer than the noise's coordinates.
    """
    sizes = _sizes(noise.components, norm, width)
    if isinstance(noise, BoxNoise):
        return _largest(sizes, noise.scales)
    if isinstance(noise, EllipsoidNoise):
        spread = norm in ("linf", "box")
        return _root_sum(sizes, noise.scales) if spread else _largest(sizes, noise.scales)
    if isinstance(width, int):
        raise ParameterError("norm", "be that of a box or an ellipsoid for blocks", repr(norm))
    parts, start = [], 0
    for size, scale in zip(noise.block_sizes, noise.scales, strict=True):
        block = sizes[start : start + size]
        whole = max(block) if norm == "ellipsoid" else _root(sum(w**2 for w in block))
        parts.append(Fraction(whole) / scale)
        start += size
    return sum(parts, Fraction(0)) if norm == "box" else root_at_least(_squares(parts))


def body_length(noise: GaussianNoise, norm: AnyNorm, width: Width) -> Fraction:
    """Cameron-Martin length mu of the largest difference, rounded up."""
    sizes = _sizes(noise.components, norm, width)
    return (_root_sum if norm == "box" else _largest)(sizes, noise.scales)


def enclosing_width(norm: AnyNorm, width: Sequence[int]) -> int:
    """Radius of an l2 ball that holds the body."""
    if norm == "ellipsoid":
        return max(width)
    return math.isqrt(max(sum(w**2 for w in width) - 1, 0)) + 1


def body_noise(norm: BodyNorm, width: Sequence[int], guarantee: Guarantee) -> BoxNoise | EllipsoidNoise:
    """K-norm noise of the body of differences itself: sizes w_j over its longest shift, rounded up.

    Parameters
    ----------
    norm : {"box", "ellipsoid"}
    width : sequence of int
        Sizes w_j of the differences in the coordinates that get noise, in grid units.
    guarantee : Guarantee
        A rho-zCDP request is met by the largest epsilon that costs rho. An approximate one is for the
        ellipsoid, the image of one block: its exact profile allows differences longer than epsilon.

    Raises
    ------
    RefusedMechanismError
        For a box under an approximate guarantee.
    """
    if norm == "ellipsoid" and isinstance(guarantee, ApproximateDP):
        length = block_ratio(len(width), guarantee)
    else:
        length = pure_budget(guarantee, ONE_BLOCK)
    scales = tuple(max(1, math.ceil(w / length)) for w in width)
    return BoxNoise(scales) if norm == "box" else EllipsoidNoise(scales)


def laplace_on_body(
    relative: ArrayLike, norm: BodyNorm, width: Sequence[int], guarantee: Guarantee
) -> KNormNoise:
    """Independent Laplace noise of given relative scales, on a box or an ellipsoid of differences."""
    shape = _exact_shape(relative)
    sizes = _sizes(len(shape), norm, tuple(width))
    epsilon = pure_budget(guarantee, (1,))
    ratios = [w / s for w, s in zip(sizes, shape, strict=True)]
    loss = sum(ratios, Fraction(0)) if norm == "box" else root_at_least(_squares(ratios))
    return KNormNoise((1,) * len(shape), _scaled_up(shape, loss / epsilon))


def gaussian_on_body(
    relative: ArrayLike,
    norm: BodyNorm,
    width: Sequence[int],
    guarantee: Guarantee,
    calibration: str = "exact",
) -> GaussianNoise:
    """Gaussian noise of given relative deviations, on a box or an ellipsoid of differences."""
    shape = _exact_shape(relative)
    sizes = _sizes(len(shape), norm, tuple(width))
    ratios = [w / s for w, s in zip(sizes, shape, strict=True)]
    length = root_at_least(_squares(ratios)) if norm == "box" else max(ratios)
    return GaussianNoise(_scaled_up(shape, length / gaussian_ratio(guarantee, calibration)))


def _sizes(components: int, norm: AnyNorm, width: Width) -> tuple[int, ...]:
    """How far each coordinate may move; for a ball, what holds for the losses of this room."""
    if isinstance(width, int) != (norm in ("l1", "l2", "linf")):
        raise ParameterError("width", "be one integer for a ball, sizes for a body", f"{norm}")
    sizes = (width,) * components if isinstance(width, int) else width[:components]
    if len(sizes) < components:
        raise DpfdaError(f"{len(sizes)} sizes for {components} coordinates of noise.")
    return sizes


def _root(square: int) -> Fraction:
    """Square root of an integer, exact where it is an integer too, else rounded up."""
    whole = math.isqrt(square)
    return Fraction(whole) if whole**2 == square else root_at_least(Fraction(square))


def _largest(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    return max(Fraction(w, scale) for w, scale in zip(sizes, scales, strict=True))


def _root_sum(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    return root_at_least(_squares([Fraction(w, s) for w, s in zip(sizes, scales, strict=True)]))


def _squares(ratios: Sequence[Fraction]) -> Fraction:
    return sum((ratio**2 for ratio in ratios), Fraction(0))


def _exact_shape(relative: ArrayLike) -> list[Fraction]:
    # Few bits keep the sums of these fractions short.
    parts = [math.frexp(value) for value in checked_shape(relative).tolist()]
    return [round(part * 2**24) * Fraction(2) ** (exponent - 24) for part, exponent in parts]


def _scaled_up(shape: Sequence[Fraction], factor: Fraction) -> tuple[int, ...]:
    return tuple(max(1, math.ceil(factor * value)) for value in shape)
