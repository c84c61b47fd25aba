"""Spark partitions: the same integers for any partition, on Arrow batches and in a local session."""

import glob
import os
import shutil
import subprocess
import sys
import warnings
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

from dpfda import (
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateFunctionalRegression,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantileCurves,
    PrivateQuantiles,
    PrivateSurvival,
)
from dpfda.bounds import L2Ball
from dpfda.errors import DataError, ParameterError
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.spine.clusters import joined, summed
from dpfda.spine.spark import Adder, fit_on_spark, made_once, pool_of, total_on_spark
from dpfda.testing import exact_totals

pa = pytest.importorskip("pyarrow")

POINTS = 8
COLUMNS = [f"{hour}.0" for hour in range(POINTS)]
RECORDS = np.random.default_rng(0).normal(size=(60, POINTS))
WHO = np.random.default_rng(1).integers(0, 17, size=60)
DAY = np.arange(60)


def table(rows=slice(None)):
    columns = {name: RECORDS[rows, k] for k, name in enumerate(COLUMNS)}
    return pa.table(columns | {"who": [f"p{who}" for who in WHO[rows]], "day": DAY[rows]})


def mean(**parameters):
    return PrivateMean(1.0, **{"bounds": (-1.0, 1.5), "mechanism": "laplace", **parameters})


def exact(total):
    return exact_totals(total), total.count_with_noise(0, 1)


def dealt(parts):
    """Rows as Spark deals them: whole persons, one after another, in the order of their days."""
    rows = np.argsort(WHO, kind="stable")
    return [rows[k == WHO[rows] % parts] for k in range(parts)]


def whole(pool, groups=None):
    return exact(pool.total(RECORDS, groups))


@pytest.mark.parametrize("batch", [1, 7, 60])
@pytest.mark.parametrize("bounds", [(-1.0, 1.5), L2Ball(0.5)])
def test_batches_of_partitions_give_the_integers_of_one_fit(bounds, batch):
    pool = pool_of(mean(bounds=bounds), COLUMNS, False)
    adder = Adder(pool, POINTS)
    parts = [
        adder.sum(table(slice(start, start + 20)).to_batches(max_chunksize=batch), number)
        for number, start in enumerate((0, 20, 40))
    ]
    assert exact(summed(joined(parts))) == whole(pool)
    # Tried again, arriving twice, out of order, and a partition without a row.
    again = adder.sum(table(slice(20, 40)).to_batches(), 1)
    empty = adder.sum(table(slice(0, 0)).to_batches(), 3)
    assert exact(summed(joined([empty, *parts[::-1], again, *parts]))) == whole(pool)
    assert pool.plan.basis.grid_points.tolist() == list(range(POINTS))
    prepared = mean(bounds=bounds, grid_points=range(POINTS)).prepare(RECORDS)
    assert exact(pool.summation.prepared(summed(joined(parts))).total) == exact(prepared.total)


def test_persons_are_averaged_in_the_order_of_their_rows():
    pool = pool_of(mean(), COLUMNS, True)
    adder = Adder(pool, POINTS, True)
    for size in (1, 4, 60):
        parts = [adder.sum(table(rows).to_batches(size), k) for k, rows in enumerate(dealt(3))]
        assert exact(summed(joined(parts))) == whole(pool, WHO)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    ("estimator", "columns"),
    [
        (PrivateCovariance(1.0, bounds=(-1, 1), center="bound", unit="person"), COLUMNS),
        (PrivateDensity(1.0, domain=(-1, 1), cells=8, unit="person"), COLUMNS[:1]),
        # From which densities of one variable follow, where the other has a value.
        (PrivateDensity(1.0, domain=((-1, 1), (-2, 2)), cells=6, unit="person"), COLUMNS[:2]),
    ],
)
def test_covariances_and_densities_on_batches_have_the_integers_of_one_fit(estimator, columns, grouped):
    pool = pool_of(estimator, columns, grouped)
    adder = Adder(pool, len(columns), grouped)
    said = table().select([*columns, "who"] if grouped else columns)
    parts = [adder.sum(said.take(rows).to_batches(5), k) for k, rows in enumerate(dealt(4))]
    records, whose = RECORDS[:, : len(columns)], WHO if grouped else None
    whole = exact(pool.total(records, whose))
    assert exact(summed(joined([*parts[::-1], parts[0]]))) == whole
    if isinstance(estimator, PrivateDensity):
        assert whole[0] == exact_totals(estimator.prepare(records, whose).total)


