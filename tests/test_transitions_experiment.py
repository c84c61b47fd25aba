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
    found = transitions.kinks(transitions.some(ROWS, alpha=alpha, design="common"), "m")
    assert transitions.kink_power(found) == pytest.approx(1 / (2 * alpha), abs=0.05)


def test_where_privacy_begins_to_cost_moves_as_proved_beyond_the_first_sizes() -> None:
    for alpha in transitions.ALPHAS:
        many = transitions.kinks_of_many(transitions.some(ROWS, alpha=alpha, design="many"))[-4:]
        assert transitions.kink_power(many) == pytest.approx(1 / (2 * alpha), abs=0.08)
        first = transitions.kinks(transitions.some(ROWS, alpha=alpha, design="whole"), "epsilon")
        turned = [(n, n * at**2) for n, at in first]
        assert transitions.kink_power(turned) < 1 / (2 * alpha) - 0.1


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
    assert {row["design"] for row in rows} == {"whole", "common", "independent", "many"}
    assert all(row["error"] > -0.01 for row in rows)
