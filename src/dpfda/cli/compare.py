"""`dpfda compare`: publish the mean curves of several groups, and their difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfda.cli import machines as m
from dpfda.cli import options as o
from dpfda.cli.running import guarded, note, tell, warn
from dpfda.errors import DataError, ParameterError

if TYPE_CHECKING:
    from dpfda.cli.mean import Charged
    from dpfda.cli.reading import CurveOptions
    from dpfda.records.files import TableCurves
    from dpfda.releases.comparison import ReleasedComparison


@guarded
def compare(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file, private: a row a curve, a column that says which group it is in.",
        ),
    ],
    *,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Column with the group of each record, such as case or control. Its name and the names "
            "of the groups are published; under replace-one, who is in which group is taken as public.",
            rich_help_panel=o.READING,
        ),
    ],
    levels: Annotated[
        list[str] | None,
        typer.Option(
            "--level",
            metavar="NAME",
            help="A group; repeat it for each. Needed under add-remove, where which groups occur is "
            "private. Example: --level case --level control",
            rich_help_panel=o.READING,
        ),
    ] = None,
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
    missing: o.Missing = "refuse",
    invalid: o.Invalid = "refuse",
    decimal: o.Decimal = ".",
    dates: o.DateForm = None,
    grid: o.Grid = None,
    out: m.Out,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="F.png",
            help="A picture of all groups: .png, .pdf or .svg (extra dpfda\\[plot]).",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    difference_plot: Annotated[
        Path | None,
        typer.Option(
            "--difference-plot",
            metavar="F.png",
            help="A picture of the first group minus the second, with its band.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="F.csv",
            help="A table: the means of all groups, and the first minus the second with its "
            "simultaneous 95% band.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Publish the mean curve of each of several groups, and their difference, at the cost of one mean.

    Every person must be in one group. All arguments are public, and checked before the file is read.
    Running it again on the same data is a second release: losses add up.
    """
    from dpfda.cli.checks import bound_from, check_public
    from dpfda.cli.mean import opened_ledger
    from dpfda.cli.outputs import check_outputs
    from dpfda.cli.reading import CurveOptions
    from dpfda.report import cautions

    bound = bound_from(bounds, l2_bound, l1_bound, standardize)
    options = CurveOptions(
        columns, by, None, None, None, missing, invalid, decimal, dates, grid, domain
    ).checked()
    public = check_public(
        epsilon, delta, neighbours, bound, standardize, kernel, options.ends(), mechanism, public_size
    )
    _check_columns(neighbours, levels, by, groups, columns)
    outputs = {
        "--out": out, "--plot": plot, "--difference-plot": difference_plot, "--csv": csv,
    }  # fmt: skip
    check_outputs(outputs, {"FILE": file}, overwrite)
    account = opened_ledger(ledger, dataset)
    warnings = list(cautions(public.guarantee, public.public_size))
    for text in warnings:
        warn(text)
    table, persons = _read(file, options, groups)
    words_of = {"domain": x_label or options.axis_label(table), "value": y_label}
    labels = {key: text for key, text in words_of.items() if text is not None}
    settings = {
        "epsilon": public.guarantee.epsilon,
        "delta": getattr(public.guarantee, "delta", 0),
        "bounds": public.bound,
        "levels": levels or None,
        "standardize": public.standardize,
        "kernel": public.kernel,
        "grid_points": table.grid_points,
        "domain_range": public.domain,
        "mechanism": public.mechanism,
        "neighbours": public.neighbours,
        "public_size": public.public_size,
        "missing": missing,
        "invalid": invalid,
        "unit": unit or groups,
        "labels": labels,
        "ledger": account,
        "dataset": dataset,
    }
    release = _fitted(settings, table, persons)
    files = _write(release, out, plot, difference_plot, csv, account)
    notes = replace(options, groups=groups).notes(table, release[release.names[0]].domain_range, [by])
    for text in notes:
        note(text)
    if account is not None and dataset is not None:
        from dpfda.cli.mean import after_publication

        with after_publication(out):
            account.note_file(dataset, out.resolve())
    if as_json:
        tell(_summary(release) | {"files": files, "warnings": warnings, "notes": notes})
    else:
        tell(_words(release, files))


