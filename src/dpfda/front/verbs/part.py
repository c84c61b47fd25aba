"""`dpfda part`: one custodian's masked sum under an agreement."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.reading import as_stated, located
from dpfda.command.running import say
from dpfda.numerics.errors import CustodyError, ParameterError


def add_up(
    file: Path | None = None,
    *,
    agreement: Path,
    keys: Path | None = None,
    fingerprint: str | None = None,
    columns: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    id: str | None = None,
    time: str | None = None,
    value: str | None = None,
    decimal: str = ".",
    na: list[str] | None = None,
    dates: str | None = None,
    ledger: Path | None = None,
    dataset: str | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Add up your records under an agreement of several custodians, and mask the sum.

    Where the agreement has shared noise, your share is drawn here, after your own ledger is charged.

    Three steps: show the agreement (without FILE); compare its fingerprint with every other custodian,
    by telephone, say; make the part. The coordinator learns the sum over all custodians, and not yours.

    Parameters
    ----------
    file : FILE
        CSV or Parquet file, private, as dpfda mean or dpfda density reads it. Without it the agreement
        is shown in words, and nothing is read.
    keys : NAME.keys
        Your keys for this release. They are used up.
    fingerprint : HASH
        Fingerprint of the agreement, as you have compared it with all other custodians. Who could put
        another agreement in its place could read your part.
    by : COLUMN
        Of a comparison: the column with the group of each record, among those that were agreed.
    out : NAME.part
        Your part, for the coordinator.
    """
    from dpfda.command.accounts import opened_account
    from dpfda.command.files import check_outputs
    from dpfda.front import custodians
    from dpfda.privacy.ledger import named_once
    from dpfda.publication.custody import Agreement, Keys
    from dpfda.records.columns import TableColumns, read_columns
    from dpfda.records.files import TableCurves, read_curves

    agreed = Agreement.load(agreement)
    if file is None:
        say(custodians.words(agreed))
        return
    if keys is None or fingerprint is None or out is None:
        given = {"--keys": keys, "--fingerprint": fingerprint, "--out": out}
        lacking = next(flag for flag, value in given.items() if value is None)
        raise ParameterError(lacking, "be given with FILE", "none")
    if fingerprint.strip().lower() != agreed.fingerprint:
        raise CustodyError(
            f"--fingerprint must be that of {str(agreement)!r}; found another. Somebody may have "
            "put another agreement in its place: ask the other custodians, not the coordinator."
        )
    name = agreed.summary["name"]
    if (by is None) is (name == "comparison"):
        words = "name the column with the groups" if by is None else "be left out"
        raise ParameterError("--by", f"{words} of a {name}", "none" if by is None else repr(by))
    check_outputs({"--out": out}, {"FILE": file, "--keys": keys}, overwrite)
    # One that is named once for all is for noise that is drawn here.
    charged = agreed.is_shared or ledger not in (None, named_once().ledger)
    account = opened_account(ledger, dataset) if charged else None
    payer = None if account is None else account.payer()
    secret = Keys.load(keys)
    reading = custodians.estimator_of(agreed).settings.reading
    labels: Any = None
    with as_stated(file, decimal, na, reading.invalid) as stated:
        if name == "density":
            if columns is None:
                words = "name the columns of the points, with commas"
                raise ParameterError("--columns", words, "none")
            points = [("columns", column) for column in columns.split(",")]
            unit = [] if groups is None else [("groups", groups)]
            table: TableColumns | TableCurves = read_columns(file, points, unit, stated)
        else:
            read = partial(
                read_curves, file, columns=columns, id=id, time=time, value=value, decimal=decimal,
                na=stated.notation.na, dates=dates, invalid=stated.invalid, progress=stated.progress,
            )  # fmt: skip
            table = read(groups=groups)
            labels = None if by is None else read(groups=by).groups
    data = table.data if isinstance(table, TableCurves) else table.numbers
    with located(table):
        made = custodians.part(agreed, secret, data, table.groups, labels, payer)
    made.save(out, overwrite)
    rest = f"{keys} is used up"
    if agreed.may_vanish:
        rest = f"{keys} can do one thing more: keep it, for dpfda answer"
    say(f"{out}, for {agreed.coordinator.name}, who can read nothing in it alone; {rest}")


VERB = Verb.of(
    "part",
    add_up,
    (
        "dpfda part --agreement agreed.json",
        "dpfda part scans.csv --agreement agreed.json --keys north.keys --columns 'cca_*' --groups ID "
        "--fingerprint 928a220d-... --out north.part",
    ),
    o.CUSTODIANS,
)
