"""The desk: what refusals tell, what is said of a charge, and where it writes."""

import html
import re
import shlex
import signal
import stat
import sys
import time
from io import BytesIO
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from desks import DENSITY, HOST, SLOW, people, said, spent, start, went, write
from dpfda import Ledger
from dpfda.front.app import app
from dpfda.front.desk.opening import open_file
from dpfda.front.desk.studies import Publication, Said
from dpfda.front.verbs.run import Planned

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals here")
ACCOUNT = {"groups": "", "ledger": "budget.ledger", "dataset": "people", "budget": "2"}
MEAN = {"bounds": ["0", "1"], "epsilon": "1", "name": "m"}


@pytest.fixture
def folder(desk_folder):
    return desk_folder


@pytest.fixture
def visitor(folder, visit):
    return visit(folder)


# Names of columns.


FORMS = [
    *(("quantiles", {**DENSITY, "column.0": x}) for x in ("zzz", "ANNA", "femal", "HIV", "41.25")),
    ("mean", MEAN),
    ("mean", {**MEAN, "columns": "q*"}),
    ("mean", {**MEAN, "columns": "*"}),
    ("mean", {**MEAN, "columns": "anna:HIV positive"}),
    ("mean", {**MEAN, "columns": "[a-z]*", "grid": "0,1"}),
    ("compare", {**MEAN, "columns": "*", "by.0": "grup"}),
]
# Of a header that is said to be public less is kept back: one form of each verb in every run.
ASKED = [(verb, form, {}) for verb, form in FORMS] + [
    pytest.param(
        *each, {"public": "yes"}, marks=() if each in (FORMS[0], *FORMS[5::5]) else pytest.mark.thorough
    )
    for each in FORMS
]


@pytest.mark.parametrize(("verb", "form", "public"), ASKED)
def test_a_refusal_tells_no_name_that_was_not_typed(visitor, folder, public, verb, form):
    record = ("anna", "female", "HIV positive", "2024-03-01", "41.25 kg", "$12", "+49 170", "'t Hooft")
    for row in (record, ("anna", "female", "41.25")):
        write(folder / "bare.csv", [",".join(row)] * 3)
        visitor.post("/", path="bare.csv", **public)
        visitor.post("/protect", ACCOUNT)
        typed = " ".join(str(value) for value in form.values())
        for live in ("?live=1", ""):
            answer = visitor.post(f"/ask/{verb}{live}", form)
            words = said(answer).replace("&#34;", '"')
            if not live:
                # The form shows what was typed, and says what is offered in no case.
                words = words.partition("Not possible:")[2].partition("Publish ")[0]
            told = [name for name in row if name in words and name not in typed]
            # Said to be public, words may be told; never what looks like a value.
            assert [name for name in told if not public or not name[0].isalpha()] == []


def test_a_dry_run_tells_no_name_that_a_pattern_selects(visitor, folder):
    write(folder / "bare.csv", ["36.25,37.5,38.75"] + ["36,37,38"] * 30)
    visitor.post("/", path="bare.csv")
    visitor.post("/protect", ACCOUNT)
    assert went(visitor.post("/ask/mean", {**MEAN, "bounds": ["0", "50"], "columns": "*"})) == "/plan"
    tried = said(visitor.get("/try"))
    assert "their names are not shown" in tried
    assert not re.search(r"36\.25|37\.5|38\.75", tried)


def test_a_refusal_by_a_record_tells_no_name_that_a_pattern_selects(visitor, folder):
    write(folder / "bare.csv", ["anna1,anna2,anna3"] + ["1,2,3"] * 30 + ["1,x,3"])
    visitor.post("/", path="bare.csv")
    visitor.post("/protect", ACCOUNT)
    assert went(visitor.post("/ask/mean", {**MEAN, "bounds": ["0", "5"], "columns": "*"})) == "/plan"
    refused = said(visitor.publish(visitor.number()))
    assert "The reason is not shown" in refused
    assert "Nothing was charged" in refused
    assert "anna" not in refused


def test_a_refusal_that_names_no_column_is_told_as_it_is(visitor, folder):
    write(folder / "people.csv", ["0,1,2,note"] + ["1,2,3,4"] * 30)
    visitor.post("/", path="people.csv")
    visitor.post("/protect", ACCOUNT)
    for change, words in (
        ({"epsilon": "0"}, "--epsilon must be"),
        ({"bounds": ["1", "0"]}, "--bounds must have lower"),
        ({"missing": "unknown"}, "--missing must be one of"),
    ):
        assert words in said(visitor.post("/ask/mean?live=1", MEAN | change))


