"""What was said so far, as the study that `dpfda run` would run."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.front.desk.fields import Field, Stated, Value, field_of
from dpfda.front.verbs.run import Planned, releases_of
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.command.publishing import Publication
    from dpfda.front.desk.opening import Opened

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
# What a release may be called: the name of a file, and a part of an address.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Draft:
    """A study of one release in the making.

    Parameters
    ----------
    opened : Opened, optional
        The file.
    data : mapping
        What all verbs are given: who is protected, ledger, data set.
    verb : str
    chosen : mapping
        Options of the verb.
    name : str
        What the release is called: its file is NAME.json and its study NAME.toml.
    """

    opened: Opened | None = None
    data: Stated = field(default_factory=dict)
    verb: str = ""
    chosen: Stated = field(default_factory=dict)
    name: str = ""

    def study(self) -> str:
        """The study as text.

        Raises
        ------
        ParameterError
            If no file was opened or the name cannot be one.
        """
        if self.opened is None:
            raise ParameterError("The file", "be opened first", "none")
        check_name(self.name)
        data: dict[str, Value] = {"file": self.opened.called, **self.data}
        if self.opened.decimal == ",":
            data["decimal"] = ","
        own: dict[str, Value] = {"verb": self.verb, **self.chosen, "out": f"{self.name}.json"}
        return f"[data]\n{_table(data)}\n[[release]]\n{_table(own)}"


def check_name(name: str) -> str:
    """The name of a release.

    Raises
    ------
    ParameterError
        If it cannot be that of a file.
    """
    if not NAME.fullmatch(name):
        words = "be letters, digits, dashes and underscores, at most 64"
        raise ParameterError("Name", words, repr(name), "Example: loads-2026")
    return name


def planned(study: str, folder: Path, file: Path) -> Planned:
    """The release of a study, reading the file from where it lies.

    Raises
    ------
    ParameterError
        If the study cannot be one.
    """
    written = tomllib.loads(study)
    written["data"]["file"] = str(file)
    (release,) = releases_of(written, folder)
    return release


def command_line(study: str) -> str:
    """What would be typed for a study of one release."""
    (release,) = releases_of(tomllib.loads(study), Path())
    return shlex.join(["dpfda", release.verb.name, *release.typed])


def with_files(verb: Publication, chosen: Stated, name: str) -> dict[str, Value]:
    """Options in which further files, where they are wanted, have names like that of the release."""
    files: dict[str, Field] = {
        made.name: made for option, _ in verb.outputs if (made := field_of(option))
    }
    return {
        key: f"{name}-{key}{Path(files[key].option.metavar).suffix}" if key in files else value
        for key, value in chosen.items()
    }


def _table(stated: Mapping[str, Value]) -> str:
    return "".join(f"{name} = {_toml(value)}\n" for name, value in stated.items())


def _toml(value: Value) -> str:
    """A value as TOML; numbers that are read back as they were written stand without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if NUMBER.fullmatch(value) and str(tomllib.loads(f"x = {value}")["x"]) == value:
        return value
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
