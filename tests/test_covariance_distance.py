"""The largest distance of a covariance from that of its units: what moves it, its noise, its band."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpfda
from dpfda import PrivateCovariance, PrivateFPCA, PrivateMean
from dpfda.covariance.distance import (
    HEAVY,
    LARGEST,
    MOVED,
    ONE,
    PAIR,
    CovarianceDistance,
    cut_for,
    distance_noise,
    least_sum,
    measured_distance,
)
from dpfda.covariance.release import ROOM
from dpfda.covariance.strategies import Center, distance_share
from dpfda.errors import DpfdaError, ParameterError, StorageError
from dpfda.noise import KNormNoise
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.privacy.words import number
from dpfda.publication.distances import DISTANCE
from dpfda.spine.settings import PrivacyUnit
from statistical import FALSE_ALARM, lower_limit, upper_limit

QUIET = KNormNoise((1,), (1,))


def curves(count=400, seed=0, rough=0.0):
    generator = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 25)
    scores = generator.normal(size=(count, 2)) * [0.5, 0.2]
    made = scores @ [np.sin(np.pi * grid), np.cos(np.pi * grid)]
    return made + rough * generator.normal(size=made.shape)


def released(rows=None, **parameters):
    rows = curves() if rows is None else rows
    return PrivateCovariance(**{"epsilon": 1, "bounds": (-2, 2), **parameters}).fit(rows).release_


def exact(values, matrix, cut, usable=None, half=10.0):
    usable = np.ones(len(values), bool) if usable is None else usable
    half = np.full(len(matrix), half)
    return measured_distance(values, usable, half, matrix, cut, QUIET, 0).noisy


class TestWhatOneUnitMoves:
    @settings(max_examples=150, deadline=None)
    @given(st.integers(2, 12), st.integers(0, 10**6), st.booleans())
    def test_no_more_than_the_noise_is_scaled_to_whatever_the_units_and_the_matrix(
        self, count, seed, lost
    ):
        generator = np.random.default_rng(seed)
        values = generator.choice([-1.0, 0.3, 1.0], (count, 4))
        matrix = generator.normal(size=(4, 4))
        matrix = (matrix + matrix.T) / 2
        cut, other = float(generator.uniform(0.1, 2.0)), values.copy()
        other[0] = generator.choice([-1.0, 0.0, 1.0], 4)
        usable = np.ones(count, bool)
        there = usable.copy()
        there[0] = not lost
        apart = abs(exact(values, matrix, cut, usable) - exact(other, matrix, cut, there))
        assert apart <= MOVED

    def test_it_is_attained(self):
        # All others are at one place, wherever that is: one is as far as the cut lets it be.
        values = np.full((20, 2), 4.0)
        other = values.copy()
        other[0] = 9.0
        far = np.diag([1e4, 1e4])
        assert abs(exact(values, far, 1.0) - exact(other, far, 1.0)) == MOVED == ONE * LARGEST**2

    def test_pairs_of_points_move_it_by_no_more_though_they_are_told_less_finely(self):
        values = np.full((20, 2), 4.0)
        other = values.copy()
        other[0] = 9.0
        far = np.array([[1e4, 9e3], [9e3, 1e4]])
        assert abs(exact(values, far, 1.0) - exact(other, far, 1.0)) == PAIR * LARGEST**2 < MOVED

    def test_noise_is_laplace_of_that_over_the_share(self):
        (scale,) = distance_noise(PureDP(Fraction(1, 20))).scales
        assert scale == math.ceil(20 * MOVED)
        assert scale / math.sqrt(2) < 20 * MOVED < scale * math.sqrt(2)

    def test_a_scale_off_by_the_root_of_two_is_refused(self, monkeypatch):
        narrow = KNormNoise(
            (1,), (int(distance_noise(PureDP(Fraction(2, 25))).scales[0] / math.sqrt(2)),)
        )
        monkeypatch.setattr("dpfda.covariance.plan.distance_noise", lambda part: narrow)
        with pytest.raises(DpfdaError):
            PrivateCovariance(1, bounds=(-2, 2)).plan(403)

    def test_in_a_file_too(self, tmp_path):
        release = released()
        path = release.save(tmp_path / "c.json")
        written = json.loads(path.read_text())
        scales = written["largest_distance"]["noise"]["scales"]
        written["largest_distance"]["noise"]["scales"] = [int(scales[0] / math.sqrt(2))]
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            dpfda.load(path)


class TestWhatIsMeasured:
    def test_it_is_the_largest_at_points_and_at_pairs(self):
        values, cut = curves(30)[:, :5], 3.0
        for matrix in (np.eye(5) * 0.1, np.full((5, 5), 0.4)):
            apart = np.cov(values.T, bias=True) - matrix
            own = np.diag(apart)
            sides = [(own[:, None] + own) / 2 + sign * apart for sign in (1, -1)]
            pairs = max(np.abs(side[np.tril_indices(5, -1)]).max() for side in sides)
            largest = max(ONE * np.abs(own).max(), PAIR * pairs)
            assert exact(values, matrix, cut) / (30 * (LARGEST / cut) ** 2) == pytest.approx(
                largest, rel=0.03
            )

    @settings(max_examples=100, deadline=None)
    @given(st.integers(1, 30), st.integers(0, 10**6))
    def test_the_least_sum_is_the_least_over_all_integers(self, count, seed):
        generator = np.random.default_rng(seed)
        places = generator.integers(-900, 900, count)
        centers = np.arange(-1000, 1001)[:, None]
        least = np.minimum((places - centers) ** 2, LARGEST**2).sum(axis=1).min()
        assert least_sum(places.astype(float), 950.0) == least

    def test_it_is_charged_before_and_with_the_rest(self):
        ledger = MemoryLedger()
        ledger.create("scans", PureDP(1))
        release = released(ledger=ledger.of("scans"))
        assert release.certificate.stages[0] == DISTANCE
        assert release.certificate.costs[0].guarantee == PureDP(distance_share(Fraction(400)))
        assert sum(cost.guarantee.epsilon for cost in release.certificate.costs) == 1

    @pytest.mark.parametrize("size", [1e80, 1e-80])
    def test_units_in_which_it_is_no_float_are_refused_before_the_charge(self, size):
        ledger = MemoryLedger()
        ledger.create("scans", PureDP(1))
        with pytest.raises(ParameterError, match="long"):
            released(size * curves(), bounds=(-2 * size, 2 * size), ledger=ledger.of("scans"))
        assert ledger.remaining("scans").values == (1,)
        edge = 1e69 if size > 1 else 1e-69
        assert np.isfinite(released(edge * curves(), bounds=(-2 * edge, 2 * edge)).band().upper).all()

    @pytest.mark.parametrize(
        "parameters",
        [
            {"center": 0.0},
            {"center": "private", "unit": PrivacyUnit(neighbours="add-remove", public_size=400)},
            {"center": Center("pairs", radius=0.5)},
            {"bounds": dpfda.bounds.L2Ball(2.0)},
        ],
    )
    def test_it_is_told_where_a_radius_is_chosen_between_bounds_and_units_are_replaced(self, parameters):
        release = released(**parameters)
        assert release.distance is None
        assert release.band().level == 0.95
        with pytest.raises(ParameterError, match="noise"):
            release.band(of="sample")

    def test_components_do_not_pay_for_it(self):
        made = PrivateFPCA(1, bounds=(-2, 2)).fit(curves())
        assert DISTANCE not in made.release_.certificate.stages


class TestTheBand:
    def test_it_is_for_the_sample_by_default_and_holds_the_estimate(self):
        release = released()
        band, noise = release.band(), release.band(of="noise")
        assert np.all(band.lower >= 0)
        assert np.all(
            (band.lower <= release.variance(band.points)) & (release.variance(band.points) <= band.upper)
        )
        assert not np.array_equal(band.upper, noise.upper)
        np.testing.assert_array_equal(
            release.band(exact=True).upper, release.band(of="noise", exact=True).upper
        )

    def test_it_holds_where_curves_are_normal(self):
        """Meant for .95 of releases: limits of 120 that fail by chance as seldom as all tests here."""
        held = 0
        for seed in range(120):
            rows = np.clip(curves(600, seed, 0.05), -2, 2)
            release = released(rows)
            band = release.band()
            held += bool(np.all((band.lower <= rows.var(axis=0)) & (rows.var(axis=0) <= band.upper)))
        assert upper_limit(held, 120, FALSE_ALARM) >= 0.95
        assert lower_limit(held, 120, FALSE_ALARM) > 0.75

    def test_without_noise_to_speak_of_it_holds_what_functions_leave_out(self):
        rows = curves(500, rough=0.4)
        release = released(rows, epsilon=50)
        band, own = release.band(), rows.var(axis=0)
        assert np.all((band.lower <= own) & (own <= band.upper))
        # The noise's band holds it nowhere near.
        assert np.mean(own > release.band(of="noise").upper) > 0.6

    @pytest.mark.parametrize("parameters", [{}, {"center": "private"}])
    def test_it_holds_covariances_of_all_pairs_of_points_too(self, parameters):
        """Meant for .95 of releases: limits of 60 that fail by chance as seldom as all tests here."""
        grid, held = np.linspace(0, 1, 25), 0
        first, second = (axis.ravel() for axis in np.meshgrid(grid, grid))
        for seed in range(60):
            rows = np.clip(curves(600, seed, 0.05), -2, 2)
            band = released(rows, domain=(0, 1), **parameters).band(first=first, second=second)
            own = np.cov(rows.T, bias=True).ravel()
            held += bool(np.all((band.lower <= own) & (own <= band.upper)))
        assert upper_limit(held, 60, FALSE_ALARM) >= 0.95
        assert lower_limit(held, 60, FALSE_ALARM) > 0.6

    def test_pairs_of_points_are_no_wider_than_their_variances_allow(self):
        release = released()
        one = release.band(0.9, first=[0.5, 0.3], second=[0.5, 0.3])
        two = release.band(0.9, first=[0.5], second=[0.3])
        assert np.abs([two.lower[0], two.upper[0]]).max() <= math.sqrt(np.prod(one.upper)) + 1e-12
        assert two.upper[0] - two.lower[0] < 2 * np.mean(one.upper - one.lower)

    def test_larger_levels_are_wider_and_all_lie_between_bounds(self):
        release = released(curves(60))
        low, high = release.band(0.5), release.band(0.999)
        assert np.all(high.upper >= low.upper)
        assert np.all(high.upper <= 4.0)

    def test_what_the_cut_leaves_is_never_more_than_there_was(self):
        told = CovarianceDistance(0, 1.0, 100, QUIET)
        there = np.geomspace(1e-9, 10, 50)
        before = told.before_cut(there)
        assert np.all(before >= there)
        # A ninth of the squared cut: half of it normal, half Laplace, loses a twentieth at most.
        assert told.before_cut(np.array([1 / 9]))[0] == pytest.approx(1 / 9, rel=0.06)
        assert told.before_cut(np.array([0.9]))[0] > 2

    @pytest.mark.parametrize("name", ["units", "cut"])
    def test_a_file_keeps_it_and_refuses_other_units_and_another_cut(self, tmp_path, name):
        release = released()
        path = release.save(tmp_path / "c.json")
        read = dpfda.load(path)
        np.testing.assert_array_equal(read.band().upper, release.band().upper)
        written = json.loads(path.read_text())
        changed = {"units": 900, "cut": 0.99 * release.distance.cut}
        assert type(written["largest_distance"][name]) is type(changed[name])
        written["largest_distance"][name] = changed[name]
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            dpfda.load(path)

    @pytest.mark.parametrize("parameters", [{}, {"center": "private"}])
    @pytest.mark.parametrize("altered", [{"restored": 1.0}, {"restored": 2.0}, {}, {"records": 1}])
    def test_no_file_with_its_cut_put_right_says_less(self, tmp_path, parameters, altered):
        """Variances restored by another factor or none; or pairs for units, and the reverse."""
        release = released(domain=(0, 1), **parameters)
        path = release.save(tmp_path / "c.json")
        written = json.loads(path.read_text())
        told = written["largest_distance"]
        if "records" in altered:
            pairs = not parameters
            written["about"]["center"] = "private" if pairs else "pairs"
            told["units"] = 200 if pairs else 800
        else:
            del written["restored"]
            written |= altered
            other = replace(release, restored=altered.get("restored"))
            radius = release.certificate.bound["radius"]
            told["cut"] = cut_for(other.on_grid(), radius, 1.0)
        path.write_text(json.dumps(written))
        with pytest.raises(StorageError):
            dpfda.load(path)

    def test_what_files_of_earlier_versions_tell_is_another_number_and_left_aside(self, tmp_path):
        release = released()
        path = release.save(tmp_path / "c.json")
        written = json.loads(path.read_text())
        before = written.pop("largest_distance")
        # One unit moved it by 16 * 2^22, and the cut had other multiples.
        (scale,) = before["noise"]["scales"]
        before["noise"]["scales"], before["cut"] = [256 * scale], 0.9 * before["cut"]
        path.write_text(json.dumps(written | {"distance": before}))
        read = dpfda.load(path)
        assert read.distance is None
        assert read.certificate.costs == release.certificate.costs
        np.testing.assert_array_equal(read.band().upper, release.band(of="noise").upper)
        assert dpfda.load(read.save(tmp_path / "again.json")).certificate == read.certificate

    def test_a_variance_that_functions_do_not_follow_is_named_first(self):
        rows = curves(2000)
        rows[:, 12] += np.random.default_rng(1).normal(size=2000)
        release = released(rows, bounds=(-6, 6))
        assert "the functions do not follow it" in " ".join(release.describe().split())
        band, own = release.band(), rows.var(axis=0)
        assert np.all((band.lower <= own) & (own <= band.upper))
        assert "do not follow" not in " ".join(released(curves(2000)).describe().split())

    def test_that_a_few_far_curves_may_hold_the_variance_is_said_where_bounds_leave_room(self):
        """Meant for bounds that are far beyond the band: one curve in 60, there, would be all of it."""
        few = released(0.05 * curves(1000), epsilon=20)
        assert "a few curves lie far out" in " ".join(few.describe().split())
        room = 4.0 / float(np.max(few.band(0.95).upper))
        assert room >= ROOM
        assert f"leave room for {number(room)} times" in " ".join(few.describe().split())
        ordinary = released(curves(1000), epsilon=20)
        assert 4.0 / float(np.max(ordinary.band(0.95).upper)) < ROOM
        assert "far out" not in " ".join(ordinary.describe().split())

    def test_tails_are_taken_to_be_heavier_where_the_distance_is_certainly_large(self):
        law = distance_noise(PureDP(Fraction(1, 20)))
        near, far = (
            CovarianceDistance(round(part * MOVED * 5000), 1.0, 5000, law) for part in (0.005, 0.2)
        )
        assert near.unseen(0.95)[0] == 0.0
        least, most = far.unseen(0.95)
        assert least < 0.2 < most
        plain = far.before_cut(np.array([0.05 + most]))[0]
        assert far.interval(np.array([0.05]), 0.95)[1][0] > plain * (1 + (least / HEAVY) ** 2)
        assert near.interval(np.array([0.05]), 0.95)[1][0] < 0.1

    def test_it_is_said(self):
        words = " ".join(released().describe().split())
        assert "the variance of these records at every point" in words
        (fact,) = released().facts.bands
        assert (fact.claim.of, fact.claim.among) == ("sample", "releases")

    def test_units_that_are_filled_or_lost_do_not_stop_it(self):
        rows = curves(100)
        rows[3] = np.nan
        release = released(rows, reading=dpfda.Reading(invalid="repair"))
        assert release.distance is not None

    def test_a_plan_has_the_same_stages_and_foretells_its_half_width(self):
        plan = PrivateCovariance(1, bounds=(-2, 2)).plan(400)
        assert plan.distance_noise == released().distance.noise
        assert "variance of these records" in str(plan)
        assert replace(plan, size=None).distance_noise is not None
        assert isinstance(PrivateMean(1, bounds=(-2, 2)).plan(400).n, int)
