"""The plan of a curve a month: which sums get noise of which law, its price, and the errors to expect.

Let S_1, .., S_T be the exact integer sums of the months. Month t releases

    Y_t = sum_(s <= t) c_(t - s) S_s + Z_t

with public integers c_0 >= c_1 >= .. >= 0 and independent noise Z_t of one law: rows of C S + Z, C a
Toeplitz matrix below its diagonal. From Y_1, .., Y_t the sum of month t, and that of all months up to
t, follow by the inverse of C: post-processing. Let P be the matrix of running sums, ones on and below
the diagonal. C = P^a is the identity for a = 0, where each month has noise of its own; for a = 1/2 it
is the square root, by which the errors of all running sums are as small as they can be up to a
constant. The nearer to 0, the more exact is each month's own mean. The entries of P^a are
c_j = a (a + 1) .. (a + j - 1) / j!, and they are rounded to integers in units of 2^-16.

A unit in at most k months moves the rows by most, in the box norm and in squared length, where these
are the first k months and each sum moves as far as it goes, to one side: `moved`, and
docs/appendix/running.md for the proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bases.protocol import flat_grid
from dpfda.estimates.curves import LARGEST_GRID
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.cells import Cells
from dpfda.mechanisms.design.lines import MOST_CELLS, equal_cells, number_of_cells
from dpfda.noise import BoxNoise, GaussianNoise, NoiseLaw, body_noise, cost_of, gaussian_on_body
from dpfda.noise.repeated import SummedNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known, whole
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, PureDP, ZeroConcentratedDP, without_delta
from dpfda.publication import MeanPlan, PlanOfMeans, recomputed, said_by
from dpfda.releases.promise import ALL

# Entries are in units of 2^-BITS, and weights of noisy rows, where there are several, of 2^-SHIFT.
BITS, SHIFT = 16, 48
POWERS = tuple(place / 20 for place in range(11))
IDENTITY = (1,)
# A state for more months would take longer to write than a month's curves to read.
MOST_STEPS = 1000
NoiseLike = BoxNoise | GaussianNoise | SummedNoise


@dataclass(frozen=True)
class Factorisation:
    """The rows that get noise. Public.

    column: Integers c_0, c_1, ..; what is left out is 0. (1,) is the identity.
    steps: Number T of months.
    most: Number k of months that a unit may be in.
    """

    column: tuple[int, ...]
    steps: int
    most: int

    def __post_init__(self) -> None:
        column = (*self.column, 0)
        falling = all(a >= b for a, b in itertools.pairwise(column)) and column[0] > 0
        if not falling or len(self.column) > self.steps or self.most < 1:
            raise ParameterError("column", "fall from a positive number, at most one a month", "others")

    @classmethod
    def of_power(cls, power: float, steps: int, most: int) -> Factorisation:
        """A power of the matrix of running sums, rounded."""
        if power == 0 or steps == 1:
            return cls(IDENTITY, steps, most)
        lags = np.arange(1, steps)
        entries = np.append(1.0, np.cumprod((power + lags - 1) / lags))
        return cls(tuple(np.rint(np.ldexp(entries, BITS)).astype(int).tolist()), steps, most)

    @property
    def own(self) -> bool:
        """Whether each month has noise of its own, and nothing of earlier months."""
        return len(self.column) == 1

    @property
    def shift(self) -> int:
        """Weighted sums of rows are in units of 2^-shift of a month's sum."""
        return 0 if self.own else SHIFT

    def row(self, month: int) -> list[int]:
        """What the sums of months 1, .., month are multiplied with in the row of a month."""
        return [self.column[lag] if lag < len(self.column) else 0 for lag in range(month - 1, -1, -1)]

    def moved(self, norm: str) -> int:
        """How far a unit moves all rows, of what it moves the sum of one month; "l2" rounded up.

        norm: {"box", "l2"}. The sum over rows, or the root of the sum of squares.
        """
        sums = [0, *itertools.accumulate((*self.column, *[0] * (self.steps - len(self.column))))]
        # Of the first k entries of each row.
        first = [sums[t] - sums[max(t - self.most, 0)] for t in range(1, self.steps + 1)]
        if norm == "box":
            return sum(first)
        return math.isqrt(sum(value**2 for value in first) - 1) + 1

    @cached_property
    def inverse(self) -> Floats:
        """First column (T,) of the inverse, which is of the same form."""
        if self.own:
            return np.append(1.0, np.zeros(self.steps - 1))
        column = np.array([*self.column, *[0] * (self.steps - len(self.column))], dtype=np.float64)
        inverse: Floats = np.append(1.0, np.zeros(self.steps - 1)) / column[0]
        for place in range(1, self.steps):
            inverse[place] = -(column[1 : place + 1] @ inverse[place - 1 :: -1]) / column[0]
        return np.asarray(inverse)

    def weights(self, month: int, running: bool) -> tuple[int, ...]:
        """Integers (month,), in units of 2^-shift: the rows' part in the sum of a month, or of all."""
        inverse = np.cumsum(self.inverse) if running else self.inverse
        return tuple(int(w) for w in np.rint(np.ldexp(inverse[:month][::-1], self.shift)))

    def errors(self, norm: str) -> tuple[Floats, Floats]:
        """Deviations (T,) of the means of single months, and of all up to each, for months alike.

        In units of that of one month's mean which gets noise for the whole budget by itself.
        """
        lengths = [np.sqrt(np.cumsum(inverse**2)) for inverse in (self.inverse, np.cumsum(self.inverse))]
        scale = self.moved(norm)
        return scale * lengths[0], scale * lengths[1] / np.arange(1, self.steps + 1)

    def score(self, norm: str) -> float:
        """Geometric mean of all errors: of every month's own mean and every running mean."""
        return float(np.exp(np.mean(np.log(np.concatenate(self.errors(norm))))))


