"""Sums as a query beside the table read out: processor time and memory, one process for each road.

python benchmarks/queries.py [ROWS]
"""

import resource
import subprocess
import sys
import time

import duckdb
import numpy as np

from dpfda import PrivateMean
from dpfda.mean import estimator

POINTS = 48


def base(rows):
    held = duckdb.connect(config={"threads": 2})
    values = ", ".join(f"random() * 4 - 2 as h{k}" for k in range(POINTS))
    held.execute("select setseed(0.5)")
    held.execute(
        f"create table t as select {values}, range % {rows // 3} as who from range({rows})"  # noqa: S608
    )
    return held


def measure(road, groups, rows):
    columns = "* exclude who" if groups is None else "*"
    table = base(rows).table("t").project(columns)
    mean = PrivateMean(1.0, bounds=(-1, 1), unit="person")
    if road == "read":
        estimator.queried = lambda *asked: None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    if road == "numpy":
        matrix = np.stack([*table.fetchnumpy().values()][:POINTS], axis=1)
        begun = time.process_time()
        matrix.sum(axis=0)
    else:
        mean.prepare(table, groups)
    used = time.process_time() - begun
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{road:6} {groups or '-':4} {used:7.3f} s {grown / 1024:7.0f} MiB more", flush=True)


def main(rows):
    for groups in ("-", "who"):
        for road in ("numpy", "query", "read", "query", "read"):
            subprocess.run([sys.executable, __file__, rows, road, groups], check=True)  # noqa: S603


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[2], None if sys.argv[3] == "-" else sys.argv[3], int(sys.argv[1]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else "300000")
