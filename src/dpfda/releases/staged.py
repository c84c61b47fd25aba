"""The release of the two-stage rule: a rough mean, and the mean difference of the records from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpfda.bases.grids import check_points
from dpfda.errors import ParameterError
from dpfda.noise import NoiseLaw
from dpfda.privacy.guarantees import Guarantee
from dpfda.releases.function import ReleasedFunction

Floats = NDArray[np.float64]

# Stages that are paid for.
FIRST, RADIUS, LAST = "rough mean", "choice of the radius", "difference"


@dataclass(frozen=True)
class Selection:
    """How the clipping radius was chosen; public.

    Parameters
    ----------
    radii : tuple of float
        Candidates, decreasing, in the units of the radius.
    noisy_counts : tuple of int
        Units in each candidate's bin times `scale`, plus noise.
    scale : int
        Grid units per unit counted.
    noise : NoiseLaw
        Law of the noise in the counts.
    achieved : Guarantee
        What that noise gives.
    """

    radii: tuple[float, ...]
    noisy_counts: tuple[int, ...]
    scale: int
    noise: NoiseLaw
    achieved: Guarantee


@dataclass(frozen=True, eq=False)
class TwoStageFunction(ReleasedFunction):
    """A rough private mean plus the private mean difference of the records from it.

    Coefficients, noise, shrinkage and bands are those of the difference. The rough mean is public by
    then, and is evaluated as the function that it is, between grid points too. The
    certificate is that of the whole: of rough mean, choice of the radius, and difference together.

    Parameters
    ----------
    first : ReleasedFunction
        The rough mean, with its own share of the budget.
    radius : float
        Differences were clipped to this L2 length.
    last : Guarantee
        What the noise on the difference gives by itself.
    selection : Selection, optional
        How the radius was chosen; None where the user declared the spread.
        The others: see `ReleasedFunction`.
    """

    first: ReleasedFunction | None = None
    radius: float = 0.0
    last: Guarantee | None = None
    selection: Selection | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first is None or self.last is None or not self.radius > 0:
            raise ParameterError("release", "have a first stage, a radius and a last guarantee", "none")

    def _center(self, points: ArrayLike) -> Floats:
        assert self.first is not None  # noqa: S101
        at = check_points(points, self.domain_range)
        return np.asarray(replace(self.first, order=self.order)(at))

    def save(self, path: str | Path) -> Path:
        """Write a JSON file that `dpfda.load` reads back exactly."""
        from dpfda.releases.storage import save_as

        return save_as("dpfda-two-stage", self, path)

    @staticmethod
    def load(path: str | Path, kernel: object = None) -> TwoStageFunction:
        """Read a release from a JSON file; `kernel` is needed if it was made with a custom one."""
        from dpfda.releases.storage import load_kind

        release: TwoStageFunction = load_kind(path, "dpfda-two-stage", kernel)
        return release

    def __repr__(self) -> str:
        lines = super().__repr__().split("\n")
        assert self.first is not None  # noqa: S101
        lines[0] = lines[0].replace("ReleasedFunction", "TwoStageFunction")
        lines[-1] += f", on differences clipped to {self.radius:g}"
        first = f"{self.first.guarantee}; {self.first.noise.describe()}"
        return "\n".join([*lines, f"  first stage:  {first}"])
