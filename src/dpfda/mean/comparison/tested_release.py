"""A released test statistic: how far apart mean functions of groups are, in one number with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points
from dpfda.bounds import ValueBounds
from dpfda.mean.comparison.forms import DESCRIBED, Forms
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, probability
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Variance, stated_variance
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.facts import EqualityTest, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares
from dpfda.views import Curve

# Deviations for which the p-value is tabulated, and the levels that are spoken of.
TABULATED, TEST_LEVEL = 41, 0.05
NULLS = ("populations", "samples")


@dataclass(frozen=True, eq=False)
class ReleasedTest(Release):
    """The noisy statistic of a test that groups have one mean function.

    Call it for p-values: of standard deviations of a unit's value, in the units of the data.

    Parameters
    ----------
    names : tuple of str
        Of the groups.
    sizes : tuple of int
        Public number of units of each.
    look_for : str
        What was looked for: see `dpfda.PrivateEqualityTest`.
    curve_points, weights, lower, upper : array (m,)
        Public grid, its weights, and the bounds on values.
    shares : NoisyShares
        The mechanism's output: the statistic in units of the smallest group.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels.
    """

    names: tuple[str, ...] = field(metadata=file.NAMES.named("groups").kept)
    sizes: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    look_for: str = field(metadata=file.TEXT.kept)
    curve_points: Floats = field(metadata=file.FLOATS.named("grid_points").kept)
    weights: Floats = field(metadata=file.FLOATS.kept)
    lower: Floats = field(metadata=file.FLOATS.kept)
    upper: Floats = field(metadata=file.FLOATS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    _FORMAT: ClassVar[str] = "dpfda-test"
    _CALLED: ClassVar[str] = "released test of equality"
    _bandless = "p-values follow from the noisy statistic, whose law under the hypothesis they state"
    _value_label = "p-value"

    def __post_init__(self) -> None:
        super().__post_init__()
        count = self.weights.size
        if any(array.shape != (count,) for array in (self.curve_points, self.lower, self.upper)):
            raise ParameterError("bounds", f"have {count} values", "others")
        if len(self.names) != len(self.sizes) or len(self.names) < 2 or len(self.shares.noisy) != 1:
            raise ParameterError("names", "be two or more, with a size each and one statistic", "others")
        if not np.all(self.upper > self.lower):
            raise ParameterError("bounds", "hold upper above lower", "others")

    @cached_property
    def forms(self) -> Forms:
        """What the statistic is made of."""
        return Forms((self.upper - self.lower) / 2, self.weights, self.sizes, self.look_for)

    @property
    def statistic(self) -> float:
        """The noisy statistic, as a share of the distance between the bounds."""
        return float(self.shares.counts[0]) / self.forms.smallest

    @property
    def domain_range(self) -> tuple[float, float]:
        """Least and largest standard deviation of a value between the bounds."""
        return 0.0, float(self.forms.half_widths.max())

    @property
    def grid_points(self) -> Floats:
        """Deviations (k,) for which p-values are tabulated."""
        return np.linspace(*self.domain_range, TABULATED)

    def __call__(self, points: ArrayLike) -> float | Floats:
        """P-values where a unit's value deviates so much at every point, as far as bounds allow.

        Parameters
        ----------
        points : float or array (q,)
            Standard deviations, public. At 0 the hypothesis is that the groups themselves have one
            mean function.
        """
        at = check_points(points, self.domain_range)
        values = np.array([self._p_value(np.full(self.weights.shape, deviation**2)) for deviation in at])
        return float(values[0]) if np.ndim(points) == 0 else values

    def _p_value(self, variance: Floats) -> float:
        allowed = np.minimum(variance, self.forms.half_widths**2)
        return self.forms.p_value(float(self.shares.noisy[0]), self.shares.noise, allowed)

    def test(
        self, level: float = TEST_LEVEL, null: str = "populations", variance: Variance | None = None
    ) -> EqualityTest:
        """Whether the groups have one mean function; costs no privacy.

        Parameters
        ----------
        level : float
            Probability of finding a difference where there is none, at most.
        null : {"populations", "samples"}
            The hypothesis: the populations of which the groups are samples have one mean function, or
            the groups themselves have (of their bounded curves); then the noise alone is in its way.
        variance : float, callable, optional
            For populations: variance of a unit's value, known to be public, in squared units of the
            data; a callable takes points of the grid. By default the largest that the bounds allow,
            which is safe and seldom sharp.

        Raises
        ------
        ParameterError
            If a parameter is unusable.
        """
        level = probability(level, "level")
        if choice(null, "null", NULLS) == "samples" and variance is not None:
            raise ParameterError("variance", "be for null='populations'", "one for samples")
        stated = stated_variance(variance, self.curve_points)
        if stated is None:
            stated = self.forms.half_widths**2
        p_value = self._p_value(stated if null == "populations" else np.zeros(self.weights.shape))
        hypothesis = f"the {null} of {' and '.join(self.names)} have one mean function"
        return EqualityTest(self.statistic, p_value, level, self.names, hypothesis)

    def _checked(self) -> None:
        if self.neighbours is not Neighbours.REPLACE_ONE:
            raise ValueError("the numbers of units are public")
        if min(self.sizes) < 1 or self.shares.public_size != self.forms.smallest:
            raise ValueError("the sizes do not fit the statistic")

    def _stated_bound(self) -> dict[str, object]:
        ends = [end[0] if np.all(end == end[0]) else end for end in (self.lower, self.upper)]
        return {"description": ValueBounds(*ends).describe()}

    def _added_noise(self) -> list[AddedNoise]:
        # One share of one unit lies between nothing and all.
        return [AddedNoise(self.shares.noise, "l1", 1 << self.shares.exponent)]

    # Tables, pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        return self._curve([self._line("p-value", None)], baseline=0.0)

    @property
    def _subject(self) -> str:
        return f"test of equal mean curves ({', '.join(self.names)})"

    @property
    def public_units(self) -> int | None:
        return sum(self.sizes)

    def _axis_label(self, axis: int) -> str:
        value = self.about.get("value")
        label = f"standard deviation of values, one for each {self.unit}"
        return f"{label}: {value}" if value else label

    def _stated(self) -> Stated:
        sizes = " and ".join(
            f"{size} in {name}" for name, size in zip(self.names, self.sizes, strict=True)
        )
        deviation = self.shares.deviation / self.forms.smallest
        samples, populations = self.test(null="samples"), self.test()
        return Stated(
            f"One number: how far apart the mean curves of groups are ({sizes}), in "
            f"{DESCRIBED[self.look_for]}. It is {number(self.statistic)} of the distance between the "
            f"bounds; the noise has standard deviation {number(deviation)}.",
            protected=[
                f"Neighbours replace the data of one {self.unit}, who stays in the same group; which "
                "group that is, and how many are in it, is public."
            ],
            noise=self.shares.noise.describe(),
            remarks=[
                f"Of these groups themselves: {samples}.",
                f"Of populations that they are samples of, for any variance that the bounds allow: "
                f"{populations}. Where the variance of values, one for each {self.unit}, is public, "
                "state it: the table has the p-values.",
            ],
            numbers={
                "groups": dict(zip(self.names, self.sizes, strict=True)),
                "look_for": self.look_for,
                "statistic": self.statistic,
                "p_value": {"samples": samples.p_value, "bounds": populations.p_value},
            },
            findings={"samples": str(samples), "populations": str(populations)},
        )

    @property
    def _headline(self) -> str:
        a, b = float(self.curve_points[0]), float(self.curve_points[-1])
        return f"of {', '.join(self.names)} on [{a:g}, {b:g}]"

    def _lines(self) -> dict[str, str]:
        return {"looks for": DESCRIBED[self.look_for], "statistic": number(self.statistic)}
