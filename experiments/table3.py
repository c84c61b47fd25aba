"""Table 3 and Figure 7 of Lin & Reimherr (2023): deaths by age in 19 regions, epsilon = 1.

Run `python -m experiments.table3` (`--quick` for few draws) with DPFDA_DATA_DIR set.

The paper prints neither its preprocessing nor its bandwidth nor the unit of its errors. What is taken
here: deaths 2015-2020 in five-year ages at the middle of each group, ages over 105, a Gaussian kernel of
bandwidth 0.08, n = deaths in thousands. One factor, the same for all cells, brings squared L2 distances
on [0, 1] to the size of the printed numbers; it is fitted to the Bernstein columns, so that their mean
size is no finding.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from dpfda import PrivateDensity
from dpfda.testing import simulate_density
from experiments import common
from experiments.additive import LaplaceRelease
from experiments.common import Floats, Options
from experiments.density_recipe import (
    Kernel,
    bernstein,
    best_iid_laplace,
    gaussian,
    iclp,
    one_draw,
)

SEED = 2026112631
EPSILON = 1.0
PERIOD = "2015-2020"
END = 105
EDGES = np.linspace(0, END, 22)
CELLS = 210
MIDDLE = (np.arange(CELLS) + 0.5) / CELLS
BANDWIDTH = 0.08
# Draws of each printed mean.
DRAWS, QUICK_DRAWS = 200, 5
PRINTED = {
    "rkhs_1.01": "ICLP, eta = 1.01",
    "rkhs_1.05": "ICLP, eta = 1.05",
    "iid_laplace": "IID Laplace",
    "bernstein_10": "Bernstein, K = 10",
    "bernstein_20": "Bernstein, K = 20",
}
FITTED = ("bernstein_10", "bernstein_20")
# What is one unit: a thousand deaths, as the printed standard errors suggest, or a death.
UNITS = {"library_thousands": 1, "library_persons": 1000}

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all regions and write table3.csv, table3.md and figure7.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows, curves = run(options)
    common.write_csv(options.results / "table3.csv", rows)
    write_page(options.results / "table3.md", rows, options)
    draw_picture(options.results / "figure7.png", curves)


def deaths() -> dict[str, Floats]:
    """Deaths in thousands by five-year age, a region each."""
    path = common.data_folder() / "wpp2019_deaths_by_age.csv"
    if not path.is_file():
        raise SystemExit(f"{common.DATA_VARIABLE} must name a folder that holds {path.name}.")
    found: dict[str, list[float]] = {}
    with path.open(encoding="utf-8") as handle:
        for line in csv.DictReader(handle):
            if line["period"] == PERIOD:
                found.setdefault(line["region"], []).append(float(line["deaths_thousands"]))
    return {region: np.array(counts) for region, counts in found.items()}


def run(options: Options) -> tuple[list[Row], dict[str, dict[str, Floats]]]:
    """One row a region and mechanism, and one draw of each for the picture."""
    generator = np.random.default_rng(options.seed)
    draws = QUICK_DRAWS if options.quick else DRAWS
    table, rows, curves = deaths(), [], {}
    kernel = Kernel(MIDDLE[:, None], 1.0, BANDWIDTH, gaussian)
    for line in common.shown(common.printed("table3"), "table 3"):
        region = line["region"]
        counts = table[region]
        shares = np.repeat(counts / counts.sum(), CELLS // counts.size) * (counts.size / CELLS)
        plain = kernel.estimate(shares)
        releases = recipe(kernel, shares, round(counts.sum()), plain)
        drawn = {name: one_draw(release, EPSILON, generator) for name, release in releases.items()}
        curves[region] = {"without noise": plain, **drawn}
        for name, release in releases.items():
            rows.append(reproduced(line, name, release, plain, float(counts.sum())))
        for name, multiplier in UNITS.items():
            made, curve = library(counts, multiplier, draws, generator)
            rows.append(honest(line, name, made, float(counts.sum())))
            curves[region][name] = curve
    return scaled(rows), curves


def recipe(kernel: Kernel, shares: Floats, size: int, plain: Floats) -> dict[str, LaplaceRelease]:
    """The five mechanisms at the printed scale."""
    return {
        "rkhs_1.01": iclp(kernel, shares, size, 1.01),
        "rkhs_1.05": iclp(kernel, shares, size, 1.05),
        "iid_laplace": best_iid_laplace(kernel, shares, size, range(2, 25), plain),
        "bernstein_10": bernstein(kernel, shares, size, 10),
        "bernstein_20": bernstein(kernel, shares, size, 20),
    }


def reproduced(
    line: dict[str, str], name: str, release: LaplaceRelease, plain: Floats, size: float
) -> Row:
    """A printed cell beside the recipe's expectation, on [0, 1]."""
    value, error = float(line[name]), float(line[f"{name}_se_1e3"]) / 1000
    # A squared length |b + z|^2 with noise z small beside b deviates by 2 |b| times the noise along b.
    along = error * math.sqrt(DRAWS) / (2 * math.sqrt(value))
    return {
        "region": line["region"],
        "deaths_thousands": size,
        "mechanism": name,
        "printed": value,
        "printed_se": error,
        "printed_noise_times_n": along * size,
        "distance": release.expected(plain, EPSILON),
        "distance_se": release.deviation(plain, EPSILON) / math.sqrt(DRAWS),
    }


