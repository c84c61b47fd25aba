"""The pages before anything is published: the file, who is protected, what is asked, what to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from itertools import chain, count
from pathlib import Path
from typing import Any

from flask import Blueprint, abort, request

from dpfda.command.declared import REQUIRED
from dpfda.command.publishing import Publication
from dpfda.command.running import REFUSED, typed
from dpfda.front.desk import fields as f
from dpfda.front.desk.drafts import Draft
from dpfda.front.desk.examples import example
from dpfda.front.desk.fields import KNOWN, WORDS, Field, Form, Stated, Value, field_of, named_in, own
from dpfda.front.desk.opening import Opened, open_file
from dpfda.front.desk.planning import ASKED, UNITS, WANTED, asked_first, calendar, outlook
from dpfda.front.desk.runs import BusyError, Said, alone
from dpfda.front.desk.session import LEDGER, Answer, desk, go, or_none, page, part, run
from dpfda.front.verbs import declared_verbs
from dpfda.front.verbs.run import options_of
from dpfda.numerics.errors import DpfdaError, LedgerError, ParameterError
from dpfda.records.files import EVERY
from dpfda.records.headers import find_column

ASKING = Blueprint("asking", __name__)
# What is asked once for all verbs, in this order.
SHARED = ("groups", "unit", "neighbours", "ledger", "dataset")
SLIDERS = {"epsilon": (0.01, 20, "log"), UNITS: (20, 100_000, "log whole")}


def publishing() -> dict[str, Publication]:
    """All verbs that publish."""
    return {name: verb for name, verb in declared_verbs().items() if isinstance(verb, Publication)}


def _asked(name: str) -> Field:
    """What every verb asks, as a field."""
    return field_of(options_of(declared_verbs()["mean"])[name])


@ASKING.route("/", methods=["GET", "POST"])
def opening() -> Answer:
    """Open a file."""
    refused, opened = "", desk().draft.opened
    if request.method == "POST":
        if desk().publications.running():
            raise BusyError
        try:
            desk().draft = Draft(_chosen(), desk().draft.data)
            return go("/protect")
        except DpfdaError as error:
            refused = typed(error)
    here = {each.name: "" for each in sorted(desk().folder.iterdir()) if each.suffix in EVERY}
    decimal = replace(_asked("decimal"), choices={".": "1.5", ",": "1,5"})
    fields = [own("path", choices=here), own("upload"), decimal, own("public")]
    asked = Form("/", "Open", {"": fields}, {"decimal": opened.decimal if opened else "."})
    told = "Go on with {}: {} columns named here, {} not"
    named = opened and told.format(opened.called, len(opened.header), len(opened.withheld))
    links = {named: "/protect"} if named else {}
    return page("opening", refused, links=links, forms=[asked])


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
    fields, refused = [_asked(name) for name in SHARED], ""
    values: Stated = {"ledger": LEDGER, **desk().draft.data}
    if request.method == "POST":
        values = f.read_fields(fields, request.form)
        # Before there is an account, whose unit it names for good.
        refused = _unknown_column(values)
        refused = refused or _opened_account(values, request.form.get("budget", "").strip())
        if not refused:
            desk().draft = replace(desk().draft, data=values)
            return go("/ask")
    asked = Form("/protect", "Go on", {"": [*fields, own("budget")]}, values, named_in(refused, fields))
    return page("protect", refused, forms=[asked])


def _unknown_column(values: Stated) -> str:
    """Why the column that tells who is protected is none of the file; empty if it is one."""
    opened, name = desk().draft.opened, values.get("groups")
    try:
        if opened is not None and name is not None:
            find_column([*opened.header, *opened.withheld], str(name), "--groups")
    except ParameterError as error:
        told = Said(REFUSED, notes=(f"error: {typed(error)}",))
        return told.screened(replace(desk().draft, data=values)).refusal
    return ""


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
        known = {"unit": values.get("groups"), **values, "dataset": dataset, "epsilon": budget}
        names = ("dataset", "epsilon", "unit", "neighbours")
        options = [(f"--{name}", known[name]) for name in names if known.get(name)]
        made = run("ledger create", file, "--json", *chain.from_iterable(options))
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
    if _missing():
        return go(_missing())
    sketches = KNOWN["sketches"]
    cards = {name: (sketches.get(name, ""), _words(verb)) for name, verb in publishing().items()}
    return page("ask", cards=cards)


def _words(verb: Publication) -> str:
    return verb.words.split("\n\n")[0]


@ASKING.route("/ask/<verb>", methods=["GET", "POST"])
def form(verb: str) -> Answer:
    """What a verb asks."""
    if _missing() or verb not in publishing():
        return go("/ask")
    publication, draft, refused = publishing()[verb], desk().draft, ""
    fields = f.fields_of(publication.told())
    if request.method == "POST":
        draft = _stated(verb, fields)
        tried = desk().tried(draft)
        if not tried.status:
            desk().draft = draft
            return go("/plan")
        refused = tried.refusal
    elif draft.verb != verb:
        draft = replace(draft, verb=verb, chosen={}, name=_free(verb))
    asked = Form(
        f"/ask/{verb}",
        "Check, and plan",
        {**f.panels(each for each in fields if each.first), "": [own("name", REQUIRED)]},
        {**draft.chosen, "name": draft.name},
        named_in(refused, fields),
        further=[each for each in fields if not each.first],
        presets=KNOWN["presets"] if publication.bounded else (),
        live=f"/check/{verb}",
    )
    return page("form", refused, verb=verb, words=_words(publication), forms=[asked], live="check")


@ASKING.post("/check/<verb>")
def check(verb: str) -> Answer:
    """What is wrong with a form that is being filled in."""
    if _missing() or verb not in publishing():
        abort(HTTPStatus.NOT_FOUND)
    fields = f.fields_of(publishing()[verb].told())
    tried: Said = desk().tried(_stated(verb, fields))
    if tried.status:
        return part(unusable=tried.refusal, wrong=named_in(tried.refusal, fields)), 200
    told = tried.answer
    return part(answer=f"Nothing is wrong. {told['guarantee']}, {told['protects']}."), 200


def _stated(verb: str, fields: list[Field]) -> Draft:
    """The draft with what a verb's form says."""
    if len(request.form.getlist("name")) > 1:
        raise ParameterError("Name", "be sent once", len(request.form.getlist("name")))
    name = request.form.get("name", "").strip()
    return replace(desk().draft, verb=verb, chosen=f.read_fields(fields, request.form, name), name=name)


