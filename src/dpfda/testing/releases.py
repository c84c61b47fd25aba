"""The contract of a kind of release, to be run by whoever adds one."""

from __future__ import annotations

import copy
import csv
import json
import pickle
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dpfda.numerics.errors import ParameterError, StorageError
from dpfda.numerics.parameters import shown
from dpfda.privacy.composition import compose
from dpfda.privacy.guarantees import within
from dpfda.releases.base import Release, load
from dpfda.releases.report import LINE
from dpfda.views import to_csv, to_frame


def check_release(release: Release) -> None:
    """Check that a release can be shown, tabulated, drawn, saved, sent and composed as all others.

    Parameters
    ----------
    release : Release
        Of the kind to be checked, made as its users make it.

    Raises
    ------
    AssertionError
        If the kind breaks the contract.
    """
    if not isinstance(release, Release):
        raise ParameterError("release", "be a release", shown(release))
    _check_certificate(release)
    _check_words(release)
    _check_table(release)
    _check_picture(release)
    _check_immutable(release)
    with tempfile.TemporaryDirectory() as folder:
        _check_file(release, Path(folder))
    for again in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):  # noqa: S301
        _check_alike(again, release)


def _check_certificate(release: Release) -> None:
    assert within(release.achieved, release.guarantee), "the noise gives less than is claimed"
    assert within(compose([release]), release.guarantee), "it composes to more than it claims"


def _check_words(release: Release) -> None:
    report = release.describe()
    flat = " ".join(report.split())
    assert max(map(len, report.splitlines())) <= LINE, "a line of the report is too long"
    title = release.title
    for told in (flat, release.cite(), repr(release)):
        assert release.unit in told, "it is not said who is protected"
    for told in (release.cite(), repr(release), release.subtitle):
        assert str(release.guarantee) in told, "the guarantee is not said"
    assert "(dpfda compose)" in flat, "what it counts as is not said"
    assert title.endswith(f"each {release.unit} is protected"), "its title does not say who is protected"
    summary = json.loads(json.dumps(release.summary(), allow_nan=False))
    assert summary["guarantee"]["words"] == str(release.guarantee), "a summary states the guarantee"
    assert summary["privacy_unit"] == release.unit, "a summary states the privacy unit"


def _check_table(release: Release) -> None:
    table = release.table()
    names, coordinates = [*table.columns], len(release.axes)
    assert names[:coordinates] == [*release.axes], "a table starts with the coordinates"
    assert len(names) > coordinates, "a table has no values"
    for name, column in table.columns.items():
        assert column.ndim == 1, f"{name} is no column"
        assert np.all(np.isfinite(column)), f"{name} has values that are no numbers"
    points = np.column_stack([table.columns[name] for name in release.axes])[:3]
    few = release.table(points)
    for name in names:
        if name not in ("lower", "upper"):
            same = np.allclose(few.columns[name], table.columns[name][:3], rtol=1e-6, atol=1e-9)
            assert same, f"{name} depends on the points beside it"
    header, *rows = csv.reader(to_csv(few).splitlines())
    told = [f"{name}: {table.meanings[name]}" for name in names]
    assert header == told, "the first line of its CSV says what the columns are"
    assert len(rows) == len(points), "its CSV has another number of lines"
    if find_spec("pandas") is not None:
        assert list(to_frame(few).columns) == names, "its data frame has other columns"
    if {"lower", "upper"} <= set(names):
        lower, upper = table.columns["lower"], table.columns["upper"]
        assert np.all(lower <= upper), "the band is turned over"
        if "value" in names:
            values = table.columns["value"]
            assert np.all((lower <= values) & (values <= upper)), "values leave their band"
        less, more = ((t.columns["upper"] - t.columns["lower"])[:3] for t in (few, table))
        # Both hold over the whole domain, from simulations of their own.
        assert np.allclose(less, more, rtol=0.1), "the band depends on the points beside it"
    try:
        release.table(np.full((1, coordinates + 1), 0.5))
    except ParameterError as refusal:
        assert f"points of {coordinates} coordinate(s)" in str(refusal), "points are refused in words"
    else:
        raise AssertionError("points of too many coordinates are taken")


def _check_picture(release: Release) -> None:
    try:
        view = release.view()
    except ParameterError as refusal:
        assert refusal.remedy, "a refusal needs a remedy"
        return
    assert view.title == release.title, "the picture has another title"
    assert view.subtitle.startswith(release.subtitle), "the picture does not say the guarantee"
    assert view.x_label, "an axis has no words"
    assert view.y_label, "an axis has no words"
    if find_spec("matplotlib") is not None:
        from matplotlib.figure import Figure

        drawn = release.plot(Figure().subplots())
        words = {drawn.get_xlabel(), drawn.get_ylabel()}
        assert words == {view.x_label, view.y_label}, "the axes of the picture have other words"


def _check_immutable(release: Release) -> None:
    try:
        release.certificate = None  # type: ignore[misc,assignment]
    except AttributeError:
        pass
    else:
        raise AssertionError("a release can be changed")
    for name, value in vars(release).items():
        assert not isinstance(value, dict), f"{name} can be changed"
        assert not (isinstance(value, np.ndarray) and value.flags.writeable), f"{name} can be changed"
    assert isinstance(release.about, Mapping), "labels are a mapping"


def _check_file(release: Release, folder: Path) -> None:
    path = release.save(folder / "release.json", overwrite=True)
    again = load(path)
    _check_alike(again, release)
    _check_alike(type(release).load(path), release)
    first, second = (to_csv(each.table()) for each in (again, release))
    assert first == second, "it comes back with other values"
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["format"] == release.FORMAT, "the file does not say its format"
    parts = {name: json.dumps({name: part})[1:-1] for name, part in written.items()}
    for name in written:
        damaged = ", ".join(text for key, text in parts.items() if key != name)
        path.write_text(f"{{{damaged}}}", encoding="utf-8")
        try:
            load(path)
        except StorageError:
            continue


def _check_alike(again: Release, release: Release) -> None:
    assert type(again) is type(release), "it comes back as another kind"
    written = [json.dumps(each.to_json(), allow_nan=False) for each in (again, release)]
    assert written[0] == written[1], "it comes back with other contents"
    assert repr(again) == repr(release), "it comes back with other words"
    assert again.certificate == release.certificate, "it comes back with another certificate"
