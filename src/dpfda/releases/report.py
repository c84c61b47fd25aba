"""The report of a release in plain words, made of its facts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from dpfda.privacy.words import again, caveats, outside, promised, protected
from dpfda.releases.facts import Facts
from dpfda.views.languages import IN_ENGLISH, Language

LINE = 88
# Sections of which most is alike in all reports: on pages they are an appendix.
COMMON = (
    "Who is protected", "What is promised", "What the bound does", "What the promise does not cover",
    "Releasing again",
)  # fmt: skip
ASSUMED = (
    "The following are assumed to be known to everyone, and are printed in the release. They must not "
    "have been chosen by looking at the data:"
)


def report(facts: Facts, language: Language = IN_ENGLISH) -> str:
    """The sections of a report, in lines of at most 88 columns."""
    told = language.all(sections(facts))
    return "\n\n".join(_section(title, words) for title, words in told.items())


def sections(facts: Facts) -> dict[str, list[str]]:
    """The sections of a report, each with its paragraphs; those without words are left out."""
    certificate, stated = facts.certificate, facts.stated
    missing = caveats(certificate)
    told: dict[str, Iterable[str]] = {
        "Not covered by the promise": missing,
        "What was published": facts.published(),
        "Who is protected": [*protected(certificate), *stated.protected],
        "Warnings": [warning for warning in facts.warnings if warning not in missing],
        "What is promised": [*promised(certificate), *stated.promised],
        "What is taken to be public": [ASSUMED, *facts.public()],
        "What the bound does": stated.bounded,
        "How accurate it is": facts.accurate(),
        "What the promise does not cover": [*outside(), *stated.uncovered],
        "Releasing again": again(certificate),
        "How to cite it": [facts.citation],
    }
    kept = {title: [*filter(None, words)] for title, words in told.items()}
    return {title: words for title, words in kept.items() if words}


def _section(title: str, paragraphs: Iterable[str]) -> str:
    lines = [title, "-" * len(title)]
    for paragraph in paragraphs:
        hanging = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, LINE, subsequent_indent=hanging)
    return "\n".join(lines)
