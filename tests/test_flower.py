"""Custodians at the nodes of Flower: rounds, nodes that vanish, servers that ask for what they may not.

Flower itself asks for versions of other packages that are not the newest. Where it is missing
records of the same fields stand in for its messages; where it is there its simulation is run.
"""

import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dpfda import Ledger, PrivateMean, PrivateSurvival
from dpfda.errors import BudgetError, CustodyError, MissingExtraError
from dpfda.privacy.guarantees import ZeroConcentratedDP

pytest.importorskip("cryptography")
POINTS, UNITS = 30, 20


@dataclass
class Message:
    """A message, as far as it is used."""

    content: dict | None
    node: int | None = None
    kind: str = "train"
    reply_to: object = None

    def has_content(self):
        return self.content is not None


class App:
    """An app of a client: it keeps its one function."""

    def train(self):
        def keep(function):
            self.function = function
            return function

        return keep


class Strategy:
    """Rounds, one after the other."""

    def start(self, grid, arrays, rounds, timeout):
        for number in range(1, rounds + 1):
            self.aggregate_train(number, grid.send(self.configure_train(number, arrays, {}, grid)))
            assert list(self.configure_evaluate(number, arrays, {}, grid)) == []
            assert self.aggregate_evaluate(number, []) is None


@dataclass
class Grid:
    """Nodes in this process; who is lost does not reply from then on."""

    app: App
    nodes: list
    lost: dict = field(default_factory=dict)
    refused: list = field(default_factory=list)

    def get_node_ids(self):
        return range(len(self.nodes))

    def send(self, messages):
        replies = []
        for message in messages:
            step = message.content["dpfda"]["step"]
            try:
                if self.lost.get(message.node) == step:
                    raise ConnectionError
                replies.append(self.app.function(message, SimpleNamespace(node=message.node)))
            except (ConnectionError, CustodyError, BudgetError) as error:
                self.refused.append(error)
                replies.append(Message(None))
        return replies


@pytest.fixture
def flower(monkeypatch):
    """The module, on records that stand in for those of Flower."""
    app, client, server, strategy = (
        ModuleType(name) for name in ("flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.strategy")
    )
    for name in ("ArrayRecord", "ConfigRecord", "MetricRecord", "RecordDict"):
        setattr(app, name, dict)
    app.Context, app.Message, client.ClientApp, server.Grid = object, Message, App, Grid
    strategy.Strategy = Strategy
    monkeypatch.setitem(sys.modules, "flwr", ModuleType("flwr"))
    monkeypatch.setitem(sys.modules, "flwr.app", app)
    monkeypatch.setitem(sys.modules, "flwr.clientapp", client)
    monkeypatch.setitem(sys.modules, "flwr.serverapp", server)
    monkeypatch.setitem(sys.modules, "flwr.serverapp.strategy", strategy)
    monkeypatch.delitem(sys.modules, "dpfda.front.interop.flower", raising=False)
    from dpfda.front.interop import flower

    yield flower
    sys.modules.pop("dpfda.front.interop.flower", None)


def started(
    flower, folder, approve=lambda words: "1-differential privacy" in words, ledgers=None, made=None
):
    """A grid of five nodes, each with its folder."""

    def site(context):
        own = folder / f"site{context.node}"
        own.mkdir(exist_ok=True)
        records = np.full((UNITS + context.node, POINTS), 0.1 * context.node)
        ledger = None if ledgers is None else ledgers[context.node]
        name = f"clinic-{context.node}"
        handed = records if made is None else made(len(records))
        return flower.Site(name, own, lambda: handed, approve, UNITS + context.node, ledger)

    (folder / "lead").mkdir()
    return Grid(flower.client_app(site), [None] * 5)


def test_all_nodes_release_one_mean_in_two_rounds(flower, tmp_path):
    grid = started(flower, tmp_path)
    mean = PrivateMean(epsilon=1.0, bounds=(0, 1))
    strategy = flower.CustodyStrategy(mean, tmp_path / "lead", columns=POINTS)
    release = strategy.publish(grid)
    assert release.count == 5 * UNITS + 10
    assert grid.refused == []
    # Nodes have used their keys, and the coordinator's cannot open a second time.
    assert "secret" not in (tmp_path / "site0" / "clinic-0.keys").read_text()


def test_what_is_said_of_each_record_goes_along(flower, tmp_path):
    grid = started(flower, tmp_path, made=lambda n: (np.full(n, 50.0), None, np.ones(n, dtype=bool)))
    survival = PrivateSurvival(epsilon=1.0, domain=(0, 100))
    release = flower.CustodyStrategy(survival, tmp_path / "lead").publish(grid)
    assert grid.refused == []
    assert release.shares.public_size == 5 * UNITS + 10


