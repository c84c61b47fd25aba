"""Ordinary curves: a fixed public family, by formula, over which plans expect what releases will do.

Curve k = 1, 2, .. is a level and a sum of cosines over the domain, in shares of what bounds allow,

    u_k(t) = l_k + a_k sum_j c_kj cos(pi j t),    c_kj = z_kj j^(-e_k / 2), scaled to sum_j c_kj^2 = 2,

cut at 0 and 1: of deviation a_k about its level over the domain, with power that falls like
frequency^-e_k, from a little rougher than a random walk (e = 2) to smooth (e = 4). The numbers z_kj are
normal draws of a fixed key. Level, the logarithm of a_k and e_k are spread evenly by a sequence whose
first members, however many, are spread evenly too (Roberts 2018). Curves on few points are smooth,
mostly: with N of them, from 24 to 100, a_k is taken (N / 70)^.5 times, and e_k less by .4 log(N / 70).
The ends of these ranges were set on half of the sets of real curves that the page on plans names, and
how curves go with N on all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.speed import remembered

LEVELS, AMPLITUDES, EXPONENTS = (0.2, 0.8), (0.02, 0.25), (1.5, 4.0)
# On more points than the middle curves are larger and rougher, on fewer smaller and smoother.
POINTS, MIDDLE_POINTS, LARGER, ROUGHER = (24, 100), 70, 0.5, 0.4
WAVES, MODES, MODE_EXPONENTS = 200, 100, (0.0, 3.5)
# What nine of ten of a normal law lie below, in deviations; and that share in words.
MOST, MOST_WORDS = 1.2816, "nine of ten"


class Outlook(NamedTuple):
    """What is expected of an error or a width over ordinary functions.

    typical: Its geometric mean.
    most: What nine of ten keep to, their logarithms being taken as normal.
    """

    typical: float
    most: float

    @classmethod
    def alike(cls, value: float) -> Outlook:
        """For all alike."""
        return cls(value, value)

    @classmethod
    def of(cls, values: Floats, most: float = math.inf, apart: float = 0.0) -> Outlook:
        """From the values (q,) of each function, none negative, and what none can exceed.

        apart: Deviation of logarithms between sets of data beyond that between the functions.
        """
        logs = np.log(np.maximum(values, 1e-300))
        typical, spread = math.exp(float(np.mean(logs))), math.hypot(float(np.std(logs)), apart)
        return cls(typical, max(typical, min(typical * math.exp(MOST * spread), most)))


def widest(outlooks: Iterable[Outlook | None]) -> Outlook | None:
    """The largest of those that are known; None where none is."""
    return max([outlook for outlook in outlooks if outlook is not None], default=None)


def spread_evenly(count: int, dimensions: int) -> Floats:
    """Places (count, dimensions) in the unit cube, of which the first ones, however many, are even."""
    # The positive root of x^(d + 1) = x + 1.
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(1, count + 1)[:, None] * steps) % 1.0)


@remembered(8)
def ordinary_curves(times: Floats, count: int) -> Floats:
    """The first curves (count, N) of the family at times (N,) in [0, 1]; values in [0, 1], read-only.

    Examples
    --------
    >>> ordinary_curves(np.linspace(0, 1, 5), 3).shape
    (3, 5)
    """
    places = spread_evenly(count, 3).T
    levels, exponents = (
        low + (high - low) * at for (low, high), at in zip((LEVELS, EXPONENTS), places[:2], strict=True)
    )
    more = math.log(min(max(times.size, POINTS[0]), POINTS[1]) / MIDDLE_POINTS)
    sizes = AMPLITUDES[0] * (AMPLITUDES[1] / AMPLITUDES[0]) ** places[2] * math.exp(LARGER * more)
    exponents -= ROUGHER * more
    waves = np.arange(1.0, WAVES + 1)
    draws = np.random.Generator(np.random.Philox(key=33)).standard_normal((count, WAVES))
    draws *= waves ** (-exponents[:, None] / 2)
    draws *= (sizes * math.sqrt(2) / np.sqrt(np.sum(draws**2, axis=1)))[:, None]
    curves = levels[:, None] + draws @ np.cos(math.pi * np.multiply.outer(waves, times))
    return frozen(np.clip(curves, 0.0, 1.0))


@remembered(8)
def ordinary_modes(times: Floats, count: int) -> Floats:
    """Modes (count, J, N) at times in [0, 1] of the first laws of ordinary curves about their mean.

    Curves are standard normal variables times the modes, added up: a level, which has any part of the
    variance, and cosines, whose powers fall like frequency^-e. Their mean variance is one.
    """
    places = spread_evenly(count, 2)
    waves, (low, high) = np.arange(MODES), MODE_EXPONENTS
    exponents = low + (high - low) * places[:, 1:]
    powers = np.maximum(waves, 1.0) ** -exponents
    powers *= ((1 - places[:, 0]) / powers[:, 1:].sum(axis=1))[:, None]
    powers[:, 0] = places[:, 0]
    # A cosine has the mean square 1/2.
    roots = np.sqrt(powers * np.where(waves, 2, 1))
    return frozen(roots[:, :, None] * np.cos(math.pi * np.multiply.outer(waves, times)))


# Of densities: up to so many hills, of these deviations, on an even floor; counted in so many parts.
HILLS, WIDTHS, FLOOR, PARTS = 4, (0.025, 0.15), 0.05, 1536
# Logarithm of how far they are drawn apart at most, and steps in which that is found.
STRETCHED, HALVINGS = 3.5, 30


@remembered(8)
def ordinary_densities(count: int, quarter: float | None = None) -> tuple[Floats, Floats]:
    """Ends (count, parts + 1) of parts of [0, 1], and shares of these, of the first densities.

    Density k is a floor and one to four normal hills, cut at the ends of the interval. Where it is
    stated how long the shortest stretch with a quarter of the units is, all is drawn together, or
    apart, around the middle of that stretch.

    Examples
    --------
    >>> ends, shares = ordinary_densities(3, 0.01)
    >>> ends.shape, shares.sum(axis=1).round(12).tolist()
    ((3, 1537), [1.0, 1.0, 1.0])
    """
    ends = np.arange(PARTS + 1) / PARTS
    middles = (ends[1:] + ends[:-1]) / 2
    places = spread_evenly(count, 3 * HILLS).reshape(count, HILLS, 3)
    widths = WIDTHS[0] * (WIDTHS[1] / WIDTHS[0]) ** places[:, :, 1]
    hills = np.exp(-0.5 * ((middles - places[:, :, :1]) / widths[:, :, None]) ** 2) / widths[:, :, None]
    weights = (0.2 + places[:, :, 2]) * (np.arange(HILLS) <= np.arange(count)[:, None] % HILLS)
    shares = np.einsum("kh,khp->kp", weights, hills)
    shares /= shares.sum(axis=1, keepdims=True)
    shares = (1 - FLOOR) * shares + FLOOR / PARTS
    every = np.tile(ends, (count, 1))
    if quarter is not None:
        for row, at in zip(shares, every, strict=True):
            row[:], at[:] = _drawn_to(quarter, row, ends)
    return frozen(every), frozen(shares)


def _drawn_to(quarter: float, shares: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Shares and ends of parts of which a stretch so long, and no shorter one, holds a quarter."""
    start, length = _shortest(shares, ends)
    middle = start + length / 2

    def drawn(times: float) -> tuple[Floats, Floats]:
        far = middle + times * (ends - middle)
        near = np.clip(far, 0.0, 1.0)
        parts = shares * np.diff(near) / np.diff(far)
        return parts / parts.sum(), near

    # The stretch grows with it; nothing makes it longer than a quarter of the interval.
    low, high = math.log(quarter) - 1.0, STRETCHED
    for _ in range(HALVINGS):
        times = (low + high) / 2
        shorter = _shortest(*drawn(math.exp(times)))[1] < quarter
        low, high = (times, high) if shorter else (low, times)
    return drawn(math.exp(low))


def _shortest(shares: Floats, ends: Floats) -> tuple[float, float]:
    """Start and length of the shortest stretch from an end of a part on that holds a quarter."""
    below = np.append(0.0, np.cumsum(shares))
    starts = ends[below <= 0.75]
    lengths = np.interp(below[: starts.size] + 0.25, below, ends) - starts
    best = int(np.argmin(lengths))
    return float(starts[best]), float(lengths[best])
