"""`dpfda mean`: publish the mean curve of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfda.cli import options as o
from dpfda.cli.running import FAILED, fail, guarded, note, tell, warn
from dpfda.errors import DpfdaError, ParameterError

if TYPE_CHECKING:
    from dpfda.cli.checks import PublicSide
    from dpfda.composition import Cost
    from dpfda.ledger import FileLedger, Record
    from dpfda.records.files import TableCurves
    from dpfda.releases.function import ReleasedFunction


def _writing(name: str, metavar: str, words: str) -> Any:
    return typer.Option(name, metavar=metavar, help=words, rich_help_panel=o.OUTPUT)


@guarded
def mean(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file, private. Wide: a row a curve, the header being the grid where "
            "it is numbers. Long: a row an observation (--id, --time, --value).",
        ),
    ],
    *,
    epsilon: o.Epsilon,
    delta: o.Delta = "0",
    neighbours: o.NeighbourRelation = "replace-one",
    public_size: o.PublicSize = None,
    mechanism: o.MechanismName = "auto",
    ledger: o.LedgerFile = None,
    dataset: o.DatasetName = None,
    bounds: o.Bounds = None,
    l2_bound: o.L2Bound = None,
    l1_bound: o.L1Bound = None,
    standardize: o.Standardize = False,
    kernel: o.KernelText = None,
    domain: o.Domain = None,
    x_label: o.XLabel = None,
    y_label: o.YLabel = None,
    columns: o.Columns = None,
    groups: o.Groups = None,
    unit: o.UnitWord = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Long layout: whose curve. Needs --domain.",
            rich_help_panel=o.READING,
        ),
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            help="Long layout: where on the axis.",
            rich_help_panel=o.READING,
        ),
    ] = None,
    value_column: Annotated[
        str | None,
        typer.Option(
            "--value", metavar="COLUMN", help="Long layout: how much.", rich_help_panel=o.READING
        ),
    ] = None,
    missing: o.Missing = "refuse",
    invalid: o.Invalid = "refuse",
    decimal: o.Decimal = ".",
    dates: o.DateForm = None,
    grid: o.Grid = None,
    out: Annotated[Path, _writing("--out", "F.json", "The release. Everything in it is public.")],
    plot: Annotated[
        Path | None, _writing("--plot", "F.png", "A picture: .png, .pdf or .svg (extra dpfda\\[plot]).")
    ] = None,
    csv: Annotated[
        Path | None, _writing("--csv", "F.csv", "A table: the grid, values and simultaneous 95% band.")
    ] = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Publish the mean curve of a file of private curves under differential privacy.

    All arguments are public, and checked before the file is read. Running it again on the same data is
    a second release: losses add up.
    """
    from dpfda.cli.checks import bound_from, check_public
    from dpfda.cli.outputs import check_outputs
    from dpfda.cli.reading import CurveOptions
    from dpfda.report import cautions
    from dpfda.report import public_size as published_size

    bound = bound_from(bounds, l2_bound, l1_bound, standardize)
    options = CurveOptions(
        columns,
        groups,
        id_column,
        time_column,
        value_column,
        missing,
        invalid,
        decimal,
        dates,
        grid,
        domain,
    ).checked()
    public = check_public(
        epsilon, delta, neighbours, bound, standardize, kernel, options.ends(), mechanism, public_size
    )
    check_outputs({"--out": out, "--plot": plot, "--csv": csv}, {"FILE": file}, overwrite)
    account = opened_ledger(ledger, dataset)
    warnings = list(cautions(public.guarantee, public.public_size))
    _show(warnings)
    table = options.read(file)
    words_of = {"domain": x_label or options.axis_label(table), "value": y_label}
    labels = {key: text for key, text in words_of.items() if text is not None}
    settings = {
        "missing": missing,
        "invalid": invalid,
        "unit": unit or groups or id_column,
        "labels": labels,
        "ledger": account,
        "dataset": dataset,
    }
    release = publish_mean(table, public, settings)
    files = write_release(release, out, plot, csv, account)
    later = [_kernel_warning(release), *cautions(release.guarantee, published_size(release))]
    new = [text for text in later if text is not None and text not in warnings]
    notes = options.notes(table, release.domain_range)
    _show(new, notes)
    if account is not None and dataset is not None:
        with after_publication(out):
            account.note_file(dataset, out.resolve())
    if as_json:
        tell(summary(release) | {"files": files, "warnings": warnings + new, "notes": notes})
    else:
        tell(f"{words(release, files)}\nNext: dpfda show {out}   (what is promised, in plain words)")


