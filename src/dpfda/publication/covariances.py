"""From a private sum of outer products to a released covariance or components: draw, add, wrap.

The caller has charged the ledger for the whole release before anything here draws noise. What can be
refused is refused before that, by `CovarianceRequest.check` and `SubspacePlan`; after it every step is
defined for whatever was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases import Basis
from dpfda.bounds import IntegerBall
from dpfda.errors import DpfdaError, ParameterError
from dpfda.mechanisms.design.covariance import best_symmetric, nearest_positive, symmetric_laws
from dpfda.noise import KNormNoise, cost_of, knorm_noise
from dpfda.noise.subspaces import DIRECTION_BITS, draw_direction
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, achieved_symmetric, symmetric_noise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.rationals import readable
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss, RangeLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added, split, within
from dpfda.publication import COUNT_SCALE, COUNT_SHARE, recomputed, stamp
from dpfda.records.second_moments import OuterSum, outer_ball
from dpfda.releases.components import ReleasedComponents, ordered_components
from dpfda.releases.counts import NoisyCount
from dpfda.releases.covariance import ReleasedCovariance
from dpfda.releases.function import ReleasedFunction

Floats = NDArray[np.float64]

# Beyond this the exponential mechanism's float tuning could not tell the leading eigenvalue apart.
LARGEST_SIGNAL = 10**12
# Stages of a release.
COUNT, MEAN, MOMENTS, VARIANCES = "count", "mean", "second moments", "variances"


@dataclass(frozen=True)
class Shares:
    """How a budget is split; the parts compose to the whole by basic composition.

    Parameters
    ----------
    whole : Guarantee
    count : PureDP or None
        For the number of units, under add/remove without a public size.
    mean : PureDP or None
        For the mean, where it is released as the center.
    rest : Guarantee
        For the second moments.
    """

    whole: Guarantee
    count: PureDP | None
    mean: PureDP | None
    rest: Guarantee

    @classmethod
    def of(cls, whole: Guarantee, counted: bool, mean_share: Fraction | None) -> Shares:
        """Split off a tenth for a count, if one is released, and a share of the rest for a mean."""
        rest: Guarantee = whole
        count = mean = None
        if counted:
            count, rest = split(rest, COUNT_SHARE)
        if mean_share is not None:
            mean, rest = split(rest, mean_share)
        return cls(whole, count, mean, rest)

    @property
    def alone(self) -> bool:
        """Whether all of the budget goes to the second moments."""
        return self.count is None and self.mean is None

    @property
    def before(self) -> dict[str, Cost]:
        """What is paid before the second moments; the mean's law may await the count."""
        count = {} if self.count is None else {COUNT: Cost(self.count, LaplaceLoss(self.count.epsilon))}
        return count if self.mean is None else {**count, MEAN: Cost(self.mean)}

    def describe(self) -> dict[str, str]:
        """The split in words, for the release and the ledger."""
        parts = {COUNT: self.count, MEAN: self.mean, MOMENTS: self.rest}
        return {name: str(part) for name, part in parts.items() if part is not None}


