"""Life tables of counted follow-ups, their sampling, and a test that groups have one hazard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpfda.bases.lifetimes import LifeCells
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats, Integers
from dpfda.survival.lifetimes import CellNoise, expected_shares

# Draws of the null law of a test; its smallest p-value is one over one more.
NULL_DRAWS = 4999
# Persons at risk below whom a hazard is not divided, and the share of an event that a draw adds.
FEWEST, LITTLE = 1e-9, 1e-2
# A cumulative hazard is drawn up to here.
LEAST = 1e-6
# What cells do not show of the sample's curve: by the order of events, and by the bend of its course.
JUMPS, BENDS = 1.3, 0.5
# A course that is so much steeper in a cell than in both beside it may be a step.
ALONE = 4.0


@dataclass(frozen=True, eq=False)
class LifeTable:
    """Draws of survival at the edges of the cells.

    Parameters
    ----------
    at_risk : array (draws, count + 1)
        Persons followed at each edge.
    survival : array (draws, count + 1)
    incidence : array (draws, causes, count + 1)
        Share of persons with an event of each cause up to each edge, where other causes compete.
    """

    at_risk: Floats
    survival: Floats
    incidence: Floats


def life_table(
    table: Floats, cells: LifeCells, sampled: np.random.Generator | None = None, leaving: int = 0
) -> LifeTable:
    """Product-limit estimates of tables (draws, each), grouped in cells (Cutler & Ederer 1958).

    Whoever is censored, or begins, within a cell counts there for half a person; of a cell of k whole
    steps of time who is censored for (k - 1) / 2 k, who begins for the rest. Of two cells of events
    in one of censoring each has the censored of one constant rate: by its width and those at risk.

    Parameters
    ----------
    table : array (draws, each)
        Not negative.
    cells : LifeCells
    sampled : numpy Generator, optional
        With it, hazards are drawn around those of each table as those of a population of which the
        persons are a sample: a Dirichlet law of the counts (the Bayesian bootstrap of a beta process).
    leaving : {0, -1, 1}
        With -1 whoever is censored within a cell leaves at its start, and whoever begins does so at its
        end: the Kaplan-Meier curve of no follow-ups with these counts is lower at an edge. With 1 the
        other way round: none is higher.
    """
    events, exposure, at_risk = _parts(table, cells, leaving, steady=True)
    if sampled is None:
        shares = events / np.maximum(exposure, FEWEST)[:, None]
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    else:
        drawn = sampled.standard_gamma(events + LITTLE)
        rest = sampled.standard_gamma(np.maximum(exposure - events.sum(axis=1), 0.0) + LITTLE)
        shares = drawn / np.maximum(drawn.sum(axis=1) + rest, 1e-300)[:, None]
    left = np.cumprod(1 - np.minimum(shares.sum(axis=1), 1.0), axis=1)
    survival = np.concatenate([np.ones((len(table), 1)), left], axis=1)
    incidence = np.zeros((*events.shape[:2], cells.count + 1))
    incidence[:, :, 1:] = np.cumsum(shares * survival[:, None, :-1], axis=2)
    return LifeTable(at_risk, survival, incidence)


def _parts(
    table: Floats, cells: LifeCells, leaving: int = 0, steady: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Events (.., causes, count), persons exposed in each cell (.., count), at risk at edges."""
    kinds, lead = len(cells.causes), table.shape[:-1]
    last = kinds * cells.count
    events = table[..., :last].reshape(*lead, kinds, cells.count)
    censored = cells.spread(table[..., last : cells.exits - 1], leaving)
    beyond = table[..., cells.exits - 1 : cells.exits]
    # Counted from the end, persons at risk are never fewer than those who leave later.
    change = events.sum(axis=-2) + censored
    new = np.zeros_like(censored)
    if cells.late:
        new = cells.spread(table[..., cells.exits + 1 :], -leaving)
    if steady and not leaving and cells.ratio == 2:
        censored = _steadily(change - new, censored, beyond, cells)
        change = events.sum(axis=-2) + censored
    after = np.cumsum((change - new)[..., ::-1], axis=-1)[..., ::-1]
    at_risk = np.concatenate([after + beyond, beyond], axis=-1)
    if cells.late:
        at_risk = np.maximum(at_risk, 0.0)
    # At the edge where a cell begins whole steps of time are left, or begun, before all of its events.
    left, begun = ((1 - when + (1 + when) * cells.steps) / 2 for when in (leaving, -leaving))
    exposure = at_risk[..., :-1] + new * begun - censored * left
    return events, np.maximum(exposure, events.sum(axis=-2)), at_risk


