"""The plan of a covariance or of components: laws of the noise, costs, what to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.grids import frozen
from dpfda.bases.ordinary import Outlook, ordinary_modes
from dpfda.bases.protocol import volume
from dpfda.bounds import IntegerBall
from dpfda.covariance.design import (
    EMPHASIS,
    best_symmetric,
    check_signal,
    checked_laws,
    chosen_radius,
    radius_grid,
)
from dpfda.covariance.distance import MOVED, cut_for, distance_noise, simulated_distance
from dpfda.covariance.release import ReleasedCovariance, emphasised
from dpfda.covariance.strategies import COUNT, MEAN, MOMENTS, VARIANCES, Shares, SubspaceShares
from dpfda.mechanisms import COUNT_SCALE
from dpfda.noise import KNormNoise, achieved_guarantee, cost_of, knorm_noise
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, quietest_symmetric
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.speed import remembered
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost, LaplaceLoss
from dpfda.privacy.guarantees import Guarantee, Neighbours, pure_part
from dpfda.privacy.words import number
from dpfda.publication import MeanPlan, PlanAgain, check, recomputed, said_by
from dpfda.publication.distances import DISTANCE
from dpfda.publication.moments import RadiusChoice
from dpfda.publication.planners import ORDINARY, PairTrial, Trial, TriedPlan
from dpfda.records.second_moments import outer_ball
from dpfda.releases.staged import RADIUS, Selection

# Deviation of the logarithm of a curve's size.
SIZES = 0.5
# Deviation of curves, in distances between bounds on values.
DEVIATION = 0.06
# Number of invented persons; each stands for several units, or for a part of one.
PERSONS = 500
# Below this number of records times epsilon lengths are counted in half as many bins.
COARSE = 750
# Fourth powers of longer deviations, and of the inverse of shorter ones, are no floats.
LARGEST_RADIUS = 1e70


@dataclass(frozen=True, eq=False, repr=False)
class CovariancePlan(TriedPlan, PlanAgain):
    """Plan of a covariance, or of components by either strategy.

    Parameters
    ----------
    basis : Basis
        Orthonormal functions.
    radius : float
        Largest L2 length of a deviation from the center; longer ones are shortened. Where the budget has
        a share for its choice, the largest candidate.
    shares : Shares
    neighbours : Neighbours
    law : str
        Of the noise on the covariance, or "auto".
    components : int or None
        Number of basis functions, where it is chosen.
    size : int or None
        Number of units or public divisor; None where it is released.
    unit : str
    bounded, about : mapping
    shrunk : bool
    center : array (m,), optional
        Public; None where a mean is released first, or nothing is subtracted from pairs.
    mean : MeanPlan, optional
        Of the mean that is released first.
    subspace : SubspaceShares, optional
        Where components are drawn by the exponential mechanism.
    sought : str
        What is published.
    restored : float, optional
        As in `ReleasedCovariance`, with a radius that has been chosen.
    expected_size : int, optional
        Number of units to expect, where it is private.
    """

    basis: Basis
    radius: float
    shares: Shares
    neighbours: Neighbours
    law: str
    components: int | None
    size: int | None
    unit: str
    bounded: Mapping[str, object]
    about: Mapping[str, object]
    shrunk: bool
    center: Floats | None = None
    mean: MeanPlan | None = None
    subspace: SubspaceShares | None = None
    sought: str = "covariance"
    restored: float | None = None
    # Small differences of noise choose other lengths: of few trials errors would jump.
    TRIALS: ClassVar[int] = 32
    QUICK: ClassVar[int] = 32
    BANDS: ClassVar[int] = 32
    # On half of the sets of real curves.
    apart: ClassVar[float] = 0.5

    guarantee = said_by("shares.guarantee")

    @property
    def functions(self) -> str:
        return self.basis.describe()

    @property
    def tuning(self) -> dict[str, object]:
        return {"name": self.law if self.subspace is None else "exponential"}

    def costs(self) -> dict[str, Cost]:
        if self.subspace is not None:
            trial, _ = variance_noise(self.subspace, self.ball.radius**2, self.neighbours)
            last = Cost.awaited(self.subspace.variances, [trial.loss(self.subspace.variances)])
            return {**self._before, **self.subspace.costs(), VARIANCES: last}
        noise = self.noise(self.size or 1)
        if self.awaits_count:
            # Which law and how many functions are best awaits the count.
            losses = [law.loss(self.shares.rest) for law in self.laws]
            return {**self._before, MOMENTS: Cost.awaited(self.shares.rest, losses)}
        return {**self._before, MOMENTS: self.cost(noise)}

    @property
    def awaits_count(self) -> bool:
        """Whether the law of the noise will follow from a released number of units."""
        return self.size is None and self.law != "gaussian"

    def cost(self, noise: SymmetricNoise) -> Cost:
        """What one of the laws costs."""
        return cost_of(noise, self.laws[noise], self.shares.rest)

    @property
    def _before(self) -> dict[str, Cost]:
        """What is paid before the second moments. The law of the mean may await the count."""
        shares, costs = self.shares, {}
        if shares.count is not None:
            costs[COUNT] = Cost(shares.count, LaplaceLoss(shares.count.epsilon))
        if self.mean is not None and shares.mean is not None:
            (own,) = self.mean.costs().values()
            costs[MEAN] = Cost.awaited(shares.mean, [own.loss]) if self.size is None else own
        if shares.distance is not None:
            costs[DISTANCE] = Cost(shares.distance, LaplaceLoss(shares.distance.epsilon))
        if shares.radius is not None:
            costs[RADIUS] = Cost(shares.radius, LaplaceLoss(shares.radius.epsilon))
        return costs

    def entry(self) -> dict[str, object]:
        drawn = {} if self.subspace is None else self.subspace.describe()
        return super().entry() | {"budget": {**self.shares.describe(), **drawn}}

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
        size, radius, rest = self.basis.eigenvalues.size, self.ball.radius, self.shares.rest
        return checked_laws(size, radius, rest, self.neighbours, self.law, self.components)

    def difference(self, law: SymmetricNoise) -> OuterDifference:
        """How far one unit moves the sum that a law is added to."""
        return OuterDifference.of(law.size, self.ball.radius, self.neighbours)

    @cached_property
    def choice(self) -> RadiusChoice | None:
        """How the radius is chosen, where that is paid for."""
        part = self.shares.radius
        if part is None:
            return None
        strength = None if self.size is None else self.size * pure_part(self.shares.guarantee).epsilon
        step = 2 if strength is not None and strength < COARSE else 1
        return RadiusChoice(self.radius, part, self.neighbours, step=step)

    @property
    def emphasis(self) -> float | None:
        """As in `ReleasedCovariance`: where the radius is chosen, nobody has stated what it means."""
        return None if self.choice is None or self.subspace is not None else EMPHASIS

    def weights(self, components: int) -> Floats:
        """What coefficients are multiplied with before they are shortened."""
        return emphasised(self.emphasis, components)

    def chosen(self, selection: Selection, size: int) -> CovariancePlan:
        """The plan with the radius, from noisy counts, for a public or released number of units.

        Directions of the exponential mechanism keep their number of functions.
        """
        assert self.choice is not None  # noqa: S101
        strength, restorable = size * float(pure_part(self.shares.rest).epsilon), self.subspace is None
        lengths = self.choice.typical(selection, size)
        radius, restored = chosen_radius(self.radius, *lengths, strength, restorable)
        if not restorable:
            return replace(self, radius=radius)
        noise = self.noise(size)
        return replace(
            self, radius=radius, law=noise.mechanism, components=noise.size, restored=restored
        )

    @cached_property
    def count_noise(self) -> KNormNoise | None:
        """Laplace law of the released number of units; under add/remove neighbours it moves by one."""
        part = self.shares.count
        if part is None:
            return None
        noise = knorm_noise((1,), (1.0,), "l1", COUNT_SCALE, part)
        recomputed(noise, "l1", COUNT_SCALE, part)
        return noise

    @cached_property
    def distance_noise(self) -> KNormNoise | None:
        """The law of the noise on the largest distance from the covariance of the units, if told."""
        part = self.shares.distance
        return None if part is None else distance_noise(part)

    @property
    def distance_achieved(self) -> list[Guarantee]:
        """What that noise gives, by the scale in force; nothing where there is none."""
        noise, part = self.distance_noise, self.shares.distance
        return [] if noise is None or part is None else [recomputed(noise, "l1", MOVED, part)]

    def cut(self, release: ReleasedCovariance) -> float:
        """Where values are cut for that distance, from what was released."""
        return cut_for(release.on_grid(), self.radius, volume(self.basis))

    def check(self) -> None:
        """Calibrate and recompute whatever may be drawn from, so that nothing is refused later."""
        if not 1 / LARGEST_RADIUS <= self.radius <= LARGEST_RADIUS:
            words = f"let deviations be from {1 / LARGEST_RADIUS:g} to {LARGEST_RADIUS:g} long"
            raise ParameterError("bounds (or radius)", words, "others", "Change the units of the data.")
        self.count_noise  # noqa: B018
        self.distance_achieved  # noqa: B018
        self.noise(self.size or 1)
        if self.choice is not None:
            self.choice.noise  # noqa: B018
            for radius in radius_grid(self.radius):
                replace(self, radius=float(radius)).laws  # noqa: B018
        if self.mean is not None:
            check(self.mean)
        if self.subspace is not None:
            variance_noise(self.subspace, self.ball.radius**2, self.neighbours)
            check_signal(self.size or 1, pure_part(self.shares.guarantee).epsilon)

    def noise(self, size: int) -> SymmetricNoise:
        """The law for a public or released number of units; its size is the number of functions."""
        if size not in self._noises:
            best = best_symmetric(self.laws, self.basis.eigenvalues, self.ball.radius, size)
            self._noises[size] = best
        return self._noises[size]

    @cached_property
    def _noises(self) -> dict[int, SymmetricNoise]:
        return {}

    # What to expect.

    @property
    def summary(self) -> str:
        return self.sought

    @property
    def n(self) -> int | None:
        if self.size is None:
            return self.expected_size
        # Pairs are of two units.
        return self.size * 2 if self.about["center"] == "pairs" else self.size

    @property
    def error_words(self) -> str:
        if self.subspace is not None:
            return (
                "none can be stated for directions drawn by the exponential mechanism, which depends on"
                " how far the leading variances lie apart"
            )
        finest = volume(self.basis) / self.noise(self.size or self.expected_size or 1).size
        return (
            "root mean square at a pair of points, in squared units of the data, from the covariance of "
            f"these {several(self.unit)}, {ORDINARY} curves that deviate by {number(self._deviation)} "
            "from their mean; of others in proportion to their variance, and three times that or more "
            f"where they differ mostly by peaks or steps narrower than {number(finest)}"
        )

    def trials(self, count: int) -> list[Trial]:
        """Releases of ordinary curves around their mean, with deviations shortened as in a release."""
        size, basis = self.size or self.expected_size, self.basis
        if self.subspace is not None or size is None:
            return []
        start, end = basis.domain_range
        grid, pairs = basis.grid_points, self.about["center"] == "pairs"
        certificate, trials = self.certified(), list[Trial]()
        curves, covariances = ordinary_persons((grid - start) / (end - start), count)
        half, scale = PERSONS // 2, self._deviation
        for key, (persons, covariance) in enumerate(zip(curves, covariances, strict=True)):
            # Each from its own key: how many numbers one takes does not change the others.
            generator = np.random.Generator(np.random.Philox(key=[2, key]))
            apart = (persons[:half] - persons[half:]) / math.sqrt(2) if pairs else persons
            truth = scale**2 * covariance
            release = self._released(scale * apart @ basis.analysis, size, generator, certificate, truth)
            trials.append(PairTrial(release, grid, truth))
        return trials

    @property
    def _deviation(self) -> float:
        """Assumed deviation of curves: a part of the distance between bounds, or half a radius."""
        usual, records = self.radius / math.sqrt(volume(self.basis)) / 2, self.bounded.get("records")
        if isinstance(records, Mapping) and records["kind"] == "values":
            wide = float(np.mean(np.subtract(records["upper"], records["lower"])))
            usual = min(usual, wide * DEVIATION)
        return usual

    def _released(
        self,
        rows: Floats,
        size: int,
        generator: np.random.Generator,
        certificate: Certificate,
        truth: Floats,
    ) -> ReleasedCovariance:
        """A release of deviations with these coefficients (n, K), each for several of `size`.

        truth: array (m, m). Their covariance on the grid.
        """
        law, plan = self.noise(size), self
        rows = rows[:, : law.size] * self.weights(law.size)
        lengths = np.sqrt(np.sum(rows**2, axis=1))
        if self.choice is not None:
            plan = self.chosen(self.choice.simulated(lengths, size, generator), size)
            law = plan.noise(size)
        rows = rows * np.minimum(1.0, plan.radius / np.maximum(lengths, 1e-300))[:, None]
        matrix = np.ldexp(size * (rows.T @ rows) / len(rows), 2 * plan.ball.exponent)
        noisy = np.rint(matrix + law.simulate(generator, 1)[0])[np.tril_indices(law.size)]
        release = ReleasedCovariance(
            basis=self.basis.truncate(law.size),
            noisy_sum=tuple(int(value) for value in noisy),
            exponent=2 * plan.ball.exponent,
            divisor=float(size),
            center=np.zeros(self.basis.grid_points.size),
            noise=law,
            certificate=certificate,
            shrunk=self.shrunk,
            emphasis=self.emphasis,
            restored=plan.restored,
        )
        noise, units = self.distance_noise, self.n
        if noise is None or units is None:
            return release
        cut = plan.cut(release)
        distance = simulated_distance(truth, release.on_grid(), units, cut, noise, generator)
        return replace(release, distance=distance)

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        """For the variance function; None where the count is private."""
        return None if self.size is None else super().outlook_width(level, quick)

    @property
    def scale(self) -> tuple[float, str] | None:
        largest = float(self.radius**2) / volume(self.basis)
        return largest, "the largest mean variance that the bound allows"

    @property
    def noise_words(self) -> str:
        if self.subspace is not None:
            parts = "; ".join(f"{of}: {part}" for of, part in self.subspace.describe().items())
            return f"exponential on {self.subspace.components} functions; {parts}"
        return f"{self.law}: {self.noise(self.size or self.expected_size or 1).describe()}"


@remembered(4)
def ordinary_persons(times: Floats, count: int) -> tuple[Floats, Floats]:
    """Deviations (count, PERSONS, N) of made-up persons from their mean, and covariances (count, N, N).

    The same persons whatever their number is to be: plans of nearby numbers differ by the noise alone.
    """
    generator = np.random.Generator(np.random.Philox(key=2))
    modes = ordinary_modes(times, count)
    curves = generator.standard_normal((count, PERSONS, modes.shape[1])) @ modes
    # Some are larger than others: by a third, mostly.
    curves *= np.exp(SIZES * generator.standard_normal((count, PERSONS, 1)) - SIZES**2)
    curves -= curves.mean(axis=1, keepdims=True)
    return frozen(curves), frozen(curves.transpose(0, 2, 1) @ curves / PERSONS)


def variance_noise(
    shares: SubspaceShares, radius_square: int, neighbours: Neighbours
) -> tuple[SymmetricNoise, Guarantee]:
    """Noise on the covariance within the subspace, and what it gives: the law of least power.

    The radius depends, in its last digits, on the directions drawn. The scale is made from it by exact
    arithmetic, so that what holds for one radius holds for all.
    """
    count = len(shares.directions)
    difference = OuterDifference.of_square(count, radius_square, neighbours)
    noise = quietest_symmetric(count, difference, shares.variances)
    return noise, achieved_guarantee(noise, "l2", difference, shares.variances)
