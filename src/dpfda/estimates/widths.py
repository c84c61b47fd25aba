"""How far the mean of curves between bounds may lie from its released line: widths of the default band.

Mixtures stand in for the line's: *rich*, all components alike, and *Brownian*, with variances that fall
like j^-2 only. Under each of the three, components are drawn by their posterior weights, and for each a
curve and the *true* noise given it, as far as normal noise of its variance tells: deviations of the mean
from the line. With s(t) their root mean square and k the level's quantile of max_t |deviation| / s the
half-width is k s(t): L under the line's mixture, R rich, B Brownian.

**Where a cell holds several points** the half-width is

    (40 / M)^(1/2) (1 + .45 p) (.92 L + .71 q + .33 D).

The noise of all M averages stays within q at the level: by the law of the box the quantile of Gamma(M).
What a mean does within a cell is not measured: D(t) is the largest change of the line over one cell,
within a cell of t; and in the first and the last cell, beyond whose middle nothing is seen, E more:
five times the root mean square of these. p is the share of rough components in the evidence. The first
factor counts for M from 40 to 80, beyond which it stays, but for q.

**Where every point is a cell** the band is what was measured, y(t) -+ q, and holds whatever the mean is.
Where the number of units is private, and of differences, it is 1.15 (1 + p) (R + B) / 2 around the
line. Of other noise than a box's it is 1.05 (R + B + D2) / 2, with the largest second difference D2; of
sparse observations 1.5 R + .3 D2, and what changes within cells as where a cell holds several points.
Where every unit is seen once, over one variable, it is, with x the largest of what the line leaves of
the cells, in deviations, and D, in the outer cells alone, the largest change of the line over one cell,

    .82 M^(-1/12) (1 + .6 p) max(1, x / 2)^(1/2) (R^2 + (.7 q)^2 + (1.5 D2)^2 + (5 D)^2)^(1/2):

of many cells the line is smooth over several; and near an end a function may be steeper than beside.
Units may fill few of the cells, and what the function does within one is in the deviation s of a value
there: with m_c the shares of units in cells, 4 s sum_c m_c^2 is added, squares to squares, and half of
it at a single point. Over two variables the rest is
1.06 (1 + .6 p) max(1, x / 2)^(1/2) R.

**A line of a group that borrows** is seen with less noise than its own cells have, and a difference of
two with less again, as their common line is not in it. Where every point is a cell, what the group
itself measured cuts the band, with two fifths of what the level leaves. How much it may change within a
cell both lines tell, so that D is there the root of the sum of their squares:

    (1 + .15 p) (.8 R + .2 B + .2 q + .33 (D + D2))    and    (1 + .15 p) (1.1 R + .15 q + .2 D).

**Where cells cannot follow**, the sums leave more than noise: the largest coordinate of what the line
leaves is beyond the .95 quantile of Gamma(M). Then half-widths are 1.5 times as wide, and it is said.

**What it promises.** Noise is known exactly; how a mean wiggles between cells is assumed. How often the
band held is on the page on the default mean. What is narrower than a cell can be missed altogether.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.estimates.box_law import scale_of
from dpfda.estimates.components import LINE, PUBLIC, weights_of
from dpfda.estimates.curves import CurvePosterior
from dpfda.estimates.draws import CountNoise, deviations, spread
from dpfda.noise.bodies import InBox
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import probability
from dpfda.numerics.specials import gamma_chance, gamma_quantile
from dpfda.numerics.speed import one_thread

RICH: Mapping[str, float] = {"smooth": 1.0, "rough3": 1.0, "rough2": 1.0, "local": 1.0, "cycle": 6.0}
BROWNIAN: Mapping[str, float] = {"rough2": 1.0}
MIXTURES = {"line": (LINE, PUBLIC), "rich": (RICH, PUBLIC), "brownian": (BROWNIAN, 0.0)}
# Brownian motion has no derivative: bands for derivatives are meant for means that have one.
SMOOTHER: Mapping[str, float] = {"smooth": 1.0, "rough3": 1.0, "local": 1.0, "cycle": 6.0}
ROUGHEST: Mapping[str, float] = {"rough3": 1.0}
FACTOR = 1.05
# Factors of the line's and the noise's half-widths and of changes over a cell, where cells hold several
# points; of changes on average in the outer cells; and of roughness.
OF_LINE, OF_NOISE, OF_CHANGES, OUTER, OF_ROUGHNESS = 0.92, 0.71, 0.33, 5.0, 0.45
# Between so many cells all count less, and the noise beyond too.
MANY_CELLS, MOST_CELLS = 40, 80
# Where every unit is seen once, over one variable, all counts as this power of the number of cells;
# second differences, roughness; and so many deviations are left of a cell by chance.
BY_CELLS, OF_SECOND, OF_ROUGH, BY_CHANCE = -1 / 12, 1.5, 0.6, 2.0
# The noise there, and the deviation of a value, over the number of cells that units fill; twice as much
# everywhere at once.
OF_OWN, WITHIN = 0.7, 2.0
# Of sparse observations: a factor, and that of second differences over cells.
OF_SEEN, OF_BENDS = 1.5, 0.3
# Of groups that borrow: factors of R, B and q of a line, of R, q and D of a difference; of roughness.
OF_BORROWED, OF_APART, OF_ROUGHER = (0.8, 0.2, 0.2), (1.1, 0.15, 0.2), 0.15
# Where each point is a cell: a factor; of what the level leaves, a cut's share in groups that borrow.
OF_BOTH, CUT = 1.15, 0.4
# What cells leave of the sums is beyond the noise at this level; then bands are so many times as wide.
MISFIT, WIDENED = 0.95, 1.5
FEWEST_DRAWS, MOST_DRAWS = 600, 4000
LEAST_LEVEL = 0.9
# Where rough components have this much of the evidence and second differences of cell averages are so
# many times those of the noise, the mean is rougher than ordinary ones.
ROUGH_EVIDENCE, ROUGH_CHANGES = 0.75, 3.0


@dataclass(frozen=True, eq=False)
class Widths:
    """Half-widths of bands around the line of a posterior, in shares of the distance between the bounds.

    count: Where the number of units was released with noise, which scales the whole curve.
    size: The released number of units.
    """

    posterior: CurvePosterior
    count: CountNoise | None = None
    size: float = 1.0

    @cached_property
    def looked_at(self) -> Integers:
        model = self.posterior.model
        size = model.places.size
        return np.rint(np.linspace(0, size - 1, min(size, model.looks))).astype(np.int64)

    def around_line(self, level: float, simultaneous: bool = True) -> Floats:
        """Half-widths (m,) on the grid of the band around the clipped line; read-only."""
        key = level, simultaneous
        if key not in self._around:
            self._around[key] = frozen(around_lines((self,), level, simultaneous))
        return self._around[key]

    @cached_property
    def _around(self) -> dict[tuple[float, bool], Floats]:
        return {}

    def around_seen(self, level: float, simultaneous: bool, root: Floats) -> Floats:
        """Half-widths (N,) where every place was seen in the mean of its cell: rich components.

        root: array (N, r). The line has normal errors root @ z beside, with z standard normal.
        """
        apart = self._from_line(RICH, PUBLIC, level, 0)
        generator = np.random.Generator(np.random.Philox(key=1))
        apart = apart + generator.standard_normal((len(apart), root.shape[1])) @ root[self.looked_at].T
        half, line = spread([apart], level, simultaneous), self.posterior.line
        times, cells = self.posterior.model.times, self.cells
        half = OF_SEEN * np.interp(times, times[self.looked_at], half)
        return np.asarray(half + OF_BENDS * differences(line, cells, 2) + _changes(line, cells))

    def around_alone(self, level: float, simultaneous: bool, deviations: Floats) -> Floats:
        """The same where every unit was seen once: then all of sampling is in the noise.

        deviations: array (N,). Of a value about the mean there, and of the mean within a cell.
        """
        model = self.posterior.model
        (mixture, factor), looked = model.alone, model.times[self.looked_at]
        apart = self._from_line(*MIXTURES[mixture], level, 0)
        half = np.interp(model.times, looked, spread([apart], level, simultaneous))
        within = WITHIN * (1 + simultaneous) * deviations / filled_cells(model.forms)
        factor *= (1 + OF_ROUGH * self.roughness) * max(1.0, self._left / BY_CHANCE) ** 0.5
        if not model.in_one_order:
            return np.asarray(np.hypot(factor * half, within))
        masses = np.maximum(model.forms.sum(axis=1), 1e-12)
        generator, cells = np.random.Generator(np.random.Philox(key=3)), model.resolution
        reach = spread([model.noise.simulate(generator, MOST_DRAWS) / masses], level, simultaneous)
        own = np.minimum((model.times * cells).astype(np.int64), cells - 1)
        # Noise as large as the bounds' half distance says no more than that.
        noise, line = OF_OWN * np.minimum(reach, 0.5)[own], self.posterior.line
        ends = OUTER * differences(line, cells, 1) * _outer(line.size, cells)
        half = np.sqrt(half**2 + noise**2 + (OF_SECOND * differences(line, cells, 2)) ** 2 + ends**2)
        half *= factor * cells**BY_CELLS
        return np.asarray(np.hypot(half, within))

    @cached_property
    def typical_error(self) -> float:
        """Root mean square distance of mean and line by its prior, in shares of the bounds' distance."""
        apart = self._from_line(LINE, PUBLIC, LEAST_LEVEL, 0)
        return float(np.sqrt(np.mean(apart**2)))

    def _from_line(self, prior: Mapping[str, float], public: float, level: float, key: int) -> Floats:
        """Mean minus line (draws, k) at the places that are looked at."""
        line, places = self.posterior.line, self.looked_at
        curves, counts = self._curves(prior, public, level, key, places)
        return curves - line[places] + counts * (line[places] - 0.5)

    def _from_mean(
        self, prior: Mapping[str, float], public: float, level: float, key: int, functions: Floats
    ) -> Floats:
        """Forms of the mean minus those of the posterior mean (draws, k)."""
        curves, counts = self._curves(prior, public, level, key, slice(None))
        apart = (curves - self.posterior.mean) @ functions.T
        return np.asarray(apart + counts * (functions @ (self.posterior.line - 0.5)))

    def _curves(
        self, prior: Mapping[str, float], public: float, level: float, key: int, rows: Integers | slice
    ) -> tuple[Floats, Floats]:
        """Curves (draws, k) that the mean may be, and relative errors (draws, 1) of the count."""
        draws = max(FEWEST_DRAWS, min(MOST_DRAWS, round(20 / (1 - level))))
        weights = weights_of(self.posterior.fits, prior, public)
        curves, beside = deviations(self.posterior, key, weights, draws, rows)
        generator = np.random.Generator(np.random.Philox(key=[key, 2]))
        if key:
            # They come component by component: in another order they are independent of others.
            order = generator.permutation(draws)
            curves, beside = curves[order], beside[order]
        if self.count is None:
            return curves, np.zeros((draws, 1))
        return curves, (self.count.errors(generator, draws, beside) / self.size)[:, None]

    def drawn(self, mixture: str, level: float, key: int) -> Floats:
        """Curves (draws, k) that the mean may be, where it is looked at, under a mixture by name.

        Draws of different keys, above 0, are independent.
        """
        return self._curves(*MIXTURES[mixture], level, key, self.looked_at)[0]

    @property
    def cells(self) -> int:
        """Number of cells that the domain was measured in."""
        model = self.posterior.model
        return model.resolution if model.finest is None else model.finest

    @property
    def in_cells(self) -> bool:
        """Whether averages over cells were measured; of points that are cells, with a box's noise."""
        model = self.posterior.model
        several = self.posterior.noisy.size < model.grid.size
        return model.prior.cells is not None and (several or isinstance(model.noise, InBox))

    @property
    def whole(self) -> bool:
        """Whether every point is a cell."""
        return self.in_cells and self.posterior.noisy.size == self.posterior.model.grid.size

    @cached_property
    def roughness(self) -> float:
        """Share of rough components in the evidence."""
        weights = weights_of(self.posterior.fits, RICH)
        return sum(
            float(weight.sum())
            for fit, weight in zip(self.posterior.fits, weights, strict=True)
            if fit.part.kind.startswith("rough")
        )

    @property
    def _left(self) -> float:
        """Largest of what the line leaves of what was measured, in deviations."""
        posterior = self.posterior
        return float(np.abs(posterior.noisy - posterior.model.seen @ (posterior.line - 0.5)).max())

    @property
    def misfit(self) -> bool:
        """Whether what was measured looks rougher than the cells can follow."""
        posterior, noise = self.posterior, self.posterior.model.noise
        if not self.in_cells or self.whole or not isinstance(noise, InBox):
            return False
        if gamma_chance(noise.sides, self._left / scale_of(noise.sides)) > MISFIT:
            return True
        if posterior.noisy.size < 4 or self.roughness <= ROUGH_EVIDENCE:
            return False
        # Of white noise their mean square is six.
        changes = np.diff(posterior.noisy, n=2) / np.sqrt(6)
        return bool(np.sqrt(np.mean(changes**2)) > ROUGH_CHANGES)

    def noise_reach(self, level: float, simultaneous: bool) -> Floats:
        """What the noise of averages over cells (M,) stays within, of all at once or of each."""
        model = self.posterior.model
        noise, averages = model.noise, model.deviations / model.forms.sum(axis=1)
        if not isinstance(noise, InBox):
            drawn = np.abs(noise.simulate(np.random.Generator(np.random.Philox(key=3)), MOST_DRAWS))
            drawn /= np.sqrt(noise.variances())
            reach = np.quantile(drawn.max(axis=1) if simultaneous else drawn, level)
            return np.asarray(float(reach) * averages)
        if simultaneous:
            scales = gamma_quantile(noise.sides, level)
        else:
            generator = np.random.Generator(np.random.Philox(key=3))
            lengths = generator.gamma(noise.sides + 1.0, size=MOST_DRAWS)
            scales = float(np.quantile(lengths * generator.uniform(0, 1, MOST_DRAWS), level))
        return np.asarray(scales * scale_of(noise.sides) * averages)

    def measured(self, level: float, simultaneous: bool) -> tuple[Floats, Floats] | None:
        """Ends (m,) of a band that holds the mean whatever it is; None if not every point was measured.

        Of a private number of units the error is not in it: there is none then. Of a group that borrows
        it only cuts a narrower band, and has a part of what the level leaves.
        """
        if not self.whole or self.count is not None:
            return None
        model = self.posterior.model
        if self.posterior.borrows:
            level = 1 - CUT * (1 - level)
        half = self.noise_reach(level, simultaneous)
        values = 0.5 + self.posterior.noisy * model.deviations / model.forms.sum(axis=1)
        return values - half, values + half


