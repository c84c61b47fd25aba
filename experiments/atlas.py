"""Error and band of the default beside honest rivals, on sets of real curves.

Run `python -m experiments.atlas` (`--quick` for few draws) with DPFDA_DATA_DIR set to a folder that
holds `atlas/atlas.csv` and a CSV a set. An earlier version of the library stands beside the present one
as `results/atlas_before.json`, which was made with that version's checkout in front of the path:

    PYTHONPATH=CHECKOUT/src python -c 'from experiments import atlas; atlas.record_before("COMMIT")'
"""

from __future__ import annotations

import csv
import json
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpfda import PrivateMean
from dpfda.testing import simulate_releases
from experiments import common
from experiments.atlas_page import draw_picture, write_page
from experiments.atlas_rivals import CELLS, HINDSIGHT, cosine_releases, rule_cells, spline
from experiments.common import Floats, Options

SEED = 2026112601
DRAWS, QUICK_DRAWS = 200, 10
RELEASES, QUICK_RELEASES = 25, 2
LEVEL = 0.95
SIZES = ((200, 0.25), (300, 1.0), (2_000, 0.25), (5_000, 1.0), (20_000, 0.25), (20_000, 4.0))
# Sizes at which bands are measured too.
BANDED = ((300, 1.0), (5_000, 1.0))
# Where a full run writes the page; any other run writes it beside its results.
PAGE = common.HERE.parent / "docs" / "baselines.md"
# Factors and powers of n epsilon that the expert might have taken for the number of cells.
RULES = tuple(
    (factor, power) for power in (0.35, 0.4, 0.45, 0.5) for factor in (0.4, 0.5, 0.62, 0.8, 1.0, 1.25)
)
# Rounding of records to integers may move their mean by less than this share of the range.
ROUNDING = 1e-6

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class CurveSet:
    """Real curves, in the units of their public bounds.

    Parameters
    ----------
    name, family, units : str
    curves : array (k, T)
        On points that are taken for equally spaced.
    low, high : float
        Public bounds on values.
    """

    name: str
    family: str
    units: str
    curves: Floats
    low: float
    high: float

    @property
    def points(self) -> int:
        """Number of grid points."""
        return int(self.curves.shape[1])

    def sample(self, generator: np.random.Generator, size: int) -> Floats:
        """As many curves (n, T), drawn with replacement and clipped to the bounds."""
        chosen = self.curves[generator.integers(0, len(self.curves), size)]
        return np.clip(chosen, self.low, self.high)

    def share(self, values: Floats) -> Floats:
        """Values as shares of the public range."""
        return np.asarray((values - self.low) / (self.high - self.low))

    def about(self) -> Row:
        """What the page says of the set; no curve."""
        facts = {"curves": len(self.curves), "points": self.points, "low": self.low, "high": self.high}
        return {"name": self.name, "family": self.family, "units": self.units, **facts}


def curve_sets() -> list[CurveSet]:
    """All sets that atlas.csv lists, in its order."""
    folder = common.data_folder() / "atlas"
    listed = folder / "atlas.csv"
    if not listed.is_file():
        raise SystemExit(
            f"{common.DATA_VARIABLE} must name a folder that holds {listed.parent.name}/{listed.name}."
        )
    with listed.open(encoding="utf-8") as handle:
        return [_read(folder, row) for row in csv.DictReader(handle)]


