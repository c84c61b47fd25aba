"""Noise on whole paths: shifts that can be told apart, and mixing variables that show.

Four statements about whole paths, against the number of components that an observer has:

- a Laplace or Gaussian process hides a shift if its length in the Cameron-Martin norm is finite, and no
  other (Lin & Reimherr, Theorem 4; Mirshani et al., Theorem 3.1 and Lemma 3.1), but Laplace noise has a
  finite pure epsilon only if the sum of its parts is finite (Theorem 6);
- a Laplace process is an element of the space if its eigenvalues have a sum (Theorem 3);
- a shift of a normal process is seen through one linear functional of the path (Mirshani et al.,
  section 2, with Bogachev's Lemma 2.4.1 and Corollary 2.4.3);
- the mixing variable of elliptical noise can be read off a path, so that its pure epsilon grows without
  limit (Reimherr & Awan, Theorem 4).

And two remarks in numbers: what a bound in the l2 norm costs (Lin & Reimherr, Remark 12), and how the
noise of a kernel machine falls (Remark 17). Nothing is read from data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments import common
from experiments.common import Floats
from experiments.elliptical import t_epsilon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEED = 2026112622
COMPONENTS = 10**6
# Exponents a of shifts |h_j| = j^-a, in units of the noise of component j.
SHIFTS = {"both norms finite": 1.5, "Cameron-Martin norm alone": 0.75, "neither": 0.4}
DEGREES = 5
SHOWN = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)

Row = dict[str, float | str]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write processes.csv, processes.md and two pictures."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = affinity_rows() + functional_rows() + remark_12() + remark_17()
    paths = 50 if options.quick else 2_000
    generator = np.random.default_rng(options.seed)
    rows += mixing_rows(generator, paths)
    common.write_csv(options.results / "processes.csv", rows)
    write_page(options.results / "processes.md", rows)
    draw_affinity(options.results / "processes_affinity.png")
    draw_mixing(options.results / "processes_mixing.png", generator)


def shift(exponent: float, components: int = COMPONENTS) -> Floats:
    """Parts of a shift, in scales of Laplace noise or deviations of normal noise."""
    return np.arange(1.0, components + 1) ** -exponent


def laplace_affinity(parts: Floats) -> Floats:
    """Integral of the root of both densities, for the first 1, 2, ... components of Laplace noise.

    One component has (1 + x/2) exp(-x/2) at a shift of x scales; components multiply (Kakutani).
    """
    half = np.abs(parts) / 2
    return np.exp(np.cumsum(np.log1p(half) - half))


def normal_affinity(parts: Floats) -> Floats:
    """The same for normal noise: exp(-|h|^2/8), in the Cameron-Martin norm."""
    return np.exp(-np.cumsum(parts**2) / 8)


def affinity_rows() -> list[Row]:
    """Affinity and pure loss at some numbers of components."""
    rows = []
    for name, exponent in SHIFTS.items():
        parts = shift(exponent)
        columns = {
            "affinity, Laplace noise": laplace_affinity(parts),
            "affinity, normal noise": normal_affinity(parts),
            "pure epsilon, Laplace noise": np.cumsum(parts),
        }
        rows += [
            _row(quantity, name, count, values[count - 1])
            for quantity, values in columns.items()
            for count in SHOWN
        ]
    return rows


def brownian_components(components: int) -> tuple[Floats, Floats, Floats]:
    """Eigenvalues of min(s, t) on [0, 1], and the parts in its eigenfunctions of h and of one.

    The shift is h(t) = t - t^2/2, the eigenfunctions are 2^(1/2) sin(w_j t) with w_j = (j - 1/2) pi.
    As h = C(1), the part of h is that of the constant one times the eigenvalue.
    """
    frequencies = (np.arange(1, components + 1) - 0.5) * math.pi
    ones = math.sqrt(2) / frequencies
    return frequencies**-2, ones * frequencies**-2, ones


def functional_rows() -> list[Row]:
    """Squared Cameron-Martin length of h, and the variance of its functional T_h, the integral."""
    values, parts, ones = brownian_components(SHOWN[-1])
    columns = {
        "squared length of h": np.cumsum(parts**2 / values),
        "variance of the integral": np.cumsum(ones**2 * values),
        "integral of h": np.cumsum(ones * parts),
    }
    return [
        _row("functional", name, count, sums[count - 1])
        for name, sums in columns.items()
        for count in SHOWN[:4]
    ]


def mixing_squares(generator: np.random.Generator, paths: int, degrees: int = DEGREES) -> Floats:
    """V^2 of multivariate t noise V Z."""
    return degrees / generator.chisquare(degrees, paths)


def estimates(generator: np.random.Generator, squares: Floats, components: int) -> Floats:
    """V read off the first 1, 2, ... components of each path of summary + V Z; a path a row.

    Components are functionals g_j with C(g_i, g_j) = 1 for i = j and 0 else. The summary, 3/j in
    component j, lies in the Cameron-Martin space, so that its part in the average vanishes.
    """
    summary = 3 * shift(1.0, components)
    noise = generator.normal(size=(squares.size, components))
    path = summary + np.sqrt(squares)[:, None] * noise
    return np.asarray(np.sqrt(np.cumsum(path**2, axis=1) / np.arange(1, components + 1)))


def mixing_rows(generator: np.random.Generator, paths: int) -> list[Row]:
    """Root mean squared error of log(estimate / V), and the pure epsilon of t noise, by components."""
    squares = mixing_squares(generator, paths)
    read = estimates(generator, squares, 1_000)
    errors = np.log(read) - np.log(squares)[:, None] / 2
    rows = [
        _row(
            "error of log V",
            f"t, {DEGREES} degrees",
            count,
            math.sqrt(np.mean(errors[:, count - 1] ** 2)),
        )
        for count in SHOWN[:4]
    ]
    epsilon = t_epsilon(DEGREES)
    return rows + [
        _row("pure epsilon, t noise", "shift of half a deviation", count, epsilon(count, 0.5))
        for count in SHOWN[:5]
    ]


def sensitivity(norm: str, components: int, eta: float = 1.25, penalty: float = 1e-3) -> float:
    """Delta n/(2 tau) of the smoothed mean, for eigenvalues j^-4, in the norm of ICLP noise."""
    values = shift(4.0, components)
    parts = values ** (eta - 0.5) / (values**eta + penalty)
    return float(parts.max() if norm == "l1" else math.sqrt(np.sum(parts**2)))


def remark_12() -> list[Row]:
    """How much larger the sensitivity is on the l2 ball than on the l1 ball of the same radius."""
    return [
        _row("sensitivity, l2 ball over l1 ball", f"penalty {penalty:g}", 10_000, ratio)
        for penalty in (1e-2, 1e-3, 1e-4, 1e-6)
        for ratio in [
            sensitivity("l2", 10_000, penalty=penalty) / sensitivity("l1", 10_000, penalty=penalty)
        ]
    ]


def machine_noise(size: int, penalty: float, eta: float = 1.5, epsilon: float = 1.0) -> float:
    """E|noise|^2 on a hinge machine by Theorem 16, eigenvalues j^-4, kernel stationary on [0, 1].

    Delta = (1/(penalty n)) (sup C^eta(x,x) tr C^(eta-1))^(1/2), scales Delta lambda_j^(1/2) / epsilon.
    A stationary kernel has sup C^eta(x,x) = tr C^eta on an interval of length one.
    """
    values = shift(4.0, 10_000)
    delta = math.sqrt(np.sum(values**eta) * np.sum(values ** (eta - 1))) / (penalty * size)
    return float(2 * (delta / epsilon) ** 2 * values.sum())


def remark_17() -> list[Row]:
    """The noise on a machine times (penalty n)^2 is one number."""
    return [
        _row("machine noise", f"penalty {penalty:g}", size, machine_noise(size, penalty))
        for penalty in (0.1, 0.01)
        for size in (1_000, 10_000)
    ]


def _row(quantity: str, case: str, count: int, value: float) -> Row:
    return {"quantity": quantity, "case": case, "count": count, "value": float(value)}


def _table(rows: Sequence[Row], quantity: str, head: str) -> str:
    chosen = [row for row in rows if row["quantity"] == quantity]
    counts = sorted({int(row["count"]) for row in chosen})
    lines = [f"| {head} | " + " | ".join(f"{count:,}" for count in counts) + " |"]
    lines.append("| --- |" + " ---: |" * len(counts))
    for case in dict.fromkeys(row["case"] for row in chosen):
        values = [float(row["value"]) for row in chosen if row["case"] == case]
        cells = [f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}" for value in values]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_page(path: Path, rows: Sequence[Row]) -> None:
    """The page: six tables and two pictures."""

    def table(quantity: str, head: str = "components") -> str:
        return _table(rows, quantity, head)

    ratios = ", ".join(
        f"{row['value']:.1f} ({row['case']})" for row in rows if str(row["quantity"]).startswith("sens")
    )
    text = f"""# Noise on whole paths

