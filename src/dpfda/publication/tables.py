"""Tables of integers from private to public: their noise, their charge and their draw; and their plans.

**Sensitivity of a table of corners.** A unit adds to row r of the table a vector of integers x_r with
|x_rj| <= s_r C in every column, where s_r >= 0 are integers of sum at most W: its weights of the rows.
Replace one unit, with x_r and s_r, by another, with x_r' and s_r': row r of the sum moves by d_r with

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from dpfda.bases.ordinary import Outlook
from dpfda.estimates.pooled import PooledMean, ordinary_tables
from dpfda.noise import Calibrated, NoiseLaw, body_noise, gaussian_noise
from dpfda.noise.shares import EXPONENT, UNIT, share_noise
from dpfda.numerics import later as scipy
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import DpfdaError
from dpfda.privacy.certificates import WHOLE, Certificate, said_by
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, without_delta
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.charging import certified_entry, charge, charged_for
from dpfda.publication.integers import publish_integers
from dpfda.publication.planners import ORDINARY, Designed
from dpfda.records.observations import CORNERS
from dpfda.releases.shares import NoisyShares, corner_noise_words

# A unit's weights are in units of 2^-26, and a number of its record in units of 2^-20.
WEIGHT, VALUE = 26, 20
CORNER_EXPONENT = WEIGHT + VALUE
NOISES = ("auto", "box", "gaussian")
# Of ordinary functions that errors of corners are expected over, and for a quick answer.
LAWS, QUICK = 8, 3
# The release that a plan publishes.
Made = TypeVar("Made")


class Table(ABC):
    """The public side of a table of integers that gets noise of one law; it has seen no data."""

    # The law is of integers in units of 2^-exponent of a privacy unit.
    exponent: ClassVar[int]
    neighbours: Neighbours
    unit: str
    words: Mapping[str, str]
    tuning: Mapping[str, object]

    @abstractmethod
    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> tuple[object, Certificate]:
        """Charge the ledger, draw the noise, add it to the private sum of all units.

        Raises BudgetError if the ledger refuses; no noise was drawn.
        """

    @property
    @abstractmethod
    def calibrated(self) -> Calibrated:
        """The law, what is charged, and how far neighbours differ in the norm that it needs."""

    law: NoiseLaw = said_by("calibrated.law", "Law of the noise.")

    def costs(self) -> dict[str, Cost]:
        """One charge pays for the table."""
        return {WHOLE: self.calibrated.cost()}

    @property
    def described(self) -> str:
        """The noise, in words."""
        return self.law.describe().replace("coefficient", "cell")

    def entry(self) -> dict[str, object]:
        """Public description of the table for the ledger's history."""
        return {
            **self.words,
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "mechanism": self.tuning["name"],
        }

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a cell, in units (persons)."""
        return math.ldexp(math.sqrt(float(self.law.variances()[0])), -self.exponent)


class OfTable(Designed):
    """What plans of noisy tables share.

    table: Public side of the noise.
    """

    table: Table

    neighbours: Neighbours = said_by("table.neighbours")
    unit: str = said_by("table.unit")

    noise_words = said_by("table.described")

    @property
    def functions(self) -> str:
        return self.table.words["basis"]


class TablePlan(OfTable, Generic[Made]):
    """Plan of a summary that is one table with noise, which is charged as a whole."""

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> Made:
        """Charge, draw, add: the release."""
        return self.assemble(*self.table.publish(total, paying))

    @abstractmethod
    def assemble(self, noisy: Any, certificate: Certificate) -> Made:
        """The release around the mechanism's output: post-processing."""

    @property
    def tuning(self) -> Mapping[str, object]:
        return {**self.table.tuning, "noise": self.table.described}

    def costs(self) -> dict[str, Cost]:
        return self.table.costs()

    # What is charged: without delta where the noise needs none.
    guarantee = said_by("table.calibrated.charged")

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        return {"description": self.table.words["bound"]}


@dataclass(frozen=True)
class Turn:
    """One of several turns in which a table gets its noise.

    times: How often (cells,) each cell is counted: public, and known before the first turn.
    gather: Of all noisy numbers before, in which number (cells,) of this turn each cell is counted.
    """

    times: Integers
    gather: Callable[[tuple[int, ...]], Integers]


