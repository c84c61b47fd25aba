"""Public feature maps of inputs: linear functions, random Fourier features, kernels at landmarks.

Every map takes inputs on the unit cube to feature vectors that are meant to have length at most one:
the kernel of the map is k(s, t) = phi(s) . phi(t), scaled to k(t, t) <= 1. The bound is not trusted:
`embedded` clips every vector to an integer ball, so it holds for any input and any rounding.

Row i of an embedding depends on input i alone, bit for bit: products are exact in integers, and
elementwise functions run over blocks of a fixed size with rows padded to whole vector registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

from dpfda.bases.encoding import array_from_json, array_to_json
from dpfda.bases.grids import frozen
from dpfda.bases.kernels import kernel_from_json, kernel_to_json
from dpfda.bounds import IntegerBall
from dpfda.embedding import Rows, project
from dpfda.errors import ParameterError, StorageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rows of a block and numbers that a row is padded to: more than any vector register holds.
BLOCK = 256
PAD = 16
# Eigenvalues of the landmarks' Gram matrix below this share of the largest are left out.
RELATIVE_RANK = 1e-6
LARGEST_GRID = 4096


class FeatureMap(Protocol):
    """A public map from the unit cube to vectors of length about one or less."""

    @property
    def inputs(self) -> int:
        """Number d of input columns."""

    @property
    def components(self) -> int:
        """Number K of features."""

    def values(self, points: Floats) -> Floats:
        """Features (q, K) of points (q, d) of the unit cube, before clipping."""

    def describe(self) -> str:
        """Say in words what the features are."""

    def to_json(self) -> dict[str, Any]:
        """Everything needed to build the map again, as JSON types."""


@dataclass(frozen=True, eq=False)
class InputBox:
    """Public bounds of each input column; values are clipped to them and scaled to [0, 1].

    Parameters
    ----------
    lower, upper : array (d,)
        In the units of the columns, lower < upper.
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, bounds: Any, inputs: int) -> InputBox:
        """Read (lower, upper), numbers or one number a column.

        Raises
        ------
        ParameterError
            If there are none, or they are not finite with lower < upper.
        """
        if bounds is None:
            raise ParameterError(
                "bounds",
                "be given",
                "None",
                "Pass bounds=(lower, upper), numbers or one a column, from knowledge of the measurement "
                "and never from these data.",
            )
        try:
            lower, upper = (np.array(end, dtype=np.float64) for end in bounds)
        except (TypeError, ValueError):
            raise ParameterError("bounds", "be (lower, upper)", repr(bounds)) from None
        if any(end.ndim > 1 or (end.ndim == 1 and end.size != inputs) for end in (lower, upper)):
            raise ParameterError(
                "bounds", f"be numbers or one a column ({inputs})", f"{lower.shape}, {upper.shape}"
            )
        with np.errstate(all="ignore"):
            wide = upper - lower
        if not np.all(np.isfinite(lower) & np.isfinite(upper) & np.isfinite(wide) & (wide > 0)):
            raise ParameterError(
                "bounds", "be finite with lower < upper in every column", "others", "Swap the ends?"
            )
        ends = (frozen(np.broadcast_to(end, (inputs,)).copy()) for end in (lower, upper))
        return cls(*ends)

    def scaled(self, points: Floats) -> Floats:
        """Points (q, d) in the units of the columns, clipped and taken to the unit cube, by entries."""
        clipped = np.clip(points, self.lower, self.upper)
        return np.clip((clipped - self.lower) / (self.upper - self.lower), 0.0, 1.0)


def embedded(features: FeatureMap, ball: IntegerBall, points: Floats) -> Integers:
    """Features (q, K) of points of the unit cube, integers in the ball; row i from point i alone."""
    rows = features.values(points)
    return ball.clip(Rows(rows, np.zeros(rows.shape[0], dtype=np.int64)))


def feature_ball(components: int) -> IntegerBall:
    """The integer unit ball that features are forced into."""
    return IntegerBall.of("l2", 1.0, components)


