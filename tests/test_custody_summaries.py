"""Vectors, effects, components and tests of equality through custodians: their sums, noise and loss."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.special
from typer.testing import CliRunner

from dpfda import (
    PrivacyUnit,
    PrivateCovariance,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateVectorMean,
    Reading,
    load,
)
from dpfda.errors import CustodyError, ParameterError, RefusedMechanismError, StorageError
from dpfda.front.app import app
from dpfda.mean.comparison.equality_test import publish_test
from dpfda.noise import KNormNoise
from dpfda.noise.knorm_shares import SharedKNormNoise
from dpfda.noise.shared import (
    SharedGaussianNoise,
    SharedSymmetricKNormNoise,
    SharedSymmetricNoise,
)
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, within
from dpfda.testing import exact_totals
from tests.statistical import normal_only_at_its_scale

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled, statements
from dpfda.publication.custody import Agreement, Keys, joined, masked

POINTS, NAMES, SIZES = 16, ("east", "north", "west"), (8, 12, 10)
COVARIATES = {"sex": ["f", "m"], "age": (20, 80)}
BUDGETS = {
    "rho": ({"rho": "0.5"}, ZeroConcentratedDP(Fraction(1, 2))),
    "delta": ({"epsilon": 1, "delta": "1e-6"}, ApproximateDP(1, "1e-6")),
    "pure": ({"epsilon": 1}, PureDP(1)),
}
GENERATOR = np.random.default_rng(11)


def vector(**asked):
    return PrivateVectorMean(bounds=[(0, 1), (-1, 2)], channels=["x", "y"], **asked)


def effects(**asked):
    return PrivateFunctionalRegression(bounds=(0, 1), covariates=COVARIATES, cells=5, **asked)


def curves(size, channels=None):
    shape = (size, POINTS) if channels is None else (size, POINTS, channels)
    return GENERATOR.uniform(-0.2, 1.2, shape)


def explained(size, sex=None, age=None):
    return {
        "sex": GENERATOR.choice(["f", "m"], size) if sex is None else np.repeat(sex, size),
        "age": GENERATOR.uniform(10, 90, size) if age is None else np.full(size, age),
    }


def started(estimator, sizes=SIZES, **rules):
    own = [Keys.make(name, size) for name, size in zip(NAMES, sizes, strict=True)]
    lead = Keys.make("registry")
    return own, lead, agree(estimator, [keys.card for keys in own], lead, POINTS, **rules)


def opened(estimator, held, beside=(None,) * 3, **rules):
    own, lead, agreement = started(estimator, [len(X) for X in held], **rules)
    rows = zip(own, held, beside, strict=True)
    return agreement, joined(agreement, lead, [part(agreement, k, X, y=y) for k, X, y in rows])


def together(beside):
    return {name: np.concatenate([each[name] for each in beside]) for name in beside[0]}


@pytest.mark.parametrize("asked", [{"epsilon": 1}, BUDGETS["rho"][0], BUDGETS["delta"][0]])
def test_channels_have_the_integers_of_one_fit(asked):
    held = [curves(size, 2) for size in SIZES]
    agreement, total = opened(vector(**asked), held)
    whole = vector(**asked).prepare(np.concatenate(held))
    expected = tuple(number for each in whole.total.values() for number in exact_totals(each))
    assert exact_totals(pooled(estimator_of(agreement), sum(SIZES)).measured(total)) == expected
    own, lead, agreement = started(vector(**asked))
    release = merge(agreement, [part(agreement, k, X) for k, X in zip(own, held, strict=True)], lead)
    assert {name: mean.noise for name, mean in release.means.items()} == {
        name: plan.public_design.noise for name, plan in whole.plan.parts.items()
    }


def test_effects_have_the_integers_of_one_fit_and_travel_by_file(tmp_path):
    held, beside = [curves(size) for size in SIZES], [explained(size) for size in SIZES]
    own, lead, agreement = started(effects(epsilon=1))
    agreement = Agreement.load(agreement.save(tmp_path / "agreed.json"))
    rows = zip(own, held, beside, strict=True)
    parts = [part(agreement, k, X, y=z) for k, X, z in rows]
    whole = effects(epsilon=1).prepare(np.concatenate(held), together(beside))
    assert exact_totals(joined(agreement, lead, parts)) == exact_totals(whole.total)
    release = merge(agreement, parts, lead)
    assert (release.public_units, release.noise) == (30, whole.plan.table.law)
    with pytest.raises(CustodyError):
        part(agreement, own[0], held[0], y=beside[0])


def test_components_are_those_of_the_covariance_that_is_merged():
    wave = np.sin(np.linspace(0, 3, POINTS))
    held = [0.5 + GENERATOR.normal(0, 0.15, (2000, 1)) * wave for _ in NAMES]
    for asked, rules in (
        ({"epsilon": 50.0}, {}),
        ({"rho": 50.0, "mechanism": "gaussian"}, {"noise": "shared", "colluding": 1}),
    ):
        estimator = PrivateFPCA(n_components=1, bounds=(0, 1), center="bound", **asked)
        own, lead, agreement = started(estimator, (2000,) * 3, **rules)
        release = merge(agreement, [part(agreement, k, X) for k, X in zip(own, held, strict=True)], lead)
        found = release(release.grid_points)[0]
        assert abs(found @ wave) / np.linalg.norm(found) / np.linalg.norm(wave) > 0.95
        assert release.count == 1
    with pytest.raises(ParameterError, match="a law of noise"):
        started(PrivateFPCA(1.0, bounds=(0, 1), center="bound", mechanism="exponential"))


def equality(**asked):
    return PrivateEqualityTest(bounds=(0, 1), levels=["a", "b"], **{"epsilon": 1, **asked})


def test_a_test_of_equality_has_the_statistic_of_one_fit(monkeypatch):
    held = [curves(size) for size in SIZES]
    groups = [np.array(["a", "b"] * (size // 2)) for size in SIZES]
    own, lead, agreement = started(equality())
    parts = [part(agreement, k, X, y=y) for k, X, y in zip(own, held, groups, strict=True)]
    monkeypatch.setattr(KNormNoise, "draw", lambda law: [0] * law.components)
    merged = merge(agreement, parts, lead)
    sums = equality().prepare(np.concatenate(held), np.concatenate(groups))
    assert merged.shares.noisy == publish_test(*sums).shares.noisy
    assert merged.shares.noisy != (0,)
    with pytest.raises(ParameterError, match="drawn by the coordinator for a test"):
        started(equality(), noise="shared")


def test_what_a_liar_adds_moves_no_statistic_by_more_than_a_unit(monkeypatch):
    """It takes the total to every turn of the fold, while one honest unit goes from bound to bound."""
    monkeypatch.setattr(KNormNoise, "draw", lambda law: [0] * law.components)
    groups, moves = [np.array(["a", "b"] * (size // 2)) for size in SIZES], []
    for reach in (0, 1, 2, 3, 64):
        found = []
        for value in (0.0, 1.0):
            own, lead, agreement = started(equality())
            # The first group is at the middle of the bounds, whose integers are zero, but for one unit.
            held = [np.where(own == "a", 0.5, 0.0)[:, None] * np.ones(POINTS) for own in groups]
            held[0][0] = value
            parts = [part(agreement, own[i], held[i], y=groups[i]) for i in (0, 1)]
            honest = pooled(estimator_of(agreement), 30).total(held[2], y=groups[2])
            at = {0: 0, 64: agreement.modulus >> 65}.get(reach, reach * agreement.modulus // 4)
            # The first group's sums; their numbers of units stay.
            shift = [at] * (agreement.numbers // 2 - 1) + [0] * (agreement.numbers // 2 + 1)
            lie = IntegerSum(agreement.numbers).add_totals(
                [a + b for a, b in zip(exact_totals(honest), shift, strict=True)], 10
            )
            parts.append(masked(agreement, own[2], lie))
            found.append(merge(agreement, parts, lead).shares.noisy[0])
        moves.append(abs(found[1] - found[0]))
    assert max(moves) <= 2**20
    assert moves[0] == pytest.approx(2**20, rel=0.01)


def test_totals_of_masked_parts_are_folded_without_a_jump():
    modulus = 2**70
    half, turns = modulus // 2, [0, 1, 2**69 >> 64, modulus // 4, modulus // 2]

    def folded(total):
        return IntegerSum.one_number(
            [IntegerSum.modulo([total % modulus], 1, modulus)], lambda sums: sums[0][0]
        ).with_noise([0])[0]

    assert [folded(total) for total in (-32, -7, 0, 7, 32)] == [-32, -7, 0, 7, 32]
    places = [turn + sign * step for turn in turns for sign in (-1, 1) for step in range(40)]
    for place in places:
        for moved in (1, 5, 33):
            assert abs(folded(place + moved) - folded(place)) <= moved
            assert abs(folded(-place - moved) - folded(-place)) <= moved
    assert abs(folded(half - 20)) == 20


def shared_parts(summary, kind, held, beside=(None,) * 3, colluding=1):
    law = {"mechanism": "gaussian"} if summary is vector else {"noise": "gaussian"}
    asked = BUDGETS[kind][0] | ({} if kind == "pure" else law)
    return opened(summary(**asked), held, beside, noise="shared", colluding=colluding)


def law_of(agreement):
    return pooled(estimator_of(agreement), 30).sharing.law(agreement.honest)


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("summary", [vector, effects])
def test_the_farthest_neighbours_lose_what_is_stated(summary, kind, monkeypatch):
    """In every number, and no less by the root of two: one unit goes from bound to bound."""
    for noise in (SharedGaussianNoise, SharedKNormNoise):
        monkeypatch.setattr(noise, "share", lambda law: [0] * law.components)
    totals = []
    for low in (True, False):
        beside = (None,) * 3 if summary is vector else [explained(n, "f", 20.0) for n in SIZES]
        held = [np.full((n, POINTS, 2) if summary is vector else (n, POINTS), 0.3) for n in SIZES]
        held[0][0] = ([0.0, -1.0] if low else [1.0, 2.0]) if summary is vector else float(not low)
        if summary is effects and not low:
            beside[0]["sex"][0] = "f"
        agreement, total = shared_parts(summary, kind, held, beside)
        totals.append(np.array(exact_totals(total), dtype=object))
    law, told = law_of(agreement), statements(agreement)
    moved = [int(d) / s for d, s in zip(totals[1] - totals[0], law.scales, strict=True)]
    rho = sum(each**2 for each in moved) / 2
    assert within(told[1], BUDGETS[kind][1])
    assert kind == "pure" or not within(told[2], BUDGETS[kind][1])
    if kind == "pure":
        assert [*told] == [0, 1]
        # Blocks lose one after another; of the other rows of a table nothing moves.
        lost = sum(np.linalg.norm(moved[block]) for block in law.blocks)
        most = float(told[1].epsilon) * (1 if summary is vector else (5 / 7) ** 0.5)
        assert lost == pytest.approx(most, rel=1e-3)
    elif kind == "rho" and summary is vector:
        # Coefficients of constant curves: the longest in the ball of each channel.
        assert rho == pytest.approx(float(told[1].rho), rel=0.02)
    elif kind == "rho":
        # Of a row, the number of units does not move, nor does the number about age: five of seven do.
        assert rho == pytest.approx(float(told[1].rho) * 5 / 7, rel=0.001)


def test_two_corners_move_by_no_more_than_one():
    """A unit that goes from a corner to the other moves two rows by half each way, of all numbers."""
    beside = [[explained(n, "f", 20.0) for n in SIZES] for _ in range(2)]
    beside[1][0]["sex"][0] = "m"
    totals = []
    for z in beside:
        _, total = opened(effects(epsilon=1), [np.ones((n, POINTS)) for n in SIZES], z)
        totals.append(np.array(exact_totals(total), dtype=object))
    rows = (totals[1] - totals[0]).reshape(4, -1).astype(float)
    assert np.abs(rows).max(axis=1).sum() == 2 * 2.0**46
    width = 2 * 2.0**46
    assert (rows**2).sum() <= rows.shape[1] * width**2 / 2


@pytest.mark.parametrize("summary", [vector, effects])
def test_pure_shares_are_blocks_of_their_law_and_are_saved(summary, tmp_path):
    logs, errors = [], []
    for _ in range(30):
        beside = (None,) * 3 if summary is vector else [explained(n, "f", 20.0) for n in SIZES]
        held = [np.full((n, POINTS, 2) if summary is vector else (n, POINTS), 0.5) for n in SIZES]
        agreement, total = opened(summary(epsilon=200), held, beside, noise="shared")
        made, law = pooled(estimator_of(agreement), 30), law_of(agreement)
        exact = made.measured(
            made.total(np.concatenate(held), y=None if summary is vector else together(beside))
        )
        noise = np.array(exact_totals(total), dtype=object) - np.array(exact_totals(exact), dtype=object)
        found = np.array([int(z) / s for z, s in zip(noise, law.scales, strict=True)])
        # The length of a block is a gamma variable of as many as coordinates.
        lengths = np.array([np.linalg.norm(found[block]) for block in law.blocks])
        sizes = np.array([block.stop - block.start for block in law.blocks])
        logs += [*(np.log(lengths) - scipy.special.digamma(sizes))]
        errors += [*scipy.special.polygamma(1, sizes)]
    assert len(set(logs)) == len(law.blocks) * 30
    # A scale that is wrong by the root of two is twice as far off.
    assert np.sqrt(np.sum(errors)) / len(errors) < np.log(2) / 4 / 4
    assert abs(np.mean(logs)) < np.log(2) / 4
    release = made.publish_shared(total, law, 30, None)
    assert release.certificate.guarantee == PureDP(200)
    assert 200 - 1e-4 < release.certificate.achieved.epsilon <= 200
    path = release.save(tmp_path / "release.json")
    assert load(path).certificate.achieved == release.certificate.achieved
    written = path.read_text()
    # A file that claims shares of less noise, or more of them to keep the guarantee, is refused.
    for old, new in (('"drawn": 3', '"drawn": 2'), ('"honest": 3', '"honest": 4')):
        path.write_text(written.replace(old, new))
        with pytest.raises(StorageError):
            load(path)


@pytest.mark.parametrize("summary", [vector, effects])
def test_shares_have_the_noise_of_their_law_and_are_saved(summary, tmp_path):
    left = []
    for _ in range(8 if summary is vector else 16):
        beside = (None,) * 3 if summary is vector else [explained(n, "f", 20.0) for n in SIZES]
        held = [
            np.full((n, POINTS, 2), 0.5) if summary is vector else np.full((n, POINTS), 0.5)
            for n in SIZES
        ]
        agreement, total = shared_parts(summary, "rho", held, beside)
        made = pooled(estimator_of(agreement), 30)
        exact = made.measured(
            made.total(np.concatenate(held), y=None if summary is vector else together(beside))
        )
        noise = np.array(exact_totals(total), dtype=object) - np.array(exact_totals(exact), dtype=object)
        left += [float(z) / s for z, s in zip(noise, law_of(agreement).scales, strict=True)]
    assert normal_only_at_its_scale(np.array(left) / 1.5**0.5)
    release = made.publish_shared(total, law_of(agreement), 30, None)
    assert within(release.certificate.achieved, BUDGETS["rho"][1])
    again = load(release.save(tmp_path / "release.json"))
    assert again.certificate.achieved == release.certificate.achieved


def test_a_covariance_is_divided_by_a_public_number_where_units_are_private():
    unit = PrivacyUnit("person", "add-remove", 30)
    for noise in ("central", "shared"):
        own, lead = [Keys.make(name) for name in NAMES], Keys.make("registry")
        estimator = PrivateCovariance(
            rho="0.5", bounds=(0, 1), center="bound", mechanism="gaussian", unit=unit
        )
        agreement = agree(estimator, [keys.card for keys in own], lead, POINTS, noise)
        parts = [part(agreement, k, curves(n)) for k, n in zip(own, SIZES, strict=True)]
        release = merge(agreement, parts, lead)
        assert release.count == 30
        # One unit comes or goes with all of its products, whose length is the square of its own.
        square = pooled(estimator, 30, POINTS).plan.ball.radius ** 2
        assert release.noise.scale == pytest.approx(square, rel=1e-6)
        assert 0.499 < release.certificate.achieved.rho <= 0.5


def test_channels_are_divided_by_a_public_number_where_units_are_private():
    unit = PrivacyUnit("person", "add-remove", 30)
    for rules in ({}, {"noise": "shared", "colluding": 1}):
        own, lead = [Keys.make(name) for name in NAMES], Keys.make("registry")
        estimator = vector(rho=1, mechanism="gaussian", unit=unit)
        agreement = agree(estimator, [keys.card for keys in own], lead, POINTS, **rules)
        parts = [part(agreement, k, curves(n, 2)) for k, n in zip(own, SIZES, strict=True)]
        assert merge(agreement, parts, lead)["y"].count == 30


def test_a_law_with_shares_is_agreed_on_where_auto_takes_one_without():
    delta = {"epsilon": 1, "delta": "1e-6"}
    around = {"bounds": (0, 1), "center": "bound"}
    for estimator, asked, law in (
        (vector(**delta), PureDP(1), SharedKNormNoise),
        (PrivateCovariance(1, **around), PureDP(1), SharedSymmetricKNormNoise),
        (PrivateCovariance(**delta, **around), ApproximateDP(1, "1e-6"), SharedSymmetricNoise),
    ):
        *_, agreement = started(estimator, noise="shared")
        assert estimator_of(agreement).asked() == asked
        assert isinstance(law_of(agreement), law)
    assert estimator.mechanism == "auto"
    # What was asked for by name is refused.
    for estimator in (vector(mechanism="laplace", rho=1), effects(noise="box", rho=1)):
        with pytest.raises(RefusedMechanismError, match="be Gaussian for shares"):
            started(estimator, noise="shared")


def test_effects_count_no_private_units():
    private = effects(rho=1, noise="gaussian", unit=PrivacyUnit("person", "add-remove", 30))
    for rules in ({}, {"noise": "shared", "colluding": 1}):
        own, lead = [Keys.make(name) for name in NAMES], Keys.make("registry")
        agreement = agree(private, [keys.card for keys in own], lead, POINTS, **rules)
        rows = zip(own, SIZES, strict=True)
        parts = [part(agreement, k, curves(n), y=explained(n)) for k, n in rows]
        release = merge(agreement, parts, lead)
        assert release.public_units is None
    assert release.certificate.achieved == statements(agreement)[0]


WAYS = {
    "survival": ("--epsilon 1 --domain 0 100 --cause 2 --censored 1", "--time end --event how"),
    "fpca": (
        "--rho 1 --noise shared --custodian-weights north:1/2 --bounds 0 1 --center bound --points 4",
        "",
    ),
    "test": ("--epsilon 1 --bounds 0 1 --points 4 --by sex:f,m", "--by sex"),
    "effects": (
        "--epsilon 1 --noise shared --visits south:2 --bounds 0 1 --points 4 --covariate sex:f,m",
        "",
    ),
}


@pytest.mark.parametrize("verb", WAYS)
def test_the_command_goes_all_the_way(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked, said = (each.split() for each in WAYS[verb])

    def run(*arguments):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output

    run("keys", "registry")
    for name in ("north", "south"):
        run("keys", name, "--units", "8")
        rows = [f"{name}{i},{i * 9},{1 + i % 2},{'fm'[i // 4]},{20 + i},.1,.4,.{i},.3" for i in range(8)]
        text = "\n".join(["ID,end,how,sex,age,v1,v2,v3,v4", *rows]) + "\n"
        (tmp_path / f"{name}.csv").write_text(text)
    cards = ("north.card", "south.card", "--keys", "registry.keys", "--unit", "person")
    run("agree", verb, *cards, *asked, "--out", "agreed.json")
    fingerprint = Agreement.load("agreed.json").fingerprint
    said += [] if verb == "survival" else ["--columns", "v*"]
    for name in ("north", "south"):
        own = ("--keys", f"{name}.keys", "--fingerprint", fingerprint, "--out", f"{name}.part")
        asked = ("part", f"{name}.csv", "--agreement", "agreed.json", "--groups", "ID", *own)
        if verb == "survival":
            two = CliRunner().invoke(app, [*asked, *said, "--time", "end,age"])
            assert two.exit_code != 0
            assert "end,age" in two.output
            assert not (tmp_path / f"{name}.part").exists()
        run(*asked, *said)
    merging = ("--agreement", "agreed.json", "--keys", "registry.keys", "--out", "release.json")
    run("merge", "north.part", "south.part", *merging)
    assert load("release.json").unit == "person"


@pytest.mark.parametrize("made", [vector, effects])
@pytest.mark.parametrize("other", [Reading(missing="complete"), Reading(invalid="repair")])
def test_holders_who_read_records_in_other_ways_do_not_add_up(made, other):
    assert pooled(made(epsilon=1), 30).digest == pooled(made(epsilon=1, reading=Reading()), 30).digest
    assert pooled(made(epsilon=1), 30).digest != pooled(made(epsilon=1, reading=other), 30).digest