@one_thread(scipy=False)
def around_lines(lines: Sequence[Widths], level: float, simultaneous: bool = True) -> Floats:
    """Half-widths (m,) on the grid of the band around a clipped line, or the first less the second.

    lines: (Widths,) or (Widths, Widths). On one grid; two of independent releases.
    """
    check_offered(level)
    model, places = lines[0].posterior.model, lines[0].looked_at

    def within(mixture: str) -> Floats:
        prior = MIXTURES[mixture]
        apart = [line._from_line(*prior, level, key) for key, line in enumerate(lines)]
        return spread(apart, level, simultaneous)

    line = lines[0].posterior.line - sum(other.posterior.line for other in lines[1:])
    cells = min(own.cells for own in lines)
    rough = max(own.roughness for own in lines)
    if all(own.in_cells and own.posterior.borrows for own in lines):
        noise = np.sqrt(sum(_noise(own, level, simultaneous) ** 2 for own in lines))[places]
        changes = np.sqrt(sum(differences(own.posterior.line, cells, 1) ** 2 for own in lines))[places]
        if len(lines) == 1:
            half = np.dot(OF_BORROWED, [within("rich"), within("brownian"), noise])
            half += OF_CHANGES * (changes + differences(line, cells, 2)[places])
        else:
            half = np.dot(OF_APART, [within("rich"), noise, changes])
        half *= 1 + OF_ROUGHER * rough
    elif all(own.whole for own in lines):
        half = OF_BOTH * (1 + rough) * (within("rich") + within("brownian")) / 2
    elif all(own.in_cells for own in lines):
        noise = np.sqrt(sum(_noise(own, level, simultaneous) ** 2 for own in lines))[places]
        half = OF_LINE * within("line") + OF_NOISE * noise + _changes(line, cells)[places]
        half *= _less(min(cells, MOST_CELLS)) * (1 + OF_ROUGHNESS * rough)
    else:
        half = FACTOR * (within("rich") + within("brownian") + differences(line, cells, 2)[places]) / 2
        if lines[0].posterior.model.finest is not None:
            # What happens within a cell of the finest measurement, more of them do not tell.
            half = half + _changes(line, cells)[places]
    if any(own.misfit for own in lines):
        half = WIDENED * half
    return np.interp(model.grid, model.times[places], half)


