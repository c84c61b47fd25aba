"""How time and memory grow: slopes on log-log scales, beside NumPy, OpenDP, diffprivlib and a recipe.

Run with: python benchmarks/slopes.py [--out docs/pictures/slopes.png] [--quick] [--diffprivlib PYTHON]
One thread. Every time is the median of a few runs, taken in turns with the others of its panel. A slope
is that of the two largest sizes: what growth comes to, once the constant part is small beside it.
Memory is what a process of its own needs at most beside the data (Linux). diffprivlib 0.6 wants an older
scikit-learn than dpfda: name the Python of an environment that has it.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise

Work = dict[str, Callable[[], Any]]
Times = dict[str, list[tuple[int, float]]]
POINTS = 100
SCALE = 2**30


def curves(records: int, points: int) -> np.ndarray:
    """Rough curves, most of them within the bounds."""
    made = np.random.default_rng(0).standard_normal((records, points), dtype=np.float32)
    return made.astype(np.float64)


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


def opendp_mean(values: np.ndarray) -> Callable[[], Any] | None:
    """What one would write with OpenDP: the mean of clipped columns, one vector of noise."""
    noise = vector_laplace(values.shape[1])
    return None if noise is None else lambda: (values.clip(-3, 3).mean(axis=0), noise())


# Times a mean of each column in an environment of its own; the data are those of `curves`.
COLUMN_MEANS = """
import sys, time, statistics, warnings
import numpy as np
from diffprivlib import tools
warnings.simplefilter("ignore")
records, points = map(int, sys.argv[1:])
values = np.random.default_rng(0).standard_normal((records, points), dtype=np.float32).astype(float)
taken = []
for _ in range(4):
    start = time.process_time()
    tools.mean(values, epsilon=1.0, bounds=(-3, 3), axis=0)
    taken.append(time.process_time() - start)
print(statistics.median(taken[1:]))
"""


def column_means(python: str, records: int, points: int) -> float:
    """Median processor seconds of diffprivlib's mean of columns."""
    run = [python, "-c", COLUMN_MEANS, str(records), str(points)]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def recipe(values: np.ndarray) -> np.ndarray:
    """The authors' script, plainly: a Gram matrix, norms record by record, a mean, Laplace noise.

    Not private as it stands: its scale is a maximum over the records. Only its time is of interest.
    """
    grid = np.linspace(0, 1, values.shape[1])
    gram = Matern(0.1, nu=1.5)(grid[:, None]) / grid.size
    eigenvalues, functions = np.linalg.eigh(gram)
    kept = eigenvalues > 1e-9
    functions, deviations = functions[:, kept] * math.sqrt(grid.size), np.sqrt(eigenvalues[kept])
    largest = 0.0
    for row in values:
        largest = max(largest, float(np.abs(row @ functions / grid.size / deviations).sum()))
    mean = values.mean(axis=0) @ functions / grid.size
    noise = np.random.default_rng(0).laplace(0.0, 2 * largest / len(values), kept.sum()) * deviations
    return np.asarray(functions @ (mean + noise))


def in_blocks(block: np.ndarray, times: int) -> Callable[[], Any]:
    """A fit over the same block again and again: as many records as one likes, without their memory."""

    def work() -> Any:
        mean = PrivateMean(1.0, bounds=(-3, 3))
        for _ in range(times):
            mean.partial_fit(block)
        return mean.finish()

    return work


