"""The pages: each step reads what was sent, asks the verbs, and shows what they say."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, g, redirect, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from dpfda.command.made import called
from dpfda.command.publishing import Publication as Verb
from dpfda.command.running import typed
from dpfda.front.desk import planning
from dpfda.front.desk.drafts import Draft, check_name, command_line, with_files
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
from dpfda.front.desk.guard import LARGEST_FILE, Guard, headers
from dpfda.front.desk.known import PRESETS, SKETCHES
from dpfda.front.desk.opening import Uploads, open_file
from dpfda.front.desk.runs import BusyError, Publication, Publications, Said, alone, dry_run, said
from dpfda.front.verbs import declared_verbs
from dpfda.numerics.errors import DpfdaError, LedgerError, ParameterError
from dpfda.records.files import ARROW, PARQUET, TEXT
from dpfda.views.page import rendered

Answer = AnyResponse | tuple[str, int]
# What the page on protection asks, in this order, of the options that all verbs share.
PROTECTS = ("groups", "unit", "neighbours", "ledger", "dataset")
LEDGER = "budget.ledger"


@dataclass
class Desk:
    """One run of the desk: what was said so far, and what was begun.

    Parameters
    ----------
    folder : Path
        Where studies, releases and the ledger lie.
    guard : Guard
    """

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
        """What a dry run of a draft says."""
        try:
            assert draft.opened is not None  # noqa: S101 - no page of a verb comes before a file
            return dry_run(draft.study(), self.folder, draft.opened.path)
        except DpfdaError as error:
            return Said(2, notes=(f"error: {typed(error)}",))

    def releases(self) -> list[str]:
        """Names of the releases in the folder that a desk made."""
        found = sorted(self.folder.glob("*.toml"))
        return [each.stem for each in found if each.with_suffix(".json").is_file()]


def publishing() -> dict[str, Verb]:
    """All verbs that publish."""
    return {name: verb for name, verb in declared_verbs().items() if isinstance(verb, Verb)}


def shared() -> list[Field]:
    """What is asked once for all verbs."""
    known = {option.name: option for option in declared_verbs()["mean"].told()}
    return [field_of(known[name]) for name in PROTECTS]


def make_app(desk: Desk) -> Flask:
    """The pages as an application."""
    app = Flask("dpfda-desk", static_folder=None)
    app.logger.disabled = True
    steps = Blueprint("desk", __name__, url_prefix=desk.guard.place)
    for add in (_opening, _asking, _publishing, _reading, _ledger, _explorer):
        add(steps, desk)
    app.register_blueprint(steps)

    @app.before_request
    def refuse() -> Answer | None:
        g.nonce, g.desk = secrets.token_urlsafe(16), desk
        refused = desk.guard.refusal(request)
        return None if refused is None else _plain(refused)

    @app.after_request
    def add_headers(answer: Response) -> Response:
        return headers(answer, g.nonce)

    @app.get("/open/<token>")
    def enter(token: str) -> Answer:
        if not desk.guard.exchange(token):
            return _plain(HTTPStatus.FORBIDDEN)
        home: Any = redirect(f"{desk.guard.place}{request.args.get('to', '/')}", 303)
        return desk.guard.admit(home)

    @app.errorhandler(Exception)
    def failed(error: Exception) -> Answer:
        if isinstance(error, HTTPException):
            return _plain(HTTPStatus(error.code or 500))
        if isinstance(error, DpfdaError):
            return page("refused.html", 422, refused=typed(error))
        if isinstance(error, BusyError):
            return page("refused.html", 503, refused="Another page's work is under way. Try again.")
        words = f"Unexpected {type(error).__name__}. Its details could contain private values."
        return page("refused.html", 500, refused=words)

    return app


def page(template: str, status: int = 200, **shown: object) -> Answer:
    """A page of the desk."""
    desk: Desk = g.desk
    known: dict[str, Any] = {"place": desk.guard.place, "mark": desk.guard.mark, "nonce": g.nonce,
             "draft": desk.draft, "refused": "", "remarks": [], "wrong": None}  # fmt: skip
    return rendered(template, __package__ or "", "dpfda desk", **known | shown), status


def go(step: str) -> AnyResponse:
    """To another page, which is asked for anew."""
    return redirect(g.desk.guard.place + step, 303)


def _plain(status: HTTPStatus) -> Answer:
    return Response(f"{status.value} {status.phrase}\n", status.value, mimetype="text/plain")


def _opening(steps: Blueprint, desk: Desk) -> None:
    @steps.route("/", methods=["GET", "POST"])
    def opening() -> Answer:
        refused = ""
        if request.method == "POST":
            if desk.publications.running():
                raise BusyError
            try:
                desk.draft = Draft(_chosen(desk), desk.draft.data)
                return go("/protect")
            except DpfdaError as error:
                refused = typed(error)
        here = [x.name for x in sorted(desk.folder.iterdir()) if x.suffix in TEXT + PARQUET + ARROW]
        kinds, most = ",".join((*TEXT, ".gz", *PARQUET, *ARROW)), LARGEST_FILE >> 20
        status = 422 if refused else 200
        return page("open.html", status, refused=refused, here=here, kinds=kinds, most=most)

    @steps.route("/protect", methods=["GET", "POST"])
    def protect() -> Answer:
        fields, refused = shared(), ""
        values: Stated = {"ledger": LEDGER, **desk.draft.data}
        if request.method == "POST":
            values = read_fields(fields, request.form)
            refused = _opened_account(desk, values, request.form.get("budget", "").strip())
            if not refused:
                desk.draft = replace(desk.draft, data=values)
                return go("/ask")
        return page(
            "protect.html", 422 if refused else 200, refused=refused, fields=fields, values=values,
            wrong=named_in(refused, fields),
        )  # fmt: skip


def _chosen(desk: Desk) -> Any:
    """The file that was chosen on the page."""
    upload, named = request.files.get("upload"), request.form.get("path", "").strip()
    if (upload is None or not upload.filename) == (not named):
        raise ParameterError(
            "The file", "be chosen, or named by its path", "both" if named else "neither"
        )
    if upload is not None and upload.filename:
        path = desk.uploads.keep(upload)
        named = path.name
    else:
        desk.uploads.clear()
        path = desk.folder / Path(named).expanduser()
    decimal, public = request.form.get("decimal", "."), "public" in request.form
    return open_file(path, named, decimal, public)


def _opened_account(desk: Desk, values: Stated, budget: str) -> str:
    """Make sure that there is a budget to charge, new if one is stated; why not, if not."""
    from dpfda.privacy.ledger import Ledger

    file, dataset = desk.folder / str(values.get("ledger", "")), str(values.get("dataset", ""))
    if not values.get("ledger") or not dataset:
        return "--ledger and --dataset must be given: all that is released of the data is charged there."
    try:
        Ledger(file).budget(dataset)
    except LedgerError as error:
        if not budget:
            return f"{typed(error)} State the budget of a new data set below."
        unit = values.get("unit") or values.get("groups")
        asked = [str(file), "--dataset", dataset, "--epsilon", budget, "--json"]
        asked += ["--unit", str(unit)] if unit else []
        asked += ["--neighbours", str(values["neighbours"])] if "neighbours" in values else []
        made = said(lambda: called(declared_verbs()["ledger create"], asked))
        return made.refusal if made.status else ""
    return ""


def _asking(steps: Blueprint, desk: Desk) -> None:
    @steps.get("/ask")
    def ask() -> Answer:
        if desk.draft.opened is None or "dataset" not in desk.draft.data:
            return go("/" if desk.draft.opened is None else "/protect")
        return page("ask.html", verbs=publishing(), sketches=SKETCHES)

    @steps.route("/ask/<verb>", methods=["GET", "POST"])
    def form(verb: str) -> Answer:
        draft = desk.draft
        if verb not in publishing() or draft.opened is None or "dataset" not in draft.data:
            return go("/ask")
        fields, tried = fields_of(publishing()[verb].told()), Said(0)
        if request.method == "POST":
            draft = _stated(desk, verb, fields)
            tried = desk.tried(draft)
            if not tried.status:
                desk.draft = draft
                return go("/plan")
        elif draft.verb != verb:
            draft = replace(draft, verb=verb, chosen={}, name=_free(desk, verb))
        return page(
            "form.html", 422 if tried.status else 200, draft=draft, verb=publishing()[verb],
            panels=panels(fields), refused=tried.refusal if tried.status else "", presets=PRESETS,
            wrong=named_in(tried.refusal, fields) if tried.status else None,
        )  # fmt: skip

    @steps.post("/check/<verb>")
    def check(verb: str) -> Answer:
        if verb not in publishing() or desk.draft.opened is None:
            return _plain(HTTPStatus.NOT_FOUND)
        fields = fields_of(publishing()[verb].told())
        tried = desk.tried(_stated(desk, verb, fields))
        return page("checked.html", tried=tried, wrong=named_in(tried.refusal, fields))

    @steps.route("/plan", methods=["GET", "POST"])
    def plan() -> Answer:
        if not desk.draft.verb:
            return go("/ask")
        asked: Mapping[str, Value] = {**planning.asked(desk.draft.verb), **_budget(desk.draft)}
        if request.method == "POST":
            terms = {
                name: text for name, text in _query(request.form).items() if name in _budget(desk.draft)
            }
            desk.draft = replace(desk.draft, chosen={**desk.draft.chosen, **terms})
            return go("/try")
        asked = {**asked, **_query(request.args)}
        with alone():
            return page("plan.html", asked=asked, **_outlook(desk, asked))

    @steps.get("/plan/shown")
    def shown() -> Answer:
        if not desk.draft.verb:
            return go("/ask")
        with alone():
            return page("planned.html", **_outlook(desk, _query(request.args)))


def _stated(desk: Desk, verb: str, fields: list[Field]) -> Draft:
    """The draft with what a verb's form says."""
    name = request.form.get("name", "").strip()
    chosen = with_files(publishing()[verb], read_fields(fields, request.form), name)
    return replace(desk.draft, verb=verb, chosen=chosen, name=name)


