"""Three roads from examples to a private linear function of features, each with its proof.

Features z have length at most one, targets y lie in [-1, 1] (both enforced on integers), n is the
public number of privacy units, and a unit's loss is the average of the losses of its rows. Data sets
are neighbours if one unit is replaced by another. The machine without noise is the minimiser b* of

    F(b) = (1/n) sum_i L(y_i, z_i . b) + psi |b|^2.

The printed sources are Lin & Reimherr (2023), Theorem 16, and Hall, Rinaldo & Wasserman (2013),
section 4.3, for the first road. Scales are rounded up; K-norm noise is pure, Gaussian noise is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.bounds import IntegerBall
from dpfda.calibration import gaussian_noise, knorm_loss, knorm_noise
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.features import feature_ball
from dpfda.guarantees import ApproximateDP, PureDP
from dpfda.noise import NoiseLaw
from dpfda.summaries.minimiser import Examples, Loss, least_tolerance, minimise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Budget = PureDP | ApproximateDP

# Share of the exact sensitivity that the solver's inexactness may add on the first road.
INEXACTNESS = 0.005
# Objective perturbation: share of epsilon for the noise that hides inexactness, and its size.
SECOND_SHARE = Fraction(1, 50)
SECOND_INEXACTNESS = 1e-5
# The sensitivity is about 2^32 units of the grid on which the solution is rounded.
SOLUTION_BITS = 32
# Features of the sums lie in the ball of radius 2^14, so that entries stay below 2^31.
SUMS_BITS = 14
# Diagonal and off-diagonal entries count 5 and 7 times: 7/5 is just below the root of two.
DIAGONAL, OFF_DIAGONAL = 5, 7


@dataclass(frozen=True, eq=False, repr=False)
class Labelled:
    """Private examples as integers.

    Parameters
    ----------
    rows : array (N, K) of int
        Features inside the road's integer ball.
    targets : array (N,)
        y_i in [-1, 1].
    codes : array (N,) of int
        Privacy unit of each row, from 0 to n - 1.
    units : int
        Number n of privacy units.
    """

    rows: Integers
    targets: Floats
    codes: Integers
    units: int

    def __repr__(self) -> str:
        return "Labelled(content private)"

    def examples(self, unit: float, offsets: Floats | None = None) -> Examples:
        """For the solver, features being `unit` times the integers: a power of two, so exactly."""
        none = np.zeros(self.targets.size)
        sizes = np.bincount(self.codes)[self.codes].astype(np.float64)
        weights = np.asarray(1.0 / (self.units * sizes), dtype=np.float64)
        rows = np.asarray(self.rows * unit, dtype=np.float64)
        return Examples(rows, self.targets, weights, none if offsets is None else offsets)


@dataclass(frozen=True)
class Plan:
    """The public numbers of a machine.

    Parameters
    ----------
    components : int
        Number K of features.
    units : int
        Number n of privacy units.
    loss : Loss
    psi : Fraction
        Penalty; exactly a float.
    guarantee : PureDP or ApproximateDP
    grouped : bool
        Whether a unit may have several rows.
    """

    components: int
    units: int
    loss: Loss
    psi: Fraction
    guarantee: Budget
    grouped: bool


def sensitivity(plan: Plan) -> Fraction:
    """Largest distance between exact minimisers of neighbouring data sets, rounded up.

    *Lipschitz losses.* F is 2 psi-strongly convex, so 2 psi |b - b'| is at most the length of the
    difference of the two gradients at one point, which is 1/n times a difference of two (average)
    gradients of length at most M each: |b - b'| <= M / (psi n). For the hinge loss it is attained.

    *Square loss, a row a unit.* Let b0 minimise F without the unit that is replaced (still divided by
    n), A = H + psi with H = (1/n) sum z z^T over the others, and h = (1/n) sum y z over the others, so
    b0 = A^-1 h. By the rank-one formula b - b0 = A^-1 z (y - z . b0) / (n + z . A^-1 z), hence
    |b - b0| <= |A^-1 z| (1 + |z . b0|) / n. Since |h . x|^2 <= (1/n) sum y^2 . x^T H x,

        |z . b0|^2 <= z^T A^-1 H A^-1 z = z^T A^-1 z - psi z^T A^-2 z.

    In the eigenbasis of A with eigenvalues psi / u_j, 0 < u_j <= 1, and weights z_j^2 of total mass at
    most one: |A^-1 z|^2 = sum z_j^2 u_j^2 / psi^2 =: s^2 / psi^2, and the right side above is
    sum z_j^2 (u_j - u_j^2) / psi <= (s - s^2) / psi by Cauchy and Schwarz. Twice that for b and b':

        |b - b'| <= (2 / (psi n)) max_{0 <= s <= 1} s (1 + (s (1 - s) / psi)^(1/2)).

    *Square loss, groups.* The gradient of a unit at b0 is at most 2 (1 + |b0|) long and |b0| <=
    1 / (2 psi^(1/2)), so |b - b'| <= (2 / (psi n)) (1 + 1 / (2 psi^(1/2))).
    """
    scale = 1 / (plan.psi * plan.units)
    if plan.loss.lipschitz is not None:
        return plan.loss.lipschitz * scale
    steep = 1 / math.sqrt(plan.psi)
    if plan.grouped:
        largest = 1 + steep / 2
    else:
        # Each cell counts with the largest s and the largest s (1 - s) in it.
        edges = np.linspace(0.0, 1.0, 4097)
        low, high = edges[:-1], edges[1:]
        middle = np.clip(0.5, low, high)
        largest = float(np.max(high * (1 + steep * np.sqrt(middle * (1 - middle)))))
    return 2 * scale * Fraction(largest * (1 + 1e-12))


def _solution_exponent(scale: Fraction) -> int:
    """The q for which scale * 2^q is about 2^SOLUTION_BITS."""
    return SOLUTION_BITS - scale.numerator.bit_length() + scale.denominator.bit_length()


def _rounded(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def _ceil_root(square: int) -> int:
    """Smallest integer whose square is at least this."""
    return math.isqrt(square - 1) + 1 if square > 0 else 0


@dataclass(frozen=True, eq=False)
class OutputRoad:
    """Noise on the minimiser itself.

    **Guarantee.** The solver's result is within eta = tolerance / (2 psi) of b*, whatever the data, and
    its entries times 2^q are rounded to nearest integers, which moves a difference by at most K^(1/2).
    So neighbouring data sets give integers at most

        width = ceil(2^q (r + 2 eta)) + ceil(K^(1/2))

    apart in length, with r of `sensitivity`; tolerance, q and width come from public numbers. One
    K-norm block on all K integers then gives pure epsilon, Gaussian noise (epsilon, delta).

    Parameters
    ----------
    plan : Plan
    """

    plan: Plan
    name: ClassVar[str] = "output"

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return feature_ball(self.plan.components)

    @property
    def tolerance(self) -> float:
        """Length of gradient at which the solver stops."""
        wanted = INEXACTNESS * 2 * float(self.plan.psi * sensitivity(self.plan))
        return max(wanted, least_tolerance(self.plan.loss, self.plan.psi, self.plan.components))

    @property
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""
        return _solution_exponent(sensitivity(self.plan))

    @property
    def width(self) -> int:
        """Largest distance of the integers of neighbouring data sets."""
        eta = Fraction(self.tolerance) / (2 * self.plan.psi)
        moved = (sensitivity(self.plan) + 2 * eta) * Fraction(2) ** self.exponent
        return math.ceil(moved) + _ceil_root(self.plan.components)

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        return _noise((self.plan.components,), self.width, self.plan.guarantee)

    @property
    def cost_of_inexactness(self) -> float:
        """What rounding and the solver add to the noise, relatively."""
        return self.width / float(sensitivity(self.plan) * Fraction(2) ** self.exponent) - 1

    def integers(self, data: Labelled) -> list[int]:
        """The rounded minimiser. Private."""
        examples = data.examples(self.ball.unit)
        found = minimise(examples, self.plan.loss, self.plan.psi, self.tolerance)
        grid = Fraction(2) ** self.exponent
        return [_rounded(Fraction(value) * grid) for value in found.tolist()]

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released function's coefficients."""
        return np.array([math.ldexp(float(value), -self.exponent) for value in noisy])

    def describe(self) -> dict[str, Any]:
        return {"sensitivity": float(sensitivity(self.plan)), "tolerance": self.tolerance}


