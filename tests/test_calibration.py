"""The privacy loss of every mechanism, computed again from the integer scales in force.

Nothing of `dpfda.noise` is used to judge it. Laws are taken as densities, neighbours as integer
vectors that are checked against the width in exact arithmetic, and the loss is maximised over neighbours
and outputs. It may never exceed the request, and must come within a millionth of it, so a scale wrong by
a factor sqrt(2) fails in either direction.
"""

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from sklearn.gaussian_process.kernels import Matern

from dpfda.bases import KernelBasis
from dpfda.bounds import BoxBound, Ellipsoid, L1Ball, L2Ball
from dpfda.errors import ParameterError, RefusedMechanismError
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.gaussian import Gaussian, GaussianProcess
from dpfda.mechanisms.iclp import ICLP
from dpfda.mechanisms.knorm import KNorm
from dpfda.mechanisms.laplace import Laplace
from dpfda.noise import (
    EllipsoidNoise,
    GaussianNoise,
    KNormNoise,
    achieved_guarantee,
    gaussian_noise,
    gaussian_ratio,
    knorm_loss,
    knorm_noise,
)
from dpfda.privacy.composition import gaussian_delta
from dpfda.privacy.composition.block_profile import block_delta
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP, within
from dpfda.testing.contracts import make_problem
from statistical import block_profile_reference

TIGHT = 1 - 1e-6
with mp.workdps(40):
    ROUNDING = 1 + mp.mpf(2) ** -100  # Of the references, which have 40 digits.
SIZE = 50
BASIS = KernelBasis.on_grid(Matern(0.2, nu=1.5), np.linspace(0, 1, 25))
BALLS = {"l2": L2Ball(0.7), "l1": L1Ball(1.3)}
EPSILONS = [Fraction(1, 8), Fraction(1), Fraction(4), Fraction(30)]
PURE = {
    "iclp": ICLP(),
    "iclp, tuned": ICLP(eta=1.25, penalty=1e-3),
    "knorm": KNorm(),
    "knorm, 12": KNorm(block_sizes=12),
    "knorm, blocks": KNorm(block_sizes=(1, 4, 16)),
    "laplace": Laplace(),
    "laplace, equal": Laplace(components=8, matched=False, shrink=False),
}
PRODUCT = {name: PURE[name] for name in ("iclp", "laplace", "laplace, equal")}
GAUSSIAN = {
    "gaussian": Gaussian(),
    "gaussian process": GaussianProcess(),
    "gaussian process, tuned": GaussianProcess(eta=1.1, penalty=1e-3),
}


def real(value: Fraction) -> mpmath.mpf:
    return mp.mpf(value.numerator) / value.denominator


ball_and_relation = pytest.mark.parametrize(
    ("norm", "relation"), [(norm, relation) for norm in BALLS for relation in Neighbours]
)


def designed(mechanism, norm, relation, guarantee):
    problem = make_problem(BASIS, BALLS[norm], SIZE, guarantee, relation)
    # The width is restated: twice the integer radius to replace a record, once to add or remove it.
    assert problem.width == problem.ball.radius * (2 if relation is Neighbours.REPLACE_ONE else 1)
    return problem, choose(problem, mechanism)


# Neighbours: integer vectors of norm at most the width, in exact arithmetic.


def length(vector, norm: str) -> int:
    return sum(abs(v) for v in vector) if norm == "l1" else sum(v * v for v in vector)


def neighbour(direction: np.ndarray, norm: str, width: int) -> list[int]:
    """Longest integer vector along a direction that neighbouring sums may differ by."""
    size = np.abs(direction).sum() if norm == "l1" else np.linalg.norm(direction)
    limit = width if norm == "l1" else width**2
    # The direction is known to the last bits of a float, which are many units of a large width.
    step = max(1, width >> 51)
    for slack in range(3):
        vector = [int(Fraction(float(v / size)) * (width - slack * step)) for v in direction]
        if length(vector, norm) <= limit:
            return vector
    raise AssertionError("the direction was not scaled to the width")


