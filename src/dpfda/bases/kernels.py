"""Covariance kernels: sums of Matern kernels, calling them, writing them down, their smoothness."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import mapping, number
from dpfda.numerics.errors import ParameterError

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel


# Matern kernels as exp(-r) times a polynomial in r = (2 nu)^(1/2) |s - t| / length_scale.
RBF = math.inf
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}
# How round a known cycle is: with half a turn's correlation, about exp(-4).
ROUND = 0.7


class MaternTerm(NamedTuple):
    """variance * Matern(length_scale, nu) with nu 0.5, 1.5 or 2.5, or infinite for RBF."""

    variance: float
    length_scale: float
    nu: float


@dataclass(frozen=True)
class MaternSum:
    """A sum of multiples of Matern kernels: what scikit-learn's sum of them is, to the last digit.

    Loading scikit-learn takes longer than all else that a plan or a mean does, so the default kernel,
    those that are typed and those of files are of these. One equals scikit-learn's of the same terms.
    """

    terms: tuple[MaternTerm, ...]

    def __eq__(self, other: object) -> bool:
        terms = other.terms if isinstance(other, MaternSum) else matern_terms(other, RBF)
        return self.terms == terms

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def length_scale(self) -> float:
        """Range of a kernel of one term; infinite for a sum."""
        return self.terms[0].length_scale if len(self.terms) == 1 else math.inf

    def __call__(self, s: ArrayLike, t: ArrayLike) -> Floats:
        """Values for points s and t, broadcast together."""
        total = np.zeros(())
        for variance, length, nu in self.terms:
            steps = np.abs(np.asarray(s) / length - np.asarray(t) / length)
            if nu == RBF:
                total = total + variance * np.exp(-0.5 * steps**2)
                continue
            steps = steps * math.sqrt(2 * nu)
            shape = {0.5: 1.0, 1.5: 1.0 + steps}.get(nu, 1.0 + steps + steps**2 / 3.0)
            total = total + variance * (shape * np.exp(-steps))
        return np.asarray(total, dtype=np.float64)

    def __str__(self) -> str:
        """As scikit-learn writes it."""
        return " + ".join(
            ("" if variance == 1 else f"{math.sqrt(variance):.3g}**2 * ")
            + (
                f"RBF(length_scale={length:.3g})"
                if nu == RBF
                else f"Matern(length_scale={length:.3g}, nu={nu:.3g})"
            )
            for variance, length, nu in self.terms
        )

    def to_json(self) -> dict[str, object]:
        """As scikit-learn's kernel of the same terms is written."""
        first, *others = map(_written, self.terms)
        for other in others:
            first = {"name": "Sum", "k1": first, "k2": other}
        return first

    @classmethod
    def from_json(cls, written: object) -> MaternSum | None:
        """Read what was written, by this class or of scikit-learn's kernels; None for other kernels."""
        terms = _read(written)
        return None if terms is None else cls(terms)


def _written(term: MaternTerm) -> dict[str, object]:
    matern: dict[str, object] = {"name": "RBF", "length_scale": term.length_scale}
    if term.nu != RBF:
        matern |= {"name": "Matern", "nu": term.nu}
    constant = {"name": "ConstantKernel", "constant_value": term.variance}
    return matern if term.variance == 1 else {"name": "Product", "k1": constant, "k2": matern}


def _read(written: object) -> tuple[MaternTerm, ...] | None:
    match written:
        case {"name": "Matern", "length_scale": float(length), "nu": 0.5 | 1.5 | 2.5 as nu}:
            return (MaternTerm(1.0, length, nu),) if 0 < length < math.inf else None
        case {"name": "RBF", "length_scale": float(length)}:
            return (MaternTerm(1.0, length, RBF),) if 0 < length < math.inf else None
        case {
            "name": "Product",
            "k1": {"name": "ConstantKernel", "constant_value": float(variance)},
            "k2": {"name": "Matern" | "RBF"} as other,
        }:
            terms = _read(other) if 0 < variance < math.inf else None
            return None if terms is None else (terms[0]._replace(variance=variance),)
        case {"name": "Sum", "k1": {} as first, "k2": {} as second}:
            both = _read(first), _read(second)
            return None if both[0] is None or both[1] is None else both[0] + both[1]
    return None


def is_scikit_learn_kernel(kernel: object) -> TypeGuard[Kernel]:
    """Whether it is one: before that module is loaded nothing is."""
    kernels = sys.modules.get("sklearn.gaussian_process.kernels")
    return kernels is not None and isinstance(kernel, kernels.Kernel)


def matern_terms(kernel: object, *beside: float) -> tuple[MaternTerm, ...] | None:
    """Read a kernel as a sum of Matern kernels of the three orders, and of those beside; else None."""
    orders = (*POLYNOMIALS, *beside)
    if isinstance(kernel, MaternSum):
        return kernel.terms if all(term.nu in orders for term in kernel.terms) else None
    if not is_scikit_learn_kernel(kernel):
        return None
    from sklearn.gaussian_process import kernels as sk

    if type(kernel) in (sk.Matern, sk.RBF) and np.ndim(kernel.length_scale) == 0:
        nu = float(getattr(kernel, "nu", RBF))
        return (MaternTerm(1.0, float(kernel.length_scale), nu),) if nu in orders else None
    if type(kernel) is sk.Sum:
        first, second = matern_terms(kernel.k1, *beside), matern_terms(kernel.k2, *beside)
        return None if first is None or second is None else first + second
    if type(kernel) is sk.Product:
        for factor, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            terms = matern_terms(other, *beside)
            if type(factor) is sk.ConstantKernel and terms is not None:
                value = float(factor.constant_value)
                return tuple(term._replace(variance=value * term.variance) for term in terms)
    return None


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
        words = "be matern:RANGE:NU, rbf:RANGE or exponential:RANGE"
        remedy = "RANGE is in units of the domain or a percentage, as in matern:10%:1.5."
        raise ParameterError("kernel", words, repr(text), remedy)
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


def with_cycles(domain_range: tuple[float, float], periods: Sequence[float]) -> Kernel:
    """The default kernel and cycles of known lengths, which have as much of the variance together."""
    from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Matern

    check_periods(periods, domain_range[1] - domain_range[0])
    smooth = [
        ConstantKernel(variance) * Matern(length, nu=nu)
        for variance, length, nu in default_kernel(domain_range).terms
    ]
    cycles = [ConstantKernel(1 / len(periods)) * ExpSineSquared(ROUND, period) for period in periods]
    return reduce(add, [*smooth, *cycles])


def check_periods(periods: Sequence[float], length: float) -> None:
    """Refuse cycles longer than the domain. Raises ParameterError if one is."""
    if max((0.0, *periods)) > length * (1 + 1e-9):
        words = f"be no longer than the domain, {length:g}"
        raise ParameterError("periods", words, ", ".join(f"{period:g}" for period in periods))


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
        exponents = [decay for decay in decays if decay is not None]
        return min(exponents) if len(exponents) == len(decays) else None
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
