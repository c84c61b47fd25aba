"""Records clipped, rounded and added up on the grid: exact, the same by every way, and bounded."""

import itertools
import math
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import Domain, PrivateMean, Reading
from dpfda.bases import BoxBasis, CosineBasis, FourierBasis, KernelBasis, KroneckerBasis
from dpfda.bounds import (
    IntegerBall,
    L1Ball,
    L2Ball,
    LatticeBounds,
    ValueBounds,
    l1_rule,
    l1_sum,
    on_grid,
)
from dpfda.bounds.ongrid import LARGEST_SQUARE
from dpfda.errors import DataError, ParameterError
from dpfda.mechanisms.laplace import Laplace
from dpfda.numerics import compiled
from dpfda.numerics.aggregate import IntegerSum, exact_product
from dpfda.numerics.embedding import Rows
from dpfda.numerics.gridrules import GridRule
from dpfda.numerics.gridsums import grid_sum, integers

GRID = np.linspace(0.0, 1.0, 37)
BASIS = KernelBasis.on_grid(Matern(0.2, nu=1.5), GRID)

WEIGHTS = np.linspace(0.5, 1.5, 37) / 37
VALUES = GridRule(np.linspace(-1, 1, 37), np.floor(np.linspace(1, 2**30, 37)), WEIGHTS, 28)
LENGTH = GridRule(np.zeros(37), np.full(37, 2.0**30), WEIGHTS, 26, limit=2.0**25 / 3)
RULES = {"values": VALUES, "length": LENGTH}

hostile = st.one_of(
    st.floats(width=64),
    st.sampled_from(
        [0.0, -0.0, 5e-324, -2.2e-308, 1.7e308, -1.7e308, 1e160, np.inf, -np.inf, np.nan, 0.5, 1e-9]
    ),
)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_seen_at_every_point(rule: GridRule, number: float) -> None:
    values = np.ones((37, 37))
    np.fill_diagonal(values, number)
    for kind in (np.float64, np.float32):
        totals, unusable = grid_sum(values.astype(kind), rule, compile=True)
        assert unusable == 37
        assert not totals.any()


