"""Which releases can be asked one functional at a time: coefficients on an interval, Gaussian noise."""

from __future__ import annotations

from fractions import Fraction

from dpfda.bases.protocol import BoxFunctions
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.noise.elliptical_forms import StudentForms
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
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
