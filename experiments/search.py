"""What fits the tables and figures that the papers leave underdetermined: all combinations are tried.

A study names what its paper does not print and the values that each choice may have. Nothing is fitted:
every combination is computed, and the one with the least largest deviation over *all* printed numbers is
told, with that deviation, whether or not it is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from experiments.common import Floats, shown

Choice = dict[str, Any]
# A number printed between two ends; a cell of a table has equal ends.
Range = tuple[float, float]
Found = Mapping[str, float]


@dataclass(frozen=True)
class Study:
    """One table or figure.

    Parameters
    ----------
    name : str
    axes : dict of sequences
        What is not printed, and the values tried.
    printed : dict of (low, high)
        What is printed.
    computed : callable
        Choice of the slow axes -> iterator of (the fast ones, number of each printed name).
    slow : sequence of str
        Axes that `computed` takes; it goes through the others by itself.
    """

    name: str
    axes: Mapping[str, Sequence[Any]]
    printed: Mapping[str, Range]
    computed: Callable[[Choice], Iterator[tuple[Choice, Found]]]
    slow: Sequence[str]


@dataclass(frozen=True, eq=False)
class Search:
    """Outcome of a study.

    Parameters
    ----------
    study : Study
    deviations : array (combinations,)
        The largest factor between a number and what is printed, of every combination.
    best : dict
        The combination with the least.
    found : dict
        Its numbers.
    """

    study: Study
    deviations: Floats
    best: Choice
    found: Found

    def within(self, factor: float) -> int:
        """How many combinations come within a factor of everything printed."""
        return int(np.sum(self.deviations <= factor))

    @property
    def factors(self) -> dict[str, float]:
        """Factor between each number of the best combination and what is printed."""
        return {name: factor(self.found[name], ends) for name, ends in self.study.printed.items()}


def factor(value: float, ends: Range) -> float:
    """Factor between a number and the nearer end; one inside of a range, infinite below zero."""
    if not value > 0 or not math.isfinite(value):
        return math.inf
    return max(ends[0] / value, value / ends[1], 1.0)


def searched(study: Study, thin: int = 1) -> Search:
    """Go through every combination.

    Parameters
    ----------
    study : Study
    thin : int
        Only every so-maniest combination of the slow axes, for a quick run.
    """
    slow = product(*(study.axes[axis] for axis in study.slow))
    choices = [dict(zip(study.slow, each, strict=True)) for each in slow]
    deviations: list[float] = []
    best: tuple[float, Choice, Found] = (math.inf, {}, {})
    for choice in shown(choices[::thin], study.name):
        for fast, found in study.computed(choice):
            worst = max(factor(found[name], ends) for name, ends in study.printed.items())
            deviations.append(worst)
            if worst < best[0] or not best[1]:
                best = worst, choice | fast, found
    return Search(study, np.array(deviations), best[1], best[2])
