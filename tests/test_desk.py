"""The desk: who is answered, what is never shown, the whole way, and that nothing is charged twice."""

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from io import BytesIO
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import matplotlib as mpl
import numpy as np
import pytest
from typer.testing import CliRunner

from desks import DENSITY, HOST, STEPS, people, said, spent, went, write
from dpfda import Ledger, load
from dpfda.front.app import app
from dpfda.front.desk import session as desk_session
from dpfda.front.desk.asking import UNITS
from dpfda.front.desk.examples import example
from dpfda.front.desk.studies import Publications
from dpfda.privacy.guarantees import PureDP

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws", "few_trials")


@pytest.fixture
def folder(desk_folder):
    return desk_folder


@pytest.fixture
def visitor(folder, visit):
    return visit(folder)


def loads():
    """Loads by tariff as a European table has them, with cells missing."""
    days = 1 + np.sin(np.linspace(0, 6, 12)) + np.linspace(0, 1, 40)[:, None]
    header = "haushalt;tarif;" + ";".join(f"{h},5" for h in range(12))
    rows = [
        f"{i};{'AB'[i % 2]};"
        + ";".join("" if (i + k) % 17 == 0 else f"{v:.2f}" for k, v in enumerate(day))
        for i, day in enumerate(days)
    ]
    return [header, *(row.replace(".", ",") for row in rows)]


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


# Who is answered.


def test_only_by_its_own_name(visitor):
    for host in (
        "attacker.example",
        "attacker.example:8600",
        "127.0.0.1",
        "127.0.0.1:8601",
        "[::1]:8600",
    ):
        for path in (f"/open/{visitor.token}", visitor.guard.place + "/"):
            assert visitor.ask("GET", path, host=host).status_code == 421


def test_no_page_of_another_origin(visitor):
    for origin in ("http://attacker.example", "null", "http://127.0.0.1:8601", f"https://{HOST}"):
        assert visitor.get("/ask", Origin=origin).status_code == 403
        headers = {"Origin": origin}
        sent = {"mark": visitor.guard.mark, "path": "people.csv"}
        answer = visitor.ask("POST", visitor.guard.place + "/", data=sent, headers=headers)
        assert answer.status_code == 403
    for site in ("cross-site", "same-site"):
        assert visitor.get("/ask", **{"Sec-Fetch-Site": site}).status_code == 403
    assert visitor.desk.draft.opened is None


def test_only_with_the_cookie_that_the_link_gives_once(folder, visit):
    visitor = visit(folder, enter=False)
    for step in STEPS:
        assert visitor.get(step).status_code == 401
    assert visitor.ask("GET", "/open/no-such-token").status_code == 403
    assert visitor.ask("HEAD", f"/open/{visitor.token}").status_code == 405
    entered = visitor.ask("GET", f"/open/{visitor.token}")
    assert entered.status_code == 200
    assert f"url={visitor.guard.place}/" in entered.text
    cookie = entered.headers["Set-Cookie"]
    for words in ("HttpOnly", "SameSite=Strict", f"Path={visitor.guard.place}"):
        assert words in cookie
    assert visitor.get("/").status_code == 200
    # Used up, also for who has the cookie.
    assert visitor.ask("GET", f"/open/{visitor.token}").status_code == 403
    stranger = visit(folder)
    assert visitor.ask("GET", f"{stranger.guard.place}/").status_code == 404
    forged = {"domain": "127.0.0.1", "path": visitor.guard.place}
    visitor.client.set_cookie(desk_session.COOKIE, stranger.guard.session, **forged)
    assert visitor.get("/").status_code == 401


