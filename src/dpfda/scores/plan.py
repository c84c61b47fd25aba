"""The plan of score curves: cells from public numbers, the noise on them, and what to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar

import numpy as np
import scipy

from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.ledger.named import NAMED, Paying
from dpfda.publication import Trial, TriedPlan, planner, stamp
from dpfda.publication.tables import ShareTable, TablePlan, Turn, in_turn
from dpfda.releases.shares import NoisyShares
from dpfda.scores.release import ReleasedScoreCurves, bound_words
from dpfda.scores.tables import below, between, consistent, rates, shares_below, starts_for
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings

# So many cells at a quotient of one of persons and noise, growing like what makes noise and the order
# inside cells count alike. The factor had about the least errors of areas of made-up scores.
MANY, POWER, FEWEST, MOST = 0.18, 2 / 3, 8, 256
# Areas and shares with the outcome of made-up scores; `error_words` says them.
AREAS, OUTCOMES = (0.65, 0.75, 0.85, 0.95), (0.1, 0.3)
# Parts of a cell in which made-up persons are told apart.
FINE = 64
# A first look: one of so many parts of each person without the outcome counts in it, in so many cells;
# and the public places where edges may be after it.
PARTS, LOOKED, PLACES = 8, 8, 1024
# Cells follow the public law for as many deviations of the look's noise, and for this part at least.
LOOSE, LEAST = 3.0, 0.3


def edges_of(
    bounds: tuple[float, float], law: tuple[float, float], cells: int, least: int | None = None
) -> Floats:
    """Edges (cells + 1,) of cells that are equally likely under a beta law between the bounds.

    Raises ParameterError if two are one number; where `least` is given, if fewer cells are left.
    """
    low, high = bounds
    edges = low + (high - low) * scipy.special.betaincinv(*law, np.linspace(0.0, 1.0, cells + 1))
    edges[0], edges[-1] = low, high
    distinct = np.unique(np.clip(edges, low, high))
    if distinct.size <= (least or cells):
        raise ParameterError(
            "law", f"have {least or cells} different cells between the bounds", f"{law}"
        )
    return distinct


def places_for(look: Floats, loose: float, cells: int, places: int) -> Integers:
    """Which of public places 0, 1, .. are edges of cells: at most so many, about equally likely.

    look: Noisy numbers of persons in cells of equally many places.
    loose: By how much the law is to be even over the places, and not as the look says.
    """
    shares = between(shares_below(consistent(look[None])))[0]
    at = np.linspace(0.0, 1.0, shares.size)
    law = loose * at + (1 - loose) * shares
    ends = np.interp(np.linspace(0.0, 1.0, cells + 1), law, at)
    return np.unique(np.rint(places * ends).astype(np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCurvesPlan(TriedPlan, TablePlan[ReleasedScoreCurves]):
    """Plan of score curves.

    Parameters
    ----------
    edges : array (F + 1,)
        Of the cells; where these follow from a look, the public places that they are among.
    table : ShareTable
        Of both outcomes in all cells.
    followed : int or None
        How many cells are to follow from a look, those with the outcome in groups of them; None where
        all cells are public.
    size : int or None
        Public number of units that count; None where it is private.
    designed : int or None
        Public number of units that the cells are for.
    about : mapping
    share : float or None
        Expected share of units with the outcome.
    """

    edges: Floats
    table: ShareTable
    size: int | None
    designed: int | None
    followed: int | None
    about: Mapping[str, object]
    share: float | None = None
    TRIALS: ClassVar[int] = 24
    scale = 1.0, "a rate of one"
    error_axis = "error at a point of the ROC curve"

    @property
    def error_words(self) -> str:
        share = "one or three in ten" if self.share is None else f"{100 * self.share:g}%"
        rarer = "; with a rarer outcome errors are several times as large ('share' tells the plan)" * (
            not self.share
        )
        return (
            "root mean square at a point of the ROC curve, from that of the same units, for made-up "
            f"scores of areas from .65 to .95, {share} with the outcome{rarer}"
        )

    @property
    def exponent(self) -> int:
        """A person is 2^exponent in sums, which turns count up to `PARTS` times."""
        return EXPONENT if self.followed is None else EXPONENT - PARTS.bit_length() + 1

    @property
    def noise_words(self) -> str:
        most = "on" if self.followed is None else "on at most"
        return f"table of scores by outcome: {self.table.described.replace('on', most, 1)}"

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> ReleasedScoreCurves:
        """Charge, draw, add: a look, cells that follow from it, and groups that follow from these."""
        if self.followed is None:
            return super().publish(total, paying)
        return self.assemble(*self.table.publish_in_turn(total, self.turns, PARTS, paying))

    @property
    def _places(self) -> int:
        return self.edges.size - 1

    def _between(self, noisy: tuple[int, ...]) -> Integers:
        """Places (K + 1,) of edges, from the look's noisy numbers."""
        look = PARTS * np.ldexp(noisy[:LOOKED], -EXPONENT)
        noise = PARTS * self.table.deviation * math.sqrt(LOOKED) / max(self.designed or 1, 1)
        loose = min(max(LOOSE * noise, LEAST), 1.0)
        return places_for(look, loose, self.followed or 0, self._places)

    def _starts(self, noisy: tuple[int, ...]) -> Integers:
        """First cells of groups, from noisy numbers of the look and of those without the outcome."""
        cells = self._between(noisy).size - 1
        numbers = np.ldexp([noisy[LOOKED : LOOKED + cells]], -EXPONENT) * PARTS / (PARTS - 1)
        without = below(consistent(numbers))[0]
        deviation = self.table.deviation
        # No fewer have the outcome than noise may hide.
        rest = max((self.designed or 0) - without[-1], deviation * math.sqrt(cells))
        return starts_for(without / without[-1], (float(without[-1]), float(rest)), deviation**2)

    @property
    def turns(self) -> list[Turn]:
        """Those without the outcome in part, their rest, and those with it."""
        outcome, place = np.divmod(np.arange(2 * self._places), self._places)
        counted = np.array([[1, 0], [PARTS - 1, 0], [0, PARTS]])[:, outcome]

        def look(noisy: tuple[int, ...]) -> Integers:
            return place * LOOKED // self._places

        def cells(noisy: tuple[int, ...]) -> Integers:
            return np.searchsorted(self._between(noisy), place, "right") - 1

        def groups(noisy: tuple[int, ...]) -> Integers:
            return np.searchsorted(self._starts(noisy), cells(noisy), "right") - 1

        return [Turn(*turn) for turn in zip(counted, (look, cells, groups), strict=True)]

    def trials(self, count: int) -> list[Trial]:
        """Of persons with binormal scores, evenly spread over the cells, with simulated noise."""
        if self.n is None:
            return []
        certificate, at = self.certified(), np.linspace(0.0, 1.0, 101)
        generator = np.random.Generator(np.random.Philox(key=2))
        noise = self.table.law.simulate(generator, self.TRIALS)[:count]
        trials, fine = [], FINE if self.followed is None else 1
        for number, drawn in enumerate(noise):
            share = OUTCOMES[number % 2] if self.share is None else self.share
            apart = np.sqrt(2.0) * scipy.special.ndtri(AREAS[number // 2 % len(AREAS)])
            places = scipy.special.ndtri(np.linspace(0.0, 1.0, fine * self._places + 1))
            # Scores of both outcomes together are about even over the cells.
            away = np.array([[-share], [1 - share]]) * apart
            law = np.diff(scipy.special.ndtr(places - away)) * [[1 - share], [share]]
            people = generator.multinomial(self.n, law.ravel()).reshape(2, -1)
            exact = np.add.reduceat(people, fine * np.arange(self._places), axis=1).ravel()
            release = self.assemble(self._made_up(exact, np.rint(drawn).astype(int)), certificate)
            trials.append(Trial(release, at, rates(shares_below(people.astype(np.float64)), at)))
        return trials

    def assemble(self, shares: NoisyShares, certificate: Certificate) -> ReleasedScoreCurves:
        """The released curves around the mechanism's output: post-processing."""
        about = {**self.about, **stamp()}
        if self.followed is None:
            return ReleasedScoreCurves(self.edges, shares, certificate, about)
        edges, starts = self.edges[self._between(shares.noisy)], self._starts(shares.noisy)
        return ReleasedScoreCurves(
            edges, shares, certificate, about, tuple(starts.tolist()), (LOOKED, PARTS)
        )

    def _made_up(self, people: Integers, noise: Integers) -> NoisyShares:
        """As `publish` makes shares, of made-up persons (2 F,) and simulated noise."""
        drawn = iter(noise.tolist())
        every = Turn(np.ones(people.size, dtype=np.int64), lambda noisy: np.arange(people.size))
        turns = [every] if self.followed is None else self.turns
        total = IntegerSum.of((people << self.exponent).tolist())
        noisy = in_turn(total, turns, lambda cells: [*islice(drawn, cells)])
        return NoisyShares(noisy, replace(self.table, cells=len(noisy)).law, self.table.public_size)


@planner
def score_curves_plan(
    guarantee: Guarantee,
    count: int,
    *,
    settings: Settings,
    bounds: tuple[float, float],
    law: tuple[float, float],
    cells: int | None,
    unit: str,
    codes: Sequence[object] | None,
    planned: bool = False,
    share: float | None = None,
) -> ScoreCurvesPlan:
    """The plan of score curves; `count` units are there, or are planned.

    codes: Of those without and with the outcome, where they were stated.
    Raises ParameterError if a public number is missing or unusable.
    """
    size, designed = sizes_for(settings, count, planned)

    def table_of(cells: int, numbers: int) -> ShareTable:
        basis = f"{cells} cells of scores, equally likely under a beta law of {law[0]:g} and {law[1]:g}"
        if followed:
            basis += " and a first look, those with the outcome in groups of these"
        words = {"summary": "score curves", "bound": bound_words(*bounds), "basis": basis}
        tuning = {"name": "score curves", "cells": cells}
        relation = settings.unit.relation
        return ShareTable(numbers, guarantee, relation, unit, size, words=words, tuning=tuning)

    followed, about = cells is None, {"summary": "score curves"}
    if codes is not None:
        about["coding"] = "in the data {} is without the outcome, {} is with it".format(*codes)
    if cells is None:
        quotient = stated_size(designed, "cells") / table_of(FEWEST, FEWEST).deviation
        cells = int(np.clip(round(MANY * quotient**POWER), FEWEST, MOST))
        edges, table = edges_of(bounds, law, PLACES, cells), table_of(cells, LOOKED + 2 * cells)
        return ScoreCurvesPlan(edges, table, size, designed, cells, about, share)
    edges = edges_of(bounds, law, cells)
    return ScoreCurvesPlan(edges, table_of(cells, 2 * cells), size, designed, None, about, share)
