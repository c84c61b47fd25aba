"""Processor time of imports and of commands: the least of fresh interpreters, taken in turns.

    python benchmarks/imports.py [--page docs/appendix/large_data.md] [--turns 7]

Compiled bytecode is there from the first turn on, which is not counted, as after an installation by pip.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PLAN = ["-m", "dpfda", "plan"]
OF_500 = ["--units", "500", "--epsilon", "1"]
BOUNDED = [*OF_500, "--bounds", "0", "1"]
COMMANDS = {
    "`python`": ["-c", "pass"],
    "`import numpy`": ["-c", "import numpy"],
    "`import scipy.special`": ["-c", "import scipy.special"],
    "`import sklearn.base`": ["-c", "import sklearn.base"],
    "`import dpfda`": ["-c", "import dpfda"],
    "`from dpfda import PrivateMean`": ["-c", "from dpfda import PrivateMean"],
    "`dpfda --help`": ["-m", "dpfda", "--help"],
    "`dpfda mean` of 200 curves": [
        *("-m", "dpfda", "mean", "curves.csv", "--epsilon", "1", "--bounds", "0", "9"),
        *("--out", "mean.json", "--overwrite"),
    ],
    "`dpfda show` of it": ["-m", "dpfda", "show", "mean.json"],
    "`dpfda plan`": [*PLAN, *BOUNDED],
    "`dpfda plan --standardize`": [*PLAN, *OF_500, "--standardize"],
    "`dpfda plan covariance`": [*PLAN, "covariance", *BOUNDED],
    "`dpfda plan fpca`": [*PLAN, "fpca", *BOUNDED],
    "`dpfda plan density`": [*PLAN, "density", *OF_500, "--column", "age:0:100"],
    "`dpfda plan survival`": [*PLAN, "survival", *OF_500, "--domain", "0", "1100"],
    "`dpfda plan cox`": [*PLAN, "cox", *OF_500, "--covariate", "age:40:90", "--domain", "0", "10"],
    "`dpfda plan regress`": [
        *(*PLAN, "regress", *OF_500, "--covariate", "age:18:90", "--target", "pressure:60:200")
    ],
}
BEGIN, END = "<!-- start -->", "<!-- end of start -->"


def seconds(arguments: list[str], folder: str) -> float:
    """Of one process, in user and system mode."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603
        [sys.executable, *arguments], check=True, capture_output=True, env=environment, cwd=folder
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(turns: int) -> str:
    """Measure and write a table of Markdown."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        values = np.random.default_rng(0).uniform(0, 9, (200, 24))
        header = ",".join(map(str, range(24)))
        np.savetxt(Path(folder, "curves.csv"), values, "%.3f", ",", header=header, comments="")
        for _ in range(turns + 1):
            for name, arguments in COMMANDS.items():
                taken[name].append(seconds(arguments, folder))
    lines = ["| | processor seconds |", "| --- | ---: |"]
    lines += [f"| {name} | {min(times[1:]):.2f} |" for name, times in taken.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--page", type=Path, help="a page whose table is replaced")
    asked = parser.parse_args()
    made = table(asked.turns)
    print(made)
    if asked.page is not None:
        before, rest = asked.page.read_text().split(BEGIN)
        asked.page.write_text(before + BEGIN + "\n" + made + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
