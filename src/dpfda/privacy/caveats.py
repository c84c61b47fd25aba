"""What a guarantee does not cover, as far as whatever calls for a release tells when it is charged.

A caveat is a kind and a number. Its words are made here, so that a file from elsewhere cannot bring
words of its own.

scikit-learn tells an estimator neither that a search fits it nor what stands before it in a pipeline:
no tag, callback or metadata does in all versions from 1.6 on. So the stack of callers is read, here and
nowhere else: for names of scikit-learn's public modules, and for public attributes of objects that are
being fitted. A worker process of joblib runs scikit-learn's own functions and is told in the same way.

How many fits there are is counted by `__sklearn_clone__`, scikit-learn's public hook, through which
searches and ensembles copy an estimator for each fit. Only the process that copies knows the number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Protocol
from weakref import WeakKeyDictionary

from dpfda.numerics.encoding import integer, mapping, sequence, text
from dpfda.numerics.errors import NotCoveredError, ParameterError
from dpfda.numerics.parameters import choice, whole
from dpfda.numerics.words import visible

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
        words = _TOLD[self.kind][1]
        if self.kind == STEPS:
            words = words.format(count="a step" if self.count == 1 else f"{self.count} steps")
        elif self.kind == OVERLAP:
            words = words.format(count=self.count)
        elif self.count > 1:
            others = "1 other fit" if self.count == 2 else f"{self.count - 1} other fits"
            words += f", beside at least {others} of its estimator"
        return f"{words}: {self.subject} {'are' if self.kind == ENSEMBLE else 'is'} not covered"

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
    ordered = sorted(caveats, key=lambda caveat: caveat.count)
    largest = {caveat.kind: caveat for caveat in ordered}
    return tuple(largest[kind] for kind in _TOLD if kind in largest)


def check_covered(listed: Sequence[HasCaveats]) -> None:
    """Refuse to add up what is more than its guarantee says.

    Raises NotCoveredError if one has caveats.
    """
    for place, release in enumerate(listed, start=1):
        if release.caveats:
            which = "The release" if len(listed) == 1 else f"Release {place} of {len(listed)}"
            words = "; ".join(map(str, release.caveats))
            remedies = " ".join(caveat.remedy for caveat in release.caveats)
            raise NotCoveredError(
                f"{which} must be no more than its guarantee covers; found one {words}. A sum that "
                f"counts it as one release would be too small. {remedies}",
                release.caveats,
            )


def checked_caveats(values: object) -> tuple[Caveat, ...]:
    """Several caveats, as a tuple."""
    caveats = tuple(values) if isinstance(values, Iterable) else ()
    if not all(isinstance(caveat, Caveat) for caveat in caveats):
        raise ParameterError("caveats", "be caveats", "others")
    return caveats


# What fits an estimator again and again on the same data or parts of it.
_REPEATING = {
    **dict.fromkeys(("model_selection", "feature_selection"), SEARCH),
    **dict.fromkeys(
        ("ensemble", "calibration", "inspection", "multiclass", "multioutput", "semi_supervised"),
        ENSEMBLE,
    ),
}
# Lists of (name, step, ...) in steps that consist of others.
_INNER = ("steps", "transformer_list", "transformers_")
# What is learned from the number and the names of columns, which are public.
_OF_COLUMNS = {"n_features_in_", "feature_names_in_", "n_output_features_"}

# How many callers repeat that a charge made in advance knows of; None where nothing was charged.
_CHARGED: ContextVar[int | None] = ContextVar("charged already", default=None)
_COPIES: WeakKeyDictionary[object, int] = WeakKeyDictionary()
_NUMBERS: WeakKeyDictionary[object, int] = WeakKeyDictionary()


def caveats_of_callers() -> tuple[Caveat, ...]:
    """What is known now of what a release that is made now does not cover."""
    repeated = set(_repeated())
    number = max((_number(estimator) for estimator in _fitted_now()), default=1) if repeated else 1
    caveats = [Caveat(kind, number) for kind in (SEARCH, ENSEMBLE) if kind in repeated]
    steps = fitted_steps()
    return (*caveats, *([Caveat(STEPS, len(steps))] if steps else []))


def fitted_steps() -> list[str]:
    """Names of the steps that were fitted before what is fitted now, on the same data."""
    pipelines = _class("sklearn.pipeline", "Pipeline")
    targets = _class("sklearn.compose", "TransformedTargetRegressor")
    inside: set[int] = set()
    names: list[str] = []
    for estimator in _fitted_now():
        if isinstance(estimator, pipelines):
            names += _learned(_before(estimator, inside))
        elif isinstance(estimator, targets):
            names += _learned([("transformer", getattr(estimator, "transformer_", None))])
        inside.add(id(estimator))
    return names


def count_copy(original: object, copied: object) -> None:
    """Number a copy of an estimator that was made for one of several fits."""
    if next(_repeated(), None) is not None:
        _COPIES[original] = _COPIES.get(original, 0) + 1
        # A search copies the estimator, and then that copy for each fit.
        _NUMBERS[copied] = max(_COPIES[original], _number(original))


@contextmanager
def already_charged() -> Iterator[None]:
    """For the runs of a selection that was charged as a whole, and for releases of public data."""
    before = _CHARGED.set(len(list(_repeating())))
    try:
        yield
    finally:
        _CHARGED.reset(before)


def is_charged() -> bool:
    """Whether what is released now was charged in advance, or is of public data."""
    return _CHARGED.get() is not None


def _callers() -> Iterator[FrameType]:
    """Frames of callers, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _repeating() -> Iterator[str]:
    """Kinds of the callers that fit again and again, outermost last."""
    for frame in _callers():
        first, _, rest = str(frame.f_globals.get("__name__", "")).partition(".")
        kind = _REPEATING.get(rest.partition(".")[0]) if first == "sklearn" else None
        if kind is not None:
            yield kind


