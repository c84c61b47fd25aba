"""The pages before anything is published: the file, who is protected, what is asked, what to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
from flask import Blueprint, request

from dpfda.command import planning
from dpfda.command.declared import REQUIRED, Given
from dpfda.command.functions import read_options
from dpfda.command.running import REFUSED, typed
from dpfda.front.desk import fields as f
from dpfda.front.desk.examples import example
from dpfda.front.desk.fields import KNOWN, WORDS, Field, Form, Stated, Value, named_in, own
from dpfda.front.desk.opening import Opened, open_file
from dpfda.front.desk.session import LEDGER, Answer, calendar, desk, go, or_none, page, part, run
from dpfda.front.desk.studies import BusyError, Draft, Said, alone, captured
from dpfda.front.verbs import declared_verbs, published
from dpfda.front.verbs.plan import OWN
from dpfda.front.verbs.run import options_of, typed_as
from dpfda.numerics.encoding import Json
from dpfda.numerics.errors import DpfdaError, LedgerError, ParameterError
from dpfda.numerics.words import several
from dpfda.privacy.composition.risk import attack_risk
from dpfda.privacy.ledger import Ledger
from dpfda.privacy.ledger.rows import now
from dpfda.publication import Plan
from dpfda.records.files import EVERY
from dpfda.records.headers import find_column
from dpfda.views import Curve, Line
from dpfda.views.page import Picture, Section

ASKING = Blueprint("asking", __name__)
# What a plan asks beside the options of the verb, and epsilon again; first of it, the number of units.
UNITS, *WANTED = (option.flag.removeprefix("--") for option in OWN)
ASKED = ("epsilon", UNITS, "points", *WANTED)
# False alarms at which the trade-off is drawn.
DRAWN = 61
# What is asked once for all verbs, in this order.
SHARED = ("groups", "unit", "neighbours", "ledger", "dataset")
SLIDERS = {"epsilon": (0.01, 20, "log"), UNITS: (20, 100_000, "log whole")}


def _shared_field(name: str) -> Field:
    """What every verb asks, as a field."""
    return f.field_of(options_of(declared_verbs()["mean"])[name])


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
    here = {path.name: "" for path in sorted(desk().folder.iterdir()) if path.suffix in EVERY}
    decimal = replace(_shared_field("decimal"), choices={".": "1.5", ",": "1,5"})
    fields = [own("path", choices=here), own("upload"), decimal, own("public")]
    form = Form("/", "Open", {"": fields}, {"decimal": opened.decimal if opened else "."})
    words = "Go on with {}: {} columns named here, {} not"
    named = opened and words.format(opened.called, len(opened.header), len(opened.withheld))
    links = {named: "/protect"} if named else {}
    return page("opening", refused, links=links, forms=[form])


def _chosen() -> Opened:
    """The file that was chosen."""
    upload, named = request.files.get("upload"), request.form.get("path", "").strip()
    if bool(upload) == bool(named):
        words = "be chosen, or named by its path"
        raise ParameterError("The file", words, "both" if named else "neither")
    desk().uploads.clear()
    decimal, public = request.form.get("decimal", "."), "public" in request.form
    if upload:
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
    fields, refused = [_shared_field(name) for name in SHARED], ""
    values: Stated = {"ledger": LEDGER, **desk().draft.data}
    if request.method == "POST":
        values = f.read_fields(fields, request.form)
        # Before there is an account, whose unit it names for good.
        outcome = captured(lambda: _check_groups(values)).screened(replace(desk().draft, data=values))
        outcome = outcome if outcome.status else _opened(values, request.form.get("budget", "").strip())
        if not outcome.status:
            desk().draft = replace(desk().draft, data=values)
            return go("/ask")
        refused = outcome.refusal
    form = Form("/protect", "Go on", {"": [*fields, own("budget")]}, values, named_in(refused, fields))
    return page("protect", refused, forms=[form])


def _check_groups(values: Stated) -> int:
    """Find the column with the protected unit. Raises ParameterError if the file has none."""
    file = desk().draft.file
    if "groups" in values:
        find_column([*file.header, *file.withheld], str(values["groups"]), "--groups")
    return 0


def _opened(values: Stated, budget: str) -> Said:
    """Make sure that there is a budget to charge, new if one is stated."""
    if "ledger" not in values or "dataset" not in values:
        return Said(REFUSED, notes=(WORDS["no_account"],))
    file, dataset = desk().folder / str(values["ledger"]), str(values["dataset"])
    try:
        Ledger(file).budget(dataset)
    except LedgerError as error:
        if not budget:
            return Said(REFUSED, notes=(f"{typed(error)} {WORDS['no_budget']}",))
        account = {"unit": values.get("groups"), **values, "dataset": dataset, "epsilon": budget}
        names = ("dataset", "epsilon", "unit", "neighbours")
        return run("ledger create", file, {name: account.get(name) for name in names})
    return Said(0)


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
    words = {name: verb.words.split("\n\n")[0] for name, verb in published().items()}
    return page("ask", cards={name: (sketches.get(name, ""), text) for name, text in words.items()})


@ASKING.route("/ask/<verb>", methods=["GET", "POST"])
def form(verb: str) -> Answer:
    """What a verb asks, or what is wrong with what was filled in so far."""
    publication, draft, refused = published().get(verb), desk().draft, ""
    if _missing() or publication is None:
        return go("/ask")
    fields = f.fields_of(publication.all_options())
    if request.method == "POST":
        name = str(own("name").read(request.form, "") or "")
        chosen = f.read_fields(fields, request.form, name)
        draft = replace(draft, verb=verb, chosen=chosen, name=name)
        tried: Said = desk().tried(draft)
        refused, answer = tried.refusal, tried.answer
        if "live" in request.args:
            if tried.status:
                return part(unusable=refused, wrong=named_in(refused, fields)), 200
            return part(answer=f"Nothing is wrong. {answer['guarantee']}, {answer['protects']}."), 200
        if not tried.status:
            desk().draft = draft
            return go("/plan")
    elif draft.verb != verb:
        draft = replace(draft, verb=verb, chosen={}, name=_free(verb))
    elif draft.name in desk().releases():
        # It was published: what is asked next is another release.
        draft = replace(draft, name=_free(verb))
    first = f.panels(field for field in fields if field.first)
    further = [field for field in fields if not field.first]
    shown = {**first, "": [own("name", REQUIRED)], Form.further: further}
    values = {**draft.chosen, "name": draft.name}
    wrong = named_in(refused, fields)
    presets = KNOWN["presets"] if publication.bounded else ()
    questions = Form(f"/ask/{verb}", "Check, and plan", shown, values, wrong, presets=presets, live=True)
    words = publication.words.split("\n\n")[0]
    return page("form", refused, verb=verb, words=words, forms=[questions], live="check")


def _free(verb: str) -> str:
    """A name that no release has."""
    taken = {path.stem for path in desk().folder.iterdir()}
    return next(name for k in count(1) if (name := verb if k == 1 else f"{verb}-{k}") not in taken)


@ASKING.route("/plan", methods=["GET", "POST"])
def plan() -> Answer:
    """What to expect, or the part of it that changes; epsilon may be changed."""
    verb, chosen = desk().draft.verb, desk().draft.chosen
    if not verb:
        return go("/ask")
    # Where a rho is stated there is no epsilon; where a grid is, it says the points.
    budget: Stated = {} if "rho" in chosen else {"epsilon": chosen.get("epsilon", "1")}
    if request.method == "POST":
        changed = {name: text for name, text in _numbers(request.form).items() if name in budget}
        desk().draft = replace(desk().draft, chosen={**chosen, **changed})
        return go("/try")
    with alone():
        if "live" in request.args:
            return part(**_expected(_numbers(request.args))), 200
        options = options_of(declared_verbs()[f"plan {verb}"])
        points = {"points": "48"} if "points" in options and not {"grid", "id"} & {*chosen} else {}
        first = {**budget, UNITS: "500", **points}
        sent = {**first, **_numbers(request.args)}
        fields = [
            replace(f.field_of(options[name.replace("-", "_")]), slider=SLIDERS.get(name))
            for name in (*first, *WANTED)
        ]
        form = Form("/plan", "Take this epsilon, and try", {"": fields}, sent, live=True, shows=True)
        return page("plan", forms=[form], live="plan", **_expected(sent))


def _numbers(sent: Mapping[str, str]) -> dict[str, Value]:
    return {name: sent[name].strip() for name in ASKED if sent.get(name, "").strip()}


def _expected(sent: Stated) -> Json:
    """What a plan's page shows."""
    draft, ledger = desk().draft, Ledger(desk().ledger)
    dataset = str(draft.data["dataset"])
    who = {"unit": draft.data["groups"]} if "groups" in draft.data else {}
    try:
        plan, needed = outlook(draft.verb, {**who, **draft.data, **draft.chosen, **sent}, desk().folder)
        facts = prospects(plan, needed)
    except DpfdaError as error:
        return {"unusable": typed(error, declared_verbs()[f"plan {draft.verb}"].all_options())}
    view = or_none(lambda: example(draft, desk().folder, {UNITS: str(plan.n), **sent}))
    expected = facts.pop("Error")
    answer = expected if expected == plan.error_words else f"Expected error: about {expected}"
    facts["Left of the budget"] = str(ledger.remaining(dataset))
    this_year = [row for row in ledger.releases(dataset) if row["time"][:4] == now()[:4]]
    facts["Releases this year"] = calendar(this_year)
    words = WORDS["no_example" if view is None else "example"]
    # Pictures of many plans are drawn when they are opened.
    views = [or_none(plan.view), trade_off(plan)] if "words" in request.args else []
    drawn = [Picture([view], f"{view.title}. {view.subtitle}.") for view in views if view]
    return {
        "answer": f"{answer[:1].upper()}{answer[1:]}.",
        "view": view,
        "told": [Section("", [words], facts)],
        "further": "The error against epsilon, and the risk as a trade-off",
        "parts": [Section("", picture=picture) for picture in drawn],
    }


