"""End to end: what is published on neighbouring data sets differs by no more than is claimed.

Audits are those of `statistical`: a run of this file raises a false alarm with chance below 1e-5.
"""

import json
import math
import os
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivacyUnit, PrivateMean, load
from dpfda.bases import CosineBasis, KernelBasis
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.errors import DpfdaError, RefusedMechanismError
from dpfda.mechanisms import Design
from dpfda.mechanisms.gaussian import Gaussian, GaussianProcess
from dpfda.mechanisms.iclp import ICLP
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    guarantee_for,
    split,
)
from dpfda.privacy.ledger import DatasetLedger
from dpfda.publication import MeanPlan, means, pay, publish
from statistical import Audit, block_profile_reference, cut_noise, epsilon_bound

GRID = np.array([0.0, 0.5, 1.0])
BASIS = KernelBasis.on_grid(Matern(0.3, nu=1.5), GRID)


# Audits.


def audit_of(mean: PrivateMean, one: np.ndarray, other: np.ndarray) -> Audit:
    """Audit of a mean whose one record is one curve or the other; the mean's claim is what it states."""
    rest = np.random.default_rng(0).normal(size=(3, GRID.size))
    prepared = [mean.prepare(np.vstack([rest, record])) for record in (one, other)]
    paid = [pay(each.total, each.plan) for each in prepared]
    noise = paid[0].design.noise
    assert noise == paid[1].design.noise
    sums = [np.array(each.total.with_noise([0] * noise.components), dtype=float) for each in prepared]

    # The line of `publish`, without building the release.
    made = [
        partial(each.total.with_noise, thresholds=done.design.thresholds)
        for each, done in zip(prepared, paid, strict=True)
    ]
    return Audit(sums, noise, float(mean.epsilon), float(mean.delta), publish=made)


def toward(direction: list[float]) -> np.ndarray:
    """A huge curve along a direction of coefficients: clipping takes it to the boundary."""
    return 1e6 * BASIS.evaluate(GRID) @ np.array(direction)


# Name -> (estimator, direction of the coefficients in which its loss is largest, number of trials).
# Each law is audited in every run: Laplace noise, one block with and without a delta, normal noise.
AUDITED = {
    "laplace, l1": (
        PrivateMean(1.5, bounds=L1Ball(1.0), basis=BASIS, mechanism=Laplace()),
        [0.0, 1.0, 0.0],
        6_000,
    ),
    "laplace, l2": (
        PrivateMean(2.0, bounds=L2Ball(1.0), basis=BASIS, mechanism=Laplace(matched=False)),
        [1.0, 1.0, 1.0],
        20_000,
    ),
    "block of 2": (
        PrivateMean(2.0, bounds=L2Ball(1.0), basis=BASIS, mechanism=KNorm(block_sizes=2)),
        [0.6, -0.8, 0.0],
        12_000,
    ),
    "block of 3": (
        PrivateMean(2.0, bounds=L2Ball(1.0), basis=BASIS, mechanism=KNorm(block_sizes=3)),
        [1.0, 2.0, -3.0],
        40_000,
    ),
    "block of 2 with a delta": (
        PrivateMean(2.0, 0.1, bounds=L2Ball(1.0), basis=BASIS, mechanism=KNorm(block_sizes=2)),
        [0.6, -0.8, 0.0],
        7_000,
    ),
    "gaussian": (
        PrivateMean(1.0, 0.05, bounds=L2Ball(1.0), basis=BASIS, mechanism=Gaussian()),
        [1.0, -1.0, 0.5],
        13_000,
    ),
}


# A weaker direction of the same Laplace noise, and a larger block.
FURTHER = {"laplace, l2", "block of 3"}
AUDITS = [pytest.param(name, marks=pytest.mark.thorough if name in FURTHER else ()) for name in AUDITED]


def audited(name: str) -> tuple[Audit, int]:
    mean, direction, trials = AUDITED[name]
    return audit_of(mean, toward(direction), -toward(direction)), trials


