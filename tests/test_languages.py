"""Releases in other languages: whole, with the numbers of the English text; catalogues are in step."""

import re
import time
from string import Formatter

import numpy as np
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

from catalogues import SOURCES, compiled, source, texts
from dpfda import PrivateMean
from dpfda.front.app import app
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import several
from dpfda.releases.facts import sections
from dpfda.releases.pages import report_page
from dpfda.views.drawing import draw
from dpfda.views.languages import LANGUAGES, Language
from dpfda.views.page import to_html
from sample_releases import KINDS, RELEASES, made

pytestmark = pytest.mark.usefixtures("few_draws")

OTHERS = [name for name in LANGUAGES if name != "en"]
# Labels of the samples, and names that stand for themselves.
NAMES = {
    "hour of the day", "load (MW)", "t (h)", "area 20", "area 200", "age 40", "age 90", "age 60, arm b",
    "age 40, arm a", "age 90, arm a",
    "life table", "two looks", "search for bounds", "split conformal", "quantile curves", "score curves",
}  # fmt: skip
# What an English sentence can hardly do without; none of them is a word of the other languages.
ENGLISH = re.compile(r"\b(the|of|and|with|were|is|are|by|this|that|each|from|it|which)\b")
# Words of programs and of people, which are the same in all languages.
CODE = re.compile(r"of='population'|\w+\([^()]*=[^()]*\)|--[\w-]+( \w+)?|hour of the day")
DIGITS = re.compile(r"\d[\d.,\u202f]*(?:e[-+]\d+)?")


def paragraphs(name):
    """All texts of a release's report and page, but what names it."""
    found = []
    release = made(name)
    page = report_page({"a.json": release, "b.json": release}, {"a.json": "0" * 8, "b.json": "0" * 8})

    class Heard(Language):
        def text(self, text):
            found.append(text)
            return text

    Heard("de").all([sections(release.facts), page])
    # An item of a list is marked.
    return [text.removeprefix("- ") for text in dict.fromkeys(found) if " " in text]


def numbers(text):
    """Numbers in a text, without the signs by which languages differ."""
    return {re.sub(r"[.,\u202f]", "", each).lstrip("0") for each in DIGITS.findall(text)}


def untranslated(text, name):
    """Sentences of a text that the catalogue of a language does not have."""
    return [english for english, said in Language(name).sentences(text) if said is None]


@pytest.mark.parametrize("kind", [*KINDS, *RELEASES])
def test_all_is_translated_and_all_numbers_are_kept(kind):
    for text in paragraphs(kind):
        for name in OTHERS:
            told = [*Language(name).sentences(text)]
            assert [english for english, said in told if said is None and english not in NAMES] == []
            said = " ".join(said or english for english, said in told)
            assert not ENGLISH.search(CODE.sub("", said)), said
            assert numbers(said) == numbers(text), said


def test_a_text_without_a_translation_would_be_found():
    assert untranslated("A sentence that nobody knows. One home is protected.", "de") == [
        "A sentence that nobody knows."
    ]
    assert ENGLISH.search("Geschützt ist the unit")
    assert numbers("0,34 und 1.000") == numbers("0.34 and 1,000") != numbers("0.34 and 1,001")


def test_numbers_are_written_as_the_language_does():
    words = "Roughly, the words above may fail with a probability of about one in 1,500,000."
    assert Language("de").text(words).endswith("eins zu 1.500.000 versagen.")
    assert "1\u202f500\u202f000" in Language("fr").text(words)
    assert Language("de").text("values clipped to [-0.5, 3]") == "Werte auf [-0,5; 3] begrenzt"
    assert Language("en").text("values clipped to [-0.5, 3]") == "values clipped to [-0.5, 3]"


def test_what_a_ledger_says_is_translated():
    words = (
        "b.ledger, row 2 of 2026-11-28, data set 'scans': epsilon 1, delta 0 charged. By row 3 "
        "epsilon 1, delta 0 is spent in all, and epsilon 4.5, delta 1e-05 left of "
        "(5.5, 1e-05)-differential privacy, replace-one neighbours, per record"
    )
    assert untranslated(words, "de") == untranslated(words, "fr") == []
    said = Language("de").text(words)
    assert "Epsilon 4,5, Delta 1e-05 übrig" in said
    assert numbers(said) == numbers(words)


def test_names_are_left_as_they_were_given():
    told = "the grid and the domain: age. 1.5 of pm2.5 (and, so; on) from 0.5 to 2.5"
    assert Language("fr").text(told) == (
        "la grille et le domaine\xa0: «\xa0age. 1.5 of pm2.5 (and, so; on)\xa0» de 0,5 à 2,5"
    )
    citation = (
        "The mean curve of 9 cats was published under 1-differential privacy (pure), with one cat as "
        "the privacy unit and replace-one neighbours (values from -3 to 3; covariates kind (a; b, c); "
        "corners mechanism) with dpfda 1.0."
    )
    said = Language("de").text(citation)
    assert "kind (a; b, c); Mechanismus „corners“" in said
    assert "dpfda 1.0 " in said


