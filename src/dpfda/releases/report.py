"""The report of a release in plain words: what all kinds say, around what a kind says of itself."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import again, caveats, outside, promised, protected
from dpfda.releases.published import Published
from dpfda.releases.words import LINE, Words


def report(release: Published, own: Words) -> str:
    """The sections of a report, in lines of at most 88 columns."""
    return "\n\n".join(_section(title, told) for title, told in sections(release, own).items())


def sections(release: Published, own: Words) -> dict[str, list[str]]:
    """The sections of a report, each with its paragraphs; those without words are left out."""
    certificate = release.certificate
    assumed = [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the bound: {release.bound.get('description', 'as the release says')}"
        + (";" if own.assumed else "."),
    ]
    missing = caveats(certificate)
    told: dict[str, Sequence[str]] = {
        "Not covered by the promise": missing,
        "What was published": own.published,
        "Who is protected": [*protected(certificate), *own.protected],
        "Warnings": [warning for warning in release.warnings() if warning not in missing],
        "What is promised": [*promised(certificate), *own.promised],
        "What is taken to be public": [*assumed, *own.assumed],
        "What the bound does": own.bounded,
        "How accurate it is": own.accurate,
        "What the promise does not cover": [*outside(), *own.uncovered],
        "Releasing again": again(certificate),
        "How to cite it": [release.cite()],
    }
    return {title: [*filter(None, words)] for title, words in told.items() if any(words)}


def _section(title: str, paragraphs: Iterable[str]) -> str:
    lines = [title, "-" * len(title)]
    for paragraph in paragraphs:
        hanging = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, LINE, subsequent_indent=hanging)
    return "\n".join(lines)


def _nothing(release: Published) -> str:
    if release.neighbours is Neighbours.ADD_REMOVE:
        return f"nothing about the number of {release.unit}s."
    return f"the number of {release.unit}s, but not how many of them could be used and were counted."


def counted(release: Published, made: str) -> list[str]:
    """What is taken to be public where units were counted in a domain."""
    units, unit = release.public_units, release.unit
    return [
        f"- the domain: {release.spoken_domain}; points outside count at its nearest end;",
        f"- how the noise is made: {made};",
        f"- {_nothing(release)}" if units is None else f"- the number of {unit}s: {units}.",
    ]