def directions(components: int) -> list[np.ndarray]:
    """Axes, flat, steep and random directions."""
    generator = np.random.default_rng(components)
    steep = [np.arange(1.0, components + 1) ** -power for power in (0.5, 1, 2, 4)]
    axes = list(np.eye(components))
    sparse = generator.normal(size=(20, components)) * (generator.random((20, components)) < 0.2)
    rough = generator.normal(size=(20, components))
    return [*axes, np.ones(components), *steep, *rough, *(v for v in sparse if np.any(v))]


def worst_directions(loss, gradient, components: int, norm: str) -> list[np.ndarray]:
    """Some directions, and those in which a convex loss is largest, by search in floats.

    On the l1 ball a convex function is largest at a corner, and all corners are tried. On the l2 ball it
    is steepest ascent on the sphere, from many starts.
    """
    tried = directions(components)
    if norm == "l2":
        for point in tried[-10:]:
            for _ in range(30):
                slope = gradient(point)
                point = slope / np.linalg.norm(slope)  # noqa: PLW2901
            tried.append(point)
    lengths = np.abs(tried).sum(axis=1) if norm == "l1" else np.linalg.norm(tried, axis=1)
    order = np.argsort([-loss(point) / size for point, size in zip(tried, lengths, strict=True)])
    return [tried[index] for index in (*order[:5], *order[5::12])]


# K-norm noise.


def block_lengths(noise: KNormNoise, vector) -> list:
    ends = np.cumsum(noise.block_sizes)
    starts = ends - np.array(noise.block_sizes)
    return [
        mp.sqrt(sum(mp.mpf(int(v)) ** 2 for v in vector[a:b])) for a, b in zip(starts, ends, strict=True)
    ]


def log_density(noise: KNormNoise, output) -> mpmath.mpf:
    """Logarithm of the density of the noise at an integer point, without its constant."""
    lengths = block_lengths(noise, output)
    return -sum(size / scale for size, scale in zip(lengths, noise.scales, strict=True))


def knorm_search(noise: KNormNoise, norm: str) -> list[np.ndarray]:
    owner = np.repeat(np.arange(len(noise.scales)), noise.block_sizes)
    scales = np.array(noise.scales, dtype=float)

    def loss(point: np.ndarray) -> float:
        return float(np.sum(np.sqrt(np.bincount(owner, point**2)) / scales))

    def gradient(point: np.ndarray) -> np.ndarray:
        lengths = np.sqrt(np.bincount(owner, point**2))
        return point / (np.maximum(lengths, 1e-300) * scales)[owner] + 1e-300

    return worst_directions(loss, gradient, noise.components, norm)


def largest_knorm_loss(noise: KNormNoise, norm: str, width: int) -> mpmath.mpf:
    """Largest log density ratio over neighbours, at the centre of the law and away from it."""
    generator = np.random.default_rng(0)
    worst = mp.mpf(0)
    for direction in knorm_search(noise, norm):
        shift = neighbour(direction, norm, width)
        wild = [int(v) for v in generator.normal(size=noise.components) * max(noise.scales)]
        for output in ([0] * noise.components, [-7 * v for v in shift], wild):
            moved = [a - b for a, b in zip(output, shift, strict=True)]
            worst = max(worst, abs(log_density(noise, output) - log_density(noise, moved)))
    return worst


@ball_and_relation
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("name", PURE)
def test_pure_loss_is_epsilon_and_no_more(name, norm, relation, epsilon):
    problem, design = designed(PURE[name], norm, relation, PureDP(epsilon))
    noise = design.noise
    assert isinstance(noise, KNormNoise)
    assert [type(scale) for scale in noise.scales] == [int] * len(noise.block_sizes)
    with mp.workdps(40):
        loss = largest_knorm_loss(noise, norm, problem.width)
        assert real(epsilon) * TIGHT <= loss <= real(epsilon) * ROUNDING
    stated = achieved_guarantee(noise, norm, problem.width, PureDP(epsilon))
    assert within(stated, PureDP(epsilon))
    with mp.workdps(40):
        assert loss <= real(stated.epsilon) * ROUNDING


