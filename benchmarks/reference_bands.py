"""Coverage and width of reference bands on real sets of curves, beside a band without privacy.

    python -m benchmarks.reference_bands FOLDER [--half 0|1] [--repeats 4] [--sizes 300,2000,20000]

FOLDER holds atlas.csv (name, lo, hi) and a CSV a set: the grid, then a curve a row. Units are mixtures
of two curves of a set, so that none comes twice. Half 0 are the sets with even places in the alphabet,
on which constants were chosen; half 1 the others.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from dpfda import PrivateReferenceBand

NEW = 2000


def mixtures(generator: np.random.Generator, curves: np.ndarray, count: int) -> np.ndarray:
    """Curves between two of a set, mostly near one of them."""
    first, second = generator.integers(0, len(curves), (2, count))
    weight = generator.beta(0.3, 0.3, (count, 1))
    return weight * curves[first] + (1 - weight) * curves[second]


def without_privacy(curves: np.ndarray, share: float) -> tuple[np.ndarray, float]:
    """Centre and radius of the plain split conformal band."""
    half = len(curves) // 2
    centre = curves[:half].mean(axis=0)
    far = np.abs(curves[half:] - centre).max(axis=1)
    return centre, float(np.quantile(far, min(1.0, share * (1 + 1 / far.size))))


def measure(
    generator: np.random.Generator, curves: np.ndarray, bounds: tuple[float, float], n: int, share: float
) -> tuple[float, float]:
    """Share of new curves inside, and the width over that of the band without privacy."""
    data, new = mixtures(generator, curves, n), mixtures(generator, curves, NEW)
    release = PrivateReferenceBand(1.0, bounds=bounds, coverage=share).fit(data).release_
    grid = release.grid_points
    wide = np.mean(release.upper(grid) - release.lower(grid))
    centre, radius = without_privacy(data, share)
    plain = np.mean(np.clip(centre + radius, *bounds) - np.clip(centre - radius, *bounds))
    return float(release.contains(new).mean()), float(wide / plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--sizes", default="300,2000,20000")
    parser.add_argument("--share", type=float, default=0.9)
    chosen = parser.parse_args()
    with open(chosen.folder / "atlas.csv", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["name"])
    print("n, coverage (mean, least set), width over plain (geometric mean, median, largest set)")
    for n in map(int, chosen.sizes.split(",")):
        inside, wide, names = [], [], []
        for row in rows[chosen.half :: 2]:
            table = np.loadtxt(chosen.folder / f"{row['name']}.csv", delimiter=",")
            bounds = float(row["lo"]), float(row["hi"])
            curves = np.clip(table[1:], *bounds)
            generator = np.random.default_rng()
            cells = [measure(generator, curves, bounds, n, chosen.share) for _ in range(chosen.repeats)]
            inside.append(np.mean([cell[0] for cell in cells]))
            wide.append(np.mean([cell[1] for cell in cells]))
            names.append(row["name"])
        widest = names[int(np.argmax(wide))]
        print(
            f"{n}: {np.mean(inside):.3f} {np.min(inside):.3f}; {np.exp(np.mean(np.log(wide))):.3f} "
            f"{np.median(wide):.3f} {np.max(wide):.2f} ({widest})",
            flush=True,
        )


if __name__ == "__main__":
    main()
