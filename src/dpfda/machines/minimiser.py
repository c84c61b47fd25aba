"""Losses, and a minimisation that stops at a certified distance from the exact minimiser.

The objective over b in R^K is

    F(b) = sum_i v_i L(y_i, o_i + z_i . b) + penalty |b|^2,     v_i >= 0, sum v_i = 1, |z_i| <= 1,

which is 2 penalty-strongly convex, so |b - b*| <= |grad F(b)| / (2 penalty) for every b. The
minimisation stops at |grad F(b)| <= tolerance, where the gradient computed in floats counts with a
margin for its rounding that is proved below. So whatever the data, the result is within tolerance / (2
penalty) of b*.

**It always stops.** Newton steps come first and are almost always enough. If they are not, gradient
descent with step 1 / L takes over, L = S + 2 penalty, S the largest second derivative of the loss. Let
the computed gradient err by e and the update by 4 u |b|, and let d = e + 4 u L |b|. The next gradient is
(I - A) g - A r with |r| <= d and a symmetric A (the mean of second derivatives along the step, over L;
for slopes with corners a limit of such), 2 penalty / L <= A <= 1. By convexity of the square

    |(I - A) g - A r|^2 <= sum_j (1 - a_j) g_j^2 + a_j r_j^2 <= (1 - 2 penalty / L) |g|^2 + d^2,

so |g| ends, at the latest, within any factor above one of (L / (2 penalty))^(1/2) d, which
`least_tolerance` is above. It starts within three times the public bound of |b*| from b*, and each step
brings b closer up to errors, so |b| stays below four times that bound. No limit on steps, no error and
no answer without a certificate depends on data.

**Rounding.** Let u = 2^-53 and gamma_k = k u / (1 - k u) (Higham 2002, Lemma 3.1). A dot product
z_i . b in any order errs by at most gamma_K |b|, the offset by u |o_i| <= u (|f| + |b|), their sum by
u |f|. So the slope L' errs by at most S (gamma_K + u) |b| + 2 u sup_f |f L''(y, f)|, and by a few u of
its own size. Sums over blocks of at most 128 rows, in any order, err by gamma_128 times the sum of
sizes, which is at most sup |L'|; the sums of blocks are added exactly (`math.fsum`).
All constants are doubled in `_margin`. Exponentials are taken to be within 32 units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError, Private
from dpfda.numerics.parameters import choice, real, shown

UNIT = 2.0**-53
BLOCK = 128
# Of the arc of a hinge, and of the square part of Huber's loss, where none is given.
WIDTHS = {"hinge": Fraction(1), "huber": Fraction(1, 2)}
# Far perturbations and small penalties take up to about 250 steps; descent, whose number of steps grows
# like L / (2 penalty), would then take hours.
NEWTON_STEPS = 500
HALVINGS = 30


@dataclass(frozen=True)
class Loss:
    """A convex loss L(y, f) with the public numbers that its privacy rests on.

    Targets lie in [-1, 1]: labels -1 and 1, or a real target scaled from its public bounds.

    Parameters
    ----------
    name : {"hinge", "logistic", "huber", "squared", "auto"}
        "auto" awaits the choice between hinge and squared.
    width : Fraction
        hinge: length of the arc that rounds the corner, so that L differs from max(0, 1 - y f) by at
        most half of it; huber: where the square turns into a line. Unused by the others.

    Notes
    -----
    With r = y - f and m = y f:

    - hinge: 0 for m >= 1; (1 - m)^2 / (2 width) for 1 - width <= m <= 1; 1 - m - width/2 below.
    - logistic: log(1 + exp(-m)).
    - huber: r^2 for |r| <= width; 2 width |r| - width^2 beyond.
    - squared: r^2.
    """

    name: str
    width: Fraction = Fraction(1)

    @property
    def lipschitz(self) -> Fraction | None:
        """Largest slope |dL/df|; None where there is none."""
        return {"hinge": Fraction(1), "logistic": Fraction(1), "huber": 2 * self.width}.get(self.name)

    @property
    def smoothness(self) -> Fraction:
        """Largest second derivative in f."""
        largest = {"hinge": 1 / self.width, "logistic": Fraction(1, 4)}
        return largest.get(self.name, Fraction(2))

    @property
    def saturation(self) -> float:
        """Largest |f d2L/df2|, up to rounding: what a relative error of f can do to the slope."""
        largest = {"hinge": 1 / self.width, "logistic": Fraction(1, 4), "huber": 2 + 2 * self.width}
        return float(largest.get(self.name, Fraction(2)))

    def values(self, y: Floats, f: Floats) -> Floats:
        """L(y, f)."""
        width = float(self.width)
        if self.name == "hinge":
            short = np.maximum(1.0 - y * f, 0.0)
            inner = np.minimum(short, width)
            return np.asarray(inner**2 / (2 * width) + (short - inner))
        if self.name == "logistic":
            return np.asarray(np.logaddexp(0.0, -y * f))
        inner = np.minimum(np.abs(y - f), width if self.name == "huber" else math.inf)
        return np.asarray(2 * inner * np.abs(y - f) - inner**2)

    def slopes(self, y: Floats, f: Floats) -> Floats:
        """dL/df."""
        if self.name == "hinge":
            return np.asarray(-y * np.clip((1.0 - y * f) / float(self.width), 0.0, 1.0))
        if self.name == "logistic":
            return np.asarray(-y * scipy.special.expit(-y * f))
        width = float(self.width)
        residual = f - y
        return 2.0 * (np.clip(residual, -width, width) if self.name == "huber" else residual)

    def curvatures(self, y: Floats, f: Floats) -> Floats:
        """d2L/df2, where it exists."""
        if self.name == "hinge":
            short = 1.0 - y * f
            return np.where((short > 0) & (short < float(self.width)), 1.0 / float(self.width), 0.0)
        if self.name == "logistic":
            return np.asarray(scipy.special.expit(y * f) * scipy.special.expit(-y * f))
        inside = np.abs(f - y) < (float(self.width) if self.name == "huber" else math.inf)
        return np.where(inside, 2.0, 0.0)


def read_loss(value: object, names: Sequence[str]) -> Loss:
    """Read the `loss` of a machine: a word, a word with a width such as "huber:0.5", or a `Loss`.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    name, width = (value.name, value.width) if isinstance(value, Loss) else (value, None)
    if isinstance(name, str) and ":" in name and not isinstance(value, Loss):
        name, _, text = name.partition(":")
        try:
            width = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise ParameterError("loss", "have a number after the colon", shown(value)) from None
        if name not in ("hinge", "huber"):
            raise ParameterError("loss", "have no width unless it is hinge or huber", shown(value))
    name = choice(name, "loss", names)
    width = WIDTHS.get(name, Fraction(1)) if width is None else width
    return Loss(name, Fraction(real(width, "width", 1e-3, 2.0, "lie between 0.001 and 2")))


