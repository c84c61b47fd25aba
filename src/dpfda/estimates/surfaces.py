"""Surfaces over a rectangle between bounds: the prior of curves, in two variables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpfda.bases.cells import cosines
from dpfda.estimates.components import Part, scaled, with_levels
from dpfda.estimates.curves import CurveModel
from dpfda.numerics.arrays import Floats

# Cosines along each side.
COSINES = 20


class SurfaceModel(CurveModel):
    """What was measured of a mean surface between bounds, on a square grid of carrying points.

    Components are products of cosines of frequencies k = (k_1, k_2), of variances
    (1 + (r (1 + |k|))^2)^(-(e + 1) / 2), e and r being those of curves, each at both levels, as for
    images (`dpfda.estimates.images`); none is local.
    """

    looks: ClassVar[int] = 10**6
    alone: ClassVar[Mapping[str, float]] = {"line": 1.25}
    in_one_order: ClassVar[bool] = False

    @cached_property
    def functions(self) -> tuple[Floats, Floats]:
        """Products of cosines (N, K) that components share, and what is seen (M, K) of them."""
        along = cosines(COSINES, np.linspace(0.0, 1.0, math.isqrt(self.places.size)))
        functions: Floats = np.asarray(np.kron(along, along), dtype=np.float64)
        return functions, np.asarray(self.seen @ functions)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Components that do not look at the release."""
        steps = np.arange(COSINES, dtype=np.float64)
        distances = 1 + np.hypot.outer(steps, steps).ravel()

        def falling(exponent: float, reach: float) -> Floats:
            return scaled((1 + (reach * distances) ** 2) ** (-(exponent + 1) / 2))

        return tuple(
            Part.of(kind, *self.functions, np.sqrt(variances))
            for kind, variances in with_levels(falling)
        )

    @property
    def identity(self) -> None:
        """Cells hold several points."""
        return

    def local(self, curve: Floats) -> list[Part]:
        """None: bends in every direction would need a Green's function of the rectangle."""
        return []
