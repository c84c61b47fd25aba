"""Irregular curves: observations (id, time, value), smoothed record by record onto a public basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda.bases import Basis
from dpfda.numerics.arrays import Cells, Flags, Floats, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError, Private
from dpfda.records.cells import OUTSIDE, is_missing
from dpfda.records.containers import cells_in, column_of
from dpfda.records.curves import Curves
from dpfda.records.labels import label_key

# Noise variances from here on keep the smoothing well posed, whatever the times of a record.
SMALLEST_NOISE = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class LongCurves(Private):
    """Observations of curves, one a row: whose, when, how much. Private.

    Parameters
    ----------
    ids : array (n_observations,)
        Label of the record that each observation belongs to.
    times, values : array (n_observations,)
        When, in units of the domain (dates: days since a public one), and how much, in units of the
        data; infinite, and so of no use, where a cell is no number.
    groups : array (n_observations,), optional
        Privacy unit of each observation. Observations of two units under one label are refused, or
        (repairing) two records.

    Raises
    ------
    DataError
        If the lengths differ or there are no observations.

    Examples
    --------
    >>> LongCurves(["a", "a", "b"], [0.0, 0.7, 0.3], [1.0, 2.0, 1.5])
    LongCurves(content private)
    """

    ids: Any
    times: Any
    values: Any
    groups: Any = None

    def __post_init__(self) -> None:
        for name in ("ids", "groups"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _labels(getattr(self, name), name))
        for name in ("times", "values"):
            object.__setattr__(self, name, column_of(getattr(self, name), name)[0])
        shapes = {np.shape(column) for column in (self.ids, self.times, self.values)}
        shapes |= set() if self.groups is None else {np.shape(self.groups)}
        if len(shapes) != 1 or len(next(iter(shapes))) != 1:
            raise DataError(
                f"ids, times, values and groups must be columns of one length; found {shapes}."
            )
        if self.times.size == 0:
            raise DataError("There must be at least one observation; found none (0 sample(s)).")

    def records(self) -> Iterator[Integers]:
        """Row numbers of each record, in the order in which records first appear.

        Where there are groups, observations of two units under one label are two records: what becomes
        of a unit's observations then depends on those alone, whatever another unit's are called.
        """
        rows: dict[object, list[int]] = {}
        ids = [label_key(label) for label in self.ids]
        units = ids if self.groups is None else [label_key(label) for label in self.groups]
        for row, key in enumerate(zip(ids, units, strict=True)):
            rows.setdefault(key, []).append(row)
        for members in rows.values():
            yield np.array(members, dtype=np.int64)

    def record_groups(self, invalid: str = "refuse") -> list[object] | None:
        """Privacy unit of each of `records`.

        Parameters
        ----------
        invalid : {"refuse", "repair"}
            Raise where observations under one label name different units, or take them for as many
            records.

        Raises
        ------
        DataError
            If observations under one label name different units and nothing is to be repaired.
        """
        if self.groups is None:
            return None
        first: dict[object, int] = {}
        labels = []
        for rows in self.records():
            row = int(rows[0])
            start = first.setdefault(label_key(self.ids[row]), row)
            if invalid == "refuse" and start != row:
                raise DataError(
                    "groups must be the same for all observations of a record; "
                    "found two in the record of $place.",
                    "groups",
                    place=Location(start),
                )
            labels.append(self.groups[row])
        return labels

    def usable(self, ends: tuple[float, float], invalid: str) -> Flags:
        """Which observations are finite and inside the domain.

        Raises
        ------
        DataError
            Unless repairing, with the row of the first that is not, never its value.
        """
        good = np.isfinite(self.times) & np.isfinite(self.values)
        good &= (self.times >= ends[0]) & (self.times <= ends[1])
        if invalid == "refuse" and not good.all():
            raise DataError(
                "Every observation must be finite and inside the domain "
                f"[{ends[0]:g}, {ends[1]:g}]; found one that is not in $place. State a domain that "
                "holds all times, in their units; dates as days since a public one. Or use $invalid to "
                f"leave observations outside it out. {OUTSIDE}",
                place=Location(int(np.argmin(good))),
            )
        return np.asarray(good)


def _labels(labels: object, name: str) -> Cells:
    """Labels as objects, None for those that are missing or cannot be read: all these are one.

    An array of whole numbers stays as it is: none of them is missing.
    """
    cells = cells_in(labels, name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iu":
        return cells
    column = np.empty(len(cells), dtype=object)
    for row, label in enumerate(cells):
        column[row] = None if is_missing(label) or label_key(label) is None else label
    return column


def curves_from_long(long: LongCurves, basis: Basis, nugget: float, invalid: str = "refuse") -> Curves:
    """Smooth each record onto the public basis and evaluate it on the public grid.

    A record is its own mean value plus the posterior mean of a Gaussian process with the basis's
    covariance, scaled to average variance one, given its observations with noise of variance
    `nugget`. Observations that are not finite or lie outside the domain are not used.

    Parameters
    ----------
    long : LongCurves
        Private observations.
    basis : Basis
        Public basis; its grid is where the curves are returned.
    nugget : float
        Public noise variance relative to that of the curves, at least 1e-8.
    invalid : {"refuse", "repair"}
        Raise on observations without a record and on unusable ones, or count all of the first kind
        as one record, leave out the second kind, and replace a record without any usable observation
        by a fixed public element.

    Raises
    ------
    DataError
        With the row of the first offence, never its value.
    """
    if not (np.isfinite(nugget) and nugget >= SMALLEST_NOISE):
        raise ParameterError("nugget", f"be finite and at least {SMALLEST_NOISE}", repr(nugget))
    unlabelled = np.array([label is None for label in long.ids])
    if invalid == "refuse" and unlabelled.any():
        words = f"ids must have a label for every observation; found none in $place. {OUTSIDE}"
        raise DataError(words, place=Location(int(unlabelled.argmax())))
    start, end = basis.domain_range
    good = long.usable(basis.domain_range, invalid)
    deviations = np.sqrt(basis.eigenvalues * (end - start) / basis.eigenvalues.sum())
    grid_functions = basis.evaluate(basis.grid_points) * deviations
    smoothed = [
        _smoothed(long, rows[good[rows]], basis, deviations, grid_functions, nugget)
        for rows in long.records()
    ]
    usable = np.array([row is not None for row in smoothed])
    blank = np.zeros(basis.grid_points.size)
    return Curves(np.array([blank if row is None else row for row in smoothed]), usable)


def _smoothed(
    long: LongCurves,
    rows: Integers,
    basis: Basis,
    deviations: Floats,
    grid_functions: Floats,
    nugget: float,
) -> Floats | None:
    """One record on the grid, None where it has no usable value; it sees no other record."""
    if rows.size == 0:
        return None
    order = rows[np.lexsort((long.values[rows], long.times[rows]))]
    times, values = long.times[order], long.values[order]
    # Scaled by a power of two so that no sum of values overflows.
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.ldexp(values, -exponent)
    mean = values.mean()
    # In the K scaled functions, whose matrix has no eigenvalue below the noise, and a size that does not
    # grow with the number of observations.
    functions = basis.evaluate(times) * deviations
    gram = functions.T @ functions
    gram[np.diag_indices_from(gram)] += nugget
    curve = mean + grid_functions @ np.linalg.solve(gram, functions.T @ (values - mean))
    with np.errstate(over="ignore"):
        # A warning would tell something of the values; an overflow makes the record unusable.
        curve = np.ldexp(curve, exponent)
    return curve if np.isfinite(curve).all() else None
