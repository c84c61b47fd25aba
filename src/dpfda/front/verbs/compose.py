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
    made = account([*charges, *certificates], kind, delta)
    repeated = made.repeated[len(charges) :]
    parts = [*zip(named, certificates, repeated, strict=True)]
    if not as_json:
        budget = [] if book is None else [words(*book, listed=True)]
        say("\n".join([str(made), *budget, *(_words(*part) for part in parts)]))
        return
    told: dict[str, object] = {"total": guarantee_to_json(made.total)}
    if isinstance(made.total, ZeroConcentratedDP):
        told["approximate"] = guarantee_to_json(made.approximate())
    told |= {"how": made.how, "neighbours": str(made.neighbours), "privacy_unit": made.unit}
    if book is not None:
        told["ledger"] = {"dataset": book[1]} | state(*book, listed=True)
    told["files"] = [
        {"file": str(file), "counted_before": again, **_parts(certificate)}
        for file, certificate, again in parts
    ]
    print_json(told)


def _book(file: Path, dataset: str | None) -> tuple[Ledger, str]:
    """A ledger, and the data set in it that is meant."""
    from dpfda.privacy.ledger import Ledger

    ledger = Ledger(file)
    names = ledger.datasets()
    if dataset is None and len(names) != 1:
        found = ", ".join(map(repr, names)) or "none"
        raise ParameterError(
            "--dataset", "name one of the ledger's data sets", "none", f"It has {found}."
        )
    return ledger, names[0] if dataset is None else dataset


def _words(file: Path, certificate: Certificate, again: bool) -> str:
    stages = zip(certificate.stages, certificate.costs, strict=True)
    told = "; ".join(f"{stage}, {cost.loss.describe()}" for stage, cost in stages)
    counted = " (counted before)" if again else ""
    return f"{file}: {certificate.guarantee}{counted}\n  {told}"


def _parts(certificate: Certificate) -> dict[str, object]:
    from dpfda.privacy.certificates import certificate_to_json

    kept = ("guarantee", "achieved_guarantee", "neighbours", "privacy_unit", "costs", "release_id")
    written = certificate_to_json(certificate)
    return {name: written[name] for name in kept}


VERB = Verb.of(compose, o.RELEASED)
