"""Examples 2 to 6 of Reimherr & Awan (2019): which law gives which epsilon, checked by brute force.

Run `python -m experiments.elliptical`. No data are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import integrate, optimize, special

from dpfda.errors import RefusedMechanismError
from dpfda.mechanisms import read_mechanism
from dpfda.mechanisms.protocol import Problem
from dpfda.noise import knorm_noise
from dpfda.noise.blocks import knorm_loss
from dpfda.noise.elliptical import elliptical_noise, mixture_delta, t_loss
from dpfda.privacy.guarantees import PureDP
from experiments import common
from experiments.common import Floats

SEED = 2026112611
SENSITIVITY = 1.0
SCALES = (1.0, 2.0)
DIMENSIONS = (1, 2, 10)
# Radii between which the ratio is searched: where the last steps still raise it, it has no bound.
INNER = (1e-2, 1e-5, 1e-8)
OUTER = (1e2, 1e4, 1e6)

LogDensity = Callable[[Floats], Floats]
Row = dict[str, Any]


@dataclass(frozen=True)
class Law:
    """A law of spherical noise with scale one.

    Parameters
    ----------
    example : int
        Number in the paper.
    name : str
    log_density : callable
        Takes dimension and radii, returns log f(r^2) up to a constant.
    epsilon : callable
        Takes dimension and shift over scale, returns the closed form; infinite where refused.
    """

    example: int
    name: str
    log_density: Callable[[int, Floats], Floats]
    epsilon: Callable[[int, float], float]


def laplace_density(dimension: int, radii: Floats) -> Floats:
    """Example 3: f(y) = (y/2)^(nu/2) K_nu((2y)^(1/2)), nu = (2 - d)/2."""
    order = (2 - dimension) / 2
    root = math.sqrt(2) * radii
    # kve carries a factor e^root, which keeps large radii from underflowing.
    return np.asarray(order * np.log(radii) + np.log(special.kve(order, root)) - root)


def t_density(degrees: int) -> Callable[[int, Floats], Floats]:
    """Example 6: f(y) = (1 + y/nu)^(-(nu + d)/2)."""

    def log_density(dimension: int, radii: Floats) -> Floats:
        return np.asarray(-(degrees + dimension) / 2 * np.log1p(radii**2 / degrees))

    return log_density


def t_epsilon(degrees: int) -> Callable[[int, float], float]:
    """Example 6: the ratio at its stationary point."""

    def epsilon(dimension: int, shift: float) -> float:
        c = (shift + math.sqrt(shift**2 + 4 * degrees)) / 2
        ratio = (1 + c**2 / degrees) / (1 + (c - shift) ** 2 / degrees)
        return (degrees + dimension) / 2 * math.log(ratio)

    return epsilon


LAWS = (
    Law(
        3,
        "multivariate Laplace",
        laplace_density,
        lambda d, shift: math.sqrt(2) * shift if d == 1 else math.inf,
    ),
    Law(4, "l2 K-norm", lambda _, radii: -radii, lambda _, shift: shift),
    Law(5, "multivariate normal", lambda _, radii: -(radii**2) / 2, lambda _, shift: math.inf),
    Law(6, "multivariate t, nu = 1", t_density(1), t_epsilon(1)),
    Law(6, "multivariate t, nu = 5", t_density(5), t_epsilon(5)),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Check every law and write elliptical.csv, elliptical.md and elliptical.png."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    generator = np.random.default_rng(options.seed)
    rows = [independent_row(d, s, generator) for d in DIMENSIONS for s in SCALES]
    cases = [(law, d, s) for law in LAWS for d in DIMENSIONS for s in SCALES]
    rows += [elliptical_row(*case) for case in common.shown(cases, "examples 2 to 6")]
    bounds = theorem_5()
    common.write_csv(options.results / "elliptical.csv", rows)
    common.write_csv(options.results / "elliptical_theorem5.csv", bounds)
    write_page(options.results / "elliptical.md", rows, bounds)
    draw_picture(options.results / "elliptical.png")


def elliptical_row(law: Law, dimension: int, scale: float) -> Row:
    """Closed form, brute force, the library and Theorem 3 as printed."""
    shift = SENSITIVITY / scale
    log_density = lambda radii: law.log_density(dimension, radii)  # noqa: E731
    found, growing = brute_force(log_density, shift, dimension)
    closed = law.epsilon(dimension, shift)
    return {
        "example": law.example,
        "law": law.name,
        "dimension": dimension,
        "sigma": scale,
        "closed_form": closed,
        "brute_force": math.inf if growing else found,
        "library": library_epsilon(law, dimension, scale),
        "theorem_3_printed": printed_theorem_3(log_density, scale)
        if math.isfinite(closed)
        else math.inf,
    }


def brute_force(log_density: LogDensity, shift: float, dimension: int) -> tuple[float, bool]:
    """Largest log ratio of the densities of z and z + shift, and whether widening still raises it.

    Both are spherical, so a point is its place along the shift and its distance from that line. The
    search is on grids that are dense near both centres and reach from INNER to OUTER.
    """
    best = [
        _largest_ratio(log_density, shift, dimension, inner, outer)
        for inner, outer in zip(INNER, OUTER, strict=True)
    ]
    growing = best[-1] > best[-2] + 1e-3 * max(1.0, best[-2])
    return best[-1], growing


def _largest_ratio(
    log_density: LogDensity, shift: float, dimension: int, inner: float, outer: float
) -> float:
    sizes = np.geomspace(inner, outer, 600)
    along = np.concatenate([-sizes[::-1], sizes, shift + sizes, shift - sizes])
    across = np.array([0.0]) if dimension == 1 else np.concatenate([[0.0], sizes[::10]])

    def ratio(first: Floats, second: Floats) -> Floats:
        at = np.maximum(np.hypot(first, second), inner)
        other = np.maximum(np.hypot(first - shift, second), inner)
        return np.asarray(log_density(at) - log_density(other))

    values = ratio(along[:, None], across[None, :])
    place = np.unravel_index(np.argmax(np.abs(values)), values.shape)
    sign = math.copysign(1.0, values[place])
    start = (along[place[0]], across[place[1]] if dimension > 1 else 0.0)
    polished = optimize.minimize(
        lambda z: -sign * float(ratio(np.float64(z[0]), np.float64(z[1] if dimension > 1 else 0.0))),
        start,
        method="Nelder-Mead",
        bounds=[(-outer, outer), (0.0, outer)],
        options={"xatol": 1e-10, "fatol": 1e-13, "initial_simplex": _simplex(start)},
    )
    return max(float(np.abs(values[place])), -float(polished.fun))


def _simplex(start: tuple[float, float]) -> Floats:
    first, second = start
    step = 0.05 * max(abs(first), 1e-9)
    return np.array([[first, second], [first + step, second], [first, second + step]])


def printed_theorem_3(log_density: LogDensity, scale: float) -> float:
    """Sup over c >= Delta/sigma of log f((c - Delta/sigma^2)^2) - log f(c^2), the square as printed."""
    start, moved = SENSITIVITY / scale, SENSITIVITY / scale**2
    radii = np.geomspace(start, 1e6, 200_000)
    return float(np.max(log_density(np.maximum(np.abs(radii - moved), INNER[-1])) - log_density(radii)))


def library_epsilon(law: Law, dimension: int, scale: float) -> float | str:
    """Loss that the library recomputes for the scale; "refused" where it refuses the law."""
    ratio = Fraction(SENSITIVITY) / Fraction(scale)
    if law.example == 4:
        return float(knorm_loss((2**20 * int(scale),), "l2", 2**20, (dimension,)))
    if law.example == 6:
        degrees = 1 if law.name.endswith("nu = 1") else 5
        return float(t_loss(degrees, dimension, ratio))
    name = {3: "multivariate-laplace", 5: "gaussian"}[law.example]
    try:
        if law.example == 3:
            elliptical_noise(dimension, 2**20, PureDP(1.0), "laplace")
        else:
            read_mechanism(name).design(_problem(dimension))
    except RefusedMechanismError:
        return "refused"
    raise AssertionError(f"{name} was not refused")


def _problem(dimension: int) -> Problem:
    from dpfda.bounds import IntegerBall
    from dpfda.privacy.guarantees import Neighbours

    ball = IntegerBall.of("l2", 1.0, dimension)
    return Problem(np.ones(dimension), None, ball, 100, PureDP(1.0), Neighbours.REPLACE_ONE)


def independent_row(dimension: int, scale: float, generator: np.random.Generator) -> Row:
    """Example 2: independent Laplace; the worst shift in the l2 ball is along the diagonal."""
    noise = knorm_noise((1,) * dimension, np.ones(dimension), "l2", 2**20, PureDP(1.0))
    # Integer scales near 2^20 sigma: the loss is recomputed for those in force.
    loss = knorm_loss((int(2**20 * scale),) * dimension, "l2", 2**20, noise.block_sizes)
    return {
        "example": 2,
        "law": "independent Laplace",
        "dimension": dimension,
        "sigma": scale,
        "closed_form": math.sqrt(dimension) * SENSITIVITY / scale,
        "brute_force": brute_force_independent(dimension, scale, generator),
        "library": float(loss),
        "theorem_3_printed": "not elliptical",
    }


def brute_force_independent(dimension: int, scale: float, generator: np.random.Generator) -> float:
    """Largest log ratio over points and shifts of length one, by random search and ascent."""
    points = 5 * generator.standard_normal((4000, dimension))
    directions = generator.standard_normal((4000, dimension))

    def ratio(z: Floats) -> Floats:
        point, direction = z[..., :dimension], z[..., dimension:]
        lengths = np.linalg.norm(direction, axis=-1, keepdims=True)
        moved = point - SENSITIVITY * direction / lengths
        return np.asarray((np.abs(moved) - np.abs(point)).sum(axis=-1) / scale)

    starts = np.concatenate([points, directions], axis=1)
    best = starts[np.argsort(ratio(starts))[-3:]]
    ascents = [optimize.minimize(lambda z: -float(ratio(z)), s, method="BFGS") for s in best]
    return max(-float(ascent.fun) for ascent in ascents)


def theorem_5() -> list[Row]:
    """Delta of the whole path for multivariate t noise scaled as Theorem 5 asks, at epsilon = 1."""
    rows = []
    for degrees in (1, 2, 5, 30):
        for single in (1e-2, 1e-5, 1e-8):
            sigma = math.sqrt(2 * math.log(2 / single)) * SENSITIVITY
            exact = path_delta(degrees, 1.0, SENSITIVITY / sigma)
            stated = mixture_delta("student-t", degrees, Fraction(1), Fraction(1 / sigma))
            by_v, by_square = (2 * moment(degrees, single, power) for power in (1, 2))
            rows.append(
                {
                    "nu": degrees,
                    "delta_prime": single,
                    "exact_delta": exact,
                    "library_delta": float(stated),
                    "printed": by_v,
                    "with_v_squared": by_square,
                    "exact_over_printed": exact / by_v,
                }
            )
    return rows


def _over_mixing(degrees: int, function: Callable[[float], float]) -> float:
    """E function(V) for V^2 = nu / chi^2_nu, by quadrature over the logarithm of chi^2."""
    half = degrees / 2

    def integrand(u: float) -> float:
        chi = math.exp(u)
        density = math.exp(half * (u - math.log(2)) - chi / 2 - math.lgamma(half))
        return function(math.sqrt(degrees / chi)) * density

    cuts = np.linspace(-60, 12, 73)
    parts = (integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in pairwise(cuts))
    return math.fsum(parts)


def moment(degrees: int, single: float, power: int) -> float:
    """E (delta'/2)^(V^power): the moment generating function that Theorem 5 prints, or should."""
    return _over_mixing(degrees, lambda v: math.exp(v**power * math.log(single / 2)))


def path_delta(degrees: int, epsilon: float, ratio: float) -> float:
    """E delta_Gauss(epsilon; ratio / V), by quadrature."""

    def gaussian(v: float) -> float:
        mu = ratio / v
        first = special.log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)
        return math.exp(first) * -math.expm1(min(second - first, 0.0))

    return _over_mixing(degrees, gaussian)