def _free(verb: str) -> str:
    """A name that no release has."""
    taken = {each.stem for each in desk().folder.iterdir()}
    numbered = (f"{verb}-{k}" for k in count(2))
    return next(name for name in chain([verb], numbered) if name not in taken)


@ASKING.route("/plan", methods=["GET", "POST"])
@ASKING.get("/plan/shown")
def plan() -> Answer:
    """What to expect, or the part of it that changes; epsilon may be changed."""
    verb, chosen = desk().draft.verb, desk().draft.chosen
    if not verb:
        return go("/ask")
    # Where a rho is stated there is no epsilon.
    budget: Stated = {} if "rho" in chosen else {"epsilon": chosen.get("epsilon", "1")}
    if request.method == "POST":
        changed = {name: text for name, text in _numbers(request.form).items() if name in budget}
        desk().draft = replace(desk().draft, chosen={**chosen, **changed})
        return go("/try")
    with alone():
        if request.path.endswith("/shown"):
            return part(**_expected(_numbers(request.args))), 200
        first = {**budget, **asked_first(verb, chosen)}
        asked, known = {**first, **_numbers(request.args)}, options_of(declared_verbs()[f"plan {verb}"])
        fields = [
            replace(field_of(known[name.replace("-", "_")]), slider=SLIDERS.get(name))
            for name in (*first, *WANTED)
        ]
        numbers = Form(
            "/plan", "Take this epsilon, and try", {"": fields}, asked, live="/plan/shown", shows=True
        )
        return page("plan", forms=[numbers], live="plan", **_expected(asked))


def _numbers(sent: Mapping[str, str]) -> dict[str, Value]:
    return {name: sent[name].strip() for name in ASKED if sent.get(name, "").strip()}


def _expected(asked: Stated) -> dict[str, Any]:
    """What a plan's page shows."""
    from dpfda.privacy.ledger import Ledger
    from dpfda.privacy.ledger.rows import now
    from dpfda.views.page import Picture, Section

    draft, ledger = desk().draft, Ledger(desk().ledger)
    dataset = str(draft.data["dataset"])
    who = {"unit": draft.data["groups"]} if "groups" in draft.data else {}
    try:
        found = outlook(draft.verb, {**who, **draft.data, **draft.chosen, **asked}, desk().folder)
        facts = found.facts()
    except DpfdaError as error:
        return {"unusable": typed(error, declared_verbs()[f"plan {draft.verb}"].told())}
    made = or_none(lambda: example(draft, desk().folder, {UNITS: str(found.plan.n), **asked}))
    expected = facts.pop("Error")
    answer = expected if expected == found.plan.error_words else f"Expected error: about {expected}"
    facts["Left of the budget"] = str(ledger.remaining(dataset))
    this_year = [row for row in ledger.releases(dataset) if row["time"][:4] == now()[:4]]
    facts["Releases this year"] = calendar(this_year)
    words = WORDS["no_example" if made is None else "example"]
    # Pictures of many plans are drawn when they are opened.
    views = [or_none(found.plan.view), found.trade_off()] if "words" in request.args else []
    drawn = [Picture([each], f"{each.title}. {each.subtitle}.") for each in views if each]
    return {
        "answer": f"{answer[:1].upper()}{answer[1:]}.",
        "view": made,
        "told": [Section("", [words], facts)],
        "further": "The error against epsilon, and the risk as a trade-off",
        "parts": [Section("", picture=picture) for picture in drawn],
    }
