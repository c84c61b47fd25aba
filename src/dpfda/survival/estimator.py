"""Survival curves of follow-ups that may be censored, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from dpfda.bases.lifetimes import CENSORED, LifeCells
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import DataError, ParameterError
from dpfda.numerics.parameters import choice, flag, shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records.containers import column_of
from dpfda.records.labels import units_of
from dpfda.records.points import cell_weights
from dpfda.records.weights import Weights, check_weights, usual_total, whole_weights
from dpfda.spine.arguments import Columns, Labels, Number, Payer, Place, Protected, Records
from dpfda.spine.choices import check_choices
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import OTHER, members, none_of, public_labels
from dpfda.spine.pooled_curves import PooledTable
from dpfda.spine.settings import Reading
from dpfda.survival.endings import Coding
from dpfda.survival.plan import SurvivalPlan, survival_plan
from dpfda.survival.release import ReleasedSurvival


class PrivateSurvival(Estimator):
    """Survival curve of persons whose follow-up may be censored, under differential privacy.

    Each person is counted in a public cell of time, by how the follow-up ended; of these noisy counts
    come survival, hazard, median, numbers at risk and the comparison of groups.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    domain : (a, top) or Domain
        Public first and last time, in the units of the data. No default: the last observed time is
        private. Whoever is followed beyond `top` counts as still followed there.
    causes : sequence of labels, optional
        Public codes of what may end a follow-up, as `event` has them; by default 1 (or True). With
        several, each competes with the others.
    censored : sequence of labels, optional
        Public codes of censoring; by default 0 (or False). Any other code is refused, or left out under
        invalid="repair", which needs both lists.
    levels : sequence of labels, optional
        Public names of the groups in `by`; needed with it, because who is in which group is private.
    cells : int, optional
        Number of cells of time, of equal width. By default from public numbers, and narrower at first.
    noise : {"auto", "laplace", "gaussian"}
        On the counts, as in `dpfda.PrivateDensity`.
    unit : str or PrivacyUnit, optional
        Who is protected. Under add/remove a public size is needed, unless `cells` is given.
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

    _stepped = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        causes: Sequence[object] | None = None,
        censored: Sequence[object] | None = None,
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
        weights: Weights | None = None,
    ) -> Self:
        """Release the survival curve.

        Parameters
        ----------
        time : array (n,)
            End of each follow-up, in the units of the domain. Private.
        event : array (n,), optional
            How it ended, as a code of `causes` or `censored`; by default all are events. Private.
        start : array (n,), optional
            Beginning of each follow-up (left truncation), before its end; by default all begin at the
            start of the domain. Private.
        by : array (n,), optional
            Group of each person, one of `levels`. Private.
        groups : array (n,), optional
            Privacy unit of each follow-up, where a person has several. Private.
        weights : Weights, optional
            Survey weights of the follow-ups (`dpfda.records.weights`): each counts as its weight over
            the largest, in numbers at risk too. Private.

        Returns
        -------
        self
            With `release_`.

        Raises
        ------
        ParameterError, DataError, BudgetError
            As `PrivateMean.fit`.
        """
        prepared = self.prepare(time, event, start, by, groups, weights)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        return self

    def plan(self, n: int, late: bool = False, max_weight: float | None = None) -> SurvivalPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        late : bool
            Whether beginnings are counted, as with `start`.
        max_weight : float, optional
            As in `dpfda.PrivateDensity.plan`.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        whole(n, "n", 2)
        named = self._named(flag(late, "late"), self.levels is not None)
        plan = self._plan(n, None, named, "", planned=True)
        return plan if max_weight is None else plan.weighted(max_weight)

    def _plan(
        self, count: int, groups: object, named: dict[str, object], coding: str, planned: bool = False
    ) -> SurvivalPlan:
        settings = self.settings
        return survival_plan(
            self._checked(), count, settings=settings, cells=self.cells, noise=self.noise,
            unit=settings.unit.called(groups), named=named, coding=coding, planned=planned,
        )  # fmt: skip

    def _checked(self) -> Guarantee:
        choice(self.noise, "noise", ("auto", "laplace", "gaussian"))
        return check_choices(self)

    def _named(self, late: bool, by: bool) -> dict[str, object]:
        """Causes and levels by their names; refused before anything is read."""
        levels = self._levels(by)
        named = {
            "causes": Coding.of(self.causes, self.censored).names,
            "levels": tuple(map(str, levels)),
            "late": late,
        }
        if self.settings.domain.step is not None:
            named["step"] = self.settings.domain.step
        LifeCells.of(self.settings.domain.domain_range, 2 if self.cells is None else self.cells, **named)
        return named

    def prepare(
        self,
        time: Labels,
        event: Labels = None,
        start: Labels = None,
        by: Labels = None,
        groups: Labels = None,
        weights: Weights | None = None,
    ) -> Prepared[SurvivalPlan, IntegerSum]:
        """Everything before the noise: read, check, count. The result is private."""
        self._checked()
        named = self._named(start is not None, by is not None)
        count_in, coding, count = self._read(time, event, start, by)
        invalid = self.settings.reading.invalid
        codes, units = units_of(groups, count, invalid)
        said = "" if event is None else coding
        plan = self._plan(usual_total(weights, units), groups, named, said)
        plan = plan if weights is None else plan.weighted(check_weights(weights).largest)
        counted = whole_weights(weights, count, invalid, EXPONENT)
        return Prepared(plan, IntegerSum.of(count_in(plan.cells, codes, counted)))

    def pooled(self, n: int, columns: Columns | None = None) -> PooledTable[ReleasedSurvival]:
        """The sum as several holders make it of `time`, with `event` as y; see `PooledSum`.

        Of one group, all of whom are followed from the start of the domain.
        """
        self._check_road("pooled")
        settings, named = self.settings, self._named(False, self.levels is not None)
        if self.levels is not None or columns is not None:
            raise ParameterError("levels", "be left out for one sum of several holders", "levels")
        coding = Coding.of(self.causes, self.censored).checked(True, settings.reading.invalid)
        plan = self._plan(n, None, named, coding.words(settings.reading.invalid), planned=True)

        def counted(X: Records, groups: Labels, y: Labels) -> tuple[list[int], int]:
            count_in, _, total = self._read(X, y, None, None)
            codes, units = units_of(groups, total, settings.reading.invalid)
            return count_in(plan.cells, codes), units

        rule = [plan.cells.to_json(), coding.names]
        return PooledTable(
            settings, plan, {"reading": settings.reading.invalid, "integers": rule}, counted
        )

    def _read(
        self, time: object, event: Labels, start: Labels, by: Labels
    ) -> tuple[Callable[..., list[int]], str, int]:
        """What counts the follow-ups in cells, given their units; words of the coding; their number."""
        invalid, given = self.settings.reading.invalid, event is not None
        coding = Coding.of(self.causes, self.censored).checked(given, invalid)
        times = column_of(time, "time")[0]
        count = len(times)
        ends = np.zeros(count, dtype=np.int64) if event is None else coding.read(event)
        starts = None if start is None else column_of(start, "start")[0]
        member = np.zeros(count, dtype=np.int64)
        if by is not None:
            member = members(by, self._levels(True), "by")
        for column, name in ((ends, "event"), (starts, "start"), (member, "by")):
            if column is not None and len(column) != count:
                raise DataError(
                    f"{name} must have one entry a follow-up ({count}); found {len(column)}."
                )
        if invalid == "refuse":
            # First: with a code or group that has no meaning the coding is not that of the data, and
            # to leave follow-ups out, the remedy for all others, would change what they say.
            coding.refuse_others(ends)
            if (member == OTHER).any():
                where = f" in row {int(np.argmax(member == OTHER))}"
                raise none_of("by", "levels", self._levels(True), where, "by")
        offences = {
            ("event", "have a code for every follow-up; found none"): ends < CENSORED,
            ("by", "have a level for every follow-up; found none"): member < 0,
            ("time", "be finite; found one that is missing or is not"): ~np.isfinite(times),
            ("start", "be before the end; found one that is not"): _late(starts, times),
        }
        if invalid == "refuse":
            coding.refuse(offences, given)
        usable = ~np.any([*offences.values()], axis=0)
        times = np.where(usable, times, 0.0)

        def count_in(
            cells: LifeCells, codes: Integers | None, weights: Integers | None = None
        ) -> list[int]:
            return _counted(cells, times, ends, starts, member, usable, codes, weights)

        return count_in, coding.words(invalid), count

    def _levels(self, given: bool) -> list[object]:
        if given != (self.levels is not None):
            words = "be given with by, and only then: who is in which group is private"
            raise ParameterError("levels", words, shown(self.levels))
        return public_labels(self.levels, "levels", 2) if given else []


def _late(starts: Floats | None, times: Floats) -> Flags:
    """Which follow-ups have a beginning that is missing, or not before their end."""
    if starts is None:
        return np.zeros(len(times), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        return ~(np.isfinite(starts) & (starts < times))


def _counted(
    cells: LifeCells, times: Floats, ends: Integers, starts: Floats | None, member: Integers,
    usable: Flags, codes: Integers | None, weights: Integers | None,
) -> list[int]:  # fmt: skip
    """Exact sums of all units' shares of the cells, in units of 2^-20."""
    shift = np.where(usable, member, 0) * cells.each
    index = shift + cells.ends(times, np.where(usable, ends, CENSORED))
    if starts is None:
        return cell_weights(index, usable, codes, cells.size, EXPONENT, weights)
    begins = shift + cells.begins(np.where(usable, starts, 0.0))
    owners = np.arange(len(times)) if codes is None else codes
    both = np.concatenate([index, begins])
    twice = None if weights is None else np.tile(weights, 2)
    return cell_weights(both, np.tile(usable, 2), np.tile(owners, 2), cells.size, EXPONENT, twice)
