"""Error, time and memory of covariances, components, vector means and images as units grow, made up.

Run `python -m experiments.second_moments_sizes` (`--quick` for the smallest size). Every cell runs in a
process of its own. Curves are .5 plus three waves of normal sizes, on 50 points, bounds 0 and 1; epsilon
is 1. Errors are relative for covariances (to the sample's, or at 10^7 to the population's), the share
of variance that two components miss, and root mean squares of means, in shares of the bounds.
Vectors have two channels; images are half of the sum of two curves, along either axis of 16 x 16 points.
Ten million records are made block by block (Dask), curves around a public center. Time is that of the
fit, with Dask that of making records, too; memory is the largest of the process.
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

from dpfda import PrivateCovariance, PrivateFPCA, PrivateMean, PrivateVectorMean
from dpfda.bases import BoxBasis
from dpfda.covariance.strategies import Center
from experiments import common
from experiments.common import Floats

SEED = 2026112627
POINTS, SIDE = 50, 16
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
            command = (
                "from experiments import second_moments_sizes as s; "
                f"s.SEED = {options.seed}; s.cell({summary!r}, {size})"
            )
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
    generator = np.random.default_rng([SEED, size, points, seed])
    return np.asarray(0.5 + generator.standard_normal((size, len(DEVIATIONS))) @ waves(points))


def timed(fit: Callable[[], object]) -> float:
    """Seconds that it took."""
    start = time.process_time()
    fit()
    return time.process_time() - start


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
    estimator = summary(epsilon=1.0, bounds=(0, 1), center=Center(0.5, radius=RADIUS))
    with one_thread_of_dask():
        seconds = timed(lambda: estimator.fit(in_blocks(size, curves_of, (POINTS,))))
    return seconds, estimator, waves(POINTS).T @ waves(POINTS)


def in_blocks(size: int, made: Callable[[int, int], Floats], shape: tuple[int, ...]) -> Any:
    """Records of this shape on Dask, made block by block from a size and a seed."""
    import dask.array as da

    chunks = ((BLOCK,) * (size // BLOCK), *((length,) for length in shape))
    return da.map_blocks(
        lambda block_info=None: made(BLOCK, block_info[None]["chunk-location"][0]),
        chunks=chunks,
        dtype=float,
    )


def one_thread_of_dask() -> Any:
    """Blocks one after another."""
    import dask

    return dask.config.set(scheduler="synchronous")


def curves_of(size: int, seed: int) -> Floats:
    """As `curves`, on all points."""
    return curves(size, POINTS, seed)


def vectors_of(size: int, seed: int) -> Floats:
    """Records (n, m, 2) with two values at every point."""
    return np.stack([curves(size, POINTS, 2 * seed + channel) for channel in (0, 1)], axis=-1)


def images_of(size: int, seed: int) -> Floats:
    """Images (n, s, s) between 0 and 1, but for the very few that are clipped; their mean bends."""
    at = np.linspace(0, 1, SIDE)
    rows, columns = (0.5 * curves(size, SIDE, 2 * seed + axis) + 0.1 * at**2 for axis in (0, 1))
    return np.asarray(rows[:, :, None] + columns[:, None, :])


def mean_of(
    estimator: Any, made: Callable[[int, int], Floats], size: int, shape: tuple[int, ...]
) -> tuple[float, float]:
    """Seconds, and the error of a mean from that of all records, or from the populations' where many."""
    if size <= HELD:
        held = made(size, 0)
        seconds, exact = timed(lambda: estimator.fit(held)), held.mean(axis=0)
    else:
        with one_thread_of_dask():
            seconds = timed(lambda: estimator.fit(in_blocks(size, made, shape)))
        blocks = [made(BLOCK, block).mean(axis=0) for block in range(size // BLOCK)]
        exact = np.mean(blocks, axis=0)
    release = estimator.release_
    found = release.on_grid(shape) if shape == (SIDE, SIDE) else release(release.grid_points)
    return seconds, float(np.sqrt(np.mean((found - exact) ** 2)))


def vectors(size: int, delta: float = 0.0) -> tuple[float, float]:
    """The mean of two channels, by default."""
    return mean_of(PrivateVectorMean(1.0, delta, bounds=(0, 1)), vectors_of, size, (POINTS, 2))


def images(size: int) -> tuple[float, float]:
    """The mean of images, by default."""
    basis = BoxBasis.on_grid("cosine", (SIDE, SIDE), [(0, 1), (0, 1)])
    return mean_of(PrivateMean(1.0, bounds=(0, 1), basis=basis), images_of, size, (SIDE, SIDE))


SUMMARIES = {
    "covariance": covariance,
    "components": components,
    "vector": vectors,
    "vector, delta": partial(vectors, delta=1e-6),
    "images": images,
}


if __name__ == "__main__":
    main()
