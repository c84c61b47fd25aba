"""The solvers that minimise and add noise once: to the minimiser, or in the objective.

Either releases the rounded minimiser of one function; losses with a largest slope can have the second.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpfda.machines.minimiser import least_tolerance, minimise
from dpfda.machines.solvers.solver import (
    Labelled,
    Published,
    Solver,
    Told,
    additive_noise,
    ceil_root,
    grid_exponent,
    rounded,
    sensitivity,
)
from dpfda.noise import KNormNoise, NoiseLaw, cost_of, knorm_loss, knorm_noise
from dpfda.numerics.aggregate import IntegerSum, exact_product
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import recomputed
from dpfda.publication.integers import MINIMISER, OBJECTIVE, publish_perturbed

# Share of the exact sensitivity that the minimisation's inexactness may add to the first's noise.
INEXACTNESS = 0.005
# Share of epsilon for the noise that hides the second's inexactness, and how exact its minimisation is,
# relatively.
SECOND_SHARE = Fraction(1, 50)
SECOND_INEXACTNESS = 1e-5


class MinimisingSolver(Solver):
    """A solver of one function that minimises and releases the rounded minimiser with noise."""

    def __post_init__(self) -> None:
        if self.terms.functions > 1:
            words = "be 'auto', 'means' or 'sums' for more than two classes"
            remedy = "Or set delta and use 'gradient'; or use two classes."
            raise RefusedMechanismError("solver", words, repr(self.name), remedy)
        # The proofs compare averages over one number of units.
        if self.terms.neighbours is Neighbours.ADD_REMOVE:
            words = "be one that noises sums under add/remove neighbours: 'sums', 'means' or 'gradient'"
            remedy = "Use $loss; or for classes the hinge; or set delta and use 'gradient'."
            raise RefusedMechanismError("solver", words, repr(self.name), remedy, loss="squared")

    @property
    @abstractmethod
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""

    @property
    @abstractmethod
    def cost_of_inexactness(self) -> float:
        """What rounding and the minimisation add to the noise, relatively."""

    @property
    def deviation(self) -> float:
        """Of the noise on the result, in every coefficient."""
        return math.ldexp(math.sqrt(float(self.noise.variances()[0])), -self.exponent)

    def coefficients(self, noisy: tuple[int, ...]) -> Floats:
        return np.array([math.ldexp(float(value), -self.exponent) for value in noisy])


@dataclass(frozen=True, eq=False)
class OutputSolver(MinimisingSolver):
    """Noise on the minimiser itself.

    **Guarantee.** The computed point is within eta = tolerance / (2 penalty) of b*, whatever the data,
    and its entries times 2^q are rounded to nearest integers, which moves a difference by at most
    K^(1/2). So neighbouring data sets give integers at most

        width = ceil(2^q (r + 2 eta)) + ceil(K^(1/2))

    apart in length, with r of `sensitivity`; tolerance, q and width come from public numbers. One
    K-norm block on all K integers then gives pure epsilon, Gaussian noise (epsilon, delta).

    Parameters
    ----------
    terms : Terms
    """

    name: ClassVar[str] = "output"

    @property
    def tolerance(self) -> float:
        """Length of gradient at which the minimisation stops."""
        wanted = INEXACTNESS * 2 * float(self.terms.penalty * sensitivity(self.terms))
        return max(wanted, least_tolerance(self.terms.loss, self.terms.penalty, self.terms.components))

    @property
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""
        return grid_exponent(sensitivity(self.terms))

    @property
    def width(self) -> int:
        """Largest distance of the integers of neighbouring data sets."""
        eta = Fraction(self.tolerance) / (2 * self.terms.penalty)
        moved = (sensitivity(self.terms) + 2 * eta) * Fraction(2) ** self.exponent
        return math.ceil(moved) + ceil_root(self.terms.components)

    @property
    def noise(self) -> NoiseLaw:
        """The calibrated law."""
        return additive_noise((self.terms.components,), "l2", self.width, self.terms.guarantee)

    @property
    def cost_of_inexactness(self) -> float:
        """What rounding and the minimisation add to the noise, relatively."""
        return self.width / float(sensitivity(self.terms) * Fraction(2) ** self.exponent) - 1

    def total(self, data: Labelled) -> IntegerSum:
        return IntegerSum.of(self.integers(data))

    def integers(self, data: Labelled) -> list[int]:
        """The rounded minimiser. Private."""
        examples = data.examples(self.ball.step)
        found = minimise(examples, self.terms.loss, self.terms.penalty, self.tolerance)
        grid = Fraction(2) ** self.exponent
        return [rounded(Fraction(value) * grid) for value in found.tolist()]

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Deviation () of the noise in every coefficient."""
        return np.array(self.deviation)

    def describe(self) -> dict[str, object]:
        return {"sensitivity": float(sensitivity(self.terms)), "tolerance": self.tolerance}


