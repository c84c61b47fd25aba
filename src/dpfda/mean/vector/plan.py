"""The plan of the means of several channels under one budget, and what is published of their sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from dpfda.bases.ordinary import Outlook, widest
from dpfda.mean.vector.release import ReleasedVector, own_level
from dpfda.mean.vector.together import (
    OneDraw,
    costs_together,
    equal_share,
    publish_in_one_draw,
    publish_together,
)
from dpfda.numerics.aggregate import IntegerSum
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.words import number
from dpfda.publication import NAMED, MeanPlan, Paying, PlanOfMeans, Prepared
from dpfda.publication.needed import LEVEL


@dataclass(frozen=True, eq=False, repr=False)
class VectorPlan(PlanOfMeans):
    """Plan of the means of several channels of the same records.

    Its error is that of all channels together: the distance between two vectors of values. Where
    channels are in units of their own, look at `errors`.

    Parameters
    ----------
    shares : mapping
        Plan of each channel's mean with an equal share of the budget, by its name.
    whole : Guarantee
        Of all channels together, as it was asked for.

    Examples
    --------
    >>> from dpfda import PrivateVectorMean
    >>> plan = PrivateVectorMean(1.0, bounds=[(-1, 2), (0, 2)], channels=["east", "north"]).plan(n=500)
    >>> plan.draw is not None, plan.error > max(plan.errors.values())
    (True, True)
    """

    shares: Mapping[str, MeanPlan]
    whole: Guarantee
    band_called: ClassVar[str] = "bands that hold together, of the widest"

    @cached_property
    def draw(self) -> OneDraw | None:
        """One draw of noise for all channels; None where each has its share of the budget."""
        return OneDraw.best(self.shares, self.whole)

    @cached_property
    def parts(self) -> Mapping[str, MeanPlan]:  # type: ignore[override]
        """Plan of each channel's mean, with the noise that it will have."""
        return self.shares if self.draw is None else self.draw.seen

    @property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        return self.whole

    @property
    def size(self) -> int | None:  # type: ignore[override]
        return self.one.size

    @property
    def expected_size(self) -> int | None:  # type: ignore[override]
        return self.one.expected_size

    @property
    def bounded(self) -> Mapping[str, object]:  # type: ignore[override]
        said = [f"{name}: {part.bound.describe()}" for name, part in self.parts.items()]
        return {"description": "; ".join(said)}

    @property
    def about(self) -> Mapping[str, object]:  # type: ignore[override]
        same = {
            key: value
            for key, value in self.one.about.items()
            if all(part.about.get(key) == value for part in self.parts.values())
        }
        return {**same, "summary": f"mean curve with {len(self.shares)} values"}

    @property
    def tuning(self) -> Mapping[str, object]:
        return self.one.tuning

    def entry(self) -> dict[str, object]:
        return self.one.entry() | {"bound": self.bounded["description"]}

    def costs(self) -> dict[str, Cost]:
        return costs_together(self.shares) if self.draw is None else self.draw.costs()

    # What to expect.

    def remade(self, guarantee: Guarantee, n: int) -> VectorPlan:
        share = equal_share(guarantee, len(self.shares))
        return VectorPlan({k: plan.remade(share, n) for k, plan in self.shares.items()}, guarantee)

    @cached_property
    def errors(self) -> dict[str, float | None]:
        """Expected error of each channel, in its own units, as `error` is of one mean."""
        return {name: part.error for name, part in self.parts.items()}

    def outlook(self, quick: bool = False) -> Outlook | None:
        known = [part.outlook(quick) for part in self.parts.values()]
        if None in known:
            return None
        typical, most = zip(*filter(None, known), strict=True)
        return Outlook(math.hypot(*typical), math.hypot(*most))

    @property
    def error_words(self) -> str:
        return f"of all channels, the root of the sum of their squares; {self.one.error_words}"

    def bands(self, level: float = LEVEL) -> dict[str, float | None]:
        """Expected half-width of each channel's band, where all are to hold together.

        Parameters
        ----------
        level : float
            Probability that they do.
        """
        own = own_level(level, len(self.parts))
        return {name: part.band(own) for name, part in self.parts.items()}

    def outlook_width(self, level: float, quick: bool = False) -> Outlook | None:
        """Of the channel whose band is widest."""
        own = own_level(level, len(self.parts))
        return widest([part.outlook_width(own, quick) for part in self.parts.values()])

    @property
    def scale(self) -> tuple[float, str] | None:
        found = [part.scale for part in self.parts.values()]
        known = [each for each in found if each is not None]
        if len(known) < len(found) or len({words for _, words in known}) > 1:
            return None
        return math.hypot(*(size for size, _ in known)), known[0][1]

    @property
    def noise_words(self) -> str:
        mechanism, law = self.one.noise_words.split(": ", 1)
        if self.draw is None:
            return f"{mechanism}, with an equal share of the budget for each channel: {law}"
        return f"{mechanism}, one draw for all channels: {self.draw.noise.describe()}"

    def facts(self) -> dict[str, str]:
        said = [
            name if error is None else f"{name} (error {number(error)})"
            for name, error in self.errors.items()
        ]
        return super().facts() | {"channels": ", ".join(said)}

    def to_json(self, level: float = LEVEL) -> dict[str, object]:
        return super().to_json(level) | {"errors": self.errors, "bands": self.bands(level)}


def publish_vector(
    prepared: Prepared[VectorPlan, Mapping[str, IntegerSum]], paying: Paying = NAMED
) -> ReleasedVector:
    """Charge once, draw noise for all channels, and release; errors as of `publish_together`."""
    plan, totals = prepared.plan, prepared.total
    whole, entry = plan.certified(), plan.entry()
    if plan.draw is None:
        return ReleasedVector(*publish_together(totals, plan.parts, whole, entry, paying))
    return ReleasedVector(*publish_in_one_draw(totals, plan.draw, whole, entry, paying))