@dataclass(frozen=True)
class Rows:
    """What gets noise month by month, and the law of that noise. Public.

    factorisation: How rows are made of the months' sums.
    cells: Numbers of neighbouring grid points whose values are added up.
    law: Of the noise of one row.
    """

    factorisation: Factorisation
    cells: tuple[int, ...]
    law: BoxNoise | GaussianNoise

    def noise(self, month: int, running: bool) -> tuple[NoiseLike, tuple[int, ...]]:
        """The noise of a month's sum, or of that of all up to it; and the weights of the rows in it."""
        weights = self.factorisation.weights(month, running)
        seen = tuple(weight for weight in weights if weight)
        if seen == (1,):
            return self.law, weights
        return SummedNoise(self.law.scales, self.law.law, seen), weights


def norm_of(law: NoiseLaw) -> str:
    """In what norm rows are moved, for their noise: see `Factorisation.moved`."""
    return "box" if isinstance(law, BoxNoise) else "l2"


def best_power(steps: int, most: int, norm: str) -> Factorisation:
    """The power of least score; public numbers alone are asked.

    Examples
    --------
    >>> best_power(64, 1, "box").own, best_power(64, 64, "l2").own
    (True, True)
    """
    powers = (Factorisation.of_power(power, steps, most) for power in POWERS)
    return min(powers, key=lambda factors: factors.score(norm))


