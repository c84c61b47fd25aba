"""`dpfda part`: one custodian's masked sum under an agreement."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer

from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Option, Verb
from dpfda.front.command.reading import COLUMNS, DATES, LONG, Curves, located
from dpfda.numerics.errors import CustodyError, ParameterError

OPTIONS = (
    Option("file", "", "FILE",
           "CSV or Parquet file, private, as dpfda mean or dpfda density reads it. Without it the "
           "agreement is shown in words, and nothing is read.", type=Path, default=None),
    o.AGREEMENT,
    Option("keys", "--keys", "NAME.keys", "Your keys for this release. They are used up.", type=Path,
           default=None),
    Option("fingerprint", "--fingerprint", "HASH",
           "Fingerprint of the agreement, as you have compared it with all other custodians. Who could "
           "put another agreement in its place could read your part.", default=None),
    COLUMNS, o.GROUPS, *LONG, o.DECIMAL, DATES,
    o.output("out", "NAME.part", "Your part, for the coordinator."),
    o.OVERWRITE,
)  # fmt: skip


def add_up(given: Given) -> None:
    """Add up your records under an agreement of several custodians, and mask the sum.

    Three steps: show the agreement (without FILE); compare its fingerprint with every other custodian,
    by telephone, say; make the part. The coordinator learns the sum over all custodians, and not yours.
    """
    from dpfda.front.command.outputs import check_outputs
    from dpfda.publication.custody import Agreement, Keys
    from dpfda.summaries import custodians

    agreement = Agreement.load(given.agreement)
    if given.file is None:
        typer.echo(custodians.words(agreement))
        return
    for name in ("keys", "fingerprint", "out"):
        if getattr(given, name) is None:
            raise ParameterError(f"--{name}", "be given with FILE", "none")
    if given.fingerprint.strip().lower() != agreement.fingerprint:
        raise CustodyError(
            f"--fingerprint must be that of {str(given.agreement)!r}; found another. Somebody may have "
            "put another agreement in its place: ask the other custodians, not the coordinator."
        )
    check_outputs({"--out": given.out}, {"FILE": given.file, "--keys": given.keys}, given.overwrite)
    keys = Keys.load(given.keys)
    estimator = custodians.estimator_of(agreement)
    table, data, groups = _read(given, agreement.summary["name"], estimator)
    with located(table):
        made = custodians.part(agreement, keys, data, groups)
    made.save(given.out)
    typer.echo(f"{given.out}, for {agreement.coordinator.name}; {given.keys} is used up")


def _read(given: Given, summary: str, estimator: Any) -> tuple[Any, Any, Any]:
    settings = estimator.settings
    if summary == "density":
        from dpfda.records.columns import read_columns

        if given.columns is None:
            raise ParameterError("--columns", "name the columns of the points, with commas", "none")
        table = read_columns(
            given.file, given.columns.split(","), groups=given.groups, decimal=given.decimal,
            invalid=settings.reading.invalid,
        )  # fmt: skip
        return table, table.numbers, table.groups
    ends = settings.domain.domain_range
    public = {
        "invalid": settings.reading.invalid,
        "missing": settings.reading.missing,
        "domain": None if ends is None else tuple(map(str, ends)),
        "grid": None,
    }
    stated = SimpleNamespace(**{**vars(given), **public})
    table = Curves(long=True).read(stated)
    return table, table.data, table.groups


VERB = Verb(
    "part",
    add_up,
    OPTIONS,
    (
        "dpfda part --agreement agreed.json",
        "dpfda part scans.csv --agreement agreed.json --keys north.keys --columns 'cca_*' --groups ID "
        "--fingerprint 928a220d-... --out north.part",
    ),
    o.CUSTODIANS,
)
