"""What is read off a release: numbers with an interval around them, and verdicts of tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.privacy.words import number


@dataclass(frozen=True)
class Estimate:
    """A number with an interval around it.

    value, lower, upper: Infinite where it was not reached.
    level: Probability of the interval.
    """

    value: float
    lower: float
    upper: float
    level: float

    @classmethod
    def around(cls, value: float, drawn: Floats, level: float) -> Estimate:
        """The interval of drawn numbers that leaves as many on either side."""
        tails = (1 - level) / 2
        lower, upper = (float(np.quantile(drawn, q, method="higher")) for q in (tails, 1 - tails))
        return cls(value, min(lower, value), max(upper, value), float(level))

    def __str__(self) -> str:
        value, lower, upper = map(_said, (self.value, self.lower, self.upper))
        return f"{value} ({100 * self.level:.4g}%: {lower} to {upper})"

    def to_json(self) -> dict[str, object]:
        """As JSON types; what was not reached is null."""
        ends = {"value": self.value, "lower": self.lower, "upper": self.upper}
        return {**{k: v if np.isfinite(v) else None for k, v in ends.items()}, "level": self.level}


@dataclass(frozen=True)
class EqualityTest:
    """What a test of equality found.

    p_value: Probability of a statistic as large where the hypothesis is true.
    level: Probability of finding a difference where there is none.
    names: What was compared.
    null: The hypothesis, in words.
    """

    statistic: float
    p_value: float
    level: float
    names: tuple[str, ...]
    null: str

    @property
    def differ(self) -> bool:
        """Whether the hypothesis is rejected."""
        return self.p_value <= self.level

    def __str__(self) -> str:
        verdict = "rejected" if self.differ else "not rejected"
        return f"that {self.null} is {verdict} at level {self.level:g} (p = {self.p_value:.3g})"


def _said(value: float) -> str:
    return number(value) if np.isfinite(value) else "not reached"