def _repeated() -> Iterator[str]:
    """The same without those of which a charge made in advance knows."""
    kinds = list(_repeating())
    yield from kinds[: len(kinds) - (_CHARGED.get() or 0)]


def _fitted_now() -> Iterator[object]:
    """The objects whose methods to fit are running, innermost first."""
    for frame in _callers():
        code = frame.f_code
        # Only of these frames: reading local variables copies the references to all of them.
        if code.co_name.startswith("fit") and code.co_varnames[:1] == ("self",):
            yield frame.f_locals.get("self")


def _number(estimator: object) -> int:
    with suppress(TypeError):
        return _NUMBERS.get(estimator, 1)
    return 1


def _class(module: str, name: str) -> type | tuple[()]:
    """A class of a module, if that was imported; else none, of which no object is."""
    return getattr(sys.modules.get(module), name, ())


def _before(pipeline: object, inside: set[int]) -> list[tuple[str, object]]:
    """The steps of a pipeline before the one that is being fitted."""
    steps = [(visible(str(name)), step) for name, step in vars(pipeline).get("steps", ())]
    # A copy of a step is being fitted where the pipeline has a cache.
    last = next((i for i, (_, step) in enumerate(steps) if id(step) in inside), len(steps) - 1)
    return steps[:last]


def _learned(steps: list[tuple[str, object]]) -> list[str]:
    """Names of those that hold what they learned from values of the data."""
    names: list[str] = []
    for name, step in steps:
        attributes = getattr(step, "__dict__", {})
        inner = [part for entry in _INNER for part in attributes.get(entry) or ()]
        if inner:
            names += _learned([(str(part[0]), part[1]) for part in inner])
        # scikit-learn's convention. What a summary learned was released, and costs what it says.
        elif not hasattr(attributes.get("release_"), "certificate"):
            ends = {n for n in attributes if n.endswith("_") and not n.startswith("_")}
            names += [name] if ends - _OF_COLUMNS else []
    return names
