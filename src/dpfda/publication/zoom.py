"""Where values are looked at closely: an interval with three fifths of the units, chosen privately.

Candidates are intervals of two or three blocks of width 2^-k of the domain, k = 1..15, at every block:
their widths are 1, 3/4, 1/2, 3/8, .. 2^-14. From the exact shares of 2^15 fine cells up to two choices
are made, each a noisy maximum with its own part of the budget:

1. *the width*: that whose fullest interval is closest to 3/5 of the n units. With m_i the largest share
   that an interval of width i has, in units of w = 2^20, the score is -|5 m_i - 3 n w|, n being public.
   A unit moves every m_i by at most w and so every score by at most 5 w, and two scores apart by at most
   10 w, whether it is replaced, added or removed. Where records have weights n w gives way to the sum T
   of all shares: a unit with shares of sum s <= w, of which m lie in the interval, adds 5 m - 3 s to
   5 m_i - 3 T, between -3 w and 2 w. Scores move by at most 3 w where it is added or removed, and by 5 w
   where it is replaced: within the same 10 w. So it is where there are atoms, what lies there having no
   share. Where less is spent, a public number is taken from the scores of narrow widths, which changes
   no difference between neighbours;
2. *the place*, only where that width is less than an eighth of the domain: the fullest interval of that
   width. A unit that is added moves all shares up by 0 to w, so two of them apart by at most w; one that
   is replaced, by at most 2 w.

**Noisy maximum.** Scores s get independent noise Z, Laplace variables of scale B rounded to integers,
and the index of the largest s + Z, the first of these on a tie, is all that is published. P(Z >= t + d)
>= exp(-d / B) P(Z >= t) for integers t and d >= 0. With the noise of the others held fixed an index wins
where its own noise reaches an integer t that depends on differences of scores alone. Where these differ
by at most d between neighbours, so does t: each probability changes by a factor of at most exp(d / B),
the guarantee is pure d / B (Dwork & Roth 2014, Claim 3.9), and B = d / epsilon is rounded up.

**What is left.** With parts a of the width, b of the place and c of the counts, a narrow width is
followed by a choice that is pure b and counts that are pure c, a wide one by counts that are pure b + c,
on equal cells of the domain itself. Which of the two it is follows from the published width: given that,
all that comes after is pure b + c either way, so the whole is pure a + b + c by basic composition (Dwork
& Roth 2014, Theorem B.1, for mechanisms that know the earlier outputs). Under rho, or where the noise on
counts needs delta, they get c in both cases.

Where a place was chosen, a scale that is even within the interval and logarithmic far from it
(`dpfda.bases.scales.Scale.zoom`) carries equal cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.scales import Scale
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, pure_part
from dpfda.publication.charging import recomputed
from dpfda.releases.promise import without

# Candidates have so many blocks, of width 2^-k of the domain.
DEEPEST = 15
FINE = 2**DEEPEST
CANDIDATES = ((1, 2), *((k, blocks) for k in range(2, DEEPEST + 1) for blocks in (3, 2)))
# The share of units that an interval should have. Too narrow an interval does most harm, and the scores
# of narrow ones are farther from that of the best for three fifths than for a half.
TARGET = Fraction(3, 5)
# Domains are not looked at more closely for intervals as wide as this share of them.
WIDE = 1 / 8
# What is spent is SPENT / n, on the width and the place: of 12,000 trials with each of 13 densities at
# most 1 in 500 chose an interval with less than a fifth of the units (most with a peak of 1 / 10,000),
# and at most 1 in 300 a wide one where a narrow one was best; with 30 and 50 up to 1 in 30 and 1 in 47.
# Together it is never more than the largest share of epsilon, nor less than the least, with which
# choices do not fail where n epsilon is large.
SPENT = (45, 65)
LARGEST_SHARE = Fraction(1, 4)
LEAST_SHARE = Fraction(1, 40)
# By default in full where n epsilon is at least this: below it choices fail too often for their price.
# The price grows from nothing over the 45 below it, so that no error rises with the number of units.
LEAST_BUDGET, FADED = 500, SPENT[0]
# So many scales of the noise that is more than in full are taken from scores of narrow widths: less than
# a 500th of the largest of 29 exceeds them.
MARGIN = 10
# Less of it than this is nothing.
LEAST_PART = Fraction(1, 50)
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
    parts : (PureDP, PureDP)
        What the choice of the width costs, and that of the place.
    neighbours : Neighbours
    weighted : bool
        Whether units count as their weights, whose sum is private.
    atoms : tuple of float
        Public values; what lies there is in no interval.
    margin : int
        By so much scores of widths that have a place are lower, lest noise chooses them.
    """

    domain_range: tuple[float, float]
    size: int
    parts: tuple[PureDP, PureDP]
    neighbours: Neighbours
    weighted: bool = False
    atoms: tuple[float, ...] = ()
    margin: int = 0

    @property
    def fine(self) -> CellGrid:
        """The cells that all candidates are made of."""
        return CellGrid.regular(FINE, self.domain_range).with_atoms(self.atoms)

    @property
    def moved_apart(self) -> tuple[int, int]:
        """By how much a unit moves two scores apart: of widths, of places."""
        return 2 * TARGET.denominator * UNIT, self.neighbours.differences(UNIT)

    def width_noise(self) -> KNormNoise:
        """On the scores of widths."""
        return self._noise(len(CANDIDATES), 0)

    def place_noise(self, width: int) -> KNormNoise:
        """On the scores of places of intervals of the width with this number."""
        k, blocks = CANDIDATES[width]
        return self._noise(2**k - blocks + 1, 1)

    def _noise(self, count: int, choice: int) -> KNormNoise:
        return choice_noise(count, self.moved_apart[choice], self.parts[choice])

    def check(self) -> None:
        """Recompute what both choices cost. Raises DpfdaError if it is more than their parts."""
        self.width_noise()
        self.place_noise(1)

    def width_scores(self, weights: Sequence[int]) -> list[int]:
        """Private: a score for each width, from the shares of the fine cells."""
        cells = np.asarray(weights, dtype=np.int64)
        target = TARGET.numerator * (
            int(cells.sum()) if self.weighted or self.atoms else self.size * UNIT
        )
        fullest = (max(self.place_scores(cells, width)) for width in range(len(CANDIDATES)))
        return [
            -abs(TARGET.denominator * share - target) - self.margin * self.narrow(width)
            for width, share in enumerate(fullest)
        ]

    def place_scores(self, weights: Sequence[int] | Integers, width: int) -> list[int]:
        """Private: the share of each interval of the width with this number."""
        k, blocks = CANDIDATES[width]
        shares = np.asarray(weights, dtype=np.int64).reshape(2**k, -1).sum(axis=1)
        sums: list[int] = np.convolve(shares, np.ones(blocks, dtype=np.int64), "valid").tolist()
        return sums

    def narrow(self, width: int) -> bool:
        """Whether the width with this number has a place chosen for it."""
        k, blocks = CANDIDATES[width]
        return blocks * 2.0**-k < WIDE

    def scale(self, width: int, place: int) -> Scale:
        """The scale for a chosen interval."""
        (a, b), (k, blocks) = self.domain_range, CANDIDATES[width]
        middle = a + (b - a) * (place + blocks / 2) * 2.0**-k
        return Scale.zoom((a, b), middle, (b - a) * blocks * 2.0**-k)


