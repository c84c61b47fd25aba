"""Linear functions of the inputs: columns, or coefficients of curves; products, distances, and roots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.encoding import array_to_json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.records.features.inputs import FeatureMap, inputs_words

# The constant beside waves, over the root of the number of columns, which lie in [-1, 1].
CONSTANT = 0.175


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

        inputs: Number of columns.
        norm_bound: Public bound of the length of (constant, columns in [-1, 1]); by default the largest
            that can occur, (constant^2 + d)^(1/2). A smaller one means less noise and clips some
            records.
        """
        largest = math.sqrt(constant**2 + inputs)
        bound = largest if norm_bound is None else float(norm_bound)
        return cls(2.0 * np.eye(inputs), np.full(inputs, 0.5), constant, bound)

    @classmethod
    def of_waves(cls, inputs: int, components: int | None = None) -> LinearFeatures:
        """A small constant and the slowest cosines over the columns, every record at one length.

        Shrunk to one length, a record keeps the sign of every function b . (constant, t): which class
        is predicted does not change, and no record's share of the noise is wasted on a shorter one.

        Parameters
        ----------
        inputs : int
            Number d of columns, in their order: slow cosines are most of what neighbouring columns that
            are alike say, and a public mixture of those that are not.
        components : int, optional
            Number of features, the constant included; by default all columns are kept as they are.

        Examples
        --------
        >>> features = LinearFeatures.of_waves(64, components=10)
        >>> features.components, features.norm_bound == features.constant
        (10, True)
        """
        constant = CONSTANT * math.sqrt(inputs)
        matrix = 2.0 * np.eye(inputs)
        if components is not None and components - 1 < inputs:
            waves = scipy.fft.dct(np.eye(inputs), norm="ortho", axis=0)
            matrix = 2.0 * waves[: max(1, components - 1)].T
        return cls(matrix, np.full(inputs, 0.5), constant, constant)

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

        analysis: array (m, K). Takes values on the grid to coefficients, for example
            `KernelBasis.analysis`.
        bounds: (float, float). The bounds that the estimator is given: one pair for all grid points.
        norm_bound: Public bound of the length of (constant, coefficients of the curve minus the center).
        center: float or array (m,). Public curve that is subtracted, in the units of the data.
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
        linear = coefficients(points - self.center, self.matrix / self.norm_bound)
        if self.constant == 0.0:
            return linear
        first = np.full((points.shape[0], 1), self.constant / self.norm_bound)
        return np.hstack([first, linear])

    def describe(self) -> str:
        constant = "a constant and " if self.constant else ""
        count = self.matrix.shape[1]
        functions = "1 linear function" if count == 1 else f"{count} linear functions"
        return f"{constant}{functions} of {inputs_words(self)}, clipped to length {self.norm_bound:g}"

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "linear",
            "matrix": array_to_json(self.matrix),
            "center": array_to_json(self.center),
            "constant": self.constant,
            "norm_bound": self.norm_bound,
        }


# How much of a column the root of its distance has, and what is subtracted: about the root's mean.
DISTANCE, USUAL = 0.6, 0.5


@dataclass(frozen=True, eq=False)
class DistanceFeatures:
    """Columns beside the roots of their distances from the middle of the bounds.

    A sum of them may bend in each column: be large in the middle, or far from it, or on one side alone.
    With v the column on [-1, 1], the root is a column of its own, DISTANCE (|v|^(1/2) - USUAL).

    Parameters
    ----------
    linear : LinearFeatures
        Public; of the d columns, and d roots, on the unit cube.

    Examples
    --------
    >>> features = DistanceFeatures.of_columns(3)
    >>> features.inputs, features.components
    (3, 7)
    """

    linear: LinearFeatures

    def __post_init__(self) -> None:
        if self.linear.inputs % 2:
            raise ParameterError("linear", "have two inputs a column", str(self.linear.inputs))

    @classmethod
    def of_columns(cls, inputs: int) -> DistanceFeatures:
        """All columns and roots, every record at one length."""
        return cls(LinearFeatures.of_waves(2 * inputs))

    @property
    def inputs(self) -> int:
        return self.linear.inputs // 2

    @property
    def components(self) -> int:
        return self.linear.components

    def values(self, points: Floats) -> Floats:
        roots = DISTANCE * (np.sqrt(np.abs(2 * points - 1)) - USUAL)
        return self.linear.values(np.hstack([points, (1 + roots) / 2]))

    def describe(self) -> str:
        return f"{self.linear.describe()}: columns, and roots of their distances from the middle"

    def to_json(self) -> dict[str, object]:
        return {"kind": "distances", "linear": self.linear.to_json()}


