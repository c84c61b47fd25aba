"""The kernel estimate of a density as a sum of public elements, one a point: exact integers and noise.

A point x has the element r_x = sum_j lambda_j^eta phi_j(x) phi_j / I(x), an operator power of the
density kernel divided by its own public integral I(x), so that r_x integrates to one (the power alone
integrates to far less). Points are first moved to the nearest of G public points, so there are G
elements, known beforehand, and the largest difference between two of them is a maximum over a table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpfda.bases import BoxBasis, KernelBasis
from dpfda.bases.cells import CellGrid
from dpfda.bases.grids import product_points
from dpfda.bounds import Norm
from dpfda.noise import NoiseLaw, gaussian_noise, knorm_noise
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, real, whole
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.arguments import Kernel

# Public points along an axis, by dimension, to which points are moved.
GRID = {1: 512, 2: 48, 3: 14}
LARGEST_GRID = 4096
# Elements are rounded to integers of at most this size: sums of squares then stay below 2^53.
ELEMENT_BITS = 20
LARGEST_COMPONENTS = 512
# Eigenvalues below this share of the largest are left out.
LEAST_SHARE = 1e-12
GAUSSIAN = ("gaussian", "gaussian_process")
NOISES = ("iclp", "matched", "laplace", "knorm", *GAUSSIAN)
# Bandwidth c n^(-1/(4+d)) of each axis: 1.06 deviations of a density that fills a quarter of the axis.
BANDWIDTH = 0.25


@dataclass(frozen=True)
class DensityKernel:
    """The kernel density estimate of Lin & Reimherr with operator powers, as a mechanism.

    Parameters
    ----------
    eta : float
        Operator power, at least 0.5; above 1 it smooths more than the kernel itself. With "iclp" noise
        the loss is bounded for eta > 1 however many components there are.
    noise : {"iclp", "matched", "laplace", "knorm", "gaussian", "gaussian_process"}
        Laplace noise of scale lambda_j^(1/2) in component j (the papers' ICLP); of scale t_j^(1/3), t_j
        the largest component j of an element, which has the least noise if components move
        independently; of one scale; one block of the l2 K-norm law; or, for delta > 0, Gaussian noise
        of one deviation, or the Gaussian process whose covariance is the density kernel (deviations
        lambda_j^(1/2)). The process is calibrated to the length of a difference in the kernel's own
        space: with eta = 1, and elements of one integral, (k(x, x) + k(x', x') - 2 k(x, x'))^(1/2).
        A whole path is released, so its values at any number of points cost nothing more.
    kernel : scikit-learn kernel or callable k(s, t), optional
        Density kernel on an interval, its range being the bandwidth. By default the heat kernel of the
        box (a normal density reflected at its ends) with the bandwidth below, in any dimension.
    bandwidth : float, optional
        Standard deviation of the default kernel as a share of each axis. By default
        0.25 n^(-1/(4 + d)) for the public number n of units (Remark 15).
    components : int, optional
        Number of leading components; by default all up to 512 with eigenvalues above 1e-12 of the first.

    References
    ----------
    Lin & Reimherr (2023), section 4.4, Theorem 14 and Remark 15, with the sensitivity computed directly.
    Hall, Rinaldo & Wasserman (2013), the example on kernel density estimation, for the Gaussian process.
    """

    eta: float = 1.05
    noise: str = "iclp"
    kernel: Kernel | None = None
    bandwidth: float | None = None
    components: int | None = None

    def __post_init__(self) -> None:
        choice(self.noise, "noise", NOISES)
        real(self.eta, "eta", 0.5, 100.0, "be a number of at least 0.5, and at most 100")
        if self.bandwidth is not None:
            real(self.bandwidth, "bandwidth", 1e-9, 1e9, "be a positive number, from 1e-9 to 1e9")
        if self.components is not None:
            whole(self.components, "components", 1, LARGEST_COMPONENTS)
        if self.kernel is not None and self.bandwidth is not None:
            raise ParameterError(
                "bandwidth", "be left out with a kernel, whose range it is", self.bandwidth
            )

    def elements(self, cells: CellGrid, size: int) -> Elements:
        """The table of elements for public cells and a public number of units."""
        if cells.size > LARGEST_GRID:
            raise ParameterError("cells", f"be at most {LARGEST_GRID} for a kernel estimate", cells.size)
        basis = self._basis(cells, size)
        middle = cells.midpoints()
        points = middle[0] if isinstance(basis, KernelBasis) else product_points(middle)
        functions = basis.evaluate(points)
        eigenvalues = np.asarray(basis.eigenvalues / basis.eigenvalues[0])
        weighted = eigenvalues**self.eta * functions
        integrals = weighted @ _integrals(basis)
        if not np.all(integrals > 0):
            raise ParameterError("kernel", "have positive integrals over the domain", "others")
        table = weighted / integrals[:, None]
        scales = self._scales(table, eigenvalues)
        relative = table / scales
        exponent = ELEMENT_BITS - int(np.frexp(np.abs(relative).max())[1])
        integers = np.rint(np.ldexp(relative, exponent)).astype(np.int64)
        return Elements(basis, integers, exponent, scales, self.noise)

    def release(
        self, elements: Elements, noisy: tuple[int, ...], exponent: int, public: Json
    ) -> ReleasedFunction | ReleasedField:
        """The released function around the noisy sum of elements.

        Parameters
        ----------
        elements : Elements
        noisy : tuple of int
            The mechanism's output.
        exponent : int
            Elements were summed with weights in units of 2^-exponent.
        public : dict
            `public_size` (None for the noisy integral in its place), noise, certificate and `about`.
        """
        size, about = public["public_size"], dict(public["about"])
        grid = exponent + elements.exponent
        if size is None:
            # Each element integrates to one, so the integral of the noisy sum is a noisy count.
            raw = np.array([math.ldexp(float(value), -grid) for value in noisy])
            size = max(1.0, float(elements.scales * raw @ _integrals(elements.basis)))
            about["counted"] = "by the integral of the noisy sum"
        kind = ReleasedFunction if isinstance(elements.basis, KernelBasis) else ReleasedField
        return kind(
            basis=elements.basis,
            noisy_sum=noisy,
            exponent=grid,
            divisor=float(size),
            shrinkage=elements.scales,
            center=np.zeros(np.size(elements.basis.weights)),
            about=about,
            **{name: public[name] for name in ("noise", "certificate")},
        )

    def _basis(self, cells: CellGrid, size: int) -> KernelBasis | BoxBasis:
        if self.kernel is not None:
            if cells.dimensions > 1:
                raise ParameterError("kernel", "be left out on a box", repr(self.kernel))
            basis: KernelBasis | BoxBasis = KernelBasis.on_grid(
                self.kernel, cells.midpoints()[0], cells.domain_range[0]
            )
        else:
            share = self.bandwidth or BANDWIDTH * size ** (-1 / (4 + cells.dimensions))
            scales = [share * (b - a) for a, b in cells.domain_range]
            shape = tuple(GRID[cells.dimensions] for _ in cells.shape)
            basis = BoxBasis.on_grid(
                "cosine", shape, cells.domain_range, length_scale=scales, spectrum="heat"
            )
        count = int(np.sum(basis.eigenvalues > LEAST_SHARE * basis.eigenvalues[0]))
        return basis.truncate(min(count, self.components or count, LARGEST_COMPONENTS))

    def _scales(self, table: Floats, eigenvalues: Floats) -> Floats:
        if self.noise in ("iclp", "gaussian_process"):
            return np.sqrt(eigenvalues)
        if self.noise == "matched":
            return np.asarray(np.cbrt(np.maximum(np.abs(table).max(axis=0), np.finfo(float).tiny)))
        return np.ones(eigenvalues.size)


@dataclass(frozen=True, eq=False)
class Elements:
    """Integer elements of all public points. Public.

    Parameters
    ----------
    basis : Basis
        The functions that components belong to.
    integers : array (G, K) of int
        Element of each public point, component j in units of scales_j 2^-exponent.
    exponent : int
    scales : array (K,)
        Relative scales of the noise in the components; in these units all are equal.
    noise : str
    """

    basis: Any
    integers: Integers
    exponent: int
    scales: Floats
    noise: str

    @property
    def gaussian(self) -> bool:
        """Whether the noise needs, and is charged, a delta."""
        return self.noise in GAUSSIAN

    @property
    def norm(self) -> Norm:
        """Norm in which the noise measures differences."""
        return "l2" if self.gaussian or self.noise == "knorm" else "l1"

    def width(self, neighbours: Neighbours) -> int:
        """Largest norm by which one unit moves the sum of elements, exactly or rounded up.

        A unit's element is an average of elements, or zero, so the largest difference is between two of
        them or one and zero. All numbers below are integers below 2^53, which floats hold exactly.
        """
        table = self.integers.astype(np.float64)
        if neighbours is Neighbours.REPLACE_ONE:
            table = np.vstack([table, np.zeros(table.shape[1])])
            others = table
        else:
            others = np.zeros((1, table.shape[1]))
        metric = "cityblock" if self.norm == "l1" else "sqeuclidean"
        rows = max(1, 2**22 // len(others))
        parts = (
            scipy.spatial.distance.cdist(table[i : i + rows], others, metric).max()
            for i in range(0, len(table), rows)
        )
        largest = int(max(parts))
        return largest if self.norm == "l1" else math.isqrt(largest) + 1

    def law(self, width: int, guarantee: Guarantee) -> NoiseLaw:
        """Noise for a guarantee: one scale on all components, in their units."""
        count = self.integers.shape[1]
        if self.gaussian:
            return gaussian_noise(np.ones(count), width, guarantee)
        sizes = (count,) if self.noise == "knorm" else (1,) * count
        return knorm_noise(sizes, np.ones(len(sizes)), self.norm, width, guarantee)

    def total(self, weights: list[int]) -> list[int]:
        """Sum of elements with integer weights, exactly. Private if the weights are."""
        rows = [i for i, weight in enumerate(weights) if weight]
        present = np.array([weights[i] for i in rows], dtype=object)
        total = present @ self.integers[rows].astype(object) if rows else [0] * self.integers.shape[1]
        return [int(value) for value in total]


def _integrals(basis: KernelBasis | BoxBasis) -> Floats:
    """Integrals of the functions over the domain, by the rule of the basis's grid."""
    if isinstance(basis, KernelBasis):
        return np.asarray(basis.weights @ basis.values)
    return np.asarray(basis.integrals)
