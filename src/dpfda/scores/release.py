"""Released score curves: ROC, calibration and net benefit from a noisy table, in numbers and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import InPython, ParameterError
from dpfda.numerics.parameters import choice, shown
from dpfda.numerics.words import several, so_many
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL, Valued
from dpfda.releases.facts import Claim, Estimate, Stated
from dpfda.releases.shares import used_units
from dpfda.scores.counted import DRAWS, CountedScores
from dpfda.scores.tables import STEPS, area_of_order, between, cell_areas, rates, shares_below
from dpfda.views import Curve, Line

POINTS = 201
STATED: tuple[Of, ...] = ("sample", "population")
# Descriptions of the cells, without a first look and with one.
EDGES = "the edges of its cells", "where edges of its cells can be"
LOOKED = (
    " Where these cells lie follows from a first, noisy look at scores of those without the outcome."
)
# Thresholds of net benefit end here: it divides by what is left up to one.
HIGHEST = 0.99
# By which part of a binormal curve's bend in groups of cells its area is off, in deviations; and of the
# room in each group, which errs by itself.
BENT, LOOSE = 0.2, 0.1
# Wider than so much an interval of the area says hardly anything; and deviations of the noise in two
# cells, of both outcomes, that more than half of all scores are beyond by chance in 1 of 100. Of risks
# that fit the outcomes, within as many, this part of all may lie at the bounds.
WEAK, FAR, MOST = 0.6, 5.0, 0.9


def bound_words(low: float, high: float) -> str:
    """What is bounded, in words."""
    return f"one score on [{low:g}, {high:g}] and one outcome a unit"


@dataclass(frozen=True, eq=False)
class ReleasedScoreCurves(CountedScores):
    """ROC, calibration and decision curves of a score, published with noise.

    Call it for the ROC curve: the true positive rate at a false positive rate. Whose score is at least a
    threshold counts as positive.

    Parameters
    ----------
    edges : array (K + 1,)
        Edges of the cells of scores; the first and last are the bounds.
    shares : NoisyShares
        The mechanism's output: of the look, if there was one; then for the cells of those without the
        outcome, then of those with it.
    certificate : Certificate
    about : mapping
        Versions, date, labels.
    starts : tuple of int, optional
        First cells of the groups that those with the outcome were counted in; None for all cells.
    look : (int, int), optional
        That cells follow from a first look: in how many it counted those without the outcome, each by
        one of so many parts, and what is left in the cells.
    """

    _FORMAT: ClassVar[str] = "dpfda-score-curves"
    _CALLED: ClassVar[str] = "release of score curves"
    _plural: ClassVar[bool] = True
    _has_exact: ClassVar[bool] = False
    _subject: ClassVar[str] = "score curves"
    domain_range = 0.0, 1.0

    @property
    def grid_points(self) -> Floats:
        """False positive rates (201,) of tables."""
        return np.linspace(0.0, 1.0, POINTS)

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
        below = self._below[:, ends]
        smooth, tied = cell_areas(self._between), cell_areas(below)
        bend = float(np.abs(np.add.reduceat(smooth, STEPS * self._starts) - tied).sum())
        drawn = shares_below(self.persons + self._errors(_request(level, of).of))
        off = cell_areas(drawn[..., ends]).sum(axis=-1) - tied.sum()
        order = area_of_order(np.add.reduceat(self.persons, self._starts, axis=1))
        # Making the table consistent may move the area; noise alone does not.
        moved = float(cell_areas(shares_below(self.counts)).sum() - tied.sum())
        # Where scores look tied they may not be, and where they half do they may be.
        untied = cell_areas(self._smooth).reshape(-1, STEPS).sum(axis=1)
        untied = np.abs(untied - cell_areas(self._smooth[:, ::STEPS]))
        less = float(np.minimum(self._untied, 1 - self._untied) @ untied)
        more = float((1 - self._untied) @ untied)
        if self.starts is not None:
            # Those tied are in no order that could be another.
            untied = np.repeat(self._untied, STEPS) * np.diff(self._between[0])
            untied = np.add.reduceat(untied, STEPS * self._starts) / np.maximum(np.diff(below[0]), 1e-9)
            rooms = untied * np.prod(np.diff(below), axis=0)
            # Where one group has nearly all of it, order there may be anything.
            alone = rooms.max() ** 3 / max(float(rooms.sum()), 1e-9) ** 2 / math.sqrt(12)
            room = math.hypot(LOOSE * float(np.linalg.norm(rooms)), alone)
            other = cell_areas(between(below)).reshape(-1, STEPS).sum(axis=1)
            other = float(untied @ (other - np.add.reduceat(smooth, STEPS * self._starts)))
            order, bend, moved = math.hypot(order, BENT * bend, room, other), 0.0, 0.0
        generator = np.random.Generator(np.random.Philox(key=1))
        off += order * generator.standard_normal(DRAWS)
        far = float(np.quantile(np.abs(off), level, method="higher")) + bend
        lower, upper = self.auc + min(moved, 0.0) - far - less, self.auc + max(moved, 0.0) + far + more
        return Estimate(self.auc, max(0.0, lower), min(1.0, upper), level)

    def _values(self, at: Floats) -> Floats:
        return rates(self._between, at)

    roc, roc_band = Valued.__call__, Valued.band

    def _around(self, at: Floats, request: Asked) -> Band:
        """Band that holds whatever rises between corners of cells.

        Notes
        -----
        Shares below all edges lie between their ends. A threshold with a false positive rate above x is
        lower than that of x, so that its true positive rate is no smaller; one with x at most is higher.
        """
        least, most = (1 - end for end in self._ends_below(request)[::-1])
        upper = np.where(least[0] > at[:, None], most[1], 1.0).min(axis=1)
        lower = np.where(most[0] <= at[:, None], least[1], 0.0).max(axis=1)
        return settled(Band(at, lower, upper, request.level, request.simultaneous), self._values(at))

    # Thresholds.

    def _rate(self, outcome: int, threshold: float, request: Asked) -> Estimate:
        """Share of those of an outcome with a score below a threshold."""
        at = _within(threshold, self.score_bounds, "threshold")
        if np.ndim(threshold):
            raise ParameterError("threshold", "be one number", shown(threshold))
        ends = zip(self._ends_below(request), self._around_places(at), strict=True)
        value = np.interp(at, self.edges, self._below[outcome])
        lower, upper = (float(end[outcome, place[0]]) for end, place in ends)
        return Estimate(float(value[0]), lower, upper, request.level)

    def sensitivity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those with the outcome, whose score is at least a threshold."""
        share = self._rate(1, threshold, _request(level, of))
        return Estimate(1 - share.value, 1 - share.upper, 1 - share.lower, level)

    def specificity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those without the outcome, whose score is below a threshold."""
        return self._rate(0, threshold, _request(level, of))

    # Calibration.

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

    def prevalence(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share of all persons with the outcome."""
        estimate = self._with_outcome(np.zeros(1, dtype=np.int64), _request(level, of))
        value, lower, upper = (float(number[0]) for number in estimate)
        return Estimate(value, lower, upper, level)

    def calibration(self, scores: ArrayLike) -> float | Floats:
        """Share with the outcome among those whose score is in the same one of `groups`."""
        return _like(scores, self._grouped(self._with_outcome(self._joined, Asked())[0], scores))

    def calibration_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        scores: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for these shares, by default at about the mean score of each group."""
        at = np.atleast_1d(self._mean_scores if scores is None else scores)
        ends = self._with_outcome(self._joined, _request(level, of, simultaneous))[1:]
        lower, upper = (self._grouped(end, at) for end in ends)
        return Band(at, lower, upper, level, simultaneous)

    # Decisions.

    def net_benefit(self, thresholds: ArrayLike) -> float | Floats:
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

    def treat_all(self, thresholds: ArrayLike) -> float | Floats:
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
        ends, errors = self._benefits(self.persons, at), self._errors(_request(level, of).of)
        off = np.abs(self._benefits(self.persons + errors, at) - ends)
        band = band_from_errors(ends, off, level, simultaneous, ends)
        joint = Band(at, band.lower[: at.size], band.upper[at.size :], level, simultaneous)
        return settled(joint, np.asarray(self.net_benefit(at)))

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

    # Pictures and words.

    def view(self, level: float | None = LEVEL) -> Curve:
        chance = Line(np.arange(2.0), np.arange(2.0), "no better than chance", stroke="dotted")
        return self._curve([self._line(f"ROC curve, area {self.auc:.3f}", level), chance])

    def _panels(self, level: float | None = LEVEL) -> tuple[Curve, ...]:
        """Views of the ROC curve, of calibration and, for risks between 0 and 1, of net benefit."""
        views, ends = [self.view(level)], np.array(self.score_bounds)
        usual = 0.5 if level is None else level
        band, words = self.calibration_band(usual), f"in {so_many(self._joined.size, 'group')}"
        drawn = _drawn(band, np.asarray(self.calibration(band.points)), words, level, True)
        lines = (drawn, Line(ends, ends, "as predicted", stroke="dotted"))[: 1 + self._of_risks]
        views.append(Curve(lines, "score", "share with the outcome", "Calibration"))
        if self._of_risks:
            band, share = self.net_benefit_band(usual), self.prevalence().value
            benefit = np.asarray(self.net_benefit(band.points))
            drawn = _drawn(band, benefit, "treat by the score", level)
            at = band.points[self.treat_all(band.points) >= -share / 2]
            lines = drawn, Line(at, np.asarray(self.treat_all(at)), "treat all", stroke="dashed")
            axes, title = ("threshold probability", "net benefit"), "Decision curve (0: treat nobody)"
            views.append(Curve(lines, *axes, title, baseline=0.0))
        return tuple(views)

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
        coding = [f"the codes of outcomes: {self.about['coding']}"] if "coding" in self.about else []
        area, share, wide = self.auc_interval(), self.prevalence(), self.auc_interval(of="population")
        weak = [
            f"Hardly anything is known of how well the score tells these {several(unit)} apart: the "
            "area may lie anywhere in its interval. The cause is few with the outcome, or without."
        ]
        return Stated(
            f"How well a score from {low:g} to {high:g} tells {several(unit)} with an outcome from "
            "those without: ROC, calibration and decision curves, made of the numbers of both in "
            f"{self._cells} cells of scores.{LOOKED if self.look else ''}",
            public=[*coding, "the score itself, and " + EDGES[self.look is not None]],
            noise=self.shares.noise.describe().replace("coefficient", "cell"),
            units=used_units(self),
            first=self._at_bounds + weak * (area.upper - area.lower > WEAK),
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

    @property
    def _at_bounds(self) -> list[str]:
        """What to know first, where most scores are in the two cells at the bounds."""
        (low, high), ends = self.score_bounds, self.persons[:, [0, -1]]
        noise, people = self.shares.deviation, self.persons.sum()
        # Of right risks few have the outcome near 0, and few are without it near 1.
        end = int(ends.sum(axis=0).argmax())
        few = abs(end - self.edges[[1, -2][end]]) * ends[:, end].sum() + FAR * noise
        right = self._of_risks and bool(ends[1 - end, end] <= few)
        usual = max(people / 2 + FAR * noise, MOST * people * right)
        if self._cells < 3 or ends.sum() <= usual:
            return []
        return [
            f"Most scores lie at {low:g} or {high:g}, near them or beyond, where their order is hardly "
            "seen. If that is not as expected, check the units of the score and of its bounds, such as "
            "100 per cent for 1."
        ]

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


def _request(level: float, of: object, simultaneous: bool = False) -> Asked:
    stated = STATED[STATED.index(choice(of, "of", STATED))]
    return Asked(check_level(level, simultaneous), simultaneous, stated)


def _within(points: ArrayLike, ends: tuple[float, float], name: str) -> Floats:
    """Numbers (q,) between ends; refused by the name that the caller has for them."""
    try:
        return check_points(points, ends)
    except ParameterError as error:
        raise error.having(parameter=InPython(name)) from None


def _like(points: ArrayLike, values: Floats) -> float | Floats:
    """A number where one was asked for."""
    return float(values[0]) if np.ndim(points) == 0 else values


def _drawn(band: Band, values: Floats, label: str, level: float | None, marked: bool = False) -> Line:
    """A line with its band; without it where no level is wanted. Wide bands are cut for the eye."""
    if level is None:
        return Line(band.points, values, label, marked=marked)
    room = 2 * float(np.abs(values).max())
    lower, upper = np.clip(band.lower, values - room, None), np.clip(band.upper, None, values + room)
    return Line(band.points, values, label, lower, upper, f"{100 * level:.4g}% band", marked=marked)
