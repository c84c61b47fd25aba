"""What is known of a mechanism's privacy loss: the law that makes it, in public numbers.

A loss says three things of a mechanism, for every pair of neighbours in either order: the largest loss,
its cost rho in zero-concentrated terms, and its profile, an upper bound of the hockey-stick divergence
at every epsilon. Composition and ledger read nothing else. A new one is one
class derived from `KnownLoss`, found by its `kind`.

Where nothing else is said, bounds and profiles are proved in docs/composition.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import ClassVar, Protocol, Self, cast, runtime_checkable

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import PRECISION, at_least, bits_for, enclosed, precision, root_at_least
from dpfda.numerics.parameters import below_one, positive, readable
from dpfda.privacy.composition.block_profile import block_delta, estimated_delta
from dpfda.privacy.composition.conversions import (
    estimated_gaussian_delta,
    for_group,
    gaussian_delta,
    laplace_rho,
    pure_rho,
    zcdp_delta,
)
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP

# A number in a stored loss has at most so many digits above and below the bar.
DIGITS = 4000
LARGEST_DIMENSION = 10**9
_Check = Callable[[object, str], Fraction | int]
# Every loss by its kind, as files name it.
LOSSES: dict[str, type[KnownLoss]] = {}


@runtime_checkable
class Loss(Protocol):
    """What accounting asks of a mechanism's loss."""

    kind: ClassVar[str]

    def __hash__(self) -> int:
        """Equal losses are counted together."""

    @property
    def epsilon(self) -> Fraction | None:
        """The largest loss, rounded up; None where it has no bound."""

    @property
    def rho(self) -> Fraction | None:
        """Zero-concentrated cost, rounded up; None where it has none."""

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of sup over events of P(A) - exp(epsilon) P'(A), at any real epsilon.

        It holds for both orders of the neighbours, so that below zero it is that above zero, turned:
        delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
        """

    def for_group(self, size: int) -> Loss:
        """The loss between data sets that differ in so many units."""

    def describe(self) -> str:
        """Say in words what is known."""

    def to_json(self) -> dict[str, object]:
        """The kind and its exact public numbers."""


class KnownLoss:
    """What the laws share: numbers are checked on entry, written exactly, and both orders are one."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        registered = LOSSES.get(cls.kind, cls)
        if (registered.__module__, registered.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError("kind", "name one loss", repr(cls.kind))
        LOSSES[cls.kind] = cls

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            check: _Check = _CHECKS.get(field.name, below_one)
            object.__setattr__(self, field.name, check(getattr(self, field.name), field.name))

    def delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= 0:
            return min(self._delta(epsilon), Fraction(1))
        turned = self.delta(-epsilon)
        with precision(PRECISION):
            e = enclosed(epsilon)
            return min(at_least(-e.expm1() + e.exp() * enclosed(turned)), Fraction(1))

    def _delta(self, epsilon: Fraction) -> Fraction:
        raise NotImplementedError

    def to_json(self) -> dict[str, object]:
        written: dict[str, object] = {"kind": self.kind}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            written[field.name] = value if isinstance(value, int) else str(value)
        return written

    @classmethod
    def from_json(cls, written: Mapping[str, object]) -> Self:
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if set(written) != {"kind", *names}:
            raise ParameterError("loss", f"have the keys kind, {', '.join(names)}", "others")
        return cls(**{name: _read(written[name], name) for name in names})


def _dimension(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_DIMENSION:
        raise ParameterError(name, f"be an integer from 1 to {LARGEST_DIMENSION}", "another")
    return value


def _read(value: object, name: str) -> object:
    if name == "dimension":
        return value
    if not isinstance(value, str) or not _EXACT.fullmatch(value):
        raise ParameterError(name, "be a text 'p' or 'p/q' of digits", "another")
    return value


_EXACT = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}})?")
# What a number must be, by its name; any other is below one.
_CHECKS: dict[str, _Check] = {"dimension": _dimension, "epsilon": positive, "rho": positive}


# Up to here a block's exact profile is fast; beyond, bounds take its place.
EXACT_DIMENSION = 2000


class _OfShifts:
    """Losses of a group's shift, which is as many times as long as the group is large."""

    def for_group(self, size: int) -> Self:
        """Of the same kind: epsilon grows as the shift, rho as its square."""
        grown = {"epsilon": size, "rho": size**2}
        own = {field.name for field in fields(self)}  # type: ignore[arg-type]
        longer = {name: times * getattr(self, name) for name, times in grown.items() if name in own}
        return replace(self, **longer)  # type: ignore[type-var]


