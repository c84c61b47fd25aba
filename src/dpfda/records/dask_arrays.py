"""Dask arrays and data frames: partitions of records, and a tree of tasks over them (extra `dask`).

The only module that imports Dask. It knows nothing of privacy: what a task computes is given to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Partial results that one task joins: few enough that no machine holds many.
FAN_IN = 8


def is_dask(data: Any) -> bool:
    """Whether data are a Dask array or data frame, without importing Dask."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        data, "to_delayed"
    )


def partitions(data: Any) -> list[Any]:
    """Delayed blocks of whole records: arrays (rows, ...) or data frames."""
    if hasattr(data, "columns"):
        return list(data.to_delayed())
    if data.ndim > 1:
        # A record's values lie in one block.
        data = data.rechunk(dict.fromkeys(range(1, data.ndim), -1))
    return list(data.to_delayed().ravel())


def sample(data: Any) -> Any:
    """Something with the columns or the shape of the data, and made-up records."""
    if hasattr(data, "columns"):
        return data._meta_nonempty
    return np.zeros((1, *data.shape[1:]), dtype=data.dtype)


def map_and_join(
    blocks: Sequence[Any], work: Callable[[Any, int], Any], join: Callable[[Sequence[Any]], Any]
) -> Any:
    """Apply `work` to every block and its number, and `join` the results in a tree.

    It runs on the cluster whose client is active, or in threads.

    A result is the value of a task. A task that runs again, because its worker was lost, replaces its
    value, and each value goes into exactly one task above it: nothing is counted twice.
    """
    from dask.base import compute
    from dask.delayed import delayed

    level = [delayed(work)(block, number) for number, block in enumerate(blocks)]
    while len(level) > 1:
        level = [delayed(join)(level[start : start + FAN_IN]) for start in range(0, len(level), FAN_IN)]
    (result,) = compute(level[0])  # type: ignore[no-untyped-call]
    return result
