"""What a kind of release says of itself in plain words, and phrases that several kinds say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dpfda.privacy.words import number
from dpfda.releases.bands import Band

LINE = 88
# The unit at the end of a label such as "age (years)".
UNIT = re.compile(r"\(([^()]+)\)$")
TIMES = re.compile(r"^(year|month|week|day|hour|minute|second)s$")
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


class Banded(Protocol):
    """A release with a default band for the noise around its values."""

    @property
    def band(self) -> Callable[[], Band]: ...
    def __call__(self, points: Any, /) -> Any: ...


def without_noise(release: Banded, hidden: str, units: str) -> list[str]:
    """How far the published values may be from what a band for the noise alone holds."""
    band = release.band()
    far = band.reach(np.atleast_1d(release(band.points)))
    return [
        f"With a probability of about {band.level:.0%} {hidden} lies, everywhere at once, within "
        f"{number(float(np.median(far)))} of the published values (typically; at most "
        f"{number(float(far.max()))}; {units}).",
        NOISE_ALONE,
    ]


def noise_line(release: Banded, units: str) -> dict[str, str]:
    """The same in one line, for a terminal."""
    band = release.band()
    far = band.reach(np.atleast_1d(release(band.points)))
    said = (
        f"without it everywhere within {number(float(np.median(far)))} typically, "
        f"{number(float(far.max()))} at most, with probability {band.level:.0%}; {units}"
    )
    return {"noise": said}


def per_axis(about: Mapping[str, object], order: int) -> str:
    """What a derivative is one over: the unit in brackets in the label of the axis, where it has one."""
    unit = UNIT.search(str(about.get("domain", "")))
    if unit is None:
        return "per unit of the axis"
    return "per " + TIMES.sub(r"\1", unit[1]) + (f"^{order}" if order > 1 else "")


def density_label(about: Mapping[str, object], dimensions: int) -> str:
    """What a density is one over: the units in brackets in all labels of axes."""
    keys = [f"domain_{i + 1}" if i else "domain" for i in range(dimensions)]
    units = [UNIT.search(str(about.get(key, ""))) for key in keys]
    known = [unit[1] for unit in units if unit]
    if len(known) == dimensions:
        return str(about.get("value", f"density (one over {' times '.join(known)})"))
    whole = "the axis" if dimensions == 1 else "area" if dimensions == 2 else "volume"
    return str(about.get("value", f"density (per unit of {whole})"))
