"""The packaged data: what its provenance says of it holds, and it is read like any file."""

import hashlib
import re

import numpy as np

from dpfda.datasets import load_temperatures
from dpfda.records.files import read_curves


def test_shape_grid_and_dates() -> None:
    days = load_temperatures()
    assert days.values.shape == (364, 24)
    np.testing.assert_array_equal(days.grid_points, np.arange(24))
    assert days.dates.shape == (364,)
    assert np.datetime64("2010-03-14") not in days.dates
    assert (np.diff(days.dates).astype(int) == 1).sum() == 362  # one gap, of two days


def test_values_are_whole_tenths_of_a_degree_fahrenheit_as_in_the_source() -> None:
    fahrenheit = load_temperatures().values * 9 / 5 + 32
    rounded = np.round(fahrenheit, 1)
    # Half a hundredth of a degree Celsius is 0.009 degrees Fahrenheit, so the tenth is certain.
    assert np.abs(fahrenheit - rounded).max() <= 0.009 + 1e-9
    assert (rounded.min(), rounded.max()) == (37.5, 75.9)
    assert np.abs(np.diff(rounded, axis=0)).max() < 0.7 + 1e-9
    # First day and first hours of the source, as printed there.
    assert rounded[0, 0] == 39.4
    assert rounded[0, 1] == 39.2


def test_values_are_those_of_a_day() -> None:
    values = load_temperatures().values
    assert np.isfinite(values).all()
    # Afternoons are warmer than nights and summers than winters: rows are days, columns hours.
    assert (values[:, 15] > values[:, 4]).all()
    assert values[180:210].mean() > values[:30].mean() + 8


def test_provenance_says_what_it_is() -> None:
    text = " ".join(load_temperatures().provenance.split())
    for words in ("NOAA", "public domain", "vega_datasets 0.9.0", "climate normals, not the weather"):
        assert words in text
    assert "a day, not a person" in text
    assert re.search(r"[0-9a-f]{64}", text)


def test_packaged_file_is_read_as_a_wide_table_without_options() -> None:
    days = load_temperatures()
    table = read_curves(days.path)
    np.testing.assert_array_equal(table.data, days.values)
    np.testing.assert_array_equal(table.grid_points, days.grid_points)
    assert table.groups is None


def test_repr_holds_no_values() -> None:
    assert repr(load_temperatures()) == "TemperatureCurves(364 days x 24 hours, in deg C)"


def test_packaged_file_is_unchanged() -> None:
    digest = hashlib.sha256(load_temperatures().path.read_bytes()).hexdigest()
    assert digest in load_temperatures().provenance
