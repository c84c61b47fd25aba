"""Words of users are text everywhere: in pictures, on terminals and pages, and in tables.

Nothing in them is a formula to matplotlib, an order to a terminal or a formula to a spreadsheet, whether
a user types them or a stranger wrote them into a file.
"""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from dpfda import (
    Domain,
    PrivacyUnit,
    PrivateComparison,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateMean,
    PrivateSurvival,
    PrivateVectorMean,
    load,
    release_function,
)
from dpfda.errors import DpfdaError, ParameterError, StorageError
from dpfda.numerics.words import cell, unseen, visible
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.releases.pages import report_page
from dpfda.releases.plain import plain
from dpfda.views import Curve, Image, Line, Table, draw, to_csv
from dpfda.views.page import to_html
from sample_releases import CURVES, GRID, GROUPS, KINDS, PLACES, PLANE, made

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("few_draws")

AT = np.linspace(0, 1, 5)
DOLLARS = ("$$", r"cost ($\frac$)", "income ($) and cost ($)", "$0-$50", r"\$5", "_$x_$", "$", "a_b^c%")
# One of each class, of what a terminal obeys and of what turns or hides words.
UNSEEN = (
    "\0", "\a", "\b", "\t", "\n", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\xad", "\u061c", "\u200b",
    "\u200d", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069",
    "\ufeff", "\ufff9", "\U000e0041", "\ud800", "\udfff",
)  # fmt: skip
SEEN = (
    "Größe (µm)",
    "10\u202f000 kr",
    "10\xa0%",
    "温度 (°C)",
    "ηλικία",
    "\U0001f321",
    "cafe\u0301",
    "$",
)
# Halves of a pair that stand beside each other are one character.
SLY = r"$\frac$ =1+1 <b>" + "x".join(UNSEEN)
# What a page, a picture or a terminal may hold of them: nothing; lines end, where it is of lines.
HIDDEN = re.compile(f"[{''.join(map(re.escape, set(UNSEEN) - {chr(10)}))}]")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    mpl.pyplot.close("all")


def curve(words: str) -> Curve:
    """A curve with words in all places."""
    lines = (Line(AT, AT, words, AT - 1, AT + 1, f"band {words}"), Line(AT, 2 * AT, f"2 {words}"))
    return Curve(
        lines, words, words, f"of {words}", words,
        foot=Line(AT, AT, f"foot {words}"), below=(AT, ((f"below {words}", AT),)),
        behind=(Line(AT, -AT, f"behind {words}"),),
    )  # fmt: skip


def image(words: str) -> Image:
    """An image with words in all places."""
    names = (f"0 {words}", f"1 {words}", f"2 {words}")
    ends = (0.0, 1.0), (0.0, 1.0)
    return Image(np.arange(3.0)[:, None], ends, words, words, words, f"of {words}", words, names=names)


def texts(view: Curve | Image) -> list[Text]:
    """All texts of its picture that are no numbers."""
    found = draw(view).get_figure().findobj(Text)
    return [text for text in found if text.get_text().strip("0123456789.\u2212")]


def squeezed(text: str) -> str:
    """Without blanks, which lines of a title are broken at."""
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    ("words", "settings_of_user"),
    [
        *((words, {}) for words in (*DOLLARS, "x\x1b[2Jy", "\u202eevil", "\ud800")),
        *((r"cost ($\frac$)", {setting: True}) for setting in ("text.usetex", "text.parse_math")),
    ],
    ids=str,
)
@pytest.mark.parametrize("view", [curve, image])
def test_words_are_drawn_as_text(view: Any, words: str, settings_of_user: dict[str, Any]) -> None:
    # There need be no TeX here: what is asked of a text is what it would be drawn by.
    with mpl.rc_context(settings_of_user):
        drawn = texts(view(words))
    wanted = squeezed(visible(words))
    shown = [squeezed(text.get_text()) for text in drawn]
    # Labels, title, and legend with what is below, or the bar with its names.
    assert sum(wanted in text for text in shown) >= (9 if view is curve else 7)
    assert all(wanted in text for text in shown)
    assert not any(text.get_parse_math() or text.get_usetex() for text in drawn)


@settings(max_examples=15)
@given(st.text(min_size=1, max_size=30).filter(lambda words: not words.isspace()))
def test_any_text_is_drawn_as_it_is(words: str) -> None:
    axis = draw(Curve((Line(AT, AT, words),), words, words, words))
    labels = [axis.xaxis.label, axis.yaxis.label]
    # Lines of a title and a legend are broken at blanks.
    (entry,) = axis.get_legend().get_texts()
    assert [text.get_text() for text in labels] == [visible(words)] * 2
    assert {squeezed(text.get_text()) for text in (entry, axis.title)} == {squeezed(visible(words))}
    assert not any(text.get_parse_math() for text in [*labels, entry, axis.title])
    mpl.pyplot.close("all")


