"""The mean of records in Dask arrays or data frames: one exact sum a partition, joined in a tree.

**Who sees what.** The records stay where Dask has them. Each worker adds up its partitions, and what it
hands on is a `PrivateSum`: exact integers, without noise. Workers, the machines between them, whatever
Dask spills to disk, and the client that calls `fit` see these; so the whole cluster is inside the walls
of privacy, like the memory of one machine. Dask may write arguments of a failed task to a worker's log:
workers therefore answer a record that cannot be used with its place, and the client raises the error.

**Why nothing is counted twice.** A partition's sum is the value of its task, a function of the partition
alone. Integers add up to the same in any order, so the number of partitions, a lost worker and a task
that runs again do not show in the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpfda.errors import DataError, DpfdaError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.publication import MeanPlan, Prepared
from dpfda.records.dask_arrays import map_and_join, partitions
from dpfda.summaries.streams import finished, open_summation
from dpfda.summaries.sums import Summation


@dataclass(frozen=True, eq=False, repr=False)
class PrivateSum:
    """An exact sum on its way through a cluster. Private: whoever reads it reads data without noise.

    Unlike `IntegerSum` it can be pickled, for Dask to carry it. It is made for that alone.

    Parameters
    ----------
    totals : tuple of int
        Exact sums.
    count : int
        Number of records.
    refusal : str
        Why the records cannot be used, with the place of the first that cannot; empty if they can.
    """

    totals: tuple[int, ...]
    count: int
    refusal: str = ""

    def __repr__(self) -> str:
        return "PrivateSum(content private)"


def prepare_on_cluster(plan: MeanPlan, X: Any) -> Prepared[MeanPlan, IntegerSum]:
    """Everything before the noise, for a Dask array (n, m) or data frame. The result is private.

    Parameters
    ----------
    plan : MeanPlan
        On the columns of X, for any number of records.
    X : dask array or data frame
        One record a row; chunks of any number of rows. Private.

    Raises
    ------
    DataError
        With partition, row within it and column of a value that cannot be used, unless repairing.
    """
    summation = open_summation(plan)
    blocks = partitions(X)
    if not blocks:
        raise DataError("X must hold at least two curves; found no partition.")
    made: PrivateSum = map_and_join(blocks, partial(_add_up, summation), _join)
    if made.refusal:
        raise DataError(made.refusal)
    total = IntegerSum(len(made.totals))
    total.add_totals(made.totals, made.count)
    return finished(summation, total)


def _add_up(summation: Summation, block: Any, number: int) -> PrivateSum:
    """The sum of one partition; runs on a worker."""
    total = summation.empty()
    try:
        with np.errstate(all="ignore"):
            if len(block):
                summation.add(total, summation.matrix(block))
    except DpfdaError as refused:
        return PrivateSum((), 0, f"In partition {number}: {refused}")
    return PrivateSum(tuple(total._total), total._count)


def _join(parts: Sequence[PrivateSum]) -> PrivateSum:
    """The sum of several; runs on a worker."""
    for part in parts:
        if part.refusal:
            return part
    totals = tuple(sum(column) for column in zip(*(part.totals for part in parts), strict=True))
    return PrivateSum(totals, sum(part.count for part in parts))
