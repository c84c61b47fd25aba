"""Names for the types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
# Of numbers at any width, and of any type: as records come.
Numbers = NDArray[np.number[Any]]
Cells = NDArray[Any]
# Python's own integers, or balls.
Objects = NDArray[np.object_]
