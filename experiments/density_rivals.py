"""Densities against plain alternatives at the same guarantee: quantiles, L2 and L1, for many shapes.

Run `python -m experiments.density_rivals` (`--quick` for few draws). It goes on where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from dpfda import PrivateDensity
from dpfda.testing import simulate_density
from experiments import common
from experiments.common import Floats

SEED = 2026112609
DRAWS, QUICK_DRAWS = 16, 2
EPSILONS, SIZES = (0.1, 1.0, 10.0), (200, 2000, 20_000)
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
HEAVY, HEAVY_SIZES = ("t, 2 degrees", "lognormal"), (1000, 10_000, 100_000)
# n epsilon and n of the comparison of scales, its draws.
BUDGETS, BUDGET_SIZES, SCALE_DRAWS = (500, 1000, 2000, 5000, 10_000), (1000, 10_000), 30
CELLS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Bumps:
    """Two normal bumps on [0, 1]."""

    parts = (0.6, 0.3, 0.08), (0.4, 0.7, 0.06)

    def rvs(self, size: int, random_state: np.random.Generator) -> Floats:
        """Draws."""
        first = random_state.uniform(size=size) < self.parts[0][0]
        (_, m, s), (_, m2, s2) = self.parts
        return random_state.normal(np.where(first, m, m2), np.where(first, s, s2))

    def pdf(self, at: Floats) -> Floats:
        """Density."""
        return np.asarray(sum(w * stats.norm.pdf(at, m, s) for w, m, s in self.parts))

    def ppf(self, levels: Floats) -> Floats:
        """Quantiles."""
        at = np.linspace(0, 1, 100_001)
        return np.interp(levels, sum(w * stats.norm.cdf(at, m, s) for w, m, s in self.parts), at)


SHAPES: dict[str, tuple[Any, tuple[float, float]]] = {
    "normal": (stats.norm(0.5, 0.15), (0.0, 1.0)),
    "two bumps": (Bumps(), (0.0, 1.0)),
    "uniform": (stats.uniform(), (0.0, 1.0)),
    "exponential": (stats.expon(0, 0.2), (0.0, 1.0)),
    "narrow normal": (stats.norm(0.3, 0.01), (0.0, 1.0)),
    "t, 2 degrees": (stats.t(2), (-100.0, 100.0)),
    "lognormal": (stats.lognorm(0.8, 0, 30_000), (0.0, 1e6)),
}
# These were not looked at when the zoom and its default were designed.
OTHERS: dict[str, tuple[Any, tuple[float, float]]] = {
    "gamma, shape 2": (stats.gamma(2, 0, 8), (0.0, 100.0)),
    "arcsine": (stats.beta(0.5, 0.5), (0.0, 1.0)),
    "Laplace": (stats.laplace(20, 3), (-100.0, 100.0)),
    "Cauchy": (stats.cauchy(), (-1000.0, 1000.0)),
    "Pareto, 1.5": (stats.pareto(1.5), (0.0, 1000.0)),
    "logistic": (stats.logistic(50, 8), (0.0, 100.0)),
    "Weibull, 1.5": (stats.weibull_min(1.5, 0, 40), (0.0, 1000.0)),
}
EVERY = SHAPES | OTHERS


def chosen(
    points: Floats, domain: tuple[float, float], epsilon: float, level: float, generator: Any
) -> float:
    """A quantile by the exponential mechanism (Smith 2011): its score is minus the distance in rank."""
    ordered = np.concatenate([domain[:1], np.sort(points), domain[1:]])
    ranks = np.abs(np.arange(points.size + 1) - level * points.size)
    with np.errstate(divide="ignore"):
        log_weights = np.log(np.diff(ordered)) - epsilon * ranks / 2
    gap = int(np.argmax(log_weights + generator.gumbel(size=log_weights.size)))
    return float(generator.uniform(ordered[gap], ordered[gap + 1]))


def plain_histogram(points: Floats, domain: Any, epsilon: float, cells: int, generator: Any) -> Floats:
    """Shares of equal cells with Laplace noise of scale 2 / epsilon, cut at zero, normalised."""
    counts = np.histogram(points, cells, domain)[0] + generator.laplace(0, 2 / epsilon, cells)
    kept = np.maximum(counts, 0.0)
    return np.asarray(kept / kept.sum() if kept.sum() > 0 else np.full(cells, 1 / cells))


def measured(law: Any, domain: Any, pdf: Callable[[Floats], Floats], found: Floats) -> Floats:
    """Squared errors of quantiles over the quartile distance, relative squared L2 and L1 distance."""
    true = law.ppf(LEVELS)
    middle = np.concatenate([np.linspace(*domain, 8001), law.ppf(np.linspace(5e-4, 0.9995, 4000))])
    at = np.unique(np.clip(middle, *domain))
    weights, at = np.diff(at), (at[1:] + at[:-1]) / 2
    apart = pdf(at) - law.pdf(at)
    squares = ((found - true) / (true[3] - true[1])) ** 2
    l2 = np.sum(apart**2 * weights) / np.sum(law.pdf(at) ** 2 * weights)
    return np.append(squares, [l2, np.sum(np.abs(apart) * weights)])


def on_scales(
    law: Any,
    domain: tuple[float, float],
    points: Floats,
    epsilon: float,
    source: Callable[[], np.random.Generator],
) -> dict[str, Floats]:
    """Errors of a density on equal cells, with a zoom, and by default: one of these two.

    Where `source` gives equal generators, counts of both get the same noise, up to its scale.
    """
    found = {}
    for scale in ("linear", "zoom"):
        prepared = PrivateDensity(epsilon, domain=domain, scale=scale).prepare(points)
        made = simulate_density(prepared, source())
        found[scale] = measured(law, domain, made, made.quantile(LEVELS))
    zoomed = PrivateDensity(epsilon, domain=domain).plan(points.size).zoom is not None
    return {"auto": found["zoom" if zoomed else "linear"], **found}


def scales(name: str, n: int, budget: float, draws: int, seed: int) -> list[dict[str, Any]]:
    """Errors with a zoom over those on equal cells, root mean squares: of quantiles, of the density."""
    (law, domain), kept = EVERY[name], []
    for draw in range(draws):
        key = [seed, 1, list(EVERY).index(name), n, round(budget), draw]
        generator = np.random.default_rng(key)
        points = np.clip(law.rvs(size=n, random_state=generator), *domain)
        found = on_scales(law, domain, points, budget / n, partial(np.random.default_rng, [*key, 1]))
        kept.append([found["zoom"], found["linear"]])
    zoom, linear = np.sqrt(np.mean(kept, axis=0))
    ratios = {"quantiles": zoom[:5].mean() / linear[:5].mean(), "density": zoom[5] / linear[5]}
    return [{
        "shape": name, "designed on": name in SHAPES, "n": n, "n epsilon": budget,
        **{measure: float(ratio) for measure, ratio in ratios.items()},
    }]  # fmt: skip


def one(name: str, n: int, epsilon: float, draws: int, seed: int) -> list[dict[str, Any]]:
    """All ways for one shape, size and epsilon, from a fresh seed."""
    law, domain = SHAPES[name]
    kept: dict[str, list[Floats]] = {}
    for draw in range(draws):
        generator = np.random.default_rng([seed, list(SHAPES).index(name), n, round(10 * epsilon), draw])
        points = np.clip(law.rvs(size=n, random_state=generator), *domain)
        note = partial(measured, law, domain)
        for scale, errors in on_scales(law, domain, points, epsilon, lambda own=generator: own).items():
            kept.setdefault(scale, []).append(errors)
        for cells in CELLS:
            shares = plain_histogram(points, domain, epsilon, cells, generator)
            edges = np.linspace(*domain, cells + 1)
            quantiles = np.interp(LEVELS, np.append(0, np.cumsum(shares)), edges)
            heights = shares / np.diff(edges)
            pdf = lambda at, edges=edges, heights=heights: heights[  # noqa: E731
                np.clip(np.searchsorted(edges, at, side="right") - 1, 0, heights.size - 1)
            ]
            kept.setdefault(f"histogram {cells}", []).append(note(pdf, quantiles))
        for words, share in (("five quantiles", 5), ("one quantile", 1)):
            found = [chosen(points, domain, epsilon / share, level, generator) for level in LEVELS]
            squares = note(law.pdf, np.array(found))
            kept.setdefault(words, []).append(np.append(squares[:5], [math.nan, math.nan]))
    means = {way: np.mean(errors, axis=0) for way, errors in kept.items()}
    told = {way: [float(np.sqrt(mean[:5]).mean()), *mean[5:].tolist()] for way, mean in means.items()}
    # An oracle takes the best number of cells, for each measure its own.
    plain = [told.pop(f"histogram {cells}") for cells in CELLS]
    told["best histogram"] = np.min(plain, axis=0).tolist()
    names = ("quantiles", "l2", "l1")
    case = {"shape": name, "n": n, "epsilon": epsilon}
    return [{**case, "way": way, **dict(zip(names, found, strict=True))} for way, found in told.items()]


def main() -> None:
    """Simulate all shapes, write the tables."""
    options = common.read_options(str(__doc__), SEED)
    draws = QUICK_DRAWS if options.quick else DRAWS
    sizes = SIZES[:2] if options.quick else SIZES
    every = [(name, n, epsilon) for name in SHAPES for n in sizes for epsilon in EPSILONS]
    common.resumed(options, "density_rivals.csv", every, lambda case: one(*case, draws, options.seed))
    heavy = [(name, n, 1.0) for name in HEAVY for n in HEAVY_SIZES[: 1 if options.quick else None]]
    common.resumed(options, "density_heavy.csv", heavy, lambda case: one(*case, draws, options.seed))
    draws = QUICK_DRAWS if options.quick else SCALE_DRAWS
    budgets = BUDGETS[1:3] if options.quick else BUDGETS
    cases = [(name, n, budget) for name in EVERY for n in BUDGET_SIZES for budget in budgets]
    common.resumed(options, "density_scales.csv", cases, lambda case: scales(*case, draws, options.seed))


if __name__ == "__main__":
    main()
