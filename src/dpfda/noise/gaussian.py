"""Gaussian noise: the exact privacy profile, and the classical rule where it is proved.

For standard deviations s_j the Cameron-Martin length of a shift |d| <= width is at most mu = width
max_j 1 / s_j, on the l1 and on the l2 ball, and the exact profile (Balle & Wang 2018, Theorem 8) is

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

On a box |d_j| <= w_j it is mu = (sum_j w_j^2 / s_j^2)^(1/2), on an ellipsoid of semi-axes w_j it is
max_j w_j / s_j.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bounds import BodyNorm, Norm
from dpfda.noise.charges import (
    checked_shape,
    exact_shape,
    largest_ratio,
    root_sum,
    scaled_up,
    sizes_of,
    squares,
)
from dpfda.noise.mixtures import Block, NoiseMixture, one_factor
from dpfda.noise.protocol import AnyLaw, AnyNorm, ScaledLaw, Width, refuse_linf, unsuited
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.exactness import PRECISION, enclosed, precision, root_at_least, turning, upper_end
from dpfda.numerics.parameters import readable, root_at_most
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import GaussianLoss, Loss, gaussian_delta, gaussian_rho
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP

SMALLEST_DELTA = Fraction(1, 10**300)


@dataclass(frozen=True)
class GaussianNoise(ScaledLaw):
    """Independent normal noise with one standard deviation a component.

    scales: Standard deviations, in grid units.
    """

    law: ClassVar[str] = "gaussian"

    def draw(self) -> list[int]:
        scales, size = self.scales, len(self.scales)

        def values(a: Arithmetic[Real]) -> At[Real]:
            numbers = a.integers(scales)
            return lambda places: numbers[places] * drawing.normals(a, 0, places)

        return drawing.draw_array(values, size + size % 2, size)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        return np.asarray(generator.standard_normal((draws, self.components)) * self.sizes)

    def simulate_sums(self, generator: np.random.Generator, draws: int, count: int) -> Floats:
        squares = self.variances().reshape(-1, count).sum(axis=1)
        return np.asarray(generator.standard_normal((draws, squares.size)) * np.sqrt(squares))

    def variances(self) -> Floats:
        return np.asarray(self.sizes**2)

    def describe(self) -> str:
        return f"Gaussian noise on {so_many(self.components, 'coefficient')}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        refuse_linf(self, norm)
        return of_length(self, self._length(norm, width), requested)

    def _length(self, norm: AnyNorm, width: Width) -> Fraction:
        """Cameron-Martin length mu of the largest difference between neighbouring sums, rounded up."""
        longest = root_sum if norm == "box" else largest_ratio
        return longest(sizes_of(self.components, norm, width), self.scales)

    def loss(self, requested: Guarantee) -> Loss | None:
        return gaussian_loss(requested)

    def mixture(self) -> NoiseMixture:
        return one_factor(self.scales, Block(0, self.components, np.ones(1), np.zeros(1)))

    def log_density(self, points: Floats) -> Floats:
        return np.asarray(-np.sum((points / self.sizes) ** 2, axis=-1) / 2)


def of_length(noise: AnyLaw, mu: Fraction, requested: Guarantee) -> ApproximateDP | ZeroConcentratedDP:
    """What normal noise gives at this Cameron-Martin length: the exact delta or rho."""
    if isinstance(requested, ApproximateDP):
        return ApproximateDP(requested.epsilon, gaussian_delta(requested.epsilon, mu))
    if isinstance(requested, ZeroConcentratedDP):
        return ZeroConcentratedDP(mu**2 / 2)
    raise unsuited(noise, requested)


def gaussian_loss(requested: Guarantee) -> Loss | None:
    """The loss of normal noise that has a guarantee; it has no pure one."""
    return None if isinstance(requested, PureDP) else GaussianLoss(gaussian_rho(requested))


def gaussian_ratio(guarantee: Guarantee, calibration: str = "exact") -> Fraction:
    """Largest mu = width / scale that keeps the guarantee, rounded down.

    guarantee: Target.
    calibration: {"exact", "classical"}. Balle & Wang's profile, or scale = width sqrt(2 log(2/delta)) /
        epsilon (Hall, Rinaldo & Wasserman 2013, Proposition 3), which is proved for epsilon <= 1 only.
    Raises RefusedMechanismError for a pure guarantee, and for the classical rule beyond epsilon = 1.
    """
    if calibration not in ("exact", "classical"):
        raise ParameterError("calibration", "be 'exact' or 'classical'", repr(calibration))
    if isinstance(guarantee, PureDP):
        raise RefusedMechanismError(
            "delta",
            "be positive for Gaussian noise",
            "0",
            "The density ratio of Gaussian noise is unbounded, so no scale gives pure differential"
            " privacy. Set delta (for example 1e-6) or use $mechanism.",
            "Reimherr & Awan 2019, Theorem 4",
            mechanism=("knorm", "iclp"),
        )
    if isinstance(guarantee, ZeroConcentratedDP):
        # rho = mu^2 / 2.
        return root_at_most(2 * guarantee.rho, 60)
    if calibration == "classical":
        return _classical_ratio(guarantee)
    if guarantee.delta < SMALLEST_DELTA:
        raise ParameterError("delta", "be at least 1e-300 for Gaussian noise", f"{guarantee}")
    return _exact_ratio(guarantee.epsilon, guarantee.delta)


@lru_cache(maxsize=256)
def _exact_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    ceiling = 1 + 2 * Fraction(math.isqrt(int(2 * epsilon) + 1) + 1) + 40
    return turning(lambda mu: gaussian_delta(epsilon, mu) <= delta, ceiling)[0]


def _classical_ratio(guarantee: ApproximateDP) -> Fraction:
    if guarantee.epsilon > 1:
        raise RefusedMechanismError(
            "epsilon",
            "be at most 1 for the classical Gaussian rule",
            readable(guarantee.epsilon),
            "Its proof ends there and the rule fails by epsilon = 8. Use calibration='exact'.",
            "Hall, Rinaldo & Wasserman 2013, Proposition 3; Balle & Wang 2018, section 2",
        )
    with precision(PRECISION):
        inverse = (2 * (2 / enclosed(guarantee.delta)).log()).sqrt() / enclosed(guarantee.epsilon)
        return 1 / upper_end(inverse)


def gaussian_noise(
    relative: ArrayLike, width: int, guarantee: Guarantee, calibration: str = "exact"
) -> GaussianNoise:
    """Scale Gaussian noise of given relative deviations to a guarantee.

    relative: array (components,). Relative standard deviations, positive.
    width: Distance, in the l1 or l2 norm and in grid units, by which neighbouring sums differ.
    calibration: {"exact", "classical"}.
    """
    ratio = gaussian_ratio(guarantee, calibration)
    shape = checked_shape(relative)
    smallest = Fraction(width) / ratio
    return GaussianNoise(tuple(math.ceil(smallest * Fraction(float(s))) for s in shape))


def repeated_width(width: int, times: int) -> int:
    """The width that stands for several Gaussian releases, each chosen after those before: rounded up.

    Let each of T releases add normal noise of one deviation s to integers which, given all that was
    released before, neighbouring data sets move by at most `width` in length. Together they have at most
    the profile of one such release of T^(1/2) times the width.

    Write G_r for the profile of a shift of squared length r; it grows with r. By induction from the
    last: what follows a release has at most the profile G_r, r = (T - t) width^2 / s^2, whatever was
    released. The profile of both at e is the mean over the loss l of the release of that of what follows
    at e - l, so at most that of a shift of length d <= width / s beside an independent one of squared
    length r, which is G_(d^2 + r): normal losses add up. (Dong, Roth & Su 2022, Theorem 4; Smith &
    Thakurta 2022.) Rounding what was released to integers is post-processing. Where releases have ratios
    w_t / s_t of their own, r is the sum of the squares of those to come, by the same steps.
    """
    return math.isqrt(width**2 * times - 1) + 1


def moved_counts(moved: int, largest: int, normal: bool) -> tuple[Norm, int]:
    """In what norm, and how far, counts move that one unit moves by `moved` in l1, each by `largest`.

    Normal noise needs the l2 norm, which is rounded up: |d|_2^2 <= |d|_1 max_j |d_j|, attained where a
    unit changes its bins.
    """
    return ("l2", math.isqrt(moved * largest - 1) + 1) if normal else ("l1", moved)


def gaussian_on_body(
    relative: ArrayLike,
    norm: BodyNorm,
    width: Sequence[int],
    guarantee: Guarantee,
    calibration: str = "exact",
) -> GaussianNoise:
    """Gaussian noise of given relative deviations, on a box or an ellipsoid of differences."""
    shape = exact_shape(relative)
    sizes = sizes_of(len(shape), norm, tuple(width))
    ratios = [w / s for w, s in zip(sizes, shape, strict=True)]
    length = root_at_least(squares(ratios)) if norm == "box" else max(ratios)
    return GaussianNoise(scaled_up(shape, length / gaussian_ratio(guarantee, calibration)))
