"""The released function: coefficients, basis, noise law and guarantee; public from here on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import check_point, check_points, gauss, piecewise
from dpfda.bases.kernels import short_range
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown, values_at
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import KINDS, MEASURED, Accuracy, Band, make_band, make_credible_band
from dpfda.releases.base import LEVEL
from dpfda.releases.confidence import Variance, for_population
from dpfda.releases.expansion import Expansion
from dpfda.releases.lines import (
    Limits,
    band_around,
    cuts,
    held,
    is_line,
    limits_at,
    limits_of,
    line_at,
    mean_band,
    misfit,
    promise,
    verdict,
)
from dpfda.releases.plain import ON_LINE, thinned
from dpfda.releases.words import NOISE_ALONE, Words, per_axis
from dpfda.views import Curve


@dataclass(frozen=True, eq=False)
class ReleasedFunction(Expansion):
    """A function on an interval, published under differential privacy.

    Call it at any points of its domain, as often as anyone likes: evaluating, differentiating,
    integrating, plotting and saving are post-processing and cost no privacy. It holds nothing
    private: no records, no sum without noise, no count unless the count is public.

    Parameters
    ----------
    order : int
        Order of the derivative that this function is of the release. The others: see `Expansion`.
    """

    FORMAT: ClassVar[str] = "dpfda-release"
    CALLED: ClassVar[str] = "dpfda release"
    ENTRIES: ClassVar[file.Table] = {"order": file.whole_number(0, 2), **Expansion.ENTRIES}
    band_kinds: ClassVar[tuple[str, ...]] = (*KINDS, "credible", "confidence")

    basis: Basis
    order: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.limits  # Bounds from a damaged file are refused when it is read.

    @cached_property
    def limits(self) -> Limits | None:
        """Public bounds (m,) of its values on the grid; None where no values were bounded."""
        if isinstance(self.hierarchy, CurvePrior):
            return self.hierarchy.lower, self.hierarchy.upper
        points = self.grid_points.shape
        found = limits_of(self.bound, points[0])
        return None if found is None else (np.full(points, found[0]), np.full(points, found[1]))

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.basis.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self.basis.grid_points

    @overload
    def __call__(self, points: float) -> float: ...

    @overload
    def __call__(self, points: ArrayLike) -> Floats: ...

    def __call__(self, points: ArrayLike) -> float | Floats:
        """Values of the function, cut at the public bounds where values were bounded.

        Parameters
        ----------
        points : float or array (k,)
            Points of the domain.

        Returns
        -------
        float or array (k,)
            Values, in the units of the data.

        Raises
        ------
        ParameterError
            If a point is outside the domain.
        """
        values = line_at(self, check_points(points, self.domain_range))
        return float(values[0]) if np.ndim(points) == 0 else values

    def unclipped(self, points: ArrayLike, order: int = 0) -> Floats:
        """Values (k,) of the estimate, or a derivative, before it is cut at public bounds."""
        at, (order,) = check_points(points, self.domain_range), parameters.orders(order, 1)
        return np.asarray(self._center(at, order) + self.basis.evaluate(at, order) @ self.coefficients)

    def _center(self, at: Floats, order: int) -> Floats:
        return piecewise(self.grid_points, self.center, at, order)

    def derivative(self) -> ReleasedFunction:
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
        points, weights = self.quadrature(a, b)
        return float(np.sum(weights * self(points)))

    def inner(self, function: Callable[[Floats], ArrayLike]) -> float:
        """Integral over the domain of this function times another.

        Parameters
        ----------
        function : callable
            Takes an array of points, returns their values; another release will do.
        """
        points, weights = self.quadrature(*self.domain_range)
        return float(np.sum(weights * self(points) * values_at(function, "function", points)))

    def quadrature(self, start: float, end: float) -> tuple[Floats, Floats]:
        """Points and weights for an integral from `start` to `end`: Gauss-Legendre between grid points.

        Also between points where the line is cut at public bounds. Kernels are smooth there, so the
        error of an integral is that of rounding.
        """
        start, end = (check_point(given, self.domain_range) for given in (start, end))
        if start > end:
            points, weights = self.quadrature(end, start)
            return points, -weights
        inner = self.grid_points[(self.grid_points > start) & (self.grid_points < end)]
        edges = np.concatenate([[start], inner, [end]])
        points, weights = gauss(edges)
        bends = cuts(self, np.concatenate([[start], points, [end]]))
        return gauss(np.union1d(edges, bends)) if bends.size else (points, weights)

    def band(
        self,
        level: float = 0.95,
        simultaneous: bool = True,
        points: ArrayLike | None = None,
        kind: str | None = None,
        variance: Variance | None = None,
    ) -> Band:
        """Band around the released function.

        But for kind "measured" it contains the function itself, always.

        Parameters
        ----------
        level : float
            Probability of the band, between 0 and 1: everywhere on `points` at once, or (pointwise) at
            each point.
        simultaneous : bool
            Which of the two.
        points : array (k,), optional
            Where; by default 201 points of the domain and the grid.
        kind : {"mean", "measured", "credible"}
            "mean", for the default line of curves between bounds: meant to hold the mean of the clipped
            records itself, everywhere on the grid at once, and cut at the public bounds. The noise is
            known exactly, how the mean wiggles between cells is assumed; levels from .9. For any other
            release it is the band of kind "measured", widened where the function leaves it, and cut at
            the public bounds where there are any.
            "measured" (also "noise") holds by the law of the noise alone, whatever the data: it covers
            what a linear estimate of what was measured would be without noise. It is drawn around
            `unshrunk`, so that the function may leave it.
            "credible" is about the posterior under a public prior of coefficients: given the release it
            has that probability of containing the clipped mean's part, for means as that prior has them.
            "confidence" is meant to hold the population's mean of clipped records: the band of kind
            "mean", with the error of sampling (`dpfda.releases.confidence`). `Band.covers` says with
            which variance. Of the function itself, not of its derivatives.
        variance : float or callable, optional
            For kind "confidence": variance of a unit's value, known to be public, in squared units of
            the data; a function of points, too, such as another release. By default the largest one that
            the public bounds allow.

        Returns
        -------
        Band
            Points, lower and upper curve.

        Raises
        ------
        ParameterError
            If the kind is unknown, "credible" where there is no such prior, or the level is not offered.

        Notes
        -----
        No band says anything of the bias of clipping, and none but "confidence" of sampling. How often
        "mean" holds has been measured: `dpfda.mechanisms.posteriors.widths`.

        Where the count is released with noise of its own, the error of their ratio depends on the
        exact values, and the released ones stand in for them: the level of "measured" is then
        approximate. At level 0.9 and epsilon = 1 the measured coverage was 0.97 to 0.99 for 10 to 40
        units, 0.92 to 0.93 for 300 and 0.90 for 2000.
        """
        band = super().band(level, simultaneous, points, kind)
        if kind == "confidence":
            at = band.points
            places = self.grid_points.size
            return for_population(band, self(at), limits_at(self, at), variance, self.count, places)
        if variance is not None:
            raise ParameterError("variance", "be for kind='confidence'", shown(variance))
        return band

    def _around(self, at: Floats, level: float, simultaneous: bool, kind: str) -> Band:
        """The band for the function itself; that for the population is made around it."""
        if kind == "confidence":
            if self.order:
                raise ParameterError("kind", "be another for a derivative", repr(kind))
            kind = "mean"
        if kind == "mean" and isinstance(self.hierarchy, CurvePrior):
            return mean_band(self, level, simultaneous, at)
        functions = self.basis.evaluate(at, self.order)
        if kind == "credible":
            line = self.unclipped(at, self.order)
            band = make_credible_band(line, functions, self, level, simultaneous, at)
        else:
            source = self.unshrunk
            line = source.unclipped(at, self.order)
            band = make_band(line, functions, source, level, simultaneous, at)
        return band if kind in MEASURED else band_around(self, band)

    def accuracy(self, level: float = LEVEL) -> Accuracy:
        """How far the default bands reach from the line, simultaneous and pointwise, over the domain."""
        points = np.linspace(*self.domain_range, 201)
        bands = [self.band(level, simultaneous, points) for simultaneous in (True, False)]
        whole, single = (band.reach(self(points)) for band in bands)
        return Accuracy(level, float(whole.mean()), float(whole.max()), float(single.mean()))

    # Its file.

    def center_fits(self) -> bool:
        return self.center.shape == self.grid_points.shape

    # Tables, pictures and words.

    def band_points(self) -> Floats:
        grid = thinned(self.grid_points, ON_LINE)
        return np.union1d(np.linspace(*self.domain_range, 201), grid)[:, None]

    def view(self, level: float | None = LEVEL) -> Curve:
        return self.curve([self.line("released function", level)])

    def band_words(self, level: float) -> str:
        what = "derivative" if self.order else "mean"
        meant = f"band meant to hold the {what}, {100 * level:.4g}%"
        return meant if is_line(self) else super().band_words(level)

    @property
    def subject(self) -> str:
        said = super().subject
        which = "derivative" if self.order == 1 else f"derivative (of order {self.order})"
        return f"{which} of the {said}" if self.order else said

    @property
    def value_label(self) -> str:
        said = super().value_label
        return f"derivative of {said}, {per_axis(self.about, self.order)}" if self.order else said

    @property
    def value_words(self) -> str:
        said = super().value_words
        return f"{said}, {per_axis(self.about, self.order)}" if self.order else said

    def words(self) -> Words:
        grid, (start, end) = self.grid_points, self.domain_range
        places = f"{grid.size} points from {grid[0]:g} to {grid[-1]:g}"
        places += f", in the domain from {start:g} to {end:g}"
        derivative = f"the derivative (of order {self.order}) of " if self.order else ""
        return Words(
            published=self.published(f"{derivative}a {super().subject}"),
            assumed=self.assumed(places),
            bounded=self.bounded(),
            accurate=self._accurate(),
        )

    def _accurate(self) -> list[str]:
        found, units = self.accuracy(), self.value_words
        if is_line(self):
            said = verdict(self)
            return [
                f"{said[:1].upper()}{said[1:]}." if said else "",
                *promise(found, units, self.order),
                misfit(self) or "",
            ]
        return [
            f"With a probability of {found.level:.0%} {self.hidden} lies, everywhere at once, within "
            f"{number(found.typical)} of the published curve (typically; at most "
            f"{number(found.largest)}; {units}). At a single point chosen in advance it lies within "
            f"{number(found.at_a_point)} with that probability.",
            NOISE_ALONE,
        ]

    @property
    def hidden(self) -> str:
        cut = self.limits is not None and not self.order
        return super().hidden + (" and between the public bounds" if cut else "")

    def facts(self) -> dict[str, object]:
        accuracy = {"words": self.noise_words, **vars(self.accuracy())}
        more = {"domain_range": list(self.domain_range), "noise": accuracy}
        return super().facts() | more | {"verdict": verdict(self), "misfit": misfit(self)}

    def highlights(self) -> dict[str, str]:
        found = self.accuracy()
        units = self.about.get("value", "units of the data")
        units = "standardised" if self.about.get("standardized") else units
        units = f"{units}, {per_axis(self.about, self.order)}" if self.order else units
        within = f"within {number(found.typical)} typically, {number(found.largest)} at most"
        if not is_line(self):
            often = f"with probability {found.level:.0%}"
            return {"noise": f"without it everywhere {within}, {often}; {units}"}
        often = f"{100 * found.level:g} of 100 releases"
        told = {
            "accuracy": verdict(self),
            "band": f"meant to hold {held(self.order)} everywhere in {often}, {within}; {units}",
            "misfit": misfit(self),
        }
        return {name: text for name, text in told.items() if text is not None}

    def warnings(self) -> list[str]:
        kernel = getattr(self.basis, "kernel", None)
        said = None if kernel is None else short_range(kernel, self.grid_points, self.domain_range)
        return [*([] if said is None else [said]), *super().warnings()]

    @property
    def headline(self) -> str:
        derivative = f", derivative of order {self.order}" if self.order else ""
        return f"{super().headline}{derivative}"
