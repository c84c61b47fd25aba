"""How far a density may be from what its cells would show of the same units without noise.

Two functions are the sample's. Where the noisy counts look like those of a density that is smooth from
cell to cell, it is the one that an unlimited budget would publish, whose distance is simulated under the
prior of smoothing. Where they do not (`is_rough`, peaks that were set aside), the units' shares of the
cells, or of their parts where these were counted, over their sizes: its distance has a known law. Counts
may be rough because few cells hold most of a smooth density: then the band reaches as far as one for it,
too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy

from dpfda.bases.cells import CellGrid, synthesise
from dpfda.density.histogram_release import ReleasedHistogram
from dpfda.density.linear_density import between
from dpfda.density.peaks import Inside
from dpfda.estimates.histospline import Smoother
from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import known
from dpfda.numerics.speed import remembered
from dpfda.numerics.words import several
from dpfda.releases.bands import Asked, Band, band_from_errors

# Chosen on half of the sets that the page on densities names: what part of its bend from cell to cell a
# density may differ by beside what is simulated, and what part of waves as short as one or two cells the
# prior lays to the density, not to chance and noise, where counts are rough. There it may also differ
# by so many times itself, times a power of the share that lies in two neighbouring cells.
BENDS, HIDDEN, POWER, ROUGH = 0.5, 6.0, 4, 0.7
# With more than this share in two neighbours a density may be rough for that, and smooth within cells.
FEW = 0.3
# With more than this share in two neighbours among so many cells it is said that peaks are not seen.
CROWDED, CELLS = 0.7, 8
# Cells are told to stand out if so many differ from both cells beside them by so many deviations.
COMB, FAR = 3, 4.0
# What no cell shows, where no cells stand out.
REPEATED = "Values that repeat, as rounded ones do, and peaks narrower than a cell are not in the band."
IN_PARTS = (
    "In divided cells the band is for the share of each part, over its size; values that repeat, and "
    "peaks narrower than a part, are not in it."
)
STATED = (
    "Stating them shows them: the step of values (step=1, --step 1), or values that many have "
    "(atoms=[0], --atoms 0)."
)
# Simulated errors, fewer where each takes long.
DRAWS, FEWEST, WORK = 500, 100, 10**8


def sample_widths(
    raw: ReleasedHistogram, nodes: Floats, positions: Floats, asked: Asked, bent: bool
) -> Floats:
    """Half-widths (q,) of the band for the density of the sample, per unit of volume.

    Parameters
    ----------
    raw : ReleasedHistogram
        Smoothed adaptively.
    nodes : array
        The density on its nodes.
    positions : array (d, q)
        Points, in numbers of nodes.
    asked : Asked
    bent : bool
        Whether cells may hide what is within them, as where peaks are set aside.
    """
    size, volume = float(raw.size), raw.cells.volume
    reach = _reach(raw.smoother, raw.share_variance, size, nodes.shape, positions, asked)
    # Chance, which the prior takes for even, goes with the root of the density.
    width = reach / volume * np.sqrt(np.maximum(1.0, between(nodes * volume, positions)))
    if not raw.cells.is_regular:
        return width
    if bent:
        return width + between(BENDS * bends(raw, nodes) + hidden(raw, nodes), positions)
    return width + between(BENDS * (1 - roughness(raw)) * bends(raw, nodes), positions)


# Words, pictures and tables ask for the same band one after another.
@remembered(16)
def _reach(
    smoother: Smoother,
    privacy: float,
    size: float,
    shape: tuple[int, ...],
    positions: Floats,
    asked: Asked,
) -> Floats:
    """How far simulated errors (q,) on the unit box reach."""
    generator = np.random.Generator(np.random.Philox(key=5))
    draws = min(DRAWS, max(FEWEST, WORK // max(math.prod(smoother.modes), math.prod(shape))))
    blocks = smoother.errors(generator, draws, privacy, size)
    drawn = [between(row, positions) for errors in blocks for row in synthesise(errors, shape)]
    none = np.zeros(positions.shape[1])
    return band_from_errors(none, np.abs(drawn), asked.level, asked.simultaneous, positions.T).upper


def cells_band(
    raw: ReleasedHistogram,
    at: Floats,
    asked: Asked,
    edges: Floats,
    inside: Inside | None = None,
    ends: Floats | None = None,
) -> Band:
    """Band for the units' own shares of the cells that points (q, 1) lie in, over the cells' lengths.

    Exact, whatever the data are: noise on cells is independent and no smoothing is involved. Where the
    number of units is private, shares are over the released one. Of cells whose parts were counted, it
    is for the parts.

    edges: array (m + 1,). Of the cells, in the units that lengths are in.
    inside: Noisy counts of parts of cells.
    ends: array (m K + 1,). Of as many parts of all cells.
    """
    cell = place = replace(raw.cells, atoms=()).index(at)
    divided = np.zeros(cell.shape, dtype=bool)
    if inside is not None:
        part = CellGrid.regular(raw.cells.size * inside.parts, raw.domain_range).index(at)
        divided = np.isin(part // inside.parts, inside.cells)
        place = np.where(divided, part, -1 - cell)
    beyond = 1 - asked.level ** (1 / (np.unique(place).size if asked.simultaneous else 1))
    width, shares = np.full(cell.shape, raw.noise_reach(beyond)), (raw.counts / raw.size)[cell]
    lengths = np.diff(edges)[cell]
    if inside is not None:
        counts = np.zeros((raw.cells.size, inside.parts))
        counts[list(inside.cells)] = inside.counts.reshape(-1, inside.parts)
        here = part[divided]
        shares[divided] = counts.ravel()[here] / raw.size
        # Of Laplace noise.
        width[divided] = -math.log(beyond) / math.sqrt(2) * inside.deviation / raw.size
        lengths[divided] = np.diff(known(ends))[here]
    lower, upper = (np.maximum(shares + side, 0.0) / lengths for side in (-width, width))
    return Band(at, lower, upper, asked.level, asked.simultaneous)


def bends(raw: ReleasedHistogram, nodes: Floats) -> Floats:
    """How far the density is, within a cell, from a straight course between the cells beside it."""
    total = np.zeros(nodes.shape)
    for axis, (count, cells) in enumerate(zip(nodes.shape, raw.cells.shape, strict=True)):
        far = np.zeros(nodes.ndim)
        far[axis] = count / cells
        before, after = (
            scipy.ndimage.shift(nodes, side * far, order=1, mode="reflect") for side in (-1, 1)
        )
        bend, around = np.abs(before - 2 * nodes + after), max(1, round(count / cells))
        total += scipy.ndimage.maximum_filter1d(bend, around, axis, mode="reflect")
    return total


def hidden(raw: ReleasedHistogram, nodes: Floats) -> Floats:
    """How much higher a density may be where few cells of an interval hold most units.

    Two cells that hold the share s are hidden by HIDDEN s^POWER times the density.
    """
    pairs = _pairs(raw)
    if not pairs.size:
        return np.zeros(nodes.shape)
    around = np.maximum(np.append(pairs, 0.0), np.insert(pairs, 0, 0.0))
    cell = np.arange(nodes.size) * around.size // nodes.size
    return np.asarray(HIDDEN * np.clip(around, 0.0, 1.0)[cell] ** POWER * nodes)


def roughness(raw: ReleasedHistogram) -> float:
    """What part of the waves of one or two cells of an interval is the density's, not noise and chance.

    By the prior of smoothing, as the noisy counts chose it. Values that repeat are rough, and so are
    densities of which few cells hold most.
    """
    prior = raw.smoother.prior
    if raw.dimensions > 1 or prior is None:
        return 0.0
    short = prior[raw.cells.size // 2 : raw.cells.size]
    chance = raw.share_variance * raw.cells.size + 1 / raw.size
    return float(np.mean(short / (short + chance)))


def is_rough(raw: ReleasedHistogram) -> bool:
    """Whether counts differ from cell to cell so that no smooth density is in them."""
    return roughness(raw) > ROUGH


def is_narrow(raw: ReleasedHistogram) -> bool:
    """Whether two neighbouring cells hold so much that a smooth density would be rough, too."""
    return bool(np.max(_pairs(raw), initial=0.0) > FEW)


def _pairs(raw: ReleasedHistogram) -> Floats:
    """Shares of two neighbouring cells (M - 1,) of an interval; none where cells are few."""
    shares = raw.counts / raw.size
    return shares[1:] + shares[:-1] if raw.dimensions == 1 and shares.size >= CELLS else np.empty(0)


def standing_out(raw: ReleasedHistogram) -> int:
    """Number of cells of an interval that both cells beside them exceed, or fall short of, clearly.

    That is by four deviations of noise and sampling. Densities that are smooth within cells have few.
    """
    if raw.dimensions > 1 or not raw.cells.is_regular:
        return 0
    shares = raw.counts / raw.size
    variances = raw.share_variance + np.maximum(shares, 0.0) / raw.size
    steps = np.diff(shares) / np.sqrt(variances[1:] + variances[:-1])
    turned = np.sign(steps[1:]) != np.sign(steps[:-1])
    return int(np.sum(turned & (np.minimum(*np.abs([steps[1:], steps[:-1]])) > FAR)))


def crowded_words(raw: ReleasedHistogram) -> str:
    """What is not seen where most units lie in two cells; "" where they do not."""
    if not np.max(_pairs(raw), initial=0.0) > CROWDED:
        return ""
    return (
        f"more than {CROWDED:.0%} of the {several(raw.unit)} lie in two of {raw.cells.size} cells. What "
        "the density does within these was not seen: its peak may be narrower and higher. Ends of the "
        f"domain nearer to where {several(raw.unit)} lie, a larger epsilon or scale='log' show more"
    )


def comb_words(raw: ReleasedHistogram) -> str:
    """What cells that stand out look like; "" where they are few."""
    count = standing_out(raw)
    if count < COMB:
        return ""
    return (
        f"{count} cells hold far more, or far fewer, {several(raw.unit)} than both cells beside them. "
        "Values that lie a step apart, such as whole years or half hours, look so; the curve and its "
        "band then mean little between values. Where the step is known, state it (step=1, --step 1), "
        "and the probability of each value is published"
    )
