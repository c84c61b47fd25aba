"""How time grows with records, grid points and coefficients, against others, in one run.

Run with: python benchmarks/growth.py [--out docs/pictures/growth.png]
Prints a table of ratios and draws three log-log panels. Every time is the least of a few runs; the
public basis is made beforehand, as it is the same for all data. On a machine that others use too, the
ratio of processor seconds, over all threads, is the steadier number.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import types
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.noise import KNormNoise
from dpfda.numerics import compiled

RECORDS = [1_000, 10_000, 100_000, 1_000_000]
POINTS = [20, 50, 100, 200, 500, 1000]
COMPONENTS = [10, 30, 100, 300, 1000, 3000, 10_000]
SCALE = 2**40

Times = dict[str, list[tuple[int, float]]]


def least(
    work: Callable[[], Any], seconds: float = 2.5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Least time of as many runs as fit, from 3 to 200, after one that does not count."""
    work()
    times: list[float] = []
    while len(times) < 3 or (sum(times) < seconds and len(times) < 200):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def per_point_mean() -> Callable[..., Any] | None:
    """diffprivlib's mean of each grid point by itself; None where the package cannot be imported."""
    # Its models do not load beside a recent scikit-learn; its tools do not need them.
    sys.modules.setdefault("diffprivlib.models", types.ModuleType("diffprivlib.models"))
    try:
        from diffprivlib.tools import mean
    except ImportError:
        return None
    return mean


def vector_laplace(size: int) -> Callable[[], Any] | None:
    """OpenDP's Laplace mechanism on a vector of floats; None where the package is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    mechanism = dp.m.make_laplace(*space, scale=1.0)
    values = [0.0] * size
    return lambda: mechanism(values)


def estimators(points: int, components: int) -> dict[str, PrivateMean]:
    """One mean for each kind of bound."""
    basis = KernelBasis.on_grid(Matern(0.2, nu=1.5), np.linspace(0, 1, points)).truncate(components)
    bounds = {"value bounds": (-3.0, 3.0), "l2 bound": L2Ball(2.0), "l1 bound": L1Ball(2.0)}
    return {
        name: PrivateMean(
            1.0, bounds=bound, basis=basis, mechanism="laplace" if "l1" in name else "knorm"
        )
        for name, bound in bounds.items()
    }


def curves(records: int, points: int) -> np.ndarray:
    """Rough curves, most of them within the bounds."""
    made = np.random.default_rng(0).standard_normal((records, points), dtype=np.float32)
    return made.astype(np.float64)


def measure_sums(times: Times, size: int, values: np.ndarray, components: int, slow: bool) -> None:
    """Add the times of every way to a mean at one size."""

    def note(name: str, work: Callable[[], Any]) -> None:
        times.setdefault(name, []).append((size, least(work)))

    note("NumPy: X.sum(axis=0)", lambda: values.sum(axis=0))
    for name, mean in estimators(values.shape[1], components).items():
        if slow or "l1" not in name:
            note(f"dpfda fit, {name}", lambda mean=mean: mean.fit(values))
    other = per_point_mean()
    if other is not None and slow:
        note("diffprivlib: mean of each point", lambda: other(values, 1.0, bounds=(-3.0, 3.0), axis=0))


def growth_with_records() -> Times:
    times: Times = {}
    for records in RECORDS:
        measure_sums(times, records, curves(records, 100), 50, slow=records <= 1_000_000)
        gc.collect()
    return times


def growth_with_points() -> Times:
    times: Times = {}
    for points in POINTS:
        measure_sums(times, points, curves(100_000, points), min(points, 50), slow=points <= 500)
        gc.collect()
    return times


def growth_with_components() -> Times:
    times: Times = {}
    for size in COMPONENTS:
        for name, noise in (
            ("dpfda exact Laplace noise", KNormNoise((1,) * size, (SCALE,) * size)),
            ("dpfda exact K-norm block", KNormNoise((size,), (SCALE,))),
        ):
            times.setdefault(name, []).append((size, least(noise.draw)))
        other = vector_laplace(size)
        if other is not None:
            times.setdefault("OpenDP: vector Laplace", []).append((size, least(other)))
    return times


Row = tuple[str, float, float, float]


def table(records: int = 1_000_000, points: int = 100) -> list[Row]:
    """Seconds, and ratios of time and of processor time to NumPy's sum of the same numbers."""
    wide = curves(records, points)
    narrow = wide.astype(np.float32)
    means = estimators(points, points)
    few = estimators(points, 20)["l1 bound"]
    sums = {"64": lambda: wide.sum(axis=0), "32": lambda: narrow.sum(axis=0)}
    plain = {kind: (least(work), least(work, clock=time.process_time)) for kind, work in sums.items()}

    def measured(name: str, kind: str, work: Callable[[], Any]) -> Row:
        wall, processor = least(work), least(work, clock=time.process_time)
        return name, wall, wall / plain[kind][0], processor / plain[kind][1]

    rows = [
        measured("NumPy: X.sum(axis=0), float64", "64", sums["64"]),
        measured("NumPy: X.sum(axis=0), float32", "32", sums["32"]),
        measured("fit, value bounds, float64", "64", lambda: means["value bounds"].fit(wide)),
        measured("fit, value bounds, float32", "32", lambda: means["value bounds"].fit(narrow)),
        measured("fit, l2 bound, float64", "64", lambda: means["l2 bound"].fit(wide)),
        measured("fit, l2 bound, float32", "32", lambda: means["l2 bound"].fit(narrow)),
        measured("fit, l1 bound, 20 coefficients", "64", lambda: few.fit(wide)),
        measured("fit, l1 bound, 100 coefficients", "64", lambda: means["l1 bound"].fit(wide)),
    ]
    other = per_point_mean()
    if other is not None:
        work = partial(other, wide, 1.0, bounds=(-3.0, 3.0), axis=0)
        rows.append(measured("diffprivlib: mean of each point", "64", work))
    available = compiled.available
    compiled.available = lambda: False
    try:
        for name in ("value bounds", "l2 bound"):
            work = partial(means[name].fit, wide)
            rows.append(measured(f"fit, {name}, without numba", "64", work))
    finally:
        compiled.available = available
    return rows


def draw(panels: list[tuple[str, Times]], path: str) -> None:
    """Three log-log panels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 5.2), layout="constrained")
    markers = "osD^v*"
    for axis, (label, times) in zip(axes, panels, strict=True):
        for marker, (name, pairs) in zip(markers, times.items(), strict=False):
            axis.loglog(*zip(*pairs, strict=True), marker=marker, markersize=5, label=name)
        axis.set(xlabel=label, ylabel="time (s), least of several runs")
        axis.grid(which="major", alpha=0.3)
        axis.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="docs/pictures/growth.png")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("1,000,000 curves of 100 points: seconds, and ratios of time and of processor time")
    for name, seconds, ratio, processor in table():
        print(f"  {name:40s} {seconds:9.4f} s {ratio:8.2f} {processor:8.2f}")
    panels = [
        ("records, of 100 points, 50 coefficients", growth_with_records()),
        ("grid points, 100,000 records, 50 coefficients", growth_with_points()),
        ("coefficients that get noise", growth_with_components()),
    ]
    for label, times in panels:
        print(label)
        for name, pairs in times.items():
            print(f"  {name:40s}", "  ".join(f"{size}: {seconds:.2e}" for size, seconds in pairs))
    draw(panels, asked.out)


if __name__ == "__main__":
    main()
