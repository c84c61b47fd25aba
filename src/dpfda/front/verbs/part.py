"""`dpfda part`: one custodian's masked sum under an agreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.reading import as_stated, located
from dpfda.command.running import opened_account, say, typed
from dpfda.numerics.errors import CustodyError, DataError, ParameterError

if TYPE_CHECKING:
    from dpfda.records.columns import TableColumns
    from dpfda.records.csv_tables import Stated
    from dpfda.records.files import TableCurves
    from dpfda.spine.arguments import Beside, Records
    from dpfda.spine.estimator import Estimator

    Read = tuple[TableColumns | TableCurves, Records, Beside]

# Options of what is agreed on, which a part has not.
AGREED = (o.PARAMETERS["missing"], o.PARAMETERS["invalid"])
# Summaries that are read as columns, and what must be stated for each.
POINTS = {
    "density": "name the columns of the points, with commas",
    "survival": "name the column with the end of each follow-up",
}


def part(
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
    event: str | None = None,
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
        Of a comparison or a test: the column with each record's group, of those agreed.
    time : COLUMN
        Of observations: the column of times. Of survival: the end of each follow-up.
    event : COLUMN
        Of survival: the column that says how each follow-up ended, in the codes that were agreed.
    out : NAME.part
        Your part, for the coordinator.

    Examples
    --------
    dpfda part --agreement agreed.json
    dpfda part scans.csv --agreement agreed.json --keys north.keys --columns 'cca_*' --groups ID
        --fingerprint 928a220d-... --out north.part
    """
    from dpfda.command.files import check_outputs
    from dpfda.front import custodians
    from dpfda.privacy.ledger import named_once
    from dpfda.publication.custody import Agreement, Keys
    from dpfda.records.files import read_curves

    agreed = Agreement.load(agreement)
    if file is None:
        say(f"{custodians.words(agreed)}\nIt is public. Next: compare the fingerprint with the others")
        return
    if keys is None or fingerprint is None or out is None:
        needed = {"--keys": keys, "--fingerprint": fingerprint, "--out": out}
        lacking = next(flag for flag, value in needed.items() if value is None)
        raise ParameterError(lacking, "be given with FILE", "none")
    if fingerprint.strip().lower() != agreed.fingerprint:
        raise CustodyError(
            f"--fingerprint must be that of {str(agreement)!r}; found another. Somebody may have "
            "put another agreement in its place: ask the other custodians, not the coordinator."
        )
    name = agreed.summary["name"]
    if (by is None) is (name in ("comparison", "test")):
        words = "name the column with the groups" if by is None else "be left out"
        raise ParameterError("--by", f"{words} of a {name}", "none" if by is None else repr(by))
    check_outputs({"--out": out}, {"FILE": file, "--keys": keys}, overwrite)
    # One that is named once for all is for noise that is drawn here.
    charged = agreed.is_shared or ledger not in (None, named_once().ledger)
    account = opened_account(ledger, dataset) if charged else None
    payer = None if account is None else account.ledger.of(account.dataset)
    secret = Keys.load(keys)
    estimator = custodians.estimator_of(agreed)
    named = {"columns": columns, "time": time, "event": event, "groups": groups, "by": by}
    with as_stated(file, decimal, na, estimator.settings.reading.invalid) as stated:
        if name in POINTS:
            table, data, labels = _columns(file, name, named, stated)
        else:
            read = partial(
                read_curves, file, columns=columns, id=id, time=time, value=value, decimal=decimal,
                na=stated.notation.na, dates=dates, invalid=stated.invalid, progress=stated.progress,
            )  # fmt: skip
            table, data, labels = _curves(read, estimator, groups, by)
    with _agreed(), located(table):
        masked = custodians.part(agreed, secret, data, table.groups, labels, payer)
    masked.save(out, overwrite)
    rest = "is used up"
    if agreed.may_vanish:
        rest = "can do one thing more: keep it, secret, for dpfda answer"
    say(
        f"{out}, for {agreed.coordinator.name}, who can read nothing in it alone; nobody else can read "
        f"it; {keys} {rest}"
    )


@contextmanager
def _agreed() -> Iterator[None]:
    """Errors that offer to change how records are read say that the agreement states it."""
    try:
        yield
    except DataError as error:
        message = typed(error, AGREED)
        if not any(option.flag in message for option in AGREED):
            raise
        remedy = " How records are read is agreed: make another (dpfda agree), with this."
        raise DataError(message + remedy, error.parameter) from None


def _columns(file: Path, name: str, named: Mapping[str, str | None], stated: Stated) -> Read:
    """Points or follow-ups, and how the latter ended."""
    from dpfda.records.columns import read_columns

    use = "columns" if name == "density" else "time"
    if not (names := named[use]):
        raise ParameterError(f"--{use}", POINTS[name], "none")
    # Of survival one column: what is beyond it would be left out in silence.
    numbers = [(use, column) for column in (names.split(",") if name == "density" else [names])]
    beside = [(use, column) for use in ("groups", "event") if (column := named[use])]
    table = read_columns(file, numbers, beside, stated)
    data = table.numbers if name == "density" else table.numbers[:, 0]
    return table, data, table.labels.get("event")


def _curves(
    read: Callable[..., TableCurves], estimator: Estimator, groups: str | None, by: str | None
) -> Read:
    """Curves, and the group or the covariates of each."""
    from dpfda.spine.memberships import stated_covariates

    stated = getattr(estimator, "covariates", None)
    covariates = stated_covariates(stated) if stated else ()
    numbers = [("covariates", x.name) for x in covariates if x.bounds is not None]
    labels = [("covariates", x.name) for x in covariates if x.bounds is None]
    labels += [("--by", by)] if by else []
    table = read(groups=groups, numbers=numbers, labels=labels)
    names = [name for _, name in (*numbers, *labels)]
    beside = dict(zip(names, table.beside, strict=False))
    return table, table.data, beside.get(by or "", beside or None)


VERB = Verb.of(part, o.CUSTODIANS)
