"""What was said so far, as the study that `dpfda run` would run."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpfda.front.desk.fields import Stated, Value
from dpfda.front.desk.opening import Opened
from dpfda.front.verbs.run import Planned, options_of, releases_of
from dpfda.numerics.errors import ParameterError

# What a release may be called: the name of a file, and a part of an address.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Draft:
    """A study of one release in the making.

    data: What all verbs are given: who is protected, ledger, data set.
    chosen: Options of the verb.
    name: What the release is called: its file is NAME.json and its study NAME.toml.
    """

    opened: Opened | None = None
    data: Stated = field(default_factory=dict)
    verb: str = ""
    chosen: Stated = field(default_factory=dict)
    name: str = ""

    def tells(self, words: str) -> bool:
        """Whether words hold a name of a column that is not to be shown, and that was not typed."""
        stated = [self.name, *self.data.values(), *self.chosen.values()]
        typed = [text for each in stated for text in (each if isinstance(each, list) else [str(each)])]
        return self.opened is not None and self.opened.tells(words, "\n".join(typed))

    @property
    def file(self) -> Path:
        """Where the records lie. Raises ParameterError if no file was opened."""
        return self._open().path

    def study(self) -> str:
        """The study as text. Raises ParameterError as `file`, or if the name cannot be one."""
        opened = self._open()
        decimal = {} if opened.decimal == "." else {"decimal": opened.decimal}
        data = {"file": opened.called, **self.data, **decimal}
        own = {"verb": self.verb, **self.chosen, "out": f"{check_name(self.name)}.json"}
        return f"[data]\n{_table(data)}\n[[release]]\n{_table(own)}"

    def _open(self) -> Opened:
        if self.opened is None:
            raise ParameterError("The file", "be opened first", "none")
        return self.opened


def check_name(name: str) -> str:
    """The name of a release. Raises ParameterError if it cannot be that of a file."""
    if not NAME.fullmatch(name):
        words = "be letters, digits, dashes and underscores, at most 64"
        raise ParameterError("Name", words, repr(name), "Example: loads-2026")
    return name


def planned(study: str, folder: Path, file: Path) -> Planned:
    """The release of a study in a folder, reading the file from where it lies.

    Raises ParameterError if it would write elsewhere.
    """
    written = tomllib.loads(study)
    written["data"]["file"] = str(file)
    (own,) = written["release"]
    (release,) = releases_of(written, folder)
    options = options_of(release.verb)
    for name, value in own.items():
        if options[name.replace("-", "_")].type is Path and not _inside(folder / value, folder):
            raise ParameterError(f"--{name}", "be a file in the desk's folder", repr(value))
    return release


def _inside(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        return False


def command_line(study: str) -> str:
    """What would be typed for a study of one release."""
    (release,) = releases_of(tomllib.loads(study), Path())
    return shlex.join(["dpfda", release.verb.name, *release.typed])


def _table(stated: Mapping[str, Value]) -> str:
    """As TOML, in which all values stand as they were typed: quoted, so that none becomes another."""
    lines = (f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in stated.items())
    return "".join(lines).replace("\x7f", "\\u007f")
