"""Every verb at the desk: its form has all of its options, and leads to a release."""

import re

import matplotlib as mpl
import pytest

from desks import said, spent, went
from dpfda.front.desk.asking import KNOWN, UNITS, outlook
from dpfda.front.desk.examples import example
from dpfda.front.desk.fields import fields_of, read_fields
from dpfda.front.verbs import published
from dpfda.privacy.composition.risk import attack_risk
from test_command_arguments import LINES, make_tables

mpl.use("Agg")
# What comes out is tested; elsewhere, how exact plans and the bands in it are.
pytestmark = pytest.mark.usefixtures("few_draws", "few_trials")
VERBS = tuple(published())
# Whose pictures and reports are fetched; `test_signed_reports` has those of every kind of release.
DRAWN = ("mean", "density")


@pytest.fixture
def folder(desk_folder):
    return desk_folder


@pytest.fixture
def visitor(folder, visit):
    return visit(folder)


def filled(verb):
    """The form of a verb, filled in as a line that works has it."""
    line, form = [*LINES[verb][1:]], {}
    fields = {x.option.flag: x for x in fields_of(published()[verb].all_options())}
    while line:
        flag = line.pop(0)
        values = [
            line.pop(0) for _ in range(next((i for i, x in enumerate(line) if x[:2] == "--"), len(line)))
        ]
        field = fields.get(flag)
        if field is None:
            assert flag in ("--out", "--overwrite")
        elif field.kind == "rows":
            parts = values[0].rsplit(":", 2) if len(field.parts) == 3 else values[0].split(":", 1)
            form |= {f"{field.name}.{place}": part for place, part in enumerate(parts)}
        else:
            form[field.name] = values if field.kind == "pair" else "\n".join(values)
    return form | {"name": "made"}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_served(visitor, folder, verb):
    make_tables()
    visitor.begin(LINES[verb][0], budget="3")
    form = filled(verb)
    page = visitor.get(f"/ask/{verb}")
    assert page.status_code == 200
    for field in fields_of(published()[verb].all_options()):
        assert f'name="{field.name}' in page.text
    # No label is of another field.
    ids = re.findall(r' id="([\w-]+)"', page.text)
    assert len(ids) == len({*ids})
    # What is suggested is where a field says it is.
    assert {*re.findall(r' list="([\w-]+)"', page.text)} <= {*re.findall(r' id="([\w-]+)"', page.text)}
    assert "&#34;" not in re.sub(r"<small.*?</small>", "", page.text, flags=re.S)
    checked = visitor.post(f"/ask/{verb}?live=1", form)
    assert "Nothing is wrong" in said(checked), said(checked)
    assert went(visitor.post(f"/ask/{verb}", form)) == "/plan"
    draft = visitor.desk.draft
    plan, needed = outlook(verb, {**draft.data, **draft.chosen, UNITS: "500"}, folder)
    assert str(plan.guarantee) == "1-differential privacy (pure)"
    assert needed == {}
    assert 0.5 <= attack_risk(plan.costs().values()).guess <= 0.74
    # One of made-up records, beside it.
    assert example(draft, folder, {UNITS: "500", "points": "24"}).title.startswith("Made up: ")
    assert spent(folder) == 0
    # What was said is still there.
    kept = read_fields(fields_of(published()[verb].all_options()), Sent(form), "made")
    assert visitor.desk.draft.chosen == kept
    asked = visitor.get(f"/ask/{verb}").text
    for value in kept.values():
        for text in value if isinstance(value, list) else [value]:
            assert all(part in asked for part in str(text).split(":"))
    read = visitor.publish(visitor.number())
    assert went(read).startswith("/read/made?"), said(read)
    shown = visitor.get(went(read))
    assert shown.status_code == 200
    assert "What is promised" in said(shown)
    assert spent(folder) == 1
    files = re.findall(r'href="/[\w-]+(/read/made/[\w.]+)"', shown.text)
    assert len(files) > 2
    for made in files:
        if verb in DRAWN or not made.endswith((".png", ".html")):
            assert visitor.get(made).status_code == 200


class Sent(dict):
    """A form that was sent."""

    def getlist(self, name):
        values = self.get(name, [])
        return values if isinstance(values, list) else [values]


def test_every_sketch_is_of_a_verb_and_every_preset_has_a_source():
    assert set(KNOWN["sketches"]) == set(VERBS)
    for preset in KNOWN["presets"]:
        assert preset["low"] < preset["high"]
        assert len(preset["source"]) > 10


def test_what_is_beside_a_release_has_a_name_like_it(visitor, folder):
    make_tables()
    visitor.begin("groups.csv")
    form = filled("compare") | {"difference-plot": "yes"}
    assert went(visitor.post("/ask/compare", form)) == "/plan"
    visitor.publish(visitor.number())
    assert (folder / "made-difference-plot.png").read_bytes().startswith(b"\x89PNG")
