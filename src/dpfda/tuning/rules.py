"""Plug-in rules: the exponent and the penalty of a smoothed mean from public numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, length, real, shown, whole
from dpfda.privacy.guarantees import budget


@dataclass(frozen=True)
class PlugIn:
    """Tuning of a smoothed mean.

    Parameters
    ----------
    eta : float
        Exponent of the penalised space.
    penalty : float
        Penalty, for eigenvalues scaled to sum one.
    """

    eta: float
    penalty: float


def matern_decay(smoothness: float, dimension: int = 1) -> float:
    """Exponent a of lambda_j ~ j^-a for a Matern kernel: (2 alpha + d) / d.

    Parameters
    ----------
    smoothness : float
        Smoothness alpha of the kernel (1.5 for Matern 3/2), positive; infinity for the Gaussian kernel.
    dimension : int
        Dimension d of the domain.

    Raises
    ------
    ParameterError
        If either is not positive.

    Examples
    --------
    >>> matern_decay(1.5)
    4.0
    """
    alpha = real(smoothness, "smoothness", -math.inf, math.inf, "be positive")
    if not alpha > 0:
        raise ParameterError("smoothness", "be positive", shown(smoothness))
    axes = _positive(dimension, "dimension")
    return (2 * alpha + axes) / axes


def plug_in(
    size: int,
    epsilon: object,
    *,
    decay: float,
    radius: float = 1.0,
    norm: Literal["l1", "l2"] = "l2",
    estimate: Literal["rkhs", "l1"] = "rkhs",
) -> PlugIn:
    """Exponent and penalty for which the privacy noise costs no more than the sampling error's order.

    With t = radius^2 / (n epsilon^2) and lambda_j ~ j^-a:

    ========  ========  =========  =================
    estimate  norm      eta        penalty
    ========  ========  =========  =================
    rkhs      l1 ball   1 + 1/a    t^eta
    rkhs      l2 ball   1 + 1/a    t
    l1        either    2 + 2/a    2 radius t
    ========  ========  =========  =================

    Parameters
    ----------
    size : int
        Number n of privacy units. Public.
    epsilon : number or text
        Privacy loss; for rho-zero-concentrated privacy the root of 2 rho.
    decay : float
        Exponent a above 1 of the kernel's eigenvalues; see `matern_decay` and `KernelBasis.decay`.
    radius : float
        Public bound on a record in `norm`, in units in which the kernel's eigenvalues sum to one. The
        mechanisms scale records to a bound of one: keep 1 for their `penalty`.
    norm : {"l1", "l2"}
        Of the bound, on the coefficients.
    estimate : {"rkhs", "l1"}
        Factors lambda^eta / (lambda^eta + penalty), or soft thresholds penalty / (2 lambda^(eta/2)).

    Returns
    -------
    PlugIn

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Notes
    -----
    Nothing is read from data, so the rule costs no privacy.

    Lin & Reimherr (2023), Theorem 13, with its slips corrected. The theorem is stated for an l2 bound,
    but its proof uses the l1 sensitivity: on the l2 ball the penalty of the l1 ball lets n times the
    noise grow like n^(1/4) for Matern 3/2. For the l1 estimate it prints penalty = radius / n and
    2 + 4/a, which belong to a sensitivity with the exponent eta/2 in the place of 1/2.

    Examples
    --------
    >>> plug_in(400, 0.5, decay=matern_decay(1.5))
    PlugIn(eta=1.25, penalty=0.01)
    """
    signal = _positive(size, "size") * float(budget(epsilon).epsilon) ** 2
    words = "exceed 1, so that the eigenvalues have a sum"
    given, decay = decay, real(decay, "decay", -math.inf, math.inf, words)
    if not decay > 1:
        raise ParameterError(
            "decay", words, shown(given), "A Matern kernel has matern_decay(smoothness, dimension)."
        )
    radius = length(radius, "radius")
    choice(norm, "norm", ("l1", "l2"))
    choice(estimate, "estimate", ("rkhs", "l1"))
    level = float(radius) ** 2 / signal
    if estimate == "rkhs":
        eta = 1 + 1 / float(decay)
        return PlugIn(eta, level**eta if norm == "l1" else level)
    return PlugIn(2 + 2 / float(decay), 2 * float(radius) * level)


def _positive(value: object, name: str) -> int:
    return whole(value, name, words="be a positive integer")