Written by `python -m experiments.processes`. No data are read.

## Shifts that can be told apart

Two data sets move component j of a summary by |h_j| = j^-a scales of the noise. The affinity of the
two laws of the noisy summary, the integral of the root of both densities, is 1 for equal laws and 0
for laws that can be told apart with certainty. Solid: Laplace noise, (1 + x/2) exp(-x/2) a
component. Dashed: normal noise, exp(-x^2/8).

![Affinity and pure epsilon against the number of components](processes_affinity.png)

- **Inside the Cameron-Martin space** (a > 1/2) the affinity stays above zero: the laws are
  equivalent. **Outside** it falls to zero: no scale of noise hides the shift (Lin & Reimherr,
  Theorem 4; Mirshani et al., Theorem 3.1). The library refuses such a summary.
- **In between** (1/2 < a <= 1) the laws are equivalent, and yet the pure epsilon of Laplace noise
  grows without limit (Lin & Reimherr, Theorem 6). Normal noise with a delta hides such shifts.
- Eigenvalues without a sum, 1/j, give noise of infinite expected squared length (Theorem 3); 1/j^2
  end at 1.645.

Affinity, Laplace noise:

{table("affinity, Laplace noise")}

Affinity, normal noise:

{table("affinity, normal noise")}

Pure epsilon, Laplace noise:

