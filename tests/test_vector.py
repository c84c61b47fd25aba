"""Curves with several values at every point: one budget, one charge, one function."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from dpfda import PrivateMean, PrivateVectorMean, Reading, load
from dpfda.errors import BudgetError, DataError, ParameterError
from dpfda.privacy.guarantees import ApproximateDP, PureDP, ZeroConcentratedDP, added
from dpfda.privacy.ledger import MemoryLedger
from dpfda.publication.together import equal_share
from dpfda.testing import check_release
from sample_releases import KINDS

with warnings.catch_warnings():
    # Of packages below it.
    warnings.simplefilter("ignore")
    skfda = pytest.importorskip("skfda")

RNG = np.random.default_rng(2)
GRID = np.linspace(0, 1, 15)
PATHS = np.stack([np.sin(3 * GRID), np.cos(3 * GRID), GRID], axis=-1) + RNG.uniform(
    -0.2, 0.2, size=(60, 1, 3)
)
BOUNDS = [(-1.5, 1.5), (-2, 2), (-0.5, 1.5)]
NAMES = ["x", "y", "z"]


def vector(epsilon=3.0, **parameters):
    return PrivateVectorMean(epsilon, **{"bounds": BOUNDS, "channels": NAMES, **parameters})


@pytest.mark.parametrize(
    "whole",
    [PureDP(1), ApproximateDP(1, "1e-6"), ZeroConcentratedDP("0.3")],
)
def test_shares_add_up_exactly(whole):
    assert added([equal_share(whole, 7)] * 7) == whole


class TestGuarantee:
    @pytest.mark.parametrize("budget", [{"epsilon": 3}, {"epsilon": None, "rho": Fraction(3, 4)}])
    def test_each_channel_has_the_noise_of_its_share(self, budget):
        release = vector(**budget).fit(PATHS).release_
        share = {name: None if value is None else Fraction(value) / 3 for name, value in budget.items()}
        for name, bound, channel in zip(NAMES, BOUNDS, np.moveaxis(PATHS, 2, 0), strict=True):
            alone = PrivateMean(**share, bounds=bound).fit(channel).release_
            assert release[name].noise == alone.noise
            assert release[name].guarantee == alone.guarantee
        assert release.guarantee == added([release[name].guarantee for name in NAMES])
        asked = PureDP(3) if "rho" not in budget else ZeroConcentratedDP("3/4")
        assert release.guarantee == asked

    def test_one_charge_pays_for_all(self):
        ledger = MemoryLedger()
        ledger.create("paths", PureDP(3), unit="record")
        release = vector(ledger=ledger.of("paths")).fit(PATHS).release_
        assert release.certificate.stages == ("x: release", "y: release", "z: release")
        with pytest.raises(BudgetError):
            vector(0.01, ledger=ledger.of("paths")).fit(PATHS)

    def test_sums_are_those_of_the_channels(self):
        release = vector(1e7).fit(PATHS).release_
        np.testing.assert_allclose(release(GRID), PATHS.mean(axis=0), rtol=0, atol=1e-2)
        assert release(0.5).shape == (3,)

    def test_units(self):
        release = vector().fit(PATHS, groups=np.arange(60) // 2).release_
        assert release.public_units == 30
        assert release.unit == "group"


class TestRelease:
    @pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
    def test_it_is_a_release_like_others(self, neighbours, tmp_path):
        release = vector(neighbours=neighbours).fit(PATHS).release_
        check_release(release)
        again = load(release.save(tmp_path / "paths.json"))
        assert np.array_equal(again(GRID), release(GRID))
        assert again.names == ("x", "y", "z")

    def test_bands_hold_together(self):
        release = vector().fit(PATHS).release_
        for name, band in release.bands(0.94).items():
            alone = release[name].band(0.98)
            np.testing.assert_allclose(band.upper, alone.upper, atol=0.1)
            assert np.all(band.lower <= release[name](band.points))
        (line, *others) = release.view().lines
        assert [line.label, *(other.label for other in others)] == NAMES
        assert line.band == others[0].band

    def test_parts_of_other_releases_are_refused(self):
        one, other = (vector().fit(PATHS).release_ for _ in range(2))
        with pytest.raises(ParameterError, match="be released together"):
            type(one)({**one.means, "x": other["x"]}, one.certificate)


class TestDoors:
    def test_functional_data_in_and_out(self):
        data = skfda.FDataGrid(PATHS, 10 * GRID, coordinate_names=NAMES, argument_names=["time"])
        fitted = PrivateVectorMean(1e7, bounds=(-2, 2)).fit(data)
        release = fitted.release_
        assert release.names == ("x", "y", "z")
        assert release.domain_range == (0, 10)
        out = release.to_fdatagrid()
        assert out.data_matrix.shape == (1, 15, 3)
        assert out.coordinate_names == ("x", "y", "z")
        assert out.argument_names == ("time",)
        # A picture of all does not bear the name of the first.
        assert release.value_label == "value"
        assert release["y"].value_label == "y"
        np.testing.assert_allclose(out.data_matrix, data.mean().data_matrix, rtol=0, atol=1e-2)

    @pytest.mark.parametrize(
        "paths",
        [
            xr.DataArray(PATHS, dims=("who", "t", "axis"), coords={"axis": NAMES}),
            {name: pd.DataFrame(PATHS[..., i]) for i, name in enumerate(NAMES)},
            {name: PATHS[..., i].tolist() for i, name in enumerate(NAMES)},
        ],
        ids=["labelled", "frames", "lists"],
    )
    def test_names_come_with_the_data(self, paths):
        release = PrivateVectorMean(1e7, bounds=BOUNDS).fit(paths).release_
        assert release.names == ("x", "y", "z")
        at = release.grid_points
        np.testing.assert_allclose(release(at), PATHS.mean(axis=0), rtol=0, atol=1e-2)

    def test_a_record_is_unusable_in_the_channel_where_it_is(self):
        lost = PATHS.copy()
        lost[0, 3, 1] = np.nan
        with pytest.raises(DataError, match="row 0, column 3"):
            vector().fit(lost)
        vector(reading=Reading(invalid="repair")).fit(lost)

    @pytest.mark.parametrize(
        ("paths", "parameters", "words"),
        [
            (PATHS[..., 0], {}, "curves, points, channels"),
            (PATHS, {"channels": ["x", "x", "y"]}, "3 different names"),
            (PATHS, {"bounds": BOUNDS[:2]}, "one a channel"),
            ({"x": PATHS[..., 0], "y": PATHS[1:, :, 1]}, {"channels": None}, "same records"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, paths, parameters, words):
        with pytest.raises((DataError, ParameterError), match=words):
            vector(**parameters).fit(paths)


def test_a_table_has_the_band_of_every_channel():
    release = KINDS["several values"]()
    table = release.table(level=0.9).columns
    for name, band in release.bands(0.9, release.band_points()[:, 0]).items():
        at = np.searchsorted(band.points, table["point"])
        np.testing.assert_allclose(table[f"{name}, lower"], band.lower[at])
        assert (table[f"{name}, lower"] < table[name]).all()
        assert (table[name] < table[f"{name}, upper"]).all()