@pytest.mark.parametrize(
    "name",
    ["01.03.2024", "3/14/1962", "2024-03-01T10:00:00Z", "12:30", "36.6 kg", "5%", "$12", "€5", "+49 170",
     "-3", "<5", "0x1F", "1_000", ".5", "(3)"],
)  # fmt: skip
def test_names_that_look_like_values_are_not_offered(folder, name):
    write(folder / "bare.csv", [f"age,{name},_x,größe", "1,2,3,4"])
    opened = open_file(folder / "bare.csv", "bare.csv", ".", public=True)
    assert opened.header == ("age", "_x", "größe")
    assert opened.withheld == (name,)
    assert name not in repr(opened).replace(str(folder), "")
    assert open_file(folder / "bare.csv", "bare.csv", ".", public=False).header == ()


def test_a_long_header_is_screened_at_once(folder):
    names = [f"anna {k} of a long name that a message cuts off" for k in range(20_000)]
    write(folder / "wide.csv", [",".join(names), ",".join(["1"] * 20_000)])
    opened = open_file(folder / "wide.csv", "wide.csv", ".", public=False)
    began = time.process_time()
    for words, typed, told in (
        ("found anna 19999 of a long name that a... (str)", "", True),
        ("found anna 19999 of a long name that a... (str)", names[-1], False),
        ("found another", "", False),
    ):
        assert opened.tells(words, typed) == told
    assert time.process_time() - began < 2


# What is said of a charge.


@pytest.mark.parametrize(
    ("status", "words"), [(0, None), (1, "Whether it was charged could not be found out")]
)
def test_a_ledger_that_went_is_no_proof_that_nothing_was_charged(
    visitor, folder, monkeypatch, status, words
):
    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)
    number, call = visitor.number(), Planned.call

    def called(self, *more):
        made = call(self, *more)
        (folder / "budget.ledger").rename(folder / "moved.ledger")
        return made or status

    monkeypatch.setattr(Planned, "call", called)
    answer = visitor.publish(number)
    assert Ledger(folder / "moved.ledger").spent("people")["epsilon"] == 0.5
    assert (folder / "age.toml").exists()
    if words is None:
        assert went(answer).startswith("/read/age?")
    else:
        assert words in said(answer)
        assert "Nothing was charged" not in said(answer)


def test_whatever_ends_the_work_is_told(visitor, folder, monkeypatch):
    class Panic(BaseException):
        """As some readers end."""

    def called(self, *more):
        raise Panic("ann is 36")

    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)
    number = visitor.number()
    monkeypatch.setattr(Planned, "call", called)
    failed = said(visitor.publish(number))
    assert "unexpected Panic" in failed
    assert "ann" not in failed
    assert "Nothing was charged" in failed
    assert not visitor.desk.publications.running()


def test_a_page_of_what_ends_meanwhile_is_of_one_moment(visitor, monkeypatch):
    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)
    number = visitor.number()
    visitor.publish(number)
    states = [None, *[Said(0)] * 9]
    state = property(lambda self: states.pop(0), lambda *ignored: None)
    monkeypatch.setattr(Publication, "outcome", state, raising=False)
    shown = visitor.get(f"/published/{number}")
    assert "is being made" in said(shown)
    assert 'http-equiv="refresh"' in shown.text


def test_progress_tells_no_number_of_records(visitor, folder, monkeypatch):
    many, seen = 123_457, []
    table = pa.table({"age": [str(i % 90) for i in range(many - 1)] + ["x"]})
    pq.write_table(table, folder / "people.parquet")
    visitor.begin("people.parquet")
    visitor.post("/ask/quantiles", DENSITY)
    watch = Publication.watch

    def watched(self, done, total):
        watch(self, done, total)
        seen.append(visitor.get(f"/published/{number}").text)

    monkeypatch.setattr(Publication, "watch", watched)
    number = visitor.number()
    visitor.publish(number)
    shown = [match for text in seen for match in re.findall(r"<progress[^>]*>", text)]
    assert shown
    assert all(re.fullmatch(r'<progress max="100" value="\d{1,3}">', each) for each in shown)


@pytest.mark.parametrize("dataset", ["2024", "1.5", "true", "2024-03-01"])
def test_a_data_set_may_be_called_as_a_number_is(visitor, folder, dataset):
    visitor.begin("people.csv", dataset=dataset)
    assert went(visitor.post("/ask/quantiles", DENSITY)) == "/plan"
    assert went(visitor.publish(visitor.number())).startswith("/read/age?")
    assert spent(folder, dataset) == 0.5


def test_a_file_that_changed_since_it_was_shown_is_refused(visitor, folder):
    visitor.begin("people.csv")
    visitor.post("/ask/quantiles", DENSITY)
    number = visitor.number()
    write(folder / "people.csv", people(61))
    refused = said(visitor.publish(number))
    assert "must be the one that was shown; found a changed one" in refused
    assert "Nothing was charged" in refused
    assert spent(folder) == 0
    assert went(visitor.publish(visitor.number())).startswith("/read/age?")


