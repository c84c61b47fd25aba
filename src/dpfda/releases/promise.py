"""What a release in a file promises, held to the noise that it holds: recomputed, never believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dpfda.bounds import Bound, BoxBound, Ellipsoid
from dpfda.noise import AnyNorm, EllipticalNoise, GaussianNoise, Width, achieved_guarantee
from dpfda.noise.shared import SharedGaussianNoise, SharedSymmetricNoise
from dpfda.noise.symmetric import OuterDifference, SymmetricNoise, achieved_symmetric
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import estimated_profile, gaussian_delta, loss_of
from dpfda.privacy.composition.rounding import root_at_least
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    pure_part,
)
from dpfda.releases.costs import without
from dpfda.releases.counts import Divisor, NoisyCount

# Free text that is made from other entries whenever a release is written.
WORDS = ("words", "description", "composition")
# Bounds in floats give the width of a sum to far less than this; versions round outward differently.
ROUNDING = Fraction(1001, 1000)
# Elliptical noise that units move further than so many scales, for an epsilon of one, gives no delta.
FARTHEST = 16
LARGE = 2**60
# Laws whose delta does not follow from a loss.
EXACTLY = EllipticalNoise, SharedGaussianNoise, SharedSymmetricNoise
# A stage of this name is one draw of noise, of which each of several releases holds a part.
ALL = "all together"


class AddedNoise(NamedTuple):
    """Noise that a release holds, and how far one unit moves what it was added to.

    noise: In force.
    norm: As in `dpfda.noise.achieved_guarantee`.
    width: In grid units: by how much sums of neighbouring data sets differ.
    cost: Which of the certificate's costs paid for it.
    """

    noise: Any
    norm: AnyNorm
    width: Width | OuterDifference
    cost: int = -1

    def achieved(self, asked: Guarantee) -> Guarantee:
        """What it gives, of the kind of what was asked for; a delta in floats, so that it is at once."""
        if not isinstance(asked, ApproximateDP):
            return self._exactly(asked)
        whole = self._whole()
        if isinstance(whole, PureDP) and whole.epsilon <= asked.epsilon * ROUNDING:
            return whole
        loss = None if whole is None else self.noise.loss(whole)
        delta = None if loss is None else estimated_profile(loss, float(asked.epsilon))
        if delta is not None:
            return ApproximateDP(asked.epsilon, _below_one(delta))
        if isinstance(self.noise, EXACTLY) and self._longest < FARTHEST * (1 + asked.epsilon):
            return self._exactly(asked)
        return whole or PureDP(self._longest)

    @property
    def _longest(self) -> Fraction:
        """How far a unit moves one number at most, in units of the smallest scale."""
        if isinstance(self.width, OuterDifference):
            return self.width.frobenius / int(vars(self.noise)["scale"])
        sizes: Any = self.width if isinstance(self.width, tuple) else (self.width,)
        scales = vars(self.noise).get("scales") or (self.noise.scale,)
        return Fraction(max(sizes), min(scales))

    def _whole(self) -> Guarantee | None:
        """The pure epsilon or the rho of its law; None where it has neither."""
        for kind in (PureDP, ZeroConcentratedDP):
            try:
                return self._exactly(kind(Fraction(1)))
            except RefusedMechanismError:
                continue
        return None

    def _exactly(self, asked: Guarantee) -> Guarantee:
        if isinstance(self.width, OuterDifference):
            return achieved_symmetric(self.noise, self.width, asked)
        return achieved_guarantee(self.noise, self.norm, self.width, asked)


def moved_by(
    bound: Bound, grid_points: Floats, weights: Floats, exponent: int, neighbours: Neighbours
) -> tuple[AnyNorm, Width]:
    """Norm and size by which one unit in a bound moves a sum of coefficients, up to rounding.

    grid_points, weights: array (m,).
    exponent: The sum is in units of 2^-exponent of a coefficient.
    """
    unit = Fraction(2) ** exponent
    if isinstance(bound, BoxBound | Ellipsoid):
        sizes = np.atleast_1d(np.asarray(bound.to_json()[next(reversed(bound.to_json()))])).tolist()
        return bound.norm, tuple(neighbours.differences(max(1, int(size * unit))) for size in sizes)
    radius = Fraction(bound.radius_on(grid_points, weights))
    return bound.norm, neighbours.differences(max(1, int(radius * unit)))


def noise_on_count(divisor: Divisor) -> list[AddedNoise]:
    """Noise of its own on a released number of units, which one unit moves by one."""
    if not isinstance(divisor, NoisyCount):
        return []
    first = divisor.before or divisor
    return [AddedNoise(first.noise, "l1", first.scale, 0)]


def noise_on_moments(
    noise: SymmetricNoise, radius: Any, exponent: int, neighbours: Neighbours
) -> AddedNoise:
    """Noise on a sum of outer products in units of 2^-exponent, of vectors in a ball of this radius."""
    largest = int(Fraction(radius) * Fraction(2) ** (exponent // 2))
    if largest < 1:
        raise ValueError("the radius is below the grid")
    return AddedNoise(noise, "l2", OuterDifference.of(noise.size, largest, neighbours))


def checked_promise(
    certificate: Certificate,
    noises: Sequence[AddedNoise],
    parts: Sequence[Certificate] = (),
    held: object = None,
) -> Certificate:
    """The certificate of a file, held to the noise and the parts of its release.

    What was achieved can be recomputed where the file holds the noise of every stage. Where it does not,
    no more is believed than what was charged.

    noises: In the order in which they were paid for; empty where the release does not say how far a unit
        moves it.
    parts: Of releases inside this one.
    held: Noise in the file, where how far a unit moves its numbers is not.
    Raises ValueError if noise is too small for what it cost, a part was charged elsewhere, or noise and
    parts give more or less than was achieved as the certificate says.
    """
    terms = {(each.neighbours, each.unit) for each in (certificate, *parts)}
    charged = [charge for part in parts for charge in part.charges]
    # A file of version 1 says one cost for all that was done, and so does what was made of it.
    one = [cost.loss for cost in certificate.costs] == [loss_of(certificate.guarantee)]
    within_it = all(_at_most(part.guarantee, certificate.guarantee) for part in parts)
    if len(terms) > 1 or not (within_it and (one or set(charged) <= set(certificate.charges))):
        raise ValueError("a part was charged elsewhere, or protects others")
    found, paid = given(certificate, noises)
    stated, claim = certificate.achieved, certificate.guarantee
    found += [one for part in parts for one in part.achieved_within(claim)]
    shared = parts and ALL in certificate.stages
    # Of noise that was drawn for all parts each part sees some.
    least = found if shared else [added(found)] if found else []
    if not all(_at_most(each, stated) for each in least):
        raise ValueError("less is said to be achieved than the noise gives")
    if not found or len(paid) + len(charged) < len(certificate.costs):
        believed = _at_most(_comparable(claim, stated), stated, _rounding_of(held))
        return certificate if believed else certificate.fulfilled(claim)
    if not shared and not _at_most(_comparable(stated, least[0]), least[0]):
        raise ValueError("more is said to be achieved than the noise gives")
    return certificate


def check_one_draw(certificate: Certificate, noises: Sequence[AddedNoise]) -> None:
    """Refuse normal noise of several parts that gives more than all of them are said to have together.

    Where one draw paid for all, a unit is in all at once: squares of the lengths by which it moves each
    add up (`dpfda.mean.vector.together`).

    Raises ValueError.
    """
    normal = [each for each in noises if isinstance(each.noise, GaussianNoise | SharedGaussianNoise)]
    if ALL not in certificate.stages or not normal:
        return
    stated, unit = certificate.achieved, ZeroConcentratedDP(Fraction(1))
    lost: Guarantee = added([each._exactly(unit) for each in normal])
    if isinstance(stated, ApproximateDP) and isinstance(lost, ZeroConcentratedDP):
        mu = root_at_least(2 * lost.rho)
        far = mu > FARTHEST * (1 + stated.epsilon)
        lost = ApproximateDP(
            stated.epsilon, _below_one(1.0) if far else gaussian_delta(stated.epsilon, mu)
        )
    if not _at_most(lost, stated):
        raise ValueError("less is said to be achieved than the noise of all parts gives")


def given(
    certificate: Certificate, noises: Sequence[AddedNoise]
) -> tuple[list[Guarantee], dict[int, list[Guarantee]]]:
    """What noise gives, in the order in which it was paid for, and by the cost that paid for it.

    Raises ValueError if it is too small for what it cost.
    """
    costs, paid = certificate.costs, dict[int, list[Guarantee]]()
    for each in noises:
        place = each.cost % len(costs)
        asked, before = costs[place].guarantee, paid.setdefault(place, [])
        if before:
            asked = without(asked, before)
        elif each is not noises[-1]:
            asked = pure_part(asked)
        achieved = each.achieved(asked)
        if not _at_most(achieved, asked):
            raise ValueError("the noise is too small for what was charged")
        before.append(achieved)
    return [one for each in paid.values() for one in each], paid


def _below_one(delta: float) -> Fraction:
    return min(max(Fraction(delta), Fraction(1, 10**300)), Fraction(10**9 - 1, 10**9))


def _comparable(one: Guarantee, other: Guarantee) -> Guarantee:
    """A guarantee as an epsilon alone, where pure noise had no use for its delta or its rho."""
    return pure_part(one) if isinstance(other, PureDP) else one


def same(one: Guarantee, other: Guarantee) -> bool:
    """Whether two guarantees are the same up to rounding."""
    return _at_most(one, other) and _at_most(other, one)


def _rounding_of(noise: object) -> Fraction:
    """By how much less than it was scaled to noise may give: scales are rounded up to whole numbers."""
    scales = getattr(noise, "scales", None) or (getattr(noise, "scale", LARGE),)
    return ROUNDING * Fraction(min(scales), max(min(scales) - 1, Fraction(1, LARGE)))


def _at_most(part: Guarantee, whole: Guarantee, rounding: Fraction = ROUNDING) -> bool:
    """Whether a guarantee is at most another, number by number and up to rounding."""
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(part, name)]
    if hasattr(whole, "rho") and not hasattr(part, "rho"):
        return part.epsilon**2 / 2 <= whole.rho * rounding
    return all(getattr(part, name) <= getattr(whole, name, 0) * rounding for name in names)


def check_agreement(written: object, release: object) -> None:
    """Refuse a file whose entries are not those that its release writes.

    Entries that only one of them has are left alone, as are words and what is recomputed.

    Raises ValueError if an entry says something else.
    """
    if isinstance(written, Mapping) and isinstance(release, Mapping):
        for name in written.keys() & release.keys() - {"schema_version", "achieved_guarantee", *WORDS}:
            check_agreement(written[name], release[name])
    elif isinstance(written, list) and isinstance(release, list | tuple):
        if len(written) != len(release):
            raise ValueError("a list in a file is not that of its release")
        if written != release:
            for one, other in zip(written, release, strict=True):
                check_agreement(one, other)
    elif type(written) is bool is not type(release) or written != release:
        raise ValueError("an entry of a file is not that of its release")
