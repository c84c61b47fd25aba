"""Survival curves of follow-ups that may be censored, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.lifetimes import CENSORED, LifeCells
from dpfda.mechanisms.design.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import choice, flag, shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records.cells import is_missing, read_cell
from dpfda.records.containers import cells_in, column_of
from dpfda.records.labels import Key, units_of
from dpfda.records.points import cell_weights
from dpfda.summaries.arguments import Labels, Number, Payer, Place, Protected
from dpfda.summaries.choices import check_choices
from dpfda.summaries.estimator import Estimator
from dpfda.summaries.memberships import level_key, members, public_labels
from dpfda.summaries.settings import Reading
from dpfda.summaries.survival_plan import SurvivalPlan, publish_survival, survival_plan

OUTSIDE = "This check is outside the privacy guarantee."


class PrivateSurvival(Estimator):
    """Survival curve of persons whose follow-up may be censored, under differential privacy.

    Each person is counted in a public cell of time, by how the follow-up ended. Noise is added to the
    counts, and survival, hazard, median, number at risk and the comparison of groups are made of them;
    all after the noise is free.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    domain : (a, top) or Domain
        Public first and last time, in the units of the data. No default: the last observed time is
        private. Whoever is followed beyond `top` counts as still followed there.
    causes : sequence of labels, optional
        Public labels of what may end a follow-up; any other label is censoring. By default an event is
        1 (or True) and censoring 0. With several, each competes with the others.
    levels : sequence of labels, optional
        Public names of the groups in `by`; needed with it, because who is in which group is private.
    cells : int, optional
        Number of cells of time, of equal width. By default chosen from public numbers (size, epsilon,
        groups), and narrower at first, where hazards are often steep.
    noise : {"auto", "laplace", "gaussian"}
        On the counts, as in `dpfda.PrivateDensity`.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed for the choice of cells, unless
        `cells` is given.
    reading : Reading, optional
        Whether unusable follow-ups are refused, or left out: `dpfda.Reading`.
    ledger : ledger.of(dataset), optional
        Charged before noise is drawn, as in `dpfda.PrivateMean`.

    Attributes
    ----------
    release_ : ReleasedSurvival
        The published curve.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one follow-up, or
    all of one label of `groups`, whose shares of the cells are at most one in all. Independent Laplace
    noise of scale 2 / epsilon persons (1 / epsilon under add/remove) on each cell gives pure epsilon,
    however many cells, causes and groups there are; proof and measured errors on the page on survival.
    `time`, `event`, `start`, `by` and `groups` are private; so is the number of persons in a group.

    References
    ----------
    Kaplan & Meier (1958); Cutler & Ederer (1958), the life table; Aalen & Johansen (1978), incidences.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> died, left = generator.exponential(400, 900), generator.uniform(100, 1500, 900)
    >>> survival = PrivateSurvival(epsilon=1, domain=(0, 1000), unit="patient")
    >>> release = survival.fit(np.minimum(died, left), died <= left).release_
    >>> bool(np.all(np.diff(release([0, 100, 400, 1000])) <= 0))
    True
    """

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        causes: Sequence[object] | None = None,
        levels: Sequence[object] | None = None,
        cells: int | None = None,
        noise: str = "auto",
        domain: Place = None,
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(
        self,
        time: Labels,
        event: Labels = None,
        start: Labels = None,
        by: Labels = None,
        groups: Labels = None,
    ) -> Self:
        """Release the survival curve.

        Parameters
        ----------
        time : array (n,)
            End of each follow-up, in the units of the domain. Private.
        event : array (n,), optional
            How it ended: 1 or True for an event, 0 or False for censoring, or labels of `causes`; by
            default all are events. Private.
        start : array (n,), optional
            Beginning of each follow-up (left truncation), before its end; by default all begin at the
            start of the domain. Private.
        by : array (n,), optional
            Group of each person, one of `levels`. Private.
        groups : array (n,), optional
            Privacy unit of each follow-up, where a person has several. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        prepared = self.prepare(time, event, start, by, groups)
        self.release_ = publish_survival(prepared, self.paying())
        return self

    def plan(self, n: int, late: bool = False) -> SurvivalPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        late : bool
            Whether beginnings are counted, as with `start`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        whole(n, "n", 2)
        named = self._named(flag(late, "late"), self.levels is not None)
        return self._plan(n, None, named, planned=True)

    def _plan(
        self, count: int, groups: object, named: dict[str, object], planned: bool = False
    ) -> SurvivalPlan:
        settings = self.settings
        return survival_plan(
            self._checked(), count, settings=settings, cells=self.cells, noise=self.noise,
            unit=settings.unit.called(groups), named=named, planned=planned,
        )  # fmt: skip

    def _checked(self) -> Guarantee:
        choice(self.noise, "noise", ("auto", "laplace", "gaussian"))
        return check_choices(self)

    def _named(self, late: bool, by: bool) -> dict[str, object]:
        """Causes and levels by their names; refused before anything is read."""
        causes, levels = self._causes(), self._levels(by)
        names = tuple(str(cause) for cause in causes) or ("event",)
        named = {"causes": names, "levels": tuple(map(str, levels)), "late": late}
        LifeCells.of(self.settings.domain.domain_range, 2 if self.cells is None else self.cells, **named)
        return named

    def prepare(
        self,
        time: Labels,
        event: Labels = None,
        start: Labels = None,
        by: Labels = None,
        groups: Labels = None,
    ) -> Prepared[SurvivalPlan, IntegerSum]:
        """Everything before the noise: read, check, count. The result is private."""
        self._checked()
        invalid = self.settings.reading.invalid
        named = self._named(start is not None, by is not None)
        times = _numbers(time, "time")
        count = len(times)
        ends = _causes_of(event, self._causes(), count)
        starts = None if start is None else _numbers(start, "start")
        member = np.zeros(count, dtype=np.int64)
        if by is not None:
            member = members(by, self._levels(True), "by")
        for column, name in ((ends, "event"), (starts, "start"), (member, "by")):
            if column is not None and len(column) != count:
                raise DataError(
                    f"{name} must have one entry a follow-up ({count}); found {len(column)}."
                )
        usable = _usable(times, ends, starts, member, invalid)
        codes, units = units_of(groups, count, invalid)
        plan = self._plan(units, groups, named)
        times = np.where(usable, times, 0.0)
        found = _counted(plan.cells, times, ends, starts, member, usable, codes)
        return Prepared(plan, IntegerSum.of(found))

    def _causes(self) -> list[object]:
        return [] if self.causes is None else public_labels(self.causes, "causes", 1)

    def _levels(self, given: bool) -> list[object]:
        if given != (self.levels is not None):
            words = "be given with by, and only then: who is in which group is private"
            raise ParameterError("levels", words, shown(self.levels))
        return public_labels(self.levels, "levels", 2) if given else []


