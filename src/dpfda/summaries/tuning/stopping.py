"""How often a private selection runs: the truncated negative binomial law, drawn exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import scipy
from flint import arb

from dpfda.numerics.errors import ParameterError
from dpfda.numerics.exactness import BitSource, draw_rounded, enclosed
from dpfda.numerics.rationals import exact, readable

# Below this the law is so wide that its draws leave the range of what can be run.
# More runs than these would take for ever, and a larger shape leaves a run next to no budget.
MOST_RUNS, LARGEST_SHAPE, SMALLEST_SHAPE = 10**6, 100, Fraction(1, 10**6)
SMALLEST_GAMMA = 1e-12


@dataclass(frozen=True)
class Stopping:
    """Law of the number K of runs, K >= 1.

    For eta not 0, P(K = k) is proportional to (1-gamma)^k prod_{l<k} (l+eta)/(l+1); for eta = 0 to
    (1-gamma)^k / k. At eta = 1 it is the geometric law gamma (1-gamma)^(k-1).

    Parameters
    ----------
    eta : Fraction
        Shape, above -1. The price of a selection is 2 + eta runs; a smaller eta is cheaper and stops
        after few runs more often.
    gamma : Fraction
        Strictly between 0 and 1; the smaller, the more runs.

    References
    ----------
    Papernot & Steinke (2022), Definition 1; Liu & Talwar (2019) for eta = 1.

    Examples
    --------
    >>> Stopping.with_mean(1, 10).gamma
    Fraction(1, 10)
    """

    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        eta, gamma = exact(self.eta, "eta"), exact(self.gamma, "gamma")
        if not eta > -1:
            raise ParameterError("eta", "exceed -1", readable(eta), "1 is the geometric law.")
        if not 0 < gamma < 1:
            raise ParameterError("gamma", "lie strictly between 0 and 1", readable(gamma))
        object.__setattr__(self, "eta", eta)
        object.__setattr__(self, "gamma", gamma)

    @classmethod
    def with_mean(cls, eta: object, mean: object) -> Stopping:
        """The law of a given expected number of runs.

        Parameters
        ----------
        eta : number
            Shape, above -1.
        mean : number
            Expected number of runs, above 1. Public. Exact for eta = 1, else to floating point; the
            guarantee is the same for every gamma.

        Raises
        ------
        ParameterError
            If either is out of range.
        """
        eta, wanted = exact(eta, "eta"), exact(mean, "expected_runs")
        if not wanted > 1:
            raise ParameterError("expected_runs", "exceed 1", readable(wanted))
        if wanted > MOST_RUNS:
            raise ParameterError("expected_runs", "be at most 1e6", readable(wanted))
        if eta > LARGEST_SHAPE or (eta != 0 and abs(eta) < SMALLEST_SHAPE):
            raise ParameterError(
                "eta", "be 0, or of size 1e-6 to 100", readable(eta), "1 is the geometric law."
            )
        if eta == 1:
            return cls(eta, 1 / wanted)
        cls(eta, Fraction(1, 2))  # refuses eta where no law has it

        def excess(log_gamma: float) -> float:
            return math.log(_mean(float(eta), math.exp(log_gamma)) / float(wanted))

        if excess(math.log(SMALLEST_GAMMA)) < 0:
            raise ParameterError("expected_runs", f"be attainable with eta = {readable(eta)}", f"{mean}")
        ends = math.log(SMALLEST_GAMMA), math.log1p(-1e-9)
        if excess(ends[1]) > 0:
            raise ParameterError("expected_runs", "exceed 1 by more than rounding", f"{mean}")
        return cls(eta, Fraction(math.exp(scipy.optimize.brentq(excess, *ends, xtol=1e-14))))

    @property
    def mean(self) -> float:
        """Expected number of runs."""
        return _mean(float(self.eta), float(self.gamma))

    @property
    def price(self) -> Fraction:
        """Privacy loss of a selection, in units of the loss of one run: 2 + eta."""
        return 2 + self.eta

    def probability(self, runs: int) -> float:
        """P(K = runs) in floating point, for study."""
        if runs < 1:
            return 0.0
        eta, gamma = float(self.eta), float(self.gamma)
        factors = ((1 - gamma) * (k + eta) / (k + 1) for k in range(1, runs))
        return _first(eta, gamma) * math.prod(factors)

    def draw(self, source: BitSource | None = None) -> int:
        """One exact draw from the operating system's entropy; `source` is for tests of this function.

        Inverse of the distribution function, in ball arithmetic: where the leading bits of the uniform
        variable do not determine K, more are appended to it.
        """
        return draw_rounded(self._inverse, 1, source)[0]

    def _inverse(self, uniforms: Sequence[arb]) -> list[arb]:
        uniform, eta, gamma = uniforms[0], enclosed(self.eta), enclosed(self.gamma)
        if self.eta == 0:
            term = (1 - gamma) / -gamma.log()
        else:
            term = (1 - gamma) * eta / ((-eta * gamma.log()).exp() - 1)
        total, runs = term, 1
        while not total > uniform:
            if not total < uniform:
                return [arb("nan")]
            term *= (1 - gamma) * (runs + eta) / (runs + 1)
            total += term
            runs += 1
        return [arb(runs)]


def _first(eta: float, gamma: float) -> float:
    """P(K = 1)."""
    if eta == 0:
        return (1 - gamma) / -math.log(gamma)
    return (1 - gamma) * eta / math.expm1(-eta * math.log(gamma))


def _mean(eta: float, gamma: float) -> float:
    if eta == 0:
        return (1 / gamma - 1) / -math.log(gamma)
    return eta * (1 - gamma) / (gamma * -math.expm1(eta * math.log(gamma)))
