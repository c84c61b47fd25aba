"""Independent K-norm blocks, product Laplace noise among them.

Block B of scale c_B has density proportional to exp(-|z|_2 / c_B). By the reverse triangle
inequality its log density ratio at a shift d_B is at most |d_B|_2 / c_B, and blocks are
independent, so the loss is the largest

    sum_B |d_B|_2 / c_B      over      |d| <= width.

- l2 ball: Cauchy-Schwarz gives width sqrt(sum_B 1 / c_B^2), attained at |d_B| ~ 1 / c_B.
- l1 ball: |d_B|_2 <= |d_B|_1, so it is width max_B 1 / c_B, attained at a coordinate vector.
- linf ball: |d_B|_2 <= M_B^(1/2) width for a block of size M_B, so it is width sum_B M_B^(1/2) / c_B,
  attained where every coordinate moves by the width.
- box |d_j| <= w_j: sum_B |w_B|_2 / c_B.
- ellipsoid sum_j d_j^2 / w_j^2 <= 1: Cauchy-Schwarz gives (sum_B max_{j in B} w_j^2 / c_B^2)^(1/2),
  attained with one coordinate a block.

Under (epsilon, delta) one block may have a larger loss than epsilon:
`dpfda.privacy.composition.block_profile`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpfda.bounds import BodyNorm, Norm
from dpfda.noise.charges import checked_shape, exact_shape, scaled_up, sizes_of, squares
from dpfda.noise.mixtures import Block, NoiseMixture, drawn_mixture, factor
from dpfda.noise.protocol import AnyNorm, VectorLaw, Width, check_positive
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.exactness import PRECISION, at_least, precision, root_at_least, turning, upper_end
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import BlockLoss, BlocksLoss, LaplaceLoss, Loss, block_length, laplace_rho
from dpfda.privacy.composition.block_profile import block_delta, block_scale, estimated_ratios
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP

# Integer scales may exceed their targets by this much, relatively, before the loss is recomputed.
MARGIN = 2.0**-45
# Noise of any symmetric shape costs as blocks of one coordinate do: as one Laplace variable.
ANY_SHAPE = (1,)


@dataclass(frozen=True)
class KNormNoise(VectorLaw):
    """Independent blocks, block B with density proportional to exp(-|z|_2 / c_B).

    Blocks of size one are independent Laplace variables of scale c_B.

    Parameters
    ----------
    block_sizes : tuple of int
        Sizes M_B of consecutive blocks.
    scales : tuple of int
        Scales c_B, in grid units.

    Notes
    -----
    A block is c_B R U with R ~ Gamma(M, 1) and U uniform on the sphere. It is drawn as
    sqrt(chi^2_{M+1}) N(0, I_M): its length is chi_{M+1} chi_M, and by the duplication formula
    E (chi_{M+1} chi_M)^s = Gamma(M + s) / Gamma(M), the moments of Gamma(M, 1).
    """

    block_sizes: tuple[int, ...]
    scales: tuple[int, ...]
    law: ClassVar[str] = "k-norm"

    def __post_init__(self) -> None:
        check_positive("block_sizes", self.block_sizes)
        check_positive("scales", self.scales)
        if len(self.block_sizes) != len(self.scales):
            raise ParameterError(
                "scales", f"be as many as blocks ({len(self.block_sizes)})", f"{len(self.scales)}"
            )

    @property
    def components(self) -> int:
        return sum(self.block_sizes)

    def draw(self) -> list[int]:
        noise: list[int] = []
        start = 0
        for size, run in itertools.groupby(self.block_sizes):
            scales = self.scales[start : start + len(list(run))]
            start += len(scales)
            if size == 1:
                noise += _draw_laplace(scales)
            else:
                for scale in scales:
                    noise += draw_ellipsoid((scale,) * size)
        return noise

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        if self.components == len(self.block_sizes):
            return _simulated_laplace(self.scales, generator, draws)
        sizes = np.asarray(self.block_sizes)
        directions = generator.standard_normal((draws, self.components))
        mixing = np.sqrt(generator.chisquare(sizes + 1.0, size=(draws, sizes.size)))
        scaled = mixing * np.asarray(self.scales, dtype=float)
        directions *= np.repeat(scaled, sizes, axis=1)
        return directions

    def simulate_sums(self, generator: np.random.Generator, draws: int, count: int) -> Floats:
        if self.components > len(self.block_sizes) or len(set(self.scales)) > 1:
            return super().simulate_sums(generator, draws, count)
        # Laplace variables are differences of exponential ones, whose sums are Gamma variables.
        more, less = generator.standard_gamma(count, size=(2, draws, self.components // count))
        return np.asarray((more - less) * float(self.scales[0]))

    def variances(self) -> Floats:
        sizes = np.asarray(self.block_sizes)
        scales = np.asarray(self.scales, dtype=float)
        return np.repeat(scales**2 * (sizes + 1.0), sizes)

    def describe(self) -> str:
        if set(self.block_sizes) == {1}:
            return f"independent Laplace noise on {so_many(self.components, 'coefficient')}"
        if len(self.block_sizes) == 1:
            return f"one K-norm block on {so_many(self.components, 'coefficient')}"
        many = so_many(self.components, "coefficient")
        return f"K-norm noise in {len(self.block_sizes)} blocks on {many}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        sizes = sizes_of(self.components, norm, width)
        if norm == "box":
            lengths = self._ratios(sizes, lambda w: root_at_least(squares([Fraction(x) for x in w])))
            loss = sum(lengths, Fraction(0))
        elif norm == "ellipsoid":
            loss = root_at_least(squares(self._ratios(sizes, max)))
        else:
            loss = knorm_loss(self.scales, norm, sizes[0], self.block_sizes)
        return of_blocks(loss, self.block_sizes, requested)

    def _ratios(
        self, sizes: tuple[int, ...], length: Callable[[tuple[int, ...]], Fraction | int]
    ) -> list[Fraction]:
        """How far each block may move, in units of its scale."""
        ends = np.cumsum(self.block_sizes).tolist()
        blocks = zip(self.block_sizes, ends, self.scales, strict=True)
        return [Fraction(length(sizes[end - size : end])) / scale for size, end, scale in blocks]

    def loss(self, requested: Guarantee) -> Loss | None:
        sizes = self.block_sizes
        if set(sizes) == {1}:
            return symmetric_loss(requested)
        if len(sizes) == 1:
            return block_loss(sizes[0], requested)
        if isinstance(requested, ApproximateDP):
            return None
        epsilon = pure_budget(requested, sizes)
        return BlocksLoss(epsilon, block_rho(sizes)(epsilon))

    @classmethod
    def equal(cls, count: int, scale: int) -> Self:
        """Independent Laplace noise of one scale."""
        return cls((1,) * count, (scale,) * count)

    def mixture(self) -> NoiseMixture:
        ends = np.cumsum(self.block_sizes).tolist()
        mixtures = {size: factor(size, (size + 1) / 2, 2.0) for size in set(self.block_sizes)}
        blocks = tuple(
            Block(end - size, end, mixtures[size].factors, mixtures[size].logs)
            for size, end in zip(self.block_sizes, ends, strict=True)
        )
        return NoiseMixture(np.repeat(np.asarray(self.scales, dtype=float), self.block_sizes), blocks)

    def log_density(self, points: Floats) -> Floats:
        starts = np.concatenate([[0], np.cumsum(self.block_sizes)[:-1]])
        lengths = np.sqrt(np.add.reduceat(points**2, starts, axis=-1))
        return np.asarray(-np.sum(lengths / np.asarray(self.scales, dtype=float), axis=-1))


def _simulated_laplace(scales: tuple[int, ...], generator: np.random.Generator, draws: int) -> Floats:
    """Float draws (draws, K) of Laplace variables: exponential ones with random signs."""
    noise = generator.standard_exponential((draws, len(scales)))
    # The sign bit of a random byte, as -1 or 1.
    noise *= (generator.integers(-128, 128, noise.shape, dtype=np.int8) >> 7) | 1
    noise *= np.asarray(scales, dtype=float)
    return noise


def _draw_laplace(scales: tuple[int, ...]) -> list[int]:
    def values(a: Arithmetic[Real]) -> At[Real]:
        numbers = a.integers(scales)
        return lambda places: numbers[places] * drawing.laplace(a, 0, places)

    return drawing.draw_array(values, 2 * len(scales), len(scales))


def draw_ellipsoid(axes: tuple[int, ...]) -> list[int]:
    """One exact draw of an ellipsoid's K-norm law."""

    def scaled(a: Arithmetic[Real], square: Real) -> At[Real]:
        length, numbers = a.sqrt(square), a.integers(axes)
        return lambda places: numbers[places] * length

    return drawn_mixture(len(axes), len(axes) + 1, scaled)


