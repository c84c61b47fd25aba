"""The estimator: what it releases, what it refuses and in which words, and what a refusal costs."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import Domain, PrivacyUnit, PrivateMean, Reading
from dpfda.bases import CosineBasis
from dpfda.bounds import L1Ball, L2Ball, ValueBounds
from dpfda.errors import (
    BudgetError,
    DpfdaError,
    InfiniteSensitivityError,
    ParameterError,
    RefusedMechanismError,
)
from dpfda.mechanisms.gaussian import Gaussian, GaussianProcess
from dpfda.mechanisms.iclp import ICLP
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, PureDP, added
from dpfda.privacy.ledger import DatasetLedger
from dpfda.releases.counts import NoisyCount
from dpfda.testing import non_private_mean, simulate_releases

GRID = np.linspace(0.0, 1.0, 15)
CURVES = np.sin(5 * GRID) + np.random.default_rng(2).normal(0, 0.5, (80, 1))

REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"epsilon": 0},
        ParameterError,
        "epsilon must be positive; found 0. Smaller epsilon is more private",
    ),
    ({"epsilon": -1.0}, ParameterError, "epsilon must be positive; found -1"),
    ({"epsilon": math.inf}, ParameterError, "epsilon must be finite; found inf"),
    ({"epsilon": math.nan}, ParameterError, "epsilon must be finite; found nan"),
    (
        {"epsilon": "abc"},
        ParameterError,
        "epsilon must be a finite number; found 'abc'. Write a",
    ),
    ({"epsilon": True}, ParameterError, "epsilon must be a number; found True"),
    ({"epsilon": None}, ParameterError, "epsilon must be a number; found None. It has no default"),
    ({"delta": 1}, ParameterError, "delta must lie strictly between 0 and 1; found 1"),
    ({"delta": -1}, ParameterError, "delta must lie strictly between 0 and 1; found -1"),
    ({"delta": math.nan}, ParameterError, "delta must be finite; found nan"),
    ({"epsilon": [1]}, ParameterError, "epsilon must be a finite number; found .1."),
    ({"epsilon": 1e13}, ParameterError, "epsilon must lie between 1e-9 and 1e9; found 10000000000000.0"),
    ({"epsilon": 1e8, "delta": 1e-5}, ParameterError, "1e-9 and 1e6 where delta is positive"),
    ({"epsilon": 1e-160}, ParameterError, "epsilon must lie between 1e-9 and 1e9; found 1e-160"),
    ({"delta": (0, 1)}, ParameterError, "Bounds are given by their name: bounds="),
    ({"delta": 1e-160}, ParameterError, "delta must be 0 or at least 1e-100; found 1e-160"),
    ({"delta": "small"}, ParameterError, "delta must be a finite number; found 'small'"),
    (
        {"bounds": (1, -1)},
        ParameterError,
        r"bounds must have lower < upper; found \(1\.0, -1\.0\)\. Swap",
    ),
    ({"bounds": (1, 1)}, ParameterError, "bounds must have lower < upper"),
    ({"bounds": (0, math.inf)}, ParameterError, "upper bound must be finite; found inf"),
    ({"bounds": (-math.inf, 0)}, ParameterError, "lower bound must be finite; found -inf"),
    ({"bounds": (math.nan, 0)}, ParameterError, "lower bound must be finite; found nan"),
    ({"bounds": (-1.7e308, 1.7e308)}, ParameterError, "be of size at most 1e100"),
    ({"bounds": None}, ParameterError, "bounds must be given; found None. Pass bounds="),
    ({"bounds": 3.0}, ParameterError, "bounds must be .lower, upper., ValueBounds, L2Ball.*found float"),
    ({"bounds": "wide"}, ParameterError, "bounds must be .lower, upper.*; found str"),
    ({"bounds": (0, 1, 2)}, ParameterError, "bounds must be .lower, upper.*; found tuple"),
    ({"bounds": L2Ball}, ParameterError, "bounds must be .lower, upper.*; found type"),
    ({"bounds": (0, "high")}, ParameterError, "upper bound must be a number or a curve; found 'high'"),
    ({"bounds": (np.zeros(4), np.ones(4))}, ParameterError, r"one value a grid point \(15\)"),
    (
        {"bounds": (np.zeros(15), np.zeros(15))},
        ParameterError,
        "bounds must have lower < upper; found cu",
    ),
    ({"bounds": (np.zeros(15), np.ones(14))}, ParameterError, "bounds must have one length"),
    (
        {"mechanism": "laplce"},
        ParameterError,
        "mechanism must be 'auto' or one of .*gaussian.*; found 'lap",
    ),
    (
        {"mechanism": KNorm},
        ParameterError,
        "mechanism must be a name or a mechanism object; .*parentheses",
    ),
    ({"mechanism": 7}, ParameterError, "mechanism must be a name or a mechanism object; found 7"),
    ({"mechanism": None}, ParameterError, "mechanism must be a name or a mechanism object; found None"),
    (
        {"mechanism": "gaussian"},
        RefusedMechanismError,
        "delta must be positive for Gaussian noise; found 0. The density ratio of Gaussian noise",
    ),
    (
        {"mechanism": "gaussian-process"},
        RefusedMechanismError,
        "delta must be positive for Gaussian noise",
    ),
    (
        {"mechanism": Gaussian("classical"), "delta": 1e-6, "epsilon": 2},
        RefusedMechanismError,
        "epsilon must be at most 1 for the classical Gaussian rule; found 2. .* Use calibration='exact'",
    ),
    (
        {"mechanism": Gaussian("quick"), "delta": 1e-6},
        ParameterError,
        "calibration must be 'exact' or 'classical'; found 'quick'",
    ),
    (
        {"mechanism": "laplace", "delta": 1e-6},
        RefusedMechanismError,
        "mechanism must suit the guarantee; found .* Ask for delta=0, or use mechanism='gaussian'",
    ),
    ({"mechanism": "iclp", "delta": 1e-6}, RefusedMechanismError, "mechanism must suit the guarantee"),
    (
        {"mechanism": ICLP(penalty=0)},
        InfiniteSensitivityError,
        "penalty must be positive; found 0. Without a penalty",
    ),
    (
        {"mechanism": ICLP(penalty=-1.0)},
        ParameterError,
        "eta and penalty must be finite with penalty >= 0",
    ),
    (
        {"mechanism": ICLP(penalty=math.nan)},
        ParameterError,
        "eta and penalty must be finite with penalty >= 0",
    ),
    (
        {"mechanism": ICLP(eta=0.5)},
        InfiniteSensitivityError,
        "eta must be large enough for a finite sensitivity; found 0.5. .* increase eta",
    ),
    ({"mechanism": ICLP(eta=0.6)}, InfiniteSensitivityError, "The kernel power's trace diverges"),
    (
        {"mechanism": ICLP(eta=0.4), "bounds": L1Ball(1.0)},
        InfiniteSensitivityError,
        "eta must be large enough",
    ),
    (
        {"mechanism": GaussianProcess(penalty=0), "delta": 1e-6},
        InfiniteSensitivityError,
        "put the summary into the Cameron-Martin space of the noise .*Theorem 3.1",
    ),
    (
        {"mechanism": GaussianProcess(eta=0.4), "delta": 1e-6},
        InfiniteSensitivityError,
        "Cameron-Martin space of the noise",
    ),
    ({"mechanism": KNorm(block_sizes=())}, ParameterError, "block_sizes must be positive integers"),
    ({"mechanism": KNorm(block_sizes=(2, 0))}, ParameterError, "block_sizes must be positive integers"),
    ({"mechanism": KNorm(block_sizes=99)}, ParameterError, "add up to at most 15 components; found 99"),
    ({"mechanism": Laplace(components=16)}, ParameterError, "add up to at most 15 components; found 16"),
    (
        {"neighbours": "swap"},
        ParameterError,
        "neighbours must be 'replace-one' or 'add-remove'; found 'swap'",
    ),
    ({"public_size": 50}, ParameterError, "public_size must be None under replace-one neighbours"),
    (
        {"public_size": 0, "neighbours": "add-remove"},
        ParameterError,
        "public_size must be a positive integer",
    ),
    (
        {"public_size": 2.5, "neighbours": "add-remove"},
        ParameterError,
        "public_size must be a positive int",
    ),
    (
        {"public_size": True, "neighbours": "add-remove"},
        ParameterError,
        "public_size must be a positive in",
    ),
    ({"labels": {"title": "x"}}, ParameterError, "labels must have the keys 'domain' and 'value'"),
    ({"basis": "gauss"}, ParameterError, "kernel must be matern:RANGE:NU"),
    ({"basis": Matern}, ParameterError, "kernel must be an instance; found the class Matern"),
    ({"basis": 3.0}, ParameterError, "basis must be a basis, such as .*, a kernel, words"),
    ({"quadrature": "simpson"}, ParameterError, "quadrature must be 'trapezoid', 'uniform'"),
    ({"domain_range": (1, 0)}, ParameterError, "domain must be finite with a < b"),
    ({"domain_range": (0.5, 2)}, ParameterError, "domain must contain the grid"),
]


class Recorder:
    """A ledger that remembers its charges, and refuses when told to."""

    def __init__(self, refuse: bool = False) -> None:
        self.refuse = refuse
        self.charges: list[tuple[str, Guarantee, dict[str, Any]]] = []

    def of(self, dataset):
        return DatasetLedger(self, dataset)

    def charge(self, dataset: str, guarantee: Any, entry: dict[str, Any]) -> None:
        if self.refuse:
            raise BudgetError("Nothing is left.")
        # A charge is one cost a stage.
        self.charges.append((dataset, added([cost.guarantee for cost in guarantee]), entry))


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing privacy noise fails."""

    def fail(*arguments: Any, **named: Any) -> Any:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr("dpfda.numerics.exactness.system_bytes", fail)
    monkeypatch.setattr("dpfda.numerics.drawing.draw_array", fail)
    monkeypatch.setattr("os.urandom", fail)