def outlook(verb: str, stated: Stated, folder: Path) -> tuple[Plan, Mapping[str, object]]:
    """What to expect of a verb, of whose options its plan has some, and what a wanted error needs.

    Raises ParameterError if they cannot be used.
    """
    plan_verb = declared_verbs()[f"plan {verb}"]
    options, typed = options_of(plan_verb), list[str]()
    for name, value in stated.items():
        option = options.get(name.replace("-", "_"))
        if option is not None:
            typed += typed_as(option, value, f"--{name}", folder)
    args = Given(**planning.NOT_GIVEN | vars(read_options(plan_verb, typed)))
    plan = planning.planned(published()[verb], args)
    if args.error is None and args.band is None:
        return plan, {}
    return plan, planning.needed(args, plan, planning.wanted_of(args, plan))


def prospects(plan: Plan, needed: Mapping[str, object]) -> dict[str, str]:
    """What is to be expected, in words; it may take long."""
    facts = plan.prospects()
    if "least_epsilon" in needed:
        facts["least epsilon for it"] = f"{needed['least_epsilon']:g}"
    if "least_n" in needed:
        facts["least number for it"] = f"{needed['least_n']} {several(plan.unit)}"
    facts["risk"] = str(attack_risk(plan.costs().values()))
    return {name.capitalize(): fact for name, fact in facts.items()}


def trade_off(plan: Plan) -> Curve:
    """Misses of the best attacker against false alarms."""
    alarms = np.linspace(0.0, 1.0, DRAWN)
    misses = attack_risk(plan.costs().values()).misses(alarms)
    best = Line(alarms, misses, "the best attacker, at most")
    chance = Line(alarms, 1.0 - alarms, "who knows nothing", stroke="dashed")
    title = "Telling two neighbouring data sets apart"
    words = "Nobody comes below the first line, whatever else they know"
    return Curve((best, chance), "false alarms", "misses", title, words)
