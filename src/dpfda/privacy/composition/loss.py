"""What accounting asks of a privacy loss, and what those with exact numbers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from typing import ClassVar, Protocol, Self, runtime_checkable

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import enclosed, precision
from dpfda.numerics.rationals import below_one, positive
from dpfda.privacy.composition.rounding import PRECISION, at_least

# A number in a stored loss has at most so many digits above and below the bar.
DIGITS = 4000
LARGEST_DIMENSION = 10**9
_Check = Callable[[object, str], Fraction | int]
# Every loss by its kind, as files name it.
LOSSES: dict[str, type[KnownLoss]] = {}


@runtime_checkable
class Loss(Protocol):
    """What accounting asks of a mechanism's loss."""

    kind: ClassVar[str]

    def __hash__(self) -> int:
        """Equal losses are counted together."""

    @property
    def epsilon(self) -> Fraction | None:
        """The largest loss, rounded up; None where it has no bound."""

    @property
    def rho(self) -> Fraction | None:
        """Zero-concentrated cost, rounded up; None where it has none."""

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of sup over events of P(A) - exp(epsilon) P'(A), at any real epsilon.

        It holds for both orders of the neighbours, so that below zero it is that above zero, turned:
        delta(-e) = 1 - exp(-e) + exp(-e) delta(e).
        """

    def for_group(self, size: int) -> Loss:
        """The loss between data sets that differ in so many units."""

    def describe(self) -> str:
        """Say in words what is known."""

    def to_json(self) -> dict[str, object]:
        """The kind and its exact public numbers."""


class KnownLoss:
    """What the laws share: numbers are checked on entry, written exactly, and both orders are one."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        known = LOSSES.get(cls.kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError("kind", "name one loss", repr(cls.kind))
        LOSSES[cls.kind] = cls

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            check: _Check = _CHECKS.get(field.name, below_one)
            object.__setattr__(self, field.name, check(getattr(self, field.name), field.name))

    def delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= 0:
            return min(self._delta(epsilon), Fraction(1))
        turned = self.delta(-epsilon)
        with precision(PRECISION):
            e = enclosed(epsilon)
            return min(at_least(-e.expm1() + e.exp() * enclosed(turned)), Fraction(1))

    def _delta(self, epsilon: Fraction) -> Fraction:
        raise NotImplementedError

    def to_json(self) -> dict[str, object]:
        written: dict[str, object] = {"kind": self.kind}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            written[field.name] = value if isinstance(value, int) else str(value)
        return written

    @classmethod
    def from_json(cls, written: Mapping[str, object]) -> Self:
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if set(written) != {"kind", *names}:
            raise ParameterError("loss", f"have the keys kind, {', '.join(names)}", "others")
        return cls(**{name: _read(written[name], name) for name in names})


def _dimension(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_DIMENSION:
        raise ParameterError(name, f"be an integer from 1 to {LARGEST_DIMENSION}", "another")
    return value


def _read(value: object, name: str) -> object:
    if name == "dimension":
        return value
    if not isinstance(value, str) or not _EXACT.fullmatch(value):
        raise ParameterError(name, "be a text 'p' or 'p/q' of digits", "another")
    return value


_EXACT = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}})?")
# What a number must be, by its name; any other is below one.
_CHECKS: dict[str, _Check] = {"dimension": _dimension, "epsilon": positive, "rho": positive}
