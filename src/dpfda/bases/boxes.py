"""Closed-form bases on boxes in d dimensions: exact eigenpairs, fast transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.cells import box_domain
from dpfda.bases.closed_form import AXES, Axis
from dpfda.bases.grids import frozen
from dpfda.bases.products import SPECTRA, ProductBasis, leading_modes, spectral_decay
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import check_grid_size, floats, integer, integers, number, text
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import LARGEST, SMALLEST, choice, real, reals, shown, wholes

# Variances below this share of the largest are left out: they would soon be zero in floating point.
LEAST_SHARE = 1e-290
# Of an array of numpy.
MOST_AXES = 32


@dataclass(frozen=True, eq=False)
class BoxBasis(ProductBasis):
    """Products of cosines, sines or Fourier functions on a box, with a stationary spectrum.

    The functions are eigenfunctions of the Laplacian: with cosines slopes vanish at the ends of an axis
    (Neumann), with sines values do (Dirichlet), with Fourier functions the ends meet (periodic). The
    prior variance of a function of frequencies w_a (radians per unit of axis a) depends on
    q = sum_a (r_a w_a)^2 alone, r_a the range of the covariance along axis a:

    - "matern": (1 + q / (2 nu))^-(nu + d/2);
    - "sobolev": 1 / (1 + q^(nu + d/2));
    - "heat": exp(-q / 2).

    It is scaled so that the variances of all functions which the grid resolves add up to the volume of
    the box: average variance one. Functions are ordered by q, ties by their indices along the axes, the
    last axis running fastest. The order rests on sums and comparisons of floats alone and is the same on
    every machine; on cubes and with equal ranges, ties are exact.

    The grid is the midpoints of equal cells, where the functions are orthonormal under the weights
    exactly as they are in L2. Coefficients and values on the grid are fast transforms of each other,
    O(m log m) for m points; no matrix is held.

    Build one with `on_grid`; everything in it is public.

    References
    ----------
    Lin & Reimherr (2023), section 5: Algorithm 1 decomposes a matrix where these bases have formulas.
    Rasmussen & Williams (2006), section 4.2.1: spectral densities.
    """

    kinds: tuple[str, ...]
    shape: tuple[int, ...]
    domain_range: tuple[tuple[float, float], ...]
    length_scale: tuple[float, ...]
    nu: float
    spectrum: str
    modes: Integers
    eigenvalues: Floats

    @classmethod
    def on_grid(
        cls,
        kinds: str | Sequence[str],
        shape: int | Sequence[int],
        domain_range: object,
        components: int | None = None,
        length_scale: float | Sequence[float] | None = None,
        nu: float = 1.5,
        spectrum: str = "matern",
    ) -> BoxBasis:
        """Build the basis for a public box and grid.

        Parameters
        ----------
        kinds : {"cosine", "sine", "fourier"} or d of them
            Functions along each axis; one name is for all axes.
        shape : d integers
            Number of cells along each axis, two at least (three for Fourier).
        domain_range : d pairs (a, b), or one pair for d = 1
            The box, in the units of its axes.
        components : int, optional
            Number K of functions; by default all that the grid resolves.
        length_scale : float or d floats, optional
            Range of the covariance in the units of the axes; by default a tenth of each axis.
        nu : float
            Smoothness of the covariance; without meaning for "heat".
        spectrum : {"matern", "sobolev", "heat"}
            How prior variances fall with frequency.

        Raises
        ------
        ParameterError
            If an argument is not as above, or K exceeds the functions that the grid resolves and whose
            variance a float can hold.

        Examples
        --------
        >>> import numpy as np
        >>> basis = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)], components=3)
        >>> basis.frequencies.tolist()
        [[0, 0], [0, 1], [1, 0]]
        >>> basis.transform(np.ones((8, 8))).round(12).tolist()
        [1.0, 0.0, 0.0]
        """
        domain = box_domain(domain_range, MOST_AXES)
        names = _read_kinds(kinds, len(domain))
        cells = _read_shape(shape, names)
        scales = _read_scales(length_scale, domain)
        choice(spectrum, "spectrum", sorted(SPECTRA))
        nu = real(nu, "nu", SMALLEST, LARGEST, "be a positive number")
        counts = tuple(AXES[kind].count(size) for kind, size in zip(names, cells, strict=True))
        squares, factor = _squared_frequencies(names, counts, domain, scales)
        variances = SPECTRA[spectrum](squares * factor, nu, len(domain))
        resolved = int(np.count_nonzero(variances > LEAST_SHARE * variances.max()))
        count = resolved if components is None else components
        integral = isinstance(count, int | np.integer) and not isinstance(count, bool)
        if not (integral and 1 <= count <= resolved):
            words = f"be an integer from 1 to {resolved}, the functions that the grid resolves"
            remedy = "Take more points for more functions."
            raise ParameterError("components", words, repr(components), remedy)
        modes = leading_modes(squares, int(count))
        volume = math.prod(end - start for start, end in domain)
        eigenvalues = variances.ravel()[modes] * (volume / float(variances.sum()))
        modes.setflags(write=False)
        return cls(names, cells, domain, scales, nu, spectrum, modes, frozen(eigenvalues))

    @property
    def grid_points(self) -> tuple[Floats, ...]:
        """Midpoints of the cells along each axis: d arrays."""
        return self.midpoints(self.shape)

    @property
    def weights(self) -> Floats:
        """Weights (m,): the volume of a cell, for each of the m cells; read-only."""
        points = math.prod(self.shape)
        return np.broadcast_to(np.float64(self.volume / points), (points,))

    @property
    def decay(self) -> float:
        return spectral_decay(self.spectrum, self.nu, self.dimensions)

    @property
    def residual(self) -> float:
        """Prior variance outside the K functions, out of the volume; zero where all are held."""
        if self.components == math.prod(self.resolved):
            return 0.0
        return max(0.0, self.volume - float(self.eigenvalues.sum()))

    @property
    def resolved(self) -> tuple[int, ...]:
        return tuple(a.count(size) for a, size in zip(self._axes, self.shape, strict=True))

    @cached_property
    def frequencies(self) -> Integers:
        """Mode numbers (K, d): half periods along cosine and sine axes, periods along Fourier axes.

        Along a Fourier axis k > 0 is a cosine of k periods and -k the sine of as many.
        """
        columns = [axis.numbers(index) for axis, index in zip(self._axes, self.indices, strict=True)]
        return np.stack(columns, axis=1)

    @cached_property
    def integrals(self) -> Floats:
        """Integrals (K,) of the functions over the box."""
        product = np.ones(self.components)
        for axis, index, length in zip(self._axes, self.indices, self.lengths, strict=True):
            product *= axis.integrals(int(index.max()) + 1)[index] * math.sqrt(length)
        return frozen(product)

    def values_on_grid(
        self, coefficients: ArrayLike, shape: int | Sequence[int] | None = None
    ) -> Floats:
        """Values on the grid, or on the midpoints of a finer one, of functions with these coefficients.

        Parameters
        ----------
        coefficients : array (K',) or (..., K')
            Of the leading K' <= K functions; leading axes hold several functions.
        shape : d integers, optional
            Cells along each axis; by default those of the basis.

        Returns
        -------
        array of that shape, after the leading axes

        Raises
        ------
        ParameterError
            If there are more coefficients than functions, or the grid is too coarse for them.
        """
        rows = self._read_coefficients(coefficients)
        cells = self.shape if shape is None else _read_shape(shape, self.kinds)
        table = self._tabulated(rows)
        counts = table.shape[rows.ndim - 1 :]
        least = tuple(a.points_for(c) for a, c in zip(self._axes, counts, strict=True))
        if any(points < needed for points, needed in zip(cells, least, strict=True)):
            words = f"be at least {least} for these coefficients"
            raise ParameterError("shape", words, cells, "Evaluate the function at points instead.")
        for place, (axis, points) in enumerate(zip(self._axes, cells, strict=True)):
            table = axis.synthesise(table, place - self.dimensions, points)
        values = np.ascontiguousarray(table)
        values *= math.sqrt(math.prod(cells) / self.volume)
        return values

    def describe(self) -> str:
        kinds = self.kinds[0] if len(set(self.kinds)) == 1 else " x ".join(self.kinds)
        names = {"matern": "Whittle-Matern", "sobolev": "Sobolev", "heat": "heat"}
        ranges = ", ".join(f"{scale:g}" for scale in self.length_scale)
        smoothness = "" if self.spectrum == "heat" else f", nu {self.nu:g}"
        grid = " x ".join(str(cells) for cells in self.shape)
        return f"{kinds} basis on {grid} cells ({names[self.spectrum]}, range {ranges}{smoothness})"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "box",
            "kinds": list(self.kinds),
            "shape": list(self.shape),
            "domain_range": [list(ends) for ends in self.domain_range],
            "components": self.components,
            "length_scale": list(self.length_scale),
            "nu": self.nu,
            "spectrum": self.spectrum,
        }

    @classmethod
    def from_json(cls, written: dict[str, object]) -> BoxBasis:
        """Build the basis again."""
        check_grid_size(written["shape"])
        components, kinds = written["components"], written["kinds"]
        return cls.on_grid(
            [text(kind) for kind in kinds] if isinstance(kinds, list) else text(kinds),
            integers(written["shape"]),
            floats(written["domain_range"]).tolist(),
            None if components is None else integer(components, 1),
            floats(written["length_scale"]).tolist(),
            number(written["nu"]),
            text(written["spectrum"]),
        )

    @property
    def _axes(self) -> tuple[Axis, ...]:
        return tuple(AXES[kind] for kind in self.kinds)

    def _along(self, axis: int, at: Floats, count: int, order: int) -> Floats:
        (start, _), length = self.domain_range[axis], self.lengths[axis]
        values = self._axes[axis].values((at - start) / length, count, order)
        return values / math.sqrt(length) / length**order

    def _products(self, values: Floats) -> Floats:
        for place, axis in enumerate(self._axes):
            values = axis.analyse(values, place)
        return values * math.sqrt(self.volume / math.prod(self.shape))


def _squared_frequencies(
    kinds: tuple[str, ...],
    counts: tuple[int, ...],
    domain: tuple[tuple[float, float], ...],
    scales: tuple[float, ...],
) -> tuple[Floats, float]:
    """Squared frequencies q of all functions, up to a factor that is the second answer.

    In units of the first axis, so that equal axes give integers and ties stay ties.
    """
    ratios = [scale / (end - start) for scale, (start, end) in zip(scales, domain, strict=True)]
    squares = np.zeros(())
    for kind, count, ratio in zip(kinds, counts, ratios, strict=True):
        relative = ratio / ratios[0]
        along = AXES[kind].half_periods(count)
        squares = squares[..., None] + (along * along) * (relative * relative)
    factor = math.pi * ratios[0]
    return squares, factor * factor


def _read_kinds(kinds: str | Sequence[str], dimensions: int) -> tuple[str, ...]:
    words = f"be one name or {dimensions} names out of {sorted(AXES)}"
    listed = kinds if isinstance(kinds, list | tuple) else (kinds,) * dimensions
    if len(listed) != dimensions or not all(isinstance(n, str) and n in AXES for n in listed):
        raise ParameterError("kinds", words, shown(kinds))
    return tuple(map(str, listed))


def _read_shape(shape: int | Sequence[int], kinds: tuple[str, ...]) -> tuple[int, ...]:
    least = tuple(3 if kind == "fourier" else 2 for kind in kinds)
    words = f"be {len(kinds)} numbers of cells, at least {least}"
    cells = wholes((shape,) if isinstance(shape, int) else shape, "shape", len(kinds), words=words)
    if any(size < needed for size, needed in zip(cells, least, strict=True)):
        raise ParameterError("shape", words, shown(shape))
    return cells


def _read_scales(
    length_scale: float | Sequence[float] | None, domain: tuple[tuple[float, float], ...]
) -> tuple[float, ...]:
    if length_scale is None:
        return tuple(0.1 * (end - start) for start, end in domain)
    words = f"be one positive number or {len(domain)}"
    try:
        scales = np.broadcast_to(reals(length_scale, "length_scale"), (len(domain),))
    except ValueError:
        raise ParameterError("length_scale", words, shown(length_scale)) from None
    if not np.all((scales >= SMALLEST) & (scales <= LARGEST)):
        raise ParameterError("length_scale", words, shown(length_scale))
    return tuple(scales.tolist())
