"""A mean whose records are read again after a first release: in two looks, or between bounds found."""

from __future__ import annotations

from typing import Any

from dpfda.bounds import Search
from dpfda.mean.search import SearchPlan, fit_search
from dpfda.mean.two_looks import LooksPlan, TwoLooks, fit_looks
from dpfda.publication import MeanPlan, Paying, Prepared
from dpfda.publication.means import ReleasedMean
from dpfda.spine.sums import Readable

StagedPlans = LooksPlan | SearchPlan


def strategy_of(bounds: object, mechanism: object) -> TwoLooks | Search | None:
    """What of the parameters makes records be read again. Raises ParameterError if both do."""
    if isinstance(bounds, Search):
        if isinstance(mechanism, TwoLooks):
            raise bounds.refusal("two looks")
        return bounds
    return mechanism if isinstance(mechanism, TwoLooks) else None


def staged_plan(whole: MeanPlan, strategy: TwoLooks | Search) -> StagedPlans:
    """The plan in stages for that of one mean. Raises ParameterError if there is none."""
    if isinstance(strategy, Search):
        return SearchPlan.of(whole, strategy)
    return LooksPlan.of(whole, strategy)


def fit_staged(prepared: Prepared[Any, Readable], paying: Paying) -> ReleasedMean:
    """Charge for all stages, and release them one after the other."""
    fit = fit_search if isinstance(prepared.plan, SearchPlan) else fit_looks
    return fit(prepared, paying)
