"""Numbers behind docs/errata.md: what the papers state beside what a computation finds.

Run `python -m experiments.errata`. Without DPFDA_DATA_DIR the checks that need data are left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from experiments import common, errata_gaussian, recipe
from experiments.common import Floats
from experiments.recipe import Sample, eigenpairs

SEED = 2026112612
Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all checks and write errata.csv."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    checks: list[Callable[[], list[Row]]] = [*FROM_FORMULAS]
    if os.environ.get(common.DATA_VARIABLE):
        checks += FROM_DATA
    rows = [row for check in common.shown(checks, "errata") for row in check()]
    common.write_csv(options.results / "errata.csv", rows)
    print(common.markdown_table(["check", "quantity", "stated", "found"], [_cells(r) for r in rows]))


def _row(check: str, quantity: str, stated: float | str, found: float) -> Row:
    return {"check": check, "quantity": quantity, "stated": stated, "found": found}


def _cells(row: Row) -> list[str]:
    numbers = [f"{v:.4g}" if isinstance(v, float) else str(v) for v in list(row.values())[2:]]
    return [row["check"], row["quantity"], *numbers]


def grid(points: int) -> Floats:
    """Equally spaced points of [0, 1]."""
    return np.linspace(0, 1, points)


def variance_one() -> list[Row]:
    """Theorem 7 with the variables of Definition 2: largest log density ratio at nominal epsilon 1."""
    law = stats.laplace(scale=math.sqrt(0.5))  # variance 1
    at = np.linspace(-20, 20, 4001)
    # One component, h = Delta lambda^(1/2) and sigma = Delta/epsilon: a shift of one unit.
    found = float(np.max(np.abs(law.logpdf(at - 1) - law.logpdf(at))))
    return [_row("Theorem 7", "epsilon at nominal 1", 1.0, found)]


def soft_threshold() -> list[Row]:
    """Theorem 9 for a negative coefficient: the statement, the proof's line, and the minimiser."""
    mean, penalty = -0.5, 0.4
    theta = np.linspace(-1, 1, 400_001)
    found = float(theta[np.argmin((mean - theta) ** 2 + penalty * np.abs(theta))])
    statement = np.sign(abs(mean)) * max(abs(mean) - penalty / 2, 0.0)
    proof = np.sign(mean - penalty / 2) * max(mean - penalty / 2, 0.0)
    return [
        _row("Theorem 9, statement", "estimate of a coefficient -0.5", float(statement), found),
        _row("Theorem 9, proof", "estimate of a coefficient -0.5", float(proof), found),
    ]


def squared_norm() -> list[Row]:
    """Theorem 11 with the norm as printed (not squared), by brute-force minimisation."""
    values, mean, psi, eta = np.array([0.5, 0.1]), np.array([0.6, 0.3]), 0.2, 1.25
    penalties = {
        "not squared": lambda t: math.sqrt(float(np.sum(t**2 / values**eta))),
        "squared": lambda t: float(np.sum(t**2 / values**eta)),
    }
    stated = values**eta / (values**eta + psi) * mean
    rows = []
    for name, penalty in penalties.items():
        best = optimize.minimize(
            lambda t, penalty=penalty: float(np.sum((mean - t) ** 2)) + psi * penalty(t),
            stated,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-13},
        )
        rows.append(_row("Theorem 11", f"second coefficient, norm {name}", float(stated[1]), best.x[1]))
    return rows


def truncation_number() -> list[Row]:
    """Theorem 9's J without the 2: a pair of data sets that the stated sensitivity misses."""
    values, _ = eigenpairs("matern32", grid(100))
    eta, size, bound = 3.0, 100, 1.0
    psi = 1.5 * bound * values[0] ** (eta / 2)
    # The inequality is turned round: as printed it holds for all large j and there is no largest.
    kept = int(np.sum(bound > psi / values ** (eta / 2)))
    stated = 2 * bound / size * np.sum(values[:kept] ** (-eta / 2))
    threshold = psi / (2 * values[0] ** (eta / 2))
    first, second = (max(mean - threshold, 0.0) for mean in (bound, bound - 2 * bound / size))
    return [
        _row("Theorem 9, J", "number of components that can move", float(kept), float(kept + 1)),
        _row("Theorem 9, J", "sensitivity", float(stated), (first - second) / math.sqrt(values[0])),
    ]


