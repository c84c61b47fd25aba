"""Sums of records in Dask arrays or data frames: one exact sum a partition, joined in a tree.

**Who sees what.** The records stay where Dask has them. Each worker adds up its partitions, and what it
hands on is a `PrivateSum`: exact integers, without noise. Workers, the machines between them, whatever
Dask spills to disk, and the client that calls `fit` see these; so the whole cluster is inside the walls
of privacy, like the memory of one machine. Dask may write arguments of a failed task to a worker's log:
workers therefore answer a record that cannot be used with its place, and the client raises the error.
No worker learns the noise, and the client never holds records.

**Why nothing is counted twice.** A partition's sum is the value of its task, a function of the partition
alone, and it carries the partition's number: a sum that arrives twice counts once. Integers add up to
the same in any order, so the number of partitions, a lost worker and a task that runs again do not show.

**Persons with several records.** Labels are read first. Who is in one partition alone is added up there.
The records of others are dealt into buckets by their labels, and a bucket gathers its records from all
partitions, in the order of the rows. So a person's records meet in one task, and are averaged to the
same bits as in one fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Integers, is_plain
from dpfda.numerics.errors import DataError, DpfdaError, Private
from dpfda.records.containers import cells_in, cells_taken, is_frame, shape_of
from dpfda.records.dask_arrays import Tasks, along, map_and_join, partitions, rows_of, sample
from dpfda.records.frames import Container, is_dask
from dpfda.records.labels import label_marks, numbers_of_marks, units_of
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.choices import public_size, stated_size
from dpfda.spine.pooled import PooledSum, Rows, one_sum
from dpfda.spine.settings import Settings

if TYPE_CHECKING:
    from pandas import DataFrame

    from dpfda.releases.base import Release
    from dpfda.spine.estimator import Estimator

    # Records of a partition, as Dask has them.
    Block: TypeAlias = Cells | DataFrame


# Numbers in a bucket of persons, and buckets at most: each partition hands a piece to every one of them,
# in a task of its own, and one task holds a bucket.
IN_BUCKET = 2**23
MOST_BUCKETS = 256
# Bits of the place of a person in a table of who was seen. Who shares a place is taken for one.
PLACE_BITS = 22
# Labels that are worked on at a time: new memory of more than they take is not at hand at once.
LABELS_AT_ONCE = 2**13
# What to do about labels and entries that are not one a record, and about records that change.
ONE_FRAME = "Take X and what goes with it from one frame, with the same rows left out of both."
KEPT = "Keep what X is made of, as in X = X.persist()."
# Odd numbers that spread whole numbers over all bits.
SPREAD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9], dtype=np.uint64)


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSum(Private):
    """An exact sum on its way through a cluster. Private: its numbers have no noise.

    Unlike `IntegerSum` it can be pickled, for Dask or Spark to carry it. It is made for that way alone.

    totals: Exact sums.
    count: Number of privacy units.
    refusal: Why the records cannot be used, with the place of the first that cannot; empty if they can.
    parts: Numbers of the partitions, or buckets, that are in it.
    """

    totals: tuple[int, ...]
    count: int
    refusal: str = ""
    parts: frozenset[int] = frozenset()


def total_on_cluster(pool: PooledSum, X: object, groups: object = None, y: object = None) -> IntegerSum:
    """The exact sum over a Dask array or data frame. The result is private.

    pool: What is added up, on the columns of X.
    X: One record a row; chunks of any number of rows. Private.
    groups: dask array or series, or array (n,). Whose each record is, in partitions like those of X.
        Private.
    y: What else the sum takes of each record, such as its group in a comparison; or columns by names.
    Raises DataError with partition, row within it and column of a value that cannot be used, unless
    repairing.
    """
    blocks = partitions(X)
    if not blocks:
        raise DataError("X must hold at least two curves; found no partition. Is this the right table?")
    beside = [None] * len(blocks) if y is None else along(X, y, "y")
    if groups is None:
        return summed(map_and_join([blocks, beside], _add_up, pool, joined))
    labels = along(X, groups, "groups")
    seen = map_and_join([labels], _seen, pool.invalid, _seen_by_all)
    if seen.refusal:
        raise DataError(seen.refusal)
    moving = seen.records if seen.several else 0
    if moving and not seen.most:
        added: Callable[[Sequence[int]], int] = sum
        moving = map_and_join([labels], _moving, (pool.invalid, seen), added)
    numbers = moving * max(1, prod(shape_of(sample(X))[1:]))
    buckets = min(MOST_BUCKETS, -(-numbers // IN_BUCKET))
    tasks = Tasks(blocks, labels, beside)
    dealt = tasks.mapped([blocks, labels, beside], _dealt, pool, seen, buckets)
    pieces = [tasks.entries(dealt, place) for place in range(1, buckets + 1)]
    gathered = tasks.mapped([pieces], _gathered, pool, first=len(blocks))
    total = tasks.joined([*tasks.entries(dealt, 0), *gathered], joined)
    if total.refusal:
        # Where the record is that cannot be used, its own partition says.
        again = map_and_join([blocks, beside], _add_up, pool, joined)
        total = again if again.refusal else total
    return summed(total)


@dataclass(frozen=True, eq=False)
class Units(PooledSum):
    """How many units there are, as a sum of no numbers."""

    settings: Settings
    numbers = 0

    def read(self, X: Records, y: Beside = None) -> Rows:
        return (np.zeros(shape_of(X)[0], dtype=np.bool_),)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        units = len(rows[0]) if codes is None else int(codes.max(initial=-1)) + 1
        return IntegerSum(0).add_totals([], units)

    def publish(self, total: IntegerSum, ledger: object = None) -> Release:
        raise DpfdaError("A number of units alone is not released.")


def pooled_for(
    estimator: Estimator, X: Records, groups: Labels, y: object, count: Callable[[], int]
) -> PooledSum:
    """The sum of an estimator on the columns of X, where these are records that were made up.

    groups: Whether it is None is looked at.
    y: Further columns of the records, by name.
    count: How many units there are; not called where that is private, or the sum does not ask for it.
    Raises ParameterError if the summary is no sum, or a public parameter is unusable.
    """
    if not hasattr(estimator, "_pooled_for"):
        return one_sum(estimator, "pooled_on").pooled_on(X, groups)
    settings: Settings = estimator._settings_for(X, groups)
    unit, cells = settings.unit, getattr(estimator, "cells", None)
    size = public_size(unit, 2) if unit.private else count()
    if size is None:
        # Nothing but the cells follows from it.
        named = "cells" if hasattr(estimator, "cells") else "public_size"
        size = 2 if cells is not None else stated_size(None, named)
    # What goes to where the records are has no ledger.
    own = copy(estimator).set_params(
        unit=unit.but(name=unit.called(groups)), domain=settings.domain, ledger=None
    )
    pool: PooledSum = own._pooled_for(size, X, y, groups is not None)
    return pool


def fit_on_cluster(estimator: Estimator, X: object, groups: Any = None, y: Beside = None) -> Any:
    """The release of a summary that needs the number of units, which a pass over labels counts.

    X, groups, y: As of `total_on_cluster`.
    """
    X, groups = Container.of(X, groups).apart()
    pool = pooled_for(estimator, sample(X), groups, y, lambda: _units(estimator, X, groups))
    return pool.publish(total_on_cluster(pool, X, groups, y), estimator.ledger)


def _units(estimator: Estimator, X: object, groups: Labels) -> int:
    """How many units there are."""
    settings = estimator.settings
    if groups is not None and not is_dask(groups):
        return units_of(groups, shape_of(groups)[0], settings.reading.invalid)[1]
    count = rows_of(X) if groups is None else None
    whose = X if groups is None else groups
    return count or total_on_cluster(Units(settings), whose, groups).count_with_noise(0, 1)


def summed(part: PrivateSum) -> IntegerSum:
    """What arrived, as a sum that leaves with noise only.

    Raises DataError if a worker could not use a record.
    """
    if part.refusal:
        raise DataError(part.refusal)
    return IntegerSum(len(part.totals)).add_totals(part.totals, part.count)


def joined(parts: Iterable[PrivateSum]) -> PrivateSum:
    """The sum of several; the same part twice counts once. Runs on a worker, or where they arrive."""
    sums: dict[frozenset[int], PrivateSum] = {}
    for part in parts:
        if part.refusal:
            return part
        same = sums.setdefault(part.parts, part)
        if (same.totals, same.count) != (part.totals, part.count):
            return refused(
                f"X must be the same each time that a partition is made; found two sums of one. {KEPT}"
            )
    numbers = frozenset[int]().union(*sums)
    if len(numbers) < sum(map(len, sums)):
        return refused(
            "X must have each partition in one part of the sum; found one that was joined twice, with "
            f"different others. {KEPT}"
        )
    totals = tuple(sum(column) for column in zip(*(part.totals for part in sums.values()), strict=True))
    return PrivateSum(totals, sum(part.count for part in sums.values()), "", numbers)


def refused(words: str) -> PrivateSum:
    """Why a partition cannot be added up, instead of its sum."""
    return PrivateSum((), 0, words)


def _add_up(number: int, pool: PooledSum, block: Block, beside: Beside) -> PrivateSum:
    """The sum of one partition; runs on a worker."""
    total = IntegerSum(pool.numbers)
    try:
        if len(block):
            total = pool.total(block, None, beside)
    except DpfdaError as error:
        return refused(f"In partition {number}: {error}")
    return sent(total, number)


def sent(total: IntegerSum, number: int) -> PrivateSum:
    """The sum of one partition or bucket, ready to be sent."""
    return PrivateSum(tuple(total._total), total._count, "", frozenset([number]))


@dataclass(frozen=True, eq=False, repr=False)
class Seen(Private):
    """The persons of some partitions, as bits at places of labels, or why these cannot be read. Private.

    once, twice: Who is there, and who is in several of them.
    ends: Least and largest first mark of each partition, a row each.
    digests: Hash of the marks of each partition, by its number.
    records: How many there are.
    """

    once: Cells
    twice: Cells
    ends: Integers
    digests: dict[int, bytes]
    records: int
    refusal: str = ""

    @property
    def several(self) -> bool:
        """Whether anybody may be in several partitions."""
        lows, highs = np.sort(self.ends, axis=0).T
        return bool(self.twice.any() and np.any(lows[1:] <= highs[:-1]))

    @property
    def most(self) -> bool:
        """Whether most places are of persons who may be in several partitions: then all records move."""
        once, twice = (int(np.bitwise_count(places).sum()) for places in (self.once, self.twice))
        return 2 * twice > once

    def buckets_of(self, marks: Integers, buckets: int) -> Integers:
        """The bucket that each record moves to; -1 where its person is in no other partition.

        Who is at a place, and in a range, of several partitions may be in another one. Where most move,
        all do: a sum over the few who are left would take longer.
        """
        (lows, highs), of_records = np.sort(self.ends, axis=0).T.copy(), np.empty(len(marks), np.int16)
        for start in range(0, len(marks), LABELS_AT_ONCE):
            some = marks[start : start + LABELS_AT_ONCE]
            place, first = places_of(some, PLACE_BITS), some[:, 0].copy()
            moves = (self.twice[place >> 3] >> (7 - (place & 7))) & 1 == 1
            moves &= np.searchsorted(lows, first, "right") - np.searchsorted(highs, first) > 1
            place %= buckets
            of_records[start : start + LABELS_AT_ONCE] = np.where(moves, place, ~place)
        alone = of_records < 0
        most = 2 * np.count_nonzero(alone) < len(of_records)
        return np.where(alone, ~of_records if most else np.int16(-1), of_records)


def _seen(number: int, invalid: str, labels: object) -> Seen:
    """The persons of one partition; runs on a worker."""
    seen = np.zeros(2**PLACE_BITS, dtype=np.bool_)
    try:
        marks = label_marks(labels, invalid)
    except DpfdaError as error:
        return Seen(
            seen[:0], seen[:0], np.empty((0, 2), np.int64), {}, 0, f"In partition {number}: {error}"
        )
    for start in range(0, len(marks), LABELS_AT_ONCE):
        seen[places_of(marks[start : start + LABELS_AT_ONCE], PLACE_BITS)] = True
    once, first = np.packbits(seen), marks[:, 0]
    ends = np.array([[first.min(), first.max()]]) if len(first) else marks
    return Seen(
        once, np.zeros_like(once), ends, {number: hashlib.sha256(marks.data).digest()}, len(first)
    )


def _seen_by_all(parts: Iterable[Seen]) -> Seen:
    """The persons of several partitions; runs on a worker, or where they arrive."""
    once = twice = np.zeros(2**PLACE_BITS // 8, dtype=np.uint8)
    parts, digests = list(parts), dict[int, bytes]()
    for part in parts:
        if part.refusal:
            return part
        once, twice = once | part.once, twice | part.twice | (once & part.once)
        digests |= part.digests
    ends = np.concatenate([part.ends for part in parts])
    return Seen(once, twice, ends, digests, sum(part.records for part in parts))


def _moving(number: int, rule: tuple[str, Seen], labels: object) -> int:
    """How many records of a partition move; runs on a worker."""
    invalid, seen = rule
    return int(np.count_nonzero(seen.buckets_of(label_marks(labels, invalid), 1) + 1))


def places_of(marks: Integers, bits: int) -> Integers:
    """Places below 2^bits, each a function of a label's marks alone, the same in every process."""
    first, second = marks.astype(np.uint64).T
    mixed = first * SPREAD[0] + second * SPREAD[1]
    mixed = (mixed ^ (mixed >> np.uint64(32))) * SPREAD[1]
    places: Integers = (mixed >> np.uint64(64 - bits)).astype(np.int64)
    return places


