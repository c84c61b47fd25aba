"""Shared by the families: their best noise on blocks, and where sums differ by a box or an ellipsoid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dpfda.bounds import BodyNorm
from dpfda.mechanisms.protocol import Design, Problem, wiener
from dpfda.noise import (
    GaussianNoise,
    KNormNoise,
    NoiseLaw,
    block_lengths,
    body_noise,
    gaussian_on_body,
    knorm_noise,
    knorm_targets,
    laplace_on_body,
    pure_budget,
)
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError

ROUNDS = 8


def block_design(
    problem: Problem,
    sizes: Sequence[int],
    mechanism: str,
    parameters: Mapping[str, object],
    equal: bool = False,
    shrink: bool = True,
) -> Design:
    """Scales for consecutive blocks and Wiener shrinkage for those scales.

    For factors s_B the expected noise sum_B s_B^2 c_B^2 M_B (M_B + 1) is smallest, at a given loss,
    for c_B^2 ~ 1 / (s_B (M_B (M_B + 1))^(1/2)) on the l2 ball and for equal c_B on the l1 ball (where
    the loss is that of the smallest scale). The factors depend on the scales in turn; a few rounds of
    one after the other settle both. Any scales are private, so nothing rests on convergence.
    """
    blocks = np.asarray(sizes, dtype=np.int64)
    components = int(blocks.sum())
    if components > problem.prior.size:
        raise ParameterError(
            "block sizes", f"add up to at most {problem.prior.size} components", f"{components}"
        )
    prior = problem.prior[:components]
    relative = np.ones(blocks.size)
    if not equal and blocks.size > 1 and problem.norm == "l2":
        relative = _matched(problem, blocks, prior)
    noise = knorm_noise(sizes, relative, problem.norm, problem.width, problem.guarantee)
    factors = problem.shrinkage(noise) if shrink else np.ones(components)
    return Design(mechanism, parameters, noise, factors)


def _matched(problem: Problem, blocks: Integers, prior: Floats) -> Floats:
    epsilon = float(pure_budget(problem.guarantee, blocks.tolist()))
    relative = np.ones(blocks.size)
    for _ in range(ROUNDS):
        scales = knorm_targets(blocks.tolist(), relative, problem.norm, problem.width, epsilon)
        variances = np.repeat(scales**2 * (blocks + 1.0), blocks)
        relative = _best_scales(wiener(prior, problem.noise_power(variances)), blocks)
    return relative


def _best_scales(shrinkage: Floats, blocks: Integers) -> Floats:
    starts = np.concatenate([[0], np.cumsum(blocks)[:-1]])
    factors = np.maximum.reduceat(shrinkage, starts)
    # A floor keeps the scale of blocks that are shrunk to nothing finite.
    factors = np.maximum(factors, 1e-12)
    return np.asarray((factors * np.sqrt(blocks * (blocks + 1.0))) ** -0.5)


# Shrinkage below this no longer widens the noise of a coefficient that is shrunk to nothing.
FLOOR = 1e-12


def knorm_on_body(
    problem: Problem, mechanism: str, parameters: Mapping[str, object], components: int | None
) -> Design:
    """K-norm noise of the body itself on the leading coefficients, then Wiener shrinkage.

    On M coefficients a box gives coefficient j the variance (w_j / epsilon)^2 (M + 1)(M + 2) / 3, an
    ellipsoid (w_j / r)^2 (M + 1), where r is epsilon or, with a delta, longer. By default M has the
    least expected error.
    """
    kind, sizes = _body(problem)
    unit = problem.noise_power(np.array(sizes, dtype=np.float64) ** 2)
    if kind == "box":
        lengths = np.full(len(sizes), float(pure_budget(problem.guarantee)))
    else:
        lengths = block_lengths(problem.guarantee, len(sizes))
    prior = problem.prior

    def risk(count: int) -> float:
        power = unit[:count] * _growth(kind, count) / lengths[count - 1] ** 2
        return float(np.sum(wiener(prior[:count], power) * power) + prior[count:].sum())

    count = components or min(range(1, len(sizes) + 1), key=risk)
    if count > len(sizes):
        raise ParameterError("block sizes", f"add up to at most {len(sizes)} components", f"{count}")
    noise = body_noise(kind, sizes[:count], problem.guarantee)
    return Design.shrunk(problem, mechanism, {**parameters, "block_sizes": [count]}, noise)


def laplace_design(
    problem: Problem, mechanism: str, parameters: Mapping[str, object], count: int, matched: bool
) -> Design:
    """Independent Laplace noise on a body; matched scales go like (w / s^2)^(1/3) or (w / s)^(1/2).

    With factors s_j, sum_j s_j^2 c_j^2 is least at a given loss, sum_j w_j / c_j on a box, the root of
    sum_j w_j^2 / c_j^2 on an ellipsoid.
    """
    kind, sizes = _body(problem)
    count = min(count, len(sizes))
    widths = np.array(sizes[:count], dtype=np.float64)

    def noise(relative: Floats) -> KNormNoise:
        return laplace_on_body(relative, kind, sizes[:count], problem.guarantee)

    def best(factors: Floats) -> Floats:
        return np.asarray(np.cbrt(widths / factors**2) if kind == "box" else np.sqrt(widths / factors))

    law = _settled(problem, count, noise, best) if matched else noise(np.ones(count))
    return Design.shrunk(problem, mechanism, {**parameters, "components": count}, law)


def gaussian_design(problem: Problem, mechanism: str, calibration: str) -> Design:
    """Gaussian noise on a body: deviations like (w / s)^(1/2) on a box, like w on an ellipsoid."""
    kind, sizes = _body(problem)
    widths = np.array(sizes, dtype=np.float64)

    def noise(relative: Floats) -> GaussianNoise:
        return gaussian_on_body(relative, kind, sizes, problem.guarantee, calibration)

    law = (
        _settled(problem, len(sizes), noise, lambda factors: np.sqrt(widths / factors))
        if kind == "box"
        else noise(widths)
    )
    return Design.shrunk(problem, mechanism, {"calibration": calibration}, law)


def _body(problem: Problem) -> tuple[BodyNorm, tuple[int, ...]]:
    if problem.body is None:
        raise ParameterError("bounds", "be a box or an ellipsoid", problem.norm)
    return problem.body


def _growth(kind: BodyNorm, count: int) -> float:
    return (count + 1) * (count + 2) / 3 if kind == "box" else count + 1.0


def _settled(
    problem: Problem, count: int, noise: Callable[[Floats], NoiseLaw], best: Callable[[Floats], Floats]
) -> NoiseLaw:
    """Scales and shrinkage in turn, a few rounds; any scales are private."""
    law = noise(np.ones(count))
    for _ in range(ROUNDS):
        law = noise(best(np.maximum(problem.shrinkage(law), FLOOR)))
    return law
