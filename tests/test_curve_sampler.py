"""Synthetic curves: what one unit moves, scales of counts, laws that are drawn from, files, words."""

import dataclasses
import functools
import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateCurveSampler, Reading, load
from dpfda.errors import BudgetError, ParameterError, StorageError
from dpfda.noise import gaussian_ratio, moved_counts
from dpfda.numerics.embedding import project
from dpfda.privacy.composition import GaussianLoss
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    within,
)
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.moments import FEW, PEAK, MomentsDesign, RadiusChoice
from dpfda.sampler.estimator import SCORES
from dpfda.sampler.release import BINS, COUNT, COUNTED, EDGES, beyond, score_axes
from dpfda.testing import check_release, check_summary

GRID = np.linspace(0.0, 2.0, 25)


def made_up(count: int, seed: int = 4) -> np.ndarray:
    """Curves of four waves, of which the first has a skewed score."""
    random = np.random.default_rng(seed)
    waves = np.cos(np.pi * np.outer(np.arange(4), GRID / 2))
    scores = random.normal(size=(count, 4)) * [0.0, 0.3, 0.2, 0.1]
    scores[:, 0] = 0.5 * (random.exponential(size=count) - 1)
    return 0.3 + scores @ waves


def estimator(epsilon: Any = 1.0, **given: Any) -> PrivateCurveSampler:
    return PrivateCurveSampler(epsilon, **{"bounds": (-2.0, 4.0), "domain": Domain(GRID), **given})


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_one_unit_moves_the_counts_by_their_width_and_no_more(neighbours: Neighbours) -> None:
    unit = PrivacyUnit("person", str(neighbours), 9 if neighbours is Neighbours.ADD_REMOVE else None)
    plan = estimator(unit=unit).plan(9, GRID)
    random = np.random.default_rng(1)
    size, beyond = plan.design.size, plan.basis.eigenvalues.size - plan.design.size
    rest = random.normal(size=(8, size + beyond))
    moments = plan.design.published(rest[:, :size], 9)
    far = [
        np.full(size + beyond, 1e300), np.full(size + beyond, -1e300),
        np.append(moments.mean, np.zeros(beyond)),
    ]  # fmt: skip

    def counts(*more: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            total = plan.scores(np.vstack([rest, *more]), moments)
        return np.array(total.with_noise([0] * total.components), dtype=object)

    if neighbours is Neighbours.ADD_REMOVE:
        moved = [np.abs(counts(one) - counts()).sum() for one in far]
    else:
        moved = [np.abs(counts(one) - counts(other)).sum() for one in far for other in far]
    assert max(moved) == plan.widths[SCORES]
    assert plan.widths[SCORES] == (plan.counted + 1) * COUNT * (
        1 if neighbours is Neighbours.ADD_REMOVE else 2
    )


def test_scales_of_counts_are_their_width_over_their_share() -> None:
    """Fails for scales that are wrong by sqrt(2)."""
    plan = estimator().plan(100, GRID)
    exact = plan.widths[SCORES] / Fraction(3, 10)
    assert all(0 <= scale - exact <= 1 for scale in plan.laws[SCORES].scales)
    assert within(plan.certified().guarantee, PureDP(Fraction(1)))
    assert plan.certified().guarantee == PureDP(Fraction(1))


def test_counts_have_their_noise_and_no_other() -> None:
    curves = made_up(40)
    plan = estimator().plan(40, GRID)
    noises = []
    for _ in range(12):
        release = estimator().fit(curves).release_
        noisy = np.array(release.counts, dtype=np.float64)
        # Whole counts are multiples of 2^20, and the scale is 47 of them: what is left is no use, but
        # forty units in 16 bins add a spread that is known.
        noises += [*noisy]
    spread = np.std(noises) / math.sqrt(2) / plan.laws[SCORES].scales[0]
    # Counts between 0 and 40, beside a deviation of 66: they raise it by less than 4 per cent. That of
    # 1,344 Laplace variables has a deviation of 3.1 per cent.
    assert 2**-0.25 < spread < 2**0.25 * 1.04


NORMAL: list[tuple[dict[str, Any], Guarantee]] = [
    ({"delta": "1e-5"}, ApproximateDP(Fraction(1), Fraction(1, 100_000))),
    ({"epsilon": None, "rho": 0.05}, ZeroConcentratedDP(Fraction(1, 20))),
]


@pytest.mark.parametrize(("given", "guarantee"), NORMAL, ids=["delta", "rho"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_all_normal_noise_is_one_normal_law_of_the_whole_budget(
    given: dict[str, Any], guarantee: Guarantee, neighbours: Neighbours
) -> None:
    """Fails for one scale that is wrong by sqrt(2) either way: mu would move by .9 per cent or more."""
    unit = PrivacyUnit("person", str(neighbours), 5000 if neighbours is Neighbours.ADD_REMOVE else None)
    plan = estimator(unit=unit, domain=None, **given).plan(5000, np.linspace(0, 2, 60))
    design, two = plan.design, neighbours is Neighbours.REPLACE_ONE
    one = design.ball.radius
    # Lengths by which one unit moves each sum, by hand: a vector for another; a bin for another in each
    # of one and seven tables; an outer product for another of an orthogonal vector.
    moved = [
        (design.mean_noise.scales[0], 2 * one if two else one),
        (design.choices[0].noise.scales[0], (2 if two else 1) ** 0.5 * (1 << 20)),
        *(
            (law.scale, (2 if two else 1) ** 0.5 * design.outer.radius**2)
            for law in design.laws.values()
        ),
        (plan.laws[SCORES].scales[0], (14 if two else 7) ** 0.5 * COUNT),
    ]
    assert len(moved) == 7
    mu = math.sqrt(sum((width / scale) ** 2 for scale, width in moved))
    assert mu == pytest.approx(float(gaussian_ratio(guarantee)), rel=1e-5)
    certificate = plan.certified()
    assert certificate.guarantee == guarantee
    assert certificate.stages == ("all together",)
    assert isinstance(certificate.costs[0].loss, GaussianLoss)
    assert within(plan.whole_achieved(), guarantee)


def test_normal_noise_has_its_scale_at_every_stage() -> None:
    """Two units are nothing beside it. Deviations of pooled spreads are at most 3 per cent."""
    curves, found = made_up(2), dict[str, list[float]]()
    plan = estimator(delta=1e-5).plan(2, GRID)
    for _ in range(60):
        release = estimator(delta=1e-5).fit(curves).release_
        moments, (choice,) = release.moments, plan.design.choices
        parts = {"mean": (moments.mean_sum, plan.design.mean_noise)}
        parts["length"] = moments.selections[0].noisy_counts, choice.noise
        parts["scores"] = release.counts, plan.laws[SCORES]
        for step, law in zip(moments.steps, plan.design.laws.values(), strict=True):
            parts[f"step of {law.scale}"] = step.noisy_sum, law
        for name, (numbers, law) in parts.items():
            found.setdefault(name, []).extend(np.array(numbers) / np.sqrt(law.variances()))
    assert len(found) >= 5
    for name, numbers in found.items():
        assert 2**-0.25 < np.std(numbers) < 2**0.25, name


def test_one_unit_adds_no_more_than_the_ball_with_its_constant() -> None:
    plan = estimator(delta=1e-5).plan(2, GRID)
    sizes, square = (plan.design.coordinates, plan.design.size), plan.design.outer.radius**2
    assert sizes == (GRID.size, 12)
    for far in (0.0, 1.0, 1e300):
        rows = np.full((1, sizes[0]), far)
        moments = plan.design.published(rows, 2, lambda law: [0] * law.components)
        for place, step in enumerate(moments.steps):
            # What is not on the diagonal of a sum over one unit counts for nothing here.
            ends = np.cumsum(np.arange(1, sizes[place > 0] + 2)) - 1
            trace = sum(step.noisy_sum[end] for end in ends)
            assert 0 < trace <= square
    assert trace > 0.4 * square


def test_the_last_step_sees_leading_directions_as_large_and_others_smaller() -> None:
    """Along axes, without noise: by twelve over the direction's number."""
    design = estimator(domain=None, delta="1e-5").plan(5000, np.linspace(0, 2, 60)).design
    deviations = 0.6 / (1.0 + np.arange(design.coordinates))
    rows = np.random.default_rng(6).normal(size=(5000, design.coordinates)) * deviations
    moments = design.published(rows, len(rows), lambda law: [0] * law.components)
    # Those that vary most are the leading ones, in this order.
    far = np.abs(moments.axes) - np.eye(*moments.axes.shape)
    assert np.abs(far[:20, :20]).max() < 0.4
    varied = moments.axes @ moments.matrix @ moments.axes.T
    kept, deviations = slice(design.size - 4), deviations[: design.size - 4]
    assert np.diag(varied)[kept] == pytest.approx(deviations**2, rel=0.2)
    assert moments.centre[kept] / deviations == pytest.approx(np.zeros(deviations.size), abs=0.1)
    before, last = (
        np.linalg.norm(
            (np.linalg.inv(moments.factors[step])[:, :-1] @ moments.axes.T)[:, kept] * deviations, axis=0
        )
        for step in (2, 3)
    )
    far = np.minimum(1.0, 12 / (1.0 + np.arange(deviations.size)))
    assert last / last[0] == pytest.approx(far, rel=0.25)
    assert before / before[0] == pytest.approx(np.ones(deviations.size), rel=0.35)
    assert last[0] > 1.2 * before[0]


def test_the_last_two_steps_are_averaged_by_their_precision() -> None:
    """Of 300 draws a variance is off by 8 per cent; the last step alone has half as much more."""
    whole = ZeroConcentratedDP(Fraction(100))
    design = MomentsDesign((1,), (4.0,), ("a",), whole, Neighbours.REPLACE_ONE, 4, decay=0.5, focus=3)
    rows, found = np.resize([1.0, -1.0], (40, 1)), []
    for _ in range(300):
        moments = design.published(rows, 40)
        found.append(moments.matrix[0, 0])
    scales = [moments.factors[step][0] @ moments.factors[step][0] for step in (2, 3)]
    powers = [scale**2 * moments.power(step) for step, scale in zip((2, 3), scales, strict=True)]
    assert np.mean(found) == pytest.approx(1.0, abs=0.05)
    expected = 1 / sum(1 / power for power in powers)
    assert 0.75 < np.var(found) / expected < 1.25
    assert powers[1] > 1.35 * expected


def test_counts_in_bins_move_in_l2_by_the_root_of_their_moves() -> None:
    moved = np.zeros(7 * BINS)
    moved[::BINS], moved[1::BINS] = COUNT, -COUNT
    norm, width = moved_counts(14 * COUNT, COUNT, True)
    assert (norm, width) == ("l2", math.ceil(np.linalg.norm(moved)))
    assert moved_counts(14 * COUNT, COUNT, False) == ("l1", 14 * COUNT)


def test_small_components_are_measured_with_a_delta() -> None:
    """Means and deviations along a direction of a hundredth of the leading deviation."""
    random, at = np.random.default_rng(3), np.linspace(0, 1, 40)
    waves = np.stack([np.cos(np.pi * at), np.sin(5 * np.pi * at)])
    waves /= np.linalg.norm(waves, axis=1)[:, None]
    scores = random.normal(size=(5000, 2)) * [1.0, 0.03] + [0.5, 0.1]
    ratios, shifts = [], []
    for _ in range(5):
        made = PrivateCurveSampler(1, delta=1e-5, bounds=(-5, 5)).fit(scores @ waves).release_
        found = made.sample(5000, 1) @ np.linalg.pinv(waves)
        ratios.append(found[:, 1].std() / 0.03)
        shifts.append(abs(found[:, 1].mean() - scores[:, 1].mean()) / 0.03)
    assert 0.7 < np.median(ratios) < 1.4
    assert np.median(shifts) < 0.5


def test_curves_that_are_mostly_zero_keep_their_variance() -> None:
    """Only 15 in 100 curves deviate: a radius for most of them, and steps, would leave them out."""
    random, at = np.random.default_rng(8), np.linspace(0, 2 * np.pi, 30)
    modes = np.array([0 * at + 0.1, 0.08 * np.sin(at), 0.08 * np.cos(at)])
    curves = np.zeros((5000, 30))
    some = random.random(5000) < 0.15
    curves[some] = np.clip(0.3 + random.standard_normal((some.sum(), 3)) @ modes, 0, 1)
    for _ in range(3):
        made = PrivateCurveSampler(1, delta=1e-5, bounds=(0, 1)).fit(curves).release_
        found = made.sample(5000, 1).var(axis=0).sum() / curves.var(axis=0).sum()
        assert 0.35 < found < 1.3
        assert made.moments.peak is not None
        assert 1.25 < made.moments.peak < 3
        again = type(made).from_json(json.loads(json.dumps(made.to_json())))
        assert np.array_equal(again.moments.matrix, made.moments.matrix)
    assert estimator(delta=1e-5).fit(made_up(5000)).release_.moments.peak is None


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_squares_of_few_units_are_told_from_noisy_counts(share: float) -> None:
    """A unit drawn by its share of squares is share^(-1/2) times as long as the root mean square."""
    choice = RadiusChoice(8.0, PureDP("0.5"), Neighbours.REPLACE_ONE)
    lengths = np.where(np.arange(5000) < share * 5000, 1.7, 0.02)
    found = [choice.gathered(choice.released(lengths), 5000, 0.0) for _ in range(20)]
    few = share < 1 / FEW**2
    assert all((length > 0) == few == (peak is not None) for length, peak in found)
    if few:
        assert np.allclose([peak for _, peak in found], share**-0.5 / PEAK, rtol=0.2)
        assert all(1.5 < length < 2.1 for length, _ in found)


def test_without_noise_synthetic_curves_are_like_the_real_ones() -> None:
    curves = made_up(20_000)
    made = estimator(1e5).fit(curves).release_.sample(20_000, 3)
    assert np.abs(made.mean(axis=0) - curves.mean(axis=0)).max() < 0.02
    assert np.abs(np.cov(made.T) - np.cov(curves.T)).max() < 0.03
    for share in (0.05, 0.5, 0.95):
        gap = np.quantile(made, share, axis=0) - np.quantile(curves, share, axis=0)
        assert np.abs(gap).max() < 0.08
    # The skewness is in the law of a score; normal ones would have none.
    assert stats.skew(made[:, 0]) > 0.5


def test_laws_are_normal_where_noise_drowns_the_counts() -> None:
    release = estimator(0.001).fit(made_up(30)).release_
    for shares in release.score_laws:
        expected = np.diff(stats.norm.cdf(np.concatenate([[-np.inf], EDGES[1:-1], [np.inf]])))
        assert shares == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("epsilon", "shares"), [(1.0, (0.0, 0.4)), (1e5, (0.98, 1.02))])
def test_mean_and_variance_are_of_moments_where_counts_are_noisy(
    epsilon: float, shares: tuple[float, float]
) -> None:
    """All units are put into one bin of the first score, far above its mean."""
    release = estimator(epsilon).fit(made_up(5000)).release_
    counts = np.zeros(BINS, dtype=int)
    counts[-4] = 5000 * COUNT
    changed = replace(release, counts=(*counts.tolist(), *release.counts[BINS:]))
    law = changed.score_laws[0]
    mean = law @ (EDGES[1:] + EDGES[:-1]) / 2
    square = law @ (EDGES[1:] ** 2 + EDGES[1:] * EDGES[:-1] + EDGES[:-1] ** 2) / 3
    assert mean > 0.4
    deviations, directions = score_axes(release.moments)
    at = release.basis.evaluate(GRID)[:, : len(directions)]
    rows = np.linalg.lstsq(at, (changed.sample(40_000, 2) - 1).T)[0].T - release.moments.centre
    scores = rows @ directions[:, 0] / deviations[0]
    # Of 40,000 draws means are off by .02, and squares by .04, less than once in 10,000 times.
    low, high = np.array(shares) * mean + (-0.02, 0.02)
    assert low < scores.mean() < high
    power = square - mean**2
    assert 1 + shares[1] * (power - 1) - 0.04 < scores.var() < 1 + shares[0] * (power - 1) + 0.04


def test_scores_are_those_of_the_released_moments() -> None:
    release = estimator(1e5).fit(made_up(3000)).release_
    deviations, directions = score_axes(release.moments)
    assert np.all(np.diff(deviations) <= 0)
    assert directions @ np.diag(deviations**2) @ directions.T == pytest.approx(
        release.moments.matrix, abs=1e-6
    )
    assert len(release.counts) == (release.components + 1) * BINS


def test_synthetic_curves_are_as_rough_as_real_ones() -> None:
    """What the leading functions leave has its length; files of before have none of it."""
    random = np.random.default_rng(5)
    rough = made_up(5000) + 0.2 * random.normal(size=(5000, GRID.size))
    release = estimator(4).fit(rough).release_
    made = release.sample(5000, 1)

    def steps(curves: np.ndarray) -> float:
        return float(np.mean(np.diff(curves, 3, axis=1) ** 2))

    assert steps(made) == pytest.approx(steps(rough), rel=0.25)
    smooth = estimator(4).fit(made_up(5000)).release_.sample(5000, 1)
    assert steps(smooth) < 0.05 * steps(made)


def test_synthetic_curves_keep_to_the_bounds_and_to_a_seed() -> None:
    release = estimator(bounds=(0.0, 0.5)).fit(made_up(50)).release_
    curves = release.sample(500, 1)
    assert curves.shape == (500, 25)
    assert np.all((curves >= 0) & (curves <= 0.5))
    assert np.array_equal(curves, release.sample(500, 1))
    assert not np.array_equal(curves, release.sample(500))
    with pytest.raises(ParameterError, match="n must be"):
        release.sample(-1)


def test_scikit_fda_reads_them() -> None:
    pytest.importorskip("skfda")
    grid = estimator().fit(made_up(50)).release_.sample_fdatagrid(7, 1)
    assert grid.n_samples == 7
    assert np.array_equal(grid.grid_points[0], GRID)


@pytest.mark.parametrize("given", [{}, {"delta": 1e-6}, {"epsilon": None, "rho": 0.5}])
def test_it_keeps_the_contract(given: dict[str, Any], tmp_path: Any) -> None:
    curves = made_up(20)
    model = estimator(**given)
    check_summary(model, curves)
    release = model.fit(curves).release_
    check_release(release)
    said = " ".join(release.describe().split())
    assert "must not be used" in said
    # Both laws that curves are made of.
    assert (
        f"how the noise is made: {release.moments.laws[-1].describe()}; {release.noise.describe()};"
        in said
    )
    path = release.save(tmp_path / "sampler.json")
    assert np.array_equal(load(path).sample(5, 1), release.sample(5, 1))
    for place, entry in ((("noise",), "scale"), (("moments", "steps", 0, "noise"), "scale")):
        written = json.loads(path.read_text())
        law = functools.reduce(lambda held, key: held[key], place, written)
        law[entry] //= 2
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            load(path)
        law[entry] *= 2
        path.write_text(json.dumps(written))


@pytest.mark.parametrize("change", ["a law", "an earlier law", "a stage"])
def test_files_of_normal_noise_are_charged_together(change: str, tmp_path: Any) -> None:
    path = estimator(delta=1e-6).fit(made_up(20)).release_.save(tmp_path / "sampler.json")
    written = json.loads(path.read_text())
    if change == "a law":
        written["noise"]["law"] = "k-norm"
    elif change == "an earlier law":
        # It gives no rho, and is not to be left out of the sum of those of others.
        pure = estimator().fit(made_up(20)).release_.to_json()
        written["moments"]["mean_noise"] = pure["moments"]["mean_noise"]
    else:
        written["costs"][0]["stage"] = "release"
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)


def test_lengths_of_what_no_function_lies_beyond_are_left_aside(tmp_path: Any) -> None:
    """As some files hold them, which read them as the law of a score."""
    points = np.linspace(0, 1, 8)
    curves = np.random.default_rng(2).normal(size=(3000, 8))
    release = PrivateCurveSampler(100, bounds=(-5, 5), domain=Domain(points)).fit(curves).release_
    counts = (*release.counts, 3000 * COUNT, *[0] * (BINS - 1))
    noise = type(release.noise).equal(len(counts), release.noise.scales[0])
    faulty = dataclasses.replace(release, counts=counts, noise=noise)
    assert faulty.components == COUNTED
    assert np.array_equal(faulty.sample(50, 1), release.sample(50, 1))
    with pytest.raises(ParameterError, match="counts must"):
        dataclasses.replace(release, counts=counts[: 5 * BINS])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bounds": None}, "bounds"),
        ({"unit": PrivacyUnit("person", "add-remove")}, "public_size must be given"),
        ({"reading": Reading(standardize=True)}, "reading must have"),
    ],
)
def test_what_is_refused_is_refused_before_the_charge(given: dict[str, Any], words: str) -> None:
    ledger = MemoryLedger()
    ledger.create("data", PureDP(Fraction(9)), unit="person")
    with pytest.raises(ParameterError, match=words):
        estimator(ledger=ledger.of("data"), **given).fit(made_up(9))
    assert not [each for each in ledger.history("data") if each.action == "charge"]


