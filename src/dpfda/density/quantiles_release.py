"""Released quantiles: values below which stated shares of the units lie, and nothing between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen
from dpfda.density.quantiles_design import (
    DENOMINATOR,
    MOST_LEVELS,
    PublicPoints,
    QuantileLaw,
    dense_bound,
    ends_are_far,
    range_of,
    rank_bound,
    spreads,
)
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import probability, rational, reals
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.facts import Stated
from dpfda.releases.shares import used_units
from dpfda.views import Curve, Line


def bound_words(points: PublicPoints, unit: str) -> str:
    """What is bounded, in words."""
    start, end = points.domain_range
    return f"one {unit} has one unit of mass on [{start:g}, {end:g}]"


@dataclass(frozen=True, eq=False)
class ReleasedQuantiles(Release):
    """Quantiles of points, published under differential privacy.

    Call it for the value at a level that was released. Between two levels nothing is known but that the
    quantile lies between theirs.

    Parameters
    ----------
    numbers : tuple of int
        The mechanism's output: which of the public points each quantile is.
    points : PublicPoints
    law : QuantileLaw
        Levels, and the law of the output.
    public_size : int or None
        Number of units, where it is public.
    certificate : Certificate
    about : mapping
        Labels, date and versions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateQuantiles
    >>> ages = np.random.default_rng(1).normal(60, 15, size=3000)
    >>> release = PrivateQuantiles(1.0, levels=(0.5, 0.9), domain=(0, 105)).fit(ages).release_
    >>> bool(58 < release(0.5) < 62), release.levels
    (True, (0.5, 0.9))
    """

    numbers: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    points: PublicPoints = field(metadata=file.itself(PublicPoints.from_json).kept)
    law: QuantileLaw
    public_size: int | None = field(metadata=file.PUBLIC_SIZE.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-quantiles"
    _CALLED: ClassVar[str] = "release of quantiles"
    _DRAWN: ClassVar[tuple[str, ...]] = ("domain",)
    _plural: ClassVar[bool] = True
    _discrete: ClassVar[bool] = True
    _ENTRIES: ClassVar[file.Table] = {
        "law.levels": file.INTEGERS.named("levels"),
        "law.epsilon": file.entry(rational, str).named("loss_range"),
    }
    _bandless = "how far a value is off depends on where others lie, which would cost more to publish"
    _subject = "quantiles"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.numbers) != len(self.law.levels) or list(self.numbers) != sorted(self.numbers):
            raise ParameterError("numbers", "be ordered, one a level", "others")
        if not 0 <= self.numbers[0] <= self.numbers[-1] < self.points.count:
            raise ParameterError("numbers", "be those of public points", "others")

    @property
    def levels(self) -> tuple[float, ...]:
        """Share of the units below each quantile, as it was asked for."""
        return tuple(level / DENOMINATOR for level in self.law.levels)

    @cached_property
    def values(self) -> Floats:
        """The quantiles, in the units of the data."""
        return frozen(self.points.values(self.numbers))

    @overload
    def __call__(self, levels: float) -> float: ...

    @overload
    def __call__(self, levels: ArrayLike) -> Floats: ...

    def __call__(self, levels: ArrayLike) -> float | Floats:
        """Quantiles at levels that were released.

        Raises
        ------
        ParameterError
            If one was not.
        """
        wanted = np.atleast_1d(reals(levels, "levels"))
        steps = np.array(self.law.levels)
        # What is no number is no level that was released either.
        at = np.rint(np.clip(np.nan_to_num(wanted, nan=0.0), 0, 1) * DENOMINATOR).astype(np.int64)
        places = np.minimum(np.searchsorted(steps, at), steps.size - 1)
        others = wanted[steps[places] != at]
        if others.size:
            words = f"be among {', '.join(f'{level:g}' for level in self.levels)}"
            remedy = "Nothing else was released; a density answers for every level."
            raise ParameterError("levels", words, f"{others[0]:g}", remedy)
        values = self.values[places]
        return float(values[0]) if np.ndim(levels) == 0 else values

    def rank_bound(self, level: float = LEVEL) -> float | None:
        """By how much the share of units below a quantile is off at most, for all quantiles at once.

        Parameters
        ----------
        level : float
            Probability, at least, whatever the data are. Typically the share is off by far less: see
            `spreads`.

        Returns
        -------
        float or None
            None where the number of units is private.
        """
        units = float(rank_bound(self.law, probability(level, "level")))
        return None if self.public_size is None else min(1.0, units / self.public_size)

    def dense_bound(self, level: float = LEVEL) -> float | None:
        """By how much the shares below all quantiles are off at most, where units lie densely.

        That is where about as many lie on either side of a quantile, near it; beside a gap in the data
        a share is off by more. `rank_bound` holds whatever the data are.

        Parameters
        ----------
        level : float
            Probability.

        Returns
        -------
        float or None
            None where the number of units is private. `rank_bound` where a quantile may well have left
            the units for an empty end of the axis.
        """
        chance, units = probability(level, "level"), self.public_size
        if units is None or not ends_are_far(self.law, units, self.numbers, chance):
            return self.rank_bound(level)
        return dense_bound(self.law, units, chance)

    def interval(self, share: float, level: float = LEVEL) -> tuple[float, float]:
        """Values between which these units' own quantile lies, read off others that were published.

        A value whose share is smaller by more than `rank_bound` lies below, one whose share is so much
        larger above. Where there is none the axis ends. All intervals hold at once.

        Parameters
        ----------
        share : float
        level : float
            Probability, at least, whatever the data are.

        Raises
        ------
        ParameterError
            If the number of units is private.
        """
        wanted, far = probability(share, "share"), self.rank_bound(level)
        if far is None:
            raise ParameterError("public_size", "be stated for an interval", "a private number")
        levels, (a, b) = np.array(self.levels), self.points.domain_range
        below, above = self.values[levels + far < wanted], self.values[levels - far >= wanted]
        return float(np.max(below, initial=a)), float(np.min(above, initial=b))

    @property
    def spreads(self) -> Floats | None:
        """Root mean square distance of the share below each quantile from its level.

        It is for units that lie densely; None where their number is private.
        """
        return None if self.public_size is None else frozen(spreads(self.law, self.public_size))

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        held = super()._entries(written, kernel)
        levels, epsilon = held.pop("law.levels"), held.pop("law.epsilon")
        if not 1 <= len(levels) <= MOST_LEVELS or list(levels) != sorted(set(levels)):
            raise ValueError("levels must increase")
        if not 0 < levels[0] <= levels[-1] < DENOMINATOR:
            raise ValueError("levels must lie between 0 and 1")
        if epsilon <= 0:
            raise ValueError("a range of losses must be positive")
        law = QuantileLaw(levels, held["points"].count, epsilon, held["certificate"].neighbours)
        return held | {"law": law}

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(self.points, self.unit)}

    def _checked(self) -> None:
        (cost,) = self.certificate.costs
        if range_of(cost.guarantee) != self.law.epsilon:
            raise ValueError("the range of losses is not what was charged")
        if self.neighbours is Neighbours.ADD_REMOVE and self.public_size is not None:
            raise ValueError("the number of units is public under replace-one neighbours alone")

    # Tables, pictures and words.

    @property
    def _axes(self) -> dict[str, tuple[float, float]]:
        return {"level": (0.0, 1.0)}

    def _axis_label(self, axis: int) -> str:
        return "share of the units below"

    def _default_points(self) -> Floats:
        return np.array(self.levels)[:, None]

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        return {"value": (np.asarray(self(at[:, 0])), self._value_label)}

    def view(self, level: float | None = LEVEL) -> Curve:
        shares, far = np.array(self.levels), None if level is None else self.dense_bound(level)
        line = Line(self.values, shares, "released quantiles", stroke="dotted", marked=True)
        # A share between 0 and 1 is no news.
        if level is not None and far is not None and far < 1:
            low, high = np.maximum(shares - far, 0.0), np.minimum(shares + far, 1.0)
            dense = " where they lie densely," if far != self.rank_bound(level) else ""
            words = f"share of these {several(self.unit)} below,{dense} {100 * level:.4g}%"
            line = replace(line, lower=low, upper=high, band=words)
        return Curve((line,), self._value_label, self._axis_label(0), self._title, self._subtitle)

    @property
    def _value_label(self) -> str:
        return str(self.about.get("domain", "value (units of the data)"))

    def _spoken(self) -> str:
        pairs = zip(self.levels, self.values, strict=True)
        return ", ".join(f"{level:g}: {number(value)}" for level, value in pairs)

    def _stated(self) -> Stated:
        a, b = self.points.domain_range
        accurate = [
            "A quantile that was published is the value below which about the stated share of the "
            f"{several(self.unit)} lies. {self._off}"
        ]
        if self.spreads is not None:
            far, farthest = self.dense_bound(), self.rank_bound()
            surely = f"With a probability of {LEVEL:.0%} none"
            off = [
                f"Where {several(self.unit)} lie densely, a share is typically off by "
                f"{number(float(self.spreads.max()))} or less."
            ]
            if far != farthest:
                off.append(f"{surely} there is off by more than {number(far or 1)}.")
            always = f"{surely} is off by more than {number(farthest or 1)}, whatever the data are."
            off.append("Elsewhere it may be off by any share." if farthest == 1 else always)
            accurate.append(" ".join(off))
            ends = {level: self.interval(level) for level in self.levels}
            intervals = [
                f"{level:g}: {number(low)} to {number(high)}"
                for level, (low, high) in ends.items()
                if (low, high) != (a, b)
            ]
            if intervals:
                who = f"these {several(self.unit)}'"
                accurate.append(f"So {who} own quantiles lie between others: {'; '.join(intervals)}.")
        return Stated(
            f"Quantiles of {self.about.get('domain', 'the data')}, each by the share of "
            f"{several(self.unit)} below: {self._spoken()}. They were drawn at random among public "
            "points, the more likely the better they divide the data as stated, which protects every "
            f"{self.unit} behind them.",
            noised=False,
            public=[
                f"the levels: {', '.join(f'{level:g}' for level in self.levels)}",
                f"the ends of the axis: {a:g} and {b:g}; points outside count at the nearer one",
            ],
            noise=f"exponential mechanism among {self.points.describe()}",
            units=used_units(self),
            remarks=accurate,
            numbers={
                "levels": list(self.levels),
                "quantiles": self.values.tolist(),
                "domain_range": [a, b],
            },
        )

    @property
    def _off(self) -> str:
        """How far shares are off, of whatever number of units."""
        if self.public_size is not None:
            return "How far its share is off is known."
        most, over = self.about.get("max_weight"), "the sum of all weights"
        if not isinstance(most, float):
            most, over = 1.0, f"the number of {several(self.unit)}"
        typical, farthest = float(spreads(self.law, 1).max()), float(rank_bound(self.law, LEVEL))
        return (
            f"Where {several(self.unit)} lie densely, shares are typically off by "
            f"{number(most * typical)} or less, and with a probability of {LEVEL:.0%}, whatever the "
            f"data are, by {number(most * farthest)} at most, each over {over}, which is private."
        )

    def _lines(self) -> dict[str, str]:
        return {"points": self.points.describe(), "quantiles": self._spoken()}

    @property
    def _headline(self) -> str:
        a, b = self.points.domain_range
        return f"on [{a:g}, {b:g}]"
