"""Measurements that the real OpenDP chains, composes and counts, and its outputs as releases."""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpfda import (
    Domain,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    load,
)
from dpfda.bases import CosineBasis
from dpfda.errors import MissingExtraError, ParameterError
from dpfda.front.interop.opendp import (
    as_release,
    guarantee_of,
    make_classification,
    make_components,
    make_covariance,
    make_density,
    make_mean,
    make_regression,
)
from dpfda.privacy.composition import compose, for_group
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import MemoryLedger

dp = pytest.importorskip("opendp.prelude")
ROWS, COLUMNS = 50, 8
GRID = np.linspace(0.0, 1.0, COLUMNS)
DATA = np.sin(3 * GRID) + np.linspace(-0.3, 0.3, ROWS)[:, None]


@pytest.fixture(autouse=True)
def features() -> None:
    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")


def curves(size: int | None = ROWS, **more: Any) -> Any:
    return dp.numpy.array2_domain(T=float, num_columns=COLUMNS, size=size, **more)


def mean(epsilon: Any = 0.5, **parameters: Any) -> PrivateMean:
    return PrivateMean(epsilon, bounds=(-2, 2), invalid="repair", **parameters)


MADE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "mean": (make_mean, mean),
    "covariance": (
        make_covariance,
        lambda **more: PrivateCovariance(0.5, center=0.0, radius=2.0, invalid="repair", **more),
    ),
    "components": (
        make_components,
        lambda **more: PrivateFPCA(
            0.5, n_components=2, center=0.0, radius=2.0, invalid="repair", **more
        ),
    ),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    ("neighbours", "size", "metric", "units"),
    [
        ("replace-one", ROWS, "change_one_distance", [0, 1, 2, 3]),
        ("replace-one", ROWS, "hamming_distance", [0, 1, 2, 3]),
        ("replace-one", ROWS, "symmetric_distance", [0, 0, 1, 1]),
        ("replace-one", ROWS, "insert_delete_distance", [0, 0, 1, 1]),
        ("add-remove", None, "symmetric_distance", [0, 1, 2, 3]),
        ("add-remove", None, "insert_delete_distance", [0, 1, 2, 3]),
        ("add-remove", ROWS, "change_one_distance", [0, 2, 4, 6]),
        ("add-remove", None, "hamming_distance", [0, 2, 4, 6]),
    ],
)
def test_a_map_counts_units_in_the_metric(
    name: str, neighbours: str, size: int | None, metric: str, units: list[int]
) -> None:
    make, estimator = MADE[name]
    made = make(curves(size), getattr(dp, metric)(), estimator(neighbours=neighbours))
    assert str(made.output_measure) == "MaxDivergence"
    assert [made.map(distance) for distance in range(4)] == [0.5 * count for count in units]
    release = made(DATA)
    assert release.guarantee == PureDP(Fraction(1, 2))
    assert str(release.neighbours) == neighbours


def test_maps_of_every_kind_of_guarantee_are_group_privacy_rounded_up() -> None:
    space = curves(), dp.change_one_distance()
    approximate = make_mean(*space, mean(0.7, delta=1e-6))
    assert str(approximate.output_measure) == "Approximate(MaxDivergence)"
    assert approximate.map(0) == (0.0, 0.0)
    assert approximate.map(1) == (0.7, 1e-6)
    for size in (2, 3, 7):
        epsilon, delta = approximate.map(size)
        # Distances through data sets in between: 1 + e^eps + ... + e^((k-1) eps) deltas.
        steps = 1e-6 * sum(math.exp(0.7 * k) for k in range(size))
        assert (epsilon, delta) == (pytest.approx(0.7 * size), pytest.approx(steps, rel=1e-12))
        asked = for_group(ApproximateDP(Fraction(0.7), Fraction(1e-6)), size)
        assert isinstance(asked, ApproximateDP)
        assert Fraction(epsilon) >= asked.epsilon
        assert Fraction(delta) >= asked.delta
    concentrated = make_mean(*space, mean(None, rho=0.125))
    assert str(concentrated.output_measure) == "ZeroConcentratedDivergence"
    assert [concentrated.map(size) for size in range(4)] == [0.0, 0.125, 0.5, 1.125]
    with pytest.raises(dp.OpenDPException, match="no guarantee left"):
        approximate.map(30)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1 / 3, "1/3", Fraction(1, 3), 7.7])
