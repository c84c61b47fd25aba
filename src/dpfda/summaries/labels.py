"""Public words for a release and its plots, as every estimator takes them."""

from __future__ import annotations

from typing import Any

from dpfda.errors import ParameterError


def read_labels(labels: Any, boxes: bool = False) -> dict[str, str]:
    """Read the `labels` argument of an estimator.

    Parameters
    ----------
    labels : mapping or None
        Words by key. Public.
    boxes : bool
        Whether there may be a second and a third variable.

    Raises
    ------
    ParameterError
        If a key is none of those that releases know.
    """
    given = {} if labels is None else dict(labels)
    more = {"domain_2", "domain_3"} if boxes else set()
    if not set(given) <= {"domain", "value"} | more:
        also = " (on boxes also 'domain_2' and 'domain_3')" if boxes else ""
        raise ParameterError("labels", f"have the keys 'domain' and 'value'{also}", sorted(given))
    return {key: str(words) for key, words in given.items()}
