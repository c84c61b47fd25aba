"""Exceptions that carry the offending objects, and the one way a message is worded.

A message is a text in which $name stands for a part, such as a setting of a parameter: Python writes it
one way, the command line another. Between quotes, as names of columns and files are said, it is itself;
so it is within a part.

What holds records: its text shows none of them, and it does not leave the process by accident.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import NamedTuple, NoReturn, TypeVar

from dpfda.numerics.words import visible


class InPython(str):
    """A part of a message that only Python says so."""


class Location(NamedTuple):
    """A part of a message: a row of the data, and a column of it, counted from 0."""

    row: int
    column: int | None = None

    def __str__(self) -> str:
        return f"row {self.row}" + ("" if self.column is None else f", column {self.column}")


def in_python(name: str, value: object) -> str:
    """A part of a message as Python writes it.

    value: Words or a place as they are; several words that are given together as a list, those of which
        one is given as a tuple; or what a parameter is set to.

    Examples
    --------
    >>> in_python("mechanism", ("knorm", "iclp")), in_python("bounds", ["lower", "upper"])
    ("mechanism='knorm' or 'iclp'", 'bounds=(lower, upper)')
    """
    if isinstance(value, InPython | Location):
        return str(value)
    if isinstance(value, list):
        return f"{name}=({', '.join(map(str, value))}{',' if len(value) == 1 else ''})"
    return f"{name}=" + " or ".join(map(repr, value if isinstance(value, tuple) else (value,)))


# Parts of many messages: what is usually advised.
COMMON = {
    "none": InPython("None"), "invalid": "repair", "missing": "complete", "bounds": ["lower", "upper"],
    "dates": "iso", "decimal": ",", "codes": ["without", "with"], "overwrite": True,
    "long": InPython("id, time and value"), "raise_budget": InPython("raise_budget"),
    "create": InPython("create(dataset, guarantee, neighbours, unit)"), "groups": InPython("groups"),
}  # fmt: skip
# What stands between quotes, or the name of a part outside of them.
_PART = re.compile(
    r"""(?<!\w)(?P<quote>['"])(?:\\.|(?!(?P=quote))[^\\])*(?P=quote)|\$(?P<name>[a-z_]+)"""
)
Raised = TypeVar("Raised", bound="DpfdaError")


class DpfdaError(Exception):
    """Base of everything that dpfda raises on purpose.

    parts: What stands for $name in the message, by name, beside `COMMON` ones: see `in_python`.
    """

    def __init__(self, message: str = "", **parts: object) -> None:
        self.template, self.parts = message, parts
        super().__init__(self.told(in_python))

    @property
    def parameter(self) -> str:
        """The argument that the message begins with, where the error knows it; else empty."""
        return str(self.parts.get("parameter", ""))

    def told(self, write: Callable[[str, object], str], template: str | None = None) -> str:
        """The message, or another text, with each part as `write` has it."""
        parts = COMMON | self.parts

        def put(match: re.Match[str]) -> str:
            name = match["name"]
            return write(name, parts[name]) if name in parts else match[0]

        return _PART.sub(put, self.template if template is None else template)

    def having(self: Raised, **parts: object) -> Raised:
        """The same error with other parts."""
        error = copy(self)
        error.parts = {**self.parts, **parts}
        error.args = (error.told(in_python),)
        return error

    def __str__(self) -> str:
        # Names of columns, levels and files may hold what a terminal would obey.
        return visible(super().__str__())

    def __reduce__(self) -> tuple[object, ...]:
        # Errors with parts of their own must survive the way back from a worker process.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[DpfdaError], args: tuple[object, ...], parts: dict[str, object]) -> DpfdaError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(parts)
    return error


def worded(parameter: str, constraint: str, found: object, remedy: str = "") -> str:
    """Word a message: parameter, constraint, value found, then the remedy."""
    sentence = f"{parameter} must {constraint}; found {found}."
    return f"{sentence} {remedy}".rstrip()


class ParameterError(DpfdaError, ValueError):
    """A public argument breaks its constraint.

    parameter, constraint, found, remedy: What the message says, for programs. `found` is the argument
        that the caller passed, never a value of the private data.
    """

    def __init__(
        self, parameter: str, constraint: str, found: object, remedy: str = "", **parts: object
    ) -> None:
        parts = {"parameter": InPython(parameter), "found": InPython(found), **parts}
        super().__init__(worded("$parameter", constraint, "$found", remedy), **parts)
        self.constraint, self.remedy = (self.told(in_python, words) for words in (constraint, remedy))
        self.found = found


class DataError(DpfdaError, ValueError):
    """The private input cannot be used as it stands.

    The message may name a row and a column, never a value. Raising it depends on the data, so a
    check that raises it stands outside the privacy guarantee; ``invalid="repair"`` never raises it
    for a value.
    """

    def __init__(self, message: str = "", parameter: str = "", **parts: object) -> None:
        if parameter and message.startswith(parameter):
            message = "$parameter" + message.removeprefix(parameter)
            parts = {"parameter": InPython(parameter), **parts}
        super().__init__(message, **parts)


class OrientationError(DataError):
    """It cannot be told whether curves are rows or columns.

    of_file: What to do about it in a file; the message ends with it.
    """

    def __init__(self, message: str, of_file: str = "", **parts: object) -> None:
        super().__init__(f"{message} {of_file}".strip(), "", **parts)
        self.message, self.of_file = message, of_file


class RefusedMechanismError(ParameterError):
    """A mechanism that cannot give the guarantee asked for.

    theorem: Where the impossibility is proved.
    """

    def __init__(
        self, parameter: str, constraint: str, found: object, remedy: str = "", theorem: str = "",
        **parts: object,
    ) -> None:  # fmt: skip
        remedy = f"{remedy} [{theorem}]" if theorem else remedy
        super().__init__(parameter, constraint, found, remedy, **parts)
        self.theorem = theorem


class InfiniteSensitivityError(RefusedMechanismError):
    """One record can move the summary infinitely far in the norm of the noise."""


class ConversionError(DpfdaError, ValueError):
    """No valid conversion leads from one privacy guarantee to the other.

    guarantee: What was to be converted.
    """

    def __init__(self, message: str, guarantee: object = None) -> None:
        super().__init__(message)
        self.guarantee = guarantee


class NotCoveredError(DpfdaError, ValueError):
    """A release is more than its guarantee covers: it cannot be counted as one release.

    caveats: What is not covered.
    """

    def __init__(self, message: str, caveats: tuple[object, ...]) -> None:
        super().__init__(message)
        self.caveats = caveats


class BudgetError(DpfdaError):
    """A ledger refuses a charge; nothing was charged and no noise drawn.

    dataset: Name of the data set.
    asked, remaining: What the release would have cost, and what is left of the budget.
    """

    def __init__(
        self, message: str, dataset: str | None = None, asked: object = None, remaining: object = None
    ) -> None:
        super().__init__(message)
        self.dataset = dataset
        self.asked = asked
        self.remaining = remaining


class IncompatibleChargeError(BudgetError):
    """A charge's kind, neighbour relation or privacy unit cannot be turned into the budget's."""


class LedgerError(DpfdaError):
    """A ledger cannot be used as asked: its file, its data sets or the way it is passed on."""


class UnknownDatasetError(LedgerError, LookupError):
    """The ledger holds no budget for this data set."""


class StorageError(DpfdaError, ValueError):
    """A file cannot be read as, or written as, a release."""


class CustodyError(DpfdaError):
    """Keys, an agreement or parts of several custodians do not fit together; no number is told."""


class SessionError(DpfdaError):
    """A session cannot answer: it was closed or suspended, is open elsewhere, or lost its file."""


class MissingExtraError(DpfdaError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'dpfda[{extra}]'"
        )
        self.package = package
        self.extra = extra


@contextmanager
def needed(package: str, extra: str, purpose: str) -> Iterator[None]:
    """Around the imports of an optional package: names the extra that has it, where it is missing.

    Raises MissingExtraError.
    """
    try:
        yield
    except ImportError:
        raise MissingExtraError(package, extra, purpose) from None


class RepeatedReleaseWarning(UserWarning):
    """The same private data are released again and again, and no ledger adds the losses up."""


class UnreadLabelsWarning(UserWarning):
    """Labels were passed as y, which the summary does not read: nobody is protected by them."""


class FittedStepWarning(UserWarning):
    """A step of a pipeline was fitted on private data: what it does to records is not accounted for."""


# Shown, caught and pickled by the public name of their module.
for _kind in list(vars(sys.modules[__name__]).values()):
    if isinstance(_kind, type) and issubclass(_kind, Exception):
        _kind.__module__ = "dpfda.errors"


class Private:
    """Base of what holds records: it says what it is and shows nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(content private)"


class Kept(Private):
    """Base of what holds records and stays where it is."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        raise DpfdaError(f"{name}: what it holds is private and cannot be pickled or copied.")
