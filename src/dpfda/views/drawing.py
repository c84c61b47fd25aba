"""Views as pictures, by matplotlib; legible in print, on narrow pages and without colour vision.

All words reach matplotlib as `PLAIN` text: a "$" in them is a dollar sign,
whatever the settings of matplotlib say of formulas and TeX.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dpfda.numerics.errors import ParameterError, needed
from dpfda.numerics.parameters import shown, whole
from dpfda.numerics.words import visible
from dpfda.views.languages import ENGLISH, Language, numbered
from dpfda.views.shapes import Curve, Image, Line, Panels, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.text import Text

# Okabe & Ito (2008): eight colours that people without full colour vision tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
WIDTH, HEIGHT, SQUARE, PANEL, ACROSS = 7.0, 4.2, 4.8, 4.6, 3
# Of one of many small pictures; and the share of it that is left to the next.
SMALL, GAP = (1.5, 1.0), 0.08
# Opacity of what is faded.
PALE = 0.3
# Share of the height that a line at the foot takes.
FOOT = 0.15
# Columns of a title over an axis of the usual width in inches, fewer over a narrower one; and of a
# legend to an inch.
TITLE_COLUMNS, USUAL, LEGEND_COLUMNS = 80, 5.4, 11
Style = dict[str, Any]
Place = Literal["upper right", "upper left", "lower left", "lower right", "best"]
# Where a legend may stand, and how far, in pixels, from any line.
PLACES: tuple[Place, ...] = ("upper right", "upper left", "lower left", "lower right", "best")
MARGIN = 12
# Properties of a text of matplotlib that holds words of people: no formula, no TeX.
PLAIN: dict[str, bool] = {"parse_math": False, "usetex": False}
# Columns of the label beside a bar of colours.
BAR_COLUMNS = 44


def given_axis(ax: object) -> Axes | None:
    """Read where to draw: a matplotlib axis, or None for a new figure.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if ax is None:
        return None
    with needed("matplotlib", "plot", "A plot"):
        from matplotlib.axes import Axes
    if not isinstance(ax, Axes):
        raise ParameterError("ax", "be a matplotlib axis", shown(ax))
    return ax


def draw(view: View, ax: Axes | None = None, language: str = ENGLISH) -> Axes:
    """Draw a view on a matplotlib axis.

    Parameters
    ----------
    view : Curve or Image
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    language : {"en", "de", "fr"}, default "en"
        Of what is added to the view's own words: numbers, and which part is shown.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    ParameterError
        If the language is not one of these.
    """
    chosen = Language(language)
    axis = given_axis(ax) or _new_axis(view)
    figure = axis.get_figure(root=True)
    inches = axis.get_window_extent().width / (figure.dpi if figure is not None else 100.0)
    _fill(view, axis)
    _write_legend(axis, max(20, int(LEGEND_COLUMNS * inches)))
    rows = isinstance(view, Image) and view.rows
    _write(axis.xaxis.label, view.y_label if rows else view.x_label)
    _write(axis.yaxis.label, view.x_label if rows else view.y_label)
    # What is shown of how much.
    ends = chosen.text(_spoken_part(view))
    columns = min(TITLE_COLUMNS, max(20, int(TITLE_COLUMNS * inches / USUAL)))
    lines = _balanced(view.title, columns) + _balanced(f"{view.subtitle}{ends}", columns)
    # In the middle, where a title of the caller's own takes its place.
    pad = 16.0 if isinstance(view, Panels) else None
    _write(axis.set_title("", fontsize="medium", pad=pad), *lines)
    if language != ENGLISH:
        _write_numbers(axis, chosen)
    return axis


def draw_beside(views: tuple[View, View], ax: Axes | None = None) -> tuple[Axes, Axes]:
    """Draw two views beside each other with one vertical scale.

    Parameters
    ----------
    views : (Curve, Curve) or (Image, Image)
    ax : matplotlib Axes, optional
        An axis whose figure is cleared and used; a new figure by default.
    """
    if not isinstance(views, tuple) or len(views) != 2 or not all(isinstance(v, View) for v in views):
        raise ParameterError("views", "be two curves or images", shown(views))
    axis, size = given_axis(ax), (1.6 * WIDTH, HEIGHT)
    figure = _new_figure(size) if axis is None else axis.get_figure(root=True)
    if figure is None:
        raise ParameterError("ax", "belong to a figure", "none")
    figure.clear()
    figure.set_size_inches(*size)
    first, second = figure.subplots(1, 2, sharey=True)
    return draw(views[0], first), draw(views[1], second)


