"""The fifth solver: descent along noisy sums of clipped gradients, where a delta allows normal noise.

Where a noisy descent stands, given what its rounds released: from public numbers alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from dpfda.bounds import IntegerBall
from dpfda.bounds.balls import clipped, exponentials, in_order
from dpfda.machines.solvers.solver import Labelled, Published, Solver, Told
from dpfda.noise import GaussianNoise, gaussian_noise, gaussian_ratio, repeated_width
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.guarantees import Neighbours, PureDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication.integers import publish_steps

# Coefficients have columns of length at most 2^15.
LONGEST = 2.0**15
# Before calibration the log of the factor is normal; from round to round it may move by so much.
FACTOR, FACTOR_DEVIATION, DRIFT = 1.25, 0.4, 0.05
# Mean curvature of the loss in that log where probabilities are right; set on public data. And its ends.
CURVATURE, FACTORS = 0.3, (0.25, 16.0)


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
    slope_unit : float
        What a unit of a sum of calibration is of the mean slope of the loss in the log of the factor.
    middle : float
        What was subtracted from each of these slopes.
    deviation : float
        Of the noise, in units of the sums.
    """

    components: int
    functions: int
    steps: int
    step: float
    unit: float
    slope_unit: float
    middle: float
    deviation: float
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
            self._calibrate(float(noisy[0]) * self.slope_unit + self.middle)
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
        power = (self.deviation * self.slope_unit) ** 2
        gain = self.variance * CURVATURE / (CURVATURE**2 * self.variance + power)
        self.log_factor -= gain * tilt
        self.variance = self.variance * (1 - gain * CURVATURE) + DRIFT**2


# Features lie in the ball of radius 2^16 and slopes in that of radius 2^20, whose unit is CLIP;
# coefficients have 20 bits behind the point and columns of length at most 2^15. So every partial sum of
# a product of features and coefficients, and of a block of rows with slopes, is an integer below 2^53.
FEATURE_BITS, SLOPE_BITS, POINT_BITS = 16, 20, 20
BLOCK = 2**14
# Numbers of a block that stay in the processor's cache between both products with them.
NUMBERS_AT_ONCE = 2**17
# Length to which slopes are clipped: at coefficients zero those of two classes have it.
CLIP = 0.5
FEWEST_STEPS, MOST_STEPS = 40, 200
# In how many batches records may take turns, numbers that divide half of the most steps; the fewest
# units of one; and by how much their noise may raise the variance that sampling has in a direction that
# a descent just reaches.
BATCHES, FEWEST_UNITS, RAISED = (1, 2, 4, 5, 10, 20, 25, 50, 100), 100_000, 0.15
# One round of calibration for so many steps. A record's part in it is clipped from above at a share of n
# times the width over the deviation of all rounds, between these ends.
STEPS_A_ROUND, CLIP_SHARE, CLIPS = 10, 1 / 200, (3.5, 7.0)


