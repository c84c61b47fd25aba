"""Doors through which records come in, and what is read of them: for tests of neighbouring containers.

A door hands records over in one kind of container; a mode is one way in which the library reads them.
Every door goes with every mode of its table. To add a door (a file, say), append a `Door` to `DOORS`:
`hand_over` makes a container of a list of records (lists of cells), `takes` says which cells it can hold
as they are.
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import xarray as xr
from sklearn.gaussian_process.kernels import Matern

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    Reading,
)
from dpfda.bases import KernelBasis
from dpfda.bases.boxes import BoxBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.covariance.strategies import Center
from dpfda.mean.settings import TwoLooks
from dpfda.records import LongCurves, curves_from_array, curves_from_long
from dpfda.records import doors as door
from dpfda.records.arrow import NamedRows
from dpfda.records.containers import column_of
from dpfda.records.covariates import scaled
from dpfda.records.frames import Container
from dpfda.spine.sums import Summation
from dpfda.testing import exact_totals, prepared_looks

POINTS = 3
RECORDS = 6
GRID = np.linspace(0.0, 1.0, POINTS)
BASIS = KernelBasis.on_grid(Matern(0.3), GRID)
IMAGES = BoxBasis.on_grid("cosine", (2, 2), ((0.0, 1.0), (0.0, 1.0)))


class Raising:
    """Whatever is asked of it, it raises."""

    def _raise(self, *arguments: Any) -> Any:
        raise RuntimeError("secret")

    __float__ = __int__ = __index__ = __len__ = __bool__ = __eq__ = __str__ = __repr__ = _raise
    __hash__ = None


class Lying:
    """It says to be a number, and equal to everything."""

    __class__ = float  # type: ignore[assignment]

    def __float__(self) -> float:
        return 0.5

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class OwnFloat(float):
    """A float with a conversion of its own."""

    def __float__(self) -> float:
        raise RuntimeError("secret")


class OwnInt(int):
    """An integer with an order of its own."""

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("secret")

    __gt__ = __lt__


class OwnText(str):
    """Text that does not tell its blanks."""

    def strip(self, *arguments: Any) -> str:
        raise RuntimeError("secret")


def held(value: Any) -> Any:
    """A zero-dimensional array of objects."""
    array = np.empty((), dtype=object)
    array[()] = value
    return array


NUMBERS: tuple[Any, ...] = (
    True,
    False,
    0,
    1,
    -1,
    3,
    2**53 - 1,
    0.25,
    -0.0,
    0.1,
    5e-324,
    1.7e308,
    np.float16(0.1),
    np.float32(0.1),
    np.float64(0.7),
    np.int8(-1),
    np.uint64(2**53 - 1),
    np.bool_(True),
    Decimal("0.1"),
    Decimal("-1e-999"),
    Fraction(1, 3),
    "0.5",
    " -0.25 ",
    ".5e0",
    np.str_("1."),
    np.array(0.5),
    np.array(True),
    held("0.5"),
    OwnFloat(0.5),
    OwnInt(1),
    OwnText(" 0.5"),
)
LOST: tuple[Any, ...] = (
    None,
    math.nan,
    np.float32("nan"),
    np.longdouble("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT", "D"),
    np.timedelta64("NaT", "D"),
    np.ma.masked,
    "",
    " NA ",
    "nan",
    np.array(np.nan),
)
HOSTILE: tuple[Any, ...] = (
    math.inf,
    -math.inf,
    "inf",
    "1e400",
    2**53,
    -(2**53),
    2**53 + 1,
    10**400,
    10**5000,
    np.uint64(2**63),
    np.int64(2**53),
    "9007199254740993",
    Decimal("9007199254740993"),
    Fraction(2**60),
    Decimal("1e999999999"),
    Decimal("Infinity"),
    Fraction(10**400),
    np.longdouble("0.1"),
    1j,
    complex(1, 0),
    np.complex64(1),
    b"1",
    "abc",
    "0x1",
    "1_000",
    "1,5",
    "٣",
    "x" * 5000,
    [0.5],
    (0.5, 1.0),
    {},
    {0.5},
    np.array([0.5]),
    np.zeros((2, 2)),
    np.array(1j),
    np.array(0.5, dtype=np.longdouble),
    np.ma.array([0.5], mask=[True]),
    pd.Timestamp("2020-01-01"),
    pd.Timestamp("2020-01-01", tz="CET"),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "D"),
    datetime.date(2020, 1, 1),
    datetime.timedelta(1),
    object(),
    Raising(),
    Lying(),
    float,
    len,
    ...,
)
CELLS = NUMBERS + LOST + HOSTILE

Record = list[Any]
Records = list[Record]


@dataclass(frozen=True)
class Door:
    """One way to hand records over."""

    name: str
    hand_over: Callable[[Records], Any]
    takes: Callable[[Any], bool] = lambda cell: True


class Shelf:
    """A container of a kind that is known by its door alone."""

    def __init__(self, records: Records) -> None:
        self.records = records


class ShelfDoor(door.Door):
    """Of shelves."""

    def recognises(self, data: Any) -> bool:
        return isinstance(data, Shelf)

    def cells(self, data: Shelf) -> Records:
        return data.records


@dataclass(frozen=True)
class Outcome:
    """What the library makes of records: the units, and integers or numbers of each, or their sum."""

    units: int
    rows: list[bytes] | None = None
    total: tuple[int, ...] | None = None


def objects(records: Records) -> Any:
    """Records in an array of objects, every cell as it is."""
    array = np.empty((len(records), len(records[0])), dtype=object)
    for i, record in enumerate(records):
        for j, cell in enumerate(record):
            array[i, j] = cell
    return array


def is_double(cell: Any) -> bool:
    """Whether a cell and the float64 that it becomes in an array are the same number."""
    small = type(cell) in (int, bool) and abs(cell) < 2**53
    return type(cell) in (float, np.float64, np.float32, np.float16, np.int8, np.bool_) or small


def natural(records: Records) -> Any:
    """The native array that the cells fit in, one of objects where there is none."""
    cells = [cell for record in records for cell in record]
    if all(type(cell) is bool for cell in cells):
        return np.array(records)
    if all(type(cell) in (int, bool) and abs(cell) < 2**63 for cell in cells):
        return np.array(records, dtype=np.int64)
    return np.array(records, dtype=np.float64) if all(map(is_double, cells)) else objects(records)


def masked(records: Records) -> Any:
    """A masked array with something hidden under every masked cell; of floats where they fit."""
    lost = np.array([[cell is np.ma.masked or cell is None for cell in record] for record in records])
    filled = [
        [0.5 if gone else cell for cell, gone in zip(record, row, strict=True)]
        for record, row in zip(records, lost, strict=True)
    ]
    return np.ma.masked_array(natural(filled), mask=lost)


def flat_cell(cell: Any) -> bool:
    """Whether a frame holds a cell as it is."""
    odd = np.ndarray | list | tuple | dict | set | np.longdouble | complex | np.complexfloating | Lying
    large = isinstance(cell, int) and not isinstance(cell, bool) and abs(int(cell)) >= 2**53
    kinds = (np.uint64, np.int64, np.datetime64, np.timedelta64, Raising, OwnInt, OwnFloat, OwnText)
    return not (type(cell) in kinds or issubclass(type(cell), odd) or large or cell is np.ma.masked)


def arrow(records: Records) -> Any:
    """A table of Arrow: columns of floats, or of text where a cell is text."""
    columns = {}
    for j in range(len(records[0])):
        column = [record[j] for record in records]
        texts = any(isinstance(cell, str) for cell in column)
        columns[f"p{j}"] = pa.array(
            [_text(cell) for cell in column] if texts else column, from_pandas=True
        )
    return pa.table(columns)


def _text(cell: Any) -> str | None:
    return None if cell is None else cell if isinstance(cell, str) else repr(float(cell))


def labels(names: list[str]) -> Any:
    """A frame's columns of one family."""
    return [f"p{j}" for j in range(len(names))]


