"""Labels that are stated: what has none of them is refused, and no remedy leaves it out unseen."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dpfda import (
    PrivateComparison,
    PrivateDensity,
    PrivateEqualityTest,
    PrivateFunctionalRegression,
    PrivateKernelClassifier,
    PrivateKernelRegressor,
    PrivateMean,
    PrivateQuantiles,
    PrivateSurvival,
    Reading,
    load,
)
from dpfda.bases import BoxBasis
from dpfda.errors import DataError
from dpfda.front.app import app
from dpfda.records import LongCurves

TIMES = np.linspace(0, 3, 12)
CODES = np.arange(300) % 2
PLACES = np.random.default_rng(1).uniform(0, 1, 300)
ARM = (PLACES > 0.5).astype(int)
CURVES = np.sin(TIMES) + 0.3 * ARM[:, None]

FITS = {
    "classes": lambda codes: PrivateKernelClassifier(1, bounds=(0, 1), classes=(0, 1)).fit(
        PLACES[:, None], codes
    ),
    "levels": lambda codes: PrivateComparison(1, bounds=(-2, 2), levels=(0, 1)).fit(CURVES, codes),
    "levels of a test": lambda codes: PrivateEqualityTest(1, bounds=(-2, 2), levels=(0, 1)).fit(
        CURVES, codes
    ),
    "levels of a covariate": lambda codes: PrivateFunctionalRegression(
        1, bounds=(-2, 2), covariates={"arm": ("0", "1")}
    ).fit(CURVES, {"arm": codes}),
    "levels of a survival curve": lambda codes: PrivateSurvival(1, domain=(0, 1), levels=(0, 1)).fit(
        PLACES, by=codes
    ),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_what_is_not_stated_is_named_and_never_repaired(fit):
    """Data coded 1 and 2 where 0 and 1 are stated: half of them would be lost."""
    missing = [None, *(ARM[1:] + 1)]
    for codes in (ARM + 1, [str(code) for code in ARM + 1], missing):
        with pytest.raises(DataError) as refused:
            fit(codes)
        said = str(refused.value)
        if codes is missing and "y must have a group for every record" in said:
            continue
        assert "0" in said.partition(";")[0], said
        assert "1" in said.partition(";")[0], said
        assert "found another label in row" in said
        assert "that occur, or leave the records of others out beforehand" in said
        assert "repair" not in said
        assert "2" not in said.partition("in row")[0]


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_stated_number_is_met_as_text_and_as_a_number(fit):
    for codes in (ARM, ARM.astype(float), ARM == 1, list(map(str, ARM)), [f"{code}.0" for code in ARM]):
        assert fit(codes).release_ is not None


def run(*arguments):
    result = CliRunner().invoke(app, [*map(str, arguments), "--epsilon", "20", "--overwrite"])
    return result.exit_code, " ".join(result.output.split())


VERBS = {
    "classify": ("--covariate", "place:0:1", "--target", "arm:0,1"),
    "compare": ("--columns", "[0-9]*", "--bounds", -2, 2, "--by", "arm:0,1"),
    "effects": ("--columns", "[0-9]*", "--bounds", -2, 2, "--covariate", "arm:0,1"),
    "survival": ("--time", "place", "--domain", 0, 1, "--by", "arm:0,1"),
}


# Each verb and each file in every run: files are read before a verb sees them.
@pytest.mark.parametrize(
    ("written", "verb"),
    [
        pytest.param(file, verb, marks=[pytest.mark.thorough] * (place != other and verb != "compare"))
        for place, file in enumerate(("int.csv", "float.csv", "int.parquet", "float.parquet"))
        for other, verb in enumerate(VERBS)
    ],
)
def test_what_is_typed_is_met_in_every_kind_of_file(verb, written, tmp_path: Path):
    table = pd.DataFrame(CURVES, columns=[str(number) for number in range(12)])
    kind, _, ending = written.partition(".")
    table = table.assign(place=PLACES, arm=ARM.astype(kind))
    path, out = tmp_path / f"table.{ending}", tmp_path / "release.json"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    code, said = run(verb, path, *VERBS[verb], "--out", out)
    assert code == 0, said
    release = load(out)
    if verb == "compare":
        assert release.difference("1", "0")(1.0) == pytest.approx(0.3, abs=0.1)
    if verb == "classify":
        late, early = release.predict_proba(np.array([[0.9], [0.1]]))[:, 1]
        assert late > 0.5 > early
    out.unlink()
    table.assign(arm=table.arm + 1).to_csv(tmp_path / "other.csv", index=False)
    code, said = run(verb, tmp_path / "other.csv", *VERBS[verb], "--out", out)
    assert code == 2
    assert "found another label in line" in said
    assert "repair" not in said
    assert not out.exists()


COMMAS = ["0,5"] * 60
UNREAD = {
    "curves": lambda: PrivateMean(1, bounds=(0, 1)).fit([COMMAS[:12]] * 60),
    "points": lambda: PrivateDensity(1, domain=(0, 1)).fit(COMMAS),
    "quantiles": lambda: PrivateQuantiles(1, domain=(0, 1)).fit(COMMAS),
    "targets": lambda: PrivateKernelRegressor(1, bounds=(0, 1), target_bounds=(0, 1)).fit(
        PLACES[:60, None], COMMAS
    ),
}


@pytest.mark.parametrize("fit", UNREAD.values(), ids=UNREAD)
def test_numbers_in_another_notation_are_corrected_and_never_replaced(fit):
    with pytest.raises(DataError) as refused:
        fit()
    assert "repair" not in str(refused.value)
    assert "0,5" not in str(refused.value)


def test_gaps_are_filled_only_where_that_can_be_done():
    """A remedy runs as it is written: between the points of a box nothing is filled."""
    images = np.full((30, 8, 8), 0.4)
    images[2, 3, 4] = np.nan
    box = BoxBasis.on_grid("cosine", (8, 8), [(0, 1), (0, 1)])
    infinite, empty = np.full((30, 12), 0.4), np.full((30, 12), 0.4)
    infinite[3, 4], empty[3] = np.inf, np.nan
    complete = {"missing": "complete"}
    for records, more in (
        (images, {"basis": box}),
        (infinite, {}),
        (infinite, complete),
        (empty, complete),
    ):
        with pytest.raises(DataError, match="Use invalid='repair' to replace each such record") as said:
            PrivateMean(1, bounds=(0, 1), **more).fit(records)
        assert "complete' to fill" not in str(said.value)
        assert PrivateMean(1, bounds=(0, 1), **more, invalid="repair").fit(records).release_
    with pytest.raises(DataError, match="Use missing='complete' to fill gaps within a record, or"):
        PrivateMean(1, bounds=(0, 1)).fit(empty)


@pytest.mark.parametrize("kind", [PrivateComparison, PrivateEqualityTest])
@pytest.mark.parametrize("long", [False, True])
def test_the_row_that_is_named_is_that_of_the_data_and_not_of_its_group(kind, long):
    """The third record is the second of its group: whoever corrects the data has to find it."""
    records = CURVES.copy()
    records[2, 5] = np.nan
    more, labels, row = {}, CODES, 2
    if long:
        records = LongCurves(np.repeat(np.arange(300), 12), np.tile(TIMES, 300), records.ravel())
        more, labels, row = {"domain": (0, 3), "missing": "complete"}, np.repeat(CODES, 12), 29
    with pytest.raises(DataError, match=rf"in row {row}\b"):
        kind(1, bounds=(-2, 2), **more).fit(records, labels)


def test_what_is_left_out_is_left_out_and_not_spread_over_the_others():
    """A third without a value, whatever it would have been: the others' answers stay what they are.

    Taken to be of all units, quantiles and survival were higher, and a density flatter by a quarter.
    """
    generator = np.random.default_rng(7)
    points, time, event = (
        generator.normal(0.5, 0.1, 3000),
        generator.exponential(1, 3000),
        generator.uniform(size=3000) < 0.7,
    )
    gone = generator.uniform(size=3000) < 1 / 3
    with_gaps, kept = np.where(gone, np.nan, points), points[~gone]
    repair = {"invalid": "repair"}
    quantiles = PrivateQuantiles(20, domain=(0, 1), levels=(0.25, 0.5), **repair).fit(with_gaps).release_
    assert quantiles.values == pytest.approx(np.quantile(kept, (0.25, 0.5)), abs=0.01)
    for mechanism in ("histogram", "kernel"):
        density = PrivateDensity(20, domain=(0, 1), mechanism=mechanism)
        whole = density.fit(kept).release_(0.5)
        spread = density.set_params(reading=Reading(**repair)).fit(with_gaps).release_
        assert spread(0.5) == pytest.approx(whole, rel=0.08)
        assert "not how many of them could be used" in " ".join(spread.report().split())
    made = PrivateSurvival(20, domain=(0, 2), cells=12, causes=[True], censored=[False], **repair)
    alone = PrivateSurvival(20, domain=(0, 2), cells=12).fit(time[~gone], event[~gone]).release_
    codes = [None if lost else code for lost, code in zip(gone, event.tolist(), strict=True)]
    survival = made.fit(time, codes).release_
    assert survival([0.5, 1.0, 1.5]) == pytest.approx(alone([0.5, 1.0, 1.5]), abs=0.02)
    assert survival.at_risk(0.0) == pytest.approx(kept.size, rel=0.02)
    for release in (quantiles, spread, survival):
        assert type(release).from_json(release.to_json()).to_json() == release.to_json()
