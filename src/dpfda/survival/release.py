"""A released survival curve: noisy counts of follow-ups, and all that is estimated from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_point, check_points, frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.noise.shares import UNIT
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice, entries, label, probability, shown
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Column
from dpfda.releases.facts import Claim, EqualityTest, Estimate, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, used_units
from dpfda.survival.curve import STATED, LifeCurve
from dpfda.survival.lifetables import equality
from dpfda.views import Line, View


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
            far = np.hypot(far, np.hypot(self.first._hidden(at), self.second._hidden(at)))
        lower, upper = values - far, values + far
        beyond = at > self._seen_until(level)
        if beyond.any():
            # One of the two may be anywhere in its band.
            one, other = (arm.band(level, False, at, of) for arm in (self.first, self.second))
            lower = np.where(beyond, other.lower - one.upper, lower)
            upper = np.where(beyond, other.upper - one.lower, upper)
        limits = np.full_like(values, -1.0), np.full_like(values, 1.0)
        return settled(Band(band.points, lower, upper, level, False), values, limits)

    def _seen_until(self, level: float) -> float:
        """Last edge at which somebody of either arm is seen to be followed."""
        return min(arm._seen_until(level) for arm in (self.first, self.second))

    def restricted_mean(
        self, until: float | None = None, level: float = LEVEL, of: Of = "noise"
    ) -> Estimate:
        """Difference of mean times without an event up to a public time, by default the last.

        Parameters
        ----------
        until : float, optional
        level, of
            As in `risk`.
        """
        one, other = (arm.restricted_mean(until, level, of) for arm in (self.first, self.second))
        value = one.value - other.value
        if (self.first.domain_range[1] if until is None else until) > self._seen_until(level):
            return Estimate(value, one.lower - other.upper, one.upper - other.lower, level)
        drawn = self.first._means_drawn(until, of) - self.second._means_drawn(until, of)
        hidden = math.hypot(*(arm._hidden_area(until, of) for arm in (self.first, self.second)))
        return Estimate.around(value, drawn, check_level(level)).wider(hidden)


RISK_TIMES = 6
# What holds every unit in bounds.
BOUND = "one follow-up a unit"
# What no cell shows of times whose step is not stated.
WITHIN = (
    "Events that many have at one time, as with whole months, are steps that no cell shows, and the "
    "band may miss them: state the unit of times (step=1, --step 1)."
)


def halves(cells: LifeCells) -> tuple[int, ...]:
    """How much of a unit ends get at most, and beginnings where they are counted.

    A unit of k follow-ups has 2 k points then, of 2^20 / 2 k each, rounded down together with others in
    their cell: k ends have 2^19 at most, and k beginnings (`dpfda.noise.shares`: parts).
    """
    return (UNIT // cells.parts,) * cells.parts


@dataclass(frozen=True, eq=False)
class ReleasedSurvival(LifeCurve):
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

    _FORMAT: ClassVar[str] = "dpfda-survival"
    _CALLED: ClassVar[str] = "released survival curve"
    _has_exact: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shares.noisy) != self.cells.size:
            raise ParameterError("noisy_shares", f"be {self.cells.size}", len(self.shares.noisy))

    def __getitem__(self, level: str) -> ReleasedSurvival:
        """The curve of one group."""
        self._check_groups("one group's curve")
        return replace(self, level=label(level, "group", self.levels))

    def difference(self, first: str, second: str) -> SurvivalDifference:
        """How a group differs from another: in risk at a time, in mean time up to one.

        Parameters
        ----------
        first, second : str
            Names of groups; what is read off is the first minus the second.

        Raises
        ------
        ParameterError
            If there is no such group.
        """
        return SurvivalDifference(self[first], self[second])

    def test(
        self,
        level: float = 0.05,
        cause: str | None = None,
        strata: Sequence[Sequence[str]] | None = None,
    ) -> EqualityTest:
        """Whether groups have one hazard: a log-rank test of the noisy tables, stratified if asked.

        The hypothesis is about populations: sampling is in the law of the statistic, as are the known
        noise, and each group's own censoring. That law is simulated at the estimated common hazard.

        Parameters
        ----------
        level : float
            Probability of finding a difference where there is none.
        cause : str, optional
            The cause whose hazard is compared; by default all together.
        strata : sequence of sequences of str, optional
            Groups that are compared with each other, stratum by stratum, each with its arms in one
            order: ``[["new, north", "old, north"], ["new, south", "old, south"]]``.

        Raises
        ------
        ParameterError
            If there are no groups, or no such cause or strata.
        """
        self._check_groups("a test")
        causes = self.cells.causes
        place = None if cause is None else causes.index(choice(cause, "cause", causes))
        rows = self._strata(strata)
        tables = self.counts, self._draws.mean(axis=0), self.cells, self.noise, place
        statistic, p_value = equality(*tables, strata=rows or None)
        of = [", ".join(self.levels[row] for row in group) for group in rows]
        null = f"the populations of {'; of '.join(of) or ', '.join(self.levels)} have one hazard"
        null += "" if cause is None else f" of {cause}"
        return EqualityTest(statistic, p_value, probability(level, "level"), self.levels, null)

    def _strata(self, strata: Sequence[Sequence[str]] | None) -> list[list[int]]:
        """Places of groups by strata; none without."""
        stated = [[] if isinstance(group, str) else entries(group) for group in entries(strata or [])]
        places = [
            [self.levels.index(label(name, "strata", self.levels)) for name in group] for group in stated
        ]
        named = [row for group in places for row in group]
        sizes = {len(group) for group in places}
        if places and (len(sizes) > 1 or min(sizes) < 2 or len(named) > len(set(named))):
            words = "be lists of groups, as many in each, two or more, and each group once"
            raise ParameterError("strata", words, shown(strata))
        return places

    def _checked(self) -> None:
        if self.level is not None and self.level not in self.levels:
            raise ValueError("there is no such group")

    def _stated_bound(self) -> dict[str, object]:
        return {"description": BOUND}

    def _added_noise(self) -> list[AddedNoise]:
        # Earlier tables were not stated in halves, and had noise for a whole unit in one cell.
        halved = "halves" in self.certificate.mechanism
        return self.shares._added_noise(self.neighbours, halves(self.cells) if halved else ())

    # Tables, pictures and words.

    def _columns(self, at: Floats, request: Asked) -> dict[str, Column]:
        columns = super()._columns(at, request)
        where = at[:, 0]
        followed = np.asarray(self.at_risk(where))
        columns["at_risk"] = followed, f"estimated number of {several(self.unit)} followed"
        for cause in self.cells.causes if len(self.cells.causes) > 1 else ():
            share = np.asarray(self.incidence(where, cause))
            columns[f"incidence {cause}"] = share, f"share with {cause} so far"
        for name, arm in self._arms.items():
            columns[f"survival {name}"] = arm(where), f"{self._value_label}, {name}"
        for name, gap in self._gaps.items():
            band = gap.band(where, request.level, request.of or "sample")
            columns[f"risk {name}"] = gap(where), f"difference of the shares with an event, {name}"
            for end in ("lower", "upper"):
                words = f"{end} end of its interval at each time by itself"
                columns[f"risk {name}, {end}"] = getattr(band, end), words
        return columns

    @cached_property
    def _arms(self) -> Mapping[str, ReleasedSurvival]:
        """The curve of each group; none where there are none, or one is looked at."""
        return MappingProxyType({name: self[name] for name in self.levels if self.level is None})

    @property
    def _gaps(self) -> dict[str, SurvivalDifference]:
        """The first group minus each of the others, by what they are called."""
        first, *others = self._arms or ("",)
        return {
            f"{first} minus {name}": SurvivalDifference(self._arms[first], self._arms[name])
            for name in others
        }

    def difference_view(self, level: float = LEVEL) -> View:
        """The risk of the first group minus that of each other, with intervals at each time.

        Raises ParameterError if there are no groups.
        """
        self._check_groups("a difference")
        at, lines = self._band_points()[:, 0], []
        for name, gap in self._gaps.items():
            band = gap.band(at, level)
            words = f"meant to hold that of these {several(self.unit)}, {100 * level:.4g}% at each time"
            lines.append(Line(at, gap(at), name, band.lower, band.upper, words))
        return replace(self._curve(lines, baseline=0.0), y_label="difference of risk")

    def _difference(self) -> View:
        return self.difference_view()

    def _check_groups(self, wanted: str) -> None:
        if not self.levels:
            words = f"be two or more for {wanted}"
            raise ParameterError("groups", words, "none", "Fit with by=... and levels=[...].")

    def view(self, level: float | None = LEVEL) -> View:
        shown = [*self._arms.values()] or [self]
        lines = [arm._line(arm.level or "survival", level) for arm in shown]
        if len(self.cells.causes) > 1 and len(shown) == 1:
            at = self._band_points()[:, 0]
            lines += [
                Line(at, np.asarray(self.incidence(at, cause)), f"incidence of {cause}", stroke="dashed")
                for cause in self.cells.causes
            ]
        times = np.linspace(*self.domain_range, RISK_TIMES)
        rows = tuple(
            (arm.level or f"{several(self.unit)} at risk", np.asarray(arm.at_risk(times)))
            for arm in shown
        )
        return replace(self._curve(lines, baseline=0.0), below=(times, rows))

    @property
    def _subject(self) -> str:
        return "survival curve" + (f" of {self.level}" if self.level else "")

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
        sentences, numbers, findings = self._compared() if self._gaps else ([], {}, {})
        within = [WITHIN] if self.cells.step is None else []
        return Stated(
            f"A survival curve over {self._spoken_domain}, made of counts of {self.cells.describe()}."
            f"{self._dated}",
            public=self._public_facts,
            noise=f"{self.cells.describe()}; {self.shares.noise.describe()}",
            units=used_units(self),
            first=self._unknown,
            remarks=[
                *within,
                f"These {several(self.unit)} are a sample of more like them. The curve of all of those "
                f"is meant to lie, everywhere at once, in a wider band in {100 * wide.level:.4g} of 100 "
                f"samples: on average it reaches {far} from this curve.",
                f"By the median of '{self._axis_label(0)}' half of the {several(self.unit)} had an "
                f"event: {self._median} of these {several(self.unit)}, "
                f"{self.median(of='population')} of all like them.",
                *sentences,
                *(f"Groups: {text}." for text in tested.values()),
            ],
            numbers={"cells": self.cells.to_json(), "median": self._median.to_json(), **numbers},
            findings=findings | tested,
        )

    @property
    def _unknown(self) -> list[str]:
        """From which time on nothing is known, of all or of each group."""
        warnings, (start, end) = [], self.domain_range
        for name, arm in (self._arms or {"": self}).items():
            whose = name and f" of {name}"
            if arm._seen_until() <= start:
                warnings.append(
                    f"Hardly anybody{whose} is seen through the noise: all that is known of the curve "
                    "is that it does not rise."
                )
            elif arm._known_until < end:
                warnings.append(
                    f"Hardly anybody{whose} was followed from {number(arm._known_until)} on, as far as "
                    "can be seen through the noise: all that is known of the curve there is that it "
                    "does not rise. If many were, check the units of times."
                )
        return warnings

    def _compared(self) -> tuple[list[str], dict[str, object], dict[str, str]]:
        """Medians and differences of groups: in sentences, as numbers, and in lines."""
        middle = float(self.cells.settled(np.array([sum(self.domain_range) / 2]))[0])
        gaps, at, end = self._gaps.items(), number(middle), number(self.domain_range[1])
        axis = self._axis_label(0)
        estimates = {
            "medians": {name: arm._median for name, arm in self._arms.items()},
            "risk_differences": {name: gap.risk(middle) for name, gap in gaps},
            "population_risk_differences": {
                name: gap.risk(middle, of="population") for name, gap in gaps
            },
            "mean_time_differences": {name: gap.restricted_mean() for name, gap in gaps},
        }
        medians, risks, all_like, means = (
            "; ".join(f"{name}: {item}" for name, item in parts.items()) for parts in estimates.values()
        )
        sentences = [
            f"Medians of '{axis}' in these groups: {medians}.",
            f"Differences of risk, the share with an event, at {at}: {risks}. Those of all like them: "
            f"{all_like}.",
            f"Differences of the means of '{axis}' without an event up to {end}: {means}.",
        ]
        numbers: dict[str, object] = {
            name: {group: item.to_json() for group, item in parts.items()}
            for name, parts in estimates.items()
        }
        lines = {
            f"medians of {axis}": medians,
            f"risk at {at}": risks,
            f"mean of {axis} to {end}": means,
        }
        return sentences, numbers | {"risk_differences_at": middle}, lines

    def _lines(self) -> dict[str, str]:
        return {"cells": self.cells.describe(), f"median of {self._axis_label(0)}": f"{self._median}"}
