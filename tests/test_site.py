"""The built site, where ``DPFDA_SITE`` names it: pasted code, formulas, widths, thumbnails, reference.

``.ci/run`` builds it and runs this file.
"""

import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from browser import chromium

SITE = Path(os.environ.get("DPFDA_SITE", "no site"))
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="needs the built site: DPFDA_SITE")
# What printers make of hyphens and straight quotes.
TYPOGRAPHY = re.compile("[\u2013\u2014\u2018\u2019\u201c\u201d]")
# Elements of the text that reach beyond their column, and whether they can be scrolled into view.
CUT_OFF = """(selector) => {
  const scrolls = (element) => {
    for (let box = element; box && box.tagName !== "ARTICLE"; box = box.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return true;
    return false;
  };
  const found = [];
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth + 1) found.push("the page is wider than the window");
  for (const element of document.querySelectorAll(selector)) {
    const right = element.getBoundingClientRect().right;
    const column = element.closest("article").getBoundingClientRect().right;
    const hidden = element.tagName === "PRE" && element.scrollWidth > element.clientWidth + 1;
    if (hidden || (right > column + 1 && !scrolls(element)))
      found.push(element.textContent.trim().slice(0, 60));
  }
  return found;
}"""


def pages() -> list[Path]:
    """All pages but those of source code."""
    return [page for page in sorted(SITE.rglob("*.html")) if "_modules" not in page.parts]


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


class Code(HTMLParser):
    """What stands in elements of code."""

    def __init__(self) -> None:
        super().__init__()
        self.depth, self.found = 0, []

    def handle_starttag(self, tag, attrs):
        self.depth += tag in ("code", "pre", "kbd")

    def handle_endtag(self, tag):
        self.depth -= tag in ("code", "pre", "kbd")

    def handle_data(self, data):
        if self.depth:
            self.found.append(data)


def test_code_can_be_pasted():
    found = {}
    for page in pages():
        code = Code()
        code.feed(text_of(page))
        if dashes := [piece for piece in code.found if TYPOGRAPHY.search(piece)]:
            found[page.name] = dashes
    assert found == {}
    # Nor is an option in the text of the commands' page anything else.
    assert "--units" in text_of(SITE / "generated" / "commands.html")
    assert not re.search("\u2013[a-z]+", text_of(SITE / "generated" / "commands.html"))


def test_formulas_are_drawn_without_anything_from_elsewhere():
    assert text_of(SITE / "index.html").count("<math") >= 3
    assert text_of(SITE / "privacy.html").count("<math") >= 50
    loaded = r'<(?:script|img|link)[^>]*(?:src|rel="stylesheet"[^>]*href)="(https?:[^"]*)"'
    assert [
        (page.name, re.findall(loaded, text_of(page)))
        for page in pages()
        if re.search(loaded, text_of(page))
    ] == []
    with chromium() as browser:
        page = browser.new_page()
        page.goto((SITE / "privacy.html").as_uri())
        assert page.evaluate(
            "document.fonts.ready.then(() => document.fonts.check('16px \"STIX Two Math\"'))"
        )


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off(width):
    found = {}
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        for file in pages():
            page.goto(file.as_uri())
            if cut := page.evaluate(CUT_OFF, "article :is(pre, table, math, img, svg)"):
                found[file.name] = cut
    assert found == {}


def test_every_thumbnail_shows_its_picture():
    shown = [file.read_bytes() for file in (SITE / "_images").glob("sphx_glr_*_thumb.png")]
    assert len(shown) >= 9
    assert len(set(shown)) == len(shown)


def test_reference_shows_what_users_call():
    reference = [page for page in pages() if page.name.startswith("dpfda.")]
    assert len(reference) >= 20
    for page in reference:
        assert "_NestedSequence" not in text_of(page), page.name
    mean = text_of(SITE / "generated" / "dpfda.PrivateMean.html")
    assert 'id="dpfda.PrivateMean.fit"' in mean
    assert 'id="dpfda.PrivateMean.check_road"' not in mean