def test_a_form_needs_its_mark_and_an_origin(visitor, visit):
    place, origin = visitor.guard.place + "/", {"Origin": f"http://{HOST}"}
    sent = {"path": "people.csv"}
    for wrong in ({}, {"mark": ""}, {"mark": "x" * 32}, {"mark": visit(visitor.desk.folder).guard.mark}):
        assert visitor.ask("POST", place, data=sent | wrong, headers=origin).status_code == 403
    assert visitor.ask("POST", place, data=sent | {"mark": visitor.guard.mark}).status_code == 403
    assert visitor.desk.draft.opened is None
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert visitor.ask(method, place, headers=origin).status_code == 405
    assert visitor.ask("POST", f"/open/{visitor.token}", headers=origin).status_code == 405


def test_what_is_too_large_is_not_read(visitor, monkeypatch):
    place, origin = visitor.guard.place + "/", {"Origin": f"http://{HOST}"}
    assert f"at most {desk_session.LARGEST_FILE >> 20} MiB" in said(visitor.get("/"))
    long = visitor.post("/publish", number="x" * desk_session.LARGEST_FORM)
    assert long.status_code == 413
    monkeypatch.setattr(desk_session, "LARGEST_FILE", 1000)
    upload = {"mark": visitor.guard.mark, "upload": (BytesIO(b"x" * 2000), "people.csv")}
    answer = visitor.ask("POST", place, data=upload, headers=origin)
    assert answer.status_code == 413
    chunks = origin | {"Transfer-Encoding": "chunked"}
    assert visitor.ask("POST", place, headers=chunks, input_stream=BytesIO(b"x")).status_code == 411
    assert visitor.desk.draft.opened is None


def test_nothing_is_fetched_from_elsewhere_framed_or_kept(visitor):
    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)
    for step in STEPS:
        answer = visitor.get(step)
        assert answer.status_code == 200
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["Cache-Control"] == "no-store"
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]
        (nonce,) = re.findall(r"'nonce-([\w-]+)'", policy)
        assert re.findall(r"<script[^>]*>", answer.text) == [f'<script type="module" nonce="{nonce}">']
        assert nonce not in visitor.get(step).text
        # Addresses are the desk's own; those of SVG are names of its parts.
        fetched = re.findall(r'(?:src|action|href)="([^"]*)"', answer.text)
        own = (visitor.guard.place, "#", "data:,", "../")
        assert [each for each in fetched if not each.startswith(own)] == []


# What is never shown.


def pages(visit, folder, rows):
    """All pages before a publication, without what is drawn anew for each desk."""
    folder.mkdir()
    write(folder / "people.csv", rows)
    visitor = visit(folder)
    visitor.post("/", path="people.csv", public="yes")
    visitor.post("/protect", groups="person", ledger="budget.ledger", dataset="people", budget="1")
    shown = [visitor.post("/ask/quantiles?live=1", DENSITY), visitor.post("/ask/quantiles", DENSITY)]
    # The noise of the explorer, and of a plan's example, is fresh each time.
    shown += [visitor.get(step) for step in STEPS if step != "/explore/"]
    number = re.search(r'name="number" value="([\w-]+)"', shown[STEPS.index("/try") + 2].text)[1]
    own = (visitor.guard.place, visitor.guard.mark, number, str(folder), '<script type="module" nonce="')
    texts = [answer.text for answer in shown]
    made_up = r'<figure role="img" aria-label="Made up.*?</figure>'
    assert len(re.findall(made_up, texts[STEPS.index("/plan") + 2], flags=re.S)) == 1
    texts = [re.sub(made_up, "", text, flags=re.S) for text in texts]
    for word in own:
        texts = [text.replace(word, "") for text in texts]
    # The ledger says at which minute its budget was set.
    return [re.sub(r'^[\w-]+">|\d{4}-\d\d-\d\d \d\d:\d\d', "", text, flags=re.M) for text in texts]


def test_pages_before_a_publication_do_not_depend_on_the_records(tmp_path, visit):
    first = pages(visit, tmp_path / "one", people(60))
    assert first == pages(visit, tmp_path / "two", people(90, shift=5))
    damaged = ["person,age,years,died,arm", "a,b,c", ",,,,,,", "1,2"]
    assert first == pages(visit, tmp_path / "three", damaged)


