"""Pairs of files that differ in one record, through every door that reads files.

A door writes two files, the second with the bytes of one record replaced by others, reads both and
returns what became of each record. Records are told apart by where they stand.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpfda.records import csv_tables, parquet_tables
from dpfda.records.columns import read_columns, read_examples
from dpfda.records.csv_tables import Stated
from dpfda.records.files import read_curves

# What a record is, as something to compare: its numbers bit by bit, its labels with their types.
Records = list[tuple[bytes, str]]
Reader = Callable[[Path], Records]


@dataclass(frozen=True)
class Pair:
    """What became of the records of two neighbouring files."""

    first: Records
    second: Records
    changed: int

    def disagreement(self) -> str | None:
        """What of the other records differs; None where nothing does."""
        if len(self.first) != len(self.second):
            return f"{len(self.first)} records became {len(self.second)}"
        others = (i for i in range(len(self.first)) if i != self.changed)
        different = [i for i in others if self.first[i] != self.second[i]]
        return f"records {different} with record {self.changed}" if different else None


def records(numbers: Any, *labels: Any) -> Records:
    """The records of a table."""
    rows = np.asarray(numbers, dtype=np.float64).reshape(len(numbers), -1)
    cells = list(zip(*labels, strict=True)) if labels else [()] * len(rows)
    # Of a NaN only that it is one counts.
    rows = np.where(np.isnan(rows), np.nan, rows)
    return [(row.tobytes(), repr(cell)) for row, cell in zip(rows, cells, strict=True)]


# Lines of text


FRAGMENTS = [
    b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\r", b'"', b'""', b",", b";", b"\t", b" ", b"#", b"\\",
    b"'", b"\x1a", b"\x85", b"\xc2\xa0", b"\xe2\x80\xa8", b"\x0b", b"\x0c", b"\x1c", b"nan", b"NA",
    b"inf", b"-inf", b"1e400", b"1e-400", b"9007199254740993", b"0x1p3", b"1_0", b"+1", b"-", b".",
    b"1.5", b"2,5", b"1", b"\xff", b"0.1", b"true", b"2024-01-01", b"31.12.2024", b"a", b"\xc3\xa9",
    b"\xed\xa0\x80", b"1" * 30, b"x" * 300,
]  # fmt: skip


def hostile(rng: Random) -> bytes:
    """A line of anything but LF; not empty, for an empty line is no record."""
    while True:
        line = b"".join(rng.choice(FRAGMENTS) for _ in range(rng.randint(1, 9)))
        if rng.random() < 0.2:
            line += bytes(rng.choice([*range(10), *range(11, 256)]) for _ in range(rng.randint(1, 12)))
        if line.removesuffix(b"\r"):
            return line


def number(rng: Random, decimal: str = ".") -> str:
    """A cell of a column of numbers, mostly plain."""
    kind = rng.random()
    if kind < 0.05:
        return rng.choice(["k.A.", "-7", " -7", "-7 ", "-7.0"])
    if kind < 0.1:
        return rng.choice(["", "NA", "null", " NA ", "inf", "+3", "1e-400", "9007199254740993", "word"])
    text = repr(rng.uniform(-10, 10)) if kind < 0.8 else str(rng.randint(-99, 99))
    return text.replace(".", decimal)


def label(rng: Random) -> str:
    """A cell of a column of labels."""
    return rng.choice(["a", "b", "c d", "7", "7.0", " a ", "", "NA", '"q"', "é", "\ufeff", "#"])


@dataclass(frozen=True)
class Text:
    """How a text file is written, drawn at random."""

    delimiter: str
    end: bytes
    mark: bytes
    packed: bool
    last: bool

    @classmethod
    def drawn(cls, rng: Random, delimiters: str = ",;\t") -> Text:
        return cls(
            rng.choice(delimiters),
            rng.choice([b"\n", b"\r\n"]),
            rng.choice([b"", b"\xef\xbb\xbf"]),
            rng.random() < 0.2,
            rng.random() < 0.5,
        )

    def line(self, cells: Sequence[str]) -> bytes:
        """A line without its end; a single empty cell is quoted, so that the line is not empty."""
        return self.delimiter.join(cells).encode() or b'""'

    def write(
        self, path: Path, header: Sequence[str], lines: Sequence[bytes], gaps: Sequence[int]
    ) -> Path:
        """Write a file, with empty lines before the records named in `gaps`."""
        parts = [self.mark + self.line(header)]
        for i, line in enumerate(lines):
            parts += [b""] * (i in gaps) + [line]
        content = self.end.join(parts) + (self.end if self.last else b"")
        path = path.with_name(path.name + ".gz") if self.packed else path
        path.write_bytes(gzip.compress(content, 1) if self.packed else content)
        return path


def text_pair(
    rng: Random, folder: Path, text: Text, header: Sequence[str], lines: list[bytes], read: Reader
) -> Pair:
    """Two files of these lines, one of them replaced, read in chunks of a random size."""
    changed = rng.randrange(len(lines))
    gaps = [i for i in range(len(lines)) if rng.random() < 0.1]
    other = list(lines)
    other[changed] = hostile(rng)
    found = []
    for name, content in (("a.csv", lines), ("b.csv", other)):
        csv_tables.CHUNK_BYTES = rng.choice([1, 5, 17, 40, 100, 1 << 23])
        found.append(read(text.write(folder / name, header, content, gaps)))
    return Pair(found[0], found[1], changed)


def csv_wide(rng: Random, folder: Path) -> Pair:
    decimal, na = rng.choice(".,"), rng.choice([(), ("k.A.",), ("k.A.", "-7", "a")])
    text = Text.drawn(rng, ",;\t" if decimal == "." else ";\t")
    width = rng.randint(2, 4)
    place = rng.randrange(width + 2)
    header = [f"y{i}" for i in range(width)]
    header[place:place] = ["who"]
    header.append("note")
    columns = [*[lambda: number(rng, decimal)] * width]
    columns[place:place] = [lambda: label(rng)]
    columns.append(lambda: label(rng))
    lines = [text.line([cell() for cell in columns]) for _ in range(rng.randint(1, 5))]

    def read(path: Path) -> Records:
        table = read_curves(path, columns="y*", groups="who", invalid="repair", decimal=decimal, na=na)
        return records(table.data, table.groups, table.lines)

    return text_pair(rng, folder, text, header, lines, read)


def csv_numbers_alone(rng: Random, folder: Path) -> Pair:
    text = Text.drawn(rng)
    width = rng.randint(2, 4)
    header = [str(i) for i in range(width)]
    lines = [text.line([number(rng) for _ in header]) for _ in range(rng.randint(1, 6))]

    def read(path: Path) -> Records:
        table = read_curves(path, invalid="repair")
        return records(table.data, table.lines)

    return text_pair(rng, folder, text, header, lines, read)


def csv_long(rng: Random, folder: Path) -> Pair:
    text = Text.drawn(rng)
    dates = rng.choice([None, "iso", "%d.%m.%Y"])
    moments = {
        "iso": ["2024-01-01", "2024-02-30", "2024-01-02T06:00", "NA"],
        "%d.%m.%Y": ["01.01.2024", "3.1.2024", "2024", ""],
    }

    def time() -> str:
        return number(rng) if dates is None else rng.choice(moments[dates])

    lines = [text.line([label(rng), time(), number(rng), label(rng)]) for _ in range(rng.randint(1, 5))]

    def read(path: Path) -> Records:
        table = read_curves(
            path, id="id", time="t", value="y", groups="who", dates=dates, invalid="repair"
        )
        long = table.data
        return records(np.column_stack([long.times, long.values]), long.ids, long.groups, table.lines)

    return text_pair(rng, folder, text, ["id", "t", "y", "who"], lines, read)


def csv_examples(rng: Random, folder: Path) -> Pair:
    text = Text.drawn(rng)
    labels = rng.random() < 0.5
    target = label if labels else number
    lines = [
        text.line([label(rng), number(rng), target(rng), number(rng)]) for _ in range(rng.randint(1, 5))
    ]

    def read(path: Path) -> Records:
        stated = Stated(invalid="repair")
        table = read_examples(path, ["x*"], "target", labels=labels, groups="who", stated=stated)
        target = table.labels["target"]
        target = [repr(label) for label in target] if labels else target.view(np.int64)
        return records(table.numbers, target, table.groups, table.lines)

    return text_pair(rng, folder, text, ["who", "x1", "target", "x2"], lines, read)


def csv_columns(rng: Random, folder: Path) -> Pair:
    text = Text.drawn(rng)
    lines = [text.line([number(rng)]) for _ in range(rng.randint(1, 6))]

    def read(path: Path) -> Records:
        table = read_columns(path, [("column", "age")], stated=Stated(invalid="repair"))
        return records(table.numbers, table.lines)

    return text_pair(rng, folder, text, ["age"], lines, read)


# Cells of Parquet files


NAN = math.nan
CELLS: list[tuple[pa.DataType, Callable[[Random], Any]]] = [
    (
        pa.float64(),
        lambda rng: rng.choice([rng.gauss(0, 1), float("nan"), float("inf"), 1e308, -0.0, 5e-324]),
    ),
    (pa.float32(), lambda rng: rng.choice([rng.gauss(0, 1), float("nan"), float("-inf")])),
    (pa.float16(), lambda rng: np.float16(rng.choice([rng.gauss(0, 1), float("nan"), 6e-8, 65504]))),
    (pa.int64(), lambda rng: rng.choice([rng.randint(-9, 9), 2**53 - 1, 2**53, -(2**63), 2**63 - 1])),
    (pa.uint64(), lambda rng: rng.choice([rng.randint(0, 9), 2**53 - 1, 2**53 + 1, 2**64 - 1])),
    (pa.bool_(), lambda rng: rng.random() < 0.5),
    (pa.decimal128(38, 9), lambda rng: Decimal(rng.randint(-(10**29), 10**29)).scaleb(-9)),
    (pa.string(), number),
    (pa.large_string(), number),
    (pa.dictionary(pa.int32(), pa.string()), number),
]
LABELS: list[tuple[pa.DataType, Callable[[Random], Any]]] = [
    (pa.string(), label),
    (pa.dictionary(pa.int8(), pa.string()), label),
    (pa.int64(), lambda rng: rng.randint(0, 3)),
    (pa.float64(), lambda rng: rng.choice([0.0, 1.0, 2.5, float("nan"), float("inf"), 1e300])),
    (pa.bool_(), lambda rng: rng.random() < 0.5),
    (pa.timestamp("ns", tz="Europe/Berlin"), lambda rng: rng.choice([0, 1, 2**62, -(2**63) + 1])),
    (pa.timestamp("us"), lambda rng: rng.choice([0, 1, 2**62])),
    (pa.date32(), lambda rng: rng.choice([0, 2**31 - 1])),
    (pa.decimal128(20, 2), lambda rng: Decimal(rng.randint(0, 300)).scaleb(-2)),
]  # fmt: skip


def parquet_table(rng: Random, folder: Path) -> Pair:
    kinds = [rng.choice(LABELS), *(rng.choice(CELLS) for _ in range(rng.randint(2, 3)))]
    names = ["who", *(f"y{i}" for i in range(len(kinds) - 1))]

    def cell(draw: Callable[[Random], Any]) -> Any:
        return None if rng.random() < 0.1 else draw(rng)

    rows = [[cell(draw) for _, draw in kinds] for _ in range(rng.randint(1, 6))]
    changed = rng.randrange(len(rows))
    other = list(rows)
    other[changed] = [cell(draw) for _, draw in kinds]
    found = []
    for name, content in (("a.parquet", rows), ("b.parquet", other)):
        columns = [pa.array([row[i] for row in content], kind) for i, (kind, _) in enumerate(kinds)]
        parquet.write_table(
            pa.table(columns, names), folder / name, row_group_size=rng.randint(1, 6),
            use_dictionary=rng.random() < 0.5,
        )  # fmt: skip
        parquet_tables.BATCH_ROWS = rng.choice([1, 2, 8192])
        table = read_curves(folder / name, groups="who", invalid="repair")
        found.append(records(table.data, table.groups))
    return Pair(found[0], found[1], changed)


DOORS: dict[str, Callable[[Random, Path], Pair]] = {
    "csv wide": csv_wide,
    "csv numbers alone": csv_numbers_alone,
    "csv long": csv_long,
    "csv examples": csv_examples,
    "csv columns": csv_columns,
    "parquet": parquet_table,
}
