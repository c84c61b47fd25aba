"""Which group every privacy unit is in, and covariates of records: stated, and read cell by cell.

Labels in several columns are one label, a tuple: groups by tariff and region are the pairs of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.corners import Covariate
from dpfda.numerics.arrays import Cells, Flags, Integers, is_native
from dpfda.numerics.errors import DataError, InPython, Location, ParameterError
from dpfda.numerics.parameters import entries, pair, plain_words, shown, whole
from dpfda.privacy.guarantees import Neighbours
from dpfda.records import LongCurves
from dpfda.records.cells import OUTSIDE, read_cell
from dpfda.records.containers import Column, cells_in, column_of
from dpfda.records.covariates import scaled
from dpfda.records.labels import Key, label_key, plain_label, read_keys
from dpfda.releases.function import level_name
from dpfda.spine.choices import check_groups

# Groups as an estimator has them: a list, or lists by the names of columns.
Levels: TypeAlias = Sequence[object] | Mapping[str, Sequence[object]] | None
# Instead of a group's number: for a label that is none of the levels, and for no label.
OTHER, NONE = -1, -2


def unit_keys(X: object, groups: object, invalid: str) -> list[Key] | None:
    """What the privacy unit of each record, or observation, is compared by; None without units."""
    if isinstance(X, LongCurves):
        if groups is not None:
            raise ParameterError("groups", "be part of LongCurves", "a separate argument")
        return read_keys(X.ids if X.groups is None else X.groups, "groups", "repair")
    return None if groups is None else read_keys(groups, "groups", invalid)


# More groups than so many, with fewer records than so many each, are taken for persons until named.
MANY, FEW = 10, 10
IN_TWO = (
    "Then its data would be released twice and cost twice. Keep one group a unit; where each went "
    "through all conditions, release the mean of each unit's difference. Or use $invalid to "
    "count a unit in the group of its first record, without its records of other groups."
)


def read_memberships(
    y: object, count: int, own: list[Key] | None, invalid: str, stated: bool
) -> tuple[list[Key], NDArray[np.bool_]]:
    """What the group of each record's unit is compared by, None where there is none.

    And which records are of another group than the first of their unit: none of them may count. Where
    the groups are stated, labels are compared as `level_key` says.

    Raises DataError if labels are missing, or a unit is in two groups and nothing is to be repaired.
    """
    if y is None:
        raise DataError(
            "y must hold the group of each record: levels or a comparison requires y to be passed, but "
            "the target y is None."
        )
    keys = [by_value(key) if stated else key for key in read_keys(y, "y", "repair")]
    if len(keys) != count:
        raise DataError(
            f"y must hold one label a record ({count}); found inconsistent numbers of samples: shape "
            f"({len(keys)},)."
        )
    if own is not None and len(own) != count:
        raise DataError(f"groups must hold one label a record ({count}); found shape ({len(own)},).")
    if invalid == "refuse" and None in keys:
        words = "y must have a group for every record; found none in $place."
        raise DataError(words, place=Location(keys.index(None)))
    first: dict[Key, Key] = {}
    # Units without a label of their own are one unit, as in `PrivateMean`.
    settled = keys if own is None else [first.setdefault(*pair) for pair in zip(own, keys, strict=True)]
    other = np.array([group != key for group, key in zip(settled, keys, strict=True)], dtype=np.bool_)
    if invalid == "refuse" and other.any():
        words = f"Every unit must be in one group; found a unit in two, at $place. {IN_TWO}"
        raise DataError(words, place=Location(int(np.argmax(other))))
    return settled, other


def read_levels(
    stated: Sequence[object] | None, memberships: list[Key], y: object, neighbours: Neighbours
) -> list[object]:
    """The groups in their order: those that are given, or those found where membership is public."""
    if stated is not None:
        levels = _declared(stated)
    elif neighbours is Neighbours.ADD_REMOVE:
        remedy = "Which groups occur is private there; name them from public knowledge."
        raise ParameterError("levels", "be given under add/remove neighbours", "None", remedy)
    else:
        levels = sorted(_found(memberships, y).values(), key=str)
        if len(levels) > MANY and len(memberships) < FEW * len(levels):
            words = f"name the groups where more than {MANY} have fewer than {FEW} records on average"
            remedy = (
                "Names of groups are published. If these are persons, compare by another column; else "
                "name them."
            )
            raise ParameterError("levels", words, f"{len(levels)} groups", remedy)
    keys = [label_key(level) if stated is None else level_key(level) for level in levels]
    if len(levels) < 2 or None in keys or len(set(keys)) != len(levels):
        words = "be two or more different groups"
        samples = InPython(f" (n_samples = {len(memberships)})")
        raise ParameterError("levels", words, len(levels), "Compare two$samples.", samples=samples)
    return levels


def factors_of(y: object, levels: object, neighbours: Neighbours) -> dict[str, list[object]]:
    """The labels of each column by its name, where groups are those of several columns; else none.

    Raises ParameterError if there is one column only, or as `read_levels` of any of them.
    """
    if isinstance(y, str):
        raise DataError(
            "y must hold the group of each record; found a word. Pass that column of X, apart."
        )
    named = levels
    if levels is None and (isinstance(y, Mapping) or hasattr(y, "columns")):
        table: Any = y
        named = dict.fromkeys(getattr(y, "column_names", getattr(y, "columns", table)))
    if not isinstance(named, Mapping):
        return {}
    if len(named) < 2 or not all(isinstance(name, str) for name in named):
        words = "name two or more columns of labels, where they are no list"
        raise ParameterError("levels", words, shown([*named]))
    factors = {}
    for name, stated in named.items():
        cells = _column(y, name)
        levels = read_levels(stated, read_keys(cells, name, "repair"), cells, neighbours)
        factors[plain_words(name, "levels")] = levels
    if len(crossed(factors)) < math.prod(map(len, factors.values())):
        raise ParameterError("levels", "have different names in every combination", shown(factors))
    return factors


def crossed(factors: Mapping[str, Sequence[object]]) -> dict[str, tuple[object, ...]]:
    """Groups by the labels of several columns, in their order, by the name of each."""
    return {level_name(labels): labels for labels in product(*factors.values())}


def labels_together(y: object, names: Iterable[str]) -> list[object]:
    """Labels in several columns as one label a record.

    Raises DataError if a column is missing, or has another number of labels.
    """
    columns = [_column(y, name) for name in names]
    if len(set(map(len, columns))) > 1:
        raise DataError(f"y must have one label a record in every column; found {[*map(len, columns)]}.")
    return [*zip(*columns, strict=True)]


def _column(y: Any, name: str) -> Column:
    """A column of a table of labels: of a frame, or of a mapping."""
    try:
        column = y[name]
    except Exception:
        words = f"y must be a table with a column of labels {name!r}, as levels say; found none."
        raise DataError(words, "y") from None
    return cells_in(column, name)


def names_of_levels(levels: Sequence[object]) -> list[str]:
    """What the groups are called, each by a name of its own."""
    names = [plain_words(level_name(level), "levels") for level in levels]
    if len(set(names)) != len(names):
        raise ParameterError("levels", "have different names", repr(names))
    return names


def none_of(
    name: str,
    stated: str,
    labels: Sequence[object],
    row: int | None,
    parameter: str = "",
    remedy: str = "",
) -> DataError:
    """Refusal of a label without a meaning; nothing is repaired by leaving out what was not stated."""
    where, place = ("", {}) if row is None else (" in $place", {"place": Location(row)})
    return DataError(
        f"{name} must hold one of the {stated} {shown(list(labels))}; found another label{where}. "
        f"{remedy or f'State all {stated} that occur'}, or leave the records of others out beforehand. "
        f"{OUTSIDE}",
        parameter,
        **place,
    )


def _declared(stated: object) -> list[object]:
    """Names of groups as the caller lists them; each can be compared and counted."""
    try:
        if isinstance(stated, str | bytes):
            raise TypeError
        levels = entries(stated)
        set(levels)
    except TypeError:
        words = "be a list of the groups, such as ['a', 'b']"
        raise ParameterError("levels", words, shown(stated)) from None
    return levels


def _found(memberships: list[Key], y: object) -> dict[Key, object]:
    """The groups that occur: words and numbers in one form for one value, others as they are."""
    labels: dict[Key, object] = {}
    occur = set(memberships)
    for label in cells_in(y, "y"):
        key = label_key(label)
        if key is not None and key in occur and key not in labels:
            plain = plain_label(key)
            labels[key] = label if plain is None else plain
    return labels


def flat(levels: Levels) -> Sequence[object] | None:
    """The groups in one list, where they are named by the labels of several columns."""
    if not isinstance(levels, Mapping):
        return levels
    return None if None in levels.values() else [*crossed(levels).values()]


def divisors(public_size: Any, levels: list[object]) -> list[int | None]:
    """The public number that each group's sums are divided by, if there is any."""
    if not isinstance(public_size, Mapping):
        return [public_size] * len(levels)
    if set(public_size) != set(levels):
        raise ParameterError("public_size", "have one number a level", f"{len(public_size)} numbers")
    return [public_size[level] for level in levels]


