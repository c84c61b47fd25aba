"""Files of releases say what they hold to whoever has no dpfda, as the shipped schema says."""

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from dpfda import PrivateMean, load
from dpfda.releases.kinds import kinds
from dpfda.releases.plain import AT_MOST, ON_LINE, plain, thinned
from dpfda.views import Table
from sample_releases import KINDS, RELEASES, made
from test_golden import FILES

SCHEMA = json.loads((files("dpfda.releases") / "schema.json").read_text(encoding="utf-8"))
VALID = Draft202012Validator(SCHEMA)
pytestmark = pytest.mark.usefixtures("few_draws")
Written = dict[str, Any]


def saved(release: Any, folder: Path) -> Written:
    written: Written = json.loads(
        release.save(folder / "release.json", overwrite=True).read_text(encoding="utf-8")
    )
    return written


def column(written: Written, name: str) -> Any:
    return np.array(next(c["values"] for c in written["table"]["columns"] if c["name"] == name))


def test_the_schema_is_one_and_knows_every_kind() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    shipped = {name for name, kind in kinds().items() if kind.__module__.startswith("dpfda.")}
    named = {
        rule["if"]["properties"]["format"]["const"] for rule in SCHEMA["$defs"]["release"]["allOf"][:-1]
    }
    assert named == shipped


@pytest.mark.parametrize(
    "path", [*FILES[0], *FILES[1]], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_files_of_earlier_versions_are_as_the_schema_says(path: Path) -> None:
    VALID.validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", RELEASES | KINDS)
def test_every_kind_is_saved_as_the_schema_says(name: str, tmp_path: Path) -> None:
    release: Any = made(name)
    written = saved(release, tmp_path)
    VALID.validate(written)
    described = SCHEMA["$defs"][written["format"]]["properties"].keys()
    known = described | SCHEMA["$defs"]["release"]["properties"].keys() | {"words", "table"}
    assert set(written) <= known, "an entry is not in the schema"
    _check_table(release, written["table"])
    assert str(release.guarantee) in written["words"]["promise"]
    assert written["words"]["title"].endswith(f"each {release.unit} is protected")
    # What is read back writes the same file, table and all.
    assert saved(load(tmp_path / "release.json", kernel=None), tmp_path) == written


def _check_table(release: Any, table: Written) -> None:
    """Numbers in a file are those that the release gives at the same points."""
    names = [each["name"] for each in table["columns"]]
    axes = [axis["name"] for axis in table["axes"]]
    assert names[: len(axes)] == axes == [*release.table().columns][: len(axes)]
    roles = [each["role"] for each in table["columns"]]
    assert roles[: len(axes) + 1] == [*["coordinate"] * len(axes), "value"]
    points = np.column_stack(
        [each["values"] for each in table["columns"] if each["role"] == "coordinate"]
    )
    again = release.table(points)
    for each in table["columns"]:
        assert each["label"] == again.meanings[each["name"]]
        np.testing.assert_array_equal(each["values"], again.columns[each["name"]])
    assert (table["band"] is not None) == ("lower" in names)
    if table["band"] is not None:
        assert table["band"]["around"] in names


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return saved(made("default mean"), tmp_path_factory.mktemp("files"))


def test_a_curve_is_read_by_lines_between_its_points(written: Written, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    path.write_text(json.dumps(written), encoding="utf-8")
    release: Any = load(path)
    at = np.random.default_rng(1).uniform(*release.domain_range, 50)
    point, value = column(written, "point"), column(written, "value")
    # 201 points: a chord of a curve of this smoothness leaves it by far less than its band is wide.
    wide = np.mean(column(written, "upper") - column(written, "lower"))
    assert np.abs(np.interp(at, point, value) - release(at)).max() < 0.01 * wide
    assert set(release.grid_points) <= set(point)
    assert (point[0], point[-1]) == tuple(release.domain_range)


def test_units_stand_beside_the_numbers(written: Written) -> None:
    assert [each["label"] for each in written["table"]["columns"]][:2] == [
        "hour of the day",
        "load (MW)",
    ]
    assert written["table"]["axes"] == [
        {"name": "point", "label": "hour of the day", "lower": 0.0, "upper": 2.0}
    ]
    assert written["table"]["band"] == {
        "level": 0.95,
        "around": "value",
        "simultaneous": True,
        "words": "95% band for the privacy noise",
    }


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.pop("guarantee"),
        lambda file: file.pop("costs"),
        lambda file: file.pop("basis"),
        lambda file: file.pop("words"),
        lambda file: file.update(schema_version=3),
        lambda file: file.update(neighbours="replace-two"),
        lambda file: file.update(noisy_sum=[0.5]),
        lambda file: file["guarantee"].update(kind="approximate"),
        lambda file: file["guarantee"]["exact"].update(epsilon="1.0"),
        lambda file: file["table"].pop("band"),
        lambda file: file["table"]["columns"][0].update(role="x"),
        lambda file: file["table"]["columns"][1]["values"].append("nan"),
        lambda file: file["table"]["columns"][1].pop("label"),
    ],
)  # fmt: skip
def test_the_schema_refuses_what_is_not_so(written: Written, change: Any) -> None:
    changed = copy.deepcopy(written)
    change(changed)
    assert not VALID.is_valid(changed)


