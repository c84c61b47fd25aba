"""Exact draws of whole arrays: floats with proved errors first, then pairs of them, then balls.

As in `dpfda.numerics.exactness` a draw is a continuous function of uniform variables, rounded to the
nearest integer, and each uniform is known by its leading bits. All integers are first computed in float
enclosures (`dpfda.numerics.enclosures`). Those that their enclosures do not determine are computed
again with 64 more bits appended *to the same uniforms*, as sums of two floats
(`dpfda.numerics.twofold`), and those still open in ball arithmetic, with more and more bits. Which of
the three found an integer makes no difference to it: it is the rounding of the function at the same
infinite bits. What may be told from the time that a draw takes is how many of its integers were close
to a half, which is independent of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpfda.numerics import enclosures, exactness, twofold
from dpfda.numerics.arrays import Flags, Integers, Objects
from dpfda.numerics.enclosures import Enclosed
from dpfda.numerics.errors import DpfdaError
from dpfda.numerics.exactness import GUARD_BITS, INITIAL_BITS, nearest_integer, precision, uniform_ball

Places = Integers
# Fresh bits for each of some uniforms, as non-negative integers.
PlacedBits = Callable[[Places, int], Sequence[int]]

WORD = 64
# So many integers at a time stay in a processor's cache; even, so that pairs stay together.
AT_ONCE = 2**14
# Fewer values are drawn faster in ball arithmetic alone.
FEWEST_IN_FLOATS = 16
# Where fewer of the first values than this are determined, the others are left to more precision.
WORTHWHILE = 1 / 8


Real = TypeVar("Real", bound=Enclosed)
Value_co = TypeVar("Value_co", covariant=True)
# What is enclosed at the places that are asked for.
At = Callable[[Places], Real]


class Indexed(Protocol[Value_co]):
    """Numbers to be indexed by places."""

    def __getitem__(self, places: Places, /) -> Value_co: ...


class Functions(Protocol[Real]):
    """Functions of real numbers in arrays: in enclosures by floats, or of any precision."""

    def integers(self, values: Sequence[int], /) -> Indexed[Real]:
        """Integers of any size, to be indexed by places."""

    def log(self, x: Real, /) -> Real:
        """Natural logarithms."""

    def sqrt(self, x: Real, /) -> Real:
        """Square roots."""

    def turns(self, x: Real, /) -> tuple[Real, Real]:
        """Cosines and sines of 2 pi x, for x in [0, 1]."""

    def sum_of_logs(self, parts: Iterable[Real], /) -> Real:
        """Sum of the logarithms of numbers in (0, 1], a part of them at a time."""


class Arithmetic(Functions[Real], Protocol[Real]):
    """Functions, and the uniform variables that they are taken of."""

    def uniforms(self, places: Places, /) -> Real:
        """The uniform variables at these places."""

    def where(self, chosen: Flags, x: Real, y: Real, /) -> Real:
        """Elements of x where chosen, else of y."""


class Values(Protocol):
    """From an arithmetic to a function of places: enclosures of the values that are rounded there."""

    def __call__(self, a: Arithmetic[Real], /) -> At[Real]: ...


class _InFloats(Generic[Real]):
    """The functions of a module, and the uniforms as numbers that it encloses."""

    def __init__(self, functions: Functions[Real], uniforms: Callable[[Places], Real]) -> None:
        self.uniforms, self.integers, self.where = uniforms, functions.integers, enclosures.where
        self.log, self.sqrt, self.turns = functions.log, functions.sqrt, functions.turns
        self.sum_of_logs = functions.sum_of_logs


class _Enclosures:
    """Enclosures, in object arrays, of uniforms with so many bits each."""

    def __init__(self, known: _Known, bits: int) -> None:
        self._known, self._bits = known, bits

    def uniforms(self, places: Places) -> Objects:
        return _objects([uniform_ball(n, self._bits) for n in self._known.at(places, self._bits)])

    def integers(self, values: Sequence[int]) -> _Integers:
        return _Integers(values)

    log = staticmethod(np.frompyfunc(arb.log, 1, 1))
    sqrt = staticmethod(np.frompyfunc(arb.sqrt, 1, 1))

    def turns(self, x: Objects) -> tuple[Objects, Objects]:
        sines, cosines = twofold.sines_and_cosines(x)
        return cosines, sines

    def sum_of_logs(self, parts: Iterable[Any]) -> Any:
        product = arb(1)
        for factor in chain.from_iterable(parts):
            product *= factor
        return product.log()

    def where(self, chosen: Flags, x: Objects, y: Objects) -> Objects:
        return np.where(chosen, x, y)


class _Integers:
    """Integers, enclosed where they are looked at."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def __getitem__(self, places: Places) -> Objects:
        return _objects([arb(self._values[place]) for place in places.tolist()])


