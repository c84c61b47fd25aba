"""Survey weights with a public largest value: what each record counts as.

**What one unit adds.** A record of weight w counts as q = floor(2^20 min(w, W) / W), an integer from 0
to 2^20 that follows from it and the public W alone, whatever the floats do: they are cut to [0, 1]
before. A record without weights counts as 2^20. A unit whose k usable records count as q_1 .. q_k has
the share floor(sum_{i in c} q_i / k) of each cell c: integers >= 0, in all at most max q_i <= 2^20, as
without weights. All that is proved of shares (`dpfda.noise.shares`, `dpfda.density.quantiles_design`,
`dpfda.publication.zoom`) asks for no more than this, under either relation of neighbours. What changes
is the divisor: the sum of the noisy shares, since the sum of the weights is private.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import DataError, Location, ParameterError
from dpfda.numerics.parameters import length
from dpfda.records.cells import OUTSIDE
from dpfda.records.containers import column_of

# Where nothing else is known, weights are on average taken for the largest over this.
USUAL = 4


@dataclass(frozen=True, repr=False, eq=False)
class Weights:
    """Survey weights and their largest value, for ``fit(X, weights=Weights(w, 5))``.

    Parameters
    ----------
    values : array (n,)
        A weight a record. Private. It must follow from that record alone, as by design: weights that
        are calibrated to the sample change with whoever else is in it, and no noise hides that.
    largest : float
        Larger weights count as this. Public.

    Raises
    ------
    ParameterError
        If the largest is no positive number.

    Examples
    --------
    >>> Weights([0.5, 1.25, 7.0], largest=5).largest
    5.0
    """

    values: object
    largest: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", length(self.largest, "largest"))


def check_weights(weights: object) -> Weights:
    """The weights. Raises ParameterError if they are none."""
    if not isinstance(weights, Weights):
        raise ParameterError(
            "weights", "be Weights(values, largest) of dpfda.records.weights", type(weights).__name__
        )
    return weights


def weight_shares(weights: Weights, size: int, invalid: str) -> Floats:
    """Weights (n,) over the largest, from 0 to 1. Private.

    One that is no number, or below 0, is refused, or taken for 0 where records are repaired.
    """
    column, first = column_of(weights.values, "weights")
    if column.shape != (size,):
        raise DataError(f"weights must be one a record ({size}); found {column.size}.", "weights")
    sound = np.isfinite(column) & (column >= 0)
    if invalid == "refuse" and (first is not None or not sound.all()):
        row = int(np.argmin(sound)) if first is None else first[0]
        words = f"weights must be finite and not negative; found another in $place. {OUTSIDE}"
        raise DataError(words, place=Location(row))
    # Whether a quotient overflows or underflows depends on weights: it may neither warn nor raise.
    with np.errstate(all="ignore"):
        return np.clip(np.where(sound, column, 0.0) / weights.largest, 0.0, 1.0)


def whole_weights(weights: Weights | None, size: int, invalid: str, exponent: int) -> Integers | None:
    """What records count as (n,), in units of 2^-exponent; None without weights. Private."""
    if weights is None:
        return None
    return np.floor(np.ldexp(weight_shares(weights, size, invalid), exponent)).astype(np.int64)


def usual_total(weights: Weights | None, count: int) -> int:
    """What cells are designed for in the place of so many units, which are public or not looked at."""
    return count if weights is None or count < 2 else max(2, count // USUAL)
