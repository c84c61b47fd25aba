"""Output files: checked before anything else happens, then tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.numerics.errors import MissingExtraError, ParameterError, StorageError
from dpfda.releases.files import check_writable

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


def save_picture(drawn: Callable[[], Axes], path: Path) -> None:
    """Write what is drawn, without a window, and close it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = drawn().get_figure(root=True)
    if figure is not None:
        figure.savefig(path, dpi=150)
        pyplot.close(figure)
