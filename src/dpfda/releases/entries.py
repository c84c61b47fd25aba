"""Entries of a release's file, declared once: how each is written, and read strictly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter, methodcaller
from typing import Any, Self, TypeVar, cast

import numpy as np

from dpfda.bases.reading import basis_from_json, interval_basis
from dpfda.noise import NoiseLaw, law_from_json, laws_of
from dpfda.numerics import encoding
from dpfda.numerics.encoding import Json
from dpfda.releases.counts import divisor_from_json, divisor_to_json
from dpfda.releases.kinds import part_from_json
from dpfda.releases.published import Published

_TO_JSON = methodcaller("to_json")


@dataclass(frozen=True)
class Entry:
    """How an attribute of a release stands in its file.

    read: Takes what is written, all that stands beside it and the caller's kernel, and gives the value;
        whatever does not fit raises a `ValueError`.
    write: Gives the value as JSON types.
    name: In the file; by default that of the attribute.
    nothing: {"refused", "null", "absent"}. How None is written, where it may be the value.
    """

    read: Callable[[object, Mapping[str, object], object], object]
    write: Callable[[Any], object]
    name: str = ""
    nothing: str = "refused"

    def named(self, name: str) -> Entry:
        """The same under another name than that of the attribute."""
        return replace(self, name=name)

    @property
    def or_null(self) -> Entry:
        """The same, or None, which is written as null."""
        return replace(self, nothing="null")

    @property
    def or_absent(self) -> Entry:
        """The same, or None, where the file has no such entry."""
        return replace(self, nothing="absent")

    @property
    def kept(self) -> Mapping[str, Entry]:
        """As metadata of the field of a dataclass that holds the value."""
        return {"entry": self}


Table = Mapping[str, Entry]
Value = TypeVar("Value")
# Attributes of any type by their names.
Held = Json


def table_of(kind: type) -> Table:
    """What a file holds of a dataclass: the fields that say so, and what its ``_ENTRIES`` add.

    Those are parts of what a field holds ("law.levels"), and what the field cannot say: another type.
    """
    own = [field for field in fields(kind) if "entry" in field.metadata]
    return {field.name: field.metadata["entry"] for field in own} | dict(getattr(kind, "_ENTRIES", {}))


class Written:
    """What is an object of its own inside a file: a dataclass whose fields say how they are written."""

    def to_json(self) -> dict[str, object]:
        """As JSON types."""
        return to_file(self, table_of(type(self)))

    @classmethod
    def from_json(cls, entries: object) -> Self:
        """From JSON types; whatever does not fit raises a `ValueError`."""
        return cls(**from_file(encoding.mapping(entries), table_of(cls)))


def to_file(instance: object, table: Table) -> dict[str, object]:
    """The attributes of an object, or of its attributes, as JSON types in the order of its table."""
    values = {name: attrgetter(name)(instance) for name in table}
    return {
        entry.name or name: None if values[name] is None else entry.write(values[name])
        for name, entry in table.items()
        if values[name] is not None or entry.nothing != "absent"
    }


def from_file(written: Mapping[str, object], table: Table, kernel: object = None) -> Held:
    """The attributes again, by name."""
    return {name: _read(written, entry, entry.name or name, kernel) for name, entry in table.items()}


def _read(written: Mapping[str, object], entry: Entry, name: str, kernel: object) -> object:
    if entry.nothing == "absent" and name not in written:
        return None
    value = written[name]
    return None if value is None and entry.nothing == "null" else entry.read(value, written, kernel)


def entry(
    read: Callable[[object], Value], write: Callable[[Value], object] = lambda value: value
) -> Entry:
    """An entry that is read by itself; by default it is written as it is."""
    return Entry(lambda value, *_: read(value), write)


def whole_number(least: int | None = None, most: int | None = None) -> Entry:
    """A whole number, perhaps between limits."""
    return entry(lambda value: encoding.integer(value, least, most))


def itself(read: Callable[[Any], object]) -> Entry:
    """What writes itself by its `to_json`."""
    return entry(read, _TO_JSON)


def many(kind: type[Written]) -> Entry:
    """Several objects of a kind."""
    return entry(
        lambda value: tuple(map(kind.from_json, encoding.sequence(value))),
        lambda parts: [item.to_json() for item in parts],
    )


def part(*kinds: type[Published]) -> Entry:
    """A release of one of some kinds inside the file of another."""
    return Entry(lambda value, _, kernel: part_from_json(value, kinds, kernel), _TO_JSON)


def named_means(kind: type[Published], called: str = "mean") -> Entry:
    """Several releases of a kind, a mapping by their names; what the file calls each."""

    def read(value: object, _: object, kernel: object) -> dict[str, Published]:
        parts = map(encoding.mapping, encoding.sequence(value))
        return {
            encoding.name(item["name"]): part_from_json(item[called], (kind,), kernel) for item in parts
        }

    return Entry(read, lambda means: [{"name": k, called: mean.to_json()} for k, mean in means.items()])


NAMED_LABELS = entry(
    lambda value: {
        encoding.name(item["name"]): tuple(map(encoding.name, encoding.sequence(item["levels"])))
        for item in map(encoding.mapping, encoding.sequence(value))
    },
    lambda columns: [{"name": name, "levels": [*labels]} for name, labels in columns.items()],
)


def one_scale(numbers: str) -> Entry:
    """The law of independent noise of one scale on as many numbers as another entry holds."""

    def read(value: object, beside: Mapping[str, object], _: object) -> NoiseLaw:
        law, count = encoding.mapping(value), len(encoding.sequence(beside[numbers]))
        if "honest" in law:
            # Of noise in shares.
            return cast("NoiseLaw", law_from_json({**law, "scales": [law["scale"]] * count}))
        equal = laws_of()[encoding.text(law["law"])].equal(count, encoding.integer(law["scale"], 1))
        return cast("NoiseLaw", equal)

    def write(noise: NoiseLaw) -> dict[str, object]:
        (scale,) = set(vars(noise)["scales"])
        shares = {name: value for name, value in vars(noise).items() if name in ("honest", "drawn")}
        return {"law": noise.law, "words": noise.describe(), "scale": int(scale), **shares}

    return Entry(read, write)


def _two(written: object) -> tuple[float, float]:
    first, second = encoding.floats(written).tolist()
    return first, second


NUMBER, TEXT, NAME = entry(encoding.number), entry(encoding.text), entry(encoding.name)
INTEGERS, FLOATS = entry(encoding.integers, list), entry(encoding.floats, np.ndarray.tolist)
NUMBERS = entry(lambda written: tuple(map(encoding.number, encoding.sequence(written))), list)
ENDS = entry(_two, list)
NAMES = entry(lambda written: tuple(map(encoding.name, encoding.sequence(written))), list)
SEQUENCE = entry(lambda written: tuple(encoding.sequence(written)), list)
# An array to the bit, of any shape.
PACKED = entry(encoding.array_from_json, encoding.array_to_json)
EXPONENT = Entry(lambda value, beside, _: encoding.exponent(value, beside), lambda value: value)
PUBLIC_SIZE = whole_number(1).or_null
MAPPING = entry(encoding.mapping, dict)
LAW = itself(law_from_json)
DIVISOR = entry(divisor_from_json, divisor_to_json)
ANY_BASIS = Entry(lambda value, _, kernel: basis_from_json(value, kernel), _TO_JSON)
BASIS = Entry(lambda value, _, kernel: interval_basis(value, kernel), _TO_JSON)