def test_a_ledger_without_the_budget_refuses() -> None:
    ledger = MemoryLedger()
    ledger.create("data", PureDP(Fraction(1, 2)))
    with pytest.raises(BudgetError):
        estimator(ledger=ledger.of("data")).fit(made_up(9))


@pytest.mark.parametrize("points", [4, 6, 10, 12, 13])
def test_few_points_have_no_lengths_beyond_their_functions(points: int) -> None:
    random = np.random.default_rng(points)
    curves = random.normal(size=(20_000, points))
    made = PrivateCurveSampler(10_000, bounds=(-5, 5))
    plan = made.plan(20_000, np.linspace(0, 1, points))
    assert plan.tables == min(points, 6) + (points > 12)
    release = made.fit(curves).release_
    assert release.components == min(points, 6)
    drawn = release.sample(20_000, 1)
    # Deviations of a mean: .007 of each side. With a table of lengths for a score .3 to .8 were found.
    assert np.abs(drawn.mean(axis=0) - curves.mean(axis=0)).max() < 0.07
    assert release.view() is not None


def test_noise_makes_no_smooth_curves_rough() -> None:
    random, at = np.random.default_rng(8), np.linspace(0, 1, 50)
    rough = []
    for _ in range(12):
        smooth = random.normal(size=(2000, 1)) * np.cos(3 * at) + 0.5 * random.normal(size=(2000, 1))
        release = PrivateCurveSampler(1, delta=1e-5, bounds=(-5, 5)).fit(smooth).release_
        differences = np.diff(release.sample(300, 1), 2, axis=1)
        rough.append(np.mean(np.sqrt(np.mean(differences**2, axis=1)) > 1))
    # A tenth was in the longest bins in one release of four before noise was allowed for.
    assert max(rough) == 0


