"""Processor time of a mean of the same doubles in several containers, as multiples of NumPy's fit.

In one look, and in two, as the default does here.

Run: python benchmarks/doors.py [ROWS]
Works are taken in turns, after one turn that does not count; the least of each is told.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dpfda import PrivateMean

POINTS, TURNS = 48, 7


def containers(rows: int) -> dict[str, Callable[[], object]]:
    """The same numbers in each."""
    values = np.random.default_rng(0).uniform(size=(rows, POINTS))
    frame = pd.DataFrame(values, columns=[f"{k}" for k in range(POINTS)])
    table = pa.table({name: frame[name].to_numpy() for name in frame.columns})
    polars = pl.from_arrow(table)
    nullable = {kind: frame.convert_dtypes(dtype_backend=kind) for kind in ("numpy_nullable", "pyarrow")}
    base = duckdb.connect(config={"threads": 1})
    base.register("records", table)
    base.execute("create table held as select * from records")
    return {
        "numpy": lambda: values,
        "pandas": lambda: frame,
        "polars": lambda: polars,
        "arrow": lambda: table,
        "duckdb, read or as a query": lambda: base.table("held"),
        "duckdb, read out": lambda: base.table("held").to_arrow_table(),
        **{f"pandas, {kind}": lambda kept=kept: kept for kind, kept in nullable.items()},
    }


def main(rows: int = 50_000) -> None:
    """Print seconds and multiples."""
    warnings.simplefilter("ignore")
    looks = [PrivateMean(1.0, bounds=(0, 1), mechanism=each) for each in ("one-look", "auto")]
    works, taken = containers(rows), dict[tuple[str, int], list[float]]()
    for _ in range(TURNS + 1):
        for name, made in works.items():
            for place, mean in enumerate(looks):
                start = time.process_time()
                mean.fit(made())
                taken.setdefault((name, place), []).append(time.process_time() - start)
    least = {key: min(times[1:]) for key, times in taken.items()}
    for name in works:
        found = [(least[name, place], least["numpy", place]) for place in range(len(looks))]
        print(f"{name:24}" + "".join(f"{mine:8.4f} s{mine / numpy:6.1f}" for mine, numpy in found))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
