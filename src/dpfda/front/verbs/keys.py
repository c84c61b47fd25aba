"""`dpfda keys`: keys of one party for one release of several custodians."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say
from dpfda.numerics.errors import ParameterError


def keys(name: str, *, units: int | None = None, folder: Path = Path()) -> None:
    """Make keys for one release of several custodians: NAME.keys, secret, and NAME.card, public.

    Send the card to the coordinator. The keys hold for one release and are wiped when they are used; who
    copies them beforehand can undo the masks.

    Parameters
    ----------
    name : NAME
        What the party is called, in letters, digits and dashes.
    units : N
        Of a custodian: how many units (persons) it will bring. Public; leave it out under add-remove
        neighbours, where it is private, and for the coordinator.
    folder : DIR
        Where both files are written.

    Examples
    --------
    dpfda keys north --units 120
    """
    from dpfda.publication.custody import Keys
    from dpfda.releases.files import check_writable

    card = check_writable(folder / f"{name}.card")
    if (folder / f"{name}.keys").exists():
        remedy = "Take another name, or another --folder: keys hold for one release."
        raise ParameterError("NAME", "be new", repr(name), remedy)
    keys = Keys.make(name, units)
    secret = keys.save(folder / f"{name}.keys")
    keys.save_card(card)
    say(f"{secret} (secret, for one release), {card} (public)\nNext: send the card to the coordinator")


VERB = Verb.of(keys, o.CUSTODIANS)
