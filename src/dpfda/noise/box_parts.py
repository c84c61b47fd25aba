"""Some coordinates of box noise on more of them: what one of several functions sees of one law for all.

Several sums that each move within a box of their own, by the data of one unit, move together within
one box: that of all their coordinates. Its K-norm noise on all of them (`BoxNoise`) has the loss
max_j w_j / b_j over all coordinates, where noise on each sum apart has the sum of their losses. What
one sum sees of it is the law here. Its loss is no more than that of the whole, of which it is a
function: max_j w_j / b_j over its own coordinates, which are those that it moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpfda.noise.blocks import symmetric_loss
from dpfda.noise.bodies import BoxNoise, InBox
from dpfda.noise.protocol import AnyNorm, Width
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import whole as whole_number
from dpfda.privacy.composition import Loss
from dpfda.privacy.guarantees import Guarantee


@dataclass(frozen=True)
class BoxPartNoise(InBox):
    """M of D coordinates of noise of density proportional to exp(-max_j |z_j| / b_j).

    Parameters
    ----------
    scales : tuple of int
        Half-widths b_j of the box in these coordinates, in grid units.
    whole : int
        Number D of coordinates of the box.

    Notes
    -----
    Drawn as `InBox` says. With t = max_j |z_j| / b_j the density is proportional to the integral of
    r^(D - M) e^-r over r > t, the upper incomplete gamma function of D - M + 1 at t. It falls slower
    than e^-t by a polynomial: the loss max_j w_j / b_j is approached far out.
    """

    whole: int
    law: ClassVar[str] = "k-norm-box-part"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number(self.whole, "whole", len(self.scales))

    @property
    def sides(self) -> int:
        """Number D of coordinates of the box."""
        return self.whole

    def draw(self) -> list[int]:
        """One exact draw of these coordinates by themselves."""
        return self._drawn()

    def describe(self) -> str:
        return f"K-norm noise of a box on {self.whole} coefficients, of which it has {self.components}"

    def achieved(self, norm: AnyNorm, width: Width, requested: Guarantee) -> Guarantee:
        return self._given(norm, width, requested)

    def loss(self, requested: Guarantee) -> Loss | None:
        """No more than that of the whole, of which it is a function."""
        return symmetric_loss(requested)


def parts_of(box: BoxNoise, sizes: tuple[int, ...]) -> tuple[BoxPartNoise, ...]:
    """The laws of consecutive coordinates of a box, so many in each.

    Raises ParameterError if the sizes do not add up to the box's.
    """
    total = len(box.scales)
    if sum(sizes) != total:
        raise ParameterError("sizes", f"add up to {total}", f"{sum(sizes)}")
    ends = np.cumsum(sizes).tolist()
    return tuple(
        BoxPartNoise(box.scales[end - size : end], total) for size, end in zip(sizes, ends, strict=True)
    )