@pytest.mark.parametrize("part", [" of , ; (is ", ": b, ", " (1%: 2 to 3); x: 1", " without noise"])
def test_a_hostile_name_makes_nothing_slow_and_loses_nothing(part):
    name = part * 400
    started = time.process_time()
    said = Language("de").text(f"Mean curve of 61 homes: {name}; each home is protected")
    assert time.process_time() - started < 10
    assert numbers(said) == numbers(f"61 {name}")


def test_what_is_said_of_the_whole_page_is_in_its_language():
    release = made("survival by group")
    german = release.report("de")
    assert '<html lang="de">' in german
    assert "Datum, Unterschrift" in german
    assert "Für den Verantwortlichen" in german
    assert "Date, signature" not in german
    assert "Date, signature" in release.report("fr")
    english = release.report()
    assert '<html lang="en">' in english
    assert english == to_html(report_page({"this release": release}))


def test_axes_are_numbered_and_named_in_the_language():
    language = Language("de")
    view = language.all(made("density").view())
    axis = draw(view, language="de")
    axis.figure.draw_without_rendering()
    ticks = [text.get_text() for text in axis.get_xticklabels()]
    assert "0,2" in ticks
    assert not any("." in tick for tick in ticks)
    assert axis.get_ylabel() == "Dichte (je Einheit der Achse)"
    pyplot.close(axis.figure)
    axis = draw(made("density").view())
    axis.figure.draw_without_rendering()
    assert "0.2" in [text.get_text() for text in axis.get_xticklabels()]
    pyplot.close(axis.figure)


def test_the_command_says_it_in_a_language(tmp_path):
    file = tmp_path / "mean.json"
    curves = np.random.default_rng(1).uniform(0, 1, (80, 12))
    release = PrivateMean(1, bounds=(0, 1)).fit(curves).release_
    release.save(file)
    run = CliRunner().invoke
    shown = run(app, ["show", str(file), "--language", "fr"])
    assert shown.output.strip() == release.describe("fr").strip()
    assert max(map(len, shown.output.splitlines())) <= 88
    page = tmp_path / "report.html"
    assert run(app, ["report", str(file), "--out", str(page), "--language", "fr"]).exit_code == 0
    assert "Ce qui a été publié" in page.read_text(encoding="utf-8")
    refused = run(app, ["report", str(file), "--out", str(tmp_path / "x"), "--language", "tlh"])
    assert refused.exit_code == 2
    assert not (tmp_path / "x").exists()
    with pytest.raises(ParameterError, match="language"):
        release.describe("tlh")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "text",
    [
        "the features: a constant and 1 linear function of 1 input, clipped to length 0.175;",
        "the features: 9 linear functions of 9 inputs, clipped to length 2, taken to length one; and "
        "their products;",
        "the features: a constant and 4 linear functions of 4 inputs, clipped to length 1; of inputs to "
        "the power 0.5;",
        "the features: a constant and 2 linear functions of 2 inputs, clipped to length 0.25; of inputs "
        "to the power 0.5 (the power was chosen from records, for a part of the promise);",
        "In such an account (dpfda compose) this release counts as: power of inputs, "
        "0.02-differential privacy (pure) (any mechanism of epsilon 0.02).",
        "the features: 30 random Fourier features of Matern(length_scale=0.3, nu=2.5) on 3 inputs;",
        "There is no band: how far noise moved the function is not in this release.",
        "There is no band: how far noise moved the functions is not known after a descent for more than "
        "two classes, whose slopes are clipped together.",
        "In such an account (dpfda compose) this release counts as: sums of clusters, 1-differential "
        "privacy (pure) (K-norm blocks of loss 1 and rho 0.5).",
        "In such an account (dpfda compose) this release counts as: height: release, 1-differential "
        "privacy (pure) (symmetric noise of loss 1).",
        "bands meant to hold the means, 95%, all at once",
        "95% bands for the means, all at once",
        "95% band for the mean",
        "95% band for the share of these homes in each cell, over its size",
    ],
)
def test_what_no_sample_says_is_translated(text, name):
    assert untranslated(text, name) == []
    assert numbers(Language(name).text(text)) == numbers(text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.parts[-3])
def test_catalogues_are_compiled_and_keep_all_places(path):
    written = texts(source(path))
    assert written == texts(compiled(path))
    for (_, english), said in written.items():
        assert said, english
        places = [sorted({p[1] for p in Formatter().parse(each) if p[1]}) for each in (english, said)]
        assert places[0] == places[1], english
        assert said.removeprefix("\xa0") == said.strip(), said


def test_catalogues_have_the_same_messages():
    assert {path.parts[-3] for path in SOURCES} == set(OTHERS)
    first, *others = [texts(source(path)).keys() for path in SOURCES]
    assert all(keys == first for keys in others)


@pytest.mark.parametrize("unit", ["child", "family", "patient"])
def test_the_plural_of_a_unit_is_known(unit: str) -> None:
    english = f"the number of {several(unit)}"
    assert {"child": "children", "family": "families"}.get(unit, "patients") in english
    assert Language("de").text(english) != english
    assert Language("fr").text(english) != english