CASE = np.where(WHO % 3 == 0, "case", "control")


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_comparison_on_batches_has_the_integers_of_one_fit(grouped, neighbours):
    comparison = PrivateComparison(
        1.0, bounds=(-1, 1), levels=["case", "control"], neighbours=neighbours, grid_points=range(POINTS)
    )
    pool = pool_of(comparison, COLUMNS, grouped)
    adder = Adder(pool, POINTS, grouped)
    said = table().append_column("case", pa.array(CASE)).drop_columns(["day"])
    said = said if grouped else said.drop_columns(["who"])
    parts = [adder.sum(said.take(rows).to_batches(5), k) for k, rows in enumerate(dealt(4))]
    whole = comparison.prepare(RECORDS, CASE, WHO if grouped else None)[1]
    made = pool.prepared(summed(joined([*parts[::-1], parts[0]])))
    assert [exact(part.total) for part in made] == [exact(part.total) for part in whole]
    assert [part.plan.trial.noise for part in made] == [part.plan.trial.noise for part in whole]


AGE, CODE = np.random.default_rng(4).uniform(15, 90, 60), np.random.default_rng(5).integers(0, 2, 60)
FOLLOWED = {"event": "code", "start": "began", "by": "case"}
# What is asked, its columns, what else is said of a record, and what one fit is given.
MORE = {
    "effects": (
        PrivateFunctionalRegression(
            1.0, bounds=(-1, 1), covariates={"age": (20, 80)}, unit="person", grid_points=range(POINTS)
        ),
        COLUMNS, ["age"], (RECORDS, {"age": AGE}),
    ),
    "follow-ups": (
        PrivateSurvival(1.0, domain=(0, 60), levels=["case", "control"], unit="person"),
        ["day"], FOLLOWED, (DAY, CODE, DAY - 0.5, CASE),
    ),
    "events": (PrivateSurvival(1.0, domain=(0, 60), unit="person"), ["day"], "code", (DAY, CODE)),
    "quantile curves": (
        PrivateQuantileCurves(1.0, bounds=(-1, 1), unit="person", grid_points=range(POINTS)),
        COLUMNS, None, (RECORDS,),
    ),
    "predictor": (
        PrivateKernelRegressor(1.0, bounds=(-1, 1), target_bounds=(20, 80), unit="person"),
        COLUMNS[:1], "age", (RECORDS[:, :1], AGE),
    ),
}  # fmt: skip


def prepared(kind, groups):
    """The sum of one fit."""
    estimator, _, _, given = MORE[kind]
    return exact_totals(estimator.prepare(*given, groups=groups).total)


def more_columns(order=slice(None)):
    """The table with what else is said of its records."""
    beside = {"age": AGE, "code": CODE, "began": DAY - 0.5, "case": CASE}
    made = table(order)
    for name, column in beside.items():
        made = made.append_column(name, pa.array(column[order]))
    return made


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", MORE)
def test_more_summaries_on_batches_have_the_integers_of_one_fit(kind, grouped):
    estimator, columns, y, _ = MORE[kind]
    sizes = len({*WHO}) if grouped else 60
    pool = pool_of(estimator, columns, grouped, y, lambda: sizes)
    said = (
        [] if y is None else [y] if isinstance(y, str) else [*(y if isinstance(y, list) else y.values())]
    )
    names = () if y is None or isinstance(y, str) else tuple(y)
    adder = Adder(pool, len(columns), grouped, names)
    wanted = [*columns, *["who"] * grouped, *said]
    parts = [
        adder.sum(more_columns(rows).select(wanted).to_batches(5), k) for k, rows in enumerate(dealt(4))
    ]
    total = exact(summed(joined([*parts[::-1], parts[0]])))
    assert total == (prepared(kind, WHO if grouped else None), sizes)


def test_what_an_executor_answers_is_a_row_of_integers_or_a_refusal():
    pytest.importorskip("pyspark")
    pool = pool_of(mean(), COLUMNS, False)
    (row,) = Adder(pool, POINTS)(iter(table().to_batches()))
    (answer,) = row.to_pylist()
    assert (answer["part"], answer["units"], answer["refusal"]) == (0, 60, "")
    assert tuple(map(int, answer["totals"])) == whole(pool)[0]
    spoilt = table().set_column(3, "3.0", pa.array([None, *RECORDS[1:, 3]]))
    refused = Adder(pool, POINTS).sum(spoilt.to_batches(), 5)
    with pytest.raises(DataError, match=r"In partition 5: .*\(NaN\) in row 0, column 3"):
        summed(joined([refused]))