def test_names_of_columns_are_shown_where_they_are_said_to_be_public(visitor, folder):
    opened = visitor.get(went(visitor.post("/", path="people.csv")))
    assert "arm" not in said(opened) + opened.text.partition('id="header"')[2][:200]
    opened = visitor.get(went(visitor.post("/", path="people.csv", public="yes")))
    assert "<option>arm</option>" in opened.text
    # Where the header is missing, its numbers are somebody's values.
    write(folder / "bare.csv", ["36.6,37.1,2024-03-01,ann", "36.1,36.2,2024-03-02,bob"])
    opened = visitor.get(went(visitor.post("/", path="bare.csv", public="yes")))
    assert not re.search(r"36\.6|37\.1|2024-03-01", opened.text)
    assert "<option>ann</option>" in opened.text


def test_an_upload_is_private_and_goes(visitor, folder):
    def opened(name):
        content = (folder / "people.csv").read_bytes()
        sent = {"mark": visitor.guard.mark, "upload": (BytesIO(content), name), "public": "yes"}
        place, origin = visitor.guard.place + "/", {"Origin": f"http://{HOST}"}
        answer = visitor.ask("POST", place, data=sent, headers=origin)
        assert went(answer) == "/protect"
        return visitor.desk.draft.file.path

    first = opened("../../sly/people.csv")
    assert folder not in first.parents
    assert stat.S_IMODE(first.parents[1].stat().st_mode) == 0o700
    second = opened("more.csv")
    assert not first.exists()
    assert second.exists()
    assert visitor.desk.draft.opened.called == "more.csv"
    visitor.post("/", path="people.csv")
    assert not second.exists()
    third = opened("people.csv")
    visitor.desk.uploads.close()
    assert not third.parents[1].exists()


# The whole way.


def test_a_mean_from_an_upload_to_a_report(visitor, folder):
    days = np.sin(np.linspace(0, 3, 8)) + np.linspace(-0.3, 0.3, 40)[:, None]
    rows = [",".join(f"{k / 7:.3f}" for k in range(8)), *(",".join(map(str, day)) for day in days)]
    sent = {"mark": visitor.guard.mark, "upload": (BytesIO("\n".join(rows).encode()), "days.csv")}
    origin = {"Origin": f"http://{HOST}"}
    assert went(visitor.ask("POST", visitor.guard.place + "/", data=sent, headers=origin)) == "/protect"
    visitor.post("/protect", unit="day", ledger="budget.ledger", dataset="days", budget="1.5")
    form = {"bounds": ["-2", "2"], "epsilon": "0.1", "name": "days", "y-label": "load (kW)"}
    assert went(visitor.post("/ask/mean", form)) == "/plan"
    assert went(visitor.post("/plan", {"epsilon": "0.7", UNITS: "40", "points": "8"})) == "/try"
    tried = visitor.get("/try")
    assert "0.7-differential privacy (pure) to 'days'" in said(tried)
    assert "epsilon 1.5 before, epsilon 0.8 after" in said(tried)
    assert spent(folder, "days") == 0
    read = visitor.get(went(visitor.publish(visitor.number())))
    assert "Mean curve of 40 days" in said(read)
    assert "load (kW)" in said(read)
    assert str(spent(folder, "days")) == "7/10"
    release = load(folder / "days.json")
    assert str(release.guarantee) == "0.7-differential privacy (pure)"
    got = {x: visitor.get(f"/read/days/{x}") for x in ("release.json", "picture.png", "table.csv")}
    assert got["release.json"].data == (folder / "days.json").read_bytes()
    assert got["picture.png"].data.startswith(b"\x89PNG")
    assert len(got["table.csv"].text.splitlines()) > 8
    report = visitor.get("/read/days/report.html")
    assert "Data protection officer" in report.text
    assert "budget.ledger, row 2" in report.text
    assert "attachment" in report.headers["Content-Disposition"]
    # The study that comes with it does the same on another account.
    study = visitor.get("/read/days/study.toml").text
    other = folder / "other"
    other.mkdir()
    (other / "days.csv").write_text("\n".join(rows) + "\n")
    (other / "study.toml").write_text(study)
    Ledger(other / "budget.ledger").create("days", PureDP(2), unit="day")
    assert run("run", other / "study.toml").exit_code == 0
    assert load(other / "days.json").view().title == release.view().title
    # As is the command line.
    line = re.search(r'aria-label="Command"><code>(.*?)</code>', read.text)[1]
    os.chdir(other)
    again = shlex.split(line.replace("&#39;", "'"))[1:]
    assert run(*again, "--overwrite", "--dry-run").exit_code == 0


