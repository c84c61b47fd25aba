"""Row i depends on record i alone, bit for bit; the product is exact and close to the real one."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from dpfda.bases import BoxBasis, CosineBasis, KernelBasis
from dpfda.bounds import IntegerBall, L1Ball, L2Ball, ValueBounds
from dpfda.numerics.embedding import (
    project,
    row_exponents,
    sum_columns,
    times_powers,
    transform,
    transform_matrix,
)
from dpfda.records import Curves, LongCurves, curves_from_array, curves_from_long, standardized, units

POINTS, COMPONENTS = 500, 60
BOUNDS = [ValueBounds(-1.0, 2.0), L2Ball(0.8), L1Ball(1.7)]


@pytest.fixture(scope="module")
def basis():
    return KernelBasis.on_grid(Matern(0.1, nu=1.5), np.linspace(0, 1, POINTS)).truncate(COMPONENTS)


def records(seed: int, count: int) -> np.ndarray:
    """Curves of very different size and kind: rough, flat, huge, denormal, zero, one point alone."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, POINTS)) * 10.0 ** generator.integers(-3, 4, size=(count, 1))
    rows[1::7] *= 1e300
    rows[2::7] = 5e-324 * generator.integers(-3, 4, size=rows[2::7].shape)
    rows[3::7] = 0.0
    rows[4::7] = np.eye(POINTS)[generator.integers(0, POINTS, size=rows[4::7].shape[0])]
    rows[5::7] = 0.7
    return rows


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def each_row_alone_is_the_same_among_others(rows: np.ndarray, step) -> None:
    """Every row alone, among 33, among 34 and in another order gives the same bits."""
    assert rows.shape[0] == 34
    together = step(rows)
    order = np.random.default_rng(1).permutation(34)
    shuffled = step(rows[order])
    fewer = step(rows[:33])
    for row in range(34):
        alone = bits(step(rows[row : row + 1])[0])
        assert bits(together[row]) == alone
        assert bits(shuffled[int(np.argmax(order == row))]) == alone
        if row < 33:
            assert bits(fewer[row]) == alone


def embed(rows: np.ndarray, basis, bound) -> np.ndarray:
    """The whole private path of one record: restrict, project, clip, round."""
    radius = bound.radius_on(basis.grid_points, basis.weights)
    ball = IntegerBall.of(bound.norm, radius, basis.eigenvalues.size)
    return ball.clip(project(bound.restrict(rows, basis.grid_points), basis.analysis))


def test_a_row_of_the_projection_is_its_own(basis):
    def step(rows):
        product = project(rows, basis.analysis)
        return np.column_stack([product.mantissas, product.exponents])

    each_row_alone_is_the_same_among_others(records(0, 34), step)


@pytest.mark.parametrize("bound", BOUNDS, ids=["value", "l2", "l1"])
def test_a_row_of_integers_is_its_own(basis, bound):
    each_row_alone_is_the_same_among_others(records(2, 34), lambda rows: embed(rows, basis, bound))


@pytest.mark.parametrize("bound", BOUNDS, ids=["value", "l2", "l1"])
def test_the_same_record_beside_extremes(basis, bound):
    mine = records(3, 1)
    alone = embed(mine, basis, bound)[0]
    for other in (1.7e308, -1.7e308, 5e-324, 0.0):
        crowd = np.vstack([np.full((33, POINTS), other), mine])
        assert bits(embed(crowd, basis, bound)[33]) == bits(alone)


def test_a_standardized_row_is_its_own(basis):
    def step(rows):
        curves = standardized(curves_from_array(rows, basis.grid_points), basis.weights)
        return np.column_stack([curves.values, curves.usable])

    each_row_alone_is_the_same_among_others(records(4, 34), step)


def test_a_standardized_record_becomes_the_same_integers(basis):
    def step(rows):
        curves = standardized(curves_from_array(rows, basis.grid_points), basis.weights)
        return embed(curves.values, basis, L2Ball(1.0))

    each_row_alone_is_the_same_among_others(records(5, 34), step)


def test_a_completed_row_is_its_own(basis):
    rows = records(6, 34)
    rows[np.random.default_rng(7).random(rows.shape) < 0.2] = np.nan

    def step(chosen):
        return curves_from_array(chosen, basis.grid_points, "complete", "repair").values

    each_row_alone_is_the_same_among_others(rows, step)


