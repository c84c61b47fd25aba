"""Guarantees for more than one changed unit: groups, and replacing instead of adding."""

from __future__ import annotations

from fractions import Fraction

from dpfda.numerics.errors import ConversionError
from dpfda.numerics.exactness import enclosed, precision
from dpfda.numerics.parameters import whole
from dpfda.privacy.composition.rounding import PRECISION, at_least
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
    checked_guarantee,
)


def for_group(guarantee: Guarantee, size: int) -> Guarantee:
    """What a guarantee for one unit says of data sets that differ in several.

    Parameters
    ----------
    guarantee : Guarantee
        For one unit.
    size : int
        Number k of units that differ, for example the most records that one person can have.

    Returns
    -------
    Guarantee
        k epsilon; delta (e^(k epsilon) - 1)/(e^epsilon - 1), rounded up; k^2 rho.

    Raises
    ------
    ParameterError
        If the size is not a positive integer.
    ConversionError
        If delta would reach 1.

    Notes
    -----
    Pure and approximate: the triangle inequality through k - 1 data sets in between, whose factors
    1 + e^epsilon + ... + e^((k-1) epsilon) add up as above. Concentrated: Bun & Steinke (2016),
    Proposition 1.9.
    """
    size = whole(size, "size", words="be a positive integer")
    checked_guarantee(guarantee)
    if isinstance(guarantee, PureDP):
        return PureDP(size * guarantee.epsilon)
    if isinstance(guarantee, ZeroConcentratedDP):
        return ZeroConcentratedDP(size**2 * guarantee.rho)
    delta = _group_delta(guarantee, size)
    if delta >= 1:
        raise ConversionError(
            f"A group of {size} has no guarantee left: delta must stay below 1, but that of "
            f"{guarantee} reaches it. Use a smaller delta, or pure differential privacy.",
            guarantee,
        )
    return ApproximateDP(size * guarantee.epsilon, delta)


def _group_delta(guarantee: ApproximateDP, size: int) -> Fraction:
    if size == 1:
        return guarantee.delta
    with precision(PRECISION):
        epsilon = enclosed(guarantee.epsilon)
        factor = (size * epsilon).expm1() / epsilon.expm1()
        return at_least(enclosed(guarantee.delta) * factor)


def for_replace_one(guarantee: Guarantee) -> Guarantee:
    """What an add/remove guarantee says under replace-one neighbours.

    To replace a unit is to remove one and add another: 2 epsilon, (1 + e^epsilon) delta, 4 rho. There
    is no way back: replace-one neighbours have equally many units, so a replace-one guarantee says
    nothing of data sets of different size.

    Raises
    ------
    ConversionError
        If delta would reach 1.
    """
    return for_group(guarantee, 2)