def _steadily(change: Floats, censored: Floats, beyond: Floats, cells: LifeCells) -> Floats:
    """Censored persons (.., count), each pair of cells with those of one constant rate.

    At risk are A when the pair begins, R at its end, and B - x between the cells, where x of C are
    censored in the first. At one rate x : C - x is as the areas u (A + B - x) : v (B - x + R) under
    straight lines, for widths u and v: a quadratic equation, of which the smaller root is meant.
    """
    pairs = (*change.shape[:-1], cells.coarse, 2)
    both = change.reshape(pairs)
    end = np.cumsum(both.sum(axis=-1)[..., ::-1], axis=-1)[..., ::-1] + beyond
    start, end = end, np.concatenate([end[..., 1:], beyond], axis=-1)
    total = censored.reshape(pairs).sum(axis=-1)
    middle = end + both[..., 1] + censored.reshape(pairs)[..., 0]
    widths = cells.widths.copy()
    # Nobody is followed for no time at all.
    widths[0] *= 1 - cells.steps[0]
    u, v = widths.reshape(cells.coarse, 2).T
    half = (u * (total + start + middle) + v * (middle + end)) / 2
    root = np.sqrt(np.maximum(half**2 - (u + v) * u * total * (start + middle), 0.0))
    first = np.clip((half - root) / (u + v), 0.0, total)
    return np.stack([first, total - first], axis=-1).reshape(change.shape)


