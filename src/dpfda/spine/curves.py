"""Curves as an estimator is handed them, and the public basis that its settings choose for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.bases import Basis, BoxBasis, KernelBasis
from dpfda.bases.centred import CentredBasis
from dpfda.bases.grids import check_domain, check_grid, equally_spaced
from dpfda.bases.kernels import default_kernel, parse_kernel
from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import MOST_NUMBERS, shown, whole
from dpfda.records import Curves, LongCurves, curves_from_long, standardized, units
from dpfda.records.containers import check_dimensions, shape_of
from dpfda.records.doors import Handed
from dpfda.records.frames import Container, is_dask
from dpfda.records.labels import unit_codes, units_of
from dpfda.spine.arguments import Functions
from dpfda.spine.choices import is_basis
from dpfda.spine.embedding import embedding_of, moves
from dpfda.spine.settings import Settings
from dpfda.spine.sums import Readable, matrix_on, read_block

# Points of the grid where nothing says how many: of irregular curves, and of plans.
POINTS = 101
# Grids are one where they agree to this share of their span.
CLOSE = 1e-9


def read_curves(
    settings: Settings, basis: Functions, X: object, groups: object = None, boxes: bool = False
) -> tuple[object, Basis, object]:
    """The values as they are, the public basis for them, and the units' labels.

    basis: As an estimator takes it.
    X, groups: As in `PrivateMean.fit`. Private.
    boxes: Whether functions of several variables may be read.
    Raises DataError, OrientationError or ParameterError if the public side of the data does not fit.
    """
    first = settings.domain.grid_points
    stated = basis.grid_points if is_basis(basis) else first
    opened = Container.of(X, groups).curves(stated, settings.reading.invalid)
    if is_basis(basis):
        if first is None:
            check_same_grid(basis, opened, settings.reading)
        return opened.values, basis, opened.groups
    if isinstance(opened.grid, tuple):
        if not boxes:
            raise DataError(
                f"X must be curves on an interval; found functions of {len(opened.grid)} variables."
            )
        return opened.values, _box(settings, basis, opened.grid), opened.groups
    grid, ends = grid_of(settings, opened), settings.domain.domain_range
    ends = opened.domain_range if ends is None else ends
    return opened.values, _made(settings, basis, grid, check_domain(ends, grid)), opened.groups


def check_in_memory(X: object) -> None:
    """Refuse records on a cluster, or on grids of their own, where whole curves are looked at."""
    if is_dask(X) or isinstance(X, LongCurves):
        raise DataError("X must be curves on a common grid, in memory; found " + type(X).__name__ + ".")


def read_matrix(
    settings: Settings, basis: Functions, X: object, groups: object
) -> tuple[Cells, Basis, object]:
    """Curves on a common grid (n, m) as they are, the public basis for them, and the units' labels.

    Raises as `read_curves`, and where curves are on grids of their own.
    """
    values, own, labels = read_curves(settings, basis, X, groups)
    if isinstance(values, LongCurves):
        raise DataError("X must be curves on a common grid; found irregular ones.")
    return matrix_on(values, own, settings.reading), own, labels


def check_same_grid(basis: Basis, handed: Handed, reading: object = None) -> None:
    """Refuse functions on another grid than that of the basis, unless they are moved to it.

    Raises ParameterError if the grid that the data came with is another; grids are public.
    """
    if handed.grid is None or moves(reading):
        return
    given, stated = (
        points if isinstance(points, tuple) else (points,) for points in (handed.grid, basis.grid_points)
    )
    same = [axis.size for axis in given] == [axis.size for axis in stated] and all(
        np.allclose(a, b, rtol=0, atol=CLOSE * float(np.ptp(b)))
        for a, b in zip(given, stated, strict=True)
    )
    if not same:
        raise ParameterError(
            "X",
            "be on the grid of the basis, or of the release",
            f"{' x '.join(str(axis.size) for axis in given)} other points",
            "Take the functions to it first: fd.to_grid(basis.grid_points).",
        )


def _box(settings: Settings, kernel: object, axes: tuple[Floats, ...]) -> Any:
    """Cosines on the box of which these equally spaced points are the midpoints of cells."""
    words = "be a BoxBasis for functions of several variables"
    if kernel is not None:
        raise ParameterError("basis", words, shown(kernel), "Or leave it out.")
    steps = [np.diff(axis) for axis in axes]
    if not all(
        step.size and np.ptp(step) <= CLOSE * float(np.ptp(axis))
        for step, axis in zip(steps, axes, strict=True)
    ):
        raise ParameterError(
            "basis", words, "None and unequal steps of the grid", "Pass fd.to_grid(...)."
        )
    box = [
        (axis[0] - step[0] / 2, axis[-1] + step[0] / 2) for axis, step in zip(axes, steps, strict=True)
    ]
    return BoxBasis.on_grid("cosine", [axis.size for axis in axes], box)


def public_basis(settings: Settings, basis: Functions, columns: object = POINTS) -> Basis:
    """The basis that `read_curves` would make for records with these columns.

    settings, basis: As in `read_curves`.
    columns: int or array (m,). Number of equally spaced points, or the points, where the domain has no
        grid.
    """
    if is_basis(basis):
        return basis
    stated, ends = settings.domain.grid_points, settings.domain.domain_range
    if stated is None and (isinstance(columns, str) or not np.iterable(columns)):
        span = check_domain((0.0, 1.0) if ends is None else ends)
        grid = equally_spaced(whole(columns, "columns", 2, MOST_NUMBERS), span)
    else:
        grid = check_grid(columns if stated is None else stated)
    return _made(settings, basis, grid, check_domain(ends, grid))


def grid_of(settings: Settings, handed: Handed) -> Floats:
    """The public grid: as stated, as the data came with, or equally spaced points, one a column."""
    values, ends = handed.values, settings.domain.domain_range
    if settings.domain.grid_points is not None:
        return np.asarray(settings.domain.grid_points)
    if handed.grid is not None:
        return check_grid(handed.grid, shown=False)
    domain = check_domain((0.0, 1.0) if ends is None else ends)
    if isinstance(values, LongCurves):
        stated_ends(ends)
        return equally_spaced(POINTS, domain)
    shape = shape_of(values)
    several = (
        " For the mean of images pass basis=BoxBasis.on_grid('cosine', (height, width), [(0, 1), "
        "(0, 1)]); for several values at every point take PrivateVectorMean."
    )
    check_dimensions(shape, more=several if len(shape) == 3 else "")
    if shape[1] < 2 and not moves(settings.reading):
        raise DataError(
            f"X must have at least two grid points; found {shape[1]} feature(s) "
            f"(shape=({shape[0]}, {shape[1]})) while a minimum of 2 is required."
        )
    return equally_spaced(max(2, shape[1]), domain)[: shape[1]]


def stated_ends(ends: object) -> object:
    """The public ends of the domain of irregular curves. Raises ParameterError if there are none."""
    if ends is None:
        remedy = "The span of the observed times is private; pass the public ends, $domain."
        words = "be given for irregular curves"
        raise ParameterError("domain", words, "None", remedy, domain=["a", "b"])
    return ends


def _made(settings: Settings, kernel: object, grid: Floats, domain: tuple[float, float]) -> Basis:
    embedding = embedding_of(settings.reading)
    if embedding is not None and embedding.moved:
        grid = check_grid(embedding.points(grid))
        domain = check_domain(domain if domain[0] <= grid[0] and grid[-1] <= domain[1] else None, grid)
    if kernel is None:
        kernel = default_kernel(domain)
    elif isinstance(kernel, str):
        kernel = parse_kernel(kernel, domain)
    basis = KernelBasis.on_grid(kernel, grid, domain, settings.domain.quadrature)
    # Standardised curves integrate to zero: noise on their mean level would be for nothing.
    return CentredBasis.of(basis) if settings.reading.standardize else basis


def unit_curves(
    settings: Settings, basis: Basis, values: object, groups: object
) -> tuple[Curves, object]:
    """One curve a privacy unit, on the grid of the basis, and the units' labels. Private.

    settings, basis: Public.
    values, groups: As `read_curves` returned them.
    """
    reading = settings.reading
    if isinstance(values, LongCurves):
        groups = values.record_groups(reading.invalid) if groups is None else groups
        if embedding_of(reading) is not None:
            words = "be curves on one grid, for a class that embeds records"
            raise ParameterError("X", words, "irregular curves", "Bring them to one grid first.")
        curves = curves_from_long(values, basis, reading.nugget, reading.invalid)
        curves = standardized(curves, basis.weights) if reading.standardize else curves
    else:
        curves = read_block(matrix_on(values, basis, reading), basis, reading)
    if groups is not None:
        curves = units(curves, unit_codes(groups, curves.usable.size, reading.invalid))
    return curves, groups


def readable(
    settings: Settings, basis: Basis, values: object, groups: object
) -> tuple[Readable, int, object]:
    """Records that can be read under any plan, how many units they are, and the labels of these.

    Of a matrix the shape alone is looked at; parameters as of `unit_curves`. Private.
    """
    if isinstance(values, LongCurves):
        curves, groups = unit_curves(settings, basis, values, groups)
        return Readable(curves), curves.usable.size, groups
    matrix = matrix_on(values, basis, settings.reading)
    codes, count = units_of(groups, len(matrix), settings.reading.invalid, in_order=False)
    return Readable(matrix, codes), count, groups


def is_pooled(settings: Settings, X: object) -> bool:
    """Whether observations are pooled: by the parameter, else by the input's layout. Both are public."""
    missing = settings.reading.missing
    return missing == "pooled" or (missing == "refuse" and Container.of(X).irregular)


def refuse_pooled(settings: Settings, X: object) -> None:
    """Refuse what would be pooled where one sum of functions is wanted. Raises ParameterError."""
    if is_pooled(settings, X):
        words = "be 'complete' for irregular curves where one sum of functions is wanted"
        remedy = "Observations are pooled by fit alone: not for streams, blocks, Dask and sessions."
        raise ParameterError("missing", words, repr(settings.reading.missing), remedy)