@dataclass(frozen=True)
class PureLoss(_OfShifts, KnownLoss):
    """Any mechanism of pure privacy loss epsilon: no worse than a coin that tells one bit.

    Kairouz, Oh & Viswanath (2015): every pair of laws within pure epsilon is
    a randomised image of the coin with odds exp(epsilon).

    Parameters
    ----------
    epsilon : number
        Positive.

    Examples
    --------
    >>> print(round(float(PureLoss(1).rho), 6), round(float(PureLoss(1).delta(Fraction(0))), 6))
    0.462117 0.462117
    """

    epsilon: Fraction
    kind: ClassVar[str] = "pure"

    @property
    def rho(self) -> Fraction:
        return pure_rho(self.epsilon)

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.epsilon:
            return Fraction(0)
        with precision(bits_for(self.epsilon)):
            # (e^epsilon_0 - e^epsilon) / (e^epsilon_0 + 1), without cancellation.
            value = -enclosed(epsilon - self.epsilon).expm1() / (1 + (-enclosed(self.epsilon)).exp())
            return at_least(value)

    def describe(self) -> str:
        return f"any mechanism of epsilon {readable(self.epsilon)}"


@dataclass(frozen=True)
class ApproximateLoss(KnownLoss):
    """Any mechanism that is (epsilon, delta)-differentially private.

    With probability delta it tells all; else it is the coin: no pair within (epsilon, delta) is worse
    (Kairouz, Oh & Viswanath 2015; Murtagh & Vadhan 2016).

    Parameters
    ----------
    epsilon, failure : number
        Positive; the failure mass, often called delta, is below 1.
    """

    epsilon: Fraction
    failure: Fraction
    kind: ClassVar[str] = "approximate"
    rho = None

    def _delta(self, epsilon: Fraction) -> Fraction:
        return self.failure + (1 - self.failure) * PureLoss(self.epsilon).delta(epsilon)

    def for_group(self, size: int) -> ApproximateLoss:
        group = for_group(ApproximateDP(self.epsilon, self.failure), size)
        assert isinstance(group, ApproximateDP)  # noqa: S101 - the kind stays
        return ApproximateLoss(group.epsilon, group.delta)

    def describe(self) -> str:
        return f"any mechanism of epsilon {readable(self.epsilon)} and delta {readable(self.failure)}"


@dataclass(frozen=True)
class ConcentratedLoss(_OfShifts, KnownLoss):
    """Any mechanism that is rho-zCDP, and nothing else is known.

    Parameters
    ----------
    rho : number
        Positive.
    """

    rho: Fraction
    kind: ClassVar[str] = "zero-concentrated"
    epsilon = None

    def _delta(self, epsilon: Fraction) -> Fraction:
        # At epsilon 0 by Pinsker: the Kullback-Leibler divergence is at most rho.
        bound = zcdp_delta(self.rho, epsilon) if epsilon else Fraction(1)
        return min(root_at_least(self.rho / 2), bound)

    def describe(self) -> str:
        return f"any mechanism of rho {readable(self.rho)}"


@dataclass(frozen=True)
class LaplaceLoss(_OfShifts, KnownLoss):
    """One Laplace variable: no symmetric additive law of the same epsilon is worse, in any dimension.

    Noise of density exp(-phi(z)), phi(-z) = phi(z), that changes along differences in proportion to a
    norm: independent Laplace variables, K-norm noise of boxes, balls and ellipsoids, their products,
    differences of positive matrices.

    Parameters
    ----------
    epsilon : number
        Largest change of phi along a difference: of a norm over its scale. Positive.
    """

    epsilon: Fraction
    kind: ClassVar[str] = "laplace"

    @property
    def rho(self) -> Fraction:
        return laplace_rho(self.epsilon)

    def _delta(self, epsilon: Fraction) -> Fraction:
        return block_delta(1, self.epsilon, epsilon)

    def describe(self) -> str:
        return f"symmetric noise of loss {readable(self.epsilon)}"


@dataclass(frozen=True)
class BlockLoss(_OfShifts, KnownLoss):
    """One K-norm block of an l2 ball or an ellipsoid, or of symmetric matrices under the Frobenius norm.

    Density proportional to exp(-|z|) in M dimensions, in units of the scale; rho <= epsilon^2 / (2 M).

    Parameters
    ----------
    dimension : int
        M; for symmetric matrices of size N it is N (N + 1) / 2.
    epsilon : number
        Longest shift over the scale, which is the pure loss. Positive.
    """

    dimension: int
    epsilon: Fraction
    kind: ClassVar[str] = "block"

    @property
    def rho(self) -> Fraction:
        return min(self.epsilon**2 / (2 * self.dimension), laplace_rho(self.epsilon))

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.dimension > EXACT_DIMENSION:
            return BlocksLoss(self.epsilon, self.rho).delta(epsilon)
        return block_delta(self.dimension, self.epsilon, epsilon)

    def describe(self) -> str:
        return f"a K-norm block of {self.dimension} dimensions of loss {readable(self.epsilon)}"


