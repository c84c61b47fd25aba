"""Rounds of noisy sums behind a model of hazards: what a record adds to each, and where they lead.

Each round adds up one vector a record, clipped to a public length c, and releases it with normal noise:

- *life*: events, and exposures, of the cells of its stratum;
- *inform*: with m_j = w e_j exp(a_sj + b'z) and M = sum_j m_j, the parts m_j / 2, m_j u / 2, M u and
  M u u' of the information;
- *slope*: with r_j the residuals times w, the parts r_j / 2 and u sum_j r_j of the gradient.

Here u = S (z - c) are coordinates in which terms lie around zero and are spread alike in all directions,
as far as the rounds before tell, and w = min(1, 1 / |u|). Of ages in a tenth of their bounds, and of
numbers that go together, sums of u are as large beside the noise as those of even ones. As w follows
from terms alone the gradient has mean zero at the truth.

The parameters and coordinates at which a round is taken follow from what was released before.

**Guarantee.** (epsilon, delta), or rho, for all rounds together. A record's vector, given public
parameters, is made of floats of this record alone, clipped and brought to integers of length at most
L = floor(2^20 / m), m the number of records of its unit, which is verified in integers
(`dpfda.bounds.balls`). So a unit adds integers of length at most 2^20, and neighbouring sums differ by
at most 2^21 in every round (2^20 under add/remove), whatever was released before: no bound on hazards or
effects is in it. Normal noise of one deviation in T such rounds has at most the profile of one round of
T^(1/2) times the width (`dpfda.noise.repeated_width`); it is scaled to that, and all rounds are charged
before the first draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Self

import numpy as np

from dpfda.bounds.balls import clipped, exponentials, in_order
from dpfda.noise import NoiseLaw, gaussian_noise, repeated_width
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.survival.proportional import REACH, VERSION, Model, Posterior, around

# Vectors have length at most 2^20; so many records are formed at a time, a public number.
LENGTH_BITS, BLOCK = 20, 2**14
LIFE, INFORM, SLOPE = "life", "inform", "slope"
# The last information is at parameters that a few slopes have found; slopes after it are kept.
SCHEDULE = (LIFE, INFORM, SLOPE, INFORM, INFORM, SLOPE, SLOPE, *[INFORM] * 4, *[SLOPE] * 12)
# Files before the sixth version: terms were in units of their bounds in all rounds.
MOVING = 6
FIXED = (LIFE, INFORM, INFORM, *[SLOPE] * 4, INFORM, INFORM, *[SLOPE] * 16)
# Lengths to which vectors are clipped; that of slopes, between its ends, is one and a part of a record's
# expected events at the baseline: the larger, the less noise there is. So is that of the information.
LIFE_CLIP, FIXED_CLIP, INFORM_CLIP, SLOPE_CLIPS = math.sqrt(2), 2.0, 0.75, (1.2, 6.0)
# Events, in deviations of their noise, from which on the information is clipped less.
MANY = 20.0
# Parts of the baseline: less, and those of effects get less of the noise.
BASELINE = 0.5
MOST_ENTRIES = 4352
# Draws of what the information may be, and their deviation in units of that of its noise.
DRAWS, MAY_BE = 32, 1.5
# How far means of terms in a cell of time are from those of all, in units of their spread; and the least
# information in a direction, in units of that of terms spread evenly.
DRIFT, LEAST_SHARE = 0.5, 0.05
# By how much levels grow at most in coordinates.
RARE = 1.5


@dataclass(frozen=True, eq=False)
class FollowedUp:
    """Follow-ups as the rounds need them. Private.

    Parameters
    ----------
    exposures : array (J, n)
        Shares of the cells that each covers.
    cell : array (n,) of int
        In which it ended with an event; -1 for none.
    terms : array (d, n)
    strata : array (n,) of int
    levels : array (n,) of int
        Length that its vector may have: 2^20 over the number of records of its unit.
    usable : array (n,) of bool
    """

    exposures: Floats
    cell: Integers
    terms: Floats
    strata: Integers
    levels: Integers
    usable: Flags

    @classmethod
    def of(
        cls, model: Model, times: Floats, ends: Integers, columns: Sequence[Floats | Integers],
        strata: Integers, levels: Integers, usable: Flags,
    ) -> Self:  # fmt: skip
        """From times (n,), causes (n,), negative where censored, and a column of each covariate."""
        cells, edges = model.cells, model.cells.edges
        place = cells.ends(times, ends)
        event = np.where(place < len(cells.causes) * cells.count, place % cells.count, -1)
        # Events of a whole step of time happen in the middle of it.
        inside = np.minimum(times, edges[-1]) - (event >= 0) * (cells.step or 0.0) / 2
        exposures = np.clip((inside - edges[:-1, None]) / np.diff(edges)[:, None], 0.0, 1.0)
        rows = [
            column[None] if own.bounds else np.equal.outer(np.arange(1, own.ends), column)
            for own, column in zip(model.terms.covariates, columns, strict=True)
        ]
        return cls(exposures, event, np.concatenate(rows, dtype=np.float64), strata, levels, usable)

    def part(self, rows: slice) -> FollowedUp:
        """Some of the follow-ups."""
        return FollowedUp(*(getattr(self, entry.name)[..., rows] for entry in fields(self)))


@dataclass(frozen=True, eq=False)
class Rounds:
    """The public side of all rounds.

    drawn: The law of the noise, where it has been drawn. version: Of the estimate.
    """

    model: Model
    guarantee: Guarantee
    neighbours: Neighbours
    drawn: NoiseLaw | None = None
    version: int = VERSION

    @property
    def count(self) -> int:
        """Number of rounds."""
        return len(self.schedule)

    @property
    def schedule(self) -> tuple[str, ...]:
        """Kinds of the rounds."""
        return SCHEDULE if self.version >= MOVING else FIXED

    @property
    def numbers(self) -> int:
        """Numbers in all rounds together."""
        return self.count * self.entries

    @property
    def entries(self) -> int:
        """Numbers in a round: those of the longest."""
        d, hazards = self.model.effects, self.model.hazards
        moving = d * (self.version >= MOVING)
        return max(2 * hazards, hazards * (1 + d) + moving + d * (d + 1) // 2)

    @property
    def step_width(self) -> int:
        """How far the integers of neighbouring data sets are apart in a round."""
        return self.neighbours.differences(1 << LENGTH_BITS)

    @property
    def width(self) -> int:
        """The width that stands for all rounds together."""
        return repeated_width(self.step_width, self.count)

    @cached_property
    def noise(self) -> NoiseLaw:
        """The law of the noise in a round."""
        if self.drawn is not None:
            return self.drawn
        return gaussian_noise(np.ones(self.entries), self.width, self.guarantee)

    @property
    def deviation(self) -> float:
        """Deviation of the noise, in units of the length to which vectors are clipped."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -LENGTH_BITS)

    @cached_property
    def weight(self) -> float:
        """Factor of terms, with which a record's have length at most one."""
        return 1 / math.sqrt(len(self.model.terms.covariates))

    def summed(self, data: FollowedUp) -> Callable[[Sequence[int]], IntegerSum]:
        """What a round sums up, given what the one before released: it holds the private records."""
        walk = Walk(self)

        # After the charge nothing may fail by what values are.
        @np.errstate(all="ignore")
        def total(noisy: Sequence[int]) -> IntegerSum:
            if noisy:
                walk.move(noisy)
            return IntegerSum(self.entries).add_totals(self.sums(data, walk).tolist(), 0)

        return total

    def sums(self, data: FollowedUp, walk: Walk) -> Integers:
        """Clipped sums (entries,) of a round."""
        summed = np.zeros(self.entries, dtype=np.int64)
        for start in range(0, data.cell.size, BLOCK):
            part = data.part(slice(start, start + BLOCK))
            vectors = np.where(part.usable, self._vectors(part, walk), 0.0)
            # Up to 2^14 integers of at most 2^20: sums stay below 2^63.
            sums = clipped(vectors, part.levels, walk.clip).sum(axis=1)
            summed[: sums.size] += sums
        return summed

    def _vectors(self, part: FollowedUp, walk: Walk) -> Floats:
        """What records (n) add in a round, (entries or fewer, n): column i from record i alone."""
        cells = self.model.cells.count
        died = np.equal.outer(np.arange(cells), part.cell).astype(np.float64)
        if walk.kind == LIFE:
            exposures = self._placed(part.exposures / math.sqrt(cells), part)
            return np.concatenate([self._placed(died, part), exposures])
        hazards = np.exp(walk.posterior.at[: self.model.hazards]).reshape(-1, cells)
        effects = walk.posterior.at[self.model.hazards :]
        reached = np.clip(in_order(effects[:, None] * part.terms), -REACH, REACH)
        factor = exponentials(reached - REACH) * math.exp(REACH)
        terms = walk.frame.of(part.terms)
        # By its terms alone, so that a gradient has mean zero at the truth whatever weights are.
        weights = 1 / np.maximum(np.sqrt(in_order(terms * terms)), 1.0)
        expected = part.exposures * hazards.T[:, part.strata] * (factor * weights)
        if walk.kind == SLOPE:
            rest = died * weights - expected
            return np.concatenate([BASELINE * self._placed(rest, part), terms * in_order(rest)])
        placed, (first, second) = BASELINE * self._placed(expected, part), np.triu_indices(len(terms))
        cross = (placed[:, None] * terms).reshape(-1, part.cell.size)
        total = in_order(expected)
        return np.concatenate([placed, cross, terms * total, terms[first] * terms[second] * total])

    def _placed(self, rows: Floats, part: FollowedUp) -> Floats:
        """Rows of cells (J, n) in those of each record's stratum (S J, n)."""
        if self.model.baselines == 1:
            return rows
        own = np.equal.outer(np.arange(self.model.baselines), part.strata)
        return np.asarray((own[:, None] * rows).reshape(-1, part.cell.size))

    def walked(self, noisy: Sequence[int]) -> Walk:
        """The walk through all rounds, from what they released."""
        walk = Walk(self)
        for start in range(0, len(noisy), self.entries):
            walk.move(noisy[start : start + self.entries])
        return walk


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates u = S (z - c) of terms, S `scale` (d, d) and c `center` (d,). Public."""

    center: Floats
    scale: Floats

    def of(self, terms: Floats) -> Floats:
        """Coordinates (d, n) of terms (d, n), each column by itself."""
        beyond = terms - self.center[:, None]
        return np.array([in_order(row[:, None] * beyond) for row in self.scale])

    def back(self, hazards: int) -> Floats:
        """What takes a gradient (P,) in these coordinates to one by the parameters."""
        rows = np.eye(hazards + self.center.size)
        rows[hazards:, :hazards] = self.center[:, None]
        rows[hazards:, hazards:] = np.linalg.inv(self.scale)
        return rows

    def moved(self, mean: Floats, spread: Floats, least: float, levels: Floats) -> Frame:
        """Coordinates for terms of a mean (d,) and covariance (d, d) in these.

        Of numbers squares become those of even ones, a third of d^-1, where they are less. Those of
        levels grow little: a rare one is far off in few records. levels (d,): 0 for numbers, or lengths.
        """
        values, vectors = np.linalg.eigh(spread)
        inner = np.linalg.inv(self.scale) @ vectors * np.sqrt(np.maximum(values, least))
        deviations = np.linalg.norm(inner, axis=1)
        inner = inner / deviations[:, None]
        values, vectors = np.linalg.eigh(inner @ inner.T)
        length = math.sqrt(3) * deviations
        rare = np.minimum(RARE * levels * length, 1.0)
        length = np.where(levels > 0, rare, np.clip(length, 1.0, math.sqrt(3)))
        center = np.clip(self.center + np.linalg.solve(self.scale, mean), -1.0, 1.0)
        whitened = (vectors / np.sqrt(3 * mean.size * values)) @ vectors.T
        return Frame(center, length[:, None] * whitened / deviations)


@dataclass(frozen=True, eq=False)
class Measured:
    """Noisy sums of the information, in coordinates of terms.

    expected: array (S J,). Expected events of the cells.
    cross, over_cells: arrays (S J, d), (d,). The same times terms, and over all cells.
    products: array (d, d). Expected events times products of terms.
    rough, noise: Deviation of the noise in the numbers of cells, and in those of all.
    """

    frame: Frame
    expected: Floats
    cross: Floats
    over_cells: Floats
    products: Floats
    rough: float
    noise: float

    @cached_property
    def total(self) -> float:
        """Expected events."""
        return max(float(self.expected.sum()), self.rough * math.sqrt(self.expected.size))

    @property
    def mean(self) -> Floats:
        """Means of terms (d,)."""
        return self.over_cells / self.total

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats]:
        """Expected events, terms times these, and products (d, d) of terms' means in cells."""
        sums = np.maximum(self.expected, self.rough / 3 + 1e-6)
        usual = np.multiply.outer(sums, self.mean)
        far = (DRIFT * sums) ** 2 * max(float(np.trace(self.products)) / self.total, 0.0)
        cross = usual + (self.cross - usual) * (far / (far + self.rough**2))[:, None]
        return sums, cross, cross.T @ (cross / sums[:, None])

    @property
    def spread(self) -> Floats:
        """Information on effects (d, d) beside the baseline."""
        return self.products - self._cells[2]

    @property
    def moves(self) -> float:
        """How far noise moves eigenvalues of the spread."""
        return self.noise * math.sqrt(self.over_cells.size)

    def information(self, least: float, may_be: Floats | float = 0.0) -> Floats:
        """Information (P, P) on the parameters.

        least: To which eigenvalues of the spread are raised.
        may_be: array (d, d). By which the spread may be another.
        """
        sums, cross, between = self._cells
        values, vectors = np.linalg.eigh(self.spread + may_be)
        own = (vectors * np.maximum(values, least)) @ vectors.T + between
        back = self.frame.back(sums.size)
        return np.asarray(back @ np.block([[np.diag(sums), cross], [cross.T, own]]) @ back.T)


