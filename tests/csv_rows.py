"""Tables that were written as CSV, whose names say what their columns are."""

import csv
from collections.abc import Iterable


def csv_rows(lines: Iterable[str]) -> list[dict[str, str]]:
    """Rows by the short names of their columns."""
    header, *rows = csv.reader(lines)
    names = [cell.partition(": ")[0] for cell in header]
    assert all(cell.partition(": ")[2] for cell in header), "a column does not say what it is"
    return [dict(zip(names, row, strict=True)) for row in rows]
