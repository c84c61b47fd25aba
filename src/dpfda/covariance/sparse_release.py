"""A released covariance of curves observed at a few times each: noisy shares, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.cells import cosines
from dpfda.bases.grids import check_points, frozen
from dpfda.covariance.components_release import center_words, second_order, stated_deviation
from dpfda.covariance.pairs import FUNCTIONS, PairEstimate
from dpfda.covariance.surface import CovarianceSurface
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import Certificate
from dpfda.records.long import LongCurves
from dpfda.releases import entries as file
from dpfda.releases.bands import check_level, largest_size
from dpfda.releases.facts import Stated
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, OfShares, used_units

# Functions that the covariance is written in.
FINAL = 16
# Points along each axis of a table: it is smooth.
LINE = 33
FLOOR_DRAWS = 2000
# What a unit gives at most to pairs of its visits, and to their squares.
PARTS = UNIT - UNIT // 8, UNIT // 8


@dataclass(frozen=True, eq=False)
class ReleasedSparseCovariance(CovarianceSurface, OfShares):
    """A covariance function C(s, t) of people who were observed at a few times each.

    It is estimated from pairs of different visits, so that errors of measurement are no part of it. It
    is symmetric and positive semidefinite. It holds nothing private.

    Parameters
    ----------
    basis : Basis
        Orthonormal public functions.
    shares : NoisyShares
        The mechanism's output: two corners of every pair of cells, and of squares.
    center, reach : array (m,)
        What deviations were counted from, and how far they reach, on the grid; linear between.
    certificate : Certificate
        Of the whole release, a private center included.
    about : mapping
        Labels, date, versions.
    pooled : ReleasedPooledMean or None
        The released mean that is the center, where a share of the budget paid for it.
    """

    basis: Basis = field(metadata=file.BASIS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    center: Floats = field(metadata=file.FLOATS.kept)
    reach: Floats = field(metadata=file.FLOATS.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    pooled: ReleasedPooledMean | None = field(
        default=None, metadata=file.part(ReleasedPooledMean).or_null.named("mean").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-sparse-covariance"
    _CALLED: ClassVar[str] = "released covariance of sparse curves"
    _bandless = "sampling and smoothing are in it besides noise, and no width was found that holds both"
    _subject = "covariance function"

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = self._estimate.cells
        if len(self.shares.noisy) != cells * (cells + 1) + 2:
            raise ParameterError("shares", "be two a pair of cells, and two", len(self.shares.noisy))

    @cached_property
    def _estimate(self) -> PairEstimate:
        shares = self.shares
        return PairEstimate(shares.counts.reshape(-1, 2), shares.noise, 2.0**-shares.exponent)

    @cached_property
    def _taken(self) -> Floats:
        """Takes coefficients of the estimate (FUNCTIONS,) to those of the basis (M,)."""
        start, end = self.domain_range
        along = cosines(FUNCTIONS, (self.grid_points - start) / (end - start))
        return frozen(self.basis.analysis.T @ (self.reach[:, None] * along))

    @cached_property
    def matrix(self) -> Floats:
        """Coefficients (M, M) of the estimate: positive semidefinite."""
        return frozen(self._taken @ self._estimate.matrix @ self._taken.T)

    @property
    def error_variance(self) -> float:
        """Variance of an error of measurement, taken to be the same at all times; noisy, and positive.

        It is what squares of deviations have beside the variance of curves, and no better known.
        """
        start, end = self.domain_range
        cells = self._estimate.cells
        at = start + (end - start) * (np.arange(cells) + 0.5) / cells
        reach = np.interp(at, self.grid_points, self.reach)
        return float(self._estimate.error / (self._estimate.times @ reach**-2))

    def noise_floor(self, level: float = 0.95) -> float:
        """What the largest eigenvalue of the noise stays below with this probability.

        An eigenvalue of the estimate below it may be noise alone. Of the noise as it was smoothed, the
        smoothing being taken as given; simulated from the public law with a fixed key.
        """
        generator = np.random.Generator(np.random.Philox(key=0))
        drawn = self._estimate.noise_matrices(generator, FLOOR_DRAWS)
        return largest_size(self._taken @ drawn @ self._taken.T, check_level(level))

    def scores(self, curves: LongCurves, count: int | None = None) -> Floats:
        """Scores (n, k) of curves that were observed at a few times each: conditional expectations.

        Given normal curves of this covariance around the center, and errors of measurement of
        `error_variance` (Yao, Mueller & Wang 2005). Scores of private curves are private: use it on
        public curves, or where the scores stay with whoever holds the curves.

        Parameters
        ----------
        curves : LongCurves
            In any order of rows; curves come in the order in which their ids first appear.
        count : int, optional
            Number k of components, as in `components`.

        Raises
        ------
        ParameterError, DataError
            If an observation is not finite, or outside the domain.
        """
        if not isinstance(curves, LongCurves):
            raise ParameterError("curves", "be LongCurves", shown(curves))
        made = self.components(count)
        curves.usable(self.domain_range, "refuse")
        found = []
        for rows in curves.records():
            at = np.asarray(curves.times[rows], dtype=float)
            apart = np.asarray(curves.values[rows], dtype=float) - self._center_at(at)
            seen = self.basis.evaluate(at)
            variance = seen @ self.matrix @ seen.T + self.error_variance * np.eye(at.size)
            loaded = (made.vectors * made.variances).T @ seen.T
            found.append(loaded @ np.linalg.solve(variance, apart))
        return np.array(found)

    def predict(self, curves: LongCurves, points: ArrayLike, count: int | None = None) -> Floats:
        """Curves (n, q) at points of the domain, from a few observations each, by their `scores`."""
        at = check_points(points, self.domain_range)
        return np.asarray(self._center_at(at) + self.scores(curves, count) @ self.components(count)(at))

    def _center_at(self, at: Floats) -> Floats:
        return np.asarray(np.interp(at, self.grid_points, self.center))

    # Its file.

    def _stated_bound(self) -> dict[str, object]:
        return stated_deviation(self, self.mean)

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours, PARTS)

    def _checked(self) -> None:
        if not self.center.shape == self.reach.shape == self.grid_points.shape:
            raise ValueError("center and reach must fit the grid")
        if not np.all(self.reach > 0):
            raise ValueError("deviations must reach somewhere")
        # Without its mean a file would promise what the table alone cost.
        follows = self.certificate.bound["radius"] is None or self.about.get("center") == "private"
        if follows and self.pooled is None:
            raise ValueError("center and reach follow from a mean that is left out")

    # Words.

    @property
    def _along(self) -> Floats:
        return np.linspace(*self.domain_range, LINE)

    @property
    def _value_label(self) -> str:
        return f"covariance of {super()._value_label}, squared units"

    def _stated(self) -> Stated:
        own = second_order(self, "A covariance function of pairs of points", self.components())
        more = (
            f" Every {self.unit} was observed at times of their own. Pairs of different visits are "
            f"pooled, so that errors of measurement are no part of it; each {self.unit} counts as one, "
            "spread over their pairs."
        )
        return replace(
            own,
            what=own.what + more,
            noise=self.shares.noise.describe().replace("coefficients", "pairs of cells"),
            units=used_units(self),
            findings={**own.findings, "error": f"variance {self.error_variance:.3g} of a measurement"},
        )

    def _lines(self) -> dict[str, str]:
        cells = self._estimate.cells
        return {"center": center_words(self), "cells": f"pairs of {cells} equal cells"}