def test_a_measurement_costs_no_more_than_the_float_that_was_asked(epsilon: Any) -> None:
    if isinstance(epsilon, str):
        epsilon = Fraction(epsilon)
    made = make_mean(curves(), dp.change_one_distance(), mean(epsilon))
    assert Fraction(made.map(1)) <= Fraction(epsilon)
    assert made.check(1, float(epsilon))
    assert not made.check(1, float(epsilon) * (1 - 1e-15))
    # What OpenDP counts is what is released at.
    assert made(DATA).guarantee == PureDP(Fraction(made.map(1)))


def test_opendp_composes_and_counts() -> None:
    space = curves(), dp.change_one_distance()
    first = make_mean(*space, mean(0.5))
    second = make_covariance(*space, MADE["covariance"][1]())
    both = dp.c.make_composition([first, second])
    assert both.map(1) == 1.0
    assert [type(release).__name__ for release in both(DATA)] == [
        "ReleasedFunction",
        "ReleasedCovariance",
    ]
    queries = dp.c.make_adaptive_composition(*space, dp.max_divergence(), 1, [0.5, 0.5])
    assert queries.map(1) == 1.0
    asked = queries(DATA)
    releases = [asked(first), asked(second)]
    assert compose(releases) == PureDP(1)
    with pytest.raises(dp.OpenDPException):
        asked(first)
    dear = dp.c.make_adaptive_composition(*space, dp.max_divergence(), 1, [0.4])(DATA)
    with pytest.raises(dp.OpenDPException):
        dear(first)


def test_opendp_chains_what_it_did_to_the_rows_before() -> None:
    domain = dp.numpy.array2_domain(T=float, num_columns=COLUMNS, size=ROWS, nan=False)
    clamp = dp.numpy.make_np_clamp(domain, dp.symmetric_distance(), norm=1.0, p=2)
    made = clamp >> make_mean(clamp.output_domain, clamp.output_metric, mean(1e6))
    assert made.map(2) == 1e6
    direct = DATA / np.maximum(np.linalg.norm(DATA, axis=1), 1.0)[:, None]
    np.testing.assert_allclose(made(DATA)(GRID), direct.mean(axis=0), atol=1e-3)


def test_points_on_a_line_are_a_vector() -> None:
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=100)
    estimator = PrivateDensity(1.0, domain_range=(0, 1), invalid="repair")
    made = make_density(domain, dp.change_one_distance(), estimator)
    assert made.map(1) == 1.0
    # Points may be left out, so counts are divided by their sum: 100, but for noise of deviation 11.
    assert abs(made([0.25] * 100).raw.size - 100) < 80
    plane = PrivateDensity(1.0, domain_range=[(0, 1), (0, 1)], invalid="repair", cells=4)
    made = make_density(
        dp.numpy.array2_domain(T=float, num_columns=2, size=60), dp.change_one_distance(), plane
    )
    assert made(np.full((60, 2), 0.5)).dimensions == 2


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_no_row_makes_a_measurement_fail(name: str, bad: float) -> None:
    make, estimator = MADE[name]
    made = make(curves(), dp.change_one_distance(), estimator())
    rows = DATA.copy()
    rows[3] = bad
    rows[4, 2] = bad
    assert made(rows).guarantee == PureDP(Fraction(1, 2))


