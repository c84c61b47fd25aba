"""A test that groups have one mean function: its noise, its level, its power, and what it refuses."""

import math

import numpy as np
import pytest
from scipy import stats

from dpfda import Domain, PrivateEqualityTest
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError
from dpfda.mean.comparison.equality_test import publish_test
from dpfda.mean.comparison.forms import LOOKS, Forms, largest_tail, quantiles
from dpfda.mean.comparison.tested_release import ReleasedTest
from dpfda.numerics.aggregate import exact_product
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.publication.integers import statistic_noise

GRID = np.linspace(0, 1, 40)
UNIT = 2**20
SHAPES = {
    "level": np.ones(40),
    "slope": np.cos(np.pi * GRID),
    "bend": np.cos(2 * np.pi * GRID),
    "bumps": (np.abs(GRID - 0.3) < 0.03).astype(float),
}


def estimator(epsilon: float = 1.0, **parameters: object) -> PrivateEqualityTest:
    return PrivateEqualityTest(epsilon, **{"bounds": (0, 1), "domain": Domain(GRID)} | parameters)  # type: ignore[arg-type]


def groups(*sizes: int) -> np.ndarray:
    return np.repeat(list("abcdef")[: len(sizes)], sizes)


def exact(made: PrivateEqualityTest, curves: np.ndarray, names: np.ndarray) -> int:
    """The statistic without noise, as it is published."""
    parts, plan = made.prepare(curves, names)
    cube, cells = plan.one.problem(1).cube, plan.one.measured
    assert cube is not None
    assert cells is not None
    half_widths = exact_product(cells, cube.half_widths.tolist())
    sums = [list(part.total.with_noise([0] * len(cells))) for part in parts.values()]
    return plan.forms.statistic(sums, half_widths)


@pytest.mark.parametrize("look_for", LOOKS)
@pytest.mark.parametrize("sizes", [(3, 7), (4, 2, 5)])
def test_one_unit_moves_the_statistic_by_one_unit_of_the_smallest_group(
    look_for: str, sizes: tuple[int, ...]
) -> None:
    """Never by more, for records at the ends of their bounds; and by as much, so no noise is wasted."""
    generator, names = np.random.default_rng(2), groups(*sizes)
    made, moves = estimator(look_for=look_for), []
    first = np.flatnonzero(names == "abc"[int(np.argmin(sizes))])
    for shape in (*SHAPES.values(), generator.choice([-1.0, 1.0], 40)):
        curves = np.tile(shape <= 0, (len(names), 1)).astype(float)
        curves[first] = shape > 0
        changed, anywhere = curves.copy(), curves.copy()
        changed[first[0]] = shape <= 0
        anywhere[generator.integers(len(names))] = generator.uniform(-1, 2, 40)
        here = exact(made, curves, names)
        moves += [abs(exact(made, other, names) - here) for other in (changed, anywhere)]
    assert max(moves) == UNIT


def test_the_statistic_is_that_of_the_definition() -> None:
    """By another road: means of clipped curves in floats, and the largest of the norms."""
    names, curves = groups(50, 80), np.random.default_rng(3).uniform(-0.2, 1.2, (130, 40))
    curves[:50] += 0.2 * SHAPES["slope"]
    clipped = np.clip(curves, 0, 1)
    gap = clipped[:50].mean(axis=0) - clipped[50:].mean(axis=0)
    # Trapezoidal weights: the ends of the grid count half.
    weights = np.where((GRID == 0) | (GRID == 1), 0.5, 1.0)

    def mean(*where: slice) -> float:
        places = np.concatenate([np.arange(40)[each] for each in where])
        return float(np.average(gap[places], weights=weights[places]))

    cells = np.array([mean(slice(2 * k, 2 * k + 2)) for k in range(20)])
    expected = {
        "level": abs(mean(slice(0, 40))),
        "slope": abs(mean(slice(0, 10)) - mean(slice(30, 40))) / 2,
        "bend": abs(mean(slice(0, 5), slice(35, 40)) * 9 - mean(slice(15, 25)) * 10) / 19,
        "bumps": np.abs(cells).max(),
    }
    for look_for, wanted in expected.items():
        found = exact(estimator(look_for=look_for), curves, names) / UNIT / 50
        assert found == pytest.approx(wanted, abs=1e-5)
    offset = 1.2623 * 0.1 * math.sqrt(2 / 50)
    overall = max(np.sqrt(np.mean(cells**2)), np.abs(cells).max() - offset)
    assert exact(estimator(), curves, names) / UNIT / 50 == pytest.approx(overall, abs=1e-5)