@pytest.mark.parametrize("name", AUDITS)
def test_no_event_tells_neighbours_apart_by_more_than_the_claim(name):
    audit, trials = audited(name)
    # To stay below the claim needs less power, but where a delta hides most of what is there.
    bound = audit.bound(trials if audit.delta else trials // 3)
    assert bound <= audit.claim
    # The audit is not blind: most of the claim is really there.
    assert bound >= audit.claim / 2


@pytest.mark.parametrize("name", AUDITS)
def test_noise_cut_by_root_two_is_found_out(name, monkeypatch):
    audit, trials = audited(name)
    cut_noise(monkeypatch, GaussianNoise if name == "gaussian" else KNormNoise)
    assert audit.bound(trials) > audit.claim


@pytest.mark.parametrize("cut", [False, True], ids=["as stated", "cut"])
def test_an_audit_through_fit(cut, monkeypatch):
    """Whole fits; an event is that a released coefficient is at least that of `one`.

    Coefficients have independent noise, and all of them move alike: each is a trial by itself of its
    share of the budget, which is 1.5. (Were shares unequal, the ratio of averages would be no larger.)
    """
    monkeypatch.setattr(means, "stamp", dict)
    if cut:
        cut_noise(monkeypatch, KNormNoise)
    functions = CosineBasis.on_grid(16, np.linspace(0, 1, 33))
    mean = PrivateMean(
        1.5 * 16, bounds=L1Ball(1.0), basis=functions, mechanism=Laplace(components=16, shrink=False)
    )
    rest = np.random.default_rng(1).normal(size=(3, 33))
    vertex = functions.evaluate(functions.grid_points).mean(axis=1)
    one, other = (np.vstack([rest, sign * vertex]) for sign in (1, -1))
    prepared = mean.prepare(one)
    levels = np.array(prepared.total.with_noise([0] * 16)) * prepared.plan.ball.step / 4
    fits = 360 if cut else 130
    hits = tuple(
        sum(int(np.sum(mean.fit(curves).release_.coefficients >= levels)) for _ in range(fits))
        for curves in (one, other)
    )
    bound = epsilon_bound(hits, 16 * fits, 0.0)
    assert (bound > 1.5) == cut
    assert bound >= 1.5 / 2


# A mechanism that promises more than it keeps is stopped before its noise is drawn.


@dataclass(frozen=True)
class Careless:
    """Laplace noise of scales too small by sqrt(2), as in the papers' slip."""

    factor: float

    def design(self, problem) -> Design:
        honest = Laplace().design(problem)
        scales = tuple(math.floor(scale * self.factor) for scale in honest.noise.scales)
        return replace(honest, noise=replace(honest.noise, scales=scales))


@pytest.mark.parametrize("factor", [math.sqrt(0.5), 1 - 1e-6])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_scales_too_small_by_a_millionth_are_not_released(factor, neighbours, monkeypatch):
    mean = PrivateMean(
        1.0,
        bounds=L2Ball(1.0),
        basis=BASIS,
        mechanism=Careless(factor),
        unit=PrivacyUnit(neighbours=neighbours),
    )
    monkeypatch.setattr(
        KNormNoise, "draw", lambda self: [0] if self.components == 1 else pytest.fail("drawn")
    )
    with pytest.raises(DpfdaError, match=r"mechanism's noise gives .* which is more than"):
        mean.fit(np.ones((4, 3)))


# Requests under each kind of guarantee.

MECHANISMS = {
    "iclp": ICLP(),
    "knorm": KNorm(),
    "knorm, blocks": KNorm(block_sizes=(1, 2)),
    "laplace": Laplace(),
    "gaussian": Gaussian(),
    "gaussian process": GaussianProcess(),
    "auto": "auto",
}
GUARANTEES = {
    "pure": PureDP(Fraction(3, 2)),
    "approximate": ApproximateDP(Fraction(3, 2), Fraction(1, 10**5)),
    "concentrated": ZeroConcentratedDP(Fraction(1, 3)),
}
REFUSED = {
    ("gaussian", "pure"),
    ("gaussian process", "pure"),
    *((name, "approximate") for name in ("iclp", "knorm, blocks", "laplace")),
}
NEIGHBOURS = [
    (Neighbours.REPLACE_ONE, 4),
    (Neighbours.ADD_REMOVE, 7),
    (Neighbours.ADD_REMOVE, None),
]


def request(mechanism, guarantee, neighbours=Neighbours.REPLACE_ONE, size=4, bound=None) -> MeanPlan:
    """The public side of a release of four records, or of an unknown number."""
    bound = L2Ball(1.0) if bound is None else bound
    return MeanPlan.of(
        BASIS, bound, guarantee, neighbours, mechanism, size, "record", {"summary": "mean curve"}
    )


def total_of(rows: list[list[int]]) -> IntegerSum:
    return IntegerSum(3).add(np.array(rows, dtype=np.int64))


def loss_of(noise, norm: str, width: int) -> Fraction:
    """Pure loss of block noise, rounded up to 200 bits by Python integers: a way of its own."""
    if norm == "l1":
        return Fraction(width, min(noise.scales))
    square = width**2 * sum(Fraction(1, scale**2) for scale in noise.scales)
    root = Fraction(
        math.isqrt(square.numerator * square.denominator << 400) + 1, square.denominator << 200
    )
    assert root**2 >= square
    return root


def mu_of(noise: GaussianNoise, width: int) -> Fraction:
    return Fraction(width, min(noise.scales))


@pytest.mark.parametrize(("neighbours", "size"), NEIGHBOURS, ids=str)
@pytest.mark.parametrize("kind", GUARANTEES)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "bound", [L2Ball(1.0), L1Ball(2.0), ValueBounds(-1.0, 3.0)], ids=["l2", "l1", "value"]
)
def test_a_release_composes_to_no_more_than_the_request(name, kind, neighbours, size, bound):
    guarantee = GUARANTEES[kind]
    asked = request(MECHANISMS[name], guarantee, neighbours, size, bound)
    if (name, kind) in REFUSED:
        with pytest.raises(RefusedMechanismError):
            asked.components()
        return
    release = publish(total_of([[5, -3, 2]] * 4), asked)
    # Pure noise that was chosen for an approximate guarantee costs no delta, where that is known before
    # the charge.
    pure = kind == "approximate" and size is not None and type(release.certificate.achieved) is PureDP
    assert release.guarantee == (PureDP(guarantee.epsilon) if pure else guarantee)
    assert type(release.certificate.achieved) in (type(guarantee), PureDP)
    width = asked.ball.radius * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
    count = Fraction(0)
    if neighbours is Neighbours.ADD_REMOVE and size is None:
        assert release.divisor.noise.block_sizes == (1,)
        count = Fraction(release.divisor.scale, release.divisor.noise.scales[0])
        assert count > 0
    else:
        assert release.divisor == (4 if size == 4 else 7)
    noise, norm = release.noise, asked.ball.norm
    if isinstance(noise, BoxNoise):
        # Sums over cells: from one end of the bounds to the other in every one of them at once.
        halves = asked.on_grid.cube.half_widths
        moves = [int(row @ halves) for row in asked.public_design.measurement.matrix]
        times = 2 if neighbours is Neighbours.REPLACE_ONE else 1
        box = max(Fraction(times * move, b) for move, b in zip(moves, noise.scales, strict=True))
        assert box + count <= guarantee.epsilon
    elif isinstance(noise, KNormNoise):
        pure = loss_of(noise, norm, width)
        if kind == "concentrated":
            rho = concentrated(noise, float(pure)) + float(count) ** 2 / 2
            assert rho <= float(guarantee.rho) * (1 + 1e-12)
        elif kind == "approximate" and pure + count > guarantee.epsilon:
            # One block with a delta: the function has the rest of epsilon and all of delta.
            size, epsilon = noise.components, guarantee.epsilon - count
            assert len(noise.block_sizes) == 1
            delta = -math.expm1(float(epsilon - pure) / 2)
            if size > 1:
                delta = float(block_profile_reference(size, float(pure), float(epsilon)))
            assert delta <= float(guarantee.delta) * (1 + 1e-9)
        else:
            assert pure * (1 - Fraction(1, 2**190)) + count <= guarantee.epsilon
    elif kind == "concentrated":
        assert mu_of(noise, width) ** 2 / 2 + count**2 / 2 <= guarantee.rho
    else:
        # Basic composition: the count is pure, the function has the rest of epsilon and all of delta.
        assert exact_delta(guarantee.epsilon - count, mu_of(noise, width)) <= float(guarantee.delta)


