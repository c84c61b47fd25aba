"""Made-up curves, the same for everyone; and an example: a verb itself, run on made-up records."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from dpfda.command.columns import ends, parse_points, read_covariates
from dpfda.command.declared import Given, Option
from dpfda.command.functions import read_options
from dpfda.command.reading import Curves
from dpfda.front.desk.fields import BESIDE, Stated
from dpfda.front.desk.studies import Draft, planned
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.caveats import already_charged
from dpfda.views.shapes import View

# So many different curves are made up; larger populations repeat them.
PEOPLE = 997
# Numbers of a file, at most.
MOST = 1_000_000
# Of one person's curve, where each observation is a row.
VISITS = 4
CURVE = "made-up curve "
Columns = dict[str, list[str]]
# Options about the real file, as they are for this one.
OWN = {"ledger": None, "dataset": None, "na": None, "decimal": ".", "dates": None, "month": 1}


@dataclass(frozen=True, eq=False)
class Shape:
    """Curves of made-up people, or public ones.

    Parameters
    ----------
    title, unit : str
        What they are, and who has one.
    domain_range : (float, float)
    labels : mapping of str to str
        Of axis and values, with units.
    bounds : (float, float)
        A public choice to begin with.
    reach : (float, float)
        How far the sliders of the bounds go.
    sample : callable
        Takes the share of the domain (m,) and answers with curves (k, m).
    """

    title: str
    unit: str
    domain_range: tuple[float, float]
    labels: dict[str, str]
    bounds: tuple[float, float]
    reach: tuple[float, float]
    sample: Callable[[Floats], Floats]

    def curves(self, points: int) -> Floats:
        """Different curves (k, points) on an equally spaced grid."""
        curves: Floats = self.sample(np.linspace(0.0, 1.0, points))
        return curves


def even(which: int) -> Floats:
    """Numbers (PEOPLE, 1) spread evenly over (0, 1), in another order for each `which`."""
    root = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0][which])
    return np.asarray(np.modf((np.arange(PEOPLE) + 0.5) * root)[0][:, None])


def _bump(share: Floats, middle: Floats | float, width: float) -> Floats:
    return np.asarray(np.exp(-(((share - middle) / width) ** 2) / 2))


def _loads(share: Floats) -> Floats:
    size = np.exp(1.2 * (even(0) - 0.5))
    morning = 0.9 * _bump(share, 0.3 + 0.06 * (even(1) - 0.5), 0.05)
    evening = 1.6 * _bump(share, 0.8 + 0.08 * (even(2) - 0.5), 0.08)
    return np.asarray(size * (0.35 + morning + evening + 0.15 * even(3)))


def _heights(share: Floats) -> Floats:
    final, spurt = 150 + 40 * even(0), 0.62 + 0.14 * (even(1) - 0.5)
    early = 75 + (final - 95) * share**0.75
    return np.asarray(early + 20 / (1 + np.exp(-14 * (share - spurt))) + 6 * (even(2) - 0.5))


def _doses(share: Floats) -> Floats:
    height, peak = 4 + 8 * even(0), 0.08 + 0.1 * even(1)
    return np.asarray(height * share / peak * np.exp(1 - share / peak))


def _switches(share: Floats) -> Floats:
    on = 0.35 + 0.08 * (even(0) - 0.5)
    return np.asarray(20 + 25 * (share > on) * (share < 0.7) + 8 * (even(1) - 0.5))


def _temperatures(share: Floats) -> Floats:
    from dpfda.datasets import load_temperatures

    public = load_temperatures()
    hours = public.grid_points[-1] * share
    return np.array([np.interp(hours, public.grid_points, day) for day in public.values])


SHAPES = {
    "load": Shape(
        "Load of a household over a day (made up)", "household", (0.0, 24.0),
        {"domain": "hour of the day", "value": "load (kW)"}, (0.0, 5.0), (0.0, 20.0), _loads,
    ),
    "height": Shape(
        "Height of a child from 1 to 18 (made up)", "child", (1.0, 18.0),
        {"domain": "age (years)", "value": "height (cm)"}, (60.0, 210.0), (0.0, 300.0), _heights,
    ),
    "dose": Shape(
        "Concentration after a dose (made up)", "patient", (0.0, 48.0),
        {"domain": "time (hours)", "value": "concentration (mg/l)"}, (0.0, 15.0), (0.0, 60.0), _doses,
    ),
    "switch": Shape(
        "A machine that switches on and off (made up)", "machine", (0.0, 24.0),
        {"domain": "hour of the day", "value": "power (W)"}, (0.0, 60.0), (0.0, 200.0), _switches,
    ),
    "temperature": Shape(
        "Temperature of a day in Seattle (public data)", "day", (0.0, 23.0),
        {"domain": "hour of the day", "value": "temperature (degrees C)"}, (-20.0, 45.0),
        (-60.0, 80.0), _temperatures,
    ),
}  # fmt: skip
# Everyone's load at shares of a day, of the greatest there is.
LOADS, GREATEST = SHAPES["load"].sample, 4.0


def example(draft: Draft, folder: Path, numbers: Stated) -> View:
    """A release of made-up records at the numbers that were asked for; nothing is charged or kept.

    Raises DpfdaError if the verb refuses it, or if there would be too many records.
    """
    chosen = {name: numbers.get(name, value) for name, value in draft.chosen.items()}
    release = planned(replace(draft, chosen=chosen), folder)
    verb, values = release.verb, vars(read_options(release.verb, release.typed))
    units = int(str(numbers["units"]))
    columns = _named(verb.all_options(), values, units)
    if isinstance(verb.reader, Curves):
        columns |= _curves(values, int(str(numbers.get("points", VISITS))))
    # Nobody's data are in it: no ledger is theirs.
    with tempfile.TemporaryDirectory() as place, redirect_stderr(io.StringIO()), already_charged():
        own = {**OWN, "file": Path(place) / "records.csv", "state": Path(place) / "state"}
        values |= {name: value for name, value in own.items() if name in values}
        _write(values, columns, units)
        args = Given(**values)
        estimator = verb.estimator(args)
        table = verb.read(args, estimator)
        view = verb.reader.release(estimator, table, args).view()
    return replace(view, title=f"Made up: {view.title}")


def _mixed(which: int) -> Floats:
    """A number of (0, 1) for each person; all of them go somewhat together."""
    return np.asarray(0.6 * even(0) + 0.4 * even(1 + which % 5)).ravel()


def _named(options: Iterable[Option], values: Json, units: int) -> Columns:
    """The columns that options name."""
    columns = Columns()
    span = ends(Given(**{"domain": None, **values})) or (0.0, 1.0)
    endings = [*(values.get("causes") or ["1"]), (values.get("censored") or ["0"])[0]]
    for option in options:
        name, stated = option.name, values[option.name]
        if stated and option.metavar in BESIDE:
            texts = stated if isinstance(stated, list) else [stated]
            for column, range_ in read_covariates(
                [x if ":" in x else f"{x}:a,b" for x in texts]
            ).items():
                columns[column] = _at(range_, _mixed(len(columns)))
        elif stated and name == "time":
            columns[stated] = _at(span, -np.log(even(1)) * (0.9 - 0.6 * even(0)))
        elif stated and name == "start":
            columns[stated] = _at(span, 0 * even(0))
        elif stated and name in ("event", "outcome"):
            columns[stated] = _at([*(values.get("codes") or endings)], 1 - _mixed(1))
        elif stated and name == "counts":
            cells = np.arange(1, len(parse_points(values["edges"], "--edges")))
            columns[stated] = (units * cells / cells.sum()).astype(int).astype(str).tolist()
    return columns


def _at(limits: tuple[float, float] | list[str], share: Floats) -> list[str]:
    """Numbers at shares of an interval, or labels at shares of their list."""
    if isinstance(limits, list):
        return [limits[int(x * len(limits))] for x in share]
    low, high = limits
    return [f"{low + (high - low) * x:.6g}" for x in share.ravel()]


def _curves(values: Json, points: int) -> Columns:
    """Columns of curves within the bounds; their domain is restated in this file's terms."""
    grid = None if values["grid"] is None else np.array(parse_points(values["grid"], "--grid"))
    first, last = span = ends(Given(**values)) or ((0.0, 1.0) if grid is None else (grid[0], grid[-1]))
    grid = np.linspace(first, last, points) if grid is None else grid
    reach = (values.get("l2_bound") or values.get("l1_bound") or values.get("radius") or 1.0) / 2
    bounds = values.get("bounds") or (-reach / (last - first) ** 0.5, reach / (last - first) ** 0.5)
    values |= {"domain": values["domain"] and tuple(map(str, span))}
    if values.get("id") is None:
        values |= {"grid": ",".join(map(str, grid.tolist())), "columns": f"{CURVE}*"}
        heights = LOADS((grid - first) / (last - first)) / GREATEST
        return {f"{CURVE}{k}": _at(bounds, height) for k, height in enumerate(heights.T)}
    # A person's visits stand together.
    when = (even(1) + np.arange(VISITS)) / VISITS
    return {values["time"]: _at(span, when), values["value"]: _at(bounds, LOADS(when) / GREATEST)}


def _write(values: Json, columns: Columns, units: int) -> None:
    """Write the file: of so many people, those that were made up come again."""
    whose, visits = values.get("id") or values["groups"], VISITS if values.get("id") else 1
    records = [*zip(*columns.values(), strict=True)]
    rows = len(records) if values.get("counts") else units * visits
    if rows * len(columns) > MOST:
        raise ParameterError("The example", f"have at most {MOST} numbers", rows * len(columns))
    with values["file"].open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table)
        writer.writerow([*([whose] if whose else []), *columns])
        for place, record in enumerate(islice(cycle(records), rows)):
            writer.writerow([*([place // visits] if whose else []), *record])
