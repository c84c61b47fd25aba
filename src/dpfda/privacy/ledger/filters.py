"""How charges to an (epsilon, delta) budget add up where each may be chosen by what came out before.

Sums of epsilons and deltas always hold. Many small releases cost less:
`dpfda.privacy.composition.filters` charges each a squared length v, known from its loss before it is
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

from dpfda.numerics.rationals import rational
from dpfda.privacy.composition import (
    ApproximateLoss,
    Cost,
    filter_charge,
    gaussian_epsilon,
    gaussian_limit,
    loss_of,
)
from dpfda.privacy.guarantees import ApproximateDP
from dpfda.privacy.ledger.accounts import Amount

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
        made = self
        for cost in costs:
            loss, length = cost.loss, filter_charge(cost.loss, self.buffer)
            if length is None:
                loss = loss_of(cost.guarantee)
                length = filter_charge(loss, self.buffer)
            # Every cost that is in the budget's kind has an epsilon.
            assert length is not None  # noqa: S101
            failure = loss.failure if isinstance(loss, ApproximateLoss) else Fraction(0)
            made = replace(made, length=made.length + length, failures=made.failures + failure)
        return replace(
            made, epsilon=made.epsilon + promised["epsilon"], delta=made.delta + promised["delta"]
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
        made = Filter(share * limit).plus(costs, promised)
        count = (limit - made.buffer) // made.length
        if made.failures:
            count = min(count, SPARE * budget.delta // made.failures)
        if count > by_sums:
            best, by_sums = made, count
    return best


def _limit(budget: ApproximateDP) -> Fraction:
    return gaussian_limit(budget.epsilon, (1 - 2 * SPARE) * budget.delta)
