"""What a sum is divided by: a public number, or a count that was released with noise."""

from __future__ import annotations

from dataclasses import dataclass

from dpfda.estimates import CountNoise
from dpfda.noise import NoiseLaw, law_from_json
from dpfda.numerics.encoding import integer, mapping, number


@dataclass(frozen=True)
class NoisyCount:
    """The number of privacy units, released with noise of its own, or in one with the sum.

    noisy: Count times `scale`, plus noise.
    scale: Grid units per unit counted.
    noise: Law of the noise: on one component, or that of the sum with the count as its last.
    before: The first count, with noise of its own, where this one is the last component of a law on
        more.
    """

    noisy: int
    scale: int
    noise: NoiseLaw
    before: NoisyCount | None = None

    @property
    def law(self) -> CountNoise:
        """How far off it may be."""
        return CountNoise(self.noise, self.scale, None if self.before is None else self.before.law)

    @property
    def value(self) -> float:
        """Released count, at least one: of two their average, each by its precision."""
        own = self.noisy / self.scale
        if self.before is not None:
            own += self.law.share * (self.before.noisy / self.before.scale - own)
        return max(1.0, own)


Divisor = float | NoisyCount


def divisor_to_json(divisor: Divisor) -> dict[str, object]:
    """A public or a released count."""
    if isinstance(divisor, NoisyCount):
        return {
            "kind": "noisy count",
            "noisy": divisor.noisy,
            "scale": divisor.scale,
            "noise": divisor.noise.to_json(),
            **({} if divisor.before is None else {"before": divisor_to_json(divisor.before)}),
        }
    return {"kind": "public", "value": divisor}


# More units than anyone counts.
MOST = 2.0**63


def divisor_from_json(entries: object) -> Divisor:
    """A public or a released count."""
    written = mapping(entries)
    if written["kind"] == "noisy count":
        noise, before = law_from_json(written["noise"]), None
        if "before" in written:
            first = divisor_from_json(written["before"])
            if not isinstance(first, NoisyCount) or first.before is not None:
                raise ValueError("before a count that joins the sum there is one with noise of its own")
            before = first
        elif noise.components != 1:
            raise ValueError("the noise of a count has one component")
        return NoisyCount(integer(written["noisy"]), integer(written["scale"], 1), noise, before)
    if written["kind"] == "public":
        value = number(written["value"])
        if value > MOST:
            raise ValueError("no number of units")
        return value
    raise ValueError(f"unknown divisor {written['kind']!r}")
