"""Speed of fast transforms, fast kernels and exact noise, as ratios within one run.

Run with: pytest benchmarks/test_transforms.py --benchmark-only -s
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.gaussian_process.kernels import RBF, Matern
from threadpoolctl import threadpool_limits

from dpfda.bases import BoxBasis, KernelBasis, KroneckerBasis
from dpfda.noise import EllipticalNoise, GaussianNoise, KNormNoise

SQUARE = [(0.0, 1.0), (0.0, 1.0)]
SCALE = 2**30
DRAWS = 100
KERNELS = {"exponential": 0.5, "matern32": 1.5, "matern52": 2.5, "gaussian": math.inf}


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


def least(work: Callable[[], Any], rounds: int = 5) -> float:
    """Least wall-clock seconds of a few runs."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def growth(sizes: list[int], seconds: list[float]) -> float:
    """Exponent of the size in the time: the slope of a line in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def show(capsys: Any, title: str, rows: list[tuple[Any, ...]]) -> None:
    with capsys.disabled():
        print(f"\n{title}")
        for row in rows:
            cells = [f"{x:.3g}" if isinstance(x, float) else str(x) for x in row]
            print("  " + "  ".join(f"{cell:>16}" for cell in cells))


def hundred_draws(noise: KNormNoise, generator: np.random.Generator) -> np.ndarray:
    """100 simulated Laplace processes as curves on the grid, the basis included."""
    basis = BoxBasis.on_grid("cosine", noise.components, (0, 1))
    return basis.values_on_grid(noise.simulate(generator, DRAWS))


def kernel_shaped(size: int) -> KNormNoise:
    """Laplace noise of standard deviations like the roots of the eigenvalues."""
    scales = SCALE * np.sqrt(BoxBasis.on_grid("cosine", size, (0, 1)).eigenvalues)
    return KNormNoise((1,) * size, tuple(scales.astype(int).tolist()))


def one_decomposition(smoothness: float, size: int, generator: np.random.Generator) -> list[Any]:
    """The same by NumPy: one decomposition, then loops over draws and components."""
    kernel = Matern(0.1, nu=smoothness)
    values, vectors = np.linalg.eigh(kernel(np.linspace(0, 1, size)[:, None]))
    roots = np.sqrt(np.maximum(values, 0.0) / 2)

    def one() -> Any:
        curve = np.zeros(size)
        for root, vector in zip(roots, vectors.T, strict=True):
            curve += root * generator.laplace() * vector
        return curve

    return [one() for _ in range(DRAWS)]


@pytest.mark.parametrize("kernel", KERNELS)
def test_hundred_draws_against_one_decomposition(benchmark, capsys, kernel):
    """K = 500: against NumPy's eigendecomposition and 100 loops over components."""
    generator, noise = np.random.default_rng(0), kernel_shaped(500)
    ours = least(lambda: hundred_draws(noise, generator), 50)
    theirs = least(lambda: one_decomposition(KERNELS[kernel], 500, generator), 3)
    benchmark.extra_info["ratio"] = theirs / ours
    benchmark(hundred_draws, noise, generator)
    rows = [("decomposition", "fast", "ratio"), (theirs, ours, theirs / ours)]
    show(capsys, f"100 draws at K = 500 against {kernel}, seconds", rows)


def test_hundred_draws_by_size(benchmark, capsys):
    """Simulated noise and curves, up to K = 100,000."""
    generator, sizes = np.random.default_rng(0), [500, 1000, 10_000, 100_000]
    noises = [kernel_shaped(size) for size in sizes]
    noise = [least(lambda n=n: n.simulate(generator, DRAWS), 3) for n in noises]
    whole = [least(lambda n=n: hundred_draws(n, generator), 3) for n in noises]
    benchmark.pedantic(noises[-1].simulate, (generator, DRAWS), rounds=3)
    rows = [("K", "noise", "with curves"), *zip(sizes, noise, whole, strict=True)]
    rows.append(("exponent", growth(sizes, noise), growth(sizes, whole)))
    show(capsys, "100 draws by K, seconds", rows)


