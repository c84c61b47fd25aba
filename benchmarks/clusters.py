"""Clusters of curves beside k-means without privacy, and beside five noisy rounds of k-means.

    python -m benchmarks.clusters [--folder FOLDER] [--repeats 5] [--settings 2000:1] [--delta 1e-5]

Simulated: two to five kinds, equally often. On bumps at other places, other levels and sinusoids of
other phases constants were chosen; steps at other times and sums of two waves were not looked at before.
Told are adjusted Rand indices with the true kinds over that of k-means without privacy, and how far
centers are from its centers, in root mean squares of these around their mean. FOLDER holds atlas.csv
(name, lo, hi) and a CSV a set: the grid, then a curve a row; told are indices with k-means of three
clusters, and the share of the variance that clusters explain over its share. Units are mixtures of two
curves of a set, or, where their number is 0, its curves.
The rival clips twelve cosine coefficients to the ball of the bounds, starts at random curves, and adds
noise of the l2 norm to counts and sums of each cluster, five times with a fifth of epsilon.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.reference_bands import mixtures
from dpfda import PrivateCurveClusters

GRID = np.linspace(0, 1, 50)
WAVES = np.cos(np.pi * np.outer(np.arange(12), (np.arange(50) + 0.5) / 50))
WAVES[1:] *= 2**0.5
ROUNDS = 5
SETS = {
    "bumps": (-1, 2), "levels": (-2, 6), "sinusoids": (-3, 3), "steps": (-1, 2.5), "waves": (-4, 4),
}  # fmt: skip


def simulated(
    random: np.random.Generator, name: str, n: int, many: int
) -> tuple[np.ndarray, np.ndarray]:
    """Curves and their kinds."""
    kind = random.integers(many, size=n)
    place = ((np.arange(many) + 0.7) / (many + 0.4))[kind][:, None]
    wave, normal = np.arange(1, 9), random.normal(size=(n, 3))
    smooth = (random.normal(size=(n, 8)) / wave**1.5) @ np.cos(np.pi * np.outer(wave, GRID))
    if name == "bumps":
        height, width = 1 + 0.2 * normal[:, :1], 0.45 / (many + 0.4)
        at = place + 0.03 * normal[:, 1:2]
        return height * np.exp(-0.5 * ((GRID - at) / width) ** 2) + 0.155 * smooth, kind
    if name == "levels":
        level = kind[:, None] + 0.25 * normal[:, :1]
        return level + 0.5 * np.sin(2 * np.pi * GRID) + 0.19 * smooth, kind
    if name == "sinusoids":
        phase = 2 * np.pi * kind[:, None] / many + 0.25 * normal[:, :1]
        return (1 + 0.15 * normal[:, 1:2]) * np.sin(2 * np.pi * GRID + phase) + 0.26 * smooth, kind
    if name == "steps":
        rise = (1 + 0.15 * normal[:, :1]) / (1 + np.exp(-(GRID - place - 0.03 * normal[:, 1:2]) / 0.03))
        return rise + 0.2 * smooth, kind
    angle = 2 * np.pi * kind[:, None] / many
    first, second = np.cos(angle) + 0.2 * normal[:, :1], np.sin(angle) + 0.2 * normal[:, 1:2]
    waves = first * np.sin(2 * np.pi * GRID) + second * np.sin(4 * np.pi * GRID)
    return waves + 0.2 * smooth, kind


def rival(
    random: np.random.Generator, curves: np.ndarray, bounds: tuple[float, float], many: int, e: float
) -> np.ndarray:
    """Centers (many, 50) of noisy rounds."""
    middle, radius = sum(bounds) / 2, (bounds[1] - bounds[0]) / 2
    places = np.linspace(0, 49, curves.shape[1])
    waves = np.array([np.interp(places, np.arange(50), wave) for wave in WAVES])
    rows = (np.clip(curves, *bounds) - middle) @ waves.T / (curves.shape[1] * radius)
    rows = np.column_stack([np.full(len(rows), 0.5), 0.75**0.5 * rows])
    # Starts farther from the middle were worse.
    centers = random.normal(size=(many, 12)) / 50
    for _ in range(ROUNDS):
        far = np.sum((rows[:, None, 1:] - 0.75**0.5 * centers) ** 2, axis=2)
        own = far.argmin(axis=1)
        for each in range(many):
            noise = random.normal(size=13) * np.sqrt(random.chisquare(14)) * 2 * ROUNDS / e
            total = rows[own == each].sum(axis=0) + noise
            if total[0] > 0.005 * len(rows):
                centers[each] = total[1:] / total[0] / 3**0.5
            centers[each] /= max(1.0, float(np.linalg.norm(centers[each])))
    return np.asarray(middle + radius * centers @ waves)


def compared(
    curves: np.ndarray, centers: np.ndarray, alone: KMeans, kind: np.ndarray | None
) -> tuple[float, float]:
    """Index over that of k-means, and how far centers are off (kinds known), or what they explain."""
    far = np.sum((curves[:, None] - centers) ** 2, axis=2)
    own = far.argmin(axis=1)
    if kind is None:
        total = np.sum((curves - curves.mean(axis=0)) ** 2)
        explained = 1 - far.min(axis=1).sum() / total
        return adjusted_rand_score(alone.labels_, own), explained / (1 - alone.inertia_ / total)
    index = adjusted_rand_score(kind, own) / adjusted_rand_score(kind, alone.labels_)
    other = alone.cluster_centers_
    gaps = np.mean((centers[:, None] - other) ** 2, axis=2)
    spread = np.mean((other - other.mean(axis=0)) ** 2)
    return index, float(np.sqrt(gaps[linear_sum_assignment(gaps)].mean() / spread))


def cell(
    curves: np.ndarray, kind: np.ndarray | None, bounds: tuple[float, float], many: int, epsilon: float,
    delta: float,
) -> list[float]:  # fmt: skip
    """What is measured of one release, and of the rival."""
    alone = KMeans(many, n_init=5, random_state=0).fit(curves)
    release = PrivateCurveClusters(epsilon, delta, bounds=bounds, clusters=many).fit(curves).release_
    other = rival(np.random.default_rng(), curves, bounds, many, epsilon)
    own = release.centers(release.grid_points)
    return [*compared(curves, own, alone, kind), *compared(curves, other, alone, kind)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--settings", default="500:1,2000:1,10000:1,500:.3,2000:.3,10000:.3")
    parser.add_argument("--delta", type=float, default=0.0)
    chosen = parser.parse_args()
    print("n, epsilon, set: index, centers or explained; the same of the rival; index by clusters")
    for setting in chosen.settings.split(","):
        n, epsilon = int(setting.split(":")[0]), float(setting.split(":")[1])
        for name, bounds in SETS.items() if chosen.folder is None else ():
            rows = []
            for many in (2, 3, 4, 5):
                for _ in range(chosen.repeats):
                    curves, kind = simulated(np.random.default_rng(), name, n, many)
                    rows.append(cell(curves, kind, bounds, many, epsilon, chosen.delta))
            table = np.array(rows).reshape(4, chosen.repeats, 4)
            print(
                n, epsilon, name, table.mean(axis=(0, 1)).round(2), table[:, :, 0].mean(axis=1).round(2)
            )
        if chosen.folder is not None:
            rows = []
            text = (chosen.folder / "atlas.csv").read_text(encoding="utf-8")
            for row in csv.DictReader(text.splitlines()):
                table = np.loadtxt(chosen.folder / f"{row['name']}.csv", delimiter=",")[1:]
                bounds = float(row["lo"]), float(row["hi"])
                units = table if n == 0 else mixtures(np.random.default_rng(), table, n)
                clipped = np.clip(units, *bounds)
                rows.append(cell(clipped, None, bounds, 3, epsilon, chosen.delta))
                print(row["name"], len(units), np.round(rows[-1], 2), flush=True)
            print(n, epsilon, "middle over sets", np.median(rows, axis=0).round(2), flush=True)


if __name__ == "__main__":
    main()
