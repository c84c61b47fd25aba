"""What a sum is divided by: a public number, or a count that was released with noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpfda.noise import NoiseLaw, law_from_json
from dpfda.numerics.encoding import integer, number


@dataclass(frozen=True)
class NoisyCount:
    """The number of privacy units, released with noise of its own.

    Parameters
    ----------
    noisy : int
        Count times `scale`, plus noise.
    scale : int
        Grid units per unit counted.
    noise : NoiseLaw
        Law of the noise, on one component.
    """

    noisy: int
    scale: int
    noise: NoiseLaw

    @property
    def value(self) -> float:
        """Released count, at least one."""
        return max(1.0, self.noisy / self.scale)


Divisor = float | NoisyCount


def divisor_to_json(divisor: Divisor) -> dict[str, Any]:
    """A public or a released count."""
    if isinstance(divisor, NoisyCount):
        return {
            "kind": "noisy count",
            "noisy": divisor.noisy,
            "scale": divisor.scale,
            "noise": divisor.noise.to_json(),
        }
    return {"kind": "public", "value": divisor}


def divisor_from_json(written: dict[str, Any]) -> Divisor:
    """A public or a released count."""
    if written["kind"] == "noisy count":
        noise = law_from_json(written["noise"])
        return NoisyCount(integer(written["noisy"]), integer(written["scale"], 1), noise)
    if written["kind"] == "public":
        return number(written["value"])
    raise ValueError(f"unknown divisor {written['kind']!r}")
