"""Released functional principal components: eigenfunctions on the whole domain, variances, scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases import Basis
from dpfda.bases.grids import check_points
from dpfda.errors import ParameterError
from dpfda.numerics.parameters import reals, whole
from dpfda.privacy.certificates import Certificate, Certified
from dpfda.releases.function import ReleasedFunction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


class _Source(Protocol):
    """What components inherit from the covariance that they were made from."""

    @property
    def basis(self) -> Basis: ...
    @property
    def center(self) -> Floats: ...
    @property
    def certificate(self) -> Certificate: ...
    @property
    def about(self) -> Mapping[str, Any]: ...
    @property
    def mean(self) -> ReleasedFunction | None: ...


@dataclass(frozen=True, eq=False)
class Eigenfunction:
    """One released eigenfunction: evaluate or differentiate it anywhere on the domain.

    Parameters
    ----------
    basis : Basis
    coefficients : array (M,)
        Of length one.
    order : int
        Order of the derivative that this is of the eigenfunction.
    """

    basis: Basis
    coefficients: Floats
    order: int = 0

    def __call__(self, points: ArrayLike) -> Any:
        """Values at points of the domain, in units of one over the root of the domain's."""
        values = self.basis.evaluate(points, self.order) @ self.coefficients
        return float(values[0]) if np.ndim(points) == 0 else values

    def derivative(self) -> Eigenfunction:
        """The derivative, where the basis functions have one."""
        self.basis.evaluate(self.basis.grid_points[:1], self.order + 1)
        return Eigenfunction(self.basis, self.coefficients, self.order + 1)


@dataclass(frozen=True, eq=False)
class ReleasedComponents(Certified):
    """Principal components of curves, published under differential privacy.

    Parameters
    ----------
    basis : Basis
        M orthonormal public functions.
    vectors : array (M, k)
        Coefficients of the eigenfunctions, orthonormal columns.
    variances : array (k,)
        Released variance along each, largest first, never negative: squared units of the data times the
        units of the domain.
    total : float or None
        Released total variance; None where it was not released.
    floor : float or None
        What noise alone stays below with probability 0.95 in an eigenvalue.
    center : array (m,)
        Public curve that scores are counted from, on the grid.
    certificate : Certificate
        Of the whole release, a private center and a released count included.
    about : mapping
    mean : ReleasedFunction or None
        The released mean that is the center, where a share of the budget paid for it.

    Notes
    -----
    Signs are fixed: on the grid, the first value of an eigenfunction that exceeds half of its largest
    size is positive.
    """

    basis: Basis
    vectors: Floats
    variances: Floats
    total: float | None
    floor: float | None
    center: Floats
    certificate: Certificate
    about: Mapping[str, Any] = field(default_factory=dict)
    mean: ReleasedFunction | None = None

    def __post_init__(self) -> None:
        for name in ("vectors", "variances", "center"):
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
    def count(self) -> int:
        """Number k of components."""
        return int(self.variances.size)

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the curves."""
        return self.basis.grid_points

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.basis.domain_range

    @property
    def ratios(self) -> Floats | None:
        """Share (k,) of the released total variance; None where no total was released."""
        if self.total is None:
            return None
        return self.variances / self.total if self.total > 0 else np.zeros(self.count)

    def function(self, index: int) -> Eigenfunction:
        """The eigenfunction of a component, counted from 0."""
        return Eigenfunction(self.basis, self.vectors[:, whole(index, "index", 0, self.count - 1)])

    def __call__(self, points: ArrayLike) -> Floats:
        """Values (k, q) of all eigenfunctions at q points of the domain."""
        return np.asarray((self.basis.evaluate(points) @ self.vectors).T)

    def center_at(self, points: ArrayLike) -> Floats:
        """Values of the center, linear between the points of the grid."""
        at = check_points(points, self.domain_range)
        return np.asarray(np.interp(at, self.grid_points, self.center))

    def transform(self, curves: ArrayLike) -> Floats:
        """Scores (n, k) of curves (n, m) on the grid: inner products with the eigenfunctions.

        Scores of private curves are private: use it on public or synthetic ones, or where the scores
        stay with whoever holds the curves.

        Raises
        ------
        ParameterError
            If the curves are not finite or do not fit the grid.
        """
        values = reals(curves, "X")
        if values.ndim != 2:
            raise ParameterError("X", "be a matrix", f"{values.ndim} dimension(s)", "Reshape your data.")
        if values.shape[1] != self.center.size:
            raise ParameterError(
                "X",
                f"have one column a grid point ({self.center.size} features)",
                f"shape {values.shape}",
            )
        if not np.all(np.isfinite(values)):
            raise ParameterError("X", "be finite", "NaN or inf")
        return np.asarray((values - self.center) @ self.basis.analysis @ self.vectors)

    def inverse_transform(self, scores: ArrayLike) -> Floats:
        """Curves (n, m) on the grid from scores (n, k): the center plus a sum of eigenfunctions.

        Raises
        ------
        ParameterError
            If there is not one column a component.
        """
        values = np.atleast_2d(reals(scores, "scores"))
        if values.ndim != 2 or values.shape[1] != self.count:
            raise ParameterError("scores", f"have {self.count} columns", f"{values.shape}")
        return np.asarray(self.center + values @ self(self.grid_points))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the eigenfunctions, with their variances in the legend."""
        from dpfda.releases.plotting.covariances import plot_components

        return plot_components(self, ax)

    def save(self, path: str | Path) -> Path:
        """Write a JSON file that `dpfda.load` reads back exactly."""
        from dpfda.releases.storage import save_as

        return save_as("dpfda-components", self, path)

    @staticmethod
    def load(path: str | Path, kernel: Any = None) -> ReleasedComponents:
        """Read components from a JSON file; `kernel` is needed if they were made with a custom one."""
        from dpfda.releases.storage import load_kind

        loaded: ReleasedComponents = load_kind(path, "dpfda-components", kernel)
        return loaded

    def __repr__(self) -> str:
        start, end = self.domain_range
        variances = ", ".join(f"{value:.3g}" for value in self.variances)
        return "\n".join(
            [
                f"ReleasedComponents: {self.count} on [{start:g}, {end:g}], variances {variances}",
                f"  guarantee:    {self.guarantee}",
                f"  neighbours:   {self.neighbours.describe(self.unit)}",
                f"  privacy unit: {self.unit}",
                f"  bound:        {self.bound['description']}",
                f"  kernel:       {self.basis.describe()}",
                f"  mechanism:    {self.mechanism['name']}",
            ]
        )


def ordered_components(
    vectors: Floats, variances: Floats, total: float | None, floor: float | None, source: _Source
) -> ReleasedComponents:
    """Components by decreasing variance with signs fixed."""
    order = np.argsort(-variances, kind="stable")
    return ReleasedComponents(
        basis=source.basis,
        vectors=with_signs(vectors[:, order], source.basis),
        variances=np.maximum(variances[order], 0.0),
        total=total,
        floor=floor,
        center=source.center,
        certificate=source.certificate,
        about=source.about,
        mean=source.mean,
    )


def with_signs(vectors: Floats, basis: Basis) -> Floats:
    """Turn functions so that their first value on the grid above half of the largest is positive.

    The largest itself would not do: on a symmetric grid an odd function has two of opposite sign.
    """
    values = basis.evaluate(basis.grid_points) @ vectors
    sizes = np.abs(values)
    first = np.argmax(sizes > sizes.max(axis=0) / 2, axis=0)
    signs = np.sign(values[first, np.arange(values.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs))
