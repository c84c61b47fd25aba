"""Neighbouring files: whatever one record's line holds, the others are read as they were."""

import os
from pathlib import Path
from random import Random

import pytest

from dpfda.records import csv_tables, parquet_tables
from tests import file_doors

# The suite compares this many pairs over all doors; DPFDA_PAIRS asks for more.
PAIRS = int(os.environ.get("DPFDA_PAIRS", "700"))


@pytest.mark.parametrize("door", file_doors.DOORS)
def test_other_records_do_not_depend_on_one(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Doors set them; this puts them back.
    monkeypatch.setattr(csv_tables, "CHUNK_BYTES", csv_tables.CHUNK_BYTES)
    monkeypatch.setattr(parquet_tables, "BATCH_ROWS", parquet_tables.BATCH_ROWS)
    found = []
    for seed in range(PAIRS // len(file_doors.DOORS)):
        rng = Random(f"{door} {seed}")  # noqa: S311 - no secret
        wrong = file_doors.DOORS[door](rng, tmp_path).disagreement()
        if wrong is not None:
            found.append((seed, wrong))
    assert found == []


def test_a_pair_that_disagrees_is_seen() -> None:
    """The comparison above would be empty if it could not fail."""
    one, two, three = ((bytes([i]), "()") for i in range(3))
    assert file_doors.Pair([one, two], [one, three], 1).disagreement() is None
    assert file_doors.Pair([one, two], [one, three], 0).disagreement() is not None
    assert file_doors.Pair([one, two], [one], 1).disagreement() is not None
