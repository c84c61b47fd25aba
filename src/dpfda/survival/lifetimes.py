"""What a noisy table of follow-ups says of the table without noise: draws given all that was released.

The table of a group is n p + sampling, seen through noise of a known law. Its expected shares p follow
from hazards, constant in each cell: of each cause, of censoring and, as shares, of beginnings. Their
logarithms have Gaussian priors: a level, a slope and a rough path (of Ornstein and Uhlenbeck), of a
size that the table itself decides among a few. Cell by cell the table deviates from n p like a count,
so that a smooth hazard is a guess and never forced on it. The noise is taken for what it is, by the
density of a normal plus a Laplace variable.

Everything here is post-processing of public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.grids import frozen
from dpfda.bases.lifetimes import LifeCells
from dpfda.numerics import later as scipy
from dpfda.numerics.arrays import Floats
from dpfda.numerics.speed import remembered

# Complex where slopes are taken.
RealOrComplex = NDArray[Any]
# Standard deviations of the path: of events, and of censoring.
EVENT_SIZES, CENSORING_SIZES = (0.1, 0.4, 1.2, 3.0), (0.15, 0.6, 2.0)
# Correlation length, as a share of the domain; standard deviations of level and slope.
LENGTH, LEVEL, SLOPE = 0.5, 4.0, 2.0
LOWEST, HIGHEST = -12.0, 8.0
STEPS, ENOUGH = 60, 1e-6
# Of a step that is shortened, parts of its length.
LENGTHS = 0.5 ** np.arange(1, 11)
# A step of parameters for their slopes.
TINY = 1e-100
# Variance of a count beside its mean: an empty cell has some, and no hazard is quite smooth.
SPARE = 0.5
# Weight of a fit below which it is not drawn from.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class CellNoise:
    """Noise on a cell, in persons.

    Parameters
    ----------
    deviation : float
    laplace : bool
        Of a Laplace variable; else of a normal one.
    """

    deviation: float
    laplace: bool

    @property
    def scale(self) -> float:
        """Scale of a Laplace variable of this deviation."""
        return self.deviation / math.sqrt(2.0)

    def log_density(self, rest: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Log density of noise plus a normal variable at `rest`, up to a constant, and its slope."""
        if not self.laplace:
            total = variance + self.deviation**2
            return -(rest**2) / (2 * total) - np.log(total) / 2, -rest / total
        b, spread = self.scale, np.sqrt(variance)
        below = -rest / b + scipy.special.log_ndtr(rest / spread - spread / b)
        above = rest / b + scipy.special.log_ndtr(-rest / spread - spread / b)
        both = np.logaddexp(below, above)
        slope = (np.exp(above - both) - np.exp(below - both)) / b
        return both + variance / (2 * b * b), np.asarray(slope)

    def information(self, variance: Floats) -> Floats:
        """About the Fisher information of a cell's mean: exact without sampling, and for much of it."""
        if not self.laplace:
            return np.asarray(1 / (variance + self.deviation**2))
        square = self.scale**2
        return np.asarray(1 / (variance + square * (1 + variance / (variance + square))))

    def given(self, noisy: Floats, means: Floats, generator: np.random.Generator) -> Floats:
        """Draws of counts N(mean, mean), not negative, given what is seen of them with noise."""
        variance = means + SPARE
        if not self.laplace:
            weight = variance / (variance + self.deviation**2)
            centre, spread = means + weight * (noisy - means), np.sqrt(weight) * self.deviation
            ends = np.zeros_like(means), np.full_like(means, np.inf)
            return _between(centre, spread, *ends, generator)
        # Below what is seen the Laplace density tilts counts up, above it down: two cut normal laws.
        b, spread = self.scale, np.sqrt(variance)
        bend = np.maximum(noisy, 0.0)
        up, down = means + variance / b, means - variance / b
        with np.errstate(divide="ignore"):
            inside = np.log(scipy.special.ndtr((bend - up) / spread) - scipy.special.ndtr(-up / spread))
        lower = np.where(noisy > 0, (means - noisy) / b + inside, -np.inf)
        upper = (noisy - means) / b + scipy.special.log_ndtr((down - bend) / spread)
        odds = 1 / (1 + np.exp(np.clip(upper - lower, -700.0, 700.0)))
        first = generator.uniform(size=means.shape) < odds
        ends = np.where(first, 0.0, bend), np.where(first, bend, np.inf)
        return _between(np.where(first, up, down), spread, *ends, generator)


