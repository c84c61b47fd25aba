"""Statistics that the tests share: goodness of fit with a stated false-alarm rate, intervals, audits.

An audit looks for an event {log likelihood ratio >= t} that tells two neighbouring data sets apart: t
is chosen on floats drawn from the law, which cost nothing, and the event's two chances are bounded by
Clopper-Pearson intervals on noise as the program draws it. The same noise is added to both sums: that
the two intervals hold needs no independence. The bound log((P - delta) / P') is above the claim by
chance at most 2e-7. With the noise cut by sqrt(2) the same audit must find the claim broken; numbers of
trials are such that the expected bound is then about six of its standard deviations or more above the
claim, found by simulation, and so it is missed with a chance of about 1e-9.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
from scipy import stats

from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise
from dpfda.noise.bodies import EllipsoidNoise

FALSE_ALARM = 1e-6
"""Chance that one statistical assertion fails although the code is right."""

ERROR = 1e-7
"""Chance that one side of an audit's interval is wrong."""

SEEN = 1e-8
"""Below it are p-values of wrong laws, where a correct one must fit beside."""

PILOT = 40_000
"""Floats on which an audit chooses its event."""


def rounded_laplace(integer: int, scale: float) -> float:
    """Chance that a Laplace variable of this scale rounds to this integer, in closed form."""
    if integer == 0:
        return float(-mpmath.expm1(-1 / (2 * mpmath.mpf(scale))))
    return float(
        mpmath.exp(-abs(integer) / mpmath.mpf(scale)) * mpmath.sinh(1 / (2 * mpmath.mpf(scale)))
    )


def rounded_laplace_p_value(draws: Sequence[int], scale: float) -> float:
    """Chi-square test that integers have the law of a rounded Laplace variable of this scale.

    Cells are single integers where at least 20 draws are expected, and the two tails beyond.
    """
    last = 0
    while len(draws) * rounded_laplace(last + 1, scale) >= 20:
        last += 1
    inside = [rounded_laplace(k, scale) for k in range(-last, last + 1)]
    tail = (1 - sum(inside)) / 2
    expected = np.array([tail, *inside, tail]) * len(draws)
    cells = np.clip(draws, -last - 1, last + 1) + last + 1
    observed = np.bincount(cells, minlength=expected.size)
    return float(stats.chisquare(observed, expected).pvalue)


def fits(draws: Sequence[float], law: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Kolmogorov-Smirnov test against a distribution function, at `FALSE_ALARM`."""
    return bool(stats.kstest(np.asarray(draws, dtype=float), law).pvalue > FALSE_ALARM)


def fits_only_at_its_scale(draws: Sequence[float], law: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether draws fit a law, and neither the law cut nor the law stretched by sqrt(2)."""
    root = np.sqrt(2.0)
    return (
        fits(draws, law)
        and not fits(draws, lambda x: law(x * root))
        and not fits(draws, lambda x: law(x / root))
    )


def fits_standard_normal(draws: Sequence[float]) -> bool:
    """Whether draws are standard normal, by their shape and by their sum of squares.

    Draws of another scale by sqrt(2) pass with a chance below 1e-8 from 500 draws on.
    """
    values = np.asarray(draws, dtype=float)
    low, high = stats.chi2(values.size).ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2])
    return fits(values, stats.norm.cdf) and bool(low <= np.sum(values**2) <= high)


def normal_only_at_its_scale(draws: Sequence[float]) -> bool:
    """Whether draws are standard normal, and neither cut nor stretched by sqrt(2) would be."""
    values, root = np.asarray(draws, dtype=float), np.sqrt(2.0)
    return fits_standard_normal(values) and not any(
        fits_standard_normal(values * factor) for factor in (root, 1 / root)
    )


