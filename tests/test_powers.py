"""The power of inputs that is chosen privately: what a unit moves, the noise, what it costs and finds.

Statistical tests fit a law at its scale, and reject it at that scale times or over the root of two; each
raises a false alarm with a chance of 1e-6 (`statistical.FALSE_ALARM`).
"""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpfda import PrivacyUnit, PrivateKernelClassifier, PrivateKernelRegressor, Reading, load
from dpfda.errors import BudgetError, DpfdaError, ParameterError
from dpfda.front.app import app
from dpfda.machines import powers
from dpfda.machines.plan import Features
from dpfda.machines.powers import BORDERS, CANDIDATES, STAGE, PowerChoice, Unfeatured
from dpfda.noise import KNormNoise
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import zoom
from dpfda.records.features import InputBox
from statistical import fits_only_at_its_scale

SEARCH = Features(power="search")


def examples(values, codes=None, usable=True):
    values = np.asarray(values, dtype=float)
    codes = np.arange(len(values)) if codes is None else np.asarray(codes)
    box, usable = InputBox.of((0.0, 1.0), values.shape[1]), np.broadcast_to(usable, len(values))
    return Unfeatured(box, values, usable, np.ones(len(values)), codes, int(codes.max()) + 1)


def machine(top=1.0, **parameters):
    made = {"epsilon": 1.0, "bounds": (0, top), "classes": (0, 1), "features": SEARCH}
    return PrivateKernelClassifier(**made | parameters)


def records(units=1500, seed=5):
    """Six inputs between 0 and 1, and the class that two of them tell."""
    values = np.random.default_rng(seed).uniform(0, 1, (units, 6))
    return values, (values[:, 0] > values[:, 1]).astype(int)


# What a unit moves.


@pytest.mark.parametrize(("place", "power"), list(enumerate(CANDIDATES)))
def test_a_unit_votes_for_the_power_that_brings_its_typical_input_nearest_to_a_half(place, power):
    typical = 0.5 ** (1 / power)
    # The lower median of what is above zero; other inputs, and zeros, do not count.
    data = examples([[0.0, typical / 3, typical, 1.0, 0.9], [0.0, 0.0, typical, 0.0, 1.0]])
    assert data.votes().tolist() == [2 * (each == place) for each in range(len(CANDIDATES))]
    logs = [abs(np.log2(-np.log2(border) * power)) for border in BORDERS[1:]]
    assert min(logs) == pytest.approx(0.5) or place == 0
    # Even inputs are often a little below the middle.
    assert 0.25 < BORDERS[0] < 2 ** -(2**0.5)


@pytest.mark.parametrize("record", [[0.0] * 3, [5e-324] * 3, [1.0] * 3, [np.nan] * 3, [-1e300, 1e-9, 2]])
def test_a_unit_is_one_vote_whatever_its_records_are(record):
    rest = np.full((9, 3), 0.25)
    for count in (1, 4):
        codes = [*range(9), *[9] * count]
        data = examples(
            [*rest, *[record] * count], codes, np.isfinite([*rest, *[record] * count]).all(1)
        )
        votes = data.votes()
        assert votes.sum() == 10
        # That of the others is what it was.
        assert votes[1] >= 9
        assert np.abs(votes - examples([*rest, [0.25] * 3]).votes()).sum() <= 2
    assert examples(rest).votes().tolist() == [0, 9, 0, 0, 0]


def test_of_several_records_the_average_counts_and_blocks_change_nothing(monkeypatch):
    values = np.random.default_rng(1).uniform(0, 0.3, (40, 3)) ** 2
    codes = np.repeat(np.arange(20), 2)
    whole = examples(values, codes).votes()
    lower = np.sort(values, axis=1)[:, 1].reshape(20, 2).mean(axis=1)
    assert whole.tolist() == np.histogram(-lower, [-1.0, *[-b for b in BORDERS], 0.0])[0].tolist()
    monkeypatch.setattr(powers, "EMBEDDED", 7)
    assert examples(values, codes).votes().tolist() == whole.tolist()


# The noise that hides it, and the budget.


@pytest.mark.parametrize(("relation", "apart"), [("replace-one", 2), ("add-remove", 1)])
def test_votes_get_noise_at_its_scale(relation, apart):
    part = PureDP("1/50")
    law = PowerChoice(part, Neighbours.parse(relation)).noise
    assert law.scales == (50 * apart,) * len(CANDIDATES)
    drawn = [value for _ in range(2400) for value in law.draw()]
    scale = 50.0 * apart
    assert fits_only_at_its_scale(
        drawn, lambda x: 0.5 + np.sign(x) * (1 - np.exp(-np.abs(x) / scale)) / 2
    )


