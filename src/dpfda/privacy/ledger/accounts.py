"""The arithmetic of budgets: exact amounts, what a charge costs in them, and filters.

Sums of epsilons and deltas always hold. Many small releases cost less:
`dpfda.privacy.composition.costs` charges each a squared length v, known from its loss before it is
made, and what was let through is within (epsilon, delta) while the charges and a buffer b stay below the
longest Gaussian noise that is. Which of the two counts is fixed at the first charge, before anything of
the data set is known: the filter, with the buffer that suits best, where it would take more releases
like the first than sums would. Then a charge is let through while either

- (A) epsilons add up to at most epsilon, and deltas to at most a share s of delta; or
- (B) squared lengths add up to at most t - b, t the squared length of Gaussian noise within
  (epsilon, (1 - 2 s) delta), and the deltas of releases whose law is unknown to at most s delta.

A release of which nothing but (epsilon, delta) is known is charged as the coin of its epsilon, its delta
as a failure. That takes a filter that stays to the end: what follows it by sums alone would have a delta
of its own. Proof: docs/composition.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpfda.numerics.errors import ConversionError, IncompatibleChargeError, ParameterError
from dpfda.numerics.parameters import plain_words, rational, readable
from dpfda.privacy.composition import (
    ApproximateLoss,
    Cost,
    filter_charge,
    gaussian_epsilon,
    gaussian_limit,
    loss_of,
)
from dpfda.privacy.guarantees import (
    KINDS,
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    checked_guarantee,
)


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
        checked_guarantee(self.guarantee)
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
            "found 'replace-one', which says nothing of data sets of different size. Release under "
            "'add-remove' neighbours.",
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


# The share s of delta.
SPARE = Fraction(1, 16)
# Shares of t that the buffer may have.
BUFFERS = (Fraction(1, 32), Fraction(1, 16), Fraction(1, 8), Fraction(1, 4))


@dataclass(frozen=True)
class Filter:
    """What has been let through.

    buffer: b, fixed at the first charge.
    length: Sum of the squared lengths charged.
    epsilon, delta: Sums of what releases state.
    failures: Sum of the deltas of releases whose law is unknown.
    """

    buffer: Fraction
    length: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    failures: Fraction = Fraction(0)

    def plus(self, costs: Sequence[Cost], promised: Amount) -> Filter:
        """After a release of these costs, which states so much in all.

        A loss without a squared length is one of which no more than the guarantee is known.
        """
        passed = self
        for cost in costs:
            loss, length = cost.loss, filter_charge(cost.loss, self.buffer)
            if length is None:
                loss = loss_of(cost.guarantee)
                length = filter_charge(loss, self.buffer)
            # Every cost that is in the budget's kind has an epsilon.
            assert length is not None  # noqa: S101
            failure = loss.failure if isinstance(loss, ApproximateLoss) else Fraction(0)
            passed = replace(passed, length=passed.length + length, failures=passed.failures + failure)
        return replace(
            passed, epsilon=passed.epsilon + promised["epsilon"], delta=passed.delta + promised["delta"]
        )

    def sums(self, budget: ApproximateDP) -> bool:
        """Whether (A) holds."""
        return self.epsilon <= budget.epsilon and self.delta <= SPARE * budget.delta

    def lengths(self, budget: ApproximateDP) -> bool:
        """Whether (B) holds."""
        return self.length + self.buffer <= _limit(budget) and self.failures <= SPARE * budget.delta

    def spent(self, budget: ApproximateDP) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of what was let through, at most the budget."""
        rest = (1 - 2 * SPARE) * budget.delta
        by_length = min(gaussian_epsilon((self.length + self.buffer) / 2, rest), budget.epsilon)
        if self.sums(budget) and (self.epsilon <= by_length or not self.lengths(budget)):
            return self.epsilon, self.delta
        return by_length, budget.delta

    def to_json(self) -> dict[str, str]:
        """Exact text of each sum."""
        return {name: str(getattr(self, name)) for name in _NAMES}

    @classmethod
    def from_json(cls, written: Mapping[str, object]) -> Filter:
        """Read what `to_json` wrote."""
        return cls(*(rational(written[name]) for name in _NAMES))


_NAMES = ("buffer", "length", "epsilon", "delta", "failures")


def first(budget: ApproximateDP, costs: Sequence[Cost], promised: Amount) -> Filter | None:
    """The filter that a first charge opens; None where sums take as many releases like it."""
    epsilon, delta = promised.values
    by_sums = budget.epsilon // epsilon
    if delta:
        by_sums = min(by_sums, budget.delta // delta)
    if by_sums < 1:
        return None
    limit = _limit(budget)
    best = None
    for share in BUFFERS:
        opened = Filter(share * limit).plus(costs, promised)
        count = (limit - opened.buffer) // opened.length
        if opened.failures:
            count = min(count, SPARE * budget.delta // opened.failures)
        if count > by_sums:
            best, by_sums = opened, count
    return best


def _limit(budget: ApproximateDP) -> Fraction:
    return gaussian_limit(budget.epsilon, (1 - 2 * SPARE) * budget.delta)
