"""`dpfda sample`: publish a sampler of curves, and synthetic curves drawn from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.publishing import Publication
from dpfda.command.reading import ComparedCurves
from dpfda.numerics.words import csv_text

if TYPE_CHECKING:
    from dpfda.sampler.release import ReleasedCurveSampler, ReleasedCurveSamplers


def save_synthetic(release: ReleasedCurveSampler | ReleasedCurveSamplers, path: Path) -> None:
    """Write as many synthetic curves as sums were divided by, as CSV with the grid as its header.

    With groups the name of each one's stands before it.
    """
    from dpfda.releases.files import write_text

    drawn = release.sample(release.divided_by)
    curves, names = drawn if isinstance(drawn, tuple) else (drawn, None)
    rows = [[f"{value:.8g}" for value in row] for row in [release.grid_points, *curves]]
    if names is not None:
        heads = [str(release.about.get("group", "group")), *names.tolist()]
        rows = [[head, *row] for head, row in zip(heads, rows, strict=True)]
    write_text(path, csv_text(rows))


DRAWN = o.output(
    "synthetic",
    "S.csv",
    "Synthetic curves, one a row, as many as there were. Not for tests, rare curves or single persons.",
)
VERB = Publication(
    name="sample",
    words="Publish a sampler of synthetic curves: mean, covariance and laws of scores of a file of "
    "private curves, under differential privacy. What is drawn from it costs nothing more.",
    estimators=("dpfda.sampler.estimator:PrivateCurveSampler",),
    reader=ComparedCurves(asked=True),
    without=("standardize",),
    options=(o.BOUNDED,),
    outputs=((DRAWN, save_synthetic),),
    plans=("dpfda plan sample --units 5000 --epsilon 1 --bounds 0 1",),
    examples=(
        "dpfda sample loads.csv --epsilon 1 --delta 1e-6 --bounds 0 10 --groups household --out "
        "sampler.json --synthetic made_up.csv",
        "dpfda sample loads.csv --by tariff:day,night --epsilon 1 --delta 1e-6 --bounds 0 10 "
        "--columns 'load_*' --groups household --out samplers.json --synthetic made_up.csv",
    ),
)