def of_blocks(epsilon: Fraction, block_sizes: Sequence[int], requested: Guarantee) -> Guarantee:
    """What blocks of this largest loss give: with a delta only where epsilon alone does not cover it."""
    single = len(block_sizes) == 1
    if single and isinstance(requested, ApproximateDP) and epsilon > requested.epsilon:
        delta = block_delta(block_sizes[0], epsilon, requested.epsilon)
        return ApproximateDP(requested.epsilon, delta)
    return of_pure(epsilon, requested, block_sizes)


def of_pure(
    epsilon: Fraction, requested: Guarantee, block_sizes: Sequence[int] = ANY_SHAPE
) -> Guarantee:
    """What symmetric noise of this largest loss gives, in the kind that is wanted."""
    if isinstance(requested, ZeroConcentratedDP):
        return ZeroConcentratedDP(block_rho(block_sizes)(epsilon))
    return PureDP(epsilon)


def symmetric_loss(requested: Guarantee) -> Loss | None:
    """The loss of any symmetric law: one Laplace variable's. None with a delta, which it does not use.

    It holds for density exp(-phi(z)) with phi(-z) = phi(z) that changes along no difference d by more
    than its share of epsilon, |phi(z) - phi(z + s d)| <= s epsilon for 0 <= s <= 1: for every norm over
    its scale. Proved in docs/composition.md.
    """
    return None if isinstance(requested, ApproximateDP) else LaplaceLoss(pure_budget(requested))