def test_survival_by_arm(visitor, folder):
    visitor.begin("people.csv", groups="person")
    form = {"time": "years", "event": "died", "by.0": "arm", "by.1": "a,b", "domain": ["0", "10"],
            "epsilon": "0.5", "name": "arms"}  # fmt: skip
    assert went(visitor.post("/ask/survival", form)) == "/plan"
    shown = visitor.get("/plan?live=1&" + urlencode({"epsilon": "0.5", UNITS: "60"}))
    assert "Expected error: about" in said(shown)
    assert "in each of 2 groups" in said(shown)
    read = visitor.get(went(visitor.publish(visitor.number())))
    assert "Survival curve of 60 persons" in said(read)
    assert spent(folder) == 0.5
    assert load(folder / "arms.json").unit == "person"


def test_loads_by_tariff_from_a_european_table_with_missing_cells(visitor, folder):
    write(folder / "loads.csv", loads())
    visitor.begin("loads.csv", dataset="loads", groups="haushalt", decimal=",")
    assert "<option>tarif</option>" in visitor.get("/ask/compare").text
    form = {"by.0": "tarif", "columns": "*.5", "bounds": ["0", "5"], "epsilon": "1", "name": "loads"}
    refused = visitor.post("/ask/compare", form | {"missing": "unknown"})
    assert "--missing must be one of" in said(refused)
    assert went(visitor.post("/ask/compare", form | {"missing": "complete"})) == "/plan"
    read = visitor.get(went(visitor.publish(visitor.number())))
    assert "Mean curves by group of 40 haushalts" in said(read)
    assert load(folder / "loads.json").domain_range == (0.5, 11.5)
    # A second release, and both beside each other.
    visitor.post("/ask/mean", {"bounds": ["0", "5"], "columns": "*.5", "missing": "complete",
                               "epsilon": "0.5", "name": "all"})  # fmt: skip
    assert visitor.publish(visitor.number()).status_code == 303
    assert "all beside loads" in said(visitor.get("/read/all"))
    beside = visitor.get("/read/all?beside=loads")
    assert "cannot be drawn" not in said(beside)
    both = re.search(r'<figure role="img" aria-label="([^"]*)"', beside.text)
    assert both[1].startswith("all: mean curve of 40 haushalts; loads: mean curves by group of 40 haus")
    assert visitor.get("/read/all?beside=none").status_code == 422
    assert spent(folder, "loads") == 1.5
    # What was charged this year is beside what is left.
    shown = said(visitor.get(f"/plan?live=1&{UNITS}=500&epsilon=0.1"))
    assert re.search(r"Left of the budget epsilon 0\.5 Releases this year 20\d\d-\d\d: 2 ", shown)