def layouts(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers in other types and orders of memory."""
    wide = np.repeat(matrix, 2, axis=1)
    wide[:, 1::2] = 7.0
    return {
        "C": np.ascontiguousarray(matrix),
        "Fortran": np.asfortranarray(matrix),
        "strided": wide[:, ::2],
        "reversed": np.ascontiguousarray(matrix[::-1])[::-1],
        "big-endian": matrix.astype(matrix.dtype.newbyteorder(">")),
    }


def hostile_matrix(cells: list[float], seed: int, rows: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(rows, 37)) * 10.0 ** generator.integers(-3, 3, size=(rows, 1))
    where = generator.integers(0, matrix.size, size=len(cells))
    matrix.ravel()[where] = cells
    return matrix


@pytest.mark.parametrize("kind", RULES)
@settings(deadline=None, max_examples=20)
@given(cells=st.lists(hostile, max_size=8), seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 21))
@example(cells=[1.7e308] * 8, seed=0, rows=1)
@example(cells=[np.nan, 1e300], seed=1, rows=9)
def test_the_compiled_loop_and_numpy_agree_bit_for_bit(kind, cells, seed, rows):
    rule = RULES[kind]
    matrix = hostile_matrix(cells, seed, rows)
    with np.errstate(all="ignore"):
        small = matrix.astype(np.float32)
    for source in (matrix, small):
        expected = integers(source, rule).sum(axis=0)
        bad = int(np.sum(~np.isfinite(source).all(axis=1)))
        for made in layouts(source).values():
            for choice in (True, False):
                totals, unusable = grid_sum(made, rule, compile=choice)
                assert totals.tolist() == expected.tolist()
                assert unusable == bad


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("points", [1, 2, 31, 32, 33, 64, 129])
def test_both_roads_agree_for_any_number_of_points(kind, points):
    generator = np.random.default_rng(points)
    matrix = generator.normal(size=(1030, points)) * 10.0 ** generator.integers(-2, 3, (1030, 1))
    matrix[5] = 1e200
    matrix[700, 0] = np.inf
    rule = GridRule(
        np.zeros(points), np.full(points, 2.0**30), np.full(points, 1 / points), 26, RULES[kind].limit
    )
    one, other = (grid_sum(matrix, rule, compile=choice) for choice in (True, False))
    assert one[0].tolist() == other[0].tolist()
    assert one[1] == other[1] == 1


@pytest.mark.parametrize("points", [50, 100, 341])
@pytest.mark.parametrize("share", [0.0005, 0.02, 0.5])
def test_both_roads_agree_wherever_records_are_not_finite(points, share):
    generator = np.random.default_rng(points)
    matrix = generator.normal(size=(6000, points))
    bad = generator.random(6000) < share
    bad[[0, 5999]] = True
    matrix[bad, generator.integers(0, points, bad.sum())] = generator.choice(
        [np.nan, np.inf, -np.inf], bad.sum()
    )
    center, half_widths = np.linspace(-1, 1, points), np.linspace(1, 2**28, points).round()
    rule = GridRule(center, half_widths, np.full(points, 1 / points), 27)
    found, unusable = grid_sum(matrix, rule, compile=True)
    assert found.tolist() == grid_sum(matrix[~bad], rule, compile=False)[0].tolist()
    assert unusable == bad.sum()


@pytest.mark.parametrize("kind", RULES)
def test_a_row_of_integers_is_its_own(kind):
    rule = RULES[kind]
    matrix = hostile_matrix([1.7e308, np.nan, 5e-324, -1e200], 3, 34)
    together = integers(matrix, rule)
    order = np.random.default_rng(4).permutation(34)
    assert np.array_equal(integers(matrix[order], rule), together[order])
    assert np.array_equal(integers(matrix[:33], rule), together[:33])
    for row in range(34):
        assert np.array_equal(integers(matrix[row : row + 1], rule)[0], together[row])


@pytest.mark.parametrize("kind", RULES)
def test_sums_do_not_depend_on_blocks_or_order(kind):
    rule = RULES[kind]
    matrix = np.random.default_rng(5).normal(size=(5000, 37))
    whole = grid_sum(matrix, rule)[0]
    assert np.array_equal(grid_sum(matrix[::-1], rule)[0], whole)
    parts = [grid_sum(part, rule)[0] for part in np.array_split(matrix, 7)]
    assert np.array_equal(np.sum(parts, axis=0), whole)


def test_integer_and_boolean_records_count_as_their_values():
    numbers = np.random.default_rng(6).integers(-2, 3, size=(50, 37))
    for made in (numbers, numbers.astype(np.int8), numbers.astype(np.float16)):
        assert np.array_equal(grid_sum(made, VALUES)[0], grid_sum(numbers.astype(float), VALUES)[0])


# What one record becomes.


@settings(deadline=None, max_examples=200)
@given(cells=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=37, max_size=37))
def test_values_are_clipped_and_rounded_to_the_nearest_integer(cells):
    made = integers(np.array([cells]), VALUES)[0].tolist()
    for value, middle, half, found in zip(
        cells, VALUES.center.tolist(), VALUES.half_widths.tolist(), made, strict=True
    ):
        # The difference is one rounding of floats; all else is exact.
        difference = value - middle
        exact = Fraction(math.copysign(half, difference))
        if math.isfinite(difference) and abs(difference) * 2.0**VALUES.exponent < half:
            exact = Fraction(difference) * 2**VALUES.exponent
        assert abs(found) <= half
        assert abs(found - exact) <= Fraction(1, 2)


@settings(deadline=None, max_examples=60)
@given(cells=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=37, max_size=37))
def test_records_are_shrunk_along_their_direction_to_the_limit(cells):
    made = integers(np.array([cells]), LENGTH)[0].tolist()
    weights = [Fraction(weight) for weight in WEIGHTS.tolist()]
    square = sum(w * found**2 for w, found in zip(weights, made, strict=True))
    limit = Fraction(LENGTH.limit)
    assert square <= limit**2 * (1 + Fraction(37 + 16, 2**50))
    scaled = [Fraction(cell) * 2**LENGTH.exponent for cell in cells]
    length = sum(w * y**2 for w, y in zip(weights, scaled, strict=True))
    factor = Fraction(1)
    if length > limit**2:
        factor = Fraction(math.isqrt(math.floor(limit**2 / length * 4**1200)), 2**1200)
    for found, y in zip(made, scaled, strict=True):
        # Toward zero by less than one unit, up to the float evaluation of the factor.
        size = abs(y) * factor
        assert size - 1 - size / 10**12 <= abs(found) <= size * (1 + Fraction(1, 10**12))
        assert found == 0 or (found > 0) == (y > 0)


def test_a_record_on_the_boundary_keeps_its_length():
    rows = np.array([[1e300], [3.0], [-1e-3]]) * np.ones(37)
    made = integers(rows, LENGTH).astype(float)
    lengths = np.sqrt((WEIGHTS * made**2).sum(axis=1))
    assert lengths[:2] == pytest.approx(LENGTH.limit, rel=1e-7)
    assert lengths[2] == pytest.approx(1e-3 * 2**26 * math.sqrt(WEIGHTS.sum()), rel=1e-4)


def test_rules_whose_sums_could_round_are_refused():
    with pytest.raises(ValueError, match="leave the range in which sums are exact"):
        replace(VALUES, half_widths=np.full(37, 2.0**31))
    with pytest.raises(ValueError, match="shrunk toward zero"):
        replace(LENGTH, center=np.ones(37))


# The bound on what one record adds to the coefficients.


BOUNDS = {
    "values": ValueBounds(-1.0, 2.0),
    "curves": ValueBounds(-1 - GRID, 1 + GRID**2),
    "length": L2Ball(0.7),
    "tiny": ValueBounds(0.0, 1e-100),
    "huge": L2Ball(1e100),
}
BASES = {
    "matern": BASIS,
    "rbf": KernelBasis.on_grid(RBF(0.3), GRID),
    "few": BASIS.truncate(5),
    "uneven": KernelBasis.on_grid(Matern(0.3), GRID**2, (0.0, 1.0)),
    "hours": KernelBasis.on_grid(Matern(3.0), 24 * GRID, quadrature="uniform"),
    "cosine": CosineBasis.on_grid(20, GRID),
}


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("basis", BASES)
def test_the_radius_is_that_of_the_bound_to_a_part_in_a_million(bound, basis):
    placed = on_grid(BOUNDS[bound], BASES[basis])
    radius = BOUNDS[bound].radius_on(BASES[basis].grid_points, BASES[basis].weights)
    found = Fraction(placed.ball.radius) / Fraction(2) ** placed.ball.exponent / Fraction(radius)
    assert 1 - Fraction(1, 10**7) <= found <= 1 + Fraction(1, 10**6)


@pytest.mark.parametrize("bound", ["values", "curves", "length"])
@pytest.mark.parametrize("basis", BASES)
def test_the_spectral_bound_holds_in_exact_arithmetic(bound, basis):
    """|B x|^2 <= |B V^-1|^2 |V x|^2 with both factors in rational numbers, by another way."""
    placed = on_grid(BOUNDS[bound], BASES[basis])
    roots = [Fraction(root) for root in np.sqrt(BASES[basis].weights).tolist()]
    rows = [
        [Fraction(entry) / root for entry, root in zip(row, roots, strict=True)]
        for row in placed.matrix[:6].tolist()
    ]
    gram = [[abs(sum(a * b for a, b in zip(r, s, strict=True))) for s in rows] for r in rows]
    square = max(sum(row) for row in gram)
    half = placed.rule.half_widths.tolist()
    if placed.rule.shrinks:
        length = Fraction(placed.rule.limit) ** 2 * (1 + Fraction(37 + 16, 2**50))
    else:
        length = sum((root * int(h)) ** 2 for root, h in zip(roots, half, strict=True))
    # A sixth of the rows or more: the whole gram's row sums are larger by off-diagonal rounding alone.
    assert square * length <= placed.ball.radius**2 * Fraction(10**9 + 1, 10**9)
    corner = exact_product(placed.matrix, [int(h) for h in half])
    if not placed.rule.shrinks:
        assert sum(value**2 for value in corner) <= placed.ball.radius**2


@pytest.mark.parametrize("kind", ["values", "curves", "length"])
def test_no_record_leaves_the_ball_and_some_reach_its_boundary(kind):
    bound, grid = BOUNDS[kind], np.linspace(0, 1, 7)
    if kind == "curves":
        bound = ValueBounds(-1 - grid, 1 + grid**2)
    basis = KernelBasis.on_grid(Matern(0.5, nu=1.5), grid)
    placed = on_grid(bound, basis)
    corners = 1e9 * np.array(list(itertools.product([-1.0, 1.0], repeat=7)))
    generator = np.random.default_rng(8)
    records = np.vstack([corners, generator.normal(size=(200, 7)), 1e300 * basis.values.T])
    largest = max(
        sum(value**2 for value in exact_product(placed.matrix, row))
        for row in integers(records, placed.rule).tolist()
    )
    # Seven functions on seven points: the map keeps lengths, so the bound is attained.
    assert 1 - 1e-6 <= largest / placed.ball.radius**2 <= 1


def test_records_lie_in_the_projected_cube_in_every_direction():
    placed = on_grid(ValueBounds(-1.0, 2.0), BASIS)
    cube = placed.cube
    generator = np.random.default_rng(9)
    records = generator.normal(size=(30, 37)) * 10.0 ** generator.integers(-1, 3, (30, 1))
    contributions = [
        exact_product(placed.matrix, row) for row in integers(records, placed.rule).tolist()
    ]
    for _ in range(20):
        direction = generator.integers(-5, 6, size=placed.matrix.shape[0]).tolist()
        support = [
            sum(a * int(b) for a, b in zip(direction, column, strict=True)) for column in cube.matrix.T
        ]
        largest = sum(abs(s) * int(h) for s, h in zip(support, cube.half_widths, strict=True))
        reached = [
            abs(sum(a * c for a, c in zip(direction, made, strict=True))) for made in contributions
        ]
        assert max(reached) <= largest
        corner = [int(h) if s > 0 else -int(h) for s, h in zip(support, cube.half_widths, strict=True)]
        assert (
            sum(a * c for a, c in zip(direction, exact_product(cube.matrix, corner), strict=True))
            == largest
        )
    assert on_grid(L2Ball(1.0), BASIS).cube is None


def test_bounds_and_bases_without_a_proof_on_the_grid_are_left_to_projection():
    assert on_grid(L1Ball(1.0), BASIS) is None
    assert on_grid(LatticeBounds(-1.0, 1.0), BASIS) is None
    # Least squares on an uneven grid is not orthonormal: the first factor would raise the noise.
    uneven = CosineBasis.on_grid(20, GRID**1.5)
    root = np.sqrt(uneven.weights)
    assert np.linalg.norm(uneven.analysis.T / root, 2) ** 2 > LARGEST_SQUARE
    assert on_grid(ValueBounds(-1.0, 1.0), uneven) is None


@pytest.mark.parametrize("bounds", [(-1.0, 2.0), L2Ball(0.7)], ids=["values", "length"])
def test_both_roads_give_the_same_mean(bounds):
    """On the grid, and by projecting records one by one: the same coefficients up to rounding."""
    records = np.random.default_rng(10).normal(scale=0.4, size=(200, 37)) @ np.full((37, 37), 1 / 37)
    sums = []
    for chosen in (bounds, projected(bounds)):
        mean = PrivateMean(1.0, bounds=chosen, basis=BASIS, mechanism=Laplace())
        prepared = mean.prepare(records)
        assert (prepared.plan.on_grid is None) == (chosen is not bounds)
        total = prepared.total.with_noise([0] * BASIS.eigenvalues.size)
        sums.append(np.array(total, dtype=float) * prepared.plan.ball.step)
    assert sums[0] == pytest.approx(sums[1], rel=0, abs=200 * 1e-7)


def projected(bounds):
    """The same bound as a class of its own, which is not enforced on the grid."""
    if isinstance(bounds, L2Ball):
        return type("Other", (L2Ball,), {})(bounds.radius)
    return type("Other", (ValueBounds,), {})(*bounds)


def test_a_long_record_is_shrunk_by_its_length_on_the_grid():
    """The bound is on the record's quadrature length, roughness that the basis leaves out included."""
    few = BASIS.truncate(3)
    smooth = few.evaluate(GRID)[:, 0]
    rough = BASIS.evaluate(GRID)[:, 30]
    mean = PrivateMean(1.0, bounds=L2Ball(1.0), basis=few, mechanism=Laplace())
    prepared = mean.prepare(np.stack([3 * smooth + 4 * rough, 0 * smooth]))
    first = prepared.total.with_noise([0] * 3)[0] * prepared.plan.ball.step
    assert first == pytest.approx(3 / 5, rel=1e-6)


# Exact products and sums.


@settings(deadline=None, max_examples=60)
@given(data=st.data(), rows=st.integers(1, 4), columns=st.integers(1, 6))
def test_products_are_those_of_python_integers(data, rows, columns):
    entry = st.integers(-(2**62), 2**62)
    matrix = data.draw(
        st.lists(st.lists(entry, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    vector = data.draw(st.lists(st.integers(-(2**90), 2**90), min_size=columns, max_size=columns))
    exact = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]
    assert exact_product(np.array(matrix, dtype=np.int64), vector) == exact


def test_a_sum_goes_through_a_matrix_with_its_count():
    total = IntegerSum(2).add_totals(np.array([2**40, -3]), 7).through(np.array([[1, 2], [0, -5]]))
    assert total.with_noise([0, 0]) == (2**40 - 6, 15)
    assert total.count_with_noise(0, 1) == 7


def test_a_ball_too_large_for_64_bits_does_not_clip():
    with pytest.raises(ParameterError, match="radius must be small enough to verify a row in 64 bits"):
        IntegerBall("l2", 2**40, 0).clip(Rows(np.ones((1, 3)), np.zeros(1, dtype=np.int64)))


# The whole path.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("compile", [True, False])
def test_memory_beyond_the_input_is_small(dtype, compile, monkeypatch):
    if not compile:
        monkeypatch.setattr(compiled, "worthwhile", lambda numbers: False)
    records = np.zeros((400_000, 50), dtype=dtype)
    mean = PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace", domain=Domain(np.linspace(0, 1, 50)))
    # So many that loops are compiled, which takes memory once.
    mean.prepare(records[:100_000])
    tracemalloc.start()
    try:
        mean.prepare(records)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A copy of the records would take 80 or 160 MB.
    assert peak < 20e6


def test_the_sum_of_a_fit_does_not_depend_on_numba(monkeypatch):
    records = np.random.default_rng(11).normal(size=(500, 37))
    monkeypatch.setattr(compiled, "WORTHWHILE", 0)
    made = []
    for road in (True, False):
        monkeypatch.setattr(compiled, "worthwhile", lambda numbers, road=road: road)
        for bounds in ((-1.0, 1.0), L2Ball(0.8)):
            mean = PrivateMean(1.0, bounds=bounds, basis=BASIS, mechanism="laplace")
            made.append(mean.prepare(records).total.with_noise([0] * 30))
    assert made[:2] == made[2:]


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), L2Ball(0.8)], ids=["values", "length"])
def test_many_curves_that_have_been_read_are_added_up_alike(bounds, monkeypatch):
    """In blocks, and from a public number of them on all at once."""
    records = np.random.default_rng(12).normal(size=(3000, 37))
    records[5:50, 3] = np.nan
    made = []
    for large in (2**26, 1):
        monkeypatch.setattr("dpfda.spine.sums.LARGE", large)
        mean = PrivateMean(
            1.0, bounds=bounds, basis=BASIS, mechanism="laplace", reading=Reading(missing="complete")
        )
        made.append(mean.prepare(records).total.with_noise([0] * 30))
    assert made[0] == made[1]


