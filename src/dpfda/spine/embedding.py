"""What a class makes of each record before its bound: carried with how records are read, everywhere."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.records import Curves
from dpfda.spine.settings import Reading


class Embeds(Protocol):
    """What has an `embed` with parameters of its own: every estimator."""

    def embed(self, values: Floats) -> ArrayLike: ...
    def embedded_points(self, grid_points: Floats) -> ArrayLike: ...
    def get_params(self, deep: bool = False) -> dict[str, object]: ...


@dataclass(frozen=True)
class Embedding:
    """The `embed` of a derived class, with its parameters. Public.

    of: Takes values (k, m) and gives values (k, q), row by row.
    points_of: The public points of these, from those of the records.
    moved: Whether the points are others.
    identity: Class, parameters and source: two embeddings with one identity are one.
    """

    of: Callable[[Floats], object]
    points_of: Callable[[Floats], object]
    moved: bool
    identity: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Embedding) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def points(self, grid_points: Floats) -> Floats:
        """The points of what it gives; a `ParameterError` where they are none."""
        try:
            points = np.asarray(self.points_of(grid_points), dtype=np.float64)
        except (TypeError, ValueError):
            points = np.empty((0, 0))
        if points.ndim != 1 or points.size < 2 or not np.all(np.diff(points) > 0):
            words = "return increasing points, at least two"
            raise ParameterError("embedded_points", words, f"shape {points.shape}")
        return points

    def curves(self, curves: Curves, columns: int) -> Curves:
        """What becomes of curves that have been read; one that is not finite is unusable.

        Raises ParameterError if it gives something else than a row of so many numbers for each record.
        Its own errors are raised without their words, which may tell of a value.
        """
        try:
            rows = np.array(self.of(curves.values.copy()), dtype=np.float64)
        except ParameterError:
            raise
        except Exception as error:
            words = "take an array (k, m) and return an array (k, q) of numbers"
            raise ParameterError("embed", words, f"{type(error).__name__} from it") from None
        if rows.shape != (len(curves.values), columns):
            words = f"return one row of {columns} numbers for each record"
            shape = f"shape {rows.shape} for {len(curves.values)} records"
            raise ParameterError(
                "embed", words, shape, "Where their number is another than that of grid points, "
                "say the points of what it returns in `embedded_points`.",
            )  # fmt: skip
        usable = curves.usable & np.isfinite(rows).all(axis=1)
        rows[~usable] = 0.0
        return Curves(rows, usable)


@dataclass(frozen=True, repr=False, eq=False)
class EmbeddedReading(Reading):
    """How records are read where a class embeds them.

    embedding: The others: see `Reading`.
    """

    embedding: Embedding | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.embedding is not None and self.embedding.moved and self.standardize:
            words = "be False where `embed` gives values at other points than those of the records"
            raise ParameterError("standardize", words, shown(self.standardize))

    @property
    def rules(self) -> list[object]:
        own = () if self.embedding is None else self.embedding.identity
        return [*super().rules, *own]


def embedding_of(reading: object) -> Embedding | None:
    """The embedding that records go through once they are read; None where they are as they are."""
    return reading.embedding if isinstance(reading, EmbeddedReading) else None


def moves(reading: object) -> bool:
    """Whether what is summed of a record is at other points than the record."""
    embedding = embedding_of(reading)
    return embedding is not None and embedding.moved


def embedded(reading: Reading, estimator: Embeds, base: type[Embeds]) -> Reading:
    """How an estimator's records are read: with its own `embed`, where its class has one."""
    kind = type(estimator)
    moved = kind.embedded_points is not base.embedded_points
    if kind.embed is base.embed and not moved:
        return reading
    alone = copy(estimator)
    # Neither a ledger nor what was released or collected goes along to other machines.
    alone.__dict__.clear()
    own = estimator.get_params(deep=False) | {"ledger": None}
    alone.__dict__.update(own)
    shipped = next(owner for owner in kind.__mro__ if owner.__module__.startswith("dpfda."))
    parameters = inspect.signature(shipped).parameters
    stated = {name: repr(value) for name, value in sorted(own.items()) if name not in parameters}
    identity = f"{kind.__module__}.{kind.__qualname__}", repr(stated), _source(kind)
    embed = Embedding(alone.embed, alone.embedded_points, moved, identity)
    return EmbeddedReading(reading.missing, reading.invalid, reading.nugget, reading.standardize, embed)


def own_fit(reading: Reading, kind: type) -> Reading:
    """How records would be read by a plan alone of a class with its own `fit`: by nobody."""

    def refuse(values: Floats) -> object:
        words = f"be of a class without a fit of its own: that of {kind.__name__} is not heard"
        raise ParameterError("plan", words, kind.__name__, "Put what it makes of a record into `embed`.")

    unread = Embedding(refuse, lambda points: points, False, (f"fit of {kind.__qualname__}",))
    return EmbeddedReading(reading.missing, reading.invalid, reading.nugget, reading.standardize, unread)


def _source(kind: type) -> str:
    """A hash of what the class's own methods say; empty where their source is not at hand."""
    own = [base for base in kind.__mro__ if not base.__module__.startswith("dpfda.")]
    try:
        text = "\n".join(inspect.getsource(base) for base in own if "embed" in vars(base))
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(text.encode()).hexdigest()
