"""Dask partitions: the same integers for any partition, a lost worker and a task that runs twice."""

import itertools
import os
import pickle
import signal
import time

import numpy as np
import pandas as pd
import pytest

from dpfda import (
    PrivacyUnit,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateMean,
    PrivateQuantileCurves,
    PrivateQuantiles,
    PrivateSurvival,
)
from dpfda.bounds import L1Ball, L2Ball
from dpfda.covariance.publish import Stage, outer_sum
from dpfda.covariance.strategies import Center
from dpfda.errors import DataError, ParameterError
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records.covariates import columns_on_cluster
from dpfda.records.dask_arrays import sample
from dpfda.records.frames import Container
from dpfda.records.labels import label_marks
from dpfda.spine import clusters
from dpfda.spine.clusters import (
    PLACE_BITS,
    PrivateSum,
    joined,
    places_of,
    pooled_for,
    sent,
    summed,
    total_on_cluster,
)
from dpfda.testing import exact_totals

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
Callback = pytest.importorskip("dask.callbacks").Callback

POINTS = 12
RECORDS = np.random.default_rng(0).normal(size=(91, POINTS))
BOUNDS = {"values": (-1.0, 1.5), "length": L2Ball(0.6), "l1": L1Ball(1.1)}


@pytest.fixture(autouse=True)
def _several_buckets(monkeypatch):
    """Small records, too, are dealt into several."""
    monkeypatch.setattr(clusters, "IN_BUCKET", 200)


def mean(**parameters) -> PrivateMean:
    return PrivateMean(**{"epsilon": 1.0, "bounds": (-1.0, 1.5), "mechanism": "laplace", **parameters})


def exact(prepared) -> tuple[list[int], int]:
    total = prepared.total
    return exact_totals(total), total.count_with_noise(0, 1)


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("chunks", [(91, 12), (46, 12), (13, 5), ((90, 1), (4, 8))])
def test_arrays_give_the_integers_of_one_fit(kind, chunks):
    estimator = mean(bounds=BOUNDS[kind])
    assert exact(estimator.prepare(da.from_array(RECORDS, chunks=chunks))) == exact(
        estimator.prepare(RECORDS)
    )


@pytest.mark.parametrize("parts", [1, 2, 7, 30])
def test_data_frames_give_the_integers_of_one_fit(parts):
    frame = pd.DataFrame(RECORDS, columns=[f"{t:.2f}" for t in np.linspace(0, 24, POINTS)])
    estimator = mean(basis="matern:20%:1.5")
    prepared = estimator.prepare(dd.from_pandas(frame, npartitions=parts))
    assert exact(prepared) == exact(estimator.prepare(frame))
    assert prepared.plan.basis.domain_range == (0.0, 24.0)


def test_partitions_may_be_empty_and_of_unknown_length():
    frame = dd.from_pandas(pd.DataFrame(RECORDS), npartitions=7)
    few = frame[frame[0] > 1.0]
    records = RECORDS[RECORDS[:, 0] > 1.0]
    assert exact(mean().prepare(few)) == exact(mean().prepare(pd.DataFrame(records)))
    assert exact(mean().prepare(few.to_dask_array())) == exact(mean().prepare(records))


def test_fit_releases_on_the_whole():
    fitted = mean(epsilon=1e7).fit(da.from_array(RECORDS, chunks=(20, 12)))
    assert fitted.release_.count == 91
    assert fitted.n_features_in_ == POINTS
    expected = mean(epsilon=1e7).fit(RECORDS).release_
    assert fitted.release_.coefficients == pytest.approx(expected.coefficients, abs=1e-3)


def test_an_unusable_record_is_refused_by_the_client_or_repaired():
    spoilt = RECORDS.copy()
    spoilt[50, 3] = np.nan
    lazy = da.from_array(spoilt, chunks=(13, 12))
    with pytest.raises(DataError, match=r"In partition 3: .*NaN\) in row 11, column 3"):
        mean().prepare(lazy)
    assert exact(mean(invalid="repair").prepare(lazy)) == exact(mean(invalid="repair").prepare(spoilt))


# Persons with one to five records, in several partitions each, and one of many.
PERSON = np.random.default_rng(1).integers(0, 30, size=91) % 23
LABELS = {
    "numbers": PERSON,
    "words": np.array([f"p{who}" for who in PERSON]),
    "halves": PERSON / 2,
}


