"""What may be spent where each release's loss, too, is chosen by what was released before.

Distributions of losses that are chosen on the way do not simply convolve: an analyst who saw a large
loss could choose the next to suit it. What holds then is a *filter* (Rogers, Roth, Ullman & Vadhan
2016): a rule, fixed beforehand, by which the next release is refused, such that all that was let through
is within the budget whatever was chosen. (To convolve what was chosen and stop in time is none: arXiv
2602.06756.) Sums are filters: of epsilons and deltas (Rogers et al.), of rhos (Feldman & Zrnic 2021;
Whitehouse, Ramdas, Rogers & Wu 2023), and of squares of Gaussian lengths (Smith & Thakurta 2022).
The last two are not close to the truth for Laplace noise.

**A Gaussian filter with a buffer.** Write G_t for Gaussian noise of squared length t, and X <= Y if the
profile of X is at most that of Y everywhere. Keep a buffer b > 0 that is never spent, and charge a
release X a v with

    X (x) G_b  <=  G_(b + v),                                                               (1)

so that the buffer smooths what in the loss is not normal. *If the charges add up to at most w on every
path, all releases together are <= G_(b + w).* By induction from the last release: let X be the first,
its charge v known before it is made. Whatever it puts out, what follows is, together with G_b, at most
G_(b + w - v), everywhere: the profile of both at e is the mean over the loss l of X of the profile of
what follows at e - l, which may be any real number. So all is, together with G_b, <= X (x) G_(b + w - v)
= X (x) G_b (x) G_(w - v) <= G_(b + v) (x) G_(w - v) = G_(b + w). Leaving G_b out gives less.
Nothing bounds the number of releases: an event of an endless sequence is, in both laws at once, as
close as one likes to an event of finitely many.

**The charge.** A release is charged by what covers it: where X <= Y, X (x) G_b <= Y (x) G_b, so that a
charge that suits Y suits X, such as one Laplace variable for any symmetric law. Let X be one of those
below, symmetric with losses within [-e, e], and m(dl) =
exp(-l/2) P(dl), a symmetric measure. In it the product with G_b has the density exp(-b/8) (m * N(0, b)),
and G_(b+v) has exp(-(b+v)/8) N(0, b + v). One profile is below another if these cross just twice, the
second being higher outside (under P' both laws of exp(loss) have mass and mean one: Karlin & Novikoff
1963). Smoothing by N(0, b) makes no new crossings (Karlin 1968), and before it they are those of m with
exp(-v/8) N(0, v), which are at most four: for atoms at +-e (the coin), with a uniform density between
(Laplace), for a uniform density alone (the exponential mechanism), and for a block of M >= 3 dimensions,
whose density (1 - y)^((M-3)/2) (a + b' (1 - y)) in y = l^2/e^2 is logarithmically concave, while the
logarithm of a normal density is linear in y. In all four the normal density is the higher outside, and
of four crossings, even in l, two are gone if at l = 0 the second is not the higher. So (1) holds if

    log(1 + v/b) / 2 + v/8  >=  -log of the integral of exp(-l^2 / (2 b)) m(dl),                (2)

and v is the least that does. For the coin the right side is e^2/(2 b) + log cosh(e/2), and v = e^2 (1 +
e^2/(2 b) + ...). Gaussian noise is charged its squared length.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import acb, arb

from dpfda.numerics.exactness import enclosed, precision, upper_end
from dpfda.privacy.composition.block_profile import loss_weights
from dpfda.privacy.composition.gaussian import gaussian_delta
from dpfda.privacy.composition.loss import Loss
from dpfda.privacy.composition.losses import (
    EXACT_DIMENSION,
    ApproximateLoss,
    BlockLoss,
    BlocksLoss,
    GaussianLoss,
    LaplaceLoss,
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

    Parameters
    ----------
    epsilon, delta : Fraction
        Positive; delta below 1.
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
