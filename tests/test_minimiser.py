"""The solver: whatever the examples, its answer is within the certified distance of the minimiser."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dpfda.errors import ParameterError
from dpfda.machines import minimiser
from dpfda.machines.minimiser import (
    Examples,
    Loss,
    gradient_at,
    is_certified,
    largest_norm,
    least_tolerance,
    minimise,
)

HALF = Fraction(1, 2)
LOSSES = {name: Loss(name, HALF) for name in ("hinge", "logistic", "huber", "squared")}
PSI = Fraction(1, 64)
every = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


def examples(seed=0, count=60, components=5, offsets=0.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, components))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None] * (1 + 1e-12)
    targets = np.where(rng.uniform(size=count) < 0.5, -1.0, 1.0)
    shift = offsets * rng.normal(size=count)
    return Examples(rows, targets, np.full(count, 1.0 / count), shift)


def objective(data, loss, penalty):
    def value(b):
        fitted = data.offsets + data.rows @ b
        return float(data.weights @ loss.values(data.targets, fitted) + float(penalty) * b @ b)

    return value


@every
def test_slopes_and_curvatures_are_derivatives_within_the_stated_bounds(loss):
    f = np.linspace(-3.0, 3.0, 2001) + 1e-4
    step = 1e-6
    for y in (-1.0, 1.0):
        target = np.full_like(f, y)
        slopes = loss.slopes(target, f)
        numeric = (loss.values(target, f + step) - loss.values(target, f - step)) / (2 * step)
        np.testing.assert_allclose(slopes, numeric, atol=1e-5)
        bends = (loss.slopes(target, f + step) - loss.slopes(target, f - step)) / (2 * step)
        smooth = np.abs(loss.curvatures(target, f + 2 * step) - loss.curvatures(target, f - 2 * step))
        np.testing.assert_allclose(
            loss.curvatures(target, f)[smooth < 0.01], bends[smooth < 0.01], atol=1e-3
        )
        assert np.max(loss.curvatures(target, f)) <= loss.smoothness
        assert np.max(loss.curvatures(target, f)) >= 0.99 * loss.smoothness
        if loss.lipschitz is not None:
            assert 0.9 * loss.lipschitz <= np.max(np.abs(slopes)) <= loss.lipschitz
            assert np.max(np.abs(f) * loss.curvatures(target, f)) <= loss.saturation


def test_the_rounded_hinge_is_within_half_its_width_of_the_hinge():
    f = np.linspace(-2, 2, 1001)
    gap = np.maximum(0.0, 1.0 - f) - LOSSES["hinge"].values(np.ones_like(f), f)
    assert np.max(gap) == pytest.approx(0.25)
    assert np.min(gap) >= 0


@every
def test_the_answer_is_the_minimiser(loss):
    data = examples()
    tolerance = 10 * least_tolerance(loss, PSI, 5)
    found = minimise(data, loss, PSI, tolerance)
    assert is_certified(gradient_at(data, loss, float(PSI), found), found, loss, float(PSI), tolerance)
    by_scipy = optimize.minimize(objective(data, loss, PSI), np.zeros(5), tol=1e-14, method="Powell")
    np.testing.assert_allclose(found, by_scipy.x, atol=2e-5)
    assert objective(data, loss, PSI)(found) <= by_scipy.fun + 1e-12
    assert np.linalg.norm(found) <= largest_norm(loss, PSI)


def test_the_square_loss_is_ridge_regression():
    data = examples(3)
    found = minimise(data, LOSSES["squared"], PSI, 1e-8)
    gram = data.rows.T @ data.rows / 60 + float(PSI) * np.eye(5)
    ridge = np.linalg.solve(gram, data.rows.T @ data.targets / 60)
    assert np.linalg.norm(found - ridge) <= 1e-8 / (2 * float(PSI)) + 1e-12


def testnewton_steps_are_enough_for_far_perturbations_and_small_penalties(monkeypatch):
    # Sixty steps were not enough for a third of these; descent would take tens of millions.
    penalty, loss = Fraction(1, 2**24), LOSSES["hinge"]
    tolerance = least_tolerance(loss, penalty, 6)
    starts = []
    monkeypatch.setattr(minimiser, "descend", lambda *arguments: starts.append(arguments[-1]))
    for seed in range(8):
        data = examples(seed, 200, 6, offsets=1e5)
        minimise(data, loss, penalty, tolerance)
        gradient = gradient_at(data, loss, float(penalty), starts[-1])
        assert is_certified(gradient, starts[-1], loss, float(penalty), tolerance)


@every
@pytest.mark.parametrize("start", [None, np.full(5, np.nan), np.full(5, 1e200)])
def test_withoutnewton_steps_descent_ends_at_the_least_tolerance(monkeypatch, loss, start):
    data = examples(5)
    tolerance = least_tolerance(loss, PSI, 5)
    by_newton = minimise(data, loss, PSI, tolerance)
    monkeypatch.setattr(minimiser, "newton", lambda *_: start)
    by_descent = minimise(data, loss, PSI, tolerance)
    assert np.linalg.norm(by_newton - by_descent) <= 2 * tolerance / (2 * float(PSI))


def exact_gradient(data, loss, penalty, point):
    """The gradient in 60 digits, by formulas of its own."""
    with mpmath.workdps(60):
        total = [2 * mpmath.mpf(float(penalty)) * mpmath.mpf(b) for b in point]
        for row, y, v, o in zip(data.rows, data.targets, data.weights, data.offsets, strict=True):
            f = mpmath.mpf(o) + mpmath.fdot(map(mpmath.mpf, row), map(mpmath.mpf, point))
            width = mpmath.mpf(float(loss.width))
            slope = {
                "hinge": lambda: -y * min(max((1 - y * f) / width, 0), 1),  # noqa: B023
                "logistic": lambda: -y / (1 + mpmath.exp(y * f)),  # noqa: B023
                "huber": lambda: 2 * min(max(f - y, -width), width),  # noqa: B023
                "squared": lambda: 2 * (f - y),  # noqa: B023
            }[loss.name]()
            total = [t + mpmath.mpf(v) * slope * mpmath.mpf(z) for t, z in zip(total, row, strict=True)]
        return total


@every
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.0, 1e-3, 1.0, 20.0]))
def test_the_margin_covers_the_rounding_of_a_gradient(loss, seed, scale):
    data = examples(seed, count=40, components=4)
    point = scale * np.random.default_rng(seed + 1).normal(size=4)
    computed = gradient_at(data, loss, float(PSI), point)
    exact = exact_gradient(data, loss, PSI, point)
    error = float(mpmath.norm([mpmath.mpf(c) - e for c, e in zip(computed, exact, strict=True)]))
    # What a certificate adds to the length that was computed is at least this.
    zero, less = np.zeros(4), np.nextafter(error, 0.0)
    assert not is_certified(zero, point, loss, float(PSI), less)


@pytest.mark.parametrize("name", ["hinge", "logistic", "huber"])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e300])
def test_offsets_of_any_size_keep_the_certificate(name, scale):
    data = examples(8, offsets=scale)
    loss, tolerance = LOSSES[name], 1e-8
    found = minimise(data, loss, PSI, tolerance)
    gradient = exact_gradient(data, loss, PSI, found)
    assert float(mpmath.norm(gradient)) <= tolerance


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(list(LOSSES)),
    seed=st.integers(0, 10**6),
    count=st.integers(2, 30),
    log_penalty=st.integers(-10, 4),
    kind=st.sampled_from(["same", "zero", "opposite", "random"]),
)
def test_no_examples_break_the_certificate(name, seed, count, log_penalty, kind):
    data = examples(seed, count, 3)
    rows = {
        "same": np.tile([1.0, 0.0, 0.0], (count, 1)),
        "zero": np.zeros((count, 3)),
        "opposite": np.tile([0.0, 1.0, 0.0], (count, 1)) * data.targets[:, None],
        "random": data.rows,
    }[kind]
    data = Examples(rows, data.targets, data.weights, data.offsets)
    loss, penalty = LOSSES[name], Fraction(2) ** log_penalty
    tolerance = max(least_tolerance(loss, penalty, 3), 1e-9)
    found = minimise(data, loss, penalty, tolerance)
    assert float(mpmath.norm(exact_gradient(data, loss, penalty, found))) <= tolerance


def test_a_tolerance_below_rounding_is_refused():
    loss = LOSSES["hinge"]
    with pytest.raises(ParameterError, match="tolerance must be at least what rounding allows"):
        minimise(examples(), loss, PSI, least_tolerance(loss, PSI, 5) / 2)