def _check_columns(
    neighbours: str, levels: list[str] | None, by: str, groups: str | None, columns: str | None
) -> None:
    if neighbours == "add-remove" and not levels:
        raise ParameterError(
            "--level", "be given under add-remove neighbours", "none", "Name every group that may occur."
        )
    if groups is not None and columns is None:
        raise ParameterError("--columns", "be given with --groups", "none", "Example: --columns 'cca_*'")
    if groups == by:
        raise ParameterError("--groups", "name another column than --by", repr(groups))


def _read(file: Path, options: CurveOptions, groups: str | None) -> tuple[TableCurves, Any]:
    """The curves with the group of each, and the person of each."""
    table = options.read(file)
    if groups is None:
        return table, None
    persons = replace(options, groups=groups).read(file)
    if persons.groups is None or table.groups is None or len(persons.groups) != len(table.groups):
        raise DataError("The file must stay as it is while it is read; its number of rows changed.")
    return table, persons.groups


def _fitted(settings: dict[str, Any], table: TableCurves, persons: Any) -> ReleasedComparison:
    from dpfda.cli.reading import located
    from dpfda.summaries.comparison import PrivateComparison

    with located(table):
        return PrivateComparison(**settings).fit(table.data, table.groups, persons).release_


def _write(
    release: ReleasedComparison,
    out: Path,
    plot: Path | None,
    difference_plot: Path | None,
    csv: Path | None,
    account: Charged | None,
) -> dict[str, str]:
    from dpfda.cli.keeping import save
    from dpfda.cli.mean import after_publication
    from dpfda.cli.outputs import new_picture, save_picture, write_csv

    save(release, out, account)
    files = {"release": str(out)}
    with after_publication(out):
        if csv is not None:
            write_csv(_table(release), csv)
            files["csv"] = str(csv)
        if plot is not None:
            save_picture(release.plot(new_picture()), plot)
            files["plot"] = str(plot)
        if difference_plot is not None:
            first, second = release.names[:2]
            save_picture(release.difference(first, second).plot(new_picture()), difference_plot)
            files["difference plot"] = str(difference_plot)
    return files


def _table(release: ReleasedComparison) -> dict[str, list[float]]:
    first, second = release.names[:2]
    points = release[first].grid_points
    band = release.difference(first, second).band(points=points)
    return {
        "point": points.tolist(),
        **{f"mean {name}": mean(points).tolist() for name, mean in release.means.items()},
        f"{first} minus {second}": ((band.lower + band.upper) / 2).tolist(),
        "lower": band.lower.tolist(),
        "upper": band.upper.tolist(),
    }


def _summary(release: ReleasedComparison) -> dict[str, Any]:
    from dpfda.storage.functions import public_parts

    first, second = release.names[:2]
    band = release.difference(first, second).band()
    return {
        **public_parts(release[first]),
        "groups": list(release.names),
        "composition": release.describe_composition(),
        "difference": {"names": [first, second], "outside_noise": _outside(band)},
    }


def _outside(band: Any) -> bool:
    """Whether zero leaves the band somewhere: more than noise alone would do."""
    return not bool(band.contains(0.0 * band.points))


def _words(release: ReleasedComparison, files: dict[str, str]) -> str:
    first, second = release.names[:2]
    outside = _outside(release.difference(first, second).band())
    verdict = "leaves zero somewhere" if outside else "contains zero everywhere"
    written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
    return "\n".join(
        [
            repr(release),
            f"  difference:   {first} minus {second}; its 95% band for the privacy noise {verdict} "
            "(sampling is not in it)",
            f"  written:      {written}",
        ]
    )
