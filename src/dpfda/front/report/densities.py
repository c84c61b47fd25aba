"""A released density in plain words: what it promises, to whom, on what assumptions, how accurately."""

from __future__ import annotations

import numpy as np

from dpfda.front.report.cautions import cautions
from dpfda.front.report.numbers import number
from dpfda.front.report.words import _again, _outside, _promised, _protected, _section, _software
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases.bands import Band
from dpfda.releases.density import ReleasedDensity
from dpfda.releases.histogram import ReleasedHistogram

LEVEL = 0.95


def public_units(release: ReleasedDensity) -> int | None:
    """Number of privacy units where the guarantee makes it public, else None."""
    if release.neighbours is Neighbours.ADD_REMOVE:
        return None
    if isinstance(release.raw, ReleasedHistogram):
        return release.raw.public_size
    return round(float(getattr(release.raw, "count", 0.0))) or None


def describe_density(release: ReleasedDensity) -> str:
    """Say in plain words what a released density promises, to whom, and how accurate it is.

    Parameters
    ----------
    release : ReleasedDensity

    Returns
    -------
    str
        A report that uses public information only.
    """
    like: object = release
    sections = [
        ("What was published", _published(release)),
        ("Who is protected", _protected(like)),  # type: ignore[arg-type]
        ("What is promised", _promised(like)),  # type: ignore[arg-type]
        ("What is taken to be public", _assumed(release)),
        ("How accurate it is", _accurate(release)),
        ("What the promise does not cover", _outside()),
        ("Releasing again", _again(like)),  # type: ignore[arg-type]
        ("How to cite it", [cited_density(release)]),
    ]
    objections = cautions(release.guarantee, public_units(release))
    if objections:
        sections.insert(3, ("Warnings", list(objections)))
    return "\n\n".join(_section(title, paragraphs) for title, paragraphs in sections)


def cited_density(release: ReleasedDensity) -> str:
    """Recommended wording for a publication."""
    unit, size = release.unit, public_units(release)
    whose = f"{size} {unit}s" if size is not None else f"a private number of {unit}s"
    like: object = release
    return (
        f"The density of {whose} was published under {release.guarantee}, with one {unit} as the "
        f"privacy unit and {release.neighbours} neighbours ({release.raw.mechanism['name']} mechanism)"
        f"{_software(like)}."  # type: ignore[arg-type]
    )


def _domain(release: ReleasedDensity) -> str:
    about = release.about
    names = [about.get("domain", "the axis"), *(about.get(f"domain_{i}", f"axis {i}") for i in (2, 3))]
    pairs = zip(names, release.domain_range, strict=False)
    return " and ".join(f"{name} from {a:g} to {b:g}" for name, (a, b) in pairs)


def _published(release: ReleasedDensity) -> list[str]:
    return [
        f"A probability density over {_domain(release)}: nowhere negative, with integral one. Random "
        f"noise was added to protect every {release.unit} behind it.",
        "It can be evaluated at any point, integrated, drawn, and used to draw synthetic data, as often "
        "as anyone likes. That costs no further privacy, because it uses the published function only.",
    ]


def _assumed(release: ReleasedDensity) -> list[str]:
    raw, size = release.raw, public_units(release)
    made = (
        raw.cells.describe()
        if isinstance(raw, ReleasedHistogram)
        else f"{raw.mechanism['name']} estimate"
    )
    lines = [
        "The following are assumed to be known to everyone, and are printed in the release. They must "
        "not have been chosen by looking at the data:",
        f"- the domain: {_domain(release)}; points outside count at its nearest end;",
        f"- how the density is made: {made}, {raw.noise.describe()};",
    ]
    if size is None:
        return [*lines, f"- nothing about the number of {release.unit}s."]
    return [*lines, f"- the number of {release.unit}s: {size}."]


def _accurate(release: ReleasedDensity) -> list[str]:
    band: Band = release.band(LEVEL)
    widths = (band.upper - band.lower) / 2
    lines = [
        f"With a probability of about {LEVEL:.0%} the noise moved the estimate, everywhere at once, by "
        f"no more than {number(float(np.median(widths)))} (typically; at most "
        f"{number(float(widths.max()))}) per unit of the domain, before it was made non-negative with "
        "integral one."
    ]
    raw = release.raw
    if isinstance(raw, ReleasedHistogram) and release.dimensions == 1:
        below = raw.cdf_band(LEVEL)
        largest = float(((below.upper - below.lower) / 2).max())
        lines.append(
            f"The share of {release.unit}s below any edge of a cell is known within {number(largest)}, "
            "at all edges at once, with that probability; no smoothing enters there."
        )
    lines.append(
        "This is the noise that protects privacy and nothing else. It does not include what smoothing "
        "left out, or how far these data are from a wider population."
    )
    return lines
