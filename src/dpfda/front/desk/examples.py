"""An example of what would be published: the verb itself, run on a file of made-up records."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable
from contextlib import redirect_stderr
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from dpfda.command.columns import read_covariates
from dpfda.command.declared import Given, Option
from dpfda.command.made import read_options
from dpfda.command.reading import Curves, ends, parse_points
from dpfda.front.desk.fields import BESIDE, Stated
from dpfda.front.desk.shapes import SHAPES, even
from dpfda.front.desk.studies import Draft, planned
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.publication import already_charged
from dpfda.views.shapes import View

# Numbers of a file, at most.
MOST = 1_000_000
# Of one person's curve, where each observation is a row.
VISITS = 4
CURVE = "made-up curve "
# Everyone's load at shares of a day, of the greatest there is.
LOADS, GREATEST = SHAPES["load"].made, 4.0
Columns = dict[str, list[str]]
# What is said of the real file, and holds of this one.
OWN = {"ledger": None, "dataset": None, "na": None, "decimal": ".", "dates": None, "month": 1}


def example(draft: Draft, folder: Path, asked: Stated) -> View:
    """A release of made-up records at the numbers that were asked for; nothing is charged or kept.

    Raises DpfdaError if the verb refuses it, or if there would be too many records.
    """
    chosen = {name: asked.get(name, value) for name, value in draft.chosen.items()}
    release = planned(replace(draft, chosen=chosen), folder)
    verb, given = release.verb, vars(read_options(release.verb, release.typed))
    units = int(str(asked["units"]))
    columns = _named(verb.told(), given, units)
    if isinstance(verb.reader, Curves):
        columns |= _curves(given, int(str(asked.get("points", VISITS))))
    # Nobody's data are in it: no ledger is theirs.
    with tempfile.TemporaryDirectory() as made, redirect_stderr(io.StringIO()), already_charged():
        own = {**OWN, "file": Path(made) / "records.csv", "state": Path(made) / "state"}
        given |= {name: value for name, value in own.items() if name in given}
        _write(given, columns, units)
        said = Given(**given)
        estimator = verb.estimator(said)
        table = verb.reader.read(said)
        verb.hear(said, estimator, table)
        view = verb.reader.fit(estimator, table, said).release_.view()
    return replace(view, title=f"Made up: {view.title}")


def _mixed(which: int) -> Floats:
    """A number of (0, 1) for each person; all of them go somewhat together."""
    return np.asarray(0.6 * even(0) + 0.4 * even(1 + which % 5)).ravel()


def _named(options: Iterable[Option], given: Json, units: int) -> Columns:
    """The columns that options name."""
    columns = Columns()
    span = ends(Given(**{"domain": None, **given})) or (0.0, 1.0)
    endings = [*(given.get("causes") or ["1"]), (given.get("censored") or ["0"])[0]]
    for option in options:
        name, stated = option.name, given[option.name]
        if stated and option.metavar in BESIDE:
            texts = stated if isinstance(stated, list) else [stated]
            for column, known in read_covariates([x if ":" in x else f"{x}:a,b" for x in texts]).items():
                columns[column] = _at(known, _mixed(len(columns)))
        elif stated and name == "time":
            columns[stated] = _at(span, -np.log(even(1)) * (0.9 - 0.6 * even(0)))
        elif stated and name == "start":
            columns[stated] = _at(span, 0 * even(0))
        elif stated and name in ("event", "outcome"):
            columns[stated] = _at(endings, 1 - _mixed(1))
        elif stated and name == "counts":
            cells = np.arange(1, len(parse_points(given["edges"], "--edges")))
            columns[stated] = (units * cells / cells.sum()).astype(int).astype(str).tolist()
    return columns


def _at(known: tuple[float, float] | list[str], share: Floats) -> list[str]:
    """Numbers at shares of an interval, or labels at shares of their list."""
    if isinstance(known, list):
        return [known[int(x * len(known))] for x in share]
    low, high = known
    return [f"{low + (high - low) * x:.6g}" for x in share.ravel()]


def _curves(given: Json, points: int) -> Columns:
    """Columns of curves within the bounds; where they lie is said anew, in this file's terms."""
    grid = None if given["grid"] is None else np.array(parse_points(given["grid"], "--grid"))
    first, last = span = ends(Given(**given)) or ((0.0, 1.0) if grid is None else (grid[0], grid[-1]))
    grid = np.linspace(first, last, points) if grid is None else grid
    reach = (given.get("l2_bound") or given.get("l1_bound") or given.get("radius") or 1.0) / 2
    bounds = given.get("bounds") or (-reach / (last - first) ** 0.5, reach / (last - first) ** 0.5)
    given |= {"domain": given["domain"] and tuple(map(str, span))}
    if given.get("id") is None:
        given |= {"grid": ",".join(map(str, grid.tolist())), "columns": f"{CURVE}*"}
        heights = LOADS((grid - first) / (last - first)) / GREATEST
        return {f"{CURVE}{k}": _at(bounds, height) for k, height in enumerate(heights.T)}
    # A person's visits stand together.
    when = (even(1) + np.arange(VISITS)) / VISITS
    return {given["time"]: _at(span, when), given["value"]: _at(bounds, LOADS(when) / GREATEST)}


def _write(given: Json, columns: Columns, units: int) -> None:
    """Write the file: of so many people, those that were made up come again."""
    whose, visits = given.get("id") or given["groups"], VISITS if given.get("id") else 1
    records = [*zip(*columns.values(), strict=True)]
    rows = len(records) if given.get("counts") else units * visits
    if rows * len(columns) > MOST:
        raise ParameterError("The example", f"have at most {MOST} numbers", rows * len(columns))
    with given["file"].open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table)
        writer.writerow([*([whose] if whose else []), *columns])
        for place, record in enumerate(islice(cycle(records), rows)):
            writer.writerow([*([place // visits] if whose else []), *record])