def exponent_of_the_sum() -> list[Row]:
    """Theorem 9's sum with the exponent eta/2, the plain sum, and the bound on the l2 ball."""
    values, _ = eigenpairs("matern32", np.linspace(0.001, 0.999, 48))
    kept = values[:10]
    needed = math.sqrt(np.sum(1 / kept))
    return [
        _row("Theorem 9, sum", "sensitivity n/(2 tau), exponent eta/2", np.sum(kept**-1.5), needed),
        _row("Theorem 9, sum", "sensitivity n/(2 tau), exponent 1/2", np.sum(kept**-0.5), needed),
    ]


def exponent_for_a_large_kernel() -> list[Row]:
    """The same sum where eigenvalues exceed one: one coefficient alone moves the mean further."""
    values = 100 * eigenpairs("matern32", grid(100))[0]
    eta, size, bound, psi = 3.0, 1000, 1.0, 10.0
    thresholds = psi / (2 * values ** (eta / 2))
    can_move = thresholds + 2 * bound / size < bound
    kept = int(np.sum(2 * thresholds < bound))
    stated = 2 * bound / size * np.sum(values[:kept] ** (-eta / 2))
    # A mean of length tau along the last coefficient that can move, one record turned round.
    found = 2 * bound / size / math.sqrt(values[can_move][-1])
    return [
        _row("Theorem 9, sum", f"sensitivity, kernel variance 100, J = {kept}", float(stated), found)
    ]


def plug_in_on_the_l2_ball() -> list[Row]:
    """Power of n in n E|noise|^2 for psi = n^(-5/4): zero on the l1 ball, 1/4 on the l2 ball."""
    values = np.arange(1.0, 20_001) ** -4
    eta = 1.25
    powers = {}
    for norm in ("l1", "l2"):
        costs = []
        for size in (1e8, 1e10):
            slopes = values ** (eta - 0.5) / (values**eta + size**-eta)
            square = slopes.max() ** 2 if norm == "l1" else np.sum(slopes**2)
            costs.append(size * 2 * values.sum() * (2 / size) ** 2 * square)
        powers[norm] = math.log(costs[1] / costs[0]) / math.log(100)
    return [_row("Theorem 13", f"power of n, {norm} ball", 0.0, power) for norm, power in powers.items()]


def density_sensitivity() -> list[Row]:
    """Theorem 14 with 2 M for 2 M^(1/2): a pair of points against the stated sensitivity, times n."""
    eta, rows = 1.3, []
    values, functions = eigenpairs("matern32", grid(200))
    for variance in (1.0, 0.1, 0.01):
        scaled = variance * values
        elements = scaled[:, None] ** eta * functions
        largest = float(np.max(np.sum(scaled[:, None] ** eta * functions**2, axis=0)))
        root = math.sqrt(np.sum(scaled ** (eta - 1)))
        norms = (
            np.abs(elements[:, :, None] - elements[:, None, ::8]) / np.sqrt(scaled)[:, None, None]
        ).sum(0)
        quantity = f"kernel variance {variance:g}: sensitivity times n, the root"
        rows += [
            _row("Theorem 14", quantity + " left out", 2 * largest * root, float(norms.max())),
            _row("Theorem 14", quantity + " taken", 2 * math.sqrt(largest) * root, float(norms.max())),
        ]
    return rows


def bandwidth() -> list[Row]:
    """Remark 15: the risk's h^4 at n = 10^4 in one dimension, with the printed sign and the other."""
    size = 1e4
    risks = {s: size ** (4 * s) + 1 / (size * size**s) + 1 / (size * size**s) ** 2 for s in (0.2, -0.2)}
    return [_row("Remark 15", "risk up to constants, n = 10^4", risks[0.2], risks[-0.2])]


