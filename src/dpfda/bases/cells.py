"""Cells: a box cut by public edges, the cell of a point, and cosine functions averaged over cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_domain, frozen
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import check_grid_size, floats, integers, mapping, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import entries, reals, shown, whole, wholes

Domain = tuple[tuple[float, float], ...]

LARGEST_DIMENSION = 3
# More cells than this would not fit into the memory of what works on them.
LARGEST_CELLS = 2**24
# Edges count as equally spaced where no width is off by more than this share; and a point is at an atom
# if it is as near, in shares of the interval.
EQUAL = CLOSE = 1e-9


class HasEdges(Protocol):
    """A scale, on which cells are equal."""

    def edges(self, cells: int, /) -> Floats: ...


@dataclass(frozen=True, eq=False)
class CellGrid:
    """A box in one to three dimensions, cut into cells by public edges along each axis.

    Build one with `regular` or `from_edges`.

    Parameters
    ----------
    edges : tuple of d arrays (m_i + 1,)
        Strictly increasing, in the units of the axis. Public.
    atoms : tuple of float
        Of an interval: values that have places of their own, after those of the cells. Public.

    Examples
    --------
    >>> cells = CellGrid.regular(4, (0, 100))
    >>> cells.index(np.array([[-3.0], [0.0], [25.0], [99.0], [1000.0]]))
    array([0, 0, 1, 3, 3])
    """

    edges: tuple[Floats, ...]
    atoms: tuple[float, ...] = ()

    @classmethod
    def regular(cls, shape: int | Sequence[int], domain_range: object) -> CellGrid:
        """Cells of equal width.

        shape: Number of cells along each axis; one number is for all of them.
        domain_range: (a, b) or d pairs (a, b). Ends of the box.
        """
        domain = box_domain(domain_range)
        several = isinstance(shape, list | tuple) or (isinstance(shape, np.ndarray) and shape.ndim > 0)
        words = f"be a positive integer or {len(domain)} of them, one an axis"
        if several:
            counts = wholes(shape, "cells", len(domain), words=words)
        else:
            counts = (whole(shape, "cells", words=words),) * len(domain)
        if math.prod(counts) > LARGEST_CELLS:
            raise ParameterError("cells", f"be at most {LARGEST_CELLS} in all", shown(shape))
        ends = zip(domain, counts, strict=True)
        return cls(tuple(frozen(np.linspace(a, b, count + 1)) for (a, b), count in ends))

    @classmethod
    def from_edges(cls, edges: ArrayLike | Sequence[ArrayLike]) -> CellGrid:
        """Cells between given edges: an array for an interval, a tuple of d arrays for a box.

        Raises ParameterError if the edges of an axis are not finite and strictly increasing.
        """
        several = isinstance(edges, tuple | list) and len(edges) > 0 and np.ndim(edges[0]) > 0
        axes = tuple(_check_edges(axis) for axis in (entries(edges) if several else (edges,)))
        if len(axes) > LARGEST_DIMENSION:
            raise ParameterError("edges", "be for one to three axes", f"{len(axes)} axes")
        return cls(axes)

    @property
    def dimensions(self) -> int:
        """Number d of axes."""
        return len(self.edges)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis."""
        return tuple(axis.size - 1 for axis in self.edges)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def places(self) -> int:
        """Number of cells and atoms: in one of them each point is counted."""
        return self.size + len(self.atoms)

    @property
    def domain_range(self) -> Domain:
        """Ends of the box along each axis."""
        return tuple((float(axis[0]), float(axis[-1])) for axis in self.edges)

    @property
    def volume(self) -> float:
        """Length, area or volume of the box."""
        return math.prod(b - a for a, b in self.domain_range)

    @cached_property
    def is_regular(self) -> bool:
        """Whether all cells are of one size."""
        widths = [np.diff(axis) for axis in self.edges]
        return all(bool(np.ptp(width) <= EQUAL * width.mean()) for width in widths)

    @cached_property
    def shares(self) -> Floats:
        """Share of the box's volume in each cell, in the shape of the cells."""
        total = np.ones(())
        for axis in self.edges:
            total = np.multiply.outer(total, np.diff(axis) / (axis[-1] - axis[0]))
        return frozen(total)

    def midpoints(self) -> tuple[Floats, ...]:
        """Midpoints of the cells along each axis."""
        return tuple((axis[:-1] + axis[1:]) / 2 for axis in self.edges)

    def index(self, points: Floats) -> Integers:
        """Number of the cell of each point, the last axis running fastest; after these, of its atom.

        points: array (n, d). No NaN. A point on an edge belongs to the cell above it; one outside the
            box to the nearest cell. Entry i depends on point i alone.
        """
        number = np.zeros(len(points), dtype=np.int64)
        for column, axis in zip(points.T, self.edges, strict=True):
            number = number * (axis.size - 1) + np.searchsorted(axis[1:-1], column, side="right")
        for place, atom in enumerate(self.atoms, self.size):
            a, b = self.domain_range[0]
            number[np.abs(np.clip(points[:, 0], a, b) - atom) <= CLOSE * (b - a)] = place
        return number

    def along(self, scale: HasEdges) -> CellGrid:
        """The cells in the units of the data, where these are cells from 0 to 1 of a scale."""
        return CellGrid((frozen(scale.edges(self.size)),), self.atoms)

    def describe(self) -> str:
        """Say in words what the cells are."""
        kind = "equal cells" if self.is_regular else "cells"
        domain = " x ".join(f"[{a:g}, {b:g}]" for a, b in self.domain_range)
        return f"{' x '.join(map(str, self.shape))} {kind} on {domain}{self.atoms_words}"

    @property
    def atoms_words(self) -> str:
        """Words for the atoms, after those for the cells; "" where there are none."""
        values = ", ".join(f"{atom:g}" for atom in self.atoms)
        subject = "the value" if len(self.atoms) == 1 else "each of the values"
        return f", and one for {subject} {values}" if self.atoms else ""

    def to_json(self) -> dict[str, object]:
        """Edges as JSON types; for equal cells their number and the ends; atoms where there are any."""
        atoms = {"atoms": list(self.atoms)} if self.atoms else {}
        if all(np.array_equal(axis, np.linspace(axis[0], axis[-1], axis.size)) for axis in self.edges):
            return {
                "shape": list(self.shape),
                "domain_range": [list(ends) for ends in self.domain_range],
                **atoms,
            }
        return {"edges": [axis.tolist() for axis in self.edges], **atoms}

    @classmethod
    def from_json(cls, entries: object) -> CellGrid:
        """Build the cells again."""
        written = mapping(entries)
        atoms = floats(written.get("atoms", [])).tolist()
        if "edges" in written:
            grid = cls.from_edges(tuple(floats(axis) for axis in sequence(written["edges"])))
            return grid.with_atoms(atoms)
        check_grid_size(written["shape"])
        ends = floats(written["domain_range"]).tolist()
        grid = cls.regular(integers(written["shape"]), [(start, stop) for start, stop in ends])
        return grid.with_atoms(atoms)

    def with_atoms(self, atoms: Sequence[float]) -> CellGrid:
        """The same with values that have places of their own.

        Raises ParameterError if they do not lie on an interval, in their order.
        """
        (a, b), *others = self.domain_range
        if atoms and (others or np.any(np.diff([a, *atoms, b]) < 0)):
            words = f"be values on an interval, here from {a:g} to {b:g}"
            raise ParameterError("atoms", words, shown(list(atoms)))
        return replace(self, atoms=tuple(atoms)) if atoms else self


