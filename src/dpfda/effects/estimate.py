"""Coefficient functions of a linear model for curves, from a noisy table of corners.

**What is seen.** A unit has the weights s_r of the corners (`dpfda.bases.corners`), u_j^2 of each number
among its covariates, and averages y_k of its curve over cells, in half-distances from the middle of the
bounds. The table has, for every corner, the sums of s_r (1, 2 u_j^2 - 1, y_k) over the units, and noise.
With z_r the terms at corner r these are all that least squares needs, exactly:

    G = sum z z' = sum_r S_r z_r z_r' - diag(sum (1 - u_j^2)),      C = sum z y' = sum_r z_r Y_r,

since a product of terms of different covariates is linear in each, and 1 - u_j^2 is what its square
lacks. The estimate is G^-1 C, smoothed.

**Smoothing.** The noise of G^-1 C is white over cells; over terms it has the covariance
A = G^-1 (sum_r z_r z_r') G^-1. With A = L D L', L lower triangular with unit diagonal and the baseline
last, the rows of L^-1 G^-1 C have independent noise: the coefficients, each but the first less its
regression on those before, and last the curve where it is known best. Each is estimated by `CurveModel`,
which finds roughness and size by evidence and draws what is all noise to zero: a coefficient to no
effect, the curve to the middle of the bounds.

**Boxes.** Every corner's noise is of a box of its own, and is known better than by its variance where
curves and effects change little from cell to cell. So where the table is small the means of all
coefficients, and of what no coefficient changes (the rest of the R rows, estimated in the same way), are
taken together under that law (`dpfda.estimates.box_law`); their components keep the weights of above.

**Noise in G.** It is a table of counts: negative ones are set to zero, their sum is the number of units
where that is public, and no eigenvalue is taken for less than its noise. Curves that the coefficients
may be are drawn as for a mean, under its rich mixture, and each is multiplied by G*^-1 G, with G* made
in the same way of the table less a draw of the noise. So a band has the noise of both parts in it, and
is widest where few units tell the terms apart. The half-width is the root of the sum of squares: of
.7 of what coefficients so drawn stay within, all of what curves do; of .7 of what noise stays within
before anything is smoothed, below which a flat line may hide anything; of .8 of the largest change of
the line over a cell, as what is between cells is not seen; and of curves, in the outer cells, beyond
whose middle nothing is seen, of twice the root mean square of these changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.corners import Corners
from dpfda.bases.priors import CurvePrior
from dpfda.estimates.box_law import as_normal, scale_of
from dpfda.estimates.curves import LARGEST_GRID, CurveModel, CurvePosterior
from dpfda.estimates.draws import Forms, spread
from dpfda.estimates.histospline import nearest_shares
from dpfda.estimates.widths import Widths, check_offered, differences, ends
from dpfda.noise import NoiseLaw
from dpfda.noise.bodies import InBox
from dpfda.numerics.arrays import Floats
from dpfda.numerics.speed import one_thread

# From the second version on the law of boxes is followed; from the third on effects are mostly small.
VERSION = 3
# A curve is in [-1, 1], a coefficient in [-2, 2]: both are put into [0, 1] by these.
CURVE, EFFECT = 2.0, 4.0
# What draws of the noise in the counts start from; a band takes as many as others at this level, since
# where counts are small a few draws are far out.
KEY, DRAWN = 1000, 0.99
# Draws of the counts alone, and of whole tables.
COUNTS = 1000
# The law of the boxes is followed for so many numbers of a table: time grows with their cube.
TOGETHER = 600
# Factors of the half-width under rich components and of changes in the outer cells, of coefficients and
# of curves; of what noise stays within, and of changes over a cell.
OF_RICH, OF_ENDS, OF_NOISE, OF_CHANGES = (0.7, 1.0), (0.0, 2.0), 0.7, 0.8


@dataclass(frozen=True, eq=False)
class Effects:
    """The estimate from a noisy table; curves in half-distances from the middle of the bounds.

    Parameters
    ----------
    table : array (R, 1 + q + M)
        Noisy sums over units: of weights, of 2 u^2 - 1, of averages over cells.
    law : NoiseLaw
        Of a row, in units of `unit`.
    unit : float
        One unit of the noise, in units of the table.
    size : float or None
        Public number of units; None where the sum of the weights stands for it.
    corners : Corners
    grid : array (m,)
        Scaled to [0, 1].
    cells : tuple of int
        Numbers of grid points in the M cells.
    version : int
        In the first all noise counts as normal, and in the second a large effect is as likely as none.
    """

    table: Floats
    law: NoiseLaw
    unit: float
    size: float | None
    corners: Corners
    grid: Floats
    cells: tuple[int, ...]
    version: int = VERSION

    @property
    def count(self) -> float:
        """Number of units, public or noisy."""
        return float(self.size or max(1.0, float(self.table[:, 0].sum())))

    @property
    def _split(self) -> int:
        return 1 + len(self.corners.numbers)

    def grams(self, tables: Floats) -> Floats:
        """The matrices G (..., P, P) of tables (..., R, 1 + q), made possible."""
        design, count = self.corners.design, self.count
        shares = nearest_shares(tables[..., 0] / count) * count
        grams = np.einsum("...r,ri,rj->...ij", shares, design, design)
        lacking = (tables[..., :1] - tables[..., 1:]).sum(axis=-2) / 2
        for j, place in enumerate(self.corners.numbers):
            grams[..., place, place] -= np.clip(lacking[..., j], 0.0, count)
        values, vectors = np.linalg.eigh(grams)
        values = np.maximum(values, self.least)
        return np.asarray((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))

    @property
    def least(self) -> float:
        """What no eigenvalue of G is taken to be below: the deviation of the noise in a term's count."""
        deviation = np.sqrt(float(self.law.variances()[0]) * self.corners.size) * self.unit
        return float(min(deviation, self.count / 2))

    @cached_property
    def gram(self) -> Floats:
        """G (P, P)."""
        return self.grams(self.table[:, : self._split])

    @cached_property
    def raw(self) -> Floats:
        """G^-1 C (P, M): averages over cells of the coefficients, not smoothed."""
        crossed = self.corners.design.T @ self.table[:, self._split :]
        return np.asarray(np.linalg.solve(self.gram, crossed), dtype=np.float64)

    @cached_property
    def _turned(self) -> tuple[Floats, Floats]:
        """L (P, P) with coefficients = L @ independent ones, and the latter's weights (P, R)."""
        weights = np.linalg.solve(self.gram, self.corners.design.T)
        # The baseline goes last.
        order = np.roll(np.arange(len(weights)), -1)
        root = np.linalg.cholesky((weights @ weights.T)[np.ix_(order, order)])
        lower = np.empty_like(root)
        lower[np.ix_(order, order)] = root / np.diag(root)
        return lower, np.linalg.solve(lower, weights)

    @property
    def _together(self) -> bool:
        """Whether coefficients are estimated together, by the law of the boxes of all corners."""
        small = self.corners.size * len(self.cells) <= TOGETHER
        return small and self.version >= 2 and isinstance(self.law, InBox)

    @cached_property
    def _weights(self) -> Floats:
        """Weights (P, R) of independent coefficients; or (R, R), with what no coefficient changes."""
        weights = self._turned[1]
        if not self._together:
            return weights
        beyond = np.linalg.svd(weights)[2][len(weights) :]
        return np.vstack([weights, beyond * np.sqrt(self.corners.size) / self.count])

    @cached_property
    def _posteriors(self) -> tuple[CurvePosterior, ...]:
        """Posterior of each independent coefficient, by itself and under normal noise."""
        averaged = self._weights @ self.table[:, self._split :]
        between = CurvePrior(np.zeros(self.grid.size), np.ones(self.grid.size))
        labels = np.repeat(np.arange(len(self.cells)), self.cells)
        averages = np.equal.outer(np.arange(len(self.cells)), labels) / np.array(self.cells)[:, None]
        places = np.rint(np.linspace(0, self.grid.size - 1, min(self.grid.size, LARGEST_GRID)))
        places, posteriors = places.astype(np.int64), []
        scales = np.pad(self.scales, (0, len(averaged) - self.scales.size), constant_values=EFFECT)
        for term, (row, weight, scale) in enumerate(zip(averaged, self._weights, scales, strict=True)):
            errors, small = Forms(self.law, weight / scale, self._split), term > 0 and self.version >= 3
            model = CurveModel(between, self.grid, places, averages, errors, self.unit, differs=small)
            posteriors.append(model.posterior(row / scale))
        return tuple(posteriors)

    @cached_property
    def widths(self) -> tuple[Widths, ...]:
        """The posterior of each independent coefficient."""
        return tuple(Widths(posterior) for posterior in self._posteriors[: self.scales.size])

    @property
    def scales(self) -> Floats:
        """By what coefficients (P,) are divided to be shares."""
        return np.array([CURVE, *[EFFECT] * (len(self.corners.terms) - 1)])

    @cached_property
    def _carried(self) -> Floats:
        """Coefficients (P, N) at the points that carry them."""
        posteriors = self._posteriors
        if self._together:
            turn = self._weights / np.linalg.norm(self._weights, axis=1)[:, None]
            scale, linear = scale_of(self.law.components), [posterior.linear for posterior in posteriors]
            shown = as_normal(linear, scale, self._split, turn)
            means = [posterior.led(row) for posterior, row in zip(posteriors, shown, strict=True)]
        else:
            means = [posterior.mean for posterior in posteriors]
        shares = np.clip(means[: self.scales.size], 0.0, 1.0) - 0.5
        return np.asarray(self._turned[0] @ (shares * self.scales[:, None]))

    @cached_property
    def lines(self) -> Floats:
        """Coefficients (P, m) on the grid."""
        model = self.widths[0].posterior.model
        return np.array([model.on_grid(row) for row in self._carried])

    @one_thread(scipy=False)
    def half_widths(
        self, form: Floats, most: float, level: float, simultaneous: bool, within: bool = True
    ) -> Floats:
        """Half-widths (m,) of the band around a combination (P,) of the coefficients, of size `most`.

        With what happens `within` cells, or for the noise alone.
        """
        check_offered(level)
        places, line = self.widths[0].looked_at, form @ self._carried
        apart = np.clip(self._drawn(form), -most, most) - line[places]
        of_curve = int(form[0] != 0)
        rich = OF_RICH[of_curve] * spread([apart], level, simultaneous)
        noise = OF_NOISE * self._noise_reach(form, level, simultaneous)
        cells, outer = len(self.cells), OF_ENDS[of_curve]
        changes = np.hypot(OF_CHANGES * differences(line, cells, 1), outer * ends(line, cells))
        half = np.sqrt(rich**2 + noise**2 + (within * changes[places]) ** 2)
        return np.asarray(np.interp(self.grid, self.widths[0].posterior.model.times[places], half))

    def _noise_reach(self, form: Floats, level: float, simultaneous: bool) -> float:
        """What the noise of a combination (P,) stays within before smoothing, in all cells or in one."""
        tables = self._tables(COUNTS)
        weights = self._solved(form, tables) @ self.corners.design.T
        errors = np.abs(np.einsum("dr,drk->dk", weights, tables[:, :, self._split :]) - form @ self.raw)
        return float(np.quantile(errors.max(axis=1) if simultaneous else errors, level))

    def _drawn(self, form: Floats) -> Floats:
        """Combinations (draws, k) that there may be, at the places that are looked at."""
        # form' G*^-1 G L, for every draw.
        tables = self._tables(len(self._curves), self._split)
        weights = self._solved(form, tables) @ self.gram @ self._turned[0]
        return np.asarray(np.einsum("dp,dpk->dk", weights, self._curves))

    @cached_property
    def _curves(self) -> Floats:
        """Independent coefficients (draws, P, k) that there may be."""
        drawn = [widths.drawn("rich", DRAWN, key) for key, widths in enumerate(self.widths, 1)]
        return (np.stack(drawn, axis=1) - 0.5) * self.scales[:, None]

    def _tables(self, draws: int, columns: int | None = None) -> Floats:
        """The first columns (draws, R, k) of tables that there may be without noise."""
        generator = np.random.Generator(np.random.Philox(key=KEY))
        rows = [self.law.simulate(generator, draws)[:, :columns] for _ in range(self.corners.size)]
        return np.asarray(self.table[:, :columns] - np.stack(rows, axis=1) * self.unit)

    def _solved(self, form: Floats, tables: Floats) -> Floats:
        """Form' G*^-1 (draws, P) for the matrices of counts of tables (draws, R, 1 + q or more)."""
        others = self.grams(tables[:, :, : self._split])
        weights = np.linalg.solve(others, np.broadcast_to(form[:, None], (*others.shape[:2], 1)))
        return np.asarray(weights[..., 0], dtype=np.float64)

    def sampling(self, form: Floats, level: float) -> float:
        """What a combination (P,) has, by sampling, of the variance of a unit's residual.

        It is form' G^-1 form; of what G may be a quantile at `level` is taken.
        """
        return float(np.quantile(self._solved(form, self._tables(COUNTS, self._split)) @ form, level))


def expected_table(corners: Corners, averages: Floats, size: float) -> Floats:
    """What plans expect to see (R, 1 + q + M): covariates spread evenly, and independent.

    Parameters
    ----------
    corners : Corners
    averages : array (P, M)
        Of each coefficient over each cell, in half-distances between the bounds.
    size : float
        Number of units.
    """
    weight, design = size / corners.size, corners.design
    # Numbers spread evenly over [-1, 1] have the square 1/3, and so a third of the corners' slopes.
    inside = design.copy()
    inside[:, list(corners.numbers)] /= 3.0
    squares = np.full((corners.size, len(corners.numbers)), -1 / 3)
    return np.asarray(weight * np.hstack([np.ones((corners.size, 1)), squares, inside @ averages]))
