"""The fifth solver: descent along noisy sums of clipped gradients, where a delta allows normal noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.bounds import IntegerBall
from dpfda.noise import GaussianNoise, gaussian_noise, repeated_width
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.guarantees import ApproximateDP
from dpfda.summaries.solvers.terms import Labelled, Terms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Features lie in the ball of radius 2^16 and slopes in that of radius 2^20, whose unit is CLIP;
# coefficients have 20 bits behind the point and columns of length at most 2^15. So every partial sum of
# a product of features and coefficients, and of a block of rows with slopes, is an integer below 2^53.
FEATURE_BITS, SLOPE_BITS, POINT_BITS = 16, 20, 20
LONGEST, BLOCK = 2.0**15, 2**14
# Length to which slopes are clipped: at coefficients zero those of two classes have it.
CLIP = 0.5
FEWEST_STEPS, MOST_STEPS = 20, 200


@dataclass(frozen=True, eq=False)
class GradientSolver:
    """Descent along the gradient of the loss, each sum of clipped gradients released with normal noise.

    From b = 0, T public steps b <- b - h g, where g is the noisy mean gradient at b, all records taking
    part in each. What is released is the mean of b over the second half of the steps. In the place of a
    penalty p the descent ends at time h T = 1 / (2 p), which shrinks b as the penalty would. With
    several classes there is a function a class and the loss is that of the softmax: noise in a
    coordinate then grows neither with the number of classes nor with that of features.

    **Guarantee.** (epsilon, delta) for all steps together.

    1. *What a row adds*, at public b, is the outer product of z, in the integer ball of radius R = 2^16,
       and of integers e: the slopes of the loss in the functions' values, clipped to a public length,
       scaled to L = floor(2^20 / m) where m is the number of rows of its unit, and rounded toward zero.
       That |e| <= L is verified in integers, and e set to zero where it fails. So a unit adds integers
       of length at most m L R <= 2^20 R, and neighbouring sums differ by at most

           step width = 2^21 R,

       which two opposite rows reach up to rounding; under add/remove it is half of that. What a unit
       adds depends on its own rows and on b alone, to the last bit: values are exact integers in floats,
       sums over classes are taken one after another, exponentials are made of additions,
       multiplications and powers of two, which are correctly rounded wherever in an array they stand.
    2. *All steps.* b is a function of what was released before. Normal noise of one deviation in T
       steps, each with sums at most the step width apart given all earlier releases, has at most the
       profile of one step with T^(1/2) times the width: `dpfda.noise.repeated_width` has the proof.
       Noise is scaled to that, and everything is charged before the first draw.

    Clipping, the number of steps, their size and the mean over steps are functions of public numbers and
    of what was released.

    Parameters
    ----------
    terms : Terms
        With the logistic loss, or for one function any; and with a delta.

    References
    ----------
    Bassily, Smith & Thakurta (2014); Abadi et al. (2016), here with all records in each step.
    """

    terms: Terms
    name: ClassVar[str] = "gradient"

    def __post_init__(self) -> None:
        if not isinstance(self.terms.guarantee, ApproximateDP):
            raise RefusedMechanismError(
                "delta",
                "be positive for solver='gradient'",
                "0",
                "Its steps get normal noise. Set delta (for example 1e-6) or use another solver.",
            )
        if self.terms.functions > 1 and self.terms.loss.name != "logistic":
            raise RefusedMechanismError(
                "solver",
                "suit the loss",
                f"'gradient' for the {self.terms.loss.name} loss of more than two classes",
                "Use loss='logistic' or 'auto'.",
            )

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return IntegerBall("l2", 2**FEATURE_BITS, FEATURE_BITS)

    @property
    def entries(self) -> int:
        """Number of sums that a step releases."""
        return self.terms.components * self.terms.functions

    @property
    def _longest_step(self) -> float:
        """Above it the steps of a loss of this curvature may grow."""
        return 2 / float(self.terms.loss.smoothness)

    @property
    def steps(self) -> int:
        """Number T of steps."""
        time = 1 / (2 * float(self.terms.penalty))
        return min(max(math.ceil(time / self._longest_step), FEWEST_STEPS), MOST_STEPS)

    @property
    def step(self) -> float:
        """Size h of a step."""
        return min(1 / (2 * float(self.terms.penalty) * self.steps), self._longest_step)

    @property
    def step_width(self) -> int:
        """Largest distance of the integers of neighbouring data sets in one step."""
        return self.terms.neighbours.differences(1 << (SLOPE_BITS + FEATURE_BITS))

    @property
    def width(self) -> int:
        """That which stands for all steps together."""
        return repeated_width(self.step_width, self.steps)

    @cached_property
    def noise(self) -> GaussianNoise:
        """The calibrated law of the noise of each step."""
        return gaussian_noise(np.ones(self.entries), self.width, self.terms.guarantee)

    def summed(self, data: Labelled) -> Callable[[Sequence[int]], IntegerSum]:
        """What a step sums up, given what the one before released: it holds the private examples."""
        rows, point = data.rows.astype(np.float64), self._start
        targets = data.targets.reshape(data.rows.shape[0], -1).T
        levels = 2**SLOPE_BITS // np.bincount(data.codes)[data.codes]

        def total(noisy: Sequence[int]) -> IntegerSum:
            nonlocal point
            point = self._moved(point, noisy) if noisy else point
            coefficients = np.rint(np.ldexp(point, POINT_BITS))
            summed = IntegerSum(self.entries)
            for start in range(0, rows.shape[0], BLOCK):
                part = slice(start, start + BLOCK)
                values = np.ldexp(coefficients.T @ rows[part].T, -FEATURE_BITS - POINT_BITS)
                slopes = self._slopes(targets[:, part], values)
                weights = clipped(slopes, levels[part]).astype(np.float64)
                sums = (weights @ rows[part]).astype(np.int64)
                summed.add_totals(sums.ravel().tolist(), 0)
            return summed

        return total

    def _slopes(self, targets: Floats, values: Floats) -> Floats:
        """Slopes (C, N) of the loss in the values (C, N) of the functions."""
        if self.terms.loss.name != "logistic":
            return self.terms.loss.slopes(targets, values)
        if self.terms.functions > 1:
            # A target of zeros is a record that is not used, which has no features.
            powers = exponentials(values - values.max(axis=0))
            return np.asarray(powers / in_order(powers) - targets)
        margins = targets * values
        small = exponentials(-np.abs(margins))
        return np.asarray(-targets * np.where(margins > 0, small, 1.0) / (1.0 + small))

    @property
    def _start(self) -> Floats:
        return np.zeros((self.terms.components, self.terms.functions))

    def _moved(self, point: Floats, noisy: Sequence[int]) -> Floats:
        """Coefficients (K, C) after a step from a point, by the noisy sums that were released there."""
        gradient = np.array([float(value) for value in noisy]).reshape(self.terms.functions, -1).T
        if self.terms.functions > 1:
            # The slopes of a record add up to zero over the classes; noise alone does not.
            gradient = gradient - gradient.mean(axis=1, keepdims=True)
        point = point - self.step * self._unit * gradient
        lengths = np.linalg.norm(point, axis=0)
        return np.asarray(point * np.minimum(1.0, LONGEST / np.maximum(lengths, 1.0)))

    @property
    def _unit(self) -> float:
        """What a unit of the sums is of the mean gradient."""
        return CLIP / (self.terms.units * 2.0 ** (SLOPE_BITS + FEATURE_BITS))

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released functions' coefficients, from all steps: (K,), or (K, C) for several classes."""
        point, late = self._start, np.zeros(self._start.shape)
        for number in range(self.steps):
            point = self._moved(point, noisy[number * self.entries : (number + 1) * self.entries])
            if number >= self.steps // 2:
                late += point / (self.steps - self.steps // 2)
        return np.ascontiguousarray(late if self.terms.functions > 1 else late[:, 0])

    def spread(self, noisy: tuple[int, ...]) -> Floats | None:
        """Largest deviation () of a coefficient from that without noise; None for several classes.

        To first order in the noise. A step of at most twice the inverse curvature of a convex loss takes
        no two points apart, and slopes clipped in one dimension are those of a convex loss. So the noise
        of a step moves b by at most h times its size, and that of T independent ones by at most T^(1/2)
        as much. Records damp it further; how far is not public.
        """
        if self.terms.functions > 1:
            return None
        deviation = math.sqrt(float(self.noise.variances()[0]) * self.steps)
        return np.array(deviation * self.step * self._unit)

    def describe(self) -> dict[str, Any]:
        return {"entries": self.entries, "steps": self.steps, "step": self.step, "clip": CLIP}


def exponentials(values: Floats) -> Floats:
    """Exponentials of numbers up to zero, to seven digits: each by itself, whatever stands beside it."""
    scaled = np.maximum(values, -40.0) * (1 / math.log(2))
    whole = np.rint(scaled)
    rest = (scaled - whole) * math.log(2)
    power = np.full_like(rest, 1 / math.factorial(7))
    for order in range(6, -1, -1):
        power = power * rest + 1 / math.factorial(order)
    return np.asarray(np.ldexp(power, whole.astype(np.int32)))


def in_order(parts: Floats) -> Floats:
    """Sum over the first axis, one after another."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return np.asarray(total)


def clipped(slopes: Floats, levels: Integers) -> Integers:
    """Slopes (C, N), clipped to the length `CLIP`, as integers of length at most a level (N,) each."""
    lengths = np.sqrt(in_order(slopes * slopes))
    scale = levels * (1 - 2.0**-40) / np.maximum(lengths, CLIP)
    floats = np.trunc(slopes * scale)
    # What is no number, or too large for the square, is no integer either.
    integers = np.where(np.abs(floats) <= levels, floats, 2.0 * levels).astype(np.int64)
    inside = (integers * integers).sum(axis=0) <= levels * levels
    return np.asarray(np.where(inside, integers, 0))
