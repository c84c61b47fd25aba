"""Conditional densities: beside histograms in slices, and how often their bands hold.

Run `python -m experiments.conditional_study` (`--quick` for few samples). It goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from dpfda import PrivateDensity
from dpfda.testing import simulate_density
from experiments import common
from experiments.common import Floats

SEED = 2026112606
SAMPLES, BANDS, QUICK = 24, 100, 2
# (n, epsilon) of the comparison; of the bands; values of the covariate, in the middle and where few are.
CASES, BANDED, PLACES = ((2000, 0.3), (2000, 1.0), (20_000, 1.0)), ((500, 1.0), (5000, 1.0)), (0.5, 0.9)
SLICES, CELLS = (1, 2, 4, 8, 16), (4, 8, 16, 32)
LEVEL = 0.9
# Values of the covariate over which errors are averaged, and points of the variable.
GIVEN, AT = 40, 400

Law = tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]
# Mean and deviation of a normal variable, on the unit interval, by the covariate.
LAWS: dict[str, Law] = {
    "rising mean": (lambda x: 0.25 + 0.5 * x, lambda x: 0.1 + 0 * x),
    "rising deviation": (lambda x: 0.5 + 0 * x, lambda x: 0.05 + 0.15 * x),
    "wave": (lambda x: 0.5 + 0.2 * np.sin(2 * np.pi * x), lambda x: 0.08 + 0 * x),
    "unrelated": (lambda x: 0.5 + 0 * x, lambda x: 0.15 + 0 * x),
}


def drawn(law: Law, n: int, generator: np.random.Generator) -> Floats:
    """Points (n, 2): a covariate that most have in the middle, and the variable."""
    covariate = np.clip(generator.normal(0.5, 0.22, size=n), 0, 1)
    mean, deviation = law
    return np.column_stack(
        [covariate, np.clip(generator.normal(mean(covariate), deviation(covariate)), 0, 1)]
    )


def truth(law: Law, given: Floats, at: Floats) -> tuple[Floats, Floats]:
    """Density and distribution function (given, at) of the variable, within the interval."""
    mean, deviation = (part(given)[:, None] for part in law)
    return stats.norm.pdf(at, mean, deviation), stats.norm.cdf(at, mean, deviation)


def distances(law: Law, density: Floats, shares: Floats, given: Floats, at: Floats) -> Floats:
    """Mean squared L2 distance of densities; root mean square distance of distribution functions."""
    pdf, cdf = truth(law, given, at)
    return np.array([np.mean((density - pdf) ** 2), np.mean((shares - cdf) ** 2)])


def in_slices(points: Floats, epsilon: float, slices: int, cells: int, generator: Any) -> Floats:
    """Shares (slices, cells) of a noisy histogram in each slice, cut at zero, normalised."""
    counts = np.histogram2d(*points.T, (slices, cells), [(0, 1), (0, 1)])[0]
    kept = np.maximum(counts + generator.laplace(0, 2 / epsilon, counts.shape), 0)
    sums = kept.sum(axis=1, keepdims=True)
    return np.where(sums > 0, kept / np.where(sums > 0, sums, 1), 1 / cells)


def compared(name: str, n: int, epsilon: float, samples: int, seed: int) -> list[dict[str, Any]]:
    """Errors over those of the best histogram in slices, whose numbers an oracle takes by the truth."""
    law, given, at = LAWS[name], (np.arange(GIVEN) + 0.5) / GIVEN, (np.arange(AT) + 0.5) / AT
    errors: dict[Any, list[Floats]] = {}
    for sample in range(samples):
        generator = np.random.default_rng(
            [seed, 1, list(LAWS).index(name), n, round(10 * epsilon), sample]
        )
        points = drawn(law, n, generator)
        usual = PrivateDensity(epsilon, domain=[(0, 1), (0, 1)])
        shape = usual.plan(n).cells.shape
        for words, cells in (("default", None), ("half along the covariate", (shape[0] // 2, shape[1]))):
            estimator = PrivateDensity(epsilon, domain=[(0, 1), (0, 1)], cells=cells)
            made = simulate_density(estimator.prepare(points), generator)
            conditional = [made.conditional(float(x)) for x in given]
            found = np.array([each(at) for each in conditional])
            shares = np.array([each.cdf(at) for each in conditional])
            errors.setdefault(words, []).append(distances(law, found, shares, given, at))
        for slices in SLICES:
            for cells in CELLS:
                table = in_slices(points, epsilon, slices, cells, generator)
                rows = table[np.minimum((given * slices).astype(int), slices - 1)]
                found = rows[:, np.minimum((at * cells).astype(int), cells - 1)] * cells
                edges = np.linspace(0, 1, cells + 1)
                shares = np.array([np.interp(at, edges, np.append(0, np.cumsum(row))) for row in rows])
                errors.setdefault((slices, cells), []).append(distances(law, found, shares, given, at))
    means = {way: np.mean(found, axis=0) for way, found in errors.items()}
    best = np.min([mean for way, mean in means.items() if isinstance(way, tuple)], axis=0)
    return [
        {"law": name, "n": n, "epsilon": epsilon, "way": way, "l2": float(mean[0] / best[0]),
         "cdf": float(np.sqrt(mean[1] / best[1]))}
        for way, mean in means.items() if isinstance(way, str)
    ]  # fmt: skip


def held(name: str, n: int, epsilon: float, place: float, samples: int, seed: int) -> dict[str, Any]:
    """How often the band held what the counts without noise give, with the weights that were found.

    `reach` is the LEVEL quantile of how far that was off, in half-widths of the band.
    """
    inside, far = 0, []
    for sample in range(samples):
        key = [seed, 2, list(LAWS).index(name), n, round(10 * epsilon), round(10 * place), sample]
        generator = np.random.default_rng(key)
        prepared = PrivateDensity(epsilon, domain=[(0, 1), (0, 1)]).prepare(
            drawn(LAWS[name], n, generator)
        )
        noisy = simulate_density(prepared, generator)
        exact = simulate_density(prepared, generator, noise=False).raw
        conditional = noisy.conditional(place)
        band = conditional.band(LEVEL)
        coefficients = noisy.raw.smoother.coefficients(exact.counts / exact.size)
        before = conditional._before(conditional._along(coefficients))
        nodes = conditional._made(before)
        other = np.interp(band.points, (np.arange(nodes.size) + 0.5) / nodes.size, nodes)
        own = conditional(band.points)
        far.append(float(np.max(np.abs(other - own) / np.maximum(band.upper - own, 1e-12))))
        inside += bool(band.contains(other))
    return {
        "law": name, "n": n, "epsilon": epsilon, "place": place, "held": inside, "of": samples,
        "reach": float(np.quantile(far, LEVEL)),
    }  # fmt: skip


def main() -> None:
    """Compare, count how often bands hold, write both tables."""
    options = common.read_options(str(__doc__), SEED)
    samples, bands = (QUICK, QUICK) if options.quick else (SAMPLES, BANDS)
    cases = [(name, *case) for name in LAWS for case in (CASES[:1] if options.quick else CASES)]
    every = [(name, *case, place) for name in LAWS for case in BANDED for place in PLACES]
    common.resumed(
        options, "conditional.csv", cases, lambda case: compared(*case, samples, options.seed)
    )
    common.resumed(
        options, "conditional_bands.csv", every, lambda case: [held(*case, bands, options.seed)]
    )


if __name__ == "__main__":
    main()
