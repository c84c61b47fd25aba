"""Noisy mean and second moments of a vector in blocks, as several kinds of release hold them. Public."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from dpfda.noise import GaussianNoise, Law, NoiseLaw, law_from_json, moved_counts
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.base import OnBasis
from dpfda.releases.promise import ALL, AddedNoise, check_one_draw
from dpfda.releases.staged import Selection

# Vectors of second moments are shortened to such a multiple of the root of what is expected of their
# squared length, which is their number of coordinates at most; to the second where there is a focus.
# What noise drowns is taken to be so large a part of it.
REACH, NEAR, DROWNED = 1.3, 1.2, 0.5
# Half of the largest eigenvalue that noise alone has, over what is taken for those that it drowns.
CLEAR = math.sqrt(2) / 2 / DROWNED
# The constant's own second moment, one but for shortened vectors and noise, is taken to be no smaller.
CONSTANT = 0.5
MOST_DECAY, MOST_PEAK = 4.0, 1e6
# So many leading directions keep their size where others are seen smaller.
LEADING = 12
# Draws of noise that a variance is compared with.
NOISES = 20


def noise_on_counts(noise: NoiseLaw, moved: int, largest: int, cost: int) -> AddedNoise:
    """Noise on counts that one unit moves by `moved` in l1, and each by `each`; as in `AddedNoise`."""
    return AddedNoise(noise, *moved_counts(moved, largest, isinstance(noise, GaussianNoise)), cost)


def filled(triangle: Sequence[int], size: int) -> Floats:
    """A symmetric matrix from its lower triangle, row by row."""
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = [float(value) for value in triangle]
    return np.asarray(matrix + np.tril(matrix, -1).T)


def nearest_positive(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues become 0.

    The set of such matrices is convex, so this moves nothing away from a
    covariance.
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


@dataclass(frozen=True)
class Step(file.Written):
    """One measurement of second moments.

    noisy_sum: Lower triangle of the sum of outer products plus noise.
    noise: Its law.
    """

    noisy_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    noise: SymmetricNoise = field(metadata=file.itself(partial(law_from_json, kind=Law)).kept)


@dataclass(frozen=True)
class Moments(file.Written):
    """Noisy mean and second moments of a vector in blocks.

    Coordinates are in units in which the public bound on the length of each block is known. The mean is
    measured first; then how long blocks of deviations from it are; then, in steps, their second moments.
    Each step sees deviations through the inverse of a factor L that the one before made (Biswas et al.
    2020), in which they are about equally long in all directions, and shortens them to length one.

    blocks: Numbers of coordinates.
    bounds: Largest length of each block.
    size: Public number of units.
    mean_sum, mean_exponent, mean_noise: Noisy sum of vectors, of which each block was divided by its
        bound and all by the root of their number; in units of 2^-exponent.
    selections, radii: How long blocks of deviations are, and what was chosen; empty before that.
    exponent: Vectors of second moments are in units of 2^-exponent.
    steps: Measurements, one after another.
    decay: Where given, a constant 1 stands beside each vector in second moments, which then measure its
        mean anew; and within each block coordinate j is expected to be (1 + j)^-decay as large as the
        first, and lengths are taken in these units. None before.
    focus: Where given, after so many steps one sees the leading directions as it would else, and
        direction j beyond them by LEADING / j smaller: noise in the leading ones is less, as vectors
        are shorter. Moments are then those of the last two steps together. None before.
    peak: Where given, vectors may be so many times as long before they are shortened, as squares are
        mostly those of few units. None before, and of ordinary vectors.
    seen: Where given, the first step sees so many coordinates, of which the mean has the leading ones;
        later steps see the directions in which they vary most by the first, `axes`. None before.
    """

    blocks: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    bounds: tuple[float, ...] = field(metadata=file.NUMBERS.kept)
    size: int = field(metadata=file.whole_number(1).kept)
    mean_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    mean_exponent: int = field(metadata=file.EXPONENT.kept)
    mean_noise: NoiseLaw = field(metadata=file.LAW.kept)
    selections: tuple[Selection, ...] = field(metadata=file.many(Selection).kept)
    radii: tuple[float, ...] = field(metadata=file.NUMBERS.kept)
    exponent: int = field(metadata=file.EXPONENT.kept)
    steps: tuple[Step, ...] = field(metadata=file.many(Step).kept)
    decay: float | None = field(default=None, metadata=file.NUMBER.or_absent.kept)
    focus: int | None = field(default=None, metadata=file.whole_number(1).or_absent.kept)
    peak: float | None = field(default=None, metadata=file.NUMBER.or_absent.kept)
    seen: int | None = field(default=None, metadata=file.whole_number(1).or_absent.kept)

    def __post_init__(self) -> None:
        size, count = sum(self.blocks), len(self.blocks)
        counts = len(self.radii), len(self.selections)
        sizes = [step.noise.size for step in self.steps]
        lengths = [len(step.noisy_sum) for step in self.steps]
        if (
            len(self.bounds) != count
            or counts not in {(0, 0), (count, count)}
            or len(self.mean_sum) != size
            or self.mean_noise.components != size
            or not min(self.blocks + self.bounds + self.radii) > 0
            or sizes != [self.order_of(place) for place in range(len(sizes))]
            or lengths != [order * (order + 1) // 2 for order in sizes]
            or not 0 <= (self.decay or 0.0) <= MOST_DECAY
            or not 1 <= (self.peak or 1.0) <= MOST_PEAK
            or (self.seen is not None and (count != 1 or self.focus is None or self.seen <= size))
        ):
            raise ValueError("moments do not fit their blocks")

    def spread(self, numbers: Sequence[float]) -> Floats:
        """One number a block as one a coordinate (d,)."""
        return np.repeat(np.array(numbers, dtype=np.float64), self.blocks)

    def order_of(self, place: int) -> int:
        """Number of coordinates in second moments of a step: with the constant, where there is one."""
        return sum(self.blocks if place else self._first) + (self.decay is not None)

    @property
    def _first(self) -> tuple[int, ...]:
        """Numbers of coordinates that the first step sees: D in all."""
        return self.blocks if self.seen is None else (self.seen,)

    @cached_property
    def weights(self) -> Floats:
        """How large each coordinate (D,) is expected to be, beside the first of its block."""
        return np.concatenate([(1.0 + np.arange(size)) ** -(self.decay or 0.0) for size in self._first])

    @property
    def places(self) -> list[slice]:
        """Where the coordinates of each block are."""
        ends = np.cumsum((0, *self._first)).tolist()
        return [slice(start, end) for start, end in itertools.pairwise(ends)]

    @cached_property
    def mean(self) -> Floats:
        """The mean (D,) about which deviations are taken, each block within its bound."""
        raw = np.array([math.ldexp(float(value), -self.mean_exponent) for value in self.mean_sum])
        raw *= math.sqrt(len(self.blocks)) / self.size
        longest = [max(1.0, float(np.linalg.norm(raw[place]))) for place in self.places]
        return self._padded(raw / self.spread(longest) * self.spread(self.bounds))

    @property
    def mean_power(self) -> Floats:
        """Variances (D,) of the noise of the mean, about which deviations are taken."""
        unit = math.sqrt(len(self.blocks)) / self.size * self.spread(self.bounds)
        return self._padded(np.ldexp(self.mean_noise.variances(), -2 * self.mean_exponent) * unit**2)

    def _padded(self, row: Floats) -> Floats:
        """A number a coordinate (d,) with nothing for those that only the first step sees."""
        return np.pad(row, (0, sum(self._first) - row.size))

    @cached_property
    def factors(self) -> list[Floats]:
        """The L (d, d) of each step, and of one that could follow: lower triangular but with a focus.

        That of the first is (D, D); others are of vectors along `axes`.
        """
        factors = [np.diag(self._expected)]
        reach = (REACH if self.focus is None else NEAR) * (self.peak or 1.0)
        for place in range(len(self.steps)):
            values, vectors, noise = self._parted(place)
            factor, root = factors[-1], (vectors * (values + noise)) @ vectors.T
            if self.seen is not None and not place:
                # From here on along the axes: what the first step shows of these.
                shown = self._onto.T @ factor
                factor = np.eye(shown.shape[0])
                root, vectors = np.asarray(shown @ root @ shown.T), np.asarray(shown @ vectors)
            root = np.linalg.cholesky(np.asarray(root))
            if place + 1 == self.focus:
                root = root @ self._turned(factor @ root)
            square = float(np.sum(np.linalg.solve(root, vectors) ** 2 * values)) + 1
            factors.append(factor @ root * (reach * math.sqrt(square)))
        return factors

    @property
    def _expected(self) -> Floats:
        """Lengths (D,) that the first step sees coordinates in, with that of the constant."""
        constant = [] if self.decay is None else [1.0]
        expected = np.append(np.repeat(self.radii, self._first) * self.weights, constant)
        return np.asarray(expected * math.sqrt(len(self.blocks) + len(constant)))

    def _parted(self, place: int) -> tuple[Floats, Floats, float]:
        """Eigenvalues of a step, positive, and vectors; what is taken for those that noise drowns."""
        values, vectors = np.linalg.eigh(self.measured(place))
        drowned = DROWNED * math.sqrt(self.power(place) * self.order_of(place))
        return np.maximum(values, 0.0), vectors, drowned

    @cached_property
    def axes(self) -> Floats:
        """Orthonormal directions (D, d), one a column, that steps after the first see.

        Where the first sees more: those in which vectors vary most by it. Eigenvalues lose half of the
        largest that noise alone has, and get what is taken for directions that noise drowns: among
        these the public order of coordinates decides.
        """
        if self.seen is None:
            return np.eye(sum(self.blocks))
        values, vectors, noise = self._parted(0)
        clear = np.maximum(values - CLEAR * noise, 0.0) + noise
        rows = (np.diag(self._expected) @ vectors)[: self.seen]
        axes = np.linalg.eigh((rows * clear) @ rows.T)[1][:, ::-1][:, : sum(self.blocks)]
        # A file means the same wherever it is read: signs are no choice of a program.
        largest = np.argmax(np.abs(axes), axis=0)
        return np.asarray(axes * np.sign(axes[largest, np.arange(largest.size)]))

    @property
    def _onto(self) -> Floats:
        """The axes (D + 1, d + 1) with the constant, if there is one."""
        constant = np.eye(int(self.decay is not None))
        return np.asarray(scipy.linalg.block_diag(self.axes, constant))

    @property
    def through(self) -> Floats:
        """What the next step sees vectors with their constant through (D + 1, d + 1), as a product."""
        seen = np.linalg.inv(self.factors[-1]).T
        onto = self.seen is not None and self.steps
        return np.asarray(self._onto @ seen if onto else seen, dtype=np.float64)

    def _turned(self, factor: Floats) -> Floats:
        """What makes a factor show all beyond the leading directions smaller; the constant is kept."""
        size = sum(self.blocks)
        _, _, rows = np.linalg.svd(factor[:size, :size])
        turned = np.eye(len(factor))
        turned[:size, :size] = rows.T * np.maximum(1.0, (1.0 + np.arange(size)) / LEADING)
        return turned

    def measured(self, place: int) -> Floats:
        """Noisy second moments (d, d) of a step, as its factor L shows them."""
        scale = math.ldexp(1.0, -2 * self.exponent) / self.size
        return filled(self.steps[place].noisy_sum, self.order_of(place)) * scale

    def power(self, place: int) -> float:
        """Variance of the noise of a step in each orthonormal coordinate of a symmetric matrix."""
        return float(math.ldexp(self.steps[place].noise.power, -4 * self.exponent)) / self.size**2

    @cached_property
    def _joint(self) -> Floats:
        """Second moments by the last step, with those of the constant, positive semidefinite.

        With a focus by the last two. In coordinates in which noise of both is uncorrelated from entry
        to entry each is their average by precision.
        """
        last = len(self.steps) - 1
        factor, second = self.factors[last], self.measured(last)
        if self.focus is not None and last:
            through = np.linalg.solve(factor, self.factors[last - 1])
            squares, axes = np.linalg.eigh(through @ through.T)
            before = axes.T @ through @ self.measured(last - 1) @ through.T @ axes
            noise = self.power(last - 1) * np.outer(squares, squares)
            share = noise / (noise + self.power(last))
            factor, second = factor @ axes, share * (axes.T @ second @ axes) + (1 - share) * before
        return np.asarray(factor @ nearest_positive(second) @ factor.T)

    @cached_property
    def _moved(self) -> Floats:
        """What the last step adds to the mean (d,), along axes: moments with the constant over its own.

        With a positive decay its own is taken to be one.
        """
        return np.asarray(self._joint[-1, :-1] / self._own)

    @property
    def _own(self) -> float:
        return 1.0 if self.decay else max(float(self._joint[-1, -1]), CONSTANT)

    @cached_property
    def centre(self) -> Floats:
        """The mean (D,), by the last step where that measured it anew; outside the axes by the first."""
        if self.decay is None:
            return self.mean
        centre = self.mean + self.axes @ self._moved
        if self.seen is None:
            return centre
        shown = self._expected[:-1] * self._expected[-1]
        # Where the mean was measured before, by precision; elsewhere it is left as it was.
        share = self.mean_power / (self.mean_power + self.power(0) / 2 * shown**2)
        moved = self.measured(0)[-1, :-1] * shown * share
        return np.asarray(centre + moved - self.axes @ (self.axes.T @ moved))

    @cached_property
    def matrix(self) -> Floats:
        """Second moments (d, d) along `axes` about `centre` by the last step, positive semidefinite.

        Over the noisy moment of the constant, so that no noise in it counts where the first mean was
        far off.
        """
        if self.decay is None:
            return self._joint
        return nearest_positive(self._joint[:-1, :-1] - np.outer(self._moved, self._joint[-1, :-1]))

    @cached_property
    def root(self) -> Floats:
        """The lower triangular factor (d, d) that the noise in `matrix` was seen through."""
        factor = self.factors[len(self.steps) - 1]
        if self.decay is None:
            return factor
        # As seen from the new mean; noise is the same through all roots of one matrix.
        rows = factor[:-1] - np.outer(self._moved, factor[-1])
        _, root = np.linalg.qr(rows.T)
        return np.asarray(root.T)

    @cached_property
    def noise_share(self) -> float:
        """What the noise of the last step alone would give of the variance in all, at most one."""
        size, generator = sum(self.blocks), np.random.Generator(np.random.Philox(key=43))
        drawn = generator.standard_normal((NOISES, size, size))
        turned = np.swapaxes(drawn, 1, 2)
        # Of variance one in each orthonormal coordinate of a symmetric matrix.
        noise = np.where(np.eye(size, dtype=bool), drawn, (drawn + turned) / 2)
        noise *= math.sqrt(self.power(len(self.steps) - 1))
        alone = np.mean([np.trace(self.root @ nearest_positive(draw) @ self.root.T) for draw in noise])
        return min(1.0, float(alone / max(np.trace(self.matrix), np.finfo(float).tiny)))

    def centre_power(self, weights: Floats) -> float:
        """Variance of the noise in a weighted sum of `centre`."""
        if self.decay is None:
            return float(self.mean_power @ weights**2)
        last = len(self.steps) - 1
        row = self.factors[last][-1]
        through = weights @ (self.factors[last][:-1] - np.outer(self._moved, row))
        square = float(through @ through * (row @ row) + (through @ row) ** 2)
        return self.power(last) / 2 * square / self._own**2

    @property
    def laws(self) -> list[NoiseLaw | SymmetricNoise]:
        """All noise that was drawn, in its order."""
        chosen = [selection.noise for selection in self.selections]
        return [self.mean_noise, *chosen, *(step.noise for step in self.steps)]

    def added_noise(self, neighbours: Neighbours) -> list[AddedNoise]:
        """All noise, with how far one unit moves what it was added to."""
        moved = neighbours.differences(1 << self.mean_exponent)
        noises = [AddedNoise(self.mean_noise, "l2", moved, 0)]
        noises += [
            noise_on_counts(choice.noise, neighbours.differences(choice.scale), choice.scale, 1 + place)
            for place, choice in enumerate(self.selections)
        ]
        first, radius = len(noises), 1 << self.exponent
        laws = [step.noise for step in self.steps]
        widths = [OuterDifference.of(law.size, radius, neighbours) for law in laws]
        pairs = enumerate(zip(laws, widths, strict=True), first)
        return noises + [AddedNoise(law, "l2", width, place) for place, (law, width) in pairs]


class OfMoments(OnBasis):
    """A release of moments, and perhaps of more that was measured after them."""

    moments: Moments
    bounds: Floats
    certificate: Certificate

    def __post_init__(self) -> None:
        super().__post_init__()
        ordered = self.bounds.shape == (2, self.grid_points.size) and self.bounds[0] < self.bounds[1]
        if not np.all(ordered):
            raise ParameterError("bounds", "be two curves in order on the grid", "others")

    @property
    def _all_noise(self) -> list[AddedNoise]:
        """All noise, with how far one unit moves what it was added to."""
        return self.moments.added_noise(self.neighbours)

    def _checked(self) -> None:
        """Refuse normal noise whose joint loss exceeds that stated, or that is not charged jointly."""
        normal = any(isinstance(noise.noise, GaussianNoise) for noise in self._all_noise)
        if normal != (ALL in self.certificate.stages):
            raise ValueError("normal noise, and no other, is charged together")
        check_one_draw(self.certificate, self._all_noise, every=True)

    def _added_noise(self) -> list[AddedNoise]:
        # What was charged together is checked together, in `_checked`.
        return [] if ALL in self.certificate.stages else self._all_noise

    @property
    def public_units(self) -> int | None:
        return self.moments.size if self.neighbours is Neighbours.REPLACE_ONE else None

    @property
    def _divided(self) -> list[str]:
        """What sums were divided by, where it is no number of units."""
        stated = f"the number that sums were divided by: {self.moments.size}"
        return [] if self.public_units else [stated]