@pytest.mark.parametrize("norm", BALLS)
@pytest.mark.parametrize("name", PURE)
def test_a_scale_wrong_by_root_two_would_be_found_out(name, norm):
    problem, design = designed(PURE[name], norm, Neighbours.REPLACE_ONE, PureDP(1))
    for factor in (math.sqrt(2), math.sqrt(0.5)):
        scales = tuple(round(scale * factor) for scale in design.noise.scales)
        loss = largest_knorm_loss(replace(design.noise, scales=scales), norm, problem.width)
        assert loss == pytest.approx(1 / factor, rel=1e-5)
        stated = achieved_guarantee(replace(design.noise, scales=scales), norm, problem.width, PureDP(1))
        assert within(stated, PureDP(1)) == (factor > 1)


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (3, 1), (3, 7), (10, 5), (2, 30)])
def test_chances_of_rounded_laplace_noise_have_the_claimed_ratio(scale, shift):
    """The law that is really released, on integers: the ratio is exp(shift / scale) in the tails."""

    def chance(k: int) -> mpmath.mpf:
        def tail(edge):
            return mp.exp(-edge / scale) / 2

        if k == 0:
            return 1 - 2 * tail(mp.mpf(1) / 2)
        return tail(abs(k) - mp.mpf(1) / 2) - tail(abs(k) + mp.mpf(1) / 2)

    with mp.workdps(40):
        ratios = [mp.log(chance(k) / chance(k - shift)) for k in range(-60, 61)]
        assert max(map(abs, ratios)) <= mp.mpf(shift) / scale * (1 + mp.mpf(10) ** -35)
        assert max(ratios) >= mp.mpf(shift) / scale * (1 - mp.mpf(10) ** -9)
    assert knorm_loss((scale,), "l1", shift) == Fraction(shift, scale)


@settings(deadline=None, max_examples=60)
@given(
    scales=st.lists(st.integers(1, 2**45), min_size=1, max_size=30),
    width=st.integers(1, 2**32),
)
def test_the_stated_loss_is_rounded_up_and_hardly(scales, width):
    with mp.workdps(60):
        loss = width * mp.sqrt(sum(1 / mp.mpf(scale) ** 2 for scale in scales))
        stated = knorm_loss(scales, "l2", width)
        assert real(stated) == pytest.approx(loss, rel=1e-15)
        assert real(stated) <= loss * (1 + mp.mpf(10) ** -50)
    # Rounded up, exactly: the square of the loss is rational.
    assert stated**2 >= width**2 * sum(Fraction(1, scale**2) for scale in scales)
    assert knorm_loss(scales, "l1", width) == max(Fraction(width, scale) for scale in scales)


@pytest.mark.parametrize("relative", [[1.0, np.nan], [1.0, np.inf], [0.0, 1.0], [-1.0, 1.0]])
def test_relative_scales_must_be_positive_and_finite(relative):
    with pytest.raises(ParameterError, match="relative scales must be positive, finite"):
        knorm_noise((1, 1), relative, "l2", 100, PureDP(1))


@pytest.mark.parametrize("width", [1, 2, 17])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(50), Fraction(10**6)])
def test_the_smallest_widths_get_whole_scales_that_hold(width, epsilon):
    noise = knorm_noise((1, 2), (1.0, 3.0), "l2", width, PureDP(epsilon))
    assert min(noise.scales) >= 1
    assert width**2 * sum(Fraction(1, scale**2) for scale in noise.scales) <= epsilon**2