@pytest.mark.parametrize("step", ["part", "answer"])
def test_who_vanishes_is_left_out_and_the_others_answer(flower, tmp_path, step):
    grid = started(flower, tmp_path)
    grid.lost[2] = step
    mean = PrivateMean(epsilon=1.0, bounds=(0, 1))
    strategy = flower.CustodyStrategy(mean, tmp_path / "lead", columns=POINTS, threshold=4)
    everybody = 5 * UNITS + 10
    assert strategy.publish(grid).count == (everybody - UNITS - 2 if step == "part" else everybody)


def test_with_all_needed_one_who_vanishes_stops_the_release(flower, tmp_path):
    grid = started(flower, tmp_path)
    grid.lost[2] = "part"
    mean = PrivateMean(epsilon=1.0, bounds=(0, 1))
    with pytest.raises(CustodyError, match=r"must be there; missing: clinic-2\."):
        flower.CustodyStrategy(mean, tmp_path / "lead", columns=POINTS).publish(grid)


def test_who_does_not_approve_makes_no_part(flower, tmp_path):
    seen = []
    grid = started(flower, tmp_path, approve=lambda words: seen.append(words) or len(seen) != 3)
    mean = PrivateMean(epsilon=1.0, bounds=(0, 1))
    flower.CustodyStrategy(mean, tmp_path / "lead", columns=POINTS, threshold=3).publish(grid)
    assert "clinic-2 did not approve of the agreement" in str(grid.refused[0])
    assert "secret" in (tmp_path / "site2" / "clinic-2.keys").read_text()
    assert all("fingerprint:" in words for words in seen)


def opened(path, budget):
    """A ledger with one data set."""
    ledger = Ledger(path)
    ledger.create("own", budget)
    return ledger.of("own")


def test_each_charges_its_own_ledger_where_noise_is_shared(flower, tmp_path):
    budgets = [ZeroConcentratedDP(0.5 if node else 0.4) for node in range(5)]
    ledgers = [opened(tmp_path / f"{node}.db", budget) for node, budget in enumerate(budgets)]
    grid = started(flower, tmp_path, approve=lambda words: "shares" in words, ledgers=ledgers)
    mean = PrivateMean(rho=0.5, bounds=(0, 1), mechanism="gaussian")
    rules = {"columns": POINTS, "threshold": 4, "noise": "shared"}
    release = flower.CustodyStrategy(mean, tmp_path / "lead", **rules).publish(grid)
    assert isinstance(grid.refused[0], BudgetError)
    assert (release.count, release.noise.drawn) == (5 * UNITS + 10 - UNITS, 4)


def test_a_server_writes_and_asks_for_nothing_else(flower, tmp_path):
    site = flower.Site("north", tmp_path, lambda: np.zeros((3, 2)), lambda words: True, 3)
    site.respond("card", {"../north.db": b"x", "north.keys": b"x", "new/x": b"x"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["north.card", "north.keys"]
    with pytest.raises(CustodyError, match="must ask for a card, a part or an answer"):
        site.respond("records", {})


def test_without_flower_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr", None)
    monkeypatch.delitem(sys.modules, "dpfda.front.interop.flower", raising=False)
    with pytest.raises(MissingExtraError, match=r"dpfda\[flower\]"):
        import dpfda.front.interop.flower  # noqa: F401


@pytest.mark.skipif(find_spec("flwr") is None, reason="Flower is an extra: pip install 'dpfda[flower]'")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("unrepeated")
@pytest.mark.parametrize("lost", [None, 2])
def test_in_the_simulation_of_flower(tmp_path, lost):
    from flwr.serverapp import ServerApp
    from flwr.simulation import run_simulation

    from dpfda.front.interop.flower import CustodyStrategy, Site, client_app

    def site(context):
        number = int(context.node_config["partition-id"])
        own = tmp_path / f"site{number}"
        own.mkdir(exist_ok=True)

        def records():
            if number == lost:
                raise ConnectionError
            return np.full((UNITS + number, POINTS), 0.1 * number)

        return Site(f"clinic-{number}", own, records, lambda words: True, UNITS + number)

    app, lead = ServerApp(), tmp_path / "lead"
    lead.mkdir()

    @app.main()
    def main(grid, context):
        mean = PrivateMean(epsilon=1.0, bounds=(0, 1))
        threshold = None if lost is None else 4
        strategy = CustodyStrategy(mean, lead, columns=POINTS, threshold=threshold)
        strategy.publish(grid, timeout=200).save(lead / "mean.json")

    run_simulation(app, client_app(site), 5, backend_config={"client_resources": {"num_cpus": 1}})
    from dpfda import load

    missing = 0 if lost is None else UNITS + lost
    assert load(lead / "mean.json").count == 5 * UNITS + 10 - missing
