"""Records between bounds in a data base: clipped, rounded, averaged and added up there, as one query.

Step by step what `dpfda.numerics.gridsums` and `dpfda.records.curves.units` do with a double, so that
the integers are the same bit for bit. What leaves the data base is one row: exact totals, without noise,
and numbers of records and units. Relations of DuckDB are served, and tables of Ibis that it holds.

Whether a table is served follows from its labels, types and engine, and from the rule, all public; any
other is read. Nothing was asked of its records by then, and of one that is served nothing is asked
twice: a stream below it runs once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import DataError, Kept
from dpfda.numerics.gridrules import GridRule
from dpfda.numerics.gridsums import integers
from dpfda.records.arrow import NamedRows, guarded
from dpfda.records.cells import OUTSIDE, moments
from dpfda.records.curves import Curves, units
from dpfda.records.frames import LABELS as LABELS_ARE_GRID
from dpfda.records.frames import Container
from dpfda.records.headers import ALIKE, Below, refuse_record_as_grid

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation


# Types whose numbers a double holds, and those with integers that it may not hold.
WHOLE = frozenset(f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER"))
HELD = WHOLE | {"BOOLEAN", "FLOAT", "DOUBLE"}
WIDE = re.compile(r"U?BIGINT|DECIMAL\(\d+,0\)")
# Through text, which is read to the nearest double; a quotient would be rounded twice.
DECIMAL = re.compile(r"DECIMAL\(.*\)")
LABELS = WHOLE | {"BOOLEAN", "BIGINT", "UBIGINT"}
LAST = 2**53 - 1
# Before functions: those of the engine, whatever macros of their names the data base has.
OWN = "system.main."
COUNT = f"{OWN}count(*)"
# Halves, neighbours of halves and of ends, and what is too small or too large to matter.
TRIED = (
    0.3125, 0.4375, 0.1875, 0.31250000000000006, 0.3124999999999999, 0.0, -0.0, 5e-324, 0.1, 131072.25,
    131072.18749999997, -131071.75, 1e300, -1.7976931348623157e308, 2.0**52, 0.25, 1 / 3,
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Queried(Kept):
    """A table in a data base, before anything of it was asked.

    relation: Private.
    numbers: Each column of the curve as doubles, null where one is missing or cannot be held.
    label: What units are told apart by; None where each record is one.
    """

    relation: Relation
    numbers: Sequence[str]
    label: str | None

    @property
    def made_up(self) -> NamedRows:
        """A record of zeros under the labels of the table."""
        return NamedRows(self.relation.columns, [[0.0] * len(self.relation.columns)])

    def grid(self, groups: object) -> Floats | None:
        """The grid that labels spell, where they could be a record by mistake: numbers, and no dates."""
        labels = [name for name in self.relation.columns if name != groups]
        spelt = Container(self.made_up, groups).curves(invalid="repair").grid
        return spelt if isinstance(spelt, np.ndarray) and moments(labels) is None else None

    def query(self, rule: GridRule, repairs: bool = True, compared: bool = False) -> Relation | None:
        """What `sum_of_query` runs; None where the rule or the table cannot be put into a query.

        Each step is bound with all below it: the fewer, the faster.

        repairs: Whether sums are of use where a record is not usable.
        compared: Whether it also tells what a header is compared with.
        """
        ends = _ends(rule)
        if ends is None:
            return None
        columns = [f"d{k}" for k in range(len(self.numbers))]
        read = [f"{number} AS {name}" for number, name in zip(self.numbers, columns, strict=True)]
        if self.label is not None:
            read += [f"{self.label} AS unit", f"{OWN}row_number() OVER () AS place"]
        finite = " AND ".join(f"coalesce({OWN}isfinite({number}), false)" for number in self.numbers)
        totals = [COUNT, f"{COUNT} FILTER (usable)", "0", COUNT, f"{COUNT} FILTER (usable)"]
        try:
            query = self.relation.project(f"{', '.join(read)}, {finite} AS usable")
            if self.label is None and repairs:
                # Null is looked at by no sum and no end; a filter on each of them is slower.
                cleaned = (f"CASE WHEN usable THEN {name} END AS {name}" for name in columns)
                query = query.project(f"usable, {', '.join(cleaned)}")
            if self.label is not None:
                query = _averages(query, columns)
                sums = [f"{OWN}sum({name})" for name in ("records", "size")]
                totals[2:] = [f"{COUNT} FILTER (unit IS NULL)", *sums]
            totals += [
                f"{OWN}sum({_integer(name, *end)})" for name, end in zip(columns, ends, strict=True)
            ]
            return query.aggregate(", ".join(totals + (_below(columns) if compared else [])))
        except Exception:
            # It was bound, and has not run: what is wrong will show where the table is read.
            return None


def queried(X: object, groups: object) -> Queried | None:
    """The table, if it is in a data base that can be asked; `groups` is a column's label, or None."""
    relation = _relation(X)
    if relation is None or not (groups is None or isinstance(groups, str)) or not _agrees():
        return None
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    folded = {name.lower() for name in relation.columns}
    if len(folded) < len(relation.columns) or (groups is not None and groups not in types):
        return None
    label = None if groups is None else _label(_quoted(groups), types.pop(groups))
    numbers = [_number(_quoted(name), kind) for name, kind in types.items()]
    if (groups is not None and label is None) or not numbers or "" in numbers:
        return None
    return Queried(relation, numbers, label)