def concentrated(noise: KNormNoise, epsilon: float) -> float:
    """Zero-concentrated cost of a pure loss: of one Laplace variable, or of the smallest block."""
    return min(math.expm1(-epsilon) + epsilon, epsilon**2 / (2 * min(noise.block_sizes)))


def exact_delta(epsilon: Fraction, mu: Fraction) -> float:
    from mpmath import mp

    with mp.workdps(50):
        e, m = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(mu.numerator) / mu.denominator
        return float(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize("kind", GUARANTEES)
def test_a_share_of_the_budget_and_the_rest_make_the_whole(kind):
    guarantee = GUARANTEES[kind]
    for share in (Fraction(1, 10), Fraction(1, 3), Fraction(99, 100)):
        part, rest = split(guarantee, share)
        assert part.epsilon > 0
        if kind == "concentrated":
            assert part.epsilon**2 / 2 + rest.rho == guarantee.rho
            assert part.epsilon**2 / 2 <= share * guarantee.rho
        else:
            assert part.epsilon + rest.epsilon == guarantee.epsilon
            assert getattr(rest, "delta", 0) == getattr(guarantee, "delta", 0)


# Add/remove neighbours: the number of units is private.


def published_as_if_counted(
    monkeypatch, curves: np.ndarray, mechanism, noisy: int, epsilon=1.0, delta=0.0
):
    """A release without noise, under a forced noisy count: everything else that it reveals."""
    with monkeypatch.context() as patch:
        patch.setattr(IntegerSum, "count_with_noise", lambda self, noise, scale: noisy * scale)
        for law in (KNormNoise, GaussianNoise):
            patch.setattr(law, "draw", lambda self: [0] * self.components)
        mean = PrivateMean(
            epsilon,
            delta,
            bounds=L2Ball(1.0),
            basis=BASIS,
            mechanism=mechanism,
            unit=PrivacyUnit(neighbours="add-remove"),
        )
        return mean.fit(curves).release_


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [("auto", 0.0), ("iclp", 0.0), ("laplace", 0.0), ("knorm", 0.0), ("gaussian", 1e-5), ("auto", 1e-5)],
)
def test_design_and_release_depend_on_the_noisy_count_alone(mechanism, delta, monkeypatch, tmp_path):
    chosen = MECHANISMS[mechanism]
    few = np.random.default_rng(2).normal(size=(5, 3))
    # Seventy more records at the center add nothing to the sum, but count.
    many = np.vstack([few, np.zeros((70, 3))])
    files = []
    for name, curves in (("few", few), ("many", many)):
        release = published_as_if_counted(monkeypatch, curves, chosen, 30, delta=delta)
        files.append(json.loads(release.save(tmp_path / f"{name}.json").read_text()))
        # Drawn afresh for every release.
        assert files[-1].pop("release_id")
    assert files[0] == files[1]
    other = published_as_if_counted(monkeypatch, few, chosen, 3000, delta=delta)
    assert other.count == 3000
    # The design does follow the released count.
    same = load(tmp_path / "few.json")
    assert not np.array_equal(other.shrinkage[:1], same.shrinkage[:1])


