"""The pooled sum of an estimator on a cluster, whose cells may follow from how many units there are."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Integers
from dpfda.numerics.errors import DpfdaError
from dpfda.spine.arguments import Beside, Labels, Records
from dpfda.spine.choices import public_size, stated_size
from dpfda.spine.pooled import PooledSum, Rows, one_sum
from dpfda.spine.settings import Settings

if TYPE_CHECKING:
    from dpfda.releases.base import Release
    from dpfda.spine.estimator import Estimator


@dataclass(frozen=True, eq=False)
class Units(PooledSum):
    """How many units there are, as a sum of no numbers."""

    settings: Settings
    numbers = 0

    def read(self, X: Any, y: Beside = None) -> Rows:
        return (np.zeros(len(X), dtype=np.bool_),)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        units = len(rows[0]) if codes is None else int(codes.max(initial=-1)) + 1
        return IntegerSum(0).add_totals([], units)

    def publish(self, total: IntegerSum, ledger: object = None) -> Release:
        raise DpfdaError("A number of units alone is not released.")


def pooled_for(
    estimator: Estimator, X: Records, groups: Labels, y: object, count: Callable[[], int]
) -> PooledSum:
    """The sum of an estimator on the columns of X, where these are records that were made up.

    groups: Whether it is None is looked at.
    y: What else is said of records, by its names.
    count: How many units there are; not called where that is private, or the sum does not ask for it.
    Raises ParameterError if the summary is no sum, or a public parameter is unusable.
    """
    if not hasattr(estimator, "_pooled_for"):
        return one_sum(estimator, "pooled_on").pooled_on(X, groups)
    settings: Settings = estimator._settings_for(X, groups)
    unit, cells = settings.unit, getattr(estimator, "cells", None)
    size = public_size(unit, 2) if unit.private else count()
    if size is None:
        # Nothing but the cells follows from it.
        named = "cells" if hasattr(estimator, "cells") else "public_size"
        size = 2 if cells is not None else stated_size(None, named)
    # What goes to where the records are has no ledger.
    own = copy(estimator).set_params(
        unit=unit.but(name=unit.called(groups)), domain=settings.domain, ledger=None
    )
    made: PooledSum = own._pooled_for(size, X, y, groups is not None)
    return made
