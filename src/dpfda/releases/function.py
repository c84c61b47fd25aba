"""The released function: coefficients, basis, noise law and guarantee; public from here on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.grids import check_point, check_points, piecewise
from dpfda.bases.priors import Hierarchy
from dpfda.errors import ParameterError
from dpfda.mechanisms.posteriors import CountError, CurveModel, Posterior, Widths, mixture_of
from dpfda.noise import NoiseLaw
from dpfda.numerics import parameters
from dpfda.numerics.parameters import choice, randomness, values_at
from dpfda.privacy.certificates import Certificate, Certified
from dpfda.releases.bands import Band, enclosing, make_band, make_credible_band
from dpfda.releases.lines import between_bounds, mean_band

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
KINDS = ("mean", "measured", "noise", "credible")


@dataclass(frozen=True)
class NoisyCount:
    """The number of privacy units, released with noise of its own.

    Parameters
    ----------
    noisy : int
        Count times `scale`, plus noise.
    scale : int
        Grid units per unit counted.
    noise : NoiseLaw
        Law of the noise, on one component.
    """

    noisy: int
    scale: int
    noise: NoiseLaw

    @property
    def value(self) -> float:
        """Released count, at least one."""
        return max(1.0, self.noisy / self.scale)


@dataclass(frozen=True, eq=False)
class Release(Certified):
    """What a published function consists of, whatever its domain; nothing in it is private.

    It holds no records, no sum without noise, no count unless the count is public.

    Parameters
    ----------
    basis : Basis
        Public basis, truncated to the released components.
    noisy_sum : tuple of int
        The mechanism's output: exact integer sum of clipped records plus rounded noise.
    exponent : int
        The integers are in units of 2^-exponent of a coefficient.
    divisor : float or NoisyCount
        What the sum is divided by: a public number, or the released count.
    shrinkage : array (M,)
        Public factors on the coefficients.
    center : array (m,) or ()
        Public function that was subtracted from every record, on the basis's grid; linear between.
    noise : NoiseLaw
        Law of the noise in `noisy_sum`, in grid units.
    certificate : Certificate
        What it promises to whom, and what it cost. Its entries are attributes of the release too.
    about : mapping
        Versions, date, units of the axes.
    synthesis : array (K, M), optional
        Public matrix that takes shrunk noisy integers to coefficients, where those were not measured
        themselves.
    hierarchy : Hierarchy or CurvePrior, optional
        Public prior under which `coefficients` are the posterior mean; without it they are linear in the
        noisy sum, by `shrinkage` and `synthesis`.
    """

    basis: Any
    noisy_sum: tuple[int, ...]
    exponent: int
    divisor: float | NoisyCount
    shrinkage: Floats
    center: Floats
    noise: NoiseLaw
    certificate: Certificate
    about: Mapping[str, Any] = field(default_factory=dict)
    synthesis: Floats | None = None
    hierarchy: Hierarchy | CurvePrior | None = None

    def __post_init__(self) -> None:
        for name in ("shrinkage", "center", "synthesis"):
            if getattr(self, name) is None:
                continue
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "about", MappingProxyType(dict(self.about)))

    def __getstate__(self) -> dict[str, Any]:
        # A read-only view of a mapping cannot be pickled; a copy of what it shows can.
        return {k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def count(self) -> float:
        """What the sum was divided by."""
        return self.divisor.value if isinstance(self.divisor, NoisyCount) else self.divisor

    @cached_property
    def coefficients(self) -> Floats:
        """Coefficients (M,) in the basis, in units of the data times the root of the domain's."""
        if self.hierarchy is None:
            coefficients = self._synthesized(self.shrinkage * self._measured)
        elif isinstance(self.hierarchy, CurvePrior):
            coefficients = self.curve_model.coefficients(self._measured, self.basis.analysis)
        else:
            coefficients = self._posterior.means(self._measured[None, :])[0]
        coefficients.setflags(write=False)
        return coefficients

    @property
    def _measured(self) -> Floats:
        """Noisy means (M,) of what was measured, in its units."""
        raw = np.array([math.ldexp(float(value), -self.exponent) for value in self.noisy_sum])
        return np.asarray(raw / self.count)

    @cached_property
    def curve_model(self) -> CurveModel:
        """Of the line of a mean between bounds."""
        if not isinstance(self.hierarchy, CurvePrior):
            raise ParameterError("release", "be the line of a mean between bounds", "another estimate")
        unit = math.ldexp(1.0, -self.exponent) / self.count
        basis = self.basis
        return CurveModel.of(self.hierarchy, basis.grid_points, basis.analysis, self.noise, unit)

    @cached_property
    def widths(self) -> Widths:
        """How far the mean may lie from the line."""
        error = None
        if isinstance(self.divisor, NoisyCount):
            error = CountError(self.divisor.noise, 1 / (self.divisor.scale * self.count))
        return Widths(self.curve_model.posterior(self._measured), error)

    @cached_property
    def _posterior(self) -> Posterior:
        mixture = mixture_of(self.noise)
        if not isinstance(self.hierarchy, Hierarchy) or mixture is None:
            known = isinstance(self.hierarchy, Hierarchy)
            raise ParameterError(
                "release",
                "have a public prior for its coefficients",
                type(self.noise).__name__ if known else "none",
                "Releases of mechanism='auto' on balls have one; for bounds on values see `widths`.",
            )
        return Posterior(self.hierarchy, mixture.scaled(math.ldexp(1.0, -self.exponent) / self.count))

    def posterior_draws(self, generator: np.random.Generator, draws: int) -> Floats:
        """Coefficients (draws, K) from their posterior given this release; for bands and studies.

        Raises
        ------
        ParameterError
            If the release has no public prior.
        """
        generator = randomness(generator, "generator")
        return self._posterior.draws(self._measured, generator, parameters.draws(draws))

    @property
    def unshrunk(self) -> Self:
        """The same release without the prior: what was measured, as it was released.

        Where linear forms of the mean were measured instead of its coefficients, their linear estimate.
        """
        if self.hierarchy is None:
            return self
        factors = self.shrinkage if self.synthesis is not None else np.ones_like(self.shrinkage)
        return replace(self, hierarchy=None, shrinkage=factors)

    def _synthesized(self, shrunk: Floats) -> Floats:
        """Coefficients (..., K) from what was measured (..., M)."""
        return shrunk if self.synthesis is None else np.asarray(shrunk @ self.synthesis.T)

    def noise_draws(self, generator: np.random.Generator, draws: int) -> Floats:
        """Simulated errors (draws, M) of the coefficients; only for bands and studies."""
        generator, draws = randomness(generator, "generator"), parameters.draws(draws)
        scale = self.shrinkage * math.ldexp(1.0, -self.exponent)
        errors = self._synthesized(self.noise.simulate(generator, draws) * scale)
        if not isinstance(self.divisor, NoisyCount):
            return np.asarray(errors / self.divisor)
        # With a noisy count the error of S~ / n~ is S~ / n~ - (S~ - Z) / (n~ - Z').
        count_noise = self.divisor.noise.simulate(generator, draws) / self.divisor.scale
        counts = np.maximum(self.count - count_noise, 1.0)
        return np.asarray(self.coefficients - (self.coefficients * self.count - errors) / counts)


