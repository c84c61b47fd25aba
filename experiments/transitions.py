"""Phase transitions of a private mean function: private or not, sparse or dense.

Cai, Chakraborty & Vuursteen (arXiv 2412.18992) and Xue, Lin & Yu (arXiv 2412.06582) prove at which rate
the mean of n curves of m points can be known under a budget epsilon, if it has alpha derivatives. Here
means have exactly so many: coefficient j of cosines is +-j^-(alpha + 1/2). The simulation knows alpha,
`PrivateMean` does not. Run `python -m experiments.transitions` (`--quick` for few draws). The library
draws with the bits of the system: the noise is not seeded.

epsilon stands for (2 rho)^(1/2) of rho-zCDP: the scale of normal noise is exactly proportional to
1 / (n epsilon) then, without the theorems' factor log(1/delta).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dpfda import Domain, PrivateMean
from dpfda.numerics.aggregate import IntegerSum
from dpfda.records import LongCurves
from dpfda.testing import exact_totals
from experiments import common
from experiments.common import Floats

SEED = 2026112801
ALPHAS = (1.0, 2.0)
# Means reach about half of the way between the bounds; curves move by three random functions.
BOUNDS, SIZE, SPREAD, ERRORS = (-1.0, 2.0), 0.25, (0.2, 0.2, 0.1), 0.2
FUNCTIONS, PUBLIC = 512, 1e3
DENSE, DRAWS, SPARSE_DRAWS = 128, 4, 3
SIZES = tuple(round(10 ** (k / 2)) for k in range(4, 11))
EPSILONS = tuple(10 ** (k / 2) for k in range(-4, 3))
GRIDS = (4, 6, 8, 12, 16, 32, 64)
GRID_SIZES = (100, 1000, 10_000, 100_000)
VISITS, VISIT_SIZES, VISIT_EPSILONS = (1, 4, 16, 64), (300, 3000, 30_000), (0.3, PUBLIC)
MOST_VISITS = 500_000
# Around where privacy begins to cost: n epsilon of 1,000 curves there, times 10^(k/4).
EDGE, EDGE_SIZES, EDGE_DRAWS, EDGES, STEPS = 512, SIZES[1:6], 12, (2000.0, 1100.0), (-1, 0, 1)
# Of so many units, all of them the mean itself: errors by n epsilon alone, of noise and smoothing.
MANY, FINE, SIGNALS = 10**9, 512, tuple(10 ** (k / 2) for k in range(4, 10))
# Where powers are read off: n epsilon of whole curves, and points of a grid.
MEASURED, COARSE = (100, 30_000), 12
LOOKS = (np.arange(1000) + 0.5) / 1000
# Of a mean of alpha 1 the functions beyond L have together this over L^2.
TAIL = SIZE**2 / (2 * sum(j**-3 for j in range(1, FUNCTIONS + 1)))

Case = tuple[str, float, int, int, float]
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write transitions.csv, transitions.md and transitions.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    draws = (1, 1, 1) if options.quick else (DRAWS, SPARSE_DRAWS, EDGE_DRAWS)
    few = [case for case in cases() if case[2] in (*SIZES[:3], VISIT_SIZES[0], MANY)][::5]
    chosen = few if options.quick else cases()
    every = {case: number for number, case in enumerate(cases())}

    def study(case: Case) -> list[Row]:
        count = {"independent": draws[1], "edge": draws[2]}.get(case[0], draws[0])
        generator = np.random.default_rng([options.seed, every[case]])
        found = np.array([error(case, generator) for _ in range(count)])
        names = ("design", "alpha", "n", "m", "epsilon")
        mean, spread = found.mean(), found.std(ddof=1) / math.sqrt(count) if count > 1 else math.nan
        return [{**dict(zip(names, case, strict=True)), "error": float(mean), "se": float(spread)}]

    common.resumed(options, "transitions.csv", chosen, study)  # type: ignore[arg-type]
    if not options.quick:
        rows = read(options.results / "transitions.csv")
        write_page(options.results / "transitions.md", rows)
        draw(options.results / "transitions.png", rows)


def cases() -> list[Case]:
    """All cells: whole curves by n and epsilon, grids by n and m, visits by n, m and epsilon."""
    found: list[Case] = []
    for alpha in ALPHAS:
        found += [("whole", alpha, n, DENSE, epsilon) for n in SIZES for epsilon in EPSILONS]
        found += [("common", alpha, n, m, PUBLIC) for n in GRID_SIZES for m in GRIDS]
        found += [
            ("independent", alpha, n, m, epsilon)
            for n in VISIT_SIZES
            for m in VISITS
            for epsilon in VISIT_EPSILONS
            if n * m <= MOST_VISITS
        ]
    found += [("many", alpha, MANY, FINE, signal / MANY) for alpha in ALPHAS for signal in SIGNALS]
    for alpha, edge in zip(ALPHAS, EDGES, strict=True):
        signals = [(n, edge * (n / 1000) ** (-1 / private_power(alpha))) for n in EDGE_SIZES]
        found += [("edge", alpha, n, EDGE, at * 10 ** (k / 4) / n) for n, at in signals for k in STEPS]
        found += [("carried", alpha, n, m, VISIT_EPSILONS[0]) for n in VISIT_SIZES for m in VISITS[1:]]
    return found


def smooth_mean(alpha: float, generator: np.random.Generator) -> Callable[[Floats], Floats]:
    """A mean with alpha derivatives and hardly more: +-j^-(alpha + 1/2) on cosines."""
    orders = np.arange(1, FUNCTIONS + 1)
    sizes = orders ** -(alpha + 0.5)
    signs = generator.choice((-1.0, 1.0), FUNCTIONS)
    coefficients = signs * sizes / np.sqrt(sizes @ sizes) * SIZE * math.sqrt(2)
    fine = np.linspace(0, 1, 8 * FUNCTIONS + 1)
    values = 0.5 + np.cos(np.pi * np.outer(fine, orders)) @ coefficients
    return lambda times: np.asarray(np.interp(times, fine, values))


def deviations(times: Floats) -> Floats:
    """The three functions (3, T) by which curves differ from their mean."""
    return np.array([size * np.cos(np.pi * k * times) for k, size in enumerate(SPREAD)])


def sampling() -> float:
    """Expected squared error of the mean of n whole curves, times n."""
    return SPREAD[0] ** 2 + (SPREAD[1] ** 2 + SPREAD[2] ** 2) / 2


def error(case: Case, generator: np.random.Generator) -> float:
    """Squared L2 distance of one release from the mean of the population.

    Less that of the mean of these very curves, whole and without noise, plus its expectation: the same
    on average, with most of the chance of sampling taken out.
    """
    design, alpha, n, m, epsilon = case
    true, grid = smooth_mean(alpha, generator), (np.arange(m) + 0.5) / m
    if design == "many":
        return _of_many(true(grid), grid, n, epsilon)
    scores = generator.standard_normal((3, n))
    if design in ("independent", "carried"):
        who, times = np.repeat(np.arange(n), m), generator.uniform(0, 1, n * m)
        values = true(times) + (scores[:, who] * deviations(times)).sum(axis=0)
        values += ERRORS * generator.standard_normal(n * m)
        X: Any = LongCurves(who, times, values)
        domain, mechanism = Domain(domain_range=(0, 1)), "gaussian"
    if design == "carried":
        grid = (np.arange(DENSE) + 0.5) / DENSE
        X = carried(times.reshape(n, m), values.reshape(n, m), grid)
        domain, mechanism = Domain(grid_points=grid), "auto"
    elif design != "independent":
        X = true(grid) + scores.T @ deviations(grid)
        domain, mechanism = Domain(grid_points=grid), "auto"
    mean = PrivateMean(rho=epsilon**2 / 2, bounds=BOUNDS, mechanism=mechanism, domain=domain)
    released = mean.fit(X).release_
    # Whole curves are those that were seen wherever the mean is asked for.
    looks = grid if design in ("whole", "edge") else LOOKS
    found = np.mean((released(np.clip(looks, *released.domain_range)) - true(looks)) ** 2)
    moves = deviations(looks)
    chance = np.mean((scores.mean(axis=1) @ moves) ** 2) - np.sum(moves**2) / looks.size / n
    return float(found - chance)


def carried(times: Floats, values: Floats, grid: Floats) -> Floats:
    """Visits (n, m) of each person by straight lines between them; it sees nobody else."""
    order = np.argsort(times, axis=1)
    pairs = zip(*(np.take_along_axis(each, order, axis=1) for each in (times, values)), strict=True)
    return np.array([np.interp(grid, time, value) for time, value in pairs])


def _of_many(curve: Floats, grid: Floats, n: int, epsilon: float) -> float:
    """Squared error of a release of n units with one curve: their sum is n times that of one."""
    domain = Domain(grid_points=grid)
    sums = PrivateMean(rho=epsilon**2 / 2, bounds=BOUNDS, domain=domain).pooled(n)
    one = exact_totals(sums.total(curve[None]))
    released = sums.publish(IntegerSum(len(one)).add_totals([n * number for number in one], n))
    return float(np.mean((released(grid) - curve) ** 2))


def functions(n: int) -> float:
    """Of a mean of alpha 1: beyond how many of its functions a third of the error of sampling is."""
    return math.sqrt(3 * n * TAIL / sampling())


def least(rows: Sequence[Row], alpha: float, n: int, m: int) -> float:
    """The smaller error of visits that are pooled and carried to a grid, under the budget."""
    own = some(rows, alpha=alpha, n=n, m=m, epsilon=VISIT_EPSILONS[0])
    return min(row["error"] for row in own if row["design"] in ("independent", "carried"))


def read(path: Path) -> list[Row]:
    """Rows of a table, with numbers as numbers."""
    rows = common.read_csv(path)
    return [{k: v if k == "design" else float(v) for k, v in row.items()} for row in rows]


def some(rows: Sequence[Row], **asked: object) -> list[Row]:
    """Rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in asked.items())]


