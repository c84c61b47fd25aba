"""The pages of a publication and after it: dry run, one release, its reading, the ledger."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from flask import Blueprint, Response, abort, request

from dpfda.command.declared import REQUIRED
from dpfda.command.publishing import Writer, save_plot, save_table
from dpfda.command.running import raises
from dpfda.front.desk.fields import WORDS, Field, Form, field_of, read_fields
from dpfda.front.desk.session import Answer, calendar, desk, go, or_none, page, run
from dpfda.front.desk.studies import Publication, alone, command_line
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.plot import together
from dpfda.front.verbs.report import where_charged
from dpfda.numerics.encoding import Json
from dpfda.privacy.ledger import Ledger
from dpfda.privacy.ledger.history import rows
from dpfda.releases.base import Release, load
from dpfda.releases.files import write_text
from dpfda.releases.pages import report_page
from dpfda.views import Table
from dpfda.views.page import Page, Picture, Section, to_html

PUBLISHING = Blueprint("publishing", __name__)
ACTIONS = {"create": "Give another data set a budget", "raise": "Raise a budget, and say why"}


@PUBLISHING.get("/try")
def trial() -> Answer:
    """A dry run, and the button that costs."""
    draft = desk().draft
    if not draft.verb:
        return go("/ask")
    tried = desk().tried(draft)
    if tried.status:
        return page("unfit", tried.refusal, links={"Back to the questions": f"/ask/{draft.verb}"})
    study, answer = draft.study(), tried.answer
    number = desk().publications.offer(Publication(draft, desk().folder))
    facts = {name.capitalize(): fact for name, fact in answer.items() if fact and isinstance(fact, str)}
    price, button = f"The button charges {answer['charge']}.", "Publish"
    if "left" in answer:
        price, button = WORDS["cost"].format(**answer), f"Publish, and charge {answer['guarantee']}"
    typed = WORDS["own_path"].format(draft.file.called) if draft.file.copied else "The same as a command"
    digest = hashlib.sha256(study.encode()).hexdigest()
    codes = {
        "Study": (f"The same as a study, for dpfda run; its SHA-256 is {digest}", study),
        "Command": (typed, command_line(study)),
    }
    form = Form("/publish", button, hidden={"number": number}, kind="cost")
    shown = [Section("", facts=facts), Section("", [price])]
    return page("trial", remarks=tried.remarks, sections=shown, forms=[form], codes=codes)


@PUBLISHING.post("/publish")
def publish() -> Answer:
    """Publish what was tried, once."""
    number = request.form.get("number", "")
    if desk().publications.begin(number):
        return go(f"/published/{number}")
    words = "This button's number is used up or unknown. Nothing was charged by it."
    return page("refused", words, HTTPStatus.GONE)


@PUBLISHING.get("/published/<number>")
def published(number: str) -> Answer:
    """How far it is, or why it was not done."""
    begun = desk().publications.begun(number)
    if begun is None:
        abort(HTTPStatus.NOT_FOUND)
    # Once: it may be over at any moment.
    outcome = begun.outcome
    if outcome is None:
        return page("publishing", name=begun.draft.name, progress=begun.progress)
    if outcome.status == 0:
        return go(f"/read/{begun.draft.name}?number={number}")
    links = {"Back to the questions": f"/ask/{desk().draft.verb}", "To the ledger": "/ledger"}
    return page("stopped", outcome.refusal, 200, remarks=[WORDS[begun.charged]], links=links)


@PUBLISHING.get("/read")
def shelf() -> Answer:
    """All releases."""
    return page("shelf", links={name: f"/read/{name}" for name in desk().releases()})


@PUBLISHING.get("/read/<name>")
def read(name: str) -> Answer:
    """A release: picture, words, table; beside another one."""
    release, other = _loaded(name), request.args.get("beside", "")
    begun = desk().publications.begun(request.args.get("number", ""))
    remarks = [] if begun is None or begun.outcome is None else begun.outcome.remarks
    study, table = desk().folder / f"{name}.toml", or_none(release.table)
    line = or_none(lambda: command_line(study.read_text(encoding="utf-8")))
    with alone():
        report = _report(name, release)
        main = report.sections[0]
        facts = {fact.capitalize(): words for fact, words in release.facts.lines().items()}
        facts |= {"Ledger": main.facts["Ledger"]} if "Ledger" in main.facts else {}
        sections = [replace(main, facts=facts)]
        if other:
            drawn = {name: release, other: _loaded(other)}
            view = or_none(lambda: together(drawn))
            remarks += [] if view else [WORDS["apart"].format(name, other)]
            sections[:0] = [Section("", picture=Picture([view], view.title))] if view else []
        links = {"Report to print and sign": "report.html", "Release, all public": "release.json"}
        links |= {"Picture": "picture.png"} if sections[-1].picture else {}
        links |= {"Table (CSV)": "table.csv"} if table else {}
        links |= {"Study, which would do the same": "study.toml"} if line else {}
        links = {words: f"/read/{name}/{file}" for words, file in links.items()}
        others = {other: f"/read/{name}?beside={other}" for other in desk().releases() if other != name}
        links |= {f"{name} beside {other}": step for other, step in others.items()}
        sections += [report.appendix] if report.appendix else []
        codes = {"Command": ("The same as a command", line)} if line else {}
        shown: Json = {"sections": sections, "codes": codes, "links": links}
        if table:
            shown |= {"further": "The numbers", "parts": [Section("Table", table=_cells(table))]}
        return page("read", report=report, remarks=remarks, **shown)


def _cells(table: Table) -> list[list[str]]:
    """A table as words, its header first."""
    cells = zip(*(column.tolist() for column in table.columns.values()), strict=True)
    words = [[f"{x:.5g}" if isinstance(x, int | float) else str(x) for x in row] for row in cells]
    return [[table.meanings[column] for column in table.columns], *words]


def _loaded(name: str) -> Release:
    """A release of the folder; refused where the file is none."""
    return load(desk().released(name))


@PUBLISHING.get("/read/<name>/<what>")
def download(name: str, what: str) -> Answer:
    """A release as a file, and what is made of it at no cost."""
    release = _loaded(name)
    files = {"release.json": ".json", "study.toml": ".toml"}
    writers: dict[str, Writer] = {
        "picture.png": save_plot, "table.csv": save_table,
        "report.html": lambda release, path: write_text(path, to_html(_report(name, release))),
    }  # fmt: skip
    if what not in {**files, **writers}:
        abort(HTTPStatus.NOT_FOUND)
    with tempfile.TemporaryDirectory() as folder, alone():
        path = desk().released(name, files[what]) if what in files else Path(folder) / what
        if what in writers:
            writers[what](release, path)
        # Never shown as a page of the desk's own.
        saved = {"Content-Disposition": f'attachment; filename="{name}-{what}"'}
        return Response(path.read_bytes(), mimetype="application/octet-stream", headers=saved)


def _report(name: str, release: Release) -> Page:
    """The report to sign."""
    digest = hashlib.sha256(desk().released(name).read_bytes()).hexdigest()
    charged = where_charged(desk().ledger, {name: release}) if desk().ledger.is_file() else None
    return report_page({name: release}, {name: digest}, charged)


@PUBLISHING.route("/ledger", methods=["GET", "POST"])
def ledger() -> Answer:
    """Budgets and history; a new budget, or a larger one with its reason."""
    fields, action = {verb: _fields(verb) for verb in ACTIONS}, request.form.get("action", "")
    refused = ""
    if action in ACTIONS:
        stated = read_fields(fields[action], request.form)
        refused = "--who must be given: the history names whose decision it was."
        if action == "create" or "who" in stated:
            outcome = run(f"ledger {action}", desk().ledger, stated)
            if not outcome.status:
                return go("/ledger")
            refused = outcome.refusal
    book = Ledger(desk().ledger) if desk().ledger.is_file() else None
    forms = [
        Form("/ledger", verb.capitalize(), {"": fields[verb]}, hidden={"action": verb}, folded=words)
        for verb, words in ACTIONS.items()
    ]
    accounts = [_account(book, dataset) for dataset in book.datasets()] if book else []
    remarks = [] if book else ["There is no ledger yet."]
    return page("ledger", refused, forms=forms, remarks=remarks, sections=accounts)


def _account(book: Ledger, dataset: str) -> Section:
    """A data set's budget, its calendar, who raised it and why, and what was charged."""
    charged = book.releases(dataset)
    amounts = {"Budget": book.budget, "Spent": book.spent, "Left": book.remaining}
    facts = {name: str(amount(dataset)) for name, amount in amounts.items()}
    facts["Releases by month"] = calendar(charged)
    return Section(dataset, raises(book, dataset), facts, rows(charged))


def _fields(action: str) -> list[Field]:
    """What a verb of the ledger asks; who raises a budget may be left out there, and not here."""
    options = declared_verbs()[f"ledger {action}"].all_options()
    stated = [option for option in options if option.flag and option.name != "as_json"]
    return [field_of(replace(x, default=REQUIRED) if x.name == "who" else x) for x in stated]