def test_sixteen_million_extreme_records_add_up_exactly():
    row = np.full((1, 37), 1e300)
    one = grid_sum(row, VALUES)[0]
    # A stride of zero: the same row again and again, without its memory.
    many = np.lib.stride_tricks.as_strided(row, shape=(2**18, 37), strides=(0, 8))
    assert grid_sum(many, VALUES)[0].tolist() == [2**18 * int(value) for value in one]


def test_fourier_functions_on_a_period_are_enforced_on_the_grid():
    basis = FourierBasis.on_grid(9, np.linspace(0, 1, 41))
    assert on_grid(ValueBounds(-1.0, 1.0), basis) is not None


@pytest.mark.parametrize("components", [1, 5, 30, 37])
@settings(deadline=None, max_examples=12)
@given(
    cells=st.lists(hostile, max_size=8),
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 21),
    radius=st.sampled_from([1e-100, 0.1, 0.9, 5.0, 1e100]),
)
@example(cells=[1.7e308] * 8, seed=0, rows=2, radius=0.9)
@example(cells=[5e-324, 1e300, np.nan], seed=1, rows=9, radius=0.1)
def test_the_compiled_l1_road_agrees_bit_for_bit(components, cells, seed, rows, radius):
    matrix = hostile_matrix(cells, seed, rows)
    basis = BASIS.truncate(components)
    mean = PrivateMean(
        1.0, bounds=L1Ball(radius), basis=basis, mechanism="laplace", reading=Reading(invalid="repair")
    )
    for source in layouts(matrix).values():
        prepared = mean.prepare(source)
        assert prepared.total.count_with_noise(0, 1) == rows
        found = prepared.total.with_noise([0] * components)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(compiled, "WORTHWHILE", 0)
            assert mean.prepare(source).total.with_noise([0] * components) == found
    assert sum(abs(value) for value in found) <= rows * prepared.plan.ball.radius