{table("pure epsilon, Laplace noise")}

## One functional sees the shift

Every h of the Cameron-Martin space has a linear functional T_h of the path with C(T_h) = h, and
f(h) is the covariance of f and T_h for every linear functional f (Bogachev's Lemma 2.4.1, as
Mirshani et al. use it). The density of the shifted law is exp(T_h - |h|^2/2) (Corollary 2.4.3,
their Lemma 3.1), so T_h alone tells the two laws apart, and a Gaussian mechanism on a path is as
private as one normal number of deviation |h| and mean 0 or |h|^2.

By hand, for Brownian motion on [0, 1], C(s, t) = min(s, t), and h(t) = t - t^2/2:

- T_h(x) is the integral of the path: C(T_h)(s), the integral of min(s, t) over t, is s - s^2/2.
- The squared length of h, the integral of h'(t)^2 = (1 - t)^2, is 1/3. So are the variance of T_h
  and T_h(h), the integral of h.
- The density of the shifted law is exp(integral of x - 1/6).

The same three numbers by components, without the closed form:

{table("functional")}

## One path shows its mixing variable

Elliptical noise is V Z: a normal process Z times one random number V. The root of the average
square of the first n components of a *single* path estimates V, whatever the summary below it, if
that lies in the Cameron-Martin space. Given V the noise is normal, and normal noise has no pure
epsilon. So a pure guarantee exists for a fixed number of components alone, and grows with it
(Reimherr & Awan, Theorem 4). This is why no elliptical law but the normal one keeps what it
promises on finitely many components: on the whole path it is a normal law whose scale everybody
sees.

