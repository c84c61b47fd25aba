"""Hazards explained by covariates (proportional hazards), as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dpfda.bases.corners import Covariate
from dpfda.bases.lifetimes import CENSORED
from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, probability, shown, whole
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import Prepared
from dpfda.records.covariates import columns_named
from dpfda.records.labels import units_of
from dpfda.records.points import cell_weights
from dpfda.spine.arguments import Labels, Number, Payer, Place, Protected
from dpfda.spine.choices import check_choices
from dpfda.spine.estimator import Estimator
from dpfda.spine.memberships import public_labels, read_covariates, stated_covariates
from dpfda.spine.settings import Reading
from dpfda.survival.cox_plan import DIED, METHODS, CoxPlan, cox_plan, publish_cox
from dpfda.survival.cox_release import TABLE, ReleasedCox
from dpfda.survival.cox_rounds import LENGTH_BITS, FollowedUp
from dpfda.survival.follow_ups import Coding, read_follow_ups


class PrivateCox(Estimator):
    """Hazard ratios of covariates for follow-ups that may be censored, under differential privacy.

    Cox's model with a baseline that is constant on public cells of time: hazard ratios with intervals,
    survival curves at any values of the covariates, strata, and a test of an arm.

    Parameters
    ----------
    epsilon, delta, rho
        As in `dpfda.PrivateMean`.
    covariates : mapping
        Public: for each covariate by name its bounds, two numbers that its values are clipped to, or the
        list of its levels, of which the first is what others are compared with.
        ``{"age": (40, 90), "arm": ["a", "b"]}``.
    domain : (a, top) or Domain
        As in `dpfda.PrivateSurvival`.
    strata : sequence of str, optional
        Names of covariates with levels: each combination gets a baseline of its own, and no ratio.
    causes, censored : sequence of labels, optional
        As in `dpfda.PrivateSurvival`. Of competing causes, state those of no interest as censored.
    cells : int, optional
        Number of cells of time, narrower at first. By default from public numbers.
    method : {"auto", "table", "rounds"}
        A table of counts, for few covariates, at any guarantee; or rounds of clipped gradients with
        normal noise, for any covariates, with a delta or under rho. "auto" takes the table at a pure
        epsilon, for levels alone, and for few units; and else rounds.
    unit, reading, ledger
        As in `dpfda.PrivateSurvival`.

    Attributes
    ----------
    release_ : ReleasedCox
        The published model.

    Notes
    -----
    **Guarantee.** Pure epsilon (delta = 0), (epsilon, delta) or rho, one unit being one follow-up, or
    all of one label of `groups`. `times`, `events`, `covariates` and `groups` are private. A table: a
    unit is at most one count in all (`dpfda.noise.shares`). Rounds: a unit adds a vector of
    at most a public length to each, whatever was released before; proof in `dpfda.survival.cox_rounds`.

    References
    ----------
    Cox (1972); Holford (1980) for the piecewise constant baseline; Bassily, Smith & Thakurta (2014) for
    noisy steps.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> age, arm = generator.uniform(40, 90, 4000), generator.choice(["a", "b"], 4000)
    >>> hazard = 0.1 * np.exp(0.04 * (age - 65) + 0.7 * (arm == "b"))
    >>> died, left = generator.exponential(1 / hazard), generator.uniform(2, 20, 4000)
    >>> terms = {"age": (40, 90), "arm": ["a", "b"]}
    >>> model = PrivateCox(epsilon=2, covariates=terms, domain=(0, 10), unit="patient")
    >>> data = {"age": age, "arm": arm}
    >>> release = model.fit(np.minimum(died, left), died <= left, data).release_
    >>> release["arm=b"].lower > 1, release.at(age=80, arm="b")(5) < release.at(age=50, arm="a")(5)
    (True, True)
    """

    release_: ReleasedCox

    _stepped = True

    def __init__(
        self,
        epsilon: Number = None,
        delta: Number = 0.0,
        *,
        rho: Number = None,
        covariates: Mapping[str, object] | None = None,
        domain: Place = None,
        strata: Sequence[str] | None = None,
        causes: Sequence[object] | None = None,
        censored: Sequence[object] | None = None,
        cells: int | None = None,
        method: str = "auto",
        unit: Protected = None,
        reading: Reading | None = None,
        ledger: Payer = None,
        **fields: object,
    ) -> None:
        self._keep(vars())

    def fit(
        self, times: Labels, events: Labels = None, covariates: object = None, groups: Labels = None
    ) -> Self:
        """Release hazard ratios and survival curves.

        Parameters
        ----------
        times : array (n,)
            End of each follow-up, in the units of the domain. Private.
        events : array (n,), optional
            How it ended, as a code of `causes` or `censored`; by default all are events. Private.
        covariates : DataFrame, mapping from name to column, or array (n, q)
            Covariates and strata of each record: by the names that were stated, or in their order.
            Private.
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
        self.release_ = publish_cox(self.prepare(times, events, covariates, groups), self._paying())
        return self

    def plan(self, n: int, share: float = DIED) -> CoxPlan:
        """What `fit` would publish of n units, from public numbers alone. No data are read.

        Parameters
        ----------
        n : int
            Number of privacy units; where that is private, a number to expect.
        share : float
            Expected share of units with an event. A guess, for errors and intervals alone.

        Raises
        ------
        ParameterError
            If a public parameter is unusable, as in `fit`.
        """
        guarantee = self._checked()
        whole(n, "n", 2)
        share = probability(share, "share")
        return self._plan(guarantee, n, None, "", planned=True, share=share)

    def _plan(
        self, guarantee: Guarantee, count: int, groups: object, coding: str, **expected: Any
    ) -> CoxPlan:
        """The plan; `expected` is what a plan before there are data has, as of `cox_plan`."""
        settings, (terms, strata) = self.settings, self._stated()
        return cox_plan(
            guarantee, count, settings=settings, covariates=terms, strata=strata,
            causes=Coding.of(self.causes, self.censored).names, cells=self.cells, method=self.method,
            unit=settings.unit.called(groups), coding=coding, **expected,
        )  # fmt: skip

    def _checked(self) -> Guarantee:
        choice(self.method, "method", METHODS)
        self._stated()
        return check_choices(self)

    def _stated(self) -> tuple[tuple[Covariate, ...], tuple[Covariate, ...]]:
        """Covariates with a ratio, and those of strata."""
        covariates = stated_covariates(self.covariates)
        if self.strata is None:
            return covariates, ()
        names = [str(name) for name in public_labels(self.strata, "strata", 1)]
        leveled = {covariate.name for covariate in covariates if covariate.levels}
        if not {*names} <= leveled or len({*names}) < len(names) or len(names) == len(covariates):
            words = "name some of the covariates that have levels, each once, and leave one with a ratio"
            raise ParameterError("strata", words, shown(self.strata))
        terms = tuple(covariate for covariate in covariates if covariate.name not in names)
        return terms, tuple(covariate for covariate in covariates if covariate.name in names)

    # Whether arithmetic overflows or underflows depends on values: it may neither warn nor raise.
    @np.errstate(all="ignore")
    def prepare(
        self, times: Labels, events: Labels = None, covariates: object = None, groups: Labels = None
    ) -> Prepared[CoxPlan, IntegerSum | FollowedUp]:
        """Everything before the noise: read, check, clip. The result is private."""
        guarantee = self._checked()
        invalid = self.settings.reading.invalid
        coding = Coding.of(self.causes, self.censored).checked(events is not None, invalid)
        called = "times", "events"
        ended, ends, _, followed = read_follow_ups(coding, [], invalid, times, events, called=called)
        count = len(ended)
        assert self.covariates is not None  # noqa: S101
        stated = stated_covariates(self.covariates)
        columns = columns_named(covariates, [covariate.name for covariate in stated], "covariates")
        read, usable = read_covariates(stated, self.covariates, columns, count, invalid, "follow-up")
        usable &= followed
        codes, units = units_of(groups, count, invalid)
        plan = self._plan(guarantee, units, groups, "" if events is None else coding.words(invalid))
        ended, ends = np.where(usable, ended, 0.0), np.where(usable, ends, CENSORED)
        beside = dict(zip((covariate.name for covariate in stated), read, strict=True))
        own = np.zeros(count, dtype=np.int64)
        for covariate in plan.model.strata:
            own = own * covariate.ends + beside[covariate.name].astype(np.int64)
        chosen = [beside[covariate.name] for covariate in plan.model.terms.covariates]
        if plan.method == TABLE:
            place = plan.combinations.places(chosen, own) * plan.model.cells.each
            index = place + plan.model.cells.ends(ended, ends)
            weights = cell_weights(index, usable, codes, plan.combinations.cells, EXPONENT)
            return Prepared(plan, IntegerSum.of(weights))
        codes = np.arange(count) if codes is None else codes
        levels = 2**LENGTH_BITS // np.bincount(codes)[codes]
        return Prepared(plan, FollowedUp.of(plan.model, ended, ends, chosen, own, levels, usable))
