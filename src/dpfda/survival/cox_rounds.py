"""Rounds of noisy sums behind a model of hazards: what a record adds to each, and where they lead.

Each round adds up one vector a record, clipped to a public length c, and releases it with normal noise:

- *life*: events, and exposures, of the cells of its stratum;
- *inform*: with m_j = e_j exp(a_sj + b'z), the parts m_j, m_j z and (sum_j m_j) z z' of the information;
- *slope*: the parts r_j and z sum_j r_j of the gradient, those of the baseline by half.

The parameters at which a round is taken follow from what was released before.

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
from dpfda.survival.proportional import REACH, VERSION, Model, Posterior

# Vectors have length at most 2^20; so many records are formed at a time, a public number.
LENGTH_BITS, BLOCK = 20, 2**14
LIFE, INFORM, SLOPE = "life", "inform", "slope"
# The second information is at parameters that a few slopes have found; slopes after it are kept.
KEPT = 16
SCHEDULE = (LIFE, INFORM, INFORM, *[SLOPE] * 4, INFORM, INFORM, *[SLOPE] * KEPT)
# Lengths to which the vectors of the first two kinds are clipped; and ends of that of slopes, which is
# one and a part of a record's expected events at the baseline: the larger, the less noise there is.
LIFE_CLIP, INFORM_CLIP, SLOPE_CLIPS = math.sqrt(2), 2.0, (1.2, 6.0)
# Parts of the baseline in a slope: less, and those of effects get less of the noise.
BASELINE = 0.5
MOST_ENTRIES = 4096
# Draws of what the information may be, and their deviation in units of that of its noise.
DRAWS, MAY_BE = 32, 1.4


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
            np.equal.outer(np.arange(1, each.ends), column) if each.bounds is None else column[None]
            for each, column in zip(model.terms.covariates, columns, strict=True)
        ]
        terms = np.concatenate(rows, dtype=np.float64)
        return cls(exposures, event, terms, strata, levels, usable)

    def part(self, rows: slice) -> FollowedUp:
        """Some of them."""
        return FollowedUp(*(getattr(self, each.name)[..., rows] for each in fields(self)))


@dataclass(frozen=True, eq=False)
class Rounds:
    """The public side of all rounds.

    Parameters
    ----------
    model : Model
    guarantee : ApproximateDP or ZeroConcentratedDP
    neighbours : Neighbours
    known : NoiseLaw, optional
        The law of a round's noise, where it was drawn; by default calibrated.
    version : int
        By which they were at their places.
    """

    model: Model
    guarantee: Guarantee
    neighbours: Neighbours
    known: NoiseLaw | None = None
    version: int = VERSION

    @property
    def count(self) -> int:
        """How many there are."""
        return len(SCHEDULE)

    @property
    def numbers(self) -> int:
        """Numbers in all rounds together."""
        return self.count * self.entries

    @property
    def entries(self) -> int:
        """Numbers in a round: those of the longest."""
        d, hazards = self.model.effects, self.model.hazards
        return max(2 * hazards, hazards * (1 + d) + d * (d + 1) // 2)

    @property
    def step_width(self) -> int:
        """How far the integers of neighbouring data sets are apart in a round."""
        return self.neighbours.differences(1 << LENGTH_BITS)

    @property
    def width(self) -> int:
        """That which stands for all rounds together."""
        return repeated_width(self.step_width, self.count)

    @cached_property
    def noise(self) -> NoiseLaw:
        """The law of the noise in a round."""
        if self.known is not None:
            return self.known
        return gaussian_noise(np.ones(self.entries), self.width, self.guarantee)

    @property
    def deviation(self) -> float:
        """Of the noise, in units of the length to which vectors are clipped."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -LENGTH_BITS)

    @cached_property
    def weight(self) -> float:
        """Of terms: a record's have length at most one then."""
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
        expected = part.exposures * hazards.T[:, part.strata] * factor
        terms = self.weight * part.terms
        if walk.kind == SLOPE:
            rest = died - expected
            return np.concatenate([BASELINE * self._placed(rest, part), terms * in_order(rest)])
        placed, (one, other) = self._placed(expected, part), np.triu_indices(len(terms))
        cross = (placed[:, None] * terms).reshape(-1, part.cell.size)
        return np.concatenate([placed, cross, terms[one] * terms[other] * in_order(expected)])

    def _placed(self, rows: Floats, part: FollowedUp) -> Floats:
        """Rows of cells (J, n) in those of each record's stratum (S J, n)."""
        if self.model.baselines == 1:
            return rows
        own = np.equal.outer(np.arange(self.model.baselines), part.strata)
        return np.asarray((own[:, None] * rows).reshape(-1, part.cell.size))

    def walked(self, noisy: Sequence[int]) -> Walk:
        """The whole way, from what all rounds released."""
        walk = Walk(self)
        for start in range(0, len(noisy), self.entries):
            walk.move(noisy[start : start + self.entries])
        return walk


