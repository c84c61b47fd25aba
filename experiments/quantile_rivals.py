"""Quantiles with all of epsilon beside the exponential mechanism and a density, on data and simulated.

Run `python -m experiments.quantile_rivals` (`--quick` for few draws). The library draws with the bits of
the system: these are not seeded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dpfda import PrivateDensity, PrivateQuantiles
from dpfda.testing import simulate_density
from experiments import common
from experiments.common import Floats
from experiments.density_rivals import LEVELS, SHAPES, chosen

SEED = 2026112623
DRAWS, DENSITIES, QUICK_DRAWS = 24, 8, 2
EPSILONS, SIZES = (0.1, 1.0, 10.0), (100, 1000, 10_000, 100_000)
LARGE = 10_000
HELD_DRAWS, HELD_SIZES = 60, (300, 1000, 5000)
HELD_LEVELS = (0.5,), (0.1, 0.25, 0.5, 0.75, 0.9)
SIMULATED = ("normal", "t, 2 degrees", "lognormal")


def real_sets() -> dict[str, tuple[Floats, tuple[float, float], float | None]]:
    """Values, public ends of their axis, and the step that they are multiples of, where it is public."""
    import statsmodels.api as sm
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    visits = sm.datasets.randhie.load_pandas().data
    return {
        "progression (diabetes)": (load_diabetes().target, (0.0, 500.0), 1.0),
        "area of nuclei (breast cancer)": (load_breast_cancer().data[:, 3], (0.0, 5000.0), None),
        "alcohol (wine)": (load_wine().data[:, 0], (5.0, 20.0), None),
        "spending (ccard)": (
            sm.datasets.ccard.load_pandas().data["AVGEXP"].to_numpy(dtype=float), (0.0, 10_000.0), None
        ),
        "visits to doctors (randhie)": (visits["mdvis"].to_numpy(dtype=float), (0.0, 200.0), 1.0),
        "daily load (Adelaide)": (common.electricity().mean(axis=1), (0.0, 5000.0), None),
        "anisotropy (DTI)": (np.nanmean(common.scans()[0], axis=1), (0.0, 1.0), None),
    }  # fmt: skip


def compared(
    points: Floats,
    domain: tuple[float, float],
    step: float | None,
    epsilon: float,
    draws: int,
    seed: Any,
) -> list[dict[str, Any]]:
    """Root mean square distances from the quantiles of the data, over the quartile distance."""
    generator = np.random.default_rng(seed)
    ordered = np.sort(points)
    true = ordered[np.ceil(LEVELS * points.size).astype(int) - 1]
    scale = max(true[3] - true[1], 1e-9)
    alone = [PrivateQuantiles(epsilon, levels=level, domain=domain, step=step) for level in LEVELS]
    together = PrivateQuantiles(epsilon, levels=LEVELS, domain=domain, step=step)
    density = PrivateDensity(epsilon, domain=domain)
    prepared = density.prepare(points)
    ways: dict[str, tuple[int, Callable[[], Floats]]] = {
        "one alone": (draws, lambda: np.array([one.fit(points).release_.values[0] for one in alone])),
        "exponential mechanism": (
            draws, lambda: np.array([chosen(points, domain, epsilon, p, generator) for p in LEVELS])
        ),
        "five together": (draws, lambda: together.fit(points).release_.values),
        "exponential mechanism, a fifth each": (
            draws, lambda: np.array([chosen(points, domain, epsilon / 5, p, generator) for p in LEVELS])
        ),
        "density": (
            min(draws, DENSITIES), lambda: simulate_density(prepared, generator).quantile(LEVELS)
        ),
    }  # fmt: skip
    rows = []
    for way, (count, made) in ways.items():
        start = time.process_time()
        squares = [((made() - true) / scale) ** 2 for _ in range(count)]
        seconds = (time.process_time() - start) / count
        errors = np.sqrt(np.mean(squares, axis=0))
        named = {f"error_{p:g}": float(e) for p, e in zip(LEVELS, errors, strict=True)}
        rows.append({"way": way, "error": float(errors.mean()), **named, "seconds": seconds})
    return rows


def held(name: str, n: int, levels: tuple[float, ...], draws: int, seed: Any) -> dict[str, Any]:
    """How often all shares below are off by no more than `dense_bound`, half a unit allowed."""
    generator = np.random.default_rng(seed)
    law, domain = SHAPES[name]
    holds, fallen, bounds = 0, 0, []
    for _ in range(draws):
        points = np.sort(np.clip(law.rvs(size=n, random_state=generator), *domain))
        release = PrivateQuantiles(1.0, levels=levels, domain=domain).fit(points).release_
        bound = release.dense_bound() or 1.0
        fallen += bound == release.rank_bound()
        # Rounding to a public point moves no value past its neighbours but one that equals it.
        shares = np.searchsorted(points, release.values, side="right") / n
        holds += bool(np.all(np.abs(shares - levels) <= bound + 1 / n))
        bounds.append(bound)
    return {
        "data": name,
        "n": n,
        "levels": len(levels),
        "holds": holds / draws,
        "worst_case": fallen / draws,
        "bound": float(np.median(bounds)),
        "rank_bound": release.rank_bound(),
    }


def main() -> None:
    """Compare on all data, write the table."""
    options = common.read_options(str(__doc__), SEED)
    bounds = [
        held(name, n, levels, QUICK_DRAWS if options.quick else HELD_DRAWS, [options.seed, place, n, k])
        for place, name in enumerate(SHAPES)
        for n in HELD_SIZES
        for k, levels in enumerate(HELD_LEVELS)
    ]
    common.write_csv(options.results / "quantile_bounds.csv", bounds)
    draws = QUICK_DRAWS if options.quick else DRAWS
    sizes = SIZES[:2] if options.quick else SIZES
    cases: list[tuple[str, Floats, tuple[float, float], float | None]] = []
    for name, (points, domain, step) in real_sets().items():
        cases.append((name, points, domain, step))
    for place, name in enumerate(SIMULATED):
        law, domain = SHAPES[name]
        for n in sizes:
            drawn = law.rvs(size=n, random_state=np.random.default_rng([options.seed, place, n]))
            cases.append((name, np.clip(drawn, *domain), domain, None))
    every = [(case, epsilon) for case in cases for epsilon in EPSILONS]
    rows: list[dict[str, Any]] = []
    for number, ((name, points, domain, step), epsilon) in enumerate(common.shown(every, "quantiles")):
        # Where draws take longest they are fewer.
        count = max(2, draws // (1 if points.size < LARGE else 4))
        found = compared(points, domain, step, epsilon, count, [options.seed, number])
        rows += [{"data": name, "n": points.size, "epsilon": epsilon, **row} for row in found]
        common.write_csv(options.results / "quantile_rivals.csv", rows)


if __name__ == "__main__":
    main()
