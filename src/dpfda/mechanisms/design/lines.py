"""The default design for curves between bounds: box noise on cells, one block, or Gaussian noise.

Nothing is searched for. The number of cells M follows from the strength S = n epsilon (replace-one;
twice that under add/remove) and the number T of grid points,

    M = max(3, floor(.82 S^(1/2) (min(T, 100) / 100)^(1/4) - 2)),   M = T where that is at least T / 2,

and cells have equal numbers of points. From S = 1,000 on there are more, by a factor that is a power of
S and 1.4 at 5,000 and above, but less than T / 2: under the law of the box they hardly cost error, and
less falls between them. The constants were set on sets of real curves, under the estimate of
`dpfda.estimates.curves`. For pure privacy there is no other candidate: a block on an l2 ball around
the box has three times the noise power.

With a delta, or under zCDP, the expected error of the line follows the noise variance *per function*:
sigma^2 / M of averages over M cells, sigma^2 of coefficients of orthonormal functions. Where it is
equal, so nearly are the errors: over 24 to 200 points, n epsilon from 200 to 80,000 and four means those
from a block were .95 of those from cells, and at most 1.2, before the law of the box was known to the
estimate, which takes .02 to .05 from the latter; the bands were .2 to 1.0 times as wide, as
nothing falls between cells. The design with the least is taken, and one that spends delta only if it is
better by a hundredth. Where every point is a cell other noise of the same variance has a band 1.2 to 1.4
times as wide, as that of the box has no tails but its largest coordinate's: there it must be better by
1.36. So neither error nor band grows with delta, but for constants, which the law of the box alone finds
so well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpfda.bases.kernels import check_periods
from dpfda.bases.priors import WITH_PERIODS, CurvePrior
from dpfda.estimates.curves import LARGEST_GRID
from dpfda.mechanisms import Design, Problem
from dpfda.mechanisms.cells import Cells, cell_labels
from dpfda.mechanisms.gaussian import Gaussian
from dpfda.mechanisms.knorm import KNorm
from dpfda.noise import pure_budget
from dpfda.numerics.arrays import Floats
from dpfda.privacy.guarantees import ApproximateDP, PureDP

CELLS, POWER, LENGTH, LESS, FEWEST = 0.82, 0.5, 0.25, 2, 3
# Where n epsilon is above the first there are more cells, from the second on so many times as many.
FEW, MANY, TIMES = 1000.0, 5000.0, 1.4
# From this share of the grid on every point is a cell. Grids count up to a length: longer ones are finer
# than what curves do. Where some points carry the curve there are at most half as many cells.
FULL = 0.5
LONGEST = 100
MOST_CELLS = LARGEST_GRID // 2
# One block has at least so many functions, or twice as many as there would be cells.
FUNCTIONS = 128
# By these factors must be better what spends a delta, and other noise on points than a box.
WORTH_A_DELTA, WORTH_A_TAIL = 1.01, 1.36
# From the first n epsilon on the largest distance of the line is measured, up to the second with a tenth
# of the budget.
LEAST_OF_DISTANCE, EVEN = 200.0, 300.0
# Under noise of a box it is one side more, or so many for each cell, from that n epsilon on: there
# errors are 3 to 7 % larger than at a tenth less, without it, and bands half as wide. Of G groups it
# is so up to floor(G / 2)^2 times the n epsilon above: of many pairs two numbers tell less of each.
SIDES, LEAST_OF_SIDES = 0.05, 60.0
# The same of a private number of units, or of what their weights over the largest add up to.
LEAST_OF_COUNTED = 60.0
# Where every point is a cell the band must be so many times as wide without it, as is to be expected.
WORTH_A_DISTANCE = 1.25


def number_of_cells(points: int, strength: float, grown: bool = True) -> int:
    """Number of cells for a grid of so many points and n epsilon = `strength`.

    Parameters
    ----------
    points : int
    strength : float
    grown : bool
        Whether there are more where n epsilon is large, as the law of the box allows.

    Examples
    --------
    >>> [number_of_cells(100, strength) for strength in (1, 300, 5000)]
    [3, 12, 100]
    """
    length, short = min(points, LONGEST) / LONGEST, points <= LARGEST_GRID
    count = int(min(CELLS * strength**POWER * length**LENGTH - LESS, points if short else MOST_CELLS))
    count = max(FEWEST, count)
    if short and count >= FULL * points:
        return points
    more = TIMES ** growth(strength) if grown else 1.0
    return max(count, min(int(more * count), (points - 1) // 2 if short else MOST_CELLS))


def distance_share(points: int, strength: float, cells: bool = True) -> Fraction | None:
    """Share of the budget that goes to the largest distance of the line from the mean; None for none.

    A tenth up to n epsilon of 300, and less by its fifth root beyond: noise on it and the line's own
    error are then about alike. None where it would say too little. Where every point is a cell these
    say as much by themselves, but where points are many.

    cells: Whether sums over cells are what is measured. Of functions, which other noise is for, no
        point is known by itself.

    Examples
    --------
    >>> [distance_share(200, strength) for strength in (100, 300, 5000)]
    [None, Fraction(1, 10), Fraction(57, 1000)]
    >>> [distance_share(96, 5000, cells) for cells in (True, False)]
    [None, Fraction(57, 1000)]
    """
    if strength < LEAST_OF_DISTANCE:
        return None
    share = 0.1 * min(1.0, (EVEN / strength) ** 0.2)
    if cells and not _worth_a_distance(points, strength, math.log(10) / (share * strength)):
        return None
    return Fraction(round(1000 * share), 1000)


def worth_sides(points: int, strength: float, lines: int = 1) -> bool:
    """Whether the largest distance is measured by sides of the line's own box, as `distance_share`.

    lines: How many have one box together, each by such a strength.

    Examples
    --------
    >>> [worth_sides(200, strength) for strength in (50, 300, 5000)]
    [False, True, True]
    """
    cells = number_of_cells(points, strength)
    count = distance_sides(cells)
    # As far as their noise reaches at .95 above its mean.
    reach = 2 * math.pow(0.95, 1 / count) - 1 - (count - 1) / (count + 1)
    worth = _worth_a_distance(points, strength, reach * (cells + count + 1) / strength)
    # Several lines have fewer cells each beside as many sides.
    return worth and strength * math.pow(lines, 0.3) >= LEAST_OF_SIDES


def distance_sides(cells: int) -> int:
    """How many sides tell the largest distance, beside those of so many cells.

    Examples
    --------
    >>> [distance_sides(cells) for cells in (12, 50, 100)]
    [1, 2, 5]
    """
    return max(1, round(SIDES * cells))


def _worth_a_distance(points: int, strength: float, reach: float) -> bool:
    """Whether its band is expected to be narrower, by enough, than what cells say by themselves."""
    if number_of_cells(points, strength) < points:
        return True
    by_cells = (points + 1.65 * math.sqrt(points)) / strength
    return by_cells >= WORTH_A_DISTANCE * (2.9 * math.pow(strength, -0.66) + reach)


def growth(strength: float) -> float:
    """From 0 where n epsilon is small to 1 where it is large, by its logarithm.

    Examples
    --------
    >>> [round(growth(strength), 2) for strength in (300, 2000, 5000)]
    [0.0, 0.43, 1.0]
    """
    return min(1.0, max(0.0, math.log(strength / FEW) / math.log(MANY / FEW)))


def cells_of_detail(points: int, share: float) -> tuple[int, ...]:
    """Sizes of the cells that show a detail of a share of the domain: at most half as long each.

    Examples
    --------
    >>> cells_of_detail(24, 0.5), cells_of_detail(4, 0.5)
    ((6, 6, 6, 6), (1, 1, 1, 1))
    """
    count = min(points, max(FEWEST, math.ceil(min(2 / share, points) - 1e-9)))
    if points > LARGEST_GRID:
        count = min(count, MOST_CELLS)
    elif count >= FULL * points:
        count = points
    return equal_cells(points, count)


@dataclass(frozen=True, eq=False)
class Shape:
    """What is known beforehand of the default line. Public.

    centers: array (C, m). Curves that the mean may be near to.
    finest, periods: The finest detail that matters and known cycles, in units of the domain.
    """

    centers: Floats | None = None
    finest: float | None = None
    periods: tuple[float, ...] = ()

    def told(self, prior: CurvePrior, grid: Floats) -> CurvePrior:
        """A prior on a grid (m,), with that. Raises ParameterError if a cycle is longer than it."""
        if self.centers is not None:
            prior = replace(prior, centers=self.centers)
        if self.finest is None and not self.periods:
            return prior
        length = float(np.ptp(grid))
        span = length * grid.size / (grid.size - 1)  # each point stands for a share of it
        check_periods(self.periods, span)
        finest = min([period / 2 for period in self.periods] + [self.finest or math.inf])
        share = finest / span
        periods = tuple(period / length for period in self.periods)
        version = WITH_PERIODS if periods else prior.version
        cells = cells_of_detail(grid.size, min(share, 1.0))
        return replace(prior, cells=cells, periods=periods, version=version)


UNSTATED = Shape()


def equal_cells(points: int, count: int) -> tuple[int, ...]:
    """Sizes of so many cells of neighbouring points, as even as they go."""
    return tuple(np.bincount(cell_labels(points, count)).tolist())


def line_design(problem: Problem) -> Design | None:
    """The design for bounds on values whose sums over cells can be made; None without them."""
    if problem.curves is None or problem.cube is None:
        return None
    best, _ = min(list(weighed(problem)), key=lambda pair: pair[1])
    cells = None
    if best.measurement is not None:
        cells = tuple(int(row.sum()) for row in best.measurement.matrix)
    return replace(best, hierarchy=replace(problem.curves, cells=cells))


def weighed(problem: Problem) -> Iterator[tuple[Design, float]]:
    """Candidates, with the noise variance per function that they count with."""
    pure = problem.pure
    count = _cells(pure)
    designs = [Cells(count).design(pure)]
    if isinstance(problem.guarantee, ApproximateDP):
        designs.append(KNorm(_block(problem, count)).design(problem))
    if not isinstance(problem.guarantee, PureDP):
        designs.append(Gaussian().design(problem))
    for design in designs:
        yield design, line_power(problem, design)


def line_power(problem: Problem, design: Design) -> float:
    """Noise variance per function of a design for a line, in squared bounds, as it is compared.

    design: Sums over cells, or coefficients of functions of mean square one over the domain.
    """
    assert problem.curves is not None and problem.cube is not None  # noqa: S101, PT018
    variances = design.noise.variances()
    if design.measurement is not None:
        labels = np.argmax(design.measurement.matrix, axis=0)
        sums = np.bincount(labels, weights=problem.curves.width)
        return float(np.mean(variances * (design.step(problem) / sums) ** 2)) / design.components
    handicap = WORTH_A_TAIL if _cells(problem) == problem.cube.weights.size else WORTH_A_DELTA
    # The bounds are a width apart.
    square = float(problem.cube.weights @ problem.curves.width**2)
    return handicap**2 * float(np.mean(variances)) * (problem.ball.step / problem.size) ** 2 / square


def _cells(problem: Problem) -> int:
    """Number of cells under box noise of the problem's epsilon."""
    assert problem.cube is not None  # noqa: S101
    points = problem.cube.weights.size
    # The finest detail that was stated has cells of its own, however little budget there is.
    stated = 0 if problem.curves is None or problem.curves.cells is None else len(problem.curves.cells)
    strength = 2 * problem.size * float(pure_budget(problem.pure.guarantee))
    return max(stated, number_of_cells(points, strength / problem.neighbours.differences(1)))


def _block(problem: Problem, cells: int) -> int:
    return min(problem.variances.size, max(FUNCTIONS, 2 * cells))
