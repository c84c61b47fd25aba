"""Tables of shares or corners as one exact sum, wherever the units are: visits, survival, effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

from dpfda.noise import GaussianNoise
from dpfda.noise.knorm_shares import in_blocks
from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import read_ledger
from dpfda.publication.shares import SharedLaw, Sharing, counted
from dpfda.publication.tables import CORNER_EXPONENT, TablePlan
from dpfda.releases.base import Release
from dpfda.releases.shares import NoisyShares
from dpfda.spine.arguments import Labels, Records
from dpfda.spine.pooled import PooledSum
from dpfda.spine.settings import Settings

Made = TypeVar("Made", bound=Release)
Size = int | Fraction | None


@dataclass(frozen=True, eq=False)
class PooledTable(PooledSum, Generic[Made]):
    """A table of shares as a sum.

    Parameters
    ----------
    settings : Settings
    plan : TablePlan
        Its cells are the same for all holders.
    rule : dict
    counted : callable
        From records, labels of their units and what else is said of each to the sums of shares, as
        integers, and the number of units.
    """

    settings: Settings
    plan: TablePlan[Made]
    rule: dict[str, object]
    counted: Callable[[Records, Labels, Labels], tuple[list[int], int]]
    largest = UNIT

    @property
    def table(self) -> Any:
        """Public side of the noise."""
        return self.plan.table

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return int(self.table.cells)

    def total(self, X: Records, groups: Labels = None, y: Labels = None) -> IntegerSum:
        sums, units = self.counted(X, groups, y)
        return IntegerSum(self.numbers).add_totals(sums, units)

    def publish(self, total: IntegerSum, ledger: object = None) -> Made:
        noisy, certificate = self.table.publish(total, read_ledger(ledger))
        if noisy.public_size is not None:
            # Of those who are in it: others may have vanished since it was planned.
            noisy = replace(noisy, public_size=total.count_with_noise(0, 1))
        return self.plan.assemble(noisy, certificate)

    @property
    def sharing(self) -> Sharing:
        law, charged, norm, width = self.table.calibrated
        return Sharing(self.plan, law, norm, width, charged)

    def publish_shared(self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object) -> Made:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        return self._assembled(noisy, law, size, certificate)

    def _assembled(
        self, noisy: tuple[int, ...], law: SharedLaw, size: Size, certificate: Certificate
    ) -> Made:
        shares = NoisyShares(noisy, law, None if size is None else round(size))
        made: Made = self._counted(size).assemble(shares, certificate)
        return made

    def _counted(self, units: object, **changes: object) -> Any:
        """The plan that says how units are counted."""
        plan: Any = self.plan
        return replace(plan, about=counted(plan.about, units), **changes)


@dataclass(frozen=True, eq=False)
class PooledCorners(PooledTable[Made]):
    """A table of corners as a sum: with noise that may be in shares, all of it at once.

    One unit moves all rows together by at most the length by which it could move one alone, in Gaussian
    noise's square and in the sum of the lengths of blocks (`dpfda.publication.tables`), so that the law
    of a row, drawn for each, is one law on that length.
    """

    largest = 1 << CORNER_EXPONENT

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return int(self.table.rows * self.table.columns)

    def publish(self, total: IntegerSum, ledger: object = None) -> Made:
        # A private number of units is not looked at.
        public = self.plan.neighbours is Neighbours.REPLACE_ONE
        plan = self._of(total.count_with_noise(0, 1) if public else None)
        made: Made = plan.publish(total, read_ledger(ledger))
        return made

    def _assembled(
        self, noisy: tuple[int, ...], law: SharedLaw, size: Size, certificate: Certificate
    ) -> Made:
        row = law.part(slice(0, self.table.columns))
        made: Made = self._of(size).assemble(noisy, certificate, row)
        return made

    def _of(self, units: Size) -> Any:
        """The plan for who is in the sum, where their number is public."""
        size = {} if self.plan.size is None else {"size": units and round(units)}
        return self._counted(units, **size)

    @property
    def stated_grid(self) -> tuple[Floats, tuple[float, float]]:
        plan: Any = self.plan
        return plan.grid, plan.domain_range

    @property
    def sharing(self) -> Sharing:
        (law, charged, norm, width), rows = self.table.calibrated, self.table.rows
        if isinstance(law, GaussianNoise):
            return Sharing(self.plan, GaussianNoise(law.scales * rows), norm, width, charged)
        one, norm, width = in_blocks([(self.table.columns, norm, width)], charged)
        # As if one row alone moved, and as far as it can.
        still = (0,) * (self.table.columns * (rows - 1))
        return Sharing(self.plan, one.times(rows), norm, (*width, *still), charged, along=True)