LABELS = ("domain", "value", "group")
# Kinds of the same class and picture as one that every run looks at.
ALIKE = (
    "mean in a ball", "mean of a private number", "mean with weights", "two looks", "bounds looked for",
    "two stages", "solid", "density of whole numbers", "density of a private number",
    "density by a kernel", "median of a private number", "running mean, units in two months",
    "combined mean", "score curves beyond risks", "histogram in the plane",
    "covariance of a private number", "crossed groups", "test of slopes", "survival by group",
    "hazards by rounds", "hazards in strata", "regression on two inputs",
    "kernel regression on two inputs", "lattice in the plane",
)  # fmt: skip


def stranger(name: str, folder: Path) -> Any:
    """A release as of a file in which somebody else put sly words wherever words may be."""
    path = made(name).save(folder / "release.json")
    text = path.read_text(encoding="utf-8")
    # Some names must agree with others in the same file, which refuses them alone.
    for spoiled in (("privacy_unit", "name", "description"), ("description",)):
        written = json.loads(text)
        _spoil(written, spoiled)
        path.write_text(json.dumps(written), encoding="utf-8")
        with suppress(StorageError):
            return load(path)
    pytest.fail("no file with other labels is read")


def _spoil(part: Any, spoiled: tuple[str, ...]) -> None:
    for key, value in list(part.items()) if isinstance(part, dict) else enumerate(part):
        if isinstance(value, dict | list):
            _spoil(value, spoiled)
        elif isinstance(value, str) and key in spoiled:
            part[key] = f"{value} {SLY}"
    if isinstance(part, dict) and isinstance(part.get("about"), dict):
        part["about"] |= dict.fromkeys(LABELS, SLY)


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.thorough] * (n in ALIKE)) for n in KINDS]
)
def test_a_stranger_s_words_are_shown_as_text_by_every_kind(name: str, tmp_path: Path) -> None:
    release = stranger(name, tmp_path)
    told = [
        repr(release),
        release.describe(),
        release.facts.citation,
        *map(str, plain(release, 0.95)["words"].values()),
        *release.facts.lines().values(),
    ]
    page = release._repr_html_()
    assert not any(HIDDEN.search(text) for text in [*told, page])
    assert "<b>" not in page
    try:
        table = to_csv(release.table())
    except DpfdaError:
        table = ""
    assert not HIDDEN.search(table)
    try:
        view = release.view()
    except DpfdaError:
        return
    # The page has it as an image, in which all of its words were set.
    figure = draw(view).get_figure()
    words = [text for text in figure.findobj(Text) if "frac" in text.get_text()]
    assert words
    assert not any(text.get_parse_math() or text.get_usetex() for text in words)
    assert not any(HIDDEN.search(text.get_text()) for text in figure.findobj(Text))


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")
def test_a_report_holds_no_hidden_character(tmp_path: Path) -> None:
    release = stranger("comparison", tmp_path)
    page = to_html(report_page({f"a{SLY}.json": release}, title=SLY))
    assert not HIDDEN.search(page)
    assert r"\x1b" in page
    assert "<b>" not in page


def test_a_file_of_an_earlier_version_with_a_line_break_in_a_label_is_read(tmp_path: Path) -> None:
    path = made("default mean").save(tmp_path / "mean.json")
    path.write_text(
        path.read_text(encoding="utf-8").replace("load (MW)", r"load\n(MW)"), encoding="utf-8"
    )
    assert load(path).view().y_label == r"load\n(MW)"


# --- where words are given ---


