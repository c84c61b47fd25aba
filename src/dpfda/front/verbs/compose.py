"""`dpfda compose`: what the releases in several files guarantee together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import print_json, say, state, words
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.privacy.certificates import Certificate
    from dpfda.privacy.ledger import Ledger


def compose(
    files: list[Path] | None = None,
    *,
    ledger: Path | None = None,
    dataset: str | None = None,
    delta: str | None = None,
    kind: str | None = None,
    as_json: bool = False,
) -> None:
    """Say what releases of one data set guarantee together, and how that was found.

    Reads what each file says was charged, or what a ledger charged, or both. A release is counted once,
    however many of its copies, derivatives and parts are named, and whether or not the ledger has it. A
    zero-concentrated total is told as epsilon at a delta of 1e-6, too.

    Parameters
    ----------
    files : F.json...
        Releases of one data set, as written by --out, or a session's answers.
    ledger : LEDGER
        Take in what this ledger charged, and say what is left of the budget. Where costs were chosen
        after looking at earlier releases the budget holds; a total with a delta describes.
    dataset : NAME
        The data set in the ledger; not needed where it has one alone.
    delta : D
        Delta of the total, far below one over the number of units. Many pure releases then cost less
        than their sum. By default the sum of the releases' deltas. Example: 1e-6
    kind : pure|approximate|zero-concentrated
        Of the total.

    Examples
    --------
    dpfda compose mean.json density.json
    dpfda compose mean.json density.json groups.json --delta 1e-6 --json
    dpfda compose --ledger budget.ledger --dataset scans-2026
    """
    from dpfda.command.files import opened
    from dpfda.privacy.certificates import guarantee_to_json
    from dpfda.privacy.composition import account
    from dpfda.privacy.guarantees import ZeroConcentratedDP

    if not files and ledger is None:
        raise ParameterError("F.json or --ledger", "be given", "neither")
    book = None if ledger is None else _book(ledger, dataset)
    charges = [] if book is None else book[0].charges(book[1])
    named = files or []
    if not charges and not named:
        raise ParameterError("--ledger", "hold at least one release, or F.json be given", "none")
    certificates = [opened(file).certificate for file in named]
    total = account([*charges, *certificates], kind, delta)
    repeated = total.repeated[len(charges) :]
    parts = [*zip(named, certificates, repeated, strict=True)]
    if not as_json:
        budget = [] if book is None else [words(*book, listed=True)]
        say("\n".join([str(total), *budget, *(_words(*part) for part in parts)]))
        return
    report: dict[str, object] = {"total": guarantee_to_json(total.total)}
    if isinstance(total.total, ZeroConcentratedDP):
        report["approximate"] = guarantee_to_json(total.approximate())
    report |= {"how": total.how, "neighbours": str(total.neighbours), "privacy_unit": total.unit}
    if book is not None:
        report["ledger"] = {"dataset": book[1]} | state(*book, listed=True)
    report["files"] = [
        {"file": str(file), "counted_before": again, **_parts(certificate)}
        for file, certificate, again in parts
    ]
    print_json(report)


def _book(file: Path, dataset: str | None) -> tuple[Ledger, str]:
    """A ledger, and the data set in it that is meant."""
    from dpfda.privacy.ledger import Ledger

    ledger = Ledger(file)
    names = ledger.datasets()
    if dataset is None and len(names) != 1:
        listed = ", ".join(map(repr, names)) or "none"
        raise ParameterError(
            "--dataset", "name one of the ledger's data sets", "none", f"It has {listed}."
        )
    return ledger, names[0] if dataset is None else dataset


def _words(file: Path, certificate: Certificate, again: bool) -> str:
    stages = zip(certificate.stages, certificate.costs, strict=True)
    losses = "; ".join(f"{stage}, {cost.loss.describe()}" for stage, cost in stages)
    counted = " (counted before)" if again else ""
    return f"{file}: {certificate.guarantee}{counted}\n  {losses}"


def _parts(certificate: Certificate) -> dict[str, object]:
    from dpfda.privacy.certificates import certificate_to_json

    names = ("guarantee", "achieved_guarantee", "neighbours", "privacy_unit", "costs", "release_id")
    written = certificate_to_json(certificate)
    return {name: written[name] for name in names}


VERB = Verb.of(compose, o.RELEASED)
