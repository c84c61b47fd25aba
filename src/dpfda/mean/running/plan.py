"""The plan of a curve a month: what gets noise of which law, its price, and the errors to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.ordinary import Outlook
from dpfda.bases.protocol import flat_grid
from dpfda.estimates.curves import LARGEST_GRID
from dpfda.mean.running.factorisations import Factorisation, NoiseLike, Rows, best_power
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.cells import Cells
from dpfda.mechanisms.design.lines import MOST_CELLS, equal_cells, number_of_cells
from dpfda.noise import BoxNoise, GaussianNoise, body_noise, cost_of, gaussian_on_body, pure_budget
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, PureDP, ZeroConcentratedDP, without_delta
from dpfda.publication import MeanPlan, PlanOfMeans, recomputed
from dpfda.releases.promise import ALL


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
        kept = isinstance(self.chosen.law, GaussianNoise)
        return self.one.guarantee if kept else without_delta(self.one.guarantee)

    @property
    def size(self) -> int | None:  # type: ignore[override]
        return self.one.size

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
        made = [self._box()]
        if not isinstance(self.one.guarantee, PureDP):
            made.append(self._gaussian())
        return min(made, key=self._noisiness)

    def _noisiness(self, rows: Rows) -> float:
        norm = "box" if isinstance(rows.law, BoxNoise) else "l2"
        widths = np.array(self.widths(rows.cells), dtype=np.float64)
        power = float(np.mean(rows.law.variances() / widths**2)) / len(rows.cells)
        ratio = rows.factorisation.score(norm) / rows.factorisation.moved(norm)
        return power * ratio**2

    def _box(self) -> Rows:
        """Box noise: then each month has noise of its own, whose loss a unit has once a month."""
        made = best_power(self.steps, self.most, "box")
        pure = without_delta(self.one.guarantee)
        # Between one month and all of them.
        strength = self._strength() / made.moved("box") * made.column[0] * self.steps**0.5
        cells = equal_cells(self._points, max(number_of_cells(self._points, strength), self._fewest))
        return Rows(made, cells, body_noise("box", self.moved(made, cells, "box"), pure))  # type: ignore[arg-type]

    def _gaussian(self) -> Rows:
        """Normal noise on all grid points, in proportion to the distances between the bounds."""
        made = best_power(self.steps, self.most, "l2")
        count = self._points if self._points <= LARGEST_GRID else MOST_CELLS
        cells = equal_cells(self._points, count)
        moved = self.moved(made, cells, "l2")
        shape = np.array(moved, dtype=np.float64)
        return Rows(made, cells, gaussian_on_body(shape, "box", moved, self.one.guarantee))

    def moved(self, made: Factorisation, cells: tuple[int, ...], norm: str) -> tuple[int, ...]:
        """Sizes of the box that stands for how far a unit moves all rows together."""
        return tuple(made.moved(norm) * width for width in self.widths(cells))

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

    @property
    def _fewest(self) -> int:
        """Cells that a stated detail needs."""
        curves = self.one.curves
        return 0 if curves is None or curves.cells is None else len(curves.cells)

    def _strength(self) -> float:
        """The number n epsilon of one month with the whole budget, as for replace-one neighbours."""
        pure = float(pure_budget(without_delta(self.one.guarantee)))
        return 2 * (self.one.n or 2) * pure / self.neighbours.differences(1)

    # What is charged.

    def achieved(self) -> Guarantee:
        """What the integer scales in force give for all months together, rounded outward.

        Raises DpfdaError if it is more than the guarantee.
        """
        rows = self.chosen
        norm = "box" if isinstance(rows.law, BoxNoise) else "l2"
        sizes = self.moved(rows.factorisation, rows.cells, norm)
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
        curves, cells = self.one.curves, self.chosen.cells
        assert isinstance(curves, CurvePrior)  # noqa: S101 - of bounds on values alone
        made = Cells(len(cells)).design(self._problem(units))
        return replace(made, noise=noise, hierarchy=replace(curves, cells=cells))

    # What to expect.

    @cached_property
    def deviations(self) -> tuple[Floats, Floats]:
        """Deviations of the noise of each month's own mean (T,), and of the mean up to it (T,).

        Of an average over one cell, in the units of the data; for months with as many units as are
        planned. The noise alone: the line between bounds is nearer to the mean.
        """
        rows, placed = self.chosen, self.one.on_grid
        assert placed is not None and placed.cube is not None  # noqa: S101, PT018
        cells = np.array(rows.cells, dtype=np.float64)
        size = np.sqrt(np.mean(rows.law.variances() / cells**2)) / (self.one.n or 1)
        norm = "box" if isinstance(rows.law, BoxNoise) else "l2"
        unit = math.ldexp(float(size), -placed.cube.exponent) / rows.factorisation.moved(norm)
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

    def outlook(self, quick: bool = False) -> Outlook | None:
        return self.alike(self.steps).outlook(quick)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        return self.alike(self.steps).outlook_width(level, quick)

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
        kept = (
            "each month by itself" if self.chosen.factorisation.own else "sums of months, by a power of"
        )
        end = "" if self.chosen.factorisation.own else " the matrix of running sums"
        return f"{self.chosen.law.describe()}, on {kept}{end}"
