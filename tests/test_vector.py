"""Curves with several values at every point: one budget, one charge, one function."""

import warnings
from dataclasses import replace
from fractions import Fraction

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

from dpfda import PrivateMean, PrivateVectorMean, Reading, load
from dpfda.bases import BoxBasis, CosineBasis
from dpfda.bases.ordinary import ordinary_curves
from dpfda.errors import BudgetError, DataError, DpfdaError, ParameterError
from dpfda.estimates.box_law import constant_evidence
from dpfda.mean.settings import TwoLooks
from dpfda.mean.vector.estimator import summed_together
from dpfda.mean.vector.together import OneDraw, equal_share, gaussian_share, publish_in_one_draw
from dpfda.noise import (
    BoxNoise,
    BoxPartNoise,
    GaussianNoise,
    achieved_guarantee,
    gaussian_ratio,
    parts_of,
)
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication import Prepared
from dpfda.testing import check_release
from sample_releases import KINDS, certificate_of
from statistical import fits_only_at_its_scale, normal_only_at_its_scale

with warnings.catch_warnings():
    # Of packages below it.
    warnings.simplefilter("ignore")
    skfda = pytest.importorskip("skfda")

RNG = np.random.default_rng(2)
GRID = np.linspace(0, 1, 15)
PATHS = np.stack([np.sin(3 * GRID), np.cos(3 * GRID), GRID], axis=-1) + RNG.uniform(
    -0.2, 0.2, size=(60, 1, 3)
)
BOUNDS = [(-1.5, 1.5), (-2, 2), (-0.5, 1.5)]
NAMES = ["x", "y", "z"]


def vector(epsilon=3.0, **parameters):
    return PrivateVectorMean(epsilon, **{"bounds": BOUNDS, "channels": NAMES, **parameters})


@pytest.mark.parametrize(
    "whole",
    [PureDP(1), ApproximateDP(1, "1e-6"), ZeroConcentratedDP("0.3")],
)
def test_shares_add_up_exactly(whole):
    assert added([equal_share(whole, 7)] * 7) == whole


