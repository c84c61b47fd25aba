"""Flower: several custodians' release as a strategy of a server, and the app of each client.

The messages are those of `dpfda.front.custodians`: cards, parts, answers to a roll. Flower carries them
and knows which nodes are there; it adds up nothing and draws no noise. Its server is the coordinator.
Written against flwr 1.42.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpfda.front import custodians
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import CustodyError, needed
from dpfda.publication.custody import Agreement, Answer, Card, Kept, Keys, Part, Roll
from dpfda.releases.base import Release
from dpfda.releases.files import write_bytes
from dpfda.spine.arguments import Columns, Labels, Records
from dpfda.spine.estimator import Estimator

with needed("flwr", "flower", "A strategy of Flower"):
    from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import Strategy

STEPS = ("card", "part", "answer")
PLACE = "dpfda"


@dataclass(frozen=True)
class Site:
    """What a custodian has at its node.

    Parameters
    ----------
    name : str
        As on its card.
    folder : path
        Of its own, private: holds its keys. A new one for each release.
    records : callable
        Without arguments: the records, or a tuple of what `dpfda.front.custodians.part` takes of them:
        X, groups, y. Private; called when the part is made, in this process.
    approve : callable
        Takes the agreement in words, with its fingerprint. True if this is what was agreed on, and the
        fingerprint that of the other custodians: Flower's server could have put keys of its own in the
        place of theirs.
    units : int, optional
        How many units it brings, where that is public.
    ledger : ledger.of(dataset), optional
        Of its own, charged before a share of noise is drawn.
    """

    name: str
    folder: Path
    records: Callable[[], Records | tuple[Records, Labels] | tuple[Records, Labels, Labels]]
    approve: Callable[[str], bool]
    units: int | None = None
    ledger: object = None

    def respond(self, step: str, files: Mapping[str, bytes]) -> bytes:
        """The file that a step asks for, made with those that came.

        Raises CustodyError if the agreement is not approved, or as the functions of the step.
        """
        folder = Path(self.folder)
        keys, path = folder / f"{self.name}.keys", folder / f"{self.name}.{step}"
        for name, content in files.items():
            # Names are this module's: what else a server sends is not written.
            if name in ("agreed.json", "roll.json"):
                write_bytes(folder / name, content)
        if step == "card":
            fresh = Keys.make(self.name, self.units)
            fresh.save(keys)
            fresh.save_card(path)
        elif step == "part":
            agreement = Agreement.load(folder / "agreed.json")
            if not self.approve(custodians.words(agreement)):
                raise CustodyError(f"{self.name} did not approve of the agreement. No part was made.")
            handed = self.records()
            items = handed if isinstance(handed, tuple) else (handed,)
            X, groups, y = (*items, None, None)[:3]
            part = custodians.part(agreement, Keys.load(keys), X, groups, y, self.ledger)
            part.save(path)
        elif step == "answer":
            agreement, roll = Agreement.load(folder / "agreed.json"), Roll.load(folder / "roll.json")
            custodians.answer(agreement, Kept.load(keys), roll).save(path, overwrite=True)
        else:
            raise CustodyError("A server must ask for a card, a part or an answer; found another step.")
        return path.read_bytes()


def client_app(site: Callable[[Context], Site]) -> ClientApp:
    """The app of a node: it answers what `CustodyStrategy` asks, from its own files and records.

    Parameters
    ----------
    site : callable
        From the node's context to its `Site`.
    """
    app = ClientApp()

    @app.train()  # type: ignore[untyped-decorator]
    def train(message: Message, context: Context) -> Message:
        files: Json = dict(message.content[PLACE])
        file = site(context).respond(str(files.pop("step")), files)
        return Message(RecordDict({PLACE: ConfigRecord({"file": file})}), reply_to=message)

    return app


class CustodyStrategy(Strategy):  # type: ignore[misc]
    """A release of the custodians at the nodes: `publish` runs its rounds on a grid.

    Parameters
    ----------
    estimator : Estimator
        As in `dpfda.front.custodians.agree`.
    folder : path
        Of the coordinator, private: holds its keys and all files. A new one for each release.
    columns, noise, colluding, threshold, weights, visits
        As in `dpfda.front.custodians.agree`. With a threshold nodes may vanish after their cards came.
    ledger : ledger.of(dataset), optional

    Attributes
    ----------
    release_ : Release
    """

    def __init__(
        self,
        estimator: Estimator,
        folder: str | Path,
        columns: Columns | None = None,
        ledger: object = None,
        **rules: Any,
    ) -> None:
        self._estimator, self._folder, self._ledger = estimator, Path(folder), ledger
        self._rules = {"columns": columns, **rules}
        self._nodes: list[int] = []
        self._files: dict[str, bytes] = {}
        self._agreement: Agreement | None = None
        self._keys, self._parts = Keys.make("coordinator"), list[Part]()
        self.release_: Release | None = None

    def publish(self, grid: Grid, timeout: float = 3600) -> Release:
        """Ask for cards, sign the agreement, ask for parts and answers, and release.

        Raises as `dpfda.front.custodians.agree` and `merge`: too few nodes, or what they sent does not
        fit together.
        """
        rounds = len(STEPS) if self._rules.get("threshold") else len(STEPS) - 1
        self.start(grid, ArrayRecord(), rounds, timeout)
        if self.release_ is None:
            raise CustodyError("Flower must run all rounds; it ran fewer. Nothing was published.")
        return self.release_

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask every node of the first round for the file of this one."""
        self._nodes = self._nodes or list(grid.get_node_ids())
        content = ConfigRecord({"step": STEPS[server_round - 1], **self._files})
        return [Message(RecordDict({PLACE: content}), node, "train") for node in self._nodes]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """What the coordinator does with the files that came; who sent none has vanished."""
        step, paths = STEPS[server_round - 1], []
        for number, reply in enumerate(reply for reply in replies if reply.has_content()):
            path = self._folder / f"{number}.{step}"
            paths.append(write_bytes(path, bytes(reply.content[PLACE]["file"])))
        if step == "card":
            cards = [Card.load(path) for path in paths]
            self._agreement = custodians.agree(self._estimator, cards, self._keys, **self._rules)
            saved = self._agreement.save(self._folder / "agreed.json")
            self._files = {"agreed.json": saved.read_bytes()}
            return None, None
        agreement, answers = self._agreement, list[Answer]()
        if agreement is None:
            raise CustodyError("The rounds of Flower must begin with the first; they did not.")
        if step == "part":
            self._parts = [Part.load(path) for path in paths]
        if step == "part" and agreement.may_vanish:
            roll = custodians.roll(agreement, self._parts, self._keys)
            self._files["roll.json"] = roll.save(self._folder / "roll.json").read_bytes()
            return None, None
        if step == "answer":
            answers = [Answer.load(path) for path in paths]
        merged = agreement, self._parts, self._keys, self._ledger
        self.release_ = custodians.merge(*merged, answers)
        return None, None

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Nothing is evaluated."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Nothing was evaluated."""
        return None

    def summary(self) -> None:
        """What is agreed on is shown to the custodians, and nothing here."""
