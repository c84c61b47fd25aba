"""K-norm noise in shares: its exact law, its loss, and what a coalition is left with."""

import json
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import scipy.stats

from dpfda import PrivateComparison, PrivateCovariance, PrivateMean, load
from dpfda.errors import ParameterError, RefusedMechanismError, StorageError
from dpfda.noise import shared as laws
from dpfda.noise.bodies import BoxNoise
from dpfda.noise.knorm_shares import SharedBlocksNoise, SharedKNormNoise, in_blocks
from dpfda.noise.shared import SharedSymmetricKNormNoise
from dpfda.noise.symmetric import OuterDifference
from dpfda.numerics.discrete import gamma_gaussians
from dpfda.privacy.guarantees import ApproximateDP, PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from tests.statistical import only_at_its_scale

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, statements
from dpfda.publication.custody import Keys, joined

# A correct law fails once in ten thousand runs; a wrong one has a p-value far below.
ERROR, SEEN = 1e-4, 1e-8
WIDE, POINTS, UNITS, NAMES = 2**60, 30, 10, ("north", "south", "west")
PURE = PureDP(1)


def lengths_of(draws, scales):
    return np.linalg.norm(np.array(draws, dtype=float) / np.array(scales, dtype=float), axis=1)


@pytest.mark.parametrize(("components", "honest"), [(2, 3), (5, 2), (6, 1)])
def test_shares_add_up_to_the_k_norm_law(components, honest):
    """The length of noise of density exp(-|z|) is a gamma variable of as many as coordinates."""
    scales = tuple(WIDE * (k + 1) for k in range(components))
    law = SharedKNormNoise(scales, honest, honest)
    draws = [law.draw() for _ in range(1500)]
    assert only_at_its_scale(lengths_of(draws, scales), scipy.stats.gamma(components).cdf)
    # Directions are even: no coordinate has more of the length than another.
    shares = np.mean((np.array(draws, dtype=float) / scales) ** 2, axis=0)
    assert shares == pytest.approx([components + 1] * components, rel=0.5)


def test_blocks_have_gamma_variables_of_their_own():
    """Lengths of blocks are independent gamma variables, each of as many as its coordinates."""
    scales = tuple(WIDE * (k + 1) for k in range(6))
    law = SharedBlocksNoise(scales, 2, 2, (1, 3, 2))
    draws = np.array([law.draw() for _ in range(1500)], dtype=float) / np.array(scales, dtype=float)
    lengths = np.array([np.linalg.norm(draws[:, block], axis=1) for block in law.blocks])
    for length, size in zip(lengths, (1, 3, 2), strict=True):
        assert only_at_its_scale(length, scipy.stats.gamma(size).cdf)
    assert np.abs(np.corrcoef(lengths) - np.eye(3)).max() < 0.2
    simulated = law.simulate(np.random.default_rng(3), 40_000)
    assert np.var(simulated, axis=0) == pytest.approx(law.variances(), rel=0.1)
    assert law.variances() == pytest.approx(
        [float(s) ** 2 * k for s, k in zip(scales, (2, 4, 4, 4, 3, 3), strict=True)]
    )
    assert law.part(slice(1, 6)) == SharedBlocksNoise(scales[1:], 2, 2, (3, 2))
    with pytest.raises(ParameterError, match="add up to 6"):
        SharedBlocksNoise(scales, 2, 2, (1, 3))