class TestGuarantee:
    def test_each_channel_has_the_noise_of_its_share_where_noise_is_not_of_a_box(self):
        release = vector(epsilon=None, rho=Fraction(3, 4), mechanism="gaussian").fit(PATHS).release_
        share = {"epsilon": None, "rho": Fraction(1, 4), "mechanism": "gaussian"}
        for name, bound, channel in zip(NAMES, BOUNDS, np.moveaxis(PATHS, 2, 0), strict=True):
            alone = PrivateMean(**share, bounds=bound).fit(channel).release_
            assert release[name].noise == alone.noise
            assert release[name].guarantee == alone.guarantee
        assert release.guarantee == added([release[name].guarantee for name in NAMES])
        assert release.guarantee == ZeroConcentratedDP("3/4")

    def test_one_box_hides_all_channels(self):
        release = vector(2).fit(PATHS).release_
        sizes = [release[name].noise.components for name in NAMES]
        assert release.guarantee == release["x"].guarantee == PureDP(2)
        for name, (lower, upper) in zip(NAMES, BOUNDS, strict=True):
            noise, cells = release[name].noise, np.array(release[name].hierarchy.cells)
            # All of epsilon, on the sums over cells of a curve that moves between its bounds.
            sides = cells * (upper - lower) * 2.0 ** release[name].exponent
            np.testing.assert_allclose(noise.scales, sides / 2, rtol=1e-6)
            assert noise.whole == sum(sizes)
            # Less noise than a third of epsilon for the channel alone.
            alone = BoxNoise(tuple(3 * scale for scale in noise.scales))
            assert np.all(noise.variances() < alone.variances())

    def test_a_delta_that_the_box_leaves_takes_nothing_from_bands(self):
        pure, spent = (
            PrivateVectorMean(1, delta, bounds=(0, 1), channels=NAMES).plan(300, 40)
            for delta in (0, "1e-6")
        )
        assert spent.draw.noise == pure.draw.noise
        assert spent.costs() == pure.costs()
        assert [each.distance.law for each in spent.parts.values()] == [
            each.distance.law for each in pure.parts.values()
        ]
        assert spent.band() == pytest.approx(pure.band())
        # Where one Gaussian hides all, nothing is set aside for a distance that none measures.
        normal = PrivateVectorMean(1, 0.1, bounds=(0, 1), channels=NAMES).plan(300, 40)
        assert all(part.distance is None for part in normal.parts.values())

    def test_the_noise_of_all_channels_is_one_draw_of_the_stated_scale(self):
        fitted = PrivateVectorMean(1.0, bounds=[(0, 1), (0, 1)])
        zeros, farthest = np.full((30, 4, 2), 0.5), []
        for _ in range(180):
            release = fitted.fit(zeros).release_
            parts = [release[name] for name in release.names]
            noisy = [np.array(part.noisy_sum) / np.array(part.noise.scales) for part in parts]
            farthest.append(max(abs(each).max() for each in noisy))
        law = stats.gamma(sum(part.noise.components for part in parts))
        assert fits_only_at_its_scale(farthest, law.cdf)

    def test_what_the_box_costs_is_recomputed(self):
        plans = {name: PrivateMean(1.0, bounds=(0, 1)).prepare(PATHS[..., 0] / 9).plan for name in "ab"}
        draw = OneDraw.best(plans, PureDP(2))
        cut = replace(draw, noise=BoxNoise(tuple(int(scale / 1.001) for scale in draw.noise.scales)))
        with pytest.raises(DpfdaError, match="which is more than"):
            cut.costs()
        with pytest.raises(DpfdaError, match="which is more than"):
            publish_in_one_draw({}, cut, certificate_of(PureDP(2)), {})
        assert OneDraw.best(plans, ZeroConcentratedDP(2)) is None
        assert OneDraw.best({"a": plans["a"]}, PureDP(2)) is None

    def test_two_parts_of_one_draw_cost_it_once(self):
        release = vector(3).fit(PATHS).release_
        assert compose([release["x"], release["y"]]) == PureDP(3)

    def test_a_private_number_of_units_has_shares(self):
        release = vector(unit="person", neighbours="add-remove").fit(PATHS).release_
        assert release["x"].guarantee == PureDP(1)
        assert release.guarantee == PureDP(3)

    def test_one_charge_pays_for_all(self):
        ledger = MemoryLedger()
        ledger.create("paths", PureDP(3), unit="record")
        release = vector(ledger=ledger.of("paths")).fit(PATHS).release_
        assert release.certificate.stages == ("all together",)
        with pytest.raises(BudgetError):
            vector(0.01, ledger=ledger.of("paths")).fit(PATHS)

    def test_sums_are_those_of_the_channels(self):
        release = vector(1e7).fit(PATHS).release_
        np.testing.assert_allclose(release(GRID), PATHS.mean(axis=0), rtol=0, atol=1e-2)
        assert release(0.5).shape == (3,)

    def test_units(self):
        release = vector().fit(PATHS, groups=np.arange(60) // 2).release_
        assert release.public_units == 30
        assert release.unit == "group"


class TestOneGaussian:
    """With a delta: the exact profile at the length by which one unit moves all channels."""

    EPSILON, DELTA = 1.0, 1e-6

    def released(self, **parameters):
        asked = {"bounds": [(0, 1), (-3, 5)], "mechanism": "gaussian", **parameters}
        return PrivateVectorMean(self.EPSILON, self.DELTA, **asked).fit(PATHS[..., :2]).release_

    def profile(self, mu):
        """By scipy, in floats."""
        upper, lower = mu / 2 - self.EPSILON / mu, -mu / 2 - self.EPSILON / mu
        return stats.norm.cdf(upper) - np.exp(self.EPSILON) * stats.norm.cdf(lower)

    def test_a_unit_that_moves_everything_spends_delta_and_no_more(self):
        """Measured on two neighbouring data sets, not on the sensitivity that the design states."""
        release, squares = self.released(), 0.0
        for name, bounds in zip(release.names, [(0, 1), (-3, 5)], strict=True):
            sums = []
            for end in bounds:
                curves = np.full((60, 15), float(np.mean(bounds)))
                curves[7] = end
                made = PrivateMean(rho=1, bounds=bounds, mechanism="gaussian").prepare(curves)
                sums.append(made.total.with_noise([0] * release[name].noise.components))
            moved = np.subtract(*sums) / np.array(release[name].noise.scales, dtype=float)
            squares += moved @ moved
        assert 0.97e-6 < self.profile(np.sqrt(squares)) <= 1e-6
        # So a scale that is wrong by the root of two either way would show.
        assert self.profile(np.sqrt(squares * 2)) > 2e-6
        assert self.profile(np.sqrt(squares / 2)) < 0.5e-6

    def test_scales_are_those_of_the_profile(self):
        release = self.released()
        assert release.guarantee == release["1"].guarantee == ApproximateDP(1, "1e-6")
        assert 0.999e-6 < release.certificate.achieved.delta <= Fraction("1e-6")
        assert compose([release["1"], release["2"]]) == release.guarantee
        plans = PrivateVectorMean(1, 1e-6, bounds=(0, 1)).plan(4000, 90, channels=2).shares
        draw = OneDraw.of_gaussian(plans, ApproximateDP(1, "1e-6"))
        for factor in (0.999, np.sqrt(0.5)):
            cut = type(draw.noise)(tuple(int(scale * factor) for scale in draw.noise.scales))
            with pytest.raises(DpfdaError, match="which is more than"):
                replace(draw, noise=cut).achieved()
        wide = type(draw.noise)(tuple(int(scale * np.sqrt(2)) for scale in draw.noise.scales))
        assert replace(draw, noise=wide).achieved().delta < 1e-8

    def test_the_noise_is_drawn_at_these_scales(self):
        release = self.released()
        made = PrivateMean(rho=1, bounds=(-3, 5), mechanism="gaussian").prepare(PATHS[..., 1])
        exact = np.array(made.total.with_noise([0] * release["2"].noise.components), dtype=float)
        draws = [
            (np.array(made["2"].noisy_sum, dtype=float) - exact)
            / np.array(made["2"].noise.scales, dtype=float)
            for made in (self.released() for _ in range(80))
        ]
        assert normal_only_at_its_scale(np.concatenate(draws))

    @pytest.mark.parametrize("channels", [2, 3, 10])
    @pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-8"), ("1", "1e-6"), ("6", "1e-3")])
    def test_shares_never_have_less_noise(self, channels, epsilon, delta):
        whole = ApproximateDP(epsilon, delta)
        together = gaussian_ratio(gaussian_share(whole, channels))
        assert together > gaussian_ratio(equal_share(whole, channels)) * Fraction(105, 100)

    def test_under_rho_shares_are_one_gaussian(self):
        rho = ZeroConcentratedDP("0.3")
        mu = gaussian_ratio(rho)
        share = gaussian_ratio(equal_share(rho, 3))
        assert 3 * share**2 == pytest.approx(mu**2, rel=1e-12)

    def test_the_law_is_chosen_by_public_numbers(self):
        """Few cells have a box, many one Gaussian; no delta is charged for the box."""
        found = {}
        for n in (200, 40_000):
            plans = PrivateVectorMean(1, 1e-6, bounds=(0, 1)).plan(n, 90, channels=2).shares
            found[n] = OneDraw.best(plans, ApproximateDP(1, "1e-6"))
        assert isinstance(found[200].noise, BoxNoise)
        assert found[200].achieved() == PureDP(1)
        assert isinstance(found[40_000].noise, GaussianNoise)

    def test_what_is_not_clipped_on_the_grid_has_shares(self):
        from dpfda.bounds import L1Ball

        release = vector(delta=1e-6, bounds=[L1Ball(1.0)] * 3, mechanism="gaussian")
        release = release.fit(PATHS).release_
        assert len(release.certificate.stages) == 3
        assert release.guarantee == ApproximateDP(3, "1e-6")


# Who asks for what: one box, one Gaussian, shares of each kind, numbers public and private.
ASKED = {
    "box": {},
    "box, delta": {"epsilon": 1.0, "delta": 1e-6},
    "gaussian": {"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian"},
    "rho": {"epsilon": None, "rho": 0.5},
    "laplace": {"mechanism": "laplace"},
    "lattice": {"mechanism": "bernstein"},
    "public size": {"neighbours": "add-remove", "public_size": 60},
    "private number": {"neighbours": "add-remove"},
}


AGAIN = {name: ASKED[name] for name in ("box", "box, delta", "gaussian", "rho", "private number")}


def some_of(asked, *names):
    """In every run one of each road: one draw of either law, shares, a private number; in others all."""
    return [
        pytest.param(each, id=name, marks=() if name in names else pytest.mark.thorough)
        for name, each in asked.items()
    ]


class TestPlan:
    @pytest.mark.parametrize("asked", some_of(ASKED, "box", "gaussian", "rho", "private number"))
    def test_fit_publishes_what_was_planned(self, asked):
        ledger, fitted = MemoryLedger(), vector(**asked)
        plan = fitted.plan(60, 15)
        ledger.create("paths", plan.certified().guarantee, neighbours=plan.neighbours, unit=plan.unit)
        release = fitted.set_params(ledger=ledger.of("paths")).fit(PATHS).release_
        planned, found = plan.certified(), release.certificate
        # The costs, which hold the laws of the noise, stage by stage.
        assert (planned.stages, planned.costs) == (found.stages, found.costs)
        assert (planned.guarantee, planned.unit) == (found.guarantee, found.unit)
        assert (planned.bound, planned.mechanism) == (found.bound, found.mechanism)
        assert plan.entry().items() <= ledger.history("paths")[-1].details.items()
        if plan.size is not None:
            assert {name: part.planned.noise for name, part in plan.parts.items()} == {
                name: release[name].noise for name in NAMES
            }
        prepared = fitted.prepare(PATHS)
        assert str(prepared.plan) == str(plan) or plan.size is None
        assert "content private" in repr(prepared)

    def test_it_says_whether_one_draw_hides_all(self):
        draws = {name: vector(**asked).plan(60, 15).draw for name, asked in ASKED.items()}
        apart = {"rho", "laplace", "lattice", "private number"}
        assert {name for name, draw in draws.items() if draw is None} == apart
        assert isinstance(draws["box, delta"].noise, BoxNoise)
        assert isinstance(draws["gaussian"].noise, GaussianNoise)
        said = [str(vector(**ASKED[name]).plan(60, 15)) for name in ("box", "gaussian", "rho")]
        assert "cells, one draw for all channels: K-norm noise of a box on" in said[0]
        assert "gaussian, one draw for all channels: Gaussian noise on 45 coefficients" in said[1]
        assert "gaussian, with an equal share of the budget for each channel: Gaussian" in said[2]
        assert all("bound:      x: values clipped to [-1.5, 1.5]; y: " in text for text in said)

    @pytest.mark.parametrize(
        ("asked", "fits"),
        [
            ({"epsilon": 2.0, "mechanism": "laplace"}, 120),
            ({"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian"}, 60),
        ],
        ids=["shares", "one gaussian"],
    )
    def test_expected_errors_are_those_of_releases(self, asked, fits):
        """Of means in the middle of the bounds, whose errors are noise, through a linear estimate.

        With 10 coefficients a release the root mean square is within 3.2 per cent of its expectation
        (Laplace noise; 2 of normal noise): a false alarm once in 10^7, and wrong by sqrt(2) is found.
        """
        basis, bounds = CosineBasis.on_grid(5, GRID), [(0, 1), (0, 10)]
        fitted = PrivateVectorMean(**asked, bounds=bounds, basis=basis)
        plan, middle = fitted.plan(400, GRID), np.full((400, 15, 2), 0.5) * [1, 10]
        assert (plan.draw is None) == (asked["mechanism"] == "laplace")
        wrong = np.square([fitted.fit(middle).release_(GRID) - middle[0] for _ in range(fits)])
        squares = basis.weights @ wrong.mean(axis=0)
        expected = np.square(list(plan.errors.values()))
        assert np.sqrt(np.mean(squares / expected)) == pytest.approx(1, abs=0.18)
        # Channels are alike but for their units; the whole is the distance of vectors.
        assert expected[1] / expected[0] == pytest.approx(100)
        assert plan.error == pytest.approx(np.sqrt(expected.sum()))
        assert np.sqrt(squares.sum()) == pytest.approx(plan.error, rel=0.25)

    def test_expected_errors_under_one_box_are_those_of_releases(self):
        """Of the first ordinary curves: errors of a release have a deviation of about .3 of their mean,
        and the geometric mean over 24 curves, two releases each, one of 5 per cent; .22 is four."""
        fitted, grid = PrivateVectorMean(1.0, bounds=[(0, 1), (0, 10)]), np.linspace(0, 1, 24)
        plan, logs = fitted.plan(2000, grid), []
        for curve in ordinary_curves(grid, 24):
            mean = curve[:, None] * [1, 10]
            paths = np.repeat(mean[None], 2000, axis=0)
            wrong = [fitted.fit(paths).release_(grid) - mean for _ in range(2)]
            logs.append(np.log(np.mean(np.square(wrong), axis=(0, 1))) / 2)
        found = np.exp(np.mean(logs, axis=0))
        np.testing.assert_allclose(found / list(plan.errors.values()), 1, atol=0.22)

    def test_one_box_is_as_exact_as_a_channel_alone_at_the_epsilon_of_its_variances(self):
        plan = PrivateVectorMean(1.0, bounds=(0, 1)).plan(2000, 24, channels=2)
        own, whole = plan.one.planned.components, plan.draw.noise.components
        epsilon = np.sqrt((own + 1) * (own + 2) / ((whole + 1) * (whole + 2)))
        alone = PrivateMean(float(epsilon), bounds=(0, 1)).plan(2000, 24)
        assert alone.planned.components == own
        assert plan.errors["1"] == pytest.approx(alone.error, rel=0.03)
        assert plan.error == pytest.approx(np.sqrt(2) * alone.error, rel=0.03)
        # As with more than half of epsilon each.
        assert epsilon > 0.51
        assert plan.error < 1.01 * np.sqrt(2) * PrivateMean(0.5, bounds=(0, 1)).plan(2000, 24).error

    @pytest.mark.parametrize("asked", some_of(AGAIN, "box", "gaussian", "private number"))
    def test_it_is_made_again_as_the_estimator_would_make_it(self, asked):
        plan = vector(**asked).plan(60, 15)
        term = "rho" if "rho" in asked else "epsilon"
        twice = {**asked, term: 2 * asked.get(term, 3.0)}
        other, again = vector(**twice).plan(4000, 15), plan.at(n=4000)
        again = again.at(guarantee=other.guarantee) if term == "rho" else again.at(epsilon=twice[term])
        assert (again.costs(), again.error) == (other.costs(), other.error)
        assert again.n == 4000
        assert again.error < plan.error
        wanted = plan.error / 2
        units = plan.least_n(error=wanted)
        assert plan.at(n=units).error_for_most <= wanted
        assert plan.at(n=int(units / 1.1)).error_for_most > wanted

    def test_least_epsilon_and_bands(self):
        plan = vector().plan(500, 15)
        least = plan.least_epsilon(error=plan.error / 3)
        assert plan.at(epsilon=least).error_for_most <= plan.error / 3
        assert plan.at(epsilon=least / 1.1).error_for_most > plan.error / 3
        bands = plan.bands(0.9)
        assert plan.band(0.9) == max(bands.values()) == bands["y"]
        # All hold together: each is its channel's own at a third of the chance to fail.
        assert bands["x"] == plan.parts["x"].band(1 - 0.1 / 3)
        release = vector().fit(np.repeat(PATHS, 9, axis=0)[:500]).release_
        for name, band in release.bands(0.9).items():
            found = float(np.mean(band.upper - band.lower)) / 2
            assert bands[name] == pytest.approx(found, rel=0.3)

    def test_the_size_that_a_private_number_is_expected_to_be_is_in_no_plan_of_fit(self):
        asked = vector(neighbours="add-remove")
        plan = asked.plan(400, 15)
        assert (plan.size, plan.n) == (None, 400)
        assert plan.error > plan.at(n=4000).error > 0
        some, fewer = (asked.prepare(each).plan for each in (PATHS, PATHS[:41]))
        assert some.n is some.error is some.band() is None
        assert str(some) == str(fewer)

    def test_channels_are_those_stated(self):
        bare = PrivateVectorMean(1.0, bounds=(0, 1))
        assert list(bare.plan(50, 15, channels=2).errors) == ["1", "2"]
        assert list(bare.plan(50, 15, channels=["a", "b"]).errors) == ["a", "b"]
        assert list(PrivateVectorMean(1.0, bounds=BOUNDS).plan(50, 15).errors) == ["1", "2", "3"]
        for channels in (None, 3, NAMES):
            assert list(vector().plan(50, 15, channels=channels).errors) == NAMES
        one = bare.plan(50, 15, channels=1)
        assert one.error == PrivateMean(1.0, bounds=(0, 1)).plan(50, 15).error

    @pytest.mark.parametrize(
        ("asked", "channels", "words"),
        [
            ({"channels": None, "bounds": (0, 1)}, None, "neither names nor bounds say how many"),
            ({"channels": None, "bounds": (0, 1)}, 0, "channels must be an integer from 1 to 10000"),
            ({"channels": None, "bounds": (0, 1)}, "ab", "channels must be an integer"),
            ({"channels": None, "bounds": (0, 1)}, ["a", "a"], "2 different names"),
            ({"bounds": (0, 1)}, 2, "2 different names"),
            ({"bounds": (0, 1)}, ["z", "y", "x"], "be those stated"),
            ({"bounds": BOUNDS[:2]}, None, r"one a channel \(3\)"),
            ({"mechanism": TwoLooks()}, None, "have one look for several channels"),
            ({"missing": "pooled"}, None, "be 'refuse' or 'complete' for several channels"),
            ({"ledger": 3}, None, "ledger must be that of a data set"),
            ({"bounds": None}, None, "bounds must be"),
            ({"epsilon": -1.0}, None, "epsilon must"),
        ],
    )
    def test_what_cannot_be_planned_is_refused_in_words(self, asked, channels, words):
        with pytest.raises(ParameterError, match=words):
            vector(**asked).plan(50, 15, channels=channels)

    def test_a_part_of_one_draw_is_no_plan_by_itself(self):
        plan = vector().plan(50, 15)
        with pytest.raises(
            ParameterError, match="be that of all functions whose noise is drawn at once"
        ):
            plan.parts["x"].at(n=100)
        # A share is.
        assert vector(mechanism="laplace").plan(50, 15).parts["x"].at(n=100).n == 100

    def test_it_tells_its_channels_and_no_label_of_one_alone(self):
        plan = vector().plan(500, 15)
        told = plan.to_json()
        assert told["errors"] == plan.errors
        assert told["bands"] == plan.bands()
        assert "of the 90% bands that hold together, of the widest" in plan.describe(0.9)
        assert told["summary"] == "mean curve with 3 values"
        assert plan.scale == (np.sqrt(3**2 + 4**2 + 2**2), "the distance between the bounds")
        from dpfda.bounds import L2Ball

        mixed = vector(bounds=[(-1, 1), L2Ball(1.0), (0, 1)]).plan(500, 15)
        assert mixed.scale is None
        assert mixed.error > 0


class TestRelease:
    @pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
    def test_it_is_a_release_like_others(self, neighbours, tmp_path):
        release = vector(neighbours=neighbours).fit(PATHS).release_
        check_release(release)
        again = load(release.save(tmp_path / "paths.json"))
        assert np.array_equal(again(GRID), release(GRID))
        assert again.names == ("x", "y", "z")

    def test_bands_hold_together(self):
        release = vector().fit(PATHS).release_
        for name, band in release.bands(0.94).items():
            alone = release[name].band(0.98)
            np.testing.assert_allclose(band.upper, alone.upper, atol=0.1)
            assert np.all(band.lower <= release[name](band.points))
        (line, *others) = release.view().lines
        assert [line.label, *(other.label for other in others)] == NAMES
        assert line.band == others[0].band

    def test_it_says_what_noise_each_channel_has(self):
        box, shares = (vector(**by).fit(PATHS).release_ for by in ({}, {"epsilon": None, "rho": 1.0}))
        cells = box["y"].noise.components
        whole = box["y"].noise.whole
        said = f"y: cells: K-norm noise of a box of {whole} sides on {cells} coefficients;"
        assert said in str(box)
        assert "mechanism:    x: gaussian: Gaussian noise on" in str(shares)

    def test_levels_and_bases_that_are_none_are_refused_in_words(self):
        release = vector().fit(PATHS).release_
        for asked in (release.bands, release.table, release.view):
            with pytest.raises(ParameterError, match="level"):
                asked(level="half")
        with pytest.raises(ParameterError, match="simultaneous must be"):
            release.table(simultaneous=np.ones(3))
        basis = skfda.representation.basis.MonomialBasis(n_basis=4)
        with pytest.raises(ParameterError, match=r"with 3 value\(s\); found 1. For several values"):
            release.to_basis(basis)
        # Without noise to speak of it is the curve itself.
        both = skfda.representation.basis.VectorValuedBasis([basis] * 3)
        smooth = vector(1e7).fit(PATHS).release_.to_basis(both)(GRID)[0]
        np.testing.assert_allclose(smooth, PATHS.mean(axis=0), atol=0.05)

    def test_parts_of_other_releases_are_refused(self):
        one, other = (vector().fit(PATHS).release_ for _ in range(2))
        with pytest.raises(ParameterError, match="be released together"):
            type(one)({**one.means, "x": other["x"]}, one.certificate)


class TestDoors:
    def test_functional_data_in_and_out(self):
        data = skfda.FDataGrid(PATHS, 10 * GRID, coordinate_names=NAMES, argument_names=["time"])
        fitted = PrivateVectorMean(1e7, bounds=(-2, 2)).fit(data)
        release = fitted.release_
        assert release.names == ("x", "y", "z")
        assert release.domain_range == (0, 10)
        out = release.to_fdatagrid()
        assert out.data_matrix.shape == (1, 15, 3)
        assert out.coordinate_names == ("x", "y", "z")
        assert out.argument_names == ("time",)
        # A picture of all does not bear the name of the first.
        assert release.view().y_label == "value"
        assert release["y"].view().y_label == "y"
        np.testing.assert_allclose(out.data_matrix, data.mean().data_matrix, rtol=0, atol=1e-2)

    @pytest.mark.parametrize(
        "paths",
        [
            xr.DataArray(PATHS, dims=("who", "t", "axis"), coords={"axis": NAMES}),
            {name: pd.DataFrame(PATHS[..., i]) for i, name in enumerate(NAMES)},
            {name: PATHS[..., i].tolist() for i, name in enumerate(NAMES)},
        ],
        ids=["labelled", "frames", "lists"],
    )
    def test_names_come_with_the_data(self, paths):
        release = PrivateVectorMean(1e7, bounds=BOUNDS).fit(paths).release_
        assert release.names == ("x", "y", "z")
        at = release.grid_points
        np.testing.assert_allclose(release(at), PATHS.mean(axis=0), rtol=0, atol=1e-2)

    def test_a_record_is_unusable_in_the_channel_where_it_is(self):
        lost = PATHS.copy()
        lost[0, 3, 1] = np.nan
        with pytest.raises(DataError, match="row 0, column 3"):
            vector().fit(lost)
        vector(reading=Reading(invalid="repair")).fit(lost)

    @pytest.mark.parametrize(
        ("paths", "parameters", "words"),
        [
            (PATHS[..., 0], {}, "curves, points, channels"),
            (PATHS, {"channels": ["x", "x", "y"]}, "3 different names"),
            (PATHS, {"bounds": BOUNDS[:2]}, "one a channel"),
            ({"x": PATHS[..., 0], "y": PATHS[1:, :, 1]}, {"channels": None}, "same records"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, paths, parameters, words):
        with pytest.raises((DataError, ParameterError), match=words):
            vector(**parameters).fit(paths)

    @pytest.mark.parametrize(
        ("paths", "parameters", "words"),
        [
            (
                {"x": PATHS[..., 0], "y": pd.DataFrame(PATHS[..., 1])},
                {},
                "on one domain; found 2 domains. State the domain",
            ),
            (PATHS, {"basis": BoxBasis.on_grid("cosine", (5, 3), [(0, 1)] * 2)}, "an interval"),
        ],
    )
    def test_what_would_be_no_release_is_refused_before_the_charge(self, paths, parameters, words):
        ledger, asked = MemoryLedger(), {"bounds": (-2, 2), "channels": None, **parameters}
        ledger.create("paths", PureDP(3), unit="record")
        with pytest.raises(ParameterError, match=words):
            vector(**asked, ledger=ledger.of("paths")).fit(paths)
        assert ledger.remaining("paths").values == (3,)
        if "basis" in asked:
            with pytest.raises(ParameterError, match=words):
                vector(**asked).plan(60, 15, channels=2)
        else:
            stated = vector(**asked, domain=(0, 14)).fit(paths).release_
            assert stated.domain_range == (0, 14)


def test_a_table_has_the_band_of_every_channel():
    release = KINDS["several values"]()
    table = release.table(level=0.9).columns
    for name, band in release.bands(0.9).items():
        at = np.searchsorted(band.points, table["point"])
        np.testing.assert_allclose(table[f"{name}, lower"], band.lower[at])
        assert (table[f"{name}, lower"] < table[name]).all()
        assert (table[name] < table[f"{name}, upper"]).all()


class TestPartOfABox:
    def test_it_is_what_is_seen_of_a_draw_of_the_box(self):
        box = BoxNoise((40, 70, 20, 50, 60))
        first, second = parts_of(box, (2, 3))
        assert (first, second) == (BoxPartNoise((40, 70), 5), BoxPartNoise((20, 50, 60), 5))
        generator = np.random.default_rng(5)
        whole = box.simulate(generator, 20_000)
        for part, seen in ((first, whole[:, :2]), (second, whole[:, 2:])):
            apart = np.array([part.draw() for _ in range(2000)])
            for found in (apart, part.simulate(generator, 20_000)):
                sizes = [abs(points / np.array(part.scales)).max(axis=1) for points in (found, seen)]
                assert stats.ks_2samp(*sizes).pvalue > 1e-5
                assert stats.ks_2samp(sizes[0] * np.sqrt(2), sizes[1]).pvalue < 1e-5

    def test_its_loss_is_that_of_its_own_coordinates(self):
        noise = BoxPartNoise((40, 70), 5)
        assert achieved_guarantee(noise, "box", (30, 70), PureDP(1)) == PureDP(1)
        assert achieved_guarantee(noise, "box", (60, 70), PureDP(2)) == PureDP("3/2")

    def test_sizes_must_fit(self):
        with pytest.raises(ParameterError, match="sizes must add up to 3; found 2"):
            parts_of(BoxNoise((1, 2, 3)), (1, 1))
        with pytest.raises(ParameterError, match="whole must be an integer from 2"):
            BoxPartNoise((4, 5), 1)

    def test_a_constant_is_weighed_by_the_law_of_its_cells(self):
        """The evidence by quadrature over levels, of the density by quadrature over lengths."""
        cells, whole, scale = 4, 7, 0.01
        levels = np.array([0.11, 0.1, 0.085, 0.095])
        deviation = scale * np.sqrt((whole + 1) * (whole + 2) / 3)

        def likelihood(level, noisy=levels):
            at = abs(noisy - level).max() / scale
            return integrate.quad(lambda r: r ** (whole - cells) * np.exp(-r), at, np.inf)[0]

        def found(noisy):
            return constant_evidence(noisy, deviation, whole)[0]

        made = np.log(integrate.quad(likelihood, -0.5, 0.7, points=[0.0975])[0])
        other = np.array([0.2, 0.1, 0.085, 0.095])
        against = np.log(integrate.quad(likelihood, -0.5, 0.7, args=(other,), points=[0.1425])[0])
        assert found(levels) - found(other) == pytest.approx(made - against, abs=1e-3)


class TestOnePass:
    """All channels of an array are read at once, to the integers of each read by itself."""

    @staticmethod
    def means(*bounds, **settings):
        return [PrivateMean(1.0, bounds=bound, **settings) for bound in bounds]

    @staticmethod
    def totals(prepared):
        return [made.total.with_noise([0] * made.plan.components()) for made in prepared]

    def test_dask_arrays_have_the_same_integers(self, monkeypatch):
        parts = da.from_array(PATHS, chunks=(17, 15, 2))
        labels = np.arange(60) // 2
        for groups in (None, labels):
            means = self.means(*BOUNDS)
            apart = [mean.prepare(PATHS[..., place], groups) for place, mean in enumerate(means)]
            split = [mean.prepare(parts[..., place], groups) for place, mean in enumerate(means)]
            assert self.totals(split) == self.totals(apart)
        # Block by block: they are never brought together.
        with monkeypatch.context() as patched:
            patched.setattr(da.Array, "compute", None)
            release = vector(1e7).fit(parts).release_
        np.testing.assert_allclose(release(GRID), PATHS.mean(axis=0), rtol=0, atol=1e-2)
        with pytest.raises(DataError, match="same records in every channel"):
            vector().fit({"x": parts[..., 0], "y": parts[1:, :, 1], "z": parts[..., 2]})

    def test_dask_arrays_with_more_points_than_cells_are_published_as_one_fit(self):
        """No channel measures how far its line is, and none pays for it."""
        generator = np.random.default_rng(3)
        X = generator.uniform(-1, 1, (400, 24, 2)) * 0.1
        split = da.from_array(X, chunks=(150, 24, 1))
        ledger = MemoryLedger().create("paths", PureDP(1))
        estimator = PrivateVectorMean(1.0, bounds=[(-1, 1), (-2, 2)], ledger=ledger.of("paths"))
        whole, parted = estimator.prepare(X), estimator.prepare(split)
        assert whole.plan.parts["1"].components() < 24
        for name, part in whole.plan.parts.items():
            apart = parted.plan.parts[name]
            assert apart.entry() == part.entry()
            zeros = [0] * part.components()
            assert parted.total[name].with_noise(zeros) == whole.total[name].with_noise(zeros)
        release = estimator.fit(split).release_
        assert ledger.spent("paths").values == (1,)
        assert (
            release.certificate.mechanism
            == PrivateVectorMean(1.0, bounds=[(-1, 1), (-2, 2)]).fit(X).release_.certificate.mechanism
        )
        mean = PrivateMean(1.0, bounds=(-1, 1))
        assert mean.prepare(split[..., 0]).plan.costs() == mean.prepare(X[..., 0]).plan.costs()

    @pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int8, ">f8"])
    @pytest.mark.parametrize("points", [2, 33, 700])
    def test_the_integers_are_those_of_each_channel_alone(self, kind, points):
        generator = np.random.default_rng(points)
        X = (generator.normal(size=(400, points, 3)) * [1, 3, 30]).astype(kind)
        means = self.means((-1, 1), (-1e-3, 5), (0, 2.0**40))
        made = summed_together(means, X)
        found = [Prepared(each.plan, each.total.total(each.plan)) for each in made]
        apart = [mean.prepare(X[:, :, place].copy()) for place, mean in enumerate(means)]
        assert self.totals(found) == self.totals(apart)
        assert [made.plan.entry() for made in found] == [made.plan.entry() for made in apart]
        assert len({made.plan.on_grid.rule.exponent for made in apart}) == 3

    @pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
    def test_a_value_that_is_none_spoils_its_own_channel_alone(self, wrong):
        X = PATHS.copy()
        X[7, 3, 1] = wrong
        means = self.means(*BOUNDS, reading=Reading(invalid="repair"))
        assert summed_together(means, X) is None
        with pytest.raises(DataError, match="row 7, column 3"):
            vector().fit(X)
        # Only the second channel counts record 7 as its bound's center.
        release = vector(epsilon=3e6, reading=Reading(invalid="repair")).fit(X).release_
        expected = PATHS.mean(axis=0)
        expected[:, 1] -= PATHS[7, :, 1] / len(X)
        np.testing.assert_allclose(release(GRID), expected, atol=1e-3)

    def test_what_is_not_clipped_value_by_value_is_read_channel_by_channel(self):
        from dpfda.bounds import L2Ball

        assert summed_together(self.means((-1, 1), L2Ball(1.0), (-1, 1)), PATHS) is None
        standardised = self.means(None, None, None, reading=Reading(standardize=True))
        assert summed_together(standardised, PATHS) is None
        completed = self.means(*BOUNDS, reading=Reading(missing="complete"))
        assert summed_together(completed, PATHS) is None
        assert summed_together(self.means(*BOUNDS), PATHS[:, :, ::-1]) is None
        assert summed_together(self.means(*BOUNDS), list(PATHS)) is None


@pytest.mark.parametrize(
    ("units", "legend", "among"),
    [
        (60, "bands meant to hold the means, 95%, all at once", True),
        (4000, "95% bands for the means, all at once", False),
    ],
)
def test_bands_say_what_they_are_for(units: int, legend: str, among: bool) -> None:
    curves = np.full((units, 24, 2), 0.4)
    release = PrivateVectorMean(1, bounds=(0, 1), channels=["x", "y"]).fit(curves).release_
    assert {line.band for line in release.view().lines} == {legend}
    assert ("releases of curves like ordinary ones" in release.describe().replace("\n", " ")) is among
    named = PrivateVectorMean(1, bounds=(0, 1), channels=["x", "y"], mechanism="laplace").fit(curves)
    assert {line.band for line in named.release_.view().lines} == {
        "95% bands for the privacy noise, all at once"
    }


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_plan_is_that_of_the_release(delta: float) -> None:
    mean = PrivateVectorMean(1, delta, bounds=(0, 1), channels=["x", "y"])
    planned, made = mean.plan(4000, 90), mean.prepare(np.full((4000, 90, 2), 0.4)).plan
    assert planned.costs() == made.costs()
    assert "largest distance" not in "".join(planned.costs())
    assert planned.draw is not None
    assert made.draw is not None
    assert planned.draw.noise == made.draw.noise


def test_bounds_by_name_are_refused_with_what_to_give() -> None:
    with pytest.raises(ParameterError, match="bounds must be a list, one a channel in the order"):
        PrivateVectorMean(1.0, bounds={"x": (0, 1), "y": (0, 2)}).fit(np.zeros((5, 3, 2)))
