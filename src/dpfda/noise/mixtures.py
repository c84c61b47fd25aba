"""Noise laws as Gaussian laws of random length: what makes a posterior computable.

Given one factor T a block, the noise of coordinate j is normal with variance T d_j^2. Every law says in
`mixture` which mixture it is; where that is an approximation it costs accuracy, but no privacy and no
validity of noise bands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics import drawing
from dpfda.numerics.arrays import Floats
from dpfda.numerics.drawing import Arithmetic, At, Real
from dpfda.numerics.specials import gamma_ends

# Nodes in log T reach this far into both tails. A sum over equally spaced nodes of a smooth integrand
# that falls off on both sides converges faster than any power; few coordinates leave it wider.
TAIL = 1e-9
NODES = 28
NODES_OF_SMALL_BLOCKS = 56
SMALL = 6


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive coordinates with a common factor.

    start, stop: Which coordinates.
    factors: array (Q,). Values of the factor T.
    logs: array (Q,). Logarithms of their weights, which add up to about one.
    """

    start: int
    stop: int
    factors: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class NoiseMixture:
    """Noise that is normal with variances T d_j^2 given one factor T a block.

    deviations: array (M,). The d_j, in the units of the law.
    """

    deviations: Floats
    blocks: tuple[Block, ...]

    def scaled(self, factor: float) -> NoiseMixture:
        """The same noise in other units."""
        return NoiseMixture(self.deviations * factor, self.blocks)


def one_factor(deviations: ArrayLike, block: Block) -> NoiseMixture:
    """All coordinates with one common factor."""
    return NoiseMixture(np.asarray(deviations, dtype=np.float64), (block,))


def factor(count: int, shape: float, scale: float = 1.0) -> Block:
    """One factor T for so many coordinates, from the first on: a gamma variable times a scale.

    shape: Whole or half.
    """
    nodes_used = NODES if count >= SMALL else NODES_OF_SMALL_BLOCKS
    low, high = gamma_ends(shape, TAIL)
    nodes = np.linspace(np.log(low), np.log(high), nodes_used)
    logs = shape * nodes - np.exp(nodes) - math.lgamma(shape) + np.log(nodes[1] - nodes[0])
    return Block(0, count, scale * np.exp(nodes), np.asarray(logs))


class Scaled(Protocol):
    """From an arithmetic and a chi-square variable to what normal variables are multiplied with."""

    def __call__(self, a: Arithmetic[Real], square: Real, /) -> At[Real]: ...


def drawn_mixture(size: int, degrees: int, scaled: Scaled) -> list[int]:
    """One exact draw, rounded, of normal variables times numbers that depend on a chi-square one.

    size: Number of standard normal variables.
    degrees: Of freedom of the chi-square variable: pairs of them from uniforms, an odd one from a
        normal.
    scaled: Takes an arithmetic and the chi-square variable to a function of places: what the normal
        variables there are multiplied with.
    """
    pairs, odd = divmod(degrees, 2)
    normals = size + odd + (size + odd) % 2

    def values(a: Arithmetic[Real]) -> At[Real]:
        square = drawing.chi_square(a, 0, pairs)
        if odd:
            last = drawing.normals(a, pairs, np.array([size]))[0]
            square = square + last * last
        factors = scaled(a, square)
        return lambda places: factors(places) * drawing.normals(a, pairs, places)

    return drawing.draw_array(values, pairs + normals, size)
