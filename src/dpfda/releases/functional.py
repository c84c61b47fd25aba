"""Releases as functional data of scikit-fda (extra `fda`): post-processing, at no cost to privacy."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.bases.grids import product_points
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import MissingExtraError, ParameterError
from dpfda.numerics.parameters import reals, shown
from dpfda.releases.published import Published

if TYPE_CHECKING:
    from skfda import FDataBasis, FDataGrid
    from skfda.representation.basis import Basis

# Points of each variable where a release has no grid of its own.
POINTS = 101
# Points, beside those of the grid, on which a function is projected onto a basis.
FINE = 1001


def to_fdatagrid(release: Published, points: object = None) -> FDataGrid:
    """The functions of a release on a grid; see `Release.to_fdatagrid`."""
    skfda = scikit_fda()
    axes = _axes(release, points)
    names, values = zip(*release._functions(product_points(axes)).items(), strict=True)
    matrix = np.stack(values).reshape(len(names), *(axis.size for axis in axes), 1)
    coordinates: tuple[str, ...] = (release._value_label,)
    if release._vector_valued:
        # Values of one function, and not several functions.
        matrix, coordinates = np.moveaxis(matrix, 0, -1)[..., 0, :][None], names
        names = (release._subject,)
    arguments = tuple(release._axis_label(i) for i in range(len(axes)))
    named = {"argument_names": arguments, "coordinate_names": coordinates, "sample_names": names}
    where = {"grid_points": list(axes), "domain_range": _ends(release)}
    data: FDataGrid = skfda.FDataGrid(matrix, **where, **named, dataset_name=release._title)
    return data


def to_basis(release: Published, basis: Basis) -> FDataBasis:
    """The functions of a release in a basis of scikit-fda; see `Release.to_basis`."""
    ends = _ends(release)
    if len(ends) != 1:
        raise ParameterError(
            "release", "be of one variable", f"{len(ends)}", "release.to_fdatagrid().to_basis(...)"
        )
    if getattr(basis, "dim_domain", 0) != 1:
        raise ParameterError("basis", "be a basis of scikit-fda of one variable", shown(basis))
    fine = np.linspace(*ends[0], FINE)
    data = to_fdatagrid(release, np.union1d(fine, _axes(release, None)[0]))
    dimension = getattr(basis, "dim_codomain", 1)
    if dimension != data.dim_codomain:
        words = f"be a basis of functions with {data.dim_codomain} value(s)"
        remedy = "For several values: a VectorValuedBasis of one basis each."
        raise ParameterError("basis", words, f"{dimension}", remedy)
    return data.to_basis(basis)


def scikit_fda() -> ModuleType:
    """The package.

    Raises MissingExtraError if it is not installed, or cannot be imported beside a package that it
    needs.
    """
    try:
        import skfda
        import skfda.preprocessing.smoothing
    except (ImportError, TypeError):
        # With multimethod from 2.1 on, scikit-fda 0.10 fails with a TypeError.
        raise MissingExtraError("scikit-fda", "fda", "Handing over functional data") from None
    return skfda


def _ends(release: Published) -> list[tuple[float, float]]:
    """Ends of the domain in each variable: finite ones, also where any point may be asked for."""
    ends = list(release._axes.values())
    if np.isfinite(ends).all():
        return ends
    return [(float(a), float(b)) for a, b in np.reshape(release.domain_range, (-1, 2))]


def _inside(points: object, ends: tuple[float, float]) -> Floats:
    axis = reals(points, "points")
    inside = axis.ndim == 1 and axis.size > 0 and ends[0] <= axis[0] and axis[-1] <= ends[1]
    if not (inside and np.all(np.diff(axis) > 0)):
        words = f"increase, inside the domain from {ends[0]:g} to {ends[1]:g}"
        raise ParameterError("points", words, shown(points))
    return axis


def _axes(release: Published, points: Any) -> tuple[Floats, ...]:
    if not callable(release) and not hasattr(release, "means"):
        words = "be a function of numbers"
        raise ParameterError("release", words, type(release).__name__, "Use release.to_frame().")
    ends = _ends(release)
    if points is not None:
        several = len(ends) > 1 and isinstance(points, list | tuple) and np.ndim(points[:1]) != 1
        stated = points if several else [points] * len(ends)
        if len(stated) != len(ends):
            raise ParameterError("points", f"be one array, or {len(ends)}", f"{len(stated)}")
        return tuple(_inside(axis, limits) for axis, limits in zip(stated, ends, strict=True))
    own = getattr(release, "grid_points", None)
    if isinstance(own, np.ndarray):
        return (own,) * len(ends)
    return own if own is not None else tuple(np.linspace(a, b, POINTS) for a, b in ends)
