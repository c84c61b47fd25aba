"""A table of shares from private to public: its noise, its charge and its draw, for any summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dpfda.bounds import Norm
from dpfda.mechanisms.design.shares import EXPONENT, share_noise
from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.publication.accounts import NAMED, Paying
from dpfda.publication.averages import publish_integers
from dpfda.publication.tables import Table
from dpfda.releases.shares import NoisyShares


@dataclass(frozen=True, eq=False)
class ShareTable(Table):
    """The public side of a table of shares.

    A unit's shares are integers u_c >= 0, in all at most 2^20 (`dpfda.mechanisms.design.shares.UNIT`);
    the caller has made sure of it for every unit, whatever its records are.

    Parameters
    ----------
    cells : int
        Number of shares a unit has.
    guarantee : Guarantee
    neighbours : Neighbours
    unit : str
        Who is protected.
    public_size : int or None
        Public number of units; None under add/remove, where the sum of the noisy shares stands for it.
    noise : {"auto", "laplace", "gaussian"}
    words : mapping
        "summary", "bound" and "basis" for the ledger's history.
    tuning : mapping
        "name" and public tuning of the mechanism, for the certificate; its noise is added.

    Examples
    --------
    >>> from dpfda.privacy.guarantees import PureDP
    >>> table = ShareTable(24, PureDP(1), Neighbours.REPLACE_ONE, "person", 500)
    >>> round(table.deviation, 3)  # persons; 8^(1/2) / epsilon
    2.828
    """

    exponent = EXPONENT
    cells: int
    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    public_size: int | None = None
    noise: str = "auto"
    words: Mapping[str, str] = field(default_factory=dict)
    tuning: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def calibrated(self) -> tuple[NoiseLaw, Guarantee, Norm, int]:
        """The law, what is charged, and by how much neighbours differ in the norm that it needs."""
        return share_noise(self.cells, self.guarantee, self.neighbours, self.noise)

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> tuple[NoisyShares, Certificate]:
        """Charge the ledger, draw the noise, add it to the private sum of all units' shares.

        Raises
        ------
        BudgetError
            If the ledger refuses; no noise was drawn.
        """
        law, charged, norm, width = self.calibrated
        entry = {
            "summary": "table",
            "bound": "shares of cells, one in all a unit",
            "basis": f"{self.cells} cells",
            **self.words,
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "mechanism": self.tuning.get("name", "shares"),
        }
        said = law.describe().replace("coefficients", "cells")
        tuning = {"name": entry["mechanism"], **self.tuning, "noise": said}
        noisy, certificate = publish_integers(total, law, norm, width, charged, entry, paying, tuning)
        return NoisyShares(noisy, law, self.public_size), certificate