def sum_of_query(query: Relation, points: int, invalid: str, grid: Floats | None = None) -> IntegerSum:
    """The exact sum over units, from a query that is run here, once. Private.

    grid: array (points,) or None. What labels spell, where records are compared with it.
    Raises DataError if the query fails; or, unless repairing, if a record is not complete and finite, or
    is without the label of its unit. Raises OrientationError if the labels look like a record.
    """
    units, usable, unnamed, records, used, *rest = (cell or 0 for cell in guarded(query.fetchall)[0])
    if invalid == "refuse" and unnamed:
        raise DataError(
            "groups must have a label for every record; found none in a row of the query. A record "
            "without its person cannot be protected as that person's.",
            "groups",
        )
    if invalid == "refuse" and used != records:
        raise DataError(
            "X must be complete and finite; found a value in the query that is missing, infinite or too "
            f"large to be held exactly. Leave such records out of the query. {OUTSIDE}"
        )
    totals, (increasing, even, *ends) = rest[:points], rest[points:] or (0, 0)
    if grid is not None and usable:
        lower, upper = np.array(ends, dtype=np.float64).reshape(2, points)
        below = Below(usable, increasing / usable, even / usable, lower, upper)
        refuse_record_as_grid(grid, below, LABELS_ARE_GRID)
    return IntegerSum(points).add_totals(totals, units)


def _relation(X: object) -> Relation | None:
    """The relation of DuckDB that this is, or that holds this table of Ibis."""
    root = type(X).__module__.partition(".")[0]
    if root == "ibis" and hasattr(X, "get_backend"):
        try:
            engine = X.get_backend()
            X = engine.con.sql(engine.compile(X)) if engine.name == "duckdb" else None
        except Exception:
            return None
        root = type(X).__module__.partition(".")[0]
    return cast("Relation", X) if root in ("duckdb", "_duckdb") and hasattr(X, "project") else None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(column: str, kind: str) -> str:
    """A column of this type as doubles; empty where it is not served."""
    text = f"CAST({column} AS VARCHAR)" if DECIMAL.fullmatch(kind) else column
    if WIDE.fullmatch(kind):
        return f"CASE WHEN {column} BETWEEN -{LAST} AND {LAST} THEN CAST({text} AS DOUBLE) END"
    return f"CAST({text} AS DOUBLE)" if kind in HELD or DECIMAL.fullmatch(kind) else ""


def _label(column: str, kind: str) -> str | None:
    """What labels are compared by; text by its bytes, whatever collation is in force."""
    if kind == "VARCHAR":
        return f"{OWN}encode({column})"
    return column if kind in LABELS else None


