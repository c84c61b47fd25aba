"""What the default mean of images between bounds is estimated from, beside noisy numbers: all public.

As `dpfda.bases.curve_priors`, for functions of several variables. The estimate, and every constant in
it, is `dpfda.estimates.images`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpfda.numerics.encoding import check_version, fields_to_json, integer, integers, number
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    import scipy

VERSION = 1


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
    version: int = VERSION

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
        check_version(self.version, VERSION)

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

        made = scipy.sparse.csr_array(np.ones((1, 1), dtype=np.int64))
        for size, count in zip(self.shape, self.cells, strict=True):
            made = scipy.sparse.kron(made, _overlaps(size, count), format="csr")
        return scipy.sparse.csr_array(made)

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

    whole = math.lcm(size, count)
    edges = np.union1d(np.arange(0, whole, whole // count), np.arange(0, whole, whole // size))
    lengths = np.diff(np.append(edges, whole))
    places = (edges * count // whole, edges * size // whole)
    return scipy.sparse.csr_array((lengths.astype(np.int64), places), shape=(count, size))