# Wrong inputs at each step.


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "The file must be chosen, or named by its path; found neither"),
        ({"path": "none.csv"}, "must name an existing file"),
        ({"path": "."}, "must end in .csv"),
        ({"path": "budget.ledger"}, "must end in .csv"),
        ({"path": "empty.csv"}, "must hold a header line"),
        ({"path": "people.csv", "decimal": "x"}, "--decimal must be one of"),
        ({"path": "twice.csv"}, "Column labels must differ"),
        ({"path": "-"}, "must end in .csv"),
    ],
)
def test_a_file_that_cannot_be_one(visitor, folder, sent, words):
    (folder / "empty.csv").write_text("")
    (folder / "twice.csv").write_text("a,a\n1,2\n")
    answer = visitor.post("/", sent)
    assert answer.status_code == 422
    assert words in said(answer)
    assert went(visitor.get("/ask")) == "/"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "--ledger and --dataset must be given"),
        ({"dataset": "new"}, "State the budget of a new data set below"),
        ({"dataset": "new", "budget": "much"}, "epsilon must be"),
        ({"dataset": "new", "budget": "0"}, "epsilon must be"),
        ({"dataset": "new", "budget": "1", "ledger": "people.csv"}, "people.csv"),
        ({"dataset": "new", "budget": "1", "neighbours": "both"}, "neighbours must be"),
        ({"dataset": "new", "budget": "1", "groups": "persno"}, "--groups does not fit the file"),
    ],
)
def test_an_account_that_cannot_be_one(visitor, folder, sent, words):
    visitor.post("/", path="people.csv")
    before = (folder / "people.csv").read_bytes()
    answer = visitor.post("/protect", {"ledger": "budget.ledger", **sent})
    assert answer.status_code == 422
    assert words in said(answer)
    assert went(visitor.get("/ask/mean")) == "/ask"
    assert (folder / "people.csv").read_bytes() == before


def test_no_account_names_a_unit_that_is_no_column(visitor, folder):
    visitor.post("/", path="people.csv", public="yes")
    asked = {"ledger": "new.ledger", "dataset": "new", "budget": "1"}
    assert "Did you mean 'person'?" in said(visitor.post("/protect", groups="persno", **asked))
    assert not (folder / "new.ledger").exists()
    assert went(visitor.post("/protect", groups="person", **asked)) == "/ask"


@pytest.mark.parametrize(
    ("change", "words", "field"),
    [
        ({"epsilon": "0"}, "--epsilon must be", "epsilon"),
        ({"epsilon": "<b>"}, "--epsilon must be", "epsilon"),
        ({"column.2": "x"}, "--column must be NAME:LO:HI", "column.0"),
        ({"column.0": "agge"}, "--column must be the label of a column", "column.0"),
        ({"step": "much"}, "--step must be a number", "step"),
        ({"name": "../sly"}, "Name must be letters, digits", None),
        ({"name": ""}, "Name must be letters, digits", None),
        ({"name": "people"}, "must be a new file", None),
        ({"epsilon": "9"}, "must cost at most what is left", None),
        ({"x-label": "a\u202eb"}, "U+202E RIGHT-TO-LEFT OVERRIDE", None),
    ],
)
def test_answers_that_cannot_be_used_are_said_at_their_field(visitor, folder, change, words, field):
    visitor.begin("people.csv")
    (folder / "people.json").write_text("{}")
    for step in ("/ask/density?live=1", "/ask/density"):
        answer = visitor.post(step, DENSITY | change)
        assert words in said(answer)
        assert "<b>" not in answer.text
    assert answer.status_code == 422
    marked = re.findall(r'name="([\w.-]+)"[^>]*aria-invalid="true"', answer.text)
    assert (field in marked) if field else marked == []
    assert went(visitor.get("/plan")) == "/ask"
    assert spent(folder) == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({UNITS: "1"}, f"--{UNITS} must be"),
        ({UNITS: "many"}, f"--{UNITS} must be a whole number"),
        ({"epsilon": "-1"}, "--epsilon must be"),
        ({"error": "x"}, "--error must be a number"),
        ({"error": "1%", "band": "1%"}, "must be given, or --band, and not both"),
    ],
)
def test_a_plan_that_cannot_be_one(visitor, asked, words):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    shown = visitor.get("/plan?live=1&" + urlencode({UNITS: "500", "epsilon": "1"} | asked))
    assert words in said(shown)


