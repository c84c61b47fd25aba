"""Which releases can be asked one functional at a time: coefficients on an interval, Gaussian noise."""

from __future__ import annotations

from dpfda.bases.protocol import BoxFunctions
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import MeanPlan


def check_plan(plan: MeanPlan) -> None:
    """Refuse what a session cannot answer before anything is charged.

    Raises
    ------
    ParameterError
        If the functions are not on an interval.
    RefusedMechanismError
        If the noise is not Gaussian, awaits the count, or is not on coefficients.
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
    checked_gaussian(design.noise, plan.guarantee)
    if design.measurement is not None:
        raise RefusedMechanismError(
            "mechanism",
            "add its noise to coefficients in a session",
            f"{design.mechanism!r}, which measures values on the grid",
            "Queries are linear forms of noisy coefficients. Release the whole function with fit().",
        )


def checked_gaussian(noise: NoiseLaw, guarantee: Guarantee) -> GaussianNoise:
    """The noise, if it is Gaussian.

    Raises
    ------
    RefusedMechanismError
        If it is not, with the reason.
    """
    if isinstance(noise, GaussianNoise):
        return noise
    if isinstance(guarantee, PureDP):
        raise RefusedMechanismError(
            "delta",
            "be positive in a session",
            "0",
            "Only Gaussian noise can be drawn one functional at a time, and no scale of it gives pure"
            " differential privacy. Set delta (for example 1e-6), or release the whole function with"
            " fit().",
            "Reimherr & Awan 2019, Theorem 4",
        )
    raise RefusedMechanismError(
        "mechanism",
        "be 'gaussian' or 'gaussian-process' in a session",
        noise.describe(),
        "The conditional law of a new functional given earlier ones is known for Gaussian noise."
        " Release the whole function with fit() for other noise.",
    )
