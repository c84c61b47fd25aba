"""Tables of noisy shares as one exact sum, wherever the units are: sparse means, survival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from dpfda.noise.shares import UNIT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import DpfdaError
from dpfda.publication import read_ledger
from dpfda.publication.shares import SharedLaw, Sharing
from dpfda.publication.tables import ShareTable, TablePlan
from dpfda.releases.base import Release
from dpfda.releases.shares import NoisyShares
from dpfda.spine.arguments import Labels, Records
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Settings

Made = TypeVar("Made", bound=Release)


@dataclass(frozen=True, eq=False)
class PooledTable(PooledSum, Generic[Made]):
    """A table of shares as a sum.

    Parameters
    ----------
    settings : Settings
    plan : TablePlan
        Of a `ShareTable`; its cells are the same for all holders.
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
    def table(self) -> ShareTable:
        """Public side of the noise."""
        table = self.plan.table
        assert isinstance(table, ShareTable)  # noqa: S101
        return table

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.table.cells

    def read(self, X: Records, y: Labels = None) -> Rows:
        raise DpfdaError("Shares are counted from records and labels together: see total.")

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        raise DpfdaError("Shares are counted from records and labels together: see total.")

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

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: int | None, ledger: object
    ) -> Made:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        return self.plan.assemble(NoisyShares(noisy, law, size), certificate)
