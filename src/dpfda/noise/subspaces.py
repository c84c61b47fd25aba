"""The exponential mechanism over directions, a Bingham law, sampled exactly.

For a positive semidefinite matrix S of size M the law on unit vectors v is proportional to exp(rate v' S
v). With Omega = t I - 2 rate S positive definite, z standard normal and y = Omega^(-1/2) z, the
direction y / |y| is accepted with probability

    e^((M - w) / 2) (w / M)^(M/2),     w = z'z / y'y

(Kent, Ganeiber & Mardia 2013): the exact law for every admissible t. Acceptance and rounding are decided
in enclosures, with more bits appended to the same uniforms where they are not yet decided. The number of
rejected draws depends on S: time is not protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from dpfda.numerics.arrays import Floats
from dpfda.numerics.exactness import (
    GUARD_BITS,
    INITIAL_BITS,
    BitSource,
    Uniforms,
    enclosed,
    nearest_integer,
    normals,
    precision,
)
from dpfda.numerics.specials import halved

# Directions are rounded to 2^-30, finer than any noise on the variance along them.
DIRECTION_BITS = 30

Matrix = Sequence[Sequence[int]]


def draw_direction(
    matrix: Matrix, rate: Fraction, source: BitSource | None = None, initial_bits: int = INITIAL_BITS
) -> list[int]:
    """Draw a direction from the Bingham law, exactly.

    matrix: Positive semidefinite and symmetric. Private.
    rate: Positive.
    source: Gives fair bits; the operating system's except in tests of this function.
    initial_bits: Leading bits that each uniform starts with.
    Returns the unit vector times 2^30, rounded.
    """
    proposal = _Proposal(matrix, rate)
    while True:
        drawn = _one_trial(proposal, source, initial_bits)
        if drawn is not None:
            return drawn


class _Proposal:
    """Omega = t I - 2 rate S and its Cholesky factor, at any precision."""

    def __init__(self, matrix: Matrix, rate: Fraction) -> None:
        self.size = len(matrix)
        self._doubled = [[2 * rate * entry for entry in row] for row in matrix]
        self._shift = _good_shift(np.array(self._doubled, dtype=np.float64))
        self._factors: dict[int, list[list[arb]]] = {}

    def factor(self, bits: int) -> list[list[arb]]:
        """Lower Cholesky factor as enclosures; the precision is already set to `bits`."""
        if bits not in self._factors:
            lower = self._cholesky()
            if lower is None:
                # The trace exceeds every eigenvalue of a positive matrix. In floats the other shift
                # was misjudged, which changes the number of draws and not their law.
                trace = sum((self._doubled[i][i] for i in range(self.size)), Fraction(0))
                self._shift, self._factors = trace + self.size, {}
                lower = self._cholesky()
            if lower is None:
                # More bits, in the next round, will tell the pivots from zero.
                return [[arb("nan")] * self.size for _ in range(self.size)]
            self._factors[bits] = lower
        return self._factors[bits]

    def _cholesky(self) -> list[list[arb]] | None:
        size = self.size
        lower = [[arb(0)] * size for _ in range(size)]
        for j in range(size):
            pivot = enclosed(self._shift - self._doubled[j][j]) - _dot(lower[j][:j], lower[j][:j])
            if not pivot > 0:
                return None
            lower[j][j] = pivot.sqrt()
            for i in range(j + 1, size):
                cross = _dot(lower[i][:j], lower[j][:j])
                lower[i][j] = (-enclosed(Fraction(self._doubled[i][j])) - cross) / lower[j][j]
        return lower


def _good_shift(doubled: Floats) -> Fraction:
    """The t with sum_i 1 / (t - 2 rate lambda_i) = 1, for which draws are accepted most often."""
    values = np.linalg.eigvalsh(doubled)
    gaps = values[-1] - values
    # What `np.sum` calls, which takes several times as long.
    shift = halved(lambda t: bool(np.add.reduce(1 / (t + gaps)) > 1), 1.0, float(values.size))
    return Fraction(float(values[-1])) + Fraction(shift)


def _one_trial(proposal: _Proposal, source: BitSource | None, bits: int) -> list[int] | None:
    """One draw of the proposal: its rounded direction, or None where it is rejected."""
    size = proposal.size
    uniforms = Uniforms(size + size % 2 + 1, bits, source)
    while True:
        with precision(bits + GUARD_BITS):
            uniform, *others = uniforms.balls(bits)
            accepted, direction = _judged(proposal.factor(bits), normals(others)[:size], uniform)
        if accepted is False:
            return None
        if accepted and direction is not None:
            return direction
        bits *= 2


def _judged(
    lower: list[list[arb]], gaussians: list[arb], uniform: arb
) -> tuple[bool | None, list[int] | None]:
    """Whether to accept (None: undecided), and the rounded direction (None: undecided)."""
    size = len(lower)
    solved = _back_substituted(lower, gaussians)
    square = _dot(solved, solved)
    ratio = _dot(gaussians, gaussians) / square
    difference = uniform.log() - ((size - ratio) + size * (ratio / size).log()) / 2
    # Comparisons of enclosures hold only where they hold for all of both; for undefined ones none does.
    if difference > 0:
        return False, None
    if not difference < 0:
        return None, None
    scale = 2**DIRECTION_BITS / square.sqrt()
    rounded = [nearest_integer(entry * scale) for entry in solved]
    decided = [entry for entry in rounded if entry is not None]
    return True, decided if len(decided) == size else None


def _back_substituted(lower: list[list[arb]], right: list[arb]) -> list[arb]:
    """The y with L' y = right."""
    size = len(lower)
    solution = [arb(0)] * size
    for i in reversed(range(size)):
        substituted = sum((lower[j][i] * solution[j] for j in range(i + 1, size)), arb(0))
        solution[i] = (right[i] - substituted) / lower[i][i]
    return solution


def _dot(first: Sequence[arb], second: Sequence[arb]) -> arb:
    return sum((a * b for a, b in zip(first, second, strict=True)), arb(0))
