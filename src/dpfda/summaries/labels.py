"""Public words for a release and its plots, as every estimator takes them."""

from __future__ import annotations

from collections.abc import Mapping

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown


def read_labels(labels: object, boxes: bool = False) -> dict[str, str]:
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
    if not (labels is None or isinstance(labels, Mapping)):
        raise ParameterError("labels", "be a mapping such as {'domain': 'hour'}, or None", shown(labels))
    given = {} if labels is None else dict(labels)
    more = {"domain_2", "domain_3"} if boxes else set()
    if not set(given) <= {"domain", "value", "group"} | more:
        also = " (on boxes also 'domain_2' and 'domain_3')" if boxes else ""
        raise ParameterError("labels", f"have the keys 'domain' and 'value'{also}", shown(list(given)))
    if not all(isinstance(words, str) for words in given.values()):
        raise ParameterError("labels", "be words", shown(list(given.values())))
    return {key: str(words) for key, words in given.items()}
