"""The test that two groups have one mean function: its level, its power, and what it refuses."""

import numpy as np
import pytest

from dpfda import Domain, PrivateComparison
from dpfda.bounds import L2Ball
from dpfda.comparison import equality
from dpfda.comparison.release import ReleasedComparison
from dpfda.errors import ParameterError

GRID = np.linspace(0, 1, 12)
NAMES = np.repeat(["a", "b"], 60)


def released(
    shift: object = 0.0, spread: float = 0.0, epsilon: float = 1, **made: object
) -> ReleasedComparison:
    """Two groups of 60 waves; `spread` is the standard deviation of their levels."""
    levels = np.random.default_rng().normal(0, spread, (120, 1))
    curves = 0.5 + 0.2 * np.sin(5 * GRID) + levels + np.where(NAMES == "b", 1, 0)[:, None] * shift
    parameters = {"bounds": (0, 1), "domain": Domain(GRID)} | made
    return PrivateComparison(epsilon, **parameters).fit(curves, NAMES).release_


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equality, "DRAWS", 1999)


@pytest.mark.usefixtures("few_draws")
def test_equal_samples_differ_no_more_often_than_the_level() -> None:
    """100 releases of equal groups: at .2, 38 rejections or more are rarer than 1e-4."""
    found = [released().test("a", "b", 0.2, "samples").differ for _ in range(100)]
    assert 2 <= sum(found) < 38


@pytest.mark.usefixtures("few_draws")
def test_equal_populations_differ_no_more_often_and_sampling_is_in_it() -> None:
    """As above; without sampling in the law, groups from one population would be told apart."""
    both = [
        (
            made.test("a", "b", 0.2, variance=0.04).differ,
            made.test("a", "b", 0.2, "samples").differ,
        )
        for made in (released(spread=0.2) for _ in range(60))
    ]
    population, sample = np.sum(both, axis=0)
    assert population < 26
    assert sample > population


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("shift", "seen"), [(0.2, "level"), (0.25 * np.cos(np.pi * GRID), "slope")])
def test_differences_are_found_and_named(shift: object, seen: str) -> None:
    """Ten times the deviation of sampling, beside which the noise is small: missed below 1e-6."""
    found = released(shift, epsilon=20).test("a", "b", variance=0.01)
    assert found.differ
    assert found.seen == (seen,)
    assert "have one mean function is rejected" in str(found)
    assert f"mostly in {seen}" in str(found)


@pytest.mark.usefixtures("few_draws")
def test_the_statistic_is_the_difference_over_the_noise_of_its_form() -> None:
    made = released(0.3)
    found = made.test("a", "b", null="samples")
    difference, means = made.difference("a", "b"), np.zeros((4000, 2))
    weights = difference.first.basis.weights / difference.first.basis.weights.sum()
    for place, each in enumerate((difference.first.unshrunk, difference.second.unshrunk)):
        functions = each.basis.evaluate(GRID, each.order)
        means[:, place] = each.noise_draws(np.random.default_rng(5), 4000) @ (weights @ functions)
    gap = sum(
        s * (weights @ r.unshrunk.unclipped(GRID, 0)) for s, r in ((1, made["a"]), (-1, made["b"]))
    )
    other = gap / np.sqrt(means.var(axis=0).sum())
    assert abs(found.statistic / other - 1) < 0.1
    assert found == made.test("a", "b", null="samples")


def test_a_variance_that_is_stated_is_sharper_than_the_bounds() -> None:
    made = released(0.15)
    assert made.test("a", "b", variance=0.0001).p_value <= made.test("a", "b").p_value
    assert made.test("a", "b").null.startswith("the populations of a and b")
    # Bounds cap what is stated.
    assert made.test("a", "b", variance=9.0) == made.test("a", "b")


def test_what_is_refused() -> None:
    made = released()
    with pytest.raises(ParameterError, match="null must be one of"):
        made.test("a", "b", null="means")
    with pytest.raises(ParameterError, match="variance must be for null='populations'"):
        made.test("a", "b", null="samples", variance=0.1)
    with pytest.raises(ParameterError, match="group must be one of"):
        made.test("a", "c")
    with pytest.raises(ParameterError, match="level must lie"):
        made.test("a", "b", 1.5)
    ball = released(bounds=L2Ball(1.0), mechanism="laplace")
    with pytest.raises(
        ParameterError, match="variance must be stated where values have no public bounds"
    ):
        ball.test("a", "b")
    assert 0 < ball.test("a", "b", variance=0.1).p_value <= 1
