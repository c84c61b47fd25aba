"""Dask arrays and data frames: partitions of records, and a tree of tasks over them (extra `dask`).

The only module that imports Dask. It knows nothing of privacy: what a task computes is given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from dpfda.numerics.arrays import Cells, is_native, is_plain
from dpfda.numerics.errors import DataError
from dpfda.records.containers import cells_in
from dpfda.records.frames import is_dask

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from dask.typing import Key
    from pandas import DataFrame

# Partial results that one task joins: few enough that no machine holds many.
FAN_IN = 8


# What tasks give: a part of the result.
Part = TypeVar("Part")


def partitions(data: Any) -> list[Delayed]:
    """Delayed blocks of whole records: arrays (rows, ...) or data frames.

    The tasks of their graph stay as they are. Optimized one by one, columns of a table could be divided
    otherwise than each other, and would be made apart: of other records, where these come out
    differently each time.
    """
    if not hasattr(data, "columns") and data.ndim > 1:
        # A record's values lie in one block.
        data = data.rechunk(dict.fromkeys(range(1, data.ndim), -1))
    return list(np.ravel(data.to_delayed(optimize_graph=False)))


def rows_of(data: object) -> int | None:
    """The number of records, where it is known without reading them."""
    rows = getattr(data, "chunks", ((np.nan,),))[0]
    return None if np.isnan(rows).any() else int(sum(rows))


def sample(data: Any) -> Cells | DataFrame:
    """Something with the columns or the shape of the data, and made-up records."""
    if hasattr(data, "columns"):
        return data._meta_nonempty
    return np.zeros((1, *data.shape[1:]), dtype=data.dtype)


class Tasks:
    """A graph of tasks over blocks, to run on the cluster whose client is active, or in threads.

    It is written down as it is: `dask.delayed` looks at all arguments of each call, for milliseconds.
    Dask takes every number and text among the arguments of a task that is a key of anybody's for that
    key: values are bound to functions, where it does not look.

    A result is the value of a task. A task that runs again, because its worker was lost, replaces its
    value, and each value goes into exactly one task above it: nothing is counted twice.
    """

    def __init__(self, *columns: Sequence[Any]) -> None:
        self._name, self._graph = f"dpfda-{uuid4().hex}", dict["Key", object]()
        self._blocks = [block for column in columns for block in column if block is not None]

    def put(self, task: object) -> object:
        """The key of a task: a function, and arguments that are keys, or lists of them."""
        key = self._name, len(self._graph)
        self._graph[key] = task
        return key

    def mapped(
        self,
        columns: Sequence[Sequence[object]],
        work: Callable[..., object],
        *beside: object,
        first: int = 0,
    ) -> list[object]:
        """Keys of `work` on their number, what is beside all blocks, and one block of each column.

        columns: Delayed blocks, keys or lists of them, or None.
        first: The number of the first.
        """
        common = [self.put((partial(_itself, value),)) for value in beside]
        keys = ([getattr(block, "key", block) for block in row] for row in zip(*columns, strict=True))
        return [self.put((partial(work, place), *common, *row)) for place, row in enumerate(keys, first)]

    def entries(self, keys: Sequence[object], place: int) -> list[object]:
        """Keys of one entry of each result."""
        return [self.put((itemgetter(place), key)) for key in keys]

    def joined(self, level: list[object], join: Callable[[Sequence[Part]], Part]) -> Part:
        """Run everything that the results under the keys take, and join these in a tree."""
        from dask.base import compute
        from dask.delayed import Delayed
        from dask.highlevelgraph import HighLevelGraph

        while len(level) > 1:
            starts = range(0, len(level), FAN_IN)
            level = [self.put((join, level[start : start + FAN_IN])) for start in starts]
        graph = HighLevelGraph.from_collections(self._name, self._graph, dependencies=self._blocks)
        root = Delayed(level[0], graph, layer=self._name)  # type: ignore[no-untyped-call]
        result: tuple[Part] = compute(root)  # type: ignore[no-untyped-call]
        return result[0]


def map_and_join(
    columns: Sequence[Sequence[Delayed | None]],
    work: Callable[..., Part],
    beside: object,
    join: Callable[[Sequence[Part]], Part],
) -> Part:
    """Apply `work` to their number, what is beside all blocks and a block of each column, and join.

    columns: Delayed blocks, or None.
    """
    tasks = Tasks(*columns)
    return tasks.joined(tasks.mapped(columns, work, beside), join)


def _itself(value: Part) -> Part:
    return value


def _named(names: Sequence[str], *columns: object) -> dict[str, object]:
    return dict(zip(names, columns, strict=True))


def along(data: Any, labels: Any, name: str) -> list[Delayed]:
    """Delayed blocks of labels, one for each block of the data; of several by names, mappings.

    Raises DataError if their partitions cannot be those of the data.
    """
    import dask.array as da

    if isinstance(labels, Mapping):
        from dask.delayed import delayed

        together = delayed(partial(_named, tuple(labels)))
        columns = [along(data, column, key) for key, column in labels.items()]
        return [together(*row) for row in zip(*columns, strict=True)]
    if not is_dask(labels):
        if rows_of(data) != len(labels):
            raise DataError(
                f"{name} must be a Dask array or series in partitions like those of X; found "
                f"{len(labels)} labels that cannot be divided so, as X has other rows or does not say "
                f"how many. Pass a column of what X is made of; or first X.compute_chunk_sizes()."
            )
        cells = cells_in(labels, name)
        if not (isinstance(cells, np.ndarray) and is_plain(cells) and is_native(cells.dtype)):
            listed, cells = cells, np.empty(len(labels), dtype=object)
            for row, cell in enumerate(listed):
                cells[row] = None if cell is np.ma.masked else cell
        labels = da.from_array(cells, chunks=(data.chunks[0],))  # type: ignore[no-untyped-call]
    elif not hasattr(data, "columns") and not np.isnan((*data.chunks[0], *labels.chunks[0])).any():
        labels = labels.rechunk((data.chunks[0],))
    blocks = partitions(labels)
    if len(blocks) != len(partitions(data)):
        raise DataError(
            f"{name} must have as many partitions as X; found {len(blocks)}. Take both from one frame, "
            f"or divide {name} like X, as in {name}.repartition or {name}.rechunk."
        )
    return blocks


__all__ = ["Tasks", "along", "map_and_join", "partitions", "rows_of", "sample"]
