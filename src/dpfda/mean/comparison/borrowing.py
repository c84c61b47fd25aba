"""Groups that borrow: the line of each may be near to what all others show. Post-processing.

The noisy sums of all groups but one, over their number of units, show a line that is common to them.
That is the one public curve of the group's prior (`dpfda.bases.curve_priors`): around it the same
components as around the middle of the bounds, smaller by their scales, tell how the group deviates in
level and shape. How large such deviations are, and of which shape, all groups tell together: to the
evidence of a group for each component and scale, against that for a line of its own, that of the others
is added. Of G groups there are G - 1 deviations from a common line, so that of the G - 1 others counts
as if they were G - 2. Where groups are unlike, the evidence is against every line near the common one.

All this is made of what is released; it costs nothing, and protects as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from dpfda.bases.curve_priors import BORROWING, CurvePrior
from dpfda.estimates import CurveModel
from dpfda.estimates.forms import Forms
from dpfda.numerics.arrays import Floats
from dpfda.releases.function import ReleasedFunction


def borrowing(means: Mapping[str, ReleasedFunction]) -> dict[str, ReleasedFunction]:
    """The same releases, each near to what the others show as far as they show it themselves.

    They have been paid for: where the numbers fail they stay as they are.
    """
    try:
        return _borrowed(means)
    except Exception:
        return dict(means)


def _borrowed(means: Mapping[str, ReleasedFunction]) -> dict[str, ReleasedFunction]:
    priors = [mean.hierarchy for mean in means.values()]
    lines: list[CurvePrior] = [
        prior for prior in priors if isinstance(prior, CurvePrior) and not prior.centers.size
    ]
    if len(lines) < len(means):
        return dict(means)
    centered = {
        name: replace(line, centers=_common(mean, means.values(), line)[None])
        for (name, mean), line in zip(means.items(), lines, strict=True)
    }
    evidence = {
        name: replace(mean, hierarchy=centered[name]).widths.posterior.nearness
        for name, mean in means.items()
    }
    total, counted = sum(evidence.values()), (len(means) - 2) / (len(means) - 1)
    near = {name: counted * (total - own) for name, own in evidence.items()}
    return {
        name: replace(mean, hierarchy=replace(centered[name], near=near[name], version=BORROWING))
        for name, mean in means.items()
    }


def _common(own: ReleasedFunction, means: Iterable[ReleasedFunction], prior: CurvePrior) -> Floats:
    """What all other groups show together (m,), in the units of the data."""
    others = [mean for mean in means if mean is not own]
    if len(others) == 1:
        shown = others[0].widths.posterior
    else:
        units = np.array([mean.count for mean in others])
        model, size = own._curve_model, float(units.sum())
        noise = Forms(own.noise, np.full(len(others), 1 / size))
        step = math.ldexp(1.0, -own.exponent)
        joined = CurveModel(prior, model.grid, model.places, model.forms, noise, step)
        shown = joined.posterior(units @ np.array([mean._measured for mean in others]) / size)
    return np.asarray(prior.lower + shown.model.on_grid(shown.line) * prior.width)
