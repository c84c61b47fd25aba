"""The plan of a regression on curves: functions, bounds, the design of its moments, expected errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.corners import Covariate
from dpfda.bases.ordinary import MODES, ordinary_modes, spread_evenly
from dpfda.bases.tensor import SymmetricTensorBasis
from dpfda.bounds import ValueBounds
from dpfda.numerics.arrays import Floats
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee, PureDP
from dpfda.publication import Trial, TriedPlan, planner, stamp
from dpfda.publication.moments import MomentsDesign, shared
from dpfda.publication.trials import ORDINARY
from dpfda.releases.moments import Moments
from dpfda.scalar.release import ReleasedScalarOnFunction, bound_words, describe
from dpfda.spine.settings import Settings
from dpfda.spine.vectors import VectorPlan, divisor_for

SUMMARY = "regression of a number on curves"
# Of pure and of normal noise: functions that curves are reduced to, and steps of second moments; chosen
# on half of the sets of real curves. Decay, as in `Moments`.
PURE, NORMAL, DECAY = (8, 2), (10, 3), 0.0
# Of trials: deviations of curves in distances between the bounds; of the target, in such distances; what
# curves explain of it; units at most, of whom the noise is then as of all.
DEVIATIONS, SPREAD, EXPLAINED, MOST = (0.01, 0.25), 0.15, 0.5, 4000
# How coefficient functions fall with frequency in trials.
FALL = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class ScalarPlan(TriedPlan, VectorPlan[ReleasedScalarOnFunction]):
    """Plan of a regression of a number on curves: nothing is measured after moments.

    Parameters
    ----------
    target : (float, float)
    covariates : tuple of Covariate
    """

    target: tuple[float, float]
    covariates: tuple[Covariate, ...]

    TRIALS: ClassVar[int] = 16
    BANDS: ClassVar[int] = 8
    error_words = (
        "root mean square at a point of the coefficient function, from that of the population, "
        f"{ORDINARY} curves that explain {100 * EXPLAINED:g} per cent of a number whose deviation "
        f"is {SPREAD:g} of the distance between its bounds"
    )

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        lower, upper = self.limits
        ends = float(lower.min()), float(upper.max())
        return {"description": bound_words(*ends, self.target, describe(self.covariates))}

    @property
    def tuning(self) -> Mapping[str, object]:
        return {**super().tuning, "functions": self.basis.eigenvalues.size}

    def drawn(self, vectors: Floats, certificate: Certificate) -> ReleasedScalarOnFunction:
        return self._made(self.design.published(vectors, self.size), certificate)

    def _made(self, moments: Moments, certificate: Certificate) -> ReleasedScalarOnFunction:
        return ReleasedScalarOnFunction(
            moments, self.basis, np.stack(self.limits), self.target, self.covariates, certificate,
            {**self.about, **stamp()},
        )  # fmt: skip

    # What to expect.

    def trials(self, count: int) -> list[Trial]:
        """Of ordinary curves and smooth coefficient functions, published with simulated noise."""
        (start, end), grid = self.basis.domain_range, self.basis.grid_points
        times, certificate, found = (grid - start) / (end - start), self.certified(), list[Trial]()
        generator = np.random.Generator(np.random.Philox(key=42))
        lower, upper = self.limits
        wide, persons = float(np.mean(upper - lower)), min(self.size, MOST)
        waves = np.arange(MODES // 10)
        cosines = np.cos(np.pi * np.multiply.outer(waves, times)) * (1.0 + waves[:, None]) ** -FALL

        def drawn(law: object) -> list[int]:
            # Fewer units than there are, with noise that is to theirs as it is to all.
            noise = np.asarray(law.simulate(generator, 1)[0]) * (persons / self.size)  # type: ignore[attr-defined]
            return _integers(noise[np.tril_indices(len(noise))] if noise.ndim == 2 else noise)

        low, high = DEVIATIONS
        sizes = wide * low * (high / low) ** spread_evenly(count, 3)[:, 2]
        for modes in sizes[:, None, None] * ordinary_modes(times, count):
            curves = generator.standard_normal((persons, len(modes))) @ modes
            line = generator.standard_normal(waves.size) @ cosines
            told = curves @ (self.basis.weights * line)
            line *= SPREAD * (self.target[1] - self.target[0]) * EXPLAINED**0.5 / told.std()
            rows, told = curves @ self.basis.analysis, curves @ (self.basis.weights * line)
            noise = (1 / EXPLAINED - 1) ** 0.5 * told.std()
            number = told + noise * generator.standard_normal(persons)
            beside = generator.uniform(-1, 1, (persons, len(self.covariates)))
            scaled = np.clip(number / (self.target[1] - self.target[0]) * 2, -1, 1)
            vectors = np.column_stack([rows, beside, scaled])
            moments = self.design.published(vectors, persons, drawn)
            found.append(Trial(self._made(moments, certificate), grid, line))
        return found

    @property
    def scale(self) -> tuple[float, str] | None:
        start, end = self.basis.domain_range
        lower, upper = self.limits
        wide = float(np.mean(upper - lower)) * (end - start)
        return (self.target[1] - self.target[0]) / wide, "the ratio of the distances between the bounds"


def _integers(noise: Floats) -> list[int]:
    return [int(value) for value in np.rint(noise)]


@planner
def scalar_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    basis: Basis,
    bound: ValueBounds,
    target: tuple[float, float],
    covariates: tuple[Covariate, ...],
    unit: str,
    planned: bool = False,
) -> ScalarPlan:
    """The plan, checked: whatever can be refused is refused here.

    Parameters
    ----------
    guarantee, basis, bound, target, covariates, unit
        As in `ScalarPlan`.
    count : int
        Number of units; used where it is public.
    settings : Settings
    planned : bool
        Whether the number of units is planned, and in the place of a public size.

    Raises
    ------
    ParameterError
        If the basis is not orthonormal, or the number of units is private and none was stated.
    """
    size = divisor_for(settings, count, planned)
    functions, steps = PURE if isinstance(guarantee, PureDP) else NORMAL
    used = basis.truncate(min(functions, basis.eigenvalues.size))
    SymmetricTensorBasis(used)
    grid, beside = used.grid_points, len(covariates)
    bounds = bound.radius_on(grid, used.weights), *([beside**0.5] if beside else []), 1.0
    blocks = used.eigenvalues.size, *([beside] if beside else []), 1
    names = "curves", *(["covariates"] if beside else []), "target"
    design = MomentsDesign(
        blocks, bounds, names, shared(guarantee), settings.unit.relation, steps, decay=DECAY
    )
    about = {"summary": SUMMARY, **settings.said()}
    plan = ScalarPlan(
        design, {}, guarantee, used, bound, size, unit, about, target=target, covariates=covariates
    )
    plan.whole_achieved()
    return plan
