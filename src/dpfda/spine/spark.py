"""Sums of records in Spark data frames: one exact sum a partition, joined where the driver is.

**Who sees what.** Executors hold the records; what each partition hands to the driver is one row: its
number, exact integers without noise, and a count. The driver never holds a record, and no executor
learns the noise, which is drawn where the total is published. Executors, driver and whatever Spark
writes to disk are inside the walls of privacy.

**Why nothing is counted twice.** Spark takes the answer of one attempt a partition; the sums carry their
partition's number, and one that arrives twice counts once. Where a person is added up follows from the
label alone. But where an executor is lost Spark makes a part of a stage anew, for those who had not read
it yet. Rows that come out with other labels, or in other places, could then count twice. So a sum that
took a stage made twice is thrown away, and made from the beginning.

**Persons with several records.** Rows are sent to partitions by a digest of the person's label, and
sorted there by the label and then by a column, because Spark keeps no order of its own: a person's
average is the same floating-point number as in one fit on rows in that order. An executor holds a batch
at a time, and who is in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DataError, DpfdaError, ParameterError
from dpfda.spine.arguments import Beside
from dpfda.spine.clusters import PrivateSum, joined, pooled_for, refused, sent, summed
from dpfda.spine.pooled import PooledSum

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, RecordBatch, Table
    from pyspark import StatusTracker
    from pyspark.sql import DataFrame, Row

    from dpfda.spine.estimator import Estimator


Summed = TypeVar("Summed", bound="Estimator")
# Further columns of the records, such as their groups, by the names that `fit` has for them.
Named: TypeAlias = str | Sequence[str] | Mapping[str, str] | None
# What a partition answers; integers of any size are text.
SCHEMA = "part long, totals array<string>, units long, refusal string"
# Number of the sum over no partition.
NONE = -1
# How often a sum is begun, and the property by which Spark knows jobs that belong together.
TRIES, GROUP = 3, "spark.jobGroup.id"
# Columns that a refusal lists.
SHOWN = 12
# Types of labels that Spark sends to one partition wherever they are equal here.
LABELS = ("string", "tinyint", "smallint", "int", "bigint")


def fit_on_spark(
    estimator: Summed, frame: DataFrame, columns: Sequence[str] | None = None, groups: str | None = None,
    order: str | None = None, y: Named = None,
) -> Summed:  # fmt: skip
    """Release a summary that is one exact sum of the rows of a Spark data frame.

    estimator: Of a mean, or of a comparison (its levels given), a density (its cells), a covariance (its
        center public), a regression of curves, follow-ups, quantile curves, or a predictor by a table,
        sums or means.
    frame: One record a row. Private.
    columns: Columns of numbers, in order; numbers as names are the grid. By default all but the next
        three.
    groups, order: Column with the label of each record's person, and one whose values put a person's
        records in order, such as the visit. Both or neither.
    y: Column with the group of each record, for a comparison; those of covariates; or by the names that
        `fit` has, as in ``{"event": "status", "by": "arm"}`` of follow-ups, whose time is the one of
        `columns`.
    Returns the estimator, with `release_`.
    Raises ParameterError if a public parameter is unusable. Nothing was charged and no noise was drawn.
    Raises DataError if the data cannot be used, with partition and row, or if Spark made a part of them
    twice each time. Raises BudgetError if the ledger refuses.
    """
    if (groups is None) != (order is None):
        remedy = "Rounding of a person's average depends on the order of its records."
        raise ParameterError("groups and order", "be given together", "one of them", remedy)
    beside = (groups, order, *_columns_of(y))
    named: list[str] = [name for name in frame.columns if name not in beside]
    used = named if columns is None else list(columns)
    pool = pool_of(estimator, used, groups is not None, y, lambda: _units(frame, groups))
    total = total_on_spark(pool, frame, used, groups, order, y)
    estimator.release_ = pool.publish(total, estimator.ledger)
    return estimator


def pool_of(
    estimator: Estimator, columns: Sequence[str], grouped: bool, y: Named = None,
    count: Callable[[], int] = lambda: 2,
) -> PooledSum:  # fmt: skip
    """The pooled sum of an estimator over columns of a table; `count` says how many units there are."""
    import pandas as pd

    made_up = pd.DataFrame(np.zeros((1, len(columns))), columns=list(columns))
    return pooled_for(estimator, made_up, columns if grouped else None, _names_of(y) or y, count)


def _columns_of(y: Named) -> list[str]:
    """The further columns of the records."""
    if y is None or isinstance(y, str):
        return [] if y is None else [y]
    return list(y.values()) if isinstance(y, Mapping) else list(y)


def _names_of(y: Named) -> dict[str, None]:
    """Their names, in order; none where there is a single one."""
    return {} if y is None or isinstance(y, str) else dict.fromkeys(y)


def _units(frame: DataFrame, groups: str | None) -> int:
    """How many units there are."""
    return int((frame if groups is None else frame.select(f"`{groups}`").distinct()).count())


def total_on_spark(
    pool: PooledSum, frame: DataFrame, columns: Sequence[str], groups: str | None = None,
    order: str | None = None, y: Named = None,
) -> IntegerSum:  # fmt: skip
    """The exact sum over a Spark data frame; parameters as in `fit_on_spark`. The result is private."""
    wanted = list(columns)
    beside = [name for name in (groups, order) if name is not None] + [*_columns_of(y)]
    # Spark takes names whatever their case.
    columns_of_frame = {name.lower() for name in frame.columns}
    for name in (*wanted, *beside):
        if str(name).lower() not in columns_of_frame:
            raise DataError(
                f"columns, groups, order and y must be columns of the frame; found none called "
                f"{name!r}. It has {', '.join(map(repr, frame.columns[:SHOWN]))}"
                f"{', ..' if len(frame.columns) > SHOWN else ''}."
            )
    if groups is not None:
        kind = {name.lower(): kind for name, kind in frame.dtypes}[groups.lower()]
        if kind not in LABELS:
            raise DataError(
                f"groups must be a column of text or integers; found {kind}. Cast it, as in "
                "frame.withColumn(groups, col(groups).cast('string'))."
            )
        frame = _persons_together(frame, groups).sortWithinPartitions(f"`{groups}`", f"`{order}`")
        wanted.append(groups)
    wanted += _columns_of(y)
    chosen = frame.select(*(f"`{name}`" for name in wanted))
    # By place: Spark takes a point in a name, such as that of a grid point, for a field.
    chosen = chosen.toDF(*(f"column_{place}" for place in range(len(wanted))))
    adder = Adder(pool, len(columns), groups is not None, tuple(_names_of(y)))
    arrived = map(_arrived, _collected(chosen, adder))
    # Where no record is left Spark may leave no partition either.
    return summed(joined([sent(IntegerSum(pool.numbers), NONE), *arrived]))


def _persons_together(frame: DataFrame, groups: str) -> DataFrame:
    """The frame with all rows of a person in one partition, whatever it was made by.

    Rows are sent by a digest of the label that no other step has. Sent by the label itself they would
    stay where a join or a sum by it had put them: Spark takes that for done, and may then split a person
    with many rows over partitions (`spark.sql.adaptive.skewJoin`), each of which would count one.
    Without a number: where partitions are small Spark joins whole ones, and a task costs .2 s.
    """
    key = secrets.randbits(62)
    name = f"`digest {key}`"
    return frame.selectExpr("*", f"xxhash64(`{groups}`, {key}L) AS {name}").repartition(name)


def _collected(rows: DataFrame, adder: Adder) -> list[Row]:
    """What partitions answer, from stages that were made once."""
    context = getattr(rows.sparkSession, "sparkContext", None)
    if context is None:
        remedy = "Elsewhere it cannot be seen whether Spark made a part of the data twice."
        words = "be of a session whose driver is this process"
        raise ParameterError("frame", words, "another, as with Spark Connect", remedy)
    before = context.getLocalProperty(GROUP)
    for _ in range(TRIES):
        own = f"dpfda-{uuid4().hex}"
        context.setLocalProperty(GROUP, own)
        try:
            # Planned anew each time: Spark would take stages of the same plan as it left them.
            answers: list[Row] = rows.mapInArrow(adder, SCHEMA).collect()
        finally:
            context.setLocalProperty(GROUP, before)
        # What the tracker tells comes from here.
        context._jsc.sc().listenerBus().waitUntilEmpty()
        if made_once(context.statusTracker(), own):
            return answers
    raise DataError(
        f"X must be made once; Spark lost a part of it and made that anew, in each of {TRIES} tries. "
        "Rows that come out otherwise then could count twice. Keep what X is made of, as in files."
    )


def made_once(tracker: StatusTracker, group: str) -> bool:
    """Whether Spark attempted every stage of a group of jobs once. What is not known was not."""
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    return all(stage is not None and stage.currentAttemptId == 0 for stage in stages)


def _arrived(row: Row) -> PrivateSum:
    return PrivateSum(tuple(map(int, row.totals)), row.units, row.refusal, frozenset([row.part]))


@dataclass(frozen=True, eq=False)
class Adder:
    """What runs on an executor: Arrow batches of one partition to one row.

    pool: Public.
    columns: How many columns of numbers come first.
    grouped: Whether labels of persons come after them.
    named: What columns are called that come last, where several say something of each record.
    """

    pool: PooledSum
    columns: int
    grouped: bool = False
    named: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        """One row with the number of the partition that Spark is at."""
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        part = self.sum(batches, 0 if context is None else context.partitionId())
        (number,) = part.parts or (NONE,)
        yield pa.RecordBatch.from_pydict(
            {
                "part": pa.array([number], pa.int64()),
                "totals": pa.array([list(map(str, part.totals))], pa.list_(pa.string())),
                "units": pa.array([part.count], pa.int64()),
                "refusal": pa.array([part.refusal], pa.string()),
            }
        )

    def sum(self, batches: Iterable[RecordBatch], number: int) -> PrivateSum:
        """The exact sum over the batches of a partition: of whole persons, one after another."""
        total = IntegerSum(self.pool.numbers)
        try:
            for rows in self._persons(batches):
                columns = rows.columns
                whose = columns[self.columns] if self.grouped else None
                last: list[ChunkedArray] = columns[self.columns + self.grouped :]
                beside: Beside = [*last, None][0]
                if self.named:
                    beside = dict(zip(self.named, last, strict=True))
                total.merge(self.pool.total(rows.select(list(range(self.columns))), whose, beside))
        except DpfdaError as error:
            return refused(f"In partition {number}: {error}")
        return sent(total, number)

    def _persons(self, batches: Iterable[RecordBatch]) -> Iterator[Table]:
        """Tables of whole persons: the last one of a batch may go on in the next."""
        import pyarrow as pa
        from pyarrow import compute

        rest: list[object] = []
        for batch in batches:
            rows = pa.Table.from_batches([*rest, batch])
            begins = rows.num_rows
            if self.grouped and begins:
                labels = rows.column(self.columns)
                # None where there is no label: such records are one unit, and come first.
                begins = max(0, compute.index(labels, labels[-1]).as_py())
            if begins:
                yield rows.slice(0, begins)
            rest = rows.slice(begins).to_batches()
        if rest:
            yield pa.Table.from_batches(rest)
