"""Elliptical noise: normal noise times one independent random factor.

The noise is s V Z with Z standard normal and V^2 = nu / chi^2_nu (t) or V^2 standard exponential
(Laplace).

*Pure, multivariate t in M dimensions.* The density is proportional to (1 + |z|^2/(nu s^2))^(-(nu +
M)/2). Along a shift of length D = delta s the log ratio is largest at z = c s with c = (delta +
(delta^2 + 4 nu)^(1/2)) / 2, the zero of its derivative, and a component of z across the shift only
lowers it (Reimherr & Awan 2019, Example 6):

    epsilon = (nu + M)/2 log[(1 + c^2/nu) / (1 + (c - delta)^2/nu)].

*Approximate, any dimension.* Given V the noise is Gaussian, so the whole path with V revealed, and
therefore the path, has delta(epsilon) = E delta_Gauss(epsilon; mu / V) with mu = width / s. In
infinite dimensions V can be read off the path and this is exact. The expectation is bounded from
above by a sum over cells of V: delta_Gauss falls with V, so each cell counts with its smaller end,
and the mass below the first cell counts in full.

Multivariate t noise of which only a stated number of linear forms is ever told.

For integers S and noise s V Z on K coefficients (V^2 = nu / chi^2_nu, Z standard normal), any d linear
forms of S + s V Z that are independent are one invertible matrix away from <e_k, S> + s V <e_k, Z> for
orthonormal e_1..e_d: a multivariate t law in d dimensions, whose centre neighbours move by at most
|S - S'|. So the loss is that of `dpfda.noise.elliptical.t_loss` in d dimensions, not in K (Reimherr &
Awan 2019, Corollary 1):

    epsilon = (nu + d) asinh(delta / (2 nu^(1/2))),      delta = width / s.

It bounds the ratio of densities at every point, so the forms may be chosen one at a time, each by the
answers before it: the argument is in the documentation, page "Sessions".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NoReturn

import numpy as np
from flint import arb

from dpfda.noise.charges import enclosing_width
from dpfda.noise.mixtures import Block, NoiseMixture, drawn_mixture, factor, one_factor
from dpfda.noise.protocol import AnyNorm, VectorLaw, Width, check_positive, refuse_linf
from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.exactness import PRECISION, enclosed, precision, turning, upper_end
from dpfda.numerics.words import so_many
from dpfda.privacy.composition import gaussian_delta
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP

# Ratio of neighbouring cell ends of V^2. A cell overstates mu by half of this, relatively.
CELL = Fraction(201, 200)
# Share of delta that the tails of V may add.
TAIL = 2**16
GRID = 2**400
SMALLEST_DELTA = Fraction(1, 10**60)
STEP = Fraction(1, 10_000)


@dataclass(frozen=True)
class EllipticalNoise(VectorLaw):
    """Normal noise times one independent factor V: multivariate t or multivariate Laplace.

    size: Number of coefficients.
    scale: Scale s of s V Z, in grid units.
    mixing: {"student-t", "laplace"}. V^2 is nu / chi^2_nu, or standard exponential.
    degrees: Degrees of freedom nu of the t law, at least 3 so that it has a variance; 0 for Laplace.
    """

    size: int
    scale: int
    mixing: str
    degrees: int
    law: ClassVar[str] = "elliptical"

    def __post_init__(self) -> None:
        check_positive("size and scale", (self.size, self.scale))
        if self.mixing not in ("student-t", "laplace"):
            raise ParameterError("mixing", "be 'student-t' or 'laplace'", repr(self.mixing))
        if self.mixing == "student-t" and (type(self.degrees) is not int or self.degrees < 3):
            raise ParameterError("degrees", "be an integer of at least 3", repr(self.degrees))

    @property
    def components(self) -> int:
        return self.size

    def draw(self) -> list[int]:
        laplace = self.mixing == "laplace"

        def scaled(a: Arithmetic[Real], square: Real) -> At[Real]:
            # A chi-square variable with two degrees of freedom is twice an exponential one.
            length = drawing.one_integer(a, self.scale) * a.sqrt(
                square / 2 if laplace else self.degrees / square
            )
            return lambda places: length

        return drawn_mixture(self.size, 2 if laplace else self.degrees, scaled)

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
        return f"{words[self.mixing]} on {so_many(self.size, 'coefficient')}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        refuse_linf(self, norm)
        radius = width if isinstance(width, int) else enclosing_width(norm, width)
        ratio = Fraction(radius, self.scale)
        if isinstance(requested, ApproximateDP):
            delta = mixture_delta(self.mixing, self.degrees, requested.epsilon, ratio)
            return ApproximateDP(requested.epsilon, delta)
        if self.mixing == "laplace" or not isinstance(requested, PureDP):
            raise _never(self.components)
        return PureDP(t_loss(self.degrees, self.size, ratio))

    def mixture(self) -> NoiseMixture:
        if self.mixing == "laplace":
            block = factor(self.size, 1.0)
        else:
            squares = factor(self.size, self.degrees / 2, 2.0)
            block = Block(0, self.size, self.degrees / squares.factors, squares.logs)
        return one_factor(np.full(self.size, float(self.scale)), block)


def t_loss(degrees: int, components: int, ratio: Fraction) -> Fraction:
    """Privacy loss of multivariate t noise, rounded up.

    degrees: Degrees of freedom nu.
    components: Dimension M.
    ratio: Length of the shift over the scale.
    """
    with precision(PRECISION):
        delta, nu = enclosed(ratio), arb(degrees)
        c = (delta + (delta**2 + 4 * nu).sqrt()) / 2
        log_ratio = ((1 + c**2 / nu) / (1 + (c - delta) ** 2 / nu)).log()
        return upper_end((nu + components) / 2 * log_ratio)


@lru_cache(maxsize=64)
def mixture_delta(mixing: str, degrees: int, epsilon: Fraction, ratio: Fraction) -> Fraction:
    """Delta at epsilon of the whole path of elliptical noise, rounded up.

    mixing: {"student-t", "laplace"}. Law of the factor V.
    degrees: Degrees of freedom, for student-t.
    ratio: Width over scale: the Cameron-Martin length mu at V = 1.
    """
    below = _cumulative(mixing, degrees)

    def cell(low: Fraction) -> tuple[Fraction, Fraction]:
        """Mass of [low, CELL low], rounded up, and delta at its smaller end."""
        # The root is rounded down, so that mu / V is rounded up.
        factor = Fraction(math.isqrt(math.floor(low * 2**400)), 2**200)
        with precision(PRECISION):
            mass = upper_end(below(low * CELL) - below(low))
        return mass, min(gaussian_delta(epsilon, ratio / factor), Fraction(1))

    total, low = Fraction(0), Fraction(1)
    while True:
        low = _short(low / CELL)
        mass, delta = cell(low)
        total = _short(total + mass * delta)
        with precision(PRECISION):
            rest = upper_end(below(low))
        if rest <= total / TAIL:
            break
    total += rest
    low = Fraction(1)
    while True:
        mass, delta = cell(low)
        total = _short(total + mass * delta)
        # Everything beyond counts as if it lay in this cell.
        if delta <= total / TAIL:
            return total + delta
        # Rounded down, so that no sliver between two cells is left out.
        low = Fraction(math.floor(low * CELL * GRID), GRID)


def _short(value: Fraction) -> Fraction:
    """A slightly larger number with a short denominator."""
    return Fraction(math.ceil(value * GRID), GRID)


def _cumulative(mixing: str, degrees: int) -> Callable[[Fraction], arb]:
    """P(V^2 <= v) enclosed."""
    if mixing == "laplace":
        return lambda v: 1 - (-enclosed(v)).exp()
    # V^2 <= v where chi^2_nu >= nu / v.
    half = arb(degrees) / 2
    return lambda v: (half / enclosed(v)).gamma_upper(half, regularized=1)


def elliptical_noise(
    components: int, width: int, guarantee: Guarantee, mixing: str = "student-t", degrees: int = 10
) -> EllipticalNoise:
    """Scale spherical elliptical noise to a guarantee.

    components: Number of coefficients.
    width: Distance in the l1 or l2 norm, in grid units, by which neighbouring sums differ.
    mixing: {"student-t", "laplace"}.
    degrees: Degrees of freedom, for student-t.
    Raises RefusedMechanismError for a guarantee that the law cannot give.
    """
    scale = math.ceil(Fraction(width) / _largest_ratio(components, guarantee, mixing, degrees))
    return EllipticalNoise(components, scale, mixing, degrees if mixing == "student-t" else 0)


def _never(components: int) -> RefusedMechanismError:
    return RefusedMechanismError(
        "mechanism",
        "give pure differential privacy",
        f"multivariate Laplace noise on {so_many(components, 'coefficient')}",
        "Its density has a pole at the centre from two dimensions on, so the ratio is unbounded there."
        " Use $mechanism (the same idea with a bounded ratio) or set delta.",
        "Reimherr & Awan 2019, Example 5",
        mechanism="knorm",
    )


def _largest_ratio(components: int, guarantee: Guarantee, mixing: str, degrees: int) -> Fraction:
    if isinstance(guarantee, PureDP):
        if mixing == "laplace":
            raise _never(components)
        epsilon = guarantee.epsilon
        return turning(lambda r: t_loss(degrees, components, r) <= epsilon)[0]
    if isinstance(guarantee, ApproximateDP):
        if guarantee.delta < SMALLEST_DELTA:
            raise ParameterError("delta", "be at least 1e-60 for elliptical noise", f"{guarantee}")
        ratio = _approximate_ratio(mixing, degrees, float(guarantee.epsilon), float(guarantee.delta))
        while mixture_delta(mixing, degrees, guarantee.epsilon, ratio) > guarantee.delta:
            ratio *= 1 - STEP
        return ratio
    words = "be pure or approximate for elliptical noise"
    remedy = "Its Renyi divergence is infinite from some order on. Use $mechanism."
    raise RefusedMechanismError("guarantee", words, f"{guarantee}", remedy, mechanism="gaussian")


def _approximate_ratio(mixing: str, degrees: int, epsilon: float, delta: float) -> Fraction:
    """The ratio in floats: a start for the search that ball arithmetic decides."""
    import scipy

    edges = float(CELL) ** np.arange(-16_000.0, 8_000.0)
    if mixing == "laplace":
        below = -np.expm1(-edges)
    else:
        below = scipy.special.gammaincc(degrees / 2, degrees / 2 / edges)
    masses = np.diff(below, append=1.0)

    def excess(log_ratio: float) -> float:
        mu = math.exp(log_ratio) / np.sqrt(edges)
        first = scipy.special.log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + scipy.special.log_ndtr(-mu / 2 - epsilon / mu)
        with np.errstate(invalid="ignore", divide="ignore"):
            deltas = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
        value = float(np.sum(masses * np.nan_to_num(deltas))) + float(below[0])
        return math.log(max(value, 1e-300)) - math.log(delta)

    root = scipy.optimize.brentq(
        excess, -100.0, math.log(4 * math.sqrt(2 * epsilon + 1) + 80), xtol=1e-9
    )
    return Fraction(math.exp(root))


@dataclass(frozen=True)
class StudentForms(VectorLaw):
    """t noise s V Z on coefficients, for a number of linear forms that is fixed in advance.

    size: Number K of coefficients.
    scale: Scale s, in grid units.
    degrees: Degrees of freedom nu, at least 3.
    forms: Number d of linearly independent forms that may be told, at most K.
    """

    size: int
    scale: int
    degrees: int
    forms: int
    law: ClassVar[str] = "student-t-forms"

    def __post_init__(self) -> None:
        check_positive("size, scale and forms", (self.size, self.scale, self.forms))
        if self.degrees < 3:
            raise ParameterError("degrees", "be an integer of at least 3", repr(self.degrees))
        if self.forms > self.size:
            raise ParameterError(
                "forms", f"be at most the number of coefficients, {self.size}", repr(self.forms)
            )

    @property
    def components(self) -> int:
        return self.size

    @property
    def scales(self) -> tuple[int, ...]:
        """The scale of every coefficient."""
        return (self.scale,) * self.size

    @property
    def spread(self) -> Fraction:
        """Variance of a component over its squared scale."""
        return Fraction(self.degrees, self.degrees - 2)

    def draw(self) -> NoReturn:
        """Refuse: all coefficients at once would tell more forms than were paid for."""
        words = "be asked one functional at a time"
        remedy = "Its guarantee is for a number of functionals. Use open_session(questions=)."
        raise RefusedMechanismError(
            "mechanism", words, self.describe(), remedy, "Reimherr & Awan 2019, Corollary 1"
        )

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        mixing = self.degrees / generator.chisquare(self.degrees, size=(draws, 1))
        return np.asarray(self.scale * np.sqrt(mixing) * generator.standard_normal((draws, self.size)))

    def variances(self) -> Floats:
        return np.full(self.size, float(self.scale) ** 2 * float(self.spread))

    def describe(self) -> str:
        return (
            f"multivariate t noise with {self.degrees} degrees of freedom on "
            f"{so_many(self.size, 'coefficient')}, of which at most "
            f"{so_many(self.forms, 'functional')} will be told"
        )

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        refuse_linf(self, norm)
        if not isinstance(requested, PureDP):
            words = "be 0 where the number of functionals is fixed in advance"
            remedy = "Gaussian noise answers any number of them with a delta."
            raise RefusedMechanismError("delta", words, f"{requested}", remedy)
        radius = width if isinstance(width, int) else enclosing_width(norm, width)
        return PureDP(t_loss(self.degrees, self.forms, Fraction(radius, self.scale)))


def student_forms(
    size: int, forms: int, width: int, guarantee: Guarantee, degrees: int | None = None
) -> StudentForms:
    """Scale t noise for a number of linear forms.

    size: Number of coefficients.
    forms: Number of forms; all of them count as `size`.
    width: Distance in the l1 or l2 norm, in grid units, by which neighbouring sums differ.
    degrees: Degrees of freedom; by default forms + 4, about the best: the deviation of a form is then
        about width (forms + 2)^(1/2) / epsilon.
    """
    forms = min(forms, size)
    noise = elliptical_noise(forms, width, guarantee, "student-t", degrees or forms + 4)
    return StudentForms(size, noise.scale, noise.degrees, forms)
