"""An estimator's public parameters as JSON types, and the estimator again."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dpfda.bases.reading import basis_from_json
from dpfda.bounds.stated import STATED, bound_from_json
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import exact, shown
from dpfda.spine.choices import is_basis
from dpfda.spine.estimator import Estimator
from dpfda.spine.settings import Gathered

Made = TypeVar("Made", bound=Estimator)
# A sum of custodians or of machines is charged where it is published.
_LEFT_OUT = ("ledger",)
_PRIVACY, _OTHERS = ("epsilon", "delta", "rho"), str | Decimal | np.generic


def written_parameters(estimator: Estimator) -> dict[str, object]:
    """Parameters that are not the defaults, and fields of those that are objects, by their own names.

    Raises
    ------
    ParameterError
        If one is an object that JSON cannot hold, such as a function of the user's own.

    Examples
    --------
    >>> from dpfda import PrivateMean
    >>> written_parameters(PrivateMean(1, bounds=(0, 2), unit="person", missing="complete"))
    {'bounds': [0, 2], 'epsilon': 1, 'missing': 'complete', 'name': 'person'}
    """
    defaults = type(estimator)().get_params(deep=False)
    made: dict[str, object] = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _LEFT_OUT or value is None:
            continue
        if isinstance(value, Gathered) and name in estimator._gathered:
            plain = type(value)()
            fields = value.get_params().items()
            made |= {field: each for field, each in fields if not _same(each, getattr(plain, field))}
        elif name in estimator._gathered and (field := estimator._gathered[name][0].shorthand):
            made[field] = value
        elif not _same(value, defaults[name]):
            made[name] = value
    # What is agreed on is the number that is read, however it was written.
    made |= {name: exact(made[name], name) for name in _PRIVACY if isinstance(made.get(name), _OTHERS)}
    return {name: _written(value, name) for name, value in sorted(made.items())}


def estimator_from(kind: type[Made], written: Mapping[str, object]) -> Made:
    """The estimator whose parameters `written_parameters` wrote."""
    return kind(**{name: _read(value) for name, value in written.items()})


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is other
    return one is other or bool(one == other)


def _written(value: Any, name: str) -> Any:
    made: object = value
    if isinstance(value, Fraction):
        made = {"fraction": f"{value.numerator}/{value.denominator}"}
    elif isinstance(value, np.ndarray | np.generic):
        made = value.tolist()
    elif isinstance(value, list | tuple):
        made = [_written(each, name) for each in value]
    elif isinstance(value, Mapping):
        made = {"mapping": {str(key): _written(each, name) for key, each in value.items()}}
    elif type(value) in STATED.values():
        made = {"bound": value.to_json()}
    elif is_basis(value):
        made = {"basis": value.to_json()}
    elif not isinstance(value, bool | int | float | str):
        raise ParameterError(name, "be something that a file can hold", shown(value))
    return made


def _read(value: object) -> object:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "fraction":
        return Fraction(inner)
    if kind == "mapping":
        return {key: _read(each) for key, each in inner.items()}
    if kind == "bound":
        return bound_from_json(inner)
    return basis_from_json(inner)