@dataclass(frozen=True, eq=False, repr=False)
class Dealt(Private):
    """Records on their way to a bucket, with the marks of their persons. Private.

    rows, said: As the partition holds them.
    """

    rows: Block
    marks: Integers
    beside: Beside

    @classmethod
    def of(cls, block: Block, marks: Integers, beside: Beside, chosen: Integers) -> Dealt:
        """Some records of a partition, not copied where they are all."""
        if len(chosen) == len(block):
            return cls(block, marks, beside)
        return cls(block.take(chosen, axis=0), marks[chosen], _chosen(beside, chosen))

    def __sizeof__(self) -> int:
        """Dask decides by it when to write this to disk."""
        size = self.rows.memory_usage().sum() if is_frame(self.rows) else self.rows.nbytes
        return int(size) + self.marks.nbytes


def _dealt(
    number: int, pool: PooledSum, seen: Seen, buckets: int, block: Block, labels: object, beside: Any
) -> list[PrivateSum | Dealt | None]:
    """The sum over who is in this partition alone, and the records of others; runs on a worker."""
    try:
        marks = label_marks(labels, pool.invalid)
        if len(marks) != len(block):
            raise DataError(
                f"groups must hold one label a record ({len(block)}); found {len(marks)}. {ONE_FRAME}"
            )
        for column in beside.values() if isinstance(beside, dict) else [beside]:
            if column is not None and len(column) != len(block):
                raise DataError(
                    f"y must hold one entry a record ({len(block)}); found {len(column)}. {ONE_FRAME}"
                )
        if seen.digests.get(number) != hashlib.sha256(marks.data).digest():
            raise DataError(
                "groups must be the same labels each time that a partition is made; found others the "
                "second time: somebody could count twice. " + KEPT
            )
        bucket = seen.buckets_of(marks, max(1, buckets))
        ends = np.cumsum(np.bincount(bucket + 1, minlength=buckets + 1)[:-1])
        chosen = np.split(np.argsort(bucket, kind="stable"), ends)
        alone, *pieces = [Dealt.of(block, marks, beside, own) for own in chosen]
        return [_gathered(number, pool, [alone]), *pieces]
    except DpfdaError as error:
        return [refused(f"In partition {number}: {error}"), *[None] * buckets]