def _noise(line: Widths, level: float, simultaneous: bool) -> Floats:
    """What noise counts for (N,) at the carrying points, before all counts less."""
    model = line.posterior.model
    reach = line.noise_reach(level, simultaneous)
    beyond = _less(reach.size) / _less(min(reach.size, MOST_CELLS))
    return np.asarray(beyond * reach[model.prior.labels[model.places]])


def _less(cells: int) -> float:
    """How much less half-widths count for many cells."""
    return math.sqrt(min(1.0, MANY_CELLS / cells))


def _changes(line: Floats, cells: int) -> Floats:
    """What changes of a line (N,) over a cell count for: more in the outer cells."""
    return np.asarray(OF_CHANGES * (differences(line, cells, 1) + OUTER * ends(line, cells)))


def ends(line: Floats, cells: int) -> Floats:
    """Root mean square (N,) of changes over a cell, in the first and the last cell alone."""
    return np.asarray(np.sqrt(np.mean(differences(line, cells, 1) ** 2)) * _outer(line.size, cells))


def _outer(points: int, cells: int) -> Flags:
    """Whether points (N,) are in the first or the last cell."""
    place = np.arange(points)
    return np.asarray(np.minimum(place, place[::-1]) < round(points / cells))


@one_thread(scipy=False)
def around_slopes(
    lines: Sequence[Widths], level: float, simultaneous: bool, functions: Sequence[Floats]
) -> Floats:
    """Half-widths (k,) of linear forms (k, N) of a curve, or of those of one less those of another."""
    check_offered(level)
    halves = [
        spread(
            [
                line._from_mean(*prior, level, key, forms)
                for key, (line, forms) in enumerate(zip(lines, functions, strict=True))
            ],
            level,
            simultaneous,
        )
        for prior in ((SMOOTHER, PUBLIC), (ROUGHEST, 0.0))
    ]
    return np.asarray(FACTOR * sum(halves) / 2)


