"""Follow-ups as a table of shares: read, counted in cells, and one exact sum wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.bases.lifetimes import CENSORED, LifeCells
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import DataError
from dpfda.records.arrow import is_arrow_table
from dpfda.records.containers import column_of
from dpfda.records.points import cell_weights
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.memberships import OTHER, members, none_of
from dpfda.spine.pooled import Rows
from dpfda.spine.pooled_curves import PooledTable
from dpfda.survival.endings import Coding
from dpfda.survival.plan import SurvivalPlan
from dpfda.survival.release import ReleasedSurvival


def read_follow_ups(
    coding: Coding, levels: Sequence[object], invalid: str, time: object, event: Labels = None,
    start: Labels = None, by: Labels = None,
) -> Rows:  # fmt: skip
    """Times, endings, groups, which follow-ups are usable and, with `start`, where they begin. Private.

    coding, levels: Public: what codes of `event` and labels of `by` mean.
    Raises DataError with the row of a follow-up that cannot be used, unless repairing.
    """
    times = column_of(time, "time")[0]
    count = len(times)
    ends = np.zeros(count, dtype=np.int64) if event is None else coding.read(event)
    starts = None if start is None else column_of(start, "start")[0]
    member = np.zeros(count, dtype=np.int64) if by is None else members(by, levels, "by")
    for column, name in ((ends, "event"), (starts, "start"), (member, "by")):
        if column is not None and len(column) != count:
            raise DataError(f"{name} must have one entry a follow-up ({count}); found {len(column)}.")
    if invalid == "refuse":
        # First: with a code or group that has no meaning the coding is not that of the data, and
        # to leave follow-ups out, the remedy for all others, would change what they say.
        coding.refuse_others(ends)
        if (member == OTHER).any():
            raise none_of("by", "levels", levels, int(np.argmax(member == OTHER)), "by")
    offences = {
        ("event", "have a code for every follow-up; found none"): ends < CENSORED,
        ("by", "have a level for every follow-up; found none"): member < 0,
        ("time", "be finite; found one that is missing or is not"): ~np.isfinite(times),
        ("start", "be before the end; found one that is not"): _late(starts, times),
    }
    if invalid == "refuse":
        coding.refuse(offences, event is not None)
    usable = ~np.any([*offences.values()], axis=0)
    found = np.where(usable, times, 0.0), ends, member, usable
    return found if starts is None else (*found, starts)


def _late(starts: Floats | None, times: Floats) -> Flags:
    """Which follow-ups have a beginning that is missing, or not before their end."""
    if starts is None:
        return np.zeros(len(times), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        return ~(np.isfinite(starts) & (starts < times))


def counted_in(
    cells: LifeCells, rows: Rows, codes: Integers | None, weights: Integers | None = None
) -> list[int]:
    """Exact sums of all units' shares of the cells, in units of 2^-20."""
    times, ends, member, usable, *starts = rows
    shift = np.where(usable, member, 0) * cells.each
    index = shift + cells.ends(times, np.where(usable, ends, CENSORED))
    if not starts:
        return cell_weights(index, usable, codes, cells.size, EXPONENT, weights)
    begins = shift + cells.begins(np.where(usable, starts[0], 0.0))
    owners = np.arange(len(times)) if codes is None else codes
    both = np.concatenate([index, begins])
    twice = None if weights is None else np.tile(weights, 2)
    return cell_weights(both, np.tile(usable, 2), np.tile(owners, 2), cells.size, EXPONENT, twice)


@dataclass(frozen=True, eq=False)
class PooledSurvival(PooledTable[ReleasedSurvival]):
    """A life table as a sum of follow-ups, whose times are X.

    Parameters
    ----------
    coding : Coding
    levels : sequence of labels
        Of groups.
    """

    plan: SurvivalPlan
    coding: Coding
    levels: Sequence[object]

    @property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        return {"reading": self.invalid, "integers": [self.plan.cells.to_json(), self.coding.names]}

    def read(self, X: Records, y: Beside = None) -> Rows:
        """As of a sum; y holds events, or columns by the names that `PrivateSurvival.fit` has."""
        said: Mapping[str, Any] = y if isinstance(y, Mapping) else {"event": y}
        time: object = X
        if is_arrow_table(time) and len(time.column_names) == 1:
            time = time.column(0)
        return read_follow_ups(self.coding, self.levels, self.invalid, time, **said)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        units = len(rows[0]) if codes is None else int(codes.max(initial=-1)) + 1
        sums = counted_in(self.plan.cells, rows, codes)
        return IntegerSum(self.numbers).add_totals(sums, units)
