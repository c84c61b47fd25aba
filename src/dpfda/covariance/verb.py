"""`dpfda covariance`: publish the covariance function of a file of curves, and its components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.declared import Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.releases.function import ReleasedFunction

CENTER = Option(
    "center", "--center", "auto|private|pairs|bound|VALUE|F.json",
    "What deviations are counted from: a mean released with a share of epsilon; other units, paired at "
    "random, which needs no mean and is the choice of auto below n epsilon of 30,000; the middle of "
    "--bounds (a second moment); a public number; or an earlier release.",
    o.CURVE, default="auto",
)  # fmt: skip
COMPONENTS = o.output(
    "components_file", "F.json", "The principal components of the same release, at no further cost."
)


def read_center(text: str) -> str | float | ReleasedFunction:
    """The center that an argument names.

    Raises
    ------
    ParameterError
        If it is no word of the list, number or file.
    StorageError
        If the file is no release.
    """
    if text in ("auto", "private", "pairs", "bound"):
        return text
    try:
        return float(text)
    except ValueError:
        pass
    if not Path(text).is_file():
        words = "be auto, private, pairs, bound, a number or the file of a release"
        raise ParameterError("--center", words, repr(text))
    from dpfda.releases.function import ReleasedFunction

    return ReleasedFunction.load(text)


def covariance_settings(given: Given) -> dict[str, object]:
    """What the options say of the center."""
    return {"center": read_center(given.center)}


VERB = Publication(
    name="covariance",
    words="Publish the covariance function of a file of private curves under differential privacy.",
    estimators=("dpfda.covariance.estimator:PrivateCovariance",),
    reader=Curves(long=True),
    options=(o.BOUNDS[0], CENTER),
    settings=covariance_settings,
    outputs=((COMPONENTS, lambda release, path: release.components().save(path, overwrite=True)),),
    plans=("dpfda plan covariance --units 500 --rho 0.1 --bounds 0 1",),
    examples=(
        "dpfda covariance demand.csv --epsilon 1 --center mean.json --radius 450 --out cov.json "
        "--plot cov.png --components-file pca.json",
        "dpfda covariance scans.csv --epsilon 1 --center private --bounds 0.2 0.9 --radius 0.12 "
        "--columns 'cca_*' --groups ID --missing complete --out cov.json",
        "dpfda covariance visits.csv --epsilon 4 --bounds 40 200 --id patient --time week "
        "--value weight --domain 0 52 --out cov.json --components-file pca.json",
    ),
)
