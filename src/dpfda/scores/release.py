"""Released score curves: a noisy table of scores by outcome, and ROC, calibration and net benefit."""

from __future__ import annotations

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
from dpfda.scores.tables import (
    STEPS,
    area_of_order,
    below,
    between,
    cell_areas,
    consistent,
    group_starts,
    share_ends,
    shares_below,
)
from dpfda.views import Curve, Line

POINTS, DRAWS = 201, 4000
STATED: tuple[Of, ...] = ("sample", "population")
# Thresholds of net benefit end here: it divides by what is left up to one.
HIGHEST = 0.99
# Where the ROC curve rises at one rate, it is read off at the top.
STEP = 1e-9


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
    """

    edges: Floats = field(metadata=file.FLOATS.kept)
    shares: NoisyShares = field(metadata=file.itself(NoisyShares.from_json).kept)
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

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
        if not rising or held != 2 * self._cells or held < 4:
            raise ParameterError("edges", "increase, with two shares for each cell", f"{held} shares")

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
        return frozen((counts + spare).reshape(2, -1))

    @cached_property
    def persons(self) -> Floats:
        """The same, none of them negative."""
        return frozen(consistent(self.counts))

    def _errors(self, of: Of | None) -> Floats:
        """Simulated errors (draws, 2, K) of `counts`, from a fixed key; of a sample, perhaps."""
        generator = np.random.Generator(np.random.Philox(key=0))
        drawn = self.shares.errors(generator, DRAWS)
        if self.shares.public_size is not None:
            drawn = drawn - drawn.mean(axis=1, keepdims=True)
        if of == "population":
            people, chances = round(self.shares.size), self.persons.ravel() / self.persons.sum()
            drawn = drawn + generator.multinomial(people, chances, DRAWS) - people * chances
        return drawn.reshape(DRAWS, 2, -1)

    # ROC curve.

    @property
    def auc(self) -> float:
        """Area under the ROC curve, which is smooth between cells."""
        return float(cell_areas(between(self._below)).sum())

    def auc_interval(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """The area with an interval.

        Scores inside a cell are taken to tell about as much as the curve between cells does, or nothing:
        it is as wide as the noise and their order by chance make it, and the curve's bend in each cell.

        Parameters
        ----------
        level : float
            Probability of the interval.
        of : {"sample", "population"}
            Whether it is for these persons, or for a population that they are a sample of.
        """
        smooth, tied = cell_areas(between(self._below)), cell_areas(self._below)
        bend = np.abs(np.add.reduceat(smooth, np.arange(0, smooth.size, STEPS)) - tied).sum()
        drawn = self.persons + self._errors(_asked(level, of).of)
        off = cell_areas(shares_below(drawn)).sum(axis=-1) - tied.sum()
        generator = np.random.Generator(np.random.Philox(key=1))
        off += area_of_order(self.persons) * generator.standard_normal(DRAWS)
        far = float(np.quantile(np.abs(off), level, method="higher") + bend)
        # Making the table consistent may move the area; noise alone does not.
        moved = float(cell_areas(shares_below(self.counts)).sum() - tied.sum())
        lower, upper = self.auc + min(moved, 0.0) - far, self.auc + max(moved, 0.0) + far
        return Estimate(self.auc, max(0.0, lower), min(1.0, upper), level)

    @property
    def _below(self) -> Floats:
        """Shares (2, K + 1) with a score below each edge, of either outcome."""
        return shares_below(self.persons)

    def _ends_below(self, asked: Asked) -> tuple[Floats, Floats]:
        """Ends of these shares, for all at once, or for both outcomes at one edge."""
        share, inner = self._below[:, 1:-1], np.arange(1.0, self._cells)
        people = (asked.of == "population") * self.persons.sum(axis=1, keepdims=True)
        about = (inner, self._cells - inner), self.shares.deviation**2, people

        def parted(tables: Floats) -> tuple[Floats, Floats]:
            numbers = below(tables)
            return numbers[..., 1:-1], numbers[..., -1:] - numbers[..., 1:-1]

        numbers, errors = parted(self.counts), parted(self._errors(asked.of))
        over = (1, 2) if asked.simultaneous else 1
        lower, upper = share_ends(share, numbers, errors, *about, asked.level, over)
        if asked.simultaneous:
            # Shares below increase: what bounds one bounds the others.
            lower = np.maximum.accumulate(lower, axis=1)
            upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
        none, all_ = np.zeros((2, 1)), np.ones((2, 1))
        return np.hstack([none, lower, all_]), np.hstack([none, upper, all_])

    def _values(self, at: Floats) -> Floats:
        false, true = 1 - between(self._below)[:, ::-1]
        false = false + STEP * np.linspace(0, 1, false.size)
        return np.asarray(np.interp(at + STEP, false, true))

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
    def _starts(self) -> Integers:
        return group_starts(self.persons.sum(axis=0), self.shares.deviation)

    @property
    def groups(self) -> Floats:
        """Edges (G + 1,) of groups of cells, each of enough persons; they follow the release."""
        return np.asarray(self.edges[np.append(self._starts, self._cells)])

    @property
    def _mean_scores(self) -> Floats:
        """About the mean score of each group: persons are taken to be in the middles of their cells."""
        people, middles = self.persons.sum(axis=0) + STEP, (self.edges[1:] + self.edges[:-1]) / 2
        sums = np.add.reduceat([people * middles, people], self._starts, axis=1)
        return np.asarray(sums[0] / sums[1])

    def _grouped(self, values: Floats, scores: ArrayLike) -> Floats:
        at = _within(scores, self.score_bounds, "scores")
        return np.asarray(values[np.searchsorted(self.groups[1:-1], at, "right")])

    def _with_outcome(self, starts: Integers, asked: Asked) -> tuple[Floats, Floats, Floats]:
        """Share with the outcome in each group (G,), and its ends."""
        sizes = np.diff(np.append(starts, self._cells)).astype(np.float64)
        without, with_it = np.add.reduceat(self.persons, starts, axis=1)
        share = with_it / np.maximum(without + with_it, 1e-9)
        people = (asked.of == "population") * (without + with_it)
        about = (sizes, sizes), self.shares.deviation**2, people
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
        return _like(scores, self._grouped(self._with_outcome(self._starts, Asked())[0], scores))

    def calibration_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        scores: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for these shares, by default at about the mean score of each group."""
        at = np.atleast_1d(self._mean_scores if scores is None else scores)
        ends = self._with_outcome(self._starts, _asked(level, of, simultaneous))[1:]
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
        odds = at / (1 - at)
        least = with_it[..., last] - odds * without[..., first]
        most = with_it[..., first] - odds * without[..., last]
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
        band, words = self.calibration_band(asked), f"in {self._starts.size} groups"
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
                "a sample of. Bands allow for every order of scores inside a cell; intervals of the "
                "area take scores there to mix as smoothly as between cells.",
                f"The score must not have been fitted to these {several(unit)}: this release does not "
                "protect them from what the score tells.",
            ],
            numbers={"auc": area.to_json(), "prevalence": share.to_json()},
            findings={"prevalence": str(share)},
        )

    def _lines(self) -> dict[str, str]:
        return {"cells": f"2 x {self._cells}", "area": str(self.auc_interval())}


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