def test_a_later_month_costs_nothing_and_is_kept(visitor, folder):
    def asked(month):
        rows = [f"{i},{i % 3},{(i + month) % 4},2" for i in range(60)]
        write(folder / f"m{month}.csv", ["id,t0,t1,t2", *rows])
        visitor.begin(f"m{month}.csv", groups="id", budget="0.5")
        form = {"bounds": ["0", "5"], "columns": "t*", "state": "load.state", "month": str(month),
                "steps": "12", "most-months": "12", "epsilon": "0.5", "name": f"m-{month}"}  # fmt: skip
        assert went(visitor.post("/ask/month", form)) == "/plan"
        return said(visitor.get("/try"))

    assert "Publish, and charge 0.5-differential privacy" in asked(1)
    assert went(visitor.publish(visitor.number())).startswith("/read/m-1?")
    assert spent(folder) == 0.5
    # Nothing is left, and nothing is needed.
    tried = asked(2)
    assert "The button charges nothing: month 2 was paid for with the first one" in tried
    assert "Publish, and charge" not in tried
    read = visitor.publish(visitor.number())
    assert went(read).startswith("/read/m-2?")
    assert "nothing was charged for it" in said(visitor.get(went(read)))
    assert (folder / "m-2.toml").exists()
    assert said(visitor.get("/read")).endswith("m-1 m-2")
    assert spent(folder) == 0.5
    # As for who types it, in a study of all months and again of the first one.
    (folder / "again.toml").write_text((folder / "m-1.toml").read_text().replace("m-1", "m-3"))
    ran = CliRunner().invoke(app, ["run", "again.toml", "--dry-run"])
    assert "nothing: month 1 was paid for before" in ran.output


# Where it writes, and what it reads.


def test_a_name_that_is_sent_twice_is_refused(visitor, folder):
    desk = folder / "desk"
    (desk / "age").mkdir(parents=True)
    write(desk / "loads.csv", ["g,t0,t1,t2", *(f"{x},1,2,3" for x in "ab" * 30)])
    visitor.desk.folder = desk
    visitor.begin("loads.csv")
    form = {"epsilon": "1", "bounds": ["0", "5"], "columns": "t*", "by.0": "g", "difference-plot": "yes"}
    for names in (["age", "/../../evil"], ["/../../evil", "age"]):
        for step in ("/ask/compare?live=1", "/ask/compare"):
            answer = visitor.post(step, form, name=names)
            assert answer.status_code == 422
            assert "name must be sent once; found 2" in said(answer)
    twice = visitor.post("/ask/compare?live=1", form | {"epsilon": ["1", "2"]}, name="age")
    assert "--epsilon must be sent once; found 2" in said(twice)
    half = visitor.post("/ask/compare", form | {"bounds": "0 5"}, name="age")
    assert half.status_code == 422
    assert "--bounds must be sent as two ends; found 1" in said(half)
    assert went(visitor.post("/ask/compare", form, name="age")) == "/plan"
    assert visitor.desk.draft.chosen["difference-plot"] == "age-difference-plot.png"


@pytest.mark.parametrize("state", ["../load.state", "/etc/load.state", "away/load.state", "a\0b"])
def test_nothing_is_written_outside_the_folder(visitor, folder, state):
    desk, away = folder / "desk", folder / "away"
    desk.mkdir()
    away.mkdir()
    (desk / "away").symlink_to(away)
    write(desk / "loads.csv", ["t0,t1,t2", *["1,2,3"] * 30])
    visitor.desk.folder = desk
    visitor.begin("loads.csv")
    form = MEAN | {"bounds": ["0", "5"], "columns": "t*", "month": "1", "steps": "12", "state": state}
    assert "--state must be a file in the desk's folder" in said(visitor.post("/ask/month?live=1", form))
    assert "Nothing is wrong" in said(visitor.post("/ask/month?live=1", form | {"state": "load.state"}))


@pytest.mark.parametrize(
    "path", ["~no-such-user/people.csv", "x" * 300 + ".csv", "a\0b.csv", "~", "x/" * 3000 + "a.csv"]
)
def test_a_path_that_cannot_be_one_is_refused_in_words(visitor, path):
    answer = visitor.post("/", path=path)
    assert answer.status_code == 422
    assert "Not possible" in said(answer)
    assert "Unexpected" not in said(answer)


@pytest.mark.parametrize("field", ["epsilon", "x-label", "na", "step", "column.1"])
def test_a_number_of_more_digits_than_python_reads_is_no_failure(visitor, field):
    visitor.begin("people.csv")
    answer = visitor.post("/ask/quantiles?live=1", DENSITY | {field: "9" * 5000})
    assert answer.status_code == 200
    assert ("Not yet" in said(answer)) == (field not in ("x-label", "na"))


