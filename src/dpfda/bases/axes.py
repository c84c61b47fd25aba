"""Cosines, sines and Fourier functions along one axis of a box, with their fast transforms.

Along an axis of length L the grid is the m midpoints of m equal cells. There the functions are
orthogonal exactly, as in L2, and SciPy's DCT-II, DST-II and real FFT are the products with them. A sine
or Fourier function whose square is the same at every midpoint (m half periods) is left out: on the grid
it seems longer than it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats, Integers


class Axis(ABC):
    """One kind of functions on [0, 1], orthonormal there; function n is the n-th, from zero."""

    kind: ClassVar[str]
    # Half periods of the first function.
    first: ClassVar[int] = 0

    def count(self, points: int) -> int:
        """How many functions a grid of this many midpoints resolves."""
        return points - self.first

    def points_for(self, count: int) -> int:
        """The fewest midpoints that resolve this many functions."""
        return count + self.first

    def numbers(self, index: Integers) -> Integers:
        """Mode numbers for people: half periods of a cosine or sine; periods, negative for a sine."""
        return index + self.first

    def half_periods(self, count: int) -> Floats:
        """Frequencies (count,) in half periods over the axis."""
        return np.arange(self.first, self.first + count, dtype=np.float64)

    def shifts(self, count: int) -> Floats:
        """By how many half periods (count,) functions are ahead of cosines."""
        return np.zeros(count)

    def values(self, position: Floats, count: int, order: int) -> Floats:
        """Values (q, count) at positions in [0, 1], differentiated in position."""
        frequencies = self.half_periods(count)
        angles = position[:, None] * frequencies + (self.shifts(count) + order / 2)
        values = math.sqrt(2) * np.cos(math.pi * angles) * (math.pi * frequencies) ** order
        # The constant has mean square one as it is.
        values[:, frequencies == 0] /= math.sqrt(2)
        return np.asarray(values)

    def integrals(self, count: int) -> Floats:
        """Integrals (count,) over [0, 1]: here of the constant alone."""
        return np.where(np.arange(count) == 0, 1.0, 0.0)

    @abstractmethod
    def analyse(self, values: Floats, axis: int) -> Floats:
        """Products along an axis with the functions, scaled to unit vectors of the midpoints' space."""

    @abstractmethod
    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        """Sums of the unit vectors on this many midpoints: what `analyse` undoes."""


class CosineAxis(Axis):
    """1, then 2^(1/2) cos(n pi x): slope zero at both ends (Neumann)."""

    kind = "cosine"

    def analyse(self, values: Floats, axis: int) -> Floats:
        return np.asarray(scipy.fft.dct(values, type=2, axis=axis, norm="ortho", workers=1))

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        made = scipy.fft.idct(coefficients, type=2, n=points, axis=axis, norm="ortho", workers=1)
        return np.asarray(made)


class SineAxis(Axis):
    """2^(1/2) sin((n + 1) pi x): zero at both ends (Dirichlet)."""

    kind = "sine"
    first = 1

    def shifts(self, count: int) -> Floats:
        return np.full(count, -0.5)

    def integrals(self, count: int) -> Floats:
        frequencies = self.half_periods(count)
        return np.asarray(np.where(frequencies % 2 == 1, math.sqrt(8) / (math.pi * frequencies), 0.0))

    def analyse(self, values: Floats, axis: int) -> Floats:
        made = scipy.fft.dst(values, type=2, axis=axis, norm="ortho", workers=1)
        return np.asarray(np.take(made, range(values.shape[axis] - 1), axis))

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        made = scipy.fft.idst(coefficients, type=2, n=points, axis=axis, norm="ortho", workers=1)
        return np.asarray(made)


class FourierAxis(Axis):
    """1, then 2^(1/2) cos(2 pi x), 2^(1/2) sin(2 pi x), ...: whole periods."""

    kind = "fourier"

    def count(self, points: int) -> int:
        return 2 * ((points - 1) // 2) + 1

    def points_for(self, count: int) -> int:
        return count + 1 - count % 2

    def numbers(self, index: Integers) -> Integers:
        return np.where(index % 2 == 1, 1, -1) * ((index + 1) // 2)

    def half_periods(self, count: int) -> Floats:
        return np.asarray(2.0 * ((np.arange(count) + 1) // 2))

    def shifts(self, count: int) -> Floats:
        index = np.arange(count)
        return np.where((index % 2 == 0) & (index > 0), -0.5, 0.0)

    def analyse(self, values: Floats, axis: int) -> Floats:
        lines = np.moveaxis(values, axis, -1)
        points = lines.shape[-1]
        made = scipy.fft.rfft(lines, norm="ortho", workers=1)[..., : (points + 1) // 2]
        cosine, sine = _half_step(points)
        # In real arithmetic, operation by operation: each is rounded on its own.
        turned = np.empty((*lines.shape[:-1], 2 * made.shape[-1]))
        turned[..., 0::2] = made.real * cosine + made.imag * sine
        turned[..., 1::2] = made.real * sine - made.imag * cosine
        found = np.empty((*lines.shape[:-1], self.count(points)))
        found[..., 0] = turned[..., 0]
        found[..., 1:] = turned[..., 2:] * math.sqrt(2)
        return np.moveaxis(found, -1, axis)

    def synthesise(self, coefficients: Floats, axis: int, points: int) -> Floats:
        lines = np.moveaxis(coefficients, axis, -1)
        highest = lines.shape[-1] // 2
        pairs = np.zeros((*lines.shape[:-1], points // 2 + 1), dtype=np.complex128)
        pairs.real[..., 0] = lines[..., 0]
        cosine, sine = (part[1 : highest + 1] / math.sqrt(2) for part in _half_step(points))
        real = lines[..., 1::2]
        imaginary = np.zeros_like(real)
        imaginary[..., : lines[..., 2::2].shape[-1]] = lines[..., 2::2]
        pairs.real[..., 1 : highest + 1] = real * cosine + imaginary * sine
        pairs.imag[..., 1 : highest + 1] = real * sine - imaginary * cosine
        made = scipy.fft.irfft(pairs, n=points, norm="ortho", workers=1)
        return np.moveaxis(np.asarray(made), -1, axis)


AXES: dict[str, Axis] = {axis.kind: axis for axis in (CosineAxis(), SineAxis(), FourierAxis())}


@lru_cache(maxsize=16)
def _half_step(points: int) -> tuple[Floats, Floats]:
    """Cosine and sine of pi k / m: midpoints lie half a step from the points of the FFT."""
    angles = np.arange((points + 1) // 2) * (math.pi / points)
    return frozen(np.cos(angles)), frozen(np.sin(angles))
