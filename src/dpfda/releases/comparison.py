"""Released means of several groups, and their differences; all public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases import Basis
from dpfda.bases.grids import check_points
from dpfda.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.privacy.certificates import Certificate, Certified
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases.bands import DRAWS, Band, band_from_errors, check_level, check_places
from dpfda.releases.function import ReleasedFunction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# Exponents g of the priors that a difference is smoothed under.
EXPONENTS = (0.5, 1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class ReleasedDifference(Certified):
    """The mean of one group minus that of another, as a function on the domain.

    Parameters
    ----------
    first, second : ReleasedFunction
        Of the two groups, on one domain.
    names : (str, str)
        Of the two groups.
    """

    first: ReleasedFunction
    second: ReleasedFunction
    names: tuple[str, str]

    @property
    def certificate(self) -> Certificate:
        """Of the releases of all groups together."""
        return self.first.certificate

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.first.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self.first.grid_points

    def __call__(self, points: ArrayLike) -> Any:
        """Values, in the units of the data, at points of the domain."""
        return self.first(points) - self.second(points)

    def derivative(self) -> ReleasedDifference:
        """The difference of the derivatives."""
        return ReleasedDifference(self.first.derivative(), self.second.derivative(), self.names)

    def integral(self, start: float | None = None, end: float | None = None) -> float:
        """Integral from `start` to `end`, by default over the domain."""
        return self.first.integral(start, end) - self.second.integral(start, end)

    def smoothed(self, points: ArrayLike) -> Any:
        """Values of a shrunk difference: closer to the truth on average where noise is large.

        The posterior mean of the coefficients under a normal prior with variances a lambda_j^g, lambda
        the eigenvalues of the basis, where a and g are those under which this noisy difference is most
        likely. Post-processing of the release. It is not the middle of the band.

        Parameters
        ----------
        points : float or array (k,)
            Points of the domain.
        """
        order = self.first.order
        values = self._wider.evaluate(points, order) @ self._smoothed_coefficients
        return float(values[0]) if np.ndim(points) == 0 else values

    @property
    def _wider(self) -> Basis:
        """The basis of more functions; both are leading parts of one."""
        bases = (self.first.basis, self.second.basis)
        return max(bases, key=lambda basis: int(basis.eigenvalues.size))

    @cached_property
    def _smoothed_coefficients(self) -> Floats:
        eigenvalues = self._wider.eigenvalues
        generator = np.random.Generator(np.random.Philox(key=0))
        coefficients, noise = np.zeros(eigenvalues.size), np.zeros((eigenvalues.size,) * 2)
        for release, sign in ((self.first, 1.0), (self.second, -1.0)):
            count = release.coefficients.size
            coefficients[:count] += sign * release.coefficients
            noise[:count, :count] += np.cov(release.noise_draws(generator, DRAWS), rowvar=False)
        return most_likely_mean(coefficients, noise, eigenvalues)

    def band(
        self, level: float = 0.95, simultaneous: bool = True, points: ArrayLike | None = None
    ) -> Band:
        """Band for the difference that would have been released without noise.

        Parameters
        ----------
        level : float
            Probability, between 0 and 1, that the band contains the difference of the means of the
            clipped records under the public linear map that both groups share.
        simultaneous : bool
            At all points at once, or at each point by itself.
        points : array (k,), optional
            Where; by default 201 points of the domain and the grid.

        Notes
        -----
        The two noises are independent and both laws are public: the band comes from simulated
        differences of both. About the privacy noise alone; a difference that leaves the band around zero
        is not explained by the noise, but may be by sampling.
        """
        level = check_level(level, simultaneous)
        if points is None:
            points = np.union1d(np.linspace(*self.domain_range, 201), self.grid_points)
        at = check_points(points, self.domain_range)
        check_places(at)
        # One generator after the other: independent noise, and the same band whenever it is asked for.
        generator = np.random.Generator(np.random.Philox(key=0))
        errors = np.zeros((DRAWS, at.size))
        for release, sign in ((self.first, 1.0), (self.second, -1.0)):
            functions = release.basis.evaluate(at, release.order)
            errors += sign * (release.noise_draws(generator, DRAWS) @ functions.T)
        return band_from_errors(self(at), np.abs(errors), level, simultaneous, at)

    def plot(self, ax: Axes | None = None, level: float | None = 0.95) -> Axes:
        """Draw the difference, its simultaneous band and the line of no difference."""
        from dpfda.releases.plotting.covariances import plot_difference

        return plot_difference(self, ax, level)

    def __repr__(self) -> str:
        start, end = self.domain_range
        return f"ReleasedDifference on [{start:g}, {end:g}]: {self.names[0]} minus {self.names[1]}"


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
        known = directions.T @ (shape[:, None] * directions)
        for scale in largest * np.geomspace(1e-5, 10.0, 31):
            covariance = scale * known + np.diag(powers)
            solved = np.linalg.solve(covariance, measured)
            likelihood = -0.5 * (float(np.linalg.slogdet(covariance)[1]) + float(measured @ solved))
            if likelihood > best:
                best, mean = likelihood, scale * shape * (directions @ solved)
    return mean


@dataclass(frozen=True, eq=False)
class ReleasedComparison(Certified):
    """Mean curves of disjoint groups, released at the cost of one.

    Parameters
    ----------
    means : mapping from str to ReleasedFunction
        The release of every group, by name. All carry one certificate: one charge paid for them.

    Raises
    ------
    ParameterError
        If there are fewer than two groups, or they differ in what they promise or in their domain.
    """

    means: Mapping[str, ReleasedFunction]

    def __post_init__(self) -> None:
        means = list(self.means.values())
        terms = {(mean.guarantee, mean.neighbours, mean.unit, mean.domain_range) for mean in means}
        if len(means) < 2 or len(terms) != 1:
            raise ParameterError(
                "groups", "be two or more with one guarantee, relation, unit and domain",
                f"{len(means)} with {len(terms)} kinds",
            )  # fmt: skip
        if not all(mean.certificate.paid_with(means[0].certificate) for mean in means):
            raise ParameterError(
                "groups",
                "be released together, so that one charge paid for all",
                "releases of their own",
                "Use PrivateComparison.",
            )
        object.__setattr__(self, "means", MappingProxyType(dict(self.means)))

    def __getstate__(self) -> dict[str, Any]:
        # A read-only view of a mapping cannot be pickled; a copy of what it shows can.
        return {"means": dict(self.means)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def _any(self) -> ReleasedFunction:
        return next(iter(self.means.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the groups."""
        return tuple(self.means)

    @property
    def certificate(self) -> Certificate:
        """Of all releases together: that of each, because the groups share no privacy unit."""
        return self._any.certificate

    @property
    def about(self) -> Mapping[str, Any]:
        """Labels, date and versions."""
        return self._any.about

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self._any.domain_range

    def __getitem__(self, name: str) -> ReleasedFunction:
        """The release of a group."""
        return self.means[choice(name, "group", self.names)]

    def difference(self, first: str, second: str) -> ReleasedDifference:
        """The mean of one group minus that of another.

        It is taken between linear estimates with one and the same public linear map for both groups.
        The released means themselves may be shrunk further, by what each release showed: that is more
        accurate for each, but would make groups differ where the data do not.

        Raises
        ------
        ParameterError
            If a name is unknown, or the releases were not made with one design.
        """
        pair = [replace(self[name], hierarchy=None) for name in (first, second)]
        maps = [(mean.shrinkage, mean.synthesis) for mean in pair]
        alike = all(
            (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))
            for a, b in zip(*maps, strict=True)
        )
        if not alike:
            raise ParameterError(
                "groups",
                "be released with one design",
                "two",
                "Means that are shrunk differently differ where the data do not: use PrivateComparison.",
            )
        return ReleasedDifference(pair[0], pair[1], (first, second))

    def describe_composition(self) -> str:
        """Say in words why the groups together cost what one of them costs."""
        if self.neighbours is Neighbours.REPLACE_ONE:
            return (
                f"parallel composition: every {self.unit} is in one group, and which group, like the "
                f"number of {self.unit}s of each, is public; neighbours replace the data of one "
                f"{self.unit}, who stays in the same group"
            )
        return (
            f"parallel composition: every {self.unit} is in one group, which is private like the "
            f"numbers of {self.unit}s; neighbours add or remove one {self.unit}. To move one from a "
            "group to another is to remove and to add: twice the guarantee"
        )

    def plot(self, ax: Axes | None = None, level: float | None = 0.95) -> Axes:
        """Draw the mean of every group and its simultaneous band."""
        from dpfda.releases.plotting.covariances import plot_comparison

        return plot_comparison(self, ax, level)

    def save(self, path: str | Path) -> Path:
        """Write a JSON file that `dpfda.load` reads back exactly."""
        from dpfda.releases.storage import save_as

        return save_as("dpfda-comparison", self, path)

    @staticmethod
    def load(path: str | Path, kernel: Any = None) -> ReleasedComparison:
        """Read a comparison from a JSON file; `kernel` is needed if it was made with a custom one."""
        from dpfda.releases.storage import load_kind

        loaded: ReleasedComparison = load_kind(path, "dpfda-comparison", kernel)
        return loaded

    def __repr__(self) -> str:
        start, end = self.domain_range
        return "\n".join(
            [
                f"ReleasedComparison of {', '.join(self.names)} on [{start:g}, {end:g}]",
                f"  guarantee:    {self.guarantee}, all groups together",
                f"  because of:   {self.describe_composition()}",
                f"  privacy unit: {self.unit}",
                f"  bound:        {self.bound['description']}",
            ]
        )
