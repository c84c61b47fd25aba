"""All mechanisms on one data set at one guarantee, in one picture.

Run with: python examples/compare_mechanisms.py [FILE.csv] [PICTURE.png]

FILE.csv is a wide table of curves, one a row; without it the packaged temperatures are used. Curves are
standardised one by one, so that the l2 bound 1 is public. The upper picture has one release of each
mechanism that is pure at epsilon = 1, the lower one those at epsilon = 1, delta = 1e-6; each panel says the
root mean square distance to the mean without noise over 400 simulated releases. That mean is drawn too:
only for data that are public.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dpfda import L1Ball, PrivateMean
from dpfda.datasets import load_temperatures
from dpfda.errors import RefusedMechanismError
from dpfda.mechanisms import mechanisms
from dpfda.records.files import read_curves
from dpfda.testing import non_private_mean, simulate_releases

DRAWS = 400


def curves_of(path: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Complete curves and their grid."""
    if path is None:
        days = load_temperatures()
        return days.values, days.grid_points
    table = read_curves(path)
    return table.data[np.isfinite(table.data).all(axis=1)], table.grid_points


def estimator(mechanism: str, delta: float, grid: np.ndarray | None) -> PrivateMean:
    """The same bound, kernel and budget for every mechanism."""
    return PrivateMean(
        epsilon=1.0,
        delta=delta,
        standardize=True,
        bounds=L1Ball(1.0) if mechanism == "bernstein" else None,
        kernel="matern:30%:1.5",
        grid_points=grid,
        mechanism=mechanism,
    )


def panel(axis: plt.Axes, mechanism: str, delta: float, curves: np.ndarray, grid) -> bool:
    """One release and its error; False where the mechanism refuses the guarantee."""
    mean = estimator(mechanism, delta, grid)
    try:
        release = mean.fit(curves).release_
    except RefusedMechanismError:
        return False
    truth = non_private_mean(estimator("laplace", 0.0, grid), curves)
    errors = simulate_releases(mean, curves, DRAWS, seed=1) - truth
    axis.plot(release.grid_points, truth, color="black", linestyle="--", linewidth=1)
    axis.plot(release.grid_points, release(release.grid_points), color="C0")
    axis.set_title(f"{mechanism}: error {np.sqrt(np.mean(errors**2)):.2f}", fontsize="small")
    return True


def main(path: str | None = None, picture: str = "compare_mechanisms.png") -> None:
    """Draw all mechanisms that give each guarantee."""
    curves, grid = curves_of(path)
    names = [name for name in mechanisms() if name != "bernstein"]
    columns = len(names)
    figure, axes = plt.subplots(
        2, columns, figsize=(2.1 * columns, 5), sharex=True, sharey=True, layout="constrained"
    )
    for row, delta in zip(axes, (0.0, 1e-6), strict=True):
        row[0].set_ylabel(f"standardised value\nepsilon = 1, delta = {delta:g}")
        for axis, name in zip(row, names, strict=True):
            axis.set_xlabel("t")
            if not panel(axis, name, delta, curves, grid):
                axis.set_title(f"{name}:\nrefused", fontsize="small")
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main(*sys.argv[1:])
