"""scikit-fda's functional data: on grids, in a basis, irregular; recognised, not imported.

- `FDataGrid`: its data matrix as it lies, with its grid and domain; surfaces with one grid a variable.
- `FDataBasis`: each record evaluated on a public grid, from its own coefficients, in a fixed order of
  sums. Its basis is public. One made of other functional data (`CustomBasis`) may hold the records'
  own components and is refused.
- `FDataIrregular`: observations (`LongCurves`). Its domain is by default the span of the observed
  times, which is private, and is never taken over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpfda.bases.grids import equally_spaced
from dpfda.numerics.arrays import doubles
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.records.containers import cells_in, matrix_of
from dpfda.records.doors import Door, Handed
from dpfda.records.long import LongCurves

if TYPE_CHECKING:
    from skfda import FData, FDataBasis, FDataGrid, FDataIrregular


# Points on which functions in a basis are evaluated where no grid is stated.
POINTS = 101
ON_GRID = ("data_matrix", "grid_points", "domain_range")
SAMPLE_NAMES = "sample_names"


class FunctionalData(Door["FData"]):
    """Functional data of scikit-fda, or what looks like its FDataGrid."""

    def recognises(self, data: object) -> bool:
        return all(hasattr(data, name) for name in ON_GRID) or (
            type(data).__module__.partition(".")[0] == "skfda" and hasattr(data, "dim_codomain")
        )

    def curves(self, data: FData, groups: object, stated: object) -> Handed:
        """Take functional data apart.

        Functions in a basis are evaluated on the stated grid; `groups` may be "sample_names", where the
        names of the samples say whose they are.

        Raises DataError if the functions have several values, or are of a kind that cannot be read.
        Raises ParameterError if `groups` is another word.
        """
        if getattr(data, "dim_codomain", 1) != 1:
            raise DataError(
                f"Functional data must have one value a point; found {data.dim_codomain}. Take "
                "PrivateVectorMean for their mean, or one coordinate at a time: fd.coordinates[0]."
            )
        units = _units(data, groups)
        if hasattr(data, "data_matrix"):
            return _on_grid(data, units)
        if getattr(data, "dim_domain", 1) != 1:
            raise DataError(
                f"Functions of {data.dim_domain} variables must be on a grid; found "
                f"{type(data).__name__}. Pass fd.to_grid(grid_points) with public points."
            )
        if self.is_irregular(data):
            return Handed(_observations(data, units), None)
        return _in_basis(data, units, stated)

    def words(self, data: FData) -> dict[str, str | None]:
        """Names of the variables and of the values, where the data have them."""
        arguments = zip(
            ("domain", "domain_2", "domain_3"), getattr(data, "argument_names", ()), strict=False
        )
        coordinates: Sequence[str] = getattr(data, "coordinate_names", ())
        return {**dict(arguments), "value": coordinates[0] if len(coordinates) == 1 else None}

    def is_irregular(self, data: FData) -> bool:
        return hasattr(data, "start_indices")

    def channels(self, data: FData) -> list[tuple[str, object]] | None:
        """One coordinate each."""
        if getattr(data, "dim_codomain", 1) == 1:
            return None
        return [
            (str(name or i + 1), data.coordinates[i]) for i, name in enumerate(data.coordinate_names)
        ]


def _units(data: FData, groups: object) -> object:
    if not isinstance(groups, str):
        return groups
    if groups != SAMPLE_NAMES or not hasattr(data, SAMPLE_NAMES):
        raise ParameterError(
            "groups", f"be a column, or {SAMPLE_NAMES!r} for functional data", repr(groups)
        )
    return list(data.sample_names)


def _on_grid(data: FDataGrid, units: object) -> Handed:
    matrix, grid = data.data_matrix, data.grid_points
    shape = tuple(getattr(matrix, "shape", ()))
    if len(shape) != len(grid) + 2 or shape[-1] != 1:
        raise DataError(
            "An FDataGrid must hold real-valued curves on an interval, or surfaces; found a data matrix "
            f"of shape {shape}. Pass one coordinate at a time: fd.coordinates[0]."
        )
    axes = tuple(np.asarray(points, dtype=np.float64) for points in grid)
    if len(axes) > 1:
        return Handed(matrix[..., 0], units, axes)
    start, end = data.domain_range[0]
    return Handed(matrix[..., 0], units, axes[0], (float(start), float(end)))


def _in_basis(data: FDataBasis, units: object, stated: object) -> Handed:
    """Functions in a public basis, evaluated record by record."""
    kind = type(data.basis).__name__
    if "Custom" in kind:
        raise DataError(
            "Functions must be in a public basis; found a CustomBasis, which may be made of the records "
            "themselves. Pass fd.to_grid(grid_points) where it is not."
        )
    start, end = map(float, data.domain_range[0])
    ends = start, end
    grid = equally_spaced(POINTS, ends) if stated is None else np.asarray(stated, dtype=np.float64)
    functions = np.asarray(data.basis(grid), dtype=np.float64)[..., 0]
    coefficients = doubles(matrix_of(data.coefficients, "repair"))
    values = np.zeros((coefficients.shape[0], grid.size))
    with np.errstate(all="ignore"):
        # One function after the other: BLAS would let the last bits depend on other records.
        for place, function in enumerate(functions):
            values += coefficients[:, place, None] * function
    return Handed(values, units, grid, ends)


def _observations(data: FDataIrregular, units: object) -> LongCurves:
    """Observations of each record, named by its number; one without any has one that is missing."""
    starts = np.asarray(data.start_indices, dtype=np.int64)
    sizes = np.diff(np.append(starts, len(data.values)))
    ids = np.concatenate([np.repeat(np.arange(starts.size), sizes), np.flatnonzero(sizes == 0)])
    nothing = np.full(int((sizes == 0).sum()), np.nan)
    times = np.concatenate([np.asarray(data.points)[:, 0], nothing])
    values = np.concatenate([np.asarray(data.values)[:, 0], nothing])
    order = np.argsort(ids, kind="stable")
    long = ids[order], times[order], values[order]
    if units is None:
        return LongCurves(*long)
    labels = cells_in(units, "groups")
    if len(labels) != starts.size:
        raise DataError(f"groups must hold one label a record ({starts.size}); found {len(labels)}.")
    return LongCurves(*long, [labels[record] for record in long[0]])
