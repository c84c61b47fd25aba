"""The one crossing from private to public: charge the ledger, draw the noise, add it to the sum.

The order is fixed. Everything that can fail on public grounds has been checked before; the ledger is
charged; only then is noise drawn. What fails afterwards stays charged.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.aggregate import IntegerSum
from dpfda.bases import Basis
from dpfda.bases.protocol import BoxFunctions, flat_grid
from dpfda.bounds import Bound, IntegerBall, IntegerBody, Norm, OnGrid, ball_of, on_grid
from dpfda.calibration import AnyNorm, Width, knorm_noise, stated_guarantee, within
from dpfda.composition import Cost, cost_of
from dpfda.design import adapted, choose, public_mixture
from dpfda.errors import DpfdaError, ParameterError
from dpfda.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, split
from dpfda.ledger import Ledger
from dpfda.mechanisms import Design, Problem
from dpfda.noise import BoxNoise, EllipsoidNoise, KNormNoise, NoiseLaw
from dpfda.releases.field import ReleasedField
from dpfda.releases.function import NoisyCount, ReleasedFunction

# Under add/remove neighbours without a public size, a tenth of the budget goes to the count: its
# relative error at n = 500, epsilon = 1 is then about 3 per cent, below that of the curve.
COUNT_SHARE = Fraction(1, 10)
COUNT_SCALE = 2**20

# Numbers of units for which a caller's own mechanism is tried before the charge, where it is private.
TRIED_SIZES = (100, 10_000)


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
    """

    basis: Basis
    bound: Bound
    guarantee: Guarantee
    neighbours: Neighbours
    mechanism: Any
    public_size: int | None
    unit: str
    about: Mapping[str, Any]

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
        )

    def design(self, size: int) -> Design:
        """The mechanism's design for a public or released number of units.

        What is measured on the grid is fixed before the sum is made; "auto" would choose it by the
        number of units, so it leaves that out where the number is private.
        """
        problem = self.problem(size)
        if self.public_size is None and isinstance(self.mechanism, str):
            problem = replace(problem, cube=None)
        return choose(problem, self.mechanism)

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

    def counted_design(self, units: int) -> Design:
        """The design for a released number of units, which must measure what was summed before.

        Raises
        ------
        ParameterError
            If it measures something else: its noise would not fit the sums.
        """
        design = self.design(units)
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


@dataclass(frozen=True, eq=False)
class Paid:
    """A release that is charged and designed, before any noise on the function is drawn.

    Parameters
    ----------
    design : Design
        Its noise law has been checked against the guarantee.
    public : mapping
        All that the released function will hold beside the mechanism's output, made beforehand so that
        nothing can fail between the noise and the release.
    """

    design: Design
    public: Mapping[str, Any]

    def release(self, noisy_sum: tuple[int, ...]) -> Any:
        """The released function around the mechanism's output: on an interval or on a box."""
        made = ReleasedField if isinstance(self.public["basis"], BoxFunctions) else ReleasedFunction
        return made(noisy_sum=noisy_sum, **self.public)


