"""Independent component Laplace process (ICLP) with the l1 estimate: soft thresholding, then noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.protocol import Design, Problem, check_penalty, smoothing_exponent
from dpfda.noise import knorm_noise


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
        kept = max(1, int(np.sum(levels < 1)))
        sizes = (1,) * kept
        relative = np.sqrt(problem.eigenvalues[:kept])
        noise = knorm_noise(sizes, relative, problem.norm, problem.width, problem.guarantee)
        largest = problem.ball.radius * problem.size
        thresholds = tuple(math.floor(min(float(level), 1.0) * largest) for level in levels[:kept])
        parameters = {"eta": eta, "penalty": penalty, "components": kept}
        return Design(self.name, parameters, noise, np.ones(kept), thresholds)
