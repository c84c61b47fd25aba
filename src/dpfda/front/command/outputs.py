"""Output files: checked before anything else happens, then tables and pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpfda.errors import MissingExtraError, ParameterError, StorageError
from dpfda.releases.storage import check_writable, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PICTURES = (".png", ".pdf", ".svg")


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path], overwrite: bool
) -> None:
    """Make sure that all output files can be written and that none replaces something.

    Parameters
    ----------
    outputs : mapping
        Option name to path, None where it was not given.
    inputs : mapping
        Names and paths of files that are read.
    overwrite : bool
        Whether existing output files may be replaced; input files never may.

    Raises
    ------
    ParameterError, StorageError, MissingExtraError
    """
    seen = {path.resolve(): name for name, path in inputs.items()}
    for name, path in outputs.items():
        if path is None:
            continue
        check_writable(path)
        if path.resolve() in seen:
            raise ParameterError(
                name,
                f"be another file than {seen[path.resolve()]}",
                repr(str(path)),
                "Choose another path.",
            )
        seen[path.resolve()] = name
        if path.exists() and not overwrite:
            raise StorageError(
                f"{name} must be a new file; found that {str(path)!r} exists. Choose another path, or "
                "add --overwrite to replace it."
            )
        if name.endswith("plot"):
            _check_picture(name, path)


def _check_picture(name: str, path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(name, f"end in one of {', '.join(PICTURES)}", repr(str(path)))
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", name)


def new_picture() -> Axes:
    """An axis to draw on; no window is opened."""
    import matplotlib

    matplotlib.use("Agg")
    from dpfda.releases.plotting import new_axis

    return new_axis()


def save_picture(axis: Axes, path: Path) -> None:
    """Write the figure of an axis and close it."""
    from matplotlib import pyplot

    figure = axis.get_figure(root=True)
    if figure is not None:
        figure.savefig(path, dpi=150)
        pyplot.close(figure)


def write_csv(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Write columns as CSV; floats with the digits that give them back exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(path, text.getvalue())


def text_table(columns: Mapping[str, Sequence[str]]) -> str:
    """Columns aligned to the right, for reading."""
    widths = [max(map(len, [name, *cells])) for name, cells in columns.items()]
    rows = [tuple(columns), *zip(*columns.values(), strict=True)]
    lines = ["  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)
