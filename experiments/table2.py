"""Table 2 of Lin & Reimherr (2023): printed, reproduced at the authors' scale, and honest.

Run `python -m experiments.table2` (`--quick` for few draws) with DPFDA_DATA_DIR set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments import common
from experiments.common import Floats, Options
from experiments.honest import MECHANISMS, Honest, target_mean
from experiments.recipe import RECIPES, SMOOTHNESS, Sample, true_over_nominal
from experiments.table2_page import draw_picture, write_page

SEED = 2026112630
# The paper: "1000 generated" means, each point "an average of 100 replicate experiments".
REPRODUCED_DRAWS = 100_000
HONEST_DRAWS = 10_000
QUICK_DRAWS = 1_000

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all cells and write table2.csv, table2.md and table2.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = run(options)
    common.write_csv(options.results / "table2.csv", rows)
    write_page(options.results / "table2.md", rows, options.seed, draws_of(options))
    draw_picture(options.results / "table2.png", rows)


def draws_of(options: Options) -> tuple[int, int]:
    """Draws a cell: reproduced, honest."""
    return (QUICK_DRAWS, QUICK_DRAWS) if options.quick else (REPRODUCED_DRAWS, HONEST_DRAWS)


def run(options: Options) -> list[Row]:
    """One row a cell, and the library's own choice as a fifth mechanism."""
    raw = {"electricity": common.electricity(), "dti_cca": common.scans()[0]}
    samples = {name: Sample.of(curves) for name, curves in raw.items()}
    targets = {name: target_mean(curves) for name, curves in raw.items()}
    cells = [
        (name, kernel, line, mechanism)
        for name in raw
        for kernel in SMOOTHNESS
        for line in common.printed("table2")
        if (line["dataset"], line["kernel"]) == (name, kernel)
        for mechanism in MECHANISMS
    ]
    draws, honest_draws = draws_of(options)
    seeds = np.random.SeedSequence(options.seed).spawn(len(cells))
    rows = []
    for (name, kernel, line, mechanism), seed in common.shown(zip(cells, seeds, strict=True), "table 2"):
        epsilon = float(line["epsilon"])
        row: Row = {"dataset": name, "kernel": kernel, "epsilon": epsilon, "mechanism": mechanism}
        row |= reproduced(samples[name], kernel, epsilon, mechanism, line, draws, seed)
        honest = Honest.of(raw[name], kernel, mechanism, epsilon)
        seed_honest, seed_closed = (int(state) for state in seed.generate_state(2))
        distances = honest.distances(targets[name], honest_draws, seed_honest)
        row |= mean_and_error("honest", distances)
        row["honest_closed"] = honest.expected(targets[name], seed_closed)
        rows.append(row)
    return rows


def reproduced(
    sample: Sample,
    kernel: str,
    epsilon: float,
    mechanism: str,
    line: dict[str, str],
    draws: int,
    seed: np.random.SeedSequence,
) -> Row:
    """The printed cell and ours at the authors' scale; blanks for the library's own choice."""
    names = ("printed", "printed_se", "reproduced", "reproduced_se", "closed", "closed_sd")
    if mechanism not in RECIPES:
        return dict.fromkeys((*names, "off_percent", "true_epsilon"), "")
    release = RECIPES[mechanism](sample, kernel)
    closed = release.expected(sample.mean, epsilon)
    value = float(line[mechanism])
    distances = release.distances(sample.mean, epsilon, draws, np.random.default_rng(seed))
    return {
        "printed": value,
        "printed_se": float(line[f"{mechanism}_se_1e3"]) / 1000,
        **mean_and_error("reproduced", distances),
        "closed": closed,
        "closed_sd": release.deviation(sample.mean, epsilon),
        "off_percent": 100 * (value / closed - 1),
        "true_epsilon": epsilon * true_over_nominal(mechanism, sample, kernel),
    }


def mean_and_error(name: str, distances: Floats) -> Row:
    """Mean and its standard error."""
    return {
        name: float(distances.mean()),
        f"{name}_se": float(distances.std(ddof=1)) / math.sqrt(distances.size),
    }


if __name__ == "__main__":
    main()
