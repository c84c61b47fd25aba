"""Errors of quantile curves on real sets of curves, beside quantiles point by point and no privacy.

    python -m benchmarks.quantile_curves FOLDER [--half 0|1] [--sizes 500,2000,10000] [--visits]

FOLDER holds atlas.csv (name, lo, hi) and a CSV a set: the grid, then a curve a row. Units are mixtures
of two curves of a set, so that none comes twice; with `--visits` each is seen at one grid point of its
own, drawn at random. Half 0 are the sets with even places in the alphabet, on which constants were
chosen; half 1 the others. Rivals are `PrivateQuantiles` at every point with an equal share of epsilon
(of rho with `--rho`), and at eight points with straight lines between; of visits, in twelve groups of
age with half of epsilon, since replacing a person changes two groups.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.reference_bands import mixtures
from dpfda import Domain, PrivateQuantileCurves, PrivateQuantiles
from dpfda.records import LongCurves

LEVELS, NEW, KNOTS, GROUPS = (0.1, 0.5, 0.9), 20_000, 8, 12


def sets(folder: Path, half: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple[float, float]]]:
    """Name, curves on [0, 1], grid and bounds of the sets of one half."""
    with open(folder / "atlas.csv", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    for row in rows[half::2]:
        table = np.loadtxt(folder / f"{row['name']}.csv", delimiter=",")
        bounds = float(row["lo"]), float(row["hi"])
        yield row["name"], np.clip(table[1:], *bounds), np.linspace(0, 1, table.shape[1]), bounds


def alone(columns: list[np.ndarray], bounds: tuple[float, float], spent: dict[str, float]) -> np.ndarray:
    """Quantiles (levels, columns), each column by itself."""
    made = PrivateQuantiles(levels=LEVELS, domain=bounds, **spent)
    return np.array([made.fit(column).release_.values for column in columns]).T


def whole(
    generator: np.random.Generator, curves: np.ndarray, grid: np.ndarray,
    bounds: tuple[float, float], n: int, paid: Callable[[int], dict[str, float]],
) -> dict[str, np.ndarray]:  # fmt: skip
    """Quantile curves of whole curves, by method."""
    data = mixtures(generator, curves, n)
    release = PrivateQuantileCurves(bounds=bounds, domain=Domain(grid), **paid(1)).fit(data).release_
    knots = np.unique(np.linspace(0, grid.size - 1, KNOTS).round().astype(int))
    few = alone(list(data[:, knots].T), bounds, paid(knots.size))
    return {
        "ours": np.array([release[level](grid) for level in LEVELS]),
        "pointwise": alone(list(data.T), bounds, paid(grid.size)),
        "eight points": np.array([np.interp(grid, grid[knots], row) for row in few]),
        "no privacy": np.quantile(data, LEVELS, axis=0),
    }


def seen(
    generator: np.random.Generator, curves: np.ndarray, grid: np.ndarray,
    bounds: tuple[float, float], n: int, paid: Callable[[int], dict[str, float]],
) -> dict[str, np.ndarray]:  # fmt: skip
    """Quantile curves of units that are seen once, by method."""
    data, place = mixtures(generator, curves, n), generator.integers(0, grid.size, n)
    values = data[np.arange(n), place]
    long = LongCurves(np.arange(n), grid[place], values)
    release = PrivateQuantileCurves(bounds=bounds, domain=(0, 1), **paid(1)).fit(long).release_
    group = np.minimum((grid[place] * GROUPS).astype(int), GROUPS - 1)
    parts = [values[group == number] for number in range(GROUPS)]
    middles = (np.arange(GROUPS) + 0.5) / GROUPS
    few, plain = alone(parts, bounds, paid(2)), [np.quantile(part, LEVELS) for part in parts]
    return {
        "ours": np.array([release[level](grid) for level in LEVELS]),
        "pointwise": np.array([np.interp(grid, middles, row) for row in few]),
        "no privacy": np.array([np.interp(grid, middles, row) for row in np.array(plain).T]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=int, default=1)
    parser.add_argument("--sizes", default="500,2000,10000")
    parser.add_argument("--visits", action="store_true")
    parser.add_argument("--rho", type=float)
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()

    def paid(parts: int) -> dict[str, float]:
        return {"epsilon": 1 / parts} if chosen.rho is None else {"rho": chosen.rho / parts}

    print("n, method: error over the distance from .1 to .9, geometric mean; error over ours, the same,")
    print("and the least")
    for n in map(int, chosen.sizes.split(",")):
        errors: dict[str, list[float]] = {}
        for name, curves, grid, bounds in sets(chosen.folder, chosen.half):
            generator = np.random.default_rng()
            truth = np.quantile(mixtures(generator, curves, NEW), LEVELS, axis=0)
            measure = seen if chosen.visits else whole
            found = measure(generator, curves, grid, bounds, n, paid)
            apart = np.mean(truth[2] - truth[0])
            for method, line in found.items():
                off = float(np.sqrt(np.mean((line - truth) ** 2)) / apart)
                errors.setdefault(method, []).append(off)
            if chosen.verbose:
                print(name, {method: round(each[-1], 3) for method, each in errors.items()}, flush=True)
        ours = np.log(errors["ours"])
        for method, each in errors.items():
            ratio = np.log(each) - ours
            print(
                f"{n} {method}: {np.exp(np.mean(np.log(each))):.3f}; {np.exp(ratio.mean()):.2f} "
                f"{np.exp(ratio.min()):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
