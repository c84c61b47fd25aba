"""Blocks of records: the integers before the noise are those of one fit, however they are cut."""

import copy
import pickle
import re
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda import PrivateMean
from dpfda.bases import BernsteinBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import BudgetError, DataError, DpfdaError, ParameterError, RefusedMechanismError
from dpfda.mechanisms.bernstein import Bernstein
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves
from dpfda.summaries.streams import MeanStream

POINTS = 12
RECORDS = np.random.default_rng(0).normal(size=(90, POINTS))
BOUNDS = {"values": (-1.0, 1.5), "length": L2Ball(0.6), "l1": L1Ball(1.1)}


def mean(**parameters) -> PrivateMean:
    return PrivateMean(**{"epsilon": 1.0, "bounds": (-1.0, 1.5), "mechanism": "laplace", **parameters})


def exact(prepared) -> list[int]:
    return list(prepared.total.with_noise([0] * prepared.request.components()))


def streamed(estimator: PrivateMean, blocks) -> list[int]:
    stream = MeanStream(estimator)
    for block in blocks:
        assert stream.add(block) is stream
    return exact(stream.prepared())


@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("parameters", [{}, {"neighbours": "add-remove"}, {"quadrature": "uniform"}])
@settings(deadline=None, max_examples=15)
@given(cuts=st.lists(st.integers(0, 90), max_size=6), seed=st.integers(0, 1000))
def test_blocks_and_their_order_do_not_show(kind, parameters, cuts, seed):
    estimator = mean(bounds=BOUNDS[kind], **parameters)
    expected = exact(estimator.prepare(RECORDS))
    blocks = [block for block in np.split(RECORDS, sorted(cuts)) if len(block)]
    assert streamed(estimator, blocks) == expected
    np.random.default_rng(seed).shuffle(blocks)
    assert streamed(estimator, blocks) == expected


@pytest.mark.parametrize("kind", BOUNDS)
def test_merged_streams_are_one(kind):
    estimator = mean(bounds=BOUNDS[kind])
    streams = [MeanStream(estimator).add(block) for block in np.array_split(RECORDS, 7)]
    whole = MeanStream(estimator)
    for stream in streams[::-1]:
        whole.merge(stream)
    assert exact(whole.prepared()) == exact(estimator.prepare(RECORDS))
    with pytest.raises(DpfdaError, match="The stream is closed: it was released or merged"):
        whole.merge(streams[0])
    with pytest.raises(DpfdaError, match="cannot be merged with itself"):
        whole.merge(whole)
    assert exact(whole.merge(MeanStream(estimator)).prepared()) == exact(estimator.prepare(RECORDS))


def test_streams_of_different_bounds_do_not_merge():
    for bounds in ((-1.0, 1.6), L2Ball(1.0), L1Ball(1.0)):
        other = MeanStream(mean(bounds=bounds)).add(RECORDS)
        with pytest.raises(DpfdaError, match="different bounds, grids or bases"):
            MeanStream(mean()).add(RECORDS).merge(other)
        # It was not consumed.
        other.prepared()


@pytest.mark.parametrize(
    "parameters", [{"standardize": True, "bounds": None}, {"missing": "complete"}, {"invalid": "repair"}]
)
def test_every_reading_of_records_is_that_of_fit(parameters):
    spoilt = RECORDS.copy()
    spoilt[7, 3], spoilt[40] = np.nan, 1e300
    records = RECORDS if "standardize" in parameters else spoilt
    estimator = mean(**parameters)
    assert streamed(estimator, np.array_split(records, 4)) == exact(estimator.prepare(records))


def test_a_refused_block_adds_nothing():
    for bounds in BOUNDS.values():
        estimator = mean(bounds=bounds)
        stream = MeanStream(estimator).add(RECORDS[:50])
        spoilt = RECORDS[50:].copy()
        spoilt[30, 2] = np.inf
        with pytest.raises(DataError, match=r"found an infinity \(inf\) in row 30, column 2"):
            stream.add(spoilt)
        assert exact(stream.add(RECORDS[50:]).prepared()) == exact(estimator.prepare(RECORDS))


