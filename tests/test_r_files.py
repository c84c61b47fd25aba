"""Files that the R package is tested with are releases, and hold what R is told to read in them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

from dpfda import load
from test_file_format import VALID

PACKAGE = Path(__file__).parents[1] / "r"
FILES = sorted((PACKAGE / "inst" / "extdata").glob("*.json"))
READINGS = PACKAGE / "tests" / "testthat" / "readings.json"
PLACES = {
    "image": [[0.3, 0.62], [0.01, 0.99], [0.5, 0.5]],
    "answers": [1.0, 2.0],
    "quantiles": [0.25, 0.75],
}
ENDS = ("lower", "upper")


def reading(path: Path) -> dict[str, Any]:
    """Values and ends at some points, by lines between the points, from plain numbers alone."""
    written = json.loads(path.read_text(encoding="utf-8"))
    table = {column["name"]: np.array(column["values"]) for column in written["table"]["columns"]}
    axes = [axis["name"] for axis in written["table"]["axes"]]
    roles = {column["name"]: column["role"] for column in written["table"]["columns"]}
    band = written["table"]["band"]
    around = band["around"] if band else next(name for name in table if roles[name] == "value")
    nodes = [np.unique(table[axis]) for axis in axes]
    start, end = nodes[0][[0, -1]]
    at = np.array(PLACES.get(path.stem, start + (end - start) * np.array([0.013, 0.4, 0.777])))
    points = at.reshape(len(at), -1)
    inside = np.column_stack([np.clip(p, n[0], n[-1]) for p, n in zip(points.T, nodes, strict=True)])

    def values(name: str) -> list[float]:
        order = np.lexsort([table[axis] for axis in axes[::-1]])
        grid = table[name][order].reshape([len(n) for n in nodes])
        return [float(value) for value in RegularGridInterpolator(nodes, grid)(inside)]

    return {
        "guarantee": written["guarantee"]["words"],
        "points": points.tolist(),
        "fit": values(around),
        "band": {name: values(name) for name in ENDS} if band else None,
    }


def test_files_for_r_are_releases() -> None:
    assert len(FILES) == 8
    for path in FILES:
        VALID.validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_r_is_told_to_read_what_is_in_them(path: Path) -> None:
    told = json.loads(READINGS.read_text(encoding="utf-8"))[path.stem]
    found = reading(path)
    assert told["guarantee"] == found["guarantee"] == str(load(path).guarantee)
    for name in ("points", "fit", "band"):
        np.testing.assert_equal(told[name], found[name])


@pytest.mark.parametrize("name", ["mean", "density", "regression"])
def test_lines_between_points_are_the_function_for_all_practical_purposes(name: str) -> None:
    path = PACKAGE / "inst" / "extdata" / f"{name}.json"
    release: Any = load(path)
    told = reading(path)
    at = np.array(told["points"])[:, 0]
    size = np.ptp(release.table().columns["value"])
    np.testing.assert_allclose(told["fit"], release(at), atol=0.005 * size)
