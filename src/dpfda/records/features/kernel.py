"""Features of a kernel: random Fourier features, and eigenfunctions on public landmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.grids import frozen
from dpfda.bases.kernels import kernel_to_json
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import coefficients
from dpfda.numerics.encoding import array_to_json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole
from dpfda.numerics.speed import remembered
from dpfda.records.features.inputs import InputBox, by_blocks, inputs_words, padded

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel

# Eigenvalues of the landmarks' Gram matrix below this share of the largest are left out.
RELATIVE_RANK = 1e-6
LARGEST_GRID = 4096
COUNTED = "be an integer of at least 1"

# Numbers that the frequencies of all features may have.
MOST_FREQUENCIES = 10**7


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
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> features = FourierFeatures.drawn(RBF(0.5), inputs=3, components=20, seed=1)
    >>> float(np.round(np.sum(features.values(np.zeros((1, 3))) ** 2), 12))
    1.0
    """

    frequencies: Floats
    kernel: str

    @classmethod
    def drawn(cls, kernel: Kernel, inputs: int, components: int, seed: int = 0) -> FourierFeatures:
        """Draw frequencies with a public seed.

        kernel: With one length scale, in units of the inputs scaled to [0, 1].
        inputs, components: Numbers d and K; K is rounded up to an even number.
        seed: Public; it chooses the features and has nothing to do with the privacy noise.
        Raises ParameterError: For another kernel.
        """
        from sklearn.gaussian_process import kernels as sk

        if type(kernel) not in (sk.RBF, sk.Matern) or np.ndim(kernel.length_scale) != 0:
            raise ParameterError(
                "kernel", "be RBF or Matern with one length scale for Fourier features", repr(kernel)
            )
        pairs = whole(components, "components", words=COUNTED) // 2 + components % 2
        if inputs * pairs > MOST_FREQUENCIES:
            most = 2 * MOST_FREQUENCIES // inputs
            raise ParameterError(
                "components", f"be at most {most} for {inputs} inputs", repr(components)
            )
        generator = np.random.default_rng(whole(seed, "seed", 0))
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
        frequencies = padded(self.frequencies.T).T

        def block(rows: Floats) -> Floats:
            angles = coefficients(rows, frequencies)
            return np.hstack([np.cos(angles)[:, :pairs], np.sin(angles)[:, :pairs]])

        return by_blocks(points, block, self.components) / math.sqrt(pairs)

    def describe(self) -> str:
        return f"{self.components} random Fourier features of {self.kernel} on {inputs_words(self)}"

    def to_json(self) -> dict[str, object]:
        return {"kind": "fourier", "frequencies": array_to_json(self.frequencies), "kernel": self.kernel}


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
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> features = LandmarkFeatures.on_grid(Matern(0.2, nu=1.5), inputs=1, points=20, components=6)
    >>> features.components, features.values(np.array([[0.3]])).shape
    (6, (1, 6))
    """

    kernel: Kernel
    landmarks: Floats
    matrix: Floats

    @classmethod
    def on_points(
        cls,
        kernel: object,
        points: ArrayLike,
        components: int | None = None,
        bounds: object = None,
        power: float = 1.0,
    ) -> LandmarkFeatures:
        """Features of a kernel at landmarks (m, d).

        kernel: Matern, RBF, RationalQuadratic and the like with one length scale, and their sums and
            products, in units of the inputs scaled to [0, 1].
        points: array (m, d). Public landmarks, in the unit cube; or, with `bounds`, in the units of the
            inputs. Never records of the private data.
        components: Number K of leading functions; by default all that are not zero to rounding.
        bounds: (lower, upper), or a list of pairs. The bounds that the estimator is given.
        power: Operator power eta of the kernel, at least 1: the penalty is the squared norm in the space
            of C^eta (Lin & Reimherr 2023, Theorem 16), larger for smoother functions. Features are then
            scaled to length one at the longest landmark, and clipped to it elsewhere.
        Raises ParameterError if the kernel cannot be written down, or points or power are unusable.
        """
        from sklearn.base import clone
        from sklearn.gaussian_process.kernels import Kernel

        if not isinstance(kernel, Kernel) or kernel_to_json(kernel) is None:
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
        values, vectors = scipy.linalg.eigh(gram / places.shape[0])
        values, vectors = values[::-1], vectors[:, ::-1]
        rank = int(np.sum(values > RELATIVE_RANK * values[0]))
        count = rank if components is None else min(rank, whole(components, "components", words=COUNTED))
        if not 1.0 <= power <= 10.0:
            raise ParameterError("power", "lie between 1 and 10", repr(power))
        matrix = vectors[:, :count] / np.sqrt(values[:count] * places.shape[0])
        if power == 1.0:
            length = math.sqrt(float(np.max(kernel.diag(places))))
        else:
            matrix = matrix * (values[:count] / values[0]) ** ((power - 1) / 2)
            length = math.sqrt(float(np.max(np.sum((gram @ matrix) ** 2, axis=1))))
        matrix = matrix / length
        return cls(clone(kernel), frozen(places), frozen(matrix))

    @classmethod
    @remembered(8)
    def on_grid(
        cls, kernel: object, inputs: int, points: int, components: int | None = None
    ) -> LandmarkFeatures:
        """Features at the midpoints of an equally spaced grid with `points` cells along each input.

        Raises ParameterError if the grid has more than 4096 points.
        """
        total = whole(points, "points", words=COUNTED) ** inputs
        if total > LARGEST_GRID:
            raise ParameterError(
                "points", f"give at most {LARGEST_GRID} grid points", f"{total}", "Use Fourier features."
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
        marks = padded(self.landmarks)

        def block(rows: Floats) -> Floats:
            gram = np.asarray(self.kernel(rows, marks), dtype=np.float64)
            return coefficients(gram[:, : self.landmarks.shape[0]], self.matrix)

        return by_blocks(points, block, self.components)

    def describe(self) -> str:
        return (
            f"{self.components} eigenfunctions of {self.kernel} on {self.landmarks.shape[0]} landmarks"
            f" of {inputs_words(self)}"
        )

    def to_json(self) -> dict[str, object]:
        return {
            "kind": "landmarks",
            "kernel": kernel_to_json(self.kernel),
            "landmarks": array_to_json(self.landmarks),
            "matrix": array_to_json(self.matrix),
        }
