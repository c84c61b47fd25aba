"""Seconds of a processor for a million exact draws of each law, and for large releases end to end.

Run with: python benchmarks/noise.py [--draws 1000000] [--turns 5]
One thread. Medians and least of works that take turns, after one turn that does not count.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda import PrivateCovariance, PrivateDensity, PrivateMean
from dpfda.bases import BoxBasis
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise
from dpfda.noise.symmetric import SymmetricKNormNoise

SCALE = 2**31
SIDE = 1024
Work = Callable[[], Any]


def laws(draws: int) -> dict[str, Work]:
    """Noise of every kind, at the scale of records that are integers of 30 bits."""
    return {
        "NumPy: Laplace, floats, not private": lambda: np.random.default_rng().laplace(size=draws),
        f"Laplace, {draws:,} numbers": KNormNoise((1,) * draws, (SCALE,) * draws).draw,
        f"normal, {draws:,} numbers": GaussianNoise((SCALE,) * draws).draw,
        f"one block of {draws:,}": KNormNoise((draws,), (SCALE,)).draw,
        f"box of {draws:,} sides": BoxNoise((SCALE,) * draws).draw,
        "one block of matrices of size 300": SymmetricKNormNoise(300, SCALE).draw,
    }


def releases() -> dict[str, Work]:
    """Fits, with what is asked of a release first."""
    generator = np.random.default_rng(0)
    points = generator.beta(2, 5, (1_000_000, 2))
    images = generator.uniform(size=(20, SIDE, SIDE)).astype(np.float32)
    grid, few = np.linspace(0, 1, 300), np.linspace(0, 1, 50)
    curves = generator.standard_normal((1000, 8)) @ np.cos(np.pi * np.outer(np.arange(8), grid))
    box = [(0, 1), (0, 1)]
    pixels = BoxBasis.on_grid("cosine", (SIDE, SIDE), box)
    plane = [PrivateDensity(1.0, domain=box, cells=(side, side)) for side in (512, SIDE)]
    line = PrivateDensity(1.0, domain=(0, 1), cells=SIDE**2, scale="linear")
    banded = line.fit(points[:, 0]).release_
    return {
        "density of 512 x 512 cells, a million points": lambda: (
            plane[0].fit(points).release_(points[:50])
        ),
        "density of 1024 x 1024 cells, a million points": lambda: (
            plane[1].fit(points).release_(points[:50])
        ),
        "density of 1,048,576 cells on an interval, a million points": lambda: line.fit(
            points[:, 0]
        ).release_(grid),
        "its simultaneous band at 20 points": lambda: banded.band(points=few[::2][:20]),
        "mean of 20 images of 1024 x 1024": lambda: (
            PrivateMean(1.0, bounds=(0, 1), basis=pixels).fit(images).release_.on_grid((SIDE, SIDE))
        ),
        "the same with a delta": lambda: (
            PrivateMean(1.0, 1e-6, bounds=(0, 1), basis=pixels)
            .fit(images)
            .release_.on_grid((SIDE, SIDE))
        ),
        "covariance of 1,000 curves on 300 points": lambda: (
            PrivateCovariance(1.0, bounds=(-6, 6)).fit(curves).release_(few, few)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    works = laws(asked.draws) | releases()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(asked.turns + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            taken[name].append(time.process_time() - start)
    print("| | seconds, median | least |\n| --- | ---: | ---: |")
    for name, times in taken.items():
        print(f"| {name} | {statistics.median(times[1:]):.3f} | {min(times[1:]):.3f} |")


if __name__ == "__main__":
    main()
