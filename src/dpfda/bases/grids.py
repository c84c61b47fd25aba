"""Public grids: their checks, their domain and their quadrature weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import floats, number, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import LARGEST, SMALLEST, entries, reals, shown

# Widths of grid cells are differences of numbers of the size of the ends, with this relative error.
_ROUNDED = 2.0**-50
NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)


def frozen(array: Floats) -> Floats:
    """The array, read-only."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def freeze(record: object, *names: str) -> None:
    """Replace the arrays of a frozen record by read-only copies, in doubles."""
    for name in names:
        array = np.array(getattr(record, name), dtype=np.float64)
        array.setflags(write=False)
        object.__setattr__(record, name, array)


def check_grid(grid_points: object, shown: bool = True) -> Floats:
    """Read a grid: finite, strictly increasing, at least two points.

    grid_points: array (m,). Public grid.
    shown: Whether an error may name points. Not where they are the labels of a table: if its header line
        is missing, they are somebody's record.
    Raises ParameterError if it is anything else.
    """
    try:
        grid = reals(grid_points, "grid_points")
    except ParameterError:
        raise ParameterError("grid_points", "be numbers", "something else") from None
    if grid.ndim != 1 or grid.size < 2:
        words = "hold at least two points in one dimension"
        remedy = "A curve on a grid of one point is a number: use a library for numbers."
        raise ParameterError("grid_points", words, f"shape {grid.shape}", remedy)
    if not np.all(np.isfinite(grid)):
        raise ParameterError("grid_points", "be finite", "NaN or infinity")
    if np.abs(grid).max() > LARGEST:
        raise ParameterError("grid_points", "be of size at most 1e100", "larger ones")
    steps = np.diff(grid)
    if np.any(steps <= 0):
        place = int(np.argmax(steps <= 0))
        pair = f"{float(grid[place])!r}, {float(grid[place + 1])!r} "
        points = pair if shown else ""
        kind = "repeated" if steps[place] == 0 else "unsorted"
        raise ParameterError(
            "grid_points",
            "increase strictly",
            f"{kind} points {points}at positions {place} and {place + 1}",
            "Sort the grid and the columns of the data together.",
        )
    return frozen(grid)


def check_domain(domain_range: object, grid: Floats | None = None) -> tuple[float, float]:
    """Read a domain (a, b), by default the span of the grid.

    Raises ParameterError if it is empty, infinite or leaves out a grid point.
    """
    if domain_range is None:
        if grid is None:
            return (0.0, 1.0)
        return (float(grid[0]), float(grid[-1]))
    try:
        first, last = entries(domain_range)
        start, end = (float(reals(value, "domain")) for value in (first, last))
    except (TypeError, ValueError):
        raise ParameterError("domain", "be two numbers (a, b)", shown(domain_range)) from None
    if not (math.isfinite(start) and math.isfinite(end) and start < end):
        raise ParameterError("domain", "be finite with a < b", f"({start!r}, {end!r})", "Swap the ends?")
    if max(abs(start), abs(end)) > LARGEST or end - start < SMALLEST:
        words = "have ends of size at most 1e100 and a length of at least 1e-100"
        raise ParameterError("domain", words, f"({start!r}, {end!r})")
    if grid is not None and not (start <= grid[0] and grid[-1] <= end):
        raise ParameterError(
            "domain",
            "contain the grid",
            f"({start!r}, {end!r}) for a grid from {float(grid[0])!r} to {float(grid[-1])!r}",
        )
    return (start, end)


def equally_spaced(points: int, domain_range: tuple[float, float]) -> Floats:
    """Grid of equally spaced points, ends included."""
    return check_grid(np.linspace(*domain_range, points))


def quadrature_weights(rule: object, grid: Floats, domain_range: tuple[float, float]) -> Floats:
    """Quadrature weights that add up to the length of the domain.

    rule: {"trapezoid", "uniform"} or array (m,). "trapezoid" is the trapezoid rule, with the gap between
        the outermost points and the ends of the domain given to those points; "uniform" gives each point
        the same weight.
    grid: array (m,).
    domain_range: (float, float).
    """
    (start, end), words = domain_range, "be 'trapezoid', 'uniform' or an array of weights"
    if isinstance(rule, str):
        if rule == "uniform":
            weights = np.full(grid.size, (end - start) / grid.size)
        elif rule == "trapezoid":
            edges = np.concatenate([[start], (grid[1:] + grid[:-1]) / 2, [end]])
            weights = np.diff(edges)
            mirrored = weights[::-1]
            if np.max(np.abs(weights - mirrored)) <= _ROUNDED * max(abs(start), abs(end)):
                # A grid that is its own mirror image up to rounding gets weights that exactly are.
                weights = (weights + mirrored) / 2
        else:
            raise ParameterError("quadrature", words, repr(rule))
    else:
        try:
            weights = reals(rule, "quadrature")
        except ParameterError:
            raise ParameterError("quadrature", words, shown(rule)) from None
        if weights.shape != grid.shape or not np.all(np.isfinite(weights) & (weights > 0)):
            raise ParameterError(
                "quadrature",
                f"be {grid.size} positive finite weights, one a grid point",
                f"shape {weights.shape}",
            )
    return frozen(weights)


