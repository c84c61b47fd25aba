"""A release of any kind in plain words, from what every release has: its certificate."""

from __future__ import annotations

from typing import Any

from dpfda.front.report.cautions import cautions
from dpfda.front.report.words import _again, _outside, _promised, _protected, _section


def describe_certified(release: Any) -> str:
    """Say in plain words what a release promises and to whom, whatever kind it is of.

    Parameters
    ----------
    release : Certified
        With a certificate.

    Returns
    -------
    str
        A report that uses public information only.
    """
    certificate = release.certificate
    sections = [
        ("What was published", [" ".join(repr(release).split())]),
        ("Who is protected", _protected(release)),
        ("What is promised", _promised(release)),
        (
            "What is taken to be public",
            [
                "The following are assumed to be known to everyone, and must not have been chosen by "
                "looking at the data:",
                f"- the bound: {certificate.bound.get('description', 'as the release says')};",
                f"- how the noise is made: {certificate.mechanism.get('name', 'as the release says')}.",
            ],
        ),
        ("What the promise does not cover", _outside()),
        ("Releasing again", _again(release)),
    ]
    objections = cautions(release.guarantee, None)
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)
