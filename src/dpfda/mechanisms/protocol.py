"""The public problem that a mechanism sees, and the design that it answers with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from dpfda.bases import Basis
from dpfda.bases.priors import CurvePrior, Hierarchy, ImagePrior, Prior
from dpfda.bounds import BodyNorm, Bound, Cube, IntegerBall, IntegerBody, Norm
from dpfda.noise import NoiseLaw
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    ZeroConcentratedDP,
    without_delta,
)

if TYPE_CHECKING:
    import scipy

# Grid units per unit counted, where the number of units is private.
COUNT_SCALE = 2**20


@dataclass(frozen=True, eq=False)
class Problem:
    """Public numbers from which a mechanism designs its noise. No data, ever.

    variances: array (K,). Relative prior variances of the coefficients, decreasing.
    decay: Exponent a in variances ~ j^-a, where known.
    ball: Where every record's integer coefficients lie.
    size: Number of privacy units: public, or already released with noise.
    guarantee: What the noise must give.
    neighbours: For which pairs of data sets.
    cube: For bounds on values, a smaller body: every record's coefficients are B x for integers x on the
        grid with |x_k| <= h_k. None where no more is known than the ball.
    mixture: What is believed of the mean, in units of the squared radius; None takes `prior` at its
        word.
    curves: For the default mean of curves between bounds: what it is estimated from.
    images: The same for functions of several variables.
    """

    variances: Floats
    decay: float | None
    ball: IntegerBall | IntegerBody
    size: int
    guarantee: Guarantee
    neighbours: Neighbours
    cube: Cube | None = None
    mixture: Prior | None = None
    curves: CurvePrior | None = None
    images: ImagePrior | None = None

    @property
    def norm(self) -> Norm:
        """Norm of the ball that every record lies in: for a box or an ellipsoid an l2 ball around it."""
        return "l2" if isinstance(self.ball, IntegerBody) else self.ball.norm

    @property
    def width(self) -> int:
        """That norm, by which neighbouring integer sums differ at most."""
        return self.neighbours.differences(self.ball.radius)

    @property
    def radius(self) -> float:
        """Radius of that ball in units of the data, times the root of the domain's."""
        return self.ball.radius * self.ball.step

    @property
    def pure(self) -> Problem:
        """The problem for noise that leaves the delta of an approximate guarantee to others."""
        if not isinstance(self.guarantee, ApproximateDP):
            return self
        return replace(self, guarantee=without_delta(self.guarantee))

    @property
    def body(self) -> tuple[BodyNorm, tuple[int, ...]] | None:
        """Kind and sizes of the set in which sums differ, where it is a box or an ellipsoid."""
        if not isinstance(self.ball, IntegerBody):
            return None
        return self.ball.norm, tuple(self.neighbours.differences(axis) for axis in self.ball.axes)

    @property
    def enclosed(self) -> Problem:
        """The problem with an l2 ball around a box or ellipsoid, for mechanisms that know balls only."""
        if not isinstance(self.ball, IntegerBody):
            return self
        return replace(self, ball=self.ball.enclosing)

    def differences(self, design: Design) -> tuple[Norm | BodyNorm, int | tuple[int, ...]]:
        """Set in which the integers that a design adds noise to differ between neighbours.

        Returns the kind of the set and its radius; for a box or an ellipsoid its size along each axis.
            Measured integers A x with |x_k| <= h_k lie in the box of half-widths sum_k |A_jk| h_k. The
            number of units, where it is one coordinate more, moves by one: a box with one side more.
        """
        if design.measurement is not None:
            if self.cube is None:
                raise ParameterError("cube", "be known where values on the grid are measured", "None")
            largest = exact_product(abs(design.measurement.matrix), self.cube.half_widths.tolist())
            sizes = tuple(self.neighbours.differences(width) for width in largest)
            return "box", sizes if not design.counts else (*sizes, design.counts)
        if self.body is None:
            return self.norm, self.width
        # Coefficients without a size are zero in every record.
        kind, sizes = self.body
        return kind, sizes + (0,) * (self.variances.size - len(sizes))

    @cached_property
    def eigenvalues(self) -> Floats:
        """Prior variances scaled to sum one, as the plug-in rules want them."""
        return np.asarray(self.variances / self.variances.sum())

    @cached_property
    def prior(self) -> Floats:
        """Prior E mu_j^2 of the mean, in units of the squared radius.

        l2 ball: sum_j E mu_j^2 = 1. l1 ball: sum_j (E mu_j^2)^(1/2) = 1. linf ball: average one. Box of
        half-widths a_j: uniform on it, E mu_j^2 = a_j^2 / 3. Ellipsoid: sum_j E mu_j^2 / a_j^2 = 1, the
        terms in proportion to the eigenvalues.
        """
        if isinstance(self.ball, IntegerBody):
            squares = np.zeros(self.variances.size)
            axes = np.asarray(self.ball.axes, dtype=np.float64) / self.ball.radius
            shares = self.variances[: axes.size] / self.variances[: axes.size].sum()
            squares[: axes.size] = axes**2 * (1 / 3 if self.ball.norm == "box" else shares)
            return squares
        if self.norm == "linf":
            return np.asarray(self.eigenvalues * self.variances.size)
        if self.norm == "l1":
            return np.asarray(self.eigenvalues / np.sqrt(self.eigenvalues).sum() ** 2)
        return self.eigenvalues

    @cached_property
    def belief(self) -> Prior:
        """What is believed of the mean: the mixture or `prior`, in units of the squared radius."""
        return Prior.of(self.prior) if self.mixture is None else self.mixture

    def noise_power(self, variances: Floats) -> Floats:
        """Grid-unit variances on the sum, as variances on the mean in units of squared radius."""
        return np.asarray(variances / (float(self.ball.radius) * self.size) ** 2)

    def shrinkage(self, noise: NoiseLaw) -> Floats:
        """Factors for noise on the leading coefficients that minimise the expected squared error."""
        return wiener(self.prior[: noise.components], self.noise_power(noise.variances()))

    @property
    def signal(self) -> float:
        """The n epsilon^2 of the plug-in rules, with rho read as epsilon^2 / 2."""
        guarantee = self.guarantee
        if isinstance(guarantee, ZeroConcentratedDP):
            return self.size * 2 * float(guarantee.rho)
        return self.size * float(guarantee.epsilon) ** 2


