"""The release of a month: the mean of all months so far, and beside it that of the month alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import ClassVar, cast

import numpy as np

from dpfda.bases.priors import CurvePrior
from dpfda.mean.running.plan import MOST_STEPS, Factorisation, Rows, norm_of
from dpfda.noise import AnyNorm, BoxNoise, GaussianNoise, Width
from dpfda.noise.repeated import SummedNoise
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import AddedNoise, certified
from dpfda.views import Curve, Line


@dataclass(frozen=True, eq=False)
class ReleasedRunningMean(ReleasedFunction):
    """The mean curve of all months so far, as one of several that one charge pays for.

    Each month's release has, as `latest`, the mean of that month alone: of the same kind, with one month
    in it. The certificate is that of all months together, however many have been published.

    Parameters
    ----------
    months : (int, int)
        The first and the last month whose curves are in it, from 1.
    steps : int
        Number of months that were paid for.
    most : int
        Number of months that one unit may be in.
    column : tuple of int
        How rows that got noise were made of the months' sums: `dpfda.mean.running.plan`.
    latest : ReleasedRunningMean, optional
        The mean of the last month alone.
        The others: see `ReleasedFunction`.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from dpfda import PrivateRunningMean
    >>> curves = np.full((200, 12), 0.4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "state"
    ...     with PrivateRunningMean(1.0, bounds=(0, 1), steps=12).open(path) as months:
    ...         release = [months.publish(curves) for _ in range(3)][-1]
    >>> release.months, release.latest.months, release.count
    ((1, 3), (3, 3), 600.0)
    """

    _FORMAT: ClassVar[str] = "dpfda-running-mean"
    _CALLED: ClassVar[str] = "released running mean"

    _: KW_ONLY
    months: tuple[int, int] = field(metadata=file.INTEGERS.kept)
    steps: int = field(metadata=file.whole_number(1).kept)
    most: int = field(metadata=file.whole_number(1).kept)
    column: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    latest: ReleasedRunningMean | None = None

    @property
    def factorisation(self) -> Factorisation:
        """How rows were made of the months' sums."""
        return Factorisation(self.column, self.steps, self.most)

    @property
    def row_law(self) -> BoxNoise | GaussianNoise:
        """The law of the noise that each month's row got."""
        # Of one of these kinds: see `__post_init__`.
        law = self.noise
        return cast("BoxNoise | GaussianNoise", law.one if isinstance(law, SummedNoise) else law)

    @property
    def cells(self) -> tuple[int, ...]:
        """Numbers of neighbouring grid points whose values were added up."""
        return known(cast("CurvePrior", self.hierarchy).cells)

    def __post_init__(self) -> None:
        super().__post_init__()
        first, last = self.months
        integral = all(type(number) is int for number in (first, last, self.steps, self.most))
        if not integral or not 1 <= first <= last <= self.steps:
            words = f"be from 1 to {self.steps}, the first no later than the last"
            raise ParameterError("months", words, f"{first} to {last}")
        if not isinstance(self.noise, SummedNoise | BoxNoise | GaussianNoise):
            raise ParameterError("noise", "be of rows with box or normal noise", self.noise.describe())
        latest, factors = self.latest, self.factorisation
        if latest is not None and (latest.months != (last, last) or latest.factorisation != factors):
            raise ParameterError("latest", f"be the mean of month {last}", f"of {latest.months}")

    # Its file.

    def _moved(self) -> tuple[AnyNorm, Width]:
        """How far a unit moves all rows together, which is what the guarantee is about."""
        factors = self.factorisation
        halves = np.floor(np.ldexp(self._scale / 2, self.exponent - factors.shift)).astype(np.int64)
        sums = np.add.reduceat(halves, np.cumsum((0, *self.cells[:-1]))).tolist()
        moved = factors.moved(norm_of(self.row_law))
        return "box", tuple(moved * self.neighbours.differences(int(half)) for half in sums)

    def _added_noise(self) -> list[AddedNoise]:
        return [AddedNoise(self.row_law, *self._moved())]

    def _checked(self) -> None:
        super()._checked()
        if not isinstance(self.hierarchy, CurvePrior) or self.hierarchy.cells is None:
            raise ValueError("a running mean is of sums over cells of a line")
        if self.steps > MOST_STEPS:
            raise ValueError("more months than can be opened")
        first, last = self.months
        rows = Rows(self.factorisation, self.cells, self.row_law)
        if self.noise != rows.noise(last, first == 1 and last > 1)[0] or first not in {1, last}:
            raise ValueError("noise of other months")
        if self.latest is not None and self.latest.certificate.charges != self.certificate.charges:
            raise ValueError("a month was charged elsewhere")

    @classmethod
    def _charged(cls, written: Mapping[str, object], fields: file.Held) -> Certificate:
        law = fields["noise"]
        row_law = law.one if isinstance(law, SummedNoise) else law
        # Of box noise that a unit meets in several rows no more is known than its epsilon.
        alone = len(fields["column"]) == 1 and fields["most"] == 1
        return certified(written, laws=[row_law] if alone or isinstance(row_law, GaussianNoise) else [])

    # Pictures and words.

    @property
    def _told_months(self) -> str:
        first, last = self.months
        return f"month {last}" if first == last else f"months {first} to {last}"

    @property
    def _subject(self) -> str:
        return f"{super()._subject} of {self._told_months}"

    def _claims(self) -> tuple[Claim, ...]:
        seen = (
            ". Measured on 24 sets of real curves, the band for 95% held the mean in 86 to 100 of 100 "
            "releases"
        )
        own = super()._claims()
        return tuple(replace(fact, seen=seen) if fact.seen and not self.order else fact for fact in own)

    @property
    def public_units(self) -> int | None:
        """The number of units; None where one may have been counted in several months."""
        own = super().public_units
        return own if self.most == 1 or self.months[0] == self.months[1] else None

    def _divided(self) -> str:
        if self.public_units is not None:
            return ""
        who = f"{several(self.unit)} of all these months"
        return f"the number of {who}, each counted once a month: {self.count:g}"

    def view(self, level: float | None = LEVEL) -> Curve:
        if self.latest is None or self.months[0] == self.months[1] or self.order:
            return super().view(level)
        running = self._line(f"mean of {self._told_months}", level)
        grid = self.latest.grid_points
        month = Line(grid, np.asarray(self.latest(grid)), f"mean of {self.latest._told_months}")
        return self._curve([running, month])

    def _stated(self) -> Stated:
        own, unit = super()._stated(), self.unit
        often = "one month" if self.most == 1 else f"{self.most} months"
        whom = (
            f"a {unit} that may be in every month"
            if self.most == self.steps
            else f"one {unit}, which is in at most {often}; whoever is in more is protected less"
        )
        more = (
            f"It is for {self._told_months} of {self.steps}, all paid for at once. What their state "
            "file tells of other months, or of this one again, costs nothing more. The promise is for "
            f"what is published in all of them together, and for {whom}."
        )
        public = [
            *own.public,
            f"the number of {several(unit)} of every month, and of months: {self.steps}",
        ]
        return replace(own, what=f"{own.what} {more}", public=public)

    def _lines(self) -> dict[str, str]:
        # A unit that is in fewer months than all has their number in its name.
        own = f", at most {self.most} for one {self.unit}" if self.most >= self.steps else ""
        return super()._lines() | {"months": f"{self._told_months} of {self.steps}{own}"}


ReleasedRunningMean._ENTRIES = {"latest": file.part(ReleasedRunningMean).or_absent}