@dataclass(frozen=True, eq=False)
class GradientSolver(Solver):
    """Descent along the gradient of the loss, each sum of clipped gradients released with normal noise.

    From b = 0, T public steps b <- b - h g, where g is the noisy mean gradient at b, all records taking
    part in each. What is released is the mean of b over the second half of the steps. In the place of a
    penalty p the descent ends at time h T = 1 / (2 p), which shrinks b as the penalty would. With
    several classes there is a function a class and the loss is that of the softmax: noise in a
    coordinate then grows neither with the number of classes nor with that of features.

    *Calibration.* Where classes are to have probabilities, one round for ten steps follows, where what
    was found is multiplied by a factor s: it releases the mean of the loss's slope in log s, one number,
    and moves log s by it (`Path`). The coefficients that are released are those times s, which changes
    no predicted class.

    **Guarantee.** (epsilon, delta), or rho, for all rounds together.

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
    2. *A round of calibration* takes the place of the outer product by one integer: the sum over the
       functions of slope times value at s b, minus a public middle, clipped to a public half width,
       scaled to L and rounded toward zero, times R. It is at most L R in size, so the same width holds.
    3. *All rounds.* b and s are functions of what was released before. Normal noise of one deviation in
       T rounds, each with sums at most the step width apart given all earlier releases, has at most the
       profile of one with T^(1/2) times the width: `dpfda.noise.repeated_width` has the proof.
       Noise is scaled to that, and everything is charged before the first draw.

    4. *Batches.* Where units are very many each is put into one of B batches by the operating system's
       random numbers, whatever its records are, and round t sums up batch t modulo B. Given the batches,
       which units in common have in both of two neighbouring data sets, a unit changes the sums of
       ceil(T / B) rounds at most; the others have the same law given all before. So T is replaced by
       that in 3, and a mixture over batches, whose law does not depend on data, keeps what each has.

    Clipping, the number of rounds, the size of steps and the mean over them are functions of public
    numbers and of what was released.

    Parameters
    ----------
    terms : Terms
        With the logistic loss, or for one function any; and with a delta, or rho.

    References
    ----------
    Bassily, Smith & Thakurta (2014); Abadi et al. (2016), here with all records in each step.
    """

    name: ClassVar[str] = "gradient"

    def __post_init__(self) -> None:
        if isinstance(self.terms.guarantee, PureDP):
            remedy = "Its steps get normal noise. Set delta (for example 1e-6), or rho; or use another."
            raise RefusedMechanismError("delta", "be positive for solver 'gradient'", "0", remedy)
        if self.terms.functions > 1 and self.terms.loss.name != "logistic":
            loss = f"the {self.terms.loss.name} loss of more than two classes"
            raise self.unsuited(loss, "Use $loss.", loss=("logistic", "auto"))

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return IntegerBall("l2", 2**FEATURE_BITS, FEATURE_BITS)

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
        return self._step_of(self.steps)

    def _step_of(self, steps: int) -> float:
        return min(1 / (2 * float(self.terms.penalty) * steps), self._longest_step)

    @property
    def step_width(self) -> int:
        """Largest distance of the integers of neighbouring data sets in one step."""
        return self.terms.neighbours.differences(1 << (SLOPE_BITS + FEATURE_BITS))

    @property
    def calibrations(self) -> int:
        """Number of rounds after the steps that set the factor of the coefficients; for classes."""
        return self.steps // STEPS_A_ROUND if self.terms.loss.name == "logistic" else 0

    @cached_property
    def tilt_ends(self) -> tuple[float, float]:
        """Ends to which the slope of a record's loss in the log of the factor is clipped.

        With C classes it is at least -W((C - 1) / e), W Lambert's function, which is reached where the
        wrong classes are alike. Their middle is subtracted where the number of units is known.
        """
        classes, ratio = max(self.terms.functions, 2), float(gaussian_ratio(self.terms.guarantee))
        upper = min(max(CLIP_SHARE * self.terms.units * ratio, CLIPS[0]), CLIPS[1])
        if self.terms.neighbours is Neighbours.ADD_REMOVE or self.batches > 1:
            return -upper, upper
        return -float(scipy.special.lambertw((classes - 1) / math.e).real), upper

    @property
    def rounds(self) -> int:
        """Number of releases: steps and calibrations."""
        return self.steps + self.calibrations

    @cached_property
    def batches(self) -> int:
        """Number B of batches that take turns, so that each round reads one of them."""
        terms = self.terms
        assert not isinstance(terms.guarantee, PureDP)  # noqa: S101 (checked when it was made)
        signal = terms.units * float(gaussian_ratio(terms.guarantee)) ** 2
        most = min(RAISED * signal / (self.step * self.steps), terms.units / FEWEST_UNITS)
        return (
            max(count for count in BATCHES if count <= max(most, 1)) if self.steps == MOST_STEPS else 1
        )

    @property
    def visits(self) -> int:
        """Number of rounds that a unit takes part in, at most."""
        return -(-self.rounds // self.batches)

    @property
    def width(self) -> int:
        """That which stands for all rounds together."""
        return repeated_width(self.step_width, self.visits)

    @cached_property
    def noise(self) -> GaussianNoise:
        """The calibrated law of the noise of each round."""
        return gaussian_noise(np.ones(self.entries), self.width, self.terms.guarantee)

    def publish(self, data: Labelled, entry: Told, tuning: Told, paying: Paying = NAMED) -> Published:
        guarantee = self.terms.guarantee
        assert not isinstance(guarantee, PureDP)  # noqa: S101 (checked when the solver was made)
        return publish_steps(
            self.summed(data), self.rounds, self.noise, self.step_width, guarantee, entry, paying,
            tuning, self.visits,
        )  # fmt: skip

    def summed(self, data: Labelled) -> Callable[[Sequence[int]], IntegerSum]:
        """What a round sums up, given what the one before released: it holds the private examples."""
        path, (low, high) = self._path(), self.tilt_ends
        targets = data.targets.reshape(data.rows.shape[0], -1).T
        levels = 2**SLOPE_BITS // np.bincount(data.codes)
        records, components = data.rows.shape
        step = max(1, min(BLOCK, NUMBERS_AT_ONCE // components))
        held = np.empty((min(step, records), components))
        batch = self._drawn(data)

        def total(noisy: Sequence[int]) -> IntegerSum:
            if noisy:
                path.move(noisy)
            coefficients = np.rint(np.ldexp(path.point if path.descending else path.late, POINT_BITS))
            summed = IntegerSum(self.entries)
            chosen = None if batch is None else np.flatnonzero(batch == path.taken % self.batches)
            count = records if chosen is None else chosen.size
            for start in range(0, count, step):
                part = slice(start, start + step) if chosen is None else chosen[start : start + step]
                rows, level = held[: min(step, count - start)], levels[data.codes[part]]
                rows[:] = data.rows[part]
                values = np.ldexp(coefficients.T @ rows.T, -FEATURE_BITS - POINT_BITS)
                if path.descending:
                    weights = clipped(self._slopes(targets[:, part], values), level, CLIP)
                    sums = (weights.astype(np.float64) @ rows).astype(np.int64).ravel()
                else:
                    # Slopes of the loss in the log of a factor of the values.
                    values *= path.factor
                    tilts = in_order(self._slopes(targets[:, part], values) * values)[None]
                    sums = np.zeros(self.entries, dtype=np.int64)
                    weights = clipped(tilts - (low + high) / 2, level, (high - low) / 2)
                    sums[0] = weights.sum() << FEATURE_BITS
                summed.add_totals(sums.tolist(), 0)
            return summed

        return total

    def _drawn(self, data: Labelled) -> Integers | None:
        """The batch of each row, that of its unit; None where there is one. Secret, but not private."""
        if self.batches == 1:
            return None
        drawn = np.frombuffer(os.urandom(4 * data.units), dtype=np.uint32) % self.batches
        return np.asarray(drawn.astype(np.uint8)[data.codes])

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

    def _path(self) -> Path:
        low, high = self.tilt_ends
        deviation = math.sqrt(float(self.noise.variances()[0]))
        terms, unit = self.terms, self._unit(self.batches)
        made = terms.components, terms.functions, self.steps, self.step, unit
        return Path(*made, unit / CLIP * (high - low) / 2, (low + high) / 2, deviation)

    def _unit(self, batches: int) -> float:
        """What a unit of the sums is of the mean gradient."""
        return CLIP * batches / (self.terms.units * 2.0 ** (SLOPE_BITS + FEATURE_BITS))

    def _walked(self, noisy: tuple[int, ...]) -> Path:
        """The whole path, from what all rounds released."""
        path = self._path()
        for start in range(0, len(noisy), self.entries):
            path.move(noisy[start : start + self.entries])
        return path

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released functions' coefficients, from all rounds: (K,), or (K, C) for several classes."""
        path = self._walked(noisy)
        found = path.factor * path.late if self.calibrations else path.late
        return np.ascontiguousarray(found if self.terms.functions > 1 else found[:, 0])

    def spread(self, noisy: tuple[int, ...]) -> Floats | None:
        """Largest deviation () of a coefficient from that without noise; None for several classes.

        To first order in the noise, and at the factor that was released. A step of at most twice the
        inverse curvature of a convex loss takes no two points apart, and slopes clipped in one dimension
        are those of a convex loss. So the noise of step t moves each later point by at most h times its
        size, and their mean by the share of the averaged points that come after it, which is one up to
        the middle and falls from there to the end. Those of independent steps add up in square. Records
        damp it further; how far is not public.
        """
        if self.terms.functions > 1:
            return None
        factor = self._walked(noisy).factor if self.calibrations else 1.0
        deviation = math.sqrt(float(self.noise.variances()[0]))
        return np.array(self.moved(deviation, self.steps, self.batches) * factor)

    def moved(self, deviation: float, steps: int, batches: int) -> float:
        """The same for noise of a deviation in so many steps, where coefficients get no factor."""
        late = steps - steps // 2
        # Shares of one, and then late, late - 1, .. 1 over late, in square.
        shares = math.sqrt(steps // 2 + (late + 1) * (2 * late + 1) / (6 * late))
        return deviation * shares * self._step_of(steps) * self._unit(batches)

    def describe(self) -> dict[str, object]:
        calibrated = {"calibrations": self.calibrations} if self.calibrations else {}
        turns = {"batches": self.batches} if self.batches > 1 else {}
        return {
            "entries": self.entries, "steps": self.steps, "step": self.step, "clip": CLIP,
            **calibrated, **turns,
        }  # fmt: skip