@ball_and_relation
@pytest.mark.parametrize(
    "guarantee", [PureDP(1), ApproximateDP(1, 1e-6), ZeroConcentratedDP(1)], ids=str
)
def test_what_is_chosen_without_a_name_keeps_the_guarantee(norm, relation, guarantee):
    problem, design = designed("auto", norm, relation, guarantee)
    noise, width = design.noise, problem.width
    assert within(achieved_guarantee(noise, norm, width, guarantee), guarantee)
    with mp.workdps(40):
        if isinstance(noise, KNormNoise):
            loss = largest_knorm_loss(noise, norm, width)
            if isinstance(guarantee, ZeroConcentratedDP):
                assert set(noise.block_sizes) == {1}
                assert loss + mp.exp(-loss) - 1 <= real(guarantee.rho) * ROUNDING
            elif isinstance(guarantee, ApproximateDP) and loss > 1.0001:
                assert block_delta_of(noise, loss, guarantee) <= real(guarantee.delta)
            else:
                assert loss <= real(guarantee.epsilon) * ROUNDING
        else:
            assert isinstance(noise, GaussianNoise)
            mu = largest_mu(noise, norm, width)
            if isinstance(guarantee, ZeroConcentratedDP):
                assert mu**2 / 2 <= real(guarantee.rho) * ROUNDING
            else:
                assert profile(real(guarantee.epsilon), mu) <= real(guarantee.delta)


# Zero-concentrated privacy of product Laplace noise.


def laplace_renyi(order, shift):
    """Renyi divergence of two standard Laplace laws (Mironov 2017, Table II), order above one."""
    a, e = mp.mpf(order), mp.mpf(shift)
    return mp.log(a / (2 * a - 1) * mp.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mp.exp(-a * e)) / (
        a - 1
    )


def test_the_renyi_reference_is_its_integral():
    with mp.workdps(20):
        for order, shift in ((1.5, 0.7), (4, 2)):

            def integrand(x, order=order, shift=shift):
                return mp.exp(order * -abs(x) - (1 - order) * abs(x - shift)) / 2

            integral = mp.quad(integrand, [-40, 0, shift, 40 + shift])
            assert laplace_renyi(order, shift) == pytest.approx(
                mp.log(integral) / (order - 1), rel=1e-10
            )


@ball_and_relation
@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2), Fraction(5)], ids=str)
@pytest.mark.parametrize("name", PRODUCT)
def test_concentrated_loss_of_product_laplace_noise(name, norm, relation, rho):
    guarantee = ZeroConcentratedDP(rho)
    problem, design = designed(PRODUCT[name], norm, relation, guarantee)
    noise = design.noise
    worst = mp.mpf(0)
    with mp.workdps(40):
        for direction in [*np.eye(noise.components), *knorm_search(noise, norm)]:
            shift = neighbour(direction, norm, problem.width)
            units = [abs(v) / mp.mpf(s) for v, s in zip(shift, noise.scales, strict=True) if v]
            for order in (1 + 1e-6, 1.5, 3, 30):
                worst = max(worst, sum(laplace_renyi(order, unit) for unit in units) / order)
    assert worst <= float(rho) * (1 + 1e-12)
    if norm == "l1":
        assert worst >= float(rho) * 0.999
    assert within(achieved_guarantee(noise, norm, problem.width, guarantee), guarantee)


@ball_and_relation
@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 2), Fraction(5)], ids=str)
@pytest.mark.parametrize("name", ["knorm", "knorm, 12", "knorm, blocks"])
def test_concentrated_loss_of_blocks_is_that_of_the_smallest(name, norm, relation, rho):
    guarantee = ZeroConcentratedDP(rho)
    problem, design = designed(PURE[name], norm, relation, guarantee)
    loss = float(largest_knorm_loss(design.noise, norm, problem.width))
    cost = min(loss + math.expm1(-loss), loss**2 / (2 * min(design.noise.block_sizes)))
    assert float(rho) * 0.999 <= cost <= float(rho) * (1 + 1e-12)
    assert within(achieved_guarantee(design.noise, norm, problem.width, guarantee), guarantee)


