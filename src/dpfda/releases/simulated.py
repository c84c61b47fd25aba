"""What simulated noise says of noisy matrices: half-widths of bands, and the reach of eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpfda.numerics.arrays import Floats

# Points of a band that are simulated at a time, so that memory stays small.
CHUNK = 128


def simulated_widths(
    functions: Floats, noise: Floats, power: Floats, level: float, simultaneous: bool
) -> Floats:
    """Half-widths (q,) of a band for linear forms of coordinates, by draws of their noise.

    Parameters
    ----------
    functions : array (q, N)
        The linear forms.
    noise : array (draws, N)
        Draws of the noise in the coordinates.
    power : array (N,)
        Variances of that noise.
    level : float
        Probability of the band.
    simultaneous : bool
        Whether all forms are held at once, by one multiple of their deviations, or each by itself.

    Returns
    -------
    array (q,)
    """
    if not simultaneous:
        widths = [
            np.quantile(np.abs(noise @ part.T), level, axis=0, method="higher")
            for part in _chunks(functions)
        ]
        return np.concatenate(widths)
    deviations = np.sqrt(functions**2 @ power)
    largest = np.zeros(noise.shape[0])
    for part, scale in zip(_chunks(functions), _chunks(deviations), strict=True):
        errors = np.abs(noise @ part.T) / np.where(scale > 0, scale, 1.0)
        largest = np.maximum(largest, errors.max(axis=1))
    return np.asarray(np.quantile(largest, level, method="higher") * deviations)


def largest_size(matrices: Floats, level: float) -> float:
    """What the largest eigenvalue, in size, of symmetric matrices (draws, M, M) stays below."""
    largest = np.abs(np.linalg.eigvalsh(matrices)).max(axis=1)
    return float(np.quantile(largest, level, method="higher"))


def _chunks(array: Floats) -> Iterator[Floats]:
    return (array[start : start + CHUNK] for start in range(0, array.shape[0], CHUNK))
