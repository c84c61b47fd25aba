"""The public side of a release of a sum: what is asked for, and the design that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bases.curve_priors import CurvePrior
from dpfda.bases.protocol import flat_grid
from dpfda.bounds import Bound, IntegerBall, IntegerBody, OnGrid, ball_of, on_grid
from dpfda.errors import ParameterError
from dpfda.mechanisms import COUNT_SCALE, Design, Problem
from dpfda.mechanisms.design import adapted, choose, public_curves, public_mixture, with_count
from dpfda.noise import KNormNoise, knorm_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import Guarantee, Neighbours, split

# Under add/remove neighbours without a public size, a tenth of the budget goes to the count: its
# relative error at n = 500, epsilon = 1 is then about 3 per cent, below that of the curve.
COUNT_SHARE = Fraction(1, 10)


@dataclass(frozen=True, eq=False)
class Request:
    """The public side of a release: everything but the data.

    A mechanism that works with another basis or form of bound replaces them here.

    Parameters
    ----------
    basis : Basis
    bound : Bound
    guarantee : Guarantee
        For the whole release.
    neighbours : Neighbours
    mechanism : "auto", name or Mechanism
    public_size : int or None
        Under replace-one neighbours the number of units; under add/remove a public divisor, or None
        to release the count with a share of the budget.
    unit : str
        Who is protected.
    about : mapping
        Labels and units of the axes.
    line : bool
        Whether "auto" may answer bounds on values with the line of `dpfda.mechanisms.design.lines`.
    centers : array (C, m), optional
        Public curves that the mean may be near to; for the line alone.
    """

    basis: Basis
    bound: Bound
    guarantee: Guarantee
    neighbours: Neighbours
    mechanism: Any
    public_size: int | None
    unit: str
    about: Mapping[str, Any]
    line: bool = True
    centers: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        basis, bound = adapted(
            self.mechanism,
            self.basis,
            self.bound,
            self.public_size,
            self.function_guarantee,
            self.neighbours,
        )
        object.__setattr__(self, "basis", basis)
        object.__setattr__(self, "bound", bound)

    @cached_property
    def on_grid(self) -> OnGrid | None:
        """How the bound is enforced on the grid; None where records are projected one by one."""
        return on_grid(self.bound, self.basis)

    @cached_property
    def ball(self) -> IntegerBall | IntegerBody:
        """Where integer coefficients lie: a function of public numbers without the size."""
        if self.on_grid is not None:
            return self.on_grid.ball
        basis = self.basis
        return ball_of(self.bound, flat_grid(basis), basis.weights, basis.eigenvalues.size)

    @property
    def function_guarantee(self) -> Guarantee:
        """What is left for the function after the count's share."""
        return self.guarantee if self.public_size else split(self.guarantee, COUNT_SHARE)[1]

    @property
    def joins_count(self) -> bool:
        """Whether a private number of units may get noise once more, in one with sums over cells.

        Sums are then kept for every grid point, and those over cells are made of them after the count
        that the cells are designed for.
        """
        if self.public_size is not None or not self.answers_with_line:
            return False
        return self.on_grid is not None and self.on_grid.cube is not None

    @property
    def count_noise(self) -> KNormNoise:
        """Laplace noise for that share on the number of units, which moves by one under add/remove."""
        part, _ = split(self.guarantee, COUNT_SHARE)
        return knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, part)

    def problem(self, size: int) -> Problem:
        """The mechanism's problem for a public or released number of units."""
        return Problem(
            self.basis.eigenvalues,
            self.basis.decay,
            self.ball,
            size,
            self.function_guarantee,
            self.neighbours,
            None if self.on_grid is None else self.on_grid.cube,
            public_mixture(self.basis, self.ball.norm),
            self.curves,
        )

    @cached_property
    def curves(self) -> CurvePrior | None:
        """What the default mean of curves between bounds is estimated from; None for anything else."""
        made = public_curves(self.basis, self.bound) if self.line else None
        return made if made is None or self.centers is None else replace(made, centers=self.centers)

    def design(self, size: int) -> Design:
        """The mechanism's design for a public or released number of units.

        Where the number of units is private, what is measured on the grid is fixed before the sum is
        made, unless the count joins it: "auto" would choose it by the number, and leaves it out.
        """
        problem = self.problem(size)
        if self.joins_count:
            return with_count(problem, choose(problem, self.mechanism))
        if self.public_size is None and isinstance(self.mechanism, str):
            problem = replace(problem, cube=None)
        return choose(problem, self.mechanism)

    @property
    def answers_with_line(self) -> bool:
        """Whether the release will be the default line of curves between bounds."""
        return isinstance(self.mechanism, str) and self.mechanism == "auto" and self.curves is not None

    @cached_property
    def public_design(self) -> Design | None:
        """The design where the size is public; None where it awaits the count."""
        return None if self.public_size is None else self.design(self.public_size)

    def components(self) -> int:
        """How many coefficients are needed: all of them where the design awaits the count."""
        if self.public_design is None:
            # A trial design, so that a refused mechanism is refused before records are read.
            self.trial  # noqa: B018
            return int(self.basis.eigenvalues.size)
        return self.public_design.components

    @cached_property
    def trial(self) -> Design:
        """The design for one unit: it says what is measured, and holds whatever the count will be."""
        return self.design(1)

    @property
    def measured(self) -> NDArray[np.int64] | None:
        """Public matrix from sums on the grid to what gets noise, where that is not coefficients."""
        measurement = (self.public_design or self.trial).measurement
        return None if measurement is None else measurement.matrix

    def grid_matrix(self, placed: OnGrid) -> NDArray[np.int64]:
        """Public matrix from sums on the grid to the integers that get noise: coefficients, mostly."""
        return placed.matrix[: self.components()] if self.measured is None else self.measured

    def measure(self, total: IntegerSum, design: Design) -> IntegerSum:
        """The sums that a design adds noise to; they are made by now but where the count joins them."""
        if not self.joins_count or self.on_grid is None:
            return total
        measured = design.measurement
        if measured is None:
            return total.through(self.on_grid.matrix[: design.components])
        return total.through(measured.matrix)

    def counted_design(self, units: int) -> Design:
        """The design for a released number of units, which must measure what was summed before.

        Raises
        ------
        ParameterError
            If it measures something else: its noise would not fit the sums.
        """
        design = self.design(units)
        if self.joins_count:
            return design
        made = None if design.measurement is None else design.measurement.matrix
        if not np.array_equal(
            np.empty(0) if made is None else made,
            np.empty(0) if self.measured is None else self.measured,
        ):
            raise ParameterError(
                "mechanism",
                "measure the same sums whatever the number of units, where that is private",
                design.mechanism,
                "Give public_size, or fix what is measured.",
            )
        return design
