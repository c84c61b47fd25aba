"""`dpfda show`: what a release promises, in plain words."""

from __future__ import annotations

import typer

from dpfda.front.command import options as o
from dpfda.front.command.declared import Given, Verb
from dpfda.front.command.running import print_json


def show(given: Given) -> None:
    """Say in plain words what a release promises, to whom, and how accurate it is."""
    from dpfda.front.command.opening import opened

    release = opened(given.file)
    if given.as_json:
        told = {"warnings": release.warnings(), "report": release.describe()}
        print_json(release.summary() | told)
    else:
        typer.echo(release.describe())


VERB = Verb("show", show, (o.RELEASE_FILE, o.AS_JSON), ("dpfda show fa.json",), o.RELEASED)
