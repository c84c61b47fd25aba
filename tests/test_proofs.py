"""The machine-checked proofs (`proofs/`) are about this program: its numbers, its formulas.

Definitions of the proofs are interpreted (`gallina`) and compared, on random cases, with the functions
of the program that they are about. Comparisons are of integers, exactly, unless a test says otherwise.
"""

from __future__ import annotations

import importlib.util
import math
from fractions import Fraction
from operator import add, itemgetter, mul, truediv
from types import SimpleNamespace

import numpy as np
import pytest

import gallina
from dpfda.bounds import IntegerBall
from dpfda.bounds.balls import repaired
from dpfda.bounds.clipped import clipped
from dpfda.density.quantiles_design import QuantileLaw
from dpfda.machines.solvers import gradient
from dpfda.mechanisms.design import shares
from dpfda.noise import KNormNoise, repeated_width
from dpfda.noise.symmetric import OuterDifference
from dpfda.numerics import enclosures
from dpfda.numerics.aggregate import exact_product
from dpfda.numerics.embedding import Rows
from dpfda.numerics.enclosures import Enclosures
from dpfda.numerics.errors import LedgerError
from dpfda.numerics.gridsums import GridRule, grid_sum, integers
from dpfda.numerics.twofold import Twofold
from dpfda.privacy.composition import Cost, PureLoss
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import Amount, lines
from dpfda.records.points import cell_weights

RANDOM = np.random.default_rng(20261124)
BOTH = [(Neighbours.REPLACE_ONE, True), (Neighbours.ADD_REMOVE, False)]


