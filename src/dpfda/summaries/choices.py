"""The public choices that estimators share, checked in one place before any record is read."""

from __future__ import annotations

from typing import Any

from dpfda.bases.protocol import BoxFunctions
from dpfda.errors import ParameterError
from dpfda.numerics.parameters import choice, flag, real, shown, whole
from dpfda.privacy.budgets import budget
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP
from dpfda.summaries.labels import read_labels

_BASIS = ("weights", "eigenvalues", "evaluate", "truncate", "describe", "to_json")


def check_choices(estimator: Any) -> PureDP | ApproximateDP:
    """Check what an estimator was given of epsilon, delta, neighbours and the like.

    Returns
    -------
    PureDP or ApproximateDP
        The guarantee that is asked for.

    Raises
    ------
    ParameterError
        If one cannot be used. Nothing was read, charged or drawn.
    """
    guarantee = budget(estimator.epsilon, estimator.delta)
    Neighbours.parse(estimator.neighbours)
    choice(estimator.invalid, "invalid", ("refuse", "repair"))
    if hasattr(estimator, "missing"):
        choice(estimator.missing, "missing", ("refuse", "complete"))
        real(estimator.smoothing, "smoothing", 0.0, 1e100)
        flag(estimator.standardize, "standardize")
        _check_basis(estimator.basis)
    _check_words(estimator)
    read_labels(estimator.labels, boxes=True)
    _check_ledger(estimator.ledger, estimator.dataset)
    return guarantee


def check_public_size(value: Any) -> int | None:
    """A positive number of units, or None."""
    return None if value is None else whole(value, "public_size", words="be a positive integer")


def _check_basis(basis: Any) -> None:
    made = not isinstance(basis, type) and all(hasattr(basis, name) for name in _BASIS)
    if not (basis is None or isinstance(basis, BoxFunctions) or made):
        raise ParameterError(
            "basis",
            "be a basis, such as CosineBasis.on_grid(...), or None",
            shown(basis),
            "Or use kernel.",
        )


def _check_words(estimator: Any) -> None:
    unit = estimator.unit
    if not (unit is None or (isinstance(unit, str) and unit)):
        raise ParameterError("unit", "be a word for who is protected, or None", shown(unit))


def _check_ledger(ledger: Any, dataset: Any) -> None:
    if ledger is None:
        return
    if not callable(getattr(ledger, "charge", None)) or isinstance(ledger, type):
        raise ParameterError("ledger", "be a ledger, such as FileLedger(path), or None", shown(ledger))
    if not (isinstance(dataset, str) and dataset):
        raise ParameterError("dataset", "name the data set that the ledger charges", shown(dataset))


__all__ = ["check_choices", "check_public_size"]
