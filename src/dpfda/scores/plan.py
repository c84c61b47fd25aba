"""The plan of score curves: cells from public numbers, the noise on them, and what to expect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from dpfda.noise.shares import EXPONENT
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.guarantees import Guarantee
from dpfda.publication import NAMED, Paying, Trial, TriedPlan, planner, stamp
from dpfda.publication.tables import ShareTable, TablePlan
from dpfda.releases.shares import NoisyShares
from dpfda.scores.binormal import starts_for
from dpfda.scores.release import ReleasedScoreCurves, bound_words
from dpfda.scores.tables import below, consistent, rates, shares_below
from dpfda.spine.choices import sizes_for, stated_size
from dpfda.spine.settings import Settings

# So many cells at a quotient of one of persons and noise, growing like what makes noise and the order
# inside cells count alike. The factor had about the least errors of areas of made-up scores.
MANY, POWER, FEWEST, MOST = 0.18, 2 / 3, 8, 256
# Areas and shares with the outcome of made-up scores; `error_words` says them.
AREAS, OUTCOMES = (0.65, 0.75, 0.85, 0.95), (0.1, 0.3)
# Parts of a cell in which made-up persons are told apart.
FINE = 64


def edges_of(bounds: tuple[float, float], law: tuple[float, float], cells: int) -> Floats:
    """Edges (cells + 1,) of cells that are equally likely under a beta law between the bounds.

    Raises ParameterError if two are one number.
    """
    low, high = bounds
    edges = low + (high - low) * scipy.special.betaincinv(*law, np.linspace(0.0, 1.0, cells + 1))
    edges[0], edges[-1] = low, high
    if not np.all(np.diff(edges) > 0):
        raise ParameterError("law", f"have {cells} different cells between the bounds", f"{law}")
    return np.asarray(edges)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCurvesPlan(TriedPlan, TablePlan[ReleasedScoreCurves]):
    """Plan of score curves.

    Parameters
    ----------
    edges : array (K + 1,)
    table : ShareTable
        Of both outcomes in all cells.
    grouped : bool
        Whether those with the outcome are counted last, in groups of cells.
    size : int or None
        Public number of units that count; None where it is private.
    designed : int or None
        Public number of units that the cells are for.
    about : mapping
    """

    edges: Floats
    table: ShareTable
    size: int | None
    designed: int | None
    grouped: bool
    about: Mapping[str, object]
    TRIALS: ClassVar[int] = 24
    scale = 1.0, "a rate of one"
    error_axis = "error at a point of the ROC curve"
    error_words = (
        "root mean square at a point of the ROC curve, from that of the same units, for made-up scores "
        "of areas from .65 to .95, one or three in ten with the outcome"
    )

    @property
    def noise_words(self) -> str:
        most = "on at most" if self.grouped else "on"
        return f"table of scores by outcome: {self.table.described.replace('on', most, 1)}"

    def publish(self, total: IntegerSum, paying: Paying = NAMED) -> ReleasedScoreCurves:
        """Charge, draw, add: those with the outcome in groups that follow from the others."""
        if not self.grouped:
            return super().publish(total, paying)
        return self.assemble(*self.table.publish_in_turn(total, self._cells, self._gather, paying))

    @property
    def _cells(self) -> int:
        return self.edges.size - 1

    def _starts(self, told: tuple[int, ...]) -> Integers:
        """First cells of groups, from noisy numbers of those without the outcome."""
        without = below(consistent(np.ldexp([told], -EXPONENT)))[0]
        deviation = self.table.deviation
        # No fewer have the outcome than noise may hide.
        rest = max((self.designed or 0) - without[-1], deviation * math.sqrt(self._cells))
        return starts_for(without / without[-1], (float(without[-1]), float(rest)), deviation**2)

    def _gather(self, told: tuple[int, ...]) -> Integers:
        groups, cells = self._starts(told), np.arange(self._cells)
        member = np.searchsorted(groups, cells, "right") - 1 == np.arange(groups.size)[:, None]
        return np.hstack([np.zeros_like(member), member]).astype(np.int64)

    def trials(self, count: int) -> list[Trial]:
        """Of persons with binormal scores, evenly spread over the cells, with simulated noise."""
        if self.n is None:
            return []
        certificate, at = self.certified(), np.linspace(0.0, 1.0, 101)
        generator = np.random.Generator(np.random.Philox(key=2))
        noise = self.table.law.simulate(generator, self.TRIALS)[:count]
        found = []
        for number, drawn in enumerate(noise):
            share = OUTCOMES[number % 2]
            apart = np.sqrt(2.0) * scipy.special.ndtri(AREAS[number // 2 % len(AREAS)])
            places = scipy.special.ndtri(np.linspace(0.0, 1.0, FINE * self._cells + 1))
            # Scores of both outcomes together are about even over the cells.
            away = np.array([[-share], [1 - share]]) * apart
            law = np.diff(scipy.special.ndtr(places - away)) * [[1 - share], [share]]
            people = generator.multinomial(self.n, law.ravel()).reshape(2, -1)
            exact = np.add.reduceat(people, FINE * np.arange(self._cells), axis=1).ravel() << EXPONENT
            made = self.assemble(self._made_up(exact.tolist(), np.rint(drawn).astype(int)), certificate)
            found.append(Trial(made, at, rates(shares_below(people.astype(np.float64)), at)))
        return found

    def assemble(self, shares: NoisyShares, certificate: Certificate) -> ReleasedScoreCurves:
        """The released curves around the mechanism's output: post-processing."""
        about, first = {**self.about, **stamp()}, shares.noisy[: self._cells]
        starts = tuple(self._starts(first).tolist()) if self.grouped else None
        return ReleasedScoreCurves(self.edges, shares, certificate, about, starts)

    def _made_up(self, exact: list[int], noise: Integers) -> NoisyShares:
        """As `publish` makes shares, of made-up numbers and simulated noise."""
        drawn, law = noise.tolist(), self.table.law
        total = IntegerSum.of(exact)
        if not self.grouped:
            return NoisyShares(total.with_noise(drawn), law, self.table.public_size)
        told = total.with_noise(drawn[: self._cells])
        matrix = self._gather(told)
        noisy = told + total.through(matrix).with_noise(drawn[self._cells :][: len(matrix)])
        law = replace(self.table, cells=len(noisy)).law
        return NoisyShares(noisy, law, self.table.public_size)


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
    planned: bool = False,
) -> ScoreCurvesPlan:
    """The plan of score curves; `count` units are there, or are planned.

    Raises ParameterError if a public number is missing or unusable.
    """
    (size, designed), grouped = sizes_for(settings, count, planned), cells is None

    def table_of(edges: Floats) -> ShareTable:
        many = edges.size - 1
        basis = f"{many} cells of scores, equally likely under a beta law of {law[0]:g} and {law[1]:g}"
        basis += ", those with the outcome in groups of these" if grouped else ""
        words = {"summary": "score curves", "bound": bound_words(*bounds), "basis": basis}
        tuning = {"name": "score curves", "cells": many}
        relation = settings.unit.relation
        return ShareTable(2 * many, guarantee, relation, unit, size, words=words, tuning=tuning)

    if cells is None:
        quotient = stated_size(designed, "cells") / table_of(edges_of(bounds, law, FEWEST)).deviation
        cells = int(np.clip(round(MANY * quotient**POWER), FEWEST, MOST))
    edges = edges_of(bounds, law, cells)
    about = {"summary": "score curves"}
    return ScoreCurvesPlan(edges, table_of(edges), size, designed, grouped, about)
