"""How far a released covariance lies from that of its units at most: what gets noise, and what it tells.

Once the covariance C is public, units stand in a circle in an order drawn without the data, and each
makes four records z = (x - x') / sqrt(2) with the four that follow it. Their values at the points of the
grid are held within a public cut and rounded to integers z of size L at most. With G the sum of all
z z' and T that of as many C in the same integers, what gets noise is

    D = max(2 max_t |G_tt - T_tt|, max_{s < t} |G_st - T_st|).

One unit is in eight records. In the place of another it moves G_tt by 8 L^2 at most, as squares are not
negative, and G_st by 16 L^2; so D by 16 L^2, whatever C and the cut are, which are functions of what was
released. Laplace noise of that over a share of epsilon keeps to this share, given all that came before:
both compose to the whole. The order is drawn with all its outcomes equally likely, so that the density
of D is an average over them, of densities whose ratios are bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpfda.noise import KNormNoise, NoiseLaw, knorm_noise
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.specials import normal_chance
from dpfda.privacy.guarantees import PureDP
from dpfda.releases import entries as file
from dpfda.releases.promise import AddedNoise

# Every unit makes so many records, with those that follow it.
FOLLOWING = 4
# Integers of a record at a point are of this size at most; so many units are multiplied out at a time.
LARGEST, BLOCK = 2**11, 4096
# Pairs of different points are of no more than so many points.
PLACES = 65
# The squared cut, in largest variances of what was released; these are taken to be so many squared
# radii over the domain's length at least.
SQUARES, LEAST = 11.0, 0.25
# Of what the level of a band leaves, so much is the noise's; the rest is for what the cut leaves out,
# and for the chance of the order, of which so many deviations are allowed for, as of normal values.
OWN, CHANCE = 0.6, 2.0
# Variances, over the squared cut, of which it is known what the cut leaves.
VARIANCES = np.geomspace(1e-6, 1e6, 2401)
# How far one unit moves what gets noise.
MOVED = 4 * FOLLOWING * LARGEST**2


@dataclass(frozen=True)
class CovarianceDistance(file.Written):
    """The largest distance of a released covariance from that of its units, with noise; public.

    Parameters
    ----------
    noisy : int
        D as this file's head says, plus noise.
    cut : float
        Records were held within it, in units of the data.
    units : int
        Of how many it is.
    noise : NoiseLaw
        Laplace.
    """

    noisy: int = field(metadata=file.whole_number().kept)
    cut: float = field(metadata=file.NUMBER.kept)
    units: int = field(metadata=file.whole_number(2).kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, KNormNoise) or self.noise.components != 1:
            raise ParameterError("noise", "be Laplace noise on one number", repr(self.noise))
        if not (math.isfinite(self.cut) and self.cut > 0):
            raise ParameterError("cut", "be positive", repr(self.cut))

    def added(self) -> AddedNoise:
        """Its noise, which was paid for before the choice of the radius and the second moments."""
        return AddedNoise(self.noise, "l1", MOVED, -3)

    def at_most(self, level: float) -> float:
        """What it is at most where both points are one, in squared units of the data.

        In so many of 100 releases, and a few more; twice as much where they are two. Rounding of records
        is allowed for.
        """
        assert isinstance(self.noise, KNormNoise)  # noqa: S101
        reach = self.noise.scales[0] * math.log(0.5 / (OWN * (1 - level))) + 1
        known = max(0.0, self.noisy + reach) / (2 * FOLLOWING * self.units)
        chance = CHANCE / SQUARES / math.sqrt(FOLLOWING * self.units)
        return float((known / LARGEST**2 + 2 / LARGEST + chance) * self.cut**2)

    def before_cut(self, variances: Floats) -> Floats:
        """Variances (q,) of records of which so much is left by the cut; never less.

        One half of the values is taken to be normal, one to have a Laplace law.
        """
        square, rate, far = self.cut**2, np.sqrt(2 / VARIANCES), 1 / np.sqrt(VARIANCES)
        laplace = 2 * np.exp(-rate) * (1 / rate + 1 / rate**2)
        density = np.exp(-(far**2) / 2) / math.sqrt(2 * math.pi)
        normal = 2 * VARIANCES * ((1 - far**2) * normal_chance(-far) + far * density)
        left = VARIANCES - (laplace + normal) / 2
        return np.asarray(np.maximum(variances, square * np.interp(variances / square, left, VARIANCES)))


def distance_noise(part: PureDP) -> KNormNoise:
    """The law of the noise on it, for its share of the budget."""
    return knorm_noise((1,), (1.0,), "l1", MOVED, part)


def cut_for(matrix: Floats, radius: float, length: float) -> float:
    """The cut, from the released covariance (m, m) on the grid and the radius. Public.

    length: Of the domain.
    """
    largest = max(float(np.max(np.diag(matrix))), LEAST * radius**2 / length)
    return math.sqrt(SQUARES * largest)


def measured_distance(
    values: Floats, usable: Flags, matrix: Floats, cut: float, law: NoiseLaw, drawn: int
) -> CovarianceDistance:
    """The distance with noise. The ledger has been charged for it.

    values, usable: arrays (n, m), (n,). Units on the grid, in an order drawn at random. Private.
    matrix: array (m, m). The released covariance on the grid.
    law, drawn: The noise, and one draw of it.
    """
    squares, products, places = _sums(values, usable, cut)
    unit = FOLLOWING * len(values) * (LARGEST / cut) ** 2
    one = [
        int(total) - round(unit * float(own))
        for total, own in zip(squares, np.diag(matrix), strict=True)
    ]
    apart = products - np.rint(unit * matrix[np.ix_(places, places)]).astype(np.int64)
    np.fill_diagonal(apart, 0)
    largest = max(2 * max(map(abs, one)), int(np.max(np.abs(apart))))
    return CovarianceDistance(largest + drawn, cut, len(values), law)


def simulated_distance(
    truth: Floats,
    matrix: Floats,
    units: int,
    cut: float,
    law: KNormNoise,
    generator: np.random.Generator,
) -> CovarianceDistance:
    """The same of a covariance (m, m) that is made up. No data, nothing private."""
    apart = np.abs(truth - matrix)
    far = max(2 * float(np.max(np.diag(apart))), float(np.max(apart)))
    exact = FOLLOWING * units * (LARGEST / cut) ** 2 * far
    noisy = round(exact + float(law.simulate(generator, 1)[0, 0]))
    return CovarianceDistance(noisy, cut, units, law)


def _sums(values: Floats, usable: Flags, cut: float) -> tuple[Integers, Integers, Integers]:
    """Exact sums of squares (m,), and of products (p, p) at some points, whose places are the last."""
    count, points = values.shape
    places = np.unique(np.rint(np.linspace(0, points - 1, min(points, PLACES))).astype(np.int64))
    squares = np.zeros(points, dtype=np.int64)
    products = np.zeros((places.size, places.size), dtype=np.int64)
    with np.errstate(all="ignore"):
        for start in range(0, count, BLOCK):
            rows = np.arange(start, min(start + BLOCK, count))
            for step in range(1, FOLLOWING + 1):
                others = (rows + step) % count
                # Halves first: the difference of the largest doubles stays finite.
                record = (values[rows] / 2 - values[others] / 2) * (math.sqrt(2) / cut)
                record[~(usable[rows] & usable[others])] = 0.0
                # Products of integers, and sums of a block of them, are exact in doubles.
                record = np.rint(np.clip(record, -1.0, 1.0) * LARGEST)
                squares += np.sum(record**2, axis=0).astype(np.int64)
                some = record[:, places]
                products += (some.T @ some).astype(np.int64)
    return squares, products, places
