"""A session at a pure epsilon: t noise for a number of questions that is charged in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.elliptical import StudentT
from dpfda.noise.elliptical_forms import student_forms
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.numerics.parameters import whole
from dpfda.privacy.guarantees import PureDP


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
