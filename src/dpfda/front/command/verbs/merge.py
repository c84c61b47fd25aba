"""`dpfda merge`: publish the sum of all custodians' parts."""

from __future__ import annotations

from pathlib import Path

from dpfda.front.command import options as o
from dpfda.front.command.accounts import name_account, opened_ledger
from dpfda.front.command.declared import REQUIRED, Given, Option, Verb

OPTIONS = (
    Option("parts", "", "NAME.part...", "Parts of all custodians; the same part twice counts once.",
           type=list[Path], default=REQUIRED),
    o.AGREEMENT,
    o.CUSTODY_KEYS,
    o.PARAMETERS["ledger"], o.DATASET, o.OUT, o.CSV, o.PLOT, o.OVERWRITE, o.AS_JSON,
)  # fmt: skip


def publish(given: Given) -> None:
    """Open the sum of all custodians' parts, draw the noise and publish.

    It is refused with one part missing, or with two different ones of one custodian. Who has all parts
    and the coordinator's keys could see the sum without noise; nobody sees what is in a single part.
    """
    from dpfda.front.command.outputs import check_outputs
    from dpfda.front.command.publishing import told_files, write_release
    from dpfda.privacy.ledger import DatasetLedger
    from dpfda.publication.custody import Agreement, Keys, Part
    from dpfda.summaries import custodians

    where = name_account(given)
    outputs = {"--out": given.out, "--plot": given.plot, "--csv": given.csv}
    check_outputs(outputs, {"--agreement": given.agreement, "--keys": given.keys}, given.overwrite)
    agreement, keys = Agreement.load(given.agreement), Keys.load(given.keys)
    account = opened_ledger(given.ledger, given.dataset, where)
    ledger = None if account is None else DatasetLedger(account, given.dataset)
    release = custodians.merge(agreement, [Part.load(part) for part in given.parts], keys, ledger)
    files = write_release(release, given.out, given.csv, given.plot, account)
    if account is not None:
        account.note_file(given.dataset, given.out.resolve())
    told_files(release, files, given)


VERB = Verb(
    "merge",
    publish,
    OPTIONS,
    ("dpfda merge north.part south.part --agreement agreed.json --keys registry.keys --out fa.json",),
    o.CUSTODIANS,
    estimators=("dpfda.summaries.mean:PrivateMean",),
)