@pytest.mark.parametrize("bound", BOUNDS, ids=["value", "l2", "l1"])
def test_a_unit_depends_on_its_own_records_alone(basis, bound):
    rows = records(8, 40)
    mine = rows[:5]
    alone = units(curves_from_array(mine, basis.grid_points), np.zeros(5, dtype=np.int64))
    expected = embed(alone.values, basis, bound)[0]
    generator = np.random.default_rng(9)
    for others in (1, 33, 34, 35):
        # The unit's records keep their order and lie anywhere among those of other units.
        labels = np.concatenate([np.zeros(5), generator.integers(1, 1 + others // 2 + 1, others)])
        owners = generator.permutation(labels.astype(np.int64))
        matrix = np.empty((owners.size, POINTS))
        matrix[owners == 0] = mine
        matrix[owners != 0] = rows[5 : 5 + others]
        codes = np.unique(owners, return_inverse=True)[1]
        together = units(curves_from_array(matrix, basis.grid_points), codes)
        assert bits(together.values[0]) == bits(alone.values[0])
        assert bits(embed(together.values, basis, bound)[0]) == bits(expected)


@pytest.mark.parametrize("kind", ["cosine", "sine", "fourier"])
def test_a_small_transform_is_a_product_with_its_matrix(kind):
    basis = BoxBasis.on_grid((kind, "cosine"), (20, 25), [(0, 2), (1, 4)])
    rows = records(4, 35)
    made = project(rows, transform_matrix(basis, POINTS))
    expected = transform(rows, basis)
    # In units of the largest entry of the record, whose share in a coefficient is a value of a function.
    scale = np.ldexp(1.0, np.clip(made.exponents - expected.exponents, -1000, 1000))
    np.testing.assert_allclose(made.mantissas * scale[:, None], expected.mantissas, rtol=0, atol=1e-6)


def test_a_unit_is_the_mean_of_its_usable_records():
    values = np.array([[1.0, 2.0], [0.0, 0.0], [5.0, 0.5], [3.0, 4.0]])
    averaged = units(
        Curves(values, np.array([True, False, True, True])), np.array([0, 1, 0, 0], dtype=np.int64)
    )
    assert averaged.values == pytest.approx(np.array([[3.0, 6.5 / 3], [0.0, 0.0]]), rel=1e-15)
    assert averaged.usable.tolist() == [True, False]


def observations(seed: int, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(seed)
    curves = []
    for index in range(count):
        size = int(generator.integers(1, 60))
        scale = 1e300 if index % 5 == 1 else 1.0
        curves.append((generator.random(size), scale * generator.normal(size=size)))
    return curves


def smoothed(curves, basis, order=None) -> np.ndarray:
    """Smooth irregular records; `order` shuffles all observations of all records together."""
    ids = np.concatenate([np.full(times.size, index) for index, (times, _) in enumerate(curves)])
    times = np.concatenate([times for times, _ in curves])
    values = np.concatenate([values for _, values in curves])
    if order is None:
        return curves_from_long(LongCurves(ids, times, values), basis, 0.01).values
    long = LongCurves(ids[order], times[order], values[order])
    rows = curves_from_long(long, basis, 0.01).values
    _, first = np.unique(ids[order], return_index=True)
    return rows[np.argsort(np.argsort(first))]


def test_a_smoothed_irregular_record_is_its_own(basis):
    curves = observations(10, 34)
    together, fewer = smoothed(curves, basis), smoothed(curves[:33], basis)
    backwards = smoothed(curves[::-1], basis)[::-1]
    size = sum(times.size for times, _ in curves)
    shuffled = smoothed(curves, basis, np.random.default_rng(11).permutation(size))
    for index, curve in enumerate(curves):
        alone = bits(smoothed([curve], basis)[0])
        assert bits(together[index]) == alone
        assert bits(backwards[index]) == alone
        assert bits(shuffled[index]) == alone
        if index < 33:
            assert bits(fewer[index]) == alone


def test_a_plain_product_would_not_do(basis):
    """The reason for integers: on most machines a plain product changes bits with its other rows."""
    rows = np.random.default_rng(12).normal(size=(34, POINTS))
    exact = [project(rows[:count], basis.analysis).mantissas[0] for count in (1, 33, 34)]
    assert len({bits(row) for row in exact}) == 1
    plain = [(rows[:count] @ basis.analysis)[0] for count in (1, 33, 34)]
    if len({bits(row) for row in plain}) == 1:
        pytest.skip("the plain product of this machine's BLAS happens to keep the bits of these rows")
    # Where they do change, they change by rounding alone.
    assert np.allclose(plain[0], plain[1], rtol=0, atol=1e-12 * np.abs(rows).sum())


@pytest.mark.parametrize("points", [2, 3, 16, 17, 500, 512, 513, 4097])
def test_partial_sums_are_exact_at_the_largest_values(points):
    values = np.full((3, points), np.nextafter(1.0, 0.0))
    values[1, ::2] *= -1
    analysis = np.full((points, 2), np.nextafter(1.0, 0.0))
    analysis[::3, 1] = -0.3
    check_product(values, analysis)


def check_product(values: np.ndarray, analysis: np.ndarray) -> None:
    """Compare with rational arithmetic: the error is that of rounding both factors to b bits."""
    rows, columns = analysis.shape
    product = project(values, analysis)
    assert np.array_equal(product.mantissas, np.rint(product.mantissas))
    assert np.abs(product.mantissas).max() <= 2.0**53
    kept = (53 - (rows - 1).bit_length()) // 2
    largest_public = Fraction(2) ** int(np.frexp(np.abs(analysis).max())[1])
    for row in range(values.shape[0]):
        largest = Fraction(2) ** int(np.frexp(np.abs(values[row]).max())[1])
        allowed = rows * largest * largest_public * (Fraction(1, 2**kept) + Fraction(1, 4 ** (kept + 1)))
        scale = Fraction(2) ** int(product.exponents[row])
        for column in range(columns):
            pairs = zip(values[row].tolist(), analysis[:, column].tolist(), strict=True)
            real = sum((Fraction(value) * Fraction(entry) for value, entry in pairs), Fraction(0))
            found = Fraction(float(product.mantissas[row, column])) * scale
            assert abs(found - real) <= allowed


wild = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308, 1.0]),
)


@settings(deadline=None, max_examples=60)
@given(values=st.lists(wild, min_size=5, max_size=5))
def test_any_finite_record_is_projected_within_the_stated_error(values):
    analysis = CosineBasis.on_grid(3, np.linspace(0, 2, 5)).analysis
    check_product(np.array([values]), analysis)


@settings(deadline=None, max_examples=60)
@given(values=st.lists(wild, min_size=1, max_size=6))
def test_row_exponents_are_the_smallest_that_bound_the_row(values):
    exponent = Fraction(2) ** int(row_exponents(np.array([values]))[0])
    largest = max(abs(Fraction(value)) for value in values)
    assert largest < exponent
    assert largest == 0 or largest >= exponent / 2


def test_row_sums_are_taken_in_the_order_of_the_columns():
    matrix = np.array([[1e16, 1.0, -1e16, 1.0], [1.0, 1.0, 1e16, -1e16]])
    assert sum_columns(matrix).tolist() == [1.0, 2.0]


def test_row_sums_do_not_depend_on_rows_or_memory_layout():
    matrix = np.random.default_rng(13).normal(size=(34, POINTS))
    together = sum_columns(matrix)
    assert bits(sum_columns(np.asfortranarray(matrix))) == bits(together)
    assert bits(sum_columns(np.repeat(matrix, 2, axis=1)[:, ::2])) == bits(together)
    for row in range(34):
        assert bits(sum_columns(matrix[row : row + 1])[0]) == bits(together[row])


@pytest.mark.parametrize("far", [900, 1000, 1001, 1100, 2200])
def test_products_with_powers_of_two_are_rounded_once(far):
    exponents = np.append(np.random.default_rng(far).integers(-far, far + 1, 60), [-far, far, 0])
    rows = np.tile([5e-324, -1e-310, 1.7976931348623157e308, 0.1, -0.0, 3e-300, 2.0**-60 / 3], (63, 1))
    with np.errstate(all="ignore"):
        expected = np.ldexp(rows, exponents[:, None])
        assert np.array_equal(times_powers(rows, exponents), expected)
