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
# Of so many units, all of them the mean itself: errors by n epsilon alone, of noise and smoothing.
MANY, FINE, SIGNALS = 10**9, 512, tuple(10 ** (k / 2) for k in range(4, 10))
# Where powers are read off: n epsilon of whole curves, and points of a grid.
MEASURED, COARSE = (100, 30_000), 12
LOOKS = (np.arange(1000) + 0.5) / 1000

Case = tuple[str, float, int, int, float]
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write transitions.csv, transitions.md and transitions.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    draws = (1, 1) if options.quick else (DRAWS, SPARSE_DRAWS)
    chosen = cases()[:: 11 if options.quick else 1]
    every = {case: number for number, case in enumerate(cases())}

    def study(case: Case) -> list[Row]:
        count = draws[case[0] == "independent"]
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
    if design == "independent":
        who, times = np.repeat(np.arange(n), m), generator.uniform(0, 1, n * m)
        values = true(times) + (scores[:, who] * deviations(times)).sum(axis=0)
        X: Any = LongCurves(who, times, values + ERRORS * generator.standard_normal(n * m))
        domain, mechanism = Domain(domain_range=(0, 1)), "gaussian"
    else:
        X = true(grid) + scores.T @ deviations(grid)
        domain, mechanism = Domain(grid_points=grid), "auto"
    mean = PrivateMean(rho=epsilon**2 / 2, bounds=BOUNDS, mechanism=mechanism, domain=domain)
    released = mean.fit(X).release_
    # Whole curves are those that were seen wherever the mean is asked for.
    looks = grid if design == "whole" else LOOKS
    found = np.mean((released(np.clip(looks, *released.domain_range)) - true(looks)) ** 2)
    moves = deviations(looks)
    chance = np.mean((scores.mean(axis=1) @ moves) ** 2) - np.sum(moves**2) / looks.size / n
    return float(found - chance)


def _of_many(curve: Floats, grid: Floats, n: int, epsilon: float) -> float:
    """Squared error of a release of n units with one curve: their sum is n times that of one."""
    domain = Domain(grid_points=grid)
    sums = PrivateMean(rho=epsilon**2 / 2, bounds=BOUNDS, domain=domain).pooled(n)
    one = exact_totals(sums.total(curve[None]))
    released = sums.publish(IntegerSum(len(one)).add_totals([n * number for number in one], n))
    return float(np.mean((released(grid) - curve) ** 2))


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


