"""How two arms of a released survival curve differ: in risk at a time, in mean time up to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point, check_points, frozen
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import choice
from dpfda.releases.bands import Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import Estimate
from dpfda.survival.curve import STATED, LifeCurve


@dataclass(frozen=True, eq=False)
class SurvivalDifference:
    """The first arm minus the second; read off what was published, at no cost of privacy.

    Parameters
    ----------
    first, second : LifeCurve
        Arms of one release.

    Examples
    --------
    >>> from dpfda import PrivateSurvival
    >>> generator = np.random.default_rng(1)
    >>> arm = np.repeat(["new", "old"], 900)
    >>> times = generator.exponential(np.where(arm == "new", 900, 400))
    >>> survival = PrivateSurvival(epsilon=1, domain=(0, 1000), levels=["new", "old"])
    >>> difference = survival.fit(times, by=arm).release_.difference("new", "old")
    >>> difference.risk(365).upper < 0 < difference.restricted_mean(365).lower
    True
    """

    first: LifeCurve
    second: LifeCurve

    def __call__(self, points: ArrayLike) -> Floats:
        """Differences (q,) of risk, the share with an event so far, at public times."""
        at = check_points(points, self.first.domain_range)
        return np.asarray(self.second(at) - self.first(at))

    def risk(self, at: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Difference of risk at a public time, with an interval: negative if the first has less.

        Parameters
        ----------
        at : float
        level : float
            Probability of the interval.
        of : {"sample", "noise", "population"}
            What it is for: the difference of these persons' Kaplan-Meier curves, that of their life
            tables without noise, or that of the populations of which they are samples.
        """
        band = self.band(check_point(at, self.first.domain_range), level, of)
        return Estimate(float(self(at)[0]), float(band.lower[0]), float(band.upper[0]), band.level)

    def band(self, points: ArrayLike, level: float = LEVEL, of: Of = "sample") -> Band:
        """Intervals (q,) for differences of risk, at each time by itself; see `risk`."""
        choice(of, "of", STATED)
        at = check_points(points, self.first.domain_range)
        values = self(at)
        drawn = self.second._curves_drawn(at, of) - self.first._curves_drawn(at, of)
        band = band_from_errors(values, np.abs(drawn.T - values), check_level(level), False, frozen(at))
        far = band.upper - values
        if of != "noise":
            # Arms are of other people: what cells hide of one has nothing to do with the other's.
            far = np.hypot(far, np.hypot(self.first._unseen(at), self.second._unseen(at)))
        limits = np.full_like(values, -1.0), np.full_like(values, 1.0)
        return settled(Band(band.points, values - far, values + far, level, False), values, limits)

    def restricted_mean(
        self, until: float | None = None, level: float = LEVEL, of: Of = "noise"
    ) -> Estimate:
        """Difference of mean times without an event up to a public time, by default the last.

        Parameters
        ----------
        until : float, optional
        level, of
            As in `risk`; of="sample" leaves out what cells hide.
        """
        value = self.first.restricted_mean(until).value - self.second.restricted_mean(until).value
        drawn = self.first._means_drawn(until, of) - self.second._means_drawn(until, of)
        return Estimate.around(value, drawn, check_level(level))
