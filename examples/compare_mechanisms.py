"""All mechanisms on one data set at one guarantee, in one picture.

Run with: python examples/compare_mechanisms.py [--file CURVES.csv --bounds LO HI] [--out PICTURE.png]

The guarantee is (1, 1e-6)-differential privacy. Mechanisms that are pure give more: they are run at
epsilon = 1, delta = 0, and marked. Every mechanism gets the same bounds on values and the same kernel at
its own default tuning. A panel shows one release and, in its title, the root mean square distance to the
mean without noise over 400 simulated releases. That mean is drawn too: only for data that are public.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

from dpfda import Domain, PrivateMean
from dpfda.datasets import load_temperatures
from dpfda.errors import RefusedMechanismError
from dpfda.mechanisms import mechanisms
from dpfda.records.files import read_curves
from dpfda.testing import non_private_mean, simulate_releases

DRAWS = 400
COLUMNS = 5


def arguments() -> argparse.Namespace:
    """Which curves, which public bounds, which picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--file", help="wide table of curves, one a row (default: packaged temperatures)"
    )
    parser.add_argument("--bounds", type=float, nargs=2, default=(-10.0, 40.0), metavar=("LO", "HI"))
    parser.add_argument(
        "--label", default="temperature (degrees Celsius)", help="name and unit of values"
    )
    parser.add_argument("--out", default="compare_mechanisms.png")
    return parser.parse_args()


def curves_of(path: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Complete curves and their grid."""
    if path is None:
        days = load_temperatures()
        return days.values, days.grid_points
    table = read_curves(path)
    return table.data[np.isfinite(table.data).all(axis=1)], table.grid_points


def estimator(mechanism: str, delta: float, bounds: tuple[float, float], grid) -> PrivateMean:
    """The same bound, kernel and epsilon for every mechanism."""
    return PrivateMean(
        epsilon=1.0,
        delta=delta,
        bounds=tuple(bounds),
        basis="matern:50%:1.5",
        domain=Domain(grid),
        mechanism=mechanism,
    )


def released(mechanism: str, bounds: tuple[float, float], curves: np.ndarray, grid):
    """A release and its estimator: pure where the mechanism can be, approximate elsewhere."""
    for delta in (0.0, 1e-6):
        mean = estimator(mechanism, delta, bounds, grid)
        try:
            return mean.fit(curves).release_, mean, delta == 0
        except RefusedMechanismError:
            continue
    raise AssertionError(f"{mechanism} gives neither guarantee")


def main() -> None:
    """Draw every mechanism, best first."""
    given = arguments()
    curves, grid = curves_of(given.file)
    truth = non_private_mean(estimator("laplace", 0.0, given.bounds, grid), curves)
    panels = []
    for name in mechanisms():
        release, mean, pure = released(name, given.bounds, curves, grid)
        errors = np.asarray(simulate_releases(mean, curves, DRAWS, seed=1) - truth)
        panels.append((float(np.sqrt(np.mean(errors**2))), name, pure, release))
    panels.sort(key=lambda panel: panel[0])
    rows = -(-len(panels) // COLUMNS)
    figure, axes = plt.subplots(
        rows, COLUMNS, figsize=(13, 3 * rows), sharex=True, sharey=True, layout="constrained"
    )
    for axis, (error, name, pure, release) in zip(axes.flat, panels, strict=False):
        points = release.grid_points
        axis.plot(points, truth, color="black", linestyle="--", linewidth=1, label="without noise")
        axis.plot(points, release(points), color="C0", label="released")
        axis.set_title(f"{name}{' (pure)' if pure else ''}\nerror {error:.3g}", fontsize="medium")
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    axes.flat[0].legend(fontsize="small")
    figure.supxlabel("t (units of the grid)")
    figure.supylabel(given.label)
    span = np.ptp(truth)
    axes.flat[0].set_ylim(truth.min() - span, truth.max() + span)
    figure.savefig(given.out, dpi=90)


if __name__ == "__main__":
    main()