@dataclass(frozen=True, eq=False)
class ObjectiveSolver(MinimisingSolver):
    """Noise in the objective, and a little more on its approximate minimiser.

    The exact mechanism draws w in R^K with density proportional to exp(-|w| / c) and takes the
    minimiser t of F(t) + w . t / n (Chaudhuri, Monteleoni & Sarwate 2011, in the K-norm form). The
    program sees w rounded to a grid, and minimises in floats.

    **Guarantee.** Pure epsilon = e1 + e2.

    1. *The exact minimiser.* L is differentiable in f with an absolutely continuous, S-Lipschitz slope
       and F is strongly convex, so w = -n grad F(t) is a bijection between perturbations and minimisers
       for each data set, with Lipschitz inverse; the density of t is exp(-|w(t)| / c) |det dw/dt| up to
       a constant. For neighbours |w(t) - w'(t)| <= 2 M, since sums of gradients differ in one unit's
       average. Let E be n times the Hessian of F without that unit: E >= 2 penalty n, and the unit adds
       a matrix P >= 0 of trace at most S. So det(E + P) / det(E + P') <= det(I + E^-1/2 P E^-1/2), at
       most 1 + x with x = S / (2 penalty n) where P has rank one, and at most e^x where a unit has
       several rows. The loss is 2 M / c + log(1 + x), or 2 M / c + x. (log(1 + x) <= x (6 + x) / (6 + 4
       x): at 0 both are 0, and the right side's derivative minus 1 / (1 + x) is x^3 / ((3 + 2 x)^2 (1 +
       x)).)
    2. *What the program does.* With w rounded, by at most K^(1/2) / 2 grid units g, the minimiser moves
       by at most K^(1/2) g / (4 penalty n); the computed point is within tolerance / (2 penalty) of
       that; let eta be the sum. Given the data set, t determines w and so the result, which is within
       eta of t and then rounded on the grid 2^-q. Hence, for one t, two neighbouring data sets give
       integers at most width = ceil(2^q 2 eta) + ceil(K^(1/2)) apart, and K-norm noise of loss e2 is
       added. Composition: P(A | D) = E_t P(A | t, D) <= e^e2 E_t P(A | t, D') <= e^(e1 + e2) P(A | D').

    The minimisation works on u = t + w / (2 penalty n), |u| <= M / (2 penalty): minimising (1/n) sum
    L(y_i, o_i + z_i . u) + penalty |u|^2 with offsets o_i = -z_i . w / (2 penalty n), computed exactly
    and rounded once. So its certificate holds for every w, however large.

    Approximate minima are an idea of Iyengar et al. (2019), there with Gaussian noise.

    Parameters
    ----------
    terms : Terms
        With a loss that has a largest slope.

    Raises
    ------
    RefusedMechanismError
        For the square loss; and if penalty is so small that step 1 leaves less than half of epsilon.
    """

    name: ClassVar[str] = "objective"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terms.loss.lipschitz is None:
            words = "the square loss, whose slope has no bound"
            raise self.unsuited(words, "Use $loss, or $solver.", loss="huber", solver=("sums", "output"))
        if 2 * self.curvature_loss > self._epsilon:
            least = float(self.terms.loss.smoothness / (self._epsilon * self.terms.units))
            words = (
                f"be at least about {least:.2g} for objective perturbation with this size and epsilon"
            )
            remedy = "A smaller penalty would leave less than half of epsilon for the perturbation."
            raise RefusedMechanismError("penalty", words, f"{float(self.terms.penalty):.3g}", remedy)

    @property
    def _epsilon(self) -> Fraction:
        guarantee = self.terms.guarantee
        if isinstance(guarantee, ZeroConcentratedDP):
            words = "be 'gradient', 'sums', 'means' or 'output' under rho"
            remedy = "Or give an epsilon, with or without a delta."
            raise RefusedMechanismError("solver", words, repr(self.name), remedy)
        return guarantee.epsilon

    @property
    def shares(self) -> tuple[PureDP, PureDP]:
        """Budgets of the perturbed objective and of the noise on its minimiser."""
        second = self._epsilon * SECOND_SHARE
        return PureDP(self._epsilon - second), PureDP(second)

    @property
    def curvature_loss(self) -> Fraction:
        """The part of the loss that comes from the determinants, rounded up."""
        x = self.terms.loss.smoothness / (2 * self.terms.penalty * self.terms.units)
        return x if self.terms.grouped else x * (6 + x) / (6 + 4 * x)

    @property
    def _steepest(self) -> Fraction:
        steepest = self.terms.loss.lipschitz
        assert steepest is not None  # noqa: S101 (checked when the solver was made)
        return steepest

    @property
    def gradient_exponent(self) -> int:
        """The perturbation is rounded on the grid 2^-this."""
        return grid_exponent(2 * self._steepest)

    @property
    def _shift_width(self) -> int:
        return math.ceil(2 * self._steepest * Fraction(2) ** self.gradient_exponent)

    @property
    def _moving(self) -> Fraction:
        """What a perturbation is divided by to give how far the minimiser moves."""
        return 2 * self.terms.penalty * self.terms.units * Fraction(2) ** self.gradient_exponent

    @property
    def perturbation(self) -> KNormNoise:
        """Law of w, in grid units."""
        rest = self.shares[0].epsilon - self.curvature_loss
        return knorm_noise((self.terms.components,), (1.0,), "l2", self._shift_width, PureDP(rest))

    @property
    def loss(self) -> PureDP:
        """e1, recomputed from the scale in force and rounded up."""
        return PureDP(
            knorm_loss(self.perturbation.scales, "l2", self._shift_width) + self.curvature_loss
        )

    @property
    def tolerance(self) -> float:
        """Length of gradient at which the minimisation stops."""
        wanted = SECOND_INEXACTNESS * 2 * float(self._steepest) / self.terms.units
        return max(wanted, least_tolerance(self.terms.loss, self.terms.penalty, self.terms.components))

    @property
    def exponent(self) -> int:
        """Exponent q of the grid 2^-q of the result."""
        return grid_exponent(self._steepest / (self.terms.penalty * self.terms.units))

    @property
    def width(self) -> int:
        """Largest distance of the integers of neighbouring data sets, given the exact minimiser."""
        root = ceil_root(self.terms.components)
        shift = root / (2 * self._moving)
        eta = Fraction(self.tolerance) / (2 * self.terms.penalty) + shift
        return math.ceil(2 * eta * Fraction(2) ** self.exponent) + root

    @property
    def noise(self) -> KNormNoise:
        """Law of the noise on the result."""
        return knorm_noise((self.terms.components,), (1.0,), "l2", self.width, self.shares[1])

    @property
    def cost_of_inexactness(self) -> float:
        """Deviation of the noise on the result over that of the perturbation, where that is largest."""
        first, second = self.perturbation.scales[0], self.noise.scales[0]
        return float(second / Fraction(2) ** self.exponent * self._moving / first)

    def costs(self) -> dict[str, Cost]:
        first, second = self.shares
        achieved = recomputed(self.noise, self.norm, self.width, second)
        return {OBJECTIVE: Cost(first), MINIMISER: cost_of(self.noise, achieved, second)}

    def publish(self, data: Labelled, entry: Told, tuning: Told, paying: Paying = NAMED) -> Published:
        return publish_perturbed(
            lambda drawn: IntegerSum.of(self.integers(data, list(drawn))), self.perturbation, self.loss,
            self.noise, self.norm, self.width, self.shares, entry, paying, tuning,
        )  # fmt: skip

    def integers(self, data: Labelled, drawn: list[int]) -> list[int]:
        """The rounded approximate minimiser for a perturbation. Private, as is the perturbation."""
        divisor = self._moving * 2**self.ball.exponent
        products = exact_product(np.asarray(data.rows, dtype=np.int64), drawn)
        # A quotient of Python integers is rounded once, correctly.
        top, bottom = divisor.numerator, divisor.denominator
        offsets = np.array([_quotient(-product * bottom, top) for product in products])
        examples = data.examples(self.ball.step, offsets)
        found = minimise(examples, self.terms.loss, self.terms.penalty, self.tolerance)
        grid, pairs = Fraction(2) ** self.exponent, zip(found.tolist(), drawn, strict=True)
        return [rounded((Fraction(value) - Fraction(w) / self._moving) * grid) for value, w in pairs]

    def spread(self, noisy: tuple[int, ...]) -> Floats:
        """Largest deviation () of a coefficient from that without noise, by the penalty alone.

        With w = -n grad F(t) and the minimiser b*, F being 2 penalty-strongly convex: |t - b*| <= |w| /
        (2 penalty n). The noise on the minimiser is added to that. Records that bend the objective
        damp the noise further; how far is not public.
        """
        moved = math.sqrt(float(self.perturbation.variances()[0])) / float(self._moving)
        return np.array(moved + self.deviation)

    def describe(self) -> dict[str, object]:
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
