"""Exact draws of whole arrays: floats with proved errors first, ball arithmetic for the rest.

As in `dpfda.numerics.exactness` a draw is a continuous function of uniform variables, rounded to the
nearest integer, and each uniform is known by its leading bits. All integers are first computed in float
enclosures (`dpfda.numerics.enclosures`). Those that their enclosures do not determine are computed
again in ball arithmetic, with more bits appended *to the same uniforms*, until they are. Which of the
two found an integer makes no difference to it: it is the rounding of the function at the same infinite
bits. What may be told from the time that a draw takes is how many of its integers were close to a
half, which is independent of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpfda.numerics import enclosures, exactness
from dpfda.numerics.arrays import Flags, Integers
from dpfda.numerics.enclosures import Enclosures
from dpfda.numerics.exactness import GUARD_BITS, INITIAL_BITS, nearest_integer, precision, uniform_ball

Places = Integers
# Fresh bits for each of some uniforms, as non-negative integers.
PlacedBits = Callable[[Places, int], Sequence[int]]

WORD = 64
# So many integers at a time stay in a processor's cache; even, so that pairs stay together.
AT_ONCE = 2**14
# Fewer values are drawn faster in ball arithmetic alone.
FEWEST_IN_FLOATS = 16


class Enclosed(Protocol):
    """Real numbers in an array, each known by an enclosure; a divisor must be positive."""

    def __getitem__(self, places: Any, /) -> Self: ...
    def __add__(self, other: object, /) -> Self: ...
    def __sub__(self, other: object, /) -> Self: ...
    def __mul__(self, other: object, /) -> Self: ...
    def __truediv__(self, other: object, /) -> Self: ...
    def __radd__(self, other: object, /) -> Self: ...
    def __rsub__(self, other: object, /) -> Self: ...
    def __rmul__(self, other: object, /) -> Self: ...
    def __rtruediv__(self, other: object, /) -> Self: ...
    def sum(self, axis: int) -> Self: ...


Real = TypeVar("Real", bound=Enclosed)
Value_co = TypeVar("Value_co", covariant=True)
# What is enclosed at the places that are asked for.
At = Callable[[Places], Real]


class Indexed(Protocol[Value_co]):
    """Numbers to be indexed by places."""

    def __getitem__(self, places: Places, /) -> Value_co: ...


class Arithmetic(Protocol[Real]):
    """Functions of real numbers in arrays: in enclosures by floats, or of any precision."""

    def uniforms(self, places: Places) -> Real:
        """The uniform variables at these places."""

    def integers(self, values: Sequence[int]) -> Indexed[Real]:
        """Integers of any size, to be indexed by places."""

    def log(self, x: Real, /) -> Real:
        """Natural logarithms."""

    def sqrt(self, x: Real, /) -> Real:
        """Square roots."""

    def turns(self, x: Real, /) -> tuple[Real, Real]:
        """Cosines and sines of 2 pi x, for x in [0, 1]."""

    def sum_of_logs(self, x: Real, /) -> Real:
        """Sum of the logarithms of numbers in (0, 1]."""

    def where(self, chosen: Flags, x: Real, y: Real) -> Real:
        """Elements of x where chosen, else of y."""


class Values(Protocol):
    """From an arithmetic to a function of places: enclosures of the values that are rounded there."""

    def __call__(self, a: Arithmetic[Real], /) -> At[Real]: ...


class _Floats:
    """Float enclosures of the uniforms whose first bits these are."""

    def __init__(self, words: NDArray[np.uint64], bits: int) -> None:
        self._words, self._bits = words, bits

    def uniforms(self, places: Places) -> Enclosures:
        return enclosures.uniforms(self._words[places], self._bits)

    integers = staticmethod(enclosures.integers)
    log = staticmethod(enclosures.log)
    sqrt = staticmethod(enclosures.sqrt)
    turns = staticmethod(enclosures.turns)
    sum_of_logs = staticmethod(enclosures.sum_of_logs)
    where = staticmethod(enclosures.where)


class _Enclosures:
    """Enclosures, in object arrays, of uniforms with so many bits each."""

    def __init__(self, known: _Known, bits: int) -> None:
        self._known, self._bits = known, bits

    def uniforms(self, places: Places) -> Any:
        return _objects([uniform_ball(n, self._bits) for n in self._known.at(places, self._bits)])

    def integers(self, values: Sequence[int]) -> Any:
        return _Integers(values)

    log = staticmethod(np.frompyfunc(arb.log, 1, 1))
    sqrt = staticmethod(np.frompyfunc(arb.sqrt, 1, 1))

    def turns(self, x: Any) -> tuple[Any, Any]:
        sines, cosines = _sines(x)
        return cosines, sines

    def sum_of_logs(self, x: Any) -> Any:
        product = arb(1)
        for factor in x:
            product *= factor
        return product.log()

    def where(self, chosen: Flags, x: Any, y: Any) -> Any:
        return np.where(chosen, x, y)


_sines = np.frompyfunc(lambda x: (2 * x).sin_cos_pi(), 1, 2)


class _Integers:
    """Integers, enclosed where they are looked at."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = values

    def __getitem__(self, places: Places) -> Any:
        return _objects([arb(self._values[place]) for place in places.tolist()])


