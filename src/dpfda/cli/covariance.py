"""`dpfda covariance`: publish the covariance function of a file of curves, and its components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfda.cli import machines as m
from dpfda.cli import options as o
from dpfda.cli.running import guarded, note, tell, warn
from dpfda.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.cli.mean import Charged
    from dpfda.records.files import TableCurves
    from dpfda.releases.covariance import ReleasedCovariance
    from dpfda.summaries.covariance import PrivateCovariance

# A trial without data: public arguments are checked on it before the file is read.
TRIAL = (6, 24)


@guarded
def covariance(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV or Parquet file, private: a row a curve, the header being the grid where it is "
            "numbers.",
        ),
    ],
    *,
    epsilon: o.Epsilon,
    delta: o.Delta = "0",
    neighbours: o.NeighbourRelation = "replace-one",
    public_size: o.PublicSize = None,
    mechanism: Annotated[
        str,
        typer.Option(
            "--mechanism",
            metavar="auto|wishart|knorm|gaussian",
            help="How noise is made. auto has the least expected error; gaussian needs a delta.",
            rich_help_panel=o.PRIVACY,
        ),
    ] = "auto",
    ledger: o.LedgerFile = None,
    dataset: o.DatasetName = None,
    bounds: o.Bounds = None,
    radius: Annotated[
        float | None,
        typer.Option(
            "--radius",
            metavar="TAU",
            help="Largest L2 distance of a curve from the center (units of the data times the root of "
            "the domain's); farther ones are moved closer. Noise grows with its square. Public: about "
            "twice the typical distance. By default what --bounds imply.",
            rich_help_panel=o.BOUND,
        ),
    ] = None,
    center: Annotated[
        str,
        typer.Option(
            "--center",
            metavar="bound|private|pairs|VALUE|F.json",
            help="What deviations are counted from: the middle of --bounds (a second moment); a mean "
            "released with a share of epsilon; differences of pairs of units, which need no mean; a "
            "public number; or an earlier release.",
            rich_help_panel=o.CURVE,
        ),
    ] = "bound",
    mean_share: Annotated[
        float,
        typer.Option(
            "--mean-share",
            metavar="S",
            help="With --center private: share of epsilon for the mean, between 0 and 1.",
            rich_help_panel=o.PRIVACY,
        ),
    ] = 0.5,
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
    components: Annotated[
        Path | None,
        typer.Option(
            "--components",
            metavar="F.json",
            help="The principal components of the same release, at no further cost.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="F.png",
            help="A picture: .png, .pdf or .svg (extra dpfda\\[plot]).",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="F.csv",
            help="A table: pairs of grid points, covariance, correlation.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    overwrite: o.Overwrite = False,
    as_json: o.AsJson = False,
) -> None:
    """Publish the covariance function of a file of private curves under differential privacy.

    All arguments are public, and checked before the file is read. Running it again on the same data is
    a second release: losses add up.
    """
    from dpfda.cli.mean import opened_ledger
    from dpfda.cli.outputs import check_outputs
    from dpfda.cli.reading import CurveOptions
    from dpfda.report import cautions

    options = CurveOptions(
        columns, groups, None, None, None, missing, invalid, decimal, dates, grid, domain
    ).checked()
    outputs = {"--out": out, "--components": components, "--plot": plot, "--csv": csv}
    check_outputs(outputs, {"FILE": file}, overwrite)
    words_of = {"domain": x_label, "value": y_label}
    labels = {key: text for key, text in words_of.items() if text is not None}
    settings = {
        "epsilon": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "public_size": public_size,
        "mechanism": mechanism,
        "bounds": bounds,
        "radius": radius,
        "center": read_center(center),
        "mean_share": mean_share,
        "standardize": standardize,
        "kernel": kernel,
        "domain_range": options.ends(),
        "missing": missing,
        "invalid": invalid,
        "unit": unit or groups,
        "labels": labels,
    }
    estimator = checked(settings)
    account = opened_ledger(ledger, dataset)
    from dpfda.guarantees import guarantee_for

    warnings = list(cautions(guarantee_for(epsilon, delta), public_size))
    for text in warnings:
        warn(text)
    table = options.read(file)
    if x_label is None and dates is not None:
        estimator.set_params(labels=labels | {"domain": table.axis})
    estimator.set_params(ledger=account, dataset=dataset)
    release = fitted(estimator, table)
    files = _write(release, out, components, plot, csv, account)
    notes = options.notes(table, release.domain_range)
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


def read_center(text: str) -> Any:
    """The center that an argument names.

    Raises
    ------
    ParameterError
        If it is no word of the list, number or file.
    StorageError
        If the file is no release.
    """
    if text == "bound":
        return None
    if text in ("private", "pairs"):
        return text
    try:
        return float(text)
    except ValueError:
        pass
    if not Path(text).is_file():
        raise ParameterError(
            "--center", "be bound, private, pairs, a number or the file of a release", repr(text)
        )
    from dpfda.releases.function import ReleasedFunction

    return ReleasedFunction.load(text)


def checked(settings: dict[str, Any]) -> PrivateCovariance:
    """The estimator, tried on zeros, so that what is refused is refused before the file is read."""
    import numpy as np

    from dpfda.summaries.covariance import PrivateCovariance, prepare

    estimator = PrivateCovariance(**settings)
    domain = settings["domain_range"]
    if callable(settings["center"]):
        domain = settings["center"].domain_range if domain is None else domain
    trial = PrivateCovariance(**{**settings, "domain_range": domain, "invalid": "repair"})
    prepare(trial, np.zeros(TRIAL), None)
    return estimator


def fitted(estimator: PrivateCovariance, table: TableCurves) -> ReleasedCovariance:
    """Release the covariance of the curves of a table."""
    if table.grid_points is not None:
        estimator.set_params(grid_points=table.grid_points)
    from dpfda.cli.reading import located

    with located(table):
        return estimator.fit(table.data, groups=table.groups).release_


def _write(
    release: ReleasedCovariance,
    out: Path,
    components: Path | None,
    plot: Path | None,
    csv: Path | None,
    account: Charged | None,
) -> dict[str, str]:
    from dpfda.cli.keeping import save
    from dpfda.cli.mean import after_publication
    from dpfda.cli.outputs import save_picture, write_csv

    save(release, out, account)
    files = {"release": str(out)}
    with after_publication(out):
        if components is not None:
            release.components().save(components)
            files["components"] = str(components)
        if csv is not None:
            write_csv(_table(release), csv)
            files["csv"] = str(csv)
        if plot is not None:
            without_window()
            save_picture(release.plot(), plot)
            files["plot"] = str(plot)
    return files


def without_window() -> None:
    """Have pictures drawn to files; the release makes its own axis, which is square."""
    import matplotlib

    matplotlib.use("Agg")


def _table(release: ReleasedCovariance) -> dict[str, list[float]]:
    import numpy as np

    first, second = (axis.ravel() for axis in np.meshgrid(release.grid_points, release.grid_points))
    return {
        "s": first.tolist(),
        "t": second.tolist(),
        "covariance": release(first, second).tolist(),
        "correlation": release.correlation(first, second).tolist(),
    }


def _summary(release: ReleasedCovariance) -> dict[str, Any]:
    from dpfda.storage.covariances import to_json

    written = to_json(release)
    kept = ("guarantee", "neighbours", "privacy_unit", "bound", "mechanism", "about")
    found = release.components()
    return {name: written[name] for name in kept} | {
        "kernel": release.basis.describe(),
        "domain_range": list(release.domain_range),
        "noise": release.noise.describe(),
        "noise_floor": found.floor,
        "components": found.variances.tolist(),
    }


def _words(release: ReleasedCovariance, files: dict[str, str]) -> str:
    found = release.components()
    assert found.floor is not None  # noqa: S101
    above = sum(float(variance) > found.floor for variance in found.variances)
    written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
    variances = ", ".join(f"{value:.3g}" for value in found.variances)
    return "\n".join(
        [
            repr(release),
            f"  components:   {above} above the noise floor of {found.floor:.3g}; variances {variances}",
            f"  written:      {written}",
        ]
    )
