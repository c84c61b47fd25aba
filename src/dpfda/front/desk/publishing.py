"""The pages of a publication and after it: dry run, one release, its reading, the ledger."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from dpfda.command.declared import REQUIRED
from dpfda.command.publishing import Writer, save_plot, save_table
from dpfda.front.desk.drafts import command_line
from dpfda.front.desk.fields import Field, field_of, read_fields
from dpfda.front.desk.runs import Publication, alone
from dpfda.front.desk.session import Answer, desk, go, or_none, page, plain, run
from dpfda.front.explorer.pages import explored
from dpfda.front.verbs import declared_verbs

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
    """A release: picture, alone or with another one's, words, table."""
    from dpfda.front.verbs.plot import together
    from dpfda.front.verbs.report import where_charged
    from dpfda.releases.report import sections

    release, other = _loaded(name), request.args.get("beside", name)
    drawn = {name: release, other: _loaded(other)}
    begun = desk().publications.begun(request.args.get("number", ""))
    study = desk().folder / f"{name}.toml"
    table = or_none(release.table)
    columns = [] if table is None else [column.tolist() for column in table.columns.values()]
    with alone():
        return page(
            "read.html", name=name, release=release, told=sections(release.facts), table=table,
            rows=[*zip(*columns, strict=True)], view=or_none(lambda: together(drawn)), other=other,
            others=[each for each in desk().releases() if each != name],
            remarks=[] if begun is None or begun.said is None else begun.said.remarks,
            line=or_none(lambda: command_line(study.read_text(encoding="utf-8"))),
            account=where_charged(desk().ledger, {"": release})[""] if desk().ledger.is_file() else "",
        )  # fmt: skip


def _loaded(name: str) -> Any:
    """A release of the folder; refused where the file is none."""
    from dpfda.releases.base import load

    return load(desk().released(name))


@PUBLISHING.get("/read/<name>/<what>")
def download(name: str, what: str) -> Answer:
    """A release as a file, and what is made of it at no cost."""
    release = _loaded(name)
    kept = {"release.json": ".json", "study.toml": ".toml"}
    made: dict[str, Writer] = {
        "picture.png": save_plot, "table.csv": save_table, "report.html": partial(_report, name)
    }  # fmt: skip
    if what not in {**kept, **made}:
        return plain(HTTPStatus.NOT_FOUND)
    with tempfile.TemporaryDirectory() as folder, alone():
        path = desk().released(name, kept[what]) if what in kept else Path(folder) / what
        if what in made:
            made[what](release, path)
        answer = Response(path.read_bytes(), mimetype="application/octet-stream")
    # Never shown as a page of the desk's own.
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{what}"'
    return answer


def _report(name: str, release: Any, path: Path) -> None:
    """Write the report to sign."""
    from dpfda.front.verbs.report import where_charged
    from dpfda.releases.pages import report_page
    from dpfda.views.page import to_html

    digest = hashlib.sha256(desk().released(name).read_bytes()).hexdigest()
    charged = where_charged(desk().ledger, {name: release}) if desk().ledger.is_file() else None
    path.write_text(to_html(report_page({name: release}, {name: digest}, charged)), encoding="utf-8")


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
        found = explored(request.args)
        whole = template == "explore.html"
        # A page of its own has the words; else they are asked for when they are opened.
        text, _ = (
            page("explore.html", **found | {"words": True}) if whole else page("shown.html", **found)
        )
    return text, 422 if found["unusable"] else 200