def test_several_blocks_are_refused_where_their_delta_would_be_wasted():
    with pytest.raises(
        RefusedMechanismError, match=r"K-norm noise for .* or 'knorm', the latter for one block"
    ):
        designed(KNorm(block_sizes=(1, 4)), "l2", Neighbours.REPLACE_ONE, ApproximateDP(1, 1e-6))


# One K-norm block with a delta.

WITH_DELTA = [
    ApproximateDP(1, "1e-6"),
    ApproximateDP("1/8", "1e-3"),
    ApproximateDP(4, "1e-9"),
    ApproximateDP(30, "0.1"),
]
BLOCKS = {"knorm": KNorm(), "knorm, 12": KNorm(block_sizes=12), "knorm, 25": KNorm(block_sizes=25)}


def block_delta_of(noise: KNormNoise, loss, guarantee: ApproximateDP) -> mpmath.mpf:
    """Delta of one block whose log density ratio is at most `loss`, by quadrature."""
    assert len(noise.block_sizes) == 1
    return block_profile_reference(noise.block_sizes[0], loss, real(guarantee.epsilon))


@ball_and_relation
@pytest.mark.parametrize("guarantee", WITH_DELTA, ids=str)
# A block of 12 lies between the least, which is chosen, and all 25.
@pytest.mark.parametrize(
    "name", ["knorm", "knorm, 25", pytest.param("knorm, 12", marks=pytest.mark.thorough)]
)
def test_delta_of_one_block_is_delta_and_no_more(name, guarantee, norm, relation):
    problem, design = designed(BLOCKS[name], norm, relation, guarantee)
    noise = design.noise
    with mp.workdps(20):
        loss, wanted = largest_knorm_loss(noise, norm, problem.width), real(guarantee.delta)
        assert loss > real(guarantee.epsilon)
        # A scale of few digits leaves delta its step.
        assert wanted * (1 - 1e-4) <= block_delta_of(noise, loss, guarantee) <= wanted
    stated = achieved_guarantee(noise, norm, problem.width, guarantee)
    assert isinstance(stated, ApproximateDP)
    assert within(stated, guarantee)
    # The next smaller integer scale would break the promise.
    smaller = replace(noise, scales=(noise.scales[0] - 1,))
    assert not within(achieved_guarantee(smaller, norm, problem.width, guarantee), guarantee)


@pytest.mark.parametrize("norm", BALLS)
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_with_a_delta_wrong_by_root_two_would_be_found_out(name, norm):
    guarantee = WITH_DELTA[0]
    problem, design = designed(BLOCKS[name], norm, Neighbours.REPLACE_ONE, guarantee)
    for factor in (math.sqrt(2), math.sqrt(0.5)):
        noise = replace(design.noise, scales=(round(design.noise.scales[0] * factor),))
        with mp.workdps(30):
            loss = largest_knorm_loss(noise, norm, problem.width)
            found = block_delta_of(noise, loss, guarantee) if loss > 1 else 0
        delta = float(guarantee.delta)
        assert found < delta / 10 if factor > 1 else found > delta * 10
        stated = achieved_guarantee(noise, norm, problem.width, guarantee)
        assert within(stated, guarantee) == (factor > 1)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("guarantee", WITH_DELTA[:3], ids=str)
