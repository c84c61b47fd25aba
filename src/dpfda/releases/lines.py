"""The line of a mean on an interval, cut at the public bounds, and bands that hold it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import check_point, check_points, frozen, gauss, piecewise
from dpfda.bases.priors import CurvePrior
from dpfda.estimates.widths import around_lines, around_slopes, check_offered
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import known, values_at
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Limits, limits_of, settled
from dpfda.releases.base import LEVEL, OnBasis, Valued
from dpfda.releases.distance import CountedDistance, Distance, distance_from_json, sum_at_most
from dpfda.releases.expansion import Expansion
from dpfda.releases.facts import Claim
from dpfda.releases.promise import AddedNoise
from dpfda.releases.words import resolution_words

# Halvings of the distance between two points that find a crossing to the last digits.
HALVINGS = 50
# Functions leave nothing out of a line that differs by no more than that share of the bounds' distance.
ROUNDING = 1e-9

WIGGLES = (
    "The noise is known exactly. How the mean wiggles between the places that were measured is "
    "assumed: spikes, steps and cycles narrower than a cell can be missed altogether. What the "
    "bound cut off, and how far these data are from a wider population, is not included."
)
ORDINARY = "releases of curves like ordinary ones"
PROVED = (
    "This holds at the grid points whatever the curves are: the noise is known exactly, and nothing "
    "else is assumed. What the bound cut off, and how far these data are from a wider population, is "
    "not included."
)


@dataclass(frozen=True, eq=False)
class MeanLine(Expansion, Valued, OnBasis):
    """The values of a released function on an interval, or of a derivative of one.

    Parameters
    ----------
    order : int
        Order of the derivative that this function is of the release. The others: see `Expansion`.
    distance : Distance, optional
        How far the line lies from the mean at most, with noise.
    """

    basis: Basis = field(metadata=file.ANY_BASIS.kept)
    order: int = field(default=0, metadata=file.whole_number(0, 2).kept)
    distance: Distance | None = field(
        default=None, metadata=file.itself(distance_from_json).or_absent.kept
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._limits  # Bounds from a damaged file are refused when it is read.

    @cached_property
    def _limits(self) -> Limits | None:
        """Public bounds (m,) of its values on the grid; None where no values were bounded."""
        if isinstance(self.hierarchy, CurvePrior):
            return self.hierarchy.lower, self.hierarchy.upper
        points = self.grid_points.shape
        limits = limits_of(self.certificate.bound, points[0])
        return None if limits is None else (np.full(points, limits[0]), np.full(points, limits[1]))

    # Its file.

    def _added_noise(self) -> list[AddedNoise]:
        own = super()._added_noise()
        return own if self.distance is None else self.distance.beside(own, self.neighbours)

    def _checked(self) -> None:
        super()._checked()
        if self.distance is not None:
            if not self._is_line:
                raise ValueError("the largest distance is that of a line between bounds")
            self.distance.check(self._scale, self.divisor)
        if isinstance(self.distance, CountedDistance):
            away, off = self._scale / 2, self._rounding(self.distance)
            if self.neighbours is Neighbours.ADD_REMOVE:
                line = np.clip(self._unclipped(self.grid_points), *known(self._limits))
                away = np.abs(line - self.center)
            self.distance.check_line(self._scale, np.stack([away - off, away + off]))

    @property
    def _is_line(self) -> bool:
        """Whether it is the default line of curves between bounds, or a derivative of it."""
        return isinstance(self.hierarchy, CurvePrior)

    def _unclipped(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (k,) of the estimate, or a derivative, before it is cut at public bounds."""
        at, (order,) = check_points(points, self.domain_range), parameters.orders(order, 1)
        return np.asarray(self._center(at, order) + self.basis.evaluate(at, order) @ self.coefficients)

    def _center(self, at: Floats, order: int) -> Floats:
        return piecewise(self.grid_points, self.center, at, order)

    def _limits_at(self, at: Floats, order: int = 0) -> Limits | None:
        """Public bounds (k,) at points, or their derivatives; linear between grid points."""
        if self._limits is None:
            return None
        lower, upper = (piecewise(self.grid_points, end, at, order) for end in self._limits)
        return lower, upper

    def _values(self, at: Floats) -> Floats:
        """Values (k,) cut at the public bounds; a derivative there is that of the bound."""
        values, limits = self._unclipped(at, self.order), self._limits_at(at)
        slopes = self._limits_at(at, self.order)
        if limits is None or slopes is None:
            return values
        if self.order == 0:
            return np.clip(values, *limits)
        line = self._unclipped(at)
        return np.where(line < limits[0], slopes[0], np.where(line > limits[1], slopes[1], values))

    def _cuts(self, points: Floats) -> Floats:
        """Where the line meets its public bounds, once at most between neighbouring points (k,)."""
        cuts = [np.empty(0)]
        for end in () if self._limits is None else self._limits:

            def above(at: Floats, end: Floats = end) -> Floats:
                return self._unclipped(at) - piecewise(self.grid_points, end, at)

            gap = above(points)
            crossed = np.flatnonzero(gap[1:] * gap[:-1] < 0)
            low, high, rising = points[crossed], points[crossed + 1], gap[crossed] < 0
            for _ in range(HALVINGS if crossed.size else 0):
                middle = (low + high) / 2
                before = (above(middle) < 0) == rising
                low, high = np.where(before, middle, low), np.where(before, high, middle)
            cuts.append(low)
        return np.concatenate(cuts)

    def _uncut(self, at: Floats) -> Floats:
        """Where the middle of a band is: derivatives are not cut."""
        return self._unclipped(at, self.order) if self.order else self._values(at)

    def _settled(self, band: Band) -> Band:
        """A band made to hold the line between its public bounds."""
        limits = None if self.order else self._limits_at(band.points)
        return settled(band, self._values(band.points), limits)

    def _mean_band(self, request: Asked, at: Floats) -> Band:
        """The band for the mean itself; see `dpfda.estimates.widths`."""
        if self.distance is None:
            check_offered(request.level)
        ends = None if self.order else self._measured_ends(request, at)
        if ends is None or (self._widths.posterior.borrows and self.distance is None):
            half, line = _half_widths((self,), request, at), self._uncut(at)
            low, high = ends or (-np.inf, np.inf)
            ends = np.maximum(line - half, low), np.minimum(line + half, high)
        return self._settled(Band(at, *ends, request.level, request.simultaneous))

    def _measured_ends(self, request: Asked, at: Floats) -> Limits | None:
        """Ends (k,) of a band that holds the mean on the grid, whatever it is; None for no such band."""
        offsets = self._offsets(request)
        if not offsets:
            return None
        (lower, upper), line = zip(*offsets, strict=True), self._uncut(at)
        beside = np.max(lower, axis=0), np.min(upper, axis=0)
        low, high = (line + piecewise(self.grid_points, end, at) for end in beside)
        return low, high

    def _offsets(self, request: Asked) -> list[Limits]:
        """How far below and above the line (m,) the mean is, whatever it is, in all ways that tell it.

        By the largest distance of the line, and by what was measured where every point was: if both do,
        each has half of what the level leaves.
        """
        there = (self._by_distance, self.distance is not None), (self._by_cells, self._tells_points)
        ways = [way for way, tells in there if tells]
        return [way(replace(request, level=1 - (1 - request.level) / len(ways))) for way in ways]

    def _by_distance(self, request: Asked) -> Limits:
        """By its largest distance; or by the line's typical error, where that is more."""
        distance = known(self.distance)
        share = max(distance.at_most(request.level, self.divisor), self._typical_error)
        apart = share * self._scale + self._rounding(distance)
        return -apart, apart

    def _by_cells(self, request: Asked) -> Limits:
        """By what was measured at every point."""
        low, high = known(self._widths.measured(request.level, request.simultaneous))
        line, (lower, _) = self._values(self.grid_points), known(self._limits)
        return lower + self._scale * low - line, lower + self._scale * high - line

    @property
    def _tells_points(self) -> bool:
        """Whether there is that, of a public number; of a line that borrows only without a distance."""
        widths = self._widths
        there = self._limits is not None and widths.whole and widths.count is None
        return there and not (widths.posterior.borrows and self.distance is not None)

    def _rounding(self, distance: Distance) -> float:
        """What rounding may add to it: that of sums, and of the floats that the line is in."""
        assert self._limits is not None  # noqa: S101 - of a line only
        return distance.rounding(self._scale) + 2 * float(np.spacing(np.max(np.abs(self._limits))))

    @property
    def _is_proved(self) -> bool:
        """Whether its band holds the mean whatever it is: not if the release was picked by its score."""
        if self.order or not self._is_line or "selected" in self.about:
            return False
        return self.distance is not None or (self._tells_points and not self._widths.posterior.borrows)

    @cached_property
    def _left_out(self) -> Floats:
        """What its functions leave out of the estimate (m,) on the grid, in units of the data.

        Nothing where there is a function for each point. They are fewer where points lie so close, for
        the length of the domain, that a smooth kernel cannot tell them apart, and where fewer were
        stated.
        """
        assert self._limits is not None  # noqa: S101 - of a line only
        posterior = self._widths.posterior
        estimate = self._limits[0] + self._scale * posterior.model.on_grid(posterior.line)
        left = estimate - np.clip(self._unclipped(self.grid_points), *self._limits)
        return frozen(np.where(np.abs(left) > ROUNDING * self._scale, left, 0.0))

    @property
    def _size_left_out(self) -> float:
        """Root mean square of that, in shares of the distance between the bounds."""
        return float(np.sqrt(np.mean((self._left_out / self._scale) ** 2)))

    @property
    def _typical_error(self) -> float:
        """Of the line, in the same shares."""
        return math.hypot(self._widths.typical_error, self._size_left_out)

    @property
    def _missed(self) -> float:
        """How far the line is off somewhere at least, in the same shares; 0 if not measured."""
        if self.distance is None:
            return 0.0
        # Where bounds are close, rounding may be all of it.
        rounding = self._rounding(self.distance) / float(np.min(self._scale))
        return self.distance.at_least(LEVEL, self.divisor) - rounding

    @property
    def _scale(self) -> Floats:
        """Distance (m,) between the public bounds."""
        assert isinstance(self.hierarchy, CurvePrior)  # noqa: S101 - of a line only
        return self.hierarchy.width

    def _slopes(self, at: Floats) -> Floats:
        """Takes shares of the bounds at the carrying points to derivatives (k,), in the data's units."""
        slopes = self.basis.evaluate(at, self.order) @ (self.basis.analysis.T * self._scale)
        lift = self._curve_model.lift
        return np.asarray(slopes if lift is None else slopes @ lift)

    def derivative(self) -> Self:
        """The derivative, as a released function of its own (units of the data per unit of t).

        Raises
        ------
        ParameterError
            If the basis functions have no derivative (for example for an exponential kernel).
        """
        self.basis.evaluate(self.grid_points[:1], self.order + 1)
        return replace(self, order=self.order + 1)

    def integral(self, start: float | None = None, end: float | None = None) -> float:
        """Integral from `start` to `end`, by default over the domain.

        Gauss-Legendre quadrature between grid points, where kernels are smooth.

        Raises
        ------
        ParameterError
            If an end is outside the domain.
        """
        low, high = self.domain_range
        a, b = (low if start is None else start), (high if end is None else end)
        points, weights = self._quadrature(a, b)
        return float(np.sum(weights * self(points)))

    def inner(self, function: Callable[[Floats], ArrayLike]) -> float:
        """Integral over the domain of this function times another.

        Parameters
        ----------
        function : callable
            Takes an array of points, returns their values; another release will do.
        """
        points, weights = self._quadrature(*self.domain_range)
        return float(np.sum(weights * self(points) * values_at(function, "function", points)))

    def _quadrature(self, start: float, end: float) -> tuple[Floats, Floats]:
        """Points and weights for an integral from `start` to `end`: Gauss-Legendre between grid points.

        Also between points where the line is cut at public bounds. Kernels are smooth there, so the
        error of an integral is that of rounding.
        """
        start, end = (check_point(point, self.domain_range) for point in (start, end))
        if start > end:
            points, weights = self._quadrature(end, start)
            return points, -weights
        inner = self.grid_points[(self.grid_points > start) & (self.grid_points < end)]
        edges = np.concatenate([[start], inner, [end]])
        points, weights = gauss(edges)
        bends = self._cuts(np.concatenate([[start], points, [end]]))
        return gauss(np.union1d(edges, bends)) if bends.size else (points, weights)


