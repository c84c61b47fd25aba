"""Synthetic curves: what one unit moves, scales of counts, laws that are drawn from, files, words."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpfda import Domain, PrivacyUnit, PrivateCurveSampler, Reading, load
from dpfda.errors import BudgetError, ParameterError, StorageError
from dpfda.privacy.guarantees import Neighbours, PureDP, within
from dpfda.privacy.ledger import MemoryLedger
from dpfda.sampler.plan import SCORES
from dpfda.sampler.release import BINS, COUNT, EDGES, score_axes
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
    if "rho" not in given:
        # Under rho the ledger adds up pure stages to less than the check does.
        check_summary(model, curves)
    release = model.fit(curves).release_
    check_release(release)
    assert "must not be used" in release.describe().replace("\n", " ")
    path = release.save(tmp_path / "sampler.json")
    assert np.array_equal(load(path).sample(5, 1), release.sample(5, 1))
    written = json.loads(path.read_text())
    written["noise"]["scale"] //= 2
    path.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(path)


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
