"""The library's choice beside its fixed mechanisms on simulated curves, scenarios S-1 to S-4.

Run `python -m experiments.best_choice` (`--quick` for few samples).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from dpfda.bases import KernelBasis
from dpfda.bases.kernels import default_kernel
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design import adapted, choose
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.testing import released_coefficients
from dpfda.testing.contracts import make_problem
from experiments import common
from experiments.common import Floats, Options
from experiments.recipe import RANGE, Sample
from experiments.simulated import POINTS, RADIUS, SCENARIOS, VALUES, curves_around

SEED = 2026112602
SIZES = (100, 1000, 10_000)
EPSILONS = (0.125, 1.0, 4.0)
# Each at its own public tuning. Two of them need bounds on values.
FIXED = ("knorm", "laplace", "iid-laplace", "iclp", "iclp-l1", "student-t")
ON_VALUES = ("bernstein", "cells")
SAMPLES, QUICK_SAMPLES, DRAWS = 10, 2, 200

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write best_choice.csv: one row a scenario, size and epsilon."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    common.write_csv(options.results / "best_choice.csv", run(options))


def run(options: Options) -> list[Row]:
    """Mean squared distances to the mean of the sample, over samples and releases."""
    samples = QUICK_SAMPLES if options.quick else SAMPLES
    cells = [(name, size) for name in SCENARIOS for size in SIZES]
    seeds = np.random.SeedSequence(options.seed).spawn(len(cells))
    rows = []
    for (name, size), seed in common.shown(zip(cells, seeds, strict=True), "best choice"):
        generator = np.random.default_rng(seed)
        drawn = [_sample(name, size, generator) for _ in range(samples)]
        rows += [row_of(name, drawn, epsilon, generator) for epsilon in EPSILONS]
    return rows


def _sample(name: str, size: int, generator: np.random.Generator) -> Sample:
    return curves_around(SCENARIOS[name](generator, "matern32"), size, generator)


def row_of(name: str, samples: Sequence[Sample], epsilon: float, generator: np.random.Generator) -> Row:
    """Errors of the choice, with the paper's kernel named and without, and of the fixed mechanisms."""
    grid = np.linspace(0, 1, POINTS)
    named = KernelBasis.on_grid(Matern(RANGE, nu=1.5), grid)
    own = KernelBasis.on_grid(default_kernel((0.0, 1.0)), grid)
    ball, values = L2Ball(RADIUS), ValueBounds(*VALUES)

    def error(mechanism: str, basis: Any, bound: Any) -> float:
        return float(
            np.mean([release_error(s, mechanism, basis, bound, epsilon, generator) for s in samples])
        )

    row: Row = {"scenario": name, "n": samples[0].size, "epsilon": epsilon}
    row["auto"] = error("auto", named, ball)
    row["auto_without_kernel"] = error("auto", own, ball)
    row["auto_on_values"] = error("auto", own, values)
    fixed = {mechanism: error(mechanism, named, ball) for mechanism in FIXED}
    fixed |= {mechanism: error(mechanism, named, values) for mechanism in ON_VALUES}
    best = min(fixed, key=lambda mechanism: fixed[mechanism])
    row |= {"best_fixed": best, "best": fixed[best], "ratio": row["auto"] / fixed[best]}
    row["ratio_without_kernel"] = row["auto_without_kernel"] / fixed[best]
    return row | fixed


def release_error(
    sample: Sample,
    mechanism: str,
    basis: Any,
    bound: Any,
    epsilon: float,
    generator: np.random.Generator,
) -> float:
    """Expected squared distance of a release to the sample's mean, which the bounds leave alone.

    In closed form for linear estimates, over simulated noise for posterior means.
    """
    relation, guarantee = Neighbours.REPLACE_ONE, PureDP(epsilon)
    used, within = adapted(mechanism, basis, bound, sample.size, guarantee, relation)
    problem = make_problem(used, within, sample.size, guarantee, relation)
    design = choose(problem, mechanism)
    center = within.center_on(used.grid_points)
    measured, unit = _measured(problem, design, used, sample.mean - center)
    functions = used.evaluate(used.grid_points)[:, : design.functions]
    if design.hierarchy is not None:
        noise = design.noise.simulate(generator, DRAWS) * unit
        made = released_coefficients(design, measured + noise, unit, used)
        curves = center + made @ functions.T
        if isinstance(within, ValueBounds):
            curves = np.clip(curves, within.lower, within.upper)
        return float(np.mean((curves - sample.mean) ** 2 @ used.weights))
    bias = (center + functions @ design.coefficients(measured) - sample.mean) ** 2 @ used.weights
    if design.measurement is not None:
        functions = functions @ design.measurement.synthesis
    loadings = functions * design.shrinkage
    return float(bias + np.sum(loadings**2 * design.noise.variances() * unit**2 * used.weights[:, None]))


def _measured(problem: Problem, design: Design, basis: Any, mean: Floats) -> tuple[Floats, float]:
    """What gets noise, as means in units of the data, and one grid unit of the noise over n."""
    unit = math.ldexp(1.0, -design.exponent(problem)) / problem.size
    if design.measurement is not None:
        return design.measurement.matrix @ mean, unit
    means = (mean @ basis.analysis)[: design.components]
    if design.thresholds:
        levels = np.array(design.thresholds, dtype=float) * unit
        means = np.sign(means) * np.maximum(np.abs(means) - levels, 0.0)
    return means, unit


if __name__ == "__main__":
    main()