@dataclass(frozen=True, eq=False)
class LinearFeatures:
    """A constant and linear functions of the inputs: (constant, (t - center) matrix) / norm_bound.

    Parameters
    ----------
    matrix : array (d, J)
        Public; acts on inputs scaled to [0, 1].
    center : array (d,)
        Public point of the unit cube that is subtracted.
    constant : float
        Feature that stands for the intercept; 0 for none.
    norm_bound : float
        Public length; vectors that are longer before the division are shrunk to it.

    Examples
    --------
    >>> features = LinearFeatures.of_columns(3)
    >>> features.values(np.array([[0.5, 0.5, 1.0]])) * 2.0
    array([[1., 0., 0., 1.]])
    """

    matrix: Floats
    center: Floats
    constant: float
    norm_bound: float

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        center = np.array(self.center, dtype=np.float64)
        if matrix.ndim != 2 or center.shape != matrix.shape[:1]:
            raise ParameterError("matrix", "have one row an input, as has center", f"{matrix.shape}")
        finite = np.all(np.isfinite(matrix)) and np.all(np.isfinite(center))
        if not (finite and math.isfinite(self.constant) and 0 < self.norm_bound < math.inf):
            raise ParameterError(
                "matrix, center, constant and norm_bound", "be finite, norm_bound positive", "others"
            )
        if not np.any(matrix):
            raise ParameterError("matrix", "not be zero", "zeros")
        object.__setattr__(self, "matrix", frozen(matrix))
        object.__setattr__(self, "center", frozen(center))

    @classmethod
    def of_columns(
        cls, inputs: int, norm_bound: float | None = None, constant: float = 1.0
    ) -> LinearFeatures:
        """Each column, taken to [-1, 1], and a constant.

        Parameters
        ----------
        inputs : int
            Number of columns.
        norm_bound : float, optional
            Public bound of the length of (constant, columns in [-1, 1]); by default the largest that
            can occur, (constant^2 + d)^(1/2). A smaller one means less noise and clips some records.
        constant : float
        """
        largest = math.sqrt(constant**2 + inputs)
        bound = largest if norm_bound is None else float(norm_bound)
        return cls(2.0 * np.eye(inputs), np.full(inputs, 0.5), constant, bound)

    @classmethod
    def of_curves(
        cls,
        analysis: ArrayLike,
        bounds: tuple[float, float],
        norm_bound: float,
        center: ArrayLike = 0.0,
        constant: float = 1.0,
    ) -> LinearFeatures:
        """Coefficients of curves or images in a public basis.

        Parameters
        ----------
        analysis : array (m, K)
            Takes values on the grid to coefficients, for example `KernelBasis.analysis`.
        bounds : (float, float)
            The bounds that the estimator is given: one pair for all grid points.
        norm_bound : float
            Public bound of the length of (constant, coefficients of the curve minus the center).
        center : float or array (m,)
            Public curve that is subtracted, in the units of the data.
        constant : float
        """
        matrix = np.asarray(analysis, dtype=np.float64)
        low, high = float(bounds[0]), float(bounds[1])
        middle = (np.broadcast_to(np.asarray(center, float), matrix.shape[:1]) - low) / (high - low)
        return cls((high - low) * matrix, middle, constant, float(norm_bound))

    @property
    def inputs(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def components(self) -> int:
        return int(self.matrix.shape[1]) + (self.constant != 0.0)

    def values(self, points: Floats) -> Floats:
        linear = _product(points - self.center, self.matrix / self.norm_bound)
        if self.constant == 0.0:
            return linear
        first = np.full((points.shape[0], 1), self.constant / self.norm_bound)
        return np.hstack([first, linear])

    def describe(self) -> str:
        constant = "a constant and " if self.constant else ""
        return (
            f"{constant}{self.matrix.shape[1]} linear functions of {_inputs(self)}, clipped to "
            f"length {self.norm_bound:g}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "linear",
            "matrix": array_to_json(self.matrix),
            "center": array_to_json(self.center),
            "constant": self.constant,
            "norm_bound": self.norm_bound,
        }


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """Random Fourier features: cosines and sines of public random frequencies, length one exactly.

    Their kernel has the mean k(s - t) whose spectral law the frequencies are drawn from (Rahimi &
    Recht 2007): normal for a Gaussian kernel, multivariate t with 2 nu degrees for Matern.

    Parameters
    ----------
    frequencies : array (d, J)
        Public, in radians per unit of the inputs scaled to [0, 1]. There are K = 2 J features.
    kernel : str
        What they were drawn for, in words.

    Examples
    --------
    >>> features = FourierFeatures.drawn(sk.RBF(0.5), inputs=3, components=20, seed=1)
    >>> float(np.round(np.sum(features.values(np.zeros((1, 3))) ** 2), 12))
    1.0
    """

    frequencies: Floats
    kernel: str

    @classmethod
    def drawn(cls, kernel: Any, inputs: int, components: int, seed: int = 0) -> FourierFeatures:
        """Draw frequencies with a public seed.

        Parameters
        ----------
        kernel : RBF or Matern
            With one length scale, in units of the inputs scaled to [0, 1].
        inputs, components : int
            Numbers d and K; K is rounded up to an even number.
        seed : int
            Public; it chooses the features and has nothing to do with the privacy noise.

        Raises
        ------
        ParameterError
            For another kernel.
        """
        if type(kernel) not in (sk.RBF, sk.Matern) or np.ndim(kernel.length_scale) != 0:
            raise ParameterError(
                "kernel", "be RBF or Matern with one length scale for Fourier features", repr(kernel)
            )
        pairs = _count(components, "components", 1) // 2 + components % 2
        generator = np.random.default_rng(seed)
        draws = generator.standard_normal((inputs, pairs))
        nu = getattr(kernel, "nu", math.inf)
        if math.isfinite(nu):
            draws /= np.sqrt(generator.chisquare(2 * nu, pairs) / (2 * nu))
        return cls(frozen(draws / kernel.length_scale), str(kernel))

    @property
    def inputs(self) -> int:
        return int(self.frequencies.shape[0])

    @property
    def components(self) -> int:
        return 2 * int(self.frequencies.shape[1])

    def values(self, points: Floats) -> Floats:
        pairs = self.frequencies.shape[1]
        padded = _padded(self.frequencies.T).T

        def block(rows: Floats) -> Floats:
            angles = _product(rows, padded)
            return np.hstack([np.cos(angles)[:, :pairs], np.sin(angles)[:, :pairs]])

        return _by_blocks(points, block, self.components) / math.sqrt(pairs)

    def describe(self) -> str:
        return f"{self.components} random Fourier features of {self.kernel} on {_inputs(self)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "fourier",
            "frequencies": array_to_json(self.frequencies),
            "kernel": self.kernel,
        }


