"""Seeded floating-point noise for studies and tests; nothing made here is private."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.grids import product_points
from dpfda.bases.priors import CurvePrior, ImagePrior
from dpfda.bases.protocol import BoxFunctions, flat_grid, on_box
from dpfda.density.plan import DensityPlan
from dpfda.density.release import ReleasedDensity
from dpfda.estimates import CurveModel, ImageModel, Posterior
from dpfda.mean.estimator import PrivateMean
from dpfda.mean.search import SearchPlan
from dpfda.mean.two_looks import LooksPlan, looked
from dpfda.mechanisms import COUNT_SCALE, Design
from dpfda.noise import NoiseLaw
from dpfda.numerics import parameters
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import seeded, shown
from dpfda.publication import MeanPlan, Prepared
from dpfda.records.frames import Container
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction
from dpfda.spine.arguments import Labels, Records
from dpfda.spine.sums import Readable


class NotPrivate(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """An array whose first words are that it is not private."""

    not_private = True

    def __repr__(self) -> str:
        return f"NOT PRIVATE (simulated noise) {np.asarray(self)!r}"


def simulate_releases(
    estimator: PrivateMean, X: Records, draws: int, seed: int, groups: Labels = None
) -> NotPrivate:
    """Many simulated releases of one mean, with floating-point noise from a seed.

    The noise laws and scales are those that `fit` would use. For studies of accuracy on public or
    synthetic data only: whoever knows the seed can subtract the noise.

    Parameters
    ----------
    estimator : PrivateMean
        With its parameters set; it is not fitted and its ledger is not charged.
    X, groups
        As in `PrivateMean.fit`.
    draws : int
        Number of releases.
    seed : int
        Seed of the generator.

    Returns
    -------
    NotPrivate, array (draws, m)
        Simulated released curves on the grid.
    """
    generator, draws = seeded(seed, "seed"), parameters.draws(draws)
    prepared = _checked(estimator)._to_publish(Container.of(X, groups))
    curves: Floats
    if isinstance(prepared.plan, LooksPlan):
        releases = [simulated_looks(prepared, generator) for _ in range(draws)]
        curves = np.array([release(release.grid_points) for release in releases])
        return curves.view(NotPrivate)
    basis = prepared.plan.basis
    functions = _functions(basis)
    coefficients = simulated_coefficients(prepared, generator, draws)
    center = prepared.plan.bound.center_on(flat_grid(basis))
    curves = center + coefficients @ functions[:, : coefficients.shape[1]].T
    line = prepared.plan.curves if prepared.plan.answers_with_line else None
    if (prior := line or prepared.plan.images) is not None:
        curves = np.clip(curves, prior.lower, prior.upper)
    return curves.view(NotPrivate)


def simulated_coefficients(
    prepared: Prepared[MeanPlan, IntegerSum], generator: np.random.Generator, draws: int
) -> Floats:
    """Simulated released coefficients (draws, M); (draws, K) where the design awaits the count."""
    plan, total = prepared.plan, prepared.total
    if plan.size is not None:
        design = plan.design(plan.size)
        noise = design.noise.simulate(generator, draws)
        step = math.ldexp(1.0, -design.exponent(plan.problem(plan.size)))
        means = (_thresholded(plan.measure(total, design), design) + noise) * step / plan.size
        return released_coefficients(design, means, step / plan.size, plan.basis)
    rows = np.zeros((draws, plan.basis.eigenvalues.size))
    for row, count in zip(rows, _simulated_counts(prepared, generator, draws), strict=True):
        design = plan.design(max(1, round(count.value)))
        noise, divisor = design.noise.simulate(generator, 1)[0], count
        if design.counts:
            again = total.count_with_noise(round(noise[-1]), design.counts)
            divisor = NoisyCount(again, design.counts, design.noise, count)
        step = math.ldexp(1.0, -design.exponent(plan.problem(1))) / divisor.value
        means = (_thresholded(plan.measure(total, design), design) + noise[: design.components]) * step
        row[: design.functions] = released_coefficients(design, means[None, :], step, plan.basis)[0]
    return rows


def released_coefficients(design: Design, means: Floats, step: float, basis: Any = None) -> Floats:
    """Coefficients (draws, K) of simulated releases from noisy means (draws, M) of what was measured.

    Parameters
    ----------
    design : Design
    means : array (draws, M)
        In the units of what was measured.
    step : float
        One grid unit of the noise, over the number of units.
    basis : Basis, optional
        Needed for the default line of curves between bounds; its coefficients are not clipped.
    """
    if isinstance(design.hierarchy, CurvePrior):
        model = CurveModel.of(
            design.hierarchy, basis.grid_points, basis.analysis, design.noise, step, design.counts > 0
        )
        analysis = basis.analysis[:, : design.functions]
        return np.array([model.posterior(row).coefficients(analysis) for row in means])
    if isinstance(design.hierarchy, ImagePrior):
        released = basis.truncate(design.functions)
        image = ImageModel.of(design.hierarchy, released, design.noise, step)
        return np.array([image.coefficients(row) for row in means])
    mixture = design.noise.mixture()
    if design.hierarchy is None or mixture is None:
        return design.coefficients(means)
    return Posterior(design.hierarchy, mixture.scaled(step)).means(means)


def exact_totals(total: IntegerSum) -> tuple[int, ...]:
    """The exact totals of a private sum, without noise: what the noise hides. NOT PRIVATE.

    Parameters
    ----------
    total : IntegerSum
        The sum in a `Prepared`. How many units are in it says `total.count_with_noise(0, 1)`.
    """
    return total.with_noise([0] * total.components)


def prepared_looks(
    estimator: PrivateMean, X: Records, groups: Labels = None
) -> Prepared[LooksPlan | SearchPlan, Readable]:
    """Plan and records of a mean in two looks, or of one that looks for bounds. NOT PRIVATE.

    Parameters
    ----------
    estimator : PrivateMean
        It is not fitted and its ledger is not charged.
    X, groups
        As in `PrivateMean.fit`.
    """
    return estimator._prepare_looks(Container.of(X, groups))


def simulated_looks(
    prepared: Prepared[LooksPlan, Readable], generator: np.random.Generator
) -> ReleasedFunction:
    """One simulated release of a mean in two looks, with floating-point noise. NOT PRIVATE."""
    plan, records = prepared.plan, prepared.total
    marked = {**plan.about, "simulated": "NOT PRIVATE (simulated noise)"}
    plan = replace(plan, whole=replace(plan.whole, about=marked))

    def draw(law: NoiseLaw) -> list[int]:
        return [int(z) for z in np.rint(law.simulate(generator, 1)[0])]

    return looked(plan, records, records.on_grid(plan.whole), plan.certified(), draw)


def _thresholded(total: IntegerSum, design: Design) -> Floats:
    totals = np.array(exact_totals(total)[: design.components], dtype=float)
    if not design.thresholds:
        return totals
    levels = np.array(design.thresholds, dtype=float)
    return np.asarray(np.sign(totals) * np.maximum(np.abs(totals) - levels, 0.0))


def _simulated_counts(
    prepared: Prepared[MeanPlan, IntegerSum], generator: np.random.Generator, draws: int
) -> Iterator[NoisyCount]:
    law = prepared.plan.count_noise
    for noise in law.simulate(generator, draws)[:, 0]:
        yield NoisyCount(prepared.total.count_with_noise(round(noise), COUNT_SCALE), COUNT_SCALE, law)


def simulate_density(
    prepared: Prepared[DensityPlan, Any], generator: np.random.Generator, noise: bool = True
) -> ReleasedDensity:
    """One simulated release of a density, with floating-point noise from a generator. NOT PRIVATE.

    Parameters
    ----------
    prepared : Prepared
        What `PrivateDensity.prepare` or `prepare_counts` gave. No ledger is charged.
    generator : numpy Generator
    noise : bool
        Whether to add noise at all: without, the release is what the noise hides.
    """
    plan = prepared.plan
    marked = {**plan.about, "simulated": "NOT PRIVATE (simulated noise)"}
    if plan.zoom is not None:
        # Counts get what they would get without a choice, so that the two can be compared draw by draw.
        choices = generator.spawn(1)[0]

        def draw(law: NoiseLaw) -> list[int]:
            counted = (*plan.noises, *(look.both for look in plan.looks or ()))
            source = generator if law in counted else choices
            return [int(z) for z in np.rint(law.simulate(source, 1)[0]) * noise]

        return replace(plan, about=marked).of_units(prepared.total, plan.certified(), draw)
    exact = exact_totals(prepared.total)
    drawn = np.rint(plan.noise.simulate(generator, 1)[0]) * noise
    noisy = tuple(total + int(z) for total, z in zip(exact, drawn, strict=True))
    return replace(plan, about=marked).assemble(noisy, plan.certified())


def non_private_mean(estimator: PrivateMean, X: Records, groups: Labels = None) -> NotPrivate:
    """Mean of the clipped, rounded records on the grid: what the noise hides. For studies only."""
    prepared = _checked(estimator).prepare(X, groups)
    if (prepared.plan.public_design or prepared.plan.design(1)).measurement is not None:
        # What was measured is not the mean itself: take all coefficients, as other mechanisms do.
        from sklearn.base import clone

        prepared = clone(estimator).set_params(mechanism="laplace", delta=0.0).prepare(X, groups)
    plan, total = prepared.plan, prepared.total
    coefficients = (
        np.array(exact_totals(total), dtype=float) * plan.ball.step / total.count_with_noise(0, 1)
    )
    basis = plan.basis
    functions = _functions(basis)[:, : coefficients.size]
    curve = plan.bound.center_on(flat_grid(basis)) + functions @ coefficients
    return curve.view(NotPrivate)


def _checked(estimator: object) -> PrivateMean:
    if not isinstance(estimator, PrivateMean):
        raise ParameterError("estimator", "be a PrivateMean", shown(estimator))
    return estimator


def _functions(basis: Basis | BoxFunctions) -> Floats:
    """Values (m, K) of a basis on its grid."""
    if on_box(basis):
        return np.asarray(basis.evaluate(product_points(basis.grid_points)))
    return np.asarray(basis.evaluate(basis.grid_points))