def difference_band(first: MeanLine, second: MeanLine, request: Asked, at: Floats) -> Band:
    """The band for the difference of two means, from what both may be, independently; or measured."""
    share, line = difference_share(first, second, request.level), first._uncut(at) - second._uncut(at)
    if share is None:
        half = _half_widths((first, second), request, at)
    else:
        assert first.distance is not None  # noqa: S101
        share = max(share, math.hypot(first._typical_error, second._typical_error))
        apart = share * first._scale + 2 * first._rounding(first.distance)
        half = piecewise(first.grid_points, apart, at)
    band = Band(at, line - half, line + half, request.level, request.simultaneous)
    return around_difference(first, second, band)


def difference_share(first: MeanLine, second: MeanLine, level: float) -> float | None:
    """How far the difference of two lines is from that of the means at most, where it was measured.

    Together; or as far as both are off by sides of a box of each.
    """
    one, other = first.distance, second.distance
    if first.order or one is None or other is None:
        return None
    if one.of_box and other.of_box and np.array_equal(first._scale, second._scale):
        return sum_at_most([(one, first.divisor), (other, second.divisor)], level)
    return one.from_other(other, level)


def around_difference(first: MeanLine, second: MeanLine, band: Band) -> Band:
    """A band made to hold the first line less the second, between what their bounds let it be."""
    at, limits = band.points, None
    ends = [mean._limits_at(at) for mean in (first, second)]
    if not first.order and ends[0] is not None and ends[1] is not None:
        limits = ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]
    return settled(band, first(at) - second(at), limits)


