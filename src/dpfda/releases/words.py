"""The report of a release in plain words: what all kinds say, around what a kind says of itself."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpfda.privacy.words import again, number, outside, promised, protected
from dpfda.releases.bands import Band

if TYPE_CHECKING:
    from dpfda.releases.base import Release

Floats = NDArray[np.float64]
LINE = 88
NOISE_ALONE = (
    "This is the noise that protects privacy and nothing else. It does not include what the bound cut "
    "off, what smoothing left out, or how far these data are from a wider population."
)


@dataclass(frozen=True)
class Words:
    """What a kind says of a release, by section of its report; general paragraphs stand before.

    Parameters
    ----------
    published, protected, promised, assumed, bounded, accurate, uncovered : sequence of str
        Paragraphs on what was published, who is protected, what is promised, what is taken to be
        public, what the bound does, how accurate it is, and what the promise does not cover.
    """

    published: Sequence[str]
    protected: Sequence[str] = ()
    promised: Sequence[str] = ()
    assumed: Sequence[str] = ()
    bounded: Sequence[str] = ()
    accurate: Sequence[str] = ()
    uncovered: Sequence[str] = ()


def report(release: Release, own: Words) -> str:
    """The sections of a report, in lines of at most 88 columns."""
    return "\n\n".join(_section(title, told) for title, told in sections(release, own).items())


def sections(release: Release, own: Words) -> dict[str, list[str]]:
    """The sections of a report, each with its paragraphs; those without words are left out."""
    certificate = release.certificate
    assumed = [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the bound: {release.bound.get('description', 'as the release says')}"
        + (";" if own.assumed else "."),
    ]
    told: dict[str, Sequence[str]] = {
        "What was published": own.published,
        "Who is protected": [*protected(certificate), *own.protected],
        "Warnings": release.warnings(),
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


def without_noise(band: Band, values: Floats, hidden: str, units: str) -> list[str]:
    """How far the published values may be from what a band for the noise alone holds."""
    far = band.reach(values)
    return [
        f"With a probability of about {band.level:.0%} {hidden} lies, everywhere at once, within "
        f"{number(float(np.median(far)))} of the published values (typically; at most "
        f"{number(float(far.max()))}; {units}).",
        NOISE_ALONE,
    ]


def noise_line(band: Band, values: Floats, units: str) -> str:
    """The same in one line."""
    far = band.reach(values)
    return (
        f"without it everywhere within {number(float(np.median(far)))} typically, "
        f"{number(float(far.max()))} at most, with probability {band.level:.0%}; {units}"
    )


def counted(release: Release, made: str) -> list[str]:
    """What is taken to be public where units were counted in a domain."""
    units, unit = release.public_units, release.unit
    return [
        f"- the domain: {release.spoken_domain}; points outside count at its nearest end;",
        f"- how the noise is made: {made};",
        f"- nothing about the number of {unit}s."
        if units is None
        else f"- the number of {unit}s: {units}.",
    ]