def _numbers(values: object, name: str) -> Floats:
    """A column of numbers; what is none is not finite."""
    return column_of(values, name)[0]


def _causes_of(event: object, causes: list[object], count: int) -> Integers:
    """Number of each follow-up's cause; -1 where it was censored, -2 where that cannot be read."""
    if event is None:
        return np.zeros(count, dtype=np.int64)
    if not causes:
        values = _numbers(event, "event")
        return np.select([values == 1, values == 0], [0, CENSORED], CENSORED - 1).astype(np.int64)
    places = {level_key(cause): place for place, cause in enumerate(causes)}
    return np.array([_place(cell, places) for cell in cells_in(event, "event")], dtype=np.int64)


def _place(cell: object, places: dict[Key, int]) -> int:
    value, offence = read_cell(cell)
    if is_missing(cell) or (not offence and np.isnan(value)):
        return CENSORED - 1
    return places.get(level_key(cell), CENSORED)


def _usable(
    times: Floats, ends: Integers, starts: Floats | None, member: Integers, invalid: str
) -> NDArray[np.bool_]:
    """Which follow-ups can be counted.

    Raises
    ------
    DataError
        If one cannot and nothing is to be repaired: its row, and of which kind.
    """
    offences = {
        "a time that is missing or no finite number": ~np.isfinite(times),
        "an event that is neither 0 nor 1 nor, with causes, a label": ends < CENSORED,
        "a group that is none of `levels`": member < 0,
    }
    if starts is not None:
        with np.errstate(invalid="ignore"):
            offences["a start that is missing or not before its end"] = ~(
                np.isfinite(starts) & (starts < times)
            )
    broken = np.any([*offences.values()], axis=0)
    if invalid == "refuse" and broken.any():
        row = int(np.argmax(broken))
        kind, found = next(pair for pair in offences.items() if pair[1][row])
        # Where no record can be used another column is meant, or labels: there is nothing to repair.
        remedy = "Use invalid='repair' to leave such follow-ups out. "
        if found.all():
            remedy = "Name the labels that end a follow-up as causes (--cause), or another column. "
        raise DataError(
            f"Follow-ups must have a time, an end and a group; found {kind} in row {row}. "
            f"{remedy}{OUTSIDE}"
        )
    return np.asarray(~broken)


def _counted(
    cells: LifeCells, times: Floats, ends: Integers, starts: Floats | None, member: Integers,
    usable: NDArray[np.bool_], codes: Integers | None,
) -> list[int]:  # fmt: skip
    """Exact sums of all units' shares of the cells, in units of 2^-20."""
    shift = np.where(usable, member, 0) * cells.each
    index = shift + cells.ends(times, np.where(usable, ends, CENSORED))
    if starts is None:
        return cell_weights(index, usable, codes, cells.size, EXPONENT)
    begins = shift + cells.begins(np.where(usable, starts, 0.0))
    owners = np.arange(len(times)) if codes is None else codes
    both = np.concatenate([index, begins])
    return cell_weights(both, np.tile(usable, 2), np.tile(owners, 2), cells.size, EXPONENT)
