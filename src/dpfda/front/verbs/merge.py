"""`dpfda merge`: publish the sum of all custodians' parts."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.accounts import opened_account
from dpfda.command.functions import Verb


def publish(
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
    payer = None if account is None else account.payer()
    kinds = [read_json(file).get("format") == Answer.FORMAT for file in parts]
    answers = [Answer.load(file) for file, answers in zip(parts, kinds, strict=True) if answers]
    handed = [Part.load(file) for file, answers in zip(parts, kinds, strict=True) if not answers]
    release = custodians.merge(agreed, handed, secret, payer, answers)
    beside = [(o.CSV, csv, save_table), (o.PLOT, plot, save_plot)]
    files = write_release(release, out, beside, account)
    if account is not None:
        account.note_file(out)
    tell_files(release, files, as_json)


VERB = Verb.of(
    "merge",
    publish,
    (
        "dpfda merge north.part south.part --agreement agreed.json --keys registry.keys --out fa.json",
        "dpfda merge north.part south.part north.answer south.answer --agreement agreed.json "
        "--keys registry.keys --out fa.json",
    ),
    o.CUSTODIANS,
)
