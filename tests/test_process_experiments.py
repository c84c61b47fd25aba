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


def test_the_functional_of_a_shift_of_brownian_motion_is_the_integral_of_the_path():
    """C(T_h) = h and cov(f, T_h) = f(h) (Bogachev, Lemma 2.4.1), on a grid and by components."""
    points = (np.arange(2_000) + 0.5) / 2_000
    covariance = np.minimum.outer(points, points)
    h = points - points**2 / 2
    np.testing.assert_allclose(covariance.mean(axis=1), h, atol=1e-6)
    values, parts, _ = processes.brownian_components(2_000)
    waves = math.sqrt(2) * np.sin(np.outer(points[::100], values**-0.5))
    np.testing.assert_allclose(waves @ parts, h[::100], atol=1e-6)
    rows = [row for row in processes.functional_rows() if row["count"] == 1_000]
    assert [row["value"] for row in rows] == pytest.approx([1 / 3] * 3, rel=1e-6)
    # Another functional, the value at .3; and t instead of one is not the functional of h.
    assert covariance[600].mean() == pytest.approx(h[600], abs=1e-6)
    assert abs((covariance @ points).mean() - h.mean()) > 0.05


def test_the_integral_alone_tells_a_shifted_brownian_motion_apart_as_well_as_the_path():
    # Log density T_h - |h|^2/2 has mean -+1/6 and variance 1/3; seen on paths of 1,000 steps.
    generator = np.random.default_rng(5)
    steps, size = 1_000, 4_000
    points = np.arange(1, steps + 1) / steps
    paths = np.cumsum(generator.normal(size=(size, steps)) / math.sqrt(steps), axis=1)
    h = points - points**2 / 2
    for shift, mean in ((0.0, -1 / 6), (1.0, 1 / 6)):
        logs = (paths + shift * h).mean(axis=1) - 1 / 6
        assert logs.mean() == pytest.approx(mean, abs=4 * math.sqrt(1 / 3 / size))
    moves = np.diff(h, prepend=0.0) * steps
    exact = np.diff(paths, axis=1, prepend=0.0) @ moves
    assert np.corrcoef(exact, paths.mean(axis=1))[0, 1] > 0.999


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