def given_as(words: str) -> dict[str, Any]:
    """How words become public, each a function that publishes them, by what refuses them."""
    between = {"bounds": (-3, 3), "grid_points": GRID}
    two = np.where(GROUPS == "case", words, "other").astype(object)
    paid = {"ledger": MemoryLedger(), "dataset": "d"}
    paid["ledger"].create("d", PureDP(100), unit="record")

    def fit(kind: Any, *data: Any, **parameters: Any) -> Any:
        return lambda: kind(1.0, ledger=paid["ledger"].of("d"), **parameters).fit(*data)

    return {
        "labels": fit(PrivateMean, CURVES, bounds=(-3, 3), domain=Domain(GRID, labels=None)),
        "value": lambda: Domain(GRID, labels={"value": words}),
        "domain": lambda: Domain(GRID, labels={"domain": words}),
        "unit": lambda: PrivacyUnit(words),
        "levels": fit(PrivateComparison, CURVES, two, levels=[words, "other"], **between),
        "levels found": fit(PrivateComparison, CURVES, two, **between),
        "channels": fit(PrivateVectorMean, {words: CURVES, "north": CURVES}, **between),
        "covariates": lambda: PrivateFunctionalRegression(
            1.0, covariates={words: (0, 1)}, **between
        ).plan(60),
        "levels of a covariate": lambda: PrivateFunctionalRegression(
            1.0, covariates={"kind": [words, "hut"]}, **between
        ).plan(60),
        "causes": fit(
            PrivateSurvival, PLACES, np.ones(60), domain=(0.0, 1.0), causes=[words, "other"]
        ),
        "classes": fit(
            PrivateKernelClassifier, PLANE, np.where(PLACES > 0.5, words, "other").astype(object),
            bounds=(0, 1), classes=(words, "other"),
        ),
        "classes found": fit(
            PrivateKernelClassifier, PLANE, np.where(PLACES > 0.5, words, "other").astype(object),
            bounds=(0, 1), classes="from-y",
        ),
        "unit of a function": lambda: release_function(
            lambda at: at[:, 0], 0.1, 1.0, 3, [(0, 1)], unit=words, ledger=paid["ledger"].of("d")
        ),
        "data set": lambda: paid["ledger"].create(words, PureDP(1)),
        "spent": lambda: paid["ledger"].spent("d"),
    }  # fmt: skip


PLACES_OF_WORDS = [name for name in given_as("x") if name not in ("labels", "spent")]


@pytest.mark.parametrize("place", PLACES_OF_WORDS)
@pytest.mark.parametrize("sign", UNSEEN, ids=lambda sign: f"U+{ord(sign):04X}")
def test_words_with_what_does_not_show_are_refused_before_a_charge(place: str, sign: str) -> None:
    ways = given_as(f"a{sign}b")
    with pytest.raises(
        ParameterError, match=rf"must be words without .*; found U\+{ord(sign):04X}"
    ) as caught:
        ways[place]()
    assert sign not in str(caught.value)
    assert ways["spent"]()["epsilon"] == 0


@pytest.mark.parametrize("place", ["value", "unit", "data set", "covariates"])
@pytest.mark.parametrize("words", SEEN)
def test_words_of_any_language_are_taken(place: str, words: str) -> None:
    given_as(words)[place]()
    assert visible(words) == words


@given(st.text())
def test_what_is_visible_has_nothing_hidden_and_stays(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert unseen(shown) is None
    assert visible(shown) == shown
    shown.encode()
    if unseen(text) is None:
        assert shown == text


@given(st.text())
def test_an_error_shows_what_it_repeats(text: str) -> None:
    for error in (StorageError(text), ParameterError("x", "be", text, text)):
        assert unseen(str(error)) is None


# --- tables ---

RUN = ("=1+1", "+1+1", "-1+cmd|' /C calc'!A1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", '"=1')


@pytest.mark.parametrize("words", RUN)
def test_no_cell_begins_as_a_formula_does(words: str) -> None:
    numbers = np.array([-1.5, 2.0])
    table = Table(
        {words: numbers, "class": np.array([words, "-1"], dtype=object)},
        {words: f"x;{words}", "class": "c"},
    )
    text = to_csv(table)
    for delimiter in ",;":
        cells = [
            part.strip('"') for row in csv.reader(io.StringIO(text), delimiter=delimiter) for part in row
        ]
        formulas = [part for part in cells if part[:1] in tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")]
        assert all(re.fullmatch(r"-[\d.]+(,.*)?", part) for part in formulas), (delimiter, formulas)
    rows = list(csv.reader(io.StringIO(text)))
    assert [float(row[0]) for row in rows[1:]] == numbers.tolist()
    assert rows[2][1] == "-1"


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_stay_numbers(value: float) -> None:
    assert cell(value) is value
    assert cell(repr(value)) == repr(value)


@given(st.text(st.characters(codec="utf-8")))
def test_text_that_begins_as_words_do_stays(text: str) -> None:
    told = str(cell(text))
    assert told.lstrip(' "')[:1] not in tuple("=+-@") or re.fullmatch(
        r"[+-]?[\d.]+([eE][+-]?\d+)?", told
    )
    if text[:1].isalpha() and ";" not in text and unseen(text) is None:
        assert told == text
