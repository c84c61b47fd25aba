"""Where a density is looked at closely: an interval with about half of the units, chosen privately.

Candidates are intervals of width 2^-i of the domain, i = 0..14, at every half of their width. From the
exact shares of 2^15 fine cells two choices are made, each a noisy maximum with its own part of the
budget:

1. *the width*: the i whose fullest interval is closest to half of the n units. With m_i the largest
   share that an interval of width i has, in units of w = 2^20, the score is -|2 m_i - n w|, n being
   public. A unit moves every m_i by at most w and so every score by at most 2 w, and two scores apart
   by at most 4 w, whether it is replaced, added or removed;
2. *the place*: the fullest interval of that width. A unit that is added moves all shares up by 0 to w,
   so two of them apart by at most w; one that is replaced, by at most 2 w.

**Noisy maximum.** Scores s get independent noise Z, Laplace variables of scale B rounded to integers,
and the index of the largest s + Z, the first of these on a tie, is all that is published. P(Z >= t + d)
>= exp(-d / B) P(Z >= t) for integers t and d >= 0. With the noise of the others held fixed an index wins
where its own noise reaches an integer t that depends on differences of scores alone. Where these differ
by at most d between neighbours, so does t: each probability changes by a factor of at most exp(d / B),
the guarantee is pure d / B (Dwork & Roth 2014, Claim 3.9), and B = d / epsilon is rounded up.

A scale that is even within the chosen interval and logarithmic far from it
(`dpfda.bases.scales.Scale.zoom`) then carries equal cells. Where the interval is no narrower than an
eighth of the domain, cells are equal on the domain itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale
from dpfda.mechanisms.design.shares import UNIT
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, ZeroConcentratedDP, pure_part

# Widths of candidates are 2^-i of the domain.
DEEPEST = 14
FINE = 2 ** (DEEPEST + 1)
# Domains are not looked at more closely for intervals wider than 2^-i.
NARROW = 4
# What is spent is SPENT / n, on both choices together: of 8000 trials with each of ten densities 1 in
# 80 (a peak of a thousandth of the domain) and else at most 1 in 500 chose an interval with less than
# a fifth of the units; with 80 / n up to 1 in 4. It is never more than the largest share of epsilon,
# nor less than the least, with which choices do not fail where n epsilon is large.
SPENT = 120
LARGEST_SHARE = Fraction(1, 5)
LEAST_SHARE = Fraction(1, 40)
# By default where n epsilon is at least this.
LEAST_BUDGET = 500
# The ends of a domain are at least so far apart, over the larger of them.
FLOATS_APART = 2.0**-24


@dataclass(frozen=True)
class Zoom:
    """How an interval is chosen. Public numbers.

    Parameters
    ----------
    domain_range : (float, float)
    size : int
        Public number of units, or a public number in its place.
    part : PureDP
        What each of the two choices costs.
    neighbours : Neighbours
    """

    domain_range: tuple[float, float]
    size: int
    part: PureDP
    neighbours: Neighbours

    @property
    def fine(self) -> CellGrid:
        """The cells that all candidates are made of."""
        return CellGrid.regular(FINE, self.domain_range)

    @property
    def moved_apart(self) -> tuple[int, int]:
        """By how much a unit moves two scores apart: of widths, of places."""
        return 4 * UNIT, self.neighbours.differences(UNIT)

    def width_noise(self) -> KNormNoise:
        """On the scores of widths."""
        return self._noise(DEEPEST + 1, self.moved_apart[0])

    def place_noise(self, width: int) -> KNormNoise:
        """On the scores of places of intervals of width 2^-width."""
        return self._noise(2 ** (width + 1) - 1, self.moved_apart[1])

    def _noise(self, count: int, apart: int) -> KNormNoise:
        return KNormNoise.equal(count, knorm_noise((1,), (1.0,), "l1", apart, self.part).scales[0])

    def width_scores(self, weights: Sequence[int]) -> list[int]:
        """Private: a score for each width, from the shares of the fine cells."""
        target = self.size * UNIT
        return [-abs(2 * max(self.place_scores(weights, i)) - target) for i in range(DEEPEST + 1)]

    def place_scores(self, weights: Sequence[int], width: int) -> list[int]:
        """Private: the share of each interval of width 2^-width."""
        half = _halves(np.asarray(weights, dtype=np.int64), width)
        found: list[int] = (half[1:] + half[:-1]).tolist()
        return found

    def scale(self, width: int, place: int) -> Scale | None:
        """The scale for a chosen interval; None where it is too wide for one."""
        if width < NARROW:
            return None
        a, b = self.domain_range
        return Scale.zoom((a, b), a + (b - a) * (place + 1) * 2.0 ** -(width + 1), (b - a) * 2.0**-width)


def zoom_for(
    domain_range: tuple[float, float], size: int, guarantee: Guarantee, neighbours: Neighbours
) -> tuple[Zoom, Guarantee]:
    """The choice of an interval, and what it leaves of the budget.

    Raises
    ------
    ParameterError
        If the domain is too short for its distance from zero.
    """
    if not far_enough(domain_range):
        words = "be longer than 2^-24 of its larger end for scale='zoom'"
        raise ParameterError(
            "domain", words, f"{domain_range}", "Subtract a public number from all points."
        )
    whole = pure_part(guarantee).epsilon
    spent = max(Fraction(SPENT, size), whole * LEAST_SHARE)
    part = PureDP(min(spent, whole * LARGEST_SHARE) / 2)
    return Zoom(domain_range, size, part, neighbours), _rest(guarantee, part)


def zooms(size: int, guarantee: Guarantee) -> bool:
    """Whether an interval is chosen by default: where a fifth of epsilon is enough for it."""
    return size * pure_part(guarantee).epsilon >= LEAST_BUDGET


def far_enough(domain_range: tuple[float, float]) -> bool:
    """Whether floats tell the edges of every scale that may be chosen apart."""
    a, b = domain_range
    return b - a > FLOATS_APART * max(abs(a), abs(b))


def _rest(guarantee: Guarantee, part: PureDP) -> Guarantee:
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(guarantee.rho - part.epsilon**2)
    left = guarantee.epsilon - 2 * part.epsilon
    return PureDP(left) if isinstance(guarantee, PureDP) else type(guarantee)(left, guarantee.delta)


def _halves(weights: Integers, width: int) -> Integers:
    """Shares of halves of intervals of width 2^-width."""
    return np.asarray(weights.reshape(2 ** (width + 1), -1).sum(axis=1))
