"""Views: what is drawn is what they hold, and tables give floats back exactly."""

import csv
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from dpfda.errors import ParameterError
from dpfda.views import Curve, Image, Line, Table, draw, draw_beside, to_csv, to_frame

pytestmark = pytest.mark.usefixtures("few_draws")

mpl.use("Agg")
AT = np.linspace(0, 1, 5)


@pytest.fixture(autouse=True)
def _closed():
    yield
    mpl.pyplot.close("all")


def curve() -> Curve:
    lines = (
        Line(AT, AT**2, "first", AT**2 - 0.1, AT**2 + 0.1, "95% bands"),
        Line(AT, AT, "second", AT - 0.1, AT + 0.1, "95% bands", "dashed"),
    )
    return Curve(lines, "time (h)", "load (kW)", "Mean load of 5 homes", "1-DP", baseline=0.0)


def test_a_curve_shows_its_lines_bands_and_words():
    axis = draw(curve())
    shown = [line for line in axis.get_lines() if line.get_label() in ("first", "second")]
    assert np.array_equal(shown[0].get_ydata(), AT**2)
    assert shown[1].get_linestyle() == "--"
    assert len(axis.collections) == 2
    # Lines that share the words of a band share an entry of the legend.
    words = [text.get_text() for text in axis.get_legend().get_texts()]
    assert sorted(words) == ["95% bands", "first", "second"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("time (h)", "load (kW)")
    assert axis.get_title() == "Mean load of 5 homes\n1-DP"


def test_a_legend_covers_no_line_where_bands_fill_the_picture():
    at = np.linspace(0, 2, 201)
    # The last one leaves no place free.
    for values in (1 - at, np.zeros(201), at - 1, 5 * np.cos(15 * at)):
        filled = Line(at, values, "difference", np.full(201, -6.0), np.full(201, 6.0), "band, 95%")
        axis = draw(Curve((filled,), "t", "x", "Difference", baseline=0.0))
        axis.figure.canvas.draw()
        box = axis.get_legend().get_window_extent()
        paths = [line.get_transform().transform_path(line.get_path()) for line in axis.get_lines()]
        assert not any(path.intersects_bbox(box, filled=False) for path in paths)
    # Room that was made above for the legend is no part of the axis.
    assert axis.get_ylim()[1] > 7
    assert axis.get_yticks().max() <= 6.7
    # A title of two lines moves the axis after the legend has found its place.
    at = np.linspace(0, 1, 101)
    values = np.where(at < 0.4, 0.32 + 0.2 * at, 0.41)
    band = np.zeros(101), np.ones(101), "band meant to hold the population's function, 95%"
    lines = Line(at, values, "released function", *band), Line(at, values, "little is known")
    axis = draw(
        Curve(lines, "t", "x", "Regression function of 300 records; each is protected", "1 " * 39)
    )
    axis.figure.canvas.draw()
    box = axis.get_legend().get_window_extent()
    line = axis.get_lines()[0]
    path = line.get_transform().transform_path(line.get_path())
    assert not path.intersects_bbox(box, filled=False)


def test_a_heat_map_has_a_title_and_a_guarantee_of_one_line_each():
    title = "Covariance function of 364 days: temperature; each day is protected"
    promise = "1-differential privacy (pure): odds about one day change at most 2.72-fold"
    image = Image(np.eye(4), ((0, 1), (0, 1)), "s", "t", "u", title, promise, square=True)
    axis = draw(image)
    assert axis.get_title() == f"{title}\n{promise}"
    axis.figure.canvas.draw()
    assert axis.title.get_window_extent().x0 >= 0
    assert axis.title.get_window_extent().x1 <= axis.figure.bbox.x1


def test_marked_points_have_bars_and_no_band_between_them():
    line = Line(AT, AT, "measured", AT - 0.1, AT + 0.2, "range", marked=True)
    axis = draw(Curve((line,), "t", "x", "Points"))
    (bars,) = axis.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([AT - 0.1, AT + 0.2]))


def test_an_image_has_its_first_variable_to_the_right_and_its_second_upwards():
    values = np.arange(6.0).reshape(3, 2)
    axis = draw(Image(values, ((0, 3), (10, 12)), "s", "t", "units", "Image", floor=0.0))
    image = axis.get_images()[0]
    assert np.array_equal(image.get_array(), values.T)
    assert (image.origin, list(image.get_extent())) == ("lower", [0, 3, 10, 12])
    signed = draw(Image(values - 4, ((0, 3), (0, 2)), "s", "t", "u", "I", signed=True, contour=0.0))
    assert signed.get_images()[0].get_clim() == (-4, 4)


def test_two_views_stand_beside_each_other_on_one_scale():
    first, second = draw_beside((curve(), curve()))
    assert first.get_ylim() == second.get_ylim()


def test_a_table_gives_its_floats_back():
    table = Table({"point": AT, "value": AT / 3}, {"point": "h", "value": "kW"})
    rows = list(csv.reader(to_csv(table).splitlines()))
    assert rows[0] == ["point: h", "value: kW"]
    assert [float(row[1]) for row in rows[1:]] == (AT / 3).tolist()
    assert to_frame(table)["value"].tolist() == (AT / 3).tolist()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="line must have points, values and band of one length"):
        Line(AT, AT[1:], "short")
    with pytest.raises(ParameterError, match="line must have points, values and band of one length"):
        Line(AT, AT, "half a band", lower=AT)
    with pytest.raises(ParameterError, match="table must have columns of one length, each with its"):
        Table({"point": AT}, {})
    with pytest.raises(ParameterError, match="view must be a Curve or an Image; found str"):
        draw("a curve", mpl.pyplot.figure().subplots())  # type: ignore[arg-type]


def test_a_part_of_the_variable_may_be_shown_and_is_said_to_be_one():
    axis = draw(replace(curve(), shown=(0.25, 0.5)))
    assert axis.get_xlim() == (0.25, 0.5)
    assert "shown is 0.25 to 0.5 of 0 to 1" in " ".join(axis.get_title().split())
    assert "shown" not in draw(curve()).get_title()
