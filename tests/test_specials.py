"""The few special functions that are not taken from SciPy, against SciPy's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.special

from dpfda.numerics.specials import (
    gamma_chance,
    gamma_ends,
    gamma_quantile,
    normal_chance,
    normal_quantile,
    scaled_erfc,
    student_quantile,
)


def test_scaled_erfc_is_that_of_scipy() -> None:
    places = np.concatenate([np.linspace(-26, 60, 3001), [1e3, 1e8]])
    np.testing.assert_allclose(scaled_erfc(places), scipy.special.erfcx(places), rtol=1e-12)
    assert scaled_erfc(np.array([-30.0, -1e9])).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("shape", [1, 2, 13, 400])
def test_gamma_numbers_are_those_of_scipy(shape: int) -> None:
    assert gamma_chance(shape, 0.0) == 0
    for chance in (0.001, 0.5, 0.95, 0.9999):
        quantile = scipy.special.gammaincinv(shape, chance)
        assert gamma_quantile(shape, chance) == pytest.approx(quantile, rel=1e-9)
        assert gamma_chance(shape, quantile) == pytest.approx(chance, abs=1e-11)


@pytest.mark.parametrize("shape", [0.5, 1, 1.5, 4, 12.5, 100, 1000.5, 20_000])
def test_the_ends_of_gamma_numbers_are_those_of_scipy(shape: float) -> None:
    low, high = gamma_ends(shape, 1e-9)
    assert low == pytest.approx(scipy.special.gammaincinv(shape, 1e-9), rel=1e-12)
    assert high == pytest.approx(scipy.special.gammainccinv(shape, 1e-9), rel=1e-12)


def test_normal_numbers_are_those_of_scipy() -> None:
    places = np.concatenate([np.linspace(-37, 9, 2001), [-np.inf, np.inf, 0.0]])
    np.testing.assert_allclose(normal_chance(places), scipy.special.ndtr(places), rtol=1e-12)
    chances = np.concatenate([np.geomspace(1e-300, 0.5, 500), 1 - np.geomspace(1e-15, 0.5, 500)])
    np.testing.assert_allclose(normal_quantile(chances), scipy.special.ndtri(chances), rtol=1e-12)
    assert np.all(np.isfinite(normal_quantile(np.array([0.0, 1.0]))))
    assert float(normal_quantile(0.5)) == 0.0


@pytest.mark.parametrize(
    "words", [["plan", "--units", "50", "--epsilon", "1", "--bounds", "0", "1"], ["--help"]]
)
def test_a_small_plan_loads_no_scipy(words: list[str]) -> None:
    code = (
        "import sys\nfrom dpfda.front import main\n"
        f"sys.argv = ['dpfda', *{words!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('scipy.special', 'scipy.linalg', 'numba') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own words
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("freedom", [1, 1.5, 2.5, 7.5, 40])
def test_quantiles_of_student_are_those_of_scipy(freedom: float) -> None:
    for chance in (0.5, 0.9, 0.975, 0.995):
        known = scipy.stats.t.ppf(chance, freedom)
        assert student_quantile(chance, freedom) == pytest.approx(known, rel=1e-11, abs=1e-11)
