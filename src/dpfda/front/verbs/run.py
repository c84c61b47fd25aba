"""`dpfda run`: a study in one file, data and releases, that can be reviewed, signed and run."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_origin

import typer

from dpfda.command import options as o
from dpfda.command.functions import Declared, Verb, called
from dpfda.command.running import BEFORE, QUIET, say
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import so_many

if TYPE_CHECKING:
    from dpfda.command.declared import Option
    from dpfda.command.publishing import Publication

# A study is small; what is larger is no study.
LARGEST = 2**20
DATA, RELEASE = "data", "release"


def run(study: Path, *, dry_run: bool = False, rest: bool = False) -> None:
    """Publish all releases of a study, which is one file: reviewed, signed, and run.

    The file has a table [data] with file, columns, groups, unit, ledger, dataset and whatever else all
    of its verbs are to be given. It has a [[release]] for each release: its verb, out, and the verb's
    other options by their names, lists where they take several values. Paths are relative to the file.
    All releases are checked, with what they cost together, before the first is made.

    Parameters
    ----------
    study : STUDY.toml
        The study. Public.
    dry_run : bool
        Check all releases, say what they would be and what they would cost together, and stop.
    rest : bool
        Leave out releases whose files exist: they were made before an interruption.

    Examples
    --------
    dpfda run study.toml --dry-run
    dpfda run study.toml
    """
    releases = releases_of(_read(study), study.parent)
    if rest:
        releases = [release for release in releases if not release.out.exists()]
    digest = hashlib.sha256(study.read_bytes()).hexdigest()
    say(f"{study}: {so_many(len(releases), 'release')}, SHA-256 {digest}")
    before = BEFORE.set({})
    try:
        for release in releases:
            release.run("--dry-run", quiet=not dry_run)
    finally:
        BEFORE.reset(before)
    for release in () if dry_run else releases:
        release.run()


@dataclass(frozen=True)
class Planned:
    """A release of a study: a verb, what is typed behind it, its file, and which one it is."""

    verb: Publication
    typed: Sequence[str]
    out: Path
    place: int

    def run(self, *more: str, quiet: bool = False) -> None:
        """Run the verb; a refusal names the release and stops the study."""
        if not quiet:
            say(f"release {self.place}: dpfda {self.verb.name} .. --out {self.out}")
        before = QUIET.set(quiet)
        try:
            status = self.call(*more)
        finally:
            QUIET.reset(before)
        if status:
            say(f"release {self.place} of the study ({self.verb.name}) stopped it", err=True)
            raise typer.Exit(status)

    def call(self, *more: str) -> int:
        """Run the verb; its exit status."""
        return called(self.verb, [*self.typed, *more])


def releases_of(written: dict[str, object], folder: Path) -> list[Planned]:
    """The releases of a study, each with the options that it and its data state.

    folder: To which its paths are relative.
    Raises ParameterError if what was read is no study.
    """
    from dpfda.front.verbs import published

    verbs = published()
    data, releases = written.pop(DATA, None), written.pop(RELEASE, None)
    if written or not isinstance(data, dict) or not isinstance(releases, list) or not releases:
        words = "have one table [data] and one or more [[release]], and no other"
        tables = {DATA: data, RELEASE: releases}
        lacking = [f"no {name}" for name, value in tables.items() if not value]
        others = ", ".join([*written, *lacking]) or "others"
        raise ParameterError("STUDY.toml", words, others, "See dpfda run --help for an example.")
    if not isinstance(data.get("file"), str):
        raise ParameterError("[data] file", "name the file with the records", _shown(data.get("file")))
    named, files, planned = {"file"}, set[Path](), list[Planned]()
    for place, own in enumerate(releases, 1):
        where = f"[[release]] {place}"
        verb = own.pop("verb", None) if isinstance(own, dict) else None
        if not isinstance(verb, str) or verb not in verbs:
            raise ParameterError(f"{where} verb", f"be one of {', '.join(verbs)}", _shown(verb))
        if not isinstance(own.get("out"), str):
            raise ParameterError(f"{where} out", "name a file to write", _shown(own.get("out")))
        options = options_of(verbs[verb])
        shared = {name: value for name, value in data.items() if name != "file"}
        fitting = {name: value for name, value in shared.items() if _plain(name) in options}
        named |= {*options}
        typed = [_path(folder, data["file"])]
        for name, value in {**fitting, **own}.items():
            option = options.get(_plain(name))
            if option is None:
                words = f"be an option of dpfda {verb}"
                raise ParameterError(f"{where} {name}", words, _shown(name), f"See dpfda {verb} --help.")
            typed += typed_as(option, value, f"{where} {name}", folder)
        out = folder / own["out"]
        if out.resolve() in files:
            raise ParameterError(f"{where} out", "be another file than one above", _shown(own["out"]))
        files.add(out.resolve())
        planned.append(Planned(verbs[verb], typed, out, place))
    for name in data:
        # What no verb reads would be left out in silence, such as a misspelt name of groups.
        if _plain(name) not in named:
            words = "be an option of one of the study's verbs, or file"
            raise ParameterError(f"[data] {name}", words, _shown(name), "Check the spelling.")
    return planned


def options_of(verb: Declared) -> dict[str, Option]:
    """Options of a verb by what each is called in a study: as it is typed, or by the parameter."""
    named = [option for option in verb.all_options() if option.flag]
    return {name: option for option in named for name in (_plain(option.flag.lstrip("-")), option.name)}


def _read(path: Path) -> dict[str, object]:
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise ParameterError(
            "STUDY.toml", "name an existing study, a small file in TOML", repr(str(path))
        )
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError("STUDY.toml", f"be TOML: {error}", repr(str(path))) from None


def _plain(name: str) -> str:
    return name.replace("-", "_")


def typed_as(option: Option, value: object, where: str, folder: Path) -> list[str]:
    """What is typed for a value."""
    if isinstance(value, bool):
        if option.type is not bool:
            raise ParameterError(where, "have a value", _shown(value))
        return [option.flag] if value else []
    values = value if isinstance(value, list) else [value]
    many = len(get_args(option.type)) if get_origin(option.type) is tuple else 0
    if many and len(values) != many:
        raise ParameterError(where, f"have {many} values, [{option.metavar}]", _shown(value))
    if not values or not all(isinstance(item, str | int | float) for item in values):
        raise ParameterError(
            where, "be text, a number, true or false, or a list of these", _shown(value)
        )
    paths = option.type is Path or option.type == list[Path]
    words = [_path(folder, str(item)) if paths else str(item) for item in values]
    if option.type in (list[str], list[float], list[Path]):
        return [part for word in words for part in (option.flag, word)]
    return [option.flag, *words]


def _path(folder: Path, name: str) -> str:
    """A path as it is typed: one that begins with a dash would be read as an option."""
    path = str(folder / name)
    return f"./{path}" if path.startswith("-") else path


def _shown(value: object) -> str:
    # Not above: the list of verbs is to come at once, without numpy.
    from dpfda.numerics.parameters import shown

    return shown(value)


VERB = Verb.of(run, o.PUBLISHING)