class Walk:
    """Where the rounds have led, from public numbers and what was released."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds, self.taken, self.clip = rounds, 0, LIFE_CLIP
        self.posterior: Posterior
        self.before: Posterior
        center = rounds.model.moments[0] * (rounds.version >= MOVING)
        self.frame = Frame(center, rounds.weight * np.eye(center.size))
        self._life: tuple[Floats, Floats, tuple[float, float]]
        self._seen = 0.0
        self._sums: list[Floats] = []
        self._measured: Measured
        self._information: Floats
        self._slopes: list[tuple[Floats, Floats]] = []
        self._noise: Floats

    @property
    def kind(self) -> str:
        """Of the next round."""
        return self.rounds.schedule[self.taken]

    def move(self, noisy: Sequence[int]) -> None:
        """Go on by the noisy sums that a round released."""
        sums = np.array([math.ldexp(float(value), -LENGTH_BITS) for value in noisy]) * self.clip
        deviation = self.rounds.deviation * self.clip
        {LIFE: self._begin, INFORM: self._inform, SLOPE: self._observe}[self.kind](sums, deviation)
        self.taken += 1
        if self.taken < self.rounds.count:
            self.clip = self._next_clip()

    def _next_clip(self) -> float:
        """Length to which vectors are clipped.

        That of slopes follows expected events of a record that is followed to the end: the less noise
        there is beside all events, the more is paid for those far off.
        """
        if self.kind == INFORM:
            moving = INFORM_CLIP * max(self._seen / MANY, 1.0) ** 0.25
            return moving if self.rounds.version >= MOVING else FIXED_CLIP
        hazards = np.exp(self.before.at[: self.rounds.model.hazards])
        most = float(hazards.reshape(self.rounds.model.baselines, -1).sum(axis=1).max())
        wide = min(max(0.4 * math.log10(max(self._seen, 1.0)), 0.4), 2.0)
        return min(max(1 + wide * most, SLOPE_CLIPS[0]), SLOPE_CLIPS[1])

    def _begin(self, sums: Floats, deviation: float) -> None:
        model = self.rounds.model
        root, hazards = math.sqrt(model.cells.count), model.hazards
        self._seen = float(sums[:hazards].sum()) / (deviation * math.sqrt(hazards))
        self._life = sums[:hazards], sums[hazards : 2 * hazards] * root, (deviation, deviation * root)
        self.posterior = self.before = model.start(*self._life)

    def _inform(self, sums: Floats, deviation: float) -> None:
        """Sums of rounds at one place are averaged; then slopes begin anew from what the table said."""
        self._sums.append(sums)
        if self.rounds.schedule[self.taken + 1] == INFORM:
            return
        model, mean = self.rounds.model, np.mean(self._sums, axis=0)
        noise = deviation / math.sqrt(len(self._sums))
        moving, d, self._sums = self.rounds.version >= MOVING, model.effects, []
        part = BASELINE if moving else 1.0
        ends = np.cumsum([model.hazards, model.hazards * d, d * moving, d * (d + 1) // 2])
        expected, cross, over_cells, upper, _ = np.split(mean, ends)
        expected, cross, products = expected / part, cross.reshape(-1, d) / part, np.zeros((d, d))
        products[np.triu_indices(d)] = upper
        products += np.triu(products, 1).T
        over_cells = over_cells if moving else cross.sum(axis=0)
        measured = Measured(self.frame, expected, cross, over_cells, products, noise / part, noise)
        self._measured, self._slopes = measured, []
        if moving:
            self._information = measured.information(measured.moves)
            if INFORM in self.rounds.schedule[self.taken :][1:]:
                total = measured.total
                spread, least = measured.spread / total, measured.moves / total
                levels = np.where(model.moments[0] > 0, self.rounds.weight * math.sqrt(d), 0.0)
                self.frame = self.frame.moved(measured.mean, spread, least, levels)
            self.before = model.start(*self._life, self.frame.center)
        else:
            weight, raised = self.rounds.weight, 1.0 if self.rounds.version > 2 else math.inf
            deviations = noise * np.array([1.0, 1 / weight, 1 / weight**2])
            sums_there = expected, cross / weight, products / weight**2
            self._information = model.information(*sums_there, deviations, raised)
        self.posterior = replace(self.before, at=self.posterior.at)

    def _observe(self, sums: Floats, deviation: float) -> None:
        model, at = self.rounds.model, self.posterior.at
        scale = np.repeat([BASELINE, 1.0], [model.hazards, model.effects])
        back = self.frame.back(model.hazards)
        gradient = back @ (sums[: model.parameters] / scale)
        self._noise = (back * (deviation / scale) ** 2) @ back.T
        self._slopes.append((at, gradient))
        self.posterior = self.posterior.seen(at, gradient, self._information, self._noise)

    def law(self) -> tuple[Posterior, Floats]:
        """The law of the parameters, and what sampling adds to its covariance (P, P).

        It is a mean over what effects' part of the information may be, of what each says about the same
        estimate.
        """
        measured, at = self._measured, self.posterior.at
        place, gradient = np.mean(self._slopes, axis=0)
        noise = self._noise / len(self._slopes)
        generator, laws = np.random.Generator(np.random.Philox(key=5)), []
        even = measured.total / (3 * measured.mean.size)
        least = min(LEAST_SHARE * even, MAY_BE * measured.moves)
        for _ in range(DRAWS):
            moved = np.triu(generator.standard_normal(measured.products.shape))
            moved = MAY_BE * measured.noise * (moved + np.triu(moved, 1).T)
            information = measured.information(least, moved)
            seen = self.before.seen(place, gradient, information, noise)
            laws.append((seen, information, np.zeros((at.size, 1))))
        return around(self.rounds.model, at, laws, self.before)