@pytest.mark.parametrize(
    ("kind", "rows", "labels"),
    [
        ("values", 91, "words"), ("values", 40, "numbers"), ("values", 7, "halves"),
        ("length", 13, "words"), ("l1", 30, "numbers"), ("shape", 13, "words"),
    ],
)  # fmt: skip
def test_a_persons_records_in_several_partitions_are_averaged_to_the_same_integers(kind, rows, labels):
    given = {"standardize": True, "bounds": None} if kind == "shape" else {"bounds": BOUNDS[kind]}
    estimator, whose = mean(unit="person", **given), LABELS[labels]
    whole = exact(estimator.prepare(RECORDS, whose))
    lazy = da.from_array(RECORDS, chunks=(rows, 5))
    prepared = estimator.prepare(lazy, da.from_array(whose, chunks=13))
    assert exact(prepared) == whole
    assert prepared.plan.unit == "person"
    assert exact(estimator.prepare(lazy, whose)) == whole


# With thirty, too, a person is in several: a run of all looks.
@pytest.mark.parametrize("parts", [1, 7, pytest.param(30, marks=pytest.mark.thorough)])
def test_a_persons_records_in_a_frame_are_averaged_to_the_same_integers(parts):
    frame = pd.DataFrame(RECORDS).assign(who=LABELS["words"])
    lazy = dd.from_pandas(frame, npartitions=parts)
    values = [*range(POINTS)]
    whole = exact(mean().prepare(frame[values], frame["who"]))
    assert exact(mean().prepare(lazy[values], lazy["who"])) == whole
    few = lazy[lazy["who"] != "p3"]
    rest = frame[frame["who"] != "p3"]
    assert exact(mean().prepare(few[values], few["who"])) == exact(
        mean().prepare(rest[values], rest["who"])
    )


KEPT = {(False, "in order", "values"), (False, "words", "length"), (True, "at random", "length"),
        (True, "words", "values")}  # fmt: skip


# Each bound, kind of labels and container in every run; the other combinations in a run of all.
@pytest.mark.parametrize(
    ("frame", "labels", "bound"),
    [
        pytest.param(*case, marks=[pytest.mark.thorough] * (case not in KEPT))
        for case in itertools.product(
            [False, True], ["in order", "at random", "words"], ["values", "length"]
        )
    ],
)
def test_who_is_in_one_partition_and_who_is_in_several_are_averaged_to_the_same_integers(
    bound, labels, frame
):
    """Numbers enough for the compiled loops, in every partition and in what is gathered."""
    records = np.random.default_rng(3).normal(size=(6000, 100))
    whose = np.sort(np.random.default_rng(4).integers(0, 1500, size=6000))
    whose = whose if labels == "in order" else np.random.default_rng(5).permutation(whose)
    whose = whose if labels != "words" else np.array([f"p{who}" for who in whose])
    estimator = mean(unit="person", bounds=BOUNDS[bound])
    if frame:
        whole = pd.DataFrame(records).assign(who=whose)
        lazy = dd.from_pandas(whole, npartitions=2)
        assert exact(estimator.prepare(lazy, "who")) == exact(estimator.prepare(whole, "who"))
    else:
        lazy = da.from_array(records, chunks=(3100, 100))
        assert exact(estimator.prepare(lazy, whose)) == exact(estimator.prepare(records, whose))


def test_the_type_of_one_partition_does_not_change_how_another_is_read():
    """A whole number of 2^53 and more is unusable, where others are floats too."""
    whole = np.array([[1, 2], [2**60, 1], [0, 3], [1, 1]])
    parts = [whole, whole[:2] / 2]
    lazy = da.concatenate(
        [da.from_delayed(dask.delayed(part), part.shape, dtype=float) for part in parts]
    )
    whose = np.array([0, 1, 2, 3, 0, 3])
    estimator = mean(bounds=(0, 4), invalid="repair", unit="person")
    alone = np.concatenate([np.where(whole > 4, np.nan, whole), whole[:2] / 2])
    assert exact(estimator.prepare(lazy, whose)) == exact(estimator.prepare(alone, whose))


@pytest.mark.parametrize("kind", ["words", "numbers", "dates"])
def test_the_label_of_a_column_of_a_frame_names_whose_records_they_are(kind):
    whose = pd.to_datetime(PERSON, unit="D") if kind == "dates" else LABELS[kind]
    frame = pd.DataFrame(RECORDS).assign(who=whose)
    lazy = dd.from_pandas(frame, npartitions=4)
    assert exact(mean().prepare(lazy, "who")) == exact(mean().prepare(pd.DataFrame(RECORDS), PERSON))
    density = PrivateDensity(1.0, domain=((-3, 3),) * 2, cells=4)
    few, place = lazy[[0, 1, "who"]], density.prepare(RECORDS[:, :2], PERSON)
    assert exact_totals(density.prepare(few, "who").total) == exact_totals(place.total)
    with pytest.raises(
        ParameterError, match=r"groups must be the label of a column.*Did you mean 'who'"
    ):
        mean().fit(lazy, groups="Who")


