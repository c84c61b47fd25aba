"""Where clusters are looked for and what is measured of them: cells of leading scores, and sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpfda.bases.grids import freeze
from dpfda.bounds import IntegerBall
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.embedding import Rows, coefficients, sum_columns
from dpfda.releases import entries as file
from dpfda.releases.moments import Moments

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
            counts for first in range(most, 0, -1)
            if math.prod(counts := np.ceil(first * lengths).astype(int).tolist()) <= most
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

        places = max(count, int(np.sum(counts > HELD * deviation)))
        chosen = np.argsort(-counts, kind="stable")[:places]
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

    def units(self, numbers: Floats, count: int) -> Floats:
        """Numbers (r, count) of units in clusters, of integers (r, K) like these sums."""
        step = ball_of(self.noise.components // count - 1).step
        return np.asarray(numbers.reshape(len(numbers), count, -1)[:, :, 0] * step / COUNTED)

    def moved(self, size: int, count: int, first: int) -> Floats:
        """What is added to the anchors (count, F).

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
        return moves
