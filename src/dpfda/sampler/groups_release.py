"""Released samplers of curves of disjoint groups, and synthetic curves with the group of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpfda.numerics.arrays import Floats
from dpfda.numerics.parameters import MOST_NUMBERS, seeded, whole
from dpfda.privacy.words import first_up
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.facts import Stated
from dpfda.releases.groups import OfGroups
from dpfda.sampler.release import UNFIT, ReleasedCurveSampler, fdatagrid, noted
from dpfda.spine.memberships import divided
from dpfda.views import Curve, Line

if TYPE_CHECKING:
    from skfda import FDataGrid


@dataclass(frozen=True, eq=False)
class ReleasedCurveSamplers(OfGroups[ReleasedCurveSampler]):
    """Samplers of synthetic curves of disjoint groups, released at the cost of one.

    Parameters
    ----------
    means : mapping from str to ReleasedCurveSampler
        The sampler of every group, by name, ``release["case"]``: called at points it is that group's
        mean. All carry one certificate: one charge paid for them.
    """

    means: Mapping[str, ReleasedCurveSampler] = field(
        metadata=file.named_means(ReleasedCurveSampler, "sampler").named("groups").kept
    )

    _FORMAT: ClassVar[str] = "dpfda-curve-samplers"
    _CALLED: ClassVar[str] = "samplers of curves by group"
    _plural: ClassVar[bool] = True
    _bandless = ReleasedCurveSampler._bandless
    _subject = "synthetic curves by group"

    @property
    def divided_by(self) -> int:
        """Public number of units of all groups, or those which sums were divided by."""
        return sum(each.divided_by for each in self.means.values())

    def sample(
        self, n: int, rng: np.random.Generator | int | None = None
    ) -> tuple[Floats, NDArray[np.str_]]:
        """Synthetic curves of all groups, in proportion to their public sizes. Costs no privacy.

        Parameters
        ----------
        n : int
            How many in all.
        rng : numpy Generator, seed or None
            As in `ReleasedCurveSampler.sample`.

        Returns
        -------
        array (n, m), array (n,)
            One curve a row on `grid_points`, group after group; and the name of each one's group.
        """
        count, generator = whole(n, "n", 0, MOST_NUMBERS), seeded(rng, "rng")
        sizes = divided(count, [each.divided_by for each in self.means.values()], 0)
        drawn = [
            each.sample(size, generator) for each, size in zip(self.means.values(), sizes, strict=True)
        ]
        return np.concatenate(drawn), np.repeat(np.array(self.names), sizes)

    def sample_fdatagrid(self, n: int, rng: np.random.Generator | int | None = None) -> FDataGrid:
        """The same as a ``skfda.FDataGrid`` (extra `fda`): groups are its `sample_names`."""
        curves, names = self.sample(n, rng)
        return fdatagrid(self._any, curves, sample_names=names)

    @property
    def public_units(self) -> int | None:
        sizes = [each.public_units for each in self.means.values()]
        return None if None in sizes else sum(filter(None, sizes))

    # Tables, pictures and words.

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        return {
            f"mean {name}": Release._columns(each, at, asked)["value"]
            for name, each in self.means.items()
        }

    def view(self, level: float | None = LEVEL) -> Curve:
        at = self.grid_points
        lines = [Line(at, np.asarray(each(at)), name) for name, each in self.means.items()]
        return noted(self._curve(lines), self._noisiest.moments.noise_share)

    def _stated(self) -> Stated:
        composition, own = self.describe_composition(), self._any._stated()
        return Stated(
            f"Synthetic curves of {len(self.names)} groups ({', '.join(self.names)}): as many as anyone "
            "likes can be drawn of each. The promise is for all groups together.",
            protected=[f"{first_up(composition)}."],
            public=own.public,
            noise=own.noise,
            bounded=own.bounded,
            numbers={"groups": list(self.names), "composition": composition},
            first=[*self._noisiest._noisy, UNFIT],
        )

    @property
    def _noisiest(self) -> ReleasedCurveSampler:
        """The sampler of the group where noise shows most."""
        return max(self.means.values(), key=lambda each: each.moments.noise_share)

    def _lines(self) -> dict[str, str]:
        lines = {name: each._lines().get("noise") for name, each in self.means.items()}
        return super()._lines() | {f"noise {name}": told for name, told in lines.items() if told}