@dataclass(frozen=True, eq=False)
class Measurement:
    """Integers that get noise in place of coefficients: linear forms of the exact sum on the grid.

    matrix: array (M, m) of int64, or sparse array. Public. Takes the sum of the records' integers on the
        grid to what gets noise.
    exponent: The integers are in units of 2^-exponent of a value.
    synthesis: array (K, M). Public. Takes noisy integers, in those units and over the number of units,
        to coefficients. None where the prior of the design says how, by transforms.
    released: Number K of functions, where there is no synthesis.
    """

    matrix: Integers | scipy.sparse.csr_array
    exponent: int
    synthesis: Floats | None
    released: int = 0

    def __post_init__(self) -> None:
        # What is no list is an array, or a sparse one: scipy.sparse is loaded by what makes one.
        matrix = self.matrix if hasattr(self.matrix, "dtype") else np.asarray(self.matrix)
        integral = matrix.dtype == np.int64 and matrix.ndim == 2
        if self.synthesis is None:
            if not integral or self.released < 1:
                raise ParameterError(
                    "measurement",
                    "have an integer matrix (M, m) and a number of functions",
                    f"{matrix.dtype} {matrix.shape} and {self.released}",
                )
            return
        synthesis = np.asarray(self.synthesis, dtype=np.float64)
        if not integral or synthesis.ndim != 2 or synthesis.shape[1] != matrix.shape[0]:
            raise ParameterError(
                "measurement",
                "have an integer matrix (M, m) and a synthesis (K, M)",
                f"{matrix.dtype} {matrix.shape} and {synthesis.shape}",
            )
        if not np.all(np.isfinite(synthesis)):
            raise ParameterError("synthesis", "be finite", "NaN or infinity")


@dataclass(frozen=True, eq=False)
class Design:
    """What a mechanism chose: noise on the integer sum, then public shrinkage.

    mechanism: Name of the mechanism.
    parameters: Its public tuning, as numbers and words.
    noise: Calibrated law, on the leading components.
    shrinkage: array (M,). Factors in [0, 1] applied to the noisy coefficients: post-processing.
    thresholds: Soft thresholds of the exact sum before the noise, in grid units; empty for none.
    measurement: What gets noise, where that is not the leading coefficients. Factors are then ones.
    hierarchy: Public prior under which the release is shrunk to its posterior mean, in place of the
        factors.
    counts: Grid units per unit of a private number of units that gets the last coordinate of the noise,
        after sums over cells; 0 where the number is public, or has noise of its own alone.
    """

    mechanism: str
    parameters: Mapping[str, object]
    noise: NoiseLaw
    shrinkage: Floats
    thresholds: tuple[int, ...] = ()
    measurement: Measurement | None = None
    hierarchy: Hierarchy | CurvePrior | ImagePrior | None = None
    counts: int = 0

    def __post_init__(self) -> None:
        count = self.components
        shrinkage = np.asarray(self.shrinkage, dtype=np.float64)
        if shrinkage.shape != (count,) or not np.all(np.isfinite(shrinkage)):
            raise ParameterError(
                "shrinkage", f"be {count} finite factors", f"an array of shape {shrinkage.shape}"
            )
        if self.thresholds and (
            len(self.thresholds) != count
            or any(type(level) is not int or level < 0 for level in self.thresholds)
        ):
            # A negative level would move values apart and so raise the sensitivity.
            raise ParameterError("thresholds", f"be {count} integers of at least 0", "others")
        if self.counts and self.measurement is None:
            raise ParameterError(
                "counts", "be 0 where no sums over cells are measured", f"{self.counts}"
            )
        if self.measurement is not None and self.measurement.matrix.shape[0] != count:
            raise ParameterError(
                "measurement", f"have {count} rows, as the noise", f"{self.measurement.matrix.shape[0]}"
            )

    @classmethod
    def shrunk(
        cls, problem: Problem, mechanism: str, parameters: Mapping[str, object], noise: NoiseLaw
    ) -> Self:
        """With the factors that suit the noise best."""
        return cls(mechanism, parameters, noise, problem.shrinkage(noise))

    @property
    def components(self) -> int:
        """Number of sums that get noise: leading coefficients, unless others are measured."""
        return self.noise.components - (self.counts > 0)

    @property
    def functions(self) -> int:
        """Number of leading functions that the release consists of."""
        if self.measurement is None:
            return self.components
        synthesis = self.measurement.synthesis
        return self.measurement.released if synthesis is None else int(synthesis.shape[0])

    def exponent(self, problem: Problem) -> int:
        """The integers that get noise are in units of 2^-exponent."""
        return problem.ball.exponent if self.measurement is None else self.measurement.exponent

    def step(self, problem: Problem) -> float:
        """One unit of what gets noise, over the number of units, in units of the data."""
        return math.ldexp(1.0, -self.exponent(problem)) / problem.size

    def coefficients(self, means: Floats) -> Floats:
        """Coefficients (..., functions) from means (..., components) of what gets noise, shrunk."""
        shrunk = means * self.shrinkage
        if self.measurement is None:
            return shrunk
        if self.measurement.synthesis is None:
            raise ParameterError("design", "be linear in what was measured", self.mechanism)
        return np.asarray(shrunk @ self.measurement.synthesis.T)