def test_the_ellipsoid_has_the_same_profile(guarantee, relation):
    bound = Ellipsoid(2.0 * np.arange(1, 16) ** -1.2)
    problem = make_problem(BASIS, bound, SIZE, guarantee, relation)
    noise = choose(problem, KNorm(block_sizes=15)).noise
    kind, sizes = problem.body
    assert (kind, type(noise)) == ("ellipsoid", EllipsoidNoise)
    with mp.workdps(30):
        # In the coordinates of the law the longest difference is along an axis.
        loss = max(mp.mpf(w) / a for w, a in zip(sizes, noise.scales, strict=True))
        found = block_profile_reference(15, loss, real(guarantee.epsilon))
        assert real(guarantee.delta) * (1 - 1e-4) <= found <= real(guarantee.delta)
    stated = achieved_guarantee(noise, kind, sizes, guarantee)
    assert within(stated, guarantee)
    cut = EllipsoidNoise(tuple(round(a / math.sqrt(2)) for a in noise.scales))
    assert not within(achieved_guarantee(cut, kind, sizes, guarantee), guarantee)


def test_a_box_is_refused_with_a_delta():
    bound = BoxBound(2.0 * np.arange(1, 16) ** -1.2)
    problem = make_problem(BASIS, bound, SIZE, WITH_DELTA[0], Neighbours.REPLACE_ONE)
    with pytest.raises(RefusedMechanismError, match="K-norm noise for"):
        choose(problem, "knorm")


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-9", "1e-5"), (1, "1e-320"), (1000, "1e-6")])
@pytest.mark.parametrize("size", [1, 2, 40])
def test_far_budgets_have_their_smallest_scale_too(epsilon, delta, size):
    guarantee = ApproximateDP(Fraction(epsilon), Fraction(delta))
    for width in (1, 1000, 2**45 + 1):
        scale = knorm_noise((size,), (1.0,), "l2", width, guarantee).scales[0]
        assert block_delta(size, Fraction(width, scale), guarantee.epsilon) <= guarantee.delta
        if scale > 1:
            smaller = Fraction(width, scale - 1)
            assert block_delta(size, smaller, guarantee.epsilon) > guarantee.delta


def test_the_gain_over_gaussian_noise_and_over_the_pure_block():
    """At (1, 1e-6) up to 1.5 times less noise power than the better of the two."""
    guarantee, width = ApproximateDP(1, "1e-6"), 2**40
    gains = []
    for size in (5, 10, 16, 17, 18, 20, 50):
        block, pure = (
            knorm_noise((size,), (1.0,), "l2", width, each).variances()[0]
            for each in (guarantee, PureDP(1))
        )
        normal = gaussian_noise([1.0], width, guarantee).variances()[0]
        gains.append(min(normal, pure) / block)
        assert gains[-1] > 1
    assert max(gains) == pytest.approx(1.51, abs=0.005)


# Gaussian noise.


def largest_mu(noise: GaussianNoise, norm: str, width: int) -> mpmath.mpf:
    """Largest Cameron-Martin length of a neighbouring difference."""
    weights = np.array(noise.scales, dtype=float) ** -2
    worst = mp.mpf(0)
    for direction in worst_directions(
        lambda x: math.sqrt(weights @ x**2), lambda x: weights * x + 1e-300, noise.components, norm
    ):
        shift = neighbour(direction, norm, width)
        square = sum((v / mp.mpf(s)) ** 2 for v, s in zip(shift, noise.scales, strict=True) if v)
        worst = max(worst, mp.sqrt(square))
    return worst


def profile(epsilon, mu):
    """Delta by quadrature: the mass by which N(mu, 1) exceeds e^epsilon times N(0, 1)."""
    start = epsilon / mu + mu / 2

    def excess(x):
        return mp.npdf(x - mu) - mp.exp(epsilon) * mp.npdf(x)

    steps = [start + step / (1 + start) for step in (0, 1, 3, 8, 20, 60)] + [start + mu + 40]
    return mp.quad(excess, sorted(steps))


def closed_form(epsilon, mu, digits=60):
    """Balle & Wang (2018), Theorem 8, in many digits."""
    with mp.workdps(digits):
        e, m = real(epsilon), real(mu) if isinstance(mu, Fraction) else mu
        return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


DELTAS = [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)]