@pytest.mark.parametrize("points", [2, 7, 40, 93, 400])
def test_the_cells_are_those_of_the_sums(points: int) -> None:
    plan = estimator(domain=Domain(np.linspace(0, 1, points))).plan(30)
    made = np.equal.outer(np.arange(plan.forms.cells), plan.forms.labels)
    np.testing.assert_array_equal(plan.one.measured, made)


def test_the_noise_is_laplace_of_one_unit_over_epsilon() -> None:
    """Of 1,000 draws the mean size is 1 / epsilon within .18, six standard errors; sqrt 2 is not."""
    names, curves = groups(20, 30), np.random.default_rng(1).uniform(0, 1, (50, 40))
    made = estimator(0.5, look_for="level")
    parts, plan = made.prepare(curves, names)
    middle = exact(made, curves, names)
    drawn = [publish_test(parts, plan).shares.noisy[0] - middle for _ in range(1000)]
    assert 0.82 < np.mean(np.abs(drawn)) / UNIT * 0.5 < 1.18
    assert plan.costs()["release"].guarantee == PureDP(0.5)
    release = made.fit(curves, names).release_
    assert release.certificate.achieved.epsilon <= 0.5
    assert release.shares.deviation == pytest.approx(2**0.5 / 0.5, rel=1e-4)


def test_under_rho_the_noise_is_normal_where_that_is_smaller() -> None:
    law, charged, *_ = statistic_noise(ZeroConcentratedDP(0.02))
    assert law.law == "gaussian"
    assert charged == ZeroConcentratedDP(0.02)
    # One unit moves the statistic by one: variance 1 / (2 rho).
    assert law.variances()[0] / UNIT**2 == pytest.approx(25, rel=1e-3)
    assert statistic_noise(ApproximateDP(1, 1e-6))[1] == PureDP(1)


@pytest.mark.parametrize("look_for", LOOKS)
def test_for_samples_p_values_are_those_of_the_noise(look_for: str) -> None:
    """Where groups have one mean function the statistic is zero but for Laplace noise."""
    same = np.tile(np.random.default_rng(2).uniform(0, 1, (30, 40)), (2, 1))
    made = estimator(2.0, look_for=look_for)
    assert exact(made, same, groups(30, 30)) == 0
    plan, law = made.plan(30), statistic_noise(PureDP(2))[0]
    for level in (0.001, 0.05, 0.4, 0.9):
        value = stats.laplace.isf(level, scale=UNIT / 2)
        assert plan.forms.p_value(value, law, np.zeros(40)) == pytest.approx(level, abs=2e-4)
        assert plan.forms.critical(level, law, np.zeros(40)) == pytest.approx(value, abs=0.01 * UNIT)


CORRELATIONS = {
    "one level": np.ones((40, 1)),
    "white": np.eye(40),
    "smooth": np.stack([np.ones(40), *(np.cos(k * np.pi * GRID) for k in range(1, 5))], axis=1),
}


