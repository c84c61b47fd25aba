"""The released function: coefficients, basis, noise law and guarantee; public from here on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point, gauss
from dpfda.bases.kernels import short_range
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import values_at
from dpfda.privacy.words import first_up
from dpfda.releases.bands import (
    CONFIDENCE,
    KINDS,
    MEASURED,
    Band,
    make_band,
    make_credible_band,
)
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.confidence import Variance, for_population
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.lines import WIGGLES, MeanLine, line_claim, misfit, verdict
from dpfda.releases.words import per_axis
from dpfda.views import Curve


@dataclass(frozen=True, eq=False)
class ReleasedFunction(MeanLine):
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
    band_kinds: ClassVar[tuple[str, ...]] = (*KINDS, "credible", CONFIDENCE)

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
        bends = self.cuts(np.concatenate([[start], points, [end]]))
        return gauss(np.union1d(edges, bends)) if bends.size else (points, weights)

    def _around(self, at: Floats, level: float, simultaneous: bool, kind: str) -> Band:
        """Band around the released function.

        Notes
        -----
        But for kind "measured" it contains the function itself, always.

        "mean", for the default line of curves between bounds: meant to hold the mean of the clipped
        records itself, everywhere on the grid at once, and cut at the public bounds. The noise is
        known exactly, how the mean wiggles between cells is assumed; levels from .9. For any other
        release it is the band of kind "measured", widened where the function leaves it, and cut at
        the public bounds where there are any.

        "measured" (also "noise") holds by the law of the noise alone, whatever the data: it covers
        what a linear estimate of what was measured would be without noise. It is drawn around
        `unshrunk`, so that the function may leave it.

        "credible" is about the posterior under a public prior of coefficients, and refused where there
        is none: given the release it has that probability of containing the clipped mean's part, for
        means as that prior has them.

        "confidence" is meant to hold the population's mean of clipped records: the band of kind
        "mean", with the error of sampling (`dpfda.releases.confidence`). `Band.covers` says with
        which variance. Of the function itself, not of its derivatives.

        No band says anything of the bias of clipping, and none but "confidence" of sampling. How often
        "mean" holds has been measured: `dpfda.estimates.widths`.

        Where the count is released with noise of its own, the error of their ratio depends on the
        exact values, and the released ones stand in for them: the level of "measured" is then
        approximate. At level 0.9 and epsilon = 1 the measured coverage was 0.97 to 0.99 for 10 to 40
        units, 0.92 to 0.93 for 300 and 0.90 for 2000.
        """
        if kind == "mean" and self.is_line:
            return self._mean_band(level, simultaneous, at)
        functions = self.basis.evaluate(at, self.order)
        if kind == "credible":
            line = self.unclipped(at, self.order)
            band = make_credible_band(line, functions, self, level, simultaneous, at)
        else:
            source = self.unshrunk
            line = source.unclipped(at, self.order)
            band = make_band(line, functions, source, level, simultaneous, at)
        return band if kind in MEASURED else self._held(band)

    def _around_population(
        self, at: Floats, level: float, simultaneous: bool, variance: Variance | None
    ) -> Band:
        if self.order:
            raise ParameterError("kind", "be another for a derivative", repr(CONFIDENCE))
        band, places = self._around(at, level, simultaneous, "mean"), self.grid_points.size
        return for_population(band, self(at), self.limits_at(at), variance, self.count, places)

    # Its file.

    def center_fits(self) -> bool:
        return self.center.shape == self.grid_points.shape

    # Tables, pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        return self.curve([self.line("released function", level)])

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

    def _claims(self) -> tuple[Claim, ...]:
        cut, units = self.limits is not None and not self.order, self.value_words
        noise = Claim("noise", self._hidden(cut), units)
        return (line_claim(self.order, units), noise) if self.is_line else (noise,)

    def _stated(self) -> Stated:
        grid, (start, end) = self.grid_points, self.domain_range
        places = f"{grid.size} points from {grid[0]:g} to {grid[-1]:g}"
        places += f", in the domain from {start:g} to {end:g}"
        derivative = f"the derivative (of order {self.order}) of " if self.order else ""
        said = {"accuracy": verdict(self), "misfit": misfit(self)}
        known = {name: text for name, text in said.items() if text is not None}
        return self._function(
            f"{derivative}a {super().subject}",
            places,
            first=[f"{first_up(known['accuracy'])}."] if "accuracy" in known else [],
            remarks=[WIGGLES, said["misfit"] or ""] if self.is_line else [],
            findings=known,
            numbers={"verdict": said["accuracy"], "misfit": said["misfit"]},
        )

    def warnings(self) -> list[str]:
        kernel = getattr(self.basis, "kernel", None)
        said = None if kernel is None else short_range(kernel, self.grid_points, self.domain_range)
        return [*([] if said is None else [said]), *super().warnings()]

    @property
    def headline(self) -> str:
        derivative = f", derivative of order {self.order}" if self.order else ""
        return f"{super().headline}{derivative}"


class OfMeans(Release):
    """A release made of several means: what all have in common is said of the first."""

    if TYPE_CHECKING:

        @property
        def means(self) -> Mapping[str, ReleasedFunction]: ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what the means are of."""
        return tuple(self.means)

    @property
    def _any(self) -> ReleasedFunction:
        return next(iter(self.means.values()))

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions."""
        return self._any.about

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self._any.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self._any.grid_points

    def functions(self, at: Floats) -> dict[str, Floats]:
        return {name: np.asarray(mean(at[:, 0])) for name, mean in self.means.items()}
