"""Released clusters of curves: where they are looked for, what is measured, centers and shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import check_points, freeze, frozen
from dpfda.bounds import IntegerBall
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.embedding import Rows, coefficients, sum_columns
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column
from dpfda.releases.facts import Stated
from dpfda.releases.moments import Moments, OfMoments, noise_on_counts
from dpfda.releases.promise import AddedNoise
from dpfda.spine.vectors import bound_words
from dpfda.views import Curve, Line

# Axes of the cells, and how many deviations they reach to either side; what is beyond is in the last.
AXES, REACH = 3, 2.5
# Other eigenvalues count as no smaller than such a part of the largest.
LEAST = 1e-9
# Cells hold somebody where their count is above so many deviations of its noise; starts of k-means.
HELD, STARTS = 0.75, 20
# Of a unit's vector in the sums: its length in the count, so that .87 are left for its curve.
COUNTED = 0.5
# No cluster is taken to have less than such a part of an equal share of the units.
FEWEST = 0.05


@dataclass(frozen=True, eq=False)
class Lattice(file.Written):
    """Equal cells around the mean along leading directions of coefficients. Public.

    directions: array (q, D). Orthonormal.
    bins: Number of cells along each.
    width: Of a cell.
    """

    directions: Floats = field(metadata=file.PACKED.kept)
    bins: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    width: float = field(metadata=file.NUMBER.kept)

    def __post_init__(self) -> None:
        freeze(self, "directions")
        shaped = self.directions.ndim == 2 and len(self.directions) == len(self.bins)
        if not shaped or min(self.bins) < 1 or not self.width > 0:
            raise ValueError("cells do not fit their directions")

    @classmethod
    def of(cls, moments: Moments, most: int) -> Lattice:
        """The finest of no more cells than that, from released moments. Narrow axes have few cells."""
        values, vectors = np.linalg.eigh(moments.matrix)
        values = np.maximum(values[::-1], max(LEAST * values[-1], 1e-300))[:AXES]
        lengths = np.sqrt(values / values[0])
        bins = next(
            found for first in range(most, 0, -1)
            if math.prod(found := np.ceil(first * lengths).astype(int).tolist()) <= most
        )  # fmt: skip
        width = 2 * REACH * math.sqrt(values[0]) / bins[0]
        return cls(np.ascontiguousarray(vectors[:, ::-1].T[: len(bins)]), tuple(bins), width)

    def places(self, deviations: Floats) -> Integers:
        """Number (n,) of the one cell that each deviation (n, D) from the mean is in. Private."""
        scores = coefficients(deviations, self.directions.T / self.width) + np.array(self.bins) / 2
        inside = np.clip(np.floor(scores), 0, np.array(self.bins) - 1).astype(np.int64)
        return np.asarray(np.ravel_multi_index(tuple(inside.T), self.bins))

    @property
    def middles(self) -> Floats:
        """Middles (cells, q), in widths from the mean."""
        places = np.indices(self.bins).reshape(len(self.bins), -1).T
        return np.asarray(places + 0.5 - np.array(self.bins) / 2)

    @property
    def offsets(self) -> Floats:
        """Middles as deviations (cells, D) from the mean."""
        return np.asarray(self.middles * self.width @ self.directions)

    def anchors(self, counts: Floats, deviation: float, count: int) -> Floats:
        """Deviations (count, D) from the mean in which k-means of noisy counts ends."""
        from sklearn.cluster import KMeans

        kept = max(count, int(np.sum(counts > HELD * deviation)))
        chosen = np.argsort(-counts, kind="stable")[:kept]
        weights = np.maximum(counts[chosen], deviation / 100)
        model = KMeans(count, n_init=STARTS, random_state=0)
        model.fit(self.middles[chosen], sample_weight=weights / weights.max())
        return np.asarray(model.cluster_centers_ * self.width @ self.directions)


def nearest(rows: Floats, anchors: Floats) -> Integers:
    """Which anchor (k, D) is nearest to each row (n, D), from that row alone."""
    squares = [sum_columns((rows - anchor) ** 2) for anchor in anchors]
    return np.asarray(np.argmin(np.column_stack(squares), axis=1))


def ball_of(functions: int) -> IntegerBall:
    """Where units' vectors in the sums lie: length one."""
    return IntegerBall.of("l2", 1.0, functions + 1)


def unit_rows(deviations: Floats, radius: float) -> Integers:
    """What each unit adds to the sums of its cluster (n, 1 + F): a count, and its deviation. Private."""
    scaled = deviations / radius
    lengths = np.maximum(np.sqrt(sum_columns(scaled**2)), 1.0)
    along = scaled / lengths[:, None] * math.sqrt(1 - COUNTED**2)
    rows = np.column_stack([np.full(len(along), COUNTED), along])
    return ball_of(deviations.shape[1]).clip(Rows(rows, np.zeros(len(rows), dtype=np.int64)))


