"""A released predictor in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dpfda.front.report.cautions import cautions
from dpfda.front.report.words import _again, _outside, _promised, _protected, _section, _software

if TYPE_CHECKING:
    from dpfda.releases.predictor import ReleasedPredictor

LONGEST = 8


def describe_predictor(release: ReleasedPredictor) -> str:
    """Say in plain words what a released predictor promises, and to whom.

    Parameters
    ----------
    release : ReleasedPredictor

    Returns
    -------
    str
        A report with lines of at most 88 columns. It uses public information only.
    """
    # These sections use what all releases have: guarantee, neighbours and unit.
    shared = cast(Any, release)
    sections = [
        ("What was published", _published(release)),
        ("Who is protected", _protected(shared)),
        ("What is promised", _promised(shared)),
        ("What is taken to be public", _assumed(release)),
        ("What the promise does not cover", _outside()),
        ("Releasing again", _again(shared)),
        ("How to cite it", [cited_predictor(release)]),
    ]
    objections = cautions(release.guarantee, release.size)
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)


def cited_predictor(release: ReleasedPredictor) -> str:
    """Recommended wording for a publication."""
    return (
        f"The {release.task} function of {release.size} {release.unit}s was published under "
        f"{release.guarantee}, with one {release.unit} as the privacy unit and {release.neighbours} "
        f"neighbours ({release.loss} loss, noise by the {release.mechanism['name']} road)"
        f"{_software(cast(Any, release))}."
    )


def _published(release: ReleasedPredictor) -> list[str]:
    inputs = f"{release.dimensions} input{'' if release.dimensions == 1 else 's'}"
    if release.classes:
        first, second = release.classes
        kind = f"A function of {inputs} that is above zero where it predicts {second!r}, else {first!r}."
    else:
        kind = f"A function of {inputs} that predicts {release.about.get('value', 'a number')}."
    return [
        f"{kind} Random noise was added to protect every {release.unit} behind it.",
        "It can be evaluated at any point, drawn, copied and mailed as often as anyone likes. That "
        "costs no further privacy, because it uses the published function only.",
    ]


def _assumed(release: ReleasedPredictor) -> list[str]:
    names = [name.strip() for name in str(release.about.get("domain", "")).split(",")]
    if len(names) != release.dimensions or not names[0]:
        names = [f"input {i + 1}" for i in range(release.dimensions)]
    bounds = [
        f"{name} from {low:g} to {high:g}"
        for name, (low, high) in zip(names, release.domain_range, strict=True)
    ]
    more = f" and {len(bounds) - LONGEST} more" if len(bounds) > LONGEST else ""
    if release.classes:
        target = f"the classes: {release.classes[0]!r} and {release.classes[1]!r}"
    else:
        low, high = release.center - release.half_width, release.center + release.half_width
        target = f"the bounds of the target: {low:g} to {high:g}"
    return [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the bounds of the inputs: {', '.join(bounds[:LONGEST])}{more}; values outside were moved to "
        "the nearer bound;",
        f"- {target};",
        f"- the features: {release.features.describe()};",
        f"- the loss ({release.loss}) and the penalty on rough functions "
        f"({release.mechanism['psi']:.3g});",
        f"- how the noise is made: {release.mechanism['name']} road, {release.noise.describe()};",
        f"- the number of {release.unit}s: {release.size}.",
    ]
