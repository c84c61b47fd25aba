"""A second look into the cells where noisy counts show peaks, and how it is paid for.

With epsilon for the counts and a public share a, counts S of the cells are drawn with noise twice
(`dpfda.noise.repeated`): with L, whose scale gives epsilon, and with L + W, whose scale gives
(1 - a) epsilon. A public rule looks for peaks in the latter (`dpfda.density.peaks`).

- It finds none: S + L is published, and nothing else.
- It finds some: S + L + W is published, and the counts of equal parts of these cells, with noise whose
  scale gives a epsilon. A unit has as many shares in all parts of all cells as in these cells.

All of it is pure epsilon. For a set of releases without a peak: whether S + L + W has one is a random
function of S + L, which is pure epsilon. For a set of releases with peaks: S + L + W is pure
(1 - a) epsilon, and the parts, which it chooses, are a epsilon more by composition (Dwork & Roth
2014, Theorem B.1). So the probability of either set changes by a factor of exp(epsilon) at most, and so
does that of both.
Where there is no peak, the look costs nothing: counts have the noise that they would have without one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.bases.grids import frozen
from dpfda.bases.scales import Scale
from dpfda.density.made_up import Units
from dpfda.density.peaks import Inside
from dpfda.density.release import ReleasedDensity
from dpfda.noise import KNormNoise, NoiseLaw, knorm_noise
from dpfda.noise.repeated import TwiceLaplace
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import PureDP
from dpfda.publication.charging import recomputed
from dpfda.publication.distances import Draw

# Of epsilon for the counts of n units, SPENT / n on parts of cells where peaks are, but no less and no
# more of it than these shares. Chosen on laws other than those that the page on densities names.
SPENT, LEAST, MOST = 250, Fraction(1, 16), Fraction(1, 8)
# A cell has at most so many parts.
PARTS = 64


@dataclass(frozen=True)
class SecondLook:
    """The laws of both looks, on counts that neighbours move by `width` in the l1 norm."""

    both: TwiceLaplace
    inside: int
    width: int
    counts: PureDP
    share: Fraction

    def __post_init__(self) -> None:
        """Recompute what the scales cost. Raises DpfdaError if it is more than the whole."""
        parts = {self.both.narrow: Fraction(1), self.both.wide: 1 - self.share, self.inside: self.share}
        for scale, part in parts.items():
            recomputed(KNormNoise.equal(1, scale), "l1", self.width, PureDP(self.counts.epsilon * part))

    @classmethod
    def of(cls, width: int, units: int, law: NoiseLaw, counts: PureDP) -> Self:
        """Beside a law on the counts of so many units, a public number, that costs the whole."""
        (narrow,) = set(vars(law)["scales"])
        share = min(max(SPENT / (units * counts.epsilon), LEAST), MOST)
        wide, inside = (
            knorm_noise((1,), (1.0,), "l1", width, PureDP(counts.epsilon * part)).scales[0]
            for part in (1 - share, share)
        )
        return cls(TwiceLaplace(law.components, narrow, wide), inside, width, counts, share)

    def inside_of(
        self, release: ReleasedDensity, units: Units, scale: Scale | None, draw: Draw
    ) -> Inside | None:
        """Noisy counts of the parts of the cells where a release has peaks; the caller has charged."""
        if release._peaks is None:
            return None
        raw, cells = release._peaks.raw, np.flatnonzero(release._peaks.shares)
        parts = min(PARTS, release.node_values.size // raw.cells.size)
        fine = CellGrid.regular(raw.cells.size * parts, raw.cells.domain_range)
        coarse, fine = (grid if scale is None else grid.along(scale) for grid in (raw.cells, fine))
        # Ends of cells are theirs to the last digit: a value there lies in one of the cell's parts.
        edges = fine.edges[0].copy()
        edges[::parts] = coarse.edges[0]
        shares = units.shares(CellGrid((frozen(edges),)))
        exact = np.array(shares, dtype=object).reshape(-1, parts)[cells].ravel()
        law = KNormNoise.equal(exact.size, self.inside)
        noisy = IntegerSum.of(exact.tolist()).with_noise(draw(law))
        return Inside(noisy, law, raw.public_size, raw.exponent, tuple(cells.tolist()))
