"""Figures 1 and 4 to 10 of Mirshani, Reimherr & Slavkovic (2019): the seven simulated scenarios.

Run `python -m experiments.scenarios` (`--quick` for few repetitions). No data are needed. The paper
shows one sample a panel and prints no numbers; here the errors of many samples are averaged too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dpfda import PrivateMean
from dpfda.bounds import L2Ball
from dpfda.testing import simulate_releases
from experiments import common
from experiments.common import Floats, Options, trapezoid
from experiments.gaussian_honest import HonestRelease, basis_of, clipped, honest_release
from experiments.gaussian_recipe import (
    CONVENTIONS,
    KERNEL_NAMES,
    GaussianRelease,
    Tuning,
    eigenpairs,
    largest_norm,
    release_of,
)

SEED = 2026112625
POINTS = 100
GRID = np.linspace(0, 1, POINTS)
# One public bound for all scenarios: |mean| + 0.4 (sum j^-4)^(1/2) < 0.5 holds for every curve of the
# default setting, and with a tenth of the spread < 0.12; where curves can be longer they are clipped.
RADIUS = {"printed": 0.5, "coded": 0.12}
REPETITIONS = 1000
QUICK_REPETITIONS = 20
# The library's choice has no closed form: samples, and simulated releases of each.
LIBRARY = (20, 50)
QUICK_LIBRARY = (2, 20)
# "Numerically different than zero": above rounding, relative to the largest.
ZERO = 1e-15

Row = dict[str, Any]

MEANS = {
    "0.1 sin(pi t)": 0.1 * np.sin(np.pi * GRID),
    "0.1 sin(2 pi t)": 0.1 * np.sin(2 * np.pi * GRID),
    "0.1 (2t - 1)": 0.1 * (2 * GRID - 1),
    "0.1 exp(-50 (t - .5)^2)": 0.1 * np.exp(-50 * (GRID - 0.5) ** 2),
}


@dataclass(frozen=True, eq=False)
class Setting:
    """One panel. The default penalty is not printed; 0.01 is that of the authors' package."""

    figure: str
    panel: str
    tuning: Tuning = field(default_factory=Tuning)
    size: int = 25
    smoothness: float = 4.0
    mean: str = "0.1 sin(pi t)"


def _varied(figure: str, name: str, values: Sequence[Any]) -> list[Setting]:
    return [Setting(figure, f"{name} = {v:g}", replace(Tuning(), **{name: v})) for v in values]


