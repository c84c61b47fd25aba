"""The page and the picture of `experiments.atlas`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.atlas_rivals import CELLS, COSINES
from experiments.best_mean_page import geometric_mean
from experiments.common import markdown_table, say

Row = dict[str, Any]
RIVALS = ("rule", "hindsight", "cosines", "before")
NAMES = {
    "rule": "expert's rule",
    "hindsight": "hindsight",
    "cosines": "cosines",
    "before": "default before",
}
# A difference below this share may be luck of the simulation: 200 draws a cell, six cells a set.
TIE = 0.03


@dataclass(frozen=True)
class Comparison:
    """Results of the present default and its rivals beside those of an earlier one.

    Parameters
    ----------
    found, before : mapping
        As in atlas.json and atlas_before.json.
    """

    found: Mapping[str, Any]
    before: Mapping[str, Any]

    @property
    def sets(self) -> list[str]:
        """Names of the sets, the default's best against the expert first."""
        return sorted(
            (row["name"] for row in self.found["sets"]), key=lambda name: self.over("rule", name)
        )

    @property
    def sizes(self) -> list[tuple[int, float]]:
        """Numbers of units and epsilons."""
        return list(dict.fromkeys((row["n"], row["epsilon"]) for row in self.found["errors"]))

    def errors(self, name: str | None = None, size: tuple[int, float] | None = None) -> list[Row]:
        """Rows of one set or size or of all, with the error of the earlier default."""
        earlier = {_key(row): row["default"] for row in self.before["errors"]}
        return [
            row | {"before": earlier[_key(row)]}
            for row in self.found["errors"]
            if name in (None, row["set"]) and size in (None, (row["n"], row["epsilon"]))
        ]

    def over(self, rival: str, name: str | None = None, size: tuple[int, float] | None = None) -> float:
        """Geometric mean of the default's error over a rival's."""
        return geometric_mean(row["default"] / row[rival] for row in self.errors(name, size))


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["set"], row["n"], row["epsilon"]


def bands_of(found: Mapping[str, Any], size: int | None = None, name: str | None = None) -> list[Row]:
    """Rows about bands at one size or all, of one set or all."""
    rows: list[Row] = found["bands"]
    return [row for row in rows if size in (None, row["n"]) and name in (None, row["set"])]


def holds(rows: Sequence[Row], what: str = "holds") -> float:
    """Share of releases whose band holds everywhere, or of another fact about them."""
    return statistics.fmean(row[what] for row in rows)


def width(rows: Iterable[Row]) -> float:
    """Median over releases of half the band's width over the line's error."""
    return statistics.median(each for row in rows for each in row["widths"])


def write_page(path: Path, found: Mapping[str, Any], before: Mapping[str, Any], picture: str) -> None:
    """Write the page."""
    path.write_text(page(found, before, picture), encoding="utf-8")
    say(f"wrote {path}")


def page(found: Mapping[str, Any], before: Mapping[str, Any], picture: str = "atlas.png") -> str:
    """The page in Markdown: every figure in it is computed from the results."""
    both = Comparison(found, before)
    return (
        "\n\n".join(
            [
                _introduction(both),
                "## Over all sets",
                _totals(both),
                f"![Error over that of the expert's rule, a set a line]({picture})",
                "## A set a line",
                _wins(both),
                _ratios(both),
                "## Errors",
                "Root mean square error in per cent of the public range, at epsilon = 1.",
                _errors(both),
                "## The band",
                _bands(both),
                _band_table(both),
            ]
        )
        + "\n"
    )


def _introduction(both: Comparison) -> str:
    found = both.found
    sizes = ", ".join(f"{n:,} at {epsilon:g}" for n, epsilon in both.sizes)
    return f"""# Honest baselines

How the default of `PrivateMean` with bounds on values fares beside what somebody could do by hand in an
afternoon, on {len(found["sets"])} sets of real curves. Written by `python -m experiments.atlas`, seed
{found["seed"]}; every figure is computed by it.

Of each set n curves are drawn with replacement and clipped to public bounds; every method releases their
mean under pure epsilon, one curve replaced. The error is the root mean square distance to the mean of
the clipped curves, over grid points and {found["draws"]} simulated releases. Numbers of curves and
epsilons: {sizes}. Every cell has a seed of its own.

{_methods(both)}

**In view.** All constants of the default were set with these sets in view, so no figure on this page is
from data that nobody had seen. On simulated curves that were not used to set them it gains less and
loses more ([accuracy](accuracy.md#what-is-not-reached)). What the default is and assumes: [one line
between bounds](default_mean.md). A ratio below 1 says that the default has the smaller error."""


