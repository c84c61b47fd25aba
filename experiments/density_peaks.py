"""Densities with values that repeat and peaks narrower than a cell, and ordinary ones beside them.

Run `python -m experiments.density_peaks` (`--quick` for few draws). It goes on where it stopped. None of
these laws was looked at when constants were chosen, but those of `density_rivals.EVERY` at other seeds;
that a further peak has half the margin, and that every cell of one stands out, was chosen later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dpfda import Domain, PrivateDensity
from dpfda.density.peaks import peaks_of
from dpfda.testing import simulate_density
from experiments import common
from experiments.common import Floats
from experiments.density_rivals import CELLS, EVERY, LEVELS, plain_histogram

SEED = 2026112817
DRAWS, QUICK_DRAWS, SIZES = 16, 2, (300, 1000, 3000, 10_000)
# Of bands: sizes and draws, points a cell, the budget that shows the density of the units.
BANDED, BAND_DRAWS, QUICK_BAND_DRAWS, POINTS, UNLIMITED = (1000, 10_000), 16, 2, 64, 1e5
# Bins of the axis that densities are compared on, draws that tell the law.
BINS, MANY = 2000, 10**6


def _mixed(share: float, value: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Floats]:
    def draw(generator: np.random.Generator, size: int) -> Floats:
        here = generator.random(size) < share
        return np.where(here, value(generator, size), other(generator, size))

    return draw


PEAKS: dict[str, tuple[Callable[..., Floats], tuple[float, float]]] = {
    "30 % zeros, else lognormal": (
        _mixed(0.3, lambda g, n: 0.0, lambda g, n: g.lognormal(7.6, 0.6, n)), (0.0, 10_000.0)),
    "a fifth at 65, else normal": (
        _mixed(0.2, lambda g, n: 65.0, lambda g, n: g.normal(45, 14, n)), (0.0, 100.0)),
    "15 % at 0, 10 % at 1, else beta": (
        _mixed(0.25, lambda g, n: (g.random(n) < 0.4) * 1.0, lambda g, n: g.beta(2, 3, n)), (0.0, 1.0)),
    "a fifth within .2 %, else even": (
        _mixed(0.2, lambda g, n: g.normal(0.613, 0.0005, n), lambda g, n: g.random(n)), (0.0, 1.0)),
    "a twentieth at one value, else even": (
        _mixed(0.05, lambda g, n: 0.285, lambda g, n: g.random(n)), (0.0, 1.0)),
}  # fmt: skip

# Atoms that are stated: three of these laws, and zeros beside an even law, which has the widest misses.
STATED_DRAWS = 30
ATOMS: dict[str, tuple[tuple[Callable[..., Floats], tuple[float, float]], list[float]]] = {
    **{name: (PEAKS[name], at) for name, at in zip(PEAKS, ([0.0], [65.0], [0.0, 1.0]), strict=False)},
    "30 % zeros, else even": (
        (_mixed(0.3, lambda g, n: 0.0, lambda g, n: g.random(n)), (0.0, 1.0)), [0.0]),
    "30 % zeros, else normal": (
        (_mixed(0.3, lambda g, n: 0.0, lambda g, n: g.normal(35, 8, n)), (0.0, 60.0)), [0.0]),
}  # fmt: skip


def one(name: str, n: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """Errors as before, with peaks set aside, and of the best plain histogram, from a fresh seed."""
    if name in PEAKS:
        law, domain = PEAKS[name]
    else:
        shape, domain = EVERY[name]
        law = lambda generator, size: shape.rvs(size=size, random_state=generator)  # noqa: E731
    key = [seed, [*PEAKS, *EVERY].index(name), n]
    grid = np.linspace(*domain, BINS + 1)
    many = np.clip(law(np.random.default_rng([*key, 1]), MANY), *domain)
    true = np.histogram(many, grid)[0] / MANY
    wanted = np.quantile(many, LEVELS, method="inverted_cdf")

    def errors(shares: Floats, quantiles: Floats) -> list[float]:
        apart = shares - true
        off = np.sqrt(np.mean((quantiles - wanted) ** 2)) / (domain[1] - domain[0])
        return [off, np.abs(np.cumsum(apart)).mean(), np.sqrt(np.sum(apart**2) * BINS)]

    kept, found = dict[str, list[Any]](), 0
    for draw in range(draws):
        generator = np.random.default_rng([*key, 2, draw])
        points = np.clip(law(generator, n), *domain)
        prepared = PrivateDensity(1.0, domain=domain).prepare(points)
        made = simulate_density(prepared, np.random.default_rng([*key, 3, draw]))
        before = replace(made, smooth=True, inside=None)
        found += not np.array_equal(made.node_values, before.node_values)
        for way, release in (("peaks", made), ("before", before)):
            shares = np.diff(release.cdf(grid))
            kept.setdefault(way, []).append(errors(shares, release.quantile(LEVELS)))
        for cells in CELLS:
            shares = plain_histogram(points, domain, 1.0, cells, generator)
            reached = np.append(0, np.cumsum(shares))
            edges = np.linspace(*domain, cells + 1)
            row = errors(np.diff(np.interp(grid, edges, reached)), np.interp(LEVELS, reached, edges))
            kept.setdefault(f"histogram {cells}", []).append(row)
    means = {way: np.mean(rows, axis=0) for way, rows in kept.items()}
    means["best histogram"] = np.min([means.pop(f"histogram {cells}") for cells in CELLS], axis=0)
    told = ("quantiles", "distribution", "l2")
    case = {"shape": name, "n": n, "set aside in": found / draws}
    return [{**case, "way": way, **dict(zip(told, row, strict=True))} for way, row in means.items()]


def told_of(release: Any, points: Floats, shown: Any, at: Floats) -> Floats:
    """What the band of a release on equal cells is for, at points: shares of cells, or a density.

    Of cells with peaks, those of their parts.
    """
    if not release.facts.bands[0].claim.holds.startswith("the share"):
        return np.asarray(shown(at))
    edges = release.raw.cells.edges[0]
    apart = np.min(np.abs(points[:, None] - np.append(release.raw.cells.atoms, np.inf)), axis=1) > 0
    own = np.histogram(points[apart], edges)[0] / points.size / np.diff(edges)
    cell = np.searchsorted(edges[1:-1], at, side="right")
    if release.inside is None:
        return own[cell]
    ends = np.linspace(edges[0], edges[-1], own.size * release.inside.parts + 1)
    parts = np.histogram(points, ends)[0] / points.size / np.diff(ends)
    divided = np.isin(cell, release.inside.cells)
    return np.where(divided, parts[np.searchsorted(ends[1:-1], at, side="right")], own[cell])


def held(name: str, n: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """How often bands of releases with peaks hold the shares of all cells, or of their parts."""
    law, domain = PEAKS[name]
    key, rows = [seed, list(PEAKS).index(name), n, 4], list[list[float]]()
    for draw in range(draws):
        points = np.clip(law(np.random.default_rng([*key, draw]), n), *domain)
        prepared = PrivateDensity(1.0, domain=domain).prepare(points)
        release = simulate_density(prepared, np.random.default_rng([*key, draw, 1]))
        if peaks_of(release.raw, release.node_values.size) is None:
            continue
        edges = release.raw.cells.edges[0]
        at = (edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(POINTS) + 0.5) / POINTS).ravel()
        band, own = release.band(points=at), told_of(release, points, None, at)
        off = np.reshape(release(at) - own, (-1, POINTS)).mean(axis=1)
        half = (band.upper - band.lower).mean() / 2
        rows.append([band.contains(own), half / np.sqrt(np.mean(off**2))])
    case = {"shape": name, "n": n, "set aside in": len(rows) / draws}
    told = np.array(rows, dtype=np.float64).reshape(-1, 2)
    names = ("holds", "half-width over error")
    found = [told[:, 0].mean(), np.median(told[:, 1])] if rows else []
    return [case | dict(zip(names, found, strict=False))]


def stated(name: str, n: int, draws: int, seed: int) -> list[dict[str, Any]]:
    """How often bands hold where atoms are stated: of their shares, and of the density of the rest."""
    (law, domain), atoms = ATOMS[name]
    key, rows = [seed, list(ATOMS).index(name), n, 5], list[list[float]]()
    for draw in range(draws):
        points = np.clip(law(np.random.default_rng([*key, draw]), n), *domain)
        release, shown = (
            simulate_density(
                PrivateDensity(epsilon, domain=Domain(None, domain, atoms=atoms)).prepare(points),
                np.random.default_rng([*key, draw, 1]),
            )
            for epsilon in (1.0, UNLIMITED)
        )
        shares, masses = np.mean(points[:, None] == np.array(atoms), axis=0), release.atoms_band()
        at = np.linspace(*domain, BINS + 1)[1:-1]
        band, wanted = release.band(points=at), told_of(release, points, shown, at)
        half, off = (band.upper - band.lower) / 2, release(at) - wanted
        rows.append([np.all((masses.lower <= shares) & (shares <= masses.upper)), band.contains(wanted),
                     half.mean() / np.sqrt(np.mean(off**2))])  # fmt: skip
    told = np.array(rows, dtype=np.float64)
    names = ("holds atoms", "holds the others", "half-width over error")
    found = [*told[:, :2].mean(axis=0), np.median(told[:, 2])]
    return [{"shape": name, "n": n, **dict(zip(names, found, strict=True))}]


def main() -> None:
    """Simulate all, write the table."""
    options = common.read_options(str(__doc__), SEED)
    draws, sizes = (QUICK_DRAWS, SIZES[1:3]) if options.quick else (DRAWS, SIZES)
    cases = [(name, n) for name in [*PEAKS, *EVERY] for n in sizes]
    common.resumed(options, "density_peaks.csv", cases, lambda case: one(*case, draws, options.seed))
    draws = QUICK_BAND_DRAWS if options.quick else BAND_DRAWS
    cases = [(name, n) for name in PEAKS for n in BANDED]
    common.resumed(
        options, "density_peaks_bands.csv", cases, lambda case: held(*case, draws, options.seed)
    )
    draws = QUICK_BAND_DRAWS if options.quick else STATED_DRAWS
    cases = [(name, n) for name in ATOMS for n in BANDED]
    common.resumed(
        options, "density_atoms_bands.csv", cases, lambda case: stated(*case, draws, options.seed)
    )


if __name__ == "__main__":
    main()
