"""What the experiment on phase transitions relies on, and what its committed table says."""

from pathlib import Path

import numpy as np
import pytest

from experiments import transitions
from experiments.common import RESULTS

ROWS = transitions.read(RESULTS / "transitions.csv")


@pytest.mark.parametrize("alpha", transitions.ALPHAS)
def test_means_are_no_smoother_than_said(alpha: float) -> None:
    """What the first L cosines leave out falls like L^-2 alpha, and not like the next whole number."""
    times = (np.arange(4096) + 0.5) / 4096
    mean = transitions.smooth_mean(alpha, np.random.default_rng(1))(times)
    orders = np.arange(1, 129)
    parts = np.sqrt(2) * np.cos(np.pi * np.outer(orders, times)) @ (mean - mean.mean()) / times.size
    left = np.cumsum(parts[::-1] ** 2)[::-1]
    slope = np.polyfit(np.log(orders[3:32]), np.log(left[3:32]), 1)[0]
    assert slope == pytest.approx(-2 * alpha, rel=0.15)
    assert np.mean((mean - 0.5) ** 2) == pytest.approx(transitions.SIZE**2, rel=0.1)


def test_what_is_taken_for_the_error_of_sampling_has_its_expectation() -> None:
    looks = transitions.LOOKS
    generator = np.random.default_rng(2)
    means = generator.standard_normal((4000, 3)) @ transitions.deviations(looks)
    assert np.mean(means**2) == pytest.approx(transitions.sampling(), rel=0.06)


@pytest.mark.parametrize("alpha", transitions.ALPHAS)
def test_the_rates_are_reached_without_knowing_the_smoothness(alpha: float) -> None:
    fits = transitions.fitted(ROWS, alpha)
    for name in ("budget", "visits", "one visit, budget"):
        proved, found, _ = fits[name]
        assert found < 0.9 * proved, name
    # Errors of the other smoothness would be a fifth off.
    other = transitions.fitted(ROWS, 3 - alpha)["grid"][1]
    assert abs(fits["grid"][1] + 2 * alpha) < 0.15 * 2 * alpha < abs(other + 2 * alpha)
    found = transitions.kinks(transitions.some(ROWS, alpha=alpha, design="common"))
    assert transitions.kink_power(found) == pytest.approx(1 / (2 * alpha), abs=0.05)


@pytest.mark.parametrize("alpha", transitions.ALPHAS)
def test_where_privacy_begins_to_cost_moves_as_proved(alpha: float) -> None:
    found = transitions.edges(transitions.some(ROWS, alpha=alpha, design="edge"))
    many = transitions.kinks_of_many(transitions.some(ROWS, alpha=alpha, design="many"))[-4:]
    for kinks in (found, many):
        assert transitions.kink_power(kinks) == pytest.approx(1 / (2 * alpha), abs=0.08)
        # The other smoothness has another power.
        assert abs(transitions.kink_power(kinks) - 1 / (6 - 2 * alpha)) > 0.15


def test_a_kink_is_where_noise_and_smoothing_err_as_much_as_sampling() -> None:
    at = (50.0, 200.0, 400.0)
    rows = [
        {"n": 100.0, "epsilon": s / 100, "error": transitions.sampling() / 100 * (1 + (150 / s) ** 1.5)}
        for s in at
    ]
    assert transitions.edges(rows) == [(100.0, pytest.approx(150**2 / 100))]


def test_visits_under_a_budget_go_from_the_rate_of_one_to_that_of_whole_curves() -> None:
    for alpha in transitions.ALPHAS:
        for n in transitions.VISIT_SIZES:
            one, *_, most = (transitions.least(ROWS, alpha, n, m) for m in transitions.VISITS)
            assert most < one / 4
        # Visits that are pooled alone gain nothing.
        pooled = transitions.some(ROWS, alpha=alpha, design="independent", n=3000.0, epsilon=0.3)
        assert transitions.some(pooled, m=64.0)[0]["error"] > pooled[0]["error"]
    signal, (few, many) = np.log(100), (transitions.least(ROWS, 2.0, n, 64) for n in (300, 30_000))
    proved = transitions.private_power(2.0)
    assert np.log((many - transitions.sampling() / 30_000) / few) / signal == pytest.approx(
        proved, abs=0.1
    )


def test_carried_visits_are_a_persons_own() -> None:
    times, values = np.array([[0.5, 0.1], [0.0, 1.0]]), np.array([[5.0, 1.0], [0.0, 1.0]])
    found = transitions.carried(times, values, np.array([0.0, 0.3, 1.0]))
    assert found == pytest.approx(np.array([[1.0, 3.0, 5.0], [0.0, 0.3, 1.0]]))


def test_privacy_is_free_for_enough_people_and_sets_the_error_for_few() -> None:
    for alpha in transitions.ALPHAS:
        whole = transitions.some(ROWS, alpha=alpha, design="whole", n=100_000.0)
        least, most = (transitions.some(whole, epsilon=e)[0]["error"] for e in (0.01, 10.0))
        sampling = transitions.sampling() / 100_000
        assert most == pytest.approx(sampling, rel=0.02)
        assert least > 50 * sampling


def test_a_quick_run_writes_its_table(tmp_path: Path) -> None:
    transitions.main(["--quick", "--results", str(tmp_path)])
    rows = transitions.read(tmp_path / "transitions.csv")
    assert {row["design"] for row in rows} == {
        "whole",
        "common",
        "independent",
        "many",
        "edge",
        "carried",
    }
    assert all(row["error"] > -0.01 for row in rows)