def _methods(both: Comparison) -> str:
    cells, cosines = (f"{factor:g} (n epsilon)^{power:g}" for factor, power in (CELLS, COSINES))
    lines = [
        [
            "**default**",
            '`PrivateMean(epsilon, bounds=(lo, hi), mechanism="one-look")`: the line with all of the '
            "budget. The default spends .1 to .02 of it on [its band](default_mean.md#the-band), "
            "which by plans adds .07 to .02 to errors, and has [two looks](two_looks.md) from n epsilon "
            "of 5,000 on, which take .10 to .15 off",
            "a default. Constants set with these sets in view",
        ],
        [
            "**default before**",
            f"the same call in this library at commit {both.before['commit']}",
            "a default. Constants set on electricity, DTI and temperatures (three of these sets), "
            "deaths by age and simulated curves",
        ],
        [
            "**expert's rule**",
            f"box noise on M = max(3, round({cells})) cells of equal numbers of grid points, then a "
            "cubic smoothing spline, its smoothness fitted to the noisy averages by restricted maximum "
            "likelihood",
            f"one rule for all sets, near the best of its kind for them: {_rules(both.found['rules'])}",
        ],
        [
            "**cosines**",
            f"K = max(2, round({cosines})) cosines with K-norm noise of the l2 ball, shrunk with "
            "variances like j^-4 at a fitted level",
            "one rule for all sets, set with them in view",
        ],
        [
            "**hindsight**",
            "the expert's spline on the number of cells that is best for this set, n and epsilon, found "
            "with the true mean in hand",
            "tuned by the truth: a limit for the expert, not a method",
        ],
    ]
    # Words in all columns: no alignment to the right.
    header = ["name", "what it is", "default or tuned"]
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * 3, *lines])


def _rules(rules: Sequence[Row]) -> str:
    best = min(rules, key=lambda row: float(row["ratio"]))
    return (
        f"of {len(rules)} pairs of numbers the best for them, {best['factor']:g} and {best['power']:g}, "
        f"has {1 - best['ratio']:.1%} less error"
    )


def _totals(both: Comparison) -> str:
    lines = [
        [
            f"n = {n:,}, epsilon = {epsilon:g}",
            *(f"{both.over(rival, size=(n, epsilon)):.2f}" for rival in RIVALS),
        ]
        for n, epsilon in both.sizes
    ]
    lines.append(["**all**", *(f"**{both.over(rival):.2f}**" for rival in RIVALS)])
    for word, choose in (("best", min), ("worst", max)):
        lines.append(
            [f"{word} set", *(f"{choose(both.over(r, name) for name in both.sets):.2f}" for r in RIVALS)]
        )
    lines.append(
        [
            "worst set and size",
            *(f"{max(row['default'] / row[r] for row in both.errors()):.2f}" for r in RIVALS),
        ]
    )
    header = [
        "default's error over that of",
        *(f"the {NAMES[r]}" if r == "rule" else NAMES[r] for r in RIVALS),
    ]
    return markdown_table(header, lines)


def _wins(both: Comparison) -> str:
    def count(rival: str) -> str:
        ratios = [both.over(rival, name) for name in both.sets]
        better, worse = sum(x < 1 - TIE for x in ratios), sum(x > 1 + TIE for x in ratios)
        return f"{NAMES[rival]} {better} and {worse}"

    return (
        "Ratios of errors, geometric means over the six sizes, the default's best set first; the last "
        "column is its worst size against the expert's rule. Sets where the default is better, and "
        f"worse, by more than {100 * TIE:g} % (less may be luck of the simulation): "
        + "; ".join(count(rival) for rival in RIVALS)
        + ". The largest loss in one cell: "
        + "; ".join(_largest_loss(both, rival) for rival in RIVALS)
        + "."
    )


def _largest_loss(both: Comparison, rival: str) -> str:
    row = max(both.errors(), key=lambda row: float(row["default"] / row[rival]))
    cell = f"{_words(row['set'])} at n = {row['n']:,}, epsilon = {row['epsilon']:g}"
    return f"against {NAMES[rival]} {row['default'] / row[rival]:.2f} times, {cell}"