def test_a_scale_that_is_too_small_is_refused(monkeypatch):
    choice = PowerChoice(PureDP("1/50"), Neighbours.REPLACE_ONE)
    exact = zoom.knorm_noise

    def smaller(*given):
        law = exact(*given)
        return KNormNoise.equal(1, law.scales[0] * 10 // 14)

    monkeypatch.setattr(zoom, "knorm_noise", smaller)
    with pytest.raises(DpfdaError):
        choice.noise  # noqa: B018


@pytest.mark.parametrize(
    ("asked", "whole"),
    [
        ({}, PureDP(1)),
        ({"delta": 1e-6}, ApproximateDP(1, "1/1000000")),
        ({"epsilon": None, "rho": 0.5}, ZeroConcentratedDP("1/2")),
        ({"loss": "squared", "unit": PrivacyUnit("person", "add-remove", 1500)}, PureDP(1)),
    ],
)
def test_stages_add_up_to_what_was_asked_and_are_charged_once(asked, whole):
    relation = "add-remove" if "unit" in asked else "replace-one"
    ledger = MemoryLedger().create("scans", whole, neighbours=relation)
    made = machine(**asked, ledger=ledger.of("scans")).fit(*records()).release_
    assert made.certificate.stages[0] == STAGE
    parts = [cost.guarantee for cost in made.certificate.costs]
    assert made.guarantee == added(parts) == whole
    assert isinstance(parts[0], PureDP)
    assert len([each for each in ledger.history("scans") if each.action == "charge"]) == 1
    with pytest.raises(BudgetError):
        machine(**{**asked, "epsilon": 0.2, "rho": None, "delta": 0}, ledger=ledger.of("scans")).fit(
            *records()
        )


def test_a_ledger_that_refuses_stops_everything(monkeypatch):
    ledger = MemoryLedger().create("scans", PureDP("99/100"))
    monkeypatch.setattr(KNormNoise, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetError):
        machine(ledger=ledger.of("scans")).fit(*records())
    assert ledger.spent("scans")["epsilon"] == 0


@pytest.mark.parametrize(("signal", "share"), [(40, 0.25), (200, 0.1), (1e6, 0.02)])
def test_a_larger_budget_spends_a_smaller_share(signal, share):
    choice, rest = PowerChoice.of(PureDP(2), signal, Neighbours.REPLACE_ONE)
    assert float(choice.part.epsilon) == pytest.approx(2 * share)
    assert added([choice.part, rest]) == PureDP(2)


# What is found.


@pytest.mark.parametrize(("top", "power"), [(1.0, 1.0), (8.0, 0.25), (100.0, 0.125)])
def test_bounds_that_are_too_wide_get_a_power(top, power):
    values, target = records()
    # 1,500 votes, of which nearly all are for one power, and noise of scale 100: it is missed with a
    # chance below 1e-5.
    made = machine(top).fit(values, target)
    assert made.release_.certificate.mechanism["power"] == power
    assert ("to the power" in made.release_.features.describe()) == (power < 1)
    # Without it nine of ten are classed right between the bounds 0 and 1, and a half between 0 and 100.
    assert made.score(values, target) > 0.75


def test_regressions_and_unusable_records_have_it_too():
    values, target = records()
    values[3] = np.nan
    made = PrivateKernelRegressor(
        1.0, bounds=(0, 100), target_bounds=(0, 1), features=SEARCH, reading=Reading(invalid="repair")
    )
    assert made.fit(values, target).release_.certificate.mechanism["power"] == 0.125


def test_a_file_and_its_words_tell_it(tmp_path):
    made = machine(100.0).fit(*records()).release_
    again = load(made.save(tmp_path / "power.json"))
    assert again.certificate == made.certificate
    assert again.certificate.mechanism["power"] == 0.125
    assert np.array_equal(again(np.ones((1, 6))), made(np.ones((1, 6))))
    # Of what the votes got, and what that gave.
    assert again.power_noise == PowerChoice(made.certificate.costs[0].guarantee, made.neighbours).noise
    said = " ".join(again.describe().split())
    assert "the power was chosen from records" in said
    assert "independent Laplace noise on 5 numbers of votes" in said


def test_a_plan_tells_it_and_is_made_again():
    plan = machine().plan(1500, 6)
    assert plan.functions.endswith("inputs to a power looked for")
    assert plan.at(n=3000).choice.part.epsilon < plan.at(n=300).choice.part.epsilon
    assert plan.guarantee == PureDP(1)


def test_the_command_line_looks_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values, target = records()
    pd.DataFrame(values).add_prefix("v").assign(y=target).to_csv("t.csv", index=False)
    names = [word for place in range(6) for word in ("--covariate", f"v{place}:0:100")]
    made = CliRunner().invoke(
        app, ["classify", "t.csv", *names, "--target", "y:0,1", "--epsilon", "1", "--power", "search",
              "--out", "f.json"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert load("f.json").certificate.mechanism["power"] == 0.125


def test_another_power_is_refused():
    with pytest.raises(ParameterError, match=r"power must be one of .*; found 0\.3\. .* say 'search'"):
        machine(features=Features(power=0.3)).fit(*records(50))


@pytest.mark.parametrize("power", ["search", 0.25])
def test_a_power_does_not_leave_the_cells_of_two_inputs_without_a_word(power):
    values, target = records(60)
    with pytest.raises(ParameterError, match=r"power must be None for one or two inputs.*solver="):
        machine(features=Features(power=power)).fit(values[:, :2], target)
    # Where a solver is named, or anything else that cells have no use for, it is what was asked for.
    named = machine(features=Features(power=power), solver="objective").fit(values[:, :2], target)
    assert named.release_.certificate.mechanism["name"] == "objective"
