"""`dpfda answer`: one custodian's answer to the roll, which helps to open the sum of those on it."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say


def answer(roll: Path, *, agreement: Path, keys: Path, out: Path, overwrite: bool = False) -> None:
    """Answer the roll, so that the sum of those on it opens without who vanished.

    No records are read. Any custodian that made its part can answer, also one that is not on the roll.
    Answer one roll: with two, a sum of few could be opened, and a second one is refused.

    Parameters
    ----------
    roll : roll.json
        Of the coordinator. It says who is in.
    keys : NAME.keys
        What is left of your keys since your part.
    out : NAME.answer
        Your answer, for the coordinator.

    Examples
    --------
    dpfda answer roll.json --agreement agreed.json --keys north.keys --out north.answer
    """
    from dpfda.command.files import check_outputs
    from dpfda.front import custodians
    from dpfda.publication.custody import Agreement, Kept, Roll

    check_outputs({"--out": out}, {"ROLL": roll, "--keys": keys}, overwrite)
    agreed, called = Agreement.load(agreement), Roll.load(roll)
    reply = custodians.answer(agreed, Kept.load(keys), called)
    reply.save(out, overwrite)
    say(
        f"{out}, sealed for {agreed.coordinator.name}; it opens nothing but the sum of "
        f"{', '.join(called.present)}, with {agreed.answers - 1} more answer(s)"
    )


VERB = Verb.of(answer, o.CUSTODIANS)
