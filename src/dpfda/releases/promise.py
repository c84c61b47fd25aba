"""What a release in a file promises, held to the noise that it holds: recomputed, never believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from dpfda.bounds import Bound, BoxBound, Ellipsoid
from dpfda.noise import (
    AnyLaw,
    AnyNorm,
    EllipticalNoise,
    GaussianNoise,
    Law,
    NoiseLaw,
    Width,
    achieved_guarantee,
    cost_of,
)
from dpfda.noise.shared import SharedGaussianNoise, SharedSymmetricNoise
from dpfda.noise.symmetric import OuterDifference, SymmetricGaussianNoise, SymmetricNoise
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import Json, mapping, name
from dpfda.numerics.errors import RefusedMechanismError
from dpfda.numerics.exactness import root_at_least
from dpfda.privacy.certificates import (
    WHOLE,
    Certificate,
    Certified,
    certificate_from_json,
    guarantee_from_json,
)
from dpfda.privacy.composition import Cost, LaplaceLoss, estimated_profile, gaussian_delta, loss_of
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Guarantee,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    added,
    pure_part,
)
from dpfda.releases.counts import Divisor, NoisyCount

Costs = Mapping[str, Cost]
Described = tuple[Mapping[str, object], Mapping[str, object]]
# What a release was drawn as: the same in all of its derivatives.
_DRAWN = (
    "noisy_sum", "noisy_counts", "noisy_values", "coefficients", "vectors", "variances", "noise",
    "laplace_scale", "exponent", "divisor", "guarantee", "neighbours", "privacy_unit",
)  # fmt: skip


def one_cost(guarantee: Guarantee, achieved: Guarantee) -> Costs:
    """One cost: the guarantee, of which no law is known."""
    return {WHOLE: Cost(guarantee)}


def certified(
    written: Mapping[str, object],
    earlier: Callable[[Guarantee, Guarantee], Costs] = one_cost,
    described: Callable[[], Described] | None = None,
    laws: Sequence[AnyLaw] | None = None,
) -> Certificate:
    """The certificate in a release's file of any version.

    written: The file, or the part of it that holds a release.
    earlier: Costs by stage in a file of version 1, from its guarantee and what its noise achieved. They
        claim a law only where the file leaves no doubt.
    described: Bound and mechanism for files of version 1 that do not hold them.
    laws: All noise that the release holds, where it holds all that was drawn.
    Raises ValueError if its parts contradict each other, or a loss is of a law that the release does not
    hold.
    """
    if written.get("schema_version", 1) != 1:
        certificate = certificate_from_json(written)
        if laws is not None:
            _check_laws(certificate, laws)
        return certificate
    guarantee = guarantee_from_json(written["guarantee"])
    achieved = guarantee_from_json(written.get("guarantee_recomputed", written["guarantee"]))
    # The best of several runs does not have the law of one run's noise.
    selected = "selected" in mapping(written["about"])
    certificate = Certificate.charged(
        (one_cost if selected else earlier)(guarantee, achieved),
        Neighbours.parse(written["neighbours"]),
        name(written["privacy_unit"]),
        *(described() if described else (mapping(written["bound"]), mapping(written["mechanism"]))),
    )
    return replace(
        certificate, guarantee=guarantee, achieved=achieved, identity=identity_of(written), caveats=()
    )


def _check_laws(certificate: Certificate, laws: Sequence[AnyLaw]) -> None:
    """Losses are those of the noise in the file, or no more than the guarantee is known."""
    for cost in certificate.costs:
        # What was charged before a count covers the law that was drawn, if that is there.
        law = cost.drawn or cost
        bare = all(paid.loss == loss_of(paid.guarantee) for paid in (cost, law))
        if not bare and not any(_is_of(noise, law) for noise in laws):
            raise ValueError("a loss is of a law that the release does not hold")


def _is_of(law: AnyLaw, cost: Cost) -> bool:
    if not isinstance(cost.guarantee, ApproximateDP):
        return law.loss(cost.guarantee) == cost.loss
    # How large it is at least has been checked; here is asked of what law.
    losses = [law.loss(kind) for kind in (PureDP(Fraction(1)), ZeroConcentratedDP(Fraction(1)))]
    return any(
        type(loss) is type(cost.loss)
        and getattr(loss, "dimension", None) == getattr(cost.loss, "dimension", None)
        for loss in losses
    )


def laws_in(contents: Iterable[object], parts: bool = True) -> list[AnyLaw]:
    """All noise that is held, at any depth; parts: whether also that of releases inside it.

    What a certificate says of a law is no noise.
    """
    laws: list[AnyLaw] = []
    for part in contents:
        if isinstance(part, Certificate) or (isinstance(part, Certified) and not parts):
            continue
        if isinstance(part, Law):
            laws.append(cast("AnyLaw", part))
        elif isinstance(part, Mapping):
            laws += laws_in(part.values(), parts)
        elif is_dataclass(part):
            laws += laws_in(vars(part).values(), parts)
        elif isinstance(part, tuple) and is_dataclass(next(iter(part), None)):
            laws += laws_in(part, parts)
    return laws


def charged(written: Mapping[str, object], entries: Json) -> Certificate:
    """The certificate in a release's file of any version, by what else the file holds.

    Where that has noise of its own, losses are of no law but those that are held. In version 1 the costs
    of one sum, and of its count, are known where no other noise is held.
    """
    laws, earlier = laws_in(entries.values()), one_cost
    if "divisor" in entries and len(laws) == 1 + isinstance(entries["divisor"], NoisyCount):
        earlier = partial(sum_costs, entries["noise"], entries["divisor"])
    return certified(written, earlier, laws=laws if laws_in(entries.values(), parts=False) else None)


def identity_of(written: Mapping[str, object]) -> str:
    """Identifies a release of version 1: a digest of what was drawn for it."""
    drawn = {key: written[key] for key in _DRAWN if key in written}
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:32]


def sum_costs(
    noise: NoiseLaw | SymmetricNoise, divisor: Divisor, guarantee: Guarantee, achieved: Guarantee
) -> Costs:
    """Costs of a release that is one sum with noise, and a count where it was released."""
    if not isinstance(divisor, NoisyCount):
        return {WHOLE: cost_of(noise, achieved, guarantee)}
    loss = divisor.noise.loss(PureDP(Fraction(1))) if divisor.noise.components == 1 else None
    if not isinstance(loss, LaplaceLoss):
        return {WHOLE: Cost(guarantee)}
    count = achieved_guarantee(divisor.noise, "l1", divisor.scale, PureDP(Fraction(1)))
    # The law of the function may have awaited the count.
    rest = Cost(without(guarantee, [count]))
    return {"count": cost_of(divisor.noise, count, count), "function": rest}


def without(guarantee: Guarantee, parts: list[Guarantee]) -> Guarantee:
    """What is left of a guarantee when parts, pure or of its kind, are taken off."""
    spent = added(parts)
    if isinstance(guarantee, ZeroConcentratedDP):
        rho = spent.rho if isinstance(spent, ZeroConcentratedDP) else spent.epsilon**2 / 2
        return ZeroConcentratedDP(guarantee.rho - rho)
    assert not isinstance(spent, ZeroConcentratedDP)  # noqa: S101
    epsilon = guarantee.epsilon - spent.epsilon
    if isinstance(guarantee, PureDP):
        return PureDP(epsilon)
    delta = guarantee.delta - (spent.delta if isinstance(spent, ApproximateDP) else 0)
    return ApproximateDP(epsilon, delta)


# Free text that is made from other entries whenever a release is written.
WORDS = ("words", "description", "composition")
# Bounds in floats give the width of a sum to far less than this; versions round outward differently.
ROUNDING = Fraction(1001, 1000)
# Elliptical noise that units move further than so many scales, for an epsilon of one, gives no delta.
FARTHEST = 16
LARGE = 2**60
# Laws whose delta does not follow from a loss.
EXACTLY = EllipticalNoise, SharedGaussianNoise, SharedSymmetricNoise
# A stage of this name is one draw of noise, of which each of several releases holds a part; or normal
# noise drawn one after another, which loses as much.
ALL = "all together"
NORMAL = GaussianNoise, SharedGaussianNoise, SymmetricGaussianNoise


class AddedNoise(NamedTuple):
    """Noise that a release holds, and how far one unit moves what it was added to.

    noise: In force.
    norm: As in `dpfda.noise.achieved_guarantee`.
    width: In grid units: by how much sums of neighbouring data sets differ.
    cost: Which of the certificate's costs paid for it.
    """

    noise: NoiseLaw | SymmetricNoise
    norm: AnyNorm
    width: Width | OuterDifference
    cost: int = -1

    def achieved(self, claim: Guarantee) -> Guarantee:
        """What it gives, of the kind of what was asked for; a delta in floats, so that it is at once."""
        if not isinstance(claim, ApproximateDP):
            return self._exactly(claim)
        # First, since t noise that was scaled for a delta has an epsilon alone as well.
        if isinstance(self.noise, EXACTLY) and self._longest < FARTHEST * (1 + claim.epsilon):
            return self._exactly(claim)
        bare = self._alone()
        if isinstance(bare, PureDP) and bare.epsilon <= claim.epsilon * ROUNDING:
            return bare
        loss = None if bare is None else self.noise.loss(bare)
        delta = None if loss is None else estimated_profile(loss, float(claim.epsilon))
        if delta is not None:
            return ApproximateDP(claim.epsilon, _below_one(delta))
        return bare or PureDP(self._longest)

    @property
    def _longest(self) -> Fraction:
        """How far a unit moves one number at most, in units of the smallest scale."""
        if isinstance(self.width, OuterDifference):
            return self.width.frobenius / int(vars(self.noise)["scale"])
        sizes = self.width if isinstance(self.width, tuple) else (self.width,)
        law = vars(self.noise)
        scales = law.get("scales") or (law["scale"],)
        return Fraction(max(sizes), min(scales))

    def _alone(self) -> Guarantee | None:
        """The pure epsilon or the rho of its law; None where it has neither."""
        for kind in (PureDP, ZeroConcentratedDP):
            try:
                return self._exactly(kind(Fraction(1)))
            except RefusedMechanismError:
                continue
        return None

    def _exactly(self, guarantee: Guarantee) -> Guarantee:
        return achieved_guarantee(self.noise, self.norm, self.width, guarantee)


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
    noise: object = None,
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
    terms = {(promise.neighbours, promise.unit) for promise in (certificate, *parts)}
    charged = [charge for part in parts for charge in part.charges]
    # A file of version 1 says one cost for all that was done, and so does what was made of it.
    single = [cost.loss for cost in certificate.costs] == [loss_of(certificate.guarantee)]
    within_it = all(_at_most(part.guarantee, certificate.guarantee) for part in parts)
    if len(terms) > 1 or not (within_it and (single or set(charged) <= set(certificate.charges))):
        raise ValueError("a part was charged elsewhere, or protects others")
    achieved, paid = noise_guarantees(certificate, noises)
    stated, claim = certificate.achieved, certificate.guarantee
    achieved += [guarantee for part in parts for guarantee in part.achieved_within(claim)]
    shared = parts and ALL in certificate.stages
    # Of noise that was drawn for all parts each part sees some.
    least = achieved if shared else [added(achieved)] if achieved else []
    if not all(_at_most(guarantee, stated) for guarantee in least):
        raise ValueError("less is said to be achieved than the noise gives")
    if not achieved or len(paid) + len(charged) < len(certificate.costs):
        believed = _at_most(_comparable(claim, stated), stated, _rounding_of(noise))
        return certificate if believed else certificate.fulfilled(claim)
    if not shared and not _at_most(_comparable(stated, least[0]), least[0]):
        raise ValueError("more is said to be achieved than the noise gives")
    return certificate


def check_one_draw(certificate: Certificate, noises: Sequence[AddedNoise], every: bool = False) -> None:
    """Refuse noise of several parts whose joint loss exceeds the one stated for all of them.

    Where one draw paid for all, a unit is in all at once: squares of the lengths by which it moves each
    add up where noise is normal (`dpfda.mean.vector.together`); what is not is of one box, which has as
    many sides as its parts together. Of boxes of their own the losses would add up.

    every: Whether a unit may move all of it as far at once, so that it gives no less either.
    Raises ValueError.
    """
    normal = [noise for noise in noises if isinstance(noise.noise, NORMAL)]
    if ALL not in certificate.stages:
        return
    if not normal:
        sides = sum(noise.noise.components for noise in noises)
        apart = any(getattr(noise.noise, "whole", None) != sides for noise in noises)
        if len(noises) > 1 and apart:
            raise ValueError("what one draw has put on all parts is not of one box")
        return
    if len(normal) < len(noises):
        raise ValueError("not all noise of one draw is normal")
    stated, unit = certificate.achieved, ZeroConcentratedDP(Fraction(1))
    lost: Guarantee = added([noise._exactly(unit) for noise in normal])
    if isinstance(stated, ApproximateDP) and isinstance(lost, ZeroConcentratedDP):
        mu = root_at_least(2 * lost.rho)
        far = mu > FARTHEST * (1 + stated.epsilon)
        lost = ApproximateDP(
            stated.epsilon, _below_one(1.0) if far else gaussian_delta(stated.epsilon, mu)
        )
    if not _at_most(lost, stated):
        raise ValueError("less is said to be achieved than the noise of all parts gives")
    if every and not _at_most(stated, lost):
        raise ValueError("more is said to be achieved than the noise of all parts gives")


def noise_guarantees(
    certificate: Certificate, noises: Sequence[AddedNoise]
) -> tuple[list[Guarantee], dict[int, list[Guarantee]]]:
    """What noise gives, in the order in which it was paid for, and by the cost that paid for it.

    Raises ValueError if it is too small for what it cost.
    """
    costs, paid = certificate.costs, dict[int, list[Guarantee]]()
    for noise in noises:
        place = noise.cost % len(costs)
        claim, before = costs[place].guarantee, paid.setdefault(place, [])
        if before:
            claim = without(claim, before)
        elif noise is not noises[-1]:
            claim = pure_part(claim)
        achieved = noise.achieved(claim)
        if not _at_most(achieved, claim):
            raise ValueError("the noise is too small for what was charged")
        before.append(achieved)
    return [guarantee for part in paid.values() for guarantee in part], paid


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


def _at_most(part: Guarantee, limit: Guarantee, rounding: Fraction = ROUNDING) -> bool:
    """Whether a guarantee is at most another, number by number and up to rounding."""
    names = [name for name in ("epsilon", "delta", "rho") if hasattr(part, name)]
    if hasattr(limit, "rho") and not hasattr(part, "rho"):
        return part.epsilon**2 / 2 <= limit.rho * rounding
    return all(getattr(part, name) <= getattr(limit, name, 0) * rounding for name in names)


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
