"""Public priors for a mean: of its coefficients, each shape and scale weighted; of curves; of images.

A prior is made from public numbers alone. It decides how much noise goes where and how a noisy release
is shrunk; it has no part in any guarantee.

The default estimates between bounds, and every constant in them, are `dpfda.estimates.curves` and
`dpfda.estimates.images`. A release holds the version of those constants and the ingredients that are
kept here, so that a file gives the same curve for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import freeze
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import (
    array_from_json,
    array_to_json,
    check_version,
    fields_to_json,
    floats,
    integer,
    integers,
    mapping,
    number,
)
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    import scipy


# The public mixture: coefficient j has a variance like (1 + (range f_j)^2)^(-exponent / 2), f_j its
# frequency. A range of 1 falls from the first function on; one of 0.1 is flat over the first ten. The
# exponents are those of Matern kernels of smoothness 3/2, 5/2 and 7/2 on the line.
RANGES = (0.1, 0.3, 1.0)
EXPONENTS = (4.0, 6.0, 8.0)
# Mean squares relative to the square of the bound: means as large as allowed, to a hundredth of that.
SCALES = tuple(10.0 ** (-2 * step / 3) for step in range(7))


@dataclass(frozen=True, eq=False)
class Prior:
    """Coefficients are independent N(0, s b_j) given a shape b and a scale s, which are unknown.

    shapes: array (G, K). Relative variances b_j, one shape a row, nonnegative. Public.
    scales: array (S,). Factors s, positive. Public.
    weights: array (G, S). Prior probabilities of shape and scale.
    """

    shapes: Floats
    scales: Floats
    weights: Floats

    def __post_init__(self) -> None:
        freeze(self, "shapes", "scales", "weights")
        if self.shapes.ndim != 2 or not (np.all(np.isfinite(self.shapes)) and np.all(self.shapes >= 0)):
            raise ParameterError("shapes", "be finite rows of at least 0", f"{self.shapes.shape}")
        if self.scales.ndim != 1 or not (np.all(np.isfinite(self.scales)) and np.all(self.scales > 0)):
            raise ParameterError("scales", "be positive and finite", f"{self.scales.shape}")
        fits = self.weights.shape == (self.shapes.shape[0], self.scales.size)
        if not (fits and np.all(self.weights >= 0) and abs(float(self.weights.sum()) - 1) < 1e-9):
            raise ParameterError(
                "weights", "be probabilities, one a shape and scale", f"{self.weights.shape}"
            )

    @classmethod
    def of(cls, shapes: ArrayLike, scales: ArrayLike = (1.0,)) -> Prior:
        """Equal weights on all shapes and scales."""
        rows, factors = np.atleast_2d(np.asarray(shapes, dtype=float)), np.asarray(scales, dtype=float)
        count = rows.shape[0] * factors.size
        return cls(rows, factors, np.full((rows.shape[0], factors.size), 1 / count))

    @property
    def components(self) -> int:
        """Number K of coefficients."""
        return int(self.shapes.shape[1])

    @cached_property
    def variances(self) -> Floats:
        """Variances (H, K), one row a shape and scale, H = G S."""
        rows = self.shapes[:, None, :] * self.scales[None, :, None]
        return np.asarray(rows.reshape(-1, self.components))

    @property
    def chances(self) -> Floats:
        """Probabilities (H,) of the rows of `variances`."""
        return self.weights.reshape(-1)

    def truncate(self, components: int) -> Prior:
        """The prior of the leading coefficients."""
        return Prior(self.shapes[:, :components], self.scales, self.weights)

    def times(self, factor: float) -> Prior:
        """The prior in other units: all variances times a factor."""
        return Prior(self.shapes, self.scales * factor, self.weights)

    def draw(self, generator: np.random.Generator, draws: int) -> tuple[Floats, Integers]:
        """Coefficients (draws, K) and the row of each: for studies, never for a release.

        Rows are taken in turn in proportion to their weights, so that a rare one is not left to chance.
        """
        places = (np.arange(draws) + 0.5) / draws
        rows = np.searchsorted(np.cumsum(self.chances), places).clip(0, self.chances.size - 1)
        normals = generator.standard_normal((draws, self.components))
        return normals * np.sqrt(self.variances[rows]), rows

    def describe(self) -> str:
        """Say in words what is unknown."""
        shapes, scales = self.weights.shape
        return f"{shapes} public shape(s) at {scales} scale(s)"

    def to_json(self) -> dict[str, object]:
        """The prior as JSON types."""
        return {
            "words": self.describe(),
            "scales": self.scales.tolist(),
            "weights": self.weights.tolist(),
            "shapes": array_to_json(self.shapes),
        }

    @classmethod
    def from_json(cls, written: object) -> Prior:
        """Build the prior again."""
        entries = mapping(written)
        return cls(
            array_from_json(entries["shapes"]), floats(entries["scales"]), floats(entries["weights"])
        )


def frequencies(components: int, dimensions: int = 1) -> Floats:
    """Frequencies f_j (K,) of ordered functions of d variables: j^(1/d)."""
    return np.asarray(np.arange(1.0, components + 1) ** (1 / dimensions))


def public_shapes(components: int, dimensions: int = 1) -> Floats:
    """Shapes (G, K) of the public mixture, each scaled to sum one: range and decay unknown.

    Variances fall with the frequency like f^-(exponent + d - 1), so that the power at a frequency falls
    like f^-exponent in any dimension.
    """
    squares = frequencies(components, dimensions) ** 2
    rows = [
        (1 + width**2 * squares) ** (-(exponent + dimensions - 1) / 2)
        for width in RANGES
        for exponent in EXPONENTS
    ]
    return np.array([row / row.sum() for row in rows])


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """How a noisy release is shrunk: a prior of the mean's coefficients, and what was measured of them.

    prior: Of the coefficients, in squared units of the data times those of the domain.
    forms: array (M, K). What was measured is `forms @ coefficients` plus noise; by default the
        coefficients themselves.
    """

    prior: Prior
    forms: Floats | None = None

    def __post_init__(self) -> None:
        if self.forms is None:
            return
        freeze(self, "forms")
        forms = self.forms
        if forms.ndim != 2 or forms.shape[1] != self.prior.components or not np.all(np.isfinite(forms)):
            raise ParameterError(
                "forms", f"be finite, of shape (M, {self.prior.components})", f"{forms.shape}"
            )

    @property
    def measured(self) -> int:
        """How many numbers were measured."""
        return self.prior.components if self.forms is None else int(self.forms.shape[0])

    def to_json(self) -> dict[str, object]:
        """The hierarchy as JSON types."""
        forms = None if self.forms is None else array_to_json(self.forms)
        return {"prior": self.prior.to_json(), "forms": forms}

    @classmethod
    def from_json(cls, written: dict[str, object]) -> Hierarchy:
        """Build the hierarchy again."""
        forms = None if written["forms"] is None else array_from_json(written["forms"])
        return cls(Prior.from_json(written["prior"]), forms)


def normalized(shapes: Floats, norm: str) -> Floats:
    """Shapes (G, K) that fill a ball of radius one: sum one, or on the l1 ball a sum of roots of one."""
    sums = shapes.sum(axis=1) if norm != "l1" else np.sqrt(shapes).sum(axis=1) ** 2
    return np.asarray(shapes / sums[:, None])


# Since the second version a mean may be a constant, and the law of box noise is exact for it. Since the
# third that law is not taken as normal for any mean.
VERSION = 3
# Those of curves with known periods, and of groups that borrow, which earlier programs would leave out.
WITH_PERIODS, BORROWING = 4, 5
KIND = "curves between bounds"


def _none() -> Floats:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class CurvePrior:
    """Public ingredients of the estimate of a mean whose values are bounded.

    lower, upper: array (m,). Public bounds on the grid, in the units of the data.
    cells: Numbers of neighbouring grid points whose values were added up and got noise, in order. None
        where leading coefficients of the basis got it.
    centers: array (C, m). Public curves that the mean may be near to, in the units of the data; none by
        default.
    version: Of the constants.
    periods: Known cycles: their lengths, in shares of the domain's.
    near: array (P, S). What else speaks for curves near the one public curve: log evidence of each
        component around it, at each scale, against all others.
    Raises ParameterError if the parts do not fit each other, or a later version wrote them.
    """

    lower: Floats
    upper: Floats
    cells: tuple[int, ...] | None = None
    centers: Floats = field(default_factory=_none)
    version: int = VERSION
    periods: tuple[float, ...] = ()
    near: Floats = field(default_factory=_none)

    def __post_init__(self) -> None:
        freeze(self, "lower", "upper", "centers", "near")
        points = self.lower.size
        if self.lower.shape != (points,) or self.upper.shape != (points,) or points < 1:
            raise ParameterError("bounds", "be two curves on one grid", f"{self.upper.shape}")
        if not (np.all(np.isfinite(self.lower)) and np.all(self.lower < self.upper)):
            raise ParameterError("bounds", "be finite with lower < upper", "others")
        if self.cells is not None and (sum(self.cells) != points or min(self.cells) < 1):
            raise ParameterError("cells", f"hold {points} grid points, each at least one", "others")
        if self.centers.size and (self.centers.ndim != 2 or self.centers.shape[1] != points):
            raise ParameterError("prior", f"have curves of {points} values", f"{self.centers.shape}")
        if not np.all(np.isfinite(self.centers)):
            raise ParameterError("prior", "be finite curves", "NaN or infinity")
        if not all(0 < period <= 2 for period in self.periods):
            raise ParameterError("periods", "be shares of the grid, above 0 and at most 2", "others")
        if self.near.size and (len(self.centers) != 1 or not np.all(np.isfinite(self.near))):
            raise ParameterError(
                "near", "be finite, for one public curve", f"{len(self.centers)} curves"
            )
        latest = BORROWING if self.near.size else WITH_PERIODS if self.periods else VERSION
        check_version(self.version, latest)

    @property
    def width(self) -> Floats:
        """Distance (m,) between the bounds."""
        return np.asarray(self.upper - self.lower)

    @property
    def curves(self) -> Floats:
        """Public curves (C, m), in shares of the distance between the bounds."""
        if not self.centers.size:
            return np.empty((0, self.lower.size))
        return np.asarray(np.clip((self.centers - self.lower) / self.width, 0.0, 1.0))

    @property
    def labels(self) -> Integers:
        """Cell of each grid point (m,)."""
        counts = np.ones(self.lower.size, dtype=np.int64) if self.cells is None else self.cells
        return np.repeat(np.arange(len(counts)), counts)

    def to_json(self) -> dict[str, object]:
        """The ingredients as JSON types."""
        return {
            "kind": KIND,
            "version": self.version,
            "lower": array_to_json(self.lower),
            "upper": array_to_json(self.upper),
            "cells": None if self.cells is None else list(self.cells),
            **({"centers": array_to_json(self.centers)} if self.centers.size else {}),
            **({"periods": array_to_json(np.array(self.periods))} if self.periods else {}),
            **({"near": array_to_json(self.near)} if self.near.size else {}),
        }

    @classmethod
    def from_json(cls, written: dict[str, object]) -> CurvePrior:
        """Build the ingredients again."""
        return cls(
            array_from_json(written["lower"]),
            array_from_json(written["upper"]),
            None if written["cells"] is None else integers(written["cells"]),
            array_from_json(written["centers"]) if "centers" in written else _none(),
            integer(written["version"], 1),
            tuple(array_from_json(written["periods"]).tolist()) if "periods" in written else (),
            array_from_json(written["near"]) if "near" in written else _none(),
        )


IMAGE_VERSION = 1


@dataclass(frozen=True)
class ImagePrior:
    """Public ingredients of the estimate of a mean image whose values are bounded.

    lower, upper: Public bounds, in the units of the data.
    shape: Grid points along each axis.
    cells: Cells along each axis, of equal sizes, whose sums got noise.
    shrunk: Whether the estimate is the posterior mean; else cosines through what was measured.
    version: Of the constants.
    Raises ParameterError if the parts do not fit each other, or a later version wrote them.
    """

    lower: float
    upper: float
    shape: tuple[int, ...]
    cells: tuple[int, ...]
    shrunk: bool = True
    version: int = IMAGE_VERSION

    KIND: ClassVar[str] = "images between bounds"

    def __post_init__(self) -> None:
        if not (-math.inf < self.lower < self.upper < math.inf):
            raise ParameterError("bounds", "be finite with lower < upper", f"{self.lower}, {self.upper}")
        fits = len(self.shape) == len(self.cells) and all(
            1 <= count <= size for count, size in zip(self.cells, self.shape, strict=False)
        )
        if not fits:
            raise ParameterError(
                "cells", f"be 1 to the points of each axis {self.shape}", f"{self.cells}"
            )
        check_version(self.version, IMAGE_VERSION)

    @property
    def width(self) -> float:
        """Distance between the bounds."""
        return self.upper - self.lower

    @property
    def measured(self) -> int:
        """Number M of cells."""
        return math.prod(self.cells)

    @property
    def weight(self) -> int:
        """What the weights of the grid points in one cell add up to; the same for all cells."""
        return math.prod(
            math.lcm(size, count) // count for size, count in zip(self.shape, self.cells, strict=True)
        )

    @property
    def matrix(self) -> scipy.sparse.csr_array:
        """Sparse integer matrix (M, m) from values on the grid, in C order, to sums over cells.

        A grid point is a cell of the fine grid. Its weight in a coarse cell is the part of it that lies
        there, in common units: where the numbers of cells divide those of points all weights are one.
        """
        import scipy

        product = scipy.sparse.csr_array(np.ones((1, 1), dtype=np.int64))
        for size, count in zip(self.shape, self.cells, strict=True):
            product = scipy.sparse.kron(product, _overlaps(size, count), format="csr")
        return scipy.sparse.csr_array(product)

    def to_json(self) -> dict[str, object]:
        """The ingredients as JSON types."""
        return {"kind": self.KIND, **fields_to_json(self)}

    @classmethod
    def from_json(cls, written: dict[str, object]) -> ImagePrior:
        """Build the ingredients again."""
        return cls(
            number(written["lower"]),
            number(written["upper"]),
            integers(written["shape"]),
            integers(written["cells"]),
            written["shrunk"] is True,
            integer(written["version"], 1),
        )


def _overlaps(size: int, count: int) -> scipy.sparse.csr_array:
    """Matrix (count, size): common parts of equal cells and equal grid points, in common units."""
    import scipy

    common = math.lcm(size, count)
    edges = np.union1d(np.arange(0, common, common // count), np.arange(0, common, common // size))
    lengths = np.diff(np.append(edges, common))
    places = (edges * count // common, edges * size // common)
    return scipy.sparse.csr_array((lengths.astype(np.int64), places), shape=(count, size))