def test_rows_are_numbered_from_the_start_of_the_data_also_in_a_late_block():
    records = np.zeros((30_000, 50))
    records[29_000, 7] = np.nan
    for bounds in (BOUNDS["values"], BOUNDS["l1"]):
        with pytest.raises(DataError, match=r"missing value \(NaN\) in row 29000, column 7"):
            mean(bounds=bounds).prepare(records)


def test_frames_arrays_and_files_on_disk(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zarr

    frame = pd.DataFrame(RECORDS, columns=[f"{t:.3f}" for t in np.linspace(0, 2, POINTS)])
    expected = exact(mean().prepare(frame))
    assert streamed(mean(), [frame[:20], frame[20:]]) == expected
    path = tmp_path / "curves.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=17)
    groups = (group.to_pandas() for group in pq.ParquetFile(path).iter_batches())
    assert streamed(mean(), groups) == expected
    stored = zarr.create_array(store=str(tmp_path / "a.zarr"), data=RECORDS, chunks=(11, 5))
    estimator = mean(domain_range=(0, 2))
    plain = exact(estimator.prepare(RECORDS))
    assert streamed(estimator, (stored[start : start + 8] for start in range(0, 90, 8))) == plain


def test_blocks_must_have_the_columns_of_the_first():
    frame = pd.DataFrame(RECORDS, columns=[f"{t:.3f}" for t in np.linspace(0, 1, POINTS)])
    stream = MeanStream(mean()).add(frame)
    for other in (frame[frame.columns[::-1]], frame.rename(columns={"0.000": "0.001"}), RECORDS):
        with pytest.raises(DataError, match="All blocks must have the columns of the first"):
            stream.add(other)
    with pytest.raises(DataError, match=r"one column a grid point \(12\); found 11 columns"):
        MeanStream(mean()).add(RECORDS).add(RECORDS[:5, :11])


def test_a_release_is_that_of_fit_and_closes_the_stream():
    ledger = MemoryLedger().create("d", PureDP(1), unit="record")
    estimator = mean(epsilon=1.0, ledger=ledger.of("d"))
    stream = MeanStream(estimator).add(RECORDS[:60]).add(RECORDS[60:])
    release = stream.release()
    assert release.count == 90
    assert release.guarantee.epsilon == 1
    with pytest.raises(DpfdaError, match="Another release of the same records is a second release"):
        stream.release()
    with pytest.raises(DpfdaError, match="The stream is closed"):
        stream.add(RECORDS)
    again = MeanStream(estimator).add(RECORDS)
    with pytest.raises(BudgetError):
        again.release()


def test_partial_fit_and_finish_set_what_fit_sets():
    ledger = MemoryLedger().create("d", PureDP(10**7), unit="record")
    fitted = mean(epsilon=1e7, ledger=ledger.of("d"))
    for block in np.array_split(RECORDS, 5):
        assert fitted.partial_fit(block) is fitted
    assert fitted.n_features_in_ == POINTS
    assert not hasattr(fitted, "release_")
    assert ledger.spent("d")["epsilon"] == 0
    with pytest.raises(DataError, match="X has 3 features, but PrivateMean is expecting 12 features"):
        fitted.partial_fit(RECORDS[:, :3])
    assert fitted.finish() is fitted
    assert ledger.spent("d")["epsilon"] == 10**7
    assert fitted.release_.count == len(RECORDS)
    with pytest.raises(DataError, match="no block was given to partial_fit"):
        fitted.finish()
    whole = mean(epsilon=1e7).fit(RECORDS).release_
    grid = np.linspace(0, 1, POINTS)
    assert fitted.release_(grid) == pytest.approx(whole(grid), abs=1e-3)


def test_what_a_stream_cannot_do_is_refused_in_words():
    with pytest.raises(DataError, match="no block was added"):
        MeanStream(mean()).release()
    with pytest.raises(DataError, match="at least two privacy units; found 1"):
        MeanStream(mean()).add(RECORDS[:1]).release()
    with pytest.raises(DataError, match="use fit for irregular curves"):
        MeanStream(mean()).add(LongCurves(["a"], [0.1], [1.0]))
    for wrong in ("missing", "invalid"):
        with pytest.raises(ParameterError, match=f"{wrong} must be one of 'refuse'"):
            MeanStream(mean(**{wrong: "Refuse"})).add(RECORDS)
    with pytest.raises(ParameterError, match="not choose the basis by the number of records"):
        MeanStream(mean(mechanism="bernstein")).add(RECORDS)
    with pytest.raises(RefusedMechanismError, match="delta"):
        MeanStream(mean(mechanism="gaussian")).add(RECORDS)


def test_a_fixed_lattice_can_be_streamed():
    estimator = mean(mechanism=Bernstein(degree=5))
    expected = list(estimator.prepare(RECORDS).total.with_noise([0] * 6))
    prepared = MeanStream(estimator).add(RECORDS[:11]).add(RECORDS[11:]).prepared()
    assert list(prepared.total.with_noise([0] * 6)) == expected
    assert isinstance(prepared.request.basis, BernsteinBasis)


def test_a_change_of_the_estimator_does_not_reach_the_stream():
    estimator = mean()
    stream = MeanStream(estimator).add(RECORDS[:50])
    estimator.bounds = (-9.0, 9.0)
    assert exact(stream.add(RECORDS[50:]).prepared()) == exact(mean().prepare(RECORDS))


def test_bounds_that_are_written_to_meanwhile_are_noticed():
    # Otherwise records clipped to the wide bounds would get the noise of the narrow ones.
    wide, narrow = np.full(POINTS, 100.0), np.full(POINTS, 1.0)
    bounds = [-wide, wide]
    stream = MeanStream(mean(bounds=bounds)).add(100 * RECORDS)
    bounds[0] = bounds[0] * 0.01
    wide[:] = narrow
    with pytest.raises(DpfdaError, match="Bounds or basis were changed after records had been added"):
        stream.release()


def test_an_empty_stream_takes_no_records_of_other_bounds():
    # The noise of (-1, 1.5) would be a hundredth of what records within (-100, 150) need.
    for bounds in ((-100.0, 150.0), L2Ball(100.0), L1Ball(100.0)):
        other = MeanStream(mean(bounds=bounds)).add(100 * RECORDS)
        with pytest.raises(DpfdaError, match="different bounds, grids or bases"):
            MeanStream(mean()).merge(other)
        other.prepared()


def test_a_stream_neither_shows_nor_gives_away_what_it_holds():
    stream = MeanStream(mean()).add(np.full((3, POINTS), 0.71828))
    assert repr(stream) == "MeanStream(open, content private)"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DpfdaError, match="private and cannot be pickled or copied"):
            leak(stream)


# Dask itself uses what the newest pandas deprecates.
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_the_page_on_large_data_runs_as_written(tmp_path, monkeypatch):
    import dask.array
    import dask.dataframe
    import pyarrow as pa
    import pyarrow.parquet
    import zarr

    page = Path(__file__).parent.parent.joinpath("docs/large_data.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    records = np.random.default_rng(1).uniform(size=(80, POINTS))
    table = pa.Table.from_pandas(pd.DataFrame(records).rename(columns=str), preserve_index=False)
    (tmp_path / "curves").mkdir()
    for path in ("curves.parquet", "curves/1.parquet", "curves/2.parquet"):
        pyarrow.parquet.write_table(table, path)
    zarr.create_array(store="curves.zarr", data=records, chunks=(13, POINTS))
    names = {"PrivateMean": PrivateMean, "pyarrow": pyarrow, "MeanStream": MeanStream}
    names |= {"dask": dask, "monday": records[:30], "tuesday": records[30:]}
    block = next(
        part for part in re.findall(r"(?:^    .*\n|^\n)+", page, flags=re.M) if "mean =" in part
    )
    exec(textwrap.dedent(block), names)  # noqa: S102
    assert names["release"].count == 80
    assert names["mean"].release_.count == 160