@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf, 1e300])
def test_the_last_column_is_what_is_predicted(bad: float) -> None:
    at = np.linspace(0, 1, 80)
    space = dp.numpy.array2_domain(T=float, num_columns=2, size=80), dp.change_one_distance()
    rows = np.column_stack([at, np.where(at > 0.5, 1.0, 0.0)])
    # A class that is none of the two, and inputs outside their bounds, are public records too.
    rows[3] = rows[60] = bad
    machines = {"bounds": (0, 1), "invalid": "repair"}
    regress = make_regression(*space, PrivateKernelRegressor(1e4, target_bounds=(0, 1), **machines))
    classify = make_classification(*space, PrivateKernelClassifier(1e4, classes=(0, 1), **machines))
    assert (regress.map(1), classify.map(2)) == (1e4, 2e4)
    low, high = regress(rows)([[0.1], [0.9]])
    assert low < 0.4
    assert high > 0.6
    assert classify(rows).predict([[0.1], [0.9]]).tolist() == [0, 1]


@pytest.mark.parametrize("name", MADE)
def test_one_row_is_enough_where_their_number_is_private(name: str) -> None:
    make, estimator = MADE[name]
    made = make(curves(None), dp.symmetric_distance(), estimator(neighbours="add-remove"))
    assert str(made(DATA[:1]).neighbours) == "add-remove"


