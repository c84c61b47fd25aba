"""Table 3 of Lin & Reimherr (2023): the choices that it does not print, and its 95 cells under each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import binom

from experiments import common
from experiments.common import Floats
from experiments.search import Choice, Range, Study
from experiments.table3 import PRINTED, deaths

PROFILES = {
    "Gaussian": lambda d: np.exp(-(d**2) / 2),
    "exponential": lambda d: np.exp(-d),
    "Matern 3/2": lambda d: (1 + math.sqrt(3) * d) * np.exp(-math.sqrt(3) * d),
    "Matern 5/2": lambda d: (1 + math.sqrt(5) * d + 5 * d**2 / 3) * np.exp(-math.sqrt(5) * d),
}
GROUPS = 21
RANK = 1e-12
AXES = {
    "kernel": tuple(PROFILES),
    "grid": ("21 groups", "100 points", "210 cells"),
    "bandwidth": (
        "0.02",
        "0.04",
        "0.08",
        "0.16",
        "0.32",
        "n^-1/5 of thousands",
        "2 n^-1/5 of thousands",
        "n^-1/5 of persons",
        "Silverman",
    ),
    "estimate": ("C^eta over its integral", "C^eta", "C^eta over that of C", "power of values"),
    "cells of a million": ("kept", "dropped"),
    "target": ("same bandwidth", "no smoothing", "half the bandwidth", "a quarter of the bandwidth"),
    "sensitivity": ("Theorem 14", "largest difference", "none"),
    "n": ("thousands", "persons"),
    "error": ("integral", "sum over the grid", "root of the integral"),
    "age": ("[0, 1]", "[0, 100]"),
    "unit": (1.0, 1e2, 1e3, 1e4, 1e5, 1e6),
}
SLOW = ("kernel", "grid", "bandwidth", "estimate", "cells of a million")


def study() -> Study:
    """The printed cells, and the road to them."""
    printed: dict[str, Range] = {
        f"{line['region']}, {PRINTED[name]}": (float(line[name]), float(line[name]))
        for line in common.printed("table3")
        for name in PRINTED
    }
    return Study("Table 3", AXES, printed, computed, SLOW)


def _bandwidth(name: str, counts: Floats) -> float:
    if "n^" in name:
        n = counts.sum() * (1000 if name.endswith("persons") else 1)
        return float((2 if name.startswith("2") else 1) * n**-0.2)
    if name == "Silverman":
        places, shares = (np.arange(GROUPS) + 0.5) / GROUPS, counts / counts.sum()
        spread = math.sqrt(shares @ places**2 - (shares @ places) ** 2)
        return float(1.06 * spread * counts.sum() ** -0.2)
    return float(name)


@cache
def grid_points(grid: str) -> Floats:
    """Ages, from 0 to 1, of a grid by its name."""
    if grid == "100 points":
        return np.linspace(0, 1, 100)
    cells = int(grid.split(maxsplit=1)[0])
    return (np.arange(cells) + 0.5) / cells


def shares_on(grid: str, counts: Floats) -> Floats:
    """Shares of the deaths at the grid points: a group's are spread over the points within it."""
    points = grid_points(grid)
    group = np.minimum((points * GROUPS).astype(int), GROUPS - 1)
    held = np.bincount(group, minlength=GROUPS)
    return np.asarray((counts / counts.sum() / held)[group])


@cache
def _pairs(kernel: str, grid: str, width: float) -> tuple[Floats, Floats]:
    points = grid_points(grid)
    gram = PROFILES[kernel](np.abs(points[:, None] - points) / width)
    values, vectors = np.linalg.eigh(gram / points.size)
    kept = values > RANK * values[-1]
    return values[kept][::-1], vectors.T[kept][::-1] * math.sqrt(points.size)


@cache
def _elements(kernel: str, grid: str, width: float, eta: float, how: str) -> tuple[Floats, Floats]:
    """Coefficients (m, K) of what one death at each point adds, and the functions (K, m)."""
    values, functions = _pairs(kernel, grid, width)
    if how == "power of values":
        points = grid_points(grid)
        gram = PROFILES[kernel](np.abs(points[:, None] - points) / width) ** eta
        table = gram @ functions.T / points.size
        return table / gram.mean(axis=1)[:, None], functions
    table = functions.T * values**eta
    if how == "C^eta over its integral":
        return table / (table @ functions.mean(axis=1))[:, None], functions
    if how == "C^eta over that of C":
        return table / ((functions.T * values) @ functions.mean(axis=1))[:, None], functions
    return table / (width * math.sqrt(2 * math.pi)), functions


@cache
def _noise(kernel: str, grid: str, width: float, eta: float, how: str) -> dict[str, float]:
    """Expected squared length of the noise times n^2 under each sensitivity, at epsilon 1 as printed."""
    values, _ = _pairs(kernel, grid, width)
    table, _ = _elements(kernel, grid, width, eta, how)
    longest = math.sqrt(np.max(np.sum(table**2 / values**eta, axis=1)))
    bounds = {
        "Theorem 14": 2 * longest * math.sqrt(np.sum(values ** (eta - 1))),
        "largest difference": float(
            cdist(table / np.sqrt(values), table / np.sqrt(values), "cityblock").max()
        ),
        "none": 0.0,
    }
    return {name: bound**2 * float(values.sum()) for name, bound in bounds.items()}