def _gathered(number: int, pool: PooledSum, dealt: Sequence[Dealt | None]) -> PrivateSum:
    """The sum over all persons of one bucket, in the order of the partitions; runs on a worker."""
    filled = [piece for piece in dealt if piece is not None and len(piece.marks)]
    if not filled:
        return sent(IntegerSum(pool.numbers), number)
    codes = numbers_of_marks(np.concatenate([piece.marks for piece in filled]))
    try:
        with np.errstate(all="ignore"):
            if (merged := _together(filled)) is not None:
                return sent(pool.total(merged.rows, codes, merged.beside), number)
            # Of several types: those of one partition say nothing of how another's are read.
            read = zip(*(pool.read(piece.rows, piece.beside) for piece in filled), strict=True)
            return sent(pool.add_up(tuple(np.concatenate(column) for column in read), codes), number)
    except DpfdaError as error:
        return refused(str(error))


def _chosen(beside: Beside, rows: Integers) -> Beside:
    """The further columns of some records."""
    if beside is None:
        return None
    if isinstance(beside, dict):
        return {name: _chosen(column, rows) for name, column in beside.items()}
    return cells_taken(cells_in(beside, "y"), rows)


def _joined_columns(parts: list[Any]) -> Beside:
    """The further columns of several pieces, one after the other."""
    if isinstance(parts[0], dict):
        return {name: _joined_columns([part[name] for part in parts]) for name in parts[0]}
    return None if parts[0] is None else [cell for part in parts for cell in part]


def _together(pieces: Sequence[Dealt]) -> Dealt | None:
    """Pieces as one, where all are of the same types."""
    if len(pieces) == 1:
        return pieces[0]
    rows: list[Any] = [piece.rows for piece in pieces]
    join: Callable[[Sequence[Block]], Block] = np.concatenate
    kinds: list[object] = [block.dtype if is_plain(block) else id(block) for block in rows]
    if is_frame(rows[0]):
        import pandas as pd

        join, kinds = pd.concat, [(*block.columns, *map(str, block.dtypes)) for block in rows]
    if len({*kinds}) > 1:
        return None
    return Dealt(join(rows), pieces[0].marks[:0], _joined_columns([piece.beside for piece in pieces]))
