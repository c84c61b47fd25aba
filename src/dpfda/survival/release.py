"""A released survival curve: noisy counts of follow-ups, and all that is estimated from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points, frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, label, probability
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Column, Valued
from dpfda.releases.facts import Claim, EqualityTest, Estimate, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, domain_words, used_units
from dpfda.survival.lifetables import LEAST, LifeTable, equality, first_below, hidden_within, life_table
from dpfda.survival.lifetimes import CellNoise, drawn_tables
from dpfda.views import Line, View

DRAWS = 2000
BAND_POINTS = 201
RISK_TIMES = 6
# Draws are spread by so much for bands and intervals: the law of the noise is exact, priors are not.
GUARD = 1.4
# Of what any order of censoring within cells could do to the sample's curve.
ORDERS = 0.3
STATED: tuple[Of, ...] = ("sample", "noise", "population")
# What holds every unit in bounds.
BOUND = "one follow-up a unit"


def halves(cells: LifeCells) -> tuple[int, ...]:
    """How much of a unit ends get at most, and beginnings where they are counted.

    A unit of k follow-ups has 2 k points then, of 2^20 / 2 k each, rounded down together with others in
    their cell: k ends have 2^19 at most, and k beginnings (`dpfda.noise.shares`: parts).
    """
    return (UNIT // cells.parts,) * cells.parts


@dataclass(frozen=True, eq=False)
class ReleasedSurvival(Valued):
    """Follow-ups counted in cells of time, published with noise, and the survival curve made of them.

    Call it for the survival function: the share of persons without an event, monotone and within
    [0, 1] by construction. It is the mean, over draws of the table without noise given all that was
    released (`dpfda.survival.lifetimes`), of that table's product-limit estimate.

    Parameters
    ----------
    cells : LifeCells
        Public cells, causes and groups.
    shares : NoisyShares
        The mechanism's output.
    certificate : Certificate
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels.
    level : str, optional
        The group that is looked at; all together by default.
    """

    cells: LifeCells = field(metadata=file.itself(LifeCells.from_json).kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    level: str | None = field(default=None, metadata=file.TEXT.or_null.kept)

    FORMAT: ClassVar[str] = "dpfda-survival"
    CALLED: ClassVar[str] = "released survival curve"
    _has_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shares.noisy) != self.cells.size:
            raise ParameterError("noisy_shares", f"be {self.cells.size}", len(self.shares.noisy))

    @property
    def domain_range(self) -> tuple[float, float]:
        """First and last time."""
        return self.cells.domain_range

    @property
    def grid_points(self) -> Floats:
        """Edges of the cells."""
        return self.cells.edges

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the groups; none where all are together."""
        return self.cells.levels

    def __getitem__(self, level: str) -> ReleasedSurvival:
        """The curve of one group."""
        return replace(self, level=label(level, "group", self.levels))

    # Estimates.

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
        size = self.shares.public_size
        known = None if size is None else float(size)
        return drawn_tables(self.counts.ravel(), self.cells, self.noise, known, DRAWS)

    def _table(self, spread: float = 1.0) -> Floats:
        mean = self._draws.mean(axis=0)
        draws = np.maximum(mean + spread * (self._draws - mean), 0.0)
        return np.asarray(
            draws.sum(axis=1) if self.level is None else draws[:, self.levels.index(self.level)]
        )

    @cached_property
    def _without_noise(self) -> LifeTable:
        return life_table(self._table(), self.cells)

    @cached_property
    def _of_persons(self) -> LifeTable:
        return life_table(self._table(GUARD), self.cells)

    @cached_property
    def _of_population(self) -> LifeTable:
        generator = np.random.Generator(np.random.Philox(key=2))
        return life_table(self._table(GUARD), self.cells, generator)

    def spread(self) -> Floats:
        """Standard deviation (count + 1,) at the edges of the curve without noise, given the release."""
        return np.asarray(self._without_noise.survival.std(axis=0))

    @cached_property
    def _by_order(self) -> tuple[Floats, Floats]:
        """How much lower, and higher, the curve may be at edges by when in a cell people left."""
        mean = self._table().mean(axis=0, keepdims=True)
        low, middle, high = (life_table(mean, self.cells, None, when).survival[0] for when in (-1, 0, 1))
        return middle - low, high - middle

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

    def cumulative_hazard(self, points: ArrayLike) -> Any:
        """Integral of the hazard up to times."""
        return self._positive(self._cumulative, points)

    def hazard(self, points: ArrayLike) -> Any:
        """Rate of events, for one unit of time, of those still without one."""
        return self._positive(self._cumulative.derivative(), points)

    def incidence(self, points: ArrayLike, cause: str) -> Any:
        """Share of persons with an event of a cause up to times, where other causes compete."""
        place = self.cells.causes.index(choice(cause, "cause", self.cells.causes))
        shares = self._without_noise.incidence[:, place].mean(axis=0)
        return self._positive(scipy.interpolate.PchipInterpolator(self.cells.edges, shares), points)

    def at_risk(self, points: ArrayLike) -> Any:
        """Estimated number of persons followed at times."""
        numbers = self._without_noise.at_risk.mean(axis=0)
        return self._positive(lambda at: np.interp(at, self.cells.edges, numbers), points)

    def _positive(self, function: Callable[[Floats], Floats], points: ArrayLike) -> Any:
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
            Estimate.around(value, self._times(self._life(each).survival, wanted), level)
            for each in ("noise", of)
        )
        if of == "noise":
            return noise
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
        last = (
            self.domain_range[1] if until is None else float(check_points(until, self.domain_range)[0])
        )
        fine = np.linspace(self.domain_range[0], last, 1001)
        areas = scipy.integrate.trapezoid(
            np.exp(-self._interpolated(self._life(of).survival.T)(fine)), fine, axis=0
        )
        value = float(scipy.integrate.trapezoid(self(fine), fine))
        return Estimate.around(value, areas, check_level(level))

    def _around(self, at: Floats, asked: Asked) -> Band:
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
        edges, life = self.cells.edges, self._life(asked.of or "sample")
        line = self._without_noise.survival.mean(axis=0)
        band = band_from_errors(
            line, np.abs(life.survival - line), asked.level, asked.simultaneous, edges
        )
        share = {"noise": 0.0, "sample": ORDERS, "population": 1.0}[asked.of or "sample"]
        below, above = (share * far for far in self._by_order)
        changed = self.cells.settled(at)
        # What lies in a band and does not increase lies in this one too.
        lower = np.maximum.accumulate(np.clip(band.lower - below, 0, 1)[::-1])[::-1]
        upper = np.minimum.accumulate(np.clip(band.upper + above, 0, 1))
        # Whatever does not increase.
        least = lower[np.searchsorted(edges, changed)]
        most = upper[np.searchsorted(edges, changed, "right") - 1]
        if asked.of == "population":
            lower, upper = least, most
        else:
            lower, upper = np.interp(changed, edges, lower), np.interp(changed, edges, upper)
        if asked.of == "sample":
            hidden = hidden_within(self._without_noise, edges, changed)
            lower, upper = np.maximum(lower - hidden, least), np.minimum(upper + hidden, most)
        return settled(replace(band, points=frozen(at), lower=lower, upper=upper), np.asarray(self(at)))

    def test(self, level: float = 0.05, cause: str | None = None) -> EqualityTest:
        """Whether groups have one hazard: a log-rank test of the noisy tables.

        The hypothesis is about populations: sampling is in the law of the statistic, as are the known
        noise, and each group's own censoring. That law is simulated at the estimated common hazard.

        Parameters
        ----------
        level : float
            Probability of finding a difference where there is none.
        cause : str, optional
            The cause whose hazard is compared; by default all together.

        Raises
        ------
        ParameterError
            If there are no groups, or no such cause.
        """
        if not self.levels:
            raise ParameterError(
                "groups", "be two or more for a test", "none", "Fit with by=... and levels=[...]."
            )
        chosen = None if cause is None else choice(cause, "cause", self.cells.causes)
        place = None if chosen is None else self.cells.causes.index(chosen)
        means = self._draws.mean(axis=0)
        statistic, p_value = equality(self.counts, means, self.cells, self.noise, place)
        null = f"the populations of {', '.join(self.levels)} have one hazard"
        null += f" of {chosen}" if chosen else ""
        return EqualityTest(statistic, p_value, probability(level, "level"), self.levels, null)

    def _checked(self) -> None:
        if self.level is not None and self.level not in self.levels:
            raise ValueError("there is no such group")

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND}

    def _added_noise(self) -> list[AddedNoise]:
        # Tables of before were not told in halves, and had noise for the whole of a unit in one.
        told = "halves" in self.certificate.mechanism
        return self.shares._added_noise(self.neighbours, halves(self.cells) if told else ())

    # Tables, pictures and words.

    def _band_points(self) -> Floats:
        return np.linspace(*self.domain_range, BAND_POINTS)[:, None]

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        columns = super()._columns(at, asked)
        where = at[:, 0]
        columns["hazard"] = (
            self.hazard(where),
            "rate of events of those still without one, a unit of time",
        )
        columns["at_risk"] = self.at_risk(where), f"estimated number of {several(self.unit)} followed"
        for cause in self.cells.causes if len(self.cells.causes) > 1 else ():
            columns[f"incidence {cause}"] = self.incidence(where, cause), f"share with {cause} so far"
        for name in self.levels if self.level is None else ():
            columns[f"survival {name}"] = self[name](where), f"{self.value_label}, {name}"
        return columns

    def view(self, level: float | None = LEVEL) -> View:
        shown = [self[name] for name in self.levels] if self.level is None and self.levels else [self]
        lines = [each._line(each.level or "survival", level) for each in shown]
        if len(self.cells.causes) > 1 and len(shown) == 1:
            at = self._band_points()[:, 0]
            lines += [
                Line(at, self.incidence(at, cause), f"incidence of {cause}", stroke="dashed")
                for cause in self.cells.causes
            ]
        times = np.linspace(*self.domain_range, RISK_TIMES)
        rows = tuple(
            (each.level or f"{several(self.unit)} at risk", each.at_risk(times)) for each in shown
        )
        return replace(self._curve(lines, baseline=0.0), below=(times, rows))

    @property
    def _subject(self) -> str:
        return "survival curve" + (f" of {self.level}" if self.level else "")

    @property
    def public_units(self) -> int | None:
        return None if self.neighbours is Neighbours.ADD_REMOVE else self.shares.public_size

    @property
    def value_label(self) -> str:
        return str(self.about.get("value", "share without event"))

    def _axis_label(self, axis: int) -> str:
        return str(self.about.get("domain", "time"))

    def _claims(self) -> tuple[Claim, ...]:
        units = f"in shares of {several(self.unit)}"
        population = Claim(
            "population",
            f"the curve of a population of which these {several(self.unit)} are a sample",
            units,
            legend="the population's curve",
            among="samples",
        )
        sample = Claim(
            "sample",
            f"the Kaplan-Meier curve of these {several(self.unit)}",
            units,
            legend=f"the Kaplan-Meier curve of these {several(self.unit)}",
            among="releases",
        )
        return sample, Claim("noise", "the life table of these cells without noise", units), population

    def _stated(self) -> Stated:
        wide = self.band(of="population")
        far = number(float(np.mean(wide.reach(self(wide.points)))))
        tested = {"groups": str(self.test())} if self.levels else {}
        arms = {name: self[name].median() for name in self.levels if self.level is None}
        coding = [f"the codes of events: {self.about['coding']}"] if "coding" in self.about else []
        return Stated(
            f"A survival curve over {self._spoken_domain}, made of counts of {self.cells.describe()}.",
            public=[*coding, domain_words(self)],
            noise=f"{self.cells.describe()}; {self.shares.noise.describe()}",
            units=used_units(self),
            remarks=[
                f"These {several(self.unit)} are a sample of more like them. The curve of all of those "
                f"is meant to lie, everywhere at once, in a wider band in {100 * wide.level:.4g} of 100 "
                f"samples: on average it reaches {far} from this curve.",
                f"By the median time half of the {several(self.unit)} had an event: {self.median()} of "
                f"these {several(self.unit)}, {self.median(of='population')} of all like them.",
                *([f"Medians of these groups: {_listed(arms)}."] if arms else []),
                *(f"Groups: {text}." for text in tested.values()),
            ],
            numbers={
                "cells": self.cells.to_json(),
                "median": self.median().to_json(),
                **({"medians": {name: each.to_json() for name, each in arms.items()}} if arms else {}),
            },
            findings=({"medians": _listed(arms)} if arms else {}) | tested,
        )

    def _lines(self) -> dict[str, str]:
        return {"cells": self.cells.describe(), "median": str(self.median())}


def _listed(arms: Mapping[str, Estimate]) -> str:
    """Medians of groups, in words."""
    return "; ".join(f"{name}: {median}" for name, median in arms.items())
