"""Summaries that are one exact sum: what a holder of whole units adds up, and what becomes of the total.

A holder is a custodian, a partition, a worker. What it computes depends on its own units and on public
numbers alone, so totals of holders add up to the integers of one holder of all records, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpfda.bases.protocol import Functions
from dpfda.mean.streams import finished
from dpfda.mechanisms.design.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import MeanPlan, Plan, Prepared, charge, publish
from dpfda.publication.means import ReleasedMean
from dpfda.records import Curves, LongCurves, units
from dpfda.records.frames import cells_handed
from dpfda.records.labels import units_of
from dpfda.records.points import cell_weights, points_from_array
from dpfda.spine.arguments import Columns, Labels, Records
from dpfda.spine.choices import check_count
from dpfda.spine.curves import read_curves, unit_curves
from dpfda.spine.estimator import read_ledger
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Summation

# Of use to covariances and densities alone: a mean does not wait for them.
if TYPE_CHECKING:
    from dpfda.bases.cells import CellGrid
    from dpfda.covariance.plan import CovariancePlan
    from dpfda.covariance.publish import Stage
    from dpfda.covariance.release import ReleasedCovariance
    from dpfda.density.plan import DensityPlan
    from dpfda.density.release import ReleasedDensity
    from dpfda.releases.base import Release
    from dpfda.releases.counts import NoisyCount

Rows = tuple[Cells, ...]

# A public integer matrix that the total of a mean goes through has entries of 64 bits.
MATRIX_SIZE = 2**63


class PooledSum(ABC):
    """How one summary is added up where the records are, and published where the total is. Public.

    Attributes
    ----------
    numbers : int
        Length of the total.
    largest : int
        No number that is made of one unit's integers is larger.
    rule : dict
        What makes integers of records, as JSON types: holders whose rules differ do not add up.
    settings : Settings
        How records are read.
    plan : Plan
        On the columns of all holders.
    """

    numbers: int
    largest: int
    rule: dict[str, object]
    settings: Settings
    plan: Plan

    @abstractmethod
    def read(self, X: Records, y: Labels = None) -> Rows:
        """What is needed of each record, in arrays with a row a record; X and labels y are private.

        Raises
        ------
        DataError
            With the row of a record that cannot be used, unless repairing.
        """

    @abstractmethod
    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        """The exact sum over whole units, and how many they are.

        Parameters
        ----------
        rows : tuple of array
            As `read` returned them, or those of some records.
        codes : array (n,) of int, or None
            Numbers of the records' units; None where each is one.
        """

    def total(self, X: Records, groups: Labels = None, y: Labels = None) -> IntegerSum:
        """The same from records, the labels of their units, and what else is said of each."""
        with np.errstate(all="ignore"):
            rows = self.read(X, y)
            return self.add_up(rows, units_of(groups, len(rows[0]), self.invalid)[0])

    @abstractmethod
    def publish(self, total: IntegerSum, ledger: object = None) -> Release:
        """Charge, draw and release the total of all holders; the ledger as an estimator takes it."""

    def describe(self) -> str:
        """The bound on one unit, and where it lies, in words."""
        return f"{self.plan.bounded['description']}; {self.plan.functions}"

    @property
    def invalid(self) -> str:
        """What becomes of records that cannot be used."""
        return self.settings.reading.invalid

    @property
    def curves_read(self) -> list[object]:
        """How curves are read, as JSON types."""
        reading = self.settings.reading
        return [reading.missing, reading.invalid, bool(reading.standardize)]

    @property
    def stated_basis(self) -> Functions | None:
        """The functions that were asked for; None where there are none."""
        return None

    @property
    def thresholds(self) -> bool:
        """Whether the exact total is looked at before it gets noise."""
        return False

    @property
    def digest(self) -> str:
        """Hash of the rule."""
        text = json.dumps(self.rule, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


class OneSum(Protocol):
    """An estimator whose summary is one exact sum, wherever the units are."""

    ledger: object
    release_: object

    def pooled(self, n: int, columns: Columns = ...) -> PooledSum:
        """The sum for n units of all holders; columns as in `dpfda.PrivateMean.plan`."""

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledSum:
        """The sum on the columns of X, where the number of units is not known yet."""


def one_sum(estimator: Any) -> OneSum:
    """The estimator, if its summary is one sum.

    Raises
    ------
    ParameterError
        If it is none.
    """
    if not (hasattr(estimator, "pooled") and hasattr(estimator, "pooled_on")):
        words = "be a PrivateMean, a PrivateDensity, a PrivateCovariance or a PrivateComparison"
        raise ParameterError("estimator", words, shown(estimator))
    made: OneSum = estimator
    return made


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
            made = [self.numbers, repr(self.plan.ball), self.plan.bound.to_json()]
            return {"reading": self.curves_read, "integers": [*made, self.plan.basis.to_json()]}
        rule = placed.rule
        arrays = rule.center, rule.half_widths, rule.weights
        numbers = (np.asarray(each, dtype="<f8") for each in arrays)
        made = [rule.exponent, float(rule.limit).hex(), *(each.tobytes().hex() for each in numbers)]
        return {"reading": self.curves_read, "integers": made}

    def read(self, X: Records, y: Labels = None) -> Rows:
        curves = self._curves(self._handed(X))
        return curves.values, curves.usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        total = self.summation.empty()
        self.summation.add_curves(total, units(Curves(*rows), codes))
        return total

    def total(self, X: Records, groups: Labels = None, y: Labels = None) -> IntegerSum:
        with np.errstate(all="ignore"):
            if isinstance(X, LongCurves):
                total = self.summation.empty()
                self.summation.add_curves(total, self._curves(X, groups))
                return total
            matrix = self.summation.matrix(self._handed(X))
            codes = units_of(groups, len(matrix), self.invalid, in_order=False)[0]
            return self.summation.of_records(matrix, codes)

    def _handed(self, X: object) -> object:
        return read_curves(self.settings, self.plan.basis, X, boxes=True)[0]

    def _curves(self, values: object, groups: object = None) -> Curves:
        return unit_curves(self.settings, self.plan.basis, values, groups)[0]

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedMean:
        if self.plan.neighbours is Neighbours.ADD_REMOVE:
            # Whether there are two units is not looked at: only the released number tells.
            prepared = self.summation.prepared(total)
        else:
            prepared = finished(self.summation, total)
        return publish(prepared.total, prepared.plan, read_ledger(ledger))


@dataclass(frozen=True, eq=False)
class PooledDensity(PooledSum):
    """A histogram as a sum.

    Parameters
    ----------
    settings : Settings
    plan : DensityPlan
        Its cells are the same for all holders.
    """

    settings: Settings
    plan: DensityPlan
    largest = 1 << EXPONENT

    @property
    def cells(self) -> CellGrid:
        """Public, in the units of the data."""
        return self.plan.placed

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.cells.size

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {"reading": self.invalid, "integers": self.cells.to_json()}

    def read(self, X: Records, y: Labels = None) -> Rows:
        points, usable = points_from_array(cells_handed(X)[0], self.cells.dimensions, self.invalid)
        return self.cells.index(points), usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        index, usable = rows
        count = len(index) if codes is None else int(codes.max(initial=-1)) + 1
        weights = cell_weights(index, usable, codes, self.cells.size, EXPONENT)
        return IntegerSum(self.numbers).add_totals(weights, count)

    def prepared(self, total: IntegerSum) -> Prepared[DensityPlan, IntegerSum]:
        """The total with the plan for the units that came, before anything is charged. Private."""
        plan = self.plan
        if plan.neighbours is Neighbours.REPLACE_ONE:
            count = total.count_with_noise(0, 1)
            check_count(plan.neighbours, count)
            # The noise on a share does not depend on their number.
            plan = replace(plan, size=count, designed=count)
        return Prepared(plan, total)

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedDensity:
        from dpfda.density.plan import publish_density

        return publish_density(self.prepared(total), read_ledger(ledger))


@dataclass(frozen=True, eq=False)
class PooledCovariance(PooledSum):
    """A covariance around a public center as a sum: of the products of a unit's coefficients.

    Parameters
    ----------
    settings : Settings
    plan : CovariancePlan
        On the columns of all holders, for any number of units.
    """

    settings: Settings
    plan: CovariancePlan

    @classmethod
    def of(cls, settings: Settings, plan: CovariancePlan) -> PooledCovariance:
        """With a check that what is summed follows from public numbers.

        Raises
        ------
        ParameterError
            If the center is released first, units are paired, or the radius is chosen from counts.
        """
        words = "be public where the records lie in several places"
        if plan.center is None or plan.about["center"] == "pairs":
            remedy = "Pass center=Center(curve, radius=length), or 'bound' for the middle of the bounds."
            raise ParameterError("center", words, repr(plan.about["center"]), remedy)
        if plan.choice is not None:
            raise ParameterError(
                "radius", words, "'private'", "Pass center=Center(curve, radius=length)."
            )
        return cls(settings, plan)

    @property
    def stated_basis(self) -> Functions | None:
        return self.plan.basis

    @cached_property
    def functions(self) -> int:
        """As many functions as any law may have that is drawn from, whatever the number of units."""
        return max(law.size for law in self.plan.laws)

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.functions * (self.functions + 1) // 2

    @property
    def largest(self) -> int:  # type: ignore[override]
        return int(self.plan.ball.radius) ** 2

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        plan = self.plan
        center = np.asarray(plan.center, dtype="<f8").tobytes().hex()
        made = [self.functions, repr(plan.ball), center, plan.bounded.get("records")]
        return {"reading": self.curves_read, "integers": [*made, plan.basis.to_json()]}

    def read(self, X: Records, y: Labels = None) -> Rows:
        basis = self.plan.basis
        curves = unit_curves(self.settings, basis, read_curves(self.settings, basis, X)[0], None)[0]
        return curves.values, curves.usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        from dpfda.covariance.deviations import outer_sum

        curves = units(Curves(*rows), codes)
        return outer_sum(curves, self._stage(1.0, self.plan), self.functions).triangle()

    def publish(self, total: IntegerSum, ledger: object = None) -> ReleasedCovariance:
        from dpfda.covariance.publish import release_covariance, released_count

        plan = self.plan
        if plan.neighbours is Neighbours.REPLACE_ONE:
            plan = plan.remade(plan.guarantee, total.count_with_noise(0, 1))
        certificate = plan.certified()
        charge(read_ledger(ledger), certificate, plan.entry())
        noise = plan.count_noise
        divisor = float(plan.size or 1) if noise is None else released_count(total, noise)
        return release_covariance(total, self._stage(divisor, plan), certificate)

    def _stage(self, divisor: float | NoisyCount, plan: CovariancePlan) -> Stage:
        from dpfda.covariance.publish import Stage

        return Stage(plan, divisor, np.asarray(plan.center), None)
