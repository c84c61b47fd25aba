"""Two stages or one: how much of the budget a rough mean is worth, from public numbers alone.

Stage one releases a rough mean with a share of the budget. What remains unknown of the mean is then
smaller than what was unknown before, and records differ less from the rough mean than from the center
of the bound; so the last stage, which sums their differences, clips them to a smaller radius and needs
less noise. The first share is lost to it, though. Both strategies are compared by the typical error that
`choose` minimises: given shape and scale of the mean the shrinkage is the best linear one; the root
mean square error is averaged over what is believed of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.priors import SCALES, Prior, normalized, public_shapes
from dpfda.bounds import IntegerBall
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.cells import measured_forms
from dpfda.mechanisms.design.choice import choose, typical_error
from dpfda.numerics.arrays import Floats
from dpfda.numerics.remembered import remembered
from dpfda.privacy.guarantees import Guarantee, PureDP, split

# Shares of the budget for the rough mean that are tried.
SHARES = tuple(Fraction(share, 100) for share in (3, 5, 10, 15, 20, 30, 40, 50))
# For choosing a radius privately, where the user asks for it.
SELECTION_SHARE = Fraction(1, 10)
# Spreads that a private choice is planned for, relative to the radius of the bound.
ASSUMED_SPREADS = (0.5, 0.25, 0.125)
# Candidates for the radius: those of the bound over powers of 2^(1/2).
CANDIDATES = 11
# Clipping radii that are tried, relative to the declared spread.
WIDENINGS = (1.0, 1.5, 2.0)
# Nine records of ten are taken to lie within the spread, and a tenth of the rest beyond twice that: so
# falls the exponential law.
TAIL = math.log(10)
# The rough mean may miss more than it is expected to: the radius allows for this factor.
ALLOWANCE = 1.5
# Two stages rest on more that is not known (the law of distances, what the rough mean misses), so they
# are used where their typical error is expected to be lower by this factor.
MARGIN = 1.25
# What the last stage is told of the mean may be wrong by these factors of its variance.
DOUBTS = (1 / 3, 1.0, 3.0)
# Clipped parts do not all point the same way: their average is taken to be this part of their length.
ALIGNED = 0.5
# Lengths are taken to be log-normal, their logarithms with one of these deviations.
WIDTHS = (0.1, 0.2, 0.4, 0.8)
QUANTILES = 64
# What the rough mean misses, relative to what it is expected to miss.
MISSED = (0.25, 0.5, 1.0)


@dataclass(frozen=True)
class StageShares:
    """How a budget is divided, and what one and two stages are expected to give.

    Parameters
    ----------
    first, selection, last : Guarantee or None
        For the rough mean, for the choice of a radius (None where none is made), for the differences.
        They compose to no more than the whole.
    share : Fraction
        Of the rough mean.
    width : float or None
        Differences of the records from their own mean are clipped to about this; None where the radius
        is chosen privately.
    one, two : float
        Typical error (root mean squared L2 distance) of one stage with the whole budget, and of two; in
        units of the data times the root of the domain's. With a private choice of the radius `two` is a
        geometric mean over the spreads planned for, a half to an eighth of the bound's radius.
    """

    first: PureDP
    selection: PureDP | None
    last: Guarantee
    share: Fraction
    width: float | None
    one: float
    two: float

    @property
    def two_stages(self) -> bool:
        """Whether two stages are expected to be better, by the margin."""
        return MARGIN * self.two < self.one

    def radius_after(self, squares: Floats) -> float:
        """Clipping radius of the differences from a rough mean that misses `squares` (K,); public.

        Spread and error of the rough mean are at right angles in many dimensions.
        """
        assert self.width is not None  # noqa: S101
        return math.hypot(self.width, ALLOWANCE * math.sqrt(float(squares.sum())))

    def describe(self) -> str:
        """Say in words which is used and why."""
        if self.width is None:
            return (
                "two stages, as asked for; the radius was chosen privately, so nothing public says"
                " whether this is better than one stage"
            )
        chosen, other = ("two stages", "one") if self.two_stages else ("one stage", "two")
        errors = (self.two, self.one) if self.two_stages else (self.one, self.two)
        return (
            f"{chosen}, whose expected typical error is {errors[0]:.4g} against {errors[1]:.4g}"
            f" with {other}, if the declared spread is true; two must be better by {MARGIN:g} times"
        )


@remembered(16)
def share_stages(problem: Problem, spread: float | None) -> StageShares:
    """Divide a budget between a rough mean and the differences from it.

    Parameters
    ----------
    problem : Problem
        Of the mean with the whole budget. Public.
    spread : float or None
        Public L2 distance within which nine records of ten lie of their mean, in units of the data times
        the root of the domain's. None plans a private choice of the radius.

    Notes
    -----
    What clipping costs is taken to be half of the average excess for an exponential law of distances;
    its square is added to that of the typical error.
    """
    one = typical_error(problem, choose(problem)) * problem.radius
    plans = [plan for share in SHARES for plan in _tried(problem, share, spread, one)]
    if spread is not None:
        return min(plans, key=lambda plan: plan.two)
    # Over the assumed spreads: the share with the least product of errors.
    errors = {share: [p.two for p in plans if p.share == share] for share in SHARES}
    best = min(SHARES, key=lambda share: math.prod(errors[share]))
    plan = next(p for p in plans if p.share == best)
    return replace(plan, width=None, two=math.prod(errors[best]) ** (1 / len(ASSUMED_SPREADS)))


def _tried(problem: Problem, share: Fraction, spread: float | None, one: float) -> list[StageShares]:
    first, rest = split(problem.guarantee, share)
    selection = None
    spreads = [spread] if spread is not None else [s * problem.radius for s in ASSUMED_SPREADS]
    if spread is None:
        selection, rest = split(rest, SELECTION_SHARE)
    rough = replace(problem, guarantee=first)
    known = whole_prior(problem)
    rows = unknown_variances(rough, choose(rough), known.variances) * problem.radius**2
    missing = float(known.chances @ rows.sum(axis=1))
    made = []
    belief = Prior(rows, np.ones(1), known.chances[:, None])
    for width in spreads:
        tried = []
        for wider in WIDENINGS:
            radius = math.hypot(wider * width, ALLOWANCE * math.sqrt(missing))
            later = residual_problem(problem, belief, radius, rest)
            lost = ALIGNED * width * math.exp(-TAIL * wider) / TAIL
            two = math.hypot(typical_error(later, choose(later)) * later.radius, lost)
            tried.append(StageShares(first, selection, rest, share, wider * width, one, two))
        made.append(min(tried, key=lambda plan: plan.two))
    return made


def whole_prior(problem: Problem) -> Prior:
    """What is believed of the mean, in units of the squared radius, for all functions of the basis.

    The public mixture, or a user's own shape beside the public ones: data are seldom as rough as a
    kernel.
    """
    if problem.mixture is not None or problem.body is not None:
        return problem.belief
    shapes = normalized(public_shapes(problem.prior.size), problem.norm)
    return Prior.of(np.vstack([problem.prior, shapes]), np.array(SCALES))


def unknown_variances(problem: Problem, design: Design, variances: Floats) -> Floats:
    """Variances (H, K) of the coefficients that a release leaves, for rows (H, K) of those before.

    In units of the squared radius; noise counts by its variance.
    """
    forms, power = _forms(problem, design)
    left = []
    for row in variances:
        crossed = forms * row
        gain = np.linalg.solve(crossed @ forms.T + np.diag(power), crossed)
        left.append(np.maximum(row - np.sum(crossed * gain, axis=0), 0.0))
    return np.array(left)


def _forms(problem: Problem, design: Design) -> tuple[Floats, Floats]:
    """Forms (M, K) of the coefficients that get noise, and its variances over the squared radius."""
    if design.measurement is not None:
        return measured_forms(problem, design)
    forms = np.eye(design.components, problem.variances.size)
    return forms, problem.noise_power(design.noise.variances())


def unknown_after(problem: Problem, design: Design, noisy: Floats, coefficients: Floats) -> Floats:
    """Mean squares (K,) of what a rough release misses, given the release: public.

    Shapes and scales are weighed by how well they explain the noisy numbers, noise taken as normal of
    the same variance.

    Parameters
    ----------
    problem : Problem
    design : Design
        Of the rough release.
    noisy : array (M,)
        What was measured, with its noise, over the number of units; in units of the data.
    coefficients : array (K' <= K,)
        Released, in the units of the data.

    Returns
    -------
    array (K,)
        In squared units of the data.
    """
    forms, power = _forms(problem, design)
    known = whole_prior(problem)
    seen, released = noisy / problem.radius, np.zeros(problem.variances.size)
    released[: coefficients.size] = coefficients / problem.radius
    logs, squares = [], []
    for row in known.variances:
        crossed = forms * row
        covariance = crossed @ forms.T + np.diag(power)
        gain = np.linalg.solve(covariance, crossed)
        logs.append(-(seen @ np.linalg.solve(covariance, seen) + np.linalg.slogdet(covariance)[1]) / 2)
        left = np.maximum(row - np.sum(crossed * gain, axis=0), 0.0)
        squares.append(left + (seen @ gain - released) ** 2)
    with np.errstate(divide="ignore"):
        weights = np.array(logs) + np.log(known.chances)
    weights = np.exp(weights - weights.max())
    return np.asarray(weights @ np.array(squares) / weights.sum()) * problem.radius**2


def residual_problem(problem: Problem, belief: Prior, radius: float, guarantee: Guarantee) -> Problem:
    """The problem of the last stage: an l2 ball of a smaller radius, and what is still unknown.

    Parameters
    ----------
    problem : Problem
        Of the mean.
    belief : Prior
        Of the mean difference's coefficients, in squared units of the data.
    radius : float
        That differences are clipped to, in units of the data.
    guarantee : Guarantee
        What is left of the budget.
    """
    ball = IntegerBall.of("l2", radius, problem.variances.size)
    mixture = belief.times((ball.radius * ball.step) ** -2.0)
    average = mixture.chances @ mixture.variances
    return Problem(average, None, ball, problem.size, guarantee, problem.neighbours, None, mixture)


def residual_belief(squares: Floats) -> Prior:
    """Prior of the mean difference from its mean squares (K,), which may be off by a factor."""
    return Prior.of(squares, DOUBTS)


def candidate_radii(radius: float) -> Floats:
    """Public candidates (CANDIDATES,) for the clipping radius, decreasing from that of the bound."""
    return np.asarray(radius * 2.0 ** (-np.arange(CANDIDATES) / 2))


def choose_radius(
    radii: Floats,
    counts: Floats,
    deviation: float,
    size: int,
    missing: float,
    noise: ArrayLike,
    power: int = 1,
    shorter: int = 0,
) -> int:
    """Which candidate has the least predicted squared error, from noisy counts: post-processing.

    Clipping at r moves the mean by at most the average of max(length - r, 0). Records' distances from
    their own mean are taken to be log-normal, place and width unknown, and at right angles to what the
    rough mean misses, known up to a factor; all of these are weighed by how well they explain the noisy
    counts, and the squared average of the excess (half of it: clipped parts do not all point the same
    way) is added to the noise. Where counts are too noisy to tell, a large radius is chosen.

    Parameters
    ----------
    radii : array (C,)
        Decreasing.
    counts : array (C,)
        Noisy numbers of units whose length is above the next candidate (and at most this one, but for
        the first).
    deviation : float
        Standard deviation of a count's noise, which is Laplace.
    size : int
        Number of units, or public divisor.
    missing : float
        What the rough mean is expected to miss, in units of the radii.
    noise : array (C,)
        Expected squared error of the last stage at each radius, without clipping.
    power : int
        1 for a mean, 2 for second moments: clipping moves those by the excess of squared lengths.
    shorter : int
        By how many powers of the root of two the places reach below the least candidate.

    Returns
    -------
    int
        Index of the candidate.
    """
    least = np.log(radii[-1]) - shorter * math.log(2) / 2
    places = np.linspace(least, np.log(radii[0]), 4 * (radii.size + shorter) - 3)
    missed = missing * np.array(MISSED) if missing else np.zeros(1)
    place, width, floor = (grid.ravel() for grid in np.meshgrid(places, WIDTHS, missed))
    with np.errstate(divide="ignore"):
        edges = np.log(np.maximum(radii[1:, None] ** 2 - floor**2, 0.0)) / 2
    above = scipy.special.ndtr((place - edges) / width)
    chances = np.diff(np.vstack([np.zeros(place.size), above, np.ones(place.size)]), axis=0)
    logs = -np.abs(counts[:, None] - size * chances).sum(axis=0) * math.sqrt(2) / deviation
    weights = np.exp(logs - logs.max())
    quantiles = scipy.special.ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES)
    lengths = np.hypot(np.exp(place[:, None] + width[:, None] * quantiles), floor[:, None])
    excess = np.maximum(lengths[None] ** power - radii[:, None, None] ** power, 0.0).mean(axis=2)
    moved = (excess**2 @ weights) / weights.sum()
    return int(np.argmin(np.asarray(noise) + ALIGNED**2 * moved))


def expected_squares(
    problem: Problem, squares: Floats, radii: Floats, guarantee: Guarantee
) -> list[float]:
    """Expected squared error of the last stage at each radius, in squared units of the data."""
    errors = []
    for radius in radii:
        later = residual_problem(problem, Prior.of(squares), float(radius), guarantee)
        errors.append((typical_error(later, choose(later)) * later.radius) ** 2)
    return errors
