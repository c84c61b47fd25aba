"""Files of a verb: releases that it opens, outputs that it checks before all else, and pictures."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DpfdaError, MissingExtraError, ParameterError, StorageError
from dpfda.numerics.parameters import plain_words
from dpfda.releases.files import BINARY, PICTURES, check_writable, other_kind, write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpfda.releases.base import Release

# Ends of names that promise something else than a table of text.
NO_CSV = (".json", *BINARY)
# Stands for standard input.
PIPED = "-"


def opened(file: Path) -> Release:
    """The release in a file; of -, the one on standard input.

    Raises
    ------
    ParameterError
        If nothing was piped in.
    StorageError
        If it is no release.
    """
    return opened_with_bytes(file)[0]


def named_columns(file: Path, decimal: str) -> list[str]:
    """Names in the header of a file with records, none where it cannot be read.

    Those that begin with no letter are left out: where a header is missing they are somebody's values.
    """
    from dpfda.records.csv_tables import Stated
    from dpfda.records.files import opened as table_of
    from dpfda.records.lines import Notation

    try:
        labels = table_of(file, Stated(Notation(decimal), None, "refuse", None)).labels
    except (DpfdaError, OSError):
        return []
    return [label for label in labels if label[:1].isalpha() or label[:1] == "_"]


def opened_with_bytes(file: Path) -> tuple[Release, bytes]:
    """The release as of `opened`, and what the file holds, for its hash."""
    from dpfda.releases.base import load

    if str(file) != PIPED:
        return load(file), file.read_bytes()
    if sys.stdin is None or sys.stdin.isatty():
        raise ParameterError("F.json", "be '-' only where a release is piped in", "a terminal")
    # A release is public: it may be written anywhere.
    with tempfile.TemporaryDirectory() as folder:
        piped = Path(folder) / "standard input"
        piped.write_bytes(sys.stdin.buffer.read())
        return load(piped), piped.read_bytes()


def relabelled(release: Release, x_label: str | None, y_label: str | None) -> Release:
    """The release with other names of its axes, where they are given: words alone change.

    Raises
    ------
    ParameterError
        If a name is no plain line of words.
    """
    labels = {"domain": (x_label, "--x-label"), "value": (y_label, "--y-label")}
    words = {key: plain_words(text, flag) for key, (text, flag) in labels.items() if text is not None}

    def renamed(entry: object) -> object:
        if isinstance(entry, list):
            return [renamed(item) for item in entry]
        if not isinstance(entry, dict):
            return entry
        copy: Json = {key: renamed(value) for key, value in entry.items()}
        if isinstance(copy.get("about"), dict):
            copy["about"] |= words
        return copy

    if not words:
        return release
    written = renamed(release.to_json())
    assert isinstance(written, dict)  # noqa: S101 - for the type checker
    return type(release).from_json(written)


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Path], overwrite: bool, page: bool = False
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
    page : bool
        Whether a page is what is written, and no release.

    Raises
    ------
    ParameterError, StorageError, MissingExtraError
    """
    seen = {path.resolve(): name for name, path in inputs.items()}
    for name, path in outputs.items():
        if path is None:
            continue
        if str(path) == PIPED:
            raise ParameterError(name, "be the path of a file", repr(PIPED), "Choose another.")
        check_writable(path)
        if path.resolve() in seen:
            words = f"be another file than {seen[path.resolve()]}"
            raise ParameterError(name, words, repr(str(path)), "Choose another path.")
        seen[path.resolve()] = name
        if path.exists() and not overwrite:
            raise StorageError(
                f"{name} must be a new file; found that {str(path)!r} exists. Choose another path, or "
                "add --overwrite to replace it."
            )
        if name.endswith("plot") and _ends(path) not in PICTURES:
            raise ParameterError(name, f"end in one of {', '.join(PICTURES)}", repr(str(path)))
        if name.endswith("plot") and find_spec("matplotlib") is None:
            raise MissingExtraError("matplotlib", "plot", name)
        if name == "--out" and not page and (other := other_kind(path)):
            raise ParameterError(name, "end in .json", repr(str(path)), _elsewhere(other, path, outputs))
        if name == "--csv" and (other_kind(path) in ("picture", "page") or _ends(path) in NO_CSV):
            raise ParameterError(name, "end in .csv", repr(str(path)), "Its table is text.")


def _ends(path: Path) -> str:
    return path.suffix.lower()


def _elsewhere(other: str, path: Path, outputs: Mapping[str, Path | None]) -> str:
    """How what a name promises is written: by another option of the verb, or by another verb."""
    flag, verb, endings = {
        "table": ("--csv", "eval F.json --csv", (".csv",)),
        "picture": ("--plot", "plot F.json --plot", PICTURES),
        "page": ("", "report F.json --out", (".html", ".htm")),
    }[other]
    named = path if _ends(path) in endings else path.with_suffix(endings[0])
    if flag in outputs:
        return f"For a {other} write {flag} {named} beside it."
    return f"For a {other} of a release: dpfda {verb} {named}."


def save_picture(drawn: Callable[[], Axes], path: Path) -> None:
    """Write what is drawn, whole or not at all, without a window and without TeX."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    content, before = io.BytesIO(), pyplot.get_fignums()
    try:
        with matplotlib.rc_context({"text.usetex": False}):
            figure = drawn().get_figure(root=True)
            assert figure is not None  # noqa: S101 - for the type checker: an axis drawn has a figure
            figure.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    finally:
        for number in set(pyplot.get_fignums()) - set(before):
            pyplot.close(number)
    write_bytes(path, content.getvalue())