@lru_cache(maxsize=256)
def block_loss(dimension: int, requested: Guarantee) -> Loss | None:
    """The loss of one block: with a delta, at the longest shift that the guarantee allows it."""
    if not isinstance(requested, ApproximateDP):
        return BlockLoss(dimension, pure_budget(requested, (dimension,)))
    length = block_length(dimension, requested)
    return None if length is None else BlockLoss(dimension, length)


def knorm_loss(
    scales: Sequence[int], norm: Norm, width: int, block_sizes: Sequence[int] | None = None
) -> Fraction:
    """Privacy loss of independent K-norm blocks, rounded up.

    scales: Block scales c_B, in grid units.
    norm: {"l1", "l2", "linf"}. Norm in which neighbouring sums differ by at most `width`.
    width: That distance, in grid units.
    block_sizes: Sizes M_B of the blocks. The linf norm needs them; the others do not depend on them.
    Raises ParameterError if the sizes are needed and missing.
    """
    if norm == "l1":
        return Fraction(width, min(scales))
    if norm == "linf":
        if block_sizes is None or len(block_sizes) != len(scales):
            raise ParameterError("block_sizes", "have one size a scale under linf", block_sizes)
        return _box_loss(Counter(zip(block_sizes, scales, strict=True)), width)
    with precision(PRECISION):
        total = arb(0)
        for scale in scales:
            total += arb(1) / arb(scale) ** 2
        return upper_end(width * total.sqrt())


def _box_loss(blocks: Counter[tuple[int, int]], width: int) -> Fraction:
    """Sum of M_B^(1/2) / c_B times the width: exact where every root is an integer."""
    total = Fraction(0)
    for (size, scale), count in blocks.items():
        root = Fraction(math.isqrt(size))
        if root**2 != size:
            with precision(PRECISION):
                root = upper_end(arb(size).sqrt())
        total += count * root / scale
    return width * total


