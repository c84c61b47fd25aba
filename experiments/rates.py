"""Rates of the smoothed mean with Gaussian noise: Mirshani, Reimherr & Slavkovic (2019), Theorem 4.2.

The estimate multiplies coefficient j of the mean of N curves in the ball of radius tau by
lambda_j^eta / (lambda_j^eta + phi), with phi = 1/N and eigenvalues lambda_j = j^-a. The theorem says
that its noise is o(1/N) and its error O(1/N). The squared scale falls like (N^2 phi^(1/eta))^-1, so the
noise is of order N^-(2 - 1/eta), and of order epsilon^-2 by the classical rule. All numbers here are
exact sums over components: nothing is simulated and nothing is read from data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpfda.noise import gaussian_ratio
from dpfda.privacy.guarantees import ApproximateDP
from experiments import common
from experiments.common import Floats

SEED = 2026112624
DECAYS = (2.0, 4.0)
ETAS = (1.25, 1.5, 2.0, 4.0)
SIZES = tuple(int(size) for size in np.geomspace(1e2, 1e8, 13).round())
EPSILONS = tuple(float(epsilon) for epsilon in np.geomspace(1e-2, 10, 13))
DELTA = 1e-6
COMPONENTS = 100_000
TAU = 1.0
# Slopes are those between the ends of these ranges.
LARGE = SIZES[6:]
SMALL = EPSILONS[4:9]

Row = dict[str, float | str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write rates.csv, rates.md and rates.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = size_rows() + epsilon_rows()
    common.write_csv(options.results / "rates.csv", rows)
    write_page(options.results / "rates.md", rows)
    draw(options.results / "rates.png", rows)


def eigenvalues(decay: float) -> Floats:
    """j^-decay."""
    return np.arange(1.0, COMPONENTS + 1) ** -decay


def sensitivity(values: Floats, eta: float, penalty: float, size: int) -> float:
    """Largest Cameron-Martin length by which one curve moves the estimate."""
    return float(2 * TAU / size * np.max(values ** (eta - 0.5) / (values**eta + penalty)))


def printed_sensitivity(eta: float, penalty: float, size: int) -> float:
    """That of the theorem: the largest over all positive numbers in the place of eigenvalues."""
    return TAU / (size * eta) * (2 * eta - 1) ** (1 - 0.5 / eta) * penalty ** (-0.5 / eta)


def noise_power(values: Floats, eta: float, size: int, ratio: float) -> float:
    """E|noise|^2 = (Delta / ratio)^2 tr C at penalty 1/N."""
    return float((sensitivity(values, eta, 1 / size, size) / ratio) ** 2 * values.sum())


def without_noise(values: Floats, eta: float, size: int) -> float:
    """Sampling error and squared bias of the estimate, for curves as long as the ball allows.

    The mean has mu_j^2 proportional to lambda_j^eta / j^1.1, whose norm in the theorem is finite, and
    half of the ball's squared radius; the rest is the variance of the curves, spread like j^-2.
    """
    places = np.arange(1.0, values.size + 1)
    factors = values**eta / (values**eta + 1 / size)
    mean = values**eta / places**1.1
    mean *= TAU**2 / 2 / mean.sum()
    spread = places**-2.0
    spread *= TAU**2 / 2 / spread.sum()
    return float(np.sum(factors**2 * spread) / size + np.sum((1 - factors) ** 2 * mean))


def ratio_of(epsilon: float, calibration: str = "exact") -> float:
    """Width over scale that keeps the budget."""
    return float(gaussian_ratio(ApproximateDP(Fraction(epsilon), Fraction(DELTA)), calibration))


def size_rows() -> list[Row]:
    """Noise, and all of the error, by the number of curves at epsilon 1."""
    rows, ratio = [], ratio_of(1.0)
    for decay in DECAYS:
        values = eigenvalues(decay)
        for eta in ETAS:
            for size in SIZES:
                noise = noise_power(values, eta, size, ratio)
                case: Row = {"by": "N", "decay": decay, "eta": eta, "at": float(size)}
                rows.append(case | {"noise": noise, "error": noise + without_noise(values, eta, size)})
    return rows


def epsilon_rows() -> list[Row]:
    """Noise by epsilon at ten thousand curves: exact scales, and classical ones where proved."""
    values, size, rows = eigenvalues(4.0), 10_000, []
    for epsilon in EPSILONS:
        for calibration in ("exact", "classical") if epsilon <= 1 else ("exact",):
            noise = noise_power(values, 1.5, size, ratio_of(epsilon, calibration))
            case: Row = {"by": f"epsilon, {calibration}", "decay": 4.0, "eta": 1.5, "at": epsilon}
            rows.append(case | {"noise": noise, "error": noise + without_noise(values, 1.5, size)})
    return rows


def slope(rows: Sequence[Row], quantity: str, among: Sequence[float]) -> float:
    """Slope of the logarithm between the ends of a range."""
    chosen = {float(row["at"]): float(row[quantity]) for row in rows}
    first, last = among[0], among[-1]
    return math.log(chosen[last] / chosen[first]) / math.log(last / first)


def chosen(rows: Sequence[Row], by: str, decay: float, eta: float) -> list[Row]:
    """Rows of one line."""
    return [row for row in rows if (row["by"], row["decay"], row["eta"]) == (by, decay, eta)]


def write_page(path: Path, rows: Sequence[Row]) -> None:
    """Slopes beside the theorem's, and the picture."""
    lines = []
    for decay in DECAYS:
        for eta in ETAS:
            line = chosen(rows, "N", decay, eta)
            noise, error = (slope(line, name, LARGE) for name in ("noise", "error"))
            lines.append(
                [f"{decay:g}", f"{eta:g}", f"{-(2 - 1 / eta):.3f}", f"{noise:.3f}", f"{error:.3f}"]
            )
    head = ("decay a", "smoothness eta", "noise, theorem", "noise, found", "all of the error, found")
    exact, classical = (
        slope(chosen(rows, f"epsilon, {name}", 4.0, 1.5), "noise", SMALL)
        for name in ("exact", "classical")
    )
    steps = max(
        printed_sensitivity(eta, 1 / size, size) / sensitivity(eigenvalues(decay), eta, 1 / size, size)
        for decay in DECAYS
        for eta in ETAS
        for size in LARGE
    )
    near, far = f"{SMALL[0]:.2g}", f"{SMALL[-1]:.2g}"
    text = f"""# Rates of the smoothed mean

Written by `python -m experiments.rates`. No data are read; every number is an exact sum.

Theorem 4.2 of Mirshani, Reimherr & Slavkovic (2019): with a penalty of 1/N the noise is o(1/N) and the
error O(1/N). From its scale, the noise is of order N^-(2 - 1/eta): the smoother the mean is taken to be,
the faster it falls, from 1/N at eta = 1 to N^-2. The decay of the eigenvalues has no part in it.

Slopes of the logarithm of the expected squared length against that of N, from {LARGE[0]:,} to
{LARGE[-1]:,} curves, epsilon 1, delta {DELTA:g}:

{common.markdown_table(head, lines)}

The noise has the slope of the theorem, and the error ends at that of sampling, 1/N. Where eta is near 1
noise is most of the error at these numbers, and falls little faster than sampling. The printed scale
takes the largest over all positive numbers in the place of the eigenvalues: it is at most {steps:.2f}
times the one over the eigenvalues, which are far apart where a eta is large. So lines there go in steps.

![Noise and all of the error against the number of curves; noise against epsilon](rates.png)

**Epsilon.** By the classical rule, 2 log(2/delta) / epsilon^2, the slope of the noise between epsilon
{near} and {far} is {classical:.3f}; the exact scale of the normal law has {exact:.3f} there. Its noise
is smaller everywhere, and falls more slowly the smaller epsilon is, for delta protects too.
"""
    path.write_text(text, encoding="utf-8")
    common.say(f"wrote {path}")


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Noise and error by N, and noise by epsilon."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5))
    for index, eta in enumerate(ETAS):
        line = chosen(rows, "N", 4.0, eta)
        at = [float(row["at"]) for row in line]
        axes[0].plot(at, [row["noise"] for row in line], f"C{index}", label=f"eta = {eta:g}")
        axes[0].plot(at, [row["error"] for row in line], f"C{index}--")
    axes[0].set_xlabel("number of curves N")
    axes[0].set_ylabel("expected squared length\n(solid: noise, dashed: all of the error)")
    for name in ("exact", "classical"):
        line = chosen(rows, f"epsilon, {name}", 4.0, 1.5)
        at = [float(row["at"]) for row in line]
        axes[1].plot(at, [row["noise"] for row in line], label=f"{name} scale")
    axes[1].set_xlabel("epsilon, at delta 1e-6")
    axes[1].set_ylabel("expected squared length of the noise")
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
