"""From deviations to a released covariance or components: add up their products, draw, add, wrap.

The caller has charged the ledger for the whole release before anything here draws noise. What can be
refused is refused before that, by `CovariancePlan.check`; after it every step is
defined for whatever was drawn. A covariance around a public center is one exact sum, wherever its units
are (`PooledCovariance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from dpfda.bounds.stated import bound_from_json
from dpfda.covariance.components_release import CHOSEN, ReleasedComponents, deviation_bound, ordered
from dpfda.covariance.deviations import Paired
from dpfda.covariance.distance import measured_distance
from dpfda.covariance.plan import CovariancePlan, variance_noise
from dpfda.covariance.release import FLOOR_DRAWS, ReleasedCovariance
from dpfda.covariance.strategies import MOMENTS
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import KNormNoise
from dpfda.noise.subspaces import DIRECTION_BITS, draw_direction
from dpfda.noise.symmetric import SymmetricNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Cells, Floats, Integers
from dpfda.numerics.embedding import Rows, product, quantised, row_lengths
from dpfda.numerics.encoding import mapping
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.numerics.parameters import known
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP, added
from dpfda.privacy.ledger.named import read_ledger
from dpfda.publication import charge, recomputed, said_by, stamp
from dpfda.publication.shares import PRIVATE, SharedLaw, Sharing, counted
from dpfda.records import Curves, units
from dpfda.records.second_moments import OuterSum
from dpfda.releases.bands import largest_size, limits_of
from dpfda.releases.base import Release
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.moments import filled, nearest_positive
from dpfda.releases.staged import Selection
from dpfda.spine.arguments import Beside, Records
from dpfda.spine.curves import read_curves, unit_curves
from dpfda.spine.pooled import PooledSum, Size
from dpfda.spine.settings import Settings
from dpfda.spine.sums import LARGE

# Rows that are embedded at a time: a public number, below the limit of the exact sum.
BLOCK = 1024


def released_count(count: IntegerSum, noise: KNormNoise) -> NoisyCount:
    """The number of units plus noise of `CovariancePlan.count_noise`. The ledger has been charged."""
    return NoisyCount(count.count_with_noise(noise.draw()[0], COUNT_SCALE), COUNT_SCALE, noise)


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """What is public once the count, the center and the length of deviations are.

    Parameters
    ----------
    plan : CovariancePlan
        With the radius that was chosen, where one was.
    divisor : float or NoisyCount
        Public or released.
    center : array (m,)
        Public or released, on the grid.
    mean : ReleasedFunction, optional
        The release whose values are the center, or that goes with pairs.
    selection : Selection, optional
        How the radius was chosen, where that was paid for.
    """

    plan: CovariancePlan
    divisor: float | NoisyCount
    center: Floats
    mean: ReleasedFunction | None
    selection: Selection | None = None

    @property
    def count(self) -> float:
        """What sums are divided by."""
        return self.divisor.value if isinstance(self.divisor, NoisyCount) else self.divisor

    @property
    def size(self) -> int:
        """Number of units that designs are made for."""
        return max(1, round(self.count)) if isinstance(self.divisor, NoisyCount) else int(self.count)

    @property
    def components(self) -> int:
        """How many coefficients of a record are multiplied out."""
        subspace = self.plan.subspace
        return self.plan.noise(self.size).size if subspace is None else subspace.components

    def before(self, guarantee: Guarantee) -> list[Guarantee]:
        """What was achieved for count, mean and choice of the radius, where they were released."""
        achieved = [] if self.mean is None else self.mean.certificate.achieved_within(guarantee)
        achieved += self.plan.distance_achieved
        achieved += [] if self.selection is None else [self.selection.achieved]
        part = self.plan.shares.count
        # A mean that was divided by the count has it among its own stages.
        if isinstance(self.divisor, NoisyCount) and part is not None and self.mean is None:
            achieved.append(recomputed(self.divisor.noise, "l1", self.divisor.scale, part))
        return achieved

    def fulfilled(
        self,
        certificate: Certificate,
        achieved: list[Guarantee],
        tuning: Mapping[str, object],
        drawn: Mapping[str, Cost] | None = None,
    ) -> Certificate:
        """The certificate with what all stages gave, the split of the budget, and the chosen radius."""
        plan, bound = self.plan, None
        design: dict[str, object] = {"budget": plan.shares.describe()}
        if self.selection is not None:
            design |= {"radius": plan.radius, "choice": self.selection.to_json()}
            records = certificate.bound["records"]
            stated = None if records is None else bound_from_json(mapping(records))
            bound = deviation_bound(CHOSEN, plan.radius, stated)
        return certificate.fulfilled(
            added([*self.before(certificate.guarantee), *achieved]),
            {**tuning, **design, **tuning},
            bound,
            drawn,
        )


def release_covariance(
    total: IntegerSum, stage: Stage, certificate: Certificate, shared: SymmetricNoise | None = None
) -> ReleasedCovariance:
    """Add noise to a sum of outer products and wrap it. The ledger has been charged.

    Parameters
    ----------
    total : IntegerSum
        Private: the lower triangle, row by row, of the sum of outer products of the leading coefficients
        of the deviations from the center; at least as many as the design asks for.
    stage : Stage
    certificate : Certificate
        Of the whole release, as it was charged.
    shared : SymmetricNoise, optional
        The law of the noise that is in the sum; none is drawn then.
    """
    plan = stage.plan
    noise = plan.noise(stage.size) if shared is None else shared
    achieved = certificate.achieved if shared else plan.laws[noise]
    tuning = {"name": noise.law, "components": noise.size}
    drawn = {MOMENTS: plan.cost(noise)} if plan.awaits_count else None
    return ReleasedCovariance(
        basis=plan.basis.truncate(noise.size),
        exponent=2 * plan.ball.exponent,
        divisor=stage.divisor,
        center=stage.center,
        noise=noise,
        certificate=stage.fulfilled(certificate, [achieved], tuning, drawn),
        about=dict(plan.about) | stamp(),
        mean=stage.mean,
        shrunk=plan.shrunk,
        emphasis=plan.emphasis,
        restored=plan.restored,
        noisy_sum=total.with_noise([0] * noise.components if shared else noise.draw()),
    )


def with_distance(
    release: ReleasedCovariance, curves: Curves, plan: CovariancePlan
) -> ReleasedCovariance:
    """The release with its largest distance from the covariance of the units, where that is paid for.

    The ledger has been charged.

    Parameters
    ----------
    release : ReleasedCovariance
    curves : Curves
        Private: the units, or pairs of them.
    plan : CovariancePlan
        With the radius in force.
    """
    law = plan.distance_noise
    if law is None:
        return release
    units = curves.units if isinstance(curves, Paired) else curves
    grid = release.grid_points
    lower, upper = known(limits_of(mapping(plan.bounded["records"]), grid.size))
    middle, half = lower / 2 + upper / 2, (upper / 2 - lower / 2) * np.ones(grid.size)
    with np.errstate(all="ignore"):
        values = np.clip(units.values, lower, upper) - middle
    distance = measured_distance(
        values, units.usable, half, release.on_grid(), plan.cut(release), law, law.draw()[0]
    )
    return replace(release, distance=distance)


def direction_rate(part: PureDP, radius_square: int, neighbours: Neighbours) -> Fraction:
    """Rate of the Bingham law for a budget: epsilon / (2 R^2), or epsilon / R^2 under add/remove."""
    factor = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    return part.epsilon / (factor * radius_square)


def release_subspace(total: OuterSum, stage: Stage, certificate: Certificate) -> ReleasedComponents:
    """Draw directions by the exponential mechanism, then release the covariance within their span.

    Parameters as in `release_covariance`. The ledger has been charged.

    Raises
    ------
    ParameterError
        If the size times epsilon is beyond what the sampler is tuned for.
    """
    plan, ball, shares = stage.plan, stage.plan.ball, stage.plan.subspace
    assert shares is not None  # noqa: S101
    moments = total.leading(shares.components)
    directions = np.zeros((shares.components, 0))
    for part in shares.directions:
        # What is orthogonal to the directions so far.
        frame = integer_frame(np.linalg.svd(directions)[0][:, directions.shape[1] :])
        rate = direction_rate(part, frame_bound(frame) * ball.radius**2, plan.neighbours)
        drawn = moments.compressed(frame).through(partial(draw_direction, rate=rate))
        vector = np.array(frame, dtype=float).T @ np.array(drawn, dtype=float)
        directions = np.linalg.qr(np.column_stack([directions, vector]))[0]
    frame = integer_frame(directions)
    noise, last = variance_noise(shares, frame_bound(frame) * ball.radius**2, plan.neighbours)
    noisy = moments.compressed(frame).with_noise(noise.draw())
    scale = 2.0 ** (-2 * ball.exponent) / stage.count / 4.0**DIRECTION_BITS
    variances, turned = np.linalg.eigh(nearest_positive(filled(noisy, len(frame)) * scale))
    simulated = noise.simulate(np.random.Generator(np.random.Philox(key=0)), FLOOR_DRAWS)
    tuning = {
        "name": "exponential",
        "components": shares.components,
        "variances": noise.describe(),
        "budget": {**plan.shares.describe(), **shares.describe()},
    }
    basis = plan.basis.truncate(shares.components)
    return ReleasedComponents(
        basis,
        *ordered(directions @ turned, variances, basis),
        total=None,
        floor=largest_size(simulated, 0.95) * scale,
        center=stage.center,
        certificate=stage.fulfilled(certificate, [*shares.directions, last], tuning),
        about=dict(plan.about) | stamp(),
        mean=stage.mean,
    )


def integer_frame(columns: Floats) -> list[list[int]]:
    """Orthonormal columns (M, k) times 2^30 as k lists of M integers."""
    return [[round(float(x) * 2**DIRECTION_BITS) for x in column] for column in columns.T]


def frame_bound(frame: list[list[int]]) -> int:
    """Largest |V'c|^2 / |c|^2 for the integer columns V, at most: the largest row sum of V'V in size."""
    return max(sum(abs(sum(a * b for a, b in zip(v, w, strict=True))) for w in frame) for v in frame)


def outer_sum(
    curves: Curves, stage: Stage, components: int, rows: Iterable[Rows] | None = None
) -> OuterSum:
    """Subtract the center, embed, clip, round, multiply out and add up.

    Unusable rows count as the center itself: they add nothing. `rows` are coefficients that were
    embedded before.
    """
    total = OuterSum(components)
    with np.errstate(all="ignore"):
        for some in _deviations(curves, stage, components) if rows is None else rows:
            total.add(stage.plan.ball.clip(some))
    return total


def measured(curves: Curves, stage: Stage) -> tuple[Floats, list[Rows]]:
    """Lengths (n,) of the deviations that are shortened, and what is summed of them. Private."""
    size, lengths, blocks = stage.components, [], []
    everything = size if stage.plan.subspace is None else stage.plan.basis.eigenvalues.size
    for rows in _deviations(curves, stage, everything):
        lengths.append(row_lengths(rows))
        blocks.append(Rows(np.ascontiguousarray(rows.mantissas[:, :size]), rows.exponents))
    return np.concatenate(lengths), blocks


def _deviations(curves: Curves, stage: Stage, components: int) -> Iterator[Rows]:
    """Coefficients of the deviations from the center, a block at a time."""
    plan = stage.plan
    # Pairs are differences already.
    center = 0.0 if plan.about["center"] == "pairs" else stage.center
    # A difference of the largest doubles may overflow; it is clipped to the ball anyway.
    largest = np.finfo(np.float64).max / 4
    center, lower, upper = (np.clip(curve, -largest, largest) for curve in (center, *_bounds(plan)))
    # The whole matrix is rounded, so that no coefficient depends on how many there are.
    analysis = plan.basis.analysis
    public, exponent, bits = quantised(analysis * plan.weights(analysis.shape[1]))
    public, unit = public[:, :components], exponent - bits
    if curves.values.size >= LARGE and curves.usable.all():
        from dpfda.numerics import numba_coefficients as loops

        zero = np.zeros(public.shape[0])
        lower, upper, center = lower + zero, upper + zero, center + zero
        integers, shifts = np.empty((BLOCK, public.shape[0])), np.empty(BLOCK, dtype=np.int64)
        for start in range(0, curves.usable.size, BLOCK):
            block = curves.values[start : start + BLOCK]
            loops.on_own_grids(block, lower, upper, center, bits, integers, shifts)
            yield Rows(integers[: len(block)] @ public, unit - shifts[: len(block)])
        return
    with np.errstate(all="ignore"):
        for start in range(0, curves.usable.size, BLOCK):
            rows = slice(start, start + BLOCK)
            centered = np.clip(curves.values[rows], lower, upper)
            centered -= center
            if not curves.usable[rows].all():
                centered[~curves.usable[rows]] = 0.0
            yield product(centered, public, exponent, bits)


def _bounds(plan: CovariancePlan) -> tuple[Floats, Floats]:
    """What values are clipped to: the bounds on a record, where these are on values."""
    written = plan.bounded["records"]
    if plan.about["center"] == "pairs" or not isinstance(written, dict) or written["kind"] != "values":
        return np.array(-np.inf), np.array(np.inf)
    return np.array(written["lower"]), np.array(written["upper"])


# A public center that deviations are bounded around.
CENTER = InPython("center=Center(curve, radius=length)")


@dataclass(frozen=True, eq=False)
class PooledCovariance(PooledSum):
    """A covariance around a public center as a sum: of the products of a unit's coefficients.

    Parameters
    ----------
    settings : Settings
    plan : CovariancePlan
        On the columns of all holders, for any number of units.
    seen : callable
        Makes what is published of the released covariance: post-processing.
    """

    settings: Settings
    plan: CovariancePlan
    seen: Callable[[ReleasedCovariance], Release]

    @classmethod
    def of(
        cls,
        settings: Settings,
        plan: CovariancePlan,
        seen: Callable[[ReleasedCovariance], Release] = lambda release: release,
    ) -> PooledCovariance:
        """With a check that what is summed follows from public numbers.

        Raises
        ------
        ParameterError
            If the center is released first, units are paired, or the radius is chosen from counts.
        """
        words = "be public where the records lie in several places"
        if plan.subspace is not None:
            words = "be a law of noise where the records lie in several places"
            raise ParameterError("mechanism", words, "'exponential'")
        if plan.center is None or plan.about["center"] == "pairs":
            remedy = "Pass $center, or 'bound' for the middle of the bounds."
            raise ParameterError("center", words, repr(plan.about["center"]), remedy, center=CENTER)
        if plan.choice is not None:
            raise ParameterError("radius", words, "'private'", "Pass $center.", center=CENTER)
        return cls(settings, plan, seen)

    stated_basis = said_by("plan.basis")

    @cached_property
    def functions(self) -> int:
        """The largest number of functions of any law that may be drawn from, for any number of units."""
        return max(law.size for law in self.plan.laws)

    @property
    def numbers(self) -> int:  # type: ignore[override]
        return self.functions * (self.functions + 1) // 2

    @property
    def largest(self) -> int:  # type: ignore[override]
        return int(self.plan.ball.radius) ** 2

    @cached_property
    def rule(self) -> dict[str, object]:  # type: ignore[override]
        plan = self.plan
        center = np.asarray(plan.center, dtype="<f8").tobytes().hex()
        parts = [self.functions, repr(plan.ball), center, plan.bounded.get("records")]
        return {"reading": self.settings.reading.rules, "integers": [*parts, plan.basis.to_json()]}

    def read(self, X: Records, y: Beside = None) -> tuple[Cells, ...]:
        basis = self.plan.basis
        curves = unit_curves(self.settings, basis, read_curves(self.settings, basis, X)[0], None)[0]
        return curves.values, curves.usable

    def add_up(self, rows: tuple[Cells, ...], codes: Integers | None) -> IntegerSum:
        curves = units(Curves(*rows), codes)
        return outer_sum(curves, self._stage(1.0, self.plan), self.functions).triangle()

    def publish(self, total: IntegerSum, ledger: object = None) -> Any:
        plan = self.plan
        if plan.neighbours is Neighbours.REPLACE_ONE:
            plan = plan.remade(plan.guarantee, total.count_with_noise(0, 1))
        certificate = plan.certified()
        charge(read_ledger(ledger), certificate, plan.entry())
        noise = plan.count_noise
        divisor = float(plan.size or 1) if noise is None else released_count(total, noise)
        return self.seen(release_covariance(total, self._stage(divisor, plan), certificate))

    @property
    def sharing(self) -> Sharing:
        plan = self.plan
        if plan.size is None:
            raise ParameterError("noise", *PRIVATE)
        noise = plan.noise(plan.size)
        return Sharing(plan, noise, "l2", plan.difference(noise), plan.shares.rest)

    def publish_shared(self, total: IntegerSum, law: SharedLaw, size: Size, ledger: object) -> Release:
        _, certificate = self.sharing.opened(total, law, read_ledger(ledger))
        plan = replace(self.plan, about=counted(self.plan.about, size))
        stage = self._stage(float(size or plan.size or 1), plan)
        noise = cast("SymmetricNoise", law)
        return self.seen(release_covariance(total, stage, certificate, noise))

    def _stage(self, divisor: float | NoisyCount, plan: CovariancePlan) -> Stage:
        return Stage(plan, divisor, np.asarray(plan.center), None)