# Files read again, and groups taken one by one, have the tables of the whole.
@remembered(2)
def drawn_tables(
    noisy: Floats, cells: LifeCells, noise: CellNoise, size: float | None, draws: int
) -> Floats:
    """Draws (draws, groups, each) of the table without noise, from a fixed key.

    Parameters
    ----------
    noisy : array (cells.size,)
        RealOrComplex of persons, with noise.
    cells : LifeCells
    noise : CellNoise
        On each cell.
    size : float or None
        Number of persons in all groups, where it is public.
    """
    generator = np.random.Generator(np.random.Philox(key=0))
    tables, rooms = [], []
    for group in noisy.reshape(cells.groups, cells.each):
        public = size if cells.groups == 1 else None
        means = _means(group, cells, noise, public, generator, draws)
        tables.append(noise.given(np.broadcast_to(group, means.shape), means, generator))
        rooms.append(means * noise.deviation**2 / (means + noise.deviation**2))
    table, room = np.stack(tables, axis=1), np.stack(rooms, axis=1)
    if size is None:
        return frozen(table)
    # The total is known without noise: what is missing goes where there is room for error.
    for part in (slice(0, cells.exits), slice(cells.exits, cells.each))[: cells.parts]:
        total, space = (x[..., part].sum(axis=(1, 2), keepdims=True) for x in (table, room))
        table[..., part] += room[..., part] * (size - total) / space
    return frozen(np.maximum(table, 0.0))


def _means(
    noisy: Floats, cells: LifeCells, noise: CellNoise, size: float | None,
    generator: np.random.Generator, draws: int,
) -> Floats:  # fmt: skip
    """Draws of expected tables (draws, each) of one group given its noisy one."""
    fits = _fits(noisy, cells, noise, size)
    weights = np.exp([fit[0] - max(other[0] for other in fits) for fit in fits])
    weights = np.where(weights < NEGLIGIBLE * weights.sum(), 0.0, weights)
    counts = generator.multinomial(draws, weights / weights.sum())
    parts, log_weights = [], []
    for (_, posterior, mode, precision), count in zip(fits, counts, strict=True):
        if count:
            root = np.linalg.cholesky(precision)
            normal = generator.standard_normal((count, mode.size))
            drawn = mode + np.linalg.solve(root.T, normal.T).T
            # What the normal law around the mode makes too likely, above all in its tails.
            off = posterior.objective(mode[None])[0] - posterior.objective(drawn)
            log_weights.append(off + np.sum(normal**2, axis=1) / 2)
            parts.append(expected(drawn, cells))
    tables, log_weight = np.concatenate(parts), np.concatenate(log_weights)
    weight = np.exp(log_weight - log_weight.max())
    weight = np.minimum(weight / weight.mean(), draws**0.5)
    return tables[generator.choice(draws, draws, p=weight / weight.sum())]


def _fits(
    noisy: Floats, cells: LifeCells, noise: CellNoise, size: float | None
) -> list[tuple[float, _Posterior, Floats, Floats]]:
    """Log evidence, posterior, its mode and the precision there, under each prior."""
    rough, fits = _rough(noisy, cells), []
    centre = np.zeros_like(rough)
    centre[-1] = np.log(size or max(4.0, float(noisy[: cells.exits].sum())))
    theta = centre
    for event in EVENT_SIZES:
        for censoring in CENSORING_SIZES:
            precision, log_det = _prior(cells, event, censoring, 1e-6 if size else 1.0)
            posterior = _Posterior(noisy, cells, noise, centre, precision)
            # Each mode is looked for from the one before.
            theta, value, curvature = posterior.mode(theta)
            if posterior.objective(rough[None])[0] < value:
                # Smooth hazards took a heap, as where all are censored at one time, for noise.
                theta, value, curvature = posterior.mode(rough)
            log_curvature = float(np.linalg.slogdet(curvature)[1])
            fits.append((-value + (log_det - log_curvature) / 2, posterior, theta, curvature))
    return fits


def _rough(noisy: Floats, cells: LifeCells) -> Floats:
    """Parameters that are read off a noisy table cell by cell."""
    some, last = np.maximum(noisy, SPARE), len(cells.causes) * cells.count
    events, censored = some[:last].reshape(-1, cells.count), some[last : cells.exits - 1]
    ended, starts = events.sum(axis=0) + cells.spread(censored), some[cells.exits :]
    change = ended - cells.spread(starts[1:]) if cells.late else ended
    followed = np.cumsum(change[::-1])[::-1] + some[cells.exits - 1]
    exposed = np.maximum(followed - ended / 2, SPARE) * cells.widths
    rates = np.append(events / exposed, censored / exposed.reshape(-1, cells.ratio).sum(axis=1))
    return np.asarray(np.log(np.concatenate([rates, starts, [some[: cells.exits].sum()]])))


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Of the parameters of one group under one prior."""

    noisy: Floats
    cells: LifeCells
    noise: CellNoise
    centre: Floats
    precision: Floats

    def objective(self, theta: Floats) -> Floats:
        """Minus its log density (q,) at parameters (q, p), up to a constant."""
        mean, off = expected(theta, self.cells), theta - self.centre
        likely = self.noise.log_density(self.noisy - mean, mean + SPARE)[0].sum(axis=1)
        return np.asarray(np.sum(off @ self.precision * off, axis=1) / 2 - likely)

    def slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Derivatives of the objective, and about its second ones."""
        mean, slopes = expected_with_slopes(theta, self.cells)
        score = self.noise.log_density(self.noisy - mean, mean + SPARE)[1]
        weighted = self.noise.information(mean + SPARE)[:, None] * slopes
        first = slopes.T @ score + self.precision @ (theta - self.centre)
        return first, slopes.T @ weighted + self.precision

    def mode(self, theta: Floats) -> tuple[Floats, float, Floats]:
        """The mode, the objective there and its second derivatives, by steps that descend."""
        value = float(self.objective(theta[None])[0])
        first, second = self.slopes(theta)
        for _ in range(STEPS):
            step = np.linalg.solve(second, -first)
            length, lower = 1.0, float(self.objective(theta[None] + step)[0])
            if not lower < value:
                # All halves at once: near the mode none may descend, and each is looked at in vain.
                tried = self.objective(theta + LENGTHS[:, None] * step)
                first_lower = int(np.argmax(tried < value))
                length, lower = float(LENGTHS[first_lower]), float(tried[first_lower])
            if not lower < value:
                break
            gained, theta, value = value - lower, theta + length * step, lower
            first, second = self.slopes(theta)
            if gained < ENOUGH:
                break
        return theta, value, second


