"""The machine-checked proofs (`proofs/`) are about this program: its numbers, its formulas.

Definitions of the proofs are interpreted (`gallina`) and compared, on random cases, with the functions
of the program that they are about. Comparisons are of integers, exactly, unless a test says otherwise.
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from fractions import Fraction
from operator import add, itemgetter, mul, neg, sub, truediv
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

import gallina
from dpfda.bounds import IntegerBall
from dpfda.bounds.balls import clipped, repaired
from dpfda.bounds.l1sums import L1Rule, l1_sum
from dpfda.covariance import deviations
from dpfda.covariance.deviations import Deviations
from dpfda.covariance.strategies import Center
from dpfda.density.quantiles_design import QuantileLaw
from dpfda.machines.solvers import gradient
from dpfda.machines.solvers.solver import Labelled
from dpfda.machines.solvers.sums import MeansSolver
from dpfda.mechanisms.design.choice import with_count
from dpfda.mechanisms.protocol import COUNT_SCALE, Design
from dpfda.noise import BoxNoise, GaussianNoise, KNormNoise, body_noise, repeated_width, shares
from dpfda.noise.shared import SharedGaussianNoise, SharedLaplaceNoise
from dpfda.noise.symmetric import OuterDifference
from dpfda.numerics import discrete, drawing, enclosures, twofold
from dpfda.numerics.aggregate import IntegerSum, exact_product
from dpfda.numerics.embedding import Rows
from dpfda.numerics.enclosures import Enclosures
from dpfda.numerics.errors import BudgetError, LedgerError, RefusedMechanismError
from dpfda.numerics.gridrules import GridRule, SideBySide
from dpfda.numerics.gridsums import grid_sum, integers
from dpfda.numerics.twofold import Twofold
from dpfda.privacy.composition import Cost, LaplaceLoss, PureLoss, gaussian_limit
from dpfda.privacy.guarantees import ApproximateDP, Neighbours, PureDP, ZeroConcentratedDP
from dpfda.privacy.ledger import Amount, Budget, lines
from dpfda.privacy.ledger.accounts import SPARE, Filter
from dpfda.privacy.ledger.history import Record
from dpfda.privacy.ledger.rows import spend
from dpfda.publication.shares import Sharing
from dpfda.publication.tables import CornerTable
from dpfda.records import Curves
from dpfda.records.covariates import table_rows
from dpfda.records.points import cell_weights
from dpfda.survival.cox_rounds import FollowedUp, Rounds, Walk

RANDOM = np.random.default_rng(20261124)
BOTH = [(Neighbours.REPLACE_ONE, True), (Neighbours.ADD_REMOVE, False)]


def _script(name):
    spec = importlib.util.spec_from_file_location(name, gallina.PROOFS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONSTANTS, FLOATS = ("\n".join(part) + "\n" for part in _script("constants").lines())
PROVED = gallina.definitions(
    *("Sums", "Sensitivity", "Averages", "Deviations", "Descent", "Corners", "Weights", "Scores"),
    constants=CONSTANTS,
)
LAWS = gallina.definitions("Laws", "Composition", whole=False)
# Of a series whose terms fall fast, as many as a float can see.
SHARES = gallina.definitions(
    *("Laws", "Shares", "Whole", "Lattice", "Theta", "Gaussians", "Gap", "Normal"),
    constants=FLOATS,
    whole=False,
    known={"Series": lambda term: math.fsum(map(term, range(40)))},
)
FILTER = gallina.definitions(
    "Filter", whole=False, known={"Rle_dec": lambda cost: lambda left: cost <= left}
)
# Numbers are floats: whatever is rounded in the proofs is rounded by Python.
ARITHMETIC = gallina.definitions(
    *("Enclosures", "Twofold", "Totals", "Polynomials", "Logarithm", "Turns", "Products", "Numbers"),
    constants=CONSTANTS + FLOATS,
    whole=False,
    known={"rounded": float},
)
# All doubles, as the processor has them.
DOUBLES = gallina.definitions(
    *("Polynomials", "Overflow", "Pairs", "Ranges", "Many"),
    constants=FLOATS,
    whole=False,
    known={
        **{
            f"{name}64": lambda a, operation=operation: lambda b: operation(a, b)
            for name, operation in {"plus": add, "minus": sub, "times": mul, "over": truediv}.items()
        },
        **{
            f"{name}64": getattr(np, f)
            for name, f in {"root": "sqrt", "size": "abs", "rint": "rint"}.items()
        },
        "near64": np.float64,
        "infinite": np.float64(math.inf),
        "zero64": np.float64(0),
        "Bltb": lambda a: lambda b: bool(a < b),
        "Bopp": neg,
    },
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


def _of(name, values):
    """A proved function of several integers."""
    function = PROVED[name]
    for value in values:
        function = function(int(value))
    return function


def test_the_interpreter_reads_every_definition_that_is_compared():
    names = (
        "clip", "toward_zero", "repaired", "total", "differences", "units_up", "share", "outer_square",
        "slope_level", "root_up", "repeated_width", "score", "quantile_range",
        "average", "averages_width", "centred", "centred_record", "reach", "weighted_square", "pairs",
        "corner_weight", "corner_entry", "corner_width", "corner_distance", "count_scale",
        "side_by_side", "box_scale", "parts_square",
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


def test_deviations_from_a_centre_are_those_that_are_proved():
    h, center = RANDOM.integers(0, 50, size=7), RANDOM.integers(-60, 60, size=7)
    rule = GridRule(center.astype(float), h.astype(float), np.ones(7), 0)
    records = RANDOM.integers(-90, 90, size=(200, 7))
    record = PROVED["centred_record"](_vector(h))(_vector(center))
    proved = [_entries(record(_vector(row)), 7) for row in records]
    assert integers(records.astype(float), rule).tolist() == proved


def test_deviations_are_as_long_as_proved():
    weights, lower = RANDOM.integers(1, 9, size=6), RANDOM.integers(-20, 0, size=6)
    upper, center = RANDOM.integers(1, 20, size=6), RANDOM.integers(-40, 40, size=6)
    bounds = (lower.astype(float), upper.astype(float))
    asked = Deviations(bounds, Center(curve=center.astype(float)), False)
    basis = SimpleNamespace(grid_points=np.linspace(0, 1, 6), weights=weights.astype(float))
    made = asked.radius_on(basis, asked.center_on(basis.grid_points))
    reach = [_of("reach", ends) for ends in zip(lower, upper, center, strict=True)]
    proved = PROVED["weighted_square"](6)(_vector(weights))(_vector(reach))
    assert (2 * made) ** 2 == pytest.approx(proved, rel=1e-12)


@pytest.mark.parametrize("units", [9, 10])
def test_pairs_of_units_are_those_that_are_proved(units, monkeypatch):
    order = RANDOM.permutation(units)
    monkeypatch.setattr(deviations, "matching", lambda count: order[:count])
    records = RANDOM.integers(-9, 10, size=(units, 4))
    asked = Deviations((-9, 9), Center(curve="pairs"), False)
    made = asked.paired(Curves(records.astype(float), np.ones(units, dtype=bool)), None)
    proved = PROVED["pairs"]([_vector(record) for record in records[order]])
    assert made.usable.tolist() == [True] * len(proved)
    for value, pair in zip(made.values, proved, strict=True):
        assert value * math.sqrt(2) == pytest.approx(_entries(pair, 4), rel=1e-12)
    # What is left of a pair is at most as long as is proved of its difference, over the root of 2.
    basis = SimpleNamespace(grid_points=np.linspace(0, 1, 4), weights=np.full(4, 3.0))
    square = PROVED["weighted_square"](4)(lambda place: 3)(lambda place: 18)
    assert 2 * asked.radius_on(basis, None) ** 2 == pytest.approx(square, rel=1e-12)


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


def test_records_on_the_grid_add_what_is_proved():
    matrix = RANDOM.integers(-(2**9), 2**9, size=(6, 4)).astype(float)
    ball, shift = IntegerBall("l1", 90, 0), 4
    rule = L1Rule(matrix, np.ones(6), 0, 2.0**20, 20, ball, shift)
    taken = set()
    for record in RANDOM.integers(-2, 3, size=(60, 6)).astype(float) * RANDOM.integers(0, 2, (60, 6)):
        added = l1_sum(record[None], rule, compile=False)[0]
        whole = (matrix.T @ record).astype(int).tolist()
        inside = sum(_of("units_up", (shift, each)) for each in whole) <= ball.radius
        taken.add(inside)
        assert (added == whole) == inside
        assert sum(map(abs, added)) <= ball.radius << shift
        assert inside or all(each % 2**shift == 0 for each in added)
    assert taken == {True, False}


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


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_shares_in_parts_are_as_far_apart_as_proved(relation, replaced):
    for parts in RANDOM.integers(1, 2**18, size=(9, 4)).tolist():
        square = PROVED["parts_square"](replaced)(4)(_vector(parts))
        assert shares.share_differences(True, relation, *parts) == ("l2", PROVED["root_up"](square))


def test_channels_are_side_by_side_as_proved():
    h, values = RANDOM.integers(0, 50, size=(3, 4)), RANDOM.integers(-90, 90, size=(3, 4))
    rules = [GridRule(np.zeros(4), own.astype(float), np.ones(4), 0) for own in h]
    made = integers(values.T.reshape(1, -1).astype(float), SideBySide(tuple(rules)))[0]
    clipped_ones = [
        _vector([_of("clip", pair) for pair in zip(*own, strict=True)])
        for own in zip(h, values, strict=True)
    ]
    proved = PROVED["side_by_side"](3)(clipped_ones.__getitem__)
    assert made.tolist() == _entries(proved, 12)


def test_scales_of_a_box_are_those_that_are_proved():
    widths = RANDOM.integers(1, 1000, size=8).tolist()
    for e, d in ((1, 3), (7, 5), (50, 1), (999, 1000)):
        made = body_noise("box", widths, PureDP(Fraction(e, d))).scales
        assert made == tuple(_of("box_scale", (width, e, d)) for width in widths)


def test_shares_of_a_unit_are_those_that_are_proved():
    index, codes = RANDOM.integers(0, 6, size=60), RANDOM.integers(0, 4, size=60)
    made = cell_weights(index, np.ones(60, dtype=bool), codes, 6, PROVED["share_bits"])
    proved = [0] * 6
    for unit in range(4):
        counts = np.bincount(index[codes == unit], minlength=6).tolist()
        for cell, count in enumerate(counts):
            proved[cell] += PROVED["share"](PROVED["share_bits"])(count)(sum(counts))
    assert made == proved


def _means(relation, functions, components=3):
    loss, guarantee = SimpleNamespace(name="hinge"), ZeroConcentratedDP(1)
    return MeansSolver(
        SimpleNamespace(loss=loss, guarantee=guarantee, grouped=True, neighbours=relation,
                        functions=functions, components=components)
    )  # fmt: skip


def test_averages_of_a_unit_are_those_that_are_proved():
    rows, codes = RANDOM.integers(-9, 10, size=(60, 3)), RANDOM.permutation(np.arange(60) % 17)
    solver = _means(Neighbours.REPLACE_ONE, 1)
    made = solver.averages(Labelled(rows, np.ones(60), codes, 17), 0, 17)
    proved = [
        _entries(PROVED["average"]([_vector(row) for row in rows[codes == unit]]), 3)
        for unit in range(17)
    ]
    assert made.tolist() == proved


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_averages_of_units_are_as_far_apart_as_proved(relation, replaced):
    for functions, components in ((1, 3), (4, 9), (7, 50)):
        solver = _means(relation, functions, components)
        proved = PROVED["averages_width"](replaced)(solver.ball.radius)(functions)(components)
        assert solver.width == proved


def test_units_are_divided_among_corners_as_proved():
    bits = PROVED["weight_bits"], PROVED["value_bits"]
    weights, codes = RANDOM.dirichlet(np.ones(4), size=30), RANDOM.permutation(np.arange(30) % 7)
    parts, table = table_rows(
        weights, RANDOM.uniform(-1, 1, (30, 1)), RANDOM.uniform(-1, 1, (30, 6)), (2, 4),
        np.bincount(codes)[codes], np.ones(30, dtype=bool), bits,
    )  # fmt: skip
    whole = np.floor(weights * 2.0 ** bits[0]).astype(np.int64)
    for unit in range(7):
        mine = np.flatnonzero(codes == unit)
        p, t = ([_vector(row) for row in rows[mine]].__getitem__ for rows in (whole, table))
        added = parts[mine].T @ table[mine]
        for corner in range(4):
            assert parts[mine, corner].sum() == PROVED["corner_weight"](mine.size)(p)(corner)
            proved = PROVED["corner_entry"](mine.size)(p)(t)(corner)
            assert added[corner].tolist() == [proved(column) for column in range(table.shape[1])]


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_tables_of_corners_move_as_proved(relation, replaced):
    for columns in (1, 7, 60):
        for guarantee, proved in (
            (PureDP(1), (PROVED["corner_width"](replaced),) * columns),
            (ZeroConcentratedDP(1), PROVED["corner_distance"](replaced)(columns)),
        ):
            table = CornerTable(3, columns, guarantee, relation, "person")
            assert table.calibrated[3] == proved


def test_the_scale_of_a_number_of_units_is_the_one_that_is_proved():
    for e, d in ((1, 3), (7, 5), (2, 1), (999, 1000)):
        problem = SimpleNamespace(pure=SimpleNamespace(guarantee=PureDP(Fraction(e, d))))
        design = Design(
            "", {}, BoxNoise((5, 7)), np.ones(2), measurement=SimpleNamespace(matrix=np.eye(2))
        )
        counted = with_count(problem, design).noise.scales
        assert counted == (5, 7, PROVED["count_scale"](COUNT_SCALE)(e)(d))


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


def _kept(level, vector):
    return _entries(PROVED["kept"](len(vector))(int(level))(_vector(vector)), len(vector))


def test_what_is_too_long_is_dropped_as_proved():
    levels = RANDOM.integers(1, 40, size=300)
    columns = RANDOM.normal(size=(3, 300)) * 100
    columns[:, ::7] = math.inf
    with np.errstate(invalid="ignore"):
        made = clipped(columns, levels, 1.0)
        lengths = np.maximum(np.sqrt((columns * columns).sum(axis=0)), 1.0)
        floats = np.trunc(columns * (levels * (1 - 2.0**-40) / lengths))
    whole = np.where(np.abs(floats) <= levels, floats, 2.0 * levels).astype(int)
    proved = [_kept(level, column) for level, column in zip(levels, whole.T, strict=True)]
    assert made.T.tolist() == proved
    assert not made[:, ::7].any()
    assert _kept(5, [3, 4]) == [3, 4]
    assert _kept(5, [3, 5]) == [0, 0]


@pytest.mark.parametrize("functions", [1, 3])
def test_steps_of_descent_add_what_is_proved(functions):
    codes = RANDOM.permutation(np.arange(24) % 7)
    rows = RANDOM.integers(-(2**12), 2**12, size=(24, 4))
    targets = RANDOM.choice([-1.0, 1.0], 24) if functions == 1 else np.eye(3)[RANDOM.integers(0, 3, 24)]
    logistic = SimpleNamespace(name="logistic", smoothness=0.25)
    terms = SimpleNamespace(
        guarantee=ZeroConcentratedDP(1), functions=functions, components=4, loss=logistic,
        penalty=0.1, units=7, neighbours=Neighbours.REPLACE_ONE,
    )  # fmt: skip
    solver = gradient.GradientSolver(terms)
    made = solver.summed(Labelled(rows, targets, codes, 7))([]).with_noise([0] * 4 * functions)
    # At coefficients zero slopes are known: half of a class, and a third of each.
    slopes = -targets[:, None] / 2 if functions == 1 else 1 / 3 - targets
    levels = 2**20 // np.bincount(codes)[codes]
    scale = levels * (1 - 2.0**-40) / np.maximum(np.sqrt((slopes**2).sum(axis=1)), gradient.CLIP)
    whole = np.trunc(slopes * scale[:, None]).astype(int)

    def row(level):
        return lambda i: PROVED["step_row"](functions)(_vector(rows[i]))(_vector(_kept(level, whole[i])))

    units = [np.flatnonzero(codes == unit).tolist() for unit in range(7)]
    proved = _entries(PROVED["summed"](20)(row)(units), 4 * functions)
    # Tables of functions lie one after another in the program.
    assert np.reshape(made, (functions, 4)).T.ravel().tolist() == proved
    assert solver.width == _of("repeated_width", (solver.step_width, solver.rounds))


def test_rounds_of_calibration_add_what_is_proved():
    weights = clipped(np.array([[0.3, -2.0, 0.5]]), np.array([9, 9, 4]), 0.5)
    made = (weights << gradient.FEATURE_BITS).ravel().tolist()
    rows = [PROVED["calibration_row"](int(w)) for w in weights.ravel()]
    assert made == [row(0) for row in rows]
    assert [row(1) for row in rows] == [0, 0, 0]


@pytest.mark.parametrize(("relation", "replaced"), BOTH)
def test_rounds_of_hazards_add_what_is_proved(relation, replaced):
    model = SimpleNamespace(
        cells=SimpleNamespace(count=3), baselines=1, hazards=3, effects=1,
        terms=SimpleNamespace(covariates=(None,)), moments=(np.zeros(1), np.eye(1) / 3),
    )  # fmt: skip
    rounds = Rounds(model, ZeroConcentratedDP(1), relation)
    codes = RANDOM.permutation(np.arange(20) % 6)
    levels = 2**20 // np.bincount(codes)[codes]
    exposures, cell = RANDOM.uniform(0, 1, size=(3, 20)), RANDOM.integers(-1, 3, size=20)
    data = FollowedUp(
        exposures, cell, RANDOM.normal(size=(1, 20)), np.zeros(20, int), levels, np.ones(20, dtype=bool)
    )
    made = rounds.sums(data, Walk(rounds))
    died = np.equal.outer(np.arange(3), cell).astype(float)
    parts = np.concatenate([died, exposures / math.sqrt(3)])
    lengths = np.sqrt(sum(part * part for part in parts))
    whole = np.trunc(parts * (levels * (1 - 2.0**-40) / np.maximum(lengths, math.sqrt(2)))).astype(int).T
    units = [np.flatnonzero(codes == unit).tolist() for unit in range(6)]
    proved = PROVED["summed"](PROVED["length_bits"])(
        lambda level: lambda i: _vector(_kept(level, whole[i]))
    )
    assert made[:6].tolist() == _entries(proved(units), 6)
    step = PROVED["differences"](replaced)(2 ** PROVED["length_bits"])
    assert (rounds.step_width, rounds.width) == (step, _of("repeated_width", (step, rounds.count)))


def test_the_width_of_several_steps_is_the_one_that_is_proved():
    for width, times in RANDOM.integers(1, 2**30, size=(50, 2)).tolist():
        assert repeated_width(width, times) == PROVED["repeated_width"](width)(times)
    assert PROVED["repeated_width"](3)(4) == 6
    assert PROVED["root_up"](37) == 7


@pytest.mark.parametrize("norm", ["box", "l1", "l2"])
def test_totals_with_weights_are_those_that_are_proved(norm):
    size, width, weight = 6, 5000, Fraction(3, 7)
    widths = (width,) * size if norm == "box" else width
    sharing = Sharing(None, GaussianNoise((1,) * size), norm, widths, ZeroConcentratedDP(1))
    factor, moved = sharing.moved(weight)
    allowed = PROVED["weighed_width"](3)(7)(width)
    assert moved == ((allowed,) * size if norm == "box" else allowed)
    # The room for rounding that is asked for.
    room = {"box": 1, "l1": size, "l2": math.isqrt(size) + 1}[norm]
    assert factor * width <= allowed - room
    totals = RANDOM.integers(-(10**6), 10**6, size=size).tolist()
    made = IntegerSum(size).add_totals(totals, 1).weighed(factor).with_noise([0] * size)
    assert list(made) == [_of("weighed", (factor.numerator, factor.denominator, t)) for t in totals]


def test_normal_variables_are_those_that_are_proved():
    uniforms = RANDOM.uniform(0, 1, size=24)
    floats = SimpleNamespace(
        uniforms=uniforms.__getitem__, log=np.log, sqrt=np.sqrt, where=np.where,
        turns=lambda x: (np.cos(2 * math.pi * x), np.sin(2 * math.pi * x)),
    )  # fmt: skip
    made = drawing.normals(floats, 4, np.arange(20))
    for place, pair in enumerate(uniforms[4:].reshape(-1, 2).tolist()):
        for number, name in enumerate(("first_normal", "second_normal")):
            proved = SHARES[name](pair[0])(pair[1])
            assert made[2 * place + number] == pytest.approx(proved, rel=1e-12)
        # The density of a square of the uniform numbers, and of what becomes of it.
        densities = [SHARES["normal_density"](SHARES[name](pair[0])(pair[1]))
                     for name in ("first_normal", "second_normal")]  # fmt: skip
        assert math.prod(densities) * SHARES["stretch"](pair[0])(pair[1]) == pytest.approx(1, rel=1e-12)
    assert SHARES["normal_density"](0.5) == pytest.approx(NormalDist().pdf(0.5), rel=1e-12)


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


def _recorded(monkeypatch, name):
    """Let a function of `discrete` draw from bits that are kept: the uniforms that it takes."""
    drawing, taken = getattr(discrete, name), []

    def whole(bits):
        taken.append(int.from_bytes(RANDOM.bytes(bits // 8), "big") / 2**bits)
        return int(taken[-1] * 2**bits)

    def source(*asked):
        return whole(*asked) if len(asked) == 1 else [whole(asked[1]) for _ in asked[0]]

    monkeypatch.setattr(discrete, name, lambda *rest: drawing(*rest, source))
    return taken


def _nearest(value):
    return math.floor(value + 0.5)


def test_geometric_numbers_are_drawn_as_proved(monkeypatch):
    uniforms = _recorded(monkeypatch, "draw_array")
    tops, belows = RANDOM.integers(1, 90, size=(2, 40)).tolist()
    made = discrete.floors(tops, belows)
    asked = zip(uniforms, tops, belows, strict=True)
    assert made == [_nearest(SHARES["floor_value"](u)(top)(below)) for u, top, below in asked]


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_shares_of_laplace_noise_are_drawn_as_proved(parts, monkeypatch):
    uniforms = _recorded(monkeypatch, "draw_rounded")
    scales = RANDOM.integers(1, 30, size=30).tolist()
    made, drawn = discrete.negative_binomials(scales, parts), iter(uniforms)
    ratios = [SHARES["ratio"](scale) for scale in scales]
    counts = []
    for p in ratios:
        uniform, count, chances = next(drawn), 0, SHARES["poisson"](SHARES["jumps"](1 / parts)(p))
        while uniform >= SHARES["total"](count + 1)(chances):
            count += 1
        counts.append(count)
    assert made == [
        sum(_nearest(SHARES["kemp_value"](p)(next(drawn))(next(drawn))) for _ in range(count))
        for p, count in zip(ratios, counts, strict=True)
    ]
    assert next(drawn, None) is None


def test_the_laws_of_shares_are_those_that_are_proved():
    for scale in (1, 2):
        p = SHARES["ratio"](scale)
        for drawn, honest in ((1, 1), (1, 3), (4, 3)):
            chances = [SHARES["share"](drawn / honest)(p)(k) for k in range(70)]
            mean = sum(k * chance for k, chance in enumerate(chances))
            variance = 2 * sum((k - mean) ** 2 * chance for k, chance in enumerate(chances))
            stated = SharedLaplaceNoise((scale,), honest, drawn).variances()
            assert variance == pytest.approx(float(stated[0]), rel=1e-9)
        variance = sum(d**2 * SHARES["two_sided"](p)(d) for d in range(-90, 91))
        assert variance == pytest.approx(float(SharedLaplaceNoise((scale,), 3, 3).variances()[0]))
    # Differences of two numbers, and more shares than the guarantee is stated for.
    p = SHARES["ratio"](1)
    geometric = SHARES["geometric"](p)
    for d in range(-3, 4):
        difference = SHARES["difference"](geometric)(geometric)(d)
        assert difference == pytest.approx(SHARES["two_sided"](p)(d), rel=1e-12)
    variance = 2 * sum(d**2 * SHARES["shared_noise"](4 / 3)(1)(d) for d in range(1, 30))
    assert variance == pytest.approx(float(SharedLaplaceNoise((1,), 3, 4).variances()[0]), rel=1e-9)
    # Three shares of a third, by exact fractions.
    third = SHARES["rising"](Fraction(1, 3))(Fraction(2, 5))
    assert [SHARES["several"](3)(third)(k) for k in range(6)] == [Fraction(2, 5) ** k for k in range(6)]


def test_the_loss_of_shares_is_the_one_that_is_proved():
    scales, width = RANDOM.integers(1, 99, size=5).tolist(), RANDOM.integers(1, 99, size=5).tolist()
    law = SharedLaplaceNoise(tuple(scales), 3, 4)
    stated = law.achieved("box", tuple(width), PureDP(1)).epsilon
    proved = SHARES["loss"](5)(_vector(scales))(_vector(width))(lambda place: 0)
    assert float(stated) == pytest.approx(proved, rel=1e-12)
    # Fewer shares than those lose more, and nothing is stated of them.
    one = SHARES["shared_noise"](2 / 3)(1)
    assert one(0) > 1.05 * math.e * one(1)
    with pytest.raises(RefusedMechanismError):
        SharedLaplaceNoise(tuple(scales), 3, 2).achieved("box", tuple(width), PureDP(1))


def test_discrete_gaussian_numbers_are_taken_as_proved(monkeypatch):
    variances = [Fraction(int(a), int(b)) for a, b in RANDOM.integers(1, 60, size=(30, 2))]
    sizes, asked = RANDOM.integers(1, 12, size=30).tolist(), []

    def floors(tops, belows):
        asked.append(list(zip(tops, belows, strict=True)))
        return sizes if len(asked) == 1 else [1] * 30

    monkeypatch.setattr(discrete, "floors", floors)
    made = discrete.discrete_gaussians(variances)
    assert [abs(x) for x in made] == sizes
    for v, size, (t, one), (top, below) in zip(variances, sizes, *asked, strict=True):
        assert one == 1
        taken = SHARES["taken"](v)(t)(size)
        # What is taken surely, whatever is drawn, asks for any number.
        assert taken == 1 or math.exp(-below / top) == pytest.approx(taken, rel=1e-12)


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


def test_symmetric_laws_lose_what_is_proved():
    # One Laplace variable, moved by r: its loss |z - r| - |z| is at most t just as often as stated.
    r = 1.25
    at = LAWS["laplace"](1)
    points = np.linspace(-40, 42, 200_001)
    chances = np.array([at(z) for z in points.tolist()]) * (points[1] - points[0])
    losses = np.abs(points - r) - np.abs(points)
    for t in (0.0, 0.4, 1.0):
        assert chances[losses <= t + 1e-9].sum() == pytest.approx(math.exp(-(r - t) / 2) / 2, abs=1e-3)
        excess = np.maximum(0, 1 - np.exp(t - losses)) @ chances
        assert float(LaplaceLoss(Fraction(r)).delta(Fraction(t))) == pytest.approx(excess, abs=1e-3)


def test_amounts_add_up_and_are_compared_as_proved():
    for _ in range(200):
        numbers = [Fraction(int(n), 7) for n in RANDOM.integers(0, 3, size=4)]
        mine, other = (dict(zip(("first_value", "second_value"), part, strict=True))
                       for part in (numbers[:2], numbers[2:]))  # fmt: skip
        exceeds = Amount("approximate", tuple(numbers[:2])).exceeds(
            Amount("approximate", tuple(numbers[2:]))
        )
        assert LEDGER["within"](mine)(other) == (not exceeds)
        # Basic composition, and rhos.
        both = [a + b for a, b in zip(numbers[:2], numbers[2:], strict=True)]
        assert list(Amount("approximate", tuple(numbers[:2])).plus(
            Amount("approximate", tuple(numbers[2:]))
        ).values) == both  # fmt: skip


@pytest.mark.parametrize("kind", [PureDP, ZeroConcentratedDP])
def test_requests_are_refused_as_the_filter_that_is_proved(kind):
    budget = Budget(kind(3), Neighbours.REPLACE_ONE)
    costs = [Fraction(int(n), 7) for n in RANDOM.integers(1, 12, size=30)]
    before = Record(1, "", "d", "create", budget, Amount.zero(budget.guarantee.kind))
    refused = 0
    for cost in costs:
        left = 3 - before.spent.values[0]
        try:
            paid = spend(before, [Cost(kind(cost))], Neighbours.REPLACE_ONE)
            before = replace(before, spent=paid.spent)
        except BudgetError:
            refused += 1
        assert 3 - before.spent.values[0] == FILTER["remaining"](left)(cost)
    assert 0 < refused < len(costs)
    assert before.spent.values[0] == FILTER["paid"](Fraction(3))(costs)


def test_filters_of_a_delta_let_through_what_is_proved():
    whole, seen = ApproximateDP(Fraction(2), Fraction(1, 1000)), set()
    limit = gaussian_limit(whole.epsilon, (1 - 2 * SPARE) * whole.delta)
    for parts in (Fraction(1) * RANDOM.integers(0, 9, size=(80, 5)) / 7).tolist():
        buffer, length = parts[0] * limit * 3 / 4, parts[1] * limit * 3 / 4
        made = Filter(buffer, length, 3 * parts[2], *(each * SPARE / 800 for each in parts[3:]))
        sums = FILTER["by_sums"](SPARE)(whole.epsilon)(whole.delta)(made.epsilon)(made.delta)
        lengths = FILTER["by_lengths"](SPARE)(limit)(whole.delta)(buffer)(length)(made.failures)
        assert (made.sums(whole), made.lengths(whole)) == (sums, lengths)
        seen |= {(sums, lengths)}
    assert len(seen) == 4


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


def test_radii_of_sums_of_many_are_those_that_are_proved_bit_for_bit():
    for count in (1, 2, 7, 200, 5000):
        x = _floats((count, 6))
        made = x.sum(0)
        radii, sizes = x.radius.sum(axis=0).tolist(), np.abs(x.middle).sum(axis=0).tolist()
        proved = [_called("many_radius", [count, *both]) for both in zip(radii, sizes, strict=True)]
        assert made.radius.tolist() == proved
    most = ARITHMETIC["most_terms"]
    for count, known in ((most, True), (most + 1, False)):
        ones = Enclosures(*(np.broadcast_to(number, count) for number in (1.0, 0.0)))
        assert np.isfinite(ones.sum(0).radius) == known


def test_sums_of_many_pairs_are_those_that_are_proved_bit_for_bit():
    x, size = _pairs(9), 2.0**300
    x = Twofold(*(part * size / np.abs(x.high) for part in vars(x).values()))
    first, *others = zip(*(part.tolist() for part in vars(x).values()), strict=True)
    for other in others:
        total = _called("pair_sum", [first[0], other[0]])
        rest = _called("rest_of_sum", [*first[:2], *other[:2]])
        radius = _called("pair_sum_radius", [*first, *other])
        first = (_called("pair_sum", [total, rest]), _called("pair_rest", [total, rest]), radius)
    assert tuple(float(part) for part in vars(x.sum(0)).values()) == first


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


def test_cosines_and_sines_are_those_that_are_proved_bit_for_bit():
    ends = [k / 8 for k in range(9)] + [math.nextafter(k / 8, 0) for k in range(1, 9)]
    numbers = [*RANDOM.uniform(0, 1, size=400).tolist(), *ends, 5e-324, 1e-310]
    radii = [float(n) for n in 2.0 ** RANDOM.integers(-80, -10, size=len(numbers))]
    cosines, sines = enclosures.turns(Enclosures(np.array(numbers), np.array(radii)))
    for place, (m, r) in enumerate(zip(numbers, radii, strict=True)):
        quarter = round(4 * m)
        assert cosines.middle[place] == _called("turn_cosine", [m, quarter])
        assert sines.middle[place] == _called("turn_sine", [m, quarter])
        assert cosines.radius[place] == sines.radius[place] == _called("turn_radius", [r])


def test_logarithms_are_those_that_are_proved_bit_for_bit():
    numbers = [*np.abs(_floats(300).middle).tolist(), 5e-324, 1e-310, 1.7e308]
    logs = enclosures.log(enclosures.enclosed(np.array(numbers))).middle
    for x, logarithm in zip(numbers, logs.tolist(), strict=True):
        m, e = math.frexp(x)
        m, e = (2 * m, e - 1) if m < math.sqrt(0.5) else (m, e)
        assert logarithm == ARITHMETIC["log_float"](m)(e)


def test_integers_are_decided_as_proved():
    middles = RANDOM.integers(-(2**52), 2**52, size=400) / 2.0 ** RANDOM.integers(0, 60, size=400)
    radii = 2.0 ** RANDOM.integers(-60, 0, size=400) * RANDOM.uniform(0, 1, size=400)
    x = Enclosures(np.append(middles, [0.25, 2.0**51]), np.append(radii, [0.25 - 2.0**-40, 0.0]))
    nearest, found = x.nearest()
    for place, (m, r) in enumerate(zip(x.middle.tolist(), x.radius.tolist(), strict=True)):
        distance = _called("nearest_distance", [m, r, round(m)])
        assert found[place] == (distance < ARITHMETIC["decided"] and abs(m) < 2**51)
        assert not found[place] or nearest[place] == round(m)
    assert set(found.tolist()) == {True, False}
    # In the last one the sum of both parts was rounded by more than the room that is left.
    parts = (x.middle * 2.0**9, middles[0] * RANDOM.uniform(-1, 1, size=402), x.radius)
    last = (0.0, 2.0**45 + 0.4375, 0.0624)
    x = Twofold(*(np.append(part, one) for part, one in zip(parts, last, strict=True)))
    nearest, found = x.nearest()
    for place, (h, low, r) in enumerate(zip(*(part.tolist() for part in vars(x).values()), strict=True)):
        whole = round(h)
        more = round(_called("pair_left", [h, low, whole]))
        distance = _called("pair_distance", [h, low, r, whole, more])
        assert found[place] == (distance < ARITHMETIC["decided"] and max(abs(h), abs(more)) < 2**61)
        assert not found[place] or nearest[place] == whole + more
    assert set(found.tolist()) == {True, False}


def test_integers_of_any_size_are_enclosed_as_proved():
    numbers = [int(n) >> int(by) for n, by in RANDOM.integers(1, 62, size=(60, 2))] + [
        int.from_bytes(RANDOM.bytes(int(size)), "big") for size in RANDOM.integers(1, 40, size=60)
    ]
    singles, pairs = enclosures.integers(numbers), twofold.integers(numbers)
    for place, number in enumerate(numbers):
        middle, low = float(number), float(number - int(float(number)))
        radii = [0 if abs(m) < 2**53 else _called("integer_radius", [m]) for m in (middle, low)]
        assert (singles.middle[place], singles.radius[place]) == (middle, radii[0])
        assert tuple(part[place] for part in vars(pairs).values()) == (middle, low, radii[1])
        assert abs(number - Fraction(middle) - Fraction(low)) <= Fraction(float(pairs.radius[place]))


@pytest.mark.parametrize("bits", [8, 64])
def test_uniform_numbers_are_enclosed_as_proved(bits):
    words = RANDOM.integers(0, 2**64, size=(2, 200), dtype=np.uint64)
    words[0] >>= np.uint64(64 - bits)
    singles, pairs = enclosures.uniforms(words[0], bits), twofold.uniforms(*words, bits)
    for place, (first, second) in enumerate(words.T.tolist()):
        unit, halves = 2.0**-bits, divmod(first, 2**32)
        assert singles.middle[place] == _called("uniform_middle", [first, unit])
        assert singles.radius[place] == _called("uniform_radius", [first, unit])
        parts = [
            _called("uniform_first", [*halves, unit]),
            _called("uniform_rest", [*halves, second, unit]),
        ]
        assert pairs.high[place] == _called("pair_sum", parts)
        assert pairs.low[place] == _called("pair_rest", parts)
        assert pairs.radius[place] == _called("uniform_pair_radius", [*halves, second, unit])


def test_pairs_are_scaled_as_proved():
    x = _pairs(300)
    made, exponents = twofold.as_fraction(x)
    found = np.frexp(x.high)[1]
    assert exponents == found.sum()
    for place, exponent in enumerate(found.tolist()):
        scale = Fraction(2) ** -exponent
        assert Fraction(float(made.high[place])) == Fraction(float(x.high[place])) * scale
        assert made.low[place] == float(Fraction(float(x.low[place])) * scale)
        assert made.radius[place] == _called("scaled_radius", [float(x.radius[place]), 2.0**-exponent])


def test_radii_of_logarithms_are_those_that_are_proved_bit_for_bit():
    x = _floats(400)
    x = Enclosures(np.abs(x.middle), x.radius * 0.9)
    made = enclosures.log(x)
    parts = (x.middle, x.radius, made.middle, made.radius)
    for *given, radius in zip(*(part.tolist() for part in parts), strict=True):
        assert radius == _called("log_radius", given)


def test_radii_of_products_are_those_that_are_proved_bit_for_bit(monkeypatch):
    monkeypatch.setattr(enclosures, "log", lambda x: x)
    factors, largest = ARITHMETIC["factors"], ARITHMETIC["largest_error"]
    words = RANDOM.integers(1, 2**64, size=50 * factors, dtype=np.uint64)
    shorter = words >> RANDOM.integers(0, 60, size=words.size).astype(np.uint64)
    x = enclosures.uniforms(np.maximum(shorter, np.uint64(1)))
    made = enclosures.logs_of_products(x)
    relatives = (x.radius / x.middle).reshape(-1, factors).sum(axis=1)
    known = 0
    for product, radius, relative in zip(made.middle, made.radius, relatives, strict=True):
        if _called("factors_error", [float(relative)]) < largest:
            known += 1
            assert radius == _called("factors_radius", [float(product), float(relative)])
        else:
            assert radius == math.inf
    assert 0 < known < 50
    # What is left of the last ones is one.
    best = np.argsort(x.radius / x.middle)[:3]
    fewer = enclosures.logs_of_products(x[best])
    relative = float((x.radius / x.middle)[best].sum())
    assert fewer.radius[0] == _called("factors_radius", [float(np.prod(x.middle[best])), relative])


def test_sums_that_are_rounded_once_are_those_that_are_proved_bit_for_bit():
    words = RANDOM.integers(2**60, 2**64, size=(3, 100), dtype=np.uint64)
    parts = [enclosures.uniforms(row) for row in words]
    made, logs = enclosures.sum_of_logs(parts), [enclosures.logs_of_products(part) for part in parts]
    total, radii = (
        math.fsum(number for part in logs for number in getattr(part, name))
        for name in ("middle", "radius")
    )
    assert (made.middle, made.radius) == (total, _called("once_radius", [total, radii]))


def test_digits_of_exact_products_have_the_room_that_is_proved():
    # The largest numbers that a sum of so many products may have, times the same.
    for columns in (1, 2, 3, 7, 100):
        matrix = np.full((1, columns), 2**62, dtype=np.int64)
        assert exact_product(matrix, [2**62 + 1] * columns) == [columns * 2**62 * (2**62 + 1)]
        bits = gallina.definitions("Exact")["digit_bits"](columns)
        assert columns * 4**bits < 2**62 <= columns * 4 ** (bits + 2)


def _wild(size):
    """Doubles of all kinds: at the largest, at the smallest, infinite and none."""
    kinds = [
        0.0,
        5e-324,
        2.0**-1022,
        1.0,
        2.0**511,
        2.0**512,
        1e308,
        1.7976931348623157e308,
        math.inf,
        math.nan,
    ]
    made = RANDOM.choice(kinds, size=size) * RANDOM.choice([1, 1, -1, 0.75], size=size)
    usual = RANDOM.normal(size=size) * 2.0 ** RANDOM.integers(-40, 40, size=size)
    return np.where(RANDOM.integers(0, 3, size=size) > 0, usual, made)


def _in_doubles(name, *values):
    """A proved function of doubles, at each place of some arrays."""
    with np.errstate(all="ignore"):
        return np.array([_of_doubles(name, each) for each in zip(*values, strict=True)])


def _of_doubles(name, values):
    function = DOUBLES[name]
    for value in values:
        function = function(value)
    return function


def _wild_enclosures(size):
    return Enclosures(_wild(size), np.abs(_wild(size)))


def test_radii_of_all_doubles_are_those_that_are_proved():
    x, y = _wild_enclosures(3000), _wild_enclosures(3000)
    given = (x.middle, x.radius, y.middle, y.radius)
    with np.errstate(all="ignore"):
        made = {"sum": x + y, "product": x * y, "quotient": x / y}
        root, logarithm = enclosures.sqrt(x), enclosures.log(x)
        cosine, _ = enclosures.turns(Enclosures(RANDOM.uniform(0, 1, 3000), x.radius))
    for name, found in made.items():
        np.testing.assert_array_equal(found.radius, _in_doubles(f"{name}_radius64", *given))
        # Middles that overflowed have no finite radius, unless one that was given had.
        known = np.isfinite(x.middle) & np.isfinite(y.middle)
        assert not np.isfinite(found.radius[known & ~np.isfinite(found.middle)]).any()
        assert np.isfinite(found.radius).any()
        assert not np.isfinite(found.radius).all()
    np.testing.assert_array_equal(root.radius, _in_doubles("root_radius64", x.middle, x.radius))
    proved = _in_doubles("log_radius64", x.middle, x.radius, logarithm.middle)
    np.testing.assert_array_equal(logarithm.radius, proved)
    np.testing.assert_array_equal(cosine.radius, _in_doubles("turn_radius64", x.radius))


@pytest.mark.parametrize("largest", [1.0, 1e304, 1e308])
def test_radii_of_sums_of_all_doubles_are_those_that_are_proved(largest):
    parts = RANDOM.uniform(-1, 1, (2, 40, 30)) * largest
    x = Enclosures(parts[0], np.abs(parts[1]))
    with np.errstate(all="ignore"):
        made = x.sum(0)
        sums = x.radius.sum(axis=0), np.abs(x.middle).sum(axis=0), x.middle.sum(axis=0)
    np.testing.assert_array_equal(made.radius, _in_doubles("many_radius64", [40] * 30, *sums))
    assert np.isfinite(made.radius).all() == (largest < 1e308)


def test_quotients_of_pairs_hold_what_balls_do():
    x, y = _pairs(60), _pairs(60)
    y = Twofold(np.abs(y.high), y.low, y.radius / 4)
    made = x / y
    for place, ball in enumerate(twofold.balls(x) / twofold.balls(y)):
        high, low = float(made.high[place]), float(made.low[place])
        bound = float((ball - high - low).abs_upper())
        assert made.radius[place] >= bound
        assert made.radius[place] == pytest.approx(
            _of_doubles("outward64", (np.float64(bound),)), rel=1e-9
        )


def test_pairs_of_all_doubles_are_those_that_are_proved():
    x, y = (Twofold(_wild(1500), _wild(1500), np.abs(_wild(1500))) for _ in range(2))
    given = [*vars(x).values(), *vars(y).values()]
    highs = (x.high, x.low, y.high, y.low)
    with np.errstate(all="ignore"):
        made = {"sum": (x + y, x.high + y.high), "product": (x * y, x.high * y.high)}
    for name, (found, first) in made.items():
        rest = _in_doubles(f"rest_of_{name}64", *highs)
        np.testing.assert_array_equal(found.low, _in_doubles("pair_rest64", first, rest))
        np.testing.assert_array_equal(found.radius, _in_doubles(f"pair_{name}_radius64", *given))
        known = np.isfinite(found.radius) & np.isfinite(found.low)
        assert known.any()
        assert np.isfinite(found.high[known]).all()
        assert np.isfinite(x.high[known]).all()
        assert np.isfinite(y.low[known]).all()


def test_functions_of_doubles_are_those_that_are_proved_bit_for_bit():
    numbers = [*np.abs(_floats(200).middle).tolist(), 5e-324, 1e-310, 1.7976931348623157e308]
    logs = enclosures.log(enclosures.enclosed(np.array(numbers))).middle
    for x, logarithm in zip(numbers, logs.tolist(), strict=True):
        m, e = math.frexp(x)
        m, e = (2 * m, e - 1) if m < math.sqrt(0.5) else (m, e)
        assert logarithm == _of_doubles("log64", (m, float(e)))
    turned = RANDOM.uniform(0, 1, size=200)
    cosines, sines = enclosures.turns(enclosures.enclosed(turned))
    for place, m in enumerate(turned.tolist()):
        quarter = round(4 * m)
        assert cosines.middle[place] == _of_doubles("turn_cosine64", (m, float(quarter), quarter))
        assert sines.middle[place] == _of_doubles("turn_sine64", (m, float(quarter), quarter))


def test_integers_of_all_doubles_are_decided_as_proved():
    x = _wild_enclosures(3000)
    nearest, found = x.nearest()
    distance = _in_doubles("nearest_distance64", x.middle, x.radius)
    with np.errstate(invalid="ignore"):
        proved = (distance < _of_doubles("decided64", ())) & (np.abs(x.middle) < 2.0**51)
    np.testing.assert_array_equal(found, proved)
    np.testing.assert_array_equal(nearest[found], np.rint(x.middle[found]))
    assert set(found.tolist()) == {True, False}


@pytest.mark.parametrize("compiled", [False, True])
def test_entries_of_any_size_are_clipped_as_proved(compiled):
    # Products and differences overflow; what a row adds is at most the half-widths all the same.
    rows = _wild(3000).reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    h = RANDOM.integers(0, 50, size=6).astype(float)
    for exponent, center in ((40, np.zeros(6)), (3, np.full(6, -1.5e308)), (0, np.full(6, 3.25))):
        rule = GridRule(center, h, np.ones(6), exponent)
        near = np.abs(center).max() < 2.0 ** (900 - exponent)
        with np.errstate(all="ignore"):
            totals = grid_sum(rows, rule, compile=compiled)[0]
        value = "near_value64" if near else "far_value64"
        proved = np.zeros(6)
        for row in rows:
            middle = center * rule.scale if near else center
            values = _in_doubles(value, row, np.full(6, rule.scale), middle)
            entries = _in_doubles("entry64", values, h)
            assert (np.abs(entries) <= h).all()
            proved += entries
        assert totals.tolist() == proved.tolist()


def test_discrete_gaussian_numbers_have_the_chances_that_are_proved(monkeypatch):
    uniforms = _recorded(monkeypatch, "draw_array")
    monkeypatch.setattr(
        discrete, "system_bits", lambda bits: int.from_bytes(RANDOM.bytes(-(-bits // 8)), "big")
    )
    variance, count = Fraction(1, 2), 1500
    drawn = np.array(discrete.discrete_gaussians([variance] * count))
    for x in range(-2, 3):
        chance = SHARES["discrete_gaussian"](0.5)(x)
        error = math.sqrt(chance * (1 - chance) / count)
        assert abs((drawn == x).mean() - chance) < 4.5 * error
    # Each round takes two uniforms; the chance that it is the last.
    chance, rounds = SHARES["accepted"](0.5)(1), len(uniforms) / 2
    assert abs(count / rounds - chance) < 4.5 * math.sqrt(chance * (1 - chance) / rounds)
    # Chances add up to one.
    for law in (
        SHARES["discrete_gaussian"](0.5),
        SHARES["shared_noise"](4 / 3)(1),
        SHARES["two_sided"](0.4),
    ):
        assert math.fsum(map(SHARES["folded"](law), range(40))) == pytest.approx(1, abs=1e-12)


def test_the_gap_of_gaussian_shares_is_the_one_that_is_proved():
    for scales, honest, drawn in (((1,), 1, 3), ((2,), 4, 2), ((2, 3), 3, 7), ((9, 8, 8), 50, 64)):
        law = SharedGaussianNoise(scales, honest, drawn)
        rho = float(law.achieved("l2", 1, ZeroConcentratedDP(1)).rho)
        # rho = (mu + 2 eta K^(1/2))^2 / 2 in K coordinates, and one of them moves by all of the width.
        gap = (math.sqrt(2 * rho) - math.sqrt(honest / drawn) / min(scales)) / 2 / math.sqrt(len(scales))
        proved = SHARES["gap"](min(scales) ** 2 / honest)(drawn - 1)
        assert proved - 1e-15 <= gap == pytest.approx(proved, rel=1e-6, abs=1e-15)


def test_what_a_gap_costs_is_no_less_than_what_it_takes():
    # Two shares of variance 1.
    law, root = SHARES["gaussian_shares"](1)(1), SHARES["gap"](1)(1)
    chances = {x: law(x) for x in range(-16, 17)}
    shares = lambda x: chances.get(x, 1e-99)  # noqa: E731
    for m in (1, 2):
        stated = m / math.sqrt(2) + 2 * root
        for alpha in (1.01, 3):
            found = [
                SHARES["renyi"](alpha)(shares)(SHARES["moved"](shares)(m))(x) for x in range(-13, 14)
            ]
            divergence = math.log(math.fsum(found)) / (alpha - 1)
            assert 0.97 * m**2 / 4 * alpha < divergence <= stated**2 / 2 * alpha


def test_sums_of_gaussian_shares_are_as_close_as_proved():
    # Of variance 1: the gap is seen in nine digits, and no less than a third of what is stated.
    shares, one = SHARES["gaussian_shares"](1)(1), SHARES["discrete_gaussian"](2)
    gaps = [abs(math.log(shares(x) / one(x))) for x in range(-4, 5)]
    assert SHARES["gap"](1)(1) / 3 < max(gaps) <= SHARES["gap"](1)(1)


def test_sums_around_a_place_are_as_flat_as_proved():
    around, wave = SHARES["around"], SHARES["wave"]
    for v in (0.25, 0.4, 0.5, 0.8):
        most, least = around(v)(0), around(v)(0.5)
        assert all(least <= around(v)(t) <= most for t in RANDOM.uniform(-2, 2, size=5).tolist())
        relative = (most - least) / (most + least)
        assert 0.99 * wave(v) < relative / 2 <= wave(v) * (1 - wave(v) ** 2)
        t, s = RANDOM.uniform(-1, 1, size=2).tolist()
        parts = [around(v)((t + s + k) / 2) * around(v)((t - s + k) / 2) for k in (0, 1)]
        assert around(2 * v)(t) * around(2 * v)(s) == pytest.approx(sum(parts), rel=1e-13)


def test_discrete_gaussian_numbers_lose_what_is_proved():
    for scale, width in ((1, 1), (2, 3), (3, 2)):
        rho = float(SharedGaussianNoise((scale,), 1, 1).achieved("l2", width, ZeroConcentratedDP(9)).rho)
        chance = SHARES["discrete_gaussian"](scale**2)
        # Of order 2 nothing is lost in the proof.
        total = math.fsum(chance(x) ** 2 / chance(x - width) for x in range(-30, 31))
        assert math.log(total) == pytest.approx(2 * rho, rel=1e-9)
