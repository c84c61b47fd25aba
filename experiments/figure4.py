"""Figure 4 of Lin & Reimherr (2023): private kernel density estimates on a square.

Run `python -m experiments.figure4` (`--quick` for few draws). No data are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import multivariate_normal

from dpfda.density.kernel import DensityKernel
from experiments import common
from experiments.common import Floats, Options
from experiments.density_recipe import (
    Kernel,
    bernstein,
    best_iid_laplace,
    exponential,
    iclp,
    shares_at,
)
from experiments.density_study import Name, Row, compared, library_draws, titled

SEED = 2026112616
SIZE = 2000
CELLS = 32
DOMAIN = (-5.0, 5.0)
EDGES = np.linspace(*DOMAIN, CELLS + 1)
MIDDLE = (EDGES[1:] + EDGES[:-1]) / 2
GRID = np.stack([axis.ravel() for axis in np.meshgrid(MIDDLE, MIDDLE, indexing="ij")], axis=1)
WEIGHT = (EDGES[1] - EDGES[0]) ** 2
# Of order n^(-1/6), in the units of the data; the factor is not printed, one is taken.
BANDWIDTH = SIZE ** (-1 / 6)
DRAWS, QUICK_DRAWS = 100, 5
PARTS = ((0.6, (-3.0, -3.0)), (0.4, (3.0, 2.0)))
COVARIANCE = ((1.0, 0.5), (0.5, 1.0))
ETAS = (1.01, 1.05, 1.2)
DEGREES = (5, 10)
COMPONENTS = range(5, 200, 5)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all mechanisms and write figure4.csv and figure4.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows, surfaces, plain = run(options)
    common.write_csv(options.results / "figure4.csv", rows)
    draw_picture(options.results / "figure4.png", surfaces, plain)


def truth(points: Floats) -> Floats:
    """Density of the mixture of two normal laws, truncated to the square (by a sum over the grid)."""
    laws = [(share, multivariate_normal(center, COVARIANCE)) for share, center in PARTS]
    inside = [law.pdf(GRID).sum() * WEIGHT for _, law in laws]
    found = [share * law.pdf(points) / mass for (share, law), mass in zip(laws, inside, strict=True)]
    return np.asarray(sum(found))


def sampled(generator: np.random.Generator, size: int = SIZE) -> Floats:
    """Points of the mixture, by rejection."""
    points = np.empty((0, 2))
    while len(points) < size:
        first = generator.uniform(size=(size, 1)) < PARTS[0][0]
        parts = [generator.multivariate_normal(center, COVARIANCE, size) for _, center in PARTS]
        # Whether a point is inside decides about the point and not about its part.
        drawn = np.where(first, *parts)
        points = np.concatenate([points, drawn[np.all(np.abs(drawn) <= DOMAIN[1], axis=1)]])
    return points[:size]


def run(options: Options) -> tuple[list[Row], dict[Name, list[Floats]], Floats]:
    """Errors of all mechanisms, draws for the picture, and the estimate without noise."""
    generator = np.random.default_rng(options.seed)
    points = sampled(generator)
    kernel = Kernel(GRID, (DOMAIN[1] - DOMAIN[0]) ** 2, BANDWIDTH, exponential)
    shares = shares_at(points, [EDGES, EDGES])
    plain = kernel.estimate(shares)
    releases = {("printed scale", f"ICLP, eta = {eta}"): iclp(kernel, shares, SIZE, eta) for eta in ETAS}
    releases |= {
        ("honest", f"ICLP, eta = {eta}"): iclp(kernel, shares, SIZE, eta, correct=True) for eta in ETAS
    }
    best = best_iid_laplace(kernel, shares, SIZE, COMPONENTS, plain)
    releases["best M NOT PRIVATE", "IID Laplace"] = best
    releases |= {("honest", f"Bernstein, K = {k}"): bernstein(kernel, shares, SIZE, k) for k in DEGREES}
    library = {
        ("honest", name): library_draws(mechanism, [DOMAIN, DOMAIN], points, (CELLS, CELLS), generator)
        for name, mechanism in {
            "library's kernel, eta = 1.05": DensityKernel(),
            "library's default": "histogram",
        }.items()
    }
    draws = QUICK_DRAWS if options.quick else DRAWS
    rows, surfaces = compared(
        "figure 4", plain, truth(GRID), WEIGHT, releases, library, draws, generator
    )
    return rows, surfaces, plain


PANELS = (
    *(("printed scale", f"ICLP, eta = {eta}") for eta in ETAS),
    *(("honest", f"ICLP, eta = {eta}") for eta in ETAS),
    ("best M NOT PRIVATE", "IID Laplace"),
    *(("honest", f"Bernstein, K = {k}") for k in DEGREES),
    ("honest", "library's kernel, eta = 1.05"),
    ("honest", "library's default"),
)


def draw_picture(path: Path, surfaces: dict[Name, list[Floats]], plain: Floats) -> None:
    """One draw a panel as an image, with contours of the estimate without noise."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shape = (CELLS, CELLS)
    limit = 1.2 * float(plain.max())
    figure, axes = plt.subplots(3, 4, figsize=(15, 11), sharex=True, sharey=True, layout="constrained")
    shown = [("without noise", plain), *((titled(name), surfaces[name][0]) for name in PANELS)]
    for ax, (title, values) in zip(axes.flat, shown, strict=True):
        image = ax.imshow(
            values.reshape(shape).T,
            origin="lower",
            extent=(*DOMAIN, *DOMAIN),
            cmap="RdBu_r",
            vmin=-limit,
            vmax=limit,
        )
        ax.contour(MIDDLE, MIDDLE, plain.reshape(shape).T, levels=4, colors="black", linewidths=0.6)
        ax.set_title(title, fontsize=10)
    for ax in axes[-1]:
        ax.set_xlabel("first variable")
    for ax in axes[:, 0]:
        ax.set_ylabel("second variable")
    figure.colorbar(image, ax=axes, label="density (per unit of area)", shrink=0.6)
    figure.suptitle(
        "Figure 4 of Lin & Reimherr (2023): n = 2000, epsilon = 1, one draw each;"
        " contours: kernel estimate without noise"
    )
    figure.savefig(path, dpi=80)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
