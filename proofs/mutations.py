"""Change one constant or formula at a time, in a copy, and see that a proof or a test fails.

Usage: mutations.py [python], run from anywhere; needs what `make` and the tests need. Exits with 1 if a
change goes unnoticed. (That a proof fails does not show that its statement became false; it shows
that the proof depends on what was changed.)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIE = "tests/test_proofs.py"
# What is changed, in which file, from what, to what, and what must fail: a file of proofs, or the tests.
MUTATIONS = [
    # Numbers of the program that the proofs read.
    (
        "a unit of rounding, by its last place",
        "src/dpfda/numerics/enclosures.py",
        "UNIT: Final = 2.0**-53",
        "UNIT: Final = 2.0**-53 - 2.0**-106",
        "Enclosures",
    ),
    (
        "the factor that covers roundings of radii",
        "src/dpfda/numerics/enclosures.py",
        "_RELATIVE: Final = 1 + 2.0**-45",
        "_RELATIVE: Final = 1 + 2.0**-50",
        "Enclosures",
    ),
    (
        "what covers results that underflow",
        "src/dpfda/numerics/enclosures.py",
        "_ABSOLUTE: Final = 2.0**-1000",
        "_ABSOLUTE: Final = 2.0**-1074",
        "Enclosures",
    ),
    (
        "what covers underflow in pairs of floats",
        "src/dpfda/numerics/twofold.py",
        "_UNDERFLOW: Final = 2.0**-799",
        "_UNDERFLOW: Final = 2.0**-1073",
        "Twofold",
    ),
    (
        "a term of the logarithm's series",
        "src/dpfda/numerics/enclosures.py",
        "for k in range(21, 1, -2))",
        "for k in range(19, 1, -2))",
        "Polynomials",
    ),
    (
        "the lower part of log 2, in its last place but two",
        "src/dpfda/numerics/enclosures.py",
        "0x1.a39ef35793c76p-33",
        "0x1.a39ef35793c7ap-33",
        "Polynomials",
    ),
    (
        "the stated error of logarithms",
        "src/dpfda/numerics/enclosures.py",
        "LOG_ERROR: Final = 8 * UNIT",
        "LOG_ERROR: Final = 5 * UNIT",
        "Logarithm",
    ),
    (
        "a term of the sine's",
        "src/dpfda/numerics/enclosures.py",
        "math.factorial(2 * k + 1) for k in range(8, 0, -1)",
        "math.factorial(2 * k + 1) for k in range(7, 0, -1)",
        "Polynomials",
    ),
    (
        "bits of an integer on the grid",
        "src/dpfda/numerics/gridsums.py",
        "BITS = 30",
        "BITS = 31",
        "Exact",
    ),
    (
        "rows of a block of a step of descent",
        "src/dpfda/machines/solvers/gradient.py",
        "BLOCK = 2**14",
        "BLOCK = 2**18",
        "Exact",
    ),
    # Formulas of the proofs: none is true with less.
    (
        "clipping, by one",
        "proofs/Sensitivity.v",
        "Z.max (- h) (Z.min x h)",
        "Z.max (- h) (Z.min x (h + 1))",
        "Sensitivity",
    ),
    (
        "how far neighbours are apart, by one",
        "proofs/Sensitivity.v",
        "if replaced then 2 * radius else",
        "if replaced then 2 * radius - 1 else",
        "Sensitivity",
    ),
    (
        "outer products without their factor 2",
        "proofs/Sensitivity.v",
        "if 1 <? size then 2 else 1",
        "if 1 <? size then 1 else 1",
        "Sensitivity",
    ),
    (
        "a width that is rounded down",
        "proofs/Sensitivity.v",
        "Z.sqrt (n - 1) + 1.",
        "Z.sqrt n.",
        "Sensitivity",
    ),
    (
        "the range of scores, by one",
        "proofs/Scores.v",
        "4 * 2 ^ share_bits * (if",
        "-1 + 4 * 2 ^ share_bits * (if",
        "Scores",
    ),
    (
        "a scale of Laplace noise, by the root of 2",
        "proofs/Laws.v",
        "IZR width <= epsilon * IZR (b j))",
        "IZR width <= sqrt 2 * epsilon * IZR (b j))",
        "Laws",
    ),
    (
        "a charge that is not compared",
        "proofs/Ledger.v",
        "within zero (cost r) /\\ within (plus (spent (rows f)) (cost r)) (budget r)",
        "within zero (cost r)",
        "Ledger",
    ),
    (
        "one torn count that is taken without a row beyond it",
        "proofs/Ledger.v",
        "(a < length (rows f))%nat\n  | None, None => False\n  end.\n\n(** Both",
        "(a <= length (rows f))%nat\n  | None, None => False\n  end.\n\n(** Both",
        "Ledger",
    ),
    # Formulas of the program: the tests compare them with those that are proved.
    (
        "clipping in the program, by one",
        "src/dpfda/numerics/gridsums.py",
        "self._by_point(np.minimum, made, self._high)",
        "self._by_point(np.minimum, made, self._high + 1)",
        TIE,
    ),
    (
        "how far neighbours are apart in the program, by one",
        "src/dpfda/privacy/guarantees.py",
        "return 2 * radius if self",
        "return 2 * radius - 1 if self",
        TIE,
    ),
    (
        "shares of the program, rounded up",
        "src/dpfda/records/points.py",
        "shares = (counts.astype(np.int64) << exponent) // sizes[units]",
        "shares = -(-(counts.astype(np.int64) << exponent) // sizes[units])",
        TIE,
    ),
    (
        "the width of several steps, by one",
        "src/dpfda/noise/gaussian.py",
        "return math.isqrt(square - 1) + 1",
        "return math.isqrt(square - 1)",
        TIE,
    ),
    (
        "the loss of Laplace noise, by the root of 2",
        "src/dpfda/noise/blocks.py",
        "return Fraction(width, min(scales))",
        "return Fraction(width, min(scales)) * 1000 / 1414",
        TIE,
    ),
    (
        "the radius of a product, without a rounding",
        "src/dpfda/numerics/enclosures.py",
        "return Enclosures(middle, outward(carried + UNIT * np.abs(middle)))",
        "return Enclosures(middle, outward(carried))",
        TIE,
    ),
    (
        "the radius of a product of pairs, without that of its lower parts",
        "src/dpfda/numerics/twofold.py",
        "rounded = rounded + np.abs(self.low * other.low) + _UNDERFLOW",
        "rounded = rounded + _UNDERFLOW",
        TIE,
    ),
    (
        "the range of scores in the program",
        "src/dpfda/density/quantiles_design.py",
        "return 4 * UNIT * (DENOMINATOR - min(self.gaps))",
        "return 2 * UNIT * (DENOMINATOR - min(self.gaps))",
        TIE,
    ),
    (
        "a ledger that takes a torn count without a row beyond it",
        "src/dpfda/privacy/ledger/lines.py",
        "if len(sound) == 1 and sound[0].rows == len(rows):",
        "if len(sound) == 0:",
        TIE,
    ),
]


def copied(folder: Path) -> None:
    """What the proofs and their tests need."""
    for name in ("src", "proofs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
    (folder / "tests").mkdir()
    for name in ("gallina.py", "test_proofs.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)


def fails(folder: Path, check: str, python: str) -> bool:
    """Whether a file of proofs, or the tests, fails in a copy."""
    if check == TIE:
        command = [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", TIE]
    else:
        command = ["make", "-C", "proofs", f"{check}.vo"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)  # noqa: S603
    return ran.returncode != 0


def main() -> int:
    """Try every mutation; 1 if one goes unnoticed."""
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.TemporaryDirectory() as name:
        copied(Path(name))
        for check in dict.fromkeys(mutation[-1] for mutation in MUTATIONS):
            if fails(Path(name), check, python):
                raise SystemExit(f"{check} fails without a change")
    unnoticed = 0
    for what, file, old, new, check in MUTATIONS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            copied(folder)
            text = (folder / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise SystemExit(f"{file} has {text.count(old)} places to change for {what}")
            (folder / file).write_text(text.replace(old, new), encoding="utf-8")
            noticed = fails(folder, check, python)
        unnoticed += not noticed
        print(f"{'fails' if noticed else 'PASSES'}  {check:20} {what}", flush=True)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    raise SystemExit(main())
