"""The released function: values, derivatives, integrals; public, immutable, nothing private inside."""

import copy
import dataclasses
import gc
import json
import math
import pickle
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import Domain, PrivateMean
from dpfda.bases import CosineBasis
from dpfda.bounds import L2Ball, ValueBounds
from dpfda.errors import ParameterError
from dpfda.numerics.aggregate import IntegerSum
from dpfda.numerics.encoding import array_from_json
from dpfda.privacy.guarantees import within
from dpfda.publication import MeanPlan, Prepared
from dpfda.records import Curves, LongCurves
from dpfda.releases.bands import limits_of
from dpfda.releases.counts import NoisyCount
from dpfda.releases.function import ReleasedFunction
from dpfda.testing import exact_totals, non_private_mean
from sample_releases import CURVES, GRID, RELEASES


@pytest.fixture(scope="module", params=RELEASES.values(), ids=RELEASES.keys())
def release(request: Any) -> ReleasedFunction:
    made: ReleasedFunction = request.param()
    return made


def joined_count(release: ReleasedFunction) -> NoisyCount | None:
    """The count whose noise is part of that of the sum."""
    divisor = release.divisor
    return divisor if isinstance(divisor, NoisyCount) and divisor.before is not None else None


class TestValues:
    def test_a_number_gives_a_number_and_an_array_an_array(self, release: ReleasedFunction) -> None:
        values = release(GRID)
        assert values.shape == GRID.shape
        assert isinstance(release(0.7), float)
        assert isinstance(release(np.float64(0.7)), float)
        for point, value in zip(GRID, values, strict=True):
            assert math.isclose(release(point), value, rel_tol=1e-9, abs_tol=1e-9)
        assert release([]).shape == (0,)

    def test_the_same_question_has_the_same_answer(self, release: ReleasedFunction) -> None:
        assert release(GRID).tobytes() == release(GRID).tobytes()

    def test_outside_the_domain_it_says_nothing(self, release: ReleasedFunction) -> None:
        low, high = release.domain_range
        for point in (low - 0.01, high + 0.01, [low, high + 1]):
            with pytest.raises(ParameterError, match="A release says nothing outside its domain"):
                release(point)
        with pytest.raises(ParameterError, match="points must be finite"):
            release(math.nan)
        with pytest.raises(ParameterError, match="points must be a number or one-dimensional"):
            release([[0.1], [0.2]])
        assert np.isfinite(release([low, high])).all()

    def test_values_are_centre_plus_shrunk_noisy_mean(self, release: ReleasedFunction) -> None:
        if release.order:
            return
        raw = np.array([int(v) for v in release.noisy_sum], dtype=float) / 2.0**release.exponent
        linear = release.unshrunk
        coefficients = linear.shrinkage * raw / release.count
        if release.synthesis is not None:
            coefficients = release.synthesis @ coefficients
        np.testing.assert_allclose(linear.coefficients, coefficients, rtol=1e-12)
        if release.hierarchy is None:
            np.testing.assert_array_equal(release.coefficients, linear.coefficients)
        found = release.center + release.basis.evaluate(release.grid_points) @ release.coefficients
        if (limits := limits_of(release.certificate.bound, release.grid_points.size)) is not None:
            found = np.clip(found, *limits)
        np.testing.assert_allclose(release(release.grid_points), found, rtol=1e-12, atol=1e-12)

    def test_without_noise_to_speak_of_it_is_the_mean(self) -> None:
        release = PrivateMean(1e9, bounds=(-3, 3), domain=Domain(GRID)).fit(CURVES).release_
        np.testing.assert_allclose(release(GRID), CURVES.mean(axis=0), rtol=0, atol=1e-4)

    def test_values_beyond_the_bounds_were_clipped(self) -> None:
        wild = np.full((50, 21), 1e6)
        release = (
            PrivateMean(1e9, bounds=ValueBounds(-1.0, 2 + GRID), domain=Domain(GRID)).fit(wild).release_
        )
        np.testing.assert_allclose(release(GRID), 2 + GRID, rtol=0, atol=1e-3)


