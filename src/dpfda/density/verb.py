"""`dpfda density`: publish the density of columns of a file, or of a table of counts."""

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, Option
from dpfda.command.publishing import Publication
from dpfda.density.options import Points

VERB = Publication(
    name="density",
    words="Publish the density of points, or of counts of persons, under differential privacy.",
    estimators=("dpfda.density.estimator:PrivateDensity",),
    reader=Points(),
    without=("missing", "standardize"),
    options=(
        Option(
            "mechanism", "--mechanism", "histogram|kernel",
            "Noisy counts of cells, smoothed; or the kernel estimate with noise in its components.",
            o.PRIVACY,
        ),
        Option(
            "scale", "--scale", "auto|linear|log|zoom",
            "What cells of an interval are equal on: the axis, its logarithm, or a scale chosen "
            "privately that is even around three fifths of the units and logarithmic far from it (the "
            "axis, where these are spread widely). By default the last where n epsilon is at least "
            "500, else the axis.",
            o.DENSITY,
        ),
        Option(
            "step", "--step", "D", f"{DOCSTRING} Example: --column age:0:105 --step 1",
            o.DENSITY, float, None,
        ),
        Option(
            "atoms", "--atoms", "VALUE",
            f"{DOCSTRING} May be repeated. Example: --column hours:0:60 --atoms 0",
            o.DENSITY, list[float],
        ),
        Option(
            "bandwidth", "--bandwidth", "H",
            "Smooth with a normal density of this standard deviation, in the units of the axis. By "
            "default smoothing adapts to the noisy counts, at no cost.",
            o.DENSITY, float,
        ),
    ),
    plans=("dpfda plan density --units 2000 --column age:0:100 --error 20% --epsilon 1",),
    examples=(
        "dpfda density people.csv --epsilon 1 --column age:0:105 --out ages.json --plot ages.png",
        "dpfda density visits.csv --epsilon 1 --column lon:-4:4 --column lat:50:54 --groups patient "
        "--out map.json --plot map.png",
        "dpfda density deaths.csv --epsilon 1 --counts deaths --edges 0:105:5 --multiplier 1000 "
        "--unit person --x-label 'age (years)' --out deaths.json --csv deaths-by-age.csv",
    ),
)  # fmt: skip