def test_a_plan_says_the_error_and_what_one_that_is_wanted_needs(visitor):
    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)

    def error(epsilon):
        shown = said(visitor.get(f"/plan?live=1&{UNITS}=500&epsilon={epsilon}"))
        return float(re.search(r"Expected error: about ([\d.]+\d)", shown)[1])

    assert error(0.1) > error(2)
    wanted = said(visitor.get(f"/plan?live=1&{UNITS}=500&epsilon=1&error=20%25"))
    assert re.search(r"Least epsilon for it [\d.]+ Least number for it \d+ ", wanted)
    assert "Left of the budget epsilon 2 Releases this year none yet" in wanted
    # Pictures of many plans take longer: they are drawn when they are asked for.
    asked = f"/plan?live=1&{UNITS}=500&epsilon=1"
    assert visitor.get(asked).text.count("<figure") == 1
    drawn = visitor.get(asked + "&words=1").text
    assert re.findall(r'<figure role="img" aria-label="(\w+ \w+)', drawn) == [
        "Made up", "Expected error", "Telling two"
    ]  # fmt: skip


def test_a_plan_shows_an_example_of_made_up_records_that_costs_nothing(visitor, folder, monkeypatch):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    # It is not made of the file, which is not even there.
    (folder / "people.csv").unlink()
    # It costs nothing, also where all releases of this machine are charged somewhere.
    monkeypatch.setenv("DPFDA_LEDGER", str(folder / "budget.ledger"))
    monkeypatch.setenv("DPFDA_DATASET", "people")
    drafted = example(visitor.desk.draft, folder, {UNITS: "20000"})
    (line,) = drafted.lines
    assert drafted.title.startswith("Made up: Density of 20000 records")
    # Of what is made up .74 lie in the middle half, and .13 above it; of the file's people .07 do.
    age = np.linspace(0, 100, 1001)
    density = np.interp(age, line.points, line.values)
    assert np.sum(density[age > 75]) / np.sum(density) == pytest.approx(0.13, abs=0.015)
    assert spent(folder) == 0

    def half(epsilon):
        (line,) = example(visitor.desk.draft, folder, {UNITS: "500", "epsilon": epsilon}).lines
        return np.mean(line.upper - line.lower)

    assert half("0.05") > 2 * half("5")
    shown = visitor.get(f"/plan?live=1&{UNITS}=500&epsilon=1").text
    assert "Made up: Density of 500 records" in shown
    assert "No example is drawn" in said(visitor.get(f"/plan?live=1&{UNITS}=2000000&epsilon=1"))
    assert spent(folder) == 0
    assert {each.name for each in folder.iterdir()} == {"budget.ledger"}


# Once.


def test_a_number_publishes_once(visitor, folder):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    number = visitor.number()
    answers = []
    tabs = [threading.Thread(target=lambda: answers.append(visitor.post("/publish", number=number)))
            for _ in range(6)]  # fmt: skip
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    visitor.desk.publications.join()
    assert {went(answer) for answer in answers} == {f"/published/{number}"}
    assert visitor.desk.publications.begun(number).progress == 100
    assert went(visitor.publish(number)).startswith("/read/age?")
    assert spent(folder) == 0.5
    assert len(Ledger(folder / "budget.ledger").releases("people")) == 1
    unknown = visitor.post("/publish", number="x" * 16)
    assert unknown.status_code == 410
    assert "Nothing was charged by it" in said(unknown)


def test_two_tabs_with_numbers_of_their_own_make_one_release(visitor, folder):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    first, second = visitor.number(), visitor.number()
    for number in (first, second):
        visitor.post("/publish", number=number)
    visitor.desk.publications.join()
    assert went(visitor.get(f"/published/{first}")).startswith("/read/age?")
    refused = said(visitor.get(f"/published/{second}"))
    assert "age.toml exists: this release was begun before" in refused
    assert "Nothing was charged" in refused
    assert spent(folder) == 0.5
    assert (folder / "age.toml").exists()


