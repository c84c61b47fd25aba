"""`dpfda eval`: values of a release, with a band around them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import note, print_json, say
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.words import cell, so_many

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpfda.numerics.arrays import Floats
    from dpfda.releases.base import Release

BANDS = ("simultaneous", "pointwise", "exact")


def eval_(
    file: Path,
    *,
    points: str | None = None,
    points_file: Path | None = None,
    derivative: bool = False,
    band: str = BANDS[0],
    of: str | None = None,
    level: float = 0.95,
    quantiles: str | None = None,
    given: str | None = None,
    sample: int | None = None,
    csv: Path | None = None,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """Values of a release at any points, with a band around them. Costs no privacy.

    What a band holds is said by dpfda show. That of a default mean between bounds holds the mean of the
    clipped records: at the grid points whatever the curves are where show says so, else in so many
    releases (--level, at least .9) of curves like ordinary ones. Clipping and sampling are not in it;
    for the latter ask for --of population. In a comparison each band holds with --level by
    itself. What has no band (components, a covariance of a private number of units, some predictors)
    is given without, and standard error says why. A classifier says which class it predicts, too.

    Parameters
    ----------
    points : --at T,T,...
        Points of the domain, separated by commas; the coordinates of a point of several variables by
        colons. Where an axis is days since a date, dates as 2024-03-01 too. By default the grid of the
        release. Example: --at 0,0.25,0.5
    points_file : --from POINTS.csv
        Points from a file with a column for each axis of the release, named as that is; other columns
        are not used. A table that --csv wrote is such a file.
    derivative
        Values of the derivative, per unit of the axis.
    band : --band-kind simultaneous|pointwise|exact
        What the columns lower and upper hold for: the whole domain at once, or one point chosen in
        advance; or the exact band of the noise around what was measured, which need not hold the values.
    of : noise|sample|population
        What it is a band for: the same estimate without noise; what an unlimited budget would publish
        of these units; or the function of the population that they are a sample of. By default the
        first that this kind of release states.
    level : P
        Probability of the band, between 0 and 1.
    quantiles : P,P,...
        Of a density on an interval: the values below which these shares lie. Of quantile curves: the
        curves of these shares, with the band of the first. Example: --quantiles 0.1,0.5,0.9
    sample : N
        Of a density: this many synthetic points, drawn from it. Of a sampler: so many curves.
    csv : F.csv
        Write the table.

    Examples
    --------
    dpfda eval fa.json --at 0,0.25,0.5 --csv values.csv
    dpfda eval incomes.json --given age=40 --quantiles 0.1,0.5,0.9
    """
    from dpfda.command.files import check_outputs, opened
    from dpfda.numerics.parameters import choice
    from dpfda.releases.bands import check_of
    from dpfda.releases.files import write_text
    from dpfda.views import aligned, to_csv

    choice(band, "--band-kind", BANDS)
    if points is not None and points_file is not None:
        raise ParameterError("--from", "be given, or --at, and not both", "both")
    inputs = {"F.json": file} | ({} if points_file is None else {"--from": points_file})
    check_outputs({"--csv": csv}, inputs, overwrite)
    release = opened(file) if given is None else placed(opened(file), given)
    at: ArrayLike | None = None if points is None else _placed(points, release)
    if points_file is not None:
        at = _read(points_file, release)
    if derivative:
        release = _derivative(release)
    if quantiles is not None and sample is not None:
        raise ParameterError("--quantiles", "be asked for without --sample", "both")
    table = None if sample is None else release._drawn_sample(sample)
    if quantiles is not None:
        from dpfda.releases.base import Release

        answer = release._of_shares([share for share, *_ in _points(quantiles)])
        release, table = (answer, None) if isinstance(answer, Release) else (release, answer)
    if table is None:
        _check_band(release, band, of)
        plain = release.table(at, level, band != "pointwise", check_of(of), band == "exact")
        table = release._with_predictions(plain)
        if release._where:
            say(f"values at {release._where}", err=True)
        if release._bandless:
            say(f"no band: {release._bandless}", err=True)
    if csv is not None:
        write_text(csv, to_csv(table))
    columns = {name: column.tolist() for name, column in table.columns.items()}
    if as_json:
        print_json({"derivative": derivative, "band": band, "of": of, "level": level, **columns})
    elif csv is None:
        heads = {name: _heads(release, axis)[1] for axis, name in enumerate(release._axes)}
        heads = heads if len(heads) == len(set(heads.values()) - set(columns)) > 1 else {}
        texts = {
            heads.get(name, name): [cell if isinstance(cell, str) else f"{cell:.6g}" for cell in column]
            for name, column in columns.items()
        }
        say(aligned(texts))
    else:
        say(f"{so_many(len(next(iter(columns.values()))), 'point')} written to {csv}")


def placed(release: Release, stated: str) -> Release:
    """A model of covariates at values, "age=40:arm=b"; of a density of two variables that of the other.

    Raises
    ------
    ParameterError
        If it is neither, or has no such values.
    """
    at = getattr(release, "at", None)
    if at is None:
        conditional = release._given(stated)
        few = conditional._stated().findings.get("few")
        if few:
            note(str(few))
        return conditional
    pairs = [part.partition("=") for part in stated.split(":")]
    if not all(equals for _, equals, _ in pairs):
        words = "be NAME=VALUE, several of them with colons between"
        raise ParameterError("--given", words, repr(stated), "Example: --given age=70:arm=b")
    model: Release = at({name.strip(): _number_or_word(text.strip()) for name, _, text in pairs})
    return model


def _number_or_word(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def _check_band(release: Release, band: str, of: str | None) -> None:
    """Refuse a band that this kind of release does not state."""
    from dpfda.numerics.parameters import choice
    from dpfda.releases.asked_bands import unstated
    from dpfda.releases.bands import OFS

    stated = [claim.of for claim in release._claims()]
    if release._bandless or not stated:
        if of is not None:
            release.band(of=of)
        return
    if of is None and stated[0] == "noise":
        say(f"band: of the privacy noise alone. {release._unseen}", err=True)
    if of is not None and choice(of, "--of", OFS) not in stated:
        words = f"be {' or '.join(name for name in OFS if name in stated)} for this {release._CALLED}"
        raise ParameterError("--of", words, of, unstated(release, of))
    if band == "exact" and (of not in (None, "noise") or not release._has_exact):
        words = "be simultaneous or pointwise here"
        raise ParameterError("--band-kind", words, band, "The exact band is that of the noise.")


def _heads(release: Release, axis: int) -> tuple[str, str, str, str]:
    """What the column of an axis may be called: in full, without its unit, by number, as in tables."""
    label, name = release._axis_label(axis), list(release._axes)[axis]
    return label, label.partition(" (")[0], name, str(cell(f"{name}: {label}"))


def _read(path: Path, release: Release) -> Floats:
    """Points (q, c) of a file, whose columns are named as the axes of a release."""
    from dpfda.records.csv_tables import Stated
    from dpfda.records.files import opened as opened_table
    from dpfda.records.headers import find_column

    source, places = opened_table(path, Stated()), []
    for axis in range(len(release._axes)):
        heads = _heads(release, axis)
        labels = [head for head in heads if head in source.labels]
        places.append(find_column(source.labels, [*labels, heads[0]][0], "--from"))
    return source.read(places, []).numbers


def _derivative(release: Release) -> Release:
    if not hasattr(release, "derivative"):
        raise ParameterError("--derivative", "be left out here", f"a {release._CALLED}")
    derivative: Release = release.derivative()
    return derivative


def _placed(text: str, release: Release) -> list[list[float]]:
    """Points of the domain of a release."""
    return _points(text, [release._axis_label(axis) for axis in range(len(release._axes))])


def _points(text: str, labels: Sequence[str] = ()) -> list[list[float]]:
    """Points: numbers, or dates where the label of an axis says that it is days since one."""
    from dpfda.records.cells import Dates

    dates = [Dates.of_label(label) for label in labels]

    def place(part: str, axis: int) -> float:
        try:
            return float(part)
        except ValueError:
            date = dates[axis] if axis < len(dates) else None
            if date is None:
                raise
            return date.until(part, "--at")

    # The time of day has colons as well.
    between = None if len(dates) == 1 and dates[0] is not None else ":"
    parts = [point.split(between) if between else [point] for point in text.split(",")]
    try:
        points = [[place(part, axis) for axis, part in enumerate(point)] for point in parts]
    except ValueError:
        words = "be numbers separated by commas" + (", or dates" if any(dates) else "")
        example = "2024-03-01,2024-04-01" if any(dates) else "0,0.25,0.5"
        raise ParameterError("--at", words, repr(text), f"Example: --at {example}") from None
    counts = sorted({len(point) for point in points})
    if len(counts) > 1:
        numbers = " and ".join(map(str, counts))
        raise ParameterError("--at", "give as many coordinates for every point", numbers)
    return points


VERB = Verb.of(eval_, o.RELEASED)
