"""Regression and class probability in one or two inputs as one table: its plan and its sum.

**Guarantee.** Inputs, clipped to their public bounds, lie in one of C public cells. A unit with k
records gives each of them the share 1/k, in whole numbers of 2^-20. A target y, scaled from its bounds
to v in [0, 1], divides its share among three corners of its cell by (1 - v)^2, 2 v (1 - v), v^2; a class
puts all of it into its own. So a unit is a point of the simplex: its numbers are not negative, and their
sum is at most w = 2^20, whatever its records are. The table of all units moves by at most 2 w in l1,
2^(1/2) w in l2, when one unit takes the place of another, and by w when one comes or goes:
`dpfda.noise.shares`, as for means of curves that were observed here and there
(`dpfda.spine.pooled_curves`). All the rest follows from the noisy table (`dpfda.estimates.pooled`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpfda.bases.cells import CellGrid
from dpfda.estimates.pooled import CORNERS, EVEN, PooledMean, ordinary_tables, table_cells
from dpfda.machines.table_release import BOUND, MOST_INPUTS, TablePredictor
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import planner, stamp
from dpfda.publication.planners import ORDINARY
from dpfda.publication.tables import LAWS, CornersPlan, ShareTable
from dpfda.records.features import InputBox
from dpfda.records.observations import Observations
from dpfda.releases.shares import NoisyShares
from dpfda.spine.settings import Settings, read_labels

NAME = "table"
# The middle half of an input fills no smaller part of its bounds, as a plan is told.
LEAST_FILLED = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class PredictorPlan(CornersPlan[TablePredictor]):
    """Plan of a regression or of probabilities of classes, from one table.

    Parameters
    ----------
    cells : CellGrid
        Of the inputs.
    labels : int
        Number of classes; 0 of a regression.
    classes : tuple
        The public classes; empty where there are none, or they are not stated yet.
    alone : bool
        Whether every unit has one record.
    filled, span : float, optional
        What is known of data to come: which part of its bounds the middle half of an input fills, and
        how far apart the smallest and the largest value of the function are, in targets' bounds.
    """

    cells: CellGrid
    labels: int = 0
    classes: tuple[object, ...] = field(default=())
    alone: bool = True
    filled: float | None = None
    span: float | None = None
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
    def entries(self) -> int:
        """Number of released sums."""
        return self.cells.size * (self.labels or CORNERS.size)

    @property
    def _empty(self) -> PooledMean:
        return self._of_shape(self.cells.shape, self.labels, self.alone)

    def _ordinary(self) -> Iterator[tuple[PooledMean, Floats, Floats]]:
        return ordinary_tables(self._empty, LAWS, self.filled or EVEN, self.span)

    def _counted(self, made: PooledMean) -> Floats:
        return made.seen_at

    def total(
        self, values: Cells, targets: Floats, usable: Flags, codes: Integers, units: int
    ) -> IntegerSum:
        """The private sum of all units' shares; targets as in `Labelled`."""
        bounds = None if self.labels else (-1.0, 1.0)
        if self.labels:
            targets = targets.argmax(axis=1) if targets.ndim > 1 else (targets > 0).astype(np.int64)
        found = Observations(codes, values, targets, usable, units)
        shares = found.shares(self.cells, bounds, UNIT, self.labels or CORNERS.size)
        return IntegerSum(self.entries).add_totals(shares, units)

    def assemble(self, noisy: NoisyShares, certificate: Certificate) -> TablePredictor:
        about = {**self.about, **stamp()}
        made = self.cells, self.bounds, self.classes, self.alone
        return TablePredictor(noisy, *made, certificate, about)


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
    words = {"summary": f"{task} function", "bound": BOUND.format(unit=unit), "basis": cells.describe()}
    tuning = {"name": NAME, "cells": list(cells.shape)}
    table = ShareTable(
        cells.size * (labels or CORNERS.size), guarantee, relation, unit, size, "auto", words, tuning
    )
    center, half = target or (0.5, 0.5)
    about: Mapping[str, object] = read_labels(settings.domain.labels)
    bounds = (center - half, center + half)
    if filled is not None:
        part = f"be a part of the bounds between {LEAST_FILLED} and {EVEN}"
        filled = real(filled, "filled", LEAST_FILLED, EVEN, part)
    if span is not None:
        most = "be positive, and at most the distance between the bounds"
        span = real(span, "span", math.nextafter(0, 1), 2 * half, most) / (2 * half)
    known = not grouped, filled, span
    return PredictorPlan(table, bounds, about, units, cells, labels, classes, *known)
