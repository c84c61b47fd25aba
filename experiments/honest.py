"""The honest column of Table 2: the library's mechanisms, with nothing read from the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivateMean, Reading
from dpfda.bases import KernelBasis
from dpfda.testing import non_private_mean, simulate_releases
from experiments.common import Floats
from experiments.recipe import RANGE, SMOOTHNESS

# Standardised values are in units of their own standard deviation. Four is a round number that
# somebody who has not seen the curves might name; values beyond it are clipped.
VALUE_BOUNDS = (-4.0, 4.0)
POSTERIOR_DRAWS = 20_000

MECHANISMS = {
    "iid_laplace": "iid-laplace",
    "bernstein": "bernstein",
    "iclp_l1": "iclp-l1",
    "iclp_rkhs": "iclp",
    "auto": "auto",
}


@cache
def basis_of(kernel: str, points: int) -> KernelBasis:
    """The library's eigenbasis on equally spaced points of [0, 1], made once for all cells."""
    return KernelBasis.on_grid(Matern(RANGE, nu=SMOOTHNESS[kernel]), np.linspace(0, 1, points))


@dataclass(frozen=True, eq=False)
class Honest:
    """One release of the library and the mean it should be near.

    Parameters
    ----------
    estimator : PrivateMean
    curves : array (n, m)
        Raw curves, NaN where missing.
    """

    estimator: PrivateMean
    curves: Floats

    @classmethod
    def of(cls, curves: Floats, kernel: str, mechanism: str, epsilon: float) -> Honest:
        """Standardised curves: the l2 bound 1 holds by construction; Bernstein wants value bounds.

        No curve is dropped: a gap is interpolated within its curve, so n is the public number of
        curves.
        """
        estimator = PrivateMean(
            epsilon,
            reading=Reading(standardize=True, missing="complete"),
            bounds=VALUE_BOUNDS if mechanism == "bernstein" else None,
            basis=basis_of(kernel, curves.shape[1]),
            mechanism=MECHANISMS[mechanism],
        )
        return cls(estimator, curves)

    @property
    def weights(self) -> Floats:
        """Equal weights 1/m of the distance, as the printed numbers have.

        The library's own are trapezoid weights, under which the ends, where errors are largest, count
        half: with them the columns of one table could not be compared.
        """
        points = self.curves.shape[1]
        return np.full(points, 1 / points)

    def distances(self, target: Floats, draws: int, seed: int) -> Floats:
        """Squared distances (draws,) of simulated releases to the target."""
        released = np.asarray(simulate_releases(self.estimator, self.curves, draws, seed))
        return np.asarray((released - target) ** 2 @ self.weights)

    def expected(self, target: Floats, seed: int) -> float:
        """Expected squared distance in closed form, from the design's variances.

        The library's choice ends in a posterior mean, which has none: simulated from a seed.
        """
        if self.estimator.mechanism == "auto":
            return float(self.distances(target, POSTERIOR_DRAWS, seed).mean())
        prepared = self.estimator.prepare(self.curves)
        request = prepared.plan
        size = int(self.curves.shape[0])
        design = request.design(size)
        functions = request.basis.evaluate(request.basis.grid_points)[:, : design.components]
        # The mean of what was clipped, in the released coefficients; `threshold` as the mechanism does.
        exact = np.array(prepared.total._total, dtype=float)[: design.components]
        if design.thresholds:
            levels = np.array(design.thresholds, dtype=float)
            exact = np.sign(exact) * np.maximum(np.abs(exact) - levels, 0.0)
        scale = design.shrinkage * request.ball.step / size
        center = request.bound.center_on(request.basis.grid_points)
        bias = self.weights @ (center + functions @ (scale * exact) - target) ** 2
        powers = functions.T**2 @ self.weights
        return float(bias + np.sum(scale**2 * design.noise.variances() * powers))


def target_mean(curves: Floats) -> Floats:
    """Mean of the standardised, completed curves: what the releases should be near."""
    # Laplace noise on all components, so that no component of the mean is cut off.
    every = PrivateMean(1.0, reading=Reading(standardize=True, missing="complete"), mechanism="laplace")
    return np.asarray(non_private_mean(every, curves))
