"""Whatever was made of records with filled gaps says so, in every kind that fills them."""

import numpy as np
import pytest

from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateCurveClusters,
    PrivateCurveSampler,
    PrivateEqualityTest,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateQuantileCurves,
    PrivateReferenceBand,
    PrivateScalarOnFunction,
    Reading,
)
from dpfda.releases.facts import FILLED, report

pytestmark = pytest.mark.usefixtures("few_draws")

COMPLETE = Reading(missing="complete")
NUMBERS = np.linspace(0, 1, 60)
LEVELS = ["a", "b"] * 30
KINDS = {
    "mean": (PrivateMean, {}, ()),
    "groups": (PrivateComparison, {}, (LEVELS,)),
    "test": (PrivateEqualityTest, {}, (LEVELS,)),
    "covariance": (PrivateCovariance, {}, ()),
    "components": (PrivateFPCA, {}, ()),
    "effects": (PrivateFunctionalRegression, {"covariates": {"age": (0, 1)}}, ({"age": NUMBERS},)),
    "scalar": (PrivateScalarOnFunction, {"target_bounds": (0, 1)}, (NUMBERS,)),
    "clusters": (PrivateCurveClusters, {"clusters": 2}, ()),
    "sampler": (PrivateCurveSampler, {}, ()),
    "reference": (PrivateReferenceBand, {}, ()),
    "quantiles": (PrivateQuantileCurves, {"levels": (0.5,)}, ()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_says_that_gaps_were_filled(kind):
    curves = 0.5 + 0.3 * np.sin(np.linspace(0, 3, 12)) + np.linspace(-0.1, 0.1, 60)[:, None]
    estimator, more, beside = KINDS[kind]
    whole = estimator(epsilon=4, bounds=(0, 1), **more).fit(curves, *beside).release_
    curves[::3, 7:] = np.nan
    filled = estimator(epsilon=4, bounds=(0, 1), reading=COMPLETE, **more).fit(curves, *beside).release_
    assert FILLED in filled.facts.accurate()
    assert "gaps" in filled.facts.card()
    assert FILLED not in whole.facts.accurate()
    assert "Gaps" not in report(whole.facts)


def test_a_mean_of_two_says_so_if_gaps_of_either_were_filled():
    curves = np.full((60, 12), 0.5)
    one = PrivateMean(epsilon=1, bounds=(0, 1)).fit(curves).release_
    curves[::3, 7:] = np.nan
    other = PrivateMean(epsilon=1, bounds=(0, 1), reading=COMPLETE).fit(curves).release_
    assert one.combined(other).facts.fills
    assert other.combined(one).facts.fills
    assert not one.combined(
        PrivateMean(epsilon=1, bounds=(0, 1)).fit(np.ones((60, 12))).release_
    ).facts.fills
