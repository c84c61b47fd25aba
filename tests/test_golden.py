"""Files that earlier versions wrote stay readable, and say what they said.

Densities are made of their noisy counts as the present version makes them.

`tests/golden/v1` holds a file of every kind in the first format, made from simulated data, and
`readings.json` what the version that wrote them read out of each. `tests/golden/v2` holds means between
bounds in the second format, whose lines follow from the first version of their constants, one whose
private number of units had its noise in one with the sums, and one found by the law of the box; and a
histogram, a difference of groups, a session's answers, a survival curve, a regression of curves, a
conditional density, a test of equality, a mean in two looks, a running mean and two releases of one
mean, which are kinds of their own from this format on, as is a table of classes over two inputs;
classifiers of three classes, one of them found by descent; a density on a scale; one with
atoms; quantiles; score curves, those with groups of cells, and with a look before; and synthetic
curves, a regression on curves and clusters with a delta, before and since all their noise is normal; and
synthetic curves of groups. Models of hazards are read with the present estimate: of a table by the
first one's parts, of rounds at the places that followed from the first one's information, or from
the fifth one's.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import load
from dpfda.releases.kinds import kinds

FOLDERS = [Path(__file__).parent / "golden" / version for version in ("v1", "v2")]
FILES = [sorted(set(folder.glob("*.json")) - {folder / "readings.json"}) for folder in FOLDERS]

# What is read of each kind: values at some places, and more where a kind has no values.
POINTS = np.array([[0.2, 0.7], [0.5, 0.5], [0.9, 0.1]])
VALUES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (
            "ReleasedFunction",
            "TwoStageFunction",
            "CloserMean",
            "FoundMean",
            "ReleasedPooledMean",
            "MeanAndVariance",
            "ReleasedRunningMean",
            "CombinedMean",
        ),
        lambda line: line(np.linspace(*line.domain_range, 7)),
    ),
    **dict.fromkeys(("ReleasedField", "LatticeRelease"), lambda field: field(POINTS)),
    **dict.fromkeys(
        ("ReleasedPredictor", "TablePredictor"),
        lambda function: function(POINTS[:, : function.dimensions]),
    ),
    **dict.fromkeys(
        ("ReleasedHistogram", "ReleasedDifference", "ReleasedVector"), lambda line: line([0.3, 0.9])
    ),
    **dict.fromkeys(
        ("ReleasedCovariance", "ReleasedSparseCovariance"),
        lambda surface: surface([0.2, 1.0], [0.4, 1.0]),
    ),
    "ReleasedAnswers": lambda answers: answers([1, 2]),
    "ReleasedDensity": lambda density: (
        density.quantile([0.25, 0.5, 0.75]) if density.dimensions == 1 else density([[0.3, 0.6]])
    ),
    "ReleasedDensityWithAtoms": lambda density: [
        *(atom.mass for atom in density.atoms),
        *density.quantile([0.05, 0.5, 0.75]),
    ],
    "ReleasedConditionalDensity": lambda density: density.quantile([0.25, 0.5, 0.75]),
    "ReleasedComponents": lambda parts: [*parts.variances, *np.ravel(parts([0.3, 1.1]))],
    "ReleasedQuantiles": lambda quantiles: quantiles.values,
    "ReleasedReferenceBand": lambda band: [*band.lower([0.3, 1.1]), *band.upper([0.3, 1.1])],
    # Laws are found step by step, so that their last digits are those of the machine.
    "ReleasedQuantileCurves": lambda curves: curves.shares.counts[::40],
    "ReleasedTest": lambda test: [test.statistic, *test([0.0, 0.3, 1.0])],
    "ReleasedComparison": lambda groups: groups.difference(*groups.names)([0.3, 1.1]),
    "ReleasedFunctionalRegression": lambda curves: [curves[term]([0.2, 0.9]) for term in curves.terms],
    "ReleasedScalarOnFunction": lambda model: model([0.2, 0.9]),
    "ReleasedCurveSampler": lambda made: made([0.2, 0.9]),
    "ReleasedCurveSamplers": lambda made: [each([0.2, 0.9]) for each in made.means.values()],
    # Areas follow from an isotonic fit; rates at thresholds from draws. Binormal curves are found step
    # by step, so that their last digits are those of the machine.
    "ReleasedScoreCurves": lambda curves: (
        [curves.auc, *curves([0.2, 0.9])]
        if curves.starts is None
        else curves.counts[1, [*curves.starts]]
        if curves.look is None
        else curves.counts
    ),
    "ReleasedCurveClusters": lambda made: made([0.2, 0.9]).tolist(),
    "ReleasedCox": lambda model: [*(model[term].value for term in model.effects), *model([0.2, 0.9])],
    # The curve is drawn, so that its last digits are those of the machine.
    "ReleasedSurvival": lambda curve: curve.counts,
}


def readings(path: Path) -> dict[str, Any]:
    """What a release of any kind says: its type, guarantee, unit, neighbours, and some values."""
    release = load(path)
    kind = type(release).__name__
    return {
        "type": kind,
        "guarantee": str(release.guarantee),
        "neighbours": str(release.neighbours),
        "unit": release.unit,
        "values": [float(value) for value in np.ravel(VALUES[kind](release))],
    }


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
    # To what versions of NumPy and SciPy differ by.
    assert found.pop("values") == pytest.approx(expected.pop("values"), rel=1e-9, abs=1e-10)
    assert found == expected