def _objects(values: list[arb]) -> Objects:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class _Known:
    """The bits of each uniform that are known so far."""

    def __init__(self, count: int, bits: int, source: PlacedBits) -> None:
        self._source, self.bits = source, bits
        self.first = source(np.arange(count), bits)
        self._second: NDArray[np.uint64] | None = None
        self._longer: dict[int, tuple[int, int]] = {}

    def words(self, places: Places) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """First bits of the uniforms at these places, and the 64 bits behind them."""
        first = np.asarray(self.first, np.uint64)
        if self._second is None:
            self._second, self._has_second = np.zeros_like(first), np.zeros(first.size, dtype=bool)
        new = places[~self._has_second[places]]
        new = np.unique(new) if np.any(new[1:] <= new[:-1]) else new
        if new.size:
            self._second[new], self._has_second[new] = self._source(new, WORD), True
        return first[places], self._second[places]

    def at(self, places: Places, bits: int) -> list[int]:
        """Numerators of the uniforms at these places with so many bits, no fewer than before."""
        before = [self._number(p) for p in places.tolist()]
        shorter = {bits - length for _, length in before} - {0}
        if not shorter:
            return [number for number, _ in before]
        for missing in shorter:
            short = np.array([bits - length == missing for _, length in before])
            again = np.unique(places[short])
            for place, fresh in zip(again.tolist(), self._source(again, missing), strict=True):
                number, _ = self._number(place)
                self._longer[place] = (number << missing) | int(fresh), bits
        return [self._number(p)[0] for p in places.tolist()]

    def _number(self, place: int) -> tuple[int, int]:
        """Numerator of one uniform, and its number of bits."""
        if place in self._longer:
            return self._longer[place]
        if self._second is not None and self._has_second[place]:
            return (int(self.first[place]) << WORD) | int(self._second[place]), self.bits + WORD
        return int(self.first[place]), self.bits


def system_words(places: Places, bits: int) -> Sequence[int]:
    """Fresh bits from the operating system for each place, a multiple of 64."""
    if bits % WORD:
        raise DpfdaError(f"bits must be a multiple of {WORD}; found {bits}.")
    size = bits // 8
    fresh = exactness.system_bytes(size * places.size)
    if bits == WORD:
        return np.frombuffer(fresh, dtype=np.uint64)  # type: ignore[return-value]
    return [int.from_bytes(fresh[i : i + size], "little") for i in range(0, len(fresh), size)]


def draw_array(
    values: Values,
    uniforms: int,
    outputs: int,
    source: PlacedBits = system_words,
    initial_bits: int | None = None,
    at_once: int = AT_ONCE,
) -> list[int]:
    """Round functions of independent uniform variables to integers, exactly.

    values: Takes an `Arithmetic`; gives a function of places that encloses the values that are rounded
        there. What all values share is computed once, before that function is returned.
    uniforms: How many uniforms there are.
    outputs: How many values.
    source: Gives fair bits for some of the uniforms; the operating system's except in tests.
    initial_bits: Leading bits that each uniform starts with; at most 64 of them make floats come first.
    at_once: How many values are computed together in floats.
    Returns the nearest integers of the values at the uniforms.
    """
    if initial_bits is None:
        initial_bits = WORD if outputs >= FEWEST_IN_FLOATS else INITIAL_BITS
    words = _Known(uniforms, initial_bits, source)
    integers, undecided = np.zeros(outputs, dtype=np.int64), np.arange(outputs)
    if initial_bits <= WORD:
        first = np.asarray(words.first, np.uint64)
        floats = _InFloats(enclosures, lambda at: enclosures.uniforms(first[at], initial_bits))
        undecided = _in_floats(values, floats, integers, undecided, at_once)
        if undecided.size:
            pairs = _InFloats(twofold, lambda at: twofold.uniforms(*words.words(at), words.bits))
            with precision(INITIAL_BITS + GUARD_BITS):
                undecided = _in_floats(values, pairs, integers, undecided, at_once)
    drawn = integers.tolist()
    bits = max(INITIAL_BITS, initial_bits)
    while undecided.size:
        with precision(bits + GUARD_BITS):
            rounded = [nearest_integer(value) for value in values(_Enclosures(words, bits))(undecided)]
        for place, integer in zip(undecided.tolist(), rounded, strict=True):
            drawn[place] = 0 if integer is None else integer
        undecided = undecided[[integer is None for integer in rounded]]
        bits *= 2
    return drawn


def _in_floats(
    values: Values, a: Arithmetic[Real], integers: Integers, places: Places, at_once: int
) -> Places:
    """Set the integers at these places that enclosures determine; gives the places of the others."""
    left = np.ones(places.size, dtype=bool)
    with np.errstate(all="ignore"):
        at = values(a)
        for start in range(0, places.size, at_once):
            part = places[start : start + at_once]
            nearest, decided = at(part).nearest()
            integers[part[decided]] = nearest[decided]
            left[start : start + at_once] = ~decided
            if start == 0 and decided.mean() < WORTHWHILE:
                break
    return places[left]


def one_integer(a: Arithmetic[Real], value: int) -> Real:
    """An integer of any size in an array of its own."""
    return a.integers((value,))[np.zeros(1, dtype=np.int64)]


def laplace(a: Arithmetic[Real], first: int, places: Places) -> Real:
    """Standard Laplace variables, differences of two exponential ones, from uniforms at `first` on."""
    return a.log(a.uniforms(first + 2 * places + 1) / a.uniforms(first + 2 * places))


def normals(a: Arithmetic[Real], first: int, places: Places) -> Real:
    """Standard normal variables of a sequence (Box and Muller), from uniforms at `first` on."""
    halves = places // 2
    new = np.ones(halves.size, dtype=bool)
    new[1:] = halves[1:] != halves[:-1]
    pairs, pair = halves[new], np.cumsum(new) - 1
    length = a.sqrt(-2 * a.log(a.uniforms(first + 2 * pairs)))
    cosine, sine = a.turns(a.uniforms(first + 2 * pairs + 1))
    return a.where(places % 2 == 1, (length * sine)[pair], (length * cosine)[pair])


def chi_square(a: Arithmetic[Real], first: int, pairs: int) -> Real:
    """A chi-square variable with twice as many degrees of freedom as uniforms, from `first` on."""
    places = np.arange(first, first + pairs)
    parts = (a.uniforms(places[start : start + AT_ONCE]) for start in range(0, pairs, AT_ONCE))
    return -2 * a.sum_of_logs(parts)
