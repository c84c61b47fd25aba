"""Which releases can be asked one functional at a time, and the noise of a number of questions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dpfda.bases.protocol import BoxFunctions
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.elliptical import StudentT
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.noise.elliptical import StudentForms, student_forms
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.numerics.parameters import whole
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import MeanPlan


def check_plan(plan: MeanPlan) -> None:
    """Refuse what a session cannot answer before anything is charged.

    Raises ParameterError if the functions are not on an interval. Raises RefusedMechanismError if the
    noise is neither Gaussian nor that of a number of questions, awaits the count, or is not on
    coefficients.
    """
    if isinstance(plan.basis, BoxFunctions):
        raise ParameterError(
            "basis",
            "be of functions on an interval in a session",
            plan.basis.describe(),
            "Release the whole function with fit().",
        )
    design = plan.public_design
    if design is None and plan.mechanism == "auto":
        raise RefusedMechanismError(
            "mechanism",
            "be named in a session whose number of units is private",
            "'auto'",
            "The choice would wait for the noisy count. Use 'gaussian' or 'gaussian-process'.",
        )
    design = design or plan.design(1)
    checked_noise(design.noise, plan.guarantee)
    if design.measurement is not None:
        raise RefusedMechanismError(
            "mechanism",
            "add its noise to coefficients in a session",
            f"{design.mechanism!r}, which measures values on the grid",
            "Queries are linear forms of noisy coefficients. Release the whole function with fit().",
        )


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
        raise RefusedMechanismError(
            "delta",
            "be positive in a session",
            "0",
            "Only Gaussian noise can be drawn one functional at a time without end, and no scale of it"
            " gives pure differential privacy. Set delta (for example 1e-6), fix the number of"
            " functionals in advance with questions=, or release the whole function with fit().",
            "Reimherr & Awan 2019, Theorem 4",
        )
    raise RefusedMechanismError(
        "mechanism",
        "be 'gaussian' or 'gaussian-process' in a session",
        noise.describe(),
        "The conditional law of a new functional given earlier ones is known for Gaussian noise."
        " Release the whole function with fit() for other noise.",
    )


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
            raise RefusedMechanismError(
                "questions",
                "be left out where delta is positive or the budget is rho",
                str(self.questions),
                "Gaussian noise answers any number of questions then: mechanism='gaussian'.",
            )
        size = int(problem.prior.size)
        noise = student_forms(size, self.questions, problem.width, problem.guarantee, self.degrees)
        parameters = {"components": size, "degrees": noise.degrees, "questions": noise.forms}
        return Design.shrunk(problem, self.name, parameters, noise)


def with_questions(estimator: Any, questions: int) -> Any:
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
    made = object.__new__(type(estimator))
    vars(made).update(vars(estimator), mechanism=StudentQuestions(count, degrees))
    return made
