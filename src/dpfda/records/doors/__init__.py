"""Kinds of containers, found by scan: a file in this folder with a `Door` is found by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.scan import classes_in

# What a door opens: a class of another library.
Held = TypeVar("Held")
# Exact types that need no door: the most frequent ones.
PLAIN = (np.ndarray, list, tuple, type(None))


class Handed(NamedTuple):
    """Records as they were handed over, taken apart by their public side.

    values: The records' cells alone. Private.
    groups: Label of each record's privacy unit. Private.
    grid: array (m,), tuple of d arrays, or None. The points that labels or coordinates spell; along each
        variable for functions on a box.
    domain_range: (float, float) or None. The domain, where the container says one.
    """

    values: Any
    groups: Any
    grid: Floats | tuple[Floats, ...] | None = None
    domain_range: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return "Handed(content private)"


class Door(Generic[Held]):
    """A kind of container of records, recognised by what it offers, never imported.

    A class derived from it in a file of this folder is found by itself; one of your own, imported from
    anywhere, is known as well. What it answers may follow from types, labels and coordinates, which are
    public, and never from a cell: one record's presence must not change how another is read.
    """

    def recognises(self, data: object) -> bool:
        """Whether these data are of this kind, by their type alone."""
        raise NotImplementedError

    def cells(self, data: Held) -> object:
        """What the container holds, as what is read already: an array, rows, a table or a column."""
        return data

    def curves(self, data: Held, groups: object, stated: object) -> Handed:
        """Curves, the units' labels, and the grid and domain that the container says.

        data: Private, but for its public side.
        stated: array (m,), tuple of d arrays, or None. The grid, where it is stated elsewhere; it goes
            before the container's own.
        """
        return Handed(data, groups)

    def points(self, data: Held, groups: object) -> Handed:
        """Points or inputs, one a row, and the units' labels."""
        return Handed(data, groups)

    def words(self, data: Held) -> Mapping[str, str | None]:
        """What variables and values are called, by the keys of a domain's labels. Public."""
        return {}

    def is_irregular(self, data: Held) -> bool:
        """Whether each record has times of its own, so that a mean pools observations."""
        return False

    def channels(self, data: Held) -> Sequence[tuple[str, object]] | None:
        """The public name of each channel and a container of its curves; None where there are none."""
        return None


def door_of(data: object) -> Door[Any] | None:
    """The door for a container, by its type; None for arrays, sequences and tables."""
    if type(data) in PLAIN:
        return None
    # Loaded once: what derives from a door is known then.
    classes_in(__name__, "recognises")
    return next(
        (door for door in (kind() for kind in Door.__subclasses__()) if door.recognises(data)), None
    )


__all__ = ["Door", "Handed", "door_of"]
