"""Deviations whose coefficients are bounded, in a loop that numba compiles; for large data alone.

`dpfda.covariance.publish` calls it, and says what it makes, and why.
"""

from __future__ import annotations

import math

import numpy as np

from dpfda.numerics.arrays import Floats, Integers, Numbers
from dpfda.numerics.numba_loops import UNSIGNED, compiled

# Exponents beyond which a power of two may be no float.
FAREST = 900


@compiled
def on_own_grids(
    rows: Numbers, lower: Floats, upper: Floats, center: Floats, bits: int, made: Floats, out: Integers
) -> None:
    """Finite rows, clipped and less a center, as integers of at most so many bits; and a shift of each.

    Row i of what is made is 2^shift times what it stands for, rounded: a function of the record alone.
    """
    for i in range(rows.shape[0]):
        row, own, largest = rows[i], made[i], np.int64(0)
        for k in range(UNSIGNED(row.size)):
            own[k] = min(max(np.float64(row[k]), lower[k]), upper[k]) - center[k]
            # Bits of sizes, which are in the order of these: integers are compared as vectors.
            largest = max(largest, np.float64(abs(own[k])).view(np.int64))
        out[i] = bits - math.frexp(np.int64(largest).view(np.float64))[1]
        if abs(out[i]) <= FAREST:
            # A product with a power of two is what ldexp gives, where that power is a float.
            factor = math.ldexp(1.0, out[i])
            for k in range(UNSIGNED(row.size)):
                own[k] = np.rint(own[k] * factor)
        else:
            for k in range(row.size):
                own[k] = np.rint(math.ldexp(own[k], out[i]))
