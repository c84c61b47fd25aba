"""Two releases of one mean as one: weights, band, guarantee, refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpfda import Domain, PrivateMean, load
from dpfda.bounds import L2Ball
from dpfda.errors import ParameterError, StorageError
from dpfda.privacy.guarantees import ApproximateDP, PureDP
from dpfda.releases.combined import CombinedMean
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import check_release

GRID = np.linspace(0.0, 1.0, 24)
MEAN = 0.5 + 0.3 * np.sin(5 * GRID)


def released(n: int = 500, epsilon: Any = 1.0, **given: Any) -> ReleasedFunction:
    curves = np.tile(MEAN, (n, 1))
    made = {"bounds": (0, 1), "domain": Domain(GRID), "unit": "home", **given}
    release: ReleasedFunction = PrivateMean(epsilon, **made).fit(curves).release_
    return release


def test_values_are_averages_by_the_squares_of_typical_errors() -> None:
    first, second = released(300), released(900)
    both = first.combined(second)
    sizes = [release.widths.typical_error**2 for release in (first, second)]
    assert both.share == pytest.approx(sizes[1] / sum(sizes), rel=1e-12)
    assert both.share < 0.5
    np.testing.assert_allclose(
        both(GRID), both.share * first(GRID) + (1 - both.share) * second(GRID), rtol=0, atol=1e-15
    )
    assert second.combined(first).share == pytest.approx(1 - both.share, rel=1e-12)
    band = both.band(0.95, points=GRID)
    halves = [
        (end.upper - end.lower) / 2 for end in (r.band(0.95, points=GRID) for r in (first, second))
    ]
    wanted = np.hypot(both.share * halves[0], (1 - both.share) * halves[1])
    np.testing.assert_allclose((band.upper - band.lower) / 2, wanted, rtol=1e-12)


def test_two_of_a_kind_are_more_exact_than_either_and_their_band_holds() -> None:
    errors, held = [], 0
    for _ in range(40):
        parts = released(), released()
        both = parts[0].combined(parts[1])
        errors.append([np.sum((r(GRID) - MEAN) ** 2) for r in (*parts, both)])
        band = both.band(0.95, points=GRID)
        held += int(np.all((band.lower <= MEAN) & (band.upper >= MEAN)))
    one, other, together = np.sqrt(np.mean(errors, axis=0))
    # By simulation this ratio is .70, with a deviation of .023; of one release alone it is about 1.
    assert together < 0.87 * (one + other) / 2
    assert held >= 36


def test_the_certificate_is_that_of_both_together(tmp_path: Path) -> None:
    first, second = released(), released(epsilon="1/2", delta=1e-6, mechanism="gaussian")
    with pytest.raises(ParameterError, match="with a band for the same"):
        first.combined(second)
    other = released(epsilon="1/2")
    both = first.combined(other)
    assert both.guarantee == PureDP("3/2")
    assert (both.unit, both.neighbours) == (first.unit, first.neighbours)
    check_release(both)
    again = load(both.save(tmp_path / "both.json"))
    assert isinstance(again, CombinedMean)
    assert again.to_json() == both.to_json()
    np.testing.assert_array_equal(again(GRID), both(GRID))
    assert "if it is the same in both" in " ".join(both.describe().split())
    gaussian = second.combined(released(epsilon=1.0, delta=1e-6, mechanism="gaussian"))
    assert gaussian.guarantee == ApproximateDP("3/2", "2e-6")
    assert 0 < gaussian.share < 0.5


def test_a_file_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    file = released().combined(released()).save(tmp_path / "both.json")
    written = json.loads(file.read_text())
    written["second"] = written["first"]
    file.write_text(json.dumps(written))
    with pytest.raises(StorageError):
        load(file)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: released(unit="person"), "other must protect the same units"),
        (lambda: released(domain=Domain(GRID * 2)), "other must be of a mean on the same domain"),
        (lambda: released().derivative(), "other must be of a mean on the same domain"),
        (lambda: released(bounds=L2Ball(1.0), mechanism="laplace"), "with a band for the same"),
        (
            lambda: released(epsilon=None, rho=0.5).combined(released(epsilon=None, rho=0.1)),
            "mean curve",
        ),
        (lambda: MEAN, "other must be a released mean curve"),
    ],
)
def test_what_is_not_of_one_mean_is_refused(other: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        released().combined(other())


def test_one_charge_is_not_combined_with_itself() -> None:
    release = released()
    with pytest.raises(ParameterError, match="of another charge than this one"):
        release.combined(release)
