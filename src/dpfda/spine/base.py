"""The base of the estimators: scikit-learn's, or in a process of the command one that loads at once."""

from __future__ import annotations

from typing import Self

# Whether this process is the command, which hands an estimator to nobody; set before one is imported.
COMMAND = False


class Plain:
    """In the place of scikit-learn's `BaseEstimator`, which takes longer to load than a plan to make."""

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
