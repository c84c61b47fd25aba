"""Principal components: the exact sampler of directions, its guarantee, the estimator."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.exceptions import NotFittedError

import dpfda
from dpfda import PrivateCovariance, PrivateFPCA
from dpfda.covariance.components_release import ReleasedComponents, with_signs
from dpfda.covariance.publish import (
    direction_rate,
    frame_bound,
    integer_frame,
)
from dpfda.covariance.strategies import Shares, SubspaceShares
from dpfda.errors import DataError, ParameterError, RefusedMechanismError
from dpfda.noise.subspaces import DIRECTION_BITS, draw_direction
from dpfda.noise.wishart import CoupledNoise, WishartDifferenceNoise
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP
from dpfda.privacy.ledger import MemoryLedger
from statistical import fits

REPLACE, ADD = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
UNIT = 10**6
RATE = Fraction(1, UNIT)


def diagonal(*values):
    return [
        [round(UNIT * values[i]) if i == j else 0 for j in range(len(values))]
        for i in range(len(values))
    ]


def directions(matrix, count, **keywords):
    return np.array([draw_direction(matrix, RATE, **keywords) for _ in range(count)]) / 2**DIRECTION_BITS


def waves(count, points=25, seed=0):
    generator = np.random.default_rng(seed)
    grid = np.linspace(0, 1, points)
    scores = generator.uniform(-1, 1, (count, 2)) * [0.5, 0.15]
    return scores @ [np.sin(np.pi * grid), np.cos(np.pi * grid)]


def fpca(n_components=None, curves=None, **parameters):
    settings_ = {"epsilon": 5.0, "center": 0.0, "radius": 0.4, **parameters}
    return PrivateFPCA(n_components=n_components, **settings_).fit(
        waves(400) if curves is None else curves
    )


@pytest.fixture
def drawn_zero(monkeypatch):
    """Noise that came out as zero: of other noise, one in twenty makes a component too many."""
    for law in (CoupledNoise, WishartDifferenceNoise):
        monkeypatch.setattr(law, "draw", lambda self: [0] * (self.size * (self.size + 1) // 2))


class TestSampler:
    @pytest.mark.parametrize(
        "concentration", [2.0, *(pytest.param(c, marks=pytest.mark.thorough) for c in (0.7, 6.0, 200.0))]
    )
    def test_in_the_plane_twice_the_angle_is_von_mises(self, concentration):
        # A weak concentration differs little from another: more draws to tell them apart.
        drawn = directions(diagonal(2 * concentration, 0.0), 12000 if concentration < 1 else 3000)
        angles = 2 * np.arctan2(drawn[:, 1], drawn[:, 0])
        angles = (angles + np.pi) % (2 * np.pi) - np.pi
        assert fits(angles, stats.vonmises(concentration).cdf)
        for factor in (2.0, 0.5):
            assert not fits(angles, stats.vonmises(concentration * factor).cdf)

    def test_in_space_around_an_axis(self):
        # Density of u = v_3 proportional to exp(lambda u^2): an error function of imaginary argument.
        strength = 4.0
        drawn = directions(diagonal(0.0, 0.0, strength), 2000)

        def law(u, k=strength):
            return 0.5 + special.erfi(np.sqrt(k) * u) / (2 * special.erfi(np.sqrt(k)))

        assert fits(drawn[:, 2], law)
        assert not fits(drawn[:, 2], lambda u: law(u, strength * 2))
        assert not fits(drawn[:, 2], lambda u: law(u, strength / 2))
        longitude = np.arctan2(drawn[:, 1], drawn[:, 0])
        assert fits(longitude, stats.uniform(-np.pi, 2 * np.pi).cdf)

    def test_in_space_away_from_an_axis(self):
        # Density of u = v_3 proportional to exp(-lambda u^2): an error function.
        drawn = directions(diagonal(5.0, 5.0, 0.0), 1500)
        assert fits(
            drawn[:, 2], lambda u: 0.5 + special.erf(np.sqrt(5) * u) / (2 * special.erf(np.sqrt(5)))
        )
        assert not fits(drawn[:, 2], stats.uniform(-1, 2).cdf)

    def test_turning_the_matrix_turns_the_law(self):
        angle = 0.7
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned = turn @ np.diag([6.0, 1.0]) @ turn.T
        matrix = [[round(UNIT * x) for x in row] for row in turned]
        drawn = directions(matrix, 1500)
        angles = 2 * (np.arctan2(drawn[:, 1], drawn[:, 0]) - angle)
        angles = (angles + np.pi) % (2 * np.pi) - np.pi
        assert fits(angles, stats.vonmises(2.5).cdf)
        assert not fits(angles, stats.vonmises(2.5, 0.3).cdf)

    def test_a_law_without_preference_is_uniform(self):
        drawn = directions(diagonal(3.0, 3.0, 3.0), 1500)
        for entry in drawn.T:
            assert fits(entry, stats.uniform(-1, 2).cdf)

    def test_starting_from_few_bits_gives_the_same_law(self):
        # Nearly every decision then needs more bits; drawing afresh instead would bias it.
        drawn = directions(diagonal(4.0, 0.0), 1500, initial_bits=3)
        angles = 2 * np.arctan2(drawn[:, 1], drawn[:, 0])
        angles = (angles + np.pi) % (2 * np.pi) - np.pi
        assert fits(angles, stats.vonmises(2.0).cdf)

    def test_more_bits_are_appended_to_the_same_uniforms(self):
        asked = []

        def source(bits):
            asked.append(bits)
            return 0 if len(asked) > 3 else 2 ** (bits - 1)

        draw_direction(diagonal(1.0, 0.0), RATE, source, initial_bits=2)
        # Three uniforms of 2 bits, then 2, 4, 8, ... more for each of the three.
        assert asked[:6] == [2] * 6
        assert asked[6:9] in ([], [4] * 3)

    def test_strong_concentration_takes_few_draws(self):
        drawn = directions(diagonal(1e9, 1.0, 0.5, 0.2), 20)
        assert np.abs(drawn[:, 0]).min() > 0.999999


class TestGuarantee:
    @pytest.mark.parametrize("neighbours", [REPLACE, ADD])
    def test_the_density_ratio_reaches_epsilon_and_no_more(self, neighbours):
        # In the plane the normalising constant is a Bessel function: the ratio is known exactly. Many
        # records along the first axis, and one that differs.
        epsilon, radius = 1.0, 1.0
        rate = float(direction_rate(PureDP(1), 1, neighbours))
        worst = 0.0
        for background in np.linspace(0, 400, 41):
            for angle in np.linspace(0, np.pi / 2, 31):
                one = np.diag([background, 0.0]) + radius * np.outer([1, 0], [1, 0])
                v = np.array([np.cos(angle), np.sin(angle)])
                extra = radius * np.outer(v, v)
                other = np.diag([background, 0.0]) + (extra if neighbours is REPLACE else 0)
                worst = max(worst, self.largest_ratio(rate * one, rate * other))
        assert 0.97 * epsilon < worst <= epsilon + 1e-9

    @staticmethod
    def largest_ratio(first, second):
        def log_constant(matrix):
            low, high = np.linalg.eigvalsh(matrix)
            half = (high - low) / 2
            return (high + low) / 2 + half + np.log(special.ive(0, half))

        shift = log_constant(first) - log_constant(second)
        low, high = np.linalg.eigvalsh(first - second)
        return max(abs(high - shift), abs(low - shift))

    @settings(max_examples=50)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 4))
    def test_the_frame_bound_holds_for_integer_rows(self, seed, rank):
        generator = np.random.default_rng(seed)
        columns = np.linalg.qr(generator.standard_normal((5, rank)))[0]
        frame = integer_frame(columns)
        row = [int(x) for x in generator.integers(-(2**24), 2**24, 5)]
        image = [sum(a * b for a, b in zip(v, row, strict=True)) for v in frame]
        assert sum(x * x for x in image) <= frame_bound(frame) * sum(x * x for x in row)
        # And it is nearly attained: 2^60 for orthonormal columns.
        assert frame_bound(frame) <= 2**60 * (1 + 2**-25)

    @pytest.mark.parametrize("whole", [PureDP("0.9"), ApproximateDP("0.9", "1e-6")])
    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_the_shares_add_up_exactly(self, whole, count):
        shares = Shares.of(whole, True, Fraction(1, 3))
        plan = SubspaceShares.of(shares.rest, count, 9, Fraction(2, 5))
        assert len({part.epsilon for part in plan.directions}) == 1
        parts = [shares.count, shares.mean, *plan.directions, plan.variances]
        assert sum(part.epsilon for part in parts) == whole.epsilon
        assert sum(p.epsilon for p in plan.directions) == Fraction(2, 5) * shares.rest.epsilon

    def test_the_whole_is_charged_once_and_its_parts_are_stated(self):
        ledger = MemoryLedger().create("d", PureDP(3), REPLACE, "record")
        parameters = {"mechanism": "exponential", "epsilon": 2.0, "ledger": ledger.of("d")}
        release = fpca(2, **parameters).release_
        assert ledger.spent("d")["epsilon"] == 2
        budget = dict(release.certificate.mechanism["budget"])
        epsilons = {k: float(v.split("-")[0]) for k, v in budget.items()}
        assert epsilons == {
            "second moments": 2.0, "direction 1": 0.5, "direction 2": 0.5, "variances": 1.0,
        }  # fmt: skip


class TestEstimator:
    @pytest.mark.parametrize("method", ["auto", "exponential"])
    def test_with_little_noise_they_are_the_principal_components(self, method):
        curves = waves(2000)
        found = fpca(2, curves, mechanism=method, epsilon=1e5, functions=8)
        grid = np.linspace(0, 1, 25)
        weights = np.full(25, 1 / 24)
        weights[[0, -1]] /= 2
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(root[:, None] * (curves.T @ curves / 2000) * root)
        expected = with_signs_by_hand(vectors[:, ::-1][:, :2] / root[:, None])
        np.testing.assert_allclose(found.components_, expected.T, atol=0.05)
        np.testing.assert_allclose(found.explained_variance_, values[::-1][:2], rtol=0.02)
        assert found.release_.function(0)(grid[3]) == pytest.approx(found.components_[0, 3])

    @pytest.mark.parametrize("method", ["auto", "exponential"])
    def test_they_are_orthonormal_ordered_and_signed(self, method):
        found = fpca(3, mechanism=method, epsilon=1.0, functions=6)
        gram = found.release_.vectors.T @ found.release_.vectors
        np.testing.assert_allclose(gram, np.eye(3), atol=1e-10)
        assert (np.diff(found.explained_variance_) <= 0).all()
        assert (found.explained_variance_ >= 0).all()
        np.testing.assert_array_equal(
            with_signs(-found.release_.vectors, found.release_.basis), found.release_.vectors
        )
        for values in found.components_:
            assert values[np.argmax(np.abs(values) > np.abs(values).max() / 2)] > 0

    def test_scores_and_curves_lead_to_each_other(self):
        found = fpca(2, functions=6)
        scores = np.random.default_rng(0).standard_normal((7, 2))
        np.testing.assert_allclose(found.transform(found.inverse_transform(scores)), scores, atol=1e-8)
        curves = waves(5)
        np.testing.assert_allclose(
            found.transform(curves),
            (curves - found.release_.center) @ (found.components_ * found.release_.basis.weights).T,
            atol=1e-6,
        )

    def test_what_is_within_the_noise_is_not_a_component_by_default(self, drawn_zero):
        few = fpca(epsilon=0.05)
        many = fpca(epsilon=1000.0, curves=waves(3000))
        assert few.release_.count == 1
        assert many.release_.count == 2
        assert (many.explained_variance_ > many.noise_floor_).all()

    def test_the_noise_floor_is_the_level_it_says(self):
        # Records at the center leave noise alone: its largest eigenvalue stays below in 95 per cent.
        flat = np.zeros((50, 25))
        below = 0
        for _ in range(80):
            release = fpca(1, flat, epsilon=1.0, functions=4, shrinkage="none").covariance_
            noise = np.abs(np.linalg.eigvalsh(release.tensor.matrix(release.noisy_coordinates))).max()
            below += noise <= release.noise_floor()
        assert stats.binom.ppf(5e-7, 80, 0.95) <= below <= stats.binom.isf(5e-7, 80, 0.95)

    def test_explained_ratios(self):
        found = fpca(2, functions=6)
        ratios = found.explained_variance_ / np.trace(found.covariance_.matrix)
        np.testing.assert_allclose(found.explained_variance_ratio_, ratios)
        assert np.isnan(fpca(2, mechanism="exponential").explained_variance_ratio_).all()

    @pytest.mark.parametrize("method", ["auto", "exponential"])
    def test_a_release_comes_back_exactly(self, method, tmp_path):
        release = fpca(2, mechanism=method, center="private", bounds=(-1.0, 1.0)).release_
        file = release.save(tmp_path / "p.json")
        points = np.linspace(0, 1, 11)
        for back in (dpfda.load(file), ReleasedComponents.load(file)):
            np.testing.assert_array_equal(back(points), release(points))
            assert repr(back) == repr(release)
            np.testing.assert_array_equal(back.variances, release.variances)
        derivative = release.function(1).derivative()
        slope = (release.function(1)(0.501) - release.function(1)(0.499)) / 0.002
        assert derivative(0.5) == pytest.approx(slope, rel=1e-2, abs=1e-2)

    def test_the_picture_says_what_is_within_the_noise(self, drawn_zero):
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        release = fpca(2, epsilon=0.05, labels={"domain": "hour"}).release_
        axis = release.plot()
        words = [text.get_text() for text in axis.get_legend().get_texts()]
        assert axis.get_xlabel() == "hour"
        assert "within the noise" in words[1]
        pyplot.close(axis.get_figure())

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"n_components": 0}, "n_components must be None or a positive integer"),
            ({"n_components": 30}, "be at most the number of basis functions that the budget allows"),
            ({"mechanism": "gibbs"}, "mechanism must be 'auto' or one of"),
            ({"mechanism": "joint"}, "matrix Bingham law; no sampler of it is both exact"),
            ({"mechanism": "exponential", "direction_share": 1}, "direction_share must lie strictly"),
            (
                {"mechanism": "exponential", "n_components": 5, "functions": 5},
                "must be below the number",
            ),
            (
                {
                    "mechanism": "exponential",
                    "epsilon": 1e9,
                    "neighbours": "add-remove",
                    "public_size": 10**6,
                },
                "1e12 over the number of units",
            ),
        ],
    )
    def test_refusals_are_free_of_charge(self, parameters, words):
        ledger = MemoryLedger().create("d", PureDP(10**13), REPLACE, "record")
        with pytest.raises(ParameterError, match=words):
            fpca(**parameters, ledger=ledger.of("d"))
        assert ledger.spent("d")["epsilon"] == 0

    def test_the_joint_law_is_refused_with_its_source(self):
        with pytest.raises(RefusedMechanismError) as caught:
            fpca(2, mechanism="joint")
        assert "Awan" in caught.value.theorem

    def test_other_errors(self):
        with pytest.raises(NotFittedError):
            PrivateFPCA(1.0).transform(np.zeros((1, 3)))
        found = fpca(1)
        with pytest.raises(ParameterError, match="one column a grid point"):
            found.transform(np.zeros((1, 3)))
        with pytest.raises(ParameterError, match="scores must have 1 columns"):
            found.inverse_transform(np.zeros((1, 3)))
        with pytest.raises(ParameterError, match="index must be an integer from 0 to 0"):
            found.release_.function(1)
        with pytest.raises(DataError, match="row 2, column 0"):
            fpca(1, np.where(np.arange(10)[:, None] == 2, np.nan, waves(10)))


def with_signs_by_hand(functions):
    turned = []
    for column in functions.T:
        first = column[np.argmax(np.abs(column) > np.abs(column).max() / 2)]
        turned.append(-column if first < 0 else column)
    return np.array(turned).T


def test_components_that_noise_cannot_tell_apart_are_named_first() -> None:
    # Of 27 components closer together than noise reaches 16 were turned by more than 25 degrees.
    random, grid = np.random.default_rng(3), np.linspace(0.0, 1.0, 51)
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(np.arange(1, 5), grid))
    for sizes, named in (((0.05, 0.05, 0.05, 0.0), True), ((0.1, 0.05, 0.0, 0.0), False)):
        curves = np.clip(0.5 + (random.normal(size=(20_000, 4)) * sizes) @ waves, 0.0, 1.0)
        found = PrivateCovariance(1, bounds=(0, 1)).fit(curves).release_.components()
        told = " ".join(found.describe().split())
        assert ("Noise may have turned components 1 to 3 into one another" in told) == named
        assert all("% of what is published)" in line.label for line in found.view().lines)
        assert ("all of them lie above that." in told) == (found.count > 1)
