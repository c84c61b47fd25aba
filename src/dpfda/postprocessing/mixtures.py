"""Noise laws as Gaussian laws of random length: what makes a posterior computable.

Given one factor T a block, the noise of coordinate j is normal with variance T d_j^2. That is exact for

- a K-norm block: R U with R ~ Gamma(M, 1), U uniform on the sphere, is sqrt(T) N(0, I), T ~ chi^2_{M+1}
  (their lengths have the same moments, by the duplication formula); one Laplace variable is M = 1;
- the K-norm law of an ellipsoid, the same with unequal d_j;
- multivariate t and Laplace laws, T = nu / chi^2_nu and T exponential; normal noise, T = 1.

The K-norm law of a box is R U with R ~ Gamma(M + 1, 1) and U uniform on the box. Here a uniform
coordinate is replaced by a normal one of the same variance, T = R^2 / 3: an approximation, which
costs accuracy but no privacy and no validity of noise bands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpfda.noise import BoxNoise, EllipsoidNoise, EllipticalNoise, GaussianNoise, KNormNoise, NoiseLaw

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


def mixture_of(noise: NoiseLaw) -> NoiseMixture | None:
    """The mixture that a noise law is, or is close to; None for a law that is not known here."""
    if isinstance(noise, KNormNoise):
        ends = np.cumsum(noise.block_sizes)
        made: dict[int, Block] = {}
        blocks = []
        for size, end in zip(noise.block_sizes, ends.tolist(), strict=True):
            if size not in made:
                made[size] = _block(0, size, stats.chi2(size + 1))
            known = made[size]
            blocks.append(Block(end - size, end, known.factors, known.logs))
        scales = np.repeat(np.asarray(noise.scales, dtype=float), noise.block_sizes)
        return NoiseMixture(scales, tuple(blocks))
    size = noise.components
    if isinstance(noise, GaussianNoise):
        one = Block(0, size, np.ones(1), np.zeros(1))
    elif isinstance(noise, EllipsoidNoise):
        one = _block(0, size, stats.chi2(size + 1))
    elif isinstance(noise, BoxNoise):
        lengths = _block(0, size, stats.gamma(size + 1))
        one = Block(0, size, lengths.factors**2 / 3, lengths.logs)
    elif isinstance(noise, EllipticalNoise):
        one = _elliptical_block(noise)
    else:
        return None
    if isinstance(noise, EllipticalNoise):
        return NoiseMixture(np.full(size, float(noise.scale)), (one,))
    return NoiseMixture(np.asarray(noise.scales, dtype=float), (one,))


def _elliptical_block(noise: EllipticalNoise) -> Block:
    if noise.mixing == "laplace":
        return _block(0, noise.size, stats.expon())
    squares = _block(0, noise.size, stats.chi2(noise.degrees))
    return Block(0, noise.size, noise.degrees / squares.factors, squares.logs)


def _block(start: int, stop: int, law: stats.distributions.rv_frozen) -> Block:
    count = NODES if stop - start >= SMALL else NODES_OF_SMALL_BLOCKS
    low, high = np.log(law.ppf(TAIL)), np.log(law.isf(TAIL))
    nodes = np.linspace(low, high, count)
    logs = law.logpdf(np.exp(nodes)) + nodes + np.log(nodes[1] - nodes[0])
    return Block(start, stop, np.exp(nodes), np.asarray(logs))
