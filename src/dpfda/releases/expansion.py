"""A released function as a sum of public functions: what functions on intervals and boxes share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpfda.bases import BernsteinBasis
from dpfda.bases.grids import frozen
from dpfda.bases.kernels import kernel_to_json
from dpfda.bases.priors import CurvePrior, Hierarchy, ImagePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bases.reading import prior_from_json
from dpfda.bounds import Bound, LatticeBounds, ValueBounds
from dpfda.bounds.stated import bound_from_json
from dpfda.estimates import CurveModel, Posterior, Widths
from dpfda.noise import AnyNorm, BoxNoise, NoiseLaw, Width
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import randomness
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.base import Banded
from dpfda.releases.counts import Divisor, NoisyCount
from dpfda.releases.facts import Stated
from dpfda.releases.promise import AddedNoise, moved_by, noise_on_count
from dpfda.releases.words import points_words, rule_words

if TYPE_CHECKING:
    from dpfda.estimates.images import ImageModel


@dataclass(frozen=True, eq=False)
class Expansion(Banded):
    """A function as a sum of public functions, whatever its domain, by noisy coefficients.

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
    hierarchy : Hierarchy, CurvePrior or ImagePrior, optional
        Public prior under which `coefficients` are the posterior mean; without it they are linear in the
        noisy sum, by `shrinkage` and `synthesis`.
    """

    basis: Any = field(metadata=file.ANY_BASIS.kept)
    noisy_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    exponent: int = field(metadata=file.EXPONENT.kept)
    divisor: Divisor = field(metadata=file.DIVISOR.kept)
    shrinkage: Floats = field(metadata=file.FLOATS.kept)
    center: Floats = field(metadata=file.FLOATS.kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    synthesis: Floats | None = field(default=None, metadata=file.PACKED.or_absent.kept)
    hierarchy: Hierarchy | CurvePrior | ImagePrior | None = field(
        default=None, metadata=file.itself(prior_from_json).or_absent.kept
    )

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
            coefficients = self._widths.posterior.coefficients(self.basis.analysis)
        elif isinstance(self.hierarchy, ImagePrior):
            coefficients = self._image_model(self.hierarchy).coefficients(self._measured)
        else:
            coefficients = self._posterior.means(self._measured[None, :])[0]
        return frozen(coefficients)

    @property
    def _measured(self) -> Floats:
        """Noisy means (M,) of what was measured, in its units."""
        raw = np.array([math.ldexp(float(value), -self.exponent) for value in self.noisy_sum])
        return np.asarray(raw / self.count)

    @cached_property
    def _curve_model(self) -> CurveModel:
        """Of the line of a mean between bounds."""
        if not isinstance(self.hierarchy, CurvePrior):
            raise ParameterError("release", "be the line of a mean between bounds", "another estimate")
        step = math.ldexp(1.0, -self.exponent) / self.count
        basis = self.basis
        parts = (self.hierarchy, basis.grid_points, basis.analysis, self.noise, step)
        return CurveModel.of(*parts, counted=self._counted is not None)

    def _image_model(self, prior: ImagePrior) -> ImageModel:
        from dpfda.estimates.images import ImageModel

        step = math.ldexp(1.0, -self.exponent) / self.count
        return ImageModel.of(prior, self.basis, self.noise, step)

    @property
    def _counted(self) -> NoisyCount | None:
        """The number of units, where its noise is the last coordinate of that of the sum."""
        divisor = self.divisor
        return divisor if isinstance(divisor, NoisyCount) and divisor.before is not None else None

    @cached_property
    def _widths(self) -> Widths:
        """How far the mean may lie from the line."""
        count = self.divisor.law if isinstance(self.divisor, NoisyCount) else None
        return Widths(self._curve_model.posterior(self._measured), count, self.count)

    @cached_property
    def _posterior(self) -> Posterior:
        mixture = self.noise.mixture()
        if not isinstance(self.hierarchy, Hierarchy) or mixture is None:
            has_prior = isinstance(self.hierarchy, Hierarchy)
            raise ParameterError(
                "release",
                "have a public prior for its coefficients",
                type(self.noise).__name__ if has_prior else "none",
                "Releases of mechanism='auto' on balls have one; for bounds on values see `band`.",
            )
        return Posterior(self.hierarchy, mixture.scaled(math.ldexp(1.0, -self.exponent) / self.count))

    @property
    def _has_posterior(self) -> bool:
        """Whether its coefficients can be drawn from a posterior under a public prior."""
        return isinstance(self.hierarchy, Hierarchy) and self.noise.mixture() is not None

    @property
    def unshrunk(self) -> Self:
        """The same release without the prior: what was measured, as it was released.

        Where linear forms of the mean were measured instead of its coefficients, their linear estimate.
        """
        if self.hierarchy is None:
            return self
        if isinstance(self.hierarchy, ImagePrior):
            return replace(self, hierarchy=replace(self.hierarchy, shrunk=False))
        factors = self.shrinkage if self.synthesis is not None else np.ones_like(self.shrinkage)
        return replace(self, hierarchy=None, shrinkage=factors)

    def _synthesized(self, shrunk: Floats) -> Floats:
        """Coefficients (..., K) from what was measured (..., M)."""
        if isinstance(self.hierarchy, ImagePrior):
            return self._image_model(self.hierarchy).linear(shrunk)
        return shrunk if self.synthesis is None else np.asarray(shrunk @ self.synthesis.T)

    # Its file.

    def _checked(self) -> None:
        measured, functions = self.noise.components, len(self.basis.eigenvalues)
        if self._counted is not None:
            measured -= 1
            if self._counted.noise != self.noise or not isinstance(self.hierarchy, CurvePrior):
                raise ValueError("a count joins sums over cells of a line, and has their noise")
        synthesis = (measured, measured) if self.synthesis is None else self.synthesis.shape
        counts = {len(self.noisy_sum), len(self.shrinkage)}
        hierarchy, sizes = self.hierarchy, (measured, functions)
        image = isinstance(hierarchy, ImagePrior) and self.synthesis is None
        if counts != {measured} or (synthesis != (functions, measured) and not image):
            raise ValueError("coefficients, factors, functions and scales differ in number")
        if isinstance(hierarchy, CurvePrior):
            cells = measured if hierarchy.cells is None else len(hierarchy.cells)
            if hierarchy.lower.shape != self.center.shape or cells != measured:
                raise ValueError("bounds, cells and scales differ in number")
            _check_bounds(self, hierarchy)
        elif isinstance(hierarchy, ImagePrior):
            shape = getattr(self.basis, "shape", None)
            if hierarchy.measured != measured or hierarchy.shape != shape:
                raise ValueError("grid, cells and scales differ in number")
            _check_bounds(self, hierarchy)
        elif hierarchy is not None and sizes != (hierarchy.measured, hierarchy.prior.components):
            raise ValueError("prior and scales differ in number")
        if not self.count > 0:
            raise ValueError("the divisor must be positive")
        if not self._center_fits() or not self._is_centered():
            raise ValueError("the center must be that of the bound, on the grid")

    def _stated_bound(self) -> Mapping[str, object]:
        if "kind" in self.certificate.bound:
            return super()._stated_bound()
        if self.certificate.mechanism.get("name") == "OpenDP":
            # In the words of whoever made the measurement.
            return self.certificate.bound
        if self.certificate.mechanism.get("name") != "kernel":
            raise ValueError("the records of a mean are in a bound")
        return {"description": points_words(self.basis.weights.size)}

    def _added_noise(self) -> list[AddedNoise]:
        moved = self._moved()
        if moved is None:
            return []
        norm, width = moved
        if self._counted is not None and isinstance(width, tuple):
            width += (self._counted.scale,)
        return [*noise_on_count(self.divisor), AddedNoise(self.noise, norm, width)]

    def _moved(self) -> tuple[AnyNorm, Width] | None:
        """Norm and size by which one unit moves the sum; None where the release does not say it."""
        prior, differences = self.hierarchy, self.neighbours.differences
        if isinstance(prior, CurvePrior | ImagePrior) and prior.cells is not None:
            return "box", tuple(map(differences, _sums_over_cells(prior, self.exponent)))
        if "kind" not in self.certificate.bound:
            return None
        bound, grid = bound_from_json(self.certificate.bound), flat_grid(self.basis)
        if self.synthesis is not None:
            return self._moved_in_cells(bound, grid)
        if isinstance(bound, ValueBounds) and isinstance(self.basis, BernsteinBasis):
            bound = LatticeBounds(bound.lower, bound.upper)
        return moved_by(bound, grid, self.basis.weights, self.exponent, self.neighbours)

    def _moved_in_cells(self, bound: Bound, grid: Floats) -> tuple[AnyNorm, Width] | None:
        """Of sums over cells whose sizes are not known: scales are in proportion to their widths."""
        noise, named = self.noise, self.certificate.mechanism.get("name")
        if named != "cells" or not isinstance(bound, ValueBounds) or not isinstance(noise, BoxNoise):
            return None
        lower, upper = bound.curves_on(grid)
        halves = np.floor(np.ldexp((upper - lower) / 2, self.exponent)).astype(np.int64)
        total = self.neighbours.differences(int(halves.sum()))
        return "box", tuple(max(1, total * scale // sum(noise.scales)) for scale in noise.scales)

    def _is_centered(self) -> bool:
        """Whether the center is that of the bound, where there is one."""
        if "kind" not in self.certificate.bound:
            return True
        center = bound_from_json(self.certificate.bound).center_on(flat_grid(self.basis))
        return bool(np.all(np.ravel(self.center) == center))

    def _center_fits(self) -> bool:
        """Whether the center has a number for each grid point."""
        raise NotImplementedError

    # Its words.

    @property
    def public_units(self) -> int | None:
        private = self.neighbours is Neighbours.ADD_REMOVE or "counted" in self.about
        if private or isinstance(self.divisor, NoisyCount):
            return None
        return round(self.divisor)

    def _hidden(self, cut: bool) -> str:
        """What its band for the noise holds, in words; `cut` where the line is."""
        linear = self.hierarchy is None
        what = "what would have been published" if linear else "a linear estimate"
        return f"{what} without noise{' and between the public bounds' if cut else ''}"

    @property
    def _value_words(self) -> str:
        """The unit of the values, in words."""
        named = self.about.get("value")
        if self.about.get("standardized"):
            return "standardised, without unit"
        return f"in the units of '{named}'" if named else "in the units of the data"

    @property
    def _noise_words(self) -> str:
        """The law of the noise."""
        joined = (
            "" if self._counted is None else f", of which the number of {several(self.unit)} is the last"
        )
        return self.noise.describe() + joined

    def _lines(self) -> dict[str, str]:
        return {
            "kernel": self.basis.describe(),
            "mechanism": f"{self.certificate.mechanism['name']}: {self._noise_words}",
        }

    def _function(self, what: str, grid: str, more: Mapping[str, object] | None = None) -> Stated:
        """What is stated of a function of this name, on this grid."""
        numbers = {"kernel": self.basis.describe(), "domain_range": np.array(self.domain_range).tolist()}
        return Stated(
            f"A function: {what}, over {self._spoken_domain}. Its values are {self._value_words}."
            f"{self._dated}",
            uses="be evaluated at any point, drawn, differentiated, copied and mailed",
            public=[
                f"the grid: {grid}",
                f"how smooth the curve is expected to be: {self._kernel_words}",
            ],
            noise=f"{self.certificate.mechanism['name']} mechanism, {self._noise_words}",
            units=self._divided(),
            bounded=self._bounded(),
            numbers=numbers | dict(more or {}),
        )

    def _divided(self) -> str:
        """What is public of the number of units, and what the sum was divided by."""
        if self.public_units is not None:
            return ""
        if isinstance(self.divisor, NoisyCount):
            noise = "noise of its own" if self._counted is None else "noise, alone and with the sum"
            most = self.about.get("max_weight")
            weighed = f". Each counts as its weight over {most:g}, one at most" if most else ""
            return (
                f"{self._units_words()}{weighed}. The sum was divided by a count "
                f"with {noise}, {number(self.count)}, which is part of the release and of its epsilon"
            )
        return (
            f"the number that the sum was divided by: {number(self.count)}. It was given from "
            f"outside and need not be the number of {several(self.unit)}"
        )

    @property
    def _kernel_words(self) -> str:
        kernel: object = getattr(self.basis, "kernel", None)
        words = str(self.basis.describe())
        written = None if kernel is None else kernel_to_json(kernel)
        if written is not None and set(written) <= {"name", "length_scale", "nu"}:
            words += (
                "; its length_scale is the distance along the axis over which values of a curve stay "
                "closely related"
            )
        return words

    def _bounded(self) -> list[str]:
        """What the bound does to a record."""
        rule = rule_words(self.certificate.bound)
        if not rule:
            return []
        if self.about.get("standardized"):
            rule = (
                "First every curve was replaced by itself minus its own mean, divided by its own size, "
                f"so that the release shows shape alone and has no unit. {rule}"
            )
        return [
            f"{rule} So no {self.unit} can weigh more in the result than the bound allows, and the "
            "noise is just large enough to hide that much.",
            "A bound that is too narrow distorts the curve; one that is too wide adds noise. If it was "
            "read off these data, the promise does not hold: it has to come from knowledge of the "
            "measurement.",
        ]


def _check_bounds(release: Expansion, prior: CurvePrior | ImagePrior) -> None:
    """Refuse a prior between other bounds than those that records were held in."""
    if release.certificate.bound.get("kind") != "values":
        raise ValueError("a prior between bounds needs bounds on values")
    for end in ("lower", "upper"):
        if not np.all(np.asarray(release.certificate.bound[end]) == getattr(prior, end)):
            raise ValueError("the prior has other bounds than the records")


def _sums_over_cells(prior: CurvePrior | ImagePrior, exponent: int) -> list[int]:
    """How far from the middle a record's sums over cells are at most."""
    halves = np.floor(np.ldexp(np.asarray(prior.width) / 2, exponent)).astype(np.int64)
    if isinstance(prior, ImagePrior):
        return [int(halves) * prior.weight] * prior.measured
    assert prior.cells is not None  # noqa: S101
    return list(np.add.reduceat(halves, np.cumsum((0, *prior.cells[:-1]))).tolist())


def noise_draws(release: Expansion, generator: np.random.Generator, draws: int) -> Floats:
    """Simulated errors (draws, M) of the coefficients; only for bands and studies."""
    generator, draws = randomness(generator, "generator"), parameters.draws(draws)
    scale = release.shrinkage * math.ldexp(1.0, -release.exponent)
    drawn = release.noise.simulate(generator, draws)
    errors = release._synthesized(drawn[:, : scale.size] * scale)
    if not isinstance(release.divisor, NoisyCount):
        return np.asarray(errors / release.divisor)
    # With a noisy count the error of S~ / n~ is S~ / n~ - (S~ - Z) / (n~ - Z').
    count_noise = release.divisor.law.errors(generator, draws, drawn[:, scale.size :])
    counts = np.maximum(release.count - count_noise[:, None], 1.0)
    return np.asarray(release.coefficients - (release.coefficients * release.count - errors) / counts)
