"""Figure 4 of Lin & Reimherr (2023): under which choices its surfaces lie close to those without noise.

The figure has no numbers at its axes. Its text says that private estimates are "very close" to the
non-private one, taken here as an expected squared distance of at most a tenth of the squared length;
that a small eta is "noisy" (half as much noise again), and that a large one underestimates peaks (by a
twentieth).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.spatial.distance import cdist

from experiments.common import Floats
from experiments.density_recipe import RANK, shares_at
from experiments.figure4 import DOMAIN, ETAS, SIZE, sampled
from experiments.search import Choice, Found, Study

SEED = 2026112621
CLOSE = 0.1
AXES = {
    "cells": (16, 24, 32),
    "kernel": ("exponential", "Gaussian"),
    "distance": ("euclidean", "cityblock"),
    "bandwidth, times n^(-1/6)": (0.5, 1.0, 2.0, 4.0, 10.0),
    "components": (10, 20, 50, 100, "all"),
    "sensitivity": ("Theorem 14", "largest difference"),
    "estimate": ("C^eta over its integral", "C^eta over that of C"),
    "epsilon": ("1", "2, by both coordinates"),
}
SLOW = ("cells", "kernel", "distance", "bandwidth, times n^(-1/6)")


def study() -> Study:
    """What "very close" means, and the road to it."""
    printed = {f"eta = {eta}": (1e-12, CLOSE) for eta in ETAS}
    printed |= {"noise of the least eta over the largest": (1.5, 10.0)}
    printed |= {"peak of the largest eta over the least": (0.5, 0.95)}
    return Study("Figure 4", AXES, printed, computed, SLOW)


@cache
def cells_of(cells: int) -> tuple[Floats, Floats, float]:
    """Midpoints (m, 2), shares of one sample (m,) and the area of a cell."""
    edges = np.linspace(*DOMAIN, cells + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    grid = np.stack([axis.ravel() for axis in np.meshgrid(middle, middle, indexing="ij")], axis=1)
    data = sampled(np.random.default_rng(SEED))
    return grid, shares_at(data, [edges, edges]), float((edges[1] - edges[0]) ** 2)


def computed(choice: Choice) -> Iterator[tuple[Choice, Found]]:
    """Errors and noise under the slow choices, for all fast ones."""
    points, shares, area = cells_of(choice["cells"])
    width = choice["bandwidth, times n^(-1/6)"] * SIZE ** (-1 / 6)
    distance = cdist(points, points, choice["distance"]) / width
    gram = np.exp(-distance if choice["kernel"] == "exponential" else -(distance**2) / 2)
    values, vectors = np.linalg.eigh(gram * area)
    kept = values > RANK * values[-1]
    values, functions = values[kept][::-1], vectors.T[kept][::-1] / np.sqrt(area)
    sums = functions.sum(axis=1) * area
    plain = shares @ ((functions.T * values) / ((functions.T * values) @ sums)[:, None])
    for estimate in AXES["estimate"]:
        tables = {}
        for eta in ETAS:
            own = 1.0 if str(estimate).endswith("of C") else eta
            integrals = (functions.T * values**own) @ sums
            tables[eta] = (functions.T * values**eta) / integrals[:, None]
        for components in AXES["components"]:
            count = values.size if components == "all" else min(int(str(components)), values.size)
            for law in AXES["sensitivity"]:
                squares = {
                    eta: _distance(values[:count], tables[eta][:, :count], eta, str(law), shares, plain)
                    for eta in ETAS
                }
                first, last = (
                    shares @ tables[e][:, :count] @ functions[:count] for e in (ETAS[0], ETAS[-1])
                )
                kinds = {
                    "noise of the least eta over the largest": squares[ETAS[0]][1]
                    / squares[ETAS[-1]][1],
                    "peak of the largest eta over the least": float(last.max() / first.max()),
                }
                for epsilon in AXES["epsilon"]:
                    budget = float(str(epsilon)[0])
                    yield (
                        {
                            "estimate": estimate,
                            "components": components,
                            "sensitivity": law,
                            "epsilon": epsilon,
                        },
                        {
                            f"eta = {eta}": (bias + noise / budget**2) / float(plain @ plain)
                            for eta, (bias, noise) in squares.items()
                        }
                        | kinds,
                    )


def _distance(
    values: Floats, table: Floats, eta: float, law: str, shares: Floats, plain: Floats
) -> tuple[float, float]:
    """Squared bias against the coefficients without noise, and power of the noise at epsilon 1."""
    bias = plain.copy()
    bias[: values.size] -= shares @ table
    if law == "Theorem 14":
        longest = np.sqrt(np.max(np.sum(table**2 / values**eta, axis=1)))
        bound = 2 * longest * np.sqrt(np.sum(values ** (eta - 1)))
    else:
        bound = cdist(table / np.sqrt(values), table / np.sqrt(values), "cityblock").max()
    return float(bias @ bias), float((bound / SIZE) ** 2 * values.sum())