class TestDerivative:
    def test_it_is_the_limit_of_differences(self, release: ReleasedFunction) -> None:
        slope = release.derivative()
        assert slope.order == release.order + 1
        # Between grid points, where the centre and its slope are smooth too.
        at = (GRID[1:] + GRID[:-1]) / 2 + 0.011
        step = 2e-4
        differences = (release(at + step) - release(at - step)) / (2 * step)
        scale = np.abs(differences).max()
        np.testing.assert_allclose(slope(at), differences, rtol=0, atol=2e-3 * scale)

    def test_cosines_are_exact(self) -> None:
        release = RELEASES["cosine"]()
        at = np.linspace(0, 2, 33)
        frequency = np.arange(9) * math.pi / 2
        wave = np.where(frequency == 0, math.sqrt(0.5), 1.0)
        first = -np.sin(at[:, None] * frequency) * frequency * wave
        second = -np.cos(at[:, None] * frequency) * frequency**2 * wave
        kept = release.coefficients.size
        slope = release.derivative()
        np.testing.assert_allclose(slope(at), first[:, :kept] @ release.coefficients, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            slope.derivative()(at), second[:, :kept] @ release.coefficients, rtol=0, atol=1e-11
        )

    def test_it_carries_the_guarantee_and_keeps_the_release(self) -> None:
        release = RELEASES["pure"]()
        before = release(GRID).copy()
        slope = release.derivative()
        assert slope.guarantee == release.guarantee
        assert slope.noisy_sum == release.noisy_sum
        assert np.array_equal(release(GRID), before)
        assert "derivative of order 1" in repr(slope)

    def test_it_integrates_back(self) -> None:
        for name in ("pure", "cosine", "curved bounds", "composed kernel"):
            release = RELEASES[name]()
            slope = release.derivative()
            rise = release(1.9) - release(0.1)
            assert math.isclose(slope.integral(0.1, 1.9), rise, rel_tol=1e-5, abs_tol=1e-6)

    def test_refused_where_the_basis_has_none(self) -> None:
        release = PrivateMean(1.0, bounds=(-3, 3), basis="exponential:0.3").fit(CURVES).release_
        with pytest.raises(ParameterError, match="kernel must be smooth enough for the derivative"):
            release.derivative()


class TestIntegral:
    def test_against_adaptive_quadrature(self, release: ReleasedFunction) -> None:
        low, high = release.domain_range
        inner = [point for point in release.grid_points if low < point < high]
        expected = 0.0
        for a, b in zip([low, *inner], [*inner, high], strict=True):
            expected += quad(release, a, b, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
        assert math.isclose(release.integral(), expected, rel_tol=1e-8, abs_tol=1e-9)

    def test_additive_and_signed(self, release: ReleasedFunction) -> None:
        a, b, c = 0.13, 0.9, 1.77
        parts = release.integral(a, b) + release.integral(b, c)
        assert math.isclose(parts, release.integral(a, c), rel_tol=1e-9, abs_tol=1e-10)
        assert release.integral(c, a) == -release.integral(a, c)
        assert release.integral(b, b) == 0.0

    def test_half_open_calls(self) -> None:
        release = RELEASES["pure"]()
        whole = release.integral(None, 0.5) + release.integral(0.5)
        assert math.isclose(whole, release.integral(), rel_tol=1e-9, abs_tol=1e-10)

    def test_ends_outside_the_domain_are_refused(self, release: ReleasedFunction) -> None:
        with pytest.raises(ParameterError, match="points must lie in the domain"):
            release.integral(0.0, 9.0)


class TestInner:
    def test_with_its_basis_gives_its_coefficients(self) -> None:
        release = RELEASES["cosine"]()
        for j, coefficient in enumerate(release.coefficients):
            found = release.inner(lambda t, j=j: release.basis.evaluate(t)[:, j])
            assert math.isclose(found, coefficient, rel_tol=1e-9, abs_tol=1e-10)

    def test_with_a_kernel_basis_gives_them_to_quadrature(self) -> None:
        grid = np.linspace(0, 2, 201)
        curves = np.sin(3 * grid) + np.zeros((50, 1))
        release = (
            PrivateMean(1.0, bounds=L2Ball(3.0), domain=Domain(grid), basis=RBF(0.3))
            .fit(curves)
            .release_
        )
        found = [
            release.inner(lambda t, j=j: release.basis.evaluate(t)[:, j])
            for j in range(release.coefficients.size)
        ]
        np.testing.assert_allclose(
            found, release.coefficients, rtol=0, atol=2e-3 * np.abs(release.coefficients).max()
        )

    def test_with_one_is_the_integral_and_with_itself_the_square(
        self, release: ReleasedFunction
    ) -> None:
        assert math.isclose(release.inner(np.ones_like), release.integral(), rel_tol=1e-9, abs_tol=1e-10)
        fine = np.linspace(*release.domain_range, 20001)
        square = np.trapezoid(release(fine) ** 2, fine)
        assert math.isclose(release.inner(release), square, rel_tol=1e-4)


class TestImmutability:
    def test_fields_cannot_be_set(self, release: ReleasedFunction) -> None:
        for field in dataclasses.fields(release):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(release, field.name, None)

    def test_arrays_cannot_be_written(self, release: ReleasedFunction) -> None:
        arrays = [release.shrinkage, release.center, release.coefficients, release.grid_points]
        arrays += [release.basis.weights, release.basis.eigenvalues, release.basis.analysis]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0

    def test_mappings_cannot_be_written(self, release: ReleasedFunction) -> None:
        for mapping in (release.certificate.bound, release.certificate.mechanism, release.about):
            with pytest.raises(TypeError, match="does not support item assignment"):
                mapping["x"] = 1  # type: ignore[index]

    def test_values_given_out_are_copies(self, release: ReleasedFunction) -> None:
        first = release(GRID)
        kept = first.copy()
        first[:] = 0.0
        assert np.array_equal(release(GRID), kept)

    def test_the_callers_kernel_may_change(self) -> None:
        kernel = Matern(0.3, nu=1.5)
        release = (
            PrivateMean(1.0, bounds=(-3, 3), domain=Domain(GRID), basis=kernel).fit(CURVES).release_
        )
        before = release(GRID + 0.0)
        kernel.length_scale = 9.0
        assert np.array_equal(release(GRID), before)

    def test_copies_and_pickles_are_equal(self, release: ReleasedFunction) -> None:
        for again in (copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))):  # noqa: S301
            assert np.array_equal(again(GRID), release(GRID))
            assert again.guarantee == release.guarantee
            assert dict(again.about) == dict(release.about)
            with pytest.raises(TypeError, match="does not support item assignment"):
                again.about["x"] = 1  # type: ignore[index]


