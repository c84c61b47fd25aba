"""Solver, penalty, kernel and features of a kernel machine, from public numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpfda.bases.kernels import as_scikit_learn, parse_kernel
from dpfda.machines.minimiser import Loss, read_loss
from dpfda.machines.solvers import (
    SOLVERS,
    GradientSolver,
    MinimisingSolver,
    OutputSolver,
    Solver,
    SumsSolver,
    Terms,
    check_penalty,
)
from dpfda.machines.solvers.minimising import INEXACTNESS
from dpfda.noise import gaussian_ratio
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, whole
from dpfda.privacy.guarantees import ApproximateDP, Guarantee, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.records.features import (
    DistanceFeatures,
    FeatureMap,
    FourierFeatures,
    LandmarkFeatures,
    LinearFeatures,
    QuadraticFeatures,
)
from dpfda.records.features.linear import SHARE, quadratic_count

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel


# Points a side, on which features of a grid are made.
GRID_POINTS = {1: 128, 2: 24, 3: 10}

# Default penalties in units of the noise, chosen on public and simulated data.
OUTPUT_ADVANTAGE = 1.7
# What the minimisation's inexactness may add to the noise, beyond what the solver is made to add,
# before a larger penalty is chosen.
LARGEST_INEXACTNESS, LARGEST_PENALTY = 0.01, 1e3
OUTPUT_PENALTY, SQUARED_PENALTY, OBJECTIVE_PENALTY, SUMS_PENALTY = 5.0, 6.5, 2.0, 0.5
HINGE_PENALTY = 1.5
# Number of features of two inputs for classes, over the cube root of n epsilon: a cubic from 500 on; and
# for several classes.
BORDER, BORDERS = 1.26, 1.6
# From this on, of n epsilon over C times the root of the number of features, the squares of features are
# worth their noise; found on public data.
SUMS_SIGNAL = 600.0
# Number of linear features over the root of n epsilon, and the fewest that are taken.
WAVES, FEWEST_WAVES = 0.65, 14
# The same for descent, whose noise in a coordinate does not grow with their number; and BORDER.
DESCENT_WAVES, DESCENT_BORDER = 1.6, 3.0
# From so many times the columns to the power 1.5 on, of n epsilon, a regression on columns shortens few
# records, to such a part of the largest length: at one length a linear function is none any more.
LONG_SIGNAL, LONG = 100.0, 0.7
# Number of features over the root of n epsilon up to which products of columns have their whole share,
# which then falls with its cube, and up to which they are taken: for descent, and else. Up to the first
# columns have the roots of their distances from the middle beside them.
DESCENT_PRODUCTS, PRODUCTS = (1.3, 1.65), (0.7, 1.0)
# The most of them; and for descent, of those of all units together, at 4 bytes each.
MOST_DESCENT_PRODUCTS, MOST_PRODUCTS, MOST_TOGETHER = 500, 100, 10**9


def default_kernel(inputs: int, classes: bool) -> Kernel:
    """Kernel in units of inputs scaled to [0, 1].

    Matern 3/2 on one or two inputs, Gaussian on more; narrower for classes, whose border may be wound.
    """
    from sklearn.gaussian_process.kernels import RBF, Matern

    if inputs == 2 and classes:
        return RBF(0.12)
    return Matern(0.25, nu=1.5) if inputs <= 2 else RBF(0.25 * math.sqrt(inputs))


def epsilon_of(guarantee: Guarantee) -> float:
    """The epsilon that rules count with: of rho one that it implies at delta = 10^-5."""
    if isinstance(guarantee, ZeroConcentratedDP):
        rho = float(guarantee.rho)
        return rho + 2 * math.sqrt(rho * math.log(1e5))
    return float(guarantee.epsilon)


def descends(solver: str, loss: Loss, guarantee: Guarantee, functions: int | None) -> bool:
    """Whether noisy descent finds the coefficients: if asked for, by rho, for classes with a delta."""
    if choice(solver, "solver", ("auto", "table", *SOLVERS)) != "auto":
        return solver == GradientSolver.name
    if isinstance(guarantee, ZeroConcentratedDP):
        return loss.name in ("auto", "logistic", "huber") or (loss.name == "hinge" and functions == 1)
    approximate = isinstance(guarantee, ApproximateDP)
    return approximate and functions is not None and loss.name in ("auto", "logistic")


def default_components(
    inputs: int, units: int, guarantee: Guarantee, functions: int | None, descent: bool
) -> int:
    """Number of kernel features from public numbers: more where n epsilon is larger."""
    signal = units * epsilon_of(guarantee)
    if inputs == 2 and descent:
        return int(np.clip(round(DESCENT_BORDER * signal ** (1 / 3)), 4, 60))
    if inputs == 2 and functions is not None:
        border = BORDER if functions == 1 else BORDERS
        return int(np.clip(round(border * signal ** (1 / 3)), 4, 30))
    if inputs <= 2:
        return int(np.clip(round(signal ** (1 / 3)), 4, 30))
    return int(np.clip(round(signal ** (1 / 2)), 8, 200))


def default_products(
    units: int, guarantee: Guarantee, descent: bool, functions: int = 1
) -> tuple[int, float]:
    """Most features for which products of columns are worth their noise; and how many have it all."""
    root = math.sqrt(units * epsilon_of(guarantee))
    if descent:
        most = min(MOST_DESCENT_PRODUCTS, MOST_TOGETHER // units)
        return min(round(DESCENT_PRODUCTS[1] * root), most), DESCENT_PRODUCTS[0] * root
    # The squares of features get noise too where there are several classes.
    root /= math.sqrt(max(functions / 3, 1))
    return min(round(PRODUCTS[1] * root), MOST_PRODUCTS), PRODUCTS[0] * root


def default_loss(solver: str, terms: Terms, regression: bool) -> str:
    """Loss where none is named: Huber's or the hinge, or the square where it serves several better."""
    if solver == "sums":
        return "squared"
    if regression:
        return "huber"
    signal, functions = terms.units * epsilon_of(terms.guarantee), terms.functions
    worth = signal / functions * math.sqrt(terms.components + 1) > SUMS_SIGNAL
    return "squared" if solver == "auto" and functions > 1 and worth else "hinge"