@dataclass(frozen=True, eq=False)
class CovarianceRequest:
    """The public side of a covariance: everything but the data.

    Parameters
    ----------
    basis : Basis
        Orthonormal functions.
    radius : float
        Largest L2 length of a deviation from the center; longer ones are shortened.
    shares : Shares
    neighbours : Neighbours
    mechanism : str
    components : int or None
    size : int or None
        Number of units or public divisor; None where it is released.
    unit : str
    bound, about : mapping
    shrunk : bool
    """

    basis: Basis
    radius: float
    shares: Shares
    neighbours: Neighbours
    mechanism: str
    components: int | None
    size: int | None
    unit: str
    bound: Mapping[str, Any]
    about: Mapping[str, Any]
    shrunk: bool

    @property
    def ball(self) -> IntegerBall:
        """Where integer coefficients of deviations lie."""
        return outer_ball(self.radius)

    @cached_property
    def laws(self) -> Mapping[SymmetricNoise, Guarantee]:
        """Every law that may be drawn from, whatever the number of units, and what it gives.

        Raises
        ------
        DpfdaError
            If one gives more than its part of the budget; then nothing is charged.
        """
        radius, rest = self.ball.radius, self.shares.rest
        laws = symmetric_laws(
            self.basis.eigenvalues.size, radius, rest, self.neighbours, self.mechanism, self.components
        )
        achieved = {}
        for law in laws:
            difference = OuterDifference.of(law.size, radius, self.neighbours)
            achieved[law] = _checked(achieved_symmetric(law, difference, rest), rest)
        return achieved

    @cached_property
    def count_noise(self) -> KNormNoise | None:
        """Laplace law of the released number of units; under add/remove neighbours it moves by one."""
        part = self.shares.count
        if part is None:
            return None
        noise = knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, part)
        recomputed(noise, "l1", COUNT_SCALE, part)
        return noise

    def check(self) -> None:
        """Calibrate and recompute whatever may be drawn from, so that nothing is refused later."""
        self.count_noise  # noqa: B018
        self.noise(self.size or 1)

    def noise(self, size: int) -> SymmetricNoise:
        """The law for a public or released number of units; its size is the number of functions."""
        return best_symmetric(self.laws, self.basis.eigenvalues, self.ball.radius, size)

    def certified(self) -> Certificate:
        """The certificate of a released covariance, before it is charged."""
        moments, noise = self.shares.rest, self.noise(self.size or 1)
        cost = Cost(moments)
        if self.size is not None or self.mechanism == "gaussian":
            # Else which law and how many functions are best awaits the count.
            cost = cost_of(noise, self.laws[noise], moments)
        return self.certified_with({MOMENTS: cost}, {"name": self.mechanism})

    def certified_with(self, costs: Mapping[str, Cost], mechanism: Mapping[str, Any]) -> Certificate:
        """The certificate of a release with these stages after the count and the mean."""
        stages = {**self.shares.before, **costs}
        return Certificate.charged(stages, self.neighbours, self.unit, self.bound, mechanism)

    def entry(self, summary: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Public description for the ledger's history."""
        return {
            "summary": summary,
            "neighbours": str(self.neighbours),
            "privacy_unit": self.unit,
            "bound": self.bound["description"],
            "basis": self.basis.describe(),
            "mechanism": self.mechanism,
            "budget": {**self.shares.describe(), **(more or {})},
        }


def released_count(count: IntegerSum, noise: KNormNoise) -> NoisyCount:
    """The number of units plus noise of `CovarianceRequest.count_noise`. The ledger has been charged."""
    return NoisyCount(count.count_with_noise(noise.draw()[0], COUNT_SCALE), COUNT_SCALE, noise)


def release_covariance(
    total: OuterSum,
    request: CovarianceRequest,
    divisor: float | NoisyCount,
    center: Floats,
    mean: ReleasedFunction | None,
    certificate: Certificate,
) -> ReleasedCovariance:
    """Add noise to a sum of outer products and wrap it. The ledger has been charged.

    Parameters
    ----------
    total : OuterSum
        Private, of the leading coefficients of the deviations from `center`; at least as many as the
        design asks for.
    request : CovarianceRequest
    divisor : float or NoisyCount
        Public or released.
    center : array (m,)
        Public.
    mean : ReleasedFunction or None
        Where the center is one that this release has paid for.
    certificate : Certificate
        What was charged.
    """
    size = round(divisor.value) if isinstance(divisor, NoisyCount) else int(divisor)
    noise, ball = request.noise(max(1, size)), request.ball
    achieved = added([*_achieved_before(request, divisor, mean), request.laws[noise]])
    tuning = {"name": noise.law, "components": noise.size, "budget": request.shares.describe()}
    public: dict[str, Any] = {
        "basis": request.basis.truncate(noise.size),
        "exponent": 2 * ball.exponent,
        "divisor": divisor,
        "center": center,
        "noise": noise,
        "certificate": certificate.fulfilled(achieved, tuning),
        "about": dict(request.about) | stamp(),
        "mean": mean,
        "shrunk": request.shrunk,
    }
    return ReleasedCovariance(noisy_sum=total.leading(noise.size).with_noise(noise.draw()), **public)


def _achieved_before(
    request: CovarianceRequest, divisor: float | NoisyCount, mean: ReleasedFunction | None
) -> list[Guarantee]:
    """What was achieved for the count and the mean, where they were released."""
    found: list[Guarantee] = [] if mean is None else [mean.achieved]
    if isinstance(divisor, NoisyCount) and request.shares.count is not None:
        found.append(recomputed(divisor.noise, "l1", divisor.scale, request.shares.count))
    return found


@dataclass(frozen=True, eq=False)
class SubspacePlan:
    """Budget of the exponential mechanism: a direction at a time, then the variances along them.

    Each direction is drawn from the Bingham law with density proportional to exp(rate v'Sv). Between
    neighbours v'Sv moves by v'Dv, which lies in [-R^2, R^2] under replace-one and in [0, R^2] under
    add/remove, R the verified length of the integer rows; the normalising constant moves by no more.
    So the log density moves by at most 2 rate R^2, or rate R^2 (there both terms have one sign and
    partly cancel), and rate = epsilon / (2 R^2), or epsilon / R^2, is pure epsilon. Rounding the
    direction to a public grid is post-processing of the exact draw. The next direction is drawn in the
    orthogonal complement of those before, which are public by then, with a budget of its own.

    Parameters
    ----------
    components : int
        Number M of functions within which directions are sought.
    directions : tuple of PureDP
        Budget of each direction.
    variances : Guarantee
        Budget of the covariance within the subspace.
    """

    components: int
    directions: tuple[PureDP, ...]
    variances: Guarantee

    @classmethod
    def of(cls, rest: Guarantee, count: int, components: int, share: Fraction) -> SubspacePlan:
        """Give a share of the budget to `count` directions in equal parts, the rest to the variances."""
        parts = []
        for left in range(count, 0, -1):
            # Of the whole share each direction gets one part: share / count of the original epsilon.
            fraction = share / count / (1 - share * Fraction(count - left, count))
            part, rest = split(rest, fraction)
            parts.append(part)
        return cls(components, tuple(parts), rest)

    def costs(self) -> dict[str, Cost]:
        """What each direction and the variances are charged.

        The log density of a direction moves within an interval of length epsilon. The law of the
        variances' noise depends on the directions: it is not known beforehand.
        """
        named = {
            f"direction {i + 1}": Cost(part, RangeLoss(part.epsilon))
            for i, part in enumerate(self.directions)
        }
        return {**named, VARIANCES: Cost(self.variances)}

    def describe(self) -> dict[str, str]:
        """The split in words."""
        return {stage: str(cost.guarantee) for stage, cost in self.costs().items()}


def direction_rate(part: PureDP, radius_square: int, neighbours: Neighbours) -> Fraction:
    """Rate of the Bingham law for a budget: epsilon / (2 R^2), or epsilon / R^2 under add/remove."""
    factor = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    return part.epsilon / (factor * radius_square)


def release_subspace(
    total: OuterSum,
    request: CovarianceRequest,
    plan: SubspacePlan,
    divisor: float | NoisyCount,
    center: Floats,
    mean: ReleasedFunction | None,
    certificate: Certificate,
) -> ReleasedComponents:
    """Draw directions by the exponential mechanism, then release the covariance within their span.

    Parameters as in `release_covariance`. The ledger has been charged.

    Raises
    ------
    ParameterError
        If the size times epsilon is beyond what the sampler is tuned for.
    """
    ball = request.ball
    moments = total.leading(plan.components)
    found = np.zeros((plan.components, 0))
    for part in plan.directions:
        frame = integer_frame(_complement(found))
        square = frame_bound(frame) * ball.radius**2
        rate = direction_rate(part, square, request.neighbours)
        drawn = moments.compressed(frame).through(partial(draw_direction, rate=rate))
        vector = np.array(frame, dtype=float).T @ np.array(drawn, dtype=float)
        found = np.linalg.qr(np.column_stack([found, vector]))[0]
    frame = integer_frame(found)
    radius_square = frame_bound(frame) * ball.radius**2
    noise, last = variance_noise(plan, radius_square, request.neighbours)
    noisy = moments.compressed(frame).with_noise(noise.draw())
    count = divisor.value if isinstance(divisor, NoisyCount) else divisor
    scale = 2.0 ** (-2 * ball.exponent) / count / 4.0**DIRECTION_BITS
    matrix = np.zeros((len(frame), len(frame)))
    matrix[np.tril_indices(len(frame))] = [float(Fraction(value)) * scale for value in noisy]
    inner = nearest_positive(matrix + np.tril(matrix, -1).T)
    variances, turned = np.linalg.eigh(inner)
    source = _Components(
        basis=request.basis.truncate(plan.components),
        center=center,
        certificate=certificate.fulfilled(
            added([*_achieved_before(request, divisor, mean), *plan.directions, last]),
            {
                "name": "exponential",
                "components": plan.components,
                "variances": noise.describe(),
                "budget": {**request.shares.describe(), **plan.describe()},
            },
        ),
        about=dict(request.about) | stamp(),
        mean=mean,
    )
    floor = _floor(noise, scale)
    return ordered_components(found @ turned, variances, None, floor, source)


def variance_noise(
    plan: SubspacePlan, radius_square: int, neighbours: Neighbours
) -> tuple[SymmetricNoise, Guarantee]:
    """Noise on the covariance within the subspace, and what it gives: the law of least power.

    The radius depends, in its last digits, on the directions drawn. The scale is made from it by exact
    arithmetic, so that what holds for one radius holds for all.
    """
    count = len(plan.directions)
    factor = 2 if neighbours is Neighbours.REPLACE_ONE and count > 1 else 1
    difference = OuterDifference(factor * radius_square**2, factor * radius_square)
    names = {"pure": ("wishart", "knorm"), "approximate": ("wishart", "gaussian")}.get(
        plan.variances.kind, ("gaussian",)
    )
    laws = [symmetric_noise(name, count, difference, plan.variances) for name in names]
    noise = min(laws, key=lambda law: law.power)
    return noise, achieved_symmetric(noise, difference, plan.variances)


def integer_frame(columns: Floats) -> list[list[int]]:
    """Orthonormal columns (M, k) times 2^30 as k lists of M integers."""
    return [[round(float(x) * 2**DIRECTION_BITS) for x in column] for column in columns.T]


def frame_bound(frame: list[list[int]]) -> int:
    """Largest |V'c|^2 / |c|^2 for the integer columns V, at most: the largest row sum of V'V in size."""
    return max(sum(abs(sum(a * b for a, b in zip(v, w, strict=True))) for w in frame) for v in frame)


def check_signal(size: int, epsilon: Fraction) -> None:
    """Refuse sizes and budgets beyond what the sampler's tuning in floats can tell apart.

    Raises
    ------
    ParameterError
        If the number of units times epsilon exceeds 10^12.
    """
    if size * epsilon > LARGEST_SIGNAL:
        raise ParameterError(
            "epsilon",
            "be at most 1e12 over the number of units for the exponential mechanism",
            readable(epsilon),
        )


@dataclass(frozen=True)
class _Components:
    basis: Basis
    center: Floats
    certificate: Certificate
    about: Mapping[str, Any]
    mean: ReleasedFunction | None


def _complement(found: Floats) -> Floats:
    """Orthonormal columns that span what is orthogonal to the given orthonormal columns."""
    size, rank = found.shape
    if rank == 0:
        return np.eye(size)
    return np.asarray(np.linalg.svd(found, full_matrices=True)[0][:, rank:])


def _floor(noise: SymmetricNoise, scale: float) -> float:
    generator = np.random.Generator(np.random.Philox(key=0))
    largest = np.abs(np.linalg.eigvalsh(noise.simulate(generator, 2000))).max(axis=1)
    return float(np.quantile(largest, 0.95, method="higher")) * scale


def _checked(achieved: Guarantee, part: Guarantee) -> Guarantee:
    if not within(achieved, part):
        raise DpfdaError(f"The noise gives {achieved}, which is more than {part}.")
    return achieved