class TestWords:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("pure", "1-differential privacy (pure)"),
            ("pure", "differ in one record (the number of records is public)"),
            ("pure", "privacy unit: record"),
            ("pure", "values clipped to [-3, 3]"),
            ("pure", "Matern(length_scale=0.3, nu=1.5)"),
            ("pure", "cells: K-norm noise of a box"),
            ("approximate", "(1, 1e-06)-differential privacy"),
            ("approximate", "gaussian: Gaussian noise"),
            ("iclp", "l1 ball of radius 3"),
            ("iclp", "iclp: independent Laplace noise"),
            ("laplace", "L2 norm of at most 3"),
            ("add-remove", "one record more (the number of records is private)"),
            ("standardized", "differ in one person (the number of persons is public)"),
            ("standardized", "privacy unit: person"),
            ("curved bounds", "values clipped between two public curves"),
            ("cosine", "cosine basis"),
            ("wider domain", "[-0.5, 2.5]"),
        ],
    )
    def test_repr_states(self, name: str, words: str) -> None:
        assert words in repr(RELEASES[name]())

    def test_repr_names_every_part(self, release: ReleasedFunction) -> None:
        for part in ("guarantee:", "neighbours:", "privacy unit:", "bound:", "kernel:", "mechanism:"):
            assert repr(release).count(part) == 1

    def test_groups_name_the_unit(self) -> None:
        fitted = PrivateMean(1.0, bounds=(-3, 3)).fit(CURVES, groups=np.arange(61) // 2)
        assert "privacy unit: group" in repr(fitted.release_)
        assert fitted.release_.count == 31

    def test_the_achieved_guarantee_is_within_the_charged_one(self, release: ReleasedFunction) -> None:
        assert within(release.certificate.achieved, release.guarantee)
        assert release.certificate.achieved.epsilon > release.guarantee.epsilon * (1 - 1e-6)


class TestFrame:
    def test_values_and_band_on_the_grid(self, release: ReleasedFunction) -> None:
        frame = release.to_frame(0.9)
        # Simultaneous over the whole domain, as every table is.
        everywhere = np.union1d(np.linspace(*release.domain_range, 201), release.grid_points)
        band = release.band(0.9, points=np.concatenate([release.grid_points, everywhere]))
        assert list(frame.columns) == ["point", "value", "lower", "upper"]
        assert np.array_equal(frame["point"], release.grid_points)
        np.testing.assert_allclose(frame["value"], release(release.grid_points), rtol=1e-12)
        count = release.grid_points.size
        assert np.array_equal(frame["lower"], band.lower[:count])
        assert np.array_equal(frame["upper"], band.upper[:count])


# ---------------------------------------------------------------------------- nothing private inside


def reachable(root: Any) -> Iterator[Any]:
    """Everything that can be reached from an object, but for modules, classes and code."""
    stack, seen = [root], set()
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, types.ModuleType | type | types.CodeType):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, types.FunctionType):
            # Not its globals, which lead to the whole library, but all that it closes over.
            stack += [
                *(item.__closure__ or ()),
                *(item.__defaults__ or ()),
                item.__kwdefaults__,
                vars(item),
            ]
        elif isinstance(item, np.ndarray):
            stack.append(item.base)
            if item.dtype == object:
                stack += list(item.ravel())
        elif isinstance(item, types.MappingProxyType):
            stack.append(dict(item))
        else:
            stack += gc.get_referents(item)
            if hasattr(item, "__dict__"):
                stack.append(vars(item))
            slots = getattr(type(item), "__slots__", ())
            stack += [getattr(item, name) for name in slots if hasattr(item, name)]


