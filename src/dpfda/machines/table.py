"""Regression and class probability in one or two inputs as one table: its plan and its sum.

**Guarantee.** Inputs, clipped to their public bounds, lie in one of C public cells. A unit with k
records gives each of them the share 1/k, in whole numbers of 2^-20. A target y, scaled from its bounds
to v in [0, 1], divides its share among three corners of its cell by (1 - v)^2, 2 v (1 - v), v^2; a class
puts all of it into its own. So a unit is a point of the simplex: its numbers are not negative, and their
sum is at most w = 2^20, whatever its records are. The table of all units moves by at most 2 w in l1,
2^(1/2) w in l2, when one unit takes the place of another, and by w when one comes or goes:
`dpfda.noise.shares`, as for means of curves that were observed here and there
(`dpfda.spine.pooled_curves`). All the rest follows from the noisy table (`dpfda.estimates.pooled`).

**Two turns**, where units are many. A unit of k records gives 1 / (h k) of each to a first look, for
each of d inputs a histogram of 128 equal cells; its other 1 - d / h go, as above, to corners of very
many fine cells; h is 8, 16 or 32, the more the more units there are for the deviation of the noise.
The look is told first, with noise. By the law that it says cells of the table are made
of fine cells, and told with noise of the same scale. A unit's numbers of both turns are not negative,
and whichever cells the look leads to their sum is at most w: so both together cost what one table does
(`dpfda.publication.tables.ShareTable.publish_in_turn`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.estimates.histospline import adaptive_smoother, nearest_probabilities
from dpfda.estimates.pooled import CORNERS, EVEN, PooledMean, ordinary_tables, table_cells
from dpfda.machines.table_release import BOUND, LOOKED, MOST_INPUTS, TablePredictor
from dpfda.noise.shares import EXPONENT, UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers, doubles
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import planner, stamp
from dpfda.publication.planners import ORDINARY
from dpfda.publication.tables import LAWS, CornersPlan, ShareTable, Turn
from dpfda.records.features import InputBox
from dpfda.records.observations import Observations
from dpfda.releases.shares import NoisyShares
from dpfda.spine.settings import Settings, read_labels

NAME = "table"
# The middle half of an input fills no smaller part of its bounds, as a plan is told.
LEAST_FILLED = 0.005
# So many looks a plan tries.
TRIED = 9
# Of so many parts of a unit one counts in the look at each input where units are at least so many
# deviations of the noise on their number in a cell; below there is none.
PARTS = {8: 200, 16: 640, 32: 1280}
# Places along one input, or along each of two, where edges of cells may be, at least.
PLACES = (8192, 128)
# Cells are equally likely by a mixture of the law that the look says and an even one. This has the part
# (f / .45)^4, of two inputs (f / .7)^2, f being the part of its bounds that an input fills, but at least
# a tenth.
EVEN_FROM, LEAST_EVEN = ((0.45, 4), (0.7, 2)), 0.1


def places_for(
    look: Floats, variance: float, size: float, even_from: tuple[float, int], cells: int, places: int
) -> Integers:
    """Which of public places 0, 1, .. are edges of cells, at most so many: by a look.

    look: array (128,). Noisy shares of units in equal cells.
    variance: Of its noise.
    size: Number of units.
    even_from: The part of the bounds that inputs fill from which cells are equal, and the power by which
        the even law loses its share below it.
    """
    grid = CellGrid.regular(look.size, (0.0, 1.0))
    smoother = adaptive_smoother(grid, look, variance, size)
    law = nearest_probabilities(smoother.cell_shares(smoother.coefficients(look)))
    filled = 1 / (look.size * float(np.sum(law**2)))
    part, power = even_from
    even = min(max((filled / part) ** power, LEAST_EVEN), 1.0)
    below = np.cumsum(np.append(0.0, (1 - even) * law + even / look.size))
    ends = np.interp(np.linspace(0.0, 1.0, cells + 1), below / below[-1], grid.edges[0])
    return np.unique(np.rint(places * ends).astype(np.int64))


def looked_parts(units: int, deviation: float) -> int | None:
    """Of how many parts of a unit one counts in a first look, by public numbers; None without one."""
    return max((parts for parts, least in PARTS.items() if units >= least * deviation), default=None)


def in_units(inputs: InputBox, places: Sequence[Integers], fine: CellGrid) -> tuple[Floats, ...]:
    """Edges along each input, in its units, from numbers of fine cells below them."""
    edges = []
    for low, high, below, count in zip(inputs.lower, inputs.upper, places, fine.shape, strict=True):
        edges.append(low + (high - low) * (below / count))
        edges[-1][[0, -1]] = low, high
    return tuple(edges)


@dataclass(frozen=True, eq=False, repr=False)
class PredictorPlan(CornersPlan[TablePredictor]):
    """Plan of a regression or of probabilities of classes, from one table.

    Parameters
    ----------
    cells : CellGrid
        Of the inputs, where these are even over their bounds.
    fine : CellGrid
        Those that cells are made of, of inputs scaled to [0, 1].
    inputs : InputBox
    labels : int
        Number of classes; 0 of a regression.
    classes : tuple
        The public classes; empty where there are none, or they are not stated yet.
    alone : bool
        Whether every unit has one record.
    filled, span : float, optional
        What is known of data to come: which part of its bounds the middle half of an input fills, and
        how far apart the smallest and the largest value of the function are, in targets' bounds.
    look : int, optional
        Of how many parts of a unit one counts in a first look at each input; None without one.
    """

    cells: CellGrid
    fine: CellGrid
    inputs: InputBox
    labels: int = 0
    classes: tuple[object, ...] = field(default=())
    alone: bool = True
    filled: float | None = None
    span: float | None = None
    look: int | None = None
    # How large and rough functions are no plan knows: on half of the sets nine in ten keep to this.
    apart = 0.65

    @property
    def error_words(self) -> str:  # type: ignore[override]
        functions, inputs = "functions", "spread evenly over their bounds"
        untold = [repr(name) for name in ("filled", "span") if getattr(self, name) is None]
        if self.span is not None:
            functions += f" that span {self.span * (self.bounds[1] - self.bounds[0]):.4g}"
        if self.filled is not None:
            inputs = f"the middle half in {self.filled:.3g} of their bounds"
        hint = f" ({' and '.join(untold)} tell{'s' * (len(untold) == 1)} the plan)" if untold else ""
        return (
            "root mean square at the inputs of records, from the function of the population, sampling "
            f"included, {ORDINARY} {functions}, inputs {inputs}{hint}"
        )

    @property
    def summary(self) -> str:
        return self.table.words["summary"]

    @property
    def _corners(self) -> int:
        return self.labels or CORNERS.size

    @property
    def _looked(self) -> int:
        """How many numbers are of the look."""
        return LOOKED * self.cells.dimensions if self.look else 0

    @property
    def entries(self) -> int:
        """Number of sums of which the released ones are made."""
        return self._looked + self.fine.size * self._corners

    @property
    def noise_words(self) -> str:
        said = self.table.described
        return said.replace("on", "on at most", 1) if self.look else said

    @property
    def _empty(self) -> PooledMean:
        empty = self._of_shape(self.cells.shape, self.labels, self.alone)
        law = replace(self.table, cells=self.cells.size * self._corners).law
        rest = 1 - self.cells.dimensions / self.look if self.look else 1.0
        return replace(empty, noise=law, unit=empty.unit / rest)

    def _ordinary(self) -> Iterator[tuple[PooledMean, Floats, Floats]]:
        return ordinary_tables(self._empty, LAWS, self._filled, self.span)

    @property
    def _filled(self) -> float:
        """The part of equal cells that the middle half of an input fills, by what a look would say."""
        if self.filled is None or self.look is None:
            return self.filled or EVEN
        ends = 0.5 - self.filled, 0.5 + self.filled
        look = np.diff(np.clip(np.linspace(0, 1, LOOKED + 1), *ends)) / (2 * self.filled)
        noise = np.random.Generator(np.random.Philox(key=40)).standard_normal((TRIED, LOOKED))
        placed = []
        for each in look + self.look * self.table.deviation / self.designed * noise:
            (places,) = self._between([each])
            at = np.interp(ends, places / places[-1], np.linspace(0.0, 1.0, places.size))
            placed.append(at[1] - at[0])
        return min(EVEN, float(np.median(placed)) / 2)

    def _counted(self, made: PooledMean) -> Floats:
        return made.seen_at

    def _between(self, looks: Iterable[Floats]) -> list[Integers]:
        """Places of edges along each input, by noisy shares of units."""
        size, even_from = float(self.designed), EVEN_FROM[self.cells.dimensions - 1]
        known = ((self.look or 1) * self.table.deviation / size) ** 2, size, even_from
        return [
            places_for(look, *known, *counts)
            for look, *counts in zip(looks, self.cells.shape, self.fine.shape, strict=False)
        ]

    def _edges(self, told: Sequence[int]) -> list[Integers]:
        """The same, by the numbers of the first turn, if there is one."""
        if self.look is None:
            both = zip(self.cells.shape, self.fine.shape, strict=True)
            return [np.arange(0, places + 1, places // cells) for cells, places in both]
        counts = np.array([math.ldexp(float(value), -EXPONENT) for value in told[: self._looked]])
        return self._between(self.look / self.designed * counts.reshape(-1, LOOKED))

    @property
    def turns(self) -> list[Turn]:
        """The look, if there is one, and the table in cells that follow from it."""
        times = np.arange(self.entries) < self._looked

        def cells(told: tuple[int, ...]) -> Integers:
            place = np.indices(self.fine.shape).reshape(self.fine.dimensions, -1)
            number = np.zeros(self.fine.size, dtype=np.int64)
            for edges, along in zip(self._edges(told), place, strict=True):
                number = number * (edges.size - 1) + np.searchsorted(edges[1:-1], along, "right")
            corners = np.add.outer(number * self._corners, np.arange(self._corners)).ravel()
            return np.append(np.zeros(self._looked, dtype=np.int64), corners)

        look = Turn(times.astype(np.int64), lambda told: np.arange(self.entries))
        table = Turn((~times).astype(np.int64), cells)
        return [look, table] if self.look else [table]

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> TablePredictor:
        """Charge, draw, add: the look, and the table."""
        return self.assemble(*self.table.publish_in_turn(total, self.turns, paying=paying))

    def total(
        self, values: Cells, targets: Floats, usable: Flags, codes: Integers, units: int
    ) -> IntegerSum:
        """The private sum of all units' shares, those of the look first; targets as in `Labelled`."""
        bounds = None if self.labels else (-1.0, 1.0)
        if self.labels:
            targets = targets.argmax(axis=1) if targets.ndim > 1 else (targets > 0).astype(np.int64)
        found = Observations(codes, self.inputs.scaled(doubles(values)), targets, usable, units)
        shares, part = [], UNIT // self.look if self.look else 0
        for column in found.times.T if part else ():
            alone = replace(found, times=column, values=np.zeros(column.size))
            shares += alone.shares(CellGrid.regular(LOOKED, (0.0, 1.0)), None, part, 1)
        rest = UNIT - part * self.cells.dimensions
        shares += found.shares(self.fine, bounds, rest, self._corners)
        return IntegerSum(self.entries).add_totals(shares, units)

    def assemble(self, noisy: NoisyShares, certificate: Certificate) -> TablePredictor:
        about = {**self.about, **stamp()}
        edges = in_units(self.inputs, self._edges(noisy.noisy), self.fine)
        made = CellGrid.from_edges(edges), self.bounds, self.classes, self.alone
        return TablePredictor(noisy, *made, certificate, about, self.look)