def knorm_noise(
    block_sizes: Sequence[int], relative: ArrayLike, norm: Norm, width: int, guarantee: Guarantee
) -> KNormNoise:
    """Scale K-norm blocks of given relative scales to a guarantee.

    block_sizes: Sizes of consecutive blocks.
    relative: array (blocks,). Relative scales, positive.
    norm, width: As in `knorm_loss`.
    guarantee: What the noise must give. A rho-zCDP request is met by the largest epsilon that costs rho.
        An approximate one is for one block, whose exact profile meets it with the smallest integer
        scale.
    Raises RefusedMechanismError if several blocks are to use a delta.
    """
    if isinstance(guarantee, ApproximateDP) and len(block_sizes) == 1:
        size = int(block_sizes[0])
        length = knorm_loss((1,), norm, width, (size,))
        return KNormNoise((size,), (block_scale(size, length, guarantee),))
    epsilon = pure_budget(guarantee, block_sizes)
    shape = checked_shape(relative)
    targets = knorm_targets(block_sizes, shape, norm, width, float(epsilon))
    while True:
        scales = tuple(max(1, math.ceil(target)) for target in targets.tolist())
        if knorm_loss(scales, norm, width, block_sizes) <= epsilon:
            return KNormNoise(tuple(int(size) for size in block_sizes), scales)
        targets *= 1 + MARGIN


def knorm_targets(
    block_sizes: Sequence[int], relative: Floats, norm: Norm, width: int, epsilon: float
) -> Floats:
    """Real-valued scales with the loss epsilon, to float accuracy: a start, not a guarantee."""
    shape = relative / relative.min()
    if norm == "linf":
        loss = float(np.sum(np.sqrt(np.asarray(block_sizes)) / shape))
    else:
        loss = 1.0 if norm == "l1" else math.sqrt(float(np.sum(1.0 / shape**2)))
    return np.asarray(width * loss / epsilon * shape)


@lru_cache(maxsize=64)
def block_lengths(guarantee: Guarantee, count: int) -> Floats:
    """Longest shift over scale that one block of 1, 2, ... coordinates may have, in floats.

    To compare designs. Under a pure guarantee it is epsilon whatever the size; a delta lets larger
    blocks have less noise.

    count: Largest number of coordinates.
    Returns array (count,).
    """
    if isinstance(guarantee, ApproximateDP):
        lengths = estimated_ratios(np.arange(1, count + 1), guarantee)
    else:
        lengths = np.full(count, float(pure_budget(guarantee)))
        if isinstance(guarantee, ZeroConcentratedDP):
            lengths = np.maximum(lengths, np.sqrt(2 * float(guarantee.rho) * np.arange(1, count + 1)))
    lengths.setflags(write=False)
    return lengths


def pure_budget(guarantee: Guarantee, block_sizes: Sequence[int] = ANY_SHAPE) -> Fraction:
    """Epsilon that K-norm noise may spend to stay within the guarantee.

    block_sizes: Of noise in blocks of the l2 norm; by default noise of any symmetric shape.
    Raises RefusedMechanismError for an approximate guarantee, whose delta noise without an exact
    profile would not use.
    """
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    if isinstance(guarantee, ZeroConcentratedDP):
        cost, rho = block_rho(block_sizes), guarantee.rho
        return turning(lambda epsilon: cost(epsilon) <= rho, rho + 2)[0]
    raise RefusedMechanismError(
        "mechanism",
        "suit the guarantee",
        f"K-norm noise for {guarantee}",
        "Ask for $delta, or use $mechanism, the latter for one block.",
        delta=0,
        mechanism=("gaussian", "knorm"),
    )


def block_rho(block_sizes: Sequence[int]) -> Callable[[Fraction], Fraction]:
    """What a pure epsilon of these blocks costs in zero-concentrated terms.

    As one Laplace variable, epsilon + exp(-epsilon) - 1, or less: at a given loss the longest shift is
    in the smallest block, of M coordinates, where it costs at most epsilon^2 / (2 M).
    """
    smallest = min(block_sizes)
    return lambda epsilon: min(laplace_rho(epsilon), at_least(epsilon**2 / (2 * smallest)))


def laplace_on_body(
    relative: ArrayLike, norm: BodyNorm, width: Sequence[int], guarantee: Guarantee
) -> KNormNoise:
    """Independent Laplace noise of given relative scales, on a box or an ellipsoid of differences."""
    shape = exact_shape(relative)
    sizes = sizes_of(len(shape), norm, tuple(width))
    epsilon = pure_budget(guarantee)
    ratios = [w / s for w, s in zip(sizes, shape, strict=True)]
    loss = sum(ratios, Fraction(0)) if norm == "box" else root_at_least(squares(ratios))
    return KNormNoise((1,) * len(shape), scaled_up(shape, loss / epsilon))
