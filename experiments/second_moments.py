"""Covariances and components by default beside other laws, centers and rivals, on real curves.

Run `python -m experiments.second_moments` (`--quick` for few draws), DPFDA_DATA_DIR set to the folder
that `experiments.atlas` reads. Every release has all of epsilon = 1 for n curves drawn with replacement.

Noise of the library is the real one; that of the rivals, and the samples, come from the seed.

Error: |C - C0|_F / |C0|_F on the grid, C0 the covariance of the curves that were drawn, so that a
covariance that is zero has the error 1. Rivals that know more than may be known are marked "hindsight":

expert      K-norm noise on pairs, clipped at twice the true root mean square length, the number of
            functions that turned out best in this very cell; nothing is paid for a mean or a radius
laplace     sums of averages over cells and of all their products, in an l1 ball that all of them are in
            around the middle of the bounds; the number of cells that turned out best; bilinear
box         the same in a box
"""

from __future__ import annotations

import csv
import warnings
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpfda import PrivateCovariance, PrivateFPCA
from dpfda.covariance.strategies import SCORES_SHARE, Center, MatrixNoise
from dpfda.releases.moments import nearest_positive
from experiments import common
from experiments.atlas import CurveSet, curve_sets
from experiments.common import Floats

SEED = 2026112626
SIZES = (300, 1_500, 5_000)
DRAWS, QUICK_DRAWS = 3, 1
EPSILON = 1.0
FUNCTIONS = (1, 2, 4, 8, 12)
CELLS = (1, 2, 3, 4, 6, 8, 12)
COMPONENTS = 2
# Releases a set, and the level, that intervals of eigenvalues are tried at.
TESTED, LEVEL = 10, 0.95

