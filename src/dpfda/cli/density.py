"""`dpfda density`: publish the density of columns of a file, or of a table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfda.cli import options as o
from dpfda.cli.running import guarded, note, progress_bar, tell, warn
from dpfda.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.cli.mean import Charged
    from dpfda.releases.density import ReleasedDensity

WHAT = "What is counted: --column, or --counts with --edges"
DENSITY = "Density (public choices)"
# Rows of the table on an interval; along each axis on a rectangle.
TABLE = {1: 201, 2: 64}


@guarded
def density(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file, private: a header of column names, and a row a point, or (with "
            "--counts) a row a cell.",
        ),
    ],
    *,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME:LO:HI",
            help="A column of points and the public ends of its axis, in its units; values outside are "
            "moved to the nearer one. Repeat it for a density on a rectangle or a box. Example: "
            "--column age:0:105",
            rich_help_panel=WHAT,
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts",
            metavar="COLUMN",
            help="Instead: a column of numbers of persons, a row a cell, in the order of --edges.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            "--edges",
            metavar="A,B,..",
            help="With --counts: public ends of the cells, one more than rows; or START:STOP:STEP. "
            "Example: --edges 0,1,5,10,100 or --edges 0:105:5",
            rich_help_panel=WHAT,
        ),
    ] = None,
    multiplier: Annotated[
        int,
        typer.Option(
            "--multiplier",
            metavar="K",
            help="With --counts: what one in the table stands for, 1000 for a table in thousands.",
            rich_help_panel=WHAT,
        ),
    ] = 1,
    epsilon: o.Epsilon,
    delta: o.Delta = "0",
    neighbours: o.NeighbourRelation = "replace-one",
    public_size: Annotated[
        int | None,
        typer.Option(
            "--public-size",
            metavar="N",
            help="With add-remove: a public number such as the size planned, to choose cells by. The "
            "divisor is the noisy number.",
            rich_help_panel=o.PRIVACY,
        ),
    ] = None,
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism",
            metavar="histogram|kernel",
            help="Noisy counts of cells, smoothed; or the kernel estimate with noise in its components.",
            rich_help_panel=o.PRIVACY,
        ),
    ] = "histogram",
    ledger: o.LedgerFile = None,
    dataset: o.DatasetName = None,
    cells: Annotated[
        int | None,
        typer.Option(
            "--cells",
            metavar="M",
            help="Number of cells along each axis. By default the one of least expected error, from "
            "public numbers.",
            rich_help_panel=DENSITY,
        ),
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth",
            metavar="H",
            help="Smooth with a normal density of this standard deviation, in the units of the axis. By "
            "default smoothing adapts to the noisy counts, at no cost.",
            rich_help_panel=DENSITY,
        ),
    ] = None,
    x_label: Annotated[
        str | None,
        typer.Option(
            "--x-label",
            metavar="TEXT",
            help="Name and unit of the axis, for plots. Example: 'age (years)'",
            rich_help_panel=DENSITY,
        ),
    ] = None,
    y_label: Annotated[
        str | None,
        typer.Option(
            "--y-label",
            metavar="TEXT",
            help="Of the second axis, on a rectangle.",
            rich_help_panel=DENSITY,
        ),
    ] = None,
    groups: o.Groups = None,
    unit: o.UnitWord = None,
    invalid: o.Invalid = "refuse",
    decimal: o.Decimal = ".",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="F.json",
            help="The released density. Everything in it is public.",
            rich_help_panel=o.OUTPUT,
        ),
    ],
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="F.png",
            help="A picture, for one or two columns: .png, .pdf or .svg (extra dpfda\\[plot]).",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="F.csv",
            help="A table, for one or two columns: points and values; on an interval also the "
            "distribution function, and the 95% band of the estimate before it was made a density.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Publish the density of points, or of counts of persons, under differential privacy.

    All arguments are public. Running it again on the same data is a second release: losses add up.
    """
    from dpfda.cli.mean import after_publication, opened_ledger
    from dpfda.cli.outputs import check_outputs
    from dpfda.cli.reading import identifier_notes, located
    from dpfda.guarantees import guarantee_for
    from dpfda.report import cautions
    from dpfda.summaries import PrivateDensity

    named = parse_columns(columns or [])
    ends = _check_source(named, counts, edges, groups, (plot, csv))
    if public_size is not None and neighbours == "replace-one":
        raise ParameterError("--public-size", "be left out under replace-one neighbours", public_size)
    check_outputs({"--out": out, "--plot": plot, "--csv": csv}, {"FILE": file}, overwrite)
    warnings = list(cautions(guarantee_for(epsilon, delta), None))
    words = {"domain": x_label or ", ".join(name for name, _, _ in named[:1]), "domain_2": y_label}
    if len(named) == 2 and y_label is None:
        words["domain_2"] = named[1][0]
    account = opened_ledger(ledger, dataset)
    estimator = PrivateDensity(
        epsilon,  # type: ignore[arg-type]  # a decimal text is read exactly
        delta,  # type: ignore[arg-type]
        domain_range=None if ends is not None else [(low, high) for _, low, high in named],
        mechanism=mechanism,
        cells=cells,
        smoothing=bandwidth,
        neighbours=neighbours,
        public_size=public_size,
        invalid=invalid,
        unit=unit or groups,
        labels={key: text for key, text in words.items() if text},
        ledger=account,
        dataset=dataset,
    )
    from dpfda.records.columns import read_columns

    with progress_bar(f"reading {file.name}") as progress:
        names = [counts] if counts is not None else [name for name, _, _ in named]
        table = read_columns(
            file, names, groups=groups, decimal=decimal, invalid=invalid, progress=progress
        )
    with located(table):
        if ends is None:
            release = estimator.fit(table.numbers, groups=table.groups).release_
        else:
            release = estimator.fit_counts(table.numbers[:, 0], ends, multiplier).release_
    public = getattr(release.raw, "public_size", None)
    warnings += [text for text in cautions(release.guarantee, public) if text not in warnings]
    for text in warnings:
        warn(text)
    files = _written(release, out, plot, csv, account)
    notes = [] if counts is not None else identifier_notes(table.header, names, groups)
    for text in notes:
        note(text)
    if account is not None and dataset is not None:
        with after_publication(out):
            account.note_file(dataset, out.resolve())
    if as_json:
        tell(summary(release) | {"files": files, "warnings": warnings, "notes": notes})
    else:
        written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
        tell(f"{release!r}\n  written:      {written}")