def test_what_was_shown_is_published_whatever_another_tab_says_since(visitor, folder):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    number = visitor.number()
    visitor.post("/ask/density", DENSITY | {"epsilon": "1.5", "name": "other"})
    assert went(visitor.publish(number)).startswith("/read/age?")
    assert spent(folder) == 0.5
    # A copy that came through the browser and was replaced since is not there any more.
    origin = {"Origin": f"http://{HOST}"}
    sent = {
        "mark": visitor.guard.mark,
        "upload": (BytesIO((folder / "people.csv").read_bytes()), "p.csv"),
    }
    visitor.ask("POST", visitor.guard.place + "/", data=sent, headers=origin)
    visitor.post("/ask/density", DENSITY | {"name": "gone"})
    number = visitor.number()
    visitor.post("/", path="people.csv")
    refused = visitor.publish(number)
    assert "must name an existing file" in said(refused)
    assert spent(folder) == 0.5
    assert not (folder / "gone.toml").exists()


def test_a_refusal_by_the_data_charges_nothing_and_may_be_mended(visitor, folder):
    write(folder / "people.csv", [*people(60), "61,old,3.5,1,a"])
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    refused = said(visitor.publish(visitor.number()))
    assert "Line 62, column 'age' must hold a number" in refused
    assert not re.search(r"\bold\b", refused)
    assert "Nothing was charged" in refused
    write(folder / "people.csv", people(60))
    assert went(visitor.publish(visitor.number())).startswith("/read/age?")
    assert spent(folder) == 0.5


def test_no_other_file_is_opened_while_one_is_read(visitor, monkeypatch):
    monkeypatch.setattr(Publications, "running", lambda self: True)
    answer = visitor.post("/", path="people.csv")
    assert answer.status_code == 503
    assert "Another page's work is under way" in said(answer)
    assert visitor.desk.draft.opened is None


def test_an_unforeseen_failure_says_nothing_of_the_data(visitor, folder, monkeypatch):
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    number = visitor.number()

    def broken(*arguments, **more):
        raise RuntimeError("ann is 36")

    monkeypatch.setattr("dpfda.command.publishing.write_release", broken)
    failed = said(visitor.publish(number))
    assert "unexpected RuntimeError" in failed
    assert "ann" not in failed
    assert "The ledger has a new charge" in failed
    assert "none noted: charged, perhaps not written" in said(visitor.get("/ledger"))
    monkeypatch.undo()
    monkeypatch.setattr(Publications, "begun", broken)
    answer = visitor.get("/published/x")
    assert answer.status_code == 500
    assert "ann" not in answer.text


KILLED = """
import os, sys
import dpfda.command.publishing as publishing
publishing.write_release = lambda *arguments: os._exit(9)
from dpfda.front import main
sys.argv = ["dpfda", "desk", "--no-browser"]
main()
"""


def test_a_desk_that_is_told_to_end_removes_what_it_keeps(folder, monkeypatch):
    kept = folder / "kept"
    kept.mkdir()
    typed = [sys.executable, "-m", "dpfda", "desk", "--folder", str(folder), "--no-browser"]
    process = subprocess.Popen(  # noqa: S603
        typed, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(kept)}
    )
    assert process.stdout.readline().startswith("Desk: http://127.0.0.1:")
    assert len([*kept.glob("dpfda-desk-*")]) == 1
    process.send_signal(signal.SIGTERM)
    rest, _ = process.communicate(timeout=30)
    assert rest.endswith("stopped\n")
    assert process.returncode == 0
    assert [*kept.iterdir()] == []


def test_what_is_missing_or_taken_is_said(folder, monkeypatch):
    nowhere = run("desk", "--folder", "nowhere", "--no-browser")
    assert nowhere.exit_code == 1
    assert "No such file or directory (nowhere)" in nowhere.output
    refused = run("desk", "--port", "70000", "--no-browser")
    assert refused.exit_code == 2
    assert "--port must lie between 0 and 65535; found 70000" in " ".join(refused.output.split())
    monkeypatch.setattr("dpfda.front.verbs.desk.find_spec", lambda package: None)
    missing = " ".join(run("desk", "--no-browser").output.split())
    assert "pip install 'dpfda[desk]'" in missing


