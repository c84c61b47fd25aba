"""Figures 1 and 2 of Lin & Reimherr (2023): what their axes say of the errors, under every choice.

Their panels print no numbers but those at the axes. A logarithmic axis that is marked at .3, 1 and 3 and
not at .1 and 10 has its least error between .1 and .3 and its largest between 3 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from experiments import recipe
from experiments.common import Floats
from experiments.figure1 import FACTORS, folds_of, score
from experiments.recipe import Sample, eigenpairs
from experiments.search import Choice, Found, Study
from experiments.simulated import EPSILON, GRID, KERNEL, SCENARIOS, SIZES, summary_of, truncations

SEED = 2026112619
REPETITIONS = 4
EASY = ("S-1", "S-2", "S-3")
PRINTED = {
    "Figure 1, S-1 to S-3, least": (1e-4, 1e-3),
    "Figure 1, S-1 to S-3, largest": (1.0, 10.0),
    "Figure 1, S-4, least": (0.1, 0.3),
    "Figure 1, S-4, largest": (3.0, 10.0),
    "Figure 2, S-1 to S-3, least": (1e-4, 1e-3),
    "Figure 2, S-1 to S-3, largest": (10.0, 100.0),
    "Figure 2, S-4, least": (1e-3, 1e-2),
    "Figure 2, S-4, largest": (1.0, 10.0),
}
AXES = {
    "grid points": (50, 100, 200),
    "deviations along": ("functions of norm one", "vectors of length one"),
    "mean of S-4": (
        "functions of norm one",
        "vectors of length one",
        "functions, drawn for each curve, target zero",
        "vectors, drawn for each curve, target zero",
    ),
    "penalty against eigenvalues of": ("C/m", "C"),
    "numbers of components": ("n^1/4 to n^1/3", "4 to 10", "1 to 25"),
    "error": ("mean over the grid", "sum over the grid", "root of the mean", "root of the sum"),
}
SLOW = ("grid points", "deviations along", "mean of S-4", "penalty against eigenvalues of")


def study() -> Study:
    """The ends of the axes, and the road to them."""
    return Study("Figures 1 and 2", AXES, PRINTED, computed, SLOW)


def sample_of(
    scenario: str, choice: Choice, size: int, generator: np.random.Generator
) -> tuple[Sample, Floats]:
    """A sample and the function that errors are measured from."""
    grid = np.linspace(0.001, 0.999, choice["grid points"])
    functions = eigenpairs(KERNEL, grid)[1]
    vectors = functions / math.sqrt(grid.size)
    count = min(100, grid.size)
    along = functions if choice["deviations along"].startswith("functions") else vectors
    scores = generator.uniform(-2, 2, (size, count)) * np.arange(1.0, count + 1) ** -2
    curves = scores @ along[:count]
    if scenario in EASY:
        mean = np.interp(grid, GRID, SCENARIOS[scenario](generator, KERNEL))
        return Sample(curves + mean, grid), mean
    carriers = functions if choice["mean of S-4"].startswith("functions") else vectors
    if choice["mean of S-4"].endswith("zero"):
        curves += generator.uniform(-1, 1, (size, 25)) @ carriers[:25]
        return Sample(curves, grid), np.zeros(grid.size)
    mean = generator.uniform(-1, 1, 25) @ carriers[:25]
    return Sample(curves + mean, grid), np.asarray(mean)


def _components(name: str, size: int) -> tuple[list[int], list[int]]:
    """Numbers of components of cross-validation and of the plug-in."""
    if name.startswith("n^"):
        return truncations(size)
    low, high = map(int, name.split(" to "))
    return list(range(max(1, low - 3), high + 4)), list(range(low, high + 1))


def _errors(
    scenario: str, choice: Choice, size: int, generator: np.random.Generator
) -> dict[tuple[str, str], float]:
    """Expected squared distances: (figure, set of components or what does not depend on it)."""
    sample, target = sample_of(scenario, choice, size, generator)
    whole, folds = summary_of(sample), folds_of(sample)
    # With eigenvalues of C, vectors of length one and norms without weights, the noise is the same and
    # a penalty is m^(eta/2) times smaller against the eigenvalues.
    points = choice["grid points"] if choice["penalty against eigenvalues of"] == "C" else 1
    found = {}
    for name, made, eta in (
        ("iclp_l1", recipe.iclp_l1, recipe.ETA_L1),
        ("iclp_rkhs", recipe.iclp_rkhs, recipe.ETA_RKHS),
    ):
        unit = points ** (-eta / 2)

        def of(part: Sample, value: float, made=made, unit=unit):  # type: ignore[no-untyped-def]
            return made(part, KERNEL, factor=value * unit)

        chosen = min(FACTORS, key=lambda value, of=of: score(of, value, folds))
        found[name, "plug-in"] = of(whole, 1.0).expected(target, EPSILON)  # type: ignore[arg-type]
        found[name, "pcv"] = of(whole, chosen).expected(target, EPSILON)  # type: ignore[arg-type]
    for components in AXES["numbers of components"]:
        wide, plain = _components(str(components), size)
        by_count = {
            count: recipe.iid_laplace(whole, KERNEL, count)  # type: ignore[arg-type]
            for count in {*wide, *plain}
        }
        chosen = min(wide, key=lambda m: score(lambda p, m: recipe.iid_laplace(p, KERNEL, m), m, folds))
        found[f"pcv {components}", "iid"] = by_count[chosen].expected(target, EPSILON)
        found[f"plug-in {components}", "iid"] = min(
            by_count[count].expected(target, EPSILON) for count in plain
        )
    found["bernstein", "plug-in"] = recipe.bernstein(sample).expected(target, EPSILON)
    return found


@cache
def _averages(
    frozen: tuple[tuple[str, object], ...], scenario: str
) -> list[dict[tuple[str, str], float]]:
    """Errors of each number of curves, averaged over samples; a seed for each cell."""
    choice = dict(frozen)
    seeds = np.random.SeedSequence([SEED, *repr((frozen, scenario)).encode()]).spawn(len(SIZES))
    rows = []
    for size, seed in zip(SIZES, seeds, strict=True):
        generator = np.random.default_rng(seed)
        samples = [_errors(scenario, choice, size, generator) for _ in range(REPETITIONS)]
        rows.append({key: float(np.mean([each[key] for each in samples])) for key in samples[0]})
    return rows


def computed(choice: Choice) -> Iterator[tuple[Choice, Found]]:
    """Errors under the slow choices, for all fast ones."""
    shared = {**choice, "mean of S-4": ""}
    cells = {name: _averages(tuple(shared.items()), name) for name in EASY}
    cells["S-4"] = _averages(tuple(choice.items()), "S-4")
    for components in AXES["numbers of components"]:
        curves = {
            "Figure 1": [
                *((name, tuning) for name in ("iclp_l1", "iclp_rkhs") for tuning in ("plug-in", "pcv")),
                *((f"{tuning} {components}", "iid") for tuning in ("plug-in", "pcv")),
            ],
            "Figure 2": [
                ("iclp_l1", "plug-in"),
                ("iclp_rkhs", "plug-in"),
                (f"plug-in {components}", "iid"),
                ("bernstein", "plug-in"),
            ],
        }
        plain = {}
        for figure, keys in curves.items():
            for panels, names in (("S-1 to S-3", EASY), ("S-4", ("S-4",))):
                values = [row[key] for name in names for row in cells[name] for key in keys]
                plain[f"{figure}, {panels}, least"] = min(values)
                plain[f"{figure}, {panels}, largest"] = max(values)
        for error in AXES["error"]:
            times = choice["grid points"] if str(error).endswith("sum over the grid") else 1
            times = choice["grid points"] if str(error) == "root of the sum" else times
            power = 0.5 if str(error).startswith("root") else 1.0
            yield (
                {"numbers of components": components, "error": error},
                {name: (value * times) ** power for name, value in plain.items()},
            )
