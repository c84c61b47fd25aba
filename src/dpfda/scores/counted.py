"""What a noisy table of scores by outcome says: likely numbers, shares below scores, their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dpfda.bases.grids import frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Of
from dpfda.releases.base import Valued
from dpfda.releases.shares import NoisyShares, OfShares
from dpfda.scores.tables import (
    STEPS,
    below,
    between,
    consistent,
    group_starts,
    leaned,
    placed,
    share_ends,
    shares_below,
)

DRAWS = 4000
# Cells are cut to be equally full: so many times as full they begin to look like scores that many have,
# and do so at twice as many.
TIED = 1.5


@dataclass(frozen=True, eq=False)
class CountedScores(Valued, OfShares):
    """Noisy numbers of persons by score and outcome, and what follows; parameters: see the release."""

    edges: Floats = field(metadata=file.FLOATS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    starts: tuple[int, ...] | None = field(default=None, metadata=file.INTEGERS.or_absent.kept)
    look: tuple[int, ...] | None = field(default=None, metadata=file.INTEGERS.or_absent.kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        look = (0, 2) if self.look is None else self.look
        if len(look) != 2 or not 0 <= look[0] < len(self.shares.noisy) or look[1] < 2:
            raise ParameterError("look", "be numbers of cells and of parts, two at least", f"{look}")
        edges, count = self.edges, len(self.shares.noisy) - look[0]
        rising = edges.ndim == 1 and np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)
        starts = np.arange(self._cells) if self.starts is None else np.array(self.starts)
        if not rising or count != self._cells + starts.size or self._cells < 2:
            raise ParameterError("edges", "increase, with two shares for each cell", f"{count} shares")
        if not (starts.size and starts[0] == 0 and np.all(np.diff(starts, append=self._cells) > 0)):
            raise ParameterError("starts", f"increase from 0, below {self._cells}", f"{self.starts}")

    @property
    def _cells(self) -> int:
        return self.edges.size - 1

    @property
    def score_bounds(self) -> tuple[float, float]:
        """Public ends of scores."""
        return float(self.edges[0]), float(self.edges[-1])

    @cached_property
    def counts(self) -> Floats:
        """Noisy numbers (2, K) of persons without and with the outcome; they sum to a public total."""
        size, counts = self.shares.public_size, self._in_persons(self.shares.counts)
        spare = 0.0 if size is None else (size - counts.sum()) / counts.size
        return frozen(self._spread(counts + spare))

    def _in_persons(self, numbers: Floats) -> Floats:
        """What was counted (.., K + M) of whole persons, of all noisy numbers, after the first look."""
        return np.asarray(numbers[..., -self._places.size :] / self._counting)

    @property
    def _counting(self) -> Floats:
        """Which part of each person counts in each number (K + M,): a look has had some of it."""
        parts = np.ones(self._places.size)
        if self.look is not None:
            parts[: self._cells] -= 1 / self.look[1]
        return parts

    @property
    def _starts(self) -> Integers:
        """First cells (M,) of the groups that those with the outcome were counted in."""
        return np.arange(self._cells) if self.starts is None else np.array(self.starts, dtype=np.int64)

    @property
    def _places(self) -> Integers:
        """Where in a table (2 K,) what was counted stands: that of a group in its first cell."""
        return np.concatenate([np.arange(self._cells), self._cells + self._starts])

    def _spread(self, numbers: Floats) -> Floats:
        """Tables (.., 2, K) of what was counted (.., K + M)."""
        tables = np.zeros((*numbers.shape[:-1], 2 * self._cells))
        tables[..., self._places] = numbers
        return tables.reshape(*numbers.shape[:-1], 2, -1)

    @cached_property
    def _variances(self) -> Floats:
        """Of what was counted, a table (2, K) of variances, in those of one noise."""
        return frozen(self._spread(self._counting**-2))

    @property
    def _ends(self) -> Integers:
        """Places (2, 2, K + 1) next below and above each edge where numbers are known, by outcome."""
        every, starts = np.arange(self._cells + 1), np.append(self._starts, self._cells)
        above = starts[np.searchsorted(starts, every)]
        below_it = starts[np.searchsorted(starts, every, "right") - 1]
        return np.array([[every, below_it], [every, above]])

    @cached_property
    def persons(self) -> Floats:
        """Likely numbers (2, K), none of them negative."""
        if self.starts is None:
            return frozen(consistent(self.counts))
        return frozen(self._people * np.diff(self._between[:, ::STEPS]))

    @cached_property
    def _without(self) -> Floats:
        """Likely numbers (1, K) of those without the outcome."""
        return frozen(consistent(self.counts[:1]))

    @cached_property
    def _likely(self) -> tuple[Floats, Floats]:
        """A binormal curve, and likely numbers (M,) of those with the outcome, in their groups."""
        scale = self.shares.deviation / math.sqrt(2)
        # Noise may hide that somebody without the outcome is in a group.
        without = np.maximum(np.add.reduceat(self._without[0], self._starts), scale)
        return leaned(shares_below(without), self.counts[1, self._starts], scale)

    @property
    def _people(self) -> Floats:
        """Likely numbers (2, 1) without and with the outcome."""
        if self.starts is None:
            return np.asarray(self.persons.sum(axis=1, keepdims=True))
        return np.array([[self._without.sum()], [self._likely[1].sum()]])

    @cached_property
    def _smooth(self) -> Floats:
        """Shares (2, STEPS K + 1) of either outcome below edges and between them: none is tied."""
        if self.starts is None:
            return frozen(between(shares_below(self.persons)))
        steps = np.arange(STEPS * self._cells + 1) / STEPS
        without = np.interp(steps, np.arange(self._cells + 1), shares_below(self._without)[0])
        (curve, numbers), ends = self._likely, np.append(self._starts, self._cells)
        return frozen(np.array([without, placed(without, STEPS * ends, shares_below(numbers), curve)]))

    @property
    def _untied(self) -> Floats:
        """By which part (K,) the curve bends in each cell: not where scores look tied."""
        if self.starts is None:
            return np.ones(self._cells)
        full = self._cells * np.diff(self._smooth[0, ::STEPS])
        return np.clip(2 - full / TIED, 0.0, 1.0)

    @cached_property
    def _between(self) -> Floats:
        """These shares, straight where scores look tied: those tied are in order as often as not."""
        steps, edges = np.arange(self._smooth.shape[1]), self._smooth[:, ::STEPS]
        straight = [np.interp(steps, steps[::STEPS], row) for row in edges]
        part = np.append(np.repeat(self._untied, STEPS), 1.0)
        return frozen(straight + part * (self._smooth - straight))

    def _errors(self, of: Of | None) -> Floats:
        """Simulated errors (draws, 2, K) of `counts`, from a fixed key; of a sample, perhaps."""
        generator = np.random.Generator(np.random.Philox(key=0))
        drawn = self._in_persons(self.shares.errors(generator, DRAWS))
        if self.shares.public_size is not None:
            drawn = drawn - drawn.mean(axis=1, keepdims=True)
        if of == "population":
            people, chances = round(self.shares.size), self.persons.ravel() / self.persons.sum()
            sampled = generator.multinomial(people, chances, DRAWS) - people * chances
            drawn = drawn + np.add.reduceat(sampled, self._places, axis=1)
        return self._spread(drawn)

    @property
    def _below(self) -> Floats:
        """Shares (2, K + 1) with a score below each edge, of either outcome."""
        return shares_below(self.persons)

    def _ends_below(self, request: Asked) -> tuple[Floats, Floats]:
        """Ends of these shares, for all at once, or for both outcomes at one edge."""
        rows, (first, last) = np.array([[0], [1]]), self._ends
        inner = first[:, 1:-1]
        people = (request.of == "population") * self.persons.sum(axis=1, keepdims=True)

        def parted(tables: Floats) -> tuple[Floats, Floats]:
            numbers = below(tables)
            part = numbers[..., rows, inner]
            return part, numbers[..., -1:] - part

        # Nothing is known below the first edge: values there are not used.
        part, rest = parted(self._variances)
        sizes, share = (np.maximum(part, 1.0), rest), self._below[rows, inner]
        about = sizes, self.shares.deviation**2, people
        numbers, errors = parted(self.counts), parted(self._errors(request.of))
        over = (1, 2) if request.simultaneous else 1
        lower, upper = share_ends(share, numbers, errors, *about, request.level, over)
        if request.simultaneous:
            # Shares below increase: what bounds one bounds the others.
            lower = np.maximum.accumulate(lower, axis=1)
            upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
        none, all_ = np.zeros((2, 1)), np.ones((2, 1))
        ends = np.hstack([none, lower, all_]), np.hstack([none, upper, all_])
        return ends[0][rows, first], ends[1][rows, last]

    def _around_places(self, at: Floats) -> tuple[Integers, Integers]:
        """Places of the edges at or next below scores, and at or next above them."""
        # The highest score is in the last cell.
        first = np.minimum(np.searchsorted(self.edges, at, "right") - 1, self._cells - 1)
        return first, first + (self.edges[first] < at)

    @property
    def _joined(self) -> Integers:
        """First cells of the groups of calibration."""
        people, counted = np.add.reduceat([self.persons, self._variances], self._starts, axis=2).sum(
            axis=1
        )
        return self._starts[group_starts(people, counted, self.shares.deviation)]

    def _with_outcome(self, starts: Integers, request: Asked) -> tuple[Floats, Floats, Floats]:
        """Share with the outcome in each group (G,), and its ends."""
        sizes = np.add.reduceat(self._variances, starts, axis=1)[::-1]
        without, with_it = np.add.reduceat(self.persons, starts, axis=1)
        share = with_it / np.maximum(without + with_it, 1e-9)
        people = (request.of == "population") * (without + with_it)
        about = sizes, self.shares.deviation**2, people
        numbers, errors = (
            np.moveaxis(np.add.reduceat(table, starts, axis=-1), -2, 0)[::-1]
            for table in (self.counts, self._errors(request.of))
        )
        over = 1 if request.simultaneous else None
        return share, *share_ends(share, numbers, errors, *about, request.level, over)

    def _benefits(self, tables: Floats, at: Floats) -> Floats:
        """Least and largest net benefits (.., 2 q) of tables by where in cells persons are."""
        numbers, (first, last) = below(tables), self._around_places(at)
        without, with_it = np.moveaxis(numbers[..., -1:] - numbers, -2, 0)
        (_, known_first), (_, known_last) = self._ends
        odds = at / (1 - at)
        least = with_it[..., known_last[last]] - odds * without[..., first]
        most = with_it[..., known_first[first]] - odds * without[..., last]
        return np.concatenate([least, most], axis=-1) / self.shares.size
