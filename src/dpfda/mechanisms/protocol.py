"""The public problem that a mechanism sees, and the design that it answers with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bounds import Bound, Cube, IntegerBall
from dpfda.errors import ParameterError
from dpfda.guarantees import Guarantee, Neighbours, ZeroConcentratedDP
from dpfda.noise import NoiseLaw

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Public numbers from which a mechanism designs its noise. No data, ever.

    Parameters
    ----------
    variances : array (K,)
        Relative prior variances of the coefficients, decreasing.
    decay : float or None
        Exponent a in variances ~ j^-a, where known.
    ball : IntegerBall
        Where every record's integer coefficients lie.
    size : int
        Number of privacy units: public, or already released with noise.
    guarantee : Guarantee
        What the noise must give.
    neighbours : Neighbours
        For which pairs of data sets.
    cube : Cube, optional
        For bounds on values, a smaller body: every record's coefficients are B x for integers x on the
        grid with |x_k| <= h_k. None where no more is known than the ball.
    """

    variances: Floats
    decay: float | None
    ball: IntegerBall
    size: int
    guarantee: Guarantee
    neighbours: Neighbours
    cube: Cube | None = None

    @property
    def width(self) -> int:
        """Norm by which neighbouring integer sums differ at most."""
        return self.neighbours.differences(self.ball.radius)

    @cached_property
    def eigenvalues(self) -> Floats:
        """Prior variances scaled to sum one, as the plug-in rules want them."""
        return np.asarray(self.variances / self.variances.sum())

    @cached_property
    def prior(self) -> Floats:
        """Prior E mu_j^2 of the mean, in units of the squared radius.

        l2 ball: sum_j E mu_j^2 = 1. l1 ball: sum_j (E mu_j^2)^(1/2) = 1. linf ball: average one.
        """
        if self.ball.norm == "linf":
            return np.asarray(self.eigenvalues * self.variances.size)
        if self.ball.norm == "l1":
            return np.asarray(self.eigenvalues / np.sqrt(self.eigenvalues).sum() ** 2)
        return self.eigenvalues

    def noise_power(self, variances: Floats) -> Floats:
        """Grid-unit variances on the sum, as variances on the mean in units of squared radius."""
        return np.asarray(variances / (float(self.ball.radius) * self.size) ** 2)

    @property
    def signal(self) -> float:
        """The n epsilon^2 of the plug-in rules, with rho read as epsilon^2 / 2."""
        guarantee = self.guarantee
        if isinstance(guarantee, ZeroConcentratedDP):
            return self.size * 2 * float(guarantee.rho)
        return self.size * float(guarantee.epsilon) ** 2


@dataclass(frozen=True, eq=False)
class Design:
    """What a mechanism chose: noise on the integer sum, then public shrinkage.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    parameters : mapping
        Its public tuning, as numbers and words.
    noise : NoiseLaw
        Calibrated law, on the leading components.
    shrinkage : array (M,)
        Factors in [0, 1] applied to the noisy coefficients: post-processing.
    thresholds : tuple of int
        Soft thresholds of the exact sum before the noise, in grid units; empty for none.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    noise: NoiseLaw
    shrinkage: Floats
    thresholds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        count = self.noise.components
        shrinkage = np.asarray(self.shrinkage, dtype=np.float64)
        if shrinkage.shape != (count,) or not np.all(np.isfinite(shrinkage)):
            raise ParameterError(
                "shrinkage", f"be {count} finite factors", f"an array of shape {shrinkage.shape}"
            )
        if self.thresholds and (
            len(self.thresholds) != count
            or any(type(level) is not int or level < 0 for level in self.thresholds)
        ):
            # A negative level would move values apart and so raise the sensitivity.
            raise ParameterError("thresholds", f"be {count} integers of at least 0", "others")

    @property
    def components(self) -> int:
        """Number of coefficients that are released."""
        return self.noise.components


class Mechanism(Protocol):
    """Chooses noise for a public problem."""

    name: ClassVar[str]

    def design(self, problem: Problem) -> Design:
        """Calibrated noise and shrinkage.

        Raises
        ------
        RefusedMechanismError
            If the mechanism cannot give the guarantee asked for.
        """


@runtime_checkable
class AdaptingMechanism(Mechanism, Protocol):
    """A mechanism that replaces the basis or the form of the bound before records are embedded."""

    def adapt(
        self,
        basis: Basis,
        bound: Bound,
        size: int | None,
        guarantee: Guarantee,
        neighbours: Neighbours,
    ) -> tuple[Basis, Bound]:
        """The basis and the bound that the mechanism works with, from public numbers.

        It leaves what it has adapted as it is, and keeps the grid, its weights and the domain. `size` is
        None where the number of units is private.

        Raises
        ------
        ParameterError
            If the bound does not suit the mechanism.
        """


def wiener(prior: Floats, power: Floats) -> Floats:
    """Shrinkage that minimises the expected squared error: prior / (prior + noise)."""
    return np.asarray(prior / (prior + power))


def rkhs_shrinkage(eigenvalues: Floats, eta: float, psi: float) -> Floats:
    """Factors of the minimiser of |x - theta|^2 + psi |theta|^2 in the space of C^eta.

    Lin & Reimherr, Theorem 11: lambda^eta / (lambda^eta + psi).
    """
    power = eigenvalues**eta
    return np.asarray(power / (power + psi))


def smoothing_exponent(decay: float | None, default: float) -> float:
    """eta_r = 1 + 1/(2 nu) for lambda_j ~ j^(-2 nu) (Lin & Reimherr, Theorem 13)."""
    if decay is None:
        return default
    return 1.0 if math.isinf(decay) else 1.0 + 1.0 / decay
