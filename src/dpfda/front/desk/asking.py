"""The pages before anything is published: the file, who is protected, what is asked, what to expect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any

from flask import Blueprint, request

from dpfda.command.publishing import Publication
from dpfda.command.running import typed
from dpfda.front.desk.drafts import Draft
from dpfda.front.desk.examples import example
from dpfda.front.desk.fields import (
    Field,
    Stated,
    Value,
    field_of,
    fields_of,
    named_in,
    panels,
    read_fields,
)
from dpfda.front.desk.guard import LARGEST_FILE
from dpfda.front.desk.opening import Opened, open_file
from dpfda.front.desk.planning import ASKED, UNITS, asked_first, outlook
from dpfda.front.desk.runs import BusyError, Said, alone
from dpfda.front.desk.session import LEDGER, Answer, desk, go, or_none, page, plain, run
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.errors import DpfdaError, LedgerError, ParameterError
from dpfda.records.files import EVERY

ASKING = Blueprint("asking", __name__)
# Usual bounds with their sources; and of each verb, by its name, lines on a field of 100 by 60.
KNOWN = json.loads(files("dpfda.front.desk").joinpath("known.json").read_text(encoding="utf-8"))
# What is asked once for all verbs, in this order.
SHARED = ("groups", "unit", "neighbours", "ledger", "dataset")


def publishing() -> dict[str, Publication]:
    """All verbs that publish."""
    return {name: x for name, x in declared_verbs().items() if isinstance(x, Publication)}


@ASKING.route("/", methods=["GET", "POST"])
def opening() -> Answer:
    """Open a file."""
    refused = ""
    if request.method == "POST":
        if desk().publications.running():
            raise BusyError
        try:
            desk().draft = Draft(_chosen(), desk().draft.data)
            return go("/protect")
        except DpfdaError as error:
            refused = typed(error)
    here = [each.name for each in sorted(desk().folder.iterdir()) if each.suffix in EVERY]
    kinds = ",".join((*EVERY, ".gz"))
    return page("open.html", refused, here=here, kinds=kinds, most=LARGEST_FILE >> 20)


def _chosen() -> Opened:
    """The file that was chosen."""
    upload, named = request.files.get("upload"), request.form.get("path", "").strip()
    sent = upload is not None and bool(upload.filename)
    if sent == bool(named):
        words = "be chosen, or named by its path"
        raise ParameterError("The file", words, "both" if sent else "neither")
    desk().uploads.clear()
    decimal, public = request.form.get("decimal", "."), "public" in request.form
    if upload is not None and sent:
        path = desk().uploads.keep(upload)
        return open_file(path, path.name, decimal, public, copied=True)
    try:
        path = (desk().folder / Path(named).expanduser()).resolve()
    except (RuntimeError, ValueError, OSError):
        raise ParameterError("The file", "have a path that can be one", "another") from None
    # As a study in the folder names it, whoever runs that and from where.
    inside = path.is_relative_to(desk().folder.resolve())
    called = path.relative_to(desk().folder.resolve()) if inside else path
    return open_file(path, str(called), decimal, public)


@ASKING.route("/protect", methods=["GET", "POST"])
def protect() -> Answer:
    """Say what is protected, and where it is charged."""
    known = {option.name: option for option in declared_verbs()["mean"].told()}
    fields, refused = [field_of(known[name]) for name in SHARED], ""
    values: Stated = {"ledger": LEDGER, **desk().draft.data}
    if request.method == "POST":
        values = read_fields(fields, request.form)
        refused = _opened_account(values, request.form.get("budget", "").strip())
        if not refused:
            desk().draft = replace(desk().draft, data=values)
            return go("/ask")
    return page("protect.html", refused, fields=fields, values=values, wrong=named_in(refused, fields))


def _opened_account(values: Stated, budget: str) -> str:
    """Make sure that there is a budget to charge, new if one is stated; why not, if not."""
    from dpfda.privacy.ledger import Ledger

    if "ledger" not in values or "dataset" not in values:
        return "--ledger and --dataset must be given: all that is released of the data is charged there."
    file, dataset = desk().folder / str(values["ledger"]), str(values["dataset"])
    try:
        Ledger(file).budget(dataset)
    except LedgerError as error:
        if not budget:
            return f"{typed(error)} State the budget of a new data set below."
        unit = values.get("unit") or values.get("groups")
        asked = [file, "--dataset", dataset, "--epsilon", budget, "--json"]
        asked += ["--unit", unit] if unit else []
        asked += ["--neighbours", values["neighbours"]] if "neighbours" in values else []
        made = run("ledger create", *asked)
        return made.refusal if made.status else ""
    return ""


def _missing() -> str:
    """The step that must come first; empty where a verb can be asked."""
    if desk().draft.opened is None:
        return "/"
    return "" if "dataset" in desk().draft.data else "/protect"


@ASKING.get("/ask")
def ask() -> Answer:
    """Choose a verb."""
    return go(_missing()) if _missing() else page("ask.html", verbs=publishing(), **KNOWN)


@ASKING.route("/ask/<verb>", methods=["GET", "POST"])
def form(verb: str) -> Answer:
    """What a verb asks."""
    if _missing() or verb not in publishing():
        return go("/ask")
    draft, fields, refused = desk().draft, fields_of(publishing()[verb].told()), ""
    if request.method == "POST":
        draft = _stated(verb, fields)
        tried = desk().tried(draft)
        if not tried.status:
            desk().draft = draft
            return go("/plan")
        refused = tried.refusal
    elif draft.verb != verb:
        draft = replace(draft, verb=verb, chosen={}, name=_free(verb))
    return page(
        "form.html", refused, draft=draft, verb=publishing()[verb], panels=panels(fields),
        wrong=named_in(refused, fields), **KNOWN,
    )  # fmt: skip


@ASKING.post("/check/<verb>")
def check(verb: str) -> Answer:
    """What is wrong with a form that is being filled in."""
    if _missing() or verb not in publishing():
        return plain(HTTPStatus.NOT_FOUND)
    fields = fields_of(publishing()[verb].told())
    tried: Said = desk().tried(_stated(verb, fields))
    return page("checked.html", tried=tried, wrong=named_in(tried.refusal, fields))


def _stated(verb: str, fields: list[Field]) -> Draft:
    """The draft with what a verb's form says."""
    if len(request.form.getlist("name")) > 1:
        raise ParameterError("Name", "be sent once", len(request.form.getlist("name")))
    name = request.form.get("name", "").strip()
    return replace(desk().draft, verb=verb, chosen=read_fields(fields, request.form, name), name=name)


