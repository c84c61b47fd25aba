"""Error, time and memory of covariances, components and vector means as units grow, on made-up curves.

Run `python -m experiments.second_moments_sizes` (`--quick` for the smallest size). Every cell runs in a
process of its own. Curves are .5 plus three waves of normal sizes, on 50 points, bounds 0 and 1; epsilon
is 1. Errors are relative for covariances (to the sample's, or at 10^7 to the population's), the share
of variance that two components miss, and root mean squares of means, in shares of the bounds.
Ten million curves are made block by block (Dask), around a public center; ten million pairs of curves
are held in memory, in single precision, on ten points. Time is that of the fit, with Dask that of making
curves, too; memory is the largest of the process.
"""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpfda import PrivateCovariance, PrivateFPCA, PrivateVectorMean
from dpfda.summaries.matrix_noise import Center
from experiments import common
from experiments.common import Floats

SEED = 20251123
POINTS, SHORT = 50, 10
SIZES = (1_000, 100_000, 10_000_000)
BLOCK = 100_000
DEVIATIONS = (0.1, 0.05, 0.02)
# In memory at most so many curves of 50 points.
HELD = 1_000_000
RADIUS = 0.25

Measured = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all cells; write second_moments_sizes.csv and print the table."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    made = []
    for summary in SUMMARIES:
        for size in SIZES[: 1 if options.quick else None]:
            command = f"from experiments import second_moments_sizes as s; s.cell({summary!r}, {size})"
            done = subprocess.run(  # noqa: S603 (our own module)
                [sys.executable, "-c", command], check=True, capture_output=True, text=True
            )
            made.append({"summary": summary, "n": size, **json.loads(done.stdout.splitlines()[-1])})
            common.say(str(made[-1]))
    with (options.results / "second_moments_sizes.csv").open(
        "w", newline="", encoding="utf-8"
    ) as handle:
        writer = csv.DictWriter(handle, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)


def cell(summary: str, size: int) -> None:
    """Print what one fit takes, as JSON."""
    seconds, error = SUMMARIES[summary](size)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"error": f"{error:.3g}", "seconds": f"{seconds:.3g}", "megabytes": f"{megabytes:.0f}"}
    sys.stdout.write(json.dumps(found) + "\n")


def waves(points: int) -> Floats:
    """Deviations times waves (3, m), which are orthonormal but for the ends."""
    at = np.linspace(0, 1, points)
    each = [np.ones(points), np.sqrt(2) * np.cos(np.pi * at), np.sqrt(2) * np.cos(2 * np.pi * at)]
    return np.asarray(DEVIATIONS)[:, None] * np.array(each)


def curves(size: int, points: int, seed: int) -> Floats:
    """Curves (n, m) between 0 and 1, but for the very few that are clipped."""
    generator = np.random.default_rng([SEED, seed])
    return np.asarray(0.5 + generator.standard_normal((size, len(DEVIATIONS))) @ waves(points))


def timed(fit: Callable[[], object]) -> float:
    """Seconds that it took."""
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def covariance(size: int) -> tuple[float, float]:
    """By default; around a public center on Dask where the curves are more than memory holds."""
    seconds, estimator, exact = fitted(PrivateCovariance, size)
    found = estimator.release_.on_grid()
    return seconds, float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def components(size: int) -> tuple[float, float]:
    """Two components by default; those of the covariance where the curves are more than memory holds."""
    summary = PrivateCovariance if size > HELD else partial(PrivateFPCA, n_components=2)
    seconds, estimator, exact = fitted(summary, size)
    release = estimator.release_.components(2) if size > HELD else estimator.release_
    frame = np.linalg.qr(release(release.grid_points).T)[0]
    return seconds, float(1 - np.trace(frame.T @ exact @ frame) / np.linalg.eigvalsh(exact)[-2:].sum())


def fitted(summary: Callable[..., Any], size: int) -> tuple[float, Any, Floats]:
    """Seconds, the estimator, and the covariance that it is held against."""
    if size <= HELD:
        sample = curves(size, POINTS, 0)
        estimator = summary(epsilon=1.0, bounds=(0, 1))
        return timed(lambda: estimator.fit(sample)), estimator, np.cov(sample.T, bias=True)
    import dask
    import dask.array as da

    whole = da.map_blocks(
        lambda block_info=None: curves(BLOCK, POINTS, block_info[None]["chunk-location"][0]),
        chunks=((BLOCK,) * (size // BLOCK), (POINTS,)),
        dtype=float,
    )
    estimator = summary(epsilon=1.0, bounds=(0, 1), center=Center(0.5, radius=RADIUS))
    with dask.config.set(scheduler="synchronous"):
        seconds = timed(lambda: estimator.fit(whole))
    return seconds, estimator, waves(POINTS).T @ waves(POINTS)


def vectors(size: int) -> tuple[float, float]:
    """The mean of two channels, by default."""
    points = POINTS if size <= HELD else SHORT
    held = np.empty((size, points, 2), dtype=np.float64 if size <= HELD else np.float32)
    for start in range(0, size, BLOCK):
        rows = slice(start, min(size, start + BLOCK))
        for channel in (0, 1):
            held[rows, :, channel] = curves(rows.stop - start, points, 2 * start + channel)
    estimator = PrivateVectorMean(1.0, bounds=(0, 1))
    seconds = timed(lambda: estimator.fit(held))
    exact = np.stack([held[..., channel].mean(axis=0, dtype=float) for channel in (0, 1)], axis=-1)
    error = estimator.release_(np.linspace(0, 1, points)) - exact
    return seconds, float(np.sqrt(np.mean(error**2)))


SUMMARIES = {"covariance": covariance, "components": components, "vector": vectors}


if __name__ == "__main__":
    main()