@dataclass(frozen=True)
class Sums(file.Written):
    """Noisy count and sum of deviations of each cluster, one after another. Public.

    radius: Deviations from the anchor were shortened to it.
    noisy: Integers.
    noise: Their law.
    """

    radius: float = field(metadata=file.NUMBER.kept)
    noisy: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)

    def __post_init__(self) -> None:
        if not self.radius > 0 or self.noise.components != len(self.noisy):
            raise ValueError("sums do not fit their noise")

    @property
    def blocks(self) -> tuple[int, ...] | int | None:
        """Sizes of the blocks of pure noise, which is of one length in each; of normal noise, of all."""
        if isinstance(self.noise, GaussianNoise):
            return self.noise.components
        return vars(self.noise).get("block_sizes")

    def moved(self, size: int, count: int, first: int) -> tuple[Floats, Floats]:
        """Numbers (count,) of units by the sums, and what is added to the anchors (count, F).

        What may be noise is shrunk (James & Stein): first among the leading functions, of which anchors
        are, then among the others.
        """
        rows = np.array(self.noisy, dtype=np.float64).reshape(count, -1)
        rows *= ball_of(rows.shape[1] - 1).step
        variance = float(self.noise.variances()[0]) * ball_of(rows.shape[1] - 1).step ** 2
        units = np.maximum(rows[:, 0] / COUNTED, FEWEST * size / count)
        scale = self.radius / math.sqrt(1 - COUNTED**2) / units[:, None]
        moves = rows[:, 1:] * scale
        for part in (slice(0, first), slice(first, None)):
            squares = np.maximum(np.sum(moves[:, part] ** 2, axis=1, keepdims=True), 1e-300)
            noise = moves[:, part].shape[1] * variance * scale**2
            moves[:, part] *= np.maximum(1 - noise / squares, 0.0)
        return rows[:, 0] / COUNTED, moves


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
    _CALLED: ClassVar[str] = "clusters of curves"
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
        if self.sums is None:
            own = nearest(self.moments.centre + self.lattice.offsets, self.anchors)
            counts = np.array(self.cells, dtype=np.float64) / COUNT_SCALE
            units = np.bincount(own, counts, len(self.anchors)).astype(np.float64)
        else:
            units, rows = self.sums.moved(self.moments.size, *self.anchors.shape)
        rows[:, : self.anchors.shape[1]] += self.anchors
        lines = rows @ self.basis.evaluate(self.grid_points).T
        units = np.maximum(units, 0.0)
        shares = units / units.sum() if units.sum() > 0 else np.full(units.size, 1 / units.size)
        order = np.argsort(-shares, kind="stable")
        curves = np.clip(self.bounds.mean(axis=0) + lines[order], *self.bounds)
        return frozen(curves), frozen(shares[order])

    @property
    def shares(self) -> Floats:
        """Share (k,) of the units in each cluster, decreasing; they add up to one."""
        return self._found[1]

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
        found = [*pure, noise_on_counts(self.noise, moved, COUNT_SCALE, len(pure) + 1)]
        if self.sums is not None:
            # A unit is in one block: the lengths by which blocks move take the place of the l1 norm.
            moved = self.neighbours.differences(ball_of(self.basis.eigenvalues.size).radius)
            found.append(noise_on_counts(self.sums.noise, moved, moved, len(pure) + 2))
        # The last one is that which may need a delta or a rho.
        return [*found, last]

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(*self.bounds)}

    def _checked(self) -> None:
        super()._checked()
        with np.errstate(all="ignore"):
            if not all(np.isfinite(each).all() for each in self._found):
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
        told = [f"center of a cluster of {100 * share:.3g}% of the units" for share in self.shares]
        lines = zip(self._names, self.centers(at[:, 0]), told, strict=True)
        return {name: (line, words) for name, line, words in lines}

    def _functions(self, at: Floats) -> dict[str, Floats]:
        return dict(zip(self._names, self.centers(at[:, 0]), strict=True))

    def view(self, level: float | None = LEVEL) -> Curve:
        pairs = zip(self._found[0], self.shares, strict=True)
        return self._curve(
            [
                Line(self.grid_points, line, f"{100 * share:.0f}% of {several(self.unit)}")
                for line, share in pairs
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
            first=[ASKED_FOR],
            numbers={"shares": self.shares.tolist()},
        )

    def _lines(self) -> dict[str, str]:
        shares = ", ".join(f"{100 * share:.0f}%" for share in self.shares)
        return {"clusters": f"{shares} of {several(self.unit)}; .centers(t), .assign(curves)"}
