"""Kernel machines under add/remove neighbours: one unit's part, its noise, and what stays unsaid."""

import math

import numpy as np
import pytest

from dpfda import PrivacyUnit, PrivateKernelClassifier, PrivateKernelRegressor
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.machines.solvers import Labelled
from dpfda.noise import achieved_guarantee
from dpfda.privacy.guarantees import within

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, size=(400, 3))
Y = np.digitize(X[:, 0], [-0.3, 0.3])
UNIT = PrivacyUnit("person", "add-remove", public_size=300)


def classifier(classes=(0, 1, 2), **chosen):
    return PrivateKernelClassifier(
        **{"epsilon": 1, "bounds": (-1, 1), "unit": UNIT, "classes": classes, **chosen}
    )


WAYS = {
    "means": {},
    "sums": {"loss": "squared"},
    "gradient": {"delta": 1e-6},
}


def part_of_one(solver):
    """What the longest record that there is adds to the integers."""
    rows = np.zeros((1, solver.terms.components), dtype=np.int64)
    rows[0, 0] = solver.ball.radius
    data = Labelled(rows, np.array([[0.0, 1.0, 0.0]]), np.array([0]), 1)
    if solver.name == "gradient":
        return np.array(solver.summed(data)(()).with_noise([0] * solver.entries), dtype=object)
    return solver.averages(data, 0, 1)[0].astype(object)


@pytest.mark.parametrize("name", WAYS)
def test_noise_hides_what_one_unit_adds_and_no_more(name):
    solver = classifier(**WAYS[name]).plan(300, 3).solver
    twice = classifier(unit="person", **WAYS[name]).plan(300, 3).solver
    assert (solver.name, solver.terms.units) == (name, 300)
    added = part_of_one(solver)
    if name == "sums":
        matrix = np.zeros((solver.rows, solver.rows))
        first, second = np.tril_indices(solver.rows)
        matrix[first, second] = matrix[second, first] = added.astype(float)
        assert np.sum(matrix**2) == pytest.approx(solver.width.frobenius_square, rel=1e-9)
        assert np.abs(np.linalg.eigvalsh(matrix)).sum() == pytest.approx(solver.width.trace, rel=1e-9)
        achieved = achieved_guarantee(solver.noise, "l2", solver.width, solver.terms.guarantee)
        assert twice.noise.power > 1.3 * solver.noise.power
    else:
        length = math.sqrt(sum(int(v) ** 2 for v in added))
        width = solver.width if name == "means" else solver.step_width
        assert 0.99 * width <= length <= width
        norm = solver.norm if name == "means" else "l2"
        achieved = achieved_guarantee(solver.noise, norm, solver.width, solver.terms.guarantee)
        assert twice.noise.scales[0] == pytest.approx(2 * solver.noise.scales[0], rel=1e-6)
    assert within(achieved, solver.terms.guarantee)


@pytest.mark.parametrize("name", WAYS)
def test_nothing_but_the_noisy_numbers_follows_from_how_many_there_are(name):
    few, many = (classifier(**WAYS[name]).fit(X[:n], Y[:n]).release_ for n in (250, 400))
    assert dict(few.certificate.mechanism) == dict(many.certificate.mechanism)
    assert few.noise == many.noise
    assert few.size == many.size == 300
    assert few.public_units is None
    words = str(few.report())
    assert "the number that sums were divided by: 300" in words
    assert "a private number of persons" in words
    assert str(few.neighbours) == "add-remove"
    assert few.predict_proba(X).shape == (400, 3) if name == "gradient" else True


def test_real_targets_and_two_classes_have_solvers_too():
    regressor = PrivateKernelRegressor(1, 1e-6, bounds=(-1, 1), target_bounds=(-1, 1), unit=UNIT)
    assert regressor.plan(300, 3).solver.name == "gradient"
    squared = regressor.set_params(delta=0, loss="squared")
    assert squared.fit(X, X[:, 1]).release_.certificate.mechanism["name"] == "sums"
    two = classifier((0, 1), epsilon=1000).fit(X, Y > 1)
    assert two.release_.certificate.mechanism["name"] == "means"
    assert two.score(X, Y > 1) > 0.8


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (
            lambda: classifier(unit=PrivacyUnit(neighbours="add-remove")),
            ParameterError,
            "public_size must be giv",
        ),
        (
            lambda: classifier(unit=PrivacyUnit(public_size=30)),
            ParameterError,
            "public_size must be None under",
        ),
        (
            lambda: classifier((0, 1, 2), solver="output"),
            RefusedMechanismError,
            "for more than two classes",
        ),
        (
            lambda: classifier((0, 1), solver="objective"),
            RefusedMechanismError,
            "one that noises sums under",
        ),
        (
            lambda: classifier((0, 1), solver="output"),
            RefusedMechanismError,
            "one that noises sums under",
        ),
        (
            lambda: classifier((0, 1), loss="logistic"),
            RefusedMechanismError,
            "set delta and use 'gradient'",
        ),
    ],
)
def test_what_has_no_proof_is_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make().fit(X, Y % 2)