@pytest.mark.parametrize("correlations", CORRELATIONS)
@pytest.mark.parametrize("look_for", LOOKS)
@pytest.mark.parametrize("epsilon", [0.05, 20.0])
def test_equal_populations_differ_no_more_often_than_the_level(
    correlations: str, look_for: str, epsilon: float
) -> None:
    """Of 4,000 pairs of normal groups, for any correlations; .067 is five standard errors away."""
    forms, generator = Forms(np.full(40, 0.5), np.ones(40), (50, 80), look_for), np.random.default_rng(4)
    root = CORRELATIONS[correlations]
    root = 0.1 * root / np.sqrt(np.sum(root**2, axis=1, keepdims=True))
    gaps = generator.standard_normal((4000, root.shape[1])) @ root.T * math.sqrt(1 / 50 + 1 / 80)
    sizes = [
        np.sqrt(np.mean((gaps @ norm.rows.T / np.abs(norm.rows).sum(axis=1)) ** 2, axis=1)) * 50 * UNIT
        - norm.offset
        for norm in forms.norms
    ]
    law = statistic_noise(PureDP(epsilon))[0]
    noisy = np.max(sizes, axis=0) + law.simulate(generator, 4000)[:, 0]
    rejected = np.mean(noisy >= forms.critical(0.05, law, np.full(40, 0.01)))
    assert rejected < 0.067
    if correlations == "one level" and look_for in ("any", "level"):
        # The worst case is had, so that the level is not thrown away.
        assert rejected > (0.018 if look_for == "any" else 0.033)


def test_mean_squares_of_normal_variables_have_the_tail_that_is_claimed() -> None:
    """Two of any variances by numerical integration, and equal ones by chi squared."""
    places = np.linspace(-9, 9, 20_001)
    for value in (1.01, 1.1, 1.2, 1.3, 1.6, 2.5):
        claimed = largest_tail(np.array([value]), 1.0, 20)[0]
        for share in (0.5, 0.7, 0.9, 0.99):
            rest = np.maximum(value**2 - share * places**2, 0.0) / (1 - share)
            beyond = np.trapezoid(stats.norm.pdf(places) * stats.chi2.sf(rest, 1), places)
            assert beyond <= claimed + 1e-6
        for count in (1, 2, 5, 20):
            assert stats.chi2.sf(count * value**2, count) <= claimed + 1e-12
    assert largest_tail(np.array([2.0]), 1.0, 20)[0] == pytest.approx(2 * stats.norm.sf(2))
    assert largest_tail(np.array([-1.0, 0.0, 0.5]), 1.0, 20).tolist() == [1, 1, 1]
    assert largest_tail(np.array([-1.0, 0.0, 0.5]), 0.0, 3).tolist() == [1, 1, 0]