@dataclass(frozen=True, eq=False)
class ObjectiveRoad:
    """Noise in the objective, and a little more on its approximate minimiser.

    The exact mechanism draws w in R^K with density proportional to exp(-|w| / c) and takes the
    minimiser t of F(t) + w . t / n (Chaudhuri, Monteleoni & Sarwate 2011, in the K-norm form). The
    program sees w rounded to a grid, and minimises in floats.

    **Guarantee.** Pure epsilon = e1 + e2.

    1. *The exact minimiser.* L is differentiable in f with an absolutely continuous, S-Lipschitz slope
       and F is strongly convex, so w = -n grad F(t) is a bijection between perturbations and minimisers
       for each data set, with Lipschitz inverse; the density of t is exp(-|w(t)| / c) |det dw/dt| up to
       a constant. For neighbours |w(t) - w'(t)| <= 2 M, since sums of gradients differ in one unit's
       average. Let E be n times the Hessian of F without that unit: E >= 2 psi n, and the unit adds a
       matrix P >= 0 of trace at most S. So det(E + P) / det(E + P') <= det(I + E^-1/2 P E^-1/2), at most
       1 + x with x = S / (2 psi n) where P has rank one, and at most e^x where a unit has several rows.
       The loss is 2 M / c + log(1 + x), or 2 M / c + x. (log(1 + x) <= x (6 + x) / (6 + 4 x): at 0 both
       are 0, and the right side's derivative minus 1 / (1 + x) is x^3 / ((3 + 2 x)^2 (1 + x)).)
    2. *What the program does.* With w rounded, by at most K^(1/2) / 2 grid units g, the minimiser moves
       by at most K^(1/2) g / (4 psi n); the solver's result is within tolerance / (2 psi) of that; let
       eta be the sum. Given the data set, t determines w and so the result, which is within eta of t and
       then rounded on the grid 2^-q. Hence, for one t, two neighbouring data sets give integers at most
       width = ceil(2^q 2 eta) + ceil(K^(1/2)) apart, and K-norm noise of loss e2 is added. Composition:
       P(A | D) = E_t P(A | t, D) <= e^e2 E_t P(A | t, D') <= e^(e1 + e2) P(A | D').

    The solver works on u = t + w / (2 psi n), |u| <= M / (2 psi): minimising (1/n) sum L(y_i, o_i +
    z_i . u) + psi |u|^2 with offsets o_i = -z_i . w / (2 psi n), computed exactly and rounded once. So
    its certificate holds for every w, however large.

    Approximate minima are an idea of Iyengar et al. (2019), there with Gaussian noise.

    Parameters
    ----------
    plan : Plan
        With a loss that has a largest slope.

    Raises
    ------
    RefusedMechanismError
        For the square loss; and if psi is so small that step 1 leaves less than half of epsilon.
    """

    plan: Plan
    name: ClassVar[str] = "objective"

    def __post_init__(self) -> None:
        if self.plan.loss.lipschitz is None:
            raise RefusedMechanismError(
                "road",
                "suit the loss",
                "'objective' for the square loss, whose slope has no bound",
                "Use loss='huber', or road='sums' or 'output'.",
            )
        if 2 * self.curvature_loss > self._epsilon:
            least = float(self.plan.loss.smoothness / (self._epsilon * self.plan.units))
            raise RefusedMechanismError(
                "psi",
                f"be at least about {least:.2g} for objective perturbation with this size and epsilon",
                f"{float(self.plan.psi):.3g}",
                "A smaller penalty would leave less than half of epsilon for the perturbation.",
            )

    @property
    def _epsilon(self) -> Fraction:
        return self.plan.guarantee.epsilon

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return feature_ball(self.plan.components)

    @property
    def curvature_loss(self) -> Fraction:
        """The part of the loss that comes from the determinants, rounded up."""
        x = self.plan.loss.smoothness / (2 * self.plan.psi * self.plan.units)
        return x if self.plan.grouped else x * (6 + x) / (6 + 4 * x)

    @property
    def _steepest(self) -> Fraction:
        steepest = self.plan.loss.lipschitz
        assert steepest is not None  # noqa: S101 (checked when the road was made)
        return steepest

    @property
    def gradient_exponent(self) -> int:
        """The perturbation is rounded on the grid 2^-this."""
        return _solution_exponent(2 * self._steepest)

    @property
    def _shift_width(self) -> int:
        return math.ceil(2 * self._steepest * Fraction(2) ** self.gradient_exponent)

    @property
    def perturbation(self) -> NoiseLaw:
        """Law of w, in grid units."""
        rest = self._epsilon * (1 - SECOND_SHARE) - self.curvature_loss
        return knorm_noise((self.plan.components,), (1.0,), "l2", self._shift_width, PureDP(rest))

    @property
    def loss(self) -> PureDP:
        """e1, recomputed from the scale in force and rounded up."""
        law: Any = self.perturbation
        return PureDP(knorm_loss(law.scales, "l2", self._shift_width) + self.curvature_loss)

    @property
    def tolerance(self) -> float:
        """Length of gradient at which the solver stops."""
        wanted = SECOND_INEXACTNESS * 2 * float(self._steepest) / self.plan.units
        return max(wanted, least_tolerance(self.plan.loss, self.plan.psi, self.plan.components))

    @property
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""
        return _solution_exponent(self._steepest / (self.plan.psi * self.plan.units))

    @property
    def width(self) -> int:
        """Largest distance of the integers of neighbouring data sets, given the exact minimiser."""
        root = _ceil_root(self.plan.components)
        shift = root * Fraction(1, 2**self.gradient_exponent) / (4 * self.plan.psi * self.plan.units)
        eta = Fraction(self.tolerance) / (2 * self.plan.psi) + shift
        return math.ceil(2 * eta * Fraction(2) ** self.exponent) + root

    @property
    def noise(self) -> NoiseLaw:
        """Law of the noise on the result."""
        share = PureDP(self._epsilon * SECOND_SHARE)
        return knorm_noise((self.plan.components,), (1.0,), "l2", self.width, share)

    @property
    def cost_of_inexactness(self) -> float:
        """Deviation of the noise on the result over that of the perturbation, where that is largest."""
        first: Any = self.perturbation
        second: Any = self.noise
        scale = 2 * self.plan.psi * self.plan.units * 2**self.gradient_exponent
        return float(second.scales[0] / Fraction(2) ** self.exponent * scale / first.scales[0])

    def integers(self, data: Labelled, drawn: list[int]) -> list[int]:
        """The rounded approximate minimiser for a perturbation. Private, as is the perturbation."""
        exponent = self.gradient_exponent + self.ball.exponent
        divisor = 2 * self.plan.psi * self.plan.units * 2**exponent
        products = _exact_products(data.rows, drawn)
        # A quotient of Python integers is rounded once, correctly.
        top, bottom = divisor.numerator, divisor.denominator
        offsets = np.array([_quotient(-product * bottom, top) for product in products])
        examples = data.examples(self.ball.unit, offsets)
        found = minimise(examples, self.plan.loss, self.plan.psi, self.tolerance)
        grid = Fraction(2) ** self.exponent
        scale = 2 * self.plan.psi * self.plan.units * 2**self.gradient_exponent
        pairs = zip(found.tolist(), drawn, strict=True)
        return [_rounded((Fraction(value) - Fraction(w) / scale) * grid) for value, w in pairs]

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """The released function's coefficients."""
        return np.array([math.ldexp(float(value), -self.exponent) for value in noisy])

    def describe(self) -> dict[str, Any]:
        return {
            "perturbation": self.perturbation.describe(),
            "curvature_loss": float(self.curvature_loss),
            "tolerance": self.tolerance,
        }


