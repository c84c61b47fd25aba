"""Queries about a function: which releases can be asked, the noise, and the integers of a functional."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point
from dpfda.bases.protocol import on_box
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.elliptical import StudentT
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.noise.elliptical import StudentForms, student_forms
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import plain_words, values_at, whole
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.privacy.ledger.named import Paying
from dpfda.publication import MeanPlan, Prepared
from dpfda.releases.function import ReleasedFunction

# The largest entry of a query has this many bits, so that every double down to 2^-43 of the largest
# is taken as the exact rational that it is.
QUERY_BITS = 96

# Answers stay far from the end of the range of floats, at about 2^1024.
LARGEST = 2.0**500


@dataclass(frozen=True, eq=False)
class Query:
    """The functional f -> sum_i weights_i f^(order)(points_i). Public.

    words: What is asked, as JSON types: the same words are the same query.
    points, weights: array (k,). Points of the domain and what the values there are multiplied by.
    order: Order of the derivative.
    """

    words: dict[str, object]
    points: Floats
    weights: Floats
    order: int = 0

    @property
    def key(self) -> str:
        """The words as one text."""
        return json.dumps(self.words, sort_keys=True)

    def of(self, function: ReleasedFunction) -> float:
        """The functional of a public function."""
        for _ in range(self.order):
            function = function.derivative()
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(self.weights * function(self.points)))

    def direction(self, frame: ReleasedFunction) -> tuple[tuple[int, ...], int]:
        """The functional of the shrunken basis functions: integers m and e, for m 2^-e.

        Raises ParameterError if it is not finite, or the basis functions have no such derivative.
        """
        functions = frame.basis.evaluate(self.points, self.order)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.weights @ functions * frame.shrinkage
        if not np.all(np.isfinite(values)):
            raise ParameterError("function", "have a finite integral with the basis", "an overflow")
        exponent = QUERY_BITS - math.frexp(float(np.max(np.abs(values))))[1]
        factor = Fraction(2) ** exponent
        return tuple(round(Fraction(float(value)) * factor) for value in values), exponent


@dataclass(frozen=True)
class Posed:
    """A query with all that is public about its answer, checked before any noise is drawn.

    direction: The integer vector m.
    step: What the integer <m, Y> is multiplied by.
    center: The functional of the bound's center.
    standard_error: Standard deviation of the answer's noise.
    """

    query: Query
    direction: tuple[int, ...]
    step: Fraction
    center: float
    standard_error: float

    def answer(self, integer: int) -> float:
        """The answer for <m, Y>: it always exists, for what no float can hold becomes the largest."""
        try:
            return float(integer * self.step) + self.center
        except OverflowError:
            return math.copysign(sys.float_info.max, integer)


def pose(
    query: Query, frame: ReleasedFunction, scales: Sequence[int], spread: Fraction = Fraction(1)
) -> Posed:
    """Work out and check everything public about a query.

    Raises ParameterError if the answer may be beyond the range of floats, or the function has no such
    derivative.
    """
    direction, exponent = query.direction(frame)
    step = Fraction(2) ** -(exponent + frame.exponent) / Fraction(frame.count)
    variance = spread * sum((m * s) ** 2 for m, s in zip(direction, scales, strict=True))
    center = query.of(frame)
    try:
        error = float(Fraction(math.sqrt(variance)) * step)
    except OverflowError:
        error = math.inf
    size = max(abs(center), error)
    if not size <= LARGEST:
        words = "be so small that its center and standard error are at most 2^500"
        remedy = "Divide it by a constant."
        raise ParameterError("function", words, f"center {center:g}, standard error {error:g}", remedy)
    return Posed(query, direction, step, center, error)


def value_at(point: float, frame: ReleasedFunction, order: int = 0) -> Query:
    """The value, or a derivative, at one point."""
    at = np.array([check_point(point, frame.domain_range) + 0.0])
    words: dict[str, object] = {"kind": "value", "at": float(at[0])}
    if order:
        words |= {"kind": "derivative", "order": order}
    return Query(words, at, np.ones(1), order)


def integral_over(start: float | None, end: float | None, frame: ReleasedFunction) -> Query:
    """The integral between two points, by default over the domain."""
    low, high = frame.domain_range
    a, b = (
        check_point(default if point is None else point, frame.domain_range)
        for point, default in ((start, low), (end, high))
    )
    points, weights = frame._quadrature(a, b)
    return Query({"kind": "integral", "start": a + 0.0, "end": b + 0.0}, points, weights)


def inner_with(
    function: Callable[[Floats], ArrayLike], label: str | None, frame: ReleasedFunction
) -> Query:
    """The integral over the domain of the function times a public one."""
    points, weights = frame._quadrature(*frame.domain_range)
    values = values_at(function, "function", points)
    digest = hashlib.blake2b(np.asarray(values + 0.0, dtype="<f8").tobytes(), digest_size=8)
    name = getattr(function, "__name__", type(function).__name__) if label is None else str(label)
    plain_words(name, "label")
    words = {"kind": "inner product", "with": name, "values": digest.hexdigest()}
    with np.errstate(over="ignore"):
        return Query(words, points, weights * values)


def check_plan(plan: MeanPlan) -> None:
    """Refuse what a session cannot answer before anything is charged.

    Raises ParameterError if the functions are not on an interval. Raises RefusedMechanismError if the
    noise is neither Gaussian nor that of a number of questions, awaits the count, or is not on
    coefficients.
    """
    if on_box(plan.basis):
        words = "be of functions on an interval in a session"
        remedy = "Release the whole function with fit()."
        raise ParameterError("basis", words, plan.basis.describe(), remedy)
    design = plan.public_design
    if design is None and plan.mechanism == "auto":
        words = "be named in a session whose number of units is private"
        remedy = "The choice would wait for the noisy count. Use 'gaussian' or 'gaussian-process'."
        raise RefusedMechanismError("mechanism", words, "'auto'", remedy)
    design = design or plan.design(1)
    checked_noise(design.noise, plan.guarantee)
    if design.measurement is not None:
        words = "add its noise to coefficients in a session"
        fault = f"{design.mechanism!r}, which measures values on the grid"
        remedy = "Queries are linear forms of noisy coefficients. Release the whole function with fit()."
        raise RefusedMechanismError("mechanism", words, fault, remedy)


def spread_of(noise: GaussianNoise | StudentForms) -> Fraction:
    """Variance of a component over its squared scale."""
    return noise.spread if isinstance(noise, StudentForms) else Fraction(1)


def checked_noise(noise: NoiseLaw, guarantee: Guarantee) -> GaussianNoise | StudentForms:
    """The noise, if functionals of it can be drawn one at a time.

    Raises RefusedMechanismError if it is not, with the reason.
    """
    if isinstance(noise, GaussianNoise | StudentForms):
        return noise
    if isinstance(guarantee, PureDP):
        words = "be positive in a session"
        remedy = (
            "Only Gaussian noise can be drawn one functional at a time without end, and no scale of it "
            "gives pure differential privacy. Set delta (for example 1e-6), fix the number of "
            "functionals in advance with questions=, or release the whole function with fit()."
        )
        raise RefusedMechanismError("delta", words, "0", remedy, "Reimherr & Awan 2019, Theorem 4")
    raise RefusedMechanismError(
        "mechanism",
        "be 'gaussian' or 'gaussian-process' in a session",
        noise.describe(),
        "The conditional law of a new functional given earlier ones is known for Gaussian noise."
        " Release the whole function with fit() for other noise.",
    )


class Estimator(Protocol):
    """A summary that can be prepared and charged, such as `PrivateMean`."""

    mechanism: object

    def prepare(self, X: object, groups: object = None) -> Prepared[MeanPlan, IntegerSum]:
        """Everything before the noise."""

    def _paying(self) -> Paying:
        """The ledger and the data set in it, where they are given."""

    def _check_road(self, road: str) -> None:
        """Refuse a way to the sum that does not hear what the class says of records."""


@dataclass(frozen=True)
class StudentQuestions:
    """t noise on all coefficients, of which a session tells `questions` functionals.

    questions: Number of linearly independent functionals.
    degrees: Degrees of freedom; by default questions + 4.
    """

    questions: int
    degrees: int | None = None
    name: ClassVar[str] = "student-t"

    def design(self, problem: Problem) -> Design:
        """Scale for so many functionals, and Wiener shrinkage."""
        if not isinstance(problem.guarantee, PureDP):
            words = "be left out where delta is positive or the budget is rho"
            remedy = "Gaussian noise answers any number of questions then: mechanism='gaussian'."
            raise RefusedMechanismError("questions", words, str(self.questions), remedy)
        size = int(problem.prior.size)
        noise = student_forms(size, self.questions, problem.width, problem.guarantee, self.degrees)
        parameters = {"components": size, "degrees": noise.degrees, "questions": noise.forms}
        return Design.shrunk(problem, self.name, parameters, noise)


def with_questions(estimator: Estimator, questions: int) -> Estimator:
    """The same estimator, with the noise of so many questions; the one given is left as it is.

    Raises ParameterError if the number is not a positive integer. Raises RefusedMechanismError if
    another mechanism is named than "student-t".
    """
    count = whole(questions, "questions", 1)
    named = estimator.mechanism
    degrees = named.degrees if isinstance(named, StudentT) and named.components is None else None
    if degrees is None and named not in ("auto", "student-t", StudentT()):
        raise RefusedMechanismError(
            "mechanism",
            "be 'student-t' in a session with a number of questions",
            str(getattr(named, "name", named)),
            "t noise alone gives a pure epsilon to functionals that are chosen one at a time.",
            "Reimherr & Awan 2019, Corollary 1",
        )
    # Neither copied nor cloned: it must pay from the very ledger that was given.
    copy = object.__new__(type(estimator))
    vars(copy).update(vars(estimator), mechanism=StudentQuestions(count, degrees))
    return copy
