"""Survey weights: what one record adds, the noise that hides it, the ratio, and what is refused."""

import numpy as np
import pytest
from scipy.stats import gamma

from dpfda import Domain, PrivacyUnit, PrivateMean, Reading, load
from dpfda.bounds import L2Ball, Search
from dpfda.errors import DataError, ParameterError
from dpfda.mean.variants import weighted_sum
from dpfda.mechanisms import COUNT_SCALE
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import check
from dpfda.records.weights import Weights
from dpfda.spine.sums import Readable
from dpfda.testing import check_release, exact_totals
from statistical import fits_only_at_its_scale

GRID = np.linspace(0.0, 1.0, 12)
LARGEST = np.finfo(float).max
GENERATOR = np.random.default_rng(4)
WEIGHTS = GENERATOR.uniform(0.2, 8, 3000)
CURVES = np.sin(5 * GRID) + np.minimum(WEIGHTS, 5)[:, None] / 5


def mean(**parameters):
    made = {"epsilon": 1.0, "bounds": (-2.0, 3.0), "domain": Domain(GRID)}
    return PrivateMean(**made | {"unit": PrivacyUnit("person", neighbours="add-remove")} | parameters)


def sums(curves, weights, invalid="refuse", **parameters):
    """What gets noise, with the count behind it, and the plan."""
    plan = mean(epsilon=1e4, reading=Reading(invalid=invalid), **parameters).plan(100, GRID)
    prepared = weighted_sum(plan, Readable(np.asarray(curves, dtype=float)), Weights(weights, 5))
    totals = exact_totals(prepared.plan.measure(prepared.total, prepared.plan.trial))
    return plan, [*totals, prepared.total.count_with_noise(0, COUNT_SCALE)]


def test_the_mean_is_the_ratio_of_weighted_sums():
    weights = np.minimum(WEIGHTS, 5)
    truth = weights @ CURVES / weights.sum()
    exact = mean(epsilon=1e6).fit(CURVES, weights=Weights(WEIGHTS, 5)).release_
    assert exact(GRID) == pytest.approx(truth, abs=1e-4)
    assert exact.count == pytest.approx(weights.sum() / 5, rel=1e-4)
    assert np.max(np.abs(CURVES.mean(axis=0) - truth)) > 0.1
    usual = mean().fit(CURVES, weights=Weights(WEIGHTS, 5)).release_
    assert np.sqrt(np.mean((usual(GRID) - truth) ** 2)) < 0.06


def test_records_of_the_largest_weight_are_those_without_weights():
    plan, found = sums(CURVES[:50], np.full(50, 7.0))
    plain = mean(epsilon=1e4).pooled(100, GRID).total(CURVES[:50])
    assert found == [*exact_totals(plan.measure(plain, plan.trial)), 50 * COUNT_SCALE]


@pytest.mark.parametrize("weight", [0.0, 5e-324, 1e-9, 1.0, 5.0, 5.1, LARGEST, np.inf, np.nan, -1.0])
@pytest.mark.parametrize("value", [0.0, 3.0, -LARGEST, LARGEST, np.nan, np.inf])
def test_one_record_more_moves_sums_and_count_by_no_more_than_the_noise_hides(weight, value):
    record = np.full(GRID.size, value)
    record[::2] *= -1
    curves, weights = np.vstack([CURVES[:5], record]), np.append(WEIGHTS[:5], weight)
    plan, more = sums(curves, weights, "repair")
    _, less = sums(curves[:5], weights[:5], "repair")
    norm, widths = plan.problem(1).differences(plan.trial)
    assert norm == "box"
    assert widths[-1] == COUNT_SCALE
    assert len(widths) == len(more)
    assert all(abs(a - b) <= width for a, b, width in zip(more, less, widths, strict=True))


@pytest.mark.parametrize("weights", [(9.0, 9.0), (0.0, 5.0), (np.nan, 2.0), (LARGEST, 5e-324)])
@pytest.mark.parametrize("values", [(LARGEST, -LARGEST), (3.0, -2.0), (np.nan, 0.5)])
def test_one_record_for_another_moves_sums_and_count_by_no_more_than_the_noise_hides(weights, values):
    totals = []
    for weight, value in zip(weights, values, strict=True):
        curves = np.vstack([CURVES[:5], np.full(GRID.size, value)])
        totals.append(sums(curves, np.append(WEIGHTS[:5], weight), "repair", unit="person"))
    prepared = weighted_sum(totals[0][0], Readable(CURVES[:5]), Weights(WEIGHTS[:5], 5)).plan
    norm, widths = prepared.problem(1).differences(prepared.trial)
    assert norm == "box"
    moved = [abs(a - b) for a, b in zip(totals[0][1], totals[1][1], strict=True)]
    assert all(move <= width for move, width in zip(moved, widths, strict=True))
    if (weights, values) == ((9.0, 9.0), (3.0, -2.0)):
        # From bound to bound: as far as the noise is made for, but for the count.
        assert moved[:-1] == pytest.approx(widths[:-1], rel=1e-9)
    if (weights, values) == ((0.0, 5.0), (3.0, -2.0)):
        assert moved[-1] == widths[-1] == COUNT_SCALE


