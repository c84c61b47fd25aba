"""The arithmetic of budgets: exact amounts, and what a charge costs in a budget's own kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpfda.numerics.errors import ConversionError, IncompatibleChargeError, ParameterError
from dpfda.numerics.parameters import plain_words
from dpfda.numerics.rationals import rational, readable
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import KINDS, ApproximateDP, Guarantee, Neighbours, PureDP


@dataclass(frozen=True)
class Amount:
    """A sum of guarantees of one kind, perhaps of none: exact, and zero is allowed.

    Parameters
    ----------
    kind : {"pure", "approximate", "zero-concentrated"}
    values : tuple of Fraction
        Epsilon; epsilon and delta; or rho. Read them by name: ``amount["epsilon"]``.
    """

    kind: str
    values: tuple[Fraction, ...]

    @classmethod
    def of(cls, guarantee: Guarantee) -> Amount:
        """The amount that a guarantee is."""
        return cls(guarantee.kind, tuple(getattr(guarantee, term) for term in guarantee.terms))

    @classmethod
    def zero(cls, kind: str) -> Amount:
        """Nothing, of a kind."""
        return cls(kind, (Fraction(0),) * len(KINDS[kind].terms))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the values."""
        return KINDS[self.kind].terms

    def __getitem__(self, term: str) -> Fraction:
        return dict(zip(self.terms, self.values, strict=True))[term]

    def plus(self, other: Amount) -> Amount:
        """The sum, by basic composition."""
        return Amount(self.kind, tuple(a + b for a, b in zip(self.values, other.values, strict=True)))

    def minus(self, other: Amount) -> Amount:
        """What is left."""
        return Amount(self.kind, tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    def exceeds(self, other: Amount) -> bool:
        """Whether any of its values is larger."""
        return any(a > b for a, b in zip(self.values, other.values, strict=True))

    def written(self) -> dict[str, str]:
        """Exact text 'p/q' of each value.

        Raises
        ------
        ParameterError
            If a value has too many digits to be written down.
        """
        try:
            return {
                t: f"{v.numerator}/{v.denominator}" for t, v in zip(self.terms, self.values, strict=True)
            }
        except ValueError:
            raise ParameterError(
                "guarantee", "be written with fewer than 4,300 digits", "more", "Round it up."
            ) from None

    @classmethod
    def read(cls, kind: str, written: Mapping[str, object]) -> Amount:
        """Read what `written` wrote."""
        return cls(kind, tuple(rational(written[term]) for term in KINDS[kind].terms))

    def __str__(self) -> str:
        pairs = zip(self.terms, self.values, strict=True)
        return ", ".join(f"{term} {readable(value)}" for term, value in pairs)


@dataclass(frozen=True)
class Budget:
    """What may be spent on a data set in all, for which neighbours and whose protection.

    Parameters
    ----------
    guarantee : Guarantee
        Its kind is the budget's kind.
    neighbours : Neighbours
    unit : str, optional
        The privacy unit, as releases name it: "record", "group", or a word of the user's. None before
        the first release, which states it where nobody did.
    """

    guarantee: Guarantee
    neighbours: Neighbours
    unit: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, Guarantee):
            raise ParameterError(
                "guarantee",
                "be a PureDP, ApproximateDP or ZeroConcentratedDP",
                repr(self.guarantee),
                "Use dpfda.privacy.guarantees.guarantee_for(epsilon, delta).",
            )
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        if self.unit is not None:
            checked_name(self.unit, "unit")

    @property
    def amount(self) -> Amount:
        """The whole budget."""
        return Amount.of(self.guarantee)

    def __str__(self) -> str:
        unit = self.unit or "unit of its first release"
        return f"{self.guarantee}, {self.neighbours} neighbours, per {unit}"

    def held_to(self, unit: str | None, dataset: str) -> Budget:
        """The budget after a release for a unit; None for charges in advance that leave it open.

        Raises
        ------
        IncompatibleChargeError
            If the budget is for another.
        """
        if unit is None or unit == self.unit:
            return self
        if self.unit is None:
            return replace(self, unit=unit)
        # Who asked for more protection than the budget counts is not told to ask for less.
        group = f"group the records by {self.unit} and name it so (unit={self.unit!r}), or "
        raise IncompatibleChargeError(
            f"The privacy unit of a release from {dataset!r} must be {self.unit!r}, as in its budget; "
            f"found {unit!r}. Costs for different units do not add up: "
            f"{'' if self.unit == 'record' else group}charge releases per {unit} to another data set of "
            f"the ledger, whose budget is created for that unit.",
            dataset,
        )


def checked_name(name: object, parameter: str) -> str:
    """A non-empty, printable word or words. Raises ParameterError: Otherwise."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(parameter, "be a printable, non-empty text", repr(name))
    return plain_words(name, parameter)


def cost_under(budget: Budget, cost: Cost, neighbours: Neighbours, dataset: str) -> Cost:
    """What a release costs under the budget's neighbours.

    cost: Of the release, under its own neighbours.
    neighbours: The release's.
    dataset: For the message.
    Raises IncompatibleChargeError if no valid conversion exists.
    """
    if neighbours is budget.neighbours:
        return cost
    if budget.neighbours is Neighbours.ADD_REMOVE:
        raise IncompatibleChargeError(
            f"The neighbours of a release from {dataset!r} must be 'add-remove', as in its budget; "
            "found 'replace-one', which says nothing of data sets of different size. Release with "
            "neighbours='add-remove'.",
            dataset,
            cost.guarantee,
        )
    try:
        return cost.for_replace_one()
    except ConversionError as error:
        raise IncompatibleChargeError(str(error), dataset, cost.guarantee) from None


def in_kind(budget: Budget, cost: Cost, dataset: str) -> Amount:
    """What a release costs in the budget's kind.

    Raises IncompatibleChargeError if no valid conversion exists.
    """
    kind, guarantee = budget.guarantee.kind, cost.guarantee
    if guarantee.kind == kind:
        return Amount.of(guarantee)
    if isinstance(guarantee, PureDP) and isinstance(budget.guarantee, ApproximateDP):
        return Amount(kind, (guarantee.epsilon, Fraction(0)))
    rho = cost.rho if kind == "zero-concentrated" else None
    if rho is not None:
        return Amount(kind, (rho,))
    raise IncompatibleChargeError(
        f"A charge to {dataset!r} must be of its budget's kind, {kind}, or convert into it; found "
        f"{guarantee}. {_remedy(guarantee.kind, kind)}",
        dataset,
        guarantee,
    )


def _remedy(charge: str, budget: str) -> str:
    if (charge, budget) == ("zero-concentrated", "approximate"):
        return (
            "Convert it beforehand where delta may be spent, with dpfda.privacy.composition.compose("
            "[guarantee], kind='approximate', delta=...), or keep a zero-concentrated budget."
        )
    return (
        f"Release under a guarantee of kind {budget}, or keep the data set in a budget of kind {charge}."
    )
