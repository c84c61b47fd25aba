"""Reports to sign: every kind, what they add up to, where the ledger has them; nothing from outside."""

import hashlib
import html
import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from browser import SCHEMES, WIDTHS, chromium, faults
from dpfda import Ledger, PrivateMean
from dpfda.front.app import app
from dpfda.privacy.guarantees import PureDP, ZeroConcentratedDP
from dpfda.privacy.words import in_symbols
from dpfda.releases.pages import registry_entry, report_page
from dpfda.views.page import Page, Section, to_html
from sample_releases import KINDS, certificate_of, made

mpl.use("Agg")
CURVES = 0.5 + 0.2 * np.sin(np.linspace(0, 3, 20)) + np.linspace(-0.1, 0.1, 60)[:, None]
# Elements that fetch something, or run.
OUTSIDE = re.compile(r"<(script|link|iframe|object|embed|img)\b|@import|src=|url\((?!#)", re.I)


class Balanced(HTMLParser):
    """Elements that are opened and closed in order."""

    EMPTY = frozenset({"meta", "br", "link", "path", "use", "rect"})

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.used = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.ids += [known["id"]] if "id" in known else []
        self.used += re.findall(r"#([\w-]+)", " ".join(str(value) for value in known.values()))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def said(text):
    return html.unescape(re.sub(r"<[^>]+>|\s+", " ", text))


# Of the class, the sort of view and the sort of guarantee of another kind: these repeat what it holds.
ALIKE = {
    "derivative of the default mean", "mean in a ball", "mean with weights", "two looks",
    "bounds looked for", "curve on a box", "density of a private number", "density by a kernel",
    "median of a private number", "running mean, units in two months", "histogram in the plane",
    "covariance of a private number", "covariance of visits", "components", "crossed groups",
    "test of slopes", "survival with causes", "hazards by rounds", "hazards in strata",
    "curve at covariates", "coefficient function", "regression on two inputs", "kernel regression",
    "kernel regression on two inputs", "margins", "probabilities", "lattice in the plane",
    "score curves beyond risks", "centiles of visits",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in ALIKE)) for name in KINDS]
)
def test_every_kind_is_reported(name, few_draws):
    release = made(name)
    page = release.report()
    read = Balanced(page)
    assert not read.open
    assert len(set(read.ids)) == len(read.ids)
    assert not OUTSIDE.search(page)
    words = " ".join(said(page).split())
    for part in (
        str(release.guarantee),
        release.unit,
        release.facts.citation,
        release.certificate.identity,
    ):
        assert " ".join(str(part).split()) in words


# A card is made of the view that the report draws: one kind for each sort of view.
@pytest.mark.parametrize("name", ["default mean", "image", "solid", "several values", "answers"])
def test_a_release_has_a_card_for_notebooks(name, few_draws):
    release = made(name)
    card = release._repr_html_()
    assert not Balanced(card).open
    assert not OUTSIDE.search(card)
    assert str(release.guarantee) in said(card)


def test_inner_names_of_two_pictures_do_not_meet():
    releases = {f"{k}": PrivateMean(1.0, bounds=(0, 1)).fit(CURVES).release_ for k in range(2)}
    read = Balanced(to_html(report_page(releases)))
    assert len(set(read.ids)) == len(read.ids)
    colours = {name for name in read.used if not re.fullmatch(r"[0-9a-f]{6}", name)}
    assert colours <= set(read.ids)


def test_what_a_page_is_given_is_text_and_never_markup():
    page = to_html(Page("<b>&", "<script>", [Section("<i>", ["- <u>", "<s>"], {"<q>": "<a>"})], ["<p>"]))
    assert not re.search(r"<(b|i|u|s|q|a)>|<script", page)
    for part in ("<b>&", "<script>", "<i>", "<u>", "<s>", "<q>", "<a>", "<p>"):
        assert html.escape(part) in page


def test_the_formula_has_the_numbers_and_the_pair():
    assert "exp(0.5) P" in in_symbols(certificate_of(PureDP("0.5"), "person"))
    assert "the data of one person" in in_symbols(certificate_of(PureDP("0.5"), "person"))
    assert "≤ 0.25 a for all orders a > 1" in in_symbols(certificate_of(ZeroConcentratedDP("0.25")))


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("two")
    ledger = Ledger(tmp_path / "l.ledger")
    ledger.create("waves", PureDP(3))
    files = []
    for name, epsilon, paid in (("a", 1, ledger.of("waves")), ("b", 0.5, None)):
        mean = PrivateMean(epsilon, bounds=(0, 1), ledger=paid).fit(CURVES)
        files.append(mean.release_.save(tmp_path / f"{name}.json"))
    return files


