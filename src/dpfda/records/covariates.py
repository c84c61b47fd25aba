"""Covariates of records, and with their curves the rows that a table of corners is made of. Private."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpfda.bases.corners import Corners
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import DataError
from dpfda.records.containers import cells_in, is_frame, opened, shape_of
from dpfda.records.frames import Container, is_dask


def columns_named(Z: Any, names: Sequence[str], called: str = "Z") -> list[object]:
    """The columns of covariates: of a frame or mapping by name, of an array (n, q) in order.

    called: What the caller calls them.
    Raises DataError or ParameterError if there are others than these.
    """
    if isinstance(Z, Mapping):
        if {*Z} != {*names}:
            raise DataError(
                f"{called} must have a column for each of {', '.join(names)}, and no other; found "
                f"{', '.join(map(str, Z)) or 'none'}. Name them as they were stated."
            )
        return [Z[name] for name in names]
    beside = Container.of(Z)
    if beside.labels is not None and not all(isinstance(label, int) for label in beside.labels):
        return beside.without(names, "covariates")[1]
    Z = opened(beside.table)
    shape = shape_of(Z)
    if len(shape) == 1 and len(names) == 1:
        return [Z]
    if len(shape) != 2 or shape[1] != len(names):
        raise DataError(
            f"{called} must have one column a covariate ({len(names)}); found shape {shape}."
        )
    if is_frame(Z) or isinstance(Z, np.ndarray):
        # Column by column: a common type for all those of a frame would follow from what they hold.
        places = Z.iloc if is_frame(Z) else Z
        return [places[:, i] for i in range(len(names))]
    rows = [cells_in(row, f"A row of {called}") for row in Z]
    if any(len(row) != len(names) for row in rows):
        raise DataError(f"{called} must have one column a covariate ({len(names)}) in every row.")
    return [[row[i] for row in rows] for i in range(len(names))]


def columns_apart(X: object, names: Sequence[str]) -> tuple[object, list[object]]:
    """A frame without the columns of these names, and these columns.

    Raises DataError if it is no frame with labels. Raises ParameterError if it has no column of a name.
    """
    records = Container.of(X)
    if records.labels is None:
        raise DataError(
            "Z must hold the covariates of each record; found None, and X is no frame with columns "
            f"{', '.join(names)}."
        )
    return records.without(names, "covariates")


def columns_on_cluster(X: object, Z: object, names: Sequence[str]) -> tuple[object, dict[str, object]]:
    """Records, and columns of these names beside them: of Z, or of a frame X, which has others then.

    Z: Mapping, Dask array (n, q) in the order of the names, Dask frame, or series of one column.
    """
    if Z is None:
        X, columns = columns_apart(X, names)
    elif is_dask(Z) and Z.ndim == 1:
        if len(names) != 1:
            raise DataError(
                f"Z must have one column a covariate ({len(names)}); found a single one. Pass an array "
                "of as many columns, or a frame whose columns have the names of the covariates."
            )
        columns = [Z]
    elif isinstance(Z, Mapping) or hasattr(Z, "columns") or not is_dask(Z):
        columns = columns_named(Z, names)
    else:
        columns = [Z[:, place] for place in range(len(names))]
    return X, dict(zip(names, columns, strict=True))


def scaled(values: Floats, bounds: tuple[float, float]) -> Floats:
    """Numbers clipped to public bounds and taken to [-1, 1]; 0 for what is not finite."""
    low, high = bounds
    clipped = np.clip(values, low, high)
    return np.where(np.isfinite(values), np.clip((2 * clipped - low - high) / (high - low), -1, 1), 0.0)


def corner_weights(corners: Corners, columns: Sequence[Cells]) -> Floats:
    """Weights (n, R) of the corners, from scaled numbers and places of levels.

    Every product is of factors of one record, in a fixed order.
    """
    weights = np.ones((len(columns[0]), 1))
    for covariate, column in zip(corners.covariates, columns, strict=True):
        if covariate.bounds is not None:
            factors = np.stack([(1 - column) / 2, (1 + column) / 2], axis=1)
        else:
            factors = np.equal.outer(column, np.arange(covariate.ends)).astype(np.float64)
        weights = (weights[:, :, None] * factors[:, None, :]).reshape(len(weights), -1)
    return weights


def table_rows(
    weights: Floats, squares: Floats, shares: Floats, cells: Sequence[int], sizes: Integers,
    usable: Flags, exponents: tuple[int, int],
) -> tuple[Integers, Integers]:  # fmt: skip
    """What records add to a table: integers whose outer products are added up.

    weights: array (n, R). Of the corners: not negative, of sum one up to rounding.
    squares: array (n, q). Scaled numbers among the covariates; 2 u^2 - 1 is what is added up.
    shares: array (n, m). Values of curves, in half-distances from the middle of the bounds.
    cells: Numbers of grid points in the cells.
    sizes: array (n,). Number of usable records of each record's unit.
    usable: array (n,) of bool.
    exponents: (int, int). Weights are in units of 2^-w, of sum at most 2^w a unit; numbers in units of
        2^-v, within 2^v.
    Returns array (n, R), array (n, 1 + q + M) of int64: Row i depends on record i, and the number of
        records of its unit, alone.
    """
    weight, value = exponents
    parts = np.floor(np.ldexp(np.where(usable[:, None], weights, 0.0), weight)).astype(np.int64)
    parts //= np.maximum(sizes, 1)[:, None]
    numbers = [np.ones(len(weights)), *(2 * squares.T**2 - 1), *_averages(shares, cells)]
    unit = 2.0**value
    rows = [np.clip(np.rint(np.ldexp(np.clip(row, -1.0, 1.0), value)), -unit, unit) for row in numbers]
    table = np.where(usable[:, None], np.stack(rows, axis=1), 0.0)
    return parts, table.astype(np.int64)


def _averages(shares: Floats, cells: Sequence[int]) -> Iterator[Floats]:
    """Averages over cells, each of one record's values added up in order."""
    start = 0
    for count in cells:
        total = np.zeros(len(shares))
        for column in shares[:, start : start + count].T:
            total += column
        yield total / count
        start += count
