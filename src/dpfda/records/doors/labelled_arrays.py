"""Labelled arrays of xarray, recognised by their module, not imported.

The coordinates are the grid, or the array is refused: what is labelled is not read as if it were not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import DataError, OrientationError, ParameterError
from dpfda.records.cells import moments
from dpfda.records.doors import Door, Handed
from dpfda.records.headers import ARGUMENTS

if TYPE_CHECKING:
    from xarray import DataArray


class LabelledArray(Door["DataArray"]):
    """An array of xarray, or a data set, which is refused."""

    def recognises(self, data: object) -> bool:
        return type(data).__module__.partition(".")[0] == "xarray" and hasattr(data, "dims")

    def cells(self, data: DataArray) -> object:
        """The array below the labels. Raises DataError if it holds several variables."""
        if hasattr(data, "data_vars"):
            raise DataError("X must be one variable; found a data set of several. Pass one of them.")
        return data.data

    def curves(self, data: DataArray, groups: object, stated: object) -> Handed:
        """The second dimension is the grid.

        Raises OrientationError if the first dimension looks like the grid, or it cannot be told which of
        the two is. Raises ParameterError if dimensions after the first have other numbers than the
        stated axes of a box.
        """
        names, along = self._coordinates(data)
        if isinstance(stated, tuple):
            _check_axes(names[1:], along[1:], stated)
        return Handed(data, groups, _grid_along(data, names, along, stated is not None))

    def words(self, data: DataArray) -> dict[str, str | None]:
        """What the dimensions after the first and the values are called, with their units."""
        _, along = self._coordinates(data)
        words = {
            key: _spoken(dim, data.coords[dim].attrs if dim in set(data.coords) else {})
            for key, dim in zip(("domain", "domain_2", "domain_3"), data.dims[1:], strict=False)
            # What xarray calls a dimension that has no name.
            if not str(dim).startswith("dim_")
        }
        if len(along) > 1 and along[1] is not None and along[1].dtype.kind in "MOUT":
            dated = moments([str(label) for label in along[1]])
            words |= {} if dated is None else {"domain": dated[1]}
        return {**words, "value": _spoken(data.name, data.attrs)}

    def channels(self, data: DataArray) -> list[tuple[str, object]] | None:
        """The third dimension, by its coordinate or its numbers."""
        if len(data.shape) != 3:
            return None
        last = data.dims[2]
        own = data.coords[last].values if last in set(data.coords) else range(1, data.shape[2] + 1)
        return [(str(name), data[:, :, i]) for i, name in enumerate(own)]

    def _coordinates(self, data: DataArray) -> tuple[tuple[str, ...], tuple[Cells | None, ...]]:
        """Names of the dimensions, and the coordinate along each: an array, or None."""
        self.cells(data)
        # Asked for a coordinate that is not there, xarray makes one up.
        own = set(data.coords)
        along = [data.coords[dim] if dim in own else None for dim in data.dims]
        axes = tuple(None if labels is None else np.asarray(labels.data) for labels in along)
        return tuple(map(str, data.dims)), axes


def _spoken(name: object, attributes: Mapping[str, object]) -> str | None:
    called, units = attributes.get("long_name", name), attributes.get("units")
    if called is None:
        return None
    return str(called) if units is None else f"{called} ({units})"


def _beside(data: DataArray, place: int) -> str | None:
    """Name of a numeric coordinate along a dimension that is not called as the dimension; else None."""
    dim = data.dims[place]
    for name, coordinate in data.coords.items():
        if name != dim and tuple(coordinate.dims) == (dim,) and coordinate.dtype.kind in "biuf":
            return str(name)
    return None


def _grid_along(
    X: DataArray, names: Sequence[str], along: Sequence[Cells | None], stated: bool
) -> Floats | None:
    """The grid that the second dimension has as coordinate, None where it has none."""
    if len(names) != 2:
        return None
    rows, columns = map(_increasing, along)
    first, second = names
    turned = first.lower() in ARGUMENTS and second.lower() not in ARGUMENTS
    if turned or (rows is not None and columns is None and not stated):
        raise OrientationError(
            f"X must have the curves along its first dimension and the grid along its second; found "
            f"{first!r} first, which looks like the grid. Pass X.transpose({second!r}, {first!r}); if "
            f"{first!r} does number the curves, X.drop_vars({first!r})."
        )
    if stated:
        return None
    if along[1] is not None and columns is None:
        if along[1].dtype.kind in "OUST":
            return None
        raise OrientationError(
            f"The coordinate of {second!r} must be numbers that increase, since it is the grid; found "
            f"others. Pass X.sortby({second!r}); or, where values stand in order and at equal steps, "
            f"X.drop_vars({second!r})."
        )
    beside = _beside(X, 1) if along[1] is None else None
    if beside is not None:
        raise OrientationError(
            f"The grid must be the coordinate of its dimension; found {beside!r} along {second!r}. Pass "
            f"X.swap_dims({{{second!r}: {beside!r}}}); or, where values are at equal steps, "
            f"X.drop_vars({beside!r})."
        )
    if rows is not None and columns is not None and second.lower() not in ARGUMENTS:
        raise OrientationError(
            f"It must be clear which dimension of X is the grid; found numbers along both {first!r} and "
            f"{second!r}. Pass X.drop_vars({first!r}), so that {second!r} is the grid; or "
            f"X.transpose({second!r}, {first!r}).drop_vars({second!r}), so that {first!r} is."
        )
    return columns


def _increasing(along: Cells | None) -> Floats | None:
    """A coordinate as points of a grid, where it is real numbers, or dates, that increase."""
    if along is None or along.ndim != 1 or along.size < 2:
        return None
    if along.dtype.kind in "MOUT":
        dated = moments([str(label) for label in along])
        along = np.zeros(0) if dated is None else dated[0]
    if along.dtype.kind not in "biuf" or along.size < 2:
        return None
    points = along.astype(np.float64)
    return points if np.isfinite(points).all() and (np.diff(points) > 0).all() else None


def _check_axes(names: Sequence[str], along: Sequence[Cells | None], axes: Sequence[Floats]) -> None:
    """Refuse coordinates that are not the public axes of a box."""
    if len(names) != len(axes):
        return
    for name, coordinate, axis in zip(names, along, axes, strict=True):
        points = _increasing(coordinate)
        if points is not None and not (points.size == axis.size and np.allclose(points, axis)):
            words = "have the basis's points as coordinates"
            remedy = f"Pass X.drop_vars({name!r}) if it means the same, or a basis on these points."
            raise ParameterError("X", words, f"others along {name!r}", remedy)