class Walk:
    """Where the rounds have led, from public numbers and what was released."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds, self.taken, self.clip = rounds, 0, LIFE_CLIP
        self.posterior: Posterior
        self.information: Floats
        self.before: Posterior
        self._seen = 0.0
        self._sums: list[Floats] = []
        self._measured: tuple[Floats, Floats, Floats, Floats]
        self._slopes: list[tuple[Floats, Floats]] = []
        self._noise: Floats
        self._raised = 1.0 if rounds.version > 2 else math.inf

    @property
    def kind(self) -> str:
        """Of the next round."""
        return SCHEDULE[self.taken]

    def move(self, noisy: Sequence[int]) -> None:
        """Go on by the noisy sums that a round released."""
        sums = np.array([math.ldexp(float(value), -LENGTH_BITS) for value in noisy]) * self.clip
        deviation = self.rounds.deviation * self.clip
        {LIFE: self._begin, INFORM: self._inform, SLOPE: self._observe}[self.kind](sums, deviation)
        self.taken += 1
        if self.taken < len(SCHEDULE):
            self.clip = self._next_clip()

    def _next_clip(self) -> float:
        """Length to which vectors are clipped.

        That of slopes follows expected events of a record that is followed to the end: the less noise
        there is beside all events, the more is paid for those far off.
        """
        if self.kind == INFORM:
            return INFORM_CLIP
        hazards = np.exp(self.before.at[: self.rounds.model.hazards])
        most = float(hazards.reshape(self.rounds.model.baselines, -1).sum(axis=1).max())
        wide = min(max(0.4 * math.log10(max(self._seen, 1.0)), 0.4), 2.0)
        return min(max(1 + wide * most, SLOPE_CLIPS[0]), SLOPE_CLIPS[1])

    def _begin(self, sums: Floats, deviation: float) -> None:
        model = self.rounds.model
        root, hazards = math.sqrt(model.cells.count), model.hazards
        exposed = sums[hazards : 2 * hazards] * root
        self._seen = float(sums[:hazards].sum()) / (deviation * math.sqrt(hazards))
        self.before = model.start(sums[:hazards], exposed, (deviation, deviation * root))
        self.posterior = self.before

    def _inform(self, sums: Floats, deviation: float) -> None:
        """Sums of rounds at one place are averaged; then slopes begin anew from what the table said."""
        self._sums.append(sums)
        if SCHEDULE[self.taken + 1] == INFORM:
            return
        mean = np.mean(self._sums, axis=0)
        noise = deviation / math.sqrt(len(self._sums))
        model, weight, self._sums = self.rounds.model, self.rounds.weight, []
        hazards, d = model.hazards, model.effects
        cross = mean[hazards : hazards * (1 + d)].reshape(hazards, d) / weight
        products = np.zeros((d, d))
        products[np.triu_indices(d)] = mean[hazards * (1 + d) :][: d * (d + 1) // 2] / weight**2
        products += np.triu(products, 1).T
        deviations = noise * np.array([1.0, 1 / weight, 1 / weight**2])
        self._measured = mean[:hazards], cross, products, deviations
        self.information = model.information(*self._measured, self._raised)
        self.posterior, self._slopes = replace(self.before, at=self.posterior.at), []

    def _observe(self, sums: Floats, deviation: float) -> None:
        model, weight = self.rounds.model, self.rounds.weight
        scale = np.repeat([BASELINE, weight], [model.hazards, model.effects])
        self._noise, gradient = (deviation / scale) ** 2, sums[: model.parameters] / scale
        at = self.posterior.at
        self._slopes.append((at, gradient))
        self.posterior = self.posterior.seen(at, gradient, self.information, self._noise)

    def law(self) -> tuple[Posterior, Floats]:
        """The law of the parameters, and what sampling adds to its covariance (P, P).

        An information that noise makes too large would take the estimate for surer than it is, and less
        drawn by priors. So covariances are means over what effects' part of it may be, of what each says
        about the same estimate.
        """
        at, before, model = self.posterior.at, self.before, self.rounds.model
        expected, cross, products, deviations = self._measured
        place, gradient = np.mean(self._slopes, axis=0)
        noise = self._noise / len(self._slopes)
        generator = np.random.Generator(np.random.Philox(key=5))
        covariance, sampling = np.zeros((2, at.size, at.size))
        for _ in range(DRAWS):
            moved = np.triu(generator.standard_normal(products.shape))
            moved = products + MAY_BE * deviations[2] * (moved + np.triu(moved, 1).T)
            information = model.information(expected, cross, moved, deviations, self._raised)
            seen = before.seen(place, gradient, information, noise)
            apart = seen.covariance @ seen.weighted - at
            covariance += seen.allowing(before) + np.multiply.outer(apart, apart)
            sampling += seen.sampling(before, information)
        precision: Floats = np.asarray(DRAWS * np.linalg.inv(covariance))
        return Posterior(at, precision, precision @ at), np.asarray(sampling / DRAWS)