@dataclass(frozen=True, eq=False)
class LandmarkFeatures:
    """Leading eigenfunctions of a kernel on public landmarks, each times the root of its eigenvalue.

    With Gram matrix C and weights W on the landmarks and W^(1/2) C W^(1/2) = U diag(l) U^T, the
    features of t are k(t, landmarks) W^(1/2) U l^(-1/2): orthonormal coordinates of the part of the
    kernel's space that the landmarks span. Their squared length is at most k(t, t) for every t of the
    continuum, since it is that of a projection of k(t, .); the kernel is scaled to k(t, t) <= 1.

    Build one with `on_points` or `on_grid`; all fields are public.

    Examples
    --------
    >>> features = LandmarkFeatures.on_grid(sk.Matern(0.2, nu=1.5), inputs=1, points=20, components=6)
    >>> features.components, features.values(np.array([[0.3]])).shape
    (6, (1, 6))
    """

    kernel: Any
    landmarks: Floats
    matrix: Floats

    @classmethod
    def on_points(
        cls,
        kernel: Any,
        points: ArrayLike,
        components: int | None = None,
        bounds: Any = None,
        power: float = 1.0,
    ) -> LandmarkFeatures:
        """Features of a kernel at landmarks (m, d).

        Parameters
        ----------
        kernel : scikit-learn kernel
            Matern, RBF, RationalQuadratic and the like with one length scale, and their sums and
            products, in units of the inputs scaled to [0, 1].
        points : array (m, d)
            Public landmarks, in the unit cube; or, with `bounds`, in the units of the inputs. Never
            records of the private data.
        components : int, optional
            Number K of leading functions; by default all that are not zero to rounding.
        bounds : (lower, upper), optional
            The bounds that the estimator is given.
        power : float
            Operator power eta of the kernel, at least 1: the penalty is the squared norm in the space of
            C^eta (Lin & Reimherr 2023, Theorem 16), larger for smoother functions. Features are then
            scaled to length one at the longest landmark, and clipped to it elsewhere.

        Raises
        ------
        ParameterError
            If the kernel cannot be written down, or points or power are unusable.
        """
        if not isinstance(kernel, sk.Kernel) or kernel_to_json(kernel) is None:
            raise ParameterError(
                "kernel", "be a known scikit-learn kernel with one length scale", repr(kernel)
            )
        places = np.array(points, dtype=np.float64)
        places = places[:, None] if places.ndim == 1 else places
        if places.ndim != 2 or 0 in places.shape or not np.all(np.isfinite(places)):
            raise ParameterError("landmarks", "be finite points (m, d)", f"shape {places.shape}")
        if bounds is not None:
            places = InputBox.of(bounds, places.shape[1]).scaled(places)
        gram = np.asarray(kernel(places), dtype=np.float64)
        values, vectors = eigh(gram / places.shape[0])
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = int(np.sum(values > RELATIVE_RANK * values[0]))
        kept = rank if components is None else min(rank, _count(components, "components", 1))
        if not 1.0 <= power <= 10.0:
            raise ParameterError("power", "lie between 1 and 10", repr(power))
        matrix = vectors[:, :kept] / np.sqrt(values[:kept] * places.shape[0])
        if power == 1.0:
            length = math.sqrt(float(np.max(kernel.diag(places))))
        else:
            matrix = matrix * (values[:kept] / values[0]) ** ((power - 1) / 2)
            length = math.sqrt(float(np.max(np.sum((gram @ matrix) ** 2, axis=1))))
        matrix = matrix / length
        return cls(clone(kernel), frozen(places), frozen(matrix))

    @classmethod
    def on_grid(
        cls, kernel: Any, inputs: int, points: int, components: int | None = None
    ) -> LandmarkFeatures:
        """Features at the midpoints of an equally spaced grid with `points` cells along each input.

        Raises
        ------
        ParameterError
            If the grid has more than 4096 points.
        """
        count = _count(points, "points", 1) ** inputs
        if count > LARGEST_GRID:
            raise ParameterError(
                "points", f"give at most {LARGEST_GRID} grid points", f"{count}", "Use Fourier features."
            )
        axis = (np.arange(points) + 0.5) / points
        mesh = np.meshgrid(*[axis] * inputs, indexing="ij")
        return cls.on_points(kernel, np.stack(mesh, axis=-1).reshape(-1, inputs), components)

    @property
    def inputs(self) -> int:
        return int(self.landmarks.shape[1])

    @property
    def components(self) -> int:
        return int(self.matrix.shape[1])

    def values(self, points: Floats) -> Floats:
        padded = _padded(self.landmarks)

        def block(rows: Floats) -> Floats:
            gram = np.asarray(self.kernel(rows, padded), dtype=np.float64)
            return _product(gram[:, : self.landmarks.shape[0]], self.matrix)

        return _by_blocks(points, block, self.components)

    def describe(self) -> str:
        return (
            f"{self.components} eigenfunctions of {self.kernel} on {self.landmarks.shape[0]} landmarks"
            f" of {_inputs(self)}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "landmarks",
            "kernel": kernel_to_json(self.kernel),
            "landmarks": array_to_json(self.landmarks),
            "matrix": array_to_json(self.matrix),
        }