def scale_from_the_data() -> list[Row]:
    """Log density ratio of Laplace noise whose scale differs by 1 per cent between neighbours."""
    rows = []
    for place in (1e1, 1e3, 1e5):
        ratio = place - place / 1.01 - math.log(1.01)
        rows.append(
            _row("bounds read from the data", f"log ratio {place:g} scales out", "bounded", ratio)
        )
    return rows


def classical_gaussian() -> list[Row]:
    """First epsilon (in steps of 0.1) where sigma = Delta (2 log(2/delta))^(1/2)/epsilon falls short."""
    epsilons = np.arange(1, 500) / 10
    rows = []
    for delta in (0.1, 1e-2, 1e-4, 1e-6, 1e-8):
        mu = epsilons / math.sqrt(2 * math.log(2 / delta))
        first = special.log_ndtr(mu / 2 - epsilons / mu)
        second = epsilons + special.log_ndtr(-mu / 2 - epsilons / mu)
        found = np.exp(first) * -np.expm1(second - first)
        short = float(epsilons[np.argmax(found > delta)])
        rows.append(
            _row("classical Gaussian scale", f"falls short at delta = {delta:g} from", ">1", short)
        )
    return rows


def unweighted_eigenvalues() -> list[Row]:
    """Algorithm 1 diagonalises C without 1/m: factor of the tenth component for one psi."""
    rows = []
    for points in (50, 100, 200):
        values, _ = eigenpairs("matern32", grid(points))
        weighted, plain = (v**1.25 / (v**1.25 + 1e-2) for v in (values[9], points * values[9]))
        rows.append(_row("Algorithm 1", f"tenth factor, {points} points", float(plain), float(weighted)))
    return rows


def _samples() -> dict[str, Sample]:
    raw = {"electricity": common.electricity(), "dti_cca": common.scans()[0]}
    return {name: Sample.of(curves) for name, curves in raw.items()}


def _lines() -> list[dict[str, str]]:
    return common.printed("table2")


def missing_root() -> list[Row]:
    """Table 2, RKHS: exact error with and without the sqrt(2), over the printed one."""
    samples, ratios = _samples(), {True: [], False: []}
    for line in _lines():
        sample = samples[line["dataset"]]
        for correct, found in ratios.items():
            release = recipe.iclp_rkhs(sample, line["kernel"], correct)
            found.append(
                release.expected(sample.mean, float(line["epsilon"])) / float(line["iclp_rkhs"])
            )
    words = {False: "without sqrt(2)", True: "with sqrt(2)"}
    return [
        _row("Table 2, RKHS", f"{end} exact / printed, {words[c]}", 1.0, float(f(ratios[c])))
        for c in ratios
        for end, f in (("least", min), ("largest", max))
    ]


def best_truncation() -> list[Row]:
    """Table 2, IID Laplace: with the right scale and the best M, against the printed RKHS column."""
    rows, samples = [], _samples()
    for line in _lines():
        if line["kernel"] == "matern32":
            sample, epsilon = samples[line["dataset"]], float(line["epsilon"])
            errors = [
                recipe.iid_laplace(sample, "matern32", count, correct=True).expected(
                    sample.mean, epsilon
                )
                for count in range(1, sample.grid.size + 1)
            ]
            quantity = f"{line['dataset']}, epsilon {epsilon:g}: printed RKHS, IID with best M"
            rows.append(_row("Table 2, ranking", quantity, float(line["iclp_rkhs"]), min(errors)))
    return rows


def true_epsilons() -> list[Row]:
    """Table 2: true over nominal epsilon, if the bounds were public numbers."""
    return [
        _row("Table 2, scale", f"{name}, {kernel}, {mechanism}: true / nominal epsilon", 1.0,
             recipe.true_over_nominal(mechanism, sample, kernel))
        for name, sample in _samples().items()
        for kernel in recipe.SMOOTHNESS
        for mechanism in recipe.RECIPES
    ]  # fmt: skip