def default_solver(terms: Terms, regression: bool = False) -> str:
    """The sums for the square loss, the means for several classes with another one.

    Else the objective, or the output where normal noise is small.

    The objective's noise is damped by the curvature of the loss as well as by the penalty, but has
    deviation (K + 1)^(1/2) / epsilon a coordinate; under a delta the output's normal noise does not grow
    with K. On public data the output is better from a ratio of about 1.7 of the two on. Under add/remove
    neighbours a solver is taken that noises sums, where there is one for the loss.
    """
    if terms.loss.lipschitz is None:
        return "sums"
    added = terms.neighbours is Neighbours.ADD_REMOVE
    if added and regression and isinstance(terms.guarantee, ApproximateDP):
        return GradientSolver.name
    if terms.functions > 1 or (added and terms.loss.name == "hinge"):
        return "means"
    block = math.sqrt(terms.components + 1) / epsilon_of(terms.guarantee)
    return "output" if _output_ratio(_trial(terms)) * OUTPUT_ADVANTAGE < block else "objective"


def default_penalty(solver: str, terms: Terms) -> float:
    """Penalty from public numbers: a multiple of the noise's size.

    With one K-norm block at epsilon, a gradient that moves by 2 M / n gets noise of deviation
    2 M (K + 1)^(1/2) / (n epsilon) in each coordinate, and Gaussian noise its own: the penalty is of
    that order, so that noise does not outgrow the function. For the sums the noise of the matrix has a
    spectral norm of about twice the root of K times the deviation of an entry.
    """
    if solver == "means":
        return 0.5
    if solver == "gradient":
        # Noise moves a coefficient by about time / (n mu), mu the width over the deviation of all steps
        # together: at this time, 1 / (2 penalty), by about two, whatever n and epsilon.
        pure = isinstance(terms.guarantee, PureDP)
        ratio = 1.0 if pure else float(gaussian_ratio(terms.guarantee))
        return _within(1 / (4 * terms.units * ratio))
    penalty = _within(_noise_penalty(solver, _trial(terms)))
    # With very many units the rounding of floats would cost more noise than a larger penalty.
    while penalty < LARGEST_PENALTY and _is_inexact(solver, terms, penalty):
        penalty *= 1.25
    return penalty


def _is_inexact(solver: str, terms: Terms, penalty: float) -> bool:
    """Whether rounding in a minimisation would cost much noise."""
    trial = SOLVERS[solver](replace(_trial(terms), penalty=Fraction(penalty)))
    if not isinstance(trial, MinimisingSolver):
        return False
    intended = 2 * INEXACTNESS if isinstance(trial, OutputSolver) else 0.0
    return trial.cost_of_inexactness > LARGEST_INEXACTNESS + intended