def test_labels_that_do_not_fit_are_refused():
    lazy = da.from_array(RECORDS, chunks=(20, 12))
    missing = np.where(PERSON == 3, None, LABELS["words"])
    with pytest.raises(DataError, match="In partition 0: groups must have a label for every record"):
        mean().fit(lazy, groups=missing)
    assert exact(mean(invalid="repair").prepare(lazy, missing)) == exact(
        mean(invalid="repair").prepare(RECORDS, missing)
    )
    with pytest.raises(DataError, match=r"found 5 labels that cannot be divided so.*Pass a column of"):
        mean().fit(lazy, groups=PERSON[:5])
    frame = dd.from_pandas(pd.DataFrame(RECORDS), npartitions=3)
    with pytest.raises(DataError, match=r"must have as many partitions as X; found 5\. Take both"):
        mean().fit(frame, groups=da.from_array(PERSON, chunks=20))


def test_where_records_meet_is_told_by_the_label_alone():
    """The same in every process, whatever its hash seed, and whatever a label is held as."""
    marks = label_marks(["p17", 17, 1017])
    assert marks.tolist()[1:] == [[17, 0], [1017, 0]]
    assert places_of(marks, 10).tolist() == [335, 955, 260]
    labels = [3, 3.0, True, None, "a", b"a", 1.5, np.float64(1.5), (1, "a"), "3", 2**70, 2.0**70]
    found = list(map(tuple, label_marks(np.array([*labels, 0], dtype=object)[:-1], "repair").tolist()))
    same = [(0, 1), (6, 7), (10, 11)]
    for one, two in itertools.combinations(range(len(labels)), 2):
        assert (found[one] == found[two]) == ((one, two) in same)
    numbers = np.arange(-3, 5)
    assert np.array_equal(label_marks(numbers), label_marks(numbers.astype(object)))


def of_calls(made, parts=2):
    """A frame whose partitions are made by `made` of their number and of how often it was called."""
    calls = [0] * parts

    def part(number):
        calls[number] += 1
        return pd.DataFrame(made(number, calls[number]), columns=["0", "1", "who"])

    blocks = [dask.delayed(part)(number) for number in range(parts)]
    return dd.from_delayed(blocks, meta=pd.DataFrame([[0.0, 0.0, 0]], columns=["0", "1", "who"]))


def test_partitions_that_come_out_with_other_persons_are_refused():
    # Person 1 is in the second partition from the second time on.
    frame = of_calls(lambda number, call: [[1.0, 1.0, 1 if call > 1 else 3 + number], [0.0, 0.0, 9]])
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(DataError, match="same labels each time"),
    ):
        mean().prepare(frame, "who")


def test_records_and_labels_are_of_one_making_of_a_partition():
    calls = []

    def made(block):
        calls.append(1)
        return block

    whole = pd.DataFrame({"0": np.zeros(8), "1": np.ones(8), "who": [0, 0, 1, 1] * 2})
    frame = dd.from_pandas(whole, npartitions=2).map_partitions(made, meta=whole.iloc[:0])
    with dask.config.set(scheduler="synchronous"):
        mean().prepare(frame, "who")
    # Once for who is there, once for the sum: where all may move they are not counted.
    assert len(calls) == 2 * 2


def test_a_file_whose_columns_would_be_divided_otherwise_has_the_integers_of_one_fit(tmp_path):
    # Dask reads several groups of rows at once where one column is asked for, and not where all are.
    whole = pd.DataFrame(RECORDS, columns=[f"{k}" for k in range(POINTS)])
    whole["who"] = np.random.default_rng(5).integers(0, 30, len(whole))
    whole.to_parquet(tmp_path / "curves.parquet", row_group_size=12)
    frame = dd.read_parquet(tmp_path / "curves.parquet", split_row_groups=True)
    assert frame["who"].optimize().npartitions < frame.npartitions == 8
    assert exact(mean().prepare(frame, "who")) == exact(mean().prepare(whole, "who"))


@pytest.mark.parametrize("key", [0, 1, "refuse", ("a", 1)])
def test_keys_of_other_tasks_are_not_taken_for_numbers_of_partitions(key):
    said = dask.delayed(lambda: 0)(dask_key_name=key)

    def part(who, beside):
        return pd.DataFrame({"0": [0.0, 1.0], "1": [0.0, 1.0], "who": [f"{who} 1", f"{who} 2"]})

    frame = dd.from_delayed([dask.delayed(part)(who, said) for who in ("a", "b")], meta=part("", 0))
    for found in (mean().prepare(frame, "who"), mean().prepare(frame[["0", "1"]])):
        assert found.total.count_with_noise(0, 1) == 4


