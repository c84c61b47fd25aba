"""Choosing the noise on a covariance from public numbers, and shrinking what was released."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from dpfda.noise.symmetric import (
    OuterDifference,
    SymmetricNoise,
    suits,
    symmetric_mechanisms,
    symmetric_noise,
)
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import readable, shown, whole
from dpfda.numerics.speed import remembered
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication import recomputed
from dpfda.publication.moments import RadiusChoice
from dpfda.releases.staged import Selection

# Beyond this the exponential mechanism's float tuning could not tell the leading eigenvalue apart.
LARGEST_SIGNAL = 10**12
# With more functions than this the noise on a covariance drowns what they add.
LARGEST_SIZE = 24
# A bound that clips few curves is about twice their root mean square length.
TYPICAL_SHARE = 0.25
# Coefficient j counts j^EMPHASIS times in a length that is chosen: noise falls along the functions.
EMPHASIS = 0.5
# Candidates for a radius that is chosen: powers of 2^(-1/4) of the largest.
RADII = 37
EXPONENTS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def symmetric_laws(
    functions: int,
    radius: int,
    guarantee: Guarantee,
    neighbours: Neighbours,
    mechanism: str = "auto",
    components: int | None = None,
) -> list[SymmetricNoise]:
    """All laws that `best_symmetric` chooses from, whatever the number of units; public numbers only.

    Parameters
    ----------
    functions : int
        Number K of basis functions.
    radius : int
        Length of a row of integers, at most.
    guarantee : PureDP or ApproximateDP
    neighbours : Neighbours
    mechanism : {"auto", "wishart", "coupled", "knorm", "gaussian"}
    components : int, optional
        Number M of functions, where the caller has chosen it.

    Raises
    ------
    ParameterError
        If the mechanism is unknown or the number of components impossible.
    RefusedMechanismError
        If the mechanism cannot give the guarantee.
    """
    largest = min(LARGEST_SIZE, functions)
    sizes = [*range(1, largest + 1)]
    if components is not None:
        sizes = [whole(components, "functions", 1, largest)]
    every = symmetric_mechanisms()
    if not isinstance(mechanism, str) or mechanism not in ("auto", *every):
        raise ParameterError("mechanism", f"be 'auto' or one of {', '.join(every)}", shown(mechanism))
    names = [mechanism]
    if mechanism == "auto":
        names = [name for name in every if suits(name, guarantee)]
    return [
        symmetric_noise(name, size, OuterDifference.of(size, radius, neighbours), guarantee)
        for name in names
        for size in sizes
    ]


@remembered(256)
def checked_laws(
    functions: int,
    radius: int,
    rest: Guarantee,
    neighbours: Neighbours,
    mechanism: str,
    components: int | None,
) -> Mapping[SymmetricNoise, Guarantee]:
    """These laws and what each gives; plans for other numbers of units share them. As `symmetric_laws`.

    Raises DpfdaError if one gives more than `rest`.
    """
    achieved = dict[SymmetricNoise, Guarantee]()
    for law in symmetric_laws(functions, radius, rest, neighbours, mechanism, components):
        achieved[law] = recomputed(law, "l2", OuterDifference.of(law.size, radius, neighbours), rest)
    return achieved


def best_symmetric(
    laws: Iterable[SymmetricNoise], eigenvalues: Floats, radius: int, units: int
) -> SymmetricNoise:
    """The law with the least expected error for this number of units, public or released.

    The prior for an entry of the covariance is E C_jk^2 = (R^2 / 4)^2 p_j p_k with p the eigenvalues of
    the kernel scaled to sum one. With noise of variance v_jk in the entries of the mean of the outer
    products the error of M functions is sum_{j,k <= M} e_jk v_jk / (e_jk + v_jk) + the other e_jk.
    """
    return min(laws, key=lambda noise: symmetric_error(eigenvalues, noise, radius, units))


def symmetric_error(eigenvalues: Floats, noise: SymmetricNoise, radius: int, units: int) -> float:
    """Expected squared error of a law, in units of R^4: an integral over all pairs."""
    scale = float(radius) ** 4 * float(units) ** 2
    shares = (eigenvalues / eigenvalues.sum())[: noise.size]
    shape = np.outer(shares, shares)
    prior = TYPICAL_SHARE**2 * shape
    entry = np.zeros(shape.shape)
    lower = np.tril_indices(noise.size)
    entry[lower] = entry.T[lower] = noise.variances() / scale
    return float(np.sum(prior * entry / (prior + entry)) + TYPICAL_SHARE**2 - prior.sum())


def radius_grid(largest: float) -> Floats:
    """Candidates (RADII,) for a radius that is chosen, decreasing. Public."""
    return np.asarray(largest * 2.0 ** (-np.arange(RADII) / 4))


def chosen_radius(
    largest: float, typical: float, share: float, strength: float, restored: bool = True
) -> tuple[float, float]:
    """The candidate nearest to a multiple of the typical length, and what restores variances.

    The multiple grows as noise gets less: it is .62 log10 of the strength - .2, or .46 times that + .55
    where nothing is restored, and 1 at least. Where only a share of the records has a length, it
    is that of so many records, times the fourth root of the share. What shorter records take from all
    variances is 1 - 1 / (1 + .5 / multiple^5) of them, about. Set on sets of real curves.

    Parameters
    ----------
    largest : float
        Largest candidate: no record is longer.
    typical, share : float
        Root mean square of the lengths of those that have one, and their share, from noisy counts.
    strength : float
        Number of records times the epsilon of the second moments.
    restored : bool
        Whether what is released is multiplied by the second number.

    Examples
    --------
    >>> [round(value, 3) for value in chosen_radius(8.0, 1.0, 1.0, 50_000.0)]
    [2.828, 1.003]
    """
    wanted, radii = typical * share**0.25, radius_grid(largest)
    power = math.log10(strength * share)
    multiple = max(1.0, -0.2 + 0.62 * power if restored else 0.55 + 0.46 * power)
    radius = float(radii[np.argmin(np.abs(np.log(radii / (wanted * multiple))))])
    return radius, restoring(largest, typical, share, radius) if restored else 1.0


def restoring(largest: float, typical: float, share: float, radius: float) -> float:
    """What restores variances after shortening to that radius; other numbers as of `chosen_radius`."""
    if math.isclose(radius, largest):
        return 1.0
    return float(1 + 0.5 * min(1.0, typical * share**0.25 / radius) ** 5)


def check_choice(choice: Selection, radius: float, restored: float | None, units: int) -> None:
    """Raises ValueError where that choice gives another radius of a file, or restores otherwise."""
    largest = choice.radii[0]
    # Powers differ in their last digits between machines.
    if not np.isclose(radius_grid(largest), radius, rtol=1e-12).any():
        raise ValueError("the radius is no candidate")
    if restored is None:
        return
    with np.errstate(all="ignore"):
        lengths = RadiusChoice.typical(choice, units)
    if not math.isclose(restored, restoring(largest, *lengths, radius), rel_tol=1e-6):
        raise ValueError("variances were restored by other counts")


def fitted_shrinkage(coordinates: Floats, power: Floats, eigenvalues: Floats, size: int) -> Floats:
    """Wiener factors for the noisy coordinates of a matrix, under a prior fitted to them.

    The coordinates are taken to be normal with variances a (p_j p_k)^g + power; a and g are those of
    largest likelihood on a grid. All of it is public: the choice is made from the noisy release.

    Parameters
    ----------
    coordinates : array (N,)
        Noisy orthonormal coordinates of the released matrix.
    power : array (N,)
        Variance of the noise in each.
    eigenvalues : array (K,)
        Of the basis: the public prior's shape.
    size : int
        Number M of rows of the matrix.

    Returns
    -------
    array (N,)
        Factors in [0, 1].
    """
    rows, columns = np.tril_indices(size)
    relative = (eigenvalues[rows] * eigenvalues[columns]) / eigenvalues[0] ** 2
    largest = float(np.max(coordinates**2 + power))
    scales = largest * np.geomspace(1e-6, 4.0, 67)[:, None]
    fits = list[tuple[float, Floats]]()
    for exponent in EXPONENTS:
        prior = scales * relative**exponent
        total = prior + power
        unlikely = np.sum(np.log(total) + coordinates**2 / total, axis=1)
        least = int(np.argmin(unlikely))
        fits.append((unlikely[least], prior[least] / total[least]))
    return min(fits, key=lambda fit: fit[0])[1]


def check_signal(size: int, epsilon: Fraction) -> None:
    """Refuse sizes and budgets beyond what the sampler's tuning in floats can tell apart.

    Raises
    ------
    ParameterError
        If the number of units times epsilon exceeds 10^12.
    """
    if size * epsilon > LARGEST_SIGNAL:
        words = "be at most 1e12 over the number of units for the exponential mechanism"
        raise ParameterError("epsilon", words, readable(epsilon))