def test_a_desk_that_is_killed_after_the_charge_charges_nothing_unseen(folder, visit):
    typed = [sys.executable, "-c", KILLED]
    process = subprocess.Popen(typed, stdout=subprocess.PIPE, text=True)  # noqa: S603
    link = re.match(r"Desk: (http://127\.0\.0\.1:\d+)(/open/\S+)\n", process.stdout.readline())
    browser = build_opener(HTTPCookieProcessor())
    entrance = browser.open(link[1] + link[2]).read().decode()
    place = link[1] + re.search(r"url=(/[\w-]+)/", entrance)[1]

    def post(step, **sent):
        mark = re.search(r'name="mark" value="([\w-]+)"', browser.open(place + "/").read().decode())[1]
        data = urlencode({"mark": mark, **sent}).encode()
        return browser.open(Request(place + step, data, {"Origin": link[1]}))  # noqa: S310

    post("/", path="people.csv")
    post("/protect", ledger="budget.ledger", dataset="people", budget="1")
    post("/ask/density", **DENSITY)
    tried = browser.open(place + "/try").read().decode()
    number = re.search(r'name="number" value="([\w-]+)"', tried)[1]
    with suppress(OSError):
        # However a connection breaks off.
        post("/publish", number=number)
    assert process.wait(timeout=30) == 9
    process.stdout.close()
    assert spent(folder) == 0.5
    # The next desk tells of it, and does not make the same again.
    visitor = visit(folder)
    visitor.begin("people.csv")
    assert "none noted: charged, perhaps not written" in said(visitor.get("/ledger"))
    visitor.post("/ask/density", DENSITY)
    assert "age.toml exists: this release was begun before" in said(visitor.publish(visitor.number()))
    assert spent(folder) == 0.5


# The ledger, and reading.


def test_the_ledger_as_a_page(visitor, folder):
    assert "There is no ledger yet" in said(visitor.get("/ledger"))
    created = {"action": "create", "dataset": "trial", "epsilon": "1", "unit": "patient"}
    assert went(visitor.post("/ledger", created)) == "/ledger"
    raised = {"action": "raise", "dataset": "trial", "epsilon": "3"}
    unnamed = visitor.post("/ledger", raised | {"reason": "a second wave"})
    assert "--who must be given" in said(unnamed)
    raised["who"] = "Dr. Okafor"
    assert "--reason must be given" in said(visitor.post("/ledger", raised))
    assert len(Ledger(folder / "budget.ledger").history("trial")) == 1
    assert went(visitor.post("/ledger", raised | {"reason": "a second wave"})) == "/ledger"
    shown = said(visitor.get("/ledger"))
    assert "3-differential privacy (pure), replace-one neighbours, per patient" in shown
    assert "(UTC): raised to epsilon 3 by Dr. Okafor: a second wave" in shown
    lowered = visitor.post("/ledger", raised | {"epsilon": "1", "reason": "less"})
    assert lowered.status_code == 422
    assert "must" in said(lowered)
    assert visitor.post("/ledger", action="recover").status_code == 200


def test_nothing_but_releases_is_read_from_the_folder(visitor, folder):
    (folder / "sly.json").write_text("{}")
    for name in ("people", "..%2Fpeople", ".people", "none"):
        assert visitor.get(f"/read/{name}/release.json").status_code in (404, 422)
    assert visitor.get("/read/sly").status_code == 422
    visitor.begin("people.csv")
    visitor.post("/ask/density", DENSITY)
    visitor.publish(visitor.number())
    assert visitor.get("/read/age/people.csv").status_code == 404
    assert said(visitor.get("/read")).endswith("age")
    assert json.loads(visitor.get("/read/age/release.json").data)