@pytest.mark.parametrize("mechanism", ["iclp", "laplace", "knorm", "auto"])
def test_the_private_path_before_the_noise_does_not_see_the_count(mechanism):
    chosen = MECHANISMS[mechanism]
    mean = PrivateMean(
        1.0, bounds=L2Ball(1.0), basis=BASIS, mechanism=chosen, unit=PrivacyUnit(neighbours="add-remove")
    )
    for count in (2, 3, 500):
        asked = mean.prepare(np.ones((count, 3))).plan
        assert asked.size is None
        assert asked.components() == 3
        assert asked.ball == request("auto", PureDP(1)).ball


def test_the_released_count_is_the_count_plus_laplace_noise_of_its_share():
    mean = PrivateMean(1.0, bounds=L2Ball(1.0), basis=BASIS, unit=PrivacyUnit(neighbours="add-remove"))
    curves = np.zeros((40, 3))
    prepared = mean.prepare(curves)
    counts = np.array([publish(prepared.total, prepared.plan).divisor.value for _ in range(300)])
    # A tenth of epsilon: scale 10, deviation 14; the median is within five standard errors.
    assert abs(np.median(counts) - 40) < 5 * 10 / math.sqrt(300)
    noisy = publish(prepared.total, prepared.plan).divisor
    assert Fraction(noisy.scale, noisy.noise.scales[0]) <= Fraction(1, 10)
    assert noisy.noise == knorm_noise((1,), (1.0,), "l1", noisy.scale, PureDP(Fraction(1, 10)))


