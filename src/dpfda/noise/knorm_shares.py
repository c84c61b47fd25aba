"""K-norm noise in shares: a divisible law, in independent blocks of coordinates.

A share of a block is normal at a gamma time. As many shares as are honest lose sum_B |d_B / a_B|, with a
gap that is stated. Both are derived on the page on custodians (docs/appendix/custodians.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import compress
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from flint import arb

from dpfda.noise.blocks import KNormNoise
from dpfda.noise.bodies import BoxNoise, EllipsoidNoise
from dpfda.noise.charges import largest_ratio, root_sum, sizes_of, squares
from dpfda.noise.mixtures import NoiseMixture, factor
from dpfda.noise.protocol import AnyNorm, Law, NoiseLaw, ScaledLaw, Width, check_positive, unsuited
from dpfda.numerics.arrays import Floats
from dpfda.numerics.discrete import gamma_gaussians
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.exactness import PRECISION, precision, root_at_least, upper_end
from dpfda.numerics.words import so_many
from dpfda.privacy.guarantees import Guarantee, PureDP

# Not above pi^2: up to here it is proved, without Fourier analysis (`proofs/Theta.v`).
FLATNESS: Final = 9.869
# Variance that every integer of a share of K-norm noise has at least.
LEAST = 64


@dataclass(frozen=True)
class Drawn(Law):
    """The sum of all shares that are drawn; fields as in `InShares`."""

    honest: int
    drawn: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("honest and drawn", (self.honest, self.drawn))

    @property
    def counted(self) -> str:
        """How many shares there are, in words."""
        return f"in {self.drawn} shares of which {self.honest} keep the guarantee"

    def share(self) -> list[int]:
        """One exact draw of one party's share, from the operating system's entropy."""
        raise NotImplementedError

    def _all(self) -> list[int]:
        return [sum(column) for column in zip(*(self.share() for _ in range(self.drawn)), strict=True)]


@dataclass(frozen=True)
class InShares(Drawn, ScaledLaw):
    """What both laws have in common.

    scales: Of the sum of so many shares as are honest, in grid units.
    honest: Number of shares that together have these scales.
    drawn: Number of shares that are in the sum.
    """

    central: ClassVar[str]

    def describe(self) -> str:
        many = so_many(self.components, "coefficient")
        return f"discrete {self.central} noise on {many}, {self.counted}"

    def times(self, rows: int) -> Self:
        """The law of so many independent draws of these coordinates."""
        return replace(self, scales=self.scales * rows)

    def part(self, own: slice) -> Self:
        """The law of some of the coordinates: of whole blocks, where there are blocks."""
        return replace(self, scales=self.scales[own])


@dataclass(frozen=True)
class SharedKNormNoise(InShares):
    """Sums of K-norm shares: of density exp(-(sum_j z_j^2 / a_j^2)^(1/2)) where all are honest."""

    law: ClassVar[str] = "shared-k-norm"
    central: ClassVar[str] = "K-norm"

    @property
    def together(self) -> tuple[int, ...]:
        """Sizes of blocks, which are independent: of each a share has one gamma variable."""
        return (self.components,)

    @property
    def blocks(self) -> list[slice]:
        """Coordinates of each block."""
        ends = np.cumsum(self.together).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.together, strict=True)]

    def times(self, rows: int) -> SharedKNormNoise:
        return SharedBlocksNoise(self.scales * rows, self.honest, self.drawn, self.together * rows)

    def share(self) -> list[int]:
        squares = [Fraction(scale**2) for scale in self.scales]
        return [z for block in self.blocks for z in k_norm_share(squares[block], self.honest)]

    draw = Drawn._all

    @property
    def shapes(self) -> Floats:
        """Of the gamma variable that all shares of a block have together, a block."""
        return np.add(self.together, 1.0) * self.drawn / (2 * self.honest)

    def _each(self, of_blocks: Floats) -> Floats:
        """For every coordinate what is known of its block."""
        return np.repeat(of_blocks, self.together, axis=-1)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        mixing = np.sqrt(2 * generator.standard_gamma(self.shapes, size=(draws, len(self.shapes))))
        normal = generator.standard_normal((draws, self.components))
        return np.asarray(normal * self._each(mixing) * self.sizes)

    def variances(self) -> Floats:
        return np.asarray(2 * self._each(self.shapes) * self.sizes**2)

    def mixture(self) -> NoiseMixture:
        factors = lru_cache(partial(factor, scale=2.0))
        pairs = zip(self.blocks, map(factors, self.together, self.shapes.tolist()), strict=True)
        placed = (replace(mixed, start=block.start, stop=block.stop) for block, mixed in pairs)
        return NoiseMixture(self.sizes, tuple(placed))

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> PureDP:
        moved, box = sizes_of(self.components, norm, width), norm in ("linf", "box")
        longest = root_sum if box else largest_ratio
        lengths = [longest(moved[block], self.scales[block]) for block in self.blocks]
        if norm == "l1":
            return k_norm_loss(self, max(lengths), requested)
        length = sum(lengths, Fraction(0)) if box else root_at_least(squares(lengths))
        return k_norm_loss(self, length, requested)


@dataclass(frozen=True)
class SharedBlocksNoise(SharedKNormNoise):
    """Sums of K-norm shares in independent blocks: of density exp(-sum_B |z_B / a_B|).

    block_sizes: Numbers of consecutive coordinates.
    """

    block_sizes: tuple[int, ...]
    law: ClassVar[str] = "shared-k-norm-blocks"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("block_sizes", self.block_sizes)
        if sum(self.block_sizes) != self.components:
            raise ParameterError("block_sizes", f"add up to {self.components}", sum(self.block_sizes))

    @property
    def together(self) -> tuple[int, ...]:
        return self.block_sizes

    # A law says itself what it draws and what it gives (`dpfda.noise.charges`).
    draw, achieved = Drawn._all, SharedKNormNoise.achieved

    def part(self, own: slice) -> Self:
        inside = (own.start <= block.start < own.stop for block in self.blocks)
        return replace(self, scales=self.scales[own], block_sizes=tuple(compress(self.together, inside)))


def k_norm_share(squares: list[Fraction], honest: int) -> list[int]:
    """One share of a block of the K-norm law, by its squared scales."""
    shape = Fraction(len(squares) + 1, 2 * honest)
    return gamma_gaussians(squares, LEAST / min(squares), shape)


def k_norm_loss(law: Any, length: Fraction, requested: Guarantee) -> PureDP:
    """What K-norm shares of a law give; length: of the longest difference, in the norm of the law."""
    if not isinstance(requested, PureDP) or law.drawn < law.honest:
        raise unsuited(law, requested)
    with precision(PRECISION):
        share = (-arb(FLATNESS) * LEAST).exp()
        kappa = law.components * (5 * law.drawn - 5 + 3 * share) * share
        return PureDP(rounded_up(length + upper_end(2 * kappa)))


def k_norm(central: NoiseLaw, width: Width, epsilon: Fraction) -> SharedKNormNoise | None:
    """K-norm noise that one share would have alone, instead of a central law; None for others."""
    if isinstance(central, SharedKNormNoise):
        return central
    if isinstance(central, BoxNoise) and isinstance(width, tuple):
        # Of the coordinates that get noise, which may be the first ones alone.
        return SharedKNormNoise(around_box(width[: central.components], epsilon), 1, 1)
    if isinstance(central, EllipsoidNoise):
        return SharedKNormNoise(central.scales, 1, 1)
    if isinstance(central, KNormNoise):
        scales = np.repeat(np.array(central.scales, dtype=object), central.block_sizes)
        return blocks_of(scales.tolist(), central.block_sizes)
    return None


def around_box(sizes: Sequence[int], epsilon: Fraction) -> tuple[int, ...]:
    """The ellipsoid (sum_j D_j^2 / a_j^2)^(1/2) = epsilon of least sum_j a_j^2 around half-widths D_j.

    It has a_j^2 = D_j sum_i D_i / epsilon^2.
    """
    wanted = [max(size, 1) * sum(sizes) / epsilon**2 for size in sizes]
    return tuple(math.ceil(root_at_least(square)) for square in wanted)


def blocks_of(scales: Sequence[int], block_sizes: Sequence[int]) -> SharedKNormNoise:
    """K-norm noise in blocks that one share would have alone."""
    if len(block_sizes) == 1:
        return SharedKNormNoise(tuple(scales), 1, 1)
    return SharedBlocksNoise(tuple(scales), 1, 1, tuple(block_sizes))


def in_blocks(
    parts: Sequence[tuple[int, AnyNorm, Width]], guarantee: Guarantee
) -> tuple[SharedKNormNoise, Literal["box"], tuple[int, ...]]:
    """K-norm noise on several parts that one unit may move all at once, and a box that says how far.

    Each part gets an equal share of epsilon, for losses of independent blocks add up. A part that moves
    in a ball or an ellipsoid moves no farther, in the norm of its noise, than along the one coordinate
    where it is longest: the box has that side alone.

    parts: Of each its number of coordinates, and how far it may move.
    Raises RefusedMechanismError if the guarantee is not pure.
    """
    if not isinstance(guarantee, PureDP):
        words = "be Gaussian for shares of several parts under rho or a delta"
        raise RefusedMechanismError("mechanism", words, "another law", "Use 'gaussian', or no delta.")
    share, scales, sides, blocks = guarantee.epsilon / len(parts), list[int](), list[int](), list[int]()
    for count, norm, width in parts:
        moved = sizes_of(count, norm, width)
        box = norm in ("linf", "box")
        own = around_box(moved, share) if box else [math.ceil(max(w, 1) / share) for w in moved]
        scales += own
        sides += moved if box else along_one(moved, own)
        # In l1 no coordinate moves with another by more than alone.
        blocks += [1] * count if norm == "l1" else [count]
    return blocks_of(scales, blocks), "box", tuple(sides)


def along_one(moved: Sequence[int], scales: Sequence[int]) -> list[int]:
    """A box with one side: where a ball or an ellipsoid is longest, in units of the scales.

    The side has room for the ratios of scales that are rounded up later.
    """
    ratios = [Fraction(side, scale) for side, scale in zip(moved, scales, strict=True)]
    longest = max(range(len(moved)), key=lambda j: (ratios[j], moved[j]))
    return [(side + math.ceil(ratios[j])) * (j == longest) for j, side in enumerate(moved)]


def rounded_up(value: Fraction, bits: int = 128) -> Fraction:
    """To fewer digits, upward."""
    return Fraction(-(-value * 2**bits // 1), 2**bits)
