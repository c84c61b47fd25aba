"""Figure 2 of Lin & Reimherr (2023): four mechanisms on simulated curves, n from 100 to 5,000.

Run `python -m experiments.figure2` (`--quick` for few repetitions). No data are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments import common
from experiments.common import Options
from experiments.honest import MECHANISMS
from experiments.recipe import RECIPES, iid_laplace
from experiments.simulated import (
    EPSILON,
    KERNEL,
    SCENARIOS,
    curves_around,
    honest_error,
    repeated,
    truncations,
)
from experiments.table2_page import COLOURS, NAMES

SEED = 2026112614
REPETITIONS = 100
QUICK_REPETITIONS = 3
# Simulated noises for each sample, where the expectation has no closed form.
DRAWS = 10

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all scenarios and write figure2.csv and figure2.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = run(options)
    common.write_csv(options.results / "figure2.csv", rows)
    draw_picture(options.results / "figure2.png", rows)


def run(options: Options, kernel: str = KERNEL) -> list[Row]:
    """One row a scenario, size, column and mechanism."""
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    sampled = partial(errors, kernel=kernel)
    return repeated(options, repetitions, "figure 2", ("column", "mechanism"), sampled)


def errors(
    scenario: str, size: int, generator: np.random.Generator, kernel: str
) -> dict[tuple[str, str], float]:
    """Expected squared distance to the true mean for one sample; the noise's part is exact."""
    mean = SCENARIOS[scenario](generator, kernel)
    sample = curves_around(mean, size, generator, kernel)
    found = {
        ("reproduced", name): made(sample, kernel).expected(mean, EPSILON)
        for name, made in RECIPES.items()
    }
    # As in Figure 1: of a set of plug-in values the one with the least true error.
    found["reproduced", "iid_laplace"] = min(
        iid_laplace(sample, kernel, count).expected(mean, EPSILON) for count in truncations(size)[1]
    )
    # Noise of its own, so that the samples are the same whichever mechanisms are drawn.
    (noise,) = generator.spawn(1)
    found |= {
        ("honest", name): honest_error(sample, mean, name, kernel, generator=noise, draws=DRAWS)
        for name in (*MECHANISMS, "auto_l1")
    }
    found["without noise", "sample mean"] = float(sample.weights @ (sample.mean - mean) ** 2)
    return found


def draw_picture(
    path: Path, rows: Sequence[Row], title: str = "Figure 2 of Lin & Reimherr (2023), Matern 3/2"
) -> None:
    """MSE against n, both logarithmic, a panel a scenario."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    figure, axes = plt.subplots(1, 4, figsize=(15, 5), sharey=True)
    for ax, scenario in zip(axes, SCENARIOS, strict=True):
        for mechanism, colour in {**COLOURS, "auto_l1": "#cc79a7", "sample mean": "grey"}.items():
            for column, style in {"reproduced": "x:", "honest": "o-", "without noise": "--"}.items():
                chosen = [
                    r
                    for r in rows
                    if (r["scenario"], r["mechanism"], r["column"]) == (scenario, mechanism, column)
                ]
                ax.plot([r["n"] for r in chosen], [r["mse"] for r in chosen], style, color=colour)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([100, 300, 1000, 3000], ["100", "300", "1000", "3000"])
        ax.minorticks_off()
        ax.set_title(scenario)
        ax.set_xlabel("number of curves n")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("mean squared L2 distance to the true mean")
    kinds = [
        Line2D([], [], color="grey", marker="x", linestyle=":", label="reproduced (NOT PRIVATE)"),
        Line2D([], [], color="grey", marker="o", label="honest, l2 bound 6"),
        Line2D([], [], color="grey", linestyle="--", label="sample mean, no noise"),
    ]
    colours = [Line2D([], [], color=COLOURS[m], linewidth=3, label=NAMES[m]) for m in NAMES]
    colours.append(Line2D([], [], color="#cc79a7", linewidth=3, label="library's choice, l1 bound"))
    figure.legend(handles=[*colours, *kinds], loc="lower center", ncol=5, frameon=False, fontsize=9)
    figure.suptitle(f"{title}, epsilon = 1")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(path, dpi=100)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
