"""The exact privacy profile of one K-norm block, and the scale that a guarantee asks of it.

The profile is a single integral, enclosed and rounded up.

The block has the density C exp(-|x|_2) on R^M, in units of its scale. A shift of length r has the loss
r cos psi, psi in [0, pi], of density exp(rho cos psi) w(psi), rho = r / 2,

    w(psi) = sin^(M-2) psi (a + b sin^2 psi),
    a = A (M - 1)/2 K_(M/2)(rho),    b = A rho/2 K_(M/2-1)(rho),
    A = 2^(1-M/2) rho^(M/2) / (pi^(1/2) Gamma((M+1)/2)),

and with cos psi_0 = epsilon / r, for 0 <= epsilon < r and M >= 2,

    delta(epsilon) = 2 e^(epsilon/2) integral from 0 to psi_0 of
                     sinh((r - epsilon)/2 - r sin^2(psi/2)) w(psi) dpsi.

For M = 1, Laplace noise, delta = 1 - exp(-(r - epsilon)/2); below 0, delta(-epsilon) = 1 - e^(-epsilon)
(1 - delta(epsilon)). The longest shift is the worst at every epsilon. Proofs: docs/composition.md.

The profile is positive for r > epsilon alone, so the length that (epsilon, delta) allows exceeds
epsilon: at delta = 1e-6 and epsilon = 1 it is 1.01, 1.09, 1.29, 1.82 for M = 5, 10, 20, 50: less noise
than under pure epsilon. It grows with r, so that halving finds the smallest scale.

Beyond 2^15 coordinates rho = r^2 / (2M) is converted instead. `estimated_delta` is in floats, for
design; no guarantee rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import acb, arb
from numpy.typing import ArrayLike

from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.exactness import enclosed, precision, upper_end
from dpfda.privacy.composition.conversions import zcdp_delta
from dpfda.privacy.guarantees import ApproximateDP

# Bits at the start; they double until the integral has so many correct ones.
BITS = 96
CORRECT = 44
# Then the bound 1 - exp(epsilon - r) is taken alone.
MOST_BITS = 2**13
# Beyond so many coordinates the zero-concentrated bound stands for the integral.
LARGEST = 2**15
# Bits of a length of shift, and of the first step away from the estimate in floats.
LENGTH_BITS, FIRST_STEP = 52, 34
# Halvings of an interval of logarithms that reaches from e^-720 to the longest shift looked for.
HALVINGS = 52
SHORTEST = -720.0
LONGEST = 1e4
# Points at which the size of the integrand is looked up.
PROBES = 12
# Gauss and Legendre's rule in floats.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def block_delta(dimension: int, length: Fraction, epsilon: Fraction) -> Fraction:
    """Exact delta of one K-norm block at epsilon, rounded up.

    Parameters
    ----------
    dimension : int
        Number M of coordinates, at least 1.
    length : Fraction
        Longest shift r over the scale: the block's pure epsilon. Positive.
    epsilon : Fraction
        Privacy loss, any real number.

    Returns
    -------
    Fraction
        At or above the supremum over events of P(A) - exp(epsilon) P'(A), by less than one part in 2^40,
        and valid for every shorter shift too.

    Examples
    --------
    >>> round(float(block_delta(20, Fraction(2), Fraction(1))), 9)
    0.002015367
    """
    if epsilon >= length:
        return Fraction(0)
    if epsilon < 0:
        with precision(BITS):
            lost = (enclosed(epsilon)).exp() * (1 - enclosed(block_delta(dimension, length, -epsilon)))
            return min(upper_end(1 - lost), Fraction(1))
    with precision(BITS):
        # No event has more than all of the mass, at the largest loss.
        simple = upper_end(-enclosed(epsilon - length).expm1())
    if dimension > LARGEST:
        rho = length**2 / (2 * dimension)
        return min(simple, zcdp_delta(rho, epsilon)) if epsilon else simple
    profile = _profile(dimension, length, epsilon)
    with precision(BITS):
        return simple if profile is None else min(upper_end(profile), simple)


def block_length(dimension: int, guarantee: ApproximateDP) -> Fraction | None:
    """A shift at least as long as any that one block may have under a guarantee, hardly longer.

    The way back from a guarantee to the noise behind it: delta at this shift is at least that of the
    guarantee, and delta grows with the shift.

    Parameters
    ----------
    dimension : int
    guarantee : ApproximateDP

    Returns
    -------
    Fraction or None
        In units of the scale; None where there are too many coordinates.
    """
    if dimension > LARGEST:
        return None
    epsilon, delta = guarantee.epsilon, guarantee.delta
    start = epsilon + Fraction(float(estimated_gaps(dimension, float(epsilon), float(delta))))
    step = start / 2**40
    while True:
        profile = _profile(dimension, start + step, epsilon)
        if profile is not None and upper_end(-profile) <= -delta:
            return start + step
        step *= 2


def _profile(dimension: int, length: Fraction, epsilon: Fraction) -> arb | None:
    """Delta enclosed, for 0 <= epsilon < length; None where that takes too many bits."""
    if dimension == 1:
        with precision(BITS):
            return -enclosed((epsilon - length) / 2).expm1()
    bits = BITS
    while bits <= MOST_BITS:
        with precision(bits):
            value = _enclosed(dimension, length, epsilon, bits)
            if value.rel_accuracy_bits() >= CORRECT:
                return value
        bits *= 2
    return None


def _enclosed(dimension: int, length: Fraction, epsilon: Fraction, bits: int) -> arb:
    """The integral over psi = psi_0 t, 0 < t < 1, enclosed: its ends are exact."""
    height, r = enclosed((length - epsilon) / 2), enclosed(length)
    # Well conditioned where epsilon is close to r, as the arc cosine of epsilon / r is not.
    end = 2 * (height / r).sqrt().asin()
    first, second = loss_weights(dimension, length, bits)

    def integrand(t: acb, _: bool) -> acb:
        half = end * t / 2
        sine, cosine = half.sin(), half.cos()
        square = sine * sine
        full = 2 * sine * cosine
        return (height - r * square).sinh() * full ** (dimension - 2) * (first + second * full * full)

    # Errors are asked for in proportion to the integrand's size: its ends fall off like t^(M-2).
    size = max(abs(integrand(acb(k) / PROBES, False)) for k in range(1, PROBES))
    small = arb(2) ** (8 - bits)
    integral = acb.integral(integrand, 0, 1, rel_tol=small, abs_tol=small * size)
    return 2 * (enclosed(epsilon) / 2).exp() * end * integral.real


@lru_cache(maxsize=256)
def loss_weights(dimension: int, length: Fraction, bits: int) -> tuple[arb, arb]:
    """The constants a and b of w."""
    with precision(bits):
        rho, half = enclosed(length / 2), arb(dimension) / 2
        front = arb(2) ** (1 - half) * rho**half / (arb.pi().sqrt() * (half + arb(1) / 2).gamma())
        first = front * (arb(dimension - 1) / 2) * rho.bessel_k(half)
        return first, front * (rho / 2) * rho.bessel_k(half - 1)


def estimated_gaps(dimensions: ArrayLike, epsilon: float, delta: float) -> Floats:
    """In floats, by how much the longest shift that (epsilon, delta) allows exceeds epsilon."""
    sizes = np.asarray(dimensions, dtype=float)
    low, high = np.full(sizes.shape, SHORTEST), np.log(LONGEST * np.sqrt(sizes))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = estimated_delta(sizes, np.exp(middle), epsilon) <= delta
        low, high = np.where(enough, middle, low), np.where(enough, high, middle)
    return np.asarray(np.exp(low))


def estimated_delta(dimension: ArrayLike, gap: ArrayLike, epsilon: float) -> Floats:
    """Delta in floats, to about ten digits: to choose among designs, never to state a guarantee.

    dimension, gap: Number of coordinates and r - epsilon, positive: how far the largest loss exceeds
        epsilon. They are broadcast against each other.
    epsilon: Not negative.
    """
    size, over = np.broadcast_arrays(np.asarray(dimension, float), np.asarray(gap, float))
    size, height = size[..., None], over[..., None] / 2
    r = epsilon + 2 * height
    end = 2 * np.arcsin(np.sqrt(height / r))
    psi = end * (NODES + 1) / 2
    inside = np.maximum(height - r * np.sin(psi / 2) ** 2, 0.0)
    # e^(epsilon/2) sinh(x) e^-rho = (1 - e^(-2x)) e^(x + (epsilon - r)/2) / 2, with K scaled by e^rho.
    rho, half = r / 2, size / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = inside - height + np.log(-np.expm1(-2 * inside)) + (size - 2) * np.log(np.sin(psi))
    front = half * np.log(rho) + (1 - half) * math.log(2.0) - scipy.special.gammaln(half + 0.5)
    with np.errstate(over="ignore", invalid="ignore"):
        first = (size - 1) / 2 * np.exp(front + _log_bessel(half, rho) + logs)
        second = rho / 2 * np.exp(front + _log_bessel(half - 1, rho) + logs) * np.sin(psi) ** 2
    total = np.nan_to_num((first + second) * end / 2) @ WEIGHTS / math.sqrt(math.pi)
    laplace = -np.expm1(-height[..., 0])
    return np.asarray(np.where(size[..., 0] == 1, laplace, total))


def _log_bessel(order: Floats, x: Floats) -> Floats:
    """Logarithm of e^x K_order(x); where K is beyond floats, its expansion for large orders.

    DLMF 10.41.4 with three terms, whose error there is below 1e-7.
    """
    with np.errstate(over="ignore", divide="ignore"):
        bessel = scipy.special.kve(order, x)
        safe = np.maximum(order, 1.0)
        z = x / safe
        root = np.hypot(1.0, z)
        p = 1 / root
        eta = root + np.log(z / (1 + root))
        corrections = (
            1
            - (3 * p - 5 * p**3) / (24 * safe)
            + (81 * p**2 - 462 * p**4 + 385 * p**6) / (1152 * safe**2)
        )
        large = x - safe * eta - np.log(root) / 2 + np.log(np.pi / (2 * safe)) / 2 + np.log(corrections)
        usual = np.log(np.where(np.isfinite(bessel), bessel, 1.0))
    return np.asarray(np.where(np.isfinite(bessel), usual, large))


@lru_cache(maxsize=256)
def block_scale(dimension: int, length: Fraction, guarantee: ApproximateDP) -> int:
    """Smallest integer scale of a block that keeps the guarantee.

    dimension: Number M of coordinates.
    length: Longest shift, in grid units.
    Returns a scale at which the profile is at most delta, decided in ball arithmetic.
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta

    def holds(scale: int) -> bool:
        return block_delta(dimension, length / scale, epsilon) <= delta

    start = math.ceil(length / (epsilon + _gap(dimension, guarantee)))
    return _smallest(holds, max(1, start))


