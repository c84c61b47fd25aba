"""What tables with noise share: law, charge and deviation; and what is of the table in their plans."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from dpfda.noise import AnyNorm, NoiseLaw, Width, cost_of
from dpfda.privacy.certificates import WHOLE
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication.again import PlanAgain
from dpfda.publication.charging import recomputed


class Table(ABC):
    """The public side of a table of integers that gets noise of one law; it has seen no data."""

    # The law is of integers in units of 2^-exponent of a privacy unit.
    exponent: ClassVar[int]
    neighbours: Neighbours
    unit: str
    words: Mapping[str, str]

    @property
    @abstractmethod
    def calibrated(self) -> tuple[NoiseLaw, Guarantee, AnyNorm, Width]:
        """The law, what is charged, and how far neighbours differ in the norm that it needs."""

    @property
    def law(self) -> NoiseLaw:
        """Law of the noise."""
        return self.calibrated[0]

    @property
    def charged(self) -> Guarantee:
        """What is charged: without delta where the noise needs none."""
        return self.calibrated[1]

    def costs(self) -> dict[str, Cost]:
        """One charge pays for the table."""
        law, charged, norm, width = self.calibrated
        return {WHOLE: cost_of(law, recomputed(law, norm, width, charged), charged)}

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a cell, in units (persons)."""
        return math.ldexp(math.sqrt(float(self.law.variances()[0])), -self.exponent)


class TablePlan(PlanAgain):
    """Plan of a summary that is one table with noise, which is charged as a whole."""

    table: Table

    def costs(self) -> dict[str, Cost]:
        return self.table.costs()

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """What is charged: without delta where the noise needs none."""
        return self.table.charged

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        return self.table.neighbours

    @property
    def unit(self) -> str:  # type: ignore[override]
        return self.table.unit

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": self.table.words["bound"]}

    @property
    def functions(self) -> str:
        return self.table.words["basis"]
