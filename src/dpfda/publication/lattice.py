"""Any function of the private data, released on a lattice: the Bernstein mechanism in d dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.bernstein import check_degree, lattice
from dpfda.bases.cells import box_domain
from dpfda.noise import Calibrated, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Floats
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import choice, exact, readable
from dpfda.privacy.guarantees import Neighbours, PureDP, budget
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication.charging import stamp
from dpfda.publication.integers import publish_integers
from dpfda.releases.lattice import LatticeRelease, stated_by_caller

Domain = tuple[tuple[float, float], ...]

LARGEST_LATTICE = 2**20
# Of degree one, so many have as many points.
MOST_VARIABLES = 20
# Files hold noise of a scale that is a float, in the units of the function.
COARSEST = 10**300
# The sensitivity is about 2^40 units of the grid on which values are rounded.
SENSITIVITY_BITS = 40


def release_function(
    target: Callable[[Floats], ArrayLike] | ArrayLike,
    sensitivity: object,
    epsilon: object,
    degree: int,
    domain_range: object,
    *,
    neighbours: str = "replace-one",
    unit: str = "record",
    invalid: str = "refuse",
    ledger: object = None,
) -> LatticeRelease:
    """Release a function of private data, of one or several variables, under pure privacy.

    Its values on the lattice {0..k}^d / k get Laplace noise and are joined by Bernstein polynomials.

    **YOU PROVE THE SENSITIVITY.** The library sees the function on one data set and cannot know how far
    another data set would move it. If `sensitivity` is smaller than the truth, the release is NOT
    private at `epsilon`, and nothing will say so. It must come from a proof, never from these data.

    Parameters
    ----------
    target : callable or array ((k + 1,) * d)
        The function of the private data: a callable that takes points (q, d) and returns values (q,), or
        its values on the lattice (`dpfda.bases.bernstein.lattice`). Private.
    sensitivity : number
        Largest |f_D(t) - f_D'(t)| over all lattice points t and all neighbouring data sets D, D', for
        the values as your program computes them, with its rounding. Public, up to 1e300 `epsilon`.
    epsilon : number or text
        Privacy loss, from 1e-9 to 1e9.
    degree : int
        Degree k in each variable. Public.
    domain_range : (a, b) or sequence of d pairs (a, b)
        Ends of the domain. Public.
    neighbours : {"replace-one", "add-remove"}
        For which pairs of data sets the sensitivity was proved.
    unit : str
        Who is protected, in the singular.
    invalid : {"refuse", "repair"}
        Raise on a value that is NaN or infinite (outside the guarantee: an error tells something), or
        put zero in its place. The sensitivity must then be that of the repaired function.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn; as in `dpfda.PrivateMean`.

    Returns
    -------
    LatticeRelease
        A public function: call it at points (q, d).

    Raises
    ------
    ParameterError
        If a public argument is unusable, or the lattice has more than 2^20 points.
    DataError
        If the target's values have another shape, are not numbers or (by default) not finite.
    BudgetError
        If the ledger refuses; no noise was drawn.

    Notes
    -----
    **Guarantee.** Pure epsilon, if |f_D - f_D'| <= `sensitivity` on the lattice (Alda & Rubinstein
    2017): proof, error and what becomes of rounding are on the page on privacy.

    Examples
    --------
    >>> import numpy as np
    >>> people = np.random.default_rng(1).uniform(size=(500, 2))
    >>> def share(points):  # of people with both numbers below: one of them moves it by 1/500
    ...     return np.mean(np.all(people <= points[:, None, :], axis=2), axis=1)
    >>> release = release_function(share, 1 / 500, epsilon=1, degree=4, domain_range=[(0, 1), (0, 1)])
    >>> release([[0.5, 0.5], [1.0, 1.0]]).shape
    (2,)
    """
    guarantee = PureDP(budget(epsilon).epsilon)
    relation, account = Neighbours.parse(neighbours), read_ledger(ledger)
    choice(invalid, "invalid", ("refuse", "repair"))
    if not isinstance(unit, str) or not unit.strip():
        raise ParameterError("unit", "name who is protected, in the singular", repr(unit))
    degree = check_degree(degree)
    domain = box_domain(domain_range, MOST_VARIABLES)
    count = (degree + 1) ** len(domain)
    if count > LARGEST_LATTICE:
        raise ParameterError(
            "degree", f"give at most {LARGEST_LATTICE} lattice points", f"{count}", "Lower it."
        )
    move = exact(sensitivity, "sensitivity")
    if move <= 0:
        raise ParameterError(
            "sensitivity", "be positive", readable(move), "A function that no record can move is public."
        )
    if move > COARSEST * guarantee.epsilon:
        words = "be at most 1e300 times epsilon, so that floats can hold the release"
        raise ParameterError("sensitivity", words, readable(move), "Take larger units of the function.")
    exponent = SENSITIVITY_BITS - move.numerator.bit_length() + move.denominator.bit_length()
    width = math.ceil(move * Fraction(2) ** exponent)
    noise = knorm_noise((1,) * count, np.ones(count), "linf", width, guarantee)
    law = Calibrated(noise, guarantee, "linf", width)
    values = _values(target, degree, domain, invalid)
    total = IntegerSum.of([on_grid(value, exponent) for value in values])
    entry = {
        "summary": f"function of {len(domain)} variable(s) on a lattice",
        "neighbours": str(relation),
        "privacy_unit": unit,
        "bound": stated_by_caller(readable(move)),
        "basis": f"Bernstein polynomials of degree {degree}",
        "mechanism": "bernstein",
    }
    noisy, certificate = publish_integers(total, law, entry, account)
    return LatticeRelease(noisy, degree, domain, exponent, noise.scales[0], move, certificate, stamp())


def _values(target: object, degree: int, domain: Domain, invalid: str) -> list[Fraction]:
    """Values of the target on the lattice, exactly, in the order of its points. Private."""
    shape: tuple[int, ...] = (degree + 1,) * len(domain)
    if callable(target) and not isinstance(target, type):
        target = target(lattice(degree, domain))
        shape = (math.prod(shape),)
    cells = _cells(target)
    if cells is None:
        raise DataError("target must give real numbers; found something else.")
    if cells.shape != shape:
        raise DataError(f"target must give values of shape {shape}; found {cells.shape}.")
    values = [_exactly(cell) for cell in cells.ravel()]
    unusable = [place for place, value in enumerate(values) if value is None]
    if invalid == "refuse" and unusable:
        raise DataError(
            "target must be finite on the lattice; found a value that is not at position "
            f"{unusable[0]}. Use $invalid to put zero in its place, if the "
            "sensitivity holds for that. This check is outside the privacy guarantee."
        )
    return [Fraction(0) if value is None else value for value in values]


def _cells(target: object) -> Cells | None:
    """The target's values as they are: a common type for all could round some of them."""
    kinds = "biufO"
    if np.ma.isMaskedArray(target):
        # What is masked is missing, whatever stands below the mask.
        hidden = np.ma.getmaskarray(target)
        target = np.asarray(np.ma.getdata(target)).astype(object)
        target[hidden] = None
    try:
        cells = target if isinstance(target, np.ndarray) else np.array(target, dtype=object)
    except ValueError:
        return None
    numbers = (int, float, Fraction, Decimal, np.number, np.bool_, type(None))
    if cells.dtype.kind not in kinds or not all(
        isinstance(cell, numbers) and not isinstance(cell, np.complexfloating) for cell in cells.flat
    ):
        return None
    return cells


def _exactly(cell: Any) -> Fraction | None:
    """A number as the rational that it is; None where it is not finite."""
    if cell is None:
        return None
    try:
        return Fraction(*(int(cell) if isinstance(cell, np.bool_) else cell).as_integer_ratio())
    except AttributeError:
        # numpy's integers have no ratio of their own.
        return Fraction(int(cell))
    except (OverflowError, ValueError):
        return None


def on_grid(value: Fraction, exponent: int) -> int:
    """floor(2^exponent value + 1/2), exactly."""
    return math.floor(value * Fraction(2) ** exponent + Fraction(1, 2))