class TestRefusals:
    @pytest.mark.usefixtures("no_noise")
    @pytest.mark.parametrize(("parameters", "kind", "words"), REFUSED)
    def test_by_their_words_without_noise_or_charge(
        self, parameters: dict[str, Any], kind: type[Exception], words: str
    ) -> None:
        ledger = Recorder()
        made = {
            "epsilon": 1.0,
            "bounds": (-3, 3),
            "grid_points": GRID,
            "basis": Matern(0.2, nu=1.5),
            **parameters,
        }
        with pytest.raises(kind, match=words) as e:
            PrivateMean(
                ledger=ledger.of("d"),
                **made,
            ).fit(CURVES)
        assert type(e.value) is kind
        assert isinstance(e.value, ValueError)
        assert ledger.charges == []

    @pytest.mark.usefixtures("no_noise")
    def test_the_fixture_catches_noise(self) -> None:
        with pytest.raises(AssertionError, match="noise was drawn"):
            PrivateMean(1.0, bounds=(-3, 3)).fit(CURVES)

    def test_reasons_carry_their_theorem(self) -> None:
        with pytest.raises(RefusedMechanismError) as e:
            PrivateMean(1.0, bounds=(-3, 3), mechanism="gaussian").fit(CURVES)
        assert e.value.theorem == "Reimherr & Awan 2019, Theorem 4"
        assert e.value.theorem in str(e.value)
        assert (e.value.parameter, e.value.found) == ("delta", "0")

    @pytest.mark.parametrize("radius", [0, -1, math.inf, math.nan])
    @pytest.mark.parametrize("ball", [L1Ball, L2Ball])
    def test_radii(self, ball: Any, radius: float) -> None:
        with pytest.raises(
            ParameterError, match=f"{ball.__name__} radius must be positive and finite; found"
        ):
            ball(radius)

    @pytest.mark.parametrize("ball", [L1Ball, L2Ball])
    def test_radii_are_numbers(self, ball: Any) -> None:
        with pytest.raises(ParameterError, match="radius must be a number; found 'wide'"):
            ball("wide")

    @pytest.mark.parametrize("eta", [0.63, 1.0, 3.0])
    def test_eta_that_is_large_enough(self, eta: float) -> None:
        # On the l2 ball sum lambda^(2 eta - 1) must converge: (2 eta - 1) 4 > 1, eta > 0.625.
        PrivateMean(1.0, bounds=(-3, 3), basis=Matern(0.2, nu=1.5), mechanism=ICLP(eta=eta)).fit(CURVES)


