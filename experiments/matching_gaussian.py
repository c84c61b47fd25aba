"""Mirshani, Reimherr & Slavkovic (2019): Figure 5's range, and Table 2 by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np

from experiments import common, scenarios
from experiments.dti import DRAWS, FINE_PHIS, PHIS, STEPS, pcv_scores
from experiments.dti import Study as Scans
from experiments.gaussian_recipe import KERNELS, Tuning, kernel_matrix
from experiments.search import Choice, Found, Study

SEED = 2026112620
SAMPLES = 20
SPLITS = 10

# "All kernels give roughly the same pattern": errors within a half of C1; paths with a derivative
# are smooth to the eye, and a path without one is still a path.
FIGURE_5 = {
    **{f"error of {name} over that of gaussian": (2 / 3, 3 / 2) for name in KERNELS[1:]},
    **{f"neighbours' correlation, {name}": (0.9, 1.0) for name in KERNELS[:3]},
    "neighbours' correlation, exponential": (0.5, 1.0),
}
FIGURE_5_AXES = {
    "range rho": (0.001, 0.01, 0.1, 0.2),
    "rho in C2 to C4": ("as printed", "its root", "in steps of the grid"),
    "penalty": (1e-4, 1e-3, 1e-2, 1e-1),
    "noise": ("printed", "coded"),
}


def figure_5() -> Study:
    """Scenario 3."""
    return Study("Figure 5 (scenario 3)", FIGURE_5_AXES, FIGURE_5, figure_5_cases, tuple(FIGURE_5_AXES))


def figure_5_cases(choice: Choice) -> Iterator[tuple[Choice, Found]]:
    """What the text says of the picture, under one reading of it."""
    rho = choice["range rho"]
    other = {
        "as printed": rho,
        "its root": math.sqrt(rho),
        "in steps of the grid": rho * scenarios.POINTS,
    }
    errors, found = {}, {}
    for kernel in KERNELS:
        width = rho if kernel == "gaussian" else other[choice["rho in C2 to C4"]]
        setting = scenarios.Setting("5", kernel, Tuning(kernel, width, choice["penalty"]))
        generator = np.random.default_rng([SEED, *repr((choice, kernel)).encode()])
        truth = scenarios.MEANS[setting.mean]
        errors[kernel] = np.mean(
            [
                scenarios.reproduced(
                    setting, scenarios.curves_of(setting, choice["noise"], generator), choice["noise"]
                ).expected(truth)
                for _ in range(SAMPLES)
            ]
        )
        row = kernel_matrix(kernel, width, scenarios.GRID[:2])
        found[f"neighbours' correlation, {kernel}"] = float(row[0, 1])
    for kernel in KERNELS[1:]:
        found[f"error of {kernel} over that of gaussian"] = float(errors[kernel] / errors["gaussian"])
    yield {}, found


TABLE_2_AXES = {
    "noise": ("printed", "coded"),
    "folds": (5, 10, 20),
    "bound from": ("the other folds", "all curves"),
    "score": ("distance", "squared distance"),
    "penalties": ("1 and 5 of each power of ten", "decades", "15 values"),
}
PENALTIES = {
    "1 and 5 of each power of ten": PHIS,
    "decades": (1e-4, 1e-3, 5e-3, 1e-2, 1e-1),
    "15 values": FINE_PHIS,
}


def table_2() -> Study:
    """Private cross-validation: 1 / (share of random splits that choose the printed pair)."""
    printed = {line["kernel"]: (1.0, 1.0) for line in common.printed("mirshani_table2")}
    return Study(
        "Table 2 (cross-validation)", TABLE_2_AXES, printed, _table_2, ("noise", "folds", "bound from")
    )


@cache
def _scans() -> Scans:
    raw, _ = common.scans()
    return Scans(raw[~np.isnan(raw).any(axis=1)])


def _table_2(choice: Choice) -> Iterator[tuple[Choice, Found]]:
    study = _scans()
    generator = np.random.default_rng([SEED, *repr(choice).encode()])
    orders = [generator.permutation(len(study.curves)) for _ in range(SPLITS)]
    parts = [study.parts(np.array_split(order, choice["folds"])) for order in orders]
    if choice["bound from"] == "all curves":
        bound = max(part[2] for split in parts for part in split)
        parts = [[(mean, size, bound, left) for mean, size, _, left in split] for split in parts]
    noise = [generator.standard_normal((DRAWS, study.grid.size)) for _ in orders]
    shares: dict[tuple[str, str], dict[str, float]] = {}
    for line in common.printed("mirshani_table2"):
        rhos = np.linspace(float(line["rho_from"]), float(line["rho_to"]), STEPS)
        at_rho = np.abs(rhos - float(line["rho"])).argmin()
        for score in TABLE_2_AXES["score"]:
            squared = score == "squared distance"
            scores = np.array(
                [
                    pcv_scores(study, line["kernel"], rho, choice["noise"], parts, noise, squared)
                    for rho in rhos
                ]
            )
            for name, phis in PENALTIES.items():
                kept = scores[:, np.isin(FINE_PHIS, phis)]
                at_phi = np.abs(np.array(phis) - float(line["phi"])).argmin()
                chosen = [np.unravel_index(kept[..., s].argmin(), kept.shape[:2]) for s in range(SPLITS)]
                share = np.mean([place == (at_rho, at_phi) for place in chosen])
                shares.setdefault((str(score), name), {})[line["kernel"]] = (
                    1 / float(share) if share else math.inf
                )
    for (score_name, penalties), found in shares.items():
        yield {"score": score_name, "penalties": penalties}, found
