"""Neighbouring data sets through every door: what becomes of the other records does not depend on one.

One record is replaced by anything; containers then have other types, and the records other ways in.
The others' integers and the number of units must be the same, bit for bit. `DPFDA_PAIRS` sets how many
pairs of neighbours are drawn, `DPFDA_SEED` which.
"""
# ruff: noqa: S311 - which pairs are drawn may be known

import math
import os
import random
from functools import cache

import numpy as np
import pytest

from doors import (
    CELLS,
    DOORS,
    HOSTILE,
    IMAGE_MODE,
    LOST,
    MODES,
    NUMBERS,
    POINTS,
    RECORDS,
    classes,
    codes_of,
    columns,
    covariate,
    images,
    long_curves,
    targets,
)
from dpfda import PrivacyUnit, PrivateDensity, PrivateMean, Reading
from dpfda.errors import DataError
from dpfda.records.labels import label_key, read_keys
from dpfda.testing import exact_totals

PAIRS = int(os.environ.get("DPFDA_PAIRS", "1200"))
SEED = int(os.environ.get("DPFDA_SEED", "20261122"))
# Shares of the pairs: tables of numbers, and columns of labels, targets, counts and observations.
TABLES, COLUMNS = PAIRS * 2 // 3, PAIRS // 3


def plain(rng):
    """A record of ordinary floats."""
    return [rng.uniform(-1.5, 1.5) for _ in range(POINTS)]


def whole(rng):
    """A record of small integers: a data set of these alone is an array of integers."""
    return [rng.randint(-2, 2) for _ in range(POINTS)]


def odd(rng, takes):
    """A record with anything in one or more cells."""
    record = plain(rng) if rng.random() < 0.7 else whole(rng)
    for place in rng.sample(range(POINTS), rng.choice([1, 1, 2, POINTS])):
        cell = rng.choice(rng.choice([NUMBERS, LOST, HOSTILE]))
        if takes(cell):
            record[place] = cell
    return record


def neighbours(rng, takes):
    """Two data sets that differ in one record, and its place."""
    kind = rng.choice([plain, plain, whole])
    records = [kind(rng) for _ in range(RECORDS)]
    for place in range(RECORDS):
        if rng.random() < 0.15:
            records[place] = odd(rng, takes)
    place = rng.randrange(RECORDS)
    other = list(records)
    other[place] = odd(rng, takes)
    return records, other, place


def own_part(read, record):
    """What one record adds to a sum, beside that of a filler."""
    filler = [[0.0] * len(record) for _ in range(RECORDS - 1)]
    return read([record, *filler]).total


