"""Independent component Laplace process (ICLP), with the RKHS estimate or the l1 estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.protocol import (
    Design,
    Problem,
    check_penalty,
    kernel_scales,
    rkhs_shrinkage,
    smoothing_exponent,
)
from dpfda.noise import knorm_noise
from dpfda.numerics.errors import InfiniteSensitivityError


@dataclass(frozen=True)
class ICLP:
    """Laplace noise shaped like the kernel, on an estimate smoothed in its space.

    Released are the coefficients s_j cbar_j + b_j L_j, with s_j = lambda_j^eta / (lambda_j^eta +
    penalty), b_j = (Delta / epsilon) lambda_j^(1/2) and L_j standard Laplace, which is noise of scale
    b_j / s_j on the raw mean followed by the public factor s_j.

    **Guarantee.** Pure epsilon. Between neighbouring data sets the raw sum moves by d with |d| <= w in
    the l1 or l2 norm, so the log density ratio is at most sum_j |d_j| / B_j for scales B_j on the sum:
    w max_j 1/B_j (l1) or w (sum_j B_j^-2)^(1/2) (l2). The scales are set so that this is epsilon, which
    is the paper's Delta = sup sum_j s_j |d_j| / lambda_j^(1/2).

    The paper's Theorem 7 (sigma = Delta/epsilon with Laplace variables of variance one) falls short by
    sqrt(2); its Algorithm 1 and this code have sigma = sqrt(2) Delta/epsilon in those terms.

    Parameters
    ----------
    eta : float, optional
        Exponent of the penalised space; by default 1 + 1/a for eigenvalues like j^-a (Theorem 13), and
        1.25 where a is not known.
    penalty : float, optional
        Penalty, for eigenvalues scaled to sum one. By default the plug-in rule for records scaled to
        a bound of one: (n epsilon^2)^-eta on the l1 ball, (n epsilon^2)^-1 on the l2 ball.

    Raises
    ------
    InfiniteSensitivityError
        On `design`, if eta and penalty leave the summary outside the space where the noise can hide it.

    References
    ----------
    Lin & Reimherr (2023), Theorems 6, 7, 11, 13 and Algorithm 1; on the l2 ball the plug-in rule is
    the l2 one, because the theorem's proof uses the l1 sensitivity.

    Examples
    --------
    >>> ICLP(eta=1.25, penalty=1e-3).name
    'iclp'
    """

    eta: float | None = None
    penalty: float | None = None
    name: ClassVar[str] = "iclp"
    one_law: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Kernel-shaped Laplace scales and RKHS factors."""
        eta = smoothing_exponent(problem.decay, 1.25) if self.eta is None else float(self.eta)
        plugged = problem.signal ** -(eta if problem.norm == "l1" else 1.0)
        penalty = float(plugged if self.penalty is None else self.penalty)
        _check(problem, eta, penalty)
        shrinkage = rkhs_shrinkage(problem.eigenvalues, eta, penalty)
        # Scale b_j / s_j on the raw coefficients.
        relative = kernel_scales(problem.eigenvalues, eta, penalty)
        sizes = (1,) * problem.eigenvalues.size
        noise = knorm_noise(sizes, relative, problem.norm, problem.width, problem.guarantee)
        return Design(self.name, {"eta": eta, "penalty": penalty}, noise, np.asarray(shrinkage))


def _check(problem: Problem, eta: float, penalty: float) -> None:
    check_penalty(eta, penalty)
    if penalty == 0:
        raise InfiniteSensitivityError(
            "penalty",
            "be positive",
            "0",
            "Without a penalty, one record moves the mean infinitely far in the norm of the noise.",
            "Lin & Reimherr 2023, Theorem 6",
        )
    # Sum or supremum over j of lambda_j^(2 eta - 1): l2 ball or l1 ball.
    exponent = 2 * eta - 1
    slow = exponent == 0 or (problem.decay is not None and exponent * problem.decay <= 1)
    if exponent < 0 or (problem.norm == "l2" and slow):
        raise InfiniteSensitivityError(
            "eta",
            "be large enough for a finite sensitivity",
            f"{eta:g}",
            "The kernel power's trace diverges for these eigenvalues: increase eta (above 1 is safe).",
            "Lin & Reimherr 2023, Theorems 6 and 11",
        )


@dataclass(frozen=True)
class ICLPL1:
    """Kernel-shaped Laplace noise on a soft-thresholded mean.

    The estimate minimises |x - theta|^2 + penalty sum_j |theta_j| / lambda_j^(eta/2).

    It is cbar_j moved toward zero by penalty / (2 lambda_j^(eta/2)). Coefficients for which
    that exceeds the bound vanish for every data set; J is the last of the others, and only j <= J
    are released.

    **Guarantee.** Pure epsilon. Thresholding is done on the exact integer sum with integer
    thresholds. It moves no two values apart, so the thresholded sum differs between neighbours by
    d' with |d'_j| <= |d_j|, and the loss of noise of scales B_j is at most w max_j 1/B_j (l1 ball)
    or w (sum_{j<=J} B_j^-2)^(1/2) (l2 ball).

    The printed statement reverses the inequality that defines J and drops a 2, which can make J too
    small: then coefficients that are not zero are left out of the sensitivity.

    Parameters
    ----------
    eta : float, optional
        Exponent of the penalty; by default 2 + 2/a for eigenvalues like j^-a, 2.5 where a is not known.
    penalty : float, optional
        Penalty, for eigenvalues scaled to sum one and records scaled to a bound of one; by default
        2 / (n epsilon^2).

    References
    ----------
    Lin & Reimherr (2023), Theorems 9 and 13, corrected as said.

    Examples
    --------
    >>> ICLPL1(penalty=1e-3).name
    'iclp-l1'
    """

    eta: float | None = None
    penalty: float | None = None
    name: ClassVar[str] = "iclp-l1"
    one_law: ClassVar[bool] = True

    def design(self, problem: Problem) -> Design:
        """Integer thresholds, kernel-shaped scales, no shrinkage."""
        # 2 + 2 / a, twice that of the smoothed estimate.
        eta = 2 * smoothing_exponent(problem.decay, 1.25) if self.eta is None else float(self.eta)
        penalty = 2 / problem.signal if self.penalty is None else float(self.penalty)
        check_penalty(eta, penalty, positive=True)
        levels = penalty / (2 * problem.eigenvalues ** (eta / 2))
        count = max(1, int(np.sum(levels < 1)))
        sizes = (1,) * count
        relative = np.sqrt(problem.eigenvalues[:count])
        noise = knorm_noise(sizes, relative, problem.norm, problem.width, problem.guarantee)
        largest = problem.ball.radius * problem.size
        thresholds = tuple(math.floor(min(float(level), 1.0) * largest) for level in levels[:count])
        parameters = {"eta": eta, "penalty": penalty, "components": count}
        return Design(self.name, parameters, noise, np.ones(count), thresholds)
