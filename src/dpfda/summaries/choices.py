"""The public choices that estimators share, checked in one place before any record is read."""

from __future__ import annotations

from typing import Any

from dpfda.bases.protocol import BoxFunctions
from dpfda.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.guarantees import Guarantee
from dpfda.summaries.estimator import Estimator

_BASIS = ("weights", "eigenvalues", "evaluate", "truncate", "describe", "to_json")


def check_choices(estimator: Estimator) -> Guarantee:
    """Check what an estimator was given of epsilon, delta, unit and the like.

    Returns
    -------
    Guarantee
        The one that is asked for.

    Raises
    ------
    ParameterError
        If one cannot be used. Nothing was read, charged or drawn.
    """
    guarantee = estimator.asked()
    _ = estimator.settings, estimator.paying()
    check_basis(getattr(estimator, "basis", None))
    return guarantee


def check_basis(basis: Any) -> None:
    """Check that a basis is one, or a kernel or the words for one.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if not (basis is None or is_basis(basis) or isinstance(basis, str) or callable(basis)):
        raise ParameterError(
            "basis",
            "be a basis, such as CosineBasis.on_grid(...), a kernel, words such as 'matern:10%:1.5', "
            "or None",
            shown(basis),
        )


def refuse_public_size(size: Any) -> None:
    """Refuse a public number of units where the number of units is public anyway.

    Raises
    ------
    ParameterError
        If one is given.
    """
    if size is not None:
        raise ParameterError(
            "public_size",
            "be None under replace-one neighbours, where the number of units is public",
            shown(size),
        )


def is_basis(basis: Any) -> bool:
    """Whether functions are given, rather than a kernel whose eigenfunctions are taken."""
    made = not isinstance(basis, type) and all(hasattr(basis, name) for name in _BASIS)
    return isinstance(basis, BoxFunctions) or made


__all__ = ["check_basis", "check_choices", "is_basis", "refuse_public_size"]
