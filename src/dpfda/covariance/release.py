"""The released covariance function: noisy integers, basis, noise law and guarantee; all public."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases import Basis
from dpfda.bases.grids import frozen
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds.stated import bound_from_json
from dpfda.covariance.components_release import center_words, known_units, second_order
from dpfda.covariance.design import check_choice, fitted_shrinkage
from dpfda.covariance.distance import CovarianceDistance, cut_for
from dpfda.covariance.surface import CovarianceSurface
from dpfda.noise import law_from_json
from dpfda.noise.symmetric import MatrixLaw, SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping
from dpfda.numerics.encoding import number as as_number
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import known
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.asked_bands import checked
from dpfda.releases.bands import (
    DRAWS,
    Asked,
    Band,
    Of,
    check_level,
    largest_size,
    limits_of,
    settled,
    simulated_widths,
)
from dpfda.releases.base import LEVEL, Column
from dpfda.releases.counts import Divisor, NoisyCount
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.moments import nearest_positive
from dpfda.releases.promise import AddedNoise, charged, noise_on_count, noise_on_moments
from dpfda.releases.staged import Selection

FLOOR_DRAWS = 2000
# A variance that is off by such a part of the largest is said to be; and that few units may hold more
# than the band has, where bounds leave room for so many times its largest variance.
FAR_OFF, ROOM = 0.5, 60
# Points along each axis over which the band of a table is simultaneous, besides those of the table.
BAND_LINE = 33
MOST_EMPHASIS, MOST_RESTORED = 4.0, 2.0


@dataclass(frozen=True, eq=False)
class ReleasedCovariance(CovarianceSurface):
    """A covariance function C(s, t) published under differential privacy.

    C(s, t) is the average of (x(s) - m(s)) (x(t) - m(t)) over the privacy units, m being the public
    `center`, for deviations clipped to a public ball, plus noise: symmetric and positive semidefinite.

    Parameters
    ----------
    basis : Basis
        M orthonormal public functions.
    noisy_sum : tuple of int
        The mechanism's output: lower triangle of the exact integer sum of outer products plus rounded
        noise, row by row.
    exponent : int
        The integers are in units of 2^-exponent.
    divisor : float or NoisyCount
        What the sum is divided by.
    center : array (m,)
        Public curve that was subtracted from every record, on the grid; linear between.
    noise : SymmetricNoise
        Law of the noise in `noisy_sum`, in grid units.
    certificate : Certificate
        Of the whole release, a private center and a released count included.
    about : mapping
        Labels, date, versions.
    mean : ReleasedFunction or None
        The released mean that is the center, where a share of the budget paid for it.
    shrunk : bool
        Whether the noisy coordinates are shrunk towards zero under the kernel's prior.
    emphasis : float, optional
        Where given, coefficient j was multiplied by j^emphasis before it was shortened and summed.
    restored : float, optional
        Where given, the estimate is multiplied by it, for what shortening takes from all variances.
    distance : CovarianceDistance, optional
        The largest distance from the covariance of these units, with noise of its own.
    """

    basis: Basis = field(metadata=file.BASIS.kept)
    noisy_sum: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    exponent: int = field(metadata=file.EXPONENT.kept)
    divisor: Divisor = field(metadata=file.DIVISOR.kept)
    center: Floats = field(metadata=file.FLOATS.kept)
    noise: SymmetricNoise = field(metadata=file.itself(partial(law_from_json, kind=MatrixLaw)).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    mean: ReleasedFunction | None = field(
        default=None, metadata=file.part(ReleasedFunction).or_null.kept
    )
    shrunk: bool = field(default=True, metadata=file.entry(lambda shrunk: shrunk is True).kept)

    emphasis: float | None = field(default=None, metadata=file.NUMBER.or_absent.kept)
    restored: float | None = field(default=None, metadata=file.NUMBER.or_absent.kept)
    # What files of earlier versions call their distance is another number: it is left aside.
    distance: CovarianceDistance | None = field(
        default=None,
        metadata=file.itself(CovarianceDistance.from_json).named("largest_distance").or_absent.kept,
    )

    _FORMAT: ClassVar[str] = "dpfda-covariance"
    _CALLED: ClassVar[str] = "released covariance"
    _unseen: ClassVar[str] = (
        "What clipping and few functions left out is mostly as large as the noise, and not seen."
    )

    @property
    def count(self) -> float:
        """What the sum was divided by."""
        return self.divisor.value if isinstance(self.divisor, NoisyCount) else self.divisor

    @cached_property
    def tensor(self) -> SymmetricTensorBasis:
        """The symmetric tensor basis."""
        return SymmetricTensorBasis(self.basis)

    @cached_property
    def _unit_sizes(self) -> Floats:
        """What an integer amounts to in each entry of the matrix (M, M)."""
        weights = emphasised(self.emphasis, self.noise.size)
        return frozen(math.ldexp(1.0, -self.exponent) / self.count / np.outer(weights, weights))

    @cached_property
    def noisy_coordinates(self) -> Floats:
        """Orthonormal coordinates (N,) as the mechanism gave them: unbiased for the clipped records."""
        raw = np.array([math.ldexp(float(value), -self.exponent) for value in self.noisy_sum])
        weights = emphasised(self.emphasis, self.noise.size)
        own = np.outer(weights, weights)[self.tensor.places]
        return frozen(raw / self.count / own * self.tensor.roots)

    @property
    def noise_power(self) -> Floats:
        """Variances (N,) of the noise in the orthonormal coordinates."""
        return frozen(self.noise.variances() * self.tensor.coordinates(self._unit_sizes) ** 2)

    @cached_property
    def shrinkage(self) -> Floats:
        """Factors (N,) on the coordinates, chosen from the noisy coordinates: post-processing."""
        noisy, power = self.noisy_coordinates, self.noise_power
        if not self.shrunk:
            return frozen(np.ones(noisy.size))
        return frozen(fitted_shrinkage(noisy, power, self.basis.eigenvalues, self.noise.size))

    @cached_property
    def matrix(self) -> Floats:
        """Coefficients (M, M) of the estimate: shrunk, made positive semidefinite, then restored."""
        shrunk = self.tensor.matrix(self.shrinkage * self.noisy_coordinates)
        return frozen((self.restored or 1.0) * nearest_positive(shrunk))

    def noise_floor(self, level: float = 0.95) -> float:
        """What the largest eigenvalue of the noise after shrinkage stays below with this probability.

        An eigenvalue of the estimate below it may be noise alone. Simulated with a fixed key.
        """
        draws = self._noise_matrices(FLOOR_DRAWS)
        shrunk = self.tensor.matrix(self.tensor.coordinates(draws) * self.shrinkage)
        return (self.restored or 1.0) * largest_size(shrunk, check_level(level))

    def eigenvalue_intervals(self, level: float = 0.95) -> Floats:
        """Intervals (M, 2) that hold all eigenvalues of the covariance of the clipped records at once.

        Largest first, in the M functions without noise. No eigenvalue of a symmetric matrix moves
        further than the largest, in size, of what is added (Weyl), whose law is public. As many
        intervals as do not reach zero, so many components stand above the noise. A released count is
        taken as exact. Nothing on clipping, sampling and other functions.
        """
        reach = largest_size(self._noise_matrices(FLOOR_DRAWS), check_level(level))
        noisy = np.linalg.eigvalsh(self.tensor.matrix(self.noisy_coordinates))[::-1]
        return np.maximum(np.column_stack([noisy - reach, noisy + reach]), 0.0)

    def standing_out(self, level: float = 0.95) -> int:
        """How many components stand above the noise, by `eigenvalue_intervals`; it may be none."""
        return int(np.sum(self.eigenvalue_intervals(level)[:, 0] > 0))

    def _noise_matrices(self, draws: int) -> Floats:
        generator = np.random.Generator(np.random.Philox(key=0))
        return self.noise.simulate(generator, draws) * self._unit_sizes

    def band(
        self,
        level: float = 0.95,
        simultaneous: bool = True,
        first: ArrayLike | None = None,
        second: ArrayLike | None = None,
        of: Of | None = None,
        exact: bool = False,
    ) -> Band:
        """Band for the covariance of these units, or for that of the clipped records without noise.

        Parameters
        ----------
        level : float
            Probability of the band, between 0 and 1.
        simultaneous : bool
            For all pairs at once, or for each pair by itself.
        first, second : array (q,), optional
            The pairs (s, t). By default the diagonal of the grid: a band for the variance function.
        of : {"sample", "noise"}, optional
            The covariance of these units, on the grid, the default where its distance was told; or that
            of the clipped records, in the M functions, without noise.
        exact : bool
            Whether it is drawn around the unbiased noisy values, and the estimate may lie outside; else
            it is widened where the estimate leaves it, and no variance in it is below zero.

        Returns
        -------
        Band
            Its points are (q, 2), or (q,) on the diagonal.

        Notes
        -----
        That of the noise says nothing on clipping and sampling. Refused where the count is noisy.
        """
        if self._bandless:
            words = "be given for a band"
            remedy = "The error of the ratio depends on exact values."
            raise ParameterError("public_size", words, "a count that was released with noise", remedy)
        asked = checked(self, level, simultaneous, of, exact)
        level, axis = asked.level, self.grid_points if first is None else first
        at_s, at_t = self._pairs(axis, axis if second is None else second)
        points = at_s if np.array_equal(at_s, at_t) else np.column_stack([at_s, at_t])
        if asked.of == "sample":
            return self._told(at_s, at_t, points, asked)
        functions = self.tensor.evaluate(at_s, at_t)
        values = functions @ self.noisy_coordinates
        noise = self.tensor.coordinates(self._noise_matrices(DRAWS))
        width = simulated_widths(functions, noise, self.noise_power, level, simultaneous)
        band = Band(points, values - width, values + width, float(level), simultaneous)
        if exact:
            return band
        least = np.where(at_s == at_t, 0.0, -np.inf)
        return settled(band, np.asarray(self(at_s, at_t)), (least, np.full(least.size, np.inf)))

    @property
    def _half(self) -> Floats:
        """Half of what lies between the bounds on values (m,)."""
        size = self.grid_points.size
        lower, upper = known(limits_of(mapping(self.certificate.bound["records"]), size))
        return np.subtract(upper, lower) / 2 * np.ones(size)

    def _told(self, at_s: Floats, at_t: Floats, points: Floats, asked: Asked) -> Band:
        """By the largest distance, and by what its cut may have left out.

        A covariance is half of the variance of (x(s) + x(t)) / sqrt(2) less that of the difference.
        """
        distance, diagonal = known(self.distance), at_s == at_t

        def ends(variances: Floats, far: Floats, pairs: bool) -> tuple[Floats, Floats]:
            """Of variances of values that are so far from the middle of their bounds at most."""
            variances = np.maximum(variances, 0.0)
            below, above = distance.interval(variances, asked.level, pairs)
            return np.minimum(below, variances), np.maximum(np.minimum(above, far**2), variances)

        values = np.asarray(self(at_s, at_t))
        far = [np.interp(at, self.grid_points, self._half) for at in (at_s, at_t)]
        own = [np.asarray(self.variance(at)) for at in (at_s, at_t)]
        (first, above_s), (_, above_t) = (ends(own[k], far[k], False) for k in (0, 1))
        mean, wide = (own[0] + own[1]) / 2, (far[0] + far[1]) * math.sqrt(0.5)
        sums, differences = (ends(mean + side, wide, True) for side in (values, -values))
        most = np.sqrt(above_s * above_t)
        below = np.where(diagonal, first, np.maximum((sums[0] - differences[1]) / 2, -most))
        above = np.where(diagonal, above_s, np.minimum((sums[1] - differences[0]) / 2, most))
        return settled(Band(points, below, above, asked.level, asked.simultaneous), values)

    # Its file.

    @classmethod
    def _charged(cls, written: Mapping[str, object], held: file.Held) -> Certificate:
        # How the radius was chosen stands among the mechanism's numbers.
        choice = tuple(_choice(mapping(written.get("mechanism", {}))))
        return charged(written, {**held, "choice": choice})

    def _added_noise(self) -> list[AddedNoise]:
        moments = noise_on_moments(
            self.noise, self.certificate.bound["radius"], self.exponent, self.neighbours
        )
        # A mean that was divided by the count has it among its own stages.
        counted = self.mean is not None and "count" in self.mean.certificate.stages
        counts = [] if counted else noise_on_count(self.divisor)
        choice = [selection.added(self.neighbours) for selection in _choice(self.certificate.mechanism)]
        return [*counts, *([self.distance.added()] if self.distance else []), *choice, moments]

    def _checked(self) -> None:
        grid = self.grid_points.size
        if isinstance(self.divisor, NoisyCount) and self.divisor.before is not None:
            raise ValueError("the count must have noise of its own")
        if len(self.noisy_sum) != self.noise.components:
            raise ValueError("the integers do not fit the noise")
        if self.basis.eigenvalues.size != self.noise.size or not self.count > 0:
            raise ValueError("the functions must fit the noise and the divisor be positive")
        if self.center.shape != self.grid_points.shape:
            raise ValueError("the center must fit the grid")
        choices = _choice(self.certificate.mechanism)
        if not 0 <= (self.emphasis or 0.0) <= MOST_EMPHASIS:
            raise ValueError("the emphasis is none")
        within = 1 <= (self.restored or 1.0) <= MOST_RESTORED
        if not within or (self.restored is not None and not choices):
            raise ValueError("shortening does not take so much")
        for choice in choices:
            radius = as_number(self.certificate.bound["radius"])
            check_choice(choice, radius, self.restored, max(1, round(self.count)))
        if self.distance is not None:
            records = mapping(self.certificate.bound["records"] or {})
            pairs = self.about.get("center") == "pairs"
            counted = self.distance.units // (2 if pairs else 1) == self.count
            if not counted or limits_of(records, grid) is None:
                raise ValueError("the largest distance is of these units between bounds")
            implied = bound_from_json(records).radius_on(self.grid_points, self.basis.weights)
            implied *= math.sqrt(2) if pairs else 2
            chosen = bool(choices) and math.isclose(choices[0].radii[0], implied)
            if not chosen or self.restored is None:
                raise ValueError("the radius was chosen within other bounds, or restores nothing")
            start, end = self.domain_range
            cut = cut_for(self.on_grid(), as_number(self.certificate.bound["radius"]), end - start)
            # Matrices differ in their last digits between machines.
            if not np.isclose(self.distance.cut, cut, rtol=1e-6, atol=0):
                raise ValueError("values were cut elsewhere than the covariance says")

    # Tables, pictures and words.

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        columns = super()._columns(at, asked)
        band = {} if self._bandless else self._band_columns(at, asked, columns["covariance"][0])
        return {"covariance": columns.pop("covariance"), **band, **columns}

    def _band_points(self) -> Floats:
        # The function is symmetric: half of the pairs.
        line = np.linspace(*self.domain_range, BAND_LINE)
        first, second = np.triu_indices(BAND_LINE)
        return np.column_stack([line[first], line[second]])

    def _band_at(self, at: Floats, asked: Asked) -> Band:
        pairs, back = np.unique(np.sort(at, axis=1), axis=0, return_inverse=True)
        first, second = pairs.T
        band = self.band(asked.level, asked.simultaneous, first, second, asked.of, asked.exact)
        return replace(band, points=at, lower=band.lower[back.ravel()], upper=band.upper[back.ravel()])

    @property
    def _bandless(self) -> str:
        if isinstance(self.divisor, NoisyCount):
            return "the count was released with noise, and the error of a ratio depends on exact values"
        return ""

    @property
    def _subject(self) -> str:
        moment = "second moment function around the middle of the bound"
        return moment if self.is_moment else "covariance function"

    @property
    def is_moment(self) -> bool:
        """Whether deviations were counted from no mean, but from the middle of the bound."""
        return self.about.get("center") == "of the bound"

    @property
    def public_units(self) -> int | None:
        private = self.neighbours is Neighbours.ADD_REMOVE or isinstance(self.divisor, NoisyCount)
        # Of pairs, half of the units are counted, and files of earlier versions do not tell them all.
        unknown = private or self.about.get("center") == "pairs"
        return known_units(self) or (None if unknown else round(self.count))

    @property
    def _value_label(self) -> str:
        what = "second moment" if self.is_moment else "covariance"
        return f"{what} of {super()._value_label}, squared units"

    def _claims(self) -> tuple[Claim, ...]:
        units = f"squared {self.about.get('value', 'units of the data')}"
        noise = Claim("noise", "the noisy covariance without its noise", units)
        if self.distance is None:
            return (noise,)
        own = f"the variance of these {several(self.unit)} at every point"
        return Claim("sample", own, units, own, among="releases"), noise

    def _band_facts(self) -> Iterable[BandFact]:
        # Without a distance intervals for its variances say more than a band over pairs.
        if self.distance is None:
            return ()
        band, values = self.band(LEVEL), np.asarray(self.variance(self.grid_points))
        far, half = band.reach(values), float(np.mean(band.upper - band.lower)) / 2
        typical = float(np.mean(far))
        return (BandFact(self._claims()[0], LEVEL, typical, float(far.max()), typical, half),)

    def _stated(self) -> Stated:
        what, larger, exact = "A covariance function of pairs of points", "", ""
        if self.is_moment:
            what = "Second moments of pairs of points"
            larger = (
                " They are around the middle of the bound, and larger than the covariance by the "
                "product of the mean's distances from there. A release with --center private is about "
                "the mean."
            )
        if not self._bandless:
            low, high = map(number, self.eigenvalue_intervals()[0])
            exact = f"between {low} and {high}, with a probability of 95%"
        stated = second_order(self, what, self.components(), exact)
        noise = self.noise.describe()
        remarks = [*self._unfollowed(), *stated.remarks]
        return replace(stated, what=f"{stated.what}{larger}", noise=noise, remarks=remarks)

    def _unfollowed(self) -> list[str]:
        """Where the line does not follow the variance of these units, or the band may not."""
        if self.distance is None:
            return []
        remarks, least = list[str](), self.distance.unseen(LEVEL)[0] * self.distance.cut**2
        if least >= FAR_OFF * float(np.max(self.variance(self.grid_points))):
            remarks.append(
                f"Somewhere the variance of these curves is at least {number(least)} off the released "
                "one: the functions do not follow it."
            )
        times = float(np.max(self._half)) ** 2 / float(np.max(self.band(LEVEL).upper))
        if times >= ROOM:
            remarks.append(
                f"The bounds leave room for {number(times)} times the variance that the band allows. "
                "If a few curves lie far out and most do not, the band may miss it. Closer bounds help."
            )
        return remarks

    def _lines(self) -> dict[str, str]:
        return {
            "center": center_words(self),
            "kernel": self.basis.describe(),
            "mechanism": f"{self.certificate.mechanism['name']}: {self.noise.describe()}",
        }


def emphasised(emphasis: float | None, count: int) -> Floats:
    """What the leading coefficients (count,) are multiplied with."""
    return np.arange(1.0, count + 1) ** (emphasis or 0.0)


def _choice(mechanism: Mapping[str, object]) -> list[Selection]:
    """How the radius was chosen, where it was."""
    choice = mechanism.get("choice")
    return [] if choice is None else [Selection.from_json(choice)]
