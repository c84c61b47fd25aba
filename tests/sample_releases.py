"""One small release of every kind that changes what is stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from dpfda import CosineBasis, L1Ball, L2Ball, PrivateMean, ReleasedFunction, ValueBounds
from dpfda.bases import FourierBasis
from dpfda.privacy.certificates import Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours

GRID = np.linspace(0.0, 2.0, 21)
CURVES = np.sin(3 * GRID) + np.random.default_rng(8).normal(0, 0.3, (61, 1))


def certificate_of(guarantee: Guarantee, unit: str = "record") -> Certificate:
    """A certificate of replace-one neighbours for releases that are put together by hand."""
    costs = {"release": Cost(guarantee)}
    bound = {"description": "none"}
    return Certificate.charged(costs, Neighbours.REPLACE_ONE, unit, bound, {"name": "by hand"})


def custom_kernel(s: Any, t: Any) -> Any:
    """A kernel that no file can hold."""
    return np.exp(-np.abs(s - t)) + 0.5 * np.exp(-((s - t) ** 2))


def _fit(**parameters: Any) -> ReleasedFunction:
    made = {
        "epsilon": 1.0,
        "bounds": (-3.0, 3.0),
        "grid_points": GRID,
        "kernel": Matern(0.3, nu=1.5),
        **parameters,
    }
    release: ReleasedFunction = PrivateMean(**made).fit(CURVES).release_
    return release


RELEASES: dict[str, Callable[[], ReleasedFunction]] = {
    "pure": _fit,
    "approximate": lambda: _fit(delta=1e-6, mechanism="gaussian"),
    "process": lambda: _fit(delta=1e-6, mechanism="gaussian-process"),
    "iclp": lambda: _fit(mechanism="iclp", bounds=L1Ball(3.0)),
    "laplace": lambda: _fit(mechanism="laplace", bounds=L2Ball(3.0)),
    "add-remove": lambda: _fit(neighbours="add-remove"),
    "add-remove, public size": lambda: _fit(neighbours="add-remove", public_size=50),
    "curved bounds": lambda: _fit(bounds=ValueBounds(np.sin(GRID) - 2, 2 + GRID**2)),
    "wider domain": lambda: _fit(domain_range=(-0.5, 2.5), quadrature="uniform"),
    "composed kernel": lambda: _fit(kernel=ConstantKernel(2.0) * RBF(0.5) + Matern(0.2, nu=2.5)),
    "standardized": lambda: _fit(
        bounds=None, standardize=True, labels={"domain": "t (h)"}, unit="person"
    ),
    "cosine": lambda: _fit(
        kernel=None, basis=CosineBasis.on_grid(9, GRID, (0.0, 2.0)), bounds=L2Ball(3.0)
    ),
    "cosine, add-remove": lambda: _fit(
        kernel=None, basis=CosineBasis.on_grid(9, GRID), delta=1e-5, neighbours="add-remove"
    ),
    "student-t": lambda: _fit(mechanism="student-t"),
    "l1 estimate": lambda: _fit(mechanism="iclp-l1"),
    "bernstein": lambda: _fit(mechanism="bernstein", kernel=None),
    "fourier": lambda: _fit(kernel=None, basis=FourierBasis.on_grid(7, GRID, (0.0, 2.1))),
    "derivative": lambda: _fit().derivative(),
}
