"""The clip-round-sum loops, compiled by numba where that is installed (extra `fast`).

The functions are plain Python; numba compiles them on first use and keeps the result on disk. They
release the interpreter's lock, and rows are shared out to threads: sums of integers do not depend on it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST = float(np.finfo(np.float64).max)
LANES = 16
CHUNK = 512
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
    loop = _compile(_shrink_and_add if math.isfinite(rule.limit) else _clip_and_add)

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


@cache
def _compile(loop: Callable[..., int]) -> Callable[..., int]:
    import numba

    compiled: Callable[..., int] = numba.njit(nogil=True, cache=True, error_model="numpy")(loop)
    return compiled


def _clip_and_add(
    values: NDArray[Any],
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scale: float,
    limit: float,
    totals: Floats,
) -> int:
    """Clip, round and add entry by entry; returns the number of unusable rows.

    Rows are taken four at a time, so that the public numbers and the totals are read once for four. Any
    number that is not finite shows in `spoilt`; its chunk of rows is then taken again, row by row.
    """
    unusable = 0
    points = totals.size
    part, spoilt = np.empty(points), np.empty(points)
    for start in range(0, values.shape[0], CHUNK):
        stop = min(start + CHUNK, values.shape[0])
        fours = stop - (stop - start) % 4
        part[:] = 0.0
        spoilt[:] = 0.0
        for i in range(start, fours, 4):
            for k in range(points):
                high, low, middle = half_widths[k], -half_widths[k], center[k]
                a, b = np.float64(values[i, k]), np.float64(values[i + 1, k])
                c, d = np.float64(values[i + 2, k]), np.float64(values[i + 3, k])
                spoilt[k] += (a - a) + (b - b) + ((c - c) + (d - d))
                a = max(min((a - middle) * scale, high), low)
                b = max(min((b - middle) * scale, high), low)
                c = max(min((c - middle) * scale, high), low)
                d = max(min((d - middle) * scale, high), low)
                part[k] += (np.rint(a) + np.rint(b)) + (np.rint(c) + np.rint(d))
        if np.isfinite(spoilt.sum()):
            totals += part
        else:
            fours = start
        for i in range(fours, stop):
            finite = 0
            for k in range(points):
                finite += int(abs(np.float64(values[i, k])) <= LARGEST)
            if finite < points:
                unusable += 1
                continue
            for k in range(points):
                number = (np.float64(values[i, k]) - center[k]) * scale
                totals[k] += np.rint(max(min(number, half_widths[k]), -half_widths[k]))
    return unusable


def _shrink_and_add(
    values: NDArray[Any],
    center: Floats,
    half_widths: Floats,
    weights: Floats,
    scale: float,
    limit: float,
    totals: Floats,
) -> int:
    """Shrink each row to a length, round toward zero and add; returns the number of unusable rows."""
    unusable = 0
    lanes = np.zeros(LANES)
    whole = totals.size - totals.size % LANES
    row = np.empty(totals.size)
    for i in range(values.shape[0]):
        factor = 1.0
        # The second round is for rows whose squares overflow, divided by a power of two first.
        for attempt in range(2):
            lanes[:] = 0.0
            for k in range(row.size):
                row[k] = row[k] if attempt else np.float64(values[i, k]) * scale
            for start in range(0, whole, LANES):
                for lane in range(LANES):
                    number = row[start + lane]
                    lanes[lane] += number * number * weights[start + lane]
            for k in range(whole, row.size):
                lanes[k - whole] += row[k] * row[k] * weights[k]
            half = LANES // 2
            while half:
                for lane in range(half):
                    lanes[lane] += lanes[lane + half]
                half //= 2
            square = lanes[0]
            if attempt:
                factor = limit / math.sqrt(square)
                break
            if square <= limit * limit:
                break
            if square <= LARGEST:
                factor = limit / math.sqrt(square)
                break
            largest = 0.0
            finite = 0
            for k in range(row.size):
                size = abs(np.float64(values[i, k]))
                finite += int(size <= LARGEST)
                largest = max(largest, size)
            if finite < row.size:
                factor = 0.0
                unusable += 1
                break
            exponent = math.frexp(largest)[1]
            for k in range(row.size):
                row[k] = math.ldexp(np.float64(values[i, k]), -exponent)
        if factor == 0.0:
            continue
        for k in range(row.size):
            number = np.trunc(row[k] * factor)
            number = min(number, half_widths[k])
            number = max(number, -half_widths[k])
            totals[k] += number
    return unusable
