"""An exact draw of ordered places whose weights fall with the changes of a number along them.

Places 0 <= o_1 <= .. <= o_m < C carry integers e_i(o), each a step function that does not fall. The
weight of o_1, .., o_m is a product over steps from one to the next, from e = 0 before the first and to
e = 0 behind the last,

    x(o) = 2^(2 K (m + 1)) prod_i exp(-rate |e_i(o_i) - e_{i-1}(o_{i-1})|),

in integers: exp(-rate |e - e'|) is exp(rate min) exp(-rate max), and each of these two is multiplied by
2^K and rounded down. Where an e_i leaves its window the weight is zero, and then `floor` is added to the
weights of all. Sums over all o are taken backwards, run by run of places that have the same integers,
and a draw walks forward: all of it in integers, so that the law is exact.

Within a window exp(+-rate e) is at least 2^-B. So the integer weight is at most x(o), and at least
(1 - 2^(B-K))^(2 m + 2) times that.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul

from flint import arb

from dpfda.numerics.exactness import BitSource, below, enclosed, precision

# More than the bits that rounding may cost over all steps.
GUARD_BITS = 96
# exp(rate e) and exp(-rate e) as integers, and e.
_Side = tuple[int, int, int]


def exponentials(rate: Fraction, numbers: Sequence[int], bits: int) -> list[int]:
    """The integers floor(2^bits exp(rate x)), exactly, for numbers that do not fall.

    From one to the next they are multiplied by the exponential of their distance, of which there are
    few; what enclosures do not determine is computed by itself.
    """
    largest = max((abs(rate * x) for x in (*numbers[:1], *numbers[-1:])), default=Fraction(0))
    guard, powers, steps = bits + 2 * math.ceil(largest) + GUARD_BITS, list[int](), dict[int, arb]()
    with precision(guard):
        value, last = arb(2) ** bits, 0
        for x in numbers:
            if x - last not in steps:
                steps[x - last] = enclosed(rate * (x - last)).exp()
            value, last = value * steps[x - last], x
            power = value.floor().unique_fmpz()
            powers.append(_exponential(rate * x, bits, guard) if power is None else int(power))
    return powers


def _exponential(x: Fraction, bits: int, guard: int) -> int:
    while True:
        with precision(guard):
            power = (enclosed(x).exp() * arb(2) ** bits).floor().unique_fmpz()
        if power is not None:
            return int(power)
        guard *= 2


@dataclass(frozen=True, eq=False)
class Window:
    """Neighbouring runs of places, and the integer that each carries. Private.

    starts: First place of each run, increasing.
    lengths: Number of its places.
    numbers: The integer of each run; they do not fall.
    """

    starts: Sequence[int]
    lengths: Sequence[int]
    numbers: Sequence[int]


class _Level:
    """One of the places: its window, tables of exponentials, and sums of weights from there on."""

    def __init__(self, window: Window, rate: Fraction, bits: int) -> None:
        self.starts, self.lengths, self.numbers = window.starts, window.lengths, window.numbers
        self.rising = exponentials(rate, self.numbers, bits)
        self.falling = exponentials(-rate, self.numbers, bits)
        self.runs = {start: run for run, start in enumerate(self.starts)}
        self.values: list[int] = []

    def weigh(self, values: list[int]) -> None:
        """Keep the weights of all runs, and their sums with the two exponentials."""
        self.values = values
        self.low = [0, *accumulate(map(mul, self.rising, values))]
        self.high = [0, *accumulate(map(mul, self.falling, values))]

    def side(self, run: int) -> _Side:
        """The exponentials and the integer of a run."""
        return self.rising[run], self.falling[run], self.numbers[run]

    def behind(self, start: int, last: _Side) -> tuple[int, int, int, int]:
        """Runs behind a place: first, first whose integer is no less; and the weights of both parts."""
        first = bisect_right(self.starts, start)
        split = bisect_left(self.numbers, last[2], lo=first)
        low = last[1] * (self.low[split] - self.low[first])
        high = last[0] * (self.high[-1] - self.high[split])
        return first, split, low, high


class Chain:
    """The law of ordered places. Private, as the windows are.

    places: Number C of places.
    bits: K above.
    floor: Added to the weight of all.
    """

    def __init__(
        self, windows: Sequence[Window], places: int, rate: Fraction, bits: int, floor: int
    ) -> None:
        self.places, self.floor = places, floor
        self._end: _Side = 1 << bits, 1 << bits, 0
        self._levels = [_Level(window, rate, bits) for window in windows]
        for place in reversed(range(len(windows))):
            level = self._levels[place]
            level.weigh(
                [sum(w for _, w in self._of_run(place, run)) for run in range(len(level.starts))]
            )
        self._inside = self._weight_behind(0, -1, self._end)

    @property
    def total(self) -> int:
        """The sum of the weights of all ordered places."""
        count = len(self._levels)
        return self._inside + self.floor * math.comb(self.places + count - 1, count)

    def weight(self, chosen: Sequence[int]) -> int:
        """The weight of ordered places."""
        product, last = 1, self._end
        for level, place in zip(self._levels, chosen, strict=True):
            run = bisect_right(level.starts, place) - 1
            if run < 0 or place >= level.starts[run] + level.lengths[run]:
                return self.floor
            product, last = product * _step(last, level.side(run)), level.side(run)
        return product * _step(last, self._end) + self.floor

    def draw(self, source: BitSource | None = None) -> tuple[int, ...]:
        """One exact draw."""
        if below(self.total, source) >= self._inside:
            return tuple(ordered(len(self._levels), self.places, source))
        places: list[int] = []
        start, last = -1, self._end
        while len(places) < len(self._levels):
            place = len(places)
            level = self._levels[place]
            run = self._next(level, start, last, source)
            count = self._together(place, run, below(level.values[run], source))
            start = level.starts[run]
            places += [start + inside for inside in ordered(count, level.lengths[run], source)]
            level = self._levels[place + count - 1]
            last = level.side(level.runs[start])
        return tuple(places)

    def _weight_behind(self, place: int, start: int, last: _Side) -> int:
        """Of this place and all later ones in runs behind one that starts at `start`."""
        if place == len(self._levels):
            return _step(last, self._end)
        return sum(self._levels[place].behind(start, last)[2:])

    def _of_run(self, place: int, run: int) -> Iterator[tuple[int, int]]:
        """Weights of this place and all later ones with 1, 2, .. of them in a run, no more behind it."""
        level = self._levels[place]
        start, length, inside = level.starts[run], level.lengths[run], 1
        for count in range(1, len(self._levels) - place + 1):
            behind = self._weight_behind(place + count, start, level.side(run))
            yield count, math.comb(length + count - 1, count) * inside * behind
            if place + count == len(self._levels):
                return
            later = self._levels[place + count]
            other = later.runs.get(start)
            if other is None:
                return
            inside *= _step(level.side(run), later.side(other))
            level, run = later, other

    def _next(self, level: _Level, start: int, last: _Side, source: BitSource | None) -> int:
        """A run behind one that starts at `start`, drawn by its weight."""
        first, split, low, high = level.behind(start, last)
        drawn = below(low + high, source)
        if drawn < low:
            return bisect_right(level.low, level.low[first] + drawn // last[1]) - 1
        return bisect_right(level.high, level.high[split] + (drawn - low) // last[0]) - 1

    def _together(self, place: int, run: int, drawn: int) -> int:
        """How many places are in a run, by a number below the weight of the run."""
        for count, weight in self._of_run(place, run):
            if drawn < weight:
                return count
            drawn -= weight
        raise AssertionError("a number below a sum is below one of its parts")


def _step(before: _Side, after: _Side) -> int:
    """2^(2 K) exp(-rate |e - e'|) from both sides of a step."""
    return before[0] * after[1] if before[2] <= after[2] else before[1] * after[0]


def ordered(count: int, places: int, source: BitSource | None = None) -> list[int]:
    """So many ordered places, which may be equal, all choices with one probability.

    They are a set of `count` of places + count - 1 numbers, less their ranks; the set is drawn as by
    Floyd (Bentley & Floyd 1987).
    """
    ranks: set[int] = set()
    for most in range(places - 1, places + count - 1):
        drawn = below(most + 1, source)
        ranks.add(most if drawn in ranks else drawn)
    return [number - rank for rank, number in enumerate(sorted(ranks))]
