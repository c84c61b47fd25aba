"""Releases of one mean, such as last year's and this year's or two hospitals', as one.

Combining costs nothing. Default lines that know no more than bounds are one measurement, which is
smoothed once: `dpfda.estimates.joint`. An average would keep what each line smoothed away, which is
common to them. A mean of people who were each seen at a few times is part of such a measurement, with
its noise and its own error of sampling, and of no average.

Others, and files of earlier versions, are averages w f + (1 - w) g. w / (1 - w) is the ratio of the
squared typical errors of g and of f, as their priors have them (the squared half-widths of their bands,
where they are no default lines): where errors are independent and as large as these say, no other
weight has a smaller one. An average may be a part of another, and then the weights of all are those of
one average of all. Half-widths of bands that are for the noise alone add up as independent errors do, by
their squares; for suprema that is a little wide. Those of default lines, which share what they smooth
away, add up as they are.

Where the largest distances of two lines were measured, an average of the means is within the average of
these of that of the lines (triangle inequality), whatever the curves are: the band of an average, and of
one estimate, is around that, and made to hold the line.

Its guarantee is that of both together (`dpfda.privacy.guarantees`): the sum, or the weaker of the two
where no unit has records in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar, cast

import numpy as np

from dpfda.bases.grids import piecewise
from dpfda.bases.priors import CurvePrior
from dpfda.estimates.joint import Measured, joined
from dpfda.estimates.widths import Widths
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.caveats import OVERLAP, Caveat
from dpfda.privacy.caveats import joined as joined_caveats
from dpfda.privacy.certificates import WHOLE, Certificate, said_by
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import added, largest
from dpfda.privacy.words import claim, number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, settled
from dpfda.releases.base import LEVEL, Valued
from dpfda.releases.counts import NoisyCount
from dpfda.releases.distance import average_at_most
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.lines import ORDINARY, PROVED, MeanLine
from dpfda.releases.pooled_line import PooledLine
from dpfda.views import Curve

# Format of the mean itself; those derived from it know more, and have formats of their own.
PLAIN = "dpfda-release"
SAID = file.entry(partial(parameters.flag, name="apart or jointly")).or_absent
APART = (
    "The parts have different grids: between the points of one its line is drawn on, and the band does "
    "not hold what the mean does there."
)
INDEPENDENT = "Its band takes the errors of the parts to be independent, as their noise is."


@dataclass(frozen=True, eq=False)
class CombinedMean(Valued):
    """A mean curve from several releases of it, each charged separately.

    Its certificate is that of both together. Nothing new was charged. Where losses are added up, name
    its parts, or it alone: it does not know that it is counted with them.

    Parameters
    ----------
    first, second : ReleasedFunction, PooledLine or CombinedMean
        Of one mean, on one domain, from different charges.
    certificate : Certificate
        Of both together.
    apart : bool, optional
        Whether no unit has records in both.
    jointly : bool, optional
        Whether it is one estimate from what all parts measured, and not an average of their lines.
    """

    _FORMAT: ClassVar[str] = "dpfda-combined-mean"
    _CALLED: ClassVar[str] = "combined mean"

    first: Averaged
    second: Averaged
    certificate: Certificate
    apart: bool | None = field(default=None, metadata=SAID.kept)
    jointly: bool | None = field(default=None, metadata=SAID.kept)

    @classmethod
    def of(cls, first: Averaged, second: object, apart: bool = False) -> CombinedMean:
        """Combine two releases; see `ReleasedFunction.combined`."""
        if not isinstance(second, Averaged):
            raise ParameterError("other", "be a released mean curve", shown(second))
        apart = parameters.flag(apart, "apart")
        certificate = _certificate(first, second, apart)
        return cls(first, second, certificate, apart or None, _joinable(first, second) or None)

    def combined(self, other: Averaged, apart: bool = False) -> CombinedMean:
        """Average of this and another release of the same mean; see `ReleasedFunction.combined`."""
        return CombinedMean.of(self, other, apart)

    def __post_init__(self) -> None:
        super().__post_init__()
        joint = self._parts()[0]
        # Files of earlier versions may name a caveat once for each part.
        caveats = joined_caveats(self.certificate.caveats)
        if (self.guarantee, caveats) != (joint.guarantee, joint.caveats):
            raise ParameterError("certificate", f"be {claim(joint)}", claim(self.certificate))
        if (self.jointly or self._has_sparse) and not _joinable(self):
            words = "be default lines of means between bounds, of public numbers of units"
            raise ParameterError("The parts of one estimate", words, "others")

    def _parts(self) -> list[Certificate]:
        """What its parts promise together: it stands for them where a file is held to its parts."""
        return [_certificate(self.first, self.second, bool(self.apart))]

    @property
    def order(self) -> int:
        """Order of the derivative that the parts are of the mean."""
        return self.first.order

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions: what is the same for both; and filled gaps of either."""
        one, other = self.first.about, self.second.about
        filled = {name: value for name, value in {**one, **other}.items() if name == "missing"}
        return {name: value for name, value in one.items() if other.get(name) == value} | filled

    domain_range = said_by("first.domain_range", "Ends of the domain.")
    grid_points = said_by("first.grid_points", "Public grid (m,) of the first one's curves.")

    def _band_points(self) -> Floats:
        return self.first._band_points()

    @cached_property
    def share(self) -> float:
        """Weight of the first release in an average; the second has the rest."""
        first, second = (_square(release, self._lines_both) for release in (self.first, self.second))
        return second / (first + second)

    @property
    def _lines_both(self) -> bool:
        return all(isinstance(leaf, MeanLine) and leaf._is_line for leaf in _leaves(self))

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """Lowest and highest of the parts' public bounds."""
        limits = [limits for leaf in _leaves(self) if (limits := leaf._limits) is not None]
        return min(float(np.min(low)) for low, _ in limits), max(float(np.max(e)) for _, e in limits)

    @cached_property
    def _widths(self) -> Widths:
        """The estimate from what all measured."""
        return joined([measured(leaf) for leaf in _leaves(self)], *self._limits)

    def _half_widths(self, level: float, simultaneous: bool) -> Floats:
        """Of the band around that estimate, in shares of the bounds on the common grid."""
        if not self._has_sparse:
            return self._widths.around_line(level, simultaneous)
        # All places were seen, each in the mean of its cell, and all of sampling is in the noise.
        points = self._widths.posterior.model.places.size
        return self._widths.around_seen(level, simultaneous, np.zeros((points, 1)))

    @property
    def _has_sparse(self) -> bool:
        return any(isinstance(leaf, PooledLine) for leaf in _leaves(self))

    def _in_units(self, shares: Floats, at: Floats) -> Floats:
        """Shares of the bounds on the common grid, in the units of the data at points (k,)."""
        start, end = self.domain_range
        scaled = np.interp((at - start) / (end - start), self._widths.posterior.model.grid, shares)
        return np.asarray(scaled * (self._limits[1] - self._limits[0]))

    def _values(self, at: Floats) -> Floats:
        if self.jointly:
            return self._limits[0] + self._in_units(self._widths.posterior.line, at)
        first, second = (np.asarray(release(at)) for release in (self.first, self.second))
        return self.share * first + (1 - self.share) * second

    @property
    def _is_proved(self) -> bool:
        """Whether its band holds the average of two means whatever they are; see `_measured`."""
        return self._measured(LEVEL) is not None

    def _measured(self, level: float) -> Floats | None:
        """How far the average of two lines is from that of the means at most (m,) on their common grid.

        None where it was not measured of each, as a part of its own.
        """
        parts = [part for part in (self.first, self.second) if isinstance(part, MeanLine)]
        measured = [(part, part.distance) for part in parts if part._is_proved and part.distance]
        if len(measured) < 2:
            return None
        (one, near), (other, far) = measured
        places = zip((one.grid_points, *_ends(one)), (other.grid_points, *_ends(other)), strict=True)
        if not all(np.array_equal(*pair) for pair in places):
            return None
        weighed = (self.share, near, one.divisor), (1 - self.share, far, other.divisor)
        share = average_at_most(weighed, level)
        errors = self.share * one._typical_error, (1 - self.share) * other._typical_error
        rounding = max(one._rounding(near), other._rounding(far))
        return np.asarray(max(share, math.hypot(*errors)) * one._scale + rounding)

    def _around(self, at: Floats, request: Asked) -> Band:
        line = self._values(at)
        if (apart := self._measured(request.level)) is not None and request.of == "sample":
            half = piecewise(self.grid_points, apart, at)
            first, second = (np.asarray(release(at)) for release in (self.first, self.second))
            average = self.share * first + (1 - self.share) * second
            band = Band(at, average - half, average + half, request.level, request.simultaneous)
            low, high = (
                piecewise(self.grid_points, end, at) for end in _ends(cast("MeanLine", self.first))
            )
            return settled(band, line, (low, high))
        if self.jointly:
            half = self._in_units(self._half_widths(request.level, request.simultaneous), at)
            band = Band(at, line - half, line + half, request.level, request.simultaneous)
            low, high = (np.full(at.size, end) for end in self._limits)
            return settled(band, line, (low, high))
        halves = []
        for weight, release in ((self.share, self.first), (1 - self.share, self.second)):
            band = release.band(request.level, request.simultaneous, at, of=request.of)
            # Bands of lines are cut at bounds: the farther end says how far the mean may be.
            far = band.reach(np.asarray(release(at))) if self._lines_both else band.upper - band.lower
            halves.append(weight * (far if self._lines_both else far / 2))
        half = np.add(*halves) if self._lines_both else np.hypot(*halves)
        return Band(at, line - half, line + half, request.level, request.simultaneous)

    # Its file, and words.

    def _stated_bound(self) -> Mapping[str, object]:
        return _bound(self.first, self.second)

    def view(self, level: float | None = LEVEL) -> Curve:
        parts = len(_leaves(self))
        return self._curve([self._line(f"{'both' if parts == 2 else 'all'} together", level)])

    @property
    def _subject(self) -> str:
        return f"mean curve from {_number(self)} releases"

    def _claims(self) -> tuple[Claim, ...]:
        leaves, parts = _leaves(self), len(_leaves(self))
        # Of a pooled mean the band is for the population, and then that of all is.
        claims = [leaf._claims()[0] for leaf in leaves]
        own = next((claim for claim in claims if claim.of == "population"), claims[0])
        where = "both" if parts == 2 else f"all {parts}"
        # What is proved of each is not of more than two: their lines are joined, not their bands.
        among = own.among or (ORDINARY if own.of == "sample" and not self._is_proved else "")
        return (replace(own, holds=f"{own.holds} (if it is the same in {where})", among=among, seen=""),)

    def _stated(self) -> Stated:
        count, parts = _number(self), (self.first, self.second)
        how = f"average of {count} released mean curves, each weighed by its precision"
        names = (f"first: weight {number(self.share)}", f"second: weight {number(1 - self.share)}")
        numbers: dict[str, object] = {"share": self.share}
        if self.jointly:
            how = f"estimate of one mean from all that {count} releases of it measured"
            names, numbers = ("first", "second"), {}
        average = self._lines_both and not self.jointly
        grids = [leaf.grid_points for leaf in _leaves(self) if isinstance(leaf, MeanLine)]
        unlike = not all(np.array_equal(grids[0], grid) for grid in grids)
        terms = "; ".join(f"{name}, {part.guarantee}" for name, part in zip(names, parts, strict=True))
        return Stated(
            f"The {how}. It was made of what had been published and cost nothing; the promise is for "
            "all parts together.",
            public=[f"the parts ({terms})"],
            noise="that of its parts",
            first=[*self._unlike, *([APART] if unlike else [])],
            remarks=[PROVED] if self._is_proved else [] if average else [INDEPENDENT],
            numbers=numbers,
        )

    def _lines(self) -> dict[str, str]:
        unlike = {"unlike": self._unlike[0]} if self._unlike else {}
        if self.jointly:
            return {"parts": f"{len(_leaves(self))}, estimated as one measurement", **unlike}
        return {"weights": f"{number(self.share)} and {number(1 - self.share)}", **unlike}

    @cached_property
    def _unlike(self) -> list[str]:
        """That the parts are hardly of one mean, where their bands do not meet."""
        one, other = (part.band(LEVEL, points=self.grid_points) for part in (self.first, self.second))
        if np.all((one.lower <= other.upper) & (other.lower <= one.upper)):
            return []
        words = "The bands of the parts do not meet everywhere: their means hardly agree."
        return [f"{words} Check whether units of values, bounds and times are the same in all."]


