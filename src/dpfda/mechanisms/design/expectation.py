"""The error that a release can expect under what is believed of the mean, split into its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.ordinary import Outlook, ordinary_curves
from dpfda.bases.priors import CurvePrior, Hierarchy, ImagePrior
from dpfda.bases.protocol import volume
from dpfda.estimates import CountNoise, CurveModel, ImageModel, Posterior
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.cells import measured_error
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.speed import remembered

# Means that are simulated, each with two releases.
DRAWS = 720
FEWEST_DRAWS = 200
MANY_BLOCKS = 8
# Images that are simulated, at most.
IMAGES = 60
# Images are drawn with a level anywhere in the middle, and with variances around it from a fifth of what
# the bounds allow to a thousandth.
MIDDLE = (0.2, 0.8)
CURVE_SCALES = 10.0 ** (-2 / 3 * np.arange(1, 5))
# Ordinary curves that a line is expected for, and those of which the whole estimate is made; and by how
# much a local component, a constant and the law of a box change a squared error on the usual cells: in
# the geometric mean over 48 curves and 30 settings (20 to 200 points, 30 to 100,000 units times epsilon,
# pure, approximate, add-remove). In 30 others the logarithm differed from it by .037, as a root mean
# square, and by .039 from what twelve simulated estimates said.
CURVES, WHOLE, GAINED = 48, 12, 0.955


@dataclass(frozen=True)
class ExpectedError:
    """Expected squared L2 distance over the domain, in squared units of the data times the domain's.

    bias: Of shrinkage, truncation and the basis, under what is believed of the mean.
    noise: Of the privacy noise: how far two releases of the same data are apart, halved.
    sampling: Upper bound for the distance between the sample mean and the population's.
    most: For the line of curves between bounds, what nine of ten releases keep to, where the others are
        geometric means; else the total.
    """

    bias: float
    noise: float
    sampling: float
    most: float

    @property
    def total(self) -> float:
        """Expected squared distance of the release to the sample mean: bias + noise."""
        return self.bias + self.noise


class LineError(NamedTuple):
    """Of a line, in squared units of the data: bias and noise, as geometric means; and for most."""

    bias: float
    noise: float
    most: float


@remembered(64)
def expected_error(
    problem: Problem, design: Design, basis: Basis, draws: int = DRAWS, rough: CountNoise | None = None
) -> ExpectedError:
    """Expected error of a design, in the units of the data.

    With linear shrinkage it is exact. With the posterior mean it is an average over simulated means and
    releases, from a fixed key: the same numbers give the same answer. For the line of curves between
    bounds the means are ordinary curves between them, whatever `problem.belief` is.

    problem: Public numbers, with what is believed of the mean.
    draws: Means that are simulated where shrinkage is not linear.
    rough: Noise of the count before, for a design that a private number of units is a part of.
    """
    scale = problem.radius**2
    norms = basis.square_norms[: design.functions]
    most = None
    if isinstance(design.hierarchy, CurvePrior):
        bias, noise, most = _of_lines(problem, design, design.hierarchy, basis, draws, rough)
    elif isinstance(design.hierarchy, ImagePrior):
        bias, noise = _of_images(_image_model(problem, design, basis), design, problem, draws)
    elif design.hierarchy is not None:
        bias, noise = _simulated(problem, design, draws)
    else:
        bias, noise = (part * scale for part in _error_parts(problem, design, norms))
    # A function whose values are below the radius has a square that integrates to at most the length.
    largest = scale * volume(basis) if problem.ball.norm == "linf" else scale
    beside = basis.residual * scale
    most = bias + noise if most is None else most
    return ExpectedError(bias + beside, noise, largest / problem.size, most + beside)


def made_up_sums(
    problem: Problem, design: Design, basis: Basis, draws: int, counted: bool = False
) -> Floats:
    """Sums (draws, M), in grid units, of means that are made up as they are believed to be. No data.

    Where what is measured says nothing of such means, they are zero.
    """
    unit = design.step(problem)
    generator = np.random.Generator(np.random.Philox(key=1))
    if isinstance(design.hierarchy, CurvePrior):
        prior, grid = design.hierarchy, basis.grid_points
        model = CurveModel.of(prior, grid, basis.analysis, design.noise, unit, counted)
        return np.asarray((ordinary_curves(model.grid, draws) - 0.5) @ model.forms.T / unit)
    if isinstance(design.hierarchy, ImagePrior):
        image = _image_model(problem, design, basis)
        return np.array([image.sums(mean[1]) for mean in _images(image, generator, draws)]) / unit
    forms = None if design.hierarchy is None else design.hierarchy.forms
    # Shapes and sizes come in turn: every fifth, for some of each.
    draws *= 5
    if design.measurement is not None and forms is None:
        return np.zeros((draws // 5, design.components))
    drawn = problem.belief.draw(generator, draws)[0][:, : design.functions]
    coefficients = drawn * problem.radius
    return np.asarray((coefficients if forms is None else coefficients @ forms.T) / unit)[::5]


def _error_parts(
    problem: Problem, design: Design, square_norms: Floats | float = 1.0
) -> tuple[float, float]:
    """Bias and noise in units of the squared radius, for linear shrinkage."""
    if design.measurement is not None:
        return measured_error(problem, design, square_norms)
    average = problem.belief.chances @ problem.belief.variances
    measured, lost = average[: design.components], float(average[design.components :].sum())
    power = problem.noise_power(design.noise.variances())
    bias = float(np.sum((1 - design.shrinkage) ** 2 * measured)) + lost
    if design.thresholds:
        # Thresholding moves a coefficient by the threshold or by itself, whichever is smaller.
        levels = np.array(design.thresholds, dtype=float) / (problem.ball.radius * problem.size)
        bias += float(np.sum(np.minimum(levels**2, measured)))
    return bias, float(np.sum(design.shrinkage**2 * power * square_norms))


def _simulated(problem: Problem, design: Design, draws: int) -> tuple[float, float]:
    """Bias and noise of a posterior mean, in squared units of the data.

    A linear estimate of the same releases, whose expected error is known exactly, takes out most of the
    chance in the simulated errors. Of two releases of the same mean, half of the squared distance
    estimates the noise.
    """
    hierarchy, mixture = design.hierarchy, design.noise.mixture()
    if not isinstance(hierarchy, Hierarchy) or mixture is None:
        raise ParameterError("design", "have a posterior mean", design.mechanism)
    # Many blocks take long, and have errors of many independent parts.
    draws = min(draws, max(FEWEST_DRAWS, draws * MANY_BLOCKS // len(mixture.blocks)))
    generator = np.random.Generator(np.random.Philox(key=0))
    square = problem.radius**2
    drawn, rows = problem.belief.draw(generator, draws)
    means = drawn[:, : design.functions] * np.sqrt(square)
    variances = problem.belief.variances[:, : design.functions] * square
    step = design.step(problem)
    power = design.noise.variances() * step**2
    posterior = Posterior(hierarchy, mixture.scaled(step))
    forms = hierarchy.forms
    exact = means if forms is None else means @ forms.T
    errors, gains, expected = [], [], np.zeros(draws)
    for _ in range(2):
        noisy = exact + design.noise.simulate(generator, draws) * step
        errors.append(posterior.means(noisy) - means)
        linear, expected = _wiener(noisy, variances, power, forms, rows)
        gains.append(np.sum(errors[-1] ** 2, axis=1) - np.sum((linear - means) ** 2, axis=1))
    total = float(np.mean(gains)) + float(np.mean(expected))
    noise = float(np.mean(np.sum((errors[0] - errors[1]) ** 2, axis=1))) / 2
    share = noise / float(np.mean(np.sum(errors[0] ** 2 + errors[1] ** 2, axis=1)) / 2)
    beyond = problem.belief.chances @ problem.belief.variances[:, design.functions :].sum(axis=1)
    share = min(share, 1.0)
    return total * (1 - share) + float(beyond) * square, total * share


def _of_lines(
    problem: Problem,
    design: Design,
    prior: CurvePrior,
    basis: Basis,
    draws: int,
    rough: CountNoise | None,
) -> LineError:
    """Errors of the line of a mean between bounds over ordinary curves, several releases of each.

    Most releases are of the estimate before the local component, a constant and the law of a box. Where
    cells are fine for a stated detail, and near public curves, these change an error by more or less
    than usual: how much is found with a few releases of the whole estimate.
    """
    step = design.step(problem)
    counted = design.counts > 0
    model = CurveModel.of(prior, basis.grid_points, basis.analysis, design.noise, step, counted)
    generator = np.random.Generator(np.random.Philox(key=0))
    means, again = ordinary_curves(model.grid, CURVES), max(2, draws // CURVES)
    exact, released = (means - 0.5) @ model.forms.T, []
    shares = basis.weights * prior.width**2
    for _ in range(again):
        drawn = design.noise.simulate(generator, CURVES)
        noisy = exact + drawn[:, : design.components] * step
        if counted:
            count = CountNoise(design.noise, design.counts, rough)
            wrong = count.errors(generator, CURVES, drawn[:, design.components :]) / problem.size
            noisy /= np.maximum(1 + wrong, 1 / problem.size)[:, None]
        released.append(noisy)
    # All at once: a call for each release would take longer than its numbers do.
    lines = np.clip(model.first_means(np.concatenate(released)), 0.0, 1.0)
    errors = lines.reshape(again, *means.shape) - means
    squares, apart = errors**2 @ shares, (errors - np.roll(errors, 1, axis=0)) ** 2 @ shares / 2
    factor, stated = GAINED, problem.curves
    if stated is None or stated.cells is not None or prior.centers.size:
        full = np.array([model.on_grid(model.posterior(row).line) for row in released[0][:WHOLE]])
        ratios = ((full - means[:WHOLE]) ** 2 @ shares) / (errors[0, :WHOLE] ** 2 @ shares)
        factor = Outlook.of(ratios).typical
    typical, most = (value * factor for value in Outlook.of(squares.ravel()))
    noise = typical * min(1.0, float(np.mean(apart) / np.mean(squares)))
    return LineError(typical - noise, noise, most)


def _image_model(problem: Problem, design: Design, basis: Any) -> ImageModel:
    assert isinstance(design.hierarchy, ImagePrior)  # noqa: S101
    step = design.step(problem)
    return ImageModel.of(design.hierarchy, basis.truncate(design.functions), design.noise, step)


def _images(
    model: ImageModel, generator: np.random.Generator, draws: int
) -> Iterator[tuple[Floats, Floats]]:
    """Smooth images about a level between the bounds: coefficients and what cells see, in shares."""
    for place, level in enumerate(generator.uniform(*MIDDLE, draws) - 0.5):
        normals = generator.standard_normal(model.frequencies)
        scale = CURVE_SCALES[place % CURVE_SCALES.size]
        yield model.made_up(place, scale, level, normals)


def _of_images(model: ImageModel, design: Design, problem: Problem, draws: int) -> tuple[float, float]:
    """Bias and noise of the mean of images between bounds, in squared units of the data."""
    generator = np.random.Generator(np.random.Philox(key=0))
    step = design.step(problem)
    root = model.prior.width * math.sqrt(model.basis.volume)
    total, noise = [], []
    for mean, coarse in _images(model, generator, min(draws, IMAGES)):
        sums = model.sums(coarse)
        drawn = design.noise.simulate(generator, 2) * step
        first, second = (model.coefficients(sums + errors) / root - mean for errors in drawn)
        total.append((np.sum(first**2) + np.sum(second**2)) / 2)
        noise.append(np.sum((first - second) ** 2) / 2)
    both, part = (float(np.mean(errors)) * root**2 for errors in (total, noise))
    return max(both - part, 0.0), min(part, both)


def _wiener(
    noisy: Floats, variances: Floats, power: Floats, forms: Floats | None, rows: Integers
) -> tuple[Floats, Floats]:
    """Best linear estimates (draws, K) for the known shape and scale, and their risks (draws,)."""
    if forms is None:
        factors = variances / (variances + power)
        return noisy * factors[rows], (factors * power).sum(axis=1)[rows]
    estimates, risks = np.empty((len(rows), forms.shape[1])), np.empty(len(rows))
    for row in np.unique(rows):
        crossed = forms * variances[row]
        gain = np.linalg.solve(crossed @ forms.T + np.diag(power), crossed)
        estimates[rows == row] = noisy[rows == row] @ gain
        risks[rows == row] = variances[row].sum() - np.sum(gain * crossed)
    return estimates, risks
