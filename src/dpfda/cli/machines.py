"""What `dpfda regress` and `dpfda classify` share: their options, the order of steps, the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfda.cli import options as o
from dpfda.cli.running import note, progress_bar, tell, warn
from dpfda.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.cli.mean import Charged
    from dpfda.releases.predictor import ReleasedPredictor

MODEL = "Function (public choices)"

ExampleFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV or Parquet file, private: a header of column names and a row a record.",
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input",
        metavar="NAME:LO:HI",
        help="An input column and its public bounds, in its units; values outside are moved to the "
        "nearer one. Repeat it; NAME may be a glob. Example: --input age:18:90 --input 'px_*:0:16'",
        rich_help_panel=MODEL,
    ),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="COLUMN", help="Column to predict.", rich_help_panel=MODEL),
]
Features = Annotated[
    str,
    typer.Option(
        "--features",
        metavar="auto|linear|fourier|grid",
        help="Functions that are combined. auto: grid (any smooth function) on one or two inputs, "
        "linear on more.",
        rich_help_panel=MODEL,
    ),
]
Components = Annotated[
    int | None,
    typer.Option(
        "--components",
        metavar="K",
        help="How many of them (fourier, grid). By default from epsilon and the public number of units.",
        rich_help_panel=MODEL,
    ),
]
NormBound = Annotated[
    float | None,
    typer.Option(
        "--norm-bound",
        metavar="R",
        help="linear: largest length of (1, inputs scaled to [-1, 1]); longer ones are shrunk. A "
        "smaller one means less noise. By default the largest that can occur.",
        rich_help_panel=MODEL,
    ),
]
Penalty = Annotated[
    float | None,
    typer.Option(
        "--psi",
        metavar="PSI",
        help="Penalty on the squared norm: larger is smoother and less noisy. By default from public "
        "numbers.",
        rich_help_panel=MODEL,
    ),
]
RoadName = Annotated[
    str,
    typer.Option(
        "--road",
        metavar="auto|objective|output|sums",
        help="Where noise enters: the objective (hinge, logistic, huber), the solution, or the sums of "
        "products (squared).",
        rich_help_panel=o.PRIVACY,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="F.json",
        help="The released function. Everything in it is public.",
        rich_help_panel=o.OUTPUT,
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="F.png",
        help="A picture, for one or two inputs: .png, .pdf or .svg (extra dpfda\\[plot]).",
        rich_help_panel=o.OUTPUT,
    ),
]


def parse_inputs(texts: Sequence[str]) -> list[tuple[str, float, float]]:
    """Read NAME:LO:HI.

    Raises
    ------
    ParameterError
        If one has another form or no bounds.
    """
    if not texts:
        raise ParameterError("--input", "be given", "none", "Example: --input age:18:90")
    found = []
    for text in texts:
        name, *ends = text.rsplit(":", 2)
        try:
            low, high = (float(end) for end in ends)
        except ValueError:
            raise ParameterError(
                "--input",
                "be NAME:LO:HI",
                repr(text),
                "The bounds are public and never read from the data. Example: --input age:18:90",
            ) from None
        found.append((name, low, high))
    return found


def publish(
    file: Path,
    make: Any,
    settings: dict[str, Any],
    inputs: Sequence[str],
    target: str,
    *,
    labels: bool,
    norm_bound: float | None,
    groups: str | None,
    decimal: str,
    ledger: Path | None,
    outputs: Mapping[str, Path | None],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Check what is public, read the file, release, write.

    Parameters
    ----------
    file : Path
        Private.
    make : type
        The estimator.
    settings : dict
        Its public parameters, but bounds and ledger.
    inputs, target, labels, norm_bound, groups, decimal, ledger, outputs, overwrite, as_json
        Options of the verbs.
    """
    from dpfda.cli.mean import after_publication, opened_ledger
    from dpfda.cli.outputs import check_outputs
    from dpfda.cli.reading import identifier_notes, located
    from dpfda.features import LinearFeatures
    from dpfda.guarantees import guarantee_for
    from dpfda.records.tables import read_examples
    from dpfda.report import cautions

    named = parse_inputs(inputs)
    guarantee = guarantee_for(settings["epsilon"], settings["delta"])
    if norm_bound is not None and settings["features"] not in ("auto", "linear"):
        raise ParameterError("--norm-bound", "go with --features linear", settings["features"])
    _try(make, settings, named)
    check_outputs(outputs, {"FILE": file}, overwrite)
    account = opened_ledger(ledger, settings["dataset"])
    warnings = list(cautions(guarantee, None))
    with progress_bar(f"reading {file.name}") as progress:
        table = read_examples(
            file,
            [name for name, _, _ in named],
            target,
            labels=labels,
            groups=groups,
            decimal=decimal,
            invalid=settings["invalid"],
            progress=progress,
        )
    lower = [named[place][1] for place in table.matched]
    upper = [named[place][2] for place in table.matched]
    if norm_bound is not None:
        settings["features"] = LinearFeatures.of_columns(len(lower), norm_bound)
    if settings["unit"] is None:
        settings["unit"] = groups
    words = {"domain": ", ".join(table.columns), "value": target}
    estimator = make(bounds=(lower, upper), ledger=account, labels=words, **settings)
    with located(table):
        release = estimator.fit(table.inputs, table.target, groups=table.groups).release_
    warnings += [text for text in cautions(guarantee, release.size) if text not in warnings]
    for text in warnings:
        warn(text)
    files = _written(release, outputs, account)
    notes = identifier_notes(table.header, [*table.columns, target], groups)
    for text in notes:
        note(text)
    if account is not None and settings["dataset"] is not None:
        with after_publication(Path(files["release"])):
            account.note_file(settings["dataset"], Path(files["release"]).resolve())
    if as_json:
        tell(summary(release) | {"files": files, "warnings": warnings, "notes": notes})
    else:
        written = ", ".join(f"{path} ({kind})" for kind, path in files.items())
        tell(
            f"{release!r}\n  written:      {written}\n"
            f"Next: dpfda show {files['release']}   (what is promised, in plain words)"
        )


