"""Means on Spark beside Spark's own sum of the same columns, in a local session: time and memory.

Run with: python benchmarks/spark.py [--curves 1000000] [--points 48] [--each 3] [--turns 3]
Curves are in Parquet files, written first; persons have `each` of them, at random places. All roads are
taken in turn; processor time is that of all processes, the least of --turns.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession, functions

from benchmarks.cluster import Peak, made_curves, timed
from dpfda import PrivateMean
from dpfda.spine.spark import fit_on_spark

CHUNK = 50_000


def written(folder: Path, curves: int, points: int, persons: int) -> None:
    """Parquet files of curves, with a person and a visit of each."""
    random = np.random.default_rng(0)
    for number, start in enumerate(range(0, curves, CHUNK)):
        rows = min(CHUNK, curves - start)
        columns = {f"c{k}": column for k, column in enumerate(made_curves(number, rows, points).T)}
        who = random.integers(0, persons, size=rows)
        table = pa.table({**columns, "person": who, "visit": np.arange(start, start + rows)})
        pq.write_table(table, folder / f"{number:05}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=48)
    parser.add_argument("--each", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--memory", default="1g")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    written(folder, asked.curves, asked.points, max(2, asked.curves // asked.each))
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", asked.memory)
        .config("spark.local.dir", str(folder / "local"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(folder / "*.parquet"))
    names = [f"c{k}" for k in range(asked.points)]
    mean = PrivateMean(1.0, bounds=(-2.0, 2.0), basis="matern:50%:2.5", unit="person")
    roads = {
        "Spark's own sum": lambda: frame.agg(*map(functions.sum, names)).collect(),
        "mean": lambda: fit_on_spark(mean, frame, names),
        "mean with persons": lambda: fit_on_spark(mean, frame, names, groups="person", order="visit"),
    }
    peak, turns = Peak(), []
    peak.start()
    try:
        # The first turn starts workers and compiles loops.
        for _ in range(1 + asked.turns):
            turns.append({name: timed(road) for name, road in roads.items()})
            print(turns[-1], flush=True)
        peak.done.set()
        print(f"{asked.curves:,} curves of {asked.points} points; {mean.release_.count:,.0f} persons")
        for place, name in enumerate(("on the clock", "of processors")):
            least = {road: min(turn[road][place] for turn in turns[1:]) for road in roads}
            own = least["Spark's own sum"]
            for road, found in least.items():
                print(f"{road}: {found:.2f} s {name}, {found / own:.1f} times")
        print(f"peak memory of one process: {peak.bytes / 2**20:.0f} MiB")
    finally:
        session.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
