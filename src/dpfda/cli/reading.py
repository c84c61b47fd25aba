"""How a verb reads its file: the options that say what is in it, and what is said of the reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dpfda.cli.running import progress_bar
from dpfda.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dpfda.records.files import TableCurves

MOST_POINTS = 100_000
SHOWN = 3


class _InFile(Protocol):
    """Records that know where in their file they stand."""

    def in_file(self, message: str) -> str: ...


@dataclass(frozen=True)
class CurveOptions:
    """The options that say how curves lie in a file. Public.

    Parameters
    ----------
    columns, groups, id, time, value : str, optional
        Labels of columns.
    missing, invalid, decimal : str
        Choices of words.
    dates : str, optional
        How dates are written.
    grid : str, optional
        Points of the grid, as START:STOP:STEP or numbers with commas.
    domain : (str, str), optional
        Ends of the domain as they were typed: numbers, or dates where these are stated.
    """

    columns: str | None = None
    groups: str | None = None
    id: str | None = None
    time: str | None = None
    value: str | None = None
    missing: str = "refuse"
    invalid: str = "refuse"
    decimal: str = "."
    dates: str | None = None
    grid: str | None = None
    domain: tuple[str, str] | None = None

    @property
    def is_long(self) -> bool:
        """Whether a row is an observation."""
        return self.id is not None

    def checked(self) -> CurveOptions:
        """Check them together, before a file is read.

        Raises
        ------
        ParameterError
        """
        from dpfda.records.curves import check_choice

        check_choice(self.missing, "--missing", ("refuse", "complete"))
        check_choice(self.invalid, "--invalid", ("refuse", "repair"))
        check_choice(self.decimal, "--decimal", (".", ","))
        self._check_layout()
        if self.grid is not None and (self.is_long or self.dates is not None):
            raise ParameterError("--grid", "be left out in the long layout and with --dates", self.grid)
        self.grid_points()
        self.ends()
        return self

    def _check_layout(self) -> None:
        layout = {"--id": self.id, "--time": self.time, "--value": self.value}
        given = [name for name, column in layout.items() if column is not None]
        if not given:
            return
        if len(given) < len(layout):
            raise ParameterError("The long layout", "name --id, --time and --value", " and ".join(given))
        if self.domain is None:
            raise ParameterError(
                "--domain",
                "be given in the long layout",
                "none",
                "The span of the observed times is private; pass the public ends, as in --domain 0 52.",
            )
        if self.columns is not None:
            raise ParameterError("--columns", "be left out in the long layout", repr(self.columns))
        if self.missing != "refuse":
            raise ParameterError(
                "--missing",
                "be left out in the long layout, where a missing observation is a missing line",
                repr(self.missing),
            )

    def ends(self) -> tuple[float, float] | None:
        """The ends of the domain as numbers; with dates, in days since the first."""
        from dpfda.records.dates import Dates

        dates = None if self.dates is None else Dates(self.dates)
        if self.domain is None:
            return None
        first, last = self.domain
        if dates is not None:
            return 0.0, dates.since(first, "--domain").until(last, "--domain")
        try:
            return float(first), float(last)
        except ValueError:
            raise ParameterError(
                "--domain",
                "be two numbers",
                f"{first!r} {last!r}",
                "Example: --domain 0 24; dates need --dates.",
            ) from None

    def grid_points(self) -> list[float] | None:
        """The points that are stated."""
        return None if self.grid is None else parse_points(self.grid, "--grid")

    def read(self, file: Path) -> TableCurves:
        """Read the curves of a file."""
        from dpfda.records import files

        with progress_bar(f"reading {file.name}") as progress:
            return files.read_curves(
                file,
                columns=self.columns,
                groups=self.groups,
                id=self.id,
                time=self.time,
                value=self.value,
                decimal=self.decimal,
                dates=self.dates,
                since=None if self.domain is None or self.dates is None else self.domain[0],
                grid=self.grid_points(),
                invalid=self.invalid,
                progress=progress,
            )

    def notes(
        self, table: TableCurves, domain: tuple[float, float], used: Sequence[str] = ()
    ) -> list[str]:
        """What is said of the reading: where the axis came from, and whose rows they are.

        Parameters
        ----------
        table : TableCurves
        domain : (float, float)
            The domain of the release.
        used : sequence of str
            Labels of further columns that the verb uses.
        """
        named = [name for name in (self.groups, self.id, *used) if name is not None]
        return [self._axis(table, domain), *identifier_notes(table.header, named, self.groups)]

    def _axis(self, table: TableCurves, domain: tuple[float, float]) -> str:
        if table.grid_points is None:
            if table.axis != "words":
                how = "" if table.axis == "time" else f", as {table.axis}"
                return f"axis: column {self.time!r}{how}"
            low, high = domain
            return (
                f"axis: {len(table.columns)} points, equally spaced from {low:g} to {high:g}, "
                "because the header holds words; state others with --grid START:STOP:STEP"
            )
        points = table.grid_points
        where = {"header": "the numbers in the header", "stated": "as stated with --grid"}.get(
            table.axis, f"the dates in the header, as {table.axis}"
        )
        return f"axis: {points.size} points from {points[0]:g} to {points[-1]:g}, {where}"

    def axis_label(self, table: TableCurves) -> str | None:
        """What the axis is, where the reading says it: days since a date."""
        return None if self.dates is None else table.axis


def identifier_notes(header: Sequence[str], used: Sequence[str], groups: str | None) -> list[str]:
    """Point out columns that look like names of persons where no privacy unit is named."""
    from dpfda.records.headers import identifiers

    found = identifiers(header, used) if groups is None else []
    if not found:
        return []
    many = len(found) > 1
    names = ", ".join(map(repr, found[:SHOWN])) + (" and others" if len(found) > SHOWN else "")
    return [
        f"column{'s' if many else ''} {names} look{'' if many else 's'} like an identifier and "
        f"{'are' if many else 'is'} not used; if one person may have several records, name the person's "
        f"column, as in --groups {found[0]!r}, for else each record is protected alone"
    ]


@contextmanager
def located(table: _InFile) -> Iterator[None]:
    """Errors about rows and columns of the data name lines and columns of the file."""
    try:
        yield
    except DataError as error:
        raise type(error)(table.in_file(str(error))) from None


def parse_points(text: str, option: str) -> list[float]:
    """Read points: numbers with commas, or START:STOP:STEP with both ends.

    Raises
    ------
    ParameterError
        If it is neither.
    """
    try:
        if ":" not in text:
            return [float(part) for part in text.split(",")]
        start, stop, step = (float(part) for part in text.split(":"))
        count = round((stop - start) / step)
        if not 1 <= count <= MOST_POINTS or abs(start + count * step - stop) > 1e-9 * abs(stop - start):
            raise ValueError
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(
            option,
            "be numbers with commas, or START:STOP:STEP with whole steps from START to STOP",
            repr(text),
            f"Example: {option} 0:105:5",
        ) from None
    import numpy as np

    return [float(point) for point in np.linspace(start, stop, count + 1)]