@dataclass(frozen=True, eq=False)
class ReleasedFunction(Release):
    """A function on an interval, published under differential privacy.

    Call it at any points of its domain, as often as anyone likes: evaluating, differentiating,
    integrating, plotting and saving are post-processing and cost no privacy. It holds nothing
    private: no records, no sum without noise, no count unless the count is public.

    Parameters
    ----------
    order : int
        Order of the derivative that this function is of the release. The others: see `Release`.
    """

    basis: Basis
    order: int = 0

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.basis.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self.basis.grid_points

    def __call__(self, points: ArrayLike) -> Any:
        """Values of the function.

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
        if isinstance(self.hierarchy, CurvePrior):
            values = between_bounds(self, self.hierarchy, check_points(points, self.domain_range))
        else:
            functions = self.basis.evaluate(points, self.order)
            values = self._center(points) + functions @ self.coefficients
        return float(values[0]) if np.ndim(points) == 0 else values

    def _center(self, points: ArrayLike) -> Floats:
        at = check_points(points, self.domain_range)
        return piecewise(self.grid_points, self.center, at, self.order)

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

        Kernels are smooth there, so the error of an integral is that of rounding.
        """
        start, end = (check_point(given, self.domain_range) for given in (start, end))
        if start > end:
            points, weights = self.quadrature(end, start)
            return points, -weights
        inner = self.grid_points[(self.grid_points > start) & (self.grid_points < end)]
        edges = np.concatenate([[start], inner, [end]])
        half = np.diff(edges)[:, None] / 2
        middle = (edges[:-1] + edges[1:])[:, None] / 2
        return (middle + half * NODES).ravel(), (half * NODE_WEIGHTS).ravel()

    def band(
        self,
        level: float = 0.95,
        simultaneous: bool = True,
        points: ArrayLike | None = None,
        kind: str = "mean",
    ) -> Band:
        """Band around the released function. It always contains the function itself.

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
            release it is the band of kind "measured", widened where the function leaves it.
            "measured" (also "noise") holds by the law of the noise alone, whatever the data: it covers
            what a linear estimate of what was measured would be without noise. It is drawn around
            `unshrunk`, so that the function may leave it.
            "credible" is about the posterior under a public prior of coefficients: given the release it
            has that probability of containing the clipped mean's part, for means as that prior has them.

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
        No band says anything of the bias of clipping, nor of sampling. How often "mean" holds has been
        measured: `dpfda.mechanisms.posteriors.widths`.

        Where the count is released with noise of its own, the error of their ratio depends on the
        exact values, and the released ones stand in for them: the level of "measured" is then
        approximate. At level 0.9 and epsilon = 1 the measured coverage was 0.97 to 0.99 for 10 to 40
        units, 0.92 to 0.93 for 300 and 0.90 for 2000.
        """
        choice(kind, "kind", KINDS)
        if points is None:
            points = np.union1d(np.linspace(*self.domain_range, 201), self.grid_points)
        at = check_points(points, self.domain_range)
        if kind == "mean" and isinstance(self.hierarchy, CurvePrior):
            return mean_band(self, self.hierarchy, level, simultaneous, at)
        functions = self.basis.evaluate(at, self.order)
        if kind == "credible":
            return make_credible_band(self(at), functions, self, level, simultaneous, at)
        source = self.unshrunk
        band = make_band(source(at), functions, source, level, simultaneous, at)
        return enclosing(band, self(at)) if kind == "mean" else band

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Values and simultaneous band on the grid as a pandas data frame."""
        from dpfda.releases.plotting import frame_of

        return frame_of(self, level)

    def plot(self, ax: Axes | None = None, level: float | None = 0.95) -> Axes:
        """Draw the function and its simultaneous band on a matplotlib axis."""
        from dpfda.releases.plotting import plot_release

        return plot_release(self, ax, level)

    def save(self, path: str | Path) -> Path:
        """Write a JSON file that `load` reads back exactly."""
        from dpfda.releases.storage import save_as

        return save_as("dpfda-release", self, path)

    @staticmethod
    def load(path: str | Path, kernel: Any = None) -> ReleasedFunction:
        """Read a release from a JSON file; `kernel` is needed if it was made with a custom one."""
        from dpfda.releases.storage import load_kind

        release: ReleasedFunction = load_kind(path, "dpfda-release", kernel)
        return release

    def __repr__(self) -> str:
        start, end = self.domain_range
        derivative = f", derivative of order {self.order}" if self.order else ""
        return "\n".join(
            [
                f"ReleasedFunction on [{start:g}, {end:g}]{derivative}",
                f"  guarantee:    {self.guarantee}",
                f"  neighbours:   {self.neighbours.describe(self.unit)}",
                f"  privacy unit: {self.unit}",
                f"  bound:        {self.bound['description']}",
                f"  kernel:       {self.basis.describe()}",
                f"  mechanism:    {self.mechanism['name']}: {self.noise.describe()}",
            ]
        )