def _objects(values: list[arb]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


class _Known:
    """The bits of each uniform that are known so far."""

    def __init__(self, count: int, bits: int, source: PlacedBits) -> None:
        self._source, self._bits = source, bits
        self.first = source(np.arange(count), bits)
        self._longer: dict[int, tuple[int, int]] = {}

    def at(self, places: Places, bits: int) -> list[int]:
        """Numerators of the uniforms at these places with so many bits, no fewer than before."""
        before = [self._longer.get(p, (int(self.first[p]), self._bits)) for p in places.tolist()]
        for missing in {bits - length for _, length in before} - {0}:
            short = np.array([bits - length == missing for _, length in before])
            again = np.unique(places[short])
            for place, fresh in zip(again.tolist(), self._source(again, missing), strict=True):
                number, _ = self._longer.get(place, (int(self.first[place]), 0))
                self._longer[place] = (number << missing) | int(fresh), bits
        return [self._longer[p][0] if p in self._longer else int(self.first[p]) for p in places.tolist()]


def system_words(places: Places, bits: int) -> Sequence[int]:
    """Fresh bits from the operating system for each place, a multiple of 64; nothing is buffered."""
    words = bits // WORD
    fresh = exactness.system_bits(bits * places.size).to_bytes(8 * words * places.size, "little")
    if words == 1:
        return np.frombuffer(fresh, dtype=np.uint64)  # type: ignore[return-value]
    size = 8 * words
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

    Parameters
    ----------
    values : callable
        Takes an `Arithmetic`; gives a function of places that encloses the values that are rounded
        there. What all values share is computed once, before that function is returned.
    uniforms : int
        How many uniforms there are.
    outputs : int
        How many values.
    source : callable, optional
        Gives fair bits for some of the uniforms; the operating system's except in tests.
    initial_bits : int
        Leading bits that each uniform starts with; at most 64 of them make floats come first.
    at_once : int
        How many values are computed together in floats.

    Returns
    -------
    list of int
        Nearest integers of the values at the uniforms.
    """
    if initial_bits is None:
        initial_bits = WORD if outputs >= FEWEST_IN_FLOATS else INITIAL_BITS
    known = _Known(uniforms, initial_bits, source)
    drawn, undecided = [0] * outputs, np.arange(outputs)
    if initial_bits <= WORD:
        floats = _Floats(np.asarray(known.first, np.uint64), initial_bits)
        drawn, undecided = _in_floats(values, floats, outputs, at_once)
    bits = max(INITIAL_BITS, initial_bits)
    while undecided.size:
        with precision(bits + GUARD_BITS):
            found = [nearest_integer(value) for value in values(_Enclosures(known, bits))(undecided)]
        for place, integer in zip(undecided.tolist(), found, strict=True):
            drawn[place] = 0 if integer is None else integer
        undecided = undecided[[integer is None for integer in found]]
        bits *= 2
    return drawn


def _in_floats(values: Values, floats: _Floats, outputs: int, at_once: int) -> tuple[list[int], Places]:
    """Integers that float enclosures determine, and the places of the others."""
    integers, decided = np.empty(outputs, dtype=np.int64), np.empty(outputs, dtype=bool)
    with np.errstate(all="ignore"):
        at = values(floats)
        for start in range(0, outputs, at_once):
            places = np.arange(start, min(start + at_once, outputs))
            integers[places], decided[places] = at(places).nearest()
    return integers.tolist(), np.flatnonzero(~decided)


def laplace(a: Arithmetic[Real], first: int, places: Places) -> Real:
    """Standard Laplace variables, differences of two exponential ones, from uniforms at `first` on."""
    return a.log(a.uniforms(first + 2 * places + 1) / a.uniforms(first + 2 * places))


def normals(a: Arithmetic[Real], first: int, places: Places) -> Real:
    """Standard normal variables of a sequence (Box and Muller), from uniforms at `first` on."""
    pairs = np.unique(places // 2)
    length = a.sqrt(-2 * a.log(a.uniforms(first + 2 * pairs)))
    cosine, sine = a.turns(a.uniforms(first + 2 * pairs + 1))
    pair = np.searchsorted(pairs, places // 2)
    return a.where(places % 2 == 1, (length * sine)[pair], (length * cosine)[pair])


def chi_square(a: Arithmetic[Real], first: int, pairs: int) -> Real:
    """A chi-square variable with twice as many degrees of freedom as uniforms, from `first` on."""
    return -2 * a.sum_of_logs(a.uniforms(np.arange(first, first + pairs)))
