"""Attacks on densities with atoms and on radii chosen with noise to one side."""

import json
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from dpfda import Domain, PrivacyUnit, PrivateDensity, PrivateReferenceBand, load
from dpfda.density.atoms_release import ReleasedDensityWithAtoms
from dpfda.errors import ParameterError, StorageError
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise
from dpfda.noise.shares import UNIT
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records.weights import Weights
from dpfda.reference.plan import SHARE, LastHeld
from dpfda.testing import exact_totals

GENERATOR = np.random.default_rng(20261128)
ATOMS = (0.0, 20.0, 60.0)
# At atoms, just inside and just outside of what counts as there, on edges, beyond the ends.
PLACES = np.array([0, -3, 6e-8, 6.1e-8, 20, 20 + 6.1e-8, 30, 45.5, 60 - 5.9e-8, 60 - 7e-8, 1e300])
WEEK = Domain(None, (0, 60), atoms=ATOMS)


# The choice among candidates: its exact law.


class Given:
    """Noise that is known."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def draw(self) -> list[int]:
        return self.values


def chosen(counts: list[int], units: int, threshold: int, noise: list[int], z: int) -> int:
    """The rule as the page says it."""
    for place in range(len(counts) - 1, -1, -1):
        if counts[place] * units - abs(noise[place]) < threshold - abs(z):
            return place + 1
    return 0


def test_choices_follow_the_rule_of_the_page_bit_for_bit() -> None:
    candidates, stops = np.array([0.1, 0.2, 0.4, 0.8]), set()
    for _ in range(400):
        # Ties with candidates, and units that cannot be used.
        numbers = GENERATOR.choice([0.0, 0.1, 0.2, 0.3, 0.4, 0.9, np.inf], size=7)
        counts = [int(np.sum(numbers <= each)) for each in candidates[:-1]]
        threshold = int(GENERATOR.integers(-1, 8))
        # Sizes that meet the threshold exactly, or miss it by one.
        z = int(GENERATOR.integers(-2, 3)) * COUNT_SCALE
        noise = [
            int(sign * ((count - threshold) * COUNT_SCALE + abs(z) + off))
            for count, off, sign in zip(
                counts, GENERATOR.integers(-1, 2, 3), GENERATOR.choice([-1, 1], 3), strict=True
            )
        ]
        choice = LastHeld(4, PureDP(1))
        vars(choice).update(threshold=Given([z]), counted=Given(noise))
        found = choice.choose(numbers, candidates, float(threshold))
        assert found == chosen(counts, COUNT_SCALE, threshold * COUNT_SCALE, noise, z)
        stops.add(found)
    assert stops == {0, 1, 2, 3}


def exact_law(counts: list[int], threshold: int, units: int, scales: tuple[float, float]) -> np.ndarray:
    """Probabilities of all candidates, summed over integers, of noise rounded to them."""
    first, other = scales
    z = np.arange(0, int(60 * first))
    weights = np.where(
        z == 0, -np.expm1(-0.5 / first), np.exp((0.5 - z) / first) * -np.expm1(-1 / first)
    )
    held, found = np.ones(z.size), []
    for count in reversed(counts):
        least = count * units - threshold + z + 1
        smaller = np.where(least <= 0, 1.0, np.exp(np.minimum(0.5 - least, 0) / other))
        found.append(float(weights @ (held * smaller)))
        held = held * (1 - smaller)
    return np.array([float(weights @ held), *found[::-1]])


@pytest.mark.parametrize(("epsilon", "nearly"), [(0.2, 0.98), (1.0, 0.88), (4.0, 0.7)])
def test_no_neighbour_loses_more_than_epsilon(epsilon: float, nearly: float) -> None:
    units, worst = 4, 0.0
    scales = units / (float(SHARE) * epsilon), units / (float(1 - SHARE) * epsilon)
    cases = [*combinations_with_replacement((0, 1, 4), 3), (2,) * 8]
    for counts, threshold in product(cases, (-5, 0, 1, 4, 9, 16, 60, round(8 * scales[0]))):
        law = exact_law(list(counts), threshold, units, scales)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        for low in range(len(counts)):
            for high in range(low + 1, len(counts) + 1):
                moved = [*counts[:low], *(count + 1 for count in counts[low:high]), *counts[high:]]
                if moved != sorted(moved):
                    continue
                likely = (other := exact_law(moved, threshold, units, scales)) > 1e-11
                worst = max(worst, float(np.abs(np.log(law / other))[likely & (law > 1e-11)].max()))
    assert worst <= epsilon * (1 + 1e-9)
    # Scales that are larger by the root of two would lose less than seven tenths of it.
    assert worst >= nearly * epsilon * (1 - 1e-9)


@pytest.mark.parametrize("size", [60, 300, 5000])
def test_all_parts_of_a_reference_band_cost_epsilon_in_each_half(size: int) -> None:
    plan = PrivateReferenceBand(1.0, bounds=(0, 1), coverage=0.5, domain=(0, 1)).plan(size, 5)
    assert sum(share.epsilon for share in plan.shares) == 1
    assert within(plan.last.achieved, PureDP(1))
    if plan.follows:
        assert within(plan.pilot.achieved, plan.shares[1])
    laws = [(plan.last, 1.0)]
    laws += [(plan.pilot, float(plan.shares[1].epsilon))] if plan.follows else []
    for choice, epsilon in laws:
        ends = choice.threshold.scales[0], choice.counted.scales[0]
        wanted = [COUNT_SCALE / epsilon / float(part) for part in (SHARE, 1 - SHARE)]
        assert list(ends) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(("bounds", "apart"), [((0, 2e-100), False), ((-1e100, 1e100), True)])
def test_bounds_of_later_stages_are_refused_before_the_charge(bounds, apart) -> None:
    ledger = MemoryLedger()
    ledger.create("curves", PureDP(9), unit="record")
    # The deviation that is chosen is small where all are alike, and large where half are at each end.
    low, high = bounds if apart else (0.0, 0.0)
    values = np.where(np.arange(2000) % 2 == 0, low, high)[:, None] + np.zeros(5)
    made = PrivateReferenceBand(1.0, bounds=bounds, domain=(0, 1), ledger=ledger.of("curves"))
    with pytest.raises(ParameterError, match="bound"):
        made.fit(values)
    assert [row.action for row in ledger.history("curves")].count("charge") == 0


# Neighbours through every road to the counts of cells and atoms.


def neighbours(relation: str) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
    """Points, persons and weights, and the same with another person of other points."""
    people = np.append(np.sort(GENERATOR.integers(0, 12, size=48)), 12)
    points, weights = GENERATOR.choice(PLACES, 49), GENERATOR.choice([0.0, 0.3, 3.0], 49)
    mine, fresh = people == people[0], int(GENERATOR.integers(1, 6))
    others = points[~mine], people[~mine], weights[~mine]
    if relation == "add-remove":
        return (points, people, weights), others
    mine = (
        GENERATOR.choice(PLACES, fresh),
        np.zeros(fresh, int),
        GENERATOR.choice([0.0, 1.0, 3.0], fresh),
    )
    return (points, people, weights), tuple(map(np.append, others, mine))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_unit_moves_counts_and_scores_no_farther_than_is_charged(
    relation: str, weighted: bool
) -> None:
    unit = PrivacyUnit("person", relation, public_size=13 if relation == "add-remove" else None)
    plain = PrivateDensity(1.0, domain=WEEK, cells=9, scale="linear", unit=unit)
    pool, many = plain.pooled(13), 1 if relation == "add-remove" else 2
    zooming = PrivateDensity(1.0, domain=WEEK, cells=9, scale="zoom", unit=unit)
    farthest = 0
    for turn in range(25):
        totals, scores, places = [], [], []
        for points, people, given in neighbours(relation):
            weights = Weights(given, largest=3.0) if weighted else None
            totals.append(np.array(exact_totals(plain.prepare(points, people, weights).total)))
            if not weighted:
                assert totals[-1].tolist() == list(exact_totals(pool.total(points, people)))
            if turn < 3:
                prepared = zooming.prepare(points, people, weights)
                zoom = prepared.plan.zoom
                fine = prepared.total.shares(zoom.fine)[: zoom.fine.size]
                scores.append(np.array(zoom.width_scores(fine)))
                places.append(np.array(zoom.place_scores(fine, 5)))
        moved = np.abs(totals[0] - totals[1])
        farthest = max(farthest, int(moved.sum()))
        assert moved.sum() <= many * UNIT == pool.plan.width
        assert (moved.astype(object) ** 2).sum() <= many * UNIT**2
        for held, apart in zip((scores, places), zoom.moved_apart if scores else (), strict=False):
            assert np.ptp(held[0] - held[1]) <= apart
    assert farthest > 0.9 * many * UNIT


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.1}])
@pytest.mark.parametrize("scale", ["linear", "zoom"])
def test_what_is_in_force_is_within_what_was_asked(asked: dict[str, float], scale: str) -> None:
    made = PrivateDensity(**asked, domain=WEEK, cells=9, scale=scale)
    release = made.fit(GENERATOR.choice(PLACES, 300)).release_
    assert within(release.certificate.achieved, release.guarantee)
    if "rho" in asked:
        assert release.guarantee == ZeroConcentratedDP("0.1")
    else:
        assert within(release.guarantee, made.plan(300).guarantee)


# After the charge, on public grounds, and files.


@pytest.mark.parametrize("scale", ["linear", "zoom", "log", [1.5, 20.0]])
@pytest.mark.parametrize("points", [[1.0] * 2, [60.0] * 9, [7.0] * 3, [1.0, 60.0] * 400])
def test_nothing_fails_where_all_units_are_at_atoms_or_none(scale: object, points: list[float]) -> None:
    domain = Domain(None, (1, 60), atoms=[1, 1 + 5e-7, 20, 60])
    release = PrivateDensity(2.0, domain=domain, scale=scale, cells=8).fit(points).release_
    assert release.cdf(60.0) == pytest.approx(1)
    assert np.all(np.diff(release.quantile(np.linspace(0, 1, 9))) >= 0)
    assert len(release.atoms) == 4
    assert release.sample(5, 1).size == 5


@pytest.fixture(scope="module", params=["linear", "log"])
def written(request) -> dict:
    domain = Domain(None, (1, 60), atoms=[1, 60])
    values = np.append(np.ones(90), np.linspace(1, 60, 300))
    return (
        PrivateDensity(1.0, domain=domain, cells=8, scale=request.param).fit(values).release_.to_json()
    )


@pytest.mark.parametrize("change", ["moved", "twice", "counted twice", "counted elsewhere", "forgotten"])
def test_files_whose_atoms_are_not_those_that_were_counted_are_refused(
    written, tmp_path, change
) -> None:
    altered = json.loads(json.dumps(written))
    counted = altered["raw"]["cells"]["atoms"]
    if change == "moved":
        altered["atoms"] = [2.0, 60.0]
    elif change == "twice":
        altered["atoms"] = [60.0, 60.0]
    elif change == "counted twice":
        altered["raw"]["cells"]["atoms"] = [counted[1], counted[1]]
    elif change == "counted elsewhere":
        altered["raw"]["cells"]["atoms"] = [(counted[0] + counted[1]) / 2, counted[1]]
    else:
        del altered["atoms"]
        altered["format"] = "dpfda-density"
    for name, entries in (("sound.json", written), ("altered.json", altered)):
        (tmp_path / name).write_text(json.dumps(entries))
    assert isinstance(load(tmp_path / "sound.json"), ReleasedDensityWithAtoms)
    with pytest.raises(StorageError):
        load(tmp_path / "altered.json")


# Bands.


def with_atom(share: float, count: int = 200) -> ReleasedDensityWithAtoms:
    """A release of so many units whose noisy share at zero is known."""
    made = PrivateDensity(1.0, domain=Domain(None, (0, 60), atoms=[0]), cells=8, scale="linear")
    release = made.fit(np.zeros(count)).release_
    noisy = (*release.raw.noisy_counts[:-1], round(share * count * UNIT))
    return replace(release, raw=replace(release.raw, noisy_counts=noisy))


def test_bands_reach_what_others_there_may_be_where_noise_left_none() -> None:
    release = with_atom(1.01)
    assert release.atoms[0].mass == 1
    # Two in a hundred may well be elsewhere: the noise on their number has the scale one in a hundred.
    assert release.atoms[0].lower < 0.99
    assert np.max(release.band(0.9, of="noise").upper) > 1e-4


@pytest.mark.parametrize("law", [SharedLaplaceNoise, SharedGaussianNoise])
def test_bands_of_atoms_hold_as_often_as_they_say_for_noise_in_shares(law: type) -> None:
    release = with_atom(0.5)
    noise = law((2 * UNIT,) * 9, honest=1, drawn=3)
    band = replace(release, raw=replace(release.raw, noise=noise)).atoms_band(0.5)
    drawn = noise.simulate(np.random.default_rng(1), 4000)[:, -1] / UNIT / 200
    half = (band.upper[0] - band.lower[0]) / 2
    # 2000 expected, with a deviation of 32.
    assert 1850 < np.sum(np.abs(drawn) <= half) < 2150
