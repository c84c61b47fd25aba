"""Released covariances, components and comparisons in plain words: what they promise, and to whom."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpfda.front.report.cautions import cautions
from dpfda.front.report.numbers import number
from dpfda.front.report.words import _again, _outside, _promised, _protected, _section, _software
from dpfda.releases.comparison import ReleasedComparison
from dpfda.releases.components import ReleasedComponents
from dpfda.releases.covariance import ReleasedCovariance

SecondOrder = ReleasedCovariance | ReleasedComponents


def describe_second_order(release: SecondOrder) -> str:
    """Say in plain words what a released covariance, or its components, promises and to whom.

    Parameters
    ----------
    release : ReleasedCovariance or ReleasedComponents

    Returns
    -------
    str
        A report that uses public information only.
    """
    like: Any = release
    sections = [
        ("What was published", _published(release)),
        ("Who is protected", _protected(like)),
        ("What is promised", [*_promised(like), *_budget(release)]),
        ("What is taken to be public", _assumed(release)),
        ("How accurate it is", _accurate(release)),
        ("What the promise does not cover", [*_outside(), *_time(release)]),
        ("Releasing again", _again(like)),
        ("How to cite it", [_cited(release)]),
    ]
    objections = cautions(release.guarantee, None)
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)


def describe_comparison(release: ReleasedComparison) -> str:
    """Say in plain words what released means of groups promise, and to whom.

    Parameters
    ----------
    release : ReleasedComparison

    Returns
    -------
    str
        A report that uses public information only.
    """
    like: Any = release
    composition = release.describe_composition()
    sections = [
        (
            "What was published",
            [
                f"The mean curves of {len(release.names)} groups ({', '.join(release.names)}), each "
                f"with random noise added to protect every {release.unit} behind it. Their differences, "
                "and anything else that is made of them, cost no further privacy.",
            ],
        ),
        ("Who is protected", [*_protected(like), f"{composition[0].upper()}{composition[1:]}."]),
        ("What is promised", ["All groups together:", *_promised(like)]),
        ("How accurate it is", _differences(release)),
        ("What the promise does not cover", _outside()),
        ("Releasing again", _again(like)),
    ]
    objections = cautions(release.guarantee, None)
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)


def _published(release: SecondOrder) -> list[str]:
    start, end = release.domain_range
    axis = release.about.get("domain", "the axis")
    if isinstance(release, ReleasedCovariance):
        what = "A covariance function of pairs of points"
    else:
        what = f"{release.count} principal component{'s' if release.count > 1 else ''} with variances,"
    return [
        f"{what} over {axis} from {start:g} to {end:g}. Random noise was added to protect every "
        f"{release.unit} behind it.",
        "It can be evaluated anywhere, drawn and passed on as often as anyone likes. That costs no "
        "further privacy, because it uses the published numbers only.",
    ]


def _budget(release: SecondOrder) -> list[str]:
    parts = dict(release.mechanism["budget"])
    if len(parts) == 1:
        return []
    return [
        f"The promise is for all parts together: {'; '.join(f'{k}, {v}' for k, v in parts.items())}."
    ]


def _assumed(release: SecondOrder) -> list[str]:
    center = {
        "private": "released with a part of the budget",
        "pairs": "none: differences of pairs were used, in a public order",
        "of the bound": "the middle of the bound",
    }.get(str(release.about.get("center")), "a public curve, which is in the file")
    return [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the bound: {release.bound['description']};",
        f"- the center: {center};",
        f"- the functions: the {release.basis.eigenvalues.size} leading ones of the "
        f"{release.basis.describe()}.",
    ]


def _accurate(release: SecondOrder) -> list[str]:
    found = release.components() if isinstance(release, ReleasedCovariance) else release
    if found.floor is None:
        return ["The release does not say what its noise amounts to."]
    above = int(np.sum(found.variances > found.floor))
    return [
        f"With a probability of 95% the noise alone has no eigenvalue above {number(found.floor)}. "
        f"Of the released variances, {', '.join(number(float(v)) for v in found.variances)}, "
        f"{above} lie above it; others may be noise.",
        "This is about the privacy noise. Clipping, the choice of functions and sampling add errors of "
        "their own.",
    ]


def _time(release: SecondOrder) -> list[str]:
    if release.mechanism["name"] != "exponential":
        return []
    return [
        "- The time that drawing the directions took: how many draws are rejected depends on the data."
    ]


def _cited(release: SecondOrder) -> str:
    what = "covariance function" if isinstance(release, ReleasedCovariance) else "principal components"
    like: Any = release
    return (
        f"The {what} was published under {release.guarantee}, with one {release.unit} as the privacy "
        f"unit and {release.neighbours} neighbours ({release.mechanism['name']} mechanism)"
        f"{_software(like)}."
    )


def _differences(release: ReleasedComparison) -> list[str]:
    first = release.names[0]
    lines = []
    for name in release.names[1:]:
        band = release.difference(first, name).band()
        outside = not band.contains(np.zeros(band.points.shape[0]))
        verdict = "leaves zero somewhere" if outside else "contains zero everywhere"
        half = number(float(np.median(band.upper - band.lower)) / 2)
        lines.append(
            f"{first} minus {name}: with a probability of 95% the noise moved the difference, "
            f"everywhere at once, by no more than {half} (typically). The band around it {verdict}."
        )
    return [
        *lines,
        "The band is about the privacy noise alone. Whether the groups differ in the population is "
        "another question, for sampling adds an error of its own.",
    ]
