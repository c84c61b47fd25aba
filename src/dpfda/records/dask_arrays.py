"""Dask arrays and data frames: partitions of records, and a tree of tasks over them (extra `dask`).

The only module that imports Dask. It knows nothing of privacy: what a task computes is given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from dpfda.numerics.arrays import is_native, is_plain
from dpfda.numerics.errors import DataError
from dpfda.records.containers import cells_in, is_dask

# Partial results that one task joins: few enough that no machine holds many.
FAN_IN = 8


# What tasks take and give: a block, what is beside it, a part of the result.
Block = TypeVar("Block")
Beside = TypeVar("Beside")
Part = TypeVar("Part")


def partitions(data: Any) -> list[object]:
    """Delayed blocks of whole records: arrays (rows, ...) or data frames."""
    if hasattr(data, "columns"):
        return list(data.to_delayed())
    if data.ndim > 1:
        # A record's values lie in one block.
        data = data.rechunk(dict.fromkeys(range(1, data.ndim), -1))
    return list(data.to_delayed().ravel())


def rows_of(data: object) -> int | None:
    """The number of records, where it is known without reading them."""
    rows = getattr(data, "chunks", ((np.nan,),))[0]
    return None if np.isnan(rows).any() else int(sum(rows))


def sample(data: Any) -> Any:
    """Something with the columns or the shape of the data, and made-up records."""
    if hasattr(data, "columns"):
        return data._meta_nonempty
    return np.zeros((1, *data.shape[1:]), dtype=data.dtype)


def map_and_join(
    blocks: Sequence[object], work: Callable[[Block, int], Part], join: Callable[[Sequence[Part]], Part]
) -> Part:
    """Apply `work` to every block and its number, and `join` the results in a tree.

    It runs on the cluster whose client is active, or in threads.

    A result is the value of a task. A task that runs again, because its worker was lost, replaces its
    value, and each value goes into exactly one task above it: nothing is counted twice.
    """
    from dask.delayed import delayed

    return _tree([delayed(work)(block, number) for number, block in enumerate(blocks)], join)


def deal_and_join(
    blocks: Sequence[object],
    beside: Sequence[object],
    buckets: int,
    deal: Callable[[Block, Beside, int], Sequence[Any]],
    work: Callable[[Sequence[Any], int], Part],
    join: Callable[[Sequence[Part]], Part],
) -> Part:
    """Deal every block into buckets, apply `work` to each bucket's pieces, and `join` in a tree.

    blocks, beside: Delayed blocks, and what belongs to their rows.
    deal: Takes a block, what is beside it and its number; returns a part of the result, and a piece for
        each bucket.
    work: Takes the pieces of one bucket, in the order of the blocks, and its number, which no block has.
    """
    from dask.delayed import delayed

    pairs = zip(blocks, beside, strict=True)
    dealt = [delayed(deal, nout=buckets + 1)(*pair, number) for number, pair in enumerate(pairs)]
    gathered = [[pieces[place] for pieces in dealt] for place in range(1, buckets + 1)]
    made = [delayed(work)(pieces, number) for number, pieces in enumerate(gathered, len(dealt))]
    return _tree([*(pieces[0] for pieces in dealt), *made], join)


def along(data: Any, labels: Any, name: str) -> list[object]:
    """Delayed blocks of labels, one for each block of the data.

    Raises DataError if their partitions cannot be those of the data.
    """
    import dask.array as da

    if not is_dask(labels):
        if rows_of(data) != len(labels):
            raise DataError(
                f"{name} must be a Dask array or series in partitions like those of X; found labels "
                "that cannot be divided so."
            )
        cells = cells_in(labels, name)
        if not (isinstance(cells, np.ndarray) and is_plain(cells) and is_native(cells.dtype)):
            found, cells = cells, np.empty(len(labels), dtype=object)
            for row, cell in enumerate(found):
                cells[row] = None if cell is np.ma.masked else cell
        labels = da.from_array(cells, chunks=(data.chunks[0],))  # type: ignore[no-untyped-call]
    elif not hasattr(data, "columns") and not np.isnan((*data.chunks[0], *labels.chunks[0])).any():
        labels = labels.rechunk((data.chunks[0],))
    blocks = list(np.ravel(labels.to_delayed()))
    if len(blocks) != len(partitions(data)):
        raise DataError(f"{name} must have as many partitions as X; found {len(blocks)}.")
    return blocks


def _tree(level: list[Any], join: Callable[[Sequence[Part]], Part]) -> Part:
    from dask.base import compute
    from dask.delayed import delayed

    while len(level) > 1:
        level = [delayed(join)(level[start : start + FAN_IN]) for start in range(0, len(level), FAN_IN)]
    result: tuple[Part] = compute(level[0])  # type: ignore[no-untyped-call]
    return result[0]


__all__ = ["along", "deal_and_join", "is_dask", "map_and_join", "partitions", "rows_of", "sample"]