def same_law(first: Sequence[float], second: Sequence[float]) -> bool:
    """Two-sample Kolmogorov-Smirnov test at `FALSE_ALARM`."""
    test = stats.ks_2samp(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return bool(test.pvalue > FALSE_ALARM)


def lower_limit(hits: int, trials: int, error: float) -> float:
    """Clopper-Pearson lower limit of a probability, too high with chance at most `error`."""
    return 0.0 if hits == 0 else float(stats.beta.ppf(error, hits, trials - hits + 1))


def upper_limit(hits: int, trials: int, error: float) -> float:
    """Clopper-Pearson upper limit of a probability, too low with chance at most `error`."""
    return 1.0 if hits == trials else float(stats.beta.isf(error, hits + 1, trials - hits))


def block_profile_reference(dimension: int, length, epsilon) -> mpmath.mpf:
    """Delta at epsilon of one K-norm block of two coordinates or more, shifted by `length` scales.

    The law of the loss is integrated at mpmath's precision; its mass is made one and not known.
    """
    rho = mpmath.mpf(length) / 2
    nu = mpmath.mpf(dimension) / 2
    ratio = rho / (dimension - 1) * mpmath.besselk(nu - 1, rho) / mpmath.besselk(nu, rho)

    def weight(psi):
        sine = mpmath.sin(psi)
        return sine ** (dimension - 2) * (1 + ratio * sine**2)

    whole = mpmath.quad(
        lambda x: mpmath.exp(rho * mpmath.cos(x)) * weight(x), mpmath.linspace(0, mpmath.pi, 9)
    )
    end = mpmath.acos(mpmath.mpf(epsilon) / length)
    e = mpmath.mpf(epsilon)

    def gain(psi):
        return (mpmath.exp(rho * mpmath.cos(psi)) - mpmath.exp(e - rho * mpmath.cos(psi))) * weight(psi)

    # The integrator stops at an absolute error: tiny integrands are scaled.
    size = max(gain(end * k / 16) for k in range(1, 16))
    inside = size * mpmath.quad(lambda psi: gain(psi) / size, mpmath.linspace(0, end, 9))
    return inside / whole


def knorm_log_density(noise: KNormNoise, z: np.ndarray) -> np.ndarray:
    total, start = np.zeros(len(z)), 0
    for size, scale in zip(noise.block_sizes, noise.scales, strict=True):
        total -= np.linalg.norm(z[:, start : start + size], axis=1) / scale
        start += size
    return total


def gaussian_log_density(noise: GaussianNoise, z: np.ndarray) -> np.ndarray:
    return -0.5 * np.sum((z / np.array(noise.scales, dtype=float)) ** 2, axis=1)


def box_log_density(noise: BoxNoise, z: np.ndarray) -> np.ndarray:
    return -np.abs(z / np.array(noise.scales, dtype=float)).max(axis=1)


def ellipsoid_log_density(noise: EllipsoidNoise, z: np.ndarray) -> np.ndarray:
    return -np.linalg.norm(z / np.array(noise.scales, dtype=float), axis=1)


DENSITIES: dict[type, Callable[[Any, np.ndarray], np.ndarray]] = {
    KNormNoise: knorm_log_density,
    GaussianNoise: gaussian_log_density,
    BoxNoise: box_log_density,
    EllipsoidNoise: ellipsoid_log_density,
}


def epsilon_bound(hits: Sequence[int], trials: int, delta: float) -> float:
    """Lower limit of log((P - delta) / P') from how often an event occurred under both data sets."""
    likely = lower_limit(hits[0], trials, ERROR) - delta
    return math.log(likely / upper_limit(hits[1], trials, ERROR)) if likely > 0 else -math.inf


def drawn(law: Any, count: int) -> list[list[int]]:
    """So many independent draws of a law: one long draw, where coordinates are independent."""
    if not isinstance(law, KNormNoise | GaussianNoise) or max(getattr(law, "block_sizes", (1,))) > 1:
        return [law.draw() for _ in range(count)]
    blocks = {"block_sizes": law.block_sizes * count} if isinstance(law, KNormNoise) else {}
    found, size = list(replace(law, scales=law.scales * count, **blocks).draw()), law.components
    return [found[start : start + size] for start in range(0, len(found), size)]


@dataclass(frozen=True)
class Audit:
    """Two neighbouring data sets and what is published of them: an auditor knows everything else.

    Parameters
    ----------
    sums : two arrays (k,)
        What gets noise.
    law : noise law
        Of the noise, which is drawn by its `draw`.
    claim, delta : float
        What is promised.
    publish : two callables, optional
        From the noise to what is published; by default noise is added to the sums.
    """

    sums: Sequence[np.ndarray]
    law: Any
    claim: float
    delta: float = 0.0
    publish: Sequence[Callable[[list[int]], Sequence[int]]] | None = None

    def ratios(self, outputs: np.ndarray) -> np.ndarray:
        """Log likelihood ratios of outputs, to eight decimals: many outputs may share the largest."""
        density = DENSITIES[type(self.law)]
        first, second = (density(self.law, outputs - each) for each in self.sums)
        return np.round(first - second, 8)

    def level(self, trials: int) -> float:
        """The event's, chosen on simulated noise."""
        noise = self.law.simulate(np.random.default_rng(), PILOT)
        pilot = [self.ratios(each + noise) for each in self.sums]

        def promise(level: float) -> float:
            hits = [int(np.sum(part >= level) * trials / PILOT) for part in pilot]
            return epsilon_bound(hits, trials, self.delta)

        return float(max(np.quantile(pilot[0], np.linspace(0.02, 0.98, 49)), key=promise))

    def bound(self, trials: int) -> float:
        """Lower limit of the loss that is really there."""
        level, noise = self.level(trials), drawn(self.law, trials)
        if self.publish is None:
            outputs = [each + np.array(noise, dtype=float) for each in self.sums]
        else:
            outputs = [np.array([made(row) for row in noise], dtype=float) for made in self.publish]
        hits = [int(np.sum(self.ratios(part) >= level)) for part in outputs]
        return epsilon_bound(hits, trials, self.delta)


def cut_noise(monkeypatch: Any, law: type[Any]) -> None:
    """Draw noise of scales smaller by sqrt(2) than those that the release states."""

    def smaller(self: Any) -> Any:
        return replace(self, scales=tuple(round(scale / math.sqrt(2)) for scale in self.scales))

    draw, simulate = law.draw, law.simulate
    monkeypatch.setattr(law, "draw", lambda self: draw(smaller(self)))
    monkeypatch.setattr(law, "simulate", lambda self, *of: simulate(smaller(self), *of))


def only_at_its_scale(lengths, law):
    """Whether lengths have a law, and neither the one of noise root-two times as wide nor as narrow."""
    p_values = [stats.kstest(lengths * factor, law).pvalue for factor in (1, 2**0.5, 2**-0.5)]
    return p_values[0] > FALSE_ALARM and max(p_values[1:]) < SEEN
