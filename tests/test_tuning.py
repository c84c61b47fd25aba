"""Rules against the mechanisms, cross-validation against simulation, selection against its law."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateMean,
    load,
)
from dpfda.bases import KernelBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import BudgetError, DpfdaError, ParameterError
from dpfda.mechanisms.iclp import ICLP, ICLPL1
from dpfda.privacy.composition import compose, laplace_rho, pure_rho
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.testing import simulate_releases
from dpfda.testing.contracts import make_problem
from dpfda.tuning import Stopping, cross_validate, matern_decay, plug_in, private_selection
from statistical import FALSE_ALARM

GRID = np.linspace(0, 1, 25)
CURVES = np.sin(4 * GRID) + np.random.default_rng(1).normal(0, 0.3, (80, 1)) * np.cos(3 * GRID)
SIZES = (10**3, 10**7)
ETAS = [Fraction(-1, 2), Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)]


class TestPlugIn:
    @pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
    @pytest.mark.parametrize("bound", [L1Ball(1.0), L2Ball(1.0)])
    def test_the_mechanisms_use_it(self, smoothness: float, bound: Any) -> None:
        basis = KernelBasis.on_grid(_matern(smoothness), GRID)
        problem = make_problem(basis, bound, 300, PureDP("0.7"))
        decay = matern_decay(smoothness)
        rkhs, l1 = ICLP().design(problem).parameters, ICLPL1().design(problem).parameters
        rule = plug_in(300, 0.7, decay=decay, norm=bound.norm)
        assert (rkhs["eta"], rkhs["penalty"]) == pytest.approx((rule.eta, rule.penalty), rel=1e-12)
        rule = plug_in(300, 0.7, decay=decay, norm=bound.norm, estimate="l1")
        assert (l1["eta"], l1["penalty"]) == pytest.approx((rule.eta, rule.penalty), rel=1e-12)

    def test_in_two_dimensions_eigenvalues_decay_more_slowly(self) -> None:
        assert matern_decay(1.5, 2) == 2.5
        assert plug_in(100, 1, decay=matern_decay(math.inf)).eta == 1

    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_noise_costs_no_more_than_sampling(self, norm: Any) -> None:
        # n times the expected squared noise of Theorem 11 with lambda_j = j^-4, from 10^3 to 10^7.
        values = np.arange(1.0, 40_001) ** -4
        costs = [_noise(values, n, plug_in(n, 1, decay=4, norm=norm), norm) * n for n in SIZES]
        assert costs[1] < 1.2 * costs[0]
        # The penalty of the l1 ball does not do on the l2 ball: n^(1/4) in theory.
        if norm == "l2":
            wrong = [_noise(values, n, plug_in(n, 1, decay=4, norm="l1"), "l2") * n for n in SIZES]
            assert wrong[1] > 8 * wrong[0]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"size": 0}, "size must be a positive integer; found 0"),
            ({"epsilon": -1}, "epsilon must be positive; found -1"),
            ({"decay": 1.0}, r"decay must exceed 1.*found 1.0.*matern_decay"),
            ({"radius": math.inf}, "radius must be positive and finite; found inf"),
            ({"norm": "l3"}, "norm must be one of 'l1', 'l2'; found 'l3'"),
            ({"estimate": "ridge"}, "estimate must be one of 'rkhs', 'l1'; found 'ridge'"),
        ],
    )
    def test_refusals(self, change: dict[str, Any], words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            plug_in(**({"size": 10, "epsilon": 1, "decay": 4.0} | change))


def _matern(smoothness: float) -> Any:
    from sklearn.gaussian_process.kernels import Matern

    return Matern(0.1, nu=smoothness)


def _noise(values: np.ndarray, size: float, rule: Any, norm: str) -> float:
    slopes = values ** (rule.eta - 0.5) / (values**rule.eta + rule.penalty)
    width = slopes.max() if norm == "l1" else math.sqrt(np.sum(slopes**2))
    return float(2 * (2 * width / size) ** 2 * values.sum())


PENALTIES = (1e-5, 1e-3, 1e-1, 10.0)


@pytest.fixture(scope="module")
def candidates() -> list[PrivateMean]:
    return [
        PrivateMean(
            0.5, bounds=L2Ball(2.0), domain=Domain(GRID), mechanism=ICLP(eta=1.25, penalty=penalty)
        )
        for penalty in PENALTIES
    ]


class TestCrossValidation:
    def test_it_refuses_without_the_declaration(self, candidates: Any) -> None:
        words = r"data_are_public must be True.*not private; found False.*plug_in.*private_selection"
        with pytest.raises(ParameterError, match=words):
            cross_validate(CURVES, candidates)
        with pytest.raises(ParameterError, match="found 'yes'"):
            cross_validate(CURVES, candidates, data_are_public="yes")  # type: ignore[arg-type]

    def test_scores_are_those_of_simulated_releases(self, candidates: Any) -> None:
        from sklearn.model_selection import KFold

        found = cross_validate(CURVES, candidates[1:3], data_are_public=True, folds=4, seed=3)
        weights = KernelBasis.on_grid(_matern(1.5), GRID).weights
        splits = KFold(4, shuffle=True, random_state=3).split(CURVES)
        for fold, (rest, left) in enumerate(splits):
            for row, candidate in enumerate(candidates[1:3]):
                released = np.asarray(simulate_releases(candidate, CURVES[rest], 3000, 100 + fold))
                gaps = released[:, None, :] - CURVES[left]
                distances = np.mean(gaps**2 @ weights, axis=1)
                error = distances.std() / math.sqrt(3000)
                assert error < 0.03 * distances.mean()
                assert abs(distances.mean() - found.scores[row, fold]) < 4.5 * error

    def test_noise_asks_for_more_smoothing(self, candidates: Any) -> None:
        plain = cross_validate(CURVES, candidates, data_are_public=True, private=False)
        private = cross_validate(CURVES, candidates, data_are_public=True)
        assert np.all(private.scores > plain.scores)
        assert plain.best.mechanism.penalty == PENALTIES[0]
        assert private.best.mechanism.penalty > PENALTIES[0]
        assert private.means[private.index] == private.scores.mean(axis=1).min()

    def test_a_unit_stays_in_one_part(self, candidates: Any) -> None:
        # Both curves of a pair are alike: were they in two parts, the score would be near zero.
        shifts = np.random.default_rng(2).normal(0, 1, (12, 1))
        pairs = np.repeat(0.2 * shifts * np.cos(3 * GRID), 2, axis=0)
        groups = np.repeat(np.arange(12), 2)
        estimator = PrivateMean(1e6, bounds=L2Ball(2.0), domain=Domain(GRID), mechanism="laplace")
        found = cross_validate(pairs, [estimator], data_are_public=True, folds=6, groups=groups)
        single = cross_validate(pairs[::2], [estimator], data_are_public=True, folds=6)
        # The parts are others, their average distance is of one size: (1 + 1/11) variances about.
        assert found.means[0] == pytest.approx(single.means[0], rel=0.1)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"folds": 1}, "folds must be an integer of at least 2; found 1"),
            ({"folds": 41}, "folds must leave at least two units in each part; found 41 of 80"),
            ({"candidates": []}, "candidates must be PrivateMean estimators, at least one"),
            (
                {
                    "candidates": [
                        PrivateMean(
                            1.0,
                            bounds=L2Ball(1.0),
                            unit=PrivacyUnit(neighbours="add-remove"),
                            mechanism="knorm",
                        )
                    ]
                },
                "public_size must be given in candidates with add-remove neighbours",
            ),
        ],
    )
    def test_refusals(self, candidates: Any, change: dict[str, Any], words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            cross_validate(CURVES, **({"candidates": candidates, "data_are_public": True} | change))


# --- the law of the number of runs ---


def pmf(law: Stopping, last: int = 4000) -> np.ndarray:
    """The definition of Papernot & Steinke, by its ratios; mass beyond `last` is left out."""
    eta, gamma, counts = float(law.eta), float(law.gamma), np.arange(1, last)
    first = (1 - gamma) / math.log(1 / gamma) if eta == 0 else eta * (1 - gamma) / (gamma**-eta - 1)
    ratios = (1 - gamma) * (counts + eta) / (counts + 1)
    return first * np.cumprod(np.concatenate([[1.0], ratios]))


class TestStopping:
    @pytest.mark.parametrize("eta", ETAS)
    @pytest.mark.parametrize("mean", ["1.5", "12"])
    def test_mean_and_mass(self, eta: Fraction, mean: str) -> None:
        law = Stopping.with_mean(eta, mean)
        masses = pmf(law, 100_000)
        assert masses.sum() == pytest.approx(1, abs=1e-9)
        chosen = [1, 2, 3, 10, 100]
        assert [law.probability(k) for k in chosen] == pytest.approx(masses[np.array(chosen) - 1])
        assert law.probability(0) == 0
        assert masses @ np.arange(1, masses.size + 1) == pytest.approx(float(mean), rel=1e-8)
        assert law.mean == pytest.approx(float(mean), rel=1e-8)
        assert law.price == 2 + eta

    def test_against_scipy(self) -> None:
        counts = np.arange(1, 60)
        whole = stats.nbinom.pmf(counts, 2.5, 0.3) / (1 - stats.nbinom.pmf(0, 2.5, 0.3))
        cases = [
            (Stopping(Fraction(0), Fraction(1, 5)), stats.logser.pmf(counts, 0.8)),
            (Stopping(Fraction(5, 2), Fraction(3, 10)), whole),
            (Stopping(Fraction(1), Fraction(1, 4)), stats.geom.pmf(counts, 0.25)),
        ]
        for law, reference in cases:
            assert [law.probability(k) for k in counts] == pytest.approx(reference, rel=1e-11)

    @pytest.mark.parametrize("eta", ETAS)
    def test_draws_fit_the_law_and_no_other(self, eta: Fraction) -> None:
        law = Stopping.with_mean(eta, 6)
        draws = np.array([law.draw() for _ in range(10_000)])
        assert _fits(draws, pmf(law))
        assert not _fits(draws, pmf(Stopping.with_mean(eta, 12)))
        assert not _fits(draws, pmf(Stopping.with_mean(eta, 3)))
        other = Stopping.with_mean(eta + Fraction(3, 2), 6)
        assert not _fits(draws, pmf(other))

    def test_undecided_bits_are_refined_and_not_redrawn(self) -> None:
        # Geometric with gamma = 1/2: the first 128 bits say "between 1/2 and 1/2 + 2^-128" only.
        law = Stopping(Fraction(1), Fraction(1, 2))
        for second, runs in ((1, 2), (2**128 - 1, 2)):
            parts = iter([2**127, second])
            assert law.draw(lambda bits, parts=parts: next(parts)) == runs
        parts = iter([2**127 - 1, 7])
        assert law.draw(lambda bits: next(parts)) == 1
        # The last bin holds all large numbers: K = 129 for 128 ones and then a zero.
        parts = iter([2**128 - 1, 2**126])
        assert law.draw(lambda bits: next(parts)) == 129

    @pytest.mark.parametrize(
        ("eta", "mean", "words"),
        [
            (-1, 5, "eta must exceed -1; found -1"),
            (1, 1, "expected_runs must exceed 1; found 1"),
            ("x", 5, "eta must be a finite number; found 'x'"),
            (1, math.nan, "expected_runs must be finite"),
        ],
    )
    def test_refusals(self, eta: Any, mean: Any, words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            Stopping.with_mean(eta, mean)


def _fits(draws: np.ndarray, masses: np.ndarray) -> bool:
    """Chi-square test at FALSE_ALARM on cells of at least 20 expected draws, the tail in one."""
    expected = masses * draws.size
    last = int(np.argmax(expected < 20)) if np.any(expected < 20) else masses.size
    cells = np.append(expected[:last], draws.size - expected[:last].sum())
    observed = np.bincount(np.minimum(draws, last + 1), minlength=last + 2)[1:]
    return bool(stats.chisquare(observed, cells).pvalue > FALSE_ALARM)


# --- the law of what is selected ---


def selected_law(one_run: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """Law of the best of K independent runs, outputs sorted by score: P(all <= y) - P(all < y)."""
    below = np.concatenate([[0.0], np.cumsum(one_run)])
    powers = np.polynomial.polynomial.polyval(np.minimum(below, 1.0), np.append(0.0, masses))
    return np.diff(powers)


def loss(first: np.ndarray, second: np.ndarray, masses: np.ndarray) -> float:
    logs = np.log(selected_law(first, masses) / selected_law(second, masses))
    return float(np.abs(logs).max())


EPSILON = 0.5


def worst_pair(epsilon: float = EPSILON) -> tuple[np.ndarray, np.ndarray]:
    """One run within pure epsilon: the top and the middle output move by the whole factor."""
    top, middle = 0.02, 1e-5
    first = np.array([1 - top - middle * math.exp(epsilon), middle * math.exp(epsilon), top])
    second = np.array([1 - top * math.exp(epsilon) - middle, middle, top * math.exp(epsilon)])
    return first, second


class TestLawOfTheSelection:
    @pytest.mark.parametrize("eta", ETAS)
    def test_the_price_is_enough_and_needed(self, eta: Fraction) -> None:
        masses = pmf(Stopping(eta, Fraction(1, 4000)), 80_000)
        found = loss(*worst_pair(), masses)
        assert found <= float(2 + eta) * EPSILON
        # The bound is nearly reached, so a smaller price would be wrong.
        assert found > 0.97 * float(2 + eta) * EPSILON

    def test_other_stopping_laws_break_it(self) -> None:
        runs = np.arange(1, 400)
        fixed = (runs == 8).astype(float)
        poisson = stats.poisson.pmf(runs, 60) / -math.expm1(-60)
        bottom = np.array([0.2 * math.exp(EPSILON), 1 - 0.2 * math.exp(EPSILON)]), np.array([0.2, 0.8])
        assert loss(*bottom, fixed) > 3 * EPSILON
        assert loss(*bottom, poisson) > 3 * EPSILON
        assert loss(*bottom, pmf(Stopping(Fraction(1), Fraction(1, 60)))) <= 3 * EPSILON

    @settings(max_examples=150, deadline=None)
    @given(
        weights=st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
        signs=st.lists(st.sampled_from([-1, 1]), min_size=6, max_size=6),
        eta=st.sampled_from(ETAS),
        mean=st.floats(1.5, 30),
        epsilon=st.floats(0.05, 3),
    )
    def test_no_pair_costs_more(
        self, weights: list[float], signs: list[int], eta: Fraction, mean: float, epsilon: float
    ) -> None:
        first = np.array(weights) / sum(weights)
        tilted = first * np.exp(epsilon / 2 * np.array(signs[: first.size]))
        second = tilted / tilted.sum()
        one_run = np.abs(np.log(second / first)).max()
        masses = pmf(Stopping.with_mean(eta, repr(mean)), 1500)
        assert loss(first, second, masses) <= float(2 + eta) * one_run * (1 + 1e-9) + 1e-9


@dataclass(frozen=True)
class Output:
    """What a made-up run returns."""

    value: float
    guarantee: Any
    neighbours: Any = Neighbours.REPLACE_ONE
    unit: str = "record"


def made_up(value: float) -> Any:
    return lambda candidate, epsilon: Output(value, PureDP(epsilon))


class TestPrivateSelection:
    def test_outputs_have_the_law_of_the_proof(self) -> None:
        generator = np.random.default_rng(11)
        chances = {"a": (0.7, 0.25, 0.05), "b": (0.5, 0.2, 0.3)}
        one_run = (np.array(chances["a"]) + np.array(chances["b"])) / 2

        def fit(candidate: str, epsilon: Fraction) -> Output:
            return Output(float(generator.choice(3, p=chances[candidate])), PureDP(epsilon))

        counts = np.zeros(3)
        draws = 2000
        for _ in range(draws):
            chosen = private_selection(["a", "b"], fit, lambda out: out.value, 1, eta=0, expected_runs=4)
            counts[int(chosen.release.value)] += 1

        def p_value(masses: np.ndarray) -> float:
            return float(stats.chisquare(counts, draws * selected_law(one_run, masses)).pvalue)

        assert p_value(pmf(Stopping.with_mean(0, 4))) > FALSE_ALARM
        # Another shape, another mean, and always four runs.
        assert p_value(pmf(Stopping.with_mean(3, 4))) < FALSE_ALARM
        assert p_value(pmf(Stopping.with_mean(0, 2))) < FALSE_ALARM
        assert p_value(np.array([0.0, 0.0, 0.0, 1.0])) < FALSE_ALARM

    def test_candidates_are_drawn_uniformly(self) -> None:
        seen = np.zeros(3)

        def fit(candidate: int, epsilon: Fraction) -> Output:
            seen[candidate] += 1
            return Output(0.0, PureDP(epsilon))

        private_selection([0, 1, 2], fit, lambda out: 0.0, 1, expected_runs=30_000)
        assert stats.chisquare(seen).pvalue > FALSE_ALARM

    def test_the_first_of_equals_stays_and_nan_is_worst(self, monkeypatch: Any) -> None:
        monkeypatch.setattr(Stopping, "draw", lambda self: 5)
        made: list[Output] = []

        def fit(candidate: int, epsilon: Fraction) -> Output:
            made.append(Output([math.nan, 1.0, 2.0, 2.0, math.nan][len(made)], PureDP(epsilon)))
            return made[-1]

        chosen = private_selection([0], fit, lambda out: out.value, 1)
        assert len(made) == 5
        assert chosen.release is made[2]

    def test_the_ledger_is_charged_once_for_all_and_before_any_run(self) -> None:
        ledger = MemoryLedger().create("d", PureDP(2))
        runs = []

        def fit(candidate: int, epsilon: Fraction) -> Output:
            assert ledger.spent("d")["epsilon"] == Fraction(9, 5)
            runs.append(epsilon)
            return Output(1.0, PureDP(epsilon))

        options: Any = {"expected_runs": 50, "eta": Fraction(1, 2), "ledger": ledger.of("d")}
        chosen = private_selection([0, 1], fit, lambda out: out.value, "1.8", **options)
        assert set(runs) == {Fraction(18, 25)}
        assert chosen.guarantee == PureDP("1.8")
        assert [record.action for record in ledger.history("d")] == ["create", "charge"]
        before = len(runs)
        with pytest.raises(BudgetError):
            private_selection([0, 1], fit, lambda out: out.value, "1.8", **options)
        assert len(runs) == before

    def test_what_is_published_and_recorded_does_not_tell_the_number_of_runs(self) -> None:
        ledger = MemoryLedger().create("d", PureDP(1000))
        told = set()
        for _ in range(20):
            chosen = private_selection(
                [0],
                made_up(1.0),
                lambda out: 1.0,
                1,
                expected_runs=9,
                ledger=ledger.of("d"),
            )
            # The identity is fresh randomness, drawn once.
            identity = chosen.certificate.identity
            words = repr(chosen) + str(ledger.history("d")[-1].details)
            assert words.count(identity) == 2
            told.add(words.replace(identity, ""))
        assert len(told) == 1

    @pytest.mark.parametrize(
        ("output", "words"),
        [
            (Output(1.0, PureDP("0.34")), "One run must give at most .*0.333.*found 0.34"),
            (Output(1.0, ApproximateDP("0.3", "1e-9")), "One run must give at most"),
            (Output(1.0, PureDP("0.3"), unit="group"), "must protect one record.*found 'group'"),
            (Output(1.0, PureDP("0.3"), Neighbours.ADD_REMOVE), "under replace-one.*found.*add-remove"),
            (1.0, "must have the attribute 'guarantee'"),
        ],
    )
    def test_a_run_that_promises_too_little_is_not_published(self, output: Any, words: str) -> None:
        ledger = MemoryLedger().create("d", PureDP(1))
        with pytest.raises(DpfdaError, match=words):
            private_selection(
                [0],
                lambda c, e: output,
                lambda out: 1.0,
                1,
                ledger=ledger.of("d"),
            )
        assert ledger.remaining("d")["epsilon"] == 0

    def test_a_ledger_in_a_candidate_is_refused_before_the_charge(self) -> None:
        ledger = MemoryLedger().create("d", PureDP(1))
        inner = PrivateMean(1.0, bounds=(0, 1), ledger=ledger.of("d"))
        with pytest.raises(ParameterError, match=r"candidates\[0\].ledger must be None.*how many"):
            private_selection(
                [inner],
                made_up(0),
                lambda out: 1.0,
                1,
                ledger=ledger.of("d"),
            )
        with pytest.raises(ParameterError, match="dataset must name the data set"):
            private_selection([0], made_up(0), lambda out: 1.0, 1, ledger=ledger)
        with pytest.raises(ParameterError, match="candidates must hold at least one"):
            private_selection(
                [],
                made_up(0),
                lambda out: 1.0,
                1,
                ledger=ledger.of("d"),
            )
        assert ledger.spent("d")["epsilon"] == 0

    def test_a_mean_carries_the_guarantee_of_its_selection(self, tmp_path: Any) -> None:
        def fit(mechanism: str, epsilon: Fraction) -> Any:
            return PrivateMean(epsilon, bounds=L2Ball(2.0), mechanism=mechanism).fit(CURVES).release_

        chosen = private_selection(["laplace", "iclp"], fit, lambda out: -out.integral(), 3)
        release = load(chosen.release.save(tmp_path / "best.json"))
        assert release.guarantee == release.certificate.achieved == PureDP(3)
        assert "best of several runs" in release.about["selected"]
        # The noise is Laplace, but the best of several such runs has no Laplace law.
        total = compose([release], kind="zero-concentrated")
        assert total.rho == pure_rho(Fraction(3)) > laplace_rho(Fraction(3))

    def test_nothing_is_called_proved_of_the_best_of_several_bands(self, tmp_path: Any) -> None:
        curves = np.full((400, 200), 0.3)

        def fit(size: int, epsilon: Fraction) -> Any:
            return PrivateMean(epsilon, bounds=(0, 1)).fit(curves[:size]).release_

        chosen = private_selection([400], fit, lambda out: -out.distance.noisy, 3, expected_runs=10)
        release: Any = load(chosen.release.save(tmp_path / "best.json"))
        assert release.distance is not None
        told = " ".join(release.describe().split())
        assert "of curves like ordinary ones" in told
        assert "whatever the curves are" not in told
        assert "This is the best of several runs" in told
        assert "mehreren Läufen" in " ".join(release.describe("de").split())
        alone = " ".join(fit(400, Fraction(1)).describe().split())
        assert "whatever the curves are" in alone
        assert "best of several" not in alone

    @pytest.mark.parametrize("kind", ["density", "kernel", "components", "covariance", "comparison"])
    def test_so_do_releases_that_hold_releases(self, kind: str, tmp_path: Any) -> None:
        whole = 3
        estimators: dict[str, Any] = {
            "density": PrivateDensity(1.0, domain=(-2, 2)),
            "kernel": PrivateDensity(1.0, domain=(-2, 2), mechanism="kernel"),
            "components": PrivateFPCA(1.0, n_components=1, bounds=(-2, 2), center="private"),
            "covariance": PrivateCovariance(1.0, bounds=(-2, 2), center="private"),
            "comparison": PrivateComparison(1.0, bounds=(-2, 2)),
        }
        labels = ["a", "b"] * (len(CURVES) // 2)

        def fit(estimator: Any, epsilon: Fraction) -> Any:
            records = CURVES[: len(labels)]
            rows = records[:, 0] if isinstance(estimator, PrivateDensity) else records
            beside = [labels] if isinstance(estimator, PrivateComparison) else []
            return estimator.set_params(epsilon=epsilon).fit(rows, *beside).release_

        chosen = private_selection([estimators[kind]], fit, lambda out: 1.0, whole, expected_runs=2)
        release = load(chosen.release.save(tmp_path / "best.json"))
        inside = [getattr(release, "raw", None), getattr(release, "mean", None)]
        inside += list(getattr(release, "means", {}).values())
        for held in (release, *inside):
            assert held is None or held.guarantee == PureDP(whole)
            assert held is None or getattr(held, "stated", PureDP(whole)) == PureDP(whole)
        assert "best of several runs of 1-differential privacy" in release.about["selected"]
