"""Released clusters of curves: their centers, their shares, and to which one a new curve belongs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import check_points, frozen
from dpfda.clusters.stages import Lattice, Sums, ball_of, nearest
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import NoiseLaw
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, check_level
from dpfda.releases.base import LEVEL, Column
from dpfda.releases.facts import Stated
from dpfda.releases.moments import Moments, OfMoments, noise_on_counts
from dpfda.releases.promise import AddedNoise
from dpfda.spine.vectors import bound_words
from dpfda.views import Curve, Line

DRAWS = 4000
ASKED_FOR = (
    "As many clusters are found as were asked for, whether or not there are groups; "
    "a cluster is a summary of many and no finding on a single one."
)


@dataclass(frozen=True, eq=False)
class ReleasedCurveClusters(OfMoments):
    """Clusters of curves, the largest first; called at points it is their centers.

    Parameters
    ----------
    moments : Moments
        Mean and second moments of the leading coefficients in the basis.
    lattice : Lattice
        Cells of the leading scores.
    cells : tuple of int
        Noisy counts of cells, in units of 2^-20 of a unit.
    noise : NoiseLaw
        Of the counts.
    anchors : array (k, D)
        Leading coefficients of centers by the cells alone.
    sums : Sums or None
        Noisy counts and sums of the units that are nearest to each anchor.
    basis : Basis
        Public functions.
    bounds : array (2, m)
        Public bounds on the grid.
    certificate : Certificate
    about : mapping
    """

    moments: Moments = field(metadata=file.itself(Moments.from_json).kept)
    lattice: Lattice = field(metadata=file.itself(Lattice.from_json).kept)
    cells: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.one_scale("cells").kept)
    anchors: Floats = field(metadata=file.PACKED.kept)
    sums: Sums | None = field(metadata=file.itself(Sums.from_json).or_null.kept)
    basis: Basis = field(metadata=file.BASIS.kept)
    bounds: Floats = field(metadata=file.PACKED.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-curve-clusters"
    _CALLED: ClassVar[str] = "release of clusters"
    _plural: ClassVar[bool] = True
    _subject = "clusters of curves"

    def __post_init__(self) -> None:
        super().__post_init__()
        size, first = self.basis.eigenvalues.size, self.lattice.directions.shape[1]
        if self.moments.blocks != (first,) or first > size or not self.moments.steps:
            raise ParameterError("moments", "be of leading functions, as the cells", "others")
        if len(self.cells) != math.prod(self.lattice.bins):
            raise ParameterError("cells", "have one count a cell of the lattice", f"{len(self.cells)}")
        if self.anchors.ndim != 2 or self.anchors.shape[1] != first or len(self.anchors) < 2:
            raise ParameterError("anchors", f"be rows of {first} numbers", f"{self.anchors.shape}")
        blocks = (size + 1,) * len(self.anchors)
        if self.sums is not None and self.sums.blocks not in (blocks, sum(blocks)):
            raise ParameterError("sums", "have a block of noise a cluster", "others")

    # Centers and shares.

    @cached_property
    def _found(self) -> tuple[Floats, Floats]:
        """Centers (k, m) on the grid and shares (k,), the largest first."""
        rows = np.zeros((len(self.anchors), self.basis.eigenvalues.size))
        if self.sums is not None:
            rows = self.sums.moved(self.moments.size, *self.anchors.shape)
        rows[:, : self.anchors.shape[1]] += self.anchors
        lines = rows @ self.basis.evaluate(self.grid_points).T
        units = np.maximum(self._units, 0.0)
        shares = units / units.sum() if units.sum() > 0 else np.full(units.size, 1 / units.size)
        order = np.argsort(-shares, kind="stable")
        curves = np.clip(self.bounds.mean(axis=0) + lines[order], *self.bounds)
        return frozen(curves), frozen(shares[order])

    def _counts(self, numbers: Floats) -> Floats:
        """Numbers of units (r, k) of the clusters from integers (r, K) of what they were counted in."""
        if self.sums is not None:
            return self.sums.units(numbers, len(self.anchors))
        own = nearest(self.moments.centre + self.lattice.offsets, self.anchors)
        return np.asarray(numbers @ np.eye(len(self.anchors))[own] / COUNT_SCALE)

    @cached_property
    def _units(self) -> Floats:
        """Noisy numbers (k,) of units, in the order of the anchors."""
        noisy = self.cells if self.sums is None else self.sums.noisy
        return frozen(self._counts(np.array([noisy], dtype=np.float64))[0])

    @property
    def shares(self) -> Floats:
        """Share (k,) of the units in each cluster, decreasing; they add up to one."""
        return self._found[1]

    def share_intervals(self, level: float = LEVEL) -> Floats:
        """Intervals (k, 2) that hold the shares of all clusters at once without noise, by its law.

        In the order of `shares`. Units are counted at what the cells showed of a center; sampling is
        not in it. A cluster whose interval begins at zero may be empty.

        Parameters
        ----------
        level : float
            Probability that they hold.

        Raises
        ------
        ParameterError
            If it is no probability.
        """
        law = self.noise if self.sums is None else self.sums.noise
        drawn = law.simulate(np.random.Generator(np.random.Philox(key=0)), DRAWS)
        largest = np.abs(self._counts(drawn)).max(axis=1)
        reach = float(np.quantile(largest, check_level(level), method="higher"))
        units = -np.sort(-self._units, kind="stable")
        ends = np.column_stack([units - reach, units + reach]) / self.moments.size
        # Shares add up to one, and counts do not.
        ends[:, 0], ends[:, 1] = np.minimum(ends[:, 0], self.shares), np.maximum(ends[:, 1], self.shares)
        return np.clip(ends, 0.0, 1.0)

    @cached_property
    def _maybe_empty(self) -> int:
        """How many clusters, the smallest, have no more units than noise makes of none."""
        return int(np.sum(self.share_intervals()[:, 0] <= 0))

    def centers(self, points: ArrayLike) -> Floats:
        """The mean curves of the clusters, in the units of the data.

        Parameters
        ----------
        points : float or array (q,)
            In the domain.

        Returns
        -------
        array (k,) or (k, q)
            One center a row, in the order of `shares`.

        Raises
        ------
        ParameterError
            If a point is outside the domain.
        """
        at = check_points(points, self.domain_range)
        lines = np.array([np.interp(at, self.grid_points, line) for line in self._found[0]])
        return lines[:, 0] if np.ndim(points) == 0 else lines

    def __call__(self, points: ArrayLike) -> Floats:
        """As `centers`."""
        return self.centers(points)

    def assign(self, curves: ArrayLike) -> Integers:
        """The cluster whose center is nearest to each curve. Costs no privacy.

        Parameters
        ----------
        curves : array (n, m) or (m,)
            On the grid of the release; values beyond the public bounds count as on them. What is made
            of private curves is private.

        Returns
        -------
        array (n,) of int
            Numbers from 0, in the order of `shares`.

        Raises
        ------
        ParameterError
            If there is not one value a grid point, or one is missing.
        """
        values = np.atleast_2d(reals(curves, "curves"))
        if values.ndim != 2 or values.shape[1] != self.grid_points.size:
            words = f"have one value at each of the {self.grid_points.size} grid points"
            raise ParameterError("curves", words, f"shape {values.shape}")
        if np.any(np.isnan(values)):
            raise ParameterError("curves", "have no missing values", "some", "Leave them out.")
        roots = np.sqrt(self.basis.weights)
        return nearest(np.clip(values, *self.bounds) * roots, self._found[0] * roots)

    # Its file.

    @property
    def _all_noise(self) -> list[AddedNoise]:
        *pure, last = super()._all_noise
        moved = self.neighbours.differences(COUNT_SCALE)
        noises = [*pure, noise_on_counts(self.noise, moved, COUNT_SCALE, len(pure) + 1)]
        if self.sums is not None:
            # A unit is in one block: the lengths by which blocks move take the place of the l1 norm.
            moved = self.neighbours.differences(ball_of(self.basis.eigenvalues.size).radius)
            noises.append(noise_on_counts(self.sums.noise, moved, moved, len(pure) + 2))
        # The last one is that which may need a delta or a rho.
        return [*noises, last]

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(*self.bounds)}

    def _checked(self) -> None:
        super()._checked()
        with np.errstate(all="ignore"):
            if not all(np.isfinite(array).all() for array in self._found):
                raise ValueError("centers are no numbers")

    # Words, tables and pictures.

    @property
    def _bandless(self) -> str:
        moved = "noise also moves units from cluster to cluster"
        return f"{moved}, and how far centers go with them is not known"

    @property
    def _names(self) -> list[str]:
        return [f"center_{place + 1}" for place in range(len(self.anchors))]

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        notes = [f"center of a cluster of {100 * share:.3g}% of the units" for share in self.shares]
        first = len(notes) - self._maybe_empty
        notes[first:] = [f"{words}, which may be none" for words in notes[first:]]
        lines = zip(self._names, self.centers(at[:, 0]), notes, strict=True)
        return {name: (line, words) for name, line, words in lines}

    def _functions(self, at: Floats) -> dict[str, Floats]:
        return dict(zip(self._names, self.centers(at[:, 0]), strict=True))

    def view(self, level: float | None = LEVEL) -> Curve:
        units, first = several(self.unit), len(self.shares) - self._maybe_empty
        full = [f"{100 * share:.0f}% of {units}" for share in self.shares[:first]]
        empty = [f"{100 * share:.0f}% of {units}, within the noise" for share in self.shares[first:]]
        return self._curve(
            [Line(self.grid_points, *center) for center in zip(self._found[0], full, strict=False)]
            + [
                Line(self.grid_points, *center, stroke="dashed")
                for center in zip(self._found[0][first:], empty, strict=True)
            ]
        )

    def _stated(self) -> Stated:
        laws = [self.moments.laws[-1], self.noise, *([self.sums.noise] if self.sums else [])]
        return Stated(
            f"The centers of {len(self.anchors)} clusters of curves over {self._spoken_domain}, and the "
            f"share of {several(self.unit)} in each.",
            public=[
                f"the grid and the domain: {self._spoken_domain}",
                f"the number of clusters: {len(self.anchors)}",
                *self._divided,
            ],
            noise="; ".join(law.describe() for law in laws),
            bounded=["Values outside their bounds count as the nearest end."],
            first=[*self._empty_words(), ASKED_FOR],
            remarks=[self._share_words()],
            numbers={"shares": self.shares.tolist(), "share_intervals": self.share_intervals().tolist()},
        )

    def _empty_words(self) -> list[str]:
        """Which clusters are no finding."""
        count, all_of = self._maybe_empty, len(self.shares)
        if not count:
            return []
        which = f"{count} of the {all_of} clusters, the smallest," if count < all_of else "All clusters"
        return [
            f"{which} may have nobody in them: noise alone makes as large a share of none. Their "
            "centers are no finding; ask for fewer clusters."
        ]

    def _share_words(self) -> str:
        """How exact shares are."""
        reach = float(np.max(np.abs(self.share_intervals() - self.shares[:, None])))
        return (
            "With a probability of 95% all shares, without noise, are within "
            f"{100 * reach:.2g} percentage points of these."
        )

    def _lines(self) -> dict[str, str]:
        shares = ", ".join(f"{100 * share:.0f}%" for share in self.shares)
        lines = {"clusters": f"{shares} of {several(self.unit)}; .centers(t), .assign(curves)"}
        few = {"few": f"{self._maybe_empty} of them may be empty: noise makes as large a share of none"}
        return lines | (few if self._maybe_empty else {})
