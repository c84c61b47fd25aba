"""A number explained by real curves: R^2 on new curves, beside ridge without privacy and a plain rival.

    python -m benchmarks.scalar_on_function FOLDER [--half 0|1] [--sizes 1000,5000,20000] [--delta 1e-5]

FOLDER holds atlas.csv (name, lo, hi) and a CSV a set: the grid, then a curve a row. Half 0 are the sets
at even places of that list, on which constants were chosen; half 1 the others. Units are mixtures of two
curves of a set. The number is a smooth random function of the curve, with `--covariates` of two uniform
numbers too, and a normal residual: 60 per cent are explained by the curve. Its public bounds are seven
deviations apart, not around its mean. The rival adds normal noise (Laplace without delta) to sums and
products of averages over eight cells, in the box of the public bounds, and solves with a ridge.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import RidgeCV

from benchmarks.reference_bands import mixtures
from dpfda import Domain, PrivateScalarOnFunction
from dpfda.noise import gaussian_ratio
from dpfda.privacy.guarantees import guarantee_for

NEW, CELLS, EXPLAINED = 4000, 8, 0.6


def plain(
    random: np.random.Generator, X: np.ndarray, y: np.ndarray, new: np.ndarray, delta: float
) -> np.ndarray:
    """Predictions of the rival from vectors in [-1, 1], at epsilon 1."""
    rows = np.column_stack([np.ones(len(X)), X, y])
    low = np.tril_indices(rows.shape[1])
    if delta:
        scale = np.sqrt(2) * rows.shape[1] / float(gaussian_ratio(guarantee_for(1, delta)))
        noise = scale * random.normal(size=low[0].size)
    else:
        noise = 2 * low[0].size * random.laplace(size=low[0].size)
    moments = np.zeros((rows.shape[1],) * 2)
    moments[low] = (rows.T @ rows)[low] + noise
    moments = np.tril(moments) + np.tril(moments, -1).T
    inner, ridge = moments[:-1, :-1], 2 * noise.std() * np.sqrt(rows.shape[1])
    found = np.linalg.solve(
        inner + (max(0, -np.linalg.eigvalsh(inner)[0]) + ridge) * np.eye(len(inner)), moments[:-1, -1]
    )
    return np.column_stack([np.ones(len(new)), new]) @ found


def cell(
    random: np.random.Generator, curves: np.ndarray, grid: np.ndarray, bounds: tuple[float, float],
    n: int, delta: float, beside: int,
) -> dict[str, float]:  # fmt: skip
    """What is measured of one set, by name."""
    waves = np.arange(6)
    line = np.cos(np.pi * np.outer(grid, waves)) @ (random.normal(size=6) / (1 + waves) ** 1.5)
    X, new = mixtures(random, curves, n), mixtures(random, curves, NEW)
    weights = np.gradient(grid)
    Z, fresh = random.uniform(-1, 1, (n, beside)), random.uniform(-1, 1, (NEW, beside))
    told = X @ (weights * line)
    spread = told.std()
    y = told + 0.3 * spread * Z.sum(axis=1) + spread * np.sqrt(1 / EXPLAINED - 1) * random.normal(size=n)
    wanted = new @ (weights * line) + 0.3 * spread * fresh.sum(axis=1)
    target = float(y.mean() - 4 * y.std()), float(y.mean() + 3 * y.std())
    names = {f"z{i}": (-1, 1) for i in range(beside)} or None
    model = PrivateScalarOnFunction(
        1, delta, bounds=bounds, target_bounds=target, covariates=names, domain=Domain(grid)
    )
    release = model.fit(X, y, Z if beside else None).release_
    mean, parts = X.mean(axis=0), np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:30].T
    free = RidgeCV(np.geomspace(1e-8, 1e2, 21) * spread**2)
    free.fit(np.column_stack([(X - mean) @ parts, Z]), y)

    def boxed(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        shares = (2 * rows - sum(bounds)) / (bounds[1] - bounds[0])
        split = np.array_split(shares, CELLS, axis=1)
        return np.column_stack([*(part.mean(axis=1) for part in split), others])

    middle, half = sum(target) / 2, (target[1] - target[0]) / 2
    scaled = np.clip((y - middle) / half, -1, 1)
    rival = middle + half * plain(random, boxed(X, Z), scaled, boxed(new, fresh), delta)
    whole, alone = release.band(0.95, points=grid), release.band(0.95, False, points=grid)

    def score(predicted: np.ndarray) -> float:
        return float(1 - np.mean((predicted - wanted) ** 2) / np.var(wanted))

    # R^2 of new numbers, whose residual nobody knows.
    share = np.var(wanted) / (np.var(wanted) + np.var(y) - np.var(told + 0.3 * spread * Z.sum(axis=1)))
    found = {
        "ours": release.predict(new, fresh if beside else None),
        "no privacy": free.predict(np.column_stack([(new - mean) @ parts, fresh])),
        "rival": rival,
    }
    made = {name: share * score(each) for name, each in found.items()}
    inside = float(np.mean((alone.lower <= line) & (line <= alone.upper)))
    return made | {"band": float(whole.contains(line)), "at a point": inside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=int, default=1)
    parser.add_argument("--sizes", default="1000,5000,20000")
    parser.add_argument("--delta", type=float, default=0.0)
    parser.add_argument("--covariates", action="store_true")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(chosen.folder / "atlas.csv", encoding="utf-8") as file:
        sets = [*csv.DictReader(file)][chosen.half :: 2]
    for n in map(int, chosen.sizes.split(",")):
        rows = []
        for each in sets:
            table = np.loadtxt(chosen.folder / f"{each['name']}.csv", delimiter=",")
            bounds = float(each["lo"]), float(each["hi"])
            grid, curves = np.linspace(0, 1, table.shape[1]), np.clip(table[1:], *bounds)
            for _ in range(chosen.draws):
                random = np.random.default_rng()
                rows.append(cell(random, curves, grid, bounds, n, chosen.delta, 2 * chosen.covariates))
            if chosen.verbose:
                print(each["name"], {name: round(value, 2) for name, value in rows[-1].items()})
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        ratio = columns["ours"] / columns["no privacy"]
        plain_ratio = columns["rival"] / columns["no privacy"]
        print(
            f"{n}: of R^2 without privacy {np.median(ratio):.3f} in the middle, at least .8 on "
            f"{np.mean(ratio >= 0.8):.2f}, least {ratio.min():.2f}; rival {np.median(plain_ratio):.2f}; "
            f"bands hold {columns['band'].mean():.2f}, at a point {columns['at a point'].mean():.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
