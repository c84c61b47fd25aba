"""Synthetic curves beside real ones: can they be told apart, and does what is made of them agree?

    python -m benchmarks.synthetic_curves FOLDER [--half 0|1] [--size 5000] [--delta 1e-5]

FOLDER and halves as in `benchmarks.scalar_on_function`; "smooth" are simulated curves of twelve cosines
with skewed scores. AUC is that of a logistic regression on the ten leading scores of the real curves and
their squares, learned on half and told on the other. Errors are shares: of the mean, in deviations;
of the leading component, one less its squared cosine; of the curves of quantiles .1, .5 and .9,
in distances from .1 to .9; of predictions of the last value from three scores of the first half of the
domain, in deviations of that value. The rival draws normal curves on averages over twelve cells,
from sums and products with noise in the box of the bounds.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.reference_bands import mixtures
from dpfda import Domain, PrivateCurveSampler
from dpfda.noise import gaussian_ratio
from dpfda.privacy.guarantees import guarantee_for

SCORES, CELLS, QUANTILES = 10, 12, (0.1, 0.5, 0.9)


def smooth(random: np.random.Generator, n: int, grid: np.ndarray) -> np.ndarray:
    """Curves of twelve cosines with skewed scores, within [-5, 5]."""
    waves = np.cos(np.pi * np.outer(np.arange(12), grid))
    scores = (random.gamma(4, size=(n, 12)) - 4) / 2 * 0.7 / (1 + np.arange(12))
    return np.clip(scores @ waves, -5, 5)


def told_apart(real: np.ndarray, made: np.ndarray) -> float:
    """AUC of the classifier."""
    mean = real.mean(axis=0)
    axes = np.linalg.svd(real - mean, full_matrices=False)[2][:SCORES].T

    def features(curves: np.ndarray) -> np.ndarray:
        scores = (curves - mean) @ axes
        return np.column_stack([scores, scores**2])

    rows = np.vstack([features(real), features(made)])
    center, spread = features(real).mean(axis=0), features(real).std(axis=0) + 1e-12
    rows, labels = (rows - center) / spread, np.repeat([0, 1], [len(real), len(made)])
    learned = LogisticRegression(max_iter=500).fit(rows[::2], labels[::2])
    return float(roc_auc_score(labels[1::2], learned.decision_function(rows[1::2])))


def errors(real: np.ndarray, made: np.ndarray) -> dict[str, float]:
    """How far what is made of synthetic curves is off."""
    mean, deviations = real.mean(axis=0), real.std(axis=0)
    far = np.sqrt(np.mean((made.mean(axis=0) - mean) ** 2) / np.mean(deviations**2))
    axes = [np.linalg.svd(each - each.mean(axis=0), full_matrices=False)[2][:2] for each in (real, made)]
    cosines = np.abs(np.sum(axes[0] * axes[1], axis=1))
    lines = [np.quantile(each, QUANTILES, axis=0) for each in (real, made)]
    apart = np.mean(lines[0][2] - lines[0][0])
    half = real.shape[1] // 2
    first = np.linalg.svd(real[:, :half] - mean[:half], full_matrices=False)[2][:3].T
    slopes = []
    for each in (real, made):
        scores = (each[:, :half] - mean[:half]) @ first
        design = np.column_stack([np.ones(len(each)), scores])
        slopes.append(design @ np.linalg.lstsq(design, each[:, -1], rcond=None)[0])
        if len(slopes) == 2:
            own = np.column_stack([np.ones(len(real)), (real[:, :half] - mean[:half]) @ first])
            slopes[1] = own @ np.linalg.lstsq(design, each[:, -1], rcond=None)[0]
    wrong = np.sqrt(np.mean((slopes[0] - slopes[1]) ** 2)) / real[:, -1].std()
    return {
        "mean": float(far), "first component": float(1 - cosines[0] ** 2),
        "quantiles": float(np.sqrt(np.mean((lines[1] - lines[0]) ** 2)) / apart),
        "regression": float(wrong),
    }  # fmt: skip


def plain(
    random: np.random.Generator, real: np.ndarray, bounds: tuple[float, float], delta: float
) -> np.ndarray:
    """The rival."""
    shares = (2 * real - sum(bounds)) / (bounds[1] - bounds[0])
    cells = np.array_split(np.arange(real.shape[1]), CELLS)
    rows = np.column_stack([np.ones(len(real)), *(shares[:, cell].mean(axis=1) for cell in cells)])
    low = np.tril_indices(CELLS + 1)
    scale = np.sqrt(2) * (CELLS + 1) / float(gaussian_ratio(guarantee_for(1, delta)))
    moments = np.zeros((CELLS + 1,) * 2)
    moments[low] = ((rows.T @ rows)[low] + scale * random.normal(size=low[0].size)) / len(real)
    moments += np.tril(moments, -1).T
    values, vectors = np.linalg.eigh(moments[1:, 1:] - np.outer(moments[0, 1:], moments[0, 1:]))
    drawn = random.normal(size=(len(real), CELLS)) * np.sqrt(np.maximum(values, 0)) @ vectors.T
    places = [cell.mean() for cell in cells]
    at = np.arange(real.shape[1])
    lines = np.array([np.interp(at, places, row) for row in moments[0, 1:] + drawn])
    return np.clip(sum(bounds) / 2 + lines * (bounds[1] - bounds[0]) / 2, *bounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", type=int, default=1)
    parser.add_argument("--size", type=int, default=5000)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(chosen.folder / "atlas.csv", encoding="utf-8") as file:
        sets = [*csv.DictReader(file)][chosen.half :: 2]
    found: list[dict[str, float]] = []
    for name in [*(each["name"] for each in sets), *["smooth"] * 5]:
        random = np.random.default_rng()
        if name == "smooth":
            grid, bounds = np.linspace(0, 1, 50), (-5.0, 5.0)
            real = smooth(random, chosen.size, grid)
        else:
            table = np.loadtxt(chosen.folder / f"{name}.csv", delimiter=",")
            each = next(row for row in sets if row["name"] == name)
            bounds, grid = (float(each["lo"]), float(each["hi"])), np.linspace(0, 1, table.shape[1])
            real = mixtures(random, np.clip(table[1:], *bounds), chosen.size)
        sampler = PrivateCurveSampler(1, chosen.delta, bounds=bounds, domain=Domain(grid))
        made = sampler.fit(real).release_.sample(chosen.size)
        rival = plain(random, real, bounds, chosen.delta)
        row = {
            "AUC": told_apart(real, made),
            "rival's AUC": told_apart(real, rival),
            **errors(real, made),
        }
        row |= {f"rival's {key}": value for key, value in errors(real, rival).items()}
        found.append(row)
        if chosen.verbose:
            print(name, {key: round(value, 2) for key, value in row.items()}, flush=True)
    for words, rows in (("real", found[:-5]), ("smooth", found[-5:])):
        for key in rows[0]:
            column = np.array([row[key] for row in rows])
            within = np.mean(column <= (0.6 if "AUC" in key else 0.15))
            print(
                f"{words}, {key}: {np.median(column):.3f} in the middle, within the goal on {within:.2f}"
            )


if __name__ == "__main__":
    main()
