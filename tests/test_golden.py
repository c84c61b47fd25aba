"""Files that earlier versions wrote stay readable, and say what they said.

`tests/golden/v1` holds a file of every kind in the first format, made from simulated data, and
`readings.json` what the version that wrote them read out of each. `tests/golden/v2` holds means between
bounds in the second format, whose lines follow from the first version of their constants, and one whose
private number of units had its noise in one with the sums; and a histogram, a difference of groups, a
session's answers and a survival curve, which are kinds of their own from this format on.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import load
from dpfda.releases.kinds import kinds

FOLDERS = [Path(__file__).parent / "golden" / version for version in ("v1", "v2")]
FILES = [sorted(set(folder.glob("*.json")) - {folder / "readings.json"}) for folder in FOLDERS]

# Where the kinds are read that are called with points.
POINTS = np.array([[0.2, 0.7], [0.5, 0.5], [0.9, 0.1]])
PLACES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("ReleasedField", "LatticeRelease", "ReleasedPredictor"), (POINTS,)),
    **dict.fromkeys(("ReleasedHistogram", "ReleasedDifference"), ([0.3, 0.9],)),
    "ReleasedVector": ([0.3, 0.9],),
    "ReleasedCovariance": ([0.2, 1.0], [0.4, 1.0]),
    "ReleasedAnswers": ([1, 2],),
}
# Called with points as means are.
LINES = ("ReleasedFunction", "TwoStageFunction", "ReleasedPooledMean", "MeanAndVariance")


def readings(path: Path) -> dict[str, Any]:
    """What a release of any kind says: its type, guarantee, unit, neighbours, and some values."""
    release = load(path)
    return {
        "type": type(release).__name__,
        "guarantee": str(release.guarantee),
        "neighbours": str(release.neighbours),
        "unit": release.unit,
        "values": [float(value) for value in np.ravel(_values(release))],
    }


def _values(release: Any) -> Any:
    kind = type(release).__name__
    if kind in PLACES:
        return release(*PLACES[kind])
    if kind == "ReleasedDensity":
        return release.quantile([0.25, 0.5, 0.75]) if release.dimensions == 1 else release([[0.3, 0.6]])
    if kind == "ReleasedComponents":
        return [*release.variances, *np.ravel(release([0.3, 1.1]))]
    if kind == "ReleasedComparison":
        return release.difference(*release.names)([0.3, 1.1])
    if kind == "ReleasedSurvival":
        # The curve is drawn, so that its last digits are those of the machine.
        return release.counts
    assert kind in LINES
    return release(np.linspace(*release.domain_range, 7))


def test_there_is_a_file_of_every_kind() -> None:
    held = {json.loads(path.read_text())["format"] for files in FILES for path in files}
    shipped = {name for name, kind in kinds().items() if kind.__module__.startswith("dpfda.")}
    assert held == shipped
    for folder, files in zip(FOLDERS, FILES, strict=True):
        assert {path.stem for path in files} == set(json.loads((folder / "readings.json").read_text()))


@pytest.mark.parametrize("path", [*FILES[0], *FILES[1]], ids=lambda path: path.stem)
def test_a_file_of_an_earlier_version_reads_as_it_did(path: Path) -> None:
    expected = json.loads((path.parent / "readings.json").read_text())[path.stem]
    found = readings(path)
    assert found.pop("values") == pytest.approx(expected.pop("values"), rel=1e-9, abs=1e-12)
    assert found == expected
