"""Write Constants.v and FloatConstants.v: the constants of the program, as its source has them.

The proofs are about these numbers and not about a copy of them, so that a number that is changed in the
program changes in the proofs, which then fail where they need the old one. Nothing of the program is
imported: its source is parsed, and the values of its constants computed.
"""

from __future__ import annotations

import ast
import math
import sys
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER.parent / "src" / "dpfda"
INTEGERS = {
    "slope_bits": ("machines/solvers/gradient.py", "SLOPE_BITS"),
    "feature_bits": ("machines/solvers/gradient.py", "FEATURE_BITS"),
    "point_bits": ("machines/solvers/gradient.py", "POINT_BITS"),
    "gradient_block": ("machines/solvers/gradient.py", "BLOCK"),
    "length_bits": ("survival/cox_rounds.py", "LENGTH_BITS"),
    "share_bits": ("noise/shares.py", "EXPONENT"),
    "weight_bits": ("publication/tables.py", "WEIGHT"),
    "value_bits": ("publication/tables.py", "VALUE"),
    "grid_bits": ("numerics/gridrules.py", "BITS"),
    "grid_rows": ("numerics/gridsums.py", "ROWS_AT_ONCE"),
    "most_terms": ("numerics/enclosures.py", "MOST_TERMS"),
    "factors": ("numerics/enclosures.py", "FACTORS"),
    "level_steps": ("density/quantiles_design.py", "DENOMINATOR"),
}
REALS = {
    "unit_roundoff": ("numerics/enclosures.py", "UNIT"),
    "relative": ("numerics/enclosures.py", "_RELATIVE"),
    "sum_relative": ("numerics/enclosures.py", "_SUM_RELATIVE"),
    "product_relative": ("numerics/enclosures.py", "_PRODUCT_RELATIVE"),
    "largest_error": ("numerics/enclosures.py", "_LARGEST_ERROR"),
    "decided": ("numerics/enclosures.py", "DECIDED"),
    "absolute": ("numerics/enclosures.py", "_ABSOLUTE"),
    "log_error": ("numerics/enclosures.py", "LOG_ERROR"),
    "turn_error": ("numerics/enclosures.py", "_TURN_ERROR"),
    "turn_slope": ("numerics/enclosures.py", "_TURN_SLOPE"),
    "two_pi": ("numerics/enclosures.py", "_TWO_PI"),
    "log2_high": ("numerics/enclosures.py", "_LOG2_HIGH"),
    "log2_low": ("numerics/enclosures.py", "_LOG2_LOW"),
    "flatness": ("noise/knorm_shares.py", "FLATNESS"),
    "splitter": ("numerics/twofold.py", "_SPLITTER"),
    "underflow": ("numerics/twofold.py", "_UNDERFLOW"),
    "root_half": ("numerics/enclosures.py", "_ROOT_HALF"),
    "log_terms": ("numerics/enclosures.py", "_LOG_TERMS"),
    "sine_terms": ("numerics/enclosures.py", "_SINE_TERMS"),
    "cosine_terms": ("numerics/enclosures.py", "_COSINE_TERMS"),
}
SAFE = {"math": math, "Fraction": Fraction, "float": float, "range": range, "tuple": tuple}


def constants(file: str, source: Path = SOURCE) -> dict[str, object]:
    """Values of the constants of a module: names set once, to what needs no import but `math`."""
    found: dict[str, object] = {}
    for node in ast.parse((source / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        try:
            code = compile(ast.Expression(value), file, "eval")
            made = eval(code, {"__builtins__": {}, **SAFE, **found})  # noqa: S307
        except Exception:  # noqa: S112 (not a number: another kind of constant)
            continue
        if isinstance(target, ast.Name):
            found[target.id] = made
        elif isinstance(target, ast.Tuple):
            found.update(zip((ast.unparse(name) for name in target.elts), made, strict=True))
    return found


def integer(value: object) -> str:
    """An integer as Coq reads it."""
    if type(value) is not int:
        raise SystemExit(f"an integer is expected; found {value!r}")
    return f"({value})"


def real(value: object) -> str:
    """A float as Coq reads it: a quotient of integers, exactly."""
    if type(value) is not float or not math.isfinite(value):
        raise SystemExit(f"a finite float is expected; found {value!r}")
    numerator, denominator = value.as_integer_ratio()
    return f"(IZR ({numerator}) / IZR {denominator})"


def reals(value: object) -> str:
    """One float, or a list of them."""
    return f"[{'; '.join(map(real, value))}]" if isinstance(value, tuple) else real(value)


def lines(source: Path = SOURCE) -> tuple[list[str], list[str]]:
    """The two files, line by line."""
    made = []
    for table, written, kinds in ((INTEGERS, integer, ("Z", "Z")), (REALS, reals, ("R", "list R"))):
        part = []
        for name, (file, constant) in table.items():
            values = constants(file, source)
            if constant not in values:
                raise SystemExit(f"{file} has no constant {constant}")
            kind = kinds[isinstance(values[constant], tuple)]
            part.append(f"(** {constant} in {file}. *)")
            part.append(f"Definition {name} : {kind} := {written(values[constant])}.")
        made.append(part)
    return made[0], made[1]


def main() -> None:
    """Write the two files."""
    integers, floats = lines()
    note = "(* Written by constants.py from the source of the program: do not edit. *)"
    head = {
        "Constants.v": "From Coq Require Import ZArith.\nOpen Scope Z_scope.",
        "FloatConstants.v": "From Coq Require Import ZArith Reals List.\n"
        "Import ListNotations.\nOpen Scope R_scope.",
    }
    for (name, imports), part in zip(head.items(), (integers, floats), strict=True):
        text = "\n".join([note, imports, *part]) + "\n"
        file = FOLDER / name
        # A file that did not change keeps its time, and what depends on it.
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
