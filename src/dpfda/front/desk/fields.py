"""Options of a verb as fields of a form, and what a form sent as what a study states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Protocol, get_origin

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Option
from dpfda.numerics.errors import ParameterError

Value = str | bool | list[str]
Stated = Mapping[str, Value]
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
# What stands for a column and what is public of it, and what is filled in beside its name.
BESIDE = {
    "NAME:LO:HI": ("lowest", "highest"),
    "NAME:A,B,..": ("labels, with commas between",),
    "NAME|NAME:A,B,..": ("labels, with commas between",),
    "NAME:LO:HI|NAME:A,B,..": ("lowest:highest, or labels with commas between",),
}
# Rows that are offered where an option may be repeated; those that were filled and one more, if more.
ROWS = 3
# What the desk says itself: the file, what all verbs are given, and what is written.
OWN = ("file", "out", "overwrite", "dry_run", "as_json", "ledger", "dataset", "groups", "unit",
       "decimal", "neighbours", "plot", "csv")  # fmt: skip
# What is asked for first; the rest has a default and is folded.
FIRST = (o.COUNTED, o.BOUND, o.MODEL)


class Sent(Protocol):
    """A form that was sent."""

    def getlist(self, key: str, /) -> list[str]: ...


@dataclass(frozen=True)
class Field:
    """An option as a field.

    kind: check, file, pair, rows, lines, choice, column or text.
    parts: What is filled in, of a pair or a row.
    choices: Words that it may be, or that are suggested.
    """

    option: Option
    kind: str
    parts: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As a study has it."""
        return self.option.flag.removeprefix("--")

    @property
    def title(self) -> str:
        """What the field is called."""
        words = self.name.replace("-", " ")
        return words[:1].upper() + words[1:]

    @property
    def default(self) -> str:
        """What holds where nothing is filled in."""
        known = self.option.default
        return "" if known in (REQUIRED, None) or isinstance(known, bool) else str(known)

    @property
    def required(self) -> bool:
        """Whether it must be filled in."""
        return self.option.default is REQUIRED

    @property
    def first(self) -> bool:
        """Whether it is asked for at once."""
        names = self.option.panel == o.READING and self.kind in ("column", "lines", "rows")
        return self.required or names or self.option.panel in FIRST or self.name == "epsilon"

    @property
    def repeated(self) -> bool:
        """Whether it may be given several times."""
        return get_origin(self.option.type) is list

    def rows(self, value: Value | None) -> list[list[str]]:
        """What rows show: what was filled in, and empty ones."""
        split = str.rsplit if len(self.parts) > 2 else str.split
        texts = value if isinstance(value, list) else [str(value)] if value else []
        filled = [split(text, ":", len(self.parts) - 1) for text in texts]
        shown = [[*cells, *[""] * (len(self.parts) - len(cells))] for cells in filled]
        more = max(1, ROWS - len(shown)) if self.repeated else 1 - len(shown)
        return [*shown, *([""] * len(self.parts) for _ in range(more))]

    def read(self, sent: Sent, name: str) -> Value | None:
        """What a form says; None where it says nothing, or what holds anyway.

        name: What the release is called, as its further files are.
        Raises ParameterError if a field that is there once was sent again.
        """
        if self.kind not in ("pair", "rows") and len(sent.getlist(self.name)) > 1:
            raise ParameterError(self.option.flag, "be sent once", len(sent.getlist(self.name)))
        if self.kind == "check":
            return True if sent.getlist(self.name) else None
        if self.kind == "file":
            named = f"{name}-{self.name}{Path(self.option.metavar).suffix}"
            return named if sent.getlist(self.name) else None
        if self.kind == "rows":
            columns = [sent.getlist(f"{self.name}.{place}") for place in range(len(self.parts))]
            rows = [[cell.strip() for cell in row] for row in zip_longest(*columns, fillvalue="")]
            texts = [":".join(row).removesuffix(":") for row in rows if any(row)]
            return texts if self.repeated and texts else next(iter(texts), None)
        cells = [cell.strip() for cell in sent.getlist(self.name)]
        if self.kind == "pair":
            return cells if any(cells) else None
        text = cells[0] if cells else ""
        if self.kind == "lines":
            return [line.strip() for line in text.splitlines() if line.strip()] or None
        return None if text in ("", self.default) else text


def field_of(option: Option) -> Field:
    """How an option is asked for, by its type and what stands for its value."""
    choices = tuple(option.choices)
    kinds = {
        "check": option.type is bool,
        "file": option.type is Path and option.panel == o.OUTPUT,
        "pair": get_origin(option.type) is tuple,
        "rows": option.metavar in BESIDE,
        "lines": get_origin(option.type) is list,
        "column": option.metavar in ("COLUMN", "PATTERN"),
        "choice": 0 < len(choices) == option.metavar.count("|") + 1,
        "text": True,
    }
    kind = next(name for name, fits in kinds.items() if fits)
    beside = BESIDE.get(option.metavar, ())
    parts = {"pair": tuple(option.metavar.split()), "rows": ("column", *beside)}.get(kind, ())
    return Field(option, kind, parts, choices)


def fields_of(options: Iterable[Option]) -> list[Field]:
    """Fields of the options that are asked for on a verb's own page."""
    return [field_of(option) for option in options if option.name not in OWN]


def panels(fields: Iterable[Field]) -> dict[str, list[Field]]:
    """Fields by the panel of the help page that has them."""
    found: dict[str, list[Field]] = {}
    for field in fields:
        found.setdefault(field.option.panel or "", []).append(field)
    return found


def read_fields(fields: Iterable[Field], sent: Sent, name: str = "") -> dict[str, Value]:
    """What a form says of all fields, by the names of a study; see `Field.read`."""
    read = {field.name: field.read(sent, name) for field in fields}
    return {name: value for name, value in read.items() if value is not None}


def named_in(message: str, fields: Iterable[Field]) -> str | None:
    """The field that a refusal is about."""
    known = {field.option.flag: field.name for field in fields}
    return next((known[flag] for flag in FLAG.findall(message) if flag in known), None)
