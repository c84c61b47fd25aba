"""The release of a mean in two looks: a rough line, a histogram, and a closer look around the line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from dpfda.bases.curve_priors import CurvePrior
from dpfda.bounds import ValueBounds
from dpfda.bounds.stated import bound_from_json
from dpfda.mechanisms.design.radii import moved_at_most
from dpfda.noise import AnyNorm, Width
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import real
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band
from dpfda.releases.costs import certified
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import AddedNoise
from dpfda.releases.staged import Selection

# Stages that are paid for.
FIRST, RADIUS, LAST = "rough line", "histogram of distances", "closer look"


@dataclass(frozen=True, eq=False)
class CloserMean(ReleasedFunction):
    """A mean curve between bounds whose records were held in closer ones around a rough line.

    What was measured are sums of records between the closer bounds, with the noise that these need. The
    line is the posterior mean given these sums under the public prior between the stated bounds. The
    certificate is that of rough line, histogram and closer look together.

    Parameters
    ----------
    first : ReleasedFunction
        The rough line.
    selection : Selection
        How many units are how far from it, with noise: as shares of the distance between the bounds.
    closer : ValueBounds
        Curves between which records were held; the stated bounds where nothing was to be gained.
        The others: see `ReleasedFunction`.
    """

    FORMAT: ClassVar[str] = "dpfda-two-looks"
    CALLED: ClassVar[str] = "released mean in two looks"

    _: KW_ONLY
    first: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)
    selection: Selection = field(metadata=file.itself(Selection.from_json).kept)
    closer: ValueBounds = field(metadata=file.itself(bound_from_json).kept)

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = self.limits
        if not isinstance(self.closer, ValueBounds) or limits is None:
            raise ParameterError("closer", "be bounds on values between others", "none")
        lower, upper = self.closer.curves_on(self.grid_points)
        if not (np.all(limits[0] <= lower) and np.all(upper <= limits[1])):
            raise ParameterError("closer", "be between the stated bounds", "others")

    @property
    def look(self) -> ReleasedFunction:
        """The closer look by itself: a mean of records between the closer bounds."""
        parts = {field.name: getattr(self, field.name) for field in fields(ReleasedFunction)}
        lower, upper = self.closer.curves_on(self.grid_points)
        prior = self.hierarchy
        if isinstance(prior, CurvePrior):
            parts["hierarchy"] = replace(prior, lower=lower, upper=upper)
        own = self.certificate
        # The best of several runs has no stages.
        own = own.part(LAST) if LAST in own.stages else own
        parts["certificate"] = own.fulfilled(own.achieved, bound=self.closer.to_json())
        return ReleasedFunction(**{**parts, "center": self.closer.center_on(self.grid_points)})

    @property
    def unshrunk(self) -> ReleasedFunction:  # type: ignore[override]
        return self.look.unshrunk

    @property
    def _measured(self) -> Floats:
        """What a measurement around the middle of the stated bounds would have shown."""
        moved = self.closer.center_on(self.grid_points) - self.center
        forms = self._curve_model.forms / self._scale
        return super()._measured + forms @ moved

    @property
    def _radius(self) -> float:
        """In shares of the distance between the bounds."""
        return real(self.mechanism["radius"], "radius", 0.0, 1.0, "be a share")

    @property
    def clipped(self) -> float:
        """How far holding records in the closer bounds may have moved the mean, as the band allows for.

        In shares of the distance between the bounds, from the histogram: a quarter of the average excess
        over the radius and of what noise hides of it, as clipped parts lie at different points.
        """
        chosen = self.selection
        radii = np.array(chosen.radii)
        noise = float(np.sqrt(chosen.noise.variances()[0])) / chosen.scale / self.count
        shares = np.array([float(count) for count in chosen.noisy_counts]) / chosen.scale / self.count
        return float(moved_at_most(radii, shares, noise)[chosen.radii.index(self._radius)])

    def _mean_band(self, asked: Asked, at: Floats) -> Band:
        band = super()._mean_band(asked, at)
        if self.order:
            return band
        lower, upper = self._limits_at(at) or (0.0, 0.0)
        beside = self.clipped * (np.asarray(upper) - lower)
        return self._held(replace(band, lower=band.lower - beside, upper=band.upper + beside))

    # Its file.

    def _moved(self) -> tuple[AnyNorm, Width] | None:
        return self.look._moved()

    def _added_noise(self) -> list[AddedNoise]:
        return [self.selection.added(self.neighbours), *super()._added_noise()]

    def _checked(self) -> None:
        super()._checked()
        if self.bound != self.first.bound or self.mechanism.get("radius") not in self.selection.radii:
            raise ValueError("the looks differ in their bound, or the radius is no candidate")

    @classmethod
    def _charged(cls, written: Mapping[str, object], held: file.Held) -> Certificate:
        laws = [held["first"].noise, held["selection"].noise, held["noise"]]
        return certified(written, laws=laws)

    # Words.

    def _stated(self) -> Stated:
        own, share = super()._stated(), self._radius
        two = (
            "It was released in two looks: a rough line and a histogram of the records' distances "
            f"from it, then the mean of the records held within {share:.3g} of the distance between "
            "the bounds from that line. The promise is for all of it together."
        )
        return replace(own, what=f"{own.what} {two}")

    def _lines(self) -> dict[str, str]:
        held = f", on records held within {self._radius:.3g} of the range from a rough line"
        own = super()._lines()
        return own | {"mechanism": own["mechanism"] + held, "first look": f"{self.first.guarantee}"}
