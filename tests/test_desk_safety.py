"""The desk: what refusals tell, what is said of a charge, and where it writes."""

import re

import matplotlib as mpl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from desks import DENSITY, people, said, spent, went, write
from dpfda import Ledger
from dpfda.front.desk.opening import open_file
from dpfda.front.desk.runs import Publication, Said
from dpfda.front.verbs.run import Planned

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws")
ACCOUNT = {"groups": "", "ledger": "budget.ledger", "dataset": "people", "budget": "2"}
MEAN = {"bounds": ["0", "1"], "epsilon": "1", "name": "m"}


@pytest.fixture
def folder(desk_folder):
    return desk_folder


@pytest.fixture
def visitor(folder, visit):
    return visit(folder)


# Names of columns.


@pytest.mark.parametrize("public", [{}, {"public": "yes"}])
@pytest.mark.parametrize(
    ("verb", "form"),
    [
        *(("quantiles", {**DENSITY, "column.0": x}) for x in ("zzz", "ANNA", "femal", "HIV", "41.25")),
        ("mean", MEAN),
        ("mean", {**MEAN, "columns": "q*"}),
        ("mean", {**MEAN, "columns": "*"}),
        ("mean", {**MEAN, "columns": "anna:HIV positive"}),
        ("mean", {**MEAN, "columns": "[a-z]*", "grid": "0,1"}),
        ("compare", {**MEAN, "columns": "*", "by": "grup"}),
    ],
)
def test_a_refusal_tells_no_name_that_was_not_typed(visitor, folder, public, verb, form):
    record = ("anna", "female", "HIV positive", "2024-03-01", "41.25 kg", "$12", "+49 170", "'t Hooft")
    for row in (record, ("anna", "female", "41.25")):
        write(folder / "bare.csv", [",".join(row)] * 3)
        visitor.post("/", path="bare.csv", **public)
        visitor.post("/protect", ACCOUNT)
        typed = " ".join(str(value) for value in form.values())
        for step in ("/check/", "/ask/"):
            answer = visitor.post(step + verb, form)
            words = said(answer).replace("&#34;", '"')
            if step == "/ask/":
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
        assert words in said(visitor.post("/check/mean", MEAN | change))


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
    assert name not in repr(opened)
    assert open_file(folder / "bare.csv", "bare.csv", ".", public=False).header == ()


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
    states = [None, Said(0)]
    monkeypatch.setattr(
        Publication, "said", property(lambda self: states.pop(0) if states else Said(0), lambda *x: None),
        raising=False,
    )  # fmt: skip
    shown = visitor.get(f"/published/{number}")
    assert "is being made" in said(shown)
    assert 'http-equiv="refresh"' in shown.text


def test_progress_tells_no_number_of_records(visitor, folder, monkeypatch):
    many, seen = 123_457, []
    table = pa.table({"age": [str(i % 90) for i in range(many - 1)] + ["x"]})
    pq.write_table(table, folder / "people.parquet")
    visitor.begin("people.parquet")
    visitor.post("/ask/quantiles", DENSITY)
    watch = Publication._watch

    def watched(self, done, total):
        watch(self, done, total)
        seen.append(visitor.get(f"/published/{number}").text)

    monkeypatch.setattr(Publication, "_watch", watched)
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