def _free(desk: Desk, verb: str) -> str:
    """A name that no release has."""
    taken = {each.stem for each in desk.folder.iterdir()}
    return next(x for x in (verb, *(f"{verb}-{k}" for k in range(2, 10**6))) if x not in taken)


def _budget(draft: Draft) -> dict[str, Value]:
    """Epsilon, which the plan may change; nothing where a rho is stated."""
    return {} if "rho" in draft.chosen else {"epsilon": draft.chosen.get("epsilon", "1")}


def _query(sent: Mapping[str, str]) -> dict[str, Value]:
    known = ("epsilon", "curves", "points", "error", "band")
    return {name: sent[name].strip() for name in known if sent.get(name, "").strip()}


def _outlook(desk: Desk, asked: Stated) -> dict[str, object]:
    """What a plan's page shows."""
    from dpfda.privacy.ledger import Ledger

    data = desk.draft.data
    left = Ledger(desk.ledger).remaining(str(data["dataset"]))
    try:
        stated = {**data, **desk.draft.chosen, **asked}
        return {"outlook": planning.outlook(desk.draft.verb, stated, desk.folder), "left": left}
    except DpfdaError as error:
        return {"outlook": None, "left": left, "refused": typed(error)}


def _publishing(steps: Blueprint, desk: Desk) -> None:
    @steps.get("/try")
    def trial() -> Answer:
        draft = desk.draft
        if not draft.verb or draft.opened is None:
            return go("/ask")
        tried = desk.tried(draft)
        if tried.status:
            return page("try.html", 422, refused=tried.refusal, tried=tried)
        study = draft.study()
        offered = Publication(study, draft.name, draft.opened.path, desk.folder)
        return page(
            "try.html", tried=tried, remarks=tried.remarks, study=study, line=command_line(study),
            digest=hashlib.sha256(study.encode()).hexdigest(), number=desk.publications.offer(offered),
        )  # fmt: skip

    @steps.post("/publish")
    def publish() -> Answer:
        number = request.form.get("number", "")
        if not desk.publications.begin(number):
            words = "This button's number is used up or unknown. Nothing was charged by it."
            return page("refused.html", 410, refused=words)
        return go(f"/published/{number}")

    @steps.get("/published/<number>")
    def published(number: str) -> Answer:
        begun = desk.publications.begun(number)
        if begun is None:
            return _plain(HTTPStatus.NOT_FOUND)
        if begun.said is not None and begun.said.status == 0:
            return go(f"/read/{begun.name}?number={number}")
        return page("published.html", begun=begun)


