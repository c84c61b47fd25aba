"""scikit-fda itself: its functional data in, releases out, its estimates as the limit without noise."""

import warnings

import numpy as np
import pytest

from dpfda import (
    Domain,
    PrivateComparison,
    PrivateCovariance,
    PrivateDensity,
    PrivateFPCA,
    PrivateMean,
    Reading,
)
from dpfda.bases import BoxBasis
from dpfda.errors import DataError, ParameterError
from dpfda.records.frames import Container
from dpfda.releases.pooled_mean import ReleasedPooledMean
from dpfda.testing import exact_totals

with warnings.catch_warnings():
    # Of packages below it.
    warnings.simplefilter("ignore")
    skfda = pytest.importorskip("skfda")
    from skfda.preprocessing.dim_reduction import FPCA
    from skfda.representation.basis import BSplineBasis, CustomBasis, FourierBasis

RNG = np.random.default_rng(5)
GRID = np.linspace(0, 10, 41)
COUNT = 60
SCORES = RNG.uniform(-0.5, 0.5, size=(COUNT, 3)) * [1.0, 0.6, 0.3]
CURVES = np.sin(GRID) + SCORES @ np.cos(np.outer([1, 2, 3], np.pi * GRID / 10))
DATA = skfda.FDataGrid(
    CURVES,
    GRID,
    domain_range=(-1, 11),
    argument_names=("hours",),
    coordinate_names=("temperature",),
    sample_names=[f"person {i // 2}" for i in range(COUNT)],
)
SPLINES = DATA.restrict((0, 10)).to_basis(BSplineBasis(n_basis=15, domain_range=(0, 10)))
SURFACES = skfda.FDataGrid(RNG.uniform(size=(COUNT, 6, 8)), [np.arange(6.0), np.linspace(0, 1, 8)])


def mean(**parameters):
    return PrivateMean(1e6, bounds=(-3, 3), **parameters)


