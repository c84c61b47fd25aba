"""What is known of a mechanism's privacy loss: the law that makes it, in public numbers.

A loss says two things of a mechanism, for the worst pair of neighbours: its cost rho in
zero-concentrated terms, and its profile, an upper bound of the hockey-stick divergence at every
epsilon. Composition and ledger read nothing else. A new law is one class.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Protocol


class Loss(Protocol):
    """What accounting asks of a mechanism's loss."""

    kind: ClassVar[str]

    @property
    def epsilon(self) -> Fraction | None:
        """The largest loss, rounded up; None where it has no bound."""

    @property
    def rho(self) -> Fraction | None:
        """Zero-concentrated cost, rounded up; None where it has none."""

    def delta(self, epsilon: Fraction) -> Fraction:
        """An upper bound of sup over events of P(A) - exp(epsilon) P'(A), at any real epsilon."""

    def to_json(self) -> dict[str, Any]:
        """The kind and its exact public numbers."""
