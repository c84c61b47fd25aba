"""Means of curves with two values at every point: one box over both beside a share of epsilon each.

Run `python -m experiments.channels` (`--quick` for few draws), DPFDA_DATA_DIR set to the folder that
`experiments.atlas` reads. The channels of a set are the first and the second half of its curves, and
those of the growth curves also height and velocity. Errors are root mean squares of both lines, in
shares of the bounds, under real noise; a share is what each channel had before, by `PrivateMean` with
half of epsilon.
"""

from __future__ import annotations

import csv
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda import PrivateMean, PrivateVectorMean
from experiments import common
from experiments.atlas import CurveSet, curve_sets
from experiments.common import Floats

SEED = 20251124
SIZES = (100, 300, 1_000, 5_000)
DRAWS, QUICK_DRAWS = 4, 1
EPSILON = 1.0
# Centimetres a year: public, from growth charts.
FASTEST = 25.0

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Channels:
    """Curves (k, m, 2) with two values at every point, as shares of their bounds."""

    name: str
    values: Floats


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets and sizes; write channels.csv and print the table."""
    common.data_folder()
    options = common.read_options(__doc__ or "", SEED, arguments)
    made = rows(channels(curve_sets()), QUICK_DRAWS if options.quick else DRAWS)
    with (options.results / "channels.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    for size in SIZES:
        logs = np.log([row["box"] / row["shares"] for row in made if row["n"] == size])
        error = logs.std() / np.sqrt(logs.size)
        common.say(f"{size}: {np.exp(logs.mean()):.3f} +- {error:.3f}, worst {np.exp(logs.max()):.2f}")


def channels(sets: Sequence[CurveSet]) -> list[Channels]:
    """Halves of every set; height and velocity of the growth curves."""
    made = []
    for each in sets:
        shares = np.clip(each.share(each.curves), 0, 1)
        half = each.points // 2
        made.append(
            Channels(each.name, np.stack([shares[:, :half], shares[:, half : 2 * half]], axis=-1))
        )
        if each.name == "berkeley_growth":
            # From one to eighteen years.
            velocity = np.gradient(each.curves, np.linspace(1, 18, each.points), axis=1) / FASTEST
            both = np.stack([shares, np.clip(velocity, 0, 1)], axis=-1)
            made.append(Channels("height and velocity", both))
    return made


def rows(sets: Sequence[Channels], draws: int) -> list[Row]:
    """Errors by both ways, for each set and size."""
    made = []
    for each, size in common.shown([(each, size) for each in sets for size in SIZES], "channels"):
        generator = np.random.default_rng([SEED, zlib.crc32(each.name.encode()), size])
        squares = np.zeros((draws, 2))
        for draw in range(draws):
            sample = each.values[generator.integers(0, len(each.values), size)]
            squares[draw] = both_ways(sample)
        box, shares = np.sqrt(squares.mean(axis=0))
        made.append({"set": each.name, "n": size, "box": f"{box:.4g}", "shares": f"{shares:.4g}"})
    return [{**row, "box": float(row["box"]), "shares": float(row["shares"])} for row in made]


def both_ways(sample: Floats) -> tuple[float, float]:
    """Mean squared errors of one release each: one box, and a share for each channel."""
    grid, exact = np.linspace(0, 1, sample.shape[1]), sample.mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        together = PrivateVectorMean(EPSILON, bounds=(0, 1)).fit(sample).release_(grid)
        alone = [
            PrivateMean(EPSILON / 2, bounds=(0, 1)).fit(sample[..., channel]).release_(grid)
            for channel in (0, 1)
        ]
    apart = np.stack(alone, axis=-1)
    return float(np.mean((together - exact) ** 2)), float(np.mean((apart - exact) ** 2))


if __name__ == "__main__":
    main()