class TestLedger:
    def test_charged_once_with_the_whole_guarantee(self) -> None:
        approximate = ApproximateDP(1, "1e-6")
        for parameters, charged in (
            ({}, PureDP(1)),
            ({"delta": 1e-6, "mechanism": "gaussian"}, approximate),
            # For so few curves the automatic choice is pure noise, which costs no delta.
            ({"delta": 1e-6}, PureDP(1)),
            ({"neighbours": "add-remove"}, PureDP(1)),
        ):
            ledger = Recorder()
            fitted = PrivateMean(1.0, bounds=(-3, 3), ledger=ledger.of("scans"), **parameters).fit(
                CURVES
            )
            assert [charge[:2] for charge in ledger.charges] == [("scans", charged)]
            assert fitted.release_.guarantee == charged
            assert ledger.charges[0][2]["summary"] == "mean curve"

    @pytest.mark.usefixtures("no_noise")
    def test_a_refusal_stops_before_the_noise(self) -> None:
        for neighbours in ("replace-one", "add-remove"):
            estimator = PrivateMean(
                1.0,
                bounds=(-3, 3),
                ledger=Recorder(refuse=True).of("d"),
                unit=PrivacyUnit(neighbours=neighbours),
            )
            with pytest.raises(BudgetError, match="Nothing is left"):
                estimator.fit(CURVES)
            assert not hasattr(estimator, "release_")

    @pytest.mark.usefixtures("no_noise")
    def test_what_fails_after_the_charge_stays_charged(self) -> None:
        ledger = Recorder()
        with pytest.raises(AssertionError, match="noise was drawn"):
            PrivateMean(1.0, bounds=(-3, 3), ledger=ledger.of("d")).fit(CURVES)
        assert len(ledger.charges) == 1

    def test_the_data_set_must_be_named(self) -> None:
        ledger = Recorder()
        with pytest.raises(
            ParameterError, match="dataset must name the data set that the ledger charges"
        ):
            PrivateMean(1.0, bounds=(-3, 3), ledger=ledger).fit(CURVES)
        assert ledger.charges == []

    def test_the_history_holds_no_private_number(self) -> None:
        ledger = Recorder()
        marked = np.full((77, 15), 2.718281)
        PrivateMean(
            1.0, bounds=(-3, 3), ledger=ledger.of("d"), unit=PrivacyUnit(neighbours="add-remove")
        ).fit(marked)
        (dataset, charged, entry) = ledger.charges[0]
        # Digits of the random identity may be any.
        told = repr((dataset, charged, {**entry, "release": None}))
        assert "2.718" not in told
        assert "77" not in told


