"""Survival curves of follow-ups that may be censored, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from dpfda.bases.lifetimes import LifeCells
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, flag, shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records.frames import is_dask
from dpfda.records.labels import units_of
from dpfda.records.weights import Weights, check_weights, usual_total, whole_weights
from dpfda.spine.arguments import Beside, Columns, Labels, Number, Payer, Place, Protected
from dpfda.spine.choices import check_choices
from dpfda.spine.clusters import fit_on_cluster
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import public_labels
from dpfda.spine.settings import Reading
from dpfda.survival.follow_ups import Coding, PooledSurvival, counted_in, read_follow_ups
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

    release_: ReleasedSurvival

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
            End of each follow-up, in the units of the domain. Private. Those of Dask are added up where
            they lie, and what else is said of follow-ups comes in partitions like theirs.
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
        if is_dask(time):
            if weights is not None:
                raise ParameterError("weights", "be $none but for follow-ups in memory", "weights")
            columns = {"event": event, "start": start, "by": by}
            columns = {name: column for name, column in columns.items() if column is not None}
            self.release_ = fit_on_cluster(self, time, groups, columns or None)
            return self
        prepared = self.prepare(time, event, start, by, groups, weights)
        self.release_ = prepared.plan.publish(prepared.total, self._paying())
        return self

    def plan(
        self, n: int, late: bool = False, max_weight: float | None = None, followed: float | None = None
    ) -> SurvivalPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        late : bool
            Whether beginnings are counted, as with `start`.
        max_weight : float, optional
            As in `dpfda.PrivateDensity.plan`.
        followed : float, optional
            Time until which one in ten persons is expected to be followed without an event. A guess,
            for errors and bands alone.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        whole(n, "n", 2)
        named = self._named(flag(late, "late"), self.levels is not None)
        plan = self._plan(n, None, named, "", planned=True, followed=followed)
        return plan if max_weight is None else plan.weighted(max_weight)

    def _plan(
        self, count: int, groups: object, named: dict[str, object], coding: str, **expected: Any
    ) -> SurvivalPlan:
        """The plan; `expected` is what a plan before there are data has, as of `survival_plan`."""
        settings = self.settings
        return survival_plan(
            self._checked(), count, settings=settings, cells=self.cells, noise=self.noise,
            unit=settings.unit.called(groups), named=named, coding=coding, **expected,
        )  # fmt: skip

    def _checked(self) -> Guarantee:
        choice(self.noise, "noise", ("auto", "laplace", "gaussian"))
        return check_choices(self)

    def _named(self, late: bool, by: bool) -> dict[str, object]:
        """Causes and levels by their names; refused before anything is read."""
        named = {
            "causes": Coding.of(self.causes, self.censored).names,
            "levels": tuple(map(str, self._levels(by))),
            "late": late,
            "step": self.settings.domain.step,
        }
        LifeCells.of(self.settings.domain.ends, 2 if self.cells is None else self.cells, **named)
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
        coding, invalid = self._coding(event is not None), self.settings.reading.invalid
        rows = read_follow_ups(coding, self._levels(by is not None), invalid, time, event, start, by)
        codes, units = units_of(groups, len(rows[0]), invalid)
        words = "" if event is None else coding.words(invalid)
        plan = self._plan(usual_total(weights, units), groups, named, words)
        plan = plan if weights is None else plan.weighted(check_weights(weights).largest)
        counted = whole_weights(weights, len(rows[0]), invalid, EXPONENT)
        return Prepared(plan, IntegerSum.of(counted_in(plan.cells, rows, codes, counted)))

    def pooled(self, n: int, columns: Columns | None = None) -> PooledSurvival:
        """The sum as several holders make it of `time`, with `event` as y; see `PooledSum`.

        Of one group, all of whom are followed from the start of the domain.
        """
        if self.levels is not None or columns is not None:
            raise ParameterError("levels", "be left out for one sum of several holders", "levels")
        return self._pooled_for(n, None, "event", False)

    def _pooled_for(self, n: int, X: object, y: Beside, grouped: bool) -> PooledSurvival:
        """The same for what y holds of each follow-up: its event, or columns by their names in `fit`."""
        self._check_road("pooled")
        columns = {*y} if isinstance(y, Mapping) else {"event"} if y is not None else set()
        if columns - {"event", "start", "by"}:
            words = "have columns for event, start and by alone"
            raise ParameterError("y", words, shown(sorted(map(str, columns))))
        named = self._named("start" in columns, "by" in columns)
        coding, invalid = self._coding("event" in columns), self.settings.reading.invalid
        coded = coding.words(invalid) if "event" in columns else ""
        plan = self._plan(n, None, named, coded, planned=True)
        return PooledSurvival(self.settings, plan, coding, self._levels("by" in columns))

    def _coding(self, coded: bool) -> Coding:
        return Coding.of(self.causes, self.censored).checked(coded, self.settings.reading.invalid)

    def _levels(self, grouped: bool) -> list[object]:
        if grouped != (self.levels is not None):
            words = "be given with by, and only then: who is in which group is private"
            raise ParameterError("levels", words, shown(self.levels))
        return public_labels(self.levels, "levels", 2) if grouped else []