def bernstein_bias() -> list[Row]:
    """Table 2, Bernstein: printed error minus exact noise, against the polynomial's bias."""
    rows, samples = [], _samples()
    for line in _lines():
        if line["kernel"] == "matern32":
            sample, epsilon = samples[line["dataset"]], float(line["epsilon"])
            release = recipe.bernstein(sample)
            rest = float(line["bernstein"]) - release.noise_power(epsilon)
            quantity = f"{line['dataset']}, epsilon {epsilon:g}: printed - noise, bias"
            rows.append(_row("Table 2, Bernstein", quantity, rest, release.bias(sample.mean)))
    return rows


def l1_threshold() -> list[Row]:
    """Table 2, ICLP-l1: the factor of psi lambda_j^(-3/2) that the floor at epsilon = 4 asks for."""
    rows, samples = [], _samples()
    for line in _lines():
        if float(line["epsilon"]) == 4:
            sample, kernel = samples[line["dataset"]], line["kernel"]
            values, functions = eigenpairs(kernel, sample.grid)
            means = np.abs(functions * sample.weights @ sample.mean)
            levels = sample.l2_bound / sample.size * values**-1.5
            floor = float(line["iclp_l1"]) - recipe.iclp_l1(sample, kernel).noise_power(4.0)
            factor = optimize.brentq(
                lambda k, m=means, t=levels, f=floor: float(np.sum(np.minimum(m, k * t) ** 2)) - f,
                0.1,
                10,
            )
            rows.append(_row("Table 2, ICLP-l1", f"{line['dataset']}, {kernel}: factor", 0.5, factor))
    return rows


def matched_noise() -> list[Row]:
    """Electricity, epsilon 1/8, l1 ball: honest ICLP-RKHS, and noise of scale s_j 2 tau/(n epsilon)."""
    sample = _samples()["electricity"]
    values, functions = eigenpairs("matern32", sample.grid)
    iclp = recipe.iclp_rkhs(sample, "matern32", correct=True)
    psi = 2 * (sample.size / sample.l2_bound) ** -recipe.ETA_RKHS
    shrinkage = values**recipe.ETA_RKHS / (values**recipe.ETA_RKHS + psi)
    scales = shrinkage * 2 * sample.l1_bound(functions) / sample.size
    matched = recipe.LaplaceRelease(iclp.center, functions, scales, sample.weights)
    errors = [r.expected(sample.mean, 0.125) for r in (iclp, matched)]
    return [
        _row("kernel-shaped noise", "error of honest ICLP-RKHS, of matched noise", *errors),
        _row(
            "kernel-shaped noise",
            "largest matched / ICLP scale",
            1.0,
            float(np.max(scales / iclp.scales)),
        ),
    ]


def people() -> list[Row]:
    """DTI: "382 patients" are scans."""
    curves, person = common.scans()
    complete = person[~np.isnan(curves).any(axis=1)]
    counts = np.unique(complete, return_counts=True)[1]
    return [
        _row("DTI", "people behind 382 scans", 382.0, float(np.unique(person).size)),
        _row("DTI", "complete scans", 382.0, float(complete.size)),
        _row("DTI", "most complete scans of one person", 1.0, float(counts.max())),
    ]


FROM_FORMULAS = (
    variance_one,
    soft_threshold,
    squared_norm,
    truncation_number,
    exponent_of_the_sum,
    exponent_for_a_large_kernel,
    plug_in_on_the_l2_ball,
    density_sensitivity,
    bandwidth,
    scale_from_the_data,
    classical_gaussian,
    unweighted_eigenvalues,
    *errata_gaussian.FROM_FORMULAS,
)
FROM_DATA = (
    missing_root,
    best_truncation,
    true_epsilons,
    l1_threshold,
    bernstein_bias,
    matched_noise,
    people,
    *errata_gaussian.FROM_DATA,
)

if __name__ == "__main__":
    main()