class TestReleases:
    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"mechanism": "knorm"},
            {"mechanism": "laplace"},
            {"mechanism": "iclp"},
            {"mechanism": "gaussian", "delta": 1e-6},
            {"mechanism": "gaussian-process", "delta": 1e-6},
            {"mechanism": KNorm(block_sizes=(1, 3, 11))},
            {"bounds": L1Ball(20.0)},
            {"bounds": L2Ball(20.0)},
            {"neighbours": "add-remove"},
            {"neighbours": "add-remove", "public_size": 80},
            {"basis": CosineBasis.on_grid(12, GRID)},
            {"basis": RBF(0.2)},
            {"basis": lambda s, t: np.exp(-np.abs(s - t))},
            {"quadrature": "uniform", "domain_range": (-0.1, 1.1)},
        ],
        # Without addresses, so that every process collects the same names.
        ids=lambda chosen: " ".join(chosen) or "default",
    )
    def test_large_budgets_give_the_mean(self, parameters: dict[str, Any]) -> None:
        # Also shows that centre, scale, divisor and basis go together.
        made = {"bounds": (-6, 6), "grid_points": GRID, **parameters}
        release = PrivateMean(1e6 if "delta" in made else 1e7, **made).fit(CURVES).release_
        # Errors under a delta are .027 on average, with a deviation of .01.
        close = 0.15 if "delta" in made else 0.05
        np.testing.assert_allclose(release(GRID), CURVES.mean(axis=0), rtol=0, atol=close)

    def test_bounds_are_enforced_record_by_record(self) -> None:
        wild = CURVES.copy()
        wild[0] = 1e12
        clipped = np.clip(wild, -3, 3).mean(axis=0)
        found = non_private_mean(
            PrivateMean(1.0, bounds=(-3, 3), domain=Domain(GRID), mechanism="laplace"), wild
        )
        np.testing.assert_allclose(np.asarray(found), clipped, rtol=0, atol=1e-6)

    def test_bounds_may_be_curves(self) -> None:
        lower, upper = np.sin(5 * GRID) - 0.1, np.sin(5 * GRID) + 0.1
        for bounds in ((lower, upper), ValueBounds(lower, upper)):
            release = PrivateMean(1e7, bounds=bounds, domain=Domain(GRID)).fit(CURVES).release_
            expected = np.clip(CURVES, lower, upper).mean(axis=0)
            np.testing.assert_allclose(release(GRID), expected, rtol=0, atol=0.01)

    def test_a_norm_ball_shrinks_along_the_record(self) -> None:
        records = np.outer([1.0, 10.0], np.sin(math.pi * GRID))
        estimator = PrivateMean(1.0, bounds=L2Ball(1.0), domain=Domain(GRID), mechanism="laplace")
        found = np.asarray(non_private_mean(estimator, records))
        # Norm of sin(pi t) is sqrt(1/2); the second record is scaled to norm one.
        np.testing.assert_allclose(found, (1 + math.sqrt(2)) / 2 * records[0], rtol=0, atol=1e-3)

    def test_two_fits_are_two_releases(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-3, 3))
        first = estimator.fit(CURVES).release_
        second = estimator.fit(CURVES).release_
        assert first.noisy_sum != second.noisy_sum

    def test_numbers_may_be_exact(self) -> None:
        numbers = PrivateMean(Decimal("0.1"), Fraction("1e-7"), bounds=(-3, 3), mechanism="gaussian")
        release = numbers.fit(CURVES).release_
        assert release.guarantee == ApproximateDP("0.1", "1e-7")

    def test_the_default_kernel_is_in_units_of_the_domain(self) -> None:
        release = PrivateMean(1.0, bounds=(-3, 3), domain=(0, 24)).fit(CURVES).release_
        assert "Matern(length_scale=7.2, nu=2.5)" in repr(release)

    def test_labels_and_unit_are_carried(self) -> None:
        labels = {"domain": "time (h)", "value": "load (MW)"}
        release = (
            PrivateMean(1.0, bounds=(-3, 3), domain=Domain(labels=labels), unit="household")
            .fit(CURVES)
            .release_
        )
        assert release.about["domain"] == "time (h)"
        assert release.about["value"] == "load (MW)"
        assert release.unit == "household"


