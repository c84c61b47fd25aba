"""`dpfda mean`: publish the mean curve of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dpfda.command import options as o
from dpfda.command.declared import DOCSTRING, Given, Option
from dpfda.command.publishing import Publication
from dpfda.command.reading import Curves
from dpfda.numerics.errors import ParameterError

PRIOR = Option(
    "prior", "--prior", "F.json|F.csv",
    f"{DOCSTRING} Here the file of a release, or a table whose first two columns are points and values. "
    "It must cover the grid. May be repeated. Example: --prior last-year.json",
    o.CURVE, list[Path],
)  # fmt: skip
FINEST = Option("finest", "--finest", "LENGTH", f"{DOCSTRING} Example: --finest 2", o.CURVE, float, None)
PERIODS = Option(
    "periods", "--periods", "LENGTH",
    f"{DOCSTRING} May be repeated. Example: --periods 7", o.CURVE, list[float],
)  # fmt: skip
MECHANISM = replace(o.MECHANISM, help=f"{o.MECHANISM.help} Without a second look: one-look.")
SEARCH = Option(
    "search", "--search", "LO HI",
    "In the place of --bounds: ends of a wide range in which bounds are looked for, for a part of the "
    "budget. Example: --search 0 10000",
    o.BOUND, o.PAIR, None,
)  # fmt: skip


def read_prior(files: Sequence[Path] | None) -> list[Callable[..., object]] | None:
    """The public curves that files hold; None without any.

    Raises
    ------
    ParameterError
        If there is no such file, or it is neither a release nor a table.
    StorageError
        If a file in JSON is no release of a curve.
    """
    if not files:
        return None
    from dpfda.mean.settings import PublicCurve
    from dpfda.releases.function import ReleasedFunction

    curves: list[Callable[..., object]] = []
    for file in files:
        if not file.is_file():
            raise ParameterError("--prior", "name the file of a release or of a table", str(file))
        curves.append(ReleasedFunction.load(file) if file.suffix == ".json" else PublicCurve.read(file))
    return curves


def _settings(given: Given) -> dict[str, object]:
    return {"prior": read_prior(given.prior), "periods": given.periods or None}


VERB = Publication(
    name="mean",
    words="Publish the mean curve of a file of private curves under differential privacy.",
    estimators=("dpfda.mean.estimator:PrivateMean",),
    reader=Curves(long=True, weighed=True),
    bounded=True,
    options=(SEARCH, MECHANISM, PRIOR, FINEST, PERIODS),
    settings=_settings,
    plans=(
        "dpfda plan --units 500 --epsilon 1 --bounds 0 1",
        "dpfda plan --units 4948 --bounds 0 5 --error 0.1",
        "dpfda plan --units 142 --epsilon 1 --delta 1e-6 --standardize --plot plan.png",
        "dpfda plan mean --missing pooled --units 5000 --bounds -4 4 --epsilon 1",
    ),
    examples=(
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --columns 'cca_*' --groups ID "
        "--missing complete --out fa.json --plot fa.png",
        "dpfda mean demand.csv --epsilon 0.5 --bounds 500 3500 --domain 0 24 "
        "--x-label 'hour of the day' --y-label 'demand (MW)' --out demand.json",
        "dpfda mean scans.csv --epsilon 1 --bounds 0 1 --columns 'cca_*' --missing complete "
        "--prior last-year.json --out fa.json",
        "dpfda mean riders.csv --epsilon 1 --search 0 10000 --out riders.json",
        "dpfda mean riders.csv --epsilon 1 --bounds 0 1000 --mechanism one-look --out riders.json",
        "dpfda mean riders.csv --epsilon 1 --bounds 0 30 --periods 7 --out riders.json",
        "dpfda mean visits.csv --epsilon 1 --bounds 40 200 --id patient --time week --value weight "
        "--domain 0 52 --out weight.json",
    ),
)
