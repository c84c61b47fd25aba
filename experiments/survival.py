"""Survival curves of lifelines' data sets: error at epsilon 1, beside noisy histograms.

Run `python -m experiments.survival` (`--quick` for few draws). lifelines brings the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from lifelines import KaplanMeierFitter, datasets

from dpfda import PrivateSurvival
from dpfda.survival.release import ReleasedSurvival
from experiments import common
from experiments.common import Floats

SEED = 2026112628
DRAWS, QUICK_DRAWS = 100, 2
PLACES, FIXED = 400, 20
# Data set, columns of time and event, public last time.
COLUMNS = ("dpfda", "same counts", "equal cells", "20 cells")
SETS = {
    "lung": ("time", "status", 1100.0),
    "regression_dataset": ("T", "E", 30.0),
    "rossi": ("week", "arrest", 52.0),
    "gbsg2": ("time", "cens", 2800.0),
    "lymph_node": ("rectime", "censrec", 2800.0),
    "kidney_transplant": ("time", "death", 3650.0),
    "canadian_senators": ("diff_days", "observed", 16000.0),
    "dd": ("duration", "observed", 50.0),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all data sets and write survival.csv."""
    options = common.read_options(__doc__ or "", SEED, arguments)
    rows = [row_of(name, QUICK_DRAWS if options.quick else DRAWS) for name in SETS]
    common.write_csv(options.results / "survival.csv", rows)
    for row in rows:
        common.say("  ".join(f"{key} {value}" for key, value in row.items()))


def row_of(name: str, draws: int) -> dict[str, object]:
    """Root mean square distances to the Kaplan-Meier curve over the observed time."""
    column, how, top = SETS[name]
    data = getattr(datasets, f"load_{name}")()
    time, event = data[column].to_numpy(float), data[how].to_numpy(int)
    at = np.linspace(0, min(top, time.max()), PLACES)
    known = KaplanMeierFitter().fit(time, event).predict(at).to_numpy()
    made = PrivateSurvival(1, domain=(0, top))
    equal, fixed = (
        PrivateSurvival(1, domain=(0, top), cells=cells)
        for cells in (made.plan(len(time)).cells.count, FIXED)
    )
    errors = []
    for _ in range(draws):
        release = made.fit(time, event).release_
        others = (histogram(each.fit(time, event).release_, at) for each in (equal, fixed))
        found = release(at), histogram(release, at), *others
        errors.append([np.mean((curve - known) ** 2) for curve in found])
    means = np.sqrt(np.mean(errors, axis=0))
    return {
        "data": name, "n": len(time), "events": int(event.sum()), "top": top,
        "cells": release.cells.count, "draws": draws,
        **dict(zip(COLUMNS, means.round(4).tolist(), strict=True)),
    }  # fmt: skip


def histogram(release: ReleasedSurvival, at: Floats) -> Floats:
    """Survival by the noisy counts alone: cut at zero, straight lines between the edges.

    The product-limit estimate of a life table, whoever is censored within a cell counting for half.
    """
    cells, counts = release.cells, np.maximum(release.counts[0], 0)
    events, censored = counts[: cells.count], cells.spread(counts[cells.count : -1])
    at_risk = counts[-1] + np.cumsum((events + censored)[::-1])[::-1]
    hazards = events / np.maximum(np.maximum(at_risk - censored / 2, events), 1e-9)
    return np.interp(at, cells.edges, np.append(1.0, np.cumprod(1 - hazards)))


if __name__ == "__main__":
    main()