def test_persons_in_ranges_of_their_own_do_not_move_where_their_labels_share_a_place():
    places = places_of(label_marks(np.arange(20_000)), PLACE_BITS)
    order = np.argsort(places, kind="stable")
    one = order[:-1][places[order[1:]] == places[order[:-1]]][0]
    other = order[np.flatnonzero(order == one)[0] + 1]
    assert (one < other, places[one]) == (True, places[other])
    lazy, tasks = da.from_array(RECORDS[:26], chunks=(13, 12)), {}
    for name, pair in (("shared", (one, other)), ("apart", (0, 1)), ("everywhere", None)):
        whose = np.arange(26) % 13 if pair is None else np.repeat(pair, 13)
        keys = []
        with Callback(pretask=lambda key, *_, keys=keys: keys.append(key)):
            made = exact(mean(unit="person").prepare(lazy, whose))
        assert made == exact(mean(unit="person").prepare(RECORDS[:26], whose))
        tasks[name] = len(keys)
    assert tasks["shared"] == tasks["apart"] < tasks["everywhere"]


@pytest.mark.parametrize(("numbers", "buckets"), [(RECORDS.size, 1), (RECORDS.size // 3, 3), (1, 5)])
def test_buckets_follow_the_numbers_that_move_and_not_the_partitions(numbers, buckets, monkeypatch):
    """Each has a task a partition, so that small partitions do not make many."""
    monkeypatch.setattr(clusters, "IN_BUCKET", numbers)
    monkeypatch.setattr(clusters, "MOST_BUCKETS", 5)
    places = []
    monkeypatch.setattr(
        clusters, "sent", lambda total, number: places.append(number) or sent(total, number)
    )
    with dask.config.set(scheduler="synchronous"):
        whole = exact(mean(unit="person").prepare(da.from_array(RECORDS, chunks=(7, 12)), PERSON))
    assert whole == exact(mean(unit="person").prepare(RECORDS, PERSON))
    # Each partition adds up who is there alone.
    assert sorted(places) == [*range(13), *range(13, 13 + buckets)]


POINTS_IN_SPACE = np.random.default_rng(2).normal(0.5, 0.4, size=(91, 2))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("rows", [91, 13])
def test_densities_have_the_integers_of_one_fit(rows, dimensions, grouped):
    points, whose = POINTS_IN_SPACE[:, :dimensions], PERSON if grouped else None
    density = PrivateDensity(1.0, domain=[(0, 1)] * dimensions, cells=8)
    lazy = da.from_array(points, chunks=(rows, 1))
    made, whole = density.prepare(lazy, whose), density.prepare(points, whose)
    size = whole.plan.cells.size
    assert made.total.with_noise([0] * size) == whole.total.with_noise([0] * size)
    assert made.plan.size == whole.plan.size
    assert (made.plan.noise, made.plan.unit) == (whole.plan.noise, whole.plan.unit)


@pytest.mark.parametrize("labels", [None, "array", "dask"])
def test_quantiles_gather_the_points_of_one_fit(labels):
    points, whose = POINTS_IN_SPACE[:, 0], None if labels is None else PERSON
    quantiles = PrivateQuantiles(1.0, domain=(0, 1))
    lazy = whose if labels != "dask" else da.from_array(whose, chunks=13)
    made = quantiles.prepare(da.from_array(points, chunks=13), lazy)
    whole = quantiles.prepare(points, whose)
    assert made.plan.size == whole.plan.size
    found, expected = (each.total.ranked(whole.plan.points.nearest) for each in (made, whole))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("unit", [PrivacyUnit("person"), PrivacyUnit("person", "add-remove")])
@pytest.mark.parametrize("basis", [None, "matern:30%:1.5"])
def test_covariances_have_the_integers_of_one_fit(unit, grouped, basis):
    whose = PERSON if grouped else None
    estimator = PrivateCovariance(1.0, bounds=(-1, 1), center="bound", unit=unit, basis=basis)
    pool = estimator.pooled_on(RECORDS[:1], whose)
    total = total_on_cluster(pool, da.from_array(RECORDS, chunks=(13, 5)), whose)
    prepared = estimator.prepare(RECORDS, whose)
    stage = Stage(prepared.plan, 1.0, prepared.plan.center, None)
    for size in (1, pool.functions):
        whole = outer_sum(prepared.total, stage, size)
        nothing = [0] * (size * (size + 1) // 2)
        assert total.with_noise(nothing) == whole.with_noise(nothing)
        assert total.count_with_noise(0, 1) == whole.triangle().count_with_noise(0, 1)


def test_a_covariance_is_released_from_a_cluster():
    lazy = da.from_array(RECORDS, chunks=(13, 12))
    ledger = MemoryLedger().create("all", PureDP(1e7))
    given = {"bounds": (-1, 1), "center": "bound", "ledger": ledger.of("all")}
    made = PrivateCovariance(1e7, **given).fit(lazy)
    assert ledger.spent("all").values == (10**7,)
    expected = PrivateCovariance(1e7, bounds=(-1, 1), center="bound").fit(RECORDS)
    assert made.release_.on_grid() == pytest.approx(expected.release_.on_grid(), abs=1e-3)
    assert (
        made.release_.certificate.mechanism["components"]
        == expected.release_.certificate.mechanism["components"]
    )
    for center in (None, "pairs", "private"):
        with pytest.raises(
            ParameterError, match=r"center must be public where the records lie.*radius=l"
        ):
            PrivateCovariance(1.0, bounds=(-1, 1), center=center).fit(lazy)
    with pytest.raises(ParameterError, match="radius must be public where the records lie"):
        PrivateCovariance(1.0, bounds=(-1, 1), center=Center(0.0, radius="private")).fit(lazy)


CASE = np.where(PERSON % 3 == 0, "case", "control")


def facts(release) -> dict[str, object]:
    """All that a release says, but its noisy numbers and what tells it from the next one."""
    told = release.to_json()
    chance = ("release_id", "shares", "noisy_sum", "noisy_shares", "table")
    return {name: value for name, value in told.items() if name not in chance}


def same_sums(estimator, lazy, arrays, said=None, beside=None) -> None:
    """Integers of one fit, what is published of them, and one charge for it."""
    (X, groups), (whole, whose) = lazy, arrays
    sizes = len(whole) if whose is None else len({*whose})
    pool = pooled_for(estimator, sample(X), groups, said, lambda: sizes)
    made, prepared = total_on_cluster(pool, X, groups, said), estimator.prepare(whole, *beside, whose)
    assert exact_totals(made) == exact_totals(prepared.total)
    assert made.count_with_noise(0, 1) == sizes
    assert pool.plan.table.law.to_json() == prepared.plan.table.law.to_json()
    assert pool.plan.unit == prepared.plan.unit


DAYS = np.random.default_rng(6).exponential(300.0, 91)
CODES = np.random.default_rng(7).integers(0, 3, 91)
FOLLOWED = {"event": CODES, "start": DAYS * np.random.default_rng(8).random(91) / 2, "by": CASE}


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("names", [(), ("event",), ("event", "start"), ("event", "start", "by")])
def test_follow_ups_have_the_integers_of_one_fit(names, grouped):
    estimator = PrivateSurvival(
        1.0, domain=(0, 1000), causes=[1, 2] if names else None, censored=[0] if names else None,
        levels=["case", "control"] if "by" in names else None,
    )  # fmt: skip
    whose = PERSON if grouped else None
    lazy = da.from_array(DAYS, chunks=13)
    labels = da.from_array(PERSON, chunks=20) if grouped else None
    given = {name: FOLLOWED[name] for name in names}
    said = {name: da.from_array(given[name], chunks=13) for name in names}
    beside = [given.get(name) for name in ("event", "start", "by")]
    same_sums(estimator, (lazy, labels), (DAYS, whose), said or None, beside)
    made, one = (estimator.fit(*each).release_ for each in (
        (lazy, *(said.get(name) for name in ("event", "start", "by")), labels), (DAYS, *beside, whose)
    ))  # fmt: skip
    assert facts(made) == facts(one)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", ["frame", "array", "apart"])
def test_regressions_of_curves_have_the_integers_of_one_fit(kind, grouped):
    """Covariates as columns of the frame of curves, as an array, or by their names."""
    age, sex = np.random.default_rng(9).uniform(15, 90, 91), np.where(PERSON % 2, "f", "m")
    numbers = {"age": (20, 80), "height": (0, 1)}
    estimator = PrivateFunctionalRegression(
        1.0,
        bounds=(-1, 1),
        covariates=numbers if kind == "array" else {"age": (20, 80), "sex": ["f", "m"]},
    )
    whose = PERSON if grouped else None
    beside = np.stack([age, DAYS % 1], axis=1) if kind == "array" else {"age": age, "sex": sex}
    if kind == "frame":
        frame = pd.DataFrame(RECORDS, columns=[f"{hour}" for hour in range(POINTS)])
        split = dd.from_pandas(frame.assign(age=age, sex=sex, who=PERSON), npartitions=4)
        columns = [*frame.columns, "age", "sex"]
        X, Z, groups = split[[*columns, "who"]] if grouped else split[columns], None, "who"
        groups, memory = groups if grouped else None, frame
    else:
        X, memory = da.from_array(RECORDS, chunks=(13, 5)), RECORDS
        groups = da.from_array(PERSON, chunks=13) if grouped else None
        Z = da.from_array(beside, chunks=(13, 1)) if kind == "array" else beside
    rest, labels = Container(X, groups).apart()
    rest, said = columns_on_cluster(rest, Z, [*estimator.covariates])
    same_sums(estimator, (rest, labels), (memory, whose), said, [beside])
    made = estimator.fit(X, Z, groups)
    one = estimator.fit(memory, beside, whose).release_
    assert facts(made.release_) == facts(one)
    assert made.n_features_in_ == POINTS


@pytest.mark.parametrize("kind", ["series", "array"])
def test_a_regression_takes_one_covariate_as_a_column(kind):
    age = np.random.default_rng(9).uniform(15, 90, 91)
    if kind == "series":
        columns = [f"{hour}" for hour in range(POINTS)]
        split = dd.from_pandas(pd.DataFrame(RECORDS, columns=columns).assign(age=age), npartitions=4)
        X, Z, memory = split[columns], split["age"], pd.DataFrame(RECORDS, columns=columns)
    else:
        X, Z, memory = da.from_array(RECORDS, chunks=(13, 5)), da.from_array(age, chunks=13), RECORDS
    estimator = PrivateFunctionalRegression(1.0, bounds=(-1, 1), covariates={"age": (20, 80)})
    assert facts(estimator.fit(X, Z).release_) == facts(estimator.fit(memory, age).release_)
    two = PrivateFunctionalRegression(
        1.0, bounds=(-1, 1), covariates={"age": (20, 80), "sex": ["f", "m"]}
    )
    with pytest.raises(
        DataError, match=r"Z must have one column a covariate \(2\); found a single one. Pass an array"
    ):
        two.fit(X, Z)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
def test_quantile_curves_have_the_integers_of_one_fit(grouped, neighbours):
    unit = PrivacyUnit("person", neighbours, None if neighbours == "replace-one" else 40)
    estimator = PrivateQuantileCurves(1.0, bounds=(-1, 1), unit=unit)
    whose = PERSON if grouped else None
    labels = da.from_array(PERSON, chunks=13) if grouped else None
    lazy = da.from_array(RECORDS, chunks=(13, 5))
    pool = pooled_for(estimator, sample(lazy), labels, None, lambda: 91 if whose is None else 22)
    prepared = estimator.prepare(RECORDS, whose)
    made = total_on_cluster(pool, lazy, labels)
    assert exact_totals(made) == exact_totals(prepared.total)
    assert pool.plan.table.law.to_json() == prepared.plan.table.law.to_json()
    made, one = estimator.fit(lazy, groups=labels), estimator.fit(RECORDS, groups=whose)
    assert facts(made.release_) == facts(one.release_)
    assert made.n_features_in_ == POINTS


def test_what_is_said_of_records_is_read_of_each_partition_as_it_is_and_charged_once():
    """Whole numbers in one partition, others in the next; a record that is refused has its place."""
    days = [np.arange(1, 9), np.arange(8) + 0.5, np.arange(1, 9)]
    blocks = [da.from_delayed(dask.delayed(part), (8,), dtype=float) for part in days]
    whose, ended = np.arange(24) % 5, np.arange(24) % 2
    ledger = MemoryLedger().create("all", PureDP(2))
    given = {"domain": (0, 10), "cells": 4, "unit": "patient", "ledger": ledger.of("all")}
    survival = PrivateSurvival(1.0, **given)
    pool = pooled_for(survival, np.zeros(1), whose, {"event": None}, lambda: 5)
    assert pickle.loads(pickle.dumps(pool)).digest == pool.digest  # noqa: S301
    total = total_on_cluster(pool, da.concatenate(blocks), whose, {"event": ended})
    assert exact_totals(total) == exact_totals(
        survival.prepare(np.concatenate(days), ended, groups=whose).total
    )
    assert survival.fit(da.concatenate(blocks), ended, groups=whose).release_.unit == "patient"
    assert ledger.spent("all").values == (1,)
    spoilt = np.where(np.arange(24) == 17, np.nan, np.concatenate(days))
    with pytest.raises(DataError, match=r"In partition 2: time must be finite.* in row 1\."):
        survival.fit(da.from_array(spoilt, chunks=8), ended, groups=whose)
    lazy = da.from_array(spoilt, chunks=8)
    with pytest.raises(ParameterError, match="weights must be None but for follow-ups in memory"):
        survival.fit(lazy, ended, weights=object())
    with pytest.raises(DataError, match="event must be a Dask array"):
        survival.fit(da.concatenate(blocks), ended[:20], groups=whose)
    private = PrivacyUnit("person", "add-remove")
    with pytest.raises(ParameterError, match="cells must be given under add/remove"):
        PrivateSurvival(1.0, domain=(0, 10), unit=private).fit(lazy)
    with pytest.raises(ParameterError, match="public_size must be given under add/remove"):
        PrivateQuantileCurves(1.0, bounds=(0, 1), unit=private).fit(da.from_array(RECORDS))
    assert ledger.spent("all").values == (1,)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [91, 13])
def test_comparisons_have_the_integers_of_one_fit(rows, neighbours, grouped):
    whose = PERSON if grouped else None
    comparison = PrivateComparison(
        1.0, bounds=(-1, 1), levels=["case", "control"], unit=PrivacyUnit("person", neighbours)
    )
    names, whole = comparison.prepare(RECORDS, CASE, whose)
    lazy, labels = da.from_array(RECORDS, chunks=(rows, 5)), da.from_array(CASE, chunks=rows)
    found, parts = comparison.prepare(lazy, labels, whose)
    assert found == names
    for mine, theirs in zip(parts, whole, strict=True):
        assert exact(mine) == exact(theirs)
        assert mine.plan.trial.noise == theirs.plan.trial.noise
    frame = pd.DataFrame(RECORDS).assign(y=CASE)
    split = dd.from_pandas(frame, npartitions=4)
    _, parts = comparison.prepare(split[[*range(POINTS)]], split["y"])
    _, whole = comparison.prepare(RECORDS, CASE)
    assert [exact(part) for part in parts] == [exact(part) for part in whole]


def test_a_comparison_on_a_cluster_refuses_what_one_fit_refuses():
    lazy = da.from_array(RECORDS, chunks=(13, 12))
    two = PrivateComparison(1.0, bounds=(-1, 1), levels=["case", "control"])
    assert set(two.fit(lazy, CASE).release_.means) == {"case", "control"}
    other = np.where(PERSON == 5, "neither", CASE)
    with pytest.raises(DataError, match="In partition 0: y must hold one of the levels"):
        two.fit(lazy, other)
    with pytest.raises(DataError, match="Every unit must be in one group; found a unit in two"):
        two.fit(lazy, CASE, np.arange(91) // 2)
    with pytest.raises(ParameterError, match="levels must be given where the records"):
        PrivateComparison(1.0, bounds=(-1, 1)).fit(lazy, CASE)
    with pytest.raises(DataError, match="The group 'ill' must have at least two units; found none"):
        PrivateComparison(1.0, bounds=(-1, 1), levels=["case", "control", "ill"]).fit(lazy, CASE)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_a_repaired_comparison_counts_a_person_in_the_group_of_its_first_record(neighbours):
    whose = np.random.default_rng(8).integers(0, 12, size=91)
    # Everybody changes the group, and some begin in none where that is private.
    said = np.where(np.arange(91) % 4, "case", "control").astype(object)
    said[40:] = [None if neighbours == "replace-one" else "neither"] * 51
    said[:5] = said[40:45] if neighbours == "add-remove" else said[:5]
    repaired = PrivateComparison(
        1.0, bounds=(-1, 1), levels=["case", "control"], invalid="repair", neighbours=neighbours
    )
    parts = repaired.prepare(da.from_array(RECORDS, chunks=(13, 12)), said, whose)[1]
    whole = repaired.prepare(RECORDS, said, whose)[1]
    assert [exact(part) for part in parts] == [exact(part) for part in whole]


def test_cells_that_follow_from_a_number_need_it():
    lazy = da.from_array(POINTS_IN_SPACE, chunks=(13, 2))
    density = PrivateDensity(1.0, domain=[(0, 1)] * 2)
    assert density.prepare(lazy).plan.cells.shape == density.prepare(POINTS_IN_SPACE).plan.cells.shape
    assert density.fit(lazy).release_.integral((0, 0), (1, 1)) == pytest.approx(1.0)
    with pytest.raises(
        ParameterError, match="cells must be given where the number of units is not known"
    ):
        density.fit(lazy, groups=PERSON)
    with pytest.raises(ParameterError, match="be 'histogram' where the points lie in several places"):
        PrivateDensity(1.0, domain=[(0, 1)] * 2, mechanism="kernel").fit(lazy)


def test_a_sum_that_arrives_twice_counts_once_and_a_changed_one_is_refused():
    one, two = (PrivateSum((k, 5 * k), 3, "", frozenset([k])) for k in (1, 2))
    both = joined([one, two, PrivateSum((1, 5), 3, "", frozenset([1]))])
    assert (both.totals, both.count, both.parts) == ((3, 15), 6, {1, 2})
    assert joined([both, both]).totals == (3, 15)
    changed = PrivateSum((7, 5), 3, "", frozenset([1]))
    for parts, words in (
        ([one, changed], "found two sums of one. Keep what X is made of"),
        ([both, one], "joined twice, with different others. Keep"),
    ):
        with pytest.raises(DataError, match=words):
            summed(joined(parts))


def test_a_sum_on_its_way_does_not_show_itself():
    part = PrivateSum((271828, 5), 3)
    assert repr(part) == "PrivateSum(content private)"
    assert pickle.loads(pickle.dumps(part)).totals == (271828, 5)  # noqa: S301


def slow(block, folder, number):
    """A block that takes a while, and whose first worker is lost on the way."""
    mark = folder / "lost"
    if number == 2 and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    with open(folder / f"run-{number}", "a") as log:
        log.write("x")
    time.sleep(0.05)
    return block


# A killed worker makes the cluster's own threads warn.
@pytest.mark.filterwarnings("ignore")
def test_a_lost_worker_and_tasks_that_run_again_do_not_count_twice(tmp_path):
    distributed = pytest.importorskip("distributed")
    blocks = np.array_split(RECORDS, 7)
    delayed = [dask.delayed(slow)(block, tmp_path, number) for number, block in enumerate(blocks)]
    lazy = da.concatenate(
        [da.from_delayed(d, shape=b.shape, dtype=float) for d, b in zip(delayed, blocks, strict=True)]
    )
    settings = {"distributed.scheduler.allowed-failures": 5, "distributed.comm.timeouts.connect": "20s"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster),
    ):
        prepared = mean().prepare(lazy)
    assert (tmp_path / "lost").exists()
    assert exact(prepared) == exact(mean().prepare(RECORDS))


@pytest.mark.parametrize("groups", [None, LABELS["words"]])
@pytest.mark.parametrize("kind", ["sums", "means", "table"])
def test_machines_that_are_sums_are_those_of_one_fit(kind, groups):
    inputs = RECORDS[:, : 2 if kind == "table" else 4]
    said = {"sums": {"loss": "squared"}, "means": {"loss": "hinge", "solver": "means"}, "table": {}}[
        kind
    ]
    machine = PrivateKernelClassifier(1, bounds=(-2, 2), classes=(0, 1, 2), **said)
    targets, units = PERSON % 3, 91 if groups is None else len(set(groups))
    lazy, own = da.from_array(inputs, chunks=(13, 2)), da.from_array(targets, chunks=13)
    whose = None if groups is None else da.from_array(groups, chunks=20)
    pool = pooled_for(machine, sample(lazy), whose, own, lambda: units)
    prepared = machine.prepare(inputs, targets, groups)
    whole = prepared.total if kind == "table" else prepared.plan.solver.total(prepared.total)
    assert exact_totals(total_on_cluster(pool, lazy, whose, own)) == exact_totals(whole)
    assert pool.plan.costs() == prepared.plan.costs()
    assert pool.plan.noise_words == prepared.plan.noise_words
    assert machine.fit(lazy, own, whose).release_.classes == (0, 1, 2)


@pytest.mark.parametrize(
    ("given", "word", "remedy"),
    [
        ({"delta": 1e-6}, "solver", "Use solver 'sums'"),
        ({"classes": "from-y"}, "classes", "Pass classes="),
        ({"loss": "hinge"}, "solver", "Use solver 'sums'"),
        ({"loss": "squared", "power": "search"}, "power", "State it"),
    ],
)
def test_machines_that_are_no_sums_are_refused_with_a_remedy(given, word, remedy):
    machine = PrivateKernelClassifier(1, bounds=(-2, 2), **({"classes": (0, 1)} | given))
    with pytest.raises(ParameterError, match="where the records lie in several places") as told:
        machine.fit(da.from_array(RECORDS, chunks=13), da.from_array(PERSON % 2, chunks=13))
    assert told.value.parameter == word
    assert remedy in str(told.value)