def frame(records: Records) -> Any:
    """A data frame, its columns of the types that pandas infers."""
    return pd.DataFrame(records, columns=labels(records[0]))


def nullable(records: Records) -> Any:
    """A frame of types with a missing value of their own."""
    # To find the types pandas tries integers: it warns of infinite cells.
    with np.errstate(invalid="ignore"):
        return frame(records).convert_dtypes()


def of_arrow(cell: Any) -> bool:
    """Whether a cell is of a type that a column of Arrow has."""
    return type(cell) in (type(None), float, str)


DOORS: list[Door] = [
    Door("list", lambda records: [list(record) for record in records]),
    Door("tuple", lambda records: tuple(tuple(record) for record in records)),
    Door("list of arrays", lambda records: [natural([record])[0] for record in records]),
    Door("list of masked arrays", lambda records: [masked([record])[0] for record in records]),
    Door("list of series", lambda records: [pd.Series(record, dtype=object) for record in records]),
    Door("container of its own", lambda records: Shelf([list(record) for record in records])),
    Door("array", natural),
    Door("transposed memory", lambda records: np.asfortranarray(natural(records))),
    Door("array of objects", objects),
    Door("masked array", masked),
    Door("frame", frame, flat_cell),
    Door(
        "frame of objects",
        lambda records: pd.DataFrame(objects(records), columns=labels(records[0]), dtype=object),
    ),
    Door("frame of nullable types", nullable, is_double),
    Door("table of Arrow", arrow, of_arrow),
    Door("batches of Arrow", lambda records: arrow(records).to_reader(2), of_arrow),
    Door("frame of polars", lambda records: pl.from_arrow(arrow(records)), of_arrow),
    Door("lazy frame of polars", lambda records: pl.from_arrow(arrow(records)).lazy(), of_arrow),
    Door("relation of DuckDB", lambda records: duckdb.from_arrow(arrow(records)), of_arrow),
    Door("rows of SQL", lambda records: NamedRows([str(i) for i in range(len(records[0]))], records)),
    # xarray itself compares and converts integers: one that raises, or is too large, never is in it.
    Door(
        "labelled array",
        lambda records: xr.DataArray(natural(records), dims=("who", "t")),
        lambda cell: type(cell) is not OwnInt and not (type(cell) is int and abs(cell) >= 2**63),
    ),
]


