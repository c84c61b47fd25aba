"""What is said of the default line of curves between bounds: its error, its band, its misfit."""

from __future__ import annotations

from dpfda.bases.curve_priors import CurvePrior
from dpfda.front.report.numbers import number
from dpfda.releases.function import ReleasedFunction

# Typical errors, as shares of the distance between the bounds, and what they are called.
VERDICTS = ((0.02, "very good"), (0.05, "good"), (0.1, "fair"), (0.2, "coarse"))
WORST = "of little use"


def is_line(release: ReleasedFunction) -> bool:
    """Whether a release is the default line of curves between bounds, or a derivative of it."""
    return isinstance(release.hierarchy, CurvePrior)


def verdict(release: ReleasedFunction) -> str | None:
    """The typical error in one line, from public numbers; None where it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.full((4000, 50), 0.3)
    >>> verdict(PrivateMean(1.0, bounds=(0, 1)).fit(curves).release_)
    'typical error 1 % of your bounds or less: very good'
    """
    if not is_line(release) or release.order > 0:
        return None
    share = release.widths.typical_error
    word = next((word for limit, word in VERDICTS if share <= limit), WORST)
    size = "1 % of your bounds or less" if share < 0.01 else f"{100 * share:.0f} % of your bounds"
    return f"typical error {size}: {word}"


def misfit(release: ReleasedFunction) -> str | None:
    """A warning where what was measured is rougher than its cells can follow; None elsewhere."""
    if not is_line(release) or not release.widths.misfit:
        return None
    return (
        "What was measured changes from cell to cell by more than the noise does: the mean is rougher "
        "than the line can follow, and the band may miss it between cells."
    )


def promise(level: float, typical: float, largest: float, at_a_point: float, units: str) -> list[str]:
    """What the default band says and what it does not."""
    often = f"{100 * level:g}"
    return [
        f"The band around the published curve, typically {number(typical)} to either side and at most "
        f"{number(largest)} ({units}), is meant to hold the mean of these bounded curves, everywhere at "
        f"once, in {often} of 100 releases of curves like ordinary ones. At a single point chosen in "
        f"advance {number(at_a_point)} is enough. Measured on 39 sets of real curves, the band for 95% "
        "held the mean in 89 to 97 of 100 releases, by the number of units, and in 95 over all; these "
        "sets were in view when it was made.",
        "The noise is known exactly. How the mean wiggles between the places that were measured is "
        "assumed: spikes, steps and cycles narrower than a cell can be missed altogether. What the "
        "bound cut off, and how far these data are from a wider population, is not included.",
    ]