@ball_and_relation
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_approximate_loss_is_delta_and_no_more(name, norm, relation, epsilon):
    for delta in DELTAS:
        guarantee = ApproximateDP(epsilon, delta)
        problem, design = designed(GAUSSIAN[name], norm, relation, guarantee)
        noise = design.noise
        assert isinstance(noise, GaussianNoise)
        assert {type(scale) for scale in noise.scales} == {int}
        with mp.workdps(30):
            mu = largest_mu(noise, norm, problem.width)
            # In closed form, which agrees with the quadrature: below.
            found = closed_form(epsilon, mu)
            wanted = real(delta)
            assert wanted * (1 - mp.mpf(10) ** -4) <= found <= wanted
        stated = achieved_guarantee(noise, norm, problem.width, guarantee)
        assert within(stated, guarantee)
        assert float(found) * (1 - 1e-9) <= stated.delta <= delta


@pytest.mark.parametrize("norm", BALLS)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_a_deviation_wrong_by_root_two_would_be_found_out(name, norm):
    guarantee = ApproximateDP(1, Fraction(1, 10**6))
    problem, design = designed(GAUSSIAN[name], norm, Neighbours.REPLACE_ONE, guarantee)
    for factor in (math.sqrt(2), math.sqrt(0.5)):
        noise = GaussianNoise(tuple(round(scale * factor) for scale in design.noise.scales))
        with mp.workdps(30):
            found = profile(mp.mpf(1), largest_mu(noise, norm, problem.width))
        # Cut by sqrt(2), delta is 200 times the claim; stretched, a ten thousandth of it.
        assert found > 1e-4 or found < 1e-9
        assert within(achieved_guarantee(noise, norm, problem.width, guarantee), guarantee) == (
            factor > 1
        )


def test_the_quadrature_agrees_with_the_closed_form():
    with mp.workdps(30):
        for epsilon, mu in (
            (Fraction(1), Fraction(1, 4)),
            (Fraction(30), Fraction(3)),
            (Fraction(1, 8), Fraction(2)),
            (Fraction(1, 100), Fraction(1, 300)),
            (Fraction(1, 100), Fraction(1, 7)),
        ):
            found = profile(real(epsilon), real(mu))
            assert found == pytest.approx(closed_form(epsilon, mu), rel=1e-12)


def test_200_random_requests_are_never_exceeded():
    generator = np.random.default_rng(3)
    for _ in range(200):
        epsilon = Fraction(float(np.exp(generator.uniform(np.log(0.01), np.log(40)))))
        delta = Fraction(float(np.exp(generator.uniform(np.log(1e-14), np.log(0.5)))))
        ratio = gaussian_ratio(ApproximateDP(epsilon, delta))
        found = closed_form(ApproximateDP(epsilon, delta).epsilon, ratio)
        wanted = real(ApproximateDP(epsilon, delta).delta)
        assert found <= wanted
        assert found >= wanted * (1 - mp.mpf(10) ** -11)


def test_deviations_agree_with_dp_accounting():
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    for epsilon in (0.05, 0.5, 1.0, 3.0, 10.0):
        for delta in (1e-2, 1e-5, 1e-9):
            ratio = gaussian_ratio(ApproximateDP(epsilon, delta))
            assert float(1 / ratio) == pytest.approx(get_sigma_gaussian(epsilon, delta), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.2])
def test_epsilon_of_800_works(delta):
    guarantee = ApproximateDP(800, delta)
    ratio = gaussian_ratio(guarantee)
    found = closed_form(Fraction(800), ratio, digits=1000)
    with mp.workdps(50):
        assert real(guarantee.delta) * (1 - mp.mpf(10) ** -9) <= found <= real(guarantee.delta)
    assert float(gaussian_delta(Fraction(800), ratio)) == pytest.approx(float(found), rel=1e-12)