@dataclass(frozen=True, eq=False, repr=False)
class RunningPlan(PlanOfMeans):
    """Plan of a curve a month, for so many months at one price.

    parts: The mean of one month by itself, alone, with the guarantee of all; its number of units is that
        of a month.
    steps: Number of months.
    most: Number of months that a unit may be in.
    stated: What gets noise, where that was fixed before; by default what is expected to be best.
    """

    parts: Mapping[str, MeanPlan]
    steps: int
    most: int
    stated: Rows | None = None

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged: without delta, or rho, where the noise needs none."""
        normal = isinstance(self.chosen.law, GaussianNoise)
        return self.one.guarantee if normal else without_delta(self.one.guarantee)

    size = said_by("one.size")

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        return {**self.one.about, "summary": "a mean curve a month, and their running mean"}

    @property
    def tuning(self) -> Mapping[str, object]:
        column = self.chosen.factorisation.column
        first = 0.0 if len(column) == 1 else column[1] / column[0]
        return {
            "name": "running mean",
            "months": self.steps,
            "months of a unit": self.most,
            "power": round(first, 4),
        }

    def remade(self, guarantee: Guarantee, n: int) -> RunningPlan:
        return RunningPlan({ALL: self.one.remade(guarantee, n)}, self.steps, self.most)

    # What gets noise.

    @cached_property
    def chosen(self) -> Rows:
        """Factorisation, cells and law: those of the least expected noise, unless they are fixed.

        Compared is the noise variance per cell, times the squared score of the factorisation.
        """
        if self.stated is not None:
            return self.stated
        rows = [self._box()]
        if not isinstance(self.one.guarantee, PureDP):
            rows.append(self._gaussian())
        return min(rows, key=self._noisiness)

    def _noisiness(self, rows: Rows) -> float:
        norm = norm_of(rows.law)
        widths = np.array(self.widths(rows.cells), dtype=np.float64)
        power = float(np.mean(rows.law.variances() / widths**2)) / len(rows.cells)
        ratio = rows.factorisation.score(norm) / rows.factorisation.moved(norm)
        return power * ratio**2

    def _box(self) -> Rows:
        """Box noise: then each month has noise of its own, whose loss a unit has once a month."""
        factors = best_power(self.steps, self.most, "box")
        pure = without_delta(self.one.guarantee)
        # Between one month and all of them.
        strength_of_mean = self.one.strength(self.one.guarantee, self.one.n or 2)
        strength = strength_of_mean / factors.moved("box") * factors.column[0] * self.steps**0.5
        # A stated detail needs cells of its own.
        fewest = len(known(self.one.curves).cells or ())
        cells = equal_cells(self._points, max(number_of_cells(self._points, strength), fewest))
        return Rows(factors, cells, body_noise("box", self.moved(factors, cells, "box"), pure))  # type: ignore[arg-type]

    def _gaussian(self) -> Rows:
        """Normal noise on all grid points, in proportion to the distances between the bounds."""
        factors = best_power(self.steps, self.most, "l2")
        cells = equal_cells(self._points, self._points if self._points <= LARGEST_GRID else MOST_CELLS)
        moved = self.moved(factors, cells, "l2")
        shape = np.array(moved, dtype=np.float64)
        return Rows(factors, cells, gaussian_on_body(shape, "box", moved, self.one.guarantee))

    def moved(self, factors: Factorisation, cells: tuple[int, ...], norm: str) -> tuple[int, ...]:
        """Sizes of the box that stands for how far a unit moves all rows together."""
        return tuple(factors.moved(norm) * width for width in self.widths(cells))

    def widths(self, cells: tuple[int, ...]) -> tuple[int, ...]:
        """By how much a unit moves the sums of one month at most."""
        placed = self.one.on_grid
        if placed is None or placed.cube is None:
            words, remedy = "be enforced on the grid", "Leave out basis, or give an orthonormal one."
            raise ParameterError("bounds", words, self.one.bound.describe(), remedy)
        halves = np.add.reduceat(placed.cube.half_widths, np.cumsum((0, *cells[:-1])))
        return tuple(self.neighbours.differences(int(half)) for half in halves)

    @property
    def _points(self) -> int:
        return int(flat_grid(self.one.basis).size)

    # What is charged.

    def achieved(self) -> Guarantee:
        """What the integer scales in force give for all months together, rounded outward.

        Raises DpfdaError if it is more than the guarantee.
        """
        rows = self.chosen
        sizes = self.moved(rows.factorisation, rows.cells, norm_of(rows.law))
        return recomputed(rows.law, "box", sizes, self.guarantee)

    def costs(self) -> dict[str, Cost]:
        """One cost, for all months together.

        Of box noise that a unit meets in several months no more is known than its epsilon.
        """
        own = self.chosen.factorisation.own and self.most == 1
        if isinstance(self.chosen.law, BoxNoise) and not own:
            return {ALL: Cost(self.guarantee)}
        return {ALL: cost_of(self.chosen.law, self.achieved(), self.guarantee)}

    # What is released.

    def month(self, units: int) -> MeanPlan:
        """The plan by which the records of one month are read and added up."""
        return replace(self.one, size=units, drawn=self.row)

    @cached_property
    def row(self) -> Design:
        """What is measured of a month, with the noise of its row."""
        return self.seen(self.chosen.law, self.one.n or 1)

    def seen(self, noise: NoiseLike, units: int, shift: int = 0) -> Design:
        """What is measured, and how the mean of so many units is estimated from it, with other noise.

        shift: The noise is in units of 2^-shift of a unit of the sums.
        """
        # The linear estimate is that for as many units as would have as little noise.
        ratio = np.sqrt(np.mean(self._of_box / noise.variances()))
        return self._design(noise, max(1, round(units * math.ldexp(float(ratio), shift))))

    @cached_property
    def _of_box(self) -> Floats:
        """Variances of the noise that the linear estimate takes there to be."""
        return Cells(len(self.chosen.cells)).design(self._problem(1)).noise.variances()

    def _problem(self, units: int) -> Problem:
        """One whose linear estimate is wanted: any epsilon will do, as units are counted by noise."""
        return replace(self.one.problem(units), guarantee=PureDP(Fraction(1)))

    def _design(self, noise: NoiseLike, units: int) -> Design:
        curves, cells = known(self.one.curves), self.chosen.cells
        design = Cells(len(cells)).design(self._problem(units))
        return replace(design, noise=noise, hierarchy=replace(curves, cells=cells))

    # What to expect.

    @cached_property
    def deviations(self) -> tuple[Floats, Floats]:
        """Deviations of the noise of each month's own mean (T,), and of the mean up to it (T,).

        Of an average over one cell, in the units of the data; for months with as many units as are
        planned. The noise alone: the line between bounds is nearer to the mean.
        """
        rows = self.chosen
        cells = np.array(rows.cells, dtype=np.float64)
        size = np.sqrt(np.mean(rows.law.variances() / cells**2)) / (self.one.n or 1)
        norm, cube = norm_of(rows.law), known(known(self.one.on_grid).cube)
        unit = math.ldexp(float(size), -cube.exponent) / rows.factorisation.moved(norm)
        month, running = rows.factorisation.errors(norm)
        return unit * month, unit * running

    def alike(self, month: int, running: bool = True) -> MeanPlan:
        """The plan of one mean as exact as that of all months up to one, or of that one alone.

        Parameters
        ----------
        month : int
            From 1 to the number of months.
        running : bool
        """
        at = whole(month, "month", 1, self.steps, f"be from 1 to {self.steps}")
        units = (self.one.n or 1) * (at if running else 1)
        noise, _ = self.chosen.noise(at, running)
        scales = np.ldexp(np.sqrt(noise.variances()), -self.chosen.factorisation.shift)
        normal = GaussianNoise(tuple(max(1, math.ceil(value)) for value in scales))
        design = self.seen(normal, units)
        # What such noise gives by itself stands for the guarantee: that of all months is another thing.
        rho = normal.achieved("box", self.widths(self.chosen.cells), ZeroConcentratedDP(Fraction(1)))
        return replace(self.one, size=units, drawn=design, guarantee=rho)

    @property
    def expected_of(self) -> MeanPlan:
        return self.alike(self.steps)

    @property
    def error_words(self) -> str:
        months, (own, running) = self.steps, self.deviations
        return (
            f"root mean square at a point of the mean of all {months} months, {self.one.belief}. Noise "
            f"of an average over a cell: {own.mean():.3g} in a month's own mean; in the running mean "
            f"{running[0]:.3g} after the first month, {running[-1]:.3g} after the last"
        )

    def _band_said(self, level: float) -> str:
        return self.one._band_said(level)

    @property
    def noise_words(self) -> str:
        law, own = self.chosen.law.describe(), self.chosen.factorisation.own
        sums = (
            "each month by itself" if own else "sums of months, by a power of the matrix of running sums"
        )
        return f"{law}, on {sums}"