def mean_mode(**parameters: Any) -> Callable[[Any], Outcome]:
    """The sum behind a mean, as fits, streams and clusters add it up."""
    settings = {
        "bounds": (-1, 1),
        "basis": BASIS,
        "mechanism": "laplace",
        "invalid": "repair",
    } | parameters
    estimator = PrivateMean(1.0, **settings)
    summation = Summation.of(estimator.plan(n=RECORDS))

    def read(X: Any) -> Outcome:
        with np.errstate(all="ignore"):
            curves = Container(X).curves(settings["basis"].grid_points)
            total = summation.of_records(summation.matrix(curves.values))
        return Outcome(total.count_with_noise(0, 1), total=exact_totals(total))

    return read


def rows_of(curves: Any) -> list[bytes]:
    """Each record's numbers, bit for bit, and whether it is usable."""
    pairs = zip(curves.values, curves.usable, strict=True)
    # Zero has two signs, which make one integer: pandas drops one where it makes a column of integers.
    return [(values + 0.0).tobytes() + bytes([bool(usable)]) for values, usable in pairs]


def curves_mode(missing: str) -> Callable[[Any], Outcome]:
    """The curves as they are read."""

    def read(X: Any) -> Outcome:
        curves = curves_from_array(X, GRID, missing, "repair")
        return Outcome(curves.usable.size, rows_of(curves))

    return read


def covariance(X: Any) -> Outcome:
    """The curves that outer products are made of."""
    estimator = PrivateCovariance(
        1.0, center=Center(0.0, radius=1.0), basis=BASIS, reading=Reading(invalid="repair")
    )
    curves = estimator.prepare(X).total
    return Outcome(curves.usable.size, rows_of(curves))


def two_looks(X: Any) -> Outcome:
    """The curves whose distances are counted."""
    estimator = PrivateMean(1.0, bounds=(-1, 1), reading=Reading(invalid="repair"), mechanism=TwoLooks())
    prepared = prepared_looks(estimator, X)
    rows = [row for curves in prepared.total.units(prepared.plan.whole) for row in rows_of(curves)]
    return Outcome(len(rows), rows)