def _reading(steps: Blueprint, desk: Desk) -> None:
    @steps.get("/read")
    def shelf() -> Answer:
        return page("shelf.html", names=desk.releases())

    @steps.get("/read/<name>")
    def read(name: str) -> Answer:
        from dpfda.front.verbs.report import where_charged
        from dpfda.releases.base import load
        from dpfda.releases.report import sections

        release: Any = load(_file(desk, name, ".json"))
        begun = desk.publications.begun(request.args.get("number", ""))
        remarks = [] if begun is None or begun.said is None else begun.said.remarks
        study, table = desk.folder / f"{name}.toml", _or_none(release.table)
        rows = (
            []
            if table is None
            else [*zip(*(column.tolist() for column in table.columns.values()), strict=True)]
        )
        with alone():
            return page(
                "read.html", name=name, release=release, remarks=remarks, told=sections(release.facts),
                view=_or_none(release.view), table=table, rows=rows, others=desk.releases(),
                line=command_line(study.read_text(encoding="utf-8")) if study.is_file() else "",
                account=where_charged(desk.ledger, {"": release})[""] if desk.ledger.is_file() else "",
            )  # fmt: skip

    @steps.get("/read/<name>/<what>")
    def download(name: str, what: str) -> Answer:
        kinds: dict[str, Callable[[], bytes]] = {
            "release.json": lambda: _file(desk, name, ".json").read_bytes(),
            "study.toml": lambda: _file(desk, name, ".toml").read_bytes(),
            "picture.png": lambda: _made(desk, name, "plot", "--plot", ".png"),
            "beside.png": lambda: _made(
                desk, name, "plot", "--plot", ".png", request.args.get("other", "")
            ),
            "table.csv": lambda: _table(desk, name),
            "report.html": lambda: _made(desk, name, "report", "--out", ".html"),
        }
        if what not in kinds:
            return _plain(HTTPStatus.NOT_FOUND)
        answer = Response(kinds[what](), mimetype="application/octet-stream")
        answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{what}"'
        if what.endswith(".png"):
            answer.mimetype = "image/png"
        return answer


