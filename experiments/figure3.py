"""Figure 3 of Lin & Reimherr (2023): private kernel density estimates on an interval.

Run `python -m experiments.figure3` (`--quick` for few draws). No data are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import truncnorm

from dpfda.density.kernel import DensityKernel
from experiments import common
from experiments.common import Floats, Options
from experiments.density_recipe import (
    Kernel,
    bernstein,
    best_iid_laplace,
    gaussian,
    iclp,
    shares_at,
)
from experiments.density_study import Name, Row, compared, library_draws, titled

SEED = 2026112615
SIZE = 2000
CELLS = 400
# Of order n^(-1/5); the factor is not printed. A quarter gives an estimate like the paper's.
BANDWIDTH = 0.25 * SIZE ** (-1 / 5)
DRAWS, QUICK_DRAWS = 400, 20
MIDDLE = (np.arange(CELLS) + 0.5) / CELLS
PARTS = ((0.6, 0.3), (0.4, 0.7))
DEVIATION = 0.1
ETAS = (1.25, 1.5)
DEGREES = (10, 30, 50)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all mechanisms and write figure3.csv and figure3.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows, curves, plain = run(options)
    common.write_csv(options.results / "figure3.csv", rows)
    draw_picture(options.results / "figure3.png", curves, plain)


def truth(points: Floats) -> Floats:
    """Density of the mixture of two truncated normal laws; the paper prints p_1, taken p_2 = 1 - p_1."""
    return np.asarray(sum(share * _part(center).pdf(points) for share, center in PARTS))


def sampled(generator: np.random.Generator, size: int = SIZE) -> Floats:
    """Points of the mixture."""
    first = generator.uniform(size=size) < PARTS[0][0]
    parts = [_part(center).rvs(size, random_state=generator) for _, center in PARTS]
    return np.where(first, *parts)


def _part(center: float) -> Any:
    return truncnorm(-center / DEVIATION, (1 - center) / DEVIATION, center, DEVIATION)


def run(options: Options) -> tuple[list[Row], dict[Name, list[Floats]], Floats]:
    """Errors of all mechanisms, draws for the picture, and the estimate without noise."""
    generator = np.random.default_rng(options.seed)
    points = sampled(generator)
    kernel = Kernel(MIDDLE[:, None], 1.0, BANDWIDTH, gaussian)
    shares = shares_at(points[:, None], [np.linspace(0, 1, CELLS + 1)])
    plain = kernel.estimate(shares)
    releases = {("printed scale", f"ICLP, eta = {eta}"): iclp(kernel, shares, SIZE, eta) for eta in ETAS}
    releases |= {
        ("honest", f"ICLP, eta = {eta}"): iclp(kernel, shares, SIZE, eta, correct=True) for eta in ETAS
    }
    best = best_iid_laplace(kernel, shares, SIZE, range(2, 25), plain)
    releases["best M NOT PRIVATE", "IID Laplace"] = best
    releases |= {("honest", f"Bernstein, K = {k}"): bernstein(kernel, shares, SIZE, k) for k in DEGREES}
    library = {
        ("honest", name): library_draws(mechanism, (0, 1), points, (CELLS,), generator)
        for name, mechanism in {
            "library's kernel, eta = 1.25": DensityKernel(eta=1.25),
            "library's default": "histogram",
        }.items()
    }
    draws = QUICK_DRAWS if options.quick else DRAWS
    rows, curves = compared(
        "figure 3", plain, truth(MIDDLE), 1 / CELLS, releases, library, draws, generator
    )
    return rows, curves, plain


PANELS = (
    ("printed scale", "ICLP, eta = 1.25"),
    ("printed scale", "ICLP, eta = 1.5"),
    ("best M NOT PRIVATE", "IID Laplace"),
    *(("honest", f"Bernstein, K = {k}") for k in DEGREES),
    ("honest", "ICLP, eta = 1.25"),
    ("honest", "ICLP, eta = 1.5"),
    ("honest", "library's default"),
)


def draw_picture(path: Path, curves: dict[Name, list[Floats]], plain: Floats) -> None:
    """Ten draws a panel, as in the paper, with the estimate without noise."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(12, 9), sharex=True, sharey=True, layout="constrained")
    for ax, name in zip(axes.flat, PANELS, strict=True):
        for curve in curves[name]:
            (private,) = ax.plot(MIDDLE, curve, color="#d55e00", linewidth=0.7, alpha=0.7)
        (blue,) = ax.plot(MIDDLE, plain, color="#0072b2", linewidth=1.8)
        (dotted,) = ax.plot(MIDDLE, truth(MIDDLE), color="black", linewidth=1, linestyle=":")
        ax.set_title(titled(name), fontsize=10)
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylim(-1.0, 3.0)
    axes[0, 0].legend(
        [private, blue, dotted],
        ["ten private estimates", "kernel estimate without noise", "density sampled"],
        fontsize="small",
    )
    for ax in axes[-1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("density")
    figure.suptitle("Figure 3 of Lin & Reimherr (2023): n = 2000, epsilon = 1")
    figure.savefig(path, dpi=90)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
