"""Linear forms of one Gaussian vector, asked one at a time: each new value given those before.

A query is an integer vector m, its noise value <m, Z> = <b, xi> with b_j = m_j s_j and xi standard
normal. With the orthonormal e_1..e_r that Gram and Schmidt's process makes of the queries asked so far,

    <b, xi> = sum_k <b, e_k> eta_k + |u| eta_{r+1},      u = b - sum_k <b, e_k> e_k.

Where u = 0 the value is known and nothing is drawn; elsewhere *one* new standard normal is. The value is
enclosed in ball arithmetic and rounded once the enclosure decides it; else bits are appended to the same
uniforms, and none is drawn again. With `degrees` nu the noise is V <b, xi>, V^2 = nu / chi^2_nu drawn
once, before the first answer, and kept secret. Proofs, for queries chosen on the way, too:
docs/sessions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from flint import arb, arb_mat, fmpz_mat

from dpfda.numerics import exactness
from dpfda.numerics.errors import StorageError
from dpfda.numerics.exactness import nearest_integer, precision, uniform_ball

# A query has entries below 2^96 and a scale is below 2^90 or so: 256 bits leave seventy to decide
# a rounding with, so that further bits are needed about once in 2^60 queries.
INITIAL_BITS = 256

Uniforms = tuple[int, int]


@dataclass(frozen=True)
class Draw:
    """What was added to the secret state; to be on the disk before anything is computed from it.

    bits: Leading bits known of every uniform.
    uniforms: Number of a normal to the leading bits of its two uniforms, for those that are new or
        longer.
    direction: The query, where it is not in the span of the earlier ones.
    mixing: The same as `uniforms` for the normals that make the factor of a t law.
    """

    bits: int
    uniforms: dict[int, Uniforms]
    direction: tuple[int, ...] | None
    mixing: dict[int, Uniforms] = field(default_factory=dict)


Keep = Callable[[Draw], None]


class ConditionalValues:
    """Rounded linear forms of independent normal variables, one at a time. The state is secret.

    scales: Standard deviations s_j.
    initial_bits: Leading bits that a uniform starts with.
    degrees: Degrees of freedom of a t law; 0 for the normal law.
    """

    def __init__(
        self, scales: Sequence[int], initial_bits: int = INITIAL_BITS, degrees: int = 0
    ) -> None:
        self._degrees = degrees
        self._mixing: list[Uniforms] = []
        self._scales = tuple(scales)
        self._bits = initial_bits
        self._directions: list[tuple[int, ...]] = []
        self._uniforms: list[Uniforms] = []
        self._support: set[int] = set()
        self._frame = _Frame(len(self._scales))

    @property
    def drawn(self) -> int:
        """Number of normal variables drawn."""
        return len(self._uniforms)

    def directions_with(self, queries: Iterable[tuple[int, ...]]) -> int:
        """Number of linearly independent queries once these have been asked, exactly."""
        rows = [list(query) for query in (*self._directions, *queries)]
        return int(fmpz_mat(rows).rank()) if rows else 0

    def reserve(self, queries: Iterable[tuple[int, ...]]) -> list[Draw]:
        """Draw what queries need, and compute nothing from it yet.

        How many draws there are, and how many bits each has, depends on the queries alone and on the
        bits kept so far.
        """
        draws = self._begun()
        for query in queries:
            if self._is_new(query):
                self._add(query, self._fresh())
                number = self.drawn - 1
                draws.append(Draw(self._bits, {number: self._uniforms[number]}, query))
        return draws

    def noise_of(self, query: tuple[int, ...], keep: Keep) -> int:
        """The noise value of a reserved query, rounded to an integer.

        query: In the span of the queries reserved so far.
        keep: Called with further bits, where the rounding needs them, before they are used.
        """
        scaled = self._scaled(query)
        while True:
            frame = self._extended()
            rounded = frame.rounded(scaled, self._uniforms, self._bits, self._mixing)
            if rounded is not None:
                return rounded
            more = self._bits
            longer, mixing = _longer(self._uniforms, more), _longer(self._mixing, more)
            keep(Draw(2 * more, dict(enumerate(longer)), None, dict(enumerate(mixing))))
            self._uniforms, self._mixing, self._bits = longer, mixing, 2 * more

    def replay(self, draw: Draw) -> None:
        """Put back what an earlier object drew.

        Raises StorageError if it contradicts what is known already.
        """
        consistent = draw.bits >= self._bits and self._remixed(draw)
        for number, pair in draw.uniforms.items():
            if number < self.drawn:
                shift = draw.bits - self._bits
                consistent &= tuple(value >> shift for value in pair) == self._uniforms[number]
                self._uniforms[number] = pair
            else:
                consistent &= number == self.drawn and draw.direction is not None
                self._add(draw.direction or (), pair)
        everything = len(draw.uniforms) == self.drawn and len(draw.mixing) == len(self._mixing)
        complete = draw.bits == self._bits or everything
        if not (consistent and complete and len(self._directions) == self.drawn):
            raise StorageError("The session's file is damaged: its draws contradict each other.")
        self._bits = draw.bits

    def _begun(self) -> list[Draw]:
        """Draw the factor of a t law, once."""
        if len(self._mixing) == self._degrees:
            return []
        self._mixing = [self._fresh() for _ in range(self._degrees)]
        return [Draw(self._bits, {}, None, dict(enumerate(self._mixing)))]

    def _remixed(self, draw: Draw) -> bool:
        """Put back the factor; whether it does not contradict what is known."""
        if not draw.mixing:
            return True
        if set(draw.mixing) != set(range(self._degrees)):
            return False
        shift, mixing = draw.bits - self._bits, [draw.mixing[k] for k in range(self._degrees)]
        before = [(first >> shift, second >> shift) for first, second in mixing]
        mixed, self._mixing = self._mixing, mixing
        return not mixed or mixed == before

    def _fresh(self) -> Uniforms:
        return exactness.system_bits(self._bits), exactness.system_bits(self._bits)

    def _add(self, query: tuple[int, ...], uniforms: Uniforms) -> None:
        self._directions.append(query)
        self._uniforms.append(uniforms)
        self._support |= {j for j, entry in enumerate(query) if entry}

    def _scaled(self, query: tuple[int, ...]) -> list[int]:
        return [m * s for m, s in zip(query, self._scales, strict=True)]

    def _is_new(self, query: tuple[int, ...]) -> bool:
        """Whether the query is outside the span of the earlier ones, decided exactly."""
        support = {j for j, entry in enumerate(query) if entry}
        if not support <= self._support:
            return True
        if self.drawn == len(self._support):
            return False
        if self._extended().excludes(self._scaled(query)):
            return True
        return fmpz_mat([*map(list, self._directions), list(query)]).rank() > self.drawn

    def _extended(self) -> _Frame:
        """Orthonormal vectors of all directions, enclosed as finely as the uniforms are."""
        while True:
            rows = [self._scaled(direction) for direction in self._directions[self._frame.size :]]
            if self._frame.accuracy >= self._bits and self._frame.extend(rows, self._bits):
                return self._frame
            self._frame = _Frame(len(self._scales), 2 * max(self._frame.working, self._bits))


class _Frame:
    """Enclosures of the orthonormal vectors e_1..e_r, at one working precision."""

    def __init__(self, length: int, working: int = 2 * INITIAL_BITS) -> None:
        self.working = working
        self._length = length
        self._vectors: list[tuple[arb_mat, arb_mat]] = []
        self._known: tuple[int, arb_mat] | None = None
        self._normals: list[arb] = []

    @property
    def size(self) -> int:
        return len(self._vectors)

    @property
    def accuracy(self) -> int:
        """Largest number of bits to which this working precision may be asked to enclose."""
        return self.working // 2

    def extend(self, rows: list[list[int]], bits: int) -> bool:
        """Add directions known to be independent; False where the precision does not suffice."""
        with precision(self.working):
            limit = arb(2) ** -bits
            for row in rows:
                vector = self._residual(row)
                square = (vector.transpose() * vector)[0, 0]
                if not square > 0:
                    return False
                unit = vector * square.rsqrt()
                if not all(entry.rad() < limit for entry in unit.entries()):
                    return False
                self._vectors.append((unit.transpose(), unit))
        return True

    def excludes(self, row: list[int]) -> bool:
        """Whether a vector is certainly outside the span; False where that is undecided."""
        with precision(self.working):
            return any(not entry.contains(0) for entry in self._residual(row).entries())

    def rounded(
        self, row: list[int], uniforms: list[Uniforms], bits: int, mixing: Sequence[Uniforms] = ()
    ) -> int | None:
        """Nearest integer to V <row, xi> for a vector in the span; None where undecided.

        <row, sum_k eta_k e_k> takes one product, but its enclosure is as wide as that of every eta_k
        drawn so far, also of those along which the row has no part: a value known before might then ask
        for more bits. sum_k <row, e_k> eta_k has no such width, and settles what the first leaves open.
        """
        with precision(self.working):
            path = self._path(uniforms, bits)
            matrix = arb_mat(1, self._length, row)
            factor = _factor(mixing, bits)
            nearest = nearest_integer(factor * (matrix * path)[0, 0])
            return self._by_parts(matrix, factor) if nearest is None else nearest

    def _by_parts(self, row: arb_mat, factor: arb) -> int | None:
        parts = ((row * unit)[0, 0] for _, unit in self._vectors)
        along = sum((a * b for a, b in zip(parts, self._normals, strict=True)), arb(0))
        return nearest_integer(factor * along)

    def _residual(self, row: list[int]) -> arb_mat:
        vector = arb_mat(self._length, 1, row)
        for transposed, unit in self._vectors:
            vector = vector - unit * (transposed * vector)
        return vector

    def _path(self, uniforms: list[Uniforms], bits: int) -> arb_mat:
        """The sum of eta_k e_k: xi as far as it is known."""
        if self._known is None or self._known[0] != bits:
            self._known, self._normals = (bits, arb_mat(self._length, 1)), []
        path, done = self._known[1], len(self._normals)
        for pair, (_, unit) in zip(uniforms[done:], self._vectors[done:], strict=True):
            self._normals.append(exactness.normals([uniform_ball(value, bits) for value in pair])[0])
            path = path + unit * self._normals[-1]
        self._known = (bits, path)
        return path


def _longer(uniforms: Sequence[Uniforms], more: int) -> list[Uniforms]:
    """The same uniforms with further bits of the operating system behind those known."""
    return [
        ((a << more) | exactness.system_bits(more), (b << more) | exactness.system_bits(more))
        for a, b in uniforms
    ]


def _factor(mixing: Sequence[Uniforms], bits: int) -> arb:
    """V of a t law, enclosed; one for the normal law."""
    if not mixing:
        return arb(1)
    normals = (exactness.normals([uniform_ball(value, bits) for value in pair])[0] for pair in mixing)
    return (len(mixing) / sum((normal**2 for normal in normals), arb(0))).sqrt()
