"""Follow-ups that begin late: a unit lies half in its end, half in its beginning, and noise knows it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpfda import PrivateSurvival, load
from dpfda.errors import StorageError
from dpfda.noise.shares import UNIT
from dpfda.privacy.guarantees import ZeroConcentratedDP
from dpfda.testing import exact_totals
from tests.statistical import normal_only_at_its_scale


def survival(**asked):
    return PrivateSurvival(domain=(0, 100), unit="person", cells=8, **asked)


def prepared(time, start):
    return survival(rho=1).prepare(time, np.ones(len(time), dtype=int), start)


def moved(one, other, count=50):
    """Squared distance of the sums of two data sets that differ in their last person."""
    rest = np.linspace(20, 90, count), np.linspace(1, 15, count)
    sums = [
        exact_totals(
            prepared(*(np.r_[same, own] for same, own in zip(rest, changed, strict=True))).total
        )
        for changed in (one, other)
    ]
    return sum((a - b) ** 2 for a, b in zip(*sums, strict=True))


def test_the_farthest_neighbours_lose_what_is_stated_and_no_less_by_the_root_of_two():
    """Another end and another beginning: four cells, half a unit each."""
    plan = prepared(np.array([50.0, 60.0]), np.array([1.0, 2.0])).plan
    square = moved((10.0, 0.0), (99.0, 60.0))
    assert square == 4 * (UNIT // 2) ** 2
    (scale,) = set(plan.table.law.scales)
    assert square / scale**2 / 2 == pytest.approx(1.0, rel=1e-5)
    assert plan.guarantee == ZeroConcentratedDP(1)


def test_persons_of_several_follow_ups_keep_to_their_halves():
    """Whatever their cells, rounding included: no half is larger, with three follow-ups or seven."""
    generator = np.random.default_rng(5)
    for count in (1, 2, 3, 7):
        ends, starts = generator.uniform(50, 120, count), generator.uniform(-5, 49, count)
        # Two persons of the same follow-ups: twice one person's shares.
        twice = np.tile(ends, 2), np.ones(2 * count, dtype=int), np.tile(starts, 2)
        made = survival(epsilon=1).prepare(*twice, groups=np.repeat([0, 1], count))
        cells, sums = made.plan.cells, np.array(exact_totals(made.total))
        assert sums[: cells.exits].sum() <= UNIT
        assert sums[cells.exits :].sum() <= UNIT
        assert sums.sum() > 2 * (UNIT - 4 * count)


def test_the_noise_is_that_of_the_plan_and_less_than_without_beginnings():
    time, start = np.linspace(20, 90, 300), np.linspace(-10, 15, 300)
    left = []
    for _ in range(15):
        release = survival(rho=1).fit(time, np.ones(300, dtype=int), start).release_
        exact = np.array(exact_totals(prepared(time, start).total), dtype=float)
        noise = np.array(release.shares.noisy, dtype=float) - exact
        left += list(noise / release.shares.noise.scales[0])
    assert normal_only_at_its_scale(left)
    whole = survival(rho=1).plan(300).table.law.scales[0]
    assert release.shares.noise.scales[0] * 2**0.5 == pytest.approx(whole, rel=1e-5)
    pure = (survival(epsilon=1).plan(300, late=late).table.law.scales[0] for late in (True, False))
    assert next(pure) == next(pure)


def test_files_are_held_to_halves_and_those_of_before_are_read(tmp_path):
    made = prepared(np.linspace(20, 90, 60), np.linspace(1, 15, 60))
    release = made.plan.publish(made.total)
    path = release.save(tmp_path / "halves.json")
    assert load(path).certificate.achieved == release.certificate.achieved
    written = json.loads(path.read_text())
    del written["mechanism"]["halves"]
    path.write_text(json.dumps(written))
    # Noise for halves is too little for a unit that could lie in one cell.
    with pytest.raises(StorageError):
        load(path)
    tuning = {key: value for key, value in made.plan.table.tuning.items() if key != "halves"}
    before = replace(made.plan, table=replace(made.plan.table, parts=(UNIT,), tuning=tuning))
    old = before.publish(made.total)
    assert load(old.save(tmp_path / "before.json")).shares.noise == old.shares.noise
