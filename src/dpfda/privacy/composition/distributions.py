"""Distributions of the privacy loss on a grid, rounded up, and their convolution in integers.

A distribution is a measure: masses p_i >= 0 at the losses i h, h the step, and a mass at infinity. It
*covers* a mechanism if its profile

    H(a) = sum_i p_i (1 - a / e^(i h))_+  +  p_inf

is at least the mechanism's at every a > 0, for every pair of neighbours in either order.

**From a profile.** The true profile is convex in a and 1 at a = 0. So the broken line through upper
bounds u_i of it at a_i = e^(i h), i = 0..n, constant beyond a_n, covers it (connecting the dots:
Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022). Its corners are the masses, p_i = a_i times the
change of slope at a_i and p_inf = u_n. For a < 1 the line is the mirror image, delta(-e) = 1 - e^-e +
e^-e delta(e), whose masses are p_-i = p_i / a_i. A negative mass, where upper bounds are not convex, is
replaced by zero: that raises the line. Dots far above the lower convex hull are left out beforehand.

**Composition.** If measures p, p' cover two mechanisms, the second chosen after the first's output
among those that p' covers, their convolution covers both: the profile of both is at most the mean over
the first's loss L of H'(a e^-L) = sum_j p'_j (1 - a e^-L / a_j)_+ + p'_inf, hence at most
sum_j p'_j H(a / a_j) + p'_inf, which is the convolution's, the mass at infinity being
p'_inf + p_inf sum_j p'_j. (As Zhu, Dong & Wang 2022, Theorem 10; masses need not add up to one here.)

**Rounding.** Masses are integers in units of 2^-bits; they are rounded up when made from enclosures and
after every product, and products of polynomials over the integers are exact. What is cut off at the
upper end goes to infinity, at the lower end to the lowest loss kept. All of this raises the profile.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb, fmpz_poly

from dpfda.numerics.exactness import PRECISION, SMALLEST, at_least, enclosed, precision, upper_end
from dpfda.privacy.composition.conversions import zcdp_epsilon
from dpfda.privacy.composition.losses import ConcentratedLoss, GaussianLoss, Loss

# Bits of a mass below those of the target delta, and the share of it that may be cut off at a time.
BITS_BELOW = 64
CUT = 2**24
# The step is this share of the losses' standard deviation in the root mean square: the line through the
# dots adds at most step^2 / 4 to the variance of a loss.
FINENESS = 0.1
# Grids are no finer than this many steps for one standard deviation of the total.
LARGEST_GRID = 2000.0
MOST_DOTS = 20_000
# Beyond these sizes grids are no use; other ways of adding up are.
SMALL, LARGE = Fraction(1, 10**60), Fraction(10**4)


@dataclass(frozen=True)
class Distribution:
    """A measure that covers a mechanism.

    step: Distance h of the grid's losses.
    start: Index of the lowest.
    masses: In units of 2^-bits, from there on.
    infinite: Mass of an infinite loss, in the same units.
    """

    step: Fraction
    start: int
    masses: tuple[int, ...]
    infinite: int
    bits: int

    def times(self, other: Distribution, cut: int) -> Distribution:
        """The convolution, with at most `cut` units cut off at either end."""
        product = (fmpz_poly(list(self.masses)) * fmpz_poly(list(other.masses))).coeffs()
        above = (1 << self.bits) - 1
        masses = [(int(mass) + above) >> self.bits for mass in product]
        lost = (self.infinite * sum(other.masses) + above) >> self.bits
        return _trimmed(
            Distribution(
                self.step, self.start + other.start, tuple(masses), lost + other.infinite, self.bits
            ),
            cut,
        )

    def power(self, count: int, cut: int) -> Distribution:
        """The convolution of so many copies, by squaring."""
        result, square = None, self
        while True:
            if count & 1:
                result = square if result is None else result.times(square, cut)
            count >>= 1
            if not count:
                assert result is not None  # noqa: S101 - the count is positive
                return result
            square = square.times(square, cut)

    def delta(self, epsilon: Fraction) -> Fraction:
        """The profile at epsilon, rounded up and at most 1."""
        first = max(0, math.floor(epsilon / self.step) + 1 - self.start)
        with precision(PRECISION):
            ratio, weighted = (-enclosed(self.step)).exp(), arb(0)
            for mass in reversed(self.masses[first:]):
                weighted = mass + ratio * weighted
            total = arb(self.infinite + sum(self.masses[first:]))
            # The mass above less its share in e^(epsilon - loss), from the lowest loss above epsilon.
            lowest = enclosed((self.start + first) * self.step - epsilon)
            return min(at_least((total - (-lowest).exp() * weighted) / (1 << self.bits)), Fraction(1))

    def epsilon(self, delta: Fraction) -> Fraction | None:
        """Least epsilon at delta, rounded up; None if the infinite mass alone is more.

        From the top down, at the loss of index i the profile is the mass above less
        W_i = p_i + e^-h W_(i+1), plus the infinite mass. Between two losses it is solved for epsilon.
        """
        grain = Fraction(1, 1 << self.bits)
        if self.infinite * grain > delta:
            return None
        with precision(PRECISION):
            target, ratio = enclosed(delta / grain), (-enclosed(self.step)).exp()
            total, weighted = arb(self.infinite), arb(0)
            for index in range(len(self.masses) - 1, -1, -1):
                mass = self.masses[index]
                after = mass + ratio * weighted
                if weighted > 0 and not total + mass - after <= target:
                    break
                total, weighted = total + mass, after
            else:
                index = -1
            if total <= target:
                return SMALLEST
            # The profile passes the target between this loss and the next, or below the lowest.
            loss = enclosed((self.start + index + 1) * self.step)
            return max(at_least(loss + ((total - target) / weighted).log()), SMALLEST)


def _trimmed(measure: Distribution, cut: int) -> Distribution:
    masses = measure.masses
    low, high, below, over = 0, len(masses), 0, 0
    while high > 1 and over + masses[high - 1] <= cut:
        high -= 1
        over += masses[high]
    while low < high - 1 and below + masses[low] <= cut:
        below += masses[low]
        low += 1
    inner = (masses[low] + below, *masses[low + 1 : high])
    return Distribution(measure.step, measure.start + low, inner, measure.infinite + over, measure.bits)


def composed_epsilon(losses: Sequence[Loss], delta: Fraction) -> Fraction | None:
    """Epsilon at delta of all losses together, rounded up; None where no epsilon is enough.

    losses: One a mechanism. Each mechanism may be chosen after the outputs of those before; its loss
        not.
    delta: Between 0 and 1.
    """
    joint = composed(losses, delta)
    return None if joint is None else joint.epsilon(delta)


def composed(losses: Sequence[Loss], delta: Fraction) -> Distribution | None:
    """A distribution that covers all losses together, fine enough for this delta.

    Parameters as in `composed_epsilon`; None where a grid is of no use.
    """
    counts = _merged(losses)
    sizes = [size for loss in counts for size in (loss.epsilon, loss.rho) if size is not None]
    if not sizes or min(sizes) < SMALL or max(sizes) > LARGE:
        return None
    bits = BITS_BELOW + delta.denominator.bit_length() - delta.numerator.bit_length()
    total = sum(counts.values())
    bits += total.bit_length()
    # Gaussian and bounded losses alike are cut off where this much is left.
    cut = max(1, int(delta * 2**bits) // (CUT * total.bit_length()))
    step = _step(counts)
    joint: Distribution | None = None
    # Small ones first, so that products stay short as long as they can.
    for loss in sorted(counts, key=_variance):
        part = distribution(loss, step, bits, cut).power(counts[loss], cut)
        joint = part if joint is None else joint.times(part, cut)
    return joint


def _merged(losses: Sequence[Loss]) -> dict[Loss, int]:
    """How often each loss occurs, in the order of its first time; rhos of one law that add, added."""
    counts: dict[Loss, int] = {}
    for law in (GaussianLoss, ConcentratedLoss):
        rhos = [loss.rho for loss in losses if isinstance(loss, law)]
        if rhos:
            counts[law(at_least(sum(rhos, Fraction(0))))] = 1
    for loss in losses:
        if not isinstance(loss, GaussianLoss | ConcentratedLoss):
            counts[loss] = counts.get(loss, 0) + 1
    return counts


def _variance(loss: Loss) -> float:
    """About the variance of a loss, to choose a grid by."""
    if loss.rho is not None:
        return 2 * float(loss.rho)
    epsilon = float(loss.epsilon or 1)
    return 2 * epsilon * math.tanh(epsilon / 2)


def _step(counts: dict[Loss, int]) -> Fraction:
    """A step that suits the losses: a whole part of the largest loss of the kind that counts most."""
    variance = sum(count * _variance(loss) for loss, count in counts.items())
    fine = max(FINENESS * math.sqrt(variance / sum(counts.values())), math.sqrt(variance) / LARGEST_GRID)
    main = max(counts, key=lambda loss: counts[loss] * _variance(loss))
    if main.epsilon is None:
        return Fraction(fine)
    # The largest loss is an atom of most laws; on the grid it is not spread.
    return main.epsilon / max(1, math.ceil(float(main.epsilon) / fine))


@lru_cache(maxsize=512)
def distribution(loss: Loss, step: Fraction, bits: int, cut: int) -> Distribution:
    """A distribution that covers a loss, by the line through dots of its profile.

    step: Distance of the losses on the grid.
    bits: Masses are in units of 2^-bits.
    cut: So many units may be taken for an infinite loss.
    """
    count = _dots(loss, step, Fraction(cut, 1 << bits))
    values = [loss.delta(index * step) for index in range(count + 1)]
    with precision(PRECISION + bits):
        ratio = enclosed(step).exp()
        at = [arb(1)]
        for _ in range(count):
            at.append(at[-1] * ratio)
        dots = _hull([float(a.mid()) for a in at], [float(value) for value in values])
        u = [enclosed(value) for value in values]
        slopes = [
            (u[right] - u[left]) / (at[right] - at[left]) for left, right in itertools.pairwise(dots)
        ]
        slopes.append(arb(0))
        # The mirror image 1 - a + a H(1/a) has at a = 1 the slope H(1) - 1 - H'(1).
        masses = [0] * (2 * count + 1)
        before = u[0] - 1 - slopes[0]
        for dot, slope in zip(dots, slopes, strict=True):
            mass = at[dot] * (slope - before)
            masses[count + dot] = _units(mass, bits)
            masses[count - dot] = _units(mass / at[dot], bits)
            before = slope
    measure = Distribution(step, -count, tuple(masses), _units(u[count], bits), bits)
    return _trimmed(measure, cut)


def _units(value: arb, bits: int) -> int:
    """A mass in units of 2^-bits, rounded up, and zero where it would be negative."""
    return max(0, math.ceil(upper_end(value) * (1 << bits)))


def _dots(loss: Loss, step: Fraction, small: Fraction) -> int:
    """Index of the last dot: at the largest loss, or where the profile is small."""
    ends = []
    if loss.epsilon is not None:
        ends.append(loss.epsilon)
    if loss.rho is not None:
        ends.append(zcdp_epsilon(loss.rho, small))
    return max(1, min(MOST_DOTS, math.ceil(min(ends) / step)))


def _hull(x: Sequence[float], y: Sequence[float]) -> list[int]:
    """Indices on the lower convex hull, found in floats: any choice of dots is valid."""
    corners: list[int] = []
    for index in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[index] - x[a]) <= (y[index] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(index)
    return corners
