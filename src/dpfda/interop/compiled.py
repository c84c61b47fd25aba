"""The compiled clip-round-sum, where numba is installed (extra `fast`): rows shared out to threads.

Sums of integers do not depend on how many threads there are.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Fewer numbers than this are not worth a second thread.
NUMBERS_A_THREAD = 2**20


class Rule(Protocol):
    """The public numbers that the loops need; see `dpfda.gridsums.GridRule`."""

    @property
    def center(self) -> Floats:
        """Center (m,)."""

    @property
    def half_widths(self) -> Floats:
        """Largest integers (m,)."""

    @property
    def weights(self) -> Floats:
        """Quadrature weights (m,)."""

    @property
    def scale(self) -> float:
        """Grid units per unit of the data."""

    @property
    def limit(self) -> float:
        """Largest weighted length, or infinity."""


@cache
def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def clip_round_sum(values: NDArray[Any], rule: Rule) -> tuple[Floats, int]:
    """Sum of the integers of at most 2^22 records, in one pass over the data.

    Parameters
    ----------
    values : array (n, m) of float64 or float32, contiguous
        Private.
    rule : Rule
        Public.

    Returns
    -------
    totals : array (m,)
        Exact integers held in float64.
    unusable : int
        Number of records with NaN or infinity, counted as zero.
    """
    numbers = (rule.center, rule.half_widths, rule.weights, rule.scale, rule.limit)
    from dpfda.interop import numba_loops

    loop = numba_loops.shrink_and_add if math.isfinite(rule.limit) else numba_loops.clip_and_add

    def work(rows: NDArray[Any]) -> tuple[Floats, int]:
        totals = np.zeros(rule.center.size)
        return totals, int(loop(rows, *numbers, totals))

    count = min(_threads(), 1 + values.size // NUMBERS_A_THREAD)
    if count == 1:
        return work(values)
    with ThreadPoolExecutor(count) as pool:
        parts = list(pool.map(work, np.array_split(values, count)))
    return np.sum([part for part, _ in parts], axis=0), sum(bad for _, bad in parts)


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