def check(door, mode, records, other, place):
    """Whether what is read of neighbours differs in one record's part alone."""
    read = MODES[mode]
    one, two = read(door.hand_over(records)), read(door.hand_over(other))
    assert one.units == two.units
    if one.rows is not None:
        assert one.rows[:place] + one.rows[place + 1 :] == two.rows[:place] + two.rows[place + 1 :]
        return
    moved = [b - a for a, b in zip(one.total, two.total, strict=True)]
    before, after = own_part(read, records[place]), own_part(read, other[place])
    if mode == "comparison":
        # Sums of groups are apart in it, and added up here.
        assert len(before) == len(one.total)
    assert moved == [b - a for a, b in zip(before, after, strict=True)]


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_the_other_records_of_a_table_stay_as_they_are(door):
    rng = random.Random(f"{SEED} {door.name}")
    modes = sorted(MODES)
    for _ in range(max(len(modes), TABLES // len(DOORS))):
        check(door, rng.choice(modes), *neighbours(rng, door.takes))


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_way_in_for_every_mode(mode):
    rng = random.Random(f"{SEED} {mode}")
    for door in DOORS:
        check(door, mode, *neighbours(rng, door.takes))


def test_the_other_images_stay_as_they_are():
    rng = random.Random(SEED)
    for _ in range(COLUMNS // 6):
        records = [[rng.uniform(-1, 1) for _ in range(4)] for _ in range(RECORDS)]
        place, cell = rng.randrange(RECORDS), rng.choice(CELLS)
        other = list(records)
        other[place] = [0.5, cell, 0.25, -0.5]
        sums = {IMAGE_MODE(container).total for container in images(records)}
        (before,) = sums
        own = [
            IMAGE_MODE([[r[:2], r[2:]] for r in ([one, [0.0] * 4])]).total
            for one in (records[place], other[place])
        ]
        for container in images(other):
            reading = IMAGE_MODE(container)
            assert reading.units == RECORDS
            moved = [b - a for a, b in zip(before, reading.total, strict=True)]
            assert moved == [b - a for a, b in zip(*own, strict=True)]


LABELS = [
    "a",
    "b",
    "1",
    "01",
    1,
    1.0,
    True,
    0,
    False,
    2,
    np.int64(1),
    np.float32(1),
    np.str_("a"),
    1.5,
    (1, "a"),
    *CELLS,
]


def test_who_is_one_unit_with_whom_does_not_depend_on_others():
    rng = random.Random(SEED)
    for _ in range(COLUMNS // 4):
        labels = [rng.choice(LABELS) for _ in range(8)]
        other = list(labels)
        place = rng.randrange(8)
        other[place] = rng.choice(LABELS)
        partitions = set()
        for one in (labels, other):
            for column in columns(one):
                keys = read_keys(column, "groups", "repair")
                partitions.add(codes_of(keys[:place] + keys[place + 1 :]))
        assert len(partitions) == 1


@pytest.mark.parametrize("read", [targets, classes, covariate])
def test_the_other_targets_stay_as_they_are(read):
    rng = random.Random(SEED)
    for _ in range(COLUMNS // 6):
        cells = [rng.choice([0, 1, 0.5, rng.uniform(-1, 1), rng.choice(CELLS)]) for _ in range(RECORDS)]
        place = rng.randrange(RECORDS)
        other = [*cells[:place], rng.choice(CELLS), *cells[place + 1 :]]
        found = {
            np.delete(read(column), place).tobytes() for one in (cells, other) for column in columns(one)
        }
        assert len(found) == 1


def test_the_other_records_of_observations_stay_as_they_are():
    rng = random.Random(SEED)
    for _ in range(COLUMNS // 12):
        ids = ["a", "a", "b", "b", "c", "c"]
        times = [rng.random() for _ in ids]
        values = [rng.uniform(-1, 1) for _ in ids]
        mine = [list(ids), list(times), list(values)]
        for row in (2, 3):
            # A label for "b" alone: another's would be another record.
            mine[rng.choice([1, 2])][row] = rng.choice(CELLS)
        found = set()
        for column in zip(*(columns(part) for part in mine), strict=True):
            rows = long_curves(*column)
            found.add((len(rows), rows[0], rows[2]))
        rows = long_curves(ids, times, values)
        assert found == {(3, rows[0], rows[2])}


def test_the_other_counts_of_a_table_stay_as_they_are():
    rng = random.Random(SEED)
    estimator = PrivateDensity(
        1.0, reading=Reading(invalid="repair"), unit=PrivacyUnit(neighbours="add-remove", public_size=5)
    )
    for _ in range(COLUMNS // 12):
        counts = [rng.choice([0, 1, 7.0, 4, rng.choice(CELLS)]) for _ in range(4)]
        place = rng.randrange(4)
        other = [*counts[:place], rng.choice(CELLS), *counts[place + 1 :]]
        found = set()
        for one in (counts, other):
            for column in columns(one):
                total = exact_totals(estimator.prepare_counts(column, [0, 1, 2, 3, 4]).total)
                found.add(tuple(total[:place] + total[place + 1 :]))
        assert len(found) == 1


@cache
def grouped():
    """A mean of persons."""
    from tests.doors import BASIS

    return PrivateMean(
        1.0, bounds=(-1, 1), basis=BASIS, mechanism="laplace", reading=Reading(invalid="repair")
    )


def test_a_person_with_a_hostile_label_moves_one_unit():
    # Persons 0, 1 and 2 have two records each; the label of the last one's two is replaced.
    rng = random.Random(SEED)
    for _ in range(COLUMNS // 12):
        records = [plain(rng) for _ in range(RECORDS)]
        label = rng.choice([cell for cell in CELLS if label_key(cell) not in (0, 1)])
        kept = grouped().prepare(records, [0, 0, 1, 1, 2, 2]).total
        moved = grouped().prepare(records, [0, 0, 1, 1, label, label]).total
        assert moved.count_with_noise(0, 1) == kept.count_with_noise(0, 1) == 3
        assert exact_totals(moved) == exact_totals(kept)


@pytest.mark.parametrize("name", ["list", "array of objects", "masked array", "frame of objects"])
def test_a_refusal_names_the_place_and_shows_no_cell(name):
    door = next(door for door in DOORS if door.name == name)
    rng = random.Random(SEED)
    for cell in HOSTILE + LOST:
        records = [plain(rng) for _ in range(RECORDS)]
        records[2][1] = cell
        with pytest.raises(DataError, match="in row 2, column 1") as caught:
            PrivateMean(1.0, bounds=(-1, 1)).fit(door.hand_over(records))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_the_hostile_cells_are_what_they_are_said_to_be():
    from dpfda.records.cells import read_cell

    assert all(math.isfinite(read_cell(cell)[0]) for cell in NUMBERS)
    assert all(math.isnan(read_cell(cell)[0]) for cell in LOST)
    assert all(math.isinf(read_cell(cell)[0]) for cell in HOSTILE)