def _script(name):
    spec = importlib.util.spec_from_file_location(name, gallina.PROOFS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONSTANTS, FLOATS = ("\n".join(part) + "\n" for part in _script("constants").lines())
PROVED = gallina.definitions("Sums", "Sensitivity", "Scores", constants=CONSTANTS)
LAWS = gallina.definitions("Laws", "Composition", whole=False)
# Numbers are floats: whatever is rounded in the proofs is rounded by Python.
ARITHMETIC = gallina.definitions(
    *("Enclosures", "Twofold", "Polynomials", "Logarithm"),
    constants=FLOATS,
    whole=False,
    known={"rounded": float},
)
# The parts of the records of Ledger.v.
FILE = ("rows", "count_1", "count_2")
PARTS = {name: itemgetter(name) for name in (*FILE, "first_value", "second_value")}
LEDGER = gallina.definitions(
    "Ledger",
    known={**PARTS, "File": lambda rows: lambda a: lambda b: dict(zip(FILE, (rows, a, b), strict=True))},
)


def _vector(values):
    return lambda place: int(values[place])


def _entries(vector, size):
    return [vector(place) for place in range(size)]


def test_the_interpreter_reads_every_definition_that_is_compared():
    names = (
        "clip", "toward_zero", "repaired", "total", "differences", "units_up", "share", "outer_square",
        "slope_level", "root_up", "repeated_width", "score", "quantile_range",
    )  # fmt: skip
    assert all(callable(PROVED[name]) for name in names)
    assert all(callable(LAWS[name]) for name in ("laplace", "loss", "weight", "excess", "renyi_sum"))
    assert all(callable(LEDGER[name]) for name in ("within", "readable", "covered", "counted"))


def test_clipping_is_the_one_that_is_proved():
    h = RANDOM.integers(0, 50, size=7)
    rule = GridRule(np.zeros(7), h.astype(float), np.ones(7), 0)
    records = RANDOM.integers(-90, 90, size=(200, 7))
    made = integers(records.astype(float), rule)
    proved = [[PROVED["clip"](int(a))(int(x)) for a, x in zip(h, row, strict=True)] for row in records]
    assert made.tolist() == proved


def test_sums_are_those_that_are_proved():
    records = RANDOM.integers(-90, 90, size=(40, 5))
    rule = GridRule(np.zeros(5), np.full(5, 100.0), np.ones(5), 0)
    totals, unusable = grid_sum(records.astype(float), rule)
    assert unusable == 0
    assert totals.tolist() == _entries(PROVED["total"]([_vector(row) for row in records]), 5)


def test_rounding_is_toward_zero_as_proved():
    # Mantissas times a power of two, inside a large ball: nothing but rounding happens to them.
    numerators = RANDOM.integers(-(2**20), 2**20, size=(300, 3))
    rows = Rows(numerators.astype(float), np.full(300, -7))
    made = IntegerBall("linf", 2**20, 0).clip(rows)
    assert made.tolist() == [[PROVED["toward_zero"](int(p))(2**7) for p in row] for row in numerators]


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_repairs_are_those_that_are_proved(norm):
    ball = IntegerBall(norm, 12, 0)
    rows = RANDOM.integers(-13, 14, size=(400, 3))

    def inside(vector):
        return bool(ball.inside(np.array([_entries(vector, 3)]))[0])

    proved = [_entries(PROVED["repaired"](inside)(_vector(row)), 3) for row in rows]
    assert repaired(rows.astype(float), 12, ball.inside).tolist() == proved
    # Some rows were left as they are, and some were moved.
    changed = {tuple(row) != tuple(before) for row, before in zip(proved, rows.tolist(), strict=True)}
    assert changed == {True, False}


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_neighbours_are_as_far_apart_as_proved(relation, replaced):
    for radius in RANDOM.integers(1, 2**40, size=20).tolist():
        assert relation.differences(radius) == PROVED["differences"](replaced)(radius)
        assert shares.share_differences(False, relation, radius) == (
            "l1", PROVED["differences"](replaced)(radius),
        )  # fmt: skip
        # Two units of shares are 2 w^2 apart in squares.
        width = shares.share_differences(True, relation, radius)[1]
        assert width >= (PROVED["root_up"](2 * radius**2) if replaced else radius)


def test_shares_of_a_unit_are_those_that_are_proved():
    index, codes = RANDOM.integers(0, 6, size=60), RANDOM.integers(0, 4, size=60)
    made = cell_weights(index, np.ones(60, dtype=bool), codes, 6, PROVED["share_bits"])
    proved = [0] * 6
    for unit in range(4):
        counts = np.bincount(index[codes == unit], minlength=6).tolist()
        for cell, count in enumerate(counts):
            proved[cell] += PROVED["share"](PROVED["share_bits"])(count)(sum(counts))
    assert made == proved


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_outer_products_move_as_proved(relation, replaced):
    for size, radius in zip([1, 2, 5, 9], RANDOM.integers(1, 2**25, size=4).tolist(), strict=True):
        made = OuterDifference.of(size, radius, relation).frobenius_square
        assert made == PROVED["outer_square"](replaced)(size)(radius**2)


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_steps_of_descent_are_as_wide_as_proved(relation, replaced):
    terms = SimpleNamespace(guarantee=ZeroConcentratedDP(1), functions=1, neighbours=relation)
    whole = 2 ** (PROVED["slope_bits"] + PROVED["feature_bits"])
    assert gradient.GradientSolver(terms).step_width == PROVED["differences"](replaced)(whole)
    assert gradient.GradientSolver(terms).ball.radius == 2 ** PROVED["feature_bits"]


def test_slopes_are_clipped_to_the_level_that_is_proved():
    slopes = RANDOM.normal(size=(3, 500)) * 10.0 ** RANDOM.integers(-3, 4, size=500)
    rows = RANDOM.integers(1, 40, size=500)
    levels = np.array([PROVED["slope_level"](int(count)) for count in rows])
    made = clipped(slopes, levels, gradient.CLIP)
    assert ((made**2).sum(axis=0) <= levels**2).all()
    # A unit of as many rows as were stated stays within the step's width.
    assert (rows * levels * 2 ** PROVED["feature_bits"] <= 2**36).all()
    assert (made**2).sum(axis=0).max() > 0.99 * 2**40


def test_the_width_of_several_steps_is_the_one_that_is_proved():
    for width, times in RANDOM.integers(1, 2**30, size=(50, 2)).tolist():
        assert repeated_width(width, times) == PROVED["repeated_width"](width)(times)
    assert PROVED["repeated_width"](3)(4) == 6
    assert PROVED["root_up"](37) == 7


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_scores_of_quantiles_have_the_range_that_is_proved(relation, replaced):
    for levels in ((500_000_000,), (100_000_000, 250_000_000, 900_000_000)):
        law = QuantileLaw(levels, 64, Fraction(1), relation)
        assert law.range == PROVED["quantile_range"](replaced)(min(law.gaps))


def test_weights_of_quantiles_follow_the_score_that_is_proved():
    units, levels = 30, (250_000_000, 600_000_000)
    law = QuantileLaw(levels, 64, Fraction(1, 2), Neighbours.REPLACE_ONE)
    places = np.sort(RANDOM.choice(law.places, size=units, replace=False))
    held = np.cumsum(np.full(units, 2 ** PROVED["share_bits"]))
    chain = law.chain(places, held, units)

    def score(chosen):
        up_to = np.array([0, *(int((places <= place).sum()) for place in chosen), units])
        gaps = np.diff(up_to << PROVED["share_bits"])
        return PROVED["score"](3)(_vector(law.gaps))(_vector(gaps))(units << PROVED["share_bits"])

    ordered = np.sort(RANDOM.integers(0, law.places, size=(50, 2)), axis=1).tolist()
    scores = [score(chosen) for chosen in ordered]
    weights = [math.log(chain.weight(chosen)) for chosen in ordered]
    for number in range(1, 50):
        proved = float(law.rate * (scores[number] - scores[0]))
        assert weights[number] - weights[0] == pytest.approx(proved, rel=1e-9, abs=1e-6)


def test_the_density_of_laplace_noise_is_the_one_that_is_proved():
    for scale, z in zip(RANDOM.integers(1, 500, size=20), RANDOM.normal(size=20) * 300, strict=True):
        law = KNormNoise((1,), (int(scale),))
        ratio = float(law.log_density(np.array([z])) - law.log_density(np.zeros(1)))
        proved = LAWS["laplace"](int(scale))(float(z)) / LAWS["laplace"](int(scale))(0)
        assert ratio == pytest.approx(math.log(proved), abs=1e-9)


def test_the_loss_of_laplace_noise_is_the_one_that_is_proved():
    for _ in range(20):
        scales, width = (
            RANDOM.integers(1, 10**6, size=5).tolist(),
            RANDOM.integers(1, 10**6, size=5).tolist(),
        )
        law = KNormNoise((1,) * 5, tuple(scales))
        # A box: every coordinate moves by its width at once.
        stated = law.achieved("box", tuple(width), PureDP(1)).epsilon
        proved = LAWS["loss"](5)(_vector(scales))(_vector(width))(lambda place: 0)
        assert float(stated) == pytest.approx(proved, rel=1e-12)
        # An l1 ball: what `laplace_is_pure` asks of the scales holds, and of the smallest just so.
        epsilon = law.achieved("l1", width[0], PureDP(1)).epsilon
        assert min(epsilon * scale for scale in scales) == width[0]


def test_neighbours_of_the_other_kind_cost_what_is_proved():
    for epsilon, delta in ((Fraction(1, 2), Fraction(1, 1000)), (Fraction(2), Fraction(1, 10**6))):
        made = Cost(ApproximateDP(epsilon, delta)).for_replace_one().guarantee
        assert made.epsilon == 2 * epsilon
        proved = (1 + math.exp(epsilon)) * float(delta)
        assert proved <= float(made.delta) * (1 + 1e-15)
        assert float(made.delta) == pytest.approx(proved, rel=1e-12)


def test_delta_of_a_coin_is_the_excess_that_is_proved():
    # Two outcomes with odds exp(epsilon): the profile of any pure law, and the sum of excesses.
    odds, coin = math.exp(1.5), PureLoss(Fraction(3, 2))
    p, q = [odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)]
    for epsilon in (0.0, 0.3, 1.2):
        excess = sum(LAWS["excess"](epsilon)(a)(b) for a, b in zip(p, q, strict=True))
        assert float(PureLoss(Fraction(3, 2)).delta(Fraction(epsilon))) == pytest.approx(
            excess, abs=1e-9
        )
    for alpha in (1.5, 2.0, 5.0):
        moment = LAWS["renyi_sum"](2)(alpha)(p.__getitem__)(q.__getitem__)
        assert math.log(moment) / (alpha - 1) <= float(coin.rho) * alpha + 1e-12