def library(
    counts: Floats, multiplier: int, draws: int, generator: np.random.Generator
) -> tuple[list[float], Floats]:
    """Squared distances of the library's density to the same without noise, in units of [0, 1].

    Parameters
    ----------
    counts : array (21,)
        Deaths in thousands.
    multiplier : int
        Units a thousand deaths.
    draws : int
    generator : numpy Generator
    """
    density = PrivateDensity(EPSILON, unit="unit")
    whole = np.rint(counts * multiplier).astype(np.int64)
    prepared = density.prepare_counts(whole, EDGES)
    exact = simulate_density(prepared, generator, noise=False).on_grid() * END
    found = [simulate_density(prepared, generator).on_grid() * END for _ in range(draws)]
    last = found[-1].reshape(-1)
    picture = np.interp(MIDDLE, (np.arange(last.size) + 0.5) / last.size, last)
    return [float(np.mean((each - exact) ** 2)) for each in found], picture


def honest(line: dict[str, str], name: str, distances: list[float], size: float) -> Row:
    """A row of the library, which has no printed counterpart."""
    return {
        "region": line["region"],
        "deaths_thousands": size,
        "mechanism": name,
        "printed": "",
        "printed_se": "",
        "printed_noise_times_n": "",
        "distance": float(np.mean(distances)),
        "distance_se": float(np.std(distances)) / math.sqrt(len(distances)),
    }


def scaled(rows: list[Row]) -> list[Row]:
    """Distances times the one factor that fits the Bernstein columns."""
    fitted = [row for row in rows if row["mechanism"] in FITTED]
    factor = math.exp(np.mean([math.log(row["printed"] / row["distance"]) for row in fitted]))
    return [row | {"factor": factor, "in_printed_units": factor * row["distance"]} for row in rows]


def write_page(path: Path, rows: Sequence[Row], options: Options) -> None:
    """The table in Markdown, with what was matched and what was not."""
    keyed = {(row["region"], row["mechanism"]): row for row in rows}
    regions = list(dict.fromkeys(row["region"] for row in rows))
    lines = []
    for region in regions:
        found = {name: keyed[region, name] for name in (*PRINTED, *UNITS)}
        cells = [f"{found[m]['printed']:.3g} / {found[m]['in_printed_units']:.3g}" for m in PRINTED]
        ours = [f"{found[m]['in_printed_units']:.2g}" for m in UNITS]
        first = found["bernstein_20"]
        size, noise = f"{first['deaths_thousands']:.0f}", f"{first['printed_noise_times_n']:.0f}"
        lines.append([region, size, *cells, *ours, noise])
    header = ["region", "deaths (thousands)", *PRINTED.values()]
    header += ["library, 1000 deaths", "library, 1 death", "noise times n"]
    parts = [
        "# Table 3 of Lin & Reimherr (2023): deaths by age in 19 regions",
        f"""Written by `python -m experiments.table3`, seed {options.seed}. A cell is printed / recipe.
Errors are squared L2 distances on [0, 1] times {rows[0]["factor"]:.0f}, a factor fitted to the two
Bernstein columns, because the paper names no unit. The recipe's numbers are exact expectations at the
printed scale; the best M of IID Laplace knows the target (NOT PRIVATE).""",
        f"""The last columns: the library's density at epsilon = 1 against the same without noise, in the
same unit, with a thousand deaths or one death as the unit of privacy
({QUICK_DRAWS if options.quick else DRAWS} draws); and the noise that the printed standard errors of
Bernstein, K = 20, imply, times n in thousands.""",
        common.markdown_table(header, lines),
        "## What is matched",
        _matched(keyed, regions),
        _conclusions(keyed, regions),
        "![Figure 7](figure7.png)",
    ]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    common.say(f"wrote {path}")


