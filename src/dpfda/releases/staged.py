"""The release of the two-stage rule: a rough mean, and the mean difference of the records from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar, Self

from dpfda.noise import NoiseLaw, law_from_json
from dpfda.numerics.arrays import Floats
from dpfda.numerics.encoding import integer, integers, mapping, number, sequence
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee
from dpfda.privacy.written import guarantee_from_json, guarantee_to_json
from dpfda.releases.costs import Costs, certified, without
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.kinds import part_from_json
from dpfda.releases.words import Words

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

    def to_json(self) -> dict[str, object]:
        """As JSON types."""
        return {
            "radii": list(self.radii),
            "noisy_counts": list(self.noisy_counts),
            "scale": self.scale,
            "noise": self.noise.to_json(),
            "guarantee_recomputed": guarantee_to_json(self.achieved),
        }

    @classmethod
    def from_json(cls, entries: object) -> Selection:
        """From JSON types."""
        written = mapping(entries)
        return cls(
            tuple(number(radius) for radius in sequence(written["radii"])),
            integers(written["noisy_counts"]),
            integer(written["scale"], 1),
            law_from_json(written["noise"]),
            guarantee_from_json(written["guarantee_recomputed"]),
        )


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

    FORMAT: ClassVar[str] = "dpfda-two-stage"
    CALLED: ClassVar[str] = "dpfda release in two stages"

    _: KW_ONLY
    first: ReleasedFunction
    radius: float
    last: Guarantee
    selection: Selection | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.radius > 0:
            raise ParameterError("radius", "be positive", f"{self.radius}")

    def _center(self, at: Floats, order: int) -> Floats:
        return self.first.unclipped(at, order)

    # Its file.

    def to_entries(self) -> dict[str, object]:
        return {
            "radius": self.radius,
            "selection": None if self.selection is None else self.selection.to_json(),
            "guarantee_of_last_stage": guarantee_to_json(self.last),
            **super().to_entries(),
            "first": self.first.to_json(),
        }

    @classmethod
    def from_json(cls, written: dict[str, object], kernel: object = None) -> Self:
        chosen = written["selection"]
        selection = None if chosen is None else mapping(chosen)
        first = part_from_json(written["first"], ReleasedFunction, kernel)
        certificate = certified(written, partial(_costs, first, selection))
        if written.get("schema_version") == 1:
            # Its costs are the first of the whole's.
            own = first.certificate
            stages = certificate.stages[: len(own.costs)]
            first = replace(
                first, certificate=replace(own, identity=certificate.identity, stages=stages)
            )
        return cls.checked(
            **cls.entries(written, kernel, certificate),
            first=first,
            radius=number(written["radius"]),
            last=guarantee_from_json(written["guarantee_of_last_stage"]),
            selection=None if selection is None else Selection.from_json(selection),
        )

    # Words.

    def words(self) -> Words:
        own = super().words()
        two = (
            f"It was released in two stages: a rough mean, then the mean difference of the records from "
            f"it, each difference clipped to a size of {self.radius:g}. The bound is the first stage's; "
            " the promise is for both together."
        )
        return replace(own, published=[*own.published, two])

    def lines(self) -> dict[str, str]:
        own = super().lines()
        mechanism = f"{own['mechanism']}, on differences clipped to {self.radius:g}"
        first = f"{self.first.guarantee}; {self.first.noise.describe()}"
        return own | {"mechanism": mechanism, "first stage": first}


def _costs(
    first: ReleasedFunction, selection: Mapping[str, object] | None, whole: Guarantee, _: Guarantee
) -> Costs:
    """Both stages, and the choice between them, in version 1; what is not certain is the last's."""
    own = first.certificate
    names = [FIRST] if len(own.costs) == 1 else [f"{FIRST}, {stage}" for stage in own.stages]
    costs = dict(zip(names, own.costs, strict=True))
    if selection is not None:
        costs[RADIUS] = Cost(guarantee_from_json(selection["guarantee_recomputed"]))
    costs[LAST] = Cost(without(whole, [cost.guarantee for cost in costs.values()]))
    return costs
