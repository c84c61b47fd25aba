"""What a guarantee does not cover, as far as it was known when the release was charged.

A caveat is a kind and a number. Its words are made here, so that a file from elsewhere cannot bring
words of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dpfda.numerics.encoding import integer, mapping, sequence, text
from dpfda.numerics.errors import NotCoveredError, ParameterError
from dpfda.numerics.parameters import choice, whole

SEARCH, ENSEMBLE, STEPS, OVERLAP = "search", "ensemble", "fitted-steps", "overlap"
# Of each kind: what is not covered, how it came about, and what to do instead.
_TOLD = {
    SEARCH: (
        "the search it was made in",
        "made inside a search or cross-validation",
        "Fit once with parameters that were chosen without these data, tune on public data "
        "(dpfda.tuning.cross_validate), or choose by private_selection.",
    ),
    ENSEMBLE: (
        "the other fits it was made with",
        "made by a meta-estimator that fits the same data several times",
        "Fit the estimator by itself.",
    ),
    STEPS: (
        "what steps before it learned from the same data",
        "made from data that went through {count} fitted on the same data",
        "Use steps with public constants that read one record at a time, or put steps that were fitted "
        "on public data into sklearn.frozen.FrozenEstimator.",
    ),
    OVERLAP: (
        "a unit with records in more than one of them",
        "made of {count} releases that were said to have no unit in common",
        "For a unit in several, what these cost adds up. Where losses are added, name them, not this.",
    ),
}
_MOST = 10**9


@dataclass(frozen=True)
class Caveat:
    """One thing that a guarantee does not cover.

    kind: {"search", "ensemble", "fitted-steps", "overlap"}. A search or cross-validation by
        scikit-learn, a meta-estimator of it that fits several times, steps before the estimator that
        were fitted on the same data, or releases that were combined as of different units.
    count: Fits of the estimator so far, as far as they are known, with this one; or the number of steps
        or of releases.
    Raises ParameterError if the kind is not known, or the count not positive.
    """

    kind: str
    count: int

    def __post_init__(self) -> None:
        choice(self.kind, "kind", tuple(_TOLD))
        whole(self.count, "count", 1, _MOST)

    @property
    def subject(self) -> str:
        """What is not covered, in few words."""
        return _TOLD[self.kind][0]

    @property
    def remedy(self) -> str:
        """What to do instead."""
        return _TOLD[self.kind][2]

    def __str__(self) -> str:
        said = _TOLD[self.kind][1]
        if self.kind == STEPS:
            said = said.format(count="a step" if self.count == 1 else f"{self.count} steps")
        elif self.kind == OVERLAP:
            said = said.format(count=self.count)
        elif self.count > 1:
            others = "1 other fit" if self.count == 2 else f"{self.count - 1} other fits"
            said += f", beside at least {others} of its estimator"
        return f"{said}: {self.subject} {'are' if self.kind == ENSEMBLE else 'is'} not covered"

    def to_json(self) -> dict[str, object]:
        """As JSON types, also in words, which are not read back."""
        return {"kind": self.kind, "count": self.count, "words": str(self)}


class HasCaveats(Protocol):
    """What says for itself what it does not cover."""

    @property
    def caveats(self) -> tuple[Caveat, ...]: ...


def caveats_from_json(written: Mapping[str, object]) -> tuple[Caveat, ...]:
    """The caveats beside other entries; none in files that were written before there were any.

    Raises ValueError if they are not kinds and counts.
    """
    parts = map(mapping, sequence(written.get("caveats", [])))
    return tuple(Caveat(text(part["kind"]), integer(part["count"], 1, _MOST)) for part in parts)


def joined(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """Each kind once, with its largest count."""
    kept = sorted(caveats, key=lambda caveat: caveat.count)
    largest = {caveat.kind: caveat for caveat in kept}
    return tuple(largest[kind] for kind in _TOLD if kind in largest)


def check_covered(listed: Sequence[HasCaveats]) -> None:
    """Refuse to add up what is more than its guarantee says.

    Raises NotCoveredError if one has caveats.
    """
    for place, made in enumerate(listed, start=1):
        if made.caveats:
            which = "The release" if len(listed) == 1 else f"Release {place} of {len(listed)}"
            told = "; ".join(map(str, made.caveats))
            remedies = " ".join(caveat.remedy for caveat in made.caveats)
            raise NotCoveredError(
                f"{which} must be no more than its guarantee covers; found one {told}. A sum that "
                f"counts it as one release would be too small. {remedies}",
                made.caveats,
            )


def checked_caveats(given: object) -> tuple[Caveat, ...]:
    """Several caveats, as a tuple."""
    found = tuple(given) if isinstance(given, Iterable) else ()
    if not all(isinstance(each, Caveat) for each in found):
        raise ParameterError("caveats", "be caveats", "others")
    return found