def features_from_json(written: dict[str, Any]) -> FeatureMap:
    """Build a feature map from JSON types, from a closed list of kinds."""
    kind = written["kind"]
    if kind == "linear":
        matrix, center = (array_from_json(written[name]) for name in ("matrix", "center"))
        return LinearFeatures(matrix, center, float(written["constant"]), float(written["norm_bound"]))
    if kind == "fourier":
        return FourierFeatures(frozen(array_from_json(written["frequencies"])), str(written["kernel"]))
    if kind == "landmarks":
        parts = (frozen(array_from_json(written[name])) for name in ("landmarks", "matrix"))
        return LandmarkFeatures(kernel_from_json(written["kernel"]), *parts)
    raise StorageError(f"Unknown kind of features {kind!r}; update dpfda?")


def _product(values: Floats, matrix: Floats) -> Floats:
    """Product with a public matrix, exact in integers before one scaling."""
    rows = project(values, matrix)
    return np.asarray(np.ldexp(rows.mantissas, rows.exponents[:, None]))


def _padded(rows: Floats) -> Floats:
    """Rows (m, d) with the last one repeated up to a multiple of `PAD`."""
    more = -rows.shape[0] % PAD
    return np.vstack([rows, np.repeat(rows[-1:], more, axis=0)])


def _by_blocks(points: Floats, function: Callable[[Floats], Floats], components: int) -> Floats:
    """A function of rows, over blocks of one size whatever their number."""
    values = np.empty((points.shape[0], components))
    for start in range(0, points.shape[0], BLOCK):
        rows = points[start : start + BLOCK]
        block = np.zeros((BLOCK, points.shape[1]))
        block[: rows.shape[0]] = rows
        values[start : start + BLOCK] = function(block)[: rows.shape[0]]
    return values


def _inputs(features: FeatureMap) -> str:
    return "1 input" if features.inputs == 1 else f"{features.inputs} inputs"


def _count(value: Any, name: str, least: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ParameterError(name, f"be an integer of at least {least}", repr(value))
    return int(value)
