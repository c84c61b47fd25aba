"""scikit-fda's FDataGrid as a matrix with its grid; recognised by its attributes, not imported."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import DataError


class GridData(NamedTuple):
    """Curves (n, m), their grid (m,) and their domain."""

    values: Any
    grid_points: NDArray[np.float64]
    domain_range: tuple[float, float]


def is_fdatagrid(data: Any) -> bool:
    """Whether this looks like an FDataGrid."""
    return all(hasattr(data, name) for name in ("data_matrix", "grid_points", "domain_range"))


def read_fdatagrid(data: Any) -> GridData:
    """Take a univariate FDataGrid on an interval apart.

    Raises
    ------
    DataError
        If its curves are vector-valued or live on more than one dimension.
    """
    matrix = data.data_matrix
    shape = tuple(getattr(matrix, "shape", ()))
    if len(shape) != 3 or shape[2] != 1:
        raise DataError(
            "An FDataGrid must hold real-valued curves on an interval; found a data matrix of shape "
            f"{shape}. Pass one coordinate at a time: fd.coordinates[0]."
        )
    start, end = data.domain_range[0]
    return GridData(matrix[..., 0], np.asarray(data.grid_points[0]), (float(start), float(end)))
