"""Released score curves: a noisy table of scores by outcome, and ROC, calibration and net benefit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points, frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.numerics.words import several
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Valued
from dpfda.releases.facts import Claim, Estimate, Stated
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, used_units
from dpfda.scores.binormal import leaned, placed
from dpfda.scores.tables import (
    STEPS,
    area_of_order,
    below,
    between,
    cell_areas,
    consistent,
    group_starts,
    rates,
    share_ends,
    shares_below,
)
from dpfda.views import Curve, Line

POINTS, DRAWS = 201, 4000
STATED: tuple[Of, ...] = ("sample", "population")
# Thresholds of net benefit end here: it divides by what is left up to one.
HIGHEST = 0.99
# By which part of a binormal curve's bend in groups of cells its area is off, in deviations; and of the
# squares of the room in each group, where one that is large leaves the curve unknown.
BENT, LOOSE = 0.2, 0.15


def bound_words(low: float, high: float) -> str:
    """What is bounded, in words."""
    return f"one score on [{low:g}, {high:g}] and one outcome a unit"


@dataclass(frozen=True, eq=False)
class ReleasedScoreCurves(Valued):
    """ROC, calibration and decision curves of a score, published with noise.

    Call it for the ROC curve: the true positive rate at a false positive rate. Whose score is at least a
    threshold counts as positive.

    Parameters
    ----------
    edges : array (K + 1,)
        Public edges of the cells of scores; the first and last are the bounds.
    shares : NoisyShares
        The mechanism's output: for the cells of those without the outcome, then of those with it.
    certificate : Certificate
    about : mapping
        Versions, date, labels.
    starts : tuple of int, optional
        First cells of the groups that those with the outcome were counted in; None for all cells.
    """

    edges: Floats = field(metadata=file.FLOATS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)
    starts: tuple[int, ...] | None = field(default=None, metadata=file.INTEGERS.or_absent.kept)

    FORMAT: ClassVar[str] = "dpfda-score-curves"
    _CALLED: ClassVar[str] = "released score curves"
    _plural: ClassVar[bool] = True
    _has_exact: ClassVar[bool] = False
    _subject: ClassVar[str] = "score curves"
    domain_range = 0.0, 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        edges, held = self.edges, len(self.shares.noisy)
        rising = edges.ndim == 1 and np.all(np.isfinite(edges)) and np.all(np.diff(edges) > 0)
        starts = np.arange(self._cells) if self.starts is None else np.array(self.starts)
        if not rising or held != self._cells + starts.size or self._cells < 2:
            raise ParameterError("edges", "increase, with two shares for each cell", f"{held} shares")
        if not (starts.size and starts[0] == 0 and np.all(np.diff(starts, append=self._cells) > 0)):
            raise ParameterError("starts", f"increase from 0, below {self._cells}", f"{self.starts}")

    @property
    def _cells(self) -> int:
        return self.edges.size - 1

    @property
    def score_bounds(self) -> tuple[float, float]:
        """Public ends of scores."""
        return float(self.edges[0]), float(self.edges[-1])

    @property
    def grid_points(self) -> Floats:
        """False positive rates (201,) of tables."""
        return np.linspace(0.0, 1.0, POINTS)

    @cached_property
    def counts(self) -> Floats:
        """Noisy numbers (2, K) of persons without and with the outcome; they sum to a public total."""
        known, counts = self.shares.public_size, self.shares.counts
        spare = 0.0 if known is None else (known - counts.sum()) / counts.size
        return frozen(self._spread(counts + spare))

    @property
    def _starts(self) -> Integers:
        """First cells (M,) of the groups that those with the outcome were counted in."""
        return np.arange(self._cells) if self.starts is None else np.array(self.starts, dtype=np.int64)

    @property
    def _places(self) -> Integers:
        """Where in a table (2 K,) what was counted stands: that of a group in its first cell."""
        return np.concatenate([np.arange(self._cells), self._cells + self._starts])

    def _spread(self, numbers: Floats) -> Floats:
        """Tables (.., 2, K) of what was counted (.., K + M)."""
        tables = np.zeros((*numbers.shape[:-1], 2 * self._cells))
        tables[..., self._places] = numbers
        return tables.reshape(*numbers.shape[:-1], 2, -1)

    @cached_property
    def _counted(self) -> Floats:
        """A table (2, K) of which numbers were counted."""
        return frozen(self._spread(np.ones(self._places.size)))

    @property
    def _ends(self) -> Integers:
        """Places (2, 2, K + 1) next below and above each edge where numbers are known, by outcome."""
        every, known = np.arange(self._cells + 1), np.append(self._starts, self._cells)
        above = known[np.searchsorted(known, every)]
        below_it = known[np.searchsorted(known, every, "right") - 1]
        return np.array([[every, below_it], [every, above]])

    @cached_property
    def persons(self) -> Floats:
        """Likely numbers (2, K), none of them negative."""
        if self.starts is None:
            return frozen(consistent(self.counts))
        return frozen(self._people * np.diff(self._between[:, ::STEPS]))

    @cached_property
    def _without(self) -> Floats:
        """Likely numbers (1, K) of those without the outcome."""
        return frozen(consistent(self.counts[:1]))

    @cached_property
    def _likely(self) -> tuple[Floats, Floats]:
        """A binormal curve, and likely numbers (M,) of those with the outcome, in their groups."""
        scale = self.shares.deviation / math.sqrt(2)
        # Noise may hide that somebody without the outcome is in a group.
        without = np.maximum(np.add.reduceat(self._without[0], self._starts), scale)
        return leaned(shares_below(without), self.counts[1, self._starts], scale)

    @property
    def _people(self) -> Floats:
        """Likely numbers (2, 1) without and with the outcome."""
        if self.starts is None:
            return np.asarray(self.persons.sum(axis=1, keepdims=True))
        return np.array([[self._without.sum()], [self._likely[1].sum()]])

    @cached_property
    def _between(self) -> Floats:
        """Shares (2, STEPS K + 1) of either outcome below edges and places between them."""
        if self.starts is None:
            return frozen(between(shares_below(self.persons)))
        steps = np.arange(STEPS * self._cells + 1) / STEPS
        without = np.interp(steps, np.arange(self._cells + 1), shares_below(self._without)[0])
        (curve, numbers), ends = self._likely, np.append(self._starts, self._cells)
        return frozen(np.array([without, placed(without, STEPS * ends, shares_below(numbers), curve)]))

    def _errors(self, of: Of | None) -> Floats:
        """Simulated errors (draws, 2, K) of `counts`, from a fixed key; of a sample, perhaps."""
        generator = np.random.Generator(np.random.Philox(key=0))
        drawn = self.shares.errors(generator, DRAWS)
        if self.shares.public_size is not None:
            drawn = drawn - drawn.mean(axis=1, keepdims=True)
        if of == "population":
            people, chances = round(self.shares.size), self.persons.ravel() / self.persons.sum()
            sampled = generator.multinomial(people, chances, DRAWS) - people * chances
            drawn = drawn + np.add.reduceat(sampled, self._places, axis=1)
        return self._spread(drawn)

    # ROC curve.

    @property
    def auc(self) -> float:
        """Area under the ROC curve, which is smooth between cells."""
        return float(cell_areas(self._between).sum())

    def auc_interval(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """The area with an interval.

        It is as wide as noise and the order of scores inside groups of cells by chance make it, and a
        share of the curve's bend there, by which scores tell more than that.

        Parameters
        ----------
        level : float
            Probability of the interval.
        of : {"sample", "population"}
            Whether it is for these persons, or for a population that they are a sample of.
        """
        ends = np.append(self._starts, self._cells)
        smooth, tied = cell_areas(self._between), cell_areas(self._below[:, ends])
        bend = float(np.abs(np.add.reduceat(smooth, STEPS * self._starts) - tied).sum())
        drawn = shares_below(self.persons + self._errors(_asked(level, of).of))
        off = cell_areas(drawn[..., ends]).sum(axis=-1) - tied.sum()
        order = area_of_order(np.add.reduceat(self.persons, self._starts, axis=1))
        # Making the table consistent may move the area; noise alone does not.
        moved = float(cell_areas(shares_below(self.counts)).sum() - tied.sum())
        if self.starts is not None:
            room = float(np.sum(np.prod(np.diff(self._below[:, ends]), axis=0) ** 2))
            order, bend, moved = math.hypot(order, BENT * bend, LOOSE * room), 0.0, 0.0
        generator = np.random.Generator(np.random.Philox(key=1))
        off += order * generator.standard_normal(DRAWS)
        far = float(np.quantile(np.abs(off), level, method="higher")) + bend
        lower, upper = self.auc + min(moved, 0.0) - far, self.auc + max(moved, 0.0) + far
        return Estimate(self.auc, max(0.0, lower), min(1.0, upper), level)

    @property
    def _below(self) -> Floats:
        """Shares (2, K + 1) with a score below each edge, of either outcome."""
        return shares_below(self.persons)

    def _ends_below(self, asked: Asked) -> tuple[Floats, Floats]:
        """Ends of these shares, for all at once, or for both outcomes at one edge."""
        rows, (first, last) = np.array([[0], [1]]), self._ends
        inner = first[:, 1:-1]
        people = (asked.of == "population") * self.persons.sum(axis=1, keepdims=True)

        def parted(tables: Floats) -> tuple[Floats, Floats]:
            numbers = below(tables)
            part = numbers[..., rows, inner]
            return part, numbers[..., -1:] - part

        # Nothing is known below the first edge: what is said of it there is not looked at.
        part, rest = parted(self._counted)
        sizes, share = (np.maximum(part, 1.0), rest), self._below[rows, inner]
        about = sizes, self.shares.deviation**2, people
        numbers, errors = parted(self.counts), parted(self._errors(asked.of))
        over = (1, 2) if asked.simultaneous else 1
        lower, upper = share_ends(share, numbers, errors, *about, asked.level, over)
        if asked.simultaneous:
            # Shares below increase: what bounds one bounds the others.
            lower = np.maximum.accumulate(lower, axis=1)
            upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
        none, all_ = np.zeros((2, 1)), np.ones((2, 1))
        ends = np.hstack([none, lower, all_]), np.hstack([none, upper, all_])
        return ends[0][rows, first], ends[1][rows, last]

    def _values(self, at: Floats) -> Floats:
        return rates(self._between, at)

    roc, roc_band = Valued.__call__, Valued.band

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band that holds whatever rises between corners of cells.

        Notes
        -----
        Shares below all edges lie between their ends. A threshold with a false positive rate above x is
        lower than that of x, so that its true positive rate is no smaller; one with x at most is higher.
        """
        least, most = (1 - end for end in self._ends_below(asked)[::-1])
        upper = np.where(least[0] > at[:, None], most[1], 1.0).min(axis=1)
        lower = np.where(most[0] <= at[:, None], least[1], 0.0).max(axis=1)
        return settled(Band(at, lower, upper, asked.level, asked.simultaneous), self._values(at))

    # Thresholds.

    def _around_places(self, at: Floats) -> tuple[Integers, Integers]:
        """Places of the edges at or next below scores, and at or next above them."""
        # The highest score is in the last cell.
        first = np.minimum(np.searchsorted(self.edges, at, "right") - 1, self._cells - 1)
        return first, first + (self.edges[first] < at)

    def _rate(self, outcome: int, threshold: float, asked: Asked) -> Estimate:
        """Share of those of an outcome with a score below a threshold."""
        at = _within(threshold, self.score_bounds, "threshold")
        ends = zip(self._ends_below(asked), self._around_places(at), strict=True)
        value = np.interp(at, self.edges, self._below[outcome])
        lower, upper = (float(end[outcome, place[0]]) for end, place in ends)
        return Estimate(float(value[0]), lower, upper, asked.level)

    def sensitivity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those with the outcome, whose score is at least a threshold."""
        found = self._rate(1, threshold, _asked(level, of))
        return Estimate(1 - found.value, 1 - found.upper, 1 - found.lower, level)

    def specificity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those without the outcome, whose score is below a threshold."""
        return self._rate(0, threshold, _asked(level, of))

    # Calibration.

    @property
    def _joined(self) -> Integers:
        """First cells of the groups of calibration."""
        people, counted = np.add.reduceat([self.persons, self._counted], self._starts, axis=2).sum(
            axis=1
        )
        return self._starts[group_starts(people, counted, self.shares.deviation)]

    @property
    def groups(self) -> Floats:
        """Edges (G + 1,) of groups of cells, each of enough persons; they follow the release."""
        return np.asarray(self.edges[np.append(self._joined, self._cells)])

    @property
    def _mean_scores(self) -> Floats:
        """About the mean score of each group: persons are taken to be in the middles of their cells."""
        people, middles = self.persons.sum(axis=0) + 1e-9, (self.edges[1:] + self.edges[:-1]) / 2
        sums = np.add.reduceat([people * middles, people], self._joined, axis=1)
        return np.asarray(sums[0] / sums[1])

    def _grouped(self, values: Floats, scores: ArrayLike) -> Floats:
        at = _within(scores, self.score_bounds, "scores")
        return np.asarray(values[np.searchsorted(self.groups[1:-1], at, "right")])

    def _with_outcome(self, starts: Integers, asked: Asked) -> tuple[Floats, Floats, Floats]:
        """Share with the outcome in each group (G,), and its ends."""
        sizes = np.add.reduceat(self._counted, starts, axis=1)[::-1]
        without, with_it = np.add.reduceat(self.persons, starts, axis=1)
        share = with_it / np.maximum(without + with_it, 1e-9)
        people = (asked.of == "population") * (without + with_it)
        about = sizes, self.shares.deviation**2, people
        numbers, errors = (
            np.moveaxis(np.add.reduceat(each, starts, axis=-1), -2, 0)[::-1]
            for each in (self.counts, self._errors(asked.of))
        )
        over = 1 if asked.simultaneous else None
        return share, *share_ends(share, numbers, errors, *about, asked.level, over)

    def prevalence(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share of all persons with the outcome."""
        found = self._with_outcome(np.zeros(1, dtype=np.int64), _asked(level, of))
        value, lower, upper = (float(each[0]) for each in found)
        return Estimate(value, lower, upper, level)

    def calibration(self, scores: ArrayLike) -> Any:
        """Share with the outcome among those whose score is in the same one of `groups`."""
        return _like(scores, self._grouped(self._with_outcome(self._joined, Asked())[0], scores))

    def calibration_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        scores: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for these shares, by default at about the mean score of each group."""
        at = np.atleast_1d(self._mean_scores if scores is None else scores)
        ends = self._with_outcome(self._joined, _asked(level, of, simultaneous))[1:]
        lower, upper = (self._grouped(end, at) for end in ends)
        return Band(at, lower, upper, level, simultaneous)

    # Decisions.

    def net_benefit(self, thresholds: ArrayLike) -> Any:
        """Net benefit of treating whose score is at least a threshold probability.

        True positives less false positives times the odds of the threshold, a person (Vickers & Elkin
        2006). Treating nobody has 0, treating all `treat_all`.

        Raises
        ------
        ParameterError
            If the bounds of scores are not within 0 and 1, or a threshold is outside, or above .99.
        """
        at = self._thresholds(thresholds)
        shares = np.array([np.interp(at, self.edges, row) for row in self._below])
        without, with_it = (1 - shares) * self.persons.sum(axis=1, keepdims=True)
        return _like(thresholds, (with_it - at / (1 - at) * without) / self.shares.size)

    def treat_all(self, thresholds: ArrayLike) -> Any:
        """Net benefit of treating all."""
        at, share = self._thresholds(thresholds), self.prevalence().value
        return _like(thresholds, share - (1 - share) * at / (1 - at))

    def net_benefit_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        thresholds: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for net benefit, whatever the order of scores inside cells."""
        usual = np.linspace(self.edges[0], min(self.edges[-1], HIGHEST), POINTS)
        at = self._thresholds(usual if thresholds is None else thresholds)
        ends, errors = self._benefits(self.persons, at), self._errors(_asked(level, of).of)
        off = np.abs(self._benefits(self.persons + errors, at) - ends)
        band = band_from_errors(ends, off, level, simultaneous, ends)
        found = Band(at, band.lower[: at.size], band.upper[at.size :], level, simultaneous)
        return settled(found, np.asarray(self.net_benefit(at)))

    def _benefits(self, tables: Floats, at: Floats) -> Floats:
        """Least and largest net benefits (.., 2 q) of tables by where in cells persons are."""
        numbers, (first, last) = below(tables), self._around_places(at)
        without, with_it = np.moveaxis(numbers[..., -1:] - numbers, -2, 0)
        (_, known_first), (_, known_last) = self._ends
        odds = at / (1 - at)
        least = with_it[..., known_last[last]] - odds * without[..., first]
        most = with_it[..., known_first[first]] - odds * without[..., last]
        return np.concatenate([least, most], axis=-1) / self.shares.size

    @property
    def _of_risks(self) -> bool:
        return bool(self.edges[0] >= 0 and self.edges[-1] <= 1)

    def _thresholds(self, thresholds: ArrayLike) -> Floats:
        if not self._of_risks:
            words = "lie within 0 and 1 for net benefit"
            raise ParameterError("score_bounds", words, f"{self.score_bounds}")
        low, high = self.score_bounds
        return _within(thresholds, (low, min(high, HIGHEST)), "thresholds")

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(*self.score_bounds)}

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours)

    # Pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        chance = Line(np.arange(2.0), np.arange(2.0), "no better than chance", stroke="dotted")
        return self._curve([self._line(f"ROC curve, area {self.auc:.3f}", level), chance])

    def panels(self, level: float | None = LEVEL) -> tuple[Curve, ...]:
        """Views of the ROC curve, of calibration and, for risks between 0 and 1, of net benefit."""
        views, ends = [self.view(level)], np.array(self.score_bounds)
        asked = 0.5 if level is None else level
        band, words = self.calibration_band(asked), f"in {self._joined.size} groups"
        drawn = _drawn(band, self.calibration(band.points), words, level, True)
        lines = (drawn, Line(ends, ends, "as predicted", stroke="dotted"))[: 1 + self._of_risks]
        views.append(Curve(lines, "score", "share with the outcome", "Calibration"))
        if self._of_risks:
            band, share = self.net_benefit_band(asked), self.prevalence().value
            drawn = _drawn(band, self.net_benefit(band.points), "treat by the score", level)
            at = band.points[self.treat_all(band.points) >= -share / 2]
            lines = drawn, Line(at, self.treat_all(at), "treat all", stroke="dashed")
            axes, title = ("threshold probability", "net benefit"), "Decision curve (0: treat nobody)"
            views.append(Curve(lines, *axes, title, baseline=0.0))
        return tuple(views)

    @property
    def public_units(self) -> int | None:
        return None if self.neighbours is Neighbours.ADD_REMOVE else self.shares.public_size

    @property
    def _value_label(self) -> str:
        return str(self.about.get("value", "true positive rate"))

    def _axis_label(self, axis: int) -> str:
        return str(self.about.get("domain", "false positive rate"))

    def _claims(self) -> tuple[Claim, ...]:
        own = f"the ROC curve of these {several(self.unit)}"
        all_like = f"the ROC curve of a population that these {several(self.unit)} are a sample of"
        return (
            Claim("sample", own, "in shares", legend="the ROC curve", among="releases"),
            Claim("population", all_like, "in shares", legend="the population's", among="samples"),
        )

    def _stated(self) -> Stated:
        (low, high), unit = self.score_bounds, self.unit
        area, share, wide = self.auc_interval(), self.prevalence(), self.auc_interval(of="population")
        return Stated(
            f"How well a score from {low:g} to {high:g} tells {several(unit)} with an outcome from "
            "those without: ROC, calibration and decision curves, made of the numbers of both in "
            f"{self._cells} cells of scores.",
            public=["the score itself, and the edges of its cells"],
            noise=self.shares.noise.describe().replace("coefficients", "cells"),
            units=used_units(self),
            bounded=["Scores beyond the bounds count as on them."],
            remarks=[
                f"If one {unit} with the outcome and one without are drawn at random, the one with it "
                f"has the higher score about {100 * self.auc:.0f} times in 100: that is the area under "
                f"the ROC curve. It is {area} for these {several(unit)}, and {wide} for those they are "
                f"a sample of. {_order_words(self.starts)}",
                f"The score must not have been fitted to these {several(unit)}: this release does not "
                "protect them from what the score tells.",
            ],
            numbers={"auc": area.to_json(), "prevalence": share.to_json()},
            findings={"prevalence": str(share)},
        )

    def _lines(self) -> dict[str, str]:
        cells = f"{self._cells} and {self._starts.size}"
        return {"cells": cells, "area": str(self.auc_interval())}


def _order_words(starts: tuple[int, ...] | None) -> str:
    """What bands and intervals take of the order of scores that were counted together."""
    if starts is None:
        return (
            "Bands allow for every order of scores inside a cell; intervals of the area take scores "
            "there to mix as smoothly as between cells."
        )
    return (
        f"Those with the outcome were counted in {len(starts)} groups of cells. Bands allow for every "
        "order of scores inside a group; intervals of the area take them to be about binormal there."
    )


def _asked(level: float, of: object, simultaneous: bool = False) -> Asked:
    stated = STATED[STATED.index(choice(of, "of", STATED))]
    return Asked(check_level(level, simultaneous), simultaneous, stated)


def _within(given: ArrayLike, ends: tuple[float, float], name: str) -> Floats:
    """Numbers (q,) between ends; refused by the name that the caller has for them."""
    try:
        return check_points(given, ends)
    except ParameterError as error:
        raise ParameterError(name, error.constraint, error.found, error.remedy) from None


def _like(given: ArrayLike, values: Floats) -> Any:
    """A number where one was asked for."""
    return float(values[0]) if np.ndim(given) == 0 else values


def _drawn(band: Band, values: Floats, label: str, level: float | None, marked: bool = False) -> Line:
    """A line with its band; without it where no level is wanted. Wide bands are cut for the eye."""
    if level is None:
        return Line(band.points, values, label, marked=marked)
    room = 2 * float(np.abs(values).max())
    lower, upper = np.clip(band.lower, values - room, None), np.clip(band.upper, None, values + room)
    return Line(band.points, values, label, lower, upper, f"{100 * level:.4g}% band", marked=marked)
