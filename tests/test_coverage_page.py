"""The page on the papers: all of its rows, the tests that it names, and its experiments, which run."""

import ast
import csv
import functools
import importlib
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments import __main__ as everything
from experiments import matching_gaussian, scenarios
from experiments.common import DATA_VARIABLE, RESULTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
STATES = {"works", "refused", "reproduced", "cannot be", "not used"}


def numbered(kind: str, *numbers: object) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


# What each paper numbers.
PAPERS = {
    "L": numbered("Definition", 1, 2)
    | numbered("Theorem", 3, 4, 6, 7, 8, 9, 11, 13, 14, 16)
    | numbered("Remark", 10, 12, 15, 17)
    | numbered("Table", 1, 2, 3)
    | numbered("Figure", *range(1, 8))
    | {"Lemma 5", "Algorithm 1"},
    "H": numbered("Proposition", 1.1, 2.1) | {"Example, densities", "Example, machines"},
    "R": numbered("Definition", 1, 2)
    | numbered("Theorem", *range(1, 6))
    | numbered("Example", *range(1, 7))
    | {"Lemma 1", "Corollary 1"},
    "M": numbered("Definition", 2.1, 3.1, 3.2)
    | numbered("Theorem", 3.1, 3.2, 3.3, 4.1, 4.2)
    | numbered("Figure", *range(1, 13))
    | numbered("Table", 1, 2)
    | {"Lemma 3.1", "Corollary 3.1", "Lemma 2.4.1", "Corollary 2.4.3"},
}


def rows(paper: str) -> list[list[str]]:
    """Cells of a paper's table."""
    section = re.search(rf"^## {paper}:.*?(?=^## |\Z)", PAGE, flags=re.M | re.S)
    assert section is not None
    lines = re.findall(r"^\| (.+) \|$", section.group(), flags=re.M)
    return [line.split(" | ") for line in lines if not line.startswith(("row |", "---"))]


ALL = [(paper, row) for paper in PAPERS for row in rows(paper)]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_numbered_statement_has_one_row(paper: str) -> None:
    places = [row[0] for row in rows(paper)]
    assert len(places) == len(set(places))
    assert set(places) == PAPERS[paper]


@functools.cache
def collected(file: str) -> set[str]:
    """What pytest collects from a file: test functions, classes of tests and their functions."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            names.add(node.name)
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            methods = (item.name for item in node.body if isinstance(item, ast.FunctionDef))
            names |= {f"{node.name}::{name}" for name in methods if name.startswith("test_")}
    return names


@pytest.mark.parametrize(("paper", "row"), ALL, ids=[f"{paper} {row[0]}" for paper, row in ALL])
def test_what_a_row_names_exists(paper: str, row: list[str]) -> None:
    _, _, state, shown = row
    assert state in STATES
    names = re.findall(r"`([^`]+)`", shown)
    assert names or state == "not used", "a row is shown by a test or an experiment"
    for name in names:
        if name.startswith("experiments."):
            module = name.removeprefix("experiments.")
            assert module in everything.commands()
            assert callable(importlib.import_module(name).main)
        else:
            file, _, test = name.partition("::")
            assert test in collected(file), name


def test_a_name_that_nobody_collects_is_found() -> None:
    assert "test_a_name_that_nobody_collects_is_found" in collected("test_coverage_page.py")
    assert not {"collected", "rows", "TestNothing::test_x"} & collected("test_coverage_page.py")


# Two are run by tests of their own, which look at what they write.
NAMED = sorted(set(re.findall(r"`experiments\.(\w+)`", PAGE)) - {"figure3", "processes"})
EDGES = np.linspace(-5, 5, 13)
MIDDLE = (EDGES[1:] + EDGES[:-1]) / 2
# Of many alike parts and repetitions a few are run: what a test can afford.
FEWER: dict[str, dict[str, Any]] = {
    "dti": {"dti.QUICK_SPLITS": 1, "dti.DRAWS": 20, "dti.STEPS": 2, "dti.QUICK_HONEST_DRAWS": 20},
    "elliptical": {"elliptical.DIMENSIONS": (2,), "elliptical.SCALES": (2.0,)},
    "figure1": {"simulated.SIZES": (100,)},
    "figure2": {"simulated.SIZES": (100,), "figure2.QUICK_REPETITIONS": 2},
    # A square of 144 cells, without the picture and the library's kernel, which take longest.
    "figure4": {
        "figure4.CELLS": 12,
        "figure4.COMPONENTS": (5, 10),
        "figure4.EDGES": EDGES,
        "figure4.MIDDLE": MIDDLE,
        "figure4.GRID": np.stack([axis.ravel() for axis in np.meshgrid(MIDDLE, MIDDLE)], axis=1),
        "figure4.WEIGHT": (10 / 12) ** 2,
        "figure4.DensityKernel": lambda: "histogram",
        "figure4.draw_picture": lambda *_: None,
    },
    "figure6": {"simulated.SIZES": (100,), "figure2.QUICK_REPETITIONS": 2},
    # The two studies that are done in seconds, at one of their slow choices.
    "matching": {
        "matching.STUDIES": tuple(
            (study, 10**9) for study in (matching_gaussian.figure_5, matching_gaussian.table_2)
        ),
        "matching_gaussian.SAMPLES": 2,
        "matching_gaussian.SPLITS": 1,
        "matching_gaussian.STEPS": 2,
        "matching_gaussian.DRAWS": 20,
    },
    "rates": {"rates.COMPONENTS": 5_000},
    "scenarios": {"scenarios.SETTINGS": scenarios.SETTINGS[:4], "scenarios.FIGURES": ("1",)},
    "table1": {"table1.SIZES": (100,), "table1.TIMED": 1, "table1.REPEATS": 1},
    "table2": {"table2.QUICK_DRAWS": 50, "honest.POSTERIOR_DRAWS": 50},
}


def header(path: Path) -> list[str]:
    """Columns of a table."""
    with path.open(encoding="utf-8", newline="") as handle:
        return next(csv.reader(handle))


# The dearest that are like others in what they take and write; figures 1 and 2 and table 2 always run.
DEAR = ("dti", "figure6", "table1", "table3")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.thorough] * (n in DEAR)) for n in NAMED]
)
def test_an_experiment_that_a_row_names_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if everything.needs_data(name) and not os.environ.get(DATA_VARIABLE):
        pytest.skip(f"{DATA_VARIABLE} is not set")
    for place, value in FEWER.get(name, {}).items():
        monkeypatch.setattr(f"experiments.{place}", value)
    importlib.import_module(f"experiments.{name}").main(["--quick", "--results", str(tmp_path)])
    written = {path.name for path in tmp_path.iterdir()}
    assert any(file.endswith(".csv") for file in written)
    for file in written:
        # What it writes is what is committed, with the same columns.
        assert (RESULTS / file).is_file(), file
        if file.endswith(".csv"):
            assert header(tmp_path / file) == header(RESULTS / file)
