"""Gaussian noise: equal on all raw coefficients, or a Gaussian process shaped like the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.bodies import gaussian_design
from dpfda.mechanisms.protocol import (
    Design,
    Problem,
    check_penalty,
    kernel_scales,
    rkhs_shrinkage,
    smoothing_exponent,
)
from dpfda.noise import gaussian_noise
from dpfda.numerics.errors import InfiniteSensitivityError
from dpfda.privacy.guarantees import PureDP


@dataclass(frozen=True)
class Gaussian:
    """Equal normal noise on all raw coefficients, then shrinkage.

    **Guarantee.** (epsilon, delta) or rho-zCDP. Neighbouring sums differ by d with |d|_2 <= w, and
    noise of deviation sigma has the exact profile of Balle & Wang at mu = w / sigma. On l1 and l2 balls
    no other shape of Gaussian noise has a smaller error after the same shrinkage. On a box or an
    ellipsoid mu is the largest Cameron-Martin length of a difference; the shape is the best one there.

    Parameters
    ----------
    calibration : {"exact", "classical"}
        Exact profile, or the classical rule, which is refused beyond epsilon = 1.

    References
    ----------
    Balle & Wang (2018), Theorem 8; Mirshani, Reimherr & Slavkovic (2019), Theorem 3.3.

    Examples
    --------
    >>> Gaussian().calibration
    'exact'
    """

    calibration: str = "exact"
    name: ClassVar[str] = "gaussian"
    one_law: ClassVar[bool] = True
    takes_bodies: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Equal scales (on a box or an ellipsoid matched ones) and Wiener shrinkage."""
        if problem.body is not None:
            return gaussian_design(problem, self.name, self.calibration)
        shape = np.ones(problem.prior.size)
        noise = gaussian_noise(shape, problem.width, problem.guarantee, self.calibration)
        return Design.shrunk(problem, self.name, {"calibration": self.calibration}, noise)

    def candidates(self, problem: Problem, error: Callable[[Design], float]) -> Iterator[Design]:
        """Its design, wherever privacy is not pure."""
        if not isinstance(problem.guarantee, PureDP):
            yield self.design(problem)


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process with the kernel's covariance, on an estimate smoothed in its space.

    **Guarantee.** (epsilon, delta) or rho-zCDP for the whole path. The sensitivity in the
    Cameron-Martin norm of the noise is Delta = w max_j s_j lambda_j^(-1/2) for |d|_2 <= w between
    neighbours, with s_j = lambda_j^eta / (lambda_j^eta + penalty); the noise is calibrated to it.

    Parameters
    ----------
    eta : float, optional
        Exponent of the penalised space; by default 1 + 1/a for eigenvalues like j^-a, 1 where
        a is not known.
    penalty : float, optional
        Penalty, for eigenvalues scaled to sum one; by default (n epsilon^2)^-1.
    calibration : {"exact", "classical"}
        As in `Gaussian`.

    Raises
    ------
    InfiniteSensitivityError
        On `design`, if the summary is not in the Cameron-Martin space of the noise.

    References
    ----------
    Mirshani, Reimherr & Slavkovic (2019), Theorems 3.1, 3.3 and 4.1.

    Examples
    --------
    >>> GaussianProcess(penalty=0.01).name
    'gaussian-process'
    """

    eta: float | None = None
    penalty: float | None = None
    calibration: str = "exact"
    name: ClassVar[str] = "gaussian-process"
    one_law: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Kernel-shaped scales and RKHS factors."""
        eta = smoothing_exponent(problem.decay, 1.0) if self.eta is None else float(self.eta)
        penalty = 1 / problem.signal if self.penalty is None else float(self.penalty)
        check_penalty(eta, penalty)
        if penalty == 0 or eta < 0.5:
            raise InfiniteSensitivityError(
                "eta and penalty",
                "put the summary into the Cameron-Martin space of the noise (penalty > 0, eta >= 1/2)",
                f"eta={eta:g}, penalty={penalty:g}",
                "Outside it no scale of this noise gives any guarantee.",
                "Mirshani, Reimherr & Slavkovic 2019, Theorem 3.1",
            )
        relative = kernel_scales(problem.eigenvalues, eta, penalty)
        noise = gaussian_noise(relative, problem.width, problem.guarantee, self.calibration)
        parameters = {"eta": eta, "penalty": penalty, "calibration": self.calibration}
        return Design(self.name, parameters, noise, rkhs_shrinkage(problem.eigenvalues, eta, penalty))
