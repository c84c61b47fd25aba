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

**Persons in several partitions.** Labels decide: each partition's records are dealt into buckets by a
hash of the person's label, and a bucket gathers its records from all partitions, in the order of the
rows. So a person's records meet in one task, and are averaged to the same bits as in one fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import DataError, DpfdaError
from dpfda.records.dask_arrays import along, deal_and_join, map_and_join, partitions
from dpfda.records.labels import Key, key_order, numbered, read_keys
from dpfda.spine.pooled import PooledSum, Rows

# Buckets of persons, at most: each partition hands a piece to every one of them, in a task of its own.
MOST_BUCKETS = 64


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSum:
    """An exact sum on its way through a cluster. Private: whoever reads it reads data without noise.

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

    def __repr__(self) -> str:
        return "PrivateSum(content private)"


def total_on_cluster(pool: PooledSum, X: object, groups: object = None, y: object = None) -> IntegerSum:
    """The exact sum over a Dask array or data frame. The result is private.

    pool: What is added up, on the columns of X.
    X: One record a row; chunks of any number of rows. Private.
    groups: dask array or series, or array (n,). Whose each record is, in partitions like those of X.
        Private.
    y: What else the sum takes of each record, such as its group in a comparison.
    Raises DataError with partition, row within it and column of a value that cannot be used, unless
    repairing.
    """
    blocks = partitions(X)
    if not blocks:
        raise DataError("X must hold at least two curves; found no partition.")
    said = [None] * len(blocks) if y is None else along(X, y, "y")
    pairs = list(zip(blocks, said, strict=True))
    if groups is None:
        return summed(map_and_join(pairs, partial(_add_up, pool), joined))
    buckets = min(len(blocks), MOST_BUCKETS)
    deal, gather = partial(_dealt, pool, buckets), partial(_gathered, pool)
    return summed(deal_and_join(pairs, along(X, groups, "groups"), buckets, deal, gather, joined))


def summed(part: PrivateSum) -> IntegerSum:
    """What arrived, as a sum that leaves with noise only.

    Raises DataError if a worker could not use a record.
    """
    if part.refusal:
        raise DataError(part.refusal)
    return IntegerSum(len(part.totals)).add_totals(part.totals, part.count)


def joined(parts: Iterable[PrivateSum]) -> PrivateSum:
    """The sum of several; the same part twice counts once. Runs on a worker, or where they arrive."""
    kept: dict[frozenset[int], PrivateSum] = {}
    for part in parts:
        if part.refusal:
            return part
        same = kept.setdefault(part.parts, part)
        if (same.totals, same.count) != (part.totals, part.count):
            return refused("A partition was added up twice, to different sums.")
    numbers = frozenset[int]().union(*kept)
    if len(numbers) < sum(map(len, kept)):
        return refused("Partitions were joined twice, with different others.")
    totals = tuple(sum(column) for column in zip(*(part.totals for part in kept.values()), strict=True))
    return PrivateSum(totals, sum(part.count for part in kept.values()), "", numbers)


def refused(words: str) -> PrivateSum:
    """Why a partition cannot be added up, in the place of its sum."""
    return PrivateSum((), 0, words)


def _add_up(pool: PooledSum, pair: tuple[Any, Any], number: int) -> PrivateSum:
    """The sum of one partition; runs on a worker."""
    total, (block, said) = IntegerSum(pool.numbers), pair
    try:
        if len(block):
            total = pool.total(block, None, said)
    except DpfdaError as error:
        return refused(f"In partition {number}: {error}")
    return sent(total, number)


def sent(total: IntegerSum, number: int) -> PrivateSum:
    """The sum of one partition or bucket, ready to be sent."""
    return PrivateSum(tuple(total._total), total._count, "", frozenset([number]))


@dataclass(frozen=True, eq=False, repr=False)
class Dealt:
    """Records of one partition on their way to a bucket, or why they cannot be used. Private."""

    rows: Rows = ()
    keys: tuple[Key, ...] = ()
    refusal: str = ""

    def __repr__(self) -> str:
        return "Dealt(content private)"


def _dealt(
    pool: PooledSum, buckets: int, pair: tuple[Any, Any], labels: object, number: int
) -> list[Dealt]:
    """The records of one partition, dealt by their persons' labels; runs on a worker."""
    block, said = pair
    try:
        keys = read_keys(labels, "groups", pool.invalid)
        if len(keys) != len(block):
            raise DataError(f"groups must hold one label a record ({len(block)}); found {len(keys)}.")
        with np.errstate(all="ignore"):
            rows = pool.read(block, said) if keys else ()
    except DpfdaError as error:
        return [Dealt(refusal=f"In partition {number}: {error}")] * buckets
    where = np.array([bucket_of(key, buckets) for key in keys], dtype=np.int64)
    chosen = (np.flatnonzero(where == bucket) for bucket in range(buckets))
    return [Dealt(tuple(each[own] for each in rows), tuple(keys[row] for row in own)) for own in chosen]


def _gathered(pool: PooledSum, dealt: Sequence[Dealt], number: int) -> PrivateSum:
    """The sum over all persons of one bucket, in the order of the partitions; runs on a worker."""
    for piece in dealt:
        if piece.refusal:
            return refused(piece.refusal)
    filled = [piece for piece in dealt if piece.keys]
    if not filled:
        return sent(IntegerSum(pool.numbers), number)
    columns = zip(*(piece.rows for piece in filled), strict=True)
    rows = tuple(np.concatenate(column) for column in columns)
    codes = numbered([key for piece in filled for key in piece.keys])
    try:
        with np.errstate(all="ignore"):
            return sent(pool.add_up(rows, codes), number)
    except DpfdaError as error:
        return refused(str(error))


def bucket_of(key: Key, buckets: int) -> int:
    """Where a person's records meet: a function of the label alone, the same in every process."""
    if isinstance(key, int):
        return key % buckets
    text = "/".join(key_order(key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) % buckets