@cache
def _columns(kernel: str, grid: str, width: float, how: str) -> dict[str, tuple[Floats, float, float]]:
    """A linear map (m, m) from shares to the estimate, and the noise times n^2, a mechanism each."""
    points = grid_points(grid)
    table, functions = _elements(kernel, grid, width, 1.0, how)
    plain = table @ functions
    found = {}
    for eta in (1.01, 1.05):
        own, _ = _elements(kernel, grid, width, eta, how)
        noise = _noise(kernel, grid, width, eta, how)
        found[f"rkhs_{eta}"] = (own @ functions, noise["Theorem 14"], noise["largest difference"])
    for degree in (10, 20):
        lattice = np.linspace(0, 1, degree + 1)
        nearest = np.abs(lattice[:, None] - points).argmin(axis=1)
        weights = binom.pmf(np.arange(degree + 1)[:, None], degree, points)
        change = float(np.ptp(plain[:, nearest], axis=0).max())
        power = 2 * (change * (degree + 1)) ** 2 * float(np.mean(np.sum(weights**2, axis=0)))
        found[f"bernstein_{degree}"] = (plain[:, nearest] @ weights, power, power)
    return found


def computed(choice: Choice) -> Iterator[tuple[Choice, Mapping[str, float]]]:
    """All fast axes for one choice of the slow ones."""
    kernel, grid, how = choice["kernel"], choice["grid"], choice["estimate"]
    parts: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for region, counts in deaths_of(choice["cells of a million"]).items():
        width = _bandwidth(choice["bandwidth"], counts)
        shares = shares_on(grid, counts)
        table, functions = _elements(kernel, grid, width, 1.0, how)
        targets = {
            "same bandwidth": shares @ table @ functions,
            "no smoothing": shares * shares.size,
            "half the bandwidth": _smoothed(kernel, grid, width / 2, how, shares),
            "a quarter of the bandwidth": _smoothed(kernel, grid, width / 4, how, shares),
        }
        columns = _columns(kernel, grid, width, how)
        for name, target in targets.items():
            bias = {m: float(np.mean((shares @ made[0] - target) ** 2)) for m, made in columns.items()}
            heads = _truncations(shares @ table, functions, target)
            for law in AXES["sensitivity"]:
                for size in AXES["n"]:
                    n = counts.sum() * (1000 if size == "persons" else 1)
                    cells = parts.setdefault((name, str(law), str(size)), [])
                    index = 1 if law == "Theorem 14" else 2
                    for mechanism, title in PRINTED.items():
                        key = f"{region}, {title}"
                        if mechanism == "iid_laplace":
                            cells.append((key, _best(table, heads, n, law == "none")))
                        else:
                            noise = 0.0 if law == "none" else float(columns[mechanism][index]) / n**2
                            cells.append((key, bias[mechanism] + noise))
    for (target, law, size), cells in parts.items():
        for error in AXES["error"]:
            for age in AXES["age"]:
                factor = float(grid_points(grid).size) if error == "sum over the grid" else 1.0
                scaled = {k: v * factor / (100 if age == "[0, 100]" else 1) for k, v in cells}
                if error.startswith("root"):
                    scaled = {k: math.sqrt(v) for k, v in scaled.items()}
                for unit in AXES["unit"]:
                    fast = {"target": target, "sensitivity": law, "n": size, "error": error}
                    fast |= {"age": age, "unit": unit}
                    yield fast, {k: v * unit for k, v in scaled.items()}


def _smoothed(kernel: str, grid: str, width: float, how: str, shares: Floats) -> Floats:
    table, functions = _elements(kernel, grid, width, 1.0, how)
    return np.asarray(shares @ table @ functions)


@cache
def deaths_of(large: str) -> dict[str, Floats]:
    """Deaths in thousands; a reader that stumbles at a space in a number drops cells of a million."""
    found = deaths()
    if large == "kept":
        return found
    return {region: np.where(counts >= 1000, 0.0, counts) for region, counts in found.items()}


def _truncations(coefficients: Floats, functions: Floats, target: Floats) -> list[float]:
    """Squared distance to the target of the leading 2 to 24 components."""
    heads = np.cumsum(coefficients[:24, None] * functions[:24], axis=0)
    return [float(np.mean((head - target) ** 2)) for head in heads[1:]]


def _best(table: Floats, heads: list[float], n: float, free: bool) -> float:
    """Least expected distance over the numbers of components, which knows the target."""
    found = []
    for count, bias in enumerate(heads, start=2):
        reach = 2 * float(np.abs(table[:, :count]).sum(axis=1).max()) / n
        found.append(bias + (0.0 if free else 2 * count * reach**2))
    return min(found)