@dataclass(frozen=True, eq=False, repr=False)
class Examples(Private):
    """Private examples, ready to be minimised over.

    Parameters
    ----------
    rows : array (N, K)
        Features z_i of length at most one.
    targets : array (N,)
        y_i in [-1, 1].
    weights : array (N,)
        v_i; they add up to one.
    offsets : array (N,)
        o_i, each within one rounding of what it stands for.
    """

    rows: Floats
    targets: Floats
    weights: Floats
    offsets: Floats


def largest_norm(loss: Loss, penalty: Fraction) -> float:
    """Public bound of |b*|.

    2 penalty |b*| is at most the largest slope; for the square loss penalty |b*|^2 = sum v_i f_i (y_i -
    f_i), which is at most 1/4.
    """
    if loss.lipschitz is None:
        return 0.5 / math.sqrt(penalty)
    return float(loss.lipschitz / (2 * penalty))


def least_tolerance(loss: Loss, penalty: Fraction, components: int) -> float:
    """Smallest tolerance for which the minimisation is proved to stop, from public numbers."""
    norm = 4.0 * largest_norm(loss, penalty)
    steepness = float(loss.smoothness + 2 * penalty)
    margin = _margin(loss, float(penalty), components, norm)
    ratio = math.sqrt(steepness / (2 * float(penalty)))
    return 2.0 * (ratio * (margin + 4 * UNIT * steepness * norm) + 3 * margin)


