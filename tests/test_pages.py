"""Every block of code and every command on the pages runs as it is written.

A page's blocks share their names, in order. What a block supposes to be there (curves, files) is made
by invisible blocks of the page, ``<!-- invisible-code-block: python ... -->``, or is there from the
start: `sample_names` and the files of `write_samples`. Lines of a ``console`` block that begin with
``$ dpfda`` are run; each line that the block shows after a command must be in what that prints.
"""

import os
import re
import shlex
import webbrowser
from pathlib import Path
from socketserver import BaseServer
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from typer.testing import CliRunner

from dpfda.front.command.app import app

pytestmark = pytest.mark.usefixtures("few_draws")

POINTS = 93
# Commands that are not the program's: they are tried elsewhere, or take long.
FOREIGN = re.compile(r"(pip|python|python3|export|git|pytest|R|Rscript|cd|\.\./dpfda-env/bin/)\b")


def sample_names() -> dict[str, Any]:
    """The names that pages suppose: waves of sixty persons, two each, and who they are."""
    steps = np.linspace(0, 1, POINTS)
    random = np.random.default_rng(7)
    levels = 0.5 + 0.1 * random.normal(size=(120, 1))
    curves = np.clip(levels + 0.15 * np.sin(5 * steps), 0, 1)
    person = np.repeat(np.arange(60), 2)
    case = np.where(person % 2, "case", "control")
    first, second = curves[:60], curves[60:]
    return {
        "np": np, "t": steps, "s": 0.3, "X": curves, "curves": curves,
        "mean": curves.mean(axis=0).round(2), "person": person, "subject": person, "case": case,
        "new_points": curves[:5], "public_curves": first, "some_curves": first, "other_curves": second,
        "monday": first, "tuesday": second,
    }  # fmt: skip


def write_samples(folder: Path, names: dict[str, Any]) -> None:
    """The files that pages speak of: data of nobody."""
    random = np.random.default_rng(8)
    header = ["ID", "visit", "case", *(f"cca_{k + 1}" for k in range(POINTS))]
    known = zip(names["person"], names["case"], names["curves"], strict=True)
    rows = [
        [who, k % 2, int(case == "case"), *curve.round(4)] for k, (who, case, curve) in enumerate(known)
    ]
    table(folder / "scans.csv", header, rows)
    table(folder / "new_scans.csv", header, rows[:5])
    ages = np.clip(random.normal(55, 15, size=400), 18, 90).round(1)
    pressures = (100 + 0.5 * ages + random.normal(0, 10, size=400)).round(1)
    table(folder / "visits.csv", ["age", "pressure"], [*zip(ages, pressures, strict=True)])
    table(folder / "people.csv", ["age"], [[age] for age in ages])
    incomes = np.exp(random.normal(10, 1, size=400)).round()
    table(folder / "incomes.csv", ["person", "income"], [*zip(range(400), incomes, strict=True)])
    follow_ups = zip(random.exponential(400, 120).round(), random.integers(1, 3, 120), strict=True)
    table(folder / "lung.csv", ["time", "status"], [*follow_ups])


def table(path: Path, header: list[str], rows: list) -> None:
    """A table of comma-separated values."""
    lines = [header, *rows]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")


def run_console(example: Example) -> None:
    """Run a console block, a command after the other, and compare what is printed."""

    for command, said in commands(example.parsed):
        if FOREIGN.match(command):
            continue
        name, *arguments = shlex.split(os.path.expandvars(command), comments=True)
        assert name == "dpfda", f"{command}: neither the program nor a command known to be foreign"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception}"
        for line in filter(None, said):
            assert line in result.output, f"{command}\n{result.output}"


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Commands of a console block, each with the lines of output that it shows; "..." is any."""
    found: list[tuple[str, list[str]]] = []
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and line.strip() != "...":
            found[-1][1].append(line.rstrip())
    return found


ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = Sybil([PythonCodeBlockParser(), CodeBlockParser("console", run_console), SkipParser()])


def interrupted(server: BaseServer) -> None:
    """Ctrl-C."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_runs(page, tmp_path, monkeypatch):
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    # Whoever opens a page that is served looks elsewhere, and stops it at once.
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(BaseServer, "serve_forever", interrupted)
    document = BLOCKS.parse(page)
    document.namespace.update(sample_names())
    write_samples(tmp_path, document.namespace)
    for example in document.examples():
        example.evaluate()
    pyplot.close("all")