def parse_columns(texts: Sequence[str]) -> list[tuple[str, float, float]]:
    """Read NAME:LO:HI.

    Raises
    ------
    ParameterError
        If one has another form.
    """
    found = []
    for text in texts:
        name, *ends = text.rsplit(":", 2)
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            raise ParameterError(
                "--column",
                "be NAME:LO:HI",
                repr(text),
                "The ends are public and never read from the data. Example: --column age:0:105",
            ) from None
        found.append((name, low, high))
    return found


def summary(release: ReleasedDensity) -> dict[str, Any]:
    """What a release states about itself, as JSON types."""
    from dpfda.storage.densities import to_json

    written = to_json(release)["raw"]
    kept = ("guarantee", "achieved_guarantee", "neighbours", "privacy_unit", "about")
    return {name: written[name] for name in kept} | {
        "mechanism": dict(release.raw.mechanism),
        "domain_range": [list(ends) for ends in release.domain_range],
    }


def _check_source(
    named: Sequence[tuple[str, float, float]],
    counts: str | None,
    edges: str | None,
    groups: str | None,
    pictures: tuple[Path | None, Path | None],
) -> list[float] | None:
    """The edges of a table of counts; None where points are named."""
    from dpfda.cli.reading import parse_points

    if bool(named) == (counts is not None):
        raise ParameterError(
            "The data",
            "be named by --column NAME:LO:HI or by --counts with --edges",
            "both" if named else "neither",
        )
    if (counts is None) != (edges is None):
        raise ParameterError("--counts and --edges", "be given together", "one of them")
    if counts is not None and groups is not None:
        raise ParameterError(
            "--groups", "be left out for counts, where each person is counted once", repr(groups)
        )
    if len(named) > max(TABLE) and any(path is not None for path in pictures):
        raise ParameterError("--plot and --csv", "be left out for more than two columns", len(named))
    return None if edges is None else parse_points(edges, "--edges")


def _written(
    release: ReleasedDensity,
    out: Path,
    plot: Path | None,
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
    return files


def _table(release: ReleasedDensity) -> dict[str, list[float]]:
    """Points and values as columns."""
    import numpy as np

    if release.dimensions == 1:
        points = np.linspace(*release.domain_range[0], TABLE[1])
        band = release.band(points=points)
        columns = {
            "point": points,
            "value": release(points),
            "cdf": release.cdf(points),
            "lower": band.lower,
            "upper": band.upper,
        }
        return {name: column.tolist() for name, column in columns.items()}
    shape = (TABLE[2],) * 2
    first, second = np.meshgrid(*release.midpoints(shape), indexing="ij")
    values = release.on_grid(shape)
    return {
        "point_1": first.ravel().tolist(),
        "point_2": second.ravel().tolist(),
        "value": values.ravel().tolist(),
    }
