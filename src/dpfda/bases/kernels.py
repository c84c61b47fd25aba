"""Covariance kernels: calling them, writing them down, their smoothness."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dpfda.bases.matern import (
    POLYNOMIALS,
    RBF,
    MaternSum,
    MaternTerm,
    is_scikit_learn_kernel,
    matern_terms,
)
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, number
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel

KernelFunction = Callable[[Floats, Floats], Floats]


@cache
def _parameters() -> dict[type[object], tuple[str, ...]]:
    """Kernels whose parameters are numbers or kernels: written down by name, never by import path."""
    from sklearn.gaussian_process import kernels as sk

    return {
        sk.Matern: ("length_scale", "nu"),
        sk.RBF: ("length_scale",),
        sk.RationalQuadratic: ("length_scale", "alpha"),
        sk.ExpSineSquared: ("length_scale", "periodicity"),
        sk.ConstantKernel: ("constant_value",),
        sk.Sum: ("k1", "k2"),
        sk.Product: ("k1", "k2"),
        sk.Exponentiation: ("kernel", "exponent"),
    }


def parse_kernel(text: str, domain_range: tuple[float, float]) -> MaternSum | Kernel:
    """Read ``matern:RANGE:NU``, ``rbf:RANGE`` or ``exponential:RANGE``.

    RANGE is in units of the domain, or a percentage of its length (``matern:10%:1.5``).
    """
    name, *numbers = text.split(":")
    expected = {"matern": 2, "rbf": 1, "exponential": 1}
    if expected.get(name) != len(numbers):
        raise ParameterError(
            "kernel",
            "be matern:RANGE:NU, rbf:RANGE or exponential:RANGE",
            repr(text),
            "RANGE is in units of the domain or a percentage, as in matern:10%:1.5.",
        )
    start, end = domain_range
    try:
        first = numbers[0]
        length = float(first[:-1]) / 100 * (end - start) if first.endswith("%") else float(first)
        nu = float(numbers[1]) if name == "matern" else 0.5
    except ValueError:
        raise ParameterError("kernel", "have numbers after the colons", repr(text)) from None
    if not (math.isfinite(length) and length > 0 and nu > 0):
        raise ParameterError("kernel", "have a positive range and smoothness", repr(text))
    if name == "rbf" or nu in POLYNOMIALS:
        return MaternSum((MaternTerm(1.0, length, RBF if name == "rbf" else nu),))
    from sklearn.gaussian_process import kernels as sk

    return sk.Matern(length, nu=nu)


def default_kernel(domain_range: tuple[float, float]) -> MaternSum:
    """Matern 5/2 with a range of three tenths of the domain, and a hundredth of Matern 3/2.

    Its leading functions suit smooth curves, and its eigenvalues fall slowly enough for all that a grid
    can tell apart to stay above rounding.
    """
    width = 0.3 * (domain_range[1] - domain_range[0])
    return MaternSum((MaternTerm(1.0, width, 2.5), MaternTerm(0.01, width, 1.5)))


def kernel_function(kernel: object) -> KernelFunction:
    """Turn a scikit-learn kernel or a callable k(s, t) into a function of two point arrays.

    Raises ParameterError if it is neither.
    """
    if isinstance(kernel, type):
        raise ParameterError(
            "kernel", "be an instance", f"the class {kernel.__name__}", "Add parentheses."
        )
    if isinstance(kernel, MaternSum):
        return lambda s, t: kernel(s[:, None], t)
    if is_scikit_learn_kernel(kernel):
        return lambda s, t: np.asarray(kernel(s[:, None], t[:, None]), dtype=np.float64)
    if not callable(kernel):
        raise ParameterError(
            "kernel", "be a scikit-learn kernel or a callable k(s, t)", type(kernel).__name__
        )

    def evaluate(s: Floats, t: Floats) -> Floats:
        shape = (s.size, t.size)
        first, second = np.broadcast_arrays(s[:, None], t[None, :])
        try:
            values = np.asarray(kernel(first, second), dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != shape:
            # A kernel of two numbers, or one that does not follow broadcasting.
            try:
                values = np.asarray(np.vectorize(kernel, otypes=[np.float64])(first, second))
            except (TypeError, ValueError) as error:
                raise ParameterError(
                    "kernel", "take two numbers and return one", f"{type(error).__name__}: {error}"
                ) from error
        return values

    return evaluate


def kernel_decay(kernel: object) -> float | None:
    """Exponent a of lambda_j ~ j^-a on an interval: 2 nu + 1 for Matern; None where unknown."""
    terms = matern_terms(kernel, RBF)
    if terms is not None:
        # The slowest: with A and B positive, A + B has at least the eigenvalues of each.
        return min(2 * term.nu + 1 for term in terms)
    if not is_scikit_learn_kernel(kernel):
        return None
    from sklearn.gaussian_process import kernels as sk

    if isinstance(kernel, sk.RBF):
        # Matern, here of another order, is derived from it.
        return 2 * float(getattr(kernel, "nu", math.inf)) + 1
    if isinstance(kernel, sk.Product):
        parts = {type(kernel.k1): kernel.k1, type(kernel.k2): kernel.k2}
        if sk.ConstantKernel in parts and len(parts) == 2:
            other = kernel.k2 if isinstance(kernel.k1, sk.ConstantKernel) else kernel.k1
            return kernel_decay(other)
    if isinstance(kernel, sk.Sum):
        decays = [kernel_decay(part) for part in (kernel.k1, kernel.k2)]
        known = [decay for decay in decays if decay is not None]
        return min(known) if len(known) == len(decays) else None
    return None


def kernel_to_json(kernel: object) -> dict[str, object] | None:
    """Write a known kernel as its name and numbers; None for any other callable."""
    if isinstance(kernel, MaternSum):
        return kernel.to_json()
    if not is_scikit_learn_kernel(kernel):
        return None
    names = _parameters().get(type(kernel))
    if names is None:
        return None
    written: dict[str, object] = {"name": type(kernel).__name__}
    for name in names:
        value = getattr(kernel, name)
        if is_scikit_learn_kernel(value):
            value = kernel_to_json(value)
            if value is None:
                return None
        elif np.ndim(value) != 0:
            return None
        else:
            value = "inf" if math.isinf(value) else float(value)
        written[name] = value
    return written


def kernel_from_json(written: object) -> Kernel:
    """Build a kernel from its name and numbers, from a closed list of names."""
    by_name = {kind.__name__: kind for kind in _parameters()}
    entries = mapping(written)
    kind = by_name.get(str(entries.get("name")))
    if kind is None:
        raise ParameterError("kernel name", f"be one of {sorted(by_name)}", repr(written))
    return kind(**{name: _value_from_json(name, entries[name]) for name in _parameters()[kind]})


def as_scikit_learn(kernel: MaternSum | Kernel) -> Kernel:
    """The same kernel as one of scikit-learn's."""
    return kernel_from_json(kernel.to_json()) if isinstance(kernel, MaternSum) else kernel


