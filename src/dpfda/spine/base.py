"""The base of the estimators: scikit-learn's, or in a process of the command one that loads at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypeVar

Method = TypeVar("Method")
Owner = TypeVar("Owner")
# Whether this process is the command, which hands an estimator to nobody; set before one is imported.
COMMAND = False


class Plain:
    """Instead of scikit-learn's `BaseEstimator`, which takes longer to load than a plan to make."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls.__signature__.parameters)  # type: ignore[attr-defined]

    def get_params(self, deep: bool = False) -> dict[str, object]:
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: object) -> Self:
        for name, value in params.items():
            setattr(self, name, value)
        return self


def base() -> type:
    """The class that estimators of this process derive from."""
    if COMMAND:
        return Plain
    from sklearn.base import BaseEstimator

    return BaseEstimator  # type: ignore[no-any-return]


def mixin(name: str) -> type:
    """What else an estimator derives from, by its name in `sklearn.base`; nothing in the command."""
    if COMMAND:
        return type(name, (), {})
    import sklearn.base

    sklearn_base: type = getattr(sklearn.base, name)
    return sklearn_base


def available_if(check: Callable[[Owner], bool]) -> Callable[[Method], Method]:
    """scikit-learn's `available_if`, for methods that not all have; in the command all have them."""
    if COMMAND:
        return lambda method: method
    from sklearn.utils import metaestimators

    return metaestimators.available_if(check)  # type: ignore[no-any-return]