def test_a_release_is_saved_whatever_its_table_meets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = made("lattice")

    def table(*_: object) -> Table:
        raise MemoryError

    monkeypatch.setattr(type(release), "table", table)
    written = saved(release, tmp_path)
    VALID.validate(written)
    assert written["table"]["columns"] == []
    assert type(load(tmp_path / "release.json")) is type(release)


@pytest.mark.parametrize("name", RELEASES | KINDS)
def test_words_and_table_of_a_file_are_made_anew_and_never_believed(name: str, tmp_path: Path) -> None:
    written = saved(made(name), tmp_path)
    changed = copy.deepcopy(written)
    changed["words"] = dict.fromkeys(written["words"], "0-differential privacy")
    changed["table"]["columns"] = changed["table"]["columns"][:1]
    changed["guarantee"]["words"] = "0-differential privacy"
    (tmp_path / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
    again = saved(load(tmp_path / "changed.json"), tmp_path)
    assert {entry: again[entry] for entry in ("words", "guarantee")} == {
        entry: written[entry] for entry in ("words", "guarantee")
    }
    assert [each["name"] for each in again["table"]["columns"]] == [
        each["name"] for each in written["table"]["columns"]
    ]


@pytest.mark.parametrize(
    ("given", "promise"),
    [
        ({"epsilon": 1}, "change at most 2.72-fold"),
        (
            {"epsilon": 1, "delta": "1e-5", "mechanism": "gaussian"},
            "change at most 2.72-fold, but for a probability of about 1e-05",
        ),
        # As epsilon 2.14 at delta 1e-6.
        ({"rho": "0.1"}, "change at most 8.52-fold, but for a probability of about 1e-06"),
    ],
)
def test_the_promise_of_one_line_says_how_probably_it_fails(given: Written, promise: str) -> None:
    release: Any = PrivateMean(bounds=(0, 1), **given).fit(np.full((200, 5), 0.5)).release_
    words: Any = plain(release, 0.95)["words"]
    assert words["promise"].endswith(promise)
    assert release.view().subtitle.endswith(promise)


def test_large_grids_are_thinned_evenly_with_both_ends() -> None:
    points = np.arange(5000.0)
    few = thinned(points, ON_LINE)
    assert few.size == ON_LINE
    assert (few[0], few[-1]) == (0.0, 4999.0)
    assert set(np.diff(few)) <= {8.0, 9.0}
    solid = plain(made("solid"), 0.95)["table"]["columns"][0]["values"]
    assert len(solid) == 27 <= AT_MOST
