"""`dpfda plot`: a picture of a release, of several in one, or of the difference of two."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpfda.command import options as o
from dpfda.command.functions import Verb
from dpfda.command.running import say
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from dpfda.releases.base import Release
    from dpfda.views import View


def plot(
    files: list[Path],
    *,
    plot: Path | None = None,
    given: str | None = None,
    difference: bool = False,
    x_label: str | None = None,
    y_label: str | None = None,
    overwrite: bool = False,
) -> None:
    """Draw releases, with bands where they have them. Costs no privacy.

    Of several files the curves come into one picture. What two releases of one data set promise together
    is said by dpfda compose.

    Parameters
    ----------
    files : F.json...
        A release, as written by --out; or several curves for one picture.
    plot : F.png
        The picture: .png, .pdf or .svg. By default beside the release, with its name and .png.
    difference
        Draw the first of two means minus the second, with a band for the difference; of one comparison,
        its first group minus its second; of one survival curve of groups, how the risk of the first
        differs from that of the others.

    Examples
    --------
    dpfda plot fa.json
    dpfda plot fa.json --x-label 'position along the tract' --plot fa.pdf
    dpfda plot before.json after.json --plot both.png
    dpfda plot after.json before.json --difference --plot change.png
    dpfda plot lung-by-sex.json --difference --plot risk.png
    dpfda plot incomes.json --given age=30,age=60 --plot two-ages.png
    """
    from dpfda.command.files import PIPED, check_outputs, opened, relabelled, save_picture
    from dpfda.front.verbs.eval import placed
    from dpfda.releases.files import PICTURES
    from dpfda.views import draw

    pictures = [file for file in files if file.suffix.lower() in PICTURES]
    if pictures:
        remedy = f"Write --plot {pictures[0]}."
        raise ParameterError("F.json", "be a release", repr(str(pictures[0])), remedy)
    inputs = {str(file): file for file in files}
    if plot is None:
        if str(files[0]) == PIPED:
            raise ParameterError("--plot", "be given where a release is piped in", "none")
        plot = files[0].with_suffix(".png")
    check_outputs({"--plot": plot}, inputs, overwrite)
    releases = {file.stem: relabelled(opened(file), x_label, y_label) for file in files}
    if len(releases) != len(files):
        raise ParameterError("F.json", "have names of their own", "two of one name")
    if given is not None:
        if len(releases) > 1:
            raise ParameterError("--given", "be of one release", f"{len(releases)} files")
        ((_, release),) = releases.items()
        places = [place.strip() for place in given.split(",")]
        releases = {place: placed(release, place) for place in places}
    if len(releases) == 1 and not difference:
        drawn = next(iter(releases.values())).plot
    else:
        view = _difference(releases) if difference else together(releases)
        drawn = partial(draw, view)
    save_picture(drawn, plot)
    say(f"drawn in {plot}")


def together(releases: dict[str, Release]) -> View:
    """One view of one release; the lines of several in one, named by their files."""
    from dpfda.views import Curve

    views = {name: item.view() for name, item in releases.items()}
    curves = {name: view for name, view in views.items() if isinstance(view, Curve)}
    if len(curves) < len(views):
        raise ParameterError("F.json", "be curves where several are drawn in one", "an image")
    axes = {(view.x_label, view.y_label) for view in curves.values()}
    if len(axes) > 1:
        pairs = "; ".join(sorted(f"{x!r} and {y!r}" for x, y in axes))
        raise ParameterError("F.json", "have the same axes where several are drawn in one", pairs)
    lines = [
        replace(line, label=name if len(view.lines) == 1 else f"{name}: {line.label}")
        for name, view in curves.items()
        for line in view.lines
    ]
    title = "; ".join(f"{name}: {item._subject} of {item._of_whom}" for name, item in releases.items())
    parts = [view.shown for view in curves.values() if view.shown is not None]
    shown = None
    if len(parts) == len(curves):
        shown = min(start for start, _ in parts), max(end for _, end in parts)
    return replace(
        next(iter(curves.values())),
        lines=tuple(lines),
        title=title,
        subtitle=_promises(releases),
        shown=shown,
    )


def _promises(releases: dict[str, Release]) -> str:
    """What each of several releases promises, which is not what they promise together."""
    guarantees = dict.fromkeys(str(release.guarantee) for release in releases.values())
    return f"each published under {' or '.join(guarantees)}"


def _difference(releases: dict[str, Release]) -> View:
    from dpfda.mean.comparison.difference_release import ReleasedDifference
    from dpfda.releases.function import ReleasedFunction

    if len(releases) == 1:
        return next(iter(releases.values()))._difference()
    pair = [release for release in releases.values() if isinstance(release, ReleasedFunction)]
    if len(releases) != 2 or len(pair) != 2:
        kinds = ", ".join(f"a {release._CALLED}" for release in releases.values())
        raise ParameterError("--difference", "be of two released curves", kinds)
    first, second = releases
    if len({release.domain_range for release in pair}) > 1:
        ends = " and ".join(str(release.domain_range) for release in pair)
        raise ParameterError("--difference", "be of curves on one domain", ends)
    gap = ReleasedDifference(pair[0], pair[1], (first, second))
    if not gap._is_line:
        words = "be of two default means of curves between bounds"
        raise ParameterError("--difference", words, "other estimates", "Use dpfda compare.")
    return replace(gap.view(), subtitle=_promises(releases))


VERB = Verb.of(plot, o.RELEASED)