def _certificate(first: Averaged, second: Averaged, apart: bool) -> Certificate:
    """Of both together; refuses two that are not of one mean, or share a charge."""
    _check_alike(first, second)
    one, other = first.certificate, second.certificate
    together = largest if apart else added
    cost = Cost(together([one.guarantee, other.guarantee]))
    parts = _leaves(first, second)
    mechanism = {"name": f"{_number(first, second)} releases together"}
    certificate = Certificate.charged(
        {WHOLE: cost}, one.neighbours, one.unit, _bound(first, second), mechanism
    )
    caveats = (*one.caveats, *other.caveats)
    # It says of how many parts in all it was assumed, as soon as it was of two.
    if apart or any(caveat.kind == OVERLAP for caveat in caveats):
        caveats = (*caveats, Caveat(OVERLAP, len(parts)))
    achieved = together([one.achieved, other.achieved])
    return replace(certificate.fulfilled(achieved), caveats=joined_caveats(caveats))


def measured(release: Leaf) -> Measured:
    """What a release was estimated from; of a pooled mean the error of sampling is in its noise."""
    if isinstance(release, PooledLine):
        return Measured(*release._estimate.measured, math.inf)
    return Measured(release._curve_model, release._measured, release.count)


def _ends(release: MeanLine) -> tuple[Floats, Floats]:
    """Public bounds (m,) of a line on its grid."""
    return parameters.known(release._limits)


