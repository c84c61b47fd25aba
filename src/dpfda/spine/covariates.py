"""Covariates of records: how they are stated, and how their columns are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpfda.bases.corners import Covariate
from dpfda.numerics.arrays import Cells, Flags
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import entries, pair, plain_words, shown
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import column_of
from dpfda.records.covariates import scaled
from dpfda.spine.memberships import OTHER, members, none_of, public_labels


def stated_covariates(given: object) -> tuple[Covariate, ...]:
    """Covariates with their bounds or levels, from a mapping of names.

    Raises
    ------
    ParameterError
        If one cannot be read.
    """
    if not isinstance(given, Mapping) or not given:
        words = "be a mapping from names to (lower, upper), or to a list of levels"
        raise ParameterError("covariates", words, shown(given))
    return tuple(_covariate(name, known) for name, known in given.items())


def _covariate(name: object, known: object) -> Covariate:
    """One covariate: two numbers are its bounds, anything else its levels."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError("covariates", "be named by words", shown(name))
    plain_words(name, "covariates")
    ends = entries(known) if isinstance(known, list | tuple | np.ndarray) else []
    if len(ends) == 2 and all(isinstance(end, int | float | np.number | Fraction) for end in ends):
        return Covariate(name, pair(tuple(ends), name))
    return Covariate(name, None, tuple(str(level) for level in public_labels(known, name, 2)))


def read_covariates(
    covariates: Sequence[Covariate],
    stated: Mapping[str, Any],
    columns: Sequence[object],
    count: int,
    invalid: str,
    records: str = "curve",
) -> tuple[list[Cells], Flags]:
    """Numbers scaled to [-1, 1], or places of levels, and which records (count,) have all of them.

    Raises
    ------
    DataError
        If one is unusable and is to be refused: with its row, never its value.
    """
    made, usable = [], np.ones(count, dtype=np.bool_)
    for each, column in zip(covariates, columns, strict=True):
        if each.bounds is not None:
            numbers = column_of(column, each.name)[0]
            fits, found = np.isfinite(numbers), scaled(numbers, each.bounds)
        else:
            levels = [*stated[each.name]]
            places = members(column, levels, each.name)
            fits, found = places >= 0, np.maximum(places, 0)
            if invalid == "refuse" and (places == OTHER).any():
                where = f" in row {int(np.argmax(places == OTHER))}"
                raise none_of(each.name, "levels", [*each.levels], where)
        if len(found) != count:
            raise DataError(
                f"{each.name} must have one entry a {records} ({count}); found {len(found)}."
            )
        if invalid == "refuse" and not fits.all():
            raise DataError(
                f"{each.name} must have a usable value for every {records}; found one that is missing "
                f"or no finite number in row {int(np.argmin(fits))}. Use invalid='repair' to leave "
                f"such records out. {OUTSIDE}"
            )
        made.append(found)
        usable &= fits
    return made, usable
