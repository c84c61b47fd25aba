"""Which releases can be asked one functional at a time: those with Gaussian noise."""

from __future__ import annotations

from dpfda.errors import RefusedMechanismError
from dpfda.guarantees import Guarantee, PureDP
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.publication import Request


def check_request(request: Request) -> None:
    """Refuse what is not Gaussian before anything is charged."""
    design = request.public_design
    if design is None and request.mechanism == "auto":
        raise RefusedMechanismError(
            "mechanism",
            "be named in a session whose number of units is private",
            "'auto'",
            "The choice would wait for the noisy count. Use 'gaussian' or 'gaussian-process'.",
        )
    checked_gaussian((design or request.design(1)).noise, request.guarantee)


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