def publish(
    total: IntegerSum,
    request: Request,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Any:
    """Charge, draw, add: turn a private sum into a released function.

    Parameters
    ----------
    total : IntegerSum
        Private sum of clipped integer coefficients.
    request : Request
        Public side of the release.
    ledger : Ledger, optional
        Charged before any noise is drawn.
    dataset : str, optional
        Name of the data set in the ledger.

    Raises
    ------
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    paid = pay(total, request, ledger, dataset)
    return paid.release(total.with_noise(paid.design.noise.draw(), paid.design.thresholds))


def pay(
    total: IntegerSum,
    request: Request,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Paid:
    """Charge for a release and fix its noise law; parameters as in `publish`.

    Nothing is drawn but, under add/remove neighbours without a public size, the noise of the count,
    which the design needs.
    """
    ready = check(request)
    charge(ledger, dataset, _cost(request), _entry(request))
    if isinstance(ready, Paid):
        return ready
    count = NoisyCount(total.count_with_noise(ready.draw()[0], COUNT_SCALE), COUNT_SCALE, ready)
    return _counted(request, count)


def check(request: Request) -> Paid | KNormNoise:
    """Design, calibrate and recompute, so that what can be refused is refused before the charge.

    Returns
    -------
    Paid or KNormNoise
        All but the output where the number of units is public; else the law of the count's noise.

    Raises
    ------
    ParameterError, RefusedMechanismError, DpfdaError
        If the mechanism cannot give the guarantee, or measures what depends on a private number.
    """
    design, size = request.public_design, request.public_size
    if design is not None and size is not None:
        return _paid(request, size, design, float(size))
    noise = _count_noise(request)
    # What this makes of one unit is what is left where a later design fails.
    _paid(request, 1, request.trial, NoisyCount(COUNT_SCALE, COUNT_SCALE, noise))
    if not isinstance(request.mechanism, str):
        for units in TRIED_SIZES:
            request.counted_design(units)
    return noise


def _counted(request: Request, count: NoisyCount) -> Paid:
    """The design for a count that is public by now; the one for a single unit where that fails.

    The release has been charged, so it does not fail with a mechanism that knows no answer for this
    number, or measures something else: the noise of any of its designs gives the guarantee, and which of
    them is taken follows from the released count alone.
    """
    units = max(1, round(count.value))
    try:
        return _paid(request, units, request.counted_design(units), count)
    except Exception:
        return _paid(request, 1, request.trial, count)


def publish_integers(
    total: IntegerSum,
    noise: NoiseLaw,
    norm: Norm,
    width: int,
    guarantee: Guarantee,
    entry: Mapping[str, Any],
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> tuple[tuple[int, ...], Guarantee]:
    """Charge, draw, add, for integers whose sensitivity somebody else has proved.

    Parameters
    ----------
    total : IntegerSum
        Private integers.
    noise : NoiseLaw
        Calibrated law on all of them.
    norm, width
        Neighbouring data sets move the integers by at most `width` in this norm.
    guarantee : Guarantee
        What is charged, and what the noise must give.
    entry : mapping
        Public description for the ledger's history.
    ledger, dataset
        As in `publish`.

    Returns
    -------
    tuple of int, Guarantee
        Noisy integers, public; and what the noise in force gives.
    """
    stated = _recomputed(noise, norm, width, guarantee)
    charge(ledger, dataset, cost_of(noise, guarantee), entry)
    return total.with_noise(noise.draw()), stated


def publish_parallel(
    parts: Sequence[tuple[IntegerSum, Request]],
    entry: Mapping[str, Any],
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> list[ReleasedFunction]:
    """Release several sums over disjoint sets of privacy units, at the cost of one.

    Neighbouring data sets differ in one unit, which belongs to one of the sums. The releases are
    independent, so the density ratio of all together is that of this one: the loss is the largest of
    the parts' and not their sum (McSherry 2009, Theorem 4). All parts must have one guarantee, one
    relation and one unit, so the largest is this guarantee.

    Parameters
    ----------
    parts : sequence of (IntegerSum, Request)
        Private sums and the public sides of their releases. The caller has made sure that no unit is
        in two of them, in either of two neighbouring data sets.
    entry : mapping
        Public description for the ledger's history.
    ledger, dataset
        As in `publish`. Charged once.

    Raises
    ------
    ParameterError
        If the parts differ in guarantee, neighbours or unit.
    BudgetError
        If the ledger refuses; no noise was drawn.
    """
    terms = {(request.guarantee, request.neighbours, request.unit) for _, request in parts}
    if len(terms) != 1:
        raise ParameterError("parts", "share guarantee, neighbours and unit", f"{len(terms)} kinds")
    costs = {cost if isinstance(cost, Cost) else Cost(cost) for cost in (_cost(r) for _, r in parts)}
    whole = costs.pop() if len(costs) == 1 else Cost(parts[0][1].guarantee)
    for _, request in parts:
        check(request)
    charge(ledger, dataset, whole, entry)
    return [publish(total, request) for total, request in parts]


def charge(
    ledger: Ledger | None, dataset: str | None, cost: Guarantee | Cost, entry: Mapping[str, Any]
) -> None:
    """Charge a ledger, if there is one, before any noise is drawn.

    Raises
    ------
    ParameterError
        If there is a ledger and the data set has no name.
    BudgetError
        If the ledger refuses.
    """
    if ledger is None:
        return
    if dataset is None:
        raise ParameterError("dataset", "name the data set that the ledger charges", "None")
    ledger.charge(dataset, cost, entry)


def _cost(request: Request) -> Guarantee | Cost:
    """What the ledger is charged: the guarantee, and the law of the noise where it is known by now.

    Pure noise that was chosen for an approximate guarantee costs no delta.
    """
    if request.public_design is None:
        return request.guarantee
    noise, guarantee = request.public_design.noise, request.guarantee
    pure = isinstance(noise, KNormNoise | BoxNoise | EllipsoidNoise)
    if pure and isinstance(guarantee, ApproximateDP):
        guarantee = PureDP(guarantee.epsilon)
    return cost_of(noise, guarantee)


def _count_noise(request: Request) -> KNormNoise:
    """Laplace noise on the number of units, which moves by one under add/remove."""
    part, _ = split(request.guarantee, COUNT_SHARE)
    noise = knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, part)
    _recomputed(noise, "l1", COUNT_SCALE, part)
    return noise


def _paid(request: Request, size: int, design: Design, divisor: float | NoisyCount) -> Paid:
    problem = request.problem(size)
    stated = _recomputed(design.noise, *problem.differences(design), problem.guarantee)
    public = {
        "basis": request.basis.truncate(design.functions),
        "exponent": design.exponent(problem),
        "divisor": divisor,
        "shrinkage": design.shrinkage,
        "synthesis": None if design.measurement is None else design.measurement.synthesis,
        "center": request.bound.center_on(flat_grid(request.basis)),
        "noise": design.noise,
        "hierarchy": design.hierarchy,
        "guarantee": request.guarantee,
        "stated": request.guarantee if isinstance(divisor, NoisyCount) else stated,
        "neighbours": request.neighbours,
        "unit": request.unit,
        "bound": {"description": request.bound.describe(), **request.bound.to_json()},
        "mechanism": {"name": design.mechanism, **design.parameters},
        "about": dict(request.about) | stamp(),
    }
    return Paid(design, public)


def _recomputed(noise: NoiseLaw, norm: AnyNorm, width: Width, part: Guarantee) -> Guarantee:
    """The guarantee of the scales in force, which must not exceed the part of the budget."""
    stated = stated_guarantee(noise, norm, width, part)
    if not within(stated, part):
        raise DpfdaError(f"The mechanism's noise gives {stated}, which is more than {part}.")
    return stated


def stamp() -> dict[str, Any]:
    """Date and versions that a release carries."""
    return {
        "created": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": dict(_versions()),
    }


@cache
def _versions() -> dict[str, str]:
    # Looked up once: a search of the file system takes longer than a small release.
    packages = ("dpfda", "numpy", "python-flint")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _entry(request: Request) -> dict[str, Any]:
    return {
        "summary": request.about.get("summary", "function"),
        "neighbours": str(request.neighbours),
        "privacy_unit": request.unit,
        "bound": request.bound.describe(),
        "basis": request.basis.describe(),
        "mechanism": str(request.mechanism),
    }