LAWS = {
    "laplace": lambda k: KNormNoise((1,) * k, (SCALE,) * k),
    "blocks of 20": lambda k: KNormNoise((20,) * (k // 20), (SCALE,) * (k // 20)),
    "one block": lambda k: KNormNoise((k,), (SCALE,)),
    "gaussian": lambda k: GaussianNoise((SCALE,) * k),
    "student-t": lambda k: EllipticalNoise(k, SCALE, "student-t", 5),
}


@pytest.mark.parametrize("law", LAWS)
def test_exact_noise_by_size(benchmark, capsys, law):
    """One exact draw, up to 10,000 coefficients."""
    sizes = [100, 1000, 10_000]
    seconds = [least(LAWS[law](size).draw) for size in sizes]
    benchmark.pedantic(LAWS[law](sizes[-1]).draw, rounds=5)
    rows = [("K", "seconds"), *zip(sizes, seconds, strict=True), ("exponent", growth(sizes, seconds))]
    show(capsys, f"exact noise, {law}", rows)


@pytest.mark.parametrize("kind", [float, int])
def test_exact_noise_against_opendp(benchmark, capsys, kind):
    """10,000 Laplace variables: against OpenDP's vector mechanism (pip install 'dpfda[bench]')."""
    dp = pytest.importorskip("opendp.prelude", reason="pip install 'dpfda[bench]'")
    dp.enable_features("contrib")
    count = 10_000
    atom = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=int)
    mechanism = dp.m.make_laplace(
        dp.vector_domain(atom, size=count), dp.l1_distance(T=kind), scale=float(SCALE)
    )
    zeros, ours = [kind(0)] * count, LAWS["laplace"](count).draw
    times = least(lambda: mechanism(zeros)), least(ours)
    benchmark.extra_info["ratio"] = times[0] / times[1]
    benchmark.pedantic(ours, rounds=5)
    rows = [("OpenDP", "ours", "ratio"), (*times, times[0] / times[1])]
    show(capsys, f"10,000 exact Laplace variables, OpenDP on {kind.__name__}, seconds", rows)


@pytest.mark.parametrize("kind", ["cosine", "sine", "fourier"])
def test_images_by_grid(benchmark, capsys, kind):
    """Build, transform and synthesise on square grids with 10,000 functions at most."""
    sides, rows = [64, 128, 256, 512, 1024], []
    for side in sides:
        shape, values = (side, side), np.random.default_rng(0).normal(size=(side, side))
        count = min(10_000, (side - 1) ** 2)
        made = BoxBasis.on_grid(kind, shape, SQUARE, count)
        coefficients = made.transform(values)
        build = least(lambda s=shape, c=count: BoxBasis.on_grid(kind, s, SQUARE, c))
        forth = least(lambda b=made, v=values: b.transform(v))
        back = least(lambda b=made, c=coefficients: b.values_on_grid(c))
        rows.append((side * side, build, forth, back, forth / least(values.sum)))
    benchmark(made.transform, values)
    slopes = [growth([r[0] for r in rows], [r[i] for r in rows]) for i in (1, 2, 3)]
    header = ("points", "build", "transform", "synthesis", "transform / sum")
    show(capsys, f"{kind} on a square, seconds", [header, *rows, ("exponent", *slopes)])


RELEASE = """
import resource, time
import numpy as np
from dpfda import BoxBasis, PrivateMean
basis = BoxBasis.on_grid("cosine", (1024, 1024), [(0, 1), (0, 1)], 10_000)
images = np.random.default_rng(0).uniform(size=(8, 1024, 1024)).astype(np.float32)
start = time.perf_counter()
release = PrivateMean(epsilon=1.0, bounds=(0, 1), basis=basis, mechanism="laplace").fit(images).release_
release.on_grid()
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(seconds, peak, release.noise.components)
"""


def test_a_release_of_a_million_points(benchmark, capsys):
    """Eight images of 1024 x 1024, 10,000 exact coefficients, values on the grid; peak memory in all."""
    answers = []

    def run() -> None:
        command = [sys.executable, "-c", RELEASE]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        answers.append([float(x) for x in done.stdout.split()])

    benchmark.pedantic(run, rounds=3)
    best = min(answers)
    rows = [("seconds", "peak GiB", "coefficients"), (best[0], best[1], int(best[2]))]
    show(capsys, "a release on 1024 x 1024 points", rows)


@pytest.mark.parametrize(
    ("kernel", "even"),
    [(Matern(0.1, nu=1.5), True), (Matern(0.1, nu=1.5), False), (RBF(0.1), True)],
    ids=["matern32-even", "matern32-uneven", "rbf-even"],
)
def test_leading_eigenpairs_by_grid(benchmark, capsys, kernel, even):
    """50 pairs by Lanczos, against SciPy's eigh of all and of 50 pairs while it can be waited for."""
    generator = np.random.default_rng(0)
    rows: list[tuple[Any, ...]] = []
    for size in (1000, 2000, 5000, 10_000, 20_000, 50_000):
        grid = np.linspace(0, 1, size) if even else np.sort(generator.uniform(size=size))
        make = lambda g=grid: KernelBasis.on_grid(kernel, g, (0, 1), components=50)  # noqa: E731
        ours, dense, few = least(make, 2), math.nan, math.nan
        if size <= 2000:
            gram = kernel(grid[:, None])
            dense = least(lambda c=gram: eigh(c), 1)
            few = least(lambda c=gram, m=size: eigh(c, subset_by_index=(m - 50, m - 1)), 1)
        rows.append((size, ours, make().defect, dense / ours, few / ours))
    benchmark.pedantic(make, rounds=1)
    slope = growth([r[0] for r in rows], [r[1] for r in rows])
    header = ("points", "seconds", "defect", "eigh / ours", "eigh(50) / ours")
    show(capsys, "50 leading eigenpairs", [header, *rows, ("exponent", slope)])


def test_product_kernels_by_grid(benchmark, capsys):
    """Kronecker structure on squares, against one dense eigh of the same matrix for 32 x 32."""
    kernel, rows = Matern(0.2, nu=1.5), []
    for side in (32, 64, 128, 256, 512, 1024):
        axis = np.linspace(0, 1, side)
        make = lambda a=axis: KroneckerBasis.on_grid(kernel, [a, a], components=500)  # noqa: E731
        ours, dense = least(make, 2), math.nan
        if side == 32:
            gram = kernel(axis[:, None])
            dense = least(lambda g=gram: eigh(np.kron(g, g)), 1)
        values, basis = np.random.default_rng(0).normal(size=(side, side)), make()
        rows.append((side * side, ours, dense / ours, least(lambda b=basis, v=values: b.transform(v))))
    benchmark.pedantic(make, rounds=1)
    slope = growth([r[0] for r in rows], [r[1] for r in rows])
    header = ("points", "seconds", "eigh / ours", "transform")
    show(capsys, "500 leading functions of a product kernel", [header, *rows, ("exponent", slope)])