def _matched(keyed: dict[tuple[str, str], Row], regions: Sequence[str]) -> str:
    lines = []
    for name, title in PRINTED.items():
        cells = [keyed[region, name] for region in regions]
        ratios = np.array([cell["printed"] / cell["in_printed_units"] for cell in cells])
        ranks = spearmanr([c["printed"] for c in cells], [c["distance"] for c in cells]).statistic
        within = int(np.sum(np.abs(np.log(ratios)) <= math.log(2)))
        middle = f"{math.exp(np.mean(np.log(ratios))):.2g}"
        span = f"{ratios.min():.2g} to {ratios.max():.2g}"
        lines.append([title, middle, span, f"{within} of {len(regions)}", f"{ranks:.2f}"])
    header = ["mechanism", "printed / recipe", "range", "within a factor of 2", "rank correlation"]
    return common.markdown_table(header, lines)


def _conclusions(keyed: dict[tuple[str, str], Row], regions: Sequence[str]) -> str:
    least = {
        name: min(
            keyed[region, other]["printed"] / keyed[region, name]["in_printed_units"]
            for region in regions
            for other in PRINTED
        )
        for name in UNITS
    }
    thousands, persons = least["library_thousands"], least["library_persons"]
    return f"""- The library's error is below every printed error of its region: {thousands:.0f} times at
  least with a thousand deaths as a unit, {persons:.1e} times with one.
- Matched: the order of the regions under Bernstein, whose error is nearly all bias, and its size in most
  of them. The mean size is fitted.
- Not matched: the ICLP columns. With a kernel of this bandwidth an operator power of 1.01 or 1.05
  changes the estimate by far less than the printed errors, so these hold something else, such as another
  bandwidth or scale than that of the non-private estimate; that all five columns share about 20 in
  Australia/New Zealand points there too. The printed errors of IID Laplace would be biases of very few
  components.
- The printed standard errors imply noise that falls like 1/n with n in thousands of deaths in ten of the
  regions (last column: 10 to 13). In the nine with more than 9 million deaths it is 6 to 140 times
  larger, for which we have no explanation."""


STYLES = {
    "without noise": ("black", "-", "kernel estimate without noise"),
    "rkhs_1.01": ("#d55e00", "--", "ICLP, eta = 1.01"),
    "rkhs_1.05": ("#cc79a7", "--", "ICLP, eta = 1.05"),
    "iid_laplace": ("#0072b2", ":", "IID Laplace (best M NOT PRIVATE)"),
    "bernstein_20": ("#e69f00", "-", "Bernstein, K = 20"),
    "library_thousands": ("#009e73", "-", "library, a thousand deaths a unit"),
}


def draw_picture(path: Path, curves: dict[str, dict[str, Floats]]) -> None:
    """A panel a region, as in Figure 7."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(5, 4, figsize=(14, 14), sharex=True, layout="constrained")
    for ax, (region, drawn) in zip(axes.flat, curves.items(), strict=False):
        for name, (colour, line, _) in STYLES.items():
            ax.plot(MIDDLE * END, drawn[name] / END, color=colour, linestyle=line, linewidth=1.2)
        ax.set_title(region, fontsize=10)
        ax.grid(alpha=0.3)
    last = axes.flat[-1]
    last.axis("off")
    for colour, line, title in STYLES.values():
        last.plot([], [], color=colour, linestyle=line, label=title)
    last.legend(loc="center", fontsize="small", frameon=False)
    for ax in axes[-1]:
        ax.set_xlabel("age at death (years)")
    for ax in axes[:, 0]:
        ax.set_ylabel("density (per year)")
    figure.suptitle("Figure 7 of Lin & Reimherr (2023): one private density each, epsilon = 1")
    figure.savefig(path, dpi=80)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