@pytest.mark.parametrize(("size", "shown"), [(0.0, "Most"), (0.002, "Most"), (0.2, None)])
def test_it_is_said_first_when_synthetic_curves_show_noise(size: float, shown: str | None) -> None:
    curves = np.cumsum(np.random.default_rng(52).normal(size=(5000, 30)), axis=1) / 6
    count = 5000 if shown is None else 1000
    release = (
        PrivateCurveSampler(1.0, bounds=(0, 1)).fit(np.clip(0.4 + size * curves[:count], 0, 1)).release_
    )
    varied = release.sample(2000, 1).var(axis=0).mean() / max((size * curves).var(axis=0).mean(), 1e-30)
    said = " ".join(release.describe().split())
    assert (varied < 1.5) == (shown is None)
    assert ("of what synthetic curves show may be noise" in said) == (shown is not None)
    assert shown is None or f"{shown} of what" in said


def test_the_share_of_noise_is_one_where_nothing_else_was_measured() -> None:
    release = PrivateCurveSampler(1.0, bounds=(0, 1)).fit(np.full((1000, 30), 0.5)).release_
    moments = release.moments
    last = replace(
        moments.steps[-1], noisy_sum=tuple(value * 0 for value in moments.steps[-1].noisy_sum)
    )
    assert replace(moments, steps=(*moments.steps[:-1], last)).noise_share == 1.0
    assert 0.5 < moments.noise_share <= 1.0


