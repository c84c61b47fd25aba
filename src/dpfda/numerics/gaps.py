"""Gaps in records filled by straight lines, many records at once."""

from __future__ import annotations

import numpy as np

from dpfda.numerics.arrays import Floats


def fill_gaps(rows: Floats, grid: Floats) -> None:
    """Put straight lines into the gaps of rows, and the nearest value beyond their ends, in place.

    Each gap is filled from the two values beside it alone, operation by operation, so that compiled code
    can do the same to the last bit. A row without any number stays as it is.

    rows: array (n, m), contiguous. Private. Gaps are NaN.
    grid: array (m,). Public.
    """
    flat, points = rows.reshape(-1), grid.size
    places = np.flatnonzero(np.isnan(flat))
    if not places.size:
        return
    columns = places % points
    # A gap begins at the first column, or where the place before is none of it.
    begins = np.flatnonzero(np.append(True, np.diff(places) > 1) | (columns == 0))
    lengths = np.diff(begins, append=places.size)
    first, column = places[begins], columns[begins]
    begun, ended = column > 0, column + lengths < points
    before = first - begun
    after = np.where(ended, first + lengths, before)
    before = np.where(begun, before, after)
    left, right = before - (first - column), after - (first - column)
    low = flat[before]
    inside = begun & ended
    with np.errstate(all="ignore"):
        slopes = (flat[after] - low) / np.where(inside, grid[right] - grid[left], 1.0)
        # Beyond an end the line is level.
        slopes[~inside] = 0.0
        lines = np.repeat(slopes, lengths) * (grid[columns] - np.repeat(grid[left], lengths))
        flat[places] = lines + np.repeat(low, lengths)
