"""Scales: an interval mapped onto [0, 1] by a smooth increasing function, on which cells are equal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpfda.bases.cells import box_domain
from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import floats
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.numerics.parameters import reals, shown

# Knots of a scale that is a function: so many that its spline is told from it by no release.
PIECES = 256
# Where a callable is tabulated before it is inverted.
TABULATED = 2**14


@dataclass(frozen=True, eq=False)
class Scale:
    """An increasing function from an interval onto [0, 1], by its knots.

    Between two neighbouring knots lies the same length of the scale. It is the monotone rational
    quadratic spline through them (Gregory & Delbourgo 1982), continuous with its slope, whose inverse is
    in closed form; its slopes at knots are weighted harmonic means of the neighbouring differences.

    Parameters
    ----------
    knots : array (k + 1,)
        Strictly increasing, in the units of the data; the first and last are the ends. Public.

    Examples
    --------
    >>> scale = Scale.log((1.0, 100.0))
    >>> scale.positions(10.0).round(6), scale.points(0.5).round(4)
    (np.float64(0.5), np.float64(10.0))
    """

    knots: Floats

    @classmethod
    def through(cls, knots: object, domain_range: object) -> Scale:
        """A scale of public points of the data's axis, such as quantiles of an earlier publication.

        knots: array (k,). Strictly increasing and inside the domain; its ends need not be among them.
        domain_range: (a, b).
        Raises ParameterError.
        """
        ((a, b),) = box_domain(domain_range)
        inner = reals(knots, "scale")
        if inner.ndim != 1 or not 1 <= inner.size <= TABULATED or not np.all(np.isfinite(inner)):
            raise ParameterError("scale", "hold a number or more", f"shape {inner.shape}")
        every = np.concatenate([[a][: int(inner[0] != a)], inner, [b][: int(inner[-1] != b)]])
        if np.any(np.diff(every) <= 0):
            words = f"increase strictly and lie between the ends ({a:g}, {b:g})"
            raise ParameterError("scale", words, shown(knots))
        return cls(frozen(every))

    @classmethod
    def log(cls, domain_range: object) -> Scale:
        """Equal ratios: for a domain of positive numbers."""
        ((a, b),) = box_domain(domain_range)
        if a <= 0:
            remedy = "Start the domain above zero, or give points of the axis$spaced."
            words, points = "be positive for scale 'log'", InPython(": scale=[1e3, 1e4, 1e5]")
            raise ParameterError("domain", words, f"{(a, b)}", remedy, spaced=points)
        return cls._between(a, b, np.geomspace(a, b, PIECES + 1))

    @classmethod
    def zoom(cls, domain_range: object, center: float, width: float) -> Scale:
        """arsinh((x - center) / width): even within a width of the center, equal ratios far from it."""
        ((a, b),) = box_domain(domain_range)
        low, high = (math.asinh((end - center) / width) for end in (a, b))
        return cls._between(a, b, center + width * np.sinh(np.linspace(low, high, PIECES + 1)))

    @classmethod
    def of(cls, function: Callable[[Floats], object], domain_range: object) -> Scale:
        """A public function of arrays of points, increasing on the domain.

        Raises ParameterError if it is not finite and increasing.
        """
        ((a, b),) = box_domain(domain_range)
        points = np.linspace(a, b, TABULATED + 1)
        values = np.asarray(function(points), dtype=float)
        if (
            values.shape != points.shape
            or not np.all(np.isfinite(values))
            or np.any(np.diff(values) <= 0)
        ):
            raise ParameterError(
                "scale", f"be finite and increase strictly on ({a:g}, {b:g})", "a function that does not"
            )
        return cls._between(
            a, b, np.interp(np.linspace(values[0], values[-1], PIECES + 1), values, points)
        )

    @classmethod
    def _between(cls, a: float, b: float, knots: Floats) -> Scale:
        knots[[0, -1]] = a, b
        return cls(frozen(knots))

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the interval."""
        return float(self.knots[0]), float(self.knots[-1])

    def positions(self, points: object) -> Floats:
        """Where on the scale points are, from 0 to 1."""
        cell, part = self._cell(points)
        before, after = (ratios[cell] for ratios in self._ratios)
        rise = part * part + before * part * (1 - part)
        return np.asarray((cell + rise / (1 + (before + after - 2) * part * (1 - part))) / self._pieces)

    def slopes(self, points: object) -> Floats:
        """Derivative of the scale at points: length of the scale per unit of the data."""
        cell, part = self._cell(points)
        before, after = (ratios[cell] for ratios in self._ratios)
        rise = after * part**2 + 2 * part * (1 - part) + before * (1 - part) ** 2
        by = 1 + (before + after - 2) * part * (1 - part)
        return np.asarray(rise / by**2 / (self._pieces * np.diff(self.knots)[cell]))

    def points(self, positions: object) -> Floats:
        """Inverse of `positions`."""
        at = np.clip(np.asarray(positions, dtype=float), 0.0, 1.0) * self._pieces
        cell = np.minimum(at.astype(np.int64), self._pieces - 1)
        rest = at - cell
        before, after = (ratios[cell] for ratios in self._ratios)
        bend = rest * (before + after - 2)
        # Root in [0, 1] of (1 - middle) u^2 + middle u - rest, in the form that does not cancel.
        middle = before - bend
        root = np.sqrt(np.maximum(middle**2 + 4 * (1 - middle) * rest, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(middle > 0, 2 * rest / (middle + root), (root - middle) / (2 - 2 * middle))
        part = np.clip(part, 0.0, 1.0)
        return np.asarray(self.knots[cell] * (1 - part) + self.knots[cell + 1] * part)

    def edges(self, cells: int) -> Floats:
        """Edges, in the units of the data, of cells of equal length on the scale.

        Raises ParameterError if there are so many that floats do not tell two edges apart.
        """
        edges = self.points(np.linspace(0.0, 1.0, cells + 1))
        edges[[0, -1]] = self.domain_range
        if np.any(np.diff(edges) <= 0):
            raise ParameterError("cells", "be few enough to be told apart on the scale", f"{cells}")
        return edges

    def to_json(self) -> list[float]:
        """The knots."""
        return [float(knot) for knot in self.knots]

    @classmethod
    def from_json(cls, written: object) -> Scale:
        """Build the scale again; what is none raises a `ValueError`."""
        knots = floats(written)
        if knots.ndim != 1 or knots.size < 2 or not np.all(np.diff(knots) > 0):
            raise ValueError("knots of a scale must increase")
        return cls(frozen(knots))

    @property
    def _pieces(self) -> int:
        return self.knots.size - 1

    @cached_property
    def _ratios(self) -> tuple[Floats, Floats]:
        """Slopes at both ends of each piece, over its mean slope."""
        widths = np.diff(self.knots)
        if self._pieces == 1:
            return np.ones(1), np.ones(1)
        left, right = 2 * widths[1:] + widths[:-1], widths[1:] + 2 * widths[:-1]
        inner = (left + right) / (left * widths[:-1] + right * widths[1:])
        # At the ends so that the mean slope is the geometric mean of the two slopes of the piece.
        first, last = 1 / (widths[0] ** 2 * inner[0]), 1 / (widths[-1] ** 2 * inner[-1])
        slopes = np.concatenate([[first], inner, [last]])
        return slopes[:-1] * widths, slopes[1:] * widths

    def _cell(self, points: object) -> tuple[Integers, Floats]:
        at = np.clip(np.asarray(points, dtype=float), *self.domain_range)
        cell = np.clip(np.searchsorted(self.knots, at, side="right") - 1, 0, self._pieces - 1)
        return cell, (at - self.knots[cell]) / np.diff(self.knots)[cell]


def read_scale(scale: object, domain_range: object) -> Scale | None:
    """Read a public scale: "linear" (none), "log", points of the axis, or an increasing function.

    Raises ParameterError if it is anything else, or does not fit the domain.
    """
    if isinstance(scale, str):
        if scale == "linear":
            return None
        if scale == "log":
            return Scale.log(domain_range)
        words = "be 'auto', 'linear', 'log', 'zoom', increasing points of the axis, or a function"
        raise ParameterError("scale", words, repr(scale))
    return Scale.of(scale, domain_range) if callable(scale) else Scale.through(scale, domain_range)
