"""Noise in shares: its exact laws, what is proved of them, and what a coalition is left with."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from typer.testing import CliRunner

from dpfda import PrivacyUnit, PrivateCovariance, PrivateDensity, PrivateMean, load
from dpfda.errors import (
    BudgetError,
    CustodyError,
    ParameterError,
    RefusedMechanismError,
    StorageError,
)
from dpfda.front.app import app
from dpfda.noise import shared as laws
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise
from dpfda.numerics.discrete import discrete_gaussians, polyas
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from tests.statistical import normal_only_at_its_scale

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, merge, part, statements, words
from dpfda.publication.custody import Agreement, Keys, joined, keys

REACH = 400
PLACES = np.arange(-REACH, REACH + 1)
# A correct law fails once in ten thousand runs; a wrong one has a p-value far below.
ERROR, SEEN = 1e-4, 1e-8


def gaussian_law(variance):
    weights = np.exp(-(PLACES**2) / (2 * variance))
    return weights / weights.sum()


def polya_law(scale, shape):
    numbers = scipy.stats.nbinom(shape, 1 - np.exp(-1 / scale)).pmf(np.arange(2 * REACH + 1))
    full = scipy.signal.fftconvolve(numbers, numbers[::-1])
    middle = full[full.size // 2 - REACH : full.size // 2 + REACH + 1]
    return np.maximum(middle, 0) / middle.sum()


def p_value(draws, law):
    """Of a chi-square test on single integers where ten are expected, and both tails."""
    kept = law * len(draws) >= 10
    found = np.array([np.sum(draws == place) for place in PLACES[kept]], dtype=float)
    expected = law[kept] * len(draws)
    found = np.append(found, len(draws) - found.sum())
    expected = np.append(expected, len(draws) - expected.sum())
    # What is left over may be too little to tell.
    keep = expected > 5
    return scipy.stats.chi2.sf(np.sum((found - expected)[keep] ** 2 / expected[keep]), keep.sum() - 1)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(7, 3), Fraction(40)])
def test_discrete_gaussians_have_their_law_and_no_other(variance):
    draws = np.array(discrete_gaussians([variance] * 6000))
    assert p_value(draws, gaussian_law(float(variance))) > ERROR
    for wrong in (2, 0.5):
        assert p_value(draws, gaussian_law(float(variance) * wrong)) < SEEN


@pytest.mark.parametrize(("scale", "parts"), [(1, 2), (3, 3), (8, 5)])
def test_polya_shares_have_their_law_and_add_up_to_discrete_laplace_noise(scale, parts):
    draws = np.array(polyas([scale] * 3000 * parts, parts))
    assert p_value(draws, polya_law(scale, 1 / parts)) > ERROR
    for wrong in (polya_law(scale, 2 / parts), polya_law(scale, 0.5 / parts)):
        assert p_value(draws, wrong) < SEEN
    sums = draws.reshape(-1, parts).sum(axis=1)
    laplace = np.exp(-np.abs(PLACES) / scale)
    assert p_value(sums, laplace / laplace.sum()) > ERROR
    for wrong in (2**0.5, 0.5**0.5):
        off = np.exp(-np.abs(PLACES) / (scale * wrong))
        assert p_value(sums, off / off.sum()) < SEEN


def test_shares_of_scales_beyond_floats_integers_keep_their_variance():
    scale = 2**70
    normal = [draw / (scale / 3**0.5) for draw in SharedGaussianNoise((scale,) * 3000, 3, 3).share()]
    assert normal_only_at_its_scale(normal)
    sums = np.array(SharedLaplaceNoise((scale,) * 1200, 2, 2).draw(), dtype=float) / scale
    assert scipy.stats.kstest(sums, scipy.stats.laplace.cdf).pvalue > ERROR
    # The sum of sizes has a gamma law; scales off by a root of two are ten of its deviations away.
    total, law = np.abs(sums).sum(), scipy.stats.gamma(1200)
    assert 2 * min(law.cdf(total), law.sf(total)) > ERROR
    assert law.cdf(total / 2**0.5) < SEEN > law.sf(total * 2**0.5)


def summed(law):
    """Probabilities of one coordinate of all shares, by convolution."""
    one = gaussian_law(law.scales[0] ** 2 / law.honest)
    total = one
    for _ in range(law.drawn - 1):
        total = np.convolve(total, one)[REACH:-REACH]
    return total


@pytest.mark.parametrize(("scale", "honest", "drawn"), [(3, 3, 3), (4, 3, 2), (5, 2, 4)])
def test_what_is_promised_of_gaussian_shares_holds_of_their_sums_and_not_of_less_noise(
    scale, honest, drawn
):
    """One coordinate, second road: the convolved probabilities themselves."""
    law = SharedGaussianNoise((scale,), honest, drawn)
    width = 2
    chances = summed(law)
    here, there = chances[width:], chances[:-width]
    sure = (here > 1e-200) & (there > 1e-200)
    rho = law.achieved("l2", width, ZeroConcentratedDP(1)).rho
    losses = np.log(here[sure] / there[sure])
    for order in (1.5, 2, 8):
        divergence = np.log(np.sum(here[sure] * np.exp((order - 1) * losses))) / (order - 1)
        assert divergence <= order * float(rho) * (1 + 1e-9)
        assert divergence > order * float(rho) / 1.5
    far = SharedGaussianNoise((scale * 2**20,), honest, drawn)
    epsilon = Fraction(1, 2)
    # On a fine grid, where the gap is small, the promise is that of a normal variable of this length.
    promised = far.achieved("l2", width * 2**20, ApproximateDP(epsilon, Fraction(1, 10))).delta
    exact = np.maximum(here - np.exp(float(epsilon)) * there, 0).sum()
    assert float(promised) == pytest.approx(exact, rel=0.1)
    near = SharedGaussianNoise((scale * 8,), honest, drawn)
    assert near.achieved("l2", width * 8, ApproximateDP(epsilon, Fraction(1, 10))).delta > promised


def test_the_gap_to_one_discrete_gaussian_is_covered():
    """Where shares are as coarse as is allowed the ratio is seen; the bound is above it, not far."""
    law = SharedGaussianNoise((2,), 4, 4)
    near = np.abs(PLACES) < 20
    ratio = np.max(np.abs(np.log(summed(law)[near] / gaussian_law(4)[near])))
    # The first two of the four differ most: v is half a share's variance for them, and more later.
    bound = 5 * 3 * np.exp(-(np.pi**2))
    assert 1e-6 < ratio <= bound
    assert law.achieved("l2", 1, ZeroConcentratedDP(1)).rho >= Fraction(1, 8)
    with pytest.raises(RefusedMechanismError):
        replace(law, honest=5).achieved("l2", 1, ZeroConcentratedDP(1))


@pytest.mark.parametrize("honest", [1, 2, 5])
def test_polya_shares_lose_what_laplace_noise_loses_and_nothing_is_said_of_fewer(honest):
    law = SharedLaplaceNoise((4, 8), honest, honest)
    assert law.achieved("l1", 4, PureDP(1)) == PureDP(1)
    assert law.achieved("box", (2, 4), PureDP(1)) == PureDP(1)
    more = polya_law(4, 1.5)
    assert np.max(np.abs(np.diff(np.log(more[REACH - 60 : REACH + 61])))) <= 1 / 4 + 1e-9
    fewer = polya_law(4, 0.5)
    assert np.max(np.abs(np.diff(np.log(fewer[REACH - 60 : REACH + 61])))) > 1 / 4 * 1.2
    with pytest.raises(RefusedMechanismError):
        replace(law, honest=honest + 1).achieved("l1", 4, PureDP(1))
    with pytest.raises(RefusedMechanismError):
        law.achieved("l1", 4, ZeroConcentratedDP(1))


POINTS, NAMES = 30, ("north", "south", "west")
KINDS = {
    "rho": ({"rho": "0.5", "mechanism": "gaussian"}, ZeroConcentratedDP(Fraction(1, 2))),
    "delta": ({"epsilon": 1, "delta": "1e-6", "mechanism": "gaussian"}, ApproximateDP(1, "1e-6")),
    "pure": ({"epsilon": 1, "mechanism": "laplace"}, PureDP(1)),
}


def started(asked, colluding=0):
    own, lead = [Keys.make(name, units=10) for name in NAMES], Keys.make("registry")
    mean = PrivateMean(bounds=(0, 1), **asked)
    cards = [each.card for each in own]
    return own, lead, agree(mean, cards, lead, POINTS, noise="shared", colluding=colluding)


def made_of(own, agreement):
    return [part(agreement, each, np.full((10, POINTS), 0.3)) for each in own]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("colluding", [0, 1, 2])
def test_both_statements_hold_and_noise_costs_no_more_than_a_coordinators(kind, colluding, tmp_path):
    asked, guarantee = KINDS[kind]
    own, lead, agreement = started(asked, colluding)
    told = statements(agreement)
    assert within(told[0], guarantee)
    assert within(told[colluding], guarantee)
    assert kind != "pure" or max(told) == colluding
    # Against one more than agreed there is less.
    assert kind == "pure" or colluding == 2 or not within(told[colluding + 1], guarantee)
    release = merge(agreement, made_of(own, agreement), lead)
    central = PrivateMean(bounds=(0, 1), **asked).plan(30, columns=POINTS).public_design.noise
    ratio = release.noise.variances() / central.variances()
    assert ratio == pytest.approx(3 / (3 - colluding), rel=1e-3)
    assert release.certificate.guarantee == guarantee
    assert release.certificate.achieved == told[0]
    release.save(tmp_path / "mean.json")
    assert load(tmp_path / "mean.json").noise == release.noise


CELLS = 1500
DENSITIES = {
    "pure": ({"epsilon": 1}, PureDP(1), 2),
    "rho": ({"rho": "0.5", "noise": "gaussian"}, ZeroConcentratedDP(Fraction(1, 2)), 2**0.5),
}


@pytest.mark.parametrize("unit", [None, PrivacyUnit("person", "add-remove", 30)])
@pytest.mark.parametrize("kind", DENSITIES)
def test_a_density_has_its_noise_in_shares_too(kind, unit, tmp_path):
    """All in one cell: replacing one moves two counts by one, adding one moves one."""
    asked, guarantee, moved = DENSITIES[kind]
    moved = moved if unit is None else 1
    own = [Keys.make(name, None if unit else 10) for name in NAMES]
    lead, more = Keys.make("registry"), {} if unit is None else {"unit": unit}
    density = PrivateDensity(domain=[(0, 1)], cells=CELLS, **asked, **more)
    agreement = agree(density, [each.card for each in own], lead, noise="shared", colluding=1)
    told = statements(agreement)
    assert within(told[1], guarantee)
    assert not within(told[2], guarantee) if 2 in told else kind == "pure"
    parts = [part(agreement, each, np.full((10, 1), 0.5)) for each in own]
    total = joined(agreement, lead, parts)
    # The number of units is not in it, where it is private.
    assert total.count_with_noise(0, 1) == (30 if unit is None else 0)
    release = merge(agreement, parts, lead)
    left = np.array(total.with_noise([0] * CELLS), dtype=float) * 2.0**-20
    left[np.argmax(left)] -= 30
    # Three shares, of which two keep the guarantee. Fails once in 1e6 runs each way, and is wrong by the
    # root of two as surely refused.
    sizes = np.sum(left**2) * 2 / 3
    if kind == "pure":
        expected, spread = 2 * moved**2, 5**0.5
    else:
        expected, spread = moved**2, 2**0.5
    assert abs(sizes / CELLS / expected - 1) < 5.5 * spread * CELLS**-0.5 < 0.35
    assert release.certificate.guarantee == guarantee
    assert (release.raw.noise.honest, release.raw.noise.drawn) == (2, 3)
    release.save(tmp_path / "density.json")
    again = load(tmp_path / "density.json")
    assert again.raw.noise == release.raw.noise
    assert again(np.array([[0.5]])) == release(np.array([[0.5]]))


def laplace_only_at_its_scale(left, honest):
    """Whether numbers have the law of a share of Laplace noise of scale one, and of no other scale.

    At scales far above one a share is the difference of two gamma variables of shape 1 / honest; of one
    honest party it is a Laplace variable.
    """
    generator = np.random.default_rng(20261127)
    law = np.subtract(*generator.gamma(1 / honest, size=(2, 400_000)))
    if scipy.stats.ks_2samp(left, law).pvalue < ERROR:
        return False
    # Sizes are told apart by their mean.
    sizes, mean, error = np.abs(left), np.abs(law).mean(), np.abs(law).std() / len(left) ** 0.5
    off = [abs(sizes.mean() * factor - mean) / (factor * error) for factor in (1, 2**0.5, 2**-0.5)]
    return off[0] < 4.5 < min(off[1:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("honest", [1, 3])
def test_a_coalition_that_knows_all_but_one_custodian_is_left_with_its_share(kind, honest, monkeypatch):
    """Coordinator and two of three: they know their sums and shares, and open the total."""
    drawn = laws.SharedLaplaceNoise if kind == "pure" else laws.SharedGaussianNoise
    known, true = [], drawn.share

    def kept(law):
        # The others of the coalition may share whatever they like.
        known.append((law, [7] * law.components if known else true(law)))
        return known[-1][1]

    monkeypatch.setattr(drawn, "share", kept)
    left = []
    for _ in range({"pure": 15 + 15 * honest}.get(kind, 20)):
        known.clear()
        own, lead, agreement = started(KINDS[kind][0], 3 - honest)
        total = joined(agreement, lead, made_of(own, agreement))
        law, others = known[0][0], [share for _, share in known[1:]]
        # All three have the same records, so that the exact total is known here, and only here.
        noisy = np.array(total.with_noise([0] * law.components), dtype=object)
        exact = noisy - sum(np.array(share, dtype=object) for _, share in known)
        rest = noisy - exact - sum(np.array(share, dtype=object) for share in others)
        one = 1 if kind == "pure" else honest**-0.5
        left += [float(value) / (scale * one) for value, scale in zip(rest, law.scales, strict=True)]
        assert not np.any(exact % 3)
    held = laplace_only_at_its_scale(left, honest) if kind == "pure" else normal_only_at_its_scale(left)
    assert held


def test_every_custodian_charges_before_it_draws(monkeypatch):
    own, _, agreement = started(KINDS["rho"][0])
    records, ledger = np.full((10, POINTS), 0.3), MemoryLedger()
    ledger.create("poor", ZeroConcentratedDP(Fraction(1, 4)), unit="record")
    ledger.create("rich", ZeroConcentratedDP(Fraction(1)), unit="record")
    true = laws.SharedGaussianNoise.share

    def late(law):
        assert ledger.spent("rich").values == (Fraction(1, 2),)
        return true(law)

    monkeypatch.setattr(laws.SharedGaussianNoise, "share", late)
    with pytest.raises(BudgetError):
        part(agreement, own[0], records, ledger=ledger.of("poor"))
    part(agreement, own[0], records, ledger=ledger.of("rich"))
    with pytest.raises(CustodyError, match="were used"):
        part(agreement, own[0], records, ledger=ledger.of("rich"))
    assert ledger.spent("rich").values == (Fraction(1, 2),)
    central = agree(PrivateMean(1.0, bounds=(0, 1)), agreement.custodians, Keys.make("lead"), POINTS)
    with pytest.raises(ParameterError, match="ledger must be the coordinator's"):
        part(central, own[1], records, ledger=ledger.of("rich"))


def test_what_cannot_be_shared_is_refused():
    own, lead, _ = started(KINDS["rho"][0])
    cards = [each.card for each in own]
    # Shares of K-norm noise are for a pure epsilon.
    knorm = PrivateMean(rho=1, bounds=(0, 1), mechanism="knorm")
    with pytest.raises(RefusedMechanismError, match="can be drawn in shares"):
        agree(knorm, cards, lead, POINTS, noise="shared")
    covariance = PrivateCovariance(1.0, bounds=(0, 1), center=np.zeros(POINTS), mechanism="wishart")
    with pytest.raises(RefusedMechanismError, match="can be drawn in shares"):
        agree(covariance, cards, lead, POINTS, noise="shared")
    mean = PrivateMean(rho=1, bounds=(0, 1), mechanism="gaussian")
    for noise, colluding in (("central", 1), ("shared", 3), ("shared", -1), ("shared", True)):
        with pytest.raises(ParameterError, match="colluding must be a whole number from 0 to"):
            agree(mean, cards, lead, POINTS, noise=noise, colluding=colluding)
    with pytest.raises(ParameterError, match="noise must be 'central' or 'shared'"):
        agree(mean, cards, lead, POINTS, noise="none")
    unit = PrivacyUnit("person", "add-remove")
    private = PrivateMean(rho=1, bounds=(0, 1), mechanism="gaussian", unit=unit)
    cards = [Keys.make(name).card for name in NAMES]
    with pytest.raises(ParameterError, match="by the coordinator where the number of units is private"):
        agree(private, cards, lead, POINTS, noise="shared")
    central = agree(mean, [each.card for each in own], lead, POINTS)
    with pytest.raises(CustodyError, match="noise of the agreement must be shared"):
        statements(central)


def test_an_agreement_on_shares_is_signed_and_no_older_program_reads_it(tmp_path):
    own, lead, agreement = started(KINDS["pure"][0], 1)
    path = agreement.save(tmp_path / "agreed.json")
    again = Agreement.load(path)
    assert (again.digest, again.noise, again.colluding) == (agreement.digest, "shared", 1)
    with pytest.raises(StorageError, match="version 1"):
        keys.opened(path, Agreement.FORMAT)
    written = json.loads(path.read_text())
    for changed in ({"noise": "central"}, {"colluding": 2}, {"version": 1}):
        path.write_text(json.dumps({**written, **changed}))
        with pytest.raises(CustodyError, match="must be as it was signed"):
            Agreement.load(path)
    mean = PrivateMean(rho=1, bounds=(0, 1), mechanism="gaussian")
    assert "noise" not in agree(mean, [each.card for each in own], lead, POINTS).content


def test_shares_by_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.stdout

    for name in NAMES:
        run("keys", name, "--units", 10)
        header = ",".join(map(str, range(POINTS)))
        np.savetxt(f"{name}.csv", np.full((10, POINTS), 0.3), delimiter=",", header=header, comments="")
        run("ledger", "create", f"{name}.db", "--dataset", "own", "--rho", 1, "--unit", "record")
    run("keys", "registry")
    cards = [f"{name}.card" for name in NAMES]
    told = run(
        "agree", "mean", *cards, "--keys", "registry.keys", "--rho", "0.5", "--bounds", 0, 1,
        "--mechanism", "gaussian", "--grid", f"0:{POINTS - 1}:1", "--noise", "shared",
        "--colluding", 1, "--out", "agreed.json",
    )  # fmt: skip
    agreement = Agreement.load("agreed.json")
    assert "to readers:                    0.333333" in told
    assert "to registry with 2 of 3:       0.999999" in told
    assert words(agreement) in told
    for name in NAMES:
        run(
            "part", f"{name}.csv", "--agreement", "agreed.json", "--keys", f"{name}.keys",
            "--fingerprint", agreement.fingerprint, "--ledger", f"{name}.db", "--dataset", "own",
            "--out", f"{name}.part",
        )  # fmt: skip
        assert "0.5" in run("ledger", "show", f"{name}.db", "--dataset", "own")
    parts = [f"{name}.part" for name in NAMES]
    run("merge", *parts, "--agreement", "agreed.json", "--keys", "registry.keys", "--out", "fa.json")
    assert load("fa.json").noise.law == "shared-gaussian"


def test_a_public_key_that_gives_no_secret_is_refused_before_the_charge():
    own, lead, agreement = started(KINDS["rho"][0])
    ledger = MemoryLedger().create("own", ZeroConcentratedDP(Fraction(1)), unit="record")
    # A point of small order: whatever the other key, the secret is zero.
    broken = replace(lead.card, exchange=bytes(32))
    forged = replace(agreement, coordinator=broken).signed(lead)
    with pytest.raises(CustodyError, match="public key of registry cannot be used"):
        part(forged, own[0], np.full((10, POINTS), 0.3), ledger=ledger.of("own"))
    assert ledger.spent("own").values == (0,)