@pytest.mark.parametrize(
    ("norm", "width"), [("l1", 7), ("l2", 7), ("linf", 7), ("box", None), ("ellipsoid", None)]
)
def test_blocks_lose_at_most_what_is_stated_and_no_less_at_the_farthest(norm, width):
    """Second road: many differences on the boundary of the set, and a climb to the farthest."""
    generator, sizes = np.random.default_rng(5), np.array([3, 9, 4, 6, 2])
    moved = sizes if width is None else np.full(5, width)
    scales, blocks = np.array([5, 8, 7, 11, 6]), (2, 1, 2)
    law = SharedBlocksNoise(tuple(WIDE * int(s) for s in scales), 3, 3, blocks)
    many = WIDE * width if width else tuple(WIDE * int(size) for size in sizes)
    stated = float(law.achieved(norm, many, PURE).epsilon)

    def lost(d):
        return sum(np.linalg.norm((d / scales)[..., block], axis=-1) for block in law.blocks)

    def scaled(d):
        if norm in ("linf", "box"):
            return np.sign(d) * moved
        order = 1 if norm == "l1" else 2
        return d / np.linalg.norm(d / moved, ord=order, axis=1, keepdims=True)

    found = np.vstack([np.eye(5), generator.standard_normal((20_000, 5))])
    for spread in (1, 0.3, 0.1, 0.03, 0.01, 0.003):
        best = scaled(found)[np.argsort(lost(scaled(found)))[-20:]]
        found = np.repeat(best, 500, axis=0) * (1 + spread * generator.standard_normal((10_000, 5)))
        found = np.vstack([best, found])
    assert lost(scaled(found)).max() <= stated * (1 + 1e-9)
    assert lost(scaled(found)).max() == pytest.approx(stated, rel=0.01)


def test_parts_get_equal_shares_of_epsilon_whatever_they_move_in():
    parts = [
        (3, "box", (WIDE, 2 * WIDE, 0)),
        (2, "l1", WIDE),
        (4, "l2", 3 * WIDE),
        (2, "ellipsoid", (9, WIDE)),
    ]
    law, norm, sides = in_blocks(parts, PureDP(2))
    assert [block.stop - block.start for block in law.blocks] == [3, 1, 1, 4, 2]
    assert law.achieved(norm, sides, PURE).epsilon == pytest.approx(2, rel=1e-9)
    start = 0
    for count, kind, width in parts:
        own = law.part(slice(start, start + count))
        start += count
        assert own.achieved(kind, width, PURE).epsilon == pytest.approx(0.5, rel=1e-9)
    with pytest.raises(RefusedMechanismError, match="be Gaussian for shares"):
        in_blocks(parts, ApproximateDP(1, "1e-6"))


def test_a_share_alone_is_the_normal_law_at_a_gamma_time_and_no_other():
    shape, count = Fraction(6, 2 * 4), 900
    draws = [gamma_gaussians([Fraction(WIDE**2)] * 5, Fraction(1), shape) for _ in range(count)]
    generator = np.random.default_rng(1)
    squares = (1 + 2 * generator.gamma(float(shape), size=200_000)) * generator.chisquare(5, 200_000)
    found = lengths_of(draws, [WIDE] * 5)
    assert scipy.stats.ks_2samp(found, np.sqrt(squares)).pvalue > ERROR
    for wrong in (2**0.5, 2**-0.5):
        assert scipy.stats.ks_2samp(found * wrong, np.sqrt(squares)).pvalue < SEEN


def test_coarse_integers_have_the_chances_of_the_mixture():
    """Small scales, where every integer is seen: second road by quadrature over the gamma variable."""
    law, places = SharedKNormNoise((6,), 2, 2), np.arange(-300, 301)
    draws = np.array([law.draw()[0] for _ in range(2500)])
    times = np.exp(np.linspace(-20, 4, 1500))
    weights = times * scipy.stats.gamma(0.5).pdf(times)
    normal = np.exp(-(places**2) / (2 * (64 + 72 * times[:, None])))
    one = weights / weights.sum() @ (normal / normal.sum(axis=1, keepdims=True))
    chances = np.convolve(one, one)[300:-300]
    kept = chances * len(draws) >= 10
    found = np.array([np.sum(draws == place) for place in places[kept]])
    expected = chances[kept] * len(draws)
    rest = len(draws) - found.sum(), len(draws) - expected.sum()
    found, expected = np.append(found, rest[0]), np.append(expected, rest[1])
    assert scipy.stats.chi2.sf(np.sum((found - expected) ** 2 / expected), found.size - 1) > ERROR
    # One unit more or less changes no chance by more than the loss that is stated.
    seen = chances > 1e-9
    steps = np.abs(np.diff(np.log(chances[seen])))
    assert 0.13 < steps.max() <= float(law.achieved("l2", 1, PURE).epsilon) * (1 + 1e-6)


