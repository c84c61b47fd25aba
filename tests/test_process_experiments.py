"""What the experiment on whole paths relies on: closed forms by integration, limits, estimates of V."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from experiments import processes


@pytest.mark.parametrize("step", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(
    ("law", "affinity"),
    [(stats.laplace(), processes.laplace_affinity), (stats.norm(), processes.normal_affinity)],
    ids=["laplace", "normal"],
)
def test_the_affinity_is_its_integral(law, affinity, step):
    def root(place: float) -> float:
        return math.sqrt(law.pdf(place) * law.pdf(place - step))

    integral = integrate.quad(root, -40, 44, points=[0, step], limit=200)[0]
    assert affinity(np.array([step]))[0] == pytest.approx(integral, rel=1e-7)
    assert affinity(np.array([step, step]))[1] == pytest.approx(integral**2, rel=1e-7)


@pytest.mark.parametrize("affinity", [processes.laplace_affinity, processes.normal_affinity])
def test_shifts_outside_the_cameron_martin_space_are_told_apart_and_others_are_not(affinity):
    ends = {name: affinity(processes.shift(a)) for name, a in processes.SHIFTS.items()}
    assert ends["both norms finite"][-1] > 0.8
    assert ends["Cameron-Martin norm alone"][-1] > 0.7
    assert ends["neither"][-1] < 2e-4
    # The product converges: what is left after 10,000 components moves the value by less than 1 %.
    for name in ("both norms finite", "Cameron-Martin norm alone"):
        assert ends[name][-1] / ends[name][9_999] > 0.99


def test_the_density_of_a_shifted_normal_process_integrates_to_one():
    # dP/dQ(x) = exp(T(x) - |h|^2 / 2), T linear with T(h) = |h|^2. Its logarithm is normal under Q
    # with mean -|h|^2/2 and variance |h|^2; 4 standard errors, chance of a false alarm below 1e-4.
    generator = np.random.default_rng(3)
    parts = processes.shift(0.75, 200)
    square = float(parts @ parts)
    logs = generator.normal(size=(20_000, 200)) @ parts - square / 2
    error = math.sqrt(math.expm1(square) / logs.size)
    assert abs(np.exp(logs).mean() - 1) < 4 * error
    wrong = np.exp(logs + square / 2 - square / 4).mean()
    assert abs(wrong - 1) > 4 * error


def test_the_mixing_variable_is_read_off_a_path_at_the_rate_of_a_root():
    generator = np.random.default_rng(4)
    squares = processes.mixing_squares(generator, 400)
    read = processes.estimates(generator, squares, 4_000)
    errors = np.log(read[:, -1]) - np.log(squares) / 2
    # The logarithm of the root of chi-squared(n)/n has deviation (2n)^(-1/2) = .0112.
    assert np.std(errors) == pytest.approx(1 / math.sqrt(8_000), rel=0.2)
    assert np.corrcoef(np.log(read[:, -1]), np.log(squares))[0, 1] > 0.99


def test_the_pure_loss_of_t_noise_grows_with_components():
    epsilon = processes.t_epsilon(processes.DEGREES)
    values = [epsilon(count, 0.5) for count in (1, 10, 100, 1_000)]
    assert values == sorted(values)
    assert values[-1] > 9 * values[-2]


def test_the_sensitivity_of_remark_12_is_the_largest_over_each_ball():
    generator = np.random.default_rng(5)
    values = processes.shift(4.0, 30)
    parts = values**0.75 / (values**1.25 + 1e-3)
    points = generator.laplace(size=(20_000, 30))
    points[:30] = np.eye(30)
    moved = np.abs(points) @ parts
    for norm, order in (("l1", 1), ("l2", 2)):
        ratios = moved / np.linalg.norm(points, order, axis=1)
        largest = processes.sensitivity(norm, 30)
        assert ratios.max() <= largest * (1 + 1e-12)
    assert moved[:30].max() == pytest.approx(processes.sensitivity("l1", 30))
    reached = parts @ parts / np.linalg.norm(parts)
    assert reached == pytest.approx(processes.sensitivity("l2", 30))


def test_the_noise_of_remark_17_falls_with_the_square_of_penalty_times_records():
    noise = processes.machine_noise
    assert noise(10_000, 0.1) == pytest.approx(noise(1_000, 0.1) / 100)
    assert noise(1_000, 0.1) == pytest.approx(noise(10_000, 0.01))


def test_the_page_and_its_pictures_are_written(tmp_path: Path):
    processes.main(["--quick", "--results", str(tmp_path)])
    text = (tmp_path / "processes.md").read_text()
    for picture in ("processes_affinity.png", "processes_mixing.png"):
        assert f"]({picture})" in text
        assert (tmp_path / picture).stat().st_size > 10_000
