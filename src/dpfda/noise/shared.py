"""Noise in shares: each of several parties draws one, and those of the honest ones give the guarantee.

Write m for the number of honest shares that a guarantee is stated for, and h >= 1 for those that are
looked at. Who holds the other shares subtracts them; what is left is the sum of h independent ones.

**Gaussian.** A share of coordinate j is a discrete Gaussian integer of variance s_j^2 / m. Two of
variances a and b add up to e^(-x^2 / 2 (a + b)) times a sum over the lattice, sum_y exp(-(y - c x)^2 /
2 v) with v = a b / (a + b). Wherever their centre is, such sums are alike: for v >= 1/2 their ratio is
at most exp(5 exp(-2 f v)), f = 9.869, and so is that to the discrete Gaussian of variance a + b, both
ways and everywhere. A bound on a ratio stays under convolution: h shares differ by at most eta = 5 (h -
1) exp(-f s^2 / m) a coordinate from one discrete Gaussian, s the smallest scale (Kairouz, Liu & Steinke
2021, Theorem 9, with pi^2 for f). All of this and rho below a machine has checked (`proofs/Gap.v`).

- *rho.* Discrete Gaussians lose mu^2 / 2, as normal variables do (Canonne, Kamath & Steinke 2020,
  Theorem 4), for mu the length of a shift in units of s_j (h/m)^(1/2). A ratio within eta is one of
  eta^2 / 2 a coordinate, on both sides, and roots of rho add up (Bun & Steinke 2016): rho = (mu + 2 eta
  K^(1/2))^2 / 2.
- *(epsilon, delta).* Let V be the variance of a coordinate of all h. Against the rounded normal
  variable the ratio is, at |x| <= A, at most exp of kappa = (1 + A^2 / V) / (24 V) + 3 exp(-2 f V):
  the mean of exp(-x u / V - u^2 / 2 V) over |u| < 1/2 lies between exp(-1 / 24 V) and sinh(z) / z <=
  exp(z^2 / 6), z = x / 2 V. With zeta = eta + kappa at A = (T + mu) V^(1/2), on the set of all |x_j| <=
  T V^(1/2) and on what a shift makes of it, delta(epsilon) <= e^(K zeta) delta_normal(epsilon - 2 K
  zeta) + 2 K exp(-T^2 / 2), since sums of discrete Gaussians have the tail of a normal variable's
  generating function.

**Laplace** and **K-norm** shares are divisible laws, and lose what the page on custodians says
(docs/appendix/custodians.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, TypeVar, cast

import numpy as np
from flint import arb

from dpfda.noise import knorm_shares as shares
from dpfda.noise.blocks import KNormNoise
from dpfda.noise.gaussian import GaussianNoise
from dpfda.noise.knorm_shares import FLATNESS, Drawn, InShares, SharedKNormNoise, rounded_up
from dpfda.noise.protocol import AnyNorm, NoiseLaw, Width, unsuited
from dpfda.noise.symmetric import (
    MatrixLaw,
    OuterDifference,
    SymmetricGaussianNoise,
    SymmetricKNormNoise,
    SymmetricNoise,
    filled,
)
from dpfda.numerics.arrays import Floats
from dpfda.numerics.discrete import discrete_gaussians, polyas
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.numerics.exactness import PRECISION, enclosed, precision, root_at_least, upper_end
from dpfda.privacy.composition import gaussian_delta
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, ZeroConcentratedDP, within

# Of the delta asked for, what tails may take.
TAIL = Fraction(1, 2**20)
# Scales are raised by 2^-k, the largest of these k that will do, where the gap asks for it.
STEPS = range(24, 5, -1)


@dataclass(frozen=True)
class SharedGaussianNoise(InShares):
    """Sums of discrete Gaussian shares of variances s_j^2 / honest."""

    law: ClassVar[str] = "shared-gaussian"
    central: ClassVar[str] = "Gaussian"

    def share(self) -> list[int]:
        return discrete_gaussians([Fraction(scale**2, self.honest) for scale in self.scales])

    draw = Drawn._all

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        deviations = np.sqrt(self.variances())
        return np.asarray(generator.standard_normal((draws, self.components)) * deviations)

    def variances(self) -> Floats:
        return np.asarray(self.sizes**2 * self.drawn / self.honest)

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        normal = GaussianNoise(self.scales).achieved(norm, width, ZeroConcentratedDP(Fraction(1)))
        rho = cast("ZeroConcentratedDP", normal).rho
        return _with_gap(self, 2 * rho, Fraction(min(self.scales) ** 2, self.honest), requested)


def _with_gap(
    law: SharedGaussianNoise | SharedSymmetricNoise,
    square: Fraction,
    smallest: Fraction,
    requested: Guarantee,
) -> Guarantee:
    """What sums of discrete Gaussian shares give.

    square: Of the length by which neighbours differ, each coordinate in units of its own deviation where
        as many are drawn as are honest.
    smallest: Variance of a share in the coordinate where that is smallest.
    """
    if smallest < 1:
        raise unsuited(law, requested)
    mu = root_at_least(square * law.honest / law.drawn)
    with precision(PRECISION):
        turn = arb(FLATNESS)
        eta = rounded_up(upper_end(5 * (law.drawn - 1) * (-turn * enclosed(smallest)).exp()))
    if isinstance(requested, ZeroConcentratedDP):
        gap = 2 * eta * root_at_least(Fraction(law.components))
        return ZeroConcentratedDP(rounded_up((mu + gap) ** 2 / 2))
    if not isinstance(requested, ApproximateDP):
        raise unsuited(law, requested)
    variance, tails = smallest * law.drawn, requested.delta * TAIL
    with precision(PRECISION):
        farthest = upper_end((2 * enclosed(2 * law.components / tails).log()).sqrt())
        zeta = eta + (1 + (farthest + mu) ** 2) / (24 * variance)
        zeta += 3 * upper_end((-2 * turn * enclosed(variance)).exp())
        zeta = rounded_up(zeta)
        growth = upper_end(enclosed(law.components * zeta).exp())
    rest = requested.epsilon - 2 * law.components * zeta
    delta = rounded_up(growth * gaussian_delta(rest, mu) + tails, 1024) if rest > 0 else Fraction(1)
    if delta >= 1:
        # A bound of one or more says nothing, and any number below it could be untrue.
        raise unsuited(law, requested)
    return ApproximateDP(requested.epsilon, delta)


@dataclass(frozen=True)
class SymmetricShares(Drawn, MatrixLaw):
    """What noise in shares on symmetric matrices has in common; fields as in `InShares`."""

    # They are not asked for by a name of their own.
    mechanism: ClassVar[str] = ""

    @property
    def squares(self) -> list[Fraction]:
        """Of the scale, for the entries of the lower triangle: half of it off the diagonal."""
        places = zip(*np.tril_indices(self.size), strict=True)
        return [Fraction(self.scale**2, 1 if i == j else 2) for i, j in places]

    def describe(self) -> str:
        return f"discrete {super().describe()}, {self.counted}"

    def loss(self, requested: Guarantee) -> None:
        return None


@dataclass(frozen=True)
class SharedSymmetricNoise(SymmetricShares, SymmetricGaussianNoise):
    """Sums of discrete Gaussian shares on a symmetric matrix.

    Of variance s^2 / honest on the diagonal, and half of that off it.
    """

    law: ClassVar[str] = "shared-symmetric-gaussian"

    @property
    def power(self) -> float:
        return float(self.scale) ** 2 * self.drawn / self.honest

    def share(self) -> list[int]:
        return discrete_gaussians([square / self.honest for square in self.squares])

    draw = Drawn._all

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        return np.asarray(super().simulate(generator, draws) * (self.drawn / self.honest) ** 0.5)

    def achieved(self, difference: OuterDifference, requested: Guarantee) -> Guarantee:  # type: ignore[override]
        square = Fraction(difference.frobenius_square, self.scale**2)
        return _with_gap(self, square, Fraction(self.scale**2, 2 * self.honest), requested)


@dataclass(frozen=True)
class SharedSymmetricKNormNoise(SymmetricShares, SymmetricKNormNoise):
    """Sums of K-norm shares on a symmetric matrix, in the Frobenius norm: pure epsilon."""

    law: ClassVar[str] = "shared-symmetric-k-norm"

    @property
    def power(self) -> float:
        return float(self.scale) ** 2 * (self.components + 1) * self.drawn / self.honest

    def share(self) -> list[int]:
        return shares.k_norm_share(self.squares, self.honest)

    draw = Drawn._all

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        shape = (self.components + 1) * self.drawn / (2 * self.honest)
        mixing = np.sqrt(2 * generator.standard_gamma(shape, size=(draws, 1)))
        normal = generator.standard_normal((draws, self.components)) * mixing
        return filled(normal, self.size) * float(self.scale)

    def achieved(self, difference: OuterDifference, requested: Guarantee) -> PureDP:
        return shares.k_norm_loss(self, difference.frobenius / self.scale, requested)


@dataclass(frozen=True)
class SharedLaplaceNoise(InShares):
    """Sums of Polya shares of shape 1 / honest: differences of negative binomial numbers."""

    law: ClassVar[str] = "shared-laplace"
    central: ClassVar[str] = "Laplace"

    def share(self) -> list[int]:
        return polyas(self.scales, self.honest)

    draw = Drawn._all

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        shape, size = self.drawn / self.honest, (2, draws, self.components)
        more, less = generator.standard_gamma(shape, size=size)
        return np.asarray((more - less) * self.sizes)

    def variances(self) -> Floats:
        # Of a geometric number, 1 / (4 sinh^2(1 / 2b)), twice.
        return np.asarray(self.drawn / self.honest / (2 * np.sinh(0.5 / self.sizes) ** 2))

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        if not isinstance(requested, PureDP) or self.drawn < self.honest:
            raise unsuited(self, requested)
        return KNormNoise((1,) * self.components, self.scales).achieved(norm, width, requested)


def shared(
    central: NoiseLaw, honest: int, norm: AnyNorm, width: Width, requested: Guarantee
) -> SharedGaussianNoise | SharedLaplaceNoise | SharedKNormNoise:
    """The law in shares of which `honest` have the guarantee, instead of a central law.

    Gaussian and Laplace noise have its scales, and one block of K-norm noise. That of a box, which is
    not known to divide, is replaced by that of the ellipsoid around the box of least noise.
    Raises RefusedMechanismError if the central law is another, or the gap leaves no scale of at most
    1.05 times its variance.
    """
    if isinstance(central, GaussianNoise):
        gaussian = SharedGaussianNoise(central.scales, honest, honest)
        if not isinstance(requested, PureDP) and min(central.scales) ** 2 >= honest:
            return _raised(gaussian, norm, width, requested)
    if isinstance(requested, PureDP):
        laplace = isinstance(central, KNormNoise) and central.components == len(central.block_sizes)
        if laplace:
            return SharedLaplaceNoise(central.scales, honest, honest)  # type: ignore[attr-defined]
        if law := shares.k_norm(central, width, requested.epsilon):
            return _raised(replace(law, honest=honest, drawn=honest), norm, width, requested)
    raise _without_shares(central, "'auto', 'knorm' or 'laplace'")


def shared_symmetric(
    central: SymmetricNoise, honest: int, difference: OuterDifference, requested: Guarantee
) -> SharedSymmetricNoise | SharedSymmetricKNormNoise:
    """The same on symmetric matrices, in the Frobenius norm. Raises RefusedMechanismError."""
    pure = isinstance(requested, PureDP)
    if isinstance(central, SymmetricKNormNoise if pure else SymmetricGaussianNoise):
        for scale in _raises(central.scale):
            kind = SharedSymmetricKNormNoise if pure else SharedSymmetricNoise
            law = kind(central.size, scale, honest, honest)
            if within(law.achieved(difference, requested), requested):
                return law
    raise _without_shares(central, "'knorm'")


def _without_shares(central: NoiseLaw | SymmetricNoise, pure: str) -> RefusedMechanismError:
    words, remedy = (
        "have noise that can be drawn in shares",
        f"Use 'gaussian' with rho or delta, or {pure}",
    )
    return RefusedMechanismError("mechanism", words, central.describe(), f"{remedy} without.")


Raised = TypeVar("Raised", SharedGaussianNoise, SharedKNormNoise)


def _raised(law: Raised, norm: AnyNorm, width: Width, requested: Guarantee) -> Raised:
    for scales in zip(*map(_raises, law.scales), strict=True):
        raised = replace(law, scales=scales)
        if within(raised.achieved(norm, width, requested), requested):
            return raised
    raise unsuited(law, requested)


def _raises(scale: int) -> list[int]:
    """A scale, and the larger ones that are tried where the gap asks for it."""
    return [scale, *(-(-scale * (2**step + 1) // 2**step) for step in STEPS)]
