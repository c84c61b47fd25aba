"""What the experiments share: data, printed tables, results, progress and the command line."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DATA_VARIABLE = "DPFDA_DATA_DIR"


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    quick: bool
    seed: int
    results: Path


def read_options(description: str, seed: int, arguments: Sequence[str] | None = None) -> Options:
    """Read --quick, --seed and --results, print the seed, and keep linear algebra to one thread.

    Threads that wait for each other on small matrices cost more than they give.
    """
    threadpool_limits(1)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--seed", type=int, default=seed, help=f"seed of the simulated noise ({seed})")
    parser.add_argument("--results", type=Path, default=None, help="folder for CSV, PNG and pages")
    given = parser.parse_args(arguments)
    folder = given.results
    if folder is None:
        # A quick run must not replace committed results by poorer ones.
        folder = RESULTS / "quick" if given.quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    say(f"seed {given.seed}; results in {folder}")
    return Options(given.quick, given.seed, folder)


def say(text: str) -> None:
    """Write a line of progress."""
    print(text, file=sys.stderr, flush=True)


def shown(items: Iterable[Any], what: str) -> Iterator[Any]:
    """Go through items and show how far we are, on stderr."""
    todo, start, last = list(items), time.perf_counter(), 0.0
    for index, item in enumerate(todo, 1):
        yield item
        passed = time.perf_counter() - start
        if index == len(todo):
            say(f"{what}: {index}/{len(todo)}, {passed:.0f} s")
        elif passed - last > 1:
            last = passed
            print(f"{what}: {index}/{len(todo)}, {passed:.0f} s", end="\r", file=sys.stderr, flush=True)


def data_folder() -> Path:
    """Folder with the real data, named by the environment."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        raise SystemExit(
            f"{DATA_VARIABLE} must name the folder that holds adelaide_monday_demand.csv and"
            " dti_cca.csv; it is not set. The sources of both files are in docs/experiments.md."
        )
    return Path(named)


def _rows(name: str) -> list[list[str]]:
    path = data_folder() / name
    if not path.is_file():
        raise SystemExit(f"{DATA_VARIABLE} must name a folder that holds {name}; {path} is not there.")
    with path.open(encoding="utf-8") as handle:
        return list(csv.reader(handle))[1:]


def electricity() -> Floats:
    """Demand on 508 Mondays at 48 half hours, in megawatts."""
    return np.array(_rows("adelaide_monday_demand.csv"), dtype=float)


def scans() -> tuple[Floats, NDArray[np.str_]]:
    """All 382 scans at 93 positions, NaN where missing, and the person of each."""
    rows = _rows("dti_cca.csv")
    curves = np.array([[np.nan if cell == "NA" else float(cell) for cell in row[3:]] for row in rows])
    return curves, np.array([row[0] for row in rows])


def printed(name: str) -> list[dict[str, str]]:
    """A table as the paper prints it."""
    return read_csv(HERE / "printed" / f"{name}.csv")


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows of a table, by the names of its columns."""
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with the keys of the first as columns; floats with six digits."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    say(f"wrote {path}")


def resumed(
    options: Options,
    name: str,
    cases: Sequence[tuple[Any, ...]],
    study: Callable[[tuple[Any, ...]], list[dict[str, Any]]],
) -> None:
    """Rows of all cases in a CSV, written case by case; after an interruption it goes on.

    Rows of a finished case are kept beside the table, with the seed, until all are done. Each case
    must have a seed of its own.
    """
    path = options.results / name
    kept = path.with_suffix(f".{options.seed}.part")
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() else []
    done = dict(json.loads(line) for line in lines)
    with kept.open("a", encoding="utf-8") as handle:
        for case in shown([case for case in cases if repr(case) not in done], name):
            done[repr(case)] = study(case)
            handle.write(json.dumps([repr(case), done[repr(case)]]) + "\n")
            handle.flush()
    write_csv(path, [row for case in cases for row in done[repr(case)]])
    kept.unlink()


def write_json(path: Path, found: dict[str, Any]) -> None:
    """Write results with a row a line; floats with six digits."""
    short = json.loads(json.dumps(found), parse_float=lambda text: float(f"{float(text):.6g}"))
    parts = []
    for name, value in short.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f"{json.dumps(name)}: [\n  {rows}\n ]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value)}")
    path.write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")
    say(f"wrote {path}")


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; the first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def trapezoid(points: int) -> Floats:
    """Trapezoid weights of equally spaced points on [0, 1]."""
    weights = np.full(points, 1 / (points - 1))
    weights[[0, -1]] /= 2
    return weights


def standardised(curves: Floats, weights: Floats) -> Floats:
    """Each curve minus its own mean, over its own L2 norm."""
    centred = curves - (curves @ weights / weights.sum())[:, None]
    return np.asarray(centred / np.sqrt(centred**2 @ weights)[:, None])
