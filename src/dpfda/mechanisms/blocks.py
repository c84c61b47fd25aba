"""Shared by the block families: the best scales of given blocks and their shrinkage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpfda.mechanisms.protocol import Design, Problem, wiener
from dpfda.noise import knorm_noise, knorm_targets, pure_budget
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
