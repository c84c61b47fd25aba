"""What the default mean of curves between bounds is estimated from, beside noisy numbers: all public.

The estimate itself, and every constant in it, is `dpfda.estimates.curves`. A release holds
the version of those constants and the ingredients below, so that a file gives the same curve for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpfda.bases.grids import freeze
from dpfda.numerics.arrays import Floats, Integers
from dpfda.numerics.encoding import array_from_json, array_to_json, check_version, integer, integers
from dpfda.numerics.errors import ParameterError

# Since the second version a mean may be a constant, and the law of box noise is exact for it. Since the
# third that law is not taken as normal for any mean.
VERSION = 3
# Those of curves with known periods, and of groups that borrow, which earlier programs would leave out.
WITH_PERIODS, BORROWING = 4, 5
KIND = "curves between bounds"


def _none() -> Floats:
    return np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class CurvePrior:
    """Public ingredients of the estimate of a mean whose values are bounded.

    lower, upper: array (m,). Public bounds on the grid, in the units of the data.
    cells: Numbers of neighbouring grid points whose values were added up and got noise, in order. None
        where leading coefficients of the basis got it.
    centers: array (C, m). Public curves that the mean may be near to, in the units of the data; none by
        default.
    version: Of the constants.
    periods: Known cycles: their lengths, in shares of the domain's.
    near: array (P, S). What else speaks for curves near the one public curve: log evidence of each
        component around it, at each scale, against all others.
    Raises ParameterError if the parts do not fit each other, or a later version wrote them.
    """

    lower: Floats
    upper: Floats
    cells: tuple[int, ...] | None = None
    centers: Floats = field(default_factory=_none)
    version: int = VERSION
    periods: tuple[float, ...] = ()
    near: Floats = field(default_factory=_none)

    def __post_init__(self) -> None:
        freeze(self, "lower", "upper", "centers", "near")
        points = self.lower.size
        if self.lower.shape != (points,) or self.upper.shape != (points,) or points < 1:
            raise ParameterError("bounds", "be two curves on one grid", f"{self.upper.shape}")
        if not (np.all(np.isfinite(self.lower)) and np.all(self.lower < self.upper)):
            raise ParameterError("bounds", "be finite with lower < upper", "others")
        if self.cells is not None and (sum(self.cells) != points or min(self.cells) < 1):
            raise ParameterError("cells", f"hold {points} grid points, each at least one", "others")
        if self.centers.size and (self.centers.ndim != 2 or self.centers.shape[1] != points):
            raise ParameterError("prior", f"have curves of {points} values", f"{self.centers.shape}")
        if not np.all(np.isfinite(self.centers)):
            raise ParameterError("prior", "be finite curves", "NaN or infinity")
        if not all(0 < period <= 1 for period in self.periods):
            raise ParameterError("periods", "be shares of the domain, above 0 and at most 1", "others")
        if self.near.size and (len(self.centers) != 1 or not np.all(np.isfinite(self.near))):
            raise ParameterError(
                "near", "be finite, for one public curve", f"{len(self.centers)} curves"
            )
        latest = BORROWING if self.near.size else WITH_PERIODS if self.periods else VERSION
        check_version(self.version, latest)

    @property
    def width(self) -> Floats:
        """Distance (m,) between the bounds."""
        return np.asarray(self.upper - self.lower)

    @property
    def curves(self) -> Floats:
        """Public curves (C, m), in shares of the distance between the bounds."""
        if not self.centers.size:
            return np.empty((0, self.lower.size))
        return np.asarray(np.clip((self.centers - self.lower) / self.width, 0.0, 1.0))

    @property
    def labels(self) -> Integers:
        """Cell of each grid point (m,)."""
        counts = np.ones(self.lower.size, dtype=np.int64) if self.cells is None else self.cells
        return np.repeat(np.arange(len(counts)), counts)

    def to_json(self) -> dict[str, object]:
        """The ingredients as JSON types."""
        return {
            "kind": KIND,
            "version": self.version,
            "lower": array_to_json(self.lower),
            "upper": array_to_json(self.upper),
            "cells": None if self.cells is None else list(self.cells),
            **({"centers": array_to_json(self.centers)} if self.centers.size else {}),
            **({"periods": array_to_json(np.array(self.periods))} if self.periods else {}),
            **({"near": array_to_json(self.near)} if self.near.size else {}),
        }

    @classmethod
    def from_json(cls, written: dict[str, object]) -> CurvePrior:
        """Build the ingredients again."""
        return cls(
            array_from_json(written["lower"]),
            array_from_json(written["upper"]),
            None if written["cells"] is None else integers(written["cells"]),
            array_from_json(written["centers"]) if "centers" in written else _none(),
            integer(written["version"], 1),
            tuple(array_from_json(written["periods"]).tolist()) if "periods" in written else (),
            array_from_json(written["near"]) if "near" in written else _none(),
        )
