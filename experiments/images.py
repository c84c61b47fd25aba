"""The default mean of images beside what somebody could do by hand, on packaged images and surfaces.

Means are of all images of a set, clipped to public bounds, under pure epsilon (one image replaced); the
error is the root mean square distance to their mean over grid points and simulated releases, in shares
of the distance between the bounds. Beside the default:

before     the default before, and still where a covariance is named: mostly one K-norm block of the l2
           ball on cosines, and a posterior
expert     box noise on round(.62 (n epsilon)^.45) cells, at least 4, then cosines of the image of cells,
           shrunk with variances like (1 + |k|)^-5 at the likeliest level
hindsight  the expert with the number of cells that is best for this set and n epsilon: a limit,
           not a method
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from dpfda import PrivateMean, datasets
from dpfda.bases import BoxBasis
from dpfda.bases.priors import ImagePrior
from dpfda.testing import simulate_releases
from experiments.common import Options, read_options, say

Floats = NDArray[np.float64]

STRENGTHS = (50, 300, 1250, 5000, 20_000, 80_000)
CELLS = (1, 4, 9, 16, 25, 36, 49, 64, 100, 144, 196, 256, 400, 576, 1024)
LEVELS = np.geomspace(1e-8, 1e4, 61)


def image_sets() -> Iterator[tuple[str, Floats, float, float]]:
    """Name, images (n, h, w) and public bounds."""
    from sklearn.datasets import load_digits, load_sample_images

    digits = load_digits()
    yield "digits, 8 x 8", digits.images, 0, 16
    yield "the digit 0, 8 x 8", digits.images[digits.target == 0], 0, 16
    for name, picture in zip(("temple", "flower"), load_sample_images().images, strict=True):
        grey = picture.mean(axis=2)
        corners = [(i, j) for i in range(0, 396, 16) for j in range(0, 609, 16)]
        yield (
            f"parts of a {name}, 32 x 32",
            np.array([grey[i : i + 32, j : j + 32] for i, j in corners]),
            0,
            255,
        )
        thirds = [
            grey[i : i + 142 : 2, j : j + 213 : 3] for i in range(0, 285, 8) for j in range(0, 427, 8)
        ]
        yield f"views of a {name}, 71 x 71", np.array(thirds), 0, 255
    days = datasets.load_temperatures().values
    yield "weeks of temperatures, 7 x 24", days[:364].reshape(-1, 7, 24), -10, 40
    yield (
        "months of temperatures, 28 x 24",
        np.array([days[i : i + 28] for i in range(0, 336, 4)]),
        -10,
        40,
    )


def expert(
    mean: Floats, strength: float, cells: float, draws: int, generator: np.random.Generator
) -> float:
    """Error for about so many cells."""
    sides = [max(1, min(size, round(math.sqrt(cells)))) for size in mean.shape]
    prior = ImagePrior(0.0, 1.0, tuple(mean.shape), tuple(sides))
    averages, count = prior.matrix @ mean.ravel() / prior.weight, prior.measured
    box = generator.uniform(-1, 1, (draws, count)) * generator.gamma(count + 1, size=(draws, 1))
    noisy = (averages + box / strength).reshape(draws, *sides)
    seen = scipy.fft.dctn(noisy, axes=(1, 2), norm="ortho").reshape(draws, -1) / math.sqrt(count)
    power = (count + 1) * (count + 2) / 3 / count / strength**2
    shape = (1 + np.linalg.norm(np.indices(sides), axis=0).ravel()) ** -5.0
    spread = LEVELS[:, None] * shape[1:] + power
    fits = np.log(spread).sum(axis=1) + seen[:, 1:] ** 2 @ (1 / spread).T
    best = LEVELS[np.argmin(fits, axis=1), None] * shape[1:]
    seen[:, 1:] *= best / (best + power)
    table = np.zeros((draws, *mean.shape))
    table[:, : sides[0], : sides[1]] = seen.reshape(draws, *sides) * math.sqrt(mean.size)
    released = np.clip(scipy.fft.idctn(table, axes=(1, 2), norm="ortho"), 0, 1)
    return float(np.sqrt(np.mean((released - mean) ** 2)))


def errors(images: Floats, low: float, high: float, strength: int, draws: int, seed: int) -> list[float]:
    """Errors of the default, of that before, of expert and hindsight."""
    mean = np.clip((images - low) / (high - low), 0, 1).mean(axis=0)
    found = []
    for place, nu in enumerate((1.5, 1.5 + 1e-9)):
        # A covariance that somebody names has the estimate that all had before, whatever it is.
        basis = BoxBasis.on_grid("cosine", mean.shape, [(0, 1), (0, 1)], nu=nu)
        estimator = PrivateMean(strength / len(images), bounds=(low, high), basis=basis)
        released = np.asarray(simulate_releases(estimator, images, draws, seed + place))
        away = (np.clip(released, low, high) - low) / (high - low) - mean.ravel()
        found.append(float(np.sqrt(np.mean(away**2))))
    generator = np.random.default_rng(seed + 2)
    rule = max(4.0, 0.62 * strength**0.45)
    tried = [count for count in CELLS if count < 2 * mean.size]
    found.append(expert(mean, strength, rule, draws, generator))
    return [
        *found,
        min(found[-1], *(expert(mean, strength, count, draws, generator) for count in tried)),
    ]


def table(options: Options) -> list[str]:
    """A set a line: ratios of errors at each n epsilon, and the error itself."""
    draws = 10 if options.quick else 60
    strengths: Sequence[int] = STRENGTHS[:2] if options.quick else STRENGTHS
    lines, logs = [], []
    for name, images, low, high in image_sets():
        seeds = [zlib.crc32(f"{name} {strength} {options.seed}".encode()) for strength in strengths]
        rows = np.array(
            [errors(images, low, high, s, draws, seed) for s, seed in zip(strengths, seeds, strict=True)]
        )
        logs.append(np.log(rows[:, :1] / rows[:, 1:]))
        ratios = np.exp(logs[-1].mean(axis=0))
        worst = np.exp(logs[-1][:, 1].max())
        lines.append(
            f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in (*ratios, worst)) + " | "
            + " | ".join(f"{100 * row[0]:.2g}" for row in rows) + " |"
        )  # fmt: skip
        say(lines[-1])
    all_sets = np.exp(np.mean(logs, axis=(0, 1)))
    lines.append(
        "| **all** | " + " | ".join(f"**{ratio:.2f}**" for ratio in all_sets)
        + f" | {np.exp(np.max(np.array(logs)[:, :, 1])):.2f} |" + " |" * len(strengths)
    )  # fmt: skip
    header = (
        "| default's error over | before | expert | hindsight | worst, expert | "
        + "error in %, n eps "
        + " | ".join(f"{strength:,}" for strength in strengths)
    )
    return [f"{header} |", "| --- |" + " ---: |" * (4 + len(strengths)), *lines]


def approximate(options: Options) -> list[str]:
    """A set a line: ratio of the default's error to that before, with a delta and under rho."""
    draws, lines, logs = 10 if options.quick else 40, [], []
    strengths = STRENGTHS[1::2]
    for name, images, low, high in image_sets():
        mean, row = np.clip((images - low) / (high - low), 0, 1).mean(axis=0), []
        for strength in strengths:
            epsilon = strength / len(images)
            for asked in ({"epsilon": epsilon, "delta": 1e-5}, {"rho": epsilon**2 / 2}):
                found = []
                for nu in (1.5, 1.5 + 1e-9):
                    basis = BoxBasis.on_grid("cosine", mean.shape, [(0, 1), (0, 1)], nu=nu)
                    estimator = PrivateMean(**asked, bounds=(low, high), basis=basis)
                    seed = zlib.crc32(f"{name} {asked} {nu} {options.seed}".encode())
                    released = np.asarray(simulate_releases(estimator, images, draws, seed))
                    away = (np.clip(released, low, high) - low) / (high - low) - mean.ravel()
                    found.append(math.sqrt(np.mean(away**2)))
                row.append(found[0] / found[1])
        logs.append(np.log(row))
        lines.append(f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in row) + " |")
        say(lines[-1])
    means = np.exp(np.mean(logs, axis=0))
    lines.append("| **all** | " + " | ".join(f"**{ratio:.2f}**" for ratio in means) + " |")
    heads = [f"{s:,}, {kind}" for s in strengths for kind in ("delta", "rho")]
    header = "| default's error over that before, n eps | " + " | ".join(heads) + " |"
    return [header, "| --- |" + " ---: |" * len(heads), *lines]


def main() -> None:
    """Measure and write the table."""
    options = read_options(__doc__ or "", 2026112642)
    pure = table(options)
    more = ["", "With delta = 1e-5, and under rho = epsilon^2 / 2:", "", *approximate(options)]
    text = "\n".join(["# Means of images", "", __doc__ or "", *pure, *more])
    (options.results / "images.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
