"""The pages of a publication and after it: dry run, one release, its reading, the ledger."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, g, request

from dpfda.command.declared import REQUIRED
from dpfda.front.desk.drafts import command_line
from dpfda.front.desk.fields import Field, field_of, read_fields
from dpfda.front.desk.runs import Publication, alone
from dpfda.front.desk.session import Answer, desk, go, or_none, page, plain, run
from dpfda.front.explorer.pages import explored
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.errors import ParameterError

PUBLISHING = Blueprint("publishing", __name__)


@PUBLISHING.get("/try")
def trial() -> Answer:
    """A dry run, and the button that costs."""
    draft = desk().draft
    if not draft.verb:
        return go("/ask")
    tried = desk().tried(draft)
    if tried.status:
        return page("try.html", tried.refusal, tried=tried)
    study = draft.study()
    number = desk().publications.offer(Publication(draft, desk().folder))
    return page(
        "try.html", tried=tried, remarks=tried.remarks, number=number, study=study,
        line=command_line(study), digest=hashlib.sha256(study.encode()).hexdigest(),
    )  # fmt: skip


@PUBLISHING.post("/publish")
def publish() -> Answer:
    """Publish what was tried, once."""
    number = request.form.get("number", "")
    if desk().publications.begin(number):
        return go(f"/published/{number}")
    words = "This button's number is used up or unknown. Nothing was charged by it."
    return page("refused.html", words, HTTPStatus.GONE)


@PUBLISHING.get("/published/<number>")
def published(number: str) -> Answer:
    """How far it is, or why it was not done."""
    begun = desk().publications.begun(number)
    if begun is None:
        return plain(HTTPStatus.NOT_FOUND)
    # Once: it may be over at any moment.
    said = begun.said
    if said is not None and said.status == 0:
        return go(f"/read/{begun.name}?number={number}")
    return page("published.html", begun=begun, said=said)


@PUBLISHING.get("/read")
def shelf() -> Answer:
    """All releases."""
    return page("shelf.html", names=desk().releases())


@PUBLISHING.get("/read/<name>")
def read(name: str) -> Answer:
    """A release: picture, words, table."""
    from dpfda.front.verbs.report import where_charged
    from dpfda.releases.base import load
    from dpfda.releases.report import sections

    release: Any = load(desk().released(name))
    begun, study = (
        desk().publications.begun(request.args.get("number", "")),
        desk().folder / f"{name}.toml",
    )
    table = or_none(release.table)
    columns = [] if table is None else [column.tolist() for column in table.columns.values()]
    with alone():
        return page(
            "read.html", name=name, release=release, told=sections(release.facts), table=table,
            rows=[*zip(*columns, strict=True)], view=or_none(release.view), others=desk().releases(),
            remarks=[] if begun is None or begun.said is None else begun.said.remarks,
            line=or_none(lambda: command_line(study.read_text(encoding="utf-8"))),
            account=where_charged(desk().ledger, {"": release})[""] if desk().ledger.is_file() else "",
        )  # fmt: skip


@PUBLISHING.get("/read/<name>/<what>")
def download(name: str, what: str) -> Answer:
    """A release as a file, and what is made of it at no cost."""
    kinds: dict[str, Callable[[], bytes]] = {
        "release.json": lambda: _release(name),
        "study.toml": lambda: desk().released(name, ".toml").read_bytes(),
        "picture.png": lambda: _made("plot", [name], "--plot", ".png"),
        "beside.png": lambda: _made("plot", [name, request.args.get("other", "")], "--plot", ".png"),
        "table.csv": lambda: _table(name),
        "report.html": lambda: _made("report", [name], "--out", ".html"),
    }
    if what not in kinds:
        return plain(HTTPStatus.NOT_FOUND)
    # Never shown as a page of the desk's own.
    answer = Response(kinds[what](), mimetype="application/octet-stream")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{what}"'
    return answer


def _made(verb: str, names: list[str], flag: str, suffix: str) -> bytes:
    """What a verb makes of releases."""
    releases = [desk().released(name) for name in names]
    ledger = ["--ledger", desk().ledger] if verb == "report" and desk().ledger.is_file() else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"made{suffix}"
        said = run(verb, *releases, flag, out, *ledger)
        if said.status:
            raise ParameterError("The release", "be one that can be shown so", "another", said.refusal)
        return out.read_bytes()


def _release(name: str) -> bytes:
    from dpfda.releases.base import load

    load(desk().released(name))
    return desk().released(name).read_bytes()


def _table(name: str) -> bytes:
    from dpfda.releases.base import load
    from dpfda.views import to_csv

    return to_csv(load(desk().released(name)).table()).encode()


@PUBLISHING.route("/ledger", methods=["GET", "POST"])
def ledger() -> Answer:
    """Budgets and history; a new budget, or a larger one with its reason."""
    from dpfda.privacy.ledger import Ledger
    from dpfda.privacy.ledger.history import NOT_WRITTEN

    forms, refused = {action: _fields(action) for action in ("create", "raise")}, ""
    action = request.form.get("action", "")
    if action in forms:
        stated = read_fields(forms[action], request.form)
        options = [word for name, value in stated.items() for word in (f"--{name}", value)]
        refused = "--who must be given: the history names whose decision it was."
        if action == "create" or "who" in stated:
            said = run(f"ledger {action}", desk().ledger, "--json", *options)
            if not said.status:
                return go("/ledger")
            refused = said.refusal
    kept = Ledger(desk().ledger) if desk().ledger.is_file() else None
    charged = [] if kept is None else kept.releases()
    calendar = Counter((row["dataset"], row["time"][:7]) for row in charged)
    files = {row["number"]: row["file"] or NOT_WRITTEN for row in charged}
    return page("ledger.html", refused, forms=forms, ledger=kept, calendar=calendar, files=files)


def _fields(action: str) -> list[Field]:
    """What a verb of the ledger asks; who raises a budget may be left out there, and not here."""
    options = [each for each in declared_verbs()[f"ledger {action}"].told() if each.flag]
    needed = [replace(each, default=REQUIRED) if each.name == "who" else each for each in options]
    return [field_of(each) for each in needed if each.name != "as_json"]


@PUBLISHING.get("/explore/", defaults={"template": "explore.html"})
@PUBLISHING.get("/explore/<any(shown):template>")
def explore(template: str) -> Answer:
    """Imaginary means of made-up curves."""
    with alone():
        return explored(request.args, "explore.html" if "." in template else "shown.html", g.nonce)
