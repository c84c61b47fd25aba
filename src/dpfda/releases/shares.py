"""Noisy shares of cells, as releases hold them: numbers of units, their noise and their file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.mechanisms.design.shares import EXPONENT
from dpfda.noise import NoiseLaw, laws_of
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import exponent, integer, integers, mapping, text
from dpfda.numerics.errors import ParameterError


@dataclass(frozen=True, eq=False)
class NoisyShares:
    """Sums of all units' shares of public cells, with noise. Public.

    Parameters
    ----------
    noisy : tuple of int
        The mechanism's output.
    noise : NoiseLaw
        Its noise: independent, of one scale.
    public_size : int or None
        Number of units; None where the sum of the noisy shares stands for it.
    exponent : int
        The integers are in units of 2^-exponent of a unit.
    """

    noisy: tuple[int, ...]
    noise: NoiseLaw
    public_size: int | None
    exponent: int = EXPONENT

    def __post_init__(self) -> None:
        if len(self.noisy) != self.noise.components:
            raise ParameterError("noisy", f"be {self.noise.components} integers", len(self.noisy))

    @cached_property
    def counts(self) -> Floats:
        """Noisy number of units (cells,): whole units in all, spread over the cells."""
        return frozen(np.array([math.ldexp(float(value), -self.exponent) for value in self.noisy]))

    @property
    def size(self) -> float:
        """What counts are divided by: the public number of units, or the noisy one, at least 1."""
        return float(self.public_size or max(1.0, float(self.counts.sum())))

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a cell, in units."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -self.exponent)

    def errors(self, generator: np.random.Generator, draws: int) -> Floats:
        """Simulated noise (draws, cells), in units."""
        return np.asarray(np.ldexp(self.noise.simulate(generator, draws), -self.exponent))

    def to_json(self) -> dict[str, object]:
        """The shares and their noise as JSON types."""
        (scale,) = set(vars(self.noise)["scales"])
        return {
            "public_size": self.public_size,
            "noise": {"law": self.noise.law, "words": self.noise.describe(), "scale": int(scale)},
            "exponent": self.exponent,
            "noisy_shares": list(self.noisy),
        }

    @classmethod
    def from_json(cls, entries: object) -> Self:
        """Build the shares again; whatever does not fit raises a `ValueError`."""
        written = mapping(entries)
        noisy, size, law = (
            integers(written["noisy_shares"]),
            written["public_size"],
            mapping(written["noise"]),
        )
        noise = laws_of()[text(law["law"])].equal(len(noisy), integer(law["scale"], 1))
        size = None if size is None else integer(size, 1)
        return cls(noisy, noise, size, exponent(written["exponent"]))
