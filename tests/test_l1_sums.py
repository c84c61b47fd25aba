"""Sums of records in an l1 ball: the same integers by every way, moved by none further than the ball."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import PrivateMean
from dpfda.bases import BernsteinBasis, BoxBasis, CosineBasis, FourierBasis, KernelBasis
from dpfda.bounds import L1Ball, L2Ball, l1_rule, l1_sum
from dpfda.numerics import compiled

GRID = np.linspace(0.0, 1.0, 60)
BASES = {
    "matern": KernelBasis.on_grid(Matern(0.2, nu=1.5), GRID),
    "smooth": KernelBasis.on_grid(RBF(0.3), GRID),
    "uneven": KernelBasis.on_grid(Matern(0.2, nu=2.5), GRID**2),
    "hours": KernelBasis.on_grid(Matern(3.0), 24 * GRID, quadrature="uniform"),
    "few": KernelBasis.on_grid(Matern(0.2, nu=1.5), GRID).truncate(20),
    "fourier": FourierBasis.on_grid(41, GRID),
    # Not orthonormal on its grid.
    "least squares": CosineBasis.on_grid(20, GRID**1.5),
    "lattice": BernsteinBasis.on_grid(40, GRID),
}


def kinds_of_records(basis, radius: float, seed: int, count: int) -> np.ndarray:
    """Far inside, around the boundary to the last bit, and far outside; smooth, rough and both."""
    generator = np.random.default_rng(seed)
    coefficients = generator.normal(size=(count, basis.eigenvalues.size))
    coefficients *= np.arange(1, basis.eigenvalues.size + 1) ** -generator.uniform(0, 3, (count, 1))
    coefficients *= radius / np.abs(coefficients).sum(axis=1, keepdims=True)
    sizes = 10.0 ** generator.uniform(-1, 2, count)
    sizes[::3] = 1.0 + generator.integers(-9, 10, sizes[::3].size) * 2.0**-20
    sizes[1::6] = 1.0 + generator.integers(-9, 10, sizes[1::6].size) * 2.0**-52
    functions = np.linalg.pinv(basis.analysis)
    records = (coefficients @ functions) * sizes[:, None]
    records[::5] += 0.03 * radius * generator.normal(size=records[::5].shape)
    return records


def contributions(records: np.ndarray, rule) -> list[list[int]]:
    """What each record adds, alone."""
    return [l1_sum(record[None, :], rule, compile=False)[0] for record in records]


def norm(integers: list[int]) -> int:
    return sum(abs(integer) for integer in integers)


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("radius", [1e-90, 0.7, 3.0, 1e90])
def test_no_record_adds_more_than_the_radius_and_some_add_all_of_it(kind, radius):
    basis = BASES[kind]
    rule = l1_rule(L1Ball(radius), basis)
    sizes = [norm(made) for made in contributions(kinds_of_records(basis, radius, 1, 60), rule)]
    assert max(sizes) <= rule.ball.radius
    assert max(sizes) >= (1 - 1e-6) * rule.ball.radius
    # The ball is the one that was asked for, and no larger.
    found = Fraction(rule.ball.radius) / Fraction(2) ** rule.ball.exponent
    assert (1 - Fraction(1, 10**6)) * Fraction(radius) <= found <= Fraction(radius)


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("radius", [1e-90, 0.7, 1e90])
def test_compiled_sums_are_those_of_each_record_alone(kind, radius):
    basis = BASES[kind]
    rule = l1_rule(L1Ball(radius), basis)
    records = kinds_of_records(basis, radius, 2, 90)
    expected = np.sum(np.array(contributions(records, rule), dtype=object), axis=0).tolist()
    for compile in (True, False):
        assert l1_sum(records, rule, compile=compile) == (expected, 0)
    single = records.astype(np.float32) if radius == 0.7 else records
    assert l1_sum(single, rule, compile=True) == l1_sum(single.astype(float), rule, compile=False)


@pytest.mark.parametrize("components", [20, 32, 60])
@settings(deadline=None, max_examples=25)
@given(
    cells=st.lists(
        st.floats(width=64)
        | st.sampled_from([-0.0, 5e-324, -2.2e-308, 1.7e308, -1.7e308, 1e160, np.inf, np.nan, 1e-9]),
        max_size=8,
    ),
    seed=st.integers(0, 2**32 - 1),
    radius=st.sampled_from([1e-100, 0.1, 5.0, 1e100]),
)
@example(cells=[1.7e308] * 8, seed=0, radius=1e-100)
@example(cells=[5e-324, 1e300, np.nan], seed=1, radius=1e100)
def test_hostile_records_become_the_same_integers_by_both_roads(components, cells, seed, radius):
    rule = l1_rule(L1Ball(radius), BASES["matern"]).truncated(components)
    generator = np.random.default_rng(seed)
    records = kinds_of_records(BASES["matern"], radius, seed, 19)
    records[:5] = 10.0 ** generator.uniform(-300, 300, (5, 1)) * generator.normal(size=(5, 60))
    records.ravel()[generator.integers(0, records.size, len(cells))] = cells
    bad = int(np.sum(~np.isfinite(records).all(axis=1)))
    made = [l1_sum(records, rule, compile=compile) for compile in (True, False)]
    assert made[0] == made[1]
    assert made[0][1] == bad
    assert norm(made[0][0]) <= 19 * rule.ball.radius
    usable = records[np.isfinite(records).all(axis=1)]
    parts = [l1_sum(part, rule, compile=True)[0] for part in (usable[:3], usable[3:][::-1])]
    assert [a + b for a, b in zip(*parts, strict=True)] == made[0][0]


def test_memory_does_not_tell_how_many_records_are_far_outside():
    rule, peaks = l1_rule(L1Ball(1.0), BASES["matern"]), []
    signs = np.where(np.arange(60) % 2, 1.0, -1.0)
    for size in (0.01, 1.7e308):
        records = np.tile(size * signs, (60_000, 1))
        one = l1_sum(records[:1], rule, compile=True)[0]
        tracemalloc.start()
        made = l1_sum(records, rule, compile=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert made == ([60_000 * integer for integer in one], 0)
    # All of them in one block take 60 MB for one copy.
    assert max(peaks) < min(peaks) + 8e6


@pytest.mark.parametrize("kind", BASES)
def test_every_partial_sum_of_a_product_is_exact_in_floats(kind):
    rule = l1_rule(L1Ball(2.0), BASES[kind])
    weights = [Fraction(weight) for weight in rule.weights.tolist()]
    # What a float sum of squares below the limit can be short of.
    limit = Fraction(rule.limit) ** 2 * (1 + Fraction(len(weights) + 8, 2**52))
    for column in rule.matrix.T.astype(int).tolist():
        assert sum(Fraction(q * q) / w for q, w in zip(column, weights, strict=True)) * limit < 2**106
        assert sum(map(abs, column)) * 2**rule.bits < 2**53
    assert rule.limit / math.sqrt(rule.weights.min()) < 2.0**37


@pytest.mark.parametrize("kind", BASES)
def test_records_inside_add_their_coefficients_and_others_their_projection(kind):
    basis, radius = BASES[kind], 0.7
    rule = l1_rule(L1Ball(radius), basis)
    for record in kinds_of_records(basis, radius, 5, 40):
        made = np.array(contributions(record[None, :], rule)[0], dtype=float) * rule.ball.step
        wanted = record @ basis.analysis
        sizes = np.sort(np.abs(wanted))[::-1]
        levels = (np.cumsum(sizes) - radius) / np.arange(1, sizes.size + 1)
        wanted = np.sign(wanted) * np.maximum(np.abs(wanted) - max(levels.max(), 0.0), 0.0)
        assert np.abs(made - wanted).max() <= 4e-6 * (radius + np.abs(record).max())


@pytest.mark.parametrize("kind", ["matern", "uneven"])
def test_the_error_of_rounding_is_far_below_any_noise(kind):
    """Of a mean over records inside: a millionth of a millionth of the squared radius at most."""
    basis = BASES[kind]
    rule = l1_rule(L1Ball(1.0), basis)
    records = 0.9 * kinds_of_records(basis, 1.0, 6, 3000)
    records = records[np.abs(records @ basis.analysis).sum(axis=1) < 0.999]
    made = np.array(l1_sum(records, rule)[0], dtype=float) * rule.ball.step
    errors = (made - (records @ basis.analysis).sum(axis=0)) / len(records)
    assert len(records) > 500
    assert np.abs(errors).max() < 2e-8


def test_bounds_and_functions_without_a_rule_are_clipped_one_by_one():
    assert l1_rule(L2Ball(1.0), BASES["matern"]) is None
    assert l1_rule(type("Other", (L1Ball,), {})(1.0), BASES["matern"]) is None
    box = BoxBasis.on_grid("cosine", (4, 7), [(0, 1), (0, 1)])
    assert l1_rule(L1Ball(1.0), box) is None
    tiny = KernelBasis.on_grid(Matern(1e-250), 1e-250 * GRID)
    assert l1_rule(L1Ball(1.0), tiny) is None


def test_a_rule_for_fewer_functions_makes_the_same_leading_integers_of_records_inside():
    rule = l1_rule(L1Ball(50.0), BASES["matern"])
    records = np.random.default_rng(7).normal(size=(30, 60))
    assert l1_sum(records, rule.truncated(9))[0] == l1_sum(records, rule)[0][:9]


def test_the_whole_way_is_the_same_compiled_or_not(monkeypatch):
    records = kinds_of_records(BASES["matern"], 1.0, 8, 400)
    mean = PrivateMean(1.0, bounds=L1Ball(1.0), basis=BASES["matern"], mechanism="laplace")
    plain = mean.prepare(records).total.with_noise([0] * 60)
    monkeypatch.setattr(compiled, "WORTHWHILE", 0)
    assert mean.prepare(records).total.with_noise([0] * 60) == plain
    assert mean.prepare(records.astype(">f8")).total.with_noise([0] * 60) == plain
    # Threads, and blocks that are kept for a product.
    monkeypatch.setattr(compiled, "NUMBERS_A_THREAD", 6000)
    monkeypatch.setattr(compiled, "NUMBERS_AT_ONCE", 60)
    assert mean.prepare(records).total.with_noise([0] * 60) == plain
