"""Blocks of records: the integers before the noise are those of one fit, however they are cut."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfda import PrivateMean
from dpfda.bases import BernsteinBasis
from dpfda.bounds import L1Ball, L2Ball
from dpfda.errors import BudgetError, DataError, DpfdaError, ParameterError, RefusedMechanismError
from dpfda.mean.streams import MeanStream
from dpfda.mechanisms.bernstein import Bernstein
from dpfda.privacy.guarantees import PureDP
from dpfda.privacy.ledger import MemoryLedger
from dpfda.records import LongCurves

POINTS = 12
RECORDS = np.random.default_rng(0).normal(size=(90, POINTS))
BOUNDS = {"values": (-1.0, 1.5), "length": L2Ball(0.6), "l1": L1Ball(1.1)}


def mean(**parameters) -> PrivateMean:
    return PrivateMean(**{"epsilon": 1.0, "bounds": (-1.0, 1.5), "mechanism": "laplace", **parameters})


def exact(prepared) -> list[int]:
    return list(prepared.total.with_noise([0] * prepared.plan.components()))


def opened(estimator: PrivateMean, columns=POINTS) -> MeanStream:
    return MeanStream(estimator.plan(n=1000, columns=columns), estimator.ledger)


def streamed(estimator: PrivateMean, blocks, columns=POINTS) -> list[int]:
    stream = opened(estimator, columns)
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
    streams = [opened(estimator).add(block) for block in np.array_split(RECORDS, 7)]
    whole = opened(estimator)
    for stream in streams[::-1]:
        whole.merge(stream)
    assert exact(whole.prepared()) == exact(estimator.prepare(RECORDS))
    with pytest.raises(DpfdaError, match="The stream is closed: it was released or merged"):
        whole.merge(streams[0])
    with pytest.raises(DpfdaError, match="cannot be merged with itself"):
        whole.merge(whole)
    assert exact(whole.merge(opened(estimator)).prepared()) == exact(estimator.prepare(RECORDS))


def test_streams_of_different_bounds_do_not_merge():
    for bounds in ((-1.0, 1.6), L2Ball(1.0), L1Ball(1.0)):
        other = opened(mean(bounds=bounds)).add(RECORDS)
        with pytest.raises(DpfdaError, match="different bounds, grids or bases"):
            opened(mean()).add(RECORDS).merge(other)
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
        stream = opened(estimator).add(RECORDS[:50])
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

    grid = [float(f"{t:.3f}") for t in np.linspace(0, 2, POINTS)]
    frame = pd.DataFrame(RECORDS, columns=[f"{t:.3f}" for t in grid])
    expected = exact(mean().prepare(frame))
    assert streamed(mean(), [frame[:20], frame[20:]], grid) == expected
    path = tmp_path / "curves.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=17)
    groups = (group.to_pandas() for group in pq.ParquetFile(path).iter_batches())
    assert streamed(mean(), groups, grid) == expected
    stored = zarr.create_array(store=str(tmp_path / "a.zarr"), data=RECORDS, chunks=(11, 5))
    estimator = mean(domain_range=(0, 2))
    plain = exact(estimator.prepare(RECORDS))
    assert streamed(estimator, (stored[start : start + 8] for start in range(0, 90, 8))) == plain


def test_blocks_must_have_the_columns_of_the_first():
    frame = pd.DataFrame(RECORDS, columns=[f"{t:.3f}" for t in np.linspace(0, 1, POINTS)])
    stream = opened(mean()).add(frame)
    for other in (frame[frame.columns[::-1]], frame.rename(columns={"0.000": "0.001"}), RECORDS):
        with pytest.raises(DataError, match="All blocks must have the columns of the first"):
            stream.add(other)
    with pytest.raises(DataError, match=r"one column a grid point \(12\); found 11 columns"):
        opened(mean()).add(RECORDS).add(RECORDS[:5, :11])


def test_a_release_is_that_of_fit_and_closes_the_stream():
    ledger = MemoryLedger().create("d", PureDP(1), unit="record")
    estimator = mean(epsilon=1.0, ledger=ledger.of("d"))
    stream = opened(estimator).add(RECORDS[:60]).add(RECORDS[60:])
    release = stream.release()
    assert release.count == 90
    assert release.guarantee.epsilon == 1
    with pytest.raises(DpfdaError, match="Another release of the same records is a second release"):
        stream.release()
    with pytest.raises(DpfdaError, match="The stream is closed"):
        stream.add(RECORDS)
    again = opened(estimator).add(RECORDS)
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
        opened(mean()).release()
    with pytest.raises(DataError, match="at least two privacy units; found 1"):
        opened(mean()).add(RECORDS[:1]).release()
    with pytest.raises(DataError, match="use fit for irregular curves"):
        opened(mean()).add(LongCurves(["a"], [0.1], [1.0]))
    for wrong in ("missing", "invalid"):
        with pytest.raises(ParameterError, match=f"{wrong} must be one of 'refuse'"):
            opened(mean(**{wrong: "Refuse"})).add(RECORDS)
    with pytest.raises(ParameterError, match="not choose the basis by the number of records"):
        opened(mean(mechanism="bernstein")).add(RECORDS)
    with pytest.raises(RefusedMechanismError, match="delta"):
        opened(mean(mechanism="gaussian")).add(RECORDS)


def test_a_fixed_lattice_can_be_streamed():
    estimator = mean(mechanism=Bernstein(degree=5))
    expected = list(estimator.prepare(RECORDS).total.with_noise([0] * 6))
    prepared = opened(estimator).add(RECORDS[:11]).add(RECORDS[11:]).prepared()
    assert list(prepared.total.with_noise([0] * 6)) == expected
    assert isinstance(prepared.plan.basis, BernsteinBasis)


def test_a_change_of_the_estimator_does_not_reach_the_stream():
    estimator = mean()
    stream = opened(estimator).add(RECORDS[:50])
    estimator.bounds = (-9.0, 9.0)
    assert exact(stream.add(RECORDS[50:]).prepared()) == exact(mean().prepare(RECORDS))


def test_bounds_that_are_written_to_meanwhile_do_not_reach_the_stream():
    # Otherwise records clipped to the wide bounds would get the noise of the narrow ones.
    wide = np.full(POINTS, 100.0)
    bounds = [-wide, wide]
    estimator = mean(bounds=bounds)
    expected = estimator.prepare(100 * RECORDS)
    stream = opened(estimator).add(100 * RECORDS)
    bounds[0] = bounds[0] * 0.01
    wide[:] = 1.0
    prepared = stream.prepared()
    assert exact(prepared) == exact(expected)
    assert prepared.plan.public_design.noise == expected.plan.public_design.noise


def test_bounds_are_those_that_were_enforced(monkeypatch):
    stream = opened(mean()).add(RECORDS)
    narrow = mean(bounds=(-0.01, 0.01)).plan(n=90, columns=POINTS)
    monkeypatch.setattr(type(narrow), "at", lambda self, n: narrow)
    with pytest.raises(DpfdaError, match="Bounds or basis were changed after records had been added"):
        stream.release()


def test_an_empty_stream_takes_no_records_of_other_bounds():
    # The noise of (-1, 1.5) would be a hundredth of what records within (-100, 150) need.
    for bounds in ((-100.0, 150.0), L2Ball(100.0), L1Ball(100.0)):
        other = opened(mean(bounds=bounds)).add(100 * RECORDS)
        with pytest.raises(DpfdaError, match="different bounds, grids or bases"):
            opened(mean()).merge(other)
        other.prepared()


def test_a_stream_neither_shows_nor_gives_away_what_it_holds():
    stream = opened(mean()).add(np.full((3, POINTS), 0.71828))
    assert repr(stream) == "MeanStream(open, content private)"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DpfdaError, match="private and cannot be pickled or copied"):
            leak(stream)
