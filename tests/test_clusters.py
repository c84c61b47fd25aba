"""Clusters of curves: what one unit moves at every stage, noise, what is found, files, refusals."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from dpfda import Domain, PrivacyUnit, PrivateCurveClusters, Reading, load
from dpfda.clusters.estimator import CELLS, SUMS, ClustersPlan
from dpfda.clusters.release import ReleasedCurveClusters
from dpfda.clusters.stages import Lattice, ball_of, nearest
from dpfda.errors import BudgetError, ParameterError, StorageError
from dpfda.noise import KNormNoise, gaussian_ratio
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.releases.moments import filled
from dpfda.testing import check_release, check_summary

GRID = np.linspace(0.0, 2.0, 25)
STAGES = ["mean", "lengths", "step 1", "step 2", CELLS, SUMS]


def kinds(count: int, seed: int = 4, many: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Bumps at other places for other kinds of units, of which the first is .6: curves and kinds."""
    random = np.random.default_rng(seed)
    shares = np.append(0.6, np.full(many - 1, 0.4 / (many - 1)))
    kind = random.choice(many, size=count, p=shares)
    places = np.linspace(0.4, 1.6, many)[kind][:, None] + 0.05 * random.normal(size=(count, 1))
    bumps = np.exp(-0.5 * ((GRID - places) / 0.25) ** 2) * (1 + 0.2 * random.normal(size=(count, 1)))
    return bumps + 0.1 * random.normal(size=(count, 1)), kind


def estimator(epsilon: Any = 1.0, **given: Any) -> PrivateCurveClusters:
    return PrivateCurveClusters(epsilon, **{"bounds": (-1.0, 2.0), "domain": Domain(GRID), **given})


