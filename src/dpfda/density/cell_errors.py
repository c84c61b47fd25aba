"""Cells of a histogram, and simulated errors of what is made of their noisy counts.

Each simulation runs from a fixed key: one release has one band, however often it is asked for.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpfda.bases.cells import CellGrid, Domain, box_domain
from dpfda.density.many_cells import averaging, block_response, blocks_for, errors_on_nodes, within_nodes
from dpfda.estimates.histospline import LARGEST_UNEQUAL, Smoother, expected_error
from dpfda.noise import NoiseLaw
from dpfda.noise.shares import EXPONENT, share_noise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import length, shown
from dpfda.privacy.guarantees import Guarantee, Neighbours
from dpfda.releases.bands import DRAWS

# Numbers of cells along an axis among which the design chooses, by dimension.
CANDIDATES = {
    1: (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512),
    2: (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
    3: (2, 3, 4, 6, 8, 12, 16, 24, 32),
}
# A domain is longer than this, over the larger of its ends.
SHORTEST = 2.0**-40
# How far the domain may be from a whole number of steps, over its length.
CLOSE = 1e-9


def check_lengths(domain_range: object) -> None:
    """Refuse a domain in which floats do not tell the nodes of a density apart."""
    for a, b in box_domain(domain_range):
        if not b - a > SHORTEST * max(abs(a), abs(b)):
            words, ends = "be longer than 2^-40 of its larger end", f"({a!r}, {b!r})"
            raise ParameterError("domain", words, ends, "Subtract a public number from all points.")


def lattice_cells(domain: Domain, step: object, count: int) -> CellGrid:
    """About `count` cells of equally many whole values: half a step beyond the first and the last.

    The last cell may hold fewer. Where cells cannot all be equal and are too many, they hold more.

    Parameters
    ----------
    domain : one pair of ends
        First and last value.
    step : float
        Distance of the values.
    count : int

    Raises
    ------
    ParameterError
        If the step does not divide the domain, or there are several variables.
    """
    size, (a, b) = length(step, "step"), domain[0]
    steps = round((b - a) / size)
    if len(domain) > 1 or steps < 1 or abs(steps * size - (b - a)) > CLOSE * (b - a):
        words, remedy = "divide an interval into equal parts", "The ends are the first and last value."
        raise ParameterError("step", words, shown(step), remedy)
    values = steps + 1
    width = max(1, round(values / count))
    if values % width:
        width = max(width, math.ceil(values / LARGEST_UNEQUAL))
    return CellGrid.from_edges(a + size * (np.append(np.arange(0, values, width), values) - 0.5))


def choose_cells(
    size: int, dimensions: int, guarantee: Guarantee, neighbours: Neighbours, noise: str = "auto"
) -> int:
    """Number of cells along each axis with the least expected error, from public numbers alone.

    One level of cells is best: sharing epsilon with a second, coarser level raised the least expected
    error under the same prior by 0.4 to 5 per cent in each of twelve settings (200 to 20,000 units on an
    interval, epsilon 0.1 to 1; best levels, best shares), a tree of levels by 7 to 75 per cent.

    Parameters
    ----------
    size : int
        Public number of units.
    dimensions : int
    guarantee, neighbours, noise
        As in `dpfda.noise.shares.share_noise`.
    """
    law = share_noise(1, guarantee, neighbours, noise)[0]
    privacy = float(law.variances()[0]) * 4.0**-EXPONENT / float(size) ** 2
    domain = [(0.0, 1.0)] * dimensions
    errors = {
        count: expected_error(CellGrid.regular(count, domain), privacy, float(size))
        for count in CANDIDATES[dimensions]
    }
    return min(errors, key=lambda count: errors[count])


# Up to so many cells errors are simulated cell by cell.
FEW = 4096
# Draws are limited by this many multiplications, sums over blocks or steps of a walk, and simulated in
# parts of so many numbers. A matrix has at most so many.
WORK, SUMMED, WALKED = 2 * 10**10, 10**8, 4 * 10**8
FEWEST_DRAWS = 1000
PART = 500
TABLE = 4 * 10**6
LARGEST = 64 * 10**6


def is_fine(cells: CellGrid) -> bool:
    """Whether cells are so many that no matrix of them is made."""
    return cells.size > FEW and cells.is_regular


def errors_at(smoother: Smoother, noise: NoiseLaw, at: Floats, averaged: bool = False) -> Floats:
    """Simulated errors (draws, q) of a smooth function at points, of noise as shares on the unit box.

    Parameters
    ----------
    smoother : Smoother
    noise : NoiseLaw
    at : array (q, d)
    averaged : bool
        Whether they are those of averages over the cells, of an interval, that the points lie in.
    """
    cells = smoother.cells
    if is_fine(cells):
        return _block_errors(smoother, noise, at, averaged)
    if averaged:
        response = smoother.cell_response() / cells.shares[:, None]
        return noise_errors(noise, response[cells.index(at)])
    position = unit_box(cells, at)
    rows = max(1, TABLE // smoother.factors.size)
    parts = [smoother.response(position[i : i + rows]) for i in range(0, len(at), rows)]
    return noise_errors(noise, np.concatenate(parts))


def noise_errors(noise: NoiseLaw, response: Floats, draws: int | None = None) -> Floats:
    """Simulated errors (draws, q) for a response (q, cells), the first of those that have noise."""
    generator = np.random.Generator(np.random.Philox(key=0))
    draws = draws or _draws(response.size)
    step = max(1, min(PART, TABLE // response.shape[1]))
    parts = [
        noise.simulate(generator, min(step, draws - start))[:, : response.shape[1]] @ response.T
        for start in range(0, draws, step)
    ]
    return np.concatenate(parts)


def _block_errors(smoother: Smoother, noise: NoiseLaw, at: Floats, averaged: bool) -> Floats:
    """The same by sums over blocks."""
    cells = smoother.cells
    position, damping = unit_box(cells, at), None
    if averaged:
        position, damping = (cells.index(at)[:, None] + 0.5) / cells.size, averaging(smoother)
    blocks = blocks_for(smoother)
    together = math.prod(blocks)
    count = cells.size // together
    draws, rows = _draws(len(at) * count), max(1, LARGEST // count)
    draws = min(draws, max(FEWEST_DRAWS, SUMMED // count))
    errors = []
    for start in range(0, len(at), rows):
        response = block_response(smoother, position[start : start + rows], blocks, damping)
        # The same noise for all points.
        generator = np.random.Generator(np.random.Philox(key=0))
        step = max(1, min(PART, TABLE // count))
        parts = (min(step, draws - begun) for begun in range(0, draws, step))
        drawn = (block_noise(noise, generator, part, count, together) for part in parts)
        errors.append(np.concatenate([noises @ response.T for noises in drawn]))
    return np.concatenate(errors, axis=1)


def block_noise(
    noise: NoiseLaw, generator: np.random.Generator, draws: int, count: int, together: int
) -> Floats:
    """Float draws (draws, count) of sums of noise over so many cells together, independent and alike."""
    kind: Any = type(noise)
    block = kind.equal(together, vars(noise)["scales"][0])
    return np.asarray(block.simulate_sums(generator, draws * count, together).reshape(draws, count))


def node_errors(smoother: Smoother, noise: NoiseLaw, draws: int, nodes: int) -> NDArray[np.float32]:
    """As `errors_at`, at the midpoints of equal parts (draws, nodes) of an interval.

    In single precision. There are no more nodes than cells.
    """
    blocks = blocks_for(smoother, (within_nodes(smoother.cells, nodes),))
    count = smoother.cells.size // blocks[0]
    generator = np.random.Generator(np.random.Philox(key=3))
    errors = np.empty((draws, nodes), dtype=np.float32)
    for row in errors:
        sums = block_noise(noise, generator, 1, count, blocks[0])[0]
        row[:] = errors_on_nodes(smoother, sums, blocks, nodes)
    return errors


def running_width(noise: NoiseLaw, level: float) -> Floats:
    """Half-widths (m,) that running sums of the noise of very many cells stay within, all at once."""
    kind: Any = type(noise)
    variance = float(kind.equal(1, int(vars(noise)["scales"][0])).variances()[0])
    reached = _running_quantile(kind, noise.components, level)
    return np.asarray(np.sqrt(variance * np.arange(1, noise.components + 1)) * reached)


@lru_cache(maxsize=8)
def _running_quantile(law: Any, count: int, level: float) -> float:
    """Quantile of the largest running sum in its deviations: it depends on no scale."""
    single, generator = law.equal(1, 2**20), np.random.Generator(np.random.Philox(key=0))
    deviations = np.sqrt(single.variances()[0] * np.arange(1, count + 1))
    draws = min(DRAWS, max(FEWEST_DRAWS, WALKED // count))
    largest = [
        np.max(np.abs(np.cumsum(single.simulate(generator, count)[:, 0])) / deviations)
        for _ in range(draws)
    ]
    return float(np.quantile(largest, level, method="higher"))


def unit_box(cells: CellGrid, at: Floats) -> Floats:
    """Points (q, d) of the box in the unit box."""
    ends = np.array(cells.domain_range)
    return np.asarray((at - ends[:, 0]) / (ends[:, 1] - ends[:, 0]))


def _draws(products: int) -> int:
    return min(DRAWS, max(FEWEST_DRAWS, WORK // products))
