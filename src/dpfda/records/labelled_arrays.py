"""Labelled arrays of xarray, recognised by their module, not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.errors import DataError


def is_labelled(values: Any) -> bool:
    """Whether this is an array (or a data set) of xarray."""
    return type(values).__module__.partition(".")[0] == "xarray" and hasattr(values, "dims")


def unlabelled(values: Any) -> Any:
    """The array below the labels.

    Raises
    ------
    DataError
        If it holds several variables.
    """
    if hasattr(values, "data_vars"):
        raise DataError("X must be one variable; found a data set of several. Pass one of them.")
    return values.data


def coordinates(values: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Names of the dimensions, and the coordinate along each: an array, or None. Public."""
    unlabelled(values)
    names = tuple(map(str, values.dims))
    # Asked for a coordinate that is not there, xarray makes one up.
    own = set(values.coords)
    along = [values.coords[dim] if dim in own else None for dim in values.dims]
    return names, tuple(None if found is None else np.asarray(found.data) for found in along)


def labelled_words(values: Any) -> dict[str, Any]:
    """What the dimensions after the first and the values are called, with their units. Public."""
    unlabelled(values)
    found = {
        key: _spoken(dim, values.coords[dim].attrs if dim in set(values.coords) else {})
        for key, dim in zip(("domain", "domain_2", "domain_3"), values.dims[1:], strict=False)
        # What xarray calls a dimension that has no name.
        if not str(dim).startswith("dim_")
    }
    return {**found, "value": _spoken(values.name, values.attrs)}


def _spoken(name: Any, attributes: Any) -> str | None:
    called, units = attributes.get("long_name", name), attributes.get("units")
    if called is None:
        return None
    return str(called) if units is None else f"{called} ({units})"


def coordinate_beside(values: Any, place: int) -> str | None:
    """Name of a numeric coordinate along a dimension that is not called as the dimension; else None."""
    dim = values.dims[place]
    for name, found in values.coords.items():
        if name != dim and tuple(found.dims) == (dim,) and found.dtype.kind in "biuf":
            return str(name)
    return None