class Watched:
    """Totals and what was released of them, stage by stage; it may release what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.totals: list[list[int]] = []
        self.released: list[tuple[int, ...]] = []
        self.told: list[tuple[int, ...]] = []
        honest = IntegerSum.with_noise

        def with_noise(total: IntegerSum, noise: Any) -> tuple[int, ...]:
            self.totals.append([*honest(total, [0] * len(noise))])
            self.released.append(self.told.pop(0) if self.told else honest(total, noise))
            return self.released[-1]

        monkeypatch.setattr(IntegerSum, "with_noise", with_noise)

    def fit(self, made: PrivateCurveClusters, curves: np.ndarray) -> list[np.ndarray]:
        self.totals.clear()
        self.released.clear()
        made.fit(curves)
        return [np.array(total, dtype=object) for total in self.totals]


def moves(
    one: list[np.ndarray], other: list[np.ndarray], blocks: int, normal: bool = False
) -> dict[str, float]:
    """How far totals of stages are apart, each in the norm that its noise is for."""
    gaps = {name: (a - b).astype(float) for name, a, b in zip(STAGES, one, other, strict=True)}
    size = math.isqrt(2 * gaps["step 1"].size)
    steps = {name: np.linalg.norm(filled([*gaps[name]], size)) for name in ("step 1", "step 2")}
    if normal:
        return {name: float(np.linalg.norm(gap)) for name, gap in gaps.items()} | steps
    return steps | {
        "mean": float(np.linalg.norm(gaps["mean"])),
        "lengths": float(np.abs(gaps["lengths"]).sum()),
        CELLS: float(np.abs(gaps[CELLS]).sum()),
        SUMS: float(np.linalg.norm(gaps[SUMS].reshape(blocks, -1), axis=1).sum()),
    }


def allowed(plan: ClustersPlan) -> dict[str, float]:
    """How far they may be, by the laws of the plan."""
    two = plan.neighbours.differences(1)
    outer = plan.design.outer.radius**2 * two**0.5
    ball = ball_of(plan.basis.eigenvalues.size).radius
    counts = (two**0.5 if plan.design.joint else two) * 2**20
    return {
        "mean": two * plan.design.ball.radius,
        "lengths": counts,
        "step 1": outer,
        "step 2": outer,
        CELLS: counts,
        SUMS: two * ball,
    }


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_one_unit_moves_every_stage_by_its_width_and_no_more(
    neighbours: Neighbours, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real fit, in which all earlier stages have released the same."""
    stated = 40 if neighbours is Neighbours.ADD_REMOVE else None
    made = estimator(
        120.0 if delta else 60.0, delta=delta, unit=PrivacyUnit("person", str(neighbours), stated)
    )
    watched, rest = Watched(monkeypatch), kinds(39)[0]
    random = np.random.default_rng(2)
    ones = [
        np.full(25, 1e9), np.full(25, -1e9), np.where(GRID < 1, 9.0, -9.0), np.zeros(25),
        *kinds(6, 5)[0], *random.normal(scale=3, size=(6, 25)),
    ]  # fmt: skip
    watched.fit(made, np.vstack([rest, ones[0]]))
    told = [*watched.released]
    found = []
    for one in ones:
        watched.told = [*told]
        found.append(watched.fit(made, np.vstack([rest, one])))
    if neighbours is Neighbours.ADD_REMOVE:
        watched.told = [*told]
        without = watched.fit(made, rest)
        apart = [moves(each, without, 3, delta > 0) for each in found]
    else:
        apart = [moves(each, other, 3, delta > 0) for each in found for other in found]
    widths = allowed(made.plan(40, GRID))
    assert len(told) == len(STAGES)
    for name, width in widths.items():
        assert max(each[name] for each in apart) <= width * (1 + 1e-12), name
    # Of two vectors in one cluster their counts are the same, and what is left of them is shorter.
    near = 0.75 if delta and stated is None else 0.999
    for name, least in ((CELLS, 0.999), (SUMS, near), ("lengths", 0.999)):
        assert max(each[name] for each in apart) > least * widths[name], name


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_has_its_scale_and_no_other(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was released less the totals; a scale that is wrong by sqrt(2) either way fails."""
    watched, curves, found = Watched(monkeypatch), kinds(40)[0], {CELLS: [], SUMS: []}
    epsilon = 120 if delta else 60
    for _ in range(25):
        totals = watched.fit(estimator(epsilon, delta=delta), curves)
        for name in (CELLS, SUMS):
            place = STAGES.index(name)
            found[name] += [*(np.array(watched.released[place]) - totals[place].astype(float))]
    # Parts: 7/20 of 60 for sums, half of the rest for cells. A block of 13 numbers in the l2 norm has a
    # variance of 14 squares of its scale, a Laplace variable of two.
    spreads = {CELLS: 2 * 2**20 / (60 * 13 / 40) * 2**0.5, SUMS: 2 * ball_of(12).radius / 21 * 14**0.5}
    if delta:
        # Such parts of mu^2; a unit is in another cell, or moves the sum of one cluster.
        mu = float(gaussian_ratio(ApproximateDP(Fraction(120), Fraction(1, 10**6))))
        spreads = {CELLS: 2**0.5 * 2**20 / (mu * (13 / 40) ** 0.5)}
        spreads[SUMS] = 2 * ball_of(12).radius / (mu * (7 / 20) ** 0.5)
    for name, spread in spreads.items():
        assert 2**-0.25 < np.std(found[name]) / spread < 2**0.25, name


def test_scales_follow_from_widths_and_shares() -> None:
    plan = estimator(60.0).plan(40, GRID)
    exact = {CELLS: Fraction(2 * 2**20, 1) / Fraction(39, 2), SUMS: Fraction(2 * ball_of(12).radius, 21)}
    for name, law in plan.laws.items():
        assert all(0 <= scale - exact[name] <= 1 for scale in law.scales)
    assert plan.certified().guarantee == PureDP(Fraction(60))
    assert plan.laws[SUMS].block_sizes == (13, 13, 13)
    # Neither the number of cells nor what is measured follows from data.
    assert SUMS not in estimator(1.0).plan(1499, GRID).parts
    assert SUMS in estimator(1.0).plan(1500, GRID).parts


def test_the_loss_of_blocks_is_the_sum_of_their_lengths_over_the_scale() -> None:
    """By the density itself, for differences that lie in two blocks."""
    random, law = np.random.default_rng(1), KNormNoise((13, 13), (1000, 1000))

    def log_density(points: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm(points.reshape(-1, 2, 13), axis=2)
        return -lengths.sum(axis=1) / 1000

    drawn = law.simulate(random, 2000)
    losses = []
    for share in (0.0, 0.3, 0.5, 1.0):
        gap = random.normal(size=(2, 13))
        gap *= (np.array([share, 1 - share]) * 700 / np.linalg.norm(gap, axis=1))[:, None]
        along = np.vstack([drawn, 1e6 * gap.ravel()])
        losses.append(np.max(log_density(along) - log_density(along + gap.ravel())))
    achieved = law.achieved("l1", 700, PureDP(Fraction(1)))
    assert max(losses) <= float(achieved.epsilon) * (1 + 1e-9)
    assert max(losses) > 0.99 * float(achieved.epsilon)


@pytest.mark.parametrize("many", [2, 3])
def test_separated_kinds_are_found(many: int) -> None:
    """In each of 20 releases of either when it was written."""
    curves, kind = kinds(2000, many=many)
    release = estimator(clusters=many).fit(curves).release_
    alone = adjusted_rand_score(kind, KMeans(many, n_init=5, random_state=0).fit(curves).labels_)
    assert adjusted_rand_score(kind, release.assign(curves)) > 0.9 * alone
    assert release.shares[0] == pytest.approx(0.6, abs=0.12)
    assert release.centers(GRID)[0].argmax() == pytest.approx(5, abs=1)


def test_without_noise_it_is_k_means() -> None:
    curves, _ = kinds(20_000)
    release = estimator(1e4).fit(curves).release_
    alone = KMeans(3, n_init=5, random_state=0).fit(curves)
    order = np.argsort(-np.bincount(alone.labels_))
    labels = np.argsort(order)[alone.labels_]
    assert np.mean(release.assign(curves) == labels) > 0.98
    assert release.shares == pytest.approx(np.bincount(labels) / len(labels), abs=0.02)
    assert np.abs(release.centers(GRID) - alone.cluster_centers_[order]).max() < 0.05


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 500.0])
@pytest.mark.parametrize("clusters", [2, 20])
def test_odd_data_are_published_like_others(epsilon: float, clusters: int) -> None:
    for curves in (np.zeros((9, 25)), np.full((2, 25), 1e300), kinds(9)[0]):
        release = estimator(epsilon, clusters=clusters).fit(curves).release_
        assert release.centers(GRID).shape == (clusters, 25)
        assert np.all((release.centers(GRID) >= -1) & (release.centers(GRID) <= 2))
        assert release.shares.sum() == pytest.approx(1)
        assert np.all(np.diff(release.shares) <= 0)


def test_records_that_cannot_be_used_count_as_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    watched, curves = Watched(monkeypatch), kinds(40)[0]
    made = estimator(60.0, reading=Reading(invalid="repair"))
    broken, middle = curves.copy(), curves.copy()
    broken[3, 5], middle[3] = np.nan, 0.5
    first = watched.fit(made, middle)
    watched.told = [*watched.released]
    for one, other in zip(first, watched.fit(made, broken), strict=True):
        assert np.array_equal(one, other)


def test_cells_hold_each_score_once_and_keep_their_number() -> None:
    plan = estimator().plan(2000, GRID)
    moments = plan.design.published(np.random.default_rng(1).normal(size=(2000, plan.design.size)), 2000)
    lattice = Lattice.of(moments, plan.most)
    assert math.prod(lattice.bins) <= plan.most
    assert lattice.directions @ lattice.directions.T == pytest.approx(np.eye(3), abs=1e-12)
    # The middle of each cell is in it.
    assert np.array_equal(lattice.places(lattice.offsets), np.arange(math.prod(lattice.bins)))


def test_the_nearest_anchor_follows_from_a_row_alone() -> None:
    random = np.random.default_rng(1)
    rows, anchors = random.normal(size=(301, 7)), random.normal(size=(4, 7))
    found = nearest(rows, anchors)
    assert np.array_equal(found, [nearest(row[None], anchors)[0] for row in rows])
    assert np.array_equal(found, np.linalg.norm(rows[:, None] - anchors, axis=2).argmin(axis=1))


def test_curves_are_assigned_within_the_bounds() -> None:
    release = estimator().fit(kinds(2000)[0]).release_
    centers = release.centers(GRID)
    assert np.array_equal(release.assign(centers), [0, 1, 2])
    assert np.array_equal(release.assign(centers[1]), [1])
    assert release.centers(0.5).shape == (3,)
    assert release(0.5) == pytest.approx(release.centers([0.5])[:, 0])
    far = np.where(centers[2] > 0.5, 1e9, centers[2])
    clipped = np.where(centers[2] > 0.5, 2.0, centers[2])
    assert np.array_equal(release.assign(far), release.assign(clipped))
    with pytest.raises(ParameterError, match=r"curves must have one value at each of the 25"):
        release.assign(np.zeros((2, 24)))
    with pytest.raises(ParameterError, match="curves must have no missing values"):
        release.assign(np.full((1, 25), np.nan))
    with pytest.raises(ParameterError):
        release.centers(2.5)


def test_a_unit_of_several_records_counts_once() -> None:
    curves, _ = kinds(20)
    release = estimator().fit(np.repeat(curves, 2, axis=0), groups=np.repeat(np.arange(20), 2)).release_
    assert release.moments.size == release.public_units == 20


@pytest.mark.parametrize(
    "given", [{}, {"epsilon": 80.0}, {"delta": 1e-6}, {"epsilon": None, "rho": 0.5}]
)
def test_it_keeps_the_contract(given: dict[str, Any]) -> None:
    curves, model = kinds(20)[0], estimator(**given)
    check_summary(model, curves)
    release = model.fit(curves).release_
    check_release(release)
    told = " ".join(release.describe().split())
    assert "As many clusters are found as were asked for" in told
    ends = zip(release.shares, release.share_intervals()[:, 0], strict=True)
    assert [line.label for line in release.view().lines] == [
        f"{100 * share:.0f}% of records" + ("" if end > 0 else ", within the noise")
        for share, end in ends
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["noise"].update(scale=file["noise"]["scale"] // 2),
        lambda file: file["sums"]["noise"].update(scales=[10**6] * 3),
        lambda file: file["sums"]["noise"].update(block_sizes=[39], scales=[10**9]),
        lambda file: file.update(sums=None),
        lambda file: file["sums"].update(radius=-1.0),
        lambda file: file["sums"].update(radius=1e308),
        lambda file: file["sums"]["noisy"].pop(),
        lambda file: file["cells"].pop(),
        lambda file: file["lattice"]["bins"].append(1),
        lambda file: file["lattice"].update(bins=[0, *file["lattice"]["bins"][1:]]),
        lambda file: file["lattice"].update(width=0.0),
        lambda file: file.update(anchors=file["bounds"]),
        lambda file: file.update(bounds=file["anchors"]),
        lambda file: file["moments"].update(blocks=[3]),
        lambda file: file["moments"]["steps"].pop(),
        lambda file: file.update(costs=file["costs"][:-1]),
    ],
)  # fmt: skip
def test_files_that_say_something_else_are_refused(change: Any, tmp_path: Any) -> None:
    path = estimator(80.0).fit(kinds(30)[0]).release_.save(tmp_path / "kinds.json")
    load(path)
    written = json.loads(path.read_text())
    change(written)
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)


@pytest.mark.parametrize("wrong", [2**0.5, 0.5**0.5])
def test_noise_that_was_drawn_for_all_is_all_of_it(wrong: float, tmp_path: Any) -> None:
    path = estimator(80.0, delta=1e-6).fit(kinds(30)[0]).release_.save(tmp_path / "kinds.json")
    load(path)
    written = json.loads(path.read_text())
    for law in (written["noise"], *(step["noise"] for step in written["moments"]["steps"])):
        right = law["scale"]
        law["scale"] = round(right * wrong)
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            load(path)
        law["scale"] = right


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": None}, "bounds"),
        ({"clusters": 1}, r"clusters must be .* found 1"),
        ({"clusters": 21}, r"clusters must be .* found 21"),
        ({"clusters": 2.5}, "clusters must be"),
        ({"unit": PrivacyUnit("person", "add-remove")}, "public_size must be given"),
        ({"reading": Reading(standardize=True)}, "reading must have"),
    ],
)
def test_what_is_refused_is_refused_before_the_charge(given: dict[str, Any], words: str) -> None:
    ledger = MemoryLedger()
    ledger.create("data", PureDP(Fraction(9)), unit="person")
    with pytest.raises(ParameterError, match=words):
        estimator(ledger=ledger.of("data"), **given).fit(kinds(9)[0])
    assert not [each for each in ledger.history("data") if each.action == "charge"]


def test_a_ledger_without_the_budget_refuses() -> None:
    ledger = MemoryLedger()
    ledger.create("data", PureDP(Fraction(1, 2)))
    with pytest.raises(BudgetError):
        estimator(ledger=ledger.of("data")).fit(kinds(9)[0])


def test_counts_that_are_no_floats_are_refused(tmp_path: Any) -> None:
    path = estimator().fit(kinds(30)[0]).release_.save(tmp_path / "kinds.json")
    written = json.loads(path.read_text())
    written["cells"][0] = 10**400
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)


@pytest.mark.parametrize(
    "given", [{}, {"delta": 1e-5}, {"epsilon": 0.2}], ids=["pure", "delta", "cells"]
)
def test_intervals_hold_the_shares_without_noise(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # 300 draws of the noise: of 95 % fewer than 269 or more than 298 hold in one test of a thousand.
    watched = Watched(monkeypatch)
    made = estimator(clusters=2, **given)
    total = watched.fit(made, kinds(2000, many=2)[0])[-1]
    release = made.release_
    assert (release.sums is None) == ("epsilon" in given)

    def counted(numbers: Any) -> ReleasedCurveClusters:
        noisy = tuple(int(value) for value in np.rint(numbers))
        if release.sums is None:
            return replace(release, cells=noisy)
        return replace(release, sums=replace(release.sums, noisy=noisy))

    law = release.noise if release.sums is None else release.sums.noise
    exact, held = total.astype(float), 0
    true = counted(exact).shares
    assert 0.55 < true[0] < 0.65
    for noise in law.simulate(np.random.default_rng(3), 300):
        ends = counted(exact + noise).share_intervals()
        held += bool(np.all((ends[:, 0] <= true) & (true <= ends[:, 1])))
    assert 269 <= held <= 298


def test_a_cluster_of_nobody_is_no_kind_of_curve() -> None:
    # One kind of curve, three clusters asked for: what noise makes of none is told and drawn as that.
    release = estimator(clusters=3).fit(np.full((3000, GRID.size), 0.5)).release_
    *_, last = release.view().lines
    assert last.stroke == "dashed"
    assert last.label.endswith("within the noise")
    told = " ".join(release.describe().split())
    assert "of the 3 clusters, the smallest, may have nobody" in told
    assert "may be empty" in repr(release)
    assert release.share_intervals()[0, 0] > 0.9
    known = estimator(clusters=3).fit(kinds(3000)[0]).release_
    assert {line.stroke for line in known.view().lines} == {"solid"}
    assert "may have nobody" not in " ".join(known.describe().split())
    assert "empty" not in repr(known)
