"""A test that two groups have one mean function, from their releases: level, slope and bend at once.

Three linear forms of the difference of the two linear estimates, which have one public map: its mean
over the domain, and its projections on the first two cosines. Under the hypothesis for the *samples*
each is noise alone, of the known law. Under that for the *populations* sampling is added, a normal
variable; whatever the correlation between points, the deviation of sum_i c_i x(t_i) is at most
sum_i |c_i| s(t_i), with s(t) that of the difference of means at t. Each form has a p-value of its own,
simulated; the smallest, each divided by its weight, is a p-value for all three together, since weights
add up to one (Bonferroni): it is at most alpha with a probability of at most alpha, however the forms
depend on each other. Most of the weight is the level's, in which groups most often differ: at level .05
it takes 3 per cent more of n epsilon to find a difference there than by a test of it alone, with power
.8, and 30 per cent more to find one of the other two.

Where nothing but the test is wanted, `dpfda.PrivateEqualityTest` spends the budget on it.
"""

from __future__ import annotations

import numpy as np

from dpfda.comparison.difference_release import ReleasedDifference
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, probability
from dpfda.releases.bands import DRAWS
from dpfda.releases.confidence import Variance, stated_variance
from dpfda.releases.findings import EqualityTest

FORMS = {"level": 0.8, "slope": 0.1, "bend": 0.1}
NULLS = ("populations", "samples")


def check_test(level: float, null: str, variance: Variance | None) -> float:
    """Read the level of a test, the hypothesis and the variance that it is for."""
    if choice(null, "null", NULLS) == "samples" and variance is not None:
        raise ParameterError("variance", "be for null='populations'", "one for samples")
    return probability(level, "level")


def equal_means(
    difference: ReleasedDifference, level: float, null: str, variance: Variance | None
) -> EqualityTest:
    """Test that the two groups of a difference have one mean function.

    Parameters
    ----------
    difference : ReleasedDifference
    level : float
        Probability of finding a difference where there is none.
    null : {"populations", "samples"}
        Whose mean functions are equal under the hypothesis.
    variance : float, callable, optional
        Of a unit's value, known to be public; by default the largest that the bounds allow.

    Raises
    ------
    ParameterError
        If one is unusable, or neither bounds on values nor a variance are known for populations.
    """
    level = check_test(level, null, variance)
    at = difference.grid_points
    forms = _forms(difference)
    generator = np.random.Generator(np.random.Philox(key=0))
    found, errors = np.zeros(len(forms)), np.zeros((DRAWS, len(forms)))
    for release, sign in ((difference.first, 1.0), (difference.second, -1.0)):
        source = release.unshrunk
        onto = forms @ source.basis.evaluate(at, source.order)
        errors += sign * (source.noise_draws(generator, DRAWS) @ onto.T)
        found += sign * (forms @ source.unclipped(at, source.order))
    if null == "populations":
        reach = np.abs(forms) @ np.sqrt(_sampling(difference, variance))
        errors += generator.standard_normal(errors.shape) * reach
    larger = np.sum(np.abs(errors) >= np.abs(found), axis=0)
    adjusted = (1 + larger) / (1 + DRAWS) / np.array([*FORMS.values()])
    least = int(np.argmin(adjusted))
    statistic = float(found[least] / errors[:, least].std())
    first, second = difference.names
    said = f"the {null} of {first} and {second} have one mean function"
    seen = ([*FORMS][least],)
    return EqualityTest(statistic, min(1.0, float(adjusted[least])), level, difference.names, said, seen)


def _forms(difference: ReleasedDifference) -> Floats:
    """Weights (3, m) of the grid points in each form."""
    start, end = difference.domain_range
    basis = difference.first.basis
    weights = basis.weights / basis.weights.sum()
    place = (difference.grid_points - start) / (end - start)
    return np.asarray(weights * np.cos(np.pi * np.outer(np.arange(len(FORMS)), place)))


def _sampling(difference: ReleasedDifference, variance: Variance | None) -> Floats:
    """Variance (m,) of the difference of means by sampling, at most."""
    at, total = difference.grid_points, np.zeros(difference.grid_points.shape)
    for release in (difference.first, difference.second):
        largest, limits = stated_variance(variance, at), release.limits_at(at)
        if limits is not None:
            allowed = np.broadcast_to((limits[1] - limits[0]) ** 2 / 4, at.shape)
            largest = allowed if largest is None else np.minimum(largest, allowed)
        if largest is None:
            words = "be stated where values have no public bounds"
            raise ParameterError("variance", words, "None", "It must be known to be public.")
        total += largest / release.count
    return total
