"""`dpfda merge`: publish the sum of all custodians' parts."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import foreseen_charge, opened_account, say, tell_dry_run


def merge(
    parts: list[Path],
    *,
    agreement: Path,
    keys: Path,
    ledger: Path | None = None,
    dataset: str | None = None,
    out: Path,
    csv: Path | None = None,
    plot: Path | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Open the sum of all custodians' parts, draw the noise and publish.

    It is refused with one part missing, or with two different ones of one custodian. Who has all parts
    and the coordinator's keys could see the sum without noise; nobody sees what is in a single part.

    Parameters
    ----------
    parts : NAME.part...
        Parts of all custodians; the same part twice counts once. Where custodians may vanish: the parts
        on the roll, and behind them the answers to it (NAME.answer).
    dry_run : bool
        Say what would be published, of whose parts and at what price; nothing is charged or opened.

    Examples
    --------
    dpfda merge north.part south.part --agreement agreed.json --keys registry.keys --out fa.json
    dpfda merge north.part south.part north.answer south.answer --agreement agreed.json --keys
        registry.keys --out fa.json
    """
    from dpfda.command.files import check_outputs
    from dpfda.command.publishing import save_plot, save_table, tell_files, write_release
    from dpfda.front import custodians
    from dpfda.publication.custody import Agreement, Answer, Keys, Part
    from dpfda.releases.files import read_json

    check_outputs(
        {"--out": out, "--plot": plot, "--csv": csv},
        {"--agreement": agreement, "--keys": keys},
        overwrite,
    )
    agreed, secret = Agreement.load(agreement), Keys.load(keys)
    account = opened_account(ledger, dataset)
    payer = None if account is None else account.ledger.of(account.dataset)
    read = [read_json(file) for file in parts]
    # What is neither is refused as a part.
    kinds = [isinstance(content, dict) and content.get("format") == Answer.FORMAT for content in read]
    answers = [Answer.load(file) for file, answers in zip(parts, kinds, strict=True) if answers]
    handed = [Part.load(file) for file, answers in zip(parts, kinds, strict=True) if not answers]
    if dry_run:
        there = {part.custodian for part in handed}
        absent = [card.name for card in agreed.custodians if card.name not in there]
        estimator = custodians.estimator_of(agreed)
        guarantee, relation = estimator.asked(), estimator.settings.unit.relation
        unit = estimator.settings.unit.called(None)
        facts = {
            "publishes": f"{agreed.summary['name']}, from the parts of {', '.join(sorted(there))}",
            "missing": ", ".join(absent),
            "guarantee": str(guarantee),
            "protects": relation.describe(unit),
            **foreseen_charge(guarantee, None, account, relation, unit, ""),
            "writes": ", ".join(str(path) for path in (out, csv, plot) if path is not None),
        }
        tell_dry_run(facts, as_json, ())
        return
    release = custodians.merge(agreed, handed, secret, payer, answers)
    beside = [(o.CSV, csv, save_table), (o.PLOT, plot, save_plot)]
    files = write_release(release, out, beside, account)
    tell_files(release, files, as_json)
    if not as_json:
        say(f"{out} may be shown to anybody; {keys} is used up")


VERB = Verb.of(merge, o.CUSTODIANS)
