"""Files that state other numbers of rows than they hold are refused: no other memory is read."""

import io
import json
import struct
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from dpfda import PrivateMean
from dpfda.errors import DataError
from dpfda.front.app import app
from dpfda.records.files import read_curves
from dpfda.testing import exact_totals
from parquet_footers import ROWS_OF_FILE, rows_of_group, values_of_column, with_footer

ROWS, GROUP = 20, 8
CURVES = np.random.default_rng(0).uniform(-1, 1, (ROWS, 3))
TABLE = pa.table(
    {name: CURVES[:, i] for i, name in enumerate(["0.0", "0.5", "1.0"])}
    | {"who": [f"p{row}" for row in range(ROWS)]}
)
LAST = [values_of_column(2, column) for column in range(4)]
# What is stated besides the truth, by where: how many rows more.
CONTRADICTIONS = {
    **{
        f"file {more:+d}": {ROWS_OF_FILE: more}
        for more in (1, -1, -ROWS, -ROWS - 1, 10**6, 10**15, 2**61)
    },
    **{f"group {g}, {more:+d}": {rows_of_group(g): more} for g in range(3) for more in (1, -1, 10**12)},
    **{
        f"file and group {g}, {more:+d}": {ROWS_OF_FILE: more, rows_of_group(g): more}
        for g in range(3)
        for more in (1, -1, -4, 10**12)
    },
    "two groups that make up for each other": {rows_of_group(0): 1, rows_of_group(1): -1},
    "values of one column": {values_of_column(0, 1): -2},
    "file, group and columns alike": dict.fromkeys([ROWS_OF_FILE, rows_of_group(2), *LAST], 5),
}


def written(changes: dict[Any, int], **options: Any) -> bytes:
    stream = io.BytesIO()
    parquet.write_table(TABLE, stream, row_group_size=GROUP, **options)
    return with_footer(stream.getvalue(), lambda path, value: value + changes.get(path, 0))


def in_arrow(rows: int, container: str, **options: Any) -> bytes:
    """A file of Arrow whose batch and columns all state so many rows, where 2,311 are held."""
    held, stream = 2311, io.BytesIO()
    table = pa.table({name: np.linspace(0, 1, held) for name in ["0.0", "0.5", "1.0"]})
    table = table.append_column("who", pa.array([f"p{row}" for row in range(held)]))
    opened = pa.ipc.new_file if container == "file" else pa.ipc.new_stream
    with opened(stream, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return stream.getvalue().replace(struct.pack("<q", held), struct.pack("<q", rows))


@pytest.mark.parametrize("invalid", ["refuse", "repair"])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "data_page_version": "2.0"}])
@pytest.mark.parametrize("where", CONTRADICTIONS)
def test_a_footer_that_contradicts_itself_is_refused(
    where: str, options: Any, invalid: str, tmp_path: Path
) -> None:
    path = tmp_path / "curves.parquet"
    path.write_bytes(written(CONTRADICTIONS[where], **options))
    with pytest.raises(
        DataError, match=r"must hold as many rows as it states.*Write it again"
    ) as refused:
        read_curves(path, groups="who", invalid=invalid)
    assert not any(character.isdigit() for character in str(refused.value))


@pytest.mark.parametrize("where", [where for where in CONTRADICTIONS if "alike" not in where])
def test_nor_is_it_read_as_a_container(where: str) -> None:
    content = written(CONTRADICTIONS[where])
    with pytest.raises(DataError, match="must hold as many rows as it states"):
        PrivateMean(1.0, bounds=(-1, 1)).prepare(parquet.ParquetFile(io.BytesIO(content)), groups="who")


def test_nothing_is_charged_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("curves.parquet").write_bytes(written({ROWS_OF_FILE: 1}))
    run = CliRunner()
    run.invoke(app, ["ledger", "create", "b.db", "--dataset", "d", "--epsilon", "3"])
    words = "mean curves.parquet --epsilon 1 --bounds -1 1 --columns ?.? --out a.json"
    refused = run.invoke(
        app, [*words.split(), "--invalid", "repair", "--ledger", "b.db", "--dataset", "d"]
    )
    assert "must hold as many rows as it states" in " ".join(refused.output.split())
    assert not Path("a.json").exists()
    shown = json.loads(run.invoke(app, ["ledger", "show", "b.db", "--json"]).stdout)
    assert shown["d"]["spent"] == {"epsilon": "0/1"}


def test_footers_of_all_writers_are_read(tmp_path: Path) -> None:
    nested = TABLE.append_column("visits", pa.array([[1, 2], [], None, [3]] * (ROWS // 4)))
    nested = nested.append_column("place", pa.array([{"x": 1.0}, None] * (ROWS // 2)))
    table = nested.append_column("gaps", pa.array([None, 1.0] * (ROWS // 2)))
    files = [tmp_path / f"{writer}.parquet" for writer in ("arrow", "polars", "duckdb", "none")]
    parquet.write_table(table, files[0], row_group_size=GROUP)
    pl.from_arrow(table).write_parquet(files[1], row_group_size=GROUP)
    duckdb.from_arrow(table).write_parquet(str(files[2]))
    for path in files[:3]:
        read = read_curves(path, columns=["0.0", "0.5", "1.0"], groups="who")
        assert np.array_equal(read.data, CURVES)
        assert read.groups is not None
        assert list(read.groups) == TABLE.column("who").to_pylist()
    parquet.write_table(TABLE.slice(0, 0), files[3])
    with pytest.raises(DataError, match="must hold records below its header"):
        read_curves(files[3], groups="who")


@pytest.mark.parametrize("invalid", ["refuse", "repair"])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("options", [{}, {"compression": "lz4"}])
@pytest.mark.parametrize("container", ["file", "stream"])
@pytest.mark.parametrize("rows", [2400, 10**12, -1])
def test_rows_beyond_the_buffers_of_arrow_are_refused(
    rows: int, container: str, options: Any, labelled: bool, invalid: str, tmp_path: Path
) -> None:
    path = tmp_path / "curves.arrow"
    path.write_bytes(in_arrow(rows, container, **options))
    # Without labels Arrow alone would give whatever lies in memory behind the numbers.
    with pytest.raises(DataError, match="must be complete; found a damaged part"):
        read_curves(
            path, columns=["0.0", "0.5", "1.0"], groups="who" if labelled else None, invalid=invalid
        )


def test_nor_are_they_read_as_a_container() -> None:
    file = pa.ipc.open_file(io.BytesIO(in_arrow(2400, "file")))
    for X in (file, file.read_all(), file.get_batch(0)):
        with pytest.raises(DataError, match="must be a table that can be read"):
            PrivateMean(1.0, bounds=(-1, 1)).prepare(X, groups="who")


@pytest.mark.parametrize("name", ["curves.parquet", "curves.arrow"])
def test_text_that_is_no_utf8_is_a_label_in_a_file(name: str, tmp_path: Path) -> None:
    who = pa.array([bytes([255, row % 5]) for row in range(ROWS)]).view(pa.string())
    table = TABLE.set_column(3, "who", who)
    if name.endswith("parquet"):
        parquet.write_table(table, tmp_path / name)
    else:
        with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
            writer.write_table(table)
    mean = PrivateMean(1.0, bounds=(-1, 1), invalid="repair")
    read = read_curves(tmp_path / name, groups="who", invalid="repair")
    sums = [
        mean.prepare(TABLE.drop("who"), labels).total for labels in (read.groups, np.arange(ROWS) % 5)
    ]
    assert exact_totals(sums[0]) == exact_totals(sums[1])