def records(size: int) -> Work:
    blocks: Work = {}
    if size >= 1_000_000:
        block = curves(100_000, POINTS)
        blocks = {"dpfda: value bounds, in blocks": in_blocks(block, size // len(block))}
    if size > 1_000_000:
        return blocks
    values = curves(size, POINTS)
    work: Work = {
        **blocks,
        "NumPy: X.sum(axis=0)": lambda: values.sum(axis=0),
        "dpfda: value bounds": lambda: PrivateMean(1.0, bounds=(-3, 3)).fit(values),
        "dpfda: l2 bound": lambda: PrivateMean(1.0, bounds=L2Ball(2.0)).fit(values),
        "dpfda: l1 bound": lambda: PrivateMean(1.0, bounds=L1Ball(2.0)).fit(values),
        "dpfda: standardised": lambda: PrivateMean(1.0, standardize=True).fit(values),
    }
    other = opendp_mean(values)
    if other is not None:
        work["OpenDP: mean of columns"] = other
    if size <= 100_000:
        work["authors' recipe, ported"] = lambda: recipe(values)
    return work


def points(size: int) -> Work:
    values = curves(100, size)
    work: Work = {"NumPy: X.sum(axis=0)": lambda: values.sum(axis=0)}
    if size <= 1000:
        work["dpfda: default basis, afresh"] = lambda: fresh(values)
        work["authors' recipe, ported"] = lambda: recipe(values)
    if size >= 1000:

        def few() -> Any:
            grid = np.linspace(0, unseen(), size)
            basis = KernelBasis.on_grid(Matern(0.2, nu=1.5), grid, components=20)
            return PrivateMean(1.0, bounds=(-3, 3), basis=basis).fit(values)

        work["dpfda: 20 functions"] = few
    return work


def functions(size: int) -> Work:
    """As many functions of a basis of 1,000 points."""
    values = curves(1000, 1000)
    grid = np.linspace(0, 1, 1000)
    basis = KernelBasis.on_grid(Matern(0.2, nu=1.5), grid, components=size)
    release = PrivateMean(1.0, bounds=(-3, 3), basis=basis).fit(values).release_
    at = np.linspace(0, 1, 200)
    return {
        "NumPy: X.sum(axis=0)": lambda: values.sum(axis=0),
        "dpfda: value bounds": lambda: PrivateMean(1.0, bounds=(-3, 3), basis=basis).fit(values),
        "dpfda: l2 bound": lambda: PrivateMean(1.0, bounds=L2Ball(2.0), basis=basis).fit(values),
        "dpfda: l1 bound": lambda: PrivateMean(1.0, bounds=L1Ball(2.0), basis=basis).fit(values),
        "dpfda: evaluate at 200 points": lambda: release(at),
    }


def fresh(values: np.ndarray) -> Any:
    """A fit on a domain that was not seen before: basis and design are made."""
    return PrivateMean(1.0, bounds=(-3, 3), domain_range=(0.0, unseen())).fit(values)


def unseen() -> float:
    return 1.0 + np.random.default_rng().random() / 1e6


def people(size: int) -> Work:
    values = curves(200_000, POINTS)
    generator = np.random.default_rng(0)
    random = generator.integers(0, size, len(values))
    skewed = np.minimum((generator.pareto(1.0, len(values)) * size / 50).astype(np.int64), size - 1)
    mean = PrivateMean(1.0, bounds=(-3, 3))
    return {
        "NumPy: X.sum(axis=0)": lambda: values.sum(axis=0),
        "sorted": lambda: mean.fit(values, groups=np.sort(random)),
        "in random order": lambda: mean.fit(values, groups=random),
        "of very unequal sizes": lambda: mean.fit(values, groups=skewed),
    }


def coordinates(size: int) -> Work:
    laws = {
        "dpfda: Laplace": KNormNoise((1,) * size, (SCALE,) * size),
        "dpfda: normal": GaussianNoise((SCALE,) * size),
        "dpfda: one block": KNormNoise((size,), (SCALE,)),
        "dpfda: box": BoxNoise((SCALE,) * size),
    }
    work: Work = {name: law.draw for name, law in laws.items()}
    work["NumPy: Laplace, not private"] = lambda: np.random.default_rng().laplace(size=size)
    other = vector_laplace(size) if size <= 100_000 else None
    return work if other is None else {**work, "OpenDP: vector Laplace": other}


# Runs one fit twice in a process of its own; prints the bytes that the second needed beside the data.
MEMORY = """
import ctypes, sys, warnings
from pathlib import Path
import numpy as np
from benchmarks.slopes import MEMORIES, status
warnings.simplefilter("ignore")
work = MEMORIES[sys.argv[1]](int(sys.argv[2]))
work()
ctypes.CDLL(None).malloc_trim(0)  # what the first fit gave back is not there for the second
Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
before = status("VmRSS")
work()
print(max(status("VmHWM") - before, 4096))
"""


def status(name: str) -> int:
    """Bytes of this process, by the kernel (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def one_fit(values: np.ndarray, **given: Any) -> Callable[[], Any]:
    return lambda: PrivateMean(1.0, **given).fit(values)


def by_people(size: int) -> Callable[[], Any]:
    labels = np.random.default_rng(0).integers(0, max(size // 3, 1), size)
    values = curves(size, POINTS)
    return lambda: PrivateMean(1.0, bounds=(-3, 3)).fit(values, groups=labels)


def clipped_mean(size: int) -> Callable[[], Any]:
    values = curves(size, POINTS)
    return lambda: values.clip(-3, 3).mean(axis=0)


# What a fit to so many records of 100 points needs.
MEMORIES: dict[str, Callable[[int], Callable[[], Any]]] = {
    "NumPy: X.clip(-3, 3).mean(axis=0)": clipped_mean,
    "dpfda: value bounds": lambda size: one_fit(curves(size, POINTS), bounds=(-3, 3)),
    "dpfda: l2 bound": lambda size: one_fit(curves(size, POINTS), bounds=L2Ball(2.0)),
    "dpfda: l1 bound": lambda size: one_fit(curves(size, POINTS), bounds=L1Ball(2.0)),
    "dpfda: standardised": lambda size: one_fit(curves(size, POINTS), standardize=True),
    "dpfda: three records a person": by_people,
}
MEMORY_SIZES = [1000, 10_000, 100_000, 1_000_000]


def needed(name: str, size: int) -> int:
    """Peak bytes beside the data."""
    run = [sys.executable, "-c", MEMORY, name, str(size)]
    told = subprocess.run(run, check=True, capture_output=True, text=True)  # noqa: S603
    return int(told.stdout)


PANELS: list[tuple[str, Callable[[int], Work], list[int]]] = [
    (
        "records, of 100 points",
        records,
        [100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000],
    ),
    ("grid points, of 100 records", points, [10, 30, 100, 300, 1000, 10_000, 100_000]),
    ("people with 200,000 records", people, [100, 1000, 10_000, 100_000]),
    ("functions of a basis on 1,000 points, of 1,000 records", functions, [5, 10, 30, 100, 300]),
    ("coordinates that get exact noise", coordinates, [10, 100, 1000, 10_000, 100_000, 1_000_000]),
]


def measured(work: Work, seconds: float) -> dict[str, float]:
    """Median processor seconds of each, taken in turns after one turn that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    begun = time.perf_counter()
    while len(next(iter(taken.values()))) < 2 or (
        time.perf_counter() - begun < seconds and len(next(iter(taken.values()))) < 16
    ):
        for name, run in work.items():
            start = time.process_time()
            run()
            taken[name].append(time.process_time() - start)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}


def growth(make: Callable[[int], Work], sizes: list[int], seconds: float) -> Times:
    times: Times = {}
    for size in sizes:
        for name, median in measured(make(size), seconds).items():
            times.setdefault(name, []).append((size, median))
    return times


def slope(pairs: list[tuple[int, float]]) -> float:
    (low, before), (high, after) = pairs[-2:]
    return math.log(after / before) / math.log(high / low)


TITLES = (
    "A mean, against the number of records",
    "A mean, against the number of grid points",
    "A mean with a person's records, against people",
    "A mean, against the number of functions",
    "Exact noise, against coordinates",
    "Memory of a mean beside its data, against records",
)
# What is compared with has the same colour in all panels.
OTHERS = {"NumPy": "0.45", "authors'": "black", "OpenDP": "tab:brown", "diffprivlib": "tab:pink"}
OWN = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def colours(names: list[str]) -> list[str]:
    """One for each, grey and dark for others."""
    own = iter(OWN)
    return [OTHERS.get(name.split()[0].rstrip(":")) or next(own) for name in names]


def draw(panels: list[tuple[str, Times]], path: str) -> None:
    """Six log-log panels; the last is of memory."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 2, figsize=(11, 18), layout="constrained")
    for axis, title, (label, times) in zip(axes.flat, TITLES, panels, strict=True):
        styles = zip("osD^v*PXh", colours([*times]), times.items(), strict=False)
        for marker, colour, (name, pairs) in styles:
            told = f"{name} ({slope(pairs):.2f})" if len(pairs) > 1 else name
            dashes = "--" if name.split()[0].rstrip(":") in OTHERS else "-"
            axis.loglog(
                *zip(*pairs, strict=True), dashes, marker=marker, markersize=5, color=colour, label=told
            )
        axis.set_title(title, loc="left", fontsize=11)
        axis.set(xlabel=label, ylabel="processor time of one thread (s)")
        if title.startswith("Memory"):
            axis.set_ylabel("peak memory beside the data (MiB)")
        axis.grid(which="major", alpha=0.3)
        lowest = min(seconds for pairs in times.values() for _, seconds in pairs)
        highest = max(seconds for pairs in times.values() for _, seconds in pairs)
        axis.set_ylim(10 ** math.floor(math.log10(lowest)), 10 ** math.ceil(math.log10(highest)))
        axis.legend(
            fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False,
            title="slope at the right end in brackets", title_fontsize=8,
        )  # fmt: skip
    figure.savefig(path, dpi=90)


def tell(label: str, times: Times, factor: float, unit: str) -> None:
    print(label, flush=True)
    for name, pairs in times.items():
        told = "  ".join(f"{size:,}: {factor * value:.3g} {unit}" for size, value in pairs)
        steepness = slope(pairs) if len(pairs) > 1 else math.nan
        print(f"  {name:34s} {steepness:5.2f}  {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="docs/pictures/slopes.png")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--diffprivlib", help="Python of an environment that has diffprivlib")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    panels = []
    for label, make, sizes in PANELS:
        times = growth(make, sizes[:-1] if asked.quick else sizes, 0.5 if asked.quick else 2.0)
        if asked.diffprivlib and make in (records, points):
            kept = [size for size in sizes if size <= (100_000 if make is records else 1000)]
            cells = [(size, POINTS) if make is records else (100, size) for size in kept]
            taken = [column_means(asked.diffprivlib, *cell) for cell in cells]
            times["diffprivlib: mean of columns"] = list(zip(kept, taken, strict=True))
        panels.append((label, times))
        tell(label, times, 1e3, "ms")
    memory: Times = {
        name: [(size, needed(name, size) / 2**20) for size in MEMORY_SIZES] for name in MEMORIES
    }
    panels.append(("records, of 100 points", memory))
    tell("memory", memory, 1.0, "MiB")
    draw(panels, asked.out)


if __name__ == "__main__":
    main()
