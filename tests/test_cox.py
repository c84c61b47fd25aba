"""Models of hazards: against likelihoods maximised by other means, intervals that hold, and words."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from typer.testing import CliRunner

from dpfda import Domain, PrivateCox, load
from dpfda.errors import DataError, ParameterError
from dpfda.front.app import app
from dpfda.numerics.arrays import Floats
from dpfda.survival.cox_rounds import FollowedUp
from dpfda.survival.proportional import VERSION, Model

KNOWN = {"age": (40, 90), "arm": ["a", "b"]}
EFFECTS = np.array([0.03, 0.6])


def follow_ups(generator: np.random.Generator, n: int, effects: Floats = EFFECTS) -> tuple[Any, ...]:
    age, arm = generator.uniform(40, 90, n), generator.choice(["a", "b"], n)
    hazards = 0.1 * np.exp(effects[0] * (age - 65) + effects[1] * (arm == "b"))
    died, left = generator.exponential(1 / hazards), generator.uniform(2, 20, n)
    return np.minimum(died, left), died <= left, {"age": age, "arm": arm}


def fitted(data: tuple[Any, ...], **given: Any) -> Any:
    settled = {"covariates": KNOWN, "domain": (0, 10), "unit": "patient", "epsilon": 1}
    return PrivateCox(**{**settled, **given}).fit(*data).release_


def test_a_band_says_what_it_is_for() -> None:
    released = fitted(follow_ups(np.random.default_rng(3), 400))
    # It is for one curve, at public values: not for ratios, nor for other values.
    for place, said in (({}, "at age 65, arm a"), ({"arm": "b"}, "at age 65, arm b")):
        (band,) = released.at(**place).facts["bands"]
        assert band["unit"] == f"in shares of patients, {said}"


def most_likely(data: tuple[Any, ...], model: Model) -> Floats:
    """Effects of the piecewise constant model without noise, by a general minimiser."""
    times, events, columns = data
    edges = model.cells.edges
    inside = np.minimum(times, edges[-1])
    lived = np.clip(inside[:, None] - edges[:-1], 0, np.diff(edges))
    died = events & (times <= edges[-1])
    cell = np.clip(np.searchsorted(edges, times) - 1, 0, model.cells.count - 1)
    terms = np.stack([columns["age"] - 65, columns["arm"] == "b"], axis=1)
    deaths = np.bincount(cell[died], minlength=model.cells.count)

    def loss(effects: Floats) -> float:
        # The baseline that fits best has a closed form.
        risks = np.exp(terms @ effects)
        spent = lived.T @ risks
        return float(deaths @ np.log(spent) - (terms[died] @ effects).sum())

    return np.asarray(scipy.optimize.minimize(loss, np.zeros(2), method="BFGS").x)


@pytest.mark.parametrize(
    ("given", "close"),
    [({"epsilon": 10_000, "delta": 0.1, "method": "rounds"}, 0.02), ({"epsilon": 10_000}, 0.05)],
)
def test_without_noise_it_is_the_most_likely_model(given: dict[str, Any], close: float) -> None:
    data = follow_ups(np.random.default_rng(7), 8000)
    release = fitted(data, **given)
    found = [np.log(release[term].value) for term in release.effects]
    expected = most_likely(data, release.model)
    # A table has numbers in the middle of their parts.
    assert found == pytest.approx(expected, rel=close, abs=0.02)


def test_one_cell_and_one_level_are_rates() -> None:
    times = np.repeat([1.0, 2.0, 1.0, 2.0], [300, 700, 600, 400])
    arms = np.repeat(["a", "b"], 1000)
    release = PrivateCox(
        10_000, 0.1, covariates={"arm": ["a", "b"]}, domain=(0, 2), cells=2, method="rounds"
    ).fit(times, times < 2, {"arm": arms}).release_  # fmt: skip
    # Events over time spent in the first cell, of which the second has no event at all.
    first = float(release.cells.edges[1])
    rates = [release.at(arm=arm).hazard(first / 2) for arm in ("a", "b")]
    ratio = release["arm=b"].value
    assert rates[1] / rates[0] == pytest.approx(ratio)
    assert ratio > 1.5


@pytest.mark.parametrize("given", [{"epsilon": 1}, {"rho": 0.1, "epsilon": None, "method": "rounds"}])
def test_intervals_hold_and_are_no_wider_than_needed(given: dict[str, Any]) -> None:
    generator, held, halves = np.random.default_rng(11), 0, 0
    medians, median = [], np.log(2) / (0.1 * np.exp(EFFECTS[1]))
    for _ in range(60):
        release = fitted(follow_ups(generator, 1500), **given)
        for term, effect in zip(release.effects, EFFECTS, strict=True):
            ratio = release[term]
            held += ratio.lower <= np.exp(effect) <= ratio.upper
            middle, reach = np.log(ratio.value), np.log(ratio.upper / ratio.lower) / 2
            halves += abs(effect - middle) <= reach / 2.6
        found = release.at(arm="b").median()
        off = found.value - median
        medians.append(
            (found.lower <= median <= found.upper, abs(off) * 5.2 <= found.upper - found.lower)
        )
    # Of 120 at .95 fewer than 104 have a chance of 1e-4; of intervals 2.6 times as narrow, at .55, more
    # than 90 have one of 1e-5. By rounds .71 of 450 of these held: more than 99 have
    # one of .002, and of .8 if intervals are 1.4 times too wide.
    assert held >= 104
    assert halves <= (99 if "rho" in given else 90)
    # Of 60 fewer than 49, or more than 48, have chances of 1e-4.
    assert np.sum(medians, axis=0)[0] >= 49
    assert np.sum(medians, axis=0)[1] <= 48


def test_large_ratios_where_most_die_are_found_with_intervals_that_hold() -> None:
    generator, held, errors = np.random.default_rng(13), 0, []
    truth = np.array([1.0, 1.5])
    for _ in range(20):
        age, arm = generator.uniform(0, 1, 4000), generator.choice(["a", "b"], 4000)
        hazards = 0.5 * np.exp(2 * age + 1.5 * (arm == "b"))
        died = (generator.exponential(size=4000) / hazards) ** (1 / 1.3)
        data = np.minimum(died, 2.0), died < 2, {"age": age, "arm": arm}
        release = fitted(data, covariates={"age": (0, 1), "arm": ["a", "b"]}, domain=(0, 2))
        ratios = release.hazard_ratio("age", 0.5), release["arm=b"]
        held += sum(
            ratio.lower <= np.exp(effect) <= ratio.upper
            for ratio, effect in zip(ratios, truth, strict=True)
        )
        errors.append(np.log([ratio.value for ratio in ratios]) - truth)
    # Of 40 at .95 fewer than 33 have a chance of 5e-4.
    assert held >= 33
    assert np.sqrt(np.mean(np.square(errors))) < 0.15


def test_files_of_earlier_versions_have_the_present_estimate_where_counts_lie_alike(
    tmp_path: Path,
) -> None:
    """Of levels alone parts are the same in all versions."""
    times, events, data = follow_ups(np.random.default_rng(14), 2000)
    known = {"covariates": {"arm": ["a", "b"]}, "epsilon": 2}
    release = fitted((times, events, {"arm": data["arm"]}), **known)
    written = json.loads(release.save(tmp_path / "model.json").read_text())
    assert written["estimate"] == VERSION
    del written["estimate"]
    (tmp_path / "old.json").write_text(json.dumps(written))
    assert load(tmp_path / "old.json")["arm=b"] == release["arm=b"]


def test_whole_numbers_and_heaps_at_bounds_lead_no_ratio_astray() -> None:
    # Whole numbers from 0 to 4 in five parts of equal width had 1.24 times their effect, and intervals
    # held in 0 of 24; four in five on one bound, the others on the other, in 3 of 24. Chance below 1e-3.
    generator, held, off = np.random.default_rng(31), {"grade": 0, "dose": 0}, []
    for _ in range(12):
        data = {
            "grade": generator.integers(0, 5, 20_000),
            "dose": np.where(generator.random(20_000) < 0.8, 0.0, 100.0),
        }
        hazards = 0.1 * np.exp(0.3 * data["grade"] + 0.012 * data["dose"] - 1)
        died, left = generator.exponential(1 / hazards), generator.uniform(2, 20, 20_000)
        known = {"grade": (0, 4), "dose": (0, 100)}
        release = fitted((np.minimum(died, left), died <= left, data), covariates=known, domain=(0, 10))
        for (name, far), effect in zip((("grade", 4), ("dose", 100)), (1.2, 1.2), strict=True):
            ratio = release.hazard_ratio(name, far)
            held[name] += ratio.lower <= np.exp(effect) <= ratio.upper
        off.append(np.log(release.hazard_ratio("grade", 4).value) - 1.2)
    assert min(held.values()) >= 8
    assert np.mean(off) < 0.15


@pytest.mark.parametrize(
    ("together", "ratios", "n", "epsilon", "least", "far"),
    [(0.7, (0.7, -0.4), 20_000, 3, 9, 0.06), (0.96, (1.0, -0.5), 5000, 1, 8, 1.2)],
)
def test_numbers_that_go_together_are_held(together, ratios, n, epsilon, least, far) -> None:
    """Of 12 intervals; with means of parts alone .17 to .34 of the second held, and errors of the first
    were .16. At .95 fewer than 9 have a chance of .002."""
    generator, held, errors = np.random.default_rng(47), 0, []
    for _ in range(6):
        x = generator.normal(size=n)
        y = np.clip(together * x + (1 - together**2) ** 0.5 * generator.normal(size=n), -3, 3)
        data = {"x": np.clip(x, -3, 3), "y": y}
        died = generator.exponential(1 / (0.3 * np.exp(ratios[0] * data["x"] + ratios[1] * y)))
        left = generator.uniform(0.5, 4, n)
        known = {"covariates": {"x": (-3, 3), "y": (-3, 3)}, "domain": (0, 3), "epsilon": epsilon}
        release = fitted((np.minimum(died, left), died <= left, data), **known)
        for name, effect in zip("xy", ratios, strict=True):
            ratio = release[name]
            held += ratio.lower <= np.exp(effect) <= ratio.upper
            errors.append(np.log(ratio.value) - effect)
    assert held >= least
    assert np.sqrt(np.mean(np.square(errors))) < far


def test_curves_and_medians_of_many_who_are_lost_or_die_early_are_held() -> None:
    # With the censored spread evenly over a cell bands held the curve in .73 of 60, and where half die
    # within the first cell the interval of the median held in none. Of 20 at .95 fewer than 15 have a
    # chance of 1e-4.
    generator, times, held = np.random.default_rng(37), np.linspace(0.1, 9.9, 50), np.zeros(2)
    for _ in range(20):
        arm = generator.choice(["a", "b"], 20_000)
        lost = generator.exponential(1.5, 20_000)
        died = generator.exponential(10 * np.exp(-0.7 * (arm == "b")))
        data = np.minimum(died, lost), died <= lost, {"arm": arm}
        known: dict[str, Any] = {"covariates": {"arm": ["a", "b"]}, "domain": (0, 10)}
        band = fitted(data, **known).band(points=times)
        line = np.exp(-times / 10)
        held[0] += bool(np.all((band.lower <= line) & (line <= band.upper)))
        early = (generator.exponential(size=20_000) * np.exp(-0.7 * (arm == "b"))) ** 2.5 * 0.6
        median = fitted((early, early < 10, {"arm": arm}), **known).at(arm="b").median()
        held[1] += median.lower <= (np.log(2) * np.exp(-0.7)) ** 2.5 * 0.6 <= median.upper
    assert held.min() >= 15


def test_whole_units_that_are_stated_are_followed() -> None:
    """Curves change at whole units alone, and those who are censored at one are not at risk after it.

    When they were taken to stay for half a cell, on a course without steps, none of 48 bands held.
    """
    generator, times, held = np.random.default_rng(41), np.linspace(0, 12, 97), 0
    for _ in range(20):
        arm = generator.choice(["a", "b"], 2000)
        died = np.ceil(11 * generator.exponential(np.exp(-0.5 * (arm == "b"))))
        left = np.ceil(14 * generator.uniform(size=2000))
        known: dict[str, Any] = {
            "covariates": {"arm": ["a", "b"]},
            "domain": Domain(domain_range=(0, 12), step=1),
        }
        release = fitted((np.minimum(died, left), died <= left, {"arm": arm}), **known)
        band, line = release.band(points=times), np.exp(-np.floor(times) / 11)
        held += bool(np.all((band.lower <= line) & (line <= band.upper)))
        median = release.median(of="noise")
        assert release(2.99) == release(2.0) > release(3.0)
        assert all(np.isinf(end) or end == round(end) for end in (median.value, median.lower))
    # Of 20 at .95 fewer than 15 have a chance of 1e-4.
    assert held >= 15
    model, whole = release.model, np.array([3.0, 3.0, 14.0])
    terms, one = [np.zeros(3, dtype=np.int64)], np.ones(3, dtype=np.int64)
    ends = np.array([0, -1, 0])
    records = FollowedUp.of(model, whole, ends, terms, 0 * one, one, one > 0)
    lived = records.exposures.T @ np.diff(model.cells.edges)
    np.testing.assert_allclose(lived, [2.5, 3.0, 12.0])


def unequal(generator: np.random.Generator) -> tuple[Any, ...]:
    """An arm of 98 in 100, and its log ratio."""
    arm = generator.random(20_000) < 0.98
    return np.exp(0.5 * arm), {"arm": np.where(arm, "b", "a")}, {"arm": ["a", "b"]}, ("arm=b", 1, 0.5)


def rare(generator: np.random.Generator) -> tuple[Any, ...]:
    """A first level of 2 in 100, three others beside it; the ratio of the most frequent."""
    site = generator.choice(4, 20_000, p=[0.02, 0.08, 0.2, 0.7])
    levels = np.array(["a", "b", "c", "d"])
    return np.exp(0.3 * site), {"site": levels[site]}, {"site": ["a", "b", "c", "d"]}, ("site=d", 1, 0.9)


def narrow(generator: np.random.Generator) -> tuple[Any, ...]:
    """Ages in a tenth of their bounds."""
    age = np.clip(generator.normal(50, 4, 20_000), 0, 100)
    return np.exp(0.06 * (age - 50)), {"age": age}, {"age": (0, 100)}, ("age", 10, 0.6)


@pytest.mark.parametrize(("law", "far"), [(unequal, 0.15), (rare, 0.15), (narrow, 0.12)])
@pytest.mark.parametrize("method", ["table", "rounds"])
def test_ratios_hold_where_covariates_are_not_spread_evenly(law, far, method) -> None:
    """Ten releases at epsilon 3: fewer than seven at .95 have a chance of .001.

    When nearly collinear information was floored at a tenth none of these held by a table, and two in
    a hundred by rounds; errors were .15, .24 and .29.
    """
    generator, held, errors = np.random.default_rng(17), 0, []
    for _ in range(10):
        ratios, covariates, known, (term, change, effect) = law(generator)
        died, left = generator.exponential(1 / (0.3 * ratios)), generator.uniform(0.5, 4, 20_000)
        data = np.minimum(died, left), died <= left, covariates
        given = {"epsilon": 3, "delta": 1e-6 * (method == "rounds"), "method": method}
        found = fitted(data, covariates=known, domain=(0, 3), **given).hazard_ratio(term, change)
        held += found.lower <= np.exp(effect) <= found.upper
        errors.append(np.log(found.value) - effect)
    assert held >= 7
    assert np.sqrt(np.mean(np.square(errors))) < far


def test_a_table_tells_the_ratio_of_ages_in_a_part_of_their_bounds() -> None:
    # Noise where nobody is hid the ratio: errors of .6 were .43. Now they are .15 and intervals hold in
    # 16 of 16: chance of the test to fail below 1e-3.
    generator, held, off = np.random.default_rng(61), 0, []
    for _ in range(8):
        age, arm = generator.normal(50, 4, 2000), generator.choice(["a", "b"], 2000)
        hazards = 0.3 * np.exp(0.06 * (age - 50) + 0.5 * (arm == "b"))
        died, left = generator.exponential(1 / hazards), generator.uniform(0.5, 4, 2000)
        data = np.minimum(died, left), died <= left, {"age": age, "arm": arm}
        release = fitted(data, covariates={"age": (20, 90), "arm": ["a", "b"]}, domain=(0, 3))
        ratio = release.hazard_ratio("age", 10)
        held += ratio.lower <= np.exp(0.6) <= ratio.upper
        off.append(abs(np.log(ratio.value) - 0.6))
    assert held >= 6
    assert np.mean(off) < 0.3


def test_rounds_follow_numbers_that_go_together_in_a_fifth_of_their_bounds() -> None:
    """With terms in units of their bounds none of 32 intervals held, and errors were 1.4."""
    generator, held, errors = np.random.default_rng(53), 0, []
    known = {"covariates": {"x": (0, 100), "y": (0, 100)}, "domain": (0, 3)}
    for _ in range(12):
        x = generator.normal(size=5000)
        y = 0.9 * x + 0.19**0.5 * generator.normal(size=5000)
        data = {"x": 70 + 5 * x, "y": 30 + 5 * y}
        died = generator.exponential(1 / (0.3 * np.exp(0.2 * x - 0.1 * y)))
        left = generator.uniform(0.5, 4, 5000)
        given = {"epsilon": 3, "delta": 1e-5, "method": "rounds", **known}
        release = fitted((np.minimum(died, left), died <= left, data), **given)
        for name, effect in (("x", 2.0), ("y", -1.0)):
            ratio = release.hazard_ratio(name, 50)
            held += ratio.lower <= np.exp(effect) <= ratio.upper
            errors.append(np.log(ratio.value) - effect)
    # Of 24 at .95 fewer than 19 have a chance of .001, if each were by itself; in twos one of .003.
    assert held >= 18
    assert np.sqrt(np.mean(np.square(errors))) < 1


def test_it_is_said_first_of_which_ratios_little_is_known() -> None:
    generator = np.random.default_rng(19)
    age, arm = generator.normal(50, 2, 3000), generator.choice(["a", "b"], 3000)
    data = generator.exponential(1, 3000), np.ones(3000), {"age": age, "arm": arm}
    (said,) = fitted(data, covariates={"age": (0, 100), "arm": ["a", "b"]}).facts.stated.first
    assert said.startswith("Little is known of the hazard ratio of age:")
    data = *data[:2], {"age": generator.uniform(0, 100, 3000), "arm": arm}
    assert not fitted(data, covariates={"age": (0, 100), "arm": ["a", "b"]}).facts.stated.first


def test_intervals_of_rounds_hold_large_ratios_of_few_units() -> None:
    """They allow for what the information may be: without that .88 of 300 held, at .9 of the width."""
    generator, held, halves = np.random.default_rng(14), 0, []
    for _ in range(40):
        age, arm = generator.uniform(0, 1, 1000), generator.choice(["a", "b"], 1000)
        hazards = 0.5 * np.exp(2 * age + 1.5 * (arm == "b"))
        died = (generator.exponential(size=1000) / hazards) ** (1 / 1.3)
        known = {"covariates": {"age": (0, 1), "arm": ["a", "b"]}, "domain": (0, 2)}
        data = np.minimum(died, 2.0), died < 2, {"age": age, "arm": arm}
        release = fitted(data, delta=1e-6, method="rounds", **known)
        for effect, asked in ((1.0, ("age", 0.5)), (1.5, ("arm=b",))):
            ratio = release.hazard_ratio(*asked)
            held += ratio.lower <= np.exp(effect) <= ratio.upper
            halves.append(np.log(ratio.upper / ratio.lower) / 2)
    # Of 80 at .95 fewer than 68 have a chance of 4e-4.
    assert held >= 68
    assert np.mean(halves) < 2


def test_intervals_of_few_units_are_no_wider_than_what_was_likely_beforehand() -> None:
    """Of two uneven numbers among 400 units some were from exp(-8) to exp(8)."""
    generator, halves = np.random.default_rng(43), []
    for _ in range(20):
        age, prior = generator.gamma(2, 3, 400), generator.gamma(1, 3, 400)
        died = generator.exponential(4 * np.exp(0.1 * (age - prior)))
        data = np.minimum(died, 1), died < 1, {"age": age, "prior": prior}
        release = fitted(data, covariates={"age": (0, 30), "prior": (0, 20)}, domain=(0, 1))
        for asked in (("age", 15), ("prior", 10)):
            ratio = release.hazard_ratio(*asked)
            halves.append(np.log(ratio.upper / ratio.lower) / 2)
    # The prior's own is 1.4, and twice what it draws comes on top.
    assert 1 < np.median(halves) < max(halves) < 4.5


def test_without_effect_the_test_seldom_finds_one() -> None:
    generator, found = np.random.default_rng(5), 0
    for _ in range(60):
        data = follow_ups(generator, 800, np.array([0.03, 0.0]))
        found += fitted(data).test("arm").differ
    # Of 60 at .05 more than 10 have a chance of 5e-4.
    assert found <= 10
    strong = fitted(follow_ups(generator, 4000, np.array([0.0, 1.0])), epsilon=4)
    assert strong.test("arm").differ
    assert "does not depend on arm is rejected" in str(strong.test("arm"))


def test_curves_follow_from_ratios_and_files_keep_them(tmp_path: Path) -> None:
    release = fitted(follow_ups(np.random.default_rng(2), 3000), epsilon=4)
    one, other = release.at(age=50, arm="a"), release.at(age=60, arm="b")
    ratio = release.hazard_ratio("age", 10).value * release["arm=b"].value
    at = np.linspace(0, 10, 5)
    assert other.cumulative_hazard(at) == pytest.approx(ratio * np.asarray(one.cumulative_hazard(at)))
    assert other(at) == pytest.approx(np.exp(-np.asarray(other.cumulative_hazard(at))))
    assert np.all(np.diff(one(at)) <= 0)
    assert one(0) == 1
    for share in (0.1, 0.5):
        assert other(other.quantile(share).value) == pytest.approx(1 - share)
    assert other.median(of="noise").upper < other.median().upper
    assert release.at(age=40).median(level=0.5).upper == np.inf
    band = one.band()
    assert np.all((band.lower >= 0) & (band.upper <= 1))
    assert one.band(of="noise").reach(one(band.points)).mean() < band.reach(one(band.points)).mean()
    again = load(other.save(tmp_path / "model.json"))
    assert again.place == {"age": 60.0, "arm": "b"}
    assert again(at) == pytest.approx(other(at))
    assert again.hazard_ratios == release.hazard_ratios


def test_a_place_is_a_mapping() -> None:
    with pytest.raises(ParameterError, match="at must be a mapping such as"):
        fitted(follow_ups(np.random.default_rng(2), 400)).at([50, "a"])


def test_a_band_holds_a_curve_that_bends_within_a_cell() -> None:
    generator, held = np.random.default_rng(12), 0
    for round_ in range(10):
        age = generator.uniform(40, 90, 4000)
        died = (generator.exponential(10, 4000) / np.exp(0.03 * (age - 65))) ** 2 / 10
        times, known = np.minimum(died, 10.0), {"age": (40, 90)}
        given = {"epsilon": 1, "delta": 1e-6 * (round_ % 2), "covariates": known}
        band = fitted((times, died <= 10, {"age": age}), **given).at(age=65).band(0.95)
        truth = np.exp(-np.sqrt(10 * band.points) / 10)
        held += bool(np.all((band.lower <= truth) & (truth <= band.upper)))
        assert np.mean(band.upper - band.lower) < 0.12
    # Of 10 at .95 fewer than 8 have a chance of .01.
    assert held >= 8


def test_strata_have_baselines_of_their_own() -> None:
    generator = np.random.default_rng(3)
    n = 6000
    site, arm = generator.choice(["x", "y"], n), generator.choice(["a", "b"], n)
    hazards = np.where(site == "x", 0.02, 0.3) * np.exp(0.5 * (arm == "b"))
    died = generator.exponential(1 / hazards)
    known = {"site": ["x", "y"], "arm": ["a", "b"]}
    for given in ({"epsilon": 2}, {"rho": 0.5, "method": "rounds"}):
        made = PrivateCox(**given, covariates=known, strata=["site"], domain=(0, 10))
        release = made.fit(died, died < 10, {"site": site, "arm": arm}).release_
        assert release.effects == ("arm=b",)
        ratio = release.hazard_ratio("arm=b", level=0.9999)
        assert ratio.lower < np.exp(0.5) < ratio.upper
        assert release.at(site="x")(5) > 0.8
        assert release.at(site="y")(5) < 0.4


def test_what_a_plan_foretells_comes_true() -> None:
    generator = np.random.default_rng(9)
    for given in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6, "method": "rounds"}):
        made = PrivateCox(**given, covariates={"age": (40, 90)}, domain=(0, 10), unit="patient")
        plan, widths = made.plan(10_000), []
        for _ in range(8):
            age = generator.uniform(40, 90, 10_000)
            times = generator.exponential(10 / np.log(2), 10_000)
            release = made.fit(times, times < 10, {"age": age}).release_
            ratio = release.hazard_ratio("age", 25)
            widths.append(np.log(ratio.upper / ratio.lower) / 2)
        band = plan.band()
        assert band is not None
        # Widths of 80 releases lay between .95 and 1.1 times what was foretold.
        assert 0.85 < np.median(widths) / band < 1.2


def test_a_plan_for_few_events_comes_true_and_changes_no_release() -> None:
    generator, size, widths = np.random.default_rng(5), 10_000, []
    made = PrivateCox(epsilon=1, covariates={"age": (40, 90)}, domain=(0, 10))
    for _ in range(4):
        age = generator.uniform(40, 90, size)
        times = generator.exponential(10 / -np.log(0.95), size)
        ratio = made.fit(times, times < 10, {"age": age}).release_.hazard_ratio("age", 25)
        widths.append(np.log(ratio.upper / ratio.lower) / 2)
    band, usual = made.plan(size, share=0.05).band(), made.plan(size).band()
    assert band is not None
    assert usual is not None
    # Medians of four were .95 and 1.01 times the planned; of half with an event it is 4.5 times less.
    assert 0.8 < np.median(widths) / band < 1.25
    assert band > 3 * usual


def together(generator: np.random.Generator) -> dict[str, Any]:
    """Numbers of correlation .9."""
    x, y = generator.normal(size=(2, 5000))
    return {"x": x, "y": 0.9 * x + 0.19**0.5 * y}


@pytest.mark.parametrize(
    ("known", "law"),
    [
        ({"x": (-3, 3), "y": (-3, 3)}, together),
        ({"site": list("abcd")}, lambda generator: {"site": generator.choice(list("aaaabbcd"), 5000)}),
    ],
)
def test_the_method_that_is_chosen_has_the_narrower_intervals_at_uneven_covariates(known, law) -> None:
    """By noise at even covariates it was a table for both; of numbers its intervals were 3 as wide."""
    generator, widths = np.random.default_rng(59), {}
    given = {"epsilon": 1, "delta": 1e-5, "covariates": known, "domain": (0, 3)}
    for method in ("table", "rounds"):
        widths[method] = []
        for _ in range(4):
            data = law(generator)
            times = generator.exponential(3, 5000)
            release = fitted((times, times < 3, data), **given, method=method)
            ratios = [release[term] for term in release.effects]
            widths[method] += [np.log(ratio.upper / ratio.lower) for ratio in ratios]
    chosen = PrivateCox(**given).plan(5000).method
    assert chosen == min(widths, key=lambda method: np.mean(widths[method]))
    # Of few units errors of real follow-ups by a table are three quarters of those by rounds.
    assert PrivateCox(**given).plan(700).method == "table"
    # What is chosen is the same for every share of events that a plan is asked for: so a fit chooses.
    assert {PrivateCox(**given).plan(5000, share).method for share in (0.01, 0.9)} == {chosen}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"covariates": None}, "covariates must be a mapping"),
        ({"covariates": {"age": (90, 40)}}, r"covariates\['age'\] must .* Swap the ends"),
        ({"strata": ["age"]}, "strata must name some of the covariates that have levels"),
        ({"strata": ["arm", "arm"]}, "strata must"),
        ({"method": "best"}, "method must be"),
        ({"domain": None}, "domain must be given"),
        ({"cells": 1}, "cells must"),
        (
            {"covariates": {f"x{i}": (0, 1) for i in range(5)}},
            "covariates must have at most 288 combinations .* Set delta",
        ),
    ],
)
def test_refusals_name_parameter_and_remedy(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PrivateCox(**{"epsilon": 1, "covariates": KNOWN, "domain": (0, 10), **given}).plan(500)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"times": [1, 2, np.nan]}, "times must be finite"),
        ({"events": [1, 0, 7]}, "event must have the codes that are stated"),
        ({"events": [1, 0]}, "events must have one entry a follow-up"),
        ({"covariates": {"age": [50, 6, None], "arm": ["a", "b", "a"]}}, "age must have a usable value"),
        ({"covariates": {"age": [50, 6, 70], "arm": ["a", "b", "c"]}}, "arm must hold one of"),
        ({"covariates": {"age": [50, 60, 70]}}, "covariates must .* found age. Name"),
    ],
)  # fmt: skip
def test_data_that_cannot_be_used_are_refused_by_row_and_not_value(
    change: dict[str, Any], words: str
) -> None:
    given: dict[str, Any] = {
        "times": [1, 2, 3], "events": [1, 0, 1],
        "covariates": {"age": [50, 60, 70], "arm": ["a", "b", "a"]},
    }  # fmt: skip
    with pytest.raises((DataError, ParameterError), match=words):
        PrivateCox(1, covariates=KNOWN, domain=(0, 10)).fit(**{**given, **change})


def test_words_say_ratios_and_what_is_assumed() -> None:
    release = PrivateCox(
        2, covariates=KNOWN, domain=Domain(domain_range=(0, 10), labels={"domain": "years"}),
        unit="patient",
    ).fit(*follow_ups(np.random.default_rng(4), 1000)).release_  # fmt: skip
    text = release.describe()
    assert "Hazard ratio of one unit of age" in text
    assert "arm=b beside a" in text
    assert "hazards are proportional is assumed" in " ".join(text.split())
    assert {"age", "arm=b"} == {*release.facts["hazard_ratios"]}
    assert release.facts.citation.startswith(
        "The survival curve by covariates of 1000 patients was published"
    )


def test_the_command_publishes_the_same(tmp_path: Path) -> None:
    times, events, columns = follow_ups(np.random.default_rng(6), 400)
    with (tmp_path / "trial.csv").open("w", newline="") as handle:
        rows = zip(times, events.astype(int), columns["age"], columns["arm"], strict=True)
        csv.writer(handle).writerows([("years", "died", "age", "arm"), *rows])
    out = tmp_path / "ratios.json"
    arguments = [
        "cox", str(tmp_path / "trial.csv"), "--time", "years", "--event", "died", "--covariate",
        "age:40:90", "--covariate", "arm:a,b", "--domain", "0", "10", "--epsilon", "2",
        "--out", str(out),
    ]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text())["format"] == "dpfda-cox"
    assert load(out).effects == ("age", "arm=b")
    evaluated = CliRunner().invoke(app, ["eval", str(out), "--at", "5"])
    assert "values at age 65, arm a\n" in evaluated.output
    given = ["eval", str(out), "--at", "5", "--given"]
    placed = CliRunner().invoke(app, [*given, "age=70:arm=b"])
    assert "values at age 70, arm b\n" in placed.output
    assert f"{load(out).at(age=70, arm='b')(5.0):.6g}" in placed.output
    for words, refusal in (
        ("70", "--given must be NAME=VALUE"),
        ("sex=f", "--given must give values of age"),
        ("age=95", "age must be a number from 40 to 90; found 95"),
    ):
        assert refusal in " ".join(CliRunner().invoke(app, [*given, words]).output.split())
    picture = ["plot", str(out), "--given", "age=50,age=80:arm=b", "--plot", str(tmp_path / "two.png")]
    assert CliRunner().invoke(app, picture).exit_code == 0
    # What comes first is the band of the population.
    assert "privacy noise" not in evaluated.output
    refused = CliRunner().invoke(app, ["eval", str(out), "--at", "5", "--of", "sample"])
    assert "Its band is about noise and sampling together." in " ".join(refused.output.split())
    assert load(out).at(arm="b").table([5.0]).meanings["value"].endswith(", at age 65, arm b")
