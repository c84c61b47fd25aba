"""Means of curves with several values at every point: one draw of noise beside shares of the budget.

Run `python -m experiments.channels` (`--quick` for few draws), DPFDA_DATA_DIR set to the folder that
`experiments.atlas` reads. The channels of a set are the first and the second half of its curves; those
of the growth curves also height and velocity; of made-up smooth curves there are two and five. Errors
are root mean squares of all lines, in shares of the bounds, under real noise. Beside the default stand
what each channel would have by `PrivateMean` with an equal share of the budget, one box for all with
the whole of epsilon, and with a delta one Gaussian for all, whose channels are those of an equal share
of its rho each.
"""

from __future__ import annotations

import csv
import itertools
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpfda import PrivateMean, PrivateVectorMean
from dpfda.mean.vector.together import gaussian_share
from dpfda.privacy.guarantees import ApproximateDP, guarantee_for
from experiments import common
from experiments.atlas import CurveSet, curve_sets
from experiments.common import Floats

SEED = 2026112605
SIZES = (300, 5_000, 20_000)
DRAWS, QUICK_DRAWS = 3, 1
EPSILON, DELTA = 1.0, 1e-6
# Centimetres a year: public, from growth charts.
FASTEST = 25.0

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Channels:
    """Curves (k, m, d) with d values at every point, as shares of their bounds."""

    name: str
    values: Floats


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all sets, sizes and budgets; write channels.csv and print the table."""
    common.data_folder()
    options = common.read_options(__doc__ or "", SEED, arguments)
    made = rows(
        channels(curve_sets(), options.seed), QUICK_DRAWS if options.quick else DRAWS, options.seed
    )
    with (options.results / "channels.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(made[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made)
    for size, delta in itertools.product(SIZES, (0.0, DELTA)):
        cells = [row for row in made if (row["n"], row["delta"]) == (size, delta)]
        for other in ("shares", "box", "gaussian"):
            if other in ("box", "gaussian") and not delta:
                continue
            logs = np.log([row["default"] / row[other] for row in cells])
            error = logs.std() / np.sqrt(logs.size)
            words = f"{np.exp(logs.mean()):.3f} +- {error:.3f}, worst {np.exp(logs.max()):.2f}"
            common.say(f"n {size}, delta {delta:g}, default over {other}: {words}")


def channels(sets: Sequence[CurveSet], seed: int) -> list[Channels]:
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
    return [*made, *(Channels(f"made up, {count}", smooth(count, seed)) for count in (2, 5))]


def smooth(count: int, seed: int) -> Floats:
    """A thousand made-up curves of five waves, in so many channels."""
    generator, at = np.random.default_rng([seed, count]), np.linspace(0, 1, 60)
    waves = np.cos(np.pi * np.arange(5)[:, None] * at) / (1 + np.arange(5)[:, None]) ** 1.5
    mean, own = generator.normal(size=(count, 5)), generator.normal(size=(1_000, count, 5))
    return np.clip(0.5 + 0.15 * np.moveaxis((mean + own) @ waves, 1, 2), 0, 1)


def rows(sets: Sequence[Channels], draws: int, seed: int) -> list[Row]:
    """Errors by all ways, for each set, size and budget."""
    made, cells = [], list(itertools.product(sets, SIZES, (0.0, DELTA)))
    for each, size, delta in common.shown(cells, "channels"):
        generator = np.random.default_rng([seed, zlib.crc32(each.name.encode()), size, delta > 0])
        found = [
            errors(each.values[generator.integers(0, len(each.values), size)], delta)
            for _ in range(draws)
        ]
        row: Row = {"set": each.name, "n": size, "delta": delta}
        for way in found[0]:
            row[way] = float(f"{np.sqrt(np.mean([error[way] for error in found])):.4g}")
        made.append(row)
    return made


def errors(sample: Floats, delta: float) -> dict[str, float]:
    """Mean squared errors of one release each."""
    count, box = sample.shape[2], PrivateVectorMean(EPSILON, bounds=(0, 1))
    share = {"epsilon": EPSILON / count, "delta": delta / count}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"default": square(PrivateVectorMean(EPSILON, delta, bounds=(0, 1)).fit(sample), sample)}
        found["shares"] = square(apart(sample, **share), sample)
        whole = guarantee_for(EPSILON, delta)
        normal = isinstance(whole, ApproximateDP)
        found["box"] = square(box.fit(sample), sample) if normal else found["default"]
        found["gaussian"] = np.nan
        if isinstance(whole, ApproximateDP):
            rho = gaussian_share(whole, count).rho
            found["gaussian"] = square(apart(sample, epsilon=None, rho=rho), sample)
    return found


def apart(sample: Floats, **budget: Any) -> list[Any]:
    """A mean of each channel by itself."""
    return [
        PrivateMean(**budget, bounds=(0, 1)).fit(sample[..., channel])
        for channel in range(sample.shape[2])
    ]


def square(fitted: Any, sample: Floats) -> float:
    """Mean squared error of what was released of all channels."""
    grid = np.linspace(0, 1, sample.shape[1])
    if isinstance(fitted, list):
        released = np.stack([mean.release_(grid) for mean in fitted], axis=-1)
    else:
        released = fitted.release_(grid)
    return float(np.mean((released - sample.mean(axis=0)) ** 2))


if __name__ == "__main__":
    main()
