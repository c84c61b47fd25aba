"""One certificate a release: what was charged is in the release, its file, its words and every sum."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    Session,
    load,
    release_function,
)
from dpfda.bases import BoxBasis
from dpfda.bounds import Search
from dpfda.density.kernel import DensityKernel
from dpfda.errors import ConversionError, ParameterError, StorageError
from dpfda.mean.settings import TwoLooks
from dpfda.numerics.parameters import readable
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, GaussianLoss, LaplaceLoss, PureLoss, account, compose
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP, added, within
from dpfda.privacy.ledger import DatasetLedger
from dpfda.tuning import private_selection
from sample_releases import CURVES, GRID, certificate_of

pytestmark = pytest.mark.usefixtures("few_draws")

GOLDEN = Path(__file__).parent / "golden" / "v1"
POINTS = np.linspace(0.1, 0.9, 60)
GROUPS = np.where(np.arange(len(CURVES)) % 2, "a", "b")
IMAGES = np.linspace(0, 1, 40 * 64).reshape(40, 8, 8)
BOX = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)], components=9)
WAVES = 0.2 * np.sin(3 * np.linspace(0, 1, 12)) * np.linspace(-1, 1, 80)[:, None]
# So many records that there are two looks.
MANY = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.01, (6000, 1))


class Recorder:
    """A ledger that keeps what it is charged."""

    def __init__(self) -> None:
        self.charges: list[tuple[Cost, ...]] = []

    def of(self, dataset):
        return DatasetLedger(self, dataset)

    def charge(self, dataset: str, costs: Any, entry: Any) -> None:
        self.charges.append(tuple(costs))


def _mean(**parameters: Any) -> Callable[..., Any]:
    made = {"epsilon": 1.0, "bounds": (-3, 3), "grid_points": GRID, **parameters}
    return lambda **kept: PrivateMean(**made, **kept).fit(CURVES).release_


def _looks(curves: Any = MANY, **parameters: Any) -> Callable[..., Any]:
    made = {
        "epsilon": 1.0,
        "bounds": (-3, 3),
        "grid_points": GRID,
        "mechanism": TwoLooks(),
        **parameters,
    }
    return lambda **kept: PrivateMean(**made, **kept).fit(curves).release_


def _compared(**parameters: Any) -> Callable[..., Any]:
    made = {"epsilon": 1.0, "bounds": (-3, 3), "grid_points": GRID, **parameters}
    return lambda **kept: PrivateComparison(**made, **kept).fit(CURVES, GROUPS).release_


def _density(**parameters: Any) -> Callable[..., Any]:
    made = {"epsilon": 1, "domain_range": (0, 1), **parameters}
    return lambda **kept: PrivateDensity(**made, **kept).fit(POINTS).release_


def _second(kind: Any, *args: Any, **parameters: Any) -> Callable[..., Any]:
    made = {"epsilon": 2.0, "bounds": (-1, 1), "radius": 0.4, **parameters}
    return lambda **kept: kind(*args, **made, **kept).fit(WAVES).release_


def _machine(kind: Any, target: Any, **parameters: Any) -> Callable[..., Any]:
    made = {"epsilon": 2.0, "bounds": (-1, 1), **parameters}
    return lambda **kept: kind(**made, **kept).fit(POINTS[:, None], target).release_


def _selected(**kept: Any) -> Any:
    def fit(mechanism: str, epsilon: Fraction) -> Any:
        return PrivateMean(epsilon, bounds=(-3, 3), mechanism=mechanism).fit(CURVES).release_

    return private_selection(
        ["laplace", "knorm"], fit, lambda release: 0.0, 1.0, expected_runs=2, **kept
    ).release


REGRESSOR = {"target_bounds": (-1, 2)}
KINDS: dict[str, Callable[..., Any]] = {
    "cells": _mean(),
    "laplace": _mean(mechanism="iclp"),
    "one block": _mean(mechanism="knorm"),
    "gaussian": _mean(delta=1e-6, mechanism="gaussian"),
    "pure noise, with a delta": _mean(delta=1e-6),
    "elliptical": _mean(mechanism="student-t"),
    "count": _mean(neighbours="add-remove"),
    "count, gaussian": _mean(neighbours="add-remove", delta=1e-6, mechanism="gaussian"),
    "box": lambda **kept: PrivateMean(1.0, bounds=(0, 1), basis=BOX, **kept).fit(IMAGES).release_,
    "lattice": lambda **kept: release_function(lambda at: at[:, 0], 0.1, 1.0, 3, [(0, 1)], **kept),
    "one look": _looks(CURVES),
    "two looks": _looks(),
    "two looks, with a delta": _looks(delta=1e-5),
    "bounds looked for": _mean(epsilon=100.0, bounds=Search(-300, 500)),
    "bounds looked for, with a delta": _looks(bounds=Search(-30, 50), mechanism="auto", delta=1e-5),
    "density": _density(),
    "density, gaussian": _density(delta=1e-6, noise="gaussian"),
    "kernel density": _density(mechanism=DensityKernel(components=8)),
    "covariance": _second(PrivateCovariance, center=0.0, bounds=None),
    "covariance, gaussian": _second(
        PrivateCovariance, center=0.0, bounds=None, delta=1e-6, mechanism="gaussian"
    ),
    "covariance, mean and count": _second(PrivateCovariance, center="private", neighbours="add-remove"),
    "components": _second(PrivateFPCA, n_components=2, center="private"),
    "directions": _second(PrivateFPCA, n_components=2, center=0.0, bounds=None, mechanism="exponential"),
    "comparison": _compared(),
    "comparison, gaussian": _compared(delta=1e-6, mechanism="gaussian"),
    "comparison, counts": _compared(neighbours="add-remove", levels=["a", "b"]),
    "regression, output": _machine(PrivateKernelRegressor, POINTS, solver="output", **REGRESSOR),
    "regression, sums": _machine(
        PrivateKernelRegressor, POINTS, solver="sums", loss="squared", **REGRESSOR
    ),
    "classification, objective": _machine(
        PrivateKernelClassifier, np.where(POINTS > 0.5, "a", "b"), solver="objective", classes=("a", "b")
    ),
    "classification, gradient": _machine(
        PrivateKernelClassifier, np.where(POINTS > 0.5, "a", "b"), delta=1e-6, classes=("a", "b")
    ),
    "selection": _selected,
}
MADE: dict[str, tuple[Any, Recorder]] = {}


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest) -> tuple[Any, Recorder]:
    """A release and the ledger that it was charged to."""
    name = request.param
    if name not in MADE:
        ledger = Recorder()
        MADE[name] = (KINDS[name](ledger=ledger.of("d")), ledger)
    return MADE[name]


def _told(release: Any) -> str:
    return repr(release) + str(release.describe())


class TestEveryKind:
    def test_the_ledger_is_charged_the_costs_in_the_certificate_and_once(self, made: Any) -> None:
        release, ledger = made
        assert ledger.charges == [release.certificate.costs]

    def test_its_costs_add_up_to_its_guarantee_which_covers_what_is_achieved(self, made: Any) -> None:
        certificate = made[0].certificate
        assert added([cost.guarantee for cost in certificate.costs]) == certificate.guarantee
        assert within(certificate.achieved, certificate.guarantee)
        for cost in certificate.costs:
            # What is known of the loss gives the guarantee that was charged.
            if isinstance(cost.guarantee, PureDP):
                assert cost.loss.epsilon <= cost.guarantee.epsilon
            else:
                rounding = 1 + Fraction(1, 10**6)
                assert cost.loss.delta(cost.guarantee.epsilon) <= cost.guarantee.delta * rounding

    def test_it_composes_at_the_epsilon_that_its_words_state(self, made: Any) -> None:
        release, _ = made
        total = compose([release])
        assert readable(total.epsilon) == readable(release.guarantee.epsilon)
        assert within(total, release.guarantee)
        assert str(release.guarantee) in repr(release)
        assert (
            f"epsilon = {float(total.epsilon):.3g}" in _told(release)
            or "Lattice" in repr(release)
            or "Field" in repr(release)
        )
        at_delta = compose([release], delta=1e-5)
        assert isinstance(at_delta, ApproximateDP)
        assert at_delta.epsilon <= release.guarantee.epsilon

    def test_its_file_and_its_copies_keep_it_and_count_once(self, made: Any, tmp_path: Path) -> None:
        release, _ = made
        path = release.save(tmp_path / "release.json")
        again = load(path)
        assert again.certificate == release.certificate
        assert json.loads(path.read_text()).get("schema_version") == 2
        copies = [release, again, copy.deepcopy(release), pickle.loads(pickle.dumps(release))]  # noqa: S301
        found = account(copies)
        assert found.costs == release.certificate.costs
        assert found.again == 3
        assert "count once" in str(found)

    def test_a_second_release_never_counts_as_the_first(self, made: Any) -> None:
        release, _ = made
        name = next(name for name, each in MADE.items() if each is made)
        found = account([release, KINDS[name]()])
        assert found.again == 0
        assert len(found.costs) == 2 * len(release.certificate.costs)
        assert found.total.epsilon > release.guarantee.epsilon


def test_parts_and_derivatives_are_the_release_that_they_come_from() -> None:
    for name, parts in (
        ("laplace", lambda r: [r.derivative(), r.unshrunk]),
        ("two looks", lambda r: [r.first, r.look, r.derivative()]),
        ("covariance, mean and count", lambda r: [r.mean, r.components()]),
        ("comparison", lambda r: [r["a"], r["b"], r.difference("a", "b")]),
        ("density", lambda r: [r.raw, r.smoothed(0.1)]),
    ):
        release = KINDS[name]()
        found = account([release, *parts(release)])
        assert found.costs == release.certificate.costs, name
        # The other way round, what a part leaves uncounted is added.
        assert set(account([*parts(release), release]).costs) == set(release.certificate.costs), name


def test_a_mean_in_two_stages_is_not_as_cheap_as_its_last_noise() -> None:
    release = load(GOLDEN / "two_stages_last_gaussian.json")
    assert type(release.noise).__name__ == "GaussianNoise"
    costs = release.certificate.costs
    assert [cost.loss.kind for cost in costs] == ["laplace", "pure", "approximate"]
    sigma = dp_accounting.get_sigma_gaussian(float(costs[-1].guarantee.epsilon), 1e-3)
    for copies in (1, 20):
        delta = Fraction(copies, 1000)
        releases = [
            replace(release, certificate=replace(release.certificate, identity=str(number)))
            for number in range(copies)
        ]
        total = compose(releases, delta=delta)
        # Laplace noise of each pure stage's epsilon is one law that must be covered.
        laws = [
            pld.from_gaussian_mechanism(sigma),
            *(pld.from_laplace_mechanism(1 / float(cost.guarantee.epsilon)) for cost in costs[:2]),
        ]
        many = [law.self_compose(copies) if copies > 1 else law for law in laws]
        truth = many[0].compose(many[1]).compose(many[2]).get_epsilon_for_delta(float(delta))
        assert float(total.epsilon) >= truth * (1 - 1e-9)
        # The last stage's noise alone is far cheaper than that.
        assert many[0].get_epsilon_for_delta(float(delta)) < 0.97 * truth
    # At its own delta one release costs no less than its stages together.
    assert compose([release], delta="1e-3") == ApproximateDP(4, "1e-3")
    with pytest.raises(ConversionError, match="kind 'approximate'"):
        compose([release], kind="zero-concentrated")


def test_what_was_released_first_may_not_tell_the_law_of_the_last_stage() -> None:
    release = KINDS["two looks, with a delta"]()
    first, counting, last = release.certificate.costs
    whole = first.guarantee.epsilon + counting.guarantee.epsilon + last.guarantee.epsilon
    assert (whole, last.guarantee.delta) == (1, Fraction(1, 10**5))
    assert (first.loss.epsilon, last.loss.kind) == (first.guarantee.epsilon, "approximate")


def test_laws_are_known_where_nothing_that_is_drawn_decides_them() -> None:
    def losses(name: str) -> list[str]:
        return [cost.loss.kind for cost in KINDS[name]().certificate.costs]

    assert losses("laplace") == ["laplace"]
    assert losses("one block") == ["block"]
    assert losses("gaussian") == ["gaussian"]
    assert losses("count, gaussian") == ["laplace", "gaussian"]
    assert losses("count") == ["laplace", "laplace"]
    # Whether the last look has one law or two follows from what was released before.
    assert losses("two looks")[1:] == ["laplace", "pure"]
    assert losses("directions") == ["range", "range", "laplace"]
    assert losses("classification, objective")[0] == "pure"
    assert losses("selection") == ["pure"]
    assert losses("comparison, gaussian") == ["gaussian"]


def test_a_session_carries_the_certificate_of_its_path(tmp_path: Path) -> None:
    ledger = Recorder()
    mean = PrivateMean(
        1.0, 1e-6, bounds=(-3, 3), domain=Domain(GRID), mechanism="gaussian", ledger=ledger.of("d")
    )
    session = mean.open_session(CURVES, tmp_path / "mean.session")
    certificate = session.certificate
    assert ledger.charges == [certificate.costs]
    session.suspend()
    with Session.resume(tmp_path / "mean.session") as again:
        assert again.certificate == certificate
        assert compose([session, again]) == session.guarantee == ApproximateDP(1, "1e-6")
        again.close()


def test_a_selection_composes_and_so_does_what_it_selected() -> None:
    def fit(candidate: float, epsilon: Fraction) -> Any:
        return PrivateMean(epsilon, bounds=(-3, 3)).fit(candidate * CURVES).release_

    chosen = private_selection([1.0, 0.5], fit, lambda release: 0.0, 3, expected_runs=2)
    assert compose([chosen]) == compose([chosen, chosen.release]) == PureDP(3)
    assert chosen.release.certificate.bound["description"] == "values clipped to [-3, 3]"


def test_a_delta_alone_asks_for_an_approximate_total() -> None:
    releases = [KINDS["one block"]() for _ in range(10)]
    total = compose(releases, delta="1e-6")
    assert isinstance(total, ApproximateDP)
    assert total.delta == Fraction(1, 10**6)
    assert total.epsilon < 7
    assert compose(releases) == PureDP(10)


class TestCertificates:
    def test_costs_beyond_the_claim_are_refused(self) -> None:
        one = certificate_of(PureDP(1))
        with pytest.raises(ParameterError, match=r"costs must add up to at most 0\.5-differential"):
            replace(one, guarantee=PureDP("0.5"))
        with pytest.raises(ParameterError, match="costs must add up to at most"):
            replace(one, costs=(Cost(ApproximateDP(1, "1e-6")),))
        replace(one, guarantee=ApproximateDP(1, "1e-6"))
        replace(one, guarantee=ZeroConcentratedDP("0.5"))

    def test_every_cost_has_a_stage_of_its_own(self) -> None:
        one = certificate_of(PureDP(1))
        with pytest.raises(ParameterError, match="stages must have one name a cost"):
            replace(one, stages=("a", "b"))
        with pytest.raises(ParameterError, match="stages must have one name a cost"):
            replace(one, stages=(), costs=())

    def test_a_part_is_of_one_release_with_the_whole(self) -> None:
        costs = {"count": Cost(PureDP("0.1"), LaplaceLoss("0.1")), "function": Cost(PureDP("0.9"))}
        whole = Certificate.charged(costs, Neighbours.ADD_REMOVE, "person", {}, {})
        assert whole.guarantee == PureDP(1)
        part = whole.part("count")
        assert (part.guarantee, part.identity) == (PureDP("0.1"), whole.identity)
        assert set(part.charges) < set(whole.charges)

    def test_identities_are_fresh(self) -> None:
        made = {certificate_of(PureDP(1)).identity for _ in range(1000)}
        assert len(made) == 1000

    def test_files_that_disagree_on_a_cost_are_both_counted(self) -> None:
        release = KINDS["laplace"]()
        cheap = replace(
            release.certificate, guarantee=PureDP("0.1"), costs=(Cost(PureDP("0.1"), PureLoss("0.1")),)
        )
        assert compose([replace(release, certificate=cheap), release]) == PureDP("1.1")

    def test_a_gaussian_cost_is_the_law_of_the_guarantee_charged(self) -> None:
        (cost,) = KINDS["gaussian"]().certificate.costs
        assert isinstance(cost.loss, GaussianLoss)
        sigma = dp_accounting.get_sigma_gaussian(1.0, 1e-6)
        assert float(cost.loss.rho) == pytest.approx(1 / (2 * sigma**2), rel=1e-6)


def _lowered(written: Any) -> None:
    """Guarantee, achieved guarantee, cost and loss, all alike."""
    tenth = {"kind": "pure", "exact": {"epsilon": "1/10"}}
    written |= {"guarantee": tenth, "achieved_guarantee": tenth}
    written["costs"][0] |= {"guarantee": tenth, "loss": {"kind": "pure", "epsilon": "1/10"}}


# What a file must not say of itself: of which release, and how it comes to be said.
EDITS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "costs below the claim": (
        "cells",
        lambda w: w["costs"][0]["guarantee"].update(exact={"epsilon": "1/10"}),
    ),
    "achieved above the claim": (
        "cells",
        lambda w: w["achieved_guarantee"].update(exact={"epsilon": "5"}),
    ),
    "a loss below its cost": (
        "one block",
        lambda w: w["costs"][0]["loss"].update(epsilon="1/10"),
    ),
    "a block of more coordinates than there are": (
        "one block",
        lambda w: w["costs"][0]["loss"].update(dimension=10**9),
    ),
    "a law that is not there": (
        "cells",
        lambda w: w["costs"][0].update(loss={"kind": "range", "epsilon": "1"}),
    ),
    "less noise than the claim needs": (
        "cells",
        lambda w: w["noise"].update(scales=[scale // 2 for scale in w["noise"]["scales"]]),
    ),
    "a claim below what the noise gives": ("cells", _lowered),
    "a shorter length": (
        "gaussian",
        lambda w: w["costs"][0]["loss"].update(
            rho=str(Fraction(w["costs"][0]["loss"]["rho"]) * Fraction(99, 100))
        ),
    ),
    "half a covariance": (
        "covariance",
        lambda w: w["costs"][0]["loss"].update(epsilon="1/2"),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_file_whose_parts_contradict_each_other_is_refused(name: str, tmp_path: Path) -> None:
    kind, edit = EDITS[name]
    path = KINDS[kind]().save(tmp_path / "release.json")
    load(path)
    written = json.loads(path.read_text())
    edit(written)
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError, match="is damaged"):
        load(path)


class TestEarlierFiles:
    FILES = sorted(p for p in GOLDEN.glob("*.json") if p.name != "readings.json")

    @pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
    def test_they_compose_at_what_they_claim_and_count_once(self, path: Path, tmp_path: Path) -> None:
        release = load(path)
        total = compose([release])
        assert readable(total.epsilon) == readable(release.guarantee.epsilon)
        assert compose([release, load(path)]) == total
        # Written again, it is in the present form and the same release.
        again = load(release.save(tmp_path / "again.json"))
        assert again.certificate == release.certificate

    def test_different_files_are_different_releases(self) -> None:
        identities = {path.stem: load(path).certificate.identity for path in self.FILES}
        # A mean and its derivative are one; so may be others that were made of one fit.
        assert len(set(identities.values())) >= len(identities) - 1

    @pytest.mark.parametrize(
        "name", ["two_stages_declared_spread", "two_stages_last_gaussian", "two_stages_private_spread"]
    )
    def test_a_mean_in_two_stages_costs_all_of_its_stages(self, name: str) -> None:
        release = load(GOLDEN / f"{name}.json")
        costs = release.certificate.costs
        assert len(costs) == (3 if release.selection else 2)
        assert costs[0].guarantee.epsilon == release.first.guarantee.epsilon
        assert added([cost.guarantee for cost in costs]) == release.guarantee
        assert costs[-1].loss.kind in ("pure", "approximate")
        assert compose([release, release.first]) == compose([release])
