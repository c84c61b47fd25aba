"""Laws of values that change smoothly with time: their distribution functions and what moves them.

At time t a value, scaled to [0, 1] between the bounds, is m + s sinh(arcsinh z + e), with z of a law of
fixed bins whose logarithms are those of Student's t plus Legendre polynomials of degrees 3 to 8 in its
rank (Jones & Pewsey 2009 for m, s, e; Neyman 1937 for the rest). Centre m, log s, skewness e and the
polynomials' weights are sums of parabolas and cosines in time. A distribution function increases, so
that quantiles of one law never cross. Values beyond the bounds count as on them, and so do those of a
law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats

# Bins of z, and Student's t: near a normal law, with tails that a few far values do not surprise.
FAR, STEP = 10.0, 0.125
DEGREES, SCALE = 5, 0.8
EDGES = np.arange(-FAR, FAR + STEP / 2, STEP)
MIDDLES = (EDGES[1:] + EDGES[:-1]) / 2
BASE = np.diff(scipy.special.stdtr(DEGREES, EDGES / SCALE))
# Polynomials that shape the law: of degrees that m, s and e leave, in ranks of a law WIDE times as wide.
SHAPES, FIRST, WIDE = 6, 3, 1.4
# Polynomials in time beside cosines: so that ends may rise.
LINES = 3


def legendre(at: Floats, count: int) -> Floats:
    """Values (q, count) at points of [0, 1] of Legendre polynomials with a mean square of one."""
    values = np.polynomial.legendre.legvander(2 * at - 1, count - 1)
    return np.asarray(values * np.sqrt(2 * np.arange(count) + 1))


def waves(at: Floats, count: int) -> Floats:
    """Values (q, count) at points of [0, 1]: Legendre polynomials below degree `LINES`, then cosines."""
    cosines = np.sqrt(2) * np.cos(np.pi * at[:, None] * np.arange(1, max(1, count - LINES + 1)))
    return np.hstack([legendre(at, LINES)[:, :count], cosines])


def falls(count: int) -> Floats:
    """Degrees (count,) of these functions, by which priors fall."""
    return np.concatenate([np.arange(LINES), np.arange(1, max(1, count - LINES + 1))])[:count]


SHAPING = legendre(scipy.special.ndtr(MIDDLES / WIDE), SHAPES + FIRST)[:, FIRST:]


@dataclass(frozen=True)
class Terms:
    """How many terms in time each parameter has. Public.

    centre: Of centre and log scale.
    shape: Of skewness and of each polynomial's weight.
    visits: Cells of time, each with a logarithm of how many are seen; none where that is known.
    """

    centre: int
    shape: int
    visits: int

    @cached_property
    def parts(self) -> tuple[slice, ...]:
        """Where in the parameters are those of centre, scale, skewness, weights and visits."""
        counts = (self.centre, self.centre, self.shape, self.shape * SHAPES, self.visits)
        ends = np.cumsum((0, *counts)).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @property
    def count(self) -> int:
        """Number P of parameters."""
        return int(self.parts[-1].stop)

    def at(self, parameters: Floats, positions: Floats) -> Laws:
        """The laws at times, as shares of the domain."""
        times = waves(positions, self.centre)
        few = times[:, : self.shape]
        centre, scale, skew, weights, visits = (parameters[part] for part in self.parts)
        logs = (few @ weights.reshape(self.shape, SHAPES)) @ SHAPING.T
        masses = BASE * np.exp(logs - logs.max(axis=1, keepdims=True))
        return Laws(
            self,
            times,
            times[:, : self.centre] @ centre,
            np.exp(times[:, : self.centre] @ scale),
            few @ skew,
            masses / masses.sum(axis=1, keepdims=True),
            np.exp(self.inside(positions) @ visits),
        )

    def spread(self, moved: Floats) -> Floats:
        """What moves with parameters (.., P): of what moves with each function of time (.., G, T)."""
        front = moved.shape[:-2]
        parts = [
            moved[..., :2, : self.centre].reshape(*front, -1),
            moved[..., 2, : self.shape],
            moved[..., 3:, : self.shape].swapaxes(-1, -2).reshape(*front, -1),
            np.zeros((*front, self.visits)),
        ]
        return np.concatenate(parts, axis=-1)

    def inside(self, positions: Floats) -> Floats:
        """Ones (q, visits) for the cell of time of each, zeros for others."""
        cells = np.minimum((positions * self.visits).astype(np.int64), self.visits - 1)
        return np.asarray((cells[:, None] == np.arange(self.visits)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of values at q times.

    times: array (q, T). Functions of time there.
    centre, scale, skew: array (q,)
    masses: array (q, B). Of the bins of z.
    seen: array (q,). How many are seen, in a unit that the caller knows; ones where that is known.
    """

    terms: Terms
    times: Floats
    centre: Floats
    scale: Floats
    skew: Floats
    masses: Floats
    seen: Floats

    @cached_property
    def _below(self) -> Floats:
        return np.pad(np.cumsum(self.masses, axis=1), ((0, 0), (1, 0)))

    def _places(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Of values (q, k): scaled ones, their arcsinh less the skewness, and their place in bins."""
        scaled = (values - self.centre[:, None]) / self.scale[:, None]
        bent = np.arcsinh(scaled) - self.skew[:, None]
        # Within the bins; their ends have hardly any mass.
        return scaled, bent, np.clip((np.sinh(bent) + FAR) / STEP, 0.0, MIDDLES.size - 1e-9)

    def below(self, values: Floats) -> Floats:
        """Share (q, k) below values (q, k)."""
        place = self._places(values)[2]
        bins = place.astype(np.int64)
        rows = np.arange(len(values))[:, None]
        return np.asarray(self._below[rows, bins] + (place - bins) * self.masses[rows, bins])

    def quantiles(self, level: float) -> Floats:
        """Values (q,) with a share below."""
        scaled = [np.interp(level, row, EDGES) for row in self._below]
        bent = np.arcsinh(np.array(scaled)) + self.skew
        return np.asarray(np.clip(self.centre + self.scale * np.sinh(bent), 0.0, 1.0))

    def moved(self, values: Floats) -> tuple[Floats, Floats]:
        """How shares below values (q, k) rise with the value (q, k), and with what a law is made of.

        That is centre, log scale, skewness and the polynomials' weights there: array (q, k, G).
        """
        scaled, bent, place = self._places(values)
        bins = place.astype(np.int64)
        rows = np.arange(len(values))[:, None]
        inside = (place > 0) & (place < MIDDLES.size - 1)
        density = np.where(inside, self.masses[rows, bins] / STEP, 0.0)
        turned = density * np.cosh(bent)
        rising = turned / np.sqrt(1 + scaled**2) / self.scale[:, None]
        moved = self.masses[:, :, None] * (SHAPING - (self.masses @ SHAPING)[:, None, :])
        up_to = np.pad(np.cumsum(moved, axis=1), ((0, 0), (1, 0), (0, 0)))
        shaped = up_to[rows, bins] + (place - bins)[..., None] * moved[rows, bins]
        wide = scaled * self.scale[:, None]
        own = np.stack([-rising, -rising * wide, -turned], axis=2)
        return rising, np.concatenate([own, shaped], axis=2)

    def slopes(self, values: Floats) -> tuple[Floats, Floats]:
        """How shares below values (q,) rise with the value (q,), and with parameters (q, P)."""
        rising, moved = self.moved(values[:, None])
        return rising[:, 0], self.terms.spread(moved[:, 0, :, None] * self.times[:, None])

    def chances(self, count: int) -> Floats:
        """Chances (q, K) of equal cells of [0, 1]."""
        return np.diff(self.below(self._inner(count)), axis=1, prepend=0.0, append=1.0)

    def cells(self, count: int) -> Floats:
        """How chances of equal cells of [0, 1] rise with what laws are made of: array (q, K, G)."""
        return np.diff(self.moved(self._inner(count))[1], axis=1, prepend=0.0, append=0.0)

    def _inner(self, count: int) -> Floats:
        """Edges (q, K - 1) between cells."""
        return np.broadcast_to(np.arange(1, count) / count, (len(self.centre), count - 1))