def detailed(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Curves of 120 points with a level and a wave finer than 48 functions, and that wave's scores."""
    random, at = np.random.default_rng(9), np.linspace(0, 1, 120)
    fine = np.cos(np.pi * 70 * at) * np.exp(-(((at - 0.3) / 0.1) ** 2))
    scores = 0.3 + 0.2 * random.standard_normal(count)
    return 0.5 * random.standard_normal((count, 1)) + np.outer(scores, fine), fine


def test_details_finer_than_the_functions_have_their_mean_and_variance() -> None:
    """Before, what lay outside 48 functions had no mean and no direction."""
    curves, fine = detailed(5000)
    ratios, means = [], []
    for _ in range(3):
        release = PrivateCurveSampler(1, delta=1e-5, bounds=(-3, 3)).fit(curves).release_
        assert release.moments.axes.shape == (120, 48)
        found = release.sample(5000, 1) @ fine / (fine @ fine)
        ratios.append(found.std() / 0.2)
        means.append(found.mean())
    assert 0.8 < np.median(ratios) < 1.25
    assert 0.22 < np.median(means) < 0.38


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_one_unit_moves_every_step_by_its_length_and_no_more(neighbours: Neighbours) -> None:
    """The first step sees 25 coordinates, later ones 12 directions: fails for scales off by sqrt(2)."""
    unit = PrivacyUnit("person", str(neighbours), 9 if neighbours is Neighbours.ADD_REMOVE else None)
    design = estimator(delta=1e-5, unit=unit).plan(9, GRID).design
    assert (design.coordinates, design.size, design.count) == (25, 12, 4)
    random = np.random.default_rng(3)
    moments = design.published(random.normal(size=(9, 25)), 9)
    rows = np.column_stack([random.normal(size=(60, 25)) * 1e6, np.ones(60)])
    factor = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    for place, law in enumerate(design.laws.values()):
        before = replace(moments, steps=moments.steps[:place])
        through = np.asarray(before.through, dtype=np.float64)
        assert through.shape == (26, 13 if place else 26)
        assert law.size == through.shape[1]
        seen = np.asarray(design.outer.clip(project(rows, through)), dtype=np.float64)
        outer = np.einsum("ni,nj->nij", seen, seen)
        apart = outer[:30] - outer[30:] if factor == 2 else outer
        moved = np.linalg.norm(apart, axis=(1, 2)).max()
        width = math.sqrt(factor) * design.outer.radius**2
        assert 0.95 * width < moved <= width * (1 + 1e-9)
        scale = width / gaussian_ratio(design.parts[f"second moments, step {place + 1}"])
        assert law.scale == pytest.approx(scale, rel=1e-6)


def test_axes_are_the_same_wherever_a_file_is_read(tmp_path: Any) -> None:
    release = PrivateCurveSampler(1, delta=1e-5, bounds=(-3, 3)).fit(detailed(2000)[0]).release_
    axes = release.moments.axes
    assert axes.T @ axes == pytest.approx(np.eye(axes.shape[1]), abs=1e-9)
    outside = beyond(release.moments, 120)
    assert np.column_stack([axes, outside]).T @ outside == pytest.approx(
        np.eye(120, 120)[:, axes.shape[1] :], abs=1e-9
    )
    # A sign that a program is free to choose is chosen by the largest entry.
    largest = np.argmax(np.abs(axes), axis=0)
    assert np.all(axes[largest, np.arange(largest.size)] > 0)
    path = release.save(tmp_path / "sampler.json")
    assert np.array_equal(load(path).sample(5, 1), release.sample(5, 1))
    written = json.loads(path.read_text())
    for seen in (119, 20, None):
        written["moments"]["seen"] = seen
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            load(path)
    written["moments"]["seen"] = 120
    written["moments"]["steps"] = written["moments"]["steps"][:2]
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)