def _averages(records: Relation, columns: Sequence[str]) -> Relation:
    """One record a unit: usable ones times one over their number, added in the order of the rows."""
    grouped = records.aggregate(
        f"unit, {COUNT} AS records, {COUNT} FILTER (usable) AS size, "
        f"{OWN}list([{', '.join(columns)}] ORDER BY place ASC) FILTER (usable) AS rows",
        "unit",
    )
    parts = (
        f"{OWN}list_transform(rows, lambda r: r[{k}] * ({_double(1.0)} / size))"
        for k in range(1, 1 + len(columns))
    )
    means = (
        f"{OWN}list_reduce({part}, lambda a, b: a + b) AS {name}"
        for part, name in zip(parts, columns, strict=True)
    )
    return grouped.project(f"unit, records, size, size > 0 AS usable, {', '.join(means)}")


def _below(columns: Sequence[str]) -> list[str]:
    """The columns of the query that `Below` is made of."""
    every = [f"{b} - {a}" for a, b in pairwise(columns)]
    first, second, steps = every[0], every[min(1, len(every) - 1)], ", ".join(every)
    rising = " AND ".join(f"{a} < {b}" for a, b in pairwise(columns))
    mean = f"{OWN}abs({columns[-1]} - {columns[0]}) / {_double(len(columns) - 1)}"
    alike = f"<= {_double(ALIKE)} * {mean}"
    # Two steps alone tell of most records that they are not all alike.
    even = f"{OWN}greatest({steps}) - {OWN}least({steps}) {alike}"
    even = f"CASE WHEN {OWN}abs(({second}) - ({first})) {alike} THEN {even} ELSE false END"
    ends = [f"{OWN}{end}({name})" for end in ("min", "max") for name in columns]
    return [*(f"{COUNT} FILTER ({which})" for which in (rising, even)), *ends]


def _integer(number: str, lower: str, upper: str, center: str, scale: str) -> str:
    """Clipped and rounded to the nearest integer, to the even one of two, as a cast does."""
    clipped = f"CASE WHEN {number} < {lower} THEN {lower} WHEN {number} > {upper} THEN {upper}"
    return f"CAST(({clipped} ELSE {number} END - {center}) * {scale} AS BIGINT)"


def _ends(rule: GridRule) -> list[tuple[str, ...]] | None:
    """For each value the doubles at which the bounds' integers begin, its center and its scale.

    Values are clipped to these, so that nothing overflows. None where there are no such doubles.
    """
    reach = rule.half_widths / rule.scale
    lower, upper = rule.center - reach, rule.center + reach
    for end, sign in ((lower, -1.0), (upper, 1.0)):
        if not np.array_equal(np.rint((end - rule.center) * rule.scale), sign * rule.half_widths):
            return None
    limits = zip(lower, upper, rule.center, np.full(lower.size, rule.scale), strict=True)
    return [tuple(map(_double, some)) for some in limits]


def _double(value: float) -> str:
    # With an exponent, or it would be a decimal.
    return f"({value:.17e})"


@cache
def _agrees() -> bool:
    """Whether this DuckDB makes our integers of public numbers on which they hang by the last bit."""
    import duckdb

    tried = np.concatenate([TRIED, np.sin(np.arange(64.0)) * 2.0 ** (np.arange(64) % 30)])
    values = np.stack([np.roll(tried, shift) for shift in range(3)])
    rule = GridRule(np.full(tried.size, 0.25), np.full(tried.size, 2.0**20), np.ones(tried.size), 3)
    rows = ", ".join(f"({', '.join(map(_double, row))}, 1)" for row in values)
    names = [f"c{k}" for k in range(tried.size)]
    apart, together = integers(values, rule).sum(axis=0), Curves(values, np.ones(3, dtype=np.bool_))
    mean = integers(units(together, np.zeros(3, dtype=np.int64)).values, rule)[0]
    try:
        with duckdb.connect(":memory:") as engine:
            relation = engine.sql(f"SELECT * FROM (VALUES {rows}) AS t({', '.join(names)}, who)")  # noqa: S608
            queries = (Queried(relation, names, label).query(rule) for label in (None, "who"))
            totals = [query.fetchall()[0][5:] for query in queries if query is not None]
    except Exception:
        return False
    return bool(np.array_equal(totals, [apart, mean]))