def _ratios(both: Comparison) -> str:
    facts = {row["name"]: row for row in both.found["sets"]}
    lines = []
    for name in both.sets:
        fact = facts[name]
        worst = max(row["default"] / row["rule"] for row in both.errors(name))
        bounds = f"{fact['low']:g} to {fact['high']:g} {fact['units']}"
        about = f"{_words(name)}: {fact['points']} points, {bounds}"
        lines.append([about, *(f"{both.over(rival, name):.2f}" for rival in RIVALS), f"{worst:.2f}"])
    return markdown_table(["default over", *(NAMES[rival] for rival in RIVALS), "worst size"], lines)


def _errors(both: Comparison) -> str:
    columns, sizes = ("default", *RIVALS), [(300, 1.0), (5_000, 1.0)]
    header = ["set", *(f"{_short(c)}, n = {n:,}" for n, _ in sizes for c in columns)]
    lines = []
    for name in both.sets:
        rows = [row for size in sizes for row in both.errors(name, size)]
        lines.append(
            [_words(name), *(f"{_two_digits(100 * row[column])}" for row in rows for column in columns)]
        )
    return markdown_table(header, lines)


def _bands(both: Comparison) -> str:
    found = both.found
    releases, level = found["releases"], found["level"]
    header = [
        "epsilon = 1", "holds everywhere, %", "sets that hold in under 60 %",
        "half-width over error, median", "line inside its band, %", "line and band within the bounds, %",
    ]  # fmt: skip
    lines = []
    for words, result in (("default", found), ("default before", both.before)):
        for size in (300, 5_000, None):
            rows = bands_of(result, size)
            low = sum(holds(bands_of(result, size, name)) < 0.6 for name in both.sets)
            shares = [f"{100 * holds(rows, what):.1f}" for what in ("holds", "inside", "bounded")]
            where = "both" if size is None else f"n = {size:,}"
            lines.append([f"{words}, {where}", shares[0], str(low), f"{width(rows):.1f}", *shares[1:]])
    return f"""The default band of level {level:g}, the library's `band()`: in how many of {releases}
releases a set and size the mean of the clipped curves lies in the band at all grid points, and half the
band's mean width over the error of the line in the same release (median). The band is *meant* to hold in
that share of releases of curves like ordinary ones: the noise is known exactly, what the mean does
between cells is assumed.

{markdown_table(header, lines)}"""


def _band_table(both: Comparison) -> str:
    header = [
        "set",
        *(
            f"{what}, n = {n:,}"
            for n in (300, 5_000)
            for what in ("holds", "half-width", "holds before")
        ),
    ]
    lines = []
    for name in both.sets:
        line = [_words(name)]
        for n in (300, 5_000):
            now, then = bands_of(both.found, n, name), bands_of(both.before, n, name)
            line += [f"{holds(now):.2f}", f"{width(now):.1f}", f"{holds(then):.2f}"]
        lines.append(line)
    return markdown_table(header, lines)


def _two_digits(value: float) -> str:
    return f"{value:#.2g}".rstrip(".")


def _words(name: str) -> str:
    return name.replace("_", " ")


def _short(column: str) -> str:
    return {"default": "default", "before": "before", "rule": "rule"}.get(column, column)


def draw_picture(path: Path, found: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Every method's error over that of the expert's rule, a set a line."""
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    both = Comparison(found, before)
    names = both.sets[::-1]
    own = {name: both.over("rule", name) for name in names}
    marks = (
        ("hindsight", "best number of cells, with the truth in hand", "|", "C7", 60),
        ("cosines", "cosines with K-norm noise", "x", "C1", 28),
        ("before", "this library's default before", "o", "C3", 26),
    )
    figure, axis = pyplot.subplots(figsize=(8, 9.5), layout="constrained")
    places = range(len(names))
    axis.axvline(1, color="black", linewidth=1)
    for column, label, mark, color, size in marks:
        values = [own[name] / both.over(column, name) for name in names]
        axis.scatter(values, places, size, color, marker=mark, label=label, linewidths=1.4, alpha=0.8)
    axis.scatter(list(own.values()), places, 40, "C0", label="this library's default", zorder=3)
    axis.set_xscale("log")
    axis.set_xticks([0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 3])
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(places, [_words(name) for name in names], fontsize=9)
    axis.set_ylim(-0.7, len(names) - 0.3)
    axis.grid(axis="y", alpha=0.25)
    axis.set_xlabel("error over that of the expert's rule (geometric mean of six sizes); left is better")
    axis.set_title(f"Mean of n curves, each protected at pure epsilon: {len(names)} sets of real curves")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    say(f"wrote {path}")
