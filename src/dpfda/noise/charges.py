"""How far neighbouring sums differ, and what noise in force gives and is charged at.

Sums differ by a vector d of a *ball*, a *box* |d_j| <= w_j or an *ellipsoid* sum_j d_j^2 / w_j^2 <= 1;
what is not rational is rounded up. What noise gives is asked of the law, which must speak for itself.

Laws found by scan: a file in this folder that defines a law is found by itself, by its ``law``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpfda.noise.protocol import AnyLaw, AnyNorm, Law, NoiseLaw, VectorLaw, Width, unsuited
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.exactness import root_at_least
from dpfda.numerics.scan import classes_in
from dpfda.privacy.composition import Cost, gaussian_delta
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, within


def enclosing_width(norm: AnyNorm, width: Sequence[int]) -> int:
    """Radius of an l2 ball that holds the body."""
    if norm == "ellipsoid":
        return max(width)
    return math.isqrt(max(sum(w**2 for w in width) - 1, 0)) + 1


def sizes_of(components: int, norm: AnyNorm, width: Width) -> tuple[int, ...]:
    """How far each coordinate may move; for a ball, what holds for the losses of this room."""
    if isinstance(width, int) != (norm in ("l1", "l2", "linf")):
        raise ParameterError("width", "be one integer for a ball, sizes for a body", f"{norm}")
    sizes = (width,) * components if isinstance(width, int) else width[:components]
    if len(sizes) < components:
        raise DpfdaError(f"{len(sizes)} sizes for {components} coordinates of noise.")
    return sizes


def largest_ratio(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    """Largest size in units of the scale."""
    return max(Fraction(w, scale) for w, scale in zip(sizes, scales, strict=True))


def root_sum(sizes: Sequence[int], scales: Sequence[int]) -> Fraction:
    """Length of the vector of sizes in units of the scales, rounded up."""
    return root_at_least(squares([Fraction(w, s) for w, s in zip(sizes, scales, strict=True)]))


def squares(ratios: Sequence[Fraction]) -> Fraction:
    """Sum of squares."""
    return sum((ratio**2 for ratio in ratios), Fraction(0))


def checked_shape(relative: ArrayLike) -> Floats:
    """Relative scales with a smallest one of 1.

    Raises ParameterError if they are not positive and finite, or too far apart for floats.
    """
    shape = np.asarray(relative, dtype=np.float64)
    sound = shape.size > 0 and bool(np.all(np.isfinite(shape) & (shape > 0)))
    if sound:
        with np.errstate(over="ignore"):
            shape = shape / shape.min()
    if not sound or shape.max() > 1e150:
        raise ParameterError(
            "relative scales", "be positive, finite and within a factor 1e150", "other values"
        )
    return shape


def exact_shape(relative: ArrayLike) -> list[Fraction]:
    """Relative scales, at least about one, as short fractions."""
    # Few bits keep the sums of these fractions short.
    parts = [math.frexp(value) for value in checked_shape(relative).tolist()]
    return [round(part * 2**24) * Fraction(2) ** (exponent - 24) for part, exponent in parts]


def scaled_up(shape: Sequence[Fraction], factor: Fraction) -> tuple[int, ...]:
    """Integer scales of this shape, rounded up."""
    return tuple(max(1, math.ceil(factor * value)) for value in shape)


def achieved_guarantee(noise: AnyLaw, norm: AnyNorm, width: object, requested: Guarantee) -> Guarantee:
    """Recompute, from the integer scales in force, what a noise law gives; rounded outward.

    noise: In force.
    norm: {"l1", "l2", "linf", "box", "ellipsoid"}. Kind of the set in which neighbouring sums differ.
    width: Its radius; for a box or an ellipsoid its size in each coordinate, in grid units; of sums of
        outer products an `OuterDifference`, whatever the norm.
    requested: Of the kind that is wanted: a pure epsilon, the delta at the requested epsilon, or rho.
    Raises RefusedMechanismError if the law cannot give a guarantee of this kind, or has its loss from
    another law.
    """
    check_own(noise, requested)
    law: Any = noise
    moved = (norm, width) if isinstance(width, int | tuple) else (width,)
    guarantee: Guarantee = law.achieved(*moved, requested)
    return guarantee


def kept_within(achieved: Guarantee, part: Guarantee) -> Guarantee:
    """What noise gives. Raises DpfdaError if it is more than the part, or of another kind."""
    if not within(achieved, part):
        raise DpfdaError(f"The mechanism's noise gives {achieved}, which is more than {part}.")
    return achieved


def normal_within(achieved: Guarantee, part: Guarantee) -> Guarantee:
    """The same of normal noise alone, whose rho is the delta that it has at the epsilon of the part."""
    if isinstance(achieved, ZeroConcentratedDP) and isinstance(part, ApproximateDP):
        delta = gaussian_delta(part.epsilon, root_at_least(2 * achieved.rho))
        achieved = ApproximateDP(part.epsilon, delta)
    return kept_within(achieved, part)


def check_own(noise: AnyLaw, requested: Guarantee) -> None:
    """Refuse a law that inherits what it draws or what it promises: a subclass may draw another law.

    Raises RefusedMechanismError.
    """
    if not {"draw", "achieved"} <= vars(type(noise)).keys():
        raise unsuited(noise, requested)


def cost_of(noise: AnyLaw, achieved: Guarantee, requested: Guarantee) -> Cost:
    """What a release of a sum with this noise costs.

    The cost is the requested guarantee, and the loss of the same law that has it: both cover what is
    achieved, whose scales were rounded up, and both are known before the integers are. Pure noise that
    was chosen for an approximate guarantee costs no delta. A law that does not say its loss is known by
    its guarantee alone.

    noise: In force.
    achieved: What it gives, recomputed; within the requested guarantee.
    requested: What it was scaled to.
    """
    if isinstance(achieved, PureDP) and isinstance(requested, ApproximateDP):
        requested = PureDP(requested.epsilon)
    own = {"draw", "loss"} <= vars(type(noise)).keys()
    return Cost(requested, noise.loss(requested) if own else None)


class Calibrated(NamedTuple):
    """A law in force, what is charged, and how far neighbours differ in the norm that it needs."""

    law: NoiseLaw
    charged: Guarantee
    norm: AnyNorm
    width: Any

    def achieved(self) -> Guarantee:
        """What it gives, recomputed. Raises DpfdaError if that is more than is charged."""
        guarantee = achieved_guarantee(self.law, self.norm, self.width, self.charged)
        return kept_within(guarantee, self.charged)

    def cost(self) -> Cost:
        """What a release with it costs."""
        return cost_of(self.law, self.achieved(), self.charged)


def laws_of(kind: type[Law] = VectorLaw) -> dict[str, type[Any]]:
    """Names of all laws of a kind in the files of this folder, with their classes."""
    laws = classes_in(__name__.rpartition(".")[0], "law")
    return {law.law: law for law in laws if issubclass(law, kind)}


def law_from_json(written: object, kind: type[Law] = VectorLaw) -> Any:
    """The law that `Law.to_json` wrote. Raises KeyError if no law of this kind has the name."""
    entries = mapping(written)
    return laws_of(kind)[text(entries["law"])].from_json(entries)