def public_grid(
    grid_points: object, domain_range: object, quadrature: object
) -> tuple[Floats, tuple[float, float], Floats]:
    """Read a grid, its domain and its quadrature weights."""
    grid = check_grid(grid_points)
    domain = check_domain(domain_range, grid)
    return grid, domain, quadrature_weights(quadrature, grid, domain)


def first_signs(columns: Floats) -> Floats:
    """Sign of the first entry (k,) of each column that is above half of its largest, or zero."""
    sizes = np.abs(columns)
    first = np.argmax(sizes > sizes.max(axis=0) / 2, axis=0)
    return np.asarray(np.sign(columns[first, np.arange(columns.shape[1])]))


def grid_to_json(grid: Floats, domain_range: tuple[float, float], weights: Floats) -> dict[str, object]:
    """The grid of functions on an interval, as JSON types."""
    return {
        "domain_range": list(domain_range),
        "grid_points": grid.tolist(),
        "weights": weights.tolist(),
    }


def grid_from_json(written: Mapping[str, object]) -> tuple[Floats, tuple[float, float], Floats]:
    """Grid, domain and weights again."""
    start, end = map(number, sequence(written["domain_range"]))
    return floats(written["grid_points"]), (start, end), floats(written["weights"])


def check_points(points: object, domain_range: tuple[float, float]) -> Floats:
    """Read points at which a function is evaluated: finite and inside the domain."""
    values = np.atleast_1d(reals(points, "points"))
    if values.ndim != 1:
        raise ParameterError("points", "be a number or one-dimensional", f"shape {values.shape}")
    start, end = domain_range
    slack = 1e-9 * (end - start)
    if not np.all(np.isfinite(values)):
        raise ParameterError("points", "be finite", "NaN or infinity")
    outside = (values < start - slack) | (values > end + slack)
    if np.any(outside):
        words = f"lie in the domain [{start!r}, {end!r}]"
        remedy = "A release says nothing outside its domain."
        raise ParameterError("points", words, repr(float(values[int(np.argmax(outside))])), remedy)
    return np.clip(values, start, end)


def check_point(point: ArrayLike, domain_range: tuple[float, float]) -> float:
    """Read one point of the domain."""
    values = check_points(point, domain_range)
    if np.ndim(point) or values.size != 1:
        raise ParameterError("point", "be one number", shown(point))
    return float(values[0])


def check_box_points(points: object, domain_range: Sequence[tuple[float, float]]) -> tuple[Floats, bool]:
    """Read points at which a function of d variables is evaluated.

    domain_range: sequence of d pairs (a, b).
    Returns array (q, d), bool: The points, inside the domain; and whether a single one was given.
    """
    numbers = reals(points, "points")
    axes = len(domain_range)
    single = numbers.ndim == 0 or (numbers.ndim == 1 and axes > 1)
    at = numbers.reshape(-1, 1) if axes == 1 and numbers.ndim < 2 else np.atleast_2d(numbers)
    if at.ndim != 2 or at.shape[1] != axes:
        raise ParameterError("points", f"have shape (q, {axes})", f"shape {numbers.shape}")
    columns = [check_points(at[:, i], ends) for i, ends in enumerate(domain_range)]
    return np.stack(columns, axis=1), single


def product_points(axes: Sequence[Floats]) -> Floats:
    """Points (q, d) of a rectangular grid, the last coordinate running fastest."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def middles(ends: tuple[float, float], cells: int) -> Floats:
    """Middles (cells,) of equal cells between two ends."""
    start, end = ends
    return np.asarray(start + (end - start) * (np.arange(cells) + 0.5) / cells)


def gauss(edges: Floats) -> tuple[Floats, Floats]:
    """Points and weights of Gauss-Legendre quadrature, eight between neighbouring edges (k,)."""
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * NODES).ravel(), (half * NODE_WEIGHTS).ravel()


def piecewise(grid: Floats, curve: Floats, points: Floats, order: int = 0) -> Floats:
    """A curve on a grid, linear between its points and constant beyond, or a derivative of it.

    grid, curve: array (m,).
    points: array (k,).
    order: Of the derivative.
    """
    if order == 0:
        return np.asarray(np.interp(points, grid, curve))
    if order > 1:
        return np.zeros_like(points)
    slopes = np.diff(curve) / np.diff(grid)
    cell = np.clip(np.searchsorted(grid, points, "right") - 1, 0, slopes.size - 1)
    return np.where((points >= grid[0]) & (points <= grid[-1]), slopes[cell], 0.0)
