"""Table 1 of Lin & Reimherr (2023): time of 100 draws of the two processes, printed and ours.

Run `python -m experiments.table1` (`--quick` for K = 100 alone). No data are needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from threadpoolctl import threadpool_limits

from dpfda.bases import KernelBasis
from dpfda.bounds import L2Ball
from dpfda.mechanisms import Design
from dpfda.privacy.guarantees import Neighbours, guarantee_for
from dpfda.publication import MeanPlan
from experiments import common
from experiments.common import Floats, Options

SEED = 2026112629
DRAWS = 100
SIZES = (100, 200, 500)
RANGE = 0.1  # not printed for this table; that of section 6
# Draws of the slowest procedure that are timed; the time is scaled to 100.
TIMED = 10
REPEATS = 3

KERNELS: dict[str, Kernel] = {
    "exponential": Matern(RANGE, nu=0.5),
    "matern32": Matern(RANGE, nu=1.5),
    "gaussian": RBF(RANGE),
    "matern52": Matern(RANGE, nu=2.5),
}
PROCESSES = {"iclp": ("iclp", 0.0), "gp": ("gaussian-process", 1e-6)}

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Time everything and write table1.csv, table1.md and table1.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    with threadpool_limits(1):
        rows = run(options)
    common.write_csv(options.results / "table1.csv", rows)
    write_page(options.results / "table1.md", rows)
    draw_picture(options.results / "table1.png", rows)


def run(options: Options) -> list[Row]:
    """One row a kernel, size and process."""
    generator = np.random.default_rng(options.seed)
    sizes = SIZES[:1] if options.quick else SIZES
    cases = [(k, size, process) for k in KERNELS for size in sizes for process in PROCESSES]
    return [timed(*case, generator) for case in common.shown(cases, "table 1")]


def timed(kernel: str, size: int, process: str, generator: np.random.Generator) -> Row:
    """Seconds for 100 curves, by every road, and what went wrong on the way."""
    made, grid = KERNELS[kernel], np.linspace(0, 1, size)
    one = algorithm_1 if process == "iclp" else gaussian_vector
    many = one_decomposition if process == "iclp" else one_factor
    each = DRAWS / TIMED * seconds(lambda: [one(made, grid, generator) for _ in range(TIMED)], 1)
    line = next(r for r in common.printed("table1") if (r["kernel"], int(r["K"])) == (kernel, size))
    loops = seconds(lambda: many(made, grid, generator))
    simulated = seconds(lambda: library(made, grid, process, generator))
    exact = seconds(lambda: library(made, grid, process, None))
    return {
        "kernel": kernel,
        "K": size,
        "process": process,
        "printed": float(line[f"{process}_100_draws_s"]),
        "every_draw_anew": each,
        "one_decomposition": loops,
        "simulated": simulated,
        "exact": exact,
        "loops_over_simulated": loops / simulated,
        "loops_over_exact": loops / exact,
        "nan_draws": nan_share(made, grid, generator) if process == "iclp" else "",
        "negative_eigenvalues": int(np.sum(np.linalg.eigvalsh(made(grid[:, None])) < 0)),
        "components": design_of(plan_of(made, grid, process)).components,
    }


def seconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Least processor time of a few runs: other work on the machine hardly counts."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def algorithm_1(kernel: Kernel, grid: Floats, generator: np.random.Generator) -> Floats:
    """One ICLP draw as Algorithm 1 is printed: decompose, then a loop over components."""
    values, vectors = np.linalg.eigh(kernel(grid[:, None]))
    return _summed(values, vectors, generator)


def one_decomposition(kernel: Kernel, grid: Floats, generator: np.random.Generator) -> list[Floats]:
    """100 ICLP draws: one decomposition, then loops over draws and components."""
    values, vectors = np.linalg.eigh(kernel(grid[:, None]))
    return [_summed(values, vectors, generator) for _ in range(DRAWS)]


def _summed(values: Floats, vectors: Floats, generator: np.random.Generator) -> Floats:
    curve = np.zeros(values.size)
    with np.errstate(invalid="ignore"):
        for value, vector in zip(values, vectors.T, strict=True):
            curve += np.sqrt(value / 2) * generator.laplace() * vector
    return curve


def gaussian_vector(kernel: Kernel, grid: Floats, generator: np.random.Generator) -> Floats:
    """One Gaussian draw: factor the covariance, multiply."""
    return np.asarray(_factor(kernel, grid) @ generator.standard_normal(grid.size))


def one_factor(kernel: Kernel, grid: Floats, generator: np.random.Generator) -> list[Floats]:
    """100 Gaussian draws: one factor, then a loop over draws."""
    factor = _factor(kernel, grid)
    return [factor @ generator.standard_normal(grid.size) for _ in range(DRAWS)]


def _factor(kernel: Kernel, grid: Floats) -> Floats:
    covariance = kernel(grid[:, None])
    # Without it the factorisation fails for the smooth kernels.
    return np.linalg.cholesky(covariance + 1e-8 * np.eye(grid.size))


def plan_of(kernel: Kernel, grid: Floats, process: str) -> MeanPlan:
    """The library's calibrated noise for 500 curves in the unit ball at epsilon = 1."""
    mechanism, delta = PROCESSES[process]
    basis = KernelBasis.on_grid(kernel, grid)
    budget = guarantee_for(1.0, delta), Neighbours.REPLACE_ONE
    return MeanPlan.of(basis, L2Ball(1.0), *budget, mechanism, 500, "curve", {})