def in_turn(
    total: IntegerSum, turns: Sequence[Turn], noise: Callable[[int], Sequence[int]]
) -> tuple[int, ...]:
    """Noisy numbers of all turns; `noise` draws so many as it is asked for."""
    noisy: tuple[int, ...] = ()
    for turn in turns:
        place = turn.gather(noisy)
        (counted,) = np.nonzero(turn.times)
        rows = int(place[counted].max()) + 1
        shape, at = (rows, place.size), (place[counted], counted)
        matrix = scipy.sparse.csr_array((turn.times[counted], at), shape)
        noisy += total.through(matrix).with_noise(noise(rows))
    return noisy


@dataclass(frozen=True, eq=False)
class ShareTable(Table):
    """The public side of a table of shares.

    A unit's shares are integers u_c >= 0, in all at most 2^20 (`dpfda.noise.shares.UNIT`);
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
    parts : tuple of int
        How much of a unit each part of the cells gets at most, where that is known.

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
    tuning: Mapping[str, object] = field(default_factory=lambda: {"name": "shares"})
    parts: tuple[int, ...] = (UNIT,)

    @cached_property
    def calibrated(self) -> Calibrated:
        """The law, what is charged, and by how much neighbours differ in the norm that it needs."""
        return share_noise(self.cells, self.guarantee, self.neighbours, self.noise, self.parts)

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> tuple[NoisyShares, Certificate]:
        tuning = {**self.tuning, "noise": self.described}
        noisy, certificate = publish_integers(total, self.calibrated, self.entry(), paying, tuning)
        return NoisyShares(noisy, self.law, self.public_size), certificate

    def entry(self) -> dict[str, object]:
        bound, basis = "shares of cells, one in all a unit", f"{self.cells} cells"
        return {"summary": "table", "bound": bound, "basis": basis, **super().entry()}

    def publish_in_turn(
        self, total: IntegerSum, turns: Sequence[Turn], most: int = 1, paying: Paying = NAMED
    ) -> tuple[NoisyShares, Certificate]:
        """As `publish`, in turns: what cells are gathered into follows from the noisy numbers before.

        It costs no more. Say a unit has shares u_c >= 0 of at most w / most together, and turn t counts
        cell c t_c times in one number, whichever, where sum_t t_c <= most. Its part of that turn then
        has the sum p_t = sum_c t_c u_c, whatever was told before, and sum_t p_t <= w. Another unit has
        p_t'. Of Laplace noise the log density ratio of a turn, given those before, is at most its
        distance over the scale, so at most p_t + p_t' over the scale, and ratios add up: to 2 w over it.
        Of normal noise of deviation s no two units are easier to tell than two normal laws
        (sum_t d_t^2)^(1/2) / s apart, where d_t bounds the distance in turn t whatever was told (Dong,
        Roth & Su 2022, adaptive composition); no share being negative, d_t^2 = p_t^2 + p_t'^2, and the
        sum of these is at most (sum_t p_t)^2 + (sum_t p_t')^2 <= 2 w^2.

        total: Of units with shares of at most 2^20 / most in all.
        """
        if self.parts != (UNIT,):
            raise DpfdaError("Of units in parts nothing is proved for turns.")
        often = np.array([turn.times for turn in turns])
        if np.any(often < 0) or np.any(often.sum(axis=0) > most):
            raise DpfdaError(f"All turns must count a cell {most} times at most.")
        entry, tuning = self.entry(), dict(self.tuning)
        certificate = certified_entry(self.costs(), entry, {**tuning, "noise": self.described})
        achieved = self.calibrated.achieved()
        charge(paying, certificate, entry)
        noisy = in_turn(total, turns, lambda cells: replace(self, cells=cells).law.draw())
        table = replace(self, cells=len(noisy))
        tuning["noise"] = table.described
        return NoisyShares(noisy, table.law, self.public_size), certificate.fulfilled(achieved, tuning)


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

    exponent = CORNER_EXPONENT
    rows: int
    columns: int
    guarantee: Guarantee
    neighbours: Neighbours
    unit: str
    noise: str = "auto"
    words: Mapping[str, str] = field(default_factory=dict)
    tuning: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def calibrated(self) -> Calibrated:
        """Law of one row, what is charged, and how far a row may move, in the norm that it needs."""
        pure, width = without_delta(self.guarantee), self.neighbours.differences(1 << CORNER_EXPONENT)
        box = body_noise("box", [width] * self.columns, pure)
        if self.noise == "gaussian" or (self.noise == "auto" and not isinstance(self.guarantee, PureDP)):
            distance = math.isqrt(self.columns * width**2) + 1
            normal = gaussian_noise((1.0,), distance, self.guarantee)
            if self.noise == "gaussian" or normal.variances()[0] < box.variances()[0]:
                law = type(normal)(normal.scales * self.columns)
                return Calibrated(law, self.guarantee, "l2", distance)
        return Calibrated(box, pure, "box", (width,) * self.columns)

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> tuple[tuple[int, ...], Certificate]:
        tuning, achieved = {**self.tuning, "noise": self.described}, self.calibrated.achieved()
        certificate = charged_for(self.costs(), achieved, self.entry(), paying, tuning)
        noise = [value for _ in range(self.rows) for value in self.law.draw()]
        return total.with_noise(noise), certificate

    @property
    def described(self) -> str:
        return corner_noise_words(self.law, self.rows)


def cut_width(line: Floats, half: Floats, weights: Floats | None = None) -> float:
    """Average half-width of a band around a line between 0 and 1, which it is cut at.

    weights: Of the points, of sum one; by default all count alike.

    Examples
    --------
    >>> cut_width(np.array([0.2, 0.9]), np.array([5.0, 0.1]))
    0.3
    """
    widths = np.minimum(line + half, 1.0) - np.maximum(line - half, 0.0)
    return float(np.average(widths, weights=weights)) / 2


@dataclass(frozen=True, eq=False, repr=False)
class CornersPlan(TablePlan[Made]):
    """Plan of a function that is pooled over observations: a table of shares of cells and corners.

    Parameters
    ----------
    table : ShareTable
    bounds : (float, float)
        Of values.
    about : mapping
    designed : int
        Number of units that the cells are for, and that errors are expected for.
    """

    table: ShareTable
    bounds: tuple[float, float]
    about: Mapping[str, object]
    designed: int
    simulated: ClassVar[bool] = True
    # How far sets of data lie apart beyond its functions, in logarithms.
    apart: ClassVar[float] = 0.0
    error_words = (
        "root mean square at a point, from the mean of the population, sampling included, "
        f"{ORDINARY} means, observations spread evenly"
    )

    size = said_by("table.public_size")

    def outlook(self, quick: bool = False) -> Outlook:
        tried = self._tables(quick)
        return self._over([float(np.sqrt(at @ (mean.line - of) ** 2)) for mean, of, at in tried])

    def outlook_width(self, level: float, quick: bool = False) -> Outlook:
        """As `band`; cut at the bounds, as that of a release is."""
        return self._over(
            [
                cut_width(mean.line, mean.half_widths(level, True), self._counted(mean))
                for mean, *_ in self._tables(quick)
            ]
        )

    def _counted(self, mean: PooledMean) -> Floats | None:
        """Weights of points, by which a release averages its band."""
        return None

    def _over(self, shares: list[float]) -> Outlook:
        width = self.bounds[1] - self.bounds[0]
        return Outlook.of(width * np.array(shares), width / 2, self.apart)

    @property
    def scale(self) -> tuple[float, str] | None:
        return self.bounds[1] - self.bounds[0], "the distance between the bounds"

    def _tables(self, quick: bool) -> list[tuple[PooledMean, Floats, Floats]]:
        return self._few if quick else self._tried

    @cached_property
    def _few(self) -> list[tuple[PooledMean, Floats, Floats]]:
        return list(islice(self._ordinary(), QUICK))

    @cached_property
    def _tried(self) -> list[tuple[PooledMean, Floats, Floats]]:
        return [*self._few, *islice(self._ordinary(), QUICK, None)]

    def _ordinary(self) -> Iterator[tuple[PooledMean, Floats, Floats]]:
        """Tables that are tried, the functions that they are of, and where these are looked at."""
        return ordinary_tables(self._empty, LAWS)

    @property
    def _empty(self) -> PooledMean:
        """The table before anything is seen."""
        return self._of_shape((self.table.cells // CORNERS,))

    def _of_shape(self, sides: tuple[int, ...], classes: int = 0, alone: bool = False) -> PooledMean:
        """So many cells along each side."""
        unit, size = 1 / UNIT / self.designed, float(self.designed)
        shares = np.zeros((math.prod(sides), classes or CORNERS))
        box, label = sides if len(sides) > 1 else (), 1 if classes else None
        return PooledMean(shares, self.table.law, unit, size, box, label, alone)
