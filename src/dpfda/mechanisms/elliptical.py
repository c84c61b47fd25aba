"""Elliptical noise: multivariate t (pure in finite dimensions) and multivariate Laplace (never)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.mechanisms.protocol import Design, Problem
from dpfda.noise import elliptical_noise
from dpfda.numerics.errors import ParameterError, RefusedMechanismError
from dpfda.privacy.guarantees import PureDP


@dataclass(frozen=True)
class StudentT:
    """Multivariate t noise on raw coefficients, then shrinkage.

    **Guarantee.** Pure epsilon on M coefficients, where M is finite: the density ratio is bounded
    (Reimherr & Awan, Example 6; the formula is in `dpfda.noise.elliptical`). With delta > 0
    the guarantee is that of the whole path, whatever the number of coefficients: E
    delta_Gauss(epsilon; mu / V) over the factor V of the law, which is exact in infinite
    dimensions, where V can be read off the path.

    Parameters
    ----------
    components : int or "all", optional
        Number M of leading coefficients. By default the number with the least expected error for
        delta = 0, and all for delta > 0.
    degrees : int, optional
        Degrees of freedom, at least 3; by default M + 4 for delta = 0 (about the best) and 10 for
        delta > 0.

    Raises
    ------
    RefusedMechanismError
        On `design`, if pure privacy is asked for on all coefficients of a function space ("all"):
        no elliptical law gives it in infinite dimensions.

    References
    ----------
    Reimherr & Awan (2019), Examples 2 and 6, Theorem 4.

    Examples
    --------
    >>> StudentT(components=8, degrees=12).degrees
    12
    """

    components: int | str | None = None
    degrees: int | None = None
    name: ClassVar[str] = "student-t"

    def design(self, problem: Problem) -> Design:
        """Scale and Wiener shrinkage."""
        if self.degrees is not None and not (self.degrees == int(self.degrees) and self.degrees >= 3):
            raise ParameterError("degrees", "be an integer of at least 3", repr(self.degrees))
        pure = isinstance(problem.guarantee, PureDP)
        if self.components == "all" and pure:
            raise _infinite_dimensions(self.name)
        count = problem.prior.size if self.components in (None, "all") else self.components
        if not isinstance(count, int | np.integer) or not 1 <= count <= problem.prior.size:
            raise ParameterError(
                "components", f"be 'all' or an integer from 1 to {problem.prior.size}", repr(count)
            )
        if pure and self.components is None:
            return min(
                (self._designed(problem, size) for size in _candidates(problem.prior.size)),
                key=lambda design: _error(problem, design),
            )
        return self._designed(problem, int(count))

    def _designed(self, problem: Problem, size: int) -> Design:
        degrees = self.degrees
        if degrees is None:
            degrees = size + 4 if isinstance(problem.guarantee, PureDP) else 10
        noise = elliptical_noise(size, problem.width, problem.guarantee, "student-t", int(degrees))
        return Design.shrunk(problem, self.name, {"components": size, "degrees": int(degrees)}, noise)


@dataclass(frozen=True)
class MultivariateLaplace:
    """Normal noise times the root of one exponential variable, on all coefficients: delta > 0 only.

    **Guarantee.** (epsilon, delta) for the whole path, as for `StudentT`. Pure privacy is refused:
    from two dimensions on the density has a pole at its centre, and in infinite dimensions no
    elliptical law is pure.

    References
    ----------
    Reimherr & Awan (2019), Examples 3 and 5, Theorem 4.

    Examples
    --------
    >>> MultivariateLaplace().name
    'multivariate-laplace'
    """

    name: ClassVar[str] = "multivariate-laplace"

    def design(self, problem: Problem) -> Design:
        """Scale and Wiener shrinkage."""
        size = int(problem.prior.size)
        noise = elliptical_noise(size, problem.width, problem.guarantee, "laplace")
        return Design.shrunk(problem, self.name, {"components": size}, noise)


def _candidates(largest: int) -> list[int]:
    """Sizes to try: all small ones, then a tenth apart."""
    sizes, size = [], 1
    while size <= largest:
        sizes.append(size)
        size = max(size + 1, size * 11 // 10)
    return sizes


def _error(problem: Problem, design: Design) -> float:
    power = problem.noise_power(design.noise.variances())
    return float(np.sum(design.shrinkage * power) + problem.prior[design.components :].sum())


def _infinite_dimensions(name: str) -> RefusedMechanismError:
    return RefusedMechanismError(
        "components",
        "be finite for pure differential privacy",
        f"'all', for mechanism {name!r}",
        "No elliptical law gives delta = 0 on an infinite-dimensional release: the factor can be read"
        " off the path, and given the factor the noise is Gaussian. Give a number of components, set"
        " delta, or use $mechanism.",
        "Reimherr & Awan 2019, Theorem 4",
        mechanism=("iclp", "knorm"),
    )