def test_a_ledger_of_the_estimator_is_charged_besides() -> None:
    ledger = MemoryLedger()
    ledger.create("d", PureDP(1))
    made = make_mean(curves(), dp.change_one_distance(), mean(0.5, ledger=ledger.of("d")))
    made(DATA)
    assert ledger.spent("d").written() == {"epsilon": "1/2"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda one: (curves(), one, PrivateMean(1.0, bounds=(-1, 1))), 'Give invalid="repair"'),
        (lambda one: (curves(None), one, mean()), "input_domain must state its size"),
        (
            lambda one: (curves(), dp.l1_distance(T=float), mean()),
            "input_metric must be change_one_dist",
        ),
        (lambda one: (curves(), one, "mean"), "estimator must be a PrivateMean"),
        (lambda one: (dp.atom_domain(T=float), one, mean()), "input_domain must be dp.numpy.array2_dom"),
        (
            lambda one: (dp.numpy.array2_domain(T=float, size=ROWS), one, mean()),
            "input_domain must be dp.numpy.array2_domain",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change: Callable[[], Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make_mean(*change(dp.change_one_distance()))


def test_data_of_another_shape_are_refused_without_being_shown() -> None:
    made = make_mean(curves(), dp.change_one_distance(), mean())
    for data in (DATA[:-1], DATA[:, :-1]):
        with pytest.raises(dp.OpenDPException, match="as their domain says; found others"):
            made(data)


def test_an_absent_opendp_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    space = curves(), dp.change_one_distance()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"dpfda\[opendp\]"):
        make_mean(*space, mean())


# Outputs of OpenDP as releases


def summed(scale: float, noise: str) -> tuple[Any, Any]:
    """OpenDP's own noisy sum of clamped rows, and its clamp."""
    from opendp.extras.numpy._make_np_sum import make_np_sum

    domain = dp.numpy.array2_domain(T=float, num_columns=COLUMNS, size=ROWS, nan=False)
    clamp = dp.numpy.make_np_clamp(
        domain, dp.symmetric_distance(), norm=4.0, p=2 if noise == "gaussian" else 1
    )
    total = clamp >> make_np_sum(clamp.output_domain, clamp.output_metric)
    then = dp.m.then_gaussian if noise == "gaussian" else dp.m.then_laplace
    return total >> then(scale=scale), clamp


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_an_output_of_opendp_is_a_release_with_its_law_and_band(noise: str, tmp_path: Any) -> None:
    scale = 20.0
    made, _ = summed(scale, noise)
    output = np.array(made(DATA)) / ROWS
    release = as_release(
        output, made, scale / ROWS, Domain(GRID, labels={"value": "kW"}), law=noise, unit="home"
    )
    # Rows that differ in one are at symmetric distance 2, and their sums at 8 in the norm.
    kind = ZeroConcentratedDP if noise == "gaussian" else PureDP
    assert release.guarantee == kind(Fraction(made.map(2)))
    rate = float(made.map(2))
    assert rate == pytest.approx((8 / scale) ** 2 / 2 if noise == "gaussian" else 8 / scale)
    np.testing.assert_allclose(release(GRID), output, atol=1e-9)
    assert (release.unit, release.public_units, release.view().y_label) == ("home", ROWS, "kW")
    # The band at a point is the known quantile of the law.
    band = release.band(0.95, simultaneous=False, points=GRID)
    half = 1.959964 if noise == "gaussian" else -math.log(0.05)
    np.testing.assert_allclose((band.upper - band.lower) / 2, half * scale / ROWS, rtol=0.06)
    again = load(release.save(tmp_path / "release.json"))
    assert repr(again) == repr(release)
    assert compose([release, again]) == release.guarantee


def test_a_band_of_an_output_holds_the_mean_without_noise() -> None:
    made, clamp = summed(20.0, "gaussian")
    truth = np.asarray(clamp(DATA)).mean(axis=0)
    inside = 0
    for _ in range(200):
        output = np.array(made(DATA)) / ROWS
        band = as_release(output, made, 20.0 / ROWS, Domain(GRID), law="gaussian").band(0.9, points=GRID)
        inside += bool(np.all((band.lower <= truth) & (truth <= band.upper)))
    # 180 expected; a binomial law leaves 160 to 197 once in 10^5.
    assert 160 <= inside <= 197


def test_a_basis_smooths_an_output() -> None:
    made, _ = summed(20.0, "gaussian")
    output = np.sin(3 * GRID) + np.random.default_rng(0).normal(0, 0.1, COLUMNS)
    basis = CosineBasis.on_grid(3, GRID)
    release = as_release(output, made, 0.4, Domain(GRID), law="gaussian", basis=basis)
    np.testing.assert_allclose(
        release(GRID), basis.evaluate(GRID) @ (output @ basis.analysis), atol=1e-9
    )


def test_guarantees_are_those_of_opendp() -> None:
    space = curves(), dp.symmetric_distance()
    assert guarantee_of(make_mean(*space, mean(0.5)), 2) == PureDP(Fraction(1, 2))
    assert guarantee_of(make_mean(*space, mean(None, rho=0.125)), 2) == ZeroConcentratedDP(
        Fraction(1, 8)
    )
    found = guarantee_of(make_mean(*space, mean(0.5, delta=0.25)), 2)
    assert found == ApproximateDP(Fraction(1, 2), Fraction(1, 4))
    other = dp.m.make_user_measurement(
        *space, dp.user_divergence("other"), function=lambda data: 0, privacy_map=lambda distance: 0.0
    )
    with pytest.raises(ParameterError, match="must have maximal, approximate or zero-concentrated"):
        guarantee_of(other)


def test_what_an_output_lacks_is_refused() -> None:
    made, _ = summed(20.0, "laplace")
    output = np.zeros(COLUMNS)
    with pytest.raises(ParameterError, match="values must be 8, one a grid point"):
        as_release(output[1:], made, 1.0, Domain(GRID), law="laplace")
    with pytest.raises(ParameterError, match="scale must be positive"):
        as_release(output, made, 0.0, Domain(GRID), law="laplace")
    with pytest.raises(ParameterError, match="domain must have grid points"):
        as_release(output, made, 1.0, Domain(), law="laplace")
    with pytest.raises(ParameterError, match="law must be one of 'laplace', 'gaussian'"):
        as_release(output, made, 1.0, Domain(GRID), law="uniform")
    bare = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float), scale=1.0
    )
    with pytest.raises(ParameterError, match="size must be given"):
        as_release(output, bare, 1.0, Domain(GRID), law="laplace")
    with pytest.raises(ParameterError, match="Give d_in"):
        as_release(output, bare, 1.0, Domain(GRID), law="laplace", size=ROWS)
    given = as_release(output, bare, 1.0, Domain(GRID), law="laplace", size=ROWS, d_in=3)
    assert given.guarantee == PureDP(3)