def divided(n: int, sizes: Sequence[int], least: int = 2) -> list[int]:
    """So many units in all, divided among groups in proportion to sizes; two at least in each.

    Examples
    --------
    >>> divided(101, [1, 1]), divided(90, [20, 10])
    ([51, 50], [60, 30])
    """
    ends = [-(-n * part // sum(sizes)) for part in accumulate(sizes, initial=0)]
    return [max(least, end - start) for start, end in pairwise(ends)]


def units_planned(n: int | Mapping[object, int], levels: Levels) -> dict[object, int]:
    """Units of each group: as stated, or of all divided evenly; of two where no groups are named."""
    if isinstance(n, Mapping):
        return {level: whole(size, "n", 2) for level, size in n.items()}
    named = flat(levels) or ("first", "second")
    total = whole(n, "n", 2 * len(named), words="be at least two units for each group")
    return dict(zip(named, divided(total, [1] * len(named)), strict=True))


def parted(
    y: object, declared: Levels, count: int, own: list[Key] | None, neighbours: Neighbours, invalid: str
) -> tuple[list[str], dict[object, int], list[NDArray[np.bool_]]]:
    """Names of the groups; how many units each has; and which records are its own. Private.

    declared: Levels, as an estimator has them.
    own: What the unit of each record is compared by.
    Raises DataError if a unit is in two groups or in none, or a group has fewer than two where that is
    public.
    """
    factors = factors_of(y, declared, neighbours)
    if factors:
        y, declared = labels_together(y, factors), factors
    stated = declared is not None
    memberships, other = read_memberships(y, count, own, invalid, stated)
    levels = read_levels(flat(declared), memberships, y, neighbours)
    names = names_of_levels(levels)
    keys = [level_key(level) if stated else label_key(level) for level in levels]
    rows = [np.array([own == key for own in memberships], dtype=bool) for key in keys]
    settled = np.any(rows, axis=0) | other
    rows = [chosen & ~other for chosen in rows]
    if not settled.all() and (neighbours is Neighbours.REPLACE_ONE or invalid == "refuse"):
        raise none_of("y", "levels", names, int(np.argmin(settled)), "y")
    counts = [count_units(chosen, own) for chosen in rows]
    places = list(range(len(levels)))
    if neighbours is Neighbours.REPLACE_ONE:
        if factors and np.count_nonzero(counts) > 1:
            # Not every combination occurs; which do is public, like their sizes.
            places = [place for place in places if counts[place]]
        check_groups({names[place]: counts[place] for place in places})
    sizes = {levels[place]: counts[place] for place in places}
    return [names[place] for place in places], sizes, [rows[place] for place in places]


def count_units(chosen: NDArray[np.bool_], own: list[Key] | None) -> int:
    """How many privacy units a group has; public under replace-one neighbours."""
    if own is None:
        return int(chosen.sum())
    return len({unit for unit, inside in zip(own, chosen, strict=True) if inside})


def public_labels(stated: object, name: str, least: int) -> list[object]:
    """Public labels, each different from the others."""
    refusal = ParameterError(name, f"be a list of at least {least} different labels", shown(stated))
    try:
        labels = entries(stated)
    except TypeError:
        raise refusal from None
    keys = [level_key(label) for label in labels]
    words = {plain_words(str(label), name) for label in labels}
    unlike = len({*keys}) == len(keys) == len(words)
    if isinstance(stated, str | bytes | Mapping) or len(labels) < least or None in keys or not unlike:
        raise refusal
    return labels


def level_key(cell: object) -> Key:
    """What a label is compared by with those that are stated: `by_value` of its key."""
    return by_value(label_key(cell))


def by_value(key: Key) -> Key:
    """A key, of a number that is written as text that of the number: what is stated may be typed."""
    if isinstance(key, tuple) and key[:1] == ("tuple",):
        return "tuple", *map(by_value, key[1:])
    value, offence = read_cell(key) if isinstance(key, str) else (np.nan, "")
    return key if offence or not np.isfinite(value) else label_key(value)


def members(
    by: object, levels: Sequence[object], name: str, key_of: Callable[[object], Key] = level_key
) -> Integers:
    """Number of each person's group; `OTHER` where it is none of the levels, `NONE` where missing.

    Arrays of bytes or complex numbers are refused by their type: in a list a label is read by itself.
    """
    if getattr(getattr(by, "dtype", None), "kind", "") in ("S", "c"):
        words = "hold text or numbers; found bytes or complex numbers. One such label changes all others"
        raise DataError(f"{name} must {words}: correct it, or pass a list.", name)
    places = {key_of(level): place for place, level in enumerate(levels)}
    cells, rows = cells_in(by, name), None
    if isinstance(cells, np.ndarray) and (is_native(cells.dtype) or cells.dtype.kind == "U"):
        # A key for each label that occurs, and not for each record.
        cells, rows = np.unique(cells, return_inverse=True)
    numbers = np.array([_place(cell, key_of(cell), places) for cell in cells], dtype=np.int64)
    return numbers if rows is None else numbers[rows]


def _place(cell: object, key: Key, places: Mapping[Key, int]) -> int:
    if key is not None and key in places:
        return places[key]
    value, offence = read_cell(cell)
    return NONE if not offence and np.isnan(value) else OTHER


def stated_covariates(stated: object) -> tuple[Covariate, ...]:
    """Covariates with their bounds or levels, from a mapping of names.

    Raises
    ------
    ParameterError
        If one cannot be read.
    """
    if not isinstance(stated, Mapping) or not stated:
        words = "be a mapping from names to (lower, upper), or to a list of levels"
        raise ParameterError("covariates", words, shown(stated))
    return tuple(_covariate(name, limits) for name, limits in stated.items())


def _covariate(name: object, limits: object) -> Covariate:
    """One covariate: two numbers are its bounds, anything else its levels."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError("covariates", "be named by words", shown(name))
    plain_words(name, "covariates")
    ends = entries(limits) if isinstance(limits, list | tuple | np.ndarray) else []
    if len(ends) == 2 and all(isinstance(end, int | float | np.number | Fraction) for end in ends):
        return Covariate(name, pair(tuple(ends), name))
    return Covariate(name, None, tuple(str(level) for level in public_labels(limits, name, 2)))


def read_covariates(
    covariates: Sequence[Covariate],
    stated: Mapping[str, Iterable[object]],
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
    read, usable = [], np.ones(count, dtype=np.bool_)
    for variable, column in zip(covariates, columns, strict=True):
        if variable.bounds is not None:
            numbers = column_of(column, variable.name)[0]
            fits, cells = np.isfinite(numbers), scaled(numbers, variable.bounds)
        else:
            places = members(column, [*stated[variable.name]], variable.name)
            fits, cells = places >= 0, np.maximum(places, 0)
            if invalid == "refuse" and (places == OTHER).any():
                raise none_of(
                    variable.name, "levels", [*variable.levels], int(np.argmax(places == OTHER))
                )
        if len(cells) != count:
            raise DataError(
                f"{variable.name} must have one entry a {records} ({count}); found {len(cells)}."
            )
        if invalid == "refuse" and not fits.all():
            raise DataError(
                f"{variable.name} must have a usable value for every {records}; found one that is "
                "missing or no finite number in $place. Use $invalid to leave such records out. "
                f"{OUTSIDE}",
                place=Location(int(np.argmin(fits))),
            )
        read.append(cells)
        usable &= fits
    return read, usable