class TestAddRemove:
    def test_the_count_gets_a_tenth_of_the_budget(self) -> None:
        made = {"bounds": (-3, 3), "neighbours": "add-remove", "mechanism": "knorm"}
        release = PrivateMean(2.0, **made).fit(CURVES).release_
        assert isinstance(release.divisor, NoisyCount)
        # Laplace noise of scale 1 / (epsilon / 10) units.
        scale = release.divisor.noise.scales[0] / release.divisor.scale  # type: ignore[attr-defined]
        assert math.isclose(scale, 1 / 0.2, rel_tol=1e-9)
        assert release.guarantee == PureDP(2)

    def test_the_rest_goes_to_the_function(self) -> None:
        made = {"bounds": L1Ball(1.0), "neighbours": "add-remove", "mechanism": "laplace"}
        release = PrivateMean(1.0, **made).fit(CURVES).release_
        loss = math.floor(2.0**release.exponent) / min(release.noise.scales)  # type: ignore[attr-defined]
        assert math.isclose(loss, 0.9, rel_tol=1e-9)

    def test_a_public_size_keeps_the_whole(self) -> None:
        made = {"bounds": L1Ball(1.0), "neighbours": "add-remove", "mechanism": "laplace"}
        release = PrivateMean(1.0, public_size=60, **made).fit(CURVES).release_
        loss = math.floor(2.0**release.exponent) / min(release.noise.scales)  # type: ignore[attr-defined]
        assert math.isclose(loss, 1.0, rel_tol=1e-9)
        assert release.divisor == 60.0

    def test_the_count_is_near_the_truth(self) -> None:
        counts = [
            PrivateMean(50.0, bounds=(-3, 3), unit=PrivacyUnit(neighbours="add-remove"))
            .fit(CURVES)
            .release_.count
            for _ in range(5)
        ]
        # Laplace noise of scale 0.2: beyond 6 with probability e^-30.
        assert all(abs(count - 80) < 6 for count in counts)
        assert len(set(counts)) == 5

    def test_a_count_below_one_is_one(self) -> None:
        for _ in range(5):
            made = PrivateMean(
                1e-6,
                bounds=(-3, 3),
                unit=PrivacyUnit(neighbours="add-remove"),
                reading=Reading(invalid="repair"),
            )
            release = made.fit(CURVES[:2]).release_
            assert release.count >= 1.0
            assert np.isfinite(release(GRID)).all()


