"""Sums of Matern kernels 1/2, 3/2, 5/2 and RBF: scikit-learn's, and our own without loading it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel

# Matern kernels as exp(-r) times a polynomial in r = (2 nu)^(1/2) |s - t| / length_scale.
RBF = math.inf
POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}


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
    made: dict[str, object] = {"name": "RBF", "length_scale": term.length_scale}
    if term.nu != RBF:
        made |= {"name": "Matern", "nu": term.nu}
    constant = {"name": "ConstantKernel", "constant_value": term.variance}
    return made if term.variance == 1 else {"name": "Product", "k1": constant, "k2": made}


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
