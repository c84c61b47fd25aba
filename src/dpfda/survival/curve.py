"""The survival curve that noisy counts of follow-ups are of, with hazard, quantiles, means and bands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point, frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Flags, Floats
from dpfda.numerics.parameters import choice, probability
from dpfda.privacy.certificates import said_by
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Column, Valued
from dpfda.releases.facts import Estimate
from dpfda.releases.shares import OfShares, domain_words
from dpfda.survival.lifetables import (
    LEAST,
    LifeTable,
    first_below,
    hidden_within,
    life_table,
    seen_until,
    unseen,
)
from dpfda.survival.lifetimes import CellNoise, drawn_tables

DRAWS = 2000
BAND_POINTS = 201
# Draws are spread by so much for bands and intervals: the law of the noise is exact, priors are not.
GUARD = 1.4
# Of what any order of censoring within cells could do to the curve.
ORDERS: dict[Of, float] = {"sample": 0.3, "noise": 0.0, "population": 1.0}
# Of all of that, for one who has an event in a cell of censoring: of two in three, whatever the order.
STEEP = 1.5
# Of all of that, too, where so large a part of those at risk leaves in one cell of censoring.
HEAPED = 0.8
STATED = tuple(ORDERS)


class OnTime(Valued):
    """Shares of persons without an event over time, from what was measured in cells of time."""

    cells: LifeCells

    domain_range: tuple[float, float] = said_by("cells.domain_range", "First and last time.")
    grid_points: Floats = said_by("cells.edges", "Edges of the cells.")

    def _band_points(self) -> Floats:
        return np.linspace(*self.domain_range, BAND_POINTS)[:, None]

    @property
    def _value_label(self) -> str:
        return str(self.about.get("value", "share without event"))

    def _axis_label(self, axis: int) -> str:
        return str(self.about.get("domain", "time"))

    def hazard(self, points: ArrayLike) -> float | Floats:
        """Rate of events, for one unit of time, of those still without one."""
        raise NotImplementedError

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        words = "rate of events of those still without one, a unit of time"
        return super()._columns(at, request) | {"hazard": (np.asarray(self.hazard(at[:, 0])), words)}

    @property
    def _public_facts(self) -> list[str]:
        """What is public of the data."""
        coding = [f"the codes of events: {self.about['coding']}"] if "coding" in self.about else []
        return [*coding, domain_words(self)]


class LifeCurve(OnTime, OfShares):
    """What is estimated from noisy counts in cells of time; of all persons, or of one group.

    It is the mean, over draws of the table without noise given all that was released
    (`dpfda.survival.lifetimes`), of that table's product-limit estimate.
    """

    level: str | None

    levels: tuple[str, ...] = said_by(
        "cells.levels", "Names of the groups; none where all are together."
    )

    @cached_property
    def counts(self) -> Floats:
        """Noisy numbers of persons (groups, cells); with late beginnings a person counts twice."""
        counts = self.shares.counts * self.cells.parts
        return frozen(counts.reshape(self.cells.groups, -1))

    @cached_property
    def noise(self) -> CellNoise:
        """Noise on each of `counts`."""
        laplace = not self.shares.noise.law.endswith("gaussian")
        return CellNoise(self.shares.deviation * self.cells.parts, laplace)

    @cached_property
    def _draws(self) -> Floats:
        """Draws (draws, groups, each) of the tables without noise, from a fixed key."""
        noisy, size = self.counts.ravel(), self.shares.public_size
        return drawn_tables(noisy, self.cells, self.noise, size, DRAWS)

    def _table(self, spread: float = 1.0) -> Floats:
        mean = self._draws.mean(axis=0)
        draws = np.maximum(mean + spread * (self._draws - mean), 0.0)
        own = draws.sum(axis=1) if self.level is None else draws[:, self.levels.index(self.level)]
        return np.asarray(own)

    @cached_property
    def _mean_table(self) -> Floats:
        return frozen(self._table().mean(axis=0))

    @cached_property
    def _without_noise(self) -> LifeTable:
        return life_table(self._table(), self.cells)

    @cached_property
    def _of_persons(self) -> LifeTable:
        return life_table(self._table(GUARD), self.cells)

    @cached_property
    def _of_population(self) -> LifeTable:
        # Arms are samples apart from each other.
        place = 0 if self.level is None else self.levels.index(self.level)
        generator = np.random.Generator(np.random.Philox(key=2 + place))
        return life_table(self._table(GUARD), self.cells, generator)

    def spread(self) -> Floats:
        """Standard deviation (count + 1,) at the edges of the curve without noise, given the release."""
        return np.asarray(self._without_noise.survival.std(axis=0))

    @cached_property
    def _by_order(self) -> tuple[Floats, Floats]:
        """How much lower, and higher, the curve may be at edges by when in a cell people left."""
        mean, orders = self._mean_table[None], (-1, 0, 1)
        low, middle, high = (life_table(mean, self.cells, None, when).survival[0] for when in orders)
        return middle - low, high - middle

    def _seen(self, level: float) -> tuple[Floats, float]:
        """Noisy counts (each,), and how far noise may move one of them."""
        noisy = self.counts if self.level is None else self.counts[[self.levels.index(self.level)]]
        far = float(scipy.special.ndtri(1 - (1 - level) / self.cells.count)) * self.noise.deviation
        return noisy.sum(axis=0), far * math.sqrt(len(noisy))

    def _seen_until(self, level: float = LEVEL) -> float:
        """Last edge at which somebody is seen to be followed."""
        return float(self.cells.edges[seen_until(*self._seen(level), self.cells)[0]])

    @property
    def _known_until(self) -> float:
        """Time from which on hardly anybody was followed, as many were censored; else the last."""
        last, gone = seen_until(*self._seen(LEVEL), self.cells)
        return float(self.cells.edges[last if gone else -1])

    def _followed(self) -> tuple[Floats, Flags]:
        """Persons at risk (count + 1,), and in which cells of censoring (coarse,) most of them leave."""
        followed = self._without_noise.at_risk.mean(axis=0)
        wide = followed[:: self.cells.ratio]
        return followed, wide[1:] < (1 - HEAPED) * wide[:-1]

    def _taken(self, level: float) -> float:
        """Share of persons whom draws put where nobody is left, and took from the events before.

        Of a slow decline they are taken from those who left late; after a heap there are none of these.
        """
        last, gone = seen_until(*self._seen(level), self.cells)
        followed, heaped = self._followed()
        empty = gone and last < self.cells.count and heaped[: last // self.cells.ratio + 1].any()
        return float(followed[last + 1] / followed[0]) if empty else 0.0

    def _order_share(self, of: Of) -> Floats:
        """How much (count + 1,) of what any order could do is taken to be possible.

        For the sample the more, the larger a share has an event within one cell of censoring: where all
        do so in a single one, times are known to that cell alone.
        """
        wide = self._without_noise.survival.mean(axis=0)[:: self.cells.ratio]
        fell = 1 - wide[1:] / np.maximum(wide[:-1], LEAST)
        possible = np.where(self._followed()[1], 1.0, np.minimum(STEEP * fell, 1.0))
        possible = np.append(0.0, np.maximum.accumulate(np.repeat(possible, self.cells.ratio)))
        usual = 1.0 if of == "sample" and self.cells.step is not None else ORDERS[of]
        return np.asarray(np.maximum(possible * (of == "sample"), usual))

    def _life(self, of: Of) -> LifeTable:
        return self._of_population if choice(of, "of", STATED) == "population" else self._of_persons

    @cached_property
    def _cumulative(self) -> scipy.interpolate.PchipInterpolator:
        return self._interpolated(self._without_noise.survival.mean(axis=0))

    def _interpolated(self, survival: Floats) -> scipy.interpolate.PchipInterpolator:
        """Monotone cumulative hazards through survival (count + 1, ..) at the edges."""
        hazards = -np.log(np.maximum(survival, LEAST))
        return scipy.interpolate.PchipInterpolator(self.cells.edges, hazards)

    def _values(self, at: Floats) -> Floats:
        """Share of persons without an event up to times: not increasing, within [0, 1]."""
        return np.asarray(np.exp(-np.maximum(self._cumulative(self.cells.settled(at)), 0.0)))

    def cumulative_hazard(self, points: ArrayLike) -> float | Floats:
        """Integral of the hazard up to times."""
        return self._positive(self._cumulative, points)

    def hazard(self, points: ArrayLike) -> float | Floats:
        """Rate of events, for one unit of time, of those still without one."""
        return self._positive(self._cumulative.derivative(), points)

    def incidence(self, points: ArrayLike, cause: str) -> float | Floats:
        """Share of persons with an event of a cause up to times, where other causes compete."""
        place = self.cells.causes.index(choice(cause, "cause", self.cells.causes))
        shares = self._without_noise.incidence[:, place].mean(axis=0)
        return self._positive(scipy.interpolate.PchipInterpolator(self.cells.edges, shares), points)

    def at_risk(self, points: ArrayLike) -> float | Floats:
        """Estimated number of persons followed at times."""
        numbers = self._without_noise.at_risk.mean(axis=0)
        return self._positive(lambda at: np.interp(at, self.cells.edges, numbers), points)

    def _positive(self, function: Callable[[Floats], Floats], points: ArrayLike) -> float | Floats:
        return self._at(lambda at: np.maximum(function(at), 0.0), points)

    def quantile(self, share: float = 0.5, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Time by which a share of persons had an event; infinite where the last time comes first.

        Parameters
        ----------
        share : float
        level : float
            Probability of the interval.
        of : {"sample", "noise", "population"}
            What the interval is for, as in `band`. That of the sample is read off its pointwise band;
            that of the population is wider by what sampling adds.
        """
        wanted, level = 1 - probability(share, "share"), check_level(level)
        line = self._without_noise.survival.mean(axis=0)[None]
        value = float(self._times(line, wanted)[0])
        noise, drawn = (
            Estimate.around(value, self._times(self._life(what).survival, wanted), level)
            for what in ("noise", of)
        )
        if of == "noise":
            reach = self._seen_until(level)
            beyond = reach < min(noise.upper, self.domain_range[1])
            return Estimate(value, min(noise.lower, reach), np.inf, level) if beyond else noise
        at = np.unique(self.cells.settled(self._band_points()[:, 0]))
        band = self.band(level, False, at)
        first, last = (int(np.argmax(np.append(end, 0.0) <= wanted)) for end in (band.lower, band.upper))
        # Of the population as far again as sampling reaches beyond the noise.
        lower = min(float(at[max(first - 1, 0)]), noise.lower) - np.fmax(noise.lower - drawn.lower, 0)
        upper = max(float(np.append(at, np.inf)[last]), noise.upper)
        upper += np.fmax(drawn.upper - noise.upper, 0)
        return Estimate(value, max(float(lower), self.domain_range[0]), float(upper), level)

    def median(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Median survival time; see `quantile`."""
        return self.quantile(0.5, level, of)

    @cached_property
    def _median(self) -> Estimate:
        return self.median()

    def _times(self, survival: Floats, wanted: float) -> Floats:
        """First times (q,) at which curves (q, count + 1) are at or below a height."""
        fine = np.unique(self.cells.settled(np.linspace(*self.domain_range, 2001)))
        return first_below(self._interpolated(survival.T), fine, wanted)

    def restricted_mean(
        self, until: float | None = None, level: float = LEVEL, of: Of = "noise"
    ) -> Estimate:
        """Mean time without an event up to a time, by default the last: the area under the curve.

        Parameters
        ----------
        until : float, optional
        level, of
            As in `quantile`.
        """
        fine, level = self._until(until, 1001), check_level(level)
        value = float(scipy.integrate.trapezoid(self(fine), fine))
        mean = Estimate.around(value, self._means_drawn(until, of), level)
        mean = mean.wider(self._hidden_area(until, of))
        last = self._seen_until(level)
        if fine[-1] <= last:
            return mean
        # From there on the curve may fall to nothing at once, or stay as high as it may be.
        before, most = self.restricted_mean(last, level, of), self.band(level, False, last, of).upper
        upper = before.upper + float(most[0]) * (fine[-1] - last)
        return Estimate(value, min(mean.lower, before.lower), max(mean.upper, upper), level)

    def _until(self, until: float | None, count: int) -> Floats:
        start, end = self.domain_range
        return np.linspace(start, end if until is None else check_point(until, (start, end)), count)

    def _means_drawn(self, until: float | None, of: Of) -> Floats:
        fine = self._until(until, BAND_POINTS)
        return np.asarray(scipy.integrate.trapezoid(self._curves_drawn(fine, of), fine, axis=0))

    def _hidden_area(self, until: float | None, of: Of) -> float:
        """How far the mean may be off by what cells do not show, each by itself."""
        if of == "noise":
            return 0.0
        fine, edges = self._until(until, 1001), self.cells.edges
        at = self.cells.settled(fine)
        hidden = np.where(np.isin(at, edges), 0.0, self._hidden(fine))
        areas = np.bincount(np.searchsorted(edges, at, "right"), hidden)
        return float(np.linalg.norm(areas) * (fine[1] - fine[0]))

    def _curves_drawn(self, at: Floats, of: Of) -> Floats:
        """Draws (q, draws) of survival at times."""
        hazards = self._interpolated(self._life(of).survival.T)(self.cells.settled(at))
        return np.asarray(np.exp(-hazards))

    def _hidden(self, at: Floats) -> Floats:
        """What cells do not show (q,) of the persons' curve; at most what it falls in a cell."""
        edges, at = self.cells.edges, self.cells.settled(at)
        end = np.clip(np.searchsorted(edges, at, "right"), 1, edges.size - 1)
        hidden = hidden_within(self._without_noise, edges, at)
        return np.minimum(hidden, self(edges[end - 1]) - self(edges[end]))

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band for the survival function, within [0, 1] and not increasing.

        Notes
        -----
        Of the sample it is for the Kaplan-Meier curve of these persons: noise, and what the cells do not
        show of a course that is smooth within them. Of the population it is for the curve of which they
        are a sample, with sampling as well. Of the noise it is for the life table of these cells without
        the noise of privacy.

        The law of the noise is known exactly; what is drawn beside it has a prior, and how often bands
        hold was simulated: see the page on survival. Of the inside of a cell the population's assumes
        nothing: at an edge it allows for every order in which people were censored and had events, and
        between two edges for any curve that does not increase. It is narrowest at `grid_points`.
        """
        edges, life = self.cells.edges, self._life(request.of or "sample")
        line = self._without_noise.survival.mean(axis=0)
        errors = np.abs(life.survival - line)
        band = band_from_errors(line, errors, request.level, request.simultaneous, edges)
        share = self._order_share(request.of or "sample")
        below, above = (share * far for far in self._by_order)
        taken = self._taken(request.level)
        changed = self.cells.settled(at)
        # What lies in a band and does not increase lies in this one too.
        lower = np.maximum.accumulate(np.clip(band.lower - below - taken, 0, 1)[::-1])[::-1]
        upper = np.minimum.accumulate(np.clip(band.upper + above, 0, 1))
        # Where all that was counted may be noise.
        noisy, far = self._seen(request.level)
        least, most = unseen(noisy, self._mean_table, upper, self.cells, far)
        lower, upper = np.minimum(lower, least), np.maximum(upper, most)
        # Whatever does not increase; events at the first time itself are counted in the first cell.
        least = lower[np.maximum(np.searchsorted(edges, changed), 1)]
        most = upper[np.searchsorted(edges, changed, "right") - 1]
        if request.of == "population":
            lower, upper = least, most
        else:
            lower, upper = np.interp(changed, edges, lower), np.interp(changed, edges, upper)
        if request.of == "sample":
            hidden = hidden_within(self._without_noise, edges, changed)
            lower, upper = np.maximum(lower - hidden, least), np.minimum(upper + hidden, most)
        return settled(replace(band, points=frozen(at), lower=lower, upper=upper), np.asarray(self(at)))