@settings(deadline=None, max_examples=200)
@given(
    row=st.lists(st.integers(-(2**30), 2**30) | st.integers(-9, 9), min_size=1, max_size=40),
    radius=st.integers(1, 2**25),
)
@example(row=[2**k for k in range(31)], radius=1)
@example(row=[2**30] * 40, radius=2**25)
def test_rows_outside_the_l1_ball_lose_one_level_the_least_that_is_enough(row, radius):
    sizes = sorted((abs(entry) for entry in row), reverse=True)
    # The level of the real projection, by sorting: the largest that some leading sizes ask for.
    level = max([Fraction(sum(sizes[: k + 1]) - radius, k + 1) for k in range(len(sizes))] + [0])
    expected = [(1 if x > 0 else -1) * max(abs(x) - math.ceil(level), 0) for x in row]
    ball = IntegerBall("l1", radius, 0)
    made = ball.clip(Rows(np.array([row], dtype=float), np.array([0])))
    assert made.tolist() == [expected]
    assert sum(map(abs, expected)) <= radius


def test_the_compiled_l1_road_refuses_with_the_place():
    records = np.zeros((70_000, 37), dtype=np.float32)
    records[69_000, 5] = np.inf
    mean = PrivateMean(1.0, bounds=L1Ball(1.0), basis=BASIS)
    with pytest.raises(DataError, match=r"infinity \(inf\) in row 69000, column 5"):
        mean.prepare(records)


