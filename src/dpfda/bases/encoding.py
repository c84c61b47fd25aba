"""Float arrays as JSON, exact to the bit."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray


def array_to_json(array: NDArray[np.float64]) -> dict[str, Any]:
    """Little-endian doubles in base64, with their shape."""
    data = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "float64_base64": base64.b64encode(data).decode("ascii")}


def array_from_json(written: dict[str, Any]) -> NDArray[np.float64]:
    """The array again."""
    data = base64.b64decode(written["float64_base64"], validate=True)
    return np.frombuffer(data, dtype="<f8").astype(np.float64).reshape(written["shape"])