# The text prints the ends of most ranges; what lies between them is ours.
SETTINGS = [
    *_varied("1", "phi", (1e-6, 1e-4, 1e-2, 1.0)),
    *_varied("4", "rho", (0.002, 0.02, 0.2, 2.0)),
    *[Setting("5", name, Tuning(kernel=kernel)) for kernel, name in KERNEL_NAMES.items()],
    *[
        Setting("5, rho = 0.2", name, Tuning(kernel=kernel, rho=0.2))
        for kernel, name in KERNEL_NAMES.items()
    ],
    *[Setting("6", f"p = {p:g}", smoothness=p) for p in (1.1, 2.0, 3.0, 4.0)],
    *_varied("7", "epsilon", (5.0, 1.0, 0.5, 0.1)),
    *_varied("8", "delta", (0.1, 1e-2, 1e-4, 1e-6)),
    *[Setting("9", f"N = {size}", size=size) for size in (5, 25, 50, 100)],
    *[Setting("10", f"mean {mean}", mean=mean) for mean in MEANS],
]
FIGURES = tuple(dict.fromkeys(setting.figure for setting in SETTINGS))
TITLES = {
    "1": "Figure 1 (scenario 1): penalty",
    "4": "Figure 4 (scenario 2): range of the kernel",
    "5": "Figure 5 (scenario 3): kernel, rho = 0.001 as printed",
    "5, rho = 0.2": "Figure 5 again with rho = 0.2, the default of the authors' package",
    "6": "Figure 6 (scenario 4): smoothness of the curves",
    "7": "Figure 7 (scenario 5): epsilon, delta = 0.1",
    "8": "Figure 8 (scenario 5): delta, epsilon = 1",
    "9": "Figure 9 (scenario 6): sample size",
    "10": "Figure 10 (scenario 7): true mean",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all scenarios and write scenarios.csv, scenarios.md and a picture for each figure."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = run(options)
    common.write_csv(options.results / "scenarios.csv", rows)
    write_page(options.results / "scenarios.md", rows, options)
    for figure in common.shown(FIGURES, "pictures"):
        draw_picture(options.results / f"{file_of(figure)}.png", figure, options.seed)


def file_of(figure: str) -> str:
    """Name of a picture without its ending."""
    return "scenarios_figure" + figure.replace(", rho = 0.2", "_rho")


def run(options: Options) -> list[Row]:
    """One row a panel and convention: errors averaged over samples, exact in the noise."""
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    counts = QUICK_LIBRARY if options.quick else LIBRARY
    cases = list(product(SETTINGS, CONVENTIONS))
    seeds = np.random.SeedSequence(options.seed).spawn(len(cases))
    return [
        averages(*case, repetitions, counts, np.random.default_rng(seed))
        for case, seed in common.shown(zip(cases, seeds, strict=True), "scenarios")
    ]


def curves_of(setting: Setting, convention: str, generator: np.random.Generator) -> Floats:
    """Equation (4): X_i = mean + sum_j j^(-p/2) U_ij v_j, U uniform on (-0.4, 0.4).

    v_j are eigenfunctions of C1 with rho = 0.001: of norm one as printed; as coded, vectors of length
    one, so that the spread is a tenth.
    """
    values, functions = eigenpairs("gaussian", Tuning().rho, POINTS)
    functions = functions[values > ZERO * values[0]]
    if convention == "coded":
        functions = functions / math.sqrt(POINTS)
    weights = np.arange(1.0, len(functions) + 1) ** (-setting.smoothness / 2)
    scores = generator.uniform(-0.4, 0.4, (setting.size, len(functions)))
    return np.asarray(MEANS[setting.mean] + scores * weights @ functions)


def reproduced(setting: Setting, curves: Floats, convention: str) -> GaussianRelease:
    """The authors' release, its bound the largest norm in the sample. NOT PRIVATE."""
    mean, bound = curves.mean(axis=0), largest_norm(curves)
    return release_of(mean, setting.size, bound, setting.tuning, convention)


def honest(setting: Setting, curves: Floats, radius: float) -> HonestRelease:
    """The paper's mechanism as the library has it, with the public bound."""
    tuning = setting.tuning
    basis = basis_of(tuning.kernel, tuning.rho, POINTS)
    mean = clipped(curves, radius, basis.weights).mean(axis=0)
    bound = L2Ball(radius)
    return honest_release(mean, setting.size, basis, bound, tuning.epsilon, tuning.delta, tuning.phi)


def library_errors(
    setting: Setting, convention: str, counts: tuple[int, int], generator: np.random.Generator
) -> Floats:
    """Squared distances of simulated releases to the true mean: `mechanism="auto"`, the public bound."""
    tuning, (samples, draws) = setting.tuning, counts
    basis = basis_of(tuning.kernel, tuning.rho, POINTS)
    bound = L2Ball(RADIUS[convention])
    estimator = PrivateMean(tuning.epsilon, tuning.delta, bounds=bound, basis=basis)
    found = []
    for _ in range(samples):
        curves = curves_of(setting, convention, generator)
        seed = int(generator.integers(2**32))
        released = np.asarray(simulate_releases(estimator, curves, draws, seed))
        found.append((released - MEANS[setting.mean]) ** 2 @ trapezoid(POINTS))
    return np.array(found)


def averages(
    setting: Setting,
    convention: str,
    repetitions: int,
    counts: tuple[int, int],
    generator: np.random.Generator,
) -> Row:
    """Mean squares over samples."""
    found: dict[str, list[float]] = {}
    for _ in range(repetitions):
        curves = curves_of(setting, convention, generator)
        for name, value in errors(setting, convention, curves).items():
            found.setdefault(name, []).append(value)
    row: Row = {"figure": setting.figure, "panel": setting.panel, "convention": convention}
    row |= {"true_epsilon": true_epsilon(setting, convention)}
    row |= {name: float(np.mean(values)) for name, values in found.items()}
    for name in ("reproduced", "honest"):
        row[f"{name}_se"] = float(np.std(found[name], ddof=1)) / math.sqrt(repetitions)
    # Draws of one sample go together: the spread of the samples' averages is what counts.
    library = library_errors(setting, convention, counts, generator).mean(axis=1)
    row["library"] = float(library.mean())
    row["library_se"] = float(library.std(ddof=1)) / math.sqrt(library.size)
    return row


def errors(setting: Setting, convention: str, curves: Floats) -> dict[str, float]:
    """Squared distances to the true mean for one sample, and the powers of the noise."""
    truth, weights, radius = MEANS[setting.mean], trapezoid(POINTS), RADIUS[convention]
    authors = reproduced(setting, curves, convention)
    same = honest(setting, curves, radius)
    return {
        "tau": largest_norm(curves),
        "sample_mean": float(weights @ (curves.mean(axis=0) - truth) ** 2),
        "estimate": float(weights @ (authors.center - truth) ** 2),
        "reproduced": authors.expected(truth),
        "reproduced_noise": authors.noise_power,
        "honest": same.expected(truth),
        "honest_noise": same.noise_power,
    }


def true_epsilon(setting: Setting, convention: str) -> float:
    """Exact epsilon of the authors' noise at the nominal delta; it does not depend on the sample."""
    return release_of(np.ones(POINTS), setting.size, 1.0, setting.tuning, convention).true_epsilon


def write_page(path: Path, rows: Sequence[Row], options: Options) -> None:
    """All panels in Markdown."""
    repetitions = QUICK_REPETITIONS if options.quick else REPETITIONS
    counts = QUICK_LIBRARY if options.quick else LIBRARY
    parts = [_introduction(options.seed, repetitions, counts)]
    for figure in FIGURES:
        chosen = [row for row in rows if row["figure"] == figure]
        picture = f"![{TITLES[figure]}]({file_of(figure)}.png)"
        parts += [f"## {TITLES[figure]}", picture, common.markdown_table(HEADER, _lines(chosen))]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    common.say(f"wrote {path}")


HEADER = (
    "panel, scale",
    "sample mean",
    "estimate",
    "reproduced (NOT PRIVATE)",
    "true epsilon",
    "honest, same mechanism",
    "honest, library's choice",
)


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    def with_noise(row: Row, name: str) -> str:
        return f"{math.sqrt(row[name]):.4f} ({math.sqrt(row[f'{name}_noise']):.4f})"

    return [
        [
            f"{row['panel']}, {row['convention']}",
            f"{math.sqrt(row['sample_mean']):.4f}",
            f"{math.sqrt(row['estimate']):.4f}",
            with_noise(row, "reproduced"),
            # Below this the nominal delta alone covers the release.
            f"{row['true_epsilon']:.3g}" if row["true_epsilon"] > 1e-9 else "0",
            with_noise(row, "honest"),
            f"{math.sqrt(row['library']):.4f}",
        ]
        for row in rows
    ]


def _introduction(seed: int, repetitions: int, counts: tuple[int, int]) -> str:
    samples, draws = counts
    return f"""# Figures 1 and 4 to 10 of Mirshani, Reimherr & Slavkovic (2019)

Written by `python -m experiments.scenarios`, seed {seed}, {repetitions:,} samples a panel; the
expectation over the noise is exact. Every number is the root of the mean squared L2 distance to the true
mean; in brackets that of the noise alone. The paper prints no numbers, only pictures of one sample each.
A curve that is zero has a distance of .0707 from the default mean.

Each panel is run at two scales:

- **printed**: the formulas of the paper. The curves deviate along functions of norm one, the noise is
  the kernel's process, the sensitivity that of Theorem 4.1.
- **coded**: the conventions of the authors' package PFDA. Eigenvectors have length one where functions
  of norm one are meant, in the curves (a tenth of the spread, inferred) and in the noise, and the
  sensitivity has a sum in the place of the supremum.

Columns:

- **estimate**: the smoothed mean without noise, the green curves of the paper.
- **reproduced (NOT PRIVATE)**: the authors' release; tau is the largest norm in the sample, and the
  classical Gaussian rule is used also beyond epsilon = 1.
- **true epsilon**: of that noise, exact, at the panel's delta, if tau were a public number. It is not,
  so no finite epsilon holds. 0 means that delta alone covers the release.
- **honest**: the library with the public bound |X| <= {RADIUS["printed"]:g} (printed scale) or
  {RADIUS["coded"]:g} (coded scale) in all panels. *Same mechanism* is the Gaussian process with the same
  kernel and penalty, calibrated exactly; *library's choice* is `mechanism="auto"`, which reads public
  numbers only ({samples} samples with {draws} simulated releases each).

Not printed and taken here: the penalty outside scenario 1 (0.01, the package's default), the values
inside the ranges, and the three other means of scenario 7."""


def draw_picture(path: Path, figure: str, seed: int) -> None:
    """One sample a panel: the authors' release at both scales, and the honest one."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    settings = [setting for setting in SETTINGS if setting.figure == figure]
    drawing, axes = plt.subplots(3, len(settings), figsize=(14, 9), sharex=True)
    for column, setting in zip(axes.T, settings, strict=True):
        for ax, (convention, private) in zip(column, ROWS, strict=True):
            # The same sample in every panel of one size.
            generator = np.random.default_rng(seed)
            curves = curves_of(setting, convention, generator)
            release: Any = reproduced(setting, curves, convention)
            if private:
                release = honest(setting, curves, RADIUS[convention])
            ax.plot(GRID, curves.T, color="0.85", linewidth=0.6)
            ax.plot(GRID, MEANS[setting.mean], color="black", linestyle=":", linewidth=1.2)
            ax.plot(GRID, release.center, color="#009e73", linestyle="--")
            ax.plot(GRID, release.draws(1, generator)[0], color="#0072b2" if private else "#d55e00")
            ax.set_ylim(*_limits(curves))
        column[0].set_title(setting.panel)
        column[-1].set_xlabel("t")
    labels = ("printed scale (NOT PRIVATE)", "coded scale (NOT PRIVATE)", "coded scale, honest")
    for ax, label in zip(axes[:, 0], labels, strict=True):
        ax.set_ylabel(f"{label}\nvalue")
    kinds = [
        Line2D([], [], color="0.7", label="curves (simulated)"),
        Line2D([], [], color="black", linestyle=":", label="true mean"),
        Line2D([], [], color="#009e73", linestyle="--", label="smoothed mean, no noise"),
        Line2D([], [], color="#d55e00", label="sanitised by the authors' recipe (NOT PRIVATE)"),
        Line2D([], [], color="#0072b2", label="honest, same mechanism, public bound"),
    ]
    drawing.legend(handles=kinds, loc="lower center", ncol=5, frameon=False)
    title = f"Mirshani, Reimherr & Slavkovic (2019), {TITLES[figure]}. Simulated noise, one draw."
    drawing.suptitle(title)
    drawing.tight_layout(rect=(0, 0.04, 1, 1))
    drawing.savefig(path, dpi=70)
    plt.close(drawing)


ROWS = (("printed", False), ("coded", False), ("coded", True))


def _limits(curves: Floats) -> tuple[float, float]:
    """Vertical range: twice that of the curves; a sanitised curve may leave it."""
    middle, half = (curves.max() + curves.min()) / 2, curves.max() - curves.min()
    return float(middle - half), float(middle + half)


if __name__ == "__main__":
    main()
