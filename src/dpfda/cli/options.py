"""Options that several verbs share: their names, panels and words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

PRIVACY = "Privacy (public choices)"
BOUND = "Bound on one record: give exactly one (public, never read from the data)"
CURVE = "Curve (public choices)"
READING = "Reading the file"
OUTPUT = "Output"

Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="Privacy loss, above 0: smaller is more private and noisier. The odds about any one "
        "unit change by at most exp(E). Example: 1",
        rich_help_panel=PRIVACY,
    ),
]
Delta = Annotated[
    str,
    typer.Option(
        "--delta",
        metavar="D",
        help="Probability of failure, far below one over the number of units; 0 is pure "
        "differential privacy. Example: 1e-6",
        rich_help_panel=PRIVACY,
    ),
]
NeighbourRelation = Annotated[
    str,
    typer.Option(
        "--neighbours",
        metavar="replace-one|add-remove",
        help="Hide any one unit's data, the number of units being public (replace-one), or also "
        "whether it is there at all, their number being private (add-remove).",
        rich_help_panel=PRIVACY,
    ),
]
PublicSize = Annotated[
    int | None,
    typer.Option(
        "--public-size",
        metavar="N",
        help="With add-remove: a public number to divide by, such as the size planned. Without it "
        "a tenth of epsilon is spent on counting.",
        rich_help_panel=PRIVACY,
    ),
]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="How noise is made. auto has the least expected error. At delta 0: knorm, laplace, iclp; "
        "with a delta: gaussian, gaussian-process. An unknown name lists all.",
        rich_help_panel=PRIVACY,
    ),
]
Bounds = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--bounds",
        metavar="LO HI",
        help="Lowest and highest value, in the units of the data; values outside are moved to the "
        "nearer one. Example: --bounds -10 40",
        rich_help_panel=BOUND,
    ),
]
L2Bound = Annotated[
    float | None,
    typer.Option(
        "--l2-bound",
        metavar="TAU",
        help="Largest L2 norm of a curve (root of the integral of its square): units of the data "
        "times the root of the domain's. Longer curves are scaled down.",
        rich_help_panel=BOUND,
    ),
]
L1Bound = Annotated[
    float | None,
    typer.Option(
        "--l1-bound",
        metavar="TAU",
        help="Largest sum of absolute coefficients in the kernel's basis, in the same units.",
        rich_help_panel=BOUND,
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize",
        help="Take each curve minus its own mean, over its own norm: shape alone, without unit. The "
        "L2 bound 1 then holds by construction. May be combined with --l1-bound or --l2-bound.",
        rich_help_panel=BOUND,
    ),
]
KernelText = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="KERNEL",
        help="How smooth curves are: matern:RANGE:NU, rbf:RANGE or exponential:RANGE. RANGE is in "
        "units of the domain or a share of it. By default matern:10%:1.5, ten per cent of the domain.",
        rich_help_panel=CURVE,
    ),
]
Domain = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--domain",
        metavar="A B",
        help="Ends of the domain, in the units of the axis; it must contain the grid. By default "
        "that of the numbers in the header, else 0 1; dates where --dates are stated. Example: --domain "
        "0 24",
        rich_help_panel=CURVE,
    ),
]
XLabel = Annotated[
    str | None,
    typer.Option(
        "--x-label",
        metavar="TEXT",
        help="Name and unit of the axis, for reports and plots. Example: 'hour of the day'",
        rich_help_panel=CURVE,
    ),
]
YLabel = Annotated[
    str | None,
    typer.Option(
        "--y-label",
        metavar="TEXT",
        help="Name and unit of the values. Example: 'temperature (degrees C)'",
        rich_help_panel=CURVE,
    ),
]


def _reading(name: str, metavar: str, words: str) -> Any:
    return typer.Option(name, metavar=metavar, help=words, rich_help_panel=READING)


Columns = Annotated[
    str | None,
    _reading("--columns", "PATTERN", "Columns of the curve, by name. Example: --columns 'cca_*'"),
]
Groups = Annotated[
    str | None,
    _reading(
        "--groups",
        "COLUMN",
        "Column that says whose a record is. All records of one person then count as one, and it is the "
        "person who is protected. Its name is published.",
    ),
]
UnitWord = Annotated[
    str | None,
    _reading(
        "--unit",
        "TEXT",
        "What to call the one who is protected, in the singular, in reports. By default the name of the "
        "--groups (or --id) column, else record. Example: person",
    ),
]
Missing = Annotated[
    str,
    _reading(
        "--missing",
        "refuse|complete",
        "Missing values: an error, or filled by interpolation within the curve.",
    ),
]
Invalid = Annotated[
    str,
    _reading(
        "--invalid",
        "refuse|repair",
        "Records that cannot be used: an error (outside the guarantee, for it tells something), or "
        "replaced by a fixed public element (left out of a density), for unattended use.",
    ),
]
Decimal = Annotated[
    str,
    _reading(
        "--decimal",
        ".|,",
        "The decimal sign of the numbers in the file, its header included. With a comma, cells stand "
        "between semicolons or tabs.",
    ),
]
DateForm = Annotated[
    str | None,
    _reading(
        "--dates",
        "iso|FORMAT",
        "Times (or the labels of the curve's columns) are dates: 2024-03-01, or as a format says, such "
        "as %d.%m.%Y. They become days since the first end of --domain, else since the first label.",
    ),
]
Grid = Annotated[
    str | None,
    _reading(
        "--grid",
        "START:STOP:STEP",
        "Points of the grid, in the order of the columns, where the header holds words; or numbers with "
        "commas. Example: --grid 0:23:1",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object, for programs, instead of words.", rich_help_panel=OUTPUT
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace output files that exist. A release that is lost cannot be made again for free.",
        rich_help_panel=OUTPUT,
    ),
]
ReleaseFile = Annotated[
    Path, typer.Argument(metavar="F.json", help="A release, as written by dpfda mean --out.")
]

LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        envvar="DPFDA_LEDGER",
        help="File with the data set's budget (see dpfda ledger create). The release is charged to it "
        "before noise is drawn, and refused if the budget does not allow it.",
        rich_help_panel=PRIVACY,
    ),
]
DatasetName = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        envvar="DPFDA_DATASET",
        help="Name of the data set in the ledger, public. Example: scans-2026",
        rich_help_panel=PRIVACY,
    ),
]