![V read off a path, and pure epsilon against the number of components](processes_mixing.png)

Root mean squared error of the logarithm of the estimate:

{table("error of log V")}

Pure epsilon of t noise of {DEGREES} degrees of freedom, of one scale for all numbers of components:

{table("pure epsilon, t noise")}

That pairs of laws given V are equivalent makes the mixtures equivalent (Lemma 1). The converse
fails: mix two orthogonal laws A and B with a fair coin, once as (A, B) and once as (B, A).

## Two remarks in numbers

- **Remark 12** says that bounds in the l2 norm have a substantially larger sensitivity than those
  in the l1 norm. For eigenvalues j^-4 and eta 1.25 the sensitivity on the l2 ball over that on the
  l1 ball of the *same radius* is {ratios}. But the same curves need another radius in each norm:
  those of the paper's Table 2 are 4.45 and 1.07 for electricity, 5.67 and 1.03 for DTI, 4.1 and 5.5
  times as large in the l1 norm. With these radii the l2 bound has the *smaller* sensitivity at all
  four penalties.
- **Remark 17.** By Theorem 16 the expected squared noise on a machine is c (psi n)^-2 with a c that
  depends on kernel, loss and epsilon alone. Hinge, eigenvalues j^-4, eta 1.5, epsilon 1; by the
  number of records:

{table("machine noise", "records")}
"""
    path.write_text(text, encoding="utf-8")
    common.say(f"wrote {path}")


def draw_affinity(path: Path) -> None:
    """Affinity, pure epsilon and squared length against the number of components."""
    counts = np.unique(np.geomspace(1, COMPONENTS, 200).astype(int))

    def draw(axes: Sequence[Axes]) -> None:
        for index, (name, exponent) in enumerate(SHIFTS.items()):
            parts, color = shift(exponent), f"C{index}"
            label = f"a = {exponent}: {name}"
            affinity = laplace_affinity(parts)[counts - 1]
            axes[0].plot(counts, affinity, color, label=f"a = {exponent}")
            axes[0].plot(counts, normal_affinity(parts)[counts - 1], color, linestyle="--")
            axes[1].plot(counts, np.cumsum(parts)[counts - 1], color, label=label)
        for exponent in (2, 1):
            label = f"eigenvalues 1/j^{exponent}" if exponent > 1 else "eigenvalues 1/j"
            axes[2].plot(counts, np.cumsum(shift(exponent))[counts - 1], label=label)
        axes[0].set_ylabel("affinity (solid: Laplace, dashed: normal)")
        axes[1].set_ylabel("pure epsilon of Laplace noise")
        axes[1].set_yscale("log")
        axes[2].set_ylabel("expected squared length of the noise")

    _pictures(path, 3, draw)


def draw_mixing(path: Path, generator: np.random.Generator) -> None:
    """Estimates of V along some paths, and the pure epsilon of t noise."""
    components = 10_000
    counts = np.unique(np.geomspace(1, components, 200).astype(int))

    def draw(axes: Sequence[Axes]) -> None:
        squares = np.sort(mixing_squares(generator, 5))
        for square, line in zip(squares, estimates(generator, squares, components), strict=True):
            label = f"path with V = {math.sqrt(square):.2f}"
            axes[0].plot(counts, line[counts - 1] / math.sqrt(square), label=label)
        axes[0].axhline(1, color="black", linewidth=0.8)
        axes[0].set_ylabel("estimate of V over V")
        for degrees in (5, 30):
            values = [t_epsilon(degrees)(int(count), 0.5) for count in counts]
            axes[1].plot(counts, values, label=f"t noise, {degrees} degrees of freedom")
        axes[1].set_ylabel("pure epsilon at a shift of half a deviation")
        axes[1].set_yscale("log")

    _pictures(path, 2, draw)


def _pictures(path: Path, panels: int, draw: Callable[[Sequence[Axes]], None]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, panels, figsize=(5 * panels, 4.5))
    draw(axes)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xlabel("number of components")
        ax.grid(alpha=0.3)
        ax.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