def _half_widths(means: tuple[MeanLine, ...], request: Asked, at: Floats) -> Floats:
    """Half-widths (k,) for a default line, or for the first less the second, in units of the data."""
    widths, first = [mean._widths for mean in means], means[0]
    level, simultaneous = request.level, request.simultaneous
    if first.order:
        return around_slopes(widths, level, simultaneous, [mean._slopes(at) for mean in means])
    (one, *others), asked_for = widths, (level, simultaneous)
    half = around_lines(widths, *asked_for) if others else one.around_line(*asked_for)
    left = first._left_out - sum(other._left_out for other in means[1:])
    return piecewise(first.grid_points, half * first._scale + np.abs(left), at)


def verdict(release: MeanLine) -> str | None:
    """How much of the mean's shape is resolved, in one line; None where it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> curves = np.tile(np.linspace(0.2, 0.8, 50), (40000, 1))
    >>> verdict(PrivateMean(1.0, bounds=(0, 1)).fit(curves).release_)
    'resolves the course: typical error 1 % of its height or less, 1 % of your bounds or less'
    """
    if not release._is_line or release.order > 0:
        return None
    line, error = release._widths.posterior.line, release._typical_error
    return resolution_words(line, error, release._limits, release._missed)


def misfit(release: MeanLine) -> str | None:
    """A warning where what was measured is rougher than its cells or functions; None elsewhere."""
    if not release._is_line:
        return None
    if release._size_left_out > release._widths.typical_error:
        return (
            "What was measured is rougher than the released functions can follow: the band was made "
            "wider by what they leave out. More functions would follow it, or an axis on which points "
            "lie more evenly, such as its logarithm."
        )
    if not release.order and release._missed > np.mean(release._widths.around_line(LEVEL)):
        return (
            "Somewhere the mean is farther from the line than curves like ordinary ones are: at a "
            "spike, a step or a cycle narrower than a cell. The band covers it; the line does not "
            "show it."
        )
    if not release._widths.misfit:
        return None
    return (
        "What was measured changes by more than the noise does: the mean is rougher than the line over "
        "these cells can follow. The band was made 1.5 times as wide for that, and may still miss it."
    )


def line_claim(order: int, units: str, proved: bool = False) -> Claim:
    """What the default band of a line, or of its derivative, holds or is meant to hold."""
    if proved:
        return Claim("sample", "the mean of these bounded curves", units, legend="the mean")
    what, legend = (
        ("the derivative of the mean", "the derivative") if order else ("the mean", "the mean")
    )
    rate = "held the mean in 87 to 99 of 100 releases, by the number of units times epsilon"
    if order:
        rate = "held it in 80 to 90 of 100 releases: less often than meant"
    holds = f"{what} of these bounded curves"
    seen = f". Measured on 40 sets of real curves, the band for 95% {rate}"
    return Claim("sample", holds, units, legend=legend, among=ORDINARY, seen=seen)


def posterior_claim(units: str) -> Claim:
    """What the band from the posterior under a public prior is meant to hold."""
    holds = "the mean of these bounded curves, as far as the released functions reach"
    among = "releases of means as the public prior has them"
    seen = (
        ". Measured on 13 sets of real curves in balls, the band for 95% held that in 83 of 100 "
        "releases, and the whole mean in 71: less often than meant"
    )
    return Claim("sample", holds, units, legend="the mean", among=among, seen=seen)
