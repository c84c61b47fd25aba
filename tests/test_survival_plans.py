"""Plans of survival: nearby budgets have nearby errors; noise of trials is that of releases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpfda import PrivateSurvival
from dpfda.noise.shares import EXPONENT
from dpfda.survival.plan import ordinary_follow_ups


def plan(epsilon, n=300, **more):
    return PrivateSurvival(epsilon, domain=(0, 10), **more).plan(n)


def test_nearby_budgets_have_nearby_errors_where_the_number_of_cells_changes():
    plans = [plan(epsilon) for epsilon in (0.91, 0.95, 0.99, 1.03)]
    assert len({each.cells.count for each in plans}) > 1
    errors = np.log([each.error for each in plans])
    assert np.max(np.abs(np.diff(errors))) < math.log(1.15)
    assert errors[-1] < errors[0]


@pytest.mark.parametrize("more", [{}, {"causes": ("a", "b")}, {"noise": "gaussian", "delta": 1e-6}])
def test_noise_of_trials_has_the_deviation_of_the_law(more):
    made = plan(1.0, cells=8, **more)
    noisy = np.array([trial.release.shares.noisy for trial in made.trials(80)]) * 2.0**-EXPONENT
    followed = ordinary_follow_ups(80, made.cells, made.n)
    noise = noisy - [each.table(made.cells) for each in followed]
    assert noise.std() == pytest.approx(made.table.deviation, rel=0.12)
    assert np.corrcoef(noise.T)[np.triu_indices(noise.shape[1], 1)] == pytest.approx(0, abs=0.5)