def test_other_summaries_and_half_of_what_orders_persons_are_refused():
    with pytest.raises(ParameterError, match="groups and order must be given together"):
        fit_on_spark(mean(), None, groups="who")
    ledger = MemoryLedger().create("all", PureDP(1))
    given = {"epsilon": 1.0, "ledger": ledger.of("all")}
    survival, columns, *_ = MORE["events"]
    pool = pool_of(survival, columns, False)
    with pytest.raises(DataError, match="time must hold one value a record"):
        pool.total(table().select(COLUMNS[:2]))
    for other in (
        object(),
        PrivateQuantiles(domain=(0, 1), **given),
        PrivateFPCA(bounds=(0, 1), n_components=2, **given),
    ):
        with pytest.raises(ParameterError, match="be of a summary that is one sum"):
            fit_on_spark(other, MagicMock(columns=COLUMNS))
    assert ledger.spent("all").values == (0,)
    # As in Spark Connect, where nobody tells what was made twice.
    remote = MagicMock(columns=COLUMNS)
    del remote.select().toDF().sparkSession.sparkContext
    with pytest.raises(ParameterError, match="frame must be of a session whose driver is this process"):
        fit_on_spark(mean(), remote)
    with pytest.raises(ParameterError, match="cells must be given"):
        pool_of(PrivateDensity(1.0, domain=(0, 1)), ["age"], False)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as environment:
        # Else workers are of whatever Python is first on the path.
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        warnings.simplefilter("ignore")
        folder = tmp_path_factory.mktemp("spark")
        made = (
            SparkSession.builder.master("local[2,3]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.local.dir", str(folder))
            .config("spark.sql.warehouse.dir", str(folder))
            .getOrCreate()
        )
        yield made
        made.stop()


@pytest.mark.filterwarnings("ignore")
def test_a_session_gives_the_integers_of_one_fit_also_where_a_task_fails_once(session, tmp_path):
    frame = session.createDataFrame(table().to_pandas()).repartition(4)
    for groups, order in ((None, None), ("who", "day")):
        pool = pool_of(mean(unit="person"), COLUMNS, groups is not None)
        made = total_on_spark(pool, frame, COLUMNS, groups, order)
        assert exact(made) == whole(pool, WHO if groups else None)
    covariance = PrivateCovariance(1.0, bounds=(-1, 1), center="bound", unit="person")
    pool = pool_of(covariance, COLUMNS, True)
    assert exact(total_on_spark(pool, frame, COLUMNS, "who", "day")) == whole(pool, WHO)

    once = tmp_path / "failed"

    def flaky(batches):
        if not once.exists():
            once.touch()
            raise OSError("lost")
        yield from batches

    # mapInArrow itself takes no names with points in them.
    plain = frame.select(*(f"`{name}`" for name in COLUMNS)).toDF(*"abcdefgh")
    shaky = plain.mapInArrow(flaky, plain.schema)
    pool = pool_of(mean(), COLUMNS, False)
    assert exact(total_on_spark(pool, shaky, [*"abcdefgh"])) == whole(pool)
    assert once.exists()


@pytest.mark.filterwarnings("ignore")
def test_persons_who_come_out_otherwise_where_a_part_is_made_anew_do_not_count_twice(
    session, tmp_path, monkeypatch
):
    made, lost = tmp_path / "made", tmp_path / "lost"
    made.touch()
    folder = session.conf.get("spark.local.dir")

    class Losing(Adder):
        """Loses what was sent to all partitions, once, after one of them was added up."""

        def __call__(self, batches):
            yield from super().__call__(batches)
            if not lost.exists():
                lost.touch()
                for file in glob.glob(f"{folder}/**/shuffle_*", recursive=True):
                    os.remove(file)

    def labelled(batches):
        """Other persons with every making."""
        from pyspark import TaskContext

        partition = f"{TaskContext.get().partitionId()} "
        with made.open("a") as file:
            file.write(partition)
        shift = 1000 * made.read_text().split().count(partition[:-1])
        for batch in batches:
            ids = batch.column(0).to_numpy()
            columns = {"0": 0.5 + 0.0 * ids, "1": 0.0 * ids, "who": ids + shift, "day": ids}
            yield pa.RecordBatch.from_pydict(columns)

    monkeypatch.setattr("dpfda.spine.spark.Adder", Losing)
    # As many partitions as are asked for, one after another: most have not read when the first is done.
    own = session.newSession()
    own.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    own.conf.set("spark.sql.shuffle.partitions", "6")
    frame = own.range(0, 40, 1, 2).mapInArrow(labelled, "`0` double, `1` double, who long, day long")
    pool = pool_of(mean(unit="person"), ["0", "1"], True)
    total = total_on_spark(pool, frame, ["0", "1"], "who", "day")
    assert exact(total) == exact(pool.total(np.tile([0.5, 0.0], (40, 1)), np.arange(40)))
    # The second time a part, and then all from the beginning.
    assert len(made.read_text().split()) == 3 * 2


