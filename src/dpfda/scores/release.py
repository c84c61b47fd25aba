"""Released score curves: a noisy table of scores by outcome, and ROC, calibration and net benefit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import check_points, frozen
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Neighbours
from dpfda.releases import entries as file
from dpfda.releases.banded import Valued
from dpfda.releases.bands import Asked, Band, Of, band_from_errors, check_level, settled
from dpfda.releases.base import LEVEL
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.findings import Estimate
from dpfda.releases.promise import AddedNoise
from dpfda.releases.shares import NoisyShares, used_units
from dpfda.scores.tables import (
    areas,
    below,
    consistent,
    group_starts,
    share_deviation,
    share_interval,
)
from dpfda.views import Curve, Line, draw, draw_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS, DRAWS = 201, 4000
STATED: tuple[Of, ...] = ("sample", "population")
# Net benefit is of probabilities below one.
HIGHEST = 0.99
# Where the ROC curve rises at one rate, it is read off at the top.
STEP = 1e-9


def bound_words(edges: Floats) -> str:
    """What is bounded, in words."""
    return f"one score on [{edges[0]:g}, {edges[-1]:g}] and one outcome a unit"


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
        What it promises to whom, and what it cost.
    about : mapping
        Versions, date, labels.
    """

    edges: Floats
    shares: NoisyShares
    certificate: Certificate
    about: Mapping[str, object] = field(default_factory=dict)

    FORMAT: ClassVar[str] = "dpfda-score-curves"
    CALLED: ClassVar[str] = "released score curves"
    _plural: ClassVar[bool] = True
    _has_exact: ClassVar[bool] = False
    _arrays: ClassVar[tuple[str, ...]] = ("edges",)
    ENTRIES: ClassVar[file.Table] = {
        "edges": file.FLOATS,
        "shares": file.itself(NoisyShares.from_json),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        rising = self.edges.ndim == 1 and self.edges.size > 2 and np.all(np.diff(self.edges) > 0)
        if not (rising and np.all(np.isfinite(self.edges))):
            raise ParameterError("edges", "be three or more increasing numbers", "others")
        if len(self.shares.noisy) != 2 * self.cells:
            words = f"be two for each of {self.cells} cells"
            raise ParameterError("shares", words, f"{len(self.shares.noisy)}")

    @property
    def cells(self) -> int:
        """Number K of cells of scores."""
        return self.edges.size - 1

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the false positive rate."""
        return 0.0, 1.0

    @property
    def grid_points(self) -> Floats:
        """False positive rates (101,) of tables."""
        return np.linspace(0.0, 1.0, 101)

    # The table.

    @cached_property
    def counts(self) -> Floats:
        """Noisy numbers (2, K) of persons without and with the outcome; of a public total, if it is."""
        known, counts = self.shares.public_size, self.shares.counts
        spare = 0.0 if known is None else (known - counts.sum()) / counts.size
        return frozen((counts + spare).reshape(2, -1))

    @cached_property
    def table(self) -> Floats:
        """The same, none of them negative."""
        return frozen(consistent(self.counts))

    @cached_property
    def _noise(self) -> Floats:
        """Simulated errors (draws, 2, K) of `counts`, from a fixed key."""
        drawn = self.shares.errors(np.random.Generator(np.random.Philox(key=0)), DRAWS)
        if self.shares.public_size is not None:
            drawn = drawn - drawn.mean(axis=1, keepdims=True)
        return drawn.reshape(DRAWS, 2, -1)

    @cached_property
    def _sampled(self) -> Floats:
        """The same, with those of a sample."""
        table, people = self.table, round(self.shares.size)
        chances = table.ravel() / table.sum()
        drawn = np.random.Generator(np.random.Philox(key=1)).multinomial(people, chances, DRAWS)
        return self._noise + (drawn - people * chances).reshape(DRAWS, 2, -1)

    def _errors(self, of: Of | None) -> Floats:
        return self._sampled if choice(of, "of", STATED) == "population" else self._noise

    # ROC curve.

    @property
    def auc(self) -> float:
        """Area under the ROC curve; two persons in one cell count as half in order."""
        return float(areas(self.table)[0])

    def auc_interval(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """The area with an interval, whatever the order of scores inside cells.

        Parameters
        ----------
        level : float
            Probability of the interval.
        of : {"sample", "population"}
            Whether it is for the area of these persons, or of a population that they are a sample of.
        """

        def ends(tables: Floats) -> Floats:
            middle, far = areas(tables)
            return np.stack([middle - far, middle + far], axis=-1)

        off = np.abs(ends(self.table + self._errors(of)) - ends(self.table))
        band = band_from_errors(ends(self.table), off, check_level(level), True, np.arange(2))
        return Estimate(self.auc, max(0.0, band.lower[0]), min(1.0, band.upper[1]), band.level)

    @property
    def _shares_below(self) -> Floats:
        """Estimated shares (2, K + 1) with a score below each edge, of either outcome."""
        return below(self.table) / self.table.sum(axis=1, keepdims=True)

    def _ends_below(self, asked: Asked) -> tuple[Floats, Floats]:
        """Ends (2, K + 1) of these shares, for all at once, or for both outcomes at an edge."""
        share = self._shares_below[:, 1:-1]
        people = (asked.of == "population") * self.table.sum(axis=1, keepdims=True)
        inner = np.arange(1.0, self.cells)
        parts, variance = (inner, self.cells - inner), self.shares.deviation**2
        off = below(self._errors(asked.of))
        scaled = np.abs(off[..., 1:-1] - share * off[..., -1:])
        scaled /= share_deviation(share, parts, variance, people)
        largest = scaled.max(axis=(1, 2)) if asked.simultaneous else scaled.max(axis=1)
        far = np.quantile(largest, asked.level, axis=0, method="higher")
        numbers = below(self.counts)
        part, rest = numbers[:, 1:-1], numbers[:, -1:] - numbers[:, 1:-1]
        lower, upper = share_interval(part, rest, parts, variance, people, far)
        if asked.simultaneous:
            # Shares below increase, so what bounds one bounds the others.
            lower = np.maximum.accumulate(lower, axis=1)
            upper = np.minimum.accumulate(upper[:, ::-1], axis=1)[:, ::-1]
        ends = ((0, 0), (1, 1))
        lower, upper = np.minimum(lower, share), np.maximum(upper, share)
        return tuple(np.pad(each, ends, constant_values=((0, 0), (0, 1))) for each in (lower, upper))

    def _values(self, at: Floats) -> Floats:
        false, true = 1 - self._shares_below[:, ::-1]
        return np.interp(at + STEP, false + STEP * np.linspace(0, 1, false.size), true)

    def roc(self, false_positive_rate: ArrayLike) -> float | Floats:
        """True positive rate at false positive rates: the same as calling the release."""
        return self(false_positive_rate)

    def roc_band(self, level: float = LEVEL, simultaneous: bool = True, of: Of | None = None) -> Band:
        """Band for the ROC curve, whatever the order of scores inside cells; see `band`."""
        return self.band(level, simultaneous, of=of)

    def _around(self, at: Floats, asked: Asked) -> Band:
        """Band that holds whatever rises between the corners of cells.

        Notes
        -----
        The shares below all edges lie between the `ends` at once. Where a threshold has a false positive
        rate above x, whatever threshold has x is higher, and its true positive rate is no larger; where
        it has at most x, no smaller.
        """
        lower, upper = self._ends_below(asked)
        least, most = 1 - upper, 1 - lower
        above = np.where(least[0] > at[:, None], most[1], 1.0).min(axis=1)
        under = np.where(most[0] <= at[:, None], least[1], 0.0).max(axis=1)
        band = Band(at, under, above, asked.level, asked.simultaneous, "every order inside cells")
        return settled(band, self._values(at))

    # Thresholds.

    @property
    def score_bounds(self) -> tuple[float, float]:
        """Public ends of scores."""
        return float(self.edges[0]), float(self.edges[-1])

    def _around_places(self, at: Floats) -> tuple[Integers, Integers]:
        """Places of the edges at or next below scores, and at or next above them."""
        # The highest score is in the last cell.
        first = np.minimum(np.searchsorted(self.edges, at, "right") - 1, self.cells - 1)
        return first, first + (self.edges[first] < at)

    def _rate(self, outcome: int, threshold: float, level: float, of: Of) -> tuple[float, float, float]:
        """Share of those of an outcome with a score below a threshold, and its ends."""
        at = check_points(threshold, self.score_bounds)
        first, last = self._around_places(at)
        lower, upper = self._ends_below(Asked(check_level(level), False, choice(of, "of", STATED)))
        value = np.interp(at, self.edges, self._shares_below[outcome])[0]
        return float(value), float(lower[outcome, first[0]]), float(upper[outcome, last[0]])

    def sensitivity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those with the outcome, whose score is at least a threshold."""
        value, lower, upper = self._rate(1, threshold, level, of)
        return Estimate(1 - value, 1 - upper, 1 - lower, level)

    def specificity(self, threshold: float, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share, of those without the outcome, whose score is below a threshold."""
        return Estimate(*self._rate(0, threshold, level, of), level)

    def prevalence(self, level: float = LEVEL, of: Of = "sample") -> Estimate:
        """Share of all persons with the outcome."""
        asked = Asked(check_level(level), False, choice(of, "of", STATED))
        ((value,), (lower,), (upper,)) = self._outcomes(np.array([0]), asked)
        return Estimate(float(value), float(lower), float(upper), level)

    # Calibration.

    @cached_property
    def groups(self) -> Floats:
        """Edges (G + 1,) of groups of cells, each of enough persons; they follow the release."""
        return frozen(self.edges[np.append(self._starts, self.cells)])

    @property
    def _starts(self) -> Integers:
        return group_starts(self.table, self.shares.deviation)

    def calibration(self, scores: ArrayLike) -> float | Floats:
        """Share with the outcome among those whose score is in the same group of cells."""
        at = check_points(scores, self.score_bounds)
        found = self._outcomes(self._starts, Asked(of="sample"))[0][self._group(at)]
        return float(found[0]) if np.ndim(scores) == 0 else found

    def calibration_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        scores: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for these shares, by default at the middles of the groups."""
        middles = (self.groups[1:] + self.groups[:-1]) / 2
        at = middles if scores is None else check_points(scores, self.score_bounds)
        asked = Asked(check_level(level, simultaneous), simultaneous, choice(of, "of", STATED))
        ends = self._outcomes(self._starts, asked)[1:]
        return Band(at, *(end[self._group(at)] for end in ends), level, simultaneous)

    def _group(self, at: Floats) -> Integers:
        inner = self.groups[1:-1]
        return np.searchsorted(inner, at, "right")

    def _outcomes(self, starts: Integers, asked: Asked) -> tuple[Floats, Floats, Floats]:
        """Share with the outcome in each group (G,), and its ends."""
        size = np.diff(np.append(starts, self.cells)).astype(np.float64)
        without, with_it = np.add.reduceat(self.table, starts, axis=1)
        people = without + with_it
        share = with_it / np.maximum(people, 1e-9)
        off = np.add.reduceat(self._errors(asked.of), starts, axis=2)
        many = (asked.of == "population") * people
        variance = self.shares.deviation**2
        scaled = np.abs((1 - share) * off[:, 1] - share * off[:, 0])
        scaled /= share_deviation(share, (size, size), variance, many)
        largest = scaled.max(axis=1) if asked.simultaneous else scaled
        far = np.quantile(largest, asked.level, axis=0, method="higher")
        rest, part = np.add.reduceat(self.counts, starts, axis=1)
        lower, upper = share_interval(part, rest, (size, size), variance, many, far)
        return share, np.minimum(lower, share), np.maximum(upper, share)

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
        table = self.table
        shares = [np.interp(at, self.edges, row) for row in self._shares_below]
        without, with_it = ((1 - x) * n for x, n in zip(shares, table.sum(axis=1), strict=True))
        found = (with_it - at / (1 - at) * without) / self.shares.size
        return float(found[0]) if np.ndim(thresholds) == 0 else found

    def treat_all(self, thresholds: ArrayLike) -> float | Floats:
        """Net benefit of treating all."""
        at, share = self._thresholds(thresholds), self.prevalence().value
        found = share - (1 - share) * at / (1 - at)
        return float(found[0]) if np.ndim(thresholds) == 0 else found

    def net_benefit_band(
        self, level: float = LEVEL, simultaneous: bool = True, of: Of = "sample",
        thresholds: ArrayLike | None = None,
    ) -> Band:  # fmt: skip
        """Band for net benefit, whatever the order of scores inside cells."""
        at = self._thresholds(self._threshold_points() if thresholds is None else thresholds)
        check_level(level, simultaneous)
        ends = self._benefits(self.table, at)
        off = np.abs(self._benefits(self.table + self._errors(of), at) - ends)
        band = band_from_errors(ends, off, level, simultaneous, np.tile(at, 2))
        lower, upper = band.lower[: at.size], band.upper[at.size :]
        made = Band(at, lower, upper, level, simultaneous, "every order inside cells")
        return settled(made, np.asarray(self.net_benefit(at)))

    def _benefits(self, tables: Floats, at: Floats) -> Floats:
        """Least and largest net benefits (.., 2 q) of tables by where in cells persons are."""
        numbers = below(tables)
        above, (first, last) = numbers[..., -1:] - numbers, self._around_places(at)
        odds = at / (1 - at)
        least = above[..., 1, last] - odds * above[..., 0, first]
        most = above[..., 1, first] - odds * above[..., 0, last]
        return np.concatenate([least, most], axis=-1) / self.shares.size

    def _threshold_points(self) -> Floats:
        return np.linspace(self.edges[0], min(self.edges[-1], HIGHEST), POINTS)

    @property
    def _of_risks(self) -> bool:
        return bool(self.edges[0] >= 0 and self.edges[-1] <= 1)

    def _thresholds(self, thresholds: ArrayLike) -> Floats:
        if not self._of_risks:
            raise ParameterError("score_bounds", "lie within 0 and 1 for net benefit", "others")
        return check_points(thresholds, (float(self.edges[0]), min(float(self.edges[-1]), HIGHEST)))

    # The file.

    def _stated_bound(self) -> dict[str, object]:
        return {"description": bound_words(self.edges)}

    def _added_noise(self) -> list[AddedNoise]:
        return self.shares._added_noise(self.neighbours)

    # Tables, pictures and words.

    def _band_points(self) -> Floats:
        return np.linspace(0.0, 1.0, POINTS)[:, None]

    def view(self, level: float | None = LEVEL) -> Curve:
        chance = Line(
            np.array([0.0, 1.0]), np.array([0.0, 1.0]), "no better than chance", stroke="dotted"
        )
        label = f"ROC curve, area {self.auc:.3f}"
        return self._curve([self._line(label, level), chance])

    def panels(self, level: float | None = LEVEL) -> tuple[Curve, ...]:
        """Views of the ROC curve, of calibration and, for risks between 0 and 1, of net benefit."""
        score, ends = str(self.about.get("score", "score")), np.array(self.score_bounds)
        words = "" if level is None else f"{100 * level:.4g}% band"
        at = (self.groups[1:] + self.groups[:-1]) / 2
        drawn = Line(at, np.asarray(self.calibration(at)), f"in {at.size} groups", marked=True)
        if level is not None:
            band = self.calibration_band(level)
            drawn = replace(drawn, lower=band.lower, upper=band.upper, band=words)
        lines = (drawn, Line(ends, ends, "as predicted", stroke="dotted"))
        calibration = Curve(lines, score, "share with the outcome", "Calibration")
        if not self._of_risks:
            return self.view(level), replace(calibration, lines=lines[:1])
        at = self._threshold_points()
        drawn = Line(at, np.asarray(self.net_benefit(at)), "treat by the score")
        if level is not None:
            band = self.net_benefit_band(level, thresholds=at)
            floor = -self.prevalence().value
            lower, upper = np.maximum(band.lower, floor), np.maximum(band.upper, floor)
            drawn = replace(drawn, lower=lower, upper=upper, band=words)
        everybody = np.asarray(self.treat_all(at))
        kept = everybody >= -self.prevalence().value / 4
        others = Line(at[kept], everybody[kept], "treat all", stroke="dashed")
        decision = Curve(
            (drawn, others), "threshold probability", "net benefit", "Decision curve", "", 0.0
        )
        return self.view(level), calibration, decision

    def plot(self, ax: Axes | None = None, level: float | None = LEVEL) -> Axes:
        """Draw ROC, calibration and decision curves; on an axis that is given the first alone."""
        return draw_panels(self.panels(level)) if ax is None else draw(self.view(level), ax)

    @property
    def public_units(self) -> int | None:
        return None if self.neighbours is Neighbours.ADD_REMOVE else self.shares.public_size

    @property
    def _subject(self) -> str:
        return "score curves"

    @property
    def value_label(self) -> str:
        return str(self.about.get("value", "true positive rate"))

    def _axis_label(self, axis: int) -> str:
        return str(self.about.get("domain", "false positive rate"))

    def _claims(self) -> tuple[Claim, ...]:
        units, whole = (
            "in shares",
            f"the ROC curve of a population of which these {self.unit}s are a sample",
        )
        own = f"the ROC curve of these {self.unit}s"
        return (
            Claim("sample", own, units, legend=own),
            Claim("population", whole, units, legend="the population's ROC curve", among="samples"),
        )

    def _stated(self) -> Stated:
        low, high = self.score_bounds
        area, share = self.auc_interval(), self.prevalence()
        noise = self.shares.noise.describe().replace("coefficients", "cells")
        return Stated(
            f"ROC, calibration and decision curves of a score on [{low:g}, {high:g}], made of numbers of "
            f"{self.unit}s with and without the outcome in {self.cells} cells of scores.",
            public=["the score itself, and the edges of its cells"],
            noise=f"2 x {self.cells} cells, {noise}",
            units=used_units(self),
            bounded=["Scores beyond the bounds count as on them."],
            remarks=[
                f"The area under the ROC curve is {area} for these {self.unit}s, and "
                f"{self.auc_interval(of='population')} for those they are a sample of. The intervals, and "
                "the band, allow for every order of scores inside a cell.",
                "The score must not have been fitted to these people: this release would not protect "
                "them against what it tells.",
            ],
            numbers={"auc": area.to_json(), "prevalence": share.to_json()},
            findings={"area": str(area), "prevalence": str(share)},
        )

    def _lines(self) -> dict[str, str]:
        return {"cells": f"2 x {self.cells}", "area": str(self.auc_interval())}