def numbers_in(item: Any) -> Iterator[float]:
    if isinstance(item, bool | np.bool_):
        return
    if isinstance(item, int | float | np.number):
        yield float(item)
    elif isinstance(item, np.ndarray) and item.dtype.kind in "fiu":
        yield from item.ravel().astype(float)
    elif isinstance(item, memoryview | bytes | bytearray) and len(item) % 8 == 0:
        yield from np.frombuffer(item, dtype=np.float64)


def found_in(root: Any, private: set[float]) -> set[float]:
    return {number for item in reachable(root) for number in numbers_in(item) if number in private}


# An unusual prime, so that nothing else equals the count by chance.
COUNT = 1237
RANDOM = np.random.default_rng(99)
SECRET = 40 + RANDOM.normal(0, 1, (COUNT, 11)) + RANDOM.normal(0, 5, (COUNT, 1))
NAMES = np.array([f"patient-{code:06d}" for code in RANDOM.permutation(COUNT)])

SETTINGS: dict[str, dict[str, Any]] = {
    "pure": {},
    "approximate": {"delta": 1e-6},
    "iclp": {"mechanism": "iclp"},
    "laplace": {"mechanism": "laplace"},
    "l2 ball": {"bounds": L2Ball(60.0)},
    "add-remove": {"neighbours": "add-remove"},
    "add-remove, approximate": {"neighbours": "add-remove", "delta": 1e-6},
    "add-remove, public size": {"neighbours": "add-remove", "public_size": 1000},
    "standardized": {"standardize": True, "bounds": None},
    "cosine": {"basis": CosineBasis.on_grid(6, np.linspace(0, 1, 11))},
    "repair": {"invalid": "repair", "missing": "complete"},
}