def filled_cells(forms: Floats) -> float:
    """How many cells units fill: as many alike would make two of them meet as often.

    forms: array (C, N). Its rows add up to the shares of units in cells.
    """
    masses = forms.sum(axis=1)
    return float(masses.sum() ** 2 / np.sum(masses**2))


def check_offered(level: float) -> None:
    """Refuse levels for which the band is not meant.

    Raises ParameterError if the level is below .9, or not below 1.
    """
    if probability(level, "level") < LEAST_LEVEL:
        words = f"be at least {LEAST_LEVEL} for a band that is meant to hold the mean"
        remedy = "Of lower levels there are bands for what was measured: exact=True (--band-kind exact)."
        raise ParameterError("level", words, repr(level), remedy)


def differences(line: Floats, count: int, order: int) -> Floats:
    """Largest difference of an order over one cell, within a cell of each point; 0 if all are seen."""
    points, step = line.size, max(1, round(line.size / count))
    sizes = np.zeros(points)
    if count >= points or order * step >= points:
        return sizes
    gaps = line[step:] - line[:-step]
    if order == 2:
        gaps = gaps[step:] - gaps[:-step]
    start = order * step // 2
    sizes[start : start + gaps.size] = np.abs(gaps)
    padded = np.pad(sizes, step)
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, 2 * step + 1).max(axis=1))