def draw_panels(views: Sequence[View], language: str = ENGLISH, columns: int = ACROSS) -> Axes:
    """Draw views in a new figure, each with scales of its own, under the title of the first.

    columns: How many stand beside each other, at most.
    Gives the first axis.
    """
    if not isinstance(views, tuple | list) or not views or not all(isinstance(v, View) for v in views):
        raise ParameterError("views", "be curves or images", shown(views))
    if len(views) == 1:
        return draw(views[0], None, language)
    first, across = views[0], min(whole(columns, "columns", 1), len(views))
    down = -(-len(views) // across)
    figure = _new_figure((PANEL * across, HEIGHT * down))
    untitled = replace(first, title="", subtitle="")
    places = [(view, figure.add_subplot(down, across, at + 1)) for at, view in enumerate(views)]
    axes = [draw(untitled if view is first else view, axis, language) for view, axis in places]
    columns = int(TITLE_COLUMNS * PANEL * across / WIDTH)
    lines = _balanced(first.title, columns) + _balanced(first.subtitle, columns)
    _write(figure.suptitle("", fontsize="medium"), *lines)
    return axes[0]


def _write(text: Text, *lines: str) -> None:
    """Put words into a text of matplotlib, as they are."""
    text.set(text="\n".join(map(visible, lines)), **PLAIN)


def _write_numbers(axis: Axes, language: Language) -> None:
    """Write the numbers along and under the axes with the signs of a language."""
    from matplotlib.ticker import ScalarFormatter

    class Said(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return numbered(super().__call__(x, pos), language.name)

        def get_offset(self) -> str:
            return numbered(super().get_offset(), language.name)

    for drawn in (*axis.figure.axes, *axis.child_axes):
        for along in (drawn.xaxis, drawn.yaxis):
            if type(along.get_major_formatter()) is ScalarFormatter:
                along.set_major_formatter(Said())
    for text in axis.texts:
        _write(text, language.text(text.get_text()))


def _label(words: str) -> str:
    """Words as a label of what is drawn: matplotlib's legends skip those that begin with "_"."""
    return f" {words}" if words.startswith("_") else words


def _balanced(text: str, columns: int) -> list[str]:
    """The text in as few lines as it needs, of about one length."""
    text = visible(text)
    lines = textwrap.wrap(text, columns)
    widths = range(len(text) // max(1, len(lines)), columns)
    even = (textwrap.wrap(text, width) for width in widths if width > 0)
    return next((wrapped for wrapped in even if len(wrapped) <= len(lines)), lines)


def _spoken_part(view: View) -> str:
    """Which part of its variable a picture shows, and of how much; and what is pale in it."""
    if isinstance(view, Image) and view.faded is not None and view.faded.any():
        return "; where it is pale little is known"
    if not isinstance(view, Curve) or view.shown is None:
        return ""
    least, most = (end(end(line.points) for line in view.lines) for end in (min, max))
    part = " to ".join(f"{end:.4g}" for end in view.shown)
    return f"; shown is {part} of {least:g} to {most:g}"


def _new_figure(size: tuple[float, float]) -> Figure:
    with needed("matplotlib", "plot", "A plot"):
        from matplotlib import pyplot
    return pyplot.figure(figsize=size, layout="constrained")


def _new_axis(view: View) -> Axes:
    even = isinstance(view, Image) and (view.square or view.rows)
    size = (WIDTH, SQUARE if even else HEIGHT)
    if isinstance(view, Panels):
        small = SMALL[0] * len(view.columns), SMALL[1] * len(view.rows) + 1.4
        size = max(size[0], small[0]), max(size[1], small[1])
    axis: Axes = _new_figure(size).subplots()
    return axis


@singledispatch
def _fill(view: object, axis: Axes) -> None:
    raise ParameterError("view", "be a Curve or an Image", type(view).__name__)


@_fill.register(Curve)
def _(view: Curve, axis: Axes) -> None:
    drawn = [(line, COLOURS[index % len(COLOURS)]) for index, line in enumerate(view.lines)]
    for line, colour in drawn:
        style: Style = {"linestyle": line.stroke, "marker": "o" if line.marked else ""}
        axis.plot(line.points, line.values, color=colour, label=_label(line.label), **style)
    _draw_behind(axis, view.behind)
    bands: set[str] = set()
    for line, colour in drawn:
        if line.lower is not None and line.upper is not None:
            label = _label(line.band) if line.band not in bands else "_nolegend_"
            ends = (line.points, line.lower, line.upper)
            if line.marked:
                # Between its points nothing is known.
                axis.vlines(*ends, color=colour, alpha=0.4, linewidth=4, label=label)
            else:
                axis.fill_between(*ends, color=colour, alpha=0.2, linewidth=0, label=label)
            bands.add(line.band)
    if view.baseline is not None:
        axis.axhline(view.baseline, color="0.5", linewidth=0.8, zorder=0)
    if view.shown is not None:
        axis.set_xlim(*view.shown)
    if view.logarithmic:
        _logarithmic(axis, view.lines)
    if view.foot is not None:
        heights = FOOT * view.foot.values / max(float(np.max(view.foot.values)), 1e-300)
        # Room below the lines, so that neither hides the other.
        low, high = axis.get_ylim()
        axis.set_ylim(low - FOOT / (1 - FOOT) * (high - low), high)
        style = {"transform": axis.get_xaxis_transform(), "label": _label(view.foot.label)}
        axis.fill_between(view.foot.points, 0, heights, color="0.8", linewidth=0, **style)
    if view.below is not None:
        _numbers_below(axis, *view.below)


def _write_legend(axis: Axes, columns: int) -> None:
    """What lines and bands are, where no line is covered: rather a part of a band."""
    from matplotlib.collections import LineCollection

    if not axis.get_legend_handles_labels()[1]:
        return
    # The best place depends on the texts of the axis: they are measured as they will be drawn.
    for written in axis.texts:
        written.set(**PLAIN)
    legend = axis.legend(fontsize="small", loc="best")
    for text in legend.get_texts():
        _write(text, *_balanced(text.get_text(), columns))
    paths = [line.get_transform().transform_path(line.get_path()) for line in axis.lines]
    bars = [part for part in axis.collections if isinstance(part, LineCollection) and part.zorder > 1]
    paths += [bar.get_transform().transform_path(path) for bar in bars for path in bar.get_paths()]
    # What a font lacks is warned of where it is drawn.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for place in PLACES:
            box = legend.get_window_extent().padded(MARGIN)
            if not any(path.intersects_bbox(box, filled=False) for path in paths):
                # The best place may be another once the title is above.
                right, up = np.mean(box.get_points() - axis.bbox.get_points(), axis=0)
                beside = "center" if abs(right) < MARGIN else "left" if right < 0 else "right"
                above = "center" if abs(up) < MARGIN else "lower" if up < 0 else "upper"
                legend.set_loc(cast("Place", " ".join(dict.fromkeys((above, beside)))))
                return
            legend.set_loc(place)
    if axis.get_yscale() == "linear":
        # Above all lines there is room, once it is made: no part of the axis, and so without ticks.
        (low, high), taken = axis.get_ylim(), box.height / axis.bbox.height
        axis.set_yticks([tick for tick in axis.get_yticks() if low <= tick <= high])
        axis.set_ylim(low, low + (high - low) / max(0.5, 1 - taken))
        legend.set_loc("upper center")


@_fill.register(Panels)
def _(view: Panels, axis: Axes) -> None:
    """On axes inside of this one, of which the labels and the title remain."""
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    across, down = len(view.columns), len(view.rows)
    drawn = (*view.lines, *view.behind)
    ends = [row for line in drawn for row in (line.values, line.lower, line.upper) if row is not None]
    low, high = min(map(np.min, ends)), max(map(np.max, ends))
    room = 0.04 * (high - low or 1.0)
    for line, (row, column) in zip(view.lines, view.places, strict=True):
        place = column / across, 1 - (row + 1) / down, (1 - GAP) / across, (1 - GAP) / down
        panel = axis.inset_axes(place)
        _fill(Curve((line,), "", "", "", behind=view.behind, baseline=view.baseline), panel)
        panel.set(ylim=(low - room, high + room))
        panel.locator_params(nbins=4)
        lowest = max(r for r, c in view.places if c == column)
        leftmost = min(c for r, c in view.places if r == row)
        panel.tick_params(labelsize="small", labelbottom=row == lowest, labelleft=column == leftmost)
    far = partial(axis.annotate, "", xycoords="axes fraction", fontsize="small", annotation_clip=False)
    for column, name in enumerate(view.columns):
        at = (column + (1 - GAP) / 2) / across
        _write(far((at, 1), (0, 2), textcoords="offset points", ha="center"), name)
    for row, name in enumerate(view.rows):
        at = 1 - (row + (1 + GAP) / 2) / down
        beside = far((1, at), (0, 0), textcoords="offset points", va="center")
        beside.set_rotation(270)
        _write(beside, name)
    axis.xaxis.labelpad, axis.yaxis.labelpad = 18, 34
    # What all have in common is written once, under the label of the axis.
    style: Style = {"fontsize": "small", "frameon": False, "ncols": 3, "loc": "upper center"}
    below = 0.5, -0.42 / down
    legend = axis.legend(*panel.get_legend_handles_labels(), bbox_to_anchor=below, **style)
    for text in legend.get_texts():
        _write(text, text.get_text())


def _draw_behind(axis: Axes, lines: tuple[Line, ...]) -> None:
    from matplotlib.collections import LineCollection

    for label in dict.fromkeys(line.label for line in lines):
        alike = [line for line in lines if line.label == label]
        grey, width = ("0.72", 0.6) if alike[0].stroke == "solid" else ("0.35", 1.2)
        paths = [np.column_stack([line.points, line.values]) for line in alike]
        style: Style = {"colors": grey, "linestyles": alike[0].stroke, "linewidths": width}
        axis.add_collection(LineCollection(paths, label=_label(label), zorder=1, **style))


def _numbers_below(axis: Axes, points: np.ndarray, rows: tuple[tuple[str, np.ndarray], ...]) -> None:
    """Rows of whole numbers under the label of the axis, at a distance in points."""
    across = axis.get_xaxis_transform()
    for row, (name, numbers) in enumerate(rows):
        below = -42 - 12 * row
        for at, count in zip(points, numbers, strict=True):
            written = axis.annotate(
                f"{count:,.0f}", (at, 0), (0, below), xycoords=across, textcoords="offset points"
            )
            written.set(fontsize="small", va="top", ha="center")
        label = axis.annotate(
            "", (0, 0), (-12, below), xycoords="axes fraction", textcoords="offset points"
        )
        label.set(fontsize="small", va="top", ha="right")
        _write(label, name)


def _logarithmic(axis: Axes, lines: tuple[Line, ...]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    # Parts far below the first line, which is their sum, do not matter and would flatten the picture.
    largest = max(float(np.max(line.values)) for line in lines)
    below = 10 if len(lines) > 1 else 2
    axis.set_ylim(float(np.min(lines[0].values)) / below, 2 * largest)
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(color="0.9")


@_fill.register(Image)
def _(view: Image, axis: Axes) -> None:
    from matplotlib import colormaps

    (left, right), (bottom, top) = view.extent
    largest = float(np.abs(view.values).max()) or 1.0
    low, high = (-largest, largest) if view.signed else (view.floor, None)
    colours: str | Colormap = "RdBu_r" if view.signed else "viridis"
    if view.names:
        colours = colormaps.get_cmap(colours).resampled(len(view.names))
        low, high = -0.5, len(view.names) - 0.5
    # Of rows the first one is on top, as in any picture; the numbers at the axis run down with them.
    ends = (bottom, top, right, left) if view.rows else (left, right, bottom, top)
    style: Style = {"cmap": colours, "vmin": low, "vmax": high, "interpolation": "nearest"}
    if view.faded is not None:
        style["alpha"] = np.where(view.faded if view.rows else view.faded.T, PALE, 1.0)
    style |= {"extent": ends, "origin": "upper" if view.rows else "lower"}
    style["aspect"] = "equal" if view.square or view.rows else "auto"
    image = axis.imshow(view.values if view.rows else view.values.T, **style)
    if view.contour is not None and view.values.min() < view.contour < view.values.max():
        middles = [(np.arange(size) + 0.5) / size for size in view.values.shape]
        cells = [low + (high - low) * at for (low, high), at in zip(view.extent, middles, strict=True)]
        axis.contour(*cells, view.values.T, levels=[view.contour], colors="black", linewidths=1)
    bar = axis.figure.colorbar(image, ax=axis)
    _write(bar.ax.yaxis.label, *_balanced(view.value_label, BAR_COLUMNS))
    if view.names:
        bar.set_ticks(range(len(view.names)), labels=[visible(name) for name in view.names], **PLAIN)