class TestSimulation:
    def test_it_says_that_it_is_not_private(self) -> None:
        curves = simulate_releases(PrivateMean(1.0, bounds=(-3, 3)), CURVES, 3, seed=1)
        assert curves.not_private
        assert repr(curves).startswith("NOT PRIVATE")
        assert curves.shape == (3, 15)
        assert repr(non_private_mean(PrivateMean(1.0, bounds=(-3, 3)), CURVES)).startswith("NOT PRIVATE")

    @pytest.mark.usefixtures("no_noise")
    def test_it_neither_charges_nor_draws_privacy_noise(self) -> None:
        ledger = Recorder()
        estimator = PrivateMean(1.0, bounds=(-3, 3), ledger=ledger.of("d"))
        simulate_releases(estimator, CURVES, 2, seed=1)
        assert ledger.charges == []
        assert not hasattr(estimator, "release_")

    def test_the_seed_decides(self) -> None:
        estimator = PrivateMean(1.0, bounds=(-3, 3))
        first, again, other = (simulate_releases(estimator, CURVES, 2, seed) for seed in (1, 1, 2))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    @pytest.mark.parametrize(
        "parameters",
        [{"mechanism": "knorm"}, {"mechanism": "iclp"}, {"delta": 1e-6}, {"neighbours": "add-remove"}],
        ids=repr,
    )
    def test_it_has_the_mean_and_spread_of_releases(self, parameters: dict[str, Any]) -> None:
        # Exact releases against simulated ones, at three points: means and standard deviations.
        made = PrivateMean(3.0, bounds=(-3, 3), grid_points=GRID, **parameters)
        at = [0, 7, 14]
        # A private count, or a delta, asks for a design a draw.
        draws = 4000 if "mechanism" in parameters else 300
        simulated = np.asarray(simulate_releases(made, CURVES, draws, seed=6))[:, at]
        exact = np.array([made.fit(CURVES).release_(GRID[at]) for _ in range(200)])
        spread = simulated.std(axis=0)
        assert (
            np.abs(exact.mean(axis=0) - simulated.mean(axis=0))
            < 5.5 * spread * math.sqrt(1 / 200 + 1 / draws)
        ).all()
        # Kurtosis below 10: the standard deviation of 200 is known to 11 per cent.
        ratio = exact.std(axis=0) / spread
        assert (np.abs(np.log(ratio)) < 0.6).all()


def test_prepare_refuses_before_it_reads() -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("the data were touched")

    with pytest.raises(DpfdaError, match="epsilon must be positive"):
        PrivateMean(epsilon=0, bounds=(-3, 3)).prepare(Untouchable())