def test_a_negative_noisy_count_divides_by_one(monkeypatch):
    release = published_as_if_counted(monkeypatch, np.zeros((3, 3)), "auto", -5)
    assert release.count == 1.0
    assert np.isfinite(release(0.3))


def test_a_public_divisor_takes_the_whole_budget_for_the_function():
    mean = PrivateMean(
        1.0, bounds=L2Ball(1.0), basis=BASIS, unit=PrivacyUnit(neighbours="add-remove", public_size=40)
    )
    releases = [mean.fit(np.zeros((count, 3))).release_ for count in (2, 300)]
    for release in releases:
        assert release.divisor == 40
        loss = loss_of(release.noise, "l2", request("auto", PureDP(1)).ball.radius)
        assert 1 - Fraction(1, 10**6) <= loss <= 1 + Fraction(1, 2**190)
    assert releases[0].noise == releases[1].noise
    assert np.array_equal(releases[0].shrinkage, releases[1].shrinkage)


# Entropy and order.


def test_nothing_is_drawn_before_the_ledger_is_charged(monkeypatch):
    order = []
    real = os.urandom

    class Ledger:
        def charge(self, *args, **kwargs):
            order.append("charge")

    def watched(size):
        order.append("draw")
        return real(size)

    monkeypatch.setattr(os, "urandom", watched)
    for neighbours in ("replace-one", "add-remove"):
        order.clear()
        mean = PrivateMean(
            1.0,
            bounds=L2Ball(1.0),
            basis=BASIS,
            ledger=DatasetLedger(Ledger(), "scans"),
            unit=PrivacyUnit(neighbours=neighbours),
        )
        mean.fit(np.ones((4, 3)))
        assert order[0] == "charge"
        assert order.count("charge") == 1
        assert "draw" in order


def test_two_fits_have_noise_of_their_own():
    mean = PrivateMean(1.0, bounds=L2Ball(1.0), basis=BASIS)
    sums = {mean.fit(np.ones((4, 3))).release_.noisy_sum for _ in range(5)}
    assert len(sums) == 5


def test_a_seed_of_numpy_does_not_reach_the_noise():
    mean = PrivateMean(1.0, bounds=L2Ball(1.0), basis=BASIS)
    sums = set()
    for _ in range(3):
        np.random.seed(0)
        sums.add(mean.fit(np.ones((4, 3))).release_.noisy_sum)
    assert len(sums) == 3


def test_the_request_reads_epsilon_as_the_decimal_that_was_written():
    mean = PrivateMean(0.1, 1e-6, bounds=L2Ball(1.0), basis=BASIS, mechanism=Gaussian())
    release = mean.fit(np.ones((4, 3))).release_
    assert release.guarantee == guarantee_for("0.1", "1e-6")
    assert release.guarantee == ApproximateDP(Fraction(1, 10), Fraction(1, 10**6))
