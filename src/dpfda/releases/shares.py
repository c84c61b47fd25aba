"""Noisy shares of cells, as releases hold them: numbers of units, their noise and their file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.noise import GaussianNoise, NoiseLaw
from dpfda.noise.shared import SharedGaussianNoise
from dpfda.noise.shares import EXPONENT, share_differences
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.base import Release
from dpfda.releases.promise import AddedNoise
from dpfda.releases.published import Published


@dataclass(frozen=True, eq=False)
class NoisyShares(file.Written):
    """Sums of all units' shares of public cells, with noise. Public.

    noisy: The mechanism's output.
    noise: Its noise: independent, of one scale.
    public_size: Number of units; None where the sum of the noisy shares stands for it.
    exponent: The integers are in units of 2^-exponent of a unit.
    """

    noisy: tuple[int, ...] = field(metadata=file.INTEGERS.named("noisy_shares").kept)
    noise: NoiseLaw = field(metadata=file.one_scale("noisy_shares").kept)
    public_size: int | None = field(metadata=file.PUBLIC_SIZE.kept)
    exponent: int = field(default=EXPONENT, metadata=file.EXPONENT.kept)

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

    def _added_noise(self, neighbours: Neighbours, parts: Sequence[int] = ()) -> list[AddedNoise]:
        """The noise, with how far one unit moves what it was added to.

        parts: As in `share_differences`, in units of 2^-20; by default one.
        """
        if self.exponent < 0:
            raise ValueError("shares are in units of at most one")
        if parts and self.exponent != EXPONENT:
            raise ValueError("shares and their parts are in different units")
        gaussian = isinstance(self.noise, GaussianNoise | SharedGaussianNoise)
        moved = share_differences(gaussian, neighbours, *(parts or (1 << self.exponent,)))
        return [AddedNoise(self.noise, *moved)]

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in a cell, in units."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -self.exponent)

    def errors(self, generator: np.random.Generator, draws: int) -> Floats:
        """Simulated noise (draws, cells), in units."""
        return np.asarray(np.ldexp(self.noise.simulate(generator, draws), -self.exponent))


class OfShares(Release):
    """A release of noisy shares."""

    shares: NoisyShares

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours)

    @property
    def public_units(self) -> int | None:
        return self.shares.public_size if self.neighbours is Neighbours.REPLACE_ONE else None


def corner_noise_words(noise: NoiseLaw, corners: int) -> str:
    """Say in words what noise is on a table of corners."""
    return f"{noise.describe().replace('coefficient', 'number')}, for each of {corners} corners"


def used_units(release: Published) -> str:
    """What is public of the number of units, where it may be that not all of them were counted."""
    words, most = release._units_words(), release.about.get("max_weight")
    if most:
        return f"{words}. Each counts as its weight over {most:g}, one at most"
    private = release.neighbours is Neighbours.ADD_REMOVE or release.public_units is not None
    return words if private else f"{words}, but not how many of them could be used and were counted"


def domain_words(release: Published) -> str:
    """Where units were counted, and what became of those elsewhere."""
    return f"the domain: {release._spoken_domain}; points outside count at its nearest end"
