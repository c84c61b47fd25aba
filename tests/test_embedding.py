"""What a class makes of each record before its bound is heard on every road, and moves no sum far."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFunctionalRegression,
    PrivateMean,
    PrivateReferenceBand,
    PrivateSurvival,
    PrivateVectorMean,
    Session,
)
from dpfda.errors import DataError, DpfdaError, ParameterError
from dpfda.mean.streams import MeanStream
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.spine.pooled import one_sum
from dpfda.testing import check_summary

X = np.random.default_rng(3).uniform(size=(40, 9))
PERSONS = np.arange(40) // 3
ABOVE = (X > 0.5).astype(float)


class Exceedance(PrivateMean):
    """How often a curve is above one half."""

    def embed(self, values):
        return values > 0.5


class Above(PrivateMean):
    """The same with a level of its own."""

    def __init__(self, epsilon=None, level=0.5, *, bounds=None, unit=None, reading=None, ledger=None):
        self.level = level
        super().__init__(epsilon, bounds=bounds, unit=unit, reading=reading, ledger=ledger)

    def embed(self, values):
        return values > self.level


class Moments(PrivateMean):
    """A record and its squares, one after the other."""

    def embed(self, values):
        return np.concatenate([values, values**2], axis=1)

    def embedded_points(self, grid_points):
        span = grid_points[-1] - grid_points[0] + 1
        return np.concatenate([grid_points, grid_points + span])


class Level(PrivateMean):
    """The mean of one number a record."""

    def embed(self, values):
        return np.repeat(values, 5, axis=1)

    def embedded_points(self, grid_points):
        return np.linspace(0.0, 1.0, 5)


def total(prepared) -> tuple[int, ...]:
    sums = prepared.total
    return sums.with_noise([0] * len(sums.with_noise([0] * prepared.plan.components())))


PLAIN = total(PrivateMean(1.0, bounds=(0, 1)).prepare(ABOVE))


def test_every_road_hears_what_a_class_makes_of_records():
    made = Exceedance(1.0, bounds=(0, 1))
    assert total(made.prepare(X)) == PLAIN
    stream = MeanStream(made.plan(40, columns=9))
    for rows in (X[:7], X[7:30], X[30:]):
        stream.add(rows)
    assert total(stream.prepared()) == PLAIN
    blocks = Exceedance(1e6, bounds=(0, 1)).fit_blocks(iter([X[:25], X[25:]])).release_
    np.testing.assert_allclose(blocks(blocks.grid_points), ABOVE.mean(axis=0), atol=0.01)
    for pool in (made.pooled(40, 9), made.pooled_on(X)):
        parts = pool.total(X[:11]).merge(pool.total(X[11:]))
        assert parts.with_noise([0] * pool.numbers) == _plain_pool(pool)


def _plain_pool(pool) -> tuple[int, ...]:
    plain = PrivateMean(1.0, bounds=(0, 1)).pooled(40, 9)
    assert plain.numbers == pool.numbers
    return plain.total(ABOVE).with_noise([0] * plain.numbers)


def test_dask_hears_it_with_persons_and_without():
    arrays = pytest.importorskip("dask.array")
    chunked = arrays.from_array(X, chunks=(7, 9))
    assert total(Exceedance(1.0, bounds=(0, 1)).prepare(chunked)) == PLAIN
    persons = arrays.from_array(PERSONS, chunks=7)
    plain = total(PrivateMean(1.0, bounds=(0, 1)).prepare(ABOVE, PERSONS))
    assert total(Exceedance(1.0, bounds=(0, 1)).prepare(chunked, persons)) == plain


@pytest.mark.parametrize("repeats", [1, 4000], ids=["few", "many"])
def test_records_are_embedded_before_a_person_is_averaged(repeats):
    many, whose = np.tile(X, (repeats, 1)), np.tile(PERSONS, repeats)
    made = total(Exceedance(1.0, bounds=(0, 1)).prepare(many, whose))
    assert made == total(PrivateMean(1.0, bounds=(0, 1)).prepare(np.tile(ABOVE, (repeats, 1)), whose))


def test_a_session_hears_it(tmp_path):
    mean = Exceedance(1e4, 1e-6, bounds=(0, 1), mechanism="gaussian", basis="matern:50%:1.5")
    plain = PrivateMean(1e4, 1e-6, bounds=(0, 1), mechanism="gaussian", basis="matern:50%:1.5")
    with (
        Session.open(mean, X, tmp_path / "one") as one,
        Session.open(plain, ABOVE, tmp_path / "other") as other,
    ):
        assert one.value(0.5) == pytest.approx(other.value(0.5), abs=0.02)


def test_a_bound_is_enforced_on_what_was_embedded():
    class Wild(PrivateMean):
        def embed(self, values):
            return 1e12 * (values - 0.1)

    check_summary(Wild(1.0, bounds=(0, 1)), X[:20])
    ends = (X > 0.1).astype(float)
    plain = PrivateMean(1.0, bounds=(0, 1)).prepare(ends)
    assert total(Wild(1.0, bounds=(0, 1)).prepare(X)) == total(plain)


@pytest.mark.parametrize("made", [Exceedance(1.0, bounds=(0, 1)), Above(1.0, 0.3, bounds=(0, 1))])
def test_classes_that_embed_keep_the_contract(made):
    check_summary(made, X[:20])


def test_other_points_are_those_that_are_stated():
    made = Moments(1e6, bounds=(0, 1), grid_points=np.linspace(0, 1, 9)).fit(X).release_
    assert made.grid_points.size == 18
    wanted = np.concatenate([X.mean(axis=0), (X**2).mean(axis=0)])
    np.testing.assert_allclose(made(made.grid_points), wanted, atol=0.05)
    release = Level(1e6, bounds=(0, 1)).fit(X[:, :1]).release_
    assert release(0.5) == pytest.approx(X[:, 0].mean(), abs=0.01)
    check_summary(Level(1.0, bounds=(0, 1)), X[:20, :1])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda values: values[:, :3], "embed must return one row of 9 numbers for each record"),
        (lambda values: values.mean(axis=0), "embed must return one row of 9 numbers"),
        (lambda values: [["a"] * 9] * len(values), "embed must take an array .* ValueError from it"),
        (lambda values: 1 / 0, "ZeroDivisionError from it"),
    ],
)
def test_what_is_no_row_a_record_is_refused_before_the_charge(function, words):
    made = type("Broken", (PrivateMean,), {"embed": lambda self, values: function(values)})
    ledger = MemoryLedger().create("data", PureDP(5))
    with pytest.raises(ParameterError, match=words):
        made(1.0, bounds=(0, 1), ledger=ledger.of("data")).fit(X)
    assert ledger.spent("data")["epsilon"] == 0


def test_its_errors_tell_no_value():
    class Telling(PrivateMean):
        def embed(self, values):
            raise ValueError(f"secret {values[0, 0]}")

    with pytest.raises(ParameterError) as refused:
        Telling(1.0, bounds=(0, 1)).fit(X)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_row_that_is_not_finite_is_a_record_that_cannot_be_used():
    class Logarithm(PrivateMean):
        def embed(self, values):
            return np.log(values)

    some = X.copy()
    some[5, 2] = 0
    with pytest.raises(DataError, match="embed must give finite numbers; found others for row 5"):
        Logarithm(1.0, bounds=(-5, 0)).fit(some)
    left = np.log(X)
    left[5] = np.nan
    repaired = total(Logarithm(1.0, bounds=(-5, 0), invalid="repair").prepare(some))
    assert repaired == total(PrivateMean(1.0, bounds=(-5, 0), invalid="repair").prepare(left))


def test_what_depends_on_other_rows_does_not_keep_the_contract():
    class Centred(PrivateMean):
        def embed(self, values):
            return values - values.mean(axis=0)

    with pytest.raises(AssertionError, match="depends on the other rows"):
        check_summary(Centred(1.0, bounds=(-1, 1)), X[:20])


def test_a_road_that_forgets_it_does_not_keep_the_contract():
    class Forgetting(Exceedance):
        def fit_blocks(self, blocks):
            self.release_ = PrivateMean(1.0, bounds=(0, 1)).fit_blocks(blocks).release_
            return self

    with pytest.raises(AssertionError, match="in_blocks leads to another sum than fit"):
        check_summary(Forgetting(1.0, bounds=(0, 1)), X[:20])


def test_streams_of_other_embeddings_do_not_add_up():
    streams = [
        MeanStream(made(1.0, bounds=(0, 1)).plan(40, columns=9)) for made in (Exceedance, PrivateMean)
    ]
    with pytest.raises(DpfdaError, match="different bounds, grids or bases"):
        streams[0].merge(streams[1])
    low, high = (
        MeanStream(Above(1.0, level, bounds=(0, 1)).plan(40, columns=9)) for level in (0.2, 0.8)
    )
    with pytest.raises(DpfdaError):
        low.merge(high)


def test_holders_agree_on_the_embedding():
    rules = [made.pooled(40, 9).digest for made in (
        Exceedance(1.0, bounds=(0, 1)), PrivateMean(1.0, bounds=(0, 1)),
        Above(1.0, 0.2, bounds=(0, 1)), Above(1.0, 0.8, bounds=(0, 1)),
    )]  # fmt: skip
    assert len(set(rules)) == 4
    assert Above(1.0, 0.2, bounds=(0, 1)).pooled(40, 9).digest == rules[2]


def test_a_pool_goes_to_other_machines_without_ledger_or_release():
    ledger = MemoryLedger().create("data", PureDP(50))
    made = Exceedance(1.0, bounds=(0, 1), ledger=ledger.of("data")).fit(X)
    sent = pickle.dumps(made.pooled(40, 9))
    assert b"Ledger" not in sent
    assert b"release_" not in sent
    again = pickle.loads(sent)  # noqa: S301
    assert again.total(X).with_noise([0] * again.numbers) == _plain_pool(again)


@pytest.mark.parametrize(
    "summary",
    [
        lambda base: base(PrivateDensity)(1.0, domain=(0, 1)).fit(X[:, 0]),
        lambda base: base(PrivateSurvival)(1.0, domain=(0, 1)).fit(X[:, 0]),
        lambda base: base(PrivateDensity)(1.0, domain=(0, 1)).pooled(40),
    ],
)
def test_summaries_that_would_not_hear_it_refuse_it(summary):
    def base(kind):
        return type("Own", (kind,), {"embed": lambda self, values: values > 0.5})

    with pytest.raises(ParameterError, match="embed must be that of the summary"):
        summary(base)


def test_other_summaries_of_curves_hear_it():
    def own(kind):
        return type("Own", (kind,), {"embed": lambda self, values: values > 0.5, "__module__": __name__})

    given = {"bounds": (0, 1)}
    compared = own(PrivateComparison)(1.0, **given).prepare(X, ["a", "b"] * 20)[1]
    plain = PrivateComparison(1.0, **given).prepare(ABOVE, ["a", "b"] * 20)[1]
    assert [total(part) for part in compared] == [total(part) for part in plain]
    found = [
        kind(1e6, covariates={"z": (0, 1)}, **given).fit(values, X[:, :1]).release_.at(z=0.5)
        for kind, values in ((own(PrivateFunctionalRegression), X), (PrivateFunctionalRegression, ABOVE))
    ]
    np.testing.assert_allclose(found[0](found[0].grid_points), found[1](found[1].grid_points), atol=0.01)
    curves = own(PrivateCovariance)(1.0, bounds=(0, 1)).prepare(X).total.values
    # Differences of pairs, over the root of two.
    assert np.isin(np.round(2 * curves**2, 9), (0, 1)).all()
    both = [kind(1.0, **given).prepare({"a": values, "b": values}) for kind, values in (
        (own(PrivateVectorMean), X), (PrivateVectorMean, ABOVE)
    )]  # fmt: skip
    totals = [[part.with_noise([0] * 3) for part in prepared.total.values()] for prepared in both]
    assert totals[0] == totals[1]
    tests = [kind(1e6, **given).fit(values, ["a", "b"] * 20).release_ for kind, values in (
        (own(PrivateEqualityTest), X), (PrivateEqualityTest, ABOVE)
    )]  # fmt: skip
    assert tests[0].statistic == pytest.approx(tests[1].statistic, rel=1e-3)
    band = own(PrivateReferenceBand)(50.0, coverage=0.5, **given).fit(np.tile(X, (20, 1))).release_
    assert band.contains(np.ones(9)).shape == (1,)


def test_irregular_records_are_refused():
    long = LongCurves(np.repeat(np.arange(20), 4), np.tile([0.1, 0.4, 0.6, 0.9], 20), np.ones(80))
    for missing in ("refuse", "complete"):
        with pytest.raises(ParameterError, match="for a class that embeds records"):
            Exceedance(1.0, bounds=(0, 1), domain=(0, 1), missing=missing).fit(long)


class OwnFit(PrivateMean):
    def fit(self, X, y=None, groups=None):
        return super().fit(np.asarray(X) > 0.5, y, groups)


def test_a_plan_of_a_class_with_its_own_fit_publishes_nothing_by_itself():
    stream = MeanStream(OwnFit(1.0, bounds=(0, 1)).plan(40, columns=9))
    with pytest.raises(ParameterError, match=r"that of OwnFit is not heard.*into `embed`"):
        stream.add(X)
    with pytest.raises(ParameterError, match="pooled_on must go through fit"):
        OwnFit(1.0, bounds=(0, 1)).pooled_on(X)
    with pytest.raises(ParameterError, match="into `embed`"):
        one_sum(OwnFit(1.0, bounds=(0, 1)), "pooled")
    assert OwnFit(1e6, bounds=(0, 1)).fit(X).release_.count == 40


def test_a_file_tells_nothing_of_how_it_was_made(tmp_path: Path):
    release = Exceedance(1.0, bounds=(0, 1)).fit(X).release_
    assert "Exceedance" not in release.save(tmp_path / "made.json").read_text()