@pytest.mark.parametrize("components", [1, 2, 9])
def test_as_many_shares_as_stated_lose_no_more_and_one_less_does(components):
    """The density of the sum of h shares is |x|^v K_v(|x|), v = (h (K + 1) / m - K) / 2."""
    lengths = np.linspace(1e-3, 30, 3000)

    def steepest(honest, drawn):
        order = (drawn * (components + 1) / honest - components) / 2
        log = order * np.log(lengths) + np.log(scipy.special.kve(order, lengths)) - lengths
        return np.max(np.abs(np.diff(log))) / (lengths[1] - lengths[0])

    assert steepest(4, 4) == pytest.approx(1, rel=1e-6)
    assert steepest(4, 5) <= 1 + 1e-9
    assert steepest(4, 3) > 1.4
    law = SharedKNormNoise((WIDE,) * components, 4, 4)
    assert law.achieved("l2", WIDE, PURE).epsilon == pytest.approx(1, rel=1e-12)
    assert law.achieved("l2", WIDE, PURE).epsilon > 1
    for refused in (SharedKNormNoise((WIDE,) * components, 4, 3), law):
        asked = ApproximateDP(1, "1e-6") if refused is law else PURE
        with pytest.raises(RefusedMechanismError):
            refused.achieved("l2", WIDE, asked)


def test_around_a_box_stands_the_ellipsoid_of_least_noise():
    widths = (3 * WIDE, WIDE, 0, 2 * WIDE)
    made = laws.shared(BoxNoise((1, 1, 1, 1)), 2, "box", widths, PURE)
    assert within(made.achieved("box", widths, PURE), PURE)
    corner = sum((width / scale) ** 2 for width, scale in zip(widths, made.scales, strict=True)) ** 0.5
    assert corner == pytest.approx(1, rel=1e-6)
    power = sum(scale**2 for scale in made.scales)
    assert power == pytest.approx((6 * WIDE) ** 2, rel=1e-6)
    ball = sum(width**2 for width in widths) * 4
    assert power < ball


def started(estimator, colluding=1, **more):
    own, lead = [Keys.make(name, units=UNITS) for name in NAMES], Keys.make("registry")
    cards = [each.card for each in own]
    return own, lead, agree(estimator, cards, lead, POINTS, "shared", colluding, **more)


def opened(agreement, own, lead, records, y=None):
    parts = [part(agreement, keys, X, y=y) for keys, X in zip(own, records, strict=True)]
    return np.array(joined(agreement, lead, parts).with_noise([0] * agreement.numbers), dtype=object)


def shared_law(agreement):
    return pooled(estimator_of(agreement), 3 * UNITS).sharing.law(agreement.honest)


def mean(epsilon=1.0):
    return PrivateMean(epsilon, bounds=(0, 1))


@pytest.mark.parametrize("weights", [None, {"north": "1/2"}])
def test_the_farthest_neighbours_of_a_mean_lose_what_is_stated(weights, monkeypatch):
    monkeypatch.setattr(SharedKNormNoise, "share", lambda law: [0] * law.components)
    totals = []
    for value in (0.0, 1.0):
        own, lead, agreement = started(mean(), weights=weights)
        records = [np.zeros((UNITS, POINTS)) for _ in own]
        records[0][0] = value
        totals.append(opened(agreement, own, lead, records))
    told = statements(agreement, "north")
    moved = lengths_of([totals[1] - totals[0]], shared_law_of(agreement).scales)[0]
    assert told[1].epsilon == told[0].epsilon <= 1
    # A corner of the box, whose length is the longest.
    assert moved == pytest.approx(float(told[1].epsilon), rel=1e-9)
    assert moved == pytest.approx(0.5 if weights else 1, rel=1e-3)
    # Against more than agreed nothing is stated.
    assert set(told) == {0, 1}


def shared_law_of(agreement):
    less = sum((1 - weight) * UNITS for weight in agreement.weights.values())
    return pooled(estimator_of(agreement), int(3 * UNITS - less)).sharing.law(agreement.honest)