def _try(make: Any, settings: dict[str, Any], named: Sequence[tuple[str, float, float]]) -> None:
    """Prepare a release of made-up records, so that most refusals come before the file is read.

    The penalty is too large to be refused, since which ones are depends on the number of units.
    """
    import numpy as np

    from dpfda.summaries.roads import check_psi

    if settings["psi"] is not None:
        check_psi(settings["psi"])
    targets = np.array([*settings.get("classes", settings.get("target_bounds", ()))] * 2)
    bounds = ([low for _, low, _ in named], [high for _, _, high in named])
    trial = make(bounds=bounds, **(settings | {"psi": 1e9, "dataset": None}))
    trial.prepare(np.zeros((targets.size, len(named))), targets)


def _written(
    release: ReleasedPredictor, outputs: Mapping[str, Path | None], account: Charged | None
) -> dict[str, str]:
    from dpfda.cli.keeping import save
    from dpfda.cli.mean import after_publication
    from dpfda.cli.outputs import new_picture, save_picture

    out, plot = outputs["--out"], outputs["--plot"]
    assert out is not None  # noqa: S101 (a required option)
    save(release, out, account)
    files = {"release": str(out)}
    if plot is not None:
        with after_publication(out):
            save_picture(release.plot(new_picture()), plot)
            files["plot"] = str(plot)
    return files


def summary(release: ReleasedPredictor) -> dict[str, Any]:
    """What a released predictor states about itself, as JSON types."""
    from dpfda.storage.predictors import to_json

    written = to_json(release)
    kept = ("guarantee", "neighbours", "privacy_unit", "units", "task", "loss", "classes", "mechanism")
    return {name: written[name] for name in kept} | {"features": release.features.describe()}
