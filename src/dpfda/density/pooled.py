"""A histogram as one exact sum, wherever its units are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpfda.density.plan import DensityPlan, publish_density
from dpfda.density.release import ReleasedDensity
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import Prepared, said_by
from dpfda.publication.shares import SharedLaw, Sharing, counted
from dpfda.records.frames import Container
from dpfda.records.points import cell_weights, points_from_array
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.choices import check_count
from dpfda.spine.pooled import PooledSum, Rows
from dpfda.spine.settings import Settings


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

    # Public, in the units of the data.
    cells = said_by("plan.placed")
    numbers = said_by("cells.places")

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {"reading": self.invalid, "integers": self.cells.to_json()}

    def read(self, X: Records, y: Beside = None) -> Rows:
        rows, usable = points_from_array(Container.of(X).cells()[0], self.cells.dimensions, self.invalid)
        return self.cells.index(rows), usable

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        index, usable = rows
        count = len(index) if codes is None else int(codes.max(initial=-1)) + 1
        weights = cell_weights(index, usable, codes, self.cells.places, EXPONENT)
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
        return publish_density(self.prepared(total), read_ledger(ledger))

    @property
    def sharing(self) -> Sharing:
        return Sharing(self.plan, self.plan.noise, self.plan.norm, self.plan.width, self.plan.counted)

    def publish_shared(
        self, total: IntegerSum, law: SharedLaw, size: int | Fraction | None, ledger: object
    ) -> ReleasedDensity:
        noisy, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        plan = replace(self.plan, noise=law, about=counted(self.plan.about, size))
        return (plan if size is None else replace(plan, size=round(size))).assemble(noisy, certificate)