@pytest.fixture(scope="module")
def page(two):
    """A report on both, with what their ledger says of them, and their entry beside it."""
    out, beside = two[0].with_name("r.html"), two[0].with_name("e.yaml")
    ledger = two[0].with_name("l.ledger")
    result = run("report", *two, "--out", out, "--registry", beside, "--ledger", ledger)
    assert result.exit_code == 0, result.output
    return out


def test_the_command_adds_up_names_the_row_and_hashes(two, page):
    entry = page.with_name("e.yaml")
    words = " ".join(said(page.read_text(encoding="utf-8")).split())
    assert "promise 1.5-differential privacy (pure)" in words
    assert "row 2 of" in words
    assert "l.ledger has no row for this release" in words
    for file in two:
        assert hashlib.sha256(file.read_bytes()).hexdigest() in words
    written = yaml.safe_load(entry.read_text(encoding="utf-8"))
    assert written["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.5}
    assert written["deployment"]["deployment_model"]["release_type"] == "Many releases"


def test_a_row_says_what_is_spent_and_left_of_the_budget_in_force(two, page, tmp_path):
    """Of a budget that was raised since the release, and of another release since."""
    copied, out = tmp_path / "l.ledger", tmp_path / "r.html"
    copied.write_bytes(page.with_name("l.ledger").read_bytes())
    ledger = Ledger(copied)
    ledger.raise_budget("waves", PureDP(5), "second wave")
    PrivateMean(0.25, bounds=(0, 1), ledger=ledger.of("waves")).fit(CURVES)
    assert run("report", two[0], "--out", out, "--ledger", copied).exit_code == 0
    words = " ".join(said(out.read_text(encoding="utf-8")).split())
    assert "data set 'waves': epsilon 1 charged. By row 4 epsilon 1.25 is spent in all, and " in words
    assert "epsilon 3.75 left of 5-differential privacy (pure), replace-one" in words
    assert "3-differential" not in words


def test_a_report_replaces_nothing_and_counts_no_file_twice(two, page, tmp_path):
    before = page.read_bytes()
    again = run("report", two[0], "--out", page)
    assert again.exit_code == 2
    assert page.read_bytes() == before
    assert "add --overwrite" in again.output
    double = run("report", two[0], two[0], "--out", tmp_path / "s.html")
    assert double.exit_code == 2
    assert "be named once each" in " ".join(double.output.split())


def test_the_entry_says_what_it_cannot_know():
    release = PrivateMean(rho=0.1, bounds=(0, 1)).fit(CURVES).release_
    entry = registry_entry([release])["deployment"]
    assert entry["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert entry["privacy_loss"]["privacy_parameters"] == {"rho": 0.1}
    assert entry["basic"]["data_curators"] == ["TO FILL IN"]
    assert entry["basic"]["publication_date"] == release.about["created"]


def test_a_report_in_a_browser(page):
    """Narrow and wide, light and dark, on paper: nothing fetched, nothing wider than the page."""
    with chromium() as browser:
        for width, scheme in zip(WIDTHS, SCHEMES, strict=True):
            tab = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            ).new_page()
            asked = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.goto(page.as_uri())
            assert asked == [page.as_uri()]
            assert faults(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            shown = [each.is_visible() for each in tab.locator("figure svg").all()]
            # Of each picture one of two sizes.
            assert shown == [width > 640, width <= 640] * 2
        paper = tab.pdf(format="A4", prefer_css_page_size=True)
        assert paper.startswith(b"%PDF")


def test_what_is_alike_is_said_once_behind_the_signatures(page):
    words = " ".join(said(page.read_text(encoding="utf-8")).split())
    before, signed, after = words.partition("Statistician Date, signature")
    assert signed
    for alike in (
        "The unit of protection is one record.",
        "It is no promise that nothing can be learned",
    ):
        assert (before.count(alike), after.count(alike)) == (0, 1)
    # What is of one of them says of which.
    assert re.search(r"exp\(0\.5\) = 1\.65, .*?computing power is spent\. \(.*?b\.json\)", after)
    assert "computing power is spent. (" not in before
    assert "They are of" not in words


def test_other_numbers_of_units_are_pointed_out(two, tmp_path):
    fewer = PrivateMean(1, bounds=(0, 1)).fit(CURVES[:40]).release_.save(tmp_path / "c.json")
    out = tmp_path / "r.html"
    assert run("report", two[0], fewer, "--out", out).exit_code == 0
    words = " ".join(said(out.read_text(encoding="utf-8")).split())
    assert "They are of 60 records, 40 records. The sum is for whoever is in all of them" in words


def test_in_a_browser_a_release_has_two_pages_and_one_of_words_for_all(two, tmp_path):
    out = tmp_path / "r.html"
    assert run("report", two[0], "--out", out).exit_code == 0
    with chromium() as browser:
        page = browser.new_page()
        page.goto(out.as_uri())
        printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 3