def private_power(alpha: float) -> float:
    """Of n epsilon, in the error of whole curves under a budget."""
    return -4 * alpha / (2 * alpha + 1)


def without_sampling(row: Row) -> float:
    """The error less that of the mean of n whole curves."""
    return float(row["error"]) - sampling() / row["n"]


Fits = dict[str, tuple[float, float, float]]


def fitted(rows: Sequence[Row], alpha: float) -> Fits:
    """Of each law its power, as proved and as found, and the constant that goes with the proved one."""
    own = some(rows, alpha=alpha)
    public, private = (some(own, design="independent", epsilon=e) for e in (PUBLIC, VISIT_EPSILONS[0]))
    whole = [row for row in some(own, design="whole") if MEASURED[0] <= row["n"] * row["epsilon"]]
    curved = [row for row in whole if row["n"] * row["epsilon"] <= MEASURED[1]]
    grids = some(own, design="common", n=GRID_SIZES[-1])
    coarse = [row for row in grids if row["m"] <= COARSE]
    laws = {
        "budget": (curved, "n epsilon", private_power(alpha)),
        "grid": (coarse, "m", -2 * alpha),
        "visits": (public, "n m", -2 * alpha / (2 * alpha + 1)),
        "one visit, budget": (some(private, m=1.0), "n epsilon", -4 * alpha / (2 * alpha + 2)),
    }
    return {name: _fit(*law) for name, law in laws.items()}


