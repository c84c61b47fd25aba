"""What a release costs, written once; what it is charged to; and the charge, before noise is drawn."""

from __future__ import annotations

import datetime
import platform
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, cast

from dpfda.noise import AnyNorm, NoiseLaw, Width, achieved_guarantee
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, achieved_symmetric
from dpfda.numerics.errors import (
    DpfdaError,
    FittedStepWarning,
    LedgerError,
    ParameterError,
    RepeatedReleaseWarning,
)
from dpfda.numerics.words import visible
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, within
from dpfda.privacy.ledger import Reservation, named_ledger

if TYPE_CHECKING:
    from dpfda.privacy.ledger.dataset import Chargeable

# What fits an estimator again and again on parts of the same data.
_REPEATING = ("model_selection", "ensemble", "calibration", "feature_selection", "inspection")
_REPEATERS = tuple(f"sklearn.{name}" for name in _REPEATING)
# Once a process: Python's own register of warnings is emptied wherever filters are changed.
WARNED: set[type[Warning]] = set()
_CHARGED: ContextVar[bool] = ContextVar("charged already", default=False)


def certified_entry(
    costs: Mapping[str, Cost], entry: Mapping[str, object], mechanism: Mapping[str, object] | None = None
) -> Certificate:
    """As `certified`, from the public description that goes into the ledger's history."""
    return Certificate.charged(
        costs,
        Neighbours.parse(entry["neighbours"]),
        str(entry["privacy_unit"]),
        {"description": entry["bound"]},
        {"name": entry["mechanism"]} if mechanism is None else mechanism,
    )


def recomputed(
    noise: NoiseLaw | SymmetricNoise, norm: AnyNorm, width: Width | OuterDifference, part: Guarantee
) -> Guarantee:
    """The guarantee of the scales in force, which must not exceed the part of the budget.

    Laws on matrices are held to an `OuterDifference`, which says all norms.

    Raises
    ------
    DpfdaError
        If it does.
    """
    if isinstance(width, OuterDifference):
        achieved = achieved_symmetric(cast("SymmetricNoise", noise), width, part)
    else:
        achieved = achieved_guarantee(cast("NoiseLaw", noise), norm, width, part)
    if not within(achieved, part):
        raise DpfdaError(f"The mechanism's noise gives {achieved}, which is more than {part}.")
    return achieved


def stamp() -> dict[str, object]:
    """Date and versions that a release carries."""
    return {
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": dict(_versions()),
    }


@cache
def _versions() -> dict[str, str]:
    # Looked up once: a search of the file system takes longer than a small release. Slow to load.
    from importlib.metadata import version

    packages = ("dpfda", "numpy", "python-flint")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


class Paying(NamedTuple):
    """What a release is charged to.

    Parameters
    ----------
    ledger : Ledger or Reservation, optional
        By default the one that the environment names, if it does.
    dataset : str, optional
        Name of the data set in it.
    """

    ledger: Chargeable | Reservation | None = None
    dataset: str | None = None


NAMED = Paying()


def charge(paying: Paying, certificate: Certificate, entry: Mapping[str, object]) -> None:
    """Charge the costs in a certificate, if a ledger is given or named once, before any noise is drawn.

    A fit that scikit-learn repeats (a fold, a candidate) must draw on a reservation: only then is the
    whole search refused before its first charge.

    Raises
    ------
    ParameterError
        If there is a ledger and the data set has no name.
    BudgetError
        If the ledger refuses.
    LedgerError
        If the fit is one of many and its ledger is no reservation.
    """
    account, dataset = paying
    if account is None and _CHARGED.get():
        return
    _warn_of_fitted_steps()
    if account is None:
        named = named_ledger(dataset)
        if named is None:
            _warn_of_repetition()
            return
        account, dataset = named
    if dataset is None:
        raise ParameterError("dataset", "name the data set that the ledger charges", "None")
    if not isinstance(account, Reservation) and _repeated():
        raise LedgerError(
            f"Each fit of a search or cross-validation is a release from {dataset!r}, and all of them "
            "must be charged before the first; found a ledger. Pass ledger.reserve(dataset, guarantee, "
            "times) as the estimator's ledger: candidates times folds, and one more for refitting. "
            "Nothing was charged."
        )
    account.charge(dataset, certificate.costs, {**entry, "release": certificate.identity})


@contextmanager
def already_charged() -> Iterator[None]:
    """For the runs of a selection that was charged as a whole, and for releases of public data."""
    before = _CHARGED.set(True)
    try:
        yield
    finally:
        _CHARGED.reset(before)


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _repeated() -> bool:
    """Whether scikit-learn fits here again and again: told by who called, whatever the data are."""
    names = (str(frame.f_globals.get("__name__", "")) for frame in _callers())
    return any(name.startswith(_REPEATERS) for name in names)


def _warn_of_repetition() -> None:
    if RepeatedReleaseWarning not in WARNED and _repeated():
        WARNED.add(RepeatedReleaseWarning)
        warnings.warn(
            "Each fit of a search or cross-validation is a release of the same private data, and the "
            "losses add up. Name a ledger, or tune on public data (dpfda.summaries.tuning).",
            RepeatedReleaseWarning,
            stacklevel=3,
        )


def _warn_of_fitted_steps() -> None:
    if FittedStepWarning not in WARNED and (fitted := _fitted_steps()):
        WARNED.add(FittedStepWarning)
        warnings.warn(
            f"The steps {', '.join(fitted)} of the pipeline were fitted on private data, so that a "
            "record changes others before the summary reads them: the guarantee does not hold for that. "
            "Use steps with public constants that read one record at a time.",
            FittedStepWarning,
            stacklevel=3,
        )


def _fitted_steps() -> list[str]:
    """Steps before a summary in a scikit-learn pipeline that hold what they learned, by their names."""
    for frame in _callers():
        if frame.f_globals.get("__name__") == "sklearn.pipeline":
            steps = getattr(frame.f_locals.get("self"), "steps", ())
            return [visible(str(name)) for name, step in steps[:-1] if _learned(step)]
    return []


def _learned(step: object) -> bool:
    # scikit-learn's convention: what was learned ends in an underscore. The number of columns is public.
    learned = {n for n in getattr(step, "__dict__", {}) if n.endswith("_") and not n.startswith("_")}
    return bool(learned - {"n_features_in_", "feature_names_in_"})
