"""What fits the tables and figures that the papers leave underdetermined: all combinations are tried.

Run `python -m experiments.matching` (`--quick` for few combinations) with DPFDA_DATA_DIR set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments import (
    common,
    matching_curves,
    matching_deaths,
    matching_gaussian,
    matching_square,
)
from experiments.common import Options
from experiments.search import Search, Study, searched

SEED = 2026112618
# A study, and how many of its slow combinations are left out of each other in a quick run.
STUDIES: tuple[tuple[Callable[[], Study], int], ...] = (
    (matching_deaths.study, 300),
    (matching_curves.study, 40),
    (matching_square.study, 20),
    (matching_gaussian.figure_5, 10),
    (matching_gaussian.table_2, 6),
)
FACTORS = (1.5, 2, 3, 10)
# Cells shown of the best combination of a large table.
SHOWN = 12


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all studies and write matching.csv and matching.md."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    common.say(f"data in {common.data_folder()}")
    found = [searched(made(), thin if options.quick else 1) for made, thin in STUDIES]
    common.write_csv(options.results / "matching.csv", [told(each) for each in found])
    write_page(options.results / "matching.md", found, options)


def told(search: Search) -> dict[str, Any]:
    """One row: how many combinations, how near they come, and the best."""
    factors = sorted(search.factors.values())
    return {
        "study": search.study.name,
        "combinations": search.deviations.size,
        "numbers": len(factors),
        "largest_deviation": factors[-1],
        "median_deviation": factors[len(factors) // 2],
        **{f"within_{limit:g}": search.within(limit) for limit in FACTORS},
        "best": "; ".join(f"{axis}: {value}" for axis, value in search.best.items()),
    }


def write_page(path: Path, found: Sequence[Search], options: Options) -> None:
    """All studies in Markdown."""
    header = (
        "study",
        "combinations",
        "numbers",
        "least largest factor",
        *(f"within {f:g}" for f in FACTORS),
    )
    lines = []
    for each in found:
        row = told(each)
        largest = row["largest_deviation"]
        lines.append(
            [
                each.study.name,
                f"{row['combinations']:,}",
                str(row["numbers"]),
                f"{largest:.3g}" if math.isfinite(largest) else "none",
                *(f"{row[f'within_{limit:g}']:,}" for limit in FACTORS),
            ]
        )
    parts = [INTRODUCTION, common.markdown_table(header, lines)]
    for each in found:
        parts += [f"## {each.study.name}", REMARKS[each.study.name], _axes(each), _numbers(each)]
    if options.quick:
        parts.insert(1, "A quick run: most combinations were left out.")
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    common.say(f"wrote {path}")


def _axes(search: Search) -> str:
    rows = [
        [axis, ", ".join(map(str, values)), str(search.best[axis])]
        for axis, values in search.study.axes.items()
    ]
    return common.markdown_table(("what is not printed", "tried", "of the best combination"), rows)


def _numbers(search: Search) -> str:
    """Numbers of the best combination beside the printed ones, the worst first."""
    factors = search.factors
    rows = []
    for name in sorted(factors, key=lambda name: -factors[name])[:SHOWN]:
        low, high = search.study.printed[name]
        printed = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        rows.append([name, printed, f"{search.found[name]:.3g}", f"{factors[name]:.3g}"])
    return common.markdown_table(
        ("worst numbers of the best combination", "printed", "found", "factor"), rows
    )


INTRODUCTION = """# What the papers do not print

Written by `python -m experiments.matching`. Some tables and figures cannot be computed from their
papers alone: bandwidths, units, grids, roots or normalisations are not printed. Here every such
choice is named, a set of values is tried for each, and **all** combinations are computed. Nothing
is fitted. A combination's deviation is the largest factor between any of its numbers and what is
printed (an interval where only the ends of an axis or a word are printed, one inside of it). The
table counts the combinations that come within a factor of everything."""

REMARKS = {
    "Table 3": """All 95 printed cells of Lin & Reimherr (2023), Table 3 (19 regions, five columns),
at once:
expected squared distances between what is released and the estimate without noise. "Half" and "a
quarter of
the bandwidth": the target is smoothed less than what is released. "Dropped": a reader that stumbles
over a
space within a number loses the counts of a million and more. **No combination comes within a factor
of 3.**
The nearest has no noise at all: the printed errors go with the smoothing, not with epsilon.""",
    "Figures 1 and 2": """The panels of Lin & Reimherr (2023), Figures 1 and 2, print the marks of
their axes and no other
number. Both figures show ICLP-RKHS with its plug-in penalty in S-4, and the text says that in
Figure 2 it
has the least error. At the largest n that error would then be at most .01 by the axis of Figure 2,
and at
least .1 by that of Figure 1: **the two axes contradict each other by a factor of 10**, so that
nothing that
both figures share comes nearer than its root, 3.16. The nearest combination is not far from that.""",
    "Figure 4": """The surfaces of Lin & Reimherr (2023), Figure 4, have no numbers. Compared is
what the text says of
them, in numbers that are ours. At the bandwidth n^(-1/6) with all components noise hides the density; a
wider kernel, or fewer components, shows what the text says. Many combinations do, so that the
figure does
not tell which was used.""",
    "Figure 5 (scenario 3)": """Mirshani, Reimherr & Slavkovic (2019), supplement, scenario 3: the
range .001 is printed for
all kernels, but enters C1 as d^2 / rho and the others as d / rho. Compared is what the text says:
"roughly
the same pattern", and paths with a derivative but for the exponential kernel. As printed the values
of its
path at neighbouring points have a correlation of .00004, whatever the penalty. Other readings of
rho fit:
the table names the best.""",
    "Table 2 (cross-validation)": """Mirshani, Reimherr & Slavkovic (2019), supplement, Table 2. The
number of a row is 1 / (share
of random splits that choose the printed penalty and range), one where every split does. The paper
shows one
split and does not print it.""",
}


if __name__ == "__main__":
    main()