def _quotient(numerator: int, denominator: int) -> float:
    """A quotient rounded once; beyond the largest double, that double, where slopes are flat."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.copysign(1e308, numerator)


def _exact_products(rows: Integers, vector: list[int]) -> list[int]:
    """Products of integer rows with a vector of integers of any size, exactly.

    The vector is cut into pieces of 21 bits. A row of the ball has sum |z_k| <= K^(1/2) R < 2^31, so
    every partial sum of a product with a piece is an integer below 2^52 and float64 is exact.
    """
    bits = 21
    sizes = [abs(value) for value in vector]
    signs = np.array([-1.0 if value < 0 else 1.0 for value in vector])
    totals = [0] * rows.shape[0]
    floats = rows.astype(np.float64)
    for shift in range(0, max(sizes).bit_length(), bits):
        piece = np.array([float((size >> shift) & (2**bits - 1)) for size in sizes]) * signs
        parts = (floats @ piece).tolist()
        totals = [total + (int(part) << shift) for total, part in zip(totals, parts, strict=True)]
    return totals


@dataclass(frozen=True, eq=False)
class SumsRoad:
    """Noise on the sums of z z^T and y z, then ridge regression: for the square loss.

    **Guarantee.** A row contributes the upper triangle of z z^T and y z, in integers: z in the ball of
    radius R = 2^14, Y the integer nearest to R y, |Y| <= R; entries of the diagonal count 5 times, those
    off it 7 times, and Y z 5 times. As 7^2 <= 2 5^2, the squared length of a difference is at most

        25 (|z z^T - z' z'^T|_F^2 + |Y z - Y' z'|^2) <= 25 . (9/2) R^4.

    Proof of the last step, R = 1: with t = |z|^2, t' = |z'|^2 and c the cosine, the first term is
    t^2 + t'^2 - 2 t t' c^2, the second at most t + t' + 2 (t t')^(1/2) |c|. Their sum grows with t: with
    w = |c| (t'/t)^(1/2) <= t^(-1/2) its derivative is (1 + w)(1 + 2 t (1 - w)), and 2 t (w - 1) <=
    2 (t^(1/2) - t) <= 1/2 < 1. So t = t' = 1 is worst, where it is 2 (1 + |c|)(2 - |c|) <= 9/2, attained
    at |c| = 1/2. (Without the cross terms one would charge 2 + 4 = 6.)

    With several rows a unit contributes the average of its rows, which lies in their convex hull, where
    distances are no longer; rounding it down adds at most the root of the number of entries.

    The sums are exact; noise is Gaussian, or two K-norm blocks of one scale, for the matrix and for the
    vector (on the l2 ball the loss is width (sum_B c_B^-2)^(1/2), see `dpfda.calibration.blocks`). What
    follows is post-processing: the matrix is made symmetric and positive semidefinite by dropping
    negative eigenvalues, then b = (S / n + psi)^-1 (noisy sum of y z) / n.

    Parameters
    ----------
    plan : Plan
        With the square loss.
    """

    plan: Plan
    name: ClassVar[str] = "sums"

    def __post_init__(self) -> None:
        if self.plan.loss.name != "squared":
            raise RefusedMechanismError(
                "road",
                "suit the loss",
                f"'sums' for the {self.plan.loss.name} loss, which is no polynomial",
                "Use loss='squared', or road='objective' or 'output'.",
            )

    @property
    def ball(self) -> IntegerBall:
        """Where features lie."""
        return IntegerBall("l2", 2**SUMS_BITS, SUMS_BITS)

    @property
    def entries(self) -> int:
        """Number of released sums."""
        return self.plan.components * (self.plan.components + 3) // 2

    @property
    def width(self) -> int:
        """Largest distance of the sums of neighbouring data sets."""
        squared = 25 * 9 * self.ball.radius**4
        width = _ceil_root(-(-squared // 2))
        return width + (_ceil_root(self.entries) if self.plan.grouped else 0)

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        blocks = (self.entries - self.plan.components, self.plan.components)
        return _noise(blocks, self.width, self.plan.guarantee)

    def contributions(self, rows: Integers, targets: Floats) -> Integers:
        """Integers (N, entries) that rows add to the sums; row i from example i alone."""
        first, second = np.triu_indices(self.plan.components)
        factors = np.where(first == second, DIAGONAL, OFF_DIAGONAL)
        radius = self.ball.radius
        integers = np.clip(np.rint(targets * radius), -radius, radius).astype(np.int64)
        products = rows[:, first] * rows[:, second] * factors
        return np.hstack([products, DIAGONAL * integers[:, None] * rows])

    def averages(self, data: Labelled, start: int, stop: int) -> Integers:
        """Contributions (stop - start, entries) of units; the average of a unit's rows, rounded down."""
        chosen = np.flatnonzero((data.codes >= start) & (data.codes < stop))
        totals = np.zeros((stop - start, self.entries), dtype=np.int64)
        places = data.codes[chosen] - start
        np.add.at(totals, places, self.contributions(data.rows[chosen], data.targets[chosen]))
        return totals // np.bincount(places)[:, None]

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        """Ridge regression on the noisy sums."""
        count = self.plan.components
        scale = 1.0 / (float(self.ball.radius) ** 2 * self.plan.units)
        values = np.array([float(value) for value in noisy]) * scale
        first, second = np.triu_indices(count)
        matrix = np.zeros((count, count))
        factors = np.where(first == second, DIAGONAL, OFF_DIAGONAL)
        matrix[first, second] = matrix[second, first] = values[: first.size] / factors
        eigenvalues, vectors = np.linalg.eigh(matrix)
        eigenvalues = np.maximum(eigenvalues, 0.0) + float(self.plan.psi)
        return np.asarray(vectors @ ((vectors.T @ values[first.size :]) / DIAGONAL / eigenvalues))

    def describe(self) -> dict[str, Any]:
        return {"entries": self.entries}


Road = OutputRoad | ObjectiveRoad | SumsRoad


def _noise(blocks: tuple[int, ...], width: int, guarantee: Budget) -> NoiseLaw:
    """K-norm blocks of one scale, or Gaussian noise where a delta allows it and it is smaller."""
    pure = knorm_noise(blocks, np.ones(len(blocks)), "l2", width, PureDP(guarantee.epsilon))
    if isinstance(guarantee, PureDP):
        return pure
    normal = gaussian_noise(np.ones(sum(blocks)), width, guarantee)
    return normal if normal.variances()[0] < pure.variances()[0] else pure


def check_psi(psi: Any) -> Fraction:
    """Read a penalty: positive, and between 1e-9 and 1e9 so that floats can solve for it."""
    try:
        value = float(psi)
    except (TypeError, ValueError):
        raise ParameterError("psi", "be a number", repr(psi)) from None
    if not 1e-9 <= value <= 1e9:
        raise ParameterError("psi", "lie between 1e-9 and 1e9", repr(value))
    return Fraction(value)
