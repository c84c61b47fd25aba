"""Public curves that a mean may be near to: last year's, another hospital's release, a function."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.errors import ParameterError
from dpfda.numerics.parameters import reals

Floats = NDArray[np.float64]


def read_public_curves(prior: Any, grid: Floats) -> Floats | None:
    """Values (C, m) on the grid of one public curve or several; None without any.

    Parameters
    ----------
    prior : array (m,) or (C, m), callable, or a list of them
        Callables, releases among them, take points of the domain and return values.
    grid : array (m,)
        Public grid.

    Raises
    ------
    ParameterError
        If one does not fit the grid or is not finite.

    Examples
    --------
    >>> read_public_curves([np.cos, [1.0, 0.5, 0.0]], np.linspace(0, 1, 3)).shape
    (2, 3)
    """
    if prior is None:
        return None
    several = isinstance(prior, list | tuple) and any(callable(one) or np.ndim(one) > 0 for one in prior)
    rows = [_values(one, grid) for one in (prior if several else [prior])]
    return np.concatenate(rows)


def _values(one: Any, grid: Floats) -> Floats:
    try:
        values = np.atleast_2d(reals(one(grid) if callable(one) else one, "prior"))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            "prior", "be curves on the grid, or functions", type(one).__name__
        ) from None
    if values.ndim != 2 or values.shape[1] != grid.size or not np.all(np.isfinite(values)):
        raise ParameterError(
            "prior",
            f"have {grid.size} finite values a curve, one a grid point",
            f"an array of shape {values.shape}" if np.all(np.isfinite(values)) else "NaN or infinity",
            "Pass a function of the domain, or a release, for curves on another grid.",
        )
    return values