def test_amounts_are_compared_as_proved():
    for _ in range(200):
        numbers = [Fraction(int(n), 7) for n in RANDOM.integers(0, 3, size=4)]
        mine, other = (dict(zip(("first_value", "second_value"), part, strict=True))
                       for part in (numbers[:2], numbers[2:]))  # fmt: skip
        exceeds = Amount("approximate", tuple(numbers[:2])).exceeds(
            Amount("approximate", tuple(numbers[2:]))
        )
        assert LEDGER["within"](mine)(other) == (not exceeds)


COUNTS = [None, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("first", COUNTS)
@pytest.mark.parametrize("second", COUNTS)
def test_ledgers_are_read_as_proved(first, second):
    rows = (b"{1}", b"{2}", b"{3}")
    content = lines.new_file(rows)
    start = content[: lines.HEADER_SIZE].rsplit(b'"', 2)[1]
    ends = [b"0" * 32, *(lines.chained(rows[:n], start)[1] for n in (1, 2, 3)), b"1" * 32]
    text = b"".join(
        b"x" * lines.COUNT_SIZE if n is None else lines.count_line(start, lines.Count(n, ends[n]))
        for n in (first, second)
    )
    written = content[: lines.HEADER_SIZE] + text + content[lines.HEADER_SIZE + len(text) :]
    model = LEDGER["File"]([*rows])(*[first if first is None else ("Some", first)])(
        second if second is None else ("Some", second)
    )
    if not LEDGER["readable"](model):
        with pytest.raises(LedgerError, match="is damaged"):
            lines.read(written, "file")
        return
    found = lines.read(written, "file")
    assert found.rows == rows
    assert found.covered == LEDGER["covered"](model)
    after = LEDGER["counted"](model)(("Some", 9))
    assert after[("count_1", "count_2")[found.older]] == ("Some", 9)
    kept = ("count_2", "count_1")[found.older]
    assert after[kept] == model[kept]


def _floats(size):
    """Random floats of all sizes, with radii: small, large and none."""
    middles = RANDOM.normal(size=size) * 2.0 ** RANDOM.integers(-400, 400, size=size)
    sizes = 2.0 ** RANDOM.integers(-60, 1, size=size) * RANDOM.integers(0, 2, size=size)
    return Enclosures(middles, np.abs(middles) * sizes)


@pytest.mark.parametrize("name", ["sum", "product", "quotient"])
def test_radii_are_those_that_are_proved_bit_for_bit(name):
    x, y = _floats(400), _floats(400)
    if name == "quotient":
        y = Enclosures(np.abs(y.middle), y.radius / 2)
    made = {"sum": add, "product": mul, "quotient": truediv}[name](x, y)
    proved = ARITHMETIC[f"{name}_radius"]
    for m1, r1, m2, r2, radius in zip(x.middle, x.radius, y.middle, y.radius, made.radius, strict=True):
        assert radius == proved(float(m1))(float(r1))(float(m2))(float(r2))


def test_radii_of_roots_are_those_that_are_proved_bit_for_bit():
    x = _floats(400)
    x = Enclosures(np.abs(x.middle), x.radius / 2)
    for m, r, radius in zip(x.middle, x.radius, enclosures.sqrt(x).radius, strict=True):
        assert radius == ARITHMETIC["root_radius"](float(m))(float(r))


def _pairs(size):
    """Random pairs of floats, as sums of two are."""
    x, exponents = _floats(size), RANDOM.integers(-160, -53, size=size)
    return Twofold(x.middle, x.middle * RANDOM.uniform(-1, 1, size) * 2.0**exponents, x.radius)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_pairs_of_floats_are_those_that_are_proved_bit_for_bit(name):
    x, y = _pairs(400), _pairs(400)
    if name == "sum":
        # Of sizes that are not too far apart.
        y = Twofold(
            *(part * np.exp2(np.round(np.log2(np.abs(x.high / y.high)))) for part in vars(y).values())
        )
    made = {"sum": add, "product": mul}[name](x, y)
    first = {"sum": "pair_sum", "product": "rounded_product"}[name]
    known = {**ARITHMETIC, "rounded_product": lambda a: lambda b: a * b}
    for place in range(400):
        mine, other = ([float(part[place]) for part in vars(pair).values()] for pair in (x, y))
        high = known[first](mine[0])(other[0])
        rest = _called(f"rest_of_{name}", mine[:2] + other[:2])
        assert made.high[place] == _called("pair_sum", [high, rest])
        assert made.low[place] == _called("pair_rest", [high, rest])
        assert made.radius[place] == _called(f"pair_{name}_radius", mine + other)


def _called(name, values):
    function = ARITHMETIC[name]
    for value in values:
        function = function(value)
    return function


def test_polynomials_are_those_that_are_proved_bit_for_bit():
    mantissas = RANDOM.uniform(math.sqrt(0.5), math.sqrt(2), size=300)
    logs = enclosures.log(enclosures.enclosed(mantissas)).middle
    for m, logarithm in zip(mantissas.tolist(), logs.tolist(), strict=True):
        assert logarithm == ARITHMETIC["log_series"]((m - 1) / (2 + (m - 1)))
        assert logarithm == ARITHMETIC["log_rounded"](m - 1)
    parts = RANDOM.uniform(0, 1 / 8, size=300)
    cosines, sines = enclosures.turns(enclosures.enclosed(parts))
    for part, cosine, sine in zip(parts.tolist(), cosines.middle, sines.middle, strict=True):
        assert sine == ARITHMETIC["sine_series"](2 * math.pi * part)
        assert cosine == ARITHMETIC["cosine_series"](2 * math.pi * part)


def test_logarithms_are_those_that_are_proved_bit_for_bit():
    numbers = [*np.abs(_floats(300).middle).tolist(), 5e-324, 1e-310, 1.7e308]
    logs = enclosures.log(enclosures.enclosed(np.array(numbers))).middle
    for x, logarithm in zip(numbers, logs.tolist(), strict=True):
        m, e = math.frexp(x)
        m, e = (2 * m, e - 1) if m < math.sqrt(0.5) else (m, e)
        assert logarithm == ARITHMETIC["log_float"](m)(e)


def test_digits_of_exact_products_have_the_room_that_is_proved():
    # The largest numbers that a sum of so many products may have, times the same.
    for columns in (1, 2, 3, 7, 100):
        matrix = np.full((1, columns), 2**62, dtype=np.int64)
        assert exact_product(matrix, [2**62 + 1] * columns) == [columns * 2**62 * (2**62 + 1)]
        bits = gallina.definitions("Exact")["digit_bits"](columns)
        assert columns * 4**bits < 2**62 <= columns * 4 ** (bits + 2)