def design_of(plan: MeanPlan) -> Design:
    """Its design; the number of curves is public."""
    assert plan.public_design is not None  # noqa: S101
    return plan.public_design


def library(kernel: Kernel, grid: Floats, process: str, generator: np.random.Generator | None) -> Floats:
    """100 curves of the library's noise, calibration and basis included; exact without a generator."""
    plan = plan_of(kernel, grid, process)
    design, basis = design_of(plan), plan.basis
    if generator is None:
        integers = np.array([design.noise.draw() for _ in range(DRAWS)], dtype=float)
    else:
        integers = design.noise.simulate(generator, DRAWS)
    scale = design.shrinkage * plan.problem(500).ball.step / plan.problem(500).size
    return np.asarray(integers * scale @ basis.values[:, : design.components].T)


def nan_share(kernel: Kernel, grid: Floats, generator: np.random.Generator) -> float:
    """Share of Algorithm 1's draws that are not numbers."""
    drawn = one_decomposition(kernel, grid, generator)
    return float(np.mean([np.isnan(curve).any() for curve in drawn]))


def write_page(path: Path, rows: Sequence[Row]) -> None:
    """The table in Markdown."""
    header = [
        "kernel, K, process",
        "printed",
        "decomposed for every draw",
        "one decomposition, loops",
        "library, simulated",
        "library, exact",
        "loops / simulated",
        "loops / exact",
        "components",
        "negative eigenvalues",
        "NaN draws",
    ]
    lines = []
    for r in rows:
        nan = "" if r["nan_draws"] == "" else f"{r['nan_draws']:.0%}"
        times = [f"{r[k]:.4g}" for k in ("printed", "every_draw_anew", "one_decomposition")]
        ours = [f"{r[k]:.4g}" for k in ("simulated", "exact")]
        ratios = [f"{r[k]:.2g}" for k in ("loops_over_simulated", "loops_over_exact")]
        counts = [str(r["components"]), str(r["negative_eigenvalues"]), nan]
        lines.append([f"{r['kernel']}, {r['K']}, {r['process']}", *times, *ours, *ratios, *counts])
    text = f"""# Table 1 of Lin & Reimherr (2023): seconds for 100 draws

Written by `python -m experiments.table1`. Processor time in one thread, least of {REPEATS} runs, of
everything in the same run. Printed times are of another machine and language.

- **decomposed for every draw**: Algorithm 1 as printed, {TIMED} draws, scaled to 100. It grows with the
  size as the printed times do, which one decomposition for all draws would not.
- **one decomposition, loops**: our own straightforward port of the procedure.
- **library**: eigenbasis, calibration and curves included; *simulated* is seeded floating-point noise
  for studies, *exact* is what a release uses (rounded from ball arithmetic, entropy of the operating
  system). A release needs one draw, not 100.
- **components**: what the library keeps of K; eigenvalues that are zero to rounding are left out.
- **negative eigenvalues**: of the Gram matrix as computed. Algorithm 1 takes their root: NaN.

{common.markdown_table(header, lines)}

![Time against size](table1.png)
"""
    path.write_text(text, encoding="utf-8")
    common.say(f"wrote {path}")


def draw_picture(path: Path, rows: Sequence[Row]) -> None:
    """Seconds against K, both logarithmic; a panel a process, Matern 3/2 alone."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = {
        "printed": ("printed", "x--"),
        "every_draw_anew": ("decomposed for every draw", "s-"),
        "one_decomposition": ("one decomposition, loops", "^-"),
        "exact": ("library, exact", "o-"),
        "simulated": ("library, simulated", "d-"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True)
    for ax, process in zip(axes, PROCESSES, strict=True):
        chosen = [r for r in rows if r["process"] == process and r["kernel"] == "matern32"]
        for key, (label, style) in names.items():
            ax.plot([r["K"] for r in chosen], [r[key] for r in chosen], style, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(SIZES, [str(size) for size in SIZES])
        ax.minorticks_off()
        ax.set_xlabel("K (grid points)")
        ax.set_title({"iclp": "ICLP", "gp": "Gaussian process"}[process])
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("seconds for 100 draws")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=5, frameon=False)
    figure.suptitle("Table 1 of Lin & Reimherr (2023), Matern 3/2")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