def test_a_memory_map_is_read_where_it_lies(tmp_path):
    mapped = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (200_000, 50))
    mapped[:] = 0.25
    mean = PrivateMean(1.0, bounds=(-1, 1), mechanism="laplace", domain=Domain(np.linspace(0, 1, 50)))
    tracemalloc.start()
    try:
        total = mean.prepare(mapped).total
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10e6
    plain = mean.prepare(np.full((200_000, 50), 0.25)).total
    assert total.with_noise([0] * 30) == plain.with_noise([0] * 30)


def test_no_thread_is_without_a_row_however_long_the_rows_are(monkeypatch):
    monkeypatch.setattr(compiled.os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(compiled, "NUMBERS_A_THREAD", 16)
    rule = l1_rule(L1Ball(100.0), BASIS)
    for rows in (1, 2, 3):
        ones = np.ones((rows, 37))
        assert l1_sum(ones, rule, compile=True) == l1_sum(ones, rule, compile=False)


@pytest.mark.parametrize("bounds", [L1Ball(1.0), L2Ball(1.0), (-1.0, 1.0)])
def test_integers_beyond_float64_are_no_numbers_and_do_not_warn(bounds):
    # Warnings are errors here; one would depend on the value of a record.
    records = np.zeros((compiled.WORTHWHILE // 16, 16), dtype=np.int64)
    records[5, 3], records[6, 4] = 2**53, -(2**63)
    prepared = PrivateMean(
        1.0, bounds=bounds, reading=Reading(invalid="repair"), mechanism="laplace"
    ).prepare(records)
    assert not any(prepared.total.with_noise([0] * 16))


IMAGES = {
    "cosines": BoxBasis.on_grid(("cosine", "fourier"), (4, 7), [(0, 1), (2, 5)]),
    "kernels": KroneckerBasis.on_grid(Matern(0.3, nu=1.5), [GRID[::9], GRID[::12]]),
}


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("bound", [ValueBounds(-1.0, 3.0), L2Ball(0.6)])
def test_bounds_on_images_are_enforced_on_their_grid(kind, bound):
    basis = IMAGES[kind]
    points = basis.weights.size
    placed = on_grid(bound, basis)
    assert placed.cube is None
    generator = np.random.default_rng(12)
    images = generator.normal(size=(40, points)) * 10.0 ** generator.integers(-2, 3, (40, 1))
    images[:8] = 1e300 * np.sign(images[:8])
    x = integers(images, placed.rule)
    lengths = [sum(int(c) ** 2 for c in exact_product(placed.matrix, row)) for row in x.tolist()]
    assert max(lengths) <= placed.ball.radius**2
    # No record may be longer, and this is not a looser bound than the one on functions.
    assert max(lengths) >= (0.99 * placed.ball.radius) ** 2
    stated = bound.radius if isinstance(bound, L2Ball) else 2.0 * math.sqrt(basis.weights.sum())
    assert placed.ball.radius * placed.ball.step == pytest.approx(stated, rel=1e-6)
    # What a record of small values becomes is its transform.
    small = np.clip(images, -0.2, 0.2) if isinstance(bound, L2Ball) else np.clip(images, -1, 3)
    small *= 0.1 if isinstance(bound, L2Ball) else 1.0
    for row, made in zip(small, integers(small, placed.rule), strict=True):
        found = np.array(exact_product(placed.matrix, made.tolist()), dtype=float) * placed.ball.step
        centre = bound.center_on(np.arange(points))
        np.testing.assert_allclose(found, basis.transform(row - centre), atol=1e-6)


@pytest.mark.parametrize("bounds", [(-1.0, 3.0), L2Ball(0.6), L1Ball(2.0)])
@pytest.mark.parametrize("standardize", [False, True])
def test_sums_of_images_do_not_depend_on_numba(bounds, standardize, monkeypatch):
    images = np.random.default_rng(13).normal(1.0, 2.0, size=(60, 4, 7))
    images[3, 2, 1] = np.nan
    mean = PrivateMean(
        1.0, bounds=bounds, basis=IMAGES["cosines"], mechanism="laplace",
        reading=Reading(invalid="repair", standardize=standardize and isinstance(bounds, L2Ball)),
    )  # fmt: skip
    groups = np.repeat(np.arange(20), 3)
    slow = [mean.prepare(images, labels).total.with_noise([0] * 28) for labels in (None, groups)]
    monkeypatch.setattr(compiled, "WORTHWHILE", 0)
    assert slow == [mean.prepare(images, labels).total.with_noise([0] * 28) for labels in (None, groups)]