def _value_from_json(name: str, value: object) -> Kernel | float:
    if isinstance(value, dict):
        return kernel_from_json(value)
    # A Matern kernel may be infinitely smooth; no other number of a kernel is infinite.
    return math.inf if (name, value) == ("nu", "inf") else number(value)


def is_differentiable(kernel: KernelFunction, points: Floats, length: float) -> bool:
    """Whether functions of the kernel's space have a derivative.

    The variogram k(t,t) - 2 k(t,t+h) + k(t+h,t+h) falls like h^2 where they do and like a lower
    power where they do not, so its ratio at h and h/4 is 16 or at most 8.
    """
    step = 1e-3 * length

    def variogram(h: float) -> Floats:
        inside = points[points + h <= points[-1]][:1]
        pair = np.concatenate([inside, inside + h])
        gram = kernel(pair, pair)
        return np.asarray(gram[0, 0] - 2 * gram[0, 1] + gram[1, 1])

    return bool(variogram(step) > 11.0 * variogram(step / 4))


def short_range(kernel: object, grid_points: Floats, domain: tuple[float, float]) -> str | None:
    """Warn where the kernel's range is below the spacing of the grid; public numbers only."""
    steps = np.diff(grid_points)
    reach = getattr(kernel, "length_scale", np.inf)
    # The median loads numpy.ma, which takes long.
    if not reach < steps.max() or not reach < (spacing := float(np.median(steps))):
        return None
    tenth = (domain[1] - domain[0]) / 10
    return (
        f"the kernel's range ({reach:g}) is below the spacing of the grid ({spacing:g}), so that "
        "neighbouring points are taken to be unrelated and noise is hardly smoothed. A range is in "
        "units of the domain or a percentage of its length: matern:10%:1.5 means ten per cent of the "
        f"domain, here {tenth:g}."
    )
