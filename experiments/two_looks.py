"""What the second, closer look of the default mean gains or loses beside one look alone.

On 39 sets of real curves, and on made-up ones that are awkward: some units far from all others, heavy
tails, clusters, zeros.

Run `python -m experiments.two_looks` (`--quick` for few draws), DPFDA_DATA_DIR set to the folder that
`experiments.atlas` reads. The noise is the library's own. The curves of a set are the units, with n
epsilon as stated: errors depend on that product alone.

The rule for the radius was set on every second set (the 2nd, 4th, .. by name) and with the awkward ones
in view; the others are "told".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfda import PrivateMean
from experiments import common
from experiments.atlas import CurveSet, curve_sets

SEED = 2026112632
DRAWS, QUICK_DRAWS = 12, 2
STRENGTHS = (5_000, 20_000, 80_000)
LEVEL = 0.95

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets and sizes; write two_looks.csv and print both tables."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    sets = sorted(curve_sets(), key=lambda each: each.name)
    draws = QUICK_DRAWS if options.quick else DRAWS
    made = run(sets, draws)
    common.say(table(made))
    strange = run(awkward_sets(), 2 * draws)
    common.write_csv(options.results / "two_looks.csv", made + strange)
    names = ("name", "n_epsilon", "ratio", "one_holds", "two_holds", "radius")
    rows = [[f"{row[name]:.2f}" if isinstance(row[name], float) else str(row[name]) for name in names]
            for row in strange]  # fmt: skip
    common.say(common.markdown_table(names, rows))


def awkward_sets(units: int = 4000, points: int = 48) -> list[CurveSet]:
    """Curves between 0 and 1 that a closer look might treat ill."""
    generator, at = np.random.default_rng(SEED), np.linspace(0, 1, points)
    level, wave = generator.normal(size=(units, 1)), np.sin(6 * at)
    place = np.arange(units)[:, None]
    near = 0.3 + 0.1 * wave + 0.03 * level + 0.02 * generator.normal(size=(units, points))
    small = generator.random((units, 1)) < 0.1
    made = {
        "near their mean": near,
        "0.2 % far above": np.where(place < 0.002 * units, 1.0, near),
        "1 % far above": np.where(place < 0.01 * units, 1.0, near),
        "1 % far above, in a third": np.where(
            (place < 0.01 * units) & (abs(at - 0.5) < 1 / 6), 1.0, near
        ),
        "5 % far above": np.where(place < 0.05 * units, 1.0, near),
        "log-normal levels, 0.6": 0.05 * np.exp(0.6 * level) * (1 + 0.3 * wave),
        "log-normal levels, 0.9": 0.05 * np.exp(0.9 * level) * (1 + 0.3 * wave),
        "levels with heavy tails": 0.3 + 0.04 * generator.standard_t(2, (units, 1)) + 0.05 * wave,
        "two clusters, 0.6 apart": np.where(place % 2 == 0, 0.2, 0.8) + 0.05 * wave,
        "at a bound": 1 - 0.05 * abs(level) - 0.03 * abs(generator.normal(size=(units, points))),
        "zeros but for a tenth of units": np.where(small, generator.random((units, 1)), 0.0) + 0 * at,
    }
    return [
        CurveSet(name, "awkward", "", np.clip(curves, 0, 1), 0.0, 1.0) for name, curves in made.items()
    ]


def run(sets: Sequence[CurveSet], draws: int, strengths: Sequence[int] = STRENGTHS) -> list[Row]:
    """One row for each set and n epsilon: ratio of errors, radius, bands that hold, their widths."""
    rows = []
    for place, each in common.shown(list(enumerate(sets)), "sets"):
        for strength in strengths:
            one, two = (_cell(each, strength, draws, how) for how in ("one-look", "auto"))
            rows.append({
                "name": each.name, "half": "set on" if place % 2 else "told", "n_epsilon": strength,
                "one": one["error"], "two": two["error"], "ratio": two["error"] / one["error"],
                "radius": two["radius"], "one_holds": one["holds"], "two_holds": two["holds"],
                "widths": two["width"] / two["error"] / 2, "planned": two["planned"],
            })  # fmt: skip
    return rows


def _cell(curves: CurveSet, strength: int, draws: int, mechanism: object) -> dict[str, float]:
    sample = np.clip(curves.curves, curves.low, curves.high)
    mean, grid = sample.mean(axis=0), np.linspace(0, 1, curves.points)
    squares, holds, widths, radii = [], [], [], []
    # Rounded up, so that there is no one look by rounding.
    epsilon = f"{strength / len(sample) + 1e-8:.9f}"
    estimator = PrivateMean(epsilon, bounds=(curves.low, curves.high), mechanism=mechanism)
    planned = estimator.plan(len(sample), curves.points).error / (curves.high - curves.low)
    for _ in range(draws):
        release = estimator.fit(sample).release_
        band = release.band(LEVEL, points=grid)
        squares.append(np.mean((curves.share(release(grid)) - curves.share(mean)) ** 2))
        holds.append(band.contains(mean))
        widths.append(np.mean(curves.share(band.upper) - curves.share(band.lower)))
        radii.append(float(release.certificate.mechanism.get("radius", 0.5)))
    error, width = float(np.sqrt(np.mean(squares))), float(np.mean(widths))
    return {
        "error": error, "width": width, "holds": float(np.mean(holds)), "radius": float(np.mean(radii)),
        "planned": planned,
    }  # fmt: skip


def table(rows: Sequence[Row]) -> str:
    """Ratios of errors by half and n epsilon."""
    cells = []
    for half in ("set on", "told"):
        for strength in sorted({row["n_epsilon"] for row in rows}):
            chosen = [row for row in rows if (row["half"], row["n_epsilon"]) == (half, strength)]
            if not chosen:
                continue
            ratios = np.array([row["ratio"] for row in chosen])
            mean = float(np.exp(np.mean(np.log(ratios))))
            holds = [
                f"{np.mean([row[name] for row in chosen]):.2f}" for name in ("one_holds", "two_holds")
            ]
            widths = float(np.median([row["widths"] for row in chosen]))
            planned = [math.log(row["two"] / row["planned"]) for row in chosen]
            over = math.exp(np.mean(planned))
            cells.append([
                half, f"{strength:,}", f"{mean:.3f}", f"{ratios.max():.2f}", f"{ratios.min():.2f}",
                f"{np.mean(ratios > 1.03):.2f}", *holds, f"{widths:.2f}", f"{over:.2f}",
            ])  # fmt: skip
    header = ["sets", "n epsilon", "error over one look's", "worst", "best", "above 1.03"]
    return common.markdown_table(
        [*header, "one look's band holds", "two looks'", "half-width over error", "planned"], cells
    )


if __name__ == "__main__":
    main()
