"""What a noise law answers for, and what laws share.

A law holds integer scales in units of the public grid on which records were rounded. It draws exactly,
simulates in floats for study, and knows its own losses: what it gives where neighbouring integer sums
differ by a vector d of a public set, recomputed from its integer scales as the upper end of an
enclosure. So what is promised holds for the scales in force and not for their real-valued targets.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Protocol, Self

import numpy as np

from dpfda.bounds import BodyNorm, Norm
from dpfda.noise.mixtures import NoiseMixture
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import fields_to_json, integer, integers
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.privacy.composition import Loss
from dpfda.privacy.guarantees import Guarantee

Width = int | tuple[int, ...]
AnyNorm = Norm | BodyNorm


class AnyLaw(Protocol):
    """What is asked of every law, on vectors and on matrices."""

    law: ClassVar[str]

    @property
    def components(self) -> int:
        """Number of integers that get noise."""

    def draw(self) -> list[int]:
        """One exact draw from the operating system's entropy."""

    def simulate(self, generator: np.random.Generator, draws: int) -> Floats:
        """Float draws (draws, ...): for studies and bands, never for a release."""

    def describe(self) -> str:
        """Say the law in words."""

    def loss(self, requested: Guarantee) -> Loss | None:
        """The loss of this law scaled to a guarantee; None where no more than that is known."""

    def to_json(self) -> dict[str, object]:
        """The law by name, with its integer scales."""


class NoiseLaw(AnyLaw, Protocol):
    """What the rest of the library asks of a law on vectors."""

    def variances(self) -> Floats:
        """Variance of each component, in squared grid units."""

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        """What the integer scales in force give, rounded outward; see `achieved_guarantee`."""

    def simulate_sums(self, generator: np.random.Generator, draws: int, count: int) -> Floats:
        """Float draws (draws, K / count) of sums over so many neighbouring components each."""

    def mixture(self) -> NoiseMixture | None:
        """The law as normal laws of random length, for posteriors; None where it is no such mixture."""


@dataclasses.dataclass(frozen=True)
class Law:
    """What laws share: the defaults of what a law need not say, and how it is written.

    A law is a frozen dataclass with a name ``law``, made of whole numbers, tuples of them and words. It
    defines `draw` and `achieved` itself, since neither holds without the other, and perhaps `loss`.
    """

    law: ClassVar[str]

    def __post_init__(self) -> None: ...

    def loss(self, requested: Guarantee) -> Loss | None:
        """No more is known than the guarantee."""
        return None

    def describe(self) -> str:
        """The name."""
        return self.law

    def to_json(self) -> dict[str, object]:
        """The law by name, in words, with its integer scales."""
        return {"law": self.law, "words": self.describe(), **fields_to_json(self)}

    @classmethod
    def from_json(cls, written: Mapping[str, object]) -> Self:
        """The law of these scales; lists become tuples of integers."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: _parameter(written[name]) for name in names})


class VectorLaw(Law):
    """A law on vectors of integers."""

    def simulate_sums(self, generator: np.random.Generator, draws: int, count: int) -> Floats:
        """Float draws (draws, K / count) of sums over so many neighbouring components each."""
        drawn: Floats = self.simulate(generator, draws)  # type: ignore[attr-defined]
        return np.asarray(drawn.reshape(draws, -1, count).sum(axis=2))

    def mixture(self) -> NoiseMixture | None:
        """No mixture is known: releases are shrunk by factors."""
        return None


def _parameter(written: object) -> tuple[int, ...] | int | str:
    """A parameter of a law: whole numbers, one, or a word."""
    if isinstance(written, str):
        return written
    return integers(written) if isinstance(written, list) else integer(written)


@dataclasses.dataclass(frozen=True)
class ScaledLaw(VectorLaw):
    """A law with one integer scale a component."""

    scales: tuple[int, ...]

    def __post_init__(self) -> None:
        check_positive("scales", self.scales)

    @classmethod
    def equal(cls, count: int, scale: int) -> Self:
        """One scale for all components."""
        return cls((scale,) * count)

    @property
    def components(self) -> int:
        """Number of coefficients."""
        return len(self.scales)

    @property
    def sizes(self) -> Floats:
        """The scales in floats."""
        return np.asarray(self.scales, dtype=np.float64)


def check_positive(name: str, values: tuple[int, ...]) -> None:
    """Refuse scales and sizes that are not positive integers."""
    if not values or any(type(value) is not int or value < 1 for value in values):
        raise ParameterError(name, "be positive integers", "others")


def unsuited(noise: AnyLaw, requested: object) -> RefusedMechanismError:
    """The refusal of a law that cannot give a guarantee of this kind."""
    return RefusedMechanismError(
        "mechanism", "suit the guarantee", f"{noise.describe()} for {requested}"
    )


def refuse_linf(noise: AnyLaw, norm: AnyNorm) -> None:
    """Refuse the linf norm for laws of the l2 norm."""
    if norm == "linf":
        words = "have a loss under the linf norm"
        remedy = "Gaussian and elliptical noise are calibrated to the l2 norm. Use $mechanism."
        raise RefusedMechanismError("mechanism", words, noise.describe(), remedy, mechanism="bernstein")
