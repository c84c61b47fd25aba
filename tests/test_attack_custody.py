"""Attacks on summaries through custodians: private counts, farthest units, files of one draw."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpfda import PrivacyUnit, PrivateFunctionalRegression, PrivateVectorMean, load
from dpfda.bounds import Ellipsoid, L1Ball, L2Ball
from dpfda.errors import StorageError
from dpfda.noise.shared import SharedGaussianNoise
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.guarantees import ZeroConcentratedDP
from dpfda.testing import exact_totals

pytest.importorskip("cryptography")

from dpfda.front.custodians import agree, estimator_of, merge, part, pooled
from dpfda.publication.custody import Keys, masked

pytestmark = pytest.mark.usefixtures("few_draws")

POINTS, NAMES = 16, ("east", "north", "west")
PRIVATE = PrivacyUnit("person", "add-remove", 30)
ONE = ZeroConcentratedDP(1)


def started(estimator, sizes=(None,) * 3, **rules):
    own, lead = [Keys.make(*pair) for pair in zip(NAMES, sizes, strict=True)], Keys.make("registry")
    return own, lead, agree(estimator, [keys.card for keys in own], lead, POINTS, **rules)


def vector(**asked):
    return PrivateVectorMean(bounds=[(0, 1), (-1, 2)], channels=["x", "y"], **asked)


@pytest.mark.parametrize("units", [8, 9])
def test_no_private_number_of_units_decides_whether_effects_are_released(units):
    """A liar's number leaves its room where the others have more than 20 units, which is private."""
    estimator = PrivateFunctionalRegression(
        1, bounds=(0, 1), covariates={"age": (20, 80)}, cells=4, unit=PRIVATE
    )
    own, lead, agreement = started(estimator)
    parts = [
        part(agreement, keys, np.full((size, POINTS), 0.3), y={"age": np.full(size, 50.0)})
        for keys, size in zip(own[:2], (units, 12), strict=True)
    ]
    lie = IntegerSum(agreement.numbers).add_totals(
        [0] * agreement.numbers, (agreement.modulus >> 65) - 20
    )
    release = merge(agreement, [*parts, masked(agreement, own[2], lie)], lead)
    assert release.public_units is None


def test_vectors_of_a_private_number_of_units_are_divided_by_the_public_one():
    own, lead, agreement = started(
        vector(rho="0.5", mechanism="gaussian", unit=PRIVATE), noise="shared", colluding=1
    )
    parts = [
        part(agreement, keys, np.full((size, POINTS, 2), 0.5))
        for keys, size in zip(own, (8, 12, 5), strict=True)
    ]
    release = merge(agreement, parts, lead)
    assert {mean.count for mean in release.means.values()} == {30.0}
    assert float(release.certificate.achieved.rho) == pytest.approx(1 / 3, rel=1e-6)


@pytest.mark.parametrize(
    "bounds",
    [
        [L2Ball(1.0), L2Ball(3.0)],
        [L1Ball(1.0), L1Ball(2.0)],
        [L2Ball(1.0), Ellipsoid([1.0, 0.5, 0.25])],
        [(0, 1), L1Ball(1.0)],
    ],
)
def test_one_unit_moves_channels_in_bodies_as_far_as_is_stated(bounds):
    estimator = PrivateVectorMean(
        rho="0.5", bounds=bounds, channels=["x", "y"], mechanism="gaussian", unit=PRIVATE
    )
    made = pooled(estimator, 30, POINTS)
    law = made.sharing.law(2)
    moved = exact_totals(made.measured(made.total(np.full((1, POINTS, 2), 1e6))))
    squares = [Fraction(d, s) ** 2 for d, s in zip(moved, law.scales, strict=True)]
    assert 0.99 < sum(squares) <= 2 * made.sharing.lost(law, 2).rho <= 1


def shrunk(mean, factor, width):
    """The same with less noise, which says for itself alone what that gives."""
    law = replace(mean.noise, scales=tuple(int(s * factor) for s in mean.noise.scales))
    alone = law.achieved("l2", width, mean.certificate.costs[-1].guarantee)
    return replace(mean, noise=law, certificate=mean.certificate.fulfilled(alone))


@pytest.mark.parametrize(
    ("asked", "noise"),
    [
        ({"rho": "0.5"}, "shared"),
        ({"epsilon": 1, "delta": "1e-6"}, "shared"),
        ({"epsilon": 1, "delta": "1e-6"}, "central"),
    ],
)
def test_a_file_of_one_draw_does_not_say_less_than_all_its_channels_lose(asked, noise, tmp_path):
    rules = {"noise": noise, "colluding": int(noise == "shared")}
    own, lead, agreement = started(vector(mechanism="gaussian", **asked), (4,) * 3, **rules)
    parts = [part(agreement, keys, np.full((4, POINTS, 2), 0.5)) for keys in own]
    release = merge(agreement, parts, lead)
    assert (
        load(release.save(tmp_path / "whole.json")).certificate.achieved == release.certificate.achieved
    )
    # Each channel loses no more than is said of both together; both together lose twice as much.
    widths = [width for width in pooled(estimator_of(agreement), 12).sharing.width if width]
    for factor in (0.99, 0.7072):
        pairs = zip(release.means.items(), widths, strict=True)
        means = {name: shrunk(mean, factor, width) for (name, mean), width in pairs}
        path = replace(release, means=means).save(tmp_path / f"{factor}.json")
        with pytest.raises(StorageError):
            load(path)


def test_what_shares_lose_in_a_box_is_what_enumeration_finds():
    """Sums of two shares in two coordinates, at small scales: Renyi losses of the exact law."""
    scales, moved = (3, 4), (1, 2)
    law, losses = SharedGaussianNoise(scales, 2, 2), []
    stated = float(law.achieved("box", moved, ONE).rho)
    for order in (1.5, 2, 4, 8):
        lost = 0.0
        for scale, move in zip(scales, moved, strict=True):
            places = np.arange(-90, 91)
            share = np.exp(-(places**2) / scale**2)
            total = np.convolve(share / share.sum(), share / share.sum())
            here, there = total[move:], total[:-move]
            kept = (here > 1e-280) & (there > 1e-280)
            ratio = (order - 1) * np.log(here[kept] / there[kept])
            lost += np.log(np.sum(here[kept] * np.exp(ratio))) / (order - 1)
        losses.append(lost / order)
    assert 0.999 * stated < max(losses) <= stated * (1 + 1e-9)
