"""A comparison on Dask: whether every unit is in one group, then one exact sum a group.

Labels go through the cluster first, without values: how many units each group has, and whether one is in
two. Nothing else decides to which sum a record goes, so the sums are those of one fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpfda.errors import DataError, DpfdaError, ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Neighbours
from dpfda.publication import MeanPlan, Prepared
from dpfda.records.dask_arrays import along, deal_and_join, map_and_join, partitions, rows_chosen, sample
from dpfda.records.labels import Key, label_key, read_keys
from dpfda.summaries.clusters import MOST_BUCKETS, PrivateSum, bucket_of, joined, refused, sent, summed
from dpfda.summaries.clusters import total_of_blocks as total_of
from dpfda.summaries.pooled import PooledMean
from dpfda.summaries.streams import finished, open_summation


@dataclass(frozen=True)
class Groups:
    """The groups that are compared, by the keys of their names. Public.

    Parameters
    ----------
    keys : tuple
    strict : bool
        Whether a record of another group is refused.
    invalid : str
        As in `dpfda.Reading`.
    """

    keys: tuple[Key, ...]
    strict: bool
    invalid: str

    def codes(self, labels: Any) -> Any:
        """Number of each record's group, one past the last where it is none of them.

        Raises
        ------
        DataError
            If a label is missing, or of no group, and nothing is to be repaired.
        """
        found = read_keys(labels, "y", self.invalid)
        numbers = {key: number for number, key in enumerate(self.keys)}
        codes = np.array([numbers.get(key, len(numbers)) for key in found], dtype=np.int64)
        if self.strict and (codes == len(numbers)).any():
            raise DataError(
                "Every record must be in one of the groups of `levels`; found another label in row "
                f"{int(np.argmax(codes))}. Name all groups, or leave records out beforehand."
            )
        return codes

    def where(self, labels: Any, number: int) -> Any:
        """Which rows are of one group."""
        return self.codes(labels) == number


def compared(
    comparison: Any, levels: Sequence[Any], X: Any, y: Any, groups: Any
) -> list[Prepared[MeanPlan, IntegerSum]]:
    """Everything before the noise, for Dask arrays or data frames. Private.

    Parameters
    ----------
    comparison : PrivateComparison
    levels : sequence
        Public names of the groups.
    X, y, groups
        As in `PrivateComparison.fit`, in partitions.
    """
    settings, invalid = comparison.settings, comparison.settings.reading.invalid
    if groups is not None and invalid == "repair":
        words = "be 'refuse' for groups on a cluster, where the first of a person's records is not known"
        raise ParameterError("invalid", words, repr(invalid))
    replaced = Neighbours.parse(settings.unit.neighbours) is Neighbours.REPLACE_ONE
    known = Groups(tuple(map(label_key, levels)), replaced or invalid == "refuse", invalid)
    blocks, labels = partitions(X), along(X, y, "y")
    persons = None if groups is None else along(X, groups, "groups")
    counts = _counts(known, labels, persons)
    if replaced and 0 in counts:
        empty = str(levels[counts.index(0)])
        raise DataError(f"The group {empty!r} must have at least two units; found none.")
    parts = []
    for number, reader in enumerate(comparison._readers(levels, counts, sample(X))):
        where = partial(known.where, number=number)
        chosen = rows_chosen(blocks, labels, where)
        whose = None if persons is None else rows_chosen(persons, labels, where)
        summation = open_summation(reader._planned_on(sample(X), groups))
        total = total_of(PooledMean(settings, summation), chosen, whose)
        parts.append(finished(summation, total) if replaced else summation.prepared(total))
    return parts


def _counts(known: Groups, labels: Sequence[Any], persons: Sequence[Any] | None) -> list[int]:
    """How many units each group has. Public under replace-one neighbours, private else."""
    if persons is None:
        made = map_and_join(labels, partial(_counted, known), joined)
    else:
        buckets = min(len(labels), MOST_BUCKETS)
        deal = partial(_dealt_labels, known, buckets)
        made = deal_and_join(
            labels, persons, buckets, deal, partial(_counted_persons, len(known.keys)), joined
        )
    total = summed(made)
    return list(total.with_noise([0] * len(known.keys)))


def _counted(known: Groups, labels: Any, number: int) -> PrivateSum:
    try:
        counts = np.bincount(known.codes(labels), minlength=len(known.keys) + 1)[: len(known.keys)]
    except DpfdaError as error:
        return refused(f"In partition {number}: {error}")
    return sent(IntegerSum(len(known.keys)).add_totals(counts, len(labels)), number)


def _dealt_labels(known: Groups, buckets: int, labels: Any, persons: Any, number: int) -> list[Any]:
    try:
        keys = read_keys(persons, "groups", known.invalid)
        pairs = list(zip(keys, known.codes(labels).tolist(), strict=True))
    except DpfdaError as error:
        return [f"In partition {number}: {error}"] * buckets
    except ValueError:
        return [f"In partition {number}: groups must hold one label a record."] * buckets
    dealt: list[Any] = [[] for _ in range(buckets)]
    for key, code in dict.fromkeys(pairs):
        dealt[bucket_of(key, buckets)].append((key, code))
    return dealt


def _counted_persons(levels: int, dealt: Sequence[Any], number: int) -> PrivateSum:
    first: dict[Key, int] = {}
    for piece in dealt:
        if isinstance(piece, str):
            return refused(piece)
        for key, code in piece:
            if first.setdefault(key, code) != code:
                return refused(
                    "Every unit must be in one group; found a unit in two. Then its data would be "
                    "released twice and cost twice. Keep one group a unit."
                )
    counts = np.bincount(list(first.values()), minlength=levels + 1)[:levels]
    return sent(IntegerSum(levels).add_totals(counts, len(first)), number)