def test_delta_is_rounded_up():
    generator = np.random.default_rng(4)
    for _ in range(100):
        epsilon = Fraction(float(generator.uniform(0.01, 20)))
        mu = Fraction(float(generator.uniform(0.5, 6)))
        stated = gaussian_delta(epsilon, mu)
        found = closed_form(epsilon, mu, digits=120)
        with mp.workdps(120):
            assert found <= real(stated) <= found * (1 + mp.mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1])
def test_the_classical_rule_is_its_formula_and_keeps_the_guarantee(epsilon):
    guarantee = ApproximateDP(epsilon, 1e-6)
    ratio = gaussian_ratio(guarantee, "classical")
    assert float(1 / ratio) == pytest.approx(math.sqrt(2 * math.log(2e6)) / epsilon, rel=1e-14)
    assert ratio < gaussian_ratio(guarantee)
    assert closed_form(guarantee.epsilon, ratio) <= 1e-6


def test_the_classical_rule_is_refused_beyond_one():
    with pytest.raises(
        RefusedMechanismError, match=r"at most 1 for the classical Gaussian rule; found 1\.01"
    ):
        gaussian_ratio(ApproximateDP(1.01, 1e-6), "classical")
    with pytest.raises(
        ParameterError, match="calibration must be 'exact' or 'classical'; found 'loose'"
    ):
        gaussian_ratio(ApproximateDP(1, 1e-6), "loose")


@ball_and_relation
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2), Fraction(20)], ids=str)
@pytest.mark.parametrize("name", GAUSSIAN)
def test_concentrated_loss_of_gaussian_noise(name, norm, relation, rho):
    guarantee = ZeroConcentratedDP(rho)
    problem, design = designed(GAUSSIAN[name], norm, relation, guarantee)
    with mp.workdps(40):
        half_square = largest_mu(design.noise, norm, problem.width) ** 2 / 2
        assert real(rho) * TIGHT <= half_square <= real(rho) * ROUNDING
    assert within(achieved_guarantee(design.noise, norm, problem.width, guarantee), guarantee)


@pytest.mark.parametrize("name", ["gaussian", "gaussian process"])
def test_gaussian_noise_is_refused_without_delta(name):
    with pytest.raises(
        RefusedMechanismError, match="delta must be positive for Gaussian noise"
    ) as caught:
        designed(GAUSSIAN[name], "l2", Neighbours.REPLACE_ONE, PureDP(1))
    assert "Theorem 4" in caught.value.theorem


# Comparing guarantees.


@pytest.mark.parametrize(
    ("stated", "requested", "holds"),
    [
        (PureDP(1), PureDP(1), True),
        (PureDP(1 + Fraction(1, 10**40)), PureDP(1), False),
        (ApproximateDP(1, 1e-6), ApproximateDP(1, 1e-6), True),
        (ApproximateDP(1, 2e-6), ApproximateDP(1, 1e-6), False),
        (ApproximateDP(1 + Fraction(1, 10**40), 1e-6), ApproximateDP(1, 1e-6), False),
        (ZeroConcentratedDP(1), ZeroConcentratedDP(1), True),
        (ZeroConcentratedDP(1 + Fraction(1, 10**40)), ZeroConcentratedDP(1), False),
        (ApproximateDP(1, 1e-6), PureDP(1), False),
        (ZeroConcentratedDP(1), PureDP(1), False),
        (ApproximateDP(1, 1e-6), ZeroConcentratedDP(5), False),
        (ZeroConcentratedDP(Fraction(1, 100)), ApproximateDP(5, 0.1), False),
    ],
)
def test_guarantees_are_compared_exactly(stated, requested, holds):
    assert within(stated, requested) is holds


def test_relative_deviations_are_kept():
    noise = gaussian_noise([1.0, 2.5, 40.0], 2**30, ApproximateDP(1, 1e-6))
    assert np.array(noise.scales) / noise.scales[0] == pytest.approx([1, 2.5, 40], rel=1e-8)
