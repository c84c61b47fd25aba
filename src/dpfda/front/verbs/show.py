"""`dpfda show`: what a release promises, in plain words."""

from __future__ import annotations

from pathlib import Path

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import print_json, say


def show(file: Path, *, language: str = "en", as_json: bool = False) -> None:
    """Say in plain words what a release promises, to whom, and how accurate it is.

    Examples
    --------
    dpfda show fa.json
    dpfda show fa.json --language de
    """
    from dpfda.command.files import opened
    from dpfda.views.languages import Language

    release = opened(file)
    if as_json:
        warnings = Language(language).all(release._warnings())
        words = {"warnings": warnings, "report": release.describe(language)}
        print_json(release.facts.to_json() | words)
    else:
        say(release.describe(language))


VERB = Verb.of(show, o.RELEASED)