def _free(verb: str) -> str:
    """A name that no release has."""
    taken = {each.stem for each in desk().folder.iterdir()}
    numbered = (f"{verb}-{k}" for k in count(2))
    return next(name for name in chain([verb], numbered) if name not in taken)


@ASKING.route("/plan", methods=["GET", "POST"])
def plan() -> Answer:
    """What to expect; epsilon may be changed."""
    chosen = desk().draft.chosen
    if not desk().draft.verb:
        return go("/ask")
    # Where a rho is stated there is no epsilon.
    budget: Stated = {} if "rho" in chosen else {"epsilon": chosen.get("epsilon", "1")}
    if request.method == "POST":
        changed = {name: text for name, text in _numbers(request.form).items() if name in budget}
        desk().draft = replace(desk().draft, chosen={**chosen, **changed})
        return go("/try")
    asked = {**asked_first(desk().draft.verb, chosen), **budget, **_numbers(request.args)}
    with alone():
        return page("plan.html", asked=asked, units=UNITS, **_expected(asked))


@ASKING.get("/plan/shown")
def shown() -> Answer:
    """The part of it that changes."""
    if not desk().draft.verb:
        return go("/ask")
    with alone():
        return page("planned.html", **_expected(_numbers(request.args)))


def _numbers(sent: Mapping[str, str]) -> dict[str, Value]:
    return {name: sent[name].strip() for name in ASKED if sent.get(name, "").strip()}


def _expected(asked: Stated) -> dict[str, Any]:
    """What a plan's page shows."""
    from dpfda.privacy.ledger import Ledger
    from dpfda.privacy.ledger.rows import now

    draft, ledger = desk().draft, Ledger(desk().ledger)
    dataset = str(draft.data["dataset"])
    months = Counter(row["time"][:7] for row in ledger.releases(dataset) if row["time"][:4] == now()[:4])
    account = {"left": ledger.remaining(dataset), "months": months}
    asks = declared_verbs()[f"plan {draft.verb}"].told()
    try:
        who = {"unit": draft.data["groups"]} if "groups" in draft.data else {}
        found = outlook(draft.verb, {**who, **draft.data, **draft.chosen, **asked}, desk().folder)
        numbers = {UNITS: str(found.plan.n), **asked}
        shown = or_none(lambda: example(draft, desk().folder, numbers))
        # Pictures of many plans are drawn when they are opened.
        words = "words" in request.args
        return {**account, "outlook": found, "example": shown, "unusable": "", "words": words}
    except DpfdaError as error:
        return {**account, "outlook": None, "unusable": typed(error, asks)}
