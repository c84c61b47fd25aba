"""Noise laws as Gaussian laws of random length: what makes a posterior computable.

Given one factor T a block, the noise of coordinate j is normal with variance T d_j^2. Every law says in
`mixture` which mixture it is; where that is an approximation it costs accuracy, but no privacy and no
validity of noise bands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpfda.numerics import exactness

Floats = NDArray[np.float64]

# Nodes in log T reach this far into both tails. A sum over equally spaced nodes of a smooth integrand
# that falls off on both sides converges faster than any power; few coordinates leave it wider.
TAIL = 1e-9
NODES = 28
NODES_OF_SMALL_BLOCKS = 56
SMALL = 6


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive coordinates with a common factor.

    Parameters
    ----------
    start, stop : int
        Which coordinates.
    factors : array (Q,)
        Values of the factor T.
    logs : array (Q,)
        Logarithms of their weights, which add up to about one.
    """

    start: int
    stop: int
    factors: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class NoiseMixture:
    """Noise that is normal with variances T d_j^2 given one factor T a block.

    Parameters
    ----------
    deviations : array (M,)
        The d_j, in the units of the law.
    blocks : tuple of Block
    """

    deviations: Floats
    blocks: tuple[Block, ...]

    def scaled(self, factor: float) -> NoiseMixture:
        """The same noise in other units."""
        return NoiseMixture(self.deviations * factor, self.blocks)


def one_factor(deviations: ArrayLike, block: Block) -> NoiseMixture:
    """All coordinates with one common factor."""
    return NoiseMixture(np.asarray(deviations, dtype=np.float64), (block,))


def factor(count: int, law: stats.distributions.rv_frozen) -> Block:
    """One factor T of this law for so many coordinates, from the first on."""
    nodes_used = NODES if count >= SMALL else NODES_OF_SMALL_BLOCKS
    low, high = np.log(law.ppf(TAIL)), np.log(law.isf(TAIL))
    nodes = np.linspace(low, high, nodes_used)
    logs = law.logpdf(np.exp(nodes)) + nodes + np.log(nodes[1] - nodes[0])
    return Block(0, count, np.exp(nodes), np.asarray(logs))


def drawn_mixture(
    size: int, degrees: int, transform: Callable[[list[arb], arb], list[arb]]
) -> list[int]:
    """One exact draw, rounded, of a function of normal variables and a chi-square one.

    Parameters
    ----------
    size : int
        Number of standard normal variables.
    degrees : int
        Of freedom of the chi-square variable: pairs of them from uniforms, an odd one from a normal.
    transform : callable
        Takes enclosures of both to enclosures of what is rounded.
    """
    pairs, odd = divmod(degrees, 2)
    normals = size + odd + (size + odd) % 2

    def function(uniforms: Sequence[arb]) -> list[arb]:
        gaussians = exactness.normals(uniforms[pairs:])
        square = exactness.chi_square(uniforms[:pairs])
        if odd:
            square += gaussians[size] ** 2
        return transform(gaussians[:size], square)

    return exactness.draw_rounded(function, pairs + normals)
