"""Simulated curves of Lin & Reimherr (2023), section 6.1, and releases of their mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.stats import norm

from dpfda.bases import KernelBasis
from dpfda.bounds import Bound, L1Ball, L2Ball, ValueBounds
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import adapted, choose
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.testing import released_coefficients
from dpfda.testing.contracts import make_problem
from experiments.common import Floats, Options, shown
from experiments.honest import MECHANISMS, basis_of
from experiments.recipe import Sample, eigenpairs

POINTS = 100
KERNEL = "matern32"
GRID = np.linspace(0.001, 0.999, POINTS)
SIZES = (100, 200, 500, 1000, 2000, 5000)
EPSILON = 1.0
# Public numbers of the honest column, the same for all scenarios: every curve of S-1 to S-3 is within
# |mean| + 2 (sum j^-4)^(1/2) < 5.
RADIUS = 6.0
VALUES = (-12.0, 12.0)
POSTERIOR_DRAWS = 200
# A second public bound, on the sum of the absolute coefficients.
L1_RADII = {"matern32": 20.0, "matern52": 25.0}


def _bump(center: float, width: float) -> Floats:
    return np.asarray(norm.pdf(GRID, center, width))


def scenario_4(generator: np.random.Generator, kernel: str) -> Floats:
    """Random coefficients, uniform on [-1, 1], on 25 eigenfunctions."""
    return np.asarray(generator.uniform(-1, 1, 25) @ eigenpairs(kernel, GRID)[1][:25])


SCENARIOS: dict[str, Callable[[np.random.Generator, str], Floats]] = {
    "S-1": lambda *_: 10 * GRID * np.exp(-GRID),
    "S-2": lambda *_: 0.3 * _bump(0.3, 0.05) + 0.7 * _bump(0.8, 0.05),
    "S-3": lambda *_: (
        0.2 * (_bump(0, 0.03) + _bump(0.2, 0.05) + _bump(0.5, 0.05) - _bump(0.75, 0.03) + _bump(1, 0.03))
    ),
    "S-4": scenario_4,
}


def curves_around(
    mean: Floats, size: int, generator: np.random.Generator, kernel: str = KERNEL
) -> Sample:
    """X_i = mean + sum_j j^-2 U_ij phi_j, U uniform on [-2, 2]; no standardisation is mentioned."""
    _, functions = eigenpairs(kernel, GRID)
    uniforms = generator.uniform(-2, 2, (size, POINTS))
    return Sample(mean + uniforms * np.arange(1.0, POINTS + 1) ** -2 @ functions, GRID)


@dataclass(frozen=True, eq=False)
class Summary:
    """What a recipe reads from a sample, for a part of it: the mean of the part, the bounds of all."""

    mean: Floats
    size: int
    l2_bound: float
    l1: float
    grid: Floats

    @cached_property
    def weights(self) -> Floats:
        """Equal weights, as in `Sample`."""
        return np.full(self.grid.size, 1 / self.grid.size)

    def l1_bound(self, functions: Floats) -> float:
        """The bound of the whole sample."""
        del functions
        return self.l1


def summary_of(sample: Sample, kernel: str = KERNEL) -> Summary:
    """What a recipe reads from a whole sample."""
    l1 = sample.l1_bound(eigenpairs(kernel, sample.grid)[1])
    return Summary(sample.mean, sample.size, sample.l2_bound, l1, sample.grid)


def truncations(size: int) -> tuple[list[int], list[int]]:
    """Numbers of components for cross-validation (three more on both sides) and for the plug-in.

    The paper does not print the set. Taken here: from n^(1/4), which gives the 4 of Table 2, to n^(1/3),
    where noise of scale M reaches the order 1/n.
    """
    low, high = int(size**0.25), int(round(size ** (1 / 3), 9))
    return list(range(max(1, low - 3), high + 4)), list(range(low, max(low, high) + 1))


def honest_error(
    sample: Sample,
    target: Floats,
    mechanism: str,
    kernel: str = KERNEL,
    epsilon: float = EPSILON,
    *,
    generator: np.random.Generator,
    draws: int = POSTERIOR_DRAWS,
) -> float:
    """Expected squared distance of the library's release to the target, exact given the curves.

    For the library's choice, which ends in a posterior mean, over simulated noise.

    The design is the library's. The bounds are so wide that hardly any curve is clipped; curves beyond
    the l2 bound, or values beyond the value bounds, are, and a curve beyond the l1 bound is an error.

    Parameters
    ----------
    sample : Sample
    target : array (m,)
    mechanism : str
        One of `MECHANISMS`, or "auto_l1" for the library's choice with the l1 bound.
    kernel : {"matern32", "matern52"}
    epsilon : float
    generator : Generator
        Source of that noise.
    draws : int
        Number of its draws: few are enough where many samples are averaged.
    """
    basis: KernelBasis = basis_of(kernel, POINTS)
    name = MECHANISMS.get(mechanism, "auto")
    bounds: dict[str, Bound] = {"bernstein": ValueBounds(*VALUES), "auto_l1": L1Ball(L1_RADII[kernel])}
    bound = bounds.get(mechanism, L2Ball(RADIUS))
    used, set_, problem, design = _designed(name, kernel, bound, sample.size, epsilon)
    center = set_.center_on(basis.grid_points)
    values = _clipped(set_.restrict(sample.curves, basis.grid_points), set_, basis)
    exact = (values.mean(axis=0) @ used.analysis)[: design.components]
    unit = problem.ball.step / sample.size
    if design.thresholds:
        levels = np.array(design.thresholds, dtype=float) * unit
        exact = np.sign(exact) * np.maximum(np.abs(exact) - levels, 0.0)
    functions = used.evaluate(basis.grid_points)[:, : design.components]
    if design.hierarchy is not None:
        # A posterior mean has no closed form: averaged over simulated noise.
        noise = design.noise.simulate(generator, draws) * unit
        released = center + released_coefficients(design, exact + noise, unit) @ functions.T
        return float(np.mean((released - target) ** 2 @ basis.weights))
    bias = basis.weights @ (center + functions @ (design.shrinkage * exact) - target) ** 2
    power = (design.shrinkage * unit) ** 2 * design.noise.variances()
    return float(bias + power @ (functions.T**2 @ basis.weights))


@cache
def _designed(
    name: str, kernel: str, bound: Bound, size: int, epsilon: float
) -> tuple[Any, Bound, Problem, Design]:
    """What the library would do, made once for all samples of a size: it reads no data."""
    guarantee, relation = PureDP(epsilon), Neighbours.REPLACE_ONE
    used, set_ = adapted(name, basis_of(kernel, POINTS), bound, size, guarantee, relation)
    problem = make_problem(used, set_, size, guarantee, relation)
    return used, set_, problem, choose(problem, name)


def _clipped(values: Floats, bound: Bound, basis: KernelBasis) -> Floats:
    if isinstance(bound, L1Ball):
        if np.abs(values @ basis.analysis).sum(axis=1).max() > bound.radius:
            raise ValueError("a curve lies beyond the l1 bound, where this study does not clip")
        return values
    if isinstance(bound, L2Ball):
        lengths = np.sqrt(values**2 @ basis.weights)
        return values * np.minimum(1, RADIUS / lengths)[:, None]
    return values


def repeated(
    options: Options,
    repetitions: int,
    label: str,
    names: tuple[str, str],
    errors: Callable[[str, int, np.random.Generator], dict[tuple[str, str], float]],
) -> list[dict[str, Any]]:
    """Mean errors over samples: one row a scenario, size and pair of names that `errors` is keyed by."""
    cases = [(scenario, size) for scenario in SCENARIOS for size in SIZES]
    seeds = np.random.SeedSequence([options.seed, *label.encode()]).spawn(len(cases))
    rows = []
    for (scenario, size), seed in shown(zip(cases, seeds, strict=True), label):
        generator = np.random.default_rng(seed)
        found = [errors(scenario, size, generator) for _ in range(repetitions)]
        for key in found[0]:
            values = np.array([each[key] for each in found])
            rows.append(
                {"scenario": scenario, "n": size}
                | dict(zip(names, key, strict=True))
                | {
                    "mse": float(values.mean()),
                    "standard_error": float(values.std(ddof=1)) / math.sqrt(repetitions),
                }
            )
    return rows
