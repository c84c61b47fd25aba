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
        "the factor that covers roundings of sums of many terms",
        "src/dpfda/numerics/enclosures.py",
        "_SUM_RELATIVE: Final = 1 + 2.0**-30",
        "_SUM_RELATIVE: Final = 1 + 2.0**-33",
        "Totals",
    ),
    (
        "the number of terms of a sum",
        "src/dpfda/numerics/enclosures.py",
        "MOST_TERMS: Final = 2**21",
        "MOST_TERMS: Final = 2**23",
        "Totals",
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
        "the stated error of cosines and sines",
        "src/dpfda/numerics/enclosures.py",
        "_TURN_ERROR: Final = 4 * UNIT",
        "_TURN_ERROR: Final = 2 * UNIT",
        "Turns",
    ),
    (
        "how fast cosines and sines change",
        "src/dpfda/numerics/enclosures.py",
        "_TURN_SLOPE: Final = 7.0",
        "_TURN_SLOPE: Final = 6.0",
        "Turns",
    ),
    (
        "twice pi, by ten units in its last place",
        "src/dpfda/numerics/enclosures.py",
        "_TWO_PI: Final = 2 * math.pi",
        "_TWO_PI: Final = 2 * math.pi + 10 * 2.0**-50",
        "Turns",
    ),
    (
        "the distance at which integers are decided",
        "src/dpfda/numerics/enclosures.py",
        "DECIDED: Final = 0.5 - 2.0**-40",
        "DECIDED: Final = 0.5",
        "Numbers",
    ),
    (
        "factors under one logarithm",
        "src/dpfda/numerics/enclosures.py",
        "FACTORS: Final = 8",
        "FACTORS: Final = 16",
        "Products",
    ),
    (
        "the factor that covers squares of errors of factors",
        "src/dpfda/numerics/enclosures.py",
        "_PRODUCT_RELATIVE: Final = 1 + 2.0**-8",
        "_PRODUCT_RELATIVE: Final = 1 + 2.0**-11",
        "Products",
    ),
    (
        "bits of an integer on the grid",
        "src/dpfda/numerics/gridrules.py",
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
        "averages without the room that rounding down takes",
        "proofs/Averages.v",
        "differences replaced radius + blocks * root_up size.",
        "differences replaced radius + (blocks - 1) * root_up size.",
        "Averages",
    ),
    (
        "a centre that is subtracted after clipping",
        "proofs/Deviations.v",
        "clip h (x - c).",
        "clip h x - c.",
        "Deviations",
    ),
    (
        "a unit in two pairs",
        "proofs/Deviations.v",
        "minus x y :: pairs others",
        "minus x y :: pairs rest",
        "Deviations",
    ),
    (
        "the width of a table of corners, by a bit",
        "proofs/Corners.v",
        "differences replaced (2 ^ (weight_bits + value_bits)).",
        "differences replaced (2 ^ (weight_bits + value_bits - 1)).",
        "Corners",
    ),
    (
        "the scale of a number of units, rounded down",
        "proofs/Corners.v",
        "- (- (count * d) / e).",
        "count * d / e.",
        "Corners",
    ),
    (
        "a box's scale that is never rounded up",
        "proofs/Corners.v",
        "Z.max 1 (count_scale width e d).",
        "Z.max 1 (width * d / e).",
        "Corners",
    ),
    (
        "a filter that forgets what it let through",
        "proofs/Filter.v",
        "if Rle_dec cost left then left - cost else left.",
        "if Rle_dec cost left then left else left.",
        "Filter",
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
        "what rounding of weights costs, once and not twice",
        "proofs/Laws.v",
        "exp (c * range) / ((1 - slack) * (1 - slack)) * drawn count v o.",
        "exp (c * range) / (1 - slack) * drawn count v o.",
        "Laws",
    ),
    (
        "the delta of a replaced unit, without that of the one removed",
        "proofs/Composition.v",
        "approximate count (e + e) ((1 + exp e) * d) p p'.",
        "approximate count (e + e) (exp e * d) p p'.",
        "Composition",
    ),
    (
        "rhos that do not add up",
        "proofs/Composition.v",
        "<= exp ((alpha - 1) * ((rho + sigma) * alpha)).",
        "<= exp ((alpha - 1) * (rho * alpha)).",
        "Composition",
    ),
    (
        "jumps of a share of Laplace noise, too many",
        "proofs/Shares.v",
        "- ln (1 - p) * r.",
        "- ln (1 - p) * (r + 1).",
        "Shares",
    ),
    (
        "the ratio of two-sided geometric noise, for half its scale",
        "proofs/Shares.v",
        "exp (- (1 / b))",
        "exp (- (2 / b))",
        "Shares",
    ),
    (
        "fewer shares than the guarantee is stated for",
        "proofs/Shares.v",
        "(0 < honest <= drawn)%nat ->",
        "(0 < honest <= drawn + 1)%nat ->",
        "Shares",
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
    (
        "a quotient whose least divisor is not looked at",
        "proofs/Overflow.v",
        "(if Bltb zero64 (minus64 m2 r2)",
        "(if Bltb zero64 m2",
        "Overflow",
    ),
    (
        "a pair whose lower part overflowed",
        "proofs/Pairs.v",
        "finite r -> finite l -> finite h /\\",
        "finite r -> finite h /\\",
        "Pairs",
    ),
    (
        "a sum of many doubles whose overflow is not looked at",
        "proofs/Many.v",
        "plus64 sizes (times64 zero64 middle) in",
        "sizes in",
        "Many",
    ),
    (
        "entries clipped on one side",
        "proofs/Ranges.v",
        "max64 (min64 v h) (Bopp h).",
        "min64 v h.",
        "Ranges",
    ),
    (
        "a zero that counts twice",
        "proofs/Whole.v",
        "| O => f Z0 |",
        "| O => 2 * f Z0 |",
        "Whole",
    ),
    (
        "the gap of sums of Gaussian shares, by a fifth",
        "proofs/Gaussians.v",
        "5 * INR more * exp",
        "4 * INR more * exp",
        "Gaussians",
    ),
    (
        "what discrete Gaussian numbers lose, halved",
        "proofs/Gaussians.v",
        "<= exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)).",
        "<= exp ((alpha - 1) * (IZR m ^ 2 / (4 * v) * alpha)).",
        "Gaussians",
    ),
    (
        "how flat sums of Gaussian functions are, by three units in the sixth place",
        "src/dpfda/noise/knorm_shares.py",
        "FLATNESS: Final = 9.869",
        "FLATNESS: Final = 9.86963",
        "Theta",
    ),
    (
        "the sum of two integers, without what is added to the second",
        "proofs/Lattice.v",
        "a y * b (Z.sub x y)",
        "a y * b x",
        "Lattice",
    ),
    (
        "what a law within a factor costs, by the root of 2",
        "proofs/Gap.v",
        "all (renyi alpha p q) <= exp ((alpha - 1) * (r ^ 2 / 2 * alpha)).",
        "all (renyi alpha p q) <= exp ((alpha - 1) * (r ^ 2 / 4 * alpha)).",
        "Gap",
    ),
    (
        "the gap of shares on one side only",
        "proofs/Gap.v",
        "/ sqrt (INR (S more) * a) + 2 * gap a more)",
        "/ sqrt (INR (S more) * a) + gap a more)",
        "Gap",
    ),
    (
        "the width that a weight leaves, by one",
        "proofs/Weights.v",
        "Z.max (count_scale width b a - 1) 0.",
        "Z.max (count_scale width b a) 0.",
        "Weights",
    ),
    (
        "the length of normal variables, by the root of 2",
        "proofs/Normal.v",
        "sqrt (-2 * ln u).",
        "sqrt (-1 * ln u).",
        "Normal",
    ),
    (
        "rows of descent that are kept though they are too long",
        "proofs/Descent.v",
        "if square size v <=? level * level then",
        "if square size v <=? level * level + 1 then",
        "Descent",
    ),
    (
        "levels of descent without the number of a unit's rows",
        "proofs/Descent.v",
        "(2 ^ bits / Z.of_nat (length unit))",
        "(2 ^ bits / Z.of_nat (length unit) + 1)",
        "Descent",
    ),
    # Formulas of the program: the tests compare them with those that are proved.
    (
        "clipping in the program, by one",
        "src/dpfda/numerics/gridsums.py",
        "np.minimum(numbers, rule.half_widths, out=numbers)",
        "np.minimum(numbers, rule.half_widths + 1, out=numbers)",
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
        "shares = _held(place.ravel(), pairs.size, exponent, weights) // sizes[pairs // cells]",
        "shares = -(-_held(place.ravel(), pairs.size, exponent, weights) // sizes[pairs // cells])",
        TIE,
    ),
    (
        "a centre that is subtracted after clipping in the program",
        "src/dpfda/numerics/gridsums.py",
        """            numbers = rows - rule.center
            numbers *= rule.scale
            np.rint(numbers, out=numbers)
        np.minimum(numbers, rule.half_widths, out=numbers)
        np.maximum(numbers, -rule.half_widths, out=numbers)
""",
        """            numbers = rows * rule.scale
            np.rint(numbers, out=numbers)
        np.minimum(numbers, rule.half_widths, out=numbers)
        np.maximum(numbers, -rule.half_widths, out=numbers)
        numbers -= rule.center * rule.scale
""",
        TIE,
    ),
    (
        "the length of a deviation from a centre beside the middle",
        "src/dpfda/covariance/deviations.py",
        "((upper - lower) / 2 + away) ** 2",
        "((upper - lower) / 2) ** 2",
        TIE,
    ),
    (
        "weights of corners of the program, rounded up",
        "src/dpfda/records/covariates.py",
        "parts //= np.maximum(sizes, 1)[:, None]",
        "parts = -(-parts // np.maximum(sizes, 1)[:, None])",
        TIE,
    ),
    (
        "the width of a table of corners in the program, by a bit",
        "src/dpfda/publication/tables.py",
        "self.neighbours.differences(1 << CORNER_EXPONENT)",
        "self.neighbours.differences(1 << CORNER_EXPONENT - 1)",
        TIE,
    ),
    (
        "the scale of a number of units in the program, rounded down",
        "src/dpfda/mechanisms/design/choice.py",
        "math.ceil(COUNT_SCALE / pure_budget(problem.pure.guarantee))",
        "math.floor(COUNT_SCALE / pure_budget(problem.pure.guarantee))",
        TIE,
    ),
    (
        "differences of pairs in the program, by the root of 2",
        "src/dpfda/covariance/deviations.py",
        "(half[0::2] - half[1::2]) * np.sqrt(2.0)",
        "(half[0::2] - half[1::2]) * 2.0",
        TIE,
    ),
    (
        "scales of a box in the program, rounded down",
        "src/dpfda/noise/bodies.py",
        "math.ceil(w / length)",
        "math.floor(w / length)",
        TIE,
    ),
    (
        "a filter of the program without its buffer",
        "src/dpfda/privacy/ledger/accounts.py",
        "return self.length + self.buffer <= _limit(budget) and",
        "return self.length <= _limit(budget) and",
        TIE,
    ),
    (
        "averages of the program, rounded up",
        "src/dpfda/machines/solvers/solver.py",
        "return totals // np.diff(begins)[:, None]",
        "return -(-totals // np.diff(begins)[:, None])",
        TIE,
    ),
    (
        "the room for averages in the program, by one",
        "src/dpfda/machines/solvers/sums.py",
        "rounding = self.terms.functions * ceil_root(self.terms.components)",
        "rounding = self.terms.functions * ceil_root(self.terms.components) - 1",
        TIE,
    ),
    (
        "rows of descent in the program that are kept though they are too long",
        "src/dpfda/bounds/balls.py",
        "return np.asarray(np.where(inside, integers, 0))",
        "return np.asarray(integers)",
        TIE,
    ),
    (
        "levels of descent in the program without the number of a unit's rows",
        "src/dpfda/machines/solvers/gradient.py",
        "levels = 2**SLOPE_BITS // np.bincount(data.codes)",
        "levels = 2**SLOPE_BITS // np.ones(data.units, dtype=np.int64)",
        TIE,
    ),
    (
        "rounds of calibration that do not count",
        "src/dpfda/machines/solvers/gradient.py",
        "return -(-self.rounds // self.batches)",
        "return -(-self.steps // self.batches)",
        TIE,
    ),
    (
        "the width of a round of hazards, by one",
        "src/dpfda/survival/cox_rounds.py",
        "return self.neighbours.differences(1 << LENGTH_BITS)",
        "return self.neighbours.differences(1 << LENGTH_BITS) - 1",
        TIE,
    ),
    (
        "rounds of hazards, one fewer",
        "src/dpfda/survival/cox_rounds.py",
        "return repeated_width(self.step_width, self.count)",
        "return repeated_width(self.step_width, self.count - 1)",
        TIE,
    ),
    (
        "the width that a weight leaves in the program, by one",
        "src/dpfda/publication/shares.py",
        "max(math.ceil(weight * side) - 1, 0) for side",
        "max(math.ceil(weight * side), 0) for side",
        TIE,
    ),
    (
        "normal variables of the program, by the root of 2",
        "src/dpfda/numerics/drawing.py",
        "length = a.sqrt(-2 * a.log(",
        "length = a.sqrt(-1 * a.log(",
        TIE,
    ),
    (
        "outer products in the program, by the root of 2",
        "src/dpfda/noise/symmetric.py",
        "factor = 2 if neighbours is Neighbours.REPLACE_ONE and size > 1 else 1",
        "factor = 1",
        TIE,
    ),
    (
        "the radius of a root, by its last place",
        "src/dpfda/numerics/enclosures.py",
        "x.radius / middle + UNIT * middle, np.inf)",
        "np.nextafter(x.radius / middle + UNIT * middle, 0), np.inf)",
        TIE,
    ),
    (
        "the radius of a sum, by its last place",
        "src/dpfda/numerics/enclosures.py",
        "return Enclosures(middle, outward(self.radius + other.radius + UNIT * np.abs(middle)))",
        "radius = outward(self.radius + other.radius + UNIT * np.abs(middle))\n"
        "        return Enclosures(middle, np.nextafter(radius, 0))",
        TIE,
    ),
    (
        "the radius of cosines and sines, by its last place",
        "src/dpfda/numerics/enclosures.py",
        "_TURN_SLOPE * x.radius + _TURN_ERROR, first.shape",
        "np.nextafter(_TURN_SLOPE * x.radius + _TURN_ERROR, 0), first.shape",
        TIE,
    ),
    (
        "the radius of a sum of pairs, by its last place",
        "src/dpfda/numerics/twofold.py",
        "outward(self.radius + other.radius + rounded))",
        "np.nextafter(outward(self.radius + other.radius + rounded), 0))",
        TIE,
    ),
    (
        "the delta of a replaced unit in the program, without that of the one removed",
        "src/dpfda/privacy/composition/conversions.py",
        "factor = (size * epsilon).expm1() / epsilon.expm1()",
        "factor = ((size - 1) * epsilon).exp()",
        TIE,
    ),
    (
        "amounts that are compared by one of their parts",
        "src/dpfda/privacy/ledger/accounts.py",
        "return any(a > b for a, b in",
        "return all(a > b for a, b in",
        TIE,
    ),
    (
        "the width of several steps, by one",
        "src/dpfda/noise/gaussian.py",
        "return math.isqrt(width**2 * times - 1) + 1",
        "return math.isqrt(width**2 * times - 1)",
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
        "the radius of a product of uniforms, without its roundings",
        "src/dpfda/numerics/enclosures.py",
        "errors.sum(axis=1) + FACTORS * UNIT",
        "errors.sum(axis=1)",
        TIE,
    ),
    (
        "the radius of a logarithm, without its own error",
        "src/dpfda/numerics/enclosures.py",
        "x.radius / least * _RELATIVE, np.inf) + LOG_ERROR * np.abs(middle)",
        "x.radius / least * _RELATIVE, np.inf)",
        TIE,
    ),
    (
        "the radius of a uniform number, by the bits that are not known",
        "src/dpfda/numerics/enclosures.py",
        "outward(scale + UNIT * middle)",
        "outward(UNIT * middle)",
        TIE,
    ),
    (
        "integers from pairs, without what their sum was rounded by",
        "src/dpfda/numerics/twofold.py",
        "np.abs(rest - more) + self.radius + UNIT * np.abs(rest)",
        "np.abs(rest - more) + self.radius",
        TIE,
    ),
    (
        "a quarter whose sine has the wrong sign",
        "src/dpfda/numerics/enclosures.py",
        "np.where((quarter == 2) | (quarter == 3), -second, second)",
        "np.where((quarter == 1) | (quarter == 2), -second, second)",
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
        "the radius of a sum of many terms, without its roundings",
        "src/dpfda/numerics/enclosures.py",
        "outward((self.radius.sum(axis=axis) + roundings) * _SUM_RELATIVE)",
        "outward(self.radius.sum(axis=axis) * _SUM_RELATIVE)",
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
        "jumps of a share of Laplace noise in the program, too few",
        "src/dpfda/numerics/discrete.py",
        "_poisson(-_log_rest(scale) / parts, uniform)",
        "_poisson(-_log_rest(scale) / (parts + 1), uniform)",
        TIE,
    ),
    (
        "fewer shares than the guarantee is stated for, in the program",
        "src/dpfda/noise/shared.py",
        "or self.drawn < self.honest:",
        "or self.drawn + 1 < self.honest:",
        TIE,
    ),
    (
        "logarithmic numbers of the program, by one",
        "src/dpfda/numerics/discrete.py",
        ".log() + arb(0.5)",
        ".log() - arb(0.5)",
        TIE,
    ),
    (
        "geometric numbers of the program that are rounded, not their floors",
        "src/dpfda/numerics/discrete.py",
        "top[places] / below[places] - 1) / 2",
        "top[places] / below[places]) / 2",
        TIE,
    ),
    (
        "what is taken for discrete Gaussian numbers, without its shift",
        "src/dpfda/numerics/discrete.py",
        "(size - variances[place] / scale) ** 2",
        "size ** 2",
        TIE,
    ),
    (
        "a quotient whose least divisor is not looked at in the program",
        "src/dpfda/numerics/enclosures.py",
        "radius = np.where(least > 0, carried",
        "radius = np.where(other.middle > 0, carried",
        TIE,
    ),
    (
        "a sum of many terms that overflowed in its own order",
        "src/dpfda/numerics/enclosures.py",
        " + 0.0 * middle)",
        ")",
        TIE,
    ),
    (
        "the radius of a quotient of pairs, rounded toward zero",
        "src/dpfda/numerics/twofold.py",
        "return Twofold(high, low, outward(radius))\n\n\ndef _parts_of",
        "return Twofold(high, low, radius * (1 - UNIT))\n\n\ndef _parts_of",
        TIE,
    ),
    (
        "integers that are decided beyond the exact ones",
        "src/dpfda/numerics/enclosures.py",
        "(np.abs(self.middle) < 2.0**51)",
        "(np.abs(self.middle) < 2.0**53)",
        TIE,
    ),
    (
        "a product of pairs of which overflow leaves no trace",
        "src/dpfda/numerics/twofold.py",
        "upper = large - (large - a)",
        "upper = np.nan_to_num(large - (large - a))",
        TIE,
    ),
    (
        "entries of the program clipped on one side",
        "src/dpfda/numerics/gridsums.py",
        "        np.maximum(numbers, -rule.half_widths, out=numbers)\n",
        "",
        TIE,
    ),
    (
        "a zero of discrete Gaussian numbers that counts twice",
        "src/dpfda/numerics/discrete.py",
        "if accepted[number] and not (negative and not size):",
        "if accepted[number]:",
        TIE,
    ),
    (
        "what discrete Gaussian shares lose in the program, halved",
        "src/dpfda/noise/shared.py",
        "rounded_up((mu + gap) ** 2 / 2)",
        "rounded_up((mu + gap) ** 2 / 4)",
        TIE,
    ),
    (
        "the gap of shares in the program on one side only",
        "src/dpfda/noise/shared.py",
        "gap = 2 * eta * root_at_least(",
        "gap = eta * root_at_least(",
        TIE,
    ),
    (
        "the gap of sums of Gaussian shares in the program, by one share",
        "src/dpfda/noise/shared.py",
        "5 * (law.drawn - 1) * ",
        "5 * (law.drawn - 2) * ",
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