def comparison(X: Any) -> Outcome:
    """The sums of two groups; a record's group is public."""
    estimator = PrivateComparison(
        1.0, bounds=(-1, 1), basis=BASIS, reading=Reading(invalid="repair"), mechanism="laplace"
    )
    parts = estimator.prepare(X, ["a", "b"] * (RECORDS // 2))[1]
    totals = [sum(column) for column in zip(*(exact_totals(part.total) for part in parts), strict=True)]
    return Outcome(sum(part.total.count_with_noise(0, 1) for part in parts), total=tuple(totals))


def effects(X: Any) -> Outcome:
    """Curves at the corners of a covariate."""
    estimator = PrivateFunctionalRegression(
        1.0,
        bounds=(-1, 1),
        covariates={"age": (0, 1)},
        cells=2,
        domain=Domain(GRID),
        reading=Reading(invalid="repair"),
    )
    prepared = estimator.prepare(X, {"age": [0.25] * RECORDS})
    return Outcome(prepared.plan.size, total=exact_totals(prepared.total))


def density(X: Any) -> Outcome:
    """Points of a box of as many sides as a record has cells."""
    box = ((-1.0, 1.0),) * POINTS
    prepared = PrivateDensity(1.0, domain=box, cells=2, reading=Reading(invalid="repair")).prepare(X)
    return Outcome(prepared.plan.size, total=exact_totals(prepared.total))


def machine(X: Any) -> Outcome:
    """Features of a kernel machine."""
    estimator = PrivateKernelRegressor(
        1.0,
        bounds=(-1, 1),
        target_bounds=(-1, 1),
        loss="squared",
        features="linear",
        reading=Reading(invalid="repair"),
    )
    data = estimator.prepare(X, [0.5] * RECORDS).total
    made = data.rows[: len(data.targets)]
    rows = [row.tobytes() + target.tobytes() for row, target in zip(made, data.targets, strict=True)]
    return Outcome(data.units, rows)


MODES: dict[str, Callable[[Any], Outcome]] = {
    "mean": mean_mode(),
    "mean, completed": mean_mode(missing="complete"),
    "mean, standardised": mean_mode(standardize=True, bounds=None),
    "mean, add/remove": mean_mode(neighbours="add-remove", public_size=5),
    "mean, l2": mean_mode(bounds=L2Ball(1.0)),
    "mean, l1": mean_mode(bounds=L1Ball(1.0)),
    "curves": curves_mode("refuse"),
    "curves, completed": curves_mode("complete"),
    "covariance": covariance,
    "two looks": two_looks,
    "comparison": comparison,
    "density": density,
    "effects": effects,
    "kernel machine": machine,
}


IMAGE_MODE = mean_mode(basis=IMAGES)


def images(records: list[Any]) -> list[Any]:
    """Images of 2 x 2 cells in every container that can hold them; a record has four cells."""
    array = objects(records).reshape(-1, 2, 2)
    nested = [[record[:2], record[2:]] for record in records]
    lost = np.array([[cell is np.ma.masked for cell in record] for record in records]).reshape(-1, 2, 2)
    filled = [[0.5 if cell is np.ma.masked else cell for cell in record] for record in records]
    return [
        nested,
        array,
        list(array),
        [masked([record]).reshape(2, 2) for record in records],
        np.ma.masked_array(natural(filled).reshape(-1, 2, 2), mask=lost),
    ]


def columns(cells: list[Any]) -> list[Any]:
    """A column of cells in every container that can hold it."""
    array = objects([[cell] for cell in cells])[:, 0]
    lost = [cell is np.ma.masked for cell in cells]
    filled = objects([[0 if gone else cell] for cell, gone in zip(cells, lost, strict=True)])[:, 0]
    return [
        list(cells),
        tuple(cells),
        array,
        np.ma.masked_array(filled, mask=lost),
        pd.Series(array, dtype=object),
    ]


def codes_of(keys: list[Any]) -> tuple[int, ...]:
    """Which entries are one, by number."""
    first: dict[Any, int] = {}
    return tuple(first.setdefault(key, len(first)) for key in keys)


def long_curves(ids: Any, times: Any, values: Any) -> list[bytes]:
    """Each irregular record on the grid, bit for bit."""
    return rows_of(curves_from_long(LongCurves(ids, times, values), BASIS, 0.1, "repair"))


def targets(y: Any) -> Any:
    """Real targets as a regressor reads them."""
    return _usable(PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(-1, 1), **MACHINE), y)


def covariate(y: Any) -> Any:
    """A number that explains curves, and which records have it."""
    numbers = column_of(y, "age")[0]
    return np.where(np.isfinite(numbers), scaled(numbers, (-1, 1)), np.nan)


def classes(y: Any) -> Any:
    """Signs of classes as a classifier reads them."""
    return _usable(PrivateKernelClassifier(1.0, bounds=(-1, 1), classes=(0, 1), **MACHINE), y)


MACHINE: dict[str, Any] = {"features": "linear", "reading": Reading(invalid="repair")}


def _usable(machine: Any, y: Any) -> Any:
    """Targets of records that are alike otherwise; not a number where a record cannot be used."""
    data = machine.prepare([[0.5]] * RECORDS, y).total
    return np.where(data.rows.any(axis=1), data.targets, np.nan)
