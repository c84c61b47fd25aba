"""Spectra of stationary covariances on a box: how prior variances fall with frequency."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpfda.numerics.arrays import Floats, Integers

Spectrum = Callable[[Floats, float, int], Floats]


def matern(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Whittle-Matern: (1 + q / (2 nu))^-(nu + d/2), the spectral density of the Matern kernel.

    squares: Squared frequencies q = sum_a (r_a w_a)^2, with w_a in radians per unit of axis a and r_a
        the range of the covariance in that unit.
    nu: Smoothness.
    dimensions: Dimensions d of the box.
    """
    return np.asarray((1 + squares / (2 * nu)) ** -(nu + dimensions / 2))


def sobolev(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Sobolev: 1 / (1 + q^s), s = nu + d/2: the space with the norm |f|^2 + |(-Laplace)^(s/2) f|^2."""
    return np.asarray(1 / (1 + squares ** (nu + dimensions / 2)))


def heat(squares: Floats, nu: float, dimensions: int) -> Floats:
    """Heat: exp(-q / 2), the spectral density of the squared exponential kernel; nu plays no part."""
    return np.exp(-squares / 2)


SPECTRA: dict[str, Spectrum] = {"matern": matern, "sobolev": sobolev, "heat": heat}


def spectral_decay(spectrum: str, nu: float, dimensions: int) -> float:
    """Exponent a of lambda_j ~ j^-a on a box in d dimensions: (2 nu + d) / d; infinity for heat.

    There are about R^d modes of frequency below R, so the j-th frequency grows like j^(1/d).
    """
    return math.inf if spectrum == "heat" else (2 * nu + dimensions) / dimensions


def leading_modes(squares: Floats, components: int) -> Integers:
    """Flat indices (K,) of the K smallest entries, in increasing order; ties by the flat index.

    A partial selection, then a sort of what it selected: O(m + K log K) for m entries. Comparisons
    alone decide, so the answer is the same on every machine.
    """
    flat = squares.ravel()
    largest = np.partition(flat, components - 1)[components - 1]
    candidates = np.flatnonzero(flat <= largest)
    order = np.argsort(flat[candidates], kind="stable")
    return np.asarray(candidates[order][:components], dtype=np.int64)
