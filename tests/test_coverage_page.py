"""The page on the papers: all of their rows, and every test and experiment that it names exists."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

from experiments import __main__ as everything

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
STATES = {"works", "refused", "reproduced", "in part", "not matched", "not used"}


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
    | {"Lemma 3.1", "Corollary 3.1"},
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
