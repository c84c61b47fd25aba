"""All experiments, one after another: `python -m experiments [--quick]`.

Each runs in a process of its own; one that fails does not stop the others. Those that need real data
are left out, and named, where the environment names no folder with them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from experiments.common import DATA_VARIABLE, HERE, say


def commands() -> list[str]:
    """Modules that can be run: those that end in a call of `main`."""
    modules = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
    return [path.stem for path in modules if path.read_text().rstrip().endswith("main()")]


def needs_data(name: str) -> bool:
    """Whether an experiment reads the folder with real data."""
    text = (HERE / f"{name}.py").read_text()
    return any(f"common.{reader}(" in text for reader in ("electricity", "scans", "data_folder"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything, then print how long each took; exit with 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    given = parser.parse_args(arguments)
    extra = ["--quick"] if given.quick else []
    outcomes = [(name, *_run(name, extra)) for name in commands()]
    for name, outcome, seconds in outcomes:
        say(f"{name:24s} {outcome:24s} {seconds:6.1f} s")
    say(f"{'all':49s} {sum(seconds for *_, seconds in outcomes):6.1f} s")
    if any(outcome == "failed" for _, outcome, _ in outcomes):
        raise SystemExit(1)


def _run(name: str, extra: Sequence[str]) -> tuple[str, float]:
    if needs_data(name) and not os.environ.get(DATA_VARIABLE):
        return f"left out: {DATA_VARIABLE}", 0.0
    say(f"== {name}")
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603 (our own modules, by the names of their files)
        [sys.executable, "-m", f"experiments.{name}", *extra], cwd=HERE.parent, check=False
    )
    return "failed" if done.returncode else "done", time.perf_counter() - start


if __name__ == "__main__":
    main()
