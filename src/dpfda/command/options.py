"""Options by the parameter that they set: what is typed, and where the help page lists it.

What an option means is said by the docstring of the estimator; here stands how it is typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpfda.command.declared import DOCSTRING, REQUIRED, Option, documented

# Where a help page lists options, in this order.
PRIVACY = "Privacy (public choices)"
BOUND = "Bound on one record: give exactly one (public, never read from the data)"
CURVE = "Curve (public choices)"
DENSITY = "Density (public choices)"
MODEL = "Function (public choices)"
COUNTED = "What is counted: --column, or --counts with --edges"
READING = "Reading the file"
OUTPUT = "Output"
PANELS = (None, COUNTED, PRIVACY, BOUND, MODEL, DENSITY, CURVE, READING, OUTPUT)
# Where the list of verbs has them.
PUBLISHING, RELEASED = "Publish a function of private data", "Read what was published, at no cost"
PLANNING = "Plan, and keep a budget"
CUSTODIANS = "Publish together with custodians who may not pool records"

PAIR = tuple[float, float]
# Of a curve's grid where none is stated.
POINTS = 101


def _table(*options: Option) -> dict[str, Option]:
    return {option.name: option for option in options}


# Options of the parameters of estimators; a verb has those whose parameters its estimator has.
PARAMETERS = _table(
    Option(
        "epsilon", "--epsilon", "E",
        f"{DOCSTRING} Smaller is more private and noisier: the odds about any one unit change by at "
        "most exp(E). Example: 1",
        PRIVACY, default=REQUIRED, sets=("guarantee",),
    ),
    Option(
        "delta", "--delta", "D",
        f"{DOCSTRING} Take it far below one over the number of units. Example: 1e-6",
        PRIVACY, default="0",
    ),
    Option("rho", "--rho", "R", f"{DOCSTRING} Example: 0.05", PRIVACY, default=None),
    Option("look_for", "--look-for", panel=PRIVACY),
    Option("neighbours", "--neighbours", panel=PRIVACY),
    Option("public_size", "--public-size", "N", panel=PRIVACY, type=int),
    Option("mechanism", "--mechanism", panel=PRIVACY),
    Option(
        "ledger", "--ledger", "LEDGER",
        "Charged before noise is drawn. The file with the data set's budget (see dpfda ledger create); "
        "the release is refused if the budget does not allow it.",
        PRIVACY, Path, envvar="DPFDA_LEDGER",
    ),
    Option("standardize", "--standardize", panel=BOUND, type=bool),
    Option(
        "basis", "--kernel", "KERNEL",
        "Public covariance kernel, which says how rough the function may be; by default a sum of Matern "
        "kernels that stands for a public mixture of shapes and scales. It is typed matern:RANGE:NU, "
        "rbf:RANGE or exponential:RANGE, RANGE in units of the domain or as a share of it. Example: "
        "matern:10%:1.5",
        CURVE, sets=("kernel",),
    ),
    Option("radius", "--radius", "TAU", panel=BOUND, type=float),
    Option("mean_share", "--mean-share", "S", panel=PRIVACY, type=float),
    Option("cells", "--cells", "M", panel=DENSITY, type=int),
    Option("loss", "--loss", panel=MODEL),
    Option("solver", "--solver", panel=PRIVACY),
    Option("features", "--features", "auto|linear|quadratic|fourier|grid",
           "Functions that are combined. auto: grid (any smooth function) on one or two inputs; on more "
           "linear, or for many records in classes quadratic.", MODEL),
    Option("penalty", "--penalty", "P",
           f"{DOCSTRING} Larger is smoother and less noisy.", MODEL, float),
    Option("missing", "--missing", panel=READING),
    Option("invalid", "--invalid", panel=READING),
    Option(
        "unit", "--unit", "TEXT",
        "What to call the one who is protected, in the singular, in reports, such as patient. By "
        "default the --groups (or --id) column's name, else record.",
        READING,
    ),
)  # fmt: skip

DATASET = Option(
    "dataset", "--dataset", "NAME", "Name of the data set in the ledger. Public. Example: scans-2026",
    PRIVACY, default=None, envvar="DPFDA_DATASET",
)  # fmt: skip
MECHANISM = Option(
    "mechanism", "--mechanism", "NAME",
    f"{DOCSTRING} At delta 0: knorm, laplace, iclp; with a delta: gaussian, gaussian-process. An "
    "unknown name lists all.",
    PRIVACY,
)  # fmt: skip
# The bound, which is one parameter of an estimator and one of several options here.
BOUNDS = (
    Option(
        "bounds", "--bounds", "LO HI",
        "Lowest and highest value, in the units of the data; values outside are moved to the nearer "
        "one. Example: --bounds -10 40",
        BOUND, PAIR, None,
    ),
    Option(
        "l2_bound", "--l2-bound", "TAU",
        "Largest L2 norm of a curve (root of the integral of its square): units of the data times the "
        "root of the domain's. Longer curves are scaled down. May go with --standardize.",
        BOUND, float, None,
    ),
    Option(
        "l1_bound", "--l1-bound", "TAU",
        "Largest sum of absolute coefficients in the kernel's basis, in the same units. May go with "
        "--standardize.",
        BOUND, float, None,
    ),
)  # fmt: skip
# The values alone, and always: where noise needs them.
BOUNDED = replace(BOUNDS[0], default=REQUIRED)
FILE = Option(
    "file", "", "FILE",
    "CSV, Parquet or Feather file, private, or - for standard input: a header of column names, and a "
    "row a record.",
    type=Path, default=REQUIRED,
)  # fmt: skip
GROUPS = Option(
    "groups", "--groups", "COLUMN",
    "Column that says whose a record is. All records of one person then count as one, and it is the "
    "person who is protected. Its name is published.",
    READING, default=None,
)  # fmt: skip
DECIMAL = Option(
    "decimal", "--decimal", ".|,",
    "The decimal sign of the numbers in the file, its header included. With a comma, cells stand "
    "between semicolons or tabs.",
    READING, default=".",
)  # fmt: skip
NA = Option(
    "na", "--na", "WORD",
    "What a cell reads that is missing, beside an empty one, NA, NaN, N/A, n/a, null and None; a number "
    "too. Repeat it for several. Example: --na k.A. --na=-99",
    READING, list[str], None,
)  # fmt: skip
NOTATION = (DECIMAL, NA)
DOMAIN = Option(
    "domain", "--domain", "A B",
    "Ends of the domain, in the units of the axis; it must contain the grid. By default that of the "
    "numbers in the header, else 0 1; dates where --dates are stated. Example: --domain 0 24",
    CURVE, tuple[str, str], None, sets=("domain_range", "since"),
)  # fmt: skip
GRID = Option(
    "grid", "--grid", "START:STOP:STEP",
    "Points of the grid, in the order of the columns, where the header holds words; or numbers with "
    "commas. Example: --grid 0:23:1",
    READING, default=None, sets=("grid_points",),
)  # fmt: skip
X_LABEL = Option(
    "x_label", "--x-label", "TEXT",
    "Name and unit of the axis, for reports and plots. Example: 'hour of the day'",
    CURVE, default=None,
)  # fmt: skip
Y_LABEL = Option(
    "y_label", "--y-label", "TEXT",
    "Name and unit of the values (of the second axis, for a density on a rectangle). Example: "
    "'temperature (degrees C)'",
    CURVE, default=None,
)  # fmt: skip


def column(name: str, words: str, default: object = None) -> Option:
    """An option that names a column; its flag is its name."""
    return Option(name, f"--{name}", "COLUMN", words, READING, default=default)


COLUMNS = Option("columns", "--columns", "PATTERN", "Columns of the curve, by name. Examples: --columns "
                 "'cca_*', --columns '00:00..23:00'", READING, default=None)  # fmt: skip
DATES = Option(
    "dates", "--dates", "iso|FORMAT",
    "Times (or the labels of the curve's columns) are dates: 2024-03-01, or as a format says, such as "
    "%d.%m.%Y. They become days since the first end of --domain, else since the first label.",
    READING, default=None,
)  # fmt: skip
WIDE = (DOMAIN, X_LABEL, Y_LABEL, COLUMNS, GROUPS, *NOTATION, DATES, GRID)
LONG = (
    column("id", "Long layout: whose curve. Needs --domain."),
    column("time", "Long layout: where on the axis."),
    column("value", "Long layout: how much."),
)
CURVE_FILE = replace(
    FILE,
    help="CSV, Parquet or Feather file, private, or - for standard input. Wide: a row a curve, the "
    "header being the grid where it is numbers. Long, where the verb takes it: a row an observation "
    "(--id, --time, --value).",
)
RELEASE_FILE = Option(
    "file", "", "F.json", "A release, as written by --out; or - for standard input.", type=Path,
    default=REQUIRED,
)  # fmt: skip
AS_JSON = Option(
    "as_json", "--json", "", "Print one JSON object, for programs, instead of words.", OUTPUT, bool,
    False,
)  # fmt: skip
LANGUAGE = Option(
    "language", "--language", "en|de|fr", "Of the words, and of how numbers are written. What is not "
    "translated stays English.", OUTPUT, default="en",
)  # fmt: skip
OVERWRITE = Option(
    "overwrite", "--overwrite", "",
    "Replace output files that exist. A release that is lost cannot be made again for free.",
    OUTPUT, bool, False,
)  # fmt: skip
DRY_RUN = Option(
    "dry_run", "--dry-run", "",
    "Check all of it and say what would be published, of whom and at what price; then stop. Of the file "
    "no record is used, and no name is said that was not typed; nothing is charged, drawn or written.",
    OUTPUT, bool, False,
)  # fmt: skip

GIVEN = Option(
    "given", "--given", "X,..",
    "Of a density of two variables: the density of the other where one has this value: 40, or "
    "NAME=VALUE by the name of an axis. Of a model of covariates: their values, age=70:arm=b. Several "
    "only in a picture.", default=None, sets=("at",),
)  # fmt: skip
AGREEMENT = Option(
    "agreement", "--agreement", "agreed.json", "What all custodians agreed on, as dpfda agree wrote it.",
    type=Path, default=REQUIRED,
)  # fmt: skip
CUSTODY_KEYS = Option(
    "keys", "--keys", "NAME.keys", "The coordinator's keys for this release, as dpfda keys wrote them.",
    type=Path, default=REQUIRED,
)  # fmt: skip


def output(name: str, metavar: str, words: str, required: bool = False) -> Option:
    """An option that names a file to write; its flag is its name."""
    flag = "--" + name.replace("_", "-")
    return Option(name, flag, metavar, words, OUTPUT, Path, REQUIRED if required else None)


OUT = output("out", "F.json", "The release. Everything in it is public.", required=True)
PLOT = output("plot", "F.png", "A picture: .png, .pdf or .svg (extra dpfda[plot]).")
CSV = output("csv", "F.csv", "A table of values, with the simultaneous 95% band where there is one.")
# What the verbs that are functions have in common, by parameter.
SHARED = _table(
    RELEASE_FILE, AS_JSON, LANGUAGE, OVERWRITE, GIVEN, AGREEMENT, CUSTODY_KEYS, OUT, PLOT, CSV, COLUMNS,
    GROUPS, replace(X_LABEL, panel=None), replace(Y_LABEL, panel=None), *LONG, *NOTATION, DATES,
    replace(PARAMETERS["ledger"], panel=None), replace(DATASET, panel=None),
)  # fmt: skip


def arranged(options: Sequence[Option], estimators: Sequence[str] = ()) -> list[Option]:
    """Options in the order of their panels, worded by the docstrings of estimators, the first first."""
    parameters = documented(tuple(estimators))
    flags = {option.name: option.flag for option in options}
    ordered = sorted(options, key=lambda option: PANELS.index(option.panel))
    return [option.worded(parameters, flags) for option in ordered]