def test_quantiles_are_those_of_the_laws() -> None:
    laplace, normal = (
        quantiles(statistic_noise(each)[0]) for each in (PureDP(1), ZeroConcentratedDP(0.02))
    )
    chance = (np.arange(laplace.size) + 0.5) / laplace.size
    np.testing.assert_allclose(laplace / UNIT, stats.laplace.ppf(chance), rtol=1e-4)
    np.testing.assert_allclose(normal / UNIT, stats.norm.ppf(chance) * 5, rtol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_difference_is_found_by_who_looks_for_it_and_by_who_looks_for_any(shape: str) -> None:
    """.25 of the bounds is fifty times the noise of 1 / 400, and nine times that of sampling."""
    names = groups(400, 400)
    curves = 0.5 + np.random.default_rng(5).normal(0, 0.1, (800, 1)) * np.ones(40)
    curves[:400] += 0.25 * SHAPES[shape]
    for look_for in ("any", shape):
        found = estimator(look_for=look_for).fit(curves, names).release_
        assert found.test(variance=0.01).differ
        assert found.test(null="samples").differ
    if shape in ("slope", "bend"):
        assert estimator(look_for="level").fit(curves, names).release_.test(variance=0.01).p_value > 1e-6


def test_what_is_detectable_follows_in_closed_form() -> None:
    """Of samples: Laplace noise exceeds ln 10 with .05, and falls below -ln 2.5 with .2."""
    for look_for in LOOKS:
        made = estimator(0.5, bounds=(-1, 3), look_for=look_for).plan(200)
        assert made.error == pytest.approx(4 * math.log(25) / 50, rel=1e-3)
        assert made.at(n=400).error == pytest.approx(made.error / 2, rel=2e-3)
    plan = estimator(1000, look_for="level").plan(200)
    normal = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert plan.detectable(variance=0.01) == pytest.approx(normal * 0.1 * math.sqrt(2 / 100), rel=0.01)
    assert plan.detectable(variance=None) == pytest.approx(normal * 0.5 * math.sqrt(2 / 100), rel=0.01)
    assert plan.detectable(level=0.01) > plan.detectable() > plan.detectable(power=0.5)
    assert plan.least_n(error=0.001) <= 10
    assert "found with probability 80%" in str(plan)


def test_who_looks_for_any_needs_a_tenth_more_than_who_knew_it_was_the_level() -> None:
    """Differences of normal populations; n as its square."""
    any_, level = (estimator(look_for=look).plan(2000).detectable(variance=0.01) for look in LOOKS[:2])
    assert 1 < (any_ / level) ** 2 < 1.13


def test_p_values_grow_with_the_deviation_and_bounds_cap_it() -> None:
    names = groups(60, 60, 60)
    release = estimator().fit(np.random.default_rng(3).uniform(0, 1, (180, 40)), names).release_
    values = release(release.grid_points)
    assert np.all(np.diff(values) >= 0)
    assert release.domain_range == (0.0, 0.5)
    assert release(0.5) == release.test().p_value == release.test(variance=9.0).p_value
    assert release(0.0) == release.test(null="samples").p_value
    assert release(0.1) == pytest.approx(release.test(variance=lambda t: 0 * t + 0.01).p_value)
    assert release.test().null == "the populations of a and b and c have one mean function"


def test_bounds_that_are_curves_are_taken() -> None:
    """A form is a share of what the bounds allow where it looks."""
    upper = np.where(GRID < 0.5, 0.1, 1.0)
    curves = np.random.default_rng(4).uniform(0, 1, (80, 40)) * upper
    for look_for in LOOKS:
        made = estimator(bounds=(np.zeros(40), upper), look_for=look_for)
        assert 0 < made.fit(curves, groups(40, 40)).release_.test(variance=0.1).p_value <= 1
    curves[:40], curves[40:] = 0, upper
    assert exact(estimator(bounds=(np.zeros(40), upper)), curves, groups(40, 40)) == 40 * UNIT


def test_what_is_refused() -> None:
    curves, names = np.random.default_rng(5).uniform(0, 1, (40, 40)), groups(20, 20)
    for parameters, words in (
        ({"look_for": "waves"}, "look_for must be one of 'any', 'level', 'slope', 'bend', 'bumps'"),
        (
            {"neighbours": "add-remove", "levels": ["a", "b"]},
            "neighbours must be 'replace-one' for a test",
        ),
        ({"bounds": L2Ball(1.0)}, "bounds must be a pair .lower, upper. of bounds on values"),
    ):
        with pytest.raises(ParameterError, match=words):
            estimator(**parameters).fit(curves, names)  # type: ignore[arg-type]
    release = estimator().fit(curves, names).release_
    with pytest.raises(ParameterError, match="null must be one of"):
        release.test(null="means")
    with pytest.raises(ParameterError, match="variance must be for null='populations'"):
        release.test(null="samples", variance=0.1)
    with pytest.raises(ValueError, match="do not fit"):
        ReleasedTest.from_json({**release.to_json(), "sizes": [20, 19]})


@pytest.mark.parametrize("look_for", ["slope", "bend"])
def test_what_few_grid_points_cannot_show_is_refused(look_for: str) -> None:
    for points in (2, 4, 8):
        made = PrivateEqualityTest(1.0, bounds=(0, 1), look_for=look_for)
        if points == 8 or (points, look_for) == (4, "slope"):
            assert made.plan(20, points).detectable() > 0
            continue
        with pytest.raises(ParameterError, match=f"look_for must be 'any'.*'{look_for}' on {points}"):
            made.fit(np.zeros((8, points)), [0, 1] * 4)
