"""A released function on a box: what `release` is on an interval, with fast transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_box_points, middles, product_points
from dpfda.bases.protocol import BoxFunctions
from dpfda.numerics import parameters
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import wholes
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Limits, limits_of, make_band, settled
from dpfda.releases.base import LEVEL
from dpfda.releases.expansion import Expansion, noise_draws
from dpfda.releases.facts import Claim, Stated
from dpfda.views import View
from dpfda.views.shapes import BAND_POINTS, FINE, PICTURE, TABLE_POINTS, check_drawn


@dataclass(frozen=True, eq=False)
class ReleasedField(Expansion):
    """A function of d variables on a box, published under differential privacy.

    Call it at any points of its domain, as often as anyone likes: that is post-processing. It holds
    nothing private. On its grid, or a finer one, `on_grid` is faster than a call.

    Parameters
    ----------
    basis, ... :
        See `dpfda.releases.expansion.Expansion`. `center` is one number, or the values (m,)
        on the grid in C order.

    Examples
    --------
    >>> import numpy as np
    >>> from dpfda import PrivateMean
    >>> from dpfda.bases import BoxBasis
    >>> basis = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)])
    >>> images = np.random.default_rng(1).uniform(size=(200, 8, 8))
    >>> release = PrivateMean(epsilon=1, bounds=(0, 1), basis=basis).fit(images).release_
    >>> release([[0.5, 0.5], [0.1, 0.9]]).shape, release.on_grid((64, 64)).shape
    ((2,), (64, 64))
    """

    _FORMAT: ClassVar[str] = "dpfda-field"
    _CALLED: ClassVar[str] = "dpfda release on a box"

    basis: BoxFunctions = field(metadata=file.ANY_BASIS.kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.center.size and np.all(self.center == self.center.flat[0]):
            # One number in place of a million equal ones.
            single = np.array(self.center.flat[0])
            single.setflags(write=False)
            object.__setattr__(self, "center", single)
        _ = self._limits  # Bounds from a damaged file are refused when it is read.

    @cached_property
    def _limits(self) -> Limits | None:
        """Public bounds of its values, () or (m,) on the grid; None where no values were bounded."""
        return limits_of(self.certificate.bound, math.prod(axis.size for axis in self.grid_points))

    @property
    def dimensions(self) -> int:
        """Number d of variables."""
        return len(self.domain_range)

    @property
    def domain_range(self) -> tuple[tuple[float, float], ...]:
        """Ends of the domain for each variable."""
        return self.basis.domain_range

    @property
    def grid_points(self) -> tuple[Floats, ...]:
        """Public grid: d arrays."""
        return self.basis.grid_points

    def __call__(self, points: ArrayLike, order: int | Sequence[int] = 0) -> float | Floats:
        """Values of the function, cut at public bounds of values, or of a partial derivative.

        Parameters
        ----------
        points : array (q, d) or (d,)
            Points of the domain; for one variable also a number or an array (q,).
        order : int or sequence of d int
            Order of the derivative in each variable; one number is for all of them. Zero where the
            function is cut.

        Returns
        -------
        float or array (q,)
            Values, in the units of the data.

        Raises
        ------
        ParameterError
            If a point is outside the domain, or has another number of coordinates; or if a derivative
            is asked for where the bounds are not constant.
        """
        at, single = check_box_points(points, self.domain_range)
        orders = parameters.orders(order, self.dimensions)
        values, limits = self._unclipped(at), self._limits_at(at)
        if any(orders):
            if self.center.ndim:
                words = "be 0 where the public center is not constant"
                raise ParameterError("order", words, repr(order), "Use constant bounds.")
            slopes = self.basis.values_at(at, self.coefficients, orders)
            free = True if limits is None else (limits[0] <= values) & (values <= limits[1])
            values = np.where(free, slopes, 0.0)
        elif limits is not None:
            values = np.clip(values, *limits)
        return float(values[0]) if single else values

    def _unclipped(self, points: ArrayLike) -> Floats:
        """Values (q,) of the estimate before it is cut at public bounds."""
        at, _ = check_box_points(points, self.domain_range)
        values = self.basis.values_at(at, self.coefficients, (0,) * self.dimensions)
        return np.asarray(values + self._between(self.center, at))

    def _limits_at(self, at: Floats) -> Limits | None:
        if self._limits is None:
            return None
        lower, upper = (self._between(end, at) for end in self._limits)
        return lower, upper

    def _between(self, table: Floats, at: Floats) -> Floats:
        """A public number, or public values on the grid, at points: linear between."""
        if not table.ndim:
            return table
        from scipy.interpolate import RegularGridInterpolator

        shaped = table.reshape([axis.size for axis in self.grid_points])
        # Cell midpoints do not reach the edge: the nearest value holds there.
        inside = [np.clip(at[:, i], axis[0], axis[-1]) for i, axis in enumerate(self.grid_points)]
        return np.asarray(RegularGridInterpolator(self.grid_points, shaped)(np.stack(inside, axis=1)))

    def on_grid(self, shape: Sequence[int] | None = None) -> Floats:
        """Values on the midpoints of a regular grid, by fast transforms.

        Parameters
        ----------
        shape : sequence of d int, optional
            Number of cells along each axis; by default those of the grid.
        """
        own = tuple(axis.size for axis in self.grid_points)
        wanted = own if shape is None else wholes(shape, "shape", self.dimensions)
        values = self.basis.values_on_grid(self.coefficients, wanted)
        center, *limits = (self._table(end, wanted) for end in (self.center, *(self._limits or ())))
        values = values + center
        return np.clip(values, *limits) if limits else np.asarray(values)

    def _table(self, table: Floats, shape: tuple[int, ...]) -> Floats:
        """A public number, or public values on the grid, at the midpoints of another grid."""
        if not table.ndim or shape == tuple(axis.size for axis in self.grid_points):
            return table.reshape(shape) if table.ndim else table
        return self._between(table, self.midpoints(shape)).reshape(shape)

    def midpoints(self, shape: Sequence[int]) -> Floats:
        """Midpoints (q, d) of the cells of a regular grid, in C order."""
        wanted = wholes(shape, "shape", self.dimensions)
        return product_points([*map(middles, self.domain_range, wanted)])

    def integral(self) -> float:
        """Integral over the domain, by the midpoint rule on the grid."""
        volume = math.prod(end - start for start, end in self.domain_range)
        return float(volume * self.on_grid().mean())

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band for the function that would have been released without noise.

        Notes
        -----
        It contains the released function itself and is cut at public bounds of values; exact, it is
        drawn around `unshrunk`, which the function may leave.

        The band is about the privacy noise alone; see `ReleasedFunction.band`.
        """
        functions, source = self.basis.evaluate(at, (0,) * self.dimensions), self.unshrunk
        band = make_band(source._unclipped(at), functions, partial(noise_draws, source), request, at)
        return band if request.exact else settled(band, np.asarray(self(at)), self._limits_at(at))

    # Its file.

    def _center_fits(self) -> bool:
        return self.center.size in (1, self.basis.weights.size)

    # Tables, pictures and words.

    def _default_points(self) -> Floats:
        """Points of the grid; of a coarser one where it has more than 2500."""
        most = round(TABLE_POINTS ** (1 / self.dimensions))
        fits = math.prod(axis.size for axis in self.grid_points) <= TABLE_POINTS
        return self.midpoints([axis.size if fits else min(axis.size, most) for axis in self.grid_points])

    def _band_points(self) -> Floats:
        return self.midpoints([round(BAND_POINTS ** (1 / self.dimensions))] * self.dimensions)

    def view(self, level: float | None = LEVEL) -> View:
        if self.dimensions == 1:
            return self._curve([self._line("released function", level)])
        check_drawn(self.dimensions, "Draw a slice of release.on_grid().")
        # An image where nobody has said what its axes are.
        rows = not {"domain", "domain_2"} & set(self.about)
        values = self.on_grid([max(axis.size, FINE) for axis in self.grid_points])
        return replace(self._image(values, level), rows=rows)

    @property
    def _subject(self) -> str:
        return super()._subject.replace("curve", "image" if self.dimensions == PICTURE else "function")

    def _claims(self) -> tuple[Claim, ...]:
        return (Claim("noise", self._hidden(self._limits is not None), self._value_words),)

    def _stated(self) -> Stated:
        cells = " x ".join(str(axis.size) for axis in self.grid_points)
        return self._function(f"a {self._subject}", f"{cells} cells on {self._spoken_domain}")
