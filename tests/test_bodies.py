"""Boxes and ellipsoids: rows inside them exactly, the laws drawn, losses neither less nor more.

Each goodness-of-fit assertion raises a false alarm with chance `FALSE_ALARM`; a scale wrong by sqrt(2)
or a dimension wrong by one is missed with chance below 1e-6 at these sample sizes, as in `test_noise`.
Bounds of audits are wrong with chance 2e-7 each, as in `test_privacy`.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.gaussian_process.kernels import Matern

from dpfda import Domain, PrivateMean
from dpfda.bases import KernelBasis
from dpfda.bounds import BoxBound, Ellipsoid, IntegerBody, read_bounds
from dpfda.errors import DpfdaError, ParameterError
from dpfda.mechanisms import mechanisms
from dpfda.mechanisms.design import choose
from dpfda.mechanisms.knorm import KNorm
from dpfda.noise import (
    BoxNoise,
    EllipsoidNoise,
    GaussianNoise,
    KNormNoise,
    achieved_guarantee,
    body_noise,
    gaussian_on_body,
    laplace_on_body,
    law_from_json,
)
from dpfda.numerics.embedding import Rows
from dpfda.privacy.composition import gaussian_delta
from dpfda.privacy.guarantees import (
    ApproximateDP,
    Neighbours,
    PureDP,
    ZeroConcentratedDP,
    guarantee_for,
    within,
)
from dpfda.publication import MeanPlan
from dpfda.releases.function import ReleasedFunction
from dpfda.testing.contracts import make_problem
from planned import make_plan
from statistical import (
    FALSE_ALARM,
    Audit,
    fits,
    fits_only_at_its_scale,
    rounded_laplace_p_value,
    same_law,
)

WIDE = 2**40
GRID = np.linspace(0, 1, 24)
BASIS = KernelBasis.on_grid(Matern(0.2, nu=1.5), GRID)
BODIES = [
    BoxBound(2.0 * np.arange(1, 13) ** -1.5),
    BoxBound(0.3),
    Ellipsoid(2.0 * np.arange(1, 21) ** -1.2),
    Ellipsoid(radius=2.0, power=0.5),
]
GUARANTEES = [PureDP(Fraction(1, 8)), PureDP(4), guarantee_for(1, "1e-5"), ZeroConcentratedDP("1/2")]


def draws(law, count):
    return np.array([law.draw() for _ in range(count)], dtype=float)


def words(bound):
    return bound.describe()


# Laws.


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_gauge_of_box_noise_has_a_gamma_law_and_its_point_is_uniform_on_the_boundary(size):
    scales = tuple(scale * WIDE for scale in (1, 3, 2, 5)[:size])
    points = draws(BoxNoise(scales), 6000) / np.array(scales, dtype=float)
    gauges = np.abs(points).max(axis=1)
    assert fits_only_at_its_scale(gauges, stats.gamma(size).cdf)
    assert not fits(gauges, stats.gamma(size + 1).cdf)
    if size == 1:
        return
    faces = np.abs(points).argmax(axis=1)
    assert stats.chisquare(np.bincount(faces, minlength=size)).pvalue > FALSE_ALARM
    for face in range(size):
        others = np.delete(points[faces == face] / gauges[faces == face][:, None], face, axis=1)
        longer = gauges[faces == face] > np.median(gauges)
        for column in others.T:
            assert fits(column, stats.uniform(-1, 2).cdf)
            assert not fits(column * math.sqrt(2), stats.uniform(-1, 2).cdf)
            assert same_law(column[longer], column[~longer])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_ellipsoid_noise_is_a_block_stretched_along_the_axes(size):
    scales = tuple(scale * WIDE for scale in (1, 3, 2, 5, 4)[:size])
    # Of fewer coordinates the law is closer to that of another scale, or of one coordinate more.
    count = {1: 2500, 2: 1500, 5: 1500}[size]
    points = draws(EllipsoidNoise(scales), count) / np.array(scales, dtype=float)
    lengths = np.linalg.norm(points, axis=1)
    assert fits_only_at_its_scale(lengths, stats.gamma(size).cdf)
    assert not fits(lengths, stats.gamma(size + 1).cdf)
    if size == 1:
        return
    # (1 + u) / 2 for a coordinate u of a uniform point of the sphere.
    marginal = stats.beta((size - 1) / 2, (size - 1) / 2).cdf
    for column in (points / lengths[:, None]).T:
        assert fits((1 + column) / 2, marginal)


@pytest.mark.parametrize("scale", [2, 7])
def test_a_box_of_one_coordinate_is_a_rounded_laplace_variable(scale):
    integers = [BoxNoise((scale,)).draw()[0] for _ in range(6000)]
    assert rounded_laplace_p_value(integers, scale) > FALSE_ALARM
    assert rounded_laplace_p_value(integers, scale * math.sqrt(2)) < FALSE_ALARM
    assert rounded_laplace_p_value(integers, scale / math.sqrt(2)) < FALSE_ALARM


def test_rounded_box_noise_has_its_density():
    """Chances of cells from the density exp(-max |z_j| / b_j) / (2! 4 b_1 b_2)."""
    scales, count, half, fine = (3, 2), 12_000, 14, 40
    integers = np.array([BoxNoise(scales).draw() for _ in range(count)])
    points = (np.arange(-half * fine, (half + 1) * fine) + 0.5) / fine - 0.5
    gauge = np.maximum(np.abs(points[:, None]) / scales[0], np.abs(points[None]) / scales[1])
    mass = np.exp(-gauge) / (8 * scales[0] * scales[1]) / fine**2
    cells = 2 * half + 1
    mass = mass.reshape(cells, fine, cells, fine).sum(axis=(1, 3))
    inside = np.abs(integers).max(axis=1) <= half
    observed = np.zeros((cells, cells))
    np.add.at(observed, tuple((integers[inside] + half).T), 1)
    common = count * mass >= 20
    expected = np.append(count * mass[common], count * (1 - mass[common].sum()))
    found = np.append(observed[common], count - observed[common].sum())
    assert stats.chisquare(found, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", [BoxNoise((WIDE, 4 * WIDE, WIDE)), EllipsoidNoise((WIDE, 4 * WIDE))])
def test_simulation_and_variances_are_those_of_the_law(law):
    simulated = law.simulate(np.random.default_rng(0), 200_000)
    exact = draws(law, 4000)
    for drawn, floats in zip(exact.T, simulated.T, strict=True):
        assert same_law(drawn, floats)
        assert not same_law(drawn * math.sqrt(2), floats)
    assert same_law(exact[:, 0] * exact[:, 1], simulated[:, 0] * simulated[:, 1])
    squares = simulated**2
    error = squares.std(axis=0) / math.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - law.variances()) < 5.5 * error)
    assert law_from_json(law.to_json()) == law


# Losses: the largest of a norm over a body, by other ways.


def loss_of(noise, kind, width):
    return achieved_guarantee(noise, kind, width, PureDP(Fraction(1))).epsilon


def norm_of(noise, shift) -> float:
    """Log density ratio of the noise far out along a shift."""
    if isinstance(noise, BoxNoise):
        return max(abs(d) / b for d, b in zip(shift, noise.scales, strict=True))
    if isinstance(noise, EllipsoidNoise):
        return math.hypot(*(d / a for d, a in zip(shift, noise.scales, strict=True)))
    total, start = 0.0, 0
    for size, scale in zip(noise.block_sizes, noise.scales, strict=True):
        total += math.hypot(*shift[start : start + size]) / scale
        start += size
    return total


def log_density(noise, points):
    return np.array([-norm_of(noise, point) for point in points])


LAWS = [BoxNoise((3, 5, 2, 7)), EllipsoidNoise((3, 5, 2, 7)), KNormNoise((1, 2, 1), (3, 5, 2))]
SIZES = (11, 40, 9, 3)


@pytest.mark.parametrize("noise", LAWS, ids=lambda law: law.law)
def test_the_loss_on_a_box_is_the_largest_at_its_vertices(noise):
    corners = [
        [sign * size for sign, size in zip(signs, SIZES, strict=True)]
        for signs in itertools.product((-1, 1), repeat=4)
    ]
    largest = max(norm_of(noise, corner) for corner in corners)
    assert float(loss_of(noise, "box", SIZES)) == pytest.approx(largest, rel=1e-12)
    assert loss_of(noise, "box", SIZES) >= Fraction(largest) * (1 - Fraction(1, 10**15))


@pytest.mark.parametrize("noise", LAWS, ids=lambda law: law.law)
def test_the_loss_on_an_ellipsoid_is_the_largest_on_its_surface(noise):
    loss = float(loss_of(noise, "ellipsoid", SIZES))
    sphere = np.random.default_rng(1).normal(size=(20_000, 4))
    # Some coordinates alone, too: suprema are at ends of axes.
    sphere[::2] *= np.random.default_rng(2).integers(0, 2, (10_000, 4)) + 1e-9
    surface = sphere / np.linalg.norm(sphere, axis=1)[:, None] * np.array(SIZES)
    found = max(norm_of(noise, shift) for shift in surface.tolist())
    assert found <= loss * (1 + 1e-12)
    assert found > 0.995 * loss


@pytest.mark.parametrize("noise", LAWS[:2], ids=lambda law: law.law)
@pytest.mark.parametrize("order", [1, 2, np.inf], ids=["l1", "l2", "linf"])
def test_the_loss_on_a_ball_is_the_largest_on_its_surface(noise, order):
    name = {1: "l1", 2: "l2", np.inf: "linf"}[order]
    loss = float(loss_of(noise, name, 20))
    points = np.random.default_rng(7).normal(size=(20_000, 4))
    points[::2] *= np.random.default_rng(8).integers(0, 2, (10_000, 4)) + 1e-9
    points[::5] = np.sign(points[::5])
    surface = 20 * points / np.linalg.norm(points, ord=order, axis=1)[:, None]
    found = max(norm_of(noise, shift) for shift in surface.tolist())
    assert 0.995 * loss < found <= loss * (1 + 1e-12)


def test_the_loss_is_the_density_ratio():
    for noise, kind in itertools.product(LAWS, ("box", "ellipsoid")):
        loss = float(loss_of(noise, kind, SIZES))
        points = noise.simulate(np.random.default_rng(3), 2000)
        for shift in np.diag(SIZES) if kind == "ellipsoid" else [np.array(SIZES)]:
            ratio = log_density(noise, points) - log_density(noise, points - shift)
            assert np.all(np.abs(ratio) <= loss * (1 + 1e-12))


@pytest.mark.parametrize("kind", ["box", "ellipsoid"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(7)], ids=str)
def test_calibrated_noise_spends_epsilon_and_noise_cut_by_root_two_does_not_keep_it(kind, epsilon):
    widths = tuple(int(2**30 / j**1.5) for j in range(1, 16))
    guarantee = PureDP(epsilon)
    relative = np.linspace(2, 1, 15)
    made = [body_noise(kind, widths, guarantee), laplace_on_body(relative, kind, widths, guarantee)]
    for noise in made:
        loss = loss_of(noise, kind, widths)
        assert epsilon * (1 - Fraction(1, 10**6)) < loss <= epsilon
        cut = {"scales": tuple(round(scale / math.sqrt(2)) for scale in noise.scales)}
        if isinstance(noise, KNormNoise):
            cut["block_sizes"] = noise.block_sizes
        stated = achieved_guarantee(type(noise)(**cut), kind, widths, guarantee)
        assert not within(stated, guarantee)
        assert float(stated.epsilon) == pytest.approx(math.sqrt(2) * float(epsilon), rel=1e-5)
    concentrated = achieved_guarantee(made[0], kind, widths, ZeroConcentratedDP(1))
    e = float(loss_of(made[0], kind, widths))
    # As one Laplace variable; an ellipsoid, the image of one block, as its 15 coordinates allow.
    laplace = e + math.expm1(-e)
    rho = laplace if kind == "box" else min(laplace, e**2 / 30)
    assert float(concentrated.rho) == pytest.approx(rho, rel=1e-12)


@pytest.mark.parametrize("kind", ["box", "ellipsoid"])
def test_gaussian_noise_on_a_body_has_the_profile_of_its_longest_difference(kind):
    widths = tuple(int(2**30 / j) for j in range(1, 9))
    guarantee = ApproximateDP(1, "1e-6")
    noise = gaussian_on_body(np.linspace(3, 1, 8), kind, widths, guarantee)
    ratios = np.array(widths) / np.array(noise.scales)
    mu = np.linalg.norm(ratios) if kind == "box" else ratios.max()
    delta = gaussian_delta(Fraction(1), Fraction(mu))
    assert float(delta) == pytest.approx(1e-6, rel=1e-5)
    stated = achieved_guarantee(noise, kind, widths, guarantee)
    assert within(stated, guarantee)
    cut = GaussianNoise(tuple(round(scale / math.sqrt(2)) for scale in noise.scales))
    assert not within(achieved_guarantee(cut, kind, widths, guarantee), guarantee)


def test_widths_of_the_wrong_kind_are_refused():
    with pytest.raises(ParameterError, match="one integer for a ball, sizes for a body"):
        loss_of(BoxNoise((1, 2)), "box", 3)
    with pytest.raises(DpfdaError, match="1 sizes for 2 coordinates"):
        loss_of(BoxNoise((1, 2)), "box", (3,))


# Rows into the body.


def share(row, body) -> Fraction:
    """Gauge of an integer row, squared for the ellipsoid, in rational arithmetic."""
    parts = [Fraction(abs(int(c)), a) for c, a in zip(row, body.axes, strict=True)]
    return max(parts) if body.norm == "box" else sum((part**2 for part in parts), Fraction(0))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["box", "ellipsoid"]),
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6),
    st.integers(0, 2**32),
    st.integers(-400, 400),
)
def test_any_row_is_brought_into_the_body_and_not_destroyed(kind, axes, seed, exponent):
    body = IntegerBody.of(kind, axes, len(axes))
    generator = np.random.default_rng(seed)
    mantissas = np.rint(generator.normal(size=(8, len(axes))) * 2.0**40)
    exponents = np.full(8, exponent) + np.arange(-44, -36)
    clipped = body.clip(Rows(mantissas, exponents.astype(np.int64)))
    for row, given_row, power in zip(clipped, mantissas, exponents, strict=True):
        assert share(row, body) <= 1
        target = [Fraction(value) * Fraction(2) ** int(power + body.exponent) for value in given_row]
        if kind == "box":
            for got, wanted, axis in zip(row, target, body.axes, strict=True):
                nearest = max(-axis, min(axis, wanted))
                assert abs(int(got) - nearest) <= 1
            continue
        whole = float(sum((t / a) ** 2 for t, a in zip(target, body.axes, strict=True)))
        factor = min(1.0, whole**-0.5) if whole > 0 else 1.0
        for got, wanted in zip(row, target, strict=True):
            assert abs(int(got) - float(wanted) * factor) <= 2 + abs(float(wanted)) * factor * 2e-8
    # Row i depends on record i alone.
    alone = body.clip(Rows(mantissas[3:4], exponents[3:4].astype(np.int64)))
    assert np.array_equal(alone[0], clipped[3])


def test_what_is_no_number_becomes_the_zero_vector_and_coefficients_without_a_size_are_zero():
    body = IntegerBody("ellipsoid", (8, 4), 0)
    rows = Rows(np.array([[np.nan, 1.0, 1.0], [3.0, 1.0, 9.0]]), np.zeros(2, dtype=np.int64))
    assert body.clip(rows).tolist() == [[0, 0, 0], [3, 1, 0]]


def test_axes_are_rounded_down_to_a_public_grid():
    body = IntegerBody.of("ellipsoid", (1.0, 0.3, 1e-5), 5)
    for axis, size in zip(body.axes, (1.0, 0.3, 1e-5), strict=True):
        assert Fraction(axis) <= Fraction(size) * 2**body.exponent < axis + 1
    assert body.radius == body.axes[0]
    box = IntegerBody.of("box", (3.0, 4.0), 2)
    assert box.radius**2 >= sum(axis**2 for axis in box.axes) > (box.radius - 1) ** 2
    with pytest.raises(ParameterError, match=r"positive integers below 2\^31"):
        IntegerBody("ellipsoid", (2**31,), 0)
    with pytest.raises(ParameterError, match=r"within a factor 2\^20"):
        IntegerBody.of("box", (1.0, 1e-9), 2)


# Designs.


def request_of(bound, guarantee, mechanism, neighbours=Neighbours.REPLACE_ONE, size=300):
    return MeanPlan.of(BASIS, bound, guarantee, neighbours, mechanism, size, "record", {})


def designed(bound, guarantee, mechanism, neighbours):
    """The request with its design; or what was raised."""
    try:
        request = request_of(bound, guarantee, mechanism, neighbours)
        return (request, None) if request.public_design else (None, None)
    except ParameterError as refusal:
        return None, refusal


# One body of each kind for all mechanisms: exact deltas of mixtures take seconds.
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("bound", BODIES[::2], ids=words)
@pytest.mark.parametrize("name", mechanisms())
def test_every_mechanism_keeps_the_guarantee_on_a_body_or_is_refused(name, bound, guarantee):
    for neighbours in Neighbours:
        request, refusal = designed(bound, guarantee, name, neighbours)
        if request is None:
            assert refusal.remedy
            continue
        design = request.public_design
        problem = request.problem(300)
        kind, widths = problem.differences(design)
        assert kind == bound.norm
        sizes = [neighbours.differences(axis) for axis in request.ball.axes]
        assert list(widths) == sizes + [0] * (len(widths) - len(sizes))
        stated = achieved_guarantee(design.noise, kind, widths, guarantee)
        assert within(stated, guarantee)
        assert np.all((design.shrinkage >= 0) & (design.shrinkage <= 1))
        if name in ("knorm", "laplace", "gaussian"):
            least = {"epsilon": 0.999, "delta": 0.999, "rho": 0.999}
            for field, part in least.items():
                if hasattr(guarantee, field) and hasattr(stated, field):
                    assert getattr(stated, field) > part * float(getattr(guarantee, field))


@pytest.mark.parametrize("bound", BODIES, ids=words)
def test_bodies_have_less_expected_error_than_the_ball_around_them(bound):
    for guarantee in (PureDP(1), guarantee_for(1, "1e-6")):
        problem = make_problem(BASIS, bound.on_basis(BASIS.eigenvalues), 300, guarantee)
        powers = []
        for made in (
            choose(problem, "auto"),
            choose(problem.enclosed, "knorm" if isinstance(guarantee, PureDP) else "gaussian"),
        ):
            prior = problem.prior[: made.components]
            power = problem.noise_power(made.noise.variances())
            rest = problem.prior[made.components :].sum()
            powers.append(float(np.sum(prior * power / (prior + power)) + rest))
        assert powers[0] < powers[1]


def test_the_size_of_a_block_on_a_body_is_the_best_one():
    problem = make_problem(BASIS, BODIES[0].on_basis(BASIS.eigenvalues), 300, PureDP(1))
    errors = []
    for count in range(1, 13):
        noise = choose(problem, KNorm(count)).noise
        assert isinstance(noise, BoxNoise)
        power = problem.noise_power(noise.variances())
        prior = problem.prior[:count]
        errors.append(float(np.sum(prior * power / (prior + power)) + problem.prior[count:].sum()))
    assert choose(problem, "knorm").components == 1 + int(np.argmin(errors))


def test_a_plan_on_a_body_states_the_error_of_its_own_prior():
    plan = make_plan(BASIS, BODIES[2], 300, PureDP(1), mechanism="knorm")
    problem, design = plan.problem, plan.design
    generator = np.random.default_rng(4)
    unit = problem.ball.radius * problem.ball.step
    means = generator.normal(size=(40_000, problem.prior.size)) * np.sqrt(problem.prior) * unit
    noise = design.noise.simulate(generator, 40_000) * problem.ball.step / 300
    kept = design.components
    released = np.zeros_like(means)
    released[:, :kept] = (means[:, :kept] + noise) * design.shrinkage
    squares = np.sum((released - means) ** 2, axis=1)
    assert plan.error.total == pytest.approx(
        squares.mean(), rel=6 * squares.std() / squares.mean() / 200
    )


# Bounds as users state them.


def test_bounds_are_read_and_put_on_a_basis():
    box = read_bounds(BoxBound(2), standardize=False)
    assert box.on_basis(np.ones(3)).half_widths == (2.0, 2.0, 2.0)
    assert BoxBound([3, 2, 1]).on_basis(np.ones(2)).half_widths == (3.0, 2.0)
    assert BoxBound([3.0, 4.0]).radius_on(GRID, GRID) == 5.0
    round_trip = Ellipsoid(
        **{k: v for k, v in Ellipsoid(radius=2, power=3).to_json().items() if k != "kind"}
    )
    assert round_trip == Ellipsoid(radius=2.0, power=3.0)
    axes = Ellipsoid(radius=2.0, power=3.0).on_basis(np.array([4.0, 1.0])).semi_axes
    assert axes == pytest.approx((16.0, 2.0))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (
            lambda: BoxBound([1.0, 0.0]),
            "half_widths must be positive and finite; found 0.0 at position 1",
        ),
        (
            lambda: BoxBound([[1.0]]),
            r"half_widths must be one number or a list of numbers; found shape \(1, 1\)",
        ),
        (lambda: BoxBound("wide"), "half_widths must be numbers; found 'wide'"),
        (lambda: BoxBound(math.inf), "half_widths must be positive and finite; found inf"),
        (
            Ellipsoid,
            "Ellipsoid must have semi_axes or a radius, and not both; found both or neither",
        ),
        (lambda: Ellipsoid([1.0], radius=2.0), "semi_axes or a radius, and not both"),
        (lambda: Ellipsoid(radius=-1), "Ellipsoid radius must be positive and finite; found -1"),
        (lambda: Ellipsoid(radius=1, power="x"), "Ellipsoid power must be a number; found 'x'"),
        (lambda: BoxBound(1.0).body(3), "put on a basis before its sizes are asked for"),
        (lambda: Ellipsoid(radius=1.0).radius_on(GRID, GRID), r"Call on_basis\(eigenvalues\) first"),
    ],
)
def test_bounds_that_are_none_are_refused_in_words(make, match):
    with pytest.raises(ParameterError, match=match):
        make()


@pytest.mark.parametrize("bound", BODIES, ids=words)
def test_a_release_is_made_saved_and_described(bound, tmp_path):
    curves = np.sin(5 * GRID) + np.random.default_rng(5).normal(size=(60, 1))
    mean = PrivateMean(1.0, bounds=bound, domain=Domain(GRID), basis=Matern(0.2, nu=1.5))
    release = mean.fit(curves).release_
    again = ReleasedFunction.load(release.save(tmp_path / "body.json"))
    assert again.noise == release.noise
    assert again.certificate.bound == release.certificate.bound
    assert np.array_equal(again(GRID), release(GRID))
    text = " ".join(release.describe().split())
    assert "its own public limit" in text
    assert release.certificate.bound["description"] in text


def test_a_bound_that_holds_leaves_records_alone_and_a_narrow_one_pulls_them_in():
    curves = np.outer(np.linspace(-1, 1, 41), np.cos(3 * GRID)) + np.sin(2 * GRID)
    for make in (BoxBound, Ellipsoid):
        loose, tight = make(np.full(24, 50.0)), make(np.full(24, 0.1))
        settings_ = {"grid_points": GRID, "basis": Matern(0.2, nu=1.5), "mechanism": KNorm(24)}
        found = PrivateMean(1e8, bounds=loose, **settings_).fit(curves).release_(GRID)
        np.testing.assert_allclose(found, curves.mean(axis=0), rtol=0, atol=1e-3)
        pulled = PrivateMean(1e8, bounds=tight, **settings_).fit(curves).release_
        sizes = np.abs(pulled.coefficients)
        assert sizes.max() <= 0.1 + 1e-4
        assert sizes.max() > 0.05


# Audits: two neighbouring data sets a whole diameter apart, and what is published of them.


def audit_on(bound, worst, epsilon, cut=1.0):
    """Records at opposite ends of the body; the noise is that of the design, or cut."""
    mean = PrivateMean(
        float(epsilon), bounds=bound, domain=Domain(GRID), basis=Matern(0.2, nu=1.5), mechanism="knorm"
    )
    functions = BASIS.evaluate(GRID)
    sides = [sign * 3 * functions[:, : len(worst)] @ worst for sign in (1, -1)]
    prepared = [mean.prepare(np.vstack([np.zeros((2, 24)), side])) for side in sides]
    noise = prepared[0].plan.public_design.noise
    zeros = [0] * noise.components
    sums = [np.array(each.total.with_noise(zeros), dtype=float) for each in prepared]
    if cut != 1.0:
        noise = type(noise)(tuple(round(scale / cut) for scale in noise.scales))

    return Audit(sums, noise, float(epsilon))


@pytest.mark.parametrize(
    ("bound", "worst"),
    [(BoxBound([0.5, 0.3]), np.array([0.5, 0.3])), (Ellipsoid([0.5, 0.3]), np.array([0.5, 0.0]))],
    ids=["box", "ellipsoid"],
)
def test_an_audit_keeps_to_the_claim_and_breaks_it_where_the_noise_is_cut(bound, worst):
    assert audit_on(bound, worst, 1).bound(4000) <= 1.0
    assert audit_on(bound, worst, 1, cut=math.sqrt(2)).bound(12_000) > 1.0
