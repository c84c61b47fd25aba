"""How far a released covariance lies from that of its units at most: what gets noise, and what it tells.

Once the covariance C is public, so are the variances v_a that it gives to forms a(x): the value x(t) at
each point of the grid, and (x(s) + x(t)) / sqrt(2) and (x(s) - x(t)) / sqrt(2) at some pairs of points.
Forms of the units are rounded to integers y, a public cut being L of them. With

    G_a = min over integers m of sum_i min((y_i - m)^2, L^2)

and T_a the number of units times v_a in the same integers, what gets noise is

    D = max(4 max_t |G_t - T_t|, 3 max over pairs |G_a - T_a|).

One unit in the place of another changes one term of each sum, which lies between 0 and L^2 whatever m
is: so it moves each least sum by L^2 at most, and D by 4 L^2, whatever C and the cut are, which are
functions of what was released. Laplace noise of that over a share of epsilon keeps to this share, given
all that came before: both compose to the whole. Without the cut G_a would be the sum of squares about
the mean, so that no center is paid for, and no records are paired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from dpfda.noise import KNormNoise, NoiseLaw, knorm_noise
from dpfda.numerics.arrays import Flags, Floats, Integers
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.specials import normal_chance
from dpfda.privacy.guarantees import PureDP
from dpfda.releases import entries as file
from dpfda.releases.promise import AddedNoise

# The cut in integers; forms farther than FAR from the middle of the bounds count as lying at FAR.
LARGEST, FAR = 2**8, 2**16
# Number of points, at most, whose pairs are measured.
PLACES = 17
# Weights of distances at one point, and at pairs.
ONE, PAIR = 4, 3
# The squared cut, in largest variances of what was released; these are taken to be so many squared
# radii over the domain's length at least.
SQUARES, LEAST = 12.0, 0.4
# Of what the level of a band leaves, so much is the noise's; the rest is for what the cut leaves out.
OWN = 0.6
# Where the distance is such a part of the squared cut at least, variances may be twice as large.
HEAVY = 0.06
# Variances, over the squared cut, of which it is known what the cut leaves.
VARIANCES = np.geomspace(1e-6, 1e6, 2401)
# How far one unit moves what gets noise.
MOVED = ONE * LARGEST**2


@dataclass(frozen=True)
class CovarianceDistance(file.Written):
    """The largest distance of a released covariance from that of its units, with noise; public.

    Parameters
    ----------
    noisy : int
        D as this file's head says, plus noise.
    cut : float
        Forms were clipped to it around their center, in units of the data.
    units : int
        Number of units.
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

    def unseen(self, level: float) -> tuple[float, float]:
        """The least and the largest distance at a point, in squared cuts, at this level at least."""
        assert isinstance(self.noise, KNormNoise)  # noqa: S101
        reach = self.noise.scales[0] * math.log(0.5 / (OWN * (1 - level))) + ONE
        least, most = (max(0.0, (self.noisy + side) / MOVED / self.units) for side in (-reach, reach))
        return least, most

    def interval(self, variances: Floats, level: float, pairs: bool = False) -> tuple[Floats, Floats]:
        """Least and largest variances (q,) of these units' forms, from the released ones.

        pairs: Whether the forms are of two points. Rounding of forms is allowed for.
        """
        least, most = self.unseen(level)
        apart, square = most * (ONE / PAIR if pairs else 1.0), self.cut**2
        lower, upper = (np.maximum(variances / square + side, 0.0) for side in (-apart, apart))
        upper = self.before_cut(square * (np.sqrt(upper) + 0.5 / LARGEST) ** 2) * (
            1 + (least / HEAVY) ** 2
        )
        return square * np.maximum(np.sqrt(lower) - 1 / LARGEST, 0.0) ** 2, upper

    def before_cut(self, variances: Floats) -> Floats:
        """Variances (q,) before the cut, from those after it; never smaller.

        Half of the values are taken to be normal, half to have a Laplace law.
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
    return math.sqrt(SQUARES * max(float(np.max(np.diag(matrix))), LEAST * radius**2 / length))


def measured_distance(
    values: Floats,
    usable: Flags,
    half: Floats,
    matrix: Floats,
    cut: float,
    law: NoiseLaw,
    drawn: int,
) -> CovarianceDistance:
    """The distance with noise. The ledger has been charged for it.

    values, usable: arrays (n, m), (n,). Units on the grid, less the middle of their bounds. Private.
    half: array (m,). Half of what lies between the bounds.
    matrix: array (m, m). The released covariance on the grid.
    law, drawn: The noise, and one draw of it.
    """
    scale, count, own = LARGEST / cut, len(values), np.diag(matrix)
    scaled, half = np.where(usable[:, None], values, 0.0) * scale, half * scale

    def apart(form: Floats, reach: float, variance: float) -> int:
        return abs(least_sum(form[usable], reach) - round(count * float(variance) * scale**2))

    largest = ONE * max(map(apart, scaled.T, half, own))
    scaled, half = scaled * math.sqrt(0.5), half * math.sqrt(0.5)
    for s, t in _pairs(own.size):
        mean, product, reach = (own[s] + own[t]) / 2, matrix[s, t], half[s] + half[t]
        sides = (
            (scaled[:, s] + scaled[:, t], mean + product),
            (scaled[:, s] - scaled[:, t], mean - product),
        )
        largest = max(largest, *(PAIR * apart(form, reach, variance) for form, variance in sides))
    return CovarianceDistance(largest + drawn, cut, count, law)


def least_sum(form: Floats, reach: float) -> int:
    """The least over integers m of the sum of min((y - m)^2, L^2), exactly; y (n,) is rounded.

    reach: What y is at most in size. Public.
    """
    far = min(math.ceil(reach), FAR)
    centers = np.arange(-far, far + 1)
    rounded = np.rint(np.clip(form, -far, far)).astype(np.int64)
    counts = np.bincount(rounded + far, minlength=centers.size)

    def within(power: int) -> Integers:
        """Sums of this power of those that are within the cut around each center."""
        sums = np.cumsum(counts * centers**power)
        ends = np.concatenate([np.zeros(LARGEST + 1, np.int64), sums, np.full(LARGEST, sums[-1])])
        return np.asarray(ends[2 * LARGEST + 1 :] - ends[: -2 * LARGEST - 1])

    number = within(0)
    about = within(2) - 2 * centers * within(1) + centers**2 * number
    return int(np.min(about + (rounded.size - number) * LARGEST**2))


def simulated_distance(
    truth: Floats,
    matrix: Floats,
    units: int,
    cut: float,
    law: KNormNoise,
    generator: np.random.Generator,
) -> CovarianceDistance:
    """The same for an invented covariance (m, m). No data, nothing private."""
    apart = truth - matrix
    own, (first, second) = np.diag(apart), np.transpose(_pairs(len(apart)))
    pairs = np.abs((own[first] + own[second]) / 2) + np.abs(apart[first, second])
    far = max(ONE * float(np.max(np.abs(own))), PAIR * float(np.max(pairs)))
    exact = units * (LARGEST / cut) ** 2 * far
    return CovarianceDistance(round(exact + float(law.simulate(generator, 1)[0, 0])), cut, units, law)


def _pairs(points: int) -> list[tuple[int, int]]:
    """Pairs of points of a grid at which forms of two are measured."""
    places = np.unique(np.rint(np.linspace(0, points - 1, min(points, PLACES))).astype(int))
    return list(combinations(places.tolist(), 2))