@pytest.mark.parametrize("called", ["-p.csv", "--csv=p.csv", "sub/../p.csv", "~/p.csv", "link.csv"])
def test_the_study_and_the_line_read_the_file_that_was_opened(visitor, folder, monkeypatch, called):
    home = folder / "home"
    home.mkdir()
    (folder / "sub").mkdir()
    (folder / "link.csv").symlink_to(home / "linked.csv")
    monkeypatch.setenv("HOME", str(home))
    write(home / "p.csv" if called.startswith("~") else folder / called, people(60))
    visitor.begin(called)
    assert went(visitor.post("/ask/quantiles", DENSITY)) == "/plan"
    tried = visitor.get("/try").text
    study = html.unescape(re.search(r'aria-label="Study"><code>(.*?)</code>', tried, re.S)[1])
    line = html.unescape(re.search(r'aria-label="Command"><code>(.*?)</code>', tried, re.S)[1])
    (folder / "study.toml").write_text(study)
    for typed in (["run", "study.toml"], shlex.split(line)[1:]):
        ran = CliRunner().invoke(app, [*typed, "--dry-run"])
        assert ran.exit_code == 0, ran.output


def test_of_a_file_that_came_through_the_browser_the_line_needs_the_own_path(visitor, folder):
    upload = {
        "mark": visitor.guard.mark,
        "upload": (BytesIO((folder / "people.csv").read_bytes()), "p.csv"),
    }
    origin = {"Origin": f"http://{HOST}"}
    visitor.ask("POST", visitor.guard.place + "/", data=upload, headers=origin)
    visitor.post("/protect", ACCOUNT)
    assert stat.S_IMODE(visitor.desk.draft.file.path.stat().st_mode) == 0o600
    visitor.post("/ask/quantiles", DENSITY)
    assert "put its own path in the place of p.csv" in said(visitor.get("/try"))
    long = {**upload, "upload": (BytesIO(b"a,b\n1,2\n"), "x" * 300 + ".csv")}
    refused = visitor.ask("POST", visitor.guard.place + "/", data=long, headers=origin)
    assert "must have a name of 1 to 200 characters; found 304" in said(refused)


def test_no_file_but_a_release_is_given_out(visitor, folder):
    (folder / "sly.json").write_text('{"ann": 36.90817}')
    answer = visitor.get("/read/sly/release.json")
    assert answer.status_code == 422
    assert "36.90817" not in said(answer)


# How it ends.


@POSIX
def test_what_a_desk_keeps_goes_with_it_or_with_the_next(folder):
    kept = folder / "kept"
    kept.mkdir()
    (kept / "dpfda-desk-other").write_text("no folder")
    living, _ = start(folder)

    def folders():
        return {each for each in kept.iterdir() if each.is_dir()}

    (own,) = left = folders()
    for ending in ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"):
        process, _ = start(folder)
        process.send_signal(getattr(signal, ending))
        process.communicate(timeout=30)
        left = folders()
        assert own in left
        assert len(left) == (2 if ending == "SIGKILL" else 1), ending
    following, _ = start(folder)
    # At once; what a living one keeps stays.
    assert own in folders()
    assert len(folders()) == 2
    for each in (living, following):
        each.send_signal(signal.SIGTERM)
        assert each.communicate(timeout=30)[0].endswith("stopped\n")
    assert [each.name for each in kept.iterdir()] == ["dpfda-desk-other"]


@POSIX
def test_a_desk_that_is_to_outlive_its_terminal_does(folder):
    (folder / "kept").mkdir()
    process, link = start(folder, "signal.signal(signal.SIGHUP, signal.SIG_IGN)")
    process.send_signal(signal.SIGHUP)
    assert build_opener().open(link[1] + link[2]).status == 200
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[0].endswith("stopped\n")


@POSIX
def test_a_desk_that_is_interrupted_twice_keeps_a_charged_release(folder):
    (folder / "kept").mkdir()
    process, link = start(folder, SLOW)
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
    post("/publish", number=re.search(r'name="number" value="([\w-]+)"', tried)[1])
    waited = time.monotonic() + 30
    while not (folder / "charged").exists():
        assert time.monotonic() < waited
        time.sleep(0.02)
    for ending in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process.send_signal(ending)
        time.sleep(0.1)
    rest, _ = process.communicate(timeout=30)
    assert "a release is under way: the desk ends after it" in rest
    assert rest.endswith("stopped\n")
    assert process.returncode == 0
    assert (folder / "age.json").exists()
    assert spent(folder) == 0.5