class Charged:
    """A ledger that remembers the row of its charge, so that the file is noted on that one."""

    def __init__(self, ledger: FileLedger) -> None:
        self.ledger = ledger
        self.path = ledger.path
        self.row: Record | None = None

    def charge(self, dataset: str, costs: Sequence[Cost], entry: Mapping[str, Any]) -> Record:
        """Charge, and remember the row."""
        self.row = self.ledger.charge(dataset, costs, entry)
        return self.row

    def note_file(self, dataset: str, file: Path) -> None:
        """Note the file on the row."""
        self.ledger.note_file(dataset, file, self.row)


def opened_ledger(file: Path | None, dataset: str | None) -> Charged | None:
    """The ledger that a release is charged to, with its data set in it; None where none is named.

    Raises
    ------
    ParameterError
        If only one of file and data set is named.
    LedgerError
        If the file is no ledger or does not know the data set.
    """
    from dpfda.ledger import FileLedger

    if (file is None) != (dataset is None):
        raise ParameterError(
            "--ledger and --dataset",
            "be given together",
            "one of them",
            "A ledger may hold many. DPFDA_LEDGER and DPFDA_DATASET name both once for all releases.",
        )
    if file is None or dataset is None:
        return None
    account = FileLedger(file)
    account.budget(dataset)
    typer.echo(f"The release will be charged to {dataset!r} in {account.path}.", err=True)
    return Charged(account)


def publish_mean(table: TableCurves, public: PublicSide, settings: dict[str, Any]) -> ReleasedFunction:
    """Release the mean of the curves of a table."""
    from dpfda.summaries import PrivateMean

    arguments: dict[str, Any] = {
        "epsilon": public.guarantee.epsilon,
        "delta": getattr(public.guarantee, "delta", 0),
        "bounds": public.bound,
        "standardize": public.standardize,
        "kernel": public.kernel,
        "grid_points": table.grid_points,
        "domain_range": public.domain,
        "mechanism": public.mechanism,
        "neighbours": public.neighbours,
        "public_size": public.public_size,
    }
    estimator = PrivateMean(**arguments, **settings)
    from dpfda.cli.reading import located

    with located(table):
        release: ReleasedFunction = estimator.fit(table.data, groups=table.groups).release_
    return release


def write_release(
    release: ReleasedFunction,
    out: Path,
    plot: Path | None,
    csv: Path | None,
    account: Charged | None = None,
) -> dict[str, str]:
    """Write the release, then what can be made from it again; paths by kind."""
    from dpfda.cli.keeping import save
    from dpfda.cli.outputs import columns_of, new_picture, save_picture, write_csv
    from dpfda.report import band_at

    save(release, out, account)
    files = {"release": str(out)}
    with after_publication(out):
        if csv is not None:
            write_csv(columns_of(release, band_at(release, release.grid_points)), csv)
            files["csv"] = str(csv)
        if plot is not None:
            save_picture(release.plot(new_picture()), plot)
            files["plot"] = str(plot)
    return files


@contextmanager
def after_publication(out: Path) -> Iterator[None]:
    """What fails here fails after the release: say so, and leave with the status of a failure."""
    try:
        yield
    except (DpfdaError, OSError) as error:
        fail(f"The release is published in {out} and counts, but then: {error}", FAILED)


def summary(release: ReleasedFunction) -> dict[str, Any]:
    """What a release states about itself, as JSON types."""
    from dpfda.report import accuracy_of
    from dpfda.storage import to_json

    written = to_json(release)
    kept = ("guarantee", "neighbours", "privacy_unit", "bound", "mechanism", "about")
    accuracy = accuracy_of(release)
    return {name: written[name] for name in kept} | {
        "kernel": release.basis.describe(),
        "domain_range": list(release.domain_range),
        "noise": {"words": release.noise.describe(), **vars(accuracy)},
    }


def words(release: ReleasedFunction, files: dict[str, str]) -> str:
    """A release in a few lines, for the terminal."""
    from dpfda.report import accuracy_of, number

    accuracy = accuracy_of(release)
    units = release.about.get("value", "units of the data")
    units = "standardised" if release.about.get("standardized") else units
    written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
    return "\n".join(
        [
            repr(release),
            f"  noise:        everywhere within {number(accuracy.typical)} typically, "
            f"{number(accuracy.largest)} at most, with probability {accuracy.level:.0%}; {units}",
            f"  written:      {written}",
        ]
    )


def _show(warnings: Sequence[str], notes: Sequence[str] = ()) -> None:
    for text in warnings:
        warn(text)
    for text in notes:
        note(text)


def _kernel_warning(release: ReleasedFunction) -> str | None:
    from dpfda.cli.checks import kernel_warning

    kernel = getattr(release.basis, "kernel", None)
    return kernel_warning(kernel, release.grid_points, release.domain_range)