def zoom_for(
    domain_range: tuple[float, float],
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours,
    least: Fraction = LEAST_SHARE,
    part: Fraction = Fraction(1),
) -> tuple[Zoom, Guarantee]:
    """The choice of an interval, with so much of the budget at least, and what it leaves.

    part: Of what is spent in full, of which the choice is the less bold the less it is.

    Raises
    ------
    ParameterError
        If the domain is too short for its distance from zero.
    """
    if not far_enough(domain_range):
        words = "be longer than 2^-24 of its larger end for scale 'zoom'"
        raise ParameterError(
            "domain", words, f"{domain_range}", "Subtract a public number from all points."
        )
    epsilon = pure_part(guarantee).epsilon
    spent = min(max(Fraction(sum(SPENT), size), epsilon * least), epsilon * LARGEST_SHARE) * part
    width, place = (PureDP(spent * price / sum(SPENT)) for price in SPENT)
    zoom = Zoom(domain_range, size, (width, place), neighbours)
    more = zoom.width_noise().scales[0] * (1 - part)
    return replace(zoom, margin=math.ceil(MARGIN * more)), without(without(guarantee, [width]), [place])


def zoomed_part(size: int, guarantee: Guarantee) -> Fraction:
    """What part of its price the choice of an interval gets by default; zero where there is none."""
    part = Fraction(size * pure_part(guarantee).epsilon - LEAST_BUDGET + FADED) / FADED
    return min(part, Fraction(1)) if part > LEAST_PART else Fraction(0)


def far_enough(domain_range: tuple[float, float]) -> bool:
    """Whether floats tell the edges of every scale that may be chosen apart."""
    a, b = domain_range
    return b - a > FLOATS_APART * max(abs(a), abs(b))


def choice_noise(count: int, apart: int, part: PureDP) -> KNormNoise:
    """On so many scores of which a unit moves two apart by so much at most.

    Raises DpfdaError if the largest of them would cost more than the part.
    """
    law = KNormNoise.equal(count, knorm_noise((1,), (1.0,), "l1", apart, part).scales[0])
    recomputed(law, "l1", apart, part)
    return law


def noisy_largest(scores: Sequence[int], noise: Sequence[int]) -> int:
    """Index of the largest noisy score, the first on a tie. Nothing else leaves."""
    noisy = [score + drawn for score, drawn in zip(scores, noise, strict=True)]
    return noisy.index(max(noisy))
