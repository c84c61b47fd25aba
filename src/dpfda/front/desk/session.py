"""One run of the desk: its folder, what was said so far, what was begun; and how it shows a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Response, g, redirect
from werkzeug.wrappers import Response as AnyResponse

from dpfda.command.made import called
from dpfda.command.running import REFUSED, typed
from dpfda.front.desk.drafts import Draft, check_name, planned
from dpfda.front.desk.guard import Guard
from dpfda.front.desk.opening import Uploads
from dpfda.front.desk.runs import Publications, Said, said
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.errors import DpfdaError, ParameterError
from dpfda.views.page import rendered

Answer = AnyResponse | tuple[str, int]
LEDGER = "budget.ledger"
# Packages that have its pages.
ROOMS = ("dpfda.front.desk", "dpfda.front.explorer")


@dataclass
class Desk:
    """One run of the desk; studies, releases and the ledger lie in its folder."""

    folder: Path
    guard: Guard
    draft: Draft = field(default_factory=Draft)
    uploads: Uploads = field(default_factory=Uploads)
    publications: Publications = field(default_factory=Publications)

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return self.folder / str(self.draft.data.get("ledger", LEDGER))

    def tried(self, draft: Draft) -> Said:
        """What a dry run says: nothing is charged, and of the file the header alone is read."""
        try:
            study, file = draft.study(), draft.file
            tried = said(lambda: planned(study, self.folder, file).call("--dry-run", "--json"))
            return tried.screened(draft)
        except DpfdaError as error:
            return Said(REFUSED, notes=(f"error: {typed(error)}",))

    def released(self, name: str, suffix: str = ".json") -> Path:
        """A file of a release; refused where the folder has none."""
        path = self.folder / f"{check_name(name)}{suffix}"
        if not path.is_file():
            raise ParameterError("Name", "be that of a release in the desk's folder", repr(name))
        return path

    def releases(self) -> list[str]:
        """Names of the releases in the folder that a desk made."""
        found = sorted(self.folder.glob("*.toml"))
        return [each.stem for each in found if each.with_suffix(".json").is_file()]


def desk() -> Desk:
    """The desk that is asked."""
    asked: Desk = g.desk
    return asked


def page(template: str, refused: str = "", status: int = 422, **shown: object) -> tuple[str, int]:
    """A page; with a status of its own where something is refused."""
    here = desk()
    known: dict[str, Any] = {
        "place": here.guard.place, "mark": here.guard.mark, "nonce": g.nonce, "draft": here.draft,
        "refused": refused, "remarks": [], "wrong": None,
    }  # fmt: skip
    text = rendered(template, ROOMS, "dpfda desk", **known | shown)
    return text, status if refused else 200


def go(step: str) -> AnyResponse:
    """To another page, which is asked for anew."""
    return redirect(desk().guard.place + step, 303)


def plain(status: HTTPStatus) -> Answer:
    """A status and its words alone."""
    return Response(f"{status.value} {status.phrase}\n", status.value, mimetype="text/plain")


def run(verb: str, *words: object) -> Said:
    """Run a verb as it is typed, and keep what it says."""
    return said(lambda: called(declared_verbs()[verb], [str(word) for word in words]))


def or_none(made: Callable[[], Any]) -> Any:
    """What can be made, or None: not all releases have a picture, a table and a study of their own."""
    try:
        return made()
    except (DpfdaError, OSError, ValueError):
        return None
