"""What may be spent where each release's loss, too, is chosen by what was released before.

A *filter* is a rule, fixed beforehand, by which the next release is refused, such that all that was let
through is within the budget whatever was chosen (Rogers, Roth, Ullman & Vadhan 2016). Here it is
Gaussian, with a buffer b that is never spent. A symmetric release with losses within [-e, e] is charged
the least v with

    log(1 + v/b) / 2 + v/8  >=  -log of the integral of exp(-l^2 / (2 b)) m(dl),

m(dl) = exp(-l/2) P(dl), and Gaussian noise its squared length. If charges add up to at most w on every
path, all releases together are within Gaussian noise of squared length b + w. Proof:
docs/composition.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import acb, arb

from dpfda.numerics.exactness import enclosed, precision, upper_end
from dpfda.privacy.composition.block_profile import loss_weights
from dpfda.privacy.composition.gaussian import gaussian_delta
from dpfda.privacy.composition.losses import (
    EXACT_DIMENSION,
    ApproximateLoss,
    BlockLoss,
    BlocksLoss,
    GaussianLoss,
    LaplaceLoss,
    Loss,
    PureLoss,
    RangeLoss,
)
from dpfda.privacy.composition.rounding import PRECISION, at_least, narrowed, turning

# Blocks of fewer or more dimensions are charged as Laplace noise of their loss.
LEAST_DIMENSION = 3
# Exponentials of more than twice this are not written out as numbers.
LARGEST_EXPONENT = 100


@lru_cache(maxsize=1024)
def gaussian_limit(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Largest squared length t, rounded down, for which G_t is within (epsilon, delta).

    epsilon, delta: Positive; delta below 1.
    """

    def within(square: Fraction) -> bool:
        return gaussian_delta(epsilon, _root(square)) <= delta

    return turning(within)[0]


@lru_cache(maxsize=4096)
def filter_charge(loss: Loss, buffer: Fraction) -> Fraction | None:
    """Charge v of a release to the filter with this buffer, rounded up; None where none is known.

    An (epsilon, delta) loss is charged as the coin; its delta must be added to that of the filter.

    Parameters
    ----------
    loss : Loss
    buffer : Fraction
        b, positive.

    Examples
    --------
    >>> v = filter_charge(LaplaceLoss("0.01"), Fraction(1, 400))
    >>> print(round(float(v), 8))
    0.00010168
    """
    if isinstance(loss, GaussianLoss):
        return 2 * loss.rho
    if isinstance(loss, ApproximateLoss):
        loss = PureLoss(loss.epsilon)
    if isinstance(loss, BlocksLoss) or (
        isinstance(loss, BlockLoss) and not LEAST_DIMENSION <= loss.dimension <= EXACT_DIMENSION
    ):
        loss = LaplaceLoss(loss.epsilon)
    if not isinstance(loss, PureLoss | LaplaceLoss | RangeLoss | BlockLoss):
        return None
    with precision(PRECISION):
        smoothed = _smoothed(loss, buffer)
        if not smoothed > 0:
            # Not enough digits of a block's integral; Laplace noise of its loss is worse.
            return filter_charge(LaplaceLoss(loss.epsilon), buffer)
        needed = -smoothed.log()

        def short(v: Fraction) -> bool:
            return not (enclosed(v / buffer)).log1p() / 2 + enclosed(v / 8) >= needed

        # Either term alone is enough there; the first, written out, may have more digits than memory.
        high = at_least(8 * needed)
        if needed < LARGEST_EXPONENT:
            high = min(high, at_least(enclosed(buffer) * (2 * needed).expm1()))
        return at_least(narrowed(short, Fraction(0), high * (1 + Fraction(1, 2**40)))[1])


def _smoothed(loss: PureLoss | LaplaceLoss | RangeLoss | BlockLoss, buffer: Fraction) -> arb:
    """The integral of exp(-l^2 / (2 b)) m(dl)."""
    e, b = enclosed(loss.epsilon), enclosed(buffer)
    atom = (-e * e / (2 * b)).exp()
    # Of exp(-l^2 / (2 b)) from -e to e.
    between = (2 * arb.pi() * b).sqrt() * (e / (2 * b).sqrt()).erf()
    if isinstance(loss, PureLoss):
        return atom / (e / 2).cosh()
    if isinstance(loss, LaplaceLoss):
        return (-e / 2).exp() * (atom + between / 4)
    if isinstance(loss, RangeLoss):
        return between / (4 * (e / 2).sinh())
    first, second = loss_weights(loss.dimension, loss.epsilon, PRECISION)
    power = loss.dimension - 2

    def integrand(psi: acb, _: bool) -> acb:
        sine, cosine = psi.sin(), psi.cos()
        square = sine * sine
        return sine**power * (first + second * square) * (-((e * cosine) ** 2) / (2 * b)).exp()

    return arb(acb.integral(integrand, 0, arb.pi(), rel_tol=arb(2) ** -90, abs_tol=arb(2) ** -90).real)


def _root(square: Fraction) -> Fraction:
    with precision(PRECISION):
        return upper_end(enclosed(square).sqrt())
