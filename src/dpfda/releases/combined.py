"""Two releases of one mean, such as last year's and this year's, as one: weighed by their precision.

The average w f + (1 - w) g of two public curves, which costs nothing. w / (1 - w) is the ratio of the
squared typical errors of g and of f, as their priors have them (the squared half-widths of their bands,
where they are no default lines): where errors are independent and as large as these say, no other
weight has a smaller one. The half-width of its band at a point is the root of
the sum of the squares of those of its parts, each times its weight: independent errors of such sizes
add up like that, and for suprema it is a little wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import shown
from dpfda.privacy.certificates import WHOLE, Certificate
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import added
from dpfda.privacy.words import number
from dpfda.releases import entries as file
from dpfda.releases.banded import Valued
from dpfda.releases.bands import Asked, Band
from dpfda.releases.base import LEVEL, Release
from dpfda.releases.facts import Claim, Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.views import Curve


@dataclass(frozen=True, eq=False)
class CombinedMean(Valued):
    """A mean curve from two releases of it, each of which was charged by itself.

    Its certificate is that of both together: what they cost adds up. Nothing new was charged. Where
    losses are added up, name its parts, or it alone: it does not know that it is counted with them.

    Parameters
    ----------
    first, second : ReleasedFunction
        Of one mean, on one domain, from two charges.
    certificate : Certificate
        Of both together.
    """

    FORMAT: ClassVar[str] = "dpfda-combined-mean"
    CALLED: ClassVar[str] = "combined mean"
    ENTRIES: ClassVar[file.Table] = {
        "first": file.part(ReleasedFunction),
        "second": file.part(ReleasedFunction),
    }

    first: ReleasedFunction
    second: ReleasedFunction
    certificate: Certificate

    @classmethod
    def of(cls, first: ReleasedFunction, second: object) -> CombinedMean:
        """Combine two releases; see `ReleasedFunction.combined`."""
        if not isinstance(second, ReleasedFunction):
            raise ParameterError("other", "be a released mean curve", shown(second))
        _check_alike(first, second)
        one, other = first.certificate, second.certificate
        whole = Cost(added([one.guarantee, other.guarantee]))
        mechanism = {"name": "average of two releases"}
        made = Certificate.charged(
            {WHOLE: whole}, one.neighbours, one.unit, _bound(first, second), mechanism
        )
        caveats = tuple(dict.fromkeys((*one.caveats, *other.caveats)))
        achieved = added([one.achieved, other.achieved])
        return cls(first, second, replace(made.fulfilled(achieved), caveats=caveats))

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_alike(self.first, self.second)

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions: what is the same for both."""
        other = self.second.about
        return {name: value for name, value in self.first.about.items() if other.get(name) == value}

    @property
    def domain_range(self) -> tuple[float, float]:
        """Ends of the domain."""
        return self.first.domain_range

    @property
    def grid_points(self) -> Floats:
        """Public grid (m,) of the first one's curves."""
        return self.first.grid_points

    def _band_points(self) -> Floats:
        return self.first._band_points()

    @cached_property
    def share(self) -> float:
        """Weight of the first release; the second has the rest."""
        first, second = (_square(release, self._lines_both) for release in (self.first, self.second))
        return second / (first + second)

    @property
    def _lines_both(self) -> bool:
        return self.first._is_line and self.second._is_line

    def _values(self, at: Floats) -> Floats:
        first, second = (np.asarray(release(at)) for release in (self.first, self.second))
        return self.share * first + (1 - self.share) * second

    def _around(self, at: Floats, asked: Asked) -> Band:
        line, square = self._values(at), np.zeros(at.size)
        for weight, release in ((self.share, self.first), (1 - self.share, self.second)):
            band = release.band(asked.level, asked.simultaneous, at, of=asked.of)
            square += (weight * (band.upper - band.lower) / 2) ** 2
        half = np.sqrt(square)
        return Band(at, line - half, line + half, asked.level, asked.simultaneous)

    # Its file, and words.

    def _stated_bound(self) -> Mapping[str, object]:
        return _bound(self.first, self.second)

    def view(self, level: float | None = LEVEL) -> Curve:
        return self._curve([self._line("both together", level)])

    @property
    def _subject(self) -> str:
        return "mean curve from two releases"

    def _claims(self) -> tuple[Claim, ...]:
        own = self.first._claims()[0]
        return (replace(own, holds=f"{own.holds}, if it is the same in both", seen=""),)

    def _stated(self) -> Stated:
        parts = zip(
            ("first", "second"), (self.share, 1 - self.share), (self.first, self.second), strict=True
        )
        said = "; ".join(f"{name}: weight {number(w)}, {each.guarantee}" for name, w, each in parts)
        return Stated(
            "The average of two released mean curves, each weighed by its precision. It was made of "
            "what had been published and cost nothing; the promise is for both parts together.",
            public=[f"the parts ({said})"],
            noise="that of its parts",
            remarks=["Its band takes the errors of the parts to be independent, as their noise is."],
            numbers={"share": self.share},
        )

    def _lines(self) -> dict[str, str]:
        return {"weights": f"{number(self.share)} and {number(1 - self.share)}"}


def _check_alike(first: Release, second: Release) -> None:
    """Refuse two that are not of one mean, or of one charge."""
    one, other = (each.certificate for each in (first, second))
    if one.identity == other.identity:
        words, found = "be of another charge than this one", "the same"
        raise ParameterError("other", words, found, "Of one charge the noise is one.")
    if (one.neighbours, one.unit) != (other.neighbours, other.unit):
        raise ParameterError("other", "protect the same units", f"{other.neighbours}, {other.unit}")
    same = first.domain_range == second.domain_range
    for name in ("order", "about"):
        mine, theirs = getattr(first, name), getattr(second, name)
        if name == "about":
            mine, theirs = bool(mine.get("standardized")), bool(theirs.get("standardized"))
        same = same and mine == theirs
    if not same or first._claims()[0].of != second._claims()[0].of:
        words = "be of a mean on the same domain, in the same units, with a band for the same"
        raise ParameterError("other", words, "another")


def _square(release: ReleasedFunction, line: bool) -> float:
    """Squared error to be expected of a release, in squared units of the data."""
    if line:
        return (release.widths.typical_error * float(np.mean(release._scale))) ** 2
    band = release.band(LEVEL, points=release.grid_points)
    return float(np.mean((band.upper - band.lower) ** 2))


def _bound(first: Release, second: Release) -> dict[str, object]:
    said = [str(each.bound["description"]) for each in (first, second)]
    return {"description": " and ".join(dict.fromkeys(said))}