@pytest.mark.parametrize("attempts", [[0, 1], [0, None], [2]])
def test_stages_of_which_a_part_was_made_twice_are_told(attempts):
    class Told:
        def getJobIdsForGroup(self, group):  # noqa: N802
            return [7]

        def getJobInfo(self, job):  # noqa: N802
            return SimpleNamespace(stageIds=range(len(attempts)))

        def getStageInfo(self, stage):  # noqa: N802
            found = attempts[stage]
            return None if found is None else SimpleNamespace(currentAttemptId=found)

    assert not made_once(Told(), "own")
    attempts = [0] * len(attempts)
    assert made_once(Told(), "own")


@pytest.mark.filterwarnings("ignore")
def test_means_and_densities_are_released_from_a_session(session):
    frame = session.createDataFrame(table().to_pandas())
    release = fit_on_spark(mean(unit="person"), frame, groups="who", order="day").release_
    assert (release.count, release.unit) == (len(set(WHO.tolist())), "person")
    density = PrivateDensity(1e6, domain=(-1, 1), cells=4, unit="person")
    made = fit_on_spark(density, frame, [COLUMNS[0]]).release_
    expected = PrivateDensity(1e6, domain=(-1, 1), cells=4).fit(RECORDS[:, :1]).release_
    assert made([0.0, 0.5]) == pytest.approx(expected([0.0, 0.5]), abs=1e-3)
    halves = session.createDataFrame(table().to_pandas().assign(case=CASE))
    comparison = PrivateComparison(1.0, bounds=(-1, 1), levels=["case", "control"], unit="person")
    made = fit_on_spark(comparison, halves, groups="who", order="day", y="case").release_
    sizes = [len(set(WHO[name == CASE].tolist())) for name in ("case", "control")]
    assert [made[name].count for name in ("case", "control")] == sizes
    with pytest.raises(DataError, match=r"found none called 'Whom'\. It has "):
        fit_on_spark(mean(), frame, COLUMNS, groups="Whom", order="day")
    with pytest.raises(DataError, match=r"text or integers; found double\. Cast it"):
        fit_on_spark(mean(), frame, COLUMNS[1:], groups=COLUMNS[0], order="day")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", MORE)
def test_more_summaries_are_released_from_a_session_which_says_how_many_persons_there_are(session, kind):
    estimator, columns, y, given = MORE[kind]
    frame = session.createDataFrame(more_columns().to_pandas()).repartition(4)
    made = fit_on_spark(estimator, frame, columns, "who", "day", y).release_
    named = {"groups": WHO}
    one = estimator.fit(*given, **named).release_
    chance = ("release_id", "shares", "noisy_sum", "noisy_shares", "table")
    told, expected = (
        {name: fact for name, fact in each.to_json().items() if name not in chance}
        for each in (made, one)
    )
    assert told == expected


@pytest.mark.filterwarnings("ignore")
def test_nobody_counts_twice_whose_rows_a_join_has_split(session):
    """Joined by person, rows are where the sum wants them: Spark sends them nowhere, and splits many."""
    skewed = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.5",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "2KB",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "2KB",
    }
    before = {name: session.conf.get(name) for name in skewed}

    def persons_of(batches):
        who = sorted({who for batch in batches for who in batch.column(0).to_pylist()})
        yield pa.RecordBatch.from_pydict({"who": who})

    try:
        for name, value in skewed.items():
            session.conf.set(name, value)
        rows = session.range(0, 6000, 1, 8).selectExpr(
            "if(id % 10 < 8, 0, id % 50) AS who", "id AS day", "id % 7 / 7 AS `0.0`"
        )
        other = session.range(0, 50, 1, 2).selectExpr("id AS who", "id / 50 AS `1.0`")
        visits, columns = rows.join(other, "who"), ["0.0", "1.0"]
        pool = pool_of(mean(unit="person"), columns, True)
        # Of 0 there are most; the others have 8 or 9 as their last digit.
        assert total_on_spark(pool, visits, columns, "who", "day").count_with_noise(0, 1) == 11
        # Sent by the label they are not, and the first is in several partitions.
        sent = visits.repartition("`who`").toDF("who", "day", "first", "second")
        assert len(sent.mapInArrow(persons_of, "who long").collect()) > 11
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


@pytest.mark.filterwarnings("ignore")
def test_a_frame_without_a_record_is_released_where_their_number_is_private(session):
    nobody = session.createDataFrame(table().to_pandas()).where("day < 0")
    private = mean(neighbours="add-remove", invalid="repair", public_size=10)
    pool = pool_of(private, COLUMNS, False)
    assert exact(total_on_spark(pool, nobody, COLUMNS)) == ((0,) * pool.numbers, 0)
    assert fit_on_spark(private, nobody, COLUMNS).release_.count == 10.0
    with pytest.raises(DataError, match="at least two privacy units; found 0"):
        fit_on_spark(mean(), nobody, COLUMNS)


def test_spark_is_not_needed_to_import_what_uses_it():
    code = "import sys, dpfda.spine.spark; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
