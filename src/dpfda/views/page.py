"""A page for people: headings, words, facts and pictures in one HTML file that needs nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dpfda.numerics.errors import needed
from dpfda.numerics.words import visible
from dpfda.views.drawing import draw, draw_panels
from dpfda.views.languages import ENGLISH, IN_ENGLISH, Language
from dpfda.views.shapes import Panels, View

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Package with the templates that others include.
HERE = "dpfda.views"
# How many views stand beside each other, at most.
ABREAST = 2


@dataclass(frozen=True)
class Picture:
    """Views on a page, beside each other.

    caption: What is seen; also what is read out to those who do not see it.
    """

    views: Sequence[View]
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of a page.

    paragraphs: Those that begin with "- " are items of a list.
    facts: Names and what they are, shown as a table with two columns.
    table: Rows of a table; the first one is its header.
    parts: One level down.
    """

    title: str
    paragraphs: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    table: Sequence[Sequence[str]] = ()
    picture: Picture | None = None
    parts: Sequence[Section] = ()


@dataclass(frozen=True)
class Page:
    """What is put on paper.

    signatures: Who signs; a line is left for each.
    appendix: What stands behind the signatures.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    signatures: Sequence[str] = ()
    appendix: Section | None = None


def to_html(page: Page, language: str = ENGLISH) -> str:
    """The page as one file of HTML, with pictures in it, no scripts and no outside address.

    language: {"en", "de", "fr"}. What is not translated stays English.
    Raises MissingExtraError if jinja2 or matplotlib is not installed.
    """
    chosen = Language(language)
    return rendered("page.html", language=chosen, page=chosen.all(page))


def to_fragment(section: Section) -> str:
    """A section as HTML for a notebook's cell; without its picture where matplotlib is missing.

    Raises MissingExtraError if jinja2 is not installed.
    """
    if find_spec("matplotlib") is None:
        section = replace(section, picture=None)
    return rendered("card.html", section=section)


def rendered(
    template: str,
    rooms: Sequence[str] = (),
    what: str = "A report",
    language: Language = IN_ENGLISH,
    **shown: object,
) -> str:
    """A template filled in; `svg` in it draws a view.

    rooms: Packages that have it, or what it includes, in their folders `templates`, beside this one.
    what: What needs it, for the error.
    language: Of numbers in pictures, and of words that the template marks by `said`.
    **shown: What it shows.
    Raises MissingExtraError if jinja2 is not installed.
    """
    with needed("jinja2", "report", what):
        import jinja2  # noqa: F401 - what fails is said in our words
    return (
        _templates((*rooms, HERE), language)
        .get_template(template)
        .render(svg=_Pictures(language.name).svg, language=language.name, **shown)
    )


@lru_cache(16)
def _templates(packages: tuple[str, ...], language: Language) -> Environment:
    """The templates in the folders of packages, which are read once."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in packages]),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"blocks": _blocks, "said": language.text}
    return environment


def _shown(value: object) -> object:
    """What a template shows: words, in which nothing is hidden, but markup as it is."""
    return visible(value, "\n") if isinstance(value, str) and not hasattr(value, "__html__") else value


def _blocks(paragraphs: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Paragraphs and lists: neighbouring items of a list together."""
    blocks: list[tuple[str, list[str]]] = []
    for paragraph in filter(None, paragraphs):
        item = paragraph.startswith("- ")
        if item and blocks and blocks[-1][0] == "ul":
            blocks[-1][1].append(paragraph[2:])
        else:
            blocks.append(("ul", [paragraph[2:]]) if item else ("p", [paragraph]))
    return blocks


class _Pictures:
    """Draws views as SVG whose inner names do not meet on one page."""

    def __init__(self, language: str) -> None:
        self._count, self._language = 0, language

    def svg(self, views: View | Sequence[View], size: tuple[float, float] | None = None) -> Markup:
        """Views as SVG; the first alone on a figure of another size in inches, as for a narrow page."""
        from markupsafe import Markup
        from matplotlib import pyplot

        self._count += 1
        text = io.StringIO()
        salt = f"picture {self._count}"
        with pyplot.rc_context({"svg.fonttype": "path", "svg.hashsalt": salt, "text.usetex": False}):
            several = [views] if isinstance(views, View) else views
            # Small pictures of one table have no room on a narrow figure: they are scaled whole.
            if size is None or isinstance(several[0], Panels):
                axis = draw_panels(several, self._language, ABREAST)
            else:
                axis = pyplot.subplots(figsize=size, layout="constrained")[1]
                draw(several[0], axis, self._language)
            figure = axis.get_figure(root=True)
            assert figure is not None  # noqa: S101 - for the type checker: a new axis has a figure
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
            pyplot.close(figure)
        drawn = text.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        # Inner names are numbered within a picture.
        drawn = re.sub(r'id="', f'id="p{self._count}-', drawn)
        drawn = re.sub(r"(url\(#|href=\"#)", rf"\g<1>p{self._count}-", drawn)
        drawn = re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.S)
        return Markup(drawn.replace("<svg ", '<svg role="presentation" ', 1))  # noqa: S704 - made above
