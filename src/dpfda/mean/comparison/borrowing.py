"""Groups that borrow: the line of each may be near to what all others show. Post-processing.

The noisy sums of all groups but one show a common line, the public curve of the group's prior
(`dpfda.bases.priors`). How far groups deviate from it all of them tell together: to the evidence
of a group for each component and scale that of the G - 1 others is added, which counts as if they were
G - 2. Groups by several factors have a line of their own for each label, found in the same way. See
docs/appendix/covariance.md.

All this is made of what is released; it costs nothing, and protects as before.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dpfda.bases.priors import BORROWING, CurvePrior
from dpfda.estimates import CurveModel, CurvePosterior
from dpfda.estimates.draws import Forms
from dpfda.numerics.arrays import Floats
from dpfda.releases.function import ReleasedFunction

Means = Mapping[str, ReleasedFunction]
Priors = Mapping[str, CurvePrior]
# Labels of each group, one a factor, by its name.
Places = Mapping[str, tuple[object, ...]]
Any_ = TypeVar("Any_", bound=Hashable)


def borrowing(means: Means, places: Places | None = None) -> dict[str, ReleasedFunction]:
    """The same releases, each near to what the others show as far as they show it themselves.

    They have been paid for: where the numbers fail they stay as they are.
    """
    try:
        return _borrowed(means, places or {})
    except Exception:
        return dict(means)


def _borrowed(means: Means, places: Places) -> dict[str, ReleasedFunction]:
    lines = {
        name: prior
        for name, mean in means.items()
        if isinstance(prior := mean.hierarchy, CurvePrior) and not prior.centers.size
    }
    if len(lines) < len(means):
        return dict(means)
    centered = _around(means, lines, places)
    evidence = {
        name: replace(mean, hierarchy=centered[name])._widths.posterior.nearness
        for name, mean in means.items()
    }
    near = _told(evidence)
    return {
        name: replace(mean, hierarchy=replace(centered[name], near=near[name], version=BORROWING))
        for name, mean in means.items()
    }


def _told(evidence: Mapping[Any_, Floats]) -> dict[Any_, Floats]:
    """What all others say of lines near a common one; of G deviations from it G - 1 are free."""
    total, counted = sum(evidence.values()), (len(evidence) - 2) / (len(evidence) - 1)
    return {name: counted * (total - own) for name, own in evidence.items()}


def _around(means: Means, lines: Priors, places: Places) -> dict[str, CurvePrior]:
    """The prior of each group around what the others show of it."""
    shown = dict[str, Floats]()
    for name, mean in means.items():
        others = [other for other in means.values() if other is not mean]
        shown[name] = _line(_posterior(mean, others, lines[name]))
    common = {name: replace(prior, centers=shown[name][None]) for name, prior in lines.items()}
    for factor in range(len(next(iter(places.values()), ()))):
        of = {k: labels[factor] for k, labels in places.items()}
        for name, line in _of_factor(means, common, of).items():
            shown[name] = shown[name] + line - common[name].centers[0]
    return {name: replace(prior, centers=shown[name][None]) for name, prior in lines.items()}


def _of_factor(means: Means, common: Priors, of: Mapping[str, object]) -> dict[str, Floats]:
    """What the other groups of the same label show, near the common line; of those that have others."""
    mates = {
        name: [means[other] for other in means if other != name and of[other] == of[name]]
        for name in means
    }
    alone = {name: _posterior(means[name], mates[name], common[name]) for name in means if mates[name]}
    nearness = {
        label: np.mean([fit.nearness for name, fit in alone.items() if of[name] == label], axis=0)
        for label in dict.fromkeys(of[name] for name in alone)
    }
    if len(nearness) < 2:
        return {}
    near = _told(nearness)
    priors = {name: replace(common[name], near=near[of[name]], version=BORROWING) for name in alone}
    return {name: _line(_posterior(means[name], mates[name], priors[name])) for name in alone}


def _line(shown: CurvePosterior) -> Floats:
    """Its line (m,), in the units of the data."""
    prior = shown.model.prior
    return np.asarray(prior.lower + shown.model.on_grid(shown.line) * prior.width)


def _posterior(
    own: ReleasedFunction, others: Sequence[ReleasedFunction], prior: CurvePrior
) -> CurvePosterior:
    """What other groups than one show together, under a prior."""
    if len(others) == 1:
        return replace(others[0], hierarchy=prior)._widths.posterior
    units = np.array([mean.count for mean in others])
    model, size = own._curve_model, float(units.sum())
    noise = Forms(own.noise, np.full(len(others), 1 / size))
    step = math.ldexp(1.0, -own.exponent)
    joined = CurveModel(prior, model.grid, model.places, model.forms, noise, step)
    return joined.posterior(units @ np.array([mean._measured for mean in others]) / size)
