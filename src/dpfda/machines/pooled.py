"""A machine as one exact sum, wherever its units are: a table, sums of products, or means of classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpfda.machines.plan import MachinePlan
from dpfda.machines.release import ReleasedPredictor
from dpfda.machines.solvers.solver import SummingSolver
from dpfda.machines.table import PredictorPlan
from dpfda.machines.table_release import TablePredictor
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.estimator import read_ledger
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Settings


@dataclass(frozen=True, eq=False)
class PooledMachine(PooledSum):
    """A machine as a sum, with targets as y.

    Parameters
    ----------
    settings : Settings
    plan : MachinePlan or PredictorPlan
        For a number of units that is known.
    reading : callable
        Reads records and targets: inputs, targets, which are usable, and the classes.
    """

    settings: Settings
    plan: MachinePlan | PredictorPlan
    reading: Callable[[Records, Beside], tuple[Cells, Floats, Flags, object]]

    def __post_init__(self) -> None:
        plan = self.plan
        if isinstance(plan, PredictorPlan):
            return
        near = "bring records into memory, as in fit(X.compute(), y.compute())."
        if plan.choice is not None:
            raise ParameterError(
                "power",
                "be a public number where the records lie in several places",
                repr("search"),
                f"State it; or {near}",
            )
        if not isinstance(plan.solver, SummingSolver):
            raise ParameterError(
                "solver",
                "make one sum where the records lie in several places",
                repr(plan.solver.name),
                "Use solver='sums' (with loss='squared'), solver='means' for classes, or one or two "
                f"inputs; or {near}",
            )

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.plan.entries

    def read(self, X: Records, y: Beside = None) -> Rows:
        return self.reading(X, y)[:3]

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        values, targets, usable = rows
        codes = np.arange(len(usable)) if codes is None else codes
        return self.plan.total(values, targets, usable, codes, int(codes.max(initial=-1)) + 1)

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedPredictor | TablePredictor:
        return self.plan.publish(total, read_ledger(ledger))
