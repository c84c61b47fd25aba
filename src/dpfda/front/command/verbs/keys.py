"""`dpfda keys`: keys of one party for one release of several custodians."""

from __future__ import annotations

from pathlib import Path

import typer

from dpfda.front.command import options as o
from dpfda.front.command.declared import REQUIRED, Given, Option, Verb

OPTIONS = (
    Option("name", "", "NAME", "What the party is called, in letters, digits and dashes.",
           default=REQUIRED),
    Option("units", "--units", "N",
           "Of a custodian: how many units (persons) it will bring. Public; leave it out under "
           "add-remove neighbours, where it is private, and for the coordinator.",
           type=int, default=None),
    Option("folder", "--folder", "DIR", "Where both files are written.", type=Path, default=Path()),
)  # fmt: skip


def make(given: Given) -> None:
    """Make keys for one release of several custodians: NAME.keys, secret, and NAME.card, public.

    Send the card to the coordinator. The keys hold for one release and are wiped when they are used; who
    copies them beforehand can undo the masks.
    """
    from dpfda.publication.custody import Keys
    from dpfda.releases.files import check_writable

    card = check_writable(given.folder / f"{given.name}.card")
    keys = Keys.make(given.name, given.units)
    secret = keys.save(given.folder / f"{given.name}.keys")
    keys.save_card(card)
    typer.echo(
        f"{secret} (secret, for one release), {card} (public)\nNext: send the card to the coordinator"
    )


VERB = Verb("keys", make, OPTIONS, ("dpfda keys north --units 120",), o.CUSTODIANS)
