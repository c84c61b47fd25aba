"""Clip and round: never outside the ball, never destroyed, and the sum moves by the claimed width."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from dpfda import PrivacyUnit, PrivateMean, Reading
from dpfda.bases import KernelBasis
from dpfda.bounds import IntegerBall, L1Ball, L2Ball, ValueBounds, read_bounds
from dpfda.errors import ParameterError
from dpfda.mechanisms.laplace import Laplace
from dpfda.numerics.embedding import Rows, project

NORMS = ["l1", "l2"]


# An independent way: Python integers and rationals alone.


def size(row, norm: str) -> int:
    """Norm of an integer row; its square for l2."""
    entries = [abs(int(entry)) for entry in row]
    return sum(entries) if norm == "l1" else sum(entry**2 for entry in entries)


def inside(row, ball: IntegerBall) -> bool:
    return size(row, ball.norm) <= (ball.radius if ball.norm == "l1" else ball.radius**2)


def nearest(row: list[Fraction], ball: IntegerBall) -> list[Fraction]:
    """Nearest point of the real ball: scaling for l2, a threshold found by bisection for l1."""
    radius = Fraction(ball.radius)
    if ball.norm == "l2":
        square = sum((entry**2 for entry in row), Fraction(0))
        if square <= radius**2:
            return row
        # The root of p/q is isqrt(p q 4^200) / (q 2^200), to far more digits than needed.
        product = square.numerator * square.denominator << 400
        length = Fraction(math.isqrt(product), square.denominator << 200)
        return [entry * radius / length for entry in row]
    sizes = [abs(entry) for entry in row]
    if sum(sizes) <= radius:
        return row
    low, high = max(Fraction(0), max(sizes) - radius), max(sizes)
    for _ in range(90):
        middle = (low + high) / 2
        if sum(max(entry - middle, Fraction(0)) for entry in sizes) > radius:
            low = middle
        else:
            high = middle
    return [(1 if entry > 0 else -1) * max(abs(entry) - high, Fraction(0)) for entry in row]


def grid_units(rows: Rows, index: int, ball: IntegerBall) -> list[Fraction]:
    scale = Fraction(2) ** (int(rows.exponents[index]) + ball.exponent)
    return [Fraction(float(mantissa)) * scale for mantissa in rows.mantissas[index]]


def check_clipped(rows: Rows, ball: IntegerBall) -> np.ndarray:
    """Clip; every row is inside and next to the exact projection, toward zero.

    Rounding costs less than a unit a coordinate. Where the exact projection is so close to a boundary
    point of the grid that floats cannot tell, the repair costs one more.
    """
    clipped = ball.clip(rows)
    assert clipped.dtype == np.int64
    for index, row in enumerate(clipped):
        assert inside(row, ball)
        for got, target in zip(row, nearest(grid_units(rows, index, ball), ball), strict=True):
            assert abs(int(got) - target) <= 2 + abs(target) / 10**9
            assert int(got) * target >= 0
    return clipped


# Wild records.

ANALYSIS = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0][:, :4]

finite = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)
extremes = st.sampled_from([0.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 1.0, -1.0, 1e-9, 1e9])
one_hot = st.tuples(st.integers(0, 5), finite).map(
    lambda t: [t[1] if j == t[0] else 0.0 for j in range(6)]
)
all_equal = finite.map(lambda value: [value] * 6)
curves = st.one_of(
    st.lists(st.one_of(finite, extremes, st.floats(-3, 3)), min_size=6, max_size=6), one_hot, all_equal
)
radii = st.one_of(
    st.floats(1e-6, 1e6), st.floats(1e-300, 1e300), st.sampled_from([1.0, 0.5, 1e-12, 3.7])
)


@pytest.mark.parametrize("norm", NORMS)
@settings(deadline=None, max_examples=150)
@given(values=st.lists(curves, min_size=1, max_size=4), radius=radii)
def test_wild_records_are_clipped_into_the_ball_and_not_destroyed(norm, values, radius):
    ball = IntegerBall.of(norm, radius, 4)
    check_clipped(project(np.array(values), ANALYSIS), ball)


coefficients = st.one_of(
    st.integers(-(2**53), 2**53), st.sampled_from([0, 1, -1, 2**53, -(2**53), 2**31]), st.integers(-9, 9)
)


@pytest.mark.parametrize("norm", NORMS)
@settings(deadline=None, max_examples=200)
@given(
    row=st.lists(coefficients, min_size=1, max_size=5),
    exponent=st.one_of(st.integers(-60, 60), st.integers(-2200, 2200)),
    radius=st.one_of(st.integers(1, 50), st.integers(2**20, 2**30)),
)
@example(row=[2**53, 1], exponent=2000, radius=1)
@example(row=[1, 1, 1, 1, 1], exponent=2000, radius=2)
@example(row=[2**53] * 5, exponent=-2000, radius=2**30)
def test_any_coefficients_are_clipped_into_the_ball_and_not_destroyed(norm, row, exponent, radius):
    mantissas = np.array([row], dtype=float)
    check_clipped(Rows(mantissas, np.array([exponent])), IntegerBall(norm, radius, 0))


@pytest.mark.parametrize("norm", NORMS)
@settings(deadline=None, max_examples=200)
@given(
    direction=st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(
        lambda d: max(map(abs, d)) > 1e-3
    ),
    nudge=st.sampled_from([1.0, 1 - 2**-53, 1 + 2**-52, 1 - 2**-31, 1 + 2**-31, 1 - 1e-9, 1 + 1e-9]),
    radius=st.floats(0.1, 10),
)
@example(direction=[0.0, 0.0, 0.5, 1e-9], nudge=1.0, radius=1.0)
def test_records_on_the_boundary_stay_there(norm, direction, nudge, radius):
    ball = IntegerBall.of(norm, radius, 4)
    row = np.array([direction])
    length = np.abs(row).sum() if norm == "l1" else np.sqrt((row**2).sum())
    mantissas = np.rint(row / length * radius * nudge * 2.0**49)
    clipped = check_clipped(Rows(mantissas, np.array([-49])), ball)[0]
    reached = size(clipped, norm) if norm == "l1" else math.isqrt(size(clipped, norm))
    # Rounding toward zero costs at most a unit a coordinate.
    assert reached >= ball.radius * (1 - 1e-8) - 4


@pytest.mark.parametrize("norm", NORMS)
@settings(deadline=None, max_examples=100)
@given(row=st.lists(st.integers(-(2**27), 2**27), min_size=4, max_size=4))
def test_integers_inside_the_ball_are_left_as_they_are(norm, row):
    ball = IntegerBall(norm, 2**30, 0)
    clipped = ball.clip(Rows(np.array([row], dtype=float), np.array([0])))
    assert clipped.tolist() == [row]


def just_outside() -> tuple[int, int, int]:
    """Integers with a^2 + b^2 = r^2 + 1, so that the float length of (a, b) is r."""
    k = 2**15
    a, b, r = k * k + k - 1, 2 * k + 1, k * k + k + 1
    assert a * a + b * b == r * r + 1
    assert math.sqrt(float(a * a + b * b)) == r
    return a, b, r


def test_a_record_that_floats_cannot_tell_from_the_boundary_is_brought_in_by_one_unit():
    a, b, r = just_outside()
    ball = IntegerBall("l2", r, 0)
    assert not inside((a, b), ball)
    clipped = check_clipped(Rows(np.array([[a, -b]], dtype=float), np.array([0])), ball)
    assert np.abs(clipped - np.array([[a, -b]])).max() == 1


@pytest.mark.parametrize("norm", NORMS)
def test_rows_that_arrive_outside_are_repaired_each_by_itself(norm, monkeypatch):
    arrived = [
        ([600.0, -399.0], [600, -399]),
        ([999.9, 0.4], [999, 0]),  # Rounding toward zero is enough.
        ([1001.0, 0.0], [1000, 0]),  # One unit is enough.
        ([-1001.0, 1.0], [-1000, 0]),
        ([900.0, -901.0], [450, -450]),  # Halving is enough.
        ([2500.0, 0.0], [0, 0]),  # Nothing is.
        ([-3000.0, 5000.0], [0, 0]),
        # These would wrap around in an integer: the square of -2^63 is 0 modulo 2^64.
        ([np.nan, 0.0], [0, 0]),
        ([1.0, np.inf], [0, 0]),
        ([-np.inf, 0.0], [0, 0]),
        ([-(2.0**63), 0.0], [0, 0]),
        ([2.0**32, 2.0**32], [0, 0]),
        ([1e300, -1e300], [0, 0]),
    ]
    fed = np.array([row for row, _ in arrived])
    monkeypatch.setattr(IntegerBall, "scaled", lambda self, mantissas, exponents: fed)
    clipped = IntegerBall(norm, 1000, 0).clip(Rows(fed, np.zeros(len(fed), dtype=np.int64)))
    assert all(inside(row, IntegerBall(norm, 1000, 0)) for row in clipped)
    assert clipped.tolist() == [wanted for _, wanted in arrived]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_coefficients_that_are_no_numbers_stay_inside(norm, bad):
    rows = Rows(np.array([[bad, 1.0], [3.0, bad], [3.0, 1.0]]), np.array([0, 900, 0]))
    ball = IntegerBall(norm, 1000, 0)
    clipped = ball.clip(rows)
    assert all(inside(row, ball) for row in clipped)
    assert clipped[2].tolist() == [3, 1]


def test_halving_that_does_not_help_ends_at_zero(monkeypatch):
    fed = np.full((1, 4), 999.0)
    monkeypatch.setattr(IntegerBall, "scaled", lambda self, mantissas, exponents: fed)
    # Its l1 norm is 3996, halved 1996: still outside.
    assert IntegerBall("l1", 1000, 0).clip(Rows(fed, np.array([0]))).tolist() == [[0, 0, 0, 0]]
    # Its l2 norm is 1998, halved 998: inside.
    assert IntegerBall("l2", 1000, 0).clip(Rows(fed, np.array([0]))).tolist() == [[499] * 4]


@settings(deadline=None)
@given(
    norm=st.sampled_from(NORMS),
    radius=st.floats(1e-250, 1e250),
    components=st.integers(1, 2000),
)
def test_the_grid_holds_the_ball_without_overflow(norm, radius, components):
    ball = IntegerBall.of(norm, radius, components)
    assert components * (ball.radius + 1) ** 2 < 2**62
    # Rounded down, so the integer ball is inside the stated one; and the grid is as fine as that allows.
    in_units = Fraction(radius) * Fraction(2) ** ball.exponent
    assert ball.radius <= in_units < ball.radius + 1
    assert components * (2 * in_units + 2) ** 2 > 2**61
    assert ball.step == 2.0**-ball.exponent


# Values.


@settings(deadline=None)
@given(
    values=st.lists(st.one_of(finite, st.floats(-5, 5)), min_size=5, max_size=5),
    lower=st.floats(-3, 0),
    width=st.floats(0.1, 5),
)
def test_value_bounds_clip_entry_by_entry_and_fit_their_ball(values, lower, width):
    bound = ValueBounds(lower, lower + width)
    grid, weights = np.linspace(0, 1, 5), np.full(5, 0.2)
    restricted = bound.restrict(np.array([values]), grid)[0]
    center = bound.center_on(grid)
    expected = [min(max(value, bound.lower), bound.upper) for value in values] - center
    assert np.array_equal(restricted, expected)
    assert np.sqrt(np.sum(weights * restricted**2)) <= bound.radius_on(grid, weights) * (1 + 1e-12)


def test_value_bounds_may_be_curves():
    grid, weights = np.array([0.0, 0.5, 1.0]), np.array([0.25, 0.5, 0.25])
    bound = ValueBounds([0.0, 1.0, 2.0], 4.0)
    assert bound.radius_on(grid, weights) == pytest.approx(math.sqrt(0.25 * 4 + 0.5 * 2.25 + 0.25 * 1))
    assert bound.center_on(grid).tolist() == [2.0, 2.5, 3.0]
    assert bound.restrict(np.array([[-9.0, 2.0, 9.0]]), grid).tolist() == [[-2.0, -0.5, 1.0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L2Ball(0.0), r"L2Ball radius must be positive and finite; found 0\.0"),
        (lambda: L1Ball(-1), r"L1Ball radius must be positive and finite; found -1"),
        (lambda: L1Ball(float("nan")), "must be positive and finite; found nan"),
        (lambda: L2Ball(float("inf")), "must be positive and finite; found inf"),
        (lambda: L2Ball("wide"), "L2Ball radius must be a number; found 'wide'"),
        (lambda: ValueBounds(1.0, 1.0), r"must have lower < upper; found \(1\.0, 1\.0\)"),
        (lambda: ValueBounds(2.0, 1.0), r"must have lower < upper; found \(2\.0, 1\.0\)"),
        (lambda: ValueBounds(0.0, float("inf")), "upper bound must be finite; found inf"),
        (lambda: ValueBounds(float("nan"), 1.0), "lower bound must be finite; found nan"),
        (lambda: ValueBounds(-1.7e308, 1.7e308), "be of size at most 1e100"),
        (lambda: ValueBounds([0.0, 1.0], [1.0, 2.0, 3.0]), "must have one length"),
        (lambda: read_bounds(None, False), "bounds must be given; found None.*never from these data"),
        (lambda: read_bounds(3.0, False), "bounds must be .*; found float"),
    ],
)
def test_unusable_bounds_are_refused_in_words(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_there_is_a_bound_without_asking_only_for_standardized_curves():
    assert read_bounds(None, True) == L2Ball(1.0)


# The sum moves between neighbours by the claimed width, and no less than that is true.

GRID = np.linspace(0, 1, 8)
BASIS = KernelBasis.on_grid(Matern(0.3, nu=1.5), GRID)
BOUNDS = {
    "value": ValueBounds(-1.0, 2.0),
    "curve": ValueBounds(-1 - GRID, 1 + GRID**2),
    "l2": L2Ball(0.7),
    "l1": L1Ball(1.3),
}
# All components are released, so that the sum has nowhere to hide.
ALL = {"replace-one": Laplace(), "add-remove": Laplace()}


def integer_sum(curves: np.ndarray, bound, neighbours: str, groups=None) -> tuple[list[int], int]:
    """Exact sum of a data set, and the width that its noise is calibrated to."""
    mean = PrivateMean(
        1.0,
        bounds=bound,
        basis=BASIS,
        mechanism=ALL[neighbours],
        unit=PrivacyUnit(neighbours=neighbours),
    )
    prepared = mean.prepare(curves, groups)
    width = prepared.plan.problem(5).width
    return list(prepared.total.with_noise([0] * BASIS.eigenvalues.size)), width


def moved(first: list[int], second: list[int], norm: str, width: int) -> Fraction:
    """Share of the claimed width by which the sum moved, checked exactly to be at most one."""
    change = size([a - b for a, b in zip(first, second, strict=True)], norm)
    assert change <= (width if norm == "l1" else width**2)
    return Fraction(change, width if norm == "l1" else width**2)


def adversaries() -> list[np.ndarray]:
    """Curves that push in one direction as far as they can."""
    functions = BASIS.evaluate(GRID)
    signs = np.sign(np.random.default_rng(2).normal(size=(6, 8)))
    rows = [*functions.T, *(1e3 * functions.T), *(1e300 * functions.T), *signs, *(1e308 * signs)]
    rows += [np.zeros(8), np.full(8, 5e-324), np.full(8, 1.7e308), *np.eye(8), *(0.3 * np.eye(8))]
    return [sign * row for row in rows for sign in (1, -1)]


@pytest.mark.parametrize("kind", BOUNDS)
def test_replacing_a_record_moves_the_sum_by_at_most_the_width(kind):
    bound, generator = BOUNDS[kind], np.random.default_rng(3)
    candidates = adversaries() + list(
        generator.normal(size=(40, 8)) * 10.0 ** generator.integers(-2, 3, (40, 1))
    )
    rest = generator.normal(size=(4, 8))
    sums = [integer_sum(np.vstack([rest, row]), bound, "replace-one") for row in candidates]
    width = sums[0][1]
    shares = [
        moved(first, second, bound.norm, width)
        for index, (first, _) in enumerate(sums)
        for second, _ in sums[index + 1 :]
    ]
    # The width is attained, so it is not loose.
    assert max(shares) >= 1 - Fraction(2, 10**6)


@pytest.mark.parametrize("kind", BOUNDS)
def test_removing_a_record_moves_the_sum_by_at_most_the_width(kind):
    bound, generator = BOUNDS[kind], np.random.default_rng(4)
    rest = generator.normal(size=(4, 8))
    base, width = integer_sum(rest, bound, "add-remove")
    candidates = adversaries() + list(
        generator.normal(size=(40, 8)) * 10.0 ** generator.integers(-2, 3, (40, 1))
    )
    shares = []
    for index, row in enumerate(candidates):
        place = index % 5
        longer = np.insert(rest, place, row, axis=0)
        total, claimed = integer_sum(longer, bound, "add-remove")
        assert claimed == width
        shares.append(moved(total, base, bound.norm, width))
    assert max(shares) >= 1 - Fraction(2, 10**6)


@pytest.mark.parametrize("kind", BOUNDS)
def test_widths_of_the_two_relations(kind):
    bound, rows = BOUNDS[kind], np.zeros((3, 8))
    replace, add = (integer_sum(rows, bound, relation)[1] for relation in ("replace-one", "add-remove"))
    assert replace == 2 * add


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(sorted(BOUNDS)),
    before=st.lists(st.lists(finite, min_size=8, max_size=8), min_size=1, max_size=3),
    after=st.lists(st.lists(finite, min_size=8, max_size=8), min_size=1, max_size=3),
)
@example(
    kind="l2", before=[[0.0] * 8], after=[[0.0, 1.7976931348623157e308, *[0.0] * 6]] * 3
)  # The average of three largest doubles rounds to infinity.
def test_replacing_all_records_of_a_unit_moves_the_sum_by_at_most_the_width(kind, before, after):
    bound, rest = BOUNDS[kind], np.random.default_rng(5).normal(size=(6, 8))
    others = ["ann", "bob", "ann", "cy", "bob", "ann"]
    sums = [
        integer_sum(np.vstack([rest, mine]), bound, "replace-one", [*others, *["me"] * len(mine)])
        for mine in (before, after)
    ]
    moved(sums[0][0], sums[1][0], bound.norm, sums[0][1])


@pytest.mark.parametrize("kind", BOUNDS)
def test_an_unusable_record_counts_as_the_center(kind):
    bound = BOUNDS[kind]
    mean = PrivateMean(
        1.0, bounds=bound, basis=BASIS, mechanism=Laplace(), reading=Reading(invalid="repair")
    )
    rows = np.random.default_rng(6).normal(size=(4, 8))
    spoilt = np.vstack([rows, np.full(8, np.nan), np.where(GRID > 0.5, np.inf, 1.0)])
    centers = np.vstack([rows, bound.center_on(GRID), bound.center_on(GRID)])
    sums = [mean.prepare(data).total.with_noise([0] * 8) for data in (spoilt, centers)]
    assert sums[0] == sums[1]