def _file(desk: Desk, name: str, suffix: str) -> Path:
    """A file that the desk wrote."""
    path = desk.folder / f"{check_name(name)}{suffix}"
    if not path.is_file():
        raise ParameterError("Name", "be that of a release in the desk's folder", repr(name))
    return path


def _made(desk: Desk, name: str, verb: str, flag: str, suffix: str, other: str = "") -> bytes:
    """What a verb makes of a release, or of two, at no cost."""
    files = [str(_file(desk, each, ".json")) for each in (name, other) if each]
    more = ["--ledger", str(desk.ledger)] if verb == "report" and desk.ledger.is_file() else []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{name}{suffix}"
        run = said(lambda: called(declared_verbs()[verb], [*files, flag, str(out), *more]))
        if run.status:
            raise ParameterError("The release", "be one that can be shown so", "another", run.refusal)
        return out.read_bytes()


def _table(desk: Desk, name: str) -> bytes:
    from dpfda.releases.base import load
    from dpfda.views import to_csv

    return to_csv(load(_file(desk, name, ".json")).table()).encode()


def _or_none(made: Callable[[], Any]) -> Any:
    """What can be made of a release, or None: not all have a picture and a table."""
    try:
        return made()
    except DpfdaError:
        return None


def _ledger(steps: Blueprint, desk: Desk) -> None:
    @steps.route("/ledger", methods=["GET", "POST"])
    def ledger() -> Answer:
        from dpfda.privacy.ledger import Ledger

        forms = {name: _ledger_fields(name) for name in ("create", "raise")}
        refused, action = "", request.form.get("action", "")
        if action in forms:
            stated = read_fields(forms[action], request.form)
            asked = [str(desk.ledger), "--json"]
            for name, value in stated.items():
                asked += [f"--{name}", str(value)]
            run = said(lambda: called(declared_verbs()[f"ledger {action}"], asked))
            if not run.status:
                return go("/ledger")
            refused = run.refusal
        kept = Ledger(desk.ledger) if desk.ledger.is_file() else None
        return page("ledger.html", 422 if refused else 200, refused=refused, forms=forms, ledger=kept)


def _ledger_fields(action: str) -> list[Field]:
    """What a verb of the ledger asks; its file is the desk's."""
    options = declared_verbs()[f"ledger {action}"].told()
    return [field_of(option) for option in options if option.flag and option.name != "as_json"]


def _explorer(steps: Blueprint, desk: Desk) -> None:
    from dpfda.front.explorer.pages import explored

    def explore(template: str) -> Answer:
        with alone():
            text, status = explored(request.args, template, g.nonce)
        return text, status

    steps.add_url_rule("/explore/", view_func=lambda: explore("explore.html"), endpoint="explore")
    steps.add_url_rule("/explore/shown", view_func=lambda: explore("shown.html"), endpoint="explored")