def box_domain(domain_range: object, most: int = LARGEST_DIMENSION) -> Domain:
    """Read the ends of a box: one pair of numbers for an interval, or one to three pairs.

    Raises ParameterError if they are missing or anything else.
    """
    several = isinstance(domain_range, list | tuple) or (
        isinstance(domain_range, np.ndarray) and domain_range.ndim > 0
    )
    pairs = entries(domain_range) if several else []
    if len(pairs) == 2 and not any(isinstance(end, list | tuple | np.ndarray) for end in pairs):
        return (check_domain(tuple(pairs)),)
    if not 1 <= len(pairs) <= most:
        words = f"be (a, b), or up to {most} pairs (a, b), one an axis"
        remedy = "The ends must be public: the span of the data is private."
        raise ParameterError("domain", words, shown(domain_range), remedy)
    return tuple(check_domain(pair) for pair in pairs)


def cosines(modes: int, position: Floats) -> Floats:
    """Values (q, modes) of 1, 2^(1/2) cos(pi k t) at positions in [0, 1]: orthonormal there."""
    values = np.sqrt(2.0) * np.cos(np.pi * np.outer(position, np.arange(modes)))
    values[:, 0] = 1.0
    return np.asarray(values)


def cell_averages(modes: int, edges: Floats) -> Floats:
    """Averages (m, modes) of the cosine functions over the cells between edges in [0, 1]."""
    k = np.arange(1, modes)
    primitive = np.sqrt(2.0) * np.sin(np.pi * np.outer(edges, k)) / (np.pi * k)
    averages = np.ones((edges.size - 1, modes))
    averages[:, 1:] = np.diff(primitive, axis=0) / np.diff(edges)[:, None]
    return averages