@dataclass(frozen=True)
class BlocksLoss(_OfShifts, KnownLoss):
    """Several independent K-norm blocks, of which more is known than that they are symmetric.

    Parameters
    ----------
    epsilon : number
        Largest sum over the blocks of shift over scale: the pure loss. Positive.
    rho : number
        Largest sum over the blocks of (shift over scale)^2 / (2 M), M the block's dimension; for any
        set of shifts at most epsilon^2 / (2 M) with the least M.
    """

    epsilon: Fraction
    rho: Fraction
    kind: ClassVar[str] = "blocks"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rho", min(self.rho, laplace_rho(self.epsilon)))

    def _delta(self, epsilon: Fraction) -> Fraction:
        bound = LaplaceLoss(self.epsilon).delta(epsilon)
        return min(bound, ConcentratedLoss(self.rho).delta(epsilon)) if bound else bound

    def describe(self) -> str:
        return f"K-norm blocks of loss {readable(self.epsilon)} and rho {readable(self.rho)}"


@dataclass(frozen=True)
class GaussianLoss(_OfShifts, KnownLoss):
    """Normal noise; its profile is that of Balle & Wang (2018), Theorem 8.

    Parameters
    ----------
    rho : number
        mu^2 / 2 for the Cameron-Martin length mu of the longest shift. Positive.
    """

    rho: Fraction
    kind: ClassVar[str] = "gaussian"
    epsilon = None

    def _delta(self, epsilon: Fraction) -> Fraction:
        return gaussian_delta(epsilon, root_at_least(2 * self.rho))

    def describe(self) -> str:
        return f"Gaussian noise of rho {readable(self.rho)}"


@dataclass(frozen=True)
class RangeLoss(_OfShifts, KnownLoss):
    """The exponential mechanism, or any other whose loss has the range epsilon.

    Bounded range (Dong, Durfee & Rogers 2020): between neighbours all losses lie in an
    interval [t - epsilon, t]. Densities proportional to exp(c u(x)) have epsilon = 2 c times the
    largest change of u, and c times it where u changes in one direction only; epsilon is the pure loss
    too. rho = epsilon^2 / 8.

    Parameters
    ----------
    epsilon : number
        Length of the interval. Positive.
    """

    epsilon: Fraction
    kind: ClassVar[str] = "range"

    @property
    def rho(self) -> Fraction:
        return min(self.epsilon**2 / 8, pure_rho(self.epsilon))

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.epsilon:
            return Fraction(0)
        with precision(bits_for(self.epsilon)):
            # (e^(epsilon_0/2) - e^(epsilon/2))^2 / (e^epsilon_0 - 1), without cancellation.
            root = enclosed((epsilon - self.epsilon) / 2).expm1()
            return at_least(root * root / -(-enclosed(self.epsilon)).expm1())

    def describe(self) -> str:
        return f"losses in a range of {readable(self.epsilon)}"


def loss_of(guarantee: Guarantee) -> Loss:
    """What is known of a loss where only the guarantee is."""
    if isinstance(guarantee, PureDP):
        return PureLoss(guarantee.epsilon)
    if isinstance(guarantee, ApproximateDP):
        return ApproximateLoss(guarantee.epsilon, guarantee.delta)
    return ConcentratedLoss(guarantee.rho)


def loss_from_json(written: object) -> Loss:
    """Read what `Loss.to_json` wrote, by its kind, one of a class derived from `KnownLoss`.

    Raises
    ------
    ParameterError
        If it is anything else.

    Examples
    --------
    >>> loss_from_json({"kind": "laplace", "epsilon": "1/10"})
    LaplaceLoss(epsilon=Fraction(1, 10))
    """
    if not isinstance(written, Mapping):
        raise ParameterError("loss", "be an object with a kind", type(written).__name__)
    kind = written.get("kind")
    if not isinstance(kind, str) or kind not in LOSSES:
        raise ParameterError("loss", f"be of one of the kinds {', '.join(LOSSES)}", "another")
    return cast("Loss", LOSSES[kind].from_json(written))


def estimated_profile(loss: Loss, epsilon: float) -> float | None:
    """Profile of Gaussian noise or of one block in floats, at once; None for other losses.

    To check a claim for plausibility; no guarantee rests on it.
    """
    if isinstance(loss, GaussianLoss):
        return estimated_gaussian_delta(epsilon, math.sqrt(2 * loss.rho))
    if isinstance(loss, BlockLoss):
        gap = float(loss.epsilon) - epsilon
        return float(estimated_delta(loss.dimension, gap, epsilon)) if gap > 0 else 0.0
    return None