def test_where_records_are_replaced_sums_get_twice_the_noise_and_the_count_the_same():
    made = [
        mean(epsilon=2.0, unit=unit).plan(100, GRID, max_weight=5)
        for unit in ("person", PrivacyUnit("person", neighbours="add-remove"))
    ]
    replaced, added = (plan.counted_design(2000).noise.scales for plan in made)
    assert replaced[-1] == added[-1]
    assert len(set(made[0].count_noise.scales + made[1].count_noise.scales)) == 1
    sums_of = [sum(scales[:-1]) for scales in (replaced, added)]
    assert sums_of[0] == pytest.approx(2 * sums_of[1], rel=1e-6)
    truth = np.minimum(WEIGHTS, 5) @ CURVES / np.minimum(WEIGHTS, 5).sum()
    usual = mean(unit="person").fit(CURVES, weights=Weights(WEIGHTS, 5)).release_
    assert np.sqrt(np.mean((usual(GRID) - truth) ** 2)) < 0.1
    text = " ".join(usual.describe().split())
    assert "the number of persons. Each counts as its weight over 5, one at most" in text


def test_the_count_gets_laplace_noise_of_its_tenth():
    # Errors of the first count, which moves by one at most: a tenth of epsilon hides it.
    curves, total = CURVES[:40], np.floor(np.minimum(WEIGHTS[:40], 5) / 5 * COUNT_SCALE).sum()
    plan = mean(epsilon=2.0).plan(100, GRID)
    summed = weighted_sum(plan, Readable(curves), Weights(WEIGHTS[:40], 5))
    law = check(summed.plan)
    noisy = (summed.total.count_with_noise(law.draw()[0], COUNT_SCALE) for _ in range(9000))
    errors = [each - int(total) for each in noisy]
    scale = COUNT_SCALE / 0.2
    assert fits_only_at_its_scale(errors, lambda x: np.where(
        x < 0, np.exp(np.minimum(x, 0) / scale) / 2, 1 - np.exp(-np.maximum(x, 0) / scale) / 2
    ))  # fmt: skip


def test_sums_and_count_get_the_box_noise_of_the_rest():
    curves, weights = CURVES[:40], WEIGHTS[:40]
    prepared = mean(epsilon=2.0).plan(100, GRID)
    errors = []
    for _ in range(120):
        made = mean(epsilon=2.0).fit(curves, weights=Weights(weights, 5)).release_
        summed = weighted_sum(prepared, Readable(curves), Weights(weights, 5))
        design = prepared.counted_design(max(1, round(made.divisor.before.value)))
        exact = exact_totals(prepared.measure(summed.total, design))
        scales = np.array(made.noise.scales, dtype=float)
        noisy = [*made.noisy_sum, made.divisor.noisy]
        exact = [*exact, summed.total.count_with_noise(0, COUNT_SCALE)]
        gaps = [abs(a - b) for a, b in zip(noisy, exact, strict=True)] / scales
        # The largest of M + 1 coordinates in scales is Gamma(M + 1): made uniform, as M differs.
        errors.append(gamma.cdf(gaps.max(), scales.size))
        assert made.noise.scales[-1] >= COUNT_SCALE / 1.8
    # At another scale than in force they would not be uniform.
    assert abs(np.mean(errors) - 0.5) < 5 / np.sqrt(12 * 120)


def test_a_file_says_that_records_were_weighted(tmp_path):
    made = mean().fit(CURVES, weights=Weights(WEIGHTS, 5)).release_
    again = load(made.save(tmp_path / "weighted.json"))
    assert np.array_equal(again(GRID), made(GRID))
    assert "Each counts as its weight over 5, one at most" in " ".join(again.describe().split())
    check_release(made)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"unit": PrivacyUnit(neighbours="add-remove", public_size=99)},
            "weights must be None but for",
        ),
        ({"bounds": L2Ball(1.0)}, "weights must be None but for the default mean"),
        ({"mechanism": "laplace"}, "weights must be None but for the default mean"),
        ({"variance": 0.2}, "weights must be None but for curves on a grid"),
        ({"bounds": Search(0, 1)}, "bounds must be stated for survey weights"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    ledger = MemoryLedger().create("curves", PureDP(9), neighbours="add-remove")
    with pytest.raises(ParameterError, match=words):
        mean(**parameters, ledger=ledger.of("curves")).fit(CURVES, weights=Weights(WEIGHTS, 5))
    assert [record.action for record in ledger.history("curves")] == ["create"]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (WEIGHTS[1:], "weights must be one a record"),
        (np.where(np.arange(3000) == 7, -1, WEIGHTS), "found another in row 7"),
        (np.where(np.arange(3000) == 9, np.nan, WEIGHTS), "found another in row 9"),
        (["a"] * 3000, "found another in row 0"),
    ],
)
def test_weights_that_are_refused(weights, words):
    ledger = MemoryLedger().create("curves", PureDP(9), neighbours="add-remove")
    with pytest.raises(DataError, match=words):
        mean(ledger=ledger.of("curves")).fit(CURVES, weights=Weights(weights, 5))
    assert [record.action for record in ledger.history("curves")] == ["create"]


@pytest.mark.parametrize("largest", [0, -1, np.inf, np.nan, "a"])
def test_a_largest_weight_that_is_refused(largest):
    with pytest.raises(ParameterError, match="largest must"):
        Weights(WEIGHTS, largest)


def test_weights_of_people_or_without_a_largest_are_refused():
    with pytest.raises(ParameterError, match="weights must be None but for curves on a grid"):
        mean().fit(CURVES, groups=np.arange(3000), weights=Weights(WEIGHTS, 5))
    with pytest.raises(ParameterError, match=r"weights must be Weights\(values, largest\)"):
        mean().fit(CURVES, weights=WEIGHTS)
