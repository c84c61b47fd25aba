"""What estimators accept, named once: for signatures, editors and type checkers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol, TypeAlias

from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.protocol import BoxFunctions
from dpfda.bounds import Bound
from dpfda.mechanisms import Mechanism
from dpfda.privacy.ledger import DatasetLedger, Reservation
from dpfda.records import LongCurves
from dpfda.spine import settings


class SpeaksArrow(Protocol):
    """Tables, columns and streams that hand themselves over as Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with the stream."""


class HasRows(Protocol):
    """Cursors and results of databases."""

    def fetchall(self) -> object:
        """All rows."""


# Arrays, data frames and functional data (which make an array of themselves), irregular curves, tables.
Records: TypeAlias = ArrayLike | LongCurves | SpeaksArrow | HasRows
# One cell a record, such as the person that it is from; or the label of a column.
Labels: TypeAlias = ArrayLike | Sequence[object] | SpeaksArrow | None
# Further columns of the records: their groups, or several by name.
Beside: TypeAlias = Labels | Mapping[str, object]
# A privacy parameter; text is exactly the decimal or quotient that it says.
Number: TypeAlias = float | Fraction | Decimal | str | None
# Lower and upper end, each a number or one a grid point; or another public set.
Bounds: TypeAlias = Bound | Sequence[ArrayLike] | None
Kernel: TypeAlias = Callable[..., object] | str
Functions: TypeAlias = Basis | BoxFunctions | Kernel | None
Noise: TypeAlias = str | Mechanism | settings.Gathered
Place: TypeAlias = settings.Domain | Sequence[float] | Sequence[Sequence[float]] | None
Protected: TypeAlias = settings.PrivacyUnit | str | None
Payer: TypeAlias = DatasetLedger | Reservation | str | None
# Curves that are known beforehand: values on the grid, functions, releases.
PublicCurve: TypeAlias = ArrayLike | Callable[..., object]
PublicCurves: TypeAlias = PublicCurve | Sequence[PublicCurve] | None
Middle: TypeAlias = PublicCurve | settings.Gathered | None
# What cells or points are equal on: its name, public points of the axis, or an increasing function.
AxisScale: TypeAlias = ArrayLike | Callable[..., object]
# How many equally spaced points, or the points.
Columns: TypeAlias = ArrayLike
# Edges of cells on an interval, or along each axis of a box.
Edges: TypeAlias = ArrayLike | Sequence[ArrayLike]