@planner
def predictor_plan(
    guarantee: Guarantee,
    units: int,
    *,
    settings: Settings,
    inputs: InputBox,
    grouped: bool,
    classes: tuple[object, ...],
    functions: int | None,
    target: tuple[float, float] | None = None,
    filled: float | None = None,
    span: float | None = None,
) -> PredictorPlan:
    """The plan of a table; parameters as of `dpfda.machines.plan.machine_plan` and of `PredictorPlan`.

    Raises
    ------
    ParameterError
        If there are more than two inputs.
    """
    count = inputs.lower.size
    if count > MOST_INPUTS:
        remedy = "Cells of many inputs hold too few: leave out the solver."
        raise ParameterError("solver", "not be 'table' for more than two inputs", f"{count}", remedy)
    labels = 0 if functions is None else max(functions, 2)
    unit, relation = settings.unit.called(grouped or None), settings.unit.relation
    size = None if settings.unit.private else units
    deviation = ShareTable(1, guarantee, relation, unit, size).deviation
    ends = zip(inputs.lower.tolist(), inputs.upper.tolist(), strict=True)
    cells = CellGrid.regular(table_cells(float(units), deviation, count), list(ends))
    task = "regression" if functions is None else "classification"
    look, basis = looked_parts(units, deviation), cells.describe()
    if look:
        basis = f"{basis.replace('equal ', '')}, whose edges follow from a first look"
    words = {"summary": f"{task} function", "bound": BOUND.format(unit=unit), "basis": basis}
    tuning = {"name": NAME, "cells": list(cells.shape)}
    numbers = cells.size * (labels or CORNERS.size) + (count * LOOKED if look else 0)
    table = ShareTable(numbers, guarantee, relation, unit, size, "auto", words, tuning)
    # Equal cells are made of them too.
    sides = [side * -(-PLACES[count - 1] // side) for side in cells.shape]
    fine = CellGrid.regular(sides, [(0.0, 1.0)] * count)
    for edges in in_units(inputs, [np.arange(side + 1) for side in sides], fine):
        if np.any(np.diff(edges) <= 0):
            apart = f"be so far apart that floats tell {edges.size - 1} cells between them apart"
            raise ParameterError("bounds", apart, "others", "Subtract a public number from the input.")
    center, half = target or (0.5, 0.5)
    about: Mapping[str, object] = read_labels(settings.domain.labels)
    bounds = (center - half, center + half)
    if filled is not None:
        part = f"be a part of the bounds between {LEAST_FILLED} and {EVEN}"
        filled = real(filled, "filled", LEAST_FILLED, EVEN, part)
    if span is not None:
        most = "be positive, and at most the distance between the bounds"
        span = real(span, "span", math.nextafter(0, 1), 2 * half, most) / (2 * half)
    known = not grouped, filled, span, look
    return PredictorPlan(table, bounds, about, units, cells, fine, inputs, labels, classes, *known)