Row = dict[str, Any]
Errors = dict[str, list[float]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets and sizes; write second_moments.csv and print the tables."""
    common.data_folder()
    options = common.read_options(__doc__ or "", SEED, arguments)
    draws = QUICK_DRAWS if options.quick else DRAWS
    made = rows(curve_sets(), draws, options.seed)
    write(options.results / "second_moments.csv", made)
    common.say(tables(made))
    common.say(intervals(curve_sets(), TESTED // (10 if options.quick else 1), options.seed))


def intervals(sets: Sequence[CurveSet], draws: int, seed: int) -> str:
    """How often intervals hold all eigenvalues of clipped curves, and how many are said to stand out.

    Around the mean, clipped at twice the root mean square length, on four functions; what is to be held
    is the same release without noise.
    """
    lines = []
    for size in SIZES:
        held, over, found = 0, 0, []
        for each in sets:
            generator = np.random.default_rng([seed, zlib.crc32(each.name.encode()), size, 1])
            sample = each.sample(generator, size)
            mean = sample.mean(axis=0)
            length = 2 * float(np.sqrt(np.mean((sample - mean) ** 2)))
            fixed = {"center": Center(mean, radius=length), "mechanism": MatrixNoise(functions=4)}
            exact = np.sort(PrivateCovariance(1e9, **fixed).fit(sample).release_.components(4).variances)
            for _ in range(draws):
                release = PrivateCovariance(EPSILON, **fixed).fit(sample).release_
                low, high = (np.sort(ends) for ends in release.eigenvalue_intervals(LEVEL).T)
                held += bool(np.all((low <= exact) & (exact <= high)))
                found.append(release.standing_out(LEVEL))
                over += found[-1] > np.sum(exact > 1e-9 * exact.max())
        trials = draws * len(sets)
        share = f"{held / trials:.3f} of {trials} hold, {over / trials:.3f} find too many"
        lines.append(f"{size}: {share}; {np.bincount(found, minlength=5) / trials} stand out")
    return "\n".join(lines)


def rows(sets: Sequence[CurveSet], draws: int, seed: int) -> list[Row]:
    """One row for each set, size and method: its mean error or captured variance."""
    made = []
    for each, size in common.shown([(each, size) for each in sets for size in SIZES], "second moments"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = cell(each, size, draws, seed)
        made += [
            {"set": each.name, "n": size, "method": method, "value": float(np.mean(values))}
            for method, values in found.items()
        ]
    return made


def cell(curves: CurveSet, size: int, draws: int, seed: int) -> Errors:
    """Errors and captured variances of all methods on fresh samples, by method."""
    generator = np.random.default_rng([seed, zlib.crc32(curves.name.encode()), size])
    found: Errors = {}
    for _ in range(draws):
        sample = curves.sample(generator, size)
        exact = np.cov(sample.T, bias=True)
        for method, made in covariances(curves, sample).items():
            found.setdefault(method, []).append(relative(made(), exact))
        for method, errors in rivals(curves, sample, exact, generator).items():
            found.setdefault(method, []).append(errors)
        for method, share in captured(curves, sample, exact).items():
            found.setdefault(method, []).append(share)
    plan = PrivateCovariance(EPSILON, bounds=(curves.low, curves.high)).plan(size, curves.points)
    center = plan.about["center"]
    best = {"default": found[f"center {center}"], "components default": found[f"components {center}"]}
    for method, errors in found.items():
        name = method.split(" of ")[0]
        if name not in best or np.mean(errors) < np.mean(best[name]):
            best[name] = errors
    return best


def relative(found: Floats, exact: Floats) -> float:
    """Relative Frobenius error."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def covariances(curves: CurveSet, sample: Floats) -> dict[str, Callable[[], Floats]]:
    """Releases of the library by name, with one thing of each chosen; the default is one of them."""
    bounds = (curves.low, curves.high)
    length = 2 * float(np.sqrt(np.mean((sample - sample.mean(axis=0)) ** 2)))

    def released(**chosen: object) -> Callable[[], Floats]:
        estimator = PrivateCovariance(EPSILON, bounds=bounds, **chosen)
        return lambda: np.asarray(estimator.fit(sample).release_.on_grid())

    made = {f"center {word}": released(center=word) for word in ("pairs", "private")}
    made |= {f"law {law}": released(mechanism=law) for law in ("wishart", "knorm")}
    for count in FUNCTIONS:
        law = MatrixNoise("knorm", functions=count)
        chosen = {"center": Center("pairs", radius=length), "mechanism": law}
        made[f"expert of {count}"] = released(**chosen)
    return made


def rivals(
    curves: CurveSet, sample: Floats, exact: Floats, generator: np.random.Generator
) -> dict[str, float]:
    """Errors of noise on averages over cells and their products, in floats, by method and cells."""
    halves = 2 * curves.share(sample) - 1
    size, points = sample.shape
    found = {}
    for cells in CELLS:
        if cells > points:
            continue
        labels = (2 * np.arange(points) + 1) * cells // (2 * points)
        averages = np.stack([halves[:, labels == label].mean(axis=1) for label in range(cells)], axis=1)
        lower = np.tril_indices(cells)
        # How far one unit moves each sum: averages and products lie in [-1, 1], squares in [0, 1].
        sides = np.append(np.full(cells, 2.0), np.where(lower[0] == lower[1], 1.0, 2.0))
        exact_sums = np.append(averages.sum(axis=0), (averages.T @ averages)[lower])
        length = generator.gamma(sides.size + 1) / EPSILON
        noise = {
            "laplace": generator.laplace(scale=sides.sum() / EPSILON, size=sides.size),
            "box": sides * length * generator.uniform(-1, 1, sides.size),
        }
        places = np.array([np.mean(np.flatnonzero(labels == label)) for label in range(cells)])
        weights = np.array([np.interp(np.arange(points), places, row) for row in np.eye(cells)])
        for name, drawn in noise.items():
            sums = (exact_sums + drawn) / size
            mean, square = np.clip(sums[:cells], -1, 1), np.zeros((cells, cells))
            square[lower] = square.T[lower] = sums[cells:]
            inner = (
                nearest_positive(square - np.outer(mean, mean)) * ((curves.high - curves.low) / 2) ** 2
            )
            found[f"{name} of {cells}"] = relative(weights.T @ inner @ weights, exact)
    return found


def captured(curves: CurveSet, sample: Floats, exact: Floats) -> dict[str, float]:
    """Variance along two released components over that along the two best, by method."""
    best = float(np.linalg.eigvalsh(exact)[-COMPONENTS:].sum())
    found = {}
    for name, chosen in {
        "components pairs": {"center": Center("pairs", mean_share=SCORES_SHARE)},
        "components private": {"center": "private"},
        "components exponential": {"mechanism": "exponential"},
    }.items():
        fpca = PrivateFPCA(
            EPSILON, n_components=COMPONENTS, bounds=(curves.low, curves.high), **chosen
        ).fit(sample)
        frame = np.linalg.qr(fpca.components_.T)[0]
        found[name] = float(np.trace(frame.T @ exact @ frame) / best)
    return found


def write(path: Path, made: list[Row]) -> None:
    """The rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "value": f"{row['value']:.4g}"} for row in made)


def tables(made: list[Row]) -> str:
    """Geometric means of errors over sets, and how far the default is above each method at worst."""
    methods = list(dict.fromkeys(row["method"] for row in made))
    sets = list(dict.fromkeys(row["set"] for row in made))
    values = {(row["set"], row["n"], row["method"]): row["value"] for row in made}
    lines = []
    for method in methods:
        line = [method]
        own = "components default" if method.startswith("components") else "default"
        for size in dict.fromkeys(row["n"] for row in made):
            there = np.array([values[each, size, method] for each in sets])
            default = np.array([values[each, size, own] for each in sets])
            line.append(f"{np.exp(np.log(there).mean()):.3f} ({(default / there).max():.2f})")
        lines.append("| " + " | ".join(line) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