def _fit(rows: Sequence[Row], by: str, power: float) -> tuple[float, float, float]:
    kept = [row for row in rows if without_sampling(row) > sampling() / row["n"]]
    at = [math.log(math.prod(row[name] for name in by.split())) for row in kept]
    errors = [math.log(without_sampling(row)) for row in kept]
    found = float(np.polyfit(at, errors, 1)[0])
    return power, found, math.exp(float(np.mean(np.array(errors) - power * np.array(at))))


def edges(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """For each n the n epsilon^2 at which noise and smoothing err as much as sampling.

    By the line through the logarithms of the errors around it.
    """
    found = []
    for n in sorted({row["n"] for row in rows}):
        own = some(rows, n=n)
        at, errors = (np.log([f(row) for row in own]) for f in (_signal, without_sampling))
        slope, height = np.polyfit(at, errors, 1)
        signal = math.exp((math.log(sampling() / n) - height) / slope)
        found.append((n, signal**2 / n))
    return found


def _signal(row: Row) -> float:
    return float(row["n"] * row["epsilon"])


def kinks(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """For each n the m at which the error is twice that of sampling, where it was passed."""
    found = []
    for n in sorted({row["n"] for row in rows}):
        line = sorted((math.log(row["m"]), math.log(row["error"] * n)) for row in some(rows, n=n))
        limit = math.log(2 * sampling())
        for (x, y), (x2, y2) in pairwise(line):
            if y > limit >= y2:
                found.append((n, math.exp(x + (x2 - x) * (y - limit) / (y - y2))))
                break
    return found


def kinks_of_many(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Numbers n of units with the n epsilon^2 at which noise and smoothing err as much as sampling."""
    rows = sorted(rows, key=lambda row: float(row["epsilon"]))
    sizes = [sampling() / row["error"] for row in rows]
    return [(n, (row["n"] * row["epsilon"]) ** 2 / n) for n, row in zip(sizes, rows, strict=True)]


def kink_power(found: Sequence[tuple[float, float]]) -> float:
    """Slope of the logarithms."""
    return float(np.polyfit(*np.log(np.array(found).T), 1)[0])


def write_page(path: Path, rows: Sequence[Row]) -> None:
    """Powers beside the theorems', and the picture."""
    laws = {
        "budget": "whole curves, private: power of n epsilon",
        "grid": "common grid, without noise: power of m",
        "visits": "visits at random, without noise: power of n m",
        "one visit, budget": "one visit a person, private: power of n epsilon",
    }
    lines = []
    for name, words in laws.items():
        pairs = [fitted(rows, alpha)[name][:2] for alpha in ALPHAS]
        lines.append([words, *(f"{value:.2f}" for pair in pairs for value in pair)])
    many = {alpha: kinks_of_many(some(rows, alpha=alpha, design="many"))[-4:] for alpha in ALPHAS}
    for words, found in (
        (
            "where privacy begins to cost: n epsilon^2 as a power of n",
            [edges(some(rows, alpha=alpha, design="edge")) for alpha in ALPHAS],
        ),
        ("the same, by errors without sampling", [*many.values()]),
        (
            "where grids begin to be dense: m as a power of n",
            [kinks(some(rows, alpha=alpha, design="common")) for alpha in ALPHAS],
        ),
    ):
        pairs = zip(ALPHAS, found, strict=True)
        powers = ((1 / (2 * alpha), kink_power(each)) for alpha, each in pairs)
        lines.append([words, *(f"{value:.2f}" for pair in powers for value in pair)])
    reach = " and ".join(f"{each[0][0]:,.0f} to {each[-1][0]:,.0f}" for each in many.values())
    head = ["", *(f"alpha {alpha:g}, {what}" for alpha in ALPHAS for what in ("proved", "found"))]
    visits = [
        [f"{alpha:g}", f"{n:,}", *(f"{least(rows, alpha, n, m):.2g}" for m in VISITS)]
        for alpha in ALPHAS
        for n in VISIT_SIZES
    ]
    columns = ["alpha", "persons", *(f"{m} visit{'s' * (m > 1)}" for m in VISITS)]
    text = f"""# Phase transitions: private or not, sparse or dense

Written by `python -m experiments.transitions`. No data are read; the noise is real.

Cai, Chakraborty & Vuursteen (arXiv 2412.18992) and Xue, Lin & Yu (arXiv 2412.06582) prove how well the
mean of n curves can be known that are seen at m points each, under a budget epsilon, if the mean has
alpha derivatives. For L functions the squared error is, up to constants and logarithms,

    1/n + L/(n m) + L (1 + L/m) / (n epsilon)^2 + L^(-2 alpha)

and the best L gives each rate below; on a common grid L/(n m) is 0 and m^(-2 alpha) is left. Whoever
knows alpha can choose L. `PrivateMean` does not: it is told n, the budget and bounds on values, and
smooths by the evidence of the noisy numbers themselves, in one and the same way for both alpha. The
means here are +-j^-(alpha + 1/2) on cosines, no smoother than said. epsilon is (2 rho)^(1/2).
{DRAWS} releases a cell, {SPARSE_DRAWS} for visits at random; the error of the sample's own mean is
replaced by its expectation.

![Errors by n, by m and by epsilon, with the theorems' lines](transitions.png)

Powers in the logarithm, where the error is more than twice that of sampling, for n epsilon from
{MEASURED[0]:,} to {MEASURED[1]:,}:

{common.markdown_table(head, lines)}

Lines in the picture have the powers that are proved, and one constant each, fitted to the points;
sampling, {sampling():.3g} / n, has none. Crosses are where noise and smoothing err as much as sampling.

**Where privacy begins to cost** is read off {EDGE_DRAWS} releases each of {EDGE_SIZES[0]:,} to
{EDGE_SIZES[-1]:,} curves of {EDGE} points, at three epsilon around it, by the line through the
logarithms of the errors. It cannot be read off the first picture: curves have {DENSE} points there, and
at this kink the best L grows as n^(1 / (2 alpha)). Of a mean of alpha 1 the functions beyond L hold
{TAIL:.2g} / L^2, a third of sampling at L = {functions(10_000):.0f} for 10,000 curves and
{functions(100_000):.0f} for 100,000. Where {DENSE} are all that there are, n epsilon^2 stays where it
is. For a hundred curves of alpha 2 L is about three, and no rate is seen yet. In the row below,
{MANY:,} units all have the mean as their curve, at {FINE} points: their sum is that many times the sum
of one, and released as any. Noise and smoothing err by n epsilon alone, so that each error says for
which n sampling has the same: {reach} (alpha 1 and 2).

**Visits under a budget**, at times of each person's own and epsilon {VISIT_EPSILONS[0]:g}. Of pooled
visits the noise is for any times, all in one cell included, and the same for every m: they have the
rate of one visit. Many visits are carried to {DENSE} points beforehand, by straight lines between a
person's own: they have the noise of whole curves, and a squared error of m^(-2 alpha) more. This is the
smaller error of both:

{common.markdown_table(columns, visits)}

It falls with m, from the rate of one visit to that of whole curves where there are about as many
visits as functions. Where there are fewer, the theorems' error falls with every visit and this one
hardly: their noise is for the length that visits at random times have with high probability, and ours
is for all times.
"""
    path.write_text(text, encoding="utf-8")
    common.say(f"wrote {path}")


def draw(path: Path, rows: Sequence[Row]) -> None:
    """A row of four pictures for each smoothness."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(ALPHAS), 4, figsize=(21, 9))
    for row_of_axes, alpha in zip(axes, ALPHAS, strict=True):
        own, fits = some(rows, alpha=alpha), fitted(rows, alpha)
        for ax in row_of_axes:
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.grid(alpha=0.3)
        _by_size(row_of_axes[0], some(own, design="whole"), fits)
        around = some(own, design="edge")
        _map(figure, row_of_axes[1], some(own, design="whole"), around, fits, alpha)
        _by_grid(row_of_axes[2], some(own, design="common"), fits, alpha)
        _by_visits(row_of_axes[3], own, fits)
        row_of_axes[0].set_ylabel(f"alpha = {alpha:g}\nmean squared error")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
    common.say(f"wrote {path}")


def _by_size(ax: Any, rows: Sequence[Row], fits: Fits) -> None:
    sizes = np.geomspace(SIZES[0], SIZES[-1], 200)
    power, _, constant = fits["budget"]
    for index, epsilon in enumerate(EPSILONS):
        line = some(rows, epsilon=float(f"{epsilon:.6g}"))
        ax.plot([r["n"] for r in line], [r["error"] for r in line], f"C{index}o", label=f"{epsilon:.2g}")
        proved = sampling() / sizes + constant * (sizes * epsilon) ** power
        ax.plot(sizes, np.where(sizes * epsilon > MEASURED[0] / 2, proved, np.nan), f"C{index}-")
    ax.plot(sizes, sampling() / sizes, "k:", label="sampling")
    ax.set_title("whole curves; lines: theorems")
    ax.set_xlabel("number of curves n")
    ax.legend(title="epsilon", frameon=False, fontsize=8, ncol=2)


def _map(
    figure: Any, ax: Any, rows: Sequence[Row], around: Sequence[Row], fits: Fits, alpha: float
) -> None:
    at = np.array([(r["n"], r["n"] * r["epsilon"] ** 2, r["error"] * r["n"] / sampling()) for r in rows])
    colours = np.clip(np.log10(at[:, 2]), 0, 3)
    shown = ax.scatter(at[:, 0], at[:, 1], c=colours, cmap="viridis", marker="s", s=160)
    figure.colorbar(shown, ax=ax, label="log10 of error / sampling")
    sizes = np.array([SIZES[0], SIZES[-1]], dtype=float)
    power, _, constant = fits["budget"]
    # Where the two terms are equal: (n epsilon)^power = sampling / (n constant).
    edge = (sampling() / constant / sizes) ** (2 / power) / sizes
    ax.plot(sizes, edge, "r-", label=f"theorem: n epsilon^2 ~ n^{1 / (2 * alpha):g}")
    ax.plot(*np.array(edges(around)).T, "rx", ms=9, label="found")
    ax.set_title("above the line privacy is free")
    ax.set_xlabel("number of curves n")
    ax.set_ylabel("n epsilon^2")
    ax.legend(frameon=True, fontsize=8, loc="lower right")


def _by_grid(ax: Any, rows: Sequence[Row], fits: Fits, alpha: float) -> None:
    points = np.geomspace(GRIDS[0], GRIDS[-1], 200)
    power, _, constant = fits["grid"]
    for index, n in enumerate(GRID_SIZES):
        line = some(rows, n=float(n))
        ax.plot([r["m"] for r in line], [r["error"] for r in line], f"C{index}o", label=f"{n:,}")
        ax.plot(points, sampling() / n + constant * points**power, f"C{index}-")
        kink = (constant * n / sampling()) ** (1 / (2 * alpha))
        if GRIDS[0] < kink < GRIDS[-1]:
            ax.plot(kink, 2 * sampling() / n, f"C{index}x", ms=10)
    ax.set_title("one grid, no noise; crosses: m ~ n^(1 / (2 alpha))")
    ax.set_xlabel("points m of each curve")
    ax.set_xticks(GRIDS, GRIDS)
    ax.minorticks_off()
    ax.legend(title="n", frameon=False, fontsize=8)


def _by_visits(ax: Any, rows: Sequence[Row], fits: Fits) -> None:
    visits = np.geomspace(VISITS[0], VISITS[-1], 200)
    power, _, constant = fits["visits"]
    private, _, scale = fits["one visit, budget"]
    dense, _, dense_scale = fits["budget"]
    for index, n in enumerate(VISIT_SIZES):
        for design, epsilon, mark, words in (
            ("independent", PUBLIC, "o", "no noise"),
            ("independent", VISIT_EPSILONS[0], "s", f"epsilon {VISIT_EPSILONS[0]:g}"),
            ("carried", VISIT_EPSILONS[0], "^", "carried"),
        ):
            line = some(rows, design=design, n=float(n), epsilon=epsilon)
            label = f"{n:,}, {words}"
            ax.plot([r["m"] for r in line], [r["error"] for r in line], f"C{index}{mark}", label=label)
        ax.plot(visits, sampling() / n + constant * (n * visits) ** power, f"C{index}-")
        signal = n * VISIT_EPSILONS[0]
        proved = scale * signal**private * visits ** (private / 2)
        # From so many visits on they are whole curves.
        ax.plot(visits, np.maximum(proved, dense_scale * signal**dense), f"C{index}:")
    ax.set_title("visits at random; dotted: theorems, private")
    ax.set_xlabel("visits m of each person")
    ax.set_xticks(VISITS, VISITS)
    ax.minorticks_off()
    low, high = ax.get_ylim()
    ax.set_ylim(low / 30, high)
    ax.legend(title="n", frameon=False, fontsize=8, ncol=2, loc="lower left")


if __name__ == "__main__":
    main()