def _smallest(holds: Callable[[int], bool], start: int) -> int:
    """Smallest positive integer that satisfies a predicate true from some number on."""
    step = max(1, start >> FIRST_STEP)
    if holds(start):
        high, low = start, start - step
        while low > 0 and holds(low):
            high, step = low, 2 * step
            low = high - step
        low = max(low, 0)
    else:
        low, high = start, start + step
        while not holds(high):
            low, step = high, 2 * step
            high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def block_ratio(dimension: int, guarantee: ApproximateDP) -> Fraction:
    """Longest shift over scale that keeps the guarantee, rounded down by less than one part in 2^50."""
    length: Fraction = (guarantee.epsilon + _gap(dimension, guarantee)) * 2**LENGTH_BITS
    return length / block_scale(dimension, length, guarantee)


def _gap(dimension: int, guarantee: ApproximateDP) -> Fraction:
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    return Fraction(float(estimated_gaps(dimension, epsilon, delta)))


def estimated_ratios(dimensions: ArrayLike, guarantee: ApproximateDP) -> Floats:
    """`block_ratio` for several numbers of coordinates, in floats: to compare designs.

    Between a few numbers of coordinates it is interpolated, to about four digits.
    """
    sizes = np.asarray(dimensions, dtype=np.int64)
    nodes = np.unique(np.rint(np.geomspace(sizes.min(), sizes.max(), 40)).astype(np.int64))
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    ratios = epsilon + estimated_gaps(nodes, epsilon, delta)
    return np.asarray(np.exp(np.interp(np.log(sizes), np.log(nodes), np.log(ratios))))
