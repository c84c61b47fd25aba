"""Summaries that are one exact sum: what a holder of whole units adds up, and what becomes of the total.

A holder is a custodian, a partition, a worker. What it computes depends on its own units and on public
numbers alone, so totals of holders add up to the integers of one holder of all records, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpfda.bases.protocol import Functions
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.numerics.parameters import shown
from dpfda.publication import Plan
from dpfda.publication.shares import SharedLaw, Sharing
from dpfda.records.labels import units_of
from dpfda.spine.arguments import Beside, Columns, Labels, Records
from dpfda.spine.settings import Settings

if TYPE_CHECKING:
    from dpfda.releases.base import Release
    from dpfda.spine.estimator import Estimator

Rows = tuple[Cells, ...]
# Of units that are in a sum with noise in shares; None where their number is private.
Size = int | Fraction | None
# Of a sum whose records are not read apart from the labels of their units.
IN_ONE = "Records are added up in one step, with the labels of their units: see total."


class PooledSum(ABC):
    """How one summary is added up where the records are, and published where the total is. Public.

    Attributes
    ----------
    numbers : int
        Length of the total.
    largest : int
        No number that is made of one unit's integers is larger.
    rule : dict
        What makes integers of records, as JSON types: holders whose rules differ do not add up.
    settings : Settings
        How records are read.
    plan : Plan
        On the columns of all holders.
    """

    numbers: int
    largest: int
    rule: dict[str, object]
    settings: Settings
    plan: Plan

    def read(self, X: Records, y: Beside = None) -> Rows:
        """What is needed of each record, in arrays with a row a record; X and labels y are private.

        Raises
        ------
        DataError
            With the row of a record that cannot be used, unless repairing.
        """
        raise DpfdaError(IN_ONE)

    def add_up(self, rows: Rows, codes: Integers | None) -> IntegerSum:
        """The exact sum over whole units, and how many they are.

        Parameters
        ----------
        rows : tuple of array
            As `read` returned them, or those of some records.
        codes : array (n,) of int, or None
            Numbers of the records' units; None where each is one.
        """
        raise DpfdaError(IN_ONE)

    def total(self, X: Records, groups: Labels = None, y: Beside = None) -> IntegerSum:
        """The same from records, the labels of their units, and further columns."""
        with np.errstate(all="ignore"):
            rows = self.read(X, y)
            return self.add_up(rows, units_of(groups, len(rows[0]), self.invalid)[0])

    @abstractmethod
    def publish(self, total: IntegerSum, ledger: object = None) -> Release:
        """Charge, draw and release the total of all holders; the ledger as an estimator takes it."""

    @property
    def sharing(self) -> Sharing:
        """What of the sum can get noise in shares. Raises ParameterError if nothing can."""
        raise NotImplementedError

    def measured(self, total: IntegerSum) -> IntegerSum:
        """The integers that get noise in shares, from the sum. Private like it."""
        return total

    def publish_shared(self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object) -> Release:
        """Charge for and release what is `measured` of `size` units (None: private) with all shares."""
        raise NotImplementedError

    def describe(self) -> str:
        """The bound on one unit, and where it lies, in words."""
        return f"{self.plan.bounded['description']}; {self.plan.functions}"

    @property
    def invalid(self) -> str:
        """What becomes of records that cannot be used."""
        return self.settings.reading.invalid

    @property
    def stated_basis(self) -> Functions | None:
        """The functions that were asked for; None where there are none."""
        return None

    @property
    def stated_grid(self) -> tuple[Floats, tuple[float, float]] | None:
        """Grid and domain, where they are all that there is of functions."""
        return None

    @property
    def thresholds(self) -> bool:
        """Whether the exact total is looked at before it gets noise."""
        return False

    @property
    def digest(self) -> str:
        """Hash of the rule."""
        text = json.dumps(self.rule, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


class OneSum(Protocol):
    """An estimator whose summary is one exact sum, wherever the units are."""

    ledger: object
    release_: object

    def pooled(self, n: int, columns: Columns = ...) -> PooledSum:
        """The sum for n units of all holders; columns as in `dpfda.PrivateMean.plan`."""

    def pooled_on(self, X: Records, groups: Labels = None) -> PooledSum:
        """The sum on the columns of X, where the number of units is not known yet."""


def one_sum(estimator: Estimator, road: str) -> OneSum:
    """The estimator, if its summary is one sum that `road`, "pooled" or "pooled_on", leads to.

    Raises
    ------
    ParameterError
        If it is none, or its class has a `fit` of its own that this road would not hear.
    """
    if not hasattr(estimator, road):
        words = "be of a summary that is one sum of its units' integers, as a PrivateMean is"
        raise ParameterError("estimator", words, shown(estimator))
    estimator._check_road(road)
    summary: OneSum = estimator
    return summary
