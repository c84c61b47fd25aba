"""`dpfda density`: publish the density of columns of a file, or of a table of counts."""

from __future__ import annotations

import copy
from typing import Any

from dpfda.front.command import options as o
from dpfda.front.command.declared import DOCSTRING, Option
from dpfda.front.command.publishing import Publication
from dpfda.front.command.reading import Points


def _try(estimator: Any) -> None:
    """Prepare a release of made-up points; counts are checked with the table, whose edges they need."""
    import numpy as np

    ends = estimator.settings.domain.domain_range
    if ends is not None:
        trial = copy.copy(estimator).set_params(reading__invalid="repair")
        trial.prepare(np.full((100, len(ends)), np.nan))


VERB = Publication(
    name="density",
    words="Publish the density of points, or of counts of persons, under differential privacy.",
    estimators=("dpfda.summaries.density:PrivateDensity",),
    reader=Points(),
    trial=_try,
    without=("missing", "standardize"),
    options=(
        Option(
            "mechanism", "--mechanism", "histogram|kernel",
            "Noisy counts of cells, smoothed; or the kernel estimate with noise in its components.",
            o.PRIVACY,
        ),
        Option("cells", "--cells", "M", panel=o.DENSITY, type=int),
        Option(
            "bandwidth", "--bandwidth", "H",
            "Smooth with a normal density of this standard deviation, in the units of the axis. By "
            "default smoothing adapts to the noisy counts, at no cost.",
            o.DENSITY, float,
        ),
        Option(
            "public_size", "--public-size", "N", DOCSTRING, o.PRIVACY, int
        ),
    ),
    examples=(
        "dpfda density people.csv --epsilon 1 --column age:0:105 --out ages.json --plot ages.png",
        "dpfda density visits.csv --epsilon 1 --column lon:-4:4 --column lat:50:54 --groups patient "
        "--out map.json --plot map.png",
        "dpfda density deaths.csv --epsilon 1 --counts deaths --edges 0:105:5 --multiplier 1000 "
        "--unit person --x-label 'age (years)' --out deaths.json --csv deaths-by-age.csv",
    ),
)  # fmt: skip
