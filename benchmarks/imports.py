"""How long imports take: medians of fresh interpreters, taken in turns.

    python benchmarks/imports.py [REPEATS]

Compiled bytecode is there from the first turn on, which is not counted, as after an installation by pip.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python": ["-c", "pass"],
    "import numpy": ["-c", "import numpy"],
    "import sklearn.base": ["-c", "import sklearn.base"],
    "import dpfda": ["-c", "import dpfda"],
    "from dpfda import PrivateMean": ["-c", "from dpfda import PrivateMean"],
    "PrivateMean(1.0)": ["-c", "from dpfda import PrivateMean; PrivateMean(1.0)"],
    "dpfda --help": ["-m", "dpfda", "--help"],
    "dpfda plan": ["-m", "dpfda", "plan", "--units", "500", "--epsilon", "1", "--bounds", "0", "1"],
}


def main(repeats: int = 11) -> None:
    """Print medians and shortest times in milliseconds."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(repeats + 1):
        for name, arguments in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(  # noqa: S603
                [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
            )
            seconds[name].append(time.perf_counter() - start)
    print(f"{'milliseconds':32}{'median':>8}{'least':>8}")
    for name, taken in seconds.items():
        counted = taken[1:]
        print(f"{name:32}{1e3 * statistics.median(counted):8.0f}{1e3 * min(counted):8.0f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