def seen_until(noisy: Floats, far: float, cells: LifeCells) -> tuple[int, bool]:
    """Last edge at which somebody is seen to be followed, and whether many are seen to be censored.

    noisy, far: As in `unseen`.
    """
    left = np.arange(cells.count, -1, -1)
    counted = len(cells.causes) * left + (1 + cells.late) * -(-left // cells.ratio) + 1
    # Who is followed at an edge was followed before it.
    some = np.flatnonzero(_parts(noisy, cells)[2] > far * np.sqrt(counted))
    censored = noisy[len(cells.causes) * cells.count : cells.exits - 1].sum()
    return int(some.max(initial=0)), bool(censored > far * math.sqrt(cells.coarse))


def unseen(
    noisy: Floats, mean: Floats, upper: Floats, cells: LifeCells, far: float
) -> tuple[Floats, Floats]:
    """How low and how high survival (count + 1,) may be where what was counted may be of nobody.

    Tables without noise are not negative: draws of many empty cells always have somebody in them. Where
    nobody is seen to be left, all of those there may have had an event before; or, if many were
    censored, nobody was there and the curve stays as it is. Where no event is seen, there may be none.

    Parameters
    ----------
    noisy, mean : array (each,)
        Counts with noise, and about those without.
    upper : array (count + 1,)
        How high it may be else; not increasing.
    cells : LifeCells
    far : float
        How far noise may move one cell; of k cells their sum by the root of k.
    """
    kinds, count = len(cells.causes), np.arange(cells.count + 1)
    last, gone = seen_until(noisy, far, cells)
    some = count <= last
    # The first event is seen ever after.
    events = _parts(noisy, cells)[0]
    fell = np.cumsum(events.sum(axis=0)) > far * np.sqrt(kinds * count[1:])
    fell = np.append(False, np.maximum.accumulate(fell))
    # Censored persons that are not seen may have had events too.
    mean, censored = mean.copy(), slice(kinds * cells.count, cells.exits - 1)
    mean[censored] *= noisy[censored] > far
    events, exposure, at_risk = _parts(mean, cells)
    ended = np.minimum((events.sum(axis=0) + at_risk[1:]) / np.maximum(exposure, FEWEST), 1.0)
    before = life_table(mean[None], cells).survival[0, :-1]
    least = np.append(1.0, np.where(some[1:], 1.0, before * (1 - ended)))
    most = np.where(fell, np.where(some, 0.0, upper[last] if gone else 0.0), 1.0)
    return np.minimum.accumulate(least), most


def first_below(hazard: scipy.interpolate.PchipInterpolator, fine: Floats, height: float) -> Floats:
    """First of increasing times at which survival curves are at or below a height; infinite without one.

    hazard: Their cumulative hazards, which increase.
    """
    passed = np.exp(-hazard(hazard.x)) <= height
    # All are above it up to the edge before the first that one of them has passed.
    first = np.argmax(passed, axis=0)[passed.any(axis=0)]
    if first.size:
        start, end = np.searchsorted(fine, hazard.x[[max(first.min() - 1, 0), first.max()]])
        fine = fine[start : end + 1]
    reached = np.exp(-hazard(fine)) <= height
    return np.where(reached.any(axis=0), fine[np.argmax(reached, axis=0)], np.inf)


def hidden_within(tables: LifeTable, edges: Floats, at: Floats) -> Floats:
    """How far (q,) the persons' curve may be from one that is smooth within each cell.

    Events of a cell come in random order around a smooth course: the Kaplan-Meier curve leaves it by
    about the root of its drop there over the numbers at risk. Where courses bend, by their bend.
    """
    line, at_risk = tables.survival.mean(axis=0), np.maximum(tables.at_risk.mean(axis=0)[:-1], 1.0)
    drop, start = np.maximum(-np.diff(line), 0.0), np.maximum(line[:-1], LEAST)
    where, inside = _inside(edges, at)
    far = JUMPS * start * np.sqrt((drop / start + 1 / at_risk) / at_risk)
    return np.asarray(2 * inside * far[where] + bent_within(line, edges, at))


def bent_within(line: Floats, edges: Floats, at: Floats) -> Floats:
    """How far (q,) a course by `line` at the edges may be from one that is straight in each cell."""
    where, inside = _inside(edges, at)
    slopes = np.diff(line) / np.diff(edges)
    bends = np.abs(np.diff(slopes))
    bend = np.maximum(np.append(bends, 0.0), np.append(0.0, bends)) * np.diff(edges)
    # A course may begin as steeply as it likes, and fall at one time where it falls in one cell alone.
    beside = np.maximum(np.append(-slopes[1:], 0.0), np.append(0.0, -slopes[:-1]))
    alone = -slopes > ALONE * beside
    return np.where((where > 0) & ~alone[where], 4 * inside**2 * bend[where] * BENDS, 1.0)


def _inside(edges: Floats, at: Floats) -> tuple[Integers, Floats]:
    """Cell (q,) of times, and the deviation there of a Brownian bridge from edge to edge."""
    where = np.clip(np.searchsorted(edges, at, "right") - 1, 0, edges.size - 2)
    part = (at - edges[where]) / np.diff(edges)[where]
    return where, np.sqrt(part * (1 - part))


def equality(
    noisy: Floats,
    means: Floats,
    cells: LifeCells,
    noise: CellNoise,
    cause: int | None,
    strata: Sequence[Sequence[int]] | None = None,
) -> tuple[float, float]:
    """Statistic and p-value of the hypothesis that groups have one hazard (of one cause, or of all).

    Each group's events in a cell minus its share, by persons at risk, of all events there; summed with
    weights that are those of the log-rank test where sampling dominates and leave out cells of which
    the noise leaves nothing. The sums of all groups but one make a quadratic form. Its null law is
    simulated: tables with the common hazard, each group's own censoring, beginnings and size, and the
    noise of the known law. In strata each has a common hazard of its own, and the sums are added.

    Parameters
    ----------
    noisy : array (groups, each)
        Persons, with noise.
    means : array (groups, each)
        What the tables without noise are about.
    cells : LifeCells
    noise : CellNoise
    cause : int or None
    strata : sequence of sequences of int, optional
        Groups of each stratum, arm by arm in one order; by default all groups are of one.
    """
    chosen = slice(None) if cause is None else slice(cause, cause + 1)
    generator = np.random.Generator(np.random.Philox(key=1))
    parts = [
        _sums(noisy[groups], means[groups], cells, noise, chosen, generator)
        for groups in ([np.arange(len(noisy))] if strata is None else map(np.asarray, strata))
    ]
    observed, null = (np.sum(part, axis=0) for part in zip(*parts, strict=True))
    root = np.linalg.pinv(np.cov(null.T).reshape(null.shape[1], -1), hermitian=True)
    statistic = float(observed @ root @ observed)
    larger = np.einsum("di,ij,dj->d", null, root, null) >= statistic
    return statistic, float((1 + larger.sum()) / (1 + NULL_DRAWS))


def _sums(
    noisy: Floats, means: Floats, cells: LifeCells, noise: CellNoise, chosen: slice,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Weighted sums (groups - 1,) of one stratum, and draws (.., groups - 1) of their null law."""
    events, exposure, _ = _parts(means, cells)
    of_group = exposure / np.maximum(exposure.sum(axis=0), FEWEST)
    # A cell's information without noise, for one unit of log hazard; its noise's share of the variance.
    signal = events[:, chosen].sum(axis=(0, 1)) * (1 - np.sum(of_group**2, axis=0))
    kinds = events[:, chosen].shape[1]
    weights = signal / (signal + kinds * noise.deviation**2 * np.mean(of_group * (1 - of_group) + 0.25))

    def sums(tables: Floats) -> Floats:
        seen, there, _ = _parts(tables, cells)
        there = np.maximum(there, 0.0)
        share = there / np.maximum(there.sum(axis=-2, keepdims=True), 1.0)
        counted = seen[..., chosen, :].sum(axis=-2)
        expected = share * counted.sum(axis=-2, keepdims=True)
        return np.asarray(((counted - expected) * weights).sum(axis=-1)[..., :-1])

    return sums(noisy), sums(_null_tables(events, exposure, means, cells, noise, generator))


def _null_tables(
    events: Floats, exposure: Floats, means: Floats, cells: LifeCells, noise: CellNoise,
    generator: np.random.Generator,
) -> Floats:  # fmt: skip
    common = events.sum(axis=0) / np.maximum(exposure.sum(axis=0), FEWEST)
    # Constant rates at which a cell's share has an event.
    total = common.sum(axis=0)
    rates = common * (-np.log1p(-np.minimum(total, 1 - 1e-6)) / np.maximum(total, FEWEST))
    last = len(cells.causes) * cells.count
    tables = np.empty((NULL_DRAWS, *means.shape))
    for group, mean in enumerate(means):
        ended = cells.spread(mean[last : cells.exits - 1])
        censoring = ended / np.maximum(exposure[group], 1e-3)
        starts = np.eye(1, cells.coarse + 1)
        if cells.late:
            starts = mean[None, cells.exits :] / mean[cells.exits :].sum()
        shares = expected_shares(rates[None], censoring[None] + 1e-12, starts, cells)[0]
        size = max(1, round(float(mean[: cells.exits].sum())))
        exits = shares[: cells.exits] / shares[: cells.exits].sum()
        tables[:, group, : cells.exits] = generator.multinomial(size, exits, NULL_DRAWS)
        if cells.late:
            tables[:, group, cells.exits :] = generator.multinomial(size, starts[0], NULL_DRAWS)
    spread = noise.scale if noise.laplace else noise.deviation
    drawn = generator.laplace if noise.laplace else generator.normal
    return tables + drawn(0.0, spread, tables.shape)