def _prior(cells: LifeCells, event: float, censoring: float, size: float) -> tuple[Floats, float]:
    """Precision of the parameters, and the logarithm of its determinant."""
    blocks = [_path(cells.count, event) for _ in cells.causes] + [_path(cells.coarse, censoring)]
    blocks += [_path(cells.coarse + 1, 1.0)] * cells.late + [np.array([[size**2]])]
    covariance = scipy.linalg.block_diag(*blocks)
    return np.linalg.inv(covariance), -float(np.linalg.slogdet(covariance)[1])


def _path(count: int, size: float) -> Floats:
    at = (np.arange(count) + 0.5) / count
    rough = size**2 * np.exp(-np.abs(at[:, None] - at) / LENGTH)
    return np.asarray(rough + LEVEL**2 + SLOPE**2 * np.outer(at - 0.5, at - 0.5))


def expected(theta: RealOrComplex, cells: LifeCells) -> RealOrComplex:
    """Expected tables (q, each) for parameters (q, p), real or complex."""
    events = len(cells.causes) * cells.count
    logs = theta[:, : events + cells.coarse]
    # Cut in their values alone: slopes go on.
    rates = np.exp(logs + (np.clip(logs.real, LOWEST, HIGHEST) - logs.real))
    causes = rates[:, :events].reshape(-1, len(cells.causes), cells.count) * cells.widths
    censoring = np.repeat(rates[:, events:], cells.ratio, axis=1) * cells.widths
    if cells.late:
        starts = scipy.special.softmax(theta[:, events + cells.coarse : -1], axis=1)
    else:
        starts = np.tile(np.eye(1, cells.coarse + 1), (len(theta), 1))
    return np.asarray(expected_shares(causes, censoring, starts, cells) * np.exp(theta[:, -1:]))


def expected_shares(
    causes: RealOrComplex, censoring: RealOrComplex, starts: RealOrComplex, cells: LifeCells
) -> RealOrComplex:
    """Shares (q, each) of the cells, for hazards (q, causes, count), (q, count) and shares of starts.

    Within a cell hazards compete at constant rates; who begins in a cell is there for half of it.
    """
    risk, begun = starts[:, 0], cells.spread(starts[:, 1:])
    total = causes.sum(axis=1) + censoring
    left, there = -np.expm1(-total) / total, np.empty_like(total)
    for j in range(cells.count):
        new = begun[:, j]
        there[:, j] = (risk + new / 2) * left[:, j]
        # By rounding alone it may be less than nothing.
        risk = np.maximum(risk + new - there[:, j] * total[:, j], 0.0)
    events = there[:, None] * causes
    ended = (there * censoring).reshape(len(causes), cells.coarse, cells.ratio).sum(axis=2)
    parts = [events.reshape(len(causes), -1), ended, risk[:, None]]
    return np.concatenate([*parts, starts] if cells.late else parts, axis=1)


def expected_with_slopes(theta: Floats, cells: LifeCells) -> tuple[Floats, Floats]:
    """The expected table (each,) of one set of parameters, and its derivatives (each, p).

    By complex steps, which have no rounding by differences (Squire & Trapp 1998).
    """
    tables = expected(theta + 1j * TINY * np.eye(theta.size), cells)
    return tables[0].real, tables.imag.T / TINY


def _between(
    means: Floats, spread: Floats, low: Floats, high: Floats, generator: np.random.Generator
) -> Floats:
    """Draws of normal variables between two ends, by the tail in which they lie."""
    turned = np.where((low + np.minimum(high, low + 1e9)) / 2 > means, -1.0, 1.0)
    ends = (np.stack([low, high]) - means) / spread
    first, last = np.where(turned > 0, ends, -ends[::-1])
    log_last = scipy.special.log_ndtr(last)
    part = np.exp(scipy.special.log_ndtr(first) - log_last)
    uniform = generator.uniform(size=means.shape)
    logs = np.minimum(log_last + np.log(uniform + (1 - uniform) * part), -1e-300)
    drawn = scipy.special.ndtri_exp(logs)
    return np.asarray(np.clip(means + turned * spread * drawn, low, high))