def analyse(values: Floats, dimensions: int | None = None) -> Floats:
    """Cosine coefficients of a function from its values at cell midpoints, by a fast transform.

    dimensions: Number of the last axes that are variables; others are of several functions.
    """
    axes = range(-(values.ndim if dimensions is None else dimensions), 0)
    coefficients = scipy.fft.dctn(values, norm="ortho", axes=axes, workers=1)
    return np.asarray(coefficients / math.sqrt(math.prod(values.shape[axis] for axis in axes)))


def synthesise(coefficients: Floats, shape: Sequence[int]) -> Floats:
    """Values at the midpoints of a regular grid of a cosine sum, by a fast transform.

    Several functions are along the first axes of coefficients. Those that oscillate faster than the grid
    resolves are folded onto those that agree with them at its midpoints, so the values are those of the
    whole sum.
    """
    folded, axes = coefficients, range(-len(shape), 0)
    for axis, cells in zip(axes, shape, strict=True):
        folded = np.moveaxis(_fold(np.moveaxis(folded, axis, 0), cells), 0, axis)
    values = scipy.fft.idctn(folded, norm="ortho", axes=axes, workers=1)
    return np.asarray(values * math.sqrt(math.prod(shape)))


@lru_cache(maxsize=64)
def aliases(modes: int, cells: int) -> tuple[Integers, Floats]:
    """What a cosine function looks like at the midpoints of equal cells.

    Returns
    -------
    array (modes,) of int
        Number j < cells of the function with the same values at midpoints; `cells` where they are all
        zero.
    array (modes,)
        Their sign: 1, -1, or 0 where the values are zero.
    """
    k = np.arange(modes)
    turn, rest = np.divmod(k, 2 * cells)
    like = np.where(rest <= cells, rest, 2 * cells - rest)
    sign = np.where(turn % 2 == 0, 1.0, -1.0) * np.where(rest > cells, -1.0, 1.0)
    # All functions but the first have the factor 2^(1/2), also those that look constant.
    sign = np.where((like == 0) & (k > 0), sign * math.sqrt(2.0), sign)
    like.setflags(write=False)
    return like, frozen(np.where(like == cells, 0.0, sign))


def _fold(coefficients: Floats, cells: int) -> Floats:
    _, sign = aliases(len(coefficients), cells)
    return gathered(coefficients * sign.reshape(-1, *[1] * (coefficients.ndim - 1)), cells)


def gathered(values: Floats, cells: int) -> Floats:
    """Sums (cells, ..) of rows over functions that look alike at midpoints: there and back in turns."""
    summed = np.zeros((cells, *values.shape[1:]))
    for start in range(0, len(values), 2 * cells):
        there, back = values[start : start + cells], values[start + cells + 1 : start + 2 * cells]
        summed[: len(there)] += there
        summed[cells - len(back) :] += back[::-1]
    return summed


def _check_edges(edges: object) -> Floats:
    axis = reals(edges, "edges")
    if axis.ndim != 1 or axis.size < 2 or not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
        words = "be finite and strictly increasing, one more than cells along each axis"
        remedy = "Close an open last cell, such as 100+, by a public number."
        raise ParameterError("edges", words, f"an array of shape {axis.shape}", remedy)
    return frozen(axis)