class Mechanism(Protocol):
    """Chooses noise for a public problem.

    Two facts may be declared, each a class variable that is true: ``takes_bodies``, that it knows boxes
    and ellipsoids, where others are given a ball around them; and ``one_law``, that as made by its name
    its noise is of one law with one parameter whatever the number of units, so that the loss is known
    before a private count is.
    """

    name: ClassVar[str]

    def design(self, problem: Problem) -> Design:
        """Calibrated noise and shrinkage.

        Raises RefusedMechanismError if the mechanism cannot give the guarantee asked for.
        """


@runtime_checkable
class AdaptingMechanism(Mechanism, Protocol):
    """A mechanism that replaces the basis or the form of the bound before records are embedded."""

    def adapt(
        self, basis: Basis, bound: Bound, size: int | None, guarantee: Guarantee, neighbours: Neighbours
    ) -> tuple[Basis, Bound]:
        """The basis and the bound that the mechanism works with, from public numbers.

        It leaves what it has adapted as it is, and keeps the grid, its weights and the domain. `size` is
        None where the number of units is private.

        Raises ParameterError if the bound does not suit the mechanism.
        """


class CandidateMechanism(Mechanism, Protocol):
    """A mechanism that "auto" chooses from; it can be made without arguments."""

    def candidates(self, problem: Problem, error: Callable[[Design], float]) -> Iterable[Design]:
        """Designs to be compared on this problem, best by its own lights; none where it does not suit.

        Under an approximate guarantee it is asked twice, for this and for pure privacy of the same
        epsilon. `error` is the expected typical error by which designs are compared.
        """


def wiener(prior: Floats, power: Floats) -> Floats:
    """Shrinkage that minimises the expected squared error: prior / (prior + noise)."""
    return np.asarray(prior / (prior + power))


def check_penalty(eta: float, penalty: float, positive: bool = False) -> None:
    """Refuse exponents and penalties that smooth nothing. Raises ParameterError."""
    if not (
        math.isfinite(eta) and math.isfinite(penalty) and penalty >= 0 and (penalty or not positive)
    ):
        words = f"be finite with penalty {'>' if positive else '>='} 0"
        raise ParameterError("eta and penalty", words, f"eta={eta}, penalty={penalty}")


def kernel_scales(eigenvalues: Floats, eta: float, penalty: float) -> Floats:
    """Relative scales on raw coefficients of noise shaped like the kernel, for `rkhs_shrinkage`.

    lambda_j^(1/2) over the factors, written so that it does not divide 0 by 0.
    """
    return np.asarray((eigenvalues**eta + penalty) / eigenvalues ** (eta - 0.5))


def rkhs_shrinkage(eigenvalues: Floats, eta: float, penalty: float) -> Floats:
    """Factors of the minimiser of |x - theta|^2 + penalty |theta|^2 in the space of C^eta.

    Lin & Reimherr, Theorem 11: lambda^eta / (lambda^eta + penalty).
    """
    power = eigenvalues**eta
    return np.asarray(power / (power + penalty))


def smoothing_exponent(decay: float | None, default: float) -> float:
    """eta_r = 1 + 1/(2 nu) for lambda_j ~ j^(-2 nu) (Lin & Reimherr, Theorem 13)."""
    if decay is None:
        return default
    return 1.0 if math.isinf(decay) else 1.0 + 1.0 / decay
