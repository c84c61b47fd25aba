"""Where a noisy descent stands, given what its rounds released: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpfda.numerics.arrays import Floats

# Coefficients have columns of length at most 2^15.
LONGEST = 2.0**15
# Before calibration the log of the factor is normal; from round to round it may move by so much.
FACTOR, FACTOR_DEVIATION, DRIFT = 1.25, 0.4, 0.05
# Mean curvature of the loss in that log where probabilities are right; set on public data. And its ends.
CURVATURE, FACTORS = 0.3, (0.25, 16.0)


@dataclass(frozen=True)
class Tilts:
    """How a round of calibration is read: slopes of the loss in the log of the factor.

    Parameters
    ----------
    unit : float
        What a unit of the released sum is of the mean slope.
    middle : float
        What was subtracted from each.
    deviation : float
        Of the noise, in units of the sum.
    """

    unit: float
    middle: float
    deviation: float


@dataclass
class Path:
    """The coefficients that a descent has reached, and after its steps the factor that they get.

    Parameters
    ----------
    components, functions : int
        Numbers of features and of functions.
    steps : int
        How many are descended; what is released later calibrates.
    step : float
        Size of one.
    unit : float
        What a unit of the released sums is of the mean gradient.
    tilts : Tilts
    """

    components: int
    functions: int
    steps: int
    step: float
    unit: float
    tilts: Tilts
    taken: int = 0
    log_factor: float = math.log(FACTOR)
    variance: float = FACTOR_DEVIATION**2
    point: Floats = field(init=False)
    late: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.point = np.zeros((self.components, self.functions))
        self.late = self.point.copy()

    @property
    def descending(self) -> bool:
        """Whether the next round is a step, and not one of calibration."""
        return self.taken < self.steps

    @property
    def factor(self) -> float:
        """By which coefficients are multiplied, as far as is known."""
        return min(max(math.exp(self.log_factor), FACTORS[0]), FACTORS[1])

    def move(self, noisy: Sequence[int]) -> None:
        """Go on by the noisy sums that a round released."""
        if self.descending:
            self._descend(noisy)
        else:
            self._calibrate(float(noisy[0]) * self.tilts.unit + self.tilts.middle)
        self.taken += 1

    def _descend(self, noisy: Sequence[int]) -> None:
        entries = self.components * self.functions
        gradient = np.array([float(value) for value in noisy[:entries]])
        gradient = gradient.reshape(self.functions, -1).T
        if self.functions > 1:
            # The slopes of a record add up to zero over the classes; noise alone does not.
            gradient = gradient - gradient.mean(axis=1, keepdims=True)
        point = self.point - self.step * self.unit * gradient
        lengths = np.linalg.norm(point, axis=0)
        self.point = np.asarray(point * np.minimum(1.0, LONGEST / np.maximum(lengths, 1.0)))
        if self.taken >= self.steps // 2:
            self.late = self.late + self.point / (self.steps - self.steps // 2)

    def _calibrate(self, tilt: float) -> None:
        """A Kalman filter's step towards the factor at which the loss no longer falls."""
        power = (self.tilts.deviation * self.tilts.unit) ** 2
        gain = self.variance * CURVATURE / (CURVATURE**2 * self.variance + power)
        self.log_factor -= gain * tilt
        self.variance = self.variance * (1 - gain * CURVATURE) + DRIFT**2