def kinks(rows: Sequence[Row], along: str) -> list[tuple[float, float]]:
    """For each n the place where the error is twice that of sampling, where it was passed."""
    found = []
    for n in sorted({row["n"] for row in rows}):
        line = sorted((math.log(row[along]), math.log(row["error"] * n)) for row in some(rows, n=n))
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
    for words, design, along in (
        ("where privacy begins to cost: n epsilon^2 as a power of n", "whole", "epsilon"),
        ("where grids begin to be dense: m as a power of n", "common", "m"),
    ):
        line = [words]
        for alpha in ALPHAS:
            found = kinks(some(rows, alpha=alpha, design=design), along)
            turned = [(n, n * at**2) for n, at in found] if along == "epsilon" else found
            line += [f"{1 / (2 * alpha):.2f}", f"{kink_power(turned):.2f}"]
        lines.append(line)
    line = ["the same for larger n, by errors without sampling"]
    found = {alpha: kinks_of_many(some(rows, alpha=alpha, design="many"))[-4:] for alpha in ALPHAS}
    for alpha in ALPHAS:
        line += [f"{1 / (2 * alpha):.2f}", f"{kink_power(found[alpha]):.2f}"]
    lines.insert(-1, line)
    reach = " and ".join(f"{each[0][0]:,.0f} to {each[-1][0]:,.0f}" for each in found.values())
    head = ["", *(f"alpha {alpha:g}, {what}" for alpha in ALPHAS for what in ("proved", "found"))]
    more = {
        alpha: [
            row["error"]
            for m in (VISITS[0], VISITS[-1])
            for row in some(rows, alpha=alpha, n=VISIT_SIZES[1], m=m, epsilon=VISIT_EPSILONS[0])
        ]
        for alpha in ALPHAS
    }
    gains = " and ".join(f"{last / first:.1f}" for first, last in more.values())
    text = f"""# Phase transitions: private or not, sparse or dense

Written by `python -m experiments.transitions`. No data are read; the noise is real.

Cai, Chakraborty & Vuursteen (arXiv 2412.18992) and Xue, Lin & Yu (arXiv 2412.06582) prove how well the
mean of n curves can be known that are seen at m points each, under a budget epsilon, if the mean has
alpha derivatives. For L functions the squared error is, up to constants and logarithms,

    1/n + L/(n m) + L (1 + L/m) / (n epsilon)^2 + L^(-2 alpha)

and the best L gives each rate below; on a common grid L/(n m) is 0 and m^(-2 alpha) is left. Whoever
knows alpha can choose L. `PrivateMean` does not: it is told n, the budget and bounds on values, and
smooths by the evidence of the noisy numbers themselves. The means here are +-j^-(alpha + 1/2) on
cosines, no smoother than said. epsilon is (2 rho)^(1/2). {DRAWS} releases a cell, {SPARSE_DRAWS} for
visits at random; the error of the sample's own mean is replaced by its expectation.

![Errors by n, by m and by epsilon, with the theorems' lines](transitions.png)

Powers in the logarithm, where the error is more than twice that of sampling, for n epsilon from
{MEASURED[0]:,} to {MEASURED[1]:,}:

{common.markdown_table(head, lines)}

Lines in the picture have the powers that are proved, and one constant each, fitted to the points;
sampling, {sampling():.3g} / n, has none. Crosses are where the error is twice that of sampling.

**What is not reached.** Under a budget, with visits at times of each person's own, the theorems' error
falls with m: their noise is for the length that a person's visits have with high probability, when times
are random. The noise of `PrivateMean` is for any times, all in one cell included, and the same for every
m. With {VISITS[-1]} visits in the place of {VISITS[0]}, {VISIT_SIZES[1]:,} persons and epsilon
{VISIT_EPSILONS[0]:g}, the error is {gains} times as large (alpha 1 and 2). Whoever has many visits a
person hands them over as curves on one grid, with the rate of whole curves.

**Where privacy begins to cost** moves more slowly with n than is proved, in the first sizes. Below n
epsilon of about 1,000 errors still fall faster than their rate, from what bounds and shapes say alone;
beyond 10,000 a mean of alpha 1 has no more than its {DENSE} points. Both bend the line down. The row
below it is of {MANY:,} units that all have the mean as their curve, at {FINE} points and n epsilon
of {SIGNALS[2]:,.0f} to {SIGNALS[-1]:,.0f}: their sum is that many times the sum of one, and released
as any. Noise and smoothing err by n epsilon alone, so that each error says for which n sampling has the
same: {reach} (alpha 1 and 2).
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
        _map(figure, row_of_axes[1], some(own, design="whole"), fits, alpha)
        _by_grid(row_of_axes[2], some(own, design="common"), fits, alpha)
        _by_visits(row_of_axes[3], some(own, design="independent"), fits, alpha)
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


def _map(figure: Any, ax: Any, rows: Sequence[Row], fits: Fits, alpha: float) -> None:
    at = np.array([(r["n"], r["n"] * r["epsilon"] ** 2, r["error"] * r["n"] / sampling()) for r in rows])
    colours = np.clip(np.log10(at[:, 2]), 0, 3)
    shown = ax.scatter(at[:, 0], at[:, 1], c=colours, cmap="viridis", marker="s", s=160)
    figure.colorbar(shown, ax=ax, label="log10 of error / sampling")
    sizes = np.array([SIZES[0], SIZES[-1]], dtype=float)
    power, _, constant = fits["budget"]
    # Where the two terms are equal: (n epsilon)^power = sampling / (n constant).
    edge = (sampling() / constant / sizes) ** (2 / power) / sizes
    ax.plot(sizes, edge, "r-", label=f"theorem: n epsilon^2 ~ n^{1 / (2 * alpha):g}")
    found = kinks(rows, "epsilon")
    ax.plot([n for n, _ in found], [n * e**2 for n, e in found], "rx", ms=9, label="found")
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
    ax.legend(title="n", frameon=False, fontsize=8)


def _by_visits(ax: Any, rows: Sequence[Row], fits: Fits, alpha: float) -> None:
    visits = np.geomspace(VISITS[0], VISITS[-1], 200)
    power, _, constant = fits["visits"]
    private, _, scale = fits["one visit, budget"]
    dense, _, dense_scale = fits["budget"]
    for index, n in enumerate(VISIT_SIZES):
        for epsilon, mark in ((PUBLIC, "o"), (VISIT_EPSILONS[0], "s")):
            line = some(rows, n=float(n), epsilon=epsilon)
            label = f"{n:,}, " + ("no noise" if epsilon == PUBLIC else f"epsilon {epsilon:g}")
            ax.plot([r["m"] for r in line], [r["error"] for r in line], f"C{index}{mark}", label=label)
        ax.plot(visits, sampling() / n + constant * (n * visits) ** power, f"C{index}-")
        signal = n * VISIT_EPSILONS[0]
        proved = scale * signal**private * visits ** (private / 2)
        # From so many visits on they are whole curves.
        ax.plot(visits, np.maximum(proved, dense_scale * signal**dense), f"C{index}:")
    ax.set_title("visits at random; dotted: theorems, private")
    ax.set_xlabel("visits m of each person")
    low, high = ax.get_ylim()
    ax.set_ylim(low / 30, high)
    ax.legend(title="n", frameon=False, fontsize=8, ncol=2, loc="lower left")


if __name__ == "__main__":
    main()
