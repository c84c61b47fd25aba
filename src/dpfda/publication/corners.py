"""A table of corners from private to public: its noise, its charge and its draw.

**Sensitivity.** A unit adds to row r of the table a vector of integers x_r with |x_rj| <= s_r C in every
column, where s_r >= 0 are integers of sum at most W: its weights of the rows. Replace one unit, with
x_r and s_r, by another, with x_r' and s_r': row r of the sum moves by d_r with

    max_j |d_rj| <= (s_r + s_r') C,        sum_r (s_r + s_r') <= 2 W;

add or remove one: the same with W. Each row gets noise of its own, independent of the others.

- K-norm noise of a box, density proportional to exp(-max_j |z_j| / b): row r has a log density ratio of
  at most (s_r + s_r') C / b, and all rows together of at most 2 W C / b. That is the loss of one row
  alone that moves by 2 W C in every column: each row has the whole of epsilon.
- Gaussian noise of deviation b: the squared length of the whole shift is at most
  J C^2 sum_r (s_r + s_r')^2 <= J (2 W C)^2, J the number of columns: again that of one row alone.

This is parallel composition (McSherry 2009) for units that are divided among parts; which row a unit is
in stays private under replace-one neighbours as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dpfda.noise import AnyNorm, BoxNoise, NoiseLaw, Width, body_noise, gaussian_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, pure_part
from dpfda.publication.accounts import NAMED, Paying, charge
from dpfda.publication.charging import certified_entry, recomputed
from dpfda.publication.tables import Table

# A unit's weights are in units of 2^-26, and a number of its record in units of 2^-20.
WEIGHT, VALUE = 26, 20
EXPONENT = WEIGHT + VALUE
NOISES = ("auto", "box", "gaussian")


@dataclass(frozen=True, eq=False)
class CornerTable(Table):
    """The public side of a table of corners.

    Parameters
    ----------
    rows, columns : int
        Numbers R of corners, and J of columns.
    guarantee : Guarantee
    neighbours : Neighbours
    unit : str
        Who is protected.
    noise : {"auto", "box", "gaussian"}
        "auto" takes the law of least variance.
    words : mapping
        "summary", "bound" and "basis" for the ledger's history.
    tuning : mapping
        "name" and public tuning, for the certificate; the noise is added.

    Examples
    --------
    >>> table = CornerTable(2, 10, PureDP(1), Neighbours.REPLACE_ONE, "person")
    >>> round(table.deviation, 2)  # persons: 2 (11 x 12 / 3)^(1/2) / epsilon
    13.27
    """

    exponent = EXPONENT
    rows: int
    columns: int
    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    noise: str = "auto"
    words: Mapping[str, str] = field(default_factory=dict)
    tuning: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def calibrated(self) -> tuple[NoiseLaw, Guarantee, AnyNorm, Width]:
        """Law of one row, what is charged, and how far a row may move, in the norm that it needs."""
        pure, width = pure_part(self.guarantee), self.neighbours.differences(1 << EXPONENT)
        box = body_noise("box", [width] * self.columns, pure)
        if self.noise == "gaussian" or (self.noise == "auto" and not isinstance(self.guarantee, PureDP)):
            distance = math.isqrt(self.columns * width**2) + 1
            one = gaussian_noise((1.0,), distance, self.guarantee)
            if self.noise == "gaussian" or one.variances()[0] < box.variances()[0]:
                law = type(one)(one.scales * self.columns)
                return law, self.guarantee, "l2", distance
        assert isinstance(box, BoxNoise)  # noqa: S101
        return box, pure, "box", (width,) * self.columns

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> tuple[tuple[int, ...], Certificate]:
        """Charge the ledger, draw the noise of every row, add it to the private sum (rows x columns).

        Raises
        ------
        BudgetError
            If the ledger refuses; no noise was drawn.
        """
        law, charged, norm, width = self.calibrated
        entry = {
            **self.words,
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "mechanism": self.tuning["name"],
        }
        tuning = {**self.tuning, "noise": self.described}
        achieved = recomputed(law, norm, width, charged)
        certificate = certified_entry(self.costs(), entry, tuning).fulfilled(achieved)
        charge(paying, certificate, entry)
        noise = [value for _ in range(self.rows) for value in law.draw()]
        return total.with_noise(noise), certificate

    @property
    def described(self) -> str:
        """The noise, in words."""
        said = self.law.describe().replace("coefficients", "numbers")
        return f"{said}, for each of {self.rows} corners"
