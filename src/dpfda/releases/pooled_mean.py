"""A released pooled mean: the curve of people who were seen at a few times each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpfda.releases.combined import Averaged, CombinedMean
from dpfda.releases.pooled_line import PooledLine


@dataclass(frozen=True, eq=False)
class ReleasedPooledMean(PooledLine):
    """Mean curve of people who were observed at a few times each, published with noise.

    Call it for the mean. The density of the observation times is part of the release: `observed`; where
    it is low the band is wide.

    Parameters
    ----------
    shares : NoisyShares
        The mechanism's output: for each time cell and each of the three corners of values.
    domain_range : (float, float)
        Public ends of the domain, which is cut into equal cells.
    bounds : (float, float)
        Public bounds on values.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels of the axes.
    """

    _FORMAT: ClassVar[str] = "dpfda-pooled-mean"
    _CALLED: ClassVar[str] = "released pooled mean"

    def combined(self, other: Averaged, apart: bool = False) -> CombinedMean:
        """One mean from this release and another of it, of whole curves or again of a few times each.

        As `ReleasedFunction.combined`, whose parameters it has; all parts must have public numbers of
        units and be default lines between bounds.
        """
        return CombinedMean.of(self, other, apart)