class TestIn:
    def test_a_grid_and_its_domain(self):
        prepared = mean().prepare(DATA)
        assert prepared.plan.basis.domain_range == (-1.0, 11.0)
        assert prepared.plan.basis.grid_points.tolist() == GRID.tolist()
        plain = mean(grid_points=GRID, domain_range=(-1, 11)).prepare(CURVES)
        assert exact_totals(plain.total) == exact_totals(prepared.total)

    def test_names_of_variables_and_values(self):
        for estimator in (
            mean(),
            PrivateCovariance(1.0, bounds=(-3, 3), center="private"),
            PrivateFPCA(1.0, bounds=(-3, 3), center="private", n_components=1),
        ):
            about = estimator.fit(DATA).release_.about
            assert about["domain"] == "hours"
            assert about["value"] == "temperature"
        stated = mean(domain=Domain(labels={"domain": "hour of the day"})).fit(DATA).release_
        assert stated.about["domain"] == "hour of the day"
        assert stated.about["value"] == "temperature"
        groups = PrivateComparison(1.0, bounds=(-3, 3)).fit(DATA, ["a", "b"] * (COUNT // 2)).release_
        assert groups.to_fdatagrid().argument_names == ("hours",)
        surfaces = skfda.FDataGrid(
            SURFACES.data_matrix, SURFACES.grid_points, argument_names=("row", "column")
        )
        assert mean().fit(surfaces).release_.to_fdatagrid().argument_names == ("row", "column")

    def test_names_of_samples_are_units_where_asked_for(self):
        assert mean().prepare(DATA).plan.size == COUNT
        assert mean().prepare(DATA, groups="sample_names").plan.size == COUNT // 2
        with pytest.raises(ParameterError, match="'sample_names' for functional data"):
            mean().prepare(DATA, groups="person")

    def test_functions_in_a_basis_are_evaluated_on_a_public_grid(self):
        handed = Container(SPLINES).curves(GRID)
        np.testing.assert_allclose(handed.values, SPLINES(GRID)[..., 0], rtol=0, atol=1e-12)
        default = mean().prepare(SPLINES).plan.basis
        assert default.grid_points.size == 101
        assert default.domain_range == (0.0, 10.0)

    @pytest.mark.parametrize("basis", [BSplineBasis(n_basis=15), FourierBasis(n_basis=7)])
    def test_a_function_in_a_basis_depends_on_its_own_coefficients_alone(self, basis):
        for count in (2, 3, 17, 64):
            coefficients = RNG.normal(size=(count, basis.n_basis))
            other = coefficients.copy()
            other[1] = RNG.choice([np.nan, np.inf, 1e308, 5e-324], size=basis.n_basis)
            one, two, few = (
                Container(skfda.FDataBasis(basis, rows)).curves().values
                for rows in (coefficients, other, coefficients[[0, 1]])
            )
            kept = np.arange(count) != 1
            assert one[kept].tobytes() == two[kept].tobytes()
            assert one[:2].tobytes() == few.tobytes()

    def test_a_basis_made_of_data_is_refused(self):
        made = skfda.FDataBasis(CustomBasis(fdata=DATA[:3]), np.ones((5, 3)))
        with pytest.raises(DataError, match="made of the records"):
            mean().fit(made)

    def test_irregular_data_are_observations_and_their_span_is_private(self):
        irregular = skfda.FDataIrregular.from_fdatagrid(DATA)
        with pytest.raises(ParameterError, match="span of the observed times is private"):
            mean().fit(irregular)
        release = mean(domain=(0, 10), reading=Reading("complete", nugget=1e-5)).fit(irregular).release_
        np.testing.assert_allclose(release(GRID), CURVES.mean(axis=0), rtol=0, atol=0.01)
        assert isinstance(mean(domain=(0, 10)).fit(irregular).release_, ReleasedPooledMean)

    def test_a_record_without_observations_is_one_still(self):
        times, values = np.array([0.0, 5.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
        irregular = skfda.FDataIrregular([0, 2, 4], times, values)
        assert irregular.n_samples == 3
        prepared = mean(domain=(0, 10), reading=Reading("complete", "repair")).prepare(irregular)
        assert prepared.plan.size == 3
        with pytest.raises(DataError, match="row 4"):
            mean(domain=(0, 10)).fit(irregular)

    @pytest.mark.parametrize("missing", ["refuse", "complete"])
    def test_units_of_irregular_data_are_of_records(self, missing):
        irregular = skfda.FDataIrregular.from_fdatagrid(DATA, sample_names=DATA.sample_names)
        for groups in ("sample_names", [f"who {i // 2}" for i in range(COUNT)]):
            estimator = mean(domain=(0, 10), reading=Reading(missing=missing))
            release = estimator.fit(irregular, groups=groups).release_
            assert release.unit == "group"
            assert release.public_units == COUNT // 2
        with pytest.raises(DataError, match="one label a record"):
            mean(domain=(0, 10)).fit(irregular, groups=[1, 2])

    def test_irregular_data_of_groups_are_refused(self):
        irregular = skfda.FDataIrregular.from_fdatagrid(DATA)
        comparison = PrivateComparison(1.0, bounds=(-3, 3), domain=(0, 10))
        with pytest.raises(DataError, match="group of each observation"):
            comparison.fit(irregular, [0, 1] * (COUNT // 2))

    def test_surfaces(self):
        prepared = mean().prepare(SURFACES)
        basis = prepared.plan.basis
        assert basis.shape == (6, 8)
        np.testing.assert_allclose(basis.domain_range, [(-0.5, 5.5), (-1 / 14, 15 / 14)])
        for found, points in zip(basis.grid_points, SURFACES.grid_points, strict=True):
            np.testing.assert_allclose(found, points, atol=1e-12)
        images = mean(basis=basis).prepare(SURFACES.data_matrix[..., 0])
        assert exact_totals(images.total) == exact_totals(prepared.total)

    def test_surfaces_elsewhere_are_refused(self):
        with pytest.raises(ParameterError, match="be on the grid of the basis"):
            mean(basis=BoxBasis.on_grid("cosine", (6, 8), [(0, 1), (0, 1)])).fit(SURFACES)
        unequal = skfda.FDataGrid(RNG.uniform(size=(9, 3, 3)), [[0, 1, 3], [0, 1, 2]])
        with pytest.raises(ParameterError, match="unequal steps"):
            mean().fit(unequal)
        with pytest.raises(DataError, match="functions of 2 variables"):
            PrivateCovariance(1.0, bounds=(0, 1), center="private").fit(SURFACES)

    def test_vectors_are_refused(self):
        with pytest.raises(DataError, match=r"found 2.*fd.coordinates\[0\]"):
            mean().fit(skfda.concatenate([DATA, DATA], as_coordinates=True))

    def test_blocks_are_on_one_grid(self):
        estimator = mean().partial_fit(DATA[:30])
        with pytest.raises(ParameterError, match="found 41 other points"):
            estimator.partial_fit(DATA[30:].to_grid(GRID + 0.1))
        assert estimator.partial_fit(DATA[30:]).finish().release_.count == COUNT


class TestOut:
    def test_the_mean_with_its_names(self):
        labels = {"domain": "hour", "value": "°C"}
        release = mean(domain=Domain(labels=labels)).fit(DATA).release_
        found = release.to_fdatagrid()
        assert found.argument_names == ("hour",)
        assert found.coordinate_names == ("°C",)
        assert found.domain_range == ((-1.0, 11.0),)
        assert np.array_equal(found.data_matrix[0, :, 0], release(GRID))
        fine = np.linspace(0, 1, 5)
        assert np.array_equal(release.to_fdatagrid(fine).data_matrix[0, :, 0], release(fine))
        assert mean().fit(found.concatenate(found)).release_.domain_range == (-1.0, 11.0)

    def test_a_basis(self):
        release = mean().fit(DATA).release_
        found = release.to_basis(BSplineBasis(n_basis=25, domain_range=(-1, 11)))
        assert isinstance(found, skfda.FDataBasis)
        np.testing.assert_allclose(found(GRID)[0, :, 0], release(GRID), rtol=0, atol=0.01)

    def test_other_kinds(self):
        covariance = PrivateCovariance(1e6, bounds=(-3, 3), center="private").fit(DATA).release_
        np.testing.assert_allclose(
            covariance.to_fdatagrid().data_matrix[0, ..., 0], covariance.on_grid(), rtol=0, atol=1e-12
        )
        with pytest.raises(ParameterError, match="be of one variable"):
            covariance.to_basis(BSplineBasis(n_basis=5))
        groups = PrivateComparison(1e6, bounds=(-3, 3)).fit(DATA, ["a", "b"] * (COUNT // 2)).release_
        assert groups.to_fdatagrid().sample_names == ("a", "b")
        surface = mean().fit(SURFACES).release_
        np.testing.assert_allclose(
            surface.to_fdatagrid().data_matrix[0, ..., 0], surface.on_grid(), rtol=0, atol=1e-12
        )
        density = PrivateDensity(1.0, domain=(0, 1)).fit(RNG.uniform(size=300)).release_
        np.testing.assert_allclose(density.to_fdatagrid().integrate(), 1.0, atol=0.01)


class TestLimits:
    """Without noise to speak of, the estimates are scikit-fda's."""

    def test_mean(self):
        for data in (DATA, SPLINES):
            release = mean().fit(data).release_
            np.testing.assert_allclose(release(GRID), data.mean()(GRID)[0, :, 0], rtol=0, atol=2e-3)

    def test_covariance(self):
        data = DATA.restrict((0, 10))
        release = PrivateCovariance(1e6, bounds=(-3, 3), center="private").fit(data).release_
        usual = data.cov()(GRID, GRID) * (COUNT - 1) / COUNT
        np.testing.assert_allclose(
            release.on_grid(GRID), np.squeeze(usual), rtol=0, atol=0.03 * np.max(usual)
        )

    def test_components_and_scores(self):
        data = DATA.restrict((0, 10))
        usual = FPCA(n_components=2).fit(data)
        fitted = PrivateFPCA(1e6, bounds=(-3, 3), center="private", n_components=2).fit(data)
        found, wanted = fitted.components_, usual.components_.data_matrix[..., 0]
        signs = np.sign(np.sum(found * wanted, axis=1))
        np.testing.assert_allclose(found * signs[:, None], wanted, rtol=0, atol=0.03)
        variance = usual.explained_variance_ * (COUNT - 1) / COUNT
        np.testing.assert_allclose(fitted.explained_variance_, variance, rtol=0.02)
        scores = usual.transform(data) * signs
        for form in (data, data.to_basis(BSplineBasis(n_basis=25, domain_range=(0, 10)))):
            np.testing.assert_allclose(fitted.transform(form), scores, rtol=0, atol=0.03)
        with pytest.raises(ParameterError, match="be on the grid of the basis"):
            fitted.transform(data.to_grid(np.linspace(1, 9, 41)))
