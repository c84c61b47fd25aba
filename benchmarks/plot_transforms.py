"""Draw how fast transforms, fast kernels and exact noise grow, on logarithmic axes.

Run with: python -m benchmarks.plot_transforms. It writes docs/pictures/transforms.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.linalg import eigh
from sklearn.gaussian_process.kernels import Matern
from threadpoolctl import threadpool_limits

from benchmarks.test_transforms import (
    LAWS,
    SQUARE,
    hundred_draws,
    kernel_shaped,
    least,
    one_decomposition,
)
from dpfda.bases import BoxBasis, KernelBasis, KroneckerBasis

KERNEL = Matern(0.1, nu=1.5)
Line = tuple[list[int], list[float]]


def draws() -> dict[str, Line]:
    """Seconds for 100 simulated processes against K."""
    generator, sizes, few = np.random.default_rng(0), [100, 1000, 10_000, 100_000], [100, 200, 500]

    def ours(size: int) -> float:
        noise = kernel_shaped(size)
        return least(lambda: hundred_draws(noise, generator), 3)

    def theirs(size: int) -> float:
        return least(lambda: one_decomposition(1.5, size, generator), 3)

    return {
        "fast transform": (sizes, [ours(size) for size in sizes]),
        "one eigendecomposition and loops": (few, [theirs(size) for size in few]),
    }


def noise() -> dict[str, Line]:
    """Seconds for one exact draw against K."""
    sizes = [100, 1000, 10_000]
    return {law: (sizes, [least(make(size).draw, 3) for size in sizes]) for law, make in LAWS.items()}


def images() -> dict[str, Line]:
    """Seconds for one image against its pixels."""
    sides = [64, 256, 1024]

    def forth(kind: str, side: int) -> float:
        values = np.random.default_rng(0).normal(size=(side, side))
        basis = BoxBasis.on_grid(kind, (side, side), SQUARE, 1000)
        return least(lambda: basis.transform(values))

    pixels = [side * side for side in sides]
    lines = {kind: (pixels, [forth(kind, s) for s in sides]) for kind in ("cosine", "sine", "fourier")}
    arrays = [np.zeros((side, side)) for side in sides]
    return lines | {"NumPy's sum of the pixels": (pixels, [least(a.sum, 20) for a in arrays])}


def eigenpairs() -> dict[str, Line]:
    """Seconds for leading eigenpairs against grid points."""
    sizes, few = [1000, 5000, 20_000, 50_000], [250, 500, 1000, 2000]
    uneven = [np.sort(np.random.default_rng(0).uniform(size=size)) for size in sizes]

    def leading(grid: np.ndarray) -> float:
        return least(lambda: KernelBasis.on_grid(KERNEL, grid, (0, 1), components=50), 2)

    def dense(size: int) -> float:
        gram = KERNEL(np.linspace(0, 1, size)[:, None])
        return least(lambda: eigh(gram), 1)

    def product(side: int) -> float:
        axes = [np.linspace(0, 1, side)] * 2
        return least(lambda: KroneckerBasis.on_grid(KERNEL, axes, components=500), 2)

    return {
        "50 pairs, uniform grid": (sizes, [leading(np.linspace(0, 1, size)) for size in sizes]),
        "50 pairs, any grid": (sizes, [leading(grid) for grid in uneven]),
        "500 pairs, product of two axes": (
            [32**2, 256**2, 1024**2],
            [product(s) for s in (32, 256, 1024)],
        ),
        "all pairs, scipy.linalg.eigh": (few, [dense(size) for size in few]),
    }


def main() -> None:
    """Measure in one thread and draw."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    panels = {
        "100 simulated processes": (draws, "coefficients K"),
        "One exact draw of the noise": (noise, "coefficients K"),
        "Coefficients of one image": (images, "pixels"),
        "Eigenpairs of Matern 3/2": (eigenpairs, "grid points"),
    }
    figure, axes = plt.subplots(2, 2, figsize=(11, 9))
    with threadpool_limits(1):
        for ax, (title, (measure, label)) in zip(axes.flat, panels.items(), strict=True):
            for name, (sizes, seconds) in measure().items():
                slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
                ax.loglog(sizes, seconds, "o-", label=f"{name} (exponent {slope:.2f})")
            ax.set_title(title)
            ax.set_xlabel(label)
            ax.set_ylabel("seconds, one thread")
            ax.grid(alpha=0.3)
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=2, fontsize=7, frameon=False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parents[1] / "docs" / "pictures" / "transforms.png", dpi=110)


if __name__ == "__main__":
    main()
