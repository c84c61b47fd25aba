"""`dpfda roll`: the list of custodians whose parts are there, for all to answer."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say


def roll(parts: list[Path], *, agreement: Path, keys: Path, out: Path, overwrite: bool = False) -> None:
    """Close the list of custodians whose parts are there, where some may vanish.

    Nothing is opened. Wait for whoever may still come: each custodian answers one roll, and a part that
    comes later stays out.

    Parameters
    ----------
    parts : NAME.part...
        At least as many as the agreement's threshold.
    out : roll.json
        The roll, for all custodians. Anybody may read it.

    Examples
    --------
    dpfda roll north.part south.part --agreement agreed.json --keys registry.keys --out roll.json
    """
    from dpfda.command.files import check_outputs
    from dpfda.front import custodians
    from dpfda.publication.custody import Agreement, Keys, Part

    check_outputs({"--out": out}, {"--agreement": agreement, "--keys": keys}, overwrite)
    agreed, secret = Agreement.load(agreement), Keys.load(keys)
    signed = custodians.roll(agreed, [Part.load(part) for part in parts], secret)
    signed.save(out, overwrite)
    absent = [card.name for card in agreed.custodians if card.name not in signed.present]
    say(
        f"in:  {', '.join(signed.present)}\nout: {', '.join(absent) or 'nobody'}\nwritten: {out}\n"
        f"Next: send it to all custodians; {agreed.answers} must answer it (dpfda answer). It is public"
    )


VERB = Verb.of(roll, o.CUSTODIANS)
