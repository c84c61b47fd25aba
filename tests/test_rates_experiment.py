"""What the experiment on rates relies on: the printed sensitivity, and slopes beside the theorem's."""

import math

import numpy as np
import pytest

from experiments import rates


@pytest.mark.parametrize("eta", rates.ETAS)
def test_the_printed_sensitivity_is_the_largest_over_all_eigenvalues(eta):
    penalty, size = 1e-3, 1000
    every = np.geomspace(1e-8, 1e3, 2_000_001)
    largest = 2 * rates.TAU / size * np.max(every ** (eta - 0.5) / (every**eta + penalty))
    assert rates.printed_sensitivity(eta, penalty, size) == pytest.approx(largest, rel=1e-8)
    # The square is the factor in the statement of the theorem.
    factor = rates.TAU**2 * (2 * eta - 1) ** (2 - 1 / eta) / (size**2 * penalty ** (1 / eta) * eta**2)
    assert rates.printed_sensitivity(eta, penalty, size) ** 2 == pytest.approx(factor)


@pytest.fixture(scope="module")
def of_sizes():
    return rates.size_rows()


@pytest.mark.parametrize("decay", rates.DECAYS)
@pytest.mark.parametrize("eta", rates.ETAS)
def test_the_noise_falls_at_the_rate_of_the_theorem_and_the_error_like_sampling(decay, eta, of_sizes):
    line = rates.chosen(of_sizes, "N", decay, eta)
    noise, error = (rates.slope(line, name, rates.LARGE) for name in ("noise", "error"))
    # Eigenvalues are apart, so that lines go in steps: by .03 at most between these ends.
    assert noise == pytest.approx(-(2 - 1 / eta), abs=0.03)
    # o(1/N), and no faster than sampling in all.
    assert noise < -1
    assert noise - 0.02 <= error <= -0.98
    for row in line:
        size = int(row["at"])
        exact = rates.sensitivity(rates.eigenvalues(decay), eta, 1 / size, size)
        assert exact <= rates.printed_sensitivity(eta, 1 / size, size) * (1 + 1e-12)


def test_the_classical_noise_falls_with_the_square_of_epsilon_and_the_exact_one_is_smaller():
    rows = rates.epsilon_rows()
    classical = rates.chosen(rows, "epsilon, classical", 4.0, 1.5)
    exact = rates.chosen(rows, "epsilon, exact", 4.0, 1.5)
    assert rates.slope(classical, "noise", rates.SMALL) == pytest.approx(-2, abs=1e-9)
    for printed, least in zip(classical, exact, strict=False):
        assert printed["at"] == least["at"]
        assert least["noise"] < printed["noise"]
    # The scale of the theorem: Delta^2 2 log(2/delta) / epsilon^2 tr C.
    values, size = rates.eigenvalues(4.0), 10_000
    width = rates.sensitivity(values, 1.5, 1 / size, size)
    noise = next(row["noise"] for row in classical if math.isclose(float(row["at"]), 1.0))
    assert noise == pytest.approx(width**2 * 2 * math.log(2 / rates.DELTA) * values.sum(), rel=1e-6)
