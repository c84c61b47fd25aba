"""The release of the two-stage rule: a rough mean, and the mean difference of the records from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

from dpfda.bounds import L2Ball
from dpfda.noise import AnyNorm, NoiseLaw, Width
from dpfda.numerics.arrays import Floats
from dpfda.numerics.errors import ParameterError
from dpfda.privacy.certificates import Certificate, guarantee_from_json, guarantee_to_json
from dpfda.privacy.composition import Cost
from dpfda.privacy.guarantees import Guarantee, Neighbours, PureDP
from dpfda.releases import entries as file
from dpfda.releases.facts import Stated
from dpfda.releases.function import ReleasedFunction
from dpfda.releases.promise import AddedNoise, Costs, certified, laws_in, moved_by, same, without

GUARANTEE = file.entry(guarantee_from_json, guarantee_to_json)
# Stages that are paid for.
FIRST, RADIUS, LAST = "rough mean", "choice of the radius", "difference"


@dataclass(frozen=True)
class Selection(file.Written):
    """How the clipping radius was chosen; public.

    radii: Candidates, decreasing, in the units of the radius.
    noisy_counts: Units in each candidate's bin times `scale`, plus noise.
    scale: Grid units per unit counted.
    noise: Law of the noise in the counts.
    achieved: What that noise gives.
    """

    radii: tuple[float, ...] = field(metadata=file.NUMBERS.kept)
    noisy_counts: tuple[int, ...] = field(metadata=file.INTEGERS.kept)
    scale: int = field(metadata=file.whole_number(1).kept)
    noise: NoiseLaw = field(metadata=file.LAW.kept)
    achieved: Guarantee = field(metadata=GUARANTEE.named("guarantee_recomputed").kept)

    def __post_init__(self) -> None:
        if not len(self.radii) == len(self.noisy_counts) == self.noise.components:
            raise ParameterError("noisy_counts", f"be {len(self.radii)}", len(self.noisy_counts))

    def added(self, neighbours: Neighbours) -> AddedNoise:
        """Its noise; it was paid for just before the last stage."""
        return AddedNoise(self.noise, "l1", neighbours.differences(self.scale), -2)


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

    _FORMAT: ClassVar[str] = "dpfda-two-stage"
    _CALLED: ClassVar[str] = "dpfda release in two stages"

    _: KW_ONLY
    first: ReleasedFunction = field(metadata=file.part(ReleasedFunction).kept)
    radius: float = field(metadata=file.NUMBER.kept)
    last: Guarantee = field(metadata=GUARANTEE.named("guarantee_of_last_stage").kept)
    selection: Selection | None = field(
        default=None, metadata=file.itself(Selection.from_json).or_null.kept
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.radius > 0:
            raise ParameterError("radius", "be positive", f"{self.radius}")

    def _center(self, at: Floats, order: int) -> Floats:
        return self.first._unclipped(at, order)

    @classmethod
    def _entries(cls, written: dict[str, object], kernel: object) -> file.Held:
        entries = super()._entries(written, kernel)
        if written.get("schema_version") == 1:
            # The costs of the first stage are the first of the whole's.
            certificate, first = entries["certificate"], entries["first"]
            stages = certificate.stages[: len(first.certificate.costs)]
            own = replace(first.certificate, identity=certificate.identity, stages=stages)
            entries["first"] = replace(first, certificate=own)
        return entries

    def _moved(self) -> tuple[AnyNorm, Width]:
        return moved_by(
            L2Ball(self.radius), self.grid_points, self.basis.weights, self.exponent, self.neighbours
        )

    def _added_noise(self) -> list[AddedNoise]:
        before = [] if self.selection is None else [self.selection.added(self.neighbours)]
        return [*before, *super()._added_noise()]

    def _is_centered(self) -> bool:
        # Around the first stage.
        return True

    def _checked(self) -> None:
        super()._checked()
        if (
            self.certificate.bound != self.first.certificate.bound
            or self.certificate.mechanism.get("radius", self.radius) != self.radius
        ):
            raise ValueError("bound or radius differ between the stages")
        *before, last = self._added_noise()
        if not same(last.achieved(self.certificate.costs[-1].guarantee), self.last):
            raise ValueError("the noise of the last stage gives something else")
        if self.selection and not same(before[0].achieved(PureDP(Fraction(1))), self.selection.achieved):
            raise ValueError("the noise of the selection gives something else")

    @classmethod
    def _charged(cls, written: Mapping[str, object], entries: file.Held) -> Certificate:
        earlier = partial(_costs, entries["first"], entries["selection"])
        return certified(written, earlier, laws=laws_in(entries.values()))

    # Words.

    def _stated(self) -> Stated:
        own = super()._stated()
        two = (
            f"It was released in two stages: a rough mean, then the mean difference of the records from "
            f"it, each difference clipped to a size of {self.radius:g}. The bound is the first stage's; "
            "the promise is for both together."
        )
        return replace(own, what=f"{own.what} {two}")

    def _lines(self) -> dict[str, str]:
        own = super()._lines()
        mechanism = f"{own['mechanism']}, on differences clipped to {self.radius:g}"
        first = f"{self.first.guarantee}; {self.first.noise.describe()}"
        return own | {"mechanism": mechanism, "first stage": first}


def _costs(
    first: ReleasedFunction, selection: Selection | None, guarantee: Guarantee, _: Guarantee
) -> Costs:
    """Both stages, and the choice between them, in version 1; what is not certain is the last's."""
    own = first.certificate
    names = [FIRST] if len(own.costs) == 1 else [f"{FIRST}, {stage}" for stage in own.stages]
    costs = dict(zip(names, own.costs, strict=True))
    if selection is not None:
        costs[RADIUS] = Cost(selection.achieved)
    costs[LAST] = Cost(without(guarantee, [cost.guarantee for cost in costs.values()]))
    return costs
