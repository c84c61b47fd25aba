"""Mean and second moments of a vector in blocks: shares of the budget, laws, radii, sums with noise.

Units' vectors are a private array (units, d); whatever row i adds follows from row i and public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpfda.bounds import IntegerBall, Norm
from dpfda.mechanisms import COUNT_SCALE
from dpfda.mechanisms.design.radii import candidate_radii, typical_length
from dpfda.noise import NoiseLaw, cost_of, gaussian_noise, gaussian_ratio, knorm_noise, moved_counts
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, quietest_symmetric
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.embedding import Rows, project, sum_columns
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, ZeroConcentratedDP, added
from dpfda.publication import recomputed
from dpfda.records.second_moments import OuterSum, outer_ball
from dpfda.releases.moments import Moments, Step
from dpfda.releases.staged import Selection

# Radii of second moments, in typical lengths, as small ones have little noise; and with a focus. Where
# the noise of counts is less than such a share of the units, radii grow until nothing is clipped.
RADIUS, FOCUSED, QUIET = 0.7, 1.0, 0.015
# Lengths may be shorter than the least candidate by so many powers of the root of two.
SHORTER = 8
# A unit drawn by its share of squares is so many times as long as the root mean square, or more, where
# these are of few units; vectors may be longer then, by that ratio over the second. The longest lengths
# are in bins whose counts together are so many deviations of noise.
FEW, PEAK, CLEAR = 2.0, 1.6, 5.0


# A share of the budget: pure, or of rho.
Part = PureDP | ZeroConcentratedDP


def shared(guarantee: Guarantee) -> Part:
    """What stages share: all of a pure guarantee; else a rho, and all noise is normal."""
    if isinstance(guarantee, PureDP):
        return guarantee
    return ZeroConcentratedDP(gaussian_ratio(guarantee) ** 2 / 2)


def split(budget: Part, share: Fraction) -> tuple[Part, Part]:
    """A share of a budget, and what is left."""
    kind, total = type(budget), budget.rho if isinstance(budget, ZeroConcentratedDP) else budget.epsilon
    return kind(total * share), kind(total - total * share)


def part_noise(blocks: tuple[int, ...], norm: Norm, width: int, part: Part) -> NoiseLaw:
    """K-norm noise of blocks for a pure part, normal noise for a part of rho; checked."""
    noise: NoiseLaw
    if isinstance(part, PureDP):
        noise = knorm_noise(blocks, np.ones(len(blocks)), norm, width, part)
    else:
        noise = gaussian_noise(np.ones(sum(blocks)), width, part)
    recomputed(noise, norm, width, part)
    return noise


@dataclass(frozen=True)
class RadiusChoice:
    """How a radius is chosen. Public.

    Each unit falls into exactly one of the bins between candidate radii, by its length alone: counts
    move by two in l1 under replace-one neighbours, by one under add/remove, and get Laplace noise of
    that scale over epsilon, or normal noise by their move in l2. The radius is computed from the noisy
    counts alone.

    largest: Largest candidate; what is longer falls into its bin.
    part: Share of the budget.
    step: Every so many candidates are taken; few bins have little noise.
    """

    largest: float
    part: Part
    neighbours: Neighbours
    step: int = 1

    @property
    def radii(self) -> Floats:
        """Candidates, decreasing."""
        return candidate_radii(self.largest)[:: self.step]

    @property
    def width(self) -> int:
        """How far neighbouring counts are apart in l1."""
        return self.neighbours.differences(COUNT_SCALE)

    @cached_property
    def noise(self) -> NoiseLaw:
        """Law of the noise on the counts, checked."""
        return part_noise((1,) * self.radii.size, *self._moved, self.part)

    @cached_property
    def achieved(self) -> Guarantee:
        """What it gives, by the integer scales in force."""
        return recomputed(self.noise, *self._moved, self.part)

    @property
    def _moved(self) -> tuple[Norm, int]:
        return moved_counts(self.width, COUNT_SCALE, not isinstance(self.part, PureDP))

    def released(self, lengths: Floats, noise: Sequence[int] | None = None) -> Selection:
        """The noisy counts, from private lengths (n,). The ledger has been charged.

        noise: By default drawn; simulated where the lengths are made up.
        """
        drawn = self.noise.draw() if noise is None else noise
        noisy = bin_counts(lengths, self.radii).with_noise(drawn)
        return Selection(tuple(self.radii.tolist()), noisy, COUNT_SCALE, self.noise, self.achieved)

    def simulated(self, lengths: Floats, size: int, generator: np.random.Generator) -> Selection:
        """A choice from made-up lengths, each of several of so many units. No data, nothing private."""
        counts = bin_counts(lengths, self.radii).with_noise([0] * self.radii.size)
        noisy = np.array(counts, dtype=np.float64) * (size / lengths.size)
        noisy = np.rint(noisy + self.noise.simulate(generator, 1)[0])
        counted = tuple(int(count) for count in noisy)
        return Selection(tuple(self.radii.tolist()), counted, COUNT_SCALE, self.noise, self.part)

    def radius(self, selection: Selection, units: int, multiple: float) -> float:
        """That of the first step of second moments, from noisy counts: so many typical lengths."""
        length, share = self.typical(selection, units)
        quiet = max(QUIET * units / _counted(selection)[1], 1.0)
        return min(float(multiple * length * (share * quiet) ** 0.25), self.largest)

    def gathered(self, selection: Selection, units: int, noise: float) -> tuple[float, float | None]:
        """Where squares are mostly those of few units: their length, and over all for steps; else none.

        The length is that of a unit that is drawn by its share of all squares. Over the root mean
        square it is one where all are as long, and p^(-1/2) where a share p has all of them. The
        longest are taken to be in the first bins whose counts together are more than noise.

        units: How many there are, or were released.
        noise: Squared length that every unit is expected to have by noise alone.
        """
        counts, deviation = _counted(selection)
        hidden = np.cumsum(counts) <= CLEAR * deviation * np.sqrt(np.arange(1, counts.size + 1))
        shares = np.where(np.minimum.accumulate(hidden), 0.0, np.maximum(counts, 0.0)) / units
        # Relative to the largest, so that no power overflows.
        relative = self.radii / self.radii[0]
        squares = np.maximum(relative**2 / math.sqrt(2) - noise / self.radii[0] ** 2, 0.0)
        second, fourth = float(shares @ squares), float(shares @ squares**2)
        if fourth <= (FEW * second) ** 2:
            return 0.0, None
        return float(self.radii[0]) * math.sqrt(fourth / second), math.sqrt(fourth) / second / PEAK

    @staticmethod
    def typical(selection: Selection, units: int) -> tuple[float, float]:
        """Root mean square of the lengths of so many units, and their share: see `typical_length`."""
        counts, deviation = _counted(selection)
        return typical_length(np.array(selection.radii), counts, deviation, units, SHORTER)


def _counted(selection: Selection) -> tuple[Floats, float]:
    """Noisy numbers of units (C,), and the deviation of their noise."""
    counts = np.array([float(count) / selection.scale for count in selection.noisy_counts])
    return counts, float(np.sqrt(selection.noise.variances()[0])) / selection.scale


def bin_counts(lengths: Floats, radii: Floats) -> IntegerSum:
    """One-hot counts (C,) of lengths: a bin is how many candidates, but the largest, are not below."""
    # What is no number falls into the outermost bin.
    within = [int(np.count_nonzero(lengths <= radius)) for radius in radii[1:]]
    counts = -np.diff([lengths.size, *within, 0])
    return IntegerSum(radii.size).add_totals((counts * COUNT_SCALE).tolist(), lengths.size)


# Shares of the budget: of the mean, of all lengths, and, of what is left, of each step but the last.
MEAN_SHARE, LENGTHS_SHARE, STEP_SHARE = Fraction(1, 5), Fraction(1, 8), Fraction(3, 10)
# Rows that are worked on at a time: public.
BLOCK = 8192
# What is drawn of a law; the library's exact draws, or simulated ones for what a plan expects.
Drawn = Callable[[NoiseLaw | SymmetricNoise], list[int]]


@dataclass(frozen=True, eq=False)
class MomentsDesign:
    """How moments are measured. Public.

    Between neighbours the sum of vectors, in the l2 ball of an integer radius R that every row is
    verified against, moves by at most 2 R (replace-one) or R (add/remove); counts of lengths by 2 or
    1 in l1; the sum of outer products as `dpfda.noise.symmetric` says. Each stage has noise of its own,
    given the public outputs before it, and pure parts compose to the whole by basic composition. Of a
    rho all noise is normal, and parts of rho add up: all stages lose no more than one normal law of
    that rho (Dong, Roth & Su 2022, Theorem 4; `dpfda.noise.gaussian.repeated_width`).

    blocks, bounds: As in `Moments`.
    names: What each block holds, for the stages' names.
    budget: Of all stages: `shared`.
    neighbours: Which data sets it makes hard to tell apart.
    count: Number of steps.
    mean_share, lengths_share: Shares of the budget for the mean, and of what is left for all lengths.
    decay, focus, seen: As in `Moments`.
    """

    blocks: tuple[int, ...]
    bounds: tuple[float, ...]
    names: tuple[str, ...]
    budget: Part
    neighbours: Neighbours
    count: int = 2
    mean_share: Fraction = MEAN_SHARE
    lengths_share: Fraction = LENGTHS_SHARE
    decay: float | None = None
    focus: int | None = None
    seen: int | None = None

    @property
    def joint(self) -> bool:
        """Whether all noise is normal, and loses no more than one normal law."""
        return isinstance(self.budget, ZeroConcentratedDP)

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The budget of each stage; of a rho steps have equal parts, but the last has two."""
        parts: dict[str, Part] = {}
        parts["mean"], rest = split(self.budget, self.mean_share)
        for left, name in zip(range(len(self.names), 0, -1), self.names, strict=True):
            share = self.lengths_share / len(self.names)
            used = share * (len(self.names) - left)
            parts[f"length of {name}"], rest = split(rest, share / (1 - used))
        for step in range(1, self.count):
            share = Fraction(1, self.count + 2 - step) if self.joint else STEP_SHARE
            parts[f"second moments, step {step}"], rest = split(rest, share)
        return parts | {f"second moments, step {self.count}": rest}

    @property
    def size(self) -> int:
        """Number d of coordinates."""
        return sum(self.blocks)

    @property
    def coordinates(self) -> int:
        """Number D of coordinates that are seen: by the first step, where it sees more."""
        return self.seen or self.size

    @property
    def ball(self) -> IntegerBall:
        """Where rows of the mean lie: length one."""
        return IntegerBall.of("l2", 1.0, self.size)

    @property
    def outer(self) -> IntegerBall:
        """Where rows of second moments lie: length one."""
        return outer_ball(1.0)

    @cached_property
    def mean_noise(self) -> NoiseLaw:
        """Law of the noise on the sum of vectors."""
        width = self.neighbours.differences(self.ball.radius)
        return part_noise((self.size,), "l2", width, self.parts["mean"])

    @cached_property
    def choices(self) -> list[RadiusChoice]:
        """How the length of each block of deviations is chosen."""
        parts = [part for name, part in self.parts.items() if name.startswith("length")]
        return [
            RadiusChoice(2 * bound, part, self.neighbours)
            for bound, part in zip(self.bounds, parts, strict=True)
        ]

    @cached_property
    def laws(self) -> dict[str, SymmetricNoise]:
        """Law of the noise of each step."""
        laws: dict[str, SymmetricNoise] = {}
        for name, part in self.parts.items():
            if name.startswith("second"):
                # With a constant, if there is one; later steps see no more than `size` directions.
                order = (self.size if laws else self.coordinates) + (self.decay is not None)
                laws[name] = quietest_symmetric(order, self.difference(order), part)
                recomputed(laws[name], "l2", self.difference(order), part)
        return laws

    def difference(self, order: int) -> OuterDifference:
        """How far one unit moves a sum of outer products of so many coordinates."""
        return OuterDifference.of(order, self.outer.radius, self.neighbours)

    @cached_property
    def achieved(self) -> list[Guarantee]:
        """What each stage gives, by the integer scales in force."""
        width, parts = self.neighbours.differences(self.ball.radius), self.parts
        mean = recomputed(self.mean_noise, "l2", width, parts["mean"])
        steps = [(law, self.difference(law.size), parts[name]) for name, law in self.laws.items()]
        last = [recomputed(law, "l2", moved, part) for law, moved, part in steps]
        return [mean, *(choice.achieved for choice in self.choices), *last]

    def costs(self) -> dict[str, Cost]:
        """What each stage costs; made before the charge, and refused there if it cannot be given."""
        laws = [self.mean_noise, *(choice.noise for choice in self.choices), *self.laws.values()]
        stages = zip(self.parts.items(), laws, self.achieved, strict=True)
        return {name: cost_of(law, achieved, part) for (name, part), law, achieved in stages}

    def whole(self) -> Guarantee:
        """What all stages give together."""
        return added(self.achieved)

    def published(self, vectors: Floats, size: int, drawn: Drawn = lambda law: law.draw()) -> Moments:
        """Draw and add. The ledger has been charged for `costs`.

        vectors: array (units, D). Private; what is not finite counts as nothing.
        size: Public number of units.
        drawn: Draws from a law.
        """
        with np.errstate(all="ignore"):
            return self._published(np.where(np.isfinite(vectors), vectors, 0.0), size, drawn)

    def _published(self, vectors: Floats, size: int, drawn: Drawn) -> Moments:
        scaled = 1 / (np.repeat(self.bounds, self.blocks) * math.sqrt(len(self.blocks)))
        total = IntegerSum(self.size)
        for rows in _blocks(vectors[:, : self.size] * scaled):
            total.add(self.ball.clip(Rows(rows, np.zeros(len(rows), dtype=np.int64))))
        released = Moments(
            self.blocks, self.bounds, size, total.with_noise(drawn(self.mean_noise)), self.ball.exponent,
            self.mean_noise, (), (), self.outer.exponent, (), self.decay, self.focus, seen=self.seen,
        )  # fmt: skip
        deviations = vectors - released.mean
        # Details count half: few units may have most of them, and are shortened rather.
        details = np.where(np.arange(self.coordinates) < self.size, 1.0, 2.0)
        parts = deviations / (released.weights * details)
        chosen = [
            choice.released(lengths(parts[:, place]), drawn(choice.noise))
            for choice, place in zip(self.choices, released.places, strict=True)
        ]
        pairs = zip(self.choices, chosen, strict=True)
        multiple, peak = RADIUS if self.focus is None else FOCUSED, None
        radii = tuple(choice.radius(selection, size, multiple) for choice, selection in pairs)
        if self.focus is not None:
            noise = float(np.sum(released.mean_power / released.weights**2))
            length, peak = self.choices[0].gathered(chosen[0], size, noise)
            radii = (max(radii[0], length),)
        released = replace(released, selections=tuple(chosen), radii=radii, peak=peak)
        if self.decay is not None:
            deviations = np.column_stack([deviations, np.ones(len(deviations))])
        for law in self.laws.values():
            moments, through = OuterSum(law.size), released.through
            for rows in _blocks(deviations):
                moments.add(self.outer.clip(project(rows, through)))
            step = Step(moments.with_noise(drawn(law)), law)
            released = replace(released, steps=(*released.steps, step))
        return released


def lengths(rows: Floats) -> Floats:
    """Lengths (n,) of rows, each from its row alone."""
    return np.asarray(np.sqrt(sum_columns(rows**2)))


def _blocks(rows: Floats) -> Iterator[Floats]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]
