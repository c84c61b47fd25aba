"""A released function with several values: one curve a channel, under one certificate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.numerics.parameters import choice
from dpfda.numerics.words import so_many
from dpfda.privacy.certificates import Certificate
from dpfda.releases import entries as file
from dpfda.releases.bands import Asked, Band, check_level
from dpfda.releases.base import LEVEL, Column, Release
from dpfda.releases.facts import BandFact, Claim, Stated
from dpfda.releases.function import OfMeans, ReleasedFunction
from dpfda.releases.promise import check_one_draw
from dpfda.views import Curve


def own_level(level: float, channels: int) -> float:
    """Level of each channel's band where all are to hold together with a probability.

    Raises ParameterError if the level is none.
    """
    return 1.0 - (1.0 - check_level(level)) / channels


@dataclass(frozen=True, eq=False)
class ReleasedVector(OfMeans[ReleasedFunction]):
    """A function on an interval with d values at every point, published under differential privacy.

    Parameters
    ----------
    means : mapping from str to ReleasedFunction
        Each channel by its name, in order. Their costs are the certificate's: a stage or more each, or
        one for all, whose noise was drawn in one.
    certificate : Certificate
        Of all channels together.

    Raises
    ------
    ParameterError
        If there is no channel, they have several domains, or another charge paid for one.
    """

    means: Mapping[str, ReleasedFunction] = field(
        metadata=file.named_means(ReleasedFunction).named("channels").kept
    )
    certificate: Certificate

    _FORMAT: ClassVar[str] = "dpfda-vector"
    _CALLED: ClassVar[str] = "dpfda release of several values"
    _vector_valued: ClassVar[bool] = True
    _bands_are: ClassVar[str] = "Ask one of them, release[name].band(), or for .bands() of all at once."

    def __post_init__(self) -> None:
        super().__post_init__()
        means = list(self.means.values())
        if not means or len({mean.domain_range for mean in means}) != 1:
            raise ParameterError("channels", "be one or more on one domain", f"{len(means)}")
        # One draw may have paid for all: then each has the charge of all.
        charges = {charge for mean in means for charge in mean.certificate.charges}
        if charges != set(self.certificate.charges):
            raise ParameterError("channels", "be released together, at one charge", "others")

    def _checked(self) -> None:
        """Refuse a file whose channels together lose more than the guarantee that it states."""
        check_one_draw(
            self.certificate, [noise for mean in self.means.values() for noise in mean._added_noise()]
        )

    @property
    def about(self) -> Mapping[str, object]:
        """Labels, date and versions: what is the same for all channels."""
        others = [mean.about for mean in self.means.values()]
        return {k: v for k, v in self._any.about.items() if all(about.get(k) == v for about in others)}

    def __getitem__(self, name: str) -> ReleasedFunction:
        """One channel, as a function of its own; its certificate is its part, or that of all."""
        return self.means[choice(name, "channel", self.names)]

    def __call__(self, points: ArrayLike) -> Floats:
        """Values (k, d) at k points of the domain, or (d,) at one."""
        return np.stack([np.asarray(mean(points)) for mean in self.means.values()], axis=-1)

    def bands(self, level: float = LEVEL, points: ArrayLike | None = None) -> dict[str, Band]:
        """Bands of all channels that hold together, everywhere at once, with a probability.

        Each is the channel's own at the level 1 - (1 - level) / d: the chances that one fails add up.

        Parameters
        ----------
        level : float
        points : array (k,), optional
            As in `ReleasedFunction.band`, by default.
        """
        own = own_level(level, len(self.means))
        return {name: mean.band(own, points=points) for name, mean in self.means.items()}

    def _stated_bound(self) -> dict[str, object]:
        bounds = [
            f"{name}: {mean.certificate.bound['description']}" for name, mean in self.means.items()
        ]
        return {"description": "; ".join(bounds)}

    # Tables, pictures and words.

    def _columns(self, at: Floats, asked: Asked) -> dict[str, Column]:
        level, columns = check_level(asked.level, asked.simultaneous), dict[str, Column]()
        own = own_level(level, len(self.means)) if asked.simultaneous else level
        for channel, mean in self.means.items():
            value, *band = Release._columns(mean, at, replace(asked, level=own)).values()
            columns[channel] = value
            # The stated level is that of all channels together.
            for end, (values, _) in zip(("lower", "upper"), band[-2:], strict=True):
                over = "of all at once" if asked.simultaneous else "at a point chosen in advance"
                columns[f"{channel}, {end}"] = (values, f"{end} end of the {level:.4g} band {over}")
        return columns

    def view(self, level: float | None = LEVEL) -> Curve:
        own = None if level is None else own_level(level, len(self.means))
        words = "" if level is None else self._legend(f"{100 * level:.4g}%")
        return self._curve(
            [replace(mean._line(name, own), band=words) for name, mean in self.means.items()]
        )

    def _legend(self, often: str) -> str:
        """What the bands are, for a picture."""
        claim = self._claims()[0]
        if claim.of == "noise":
            return f"{often} bands for the privacy noise, all at once"
        if claim.among:
            return f"bands meant to hold the means, {often}, all at once"
        return f"{often} bands for the means, all at once"

    @property
    def _subject(self) -> str:
        return f"{super()._subject} with {so_many(len(self.means), 'value')}"

    @property
    def public_units(self) -> int | None:
        return self._any.public_units

    def _claims(self) -> tuple[Claim, ...]:
        # What one of them assumes is assumed of all together.
        claims = (mean._claims() for mean in self.means.values())
        of_all = (max(alike, key=lambda claim: len(claim.among)) for alike in zip(*claims, strict=True))
        return tuple(replace(claim, seen="", legend="all of them at once") for claim in of_all)

    def _band_facts(self) -> Iterable[BandFact]:
        own, claim = own_level(LEVEL, len(self.means)), self._claims()[0]
        return [
            replace(BandFact.of(replace(claim, name=name), mean, own), level=LEVEL)
            for name, mean in self.means.items()
        ]

    def _stated(self) -> Stated:
        return Stated(
            f"A {super()._subject} with {so_many(len(self.means), 'value')} at every point "
            f"({', '.join(self.names)}). The promise is for all values together: what they cost makes "
            "it up.",
            remarks=["The bands are meant to hold together."],
            numbers={"channels": list(self.names), "domain_range": list(self.domain_range)},
        )

    def _lines(self) -> dict[str, str]:
        mechanisms = [f"{name}: {mean._lines()['mechanism']}" for name, mean in self.means.items()]
        return {"mechanism": "; ".join(mechanisms)}