def test_a_coalition_is_left_with_the_share_of_the_one_custodian_it_lacks(monkeypatch):
    """With two of three colluding, that of the third is K-norm noise of the whole guarantee."""
    known, true, left = [], SharedKNormNoise.share, []

    def kept(law):
        known.append(true(law))
        return known[-1]

    monkeypatch.setattr(SharedKNormNoise, "share", kept)
    for _ in range(120):
        known.clear()
        own, lead, agreement = started(mean(20.0), colluding=2)
        # The middle of the bounds is zero in integers.
        noisy = opened(agreement, own, lead, [np.full((UNITS, POINTS), 0.5)] * 3)
        law = shared_law(agreement)
        left += list(lengths_of([noisy - sum(np.array(z, dtype=object) for z in known[1:])], law.scales))
    assert only_at_its_scale(np.array(left), scipy.stats.gamma(law.components).cdf)


def test_a_mean_is_charged_released_and_read_and_no_file_claims_less(tmp_path):
    own, lead, agreement = started(mean())
    ledger = MemoryLedger()
    ledger.create("own", PURE, unit="record")
    records = np.full((UNITS, POINTS), 0.3)
    parts = [part(agreement, each, records, ledger=ledger.of("own")) for each in own[:1]]
    assert ledger.spent("own").values == (1,)
    release = merge(agreement, parts + [part(agreement, each, records) for each in own[1:]], lead)
    assert release.guarantee == PURE
    assert release.certificate.achieved == statements(agreement)[0]
    law = release.noise
    assert (law.honest, law.drawn) == (2, 3)
    # Three shares where two have the guarantee: half as much again.
    assert law.variances() == pytest.approx(1.5 * (law.components + 1) * law.sizes**2)
    path = release.save(tmp_path / "mean.json")
    assert load(path).noise == law
    written = json.loads(path.read_text())
    halved = [scale // 2 for scale in law.scales]
    for change in ({"scales": halved}, {"honest": 4}, {"drawn": 1}, {"law": "k-norm-box"}):
        path.write_text(json.dumps({**written, "noise": {**written["noise"], **change}}))
        with pytest.raises(StorageError):
            load(path)


def test_a_comparison_has_it_for_each_group():
    own, lead, agreement = started(PrivateComparison(1.0, bounds=(0, 1), levels=["a", "b"]))
    who = np.array(["a", "b"] * (UNITS // 2))
    parts = [part(agreement, each, np.full((UNITS, POINTS), 0.4), y=who) for each in own]
    release = merge(agreement, parts, lead)
    assert isinstance(release["a"].noise, SharedKNormNoise)
    assert release.guarantee == PURE
    assert {name: each.count for name, each in release.means.items()} == {"a": 15, "b": 15}


def covariance():
    center = np.full(POINTS, 0.5)
    return PrivateCovariance(40.0, bounds=(0, 1), center=center, mechanism="knorm")


def test_a_covariance_under_a_pure_epsilon_has_the_law_that_is_stated(tmp_path):
    left = []
    for _ in range(40):
        own, lead, agreement = started(covariance(), colluding=0)
        parts = [part(agreement, each, np.full((UNITS, POINTS), 0.5)) for each in own]
        release = merge(agreement, parts, lead)
        law, (rows, columns) = release.noise, np.tril_indices(release.noise.size)
        entries = np.array(release.noisy_sum, dtype=float) * np.where(rows == columns, 1, 2**0.5)
        left += list(lengths_of([entries], [law.scale] * law.components))
    assert only_at_its_scale(np.array(left), scipy.stats.gamma(law.components).cdf)
    difference = OuterDifference.of(
        law.size, pooled(covariance(), 30, POINTS).plan.ball.radius, release.certificate.neighbours
    )
    told = statements(agreement)[0].epsilon
    assert float(difference.frobenius / law.scale) == pytest.approx(float(told), rel=1e-9)
    assert release.guarantee == PureDP(40)
    simulated = law.simulate(np.random.default_rng(2), 20_000)
    assert np.mean(simulated[:, 0, 0] ** 2) == pytest.approx(law.variances()[0], rel=0.1)
    path = release.save(tmp_path / "covariance.json")
    assert load(path).noise == law
    written = json.loads(path.read_text())
    for change in ({"scale": law.scale // 2}, {"honest": 6}, {"drawn": 1}):
        path.write_text(json.dumps({**written, "noise": {**written["noise"], **change}}))
        with pytest.raises(StorageError):
            load(path)
    with pytest.raises(RefusedMechanismError):
        SharedSymmetricKNormNoise(3, WIDE, 3, 2).achieved(difference, PURE)
