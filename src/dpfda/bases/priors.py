"""Public priors for the mean of a sum: shapes and scales of its coefficients, each with a weight.

A prior is made from public numbers alone. It decides how much noise goes where and how a noisy release
is shrunk; it has no part in any guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dpfda.bases.grids import freeze
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import array_from_json, array_to_json, floats, mapping
from dpfda.numerics.errors import ParameterError

# The public mixture: coefficient j has a variance like (1 + (range f_j)^2)^(-exponent / 2), f_j its
# frequency. A range of 1 falls from the first function on; one of 0.1 is flat over the first ten. The
# exponents are those of Matern kernels of smoothness 3/2, 5/2 and 7/2 on the line.
RANGES = (0.1, 0.3, 1.0)
EXPONENTS = (4.0, 6.0, 8.0)
# Mean squares relative to the square of the bound: means as large as allowed, to a hundredth of that.
SCALES = tuple(10.0 ** (-2 * step / 3) for step in range(7))


@dataclass(frozen=True, eq=False)
class Prior:
    """Coefficients are independent N(0, s b_j) given a shape b and a scale s, which are unknown.

    shapes: array (G, K). Relative variances b_j, one shape a row, nonnegative. Public.
    scales: array (S,). Factors s, positive. Public.
    weights: array (G, S). Prior probabilities of shape and scale.
    """

    shapes: Floats
    scales: Floats
    weights: Floats

    def __post_init__(self) -> None:
        freeze(self, "shapes", "scales", "weights")
        if self.shapes.ndim != 2 or not (np.all(np.isfinite(self.shapes)) and np.all(self.shapes >= 0)):
            raise ParameterError("shapes", "be finite rows of at least 0", f"{self.shapes.shape}")
        if self.scales.ndim != 1 or not (np.all(np.isfinite(self.scales)) and np.all(self.scales > 0)):
            raise ParameterError("scales", "be positive and finite", f"{self.scales.shape}")
        fits = self.weights.shape == (self.shapes.shape[0], self.scales.size)
        if not (fits and np.all(self.weights >= 0) and abs(float(self.weights.sum()) - 1) < 1e-9):
            raise ParameterError(
                "weights", "be probabilities, one a shape and scale", f"{self.weights.shape}"
            )

    @classmethod
    def of(cls, shapes: ArrayLike, scales: ArrayLike = (1.0,)) -> Prior:
        """Equal weights on all shapes and scales."""
        rows, factors = np.atleast_2d(np.asarray(shapes, dtype=float)), np.asarray(scales, dtype=float)
        count = rows.shape[0] * factors.size
        return cls(rows, factors, np.full((rows.shape[0], factors.size), 1 / count))

    @property
    def components(self) -> int:
        """Number K of coefficients."""
        return int(self.shapes.shape[1])

    @cached_property
    def variances(self) -> Floats:
        """Variances (H, K), one row a shape and scale, H = G S."""
        rows = self.shapes[:, None, :] * self.scales[None, :, None]
        return np.asarray(rows.reshape(-1, self.components))

    @property
    def chances(self) -> Floats:
        """Probabilities (H,) of the rows of `variances`."""
        return self.weights.reshape(-1)

    def truncate(self, components: int) -> Prior:
        """The prior of the leading coefficients."""
        return Prior(self.shapes[:, :components], self.scales, self.weights)

    def times(self, factor: float) -> Prior:
        """The prior in other units: all variances times a factor."""
        return Prior(self.shapes, self.scales * factor, self.weights)

    def draw(self, generator: np.random.Generator, draws: int) -> tuple[Floats, Integers]:
        """Coefficients (draws, K) and the row of each: for studies, never for a release.

        Rows are taken in turn in proportion to their weights, so that a rare one is not left to chance.
        """
        places = (np.arange(draws) + 0.5) / draws
        rows = np.searchsorted(np.cumsum(self.chances), places).clip(0, self.chances.size - 1)
        normals = generator.standard_normal((draws, self.components))
        return normals * np.sqrt(self.variances[rows]), rows

    def describe(self) -> str:
        """Say in words what is unknown."""
        shapes, scales = self.weights.shape
        return f"{shapes} public shape(s) at {scales} scale(s)"

    def to_json(self) -> dict[str, object]:
        """The prior as JSON types."""
        return {
            "words": self.describe(),
            "scales": self.scales.tolist(),
            "weights": self.weights.tolist(),
            "shapes": array_to_json(self.shapes),
        }

    @classmethod
    def from_json(cls, written: object) -> Prior:
        """Build the prior again."""
        entries = mapping(written)
        return cls(
            array_from_json(entries["shapes"]), floats(entries["scales"]), floats(entries["weights"])
        )


def frequencies(components: int, dimensions: int = 1) -> Floats:
    """Frequencies f_j (K,) of ordered functions of d variables: j^(1/d)."""
    return np.asarray(np.arange(1.0, components + 1) ** (1 / dimensions))


def public_shapes(components: int, dimensions: int = 1) -> Floats:
    """Shapes (G, K) of the public mixture, each scaled to sum one: range and decay unknown.

    Variances fall with the frequency like f^-(exponent + d - 1), so that the power at a frequency falls
    like f^-exponent in any dimension.
    """
    squares = frequencies(components, dimensions) ** 2
    rows = [
        (1 + width**2 * squares) ** (-(exponent + dimensions - 1) / 2)
        for width in RANGES
        for exponent in EXPONENTS
    ]
    return np.array([row / row.sum() for row in rows])


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """How a noisy release is shrunk: a prior of the mean's coefficients, and what was measured of them.

    prior: Of the coefficients, in squared units of the data times those of the domain.
    forms: array (M, K). What was measured is `forms @ coefficients` plus noise; by default the
        coefficients themselves.
    """

    prior: Prior
    forms: Floats | None = None

    def __post_init__(self) -> None:
        if self.forms is None:
            return
        freeze(self, "forms")
        forms = self.forms
        if forms.ndim != 2 or forms.shape[1] != self.prior.components or not np.all(np.isfinite(forms)):
            raise ParameterError(
                "forms", f"be finite, of shape (M, {self.prior.components})", f"{forms.shape}"
            )

    @property
    def measured(self) -> int:
        """How many numbers were measured."""
        return self.prior.components if self.forms is None else int(self.forms.shape[0])

    def to_json(self) -> dict[str, object]:
        """The hierarchy as JSON types."""
        forms = None if self.forms is None else array_to_json(self.forms)
        return {"prior": self.prior.to_json(), "forms": forms}

    @classmethod
    def from_json(cls, written: dict[str, object]) -> Hierarchy:
        """Build the hierarchy again."""
        forms = None if written["forms"] is None else array_from_json(written["forms"])
        return cls(Prior.from_json(written["prior"]), forms)


def normalized(shapes: Floats, norm: str) -> Floats:
    """Shapes (G, K) that fill a ball of radius one: sum one, or on the l1 ball a sum of roots of one."""
    whole = shapes.sum(axis=1) if norm != "l1" else np.sqrt(shapes).sum(axis=1) ** 2
    return np.asarray(shapes / whole[:, None])
