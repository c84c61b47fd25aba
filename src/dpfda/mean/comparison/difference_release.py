"""The difference of the released means of two groups; all public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import name, sequence
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import DRAWS, Asked, Band, Variance, band_from_errors
from dpfda.releases.base import LEVEL, Column, Valued
from dpfda.releases.expansion import noise_draws
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.lines import PROVED, around_difference, difference_band, difference_share
from dpfda.releases.words import assumed_words
from dpfda.views import Curve

# Exponents g of the priors that a difference is smoothed under.
EXPONENTS = (0.5, 1.0, 1.5, 2.0, 3.0)
SAMPLING = (
    "These bands are not about sampling: whether the groups differ in the population is another "
    "question, for sampling adds an error of its own."
)
# How often the band of a difference of default lines was seen to hold.
SPLIT = (
    ". On 20 sets of real curves, groups being alike, between or unlike, it held in 89 to 100 of 100, "
    "in 96 on average"
)


def _two_names(written: object) -> tuple[str, str]:
    first, second = map(name, sequence(written))
    return first, second


@dataclass(frozen=True, eq=False)
class ReleasedDifference(Valued):
    """The mean of one group minus that of another, as a function on the domain.

    Parameters
    ----------
    first, second : ReleasedFunction
        Of the two groups, on one domain.
    names : (str, str)
        Of the two groups.
    """

    first: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)
    second: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)
    names: tuple[str, str] = field(metadata=file.entry(_two_names, list).kept)

    _FORMAT: ClassVar[str] = "dpfda-difference"
    _CALLED: ClassVar[str] = "dpfda difference of groups"

    @property
    def certificate(self) -> Certificate:
        """Of the releases of all groups together."""
        return self.first.certificate

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions."""
        return self.first.about

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.first.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self.first.grid_points

    def _values(self, at: Floats) -> Floats:
        return self.first(at) - self.second(at)

    def derivative(self) -> ReleasedDifference:
        """The difference of the derivatives."""
        return ReleasedDifference(self.first.derivative(), self.second.derivative(), self.names)

    def integral(self, start: float | None = None, end: float | None = None) -> float:
        """Integral from `start` to `end`, by default over the domain."""
        return self.first.integral(start, end) - self.second.integral(start, end)

    @property
    def _is_line(self) -> bool:
        """Whether it is the difference of two default lines of curves between bounds."""
        return self.first._is_line and self.second._is_line

    @property
    def _borrows(self) -> bool:
        """Whether both lines were made of the noisy numbers of all groups."""
        return self._is_line and all(m._widths.posterior.borrows for m in (self.first, self.second))

    def smoothed(self, points: ArrayLike) -> float | Floats:
        """Values of a shrunk difference: closer to the truth on average where noise is large.

        The posterior mean of the coefficients under a normal prior with variances a lambda_j^g, lambda
        the eigenvalues of the basis, where a and g are those under which this noisy difference is most
        likely. Post-processing of the release. It is not the middle of the band, and may leave it. The
        difference of two default lines needs no such thing: of that it is the difference itself.

        Parameters
        ----------
        points : float or array (k,)
            Points of the domain.
        """
        if self._is_line:
            return self(points)
        order = self.first.order
        functions = self._wider.evaluate
        return self._at(lambda at: functions(at, order) @ self._smoothed_coefficients, points)

    @property
    def _wider(self) -> Basis:
        """The basis of more functions; both are leading parts of one."""
        return max((self.first.basis, self.second.basis), key=lambda basis: int(basis.eigenvalues.size))

    @cached_property
    def _smoothed_coefficients(self) -> Floats:
        eigenvalues = self._wider.eigenvalues
        generator = np.random.Generator(np.random.Philox(key=0))
        coefficients, noise = np.zeros(eigenvalues.size), np.zeros((eigenvalues.size,) * 2)
        for release, sign in ((self.first, 1.0), (self.second, -1.0)):
            count = release.coefficients.size
            coefficients[:count] += sign * release.coefficients
            noise[:count, :count] += np.cov(noise_draws(release, generator, DRAWS), rowvar=False)
        return frozen(most_likely_mean(coefficients, noise, eigenvalues))

    def _around_population(self, at: Floats, asked: Asked, variance: Variance | None) -> Band:
        first, second = (
            release.band((1 + asked.level) / 2, asked.simultaneous, at, "population", variance=variance)
            for release in (self.first, self.second)
        )
        lower, upper = first.lower - second.upper, first.upper - second.lower
        return Band(at, lower, upper, asked.level, asked.simultaneous, first.covers)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band around the difference.

        Notes
        -----
        Of the sample, for default lines of curves between bounds: holds the difference of the two means
        of the clipped records itself, at grid points, where that was measured (see
        `dpfda.releases.distance.GroupDistance`). Elsewhere it is meant to, and made of what both means
        may be, independently; levels from .9. Of the noise: what the difference of linear estimates of
        what was measured would have been without noise, by the laws of both noises alone; made to
        contain the difference, but where the exact one is asked for. Neither is about sampling: a
        difference that leaves the band around zero is not explained by the noise, but may be by
        sampling.

        Of the population it is meant to hold the difference of the two populations' means: made of such
        a band of either group at half of what the level leaves, so that it holds however the two hang
        together, and is wider than need be. Its variance is the same for both groups.
        """
        if asked.of == "sample":
            return difference_band(self.first, self.second, asked, at)
        # One generator after the other: independent noise, and the same band whenever it is asked for.
        generator = np.random.Generator(np.random.Philox(key=0))
        errors, values = np.zeros((DRAWS, at.size)), np.zeros(at.size)
        for release, sign in ((self.first.unshrunk, 1.0), (self.second.unshrunk, -1.0)):
            functions = release.basis.evaluate(at, release.order)
            errors += sign * (noise_draws(release, generator, DRAWS) @ functions.T)
            values += sign * release._unclipped(at, release.order)
        band = band_from_errors(values, np.abs(errors), asked.level, asked.simultaneous, at)
        return band if asked.exact else around_difference(self.first, self.second, band)

    def _checked(self) -> None:
        if self.first.domain_range != self.second.domain_range:
            raise ValueError("the two have different domains")
        terms = {(mean.guarantee, mean.neighbours, mean.unit) for mean in (self.first, self.second)}
        if len(terms) > 1 or not self.first.certificate.paid_with(self.second.certificate):
            raise ValueError("the two were not released at one charge")

    # Its table, picture and words.

    def _band_points(self) -> Floats:
        return self.first._band_points()

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        columns = super()._columns(at, asked)
        if self._is_line:
            return columns
        return {
            **columns,
            "smoothed": (np.asarray(self.smoothed(at[:, 0])), f"{self._value_label}, smoothed"),
        }

    def view(self, level: float | None = LEVEL) -> Curve:
        return self._curve([self._line(" minus ".join(self.names), level)], baseline=0.0)

    @property
    def _subject(self) -> str:
        return f"difference of {self.first._subject}s ({' minus '.join(self.names)})"

    @property
    def public_units(self) -> int | None:
        return together((self.first, self.second))

    @property
    def _value_label(self) -> str:
        return f"difference in {self.first._value_label}"

    def outside_noise(self, level: float = LEVEL) -> bool:
        """Whether zero leaves the band somewhere: more than noise alone would do."""
        band = self.band(level)
        return not band.contains(np.zeros(band.points.size))

    def _claims(self) -> tuple[Claim, ...]:
        names, units = " minus ".join(self.names), self.first._value_words
        noise = Claim("noise", "the difference of linear estimates, without noise,", units, name=names)
        people = "the difference of the means of the two populations"
        population = Claim("population", people, units, people, among="samples", name=names)
        more = () if self.first.order else (population,)
        if not self._is_line:
            return noise, *more
        of = "derivatives of the means" if self.first.order else "means"
        words = {"among": "releases of groups like ordinary ones"}
        if self._is_proved:
            words = {}
        elif self._borrows and not self.first.order:
            words["seen"] = SPLIT
        holds = f"the difference of the {of} of the bounded curves"
        line = Claim("sample", holds, units, legend="the difference", name=names, **words)
        return line, noise, *more

    @property
    def _is_proved(self) -> bool:
        """Whether its band holds the difference of the means whatever they are."""
        return difference_share(self.first, self.second, LEVEL) is not None

    @property
    def _assumes(self) -> list[str]:
        """What the bands of its groups, and its own, assume; stated first."""
        prior, points = self.first.hierarchy, int(self.grid_points.size)
        cells = getattr(prior, "cells", None)
        if self._is_proved or not self._is_line or cells is None:
            return []
        return assumed_words(len(cells), points)

    @property
    def _verdict(self) -> str:
        return "leaves zero somewhere" if self.outside_noise() else "contains zero everywhere"

    def _stated(self) -> Stated:
        band = f"{100 * LEVEL:g}% band {self._verdict}"
        return Stated(
            f"The {self._subject} over {self._spoken_domain}.",
            first=self._assumes,
            remarks=[*([PROVED] if self._is_proved else []), f"The {band}. {SAMPLING}"],
            findings={
                "difference": f"its {band} (sampling is not in it)",
                **dict(zip(("assumed",), self._assumes, strict=False)),
            },
        )

    @property
    def _headline(self) -> str:
        return f"{super()._headline}: {' minus '.join(self.names)}"


def together(releases: Iterable[ReleasedFunction]) -> int | None:
    """Public number of units behind several groups, where that of each is public."""
    sizes = [release.public_units for release in releases]
    counts = [units for units in sizes if units is not None]
    return sum(counts) if len(counts) == len(sizes) else None


def most_likely_mean(released: Floats, noise: Floats, eigenvalues: Floats) -> Floats:
    """Posterior mean of coefficients under the prior a lambda_j^g that suits them best.

    Parameters
    ----------
    released : array (K,)
        Coefficients with noise.
    noise : array (K, K)
        Covariance of the noise; directions without any were not measured and are not looked at.
    eigenvalues : array (K,)
        lambda_j, decreasing.
    """
    powers, directions = np.linalg.eigh(np.atleast_2d(noise))
    seen = powers > 1e-9 * powers[-1]
    powers, directions = powers[seen], directions[:, seen]
    measured = directions.T @ released
    best, mean = -np.inf, np.zeros_like(released)
    largest = float(np.sum(measured**2))
    for exponent in EXPONENTS:
        shape = (eigenvalues / eigenvalues[0]) ** exponent
        projected = directions.T @ (shape[:, None] * directions)
        for scale in largest * np.geomspace(1e-5, 10.0, 31):
            covariance = scale * projected + np.diag(powers)
            solved = np.linalg.solve(covariance, measured)
            likelihood = -0.5 * (float(np.linalg.slogdet(covariance)[1]) + float(measured @ solved))
            if likelihood > best:
                best, mean = likelihood, scale * shape * (directions @ solved)
    return mean