def _read(folder: Path, row: dict[str, str]) -> CurveSet:
    # The first row is the grid: even but in one set, and there nearly. All methods take it for even.
    curves = np.loadtxt(folder / f"{row['name']}.csv", delimiter=",")[1:]
    return CurveSet(row["name"], row["family"], row["units"], curves, float(row["lo"]), float(row["hi"]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets and sizes; write atlas.json, the page and atlas.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    sets = curve_sets()
    found = run(sets, options) | {"rules": other_rules(sets, options)}
    common.write_json(options.results / "atlas.json", found)
    before = json.loads((common.RESULTS / "atlas_before.json").read_text(encoding="utf-8"))
    page, picture = options.results / "atlas.md", options.results / "atlas.png"
    if options.results == common.RESULTS:
        page, picture = PAGE, PAGE.parent / "pictures" / "atlas.png"
    draw_picture(picture, found, before)
    write_page(page, found, before, picture.relative_to(page.parent).as_posix())


def record_before(commit: str, path: Path = common.RESULTS / "atlas_before.json") -> None:
    """Record errors and bands of the default of whatever version is imported, under the same seeds."""
    found = run(curve_sets(), Options(False, SEED, path.parent), rivals=False)
    common.write_json(path, found | {"commit": commit})


def run(sets: Sequence[CurveSet], options: Options, rivals: bool = True) -> Row:
    """Errors and bands of every set and size, each cell with a seed of its own."""
    draws = QUICK_DRAWS if options.quick else DRAWS
    releases = QUICK_RELEASES if options.quick else RELEASES
    cells = [(each, size, epsilon) for each in sets for size, epsilon in SIZES]
    errors, bands = [], []
    for each, size, epsilon in common.shown(cells, "atlas"):
        cell = Cell(each, size, epsilon, options.seed)
        place = {"set": each.name, "n": size, "epsilon": epsilon}
        row = {"default": cell.default_error(draws)}
        errors.append(place | row | (cell.rival_errors(draws) if rivals else {}))
        if (size, epsilon) in BANDED:
            bands.append(place | cell.bands(releases))
    facts = {"seed": options.seed, "draws": draws, "releases": releases, "level": LEVEL}
    return {**facts, "sets": [each.about() for each in sets], "errors": errors, "bands": bands}


def other_rules(sets: Sequence[CurveSet], options: Options) -> list[Row]:
    """Error of the expert's spline under other numbers of cells, over that under the rule."""
    draws = QUICK_DRAWS if options.quick else DRAWS // 2
    cells = [Cell(each, size, epsilon, options.seed) for each in sets for size, epsilon in SIZES]
    logs = np.zeros(len(RULES))
    for cell in common.shown(cells, "other rules"):
        mean, points, strength = cell.mean, cell.curves.points, cell.strength
        numbers = [rule_cells(points, strength, rule) for rule in RULES]
        errors = {count: cell.spline_error(mean, count, "rules", draws) for count in {*numbers}}
        logs += np.log([errors[count] for count in numbers])
    ratios = np.exp((logs - logs[RULES.index(CELLS)]) / len(cells))
    return [
        {"factor": factor, "power": power, "ratio": float(ratio)}
        for (factor, power), ratio in zip(RULES, ratios, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Cell:
    """One set at one size and epsilon, with randomness of its own.

    The seed follows from the names, not from the order: a cell has the same whichever others are run,
    and with whichever version of the library. Errors are root mean squares over grid and draws, in
    shares of the public range, of the distance to the mean of the clipped curves.
    """

    curves: CurveSet
    size: int
    epsilon: float
    seed: int

    @property
    def strength(self) -> float:
        """Number of units times epsilon."""
        return self.size * self.epsilon

    def generator(self, purpose: str) -> np.random.Generator:
        """A stream for each purpose: luck is shared by nothing."""
        name = f"{self.curves.name} {self.size} {self.epsilon:g} {purpose}"
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    @property
    def data(self) -> Floats:
        """Curves (n, T) in their own units, within the bounds."""
        return self.curves.sample(self.generator("curves"), self.size)

    @property
    def estimator(self) -> PrivateMean:
        """The default: nothing is said but the guarantee and the bounds."""
        bounds = (self.curves.low, self.curves.high)
        return PrivateMean(epsilon=self.epsilon, bounds=bounds, mechanism="one-look")

    def default_error(self, draws: int) -> float:
        """Error of the library's default."""
        data, seed = self.data, int(self.generator("default").integers(2**32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            released = np.asarray(simulate_releases(self.estimator, data, draws, seed))
        return root_mean_square(self.curves.share(released) - self.curves.share(data.mean(axis=0)))

    @property
    def mean(self) -> Floats:
        """What a release should be near, in shares of the public range."""
        return self.curves.share(self.data.mean(axis=0))

    def spline_error(self, mean: Floats, cells: int, purpose: str, draws: int) -> float:
        """Error of the expert's spline on so many cells."""
        stream = self.generator(f"{purpose} {cells}")
        releases = spline(self.curves.points, cells).releases(stream, mean, self.strength, draws)
        return root_mean_square(releases - mean)

    def rival_errors(self, draws: int) -> Row:
        """Errors of the expert's rule, of hindsight and of cosines, and the numbers of cells."""
        mean, points, strength = self.mean, self.curves.points, self.strength
        rule = rule_cells(points, strength)
        # Chosen by other draws than it is judged by: the least of many averages would flatter it.
        tried = [cells for cells in sorted({*HINDSIGHT, rule}) if cells <= points]
        best = min(tried, key=lambda cells: self.spline_error(mean, cells, "search", draws))
        cosines = cosine_releases(self.generator("cosines"), mean, strength, draws) - mean
        return {
            "rule": self.spline_error(mean, rule, "cells", draws),
            "hindsight": self.spline_error(mean, best, "cells", draws),
            "cosines": root_mean_square(cosines),
            "rule_cells": rule,
            "hindsight_cells": best,
        }

    def bands(self, releases: int) -> Row:
        """How often the default's band holds everywhere, and how wide it is, over simulated releases."""
        data = self.data
        grid, mean = np.linspace(0, 1, self.curves.points), data.mean(axis=0)
        slack = ROUNDING * (self.curves.high - self.curves.low)
        found: dict[str, list[Any]] = {name: [] for name in ("holds", "inside", "bounded", "widths")}
        for release in simulated(self.estimator, data, self.generator("bands"), releases):
            band, line = release.band(LEVEL, points=grid), release(grid)
            half = float(np.mean(band.upper - band.lower)) / 2
            found["holds"].append(_within(band.lower, mean, band.upper, slack))
            found["inside"].append(_within(band.lower, line, band.upper, slack))
            found["bounded"].append(
                _within(self.curves.low, band.lower, self.curves.high, slack)
                and _within(self.curves.low, band.upper, self.curves.high, slack)
                and _within(self.curves.low, line, self.curves.high, slack)
            )
            found["widths"].append(half / max(root_mean_square(line - mean), slack))
        shares = {name: float(np.mean(found[name])) for name in ("holds", "inside", "bounded")}
        # Every width, so that medians over sets can be taken.
        return shares | {"widths": [float(f"{width:.4g}") for width in found["widths"]]}


def simulated(
    estimator: PrivateMean, data: Floats, generator: np.random.Generator, releases: int
) -> Iterator[Any]:
    """Whole releases as `fit` makes them, but with seeded floating-point noise. NOT PRIVATE."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, prepared = estimator.fit(data).release_, estimator.prepare(data)
    exact = prepared.total._total[: len(made.noisy_sum)]
    marked = {**made.about, "simulated": "NOT PRIVATE (simulated noise)"}
    for drawn in np.rint(made.noise.simulate(generator, releases)):
        noisy = tuple(total + int(z) for total, z in zip(exact, drawn, strict=True))
        yield replace(made, noisy_sum=noisy, about=marked)


def root_mean_square(values: Floats) -> float:
    """Over everything."""
    return float(np.sqrt(np.mean(np.square(values))))


def _within(lower: Any, values: Any, upper: Any, slack: float) -> bool:
    return bool(np.all(lower - slack <= values) and np.all(values <= upper + slack))


if __name__ == "__main__":
    main()