def _noise_penalty(solver: str, trial: Terms) -> float:
    loss, units, components = trial.loss, trial.units, trial.components
    steep = 2.0 if loss.lipschitz is None else float(loss.lipschitz)
    if solver == "sums":
        return SUMS_PENALTY * 2 * math.sqrt(components) * SumsSolver(trial).deviation / units
    if solver == "output":
        ratio = _output_ratio(trial)
        if loss.lipschitz is None:
            # Its sensitivity is of order penalty^(-3/2).
            return math.pow(SQUARED_PENALTY * ratio / units, 2 / 3)
        return OUTPUT_PENALTY * steep * ratio / units
    signal = units * epsilon_of(trial.guarantee)
    multiple = HINGE_PENALTY if loss.name == "hinge" else OBJECTIVE_PENALTY
    block = multiple * steep * math.sqrt(components + 1) / signal
    return max(block, 1.5 * float(loss.smoothness) / signal)


def _trial(terms: Terms) -> Terms:
    """The terms at penalty one, for units of one record that are replaced, as all rules are for."""
    return replace(terms, penalty=Fraction(1), grouped=False, neighbours=Neighbours.REPLACE_ONE)


def _output_ratio(trial: Terms) -> float:
    """Deviation of the output's noise over its width."""
    output = OutputSolver(trial)
    return math.sqrt(float(output.noise.variances()[0])) / output.width


def _within(penalty: float) -> float:
    return float(np.clip(penalty, 1e-6, 1e8))


def chosen_features(
    kind: str,
    kernel: Kernel | None,
    count: int | None,
    seed: int,
    inputs: int,
    units: int,
    guarantee: Guarantee,
    functions: int | None,
    descent: bool,
) -> FeatureMap:
    """The features that are named, as many as were asked for, or those that fit best.

    kind, kernel, seed: As of `dpfda.machines.plan.Features`; count: its `components`.
    functions: Number of decision functions; None for a regression.
    descent: Whether noisy descent finds the coefficients.
    """
    classes = functions is not None
    products, many = default_products(units, guarantee, descent, functions or 1)
    if kind == "auto":
        kind = "grid" if inputs <= 2 else "fourier" if kernel is not None else "linear"
        if kind == "linear" and classes and count is None:
            bent = 1 + 2 * inputs <= min(many, products)
            pairs, kind = quadratic_count(inputs + 1), "distances" if bent else kind
            if pairs <= products:
                linear = DistanceFeatures.of_columns(inputs) if bent else LinearFeatures.of_waves(inputs)
                return QuadraticFeatures(linear, SHARE * min(1.0, many / pairs) ** 3)
    if kind in ("distances", "quadratic"):
        most = products if count is None else whole(count, "components", 1)
        wide = kind == "distances"
        return DistanceFeatures.of_columns(inputs) if wide else QuadraticFeatures.of_waves(inputs, most)
    if kind == "linear":
        signal = units * epsilon_of(guarantee)
        if not classes and count is None and signal >= LONG_SIGNAL * inputs**1.5:
            return LinearFeatures.of_columns(inputs, LONG * math.sqrt(1 + inputs))
        waves = round((DESCENT_WAVES if descent else WAVES) * signal ** (1 / 2))
        most = int(np.clip(waves, FEWEST_WAVES, 200)) if count is None else count
        return LinearFeatures.of_waves(inputs, whole(most, "components", 1))
    if count is None:
        count = default_components(inputs, units, guarantee, functions, descent)
    if isinstance(kernel, str):
        kernel = as_scikit_learn(parse_kernel(kernel, (0.0, 1.0)))
    kernel = default_kernel(inputs, classes) if kernel is None else kernel
    if kind == "fourier":
        return FourierFeatures.drawn(kernel, inputs, count, seed)
    if inputs not in GRID_POINTS:
        words = "not be 'grid' for more than three inputs"
        raise ParameterError("features", words, f"{inputs} inputs", "Use 'fourier'.")
    return LandmarkFeatures.on_grid(kernel, inputs, GRID_POINTS[inputs], count)


def chosen_solver(name: str, penalty: object, stated: Terms, regression: bool) -> Solver:
    """The solver that is asked for or fits best, with loss and penalty where none are given."""
    terms, free = stated, regression and name == stated.loss.name == "auto" and penalty is None
    if terms.loss.name == "auto":
        loss = default_loss(name, terms, regression)
        terms = replace(terms, loss=read_loss(loss, ("hinge", "huber", "squared")))
    if name == "auto":
        name = default_solver(terms, regression)
    minimises = free and name in ("objective", "output")
    if minimises and _is_inexact(name, terms, _within(_noise_penalty(name, _trial(terms)))):
        # Sums of so many units are exact, where a minimisation would ask for an ever larger penalty.
        name, terms = "sums", replace(terms, loss=read_loss("squared", ("squared",)))
    if penalty is None:
        penalty = default_penalty(name, terms)
    return SOLVERS[name](replace(terms, penalty=check_penalty(penalty)))
