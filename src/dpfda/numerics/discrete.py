"""Exact draws of integer laws whose sums are again of a known law: shares of noise.

Every step is the floor of a function of uniforms, decided in enclosures (`dpfda.numerics.drawing`), or
a comparison of such; no law passes through a float.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from flint import arb

from dpfda.numerics.drawing import Arithmetic, At, Places, Real, draw_array
from dpfda.numerics.exactness import draw_rounded, enclosed, system_bits


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
    drawn, open_places = [0] * len(variances), [*range(len(variances))]
    while open_places:
        scales = [math.isqrt(math.floor(variances[place])) + 1 for place in open_places]
        sizes = floors(scales, [1] * len(scales))
        squares = [
            (size - variances[place] / scale) ** 2 / (2 * variances[place])
            for place, size, scale in zip(open_places, sizes, scales, strict=True)
        ]
        # Where the exponent is 0 any number above 1 will do.
        exceeding = floors(
            [y.denominator for y in squares], [y.numerator or y.denominator for y in squares]
        )
        signs, again = system_bits(len(sizes)), []
        for number, (place, size) in enumerate(zip(open_places, sizes, strict=True)):
            negative = signs >> number & 1
            taken = not squares[number] or exceeding[number] >= 1
            # Zero would count twice.
            if taken and not (negative and not size):
                drawn[place] = -size if negative else size
            else:
                again.append(place)
        open_places = again
    return drawn


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
    each = [scale for scale, count in zip(scales, jumps, strict=True) for _ in range(count)]

    def sizes(uniforms: Sequence[arb]) -> list[arb]:
        triples = zip(each, uniforms[::2], uniforms[1::2], strict=True)
        return [v.log() / (-(u * _log_rest(b)).expm1()).log() + arb(0.5) for b, u, v in triples]

    added = iter(draw_rounded(sizes, 2 * len(each)))
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
