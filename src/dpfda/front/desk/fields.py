"""Options of a verb as fields of a form, and what a form sent as what a study states."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import groupby, zip_longest
from pathlib import Path
from typing import get_origin

from werkzeug.datastructures import MultiDict

from dpfda.command import options as o
from dpfda.command.declared import REQUIRED, Option
from dpfda.numerics.errors import ParameterError

# Words of pages and of their own fields, usual bounds with their sources, and a sketch for each verb.
KNOWN = tomllib.loads(files("dpfda.front.desk").joinpath("known.toml").read_text(encoding="utf-8"))
Sent = MultiDict[str, str]
WORDS = KNOWN["words"]
Value = str | bool | list[str]
Stated = Mapping[str, Value]
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
# What stands for a column and what is public of it, and what is filled in for that.
BESIDE = {
    "NAME:LO:HI": ("column", "lowest", "highest"),
    "NAME:A,B,..": ("column", "labels, with commas between"),
    "NAME|NAME:A,B,..": ("column", "labels, with commas between"),
    "NAME:LO:HI|NAME:A,B,..": ("column", "lowest:highest, or labels with commas between"),
}
# What an end of an interval is called.
ENDS = {"LO": "lowest", "HI": "highest", "A": "first", "B": "last"}
# Rows that are offered where an option may be repeated; those that were filled and one more, if more.
ROWS = 3
# What the desk says itself: the file, what all verbs are given, and what is written.
OWN = ("file", "out", "overwrite", "dry_run", "as_json", "ledger", "dataset", "groups", "unit",
       "decimal", "neighbours", "plot", "csv")  # fmt: skip
# What is asked for first; the rest has a default and is folded.
FIRST = (o.COUNTED, o.BOUND, o.MODEL)


@dataclass(frozen=True)
class Field:
    """An option as a field.

    kind: check, file, pair, rows, lines, choice, column, text, or an upload.
    parts: What is filled in, of a pair or a row.
    choices: Words that it may be, or that are suggested, and how they are shown.
    called: What it is called, if not as the option is.
    slider: Least and greatest number of a slider beside it, and its scale: log, whole, or both.
    """

    option: Option
    kind: str = "text"
    parts: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    called: str = ""
    slider: tuple[float, float, str] | None = None

    @property
    def name(self) -> str:
        """As a study has it."""
        return self.option.flag.removeprefix("--")

    @property
    def title(self) -> str:
        """What the field is called."""
        words = self.name.replace("-", " ")
        return self.called or words[:1].upper() + words[1:]

    @property
    def default(self) -> str:
        """What holds where nothing is filled in."""
        default = self.option.default
        return "" if default in (REQUIRED, None) or isinstance(default, bool) else str(default)

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
        if self.kind == "rows":
            columns = [sent.getlist(f"{self.name}.{place}") for place in range(len(self.parts))]
            rows = [[cell.strip() for cell in row] for row in zip_longest(*columns, fillvalue="")]
            texts = [":".join(row).removesuffix(":") for row in rows if any(row)]
            return texts if self.repeated and texts else next(iter(texts), None)
        cells = [cell.strip() for cell in sent.getlist(self.name)]
        if self.kind == "pair":
            if len(cells) not in (0, 2):
                raise ParameterError(self.option.flag, "be sent as two ends", len(cells))
            return cells if any(cells) else None
        if len(cells) > 1:
            raise ParameterError(self.option.flag, "be sent once", len(cells))
        if self.kind == "check":
            return True if cells else None
        if self.kind == "file":
            return f"{name}-{self.name}{Path(self.option.metavar).suffix}" if cells else None
        text = cells[0] if cells else ""
        if self.kind == "lines":
            return [line.strip() for line in text.splitlines() if line.strip()] or None
        return None if text in ("", self.default) else text


@dataclass(frozen=True)
class Form:
    """A form of a page.

    step: Where it is sent.
    button, kind: What it does, and of which kind that is.
    fields: By the panel that has them; without a name, by themselves.
    values, wrong: What they show, and the one that a refusal is about.
    presets: Bounds that are known of some quantities.
    hidden: What is sent with it.
    live: Whether it is answered while one types.
    shows: Whether it has a button that shows what follows, and does nothing else.
    folded: What it is called where it is folded.
    further: The panel that is folded.
    """

    step: str
    button: str
    fields: Mapping[str, Sequence[Field]] = field(default_factory=dict)
    values: Stated = field(default_factory=dict)
    wrong: str | None = None
    presets: Sequence[Mapping[str, object]] = ()
    hidden: Mapping[str, str] = field(default_factory=dict)
    live: bool = False
    shows: bool = False
    method: str = "post"
    kind: str = "main"
    folded: str = ""
    further: str = "Further choices, which all have a default"


def field_of(option: Option) -> Field:
    """How an option is asked for, by its type and what stands for its value."""
    choices = {word: word for word in option.choices}
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
    ends = tuple(ENDS.get(end, end) for end in option.metavar.split())
    parts = {"pair": ends, "rows": BESIDE.get(option.metavar, ())}.get(kind, ())
    return Field(option, kind, parts, choices)


def own(name: str, default: object = None, **more: object) -> Field:
    """What is asked here and by no option of the command; further as of a `Field`."""
    words = {**KNOWN["fields"][name], **more}
    return Field(Option(name, name, help=words.pop("help"), default=default), **words)


def fields_of(options: Iterable[Option]) -> list[Field]:
    """Fields of the options that are asked for on a verb's own page."""
    return [field_of(option) for option in options if option.name not in OWN]


def panels(fields: Iterable[Field]) -> dict[str, list[Field]]:
    """Fields by the panel of the help page that has them, which they are ordered by."""
    return {name: [*group] for name, group in groupby(fields, lambda field: field.option.panel or "")}


def read_fields(fields: Iterable[Field], sent: Sent, name: str = "") -> dict[str, Value]:
    """What a form says of all fields, by the names of a study; see `Field.read`."""
    read = {field.name: field.read(sent, name) for field in fields}
    return {name: value for name, value in read.items() if value is not None}


def named_in(message: str, fields: Iterable[Field]) -> str | None:
    """The field that a refusal is about."""
    flags = {field.option.flag: field.name for field in fields}
    return next((flags[flag] for flag in FLAG.findall(message) if flag in flags), None)
