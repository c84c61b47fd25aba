"""Speed of the main job, to run with: pytest benchmarks --benchmark-only."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from dpfda import PrivateMean, Reading
from dpfda.bases import KernelBasis
from dpfda.noise import GaussianNoise, KNormNoise


def curves_like_dti() -> np.ndarray:
    """376 smooth curves on 93 points: the size of the diffusion tensor imaging data."""
    generator = np.random.default_rng(0)
    grid = np.linspace(0, 1, 93)
    modes = np.cos(np.pi * np.outer(np.arange(8), grid)) / (1 + np.arange(8))[:, None] ** 2
    return 0.5 + 0.1 * generator.standard_normal((376, 8)) @ modes


@pytest.mark.parametrize("mechanism", ["knorm", "iclp", "laplace"])
def test_private_mean_end_to_end(benchmark, mechanism):
    """One release with exact noise, kernel eigenbasis included."""
    curves = curves_like_dti()
    mean = PrivateMean(
        1.0, reading=Reading(standardize=True), basis=Matern(0.1, nu=1.5), mechanism=mechanism
    )
    benchmark(mean.fit, curves)


@pytest.mark.parametrize("points", [100, 200, 500])
@pytest.mark.parametrize("kernel", [Matern(0.1, nu=1.5), RBF(0.1)], ids=["matern32", "rbf"])
def test_basis_construction(benchmark, kernel, points):
    """Eigenbasis of a kernel on an equally spaced grid."""
    benchmark(KernelBasis.on_grid, kernel, np.linspace(0, 1, points))


@pytest.mark.parametrize("components", [100, 1000])
@pytest.mark.parametrize("law", ["laplace", "block", "gaussian"])
def test_exact_noise(benchmark, law, components):
    """One exact draw on many coefficients."""
    scale = 2**30
    noise = {
        "laplace": KNormNoise((1,) * components, (scale,) * components),
        "block": KNormNoise((components,), (scale,)),
        "gaussian": GaussianNoise((scale,) * components),
    }[law]
    benchmark(noise.draw)
