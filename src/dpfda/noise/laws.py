"""Noise laws on integer sums: drawn exactly, simulated in floats for study, and their moments.

A law holds integer scales in units of the public grid on which records were rounded. It knows
nothing of bounds or budgets; `dpfda.calibration` finds its scales and recomputes its guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpfda import exactness
from dpfda.errors import ParameterError

Floats = NDArray[np.float64]


class NoiseLaw(Protocol):
    """What the rest of the library asks of a noise law."""

    law: ClassVar[str]

    @property
    def components(self) -> int:
        """Number of coefficients."""

    def draw(self) -> list[int]:
        """One exact draw from the operating system's entropy."""

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, components): for studies and bands, never for a release."""

    def variances(self) -> Floats:
        """Variance of each component, in squared grid units."""

    def describe(self) -> str:
        """Say the law in words."""


def _check_positive(name: str, values: tuple[int, ...]) -> None:
    if not values or any(type(value) is not int or value < 1 for value in values):
        raise ParameterError(name, "be positive integers", "others")


@dataclass(frozen=True)
class KNormNoise:
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
        _check_positive("block_sizes", self.block_sizes)
        _check_positive("scales", self.scales)
        if len(self.block_sizes) != len(self.scales):
            raise ParameterError(
                "scales", f"be as many as blocks ({len(self.block_sizes)})", f"{len(self.scales)}"
            )

    @property
    def components(self) -> int:
        return sum(self.block_sizes)

    def draw(self) -> list[int]:
        noise: list[int] = []
        for size, scale in zip(self.block_sizes, self.scales, strict=True):
            noise += _draw_laplace(scale) if size == 1 else _draw_ellipsoid((scale,) * size)
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

    def variances(self) -> Floats:
        sizes = np.asarray(self.block_sizes)
        scales = np.asarray(self.scales, dtype=float)
        return np.repeat(scales**2 * (sizes + 1.0), sizes)

    def describe(self) -> str:
        if set(self.block_sizes) == {1}:
            return f"independent Laplace noise on {self.components} coefficients"
        if len(self.block_sizes) == 1:
            return f"one K-norm block on {self.components} coefficients"
        return f"K-norm noise in {len(self.block_sizes)} blocks on {self.components} coefficients"


def _simulated_laplace(scales: tuple[int, ...], generator: np.random.Generator, draws: int) -> Floats:
    """Float draws (draws, K) of Laplace variables: exponential ones with random signs."""
    noise = generator.standard_exponential((draws, len(scales)))
    # The sign bit of a random byte, as -1 or 1.
    noise *= (generator.integers(-128, 128, noise.shape, dtype=np.int8) >> 7) | 1
    noise *= np.asarray(scales, dtype=float)
    return noise


def _draw_laplace(scale: int) -> list[int]:
    return exactness.draw_rounded(lambda u: [scale * exactness.laplace(u[0], u[1])], 2)


def _draw_ellipsoid(axes: tuple[int, ...]) -> list[int]:
    # chi^2 with M + 1 degrees of freedom: pairs from uniforms, an odd one from a normal.
    size = len(axes)
    pairs, odd = divmod(size + 1, 2)
    normals = size + odd + (size + odd) % 2

    def transform(uniforms: Sequence[arb]) -> list[arb]:
        gaussians = exactness.normals(uniforms[pairs:])
        square = exactness.chi_square(uniforms[:pairs])
        if odd:
            square += gaussians[size] ** 2
        length = square.sqrt()
        return [axis * length * gaussian for axis, gaussian in zip(axes, gaussians, strict=False)]

    return exactness.draw_rounded(transform, pairs + normals)


@dataclass(frozen=True)
class BoxNoise:
    """K-norm noise of a box: density proportional to exp(-max_j |z_j| / b_j).

    Parameters
    ----------
    scales : tuple of int
        Half-widths b_j of the box, in grid units.

    Notes
    -----
    It is R U with R ~ Gamma(M + 1, 1) and U uniform on the box: given R the density is constant on the
    box of half-widths R b_j, and the mixture at z is proportional to the integral of r^-M r^M e^-r over
    r > max_j |z_j| / b_j. A coordinate has variance b_j^2 (M + 1)(M + 2) / 3; coordinates are
    uncorrelated, not independent.
    """

    scales: tuple[int, ...]
    law: ClassVar[str] = "k-norm-box"

    def __post_init__(self) -> None:
        _check_positive("scales", self.scales)

    @property
    def components(self) -> int:
        return len(self.scales)

    def draw(self) -> list[int]:
        size = len(self.scales)

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            # Half of a chi-square variable with 2 (M + 1) degrees of freedom.
            length = exactness.chi_square(uniforms[size:]) / 2
            pairs = zip(self.scales, uniforms[:size], strict=True)
            return [scale * length * (2 * uniform - 1) for scale, uniform in pairs]

        return exactness.draw_rounded(transform, 2 * size + 1)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        size = len(self.scales)
        lengths = generator.gamma(size + 1.0, size=(draws, 1))
        points = generator.uniform(-1.0, 1.0, size=(draws, size))
        return np.asarray(points * lengths * np.asarray(self.scales, dtype=float))

    def variances(self) -> Floats:
        size = len(self.scales)
        return np.asarray(np.asarray(self.scales, dtype=float) ** 2 * (size + 1.0) * (size + 2.0) / 3)

    def describe(self) -> str:
        return f"K-norm noise of a box on {self.components} coefficients"


@dataclass(frozen=True)
class EllipsoidNoise:
    """K-norm noise of an ellipsoid: density proportional to exp(-(sum_j z_j^2 / a_j^2)^(1/2)).

    Parameters
    ----------
    scales : tuple of int
        Semi-axes a_j of the ellipsoid, in grid units.

    Notes
    -----
    One block of `KNormNoise` of scale one, its coordinate j multiplied by a_j.
    """

    scales: tuple[int, ...]
    law: ClassVar[str] = "k-norm-ellipsoid"

    def __post_init__(self) -> None:
        _check_positive("scales", self.scales)

    @property
    def components(self) -> int:
        return len(self.scales)

    def draw(self) -> list[int]:
        return _draw_ellipsoid(self.scales)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        size = len(self.scales)
        lengths = np.sqrt(generator.chisquare(size + 1.0, size=(draws, 1)))
        directions = generator.standard_normal((draws, size))
        return np.asarray(directions * lengths * np.asarray(self.scales, dtype=float))

    def variances(self) -> Floats:
        return np.asarray(np.asarray(self.scales, dtype=float) ** 2 * (len(self.scales) + 1.0))

    def describe(self) -> str:
        return f"K-norm noise of an ellipsoid on {self.components} coefficients"


@dataclass(frozen=True)
class GaussianNoise:
    """Independent normal noise with one standard deviation a component.

    Parameters
    ----------
    scales : tuple of int
        Standard deviations, in grid units.
    """

    scales: tuple[int, ...]
    law: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        _check_positive("scales", self.scales)

    @property
    def components(self) -> int:
        return len(self.scales)

    def draw(self) -> list[int]:
        size = len(self.scales)

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            gaussians = exactness.normals(uniforms)
            return [s * g for s, g in zip(self.scales, gaussians[:size], strict=True)]

        return exactness.draw_rounded(transform, size + size % 2)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        scales = np.asarray(self.scales, dtype=float)
        return np.asarray(generator.standard_normal((draws, self.components)) * scales)

    def variances(self) -> Floats:
        return np.asarray(self.scales, dtype=float) ** 2

    def describe(self) -> str:
        return f"Gaussian noise on {self.components} coefficients"


@dataclass(frozen=True)
class EllipticalNoise:
    """Normal noise times one independent factor V: multivariate t or multivariate Laplace.

    Parameters
    ----------
    size : int
        Number of coefficients.
    scale : int
        Scale s of s V Z, in grid units.
    mixing : {"student-t", "laplace"}
        V^2 is nu / chi^2_nu, or standard exponential.
    degrees : int
        Degrees of freedom nu of the t law, at least 3 so that it has a variance; 0 for Laplace.
    """

    size: int
    scale: int
    mixing: str
    degrees: int
    law: ClassVar[str] = "elliptical"

    def __post_init__(self) -> None:
        _check_positive("size and scale", (self.size, self.scale))
        if self.mixing not in ("student-t", "laplace"):
            raise ParameterError("mixing", "be 'student-t' or 'laplace'", repr(self.mixing))
        if self.mixing == "student-t" and (type(self.degrees) is not int or self.degrees < 3):
            raise ParameterError("degrees", "be an integer of at least 3", repr(self.degrees))

    @property
    def components(self) -> int:
        return self.size

    def draw(self) -> list[int]:
        pairs, odd = (1, 0) if self.mixing == "laplace" else divmod(self.degrees, 2)
        normals = self.size + odd + (self.size + odd) % 2

        def transform(uniforms: Sequence[arb]) -> list[arb]:
            gaussians = exactness.normals(uniforms[pairs:])
            square = exactness.chi_square(uniforms[:pairs])
            if odd:
                square += gaussians[self.size] ** 2
            # A chi-square variable with two degrees of freedom is twice an exponential one.
            mixing = square / 2 if self.mixing == "laplace" else self.degrees / square
            length = self.scale * mixing.sqrt()
            return [length * gaussian for gaussian in gaussians[: self.size]]

        return exactness.draw_rounded(transform, pairs + normals)

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        if self.mixing == "laplace":
            mixing = generator.standard_exponential((draws, 1))
        else:
            mixing = self.degrees / generator.chisquare(self.degrees, size=(draws, 1))
        normal = generator.standard_normal((draws, self.size))
        return np.asarray(self.scale * np.sqrt(mixing) * normal)

    def variances(self) -> Floats:
        mixing = 1.0 if self.mixing == "laplace" else self.degrees / (self.degrees - 2)
        return np.full(self.size, float(self.scale) ** 2 * mixing)

    def describe(self) -> str:
        words = {
            "laplace": "multivariate Laplace noise",
            "student-t": f"multivariate t noise with {self.degrees} degrees of freedom",
        }
        return f"{words[self.mixing]} on {self.size} coefficients"


Law = KNormNoise | BoxNoise | EllipsoidNoise | GaussianNoise | EllipticalNoise

LAWS: dict[str, type[Law]] = {
    law.law: law for law in (KNormNoise, BoxNoise, EllipsoidNoise, GaussianNoise, EllipticalNoise)
}