def _leaves(*parts: Averaged) -> tuple[Leaf, ...]:
    """The releases that some were made of."""
    leaves: list[Leaf] = []
    for part in parts:
        leaves += _leaves(part.first, part.second) if isinstance(part, CombinedMean) else [part]
    return tuple(leaves)


def _number(*parts: Averaged) -> str:
    """How many releases they were made of, in words."""
    count = len(_leaves(*parts))
    return "two" if count == 2 else str(count)


def _joinable(*parts: Averaged) -> bool:
    """Whether all that they were made of are default lines that know no more than bounds.

    A line that knows public curves, cycles or other groups, or a private number of units, is averaged.
    """
    return all(map(_knows_bounds_alone, _leaves(*parts)))


def _knows_bounds_alone(leaf: Leaf) -> bool:
    if isinstance(leaf, PooledLine):
        return leaf.public_units is not None
    return (
        leaf._FORMAT == PLAIN
        and isinstance(leaf.hierarchy, CurvePrior)
        and not (leaf.hierarchy.centers.size or leaf.hierarchy.periods)
        and not (leaf.order or isinstance(leaf.divisor, NoisyCount))
    )


def _charges(release: Averaged) -> set[str]:
    return {part.certificate.identity for part in _leaves(release)}


def _check_alike(first: Averaged, second: Averaged) -> None:
    """Refuse two that are not of one mean, or of one charge."""
    if _charges(first) & _charges(second):
        words, fault = "be of another charge than what it is combined with", "the same"
        raise ParameterError("other", words, fault, "Of one charge the noise is one.")
    mine, theirs = (f"{part.neighbours}, {part.unit}" for part in (first, second))
    if mine != theirs:
        raise ParameterError("other", "protect the same units", theirs)
    same = first.domain_range == second.domain_range
    standardized = [bool(part.about.get("standardized")) for part in (first, second)]
    same = same and first.order == second.order and standardized[0] == standardized[1]
    of = {leaf._claims()[0].of for leaf in _leaves(first, second) if isinstance(leaf, MeanLine)}
    if not same or len(of) > 1:
        words = "be of a mean on the same domain, in the same units, with a band for the same"
        raise ParameterError("other", words, "another")


def _square(release: Averaged, line: bool) -> float:
    """Squared error to be expected of a release in an average, in squared units of the data."""
    if isinstance(release, CombinedMean):
        shares = release.share, 1 - release.share
        parts = zip(shares, (release.first, release.second), strict=True)
        return sum(share**2 * _square(part, line) for share, part in parts)
    if line and isinstance(release, MeanLine):
        return (release._typical_error * float(np.mean(release._scale))) ** 2
    band = release.band(LEVEL, points=release.grid_points)
    return float(np.mean((band.upper - band.lower) ** 2))


def _bound(first: Averaged, second: Averaged) -> dict[str, object]:
    words = [str(part.certificate.bound["description"]) for part in (first, second)]
    return {"description": " and ".join(dict.fromkeys(words))}


Leaf = MeanLine | PooledLine
Averaged = Leaf | CombinedMean
PARTS = file.part(MeanLine, PooledLine, CombinedMean)
CombinedMean._ENTRIES = {"first": PARTS, "second": PARTS}
