"""A mean as one exact sum, wherever its units are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bases.protocol import Functions
from dpfda.mean.streams import finished
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import MeanPlan, publish
from dpfda.publication.means import ReleasedMean
from dpfda.publication.shares import SharedLaw, Sharing, publish_shared
from dpfda.records import Curves, units
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.curves import read_curves, readable, unit_curves
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Summation

# A public integer matrix that the total of a mean goes through has entries of 64 bits.
MATRIX_SIZE = 2**63


@dataclass(frozen=True, eq=False)
class PooledMean(PooledSum):
    """A mean as a sum.

    Parameters
    ----------
    settings : Settings
    summation : Summation
        From records on the columns of all holders to integers.
    """

    settings: Settings
    summation: Summation

    @property
    def plan(self) -> MeanPlan:  # type: ignore[override]
        """The plan on the columns of all holders."""
        return self.summation.plan

    @property
    def stated_basis(self) -> Functions | None:
        return (self.plan.stated or (self.plan.basis,))[0]

    @property
    def thresholds(self) -> bool:
        return bool((self.plan.public_design or self.plan.trial).thresholds)

    @property
    def numbers(self) -> int:  # type: ignore[override]
        placed = self.plan.on_grid
        return self.summation.components if placed is None else int(placed.rule.center.size)

    @property
    def largest(self) -> int:  # type: ignore[override]
        placed = self.plan.on_grid
        # A row in a ball or a body has entries below 2^31; in an l1 ball they are finer.
        if placed is None:
            return max(2**31, int(self.plan.ball.radius))
        return int(placed.rule.half_widths.max()) * self.numbers * MATRIX_SIZE

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        placed = self.plan.on_grid
        if placed is None:
            plan = self.plan
            stated = [self.numbers, repr(plan.ball), plan.bound.to_json(), plan.basis.to_json()]
            return {"reading": self.settings.reading.rules, "integers": stated}
        rule = placed.rule
        arrays = rule.center, rule.half_widths, rule.weights
        numbers = (np.asarray(array, dtype="<f8").tobytes().hex() for array in arrays)
        terms = [rule.exponent, float(rule.limit).hex(), *numbers]
        return {"reading": self.settings.reading.rules, "integers": terms}

    def read(self, X: Records, y: Beside = None) -> Rows:
        curves, _ = unit_curves(self.settings, self.plan.basis, self._handed(X), None)
        return curves.values, curves.usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        total = self.summation.empty()
        self.summation.add_curves(total, units(Curves(*rows), codes))
        return total

    def total(self, X: Records, groups: Labels = None, y: Beside = None) -> IntegerSum:
        with np.errstate(all="ignore"):
            records = readable(self.settings, self.plan.basis, self._handed(X), groups)[0]
            return self.summation.of_records(records.matrix, records.codes)

    def _handed(self, X: object) -> object:
        return read_curves(self.settings, self.plan.basis, X, boxes=True)[0]

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedMean:
        if self.plan.neighbours is Neighbours.ADD_REMOVE:
            # Whether there are two units is not looked at: only the released number tells.
            prepared = self.summation.prepared(total)
        else:
            prepared = finished(self.summation, total)
        return publish(prepared.total, prepared.plan, read_ledger(ledger))

    @property
    def sharing(self) -> Sharing:
        # Noise in shares is drawn before anyone has the line.
        return Sharing.of_mean(self.plan.line_alone)

    def measured(self, total: IntegerSum) -> IntegerSum:
        return self.summation.prepared(total, self.plan.line_alone).total

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: int | Fraction | None, ledger: object
    ) -> ReleasedMean:
        return publish_shared(total, self.plan.line_alone, law, read_ledger(ledger), size)
