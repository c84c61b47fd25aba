"""Dask partitions: the same integers for any partition, a lost worker and a task that runs twice."""

import os
import pickle
import signal
import time

import numpy as np
import pandas as pd
import pytest

from dpfda import PrivateMean
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import DataError
from dpfda.summaries.clusters import PrivateSum

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

POINTS = 12
RECORDS = np.random.default_rng(0).normal(size=(91, POINTS))
BOUNDS = {"values": (-1.0, 1.5), "length": L2Ball(0.6), "l1": L1Ball(1.1)}


def mean(**parameters) -> PrivateMean:
    return PrivateMean(**{"epsilon": 1.0, "bounds": (-1.0, 1.5), "mechanism": "laplace", **parameters})


def exact(prepared) -> tuple[list[int], int]:
    return list(prepared.total.with_noise([0] * POINTS)), prepared.total.count_with_noise(0, 1)


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


def test_groups_are_refused_and_not_split():
    with pytest.raises(DataError, match="one person's records may lie in several partitions"):
        mean().fit(da.from_array(RECORDS, chunks=(20, 12)), groups=np.arange(91) // 2)


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
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB"
        ) as cluster,
        distributed.Client(cluster),
    ):
        prepared = mean().prepare(lazy)
    assert (tmp_path / "lost").exists()
    assert exact(prepared) == exact(mean().prepare(RECORDS))
