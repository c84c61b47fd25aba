"""Some coordinates of box noise on more of them: what one of several functions sees of one law for all.

Several sums that each move within a box of their own, by the data of one unit, move together within
one box: that of all their coordinates. Its K-norm noise on all of them (`BoxNoise`) has the loss
max_j w_j / b_j over all coordinates, where noise on each sum apart has the sum of their losses. What
one sum sees of it is the law here. Its loss is no more than that of the whole, of which it is a
function: max_j w_j / b_j over its own coordinates, which are those that it moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from dpfda.noise.blocks import of_pure
from dpfda.noise.bodies import ONE_BLOCK, BoxNoise
from dpfda.noise.differences import largest_ratio, sizes_of
from dpfda.noise.mixtures import Block, NoiseMixture, factor, one_factor
from dpfda.noise.protocol import AnyNorm, ScaledLaw, Width
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole as whole_number
from dpfda.privacy.guarantees import Guarantee


@dataclass(frozen=True)
class BoxPartNoise(ScaledLaw):
    """M of D coordinates of noise of density proportional to exp(-max_j |z_j| / b_j).

    Parameters
    ----------
    scales : tuple of int
        Half-widths b_j of the box in these coordinates, in grid units.
    whole : int
        Number D of coordinates of the box.

    Notes
    -----
    It is R U with R ~ Gamma(D + 1, 1) and U uniform on the M sides. A coordinate has variance
    b_j^2 (D + 1)(D + 2) / 3. With t = max_j |z_j| / b_j the density is proportional to the integral of
    r^(D - M) e^-r over r > t, the upper incomplete gamma function of D - M + 1 at t. It falls slower
    than e^-t by a polynomial: the loss max_j w_j / b_j is approached far out.
    """

    whole: int
    law: ClassVar[str] = "k-norm-box-part"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.whole, "whole", len(self.scales))

    def draw(self) -> list[int]:
        """One exact draw of these coordinates by themselves."""
        scales, size = self.scales, len(self.scales)

        def values(a: Arithmetic[Real]) -> At[Real]:
            # Half of a chi-square variable with 2 (D + 1) degrees of freedom.
            length, numbers = drawing.chi_square(a, size, self.whole + 1) / 2, a.integers(scales)
            return lambda places: numbers[places] * (length * (2 * a.uniforms(places) - 1))

        return drawing.draw_array(values, size + self.whole + 1, size)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        lengths = generator.gamma(self.whole + 1.0, size=(draws, 1))
        points = generator.uniform(-1.0, 1.0, size=(draws, len(self.scales)))
        return np.asarray(points * lengths * np.asarray(self.scales, dtype=float))

    def variances(self) -> Floats:
        squares = np.asarray(self.scales, dtype=float) ** 2
        return np.asarray(squares * (self.whole + 1.0) * (self.whole + 2.0) / 3)

    def describe(self) -> str:
        return f"K-norm noise of a box on {self.whole} coefficients, of which it has {self.components}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        epsilon = largest_ratio(sizes_of(self.components, norm, width), self.scales)
        return of_pure(epsilon, ONE_BLOCK, requested)

    def mixture(self) -> NoiseMixture:
        """Close to it: a uniform coordinate is replaced by a normal one of the same variance."""
        lengths = factor(self.components, scipy.stats.gamma(self.whole + 1))
        block = Block(0, self.components, lengths.factors**2 / 3, lengths.logs)
        return one_factor(self.scales, block)

    def log_density(self, points: Floats) -> Floats:
        farthest = np.max(np.abs(points) / np.asarray(self.scales, dtype=float), axis=-1)
        return np.asarray(tail_logs(farthest, self.whole - self.components) - farthest)


def tail_logs(at: Floats, others: int, integrals: int = 0) -> Floats:
    """Log of e^a times the density of a part of a box, or its integral from a on, up to one factor.

    With k other coordinates the density at a is the upper incomplete gamma function of k + 1,
    k! e^-a sum_(j <= k) a^j / j!. Its integral has the factors k + 1 - j in that sum.

    Parameters
    ----------
    at : array
        Distances a, nonnegative, in half-widths of the box.
    others : int
        Number k of coordinates of the box that are not of the part.
    integrals : {0, 1}
    """
    j = np.arange(others + 1.0)
    logs = scipy.special.xlogy(j, np.asarray(at)[..., None]) - scipy.special.gammaln(j + 1)
    logs += integrals * np.log(others + 1 - j) + scipy.special.gammaln(others + 1)
    return np.asarray(scipy.special.logsumexp(logs, axis=-1))


def parts_of(box: BoxNoise, sizes: tuple[int, ...]) -> tuple[BoxPartNoise, ...]:
    """The laws of consecutive coordinates of a box, so many in each.

    Raises
    ------
    ParameterError
        If the sizes do not add up to the box's.
    """
    total = len(box.scales)
    if sum(sizes) != total:
        raise ParameterError("sizes", f"add up to {total}", f"{sum(sizes)}")
    ends = np.cumsum(sizes).tolist()
    return tuple(
        BoxPartNoise(box.scales[end - size : end], total) for size, end in zip(sizes, ends, strict=True)
    )
