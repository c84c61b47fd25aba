"""`dpfda sample`: publish a sampler of curves, and synthetic curves drawn from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves

if TYPE_CHECKING:
    from dpfda.sampler.release import ReleasedCurveSampler


def save_synthetic(release: ReleasedCurveSampler, path: Path) -> None:
    """Write as many synthetic curves as sums were divided by, as CSV with the grid as its header."""
    from dpfda.releases.files import write_text

    rows = [release.grid_points, *release.sample(release.moments.size)]
    write_text(path, "".join(",".join(f"{value:.8g}" for value in row) + "\n" for row in rows))


DRAWN = o.output(
    "synthetic",
    "S.csv",
    "Synthetic curves, one a row, as many as there were. Not for tests, rare curves or single persons.",
)
VERB = Publication(
    name="sample",
    words="Publish a sampler of synthetic curves: mean, covariance and laws of scores of a file of "
    "private curves, under differential privacy. What is drawn from it costs nothing more.",
    estimators=("dpfda.sampler.estimator:PrivateCurveSampler", "dpfda.mean.estimator:PrivateMean"),
    reader=Curves(),
    without=("standardize",),
    options=(replace(o.BOUNDS[0], default=REQUIRED),),
    outputs=((DRAWN, save_synthetic),),
    plans=("dpfda plan sample --units 5000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda sample loads.csv --epsilon 1 --delta 1e-6 --bounds 0 10 --groups household --out "
        "sampler.json --synthetic made_up.csv",
    ),
)
