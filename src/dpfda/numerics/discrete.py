"""Exact draws of integer laws whose sums are again of a known law: shares of noise.

Every step is the floor of a function of uniforms, decided in enclosures (`dpfda.numerics.drawing`), or
a comparison of such; no law passes through a float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial

from flint import arb

from dpfda.numerics.drawing import Arithmetic, At, Places, Real, draw_array
from dpfda.numerics.exactness import (
    GUARD_BITS,
    INITIAL_BITS,
    Uniforms,
    draw_rounded,
    enclosed,
    precision,
    system_bits,
)

# Bits of a deviation near which integers are drawn.
ROUGHLY = 3


def floors(numerators: Sequence[int], denominators: Sequence[int]) -> list[int]:
    """Floors of independent exponential variables times rationals: geometric numbers."""

    def values(a: Arithmetic[Real]) -> At[Real]:
        top, below = a.integers(numerators), a.integers(denominators)

        def at(places: Places) -> Real:
            return (-2 * a.log(a.uniforms(places)) * top[places] / below[places] - 1) / 2

        return at

    return draw_array(values, len(numerators), len(numerators))


def discrete_gaussians(variances: Sequence[Fraction]) -> list[int]:
    """One draw each of integers x with probabilities proportional to exp(-x^2 / (2 v)).

    A discrete Laplace number of scale t is taken with probability exp(-(|x| - v/t)^2 / (2 v)): Canonne,
    Kamath & Steinke (2020), Algorithm 3. A bit of probability exp(-y) says whether an exponential
    variable exceeds y.
    """

    def taken(places: Sequence[int], sizes: Sequence[int], scales: Sequence[int]) -> list[bool]:
        squares = [
            (size - variances[place] / scale) ** 2 / (2 * variances[place])
            for place, size, scale in zip(places, sizes, scales, strict=True)
        ]
        # Where the exponent is 0 any number above 1 will do.
        exceeding = floors(
            [y.denominator for y in squares], [y.numerator or y.denominator for y in squares]
        )
        return [not y or most >= 1 for y, most in zip(squares, exceeding, strict=True)]

    return _rejected([math.isqrt(math.floor(variance)) + 1 for variance in variances], taken)


def _rejected(
    scales: Sequence[int], taken: Callable[[Sequence[int], Sequence[int], Sequence[int]], list[bool]]
) -> list[int]:
    """Discrete Laplace numbers of these scales, each drawn again until `taken` takes its size."""
    drawn, open_places = [0] * len(scales), [*range(len(scales))]
    while open_places:
        own = [scales[place] for place in open_places]
        sizes = floors(own, [1] * len(own))
        accepted, signs, again = taken(open_places, sizes, own), system_bits(len(sizes)), []
        for number, (place, size) in enumerate(zip(open_places, sizes, strict=True)):
            negative = signs >> number & 1
            # Zero would count twice.
            if accepted[number] and not (negative and not size):
                drawn[place] = -size if negative else size
            else:
                again.append(place)
        open_places = again
    return drawn


def gamma_gaussians(squares: Sequence[Fraction], least: Fraction, shape: Fraction) -> list[int]:
    """One draw of integers that are discrete Gaussians given one gamma variable G of this shape.

    The variance of number j is squares[j] (least + 2 G), of which no bit is lost: it is a function of
    uniforms, of which more bits are drawn until each comparison is decided.
    """
    gamma = _gamma(shape)

    def variances(bits: int) -> list[arb]:
        time = enclosed(least) + 2 * gamma(bits)
        return [time * enclosed(square) for square in squares]

    def taken(places: Sequence[int], sizes: Sequence[int], scales: Sequence[int]) -> list[bool]:
        uniforms = Uniforms(len(places))

        def left(number: int, bits: int) -> arb:
            variance = enclosures_of(bits)[places[number]]
            square = (sizes[number] - variance / scales[number]) ** 2 / (2 * variance)
            return -uniforms.balls(bits)[number].log() - square

        return [_decided(partial(left, number)) for number in range(len(places))]

    enclosures_of = lru_cache(maxsize=4)(variances)
    # Any scale draws the same law. Near the deviation most numbers are taken, and far from it hardly
    # any, so as many bits are drawn as tell it roughly.
    bits, roots = INITIAL_BITS, list[int]()
    while not roots:
        with precision(bits + GUARD_BITS):
            deviations = [variance.sqrt() for variance in enclosures_of(bits)]
            if all(root.is_finite() and root.rel_accuracy_bits() >= ROUGHLY for root in deviations):
                roots = [int(root.mid().floor().unique_fmpz() or 0) + 1 for root in deviations]
        bits *= 2
    return _rejected(roots, taken)


def _gamma(shape: Fraction) -> Callable[[int], arb]:
    """A gamma variable of rational shape, as enclosures by the number of bits that are known of it.

    Of a whole shape it is a sum of exponential variables. Of a shape f below 1 it is such a variable
    times X / (X + Y), X = U^(1/f) and Y = V^(1/(1 - f)) drawn again until X + Y < 1 (Johnk 1964).
    """
    units_of_shape, part = divmod(shape, 1)
    units, uniforms = Uniforms(units_of_shape), Uniforms(3)

    def powers(bits: int) -> list[arb]:
        pair = zip(uniforms.balls(bits), (part, 1 - part), strict=False)
        return [(uniform.log() / enclosed(exponent)).exp() for uniform, exponent in pair]

    while part and not _decided(lambda bits: 1 - sum(powers(bits), arb(0))):
        uniforms = Uniforms(3)

    def value(bits: int) -> arb:
        total = -sum((uniform.log() for uniform in units.balls(bits)), arb(0))
        if part:
            own, other = powers(bits)
            total -= uniforms.balls(bits)[2].log() * own / (own + other)
        return total

    return value


def _decided(value: Callable[[int], arb]) -> bool:
    """Whether a function of uniforms is positive, by as many of their bits as that takes."""
    bits = INITIAL_BITS
    while True:
        with precision(bits + GUARD_BITS):
            ball = value(bits)
            if ball > 0 or ball < 0:
                return bool(ball > 0)
        bits *= 2


def polyas(scales: Sequence[int], parts: int) -> list[int]:
    """One draw each of shares of discrete Laplace noise: `parts` of them add up to it.

    With p = exp(-1/b) for a scale b a share is the difference of two negative binomial numbers of shape
    1 / parts, whose generating function is ((1 - p) / (1 - p z))^(1 / parts).
    """
    both = negative_binomials([scale for scale in scales for _ in range(2)], parts)
    return [first - second for first, second in zip(both[::2], both[1::2], strict=True)]


def negative_binomials(scales: Sequence[int], parts: int) -> list[int]:
    """Sums of a Poisson number, of mean -log(1 - p) / parts, of logarithmic numbers.

    A logarithmic number, of probabilities proportional to p^k / k, is geometric with a ratio
    1 - (1 - p)^U for a uniform U (Kemp 1981): 1 + floor(log V / log(1 - (1 - p)^U)).
    """

    def counts(uniforms: Sequence[arb]) -> list[arb]:
        pairs = zip(scales, uniforms, strict=True)
        return [_poisson(-_log_rest(scale) / parts, uniform) for scale, uniform in pairs]

    jumps = draw_rounded(counts, len(scales))
    jump_scales = [scale for scale, count in zip(scales, jumps, strict=True) for _ in range(count)]

    def sizes(uniforms: Sequence[arb]) -> list[arb]:
        # Enclosed anew at every precision, but once for all numbers of a scale.
        rests = {scale: _log_rest(scale) for scale in set(jump_scales)}
        triples = zip(jump_scales, uniforms[::2], uniforms[1::2], strict=True)
        return [v.log() / (-(u * rests[b]).expm1()).log() + arb(0.5) for b, u, v in triples]

    added = iter(draw_rounded(sizes, 2 * len(jump_scales)))
    return [sum(next(added) for _ in range(count)) for count in jumps]


def _log_rest(scale: int) -> arb:
    """log(1 - p)."""
    return (-(-enclosed(Fraction(1, scale))).expm1()).log()


def _poisson(mean: arb, uniform: arb) -> arb:
    """The least n whose distribution function exceeds a uniform variable; not a number while open."""
    term = (-mean).exp()
    reached, number = term, 0
    while not uniform < reached:
        if not uniform > reached:
            return arb("nan")
        number += 1
        term = term * mean / number
        reached += term
    return arb(number)
