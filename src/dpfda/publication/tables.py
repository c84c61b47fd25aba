"""What plans of tables share: guarantee, neighbours, unit and bound are those of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication.plan import Plan


class Table(Protocol):
    """The public side of a table: `ShareTable`, `CornerTable`."""

    @property
    def charged(self) -> Guarantee: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def unit(self) -> str: ...
    @property
    def words(self) -> Mapping[str, str]: ...


class TablePlan(Plan):
    """Plan of a summary that is one table with noise, which is charged as a whole."""

    table: Table

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
    def bounded(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"description": self.table.words["bound"]}

    @property
    def functions(self) -> str:
        return self.table.words["basis"]
