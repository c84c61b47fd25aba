"""The second look into cells with peaks: noise of both looks, what they cost, what they show."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpfda
from dpfda import Domain, PrivateDensity
from dpfda.density.second_look import SecondLook
from dpfda.errors import DpfdaError, ParameterError, StorageError
from dpfda.noise import KNormNoise
from dpfda.noise.repeated import TwiceLaplace
from dpfda.noise.shares import UNIT
from dpfda.privacy.guarantees import PureDP
from dpfda.testing import simulate_density


def spike(seed, size=10_000):
    generator = np.random.default_rng(seed)
    narrow = generator.normal(0.613, 0.0005, size)
    return np.where(generator.random(size) < 0.2, narrow, generator.random(size))


def even(seed, size=10_000):
    return np.random.default_rng(seed).random(size)


def edges_of(release, parts=1):
    count = release.raw.cells.size * parts
    if release.scale is not None:
        return release.scale.edges(count)
    return np.linspace(0, 1, count + 1)


def prepared(points, epsilon=1, **more):
    return PrivateDensity(epsilon, domain=(0, 1), **more).prepare(points)


@pytest.mark.parametrize("exact", [True, False])
def test_both_noises_have_their_laplace_laws_and_are_often_the_same(exact):
    """P-values below 1e-6 reject: once in 150,000 runs where all is right."""
    law = TwiceLaplace(20_000, 3000, 3500)
    generator = np.random.default_rng(1)
    drawn = np.array(law.draw() if exact else law.simulate(generator, 1)[0]).reshape(2, -1)
    for noise, scale in zip(drawn, (3000, 3500), strict=True):
        for factor in (1, math.sqrt(2), 1 / math.sqrt(2)):
            fits = stats.kstest(noise, stats.laplace(0, scale * factor).cdf).pvalue > 1e-6
            assert fits == (factor == 1)
    # The difference is zero, or has the wider law.
    alike, chance = np.sum(drawn[0] == drawn[1]), (3000 / 3500) ** 2
    assert stats.binomtest(int(alike), 20_000, chance).pvalue > 1e-6
    assert stats.binomtest(int(alike), 20_000, 3000 / 3500).pvalue < 1e-6
    more = (drawn[1] - drawn[0])[drawn[0] != drawn[1]]
    assert stats.kstest(more, stats.laplace(0, 3500).cdf).pvalue > 1e-6
    # What is added does not follow what it is added to.
    off = stats.spearmanr(np.abs(drawn[0]), np.abs(drawn[1] - drawn[0])).pvalue
    assert off > 1e-6


@pytest.mark.parametrize(("neighbours", "moved"), [("replace-one", 2), ("add-remove", 1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_scales_are_what_a_unit_moves_over_what_is_paid(epsilon, neighbours, moved):
    more = {"neighbours": neighbours, "public_size": 10_000}
    more = more if moved == 1 else {}
    plan = prepared(even(1), epsilon, **more).plan
    place = plan.zoom.parts[1].epsilon
    for look, whole in zip(
        plan.looks, (plan.counted.epsilon, plan.counted.epsilon + place), strict=True
    ):
        scales = look.both.narrow, look.both.wide, look.inside
        share = min(max(250 / (10_000 * whole), Fraction(1, 16)), Fraction(1, 8))
        paid = whole, whole * (1 - share), whole * share
        assert scales == tuple(math.ceil(moved * UNIT / part) for part in paid)
        assert 1 / Fraction(scales[1]) + 1 / Fraction(scales[2]) <= whole / (moved * UNIT)
        for wrong in (
            {"inside": round(look.inside / math.sqrt(2))},
            {"both": replace(look.both, wide=round(look.both.wide / math.sqrt(2)))},
            {"both": replace(look.both, narrow=round(look.both.narrow / math.sqrt(2)))},
        ):
            with pytest.raises(DpfdaError, match="more than"):
                replace(look, **wrong)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("points", [spike, even])
def test_what_is_published_is_one_look_or_the_other(points, near):
    """Noise that is told apart: of a placed or an even scale, without peaks the narrow one alone."""
    values = points(2) / (64 if near else 1)
    made, asked = prepared(values), []
    plan = made.plan

    def draw(law):
        asked.append(law)
        if isinstance(law, TwiceLaplace):
            return [1] * law.components + [2] * law.components
        return [0] * law.components

    release = plan.of_units(made.total, plan.certified(), draw)
    look = plan.looks[not near]
    assert (release.scale is not None) == near
    assert look.both in asked
    peaked = points is spike
    assert sum(release.raw.noisy_counts) == 10_000 * UNIT + plan.cells.size * (2 if peaked else 1)
    assert release.raw.noise == KNormNoise.equal(
        plan.cells.size, look.both.wide if peaked else look.both.narrow
    )
    assert (release.inside is None) != peaked
    if peaked:
        inside = release.inside
        assert asked[-1] == inside.noise == KNormNoise.equal(len(inside.noisy), look.inside)
        # Parts of a cell hold what the cell holds.
        held = np.array(inside.noisy).reshape(-1, inside.parts).sum(axis=1)
        assert held.tolist() == [release.raw.noisy_counts[cell] - 2 for cell in inside.cells]
        edges = edges_of(release, inside.parts)
        own = np.histogram(values, edges)[0].reshape(-1, inside.parts)[list(inside.cells)]
        np.testing.assert_array_equal(own.ravel() * UNIT, inside.noisy)
    else:
        assert not any(law == KNormNoise.equal(1, look.inside) for law in asked)


@pytest.mark.parametrize(
    "more", [{"delta": 1e-6, "noise": "gaussian"}, {"scale": "linear"}, {"bandwidth": 0.01}]
)
def test_nowhere_else_is_there_a_second_look(more):
    assert prepared(spike(3), **more).plan.looks is None


def test_there_is_none_beside_stated_atoms():
    domain = Domain(None, (0, 1), atoms=[0])
    assert PrivateDensity(1, domain=domain).prepare(spike(3)).plan.looks is None


def test_a_narrow_spike_is_seen():
    """Squared distance from the law, of a release and of the same counts without their parts."""
    at = (np.arange(2000) + 0.5) / 2000
    true = 0.8 + 0.2 * stats.norm(0.613, 0.0005).pdf(at)
    far = []
    for seed in range(10):
        release = simulate_density(prepared(spike(30 + seed)), np.random.default_rng(seed))
        far.append(
            [np.mean((made(at) - true) ** 2) for made in (release, replace(release, inside=None))]
        )
        assert release.integral() == pytest.approx(1)
        assert release.node_values.min() >= 0
    assert np.mean(far, axis=0)[0] < np.mean(far, axis=0)[1] / 9


def test_a_wide_peak_keeps_its_form():
    generator = np.random.default_rng(5)
    points = np.where(generator.random(10_000) < 0.2, generator.normal(0.6, 0.006, 10_000), even(6))
    release = simulate_density(prepared(points), generator)
    assert release.inside is not None
    smooth = replace(release, inside=None).node_values
    far = np.sqrt(np.mean((release.node_values - smooth) ** 2))
    assert far < 0.15 * np.sqrt(np.mean((smooth - 1) ** 2))


def test_the_band_holds_shares_of_parts():
    """At 95 %: fewer than 32 of 40 is a chance of 1 in 10,000 at most."""
    held, narrower = [], []
    for seed in range(40):
        points = spike(80 + seed)
        release = simulate_density(prepared(points), np.random.default_rng(seed))
        inside = release.inside
        edges = edges_of(release, inside.parts)
        at = (edges[1:] + edges[:-1]) / 2
        own, cells = (
            np.histogram(points, ends)[0] / points.size / np.diff(ends)
            for ends in (edges, edges_of(release))
        )
        cells = np.repeat(cells, inside.parts)
        divided = np.isin(np.arange(at.size) // inside.parts, inside.cells)
        band = release.band(points=at)
        held.append(band.contains(np.where(divided, own, cells)))
        # The share of the whole cell does not lie in it.
        narrower.append(not band.contains(cells))
    assert sum(held) >= 32
    assert sum(narrower) >= 32


def test_it_is_kept_in_a_file_and_read_again(tmp_path):
    release = PrivateDensity(1, domain=(0, 1)).fit(spike(7)).release_
    path = release.save(tmp_path / "spike.json")
    again = dpfda.load(path)
    assert again.inside.cells == release.inside.cells
    np.testing.assert_array_equal(again.node_values, release.node_values)
    assert f"divided into {release.inside.parts}" in release.facts.lines()["peak"]

    def refused(change):
        written = json.loads(path.read_text())
        change(written["inside"])
        other = tmp_path / "other.json"
        other.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            dpfda.load(other)

    refused(lambda inside: inside["noise"].update(scale=round(inside["noise"]["scale"] / math.sqrt(2))))
    refused(lambda inside: inside.update(inside_cells=[10**6]))
    refused(lambda inside: inside.update(inside_cells=[]))
    refused(lambda inside: inside.update(inside_cells=[5, 5]))
    refused(lambda inside: inside.update(inside_cells=[-1]))
    # Units that count for less would have cost less.
    refused(lambda inside: inside.update(exponent=19))
    refused(lambda inside: inside.update(public_size=5000))


def test_a_look_is_of_a_plan_that_says_so():
    plan = PrivateDensity(1, domain=(0, 1)).plan(10_000)
    assert "parts of those that show peaks" in plan.functions
    law = KNormNoise.equal(3, 2 * UNIT)
    looks = [SecondLook.of(2 * UNIT, size, law, PureDP(1)) for size in (500, 3000, 90_000)]
    assert [look.share for look in looks] == [Fraction(1, 8), Fraction(1, 12), Fraction(1, 16)]
    assert looks[0].both == TwiceLaplace(3, 2 * UNIT, -(-16 * UNIT // 7))


@pytest.mark.parametrize("scale", ["zoom", "linear"])
def test_cells_that_floats_cannot_make_equal_are_refused_before_anything_is_charged(scale):
    """Also where whether they are needed follows from a private choice."""
    far = PrivateDensity(1, domain=(2.0**20, 2.0**20 + 1), scale=scale, cells=300)
    with pytest.raises(ParameterError, match="be equally spaced"):
        far.prepare(2.0**20 + even(8))
    assert PrivateDensity(1, domain=(0, 1), scale=scale, cells=300).plan(10_000).cells.size == 300


@pytest.mark.parametrize("beside", [0, 1])
def test_values_at_ends_of_cells_lie_in_parts_of_their_cells(beside):
    """Ends of 300 equal cells and of 1800 differ in their last digit."""
    ends, fine = np.linspace(0, 1, 301), np.linspace(0, 1, 1801)[::6]
    differ = np.flatnonzero(ends != fine)
    at = differ[differ.size // 2]
    points = np.where(np.random.default_rng(9).random(10_000) < 0.3, (ends, fine)[beside][at], even(9))
    made = prepared(points, scale="zoom", cells=300)
    plan = made.plan
    looked = [look.both for look in plan.looks]

    def draw(law):
        return [0] * law.components * (2 if law in looked else 1)

    release = plan.of_units(made.total, plan.certified(), draw)
    assert release.scale is None
    inside = release.inside
    held = np.array(inside.noisy).reshape(-1, inside.parts).sum(axis=1)
    assert held.tolist() == [release.raw.noisy_counts[cell] for cell in inside.cells]
    assert max(held) > 3000 * UNIT * 0.9


@pytest.mark.parametrize("near", [False, True])
def test_pictures_tables_and_words_show_parts_that_were_counted(near):
    points = spike(12) / (64 if near else 1)
    release = simulate_density(prepared(points), np.random.default_rng(12))
    assert (release.scale is not None) == near
    edges = edges_of(release, release.inside.parts)
    middles = (edges[1:] + edges[:-1]) / 2
    divided = np.isin(np.arange(middles.size) // release.inside.parts, release.inside.cells)
    (line,) = release.view().lines
    table = release.table().columns
    for at in (line.points, table["point"], np.ravel(release.band().points)):
        assert np.isin(middles[divided], at).all()
    assert line.values.max() == table["value"].max() == release(middles).max()
    fact = release.facts.bands[0]
    band = release.band()
    assert fact.largest == np.max(np.maximum(line.values - band.lower, band.upper - line.values))
    # Means are over points that are even, not most of them in the peak.
    assert fact.typical < fact.largest / 20
    said = " ".join(release.describe().split())
    assert "In divided cells the band is for the share of each part, over its size" in said
    assert "narrower than a cell are" not in said