# Of a record's squared length, for its products: on public data, docs/appendix/kernel_machines.md.
SHARE = 0.35


def quadratic_count(linear: int) -> int:
    """Number of features that are so many linear functions and their products."""
    return linear * (linear + 3) // 2


@dataclass(frozen=True, eq=False)
class QuadraticFeatures:
    """Linear features u, taken to length one, beside all products u_i u_j, but of no roots.

    They are ((1 - share)^(1/2) u, share^(1/2) (u_i^2, 2^(1/2) u_i u_j for i < j)), of length one, or at
    most where some u are roots of distances. Else their kernel is (1 - share) u . v + share (u . v)^2.
    With a constant among the u, every quadratic function of the inputs is a sum of them, up to a factor
    that is positive.

    Parameters
    ----------
    linear : LinearFeatures or DistanceFeatures
        Public.
    share : float
        Public part of the squared length that products have, between 0 and 1.

    Examples
    --------
    >>> features = QuadraticFeatures(LinearFeatures.of_waves(2))
    >>> features.components, float(np.round(np.sum(features.values(np.ones((1, 2))) ** 2), 12))
    (9, 1.0)
    """

    linear: LinearFeatures | DistanceFeatures
    share: float = SHARE

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise ParameterError("share", "lie between 0 and 1", repr(self.share))

    @classmethod
    def of_waves(cls, inputs: int, components: int, share: float = SHARE) -> QuadraticFeatures:
        """Columns, or the slowest cosines over them: at most `components` features, or five."""
        linear = max((math.isqrt(8 * components + 9) - 3) // 2, 2)
        return cls(LinearFeatures.of_waves(inputs, linear), share)

    @property
    def inputs(self) -> int:
        return self.linear.inputs

    @property
    def components(self) -> int:
        return self.linear.components - self._factors + quadratic_count(self._factors)

    @property
    def _factors(self) -> int:
        """Of how many features, the first, there are products."""
        roots = self.inputs if isinstance(self.linear, DistanceFeatures) else 0
        return self.linear.components - roots

    def values(self, points: Floats) -> Floats:
        columns = self.linear.values(points).T
        square = np.zeros(points.shape[0])
        # One after another: no row's last bit depends on how many rows there are.
        for column in columns:
            square += column * column
        columns /= np.where(square > 0, np.sqrt(square), 1.0)
        root, count = math.sqrt(self.share), len(columns)
        features, start = np.empty((self.components, points.shape[0])), count
        np.multiply(math.sqrt(1 - self.share), columns, out=features[:start])
        columns = columns[: self._factors]
        for place, column in enumerate(columns):
            part = features[start : start + len(columns) - place]
            np.multiply(column, columns[place:], out=part)
            part[0] *= root
            part[1:] *= root * math.sqrt(2.0)
            start += len(part)
        return features.T

    def describe(self) -> str:
        return f"{self.linear.describe()}, taken to length one; and their products"

    def to_json(self) -> dict[str, object]:
        return {"kind": "quadratic", "linear": self.linear.to_json(), "share": self.share}


# By the number of square roots, which IEEE 754 rounds correctly: no bit of a row depends on others.
POWERS = {0.5: 1, 0.25: 2, 0.125: 3, 0.0625: 4}


@dataclass(frozen=True, eq=False)
class RootFeatures:
    """A feature map of inputs that are first raised to a public power, on the unit interval.

    Parameters
    ----------
    features : feature map
        Public.
    power : {0.5, 0.25, 0.125, 0.0625}

    Examples
    --------
    >>> from dpfda.records.features import LinearFeatures
    >>> linear = LinearFeatures.of_waves(2)
    >>> points = np.array([[0.0625, 1.0]])
    >>> bool(np.all(RootFeatures(linear, 0.25).values(points) == linear.values(points**0.25)))
    True
    """

    features: FeatureMap
    power: float

    def __post_init__(self) -> None:
        if not isinstance(self.power, float | str) or self.power not in POWERS:
            words = f"be one of {', '.join(map(str, POWERS))}"
            remedy = "For a power that is looked for, of a predictor, say 'search'."
            raise ParameterError("power", words, shown(self.power), remedy)

    @property
    def inputs(self) -> int:
        return self.features.inputs

    @property
    def components(self) -> int:
        return self.features.components

    def values(self, points: Floats) -> Floats:
        for _ in range(POWERS[self.power]):
            points = np.sqrt(points)
        return self.features.values(points)

    def describe(self) -> str:
        return f"{self.features.describe()}; of inputs to the power {self.power:g}"

    def to_json(self) -> dict[str, object]:
        return {"kind": "roots", "power": self.power, "features": self.features.to_json()}
