"""A plan: what would be released and how far off it would be, without any data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bounds import Bound
from dpfda.errors import ParameterError
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.design.choice import choose
from dpfda.mechanisms.design.counted import with_count
from dpfda.mechanisms.design.expectation import DRAWS, ExpectedError, expected_error
from dpfda.mechanisms.design.limits import least_error, least_error_of_any
from dpfda.mechanisms.design.problems import adapted, make_problem
from dpfda.mechanisms.posteriors import CountNoise
from dpfda.numerics.one_thread import one_thread
from dpfda.privacy.guarantees import Guarantee, Neighbours


@dataclass(frozen=True, eq=False)
class Plan:
    """What would be released, and how far off it would be, from public numbers alone.

    Parameters
    ----------
    problem : Problem
    design : Design
    error : ExpectedError
        In squared units of the data times those of the domain.
    length : float
        Of the domain.
    """

    problem: Problem
    design: Design
    error: ExpectedError
    length: float

    @property
    def typical_error(self) -> float:
        """Root mean square error at a point of the domain, in the units of the data."""
        return math.sqrt(self.error.total / self.length)

    @cached_property
    def typical_limit(self) -> float | None:
        """What no mechanism that protects in proportion can expect to fall below, as `typical_error`.

        None where no such limit is proved: under (epsilon, delta), where the bound is a body, and for
        the line of curves between bounds, whose means are not those of the limit.
        """
        if isinstance(self.design.hierarchy, CurvePrior):
            return None
        return self._typical(least_error(self.problem))

    @cached_property
    def typical_limit_of_any(self) -> float | None:
        """What no mechanism with the guarantee can expect to fall below, as `typical_error`."""
        return self._typical(least_error_of_any(self.problem))

    def _typical(self, limit: float | None) -> float | None:
        return None if limit is None else math.sqrt(limit / self.length)


@one_thread()
def make_plan(
    basis: Basis,
    bound: Bound,
    size: int,
    guarantee: Guarantee,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
    mechanism: Any = "auto",
    draws: int = DRAWS,
    rough: CountNoise | None = None,
) -> Plan:
    """Plan a release of a mean without any data.

    Parameters
    ----------
    basis : Basis
        Public basis. That of the default kernel stands for the public mixture of shapes and scales, or
        with bounds on values for smooth curves between them; any other for a mean as rough as its
        eigenvalues and as large as the bound allows.
    bound : Bound
        Public bound on a record.
    size : int
        Number of privacy units.
    guarantee : Guarantee
        What to give.
    neighbours : Neighbours
        For which pairs of data sets.
    mechanism : "auto", name or Mechanism
    draws : int
        Means that are simulated where the error has no closed form.
    rough : CountNoise, optional
        Where the number of units is private and joins the sum: noise of the count before, whose share
        of the budget is not in `guarantee`. The expected error then has that of the count in it.

    Raises
    ------
    ParameterError
        If the size is not a positive integer or the mechanism is refused.
    """
    if not (isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1):
        raise ParameterError("number of curves", "be a positive integer", repr(size))
    basis, bound = adapted(mechanism, basis, bound, int(size), guarantee, neighbours)
    problem = make_problem(basis, bound, int(size), guarantee, neighbours)
    design = choose(problem, mechanism)
    if rough is not None:
        design = with_count(problem, design)
    start, end = basis.domain_range
    return Plan(problem, design, expected_error(problem, design, basis, draws, rough), end - start)