def write_page(path: Path, rows: Sequence[Row], bounds: Sequence[Row]) -> None:
    """Both tables in Markdown."""
    names = ("closed_form", "brute_force", "library", "theorem_3_printed")
    lines = [
        [
            f"{r['example']}, {r['law']}",
            str(r["dimension"]),
            f"{r['sigma']:g}",
            *(_word(r[n]) for n in names),
        ]
        for r in rows
    ]
    header = [
        "example, law",
        "d",
        "sigma",
        "closed form",
        "brute force",
        "library",
        "Theorem 3 as printed",
    ]
    more = [[f"{v:.3g}" for v in r.values()] for r in bounds]
    columns = ["nu", "delta'", "exact delta", "library", "2 M_V", "2 M_(V^2)", "exact / printed"]
    text = f"""# Examples 2 to 6 of Reimherr & Awan (2019)

Written by `python -m experiments.elliptical`. Pure epsilon of noise of scale sigma on d coefficients
that move by at most 1 in the l2 norm.

- **closed form**: from the paper's examples, with Delta/sigma for the shift.
- **brute force**: largest log ratio of the two densities over the whole space, found by a search that
  does not use the closed form; "none" where widening the search (out to 1e6, in to 1e-8) raises it.
- **library**: the loss that the library recomputes, rounded up, or that it refuses the law. The
  one-dimensional Laplace law is offered under the name K-norm (Example 4 with d = 1).
- **Theorem 3 as printed**: it has sigma^-2 where sigma^-1 is meant, so that at sigma = 2 it
  promises about half of the true epsilon.

{common.markdown_table(header, lines)}

## Theorem 5

Multivariate t noise V Z with sigma^2 = 2 log(2/delta') / epsilon^2, epsilon = 1. The printed guarantee
is delta = 2 M_V(log(delta'/2)), the moment generating function of V. The step needs the one of V^2,
because the standard deviation is V sigma and sigma is squared. Where *exact / printed* is above 1 the
printed guarantee is violated.

{common.markdown_table(columns, more)}

![Log ratios along the shift](elliptical.png)
"""
    path.write_text(text, encoding="utf-8")
    common.say(f"wrote {path}")


def _word(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.6f}" if math.isfinite(value) else "none"


def draw_picture(path: Path) -> None:
    """Log ratio along the shift in two dimensions: bounded, growing, or with a pole."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    along = np.linspace(-6, 7, 2601)
    figure, ax = plt.subplots(figsize=(8, 5))
    for law in LAWS:
        radii = np.maximum(np.abs(along), 1e-9), np.maximum(np.abs(along - 1), 1e-9)
        values = law.log_density(2, radii[0]) - law.log_density(2, radii[1])
        ax.plot(along, values, label=f"Example {law.example}: {law.name}")
    ax.set_ylim(-4, 4)
    ax.set_xlabel("place along the shift, in units of sigma (centres at 0 and 1)")
    ax.set_ylabel("log ratio of the densities")
    ax.set_title("Two dimensions, shift of one sigma")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    common.say(f"wrote {path}")


if __name__ == "__main__":
    main()