def minimise(examples: Examples, loss: Loss, penalty: Fraction, tolerance: float) -> Floats:
    """A point (K,) whose exact gradient is at most `tolerance` long, whatever the examples.

    Parameters
    ----------
    examples : Examples
        Private.
    loss : Loss
    penalty : Fraction
        Penalty on |b|^2, exactly a float.
    tolerance : float
        At least `least_tolerance`; fixed from public numbers.

    Raises
    ------
    ParameterError
        If the tolerance is too small to be certified, which is a public matter.
    """
    components = examples.rows.shape[1]
    if tolerance < least_tolerance(loss, penalty, components):
        raise ParameterError("tolerance", "be at least what rounding allows", repr(tolerance))
    with np.errstate(all="ignore"):
        start = newton(examples, loss, penalty, tolerance)
        if start is None or not np.linalg.norm(start) <= 2.0 * largest_norm(loss, penalty):
            start = np.zeros(components)
        return descend(examples, loss, penalty, tolerance, start)


def is_certified(gradient: Floats, point: Floats, loss: Loss, penalty: float, tolerance: float) -> bool:
    """Whether the exact gradient at a point is proved to be at most `tolerance` long."""
    components = point.size
    length = math.sqrt(math.fsum((gradient**2).tolist())) * (1 + (components + 8) * UNIT)
    size = math.sqrt(math.fsum((point**2).tolist())) * (1 + (components + 8) * UNIT)
    return length + _margin(loss, penalty, components, size) <= tolerance


def _margin(loss: Loss, penalty: float, components: int, norm: float) -> float:
    """Bound of the error of a computed gradient at a point of this norm: twice what is proved."""
    steepest = 2.0 * (1.0 + norm) if loss.lipschitz is None else float(loss.lipschitz)
    smooth = float(loss.smoothness)
    dot = _gamma(components) * norm
    slope = smooth * dot + 64 * UNIT * (loss.saturation + smooth + steepest)
    sums = _gamma(BLOCK + 8) * steepest
    return 2.0 * (slope + sums + 32 * UNIT * (steepest + penalty * norm))


def _gamma(count: int) -> float:
    return count * UNIT / (1 - count * UNIT)


def gradient_at(examples: Examples, loss: Loss, penalty: float, point: Floats) -> Floats:
    """The gradient in floats: sums of blocks, added exactly."""
    slopes = examples.weights * loss.slopes(examples.targets, _fitted(examples, point))
    parts = [
        slopes[start : start + BLOCK] @ examples.rows[start : start + BLOCK]
        for start in range(0, slopes.size, BLOCK)
    ]
    sums = np.array([math.fsum(column) for column in np.array(parts).T.tolist()])
    return np.asarray(sums + 2 * penalty * point)


def _fitted(examples: Examples, point: Floats) -> Floats:
    return np.asarray(examples.offsets + examples.rows @ point)


def newton(examples: Examples, loss: Loss, exact: Fraction, tolerance: float) -> Floats | None:
    """Damped Newton steps from zero; None where they break down."""
    penalty = float(exact)
    point = np.zeros(examples.rows.shape[1])
    for _ in range(NEWTON_STEPS):
        gradient = gradient_at(examples, loss, penalty, point)
        if is_certified(gradient, point, loss, penalty, tolerance):
            return point
        curvatures = examples.weights * loss.curvatures(examples.targets, _fitted(examples, point))
        active = curvatures > 0
        scaled = examples.rows[active] * np.sqrt(curvatures[active])[:, None]
        hessian = scaled.T @ scaled + 2 * penalty * np.eye(point.size)
        try:
            step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        moved = _line_search(examples, loss, penalty, point, step, float(gradient @ step))
        if moved is None:
            return point
        point = moved
    return point


def _line_search(
    examples: Examples, loss: Loss, penalty: float, point: Floats, step: Floats, slope: float
) -> Floats | None:
    """The first of the halved steps that lowers the objective; None where rounding hides it."""

    def objective(at: Floats) -> float:
        losses = loss.values(examples.targets, _fitted(examples, at))
        return float(examples.weights @ losses + penalty * (at @ at))

    before, length = objective(point), 1.0
    for _ in range(HALVINGS):
        candidate = point - length * step
        # The last steps change the objective by less than its rounding.
        if objective(candidate) <= before - 1e-4 * length * slope + 4 * UNIT * abs(before):
            return candidate
        length /= 2
    return None


def descend(examples: Examples, loss: Loss, exact: Fraction, tolerance: float, point: Floats) -> Floats:
    """Gradient descent until certified; the proof that it ends is in the module's docstring."""
    penalty, step = float(exact), 1.0 / float(loss.smoothness + 2 * exact)
    while True:
        gradient = gradient_at(examples, loss, penalty, point)
        if is_certified(gradient, point, loss, penalty, tolerance):
            return point
        point = point - step * gradient