class Case:
    """A fitted estimator, used in every way, and the numbers that nobody may find in it."""

    def __init__(self, parameters: dict[str, Any], layout: str) -> None:
        made = {"epsilon": 1.0, "bounds": (0.0, 100.0), "domain_range": (0.0, 1.0), **parameters}
        data: Any = SECRET
        groups: Any = NAMES
        if layout == "long":
            times = np.tile(np.linspace(0, 1, 11), COUNT)
            data = LongCurves(np.repeat(NAMES, 11), times, SECRET.ravel())
            groups = None
            made |= {"nugget": 0.01, "missing": "complete"}
        prepared = PrivateMean(**made).prepare(data, groups)
        self.prepared = prepared
        self.estimator = PrivateMean(**made).fit(data, groups=groups)
        self.release = self.estimator.release_
        self.measured = prepared.total
        if (counted := joined_count(self.release)) is not None:
            # Cells follow the rough count that was released with this function.
            design = prepared.plan.design(max(1, round(counted.before.value)))
            self.measured = prepared.plan.measure(prepared.total, design)
        self.exact = [total for total in exact_totals(prepared.total) if total != 0]
        self.exact += [total for total in exact_totals(self.measured) if total not in (0, *self.exact)]
        self.private = self._private(prepared, PrivateMean(**made), data, groups)
        self.release(0.3), self.release.band(0.9), self.release.band(0.9, simultaneous=False)
        self.release.to_frame(), self.release.integral(), repr(self.release), repr(self.estimator)
        self.release.inner(np.cos), self.release.coefficients

    def _private(self, prepared: Any, estimator: Any, data: Any, groups: Any) -> set[float]:
        unit, count = prepared.plan.ball.step, prepared.total.count_with_noise(0, 1)
        sums = np.array(self.exact, dtype=float)
        kept = len(self.release.noisy_sum)
        means = sums * unit / count
        curves = [np.asarray(non_private_mean(estimator, data, groups))]
        private = [
            SECRET.ravel(),
            SECRET.mean(axis=0),
            SECRET.sum(axis=0),
            sums,
            sums * unit,
            means,
            *curves,
        ]
        if len(self.exact) == prepared.total.components:
            private.append(self.release.shrinkage * means[:kept])
        noisy = np.array([float(v) for v in self.release.noisy_sum])
        private.append(noisy - np.array(exact_totals(self.measured)[:kept], dtype=float))
        if (counted := joined_count(self.release)) is not None:
            private.append(np.array([counted.noisy - count * 2.0**20]))
        return {float(v) for values in private for v in values if v not in (0.0, 1.0)}


LAYOUTS = [(name, "wide") for name in SETTINGS]
LAYOUTS += [(name, "long") for name in ("pure", "add-remove", "standardized")]


@pytest.fixture(scope="module", params=LAYOUTS, ids="-".join)
def case(request: Any) -> Case:
    setting, layout = request.param
    return Case(SETTINGS[setting], layout)


class TestNothingPrivateInside:
    def test_the_search_finds_what_is_planted(self, case: Case) -> None:
        value = float(SECRET[3, 4])
        hidden = [SECRET[3:5].T[4:6].copy()[1:]]

        def closure() -> Any:
            return hidden

        assert found_in([case.release, {"deep": (closure,)}], {float(SECRET[3, 5])})
        assert not found_in([case.release], {value})
        assert found_in(case.prepared, case.private)

    def test_no_number_of_the_data_can_be_reached(self, case: Case) -> None:
        assert len(case.private) > COUNT
        assert found_in(case.release, case.private) == set()
        assert found_in(case.estimator, case.private) == set()

    def test_no_private_object_can_be_reached(self, case: Case) -> None:
        kinds = (IntegerSum, Prepared, MeanPlan, Curves, LongCurves)
        assert not [item for item in reachable(case.estimator) if isinstance(item, kinds)]
        assert any(isinstance(item, IntegerSum) for item in reachable(case.prepared))

    def test_no_label_can_be_reached(self, case: Case) -> None:
        names = set(NAMES)
        assert not [i for i in reachable(case.estimator) if isinstance(i, str) and i in names]
        assert "patient" not in json.dumps(case.release.to_json())

    def test_the_file_holds_none_of_it(self, case: Case, tmp_path: Path) -> None:
        text = case.release.save(tmp_path / "release.json").read_text()
        written = json.loads(text)
        assert found_in(written, case.private) == set()
        for item in reachable(written):
            if isinstance(item, dict) and "float64_base64" in item:
                assert found_in(array_from_json(item), case.private) == set()
        integers = {int(number) for number in re.findall(r"-?\d+", text)}
        assert not integers & set(case.exact)
        assert set(case.release.noisy_sum) <= integers

    def test_the_count_is_there_only_where_it_is_public(self, case: Case, tmp_path: Path) -> None:
        request = case.prepared.plan
        text = case.release.save(tmp_path / "release.json").read_text()
        tokens = {float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", text)}
        scaled = {float(COUNT), float(COUNT * 2**20)}
        if request.neighbours == "replace-one":
            # Public here, which also shows that the search finds a count.
            assert found_in(case.release, scaled) == {float(COUNT)}
            assert float(COUNT) in tokens
        else:
            assert found_in(case.release, scaled) == set()
            assert found_in(case.estimator, scaled) == set()
            assert not tokens & scaled
            assert case.release.count != COUNT

    def test_every_component_got_noise(self, case: Case) -> None:
        exact = exact_totals(case.measured)[: len(case.release.noisy_sum)]
        assert all(a != b for a, b in zip(case.release.noisy_sum, exact, strict=True))
