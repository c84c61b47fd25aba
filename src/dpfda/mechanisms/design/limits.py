"""What no mechanism can expect to fall below: lower bounds for the expected error under a prior.

`least_error` is for mechanisms that protect in proportion: a move of the mean by h costs at most h / a
of what the largest move a costs. `least_error_of_any` asks for nothing but the guarantee. Both are
derived in docs/appendix/plans.md. For a prior that is a mixture of shapes and scales they are averaged,
as if these were known. Noise whose law does not depend on the data has one information matrix for all;
under pure privacy on the l2 ball `least_error` divides its trace once, and so holds for such noise
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpfda.mechanisms import Problem
from dpfda.noise import pure_budget
from dpfda.numerics.arrays import Floats
from dpfda.numerics.specials import normal_chance
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP

# Steps of the sum over groups; beyond, tests are taken to be free of error.
STEPS, CERTAIN = 400, 1e-18
SHIFTS = np.geomspace(0.02, 50.0, 200)
HALVINGS = 32
STEPS_OF_NEWTON, TINY = 12, 1e-300
# Shares u_j that are tried; each gives a bound.
TRIED = np.geomspace(1e-9, 1.0, 400)


def least_error(problem: Problem) -> float | None:
    """Lower bound for mechanisms that protect in proportion, in squared units of the data.

    Parameters
    ----------
    problem : Problem
        Public numbers.

    Returns
    -------
    float or None
        None under (epsilon, delta), and for boxes, ellipsoids and bounds on each coefficient (linf):
        there is no such bound here.

    Notes
    -----
    With bounds |x_k| <= h_k on values a gradient g, as a function on the grid, has sum_k w_k h_k
    |g(t_k)| <= n epsilon / 2, so g_j = <g, phi_j> is at most n epsilon / 2 times max_k |phi_j(t_k)| /
    h_k, whose square bounds I_jj. That lies far below what is known to be reached, because no trace
    enters.
    """
    if problem.body is not None or problem.ball.norm not in ("l1", "l2"):
        return None
    if isinstance(problem.guarantee, ApproximateDP):
        return None
    variances, chances = problem.belief.variances, problem.belief.chances
    step = problem.width / (float(problem.ball.radius) * problem.size)
    risks = [rule(variances, chances, budget / step**2) for rule, budget in _rules(problem)]
    return min(risks) * problem.radius**2


def least_error_of_any(problem: Problem) -> float | None:
    """Lower bound for all mechanisms with the guarantee, in squared units of the data.

    Parameters and returns as in `least_error`; bounds on values count as the ball around them, which
    their coefficients reach only in part: None there.
    """
    if problem.body is not None or problem.cube is not None or problem.ball.norm not in ("l1", "l2"):
        return None
    step = problem.width / (float(problem.ball.radius) * problem.size)
    variances, chances = problem.belief.variances, problem.belief.chances
    bounds = _ziv_zakai(variances, step, _error_chances(problem))
    if isinstance(problem.guarantee, ZeroConcentratedDP):
        bounds = np.maximum(bounds, _bobrovsky_zakai(variances, step, float(problem.guarantee.rho)))
    risks = bounds.sum(axis=1)
    if isinstance(problem.guarantee, PureDP) or (
        problem.ball.norm == "l2" and isinstance(problem.guarantee, ZeroConcentratedDP)
    ):
        rates = np.array([told_at_most(row[row > 0], step, problem) for row in variances])
        left = [distortion(row[row > 0], rate) for row, rate in zip(variances, rates, strict=True)]
        risks = np.maximum(risks, left)
    return float(chances @ risks) * problem.radius**2


def least_share_of_box(scales: Floats, epsilon: float) -> float:
    """Of the noise power of a box, what any pure mechanism has, if every mean is as likely as any other.

    Given an output, no mean has a density above 1 / V, with V = integral of exp(-epsilon ceil(|h|)) >=
    exp(-epsilon) M! times the product of 2 b_j, where |h| is at most one between neighbours: so it
    spreads at least as a ball of volume V does, by r^2 M / (M + 2). The box has the sum of b_j^2 times
    (M + 1) (M + 2) / 3.

    scales: array (M,) of b_j.
    """
    cells = scales.size
    volume = math.lgamma(cells + 1) + float(np.log(2 * scales).sum()) - epsilon
    ball = cells / 2 * math.log(math.pi) - math.lgamma(cells / 2 + 1)
    power = float(np.sum(scales**2)) * (cells + 1) * (cells + 2) / 3
    return math.exp(2 * (volume - ball) / cells) * cells / (cells + 2) / power


def told_at_most(variances: Floats, step: float, problem: Problem) -> float:
    """Most information that an output has about coefficients of these variances (K,)."""
    guarantee, shares = problem.guarantee, TRIED[:, None]
    if problem.ball.norm == "l2":
        shares = 1 / (1 + variances / variances.max() * (1 / shares - 1))
    spent = (shares**2 - shares - np.log(shares)) / 2
    squares = variances * (shares**2 + shares) / step**2
    steps = 1 + np.sqrt(squares.sum(axis=1))
    if isinstance(guarantee, ZeroConcentratedDP):
        return float(np.min(spent.sum(axis=1) + float(guarantee.rho) * steps**2))
    epsilon = float(guarantee.epsilon)
    if problem.ball.norm == "l1":
        return epsilon + float(np.sum(np.min(spent + epsilon * np.sqrt(2 / np.pi * squares), axis=0)))
    return float(np.min(spent.sum(axis=1) + np.minimum(epsilon * steps, (epsilon * steps) ** 2 / 2)))


def distortion(variances: Floats, rate: float) -> float:
    """Least sum of squared errors of normal numbers of which so much information is released."""
    low, high = np.log(variances.max()) - 2 * rate - 1, np.log(variances.max())
    for _ in range(HALVINGS):
        level = (low + high) / 2
        enough = np.maximum(np.log(variances) - level, 0).sum() / 2 > rate
        low, high = (level, high) if enough else (low, level)
    return float(np.minimum(variances, np.exp(low)).sum())


def _rules(problem: Problem) -> list[tuple[Callable[[Floats, Floats, float], float], float]]:
    """How information may be divided, and how much there is in units of 1 / a^2."""
    guarantee, rules = problem.guarantee, []
    if not isinstance(guarantee, ZeroConcentratedDP):
        epsilon = float(guarantee.epsilon)
    else:
        epsilon = float(pure_budget(guarantee))
        rules.append((_each, 2 * float(guarantee.rho)))
    if problem.cube is not None:
        reach = _reach(problem)
        return [*rules, (lambda rows, weights, budget: _each(rows, weights, budget * reach), epsilon**2)]
    return [*rules, (_each if problem.ball.norm == "l1" else _shared, epsilon**2)]


def _reach(problem: Problem) -> Floats:
    """Largest I_jj (K,) relative to that of the trace over the ball around the cube."""
    cube = problem.cube
    assert cube is not None  # noqa: S101
    widths = np.array(cube.half_widths, dtype=float) * 2.0**-cube.exponent
    # Rows of the basis on the grid; a coefficient that the problem lacks is not needed.
    values = np.abs(np.asarray(cube.functions, dtype=float))
    largest = np.max(values / widths[:, None], axis=0)
    return np.asarray((largest * problem.radius) ** 2)


def _each(variances: Floats, chances: Floats, information: float | Floats) -> float:
    """Average sum of risks with this information on every coefficient."""
    return float(chances @ np.sum(variances / (1 + variances * information), axis=1))


def _shared(variances: Floats, chances: Floats, information: float) -> float:
    """Least average sum of risks where the informations add up to a given sum, the same for all rows.

    Minimise sum_j r_j(i_j), r_j(i) = sum_h w_h / (i + 1 / p_hj), subject to sum_j i_j <= information.
    For any level theta >= 0 the dual sum_j min_i (r_j(i) + theta i) - theta information is a lower
    bound; the best level spends all the information. With one row this is water-filling.
    """
    inverse = np.divide(1.0, variances, out=np.full_like(variances, np.inf), where=variances > 0)

    def spent(level: float) -> Floats:
        """Informations (K,) at which the derivative of each risk is -level, or zero."""
        reached = np.zeros(inverse.shape[1])
        for _ in range(STEPS_OF_NEWTON):
            steep = 1 / (reached + inverse)
            squared = steep * steep
            slope = chances @ squared
            # slope^(-1/2) is a power mean of reached + inverse, concave: no step goes too far.
            step = (np.sqrt(slope / level) - 1) * slope / np.maximum(chances @ (squared * steep), TINY)
            reached += np.maximum(step, 0.0)
        return reached

    # Above the end nothing is spent; at the start each coefficient alone would spend more than all.
    end = math.log(float(np.max(chances @ variances**2)))
    start = min(end, -2 * math.log(information) - 60.0)
    for _ in range(HALVINGS):
        middle = (start + end) / 2
        if float(spent(math.exp(middle)).sum()) > information:
            start = middle
        else:
            end = middle
    level = math.exp(end)
    shares = spent(level)
    risks = float(np.sum(chances @ (1 / (shares + inverse))))
    return risks + level * (float(shares.sum()) - information)


def _error_chances(problem: Problem) -> Floats:
    """Least error probability (STEPS,) of a test between means k = 1, 2, ... steps apart."""
    guarantee, steps = problem.guarantee, np.arange(1.0, STEPS + 1)
    with np.errstate(over="ignore"):
        if isinstance(guarantee, ZeroConcentratedDP):
            return np.asarray((1 - np.sqrt(-np.expm1(-(steps**2) * float(guarantee.rho)))) / 2)
        epsilon = float(guarantee.epsilon)
        error = 1 / (1 + np.exp(steps * epsilon))
        if isinstance(guarantee, ApproximateDP):
            lost = float(guarantee.delta) * np.expm1(steps * epsilon) / np.expm1(epsilon)
            error *= np.maximum(1 - lost, 0.0)
    return np.asarray(error)


def _ziv_zakai(variances: Floats, step: float, errors: Floats) -> Floats:
    """Risk of each coefficient: sum over k of errors_k times the integral over ((k-1) a, k a].

    Where tests hardly err the sum stops: it stays a lower bound.

    The integral of 2 h Phi(-h / (2 p^(1/2))) up to h = 2 p^(1/2) x is 8 p A(x), with A(x) = x^2
    Phi(-x) / 2 + (Phi(x) - 1/2 - x phi(x)) / 2, which tends to 1/4: without a release the bound is p.
    """
    errors = errors[errors > CERTAIN]
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = step * np.arange(errors.size + 1.0) / (2 * np.sqrt(variances)[..., None])
    ends = np.where(np.isnan(ends), 0.0, np.minimum(ends, 40.0))
    density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
    beyond = normal_chance(-ends)
    areas = (ends**2 * beyond + 0.5 - beyond - ends * density) / 2
    return np.asarray(8 * variances * (np.diff(areas, axis=-1) @ errors))


def _bobrovsky_zakai(variances: Floats, step: float, rho: float) -> Floats:
    """Risk of each coefficient: the largest over shifts h of h^2 / (exp(2 rho k^2 + h^2 / p) - 1)."""
    best = np.zeros_like(variances)
    safe = np.where(variances > 0, variances, 1.0)
    for shift in np.concatenate([SHIFTS, np.arange(1.0, 9.0)]):
        for squares in ((shift * step) ** 2 * np.ones_like(safe), shift**2 * safe):
            steps = np.ceil(np.sqrt(squares) / step - 1e-12)
            with np.errstate(over="ignore"):
                bound = squares / np.expm1(2 * rho * steps**2 + squares / safe)
            best = np.maximum(best, bound)
    return np.asarray(np.where(variances > 0, best, 0.0))
