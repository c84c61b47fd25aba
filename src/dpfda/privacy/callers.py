"""What the programs that call for a release tell of it: searches, ensembles, steps fitted before it.

scikit-learn tells an estimator neither that a search fits it nor what stands before it in a pipeline:
no tag, callback or metadata does in all versions from 1.6 on. So the stack of callers is read, here and
nowhere else: for names of scikit-learn's public modules, and for public attributes of objects that are
being fitted. A worker process of joblib runs scikit-learn's own functions and is told in the same way.

How many fits there are is counted by `__sklearn_clone__`, scikit-learn's public hook, through which
searches and ensembles copy an estimator for each fit. Only the process that copies knows the number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType
from weakref import WeakKeyDictionary

from dpfda.numerics.words import visible
from dpfda.privacy.caveats import ENSEMBLE, SEARCH, STEPS, Caveat

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
    number = max((_number(one) for one in _fitted_now()), default=1) if repeated else 1
    found = [Caveat(kind, number) for kind in (SEARCH, ENSEMBLE) if kind in repeated]
    steps = fitted_steps()
    return (*found, *([Caveat(STEPS, len(steps))] if steps else []))


def fitted_steps() -> list[str]:
    """Names of the steps that were fitted before what is fitted now, on the same data."""
    pipelines = _class("sklearn.pipeline", "Pipeline")
    targets = _class("sklearn.compose", "TransformedTargetRegressor")
    inside: set[int] = set()
    found: list[str] = []
    for one in _fitted_now():
        if isinstance(one, pipelines):
            found += _learned(_before(one, inside))
        elif isinstance(one, targets):
            found += _learned([("transformer", getattr(one, "transformer_", None))])
        inside.add(id(one))
    return found


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


def _number(one: object) -> int:
    with suppress(TypeError):
        return _NUMBERS.get(one, 1)
    return 1


def _class(module: str, name: str) -> type:
    """A class of a module, if that was imported; no object is of the class that is given else."""
    return getattr(sys.modules.get(module), name, _Nothing)


class _Nothing:
    pass


def _before(pipeline: object, inside: set[int]) -> list[tuple[str, object]]:
    """The steps of a pipeline before the one that is being fitted."""
    steps = [(visible(str(name)), step) for name, step in vars(pipeline).get("steps", ())]
    # A copy of a step is being fitted where the pipeline has a cache.
    last = next((i for i, (_, step) in enumerate(steps) if id(step) in inside), len(steps) - 1)
    return steps[:last]


def _learned(steps: list[tuple[str, object]]) -> list[str]:
    """Names of those that hold what they learned from values of the data."""
    found: list[str] = []
    for name, step in steps:
        held = getattr(step, "__dict__", {})
        inner = [part for entry in _INNER for part in held.get(entry) or ()]
        if inner:
            found += _learned([(str(part[0]), part[1]) for part in inner])
        # scikit-learn's convention. What a summary learned was released, and costs what it says.
        elif not hasattr(held.get("release_"), "certificate"):
            ends = {n for n in held if n.endswith("_") and not n.startswith("_")}
            found += [name] if ends - _OF_COLUMNS else []
    return found
