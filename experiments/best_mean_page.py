"""The page and the picture of `experiments.best_mean`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.common import markdown_table, say

Row = dict[str, Any]

NAMES = {
    "electricity": "Electricity, 508 Mondays",
    "dti_cca": "DTI, 382 scans",
    "dti_cca by person": "DTI, 142 people",
    "temperatures": "Temperatures, 364 days",
}
KERNELS = {"matern32": "Matern 3/2", "matern52": "Matern 5/2"}


def geometric_mean(values: Iterable[float]) -> float:
    """Exponential of the mean logarithm."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


def ratios(rows: Sequence[Row], above: str, below: str) -> list[float]:
    """How many times one column is above another, where both are known."""
    pairs = [(float(row[above]), float(row[below])) for row in rows]
    return [first / second for first, second in pairs if not math.isnan(first)]


def summary(rows: Sequence[Row], above: str, below: str) -> str:
    """Geometric mean and least ratio, in words."""
    found = ratios(rows, above, below)
    return f"{geometric_mean(found):.2f} (least {min(found):.2f})"


def write_page(path: Path, rows: list[Row], others: list[Row], seed: int, draws: int) -> None:
    """Tables of all settings, with geometric means."""
    printed = [row for row in rows if not math.isnan(row["printed"])]
    parts = [
        "# The private mean beside its limit",
        "",
        f"Written by `python -m experiments.best_mean`, seed {seed}, {draws:,} releases a cell.",
        "Every number is a mean squared L2 distance between the released mean curve and the mean of the",
        "standardised curves, with its standard error, by trapezoid weights. The printed column was",
        "measured with equal weights, under which the ends count twice as much: ratios to it are taken",
        "with equal weights on both sides. Every cell and column has a seed of its own.",
        "",
        "All noise has the scale of the stated guarantee and nothing is read from the data; the printed",
        "column has noise for 1.41 times the stated",
        "epsilon and bounds that are maxima over the data: see [table2.md](table2.md). The honest",
        "columns have centred functions too, which is why they are below those of that page.",
        "",
        "- **ours**: `PrivateMean(epsilon, standardize=True)`, no kernel: the public mixture. It is one",
        "  release, whichever kernel the paper's mechanisms have, so it stands in the lines of both.",
        "- **ours, kernel named**: the same with the paper's kernel as `kernel=`.",
        "- **expected, limit**: what the plan states without the data: the error expected under the",
        "  public mixture of shapes and scales, and what no noise that protects in proportion can",
        "  expect to fall below under it; none is proved under (epsilon, delta). Data are not draws",
        "  from it: they may lie on either side.",
        "",
        "| over the 24 settings of the paper | geometric mean (least) |",
        "| --- | ---: |",
        f"| printed ICLP-RKHS / ours | {summary(printed, 'printed', 'ours_equal')} |",
        f"| printed ICLP-RKHS / ours, kernel named | {summary(printed, 'printed', 'named_equal')} |",
        f"| honest ICLP-RKHS / ours | {summary(printed, 'iclp_rkhs', 'ours')} |",
        f"| honest IID Laplace / ours | {summary(printed, 'iid_laplace', 'ours')} |",
        f"| expected / limit | {summary(printed, 'expected', 'limit')} |",
        "",
    ]
    for name, words in NAMES.items():
        mine = [row for row in rows if row["dataset"] == name]
        parts += [f"## {words}", "", _table(mine), ""]
        parts += [
            f"Honest ICLP-RKHS / ours: {summary(mine, 'iclp_rkhs', 'ours')}; honest IID Laplace / ours: "
            f"{summary(mine, 'iid_laplace', 'ours')}.",
            "",
        ]
    parts += [
        "## Other guarantees",
        "",
        "Beside the Gaussian process of Mirshani, Reimherr & Slavkovic (2019) with kernel-shaped noise:",
        "Matern 3/2 of range .1, eta = 1 + 1/4 and psi = 1/(n epsilon^2), at its exact scale.",
        "",
        _other_table(others),
        "",
        "![Error against epsilon](best_mean.png)",
        "",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    say(f"wrote {path}")


def _number(row: Row, name: str) -> str:
    if math.isnan(row[name]):
        return ""
    error = row.get(f"{name}_se")
    return f"{row[name]:.5f}" + ("" if error is None else f" ± {error:.1g}")


def _ratio(row: Row, above: str, below: str) -> str:
    return "" if math.isnan(row[above]) else f"{row[above] / row[below]:.2f}"


def _table(rows: list[Row]) -> str:
    header = [
        "kernel, epsilon", "printed ICLP-RKHS", "honest ICLP-RKHS", "honest IID Laplace",
        "ours, kernel named", "ours", "printed / ours", "ICLP / ours", "mechanism", "expected", "limit",
    ]  # fmt: skip
    lines = [
        [
            f"{KERNELS[row['kernel']]}, {row['epsilon']:g}",
            *(_number(row, name) for name in ("printed", "iclp_rkhs", "iid_laplace", "named", "ours")),
            _ratio(row, "printed", "ours_equal"),
            _ratio(row, "iclp_rkhs", "ours"),
            row["mechanism"],
            _number(row, "expected"),
            _number(row, "limit"),
        ]
        for row in rows
    ]
    return markdown_table(header, lines)


def _other_table(rows: list[Row]) -> str:
    header = [
        "data, guarantee", "ours", "Gaussian process", "ratio", "mechanism", "expected", "limit",
    ]  # fmt: skip
    lines = [
        [
            f"{NAMES[row['dataset']]}, {row['guarantee']}",
            _number(row, "ours"),
            _number(row, "process"),
            _ratio(row, "process", "ours"),
            row["mechanism"],
            _number(row, "expected"),
            _number(row, "limit"),
        ]
        for row in rows
    ]
    return markdown_table(header, lines)


def draw_picture(path: Path, rows: list[Row]) -> None:
    """Root mean square errors against epsilon for the paper's two data sets."""
    from matplotlib import pyplot
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    lines = (
        (
            "printed",
            "ICLP-RKHS as printed (noise for 1.41 epsilon, bounds read from the data)",
            "C7",
            ":",
        ),
        ("iclp_rkhs_equal", "ICLP-RKHS at the stated epsilon, public bounds", "C3", "-."),
        ("iid_laplace_equal", "truncation with IID Laplace noise, public bounds", "C1", "--"),
        ("ours_equal", "this library's default", "C0", "-"),
    )
    for axis, name in zip(axes, ("electricity", "dti_cca"), strict=True):
        mine = [row for row in rows if (row["dataset"], row["kernel"]) == (name, "matern32")]
        epsilons = [row["epsilon"] for row in mine]
        for column, label, color, style in lines:
            values = [math.sqrt(row[column]) for row in mine]
            width = 2.5 if column == "ours_equal" else 1.5
            axis.plot(epsilons, values, style, color=color, label=label, linewidth=width, marker=".")
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0])
        axis.yaxis.set_minor_locator(NullLocator())
        axis.grid(color="0.9")
        axis.set_title(f"{NAMES[name]} (Matern 3/2)", fontsize="medium")
        axis.set_xlabel("epsilon (smaller is more private)")
    axes[0].set_ylabel("root mean square error of the mean curve\n(standardised, no unit)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", fontsize="small", ncols=1)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
    say(f"wrote {path}")
