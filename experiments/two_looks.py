"""What a second, closer look gains or loses beside the default mean, on 39 sets of real curves.

Run `python -m experiments.two_looks` (`--quick` for few draws), DPFDA_DATA_DIR set to the folder that
`experiments.atlas` reads. The noise is the library's own. The curves of a set are the units, with n
epsilon as stated: errors depend on that product alone.

The rule for the radius was set on every second set (the 2nd, 4th, .. by name); the others are "told".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpfda import PrivateMean
from dpfda.mean.two_looks import TwoLooks
from experiments import common
from experiments.atlas import CurveSet, curve_sets

SEED = 2026112632
DRAWS, QUICK_DRAWS = 20, 2
STRENGTHS = (5_000, 20_000, 80_000)
LEVEL = 0.95

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets and sizes; write two_looks.csv and print the table."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    sets = sorted(curve_sets(), key=lambda each: each.name)
    made = run(sets, QUICK_DRAWS if options.quick else DRAWS)
    common.write_csv(options.results / "two_looks.csv", made)
    common.say(table(made))


def run(sets: Sequence[CurveSet], draws: int, strengths: Sequence[int] = STRENGTHS) -> list[Row]:
    """One row for each set and n epsilon: ratio of errors, radius, bands that hold, their widths."""
    rows = []
    for place, each in common.shown(list(enumerate(sets)), "sets"):
        for strength in strengths:
            one, two = (_cell(each, strength, draws, how) for how in ("auto", TwoLooks()))
            rows.append({
                "name": each.name, "half": "set on" if place % 2 else "told", "n_epsilon": strength,
                "one": one["error"], "two": two["error"], "ratio": two["error"] / one["error"],
                "radius": two["radius"], "one_holds": one["holds"], "two_holds": two["holds"],
                "widths": two["width"] / one["width"],
            })  # fmt: skip
    return rows


def _cell(curves: CurveSet, strength: int, draws: int, mechanism: object) -> dict[str, float]:
    sample = np.clip(curves.curves, curves.low, curves.high)
    mean, grid = sample.mean(axis=0), np.linspace(0, 1, curves.points)
    squares, holds, widths, radii = [], [], [], []
    estimator = PrivateMean(
        f"{strength / len(sample):.9f}", bounds=(curves.low, curves.high), mechanism=mechanism
    )
    for _ in range(draws):
        release = estimator.fit(sample).release_
        band = release.band(LEVEL, points=grid)
        squares.append(np.mean((curves.share(release(grid)) - curves.share(mean)) ** 2))
        holds.append(band.contains(mean))
        widths.append(np.mean(curves.share(band.upper) - curves.share(band.lower)))
        radii.append(float(release.mechanism.get("radius", 0.5)))
    error, width = float(np.sqrt(np.mean(squares))), float(np.mean(widths))
    return {
        "error": error, "width": width, "holds": float(np.mean(holds)), "radius": float(np.mean(radii)),
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
            cells.append([
                half, f"{strength:,}", f"{mean:.3f}", f"{ratios.max():.2f}", f"{ratios.min():.2f}",
                f"{np.mean(ratios > 1.03):.2f}", *holds, f"{widths:.2f}",
            ])  # fmt: skip
    header = ["sets", "n epsilon", "error over one look's", "worst", "best", "above 1.03"]
    return common.markdown_table([*header, "one look's band holds", "two looks'", "width over"], cells)


if __name__ == "__main__":
    main()
