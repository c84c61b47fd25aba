"""The kinds of release, found by scan and by whatever else was imported, and how any is read."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import dpfda.releases
from dpfda.numerics.encoding import mapping, text
from dpfda.numerics.errors import StorageError
from dpfda.numerics.scan import files_named
from dpfda.releases.files import built, read_json
from dpfda.releases.promise import check_agreement
from dpfda.releases.published import Published

# Schema of files that hold certificates; those of version 1 hold a guarantee alone.
SCHEMA_VERSION = 2
KINDS: dict[str, type[Published]] = {}
Kind = TypeVar("Kind", bound=Published)
# Files of this library that are no releases: what they are, and what reads them.
OTHERS = {
    "dpfda-custodians-agreement": "an agreement of custodians. Show it by dpfda part --agreement {}",
    "dpfda-custodian-card": "a custodian's card. It goes to who writes the agreement (dpfda agree)",
    "dpfda-custodian-keys": "a custodian's keys, which are secret. Show them to nobody",
    "dpfda-custodian-part": "a custodian's masked part. The coordinator publishes all (dpfda merge)",
    "dpfda-custodians-roll": "a roll of custodians. Each of them answers it (dpfda answer)",
    "dpfda-custodian-answer": "a custodian's answer to a roll. It goes into dpfda merge, as parts do",
}


def kinds() -> Mapping[str, type[Published]]:
    """Kinds of release by format: of this folder, of modules named release, and any other known."""
    for name in _modules():
        importlib.import_module(name)
    return KINDS


def _modules() -> Iterator[str]:
    """Where kinds are: those of this folder first."""
    for module in pkgutil.iter_modules(dpfda.releases.__path__):
        yield f"{dpfda.releases.__name__}.{module.name}"
    yield from files_named("release")


def _kind(called: str) -> type[Published] | None:
    """The kind of a format, for which no module is loaded but those that name it."""
    pattern = re.compile(rf'\b_FORMAT\b.* = "{re.escape(called)}"')
    for name in _modules():
        if called in KINDS:
            break
        spec = find_spec(name)
        if spec is not None and pattern.search(Path(str(spec.origin)).read_text("utf-8")):
            importlib.import_module(name)
    return KINDS.get(called)


def part_from_json(entries: object, of: tuple[type[Kind], ...], kernel: object = None) -> Kind:
    """A release inside the file of another; a `ValueError` for other kinds or schemas."""
    written = mapping(entries)
    kind = _kind(text(written["format"]))
    version = written.get("schema_version", 1)
    if kind is None or not issubclass(kind, of) or not _readable(version):
        raise ValueError("a part is of another kind or schema")
    return kind.from_json(written, kernel)


def read(path: str | Path, kind: type[Kind], kernel: object = None) -> Kind:
    """A release of a kind, or of a kind derived from it, from its file; see `dpfda.load`."""
    written = read_json(path)
    name = written.get("format") if isinstance(written, dict) else None
    file_kind = _kind(name) if isinstance(name, str) else None
    if file_kind is None or not issubclass(file_kind, kind):
        wanted = getattr(kind, "_CALLED", "dpfda release")
        other = OTHERS.get(str(name), "another kind of file").format(path)
        what = other if file_kind is None else f"{name}. Read it with dpfda.load"
        raise StorageError(f"{str(path)!r} must be a {wanted}; found {what}.")
    if not _readable(written.get("schema_version")):
        raise StorageError(
            f"{str(path)!r} must have schema version {SCHEMA_VERSION}; found "
            f"{written.get('schema_version')!r}. Update dpfda to read later files."
        )
    return built(lambda: _shown(file_kind.from_json(written, kernel), written), path)


def _readable(version: object) -> bool:
    """Whether a file of this schema can be read: the newest, or one that came before."""
    return type(version) is int and 1 <= version <= SCHEMA_VERSION


def _shown(release: Kind, written: object) -> Kind:
    """A release that writes what its file says and can be shown: labels come from the file as well."""
    check_agreement(written, release.to_json())
    repr(release)
    _ = release._citation
    return release
